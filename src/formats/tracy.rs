//! Tracy zones and plots as exported by `tracy-csvexport -u -p`:
//! `name,src_file,src_line,ns_since_start,exec_time_ns,thread,value`. Tracy quotes nothing, so names and values may
//! contain separators. Tracy's own traces are refused in `unsupported`.

use std::borrow::Cow;

use super::Reader;
use super::input::decimal::nanos_from_nanos;
use super::input::lines::{LineParser, TextLine};
use super::input::source::{Source, without_mark};
use super::input::text::parsed;
use super::output::args::ArgsWriter;
use super::output::batch::{BatchBuilder, text};
use crate::formats::format::{DataKind, Format, Opener};
use crate::model::{Event, EventKind, Id, Loss, SourcePos, TrackKey, TrackKind};

/// Separators that the option `-s` may set; the default is the first.
const SEPARATORS: [u8; 4] = *b",;\t|";

/// Output of `tracy-csvexport`: a zone or a value of a plot per line.
pub(crate) const FORMAT: Format = Format {
    name: "Tracy zones",
    record: "A zone is a line of the columns that the first line names.",
    sniff: looks_like_zones,
    is_event: None,
    live: None,
    shows: &[DataKind::Spans, DataKind::Counters, DataKind::Arguments],
    opener: Opener::Trace(|source, _| Ok(open(source))),
};

/// Returns whether the first line has the columns of exported zones.
fn looks_like_zones(head: &[u8]) -> bool {
    let end = memchr::memchr(b'\n', head).unwrap_or(head.len());
    CsvColumns::from_line(&head[..end]).is_some()
}

/// Creates a reader of exported zones.
fn open(source: Source) -> Reader {
    super::input::lines::open(source, Zones::default())
}

#[derive(Debug, Default)]
struct Zones {
    /// `None` until the first line.
    columns: Option<CsvColumns>,
    args: ArgsWriter,
}

/// The columns that the first line names, and their positions.
#[derive(Debug)]
struct CsvColumns {
    separator: u8,
    names: Vec<Box<[u8]>>,
    name: usize,
    file: Option<usize>,
    line: Option<usize>,
    start: usize,
    duration: usize,
    thread: Option<usize>,
    value: Option<usize>,
}

/// The cells of a line.
struct TracyRow<'a> {
    cells: Vec<Cow<'a, [u8]>>,
    is_plot: bool,
}

/// How well a split must fit the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// As many cells as columns, with integers where Tracy writes them.
    Exact,
    /// Surplus cells are parts of the name and of the value.
    Surplus,
    /// Only the times must be numbers.
    Times,
}

impl CsvColumns {
    /// Parses the first line; returns `None` if a needed column is missing.
    fn from_line(line: &[u8]) -> Option<Self> {
        let line = without_mark(line).trim_ascii_end();
        SEPARATORS.iter().find_map(|&separator| {
            let names: Vec<Box<[u8]>> = quoted_cells(line, separator)?.into_iter().map(Cow::into).collect();
            let find = |name: &str| names.iter().position(|column| **column == *name.as_bytes());
            Some(Self {
                separator,
                name: find("name")?,
                file: find("src_file"),
                line: find("src_line"),
                start: find("ns_since_start")?,
                duration: find("exec_time_ns")?,
                thread: find("thread"),
                value: find("value"),
                names,
            })
        })
    }

    /// Splits a line into one cell per column. Other programs may quote cells. A truncated line must fit well, since
    /// numbers in its name may be in the place of the times.
    fn split<'a>(&self, line: &'a [u8], has_end: bool) -> Option<TracyRow<'a>> {
        let plain = || line.split(|&byte| byte == self.separator).map(Cow::Borrowed).collect::<Vec<_>>();
        let quoted = || if line.contains(&b'"') { quoted_cells(line, self.separator) } else { None };
        let fitted = |cells: Vec<Cow<'a, [u8]>>, fit| self.fitted(cells, fit);
        fitted(plain(), Fit::Exact)
            .or_else(|| fitted(quoted()?, Fit::Exact))
            .or_else(|| fitted(plain(), Fit::Surplus))
            .or_else(|| fitted(quoted().filter(|_| has_end)?, Fit::Times))
            .or_else(|| fitted(Some(plain()).filter(|_| has_end)?, Fit::Times))
    }

    /// Joins surplus cells to the name and to the value, so that the columns between them fit.
    fn fitted<'a>(&self, mut cells: Vec<Cow<'a, [u8]>>, fit: Fit) -> Option<TracyRow<'a>> {
        let surplus = cells.len().checked_sub(self.names.len())?;
        if fit == Fit::Exact && surplus > 0 {
            return None;
        }
        // Without a column of values, all surplus cells belong to the name.
        let least = if self.value.is_some() { 0 } else { surplus };
        let (of_name, is_plot) = (least..=surplus).find_map(|of_name| {
            let is_plot = fit != Fit::Times && self.is_plot(&cells, of_name, surplus);
            (is_plot || self.is_zone(&cells, of_name, surplus, fit)).then_some((of_name, is_plot))
        })?;
        let mut join = |column: usize, more: usize| {
            if more > 0 {
                let first = self.cell_index(column, of_name, surplus);
                let whole = cells[first..=first + more].join(&self.separator);
                cells.splice(first..=first + more, [Cow::Owned(whole)]);
            }
        };
        // The later column first, since joining cells moves those after them.
        let of_value = self.value.map(|value| (value, surplus - of_name));
        match of_value {
            Some((value, more)) if value > self.name => {
                join(value, more);
                join(self.name, of_name);
            }
            _ => {
                join(self.name, of_name);
                if let Some((value, more)) = of_value {
                    join(value, more);
                }
            }
        }
        Some(TracyRow { cells, is_plot })
    }

    /// Returns the index of the first cell of a column, if `of_name` of the surplus cells belong to the name.
    fn cell_index(&self, column: usize, of_name: usize, surplus: usize) -> usize {
        let before_name = if column > self.name { of_name } else { 0 };
        let before_value = if self.value.is_some_and(|value| column > value) { surplus - of_name } else { 0 };
        column + before_name + before_value
    }

    fn is_zone(&self, cells: &[Cow<'_, [u8]>], of_name: usize, surplus: usize, fit: Fit) -> bool {
        let cell = |column| &*cells[self.cell_index(column, of_name, surplus)];
        if fit == Fit::Times {
            return [self.start, self.duration].iter().all(|&column| nanos_from_nanos(cell(column)).is_ok());
        }
        let numbers = [self.line, Some(self.start), Some(self.duration), self.thread];
        // A number in place of a file is part of the name.
        numbers.into_iter().flatten().all(|column| is_integer(cell(column)))
            && self.file.is_none_or(|file| !is_integer(cell(file)))
    }

    /// Returns whether only the name, the time and the value are set, and whether the value is a number.
    fn is_plot(&self, cells: &[Cow<'_, [u8]>], of_name: usize, surplus: usize) -> bool {
        let cell = |column| &*cells[self.cell_index(column, of_name, surplus)];
        let (Some(file), Some(line), Some(thread), Some(value)) = (self.file, self.line, self.thread, self.value)
        else {
            return false;
        };
        [file, line, self.duration, thread].iter().all(|&column| cell(column).is_empty())
            && of_name == surplus
            && is_integer(cell(self.start))
            && parsed::<f64>(cell(value)).is_some()
    }
}

fn is_integer(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// Splits a line of CSV into cells, which may be quoted. Returns `None` if a quoted cell has no end, or more after it.
fn quoted_cells(line: &[u8], separator: u8) -> Option<Vec<Cow<'_, [u8]>>> {
    let mut cells = Vec::new();
    let mut rest = line;
    loop {
        let (cell, after) = if let Some(inside) = rest.strip_prefix(b"\"") {
            let mut end = memchr::memchr(b'"', inside)?;
            // Two quotes stand for one.
            while inside.get(end + 1) == Some(&b'"') {
                end += 2 + memchr::memchr(b'"', &inside[end + 2..])?;
            }
            let cell = String::from_utf8_lossy(&inside[..end]).replace("\"\"", "\"").into_bytes();
            (Cow::Owned(cell), &inside[end + 1..])
        } else {
            let (cell, after) = rest.split_at(memchr::memchr(separator, rest).unwrap_or(rest.len()));
            (Cow::Borrowed(cell), after)
        };
        cells.push(cell);
        match after.split_first() {
            None => return Some(cells),
            Some((&byte, next)) if byte == separator => rest = next,
            Some(_) => return None,
        }
    }
}

impl LineParser for Zones {
    fn line(&mut self, line: TextLine<'_>, batch: &mut BatchBuilder) {
        let pos = line.pos();
        if line.bytes.is_empty() {
            return;
        }
        let Some(columns) = &self.columns else {
            self.columns = CsvColumns::from_line(line.bytes);
            if self.columns.is_none() {
                batch.lose(line.loss(), pos);
            }
            return;
        };
        let Some(row) = columns.split(line.bytes, line.has_end) else { return batch.lose(line.loss(), pos) };
        line.count_missing_end(batch);
        let Ok(ts_ns) = nanos_from_nanos(&row.cells[columns.start]) else { return batch.lose(line.loss(), pos) };
        if row.is_plot {
            return plot(columns, &row.cells, ts_ns, pos, batch);
        }
        let Ok(dur_ns) = nanos_from_nanos(&row.cells[columns.duration]) else { return batch.lose(line.loss(), pos) };
        let thread = columns.thread.map_or(&b""[..], |thread| &row.cells[thread]);
        let tid = parsed(thread);
        let key = TrackKey::thread(
            Id::None,
            tid.map_or_else(|| Id::Text(String::from_utf8_lossy(thread).into()), Id::Number),
        );
        let (track, name) = (batch.track_with(&key), batch.name(&row.cells[columns.name], None, pos));
        self.args.clear();
        for (column, cell) in columns.names.iter().zip(&row.cells) {
            let is_shown = matches!(&**column, b"name" | b"ns_since_start" | b"exec_time_ns" | b"thread");
            if !is_shown && !cell.is_empty() {
                self.args.text(&String::from_utf8_lossy(column), cell);
            }
        }
        let args_json = self.args.finish();
        let detail = batch.args(args_json);
        if dur_ns < 0 {
            batch.lose(Loss::NegativeDuration, pos);
        }
        let value = dur_ns.max(0).unsigned_abs();
        batch.push(Event { value, detail, ..Event::new(ts_ns, EventKind::Complete, track, name) });
    }
}

/// Adds a value of a plot.
fn plot(columns: &CsvColumns, cells: &[Cow<'_, [u8]>], ts_ns: i64, pos: SourcePos, batch: &mut BatchBuilder) {
    let value = columns.value.and_then(|value| parsed::<f64>(&cells[value])).filter(|value| value.is_finite());
    let Some(value) = value else { return batch.lose(Loss::BadCounter, pos) };
    let name = &cells[columns.name];
    let key = TrackKey {
        kind: TrackKind::Counter,
        pid: Id::None,
        tid: Id::None,
        name: text(name, pos, batch.losses()).into(),
        slot: 0,
    };
    let (track, name) = (batch.track_with(&key), batch.name(name, None, pos));
    batch.push(Event { value: value.to_bits(), ..Event::new(ts_ns, EventKind::Counter, track, name) });
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::formats::testing::read;

    const ZONES: &str = "name,src_file,src_line,ns_since_start,exec_time_ns,thread,value\n\
        draw,main.cpp,12,1000,500,7,\nstd::map<int, float>::insert,map.h,3,1100,200,7,some text\n";

    #[test]
    fn exported_zones_are_spans_and_commas_of_names_stay_in_them() {
        let reading = read(ZONES);
        assert_eq!(reading.short(), [(1000, 500, "draw"), (1100, 200, "std::map<int, float>::insert")]);
        assert_eq!(reading.events[0].args, r#"{"src_file":"main.cpp","src_line":"12"}"#);
        assert_eq!(reading.events[1].args, r#"{"src_file":"map.h","src_line":"3","value":"some text"}"#);
        assert_eq!(reading.events[1].track.tid, Id::Number(7));
        assert_eq!(reading.lost(), []);
    }

    #[test]
    fn quoted_cells_and_lines_of_windows_are_read() {
        let reading = read("name,ns_since_start,exec_time_ns,thread\r\n\"a \"\"b\"\", c\",5,6,main\r\n");
        assert_eq!(reading.short(), [(5, 6, "a \"b\", c")]);
        assert_eq!(reading.events[0].track.tid, Id::Text("main".into()));
    }

    #[test]
    fn a_cut_anywhere_keeps_the_lines_before_it_and_damage_costs_its_line() {
        let whole = read(ZONES);
        let shorts = whole.short();
        let header = ZONES.find('\n').expect("a header") + 1;
        for len in header..ZONES.len() {
            let reading = read(&ZONES[..len]);
            assert_eq!(reading.short(), shorts[..reading.events.len()], "{len} bytes");
            // A line may be whole once its last cell, which is an argument, has begun.
            let last = ZONES[header..len].rsplit('\n').next().unwrap_or_default();
            let may_be_whole = last.contains(",7,");
            let is_cut = !last.is_empty() && !may_be_whole;
            let ended = ZONES[header..len].matches('\n').count();
            assert_eq!(reading.events.len(), ended + usize::from(may_be_whole), "{len} bytes");
            assert_eq!(reading.losses.count(Loss::UnendedLine), u64::from(may_be_whole), "{len} bytes");
            assert_eq!(reading.losses.count(Loss::Truncated), u64::from(is_cut), "{len} bytes");
        }
        let reading = read(&format!("{ZONES}x,y\na,b,c,d,e,f,g\nlast,f,1,2,-3,4,\n"));
        assert_eq!(reading.events.len(), 3);
        assert_eq!(reading.lost(), [(Loss::NegativeDuration, 1), (Loss::BadRecord, 2)]);
    }

    const HEADER: &str = "name,src_file,src_line,ns_since_start,exec_time_ns,thread,value\n";

    #[test]
    fn separators_in_names_and_values_stay_in_them() {
        let rows: &[(&str, &str, &str)] = &[
            ("Draw,a.cpp,10,1000,500,1,w=5, h=7", "Draw", "w=5, h=7"),
            ("Draw,a.cpp,10,1000,500,1,a, b, 3, 4, 5", "Draw", "a, b, 3, 4, 5"),
            ("Draw,a.cpp,10,1000,500,1,1,2,3,4,5,6,7", "Draw", "1,2,3,4,5,6,7"),
            ("Draw<a, b>,a.cpp,10,1000,500,1,x, y", "Draw<a, b>", "x, y"),
            ("Seq<int,1,2,3,4,5,6>,a.cpp,10,1000,500,1,", "Seq<int,1,2,3,4,5,6>", ""),
            ("Draw,,10,1000,500,1,,,", "Draw", ",,"),
            ("\"B,a.cpp,10,1000,500,1,", "\"B", ""),
            ("\"B, c,a.cpp,10,1000,500,1,\"x\", \"y\"", "\"B, c", "\"x\", \"y\""),
            ("say \"x\",a.cpp,10,1000,500,1,\"", "say \"x\"", "\""),
            ("\"Foo, \"\"x\"\"\",a.cpp,10,1000,500,1,\"hello, world\"", "Foo, \"x\"", "hello, world"),
            ("\"all\",\"a.cpp\",\"10\",\"1000\",\"500\",\"1\",\"quoted\"", "all", "quoted"),
        ];
        for (row, name, value) in rows {
            let reading = read(&format!("{HEADER}{row}\n"));
            assert_eq!((reading.short(), reading.lost()), (vec![(1000, 500, *name)], vec![]), "{row}");
            assert_eq!(reading.events[0].track.tid, Id::Number(1), "{row}");
            let args: serde_json::Value = serde_json::from_str(&reading.events[0].args).expect("arguments");
            assert_eq!(args["value"].as_str().unwrap_or_default(), *value, "{row}");
            assert_eq!(args["src_line"], "10", "{row}");
        }
        // Columns in another order, and a file without values.
        let reading = read("value,thread,exec_time_ns,ns_since_start,name\na,b,3,20,10,f,g\n");
        assert_eq!((reading.short(), &*reading.events[0].args), (vec![(10, 20, "f,g")], r#"{"value":"a,b"}"#));
        let reading = read("name,src_file,src_line,ns_since_start,exec_time_ns,thread\nf<a, 1>,a.cpp,1,2,3,4\n");
        assert_eq!(reading.short(), [(2, 3, "f<a, 1>")]);
    }

    #[test]
    fn other_separators_and_a_byte_order_mark_are_read() {
        for separator in [";", "\t", "|"] {
            let text = format!("{HEADER}f,a.cpp,1,2,3,4,x\n").replace(',', separator);
            let reading = read(&format!("\u{feff}{text}"));
            assert_eq!((reading.short(), reading.lost()), (vec![(2, 3, "f")], vec![]), "{separator:?}");
        }
    }

    #[test]
    fn plots_are_counters() {
        let rows = "fps,,,1500,,,60.000000\na, b,,,1600,,,-1.5\nbad,,,1700,,,nan\nno,,,1800,,,x\n";
        let reading = read(&format!("{HEADER}Frame,a.cpp,10,1000,500,1,\n{rows}"));
        let counters: Vec<_> = reading.events.iter().filter(|event| event.kind == EventKind::Counter).collect();
        let found: Vec<_> =
            counters.iter().map(|event| (event.ts_ns, &*event.track.name, f64::from_bits(event.value))).collect();
        assert_eq!(found, [(1500, "fps", 60.0), (1600, "a, b", -1.5)]);
        assert_eq!((reading.events.len(), counters[0].track.pid.clone()), (3, Id::None));
        assert_eq!(reading.lost(), [(Loss::BadRecord, 1), (Loss::BadCounter, 1)]);
    }

    proptest! {
        /// Names have no numeric parts and files no numeric names, which would make a line ambiguous.
        #[test]
        fn zones_are_read_back_as_tracy_writes_them(
            name in "[a-z<>:\" ]{0,5}(,[a-z<> \"]{1,5}){0,4}",
            file in "[a-z./ ]{1,9}",
            numbers in prop::array::uniform4(0..u32::MAX),
            value in "[a-z0-9=\" ]{0,5}(,[a-z0-9 \"]{0,5}){0,9}",
        ) {
            // A quoted cell is read as one of another program.
            prop_assume!(!name.starts_with('"') && !value.starts_with('"'));
            let [line, start, duration, thread] = numbers;
            let reading = read(&format!("{HEADER}{name},{file},{line},{start},{duration},{thread},{value}\n"));
            prop_assert_eq!(reading.short(), [(start.into(), duration.into(), &*name)]);
            prop_assert_eq!(&reading.events[0].track.tid, &Id::Number(thread.into()));
            let args: serde_json::Value = serde_json::from_str(&reading.events[0].args).expect("arguments");
            prop_assert_eq!(args["value"].as_str().unwrap_or_default(), value);
        }
    }
}

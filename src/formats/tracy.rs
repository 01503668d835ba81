//! Tracy zones as exported by `tracy-csvexport -u`: `name,src_file,src_line,ns_since_start,exec_time_ns,thread,value`.
//! Tracy's own traces are refused in `unsupported`.

use std::sync::Arc;

use super::Reader;
use super::input::decimal::nanos_from_nanos;
use super::input::lines::{LineParser, TextLine};
use super::input::source::Source;
use super::output::args::ArgsWriter;
use super::output::batch::{BatchBuilder, bare};
use crate::formats::format::{Format, Opener, Shown};
use crate::model::args::Detail;
use crate::model::{Event, EventKind, Id, Loss, TrackKey, TrackKind};

/// Mandatory columns of a span.
const NEEDED: [&[u8]; 3] = [b"name", b"ns_since_start", b"exec_time_ns"];

/// Output of `tracy-csvexport`: a zone per line.
pub(crate) const FORMAT: Format = Format {
    name: "Tracy zones",
    record: "A zone is a line of the columns that the first line names.",
    sniff: looks_like_zones,
    shows: &[Shown::Spans, Shown::Arguments],
    opener: Opener::Capture(|source, _| Ok(open(source))),
};

/// Returns whether the first line has the columns of exported zones.
fn looks_like_zones(head: &[u8]) -> bool {
    let end = memchr::memchr(b'\n', head).unwrap_or(head.len());
    let columns: Vec<_> = cells(head[..end].trim_ascii_end());
    NEEDED.iter().all(|needed| columns.iter().any(|column| column == needed))
}

/// Creates a reader of exported zones.
fn open(source: Source) -> Reader {
    super::input::lines::open(source, Zones::default())
}

#[derive(Debug, Default)]
struct Zones {
    /// Column names; empty until the first line.
    columns: Vec<Vec<u8>>,
    args: ArgsWriter,
}

/// Splits a line of CSV into cells, which may be quoted.
fn cells(line: &[u8]) -> Vec<Vec<u8>> {
    let mut cells = vec![Vec::new()];
    let mut is_quoted = false;
    let mut bytes = line.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        let cell = cells.last_mut().map_or(0, |cell| cell.len());
        match byte {
            b'"' if is_quoted && bytes.peek() == Some(&b'"') => bytes.next(),
            b'"' if is_quoted || cell == 0 => {
                is_quoted = !is_quoted;
                continue;
            }
            b',' if !is_quoted => {
                cells.push(Vec::new());
                continue;
            }
            _ => None,
        };
        if let Some(cell) = cells.last_mut() {
            cell.push(byte);
        }
    }
    cells
}

impl Zones {
    fn position(&self, name: &[u8]) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// Splits a line into one cell per column. Tracy does not quote, so additional commas belong to the name, as in
    /// C++.
    fn cells(&self, line: &[u8]) -> Option<Vec<Vec<u8>>> {
        let mut cells = cells(line);
        let extra = cells.len().checked_sub(self.columns.len())?;
        let first = self.position(b"name")?;
        let whole = cells[first..=first + extra].join(&b","[..]);
        cells.splice(first..=first + extra, [whole]);
        Some(cells)
    }
}

impl LineParser for Zones {
    fn line(&mut self, line: TextLine<'_>, batch: &mut BatchBuilder) {
        let place = line.place();
        if line.bytes.is_empty() {
            return;
        }
        if self.columns.is_empty() {
            self.columns = cells(line.bytes);
            return;
        }
        let Some(cells) = self.cells(line.bytes).filter(|_| line.has_end) else {
            return batch.lose(line.loss(), place);
        };
        let cell = |name: &[u8]| self.position(name).map_or(&b""[..], |position| &cells[position]);
        let (Ok(ts_ns), Ok(dur_ns)) =
            (nanos_from_nanos(cell(b"ns_since_start")), nanos_from_nanos(cell(b"exec_time_ns")))
        else {
            return batch.lose(line.loss(), place);
        };
        let tid = std::str::from_utf8(cell(b"thread")).ok().and_then(|tid| tid.parse().ok());
        let key = TrackKey {
            kind: TrackKind::Thread,
            pid: Id::None,
            tid: tid.map_or_else(|| Id::Text(String::from_utf8_lossy(cell(b"thread")).into()), Id::Number),
            name: Arc::default(),
            slot: 0,
        };
        let (track, name) = (batch.track_with(&key), batch.name(cell(b"name"), None, place));
        self.args.clear();
        for (column, cell) in self.columns.iter().zip(&cells) {
            let is_shown = matches!(&column[..], b"name" | b"ns_since_start" | b"exec_time_ns" | b"thread");
            if !is_shown && !cell.is_empty() {
                self.args.text(&String::from_utf8_lossy(column), cell);
            }
        }
        let args_json = self.args.finish();
        let detail = batch.batch.chunk.details.push(&Detail { args_json, ..Detail::default() });
        if dur_ns < 0 {
            batch.lose(Loss::NegativeDuration, place);
        }
        let value = dur_ns.max(0).unsigned_abs();
        batch.push(Event { value, detail, ..bare(ts_ns, EventKind::Complete, track, name) });
    }
}

#[cfg(test)]
mod tests {
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
        let events = read(ZONES).events;
        let header = ZONES.find('\n').expect("a header") + 1;
        for len in header..ZONES.len() {
            let reading = read(&ZONES[..len]);
            assert_eq!(reading.events, events[..reading.events.len()], "{len} bytes");
            let is_between = ZONES.as_bytes()[len - 1] == b'\n';
            assert_eq!(reading.losses.count(Loss::Truncated), u64::from(!is_between), "{len} bytes");
        }
        let reading = read(&format!("{ZONES}x,y\na,b,c,d,e,f,g\nlast,f,1,2,-3,4,\n"));
        assert_eq!(reading.events.len(), 3);
        assert_eq!(reading.lost(), [(Loss::NegativeDuration, 1), (Loss::BadRecord, 2)]);
    }
}

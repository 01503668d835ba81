//! Formats spans as text: CSV as in RFC 4180, or one JSON object per line. Independent of the store.

use std::io::{self, Write};

use crate::base::csv::Cells;
use crate::base::escape::write_json;
use crate::model::Id;

/// The columns, in order: a contract with scripts.
const COLUMNS: [&str; 10] = ["ts", "dur", "depth", "name", "category", "pid", "tid", "process", "thread", "track"];

/// The additional columns of an export.
const EXPORT_COLUMNS: [&str; 2] = ["outside", "args"];

/// The file format of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowFormat {
    /// Comma-separated, quoted as in RFC 4180, with a header line.
    Csv(Cells),
    /// One JSON object per line.
    JsonLines,
}

/// The printed values of one span.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TableRow<'a> {
    /// Start in nanoseconds of the trace's clock.
    pub(crate) ts_ns: i64,
    /// Duration; `None` if its end is missing from the trace.
    pub(crate) dur_ns: Option<u64>,
    /// Nesting depth on the track; 0 for outermost.
    pub(crate) depth: u16,
    pub(crate) name: &'a str,
    pub(crate) category: Option<&'a str>,
    pub(crate) pid: &'a Id,
    pub(crate) tid: &'a Id,
    /// Process name; empty if the trace has none.
    pub(crate) process: &'a str,
    /// Thread name, for spans of threads.
    pub(crate) thread: &'a str,
    /// Track name, for spans outside threads.
    pub(crate) track: &'a str,
}

/// The additional columns of an export.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExportColumns<'a> {
    /// Whether the span lies outside of the exported part, and is printed because a row of the part needs it.
    pub(crate) outside: bool,
    /// Its arguments as one JSON object, or empty.
    pub(crate) args_json: &'a str,
}

/// Writes rows in one format.
pub(crate) struct TableWriter<'a> {
    out: &'a mut dyn Write,
    format: RowFormat,
    /// The current line of CSV, which is written at once.
    line: Vec<u8>,
}

impl<'a> TableWriter<'a> {
    /// Begins a table, with a header line if the format has one. Returns the I/O error of `out`.
    pub(crate) fn begin(out: &'a mut dyn Write, format: RowFormat) -> io::Result<Self> {
        if matches!(format, RowFormat::Csv(_)) {
            writeln!(out, "{}", COLUMNS.join(","))?;
        }
        Ok(Self { out, format, line: Vec::new() })
    }

    /// Writes one row. Returns the I/O error of `out`.
    pub(crate) fn row(&mut self, row: &TableRow<'_>) -> io::Result<()> {
        match self.format {
            RowFormat::Csv(cells) => {
                self.begin_line(row, cells)?;
                self.end_line()
            }
            RowFormat::JsonLines => self.json(row),
        }
    }

    /// Begins a CSV table with the columns of an export, whose rows are all [`TableWriter::export_row`]. Returns the
    /// I/O error of `out`.
    pub(crate) fn begin_export(out: &'a mut dyn Write, cells: Cells) -> io::Result<Self> {
        writeln!(out, "{},{}", COLUMNS.join(","), EXPORT_COLUMNS.join(","))?;
        Ok(Self { out, format: RowFormat::Csv(cells), line: Vec::new() })
    }

    /// Writes one row of an export. Returns the I/O error of `out`.
    pub(crate) fn export_row(&mut self, row: &TableRow<'_>, more: &ExportColumns<'_>) -> io::Result<()> {
        let RowFormat::Csv(cells) = self.format else { return self.json(row) };
        self.begin_line(row, cells)?;
        self.line.extend_from_slice(if more.outside { b",true," } else { b",false," });
        cells.write(&mut self.line, more.args_json)?;
        self.end_line()
    }

    /// Fills the line with the columns that every table has.
    fn begin_line(&mut self, row: &TableRow<'_>, cells: Cells) -> io::Result<()> {
        let line = &mut self.line;
        push_decimal(line, row.ts_ns);
        line.push(b',');
        push_decimal(line, row.dur_ns.map_or(-1, i128::from));
        line.push(b',');
        push_decimal(line, row.depth);
        for field in [row.name, row.category.unwrap_or("")] {
            line.push(b',');
            cells.write(line, field)?;
        }
        for id in [row.pid, row.tid] {
            line.push(b',');
            match id {
                Id::None => {}
                Id::Number(number) => push_decimal(line, *number),
                Id::Text(text) => cells.write(line, text)?,
            }
        }
        for field in [row.process, row.thread, row.track] {
            line.push(b',');
            cells.write(line, field)?;
        }
        Ok(())
    }

    /// Writes the line.
    fn end_line(&mut self) -> io::Result<()> {
        self.line.push(b'\n');
        self.out.write_all(&self.line)?;
        self.line.clear();
        Ok(())
    }

    fn json(&mut self, row: &TableRow<'_>) -> io::Result<()> {
        let out = &mut *self.out;
        let dur_ns = row.dur_ns.map_or(-1, i128::from);
        write!(out, "{{\"ts\":{},\"dur\":{dur_ns},\"depth\":{},\"name\":", row.ts_ns, row.depth)?;
        json_text(out, row.name)?;
        out.write_all(b",\"category\":")?;
        match row.category {
            Some(category) => json_text(out, category)?,
            None => out.write_all(b"null")?,
        }
        for (key, id) in [("pid", row.pid), ("tid", row.tid)] {
            write!(out, ",\"{key}\":")?;
            json_id(out, id)?;
        }
        for (key, text) in [("process", row.process), ("thread", row.thread), ("track", row.track)] {
            write!(out, ",\"{key}\":")?;
            json_text(out, text)?;
        }
        out.write_all(b"}\n")
    }
}

/// Appends a number, without the formatter of `write!`.
fn push_decimal(line: &mut Vec<u8>, number: impl itoa::Integer) {
    line.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Writes an id as JSON: a number, a string or null. Returns the I/O error of `out`.
pub(crate) fn json_id(out: &mut dyn Write, id: &Id) -> io::Result<()> {
    match id {
        Id::None => out.write_all(b"null"),
        Id::Number(number) => write!(out, "{number}"),
        Id::Text(text) => json_text(out, text),
    }
}

/// Writes a JSON string. Returns the I/O error of `out`.
pub(crate) fn json_text(out: &mut dyn Write, text: &str) -> io::Result<()> {
    write_json(out, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: TableRow<'_> = TableRow {
        ts_ns: i64::MIN,
        dur_ns: None,
        depth: 3,
        name: "a,\"b\"\r\nc",
        category: None,
        pid: &Id::Number(-1),
        tid: &Id::None,
        process: "p",
        thread: "\u{0}\u{202e}",
        track: "",
    };

    fn text_of(format: RowFormat) -> String {
        let mut out = Vec::new();
        TableWriter::begin(&mut out, format).and_then(|mut table| table.row(&ROW)).expect("memory takes it");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn a_field_with_separators_is_still_one_field() {
        let expected = "ts,dur,depth,name,category,pid,tid,process,thread,track\n\
                        -9223372036854775808,-1,3,\"a,\"\"b\"\"\r\nc\",,-1,,p,\u{0}\u{202e},\n";
        assert_eq!(text_of(RowFormat::Csv(Cells::default())), expected);
    }

    #[test]
    fn numbers_have_the_digits_that_formatting_gives_them() {
        for number in [0, 1, -1, 9, 10, 99, 100, -12_345, i64::MAX, i64::MIN] {
            let mut line = Vec::new();
            push_decimal(&mut line, number);
            assert_eq!(String::from_utf8(line).unwrap(), number.to_string());
        }
        let mut line = Vec::new();
        push_decimal(&mut line, u64::MAX);
        assert_eq!(String::from_utf8(line).unwrap(), u64::MAX.to_string());
    }

    #[test]
    fn an_export_has_its_own_columns_after_the_others() {
        let mut out = Vec::new();
        let mut table = TableWriter::begin_export(&mut out, Cells::default()).unwrap();
        table.export_row(&ROW, &ExportColumns { outside: true, args_json: r#"{"a":1}"# }).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("ts,dur,depth,name,category,pid,tid,process,thread,track,outside,args\n"));
        assert!(text.ends_with(",true,\"{\"\"a\"\":1}\"\n"), "{text}");
    }

    #[test]
    fn a_line_of_json_is_one_object_whatever_the_name_holds() {
        let text = text_of(RowFormat::JsonLines);
        assert_eq!(text.matches('\n').count(), 1);
        let object: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(object["name"], ROW.name);
        assert_eq!(object["ts"].as_i64(), Some(i64::MIN));
        assert_eq!(object["dur"].as_i64(), Some(-1));
        assert!(object["category"].is_null() && object["tid"].is_null());
        assert_eq!(object["thread"], ROW.thread);
    }
}

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
}

impl<'a> TableWriter<'a> {
    /// Begins a table, with a header line if the format has one. Returns the I/O error of `out`.
    pub(crate) fn begin(out: &'a mut dyn Write, format: RowFormat) -> io::Result<Self> {
        if matches!(format, RowFormat::Csv(_)) {
            writeln!(out, "{}", COLUMNS.join(","))?;
        }
        Ok(Self { out, format })
    }

    /// Writes one row. Returns the I/O error of `out`.
    pub(crate) fn row(&mut self, row: &TableRow<'_>) -> io::Result<()> {
        match self.format {
            RowFormat::Csv(cells) => {
                self.csv(row, cells)?;
                self.out.write_all(b"\n")
            }
            RowFormat::JsonLines => self.json(row),
        }
    }

    /// Begins a CSV table with the columns of an export, whose rows are all [`TableWriter::export_row`]. Returns the
    /// I/O error of `out`.
    pub(crate) fn begin_export(out: &'a mut dyn Write, cells: Cells) -> io::Result<Self> {
        writeln!(out, "{},{}", COLUMNS.join(","), EXPORT_COLUMNS.join(","))?;
        Ok(Self { out, format: RowFormat::Csv(cells) })
    }

    /// Writes one row of an export. Returns the I/O error of `out`.
    pub(crate) fn export_row(&mut self, row: &TableRow<'_>, more: &ExportColumns<'_>) -> io::Result<()> {
        let RowFormat::Csv(cells) = self.format else { return self.json(row) };
        self.csv(row, cells)?;
        write!(self.out, ",{},", more.outside)?;
        cells.write(self.out, more.args_json)?;
        self.out.write_all(b"\n")
    }

    fn csv(&mut self, row: &TableRow<'_>, cells: Cells) -> io::Result<()> {
        let out = &mut *self.out;
        match row.dur_ns {
            Some(dur_ns) => write!(out, "{},{dur_ns},{}", row.ts_ns, row.depth)?,
            None => write!(out, "{},-1,{}", row.ts_ns, row.depth)?,
        }
        for field in [row.name, row.category.unwrap_or("")] {
            out.write_all(b",")?;
            cells.write(out, field)?;
        }
        for id in [row.pid, row.tid] {
            out.write_all(b",")?;
            match id {
                Id::Text(text) => cells.write(out, text)?,
                Id::None | Id::Number(_) => write!(out, "{id}")?,
            }
        }
        for field in [row.process, row.thread, row.track] {
            out.write_all(b",")?;
            cells.write(out, field)?;
        }
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

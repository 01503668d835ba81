//! Writes tables of values: CSV, an array of JSON objects, or one object per line, by the file extension. Independent
//! of columns and the store.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::error::SinkError;
use super::format::with_ending;
use super::table::{RowFormat, json_text};
use crate::base::bounded_text::BoundedText;
use crate::base::cancel::Cancel;
use crate::base::csv::Cells;
use crate::base::progress::Progress;

/// A table value, exact and without its unit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TableValue<'a> {
    /// An empty cell; `null` in JSON.
    Empty,
    Text(Cow<'a, str>),
    Whole(i128),
    /// Written with enough digits to parse to the same number. Non-finite values are empty.
    Float(f64),
}

impl TableValue<'_> {
    /// Converts a count or duration that may be missing.
    #[must_use]
    pub(crate) fn from_option(value: Option<u128>) -> Self {
        value.map_or(TableValue::Empty, |value| TableValue::Whole(i128::try_from(value).unwrap_or(i128::MAX)))
    }

    /// Formats the value for copying, without quotes.
    #[must_use]
    pub(crate) fn plain(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Whole(value) => value.to_string().into(),
            // Adding 0 makes a negative zero positive.
            Self::Float(value) if value.is_finite() => (value + 0.0).to_string().into(),
            Self::Empty | Self::Float(_) => "".into(),
        }
    }
}

/// The format of a file of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueFormat {
    /// CSV with a header line, quoted as in RFC 4180.
    Csv(Cells),
    /// One array of objects.
    Json,
    /// One object per line.
    JsonLines,
}

/// Error of a file name without a table extension.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: tables are written as .csv, .json or .jsonl: give a name with one of these extensions", path.display())]
pub(crate) struct NoTableName {
    pub(crate) path: PathBuf,
}

impl From<RowFormat> for ValueFormat {
    fn from(format: RowFormat) -> Self {
        match format {
            RowFormat::Csv(cells) => Self::Csv(cells),
            RowFormat::JsonLines => Self::JsonLines,
        }
    }
}

impl ValueFormat {
    /// Returns the file and format for a name; a name without an extension gets the extension of CSV. Returns
    /// [`NoTableName`] for any other extension.
    pub(crate) fn for_name(path: PathBuf, cells: Cells) -> Result<(PathBuf, Self), NoTableName> {
        let has_ending =
            |path: &Path, ending: &str| path.extension().is_some_and(|last| last.eq_ignore_ascii_case(ending));
        match path.extension() {
            None => Ok((with_ending(path, "csv"), Self::Csv(cells))),
            Some(_) if has_ending(&path, "csv") => Ok((path, Self::Csv(cells))),
            Some(_) if has_ending(&path, "json") => Ok((path, Self::Json)),
            Some(_) if has_ending(&path, "jsonl") => Ok((path, Self::JsonLines)),
            Some(_) => Err(NoTableName { path }),
        }
    }
}

/// A table that can be written in the background: a copy of its rows, or a way to stream them.
pub(crate) trait TableSource: Send {
    /// Returns the keys of JSON and the headers of CSV: a contract with scripts.
    fn columns(&self) -> Vec<&'static str>;

    /// Returns the number of rows, for progress.
    fn rows(&self) -> u64;

    /// Writes all rows, and counts them in `progress`. Returns an error if the output fails, or if cancelled.
    fn write(&self, table: &mut TableValueWriter<'_>, cancel: &Cancel, progress: &Progress) -> Result<(), SinkError>;

    /// Returns the table as CSV, for the clipboard; an incomplete one is longer than `bytes_max`.
    fn to_csv(&self, cells: Cells, bytes_max: usize) -> String {
        let (mut text, columns) = (BoundedText::new(bytes_max), self.columns());
        if let Ok(mut table) = TableValueWriter::begin(&mut text, ValueFormat::Csv(cells), &columns) {
            // Writing fails only at the limit, and nothing cancels it.
            self.write(&mut table, &Cancel::default(), &Progress::default()).ok();
        }
        text.into_text()
    }
}

/// Writes rows and counts each in `progress`. Returns an error if the output fails, or if cancelled.
pub(super) fn write_rows<'v, R: AsRef<[TableValue<'v>]>>(
    rows: impl IntoIterator<Item = R>,
    table: &mut TableValueWriter<'_>,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<(), SinkError> {
    for row in rows {
        cancel.check()?;
        table.row(row.as_ref())?;
        progress.advance(1);
    }
    Ok(())
}

/// Writes rows of values in one format.
pub(crate) struct TableValueWriter<'a> {
    out: &'a mut dyn Write,
    format: ValueFormat,
    columns: &'a [&'a str],
    rows: u64,
}

impl<'a> TableValueWriter<'a> {
    /// Begins a table, with a header line if the format has one. Returns the I/O error of `out`.
    pub(crate) fn begin(out: &'a mut dyn Write, format: ValueFormat, columns: &'a [&'a str]) -> io::Result<Self> {
        match format {
            ValueFormat::Csv(_) => writeln!(out, "{}", columns.join(","))?,
            ValueFormat::Json => out.write_all(b"[")?,
            ValueFormat::JsonLines => {}
        }
        Ok(Self { out, format, columns, rows: 0 })
    }

    /// Writes one row, a value per column. Returns the I/O error of `out`.
    pub(crate) fn row(&mut self, values: &[TableValue<'_>]) -> io::Result<()> {
        let out = &mut *self.out;
        if let ValueFormat::Csv(cells) = self.format {
            for (column, value) in values.iter().enumerate() {
                if column > 0 {
                    out.write_all(b",")?;
                }
                match value {
                    TableValue::Text(text) => cells.write(out, text)?,
                    TableValue::Empty | TableValue::Whole(_) | TableValue::Float(_) => {
                        out.write_all(value.plain().as_bytes())?;
                    }
                }
            }
        } else {
            if self.format == ValueFormat::Json {
                out.write_all(if self.rows == 0 { b"\n" } else { b",\n" })?;
            }
            for (number, (column, value)) in self.columns.iter().zip(values).enumerate() {
                out.write_all(if number == 0 { b"{" } else { b"," })?;
                json_text(out, column)?;
                out.write_all(b":")?;
                match value {
                    TableValue::Text(text) => json_text(out, text)?,
                    TableValue::Empty | TableValue::Whole(_) | TableValue::Float(_) => {
                        let plain = value.plain();
                        out.write_all(if plain.is_empty() { b"null" } else { plain.as_bytes() })?;
                    }
                }
            }
            out.write_all(b"}")?;
        }
        if self.format != ValueFormat::Json {
            out.write_all(b"\n")?;
        }
        self.rows += 1;
        Ok(())
    }

    /// Ends the table, and returns its number of rows. Returns the I/O error of `out`.
    pub(crate) fn end(self) -> io::Result<u64> {
        if self.format == ValueFormat::Json {
            self.out.write_all(if self.rows == 0 { b"]\n" } else { b"\n]\n" })?;
        }
        Ok(self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[&str] = &["name", "count", "mean"];

    fn written(format: ValueFormat, rows: &[[TableValue<'_>; 3]]) -> String {
        let mut out = Vec::new();
        let mut table = TableValueWriter::begin(&mut out, format, COLUMNS).unwrap();
        rows.iter().for_each(|row| table.row(row).unwrap());
        assert_eq!(table.end().unwrap(), rows.len() as u64);
        String::from_utf8(out).unwrap()
    }

    fn rows() -> [[TableValue<'static>; 3]; 2] {
        [
            [TableValue::Text("a,\"b\"\n".into()), TableValue::Whole(3), TableValue::Float(0.1)],
            [TableValue::Text("=1".into()), TableValue::Empty, TableValue::Float(f64::NAN)],
        ]
    }

    #[test]
    fn every_format_gives_the_same_values_back() {
        let csv = written(ValueFormat::Csv(Cells::default()), &rows());
        assert_eq!(csv, "name,count,mean\n\"a,\"\"b\"\"\n\",3,0.1\n=1,,\n");
        let expected = serde_json::json!([
            { "name": "a,\"b\"\n", "count": 3, "mean": 0.1 },
            { "name": "=1", "count": null, "mean": null },
        ]);
        let json: serde_json::Value = serde_json::from_str(&written(ValueFormat::Json, &rows())).unwrap();
        assert_eq!(json, expected);
        let lines = written(ValueFormat::JsonLines, &rows());
        let objects: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(serde_json::Value::Array(objects), expected);
    }

    #[test]
    fn a_zero_has_no_sign() {
        let row = [TableValue::Text("x".into()), TableValue::Whole(0), TableValue::Float(-0.0)];
        assert_eq!(written(ValueFormat::Csv(Cells::default()), &[row]), "name,count,mean\nx,0,0\n");
    }

    #[test]
    fn a_table_without_rows_is_still_one() {
        assert_eq!(written(ValueFormat::Json, &[]), "[]\n");
        assert_eq!(written(ValueFormat::JsonLines, &[]), "");
        assert_eq!(written(ValueFormat::Csv(Cells::default()), &[]), "name,count,mean\n");
    }

    #[test]
    fn the_name_of_a_file_decides() {
        let cells = Cells::default();
        let format = |name: &str| ValueFormat::for_name(name.into(), cells);
        assert_eq!(format("t"), Ok(("t.csv".into(), ValueFormat::Csv(cells))));
        assert_eq!(format("t.CSV"), Ok(("t.CSV".into(), ValueFormat::Csv(cells))));
        assert_eq!(format("t.json"), Ok(("t.json".into(), ValueFormat::Json)));
        assert_eq!(format("t.jsonl"), Ok(("t.jsonl".into(), ValueFormat::JsonLines)));
        assert_eq!(format("t.xlsx"), Err(NoTableName { path: "t.xlsx".into() }));
    }
}

//! The source lines and instructions of a function with its samples, as tables in a file. The columns are a contract
//! with scripts.

use std::sync::Arc;

use super::error::SinkError;
use super::values::{TableSource, TableValue, TableValueWriter, write_rows};
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::query::flame::OwnAndTotal;
use crate::symbols::code::listing::{FunctionCode, InstructionLine, SourceLine, SourceListing};

/// The columns of source lines.
pub(crate) const SOURCE_COLUMNS: [&str; 7] = ["file", "line", "self", "total", "self_samples", "total_samples", "text"];

/// The columns of instructions: `target` is an address, `callee` the function there unless it is the same.
pub(crate) const ASSEMBLY_COLUMNS: [&str; 11] = [
    "address",
    "self",
    "total",
    "self_samples",
    "total_samples",
    "instruction",
    "target",
    "callee",
    "inlined",
    "file",
    "line",
];

/// The listed side of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum CodeSide {
    #[default]
    Source,
    Assembly,
}

impl CodeSide {
    /// Returns the columns of its table.
    #[must_use]
    pub(crate) fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Source => &SOURCE_COLUMNS,
            Self::Assembly => &ASSEMBLY_COLUMNS,
        }
    }
}

/// A function whose lines or instructions are written.
pub(crate) struct CodeTable {
    pub(crate) code: Arc<FunctionCode>,
    pub(crate) side: CodeSide,
}

impl TableSource for CodeTable {
    fn columns(&self) -> Vec<&'static str> {
        self.side.columns().to_vec()
    }

    fn rows(&self) -> u64 {
        match self.side {
            CodeSide::Source => {
                let lines: u64 = self.code.files.iter().map(|file| file.lines.len() as u64).sum();
                lines + u64::from(self.code.has_samples_without_line())
            }
            CodeSide::Assembly => self.code.assembly.as_ref().map_or(0, |it| it.instructions.len() as u64),
        }
    }

    fn write(&self, table: &mut TableValueWriter<'_>, cancel: &Cancel, progress: &Progress) -> Result<(), SinkError> {
        match self.side {
            CodeSide::Source => {
                let values = |file| move |line| source_values(file, line);
                let rows = self.code.files.iter().flat_map(|file| file.lines.iter().map(values(file)));
                let rest = self.code.has_samples_without_line().then(|| values_without_line(&self.code));
                write_rows(rows.chain(rest), table, cancel, progress)
            }
            CodeSide::Assembly => {
                let rows = self.code.assembly.iter().flat_map(|it| &it.instructions).map(assembly_values);
                write_rows(rows, table, cancel, progress)
            }
        }
    }
}

fn sum_values<'v>(sums: &OwnAndTotal) -> [TableValue<'v>; 4] {
    let whole = |number: u64| TableValue::Whole(number.into());
    [whole(sums.own.weight), whole(sums.total.weight), whole(sums.own.samples), whole(sums.total.samples)]
}

fn text_or_empty(text: Option<&str>) -> TableValue<'_> {
    text.filter(|text| !text.is_empty()).map_or(TableValue::Empty, |text| TableValue::Text(text.into()))
}

fn source_values<'s>(file: &'s SourceListing, line: &'s SourceLine) -> [TableValue<'s>; SOURCE_COLUMNS.len()] {
    let [own_weight, total_weight, own_samples, total_samples] = sum_values(&line.sums);
    let path = TableValue::Text((&*file.recorded).into());
    let text = line.text.as_deref().map_or(TableValue::Empty, |text| TableValue::Text(text.into()));
    [path, TableValue::Whole(line.number.into()), own_weight, total_weight, own_samples, total_samples, text]
}

fn values_without_line(code: &FunctionCode) -> [TableValue<'_>; SOURCE_COLUMNS.len()] {
    let [own_weight, total_weight, own_samples, total_samples] = sum_values(&code.without_line);
    let none = || TableValue::Empty;
    [none(), none(), own_weight, total_weight, own_samples, total_samples, none()]
}

fn assembly_values(line: &InstructionLine) -> [TableValue<'_>; ASSEMBLY_COLUMNS.len()] {
    let [own_weight, total_weight, own_samples, total_samples] = sum_values(&line.sums);
    let address = |address: u64| TableValue::Text(format!("{address:#x}").into());
    [
        address(line.decoded.range.start),
        own_weight,
        total_weight,
        own_samples,
        total_samples,
        TableValue::Text((&*line.decoded.text).into()),
        line.decoded.target.map_or(TableValue::Empty, address),
        text_or_empty(line.callee.as_deref()),
        text_or_empty(Some(&line.inlined)),
        text_or_empty(Some(&line.file)),
        if line.line > 0 { TableValue::Whole(line.line.into()) } else { TableValue::Empty },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::values::ValueFormat;
    use crate::symbols::code::test_code::{test_code, test_sums};

    fn written(without_line: OwnAndTotal) -> (u64, Vec<String>) {
        let table = CodeTable { code: test_code(without_line).into(), side: CodeSide::Source };
        let mut out = Vec::new();
        let mut writer = TableValueWriter::begin(&mut out, ValueFormat::JsonLines, &SOURCE_COLUMNS).expect("to memory");
        table.write(&mut writer, &Cancel::default(), &Progress::default()).expect("to memory");
        writer.end().expect("to memory");
        let text = String::from_utf8(out).expect("text");
        (table.rows(), text.lines().map(str::to_owned).collect())
    }

    #[test]
    fn samples_at_code_without_a_line_are_the_last_row() {
        let (rows, lines) = written(test_sums(3, 3));
        assert_eq!((rows, lines.len()), (2, 2));
        let last: serde_json::Value = serde_json::from_str(&lines[1]).expect("JSON");
        assert_eq!((&last["file"], &last["line"], &last["self"]), (&().into(), &().into(), &3.into()));
        assert_eq!(written(OwnAndTotal::default()).0, 1);
    }
}

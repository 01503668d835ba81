//! The rows of a function: its lines, grouped by file, or its instructions, each with its samples.

use std::sync::Arc;

use egui::Painter;

use super::jumps::Jumps;
use crate::export::code_table::CodeSide;
use crate::model::sample_measure::NANOSECONDS;
use crate::query::flame::OwnAndTotal;
use crate::scene::labels::shown;
use crate::symbols::code::listing::FunctionCode;
use crate::ui::panels::number::TableNumber;
use crate::ui::panels::table::{Rows, RowsInView, TableCell};
use crate::ui::panels::table_column::TableColumn;
use crate::ui::theme::Theme;

const TAB_SPACES: &str = "    ";

/// The text of the row that completes the sums of the lines.
const WITHOUT_LINE: &str = "[code without a source line]";

const TEXT: usize = 0;
const POSITION: usize = 1;
const SELF: usize = 2;
const TOTAL: usize = 3;
const CALLEE: usize = 4;
const INLINED: usize = 5;
const LINE: usize = 6;

const SOURCE: [TableColumn; 4] =
    [text("Text", 300.0).code(), number("Line", 60.0), number("Self", 96.0), number("Total", 96.0)];

const ASSEMBLY: [TableColumn; 7] = [
    text("Instruction", 260.0).code(),
    text("Address", 96.0).code(),
    number("Self", 96.0),
    number("Total", 96.0),
    text("Goes to", 170.0),
    text("Inlined", 170.0),
    text("Line", 190.0),
];

const fn text(title: &'static str, width: f32) -> TableColumn {
    TableColumn::text(title, width).unsortable()
}

const fn number(title: &'static str, width: f32) -> TableColumn {
    TableColumn::number(title, width).unsortable()
}

/// Returns the columns of a side.
pub(super) fn columns(side: CodeSide) -> &'static [TableColumn] {
    match side {
        CodeSide::Source => &SOURCE,
        CodeSide::Assembly => &ASSEMBLY,
    }
}

/// A row with its texts, which are computed once.
#[derive(Debug)]
struct CodeRow {
    text: String,
    /// An address, or a line number; empty for a file header and for code without a line.
    position: String,
    /// `None` for a file header.
    sums: Option<OwnAndTotal>,
    /// The function that a call instruction calls.
    callee: String,
    inlined: String,
    line: String,
}

/// The rows of one side of a function.
#[derive(Debug, Default)]
pub(super) struct CodeRows {
    rows: Vec<CodeRow>,
    code: Option<Arc<FunctionCode>>,
    jumps: Jumps,
    chosen: Option<u64>,
}

impl CodeRows {
    pub(super) fn set_code(&mut self, code: &Arc<FunctionCode>, side: CodeSide) {
        self.rows = match side {
            CodeSide::Source => lines(code),
            CodeSide::Assembly => instructions(code),
        };
        self.jumps = match (&code.assembly, side) {
            (Ok(assembly), CodeSide::Assembly) => Jumps::new(assembly.instructions.iter().map(|line| &line.decoded)),
            _ => Jumps::default(),
        };
        self.code = Some(Arc::clone(code));
        self.chosen = None;
    }

    pub(super) fn choose(&mut self, row: u64) {
        self.chosen = Some(row);
    }

    /// Returns the first row with the most self weight, or with the most total weight if no row has self weight.
    /// Returns `None` without samples.
    pub(super) fn hottest(&self) -> Option<u64> {
        let weight = |row: &CodeRow| row.sums.map(|sums| (sums.own.weight, sums.total.weight)).unwrap_or_default();
        let rows = (0..).zip(self.rows.iter().map(weight)).filter(|&(_, weight)| weight > (0, 0));
        // Of several equal rows, `max_by_key` returns the last.
        rows.max_by_key(|&(row, weight)| (weight, std::cmp::Reverse(row))).map(|(row, _)| row)
    }

    /// Describes the function and its samples in a sentence.
    pub(super) fn title(&self, name: &str, side: CodeSide) -> String {
        let Some(code) = &self.code else { return name.to_owned() };
        let within = match &code.assembly {
            Ok(assembly) if side == CodeSide::Assembly => {
                format!(" ({} in {})", assembly.symbol, assembly.path.display())
            }
            _ => String::new(),
        };
        let OwnAndTotal { own, total } = code.sums;
        let event = code.event.title();
        format!("{name}: {} samples of {event}, {} with its callees{within}", own.samples, total.samples)
    }

    fn row(&self, row: u64) -> &CodeRow {
        &self.rows[row as usize]
    }

    fn weight(&self, weight: u64) -> TableNumber {
        match &self.code {
            Some(code) if *code.event.unit == *NANOSECONDS => TableNumber::Duration(weight.into()),
            _ => TableNumber::Count(weight),
        }
    }
}

fn lines(code: &FunctionCode) -> Vec<CodeRow> {
    let row = |text: String, position: String, sums| CodeRow {
        text,
        position,
        sums,
        callee: String::new(),
        inlined: String::new(),
        line: String::new(),
    };
    let mut rows = Vec::new();
    for file in &code.files {
        let head = match &file.opened {
            Ok(path) if file.is_newer => format!("{} (newer than the program)", path.display()),
            Ok(path) => path.display().to_string(),
            Err(problem) => format!("{} ({})", file.recorded, problem.label()),
        };
        rows.push(row(head, String::new(), None));
        rows.extend(file.lines.iter().map(|line| {
            let text = line.text.as_deref().unwrap_or_default().replace('\t', TAB_SPACES);
            row(text, line.number.to_string(), Some(line.sums))
        }));
    }
    if code.has_samples_without_line() {
        rows.push(row(WITHOUT_LINE.to_owned(), String::new(), Some(code.without_line)));
    }
    rows
}

fn instructions(code: &FunctionCode) -> Vec<CodeRow> {
    let Ok(assembly) = &code.assembly else { return Vec::new() };
    let row = |line: &crate::symbols::code::listing::InstructionLine| {
        let file = line.file.rsplit(['/', '\\']).next().unwrap_or_default();
        let target = line.decoded.target.map(|target| format!("{target:#x}")).unwrap_or_default();
        CodeRow {
            text: line.decoded.text.clone(),
            position: format!("{:#x}", line.decoded.range.start),
            sums: Some(line.sums),
            callee: line.callee.clone().unwrap_or(target),
            inlined: line.inlined.clone(),
            line: if line.line > 0 { format!("{file}:{}", line.line) } else { String::new() },
        }
    };
    assembly.instructions.iter().map(row).collect()
}

impl Rows for CodeRows {
    fn count(&self) -> u64 {
        self.rows.len() as u64
    }

    fn cell(&self, row: u64, column: usize) -> TableCell<'_> {
        let row = self.row(row);
        let text = match (column, row.sums) {
            (SELF, Some(sums)) if sums.own.samples > 0 => return TableCell::Number(self.weight(sums.own.weight)),
            (TOTAL, Some(sums)) if sums.total.samples > 0 => return TableCell::Number(self.weight(sums.total.weight)),
            (TEXT, _) => &row.text,
            (POSITION, _) => &row.position,
            (CALLEE, _) => &row.callee,
            (INLINED, _) => &row.inlined,
            (LINE, _) => &row.line,
            _ => "",
        };
        if text.is_empty() { TableCell::Empty } else { TableCell::Text(shown(text)) }
    }

    fn spoken(&self, row: u64) -> String {
        let row = self.row(row);
        let (text, position) = (shown(row.text.trim()), &row.position);
        let Some(OwnAndTotal { own, total }) = row.sums else { return text.into_owned() };
        let place = if position.is_empty() { String::new() } else { format!("{position}: ") };
        format!("{place}{text}, self {}, total {}", own.samples, total.samples)
    }

    fn indent(&self, column: usize) -> f32 {
        if column == TEXT { self.jumps.points() } else { 0.0 }
    }

    fn paint_over(&self, painter: &Painter, view: &RowsInView, theme: &Theme) {
        self.jumps.paint(painter, view, theme);
    }

    fn is_chosen(&self, row: u64) -> bool {
        self.chosen == Some(row)
    }

    /// Returns the row's share of the function.
    fn bar(&self, row: u64, column: usize) -> Option<f64> {
        let (sums, whole) = (self.row(row).sums?, self.code.as_ref()?.sums.total.weight);
        let part = match column {
            SELF => sums.own.weight,
            TOTAL => sums.total.weight,
            _ => return None,
        };
        (whole > 0).then(|| part as f64 / whole as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::code::test_code::{test_code, test_sums};

    #[test]
    fn samples_at_code_without_a_line_are_the_last_row_of_the_source() {
        let mut rows = CodeRows::default();
        rows.set_code(&test_code(test_sums(3, 4)).into(), CodeSide::Source);
        assert_eq!(rows.count(), 3, "the file, its line, and the rest");
        let cell = |column| rows.cell(2, column);
        assert!(matches!(cell(TEXT), TableCell::Text(text) if text == WITHOUT_LINE));
        assert!(matches!(cell(POSITION), TableCell::Empty));
        assert!(matches!(cell(SELF), TableCell::Number(TableNumber::Count(3))));
        assert!(matches!(cell(TOTAL), TableCell::Number(TableNumber::Count(4))));
        assert_eq!(rows.spoken(2), format!("{WITHOUT_LINE}, self 3, total 4"));
        assert!(rows.spoken(1).starts_with("7: "), "{}", rows.spoken(1));
        rows.set_code(&test_code(OwnAndTotal::default()).into(), CodeSide::Source);
        assert_eq!(rows.count(), 2);
    }

    #[test]
    fn the_hottest_row_is_the_first_with_the_most_self_weight_or_else_with_the_most_total_weight() {
        let rows = |weights: &[(u64, u64)]| {
            let row = |&(own, total): &(u64, u64)| CodeRow {
                text: String::new(),
                position: String::new(),
                sums: Some(test_sums(own, total)),
                callee: String::new(),
                inlined: String::new(),
                line: String::new(),
            };
            let head = CodeRow { sums: None, ..row(&(0, 0)) };
            CodeRows { rows: std::iter::once(head).chain(weights.iter().map(row)).collect(), ..CodeRows::default() }
        };
        assert_eq!(rows(&[(1, 9), (3, 3), (3, 3), (2, 8)]).hottest(), Some(2));
        assert_eq!(rows(&[(0, 1), (0, 5)]).hottest(), Some(2));
        assert_eq!(rows(&[(0, 0), (0, 0)]).hottest(), None);
    }
}

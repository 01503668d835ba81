//! The content of a table, as its panel provides it.

use std::borrow::Cow;

use egui::Painter;

use super::cells::RowsInView;
use super::tree::TreeRow;
use crate::frame::lit::Lit;
use crate::ui::command::Command;
use crate::ui::panels::number::TableNumber;
use crate::ui::panels::value_menu::PanelValue;
use crate::ui::theme::Theme;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TableCell<'a> {
    Empty,
    Text(Cow<'a, str>),
    Number(TableNumber),
}

impl TableCell<'_> {
    /// Returns the value of the cell, with the exact number.
    pub(crate) fn value(self) -> PanelValue {
        match self {
            Self::Empty => PanelValue::default(),
            Self::Text(text) => PanelValue::new(text),
            Self::Number(number) => PanelValue::new(number.copied()),
        }
    }
}

/// The rows of a table, which formats only the rows in view.
pub(crate) trait Rows {
    fn count(&self) -> u64;

    fn cell(&self, row: u64, column: usize) -> TableCell<'_>;

    /// Returns the row as a text for screen readers.
    fn spoken(&self, row: u64) -> String;

    /// Returns the value of a cell for its context menu.
    fn value(&self, row: u64, column: usize) -> PanelValue {
        self.cell(row, column).value()
    }

    /// Returns whether a row is loaded. Rows of a paged answer are loaded on demand.
    fn is_loaded(&self, _row: u64) -> bool {
        true
    }

    fn is_chosen(&self, _row: u64) -> bool {
        false
    }

    /// Returns the length, 0 to 1, of the bar behind a number, if the table is sorted by the column or cannot be.
    fn bar(&self, _row: u64, _column: usize) -> Option<f64> {
        None
    }

    /// Returns the sum of a column for the total row; `None` if the table has no such row.
    fn total(&self, _column: usize) -> Option<TableCell<'_>> {
        None
    }

    /// Returns a tooltip with more than the cell's whole text or exact number.
    fn more(&self, _row: u64, _column: usize) -> Option<String> {
        None
    }

    /// Returns the spans of a row, to be lit on the tracks while the row is hovered.
    fn lit(&self, _row: u64) -> Option<Lit> {
        None
    }

    /// Returns the indentation of a column's text, in points.
    fn indent(&self, _column: usize) -> f32 {
        0.0
    }

    /// Returns the position of a row in the tree of rows; `None` if the rows are a list.
    fn tree_row(&self, _row: u64) -> Option<TreeRow> {
        None
    }

    /// Paints over the indentation of the first column.
    fn paint_over(&self, _painter: &Painter, _view: &RowsInView, _theme: &Theme) {}

    fn sort(&mut self, _column: usize, _ascending: bool) {}

    /// Returns whether all rows can be copied at once, which is impossible for a paged answer.
    fn copies_all(&self) -> bool {
        false
    }

    /// Returns the command that copies all rows as CSV, if there is one.
    fn csv(&self) -> Option<Command> {
        None
    }

    /// Returns a sentence about all rows for screen readers. `first` counts from 0.
    fn summary(&self, first: u64, in_view: u64) -> String {
        if self.count() == 0 {
            return "No rows".to_owned();
        }
        format!("Rows {} to {} of {}", first + 1, (first + in_view).min(self.count()), self.count())
    }
}

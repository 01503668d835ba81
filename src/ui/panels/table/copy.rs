//! Formats table rows as text for a spreadsheet: tabs between cells, exact numbers without units. The names in a tree
//! are indented.

use super::{Rows, TableCell, TableColumn};
use crate::base::csv::Cells;
use crate::ui::command::COPY_BYTES_MAX;
use crate::ui::panels::number::TableNumber;

/// Rows that decide the unit of a column.
const HEAD_ROWS: u64 = 1000;

#[must_use]
pub(super) fn row(rows: &dyn Rows, visible: &[usize], row: u64, cells: Cells) -> String {
    let mut text = Vec::new();
    write_row(&mut text, rows, visible, row, cells);
    String::from_utf8_lossy(&text).into_owned()
}

/// Returns the headers and all rows, for these columns. Stops after [`COPY_BYTES_MAX`].
#[must_use]
pub(super) fn all(rows: &dyn Rows, columns: &[TableColumn], visible: &[usize], cells: Cells) -> String {
    let heads = visible.iter().map(|&number| {
        let column = &columns[number];
        // The first rows may have no number, such as instants.
        let mut first = (0..rows.count().min(HEAD_ROWS)).map(|row| rows.cell(row, number));
        let is_duration = first.any(|cell| matches!(cell, TableCell::Number(TableNumber::Duration(_))));
        if is_duration { format!("{} (ns)", column.title) } else { column.title.to_owned() }
    });
    let mut text = heads.collect::<Vec<_>>().join("\t").into_bytes();
    text.push(b'\n');
    for row in 0..rows.count() {
        write_row(&mut text, rows, visible, row, cells);
        text.push(b'\n');
        // The text is too long to be copied; millions of rows would take seconds and gigabytes.
        if text.len() > COPY_BYTES_MAX {
            break;
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn write_row(text: &mut Vec<u8>, rows: &dyn Rows, visible: &[usize], row: u64, cells: Cells) {
    for (index, &column) in visible.iter().enumerate() {
        if index > 0 {
            text.push(b'\t');
        }
        let depth = rows.tree_row(row).filter(|_| column == 0).map_or(0, |row| row.depth);
        let spaces = 2 * depth as usize;
        match rows.cell(row, column) {
            TableCell::Empty => {}
            // writing to memory cannot fail
            TableCell::Text(content) => {
                cells.write_indented(text, spaces, &content.replace('\t', " ")).unwrap_or_default();
            }
            TableCell::Number(number) => text.extend(number.copied().bytes()),
        }
    }
}

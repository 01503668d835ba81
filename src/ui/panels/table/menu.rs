//! The context menu of a cell.

use egui::Ui;

use super::{Painting, Rows, copy};
use crate::ui::command::{AppCommand, Command};
use crate::ui::panels::value_menu;

/// The cell whose menu is open.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenMenu {
    pub(super) slot: u64,
    pub(super) row: u64,
    pub(super) column: usize,
}

/// Shows what can be done with a value, and copies of the table. Returns the chosen commands.
pub(super) fn show_menu(ui: &mut Ui, painting: &Painting<'_>, open: OpenMenu, rows: &dyn Rows) -> Vec<Command> {
    let OpenMenu { row, column, .. } = open;
    if row >= rows.count() || !rows.is_loaded(row) {
        ui.close();
        return Vec::new();
    }
    let mut commands = value_menu::show(ui, &rows.value(row, column));
    ui.separator();
    let (columns, copied, cells) = (painting.columns, &painting.copied, painting.look.cells);
    if ui.button("Copy row").clicked() {
        commands.push(Command::App(AppCommand::CopyText(copy::row(rows, copied, row, cells))));
        ui.close();
    }
    if rows.copies_all() && ui.button("Copy table").clicked() {
        commands.push(Command::App(AppCommand::CopyText(copy::all(rows, columns, copied, cells))));
        ui.close();
    }
    if let Some(csv) = rows.csv()
        && ui.button("Copy table as CSV").clicked()
    {
        commands.push(csv);
        ui.close();
    }
    commands
}

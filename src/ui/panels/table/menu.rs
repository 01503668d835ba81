//! The context menu of a cell.

use egui::{Button, Ui};

use super::{Painting, Rows, copy};
use crate::ui::command::{AppCommand, Command};
use crate::ui::panels::dock::NOT_COUNTED;
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
    let mut copies_table = |title| {
        let button = ui.add_enabled(painting.look.is_current, Button::new(title));
        button.on_disabled_hover_text(NOT_COUNTED).clicked()
    };
    let is_copied = rows.copies_all() && copies_table("Copy table");
    let csv = rows.csv().filter(|_| copies_table("Copy table as CSV"));
    if is_copied {
        commands.push(Command::App(AppCommand::CopyText(copy::all(rows, columns, copied, cells))));
        ui.close();
    }
    if let Some(csv) = csv {
        commands.push(csv);
        ui.close();
    }
    commands
}

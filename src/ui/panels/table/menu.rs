//! The context menu of a cell.

use egui::{Button, Ui};

use super::{Painting, Rows, copy};
use crate::ui::command::{AppCommand, Command};
use crate::ui::panels::dock::NOT_COUNTED;
use crate::ui::panels::value_menu::{self, PanelValue};

/// The open menu of a cell, with its content at the right click: rows may be sorted again meanwhile.
#[derive(Debug, Clone)]
pub(super) struct OpenMenu {
    /// The row on the screen to which the menu is attached.
    pub(super) slot: u64,
    value: PanelValue,
    row_text: String,
}

impl OpenMenu {
    /// Opens the menu of a cell in a slot of the screen; `None` while its row is not loaded.
    pub(super) fn new(
        slot: u64,
        (row, column): (u64, usize),
        painting: &Painting<'_>,
        rows: &dyn Rows,
    ) -> Option<Self> {
        let row_text = || copy::row(rows, &painting.copied, row, painting.look.cells);
        rows.is_loaded(row).then(|| Self { slot, value: rows.value(row, column), row_text: row_text() })
    }
}

/// Shows what can be done with a value, and copies of the table. Returns the chosen commands.
pub(super) fn show_menu(ui: &mut Ui, painting: &Painting<'_>, open: &OpenMenu, rows: &dyn Rows) -> Vec<Command> {
    let mut commands = value_menu::show(ui, &open.value);
    ui.separator();
    let (columns, copied, cells) = (painting.columns, &painting.copied, painting.look.cells);
    if ui.button("Copy row").clicked() {
        commands.push(AppCommand::CopyText(open.row_text.clone()).into());
        ui.close();
    }
    let mut copies_table = |title| {
        let button = ui.add_enabled(painting.look.is_current, Button::new(title));
        button.on_disabled_hover_text(NOT_COUNTED).clicked()
    };
    let is_copied = rows.copies_all() && copies_table("Copy table");
    let csv = rows.csv().filter(|_| copies_table("Copy table as CSV"));
    if is_copied {
        commands.push(AppCommand::CopyText(copy::all(rows, columns, copied, cells)).into());
        ui.close();
    }
    if let Some(csv) = csv {
        commands.push(csv);
        ui.close();
    }
    commands
}

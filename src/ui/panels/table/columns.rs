//! The columns of a table that are shown: a right click on a head chooses them. The first column cannot be hidden.

use egui::{Popup, PopupCloseBehavior, Response};

use super::TableColumn;
use crate::ui::chrome::menu_bar;
use crate::ui::settings::TableLayout;

pub(super) fn is_hidden(layout: &TableLayout, column: usize) -> bool {
    column > 0 && layout.hidden.contains(&column)
}

/// The columns that are not hidden, by their place among all.
#[must_use]
pub(super) fn visible(columns: &[TableColumn], layout: &TableLayout) -> Vec<usize> {
    (0..columns.len()).filter(|column| !is_hidden(layout, *column)).collect()
}

/// Shows the menu of columns while it is open at a head. It stays open for several choices.
pub(super) fn choose_columns(head: &Response, columns: &[TableColumn], layout: &mut TableLayout) {
    let menu = Popup::context_menu(head).close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    menu.show(|ui| {
        menu_bar::scrolled(ui, |ui| {
            for (number, column) in columns.iter().enumerate().skip(1) {
                let mut is_shown = !layout.hidden.contains(&number);
                if ui.checkbox(&mut is_shown, format!("Column {}", column.title)).changed() {
                    if is_shown {
                        layout.hidden.remove(&number);
                    } else {
                        layout.hidden.insert(number);
                    }
                }
            }
            ui.separator();
            if ui.button("All columns").clicked() {
                layout.hidden.clear();
                ui.close();
            }
        });
    });
}

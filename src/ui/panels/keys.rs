//! The list of keys and gestures, built from the command table.

use egui::{RichText, ScrollArea, Ui};

use crate::ui::command_table::{GESTURES, Menu, TABLE, key_text};
use crate::ui::theme::Theme;

/// Shows all keys and gestures.
pub(crate) fn show(ui: &mut Ui, theme: &Theme) {
    /// Below this width the list has one column.
    const TWO_COLUMNS_POINTS: f32 = 800.0;
    let screen = ui.ctx().content_rect();
    let gestures = |ui: &mut Ui| {
        list(ui, theme, "Mouse and held keys", GESTURES.iter().map(|&(keys, text)| (keys.to_owned(), text)));
    };
    ScrollArea::vertical().max_height(screen.height() - 120.0).show(ui, |ui| {
        // Line height of text, not of buttons.
        ui.spacing_mut().interact_size.y = ui.text_style_height(&egui::TextStyle::Body);
        if screen.width() < TWO_COLUMNS_POINTS {
            gestures(ui);
            show_menus(ui, theme, &Menu::ALL);
            return;
        }
        ui.horizontal_top(|ui| {
            ui.vertical(|ui| {
                gestures(ui);
                show_menus(ui, theme, &[Menu::File, Menu::View, Menu::Help]);
            });
            ui.add_space(24.0);
            ui.vertical(|ui| show_menus(ui, theme, &[Menu::Edit, Menu::Go, Menu::Rows, Menu::Analyze]));
        });
    });
}

fn show_menus(ui: &mut Ui, theme: &Theme, menus: &[Menu]) {
    for &menu in menus {
        let with_keys = TABLE.iter().filter(|entry| entry.menu == menu && !entry.keys.is_empty());
        let rows: Vec<_> = with_keys
            .map(|entry| {
                let keys: Vec<_> = entry.keys.iter().map(|key| key_text(ui.ctx(), *key)).collect();
                (keys.join("  "), entry.title)
            })
            .collect();
        if !rows.is_empty() {
            list(ui, theme, menu.title(), rows.into_iter());
        }
    }
}

fn list(ui: &mut Ui, theme: &Theme, title: &str, rows: impl Iterator<Item = (String, &'static str)>) {
    ui.label(RichText::new(title).small().color(theme.weak_text));
    egui::Grid::new(title).num_columns(2).spacing([20.0, 4.0]).min_col_width(120.0).show(ui, |ui| {
        for (keys, text) in rows {
            ui.label(RichText::new(keys).strong());
            ui.label(text);
            ui.end_row();
        }
    });
    ui.add_space(10.0);
}

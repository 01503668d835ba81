//! The bar at the top and the list of keys, both from the table of commands.

use egui::{Button, RichText, ScrollArea, Ui};

use super::Command;
use super::commands::{Entry, GESTURES, Menu, TABLE, UiState, key_text};
use super::theme::Theme;

/// Shows the bar; `more` adds to the end of a menu what is no fixed command.
pub fn show(ui: &mut Ui, state: &UiState, more: impl Fn(&mut Ui, Menu) -> Option<Command>) -> Vec<Command> {
    let mut commands = Vec::new();
    egui::MenuBar::new().ui(ui, |ui| {
        for menu in Menu::ALL {
            ui.menu_button(menu.title(), |ui| {
                for entry in TABLE.iter().filter(|entry| entry.menu == menu) {
                    if entry.begins_section {
                        ui.separator();
                    }
                    if show_entry(ui, entry, state) {
                        commands.push(entry.command(state));
                        ui.close();
                    }
                }
                commands.extend(more(ui, menu));
            });
        }
    });
    commands
}

fn show_entry(ui: &mut Ui, entry: &Entry, state: &UiState) -> bool {
    let tick = match entry.is_checked(state) {
        Some(true) => "•  ",
        Some(false) => "    ",
        None => "",
    };
    let mut button = Button::new(format!("{tick}{}", entry.title));
    if let Some(key) = entry.keys.first() {
        button = button.shortcut_text(key_text(ui.ctx(), key));
    }
    ui.add_enabled(entry.is_enabled(state), button).clicked()
}

/// Shows what every key and every gesture does.
pub fn keys(ui: &mut Ui, theme: &Theme) {
    ScrollArea::vertical().max_height(ui.ctx().content_rect().height() - 160.0).show(ui, |ui| {
        // Lines of text and not of buttons.
        ui.spacing_mut().interact_size.y = ui.text_style_height(&egui::TextStyle::Body);
        ui.horizontal_top(|ui| {
            ui.vertical(|ui| {
                list(ui, theme, "Mouse and held keys", GESTURES.iter().map(|&(keys, text)| (keys.to_owned(), text)));
                show_menus(ui, theme, &[Menu::File, Menu::View, Menu::Help]);
            });
            ui.add_space(24.0);
            ui.vertical(|ui| show_menus(ui, theme, &[Menu::Go, Menu::Rows, Menu::Marks, Menu::Settings]));
        });
    });
}

fn show_menus(ui: &mut Ui, theme: &Theme, menus: &[Menu]) {
    for &menu in menus {
        let with_keys = TABLE.iter().filter(|entry| entry.menu == menu && !entry.keys.is_empty());
        let rows: Vec<_> = with_keys
            .map(|entry| {
                let keys: Vec<_> = entry.keys.iter().map(|key| key_text(ui.ctx(), key)).collect();
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

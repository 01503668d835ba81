//! The bar at the top and the list of keys, both from the table of commands.

use egui::{Button, RichText, ScrollArea, Stroke, Ui, vec2};

use super::commands::{Entry, GESTURES, Menu, TABLE, UiState, key_text};
use super::theme::Theme;
use crate::ui::command::Command;

/// Shows the bar; `more` adds to the end of a menu what is no fixed command.
pub(crate) fn show(ui: &mut Ui, state: &UiState, more: impl Fn(&mut Ui, Menu) -> Option<Command>) -> Vec<Command> {
    let mut commands = Vec::new();
    egui::MenuBar::new().ui(ui, |ui| {
        for menu in Menu::ALL {
            ui.menu_button(menu.title(), |ui| {
                scrolled(ui, |ui| {
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
            });
        }
    });
    commands
}

/// Shows the entries of a menu, which scroll where the window is too low for all of them.
pub(super) fn scrolled(ui: &mut Ui, entries: impl FnOnce(&mut Ui)) {
    let most = ui.ctx().content_rect().height() - 60.0;
    // An entry is a line, and the menu as wide as the longest.
    ui.style_mut().wrap_mode = Some(egui::TextWrapMode::Extend);
    ScrollArea::vertical().max_height(most).show(ui, entries);
}

fn show_entry(ui: &mut Ui, entry: &Entry, state: &UiState) -> bool {
    let mut button = match entry.is_checked(state) {
        Some(is_checked) => Button::new((tick(is_checked), entry.title)),
        None => Button::new(entry.title),
    };
    if let Some(key) = entry.keys.first() {
        button = button.shortcut_text(key_text(ui.ctx(), *key));
    }
    entry.hinted(ui.add_enabled(entry.is_enabled(state), button)).clicked()
}

/// The room of a tick, with the tick where there is one.
fn tick(is_checked: bool) -> egui::Atom<'static> {
    egui::Atom::paint(vec2(10.0, 10.0), move |ui, args| {
        if is_checked {
            let corners = [vec2(-4.0, 0.0), vec2(-1.0, 3.0), vec2(4.0, -3.5)];
            let line = corners.map(|corner| args.rect.center() + corner).to_vec();
            ui.painter().line(line, Stroke::new(1.6, ui.visuals().text_color()));
        }
    })
}

/// Shows what every key and every gesture does.
pub(crate) fn keys(ui: &mut Ui, theme: &Theme) {
    /// Below this width all stands in one column.
    const TWO_COLUMNS_POINTS: f32 = 800.0;
    let screen = ui.ctx().content_rect();
    let gestures = |ui: &mut Ui| {
        list(ui, theme, "Mouse and held keys", GESTURES.iter().map(|&(keys, text)| (keys.to_owned(), text)));
    };
    ScrollArea::vertical().max_height(screen.height() - 120.0).show(ui, |ui| {
        // Lines of text and not of buttons.
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
            ui.vertical(|ui| show_menus(ui, theme, &[Menu::Go, Menu::Rows, Menu::Marks, Menu::Settings]));
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

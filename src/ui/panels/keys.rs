//! The list of keys and gestures, built from the command table.

use egui::{Label, RichText, ScrollArea, TextStyle, TextWrapMode, Ui, WidgetText};

use crate::ui::command_table::{GESTURES, Menu, TABLE, key_text};
use crate::ui::theme::Theme;

/// Shows all keys and gestures.
pub(crate) fn show(ui: &mut Ui, theme: &Theme) {
    /// Below this width the list has one column.
    const TWO_COLUMNS_POINTS: f32 = 800.0;
    const GAP_POINTS: f32 = 24.0;
    /// Space for the frame of the window, the scroll bar and a margin.
    const AROUND_POINTS: f32 = 60.0;
    let screen = ui.ctx().content_rect();
    let has_two_columns = screen.width() >= TWO_COLUMNS_POINTS;
    let room = screen.width() - AROUND_POINTS;
    let room = if has_two_columns { (room - GAP_POINTS) / 2.0 } else { room };
    let gestures = |ui: &mut Ui| {
        let rows = GESTURES.iter().map(|&(keys, text)| (keys.to_owned(), text)).collect();
        list(ui, theme, "Mouse and held keys", rows, room);
    };
    // Keys too wide for a small window scroll.
    let area =
        ScrollArea::both().max_height(screen.height() - 120.0).min_scrolled_width(screen.width() - AROUND_POINTS);
    area.show(ui, |ui| {
        // Line height of text, not of buttons.
        ui.spacing_mut().interact_size.y = ui.text_style_height(&egui::TextStyle::Body);
        if !has_two_columns {
            gestures(ui);
            show_menus(ui, theme, &Menu::ALL, room);
            return;
        }
        ui.horizontal_top(|ui| {
            ui.vertical(|ui| {
                gestures(ui);
                show_menus(ui, theme, &[Menu::File, Menu::View, Menu::Help], room);
            });
            ui.add_space(GAP_POINTS);
            ui.vertical(|ui| show_menus(ui, theme, &[Menu::Edit, Menu::Go, Menu::Rows, Menu::Analyze], room));
        });
    });
}

fn show_menus(ui: &mut Ui, theme: &Theme, menus: &[Menu], room: f32) {
    for &menu in menus {
        let with_keys = TABLE.iter().filter(|entry| entry.menu == menu && !entry.keys.is_empty());
        let rows: Vec<_> = with_keys
            .map(|entry| {
                let keys: Vec<_> = entry.keys.iter().map(|key| key_text(ui.ctx(), *key)).collect();
                (keys.join("  "), entry.title)
            })
            .collect();
        if !rows.is_empty() {
            list(ui, theme, menu.title(), rows, room);
        }
    }
}

/// Shows keys with their meanings, which wrap if the list would be wider than `room`.
fn list(ui: &mut Ui, theme: &Theme, title: &str, rows: Vec<(String, &'static str)>, room: f32) {
    const KEYS_POINTS: f32 = 120.0;
    const GAP_POINTS: f32 = 20.0;
    /// Minimum width of the meanings; with wider keys the list scrolls.
    const TEXT_POINTS: f32 = 120.0;
    let strong = |keys: &str| RichText::new(keys).strong();
    let width = |keys: &str| {
        let text = WidgetText::from(strong(keys));
        text.into_galley(ui, Some(TextWrapMode::Extend), f32::INFINITY, TextStyle::Body).size().x
    };
    let keys_points = rows.iter().map(|(keys, _)| width(keys)).fold(KEYS_POINTS, f32::max);
    let text_points = (room - keys_points - GAP_POINTS).max(TEXT_POINTS);
    ui.label(RichText::new(title).small().color(theme.weak_text));
    egui::Grid::new(title).num_columns(2).spacing([GAP_POINTS, 4.0]).min_col_width(KEYS_POINTS).show(ui, |ui| {
        for (keys, text) in rows {
            ui.label(strong(&keys));
            ui.scope(|ui| {
                ui.set_max_width(text_points);
                ui.add(Label::new(text).wrap());
            });
            ui.end_row();
        }
    });
    ui.add_space(10.0);
}

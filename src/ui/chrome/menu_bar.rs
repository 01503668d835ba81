//! The menu bar, built from the command table. F10 or Alt+F opens the first menu, and Left and Right go from one menu
//! to the next. On a focused title, Down opens its menu.

use egui::containers::menu::MenuConfig;
use egui::{
    Button, Context, Event, FocusDirection, Id, Key, Modifiers, Popup, PopupCloseBehavior, Response, ScrollArea,
    Stroke, Ui, vec2,
};

use crate::ui::command::Command;
use crate::ui::command_table::{
    CommandEntry, MENU_BAR_KEYS, Menu, MenuList, TABLE, UiState, key_text, with_disabled_reason,
};
use crate::ui::panels::table_keys::{hold_grid, release};
use crate::ui::widgets::spoken;

/// Shows the bar. `list` shows the dynamic entries after an entry.
pub(crate) fn show(ui: &mut Ui, state: &UiState, list: impl Fn(&mut Ui, MenuList) -> Option<Command>) -> Vec<Command> {
    let mut commands = Vec::new();
    // A disabled entry says why when it is hovered, so a click on it must not close the menu. The others close it.
    let config = MenuConfig::new().close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    egui::MenuBar::new().config(config).ui(ui, |ui| {
        let mut menus = Vec::new();
        for menu in Menu::ALL {
            let shown = ui.menu_button(menu.title(), |ui| {
                scrolled(ui, |ui| {
                    let entries: Vec<&CommandEntry> = TABLE.iter().filter(|entry| entry.menu == menu).collect();
                    for entries in entries.chunk_by(|a, b| a.submenu.is_some() && a.submenu == b.submenu) {
                        if entries[0].begins_section {
                            ui.separator();
                        }
                        match entries[0].submenu {
                            Some(title) => commands.extend(show_submenu(ui, title, entries, state)),
                            None => commands.extend(show_entry(ui, entries[0], state)),
                        }
                        let followed_by = entries.iter().find_map(|entry| entry.followed_by);
                        commands.extend(followed_by.and_then(|which| list(ui, which)));
                    }
                });
            });
            menus.push((shown.response.id, Popup::default_response_id(&shown.response)));
        }
        step_titles(ui, &menus);
        step_by_key(ui, &menus);
    });
    commands
}

/// Goes from a focused title to another, or opens its menu, if the keys are pressed.
fn step_titles(ui: &Ui, menus: &[(Id, Id)]) {
    let focused = ui.memory(egui::Memory::focused);
    let Some(at) = menus.iter().position(|(title, _)| Some(*title) == focused) else { return };
    let (title, popup) = menus[at];
    if Popup::is_any_open(ui.ctx()) {
        return release(ui, title);
    }
    hold_grid(ui, title);
    let presses = |key| ui.input_mut(|input| input.count_and_consume_key(Modifiers::NONE, key) as i64);
    let steps = presses(Key::ArrowRight) - presses(Key::ArrowLeft);
    let is_opened = presses(Key::ArrowDown) > 0;
    if steps != 0 {
        let next = (at as i64 + steps).rem_euclid(menus.len() as i64) as usize;
        ui.memory_mut(|memory| memory.request_focus(menus[next].0));
    }
    if is_opened {
        open(ui, popup);
    }
    if steps != 0 || is_opened {
        // In the first frame with the focus, egui would move it to another widget.
        ui.memory_mut(|memory| memory.move_focus(FocusDirection::None));
    }
}

/// Opens the first menu, or the menu beside the open menu, if their keys are pressed. Its first entry gets the focus.
fn step_by_key(ui: &Ui, menus: &[(Id, Id)]) {
    let shown = menus.iter().position(|(_, popup)| Popup::is_id_open(ui.ctx(), *popup));
    let is_taken = ui.memory(|memory| memory.top_modal_layer().is_some()) || Popup::is_any_open(ui.ctx());
    let count = menus.len();
    let next = ui.input_mut(|input| match shown {
        Some(at) => {
            // A slow frame has several presses.
            let mut presses = |key| input.count_and_consume_key(Modifiers::NONE, key) as i64;
            let steps = presses(Key::ArrowRight) - presses(Key::ArrowLeft);
            (steps != 0).then(|| (at as i64 + steps).rem_euclid(count as i64) as usize)
        }
        // Shift + F10 opens a context menu.
        None if !is_taken => {
            let count = input.events.len();
            input.events.retain(|event| !opens_menu_bar(event));
            (input.events.len() < count).then_some(0)
        }
        _ => None,
    });
    if let Some((_, popup)) = next.and_then(|next| menus.get(next)) {
        open(ui, *popup);
    }
}

/// Returns whether an event is a press of a key of the menu bar. Shift + F10 opens a context menu.
fn opens_menu_bar(event: &Event) -> bool {
    let is_key = |key: Key, modifiers: Modifiers| {
        MENU_BAR_KEYS.iter().any(|menu| menu.logical_key == key && modifiers.matches_exact(menu.modifiers))
    };
    matches!(event, Event::Key { key, pressed: true, modifiers, .. } if is_key(*key, *modifiers))
}

/// Opens a menu, whose first entry gets the focus.
fn open(ui: &Ui, popup: Id) {
    Popup::open_id(ui.ctx(), popup);
    give_focus_to_entry(ui.ctx());
}

/// Gives the focus to the next entry that is shown.
pub(crate) fn give_focus_to_entry(ctx: &Context) {
    ctx.data_mut(|data| data.insert_temp(focus_id(), true));
}

/// Focuses an entry if the focus is given to the next one.
pub(crate) fn take_focus(entry: &Response) {
    if entry.enabled() && entry.ctx.data_mut(|data| data.remove_temp::<bool>(focus_id())).is_some() {
        entry.request_focus();
        entry.ctx.request_repaint();
    }
}

/// Returns the id of whether the next entry that is shown gets the focus.
fn focus_id() -> Id {
    Id::unique("focus of an opened menu")
}

/// Shows entries in a submenu, which opens if one of them is enabled.
fn show_submenu(ui: &mut Ui, title: &str, entries: &[&CommandEntry], state: &UiState) -> Option<Command> {
    // A disabled submenu shows the reason of its first entry.
    let disabled_reason = entries.first().and_then(|entry| entry.disabled_reason(state));
    let disabled_reason = disabled_reason.filter(|_| entries.iter().all(|entry| !entry.is_enabled(state)));
    let shown = ui.add_enabled_ui(disabled_reason.is_none(), |ui| {
        ui.menu_button(title, |ui| {
            ui.style_mut().wrap_mode = Some(egui::TextWrapMode::Extend);
            entries.iter().filter_map(|entry| show_entry(ui, entry, state)).last()
        })
    });
    if let Some(reason) = disabled_reason {
        with_disabled_reason(shown.inner.response, reason);
    }
    shown.inner.inner.flatten()
}

/// Shows the entries of a menu, with a scroll bar if the window is too low for all of them.
pub(crate) fn scrolled(ui: &mut Ui, entries: impl FnOnce(&mut Ui)) {
    let most = ui.ctx().content_rect().height() - 60.0;
    // Entries stay on one line, so the menu is as wide as the longest.
    ui.style_mut().wrap_mode = Some(egui::TextWrapMode::Extend);
    // A popup gets less height than the window has, and would scroll too early.
    ScrollArea::vertical().max_height(most).min_scrolled_height(most).show(ui, entries);
}

/// Shows an entry, and returns its command if it is clicked.
fn show_entry(ui: &mut Ui, entry: &CommandEntry, state: &UiState) -> Option<Command> {
    let mut button = match entry.is_checked(state) {
        Some(is_checked) => Button::new((tick(is_checked), entry.title)),
        None => Button::new(entry.title_in(state)),
    };
    if let Some(key) = entry.keys.first() {
        button = button.shortcut_text(key_text(ui.ctx(), *key));
    }
    let response = ui.add_enabled(entry.is_enabled(state), button);
    if let Some(is_checked) = entry.is_checked(state) {
        spoken::set_checked(&response, is_checked);
    }
    take_focus(&response);
    let is_clicked = entry.with_hint(response, state).clicked();
    if is_clicked {
        ui.close();
    }
    is_clicked.then(|| entry.command(state))
}

/// Returns the space of a check mark, with the mark if it is checked.
fn tick(is_checked: bool) -> egui::Atom<'static> {
    egui::Atom::paint(vec2(10.0, 10.0), move |ui, args| {
        if is_checked {
            let corners = [vec2(-4.0, 0.0), vec2(-1.0, 3.0), vec2(4.0, -3.5)];
            let line = corners.map(|corner| args.rect.center() + corner).to_vec();
            ui.painter().line(line, Stroke::new(1.6, ui.visuals().text_color()));
        }
    })
}

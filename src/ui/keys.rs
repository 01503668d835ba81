//! Maps key presses to commands of the table, in the order in which they were pressed. Keys for a text field, a menu or
//! a dialog are ignored.

use std::cmp::Reverse;

use egui::text_selection::LabelSelectionState;
use egui::{Context, Event, Key, KeyboardShortcut, Modifiers, PointerButton, Ui};

use super::command_table::{COPY, CommandEntry, MENU_BAR_KEYS, PASTE, TABLE, UiState};
use super::panels::table_keys::{self, is_of_grid, is_of_table, types_star};
use super::typed_ahead;
use crate::ui::command::{
    AppCommand, BookmarkCommand, Command, PanelCommand, RowCommand, SettingCommand, TabCommand, TimelineCommand,
};
use crate::ui::widgets::field::field_at;

/// Returns whether a dialog or a menu is open, which takes the keys: Escape closes it and nothing below.
#[must_use]
pub(crate) fn is_behind_another(ctx: &Context) -> bool {
    ctx.memory(|memory| memory.top_modal_layer().is_some()) || egui::Popup::is_any_open(ctx)
}

/// Buffers the keys typed after a key or a click that opens a text field, until that field has the focus. Must run
/// before anything else of a frame reads the keys.
pub(crate) fn keep_for_field(ui: &Ui, state: &UiState) {
    if is_behind_another(ui.ctx()) {
        return;
    }
    let keys = ActiveShortcuts::now(ui, state);
    let leads = |event: &Event| keys.entry_for(event).is_some_and(|entry| leads_to_field(&entry.command(state)));
    let by_key = ui.input(|input| input.events.iter().position(leads));
    if let Some(number) = by_key.into_iter().chain(click_on_field(ui)).min() {
        typed_ahead::keep_behind(ui.ctx(), number);
    }
}

/// Returns the index of this frame's first press on a text field without the focus.
fn click_on_field(ui: &Ui) -> Option<usize> {
    let press_at = |(number, event): (usize, &Event)| match event {
        Event::PointerButton { pos, button: PointerButton::Primary, pressed: true, .. } => Some((number, *pos)),
        _ => None,
    };
    let presses: Vec<_> = ui.input(|input| input.events.iter().enumerate().filter_map(press_at).collect());
    let focused = ui.memory(egui::Memory::focused);
    let is_on_field = |at| field_at(ui.ctx(), at).is_some_and(|field| focused != Some(field));
    presses.into_iter().find(|(_, at)| is_on_field(*at)).map(|(number, _)| number)
}

/// Returns the commands whose keys were pressed, in order. A held key repeats only steps and zooms.
#[must_use]
pub(crate) fn pressed(ui: &Ui, state: &UiState) -> Vec<Command> {
    /// After a slow frame, the repeats of a held key must not go on for seconds.
    const REPEATS_MAX: usize = 20;
    if is_behind_another(ui.ctx()) {
        return quit_pressed(ui, state);
    }
    let keys = ActiveShortcuts::now(ui, state);
    let labels = ui.ctx().plugin_opt::<LabelSelectionState>();
    let copies_words = labels.is_some_and(|labels| labels.lock().has_selection());
    let mut commands: Vec<Command> = Vec::new();
    let is_in_tree = keys.is_in_grid && keys.is_in_table;
    ui.input_mut(|input| {
        // The star of a tree may be on the key of a bracket, with Shift.
        let is_star = |pair: &[Event]| is_in_tree && types_star(&pair[1]);
        let stars: Vec<bool> = input.events.windows(2).map(is_star).collect();
        let mut stars = stars.into_iter();
        input.events.retain(|event| {
            let is_star = stars.next().unwrap_or_default();
            let Some(entry) = keys.entry_for(event).filter(|_| !is_star) else {
                commands.extend(keys.clipboard_command(event, state, copies_words));
                commands.extend(keys.disabled_reason(event, state));
                return true;
            };
            let command = entry.command(state);
            if is_repeat(event) && !may_repeat(&command) {
                return false;
            }
            if commands.iter().filter(|earlier| **earlier == command).count() < REPEATS_MAX {
                commands.push(command);
            }
            false
        });
    });
    commands
}

/// Returns the command to quit if its keys were pressed, which a dialog or a menu does not take.
fn quit_pressed(ui: &Ui, state: &UiState) -> Vec<Command> {
    let quit = Command::App(AppCommand::Quit);
    let entry = TABLE.iter().find(|entry| entry.command(state) == quit);
    let keys = entry.map(|entry| entry.keys).unwrap_or_default();
    let is_pressed = ui.input_mut(|input| keys.iter().any(|key| input.consume_shortcut(key)));
    if is_pressed { vec![quit] } else { Vec::new() }
}

/// The shortcuts that are active now.
struct ActiveShortcuts {
    is_typing: bool,
    /// Whether a table row has the keyboard focus.
    is_in_table: bool,
    /// Whether a grid or a row of a tree has the keyboard focus.
    is_in_grid: bool,
    /// Shortcuts with more modifiers come first, because Shift and Alt do not keep a plain key from matching.
    shortcuts: Vec<ActiveShortcut>,
}

/// A shortcut with its command, and whether that is enabled.
type ActiveShortcut = (&'static KeyboardShortcut, &'static CommandEntry, bool);

impl ActiveShortcuts {
    fn now(ui: &Ui, state: &UiState) -> Self {
        let is_typing = ui.ctx().text_edit_focused();
        let is_in_table = table_keys::has_keyboard(ui.ctx());
        let is_in_grid = table_keys::grid_has_keyboard(ui.ctx());
        let all = TABLE.iter().flat_map(|entry| entry.keys.iter().map(move |key| (key, entry)));
        let mut shortcuts: Vec<_> = all
            .filter(|(key, _)| !(is_typing && is_of_text(**key)))
            .filter(|(key, _)| !(is_in_table && is_of_table(key.logical_key, key.modifiers)))
            .filter(|(key, _)| !(is_in_grid && is_of_grid(key.logical_key, key.modifiers)))
            .map(|(key, entry)| (key, entry, entry.is_enabled(state)))
            .collect();
        shortcuts.sort_by_key(|(key, ..)| Reverse(modifier_count(key.modifiers)));
        Self { is_typing, is_in_table, is_in_grid, shortcuts }
    }

    /// Returns the shortcut that a key press matches, the one with the most modifiers.
    fn pressed(&self, event: &Event) -> Option<&ActiveShortcut> {
        let Event::Key { key, modifiers, pressed: true, .. } = event else { return None };
        // Otherwise Alt + F would be F too.
        if MENU_BAR_KEYS.iter().any(|menu| menu.logical_key == *key && modifiers.matches_exact(menu.modifiers)) {
            return None;
        }
        let is_pressed = |shortcut: &KeyboardShortcut| {
            shortcut.logical_key == *key && modifiers.matches_logically(shortcut.modifiers)
        };
        self.shortcuts.iter().find(|(shortcut, ..)| is_pressed(shortcut))
    }

    fn entry_for(&self, event: &Event) -> Option<&'static CommandEntry> {
        // A disabled Alt+Left must not fall back to the command of Left.
        let (closest, ..) = self.pressed(event)?;
        let mut meant = self.shortcuts.iter().filter(|(shortcut, ..)| shortcut == closest);
        meant.find(|(.., is_enabled)| *is_enabled).map(|(_, entry, _)| *entry)
    }

    /// Returns why a press of Ctrl or Alt with a key has no effect. A plain key may be pressed by chance, and Ctrl + C
    /// belongs to the widget with the focus.
    fn disabled_reason(&self, event: &Event, state: &UiState) -> Option<Command> {
        if matches!(event, Event::Key { repeat: true, .. }) {
            return None;
        }
        let (shortcut, entry, _) = self.pressed(event)?;
        let has_modifier = shortcut.modifiers.command || shortcut.modifiers.alt;
        let is_shown = has_modifier && **shortcut != COPY && !self.is_typing;
        let reason = entry.disabled_reason(state).filter(|_| is_shown)?;
        Some(Command::App(AppCommand::ShowDisabledReason { title: entry.title.trim_end_matches('.'), reason }))
    }

    /// Handles the clipboard events of the system. Unless they are for a text field, they copy the selected span and
    /// open copied paths.
    fn clipboard_command(&self, event: &Event, state: &UiState, copies_words: bool) -> Option<Command> {
        match event {
            _ if self.is_typing => None,
            Event::Copy if self.is_in_table => None,
            Event::Copy => (state.selected.has_span && !copies_words).then_some(Command::App(AppCommand::CopySpan)),
            Event::Paste(text) => Some(Command::App(AppCommand::OpenPasted(text.clone()))),
            _ => None,
        }
    }
}

/// Returns whether a text field uses a key. For example, F3 goes to the next hit while the user types.
fn is_of_text(key: KeyboardShortcut) -> bool {
    let is_of_function = matches!(key.logical_key, Key::F1 | Key::F3 | Key::F6);
    // Ctrl + Up goes to the start of the text, Ctrl + Down to its end.
    let moves_cursor = matches!(key.logical_key, Key::ArrowUp | Key::ArrowDown);
    let writes_text = !is_of_function && (key.modifiers.is_none() || key.modifiers == Modifiers::SHIFT);
    // A field undoes and redoes its own text.
    let undoes = key.modifiers.command && matches!(key.logical_key, Key::Z | Key::Y);
    writes_text || moves_cursor || undoes || [COPY, PASTE].contains(&key)
}

fn is_repeat(event: &Event) -> bool {
    matches!(event, Event::Key { repeat: true, .. })
}

/// Returns whether a held key repeats a command: a step or a zoom, but nothing that adds or toggles.
fn may_repeat(command: &Command) -> bool {
    matches!(
        command,
        Command::Timeline(TimelineCommand::Step(_) | TimelineCommand::Bookmark(BookmarkCommand::Next(_)))
            | Command::Panel(
                PanelCommand::GoToHit { .. } | PanelCommand::GoToSameName { .. } | PanelCommand::NextPanel { .. }
            )
            | Command::Tab(TabCommand::Next | TabCommand::Previous)
            | Command::Setting(SettingCommand::TextPercent(_))
    )
}

fn leads_to_field(command: &Command) -> bool {
    matches!(
        command,
        Command::Panel(PanelCommand::Search)
            | Command::App(AppCommand::ShowCommands | AppCommand::ShowGoToTime)
            | Command::Timeline(TimelineCommand::Rows(RowCommand::FocusFilter))
    )
}

fn modifier_count(modifiers: Modifiers) -> u32 {
    u32::from(modifiers.alt) + u32::from(modifiers.shift) + u32::from(modifiers.command || modifiers.ctrl)
}

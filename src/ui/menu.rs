//! The bar at the top, and the keys. Says for each entry which key does the same.

use egui::{Button, Key, KeyboardShortcut, Modifiers, Ui};

use super::{Command, ExportFormat, Panel};
use crate::scene::color::Shade;

const OPEN: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::O);
const EXPORT: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::S);
const QUIT: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::Q);
const LARGER: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::Plus);
const SMALLER: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::Minus);
const NORMAL: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::Num0);
const KEYS: KeyboardShortcut = KeyboardShortcut::new(Modifiers::NONE, Key::F1);
// Taken by the timeline, and named here.
const WHOLE: KeyboardShortcut = KeyboardShortcut::new(Modifiers::NONE, Key::Home);
const SELECTED: KeyboardShortcut = KeyboardShortcut::new(Modifiers::NONE, Key::F);
const ZOOM_IN: KeyboardShortcut = KeyboardShortcut::new(Modifiers::NONE, Key::Plus);
const ZOOM_OUT: KeyboardShortcut = KeyboardShortcut::new(Modifiers::NONE, Key::Minus);

/// What the entries depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each enables entries of its own")]
pub struct MenuState {
    /// Whether a capture is open.
    pub has_capture: bool,
    /// Whether it can be written: it is sorted to its end, and nothing else runs.
    pub can_export: bool,
    /// Whether a load or an export runs.
    pub is_busy: bool,
    /// Whether something is selected.
    pub has_selection: bool,
    /// Dark or light.
    pub shade: Shade,
    /// The size of text, in percent of the normal one.
    pub text_percent: u16,
}

/// Shows the bar.
pub fn show(ui: &mut Ui, state: MenuState) -> Vec<Command> {
    let mut commands = Vec::new();
    egui::MenuBar::new().ui(ui, |ui| {
        ui.menu_button("File", |ui| file(ui, state, &mut commands));
        ui.menu_button("View", |ui| view(ui, state, &mut commands));
        ui.menu_button("Help", |ui| {
            entry(ui, "Keys", Some(KEYS), true, Command::Toggle(Panel::Keys), &mut commands);
        });
    });
    commands.extend(shortcuts(ui, state));
    commands
}

fn file(ui: &mut Ui, state: MenuState, commands: &mut Vec<Command>) {
    entry(ui, "Open...", Some(OPEN), !state.is_busy, Command::ChooseCapture, commands);
    entry(ui, "Open by path...", None, !state.is_busy, Command::ShowPicker, commands);
    entry(ui, "Open a demo", None, !state.is_busy, Command::OpenDemo, commands);
    ui.separator();
    let native = Command::ChooseExport(ExportFormat::Native);
    entry(ui, "Export sorted trace...", Some(EXPORT), state.can_export, native, commands);
    let chrome = Command::ChooseExport(ExportFormat::Chrome);
    entry(ui, "Export as Chrome JSON...", None, state.can_export, chrome, commands);
    ui.separator();
    entry(ui, "Quit", Some(QUIT), true, Command::Quit, commands);
}

fn view(ui: &mut Ui, state: MenuState, commands: &mut Vec<Command>) {
    let has_capture = state.has_capture;
    entry(ui, "Whole capture", Some(WHOLE), has_capture, Command::ShowAll, commands);
    entry(ui, "Selected span", Some(SELECTED), state.has_selection, Command::ShowSelection, commands);
    entry(ui, "Zoom in", Some(ZOOM_IN), has_capture, Command::ZoomPercent(150), commands);
    entry(ui, "Zoom out", Some(ZOOM_OUT), has_capture, Command::ZoomPercent(67), commands);
    ui.separator();
    entry(ui, "Fold all processes", None, has_capture, Command::FoldAll(true), commands);
    entry(ui, "Unfold all", None, has_capture, Command::FoldAll(false), commands);
    ui.separator();
    entry(ui, "Losses", None, has_capture, Command::Toggle(Panel::Losses), commands);
    entry(ui, "Details", None, has_capture, Command::Toggle(Panel::Details), commands);
    ui.separator();
    let (text, shade) = match state.shade {
        Shade::Dark => ("Light theme", Shade::Light),
        Shade::Light => ("Dark theme", Shade::Dark),
    };
    entry(ui, text, None, true, Command::SetShade(shade), commands);
    entry(ui, "Larger text", Some(LARGER), true, larger(state), commands);
    entry(ui, "Smaller text", Some(SMALLER), true, smaller(state), commands);
    entry(ui, "Normal text", Some(NORMAL), true, Command::SetTextPercent(100), commands);
}

fn larger(state: MenuState) -> Command {
    Command::SetTextPercent((state.text_percent + 10).min(200))
}

fn smaller(state: MenuState) -> Command {
    Command::SetTextPercent((state.text_percent - 10).max(60))
}

fn entry(
    ui: &mut Ui,
    text: &str,
    shortcut: Option<KeyboardShortcut>,
    enabled: bool,
    command: Command,
    commands: &mut Vec<Command>,
) {
    let mut button = Button::new(text);
    if let Some(shortcut) = shortcut {
        // As it stands on the key, and not as its name.
        let keys = ui.ctx().format_shortcut(&shortcut).replace("Plus", "+").replace("Minus", "-");
        button = button.shortcut_text(keys);
    }
    if ui.add_enabled(enabled, button).clicked() {
        commands.push(command);
        ui.close();
    }
}

/// The keys of the entries; those of the timeline are its own.
fn shortcuts(ui: &Ui, state: MenuState) -> Vec<Command> {
    let table = [
        (OPEN, !state.is_busy, Command::ChooseCapture),
        (EXPORT, state.can_export, Command::ChooseExport(ExportFormat::Native)),
        (QUIT, true, Command::Quit),
        (LARGER, true, larger(state)),
        (KeyboardShortcut::new(Modifiers::COMMAND, Key::Equals), true, larger(state)),
        (SMALLER, true, smaller(state)),
        (NORMAL, true, Command::SetTextPercent(100)),
        (KEYS, true, Command::Toggle(Panel::Keys)),
    ];
    ui.input_mut(|input| {
        let pressed = table.into_iter().filter(|(shortcut, enabled, _)| *enabled && input.consume_shortcut(shortcut));
        pressed.map(|(_, _, command)| command).collect()
    })
}

/// What each key and each gesture does, for the window that lists them.
pub const KEY_TABLE: &[(&str, &str)] = &[
    ("Drag", "move in time and through the rows"),
    ("Wheel", "zoom at the pointer; over the names: scroll"),
    ("Shift + wheel", "move in time"),
    ("Click, double click", "select a span, fill the view with it"),
    ("W  S", "zoom in and out, as long as held"),
    ("A  D", "move in time, as long as held"),
    ("Arrows", "move and scroll by a step"),
    ("+  -", "zoom around the middle"),
    ("Home or 0", "the whole capture"),
    ("F", "fill the view with the selected span"),
    (",  .", "the previous and the next span of the row"),
    ("Esc", "select nothing"),
    ("Ctrl + O,  Ctrl + S", "open, export the sorted trace"),
    ("Ctrl + and Ctrl -", "larger and smaller text"),
];

/// Shows the table of keys.
pub fn keys(ui: &mut Ui, weak_text: egui::Color32) {
    egui::Grid::new("keys").num_columns(2).spacing([24.0, 6.0]).show(ui, |ui| {
        for (key, meaning) in KEY_TABLE {
            ui.label(egui::RichText::new(*key).strong());
            ui.label(egui::RichText::new(*meaning).color(weak_text));
            ui.end_row();
        }
    });
}

//! A file dialog inside the window, for systems without one. The caller lists folders, and checks whether a typed path
//! is a folder.

mod list;

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use egui::{Key, Modifiers, Response, RichText, Ui};
pub(crate) use list::FolderEntry;
use list::{EntryClick, FolderList};

use super::message::MIDDLE;
use crate::model::Sources;
use crate::scene::labels::shown;
use crate::ui::command::{AppCommand, Command};
use crate::ui::purpose::Purpose;
use crate::ui::theme::Theme;
use crate::ui::widgets::{field, spoken};

/// The content of a folder, or an error message.
pub(crate) type Listing = Result<Vec<FolderEntry>, String>;

/// A file dialog drawn by the program, for systems without one.
#[derive(Debug, Clone)]
pub(crate) struct Picker {
    purpose: Purpose,
    folder: PathBuf,
    /// The text of the field: a name in the folder or a whole path.
    path_text: String,
    /// Suggested name for a file to write.
    suggested_name: String,
    /// Names of the chosen files, to open together.
    selected_names: Vec<String>,
    listing: Option<Result<FolderList, String>>,
    /// The list of the previous folder, whose sort order is kept.
    listed_before: Option<FolderList>,
    /// The text of the field at the last press of the button.
    pressed_text: Option<String>,
    /// A text of the field that names an existing file, as found on disk.
    existing_text: Option<String>,
    /// A text of the field that names no file, and the error sentence.
    refused_text: Option<(String, String)>,
    was_shown: bool,
}

impl Picker {
    /// Creates a dialog in a folder; [`Picker::first_command`] returns the command that lists the folder.
    #[must_use]
    pub(crate) fn new(purpose: Purpose, folder: PathBuf, suggested_name: String) -> Self {
        Self {
            purpose,
            folder,
            path_text: suggested_name.clone(),
            suggested_name,
            selected_names: Vec::new(),
            listing: None,
            listed_before: None,
            pressed_text: None,
            existing_text: None,
            refused_text: None,
            was_shown: false,
        }
    }

    /// Returns the command that lists the first folder.
    #[must_use]
    pub(crate) fn first_command(&self) -> Command {
        Command::App(AppCommand::List(self.folder.clone()))
    }

    /// Sets the content of a folder, unless another folder is shown by now.
    pub(crate) fn set_listing(&mut self, folder: &Path, listing: Listing) {
        if folder == self.folder {
            let list = |entries| match &self.listed_before {
                Some(before) => FolderList::new(entries).with_order_of(before),
                None => FolderList::new(entries),
            };
            self.listing = Some(listing.map(list));
        }
    }

    /// Enters a folder, and returns the command that lists it. The name of a file to write stays, unless the field
    /// names the folder.
    pub(crate) fn enter(&mut self, folder: PathBuf) -> Command {
        let names_folder = self.path_text.contains(['/', '\\', '~']) || self.folder.join(&self.path_text) == folder;
        if self.purpose.reads() || names_folder {
            self.path_text.clone_from(&self.suggested_name);
        }
        self.folder.clone_from(&folder);
        if let Some(Ok(before)) = self.listing.take() {
            self.listed_before = Some(before);
        }
        self.selected_names.clear();
        (self.pressed_text, self.existing_text, self.refused_text) = (None, None, None);
        // The name of a file to write is selected again, so that typing replaces it.
        self.was_shown &= self.purpose.reads();
        Command::App(AppCommand::List(folder))
    }

    /// Asks before the file of the typed name or path is replaced: Enter or the button then writes it.
    pub(crate) fn warn_of_existing(&mut self) {
        self.existing_text.clone_from(&self.pressed_text);
    }

    /// Shows an error about the typed name or path until it is changed.
    pub(crate) fn refuse(&mut self, error: String) {
        self.refused_text = self.pressed_text.clone().map(|text| (text, error));
    }

    /// Returns whether the field names a file to write that exists, as far as known.
    fn replaces(&self) -> bool {
        let name = self.path_text.trim();
        let is_listed = matches!(&self.listing, Some(Ok(list)) if list.is_file(name));
        !self.purpose.reads() && (is_listed || self.has_asked())
    }

    /// Returns whether the file of the field was chosen before, and the user was asked whether to replace it.
    fn has_asked(&self) -> bool {
        self.existing_text.as_deref() == Some(self.path_text.trim())
    }

    pub(crate) fn show(&mut self, ui: &Ui, theme: &Theme) -> Vec<Command> {
        let mut commands = Vec::new();
        let verb = match self.purpose {
            Purpose::Open => "Open",
            Purpose::Follow => "Follow",
            Purpose::SymbolFolder | Purpose::SymbolArchive => "Locate",
            Purpose::Export(_) | Purpose::ExportSelected => "Export",
            Purpose::Table(_) | Purpose::FlameGraph(_) | Purpose::Picture(_) | Purpose::WindowPicture => "Save",
        };
        let frame = egui::Frame::window(ui.style());
        let area = egui::Modal::default_area(egui::Id::unique("picker")).anchor(MIDDLE.0, MIDDLE.1);
        let area = area.accessible_name(self.purpose.title());
        egui::Modal::new(egui::Id::unique("picker")).area(area).frame(frame).show(ui.ctx(), |ui| {
            ui.set_width(room(ui).x.min(WIDTH));
            ui.label(RichText::new(self.purpose.title()).size(15.0).strong());
            ui.add_space(4.0);
            self.show_folder(ui, theme, &mut commands);
            self.show_entries(ui, theme, &mut commands);
            ui.add_space(4.0);
            let keys = PickerKeys::consume(ui);
            let typed = field::add(ui, &mut self.path_text, |field| {
                let hint =
                    if self.purpose.takes_folders() { "Name or path; empty for this folder" } else { "Name or path" };
                field.hint_text(hint).desired_width(f32::INFINITY)
            });
            typed.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Name or path"));
            if !std::mem::replace(&mut self.was_shown, true) {
                typed.request_focus();
                select_stem(ui, &typed, &self.path_text);
            }
            self.handle_keys(ui, &typed, &keys, &mut commands);
            ui.add_space(6.0);
            ui.horizontal(|ui| {
                let is_ready = self.purpose.takes_folders() || !self.path_text.trim().is_empty();
                let replaces = self.replaces();
                let verb = if replaces { "Replace" } else { verb };
                if ui.add_enabled(is_ready, egui::Button::new(verb)).clicked() {
                    commands.push(self.chosen(replaces));
                } else if keys.enters && is_ready {
                    // Enter may be pressed before the changed button is seen, and always enters a listed folder.
                    let entered = self.enter_named();
                    commands.push(entered.unwrap_or_else(|| self.chosen(self.has_asked())));
                }
                if ui.button("Cancel").clicked() || keys.leaves {
                    commands.push(AppCommand::ClosePicker.into());
                }
                if replaces {
                    let again = if self.has_asked() { ": press Enter again to replace it" } else { "" };
                    let text = RichText::new(format!("A file of this name exists{again}")).color(theme.weak_text);
                    spoken::announce(&ui.label(text));
                }
            });
            let refused = self.refused_text.as_ref().filter(|(text, _)| text == self.path_text.trim());
            if let Some((_, error)) = refused {
                let text = RichText::new(shown(error)).color(theme.error);
                spoken::announce(&ui.add(egui::Label::new(text).wrap()));
            }
        });
        commands
    }

    /// Handles the keys that move through the list while the field has the focus.
    fn handle_keys(&mut self, ui: &Ui, typed: &Response, keys: &PickerKeys, commands: &mut Vec<Command>) {
        let parent = self.folder.parent().filter(|_| keys.goes_up).map(Path::to_owned);
        commands.extend(parent.map(|parent| self.enter(parent)));
        let Some(Ok(list)) = &mut self.listing else { return };
        if keys.rows != 0
            && let Some(name) = list.step(keys.rows)
        {
            self.selected_names = vec![name.to_owned()];
            name.clone_into(&mut self.path_text);
            // Typing replaces the name, as it does at the start.
            field::select_all(ui, typed, &self.path_text);
        }
        list.speak(ui, now_s());
    }

    fn show_folder(&mut self, ui: &mut Ui, theme: &Theme, commands: &mut Vec<Command>) {
        ui.horizontal(|ui| {
            let parent = self.folder.parent().map(Path::to_owned);
            let button = ui.add_enabled(parent.is_some(), egui::Button::new("Up"));
            if let Some(parent) = parent.filter(|_| button.on_hover_text("Alt+Up").clicked()) {
                commands.push(self.enter(parent));
            }
            let text = self.folder.display().to_string();
            ui.add(egui::Label::new(RichText::new(shown(&text)).color(theme.weak_text)).truncate());
        });
    }

    fn show_entries(&mut self, ui: &mut Ui, theme: &Theme, commands: &mut Vec<Command>) {
        let mut clicked = None;
        egui::Frame::canvas(ui.style()).fill(theme.canvas).inner_margin(6.0).show(ui, |ui| {
            ui.set_height(room(ui).y.min(LIST_HEIGHT));
            ui.take_available_width();
            let (path_text, selected_names) = (&self.path_text, &self.selected_names);
            match &mut self.listing {
                None => {
                    ui.label(RichText::new("Reading the folder...").color(theme.weak_text));
                }
                Some(Err(error)) => {
                    ui.label(RichText::new(shown(error)).color(theme.error));
                }
                Some(Ok(list)) => {
                    let is_chosen =
                        |name: &str| name == path_text || selected_names.iter().any(|chosen| chosen == name);
                    clicked = list.show(ui, theme, now_s(), is_chosen);
                }
            }
        });
        let Some(EntryClick { name, is_file, is_double }) = clicked else { return };
        if !is_file {
            commands.push(self.enter(self.folder.join(&name)));
        } else if is_double && self.purpose.reads() {
            let path = self.folder.join(&name);
            commands.push(AppCommand::PickPath { path, replaces: false }.into());
        } else {
            self.choose(name, ui.input(|input| input.modifiers.command));
        }
    }

    /// Selects a file alone; if it `extends` a multiple selection, toggles the file in it.
    fn choose(&mut self, name: String, extends: bool) {
        if !(extends && self.purpose == Purpose::Open) {
            self.selected_names = vec![name];
        } else if self.selected_names.contains(&name) {
            self.selected_names.retain(|chosen| *chosen != name);
        } else {
            self.selected_names.push(name);
        }
        self.path_text = match &self.selected_names[..] {
            [name] => name.clone(),
            names => quoted(names),
        };
    }

    /// Enters the folder that the field names, if the list has it.
    fn enter_named(&mut self) -> Option<Command> {
        let name = self.path_text.trim();
        let is_listed = matches!(&self.listing, Some(Ok(list)) if list.is_folder(name));
        is_listed.then(|| self.enter(self.folder.join(self.path_text.trim())))
    }

    /// Opens the selected files, or the shown folder if that is an answer and no name is given. A single path may be a
    /// folder, which the application checks. An existing file is written only if `replaces` is set.
    fn chosen(&mut self, replaces: bool) -> Command {
        if !self.purpose.takes_folders()
            && let Some(entered) = self.enter_named()
        {
            return entered;
        }
        let name = self.path_text.trim();
        // Joined to nothing, a path would end in a separator.
        let path = if name.is_empty() { self.folder.clone() } else { self.folder.join(name) };
        if self.purpose == Purpose::Open
            && self.selected_names.len() > 1
            && self.path_text == quoted(&self.selected_names)
        {
            let files = self.selected_names.iter().map(|name| self.folder.join(name));
            return Command::App(AppCommand::Open(Sources::unmoved(files)));
        }
        self.pressed_text = Some(name.to_owned());
        Command::App(AppCommand::PickPath { path, replaces })
    }
}

/// The keys of the dialog, consumed before the focused field sees them.
#[derive(Debug, Default)]
struct PickerKeys {
    /// Rows to move in the list; negative moves up.
    rows: isize,
    goes_up: bool,
    enters: bool,
    leaves: bool,
}

impl PickerKeys {
    fn consume(ui: &Ui) -> Self {
        /// Rows per press of Page down: somewhat less than are in view.
        const PAGE_ROWS: isize = 10;
        ui.input_mut(|input| {
            let goes_up = input.consume_key(Modifiers::ALT, Key::ArrowUp);
            let mut pressed = |key| input.consume_key(Modifiers::NONE, key);
            let steps =
                [(Key::ArrowUp, -1), (Key::ArrowDown, 1), (Key::PageUp, -PAGE_ROWS), (Key::PageDown, PAGE_ROWS)];
            let rows = steps.into_iter().filter(|&(key, _)| pressed(key)).map(|(_, rows)| rows).sum();
            Self { rows, goes_up, enters: pressed(Key::Enter), leaves: pressed(Key::Escape) }
        })
    }
}

/// Selects a suggested name without its extension, so that typing replaces it.
fn select_stem(ui: &Ui, field: &Response, name: &str) {
    field::select_first(ui, field, stem(name).chars().count());
}

/// Returns a name without its extension. An extension of compression includes the extension before it, as in
/// `.json.gz`.
fn stem(name: &str) -> &str {
    let without = |name: &'_ str| name.rfind('.').filter(|dot| *dot > 0);
    let Some(dot) = without(name) else { return name };
    let (stem, extension) = name.split_at(dot);
    let is_compressed = [".gz", ".zst"].contains(&extension);
    without(stem).filter(|_| is_compressed).map_or(stem, |dot| &stem[..dot])
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Width of the dialog and height of its list, if the window has space for them.
const WIDTH: f32 = 560.0;
const LIST_HEIGHT: f32 = 280.0;

/// Space around the list in a dialog that fills the window: frame, title, folder, field and buttons.
const AROUND: egui::Vec2 = egui::vec2(40.0, 190.0);

/// Returns the maximum width of the dialog and height of its list, so that the buttons stay visible.
fn room(ui: &Ui) -> egui::Vec2 {
    ui.ctx().content_rect().size() - AROUND
}

/// Formats several selected names as the text of the field.
fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_chosen_by_the_button_and_entered_by_the_enter_key() {
        let picker = |purpose| {
            let mut picker = Picker::new(purpose, "/a".into(), String::new());
            let folder = FolderEntry { name: "b".into(), is_file: false, bytes: 0, modified_s: None };
            picker.set_listing(Path::new("/a"), Ok(vec![folder]));
            picker
        };
        let chosen = |picker: &mut Picker| match picker.chosen(false) {
            Command::App(AppCommand::PickPath { path, .. }) => path.into_os_string(),
            other => panic!("{other:?}"),
        };
        let is_entered = |command: Option<Command>| matches!(command, Some(Command::App(AppCommand::List(folder))) if folder == Path::new("/a/b"));
        let mut symbols = picker(Purpose::SymbolFolder);
        assert_eq!(chosen(&mut symbols), "/a", "the shown folder");
        symbols.path_text = "b".into();
        assert_eq!(chosen(&mut symbols), "/a/b");
        assert!(is_entered(symbols.enter_named()));
        assert_eq!(symbols.enter_named(), None, "the field is empty");
        // A folder is no answer of other dialogs, whose button enters it too.
        let mut open = picker(Purpose::Open);
        open.path_text = "b".into();
        assert!(is_entered(Some(open.chosen(false))));
    }

    #[test]
    fn the_stem_of_a_name_is_all_before_its_last_extension() {
        for (name, expected) in [
            ("trace-sorted.json", "trace-sorted"),
            ("trace-sorted.json.gz", "trace-sorted"),
            ("a.pftrace and b-statistics.csv", "a.pftrace and b-statistics"),
            ("trace.gz", "trace"),
            ("trace", "trace"),
            (".hidden", ".hidden"),
            ("", ""),
        ] {
            assert_eq!(stem(name), expected, "{name}");
        }
    }
}

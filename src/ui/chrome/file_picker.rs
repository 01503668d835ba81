//! A dialog to choose a file inside the window, for systems without one of their own. Lists folders through its caller.

use std::path::{Path, PathBuf};

use egui::{RichText, Ui};

use super::message::MIDDLE;
use crate::model::Sources;
use crate::scene::labels::shown;
use crate::ui::command::{AppCommand, Command};
use crate::ui::purpose::Purpose;
use crate::ui::theme::Theme;
use crate::ui::widgets::field;

/// A file or a folder in a listing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FolderEntry {
    // The first field, so that folders sort before files.
    pub(crate) is_file: bool,
    /// Its name in the folder.
    pub(crate) name: String,
    pub(crate) bytes: u64,
}

/// A folder's content, or why there is none.
pub(crate) type Listing = Result<Vec<FolderEntry>, String>;

/// A file dialog drawn by the program, for systems whose own is missing.
#[derive(Debug, Clone)]
pub(crate) struct Picker {
    purpose: Purpose,
    folder: PathBuf,
    /// The text of the field: a name in the folder or a whole path.
    path_text: String,
    /// The files that are to be opened together.
    together: Vec<String>,
    listing: Option<Listing>,
    was_shown: bool,
}

impl Picker {
    /// A dialog in a folder; [`Picker::first_command`] returns the command that lists the folder.
    #[must_use]
    pub(crate) fn new(purpose: Purpose, folder: PathBuf, suggested_name: String) -> Self {
        Self { purpose, folder, path_text: suggested_name, together: Vec::new(), listing: None, was_shown: false }
    }

    /// Asks for the content of the folder that is shown first.
    #[must_use]
    pub(crate) fn first_command(&self) -> Command {
        Command::App(AppCommand::List(self.folder.clone()))
    }

    /// Takes the content of a folder; that of a folder which is no longer shown is dropped.
    pub(crate) fn set_listing(&mut self, folder: &Path, listing: Listing) {
        if folder == self.folder {
            self.listing = Some(listing);
        }
    }

    pub(crate) fn show(&mut self, ui: &Ui, theme: &Theme) -> Vec<Command> {
        let mut commands = Vec::new();
        let verb = match self.purpose {
            Purpose::Open => "Open",
            Purpose::Follow => "Follow",
            Purpose::Export(_) | Purpose::ExportSelected => "Export",
            Purpose::Table(_) | Purpose::Picture(_) | Purpose::WindowPicture => "Save",
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
            let typed = field::add(ui, &mut self.path_text, |field| {
                field.hint_text("Name or path").desired_width(f32::INFINITY)
            });
            typed.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Name or path"));
            if !std::mem::replace(&mut self.was_shown, true) {
                typed.request_focus();
            }
            let entered = typed.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
            ui.add_space(6.0);
            ui.horizontal(|ui| {
                let ready = !self.path_text.trim().is_empty();
                if ui.add_enabled(ready, egui::Button::new(verb)).clicked() || (entered && ready) {
                    commands.push(self.chosen());
                }
                if ui.button("Cancel").clicked() || ui.input(|input| input.key_pressed(egui::Key::Escape)) {
                    commands.push(Command::App(AppCommand::ClosePicker));
                }
            });
        });
        // A typed folder is gone into, and not opened as a capture.
        for command in &mut commands {
            if let Command::App(AppCommand::List(folder)) = command {
                self.folder.clone_from(folder);
                self.listing = None;
                self.together.clear();
            }
        }
        commands
    }

    fn show_folder(&self, ui: &mut Ui, theme: &Theme, commands: &mut Vec<Command>) {
        ui.horizontal(|ui| {
            let parent = self.folder.parent();
            if ui.add_enabled(parent.is_some(), egui::Button::new("Up")).clicked() {
                commands.extend(parent.map(|parent| Command::App(AppCommand::List(parent.to_owned()))));
            }
            let text = self.folder.display().to_string();
            ui.add(egui::Label::new(RichText::new(shown(&text)).color(theme.weak_text)).truncate());
        });
    }

    fn show_entries(&mut self, ui: &mut Ui, theme: &Theme, commands: &mut Vec<Command>) {
        let mut chosen_name = None;
        egui::Frame::canvas(ui.style()).fill(theme.canvas).inner_margin(6.0).show(ui, |ui| {
            ui.set_height(room(ui).y.min(LIST_HEIGHT));
            ui.take_available_width();
            match &self.listing {
                None => {
                    ui.label(RichText::new("Reading the folder...").color(theme.weak_text));
                }
                Some(Err(error)) => {
                    ui.label(RichText::new(shown(error)).color(theme.error));
                }
                Some(Ok(entries)) => {
                    let row_height = ui.spacing().interact_size.y;
                    egui::ScrollArea::vertical().auto_shrink(false).show_rows(
                        ui,
                        row_height,
                        entries.len(),
                        |ui, rows| {
                            for entry in entries.get(rows).unwrap_or(&[]) {
                                let name = shown(&entry.name);
                                let text = if entry.is_file { name.into_owned() } else { format!("{name}/") };
                                let selected = entry.is_file
                                    && (entry.name == self.path_text || self.together.contains(&entry.name));
                                let response = ui.selectable_label(selected, text);
                                let response = if entry.is_file {
                                    response.on_hover_text(super::progress::bytes_text(entry.bytes))
                                } else {
                                    response
                                };
                                if response.clicked() && entry.is_file {
                                    chosen_name = Some(entry.name.clone());
                                } else if response.clicked() {
                                    commands.push(Command::App(AppCommand::List(self.folder.join(&entry.name))));
                                }
                                if response.double_clicked() && entry.is_file {
                                    let path = self.folder.join(&entry.name);
                                    match self.purpose {
                                        Purpose::Open => {
                                            commands.push(Command::App(AppCommand::Open(Sources::from(&path))));
                                        }
                                        Purpose::Follow => {
                                            commands.push(Command::App(AppCommand::Write(Purpose::Follow, path)));
                                        }
                                        Purpose::Export(_)
                                        | Purpose::ExportSelected
                                        | Purpose::Table(_)
                                        | Purpose::Picture(_)
                                        | Purpose::WindowPicture => {}
                                    }
                                }
                            }
                        },
                    );
                }
            }
        });
        if let Some(name) = chosen_name {
            self.choose(name, ui.input(|input| input.modifiers.command));
        }
    }

    /// Chooses a file alone, or beside the chosen ones; a second click beside others removes it again.
    fn choose(&mut self, name: String, beside: bool) {
        if !(beside && self.purpose == Purpose::Open) {
            self.together = vec![name];
        } else if self.together.contains(&name) {
            self.together.retain(|chosen| *chosen != name);
        } else {
            self.together.push(name);
        }
        self.path_text = match &self.together[..] {
            [name] => name.clone(),
            names => quoted(names),
        };
    }

    fn chosen(&self) -> Command {
        let path = self.folder.join(self.path_text.trim());
        match self.purpose {
            Purpose::Open | Purpose::Follow if is_listed_folder(self.listing.as_ref(), self.path_text.trim()) => {
                Command::App(AppCommand::List(path))
            }
            Purpose::Open if self.together.len() > 1 && self.path_text == quoted(&self.together) => Command::App(
                AppCommand::Open(Sources::unmoved(self.together.iter().map(|name| self.folder.join(name)))),
            ),
            Purpose::Open => Command::App(AppCommand::Open(Sources::from(&path))),
            purpose => Command::App(AppCommand::Write(purpose, path)),
        }
    }
}

/// How wide the dialog is, and how high its list, where the window has room for them.
const WIDTH: f32 = 560.0;
const LIST_HEIGHT: f32 = 280.0;

/// The room around the list in a dialog that fills the window: frame, title, the folder above, field and buttons below.
const AROUND: egui::Vec2 = egui::vec2(40.0, 190.0);

/// How wide the dialog and how high its list can be in this window, so that the buttons can be reached.
fn room(ui: &Ui) -> egui::Vec2 {
    ui.ctx().content_rect().size() - AROUND
}

/// Several chosen names as the text of the field.
fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(" ")
}

fn is_listed_folder(listing: Option<&Listing>, name: &str) -> bool {
    matches!(listing, Some(Ok(entries)) if entries.iter().any(|entry| !entry.is_file && entry.name == name))
}

//! The files of a capture that has several: by how much each is moved in time, and what each lost. Times are typed and not
//! dragged: the clocks of two machines may be decades apart, and are to meet to the nanosecond.

use egui::{Key, RichText, TextEdit, Ui};

use super::theme::Theme;
use super::{Command, Panel};
use crate::base::time::grouped_digits;
use crate::base::units::{signed_time_ns, signed_time_text};
use crate::model::{Losses, SourceFile, Sources};
use crate::scene::labels::{shorten_middle, shown};

/// A column has room for a time of some centuries to the nanosecond.
const COLUMN_POINTS: f32 = 150.0;

/// Longer names of files are cut.
const LETTERS_MAX: f32 = 40.0;

/// The panel: what is typed of the capture that is open.
#[derive(Debug, Default)]
pub struct SourcesPanel {
    of: Sources,
    texts: Vec<String>,
}

impl SourcesPanel {
    /// Shows a line for each file; returns what is asked for.
    pub fn show(&mut self, ui: &mut Ui, sources: &Sources, losses: &Losses, theme: &Theme) -> Vec<Command> {
        if self.of != *sources {
            self.of = sources.clone();
            self.reset();
        }
        let mut commands = Vec::new();
        let mut is_entered = false;
        let why =
            "What is added to the times of a file, such as 1.5ms or -2s; the files are then read and sorted anew.";
        ui.add(egui::Label::new(RichText::new(why).color(theme.weak_text)).wrap());
        ui.add_space(4.0);
        egui::ScrollArea::vertical().max_height(320.0).show(ui, |ui| {
            egui::Grid::new("sources").num_columns(3).spacing([16.0, 6.0]).min_col_width(COLUMN_POINTS).show(
                ui,
                |ui| {
                    for heading in ["File", "Moved by", "Losses"] {
                        ui.label(RichText::new(heading).small().color(theme.weak_text));
                    }
                    ui.end_row();
                    let lines = sources.files().iter().zip(sources.names()).zip(&mut self.texts);
                    for (number, ((file, name), text)) in lines.enumerate() {
                        let short =
                            shorten_middle(&shown(&name), LETTERS_MAX, |_| 1.0).unwrap_or_default().into_owned();
                        ui.add(egui::Label::new(short).extend()).on_hover_text(file.path.display().to_string());
                        is_entered |= offset_field(ui, number, &name, text, theme);
                        let lost: u64 =
                            losses.iter().filter(|lost| lost.file == Some(&*name)).map(|lost| lost.count).sum();
                        if lost == 0 {
                            ui.label(RichText::new("none").color(theme.weak_text));
                        } else if ui.link(RichText::new(grouped_digits(lost)).color(theme.warning)).clicked() {
                            commands.push(Command::Toggle(Panel::Losses));
                        }
                        ui.end_row();
                    }
                },
            );
        });
        ui.add_space(6.0);
        let moved = self.moved();
        let is_new = moved.as_ref().is_some_and(|moved| moved != sources);
        ui.horizontal(|ui| {
            let applies = ui.add_enabled(is_new, egui::Button::new("Apply")).on_hover_text("Enter").clicked();
            if let Some(moved) = moved.filter(|_| is_new && (applies || is_entered)) {
                commands.push(Command::MoveFiles(moved));
            }
            if ui.add_enabled(self.texts != texts_of(sources), egui::Button::new("Reset")).clicked() {
                self.reset();
            }
        });
        commands
    }

    fn reset(&mut self) {
        self.texts = texts_of(&self.of);
    }

    /// The files, moved by what is typed; `None` while some of that is no time.
    fn moved(&self) -> Option<Sources> {
        let files = self.of.files().iter().zip(&self.texts);
        let files =
            files.map(|(file, text)| Some(SourceFile { path: file.path.clone(), offset_ns: offset_of(text).ok()? }));
        files.collect::<Option<Vec<_>>>().map(Sources::new)
    }
}

/// The field of a file, with what is wrong below it; returns whether it was confirmed.
fn offset_field(ui: &mut Ui, number: usize, name: &str, text: &mut String, theme: &Theme) -> bool {
    ui.vertical(|ui| {
        let field = TextEdit::singleline(text).id_salt(("offset", number)).desired_width(COLUMN_POINTS);
        let response = ui.add(field.background_color(theme.canvas));
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, format!("Moved by: {name}")));
        if let Err(error) = offset_of(text) {
            ui.add(egui::Label::new(RichText::new(error).small().color(theme.error)).wrap());
        }
        response.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter))
    })
    .inner
}

fn texts_of(sources: &Sources) -> Vec<String> {
    sources.files().iter().map(|file| signed_time_text(file.offset_ns)).collect()
}

fn offset_of(text: &str) -> Result<i64, String> {
    let text = text.trim();
    signed_time_ns(text.strip_prefix('+').unwrap_or(text))
}

//! The files of a trace of several files, with the time offset and the losses of each. Offsets are typed, because the
//! clocks of two machines may be decades apart and must match to the nanosecond. They can also be dragged at the scale
//! of the timeline, which follows the drag. The files are imported again when the drag ends.

use std::sync::Arc;

use egui::{CursorIcon, Key, RichText, Role, Sense, Stroke, Ui, WidgetInfo, vec2};
use rustc_hash::FxHashMap;

use super::losses::IssueCount;
use crate::base::time::grouped_digits;
use crate::base::units::{signed_time_ns, signed_time_text};
use crate::model::{SourceFile, Sources};
use crate::query::file_starts::file_starts_ns;
use crate::scene::labels::{shorten_middle, shown};
use crate::ui::command::{AppCommand, Command, TimelineCommand, ToolWindow};
use crate::ui::theme::Theme;
use crate::ui::timeline::state::Timeline;
use crate::ui::widgets::field;

/// Width of a column: fits a time of centuries with nanoseconds.
const COLUMN_POINTS: f32 = 150.0;

/// Longer file names are shortened.
const LETTERS_MAX: f32 = 40.0;

/// Height of an error of two lines.
const ERROR_POINTS: f32 = 30.0;

/// Limit for the files, since a frame lays out every row of the panel.
const FILES_MAX: usize = 200;

/// The panel, with the typed offsets of the open trace.
#[derive(Debug, Default)]
pub(crate) struct SourcesPanel {
    sources: Sources,
    texts: Vec<String>,
    /// The distance of a file's drag, in points.
    dragged_points: f64,
}

impl SourcesPanel {
    /// Shows a line per file, and returns the user's commands. `timeline` follows the drags.
    pub(crate) fn show(&mut self, ui: &mut Ui, sources: &Sources, timeline: &Timeline, theme: &Theme) -> Vec<Command> {
        if self.sources != *sources {
            self.sources = sources.clone();
            self.reset();
        }
        let mut commands = Vec::new();
        let why = "The offset that is added to the times of a file, such as 1.5ms or -2s. Type it, drag its arrow, or \
                   Ctrl + drag its tracks on the timeline. The files are then read and sorted again.";
        ui.add(egui::Label::new(RichText::new(why).color(theme.weak_text)).wrap());
        ui.add_space(4.0);
        let mut is_entered = false;
        egui::ScrollArea::vertical().max_height(320.0).show(ui, |ui| {
            let grid = egui::Grid::new("sources").num_columns(3).spacing([16.0, 6.0]).min_col_width(COLUMN_POINTS);
            grid.show(ui, |ui| is_entered = self.show_files(ui, sources, timeline, theme, &mut commands));
        });
        if sources.files().len() > FILES_MAX {
            let text =
                format!("The first {FILES_MAX} files; the option --offset of the command line moves any of them.");
            ui.label(RichText::new(text).color(theme.weak_text));
        }
        ui.add_space(6.0);
        let moved = self.moved();
        let is_new = moved.as_ref().is_some_and(|moved| moved != sources);
        ui.horizontal(|ui| {
            // The window keeps its height when an error appears.
            ui.set_min_height(ERROR_POINTS);
            let applies = ui.add_enabled(is_new, egui::Button::new("Apply")).on_hover_text("Enter").clicked();
            if let Some(moved) = moved.filter(|_| is_new && (applies || is_entered)) {
                commands.push(AppCommand::MoveFiles(moved).into());
            }
            if ui.add_enabled(self.texts != texts_of(sources), egui::Button::new("Reset")).clicked() {
                self.reset();
            }
            let why = "Enter offsets with which the first events of all files coincide";
            if ui.button("Align starts").on_hover_text(why).clicked() {
                self.align_starts(sources, &file_starts_ns(timeline.snapshot()));
            }
            // Below its field, the error would move the other fields and cover the next one.
            if let Some(error) = self.error(sources) {
                ui.add(egui::Label::new(RichText::new(error).small().color(theme.error)).wrap());
            }
        });
        commands
    }

    /// Shows the rows of the grid. Returns whether an offset was entered.
    fn show_files(
        &mut self,
        ui: &mut Ui,
        sources: &Sources,
        timeline: &Timeline,
        theme: &Theme,
        commands: &mut Vec<Command>,
    ) -> bool {
        let mut is_entered = false;
        for heading in ["File", "Moved by", "Import issues"] {
            ui.label(RichText::new(heading).small().color(theme.weak_text));
        }
        ui.end_row();
        let files = sources.files().iter().zip(sources.names()).take(FILES_MAX);
        for (number, (file, name)) in files.enumerate() {
            let short = shorten_middle(&shown(&name), LETTERS_MAX, |_| 1.0).unwrap_or_default().into_owned();
            ui.add(egui::Label::new(short).extend()).on_hover_text(shown(&file.path().to_string_lossy()).into_owned());
            ui.horizontal(|ui| {
                if let Some(text) = self.texts.get_mut(number) {
                    is_entered |= offset_field(ui, number, &name, text, theme);
                }
                commands.extend(self.drag_offset(ui, (number, &name), file.offset_ns, timeline, theme));
            });
            let issues = IssueCount::in_file(timeline.snapshot().losses(), &name);
            commands.extend(show_issues(ui, &issues, theme));
            ui.end_row();
        }
        is_entered
    }

    /// Shows the arrow beside a field: a drag moves the file by the time that the pointer covers on the timeline.
    fn drag_offset(
        &mut self,
        ui: &mut Ui,
        (number, name): (usize, &Arc<str>),
        offset_ns: i64,
        timeline: &Timeline,
        theme: &Theme,
    ) -> Option<Command> {
        let (rect, response) = ui.allocate_exact_size(vec2(24.0, ui.spacing().interact_size.y), Sense::drag());
        response.widget_info(|| WidgetInfo::labeled(Role::Slider, true, format!("Drag to move: {}", shown(name))));
        let is_active = response.hovered() || response.dragged();
        let stroke = Stroke::new(1.5, if is_active { theme.accent } else { theme.weak_text });
        let (left, right) = (rect.center() - vec2(8.0, 0.0), rect.center() + vec2(8.0, 0.0));
        ui.painter().line_segment([left, right], stroke);
        for (tip, inwards) in [(left, 4.0), (right, -4.0)] {
            ui.painter().line_segment([tip, tip + vec2(inwards, -4.0)], stroke);
            ui.painter().line_segment([tip, tip + vec2(inwards, 4.0)], stroke);
        }
        let response = response.on_hover_cursor(CursorIcon::ResizeHorizontal).on_hover_text("Drag to move the file");
        if response.drag_started() {
            self.dragged_points = 0.0;
        }
        if !response.dragged() && !response.drag_stopped() {
            return None;
        }
        self.dragged_points += f64::from(response.drag_delta().x);
        let by_ns = timeline.time_of_points(self.dragged_points);
        *self.texts.get_mut(number)? = signed_time_text(offset_ns.saturating_add(by_ns));
        if response.drag_stopped() && by_ns != 0 {
            return Some(Command::App(AppCommand::MoveFileBy(Arc::clone(name), by_ns)));
        }
        Some(Command::Timeline(TimelineCommand::ShowFileMoved((by_ns != 0).then(|| (Arc::clone(name), by_ns)))))
    }

    fn reset(&mut self) {
        self.texts = texts_of(&self.sources);
    }

    /// Enters offsets that move each file to the earliest start. A file without timed events stays.
    fn align_starts(&mut self, sources: &Sources, starts_ns: &FxHashMap<Arc<str>, i64>) {
        let Some(&earliest_ns) = starts_ns.values().min() else { return };
        for ((file, name), text) in sources.files().iter().zip(sources.names()).zip(&mut self.texts) {
            if let Some(start_ns) = starts_ns.get(&name) {
                let by_ns = earliest_ns.saturating_sub(*start_ns);
                *text = signed_time_text(file.offset_ns.saturating_add(by_ns));
            }
        }
    }

    /// Returns the error of the first invalid offset, after the name of its file.
    fn error(&self, sources: &Sources) -> Option<String> {
        let (number, error) =
            self.texts.iter().enumerate().find_map(|(number, text)| Some((number, offset_of(text).err()?)))?;
        let name = sources.names().get(number).map(|name| shown(name).into_owned()).unwrap_or_default();
        Some(format!("{name}: {error}"))
    }

    /// Returns the files with the typed offsets; `None` if an offset is invalid.
    fn moved(&self) -> Option<Sources> {
        let files = self.sources.files().iter().zip(&self.texts);
        let files = files.map(|(file, text)| Some(SourceFile { offset_ns: offset_of(text).ok()?, ..file.clone() }));
        let files = files.collect::<Option<Vec<_>>>()?;
        Some(Sources::new(files).with_weight_unit(self.sources.weight_unit()))
    }
}

/// Shows the number of lost events of a file, with a link to the issues if it has any.
fn show_issues(ui: &mut Ui, issues: &IssueCount, theme: &Theme) -> Option<Command> {
    let text = match issues.lost {
        _ if issues.is_empty() => {
            ui.label(RichText::new("none").color(theme.weak_text));
            return None;
        }
        0 => RichText::new(format!("{} changed", grouped_digits(issues.changed))).color(theme.weak_text),
        lost => RichText::new(format!("{} lost", grouped_digits(lost))).color(theme.warning),
    };
    let is_clicked = ui.link(text).on_hover_text(issues.text()).clicked();
    is_clicked.then_some(Command::App(AppCommand::Toggle(ToolWindow::Losses)))
}

/// Shows the offset field of a file. Returns whether it was confirmed.
fn offset_field(ui: &mut Ui, number: usize, name: &str, text: &mut String, theme: &Theme) -> bool {
    let response = field::add(ui, text, |field| {
        field.id_salt(("offset", number)).desired_width(COLUMN_POINTS).background_color(theme.canvas)
    });
    response.widget_info(|| WidgetInfo::labeled(Role::TextInput, true, format!("Moved by: {}", shown(name))));
    response.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter))
}

fn texts_of(sources: &Sources) -> Vec<String> {
    sources.files().iter().map(|file| signed_time_text(file.offset_ns)).collect()
}

fn offset_of(text: &str) -> Result<i64, String> {
    let text = text.trim();
    signed_time_ns(text.strip_prefix('+').unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::WeightUnit;

    #[test]
    fn moved_files_keep_the_unit_of_weights() {
        let unit = Some(WeightUnit::Seconds);
        let sources = Sources::unmoved(["/a.folded".into(), "/b.folded".into()]).with_weight_unit(unit);
        let mut panel = SourcesPanel { sources: sources.clone(), ..SourcesPanel::default() };
        panel.reset();
        assert_eq!(panel.moved(), Some(sources));
        panel.texts[1] = "2s".to_owned();
        assert_eq!(panel.moved().map(|moved| moved.weight_unit()), Some(unit));
    }
}

//! The list of derived tracks, with controls to add, rename and remove them.

use egui::{Id, Key, RichText, Role, ScrollArea, Ui, WidgetInfo, vec2};

use crate::query::derived::{DerivedTrack, UnknownCounter};
use crate::scene::labels::shown;
use crate::ui::command::{Command, DerivedCommand, TimelineCommand};
use crate::ui::selected_scope::SelectedScope;
use crate::ui::theme::Theme;
use crate::ui::timeline::derived::{DERIVED_MAX, DerivedRow, DerivedState};
use crate::ui::timeline::state::Timeline;
use crate::ui::widgets::field;
use crate::ui::widgets::reading_order::on_screen;

/// An example of each kind, and its meaning.
const EXAMPLES: [(&str, &str); 8] = [
    ("rate name:read", "starts per second of the matching rows"),
    ("count dur>1ms", "rows that start in each column"),
    ("concurrency cat:io", "spans that are open at one time"),
    ("busy cat:Running", "the share of time that spans are open; 100 % per open span"),
    ("max-duration", "the longest of the spans that start"),
    ("p99 name:read", "the duration that 99 % do not exceed; an estimate if there are many"),
    ("sum:arg.bytes name:read", "the sum of an argument; arg.a.b is a member of an object"),
    ("sum:counter.rss", "the sum of the counters of a name; a filter selects processes"),
];

/// Why a track with a step width is not added.
const EVERY_REFUSED: &str =
    "every: is the step of `longspan export --derive`; in the window, each column of pixels is a step";

/// The panel, with the text of a new track.
#[derive(Debug, Default)]
pub(crate) struct DerivedPanel {
    text: String,
    error: Option<String>,
    /// The egui pass in which the field was shown last. After a gap, the field takes the focus.
    last_pass: u64,
}

impl DerivedPanel {
    /// Shows the list, and the field for a new track.
    pub(crate) fn show(&mut self, ui: &mut Ui, timeline: &Timeline, theme: &Theme) -> Vec<Command> {
        let mut commands = Vec::new();
        // The content of a small window scrolls.
        let most = ui.ctx().content_rect().height() - 120.0;
        ScrollArea::vertical().max_height(most).show(ui, |ui| self.show_content(ui, timeline, theme, &mut commands));
        commands
    }

    fn show_content(&mut self, ui: &mut Ui, timeline: &Timeline, theme: &Theme, commands: &mut Vec<Command>) {
        let mut ask = |command| commands.push(TimelineCommand::Derived(command).into());
        egui::Grid::new("derived tracks").num_columns(3).spacing([12.0, 4.0]).show(ui, |ui| {
            for row in timeline.derived() {
                show_row(ui, row, theme).into_iter().for_each(&mut ask);
                ui.end_row();
            }
        });
        if !timeline.derived().is_empty() {
            let mut exports = timeline.exports_derived();
            let hint = "Formats with counters: Longspan, Chrome JSON, Perfetto, Parquet";
            if ui.checkbox(&mut exports, "Export with the trace, as counters").on_hover_text(hint).changed() {
                ask(DerivedCommand::Export(exports));
            }
        }
        if timeline.derived().len() >= DERIVED_MAX {
            ui.label(
                RichText::new(format!("At most {DERIVED_MAX}: remove one to add another.")).color(theme.weak_text),
            );
            return;
        }
        ui.add_space(6.0);
        if let Some(command) = self.show_field(ui, timeline, theme) {
            ask(command);
        }
    }

    /// Shows the field for another track with its examples. Returns the track, once it is entered.
    fn show_field(&mut self, ui: &mut Ui, timeline: &Timeline, theme: &Theme) -> Option<DerivedCommand> {
        let enters = self.show_text(ui, theme);
        let scope = timeline.scope();
        let scope_text = if scope.range.is_some() || !scope.tracks.is_all() {
            "Covers the time and tracks of the scope."
        } else {
            "Covers the whole trace; a scope of time and tracks narrows it."
        };
        ui.label(RichText::new(scope_text).small().color(theme.weak_text));
        if let Some(error) = &self.error {
            ui.label(RichText::new(&*shown(error)).color(theme.error));
        }
        egui::Grid::new("kinds of derived tracks").num_columns(2).spacing([12.0, 2.0]).show(ui, |ui| {
            for (word, meaning) in EXAMPLES {
                if ui.link(word).clicked() {
                    (self.text, self.error) = (word.to_owned(), None);
                }
                ui.label(RichText::new(meaning).color(theme.weak_text));
                ui.end_row();
            }
        });
        if enters { self.parse_text(timeline) } else { None }
    }

    /// Shows the text field and its button. Returns whether the text was entered.
    fn show_text(&mut self, ui: &mut Ui, theme: &Theme) -> bool {
        const FIELD_POINTS: f32 = 320.0;
        let mut enters = false;
        ui.horizontal(|ui| {
            let size = vec2(FIELD_POINTS, ui.spacing().interact_size.y);
            let response = field::add_sized(ui, size, &mut self.text, |field| {
                let field = field.hint_text("rate name:read").background_color(theme.canvas);
                // The id does not depend on the tracks above, so the field keeps the focus.
                field.id(Id::unique("field of the derived tracks"))
            });
            response.widget_info(|| WidgetInfo::labeled(Role::TextInput, true, "Kind and filter of a derived track"));
            let pass = ui.ctx().cumulative_pass_nr();
            if std::mem::replace(&mut self.last_pass, pass) + 1 < pass {
                response.request_focus();
            }
            if response.changed() {
                self.error = None;
            }
            enters = response.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
            if enters {
                // For the next track.
                response.request_focus();
            }
            enters |= ui.button("Add").clicked();
        });
        enters
    }

    /// Returns the track of the text, or keeps the error.
    fn parse_text(&mut self, timeline: &Timeline) -> Option<DerivedCommand> {
        match DerivedTrack::parse(&self.text) {
            Ok(DerivedTrack { every_ns: Some(_), .. }) => {
                self.error = Some(EVERY_REFUSED.to_owned());
                None
            }
            Ok(track) => {
                if let Some(unknown) = UnknownCounter::of(&track, timeline.snapshot()) {
                    self.error = Some(unknown.sentence(|kind| format!("`{kind}`"), "the filter of tracks finds them"));
                    return None;
                }
                self.text.clear();
                let scope = SelectedScope { filter: track.filter.into(), ..timeline.scope().clone() };
                Some(DerivedCommand::Add(track.kind, scope))
            }
            Err(error) => {
                self.error = Some(error);
                None
            }
        }
    }
}

fn show_row(ui: &mut Ui, row: &DerivedRow, theme: &Theme) -> Vec<DerivedCommand> {
    const NAME_POINTS: f32 = 260.0;
    let described = shown(&row.described()).into_owned();
    let (hint, label) = (on_screen(&described), format!("Name of {described}"));
    let at = (("derived", row.id), vec2(NAME_POINTS, ui.spacing().interact_size.y));
    let (response, renamed) = field::add_name(ui, at, (&row.name, &hint, &label), theme.canvas);
    let mut chosen: Vec<_> = response.gained_focus().then_some(DerivedCommand::StartNaming).into_iter().collect();
    chosen.extend(renamed.map(|name| DerivedCommand::Rename(row.id, name)));
    let (text, button, command) = match &row.state {
        DerivedState::Waiting => ("waiting", "Stop", DerivedCommand::Stop(row.id)),
        DerivedState::Computing(_) => ("counting", "Stop", DerivedCommand::Stop(row.id)),
        DerivedState::Computed(_) => ("", "Recompute", DerivedCommand::Compute(row.id)),
        DerivedState::Outdated(_) => ("grows with the trace", "Stop", DerivedCommand::Stop(row.id)),
        DerivedState::Stopped => ("stopped", "Recompute", DerivedCommand::Compute(row.id)),
        DerivedState::Failed(_) => ("failed", "Recompute", DerivedCommand::Compute(row.id)),
    };
    ui.label(RichText::new(text).color(theme.weak_text));
    ui.horizontal(|ui| {
        if ui.button(button).clicked() {
            chosen.push(command);
        }
        if ui.button("Remove").clicked() {
            chosen.push(DerivedCommand::Remove(row.id));
        }
    });
    chosen
}

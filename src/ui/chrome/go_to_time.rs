//! The field for a time to go to.

use egui::{Key, Modifiers, RichText, Ui, vec2};

use super::dialog_outcome::DialogOutcome;
use crate::base::time::elapsed_text;
use crate::base::typed_time::TypedTime;
use crate::ui::command::{Command, TimelineCommand};
use crate::ui::theme::Theme;
use crate::ui::timeline::state::Timeline;
use crate::ui::widgets::field;
use crate::ui::widgets::spoken;

/// The label of the field.
const LABEL: &str = "Time to go to";

/// The open field with its text, and why the entered text is not a time of the trace.
#[derive(Debug, Clone, Default)]
pub(crate) struct GoToTime {
    text: String,
    error: String,
    was_shown: bool,
}

impl GoToTime {
    /// Shows the field. Enter goes to the time, Escape closes the field.
    pub(crate) fn show(&mut self, ui: &Ui, timeline: &Timeline, theme: &Theme) -> DialogOutcome {
        const WIDTH: f32 = 360.0;
        let mut outcome = DialogOutcome::Open;
        let id = egui::Id::unique("go to time");
        let area = egui::Modal::default_area(id).anchor(egui::Align2::CENTER_TOP, vec2(0.0, 80.0));
        let area = area.accessible_name("Go to time");
        let frame = egui::Frame::window(ui.style());
        let modal = egui::Modal::new(id).area(area).frame(frame).show(ui.ctx(), |ui| {
            ui.set_width(WIDTH);
            let is_entered = ui.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Enter));
            let response = field::add(ui, &mut self.text, |field| {
                field.hint_text("1.5 s on the ruler, +1.5 s from the start").desired_width(f32::INFINITY)
            });
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, LABEL));
            if !std::mem::replace(&mut self.was_shown, true) {
                response.request_focus();
            }
            if response.changed() {
                self.error.clear();
            }
            if is_entered {
                match typed_ns(&self.text, timeline) {
                    Ok(ts_ns) => outcome = DialogOutcome::Given(Command::Timeline(TimelineCommand::Center(ts_ns))),
                    Err(error) => self.error = error,
                }
            }
            if !self.error.is_empty() {
                spoken::announce(&ui.label(RichText::new(&self.error).color(theme.error)));
            }
        });
        if outcome == DialogOutcome::Open && modal.should_close() {
            outcome = DialogOutcome::Closed;
        }
        outcome
    }
}

/// Returns the typed time on the clock of the trace, or why it is not a time of the trace.
fn typed_ns(text: &str, timeline: &Timeline) -> Result<i64, String> {
    let snapshot = timeline.snapshot();
    let ts_ns = match text.trim().parse()? {
        TypedTime::Absolute(on_ruler_ns) => timeline.origin_ns().saturating_add(on_ruler_ns),
        from_start @ TypedTime::FromStart(_) => from_start.on_clock_of(timeline.start_of_ruler_ns()),
    };
    let [first, last] = [snapshot.start_ns(), snapshot.end_ns()];
    if (first..=last).contains(&ts_ns) {
        return Ok(ts_ns);
    }
    // Even a ruler with times of day accepts times since its zero.
    let [first, last] = [first, last].map(|ts_ns| elapsed_text(ts_ns.saturating_sub(timeline.origin_ns())));
    Err(format!("The trace is from {first} to {last}: enter a time within it"))
}

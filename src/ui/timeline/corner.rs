//! The line above the track names. It has the number of hidden tracks and the filter that a jump to a span has cleared,
//! each with a button to undo it.

use egui::{Rect, RichText, Ui, UiBuilder, vec2};

use super::state::Timeline;
use crate::base::time::counted;
use crate::scene::labels::shown;
use crate::ui::command::{Command, RowCommand};
use crate::ui::widgets::reading_order::on_screen;

/// Shows the line in `rect`; nothing if all tracks are shown.
pub(super) fn show(timeline: &Timeline, ui: &mut Ui, rect: Rect) -> Option<Command> {
    let hidden = timeline.tracks.arrangement().folded.hidden.len() as u64;
    let cleared = timeline.tracks.cleared_filter();
    let hidden = match hidden {
        0 => None,
        count => {
            let hint = if count == 1 { "Shows it again" } else { "Shows them again" };
            Some((format!("{}: show", counted(count, "hidden track")), hint.to_owned(), RowCommand::ShowHidden))
        }
    };
    let cleared = (!cleared.is_empty()).then(|| {
        let filter = on_screen(&shown(cleared)).into_owned();
        let hint = format!("Restores the filter {filter}, which left out the track of the span");
        (format!("Restore filter {filter}"), hint, RowCommand::Filter(cleared.to_owned()))
    });
    if hidden.is_none() && cleared.is_none() {
        return None;
    }
    let inside = rect.shrink2(vec2(8.0, 0.0));
    let shown = ui.scope_builder(UiBuilder::new().max_rect(inside), |ui| {
        ui.set_clip_rect(rect);
        ui.style_mut().wrap_mode = Some(egui::TextWrapMode::Truncate);
        ui.horizontal_centered(|ui| {
            let mut chosen = None;
            for (text, hint, command) in [hidden, cleared].into_iter().flatten() {
                if ui.link(RichText::new(text).small()).on_hover_text(hint).clicked() {
                    chosen = Some(command);
                }
            }
            chosen
        })
        .inner
    });
    shown.inner.map(Command::from)
}

//! The state of an answer in words, beside the title of a panel: how far it is, and how exact.

use egui::{Label, ProgressBar, RichText, Ui};

use crate::base::progress::Progress;
use crate::query::Snapshot;
use crate::ui::theme::Theme;

/// The exactness of an answer that is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exactness {
    Exact,
    /// Counts and times are exact, some quantiles come from sketches.
    SketchedQuantiles,
}

/// The error of quantiles from sketches, in words.
pub(super) const SKETCH_ERROR: &str = "to within 1/32";

/// How far a question is, with a bar.
pub(super) fn show_counting(ui: &mut Ui, progress: &Progress, theme: &Theme) {
    show_progress(ui, progress, "counting", theme).on_hover_text("Not all is counted yet; the numbers are so far");
}

/// How far work in the background is, with a bar and a word for what it does.
pub(super) fn show_progress(ui: &mut Ui, progress: &Progress, word: &str, theme: &Theme) -> egui::Response {
    let part = progress.view().fraction().unwrap_or(0.0);
    ui.add(ProgressBar::new(part).desired_width(60.0).desired_height(6.0));
    ui.label(RichText::new(format!("{word}: {:.0} %", part * 100.0)).color(theme.warning))
}

/// The exactness of a whole answer, in the room that is left.
pub(super) fn show_exactness(ui: &mut Ui, exactness: Exactness, snapshot: &Snapshot, theme: &Theme) {
    let (text, hint) = match exactness {
        Exactness::Exact => ("exact", "Every row is counted"),
        Exactness::SketchedQuantiles => (
            "exact, ~p to within 1/32",
            "Counts, times, smallest and largest are exact. Quantiles of names with more than 128 spans come from \
             sketches: they are off by one part in 32 at most.",
        ),
    };
    let is_preview = snapshot.summary().sorted_to_ns.is_some();
    let text = if is_preview { format!("{text}, of what is sorted so far") } else { text.to_owned() };
    ui.add(Label::new(RichText::new(text).color(theme.weak_text)).truncate()).on_hover_text(hint);
}

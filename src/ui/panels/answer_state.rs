//! The status of an answer beside the title of a panel: its progress, or its exactness.

use egui::{Color32, Label, ProgressBar, RichText, Ui};

use super::dock_panel::PanelView;
use crate::base::progress::Progress;
use crate::base::time::counted;
use crate::query::stacks::CallPaths;
use crate::scene::labels::{shorten_label, shown};
use crate::ui::theme::Theme;
use crate::ui::widgets::letters::text_width;
use crate::ui::widgets::reading_order::on_screen;
use crate::ui::widgets::tip_text::tip_text;

/// Limit for the letters of an error beside a button.
const ERROR_LETTERS_MAX: f32 = 60.0;

/// The exactness of a complete answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exactness {
    Exact,
    /// All spans are counted on the path of the spans around them.
    ExactPaths,
    /// Counts and times are exact, some quantiles come from sketches.
    SketchedQuantiles,
}

/// The error of quantiles from sketches, as text.
pub(super) const SKETCH_ERROR: &str = "to within 3.1 %";

/// Shows the progress of a query.
pub(super) fn show_counting(ui: &mut Ui, progress: &Progress, theme: &Theme) {
    show_progress(ui, progress, "counting", theme).on_hover_text("Counting continues; the numbers are partial");
}

/// Shows the progress of a background task, with a verb for it.
pub(super) fn show_progress(ui: &mut Ui, progress: &Progress, word: &str, theme: &Theme) -> egui::Response {
    let part = progress.view().fraction().unwrap_or(0.0);
    ui.add(ProgressBar::new(part).desired_width(60.0).desired_height(6.0));
    ui.label(RichText::new(format!("{word}: {:.0} %", part * 100.0)).color(theme.warning))
}

/// Shows that the rows of a large table are being sorted or filtered in the background.
pub(super) fn show_sorting(ui: &mut Ui, theme: &Theme) {
    ui.label(RichText::new("sorting").color(theme.warning)).on_hover_text("The rows are still in their previous order");
}

/// Shows why a query has no complete answer: the message of its failure, or else `stopped`.
pub(super) fn show_stopped(ui: &mut Ui, stopped: &str, error: Option<&str>, theme: &Theme) {
    match error {
        // The button beside it must stay in view.
        Some(error) => {
            let text = shorten_label(error, ERROR_LETTERS_MAX, |_| 1.0).unwrap_or_default();
            ui.label(RichText::new(on_screen(&shown(&text))).color(theme.error)).on_hover_text(tip_text(error))
        }
        None => ui.label(RichText::new(stopped).color(theme.warning)),
    };
}

/// Shows that small paths are merged, as a text about their part. A path is shown as a `thing`, such as a bar.
pub(super) fn show_merged(ui: &mut Ui, text: &str, paths: &CallPaths, thing: &str, theme: &Theme) {
    let hint = "Very small paths are merged into [others] under their parent; their sums are exact.";
    let rest = if paths.is_swept {
        format!("There are too many paths for each to be a {thing}.")
    } else {
        format!("All spans are counted in the background; then more paths are {thing}s.")
    };
    ui.label(RichText::new(text).color(theme.weak_text)).on_hover_text(format!("{hint} {rest}"));
}

/// Shows that paths of a tree are merged because of its limits.
pub(super) fn show_folded(ui: &mut Ui, folded: u64, theme: &Theme) {
    if folded > 0 {
        let text = format!("{} merged", counted(folded, "path"));
        let hint = "Too many or too long paths: they are in [others] below their callers";
        ui.label(RichText::new(text).color(theme.warning)).on_hover_text(hint);
    }
}

/// Shows the exactness of a complete answer, in the rest of the line.
pub(super) fn show_exactness(ui: &mut Ui, exactness: Exactness, view: &PanelView<'_>) {
    if view.has_invalid_filter {
        let hint = "The typed filter is invalid: rows are counted with the last valid filter";
        return show_cut(ui, "of the last valid filter", view.context.theme.warning, hint);
    }
    let (text, hint) = match exactness {
        Exactness::Exact => ("exact", "Every row is counted"),
        Exactness::ExactPaths => (
            "exact",
            "Every span is counted. Overlapping children of a span are counted in full, so paths can add up to more \
             than the sum of Self in the statistics.",
        ),
        Exactness::SketchedQuantiles => (
            "exact, ~p to within 3.1 %",
            "Counts, times, smallest and largest are exact. Quantiles of names with more than 128 spans come from \
             sketches: they are off by one part in 32 at most.",
        ),
    };
    let summary = view.snapshot().summary();
    // A live trace is sorted up to its newest event, but more will come.
    let (text, hint) = if view.timeline.is_live() {
        let of_live = "The trace is live: data received so far is counted, and unfinished spans up to now.";
        (format!("{text} so far"), format!("{hint}\n{of_live}"))
    } else if summary.sorted_to_ns.is_some_and(|sorted_to_ns| sorted_to_ns < summary.end_ns) {
        (format!("{text}, of the sorted part only"), hint.to_owned())
    } else {
        (text.to_owned(), hint.to_owned())
    };
    show_cut(ui, &text, view.context.theme.weak_text, &hint);
}

/// Shows a text in the rest of the line. One tooltip has the hint, and the whole text if it is cut.
pub(super) fn show_cut(ui: &mut Ui, text: &str, color: Color32, hint: &str) {
    let font = egui::TextStyle::Body.resolve(ui.style());
    let tip =
        if text_width(ui, text, &font) > ui.available_width() { format!("{text}\n{hint}") } else { hint.to_owned() };
    let label = Label::new(RichText::new(text).color(color)).truncate().show_tooltip_when_elided(false);
    ui.add(label).on_hover_text(tip);
}

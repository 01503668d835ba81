//! Why a panel of spans is empty, and the one thing to do.

use egui::Context;

use super::dock_panel::PanelView;
use crate::model::{TrackIdx, TrackKind};
use crate::query::filter::Filter;
use crate::query::mistyped_key::filter_hint;
use crate::store::Summary;
use crate::ui::command_table::key_of;

/// Limit for the tracks of a scope that are looked at for counters.
const TRACKS_SEEN_MAX: usize = 1000;

/// A panel that shows spans of the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpanView {
    List,
    FlameGraph,
    HeatMap,
}

/// Returns the reason for an empty panel of a trace without spans.
pub(super) fn no_spans_in_trace(summary: &Summary, view: SpanView) -> &'static str {
    match view {
        SpanView::List if summary.samples > 0 => {
            "The trace has no spans. \"With instants\" lists its samples, and Analyze > Samples adds them up."
        }
        SpanView::FlameGraph if summary.samples > 0 => "The trace has no spans. Samples above adds up its samples.",
        SpanView::HeatMap if summary.samples > 0 => "The trace has no spans. Analyze > Samples adds up its samples.",
        SpanView::List if summary.instants > 0 => "The trace has no spans. \"With instants\" lists its instants.",
        _ if summary.instants > 0 => "The trace has no spans. Analyze > Spans lists its instants.",
        _ if summary.counters > 0 => "The trace has no spans. Analyze > Counters sums up its counters.",
        _ => "The trace has no spans.",
    }
}

/// Returns the reason for a scope without spans. `has_instants` is whether it has instants.
pub(super) fn no_spans(view: &PanelView<'_>, ctx: &Context, has_instants: bool) -> String {
    let (snapshot, scope) = (view.snapshot(), view.scope());
    if view.has_invalid_filter {
        return "The filter of the scope is invalid.".to_owned();
    }
    if !scope.filter.is_empty() {
        let hint = filter_hint(snapshot, &Filter::parse(&scope.filter).unwrap_or_default());
        let hint = hint.unwrap_or_else(|| "shorten it, or widen the scope.".to_owned());
        return format!("No span matches the filter of the scope: {hint}");
    }
    let summary = snapshot.summary();
    let instants = has_instants.then(|| "Analyze > Spans > With instants lists the instants.".to_owned());
    let samples =
        (summary.samples > 0).then(|| format!("The flame graph ({}) adds up samples.", key_of(ctx, "Flame graph")));
    let is_counter = |track: TrackIdx| snapshot.track(track).key.kind == TrackKind::Counter;
    // Each frame asks, so the tracks of a large scope are not all looked at.
    let mut tracks = scope.tracks.iter().take(TRACKS_SEEN_MAX);
    let has_counters = summary.counters > 0 && (scope.tracks.is_all() || tracks.any(is_counter));
    let counters = has_counters.then(|| "Analyze > Counters sums up their values.".to_owned());
    let sentences = [Some("No spans here.".to_owned()), instants, samples, counters];
    sentences.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

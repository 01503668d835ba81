//! Why the statistics of a scope are empty, and the one thing to do.

use egui::Context;

use super::dock_panel::PanelView;
use crate::model::{TrackIdx, TrackKind};
use crate::query::filter::Filter;
use crate::query::mistyped_key::filter_hint;
use crate::ui::command_table::key_of;

/// Limit for the tracks of a scope that are looked at for counters.
const TRACKS_SEEN_MAX: usize = 1000;

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

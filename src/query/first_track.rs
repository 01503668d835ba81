//! Finds a track with stacks of a scope, to show them in time order.

use super::scan::LaneScan;
use super::scope::Scope;
use super::snapshot::Snapshot;
use crate::model::{TrackIdx, TrackSet};
use crate::store::LaneKind;

/// Returns the first track with spans in the scope, or with the bars of its sampled stacks. Reads at most a few blocks
/// of the outermost lanes of 64 tracks. If none of these has rows in the time of the scope, returns the first one.
#[must_use]
pub(crate) fn first_track_with_stacks(snapshot: &Snapshot, scope: &Scope, are_sampled: bool) -> Option<TrackIdx> {
    const READ_LANES_MAX: usize = 64;
    let mut scope = Scope { with_charts: are_sampled, ..scope.clone() };
    if are_sampled && !scope.tracks.is_all() {
        scope.tracks = with_charts(snapshot, &scope.tracks);
    }
    let has_stacks = |track| snapshot.track(track).key.kind.is_derived() == are_sampled;
    let lanes = || {
        let lanes = scope.lanes(snapshot, &scope.matcher);
        lanes.filter(|&lane| {
            let info = snapshot.lane(lane);
            info.kind == LaneKind::Spans && info.depth == 0 && has_stacks(info.track)
        })
    };
    let has_rows = |lane: &_| !LaneScan::new(snapshot, &scope.matcher, &scope, *lane).rows.is_empty();
    let lane = lanes().take(READ_LANES_MAX).find(has_rows).or_else(|| lanes().next())?;
    Some(snapshot.lane(lane).track)
}

/// Adds the tracks that are derived from the samples of threads.
fn with_charts(snapshot: &Snapshot, tracks: &TrackSet) -> TrackSet {
    TrackSet::from_fn(snapshot.tracks().tracks.len(), |track| {
        let is_chart = || snapshot.track(track).key.kind.is_derived();
        tracks.contains(track) || is_chart() && tracks.contains(snapshot.thread_of(track))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::filter::Filter;
    use crate::query::matcher::Matcher;
    use crate::scene::tests::snapshot;

    #[test]
    fn a_track_without_rows_in_the_scope_is_passed_over_and_samples_have_their_own() {
        let snapshot = snapshot(
            r#"[{"ph":"i","name":"i","pid":1,"tid":1,"ts":5},{"ph":"X","name":"f","pid":1,"tid":2,"ts":10,"dur":5},
            {"ph":"X","name":"g","pid":1,"tid":3,"ts":20,"dur":5},{"ph":"P","name":"s","pid":1,"tid":4,"ts":21}]"#,
        );
        let found = |from_ns, filter, are_sampled| {
            let matcher = Matcher::new(&snapshot, &Filter::parse(filter).unwrap());
            let scope = Scope::from_range(from_ns, None).matching(matcher);
            let track = first_track_with_stacks(&snapshot, &scope, are_sampled)?;
            Some(snapshot.track(track).key.tid.to_string())
        };
        let track = |tid: &str| Some(tid.to_owned());
        assert_eq!(found(None, "", false), track("2"));
        assert_eq!(found(Some(14_000), "", false), track("2"), "it reaches into the scope");
        assert_eq!(found(Some(15_000), "", false), track("3"));
        assert_eq!(found(Some(90_000), "", false), track("2"), "none has rows");
        assert_eq!(found(None, "thread:3", false), track("3"));
        assert_eq!(found(None, "", true), track("4"));
        assert_eq!(found(None, "thread:3", true), None);
        let of_thread = |tid: &str| {
            let is_thread = |track: &TrackIdx| {
                let key = &snapshot.track(*track).key;
                key.tid.to_string() == tid && !key.kind.is_derived()
            };
            let thread = (0..snapshot.tracks().tracks.len() as u32).map(TrackIdx).find(is_thread).unwrap();
            let track = first_track_with_stacks(&snapshot, &Scope::default().with_tracks(&[thread]), true)?;
            Some(snapshot.track(track).key.tid.to_string())
        };
        assert_eq!(of_thread("4"), track("4"), "the chart is not in the scope itself");
        assert_eq!(of_thread("3"), None);
    }
}

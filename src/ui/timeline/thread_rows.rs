//! Rows of one thread below each other: its states, its events and the flame chart of its samples. Only the first shows
//! the name, and no line separates them.

use crate::model::{TrackIdx, TrackKind};
use crate::query::Snapshot;
use crate::scene::rows::{Group, GroupKind};

/// Returns whether the row at `index` belongs to the same thread as the visible row above it.
pub(super) fn continues_thread(snapshot: &Snapshot, groups: &[Group], index: usize) -> bool {
    let track_at = |index: usize| match groups.get(index)?.kind {
        GroupKind::Track(track) => Some(track),
        GroupKind::Process(_) | GroupKind::Tracks(_) => None,
    };
    let above = index.checked_sub(1).and_then(track_at);
    matches!((above, track_at(index)), (Some(above), Some(track)) if are_of_one_thread(snapshot, above, track))
}

fn are_of_one_thread(snapshot: &Snapshot, above: TrackIdx, track: TrackIdx) -> bool {
    let (above, track) = (snapshot.track(above), snapshot.track(track));
    let is_of_thread = |kind| matches!(kind, TrackKind::State | TrackKind::Thread | TrackKind::Samples);
    let has_id = !track.key.tid.to_string().is_empty();
    let is_same = above.process == track.process && above.key.tid == track.key.tid;
    has_id && is_same && is_of_thread(above.key.kind) && is_of_thread(track.key.kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_events_and_samples_of_a_thread_are_joined_and_other_threads_are_not() {
        let script = "w 7/8 [000] 1.000001: sched:sched_switch: prev_comm=w prev_pid=8 prev_prio=120 prev_state=S ==> \
            next_comm=v next_pid=9 next_prio=120\nv 7/9 [000] 1.000002: sched:sched_switch: prev_comm=v prev_pid=9 \
            prev_prio=120 prev_state=S ==> next_comm=w next_pid=8 next_prio=120\n";
        let snapshot = crate::scene::tests::snapshot(script);
        let group = |track| Group { kind: GroupKind::Track(track), top_px: 0, height_px: 20, folded_lanes: 0 };
        let order = snapshot.display_order();
        let groups: Vec<_> = order.iter().copied().map(group).collect();
        let joined: Vec<_> = (0..groups.len()).map(|index| continues_thread(&snapshot, &groups, index)).collect();
        let key = |index: usize| &snapshot.track(order[index]).key;
        let expected: Vec<_> = (0..groups.len())
            .map(|index| index > 0 && key(index).tid == key(index - 1).tid && key(index).kind != TrackKind::Cpu)
            .collect();
        assert_eq!(joined, expected);
        assert_eq!(joined.iter().filter(|joined| **joined).count(), 2, "{joined:?}");
    }
}

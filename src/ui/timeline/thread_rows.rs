//! Rows of one thread below each other: its states, its events and the flame chart of its samples. Only the first shows
//! the name, and no line separates them.

use crate::model::{Id, TrackIdx, TrackKind};
use crate::query::Snapshot;
use crate::scene::rows::{Group, GroupKind};

/// Returns whether the row at `index` belongs to the same thread as the visible row above it.
pub(super) fn continues_thread(snapshot: &Snapshot, groups: &[Group], index: usize) -> bool {
    let track_at = |index: usize| match groups.get(index)?.kind {
        GroupKind::Track(track) => Some(track),
        GroupKind::Custom(_) | GroupKind::Process(_) | GroupKind::Tracks(_) => None,
    };
    let above = index.checked_sub(1).and_then(track_at);
    matches!((above, track_at(index)), (Some(above), Some(track)) if are_of_one_thread(snapshot, above, track))
}

fn are_of_one_thread(snapshot: &Snapshot, above: TrackIdx, track: TrackIdx) -> bool {
    let (above, track) = (snapshot.track(above), snapshot.track(track));
    let is_of_thread = |kind| matches!(kind, TrackKind::State | TrackKind::Thread | TrackKind::Samples);
    let has_id = track.key.tid != Id::None;
    let is_same = above.process == track.process && above.key.tid == track.key.tid;
    has_id && is_same && is_of_thread(above.key.kind) && is_of_thread(track.key.kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_and_events_of_a_thread_are_joined_and_other_threads_are_not() {
        let snapshot = crate::scene::tests::threads_with_states();
        let order = snapshot.display_order();
        let group = |&track| Group { kind: GroupKind::Track(track), top_px: 0, height_px: 20, folded_lanes: 0 };
        let groups: Vec<_> = order.iter().map(group).collect();
        let key = |index: usize| &snapshot.track(order[index]).key;
        let joined: Vec<_> = (0..groups.len()).filter(|&row| continues_thread(&snapshot, &groups, row)).collect();
        let events =
            (0..groups.len()).find(|&row| key(row).kind == TrackKind::Thread && key(row).tid.to_string() == "8");
        let events = events.expect("a track of events");
        assert_eq!((key(events - 1).kind, &key(events - 1).tid), (TrackKind::State, &key(events).tid));
        assert_eq!(joined, [events]);
        let header = Group { kind: GroupKind::Process(snapshot.track(order[events]).process), ..groups[0] };
        assert!(!continues_thread(&snapshot, &[header, groups[events]], 1), "the states are hidden");
    }
}

//! Drops at every pixel, and steps through all places.

use super::*;
use crate::frame::RectBudget;
use crate::query::Snapshot;
use crate::scene::color::Shade;
use crate::scene::tests::{snapshot, threads_with_states};
use crate::ui::settings::Navigation;

fn timeline(snapshot: &Snapshot) -> Timeline {
    let mut timeline =
        Timeline::with_pool(snapshot.clone(), RectBudget::SOFTWARE, Shade::Dark, Navigation::STILL, None);
    timeline.arrange();
    timeline
}

/// Returns all headers and tracks, top to bottom.
fn rows(timeline: &Timeline) -> Vec<GroupKind> {
    let layout = &timeline.rows.layout;
    layout.groups_within(0, layout.height_px()).iter().map(|group| group.kind).collect()
}

/// Two processes with threads and a group of counters.
fn two_processes() -> Snapshot {
    let mut events = Vec::new();
    for pid in 1..3 {
        for tid in 0..3 {
            events.push(format!(r#"{{"ph":"X","name":"a","pid":{pid},"tid":{tid},"ts":{tid},"dur":5}}"#));
        }
        for number in 0..4 {
            events.push(format!(r#"{{"ph":"C","name":"c{number}","pid":{pid},"ts":1,"args":{{"v":1}}}}"#));
        }
    }
    snapshot(&format!("[{}]", events.join(",")))
}

/// Returns timelines without and with groups of the user, of some threads of the second process.
fn timelines(snapshot: &Snapshot) -> [Timeline; 2] {
    let (plain, mut grouped) = (timeline(snapshot), timeline(snapshot));
    let second = snapshot.tracks_of_process(snapshot.track(*snapshot.display_order().last().unwrap()).process);
    for tracks in second.chunks(2).take(3) {
        grouped.tracks.change_groups(|groups| groups.make(tracks.iter().copied().collect())).unwrap();
    }
    grouped.arrange();
    [plain, grouped]
}

/// Returns the rows that a row can be moved among, with itself.
fn siblings(timeline: &Timeline, row: GroupKind) -> Vec<GroupKind> {
    let is_custom = |kind: GroupKind| matches!(kind, GroupKind::Custom(_));
    let is_sibling = |other: &GroupKind| {
        timeline.parent_of(*other) == timeline.parent_of(row) && is_custom(*other) == is_custom(row)
    };
    rows(timeline).into_iter().filter(is_sibling).collect()
}

/// Returns the row that is moved to each pixel of all rows, as a list of rows with what comes before and after it.
fn dropped_everywhere(timeline: &Timeline, dragged: GroupKind) -> Vec<(u64, RowDrop)> {
    let height_px = timeline.rows.layout.height_px();
    (0..height_px).filter_map(|y_px| Some((y_px, timeline.row_drop_at(dragged, y_px)?))).collect()
}

#[test]
fn a_row_is_dropped_where_the_line_is_and_only_below_its_header() {
    let snapshot = two_processes();
    for (kind, plain) in timelines(&snapshot).into_iter().enumerate() {
        for dragged in rows(&plain) {
            let own = plain.unit_extent_px(dragged).unwrap();
            let mut lines = Vec::new();
            for (y_px, RowDrop { command, line_px }) in dropped_everywhere(&plain, dragged) {
                lines.push(line_px);
                assert!(line_px != own.start && line_px != own.end, "{dragged:?} at {y_px} stays");
                if lines.len() > 1 && lines[lines.len() - 2] == line_px {
                    continue;
                }
                let [without, with] = timelines(&snapshot);
                let mut after = if kind == 0 { without } else { with };
                after.change_rows(command);
                let height_px = own.end - own.start;
                // The rows before the line move up if the row came from above them.
                let top_px = if line_px > own.start { line_px - height_px } else { line_px };
                assert_eq!(after.unit_extent_px(dragged), Some(top_px..top_px + height_px), "{dragged:?} at {y_px}");
                assert_eq!(after.parent_of(dragged), plain.parent_of(dragged));
                let (mut before, mut now) = (rows(&plain), rows(&after));
                assert_ne!(before, now);
                [&mut before, &mut now].into_iter().for_each(|rows| rows.sort_by_key(|kind| format!("{kind:?}")));
                assert_eq!(before, now, "no row is lost");
            }
            lines.dedup();
            // There is a line at each gap but the two around the row.
            assert_eq!(lines.len(), siblings(&plain, dragged).len() - 1, "{dragged:?}");
        }
    }
}

#[test]
fn steps_down_and_up_lead_through_all_places_and_end_at_the_edges() {
    let snapshot = two_processes();
    for (kind, row) in timelines(&snapshot)
        .iter()
        .enumerate()
        .flat_map(|(kind, timeline)| rows(timeline).into_iter().map(move |row| (kind, row)))
    {
        let [without, with] = timelines(&snapshot);
        let mut moved = if kind == 0 { without } else { with };
        let siblings = siblings(&moved, row);
        let position = siblings.iter().position(|&other| other == row).unwrap();
        for (direction, places, edge) in
            [(Direction::Forward, siblings.len() - position, "last"), (Direction::Backward, siblings.len(), "first")]
        {
            let mut seen = vec![rows(&moved)];
            for _ in 0..siblings.len() {
                moved.step_row(row, direction);
                seen.push(rows(&moved));
            }
            assert!(moved.note.take().is_some_and(|note| note.contains(edge)));
            seen.dedup();
            assert_eq!(seen.len(), places, "{row:?}");
        }
        assert_eq!(self::siblings(&moved, row)[0], row, "up to the top");
    }
}

#[test]
fn the_states_of_a_thread_are_part_of_its_row() {
    let snapshot = threads_with_states();
    let timeline = timeline(&snapshot);
    let tracks = rows(&timeline).into_iter().filter(|kind| matches!(kind, GroupKind::Track(_)));
    let mut joined = 0;
    for kind in tracks {
        let GroupKind::Track(track) = kind else { continue };
        let own = timeline.rows.layout.extent_px(kind).unwrap();
        let unit = timeline.unit_extent_px(kind).unwrap();
        joined += usize::from(unit != own);
        for other in rows(&timeline) {
            let GroupKind::Track(other_track) = other else { continue };
            let extent = timeline.rows.layout.extent_px(other).unwrap();
            let is_inside = unit.start <= extent.start && extent.end <= unit.end;
            assert_eq!(is_inside, snapshot.thread_of(other_track) == snapshot.thread_of(track), "{other:?}");
        }
    }
    assert!(joined >= 2);
}

#[test]
fn rows_are_moved_in_trace_order_only_but_pinned_ones_in_any() {
    let snapshot = two_processes();
    let mut timeline = timeline(&snapshot);
    let tracks: Vec<TrackIdx> = snapshot.display_order().iter().copied().take(3).collect();
    timeline.change_rows(RowCommand::Order(TrackOrder::Name));
    timeline.step_row(GroupKind::Track(tracks[0]), Direction::Forward);
    assert_eq!(timeline.note.take(), Some(format!("{OTHER_ORDER}.").into()));
    assert!(timeline.arrangement().moves.is_empty());
    for &track in &tracks {
        timeline.change_rows(RowCommand::TogglePin(track));
    }
    let pinned = |timeline: &Timeline| timeline.arrangement().pinned.clone();
    timeline.step_row(GroupKind::Track(tracks[0]), Direction::Forward);
    assert_eq!(pinned(&timeline), [tracks[1], tracks[0], tracks[2]]);
    timeline.step_row(GroupKind::Track(tracks[2]), Direction::Forward);
    assert!(timeline.note.take().is_some_and(|note| note.contains("last")));
    let height_px = timeline.pinned.layout.height_px();
    let dropped = timeline.pinned_drop_at(tracks[2], 0).unwrap();
    assert_eq!((dropped.line_px, timeline.pinned_drop_at(tracks[2], height_px - 1)), (0, None));
    timeline.change_rows(dropped.command);
    assert_eq!(pinned(&timeline), [tracks[2], tracks[1], tracks[0]]);
    assert!(timeline.arrangement().moves.is_empty());
}

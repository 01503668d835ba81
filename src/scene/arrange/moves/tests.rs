//! Moves against an oracle, which removes and inserts whole runs of a flat list.

use proptest::prelude::*;

use super::*;
use crate::scene::arrange::{self, Arrangement};
use crate::scene::custom_groups::CustomGroups;
use crate::scene::tests::{snapshot, threads_with_states};

/// Two processes with threads and groups of counters and async spans.
fn trace() -> Snapshot {
    let mut events = Vec::new();
    for pid in 1..3 {
        for tid in 0..4 {
            events.push(format!(r#"{{"ph":"X","name":"a","pid":{pid},"tid":{tid},"ts":{tid},"dur":5}}"#));
        }
        for number in 0..5 {
            events.push(format!(r#"{{"ph":"C","name":"c{number}","pid":{pid},"ts":1,"args":{{"v":1}}}}"#));
            for (ph, ts) in [("b", number), ("e", 90)] {
                let id = format!(r#""cat":"k","id":{number},"name":"load","pid":{pid},"tid":1"#);
                events.push(format!(r#"{{"ph":"{ph}",{id},"ts":{ts}}}"#));
            }
        }
    }
    snapshot(&format!("[{}]", events.join(",")))
}

fn ordered(snapshot: &Snapshot, arrangement: &Arrangement) -> Vec<TrackRows> {
    arrange::tracks(snapshot, arrangement, None)
}

/// Returns the section of a track and the rows that contain it, outermost first.
fn whole_path(snapshot: &Snapshot, track: &TrackRows) -> Vec<String> {
    let section = match track.section() {
        RowSection::Process(process) => format!("{:?}", MovableRow::Process(process)),
        RowSection::Custom(group) => format!("{group:?}"),
    };
    std::iter::once(section).chain(path_of(snapshot, track).iter().map(|row| format!("{row:?}"))).collect()
}

/// Moves the tracks of a row as one run. Returns false if no header has both rows.
fn move_run(snapshot: &Snapshot, tracks: &mut Vec<TrackRows>, moved: MovedRow) -> bool {
    let [row, beside] = [moved.row, moved.beside].map(|row| format!("{row:?}"));
    // By header: the path up to it.
    let above = |track: &TrackRows, row: &String| {
        let path = whole_path(snapshot, track);
        path.iter().position(|other| other == row).map(|level| path[..level].to_vec())
    };
    let mut is_possible = false;
    let headers: Vec<Vec<String>> = tracks.iter().filter_map(|track| above(track, &row)).collect();
    for header in headers.into_iter().collect::<std::collections::BTreeSet<_>>() {
        let is_below = |track: &TrackRows, row: &String| above(track, row).as_ref() == Some(&header);
        if row == beside || !tracks.iter().any(|track| is_below(track, &beside)) {
            continue;
        }
        let (run, mut others): (Vec<_>, Vec<_>) = tracks.iter().cloned().partition(|track| is_below(track, &row));
        let first = others.iter().position(|track| is_below(track, &beside)).unwrap();
        let count = others[first..].iter().take_while(|track| is_below(track, &beside)).count();
        let at = if moved.is_after { first + count } else { first };
        others.splice(at..at, run);
        *tracks = others;
        is_possible = true;
    }
    is_possible
}

/// Returns all rows that can be moved.
fn movable(snapshot: &Snapshot) -> Vec<MovableRow> {
    let mut rows: Vec<MovableRow> = Vec::new();
    for track in ordered(snapshot, &Arrangement::default()) {
        let process = std::iter::once(MovableRow::Process(track.process));
        for row in process.chain(path_of(snapshot, &track)) {
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
    }
    rows
}

proptest! {
    #[test]
    fn moved_rows_are_where_removing_and_inserting_them_one_by_one_puts_them(
        picks in prop::collection::vec((0usize..1000, 0usize..1000, any::<bool>()), 0..30),
        groups_some in any::<bool>(),
        filter in prop::sample::select(&["", "1", "c"][..]),
    ) {
        let snapshot = trace();
        let mut custom_groups = CustomGroups::default();
        if groups_some {
            custom_groups.make([1, 3, 6, 9].map(TrackIdx).into_iter().collect()).unwrap();
        }
        let rows = movable(&snapshot);
        let mut arrangement = Arrangement { custom_groups, filter: filter.to_owned(), ..Arrangement::default() };
        let mut expected = ordered(&snapshot, &arrangement);
        for (row, beside, is_after) in picks {
            let moved = MovedRow { row: rows[row % rows.len()], beside: rows[beside % rows.len()], is_after };
            if move_run(&snapshot, &mut expected, moved) {
                prop_assert!(arrangement.moves.add(moved));
            }
            prop_assert_eq!(&ordered(&snapshot, &arrangement), &expected, "{:?}", arrangement.moves);
        }
        // Each saved form is read unchanged.
        let text = serde_json::to_string(&arrangement.moves).unwrap();
        prop_assert_eq!(serde_json::from_str::<RowMoves>(&text).unwrap(), arrangement.moves);
    }
}

#[test]
fn the_states_and_samples_of_a_thread_move_with_it() {
    let snapshot = threads_with_states();
    let before = ordered(&snapshot, &Arrangement::default());
    let threads = movable(&snapshot).into_iter().filter(|row| matches!(row, MovableRow::Thread(_)));
    let units = |tracks: &[TrackRows]| tracks.iter().map(|it| snapshot.thread_of(it.track)).collect::<Vec<_>>();
    assert!(units(&before).windows(2).any(|pair| pair[0] == pair[1]), "two rows of one thread");
    for row in threads {
        let mut arrangement = Arrangement::default();
        let beside = movable(&snapshot).into_iter().rfind(|other| *other != row).unwrap();
        assert!(arrangement.moves.add(MovedRow { row, beside, is_after: true }));
        let mut after = units(&ordered(&snapshot, &arrangement));
        after.dedup();
        let mut distinct = after.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(after.len(), distinct.len(), "the rows of each thread are adjacent");
    }
}

#[test]
fn the_moves_of_a_trace_are_limited_and_moving_a_row_again_replaces_its_move() {
    let row = |track: u32| MovableRow::Thread(TrackIdx(track));
    let mut moves = RowMoves::default();
    for beside in 1..3 * MOVES_MAX as u32 {
        assert!(moves.add(MovedRow { row: row(0), beside: row(beside), is_after: true }));
    }
    assert_eq!(moves.0.len(), 1);
    let many =
        (0..2 * MOVES_MAX as u32).map(|track| MovedRow { row: row(track), beside: row(track + 1), is_after: true });
    let added = many.filter(|moved| moves.add(*moved)).count();
    assert_eq!((moves.0.len(), added), (MOVES_MAX, MOVES_MAX));
    let itself = MovedRow { row: row(7), beside: row(7), is_after: true };
    let before = moves.clone();
    assert!(moves.add(itself) || moves == before);
    assert_eq!(moves, before);
}

//! Tests of the order of tracks among their siblings.

use super::encode::{Message, event, message, packet, process};
use super::*;
use crate::formats::perfetto::write::{PerfettoWriter, WrittenTrace};
use crate::model::{Event, Id, Metadata, NameIdx, Names, Registry, Stacks, TrackIdx, TrackKey, TrackKind};

/// Returns a child track with its child ordering and its rank.
fn below(uuid: u64, parent: u64, name: &str, order: u64, rank: u64) -> Message {
    let track = message().number(1, uuid).number(5, parent).bytes(2, name).number(11, order).number(12, rank);
    message().number(10, 1).message(60, track)
}

/// Returns a packet that only sets the child ordering of a track.
fn orders(uuid: u64, order: u64) -> Message {
    message().number(10, 1).message(60, message().number(1, uuid).number(11, order))
}

/// Returns the names of tracks by sort index.
fn ordered_names(reading: &Reading) -> Vec<(i64, String)> {
    let mut names: Vec<(i64, String)> = reading
        .metadata
        .iter()
        .filter_map(|metadata| match metadata {
            Metadata::TrackSortIndex { key, sort_index } => Some((*sort_index, key.name.to_string())),
            _ => None,
        })
        .collect();
    names.sort();
    names
}

#[test]
fn siblings_are_sorted_by_rank_or_name_on_every_level_that_orders_them() {
    let counter = message().number(1, 20).number(5, 3).bytes(2, "b").message(8, message());
    let value = packet(9).message(11, message().number(9, 4).number(11, 20).number(30, 2));
    let reading = read([
        process(1, 50, "app"),
        orders(1, 3),
        // The last group orders its tracks by name, the first by appearance; rank -1 comes first.
        below(2, 1, "late", 1, 7),
        below(3, 1, "early", 0, u64::MAX),
        below(10, 2, "z", 0, 1),
        below(11, 2, "y", 0, 2),
        below(12, 3, "d", 0, 9),
        message().number(10, 1).message(60, counter),
        event(1, 1, 10, "a"),
        event(2, 1, 11, "a"),
        event(3, 1, 12, "a"),
        value,
        event(10, 1, 3, "a"),
    ]);
    let expected = ["early", "early / d", "b", "late / y", "late / z"];
    assert_eq!(ordered_names(&reading), (1..).zip(expected.map(String::from)).collect::<Vec<_>>());
}

#[test]
fn a_process_with_tracks_in_order_of_appearance_has_no_sort_indices() {
    let reading = read([
        process(1, 50, "app"),
        process(2, 51, "other"),
        orders(2, 1),
        below(10, 1, "z", 2, 5),
        below(11, 1, "y", 0, 2),
        below(12, 2, "q", 0, 0),
        below(13, 2, "q", 0, 0),
        below(14, 2, "p", 0, 0),
        event(1, 1, 10, "a"),
        event(2, 1, 11, "a"),
        event(3, 1, 12, "a"),
        event(4, 1, 13, "a"),
        event(5, 1, 14, "a"),
    ]);
    // Siblings of the same name are merged, so they share a sort index.
    let expected = [(1, "p"), (2, "q"), (2, "q")];
    assert_eq!(ordered_names(&reading), expected.map(|(sort_index, name)| (sort_index, name.to_string())));
}

#[test]
fn sort_indices_are_read_back_as_written() {
    let mut registry = Registry::default();
    let key = |kind, pid, name: &str| TrackKey { kind, pid, tid: Id::None, name: name.into(), slot: 0 };
    let tracks = [
        (key(TrackKind::Counter, Id::Number(1), "last"), 9),
        (key(TrackKind::Async, Id::Number(1), "first"), -2),
        (key(TrackKind::Counter, Id::Number(1), "unordered"), 0),
        (key(TrackKind::Counter, Id::None, "of none, second"), 2),
        (key(TrackKind::Counter, Id::None, "of none, first"), 1),
    ];
    for (key, sort_index) in &tracks {
        registry.track(key);
        registry.apply(&Metadata::TrackSortIndex { key: key.clone(), sort_index: *sort_index });
    }
    let (names, stacks) = (Names::default(), Stacks::default());
    let mut writer =
        PerfettoWriter::new(Vec::new(), WrittenTrace::whole(&names, &stacks, registry.tables()), 0).expect("to memory");
    for (row, (key, _)) in (0..).zip(&tracks) {
        let kind = if key.kind == TrackKind::Counter { EventKind::Counter } else { EventKind::Instant };
        let event = Event::new(i64::from(row), kind, TrackIdx(row), NameIdx::EMPTY);
        let written =
            if kind == EventKind::Counter { writer.counter(&event) } else { writer.instant(&event, b"", &[]) };
        written.expect("to memory");
    }
    let reading = read_bytes(&writer.finish().expect("to memory")).expect("a capture");
    let names = ordered_names(&reading);
    let names = |of_none: bool| {
        let of = names.iter().filter(move |(_, name)| name.starts_with("of none") == of_none);
        of.map(|(_, name)| name.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(names(false), ["first", "unordered", "last"]);
    assert_eq!(names(true), ["of none, first", "of none, second"]);
}

#[test]
fn a_cycle_of_ordered_parents_ends() {
    let reading = read([below(2, 3, "x", 3, 1), below(3, 2, "y", 3, 1), event(1, 1, 2, "a")]);
    assert_eq!(ordered_names(&reading).len(), 1);
}

/// A track of the property below. Its uuid is its position and [`FIRST_UUID`].
#[derive(Debug, Clone)]
struct AnyTrack {
    /// A parent before it, if there is one at this distance.
    distance: usize,
    order: u64,
    rank: u64,
    letter: char,
}

const FIRST_UUID: u64 = 10;

fn any_track() -> impl proptest::strategy::Strategy<Value = AnyTrack> {
    use proptest::strategy::Strategy as _;
    let fields = (1..9usize, 0..4u64, 0..3u64, proptest::char::range('a', 'c'));
    fields.prop_map(|(distance, order, rank, letter)| AnyTrack { distance, order, rank, letter })
}

/// Returns the tracks below the process from the outermost to this one, each with the child order of its parent.
fn lineage(tracks: &[AnyTrack], row: usize) -> Vec<(usize, u64)> {
    let Some(parent) = row.checked_sub(tracks[row].distance) else { return vec![(row, 3)] };
    let mut rows = lineage(tracks, parent);
    rows.push((row, tracks[parent].order));
    rows
}

proptest::proptest! {
    #[test]
    fn tracks_are_sorted_as_by_their_whole_paths(
        tracks in proptest::collection::vec(any_track(), 1..14),
        used in proptest::collection::vec(0..14usize, 1..14),
    ) {
        let mut used: Vec<usize> = used.into_iter().filter(|&row| row < tracks.len()).collect();
        let mut seen = std::collections::BTreeSet::new();
        used.retain(|&row| seen.insert(row));
        let mut packets = vec![process(1, 50, "app"), orders(1, 3)];
        let uuid = |row: usize| FIRST_UUID + row as u64;
        for (row, track) in tracks.iter().enumerate() {
            let parent = row.checked_sub(track.distance).map_or(1, uuid);
            packets.push(below(uuid(row), parent, &format!("{}{row}", track.letter), track.order, track.rank));
        }
        packets.extend(used.iter().zip(1..).map(|(&row, ts_ns)| event(ts_ns, 1, uuid(row), "a")));
        let appeared = |row| used.iter().position(|&one| lineage(&tracks, one).iter().any(|&(above, _)| above == row));
        let path = |row| {
            let steps = lineage(&tracks, row).into_iter().map(|(row, order)| {
                let rank = if order == 3 { tracks[row].rank } else { 0 };
                let name = if order == 1 { format!("{}{row}", tracks[row].letter) } else { String::new() };
                (rank, name, appeared(row))
            });
            steps.collect::<Vec<_>>()
        };
        let mut expected = used.clone();
        expected.sort_by_key(|&row| path(row));
        let reading = read(packets);
        let row = |name: &str| name.rsplit(" / ").next().and_then(|last| last[1..].parse::<usize>().ok());
        let sorted: Vec<_> = ordered_names(&reading).iter().filter_map(|(_, name)| row(name)).collect();
        proptest::prop_assert_eq!(sorted, expected);
    }
}

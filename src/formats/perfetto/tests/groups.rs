//! Tests of the groups of nested tracks, of GPUs and of connections: as read, as shown, and as written.

use super::encode::{Message, bundle, capture, child, event, kernel_event, message, packet, process, thread};
use super::*;
use crate::formats::perfetto::write::{PerfettoWriter, WrittenTrace};
use crate::model::args::Detail;
use crate::model::{Event, GroupPath, Id, Metadata, NameIdx, Names, Registry, Stacks, TrackIdx, TrackKey, TrackKind};
use crate::query::Snapshot;
use crate::scene::arrange::{self, Arrangement, TrackOrder};
use crate::scene::rows::{GroupKind, RowHeights, TrackRows};
use crate::scene::tests::{outline, snapshot_of_bytes};

const BEGIN: u64 = 1;
const END: u64 = 2;

// Values of `child_ordering`.
const BY_NAME: u64 = 1;
const BY_APPEARANCE: u64 = 2;
const BY_RANK: u64 = 3;

/// Returns a span of one nanosecond.
pub(super) fn span(ts_ns: u64, uuid: u64) -> [Message; 2] {
    [event(ts_ns, BEGIN, uuid, "e"), event(ts_ns + 1, END, uuid, "")]
}

/// Returns the descriptor of a child counter.
pub(super) fn counter(uuid: u64, parent: u64, name: &str) -> Message {
    let track = message().number(1, uuid).number(5, parent).bytes(2, name).message(8, message());
    message().number(10, 1).message(60, track)
}

/// Returns a value of a counter.
pub(super) fn value(ts_ns: u64, uuid: u64) -> Message {
    packet(ts_ns).message(11, message().number(9, 4).number(11, uuid).number(30, 2))
}

/// Returns a packet that only sets the child ordering of a track.
fn orders(uuid: u64, order: u64) -> Message {
    message().number(10, 1).message(60, message().number(1, uuid).number(11, order))
}

/// Returns a packet that only sets the rank of a track.
fn rank(uuid: u64, rank: i64) -> Message {
    message().number(10, 1).message(60, message().number(1, uuid).number(12, rank.cast_unsigned()))
}

/// Returns the process, name and group of each track in a group, sorted.
fn groups_read(reading: &Reading) -> Vec<(String, String, String)> {
    let of = |said: &Metadata| match said {
        Metadata::TrackGroup { key, group } => {
            let levels: Vec<_> = GroupPath::new(group).names().collect();
            Some((key.pid.to_string(), key.name.to_string(), levels.join(" > ")))
        }
        _ => None,
    };
    let mut groups: Vec<_> = reading.metadata.iter().filter_map(of).collect();
    groups.sort();
    groups
}

pub(super) fn shown_trace(packets: impl IntoIterator<Item = Message>) -> Snapshot {
    snapshot_of_bytes(&capture(packets))
}

fn names(snapshot: &Snapshot) -> Vec<&str> {
    snapshot.display_order().iter().map(|&track| &*snapshot.track(track).name).collect()
}

/// Returns a GPU with queues and a counter, a socket and a loader: the GPU's own span comes last.
fn devices() -> Vec<Message> {
    let described = [
        process(1, 50, "app"),
        child(10, 1, "GPU"),
        child(11, 10, "Queue 1"),
        child(12, 11, "Slot"),
        counter(13, 11, "Depth"),
        child(20, 1, "Loader"),
        child(30, 1, "Net"),
        child(31, 30, "Socket"),
    ];
    let spans = [span(1, 31), span(3, 12), span(5, 20), span(7, 11), span(20, 10)].concat();
    described.into_iter().chain(spans).chain([value(9, 13)]).collect()
}

#[test]
fn tracks_below_a_parent_stand_together_under_its_name_with_its_own_events_first() {
    let snapshot = shown_trace(devices());
    // A socket alone in its group has no header.
    let expected = ["Net / Socket", "GPU", "GPU / Queue 1", "GPU / Queue 1 / Slot", "Depth", "Loader"];
    assert_eq!(names(&snapshot), expected);
    let below = ["Net / Socket", "GPU:", "  GPU", "  Queue 1:", "    Queue 1", "    Slot", "    Depth", "Loader"];
    assert_eq!(outline(&snapshot), below);
    let group = snapshot.groups()[0];
    assert_eq!((group.kind, group.is_named, group.starts_folded()), (None, true, false));
}

#[test]
fn a_group_is_found_by_its_name_stays_together_in_every_order_and_folds() {
    let snapshot = shown_trace(devices());
    let filtered = |filter: &str| {
        let arrangement = Arrangement { filter: filter.to_owned(), ..Arrangement::default() };
        let rows = arrange::tracks(&snapshot, &arrangement, None);
        rows.iter().map(|rows| &*snapshot.track(rows.track).name).collect::<Vec<_>>()
    };
    assert_eq!(filtered("gpu"), ["GPU", "GPU / Queue 1", "GPU / Queue 1 / Slot", "Depth"]);
    assert_eq!(filtered("gpu depth"), ["Depth"]);
    assert_eq!(filtered("net"), ["Net / Socket"]);
    for order in TrackOrder::ALL {
        let tracks = arrange::tracks(&snapshot, &Arrangement { order, ..Arrangement::default() }, Some(&[]));
        for group in snapshot.groups() {
            let is_in = |rows: &TrackRows| snapshot.is_in_group(rows.track, group.id);
            let runs = tracks.chunk_by(|one, next| is_in(one) == is_in(next)).filter(|run| is_in(&run[0]));
            assert_eq!(runs.map(<[_]>::len).collect::<Vec<_>>(), [group.tracks as usize], "{order:?}");
        }
    }
    let mut arrangement = Arrangement::default();
    let lead = snapshot.groups()[0].id;
    let members = snapshot.display_order()[1..5].to_vec();
    for folded in [false, true] {
        let layout = arrange::layout(&snapshot, &arrangement, None, &RowHeights::at_scale(1.0));
        let head = GroupKind::Tracks(lead);
        assert_eq!((layout.is_folded(head), layout.shown_tracks(lead)), (folded, Some(4)));
        assert_eq!(layout.tracks_of(head), members);
        let shown = members.iter().filter(|&&track| layout.group_of(GroupKind::Track(track)).is_some()).count();
        assert_eq!(shown, if folded { 0 } else { 4 });
        assert!(members.iter().all(|&track| layout.is_in_group(track)));
        arrangement.folded.toggled_groups.insert(lead);
    }
}

#[test]
fn siblings_in_a_group_are_in_the_order_of_their_parent() {
    // In each process: a parent whose children appear as z, a, m, then its counter.
    let of_process = |number: u64, order: u64| {
        let uuid = |index: u64| number * 100 + index;
        let described = [
            process(uuid(0), number, "app"),
            child(uuid(1), uuid(0), "P"),
            orders(uuid(1), order),
            child(uuid(2), uuid(1), "z"),
            child(uuid(3), uuid(1), "a"),
            child(uuid(4), uuid(1), "m"),
            counter(uuid(5), uuid(1), "b"),
            rank(uuid(2), 7),
            rank(uuid(3), -1),
            rank(uuid(4), 8),
        ];
        let spans = [span(1, uuid(2)), span(3, uuid(3)), span(5, uuid(4)), span(9, uuid(1))].concat();
        described.into_iter().chain(spans).chain([value(7, uuid(5))])
    };
    let orders = [(50, BY_RANK), (51, BY_NAME), (52, BY_APPEARANCE)];
    let snapshot = shown_trace(orders.into_iter().flat_map(|(pid, order)| of_process(pid, order)));
    let expected = [
        ["P", "P / a", "b", "P / z", "P / m"],
        ["P", "P / a", "b", "P / m", "P / z"],
        ["P", "P / z", "P / a", "P / m", "b"],
    ];
    assert_eq!(names(&snapshot), expected.concat());
    // Groups with the same name in several processes are several groups.
    assert_eq!(snapshot.groups().iter().map(|group| group.tracks).collect::<Vec<_>>(), [5, 5, 5]);
}

#[test]
fn tracks_of_an_inner_parent_stand_together_in_order_of_appearance() {
    let described = [
        process(1, 50, "app"),
        child(10, 1, "GPU"),
        child(11, 10, "Q1"),
        child(12, 10, "Q2"),
        child(21, 11, "A"),
        child(22, 12, "B"),
        child(23, 11, "C"),
        counter(24, 11, "Depth"),
    ];
    let before = [span(1, 21), span(3, 22)].concat().into_iter().chain([value(5, 24)]);
    let snapshot = shown_trace(described.into_iter().chain(before).chain([span(6, 23), span(8, 11)].concat()));
    assert_eq!(names(&snapshot), ["GPU / Q1", "GPU / Q1 / A", "Depth", "GPU / Q1 / C", "GPU / Q2 / B"]);
}

#[test]
fn the_track_that_identifies_a_group_stays_while_an_import_adds_rows() {
    let snapshot = shown_trace(devices());
    let tables = snapshot.tracks();
    let is_of_gpu = |track: TrackIdx| tables.group(track).is_some_and(|path| path.outermost(1).as_str() == "GPU");
    let first = (0..).map(TrackIdx).zip(&tables.tracks).find(|&(track, _)| is_of_gpu(track));
    let (lead, slot) = first.expect("a track of the group");
    // The rows of its spans are another track.
    assert_eq!(&*slot.name, "GPU / Queue 1 / Slot");
    assert!(!snapshot.display_order().contains(&lead));
    // It leads the inner group too.
    assert_eq!(snapshot.groups().iter().map(|group| group.id.lead).collect::<Vec<_>>(), [lead, lead]);
    assert_eq!(snapshot.groups_of(lead).collect::<Vec<_>>(), [snapshot.groups()[1], snapshot.groups()[0]]);
    assert_eq!(
        snapshot.groups().iter().map(|group| snapshot.group(group.id)).collect::<Vec<_>>(),
        [Some(snapshot.groups()[0]), Some(snapshot.groups()[1])]
    );
}

#[test]
fn tracks_without_names_share_rows_and_so_are_in_no_group() {
    let described =
        [process(1, 50, "app"), child(10, 1, "GPU"), child(11, 10, ""), child(20, 1, "Net"), child(21, 20, "")];
    let reading = read(described.into_iter().chain([span(1, 11), span(3, 21)].concat()));
    assert_eq!(reading.events.len(), 4);
    let unnamed = |(_, name, _): &(String, String, String)| name.is_empty();
    assert!(!groups_read(&reading).iter().any(unnamed));
}

#[test]
fn groups_of_one_name_on_two_threads_are_two() {
    let of_thread = |number: u64| {
        let uuid = |index: u64| number * 100 + index;
        let described = [
            thread(uuid(0), 50, number, "worker"),
            child(uuid(1), uuid(0), "P"),
            child(uuid(2), uuid(1), "a"),
            child(uuid(3), uuid(1), "b"),
        ];
        described.into_iter().chain([span(1, uuid(0)), span(2, uuid(2)), span(4, uuid(3))].concat())
    };
    let snapshot = shown_trace([60, 61].into_iter().flat_map(of_thread));
    let groups: Vec<_> = outline(&snapshot).into_iter().filter(|line| line != "worker").collect();
    assert_eq!(groups, ["P:", "  a", "  b", "P:", "  a", "  b"]);
}

#[test]
fn overlapping_tracks_of_one_name_are_rows_of_their_group() {
    let snapshot = shown_trace([
        process(1, 50, "app"),
        child(10, 1, "GPU"),
        child(11, 10, "Queue"),
        child(12, 10, "Queue"),
        child(13, 10, "Other"),
        event(1, BEGIN, 11, "a"),
        event(2, BEGIN, 12, "b"),
        event(3, BEGIN, 13, "c"),
        event(4, END, 12, ""),
        event(5, END, 11, ""),
        event(6, END, 13, ""),
    ]);
    assert_eq!(names(&snapshot), ["GPU / Queue", "GPU / Queue", "GPU / Other"]);
    assert_eq!(outline(&snapshot), ["GPU:", "  Queue", "  Queue", "  Other"]);
    // Rows of one track have no other member beside them, so they have no header.
    let alone = shown_trace([
        process(1, 50, "app"),
        child(10, 1, "GPU"),
        child(11, 10, "Queue"),
        child(12, 10, "Queue"),
        event(1, BEGIN, 11, "a"),
        event(2, BEGIN, 12, "b"),
        event(4, END, 12, ""),
        event(5, END, 11, ""),
    ]);
    assert_eq!((names(&alone), alone.groups().len()), (vec!["GPU / Queue"; 2], 0));
}

#[test]
fn a_thousand_groups_are_a_thousand_headers() {
    let of_group = |number: u64| {
        let uuid = |index: u64| 1000 + number * 10 + index;
        [child(uuid(0), 1, &format!("P{number}")), child(uuid(1), uuid(0), "a"), counter(uuid(2), uuid(0), "c")]
    };
    let spans = (0..1000).flat_map(|number| span(number * 3, 1001 + number * 10));
    let values = (0..1000).map(|number| value(number * 3, 1002 + number * 10));
    let described = (0..1000).flat_map(of_group);
    let snapshot = shown_trace([process(1, 50, "app")].into_iter().chain(described).chain(spans).chain(values));
    assert_eq!(snapshot.groups().len(), 1000);
    let expected: Vec<_> = (0..1000).flat_map(|number| [format!("P{number} / a"), "c".to_owned()]).collect();
    assert_eq!(names(&snapshot), expected);
}

#[test]
fn chains_cycles_and_missing_parents_end() {
    let owned = |name: &str, group: &str| ("50".to_owned(), name.to_owned(), group.to_owned());
    // A deep chain has its outermost parents as groups; the name of a track has only the last of them.
    let chain = (10..40).map(|uuid| child(uuid, if uuid == 10 { 1 } else { uuid - 1 }, &format!("n{uuid}")));
    let reading = read([process(1, 50, "app")].into_iter().chain(chain).chain([event(1, BEGIN, 39, "a")]));
    let last: Vec<_> = (31..40).map(|uuid| format!("n{uuid}")).collect();
    let outer: Vec<_> = (10..18).map(|uuid| format!("n{uuid}")).collect();
    assert_eq!(groups_read(&reading), [owned(&last.join(" / "), &outer.join(" > "))]);
    let cycle = [child(2, 3, "x"), child(3, 2, "y"), child(4, 3, "z")];
    let reading = read(cycle.into_iter().chain([event(1, BEGIN, 2, "a"), event(2, BEGIN, 4, "a")]));
    assert_eq!(groups_read(&reading), []);
    // Without its parent, a track is outermost.
    let missing = [child(2, 99, "x"), child(3, 2, "y"), event(1, BEGIN, 2, "a"), event(2, BEGIN, 3, "a")];
    let group = |name: &str| (String::new(), name.to_owned(), "x".to_owned());
    assert_eq!(groups_read(&read(missing)), [group("x"), group("x / y")]);
    // A parent without a name groups nothing, and the root track is not a parent.
    let unnamed = [orders(0, BY_NAME), child(2, 0, ""), child(3, 2, "x"), child(4, 2, "y")];
    let reading = read(unnamed.into_iter().chain([event(1, BEGIN, 3, "a"), event(2, BEGIN, 4, "a")]));
    assert_eq!(groups_read(&reading), []);
}

#[test]
fn tracks_of_gpus_and_connections_are_groups_without_a_process() {
    let stage = |ts_ns, queue: u64| packet(ts_ns).message(53, message().number(2, 5).number(3, queue));
    let spec = message().message(1, message().number(1, 1).bytes(2, "Busy"));
    let sample = packet(12).message(52, message().message(2, message().number(1, 1).number(3, 5)));
    let clock = packet(13).message(129, message().number(1, 1).number(2, 700));
    let connection = |address: u64| message().number(4, 2).number(6, 6).number(8, address);
    let reading = read([
        message().number(10, 1).message(52, message().message(1, spec)),
        stage(10, 3),
        stage(11, 4),
        sample,
        clock,
        bundle([14, 15].map(|ts_ns| kernel_event(ts_ns, 7, 362, connection(ts_ns)))),
    ]);
    let group = |name: &str, group: &str| (String::new(), name.to_owned(), group.to_owned());
    let mut expected: Vec<_> =
        ["Busy", "GPU 1 frequency", "GPU queue 3", "GPU queue 4"].map(|name| group(name, "GPU")).to_vec();
    expected.extend(["TCP stream#1", "TCP stream#2"].map(|name| group(name, "TCP connections")));
    assert_eq!((groups_read(&reading), reading.lost()), (expected, vec![]));
}

/// Writes an event on each of these tracks in groups, and returns what is read back.
fn written_and_read(tracks: &[(TrackKey, Option<&str>, i64)]) -> Reading {
    let mut registry = Registry::default();
    for (key, group, sort_index) in tracks {
        registry.track(key);
        registry.apply(&Metadata::TrackSortIndex { key: key.clone(), sort_index: *sort_index });
        if let Some(group) = *group {
            registry.apply(&Metadata::TrackGroup { key: key.clone(), group: GroupPath::text(group.split(" > ")) });
        }
    }
    let (names, stacks) = (Names::default(), Stacks::default());
    let trace = WrittenTrace::whole(&names, &stacks, registry.tables());
    let mut writer = PerfettoWriter::new(Vec::new(), trace, 0).expect("to memory");
    for (row, (key, ..)) in (0..).zip(tracks) {
        let kind = if key.kind == TrackKind::Counter { EventKind::Counter } else { EventKind::Complete };
        let event: Event = Event::new(i64::from(row), kind, TrackIdx(row), NameIdx::EMPTY);
        let written = match kind {
            EventKind::Counter => writer.counter(&event),
            // The second row has a span that overlaps.
            _ => (0..2).try_for_each(|overlap| writer.begin(&event, overlap, &Detail::default(), &[])),
        };
        written.expect("to memory");
    }
    read_bytes(&writer.finish().expect("to memory")).expect("a trace")
}

#[test]
fn groups_are_read_back_as_written() {
    let key = |kind, pid: i64, name: &str| {
        let slot = if kind == TrackKind::Async { TrackKey::SLOT_SIBLING } else { 0 };
        TrackKey { kind, pid: Id::Number(pid), tid: Id::None, name: name.into(), slot }
    };
    let tracks = [
        (key(TrackKind::Async, 50, "GPU / Queue / Slot"), Some("GPU"), 3),
        (key(TrackKind::Counter, 50, "Depth"), Some("GPU"), 4),
        (key(TrackKind::Async, 50, "GPU"), Some("GPU"), 2),
        (key(TrackKind::Counter, 50, "GPU / Memory"), Some("GPU"), 5),
        (key(TrackKind::Async, 50, "Loader / a"), None, 1),
        (key(TrackKind::Async, 51, "GPU / Other"), Some("GPU"), 0),
        (key(TrackKind::Async, 52, "GPU / Queue 1 / Slot"), Some("GPU > Queue 1"), 4),
        (key(TrackKind::Counter, 52, "Depth"), Some("GPU > Queue 1"), 5),
        (key(TrackKind::Async, 52, "GPU / Queue 1"), Some("GPU > Queue 1"), 3),
        (TrackKey { slot: 1, ..key(TrackKind::Counter, 52, "Depth") }, Some("GPU > Queue 2"), 6),
        (key(TrackKind::Async, 52, "GPU / Queue 2 / a / b / c"), Some("GPU > Queue 2 > a > b"), 7),
        (key(TrackKind::Async, 53, "a / b / c"), Some("a / b"), 0),
    ];
    let reading = written_and_read(&tracks);
    let mut read: Vec<_> = reading.events.iter().map(|event| event.track.name.to_string()).collect();
    read.dedup();
    assert_eq!(read, tracks.each_ref().map(|(key, ..)| key.name.to_string()));
    let mut groups = groups_read(&reading);
    groups.dedup();
    let mut expected: Vec<_> = tracks
        .iter()
        .filter_map(|(key, group, _)| Some((key.pid.to_string(), key.name.to_string(), (*group)?.to_owned())))
        .collect();
    expected.sort();
    assert_eq!(groups, expected);
}

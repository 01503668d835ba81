//! Tests of the levels of groups: as shown, folded, sorted and summed up, and as written and read back.

use super::encode::{Message, child, process};
use super::groups::{counter, shown_trace, span, value};
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::export::{ExportFormat, ExportOptions, export};
use crate::model::Sources;
use crate::query::track_groups::GroupId;
use crate::query::{Buckets, Cell, Snapshot};
use crate::scene::arrange::{self, Arrangement, TrackOrder};
use crate::scene::rows::{GroupKind, RowHeights, RowLayout};
use crate::scene::tests::{outline, outline_of, snapshot_of_bytes};
use crate::scene::titles::group_path_title;
use crate::store::{LaneIdx, LaneKind, RowIdx};
use crate::tiles::summaries::TrackSummaries;
use crate::tiles::{TileOwner, TileSource};

/// Two queues of a GPU, each with spans, a slot and counters with the same name, and a counter of the GPU.
fn queues() -> Vec<Message> {
    let of_queue = |number: u64| {
        let uuid = |index: u64| number * 10 + index;
        let described = [
            child(uuid(0), 2, &format!("Queue {number}")),
            child(uuid(1), uuid(0), "Slot"),
            counter(uuid(2), uuid(0), "Depth"),
        ];
        let spans = [span(number * 10, uuid(1)), span(number * 10 + 3, uuid(0))].concat();
        described.into_iter().chain(spans).chain([value(number * 10 + 5, uuid(2))])
    };
    let described = [process(1, 50, "app"), child(2, 1, "GPU"), counter(3, 2, "Power"), child(4, 1, "Loader")];
    let lone = [child(80, 2, "Queue 8"), counter(81, 80, "Depth"), value(95, 81)];
    let after = [value(90, 3)].into_iter().chain(lone).chain(span(91, 4));
    described.into_iter().chain((1..=2).flat_map(of_queue)).chain(after).collect()
}

#[test]
fn each_parent_is_a_header_below_that_of_its_parent_and_folds_with_all_within() {
    let snapshot = shown_trace(queues());
    let [head, q1, q2, rest] = [
        &["GPU:"][..],
        &["  Queue 1:", "    Queue 1", "    Slot", "    Depth"],
        &["  Queue 2:", "    Queue 2", "    Slot", "    Depth"],
        // A counter alone below its parent has the name of that.
        &["  Power", "  Queue 8 / Depth", "Loader"],
    ];
    assert_eq!(outline(&snapshot), [head, q1, q2, rest].concat());
    let groups: Vec<_> = snapshot.groups().iter().map(|group| (group.id, group.tracks)).collect();
    let [(gpu, 8), (queue_1, 3), (queue_2, 3)] = groups[..] else { panic!("{groups:?}") };
    // They are not of one kind, and not so many that they start folded.
    let mut arrangement = Arrangement::default();
    arrangement.folded.toggled_groups.insert(queue_1);
    assert_eq!(outline_of(&snapshot, &arrangement), [head, &q1[..1], q2, rest].concat());
    let layout = |arrangement: &Arrangement| arrange::layout(&snapshot, arrangement, None, &RowHeights::at_scale(1.0));
    assert_eq!([gpu, queue_1, queue_2].map(|group| layout(&arrangement).shown_tracks(group)), [8, 3, 3].map(Some));
    arrangement.folded.toggled_groups.insert(gpu);
    assert_eq!(outline_of(&snapshot, &arrangement), ["GPU:", "Loader"]);
    // The inner group is still folded once the outer one is not.
    let mut rows = layout(&arrangement);
    rows.set_folded(GroupKind::Tracks(gpu), false);
    assert_eq!(rows.group_of(GroupKind::Tracks(queue_1)).map(|head| head.folded_lanes), Some(3));
    arrangement.folded.toggled_groups.remove(&gpu);
    assert_eq!(rows, layout(&arrangement));
    let members = |rows: &RowLayout, group| rows.tracks_of(GroupKind::Tracks(group)).len();
    assert_eq!([gpu, queue_1].map(|group| members(&rows, group)), [8, 3]);
    // The filter finds the tracks of an inner parent, below both headers.
    for filter in ["2 depth", "queue 2 / depth"] {
        let filtered = Arrangement { filter: filter.to_owned(), ..Arrangement::default() };
        assert_eq!(outline_of(&snapshot, &filtered), ["GPU:", "  Queue 2:", "    Depth"], "{filter}");
    }
}

#[test]
fn every_order_keeps_the_tracks_of_each_parent_together() {
    let snapshot = shown_trace(queues());
    let by = |order| outline_of(&snapshot, &Arrangement { order, ..Arrangement::default() });
    let by_name = [
        "GPU:",
        "  Power",
        "  Queue 1:",
        "    Queue 1",
        "    Depth",
        "    Slot",
        "  Queue 2:",
        "    Queue 2",
        "    Depth",
        "    Slot",
        "  Queue 8 / Depth",
        "Loader",
    ];
    assert_eq!(by(TrackOrder::Name), by_name);
    let by_first = [
        "GPU:",
        "  Queue 1:",
        "    Slot",
        "    Queue 1",
        "    Depth",
        "  Queue 2:",
        "    Slot",
        "    Queue 2",
        "    Depth",
        "  Power",
        "  Queue 8 / Depth",
        "Loader",
    ];
    assert_eq!(by(TrackOrder::FirstEvent), by_first);
    for order in TrackOrder::ALL {
        let mut lines = by(order);
        assert_eq!(lines.iter().filter(|line| line.ends_with(':')).count(), 3, "each header once: {lines:?}");
        lines.sort();
        let mut expected = outline(&snapshot);
        expected.sort();
        assert_eq!(lines, expected, "{order:?}");
    }
}

#[test]
fn levels_are_written_and_read_back_with_the_same_headers() {
    let snapshot = shown_trace(queues());
    let folder = tempfile::tempdir().expect("a folder");
    let formats =
        [ExportFormat::Perfetto, ExportFormat::Native { compact: true }, ExportFormat::Native { compact: false }];
    for format in formats {
        let path = folder.path().join("exported");
        let (sources, options) = (Sources::default(), ExportOptions::whole(format));
        let (cancel, progress) = (Cancel::default(), Progress::default());
        export(&snapshot, &sources, &path, &options, &cancel, &progress).expect("written");
        let back = snapshot_of_bytes(&std::fs::read(&path).expect("read"));
        assert_eq!(outline(&back), outline(&snapshot), "{format:?}");
    }
}

/// Returns the longest span of a group by a walk over all tracks.
fn longest_of(snapshot: &Snapshot, group: GroupId) -> Option<u64> {
    let tracks = snapshot.display_order().iter().filter(|&&track| snapshot.is_in_group(track, group));
    let lanes = tracks.flat_map(|&track| snapshot.lanes_of(track).map(LaneIdx));
    let spans = lanes.filter(|&lane| snapshot.lane(lane).kind == LaneKind::Spans);
    let rows = spans.flat_map(|lane| (0..snapshot.lane(lane).rows).map(move |row| RowIdx { lane, row }));
    rows.map(|row| snapshot.row(row).dur_ns).max()
}

#[test]
fn a_folded_group_shows_the_longest_span_of_its_inner_groups_too() {
    let longer = |ts_ns: u64, uuid: u64, dur_ns: u64| {
        [super::encode::event(ts_ns, 1, uuid, "long"), super::encode::event(ts_ns + dur_ns, 2, uuid, "")]
    };
    let spans = [longer(200, 11, 50), longer(300, 20, 90)].concat();
    let snapshot = shown_trace(queues().into_iter().chain(spans));
    let buckets = Buckets { first: 0, count: 500, width_log2: 0 };
    let summaries = TrackSummaries::from_snapshot(&snapshot, buckets, &Cancel::default()).expect("not cancelled");
    let longest = |group: GroupId| {
        let mut cells = Vec::new();
        let owner = TileOwner::Tracks(group);
        summaries.longest(owner, buckets, &mut cells);
        for cell in &cells {
            let track = summaries.track_of(owner, cell.row).expect("a track");
            assert!(snapshot.is_in_group(track, group));
        }
        cells.iter().map(Cell::dur_ns).max()
    };
    let found: Vec<_> = snapshot.groups().iter().map(|group| longest(group.id)).collect();
    assert_eq!(found, [Some(90), Some(50), Some(90)]);
    assert_eq!(found, snapshot.groups().iter().map(|group| longest_of(&snapshot, group.id)).collect::<Vec<_>>());
    let titles: Vec<_> = snapshot.groups().iter().map(|group| group_path_title(&snapshot, group)).collect();
    assert_eq!(titles, ["GPU", "GPU / Queue 1", "GPU / Queue 2"]);
}

//! Tests of what an answer reads from the disk, and of damage.

use std::fs::File;
use std::sync::Arc;

use super::*;
use crate::base::files::damage_at;
use crate::base::mapped::Mapped;
use crate::model::{Id, Registry, TrackIdx, TrackKey};
use crate::store::extent::ExtentRecord;
use crate::store::format::{Section, Trailer};
use crate::store::{LaneKind, Meta, Row, Store, StoreWriter};

const LANE: LaneIdx = LaneIdx(0);

/// Returns spans of many durations, with gaps.
fn rows(count: u64) -> Vec<Row> {
    let row = |index: u64| Row { start_ns: (index * 100) as i64, value: index * 7919 % 97, detail: 0, name: 0 };
    (0..count).map(row).collect()
}

/// Writes a store of one lane.
fn store_of(rows: &[Row]) -> File {
    let mut registry = Registry::default();
    registry.track(&TrackKey::thread(Id::None, Id::None));
    let file = tempfile::tempfile().unwrap();
    let mut writer = StoreWriter::new(file.try_clone().unwrap(), 1 << 24).unwrap();
    let lane = writer.add_lane(TrackIdx(0), LaneKind::Spans, 0).unwrap();
    rows.iter().for_each(|row| writer.push(lane, *row).unwrap());
    writer.finish(&Meta { tracks: registry.tables().clone(), ..Meta::default() }).unwrap();
    file
}

#[test]
fn the_forest_answers_for_a_damaged_part_of_the_pyramid() {
    let file = store_of(&rows(40_000));
    let open = || Snapshot::new(Arc::new(Store::from_file(&file, "test".as_ref()).unwrap()));
    let answers = |snapshot: &Snapshot| {
        let width_log2 = (0..63).find(|&width_log2| snapshot.store().lane(LANE).overview(width_log2, 0..0).is_some());
        let buckets = Buckets { first: 0, count: 4000, width_log2: width_log2.unwrap() };
        let (mut cells, mut starts) = (Vec::new(), Vec::new());
        let count = longest(snapshot, LANE, buckets, &mut cells);
        super::starts(snapshot, LANE, buckets, &mut starts);
        (cells, starts, count.blocks > 0, snapshot.store().damaged())
    };
    let (cells, starts, reads_blocks, damaged) = answers(&open());
    assert!(!reads_blocks && damaged == 0);
    // The section of the pyramids starts after the rows.
    let trailer = Trailer::from_file(&Mapped::from_store(&file, "test".as_ref()).unwrap()).unwrap();
    damage_at(&file, trailer.sections[Section::Overview as usize].offset + 100);
    assert_eq!(answers(&open()), (cells, starts, true, 1));
}

#[test]
fn the_extents_of_an_answer_are_requested_from_the_disk_together() {
    let rows = rows(100_000);
    let file = store_of(&rows);
    // A row starts every 100 ns, and the pyramid has buckets of 2^12 ns.
    for (first_row, count, width_log2) in [(20_000_u64, 1000_u32, 11), (0, 256, 11), (70_000, 256, 11), (50_000, 8, 7)]
    {
        let snapshot = Snapshot::new(Arc::new(Store::from_file(&file, "test".as_ref()).unwrap()));
        let (store, opened_bytes) = (snapshot.store(), snapshot.store().fetched_bytes());
        let buckets = Buckets { first: (first_row as i64 * 100) >> width_log2, count, width_log2 };
        let (start_ns, end_ns) = (buckets.start_ns(buckets.first), buckets.start_ns(buckets.end()));
        let before = rows.iter().rposition(|row| row.start_ns < start_ns).unwrap_or(0);
        let end = rows.iter().position(|row| row.start_ns >= end_ns).unwrap_or(rows.len());
        let holds_some = |extent: &&ExtentRecord| {
            let (first, rows) = (extent.first_row as usize, extent.rows as usize);
            first < end && first + rows > before
        };
        let read: u64 =
            store.lane(LANE).extents().iter().filter(holds_some).map(|extent| u64::from(extent.bytes)).sum();
        let mut cells = (Vec::new(), Vec::new());
        longest(&snapshot, LANE, buckets, &mut cells.0);
        assert_eq!(store.fetched_bytes() - opened_bytes, read, "from row {first_row}");
        assert_eq!(store.fetched_bytes_at_first_check(), Some(opened_bytes + read), "from row {first_row}");
        longest_from_forest(&snapshot, LANE, buckets, &mut cells.1);
        assert_eq!(cells.0, cells.1);
        assert_eq!(store.fetched_bytes() - opened_bytes, read, "nothing twice");
    }
}

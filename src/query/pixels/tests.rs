//! Tests of what an answer reads from the disk, and of damage.

use std::fs::File;
use std::sync::Arc;

use super::*;
use crate::base::files::damage_at;
use crate::base::mapped::Mapped;
use crate::model::{Id, Registry, TrackIdx, TrackKey};
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

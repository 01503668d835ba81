//! The bytes that a store fetches from the disk, and the parts of a pyramid that are damaged.

use super::*;
use crate::base::files::damage_at;
use crate::model::{Id, Registry, TrackKey};
use crate::store::overview::OverviewShape;
use crate::store::parted_section::PART_BYTES;
use crate::store::{Row, StoreWriter};

/// Writes 200,000 spans of a lane, whose durations depend on their number, and arguments of 5,000 bytes.
fn store_of_spans(dur_ns: impl Fn(u64) -> u64) -> (File, DetailRef) {
    let mut registry = Registry::default();
    let track = registry.track(&TrackKey::thread(Id::Number(1), Id::Number(1))).unwrap();
    let file = tempfile::tempfile().unwrap();
    let mut writer = StoreWriter::new(file.try_clone().unwrap(), 1 << 24).unwrap();
    let lane = writer.add_lane(track, LaneKind::Spans, 0).unwrap();
    for number in 0..200_000_u64 {
        let row = Row { start_ns: number as i64 * 8000, value: dur_ns(number), detail: 0, name: 0 };
        writer.push(lane, row).unwrap();
    }
    let detail = writer.push_detail(&[7; 5000]).unwrap();
    writer.finish(&Meta { tracks: registry.tables().clone(), ..Meta::default() }).unwrap();
    (file, detail)
}

#[test]
fn only_the_tables_and_the_parts_that_are_read_are_fetched_from_the_disk() {
    let (file, detail) = store_of_spans(|number| number % 7919);
    let store = Store::from_file(&file, "test".as_ref()).unwrap();
    let trailer = Trailer::from_file(&Mapped::from_store(&file, "test".as_ref()).unwrap()).unwrap();
    let sections: u64 = trailer.sections.iter().map(|section| section.bytes).sum();
    let pyramids = store.tables.overview.data().len() as u64;
    assert!(pyramids * 20 > sections * 19, "{pyramids} of {sections} bytes");
    let signatures = store.tables.signature_parts.as_ref().unwrap().data().len() as u64;
    let mut fetched = sections - pyramids - signatures + (size_of::<Trailer>() + 8) as u64;
    assert_eq!(store.tables.map.fetched(), fetched);
    let lane = store.lane(LaneIdx(0));
    // Of the pyramid, only the parts of the buckets in view are read: 1,024 buckets each.
    let OverviewShape { first, width_log2, count } = lane.record.overview;
    assert!(count > 3000);
    for (buckets, parts) in [(0..1000, 1), (900..1000, 0), (1000..1100, 1), (2 << 10..3000, 1)] {
        fetched += parts * PART_BYTES as u64;
        let level = lane.overview(width_log2, first + buckets.start..first + buckets.end).unwrap();
        assert_eq!(level.buckets.len() as i64, buckets.end - buckets.start);
        assert_eq!(store.tables.map.fetched(), fetched, "buckets {buckets:?}");
    }
    let extents = lane.extents();
    fetched += signatures;
    assert!(signatures > 0 && lane.signatures().count() == extents.len());
    assert_eq!(store.tables.map.fetched(), fetched);
    assert!(extents.len() > 38, "{} extents", extents.len());
    // Extents 3 and 4 are read in order, so the disk also reads one that follows soon.
    let last = extents.len() - 1;
    let reads = [(3, vec![3]), (3, vec![]), (4, vec![4, 36]), (0, vec![0]), (last, vec![last])];
    for (extent, expected) in reads {
        fetched += expected.iter().map(|&extent| u64::from(extents[extent].bytes)).sum::<u64>();
        assert!(lane.extent(extent).is_some());
        assert_eq!(store.tables.map.fetched(), fetched, "extent {extent}");
    }
    assert_eq!(store.detail(detail, &mut DetailReader::default()), [7; 5000]);
    assert_eq!(store.tables.map.fetched(), fetched + u64::from(store.tables.details[0].packed_bytes));
}

#[test]
fn a_damaged_part_of_a_pyramid_is_counted_once_and_the_others_are_read() {
    let (file, _) = store_of_spans(|_| 7);
    let open = || Store::from_file(&file, "test".as_ref());
    let trailer = Trailer::from_file(&Mapped::from_store(&file, "test".as_ref()).unwrap()).unwrap();
    let pyramids = trailer.sections[Section::Overview as usize];
    damage_at(&file, pyramids.offset + PART_BYTES as u64 + 5);
    let store = open().unwrap();
    let lane = store.lane(LaneIdx(0));
    let OverviewShape { first, width_log2, .. } = lane.record.overview;
    let has = |buckets: Range<i64>| lane.overview(width_log2, first + buckets.start..first + buckets.end).is_some();
    for _ in 0..2 {
        assert!(has(0..1024) && !has(0..1025) && !has(1100..1101) && has(2048..4000));
        assert_eq!(store.damaged(), 1);
    }
    assert_eq!(open().unwrap().damaged_in_all(), 1);
    // An extent without its signature may have any name.
    let signatures = trailer.sections[Section::Signatures as usize];
    damage_at(&file, signatures.offset + 5);
    let store = open().unwrap();
    assert!(store.lane(LaneIdx(0)).signatures().all(<[u64]>::is_empty));
    assert_eq!((store.damaged(), open().unwrap().damaged_in_all()), (1, 2));
    // The checksums of the parts are checked at opening.
    damage_at(&file, pyramids.offset + pyramids.bytes - 1);
    assert!(matches!(open(), Err(StoreError::Damaged { part: "overview", .. })));
}

//! The bytes that a store fetches from the disk.

use super::*;
use crate::model::{Id, Registry, TrackKey};
use crate::store::{Row, StoreWriter};

#[test]
fn only_the_tables_and_the_parts_that_are_read_are_fetched_from_the_disk() {
    let mut registry = Registry::default();
    let track = registry.track(&TrackKey::thread(Id::Number(1), Id::Number(1))).unwrap();
    let file = tempfile::tempfile().unwrap();
    let mut writer = StoreWriter::new(file.try_clone().unwrap(), 1 << 24).unwrap();
    let lane = writer.add_lane(track, LaneKind::Spans, 0).unwrap();
    for number in 0..200_000_i64 {
        let value = number as u64 % 7919;
        writer.push(lane, Row { start_ns: number * 8000, value, detail: 0, name: 0 }).unwrap();
    }
    let detail = writer.push_detail(&[7; 5000]).unwrap();
    writer.finish(&Meta { tracks: registry.tables().clone(), ..Meta::default() }).unwrap();

    let store = Store::from_file(&file, "test".as_ref()).unwrap();
    let trailer = Trailer::from_file(&Mapped::from_store(&file, "test".as_ref()).unwrap()).unwrap();
    let sections: u64 = trailer.sections.iter().map(|section| section.bytes).sum();
    let mut fetched = sections + (size_of::<Trailer>() + 8) as u64;
    assert_eq!(store.tables.map.fetched(), fetched);
    let lane = store.lane(LaneIdx(0));
    let extents = lane.extents();
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

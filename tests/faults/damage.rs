//! Stores that are truncated or altered at every byte after they were published. A store either does not open, or
//! reports the damage when a query reads it. All other results are unchanged.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use longspan::facade::model::args::Detail;
use longspan::facade::model::{Id, Names, Registry, TrackIdx, TrackKey, TrackKind};
use longspan::facade::query::rows::{SortedRow, SortedRows};
use longspan::facade::query::{Buckets, Snapshot, describe, pick, pixels};
use longspan::facade::store::details::DetailReader;
use longspan::facade::store::{DetailRef, LaneIdx, LaneKind, Meta, Row, RowIdx, Store, StoreWriter, Summary};

use crate::harness::folder;

const END_NS: i64 = 4000;

/// Writes a store with each kind of lane, one with several extents, and details.
fn small_store(path: &Path) {
    let (mut names, mut registry) = (Names::default(), Registry::default());
    let name = names.intern("work", Some("category"));
    let key = TrackKey { kind: TrackKind::Thread, pid: Id::None, tid: Id::None, name: "thread".into(), slot: 0 };
    registry.track(&key);
    let file = File::options().read(true).write(true).create_new(true).open(path).expect("created");
    let mut writer = StoreWriter::new(file, 1 << 20).expect("written");
    for (kind, count) in [
        (LaneKind::Spans, 400),
        (LaneKind::Spans, 5),
        (LaneKind::Instants, 70),
        (LaneKind::Counter, 150),
        (LaneKind::Flows, 3),
    ] {
        let lane = writer.add_lane(TrackIdx(0), kind, u16::from(count == 5)).expect("room");
        for k in 0..count {
            let mut blob = Vec::new();
            Detail { args_json: &format!(r#"{{"k":{k}}}"#), ..Detail::default() }.encode_into(&mut blob);
            let has_blob = kind == LaneKind::Spans && k % 50 == 0;
            let DetailRef(detail) = writer.push_detail(if has_blob { &blob } else { &[] }).expect("written");
            let start_ns = k * END_NS / count;
            writer.push(lane, Row { start_ns, value: (k * 7919 % 10) as u64, detail, name: name.0 }).expect("written");
        }
    }
    let summary = Summary { start_ns: 0, end_ns: END_NS, ..Summary::default() };
    let meta = Meta { names: Arc::new(names), tracks: registry.tables().clone(), summary, ..Meta::default() };
    writer.finish(&meta).expect("written");
}

/// Returns all rows of a store with their details, in order.
fn rows(snapshot: &Snapshot) -> Vec<(SortedRow, Vec<u8>)> {
    let store = snapshot.store();
    let mut reader = DetailReader::default();
    SortedRows::new(snapshot, (0..store.lane_count()).map(LaneIdx), None, None)
        .map(|row| {
            let has_blob = row.kind == LaneKind::Spans;
            let detail = DetailRef(if has_blob { row.row.detail } else { 0 });
            (row, store.detail(detail, &mut reader).to_vec())
        })
        .collect()
}

/// Returns the cells of each lane at some zooms, and the rows at some points.
fn views(snapshot: &Snapshot) -> Vec<(LaneIdx, String)> {
    let mut results = Vec::new();
    for lane in (0..snapshot.store().lane_count()).map(LaneIdx) {
        for width_log2 in [2, 5, 9, 13] {
            let buckets = Buckets::covering(-100, END_NS + 100, 1 << width_log2);
            let (mut cells, mut values) = (Vec::new(), Vec::new());
            if snapshot.lane(lane).kind == LaneKind::Counter {
                pixels::counter(snapshot, lane, buckets, &mut values);
            } else {
                pixels::longest(snapshot, lane, buckets, &mut cells);
            }
            results.push((lane, format!("{cells:?}{values:?}")));
        }
        for ts_ns in (0..END_NS).step_by(500) {
            results.push((lane, format!("{:?}", pick::row_at(snapshot, lane, ts_ns, 100))));
        }
        for row in [0, 100, 399] {
            results.push((lane, format!("{:?}", describe::describe(snapshot, RowIdx { lane, row }))));
        }
    }
    results
}

#[test]
fn any_altered_byte_is_detected_before_it_gives_a_wrong_result() {
    let folder = folder();
    let path = folder.path().join("store.lsstore");
    small_store(&path);
    let whole = fs::read(&path).expect("readable");
    let snapshot = Snapshot::new(Arc::new(Store::open(&path).expect("whole")));
    let (all_rows, all_views) = (rows(&snapshot), views(&snapshot));
    assert_eq!((snapshot.store().damaged_in_all(), all_rows.len()), (0, 628));
    drop(snapshot);

    let file = File::options().write(true).open(&path).expect("opens");
    let (mut refused, mut found, mut unread) = (0, 0, 0);
    for (place, &byte) in whole.iter().enumerate() {
        // The file is not mapped now.
        file.write_all_at(&[byte ^ (1 << (place % 8))], place as u64).expect("altered");
        match Store::open(&path) {
            Err(_) => refused += 1,
            Ok(store) => {
                let snapshot = Snapshot::new(Arc::new(store));
                let seen = views(&snapshot);
                let misled = seen != all_views;
                assert!(!misled || snapshot.store().damaged() > 0, "byte {place}: a view shows something else");
                let read = rows(&snapshot);
                let mut rest = all_rows.iter();
                let spared = |(row, blob): &(SortedRow, Vec<u8>)| {
                    rest.any(|(other, of_other)| other == row && (of_other == blob || blob.is_empty()))
                };
                assert!(read.iter().all(spared), "byte {place}: rows that were never written");
                let damaged = snapshot.store().damaged();
                assert!(damaged > 0 || read == all_rows, "byte {place}: {} rows", read.len());
                assert_eq!(damaged, snapshot.store().damaged_in_all(), "byte {place}: everything was read");
                // At most one extent is lost; its lane has the others.
                assert!(read.len() + 256 >= all_rows.len(), "byte {place}: {} rows", read.len());
                if damaged > 0 { found += 1 } else { unread += 1 }
            }
        }
        file.write_all_at(&[byte], place as u64).expect("restored");
    }
    // Between its parts, the file is padded to multiples of eight with unused bytes.
    assert!(unread < 7 * 20, "{unread} bytes are not checked; {refused} refused, {found} found");
    let shares = [refused > whole.len() / 4, found > whole.len() / 2];
    assert_eq!(shares, [true; 2], "{refused} refused, {found} found, {unread} unread");
}

#[test]
fn a_store_truncated_at_any_byte_does_not_open() {
    let folder = folder();
    let path = folder.path().join("store.lsstore");
    small_store(&path);
    let whole = fs::read(&path).expect("readable");
    for bytes in (0..whole.len()).rev() {
        File::options().write(true).open(&path).expect("opens").set_len(bytes as u64).expect("cut");
        assert!(Store::open(&path).is_err(), "cut to {bytes} bytes");
    }
}

//! Stores cut into parts and rebuilt: the same rows, and no harm from forged parts.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;

use super::block::{BLOCK_ROWS, Row};
use super::carried::CarriedStore;
use super::details::DetailReader;
use super::format::Meta;
use super::iforest::{self, LongestNs};
use super::lane::{DetailRef, LaneIdx, LaneKind};
use super::read::Store;
use super::signature::NameSignature;
use super::writer::StoreWriter;
use crate::model::{Id, NameIdx, Names, Registry, StackIdx, Stacks, TrackIdx, TrackKey};

const NAMES: u32 = 5;
const STACKS: u32 = 3;
const KINDS: [LaneKind; 5] =
    [LaneKind::Instants, LaneKind::Samples, LaneKind::Counter, LaneKind::Spans, LaneKind::Flows];

fn meta() -> Meta {
    let (mut names, mut stacks, mut registry) = (Names::default(), Stacks::default(), Registry::default());
    for name in 1..NAMES {
        names.intern(&format!("name {name}"), None);
    }
    let mut parent = StackIdx::default();
    (1..STACKS).for_each(|name| parent = stacks.intern(parent, NameIdx(name)));
    for tid in 0..2 {
        let key = TrackKey::thread(Id::Number(1), Id::Number(tid));
        registry.track(&key);
    }
    let tracks = registry.tables().clone();
    Meta { names: Arc::new(names), stacks: Arc::new(stacks), tracks, ..Meta::default() }
}

/// Writes a store with `rows` rows in each lane of both tracks.
fn build(path: &Path, rows: u64, held_bytes: usize) {
    let file = fs::OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path).unwrap();
    let mut writer = StoreWriter::new(file, held_bytes).unwrap();
    let lanes: Vec<_> = (0..2)
        .flat_map(|track| KINDS.map(|kind| (TrackIdx(track), kind, 0)))
        .chain([(TrackIdx(0), LaneKind::Spans, 1)])
        .map(|(track, kind, depth)| (kind, writer.add_lane(track, kind, depth).unwrap()))
        .collect();
    for number in 0..rows {
        for &(kind, lane) in &lanes {
            let detail = writer.push_detail(if number % 3 == 0 { b"blob" } else { b"" }).unwrap().0;
            let row = Row {
                start_ns: (number * 1000) as i64 - 5000,
                value: match kind {
                    LaneKind::Spans => number * 7919 % 1001,
                    LaneKind::Counter => (number as f64).sin().to_bits(),
                    LaneKind::Samples => number % u64::from(STACKS),
                    LaneKind::Instants | LaneKind::Flows => number % 4,
                },
                detail: if kind == LaneKind::Flows { number } else { detail },
                name: (number % u64::from(NAMES)) as u32,
            };
            writer.push(lane, row).unwrap();
        }
    }
    writer.mark_unfinished(lanes[3].1);
    writer.finish(&meta()).unwrap();
}

/// Returns all parts of the store in a file.
fn parts_of(path: &Path) -> Vec<Vec<u8>> {
    Store::open(path).unwrap().carried_parts().map(|part| part.expect("nothing is damaged")).collect()
}

/// Rebuilds a store from parts, adding `at_once` of them per call.
fn take_out(path: &Path, parts: &[Vec<u8>], at_once: usize, threads: usize) -> Option<Store> {
    let file = fs::OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path).unwrap();
    let meta = meta();
    let mut store = CarriedStore::new(StoreWriter::new(file, 1 << 16).unwrap(), &meta, threads);
    for parts in parts.chunks(at_once) {
        store.add_parts(parts).unwrap().ok()?;
    }
    store.finish(&meta).unwrap().ok()?;
    Some(Store::open(path).unwrap())
}

/// Returns all rows of a store with the blobs of their details.
fn rows_of(store: &Store) -> Vec<(LaneIdx, Row, Vec<u8>)> {
    let mut reader = DetailReader::default();
    let mut all = Vec::new();
    for index in (0..store.lane_count()).map(LaneIdx) {
        let lane = store.lane(index);
        for extent in (0..lane.extents().len()).map(|extent| lane.extent(extent).unwrap()) {
            let mut rows = Vec::new();
            (0..extent.blocks()).for_each(|block| extent.block(block).decode(&mut rows));
            let is_flow = lane.info().kind == LaneKind::Flows;
            all.extend(rows.into_iter().map(|row| {
                let detail = DetailRef(if is_flow { 0 } else { row.detail });
                (index, row, store.detail(detail, &mut reader).to_vec())
            }));
        }
    }
    all
}

/// Checks row by row every index that queries rely on.
fn assert_consistent(store: &Store) {
    for lane in (0..store.lane_count()).map(LaneIdx) {
        let (lane, info) = (store.lane(lane), store.lane(lane).info());
        let mut all: Vec<Row> = Vec::new();
        for (number, signature) in lane.signatures().enumerate() {
            assert_eq!(lane.signatures_from(number).next(), Some(signature));
            let extent = lane.extent(number).unwrap();
            let (before, mut rows) = (all.len(), Vec::new());
            (0..extent.blocks()).for_each(|block| extent.block(block).decode(&mut rows));
            let record = lane.extents()[number];
            assert_eq!((record.first_row, record.rows as usize), (before as u64, rows.len()));
            assert_eq!(record.first_start_ns, rows[0].start_ns);
            for row in &rows {
                assert!(NameSignature::from_iter([NameIdx(row.name)]).may_meet(signature));
            }
            for (block, rows) in rows.chunks(BLOCK_ROWS).enumerate().take(extent.blocks()) {
                let entry = extent.directory()[block];
                let longest = rows.iter().map(|row| row.value).max();
                assert!(rows.len() < BLOCK_ROWS || Some(rows[entry.longest_slot() as usize].value) == longest);
            }
            if info.kind == LaneKind::Spans {
                let longest = rows.iter().map(|row| row.value).max().unwrap();
                assert_eq!(iforest::range(lane.forest::<LongestNs>(), number..number + 1), LongestNs(longest));
                assert_eq!(extent.longest().longest(0..extent.blocks()).map(|block| block.dur_ns), Some(longest));
            }
            all.append(&mut rows);
        }
        let end_ns = |row: &Row| match info.kind {
            LaneKind::Spans => row.start_ns.saturating_add_unsigned(row.value),
            _ => row.start_ns,
        };
        assert!(all.windows(2).all(|pair| end_ns(&pair[0]) <= pair[1].start_ns));
        assert!(all.iter().all(|row| row.name < NAMES));
        assert!(info.kind != LaneKind::Samples || all.iter().all(|row| row.value as u32 <= STACKS));
        assert_eq!((info.rows, info.start_ns), (all.len() as u64, all[0].start_ns));
        assert_eq!(Some(info.end_ns), all.iter().map(end_ns).max());
        if let Some(level) = lane.overview(63, i64::MIN..i64::MAX) {
            let longest = level.buckets.iter().map(|bucket| bucket.dur_ns).max();
            assert_eq!(longest, all.iter().map(|row| row.value).max());
            assert_eq!(level.buckets.iter().map(|bucket| u64::from(bucket.rows)).sum::<u64>(), info.rows);
        }
    }
}

#[test]
fn a_store_comes_out_as_it_was_put_in_whatever_its_size_and_the_threads() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("store"), folder.path().join("other"));
    for (rows, held_bytes) in
        [(0, 1 << 20), (1, 1 << 20), (64, 1 << 20), (700, 1 << 12), (40_000, 1 << 14), (40_000, 1 << 24)]
    {
        build(&path, rows, held_bytes);
        let (store, parts) = (Store::open(&path).unwrap(), parts_of(&path));
        assert_consistent(&store);
        assert_eq!(parts.len() > 1, rows == 40_000, "{} parts of {rows} rows", parts.len());
        for (at_once, threads) in [(1, 1), (2, 3), (parts.len(), 2)] {
            let out = take_out(&other, &parts, at_once, threads).unwrap();
            assert_consistent(&out);
            assert!(rows_of(&out) == rows_of(&store), "{rows} rows, {held_bytes} bytes");
            assert!((0..out.lane_count()).map(LaneIdx).all(|lane| out.lane(lane).info() == store.lane(lane).info()));
            assert!(out.lane_count() == 0 || out.lane(LaneIdx(3)).is_unfinished(rows - 1));
            assert!(parts_of(&other) == parts, "what comes out goes in again, byte for byte");
        }
        for missing in 0..parts.len() {
            let rest = [&parts[..missing], &parts[missing + 1..]].concat();
            assert!(take_out(&other, &rest, 2, 1).is_none(), "without part {missing} of {}", parts.len());
        }
    }
}

#[test]
fn the_parts_up_to_a_time_hold_all_rows_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("store"), folder.path().join("other"));
    build(&path, 40_000, 1 << 24);
    let (all, parts) = (rows_of(&Store::open(&path).unwrap()), parts_of(&path));
    let file = fs::OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&other).unwrap();
    let mut taken = CarriedStore::new(StoreWriter::new(file, 1 << 16).unwrap(), &meta(), 2);
    let mut before_ns = i64::MIN;
    for part in parts {
        taken.add_parts(&[part]).unwrap().unwrap();
        let sorted_to_ns = taken.sorted_to_ns();
        assert!(sorted_to_ns > before_ns);
        before_ns = sorted_to_ns;
        let preview = taken.preview(meta()).unwrap().unwrap();
        let shown = |rows: Vec<(LaneIdx, Row, Vec<u8>)>| {
            let early = rows.into_iter().filter(|(_, row, _)| row.start_ns < sorted_to_ns);
            early.map(|(lane, row, _)| (lane, row)).collect::<Vec<_>>()
        };
        assert!(shown(rows_of(&preview)) == shown(all.clone()), "up to {sorted_to_ns}");
    }
    assert_eq!(before_ns, i64::MAX);
}

#[test]
fn parts_that_somebody_made_up_are_refused_or_make_a_consistent_store() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("store"), folder.path().join("other"));
    build(&path, 70, 1 << 20);
    let [part] = &parts_of(&path)[..] else { panic!("one part") };
    let (mut refused, mut made) = (0, 0);
    // Every third byte is enough: an entry has 16 bytes, a header 24.
    for at in (0..part.len()).step_by(3) {
        let mut altered = part.clone();
        altered[at] ^= 0x11;
        match take_out(&other, &[altered], 1, 1) {
            Some(store) => {
                assert_consistent(&store);
                made += 1;
            }
            None => refused += 1,
        }
        if at % 99 == 0 {
            assert!(take_out(&other, &[part[..at].to_vec()], 1, 1).is_none_or(|store| store.lane_count() == 0));
        }
    }
    assert!(refused > 100 && made > 100, "{refused} refused, {made} other rows");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn many_changes_at_once_are_refused_or_make_a_consistent_store(
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("store"), folder.path().join("other"));
        build(&path, 300, 1 << 13);
        let mut parts = parts_of(&path);
        for (at, byte) in edits {
            let part = &mut parts[0];
            let at = at.index(part.len());
            part[at] = byte;
        }
        if let Some(store) = take_out(&other, &parts, 4, 2) {
            assert_consistent(&store);
        }
    }
}

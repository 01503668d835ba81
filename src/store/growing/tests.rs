//! Previews of a growing store against a store that is written at once.

use super::*;
use crate::model::{Id, NameIdx, Registry, TrackKey, TrackKind};
use crate::store::details::DetailReader;
use crate::store::iforest::{self, LongestNs};
use crate::store::live_lanes::LaneMoves;
use crate::store::{StoreWriter, Summary};

fn meta() -> Meta {
    let mut tracks = Registry::default();
    let (kind, pid, tid) = (TrackKind::Thread, Id::Number(1), Id::Number(1));
    tracks.track(&TrackKey::new(kind, pid, tid));
    Meta { tracks: tracks.tables().clone(), summary: Summary::default(), ..Meta::default() }
}

fn row(number: u64) -> Row {
    Row { start_ns: number.cast_signed() * 10, value: number % 9, detail: 0, name: NameIdx::EMPTY.0 + 1 }
}

/// Returns all rows of a store, lane by lane, with the longest of each lane from its forest.
fn rows_of(store: &Store) -> Vec<(u16, Vec<Row>, u64)> {
    let lanes = (0..store.lane_count()).map(|lane| {
        let lane = store.lane(LaneIdx(lane));
        let mut rows = Vec::new();
        for number in 0..lane.extents().len() {
            assert_eq!(lane.extents()[number].first_row, rows.len() as u64, "extent {number}");
            let extent = lane.extent(number).expect("an extent that can be read");
            (0..extent.blocks()).for_each(|block| extent.block(block).decode(&mut rows));
        }
        let last = rows.last().expect("a row");
        let ends = (rows[0].start_ns, last.start_ns.saturating_add_unsigned(last.value));
        assert_eq!((lane.info().rows, lane.info().start_ns, lane.info().end_ns), (rows.len() as u64, ends.0, ends.1));
        let longest = iforest::range(lane.forest::<LongestNs>(), 0..lane.extents().len());
        (lane.info().depth, rows, longest.0)
    });
    lanes.collect()
}

#[test]
fn a_preview_at_any_moment_has_the_rows_of_a_store_that_is_written_then() {
    let mut growing = GrowingStore::new(tempfile::tempfile().unwrap(), 6000).unwrap();
    let lanes = [0, 1].map(|depth| growing.add_lane(TrackIdx(0), LaneKind::Spans, depth).unwrap());
    let mut pushed = [Vec::new(), Vec::new()];
    let mut next = 0;
    for step in [1u64, 63, 64, 65, 4000, 1, 4096, 9000, 3, 100] {
        for _ in 0..step {
            let lane = usize::from(next % 5 != 0);
            growing.push(lanes[lane], row(next)).unwrap();
            pushed[lane].push(row(next));
            next += 1;
        }
        let mut moving: Vec<Row> = (next..next + step % 7).map(row).collect();
        let with_moving: Vec<Row> = pushed[1].iter().chain(&moving).copied().collect();
        growing.set_moving(lanes[1], &mut moving, false);
        let store = growing.preview(meta()).unwrap();
        let mut offline = StoreWriter::new(tempfile::tempfile().unwrap(), 1 << 20).unwrap();
        for (depth, rows) in [&pushed[0], &with_moving].into_iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            let lane = offline.add_lane(TrackIdx(0), LaneKind::Spans, depth as u16).unwrap();
            rows.iter().for_each(|&row| offline.push(lane, row).unwrap());
        }
        offline.flush().unwrap();
        assert_eq!(rows_of(&store), rows_of(&offline.preview(meta()).unwrap()), "after {next} rows");
        assert_eq!(store.damaged_in_all(), 0);
    }
}

#[test]
fn rows_at_the_end_of_a_lane_pack_few_of_those_before_and_a_change_packs_those_after_it() {
    let mut growing = GrowingStore::new(tempfile::tempfile().unwrap(), 1 << 20).unwrap();
    let lane = growing.add_lane(TrackIdx(0), LaneKind::Spans, 0).unwrap();
    let moving = |range: std::ops::Range<u64>| range.map(row).collect::<Vec<Row>>();
    growing.set_moving(lane, &mut moving(0..20_000), false);
    growing.preview(meta()).unwrap();
    let mut before = growing.packed_rows();
    let mut preview = |growing: &mut GrowingStore, rows: std::ops::Range<u64>| {
        let store = growing.preview(meta()).unwrap();
        assert_eq!(rows_of(&store)[0].1, moving(rows), "all rows in order");
        let packed = growing.packed_rows() - std::mem::replace(&mut before, growing.packed_rows());
        packed as usize
    };
    // Some rows settle, and their full extents go to the file; others keep moving.
    for step in 0..40 {
        (step * 300..(step + 1) * 300).for_each(|number| growing.push(lane, row(number)).unwrap());
        let end = 20_000 + step * 100;
        growing.set_moving(lane, &mut moving((step + 1) * 300..end), false);
        let packed = preview(&mut growing, 0..end);
        assert!(packed <= 2 * PACKED_ROWS, "{packed} in step {step}");
    }
    let mut changed = moving(12_000..23_900);
    changed[5000].value += 1;
    growing.set_moving(lane, &mut changed.clone(), false);
    let before = growing.packed_rows();
    let store = growing.preview(meta()).unwrap();
    assert_eq!(rows_of(&store)[0].1[12_000..], changed);
    let packed = (growing.packed_rows() - before) as usize;
    assert!((6900..6900 + PACKED_ROWS).contains(&packed), "{packed}");
}

#[test]
fn a_preview_of_what_has_not_changed_packs_nothing_and_one_that_is_shown_stays_as_it_was() {
    let mut growing = GrowingStore::new(tempfile::tempfile().unwrap(), 1 << 20).unwrap();
    let lanes: Vec<LaneIdx> =
        (0..50).map(|depth| growing.add_lane(TrackIdx(0), LaneKind::Spans, depth).unwrap()).collect();
    for number in 0..50 * 1000 {
        growing.push(lanes[(number % 50) as usize], row(number)).unwrap();
    }
    let before = growing.preview(meta()).unwrap();
    assert_eq!(growing.packed_rows(), 50_000);
    let shown = rows_of(&before);
    growing.push(lanes[7], row(50_000)).unwrap();
    growing.set_moving(lanes[7], &mut vec![row(50_001)], true);
    let after = growing.preview(meta()).unwrap();
    assert_eq!(growing.packed_rows(), 50_000 + 1002 - PACKED_ROWS as u64, "the end of the lane that has changed");
    assert!(after.lane(LaneIdx(7)).is_unfinished(1001) && !after.lane(LaneIdx(6)).is_unfinished(999));
    drop(growing.preview(meta()).unwrap());
    assert_eq!(growing.packed_rows(), 51_002 - PACKED_ROWS as u64, "nothing");
    // Rows written to the file later change none of the rows in the preview.
    (0..200_000).for_each(|number| growing.push(lanes[3], row(60_000 + number)).unwrap());
    assert_eq!(rows_of(&before), shown);
    assert_eq!(rows_of(&growing.preview(meta()).unwrap())[3].1.len(), 201_000);
}

#[test]
fn details_can_be_read_as_soon_as_they_are_shown() {
    let mut growing = GrowingStore::new(tempfile::tempfile().unwrap(), 1000).unwrap();
    let lane = growing.add_lane(TrackIdx(0), LaneKind::Instants, 0).unwrap();
    for number in 0..40u64 {
        let DetailRef(detail) = growing.push_detail(format!("blob {number}").as_bytes()).unwrap();
        growing.push(lane, Row { detail, ..row(number) }).unwrap();
        let store = growing.preview(meta()).unwrap();
        let mut reader = DetailReader::default();
        assert_eq!(store.detail(DetailRef(detail), &mut reader), format!("blob {number}").as_bytes());
    }
}

#[test]
fn previews_share_their_lanes_until_one_comes_or_moves_and_lanes_are_found_after_that() {
    let mut growing = GrowingStore::new(tempfile::tempfile().unwrap(), 1000).unwrap();
    let lanes: Vec<LaneIdx> =
        (0..40).map(|depth| growing.add_lane(TrackIdx(0), LaneKind::Spans, depth).unwrap()).collect();
    let mut previews = Vec::new();
    for lane in &lanes[..39] {
        growing.push(*lane, row(1)).unwrap();
    }
    // Rows come in a hundred steps. One lane is added half-way; another moves after three quarters.
    for number in 2..102 {
        if number == 52 {
            growing.push(lanes[39], row(number)).unwrap();
        }
        if number >= 77 {
            growing.set_depth(lanes[3], 45);
        }
        growing.push(lanes[number as usize % 39], row(number)).unwrap();
        previews.push(growing.preview(meta()).unwrap());
    }
    let moves = |earlier: &Store, later: &Store| later.live_lanes()?.moves_since(earlier.live_lanes()?);
    let changes = previews.windows(2).filter(|pair| moves(&pair[0], &pair[1]) != Some(LaneMoves::None)).count();
    assert_eq!(changes, 2, "of 100 previews");
    let (first, last) = (&previews[0], &previews[99]);
    let moves = moves(first, last).expect("one store");
    for (lane, (depth, rows, _)) in (0..).zip(rows_of(first)) {
        let moved = moves.lane(LaneIdx(lane)).expect("a lane keeps its rows");
        let (later_depth, later_rows, _) = &rows_of(last)[moved.index()];
        assert_eq!(*later_depth, if depth == 3 { 45 } else { depth });
        assert!(later_rows.starts_with(&rows), "lane {lane} has more rows");
    }
    let mut other = GrowingStore::new(tempfile::tempfile().unwrap(), 1000).unwrap();
    let lanes = Arc::clone(other.preview(meta()).unwrap().live_lanes().unwrap());
    assert!(previews.iter().all(|preview| lanes.moves_since(preview.live_lanes().unwrap()).is_none()), "another trace");
}

/// Returns the bytes that a file takes on disk.
#[cfg(target_os = "linux")]
fn disk_bytes(file: &File) -> u64 {
    use std::os::unix::fs::MetadataExt;
    file.metadata().unwrap().blocks() * 512
}

#[test]
#[cfg(target_os = "linux")]
fn the_oldest_extents_go_whole_and_what_is_shown_stays_until_nobody_shows_it() {
    let file = tempfile::tempfile().unwrap();
    let on_disk = file.try_clone().unwrap();
    let mut growing = GrowingStore::new(file, 20_000).unwrap();
    growing.keep_ring().unwrap();
    let lanes: Vec<LaneIdx> =
        (0..5).map(|depth| growing.add_lane(TrackIdx(0), LaneKind::Spans, depth).unwrap()).collect();
    // A span over everything, which must stay while it reaches into the retained time.
    let root = Row { value: 1 << 40, ..row(0) };
    growing.push(lanes[4], root).unwrap();
    let mut pushed: [Vec<Row>; 4] = Default::default();
    let (mut gone, mut most_bytes, mut shown) = (0, 0, None);
    for number in 0..600_000u64 {
        let text = xxhash_rust::xxh3::xxh3_128(&number.to_le_bytes());
        let DetailRef(detail) = growing.push_detail(format!("{number} {text:x} {text:x}").as_bytes()).unwrap();
        let (lane, next) = ((number % 4) as usize, Row { detail, ..row(number) });
        growing.push(lanes[lane], next).unwrap();
        pushed[lane].push(next);
        if number % 20_000 != 19_999 {
            continue;
        }
        let to_ns = row(number.saturating_sub(100_000)).start_ns;
        growing.drop_before(to_ns, &mut |dropped| gone += dropped.rows).unwrap();
        let store = growing.preview(meta()).unwrap();
        let rows = rows_of(&store);
        assert_eq!(store.damaged_in_all(), 0, "after {number}");
        assert_eq!(rows.last().unwrap().1, [root]);
        let mut reader = DetailReader::default();
        for (depth, (_, kept, _)) in rows.iter().take(4).enumerate() {
            // Everything in the retained time, and less than an extent before it, without a gap.
            assert!(pushed[depth].ends_with(kept), "lane {depth} after {number}");
            let before = kept.iter().filter(|row| row.start_ns < to_ns).count();
            assert!(before <= EXTENT_ROWS && kept.len() >= before, "{before} of {}", kept.len());
            if number > 100_000 {
                assert!(kept[0].start_ns <= to_ns, "lane {depth} after {number}");
            }
            for row in [kept[0], kept[kept.len() / 2], kept[kept.len() - 1]] {
                let text = String::from_utf8_lossy(store.detail(DetailRef(row.detail), &mut reader)).into_owned();
                assert!(text.starts_with(&format!("{} ", row.start_ns / 10)), "{text}");
            }
        }
        let kept: u64 = rows.iter().map(|lane| lane.1.len() as u64).sum();
        assert_eq!(kept + gone, number + 2, "each row is kept or counted");
        most_bytes = most_bytes.max(disk_bytes(&on_disk));
        if number < 200_000 {
            shown = Some((store, rows));
        }
        if number == 299_999 {
            // The earlier preview is unchanged, though most of its rows were dropped.
            let (store, rows) = shown.take().unwrap();
            assert_eq!(rows_of(&store), rows);
            assert_eq!(store.damaged_in_all(), 0);
        }
    }
    // About 3 of 14 MiB are retained; the preview delayed the holes.
    let (now_bytes, written) = (disk_bytes(&on_disk), growing.file_bytes());
    assert!(written > 12 << 20 && now_bytes < written / 3, "{now_bytes} of {written}");
    assert!(now_bytes < growing.kept_bytes() + (4 << 20), "{now_bytes} for {}", growing.kept_bytes());
    assert!(most_bytes < written, "{most_bytes}");
    // By bytes: the cut leaves some nine tenths.
    let bytes_max = growing.kept_bytes() / 2;
    let mut cuts = 0;
    while let Some(to_ns) = growing.cut_for(bytes_max) {
        growing.drop_before(to_ns, &mut |_| {}).unwrap();
        cuts += 1;
    }
    assert!(cuts <= 3, "{cuts}");
    assert!(growing.kept_bytes() <= bytes_max && growing.kept_bytes() > bytes_max / 2, "{}", growing.kept_bytes());
    assert_eq!(growing.cut_for(bytes_max), None);
}

#[test]
#[cfg(target_os = "linux")]
fn flow_points_hold_back_no_details_of_dropped_rows() {
    let mut growing = GrowingStore::new(tempfile::tempfile().unwrap(), 1000).unwrap();
    growing.keep_ring().unwrap();
    let spans = growing.add_lane(TrackIdx(0), LaneKind::Spans, 0).unwrap();
    let flows = growing.add_lane(TrackIdx(0), LaneKind::Flows, 0).unwrap();
    for number in 0..50_000u64 {
        let text = xxhash_rust::xxh3::xxh3_128(&number.to_le_bytes());
        let DetailRef(detail) = growing.push_detail(format!("{number} {text:x} {text:x}").as_bytes()).unwrap();
        growing.push(spans, Row { detail, ..row(number) }).unwrap();
        // The bits of a flow point are small.
        growing.push(flows, Row { detail: 1, ..row(number) }).unwrap();
    }
    let before = growing.kept_bytes();
    growing.drop_before(row(45_000).start_ns, &mut |_| {}).unwrap();
    assert!(growing.kept_bytes() < before / 3, "{} of {before}", growing.kept_bytes());
}

#[test]
#[cfg(target_os = "linux")]
fn a_ring_stays_bounded_after_a_failed_write() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut growing = GrowingStore::new(file.reopen().unwrap(), 0).unwrap();
    growing.keep_ring().unwrap();
    let lane = growing.add_lane(TrackIdx(0), LaneKind::Spans, 0).unwrap();
    (0..10).for_each(|number| growing.push(lane, row(number)).unwrap());
    let kept_bytes = growing.ring.as_ref().unwrap().kept_bytes;
    assert!(kept_bytes > 0);
    // The file can only be read, and the next append has to write the full buffer.
    growing.push_detail(b"detail").unwrap();
    growing.file = AppendFile::new(File::open(file.path()).unwrap(), Arc::new(SystemDisk));
    growing.file.append(&vec![0; 2 << 20]).unwrap();
    growing.drop_before(row(5).start_ns, &mut |_| {}).unwrap_err();
    let ring = growing.ring.as_ref().expect("the ring");
    assert!(ring.kept_bytes < kept_bytes, "{}", ring.kept_bytes);
}

#[test]
#[cfg(target_os = "linux")]
fn the_details_of_many_lanes_with_few_rows_stay_within_the_bytes_to_keep() {
    const BYTES_MAX: u64 = 2 << 20;
    let file = tempfile::tempfile().unwrap();
    let on_disk = file.try_clone().unwrap();
    let mut growing = GrowingStore::new(file, 1 << 20).unwrap();
    growing.keep_ring().unwrap();
    let lanes: Vec<LaneIdx> =
        (0..300).map(|depth| growing.add_lane(TrackIdx(0), LaneKind::Spans, depth).unwrap()).collect();
    let mut gone = 0;
    for number in 0..12_000u64 {
        let noise = (0..64u64).map(|part| xxhash_rust::xxh3::xxh3_128(&(64 * number + part).to_le_bytes()));
        let blob = [number.to_le_bytes().to_vec(), noise.flat_map(u128::to_le_bytes).collect()].concat();
        let DetailRef(detail) = growing.push_detail(&blob).unwrap();
        growing.push(lanes[(number % 300) as usize], Row { detail, ..row(number) }).unwrap();
        if number % 500 != 499 {
            continue;
        }
        for _ in 0..3 {
            if let Some(to_ns) = growing.cut_for(BYTES_MAX) {
                growing.drop_before(to_ns, &mut |dropped| gone += dropped.rows).unwrap();
            }
        }
        assert!(growing.kept_bytes() <= BYTES_MAX, "{} after {number}", growing.kept_bytes());
        let store = growing.preview(meta()).unwrap();
        let mut kept: Vec<Row> = rows_of(&store).into_iter().flat_map(|(_, rows, _)| rows).collect();
        kept.sort_unstable_by_key(|row| row.start_ns);
        assert_eq!(kept.len() as u64 + gone, number + 1, "each row is kept or counted");
        let numbers: Vec<i64> = kept.iter().map(|row| row.start_ns / 10).collect();
        assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "the oldest are gone: {numbers:?}");
        let mut reader = DetailReader::default();
        for row in &kept {
            let number = row.start_ns.cast_unsigned() / 10;
            assert!(store.detail(DetailRef(row.detail), &mut reader).starts_with(&number.to_le_bytes()));
        }
    }
    assert!(gone > 0 && growing.kept_bytes() > BYTES_MAX / 2, "{}", growing.kept_bytes());
    assert!(disk_bytes(&on_disk) < growing.kept_bytes() + (4 << 20), "{}", disk_bytes(&on_disk));
}

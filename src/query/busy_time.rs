//! The busy time of each track: the time that its outermost spans cover.
//!
//! Spans of a lane never overlap, so it is the sum of the durations in the first lane of spans. Thread states are
//! not work, and do not count. The rows of these lanes are read once, on all threads.

use std::ops::Range;

use rayon::prelude::*;

use super::snapshot::Snapshot;
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::progress::{Progress, Stage};
use crate::model::{TrackIdx, TrackKind};
use crate::store::block::BLOCK_ROWS;
use crate::store::{LaneIdx, LaneKind};

/// Extents that one thread sums at once: some milliseconds.
const EXTENTS_AT_ONCE: usize = 256;

/// Some extents of the outermost lane of a track.
struct ExtentRun {
    track: TrackIdx,
    lane: LaneIdx,
    extents: Range<usize>,
}

/// Returns the busy time of each track in nanoseconds, by track index. `progress` counts rows.
///
/// # Errors
/// Returns `Cancelled` if cancelled.
pub(crate) fn busy_by_track(snapshot: &Snapshot, cancel: &Cancel, progress: &Progress) -> Result<Vec<u64>, Cancelled> {
    let (mut parts, mut rows) = (Vec::new(), 0);
    for &track in snapshot.display_order() {
        let Some(lane) = outermost_lane(snapshot, track) else { continue };
        let extents = snapshot.store().lane(lane).extents().len();
        rows += snapshot.lane(lane).rows;
        parts.extend((0..extents).step_by(EXTENTS_AT_ONCE).map(|first| ExtentRun {
            track,
            lane,
            extents: first..(first + EXTENTS_AT_ONCE).min(extents),
        }));
    }
    progress.begin(Stage::Counting, rows);
    let sums = parts.par_iter().map(|part| {
        cancel.check()?;
        let (sum_ns, rows) = sum_of(snapshot, part);
        progress.advance(rows);
        Ok(sum_ns)
    });
    let sums = sums.collect::<Result<Vec<u64>, Cancelled>>()?;
    let mut busy_ns = vec![0_u64; snapshot.tracks().tracks.len()];
    for (part, sum_ns) in parts.iter().zip(sums) {
        let busy_ns = &mut busy_ns[part.track.index()];
        *busy_ns = busy_ns.saturating_add(sum_ns);
    }
    Ok(busy_ns)
}

/// Returns the first lane of spans of a track, unless these are states.
fn outermost_lane(snapshot: &Snapshot, track: TrackIdx) -> Option<LaneIdx> {
    if snapshot.track(track).key.kind == TrackKind::State {
        return None;
    }
    let mut lanes = snapshot.lanes_of(track).map(LaneIdx);
    lanes.find(|&lane| snapshot.lane(lane).kind == LaneKind::Spans)
}

/// Returns the sum of the durations in some extents, and the number of rows. Damaged extents have no rows.
fn sum_of(snapshot: &Snapshot, part: &ExtentRun) -> (u64, u64) {
    let lane = snapshot.store().lane(part.lane);
    let (mut sum_ns, mut rows) = (0_u64, 0);
    for extent in part.extents.clone().filter_map(|extent| lane.extent(extent)) {
        rows += u64::from(extent.rows());
        for block in (0..extent.blocks()).map(|block| extent.block(block)) {
            let mut durations_ns = [0; BLOCK_ROWS];
            block.values(&mut durations_ns);
            sum_ns = durations_ns[..block.rows()].iter().fold(sum_ns, |sum_ns, &dur_ns| sum_ns.saturating_add(dur_ns));
        }
    }
    (sum_ns, rows)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::scene::tests::snapshot;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(30))]
        /// The oracle marks every microsecond in which a span of the thread is open.
        #[test]
        fn a_thread_of_nested_spans_is_busy_while_any_of_them_is_open(
            spans in prop::collection::vec((0_usize..4, 0_usize..60, 1_usize..16, 0_usize..16), 0..60),
        ) {
            let mut lines = vec![r#"{"ph":"i","name":"i","pid":1,"tid":9,"ts":1,"s":"t"}"#.to_owned()];
            let mut open: BTreeMap<usize, [bool; 1000]> = BTreeMap::new();
            for (tid, slot, dur, inner) in spans {
                // Each span takes a free slot of its thread, which has 16 microseconds, and its child lies within it.
                let (start, inner) = (slot * 16, inner.min(dur));
                let marks = open.entry(tid).or_insert([false; 1000]);
                if marks[start] {
                    continue;
                }
                marks[start..start + dur].fill(true);
                for dur in [dur, inner] {
                    lines.push(format!(r#"{{"ph":"X","name":"x","pid":1,"tid":{tid},"ts":{start},"dur":{dur}}}"#));
                }
            }
            let snapshot = snapshot(&format!("[{}]", lines.join(",")));
            let busy_ns = busy_by_track(&snapshot, &Cancel::default(), &Progress::default()).unwrap();
            for (track, busy_ns) in snapshot.tracks().tracks.iter().zip(busy_ns) {
                let tid: usize = track.key.tid.to_string().parse().unwrap();
                let marked = open.get(&tid).map_or(0, |marks| marks.iter().filter(|mark| **mark).count());
                prop_assert_eq!(busy_ns, marked as u64 * 1000, "thread {}", tid);
            }
        }
    }

    #[test]
    fn a_span_that_overlaps_the_outermost_counts_as_within_it_and_states_count_as_nothing() {
        let json = r#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":10},
            {"ph":"X","name":"b","pid":1,"tid":1,"ts":5,"dur":10},{"ph":"X","name":"c","pid":1,"tid":1,"ts":30,"dur":2}]"#;
        let busy = |snapshot: &Snapshot| busy_by_track(snapshot, &Cancel::default(), &Progress::default()).unwrap();
        assert_eq!(busy(&snapshot(json)), [12_000]);
        let switch = |ts: u32, from: u32, to: u32| {
            format!(
                "w 7/{from} [000] 1.{ts:06}: sched:sched_switch: prev_comm=w prev_pid={from} prev_prio=120 prev_state=S \
                ==> next_comm=w next_pid={to} next_prio=120\n"
            )
        };
        let scheduled = snapshot(&[switch(1, 8, 9), switch(2, 9, 8), switch(4, 8, 9)].concat());
        for (track, busy_ns) in scheduled.tracks().tracks.iter().zip(busy(&scheduled)) {
            assert_eq!(busy_ns > 0, track.key.kind == TrackKind::Cpu, "{track:?}: {busy_ns}");
        }
    }

    #[test]
    fn a_cancelled_count_ends_without_an_answer() {
        let cancel = Cancel::default();
        cancel.cancel();
        let trace = snapshot(r#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":10}]"#);
        assert!(busy_by_track(&trace, &cancel, &Progress::default()).is_err());
    }
}

//! All rows that match a filter: counted exactly, and listed in time order, a page at a time.
//!
//! If the ledger has the numbers of hits, they are counted by its slices of time, and no rows are read before the first
//! page. Otherwise, and for rare hits, counting scans the extents that may have a match once, on all threads. It stores
//! the count of each: 16 bytes per extent of up to 4,096 rows.
//!
//! Pages, ranks and neighbours are answered from these counts and from the extents around the requested time; no list
//! of hits is ever built.
//!
//! Equivalent to all rows of the trace that match every term, sorted by start, lane and row.

mod slice_counts;
mod sorted_hits;
mod ticks;

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use slice_counts::{Slice, SliceCounts};
use sorted_hits::SortedHits;
pub(crate) use ticks::{PARTS, Ticks};

use super::hit_count::{self, CountPlan};
use super::matcher::Matcher;
use super::scan::{BlockHits, LaneScan};
use super::scope::Scope;
use super::snapshot::Snapshot;
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::progress::{Progress, Stage};
use crate::model::NameIdx;
use crate::store::block::BLOCK_ROWS;
use crate::store::details::DetailReader;
use crate::store::live_lanes::LaneMoves;
use crate::store::{LaneIdx, LaneKind, RowIdx};

/// Extents that one thread scans at once: about 10 ms if none can be skipped.
const EXTENTS_AT_ONCE: usize = 1024;

/// Maximum number of extents per hit of a search without a scan. A page of a hundred hits then reads about 6,400
/// extents, which takes about 20 ms.
const EXTENTS_PER_HIT: u64 = 64;

/// A row that matches, sorted by start, then lane, then row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    pub(crate) start_ns: i64,
    pub(crate) row: RowIdx,
    /// Duration; 0 for rows other than spans.
    pub(crate) dur_ns: u64,
    pub(crate) name: NameIdx,
}

impl Hit {
    /// Returns the hit with the new index of its lane, if that still has rows.
    #[must_use]
    pub(crate) fn moved(self, moves: &LaneMoves) -> Option<Self> {
        Some(Self { row: moves.row(self.row)?, ..self })
    }

    fn key(&self) -> (i64, RowIdx) {
        (self.start_ns, self.row)
    }
}

/// Returns hits with the new indices of their lanes. Drops a hit if its lane has lost its rows.
#[must_use]
pub(crate) fn moved_hits(hits: &[Hit], moves: &LaneMoves) -> Vec<Hit> {
    hits.iter().filter_map(|hit| hit.moved(moves)).collect()
}

impl PartialOrd for Hit {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Hit {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// The rows that match. Clones are cheap.
#[derive(Debug, Clone)]
pub struct Hits(Arc<HitTable>);

#[derive(Debug)]
struct HitTable {
    snapshot: Snapshot,
    scope: Scope,
    lanes: Vec<LaneHits>,
    /// The hits by slices of time, if the hits of extents were not counted.
    slices: Option<SliceCounts>,
    total: u64,
    ticks: Ticks,
}

#[derive(Debug)]
struct LaneHits {
    lane: LaneIdx,
    rows: Range<u64>,
    /// Extents with a hit, and the number of the lane's hits before each. With counts by slices: extents that may have
    /// a hit, and 0.
    extents: Vec<(usize, u64)>,
    /// Number of the lane's hits; 0 with counts by slices.
    total: u64,
}

/// Finds and counts the spans, instants and samples in `scope` that match, and the sample bars if the scope asks for
/// them. `progress` counts rows, and hits as events; during [`Stage::Listing`], the total of hits.
///
/// # Errors
/// Returns `Cancelled` if cancelled.
pub fn search(snapshot: &Snapshot, scope: &Scope, cancel: &Cancel, progress: &Progress) -> Result<Hits, Cancelled> {
    let matcher = &scope.matcher;
    let scans: Vec<LaneScan<'_>> = scope
        .lanes(snapshot, matcher)
        .map(|lane| LaneScan::new(snapshot, matcher, scope, lane))
        .filter(|scan| !scan.rows.is_empty())
        .collect();
    let rows: u64 = scans.iter().map(|scan| scan.rows.end - scan.rows.start).sum();
    // The number of hits is useful only if it comes long before the hits.
    let (slices, count) = known_hits(snapshot, scope, rows / 16, cancel)?;
    let stage = if count.is_some() { Stage::Listing } else { Stage::Searching };
    progress.begin(stage, rows);
    progress.add_events(count.unwrap_or(0));
    let possible: Vec<Vec<usize>> = scans.par_iter().map(|scan| possible_extents(scan, slices.as_ref())).collect();
    let extent_count: usize = possible.iter().map(Vec::len).sum();
    let slices = slices.filter(|slices| extent_count as u64 <= slices.total().saturating_mul(EXTENTS_PER_HIT));
    let with_extents = scans.par_iter().zip(possible);
    let lanes = if slices.is_some() {
        progress.advance(rows);
        let lanes = with_extents.map(|(scan, extents)| {
            let extents = extents.into_iter().map(|extent| (extent, 0)).collect();
            LaneHits { lane: scan.index, rows: scan.rows.clone(), extents, total: 0 }
        });
        lanes.collect()
    } else {
        let events = if count.is_some() { &Progress::default() } else { progress };
        let lanes = with_extents.map(|(scan, extents)| count_hits(scan, &extents, cancel, (progress, events)));
        lanes.collect::<Result<Vec<_>, Cancelled>>()?
    };
    let with_hits: Vec<_> = scans.iter().zip(&lanes).filter(|(_, lane)| !lane.extents.is_empty()).collect();
    let ticks = Ticks::from_hits(snapshot, &with_hits, slices.is_none(), cancel)?;
    drop(scans);
    let lanes: Vec<LaneHits> = lanes.into_iter().filter(|lane| !lane.extents.is_empty()).collect();
    let total = slices.as_ref().map_or_else(|| lanes.iter().map(|lane| lane.total).sum(), SliceCounts::total);
    let (snapshot, scope) = (snapshot.clone(), scope.clone());
    Ok(Hits(Arc::new(HitTable { snapshot, scope, lanes, slices, total, ticks })))
}

/// Returns the hits by slices and the number of hits. Both are `None` if more than `rows_max` rows outside the nodes of
/// the ledger would have to be read for them. Returns `Cancelled` if cancelled.
fn known_hits(
    snapshot: &Snapshot,
    scope: &Scope,
    rows_max: u64,
    cancel: &Cancel,
) -> Result<(Option<SliceCounts>, Option<u64>), Cancelled> {
    let plan = CountPlan::new(snapshot, scope);
    let outside = plan.scans(snapshot, scope);
    if outside.iter().map(|scan| scan.rows.end - scan.rows.start).sum::<u64>() > rows_max {
        return Ok((None, None));
    }
    if let Some(slices) = SliceCounts::count(snapshot, scope, (&plan, &outside), cancel)? {
        let total = slices.total();
        return Ok((Some(slices), Some(total)));
    }
    let count = hit_count::count_within(snapshot, scope, rows_max, cancel, &Progress::default())?;
    Ok((None, count.map(|count| count.hits)))
}

/// Returns the extents that may have a match, in order.
fn possible_extents(scan: &LaneScan<'_>, slices: Option<&SliceCounts>) -> Vec<usize> {
    let records = scan.lane().extents();
    let has_hits = |slices: &SliceCounts, extent: usize| {
        // All rows of an extent start before the next extent.
        slices.has_hits(records[extent].first_start_ns, records.get(extent + 1).map(|next| next.first_start_ns))
    };
    scan.extents().filter(|&extent| slices.is_none_or(|slices| has_hits(slices, extent))).collect()
}

/// Counts the hits of a lane in each of `extents`. Counts rows in `progress`, and hits in `events`.
fn count_hits(
    scan: &LaneScan<'_>,
    extents: &[usize],
    cancel: &Cancel,
    (progress, events): (&Progress, &Progress),
) -> Result<LaneHits, Cancelled> {
    let judged = extents.iter().map(|&extent| scan.rows_in(extent)).sum();
    // Skipped rows count as done.
    progress.advance((scan.rows.end - scan.rows.start).saturating_sub(judged));
    let parts = extents.par_chunks(EXTENTS_AT_ONCE).map(|extents| {
        scan.prepare(cancel)?;
        let mut reader = DetailReader::default();
        let counts = extents.iter().map(|&extent| (extent, scan.count(extent, &mut reader)));
        let counts: Vec<(usize, u64)> = counts.filter(|(_, count)| *count > 0).collect();
        events.add_events(counts.iter().map(|(_, count)| count).sum());
        progress.advance(extents.iter().map(|&extent| scan.rows_in(extent)).sum());
        Ok(counts)
    });
    let counts = parts.collect::<Result<Vec<_>, Cancelled>>()?.concat();
    let mut total = 0;
    let before = |(extent, count)| {
        total += count;
        (extent, total - count)
    };
    let extents = counts.into_iter().map(before).collect();
    Ok(LaneHits { lane: scan.index, rows: scan.rows.clone(), extents, total })
}

impl Hits {
    /// Returns the number of all hits.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.total
    }

    /// Returns the times of the trace at which they start.
    #[must_use]
    pub(crate) fn ticks(&self) -> &Ticks {
        &self.0.ticks
    }

    /// Returns whether hits are counted by slices of the ledger, without a scan.
    #[cfg(test)]
    pub(crate) fn is_by_slices(&self) -> bool {
        self.0.slices.is_some()
    }

    #[must_use]
    pub(crate) fn matcher(&self) -> &Arc<Matcher> {
        &self.0.scope.matcher
    }

    /// Returns the snapshot that the rows belong to.
    #[must_use]
    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.0.snapshot
    }

    /// Returns whether both belong to one search.
    #[must_use]
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the number of hits on each track, by track index. Reads rows only if they are counted by slices.
    ///
    /// # Errors
    /// Returns `Cancelled` if cancelled.
    pub(crate) fn by_track(&self, cancel: &Cancel, progress: &Progress) -> Result<Vec<u64>, Cancelled> {
        let HitTable { snapshot, scope, lanes, slices, .. } = &*self.0;
        if slices.is_some() {
            return hit_count::count_by_track(snapshot, scope, cancel, progress);
        }
        let mut counts = vec![0; snapshot.tracks().tracks.len()];
        for hits in lanes {
            counts[snapshot.lane(hits.lane).track.index()] += hits.total;
        }
        Ok(counts)
    }

    /// Counts the hits that start before `ts_ns`. Reads at most one extent of each lane with rows before and after, or
    /// the rows of one slice.
    #[must_use]
    pub(crate) fn rank(&self, ts_ns: i64) -> u64 {
        if let Some(slices) = &self.0.slices {
            let slice = slices.at(ts_ns);
            let hits = self.0.lanes.par_iter().map(|hits| self.count_in(hits, &slice, ts_ns));
            return slice.before + hits.sum::<u64>();
        }
        let of_lane = |hits: &LaneHits| {
            let scan = self.scan(hits);
            if scan.lane().info().end_ns < ts_ns {
                return hits.total;
            }
            let records = scan.lane().extents();
            let after = hits.extents.partition_point(|&(extent, _)| records[extent].first_start_ns < ts_ns);
            let Some(last) = after.checked_sub(1) else { return 0 };
            let (extent, before) = hits.extents[last];
            let end = hits.extents.get(after).map_or(hits.total, |&(_, before)| before);
            // All its rows start before the next extent.
            if records.get(extent + 1).is_some_and(|next| next.first_start_ns <= ts_ns) {
                return end;
            }
            let mut reader = DetailReader::default();
            let mut count = 0;
            for (_, hits) in scan.blocks(extent, 0, &mut reader) {
                let mut starts = [0; BLOCK_ROWS];
                hits.block.starts(&mut starts);
                count += hits.slots().filter(|&slot| starts[slot] < ts_ns).count() as u64;
            }
            before + count
        };
        self.0.lanes.par_iter().map(of_lane).sum()
    }

    /// Returns at most `count` hits from number `first` on, in order.
    #[must_use]
    pub fn page(&self, first: u64, count: usize) -> Vec<Hit> {
        if first >= self.0.total || count == 0 {
            return Vec::new();
        }
        let (ts_ns, before) = if let Some(slices) = &self.0.slices {
            self.time_in(&slices.with_hit(first), first)
        } else {
            let ts_ns = self.time_of(first);
            (ts_ns, self.rank(ts_ns))
        };
        let skipped = usize::try_from(first.saturating_sub(before)).unwrap_or(usize::MAX);
        self.from(ts_ns).skip(skipped).take(count).collect()
    }

    /// Counts the hits of a lane that start in a slice before `end_ns`.
    fn count_in(&self, hits: &LaneHits, slice: &Slice, end_ns: i64) -> u64 {
        let scan = self.scan(hits);
        let scan = scan.with_rows(slice.rows(&scan, Some(end_ns)));
        let mut reader = DetailReader::default();
        scan.extents().map(|extent| scan.count(extent, &mut reader)).sum()
    }

    /// Returns the start of the hit with a number, which is in `slice`, and the number of hits that start before.
    fn time_in(&self, slice: &Slice, number: u64) -> (i64, u64) {
        let of_lane = |hits: &LaneHits| {
            let scan = self.scan(hits);
            let scan = scan.with_rows(slice.rows(&scan, None));
            let (mut starts_ns, mut reader) = (Vec::new(), DetailReader::default());
            for extent in scan.extents() {
                for (_, rows) in scan.blocks(extent, 0, &mut reader) {
                    let mut starts = [0; BLOCK_ROWS];
                    rows.block.starts(&mut starts);
                    starts_ns.extend(rows.slots().map(|slot| starts[slot]));
                }
            }
            starts_ns
        };
        let mut starts_ns = self.0.lanes.par_iter().map(of_lane).flatten_iter().collect::<Vec<i64>>();
        // Rows of damaged extents were counted, but have no start.
        let index = usize::try_from(number - slice.before).unwrap_or(usize::MAX).min(starts_ns.len().saturating_sub(1));
        if starts_ns.is_empty() {
            return (slice.to_ns.unwrap_or(i64::MAX), number);
        }
        let (earlier, &mut start_ns, _) = starts_ns.select_nth_unstable(index);
        (start_ns, slice.before + earlier.iter().filter(|&&earlier_ns| earlier_ns < start_ns).count() as u64)
    }

    /// Iterates over the hits that start at or after `ts_ns`, in order.
    pub(crate) fn from(&self, ts_ns: i64) -> impl Iterator<Item = Hit> + '_ {
        SortedHits::new(self, ts_ns)
    }

    /// Returns the next hit after `row` in hit order; without a row, the first that starts after `ts_ns`.
    #[must_use]
    pub(crate) fn next(&self, ts_ns: i64, row: Option<RowIdx>) -> Option<Hit> {
        let after = |hit: &Hit| row.map_or(hit.start_ns > ts_ns, |row| hit.key() > (ts_ns, row));
        self.from(ts_ns).find(after)
    }

    /// Returns the last hit before `row` in hit order; without a row, the last that starts before `ts_ns`.
    #[must_use]
    pub(crate) fn previous(&self, ts_ns: i64, row: Option<RowIdx>) -> Option<Hit> {
        let is_before = |hit: &Hit| row.map_or(hit.start_ns < ts_ns, |row| hit.key() < (ts_ns, row));
        let mut best: Option<Hit> = None;
        // By lane, latest first: an upper bound for the starts of the remaining hits.
        let mut bounds = BinaryHeap::new();
        for (lane_index, hits) in self.0.lanes.iter().enumerate() {
            let lane = self.0.snapshot.store().lane(hits.lane);
            let records = lane.extents();
            let after = hits.extents.partition_point(|&(extent, _)| records[extent].first_start_ns <= ts_ns);
            let Some(&(extent, _)) = after.checked_sub(1).and_then(|last| hits.extents.get(last)) else { continue };
            let next_ns = records.get(extent + 1).map_or(lane.info().end_ns, |next| next.first_start_ns);
            bounds.push((next_ns.min(ts_ns), lane_index, after));
        }
        let mut reader = DetailReader::default();
        while let Some((bound_ns, lane_index, after)) = bounds.pop() {
            if best.is_some_and(|best| best.start_ns > bound_ns) {
                break;
            }
            let hits = &self.0.lanes[lane_index];
            let Some(&(extent, _)) = after.checked_sub(1).and_then(|last| hits.extents.get(last)) else { continue };
            let scan = self.scan(hits);
            let hits = scan.blocks(extent, 0, &mut reader).flat_map(|(_, block)| hits_of(&scan, &block));
            match hits.filter(is_before).last() {
                Some(hit) => best = best.max(Some(hit)),
                None => bounds.push((scan.lane().extents()[extent].first_start_ns, lane_index, after - 1)),
            }
        }
        best
    }

    /// Returns the start of the hit with this number.
    fn time_of(&self, number: u64) -> i64 {
        let (mut low, mut high) = (i128::from(i64::MIN), i128::from(i64::MAX));
        let (start_ns, end_ns) = self.0.snapshot.drawn_range_ns();
        if start_ns <= end_ns {
            (low, high) = (start_ns.into(), end_ns.into());
        }
        // Finds the latest time before which at most `number` hits start.
        while low < high {
            let middle = (low + high + 1).div_euclid(2);
            if self.rank(i64::try_from(middle).unwrap_or(i64::MAX)) <= number {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        i64::try_from(low).unwrap_or(i64::MAX)
    }

    fn scan(&self, hits: &LaneHits) -> LaneScan<'_> {
        LaneScan::from_rows(&self.0.snapshot, &self.0.scope.matcher, hits.lane, hits.rows.clone())
    }
}

/// Iterates over the matching rows of a block as hits, in order.
pub(super) fn hits_of(scan: &LaneScan<'_>, rows: &BlockHits<'_>) -> impl DoubleEndedIterator<Item = Hit> + use<> {
    let (mut starts, mut values, mut names) = ([0; BLOCK_ROWS], [0; BLOCK_ROWS], [0; BLOCK_ROWS]);
    rows.block.names(&mut names);
    if scan.kind() == LaneKind::Spans {
        rows.block.times(&mut starts, &mut values);
    } else {
        rows.block.starts(&mut starts);
    }
    let (lane, first_row) = (scan.index, rows.first_row);
    rows.slots().map(move |slot| Hit {
        start_ns: starts[slot],
        row: RowIdx { lane, row: first_row + slot as u64 },
        dur_ns: values[slot],
        name: NameIdx(names[slot] as u32),
    })
}

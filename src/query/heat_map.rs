//! The heat map of spans: counts of starts by time column and duration bucket. Durations are on a logarithmic scale;
//! zero-length spans have their own row.
//!
//! A span counts once, where it starts, with its whole duration; a span without an end lasts until the last event of
//! its track. A naive heat map loops over all matching spans in scope. [`heat_map`] reads the rows that may match.
//! [`sketched()`] reads the sketches of a ledger: durations are exact, and times are exact to within a slice. It
//! supports only filters of names on all tracks. [`sampled()`] reads a sample of the rows.

mod axis;
mod cells;
mod grid;
mod sampled;
mod sketched;

use std::sync::{Mutex, PoisonError};

use self::axis::ColumnCursor;
pub(crate) use self::axis::HeatMapAxis;
pub(crate) use self::cells::{HeatCell, HeatCells};
pub(crate) use self::grid::HeatMapGrid;
use self::sampled::sampled;
use self::sketched::sketched;
use super::scan::{BlockHits, LaneScan, judge_extents};
use super::scope::Scope;
use super::snapshot::Snapshot;
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::log_scale::{FINEST_BUCKETS, FINEST_LOG2, bucket_of};
use crate::base::progress::Progress;
use crate::store::block::BLOCK_ROWS;
use crate::store::details::DetailReader;

/// Extents that one thread counts at once: a million rows.
const EXTENTS_AT_ONCE: usize = 256;

/// Counts of spans by time column and duration bucket of the finest scale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeatMap {
    pub(crate) axis: HeatMapAxis,
    /// By bucket, the counts of all columns; `None` for an empty bucket.
    buckets: Vec<Option<Box<[u64]>>>,
    pub(crate) spans: u64,
    /// Number of spans without an end in the trace.
    pub(crate) unfinished: u64,
    /// Maximum distance of a start from its column; 0 if exact.
    pub(crate) blur_ns: u64,
    /// Weight of each counted span; above 1, counts are estimates.
    pub(crate) estimated_by: u64,
    /// The counted columns; some at either end may not be counted.
    pub(crate) counted: std::ops::Range<usize>,
}

impl HeatMap {
    /// Creates a map without spans.
    pub(crate) fn empty(axis: HeatMapAxis) -> Self {
        let counted = 0..axis.columns();
        Self { axis, buckets: Vec::new(), spans: 0, unfinished: 0, blur_ns: 0, estimated_by: 1, counted }
    }

    fn add(&mut self, column: usize, bucket: usize, count: u64) {
        let columns = self.axis.columns();
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, None);
        }
        self.buckets[bucket].get_or_insert_with(|| vec![0; columns].into())[column] += count;
        self.spans += count;
    }

    /// Returns whether every span of the scope is counted in its own cell.
    #[must_use]
    pub(crate) fn is_exact(&self) -> bool {
        self.blur_ns == 0 && self.estimated_by == 1
    }

    fn multiply(&mut self, times: u64) {
        self.buckets.iter_mut().flatten().flat_map(|counts| counts.iter_mut()).for_each(|count| *count *= times);
        (self.spans, self.unfinished) = (self.spans * times, self.unfinished * times);
    }

    fn merge(&mut self, other: Self) {
        if self.buckets.len() < other.buckets.len() {
            self.buckets.resize(other.buckets.len(), None);
        }
        for (ours, theirs) in self.buckets.iter_mut().zip(other.buckets) {
            match (ours, theirs) {
                (_, None) => {}
                (ours @ None, theirs) => *ours = theirs,
                (Some(ours), Some(theirs)) => ours.iter_mut().zip(theirs).for_each(|(ours, theirs)| *ours += theirs),
            }
        }
        self.spans += other.spans;
        self.unfinished += other.unfinished;
    }
}

/// If slices of the sketches are longer than 1/32 of a view, a sample of its rows is better.
const SLICES_MIN: i128 = 32;

/// Returns a first answer within milliseconds: from sketches if they resolve the scope, else from a sample of the rows.
/// Returns `None` if reading all rows is as fast. Returns `Cancelled` if cancelled.
pub(crate) fn coarse_heat_map(
    snapshot: &Snapshot,
    scope: &Scope,
    axis: HeatMapAxis,
    cancel: &Cancel,
) -> Result<Option<HeatMap>, Cancelled> {
    let sketch = sketched(snapshot, scope, axis, cancel)?.map(|(map, _)| map);
    let is_sharp =
        |map: &HeatMap| i128::from(map.blur_ns) * SLICES_MIN <= axis.width_ns() && map.counted == (0..axis.columns());
    if let Some(map) = sketch.filter(is_sharp) {
        return Ok(Some(map));
    }
    sampled(snapshot, scope, axis, cancel)
}

/// Counts the matching spans of a scope that start in the range of an axis. `progress` counts rows. Returns `Cancelled`
/// if cancelled.
pub(crate) fn heat_map(
    snapshot: &Snapshot,
    scope: &Scope,
    axis: HeatMapAxis,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<HeatMap, Cancelled> {
    let scope = axis.narrow(scope);
    let scans = scans(snapshot, &scope, cancel)?;
    // At most one map per thread, because each has counts for many columns.
    let maps: Mutex<Vec<HeatMap>> = Mutex::default();
    judge_extents(&scans, EXTENTS_AT_ONCE, (cancel, progress), |scan, extents| {
        let taken = maps.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut map = taken.unwrap_or_else(|| HeatMap::empty(axis));
        count_into(&mut map, scan, extents);
        maps.lock().unwrap_or_else(PoisonError::into_inner).push(map);
        Ok::<(), Cancelled>(())
    })?;
    let maps = maps.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(maps.into_iter().fold(HeatMap::empty(axis), |mut all, map| {
        all.merge(map);
        all
    }))
}

/// Returns the lanes with spans that start in the range of a scope.
fn scans<'a>(snapshot: &'a Snapshot, scope: &'a Scope, cancel: &Cancel) -> Result<Vec<LaneScan<'a>>, Cancelled> {
    let mut scans = Vec::new();
    for (number, lane) in scope.lanes(snapshot, &scope.matcher).enumerate() {
        if number.is_multiple_of(1024) {
            cancel.check()?;
        }
        let scan = LaneScan::from_starts(snapshot, &scope.matcher, scope, lane);
        if !scan.rows.is_empty() {
            scans.push(scan);
        }
    }
    Ok(scans)
}

fn count_into(map: &mut HeatMap, scan: &LaneScan<'_>, extents: &[usize]) {
    let mut reader = DetailReader::default();
    let mut cursor = ColumnCursor::new(map.axis);
    for &extent in extents {
        scan.blocks(extent, 0, &mut reader).for_each(|(_, hits)| add_block(map, scan, &hits, &mut cursor));
    }
    debug_assert!(map.buckets.len() <= FINEST_BUCKETS);
}

/// Counts the matching rows of a block.
fn add_block(map: &mut HeatMap, scan: &LaneScan<'_>, hits: &BlockHits<'_>, cursor: &mut ColumnCursor) {
    let last_row = scan.lane().rows().saturating_sub(1);
    let (mut starts, mut durs) = ([0; BLOCK_ROWS], [0; BLOCK_ROWS]);
    hits.block.times(&mut starts, &mut durs);
    for slot in hits.slots() {
        let Some(column) = cursor.column_of(starts[slot]) else { continue };
        map.add(column, bucket_of(durs[slot], FINEST_LOG2), 1);
        if hits.first_row + slot as u64 == last_row && scan.lane().is_unfinished(last_row) {
            map.unfinished += 1;
        }
    }
}

#[cfg(test)]
mod tests;

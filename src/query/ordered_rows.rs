//! The first rows of a scope in the order of a column, equal ones in time order.
//!
//! A scan of the scope on all threads. Each thread keeps the best rows of the extents that it has read in a bounded
//! heap, so memory depends on the number of requested rows, not on the rows of the trace. Tracks and extents whose
//! bound is worse than the last of the best rows are skipped. The longest spans have an index; see [`super::longest`].
//!
//! Equivalent to sorting all matches by the column, and then by start, lane and row.

use std::collections::BinaryHeap;
use std::sync::Mutex;

use rayon::prelude::*;

use super::scan::{BlockHits, LaneScan};
use super::scope::Scope;
use super::search::{Hit, hits_of};
use super::snapshot::Snapshot;
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::progress::{Progress, Stage};
use crate::store::block::BLOCK_ROWS;
use crate::store::details::DetailReader;

/// Extents that one thread scans between two checks for cancellation: about 1 ms.
const EXTENTS_AT_ONCE: usize = 64;

/// A column of a list of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListColumn {
    Name,
    Duration,
    Start,
    Track,
    Process,
}

/// The order of a list of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListOrder {
    pub(crate) column: ListColumn,
    pub(crate) is_ascending: bool,
}

impl ListOrder {
    /// All rows are available in this order, a page at a time.
    pub(crate) const TIME: Self = Self { column: ListColumn::Start, is_ascending: true };
    pub(crate) const LONGEST: Self = Self { column: ListColumn::Duration, is_ascending: false };
}

/// The values by which rows are sorted. Names have ranks, because comparing texts takes longer than reading a row.
#[derive(Debug)]
pub(crate) enum RowValues {
    /// The rank of each name.
    Name(Vec<u32>),
    /// The rank of each track, or of its process.
    Track(Vec<u32>),
    Duration,
    Start,
}

/// The position of a row in the order. The best row has the least key.
type Key = (u64, Hit);

/// The best rows so far, the worst of them on top.
struct BestRows {
    rows: BinaryHeap<Key>,
    count: usize,
}

impl BestRows {
    fn new(count: usize) -> Self {
        Self { rows: BinaryHeap::new(), count }
    }

    /// Returns whether a row with this key would be one of the best.
    fn accepts(&self, key: &Key) -> bool {
        self.rows.len() < self.count || self.rows.peek().is_some_and(|worst| key < worst)
    }

    fn push(&mut self, key: Key) {
        if self.accepts(&key) {
            self.rows.push(key);
        }
        if self.rows.len() > self.count {
            self.rows.pop();
        }
    }
}

/// Returns the first `count` matching rows of a scope in an order, or all if there are fewer.
///
/// # Errors
/// Returns `Cancelled` if cancelled.
pub(crate) fn first_rows(
    snapshot: &Snapshot,
    scope: &Scope,
    (values, is_ascending): (&RowValues, bool),
    count: usize,
    (cancel, progress): (&Cancel, &Progress),
) -> Result<Vec<Hit>, Cancelled> {
    let matcher = &scope.matcher;
    let scans = scope.lanes(snapshot, matcher).map(|lane| LaneScan::new(snapshot, matcher, scope, lane));
    let scans: Vec<LaneScan<'_>> = scans.filter(|scan| !scan.rows.is_empty()).collect();
    progress.begin(Stage::Searching, scans.iter().map(|scan| scan.rows.end - scan.rows.start).sum());
    let order = ScanOrder { snapshot, values, is_ascending };
    let mut parts: Vec<(u64, usize, usize)> = Vec::new();
    for (number, scan) in scans.iter().enumerate() {
        let extents: Vec<usize> = scan.extents().collect();
        let judged: u64 = extents.iter().map(|&extent| scan.rows_in(extent)).sum();
        // Skipped rows count as done.
        progress.advance((scan.rows.end - scan.rows.start).saturating_sub(judged));
        parts.extend(extents.into_iter().map(|extent| (order.bound(scan, extent), number, extent)));
    }
    // The best rows are found early, and let most of the others be skipped.
    parts.par_sort_unstable();
    let best = Mutex::new(BestRows::new(count));
    parts.par_chunks(EXTENTS_AT_ONCE).try_for_each(|parts| {
        let mut reader = DetailReader::default();
        for &(bound, number, extent) in parts {
            let scan = &scans[number];
            scan.prepare(cancel)?;
            let worst = worst_of(&best);
            if worst.is_none_or(|(worst, _)| bound <= worst) {
                let found = order.best_of(scan, extent, (count, worst), &mut reader);
                let mut best = best.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                found.rows.into_iter().for_each(|key| best.push(key));
            }
            progress.advance(scan.rows_in(extent));
        }
        Ok(())
    })?;
    let best = best.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    Ok(best.rows.into_sorted_vec().into_iter().map(|(_, hit)| hit).collect())
}

/// Returns the key that a row must come before; `None` while all rows are accepted.
fn worst_of(best: &Mutex<BestRows>) -> Option<Key> {
    let best = best.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    best.rows.peek().copied().filter(|_| best.rows.len() >= best.count)
}

/// The order of the rows of a trace.
struct ScanOrder<'a> {
    snapshot: &'a Snapshot,
    values: &'a RowValues,
    is_ascending: bool,
}

impl ScanOrder<'_> {
    /// Returns the value by which a row is sorted, ascending.
    fn value(&self, hit: &Hit) -> u64 {
        let value = match self.values {
            RowValues::Name(ranks) => rank_of(ranks, hit.name.index()),
            RowValues::Track(ranks) => rank_of(ranks, self.snapshot.lane(hit.row.lane).track.index()),
            RowValues::Duration => hit.dur_ns,
            RowValues::Start => ordered(hit.start_ns),
        };
        if self.is_ascending { value } else { !value }
    }

    /// Returns a lower bound for the values of an extent.
    fn bound(&self, scan: &LaneScan<'_>, extent: usize) -> u64 {
        let records = scan.lane().extents();
        match (self.values, self.is_ascending) {
            (RowValues::Track(ranks), is_ascending) => {
                let value = rank_of(ranks, scan.lane().info().track.index());
                if is_ascending { value } else { !value }
            }
            (RowValues::Start, true) => ordered(records[extent].first_start_ns),
            // All its rows start before the next extent.
            (RowValues::Start, false) => records.get(extent + 1).map_or(0, |next| !ordered(next.first_start_ns)),
            (RowValues::Name(_) | RowValues::Duration, _) => 0,
        }
    }

    /// Returns the best rows of an extent that come before `worst`.
    fn best_of(
        &self,
        scan: &LaneScan<'_>,
        extent: usize,
        (count, worst): (usize, Option<Key>),
        reader: &mut DetailReader,
    ) -> BestRows {
        let mut best = BestRows::new(count);
        for (_, mut rows) in scan.blocks(extent, 0, reader) {
            let worst = best.rows.peek().copied().filter(|_| best.rows.len() >= count).or(worst);
            if let Some((worst, _)) = worst {
                self.keep_names_up_to(worst, &mut rows);
            }
            for hit in hits_of(scan, &rows) {
                let key = (self.value(&hit), hit);
                if worst.is_none_or(|worst| key < worst) {
                    best.push(key);
                } else if matches!(self.values, RowValues::Track(_)) {
                    // All later rows of the track start later.
                    return best;
                }
            }
        }
        best
    }

    /// Removes rows from a block by their names alone, without unpacking their times.
    fn keep_names_up_to(&self, worst: u64, rows: &mut BlockHits<'_>) {
        let RowValues::Name(ranks) = self.values else { return };
        let mut names = [0; BLOCK_ROWS];
        rows.block.names(&mut names);
        for slot in rows.slots() {
            let value = rank_of(ranks, names[slot] as usize);
            if (if self.is_ascending { value } else { !value }) > worst {
                rows.mask &= !(1 << slot);
            }
        }
    }
}

/// Returns a rank; rows of a growing trace may have names that have no rank yet.
fn rank_of(ranks: &[u32], index: usize) -> u64 {
    ranks.get(index).map_or(u64::from(u32::MAX), |&rank| rank.into())
}

/// Returns a number that sorts like a time.
fn ordered(ts_ns: i64) -> u64 {
    (ts_ns as u64) ^ (1 << 63)
}

#[cfg(test)]
mod tests;

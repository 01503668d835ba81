//! The longest matching span per bucket of a view, drawn over the dimmed rest.
//!
//! Equivalent to [`super::pixels::longest`] over the matching spans. No pyramid covers a filter, so the rows in view
//! are scanned outside of frames. Two things bound the work. Extents whose names or durations cannot match are skipped.
//! So are extents and blocks that lie within one bucket and hold nothing longer than its best match. If most rows
//! match, a bucket reads some ln(n) of its n blocks; if few do, signatures skip nearly all. In between, a row in view
//! costs up to a nanosecond or two: callers run it on a background thread and may cancel it.

use super::buckets::{Buckets, Cell, RowCount};
use super::matcher::Matcher;
use super::scan::{BlockHits, LaneScan};
use super::scope::Scope;
use super::snapshot::Snapshot;
use crate::base::cancel::{Cancel, Cancelled};
use crate::model::NameIdx;
use crate::store::block::BLOCK_ROWS;
use crate::store::details::DetailReader;
use crate::store::iforest::LongestNs;
use crate::store::{LaneIdx, LaneKind};

/// A span that may represent a bucket.
#[derive(Debug, Clone, Copy)]
struct LongestHit {
    row: u64,
    start_ns: i64,
    dur_ns: u64,
    name: NameIdx,
}

/// Returns the longest matching span of each bucket, in time order. Buckets without a match have no cell, and
/// neighbouring buckets with the same answer share one. For other rows than spans, returns the first match of each
/// bucket. Cells do not count matches.
///
/// # Errors
/// Returns `Cancelled` if cancelled.
pub fn longest(
    snapshot: &Snapshot,
    matcher: &Matcher,
    lane: LaneIdx,
    buckets: Buckets,
    cancel: &Cancel,
) -> Result<Vec<Cell>, Cancelled> {
    if !matcher.has_track(snapshot.lane(lane).track) {
        return Ok(Vec::new());
    }
    let scan = LaneScan::new(snapshot, matcher, &Scope::from_buckets(buckets), lane);
    let mut best = Best { buckets, answers: vec![None; buckets.count as usize] };
    let records = scan.lane().extents();
    let forest = scan.lane().forest::<LongestNs>();
    let mut reader = DetailReader::default();
    for extent in scan.extents() {
        scan.prepare(cancel)?;
        let next_ns = records.get(extent + 1).map(|next| next.first_start_ns);
        if best.has_longer(records[extent].first_start_ns, next_ns, forest.get(2 * extent).map(|longest| longest.0)) {
            continue;
        }
        let Some(extent_data) = scan.lane().extent(extent) else { continue };
        let (directory, forest) = (extent_data.directory(), extent_data.longest());
        for block in 0..extent_data.blocks() {
            let next_ns = directory.get(block + 1).map(|next| next.first_start_ns).or(next_ns);
            if best.has_longer(directory[block].first_start_ns, next_ns, forest.dur_ns(block)) {
                continue;
            }
            if let Some(hits) = scan.block(extent, extent_data, block, &mut reader) {
                best.add_hits(&hits, scan.kind() == LaneKind::Spans);
            }
        }
    }
    Ok(best.cells(&scan))
}

/// The best match of each bucket.
struct Best {
    buckets: Buckets,
    answers: Vec<Option<LongestHit>>,
}

impl Best {
    /// Returns whether rows that start from `first_ns` to `next_ns` lie in one bucket with a match at least as long as
    /// the longest of them.
    fn has_longer(&self, first_ns: i64, next_ns: Option<i64>, longest_ns: Option<u64>) -> bool {
        let (Some(next_ns), Some(longest_ns)) = (next_ns, longest_ns) else { return false };
        let bucket = self.buckets.bucket_at(first_ns);
        bucket == self.buckets.bucket_at(next_ns)
            && self.answer(bucket).is_some_and(|answer| answer.dur_ns >= longest_ns)
    }

    fn answer(&self, bucket: i64) -> Option<LongestHit> {
        let index = usize::try_from(bucket.checked_sub(self.buckets.first)?).ok()?;
        *self.answers.get(index)?
    }

    fn add_hits(&mut self, hits: &BlockHits<'_>, are_spans: bool) {
        let (mut starts, mut values, mut names) = ([0; BLOCK_ROWS], [0; BLOCK_ROWS], [0; BLOCK_ROWS]);
        hits.block.names(&mut names);
        if are_spans {
            hits.block.times(&mut starts, &mut values);
        } else {
            hits.block.starts(&mut starts);
        }
        for slot in hits.slots() {
            let answer = LongestHit {
                row: hits.first_row + slot as u64,
                start_ns: starts[slot],
                dur_ns: values[slot],
                name: NameIdx(names[slot] as u32),
            };
            let last_ns = answer.start_ns.saturating_add_unsigned(answer.dur_ns).saturating_sub(1).max(answer.start_ns);
            let first = self.buckets.bucket_at(answer.start_ns).max(self.buckets.first);
            let last = self.buckets.bucket_at(last_ns).min(self.buckets.end() - 1);
            for bucket in first..=last {
                let longest = &mut self.answers[(bucket - self.buckets.first) as usize];
                if longest.is_none_or(|longest| answer.dur_ns > longest.dur_ns) {
                    *longest = Some(answer);
                }
            }
        }
    }

    fn cells(self, scan: &LaneScan<'_>) -> Vec<Cell> {
        let mut cells: Vec<Cell> = Vec::new();
        for (bucket, answer) in (self.buckets.first..).zip(self.answers) {
            let Some(answer) = answer else { continue };
            let cell = Cell {
                first_bucket: bucket,
                bucket_count: 1,
                row: answer.row,
                start_ns: answer.start_ns,
                end_ns: answer.start_ns.saturating_add_unsigned(answer.dur_ns),
                name: answer.name,
                unfinished: scan.lane().is_unfinished(answer.row),
                first_rows: RowCount::default(),
                last_rows: RowCount::default(),
            };
            if !cells.last_mut().is_some_and(|last| last.extend(&cell)) {
                cells.push(cell);
            }
        }
        cells
    }
}

//! All rows that match a filter: counted exactly, and listed in time order, a page at a time.
//!
//! Counting scans the extents that may have a match once, on all threads, and stores the count of each: 16 bytes per
//! extent of up to 4,096 rows. Pages, ranks and neighbours are answered from these counts and from the few extents
//! around the requested time; no list of hits is ever built. If the ledger has the number of hits, it is reported
//! before the scan starts.
//!
//! Equivalent to all rows of the trace that match every term, sorted by start, lane and row.

mod ticks;

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

pub(crate) use ticks::{PARTS, Ticks};

use super::hit_count;
use super::matcher::Matcher;
use super::scan::{BlockHits, LaneScan};
use super::scope::Scope;
use super::snapshot::Snapshot;
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::progress::{Progress, Stage};
use crate::model::NameIdx;
use crate::store::block::BLOCK_ROWS;
use crate::store::details::DetailReader;
use crate::store::{LaneIdx, LaneKind, RowIdx};

/// Extents that one thread scans at once: some 10 ms if none can be skipped.
const EXTENTS_AT_ONCE: usize = 1024;

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
    fn key(&self) -> (i64, RowIdx) {
        (self.start_ns, self.row)
    }
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
    matcher: Arc<Matcher>,
    lanes: Vec<LaneHits>,
    total: u64,
    ticks: Ticks,
}

#[derive(Debug)]
struct LaneHits {
    lane: LaneIdx,
    rows: Range<u64>,
    /// Extents with a hit, and the number of the lane's hits before each.
    extents: Vec<(usize, u64)>,
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
    let count = hit_count::count_within(snapshot, scope, rows / 16, cancel, &Progress::default())?;
    let stage = if count.is_some() { Stage::Listing } else { Stage::Searching };
    progress.begin(stage, rows);
    progress.add_events(count.map_or(0, |count| count.hits));
    let counted = scans.par_iter().map(|scan| {
        let extents: Vec<usize> = scan.extents().collect();
        let judged = extents.iter().map(|&extent| scan.rows_in(extent)).sum();
        // Skipped rows count as done.
        progress.advance((scan.rows.end - scan.rows.start).saturating_sub(judged));
        let parts = extents.par_chunks(EXTENTS_AT_ONCE).map(|extents| {
            cancel.check()?;
            let mut reader = DetailReader::default();
            let counts = extents.iter().map(|&extent| (extent, scan.count(extent, &mut reader)));
            let counts: Vec<(usize, u64)> = counts.filter(|(_, count)| *count > 0).collect();
            if count.is_none() {
                progress.add_events(counts.iter().map(|(_, count)| count).sum());
            }
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
    });
    let lanes = counted.collect::<Result<Vec<_>, Cancelled>>()?;
    let with_hits: Vec<_> = scans.iter().zip(&lanes).filter(|(_, lane)| lane.total > 0).collect();
    let ticks = Ticks::from_hits(snapshot, &with_hits, cancel)?;
    drop(scans);
    let lanes: Vec<LaneHits> = lanes.into_iter().filter(|lane| lane.total > 0).collect();
    let total = lanes.iter().map(|lane| lane.total).sum();
    let (snapshot, matcher) = (snapshot.clone(), Arc::clone(matcher));
    Ok(Hits(Arc::new(HitTable { snapshot, matcher, lanes, total, ticks })))
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

    #[must_use]
    pub(crate) fn matcher(&self) -> &Arc<Matcher> {
        &self.0.matcher
    }

    /// Counts the hits that start before `ts_ns`. Reads at most one extent of each lane with a hit.
    #[must_use]
    pub(crate) fn rank(&self, ts_ns: i64) -> u64 {
        let of_lane = |hits: &LaneHits| {
            let scan = self.scan(hits);
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
        let ts_ns = self.time_of(first);
        let skipped = usize::try_from(first - self.rank(ts_ns)).unwrap_or(usize::MAX);
        self.from(ts_ns).skip(skipped).take(count).collect()
    }

    /// Iterates over the hits that start at or after `ts_ns`, in order.
    pub(crate) fn from(&self, ts_ns: i64) -> impl Iterator<Item = Hit> + '_ {
        let mut heads = BinaryHeap::new();
        for (place, hits) in self.0.lanes.iter().enumerate() {
            let scan = self.scan(hits);
            let records = scan.lane().extents();
            // The last extent that starts before may still have some.
            let next = hits.extents.partition_point(|&(extent, _)| records[extent].first_start_ns < ts_ns);
            let next = next.saturating_sub(1);
            if let Some(&(extent, _)) = hits.extents.get(next) {
                let bound_ns = records[extent].first_start_ns.max(ts_ns);
                let stream = Stream { place, next, block: 0, hits: Vec::new() };
                heads.push(Reverse(Head { at: (bound_ns, hits.lane), is_bound: true, stream }));
            }
        }
        let mut reader = DetailReader::default();
        std::iter::from_fn(move || {
            loop {
                let Reverse(mut head) = heads.pop()?;
                let hit = if head.is_bound { None } else { head.stream.hits.pop() };
                if head.stream.hits.is_empty() {
                    self.advance(&mut head, ts_ns, &mut reader);
                }
                if let Some(next) = head.stream.hits.last() {
                    (head.at, head.is_bound) = ((next.start_ns, next.row.lane), false);
                    heads.push(Reverse(head));
                }
                if hit.is_some() {
                    return hit;
                }
            }
        })
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
        for (place, hits) in self.0.lanes.iter().enumerate() {
            let records = self.scan(hits).lane().extents();
            let after = hits.extents.partition_point(|&(extent, _)| records[extent].first_start_ns <= ts_ns);
            let Some(&(extent, _)) = after.checked_sub(1).and_then(|last| hits.extents.get(last)) else { continue };
            let next_ns = records.get(extent + 1).map_or(ts_ns, |next| next.first_start_ns);
            bounds.push((next_ns.min(ts_ns), place, after));
        }
        let mut reader = DetailReader::default();
        while let Some((bound_ns, place, after)) = bounds.pop() {
            if best.is_some_and(|best| best.start_ns > bound_ns) {
                break;
            }
            let hits = &self.0.lanes[place];
            let Some(&(extent, _)) = after.checked_sub(1).and_then(|last| hits.extents.get(last)) else { continue };
            let scan = self.scan(hits);
            let hits = scan.blocks(extent, 0, &mut reader).flat_map(|(_, block)| hits_of(&scan, &block));
            match hits.filter(is_before).last() {
                Some(hit) => best = best.max(Some(hit)),
                None => bounds.push((scan.lane().extents()[extent].first_start_ns, place, after - 1)),
            }
        }
        best
    }

    /// Returns the start of the hit with this number.
    fn time_of(&self, number: u64) -> i64 {
        let (mut low, mut high) = (i128::from(i64::MIN), i128::from(i64::MAX));
        let summary = self.0.snapshot.summary();
        if summary.start_ns <= summary.end_ns {
            (low, high) = (summary.start_ns.into(), summary.end_ns.into());
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
        LaneScan::from_rows(&self.0.snapshot, &self.0.matcher, hits.lane, hits.rows.clone())
    }

    /// Advances to the next block with a hit at or after `ts_ns`.
    fn advance(&self, head: &mut Head, ts_ns: i64, reader: &mut DetailReader) {
        let stream = &mut head.stream;
        let hits = &self.0.lanes[stream.place];
        let scan = self.scan(hits);
        while let Some(&(extent, _)) = hits.extents.get(stream.next) {
            let mut blocks = scan.blocks(extent, stream.block, reader);
            for (block, rows) in &mut blocks {
                stream.hits.extend(hits_of(&scan, &rows).filter(|hit| hit.start_ns >= ts_ns));
                if !stream.hits.is_empty() {
                    stream.block = block + 1;
                    // Popped from the end.
                    stream.hits.reverse();
                    return;
                }
            }
            (stream.next, stream.block) = (stream.next + 1, 0);
        }
        stream.hits = Vec::new();
    }
}

/// The next hits of a lane.
#[derive(Debug)]
struct Stream {
    /// Index into the lanes with hits.
    place: usize,
    /// Index into the extents with hits.
    next: usize,
    block: usize,
    /// The remaining hits of one block, latest first.
    hits: Vec<Hit>,
}

/// A lane in the heap, by the start of its next hit, or by a lower bound of it.
#[derive(Debug)]
struct Head {
    at: (i64, LaneIdx),
    is_bound: bool,
    stream: Stream,
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        // A bound comes before a hit at the same time: its lane may come before that of the hit.
        (self.at.0, !self.is_bound, self.at.1).cmp(&(other.at.0, !other.is_bound, other.at.1))
    }
}

/// Iterates over the matching rows of a block as hits, in order.
pub(super) fn hits_of(scan: &LaneScan<'_>, rows: &BlockHits<'_>) -> impl DoubleEndedIterator<Item = Hit> + use<> {
    let (mut starts, mut values, mut names) = ([0; BLOCK_ROWS], [0; BLOCK_ROWS], [0; BLOCK_ROWS]);
    rows.block.starts(&mut starts);
    rows.block.names(&mut names);
    if scan.kind() == LaneKind::Spans {
        rows.block.values(&mut values);
    }
    let (lane, first_row) = (scan.index, rows.first_row);
    rows.slots().map(move |slot| Hit {
        start_ns: starts[slot],
        row: RowIdx { lane, row: first_row + slot as u64 },
        dur_ns: values[slot],
        name: NameIdx(names[slot] as u32),
    })
}

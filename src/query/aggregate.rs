//! Spans added up by name: how many, how long, how long by themselves, and how their durations are spread.
//!
//! Spans that reach into the range count whole in number, mean, quantiles, smallest and largest; their time in total
//! and by themselves is that within the range, so that the times of a selection add up to no more than it has. The time
//! that a span has by itself is without the spans one lane below that start in it.
//!
//! The slow answer: a loop over all spans of the scope that match, and for each a loop over the lane below.

use std::sync::Mutex;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::cursor::LaneCursor;
use super::matcher::Matcher;
use super::scan::LaneScan;
use super::scope::Scope;
use super::snapshot::Snapshot;
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::progress::{Progress, Stage};
use crate::base::sketch::Sketch;
use crate::model::NameIdx;
use crate::store::LaneIdx;
use crate::store::block::BLOCK_ROWS;
use crate::store::details::DetailReader;

/// Extents that one thread takes at once: two million rows, some 80 ms. With fewer, most names of a program have so few
/// spans in each part that their durations are kept one by one, and counted only when parts are put together.
const EXTENTS_AT_ONCE: usize = 512;

/// The totals over the spans of one name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct NameTotals {
    pub(crate) count: u64,
    /// Their time within the range.
    pub(crate) total_ns: u128,
    /// That of it in which no span below them runs.
    pub(crate) self_ns: u128,
    pub(crate) whole_ns: u128,
    pub(crate) min_ns: u64,
    pub(crate) max_ns: u64,
    sketch: Sketch,
}

/// The totals of each name.
///
/// A trace may have millions of names: a list grows where it is, while a map of all this would be in memory twice.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    /// By name, its index in the lists.
    index: FxHashMap<NameIdx, u32>,
    names: Vec<NameIdx>,
    rows: Vec<NameTotals>,
}

/// Equal are those of the same names, in whatever order these were added.
impl PartialEq for Totals {
    fn eq(&self, other: &Self) -> bool {
        self.by_name() == other.by_name()
    }
}

impl Eq for Totals {}

/// Totals that are being added up: what there is so far may be looked at from another thread.
#[derive(Debug, Default)]
pub struct GrowingTotals(Mutex<Totals>);

impl NameTotals {
    /// The mean of whole durations.
    #[must_use]
    pub(crate) fn mean_ns(&self) -> u64 {
        u64::try_from(self.whole_ns.checked_div(self.count.into()).unwrap_or(0)).unwrap_or(u64::MAX)
    }

    /// The duration that a part of the spans, 0 to 1, does not exceed. Exact for up to 128 spans, and else off by at
    /// most one part in 32; see [`Sketch`].
    #[must_use]
    pub(crate) fn quantile_ns(&self, part: f64) -> u64 {
        self.sketch.quantile(part).unwrap_or(0).clamp(self.min_ns, self.max_ns)
    }

    /// The distribution of the durations.
    #[must_use]
    pub(crate) fn sketch(&self) -> &Sketch {
        &self.sketch
    }

    fn add(&mut self, dur_ns: u64, within_ns: u64, self_ns: u64) {
        self.min_ns = if self.count == 0 { dur_ns } else { self.min_ns.min(dur_ns) };
        self.max_ns = self.max_ns.max(dur_ns);
        self.count += 1;
        self.total_ns += u128::from(within_ns);
        self.self_ns += u128::from(self_ns);
        self.whole_ns += u128::from(dur_ns);
        self.sketch.add(dur_ns);
    }

    fn merge(&mut self, other: Self) {
        if self.count == 0 {
            *self = other;
            return;
        }
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.count += other.count;
        self.total_ns += other.total_ns;
        self.self_ns += other.self_ns;
        self.whole_ns += other.whole_ns;
        self.sketch.merge(other.sketch);
    }
}

impl Totals {
    #[must_use]
    pub(crate) fn get(&self, name: NameIdx) -> Option<&NameTotals> {
        self.rows.get(*self.index.get(&name)? as usize)
    }

    /// All names that have a span, in order of their index.
    #[must_use]
    pub(crate) fn by_name(&self) -> Vec<(NameIdx, &NameTotals)> {
        let mut all: Vec<_> = self.names.iter().copied().zip(&self.rows).collect();
        all.sort_unstable_by_key(|(name, _)| *name);
        all
    }

    fn of_name(&mut self, name: NameIdx) -> &mut NameTotals {
        let index = *self.index.entry(name).or_insert_with(|| {
            self.names.push(name);
            self.rows.push(NameTotals::default());
            self.rows.len() as u32 - 1
        });
        &mut self.rows[index as usize]
    }

    fn merge(&mut self, other: Self) {
        if self.names.is_empty() {
            *self = other;
            return;
        }
        for (name, totals) in other.names.into_iter().zip(other.rows) {
            self.of_name(name).merge(totals);
        }
    }
}

impl GrowingTotals {
    #[must_use]
    pub(crate) fn so_far(&self) -> Totals {
        self.0.lock().map(|totals| totals.clone()).unwrap_or_default()
    }

    /// Ends with all there is.
    #[must_use]
    pub fn into_totals(self) -> Totals {
        self.0.into_inner().unwrap_or_default()
    }
}

/// Adds up the spans in `scope` that match, into `growing`. `progress` counts rows.
///
/// # Errors
/// If it was asked to stop; what was added up by then stays.
pub fn aggregate(
    snapshot: &Snapshot,
    matcher: &Matcher,
    scope: &Scope,
    growing: &GrowingTotals,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<(), Cancelled> {
    let scope = &scope.clone().spans();
    let scans: Vec<LaneScan<'_>> =
        scope.lanes(snapshot, matcher).map(|lane| LaneScan::new(snapshot, matcher, scope, lane)).collect();
    progress.begin(Stage::Counting, scans.iter().map(|scan| scan.rows.end - scan.rows.start).sum());
    scans.par_iter().try_for_each(|scan| {
        let extents: Vec<usize> = scan.extents().collect();
        let judged: u64 = extents.iter().map(|&extent| scan.rows_in(extent)).sum();
        progress.advance((scan.rows.end - scan.rows.start).saturating_sub(judged));
        extents.par_chunks(EXTENTS_AT_ONCE).try_for_each(|extents| {
            cancel.check()?;
            let totals = totals_in(snapshot, scan, scope, extents);
            if let Ok(mut growing) = growing.0.lock() {
                growing.merge(totals);
            }
            progress.advance(extents.iter().map(|&extent| scan.rows_in(extent)).sum());
            Ok(())
        })
    })
}

fn totals_in(snapshot: &Snapshot, scan: &LaneScan<'_>, scope: &Scope, extents: &[usize]) -> Totals {
    let mut totals = Totals::default();
    let mut reader = DetailReader::default();
    let mut below = Below::from_lane(snapshot, scan.index);
    let (from_ns, to_ns) = (scope.from_ns.unwrap_or(i64::MIN), scope.to_ns.unwrap_or(i64::MAX));
    for &extent in extents {
        for (_, hits) in scan.blocks(extent, 0, &mut reader) {
            let (mut starts, mut values, mut names) = ([0; BLOCK_ROWS], [0; BLOCK_ROWS], [0; BLOCK_ROWS]);
            hits.block.starts(&mut starts);
            hits.block.values(&mut values);
            hits.block.names(&mut names);
            for slot in hits.slots() {
                let (start_ns, dur_ns) = (starts[slot], values[slot]);
                let (from_ns, to_ns) = (start_ns.max(from_ns), start_ns.saturating_add_unsigned(dur_ns).min(to_ns));
                let within_ns = if to_ns > from_ns { to_ns.abs_diff(from_ns) } else { 0 };
                let below_ns = below.as_mut().map_or(0, |below| below.time(start_ns, from_ns, to_ns));
                let name = totals.of_name(NameIdx(names[slot] as u32));
                name.add(dur_ns, within_ns, within_ns.saturating_sub(below_ns));
            }
        }
    }
    totals
}

/// Adds up the lane below, going forward with the spans above.
struct Below<'a> {
    cursor: LaneCursor<'a>,
    rows: u64,
    /// The position: the extent, its block, the decoded starts and durations, their count, and the next of them.
    extent: usize,
    block: usize,
    starts: [i64; BLOCK_ROWS],
    durs: [u64; BLOCK_ROWS],
    count: usize,
    next: usize,
}

impl<'a> Below<'a> {
    /// The lane of spans one deeper on the same track, if there is one.
    fn from_lane(snapshot: &'a Snapshot, lane: LaneIdx) -> Option<Self> {
        let below = snapshot.lane_below(lane)?;
        let cursor = LaneCursor::new(snapshot.store(), below);
        let rows = cursor.lane().rows();
        let (starts, durs) = ([0; BLOCK_ROWS], [0; BLOCK_ROWS]);
        Some(Self { cursor, rows, extent: 0, block: 0, starts, durs, count: 0, next: 0 })
    }

    /// The time within `[from_ns, to_ns)` of the spans that start in `[start_ns, to_ns)`, where `start_ns` is no
    /// earlier than the last time.
    fn time(&mut self, start_ns: i64, from_ns: i64, to_ns: i64) -> u64 {
        if self.count == 0 || self.starts[self.count - 1] < start_ns {
            self.seek(start_ns);
        }
        while self.next < self.count && self.starts[self.next] < start_ns {
            self.next += 1;
        }
        let mut time_ns = 0;
        loop {
            if self.next >= self.count && !self.next_block() {
                return time_ns;
            }
            let child_ns = self.starts[self.next];
            if child_ns >= to_ns {
                return time_ns;
            }
            let end_ns = child_ns.saturating_add_unsigned(self.durs[self.next]).min(to_ns);
            time_ns += if end_ns > child_ns.max(from_ns) { end_ns.abs_diff(child_ns.max(from_ns)) } else { 0 };
            self.next += 1;
        }
    }

    fn seek(&mut self, start_ns: i64) {
        let position = self.cursor.first_from(start_ns);
        if position.row >= self.rows {
            (self.count, self.next, self.extent) = (0, 0, usize::MAX);
            return;
        }
        let (extent, block, slot) = position.parts();
        (self.extent, self.block) = (extent, block);
        self.decode();
        self.next = slot;
    }

    /// Goes on to the next block; false at the end of the lane.
    fn next_block(&mut self) -> bool {
        let extents = self.cursor.lane().extents().len();
        self.block += 1;
        while self.extent < extents {
            if self.cursor.lane().extent(self.extent).is_some_and(|extent| self.block < extent.blocks()) {
                self.decode();
                return true;
            }
            (self.extent, self.block) = (self.extent + 1, 0);
        }
        (self.count, self.next) = (0, 0);
        false
    }

    fn decode(&mut self) {
        (self.count, self.next) = (0, 0);
        if let Some(extent) = self.cursor.lane().extent(self.extent) {
            let block = extent.block(self.block);
            block.starts(&mut self.starts);
            block.values(&mut self.durs);
            self.count = block.rows();
        }
    }
}

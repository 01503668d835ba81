//! Spans added up by name: counts, times, whole durations and their spread, of any range of time and any tracks.
//!
//! Spans that reach into the range count whole in number, mean, quantiles, smallest and largest. Their total and self
//! time are clipped to the range, so that the times of a selection add up to no more than it has. The self time of a
//! span is its time without that in which its children run; see [`sweep`](crate::store::sweep).
//!
//! With a ledger a range is a few nodes and a sweep of both its edges; without one, and for filters that ask more than
//! names and tracks, it is a sweep of the rows that may match. The slow answer is a loop over all spans of the scope
//! that match, and for each a loop over the spans that lie in it.

mod plan;

use std::sync::Mutex;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use self::plan::{Plan, Sweep};
use super::matcher::Matcher;
use super::scan::LaneScan;
use super::scope::Scope;
use super::slices::starts_in;
use super::snapshot::Snapshot;
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::progress::{Progress, Stage};
use crate::base::sketch::Sketch;
use crate::model::NameIdx;
use crate::store::block::{BLOCK_ROWS, Block};
use crate::store::details::DetailReader;
use crate::store::sums::{NameSums, SumTable};
use crate::store::sweep::{BlockFilter, EveryRow, TrackSweep};
use crate::store::{LaneIdx, LaneKind, Store};

/// Extents that one thread counts durations of at once: two million rows, some 40 ms. With fewer, most names of a
/// program have so few spans in each part that their durations are kept one by one.
const EXTENTS_AT_ONCE: usize = 512;

/// Sums grow for so long on each thread before they are shown.
const SHOWN_EVERY: Duration = Duration::from_millis(100);

/// Totals of the spans of one name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct NameTotals {
    /// Spans that reach into the range.
    pub(crate) count: u64,
    /// Time of the spans within the range.
    pub(crate) total_ns: u128,
    /// The part of the total in which no child runs.
    pub(crate) self_ns: u128,
    /// Time in which at least one span of the name is open on its track: recursion counts once.
    pub(crate) union_ns: u128,
    /// Whole durations.
    pub(crate) whole_ns: u128,
    /// Squares of whole durations, in square nanoseconds; the largest number where they do not fit.
    whole_squares: u128,
    /// The shortest whole duration.
    pub(crate) min_ns: u64,
    /// The longest whole duration.
    pub(crate) max_ns: u64,
    sketch: Sketch,
}

/// The columns of tables of totals, in order: a contract with scripts.
pub(crate) const NUMBER_COLUMNS: [&str; 12] =
    ["count", "total", "self", "mean", "p50", "p99", "min", "max", "distinct", "deviation", "p90", "p95"];

/// Totals by name.
///
/// A trace may have millions of names: a list grows in place, while a map of all this would be in memory twice.
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

/// Totals that are being added up, and can be read from another thread meanwhile.
#[derive(Debug, Default)]
pub struct GrowingTotals(Mutex<Totals>);

/// Work that totals took: repeats exactly for the same question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TotalsWork {
    /// Nodes of the ledger that were read.
    pub nodes: u64,
    /// Bytes of these nodes.
    pub node_bytes: u64,
    /// Ranges of single tracks that were swept.
    pub sweeps: u64,
    /// Nodes that were damaged: their rows were swept instead.
    pub damaged_nodes: u64,
}

impl NameTotals {
    /// The mean of whole durations.
    #[must_use]
    pub(crate) fn mean_ns(&self) -> u64 {
        u64::try_from(self.whole_ns.checked_div(self.count.into()).unwrap_or(0)).unwrap_or(u64::MAX)
    }

    /// The standard deviation of whole durations; `None` where their squares do not fit.
    #[must_use]
    pub(crate) fn deviation_ns(&self) -> Option<f64> {
        if self.count == 0 || self.whole_squares == u128::MAX {
            return None;
        }
        // n * sum of squares - square of sum, exact where it fits: the difference of two rounded numbers has no digits.
        let count = u128::from(self.count);
        let exact = self.whole_squares.checked_mul(count).zip(self.whole_ns.checked_mul(self.whole_ns));
        let count = self.count as f64;
        let variance = match exact {
            Some((squares, square)) => squares.saturating_sub(square) as f64 / count / count,
            None => self.whole_squares as f64 / count - (self.whole_ns as f64 / count).powi(2),
        };
        Some(variance.max(0.0).sqrt())
    }

    /// The duration that a part of the spans, 0 to 1, does not exceed; `None` until all durations are counted. Exact
    /// for up to 128 spans, and else off by at most one part in 32; see [`Sketch`].
    #[must_use]
    pub(crate) fn quantile_ns(&self, part: f64) -> Option<u64> {
        let is_counted = self.sketch.count() == self.count;
        let quantile = self.sketch.quantile(part).filter(|_| is_counted)?;
        Some(quantile.clamp(self.min_ns, self.max_ns))
    }

    /// The numbers of [`NUMBER_COLUMNS`]; `None` for quantiles that are not counted yet, and for a deviation that does
    /// not fit. All but the count are nanoseconds.
    #[must_use]
    pub(crate) fn numbers(&self) -> [Option<u128>; NUMBER_COLUMNS.len()] {
        let time = |ns: u64| Some(u128::from(ns));
        let quantile = |part: f64| self.quantile_ns(part).map(u128::from);
        [
            time(self.count),
            Some(self.total_ns),
            Some(self.self_ns),
            time(self.mean_ns()),
            quantile(0.5),
            quantile(0.99),
            time(self.min_ns),
            time(self.max_ns),
            Some(self.union_ns),
            self.deviation_ns().map(|ns| ns.round() as u128),
            quantile(0.9),
            quantile(0.95),
        ]
    }

    /// The spread of whole durations.
    #[must_use]
    pub(crate) fn sketch(&self) -> &Sketch {
        &self.sketch
    }

    fn add(&mut self, sums: &NameSums) {
        let is_first = self.count == 0;
        self.min_ns = if is_first { sums.min_ns } else { self.min_ns.min(sums.min_ns) };
        self.max_ns = self.max_ns.max(sums.max_ns);
        self.count += sums.starts;
        self.total_ns += sums.total_ns;
        self.self_ns += sums.total_ns - sums.covered_ns;
        self.union_ns += sums.union_ns;
        self.whole_ns += sums.whole_ns;
        self.whole_squares = self.whole_squares.saturating_add(sums.whole_squares);
    }
}

impl Totals {
    /// The totals of one name.
    #[must_use]
    pub(crate) fn get(&self, name: NameIdx) -> Option<&NameTotals> {
        self.rows.get(*self.index.get(&name)? as usize)
    }

    /// All names that have a span, in order of their index.
    #[must_use]
    pub(crate) fn by_name(&self) -> Vec<(NameIdx, &NameTotals)> {
        let mut all: Vec<_> = self.names.iter().copied().zip(&self.rows).filter(|(_, row)| row.count > 0).collect();
        all.sort_unstable_by_key(|(name, _)| *name);
        all
    }

    fn row(&mut self, name: NameIdx) -> &mut NameTotals {
        let index = *self.index.entry(name).or_insert_with(|| {
            self.names.push(name);
            self.rows.push(NameTotals::default());
            self.rows.len() as u32 - 1
        });
        &mut self.rows[index as usize]
    }
}

impl GrowingTotals {
    /// The totals so far.
    #[must_use]
    pub(crate) fn so_far(&self) -> Totals {
        self.0.lock().map(|totals| totals.clone()).unwrap_or_default()
    }

    /// Ends with all totals.
    #[must_use]
    pub fn into_totals(self) -> Totals {
        self.0.into_inner().unwrap_or_default()
    }

    fn add(&self, table: &mut TaskTable) {
        let Ok(mut totals) = self.0.lock() else { return };
        for (name, sums) in table.sums.drain() {
            totals.row(name).add(&sums);
        }
        table.sketches.drain().for_each(|(name, sketch)| totals.row(name).sketch.merge(sketch));
    }
}

/// Adds up the spans in `scope` that match, into `growing`. `progress` counts ranges and rows.
///
/// # Errors
/// If it was cancelled; sums so far stay.
pub fn add_up(
    snapshot: &Snapshot,
    scope: &Scope,
    growing: &GrowingTotals,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<TotalsWork, Cancelled> {
    let work = sum_up(snapshot, scope, growing, cancel, progress)?;
    if scope.matcher.is_by_name() {
        count_durations(snapshot, &spans_of(scope), growing, cancel, progress)?;
    }
    Ok(work)
}

/// The sums alone: filters of names and tracks leave the spread of durations uncounted.
///
/// # Errors
/// As [`add_up`].
pub fn sum_up(
    snapshot: &Snapshot,
    scope: &Scope,
    growing: &GrowingTotals,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<TotalsWork, Cancelled> {
    let scope = &spans_of(scope);
    run(snapshot, &scope.matcher, Plan::new(snapshot, scope), growing, cancel, progress)
}

/// The spans of a scope. The largest time stands for no end: a sweep has no time after it.
fn spans_of(scope: &Scope) -> Scope {
    Scope { to_ns: scope.to_ns.filter(|&to_ns| to_ns < i64::MAX), ..scope.clone().spans() }
}

/// The sums and sketches of one task.
struct TaskTable {
    sums: SumTable,
    sketches: FxHashMap<NameIdx, Sketch>,
    shown: Instant,
}

/// A pool of tables, so that there are no more than threads.
struct TablePool<'a> {
    tables: Mutex<Vec<TaskTable>>,
    name_count: usize,
    growing: &'a GrowingTotals,
}

impl TablePool<'_> {
    fn with<R>(&self, work: impl FnOnce(&mut TaskTable) -> R) -> R {
        let spare = self.tables.lock().ok().and_then(|mut tables| tables.pop());
        let mut table = spare.unwrap_or_else(|| TaskTable {
            sums: SumTable::new(self.name_count),
            sketches: FxHashMap::default(),
            shown: Instant::now(),
        });
        let result = work(&mut table);
        if table.shown.elapsed() > SHOWN_EVERY {
            self.growing.add(&mut table);
            table.shown = Instant::now();
        }
        if let Ok(mut tables) = self.tables.lock() {
            tables.push(table);
        }
        result
    }

    fn finish(self) {
        let tables = self.tables.into_inner().unwrap_or_default();
        tables.into_iter().for_each(|mut table| self.growing.add(&mut table));
    }
}

fn run(
    snapshot: &Snapshot,
    matcher: &Matcher,
    mut plan: Plan,
    growing: &GrowingTotals,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<TotalsWork, Cancelled> {
    let store = snapshot.store();
    let pool = TablePool { tables: Mutex::default(), name_count: snapshot.names().len(), growing };
    let mut work = TotalsWork { nodes: plan.nodes.len() as u64, ..TotalsWork::default() };
    let damaged: Vec<_> = plan
        .nodes
        .par_chunks(4)
        .flat_map_iter(|nodes| {
            pool.with(|table| {
                let mut damaged = nodes.to_vec();
                damaged.retain(|&node| {
                    !store.ledger_node(node, |name, sums: NameSums| {
                        if matcher.has_name(name) {
                            table.sums.merge(name, &sums);
                        }
                    })
                });
                damaged
            })
        })
        .collect();
    if let Some(ledger) = store.ledger() {
        work.node_bytes = plan.nodes.iter().map(|&node| ledger.node_bytes(node)).sum();
    }
    work.damaged_nodes = damaged.len() as u64;
    plan.sweep_damaged(snapshot, &damaged);
    work.sweeps = plan.sweeps.len() as u64;
    progress.begin(Stage::Counting, plan.sweeps.len() as u64);
    let with_sketches = !matcher.is_by_name();
    let at_once = (plan.sweeps.len() / 256).clamp(1, 64);
    let swept = plan.sweeps.par_chunks(at_once).try_for_each(|sweeps| {
        cancel.check()?;
        pool.with(|table| {
            for sweep in sweeps {
                if matcher.is_every_row_of_lane() {
                    sweep_into(store, sweep, EveryRow, table, with_sketches);
                } else {
                    let rows = MatchingRows { matcher, snapshot, reader: DetailReader::default() };
                    sweep_into(store, sweep, rows, table, with_sketches);
                }
            }
        });
        progress.advance(sweeps.len() as u64);
        Ok(())
    });
    pool.finish();
    swept.map(|()| work)
}

fn sweep_into(store: &Store, sweep: &Sweep, rows: impl BlockFilter, table: &mut TaskTable, with_sketches: bool) {
    let TaskTable { sums, sketches, .. } = table;
    let mut count = |name: NameIdx, dur_ns: u64| {
        if with_sketches {
            sketches.entry(name).or_default().add(dur_ns);
        }
    };
    let mut swept = TrackSweep::new(store, sweep.lanes.clone(), sweep.from_ns, rows);
    if sweep.counts_open {
        swept.count_open(sweep.to_ns, sums, &mut count);
    }
    // The largest time stands for no end: a span may start right there.
    if sweep.to_ns > sweep.from_ns || sweep.to_ns == i64::MAX {
        swept.sum_to(sweep.to_ns, sums, &mut count);
    }
}

/// The rows that match a filter.
struct MatchingRows<'a> {
    matcher: &'a Matcher,
    snapshot: &'a Snapshot,
    reader: DetailReader,
}

impl BlockFilter for MatchingRows<'_> {
    fn rows(&mut self, lane: LaneIdx, block: &Block<'_>) -> u64 {
        self.matcher.rows_of(block, (lane, LaneKind::Spans), self.snapshot, &mut self.reader)
    }
}

/// Counts the whole durations of the spans in scope whose names match: from the sketches of the ledger where it has
/// some for the scope, and from the rows of the rest.
fn count_durations(
    snapshot: &Snapshot,
    scope: &Scope,
    growing: &GrowingTotals,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<(), Cancelled> {
    let (store, matcher) = (snapshot.store(), &*scope.matcher);
    let (nodes, mut parts) = plan::sketches(snapshot, scope);
    let add = |sketches: FxHashMap<NameIdx, Sketch>| {
        if let Ok(mut growing) = growing.0.lock() {
            sketches.into_iter().for_each(|(name, sketch)| growing.row(name).sketch.merge(sketch));
        }
    };
    let damaged: Vec<_> = nodes
        .into_par_iter()
        .filter(|&node| {
            let mut sketches = FxHashMap::default();
            let is_intact = store.ledger_node(node, |name, sketch: Sketch| {
                if matcher.has_name(name) {
                    sketches.insert(name, sketch);
                }
            });
            add(sketches);
            !is_intact
        })
        .collect();
    parts.extend(damaged.into_iter().filter_map(|node| starts_in(snapshot, scope, node)));
    let scans: Vec<LaneScan<'_>> = parts
        .iter()
        .flat_map(|part| {
            part.scope.lanes(snapshot, matcher).map(|lane| {
                let scan = if part.with_open { LaneScan::new } else { LaneScan::from_starts };
                scan(snapshot, matcher, &part.scope, lane)
            })
        })
        .collect();
    progress.begin(Stage::Counting, scans.iter().map(|scan| scan.rows.end - scan.rows.start).sum());
    scans.par_iter().try_for_each(|scan| {
        let extents: Vec<usize> = scan.extents().collect();
        let judged: u64 = extents.iter().map(|&extent| scan.rows_in(extent)).sum();
        progress.advance((scan.rows.end - scan.rows.start).saturating_sub(judged));
        extents.par_chunks(EXTENTS_AT_ONCE).try_for_each(|extents| {
            cancel.check()?;
            add(sketches_of(scan, extents));
            progress.advance(extents.iter().map(|&extent| scan.rows_in(extent)).sum());
            Ok(())
        })
    })
}

fn sketches_of(scan: &LaneScan<'_>, extents: &[usize]) -> FxHashMap<NameIdx, Sketch> {
    let mut sketches: FxHashMap<NameIdx, Sketch> = FxHashMap::default();
    let mut reader = DetailReader::default();
    for &extent in extents {
        for (_, hits) in scan.blocks(extent, 0, &mut reader) {
            let (mut durs, mut names) = ([0; BLOCK_ROWS], [0; BLOCK_ROWS]);
            hits.block.values(&mut durs);
            hits.block.names(&mut names);
            for slot in hits.slots() {
                sketches.entry(NameIdx(names[slot] as u32)).or_default().add(durs[slot]);
            }
        }
    }
    sketches
}

#[cfg(test)]
mod tests;

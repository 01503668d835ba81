//! Sums spans by name, or by another [`GroupBy`] key: counts, times, whole durations and their distribution, for any
//! time range and tracks.
//!
//! Spans that reach into the range count whole for number, mean, quantiles, smallest and largest. Total and self time
//! are clipped to the range, so the times of a selection add up to at most its length. The self time of a span is its
//! time minus the time in which its children run; see [`sweep`](crate::store::sweep).
//!
//! With a ledger, a range costs a few nodes and a sweep of both its edges. Without one, and for filters of more than
//! names and tracks, it costs a sweep of the candidate rows. Groups by thread or process need the nodes of single
//! tracks, so tracks without their own tree are swept. Argument values are read row by row. An oracle loops over all
//! matching spans of the scope, and for each span over the spans within it.

mod durations;
mod labels;
mod numbers;
mod pool;
mod table;
mod task_sketches;
mod unfinished;
mod values;

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use self::durations::count_durations;
pub(crate) use self::labels::{LabelCell, label_cells, label_columns};
pub(crate) use self::numbers::{NameTotals, TotalsColumn};
use self::pool::{TablePool, TaskTable};
pub use self::table::{GrowingTotals, Totals};
use self::unfinished::each_unfinished;
use self::values::ValueTable;
pub(crate) use self::values::{GroupValue, VALUE_TEXT_BYTES_MAX, VALUES_MAX};
use super::argument_path::ArgumentPath;
use super::groups::{GroupBy, Grouping, SpanGroup};
use super::matcher::{BlockPosition, Matcher};
use super::plan::{Plan, PlanSource, Sweep, each_sweep};
use super::scope::Scope;
use super::snapshot::Snapshot;
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::progress::{Progress, Stage};
use crate::model::NameIdx;
use crate::store::block::{BLOCK_ROWS, Block};
use crate::store::details::DetailReader;
use crate::store::sums::NameSums;
use crate::store::sweep::{BlockFilter, EveryRow, TrackSweep};
use crate::store::{DetailRef, LaneIdx, LaneKind};

/// Amount of work for totals; repeats exactly for the same query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TotalsWork {
    /// Nodes of the ledger that were read.
    pub nodes: u64,
    /// The size in bytes of the nodes that were read.
    pub node_bytes: u64,
    /// Ranges of single tracks that were swept.
    pub sweeps: u64,
    /// Damaged nodes, whose rows were swept instead.
    pub damaged_nodes: u64,
    /// Blocks of details that were decompressed.
    pub(crate) detail_blocks: u64,
}

/// Adds the matching spans in `scope` to `growing`. `progress` counts ranges and rows.
///
/// # Errors
/// Returns `Cancelled` if cancelled; the sums so far stay in `growing`.
pub fn add_up(
    snapshot: &Snapshot,
    scope: &Scope,
    growing: &GrowingTotals,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<TotalsWork, Cancelled> {
    let question = TotalsQuestion::new(snapshot, scope, growing);
    let work = question.sum(cancel, progress)?;
    if !question.is_scan() {
        count_durations(snapshot, &question.scope, &question.grouping, growing, cancel, progress)?;
    }
    Ok(work)
}

/// Adds the sums only: for filters of names and tracks, distributions of durations are not counted.
///
/// # Errors
/// Fails as [`add_up`] does.
pub fn sum_up(
    snapshot: &Snapshot,
    scope: &Scope,
    growing: &GrowingTotals,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<TotalsWork, Cancelled> {
    TotalsQuestion::new(snapshot, scope, growing).sum(cancel, progress)
}

/// A request for totals, with its scope and grouping resolved.
struct TotalsQuestion<'a> {
    snapshot: &'a Snapshot,
    /// The scope, narrowed to spans.
    scope: Scope,
    by: GroupBy,
    grouping: Grouping,
    growing: &'a GrowingTotals,
}

impl<'a> TotalsQuestion<'a> {
    fn new(snapshot: &'a Snapshot, scope: &Scope, growing: &'a GrowingTotals) -> Self {
        let by = growing.by();
        let grouping = Grouping::new(snapshot, &by);
        Self { snapshot, scope: scope.clone().spans().without_last_ns(), by, grouping, growing }
    }

    /// Returns whether rows are read for sums, so that durations are counted in the same pass.
    fn is_scan(&self) -> bool {
        !self.scope.matcher.is_by_name() || matches!(self.by, GroupBy::Argument(_))
    }

    fn sum(&self, cancel: &Cancel, progress: &Progress) -> Result<TotalsWork, Cancelled> {
        if let GroupBy::Argument(path) = &self.by {
            return self.sum_by_value(path, cancel, progress);
        }
        let work = self.sum_by_keys(cancel, progress)?;
        each_unfinished(self.snapshot, &self.scope, cancel, |lane, span| {
            let group = self.grouping.group(span.name, self.snapshot.lane(lane).track);
            self.growing.change(|totals| totals.row(group).unfinished += 1);
        })?;
        Ok(work)
    }

    fn sum_by_keys(&self, cancel: &Cancel, progress: &Progress) -> Result<TotalsWork, Cancelled> {
        let (snapshot, store, matcher) = (self.snapshot, self.snapshot.store(), &*self.scope.matcher);
        let source =
            PlanSource { ledger: store.ledger(), by_track: self.grouping.is_by_track(), ..PlanSource::default() };
        let mut plan = if matcher.is_by_name() {
            Plan::new(snapshot, &self.scope, &source)
        } else {
            Plan::from_rows(snapshot, &self.scope)
        };
        let pool = TablePool::new(snapshot.names().len(), &self.grouping, self.growing);
        let mut work = TotalsWork { nodes: plan.nodes.len() as u64, ..TotalsWork::default() };
        let damaged: Vec<_> = plan
            .nodes
            .par_chunks(4)
            .flat_map_iter(|nodes| {
                pool.with(|table| {
                    let mut damaged = nodes.to_vec();
                    damaged.retain(|&(node, track)| {
                        table.begin(track, &self.grouping);
                        !store.ledger_node(node, |name, sums: NameSums| {
                            if matcher.has_name(name) {
                                table.sums.merge(name, &sums);
                                pool.limit(table);
                            }
                        })
                    });
                    damaged
                })
            })
            .collect();
        if let Some(ledger) = store.ledger() {
            work.node_bytes = plan.nodes.iter().map(|&(node, _)| ledger.node_bytes(node)).sum();
        }
        work.damaged_nodes = damaged.len() as u64;
        plan.sweep_damaged(snapshot, &source, &damaged);
        work.sweeps = plan.sweeps.len() as u64;
        let detail_blocks = AtomicU64::new(0);
        let swept = each_sweep(&plan.sweeps, (cancel, progress), |sweeps| {
            // Tracks with a few rows each share blocks of details.
            let mut rows = self.matching_rows();
            pool.with(|table| {
                for sweep in sweeps {
                    if matcher.is_every_row_of_lane() {
                        self.sweep_into(sweep, EveryRow, table);
                    } else {
                        self.sweep_into(sweep, &mut rows, table);
                    }
                }
            });
            detail_blocks.fetch_add(rows.reader.unpacked(), Ordering::Relaxed);
        });
        pool.finish();
        work.detail_blocks = detail_blocks.into_inner();
        swept.map(|()| work)
    }

    /// Sums one range after the other, so that the separated values are the same in every run.
    fn sum_by_value(&self, path: &ArgumentPath, cancel: &Cancel, progress: &Progress) -> Result<TotalsWork, Cancelled> {
        let plan = Plan::from_rows(self.snapshot, &self.scope);
        let pool = TablePool::new(0, &self.grouping, self.growing);
        let mut values = ValueTable::new(path);
        progress.begin(Stage::Counting, plan.sweeps.len() as u64);
        let mut rows = RowsByValue { rows: self.matching_rows(), values: &mut values };
        let swept = plan.sweeps.iter().try_for_each(|sweep| {
            cancel.check()?;
            pool.with(|table| {
                self.sweep_into(sweep, &mut rows, table);
                self.growing.change(|totals| totals.add_values(&rows.values.texts));
            });
            progress.advance(1);
            Ok(())
        });
        pool.finish();
        swept?;
        let detail_blocks = rows.rows.reader.unpacked();
        let mut reader = DetailReader::default();
        each_unfinished(self.snapshot, &self.scope, cancel, |_, span| {
            let group = SpanGroup::from_name(NameIdx(values.number(self.snapshot, span.detail, &mut reader)));
            self.growing.change(|totals| totals.row(group).unfinished += 1);
        })?;
        Ok(TotalsWork { sweeps: plan.sweeps.len() as u64, detail_blocks, ..TotalsWork::default() })
    }

    fn matching_rows(&self) -> MatchingRows<'_> {
        MatchingRows::new(self.snapshot, &self.scope.matcher)
    }

    fn sweep_into(&self, sweep: &Sweep, rows: impl BlockFilter, table: &mut TaskTable) {
        let (track, with_sketches) = (self.snapshot.lane(LaneIdx(sweep.lanes.start)).track, self.is_scan());
        table.begin(track, &self.grouping);
        let TaskTable { sums, sketches, .. } = table;
        let mut count = |name: NameIdx, dur_ns: u64| {
            if with_sketches {
                sketches.add(self.grouping.group(name, track), dur_ns);
                if sketches.are_many() {
                    sketches.show(self.growing);
                }
            }
        };
        let mut swept = TrackSweep::new(self.snapshot.store(), sweep.lanes.clone(), sweep.from_ns, rows);
        if sweep.counts_open {
            swept.count_open(sweep.to_ns, sums, &mut count);
        }
        if sweep.has_starts() {
            swept.sum_to(sweep.to_ns, sums, &mut count);
        }
    }
}

/// Passes the rows that match a filter.
pub(super) struct MatchingRows<'a> {
    matcher: &'a Matcher,
    snapshot: &'a Snapshot,
    reader: DetailReader,
}

impl<'a> MatchingRows<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, matcher: &'a Matcher) -> Self {
        Self { matcher, snapshot, reader: DetailReader::default() }
    }
}

impl BlockFilter for MatchingRows<'_> {
    fn rows(&mut self, lane: LaneIdx, first_row: u64, block: &Block<'_>) -> u64 {
        let position = BlockPosition { lane, kind: LaneKind::Spans, first_row };
        self.matcher.rows_of(block, position, self.snapshot, &mut self.reader)
    }
}

/// Passes the rows that match a filter, keyed by an argument value instead of their name.
struct RowsByValue<'a, 'v> {
    rows: MatchingRows<'a>,
    values: &'a mut ValueTable<'v>,
}

impl BlockFilter for RowsByValue<'_, '_> {
    fn rows(&mut self, lane: LaneIdx, first_row: u64, block: &Block<'_>) -> u64 {
        self.rows.rows(lane, first_row, block)
    }

    fn regroup(&mut self, block: &Block<'_>, passing: u64, names: &mut [u64; BLOCK_ROWS]) {
        let MatchingRows { snapshot, reader, .. } = &mut self.rows;
        for slot in (0..block.rows()).filter(|slot| passing >> slot & 1 != 0) {
            names[slot] = self.values.number(snapshot, DetailRef(block.detail(slot)), reader).into();
        }
    }
}

#[cfg(test)]
mod group_tests;
#[cfg(test)]
mod tests;

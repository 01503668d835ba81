//! A pool of tables, in which tasks sum separately before the sums are merged into the visible totals.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use super::table::GrowingTotals;
use super::task_sketches::TaskSketches;
use crate::model::TrackIdx;
use crate::query::groups::{Grouping, SpanGroup};
use crate::store::sums::{Additive as _, NameSums, SumTable};

/// Time that each thread sums before its sums are shown.
const SHOWN_EVERY: Duration = Duration::from_millis(100);

/// Groups or names per thread before they are merged into the visible totals: about 4 MiB of either.
const GROUPS_MAX: usize = 1 << 15;

/// The sums and sketches of one task.
pub(super) struct TaskTable {
    /// By name, or by index of a value.
    pub(super) sums: SumTable,
    /// The track of the sums, if groups depend on tracks.
    track: TrackIdx,
    /// The sums of other tracks by group.
    groups: FxHashMap<SpanGroup, NameSums>,
    pub(super) sketches: TaskSketches,
    shown: Instant,
}

impl TaskTable {
    fn new(name_count: usize) -> Self {
        Self {
            sums: SumTable::new(name_count),
            track: TrackIdx(0),
            groups: FxHashMap::default(),
            sketches: TaskSketches::default(),
            shown: Instant::now(),
        }
    }

    /// Starts the sums of a track.
    pub(super) fn begin(&mut self, track: TrackIdx, grouping: &Grouping) {
        if grouping.is_by_track() && self.track != track {
            for (name, sums) in self.sums.drain() {
                self.groups.entry(grouping.group(name, self.track)).or_insert(NameSums::EMPTY).add(&sums);
            }
            self.track = track;
        }
    }
}

/// A pool of tables, at most one per thread.
pub(super) struct TablePool<'a> {
    tables: Mutex<Vec<TaskTable>>,
    name_count: usize,
    grouping: &'a Grouping,
    growing: &'a GrowingTotals,
}

impl<'a> TablePool<'a> {
    /// Creates an empty pool, whose tables have room for `name_count` names.
    pub(super) fn new(name_count: usize, grouping: &'a Grouping, growing: &'a GrowingTotals) -> Self {
        Self { tables: Mutex::default(), name_count, grouping, growing }
    }

    pub(super) fn with<R>(&self, work: impl FnOnce(&mut TaskTable) -> R) -> R {
        let spare = self.tables.lock().ok().and_then(|mut tables| tables.pop());
        let mut table = spare.unwrap_or_else(|| TaskTable::new(self.name_count));
        let result = work(&mut table);
        if table.shown.elapsed() > SHOWN_EVERY {
            self.show(&mut table);
            table.shown = Instant::now();
        }
        self.limit(&mut table);
        if let Ok(mut tables) = self.tables.lock() {
            tables.push(table);
        }
        result
    }

    /// Merges the sums of a table that has too many.
    #[inline]
    pub(super) fn limit(&self, table: &mut TaskTable) {
        if table.groups.len().max(table.sums.len()) > GROUPS_MAX || table.sketches.are_many() {
            self.show(table);
        }
    }

    /// Merges the sums of all tables.
    pub(super) fn finish(self) {
        let tables = std::mem::take(&mut *self.tables.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        tables.into_iter().for_each(|mut table| self.show(&mut table));
    }

    fn show(&self, table: &mut TaskTable) {
        let TaskTable { sums, track, groups, sketches, .. } = table;
        self.growing.change(|totals| {
            for (name, sums) in sums.drain() {
                totals.row(self.grouping.group(name, *track)).add(&sums);
            }
            groups.drain().for_each(|(group, sums)| totals.row(group).add(&sums));
        });
        sketches.show(self.growing);
    }
}

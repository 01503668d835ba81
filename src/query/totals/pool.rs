//! Sums that tasks add up each for themselves, and hand on from task to task and to what is shown.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use super::table::GrowingTotals;
use crate::base::sketch::Sketch;
use crate::model::TrackIdx;
use crate::query::groups::{Grouping, SpanGroup};
use crate::store::sums::{Additive as _, NameSums, SumTable};

/// Sums grow for so long on each thread before they are shown.
const SHOWN_EVERY: Duration = Duration::from_millis(100);

/// Groups of one thread before they go to what is shown: some 16 MiB.
const GROUPS_MAX: usize = 1 << 16;

/// The sums and sketches of one task.
pub(super) struct TaskTable {
    /// By name, or by the number of a value.
    pub(super) sums: SumTable,
    /// The track that the sums are of, where groups follow from tracks.
    track: TrackIdx,
    /// The sums of other tracks by group.
    groups: FxHashMap<SpanGroup, NameSums>,
    pub(super) sketches: FxHashMap<SpanGroup, Sketch>,
    shown: Instant,
}

impl TaskTable {
    fn new(name_count: usize) -> Self {
        Self {
            sums: SumTable::new(name_count),
            track: TrackIdx(0),
            groups: FxHashMap::default(),
            sketches: FxHashMap::default(),
            shown: Instant::now(),
        }
    }

    /// Begins sums of a track.
    pub(super) fn begin(&mut self, track: TrackIdx, grouping: &Grouping) {
        if grouping.is_by_track() && self.track != track {
            for (name, sums) in self.sums.drain() {
                self.groups.entry(grouping.group(name, self.track)).or_insert(NameSums::EMPTY).add(&sums);
            }
            self.track = track;
        }
    }
}

/// A pool of tables, so that there are no more than threads.
pub(super) struct TablePool<'a> {
    tables: Mutex<Vec<TaskTable>>,
    name_count: usize,
    grouping: &'a Grouping,
    growing: &'a GrowingTotals,
}

impl<'a> TablePool<'a> {
    /// No tables yet; each will have room for `name_count` names.
    pub(super) fn new(name_count: usize, grouping: &'a Grouping, growing: &'a GrowingTotals) -> Self {
        Self { tables: Mutex::default(), name_count, grouping, growing }
    }

    pub(super) fn with<R>(&self, work: impl FnOnce(&mut TaskTable) -> R) -> R {
        let spare = self.tables.lock().ok().and_then(|mut tables| tables.pop());
        let mut table = spare.unwrap_or_else(|| TaskTable::new(self.name_count));
        let result = work(&mut table);
        if table.shown.elapsed() > SHOWN_EVERY || table.groups.len() > GROUPS_MAX {
            self.show(&mut table);
            table.shown = Instant::now();
        }
        if let Ok(mut tables) = self.tables.lock() {
            tables.push(table);
        }
        result
    }

    /// Adds all that tasks have.
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
            sketches.drain().for_each(|(group, sketch)| totals.row(group).sketch.merge(sketch));
        });
    }
}

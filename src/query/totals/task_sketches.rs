//! The distributions of durations that one task counts by group, until they are merged into the visible totals.

use rustc_hash::FxHashMap;

use super::table::GrowingTotals;
use crate::base::sketch::Sketch;
use crate::query::groups::SpanGroup;

/// Durations that a task counts before a merge, unless it has few groups: at most 8 MiB. Sketches that do not store
/// durations one by one have more than 128, in at most 15 KiB.
const DURATIONS_MAX: usize = 1 << 16;

/// Groups that need no merge: at most 8 MiB of sketches.
const GROUPS_MIN: usize = 512;

/// The sketches of one task by group.
#[derive(Default)]
pub(super) struct TaskSketches {
    by_group: FxHashMap<SpanGroup, Sketch>,
    durations: usize,
}

impl TaskSketches {
    pub(super) fn add(&mut self, group: SpanGroup, dur_ns: u64) {
        self.by_group.entry(group).or_default().add(dur_ns);
        self.durations += 1;
    }

    /// Adds the durations of a stored sketch.
    pub(super) fn merge(&mut self, group: SpanGroup, sketch: Sketch) {
        self.durations = self.durations.saturating_add(usize::try_from(sketch.count()).unwrap_or(usize::MAX));
        self.by_group.entry(group).or_default().merge(sketch);
    }

    /// Returns whether the sketches should be merged into the totals, which bounds their memory.
    #[inline]
    pub(super) fn are_many(&self) -> bool {
        self.durations > DURATIONS_MAX && self.by_group.len() > GROUPS_MIN
    }

    /// Merges the sketches into the totals.
    pub(super) fn show(&mut self, growing: &GrowingTotals) {
        self.durations = 0;
        let sketches = std::mem::take(&mut self.by_group);
        if !sketches.is_empty() {
            growing.change(|totals| {
                sketches.into_iter().for_each(|(group, sketch)| totals.row(group).sketch.merge(sketch));
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::NameIdx;

    #[test]
    fn a_task_holds_few_megabytes_however_many_groups_it_has() {
        let growing = GrowingTotals::default();
        let (mut sketches, mut most_bytes) = (TaskSketches::default(), 0);
        // In each of 2,000 groups 130 durations of all lengths, the worst case.
        for number in 0..130 * 2000_u32 {
            let group = SpanGroup::from_name(NameIdx(number / 130));
            sketches.add(group, 1 << (number % 63));
            if sketches.are_many() {
                most_bytes = most_bytes.max(sketches.by_group.values().map(Sketch::heap_bytes).sum());
                sketches.show(&growing);
            }
        }
        sketches.show(&growing);
        let totals = growing.into_totals();
        let counts = (0..2000).map(|name| totals.get(SpanGroup::from_name(NameIdx(name))).unwrap().sketch.count());
        assert!(counts.eq([130; 2000]));
        assert!((1 << 20..8 << 20).contains(&most_bytes), "{most_bytes} bytes");
    }
}

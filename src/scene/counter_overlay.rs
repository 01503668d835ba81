//! Counters that share one row: their members, their units, and the levels of a stack. Curves of one unit share a
//! scale, so that heights are comparable. A stack has one unit.
//!
//! Oracle for a stack: per bucket, the sum of the values of the counters up to a level.

use serde::{Deserialize, Serialize};

use super::counter_form::{CounterForm, range_in};
use crate::model::{TrackIdx, TrackKind};
use crate::query::track_map::TrackMap;
use crate::query::{Buckets, CounterCell, Snapshot};
use crate::store::LaneKind;
use crate::store::lane::LaneIdx;

/// Maximum number of counters in one row: the number of colours that all viewers can distinguish.
pub(crate) const OVERLAID_MAX: usize = 8;

/// Counters that are drawn in the row of the first of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CounterOverlay {
    lead: TrackIdx,
    others: Vec<TrackIdx>,
    pub(crate) is_stacked: bool,
}

impl CounterOverlay {
    /// Creates an overlay from counters, bottom to top. `None` for a single counter, or for more than a row may have.
    #[must_use]
    pub(crate) fn new(counters: &[TrackIdx], is_stacked: bool) -> Option<Self> {
        let (&lead, others) = counters.split_first()?;
        let fits = !others.is_empty() && counters.len() <= OVERLAID_MAX;
        fits.then(|| Self { lead, others: others.to_vec(), is_stacked })
    }

    /// Returns the counter whose row contains all curves.
    #[must_use]
    pub(crate) fn lead(&self) -> TrackIdx {
        self.lead
    }

    pub(crate) fn counters(&self) -> impl Iterator<Item = TrackIdx> + '_ {
        std::iter::once(self.lead).chain(self.others.iter().copied()).take(OVERLAID_MAX)
    }

    #[must_use]
    pub(crate) fn has(&self, track: TrackIdx) -> bool {
        self.counters().any(|counter| counter == track)
    }

    /// Returns the overlay without some counters; `None` if fewer than two are left.
    #[must_use]
    pub(crate) fn without(&self, tracks: &[TrackIdx]) -> Option<Self> {
        self.retained(|counter| !tracks.contains(&counter))
    }

    /// Returns the overlay with the counters for which `is_kept` returns true; `None` if fewer than two are left.
    #[must_use]
    pub(crate) fn retained(&self, is_kept: impl Fn(TrackIdx) -> bool) -> Option<Self> {
        let left: Vec<_> = self.counters().filter(|&counter| is_kept(counter)).collect();
        Self::new(&left, self.is_stacked)
    }

    /// Returns the overlay in another import of the trace; `None` if fewer than two counters are left.
    #[must_use]
    pub(crate) fn mapped(&self, map: &TrackMap) -> Option<Self> {
        let left: Vec<_> = self.counters().filter_map(|counter| map.track(counter)).collect();
        Self::new(&left, self.is_stacked)
    }
}

/// Returns whether the values of these counters can be added: all have the same unit, or none has one.
#[must_use]
pub(crate) fn have_one_unit(snapshot: &Snapshot, counters: &[TrackIdx]) -> bool {
    let units = counters.iter().map(|&counter| snapshot.tracks().unit(counter));
    units.clone().zip(units.skip(1)).all(|(one, next)| one == next)
}

/// The commands that are possible for several counters. A stack needs one unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each enables a command of its own")]
pub(crate) struct CounterChoice {
    pub(crate) can_overlay: bool,
    pub(crate) can_stack: bool,
    /// Whether some of them share a row.
    pub(crate) can_separate: bool,
    /// Whether there is a counter.
    pub(crate) has_counter: bool,
}

/// A row of several counters, as drawn in a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlaidRow {
    /// The lane whose row contains the curves.
    pub(crate) lead: LaneIdx,
    /// From bottom to top.
    pub(crate) curves: Vec<OverlaidCurve>,
    /// The distinct units of the curves.
    pub(crate) units: Vec<String>,
    pub(crate) is_stacked: bool,
    pub(crate) form: CounterForm,
}

/// A curve in a row of several counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OverlaidCurve {
    pub(crate) track: TrackIdx,
    pub(crate) lane: LaneIdx,
    /// Index of its unit in [`OverlaidRow::units`].
    pub(crate) unit: usize,
}

/// Returns the row of an overlay; `None` if the trace has fewer than two of its counters. All curves use the form of
/// the first.
#[must_use]
pub(crate) fn overlaid_row(
    snapshot: &Snapshot,
    overlay: &CounterOverlay,
    forms: &[(TrackIdx, CounterForm)],
) -> Option<OverlaidRow> {
    let mut units: Vec<String> = Vec::new();
    let mut curves = Vec::new();
    for track in overlay.counters().filter(|track| track.index() < snapshot.tracks().tracks.len()) {
        let Some(lane) = counter_lane(snapshot, track) else { continue };
        let unit = snapshot.tracks().unit(track);
        let known = units.iter().position(|known| known == unit);
        let index = known.unwrap_or(units.len());
        if known.is_none() {
            units.push(unit.to_owned());
        }
        curves.push(OverlaidCurve { track, lane, unit: index });
    }
    let lead = curves.first().filter(|first| first.track == overlay.lead && curves.len() > 1)?.lane;
    let is_stacked = overlay.is_stacked && units.len() == 1;
    Some(OverlaidRow { lead, curves, units, is_stacked, form: CounterForm::for_track(overlay.lead, forms) })
}

/// Returns the lane with the values of a counter.
#[must_use]
pub(crate) fn counter_lane(snapshot: &Snapshot, track: TrackIdx) -> Option<LaneIdx> {
    if snapshot.track(track).key.kind != TrackKind::Counter {
        return None;
    }
    snapshot.lanes_of(track).map(LaneIdx).find(|&lane| snapshot.lane(lane).kind == LaneKind::Counter)
}

/// A counter of a stack: its sums with the counters below it, and the base of its area.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct StackLevel {
    /// Counters in a bucket may change at different times, so the minimum and maximum of the sum are bounds.
    pub(crate) cells: Vec<CounterCell>,
    /// By cell: the sum of the counters below.
    pub(crate) base: Vec<f64>,
}

/// The levels of a stack, and the sums of all its counters.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Stack {
    /// From bottom to top.
    pub(crate) levels: Vec<StackLevel>,
    /// Sums of all counters. A cell in which at most one counter changes has the whole range; any other has only the
    /// sum at its end.
    pub(crate) sums: Vec<CounterCell>,
}

impl Stack {
    /// Returns the minimum and maximum of sums that occur in some buckets; zeros for an empty stack.
    #[must_use]
    pub(crate) fn range_of_sums(&self, buckets: Buckets) -> (f64, f64) {
        range_in(&self.sums, buckets).unwrap_or_default()
    }

    /// Returns the minimum and maximum of all levels in some buckets. With negative values, a level may be above the
    /// top of the stack.
    #[must_use]
    pub(crate) fn range_of_levels(&self, buckets: Buckets) -> (f64, f64) {
        let ranges = self.levels.iter().filter_map(|level| range_in(&level.cells, buckets));
        let both = |(min, max): (f64, f64), (least, most): (f64, f64)| (min.min(least), max.max(most));
        ranges.reduce(both).unwrap_or_default()
    }
}

/// Computes the levels of a stack. A counter counts as zero before its first value.
#[must_use]
pub(crate) fn stack(counters: &[Vec<CounterCell>]) -> Stack {
    let mut edges: Vec<i64> =
        counters.iter().flatten().flat_map(|cell| [cell.first_bucket, cell.end_bucket()]).collect();
    edges.sort_unstable();
    edges.dedup();
    let (mut levels, mut sums) = (vec![StackLevel::default(); counters.len()], Vec::new());
    let mut next = vec![0; counters.len()];
    for pair in edges.windows(2) {
        let (first_bucket, end) = (pair[0], pair[1]);
        let Some(bucket_count) = u32::try_from(end - first_bucket).ok() else { continue };
        let mut sum = CounterCell { first_bucket, bucket_count, sampled_ns: None, min: 0.0, max: 0.0, last: 0.0 };
        let (mut has_value, mut changing) = (false, 0);
        for ((cells, next), level) in counters.iter().zip(&mut next).zip(&mut levels) {
            while cells.get(*next).is_some_and(|cell| cell.end_bucket() <= first_bucket) {
                *next += 1;
            }
            let own = cells.get(*next).filter(|cell| cell.first_bucket <= first_bucket);
            let Some(own) = own.filter(|cell| cell.min.is_finite() && cell.max.is_finite() && cell.last.is_finite())
            else {
                continue;
            };
            level.base.push(sum.last);
            sum = CounterCell { min: sum.min + own.min, max: sum.max + own.max, last: sum.last + own.last, ..sum };
            level.cells.push(sum);
            has_value = true;
            changing += usize::from(own.min < own.max);
        }
        // The order of several changes is unknown, and so are the sums between them.
        let at_end = CounterCell { min: sum.last, max: sum.last, ..sum };
        sums.extend(has_value.then_some(if changing > 1 { at_end } else { sum }));
    }
    Stack { levels, sums }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Generates runs of buckets with values, and gaps between them.
    fn counter() -> impl Strategy<Value = Vec<CounterCell>> {
        let run = (0i64..4, 1u32..5, -20i32..20, 0i32..9, 0i32..9);
        proptest::collection::vec(run, 0..12).prop_map(|runs| {
            let mut at = 0;
            let cells = runs.into_iter().map(|(gap, bucket_count, last, below, above)| {
                let first_bucket = at + gap;
                at = first_bucket + i64::from(bucket_count);
                let (min, max, last) = (f64::from(last - below), f64::from(last + above), f64::from(last));
                CounterCell { first_bucket, bucket_count, sampled_ns: None, min, max, last }
            });
            cells.collect()
        })
    }

    proptest! {
        #[test]
        fn each_bucket_of_a_level_is_the_sum_of_the_counters_up_to_it(
            counters in proptest::collection::vec(counter(), 1..5),
        ) {
            let Stack { levels, sums } = stack(&counters);
            let at = |cells: &[CounterCell], bucket: i64| {
                cells.iter().position(|cell| (cell.first_bucket..cell.end_bucket()).contains(&bucket))
            };
            for bucket in 0..120 {
                let mut sum = [0.0; 3];
                for (counter, level) in counters.iter().zip(&levels) {
                    let (own, found) = (at(counter, bucket), at(&level.cells, bucket));
                    prop_assert_eq!(own.is_some(), found.is_some(), "bucket {}", bucket);
                    let (Some(own), Some(found)) = (own, found) else { continue };
                    prop_assert_eq!(level.base[found], sum[2]);
                    let own = counter[own];
                    sum = [sum[0] + own.min, sum[1] + own.max, sum[2] + own.last];
                    let found = level.cells[found];
                    prop_assert_eq!([found.min, found.max, found.last], sum, "bucket {}", bucket);
                }
                let in_bucket: Vec<_> =
                    counters.iter().filter_map(|counter| Some(counter[at(counter, bucket)?])).collect();
                let sum = match in_bucket.iter().filter(|cell| cell.min < cell.max).count() {
                    0 | 1 => sum,
                    _ => [sum[2]; 3],
                };
                let top = at(&sums, bucket).map(|top| [sums[top].min, sums[top].max, sums[top].last]);
                prop_assert_eq!(top, (!in_bucket.is_empty()).then_some(sum), "bucket {}", bucket);
            }
            prop_assert!(levels.iter().all(|level| level.cells.is_sorted_by_key(|cell| cell.first_bucket)));
        }
    }

    #[test]
    fn a_row_has_two_counters_or_more_and_no_more_than_there_are_colours() {
        let tracks: Vec<TrackIdx> = (0..9).map(TrackIdx).collect();
        assert!(CounterOverlay::new(&tracks[..1], false).is_none() && CounterOverlay::new(&tracks, false).is_none());
        let overlay = CounterOverlay::new(&tracks[..8], true).unwrap();
        assert_eq!((overlay.lead(), overlay.counters().count()), (TrackIdx(0), OVERLAID_MAX));
        let rest = overlay.without(&[TrackIdx(0), TrackIdx(5)]).unwrap();
        assert_eq!((rest.lead(), rest.counters().count(), rest.is_stacked), (TrackIdx(1), 6, true));
        assert!(overlay.without(&tracks[..7]).is_none());
        assert!(overlay.has(TrackIdx(7)) && !overlay.has(TrackIdx(8)));
    }

    #[test]
    fn a_value_that_is_not_finite_is_left_out_of_a_sum() {
        let cell =
            |last| CounterCell { first_bucket: 0, bucket_count: 2, sampled_ns: None, min: last, max: last, last };
        let Stack { levels, .. } = stack(&[vec![cell(1.0)], vec![cell(f64::NAN)], vec![cell(3.0)]]);
        assert_eq!((levels[1].cells.len(), levels[2].base[0], levels[2].cells[0].last), (0, 1.0, 4.0));
    }

    #[test]
    fn the_range_of_a_stack_is_that_of_its_sums_in_view() {
        let cell = |first_bucket, last| {
            let (min, max, sampled_ns) = (last, last, Some(first_bucket));
            CounterCell { first_bucket, bucket_count: 1, sampled_ns, min, max, last }
        };
        // Used and free memory: one falls where the other rises, and the sum is always 100.
        let used = vec![cell(0, 10.0), cell(1, 80.0), cell(2, 30.0)];
        let free = vec![cell(0, 90.0), cell(1, 20.0), cell(2, 70.0)];
        let view = |first, count| Buckets { first, count, width_log2: 0 };
        let memory = stack(&[used, free]);
        assert_eq!(memory.range_of_sums(view(0, 3)), (100.0, 100.0));
        assert_eq!(memory.range_of_levels(view(0, 3)), (10.0, 100.0));
        assert_eq!(memory.range_of_levels(view(1, 2)), (30.0, 100.0), "in view");
        // In one bucket, both change, in an unknown order.
        let both = |min, max, last| vec![CounterCell { min, max, ..cell(0, last) }];
        let changed = stack(&[both(10.0, 80.0, 80.0), both(20.0, 90.0, 20.0)]);
        assert_eq!(
            [changed.range_of_sums(view(0, 1)), changed.range_of_levels(view(0, 1))],
            [(100.0, 100.0), (10.0, 170.0)]
        );
        // A counter that begins later is absent before, and a negative counter leaves the level below it above the top.
        let late = stack(&[vec![cell(0, 5.0), cell(1, 6.0)], vec![cell(1, -4.0)]]);
        assert_eq!([late.range_of_sums(view(0, 2)), late.range_of_levels(view(0, 2))], [(2.0, 5.0), (2.0, 6.0)]);
        assert_eq!([stack(&[]), stack(&[Vec::new()])].map(|none| none.range_of_sums(view(0, 3))), [(0.0, 0.0); 2]);
    }
}

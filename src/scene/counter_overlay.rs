//! Counters that share one row: their members, their units, and the levels of a stack. Curves of one unit share a
//! scale, so that heights are comparable. A stack has one unit.
//!
//! Oracle for a stack: per bucket, the sum of the values of the counters up to a level.

use serde::{Deserialize, Serialize};

use super::counter_form::CounterForm;
use crate::model::{TrackIdx, TrackKind};
use crate::query::{CounterCell, Snapshot};
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
        let left: Vec<_> = self.counters().filter(|counter| !tracks.contains(counter)).collect();
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
        let place = known.unwrap_or(units.len());
        if known.is_none() {
            units.push(unit.to_owned());
        }
        curves.push(OverlaidCurve { track, lane, unit: place });
    }
    let lead = curves.first().filter(|first| first.track == overlay.lead && curves.len() > 1)?.lane;
    let is_stacked = overlay.is_stacked && units.len() == 1;
    Some(OverlaidRow { lead, curves, units, is_stacked, form: CounterForm::of(overlay.lead, forms) })
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

/// Computes the levels of a stack, from bottom to top. A counter counts as zero before its first value.
#[must_use]
pub(crate) fn stack_levels(counters: &[Vec<CounterCell>]) -> Vec<StackLevel> {
    let mut edges: Vec<i64> =
        counters.iter().flatten().flat_map(|cell| [cell.first_bucket, cell.end_bucket()]).collect();
    edges.sort_unstable();
    edges.dedup();
    let mut levels = vec![StackLevel::default(); counters.len()];
    let mut next = vec![0; counters.len()];
    for pair in edges.windows(2) {
        let (first_bucket, end) = (pair[0], pair[1]);
        let Some(bucket_count) = u32::try_from(end - first_bucket).ok() else { continue };
        let mut sum = CounterCell { first_bucket, bucket_count, min: 0.0, max: 0.0, last: 0.0 };
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
        }
    }
    levels
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
                CounterCell { first_bucket, bucket_count, min, max, last }
            });
            cells.collect()
        })
    }

    proptest! {
        #[test]
        fn each_bucket_of_a_level_is_the_sum_of_the_counters_up_to_it(
            counters in proptest::collection::vec(counter(), 1..5),
        ) {
            let levels = stack_levels(&counters);
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
    fn a_value_that_is_no_number_takes_no_part_in_a_sum() {
        let cell = |last| CounterCell { first_bucket: 0, bucket_count: 2, min: last, max: last, last };
        let levels = stack_levels(&[vec![cell(1.0)], vec![cell(f64::NAN)], vec![cell(3.0)]]);
        assert_eq!((levels[1].cells.len(), levels[2].base[0], levels[2].cells[0].last), (0, 1.0, 4.0));
    }
}

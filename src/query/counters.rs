//! The counters of a scope: minimum and maximum, mean over time, change and rate.
//!
//! A value holds until the next sample of its track, so the mean weights each value by the time that it holds within
//! the range. The value before the range counts from the start of the range; time before the first sample of a counter
//! does not count. Values that are not finite count as samples only: no value holds until the next one. Row filters do
//! not apply to counters.
//!
//! An oracle loops over all samples of the track and adds the current value at each nanosecond.

use rayon::prelude::*;

use super::compensated_sum::CompensatedSum;
use super::cursor::LaneCursor;
use super::scope::Scope;
use super::snapshot::Snapshot;
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::progress::{Progress, Stage};
use crate::model::{TrackIdx, TrackKind};
use crate::store::iforest::{self, MinMax};
use crate::store::{LaneIdx, LaneKind, RowIdx};

/// Number of samples between checks for cancellation.
const SAMPLES_BETWEEN_CHECKS: u64 = 16 * 1024;

/// The columns of counter tables, in order; scripts rely on them.
pub(crate) const COUNTER_COLUMNS: [&str; 12] =
    ["counter", "process", "pid", "samples", "min", "max", "mean", "first", "last", "change", "rate", "unit"];

/// The statistics of a counter within a range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CounterStats {
    pub(crate) track: TrackIdx,
    pub(crate) samples: u64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// Time-weighted mean; the last value if no value holds for any time.
    pub(crate) mean: f64,
    /// Value at the start of the range, or else the first one in it.
    pub(crate) first: f64,
    /// Value at the end of the range.
    pub(crate) last: f64,
    /// Time from the first value to the end of the range, in nanoseconds.
    pub(crate) known_ns: u64,
}

impl CounterStats {
    /// Returns the last value minus the first.
    #[must_use]
    pub(crate) fn change(&self) -> f64 {
        self.last - self.first
    }

    /// Returns the change per second; `None` if no time passes.
    #[must_use]
    pub(crate) fn rate(&self) -> Option<f64> {
        (self.known_ns > 0).then(|| per_second(self.change(), self.known_ns))
    }
}

/// The value of a counter at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct HeldValue {
    pub(crate) value: f64,
    /// Time at which the counter took the value.
    pub(crate) since_ns: i64,
    /// The previous value; `None` if this is the first.
    pub(crate) before: Option<f64>,
    /// Time of the next value, and that value; `None` if this is the last.
    pub(crate) next: Option<(i64, f64)>,
}

impl HeldValue {
    /// Returns the change from the value before; `None` for the first value, and if a value is not finite.
    #[must_use]
    pub(crate) fn change(&self) -> Option<f64> {
        self.before.map(|before| self.value - before).filter(|change| change.is_finite())
    }

    /// Returns the change per second until the next value.
    #[must_use]
    pub(crate) fn rate(&self) -> Option<f64> {
        let (next_ns, next) = self.next?;
        let passed_ns = next_ns.abs_diff(self.since_ns).max(1);
        Some(per_second(next - self.value, passed_ns)).filter(|rate| rate.is_finite())
    }
}

/// Returns a change per second. The nanoseconds of huge changes would overflow before they are divided.
fn per_second(change: f64, passed_ns: u64) -> f64 {
    let passed_ns = passed_ns as f64;
    if change.abs() > f64::MAX / 1e9 { change / (passed_ns / 1e9) } else { change * 1e9 / passed_ns }
}

/// Returns the sample of a counter's lane whose value holds at `ts_ns`; `None` before the first one. Of several samples
/// at one time, the last counts.
#[must_use]
pub(crate) fn sample_at(snapshot: &Snapshot, lane: LaneIdx, ts_ns: i64) -> Option<RowIdx> {
    let mut cursor = LaneCursor::new(snapshot.store(), lane);
    Some(RowIdx { lane, row: cursor.first_after(ts_ns).row.checked_sub(1)? })
}

/// Returns the value of a counter's lane at `ts_ns`; `None` before the first one.
#[must_use]
pub(crate) fn value_at(snapshot: &Snapshot, lane: LaneIdx, ts_ns: i64) -> Option<HeldValue> {
    held_value(snapshot, sample_at(snapshot, lane, ts_ns)?)
}

/// Returns the value of a sample of a counter, with the values before and after it; `None` if there is no such sample.
#[must_use]
pub(crate) fn held_value(snapshot: &Snapshot, sample: RowIdx) -> Option<HeldValue> {
    let mut cursor = LaneCursor::new(snapshot.store(), sample.lane);
    let current_row = cursor.row(sample.row)?;
    let before = sample.row.checked_sub(1).and_then(|row| cursor.row(row)).map(|row| f64::from_bits(row.value));
    let next = sample.row.checked_add(1).and_then(|row| cursor.row(row)).and_then(|row| {
        let end = cursor.first_after(row.start_ns).row;
        Some((row.start_ns, f64::from_bits(cursor.row(end.checked_sub(1)?)?.value)))
    });
    Some(HeldValue { value: f64::from_bits(current_row.value), since_ns: current_row.start_ns, before, next })
}

/// Returns the time until which a row is drawn. A sample of a counter lasts until the next one, or to the end of the
/// trace.
#[must_use]
pub(crate) fn drawn_until_ns(snapshot: &Snapshot, row: RowIdx) -> i64 {
    let end_ns = snapshot.row(row).end_ns();
    if snapshot.lane(row.lane).kind != LaneKind::Counter {
        return end_ns;
    }
    let next_ns = held_value(snapshot, row).and_then(|held| held.next).map(|(next_ns, _)| next_ns);
    next_ns.unwrap_or(snapshot.end_ns()).max(end_ns)
}

/// Returns whether a track is a counter that is always zero. Reads one node of an index.
#[must_use]
pub(crate) fn is_flat_zero(snapshot: &Snapshot, track: TrackIdx) -> bool {
    if snapshot.track(track).key.kind != TrackKind::Counter {
        return false;
    }
    let mut lanes = snapshot.lanes_of(track).map(LaneIdx).filter(|&lane| snapshot.lane(lane).kind == LaneKind::Counter);
    lanes.next().is_some_and(|lane| {
        let lane = snapshot.store().lane(lane);
        let (nodes, extents) = (lane.forest::<MinMax>(), lane.extents().len());
        let is_known = extents > 0 && nodes.len() >= iforest::node_count(extents);
        is_known && iforest::range(nodes, 0..extents) == MinMax { min: 0.0, max: 0.0 }
    })
}

/// Returns the counters that have a value in `scope`, in track order. `progress` counts samples.
///
/// # Errors
/// Returns `Cancelled` if the request is cancelled.
pub(crate) fn counters(
    snapshot: &Snapshot,
    scope: &Scope,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<Vec<CounterStats>, Cancelled> {
    let lanes: Vec<LaneIdx> = (0..snapshot.store().lane_count())
        .map(LaneIdx)
        .filter(|&lane| {
            let info = snapshot.lane(lane);
            info.kind == LaneKind::Counter && scope.has_track(info.track)
        })
        .collect();
    progress.begin(Stage::Counting, lanes.iter().map(|&lane| snapshot.lane(lane).rows).sum());
    let answers = lanes.par_iter().map(|&lane| lane_stats(snapshot, scope, lane, cancel, progress));
    let mut stats: Vec<_> = answers.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
    stats.sort_by_key(|stats| stats.track);
    Ok(stats)
}

/// The sum of values, weighted by time.
#[derive(Debug, Default)]
struct Weighed {
    /// The current value, and its start.
    current_value: Option<(f64, i64)>,
    /// The first value, and its start within the range.
    first: Option<(f64, i64)>,
    last: f64,
    range: Option<(f64, f64)>,
    sum: CompensatedSum,
    /// Whether the sum is scaled by [`SCALE`].
    is_scaled: bool,
    held_ns: u64,
}

/// A value beyond this may overflow the sum; smaller ones cannot within all of time, which is less than 2^64 ns.
const LARGE: f64 = f64::from_bits((1023 + 900) << 52);

/// A power of two. Any sum of finite values fits after scaling by it, and the scaling is exact.
const SCALE: f64 = f64::from_bits((1023 - 128) << 52);

impl Weighed {
    /// Records a value at a time in the range, at or after the last change.
    fn change(&mut self, ts_ns: i64, value: f64) {
        self.hold_until(ts_ns);
        self.current_value = value.is_finite().then_some((value, ts_ns));
        if value.is_finite() {
            self.first.get_or_insert((value, ts_ns));
            self.last = value;
            self.range = Some(self.range.map_or((value, value), |(min, max)| (min.min(value), max.max(value))));
        }
    }

    fn hold_until(&mut self, ts_ns: i64) {
        if let Some((value, since_ns)) = self.current_value {
            let held_ns = ts_ns.abs_diff(since_ns);
            if value.abs() > LARGE && !self.is_scaled {
                self.is_scaled = true;
                self.sum = self.sum.scaled(SCALE);
            }
            let value = if self.is_scaled { value * SCALE } else { value };
            self.sum.add(value * held_ns as f64);
            self.held_ns += held_ns;
        }
    }

    /// Returns the mean over the time in which a value holds; the last value if none holds for any time.
    fn mean(&self) -> f64 {
        if self.held_ns == 0 {
            return self.last;
        }
        let mean = self.sum.value() / self.held_ns as f64;
        if self.is_scaled { mean / SCALE } else { mean }
    }
}

fn lane_stats(
    snapshot: &Snapshot,
    scope: &Scope,
    lane: LaneIdx,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<Option<CounterStats>, Cancelled> {
    let mut cursor = LaneCursor::new(snapshot.store(), lane);
    let from = scope.from_ns.map_or(0, |from_ns| cursor.first_from(from_ns).row);
    let end = scope.to_ns.map_or(snapshot.lane(lane).rows, |to_ns| cursor.first_from(to_ns).row).max(from);
    if scope.from_ns.is_some_and(|from_ns| from_ns > snapshot.end_ns()) {
        return Ok(None);
    }
    let mut weighed = Weighed::default();
    // The value before the range counts, unless a sample starts with the range.
    if let Some(from_ns) = scope.from_ns
        && (from == end || cursor.row(from).is_some_and(|row| row.start_ns > from_ns))
        && let Some(before) = from.checked_sub(1).and_then(|row| cursor.row(row))
    {
        weighed.change(from_ns, f64::from_bits(before.value));
    }
    for number in from..end {
        if (number - from).is_multiple_of(SAMPLES_BETWEEN_CHECKS) {
            cancel.check()?;
            progress.advance(SAMPLES_BETWEEN_CHECKS.min(end - number));
        }
        if let Some(row) = cursor.row(number) {
            weighed.change(row.start_ns, f64::from_bits(row.value));
        }
    }
    let (Some((first, since_ns)), Some((min, max))) = (weighed.first, weighed.range) else { return Ok(None) };
    // Beyond the end of the trace, no value is known.
    let to_ns = scope.to_ns.map_or(snapshot.end_ns(), |to_ns| to_ns.min(snapshot.end_ns())).max(since_ns);
    weighed.hold_until(to_ns);
    Ok(Some(CounterStats {
        track: snapshot.lane(lane).track,
        samples: end - from,
        min,
        max,
        // The rounded mean must stay within the values.
        mean: weighed.mean().clamp(min, max),
        first,
        last: weighed.last,
        known_ns: to_ns.abs_diff(since_ns),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_a_huge_change_is_finite_if_it_fits() {
        assert_eq!(per_second(1e308, 1_000_000_000), 1e308);
        assert_eq!(per_second(-1e308, 1_000_000_000_000), -1e305);
        assert_eq!(per_second(1e308, 1), f64::INFINITY);
        assert_eq!(per_second(3.0, 300_000_000), 10.0);
    }
}

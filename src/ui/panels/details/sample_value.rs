//! The value of the selected sample of a counter, its change, and the samples before and after it.

use super::facts::Fact;
use crate::base::time::duration_text;
use crate::query::Snapshot;
use crate::query::counters::{HeldValue, held_value};
use crate::scene::counters::{change_text, exact_value_text, with_unit};
use crate::store::lane::{LaneKind, RowIdx};

/// A sample of a counter with its neighbours.
pub(super) struct SampleValue {
    held: HeldValue,
    unit: String,
    /// Time to the next sample; `None` for the last one.
    dur_ns: Option<u64>,
    /// The previous sample, with its value.
    previous: Option<(RowIdx, f64)>,
    /// The next sample, with its value.
    next: Option<(RowIdx, f64)>,
}

impl SampleValue {
    /// Looks up a sample; `None` for a row of another kind.
    pub(super) fn from_row(snapshot: &Snapshot, row: RowIdx) -> Option<Self> {
        let lane = snapshot.lane(row.lane);
        if lane.kind != LaneKind::Counter {
            return None;
        }
        let held = held_value(snapshot, row)?;
        let neighbour = |number: Option<u64>| {
            let other = RowIdx { row: number?, ..row };
            Some((other, held_value(snapshot, other)?.value))
        };
        Some(Self {
            held,
            unit: snapshot.tracks().unit(lane.track).to_owned(),
            dur_ns: held.next.map(|(next_ns, _)| next_ns.abs_diff(held.since_ns)),
            previous: neighbour(row.row.checked_sub(1)),
            next: neighbour(row.row.checked_add(1)),
        })
    }

    fn with_unit(&self, value: &str) -> String {
        with_unit(value, &self.unit)
    }

    /// Returns the value, its change, and how long it holds.
    pub(super) fn facts(&self) -> Vec<Fact> {
        let HeldValue { value, .. } = self.held;
        let change = self.held.change();
        let change_fact =
            |change: f64| Fact::new("Change", self.with_unit(&change_text(change))).copied_as(change.to_string());
        let dur_fact = |dur_ns| Fact::new("Duration", duration_text(dur_ns)).exactly_ns(dur_ns);
        let last = || Fact::new("Duration", "to the end of the trace: it is the last value");
        vec![
            Fact::new("Value", self.with_unit(&exact_value_text(value))).copied_as(value.to_string()),
            change.map_or_else(|| Fact::new("Change", "none: it is the first value"), change_fact),
            self.dur_ns.map_or_else(last, dur_fact),
        ]
    }

    /// Returns the samples before and after it: heading, text and row.
    pub(super) fn neighbours(&self) -> Vec<(&'static str, String, RowIdx)> {
        let titled = [("Previous value", self.previous), ("Next value", self.next)].into_iter();
        let known = titled.filter_map(|(title, neighbour)| Some((title, neighbour?)));
        known.map(|(title, (row, value))| (title, self.with_unit(&exact_value_text(value)), row)).collect()
    }

    /// Returns the lines to copy.
    pub(super) fn lines(&self) -> Vec<String> {
        let value = Some(format!("value: {}", self.with_unit(&self.held.value.to_string())));
        let change = self.held.change().map(|change| format!("change: {}", self.with_unit(&change.to_string())));
        let dur = self.dur_ns.map(|dur_ns| format!("duration: {dur_ns} ns"));
        [value, change, dur].into_iter().flatten().collect()
    }
}

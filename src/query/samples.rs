//! Samples of a part of a trace as one histogram: how many, and how much of their event's unit, for each stack. Reads
//! the arguments of each sample once; names and paths are looked up in the answer, which is far smaller.
//!
//! Never adds up two events, nor one event in two units. The slow answer: for each sample, its event and its stack.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::row_filter::RowFilter;
use super::rows::SortedRows;
use super::scope::Scope;
use super::snapshot::Snapshot;
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::progress::{Progress, Stage};
use crate::model::args::Detail;
use crate::model::sample_measure::{SAMPLES, SampleMeasure};
use crate::model::{NameIdx, StackIdx, StrIdx, Track, TrackIdx, TrackKey, TrackKind};
use crate::store::details::DetailReader;
use crate::store::{DetailRef, LaneIdx, LaneKind};

/// Events that are counted apart. Recorders have some ten; the samples of more are counted as those of one event.
const EVENTS_MAX: usize = 1024;

/// The name of all events beyond [`EVENTS_MAX`].
const OTHER_EVENTS: &str = "(other events)";

/// Rows between two looks at the request to stop: some milliseconds.
const ROWS_BETWEEN_CHECKS: usize = 16 * 1024;

/// Samples that have something in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SampleSum {
    pub(crate) samples: u64,
    /// In the unit of their event.
    pub(crate) weight: u64,
}

/// An event that samples count, in a unit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SampleEvent {
    /// Empty if the trace does not name it.
    pub(crate) name: Box<str>,
    pub(crate) unit: Box<str>,
}

/// A row of [`SampleHistogram::functions`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FunctionSums<'a> {
    pub(crate) name: &'a str,
    /// Of samples whose innermost frame it is.
    pub(crate) own: SampleSum,
    /// Of samples that have it in their stack, each once.
    pub(crate) total: SampleSum,
}

/// Samples by event and stack.
#[derive(Debug, Default)]
pub(crate) struct SampleHistogram {
    /// In order of first appearance.
    events: Vec<SampleEvent>,
    /// By row of `events`.
    sums: Vec<FxHashMap<StackIdx, SampleSum>>,
    /// By row of `events`.
    lanes: Vec<FxHashMap<LaneIdx, SampleSum>>,
}

impl SampleSum {
    #[must_use]
    pub(crate) fn is_empty(self) -> bool {
        self == Self::default()
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.samples += other.samples;
        self.weight = self.weight.saturating_add(other.weight);
    }

    /// Takes away a part of the sum.
    pub(crate) fn subtract(&mut self, part: Self) {
        self.samples = self.samples.saturating_sub(part.samples);
        self.weight = self.weight.saturating_sub(part.weight);
    }
}

impl SampleEvent {
    /// Its name and unit, for a person.
    #[must_use]
    pub(crate) fn title(&self) -> String {
        let Self { name, unit } = self;
        match (&**name, &**unit) {
            ("", unit) => unit.to_owned(),
            (name, SAMPLES) => name.to_owned(),
            (name, unit) => format!("{name} ({unit})"),
        }
    }
}

impl SampleHistogram {
    /// Counts the samples in `scope`. `progress` counts samples.
    ///
    /// # Errors
    /// If it was asked to stop.
    pub(crate) fn count(
        snapshot: &Snapshot,
        scope: &Scope,
        cancel: &Cancel,
        progress: &Progress,
    ) -> Result<Self, Cancelled> {
        let mut histogram = Self::default();
        let mut rows = 0;
        progress.begin(Stage::Counting, snapshot.summary().samples);
        each_sample(snapshot, scope, cancel, |lane, stack, args_json| {
            rows += 1;
            if rows % ROWS_BETWEEN_CHECKS as u64 == 0 {
                progress.advance(ROWS_BETWEEN_CHECKS as u64);
            }
            histogram.add(lane, stack, &SampleMeasure::from_args(args_json));
        })?;
        Ok(histogram)
    }

    fn add(&mut self, lane: LaneIdx, stack: StackIdx, measure: &SampleMeasure<'_>) {
        let (event, weight) = self.event_row(measure);
        let sum = SampleSum { samples: 1, weight };
        self.sums[event].entry(stack).or_default().add(sum);
        self.lanes[event].entry(lane).or_default().add(sum);
    }

    /// The row of the event of a sample, and its weight there.
    fn event_row(&mut self, measure: &SampleMeasure<'_>) -> (usize, u64) {
        let is = |event: &SampleEvent, name: &str, unit: &str| *event.name == *name && *event.unit == *unit;
        let known = self.events.iter().position(|event| is(event, &measure.event, &measure.unit));
        if let Some(row) = known {
            return (row, measure.weight);
        }
        let is_full = self.events.len() >= EVENTS_MAX;
        if is_full && let Some(row) = self.events.iter().position(|event| is(event, OTHER_EVENTS, SAMPLES)) {
            return (row, 1);
        }
        let (name, unit, weight) =
            if is_full { (OTHER_EVENTS, SAMPLES, 1) } else { (&*measure.event, &*measure.unit, measure.weight) };
        self.events.push(SampleEvent { name: name.into(), unit: unit.into() });
        self.sums.push(FxHashMap::default());
        self.lanes.push(FxHashMap::default());
        (self.events.len() - 1, weight)
    }

    /// The events of the samples, in order of first appearance.
    #[must_use]
    pub(crate) fn events(&self) -> &[SampleEvent] {
        &self.events
    }

    /// The event that is shown unless another is asked for: the default of a profile of pprof, else the one with the
    /// most samples, the first of several.
    #[must_use]
    pub(crate) fn default_event(&self, snapshot: &Snapshot) -> Option<usize> {
        let is_default = |track: &&Track| {
            let key = &track.key;
            key.kind == TrackKind::Thread && key.slot == TrackKey::SLOT_UNTIMED && track.sort_index < 0
        };
        let named = snapshot.tracks().tracks.iter().find(is_default).and_then(|track| {
            // As the reader of profiles names the rows of its types.
            self.events.iter().position(|event| *event.title() == *track.name)
        });
        let rows = 0..self.events.len();
        named.or_else(|| rows.max_by_key(|&row| (self.total(row).samples, std::cmp::Reverse(row))))
    }

    /// The sums of the stacks of an event, in no order.
    pub(crate) fn stacks(&self, event: usize) -> impl Iterator<Item = (StackIdx, SampleSum)> + '_ {
        self.sums[event].iter().map(|(&stack, &sum)| (stack, sum))
    }

    /// The sums of an event's samples by their tracks, in the order of tracks.
    #[must_use]
    pub(crate) fn tracks(&self, snapshot: &Snapshot, event: usize) -> Vec<(TrackIdx, SampleSum)> {
        let mut tracks = BTreeMap::<TrackIdx, SampleSum>::new();
        let lanes = self.lanes[event].iter();
        lanes.for_each(|(&lane, &sum)| tracks.entry(snapshot.lane(lane).track).or_default().add(sum));
        tracks.into_iter().collect()
    }

    /// The sum of all samples of an event.
    #[must_use]
    pub(crate) fn total(&self, event: usize) -> SampleSum {
        let mut total = SampleSum::default();
        self.sums[event].values().for_each(|&sum| total.add(sum));
        total
    }

    /// The functions of an event's samples: those with the largest weight of their own first, then by name.
    #[must_use]
    pub(crate) fn functions<'s>(&self, snapshot: &'s Snapshot, event: usize) -> Vec<FunctionSums<'s>> {
        // Rows of names differ in their category, too, so functions are told apart by their texts.
        let mut sums: FxHashMap<StrIdx, FunctionSums<'s>> = FxHashMap::default();
        let mut path: Vec<(StrIdx, NameIdx)> = Vec::new();
        for (stack, sum) in self.stacks(event) {
            path.clear();
            path.extend(snapshot.frames(stack).map(|name| (snapshot.names().text_index(name), name)));
            if path.is_empty() {
                // Shown as a function without a name.
                path.push((snapshot.names().text_index(NameIdx::EMPTY), NameIdx::EMPTY));
            }
            let innermost = path[0].0;
            // Recursion counts once.
            path.sort_unstable();
            path.dedup_by_key(|(text, _)| *text);
            for &(text, name) in &path {
                let row = sums.entry(text).or_insert_with(|| FunctionSums {
                    name: snapshot.names().get(name).text,
                    own: SampleSum::default(),
                    total: SampleSum::default(),
                });
                row.total.add(sum);
                if text == innermost {
                    row.own.add(sum);
                }
            }
        }
        let mut rows: Vec<_> = sums.into_values().collect();
        rows.sort_unstable_by_key(|row| row.name);
        rows.sort_by_key(|row| std::cmp::Reverse((row.own.weight, row.total.weight)));
        rows
    }
}

/// Calls `take` with the lane, the stack and the arguments of each sample in `scope`, in order of time.
///
/// # Errors
/// If it was asked to stop.
pub(crate) fn each_sample(
    snapshot: &Snapshot,
    scope: &Scope,
    cancel: &Cancel,
    mut take: impl FnMut(LaneIdx, StackIdx, &str),
) -> Result<(), Cancelled> {
    let tracks = scope.event_tracks(snapshot);
    let is_sampled = |&lane: &LaneIdx| snapshot.lane(lane).kind == LaneKind::Samples;
    let lanes = tracks.into_iter().flat_map(|track| snapshot.lanes_of(track).map(LaneIdx)).filter(is_sampled);
    let judged = !scope.matcher.is_every_row_of_lane();
    let mut filter = judged.then(|| RowFilter::new(snapshot, std::sync::Arc::clone(&scope.matcher)));
    let mut reader = DetailReader::default();
    for (number, row) in SortedRows::new(snapshot, lanes, scope.from_ns, scope.to_ns).enumerate() {
        if number.is_multiple_of(ROWS_BETWEEN_CHECKS) {
            cancel.check()?;
        }
        if filter.as_mut().is_some_and(|filter| !filter.passes(&row)) {
            continue;
        }
        let detail = Detail::decode(snapshot.store().detail(DetailRef(row.row.detail), &mut reader));
        take(row.index.lane, StackIdx::from_value(row.row.value), detail.args_json);
    }
    Ok(())
}

#[cfg(test)]
mod tests;

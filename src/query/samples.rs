//! Samples of a part of a trace as one histogram: number and weight by stack. With a sample ledger, a range costs a few
//! nodes and the rows of both its edges; row filters read all samples. Names and paths are looked up in the answer,
//! which is far smaller.
//!
//! Never adds up two events, nor two units of one event. The naive way reads the event and stack of each sample.

mod count;
mod frame_set;
mod frame_totals;

use std::hash::Hash;

use rustc_hash::FxHashMap;

use self::frame_totals::FrameTotals;
use super::row_filter::RowFilter;
use super::rows::{SortedRow, SortedRows};
use super::scope::Scope;
use super::snapshot::Snapshot;
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::progress::{Progress, Stage};
use crate::model::args::Detail;
use crate::model::sample_measure::{OFF_CPU, SAMPLES};
pub(crate) use crate::model::{SampleEvent, SampleSum};
use crate::model::{SampleEvents, SampleMeasure, StackIdx, Track, TrackIdx, TrackKind};
use crate::store::details::DetailReader;
use crate::store::sample_node::TrackSamples;
use crate::store::{DetailRef, LaneIdx, LaneKind};

/// The event of context switches.
const SWITCHES: &str = "sched:sched_switch";

/// Rows between two checks for cancellation: some milliseconds.
const ROWS_BETWEEN_CHECKS: u64 = 16 * 1024;

/// The sum of the samples of one event with a stack.
pub(crate) type StackSum = (StackIdx, SampleSum);

/// A row of [`grouped`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GroupSums<K> {
    pub(crate) key: K,
    /// Sum of the samples whose innermost frame has the key.
    pub(crate) own: SampleSum,
    /// Sum of the samples that have it in their stack; recursion counts once.
    pub(crate) total: SampleSum,
}

/// Samples by event and stack.
#[derive(Debug, Default)]
pub(crate) struct SampleHistogram {
    events: SampleEvents,
    sums: Vec<EventSums>,
    pub(crate) work: CountWork,
}

/// The samples of one event.
#[derive(Debug, Default)]
struct EventSums {
    stacks: FxHashMap<StackIdx, SampleSum>,
    tracks: FxHashMap<TrackIdx, TrackSamples>,
}

/// Amount of work for a count; repeats exactly for the same query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CountWork {
    /// Ledger nodes read instead of rows.
    pub(crate) nodes: u64,
    /// Call paths in pruned span nodes.
    pub(crate) node_paths: u64,
    /// Samples or spans read one by one.
    pub(crate) rows: u64,
    /// Damaged nodes, whose rows were read instead.
    pub(crate) damaged_nodes: u64,
}

impl SampleHistogram {
    /// Counts the samples in `scope`. `progress` counts samples that are read one by one. Returns `Cancelled` if
    /// cancelled.
    pub(crate) fn count(
        snapshot: &Snapshot,
        scope: &Scope,
        cancel: &Cancel,
        progress: &Progress,
    ) -> Result<Self, Cancelled> {
        let counted = if scope.matcher.is_every_row_of_lane() {
            count::from_ledger(snapshot, scope, cancel, progress)?
        } else {
            None
        };
        let histogram = match counted {
            Some(histogram) => histogram,
            None => Self::in_order(snapshot, scope, cancel, progress)?,
        };
        Ok(histogram.with_represented_samples())
    }

    /// Counts the samples that each row represents: a line of collapsed stacks stands for as many as its weight.
    fn with_represented_samples(mut self) -> Self {
        for (event, sums) in self.events.rows().iter().zip(&mut self.sums) {
            if &*event.unit == SAMPLES {
                sums.stacks.values_mut().for_each(|sum| sum.samples = sum.weight);
                sums.tracks.values_mut().for_each(|samples| samples.sum.samples = samples.sum.weight);
            }
        }
        self
    }

    /// Reads all samples in time order. The order decides which events exceed the limit, and filters need it to test
    /// each block once.
    fn in_order(snapshot: &Snapshot, scope: &Scope, cancel: &Cancel, progress: &Progress) -> Result<Self, Cancelled> {
        let mut histogram = Self::default();
        progress.begin(Stage::Counting, snapshot.summary().samples);
        each_sample(snapshot, scope, (cancel, progress), |sample, stack, args_json| {
            histogram.work.rows += 1;
            let first = (sample.row.start_ns, sample.index.row);
            let measure = SampleMeasure::from_args(args_json);
            histogram.add(snapshot.lane(sample.index.lane).track, first, stack, Some(&measure));
        })?;
        Ok(histogram)
    }

    fn add(&mut self, track: TrackIdx, first: (i64, u64), stack: StackIdx, measure: Option<&SampleMeasure<'_>>) {
        let (event, weight) = self.events.row_of_sample(measure);
        let sum = SampleSum { samples: 1, weight };
        self.add_stack(event, stack, sum);
        self.add_track(event, track, &TrackSamples { sum, first });
    }

    fn event_sums(&mut self, event: usize) -> &mut EventSums {
        if self.sums.len() <= event {
            self.sums.resize_with(event + 1, EventSums::default);
        }
        &mut self.sums[event]
    }

    fn add_stack(&mut self, event: usize, stack: StackIdx, sum: SampleSum) {
        self.event_sums(event).stacks.entry(stack).or_default().add(sum);
    }

    fn add_track(&mut self, event: usize, track: TrackIdx, samples: &TrackSamples) {
        self.event_sums(event).tracks.entry(track).and_modify(|sums| sums.merge(samples)).or_insert(*samples);
    }

    /// Returns the events of the samples, in order of first appearance.
    #[must_use]
    pub(crate) fn events(&self) -> &[SampleEvent] {
        self.events.rows()
    }

    /// Returns the event shown by default: the default of a pprof profile, else the event with the most samples, the
    /// first of equals. Times off CPU have the stacks of the switches that begin them, and say more.
    #[must_use]
    pub(crate) fn default_event(&self, snapshot: &Snapshot) -> Option<usize> {
        let is_default =
            |track: &&Track| track.key.kind == TrackKind::Thread && track.key.is_untimed() && track.sort_index < 0;
        let named = snapshot.tracks().tracks.iter().find(is_default).and_then(|track| {
            // The profile reader names the rows of its sample types like this.
            self.events().iter().position(|event| *event.title() == *track.name)
        });
        let has_off_cpu = self.events().iter().any(|event| *event.name == *OFF_CPU);
        let is_switch = |row: &usize| has_off_cpu && *self.events()[*row].name == *SWITCHES;
        let rows = (0..self.events().len()).filter(|row| !is_switch(row));
        named.or_else(|| rows.max_by_key(|&row| (self.total(row).samples, std::cmp::Reverse(row))))
    }

    /// Iterates over the sums of an event's stacks, in no order.
    pub(crate) fn stacks(&self, event: usize) -> impl Iterator<Item = StackSum> + '_ {
        self.sums[event].stacks.iter().map(|(&stack, &sum)| (stack, sum))
    }

    /// Returns the sums of an event's stacks, in order of the stacks.
    #[must_use]
    pub(crate) fn sorted_stacks(&self, event: usize) -> Vec<StackSum> {
        let mut stacks: Vec<_> = self.stacks(event).collect();
        stacks.sort_unstable_by_key(|&(stack, _)| stack);
        stacks
    }

    /// Returns the sums of an event's samples by track, in track order.
    #[must_use]
    pub(crate) fn tracks(&self, event: usize) -> Vec<(TrackIdx, SampleSum)> {
        let mut tracks: Vec<_> = self.sums[event].tracks.iter().map(|(&track, samples)| (track, samples.sum)).collect();
        tracks.sort_unstable_by_key(|&(track, _)| track);
        tracks
    }

    /// Returns the sum of all samples of an event.
    #[must_use]
    pub(crate) fn total(&self, event: usize) -> SampleSum {
        let mut total = SampleSum::default();
        self.sums[event].tracks.values().for_each(|samples| total.add(samples.sum));
        total
    }

    /// Groups the samples of an event by the text of their functions, whatever their module; `None` means samples
    /// without a stack. The largest self weight comes first, then the name.
    #[must_use]
    pub(crate) fn by_text<'s>(&self, snapshot: &'s Snapshot, event: usize) -> Vec<GroupSums<Option<&'s str>>> {
        let (names, stacks) = (snapshot.names(), snapshot.stacks());
        let text_of = |frame| (frame != StackIdx::EMPTY).then(|| names.text_index(stacks.get(frame).name));
        let sums = grouped(snapshot, self.stacks(event), text_of).into_iter();
        let mut rows: Vec<_> = sums
            .map(|GroupSums { key, own, total }| GroupSums { key: key.map(|text| names.text(text)), own, total })
            .collect();
        rows.sort_unstable_by_key(|row| row.key);
        rows.sort_by_key(|row| std::cmp::Reverse((row.own.weight, row.total.weight)));
        rows
    }
}

/// Groups the samples of stacks by a key of their frames, in no order. Samples without a stack have the key of
/// [`StackIdx::EMPTY`].
#[must_use]
pub(crate) fn grouped<K: Hash + Eq + Copy>(
    snapshot: &Snapshot,
    stacks: impl Iterator<Item = StackSum>,
    mut key_of: impl FnMut(StackIdx) -> K,
) -> Vec<GroupSums<K>> {
    let table = snapshot.stacks();
    let mut sums: FxHashMap<K, GroupSums<K>> = FxHashMap::default();
    let none = SampleSum::default();
    let mut add = |key: K, own: SampleSum, total: SampleSum| {
        let row = sums.entry(key).or_insert(GroupSums { key, own: none, total: none });
        row.own.add(own);
        row.total.add(total);
    };
    let innermost = |stack| table.path(snapshot.stack(stack)).next().unwrap_or(StackIdx::EMPTY);
    let own: Vec<_> = stacks.map(|(stack, sum)| (innermost(stack), sum)).collect();
    own.iter().for_each(|&(frame, sum)| add(key_of(frame), sum, none));
    FrameTotals::new(table, &own).each_outermost(key_of, |key, sum| add(key, none, sum));
    sums.into_values().collect()
}

/// Calls `take` with the row, stack and arguments of each sample in `scope`, in time order. `progress` advances by the
/// samples read, even if the filter excludes them. Returns `Cancelled` if cancelled.
pub(crate) fn each_sample(
    snapshot: &Snapshot,
    scope: &Scope,
    (cancel, progress): (&Cancel, &Progress),
    mut take: impl FnMut(&SortedRow, StackIdx, &str),
) -> Result<(), Cancelled> {
    let tracks = scope.event_tracks(snapshot);
    let is_sampled = |&lane: &LaneIdx| snapshot.lane(lane).kind == LaneKind::Samples;
    let lanes = tracks.into_iter().flat_map(|track| snapshot.lanes_of(track).map(LaneIdx)).filter(is_sampled);
    let judged = !scope.matcher.is_every_row_of_lane();
    let mut filter = judged.then(|| RowFilter::new(snapshot, std::sync::Arc::clone(&scope.matcher)));
    let mut reader = DetailReader::default();
    cancel.check()?;
    let mut unreported = 0;
    for row in SortedRows::new(snapshot, lanes, scope.from_ns, scope.to_ns) {
        if unreported == ROWS_BETWEEN_CHECKS {
            cancel.check()?;
            progress.advance(std::mem::take(&mut unreported));
        }
        unreported += 1;
        if filter.as_mut().is_some_and(|filter| !filter.passes(&row)) {
            continue;
        }
        let detail = Detail::decode(snapshot.store().detail(DetailRef(row.row.detail), &mut reader));
        take(&row, StackIdx::from_value(row.row.value), detail.args_json);
    }
    progress.advance(unreported);
    Ok(())
}

#[cfg(test)]
mod tests;

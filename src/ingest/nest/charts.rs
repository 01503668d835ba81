//! Samples: rows of their thread, and spans of a flame chart beside it. A trace may have a million threads with one
//! sample each, so charts are small entries of one table.

use std::io;

use rustc_hash::FxHashMap;

use super::Nester;
use super::spilled_samples::{SampleSpill, Spilled};
use super::tracks::{LaneSlot, SpanLanes, set_lane};
use crate::ingest::flame::{CutStacks, FlameChart, FlameSpan, TimedStack};
use crate::ingest::spill::SpillFile;
use crate::model::args::Detail;
use crate::model::key_texts::abbreviated;
use crate::model::sample_measure::{OFF_CPU, sample_event};
use crate::model::{Event, Loss, SampleMeasure, StackIdx, Stacks, TrackIdx, TrackKind};
use crate::store::{LaneKind, Row};

/// Maximum number of charts per thread; recorders have about ten events.
const CHARTS_MAX: usize = 64;

/// The charts of all threads.
#[derive(Default)]
pub(super) struct SampleCharts<'a> {
    /// By track of the trace.
    tracks: Vec<SampledTrack>,
    charts: Vec<EventChart>,
    /// The events of samples, in order of their first chart.
    events: Vec<Box<str>>,
    event_index: FxHashMap<Box<str>, EventIdx>,
    /// The event of the last sample.
    last_event: EventIdx,
    /// The event of times off CPU, if it has a chart.
    off_cpu: Option<EventIdx>,
    /// Memory of the charts without their entries.
    held_bytes: usize,
    /// The memory limit above which growing charts are spilled, and the destination of their later samples.
    spill: Option<(usize, SampleSpill<'a>)>,
    /// Spans that a sample has ended; reused to save allocations.
    spans: Vec<FlameSpan>,
}

/// A row of [`SampleCharts::events`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct EventIdx(u32);

/// A row of [`SampleCharts::charts`], or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ChartSlot(u32);

impl ChartSlot {
    const NONE: Self = Self(u32::MAX);
}

#[derive(Clone, Copy)]
struct SampledTrack {
    lane: LaneSlot,
    first: ChartSlot,
}

/// The samples of one event of a thread.
struct EventChart {
    chart: FlameChart,
    /// The lanes of spans that were written before the end of the trace.
    lanes: Option<Box<SpanLanes>>,
    event: EventIdx,
    /// The track of the chart.
    track: TrackIdx,
    /// The next chart of the thread; [`ChartSlot::NONE`] for the last.
    next: ChartSlot,
    /// Whether its samples are in the spill file.
    is_spilled: bool,
}

const _: () = assert!(size_of::<EventChart>() <= 40);

/// The result of a search for the chart of an event.
enum FoundChart {
    At(ChartSlot),
    /// The event has none yet.
    Missing {
        /// The first and last chart of the thread, if it has any.
        first_and_last: Option<(ChartSlot, ChartSlot)>,
    },
}

impl<'a> SampleCharts<'a> {
    pub(super) fn spilling(file: &'a SpillFile, bytes: u64) -> Self {
        let held_bytes_max = usize::try_from(bytes / 2).unwrap_or(usize::MAX);
        // A sorter takes a quarter of its limit, because up to four may exist at once. Here there is only one.
        Self { spill: Some((held_bytes_max, SampleSpill::within(file, bytes * 2))), ..Self::default() }
    }

    fn track(&mut self, track: TrackIdx) -> &mut SampledTrack {
        if self.tracks.len() <= track.index() {
            let none = SampledTrack { lane: LaneSlot::NONE, first: ChartSlot::NONE };
            self.tracks.resize(track.index() + 1, none);
        }
        &mut self.tracks[track.index()]
    }

    fn get(&self, ChartSlot(slot): ChartSlot) -> Option<&EventChart> {
        self.charts.get(slot as usize)
    }

    /// Returns the index of an event, if it has a chart.
    fn event(&mut self, event: &str) -> Option<EventIdx> {
        // Most samples have no event, and a comparison of empty texts would be a call.
        let is_same = |name: &str| name.len() == event.len() && (event.is_empty() || *name == *event);
        if !self.events.get(self.last_event.0 as usize).is_some_and(|last| is_same(last)) {
            self.last_event = *self.event_index.get(event)?;
        }
        Some(self.last_event)
    }

    /// Finds the chart of an event of a thread. Events beyond [`CHARTS_MAX`] share the last chart.
    fn find(&mut self, track: TrackIdx, event: &str) -> FoundChart {
        let event = self.event(event);
        let first = self.track(track).first;
        let (mut last, mut next, mut count) = (first, first, 0);
        while let Some(chart) = self.get(next) {
            if Some(chart.event) == event {
                return FoundChart::At(next);
            }
            (last, next, count) = (next, chart.next, count + 1);
        }
        if count >= CHARTS_MAX {
            return FoundChart::At(last);
        }
        FoundChart::Missing { first_and_last: (count > 0).then_some((first, last)) }
    }

    /// Adds a chart after the `last` chart of its thread.
    fn add(&mut self, (source, track): (TrackIdx, TrackIdx), event: &str, last: Option<ChartSlot>) -> ChartSlot {
        let event = self.event(event).unwrap_or_else(|| {
            let index = EventIdx(self.events.len() as u32);
            self.events.push(event.into());
            self.event_index.insert(event.into(), index);
            if event == OFF_CPU {
                self.off_cpu = Some(index);
            }
            index
        });
        // Each chart has a track, and track indices have 32 bits.
        let slot = ChartSlot(self.charts.len() as u32);
        let (chart, lanes, next, is_spilled) = (FlameChart::Empty, None, ChartSlot::NONE, false);
        self.charts.push(EventChart { chart, lanes, event, track, next, is_spilled });
        match last.and_then(|ChartSlot(last)| self.charts.get_mut(last as usize)) {
            Some(last) => last.next = slot,
            None => self.track(source).first = slot,
        }
        slot
    }
}

impl EventChart {
    /// Adds a sample, which is held if it lasts for its period, and appends the spans that have ended.
    fn add_sample(&mut self, sample: TimedStack, is_held: bool, stacks: &Stacks, spans: &mut Vec<FlameSpan>) {
        if is_held {
            self.chart.hold(sample, stacks, spans);
        } else {
            self.chart.sample(sample, stacks, spans);
        }
    }
}

impl Nester<'_> {
    pub(super) fn sample(&mut self, event: &Event, blob: &[u8]) -> io::Result<()> {
        let detail = self.detail(blob)?;
        let stack = StackIdx::from_value(event.value);
        let name = self.stacks.get(stack).name;
        let existing_lane = self.charts.track(event.track).lane.get();
        let lane = existing_lane.map_or_else(|| self.writer.add_lane(event.track, LaneKind::Samples, 0), Ok)?;
        let slot = self.chart_of(event.track, &abbreviated(&sample_event(Detail::decode(blob).args_json)));
        let is_untimed = self.is_untimed(event.track);
        self.charts.track(event.track).lane.set(lane);
        self.summary.samples += 1;
        self.extend_range(is_untimed, event.ts_ns);
        self.writer.push(lane, Row { start_ns: event.ts_ns, value: event.value, detail, name: name.0 })?;
        let Some(ChartSlot(slot)) = slot else {
            self.lose(Loss::OverLimit, event.track, event.ts_ns);
            return Ok(());
        };
        let args_json = Detail::decode(blob).args_json;
        let sample = if is_untimed {
            let period_ns = SampleMeasure::from_args(args_json).drawn_ns().min(TimedStack::NO_PERIOD - 1);
            TimedStack { ts_ns: event.ts_ns, stack, period_ns }
        } else {
            TimedStack::from_args(event.ts_ns, stack, args_json)
        };
        let SampleCharts { charts, spans, spill, held_bytes, off_cpu, .. } = &mut self.charts;
        let chart = &mut charts[slot as usize];
        let is_held = is_untimed || Some(chart.event) == *off_cpu;
        if is_held {
            // Before other charts end, even if the samples of this chart are spilled.
            let end_ns = if is_untimed { &mut self.untimed_ns.1 } else { &mut self.summary.end_ns };
            *end_ns = sample.held_to_ns().max(*end_ns);
        }
        if let Some((_, spill)) = spill.as_mut().filter(|_| chart.is_spilled) {
            return spill.push(slot, sample);
        }
        *held_bytes -= chart.chart.memory_bytes();
        chart.add_sample(sample, is_held, self.stacks, spans);
        let bytes = chart.chart.memory_bytes();
        match spill {
            Some((held_bytes_max, spill)) if bytes > 0 && *held_bytes + bytes > *held_bytes_max => {
                chart.is_spilled = true;
                spill.push_chart(slot, std::mem::take(&mut chart.chart))?;
            }
            _ => *held_bytes += bytes,
        }
        if spans.is_empty() {
            return Ok(());
        }
        let track = chart.track;
        let mut lanes = chart.lanes.take().unwrap_or_default();
        let pushed = self.push_flames(track, &mut lanes);
        self.charts.charts[slot as usize].lanes = Some(lanes);
        pushed
    }

    fn is_untimed(&self, track: TrackIdx) -> bool {
        self.registry.tables().tracks[track.index()].key.is_untimed()
    }

    /// Returns the chart for an event of a thread, and adds it if it is new. Once a thread has several, the names of
    /// their tracks include the events. Returns `None` if no track is left.
    fn chart_of(&mut self, track: TrackIdx, event: &str) -> Option<ChartSlot> {
        let first_and_last = match self.charts.find(track, event) {
            FoundChart::At(slot) => return Some(slot),
            FoundChart::Missing { first_and_last } => first_and_last,
        };
        let title = |event: &str| {
            let event = if event.is_empty() { "no event" } else { event };
            format!("samples: {event}")
        };
        let kind = TrackKind::Samples;
        let first = first_and_last.and_then(|(first, _)| self.charts.get(first));
        let first = first.and_then(|first| self.charts.events.get(first.event.0 as usize));
        let chart_track = match first.map(|first| title(first)) {
            None => self.registry.derived(track, kind, "", "samples")?,
            Some(first) => {
                self.registry.derived(track, kind, "", &first);
                // An empty part would be the first one.
                let part = if event.is_empty() { " " } else { event };
                self.registry.derived(track, kind, part, &title(event))?
            }
        };
        Some(self.charts.add((track, chart_track), event, first_and_last.map(|(_, last)| last)))
    }

    /// Ends all charts after their last samples, and writes the remaining spans.
    pub(super) fn finish_charts(&mut self) -> io::Result<()> {
        let spill = self.charts.spill.take();
        let mut spilled = spill.map(|(_, spill)| spill.into_samples()).transpose()?;
        self.charts.tracks = Vec::new();
        let (timed_end_ns, untimed_end_ns) = (self.summary.end_ns, self.untimed_ns.1);
        for (mut chart, slot) in std::mem::take(&mut self.charts.charts).into_iter().zip(0..) {
            let mut lanes = chart.lanes.take().map_or_else(SpanLanes::new, |lanes| *lanes);
            let track = chart.track;
            let is_untimed = self.is_untimed(track);
            let is_held = is_untimed || Some(chart.event) == self.charts.off_cpu;
            if let Some(spilled) = spilled.as_mut().filter(|_| chart.is_spilled) {
                while let Some(record) = spilled.next_of(slot)? {
                    match record {
                        Spilled::Chart(before) => chart.chart = before,
                        Spilled::Sample(sample) => {
                            chart.add_sample(sample, is_held, self.stacks, &mut self.charts.spans);
                            self.push_flames(track, &mut lanes)?;
                        }
                    }
                }
            }
            let end_ns = if is_untimed { untimed_end_ns } else { timed_end_ns };
            let CutStacks { count, first_ns } = chart.chart.finish(end_ns, self.stacks, &mut self.charts.spans);
            self.lose_many(Loss::DeepNesting, track, first_ns, count);
            self.push_flames(track, &mut lanes)?;
        }
        Ok(())
    }

    /// Writes the completed spans of a chart. They are derived, so no count of the summary includes them.
    fn push_flames(&mut self, track: TrackIdx, lanes: &mut SpanLanes) -> io::Result<()> {
        let is_untimed = self.is_untimed(track);
        let mut spans = std::mem::take(&mut self.charts.spans);
        for span in spans.drain(..) {
            let existing_lane = lanes.get(usize::from(span.depth)).and_then(|lane| lane.get());
            let lane = existing_lane.map_or_else(|| self.writer.add_lane(track, LaneKind::Spans, span.depth), Ok)?;
            if existing_lane.is_none() {
                set_lane(lanes, span.depth, lane);
            }
            self.extend_range(is_untimed, span.end_ns);
            let value = span.end_ns.abs_diff(span.start_ns);
            self.writer.push(lane, Row { start_ns: span.start_ns, value, detail: 0, name: span.name.0 })?;
        }
        self.charts.spans = spans;
        Ok(())
    }
}

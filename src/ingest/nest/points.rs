//! Events that are not nested among the spans of their track: instants, values, points of
//! flows, samples, states of threads.

use std::io;

use super::{ChartLanes, Entered, EventChart, Nester, set_lane};
use crate::ingest::flame::FlameChart;
use crate::model::args::Detail;
use crate::model::sample_measure::sample_event;
use crate::model::{Event, EventFlags, Loss, NameIdx, SampleMeasure, StackIdx, TrackIdx, TrackKey, TrackKind};
use crate::store::{LaneIdx, LaneKind, Row, flow};

/// The most charts of one thread: recorders have some ten events.
const CHARTS_MAX: usize = 64;

impl Nester<'_> {
    pub(super) fn instant(&mut self, track: TrackIdx, event: &Event, blob: &[u8]) -> io::Result<()> {
        let detail = self.detail(blob)?;
        let state = self.track(track);
        state.open.close_ended(event.ts_ns);
        state.saw(event.ts_ns);
        // A sorted capture has it already; else it goes below the spans that are open around it.
        let depth =
            if event.flags.has(EventFlags::PLACED) { u64::from(event.depth) } else { state.open.count() as u64 };
        let known = state.instants.get();
        let lane = known.map_or_else(|| self.writer.add_lane(track, LaneKind::Instants, 0), Ok)?;
        self.track(track).instants.set(lane);
        self.summary.instants += 1;
        self.saw(event.ts_ns);
        self.writer.push(lane, Row { start_ns: event.ts_ns, value: depth, detail, name: event.name.0 })
    }

    pub(super) fn counter(&mut self, event: &Event, blob: &[u8]) -> io::Result<()> {
        let detail = self.detail(blob)?;
        let known = self.track(event.track).counter.get();
        let lane = known.map_or_else(|| self.writer.add_lane(event.track, LaneKind::Counter, 0), Ok)?;
        self.track(event.track).counter.set(lane);
        self.summary.counters += 1;
        self.saw(event.ts_ns);
        self.writer.push(lane, Row { start_ns: event.ts_ns, value: event.value, detail, name: event.name.0 })
    }

    pub(super) fn flow(&mut self, event: &Event) -> io::Result<()> {
        let state = self.track(event.track);
        state.open.close_ended(event.ts_ns);
        let around = state.open.count().checked_sub(1).map(|depth| depth as u16);
        let point = flow::FlowPoint::from_event(event, around);
        let known = state.flows.get();
        let lane = known.map_or_else(|| self.writer.add_lane(event.track, LaneKind::Flows, 0), Ok)?;
        self.track(event.track).flows.set(lane);
        self.summary.flows += 1;
        self.saw(event.ts_ns);
        let row = Row { start_ns: event.ts_ns, value: event.value, detail: point.to_bits(), name: event.name.0 };
        self.writer.push(lane, row)
    }

    /// Ends the state before, and notes the one that begins. One that takes no time is none.
    pub(super) fn state(&mut self, event: &Event, blob: &[u8]) -> io::Result<()> {
        let before = self.track(event.track).rare().thread;
        if event.flags.has(EventFlags::FROM_REST) && before.is_some_and(|before| before.is_awake) {
            return Ok(());
        }
        if let Some(before) = before {
            self.push_state(event.track, &before, event.ts_ns)?;
        }
        let is_awake = event.flags.has(EventFlags::AWAKE);
        let detail = self.detail(blob)?;
        let entered = Entered { since_ns: event.ts_ns, name: event.name, detail, is_awake };
        self.saw(event.ts_ns);
        self.track(event.track).rare().thread = (event.name != NameIdx::EMPTY).then_some(entered);
        Ok(())
    }

    pub(super) fn push_state(&mut self, track: TrackIdx, state: &Entered, end_ns: i64) -> io::Result<Option<LaneIdx>> {
        if end_ns == state.since_ns {
            return Ok(None);
        }
        self.push_state_row(track, state, end_ns).map(Some)
    }

    /// Adds the row of a state, also of one that takes no time.
    pub(super) fn push_state_row(&mut self, track: TrackIdx, state: &Entered, end_ns: i64) -> io::Result<LaneIdx> {
        let value = end_ns.abs_diff(state.since_ns);
        let row = Row { start_ns: state.since_ns, value, detail: state.detail, name: state.name.0 };
        self.push_span(track, 0, row, end_ns)
    }

    pub(super) fn sample(&mut self, event: &Event, blob: &[u8]) -> io::Result<()> {
        let detail = self.detail(blob)?;
        let stack = StackIdx::from_value(event.value);
        let name = self.stacks.get(stack).name;
        let known = self.track(event.track).samples.get();
        let lane = known.map_or_else(|| self.writer.add_lane(event.track, LaneKind::Samples, 0), Ok)?;
        let position = self.chart_of(event.track, &sample_event(Detail::decode(blob).args_json));
        let is_untimed = self.registry.tables().tracks[event.track.index()].key.slot == TrackKey::SLOT_UNTIMED;
        self.track(event.track).samples.set(lane);
        self.summary.samples += 1;
        self.saw(event.ts_ns);
        self.writer.push(lane, Row { start_ns: event.ts_ns, value: event.value, detail, name: name.0 })?;
        let Some(position) = position else {
            self.lose(Loss::OverLimit, event.track, event.ts_ns);
            return Ok(());
        };
        let mut spans = std::mem::take(&mut self.flame_spans);
        let stacks = self.stacks;
        let EventChart { chart, track: chart_track, lanes, .. } = &mut self.track(event.track).charts()[position];
        if is_untimed {
            let drawn_ns = SampleMeasure::from_args(Detail::decode(blob).args_json).drawn_ns();
            let end_ns = event.ts_ns.saturating_add_unsigned(drawn_ns);
            chart.hold((event.ts_ns, end_ns), stack, stacks, &mut spans);
        } else {
            chart.sample(event.ts_ns, stack, stacks, &mut spans);
        }
        let (chart_track, mut lanes) = (*chart_track, std::mem::take(lanes));
        self.flame_spans = spans;
        let pushed = self.push_flames(chart_track, &mut lanes);
        self.track(event.track).charts()[position].lanes = lanes;
        pushed
    }

    /// The position of the chart of an event's samples among those of a thread. The name of an event is in that of its track once
    /// there are several; those beyond [`CHARTS_MAX`] share the last one. `None` where no track is left for it.
    fn chart_of(&mut self, track: TrackIdx, event: &str) -> Option<usize> {
        let charts = self.track(track).charts();
        // Most samples have no event, and a comparison of nothing is a call.
        let is_same = |known: &str| known.len() == event.len() && (event.is_empty() || *known == *event);
        if let Some(position) = charts.iter().position(|chart| is_same(&chart.event)) {
            return Some(position);
        }
        let count = charts.len();
        if count >= CHARTS_MAX {
            return Some(count - 1);
        }
        let title = |event: &str| {
            let event = if event.is_empty() { "no event" } else { event };
            format!("samples: {event}")
        };
        let kind = TrackKind::Samples;
        let first = charts.first().map(|first| title(&first.event));
        let chart_track = match first {
            None => self.registry.derived(track, kind, "", "samples")?,
            Some(first) => {
                self.registry.derived(track, kind, "", &first);
                // An empty part would be the first one.
                let part = if event.is_empty() { " " } else { event };
                self.registry.derived(track, kind, part, &title(event))?
            }
        };
        let (lanes, chart) = (ChartLanes::new(), FlameChart::default());
        self.track(track).charts().push(EventChart { event: event.into(), track: chart_track, lanes, chart });
        Some(count)
    }

    /// Writes what is known of a chart. It is made for the eye, so it is counted nowhere.
    pub(super) fn push_flames(&mut self, track: TrackIdx, lanes: &mut ChartLanes) -> io::Result<()> {
        let mut spans = std::mem::take(&mut self.flame_spans);
        for span in spans.drain(..) {
            let known = lanes.get(usize::from(span.depth)).and_then(|lane| lane.get());
            let lane = known.map_or_else(|| self.writer.add_lane(track, LaneKind::Spans, span.depth), Ok)?;
            if known.is_none() {
                set_lane(lanes, span.depth, lane);
            }
            self.saw(span.end_ns);
            let value = span.end_ns.abs_diff(span.start_ns);
            self.writer.push(lane, Row { start_ns: span.start_ns, value, detail: 0, name: span.name.0 })?;
        }
        self.flame_spans = spans;
        Ok(())
    }
}

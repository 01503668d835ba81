//! Events that do not nest among the spans of their track: instants, counter values, flow points, thread states.

use std::io;

use super::Nester;
use super::tracks::Entered;
use crate::model::{Event, EventFlags, NameIdx, TrackIdx, TrackKind};
use crate::store::{LaneIdx, LaneKind, Row, flow};

impl Nester<'_> {
    pub(super) fn instant(&mut self, track: TrackIdx, event: &Event, blob: &[u8]) -> io::Result<()> {
        let detail = self.detail(blob)?;
        let state = self.track(track);
        state.open.close_ended(event.ts_ns);
        state.extend_to(event.ts_ns);
        // A sorted trace stores the depth. Otherwise, the instant goes below the spans that are open around it.
        let is_placed = event.flags.has(EventFlags::PLACED);
        let depth = if is_placed { u64::from(event.depth) } else { state.open.depth_below() };
        let existing_lane = state.instants.get();
        let lane = existing_lane.map_or_else(|| self.writer.add_lane(track, LaneKind::Instants, 0), Ok)?;
        self.track(track).instants.set(lane);
        self.latest_instants.add(event.ts_ns, track);
        self.summary.instants += 1;
        self.extend_to(event.ts_ns);
        self.writer.push(lane, Row { start_ns: event.ts_ns, value: depth, detail, name: event.name.0 })
    }

    pub(super) fn counter(&mut self, event: &Event, blob: &[u8]) -> io::Result<()> {
        let detail = self.detail(blob)?;
        let existing_lane = self.track(event.track).counter.get();
        let lane = existing_lane.map_or_else(|| self.writer.add_lane(event.track, LaneKind::Counter, 0), Ok)?;
        self.track(event.track).counter.set(lane);
        self.summary.counters += 1;
        self.extend_to(event.ts_ns);
        self.writer.push(lane, Row { start_ns: event.ts_ns, value: event.value, detail, name: event.name.0 })
    }

    pub(super) fn flow(&mut self, event: &Event) -> io::Result<()> {
        let event = &self.latest_instants.bound(event, &event.track);
        let state = self.track(event.track);
        state.open.close_ended(event.ts_ns);
        state.extend_to(event.ts_ns);
        let point = flow::FlowPoint::from_event(event, state.open.deepest_lane());
        let existing_lane = state.flows.get();
        let lane = existing_lane.map_or_else(|| self.writer.add_lane(event.track, LaneKind::Flows, 0), Ok)?;
        self.track(event.track).flows.set(lane);
        self.summary.flows += 1;
        self.extend_to(event.ts_ns);
        let row = Row { start_ns: event.ts_ns, value: event.value, detail: point.to_bits(), name: event.name.0 };
        self.writer.push(lane, row)
    }

    /// Ends the previous state of a track and enters the next one. A state without length gets no row.
    pub(super) fn state(&mut self, event: &Event, blob: &[u8]) -> io::Result<()> {
        if self.is_of_scheduler(event.track) {
            self.scheduling_ends.add(self.registry, event.track, event.ts_ns);
        }
        if event.is_last_time() {
            return Ok(());
        }
        let before = self.tracks.state(event.track).entered;
        if event.flags.has(EventFlags::FROM_REST) && before.is_some_and(|before| before.is_awake) {
            return Ok(());
        }
        if let Some(before) = before {
            self.push_state(event.track, &before, event.ts_ns)?;
        }
        let is_awake = event.flags.has(EventFlags::AWAKE);
        let detail = self.detail(blob)?;
        let entered = Entered { since_ns: event.ts_ns, name: event.name, detail, is_awake };
        self.extend_to(event.ts_ns);
        self.tracks.state(event.track).entered = (event.name != NameIdx::EMPTY).then_some(entered);
        Ok(())
    }

    /// Returns whether the states of a track belong to a thread, and not to a program.
    pub(super) fn is_of_scheduler(&self, track: TrackIdx) -> bool {
        self.registry.tables().tracks.get(track.index()).is_some_and(|track| track.key.kind == TrackKind::State)
    }

    pub(super) fn push_state(&mut self, track: TrackIdx, state: &Entered, end_ns: i64) -> io::Result<Option<LaneIdx>> {
        if end_ns == state.since_ns {
            return Ok(None);
        }
        self.push_state_row(track, state, end_ns).map(Some)
    }

    /// Adds the row of a state, even if the state has no length.
    pub(super) fn push_state_row(&mut self, track: TrackIdx, state: &Entered, end_ns: i64) -> io::Result<LaneIdx> {
        let value = end_ns.abs_diff(state.since_ns);
        let row = Row { start_ns: state.since_ns, value, detail: state.detail, name: state.name.0 };
        if self.tracks.get_mut(track).is_some() {
            return self.push_span(track, 0, row, end_ns);
        }
        let existing_lane = self.tracks.state(track).lane.get();
        let lane = existing_lane.map_or_else(|| self.writer.add_lane(track, LaneKind::Spans, 0), Ok)?;
        let state = self.tracks.state(track);
        state.lane.set(lane);
        state.end_ns = state.end_ns.max(end_ns);
        self.push_to(lane, row, end_ns)?;
        Ok(lane)
    }
}

//! Nests sorted events into rows of lanes: pairs begins with ends, assigns async trees to tracks, and builds flame
//! charts of samples.
//!
//! Begins and ends pair up per track with a stack, and each depth becomes a lane ([`lanes`](super::lanes)). Unpaired
//! events are counted, and shown if possible. Only events with the same time are reordered, in [`tied`]; all others
//! arrive sorted.

mod asynchronous;
mod charts;
mod open_blobs;
mod points;
mod scheduling_ends;
mod spans;
mod spilled_samples;
mod tied;
mod tracks;

use std::io;
use std::sync::Arc;

use self::charts::SampleCharts;
use self::open_blobs::OpenBlobs;
use self::scheduling_ends::SchedulingEnds;
use self::tied::TiedEvents;
use self::tracks::{Entered, TrackNest, TrackNests};
use super::asyncs::AsyncTrees;
use super::heads::SortedRun;
use super::rows::RowSink;
use super::spill::SpillFile;
use super::tie_sort::{TieSpill, Tied};
use crate::model::args::Detail;
use crate::model::{
    Event, EventFlags, EventKind, Loss, Losses, Names, Payload, Registry, SourcePos, Stacks, TrackIdx, TrackKey,
    TrackKind,
};
use crate::store::flow::LatestInstants;
use crate::store::{DetailRef, LaneIdx, LaneKind, Meta, Row, Store, Summary};

/// Number of events whose tracks are prefetched at once: a core has about as many reads in flight.
const EVENTS_PREFETCHED: usize = 32;

/// Nests the sorted events of a trace, and writes the rows to lanes.
pub struct Nester<'a> {
    writer: RowSink<'a>,
    names: &'a Arc<Names>,
    stacks: &'a Arc<Stacks>,
    registry: &'a mut Registry,
    tracks: TrackNests,
    scheduling_ends: SchedulingEnds,
    charts: SampleCharts<'a>,
    asyncs: AsyncTrees,
    /// By track of the trace.
    roles: Vec<TrackRole>,
    open_blobs: OpenBlobs<'a>,
    tied: TiedEvents<'a>,
    tied_of_track: Vec<Tied>,
    latest_instants: LatestInstants<TrackIdx>,
    losses: Losses,
    /// Counts, and the range of rows with times; the range of other rows only if no row has a time.
    summary: Summary,
    /// Start and end of the samples without times.
    untimed_ns: (i64, i64),
    untimed_distance_ns: i64,
}

/// Start and end of no row.
const NO_TIME: (i64, i64) = (i64::MAX, i64::MIN);

/// The result of nesting, in addition to the rows it wrote.
pub struct Nested {
    /// Events that are lost or changed.
    pub(crate) losses: Losses,
    /// Counts and the time range.
    pub summary: Summary,
}

/// Where the events of a track become rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TrackRole {
    /// On the track itself, as it is in the trace.
    Own,
    /// On tracks that all siblings of its name share.
    Sibling,
    /// On the track itself, as runs on a CPU.
    Cpu,
    /// On the track itself, moved by the distance of all samples without times.
    Untimed,
    /// Nowhere: the rows of the track are derived here, so events on it are refused.
    Derived,
}

impl<'a> Nester<'a> {
    /// Creates a nester for an empty store. It adds the tracks of async trees and of charts to `registry`.
    pub fn new(
        writer: impl Into<RowSink<'a>>,
        names: &'a Arc<Names>,
        stacks: &'a Arc<Stacks>,
        registry: &'a mut Registry,
    ) -> Self {
        let siblings = TrackKey::SLOT_SIBLING..TrackKey::SLOT_ALONE;
        let role = |key: &TrackKey| match key.kind {
            TrackKind::Async if siblings.contains(&key.slot) => TrackRole::Sibling,
            TrackKind::Cpu => TrackRole::Cpu,
            kind if kind.is_derived() => TrackRole::Derived,
            _ if key.is_untimed() => TrackRole::Untimed,
            _ => TrackRole::Own,
        };
        Self {
            roles: registry.tables().tracks.iter().map(|track| role(&track.key)).collect(),
            writer: writer.into(),
            names,
            stacks,
            scheduling_ends: SchedulingEnds::new(registry),
            registry,
            tracks: TrackNests::default(),
            charts: SampleCharts::default(),
            asyncs: AsyncTrees::default(),
            open_blobs: OpenBlobs::default(),
            tied: TiedEvents::default(),
            tied_of_track: Vec::new(),
            latest_instants: LatestInstants::default(),
            losses: Losses::default(),
            summary: Summary { start_ns: NO_TIME.0, end_ns: NO_TIME.1, ..Summary::default() },
            untimed_ns: NO_TIME,
            untimed_distance_ns: 0,
        }
    }

    /// Moves all samples without times by this distance.
    #[must_use]
    pub(crate) fn moving_untimed(mut self, distance_ns: i64) -> Self {
        self.untimed_distance_ns = distance_ns;
        self
    }

    /// Spills events with the same time and arguments of open spans beyond `bytes`. By default both stay in memory.
    #[must_use]
    pub(crate) fn spilling(mut self, file: &'a SpillFile, bytes: u64) -> Self {
        self.open_blobs = OpenBlobs::spilling(file, bytes / 4);
        self.charts = SampleCharts::spilling(file, bytes / 4);
        self.tied = TiedEvents::spilling(TieSpill::within(file, bytes / 2));
        self
    }

    /// Nests the next events. None may be earlier than the events of the previous run.
    ///
    /// # Errors
    /// Returns any I/O error of a write of the store or of the spill file.
    pub fn add_run(&mut self, run: &SortedRun<'_>) -> io::Result<()> {
        let mut events = run.events.iter().enumerate().peekable();
        while let Some((offset, event)) = events.next() {
            if offset % EVENTS_PREFETCHED == 0 {
                self.tracks.prefetch(run.events[offset..].iter().take(EVENTS_PREFETCHED).map(|event| event.track));
            }
            let blob = run.blob(offset);
            if self.tied.ts_ns().is_some_and(|ts_ns| ts_ns != event.ts_ns) {
                self.nest_tied()?;
            }
            let alone = events.peek().is_some_and(|(_, next)| next.ts_ns != event.ts_ns);
            if self.tied.ts_ns().is_none() && (alone || event.flags.has(EventFlags::PLACED)) {
                self.event(event, blob)?;
            } else {
                self.tied.push(event, blob)?;
            }
        }
        Ok(())
    }

    /// Returns the rows so far as a store to query, without begins that are still open. Its time range extends to
    /// `last_ns` if later, so that later rows fit. Fails like [`RowSink::preview`].
    pub(crate) fn preview(&mut self, sorted_to_ns: i64, last_ns: i64) -> io::Result<io::Result<Store>> {
        // Later rows start at `sorted_to_ns` or after it, so tied events before it are complete.
        if self.tied.ts_ns().is_some_and(|ts_ns| ts_ns < sorted_to_ns) {
            self.nest_tied()?;
        }
        for position in 0..self.tracks.len() {
            self.end_known(self.tracks.at(position), sorted_to_ns.saturating_sub(1))?;
        }
        let mut summary = self.summary_so_far();
        (summary.sorted_to_ns, summary.end_ns) = (Some(sorted_to_ns), summary.end_ns.max(last_ns));
        let tracks = self.registry.tables().clone();
        let (names, stacks) = (Arc::clone(self.names), Arc::clone(self.stacks));
        self.writer.preview(Meta { names, stacks, tracks, losses: self.losses.clone(), summary })
    }

    /// Closes all open spans, and returns the losses and the summary.
    ///
    /// # Errors
    /// Returns any I/O error of a write of the store.
    pub fn finish(mut self) -> io::Result<Nested> {
        self.nest_tied()?;
        self.tracks.sort_by_falling_track();
        for position in (0..self.tracks.len()).rev() {
            self.end_known(self.tracks.at(position), i64::MAX)?;
        }
        self.extend_to_open();
        while let Some(track) = self.tracks.last() {
            self.finish_track(track)?;
            self.tracks.drop_last();
        }
        while let Some((track, state)) = self.tracks.take_any_entered() {
            self.finish_state(track, &state)?;
        }
        self.finish_charts()?;
        let mut summary = self.summary_so_far();
        self.writer.finish()?;
        if summary.start_ns > summary.end_ns {
            (summary.start_ns, summary.end_ns) = (0, 0);
        }
        Ok(Nested { losses: self.losses, summary })
    }

    /// Returns the summary. If no row has a time, its range covers the samples without times.
    fn summary_so_far(&self) -> Summary {
        let mut summary = self.summary.clone();
        if summary.start_ns > summary.end_ns {
            (summary.start_ns, summary.end_ns) = self.untimed_ns;
        }
        summary
    }

    /// Extends the summary to the ends that open spans and states of threads will get. Otherwise, the end of another
    /// state would depend on the order of the tracks.
    fn extend_to_open(&mut self) {
        let mut end_ns = self.summary.end_ns;
        for position in 0..self.tracks.len() {
            end_ns = self.tracks.open_end_ns(position).map_or(end_ns, |open_ns| end_ns.max(open_ns));
        }
        for track in self.tracks.tracks_in_states().filter(|&track| self.is_of_scheduler(track)) {
            end_ns = end_ns.max(self.scheduling_ends.last_ns(self.registry, track));
        }
        self.summary.end_ns = end_ns;
    }

    /// Ends the open state of a thread. A scheduler state ends at the last scheduling event of its file, as open runs
    /// on CPUs do. Any other state ends at the end of the trace.
    fn finish_state(&mut self, track: TrackIdx, state: &Entered) -> io::Result<()> {
        let last_ns = if self.is_of_scheduler(track) {
            self.scheduling_ends.last_ns(self.registry, track)
        } else {
            self.summary.end_ns
        };
        let last_ns = last_ns.max(state.since_ns);
        // A state that begins at the last moment has not ended, so it gets a row even without length.
        let lane = self.push_state_row(track, state, last_ns)?;
        self.writer.mark_unfinished(lane);
        Ok(())
    }

    fn finish_track(&mut self, track: TrackIdx) -> io::Result<()> {
        if let Some(state) = self.tracks.take_entered(track) {
            self.finish_state(track, &state)?;
        }
        let nest = self.track(track);
        let end_ns = nest.end_ns;
        for (lane, begin) in nest.open.drain() {
            if !begin.endless {
                self.lose(Loss::UnmatchedBegin, track, begin.start_ns);
            }
            let lane = self.span(track, lane, begin, end_ns, &Detail::default())?;
            self.writer.mark_unfinished(lane);
        }
        Ok(())
    }

    fn event(&mut self, event: &Event, blob: &[u8]) -> io::Result<()> {
        match self.roles.get(event.track.index()) {
            Some(TrackRole::Sibling) if !event.flags.has(EventFlags::PLACED) => self.sibling(event, blob),
            Some(TrackRole::Untimed) => {
                let ts_ns = event.ts_ns.saturating_add(self.untimed_distance_ns);
                self.event_of_row(&Event { ts_ns, ..*event }, blob)
            }
            Some(TrackRole::Derived) => {
                // The event could be out of order among the generated rows of this track.
                self.lose(Loss::BadRecord, event.track, event.ts_ns);
                Ok(())
            }
            _ => self.event_of_row(event, blob),
        }
    }

    fn event_of_row(&mut self, event: &Event, blob: &[u8]) -> io::Result<()> {
        self.end_known(event.track, event.ts_ns)?;
        match event.kind {
            EventKind::Complete if event.flags.has(EventFlags::PLACED) => self.placed(event, blob),
            EventKind::Complete => self.complete(event, blob),
            EventKind::Begin => {
                let is_placed = self.begin(event.track, event, blob, false)?;
                let end_ns = event.end_ns();
                if event.flags.has(EventFlags::UNFINISHED) {
                    self.track(event.track).extend_to(end_ns);
                }
                let has_end = matches!(event.payload(), Payload::Begin { dur_ns: Some(_) });
                match (is_placed, has_end) {
                    (true, true) if !self.track(event.track).ends().add(end_ns) => {
                        self.lose(Loss::DeepNesting, event.track, end_ns);
                    }
                    (false, false) => self.track(event.track).open.add_unplaced(),
                    _ => {}
                }
                Ok(())
            }
            EventKind::End => self.end(event.track, event, blob),
            EventKind::Instant => self.instant(event.track, event, blob),
            EventKind::Counter => self.counter(event, blob),
            EventKind::FlowStart | EventKind::FlowStep | EventKind::FlowEnd => self.flow(event),
            EventKind::Sample => self.sample(event, blob),
            EventKind::State => self.state(event, blob),
            EventKind::AsyncBegin
            | EventKind::AsyncEnd
            | EventKind::AsyncInstant
            | EventKind::AsyncStepInto
            | EventKind::AsyncStepPast => self.asynchronous(event, blob),
        }
    }

    #[inline(always)] // as `RowSink::push`
    #[expect(clippy::inline_always, reason = "measured there")]
    fn push_span(&mut self, track: TrackIdx, depth: u16, row: Row, end_ns: i64) -> io::Result<LaneIdx> {
        let nest = self.track(track);
        nest.extend_to(end_ns);
        let lane = match nest.span_lane(depth) {
            Some(lane) => lane,
            None => self.add_span_lane(track, depth)?,
        };
        self.push_to(lane, row, end_ns)?;
        Ok(lane)
    }

    #[inline(always)] // as `RowSink::push`
    #[expect(clippy::inline_always, reason = "measured there")]
    fn push_to(&mut self, lane: LaneIdx, row: Row, end_ns: i64) -> io::Result<()> {
        self.summary.spans += 1;
        self.extend_to(row.start_ns);
        self.summary.end_ns = self.summary.end_ns.max(end_ns);
        self.writer.push(lane, row)
    }

    #[inline]
    fn span_lane(&mut self, track: TrackIdx, depth: u16) -> io::Result<LaneIdx> {
        match self.track(track).span_lane(depth) {
            Some(lane) => Ok(lane),
            None => self.add_span_lane(track, depth),
        }
    }

    #[cold]
    fn add_span_lane(&mut self, track: TrackIdx, depth: u16) -> io::Result<LaneIdx> {
        let lane = self.writer.add_lane(track, LaneKind::Spans, depth)?;
        self.track(track).set_span_lane(depth, lane);
        Ok(lane)
    }

    #[inline]
    fn track(&mut self, track: TrackIdx) -> &mut TrackNest {
        self.tracks.get_or_add(track)
    }

    fn lose(&mut self, loss: Loss, track: TrackIdx, ts_ns: i64) {
        self.losses.add_in(self.registry.file_of(track), loss, SourcePos::Time(ts_ns));
    }

    /// Counts a loss `count` times, the first one at `first_ns`.
    fn lose_many(&mut self, loss: Loss, track: TrackIdx, first_ns: i64, count: u64) {
        self.losses.add_many_in(self.registry.file_of(track), loss, SourcePos::Time(first_ns), count);
    }

    #[inline]
    fn detail(&mut self, blob: &[u8]) -> io::Result<u64> {
        // Most spans have no arguments, and the sink would look at each.
        if blob.is_empty() {
            return Ok(0);
        }
        let DetailRef(reference) = self.writer.push_detail(blob)?;
        Ok(reference)
    }

    /// Extends the range of the rows with times, or the range of samples without times.
    fn extend_range(&mut self, is_untimed: bool, ts_ns: i64) {
        if is_untimed {
            let (start_ns, end_ns) = self.untimed_ns;
            self.untimed_ns = (start_ns.min(ts_ns), end_ns.max(ts_ns));
        } else {
            self.extend_to(ts_ns);
        }
    }

    fn extend_to(&mut self, ts_ns: i64) {
        self.summary.start_ns = self.summary.start_ns.min(ts_ns);
        self.summary.end_ns = self.summary.end_ns.max(ts_ns);
    }
}

//! Nests sorted events into rows of lanes: pairs begins with ends, assigns async trees to tracks, and builds flame
//! charts of samples.
//!
//! Begins and ends pair up per track with a stack, and each depth becomes a lane ([`lanes`](super::lanes)). Unpaired
//! events are counted, and shown if possible. Only events of one time are reordered, in [`tied`]; all others arrive
//! sorted.

mod asynchronous;
mod open_blobs;
mod points;
mod spans;
mod tied;

use std::io;
use std::sync::Arc;

use smallvec::SmallVec;

use self::open_blobs::OpenBlobs;
use self::spans::OpenBegin;
use self::tied::TiedEvents;
use super::asyncs::AsyncTrees;
use super::flame::{FlameChart, FlameSpan};
use super::heads::SortedRun;
use super::lanes::OpenLanes;
use super::pending_ends::PendingEnds;
use super::rows::RowSink;
use super::spill::SpillFile;
use super::tie_sort::{TieSpill, Tied};
use crate::model::args::Detail;
use crate::model::{
    Event, EventFlags, EventKind, Loss, Losses, NameIdx, Names, Registry, SourcePos, Stacks, TrackIdx, TrackKey,
    TrackKind,
};
use crate::store::{DetailRef, LaneIdx, LaneKind, Meta, Row, Store, Summary};

/// Takes sorted events and writes lanes.
pub struct Nester<'a> {
    writer: RowSink<'a>,
    names: &'a Arc<Names>,
    stacks: &'a Arc<Stacks>,
    registry: &'a mut Registry,
    tracks: Vec<TrackNest>,
    asyncs: AsyncTrees,
    /// By track of the capture.
    roles: Vec<TrackRole>,
    flame_spans: Vec<FlameSpan>,
    open_blobs: OpenBlobs<'a>,
    tied: TiedEvents<'a>,
    tied_of_track: Vec<Tied>,
    losses: Losses,
    summary: Summary,
}

/// The result of nesting, beside the rows it wrote.
pub struct Nested {
    /// Events that are lost or changed.
    pub(crate) losses: Losses,
    /// Counts and the time range.
    pub summary: Summary,
}

/// How the events of a track are taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TrackRole {
    /// They are rows of that track.
    Own,
    /// It shares rows with others of its name.
    Sibling,
    /// There are none: its rows are made here.
    Derived,
}

/// The events of a track so far. A capture may have millions of tracks, so what few of them have is in a box.
struct TrackNest {
    /// The lanes of spans, by depth.
    spans: SmallVec<[LaneSlot; 4]>,
    instants: LaneSlot,
    counter: LaneSlot,
    flows: LaneSlot,
    samples: LaneSlot,
    open: OpenLanes<OpenBegin>,
    /// The last time in the rows of spans and instants; the smallest time before the first.
    end_ns: i64,
    rare: Option<Box<RareState>>,
}

const _: () = assert!(size_of::<TrackNest>() <= 120);

/// The state of a track that few tracks have.
#[derive(Default)]
struct RareState {
    /// Ends of begins that say when they end.
    ends: PendingEnds,
    /// The state that its thread is in.
    thread: Option<Entered>,
    /// The charts of its samples: one for each of their events. Threads may have states and no samples.
    charts: Option<Box<EventCharts>>,
}

const _: () = assert!(size_of::<RareState>() <= 56);

type EventCharts = SmallVec<[EventChart; 1]>;

/// The samples of one event of a thread.
struct EventChart {
    event: Box<str>,
    /// The track that they are laid out on.
    track: TrackIdx,
    /// The lanes of that track, by depth.
    lanes: ChartLanes,
    chart: FlameChart,
}

type ChartLanes = SmallVec<[LaneSlot; 4]>;

/// The index of a lane, or none, in four bytes.
#[derive(Clone, Copy)]
struct LaneSlot(u32);

impl LaneSlot {
    const NONE: Self = Self(u32::MAX);

    fn get(self) -> Option<LaneIdx> {
        (self.0 != u32::MAX).then_some(LaneIdx(self.0))
    }

    fn set(&mut self, LaneIdx(lane): LaneIdx) {
        self.0 = lane;
    }
}

/// A state of a thread.
#[derive(Clone, Copy)]
struct Entered {
    since_ns: i64,
    name: NameIdx,
    /// A reference to its details.
    detail: u64,
    is_awake: bool,
}

impl<'a> Nester<'a> {
    /// Starts on an empty store. Adds the tracks of asynchronous trees and of charts to `registry`.
    pub fn new(
        writer: impl Into<RowSink<'a>>,
        names: &'a Arc<Names>,
        stacks: &'a Arc<Stacks>,
        registry: &'a mut Registry,
    ) -> Self {
        let siblings = TrackKey::SLOT_SIBLING..TrackKey::SLOT_ALONE;
        let role = |key: &TrackKey| match key.kind {
            TrackKind::Async if siblings.contains(&key.slot) => TrackRole::Sibling,
            kind if kind.is_derived() => TrackRole::Derived,
            _ => TrackRole::Own,
        };
        Self {
            roles: registry.tables().tracks.iter().map(|track| role(&track.key)).collect(),
            flame_spans: Vec::new(),
            writer: writer.into(),
            names,
            stacks,
            registry,
            tracks: Vec::new(),
            asyncs: AsyncTrees::default(),
            open_blobs: OpenBlobs::default(),
            tied: TiedEvents::default(),
            tied_of_track: Vec::new(),
            losses: Losses::default(),
            summary: Summary { start_ns: i64::MAX, end_ns: i64::MIN, ..Summary::default() },
        }
    }

    /// Spills events of one time and arguments of open spans beyond `bytes`. By default both stay in memory.
    #[must_use]
    pub(crate) fn spilling(mut self, file: &'a SpillFile, bytes: u64) -> Self {
        self.open_blobs = OpenBlobs::spilling(file, bytes / 2);
        self.tied = TiedEvents::spilling(TieSpill::within(file, bytes / 2));
        self
    }

    /// Nests the next events. None may be earlier than those of the previous run.
    ///
    /// # Errors
    /// Returns any I/O error of a write of the store or of the spill file.
    pub fn add_run(&mut self, run: &SortedRun<'_>) -> io::Result<()> {
        let mut events = run.events.iter().peekable();
        while let Some(event) = events.next() {
            let blob = if event.detail == 0 { &[] } else { run.details.blob(event.detail) };
            if self.tied.ts_ns().is_some_and(|ts_ns| ts_ns != event.ts_ns) {
                self.take_tied()?;
            }
            let alone = events.peek().is_some_and(|next| next.ts_ns != event.ts_ns);
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
            self.take_tied()?;
        }
        for track in 0..self.tracks.len() {
            self.end_known(TrackIdx(track as u32), sorted_to_ns.saturating_sub(1))?;
        }
        let end_ns = self.summary.end_ns.max(last_ns);
        let summary = Summary { sorted_to_ns: Some(sorted_to_ns), end_ns, ..self.summary.clone() };
        let tracks = self.registry.tables().clone();
        let (names, stacks) = (Arc::clone(self.names), Arc::clone(self.stacks));
        self.writer.preview(Meta { names, stacks, tracks, losses: self.losses.clone(), summary })
    }

    /// Closes all open spans.
    ///
    /// # Errors
    /// Returns any I/O error of a write of the store.
    pub fn finish(mut self) -> io::Result<Nested> {
        self.take_tied()?;
        for track in 0..self.tracks.len() {
            self.end_known(TrackIdx(track as u32), i64::MAX)?;
        }
        let last_ns = self.summary.end_ns;
        for track in 0..self.tracks.len() {
            if let Some(state) = self.tracks[track].rare.as_mut().and_then(|rare| rare.thread.take()) {
                // A state that begins at the last moment is unfinished, so it is shown without a duration.
                let lane = self.push_state_row(TrackIdx(track as u32), &state, last_ns)?;
                self.writer.mark_unfinished(lane);
            }
            self.finish_track(TrackIdx(track as u32))?;
        }
        self.writer.finish()?;
        if self.summary.start_ns > self.summary.end_ns {
            (self.summary.start_ns, self.summary.end_ns) = (0, 0);
        }
        Ok(Nested { losses: self.losses, summary: self.summary })
    }

    fn finish_track(&mut self, track: TrackIdx) -> io::Result<()> {
        let state = &mut self.tracks[track.index()];
        let end_ns = state.end_ns;
        for (lane, begin) in state.open.drain() {
            if !begin.endless {
                self.lose(Loss::UnmatchedBegin, track, begin.start_ns);
            }
            let lane = self.span(track, lane, begin, end_ns, &Detail::default())?;
            self.writer.mark_unfinished(lane);
        }
        let Some(rare) = self.tracks[track.index()].rare.take() else { return Ok(()) };
        for EventChart { mut chart, track, mut lanes, .. } in rare.charts.into_iter().flat_map(|charts| *charts) {
            if chart.finish(self.stacks, &mut self.flame_spans) {
                self.lose(Loss::DeepNesting, track, end_ns);
            }
            self.push_flames(track, &mut lanes)?;
        }
        Ok(())
    }

    fn event(&mut self, event: &Event, blob: &[u8]) -> io::Result<()> {
        match self.roles.get(event.track.index()) {
            Some(TrackRole::Sibling) if !event.flags.has(EventFlags::PLACED) => self.sibling(event, blob),
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
                match (is_placed, event.value > 0) {
                    (true, true) if !self.track(event.track).rare().ends.add(end_ns) => {
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
    #[expect(clippy::inline_always, reason = "see there")]
    fn push_span(&mut self, track: TrackIdx, depth: u16, row: Row, end_ns: i64) -> io::Result<LaneIdx> {
        let lane = self.span_lane(track, depth)?;
        self.push_to(lane, track, row, end_ns)?;
        Ok(lane)
    }

    #[inline(always)] // as `RowSink::push`
    #[expect(clippy::inline_always, reason = "see there")]
    fn push_to(&mut self, lane: LaneIdx, track: TrackIdx, row: Row, end_ns: i64) -> io::Result<()> {
        self.tracks[track.index()].saw(end_ns);
        self.summary.spans += 1;
        self.saw(row.start_ns);
        self.summary.end_ns = self.summary.end_ns.max(end_ns);
        self.writer.push(lane, row)
    }

    #[inline]
    fn span_lane(&mut self, track: TrackIdx, depth: u16) -> io::Result<LaneIdx> {
        match self.track(track).spans.get(usize::from(depth)).and_then(|lane| lane.get()) {
            Some(lane) => Ok(lane),
            None => self.add_span_lane(track, depth),
        }
    }

    #[cold]
    fn add_span_lane(&mut self, track: TrackIdx, depth: u16) -> io::Result<LaneIdx> {
        let lane = self.writer.add_lane(track, LaneKind::Spans, depth)?;
        set_lane(&mut self.track(track).spans, depth, lane);
        Ok(lane)
    }

    #[inline]
    fn track(&mut self, track: TrackIdx) -> &mut TrackNest {
        if self.tracks.len() <= track.index() {
            self.add_tracks(track);
        }
        &mut self.tracks[track.index()]
    }

    #[cold]
    fn add_tracks(&mut self, to: TrackIdx) {
        self.tracks.resize_with(to.index() + 1, TrackNest::default);
    }

    fn lose(&mut self, loss: Loss, track: TrackIdx, ts_ns: i64) {
        self.losses.add_in(self.registry.file_of(track), loss, SourcePos::Time(ts_ns));
    }

    fn detail(&mut self, blob: &[u8]) -> io::Result<u64> {
        let DetailRef(reference) = self.writer.push_detail(blob)?;
        Ok(reference)
    }

    fn saw(&mut self, ts_ns: i64) {
        self.summary.start_ns = self.summary.start_ns.min(ts_ns);
        self.summary.end_ns = self.summary.end_ns.max(ts_ns);
    }
}

/// Records the lane of a depth.
fn set_lane(lanes: &mut SmallVec<[LaneSlot; 4]>, depth: u16, lane: LaneIdx) {
    if lanes.len() <= usize::from(depth) {
        lanes.resize(usize::from(depth) + 1, LaneSlot::NONE);
    }
    lanes[usize::from(depth)].set(lane);
}

impl Default for TrackNest {
    fn default() -> Self {
        Self {
            spans: SmallVec::new(),
            instants: LaneSlot::NONE,
            counter: LaneSlot::NONE,
            flows: LaneSlot::NONE,
            samples: LaneSlot::NONE,
            open: OpenLanes::default(),
            end_ns: i64::MIN,
            rare: None,
        }
    }
}

impl TrackNest {
    fn saw(&mut self, ts_ns: i64) {
        self.end_ns = self.end_ns.max(ts_ns);
    }

    fn rare(&mut self) -> &mut RareState {
        self.rare.get_or_insert_default()
    }

    fn charts(&mut self) -> &mut EventCharts {
        self.rare().charts.get_or_insert_default()
    }
}

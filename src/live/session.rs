//! Several sources on one timeline: their events are parsed, sorted and paired by the caller of [`LiveSession::step`].
//! Memory stays within a share of the memory limit: a source with a full queue is not read until there is room.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Select, Sender, TryRecvError, bounded};

use super::arrivals::{self, Arrivals, LiveInput};
use super::distinct_names::DistinctNames;
use super::feed::{self, FeedError, FeedItem, LiveEvent, LiveName, SourceCount};
use super::listen::{self, NewSource};
use super::live_source::{LiveSource, LiveTableRow};
use super::orderer::{LateEvents, Orderer, OrdererLimits};
use super::pairs::{LiveNames, LiveRow, RowOrder};
use super::reading_thread::{ArrivalError, Pace};
use super::refused_trace::{RefusedFate, RefusedTrace};
use super::source_clocks::{CLOCK_WAIT, SourceClocks};
use super::source_note::{Say, SourceNote};
use super::spool_files::{SpoolFiles, SpoolPart};
use super::started_command::StartedCommand;
use crate::base::budget::{Budget, Memory};
use crate::base::cancel::Cancel;
use crate::model::{Losses, Metadata, TrackKey};

/// Minimum time between two watermarks.
const TICK: Duration = Duration::from_millis(10);

/// How long a step waits if no events are queued.
const IDLE_WAIT: Duration = Duration::from_millis(500);

/// How long a step waits while events are queued.
const BUSY_WAIT: Duration = Duration::from_millis(10);

/// Default time that events wait for earlier ones.
const DELAY: Duration = Duration::from_millis(100);

/// Default time for sources that send batches: OpenTelemetry exporters do so every five seconds, each at its own time.
const BATCHES_DELAY: Duration = Duration::from_secs(6);

/// Limit for the given and connected sources of a session; each has a file and its own names.
const SOURCES_MAX: usize = 4096;

/// Limit for the sources that continue others. Beyond it, another trace of a file keeps the names of the previous one.
const CONTINUED_MAX: usize = 4096;

/// Share of the memory limit for queues; the rest is for readers and open spans.
const QUEUES_PART: u64 = 4;

/// Share of the memory limit for the arguments of open spans.
const OPEN_ARGS_PART: u64 = 8;

/// The settings of a session.
#[derive(Debug)]
pub(crate) struct SessionOptions {
    pub(crate) memory: Memory,
    /// How long events wait for earlier ones; `None` uses a default by source.
    pub(crate) delay: Option<Duration>,
    /// Whether late rows, such as the rows of a batch, are placed when they arrive, so that nothing waits for them.
    pub(crate) places_late: bool,
    /// Asks the sources to end.
    pub(crate) stop: Cancel,
    /// The files in which all bytes are recorded.
    pub(crate) spool: Option<SpoolFiles>,
    /// Whether pipes and commands wait for their rows to be sorted. Without a spool, they do.
    pub(crate) pace: Pace,
    /// Whether [`LiveSession::take_tables`] is called; table rows are buffered until then.
    pub(crate) keeps_tables: bool,
}

#[derive(Debug)]
pub(crate) struct SourceRow<'a> {
    pub(crate) row: &'a LiveRow,
    pub(crate) names: &'a LiveNames,
    /// How far its event was before the latest one released earlier; 0 if it is in order.
    pub(crate) late_ns: u64,
    pub(crate) source: usize,
    /// The latest time of an event of its source.
    pub(crate) now_ns: i64,
    /// When its bytes were read.
    pub(crate) came: Instant,
}

/// Called with the index of a source, and track, start, name and position of each of its open spans.
pub(crate) type EachOpenOf<'a> = dyn FnMut(usize, &Arc<TrackKey>, i64, &Arc<LiveName>, RowOrder) + 'a;

/// The result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LiveStep {
    Worked,
    /// Nothing arrived, and nothing was released.
    Waited,
    /// All sources have ended, and all rows are out.
    Done,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SessionCounts {
    pub(crate) bytes: u64,
    pub(crate) rows: u64,
    pub(crate) late: LateEvents,
}

#[expect(clippy::struct_excessive_bools, reason = "none depends on another")]
pub(crate) struct LiveSession {
    sources: Vec<LiveSource>,
    source_names: DistinctNames,
    /// Number of sources that continue others.
    continued: usize,
    /// The channels on which more sources arrive.
    listeners: Vec<Receiver<NewSource>>,
    listens: bool,
    orderer: Orderer<LiveEvent>,
    /// A channel that has a message once a source has sent something, and the end that each source gets.
    woken: Receiver<()>,
    wake: Sender<()>,
    began: Instant,
    memory: Memory,
    /// Counts the arguments of the open spans of all sources.
    args_budget: Budget,
    stop: Cancel,
    spool: Option<SpoolFiles>,
    say: Say,
    is_stopping: bool,
    has_met_disk_cap: bool,
    has_said_delay: bool,
    keeps_tables: bool,
    rows: u64,
    /// Sources with another clock that the user was told about.
    own_clocks: Vec<usize>,
    clocks: SourceClocks,
    /// Tolerated lateness of batched events.
    tolerated_ns: u64,
}

impl LiveSession {
    /// Starts to read all sources. Returns an error if one of them cannot be read at all; then none is read.
    pub(crate) fn start(inputs: &[LiveInput], options: &SessionOptions, say: &Say) -> Result<Self, ArrivalError> {
        let queues_bytes = usize::try_from(options.memory.limit_bytes() / QUEUES_PART).unwrap_or(usize::MAX);
        let waits_for_batches = !options.places_late && inputs.iter().any(LiveInput::sends_batches);
        let delay = options.delay.unwrap_or(if waits_for_batches { BATCHES_DELAY } else { DELAY });
        let tolerated = if options.places_late && options.delay.is_none() { BATCHES_DELAY } else { Duration::ZERO };
        let (delay_ns, tick_ns) = (nanos(delay), nanos(TICK));
        let limits = OrdererLimits { delay_ns, tick_ns, idle_ns: delay_ns, queues_bytes };
        let (wake, woken) = bounded(1);
        let mut session = Self {
            sources: Vec::new(),
            source_names: DistinctNames::default(),
            continued: 0,
            listeners: Vec::new(),
            listens: false,
            orderer: Orderer::new(limits, 0),
            woken,
            wake,
            began: Instant::now(),
            memory: options.memory.clone(),
            args_budget: Memory::new(options.memory.limit_bytes() / OPEN_ARGS_PART).budget(),
            stop: options.stop.clone(),
            spool: options.spool.clone(),
            say: Arc::clone(say),
            is_stopping: false,
            has_met_disk_cap: false,
            has_said_delay: false,
            keeps_tables: options.keeps_tables,
            rows: 0,
            own_clocks: Vec::new(),
            clocks: SourceClocks::default(),
            tolerated_ns: nanos(tolerated),
        };
        session.start_inputs(inputs, options.pace).inspect_err(|_| options.stop.cancel())?;
        Ok(session)
    }

    fn start_inputs(&mut self, inputs: &[LiveInput], pace: Pace) -> Result<(), ArrivalError> {
        // A file that an earlier recording left is an error before anything is received.
        self.part()?;
        // Nothing is read before all can be: an error must leave no recorded bytes. Programs start last.
        let mut by_effect: Vec<(usize, &LiveInput)> = inputs.iter().enumerate().collect();
        by_effect.sort_by_key(|(_, input)| matches!(input, LiveInput::Command(_)));
        let mut ready = Vec::new();
        for (position, input) in by_effect {
            if let Some(listener) = listen::start(input, self.memory.limit_bytes(), &self.stop, &self.say)? {
                self.listeners.push(listener);
                self.listens = true;
            } else {
                ready.push((position, arrivals::prepare(input, pace)?));
            }
        }
        ready.sort_by_key(|(position, _)| *position);
        for (_, source) in ready {
            let (name, part) = (source.path.clone(), self.part()?);
            let (arrivals, command) = arrivals::start(source, &self.stop, &self.say, part)?;
            self.source_names.reserve(name.clone());
            self.add_source(name, arrivals, command, SourceCount::Few);
        }
        Ok(())
    }

    /// Ends a source whose file was replaced, and adds one that receives the next trace. Names, open spans and tracks
    /// of the first trace do not apply to it.
    fn continue_as_another(&mut self, position: usize) {
        if self.continued >= CONTINUED_MAX {
            return; // after thousands of rotations, memory matters more than names
        }
        self.continued += 1;
        let LiveSource { first_path, trace_number, .. } = &self.sources[position];
        let first_path = first_path.clone();
        let (path, trace_number) = self.source_names.add_numbered(&first_path, trace_number + 1);
        let now_ns = nanos(self.began.elapsed());
        let source = &mut self.sources[position];
        let Some(fed) = source.fed.take() else { return };
        let (bytes, command) = (std::mem::take(&mut source.bytes), source.command.take());
        let is_connection = source.is_connection;
        self.orderer.end(position);
        self.orderer.tick(now_ns);
        self.orderer.add_source(now_ns, !is_connection);
        let source = LiveSource::new(path, fed, bytes, command, is_connection, &self.args_budget);
        self.sources.push(LiveSource { first_path, trace_number, ..source });
    }

    /// Creates the spool file of the next source.
    fn part(&self) -> Result<Option<SpoolPart>, ArrivalError> {
        let part = self.spool.as_ref().map(|spool| spool.part(self.sources.len())).transpose();
        part.map_err(|(path, source)| ArrivalError::Spool { path, source })
    }

    fn add_source(&mut self, path: PathBuf, arrivals: Arrivals, command: Option<StartedCommand>, count: SourceCount) {
        let bytes = arrivals.counter();
        // Rows that are stored while no bytes are recorded are all that remains of the trace.
        let is_sole_read = self.keeps_tables && self.spool.is_none();
        let fed = feed::start(arrivals, path.clone(), &self.memory, count, is_sole_read, self.wake.clone());
        self.orderer.add_source(nanos(self.began.elapsed()), count == SourceCount::Few);
        let is_connection = count == SourceCount::Many;
        self.sources.push(LiveSource::new(path, fed, bytes, command, is_connection, &self.args_budget));
    }

    /// Adds sources that have connected. Their rows come with the next step at the earliest.
    fn accept(&mut self) -> bool {
        let mut new = Vec::new();
        self.listeners.retain(|listener| {
            loop {
                match listener.try_recv() {
                    Ok(source) => new.push(source),
                    Err(TryRecvError::Empty) => return true,
                    Err(TryRecvError::Disconnected) => return false,
                }
            }
        });
        let has_new = !new.is_empty();
        for NewSource { name, sends_batches, read } in new {
            if self.sources.len() - self.continued >= SOURCES_MAX {
                let text = format!("{}: refused: the limit of {SOURCES_MAX} sources is reached", name.display());
                (self.say)(SourceNote::lasting(text));
                continue;
            }
            let name = self.source_names.add(&name);
            match self.part() {
                Ok(part) => {
                    let arrivals = arrivals::start_connection(name.clone(), &self.stop, &self.say, part, read);
                    self.add_source(name, arrivals, None, SourceCount::Many);
                    if sends_batches {
                        self.orderer.tolerate(self.sources.len() - 1, self.tolerated_ns);
                    }
                }
                Err(error) => {
                    (self.say)(SourceNote::lasting(format!("{error}. The recording ends")));
                    self.stop.cancel();
                }
            }
        }
        has_new
    }

    /// Returns whether sources may connect; then an unreadable source does not fail the session.
    pub(crate) fn listens(&self) -> bool {
        self.listens
    }

    /// Returns whether a file was replaced by another trace.
    pub(crate) fn has_replaced(&self) -> bool {
        self.continued > 0
    }

    /// Returns the sources that connected and have sent no trace: the others are read without them.
    pub(crate) fn left_out(&self) -> Vec<usize> {
        let all = self.sources.iter().enumerate().filter(|(_, source)| source.is_no_trace);
        all.map(|(position, _)| position).collect()
    }

    /// Returns the names of all sources.
    pub(crate) fn names(&self) -> impl ExactSizeIterator<Item = &PathBuf> {
        self.sources.iter().map(|source| &source.path)
    }

    /// Processes what has arrived, waits a little if nothing has, and passes released rows to `out`. Returns the error
    /// of `out`.
    pub(crate) fn step<E>(&mut self, out: &mut dyn FnMut(SourceRow<'_>) -> Result<(), E>) -> Result<LiveStep, E> {
        if self.stop.is_cancelled() && !std::mem::replace(&mut self.is_stopping, true) {
            self.sources.iter().filter_map(|source| source.command.as_ref()).for_each(StartedCommand::interrupt);
            self.orderer.hurry();
        }
        let mut has_worked = false;
        // Everything sent before is received by this step.
        self.woken.try_recv().ok();
        // Most of a thousand connections may have ended.
        let active = self.orderer.active().to_vec();
        for &position in &active {
            has_worked |= self.receive_events(position);
        }
        if self.orderer.has_waiting() {
            self.orderer.tick(nanos(self.began.elapsed()));
            self.say_shifted();
            self.say_shortened_delay();
        }
        has_worked |= self.release(out)?;
        for position in active {
            if self.sources[position].fed.is_none() && self.orderer.is_over(position) {
                self.finish(position, out)?;
            }
        }
        has_worked |= self.accept();
        if has_worked {
            return Ok(LiveStep::Worked);
        }
        if self.listeners.is_empty() && self.orderer.active().is_empty() {
            return Ok(LiveStep::Done);
        }
        self.wait();
        Ok(LiveStep::Waited)
    }

    /// Tells the user which sources have another clock, once each. Of several connections, only the first is named.
    fn say_shifted(&mut self) {
        for position in self.orderer.take_shifted() {
            let is_connection = |source: usize| self.sources[source].is_connection;
            let is_same = |other: usize| other == position || is_connection(other) && is_connection(position);
            if !self.own_clocks.iter().any(|&other| is_same(other)) {
                self.own_clocks.push(position);
                let path = self.sources[position].path.display();
                let text = format!(
                    "{path}: its clock differs from that of other sources; its rows are shown in order of arrival"
                );
                (self.say)(SourceNote::passing(text));
            }
        }
    }

    /// Tells the user once that events do not wait for the whole delay.
    fn say_shortened_delay(&mut self) {
        if self.orderer.has_shortened_delay() && !self.is_stopping && !std::mem::replace(&mut self.has_said_delay, true)
        {
            let text = "the delay needs more memory: events wait for a second at most while the memory is full";
            (self.say)(SourceNote::lasting(text.to_owned()));
        }
    }

    /// Returns whether a source waits for the clocks of the sources before it.
    fn waits_for_clocks(&self, position: usize) -> bool {
        let is_undecided =
            |source: &LiveSource| !source.is_connection && !source.clock.is_decided && source.fed.is_some();
        is_undecided(&self.sources[position])
            && self.sources[..position].iter().any(is_undecided)
            && self.began.elapsed() < CLOCK_WAIT
    }

    /// Queues the events of a source, as far as they fit.
    fn receive_events(&mut self, position: usize) -> bool {
        if self.waits_for_clocks(position) {
            return false;
        }
        let now_ns = nanos(self.began.elapsed());
        let source = &mut self.sources[position];
        let mut has_worked = false;
        if source.pending.is_empty()
            && let Some(fed) = &source.fed
        {
            match fed.try_recv() {
                Ok(FeedItem::Tracks(tracks)) => {
                    source.tables.extend(tracks.into_iter().map(LiveTableRow::Track).filter(|_| self.keeps_tables));
                }
                Ok(FeedItem::Metadata(metadata)) => {
                    for mut item in metadata {
                        if let Metadata::Utc { offset_ns } = &mut item {
                            *offset_ns = offset_ns.saturating_sub(source.clock.offset_ns);
                        }
                        if self.keeps_tables {
                            source.tables.push(LiveTableRow::Metadata(item.clone()));
                        } else {
                            source.pairs.apply(&item);
                        }
                        source.names.apply(item);
                    }
                }
                Ok(FeedItem::Clock(syncs)) => {
                    let name = source.path.display().to_string();
                    let sentence = self.clocks.align(&name, &mut source.clock, syncs);
                    sentence.into_iter().for_each(|text| (self.say)(SourceNote::lasting(text)));
                }
                Ok(FeedItem::Events(mut events)) => {
                    source.clock.is_decided = true;
                    for (key_ns, live) in events.iter_mut().filter(|_| source.clock.offset_ns != 0) {
                        *key_ns = key_ns.saturating_add(source.clock.offset_ns);
                        live.event.ts_ns = live.event.ts_ns.saturating_add(source.clock.offset_ns);
                    }
                    source.pending = events.into();
                }
                Ok(FeedItem::Losses(losses)) => source.losses.merge(&losses),
                Ok(FeedItem::Refused(error)) => {
                    source.is_no_trace = source.is_connection && error.is_no_trace();
                    source.refused.push(error);
                }
                Ok(FeedItem::NextTrace(error)) => {
                    self.add_error(position, error);
                    self.continue_as_another(position);
                    return true;
                }
                Ok(FeedItem::End(error)) => {
                    self.add_error(position, error);
                    return true;
                }
                Err(TryRecvError::Empty) => return false,
                Err(TryRecvError::Disconnected) => {
                    source.fed = None;
                    self.orderer.end(position);
                    self.orderer.tick(now_ns);
                }
            }
            has_worked = true;
        }
        while let Some((key_ns, event)) = source.pending.pop_front() {
            let bytes = event.bytes();
            if let Err(event) = self.orderer.push(position, key_ns, bytes, event, now_ns) {
                source.pending.push_front((key_ns, event));
                break;
            }
            has_worked = true;
        }
        has_worked
    }

    /// Adds an error of a source. Ends the session if received bytes cannot be recorded, because bytes of other sources
    /// would be lost as well. At the user's limit, it ends without an error.
    fn add_error(&mut self, position: usize, error: Option<FeedError>) {
        let Some(error) = error else { return };
        if error.is_disk_cap() {
            if !std::mem::replace(&mut self.has_met_disk_cap, true) {
                (self.say)(SourceNote::lasting(error.to_string()));
            }
            return self.stop.cancel();
        }
        let others = !self.listeners.is_empty() || self.orderer.active().len() > 1;
        if error.unwritable_file().is_some() && others && !self.stop.is_cancelled() {
            let text = "the recording ends, because received data cannot be written".to_owned();
            (self.say)(SourceNote::lasting(text));
            self.stop.cancel();
        }
        self.sources[position].errors.push(error);
    }

    fn release<E>(&mut self, out: &mut dyn FnMut(SourceRow<'_>) -> Result<(), E>) -> Result<bool, E> {
        let mut has_worked = false;
        while let Some(released) = self.orderer.pop() {
            has_worked = true;
            let LiveSource { names, pairs, now_ns, .. } = &mut self.sources[released.source];
            let (source, came) = (released.source, self.began + Duration::from_nanos(released.came_ns));
            let mut failed = Ok(());
            let rows = &mut self.rows;
            *now_ns = released.item.event.end_ns().max(*now_ns);
            let now_ns = *now_ns;
            pairs.add(released.item, &mut |row| {
                *rows += u64::from(!row.is_flow());
                if failed.is_ok() {
                    failed = out(SourceRow { row: &row, names, late_ns: released.late_ns, source, now_ns, came });
                }
            });
            failed?;
        }
        Ok(has_worked)
    }

    /// Passes the open spans of an ended source to `out`.
    fn finish<E>(&mut self, source: usize, out: &mut dyn FnMut(SourceRow<'_>) -> Result<(), E>) -> Result<(), E> {
        let came = Instant::now();
        let LiveSource { names, pairs, now_ns, .. } = &mut self.sources[source];
        let (now_ns, mut failed) = (*now_ns, Ok(()));
        let rows = &mut self.rows;
        pairs.finish(&mut |row| {
            *rows += 1;
            if failed.is_ok() {
                failed = out(SourceRow { row: &row, names, late_ns: 0, source, now_ns, came });
            }
        });
        *names = LiveNames::default();
        failed
    }

    /// Waits until a source has sent something, or something may be released.
    fn wait(&self) {
        let most = if self.orderer.has_waiting() { BUSY_WAIT } else { IDLE_WAIT };
        let mut select = Select::new();
        select.recv(&self.woken);
        for listener in &self.listeners {
            select.recv(listener);
        }
        select.ready_timeout(most).ok();
    }

    pub(crate) fn counts(&self) -> SessionCounts {
        let late = (0..self.sources.len()).map(|source| self.orderer.late(source));
        let late = late.fold(LateEvents::default(), |all, one| LateEvents {
            count: all.count + one.count,
            most_ns: all.most_ns.max(one.most_ns),
        });
        let bytes = self.sources.iter().map(|source| source.bytes.load(Ordering::Relaxed)).sum();
        SessionCounts { bytes, rows: self.rows, late }
    }

    /// Iterates over the late events of each source, with its path.
    pub(crate) fn late(&self) -> impl Iterator<Item = (&PathBuf, LateEvents)> {
        self.sources.iter().enumerate().map(|(position, source)| (&source.path, self.orderer.late(position)))
    }

    /// Calls `each` for the open spans of all sources: index of the source, track, start, name, position.
    pub(crate) fn each_open(&self, each: &mut EachOpenOf<'_>) {
        for (position, source) in self.sources.iter().enumerate() {
            source.pairs.each_open(&mut |track, start_ns, name, order| each(position, track, start_ns, name, order));
        }
    }

    /// Returns the new table rows of each source, in its order. They come no later than the rows of their tracks. Rows
    /// of a thread that has moved to its process are on its new track from here on, and not before.
    pub(crate) fn take_tables(&mut self) -> Vec<(usize, Vec<LiveTableRow>)> {
        let mut taken = Vec::new();
        for (position, source) in self.sources.iter_mut().enumerate().filter(|(_, source)| !source.tables.is_empty()) {
            let rows = std::mem::take(&mut source.tables);
            for row in &rows {
                if let LiveTableRow::Metadata(metadata) = row {
                    source.pairs.apply(metadata);
                }
            }
            taken.push((position, rows));
        }
        taken
    }

    /// Returns the losses of each source, with its path.
    pub(crate) fn losses(&self) -> Vec<(&PathBuf, Losses)> {
        let all = self.sources.iter().map(|source| {
            let mut losses = source.losses.clone();
            losses.merge(&source.pairs.losses);
            (&source.path, losses)
        });
        all.collect()
    }

    /// Returns the losses of each source with its path, for use after the session.
    pub(crate) fn named_losses(&self) -> Vec<(PathBuf, Losses)> {
        self.losses().into_iter().map(|(path, losses)| (path.clone(), losses)).collect()
    }

    /// Returns traces that are not parsed, as soon as that is known: their bytes may arrive for hours.
    pub(crate) fn take_refused(&mut self) -> Vec<RefusedTrace> {
        let refused = self.sources.iter_mut().flat_map(|source| source.refused.drain(..));
        let fate = |error: &FeedError| match (self.listens && error.is_no_trace(), &self.spool) {
            (true, _) => RefusedFate::LeftOut,
            (false, Some(_)) => RefusedFate::Recorded,
            (false, None) => RefusedFate::Lost,
        };
        refused.map(|error| RefusedTrace { fate: fate(&error), error }).collect()
    }

    /// Returns the errors of sources that could not be read or recorded to their ends, with their paths.
    pub(crate) fn take_errors(&mut self) -> Vec<FeedError> {
        let mut errors: Vec<FeedError> = self.sources.iter_mut().flat_map(|source| source.errors.drain(..)).collect();
        for (path, source) in self.spool.iter().flat_map(SpoolFiles::removed_files) {
            if !errors.iter().any(|error| error.unwritable_file() == Some(&path)) {
                errors.push(ArrivalError::Spool { path, source }.into());
            }
        }
        errors
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;

//! Several sources on one timeline: their events are fed, put in order and paired, by whoever calls
//! [`LiveSession::step`]. Holds no more than its share of the memory limit: a source whose queue is full is not
//! read until there is room.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Select, TryRecvError};

use super::arrivals::{self, ArrivalError, Arrivals, LiveInput, Pace, Say};
use super::feed::{self, Fed, FeedError, LiveEvent, LiveName, SourceCount};
use super::listen::{self, NewSource};
use super::orderer::{LateEvents, Orderer, OrdererLimits};
use super::pairs::{LiveNames, LivePairs, LiveRow};
use super::spool_files::{SpoolFiles, SpoolPart};
use super::started_command::StartedCommand;
use crate::base::budget::Memory;
use crate::base::cancel::Cancel;
use crate::model::{Losses, Metadata, TrackKey};

/// How often a watermark is noted.
const TICK: Duration = Duration::from_millis(10);

/// How long a step waits where nothing is to be put in order.
const IDLE_WAIT: Duration = Duration::from_millis(500);

/// How long a step waits while events wait for their turn.
const BUSY_WAIT: Duration = Duration::from_millis(10);

/// How long events wait for earlier ones, unless the user says so.
const DELAY: Duration = Duration::from_millis(100);

/// The same where sources send batches: exporters of OpenTelemetry do so every five seconds, each at its own time.
const BATCHES_DELAY: Duration = Duration::from_secs(6);

/// Sources of a session: more are refused, since each has a file, and names of its own.
const SOURCES_MAX: usize = 4096;

/// The part of the memory limit that queues may take; the rest is for readers, and for what is open.
const QUEUES_PART: u64 = 4;

/// The settings of a session.
#[derive(Debug)]
pub(crate) struct SessionOptions {
    pub(crate) memory: Memory,
    /// How long events wait for earlier ones; `None`: as suits the sources.
    pub(crate) delay: Option<Duration>,
    /// Rows that come late, as those of a batch do, are put in their places later: nothing waits for them.
    pub(crate) places_late: bool,
    /// Asks the sources to end.
    pub(crate) stop: Cancel,
    /// Where all bytes are kept.
    pub(crate) spool: Option<SpoolFiles>,
    /// Whether pipes and commands wait for their rows to be put in order. Without a spool, they do.
    pub(crate) pace: Pace,
    /// Whether [`LiveSession::take_tables`] is called: it holds what was not taken.
    pub(crate) keeps_tables: bool,
}

/// A row of the tables of a source, as it comes.
#[derive(Debug)]
pub(crate) enum LiveTableRow {
    Track(Arc<TrackKey>),
    Metadata(Metadata),
}

/// A row, and where it comes from.
#[derive(Debug)]
pub(crate) struct SourceRow<'a> {
    pub(crate) row: &'a LiveRow,
    pub(crate) names: &'a LiveNames,
    /// How far its event was before the latest one that was released before it; 0 where it is in order.
    pub(crate) late_ns: u64,
    /// The position of its source.
    pub(crate) source: usize,
    /// When the arrival was read from its source.
    pub(crate) came: Instant,
}

/// Called with the position of a source and the track, the start and the name of what has not ended in it.
pub(crate) type EachOpenOf<'a> = dyn FnMut(usize, &Arc<TrackKey>, i64, &Arc<LiveName>) + 'a;

/// The result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LiveStep {
    Worked,
    /// Nothing came, and nothing had its turn.
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

/// A source of the session.
struct LiveSource {
    path: PathBuf,
    fed: Receiver<Fed>,
    bytes: Arc<AtomicU64>,
    command: Option<StartedCommand>,
    /// Events that the queue has no room for yet.
    pending: VecDeque<(i64, LiveEvent)>,
    has_ended: bool,
    comes_by_itself: bool,
    is_no_trace: bool,
    names: LiveNames,
    pairs: LivePairs,
    /// Rows of its tables that are not taken yet.
    tables: Vec<LiveTableRow>,
    losses: Losses,
    /// Why traces are not read, once that is known.
    refused: Vec<FeedError>,
    errors: Vec<FeedError>,
}

pub(crate) struct LiveSession {
    sources: Vec<LiveSource>,
    /// The channels on which more sources come.
    listeners: Vec<Receiver<NewSource>>,
    listens: bool,
    orderer: Orderer<LiveEvent>,
    began: Instant,
    memory: Memory,
    stop: Cancel,
    spool: Option<SpoolFiles>,
    say: Say,
    is_stopping: bool,
    keeps_tables: bool,
    rows: u64,
    /// How late the events of batches may be.
    tolerated_ns: u64,
}

impl LiveSession {
    /// Begins to read all sources.
    ///
    /// # Errors
    /// When one of them cannot be read at all.
    pub(crate) fn start(inputs: &[LiveInput], options: &SessionOptions, say: &Say) -> Result<Self, ArrivalError> {
        let queues_bytes = usize::try_from(options.memory.limit_bytes() / QUEUES_PART).unwrap_or(usize::MAX);
        let waits_for_batches = !options.places_late && inputs.iter().any(LiveInput::sends_batches);
        let delay = options.delay.unwrap_or(if waits_for_batches { BATCHES_DELAY } else { DELAY });
        let tolerated = if options.places_late && options.delay.is_none() { BATCHES_DELAY } else { Duration::ZERO };
        let (delay_ns, tick_ns) = (nanos(delay), nanos(TICK));
        let limits = OrdererLimits { delay_ns, tick_ns, idle_ns: delay_ns, queues_bytes };
        let mut session = Self {
            sources: Vec::new(),
            listeners: Vec::new(),
            listens: false,
            orderer: Orderer::new(limits, 0),
            began: Instant::now(),
            memory: options.memory.clone(),
            stop: options.stop.clone(),
            spool: options.spool.clone(),
            say: Arc::clone(say),
            is_stopping: false,
            keeps_tables: options.keeps_tables,
            rows: 0,
            tolerated_ns: nanos(tolerated),
        };
        for input in inputs {
            if let Some(listener) = listen::start(input, options.memory.limit_bytes(), &options.stop, say)? {
                session.listeners.push(listener);
                session.listens = true;
                continue;
            }
            let (arrivals, command) = arrivals::start(input, &options.stop, say, session.part()?, options.pace)?;
            session.add_source(input.name(), arrivals, command, SourceCount::Few);
        }
        Ok(session)
    }

    /// The spool of the next source.
    fn part(&self) -> Result<Option<SpoolPart>, ArrivalError> {
        let part = self.spool.as_ref().map(|spool| spool.part(self.sources.len())).transpose();
        part.map_err(|(path, source)| ArrivalError::Spool { path, source })
    }

    fn add_source(&mut self, path: PathBuf, arrivals: Arrivals, command: Option<StartedCommand>, count: SourceCount) {
        let bytes = arrivals.counter();
        let fed = feed::start(arrivals, path.clone(), &self.memory, self.stop.clone(), count);
        self.orderer.add_source(nanos(self.began.elapsed()), count == SourceCount::Few);
        self.sources.push(LiveSource {
            path,
            fed,
            bytes,
            command,
            pending: VecDeque::new(),
            has_ended: false,
            comes_by_itself: count == SourceCount::Many,
            is_no_trace: false,
            names: LiveNames::default(),
            pairs: LivePairs::default(),
            tables: Vec::new(),
            losses: Losses::default(),
            refused: Vec::new(),
            errors: Vec::new(),
        });
    }

    /// Makes sources of those that have connected. Their rows come with the next step at the earliest.
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
            if self.sources.len() >= SOURCES_MAX {
                (self.say)(format!("{}: was refused, since there were {SOURCES_MAX} sources already", name.display()));
                continue;
            }
            let name = self.distinct(&name);
            match self.part() {
                Ok(part) => {
                    let arrivals = arrivals::start_connection(name.clone(), &self.stop, &self.say, part, read);
                    self.add_source(name, arrivals, None, SourceCount::Many);
                    if sends_batches {
                        self.orderer.tolerate(self.sources.len() - 1, self.tolerated_ns);
                    }
                }
                Err(error) => (self.say)(error.to_string()),
            }
        }
        has_new
    }

    /// A name that no source has, as [`Sources::names`](crate::model::Sources::names) makes them.
    fn distinct(&self, name: &Path) -> PathBuf {
        let is_taken = |name: &PathBuf| self.sources.iter().any(|source| source.path == *name);
        let mut distinct = name.to_owned();
        let mut number = 1;
        while is_taken(&distinct) {
            number += 1;
            distinct = format!("{} ({number})", name.display()).into();
        }
        distinct
    }

    /// Whether sources come by themselves, so that one that cannot be read is no failure of all.
    pub(crate) fn listens(&self) -> bool {
        self.listens
    }

    /// Sources that have come by themselves, and have sent what is no trace: all others are read without them.
    pub(crate) fn left_out(&self) -> Vec<usize> {
        let all = self.sources.iter().enumerate().filter(|(_, source)| source.is_no_trace);
        all.map(|(position, _)| position).collect()
    }

    /// The names of all sources so far.
    pub(crate) fn names(&self) -> impl ExactSizeIterator<Item = &PathBuf> {
        self.sources.iter().map(|source| &source.path)
    }

    /// Takes what has come, waits a little where nothing has, and hands the rows whose turn it is to `out`.
    ///
    /// # Errors
    /// Those of `out`.
    pub(crate) fn step<E>(&mut self, out: &mut dyn FnMut(SourceRow<'_>) -> Result<(), E>) -> Result<LiveStep, E> {
        if self.stop.is_cancelled() && !std::mem::replace(&mut self.is_stopping, true) {
            self.sources.iter().filter_map(|source| source.command.as_ref()).for_each(StartedCommand::interrupt);
        }
        let mut has_worked = false;
        // Of a thousand connections, most are over.
        let active = self.orderer.active().to_vec();
        for &position in &active {
            has_worked |= self.take_fed(position);
        }
        if self.orderer.has_waiting() {
            self.orderer.tick(nanos(self.began.elapsed()));
        }
        has_worked |= self.release(out)?;
        for position in active {
            if self.sources[position].has_ended && !self.orderer.active().contains(&position) {
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

    /// Takes what a source has sent, as far as its queue has room.
    fn take_fed(&mut self, position: usize) -> bool {
        let now_ns = nanos(self.began.elapsed());
        let source = &mut self.sources[position];
        let mut has_worked = false;
        if source.pending.is_empty() && !source.has_ended {
            match source.fed.try_recv() {
                Ok(Fed::Tracks(tracks)) => {
                    source.tables.extend(tracks.into_iter().map(LiveTableRow::Track).filter(|_| self.keeps_tables));
                }
                Ok(Fed::Metadata(metadata)) => {
                    let rows = metadata.iter().cloned().map(LiveTableRow::Metadata).filter(|_| self.keeps_tables);
                    source.tables.extend(rows);
                    metadata.into_iter().for_each(|word| source.names.apply(word));
                }
                Ok(Fed::Events(events)) => source.pending = events.into(),
                Ok(Fed::Losses(losses)) => source.losses.merge(&losses),
                Ok(Fed::Refused(error)) => {
                    source.is_no_trace = source.comes_by_itself && error.is_no_trace();
                    source.refused.push(error);
                }
                Ok(Fed::End(error)) => source.errors.extend(error),
                Err(TryRecvError::Empty) => return false,
                Err(TryRecvError::Disconnected) => {
                    source.has_ended = true;
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

    fn release<E>(&mut self, out: &mut dyn FnMut(SourceRow<'_>) -> Result<(), E>) -> Result<bool, E> {
        let mut has_worked = false;
        while let Some(released) = self.orderer.pop() {
            has_worked = true;
            let LiveSource { names, pairs, .. } = &mut self.sources[released.source];
            let (source, came) = (released.source, self.began + Duration::from_nanos(released.came_ns));
            let mut failed = Ok(());
            let rows = &mut self.rows;
            pairs.add(released.item, &mut |row| {
                *rows += u64::from(!row.is_flow());
                if failed.is_ok() {
                    failed = out(SourceRow { row: &row, names, late_ns: released.late_ns, source, came });
                }
            });
            failed?;
        }
        Ok(has_worked)
    }

    /// Hands out what has not ended in a source that is over.
    fn finish<E>(&mut self, source: usize, out: &mut dyn FnMut(SourceRow<'_>) -> Result<(), E>) -> Result<(), E> {
        let came = Instant::now();
        let LiveSource { names, pairs, .. } = &mut self.sources[source];
        let mut failed = Ok(());
        let rows = &mut self.rows;
        pairs.finish(&mut |row| {
            *rows += 1;
            if failed.is_ok() {
                failed = out(SourceRow { row: &row, names, late_ns: 0, source, came });
            }
        });
        *names = LiveNames::default();
        failed
    }

    /// Waits until a source has sent something, or something may have its turn.
    fn wait(&self) {
        let most = if self.orderer.has_waiting() { BUSY_WAIT } else { IDLE_WAIT };
        let mut select = Select::new();
        let mut count = 0;
        let active = self.orderer.active().iter().map(|&position| &self.sources[position]);
        for source in active.filter(|source| source.pending.is_empty() && !source.has_ended) {
            select.recv(&source.fed);
            count += 1;
        }
        for listener in &self.listeners {
            select.recv(listener);
            count += 1;
        }
        if count == 0 {
            std::thread::sleep(most);
        } else {
            select.ready_timeout(most).ok();
        }
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

    /// The late events of each source, with its path.
    pub(crate) fn late(&self) -> impl Iterator<Item = (&PathBuf, LateEvents)> {
        self.sources.iter().enumerate().map(|(position, source)| (&source.path, self.orderer.late(position)))
    }

    /// Calls `each` for what has not ended in any source: the position of the source, the track, the start, the name.
    pub(crate) fn each_open(&self, each: &mut EachOpenOf<'_>) {
        for (position, source) in self.sources.iter().enumerate() {
            source.pairs.each_open(&mut |track, start_ns, name| each(position, track, start_ns, name));
        }
    }

    /// The rows of the tables of each source that came since the last call, in its order. They come no later than
    /// the rows of their tracks.
    pub(crate) fn take_tables(&mut self) -> Vec<(usize, Vec<LiveTableRow>)> {
        let sources = self.sources.iter_mut().enumerate().filter(|(_, source)| !source.tables.is_empty());
        sources.map(|(position, source)| (position, std::mem::take(&mut source.tables))).collect()
    }

    /// The losses of each source, with its path.
    pub(crate) fn losses(&self) -> Vec<(&PathBuf, Losses)> {
        let all = self.sources.iter().map(|source| {
            let mut losses = source.losses.clone();
            losses.merge(&source.pairs.losses);
            (&source.path, losses)
        });
        all.collect()
    }

    /// Traces that are not read, as soon as that is known: their bytes may come for hours.
    pub(crate) fn take_refused(&mut self) -> Vec<FeedError> {
        self.sources.iter_mut().flat_map(|source| source.refused.drain(..)).collect()
    }

    /// Why sources could not be read to their ends, with their paths.
    pub(crate) fn take_errors(&mut self) -> Vec<FeedError> {
        self.sources.iter_mut().flat_map(|source| source.errors.drain(..)).collect()
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

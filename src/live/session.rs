//! Several sources on one timeline: their events are fed, put in order and paired, by whoever calls
//! [`LiveSession::step`]. Holds no more than its share of the memory limit: a source whose queue is full is not
//! read until there is room.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Select, TryRecvError};

use super::arrivals::{self, ArrivalError, LiveInput, Say};
use super::feed::{self, Fed, FeedError, LiveEvent, LiveName};
use super::orderer::{LateEvents, Orderer, OrdererLimits};
use super::pairs::{LiveNames, LivePairs, LiveRow};
use super::spool_files::SpoolFiles;
use super::started_command::StartedCommand;
use crate::base::budget::Memory;
use crate::base::cancel::Cancel;
use crate::model::{Losses, Metadata, TrackKey};

/// How often a watermark is noted.
const TICK: Duration = Duration::from_millis(25);

/// How long a step waits where nothing is to be put in order.
const IDLE_WAIT: Duration = Duration::from_millis(500);

/// How long a step waits while events wait for their turn.
const BUSY_WAIT: Duration = Duration::from_millis(10);

/// The part of the memory limit that queues may take; the rest is for readers, and for what is open.
const QUEUES_PART: u64 = 4;

/// The settings of a session.
#[derive(Debug)]
pub(crate) struct SessionOptions {
    pub(crate) memory: Memory,
    /// How long events wait for earlier ones.
    pub(crate) delay: Duration,
    /// Asks the sources to end.
    pub(crate) stop: Cancel,
    /// Where all bytes are kept.
    pub(crate) spool: Option<SpoolFiles>,
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
    /// When it came.
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
    orderer: Orderer<LiveEvent>,
    began: Instant,
    stop: Cancel,
    is_stopping: bool,
    keeps_tables: bool,
    rows: u64,
}

impl LiveSession {
    /// Begins to read all sources.
    ///
    /// # Errors
    /// When one of them cannot be read at all.
    pub(crate) fn start(inputs: &[LiveInput], options: &SessionOptions, say: &Say) -> Result<Self, ArrivalError> {
        let queue_bytes = options.memory.limit_bytes() / QUEUES_PART / (inputs.len() as u64).max(1);
        let limits = OrdererLimits {
            delay_ns: nanos(options.delay),
            tick_ns: nanos(TICK),
            idle_ns: nanos(options.delay),
            queue_bytes: usize::try_from(queue_bytes).unwrap_or(usize::MAX),
        };
        let mut sources = Vec::new();
        for input in inputs {
            let (arrivals, command) = arrivals::start(input, &options.stop, say, options.spool.as_ref())?;
            let (path, bytes) = (input.name(), arrivals.counter());
            let fed = feed::start(arrivals, path.clone(), &options.memory, options.stop.clone());
            sources.push(LiveSource {
                path,
                fed,
                bytes,
                command,
                pending: VecDeque::new(),
                has_ended: false,
                names: LiveNames::default(),
                pairs: LivePairs::default(),
                tables: Vec::new(),
                losses: Losses::default(),
                refused: Vec::new(),
                errors: Vec::new(),
            });
        }
        let orderer = Orderer::new(limits, sources.len(), 0);
        let (began, stop) = (Instant::now(), options.stop.clone());
        let keeps_tables = options.keeps_tables;
        Ok(Self { sources, orderer, began, stop, is_stopping: false, keeps_tables, rows: 0 })
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
        for position in 0..self.sources.len() {
            has_worked |= self.take_fed(position, out)?;
        }
        if self.orderer.has_waiting() {
            self.orderer.tick(nanos(self.began.elapsed()));
        }
        has_worked |= self.release(out)?;
        if has_worked {
            return Ok(LiveStep::Worked);
        }
        if self.sources.iter().all(|source| source.has_ended) && !self.orderer.has_waiting() {
            return Ok(LiveStep::Done);
        }
        self.wait();
        Ok(LiveStep::Waited)
    }

    /// Takes what a source has sent, as far as its queue has room.
    fn take_fed<E>(&mut self, position: usize, out: &mut dyn FnMut(SourceRow<'_>) -> Result<(), E>) -> Result<bool, E> {
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
                Ok(Fed::Events(events)) => source.pending.extend(events),
                Ok(Fed::Losses(losses)) => source.losses.merge(&losses),
                Ok(Fed::Refused(error)) => source.refused.push(error),
                Ok(Fed::End(error)) => source.errors.extend(error),
                Err(TryRecvError::Empty) => return Ok(false),
                Err(TryRecvError::Disconnected) => {
                    source.has_ended = true;
                    self.orderer.end(position);
                    // Events that wait go first, then the spans that are open.
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
        if self.sources.iter().all(|source| source.has_ended) {
            self.release(out)?;
            self.finish(out)?;
        }
        Ok(has_worked)
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

    /// Hands out what has not ended.
    fn finish<E>(&mut self, out: &mut dyn FnMut(SourceRow<'_>) -> Result<(), E>) -> Result<(), E> {
        let came = Instant::now();
        for (source, LiveSource { names, pairs, .. }) in self.sources.iter_mut().enumerate() {
            let mut failed = Ok(());
            let rows = &mut self.rows;
            pairs.finish(&mut |row| {
                *rows += 1;
                if failed.is_ok() {
                    failed = out(SourceRow { row: &row, names, late_ns: 0, source, came });
                }
            });
            failed?;
        }
        Ok(())
    }

    /// Waits until a source has sent something, or something may have its turn.
    fn wait(&self) {
        let most = if self.orderer.has_waiting() { BUSY_WAIT } else { IDLE_WAIT };
        let mut select = Select::new();
        let mut count = 0;
        for source in self.sources.iter().filter(|source| source.pending.is_empty() && !source.has_ended) {
            select.recv(&source.fed);
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

//! Parses the events of a source as they arrive: bytes go through the reader of their format, and batches are split
//! into independent events. Runs on its own thread, which blocks while the receiver is busy.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use rustc_hash::FxHashMap;

use super::arrivals::{ArrivalReader, Arrivals, WaitResult};
use super::reading_thread::ArrivalError;
use crate::base::budget::Memory;
use crate::base::cancel::Cancelled;
use crate::base::threads;
use crate::formats::format::ArrivalKey;
use crate::formats::input::source::{HEAD_BYTES, LONG_HEAD_BYTES, Source};
use crate::formats::live::{LiveFormat, NotLive, StreamState, head_limit, open_live, recognise_live};
use crate::formats::multi::clock_sync::ClockSyncs;
use crate::formats::{BatchSink, ChunkLimits, ReadContext, ReadError};
use crate::model::args::Detail;
use crate::model::{
    Batch, Details, Event, EventFlags, EventKind, Loss, Losses, Metadata, NameIdx, NameRow, Payload, SourcePos,
    StackIdx, Stacks, TrackKey,
};

/// Events per batch: few, because the first event of a batch waits for the others.
const BATCH_EVENTS: usize = 4096;

const READ_BYTES: usize = 64 << 10;

/// Batches that may wait for the orderer before parsing pauses.
const BATCHES_AHEAD: usize = 4;

/// Divisor of block and batch sizes for many connections.
const MANY: usize = 8;

/// Silence after which the format is detected from the bytes so far.
const HEAD_SILENCE: Duration = Duration::from_millis(250);

/// Time after the first bytes at which the format of a slow source that is never silent is detected.
const HEAD_TIME: Duration = Duration::from_millis(500);

/// Limit for the remembered tracks of a source; beyond it, all are forgotten and sent again.
const TRACKS_MAX: usize = 1 << 16;

/// Bytes of an event, excluding its texts.
const EVENT_BYTES: usize = 160;

/// A name with its category.
pub(crate) type LiveName = NameRow<Box<str>>;

/// The names and tracks that the events of a batch share. Counting references per event, across two threads, would take
/// longer than everything else.
#[derive(Debug, Default)]
pub(crate) struct LiveTables {
    pub(crate) names: Vec<Arc<LiveName>>,
    pub(crate) tracks: Vec<Arc<TrackKey>>,
    /// Bytes of the names, divided among the events.
    pub(crate) event_name_bytes: usize,
}

/// An event with everything that it refers to.
#[derive(Debug, Clone)]
pub(crate) struct LiveEvent {
    /// Its name and track are indices into the tables.
    pub(crate) event: Event,
    /// Its position among the events of its source.
    pub(crate) number: u64,
    pub(crate) tables: Arc<LiveTables>,
    /// Its arguments as one JSON object, or empty.
    pub(crate) args: Box<str>,
    /// The functions of a sample, innermost first.
    pub(crate) stack: Box<[Arc<LiveName>]>,
}

impl LiveEvent {
    pub(crate) fn name(&self) -> &Arc<LiveName> {
        &self.tables.names[self.event.name.index()]
    }

    pub(crate) fn track(&self) -> &Arc<TrackKey> {
        &self.tables.tracks[self.event.track.index()]
    }

    /// Returns its approximate memory use.
    pub(crate) fn bytes(&self) -> usize {
        let stack_bytes = self.stack.len() * size_of::<Arc<LiveName>>();
        EVENT_BYTES + self.tables.event_name_bytes + self.args.len() + stack_bytes
    }
}

/// A part of a stream, in stream order.
#[derive(Debug)]
pub(crate) enum FeedItem {
    /// New tracks, in stream order.
    Tracks(Vec<Arc<TrackKey>>),
    Metadata(Vec<Metadata>),
    /// Clock syncs and the time of day of the trace, before the events of the same batch.
    Clock(ClockSyncs),
    /// Events with their ordering times, sorted by these.
    Events(Vec<(i64, LiveEvent)>),
    Losses(Losses),
    /// The trace is not parsed, though its bytes still arrive.
    Refused(FeedError),
    /// The trace has ended, possibly with an error, and another trace follows.
    NextTrace(Option<FeedError>),
    /// The stream has ended, possibly with an error.
    End(Option<FeedError>),
}

/// The reason why the rest of a stream is not parsed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FeedError {
    #[error(transparent)]
    Arrival(#[from] ArrivalError),
    #[error("{}: {why}", path.display())]
    NotLive { path: PathBuf, why: NotLive },
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl FeedError {
    /// Returns whether the format is unknown.
    pub(crate) fn is_no_trace(&self) -> bool {
        matches!(self, Self::NotLive { why: NotLive::Unrecognised { .. }, .. })
    }

    /// Returns the file to which received bytes could not be written, if any. Further ones would be lost too.
    pub(super) fn unwritable_file(&self) -> Option<&Path> {
        match self {
            Self::Arrival(ArrivalError::Spool { path, .. }) => Some(path),
            Self::Arrival(_) | Self::NotLive { .. } | Self::Read(_) => None,
        }
    }

    /// Returns whether a read or write failed, so that a recording is incomplete. Reaching the user's limit is not a
    /// failure, and a trace that cannot be parsed is recorded anyway.
    pub(crate) fn is_failure(&self) -> bool {
        match self {
            Self::Arrival(_) => !self.is_disk_cap(),
            Self::NotLive { .. } | Self::Read(_) => false,
        }
    }

    /// Returns whether the user's limit for received bytes is reached.
    pub(super) fn is_disk_cap(&self) -> bool {
        matches!(self, Self::Arrival(ArrivalError::DiskCap { .. }))
    }
}

/// The number of similar sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceCount {
    Few,
    /// Connections: each has smaller buffers.
    Many,
}

/// The sending end of a source. Wakes the session with each item, and when the source has ended.
#[derive(Clone)]
struct FeedSender {
    out: Sender<FeedItem>,
    // Dropped after `out`, so that the session finds the channel closed.
    wake: WakeOnDrop,
}

impl FeedSender {
    /// Sends an item. Returns an error if the session has ended.
    fn send(&self, item: FeedItem) -> Result<(), Cancelled> {
        self.out.send(item).map_err(|_| Cancelled)?;
        self.wake.wake();
        Ok(())
    }
}

#[derive(Clone)]
struct WakeOnDrop(Sender<()>);

impl WakeOnDrop {
    fn wake(&self) {
        self.0.try_send(()).ok(); // a message that waits wakes it, too
    }
}

impl Drop for WakeOnDrop {
    fn drop(&mut self) {
        self.wake();
    }
}

/// Starts to parse the events of a source. The channel closes with the source. Each change sends to `wake`, which one
/// receiver of many sources waits for. `is_sole_read` is that of the context.
pub(crate) fn start(
    arrivals: Arrivals,
    path: PathBuf,
    memory: &Memory,
    count: SourceCount,
    is_sole_read: bool,
    wake: Sender<()>,
) -> Receiver<FeedItem> {
    let (out, fed) = bounded(BATCHES_AHEAD);
    let out = FeedSender { out, wake: WakeOnDrop(wake) };
    let share = if count == SourceCount::Few { 1 } else { MANY };
    let chunk_limits = ChunkLimits { block_bytes: Some(READ_BYTES / share), batch_events: Some(BATCH_EVENTS / share) };
    let budget = memory.budget();
    let (failed, name) = (out.clone(), path.clone());
    let started = threads::start("parse", move || {
        let context = ReadContext { threads: 1, chunk_limits, budget, is_sole_read, ..ReadContext::default() };
        let feed = Feed { arrivals: Arc::new(Mutex::new(arrivals)), path, context, out };
        feed.read_all();
    });
    if let Err(source) = started {
        let error = FeedError::Arrival(ArrivalError::Read { path: name, source });
        failed.send(FeedItem::End(Some(error))).ok(); // the receiver exists, and is empty
    }
    fed
}

struct Feed {
    arrivals: Arc<Mutex<Arrivals>>,
    path: PathBuf,
    context: ReadContext,
    out: FeedSender,
}

impl Feed {
    /// Reads one trace after another, also after a request to stop: the session must not end before the last one is
    /// recorded.
    fn read_all(&self) {
        loop {
            let read = self.read_trace();
            let Ok(arrivals) = self.arrivals.lock() else { return };
            let end = arrivals.end();
            drop(arrivals);
            let failed = end.take_error().map(FeedError::from);
            let is_last = failed.is_some() || !end.is_followed();
            let error = failed.or(read.err());
            let fed = if is_last { FeedItem::End(error) } else { FeedItem::NextTrace(error) };
            if self.out.send(fed).is_err() || is_last {
                return;
            }
        }
    }

    fn read_trace(&self) -> Result<(), FeedError> {
        let Some((head, live)) = self.recognise()? else { return Ok(()) };
        let rest = ArrivalReader { arrivals: Arc::clone(&self.arrivals), collected: None };
        let source = Source::live(&self.path, head, Box::new(rest), &self.context);
        let mut sink = FeedSink::new(&self.out, live.key);
        let read = open_live(live, source, &self.context)?.read(&mut sink, &self.context);
        if read.is_err() {
            // The rest of this trace is skipped; another trace may follow.
            self.skip_trace();
        }
        Ok(read?)
    }

    /// Returns the first bytes of the trace and its format; `None` if it ends without a byte.
    fn recognise(&self) -> Result<Option<(Vec<u8>, LiveFormat)>, FeedError> {
        let lost = |_| ReadError::from(Cancelled);
        let mut arrivals = self.arrivals.lock().map_err(lost)?;
        let mut head = Vec::new();
        let mut began = None;
        let mut due_bytes = 0;
        loop {
            let mut state = match arrivals.wait(HEAD_SILENCE) {
                WaitResult::Bytes => StreamState::Flowing,
                WaitResult::Nothing => StreamState::Quiet,
                WaitResult::End => StreamState::Ended,
            };
            let came = state;
            if state == StreamState::Flowing {
                let known = head.len();
                let limit = if known < HEAD_BYTES { HEAD_BYTES } else { head_limit(&head) };
                head.resize(limit.max(known), 0);
                let len = arrivals.take_bytes(&mut head[known..]);
                head.truncate(known + len);
            }
            if head.is_empty() {
                if state == StreamState::Ended {
                    return Ok(None);
                }
                continue;
            }
            if state == StreamState::Flowing && began.get_or_insert_with(Instant::now).elapsed() >= HEAD_TIME {
                state = StreamState::Quiet;
            }
            // A long beginning that comes in many small parts is not searched again for each of them.
            if came == StreamState::Flowing && head.len() < due_bytes {
                continue;
            }
            if head.len() >= HEAD_BYTES {
                due_bytes = (head.len() + head.len() / 16).min(LONG_HEAD_BYTES);
            }
            match recognise_live(&head, state) {
                None => {}
                Some(Ok(live)) => {
                    // The reader must see the end, too.
                    arrivals.has_met_end |= state == StreamState::Ended;
                    return Ok(Some((head, live)));
                }
                Some(Err(why)) => {
                    drop(arrivals);
                    self.out.send(FeedItem::Refused(FeedError::NotLive { path: self.path.clone(), why })).ok();
                    if state != StreamState::Ended {
                        self.skip_trace();
                    }
                    return Ok(None);
                }
            }
        }
    }

    /// Skips to the end of a trace that cannot be parsed. Its bytes are still recorded.
    fn skip_trace(&self) {
        let Ok(mut arrivals) = self.arrivals.lock() else { return };
        let mut block = vec![0; READ_BYTES];
        loop {
            match arrivals.wait(HEAD_SILENCE) {
                WaitResult::Bytes => drop(arrivals.take_bytes(&mut block)),
                WaitResult::Nothing => {}
                WaitResult::End => return,
            }
        }
    }
}

/// Index of the empty name in all tables.
const NAMELESS: NameIdx = NameIdx(0);

struct FeedSink<'a> {
    out: &'a FeedSender,
    key: ArrivalKey,
    /// The interned names of all batches.
    names: Vec<Arc<LiveName>>,
    tracks: FxHashMap<TrackKey, Arc<TrackKey>>,
    nameless: Arc<LiveName>,
    /// By name, the last batch that used it, and its index in the tables of that batch.
    used: Vec<(u64, u32)>,
    batches: u64,
    clock_syncs: ClockSyncs,
    /// Number of events so far.
    events: u64,
}

impl<'a> FeedSink<'a> {
    fn new(out: &'a FeedSender, key: ArrivalKey) -> Self {
        let (names, used, tracks, clock_syncs) = Default::default();
        Self { out, key, names, tracks, nameless: Arc::default(), used, batches: 0, clock_syncs, events: 0 }
    }

    /// Returns the index of a name in the tables of this batch.
    fn row_of(&mut self, name: NameIdx, rows: &mut Vec<Arc<LiveName>>) -> NameIdx {
        let Some(live_name) = self.names.get(name.index()) else { return NAMELESS };
        let used = &mut self.used[name.index()];
        if used.0 != self.batches {
            *used = (self.batches, rows.len() as u32);
            rows.push(Arc::clone(live_name));
        }
        NameIdx(used.1)
    }

    fn send(&self, fed: FeedItem) -> Result<(), ReadError> {
        self.out.send(fed).map_err(ReadError::from)
    }

    /// Returns the track of a key, which is added to `new` if it is new.
    fn track(&mut self, key: TrackKey, new: &mut Vec<Arc<TrackKey>>) -> Arc<TrackKey> {
        if let Some(track) = self.tracks.get(&key) {
            return Arc::clone(track);
        }
        if self.tracks.len() >= TRACKS_MAX {
            self.tracks.clear();
        }
        let track = Arc::new(key.clone());
        self.tracks.insert(key, Arc::clone(&track));
        new.push(Arc::clone(&track));
        track
    }
}

impl BatchSink for FeedSink<'_> {
    fn accept(&mut self, batch: Batch) -> Result<(), ReadError> {
        self.clock_syncs.observe(&batch, 0);
        let utc = batch.metadata.iter().find_map(|metadata| match metadata {
            Metadata::Utc { offset_ns } => Some(*offset_ns),
            _ => None,
        });
        utc.into_iter().for_each(|offset_ns| self.clock_syncs.add_utc(offset_ns));
        if let Some(syncs) = self.clock_syncs.take_new() {
            self.send(FeedItem::Clock(syncs))?;
        }
        self.names.truncate(batch.names_before as usize);
        self.names.extend(batch.names.into_iter().map(Arc::new));
        self.used.resize(self.names.len(), (0, 0));
        self.batches += 1;
        let moves: Vec<Metadata> = batch.metadata.iter().filter(|metadata| metadata.is_move()).cloned().collect();
        if !moves.is_empty() {
            self.send(FeedItem::Metadata(moves))?;
        }
        let mut new = Vec::new();
        let tracks: Vec<Arc<TrackKey>> = batch.tracks.into_iter().map(|key| self.track(key, &mut new)).collect();
        if !new.is_empty() {
            self.send(FeedItem::Tracks(new))?;
        }
        if !batch.metadata.is_empty() {
            self.send(FeedItem::Metadata(batch.metadata))?;
        }
        if !batch.losses.is_empty() {
            self.send(FeedItem::Losses(batch.losses))?;
        }
        if batch.chunk.events.is_empty() {
            return Ok(());
        }
        let mut rows = vec![Arc::clone(&self.nameless)];
        let mut events: Vec<Event> = batch.chunk.events;
        // The last time of open spans is right only in a trace that has ended.
        events.retain(|event| !event.is_last_time());
        let mut losses = Losses::default();
        events.retain(|event| {
            let has_track = event.track.index() < tracks.len();
            if !has_track {
                losses.add(Loss::BadRecord, SourcePos::Time(event.ts_ns));
            }
            has_track
        });
        if !losses.is_empty() {
            self.send(FeedItem::Losses(losses))?;
        }
        events.iter_mut().for_each(|event| event.name = self.row_of(event.name, &mut rows));
        let name_bytes: usize = rows.iter().map(|name| name.text.len()).sum();
        let event_name_bytes = name_bytes.div_ceil(events.len().max(1));
        let tables = Arc::new(LiveTables { names: rows, tracks, event_name_bytes });
        let events = self.split_batch(&events, &batch.chunk.details, &batch.stacks, &tables);
        self.send(FeedItem::Events(events))
    }
}

impl FeedSink<'_> {
    /// Splits a batch into events with their ordering times, sorted by these.
    fn split_batch(
        &mut self,
        batch: &[Event],
        details: &Details,
        stacks: &Stacks,
        tables: &Arc<LiveTables>,
    ) -> Vec<(i64, LiveEvent)> {
        let name_of = |name: NameIdx| self.names.get(name.index()).unwrap_or(&self.nameless).clone();
        let mut events = Vec::with_capacity(batch.len());
        let mut last_end_ns = None;
        for &event in batch {
            let args = match event.detail {
                0 => Box::default(),
                detail => Detail::decode(details.blob(detail)).args_json.into(),
            };
            let stack = match event.kind {
                EventKind::Sample => stacks.frames(StackIdx::from_value(event.value)).map(name_of).collect(),
                _ => Box::default(),
            };
            self.events += 1;
            let number = self.events;
            let key_ns = self.key.ordering_ns(&event, &mut last_end_ns);
            let tables = || Arc::clone(tables);
            if !matches!(event.payload(), Payload::Begin { dur_ns: Some(_) }) {
                events.push((key_ns, LiveEvent { event, number, tables: tables(), args, stack }));
                continue;
            }
            // An end that came with its begin is a separate event. Other events at its time came after it.
            let (kind, name, flags) = (EventKind::End, NAMELESS, EventFlags::UNNAMED);
            let ended = Event { ts_ns: event.end_ns(), kind, value: 0, name, flags, ..event };
            let begun = Event { value: 0, ..event };
            events.push((key_ns, LiveEvent { event: begun, number, tables: tables(), args, stack }));
            let (args, stack) = Default::default();
            events.push((ended.ts_ns, LiveEvent { event: ended, number, tables: tables(), args, stack }));
        }
        if !events.is_sorted_by_key(|(key_ns, _)| *key_ns) {
            events.sort_by_key(|(key_ns, _)| *key_ns);
        }
        events
    }
}

impl ArrivalKey {
    /// Returns the ordering time of an event. `last_end_ns` is the end of the previous span in its batch.
    fn ordering_ns(self, event: &Event, last_end_ns: &mut Option<i64>) -> i64 {
        let is_whole = event.kind == EventKind::Complete && !event.flags.has(EventFlags::UNFINISHED);
        match self {
            Self::End | Self::EndWithPoints if is_whole => *last_end_ns.insert(event.end_ns()),
            Self::EndWithPoints if event.kind != EventKind::Complete => {
                last_end_ns.map_or(event.ts_ns, |end_ns| end_ns.max(event.ts_ns))
            }
            _ => event.ts_ns,
        }
    }
}

#[cfg(test)]
mod tests;

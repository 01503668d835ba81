//! Reads a trace on all threads: workers parse pieces, and one thread emits them in trace order. Small traces are
//! parsed on the calling thread alone.
//!
//! The result for a piece is used only if the previous piece ended exactly at its start. Otherwise its bytes are parsed
//! again from the true position. So the events do not depend on the pieces and threads.

use std::path::Path;
use std::sync::OnceLock;
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use rustc_hash::FxHashMap;

use super::envelope::{Envelope, NextSyntax, NotATrace, begins_bare, begins_messages};
use super::events::{ChromeBatch, UnownedThread};
use super::frames::StackFrames;
use super::overlaps::OverlappingSpans;
use super::records::{ArrayPosition, ParsedRecords, RECORD_BYTES_MAX, parse};
use super::split::{ChromePiece, PIECE_BYTES, Splitter};
use super::system::SystemTrace;
use crate::base::budget::Charge;
use crate::base::budget_shares::BudgetShare;
use crate::base::threads::start_scoped;
use crate::formats::format::{ArrivalKey, DataKind, Format, Opener};
use crate::formats::input::ahead::count_threads;
use crate::formats::input::lengths::saturating_len;
use crate::formats::input::source::Source;
use crate::formats::json::shapes;
use crate::formats::json::sniff::looks_like_json;
use crate::formats::profiles::v8_parts::{ProfilePart, Profiles};
use crate::formats::unsupported::DEVTOOLS_LOG;
use crate::formats::{BatchSink, ReadContext, ReadError, Reader, StreamReader};
use crate::model::{Batch, Id, Loss, Losses, Metadata, SourcePos, TrackKind};

/// Chrome's trace event format, and all JSON that no other format recognises.
pub(crate) const FORMAT: Format = Format {
    name: Format::ANY_JSON,
    record: "An event is an object with ph, ts, pid and tid, in an array or in one under traceEvents.",
    sniff: looks_like_json,
    is_event: None,
    live: Some(ArrivalKey::End),
    shows: &DataKind::ALL,
    opener: Opener::Trace(|source, _| Ok(open(source))),
};

pub(crate) fn open(source: Source) -> Reader {
    let piece_bytes = source.block_bytes(PIECE_BYTES);
    Reader::stream(ChromeJson { source, piece_bytes })
}

/// A trace in Chrome JSON.
struct ChromeJson {
    source: Source,
    piece_bytes: usize,
}

/// A piece in trace order, parsed or in flight.
enum Ticket {
    Parsed(Receiver<(ChromePiece, ParsedRecords)>, Charge),
    Unparsed(ChromePiece, Charge),
    Failed(ReadError),
    /// Follows the last piece: the offset at which the source is truncated, if it is.
    End(Option<u64>),
}

/// A piece to parse, with the channel for the result.
struct ParseJob {
    piece: ChromePiece,
    begins: ArrayPosition,
    reply: Sender<(ChromePiece, ParsedRecords)>,
}

impl StreamReader for ChromeJson {
    fn read(self: Box<Self>, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let Self { source, piece_bytes } = *self;
        let (path, head) = (source.path().to_owned(), source.head().to_owned());
        let workers = context.threads.max(1);
        // A piece and its batch take about three times its bytes.
        let affordable = BudgetShare::ChromePieces.bytes(&context.budget) / (3 * piece_bytes as u64).max(1);
        let pieces_ahead = saturating_len(affordable).clamp(2, 2 * workers + 1);
        let (spare, spares) = bounded(pieces_ahead);
        let (is_live, is_small) = (source.is_live(), source.is_small() || source.is_live());
        let frames = OnceLock::new();
        let splitter = Splitter::new(source, piece_bytes, spares);
        let frames = FrameLookup { path: &path, table: &frames };
        let mut follower = Follower::new(sink, context, spare, frames);
        follower.overlapping = OverlappingSpans::for_trace(&head);
        let is_message_list = begins_messages(&head);
        if is_message_list {
            follower.envelope = Envelope::message_list();
        } else if begins_bare(&head) {
            (follower.envelope, follower.position) =
                (Envelope::bare(), Some(ArrayPosition::Between { comma_due: false }));
        }
        if is_live {
            follower.stream_frames = Some(StackFrames::from_stream(&[]));
            let bytes_max = BudgetShare::ChromeFrameText.hard_limit_bytes(&context.budget);
            follower.envelope.collect_frames(saturating_len(bytes_max));
        }
        let read = if is_small {
            follower.parse_all(splitter)
        } else {
            count_threads(workers + 1);
            on_threads((workers, pieces_ahead), splitter, follower)
        };
        read.map_err(|stop| match stop {
            Stop::Read(error) => error,
            // None of the messages has events.
            Stop::NotATrace(_) if is_message_list => ReadError::Unsupported { path, refused: DEVTOOLS_LOG },
            Stop::NotATrace(NotATrace { offset, expected, found }) => {
                let found = if expected == EVENTS { found + &shapes::nearest(&head) } else { found };
                ReadError::malformed(path, offset, expected, found)
            }
        })
    }
}

/// Parses pieces on other threads, or on this one if the system refuses them.
fn on_threads((workers, pieces_ahead): (usize, usize), splitter: Splitter, follower: Follower<'_>) -> Result<(), Stop> {
    let mut splitter = Some(splitter);
    let whole = &mut splitter;
    let (context, frames) = (follower.context, follower.frames);
    let read = thread::scope(|scope| {
        let (tickets, in_order) = bounded(pieces_ahead);
        let (jobs, waiting) = unbounded();
        let start_worker = || {
            let waiting = waiting.clone();
            start_scoped(scope, "parse", move || work(&waiting, frames.table)).is_ok()
        };
        let split = move || {
            if let Some(splitter) = whole.take() {
                enqueue_pieces(splitter, &tickets, &jobs, context);
            }
        };
        if !start_worker() || start_scoped(scope, "split", split).is_err() {
            return Err(Box::new(follower));
        }
        // Fewer workers take longer.
        let _refused = (1..workers).any(|_| !start_worker());
        Ok(follower.follow(&in_order))
    });
    match (read, splitter) {
        (Ok(read), _) => read,
        (Err(follower), Some(splitter)) => follower.parse_all(splitter),
        (Err(_), None) => Ok(()),
    }
}

/// Parses pieces until the queue is closed.
fn work(waiting: &Receiver<ParseJob>, frames: &OnceLock<StackFrames>) {
    for ParseJob { piece, begins, reply } in waiting {
        let parsed = parse(&piece.bytes, piece.offset, begins, false, frames.get());
        // The receiver is gone if the read was stopped.
        reply.send((piece, parsed)).ok();
    }
}

/// Splits the source into pieces, and enters each into the order before it is parsed.
fn enqueue_pieces(mut splitter: Splitter, tickets: &Sender<Ticket>, jobs: &Sender<ParseJob>, context: &ReadContext) {
    loop {
        let ticket = match splitter.next_piece() {
            Err(error) => Ticket::Failed(error),
            Ok(None) => Ticket::End(splitter.cut_at()),
            Ok(Some(piece)) => {
                let charge = context.budget.charge(3 * piece.bytes.len() as u64);
                match piece.begins {
                    None => Ticket::Unparsed(piece, charge),
                    Some(begins) => {
                        let (reply, parsed) = bounded(1);
                        let ticket = Ticket::Parsed(parsed, charge);
                        if tickets.send(ticket).is_err() || jobs.send(ParseJob { piece, begins, reply }).is_err() {
                            return;
                        }
                        continue;
                    }
                }
            }
        };
        let is_last = matches!(ticket, Ticket::Failed(_) | Ticket::End(_));
        if tickets.send(ticket).is_err() || is_last {
            return;
        }
    }
}

/// On a live stream, a smaller carry is parsed again on every arrival of data. Its record may be complete now, and the
/// next may not come for hours.
const LIVE_CARRY_BYTES: usize = 256 << 10;

/// The required contents of a trace.
const EVENTS: &str = "the events of a trace, each with a phase (`ph`)";

/// The reason for an early end of the read.
enum Stop {
    Read(ReadError),
    NotATrace(NotATrace),
}

impl From<ReadError> for Stop {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<NotATrace> for Stop {
    fn from(error: NotATrace) -> Self {
        Self::NotATrace(error)
    }
}

/// Moves the times of a part of a document to the clock of the trace. Counts those that overflow.
fn shift(batch: &mut Batch, profiles: &mut [ProfilePart], by_ns: i64) {
    if by_ns == 0 {
        return;
    }
    let losses = &mut batch.losses;
    batch.chunk.events.retain_mut(|event| {
        let moved_ns = event.ts_ns.checked_add(by_ns);
        match moved_ns {
            Some(ts_ns) => event.ts_ns = ts_ns,
            None => losses.add(Loss::BadTime, SourcePos::Time(event.ts_ns)),
        }
        moved_ns.is_some()
    });
    for part in profiles {
        (part.ts_ns, part.clock_shift_ns) = (part.ts_ns.saturating_add(by_ns), by_ns);
    }
}

/// Lookup of the frame table.
#[derive(Clone, Copy)]
struct FrameLookup<'a> {
    path: &'a Path,
    table: &'a OnceLock<StackFrames>,
}

/// Tracks the true position, and emits the pieces in order.
struct Follower<'a> {
    sink: &'a mut dyn BatchSink,
    context: &'a ReadContext,
    envelope: Envelope,
    /// The position in the event array; `None` outside of it.
    position: Option<ArrayPosition>,
    /// The bytes of an incomplete record, and those after it.
    carry: Vec<u8>,
    /// The offset of the carry in the trace.
    offset: u64,
    /// The carry is parsed again once it has this many bytes. The limit doubles each time, so that a large record is
    /// not scanned again for each piece.
    enough_bytes: usize,
    truncated: bool,
    /// Returns the buffers of finished pieces.
    spare: Sender<Vec<u8>>,
    frames: FrameLookup<'a>,
    /// The frame table of a live stream, which cannot be searched for a table in advance.
    stream_frames: Option<StackFrames>,
    /// References to frames of a live stream. If a table follows, the sort of the whole trace resolves them.
    unresolved: Losses,
    profiles: Profiles,
    /// Limit for the bytes of profile parts that wait for earlier parts.
    profile_bytes_max: u64,
    /// The latest time of a live stream, whose parts of profiles wait for a limited time only.
    live_ns: Option<i64>,
    /// The kernel trace, while its string continues.
    system: Option<SystemTrace>,
    /// Spans of a trace of the `go` command.
    overlapping: Option<OverlappingSpans>,
    /// Process of the first thread with each thread id.
    owners: FxHashMap<Id, Id>,
    /// Number of records with the members of an event, and without.
    recognised: u64,
    unrecognised: u64,
}

impl<'a> Follower<'a> {
    fn new(
        sink: &'a mut dyn BatchSink,
        context: &'a ReadContext,
        spare: Sender<Vec<u8>>,
        frames: FrameLookup<'a>,
    ) -> Self {
        Self {
            frames,
            stream_frames: None,
            unresolved: Losses::default(),
            profiles: Profiles::new(context.chunk_limits),
            live_ns: None,
            profile_bytes_max: BudgetShare::V8Profiles.bytes(&context.budget),
            system: None,
            overlapping: None,
            owners: FxHashMap::default(),
            spare,
            sink,
            context,
            envelope: Envelope::new(),
            position: None,
            carry: Vec::new(),
            offset: 0,
            enough_bytes: 0,
            truncated: false,
            recognised: 0,
            unrecognised: 0,
        }
    }

    fn follow(mut self, in_order: &Receiver<Ticket>) -> Result<(), Stop> {
        for ticket in in_order {
            self.context.cancel.check().map_err(ReadError::from)?;
            match ticket {
                Ticket::Failed(error) => return Err(error.into()),
                Ticket::End(cut_at) => return self.end(cut_at),
                Ticket::Unparsed(piece, _charge) => self.read_bytes(piece.bytes)?,
                Ticket::Parsed(parsed, _charge) => {
                    // A worker always replies unless it panicked, and the scope propagates a panic.
                    let Ok((piece, parsed)) = parsed.recv() else { continue };
                    if self.carry.is_empty() && self.position == piece.begins {
                        self.emit_parsed(piece, parsed)?;
                    } else {
                        self.read_bytes(piece.bytes)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Parses all pieces on this thread.
    fn parse_all(mut self, mut splitter: Splitter) -> Result<(), Stop> {
        while let Some(piece) = splitter.next_piece()? {
            self.context.cancel.check().map_err(ReadError::from)?;
            if splitter.is_live() {
                self.live_ns.get_or_insert(i64::MIN);
            }
            let _charge = self.context.budget.charge(3 * piece.bytes.len() as u64);
            if splitter.is_live() && self.carry.len() < LIVE_CARRY_BYTES {
                self.enough_bytes = 0;
            }
            self.read_bytes(piece.bytes)?;
        }
        self.context.cancel.check().map_err(ReadError::from)?;
        self.end(splitter.cut_at())
    }

    /// Accepts a piece that was parsed from the true position.
    fn emit_parsed(&mut self, piece: ChromePiece, mut parsed: ParsedRecords) -> Result<(), Stop> {
        let bytes = piece.bytes;
        if parsed.events.wants_frames
            && let Some(position) = self.position
        {
            parsed = parse(&bytes, piece.offset, position, false, Some(self.find_frames()?));
        }
        self.carry.extend_from_slice(&bytes[parsed.consumed..]);
        self.offset += parsed.consumed as u64;
        // The channel may be closed or full.
        self.spare.try_send(bytes).ok();
        self.emit_records(parsed)?;
        if self.carry.is_empty() { Ok(()) } else { self.advance(false) }
    }

    fn read_bytes(&mut self, bytes: Vec<u8>) -> Result<(), Stop> {
        if self.carry.is_empty() {
            self.carry = bytes;
        } else {
            self.carry.extend_from_slice(&bytes);
        }
        if self.carry.len() >= self.enough_bytes { self.advance(false) } else { Ok(()) }
    }

    /// Parses as much of the carry as possible.
    fn advance(&mut self, at_end: bool) -> Result<(), Stop> {
        loop {
            let before = (self.carry.len(), self.position.is_some());
            if let Some(position) = self.position {
                let frames = self.stream_frames.as_ref().or_else(|| self.frames.table.get());
                let mut parsed = parse(&self.carry, self.offset, position, at_end, frames);
                if parsed.events.wants_frames {
                    let frames = self.find_frames()?;
                    parsed = parse(&self.carry, self.offset, position, at_end, Some(frames));
                }
                self.consume(parsed.consumed);
                self.emit_records(parsed)?;
            } else {
                let mut losses = Losses::default();
                let (taken, next_syntax) = self.envelope.advance(&self.carry, self.offset, at_end, &mut losses)?;
                self.consume(taken);
                self.read_stream_frames(&mut losses);
                self.parse_system_text(false)?;
                if next_syntax == NextSyntax::Records {
                    self.position = Some(ArrayPosition::Between { comma_due: false });
                }
                let metadata = self.envelope.take_utc_offset_ns().map(|offset_ns| Metadata::Utc { offset_ns });
                self.accept(Batch { losses, metadata: metadata.into_iter().collect(), ..Batch::default() })?;
            }
            if self.carry.is_empty() || before == (self.carry.len(), self.position.is_some()) {
                break;
            }
        }
        if self.position.is_none() && self.carry.len() >= RECORD_BYTES_MAX {
            let found = "a longer one".to_owned();
            return Err(NotATrace { offset: self.offset, expected: "a key below 64 MiB", found }.into());
        }
        self.enough_bytes = (2 * self.carry.len()).min(RECORD_BYTES_MAX);
        Ok(())
    }

    /// Reads the new text of the kernel trace, and ends the trace at the end of its string.
    fn parse_system_text(&mut self, is_cut: bool) -> Result<(), Stop> {
        if let Some((text, offset)) = self.envelope.take_system_text() {
            let system = self.system.get_or_insert_with(|| SystemTrace::new(self.context));
            system.add_text(&text, offset);
            if let Some(batch) = system.full_batch() {
                self.accept(batch)?;
            }
        }
        if (!self.envelope.is_in_system_text() || is_cut)
            && let Some(system) = self.system.take()
        {
            let batch = system.finish(is_cut, &mut *self.sink, self.context)?;
            self.accept(batch)?;
        }
        Ok(())
    }

    /// Reads the table of a live stream that precedes the events of its document.
    fn read_stream_frames(&mut self, losses: &mut Losses) {
        if let Some(frames) = &mut self.stream_frames
            && let Some(text) = self.envelope.take_frames_text()
        {
            *frames = StackFrames::from_stream(&text);
            losses.merge(&std::mem::take(&mut frames.losses));
        }
    }

    /// Returns the frame table. The first call searches the trace for it.
    fn find_frames(&mut self) -> Result<&'a StackFrames, Stop> {
        let FrameLookup { path, table } = self.frames;
        if table.get().is_none() {
            // Separate events have no document with a table.
            let is_bare = self.envelope.is_bare();
            let mut frames = if is_bare { StackFrames::default() } else { StackFrames::find(path, self.context)? };
            let losses = std::mem::take(&mut frames.losses);
            self.accept(Batch { losses, ..Batch::default() })?;
            // Only this thread sets it.
            table.set(frames).ok();
        }
        Ok(table.get_or_init(StackFrames::default))
    }

    fn emit_records(&mut self, parsed: ParsedRecords) -> Result<(), Stop> {
        let ParsedRecords { position, events, .. } = parsed;
        let ChromeBatch { mut batch, unowned, mut profiles, unresolved, recognised, unrecognised, .. } = events;
        shift(&mut batch, &mut profiles, self.envelope.shift_ns());
        if self.envelope.is_bare() {
            batch.losses.remove(Loss::MissingComma);
        }
        self.unresolved.merge(&unresolved);
        self.recognised += recognised;
        self.unrecognised += unrecognised;
        self.position = if position == ArrayPosition::After {
            self.envelope.array_closed();
            None
        } else {
            Some(position)
        };
        // The process of a thread must not depend on batch boundaries, so processes from earlier batches come first.
        for UnownedThread { track, owner } in unowned {
            let key = &mut batch.tracks[track.index()];
            if let Some(owner) = self.owners.get(&key.tid).or(owner.as_ref()) {
                key.pid = owner.clone();
            }
        }
        for track in batch.tracks.iter().filter(|track| track.kind == TrackKind::Thread && track.pid != Id::None) {
            if !self.owners.contains_key(&track.tid) {
                self.owners.insert(track.tid.clone(), track.pid.clone());
            }
        }
        let times = batch.chunk.events.iter().map(|event| event.ts_ns).chain(profiles.iter().map(|part| part.ts_ns));
        let live_ns = self.live_ns.map(|live_ns| times.fold(live_ns, i64::max));
        if let Some(overlapping) = &mut self.overlapping {
            overlapping.pair(&mut batch);
        }
        self.accept(batch)?;
        for part in profiles {
            self.profiles.push(part);
            self.apply_profiles(self.profile_bytes_max)?;
        }
        self.live_ns = live_ns;
        if let Some(now_ns) = live_ns {
            while self.profiles.apply_settled(now_ns) {
                self.accept_full_samples()?;
            }
            // A live stream shows its samples as they come.
            let samples = self.profiles.rest();
            self.accept(samples)?;
        }
        Ok(())
    }

    fn accept_full_samples(&mut self) -> Result<(), Stop> {
        self.profiles.full_batch().map_or(Ok(()), |samples| self.accept(samples))
    }

    /// Adds the samples of the earliest parts of profiles, until the others have at most these bytes.
    fn apply_profiles(&mut self, bytes_max: u64) -> Result<(), Stop> {
        while self.profiles.apply_earliest(bytes_max) {
            self.accept_full_samples()?;
        }
        Ok(())
    }

    fn consume(&mut self, len: usize) {
        self.carry.drain(..len);
        self.offset += len as u64;
    }

    fn accept(&mut self, batch: Batch) -> Result<(), Stop> {
        if batch.chunk.events.is_empty() && batch.metadata.is_empty() && batch.losses.is_empty() {
            return Ok(());
        }
        self.truncated |= batch.losses.count(Loss::Truncated) > 0;
        self.context.progress.add_events(batch.chunk.events.len() as u64);
        Ok(self.sink.accept(batch)?)
    }

    /// Parses the rest. Counts a truncation once, whatever indicates it.
    fn end(mut self, cut_at: Option<u64>) -> Result<(), Stop> {
        self.advance(true)?;
        self.parse_system_text(true)?;
        if let Some(overlapping) = self.overlapping.take() {
            self.accept(overlapping.rest())?;
        }
        self.apply_profiles(0)?;
        self.profiles.finish();
        let samples = self.profiles.rest();
        self.accept(samples)?;
        if !self.envelope.has_frames() || self.context.is_sole_read {
            let losses = std::mem::take(&mut self.unresolved);
            self.accept(Batch { losses, ..Batch::default() })?;
        }
        let end = self.offset + self.carry.len() as u64;
        self.envelope.at_end(end, self.recognised > 0)?;
        if self.recognised == 0 && self.unrecognised > 0 {
            let found = match self.unrecognised {
                1 => "1 object without".to_owned(),
                many => format!("{many} objects without"),
            };
            return Err(NotATrace { offset: 0, expected: EVENTS, found }.into());
        }
        let is_whole = cut_at.is_none() && self.envelope.may_end();
        if !is_whole && !self.truncated {
            let mut losses = Losses::default();
            losses.add(Loss::Truncated, SourcePos::Offset(cut_at.unwrap_or(end)));
            self.accept(Batch { losses, ..Batch::default() })?;
        }
        Ok(())
    }
}

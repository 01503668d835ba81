//! Reads the manual format of Spall and emits its events.

use super::args::args_detail;
use super::buffer_header::{header_u32, next_header};
use super::event_check::EventCheck;
use super::wire::{
    BUFFER_HEADER_BYTES, EVENT_BYTES_MAX, HEADER_BYTES, MAGIC, MAGIC_AUTOMATIC, NoEvent, SpallEvent, SpallEventKind,
    SpallTime, THREAD_BUFFER_HEADER_BYTES, VERSION_BUFFERS, VERSION_FIRST, VERSION_STREAM, VERSION_THREADS, event,
};
use crate::formats::format::{ArrivalKey, DataKind, Format, Opener};
use crate::formats::input::byte_reader::ByteReader;
use crate::formats::input::lengths::saturating_len;
use crate::formats::input::source::{Source, excerpt};
use crate::formats::input::ticks::TickLength;
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::{BatchBuilder, label};
use crate::formats::{BatchSink, ReadContext, ReadError, Reader, StreamReader};
use crate::model::{Event, EventFlags, EventKind, Id, Loss, Metadata, SourcePos, TrackKey};

/// Message of the loss of what follows the end of the events.
const AFTER_END: &str = "More data follows the event that ends the stream or the buffer, as in files joined by `cat`; it is not shown. Open each trace from a file of its own.";

/// Number of consecutive valid events that end a damaged region.
const EVENTS_TRUSTED: usize = 3;

pub(crate) const FORMAT: Format = Format {
    name: "Spall",
    record: "A record is a byte for its type and fields of fixed length.",
    sniff: looks_like_spall,
    is_event: None,
    live: Some(ArrivalKey::End),
    shows: &[DataKind::Spans, DataKind::Instants, DataKind::Arguments],
    opener: Opener::Trace(|source, _| open(source)),
};

/// Returns whether a trace begins like one of the two Spall formats.
fn looks_like_spall(head: &[u8]) -> bool {
    head.starts_with(&MAGIC) || head.starts_with(&MAGIC_AUTOMATIC)
}

/// Opens a reader. Returns [`ReadError::Malformed`] for other versions and invalid clocks.
fn open(source: Source) -> Result<Reader, ReadError> {
    let malformed =
        |offset, expected: &str, found: String| Err(ReadError::malformed(source.path(), offset, expected, found));
    let head = source.head();
    if head.starts_with(&MAGIC_AUTOMATIC) {
        return super::auto::open(source);
    }
    let Some(header) = head.first_chunk::<HEADER_BYTES>() else {
        return malformed(head.len() as u64, "a header of 32 bytes", "the end of the file".to_owned());
    };
    let field = |at: usize| header[at..at + 8].try_into().unwrap_or([0; 8]);
    let version = u64::from_le_bytes(field(8));
    if !matches!(version, VERSION_FIRST | VERSION_STREAM | VERSION_THREADS | VERSION_BUFFERS) {
        return malformed(8, "a version up to 3", format!("version {version}"));
    }
    let micros = f64::from_le_bytes(field(16));
    match TickLength::from_micros(micros) {
        Some(tick) => Ok(Reader::stream(Spall { source, version, tick })),
        None => malformed(16, "the microseconds of a tick, above 0", format!("{micros} ({})", excerpt(&field(16)))),
    }
}

struct Spall {
    source: Source,
    version: u64,
    tick: TickLength,
}

impl StreamReader for Spall {
    fn read(self: Box<Self>, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let mut input = ByteReader::new(self.source);
        input.skip(HEADER_BYTES as u64)?;
        let builder = SpallEventBuilder {
            tick: self.tick,
            pid: Id::None,
            tid: 0,
            pos: SourcePos::Offset(0),
            args: ArgsWriter::default(),
        };
        let (batch, version) = (BatchBuilder::new(context.chunk_limits), self.version);
        let mut parser = SpallParser { input, version, builder, batch, sink, context, check: EventCheck::default() };
        match version {
            VERSION_FIRST | VERSION_STREAM => parser.stream()?,
            _ => parser.buffers()?,
        }
        let cut_at = parser.input.source().cut_at();
        parser.batch.lose_cut(cut_at);
        parser.batch.flush(sink)
    }
}

struct SpallParser<'a> {
    input: ByteReader,
    version: u64,
    builder: SpallEventBuilder,
    batch: BatchBuilder,
    sink: &'a mut dyn BatchSink,
    context: &'a ReadContext,
    check: EventCheck,
}

/// Builds the events of one thread.
struct SpallEventBuilder {
    tick: TickLength,
    pid: Id,
    tid: u32,
    pos: SourcePos,
    args: ArgsWriter,
}

impl SpallParser<'_> {
    /// Reads versions 0 and 1: events up to the end of the trace.
    fn stream(&mut self) -> Result<(), ReadError> {
        loop {
            let at_hand = self.await_event(VERSION_STREAM, EVENT_BYTES_MAX)?;
            let pos = SourcePos::Offset(self.input.offset());
            let bytes = self.input.peek(at_hand)?;
            if bytes.is_empty() {
                return Ok(());
            }
            self.builder.pos = pos;
            let step = match event(VERSION_STREAM, bytes) {
                Ok(SpallEvent { kind: SpallEventKind::StreamEnd, len }) => return self.end_stream(len as u64),
                Ok(SpallEvent { kind: SpallEventKind::Padding(padding), len }) => len as u64 + u64::from(padding),
                Ok(SpallEvent { kind, len }) => {
                    self.builder.add_event(kind, &mut self.batch);
                    len as u64
                }
                Err(NoEvent::Incomplete) => {
                    self.batch.lose(Loss::Truncated, pos);
                    return Ok(());
                }
                Err(NoEvent::UnknownType) => {
                    self.batch.lose(Loss::BadRecord, pos);
                    self.step_over_damage()?;
                    0
                }
            };
            self.skip(step, pos)?;
            self.check.count(&mut self.batch, self.sink, self.context)?;
        }
    }

    /// Ends the stream after its last event, of `len` bytes.
    fn end_stream(&mut self, len: u64) -> Result<(), ReadError> {
        self.input.skip(len)?;
        // A live stream may stay open.
        if !self.input.source().is_live() && !self.input.is_at_end()? {
            self.lose_after_end();
        }
        Ok(())
    }

    /// Returns the number of bytes to peek, at most `most`. On a live stream, waits for one complete event only, since
    /// no other may follow for hours. Flushes the batch before it waits.
    fn await_event(&mut self, version: u64, most: usize) -> Result<usize, ReadError> {
        if !self.input.source().is_live() {
            return Ok(most);
        }
        let mut least = 1;
        loop {
            if self.input.would_wait(least) {
                self.batch.flush_if_any(self.sink)?;
            }
            let bytes = self.input.peek_at_hand(least, most)?;
            let is_whole = !matches!(event(version, bytes), Err(NoEvent::Incomplete));
            if is_whole || bytes.len() < least || bytes.len() >= most {
                return Ok(bytes.len());
            }
            least = bytes.len() + 1;
        }
    }

    /// Skips to the next run of valid events.
    fn step_over_damage(&mut self) -> Result<(), ReadError> {
        let mut searched = 0u32;
        loop {
            self.input.skip(1)?;
            if self.input.would_wait(EVENTS_TRUSTED * EVENT_BYTES_MAX) {
                self.batch.flush_if_any(self.sink)?;
            }
            let bytes = self.input.peek(EVENTS_TRUSTED * EVENT_BYTES_MAX)?;
            if bytes.is_empty() || makes_sense(bytes) {
                return Ok(());
            }
            searched = searched.wrapping_add(1);
            if searched.is_multiple_of(1 << 20) {
                self.context.cancel.check()?;
            }
        }
    }

    /// Reads versions 2 and 3: buffers up to the end of the trace. A damaged event costs the rest of its buffer.
    fn buffers(&mut self) -> Result<(), ReadError> {
        let has_process = self.version == VERSION_BUFFERS;
        let header_bytes = if has_process { BUFFER_HEADER_BYTES } else { THREAD_BUFFER_HEADER_BYTES };
        while let Some(header) = next_header(&mut self.input, header_bytes, &mut self.batch, self.sink)? {
            // The header continues with the first time. Some tracers write 0, and every event has its own time.
            let (len, tid) = (u64::from(header_u32(header, 0)), header_u32(header, 4));
            let pid = if has_process { Id::Number(header_u32(header, 8).into()) } else { Id::None };
            (self.builder.tid, self.builder.pid) = (tid, pid);
            self.buffer(len)?;
        }
        Ok(())
    }

    fn buffer(&mut self, len: u64) -> Result<(), ReadError> {
        let end = self.input.offset() + len;
        while self.input.offset() < end {
            let offset = self.input.offset();
            let left = end - offset;
            let wanted = saturating_len(left).min(EVENT_BYTES_MAX);
            let at_hand = self.await_event(self.version, wanted)?;
            let bytes = self.input.peek(at_hand)?;
            let is_cut = bytes.len() < wanted;
            self.builder.pos = SourcePos::Offset(offset);
            let step = match event(self.version, bytes) {
                Ok(spall_event) => match spall_event.kind {
                    SpallEventKind::StreamEnd => {
                        if left > spall_event.len as u64 {
                            self.lose_after_end();
                        }
                        left
                    }
                    SpallEventKind::Padding(len) => (spall_event.len as u64 + u64::from(len)).min(left),
                    kind => {
                        self.builder.add_event(kind, &mut self.batch);
                        spall_event.len as u64
                    }
                },
                Err(NoEvent::Incomplete) if is_cut => {
                    self.batch.lose(Loss::Truncated, SourcePos::Offset(offset));
                    left
                }
                Err(_) => {
                    self.batch.lose(Loss::BadRecord, SourcePos::Offset(offset));
                    left
                }
            };
            if !self.input.skip(step)? {
                self.batch.lose_cut(Some(offset));
                return Ok(());
            }
            self.check.count(&mut self.batch, self.sink, self.context)?;
        }
        Ok(())
    }

    /// Counts the bytes after the event that ends a stream or a buffer, at the position of that event.
    fn lose_after_end(&mut self) {
        self.batch.losses().add_because(AFTER_END, Loss::TrailingData, self.builder.pos);
    }

    fn skip(&mut self, len: u64, pos: SourcePos) -> Result<(), ReadError> {
        if !self.input.skip(len)? {
            self.batch.lose(Loss::Truncated, pos);
        }
        Ok(())
    }
}

/// Returns whether the next events, up to [`EVENTS_TRUSTED`], are begins or ends of version 1 with valid times and
/// text.
fn makes_sense(mut bytes: &[u8]) -> bool {
    for _ in 0..EVENTS_TRUSTED {
        if bytes.is_empty() {
            return true;
        }
        let Ok(spall_event) = event(VERSION_STREAM, bytes) else { return false };
        let may_be = |at: SpallTime| matches!(at, SpallTime::Float { ticks, .. } if ticks == 0.0 || ticks.is_normal() && ticks > 0.0);
        let is_good = match spall_event.kind {
            SpallEventKind::Begin { at, name, args } => {
                may_be(at) && std::str::from_utf8(name).is_ok() && std::str::from_utf8(args).is_ok()
            }
            SpallEventKind::End { at } => may_be(at),
            _ => false,
        };
        if !is_good {
            return false;
        }
        bytes = &bytes[spall_event.len..];
    }
    true
}

impl SpallEventBuilder {
    fn add_event(&mut self, kind: SpallEventKind<'_>, batch: &mut BatchBuilder) {
        let (kind, at, name, args) = match kind {
            SpallEventKind::Begin { at, name, args } => (EventKind::Begin, at, name, args),
            SpallEventKind::End { at } => (EventKind::End, at, &b""[..], &b""[..]),
            SpallEventKind::Instant { at, name } => (EventKind::Instant, at, name, &b""[..]),
            SpallEventKind::ProcessName(name) => {
                let name = label(name, self.pos, batch.losses());
                let pid = self.pid.clone();
                return batch.add_metadata(Metadata::ProcessName { pid, name });
            }
            SpallEventKind::ThreadName(name) => {
                let name = label(name, self.pos, batch.losses());
                let (pid, tid) = (self.pid.clone(), Id::Number(self.tid.into()));
                return batch.add_metadata(Metadata::ThreadName { pid, tid, name });
            }
            SpallEventKind::Padding(_) | SpallEventKind::StreamEnd => return,
        };
        let (pid, tid, ts_ns) = match at {
            SpallTime::Float { pid, tid, ticks } => (Id::Number(pid.into()), tid, self.tick.nanos_from_float(ticks)),
            SpallTime::Ticks(ticks) => (self.pid.clone(), self.tid, self.tick.nanos(ticks)),
        };
        let Some(ts_ns) = ts_ns else { return batch.lose(Loss::BadTime, self.pos) };
        let tid = Id::Number(tid.into());
        let key = TrackKey::thread(pid, tid);
        let (track, name) = (batch.track_with(&key), batch.name(name, None, self.pos));
        let detail = if args.is_empty() { 0 } else { args_detail(args, &mut self.args, batch) };
        let flags = if kind == EventKind::End { EventFlags::UNNAMED } else { EventFlags::NONE };
        batch.push(Event { detail, flags, ..Event::new(ts_ns, kind, track, name) });
    }
}

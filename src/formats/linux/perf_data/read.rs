//! Reads a perf.data file, record by record.

use std::io::Write as _;

use super::events::PerfEventBuilder;
use super::header::{ARCH, CLOCK_DATA, EVENT_DESC, HEADER_BYTES_MAX, OS_RELEASE, PerfHeader, begins, is_big_endian};
use super::rounds::{PerfRecord, Rounds};
use super::wire::{Attr, MAGIC, RECORD_HEADER_BYTES, kind};
use crate::base::bytes::ByteCursor;
use crate::formats::format::{ArrivalKey, DataKind, Format, Opener};
use crate::formats::input::byte_reader::ByteReader;
use crate::formats::input::source::Source;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::{BatchSink, ReadContext, ReadError, Reader, StreamReader};
use crate::model::{Loss, LossValue, SourcePos};

/// Records between checks for cancellation.
const RECORDS_PER_CHECK: u64 = 4096;

/// Limit for the output of a compressed record, which has less than 64 KiB of input. Larger output means a
/// decompression bomb.
const UNPACKED_BYTES_MAX: usize = 64 << 20;

/// Message of the loss of another recording in the same file.
const APPENDED: &str = "Another recording follows in the same file, as in files joined by `cat`; it is not shown. Open each recording from a file of its own.";

/// Message of the loss of the order of records.
const LATE: &str = "Records of the kernel wait for older ones of other processors, and more waited than the memory limit allows; mappings and switches before this one were read after later events. Raise the memory limit.";

/// The waiting records to release.
#[derive(Debug, Clone, Copy)]
enum Release {
    /// Records that no later record can precede, at the end of a round.
    Round,
    /// All, since they take too much memory.
    Early,
    /// All, at the end of the trace.
    Rest,
}

pub(crate) const FORMAT: Format = Format {
    name: "perf.data",
    record: "A record is a header of type and length, and a sample laid out as the attributes of its event say.",
    sniff: looks_like_perf_data,
    is_event: None,
    live: Some(ArrivalKey::End),
    shows: &[DataKind::Spans, DataKind::Instants, DataKind::Arguments, DataKind::Scheduling, DataKind::Samples],
    opener: Opener::Trace(|source, _| open(source)),
};

/// Returns whether a file starts like perf data.
fn looks_like_perf_data(head: &[u8]) -> bool {
    begins(head)
}

/// Creates a reader. Fails with [`ReadError::Malformed`] for big-endian files.
fn open(source: Source) -> Result<Reader, ReadError> {
    if is_big_endian(source.head()) {
        let (expected, found) = ("a trace of a little-endian machine", "one of a big-endian machine");
        return Err(ReadError::malformed(source.path(), 0, expected, found));
    }
    Ok(Reader::stream(PerfData { source }))
}

struct PerfData {
    source: Source,
}

struct PerfParser<'a> {
    header: PerfHeader,
    rounds: Rounds,
    builder: PerfEventBuilder,
    batch: BatchBuilder,
    /// Whether a sample had no time.
    has_untimed: bool,
    /// Decoder of compressed records, created at the first. Its output holds an incomplete record.
    unpack: Option<zstd::stream::write::Decoder<'static, Vec<u8>>>,
    /// Byte offset of the last compressed record.
    packed_at: u64,
    sink: &'a mut dyn BatchSink,
    context: &'a ReadContext,
}

impl StreamReader for PerfData {
    fn read(self: Box<Self>, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let mut input = ByteReader::new(self.source);
        let header = PerfHeader::read(&mut input, context)?;
        // A killed recording has data length 0 in its header.
        let end = header.data_bytes.filter(|&bytes| bytes > 0).map(|bytes| input.offset().saturating_add(bytes));
        let was_killed = header.data_bytes == Some(0);
        let (rounds, builder, batch) =
            (Rounds::new(&context.budget), PerfEventBuilder::new(context), BatchBuilder::new(context.chunk_limits));
        let (has_untimed, unpack, packed_at) = (false, None, 0);
        let mut parser = PerfParser { header, rounds, builder, batch, has_untimed, unpack, packed_at, sink, context };
        if was_killed {
            parser.batch.lose(Loss::Truncated, SourcePos::Offset(input.offset()));
        }
        // Build-ids before the damage are used; other frames keep their addresses.
        let _ = parser.builder.list_build_ids(&std::mem::take(&mut parser.header.build_ids));
        parser.records(&mut input, end)?;
        let is_counted =
            was_killed || input.source().cut_at().is_some() || parser.batch.batch().losses.count(Loss::Truncated) > 0;
        if !is_counted {
            parser.lose_incomplete();
        }
        parser.lose_appended(&mut input, end)?;
        parser.release(Release::Rest)?;
        parser.builder.finish(&parser.header, &mut parser.batch);
        parser.batch.lose_cut(input.source().cut_at());
        parser.batch.flush(parser.sink)
    }
}

impl PerfParser<'_> {
    fn records(&mut self, input: &mut ByteReader, end: Option<u64>) -> Result<(), ReadError> {
        let mut count = 0u64;
        while end.is_none_or(|end| input.offset() < end) {
            count += 1;
            if count.is_multiple_of(RECORDS_PER_CHECK) {
                self.context.cancel.check()?;
            }
            self.flush_before_wait(input, RECORD_HEADER_BYTES)?;
            let offset = input.offset();
            let pos = SourcePos::Offset(offset);
            let head = input.peek(RECORD_HEADER_BYTES)?;
            let header = record_header(head);
            if end.is_none() && begins(head) {
                return Ok(());
            }
            let Some((kind, misc, len)) = header else {
                let is_at_end = head.is_empty() && end.is_none();
                if head.len() < RECORD_HEADER_BYTES {
                    if !is_at_end {
                        self.batch.lose(Loss::Truncated, pos);
                    }
                    return Ok(());
                }
                // An impossible length: skip in steps of the record alignment to the next plausible record.
                self.batch.lose(Loss::BadRecord, pos);
                if !self.step_over_damage(input)? {
                    return Ok(());
                }
                continue;
            };
            self.flush_before_wait(input, len)?;
            let record = input.peek(len)?;
            if record.len() < len {
                self.batch.lose(Loss::Truncated, pos);
                return Ok(());
            }
            let body = record[RECORD_HEADER_BYTES..].to_vec();
            input.skip(len as u64)?;
            let payload_bytes = self.record(kind, misc, &body, offset)?;
            if kind == kind::TRACING_DATA && payload_bytes <= HEADER_BYTES_MAX {
                let described = self.header.describe_tracepoints(input.peek(payload_bytes as usize)?);
                self.batch.losses().add_many(Loss::BadRecord, pos, u64::from(described.is_none()));
            }
            if payload_bytes > 0 && !input.skip(payload_bytes)? {
                self.batch.lose(Loss::Truncated, pos);
            }
        }
        Ok(())
    }

    /// Emits the events before a live stream waits for the next `len` bytes.
    fn flush_before_wait(&mut self, input: &ByteReader, len: usize) -> Result<(), ReadError> {
        if input.would_wait(len) { self.batch.flush_if_any(self.sink) } else { Ok(()) }
    }

    /// Counts the last compressed record if it is incomplete.
    fn lose_incomplete(&mut self) {
        if self.unpack.as_ref().is_some_and(|decoder| !decoder.get_ref().is_empty()) {
            self.batch.lose(Loss::Truncated, SourcePos::Offset(self.packed_at));
        }
    }

    /// Counts another recording after this one, as in files joined by `cat`. A recording in pipe mode has no known end,
    /// so it ends where the next begins.
    fn lose_appended(&mut self, input: &mut ByteReader, end: Option<u64>) -> Result<(), ReadError> {
        if let Some(end) = end {
            let Some(sections_end) = self.header.sections_end(input, end)? else { return Ok(()) };
            if !input.skip(sections_end.saturating_sub(input.offset()))? {
                return Ok(());
            }
        }
        if begins(input.peek(MAGIC.len())?) {
            self.batch.losses().add_because(APPENDED, Loss::TrailingData, SourcePos::Offset(input.offset()));
        }
        Ok(())
    }

    /// Skips to the next plausible record; returns `false` at the end of the file.
    fn step_over_damage(&mut self, input: &mut ByteReader) -> Result<bool, ReadError> {
        let mut steps = 0u32;
        loop {
            if !input.skip(8)? {
                return Ok(false);
            }
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(1 << 20) {
                self.context.cancel.check()?;
            }
            if record_header(input.peek(RECORD_HEADER_BYTES)?).is_some() || input.is_at_end()? {
                return Ok(true);
            }
        }
    }

    /// Handles a record. Returns the number of payload bytes that follow it.
    fn record(&mut self, kind: u32, misc: u16, body: &[u8], offset: u64) -> Result<u64, ReadError> {
        let pos = SourcePos::Offset(offset);
        match kind {
            kind::FINISHED_ROUND => self.release(Release::Round)?,
            kind::COMPRESSED => self.unpack(body, offset)?,
            kind::COMPRESSED2 => {
                let mut front = ByteCursor(body);
                let len = front.u64().and_then(|len| front.bytes(usize::try_from(len).ok()?));
                match len {
                    Some(bytes) => self.unpack(bytes, offset)?,
                    None => self.batch.lose(Loss::BadRecord, pos),
                }
            }
            kind::ATTR => {
                // The attribute has its length in its second field; the ids follow it.
                let len = body.get(4..).and_then(|bytes| ByteCursor(bytes).u32()).unwrap_or(0) as usize;
                match body.split_at_checked(len) {
                    Some((attr, ids)) => self.header.add(attr, ids),
                    None => self.batch.lose(Loss::BadRecord, pos),
                }
            }
            kind::FEATURE => {
                let mut front = ByteCursor(body);
                match front.u64() {
                    Some(OS_RELEASE) => self.header.take_release(front.0),
                    Some(ARCH) => self.header.take_machine(front.0),
                    Some(CLOCK_DATA) => self.header.take_clocks(front.0),
                    Some(EVENT_DESC) if self.header.describe(front.0).is_none() => {
                        self.batch.lose(Loss::BadRecord, pos);
                    }
                    _ => {}
                }
            }
            kind::BUILD_ID => {
                if self.builder.list_build_id(misc, body).is_none() {
                    self.batch.lose(Loss::BadRecord, pos);
                }
            }
            // These two record kinds are followed by payload that is not a record.
            kind::TRACING_DATA => return Ok(u64::from(ByteCursor(body).u32().unwrap_or(0)).next_multiple_of(8)),
            kind::AUXTRACE => {
                self.batch.lose_value(Loss::IgnoredPacket, LossValue::text(b"AUX area trace"), pos);
                return Ok(ByteCursor(body).u64().unwrap_or(0));
            }
            // Other records of perf itself describe the recording.
            kind if kind::OF_PERF.contains(&kind) => {}
            _ => self.kernel_record(kind, misc, body, offset)?,
        }
        Ok(0)
    }

    /// Holds a record of the kernel until its round is complete.
    fn kernel_record(&mut self, kind: u32, misc: u16, body: &[u8], offset: u64) -> Result<(), ReadError> {
        let pos = SourcePos::Offset(offset);
        let attr = self.header.attr(kind, body);
        let time_ns = attr.and_then(|attr| attr.time(kind, body));
        if kind == kind::SAMPLE && time_ns.is_none() {
            if attr.is_none_or(Attr::has_time) {
                self.batch.lose(Loss::BadTime, pos);
                return Ok(());
            }
            if !std::mem::replace(&mut self.has_untimed, true) {
                self.batch.lose(Loss::NoTimes, pos);
            }
        }
        if !self.rounds.push(time_ns, kind, misc, body, offset) {
            self.batch.losses().add_because(LATE, Loss::OverLimit, pos);
        }
        if self.rounds.is_full() { self.release(Release::Early) } else { Ok(()) }
    }

    fn release(&mut self, release: Release) -> Result<(), ReadError> {
        let Self { rounds, builder, batch, header, sink, context, .. } = self;
        let mut count = 0u64;
        let mut take = |record: PerfRecord<'_>| {
            // Unwinding one stack takes up to milliseconds.
            count += 1;
            if count.is_multiple_of(RECORDS_PER_CHECK / 16) {
                context.cancel.check()?;
            }
            builder.add_record(header, record, batch);
            batch.flush_if_full(*sink, context)
        };
        match release {
            Release::Early => rounds.release_early(&mut take),
            Release::Round if header.has_times() => rounds.finish_round(&mut take),
            // A file without times is in order, and has nothing to wait for.
            Release::Round | Release::Rest => rounds.finish(&mut take),
        }
    }

    /// Handles the records in a compressed one. All compressed records form one stream, and a record may span two of
    /// them.
    fn unpack(&mut self, packed: &[u8], offset: u64) -> Result<(), ReadError> {
        let pos = SourcePos::Offset(offset);
        self.packed_at = offset;
        if self.unpack.is_none() {
            self.unpack = zstd::stream::write::Decoder::new(Vec::new()).ok();
        }
        let Some(decoder) = &mut self.unpack else {
            self.batch.lose(Loss::BadRecord, pos);
            return Ok(());
        };
        let mut is_damaged = false;
        for piece in packed.chunks(4096) {
            is_damaged |= decoder.write_all(piece).and_then(|()| decoder.flush()).is_err();
            if is_damaged || decoder.get_ref().len() > UNPACKED_BYTES_MAX {
                break;
            }
        }
        let bytes = std::mem::take(decoder.get_mut());
        if is_damaged {
            self.batch.lose(Loss::BadRecord, pos);
            self.unpack = None;
        } else if bytes.len() > UNPACKED_BYTES_MAX {
            self.batch.lose(Loss::OverLimit, pos);
        }
        let mut rest = &bytes[..];
        loop {
            let Some((kind, misc, len)) = record_header(rest) else {
                if rest.len() < RECORD_HEADER_BYTES {
                    break;
                }
                // The records after an impossible header would wait for it in the decoder.
                self.batch.lose(Loss::BadRecord, pos);
                rest = skip_damage(rest);
                continue;
            };
            let Some((record, after)) = rest.split_at_checked(len) else { break };
            rest = after;
            if !matches!(kind, kind::COMPRESSED | kind::COMPRESSED2) {
                self.record(kind, misc, &record[RECORD_HEADER_BYTES..], offset)?;
            }
        }
        if let Some(decoder) = &mut self.unpack {
            decoder.get_mut().extend_from_slice(rest);
        }
        Ok(())
    }
}

/// Returns the bytes from the next plausible record on, in steps of the record alignment; too few for a header without
/// any.
fn skip_damage(mut bytes: &[u8]) -> &[u8] {
    while bytes.len() >= RECORD_HEADER_BYTES && record_header(bytes).is_none() {
        bytes = &bytes[RECORD_HEADER_BYTES..];
    }
    bytes
}

/// Returns kind, flags and length of the record at the start of `bytes`; `None` if it is not a record.
fn record_header(bytes: &[u8]) -> Option<(u32, u16, usize)> {
    let mut front = ByteCursor(bytes);
    let (kind, rest) = (front.u32()?, front.u32()?);
    let (misc, len) = (rest as u16, (rest >> 16) as usize);
    let is_known = kind::OF_KERNEL.contains(&kind) || kind::OF_PERF.contains(&kind);
    (is_known && len >= RECORD_HEADER_BYTES).then_some((kind, misc, len))
}

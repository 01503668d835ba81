//! Reads the calls of a thread: entries and exits of functions, with the events between them.
//!
//! The types of the values after a record may be unknown, and with them their length. The next record is then found by
//! its mark, its time and its depth.

use super::arguments::{RECORD_ALIGNMENT, ValueSpecs};
use super::functions::{UftraceFunction, UftraceFunctionNames};
use super::tasks::SessionStart;
use super::wire::{RECORD_BYTES, UftraceRecord, UftraceRecordKind, event};
use crate::base::bytes::ByteCursor;
use crate::formats::input::byte_reader::ByteReader;
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::{BatchSink, ReadContext, ReadError};
use crate::model::{Event, EventFlags, EventKind, Loss, NameIdx, SourcePos, TrackIdx};

/// Limit for the values of a record; uftrace has a buffer of 1 KiB for them. It also bounds the search for the next
/// record in a damaged file.
const VALUE_BYTES_MAX: usize = 4 << 10;

/// Records between checks for cancellation.
const RECORDS_PER_CHECK: u32 = 1 << 16;

/// Length of each number of an event with several.
const NUMBER_BYTES: usize = 8;

/// Reads the file of a thread.
pub(super) struct CallReader<'a, 'f> {
    input: ByteReader,
    /// Number of the thread's track, and its id.
    thread: (usize, i64),
    /// Programs that its process runs, and the position of the current program.
    sessions: &'f [SessionStart],
    session: usize,
    /// Depths of the functions that are open, outermost first.
    open: Vec<u16>,
    /// Whether the first exits belong to functions that the parent process entered.
    is_forked: bool,
    last: Option<UftraceRecord>,
    functions: &'a mut UftraceFunctionNames<'f>,
    args: ArgsWriter,
    context: &'a ReadContext,
}

impl<'a, 'f> CallReader<'a, 'f> {
    pub(super) fn new(
        input: ByteReader,
        thread: (usize, i64),
        functions: &'a mut UftraceFunctionNames<'f>,
        context: &'a ReadContext,
    ) -> Self {
        let pid = functions.tasks.process(thread.1);
        Self {
            input,
            thread,
            sessions: functions.tasks.sessions_of(pid),
            session: 0,
            open: Vec::new(),
            is_forked: functions.tasks.is_forked(pid),
            last: None,
            functions,
            args: ArgsWriter::default(),
            context,
        }
    }

    /// Adds the calls to batches. A damaged region is counted once.
    pub(super) fn read(&mut self, batch: &mut BatchBuilder, sink: &mut dyn BatchSink) -> Result<(), ReadError> {
        let mut records = 0u32;
        loop {
            let pos = SourcePos::Offset(self.input.offset());
            let bytes = self.input.peek(2 * RECORD_BYTES)?;
            if bytes.is_empty() {
                return Ok(());
            }
            if bytes.len() < RECORD_BYTES {
                batch.lose(Loss::Truncated, pos);
                return Ok(());
            }
            let fits = |record: &UftraceRecord| self.last.is_none_or(|last| record.is_not_before(&last));
            let record = UftraceRecord::parse(bytes).filter(fits);
            let next = bytes.get(RECORD_BYTES..).and_then(UftraceRecord::parse);
            if let Some(record) = record {
                self.input.skip(RECORD_BYTES as u64)?;
                if has_damaged_time(&record, next.filter(fits)) {
                    batch.lose(Loss::BadTime, pos);
                } else {
                    self.add(&record, pos, batch)?;
                    if record.kind != UftraceRecordKind::Lost {
                        self.last = Some(record);
                    }
                }
            } else {
                batch.lose(Loss::BadRecord, pos);
                self.skip_damage()?;
            }
            records = records.wrapping_add(1);
            if records.is_multiple_of(RECORDS_PER_CHECK) {
                self.context.cancel.check()?;
            }
            batch.flush_if_full(sink, self.context)?;
        }
    }

    /// Skips to the next two records in a row. Records start at multiples of their alignment.
    fn skip_damage(&mut self) -> Result<(), ReadError> {
        let mut steps = 0u32;
        loop {
            self.input.skip(RECORD_ALIGNMENT as u64)?;
            let last = self.last;
            let bytes = self.input.peek(2 * RECORD_BYTES)?;
            if bytes.len() < RECORD_BYTES {
                let rest = bytes.len() as u64;
                self.input.skip(rest)?;
                return Ok(());
            }
            if let Some(first) = UftraceRecord::parse(bytes)
                && may_resume(last, &first, &bytes[RECORD_BYTES..])
            {
                // The depths of lost records are unknown.
                self.last = None;
                return Ok(());
            }
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(RECORDS_PER_CHECK) {
                self.context.cancel.check()?;
            }
        }
    }

    fn add(&mut self, record: &UftraceRecord, pos: SourcePos, batch: &mut BatchBuilder) -> Result<(), ReadError> {
        self.args.clear();
        let Ok(ts_ns) = i64::try_from(record.ts_ns) else {
            batch.lose(Loss::BadTime, pos);
            return self.skip_values(record, batch, pos);
        };
        let (number, tid) = self.thread;
        let tasks = self.functions.tasks;
        let track = batch.numbered_track(number, || tasks.track(tid));
        match record.kind {
            UftraceRecordKind::Entry => {
                self.close_above(record.depth, ts_ns, track, batch);
                self.open.push(record.depth);
                let function = self.function(record.address, ts_ns, pos, batch)?;
                let specs = function.specs.as_deref().and_then(|specs| specs.arguments.as_ref());
                let detail = self.values(record, specs, batch, pos)?;
                batch.push(Event { detail, ..Event::new(ts_ns, EventKind::Begin, track, function.name) });
            }
            UftraceRecordKind::Exit => {
                self.close_above(record.depth.saturating_add(1), ts_ns, track, batch);
                let function = self.function(record.address, ts_ns, pos, batch)?;
                let specs = function.specs.as_deref().and_then(|specs| specs.returned.as_ref());
                let detail = self.values(record, specs, batch, pos)?;
                if self.open.last() == Some(&record.depth) {
                    self.open.pop();
                    batch.push(Event { detail, ..end(ts_ns, track) });
                } else if !self.is_forked || !self.open.is_empty() {
                    batch.lose(Loss::UnmatchedEnd, pos);
                }
            }
            UftraceRecordKind::Lost => {
                // The recorder does not write the time of a loss.
                let last_ns = self.last.and_then(|last| i64::try_from(last.ts_ns).ok());
                let pos_of_loss = last_ns.map_or(pos, SourcePos::Time);
                batch.losses().add_many(Loss::RecorderLost, pos_of_loss, record.address.max(1));
                self.skip_values(record, batch, pos)?;
            }
            UftraceRecordKind::Event => self.add_event(record, (ts_ns, track), pos, batch)?,
        }
        Ok(())
    }

    /// Ends the functions at `depth` and deeper, which were left without an exit: by an exception, a jump or a new
    /// program.
    fn close_above(&mut self, depth: u16, ts_ns: i64, track: TrackIdx, batch: &mut BatchBuilder) {
        while self.open.last().is_some_and(|&open| open >= depth) {
            self.open.pop();
            batch.push(end(ts_ns, track));
        }
    }

    fn function(
        &mut self,
        address: u64,
        ts_ns: i64,
        pos: SourcePos,
        batch: &mut BatchBuilder,
    ) -> Result<UftraceFunction, ReadError> {
        while self.sessions.get(self.session + 1).is_some_and(|&(start_ns, _)| start_ns <= ts_ns) {
            self.session += 1;
        }
        if let Some(&(_, session)) = self.sessions.get(self.session) {
            return self.functions.function((session, address), pos, batch, self.context);
        }
        let name = batch.name(format!("{address:#x}").as_bytes(), None, pos);
        Ok(UftraceFunction { name, specs: None })
    }

    /// Reads the values of an entry or an exit as arguments, and returns their row. Values of unknown types are
    /// skipped, and counted.
    fn values(
        &mut self,
        record: &UftraceRecord,
        specs: Option<&ValueSpecs>,
        batch: &mut BatchBuilder,
        pos: SourcePos,
    ) -> Result<u32, ReadError> {
        if !record.has_values {
            return Ok(0);
        }
        let bytes = self.input.peek(VALUE_BYTES_MAX + RECORD_BYTES)?;
        let decoded = specs.and_then(|specs| specs.decode(bytes, &mut self.args));
        if let Some(len) = decoded.filter(|&len| may_end(bytes, len, |next| next.is_not_before(record))) {
            self.input.skip(len as u64)?;
            return Ok(self.detail(batch));
        }
        let len = unknown_len(bytes, record);
        let is_cut = len == bytes.len() && (specs.is_some() || !len.is_multiple_of(RECORD_ALIGNMENT));
        self.input.skip(len as u64)?;
        batch.lose(if is_cut { Loss::Truncated } else { Loss::IgnoredArguments }, pos);
        Ok(0)
    }

    /// Returns the row of the collected arguments; 0 if there are none.
    fn detail(&mut self, batch: &mut BatchBuilder) -> u32 {
        batch.args(self.args.finish())
    }

    fn skip_values(
        &mut self,
        record: &UftraceRecord,
        batch: &mut BatchBuilder,
        pos: SourcePos,
    ) -> Result<(), ReadError> {
        self.values(record, None, batch, pos).map(drop)
    }

    /// Adds an event as an instant. Its values have a length before them.
    fn add_event(
        &mut self,
        record: &UftraceRecord,
        (ts_ns, track): (i64, TrackIdx),
        pos: SourcePos,
        batch: &mut BatchBuilder,
    ) -> Result<(), ReadError> {
        let (name, fields) = event::builtin(record.address).unwrap_or(("", &[]));
        let mut text = name.to_owned();
        if text.is_empty() {
            let named = self.functions.user_event(record.address).map(str::to_owned);
            text = named.unwrap_or_else(|| format!("event {}", record.address));
        }
        if record.has_values {
            const LEN_BYTES: usize = 2;
            let len = self.input.peek(LEN_BYTES)?.first_chunk().map_or(0, |len| u16::from_le_bytes(*len));
            let bytes = self.input.peek(LEN_BYTES + usize::from(len))?;
            let mut values = ByteCursor(bytes);
            let Some(data) = values.u16().and_then(|len| values.bytes(len.into())) else {
                let rest = bytes.len() as u64;
                batch.lose(Loss::Truncated, pos);
                self.input.skip(rest)?;
                return Ok(());
            };
            let padded = (LEN_BYTES + data.len()).next_multiple_of(RECORD_ALIGNMENT);
            add_numbers(data, fields, &mut self.args);
            self.input.skip(padded as u64)?;
        }
        let detail = self.detail(batch);
        let name = batch.name(text.as_bytes(), None, pos);
        batch.push(Event { detail, ..Event::new(ts_ns, EventKind::Instant, track, name) });
        Ok(())
    }
}

/// Adds the numbers of an event of uftrace. Each has eight bytes; a single number may be shorter.
fn add_numbers(data: &[u8], fields: &[&str], args: &mut ArgsWriter) {
    let mut values = ByteCursor(data);
    let bytes_each = if let [_] = fields { data.len().min(NUMBER_BYTES) } else { NUMBER_BYTES };
    for field in fields {
        let Some(bytes) = values.bytes(bytes_each) else { return };
        let mut wide = [0; NUMBER_BYTES];
        wide[..bytes.len()].copy_from_slice(bytes);
        // Differences may be negative.
        args.signed(field, i64::from_le_bytes(wide));
    }
    if fields.is_empty() {
        let end = memchr::memchr(0, data).unwrap_or(data.len());
        args.text("data", &data[..end]);
    }
}

/// Returns whether bytes after damage are a record, by the following bytes. The time before the damage may be wrong.
fn may_resume(last: Option<UftraceRecord>, record: &UftraceRecord, after: &[u8]) -> bool {
    let is_later = last.is_none_or(|last| record.is_not_before(&last));
    match UftraceRecord::parse(after) {
        _ if record.has_values || after.len() < RECORD_BYTES => is_later,
        next => next.is_some_and(|next| next.may_follow(record)),
    }
}

/// Returns whether the time of a record is damaged. It is out of range, or later than the next record, whose time fits
/// the records before both.
fn has_damaged_time(record: &UftraceRecord, next: Option<UftraceRecord>) -> bool {
    let is_earlier = |next: UftraceRecord| !next.is_not_before(record);
    i64::try_from(record.ts_ns).is_err() || !record.has_values && next.is_some_and(is_earlier)
}

fn end(ts_ns: i64, track: TrackIdx) -> Event {
    Event { flags: EventFlags::UNNAMED, ..Event::new(ts_ns, EventKind::End, track, NameIdx::EMPTY) }
}

/// Returns whether the values of a record may have this length: a record that `fits`, or the end of the file, follows.
fn may_end(bytes: &[u8], len: usize, fits: impl Fn(&UftraceRecord) -> bool) -> bool {
    match bytes.get(len..) {
        None => false,
        Some([]) => true,
        Some(rest) => UftraceRecord::parse(rest).is_some_and(|next| fits(&next)),
    }
}

/// Returns the length of values of unknown types: up to the next record, or to the end of the file. Filters of a
/// recording leave gaps in the depths, so a record of any depth is the second choice.
fn unknown_len(bytes: &[u8], record: &UftraceRecord) -> usize {
    let lens = || (RECORD_ALIGNMENT..=bytes.len()).step_by(RECORD_ALIGNMENT);
    let nested = lens().find(|&len| may_end(bytes, len, |next| next.may_follow(record)));
    let any = || lens().find(|&len| may_end(bytes, len, |next| next.is_not_before(record)));
    let is_last = bytes.len() < VALUE_BYTES_MAX + RECORD_BYTES;
    nested.or_else(any).unwrap_or(if is_last { bytes.len() } else { 0 })
}

//! Reads versions 1 and 3 of Spall's automatic format, in which the compiler instruments each function. Each buffer has
//! the events of one thread; times and addresses of version 3 are deltas to the previous event. A function is named by
//! its address until it is symbolized. Version 1 does not say where the program was loaded, so its addresses stay. The
//! caller in an event is ignored, since the enclosing span already shows it.

use rustc_hash::FxHashMap;

use super::args::args_detail;
use super::buffer_header::{header_u32, next_header};
use super::event_check::EventCheck;
use super::wire::{
    AUTO_BUFFER_HEADER_BYTES, AUTO_HEADER_BYTES, AutoEvent, AutoEventKind, NoEvent, THREAD_BUFFER_HEADER_BYTES,
    VERSION_BUFFERS, VERSION_STREAM,
};
use crate::formats::input::byte_reader::ByteReader;
use crate::formats::input::lengths::saturating_len;
use crate::formats::input::source::{Source, excerpt};
use crate::formats::input::ticks::TickLength;
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::{BatchBuilder, label};
use crate::formats::output::modules::{FrameFile, FrameModules, file_name};
use crate::formats::{BatchSink, ReadContext, ReadError, Reader, StreamReader};
use crate::model::{Event, EventFlags, EventKind, Id, Loss, Metadata, ModuleKind, NameIdx, SourcePos, TrackKey};

/// Code is within this distance of the start of the program, as compilers assume by default.
const IMAGE_BYTES_MAX: u64 = 1 << 31;

/// Limit for cached function names; a full cache is cleared.
const FUNCTIONS_MAX: usize = 1 << 16;

/// Opens a reader. Returns [`ReadError::Malformed`] for other versions and invalid clocks.
pub(super) fn open(source: Source) -> Result<Reader, ReadError> {
    let malformed =
        |offset, expected: &str, found: String| Err(ReadError::malformed(source.path(), offset, expected, found));
    let head = source.head();
    let Some(header) = head.first_chunk::<AUTO_HEADER_BYTES>() else {
        return malformed(head.len() as u64, "a header of 34 bytes", "the end of the file".to_owned());
    };
    let field = |at: usize| header[at..at + 8].try_into().unwrap_or([0; 8]);
    let version = u64::from_le_bytes(field(8));
    if !matches!(version, VERSION_STREAM | VERSION_BUFFERS) {
        let found = format!("version {version}; record again with a current spall_native_auto.h");
        return malformed(8, "version 1 or 3 of the automatic kind", found);
    }
    let nanos = f64::from_le_bytes(field(16));
    let Some(tick) = TickLength::from_nanos(nanos) else {
        return malformed(16, "the nanoseconds of a tick, above 0", format!("{nanos} ({})", excerpt(&field(16))));
    };
    let base = (version == VERSION_BUFFERS).then(|| u64::from_le_bytes(field(24)));
    let path_len = u16::from_le_bytes(header[32..34].try_into().unwrap_or([0; 2]));
    Ok(Reader::stream(SpallAuto { source, tick, base, path_len }))
}

struct SpallAuto {
    source: Source,
    tick: TickLength,
    /// Start address of the program; `None` in version 1.
    base: Option<u64>,
    path_len: u16,
}

impl StreamReader for SpallAuto {
    fn read(self: Box<Self>, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let mut input = ByteReader::new(self.source);
        input.skip(AUTO_HEADER_BYTES as u64)?;
        let mut batch = BatchBuilder::new(context.chunk_limits);
        let pos = SourcePos::Offset(input.offset());
        let Some(path) = input.take_bytes(self.path_len.into())? else {
            batch.lose(Loss::Truncated, pos);
            return batch.flush(sink);
        };
        let program = path.to_vec();
        let name = file_name(&program);
        if !name.is_empty() {
            let name = label(name, pos, batch.losses());
            batch.add_metadata(Metadata::ProcessName { pid: Id::None, name });
        }
        let functions = SpallFunctionNames { base: self.base, program, ..SpallFunctionNames::default() };
        let args = ArgsWriter::default();
        let is_first_version = functions.base.is_none();
        let builder =
            AutoEventBuilder { tick: self.tick, is_first_version, functions, args, tid: 0, ticks: 0, address: 0 };
        let mut parser = AutoParser { input, builder, batch, sink, context, check: EventCheck::default() };
        parser.buffers()?;
        let AutoParser { input, mut batch, sink, .. } = parser;
        batch.lose_cut(input.source().cut_at());
        batch.flush(sink)
    }
}

struct AutoParser<'a> {
    input: ByteReader,
    builder: AutoEventBuilder,
    batch: BatchBuilder,
    sink: &'a mut dyn BatchSink,
    context: &'a ReadContext,
    check: EventCheck,
}

/// Builds the events of a buffer.
struct AutoEventBuilder {
    tick: TickLength,
    /// Whether times and addresses are absolute.
    is_first_version: bool,
    functions: SpallFunctionNames,
    args: ArgsWriter,
    tid: u32,
    /// Time and address of the previous event, to which the next deltas are added.
    ticks: u64,
    address: u64,
}

/// Cache of function names by address, as rows of the current name table.
#[derive(Default)]
struct SpallFunctionNames {
    /// Start address of the program; `None` in version 1.
    base: Option<u64>,
    program: Vec<u8>,
    modules: FrameModules,
    rows: FxHashMap<u64, NameIdx>,
    /// Number of the name table that the rows belong to.
    names_number: u32,
}

impl SpallFunctionNames {
    fn name(&mut self, address: u64, pos: SourcePos, batch: &mut BatchBuilder) -> NameIdx {
        if self.names_number != batch.names_number() || self.rows.len() >= FUNCTIONS_MAX {
            self.names_number = batch.names_number();
            self.rows.clear();
        }
        if let Some(&name) = self.rows.get(&address) {
            return name;
        }
        let offset = self.base.and_then(|base| address.checked_sub(base)).filter(|&offset| offset < IMAGE_BYTES_MAX);
        // Other addresses are in libraries, whose load addresses are not in the trace.
        let (path, address_in_path) = offset.map_or((&b""[..], address), |offset| (&*self.program, offset));
        let file = FrameFile { path, build_id: None, kind: ModuleKind::Image };
        let frame = self.modules.frame(file, address_in_path, batch);
        let name = batch.name(&frame.text, frame.category.as_deref().map(str::as_bytes), pos);
        self.rows.insert(address, name);
        name
    }
}

impl AutoParser<'_> {
    /// Reads all buffers. After a damaged event, the rest of its buffer is skipped.
    fn buffers(&mut self) -> Result<(), ReadError> {
        let is_first_version = self.builder.is_first_version;
        let header_bytes = if is_first_version { THREAD_BUFFER_HEADER_BYTES } else { AUTO_BUFFER_HEADER_BYTES };
        while let Some(header) = next_header(&mut self.input, header_bytes, &mut self.batch, self.sink)? {
            let (len, tid) = (u64::from(header_u32(header, 0)), header_u32(header, 4));
            // The header continues with the maximum depth of the thread, which the spans already show.
            let ticks = header.get(8..16).and_then(|ticks| ticks.try_into().ok()).map_or(0, u64::from_le_bytes);
            (self.builder.tid, self.builder.ticks, self.builder.address) = (tid, ticks, 0);
            self.buffer(len)?;
        }
        Ok(())
    }

    fn buffer(&mut self, len: u64) -> Result<(), ReadError> {
        let end = self.input.offset() + len;
        let is_first_version = self.builder.is_first_version;
        while self.input.offset() < end {
            let offset = self.input.offset();
            let (left, pos) = (end - offset, SourcePos::Offset(offset));
            let usual = saturating_len(left).min(AutoEvent::USUAL_BYTES_MAX);
            let bytes = self.input.peek(usual)?;
            let (mut event, mut is_cut) = (AutoEvent::parse(is_first_version, bytes), bytes.len() < usual);
            if matches!(event, Err(NoEvent::Incomplete)) && (usual as u64) < left {
                let longest = saturating_len(left).min(AutoEvent::BYTES_MAX);
                let bytes = self.input.peek(longest)?;
                (event, is_cut) = (AutoEvent::parse(is_first_version, bytes), bytes.len() < longest);
            }
            let step = match event {
                Ok(event) => {
                    self.builder.add_event(event.kind, pos, &mut self.batch);
                    event.len as u64
                }
                Err(no_event) => {
                    let is_cut = is_cut && no_event == NoEvent::Incomplete;
                    self.batch.lose(if is_cut { Loss::Truncated } else { Loss::BadRecord }, pos);
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
}

impl AutoEventBuilder {
    fn add_event(&mut self, kind: AutoEventKind<'_>, pos: SourcePos, batch: &mut BatchBuilder) {
        let (AutoEventKind::Enter { ticks, .. } | AutoEventKind::Begin { ticks, .. } | AutoEventKind::End { ticks }) =
            kind;
        if self.is_first_version {
            (self.ticks, self.address) = (0, 0);
        }
        self.ticks = self.ticks.wrapping_add(ticks);
        if let AutoEventKind::Enter { address, .. } = kind {
            self.address ^= address;
        }
        let Some(ts_ns) = self.tick.nanos(self.ticks) else { return batch.lose(Loss::BadTime, pos) };
        let tid = Id::Number(self.tid.into());
        let key = TrackKey::thread(Id::None, tid);
        let track = batch.track_with(&key);
        let event = match kind {
            AutoEventKind::Enter { .. } => {
                let name = self.functions.name(self.address, pos, batch);
                Event::new(ts_ns, EventKind::Begin, track, name)
            }
            AutoEventKind::Begin { name, args, .. } => {
                let name = batch.name(name, None, pos);
                let detail = if args.is_empty() { 0 } else { args_detail(args, &mut self.args, batch) };
                Event { detail, ..Event::new(ts_ns, EventKind::Begin, track, name) }
            }
            AutoEventKind::End { .. } => {
                Event { flags: EventFlags::UNNAMED, ..Event::new(ts_ns, EventKind::End, track, NameIdx::EMPTY) }
            }
        };
        batch.push(event);
    }
}

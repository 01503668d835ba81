//! Readers of traces: the result is the same for any block sizes and any number of threads. It consists of events,
//! names, positions and losses, or an error with its position. The number of events is bounded by the number of bytes,
//! and arguments are valid JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::path::Path;

use longspan::facade::formats::sniff::{self, FORMATS, Format};
use longspan::facade::formats::source::Source;
use longspan::facade::formats::{BatchSink, ChunkLimits, ChunkedTrace, ReadContext, ReadError, Reader};
use longspan::facade::model::args::Detail;
use longspan::facade::model::{
    Batch, Chunk, Event, EventFlags, EventKind, Loss, Losses, Lost, Metadata, NameIdx, NameRow, StackIdx, TrackKey,
    TrackKind,
};

/// No format takes less than half a byte per event; more events mean that bytes are read repeatedly.
const EVENTS_PER_BYTE_MAX: usize = 2;

/// Number of events that a reader may add, such as the ends of spans that are open at the end.
const EVENTS_BESIDE: usize = 64;

/// An event with resolved references.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seen {
    pub ts_ns: i64,
    pub kind: EventKind,
    pub name: String,
    pub category: Option<String>,
    pub track: TrackKey,
    /// 0 for samples, which have a `stack`.
    pub value: u64,
    pub depth: u16,
    pub flags: EventFlags,
    pub thread_ts_ns: Option<i64>,
    pub thread_dur_ns: Option<i64>,
    pub args: String,
    /// Innermost frame first.
    pub stack: Vec<String>,
}

/// The whole output of a reader, in time order and then in trace order. An end inside a begin event is a separate
/// event, before all others of its time.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Reading {
    pub events: Vec<Seen>,
    pub metadata: Vec<Metadata>,
    pub losses: Losses,
    /// Whether a begin event contained its end, which depends on the batches.
    has_moved_ends: bool,
}

impl Reading {
    fn take<'n>(
        &mut self,
        chunk: &Chunk,
        name: impl Fn(NameIdx) -> (&'n str, Option<&'n str>),
        track: impl Fn(usize) -> TrackKey,
        stack: impl Fn(StackIdx) -> Vec<String>,
    ) {
        let is_ended = |event: &&Event| event.kind == EventKind::Begin && event.value > 0;
        let end_of = |begin: &Event| Event {
            ts_ns: begin.ts_ns.saturating_add_unsigned(begin.value),
            kind: EventKind::End,
            flags: EventFlags::UNNAMED,
            name: NameIdx::EMPTY,
            value: 0,
            detail: 0,
            ..*begin
        };
        let ends: Vec<Event> = chunk.events.iter().filter(is_ended).map(end_of).collect();
        self.has_moved_ends |= !ends.is_empty();
        for event in ends.iter().chain(&chunk.events) {
            let detail = Detail::decode(chunk.details.blob(event.detail));
            let (text, category) = name(event.name);
            let is_sample = event.kind == EventKind::Sample;
            self.events.push(Seen {
                ts_ns: event.ts_ns,
                kind: event.kind,
                name: text.to_owned(),
                category: category.map(str::to_owned),
                track: track(event.track.index()),
                value: if is_sample || is_ended(&event) { 0 } else { event.value },
                depth: event.depth,
                // The flag depends on the block size.
                flags: event.flags.without(EventFlags::LATE),
                thread_ts_ns: detail.thread_ts_ns,
                thread_dur_ns: detail.thread_dur_ns,
                args: detail.args_json.to_owned(),
                stack: if is_sample { stack(StackIdx::from_value(event.value)) } else { Vec::new() },
            });
        }
    }
}

/// An incomplete reading, with the names that carry over between batches.
#[derive(Default)]
struct ReadingSink {
    reading: Reading,
    names: Vec<NameRow<Box<str>>>,
}

impl Reading {
    /// Moves the events of a thread whose process is now known.
    fn move_thread(&mut self, said: &Metadata) {
        let Metadata::ThreadProcess { tid, before, pid } = said else { return };
        for TrackKey { kind, pid: process, tid: thread, name, .. } in
            self.events.iter_mut().map(|event| &mut event.track)
        {
            let is_of_thread = matches!(kind, TrackKind::Thread | TrackKind::State) && name.is_empty();
            if is_of_thread && (&*process, &*thread) == (before, tid) {
                process.clone_from(pid);
            }
        }
    }
}

impl BatchSink for ReadingSink {
    fn accept(&mut self, batch: Batch) -> Result<(), ReadError> {
        let Self { reading, names } = self;
        names.truncate(batch.names_before as usize);
        names.extend(batch.names);
        batch.metadata.iter().for_each(|said| reading.move_thread(said));
        assert!(batch.chunk.events.is_sorted_by_key(|event| event.ts_ns), "readers sort their batches");
        let name = |name: NameIdx| {
            let row = &names[name.index()];
            (&*row.text, row.category.as_deref())
        };
        let stack = |stack| batch.stacks.frames(stack).map(|frame| name(frame).0.to_owned()).collect();
        reading.take(&batch.chunk, name, |track| batch.tracks[track].clone(), stack);
        reading.metadata.extend(batch.metadata);
        reading.losses.merge(&batch.losses);
        Ok(())
    }
}

/// Returns the whole output of a reader of either kind.
pub(super) fn read(reader: Reader, context: &ReadContext) -> Result<Reading, ReadError> {
    let mut reading = match reader {
        Reader::Stream(stream) => {
            let mut sink = ReadingSink::default();
            stream.read(&mut sink, context)?;
            sink.reading
        }
        Reader::Chunks(trace) => read_chunks(&trace),
    };
    reading.events.sort_by_key(|event| event.ts_ns);
    Ok(reading)
}

/// Reads every chunk that can be loaded.
fn read_chunks(trace: &ChunkedTrace) -> Reading {
    let ChunkedTrace { source, names, tracks, stacks, losses, .. } = trace;
    let mut reading = Reading { losses: losses.clone(), ..Reading::default() };
    for (number, head) in source.heads().iter().enumerate() {
        let Ok(chunk) = source.load(number) else { continue };
        assert_eq!(chunk.events.len(), head.events as usize, "chunk {number}");
        let name = |name| (names.get(name).text, names.get(name).category);
        let stack = |stack| stacks.frames(stack).map(|frame| name(frame).0.to_owned()).collect();
        reading.take(&chunk, name, |track| tracks.tracks[track].key.clone(), stack);
    }
    reading
}

/// Returns the format of this name.
fn format(name: &str) -> &'static Format {
    FORMATS.iter().find(|format| format.name == name).unwrap_or_else(|| panic!("no format {name}"))
}

/// Creates a temporary file with these bytes.
pub(super) fn file_of(bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("written");
    file
}

/// Creates a context with this number of threads, block size and batch size.
fn context((threads, block_bytes, batch_events): (usize, Option<usize>, Option<usize>)) -> ReadContext {
    ReadContext { threads, chunk_limits: ChunkLimits { block_bytes, batch_events }, ..ReadContext::default() }
}

/// Reads a file in this format, even if it begins like a file of another format.
fn read_as(format: &Format, path: &Path, context: &ReadContext) -> Result<Reading, ReadError> {
    let source = Source::open(path, context)?;
    read(sniff::open_as(format, source, context)?, context)
}

/// Returns the unpacked length of a file.
fn unpacked_bytes(path: &Path) -> usize {
    let Ok(mut source) = Source::open(path, &ReadContext::default()) else { return 0 };
    source.read_to_end(&mut Vec::new()).expect("a file in memory")
}

/// Runs the checks of this target on a reader. Returns the output, if any.
pub(super) fn check_reading(format_name: &str, bytes: &[u8]) -> Option<Reading> {
    let format = format(format_name);
    let file = file_of(bytes);
    let _known = sniff::format_of(&bytes[..bytes.len().min(longspan::facade::formats::source::HEAD_BYTES)]);
    let usual = read_as(format, file.path(), &context((1, None, None)));
    for cut in [(3, None, Some(3)), (2, Some(61), Some(1)), (1, Some(7), Some(50))] {
        let other = read_as(format, file.path(), &context(cut));
        match (&usual, &other) {
            (Ok(usual), Ok(other)) => assert_same(usual, other, &format!("{cut:?}")),
            (Err(usual), Err(other)) => assert_eq!(place_of(usual), place_of(other), "{cut:?}"),
            (usual, other) => panic!("{cut:?}: {:?} but {:?}", usual.as_ref().err(), other.as_ref().err()),
        }
    }
    let reading = usual.ok()?;
    // An archive is unpacked within its own limit, which the load enforces.
    if !format.is_archive() {
        let allowed = EVENTS_PER_BYTE_MAX * unpacked_bytes(file.path()) + EVENTS_BESIDE;
        assert!(reading.events.len() <= allowed, "{} events, {allowed} allowed", reading.events.len());
    }
    let args: BTreeSet<&str> =
        reading.events.iter().map(|event| &*event.args).filter(|args| !args.is_empty()).collect();
    for args in args {
        let parsed: Result<serde_json::Value, _> = serde_json::from_str(args);
        // JSON may be nested deeper than serde supports.
        let is_fine =
            parsed.as_ref().map_or_else(|error| error.to_string().contains("recursion"), serde_json::Value::is_object);
        assert!(is_fine, "{parsed:?}: {args}");
    }
    Some(reading)
}

/// Returns the effective metadata: the last of each kind.
fn last_words(metadata: &[Metadata]) -> BTreeMap<String, &Metadata> {
    let of = |said: &Metadata| match said {
        Metadata::ProcessName { pid, .. } => format!("process name {pid:?}"),
        Metadata::ProcessFile { pid, .. } => format!("file {pid:?}"),
        Metadata::ProcessLabels { pid, .. } => format!("labels {pid:?}"),
        Metadata::ProcessSortIndex { pid, .. } => format!("process order {pid:?}"),
        Metadata::ThreadName { pid, tid, .. } => format!("thread name {pid:?} {tid:?}"),
        Metadata::KernelName { pid, tid, .. } => format!("kernel name {pid:?} {tid:?}"),
        Metadata::ThreadProcess { before, tid, .. } => format!("process of {before:?} {tid:?}"),
        Metadata::ThreadSortIndex { pid, tid, .. } => format!("thread order {pid:?} {tid:?}"),
        Metadata::TrackSortIndex { key, .. } => format!("track order {key:?}"),
        Metadata::CounterUnit { key, .. } => format!("unit {key:?}"),
        Metadata::TrackGroup { key, .. } => format!("group {key:?}"),
        Metadata::Utc { .. } => "utc".to_owned(),
        Metadata::Fact { fact } => format!("fact {:?} {}", fact.subject, fact.key),
        Metadata::Module { module } => format!("module {module:?}"),
        Metadata::Unwound { module } => format!("unwound {module:?}"),
    };
    metadata.iter().map(|said| (of(said), said)).collect()
}

/// Returns losses without the count of bad texts. A text is checked once per batch, so the count depends on the
/// batches.
fn counted(losses: &Losses) -> Vec<Lost<'_>> {
    let once = |loss| matches!(loss, Loss::BadUtf8 | Loss::LongText | Loss::ControlCharacter);
    losses.iter().map(|lost| Lost { count: if once(lost.loss) { 1 } else { lost.count }, ..lost }).collect()
}

/// Returns the position and the expectation of an error. The found text depends on the progress of the reader.
fn place_of(error: &ReadError) -> String {
    let text = error.to_string();
    text.split_once(", found").map_or(text.clone(), |(place, _)| place.to_owned())
}

/// Compares two readings and reports the first difference. With moved ends, events with the same time are compared in
/// order within each track only.
#[track_caller]
pub(super) fn assert_same(usual: &Reading, other: &Reading, how: &str) {
    let have_moved_ends = usual.has_moved_ends || other.has_moved_ends;
    let in_order = |reading: &Reading| {
        let mut events = reading.events.clone();
        if have_moved_ends {
            events.sort_by_cached_key(|event| (event.ts_ns, format!("{:?}", event.track)));
        }
        events
    };
    for (number, (usual, other)) in in_order(usual).iter().zip(&in_order(other)).enumerate() {
        assert_eq!(usual, other, "event {number}, {how}");
    }
    assert_eq!(usual.events.len(), other.events.len(), "{how}");
    assert_eq!(last_words(&usual.metadata), last_words(&other.metadata), "{how}");
    assert_eq!(counted(&usual.losses), counted(&other.losses), "{how}");
}

/// Checks a format without a target of its own.
pub(super) fn check(format_name: &str, bytes: &[u8]) {
    check_reading(format_name, bytes);
}

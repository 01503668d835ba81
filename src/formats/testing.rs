//! Test helpers for readers: a sink that collects everything, and ways to read bytes like a user's file.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::{BatchSink, ChunkLimits, ReadContext, ReadError, Reader, sniff};
use crate::model::args::Detail;
use crate::model::{
    Batch, Event, EventFlags, EventKind, Loss, Losses, Metadata, NameIdx, NameRow, OF_THREAD, SampleMeasure, StackIdx,
    TrackKey,
};

/// An event with its indices resolved.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ReadEvent {
    pub(super) ts_ns: i64,
    pub(super) kind: EventKind,
    pub(super) name: String,
    pub(super) category: Option<String>,
    pub(super) track: TrackKey,
    pub(super) value: u64,
    pub(super) depth: u16,
    pub(super) flags: EventFlags,
    pub(super) thread_ts_ns: Option<i64>,
    pub(super) thread_dur_ns: Option<i64>,
    pub(super) args: String,
    /// Functions of a sample, outermost first; its value is then unused.
    pub(super) stack: Vec<String>,
    /// Categories of the functions, which name their modules.
    pub(super) modules: Vec<Option<String>>,
}

/// Everything that a reader emitted, sorted by time and, at equal times, in file order.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Reading {
    pub(super) events: Vec<ReadEvent>,
    /// Names of spans that failed.
    pub(super) failed: BTreeSet<String>,
    pub(in crate::formats) metadata: Vec<Metadata>,
    pub(super) losses: Losses,
}

impl Reading {
    /// Moves the events of a thread whose process is now known.
    fn move_thread(&mut self, metadata: &Metadata) {
        let Metadata::ThreadProcess { tid, before, pid } = metadata else { return };
        for track in self.events.iter_mut().map(|event| &mut event.track) {
            let is_of_thread = OF_THREAD.contains(&(track.kind, track.slot)) && track.name.is_empty();
            if is_of_thread && (&track.pid, &track.tid) == (before, tid) {
                track.pid.clone_from(pid);
            }
        }
    }

    /// Returns the kinds of losses with their counts.
    pub(super) fn lost(&self) -> Vec<(Loss, u64)> {
        self.losses.iter().map(|lost| (lost.loss, lost.count)).collect()
    }

    /// Returns the weights of samples, each of an event `time` in nanoseconds.
    pub(super) fn sampled_times(&self) -> Vec<u64> {
        let time = |event: &ReadEvent| {
            let SampleMeasure { event, unit, weight } = SampleMeasure::from_args(&event.args);
            assert_eq!((&*event, &*unit), ("time", "ns"));
            weight
        };
        self.events.iter().map(time).collect()
    }

    /// Returns the unit of a counter in the trace; empty if it states none.
    pub(super) fn unit(&self, counter: &TrackKey) -> &str {
        let mut units = self.metadata.iter().filter_map(|metadata| match metadata {
            Metadata::CounterUnit { key, unit } if key == counter => Some(&**unit),
            _ => None,
        });
        units.next_back().unwrap_or_default()
    }

    /// Returns the names of the tracks of events with their units, in order.
    pub(super) fn counters(&self) -> Vec<(&str, &str)> {
        let counters = self.events.iter().filter(|event| event.kind == EventKind::Counter);
        counters.map(|event| (&*event.track.name, self.unit(&event.track))).collect()
    }

    /// Returns time, value and name of each event.
    pub(super) fn short(&self) -> Vec<(i64, u64, &str)> {
        self.events.iter().map(|event| (event.ts_ns, event.value, event.name.as_str())).collect()
    }

    /// Returns time, kind and name of each event.
    pub(super) fn kinds(&self) -> Vec<(i64, EventKind, &str)> {
        self.events.iter().map(|event| (event.ts_ns, event.kind, event.name.as_str())).collect()
    }

    pub(super) fn names(&self) -> Vec<&str> {
        self.events.iter().map(|event| event.name.as_str()).collect()
    }
}

/// A sink that resolves and collects events, and keeps the names that batches share.
#[derive(Default)]
struct CollectingSink {
    reading: Reading,
    names: Vec<NameRow<Box<str>>>,
}

impl BatchSink for CollectingSink {
    fn accept(&mut self, batch: Batch) -> Result<(), ReadError> {
        let Self { reading, names } = self;
        names.truncate(batch.names_before as usize);
        names.extend(batch.names);
        batch.metadata.iter().for_each(|metadata| reading.move_thread(metadata));
        assert!(batch.chunk.events.is_sorted_by_key(|event| event.ts_ns), "readers sort their batches");
        // Splits off the ends that were merged into their begins. An end sorts before all other events of its time.
        let is_ended = |event: &&Event| event.kind == EventKind::Begin && event.value > 0;
        let end_of = |begin: &Event| Event {
            ts_ns: begin.ts_ns.strict_add_unsigned(begin.value),
            flags: EventFlags::UNNAMED,
            ..Event::new(0, EventKind::End, begin.track, NameIdx::EMPTY)
        };
        let ends: Vec<Event> = batch.chunk.events.iter().filter(is_ended).map(end_of).collect();
        for event in ends.iter().chain(&batch.chunk.events) {
            let name = &names[event.name.index()];
            let detail = Detail::decode(batch.chunk.details.blob(event.detail));
            if !detail.args_json.is_empty() {
                let args: Result<serde_json::Value, _> = serde_json::from_str(detail.args_json);
                // Nesting beyond the limit of this parser has its own tests.
                let is_object =
                    args.map_or_else(|error| error.to_string().contains("recursion limit"), |args| args.is_object());
                assert!(is_object, "{}", detail.args_json);
            }
            let is_sample = event.kind == EventKind::Sample;
            let frames = batch.stacks.frames(StackIdx::from_value(if is_sample { event.value } else { 0 }));
            let mut frames: Vec<_> = frames.map(|name| &names[name.index()]).collect();
            frames.reverse();
            reading.failed.extend(name.is_failed.then(|| name.text.to_string()));
            reading.events.push(ReadEvent {
                ts_ns: event.ts_ns,
                kind: event.kind,
                name: name.text.to_string(),
                category: name.category.as_deref().map(str::to_owned),
                track: batch.tracks[event.track.index()].clone(),
                value: if is_sample || is_ended(&event) { 0 } else { event.value },
                depth: event.depth,
                // Lateness depends on the order in the file, which tests do not compare.
                flags: event.flags.without(EventFlags::LATE),
                thread_ts_ns: detail.thread_ts_ns,
                thread_dur_ns: detail.thread_dur_ns,
                args: detail.args_json.to_owned(),
                stack: frames.iter().map(|name| name.text.to_string()).collect(),
                modules: frames.iter().map(|name| name.category.as_deref().map(str::to_owned)).collect(),
            });
        }
        reading.events.sort_by_key(|event| event.ts_ns);
        reading.metadata.extend(batch.metadata);
        reading.losses.merge(&batch.losses);
        Ok(())
    }
}

pub(super) fn context(threads: usize) -> ReadContext {
    ReadContext { threads, ..ReadContext::default() }
}

/// Reads a file as a user would open it.
pub(super) fn read_path(path: &Path) -> Result<Reading, ReadError> {
    read_with(path, &context(2))
}

/// Reads `bytes` in blocks of `block_bytes`, with batches of `batch_events` events.
pub(super) fn read_cut(bytes: &[u8], block_bytes: usize, batch_events: usize) -> Result<Reading, ReadError> {
    let chunk_limits = ChunkLimits { block_bytes: Some(block_bytes), batch_events: Some(batch_events) };
    read_with(file_of(bytes).path(), &ReadContext { chunk_limits, ..context(1) })
}

pub(super) fn read_with(path: &Path, context: &ReadContext) -> Result<Reading, ReadError> {
    let mut sink = CollectingSink::default();
    match sniff::open(path, context)? {
        Reader::Stream(reader) => match reader.read(&mut sink, context) {
            // Tests of readers check the losses.
            Err(ReadError::NoEvents { .. }) => assert!(has_nothing_read(&sink.reading)),
            Ok(()) => assert!(!has_nothing_read(&sink.reading), "a trace that opens empty and has losses"),
            Err(error) => return Err(error),
        },
        Reader::Chunks(_) => panic!("not a stream"),
    }
    Ok(sink.reading)
}

/// Returns whether there were records but no event.
fn has_nothing_read(reading: &Reading) -> bool {
    reading.events.is_empty() && reading.losses.iter().any(|lost| lost.loss.is_of_record())
}

/// Number of initial bytes of a live stream in tests.
const LIVE_HEAD_BYTES: usize = 64;

/// A reader that returns bytes in pieces of these lengths, again from the first after the last.
pub(super) struct Pieces {
    bytes: Vec<u8>,
    taken: usize,
    lens: Vec<usize>,
    reads: usize,
}

impl Pieces {
    pub(super) fn new(bytes: impl Into<Vec<u8>>, lens: &[usize]) -> Self {
        Self { bytes: bytes.into(), taken: 0, lens: lens.to_vec(), reads: 0 }
    }
}

impl std::io::Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let rest = &self.bytes[self.taken..];
        let len = self.lens[self.reads % self.lens.len()].min(rest.len()).min(buffer.len());
        self.reads += 1;
        buffer[..len].copy_from_slice(&rest[..len]);
        self.taken += len;
        Ok(len)
    }
}

/// Reads bytes as a live stream that delivers pieces of these lengths.
pub(super) fn read_live(bytes: &[u8], lens: &[usize]) -> Result<Reading, ReadError> {
    use super::live::{StreamState, open_live, recognise_live};
    let context = context(1);
    let head_len = bytes.len().min(super::input::source::HEAD_BYTES);
    let live = recognise_live(&bytes[..head_len], StreamState::Ended).expect("enough").expect("a format of streams");
    // At first, only the header of the format has arrived.
    let head_len = bytes.len().min(LIVE_HEAD_BYTES);
    let rest = Box::new(Pieces::new(&bytes[head_len..], lens));
    let head = bytes[..head_len].to_vec();
    let source = super::input::source::Source::live(Path::new("stream"), head, rest, &context);
    let mut sink = CollectingSink::default();
    open_live(live, source, &context)?.read(&mut sink, &context)?;
    Ok(sink.reading)
}

/// Reads bytes as a file.
pub(super) fn read_bytes(bytes: &[u8]) -> Result<Reading, ReadError> {
    read_path(file_of(bytes).path())
}

/// Reads text that must be a valid trace.
pub(super) fn read(text: &str) -> Reading {
    read_bytes(text.as_bytes()).expect("a capture")
}

/// Creates a file with these bytes.
pub(super) fn file_of(bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("written");
    file
}

/// Returns bytes as a gzip file.
pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    let mut encoder = flate2::read::GzEncoder::new(bytes, flate2::Compression::fast());
    std::io::Read::read_to_end(&mut encoder, &mut packed).expect("in memory");
    packed
}

/// Returns the path of a test data file.
pub(super) fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// Returns the text of a gzipped test data file.
pub(super) fn unpacked(name: &str) -> String {
    let file = std::fs::File::open(data(name)).expect("a file");
    std::io::read_to_string(flate2::read::GzDecoder::new(file)).expect("text")
}

/// Returns the name of the format that [`sniff`](super::sniff) detects.
pub(super) fn format_of(bytes: &[u8]) -> Option<&'static str> {
    let file = file_of(bytes);
    let source = super::input::source::Source::open(file.path(), &ReadContext::default()).ok()?;
    sniff::format_of(source.head()).map(|format| format.name)
}

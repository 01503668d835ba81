//! Tests of whole files: round trips, cuts at every byte, and flips of every header bit.

use std::io::Write;
use std::path::Path;

use proptest::prelude::*;

use super::wire::{ChunkHeader, FileHeader, FileTrailer};
use super::write::{EncodedChunk, NativeWriter};
use super::{read, wire};
use crate::formats::testing::{file_of, gzip};
use crate::formats::{ChunkedTrace, ReadContext, ReadError};
use crate::model::args::Detail;
use crate::model::{
    Chunk, Event, EventFlags, EventKind, Id, Loss, Losses, NameIdx, Names, Registry, SourcePos, StackIdx, Stacks,
    TrackIdx, TrackKey, TrackTables,
};

const CHUNKS: usize = 4;
const EVENTS_IN_CHUNK: usize = 20;

/// A small trace whose tables grow between chunks.
struct SampleCapture {
    chunks: Vec<Chunk>,
    names: Names,
    tracks: TrackTables,
    losses: Losses,
    bytes: Vec<u8>,
    /// Byte range of each event chunk.
    chunk_ranges: Vec<std::ops::Range<u64>>,
}

fn sample() -> SampleCapture {
    let (mut names, mut registry) = (Names::default(), Registry::default());
    let mut writer = NativeWriter::new(Vec::new(), false).unwrap();
    let (mut chunks, mut chunk_ranges) = (Vec::new(), Vec::new());
    for number in 0..CHUNKS {
        let key = TrackKey::thread(Id::Number(1), Id::Number(number as i64));
        let track = registry.track(&key).unwrap();
        let name = names.intern(&format!("name {number}"), Some("category"));
        let mut chunk = Chunk::default();
        for row in 0..EVENTS_IN_CHUNK {
            let args_json = format!("{{\"row\":{row}}}");
            let detail = chunk.details.push(&Detail { args_json: &args_json, ..Detail::default() });
            let ts_ns = (number * 1000) as i64 - (row * 7 % 5) as i64;
            let kind = EventKind::Complete;
            let flags = EventFlags::NONE;
            chunk.events.push(Event { ts_ns, value: row as u64, track, name, detail, depth: 0, kind, flags });
        }
        writer.write_tables(&names, registry.tables()).unwrap();
        let start = writer.written_bytes();
        writer.write_chunk(&chunk).unwrap();
        chunk_ranges.push(start..writer.written_bytes());
        chunks.push(chunk);
    }
    let mut losses = Losses::default();
    losses.add_many(Loss::Overlap, SourcePos::Time(5), 3);
    let bytes = writer.finish(&losses).unwrap();
    SampleCapture { chunks, names, tracks: registry.tables().clone(), losses, bytes, chunk_ranges }
}

fn open(bytes: &[u8]) -> Result<ChunkedTrace, ReadError> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    read::open(file.path(), &ReadContext::default())
}

/// Returns all chunks that load, and the number of those that do not.
fn load_all(trace: &ChunkedTrace) -> (Vec<Chunk>, usize) {
    let chunks: Vec<_> = (0..trace.source.heads().len()).map(|chunk| trace.source.load(chunk)).collect();
    let failed = chunks.iter().filter(|chunk| chunk.is_err()).count();
    (chunks.into_iter().flatten().collect(), failed)
}

#[test]
fn a_capture_comes_back_as_it_was_written() {
    let sample = sample();
    let trace = open(&sample.bytes).unwrap();
    assert_eq!(load_all(&trace), (sample.chunks.clone(), 0));
    assert_eq!(trace.tracks, sample.tracks);
    assert_eq!(trace.losses, sample.losses);
    assert_eq!(trace.names.len(), sample.names.len());
    for (head, chunk) in trace.source.heads().iter().zip(&sample.chunks) {
        assert_eq!((Some(head.min_ts_ns), head.events), (chunk.min_ts_ns(), EVENTS_IN_CHUNK as u32));
        for event in &chunk.events {
            assert_eq!(trace.names.get(event.name), sample.names.get(event.name));
        }
    }
}

/// An event with two names and three tracks, with or without arguments.
fn any_event() -> impl Strategy<Value = (Event, Option<u32>)> {
    let kinds = [EventKind::Complete, EventKind::Begin, EventKind::End, EventKind::Instant, EventKind::Counter];
    let flags = [EventFlags::NONE, EventFlags::UNNAMED, EventFlags::UNFINISHED, EventFlags::BIND_ENCLOSING];
    let times = prop_oneof![-1000i64..1000, any::<i64>().prop_map(|ts_ns| ts_ns / 4)];
    let values = prop_oneof![0u64..1000, 0u64..1 << 60];
    let row = (0u32..2, 0u32..3, 0u16..5, proptest::option::of(any::<u32>()));
    (times, values, proptest::sample::select(kinds.to_vec()), proptest::sample::select(flags.to_vec()), row).prop_map(
        |(ts_ns, value, kind, flags, (name, track, depth, arg))| {
            let (name, track) = (NameIdx(name), TrackIdx(track));
            (Event { ts_ns, value, track, name, detail: 0, depth, kind, flags }, arg)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_events_come_back_bit_for_bit(
        events in proptest::collection::vec(proptest::collection::vec(any_event(), 1..60), 1..5),
    ) {
        let SampleCapture { names, tracks, .. } = sample();
        let mut writer = NativeWriter::new(Vec::new(), false).unwrap();
        writer.write_tables(&names, &tracks).unwrap();
        let mut chunks = Vec::new();
        for events in &events {
            let mut chunk = Chunk::default();
            for &(mut event, arg) in events {
                let args_json = arg.map(|arg| format!("{{\"arg\":{arg}}}")).unwrap_or_default();
                event.detail = match arg {
                    Some(_) => chunk.details.push(&Detail { args_json: &args_json, ..Detail::default() }),
                    None => 0,
                };
                chunk.events.push(event);
            }
            writer.write_chunk(&chunk).unwrap();
            chunks.push(chunk);
        }
        let bytes = writer.finish(&Losses::default()).unwrap();
        let trace = open(&bytes).unwrap();
        prop_assert_eq!(load_all(&trace), (chunks, 0));
        prop_assert!(trace.losses.is_empty());
    }
}

#[test]
fn a_file_cut_at_any_byte_keeps_every_chunk_before_the_cut() {
    let sample = sample();
    for cut in 0..sample.bytes.len() {
        let opened = open(&sample.bytes[..cut]);
        if cut < FileHeader::BYTES as usize {
            assert!(matches!(opened, Err(ReadError::Empty { .. } | ReadError::Malformed { .. })), "{cut}");
            continue;
        }
        let trace = opened.unwrap();
        // A cut in the padding after a payload loses no data, but its chunk counts as truncated.
        let whole = sample.chunk_ranges.iter().filter(|range| range.end <= cut as u64).count();
        assert_eq!(load_all(&trace), (sample.chunks[..whole].to_vec(), 0), "{cut}");
        assert!(!trace.losses.is_empty(), "{cut}: a cut must be counted");
        for event in sample.chunks[..whole].iter().flat_map(|chunk| &chunk.events) {
            assert_eq!(trace.names.get(event.name), sample.names.get(event.name), "{cut}");
            assert_eq!(
                trace.tracks.tracks[event.track.index()].key,
                sample.tracks.tracks[event.track.index()].key,
                "{cut}"
            );
        }
    }
}

#[test]
fn a_file_without_a_whole_chunk_is_refused_as_a_trace_and_one_without_chunks_is_empty() {
    let sample = sample();
    let open = |bytes: &[u8]| {
        let file = crate::formats::testing::file_of(bytes);
        crate::formats::sniff::open(file.path(), &ReadContext::default()).map(|_| ())
    };
    let first = sample.chunk_ranges[0].end as usize;
    for cut in FileHeader::BYTES as usize..first {
        let error = open(&sample.bytes[..cut]).expect_err("refused").to_string();
        assert!(error.contains("the format is Longspan trace, but no event could be read: 1 truncated"), "{error}");
    }
    assert!(open(&sample.bytes[..first]).is_ok());
    let empty = NativeWriter::new(Vec::new(), false).unwrap().finish(&Losses::default()).unwrap();
    assert!(open(&empty).is_ok());
}

/// With and without the directory, a chunk with a damaged header is counted as lost, and all others are read.
#[test]
fn a_flipped_bit_in_a_chunk_header_costs_that_chunk_and_is_counted() {
    let sample = sample();
    let range = &sample.chunk_ranges[1];
    let without_directory = sample.bytes.len() - FileTrailer::BYTES as usize;
    for bit in 0..ChunkHeader::BYTES * 8 {
        for end in [sample.bytes.len(), without_directory] {
            let mut bytes = sample.bytes[..end].to_vec();
            bytes[(range.start + bit / 8) as usize] ^= 1 << (bit % 8);
            let trace = open(&bytes).unwrap();
            let (chunks, failed) = load_all(&trace);
            let mut expected = sample.chunks.clone();
            expected.remove(1);
            assert_eq!(chunks, expected, "bit {bit}");
            assert_eq!(failed as u64 + trace.losses.count(Loss::BadChunk), 1, "bit {bit}");
        }
    }
}

#[test]
fn a_flipped_bit_anywhere_is_an_error_or_counted_and_never_changes_an_event() {
    let sample = sample();
    for byte in 0..sample.bytes.len() {
        for bit in 0..8 {
            let mut bytes = sample.bytes.clone();
            bytes[byte] ^= 1 << bit;
            let Ok(trace) = open(&bytes) else {
                assert!(byte < 12, "byte {byte}: only the magic and the version make a file unreadable");
                continue;
            };
            let (chunks, failed) = load_all(&trace);
            assert!(chunks.len() + failed >= CHUNKS - 1, "byte {byte}");
            assert!(chunks.iter().all(|chunk| sample.chunks.contains(chunk)), "byte {byte}");
            let padding = bytes[byte] == 1 << bit && chunks == sample.chunks;
            assert!(padding || failed > 0 || trace.losses != sample.losses, "byte {byte}: a loss must be counted");
        }
    }
}

#[test]
fn a_version_from_the_future_is_refused_by_number() {
    let mut header = FileHeader::new(0);
    header.version = 3;
    // Sealed as its own writer would.
    let sum = xxhash_rust::xxh3::xxh3_64(&bytemuck::bytes_of(&header)[..16]);
    header.checksum = sum;
    let error = open(bytemuck::bytes_of(&header)).err().unwrap().to_string();
    assert!(error.ends_with("byte 8: expected version 2, found version 3"), "{error}");
}

#[test]
fn a_file_full_of_magics_is_searched_once() {
    let mut bytes = bytemuck::bytes_of(&FileHeader::new(0)).to_vec();
    for _ in 0..1_000_000 {
        bytes.extend_from_slice(&wire::CHUNK_MAGIC.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
    }
    let trace = open(&bytes).unwrap();
    assert_eq!(trace.losses.count(Loss::Truncated), 1);
    assert!(trace.source.heads().is_empty());
}

#[test]
fn losses_of_the_recorder_are_reported() {
    let mut writer = NativeWriter::new(Vec::new(), false).unwrap();
    let sample = sample();
    writer.write_tables(&sample.names, &sample.tracks).unwrap();
    writer.write_encoded(&EncodedChunk::new(&sample.chunks[0]).unwrap().with_lost_before(9)).unwrap();
    let trace = open(&writer.finish(&Losses::default()).unwrap()).unwrap();
    assert_eq!(trace.losses.count(Loss::RecorderLost), 9);
}

#[test]
fn an_event_that_points_beyond_the_tables_makes_its_chunk_malformed() {
    let sample = sample();
    for (name, track) in [(NameIdx(1000), TrackIdx(0)), (NameIdx(0), TrackIdx(1000))] {
        let mut writer = NativeWriter::new(Vec::new(), false).unwrap();
        writer.write_tables(&sample.names, &sample.tracks).unwrap();
        let mut chunk = sample.chunks[0].clone();
        chunk.events[3].name = name;
        chunk.events[3].track = track;
        writer.write_chunk(&chunk).unwrap();
        let trace = open(&writer.finish(&Losses::default()).unwrap()).unwrap();
        assert!(matches!(trace.source.load(0), Err(ReadError::Malformed { .. })));
        assert!(trace.source.load(1).is_err(), "there is no second chunk");
    }
}

#[test]
fn a_sample_that_points_beyond_the_stacks_makes_its_chunk_malformed() {
    let sample = sample();
    let mut stacks = Stacks::default();
    let stack = stacks.intern(StackIdx::EMPTY, NameIdx(1));
    for (value, is_there) in [(0, true), (1, true), (2, false), (u64::MAX, false)] {
        let mut writer = NativeWriter::new(Vec::new(), false).unwrap();
        writer.write_tables(&sample.names, &sample.tracks).unwrap();
        writer.write_stacks(&stacks).unwrap();
        let mut chunk = sample.chunks[0].clone();
        (chunk.events[3].kind, chunk.events[3].value) = (EventKind::Sample, value);
        writer.write_chunk(&chunk).unwrap();
        let trace = open(&writer.finish(&Losses::default()).unwrap()).unwrap();
        assert_eq!(trace.source.load(0).is_ok(), is_there);
        assert_eq!(trace.stacks.get(stack).name, NameIdx(1));
    }
}

#[test]
fn an_error_names_the_file_that_is_packed_and_not_the_one_that_it_was_unpacked_to() {
    let file = file_of(&gzip(&sample().bytes[..10]));
    let error = crate::formats::sniff::open(file.path(), &ReadContext::default()).err().unwrap();
    let expected = format!("{}: byte 10: expected 24 bytes of header", file.path().display());
    assert!(error.to_string().starts_with(&expected), "{error}");
}

#[test]
fn a_folder_and_a_missing_file_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let open = |path: &Path| read::open(path, &ReadContext::default());
    assert!(matches!(open(folder.path()), Err(ReadError::NotAFile { .. })));
    assert!(matches!(open(&folder.path().join("none")), Err(ReadError::Io { .. })));
}

#[test]
fn another_trace_in_the_file_is_counted_where_it_begins_and_costs_the_first_nothing() {
    let first = sample();
    let second = sample();
    let cut = first.bytes.len() - FileTrailer::BYTES as usize;
    for (first_bytes, truncated) in
        [(&first.bytes[..], 0), (&first.bytes[..cut], 0), (&first.bytes[..first.chunk_ranges[3].end as usize], 1)]
    {
        let joined = [first_bytes, &second.bytes].concat();
        let trace = open(&joined).unwrap();
        assert_eq!(load_all(&trace), (first.chunks.clone(), 0));
        let lost: Vec<_> =
            trace.losses.iter().filter(|lost| lost.loss != Loss::Overlap).map(|lost| (lost.loss, lost.first)).collect();
        let appended = (Loss::TrailingData, SourcePos::Offset(first_bytes.len() as u64));
        let expected = if truncated > 0 {
            vec![(Loss::Truncated, SourcePos::Offset(joined.len() as u64)), appended]
        } else {
            vec![appended]
        };
        assert_eq!(lost, expected);
        let live = crate::formats::testing::read_live(&joined, &[usize::MAX]).unwrap();
        let alone = crate::formats::testing::read_live(first_bytes, &[usize::MAX]).unwrap();
        assert_eq!(live.events, alone.events);
        assert_eq!(live.losses.count(Loss::TrailingData), 1);
        assert_eq!(live.losses.total(), alone.losses.total() + 1);
    }
}

#[test]
fn a_payload_above_the_limit_is_damage_and_takes_no_memory() {
    let sample = sample();
    let mut header = ChunkHeader {
        magic: wire::CHUNK_MAGIC,
        kind: wire::ChunkKind::Tables.byte(),
        memory_bytes: 100,
        ..bytemuck::Zeroable::zeroed()
    };
    let mut with_payload = |payload_bytes: u32| {
        header.payload_bytes = payload_bytes;
        header.seal();
        header
    };
    assert!(with_payload(64 << 20).fits_memory());
    let header = with_payload(66 << 20);
    assert!(header.is_whole() && !header.fits_memory());
    let first = FileHeader::BYTES as usize;
    let bytes = [&sample.bytes[..first], bytemuck::bytes_of(&header), &sample.bytes[first..]].concat();
    // As if the file were as long as its header says.
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&bytes).unwrap();
    file.as_file().set_len(70 << 20).unwrap();
    let trace = read::open(file.path(), &ReadContext::default()).unwrap();
    assert_eq!(load_all(&trace), (sample.chunks.clone(), 0));
    let live = crate::formats::testing::read_live(&bytes, &[usize::MAX]).unwrap();
    assert_eq!(live.events.len(), CHUNKS * EVENTS_IN_CHUNK);
}

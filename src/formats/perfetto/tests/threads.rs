//! Batches do not depend on the number of threads or on how the trace is cut: batch boundaries depend only on events.

use std::io::{Read as _, Write as _};

use super::encode::{bundle, capture, event, message};
use super::*;
use crate::base::cancel::Cancel;
use crate::formats::testing::file_of;
use crate::formats::{BatchSink, ChunkLimits, ReadContext, ReadError, Reader, sniff};
use crate::model::Batch;

const INSTANT: u64 = 3;

#[derive(Default)]
struct Batches(Vec<Batch>);

impl BatchSink for Batches {
    fn accept(&mut self, batch: Batch) -> Result<(), ReadError> {
        self.0.push(batch);
        Ok(())
    }
}

fn batches(bytes: &[u8], threads: usize, block_bytes: Option<usize>) -> Vec<Batch> {
    let chunk_limits = ChunkLimits { block_bytes, batch_events: Some(3000) };
    let context = ReadContext { threads, chunk_limits, ..ReadContext::default() };
    let mut batches = Batches::default();
    let file = file_of(bytes);
    let Reader::Stream(reader) = sniff::open(file.path(), &context).expect("a capture") else { panic!("a stream") };
    reader.read(&mut batches, &context).expect("a capture");
    batches.0
}

fn assert_same_for_any_threads(bytes: &[u8], what: &str) {
    let expected = batches(bytes, 1, None);
    for (threads, block_bytes) in [(1, Some(777)), (2, None), (2, Some(777)), (4, None), (4, Some(100_000))] {
        let found = batches(bytes, threads, block_bytes);
        let how = format!("{what}, {threads} threads, blocks of {block_bytes:?}");
        assert_eq!(found.len(), expected.len(), "{how}");
        for (found, expected) in found.iter().zip(&expected) {
            assert!(found.chunk == expected.chunk, "{how}");
            assert!((&found.names, found.names_before) == (&expected.names, expected.names_before), "{how}");
            assert!(found.tracks == expected.tracks, "{how}");
            assert_eq!(format!("{:?}", found.stacks), format!("{:?}", expected.stacks), "{how}");
            assert_eq!((&found.metadata, &found.losses), (&expected.metadata, &expected.losses), "{how}");
        }
    }
}

fn chromium() -> Vec<u8> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(data("chromium.pftrace.gz")).expect("a file");
    flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).expect("bytes");
    bytes
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

#[test]
fn a_real_capture_reads_the_same_on_any_threads() {
    assert_same_for_any_threads(&chromium(), "as it is");
}

#[test]
fn a_damaged_trace_reads_the_same_with_any_number_of_threads() {
    let mut bytes = chromium();
    bytes.truncate(bytes.len() * 2 / 3);
    for pos in (50_000..bytes.len() - 50).step_by(200_000) {
        bytes[pos..pos + 40].fill(0xa5);
    }
    assert!(batches(&bytes, 1, None).iter().any(|batch| batch.losses.count(Loss::BadRecord) > 0));
    assert_same_for_any_threads(&bytes, "damaged");
}

#[test]
fn bundles_read_the_same_on_any_threads_and_unpacked_ahead_or_not() {
    let plain = chromium();
    let around = || (0..2000).map(|k| event(k, INSTANT, 0, "between"));
    let small = deflated(&capture(around()));
    let large = deflated(&[&plain[..], &plain[..]].concat());
    let bundle = |bytes: &[u8]| message().bytes(50, bytes);
    let nested = deflated(&capture([bundle(&small), bundle(&deflated(&capture([bundle(&small)])))]));
    let packets = [bundle(&small), bundle(&large), bundle(&nested), bundle(&large[..large.len() / 2])];
    let bytes = capture(around().chain(packets).chain(around()));
    let losses: Vec<_> = batches(&bytes, 2, None).into_iter().map(|batch| batch.losses).collect();
    assert_eq!(losses.iter().map(|losses| losses.count(Loss::DeepNesting)).sum::<u64>(), 1);
    assert_same_for_any_threads(&bytes, "bundles");
}

#[test]
fn a_request_to_stop_ends_the_reading_on_any_threads() {
    let bytes = chromium();
    let file = file_of(&bytes);
    for threads in [1, 2, 4] {
        let context = ReadContext { threads, cancel: Cancel::default(), ..ReadContext::default() };
        let opened = sniff::open(file.path(), &context).expect("a capture");
        let Reader::Stream(reader) = opened else { panic!("a stream") };
        context.cancel.cancel();
        let stopped = reader.read(&mut Batches::default(), &context);
        assert!(matches!(stopped, Err(ReadError::Cancelled(_))), "{threads} threads");
    }
}

#[test]
fn a_span_within_a_batch_is_one_event_and_not_two() {
    // Nested spans on two threads by turns; thread 3 repeats the times of thread 2 backwards.
    let thread = |uuid: u64| {
        let thread = message().number(1, 10).number(2, uuid);
        message().message(60, message().number(1, uuid).message(4, thread))
    };
    let span = |k: u64| {
        let (at, uuid) = (10 * k, 1 + k % 2);
        let ends = [event(at + 2, 1, uuid, "inner"), event(at + 4, 2, uuid, ""), event(at + 6, 2, uuid, "")];
        std::iter::once(event(at, 1, uuid, "outer")).chain(ends)
    };
    let backwards = (0..500).rev().flat_map(|k| [event(10 * k, 1, 3, "late"), event(10 * k + 5, 2, 3, "")]);
    let bytes = capture((1..=3).map(thread).chain((0..500).flat_map(span)).chain(backwards));
    let kinds = batches(&bytes, 2, None).into_iter().flat_map(|batch| batch.chunk.events).map(|event| event.kind);
    let (begins, ends): (Vec<_>, Vec<_>) = kinds.partition(|&kind| kind == EventKind::Begin);
    // Ends of spans that start out of order stay separate events: all but that of the first.
    assert_eq!((begins.len(), ends.len()), (1500, 499));
}

#[test]
fn a_bundle_of_many_kernel_events_is_emitted_in_full_batches() {
    let print = |at: u64| message().number(1, at).number(2, 7).message(3, message().bytes(2, "I|7|mark"));
    let tids: Vec<u8> = [1, 2].repeat(10_000);
    let compact = message().bytes(1, vec![5; tids.len()]).bytes(3, tids);
    let compact = message().number(10, 1).message(1, message().number(1, 3).message(4, compact));
    for bundle in [bundle((0..20_000).map(print)), compact] {
        let batches = batches(&capture([bundle]), 1, None);
        let counts: Vec<usize> = batches.iter().map(|batch| batch.chunk.events.len()).collect();
        assert!(counts.iter().sum::<usize>() >= 19_000, "{counts:?}");
        assert!(counts.iter().all(|&events| events < 3010), "{counts:?}");
    }
}

//! Compares the deferred merge with its oracle: a stable sort of all events by time.

use std::convert::Infallible;

use proptest::prelude::*;

use super::merge::{MergeContext, MergeError, MergeStats, merge, true_heads};
use super::spill::SpillFile;
use crate::base::budget::Budget;
use crate::base::cancel::Cancel;
use crate::formats::{ChunkHead, ChunkSource, ReadError};
use crate::model::{Chunk, Details, Event, EventFlags, EventKind, Loss, Losses, NameIdx, TrackIdx};

/// Chunks in memory; some are damaged or have wrong heads.
struct Chunks {
    chunks: Vec<Option<Chunk>>,
    heads: Vec<ChunkHead>,
}

impl Chunks {
    fn new(chunks: Vec<Chunk>) -> Self {
        let head = |chunk: &Chunk| ChunkHead {
            min_ts_ns: chunk.min_ts_ns().unwrap_or(0),
            max_ts_ns: chunk.events.iter().map(|event| event.ts_ns).max().unwrap_or(0),
            events: chunk.events.len() as u32,
            memory_bytes: chunk.memory_bytes(),
        };
        Self { heads: chunks.iter().map(head).collect(), chunks: chunks.into_iter().map(Some).collect() }
    }
}

impl ChunkSource for Chunks {
    fn heads(&self) -> &[ChunkHead] {
        &self.heads
    }

    fn load(&self, chunk: usize) -> Result<Chunk, ReadError> {
        self.chunks[chunk].clone().ok_or_else(|| ReadError::Malformed {
            path: "test".into(),
            offset: chunk as u64,
            expected: "a chunk".into(),
            found: "damage".into(),
        })
    }
}

/// Creates events whose `value` and detail are their position in the trace.
fn chunks_of(times: &[Vec<i64>]) -> Vec<Chunk> {
    let mut index = 0u64;
    let mut chunk_of = |times: &Vec<i64>| {
        let mut details = Details::default();
        let events = times.iter().map(|&ts_ns| {
            index += 1;
            let detail = if index.is_multiple_of(3) { details.push_blob(&index.to_le_bytes()) } else { 0 };
            Event {
                ts_ns,
                value: index,
                track: TrackIdx(0),
                name: NameIdx(0),
                detail,
                depth: 0,
                kind: EventKind::Instant,
                flags: EventFlags::NONE,
            }
        });
        let events = events.collect();
        Chunk { events, details, max_lateness_ns: 0 }
    };
    times.iter().map(&mut chunk_of).collect()
}

type Merged = (Vec<(i64, u64)>, MergeStats, u64);

fn try_merge(
    source: &Chunks,
    heads: &[ChunkHead],
    budget_bytes: u64,
    threads: usize,
) -> Result<Merged, MergeError<Infallible>> {
    let spill = SpillFile::create(&std::env::temp_dir()).unwrap();
    let (cancel, budget) = (Cancel::default(), Budget::new(budget_bytes));
    let context = MergeContext { cancel: &cancel, budget: &budget, spill: &spill, threads };
    let mut sorted = Vec::new();
    let stats = merge(source, heads, &context, |run| {
        for (offset, event) in run.events.iter().enumerate() {
            if event.value.is_multiple_of(3) {
                assert_eq!(run.blob(offset), event.value.to_le_bytes());
            }
            sorted.push((event.ts_ns, event.value));
        }
        Ok(())
    })?;
    Ok((sorted, stats, spill.bytes()))
}

fn stable_sort(times: &[Vec<i64>]) -> Vec<(i64, u64)> {
    let mut all: Vec<_> = times.iter().flatten().copied().zip(1..).collect();
    all.sort_by_key(|&(ts_ns, _)| ts_ns);
    all
}

/// Counts late events, and their maximum lateness, by brute force.
fn disorder(times: &[Vec<i64>]) -> (u64, u64) {
    let (mut newest, mut late, mut most) = (i64::MIN, 0, 0);
    for &ts_ns in times.iter().flatten() {
        if ts_ns < newest {
            late += 1;
            most = most.max(newest.abs_diff(ts_ns));
        }
        newest = newest.max(ts_ns);
    }
    (late, most)
}

fn any_times() -> impl Strategy<Value = Vec<Vec<i64>>> {
    let near = (0i64..50, proptest::collection::vec(0i64..12, 0..40))
        .prop_map(|(start, steps)| steps.into_iter().map(|step| start + step).collect::<Vec<_>>());
    let far = proptest::collection::vec(-1000i64..1000, 0..40);
    let extreme = proptest::collection::vec(prop_oneof![Just(i64::MIN), Just(i64::MAX), Just(0)], 0..5);
    proptest::collection::vec(prop_oneof![4 => near, 2 => far, 1 => extreme], 0..12)
}

proptest! {
    #[test]
    fn any_disorder_comes_out_as_a_stable_sort_puts_it(times in any_times(), threads in 1usize..4) {
        let source = Chunks::new(chunks_of(&times));
        let (sorted, stats, _) = try_merge(&source, &source.heads, 1 << 30, threads).unwrap();
        prop_assert_eq!(sorted, stable_sort(&times));
        prop_assert_eq!((stats.late_events, stats.max_lateness_ns), disorder(&times));
        prop_assert!(stats.losses.is_empty());
    }

    #[test]
    fn a_budget_for_nothing_spills_and_sorts_the_same(times in any_times()) {
        let source = Chunks::new(chunks_of(&times));
        let (sorted, _, _) = try_merge(&source, &source.heads, 1, 2).unwrap();
        prop_assert_eq!(sorted, stable_sort(&times));
    }

    #[test]
    fn wrong_minimum_times_in_headers_lose_no_events(times in any_times(), lies in proptest::collection::vec(-30i64..60, 12)) {
        let mut source = Chunks::new(chunks_of(&times));
        for (head, lie) in source.heads.iter_mut().zip(lies) {
            head.min_ts_ns = head.min_ts_ns.saturating_add(lie);
        }
        let (sorted, lying) = match try_merge(&source, &source.heads, 1 << 30, 2) {
            Ok((sorted, stats, _)) => (sorted, stats.losses.count(Loss::LyingHeader)),
            Err(MergeError::HeaderLied { .. }) => {
                let mut losses = Losses::default();
                let heads = true_heads(&source, &Cancel::default(), &mut losses).unwrap();
                let (sorted, ..) = try_merge(&source, &heads, 1 << 30, 2).unwrap();
                (sorted, losses.count(Loss::LyingHeader))
            }
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        };
        prop_assert_eq!(sorted, stable_sort(&times));
        let below = |(chunk, head): (&Option<Chunk>, &ChunkHead)| {
            let events = &chunk.as_ref().unwrap().events;
            events.iter().filter(|event| event.ts_ns < head.min_ts_ns).count() as u64
        };
        prop_assert_eq!(lying, source.chunks.iter().zip(&source.heads).map(below).sum::<u64>());
    }
}

#[test]
fn a_damaged_chunk_is_counted_and_all_others_are_there() {
    let times = vec![vec![1, 5, 3], vec![2, 4], vec![6]];
    let mut source = Chunks::new(chunks_of(&times));
    source.chunks[1] = None;
    let (sorted, stats, _) = try_merge(&source, &source.heads, 1 << 30, 2).unwrap();
    assert_eq!(sorted, [(1, 1), (3, 3), (5, 2), (6, 6)]);
    assert_eq!(stats.losses.count(Loss::BadChunk), 2);
}

#[test]
fn nearly_sorted_chunks_need_few_open_at_once_and_few_moves() {
    let times: Vec<Vec<i64>> = (0..200)
        .map(|chunk| (0..500).map(|k| chunk * 500 + k - if k % 100 == 7 { 300 } else { 0 }).collect())
        .collect();
    let source = Chunks::new(chunks_of(&times));
    let (sorted, stats, spilled) = try_merge(&source, &source.heads, 1 << 30, 2).unwrap();
    assert_eq!(sorted, stable_sort(&times));
    assert!(stats.open_max <= 2, "{stats:?}");
    assert!(stats.head_moves < 3000, "{stats:?}");
    assert_eq!(spilled, 0);
}

#[test]
fn a_capture_in_random_order_stays_within_the_budget_and_spills_each_event_about_once() {
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as i64
    };
    let times: Vec<Vec<i64>> = (0..24).map(|_| (0..40_000).map(|_| random()).collect()).collect();
    let source = Chunks::new(chunks_of(&times));
    let chunk_bytes = source.heads[0].memory_bytes;
    let (sorted, stats, spilled) = try_merge(&source, &source.heads, chunk_bytes * 12, 2).unwrap();
    assert_eq!(sorted, stable_sort(&times));
    assert!(stats.open_max <= 10, "{stats:?}");
    assert!(spilled > 0 && spilled < 24 * chunk_bytes, "{spilled} of {}", 24 * chunk_bytes);
    assert!(stats.head_moves < sorted.len() as u64, "{stats:?}");
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let times: Vec<Vec<i64>> = (0..50).map(|chunk| (0..100).map(|k| (k * 37 + chunk * 13) % 91).collect()).collect();
    let source = Chunks::new(chunks_of(&times));
    let one = try_merge(&source, &source.heads, 1 << 30, 1).unwrap().0;
    let eight = try_merge(&source, &source.heads, 1 << 30, 8).unwrap().0;
    assert_eq!(one, eight);
}

#[test]
fn a_cancelled_merge_stops() {
    let source = Chunks::new(chunks_of(&[vec![1], vec![2]]));
    let spill = SpillFile::create(&std::env::temp_dir()).unwrap();
    let (cancel, budget) = (Cancel::default(), Budget::default());
    cancel.cancel();
    let context = MergeContext { cancel: &cancel, budget: &budget, spill: &spill, threads: 1 };
    let result = merge::<Infallible>(&source, &source.heads, &context, |_| Ok(()));
    assert!(matches!(result, Err(MergeError::Cancelled(_))));
}

#[test]
fn runs_of_several_blocks_that_are_merged_again_lose_nothing() {
    use crate::ingest::spill::BLOCK_EVENTS;
    let of_chunk = |chunk: i64| (0..2 * BLOCK_EVENTS as i64).map(|k| (k * 7919 + chunk * 31) % 1_000_003).collect();
    let times: Vec<Vec<i64>> = (0..7).map(of_chunk).collect();
    let expected = stable_sort(&times);
    let source = Chunks::new(chunks_of(&times));
    for budget_bytes in [1, 1 << 19, 1 << 21] {
        let (sorted, _, spilled_bytes) = try_merge(&source, &source.heads, budget_bytes, 2).unwrap();
        assert!(spilled_bytes > 0 && sorted == expected, "{} of {} with {budget_bytes}", sorted.len(), expected.len());
    }
}

#[test]
fn a_random_order_within_a_tiny_budget_spills_each_event_a_logarithmic_number_of_times() {
    // Merging all runs after each chunk would spill 16 times as much for 4 times the chunks.
    let spilled = |chunks: i64| {
        let of_chunk = |chunk: i64| (0..400).map(|k| (k * 7919 + chunk * 104_729) % 1_000_003).collect();
        let times: Vec<Vec<i64>> = (0..chunks).map(of_chunk).collect();
        let source = Chunks::new(chunks_of(&times));
        let (sorted, stats, spilled_bytes) =
            try_merge(&source, &source.heads, 4 * source.heads[0].memory_bytes, 2).unwrap();
        assert_eq!(sorted, stable_sort(&times));
        assert!(stats.open_max <= 4 + u64::from(chunks.ilog2()), "{stats:?}");
        spilled_bytes
    };
    let (few, many) = (spilled(64), spilled(256));
    assert!(few > 0 && many < 6 * few, "{few} and {many} bytes");
}

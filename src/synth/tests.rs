//! Whole generated traces: the exact number of spans, reproducible by seed, nothing left open.

use std::collections::BTreeMap;
use std::convert::Infallible;

use super::*;
use crate::formats::native::columns;

fn chunks(options: SynthOptions) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let Ok(()) = Synth::new(options).generate::<Infallible>(&mut |chunk| {
        chunks.push(chunk);
        Ok(())
    });
    chunks
}

#[test]
fn there_are_exactly_as_many_spans_as_were_asked_for() {
    for (spans, threads) in [(1, 1), (1000, 1), (100_000, 3), (300_000, 40)] {
        for disorder in [0.0, 0.3] {
            let chunks = chunks(SynthOptions { spans, threads, disorder, ..SynthOptions::default() });
            assert_eq!(chunks.iter().map(|chunk| chunk.events.len() as u64).sum::<u64>(), spans);
        }
    }
}

#[test]
fn every_thread_has_a_span_where_there_are_no_fewer_spans() {
    for (spans, threads) in [(50, 100), (100, 100), (101, 100), (700, 500), (20_000, 2000), (100_000, 3000)] {
        for disorder in [0.0, 0.3] {
            let chunks = chunks(SynthOptions { spans, threads, disorder, ..SynthOptions::default() });
            let events: Vec<Event> = chunks.into_iter().flat_map(|chunk| chunk.events).collect();
            let tracks: std::collections::BTreeSet<TrackIdx> = events.iter().map(|event| event.track).collect();
            assert_eq!((events.len() as u64, tracks.len() as u64), (spans, spans.min(threads.into())));
            assert!(disorder > 0.0 || events.is_sorted_by_key(|event| event.ts_ns));
        }
    }
}

#[test]
fn without_disorder_all_events_are_in_order_and_every_chunk_but_the_last_is_full() {
    let chunks = chunks(SynthOptions { spans: 500_000, disorder: 0.0, ..SynthOptions::default() });
    assert!(chunks.iter().flat_map(|chunk| &chunk.events).is_sorted_by_key(|event| event.ts_ns));
    assert!(chunks.iter().rev().skip(1).all(|chunk| chunk.events.len() == 65_536));
}

#[test]
fn spans_of_a_thread_nest_and_reach_the_depth_that_was_asked_for() {
    for depth in [1, 4, 9] {
        let mut chunks = chunks(SynthOptions { spans: 200_000, depth, disorder: 0.0, ..SynthOptions::default() });
        let mut open: BTreeMap<TrackIdx, Vec<i64>> = BTreeMap::new();
        let mut deepest = 0;
        for event in chunks.iter_mut().flat_map(|chunk| &chunk.events) {
            let ends = open.entry(event.track).or_default();
            ends.retain(|&end_ns| end_ns > event.ts_ns || event.value == 0 && end_ns == event.ts_ns);
            let end_ns = event.ts_ns.saturating_add_unsigned(event.value);
            assert!(ends.last().is_none_or(|&parent_end_ns| end_ns <= parent_end_ns));
            ends.push(end_ns);
            deepest = deepest.max(ends.len());
        }
        assert_eq!(deepest, usize::from(depth));
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let hash = |options: SynthOptions| {
        let synth = Synth::new(options);
        xxhash_rust::xxh3::xxh3_64(&write::write_native(&synth, Vec::new()).unwrap())
    };
    let small = SynthOptions { spans: 200_000, ..SynthOptions::default() };
    assert_eq!(hash(small.clone()), hash(small.clone()));
    assert_ne!(hash(small.clone()), hash(SynthOptions { seed: 2, ..small }));
}

/// Traces that others have generated with a seed must not change.
#[test]
fn a_seed_means_the_same_in_every_version() {
    let hash = |options: SynthOptions| {
        let mut hash = xxhash_rust::xxh3::Xxh3::new();
        for chunk in chunks(options) {
            hash.update(bytemuck::cast_slice(&chunk.events));
            hash.update(&chunk.details.bytes);
        }
        hash.digest()
    };
    assert_eq!(hash(SynthOptions { spans: 200_000, ..SynthOptions::default() }), 3_565_362_088_544_192_101);
    assert_eq!(hash(SynthOptions { spans: 200_000, ..SynthOptions::demo() }), 3_336_875_183_639_475_080);
}

#[test]
fn an_event_takes_at_most_six_bytes() {
    for disorder in [0.0, 0.01, 0.3] {
        let chunks = chunks(SynthOptions { spans: 1_000_000, disorder, ..SynthOptions::default() });
        let bytes: usize = chunks.iter().map(|chunk| columns::encode(chunk).unwrap().len()).sum();
        let per_event = bytes as f64 / 1e6;
        assert!((3.0..6.0).contains(&per_event), "{per_event} at disorder {disorder}");
    }
}

#[test]
fn the_demo_has_one_of_everything_and_nothing_is_left_open() {
    let chunks = chunks(SynthOptions { spans: 300_000, disorder: 0.0, ..SynthOptions::demo() });
    let mut counts: BTreeMap<u8, u64> = BTreeMap::new();
    let mut args = 0;
    let mut open: BTreeMap<(TrackIdx, u64), i64> = BTreeMap::new();
    let mut last_ns = i64::MIN;
    let mut late = 0;
    for event in chunks.iter().flat_map(|chunk| &chunk.events) {
        *counts.entry(event.kind as u8).or_default() += 1;
        args += u64::from(event.detail != 0);
        let key = (event.track, event.value);
        match event.kind {
            EventKind::Begin | EventKind::AsyncBegin => *open.entry(key).or_default() += 1,
            EventKind::End | EventKind::AsyncEnd => *open.entry(key).or_default() -= 1,
            _ => {}
        }
        late += u64::from(event.ts_ns < last_ns);
        last_ns = last_ns.max(event.ts_ns);
    }
    let count = |kind: EventKind| counts.get(&(kind as u8)).copied().unwrap_or(0);
    for kind in [
        EventKind::Complete,
        EventKind::Begin,
        EventKind::End,
        EventKind::Instant,
        EventKind::Counter,
        EventKind::AsyncBegin,
        EventKind::AsyncEnd,
        EventKind::FlowStart,
        EventKind::FlowStep,
        EventKind::FlowEnd,
    ] {
        assert!(count(kind) > 0, "{kind:?}");
    }
    assert!(open.values().all(|&open| open == 0), "every begin has its end");
    let spans = count(EventKind::Complete) + count(EventKind::Begin);
    assert!((300_000..500_000).contains(&spans), "{spans}");
    assert!(args > 5_000);
    assert_eq!(late, 0);
}

#[test]
fn a_span_as_chrome_json_takes_about_a_hundred_bytes_and_every_line_parses() {
    let demo = Synth::new(SynthOptions { spans: 200_000, ..SynthOptions::demo() });
    let json = write::write_chrome_json(&demo, Vec::new()).unwrap();
    let parsed: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let phases: std::collections::BTreeSet<&str> =
        parsed["traceEvents"].as_array().unwrap().iter().filter_map(|event| event["ph"].as_str()).collect();
    assert_eq!(phases.into_iter().collect::<String>(), "BCEMXbefist");
    let spans = Synth::new(SynthOptions { spans: 20_000, ..SynthOptions::default() });
    let bytes = write::write_chrome_json(&spans, Vec::new()).unwrap().len();
    assert!((80..120).contains(&(bytes / 20_000)), "{}", bytes / 20_000);
}

#[test]
fn a_sink_that_refuses_ends_the_generation() {
    let mut taken = 0;
    let result = Synth::new(SynthOptions { spans: u64::MAX, ..SynthOptions::default() }).generate(&mut |_| {
        taken += 1;
        if taken == 3 { Err("full") } else { Ok(()) }
    });
    assert_eq!((result, taken), (Err("full"), 3));
}

//! Tests of the whole reader, on synthetic records.

use proptest::prelude::*;

use super::wire::MAGIC;
use crate::formats::testing::{Reading, read_bytes};
use crate::model::EventKind::{
    AsyncBegin, AsyncEnd, AsyncInstant, Begin, Complete, Counter, End, FlowEnd, FlowStart, Instant,
};
use crate::model::{EventKind, Id, Loss, Metadata, TrackKind};

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn padded(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

fn inline(text: &str) -> u64 {
    0x8000 | text.len() as u64
}

/// Creates a record, whose length is added to its header.
fn record(header: u64, parts: &[Vec<u8>]) -> Vec<u8> {
    let body = parts.concat();
    [words(&[header | (1 + body.len() as u64 / 8) << 4]), body].concat()
}

fn string(number: u64, text: &str) -> Vec<u8> {
    record(2 | number << 16 | (text.len() as u64) << 32, &[padded(text)])
}

fn thread(number: u64, process: u64, thread: u64) -> Vec<u8> {
    record(3 | number << 16, &[words(&[process, thread])])
}

fn provider(number: u64) -> Vec<u8> {
    record(2 << 16 | number << 20, &[])
}

/// Creates an event of thread 1, with category 1 and an inline name.
fn event(kind: u64, ts: u64, name: &str, args: &[Vec<u8>], last: &[u64]) -> Vec<u8> {
    let header = 4 | kind << 16 | (args.len() as u64) << 20 | 1 << 24 | 1 << 32 | inline(name) << 48;
    record(header, &[words(&[ts]), padded(name), args.concat(), words(last)])
}

fn arg(kind: u64, name: &str, upper: u64, rest: &[Vec<u8>]) -> Vec<u8> {
    record(kind | inline(name) << 16 | upper << 32, &[&[padded(name)], rest].concat())
}

fn trace(records: &[Vec<u8>]) -> Vec<u8> {
    let start = [words(&[MAGIC]), string(1, "cat"), thread(1, 100, 101)];
    [&start[..], records].concat().concat()
}

fn read(records: &[Vec<u8>]) -> Reading {
    read_bytes(&trace(records)).expect("a trace")
}

#[test]
fn events_of_every_kind_are_read_with_their_arguments() {
    let args = [
        arg(1, "i", u64::from((-5i32).cast_unsigned()), &[]),
        arg(4, "u", 0, &[words(&[u64::MAX])]),
        arg(6, "s", inline("text"), &[padded("text")]),
        arg(5, "f", 0, &[words(&[1.5f64.to_bits()])]),
        arg(9, "b", 1, &[]),
        arg(7, "p", 0, &[words(&[0x10])]),
        arg(0, "n", 0, &[]),
    ];
    let reading = read(&[
        event(4, 10, "complete", &args, &[25]),
        event(2, 30, "begin", &[], &[]),
        event(0, 35, "instant", &[], &[]),
        event(3, 40, "begin", &[], &[]),
        event(5, 50, "async", &[], &[7]),
        event(6, 51, "async", &[], &[7]),
        event(7, 52, "async", &[], &[7]),
        event(8, 60, "flow", &[], &[9]),
        event(10, 61, "flow", &[], &[9]),
        event(1, 70, "count", &[arg(2, "a", 3, &[]), arg(5, "b", 0, &[words(&[0.5f64.to_bits()])])], &[0]),
    ]);
    let kinds: Vec<_> = reading.events.iter().map(|event| (event.ts_ns, event.kind)).collect();
    let expected = [
        (10, Complete),
        (30, Begin),
        (35, Instant),
        (40, End),
        (50, AsyncBegin),
        (51, AsyncInstant),
        (52, AsyncEnd),
        (60, FlowStart),
        (61, FlowEnd),
        (70, Counter),
        (70, Counter),
    ];
    assert_eq!(kinds, expected);
    let complete = &reading.events[0];
    assert_eq!((complete.value, complete.category.as_deref()), (15, Some("cat")));
    assert_eq!(complete.args, r#"{"i":-5,"u":18446744073709551615,"s":"text","f":1.5,"b":true,"p":"0x10","n":null}"#);
    assert_eq!((&complete.track.pid, &complete.track.tid), (&Id::Number(100), &Id::Number(101)));
    let counters: Vec<_> =
        reading.events[9..].iter().map(|event| (&*event.track.name, f64::from_bits(event.value))).collect();
    assert_eq!(counters, [("count a", 3.0), ("count b", 0.5)]);
    assert_eq!(reading.events[4].value, reading.events[6].value);
    assert_eq!(reading.lost(), []);
}

#[test]
fn numbers_and_ticks_are_those_of_the_provider_at_the_time() {
    let named = |ts: u64| record(4 | 1 << 24 | 1 << 48, &[words(&[ts])]);
    let reading = read(&[
        provider(7),
        string(1, "of seven"),
        thread(1, 5, 6),
        record(1, &[words(&[1_000_000])]),
        named(2),
        provider(8),
        named(3_000),
        provider(7),
        named(4),
        string(1, "again"),
        named(5),
    ]);
    let found: Vec<_> = reading.events.iter().map(|event| (event.ts_ns, &*event.name)).collect();
    // Provider 8 has defined neither names nor threads.
    assert_eq!(found, [(2_000, "of seven"), (3_000, ""), (4_000, "of seven"), (5_000, "again")]);
    assert_eq!(reading.lost(), [(Loss::MissingText, 2)]);
}

#[test]
fn switches_wakings_and_names_of_threads() {
    let name = |kind: u64, koid: u64, text: &str, args: &[Vec<u8>]| {
        let header = 7 | kind << 16 | inline(text) << 24 | (args.len() as u64) << 40;
        record(header, &[words(&[koid]), padded(text), args.concat()])
    };
    let process = arg(8, "process", 0, &[words(&[100])]);
    let switch = |ts: u64, from: u64, to: u64| record(8 | 2 << 20 | 3 << 36 | 1 << 60, &[words(&[ts, from, to])]);
    let reading = read(&[
        name(1, 100, "program", &[]),
        name(2, 101, "main", &[process]),
        record(8 | 2 << 20 | 2 << 60, &[words(&[5, 101])]),
        switch(10, 0, 101),
        switch(30, 101, 0),
    ]);
    assert!(matches!(&reading.metadata[0], Metadata::ProcessName { name, .. } if &**name == "program"));
    let is_main = |metadata: &Metadata| matches!(metadata, Metadata::ThreadName { name, .. } if &**name == "main");
    assert!(reading.metadata.iter().any(is_main));
    let cpu: Vec<_> = reading.events.iter().filter(|event| event.track.kind == TrackKind::Cpu).collect();
    assert_eq!((cpu.len(), cpu[0].ts_ns, cpu[0].value, &cpu[0].track.tid), (1, 10, 20, &Id::Number(2)));
    let states: Vec<_> = reading.events.iter().filter(|event| event.kind == EventKind::State).collect();
    assert_eq!(states.iter().map(|state| state.ts_ns).collect::<Vec<_>>(), [5, 10, 30]);
    assert_eq!(states[0].track.pid, Id::Number(100));
    assert_eq!(reading.lost(), []);
}

#[test]
fn weights_of_switches_are_priorities_and_the_smallest_weight_means_idle() {
    let switch = |ts: u64, (from, from_weight): (u64, i32), (to, to_weight): (u64, i32)| {
        let weight = |name, weight: i32| arg(1, name, u64::from(weight.cast_unsigned()), &[]);
        let weights = [weight("incoming_weight", to_weight), weight("outgoing_weight", from_weight)].concat();
        record(8 | 2 << 16 | 2 << 20 | 3 << 36 | 1 << 60, &[words(&[ts, from, to]), weights])
    };
    let idle = (900, i32::MIN);
    let reading = read(&[switch(10, idle, (101, 7)), switch(30, (101, 7), idle)]);
    let cpu: Vec<_> = reading.events.iter().filter(|event| event.track.kind == TrackKind::Cpu).collect();
    assert_eq!((cpu.len(), cpu[0].ts_ns, cpu[0].value), (1, 10, 20), "an idle processor runs nothing");
    assert!(cpu[0].args.contains(r#""prio":7"#), "{}", cpu[0].args);
    assert_eq!(reading.lost(), []);
    let other = arg(2, "other", 7, &[]);
    let reading = read(&[record(8 | 1 << 16 | 2 << 20 | 3 << 36 | 1 << 60, &[words(&[10, 1, 2]), other])]);
    assert_eq!(reading.lost(), [(Loss::IgnoredArguments, 1)]);
}

#[test]
fn losses_of_the_recorder_and_blobs_are_counted() {
    let reading = read(&[
        record(3 << 16 | 1 << 20, &[]),
        record(5 | inline("blob") << 16 | 3 << 32, &[padded("blob"), padded("abc")]),
        event(0, 1, "after", &[], &[]),
        words(&[15 | 3 << 4, 1, 2]),
        event(0, 2, "last", &[], &[]),
    ]);
    assert_eq!(reading.short(), [(1, 0, "after"), (2, 0, "last")]);
    assert_eq!(reading.lost(), [(Loss::RecorderLost, 1), (Loss::IgnoredPacket, 2)]);
}

#[test]
fn an_event_that_cannot_be_shown_is_counted_once() {
    let late = u64::MAX;
    let value = arg(2, "a", 3, &[]);
    let reading = read(&[
        event(0, late, "instant", &[], &[]),
        event(1, late, "counter", &[value], &[0]),
        event(4, late, "complete", &[], &[late]),
        event(5, late, "async", &[], &[7]),
        event(10, late, "flow", &[], &[7]),
        event(0, 1, "good", &[], &[]),
    ]);
    assert_eq!((reading.short(), reading.lost()), (vec![(1, 0, "good")], vec![(Loss::BadTime, 5)]));
    let scheduling = record(8 | 5 << 60, &[words(&[1, 2, 3])]);
    let reading = read(&[event(11, 1, "unknown", &[], &[1, 2]), scheduling, event(0, 2, "good", &[], &[])]);
    assert_eq!(reading.short(), [(2, 0, "good")]);
    assert_eq!(reading.lost(), [(Loss::UnknownPhase, 1), (Loss::IgnoredPacket, 1)]);
}

#[test]
fn a_capture_that_is_cut_anywhere_keeps_all_records_before_the_cut() {
    let records: Vec<_> = (0..4u64).map(|ts| event(4, ts, "name", &[], &[ts + 1])).collect();
    let whole = trace(&records);
    let first = trace(&[]).len();
    for len in first..whole.len() {
        let reading = read_bytes(&whole[..len]).expect("a trace");
        let size = records[0].len();
        assert_eq!(reading.events.len(), (len - first) / size, "{len} bytes");
        assert_eq!(reading.losses.total(), u64::from(!(len - first).is_multiple_of(size)), "{len} bytes");
    }
}

#[test]
fn records_of_other_types_are_skipped_by_their_length_and_counted() {
    let good = |ts| event(0, ts, "good", &[], &[]);
    // A backtrace of the profiler, whose words look like records, and a type that is not in the format.
    let profile = record(0xA | 2 << 16, &[good(9), good(9)]);
    let unknown = record(12, &[words(&[0, 0, 0])]);
    let reading = read(&[good(1), profile, good(2), unknown.clone(), unknown, good(3)]);
    assert_eq!(reading.events.iter().map(|event| event.ts_ns).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(reading.lost(), [(Loss::IgnoredPacket, 3)]);
    let advice = reading.losses.iter().next().unwrap().advice;
    assert!(advice.ends_with("Seen: record type 12 × 2, record type 10 × 1."), "{advice}");
}

#[test]
fn damage_costs_the_records_that_it_hits() {
    let good = event(0, 1, "good", &[], &[]);
    // No length, an unknown type, and an event whose length is too small for its name.
    let reading = read(&[
        good.clone(),
        words(&[0, 0xe | 1 << 4]),
        good.clone(),
        words(&[4 | 2 << 4 | 1 << 24 | 0x8009 << 48, 5]),
        good,
    ]);
    assert_eq!(reading.events.len(), 3);
    assert_eq!(reading.lost(), [(Loss::BadRecord, 2)]);
    // An event whose length covers the record after it.
    let mut long = event(0, 1, "good", &[], &[]);
    long[0] += 3 << 4;
    let reading = read(&[long, event(0, 2, "good", &[], &[])]);
    assert_eq!((reading.events.len(), reading.lost()), (0, vec![(Loss::BadRecord, 1)]), "it is not shown either");
}

#[test]
fn records_with_a_word_too_many_are_lost_and_not_shown() {
    for (header, fields) in [
        (4 | 1 << 24 | 1 << 32 | inline("e") << 48, [words(&[5]), padded("e")]),
        (7 | 1 << 16 | inline("p") << 24, [words(&[9]), padded("p")]),
        (8 | 1 << 36 | 2 << 60, [words(&[5]), words(&[101])]),
        (8 | 1 << 60, [words(&[5]), words(&[101, 102])]),
        (9 | 3 << 16 | 1 << 32, [words(&[5]), padded("abc")]),
    ] {
        let whole = read(&[record(header, &fields)]);
        let is_named = |metadata: &&Metadata| matches!(metadata, Metadata::ProcessName { name, .. } if &**name == "p");
        let shown = |reading: &Reading| (reading.events.len(), reading.metadata.iter().filter(is_named).count());
        let nothing = (0, 0);
        assert!(shown(&whole) > nothing && whole.lost().is_empty(), "{header:#x}: {:?}", whole.lost());
        let longer = read(&[record(header, &[&fields[..], &[words(&[0])]].concat())]);
        assert_eq!((shown(&longer), longer.lost()), (nothing, vec![(Loss::BadRecord, 1)]), "{header:#x}");
    }
}

proptest! {
    #[test]
    fn flipped_bytes_never_stop_the_reading(at in 8usize..400, byte: u8) {
        let records: Vec<_> = (0..8u64).map(|ts| event(4, ts, "name", &[arg(4, "u", 0, &[words(&[ts])])], &[ts + 1])).collect();
        let mut bytes = trace(&records);
        let at = 8 + at % (bytes.len() - 8);
        bytes[at] = byte;
        let reading = read_bytes(&bytes).expect("a trace");
        let is_all = reading.events.len() >= records.len();
        prop_assert!(is_all || reading.losses.total() > 0, "nothing vanishes uncounted");
    }
}

#[test]
fn an_end_beyond_64_bits_is_a_bad_time_and_no_negative_duration() {
    let reading = read(&[event(4, 10, "late", &[], &[u64::MAX]), event(4, 30, "early", &[], &[20])]);
    assert_eq!(reading.lost(), [(Loss::BadTime, 1), (Loss::NegativeDuration, 1)]);
    assert!(reading.events.iter().all(|event| event.value == 0));
}

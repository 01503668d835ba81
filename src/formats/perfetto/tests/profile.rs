//! Tests of call stack samples.

use super::encode::{Message, capture, clock, event, message, packet};
use super::*;
use crate::base::budget::Budget;
use crate::formats::testing::{context, file_of, read_with};
use crate::formats::{ChunkLimits, ReadContext};
use crate::model::EventKind as K;
use crate::model::{Id, TrackKind};

fn text(iid: u64, text: &str) -> Message {
    message().number(1, iid).bytes(2, text)
}

fn frame(iid: u64, function: u64, mapping: u64, address: u64) -> Message {
    message().number(1, iid).number(2, function).number(3, mapping).number(4, address)
}

/// Stack 1 is main, parse; stack 2 is main and a frame without a function; stack 3 has a missing frame.
fn tables() -> Message {
    message()
        .message(5, text(1, "main"))
        .message(5, text(2, "parse"))
        .message(17, text(7, "lib"))
        .message(17, text(8, "libc.so"))
        .message(19, message().number(1, 4).number(7, 7).number(7, 8))
        .message(6, frame(11, 1, 4, 16))
        .message(6, frame(12, 2, 4, 32))
        .message(6, frame(13, 0, 4, 0x1800))
        .message(7, message().number(1, 1).number(2, 11).number(2, 12))
        .message(7, message().number(1, 2).bytes(2, [11, 13]))
        .message(7, message().number(1, 3).number(2, 99))
}

fn stacks(reading: &Reading) -> Vec<(i64, Vec<&str>)> {
    let samples = reading.events.iter().filter(|event| event.kind == K::Sample);
    samples.map(|event| (event.ts_ns, event.stack.iter().map(String::as_str).collect())).collect()
}

#[test]
fn samples_of_kernel_counters_have_their_stacks_and_lost_ones_are_counted() {
    let sample = |ts_ns: u64, tid: u64, stack: u64| {
        let sample = message().number(1, 3).number(2, 5).number(3, tid).number(4, stack);
        message().number(8, ts_ns).number(10, 1).message(66, sample)
    };
    let reading = read([
        message().number(10, 1).number(13, 1).message(12, tables()),
        sample(100, 7, 1),
        sample(200, 7, 2),
        sample(300, 8, 3),
        sample(400, 8, 44),
        message().number(8, 500).number(10, 1).message(66, message().number(17, 20)),
        message().number(8, 500).number(10, 1).message(66, message().number(18, 2)),
    ]);
    let expected = [(100, vec!["main", "parse"]), (200, vec!["main", "libc.so+0x1800"]), (300, vec![""])];
    assert_eq!(stacks(&reading), expected);
    let first = &reading.events[0];
    assert_eq!(
        (first.track.kind, &first.track.pid, &first.track.tid),
        (TrackKind::Thread, &Id::Number(5), &Id::Number(7))
    );
    assert_eq!(first.args, r#"{"cpu":3}"#);
    assert_eq!(reading.lost(), [(Loss::RecorderLost, 21), (Loss::MissingText, 2)]);
}

#[test]
fn times_of_chromium_samples_are_relative_to_the_previous_sample() {
    let thread = message().number(1, 5).number(2, 7).number(6, 1000);
    let reading = read([
        message().number(10, 1).number(13, 1).message(44, thread).message(12, tables()),
        message().number(10, 1).message(54, message().number(1, 1).number(1, 2).number(2, 10).number(2, 5)),
        message().number(10, 1).message(54, message().number(1, 1).number(2, 1)),
        message().number(10, 2).message(54, message().number(1, 1).number(2, 1)),
    ]);
    let of = |leaf| vec!["main", leaf];
    let expected = [(1_010_000, of("parse")), (1_015_000, of("libc.so+0x1800")), (1_016_000, of("parse"))];
    assert_eq!(stacks(&reading), expected);
    // No snapshot has the monotonic clock of these times.
    assert_eq!(reading.lost(), [(Loss::MissingState, 1), (Loss::UnknownClock, 3)]);
}

/// Returns sample defaults with a timebase and names of followers.
fn sample_defaults(timebase: Message, followers: &[&str]) -> Message {
    let defaults = followers.iter().fold(message().message(1, timebase), |defaults, follower| {
        defaults.message(4, message().number(1, 1).bytes(4, *follower))
    });
    message().message(12, defaults)
}

fn args_of_a_sample(defaults: Message, sample: Message) -> String {
    let reading = read([
        message().number(10, 1).number(13, 1).message(12, tables()).message(59, defaults),
        message().number(8, 100).number(10, 1).message(66, sample.number(3, 7).number(4, 1)),
    ]);
    assert_eq!(reading.lost(), []);
    reading.events[0].args.clone()
}

#[test]
fn samples_have_the_event_and_period_of_their_defaults_and_the_counts_of_followers() {
    let by_period = message().number(1, 5000).number(4, 10);
    let sample = message().number(1, 3).number(5, 2).number(6, 15_000).bytes(7, [4, 9]);
    assert_eq!(
        args_of_a_sample(sample_defaults(by_period, &["misses", "faults"]), sample),
        r#"{"event":"cycles","period":5000,"cpu":3,"mode":"user","count":15000,"followers":{"misses":4,"faults":9}}"#
    );
    // A frequency implies a period only for events that count time.
    let clock = message().number(2, 100).number(4, 1);
    let args = args_of_a_sample(sample_defaults(clock, &[]), message().number(5, 1));
    assert_eq!(args, r#"{"event":"cpu-clock","period":10000000,"mode":"kernel"}"#);
    let cycles = message().number(2, 100).number(4, 10).bytes(10, "my cycles");
    assert_eq!(args_of_a_sample(sample_defaults(cycles, &["unread"]), message()), r#"{"event":"my cycles"}"#);
    let tracepoint = message().number(1, 1).message(3, message().bytes(1, "sched:sched_switch"));
    let args = args_of_a_sample(sample_defaults(tracepoint, &[]), message());
    assert_eq!(args, r#"{"event":"sched:sched_switch","period":1}"#);
}

/// Returns a legacy event of phase `P` on sequence 1 with JSON in its annotation `data`.
fn legacy_sample(ts_ns: u64, name: &str, json: &str) -> Message {
    let legacy = message().number(2, u64::from(b'P')).number(6, 2).number(18, 5).number(19, 7);
    let event = message().bytes(23, name).message(6, legacy);
    let data = message().bytes(10, "data").bytes(9, json);
    packet(ts_ns).message(11, if json.is_empty() { event } else { event.message(4, data) })
}

#[test]
fn profiles_of_v8_have_the_samples_of_their_chunks_at_times_of_the_trace() {
    let node = |id: u32, name: &str, parent: &str| {
        format!(r#"{{"callFrame":{{"functionName":"{name}","codeType":"JS"}},"id":{id}{parent}}}"#)
    };
    let nodes = [node(1, "(root)", ""), node(2, "spin", r#","parent":1"#)].join(",");
    let chunk = format!(r#"{{"cpuProfile":{{"nodes":[{nodes}],"samples":[2,2]}},"timeDeltas":[10,5]}}"#);
    let later = r#"{"cpuProfile":{"samples":[2]},"timeDeltas":[5],"endTime":1030}"#;
    // The trace clock is 7 ms later than the monotonic clock, which profiles use.
    let clocks = message().message(1, clock(3, 1_000_000)).message(1, clock(6, 8_000_000));
    let packets = || {
        [
            packet(8_000_000).message(6, clocks.clone()),
            legacy_sample(8_040_000, "ProfileChunk", later),
            event(8_041_000, 3, 0, "i"),
            legacy_sample(8_000_000, "Profile", r#"{"startTime":1000}"#),
            legacy_sample(8_020_000, "ProfileChunk", &chunk),
            legacy_sample(8_050_000, "tick", ""),
            event(8_060_000, 3, 0, "i"),
        ]
    };
    for memory_bytes in [1 << 30, 16] {
        let chunk_limits = ChunkLimits { batch_events: Some(1), ..ChunkLimits::default() };
        let context = ReadContext { chunk_limits, budget: Budget::new(memory_bytes), ..context(2) };
        let reading = read_with(file_of(&capture(packets())).path(), &context).expect("a capture");
        let spin = || vec!["spin"];
        let mut found = stacks(&reading);
        found.sort_unstable();
        let mut expected = vec![(8_010_000, spin()), (8_015_000, spin()), (8_050_000, vec!["tick"])];
        let mut lost = vec![];
        if memory_bytes > 16 {
            expected.insert(2, (8_020_000, spin()));
        } else {
            // A chunk that cannot wait for its start is lost.
            lost.push((Loss::MissingState, 1));
        }
        assert_eq!((found, reading.lost()), (expected, lost));
    }
}

//! The kernel's events.

use super::encode::{Message, message};
use super::*;
use crate::model::EventKind as K;
use crate::model::{Id, TrackKind};

fn bundle(events: impl IntoIterator<Item = Message>) -> Message {
    let bundle = events.into_iter().fold(message().number(1, 3), |bundle, event| bundle.message(2, event));
    message().number(10, 1).message(1, bundle)
}

fn switch(ts_ns: u64, tid: u64, name: &str) -> Message {
    message().number(1, ts_ns).number(2, 0).message(4, message().bytes(5, name).number(6, tid))
}

fn print(ts_ns: u64, tid: u64, text: &str) -> Message {
    message().number(1, ts_ns).number(2, tid).message(3, message().bytes(2, text))
}

#[test]
fn each_switch_ends_the_span_before_it_and_a_cpu_at_rest_has_none() {
    let reading = read([
        bundle([switch(10, 7, "a"), switch(30, 0, "swapper"), switch(50, 8, "b")]),
        message().number(10, 1).message(2, message().message(2, message().number(1, 7).number(3, 5))),
    ]);
    assert_eq!(reading.short(), [(10, EventKind::Complete, "a"), (50, EventKind::Complete, "b")]);
    assert_eq!(reading.events[0].value, 20);
    assert_eq!(reading.events[0].args, r#"{"tid":7}"#);
    assert_eq!(reading.events[1].flags, EventFlags::UNFINISHED);
    assert_eq!(reading.events[0].track.tid, Id::Text("CPU 3".into()));
    let named = Metadata::ThreadName { pid: Id::Number(5), tid: Id::Number(7), name: "a".into() };
    assert!(reading.metadata.contains(&named), "{:?}", reading.metadata);
}

#[test]
fn switches_as_columns_are_the_same() {
    let packed = |values: &[u8]| values.to_vec();
    let columns = message()
        .bytes(1, packed(&[10, 20, 20]))
        .bytes(2, packed(&[0, 0, 0]))
        .bytes(3, packed(&[7, 0, 8]))
        .bytes(5, "a")
        .bytes(5, "swapper")
        .bytes(5, "b")
        .bytes(6, packed(&[0, 1, 2]));
    let compact = read([message().number(10, 1).message(1, message().number(1, 3).message(4, columns))]);
    let plain = read([bundle([switch(10, 7, "a"), switch(30, 0, "swapper"), switch(50, 8, "b")])]);
    assert_eq!(compact, plain);
}

#[test]
fn markers_of_programs() {
    let reading = read([bundle([
        print(1, 11, "B|10|draw\n"),
        print(2, 11, "C|10|frames|3.5\n"),
        print(3, 11, "E|10\n"),
        print(4, 11, "S|10|load|77\n"),
        print(5, 12, "F|10|load|77\n"),
        print(6, 11, "I|10|tick\n"),
        print(7, 11, "E\n"),
        print(8, 11, "C|10|frames|many\n"),
        print(9, 11, "hello | world\n"),
        print(10, 11, "G|10|track|span|5\n"),
        print(11, 11, "H|10|track|5\n"),
        message().number(1, 12).message(200, message()),
    ])]);
    let expected = [
        (1, K::Begin, "draw"),
        (2, K::Counter, "frames"),
        (3, K::End, ""),
        (4, K::AsyncBegin, "load"),
        (5, K::AsyncEnd, "load"),
        (6, K::Instant, "tick"),
        (7, K::End, ""),
        (9, K::Instant, "hello | world"),
        (10, K::AsyncBegin, "span"),
        (11, K::AsyncEnd, ""),
    ];
    assert_eq!(reading.short(), expected);
    assert_eq!(f64::from_bits(reading.events[1].value), 3.5);
    assert_eq!(reading.events[3].value, reading.events[4].value);
    assert_eq!(reading.events[8].value, reading.events[9].value);
    let draw = &reading.events[0].track;
    assert_eq!((draw.kind, &draw.pid, &draw.tid), (TrackKind::Thread, &Id::Number(10), &Id::Number(11)));
    assert_eq!(reading.events[6].track, *draw, "an end without a process is of the thread's own");
    assert_eq!(reading.lost(), [(Loss::BadCounter, 1), (Loss::IgnoredPacket, 1)]);
}

//! Traces that are read while they are written.

use super::encode::{Message, capture, child, event, process, thread};
use super::*;
use crate::formats::testing::read_live;
use crate::model::Id;

/// Returns the time, thread and name of each event.
fn by_thread(reading: &Reading) -> Vec<(i64, Id, &str)> {
    reading.events.iter().map(|event| (event.ts_ns, event.track.tid.clone(), &*event.name)).collect()
}

/// Reads packets as streams of different pieces, which must all give the same events.
fn read_in_pieces(packets: impl IntoIterator<Item = Message>) -> Reading {
    let bytes = capture(packets);
    let [reading, other, last] = [&[1][..], &[5, 40], &[4096]].map(|lens| read_live(&bytes, lens).expect("a stream"));
    assert!(by_thread(&reading) == by_thread(&other) && by_thread(&reading) == by_thread(&last));
    assert!(reading.losses.is_empty(), "{:?}", reading.losses);
    reading
}

#[test]
fn events_after_a_late_descriptor_are_on_its_thread() {
    let packets = || [event(10, 3, 7, "before"), thread(7, 50, 51, "worker"), event(30, 3, 7, "after")];
    let found = [(10, Id::None, "before"), (30, Id::Number(51), "after")];
    assert_eq!(by_thread(&read_in_pieces(packets())), found);
    // The finished trace has the descriptor from the start.
    let finished = read_bytes(&capture(packets())).expect("a trace");
    assert_eq!(by_thread(&finished)[0], (10, Id::Number(51), "before"));
}

#[test]
fn events_after_a_late_parent_are_in_its_process() {
    let packets = [
        child(8, 7, "queue"),
        event(10, 3, 8, "before"),
        event(20, 3, 9, "other"),
        process(7, 50, "app"),
        event(30, 3, 8, "after"),
        event(40, 3, 9, "other"),
    ];
    let reading = read_in_pieces(packets);
    let pids: Vec<Id> = reading.events.iter().map(|event| event.track.pid.clone()).collect();
    assert_eq!(pids, [Id::None, Id::None, Id::Number(50), Id::None]);
    // Events of a track that has no descriptor yet stay together.
    assert_eq!(reading.events[1].track, reading.events[3].track);
}

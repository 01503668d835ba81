//! Traces that are read while they are written.

use super::encode::{capture, event, thread};
use super::*;
use crate::formats::testing::read_live;
use crate::model::Id;

/// Returns the time, thread and name of each event.
fn by_thread(reading: &Reading) -> Vec<(i64, Id, &str)> {
    reading.events.iter().map(|event| (event.ts_ns, event.track.tid.clone(), &*event.name)).collect()
}

#[test]
fn events_after_a_late_descriptor_are_on_its_thread() {
    let packets = [
        event(10, 3, 7, "before"),
        event(20, 3, 8, "other"),
        thread(7, 50, 51, "worker"),
        event(30, 3, 7, "after"),
        event(40, 3, 8, "other"),
    ];
    let bytes = capture(packets);
    for lens in [&[1][..], &[5, 40], &[4096]] {
        let reading = read_live(&bytes, lens).expect("a stream");
        let (none, tid) = (Id::None, Id::Number(51));
        let expected =
            [(10, none.clone(), "before"), (20, none.clone(), "other"), (30, tid, "after"), (40, none, "other")];
        assert_eq!(by_thread(&reading), expected, "{lens:?}");
        // Events of a track that has no descriptor yet stay together.
        let others = reading.events.iter().filter(|event| &*event.name == "other");
        let slots: Vec<u32> = others.map(|event| event.track.slot).collect();
        assert!(slots.windows(2).all(|pair| pair[0] == pair[1]), "{slots:?}");
        assert!(reading.losses.is_empty(), "{:?}", reading.losses);
    }
    // The finished trace has the descriptor from the start.
    let reading = read_bytes(&bytes).expect("a trace");
    assert_eq!(by_thread(&reading)[0], (10, Id::Number(51), "before"));
}

//! Any events round-trip, and reading any bytes terminates.

use proptest::prelude::*;

use super::encode::{Message, capture, event, message, thread};
use super::*;
use crate::model::Id;

#[derive(Debug, Clone)]
struct Written {
    ts_ns: u64,
    kind: u64,
    thread: u64,
    name: String,
    interned: bool,
}

fn written() -> impl Strategy<Value = Written> {
    (0..1000u64, 1..4u64, 1..4u64, "[a-zé\u{1F600}]{1,8}", any::<bool>())
        .prop_map(|(ts_ns, kind, thread, name, interned)| Written { ts_ns, kind, thread, name, interned })
}

fn encoded(events: &[Written]) -> Vec<u8> {
    let threads = (1..4).map(|uuid| thread(uuid, 10, uuid + 100, "t").number(13, 1));
    let events = (1u64..).zip(events).map(|(iid, written)| {
        if !written.interned {
            return event(written.ts_ns, written.kind, written.thread, &written.name);
        }
        let interned = message().message(2, message().number(1, iid * 100).bytes(2, &written.name));
        let event = message().number(9, written.kind).number(11, written.thread).number(10, iid * 100);
        super::encode::packet(written.ts_ns).number(13, 2).message(12, interned).message(11, event)
    });
    capture(threads.chain(events).collect::<Vec<Message>>())
}

/// Kinds of events by their number minus one.
const KINDS: [EventKind; 3] = [EventKind::Begin, EventKind::End, EventKind::Instant];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn events_come_back_as_they_were_written(events in proptest::collection::vec(written(), 0..60)) {
        let reading = read_bytes(&encoded(&events)).expect("a capture");
        let mut expected: Vec<_> = events.iter().collect();
        expected.sort_by_key(|event| event.ts_ns);
        let expected: Vec<_> = expected
            .iter()
            .map(|event| (event.ts_ns as i64, KINDS[event.kind as usize - 1], event.name.clone(), event.thread + 100))
            .collect();
        let seen: Vec<_> = reading
            .events
            .iter()
            .map(|event| {
                let Id::Number(tid) = event.track.tid else { panic!("a thread") };
                (event.ts_ns, event.kind, event.name.clone(), tid as u64)
            })
            .collect();
        prop_assert_eq!(seen, expected);
        prop_assert!(reading.losses.is_empty());
    }

    #[test]
    fn damaged_bytes_cost_no_event_before_them(
        events in proptest::collection::vec(written(), 1..20),
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = encoded(&events);
        let mut first = bytes.len();
        for (index, byte) in flips {
            let position = index.index(bytes.len());
            bytes[position] = byte;
            first = first.min(position);
        }
        let reading = read_bytes(&bytes);
        // The first packets identify the format.
        prop_assert!(reading.is_ok() || first < encoded(&events[..1]).len());
        let intact = (1..=events.len()).rev().find(|&count| encoded(&events[..count]).len() <= first).unwrap_or(0);
        if let Ok(reading) = reading {
            // Names and threads are in other packets, which may be damaged.
            let mut seen: Vec<_> = reading.events.iter().map(|event| (event.ts_ns, event.kind)).collect();
            for event in &events[..intact] {
                let event = (event.ts_ns as i64, KINDS[event.kind as usize - 1]);
                let position = seen.iter().position(|seen| *seen == event);
                prop_assert!(position.is_some(), "{event:?} is not among {seen:?}");
                seen.swap_remove(position.unwrap());
            }
        }
    }

    #[test]
    fn reading_ends_with_any_bytes_after_a_trace(bytes: Vec<u8>) {
        let events = [Written { ts_ns: 1, kind: 3, thread: 1, name: "first".into(), interned: true }];
        let whole = encoded(&events);
        let reading = read_bytes(&[&whole[..], &bytes].concat()).expect("a capture");
        prop_assert_eq!(&reading.events[0].name, "first");
    }
}

//! Tests of the whole reader, on a capture that a tracer wrote and on captures that are written here.

use proptest::prelude::*;

use crate::formats::testing::{Reading, data, read_bytes, read_path};
use crate::model::{EventKind, Id, Loss, Metadata};

/// An event that is written and must come back: kind, thread, nanoseconds, name.
type Plain = (EventKind, u32, u32, i64, String);

fn header(version: u64) -> Vec<u8> {
    // A tick is a nanosecond.
    [&0x0bad_f00d_u64.to_le_bytes()[..], &version.to_le_bytes(), &0.001f64.to_le_bytes(), &[0; 8]].concat()
}

fn version_1(events: &[Plain]) -> Vec<u8> {
    let mut bytes = header(1);
    for (kind, pid, tid, ts, name) in events {
        let begins = *kind == EventKind::Begin;
        bytes.extend(if begins { vec![3, 0] } else { vec![4] });
        bytes.extend(pid.to_le_bytes().into_iter().chain(tid.to_le_bytes()).chain((*ts as f64).to_le_bytes()));
        if begins {
            bytes.extend([name.len() as u8, 0]);
            bytes.extend(name.as_bytes());
        }
    }
    bytes
}

/// Each run of events of one thread is a buffer.
fn version_3(events: &[Plain]) -> Vec<u8> {
    let mut bytes = header(3);
    for run in events.chunk_by(|a, b| (a.1, a.2) == (b.1, b.2)) {
        let mut buffer = Vec::new();
        for (kind, _, _, ts, name) in run {
            buffer.push(match kind {
                EventKind::Begin => 3,
                EventKind::End => 4,
                _ => 5,
            });
            buffer.extend(ts.to_le_bytes());
            match kind {
                EventKind::Begin => buffer.extend([name.len() as u8, 0]),
                EventKind::Instant => buffer.push(name.len() as u8),
                _ => {}
            }
            buffer.extend(name.as_bytes());
        }
        let (_, pid, tid, _, _) = run[0];
        for number in [buffer.len() as u32, tid, pid] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend([0; 8]);
        bytes.extend(buffer);
    }
    bytes
}

fn plain(reading: &Reading) -> Vec<Plain> {
    let number = |id: &Id| match id {
        Id::Number(number) => u32::try_from(*number).expect("an id"),
        other => panic!("{other:?}"),
    };
    let events = reading.events.iter();
    events
        .map(|event| (event.kind, number(&event.track.pid), number(&event.track.tid), event.ts_ns, event.name.clone()))
        .collect()
}

fn events(kinds: std::ops::Range<u8>) -> impl Strategy<Value = Vec<Plain>> {
    let event = (kinds, 0..3u32, 0..3u32, 0..1_000_000_000_000i64, "[a-zé]{0,20}");
    proptest::collection::vec(event, 0..40).prop_map(|events| {
        let mut events: Vec<Plain> = events
            .into_iter()
            .map(|(kind, pid, tid, ts, name)| match kind {
                0 => (EventKind::Begin, pid, tid, ts, name),
                1 => (EventKind::End, pid, tid, ts, String::new()),
                _ => (EventKind::Instant, pid, tid, ts, name),
            })
            .collect();
        events.sort_by_key(|event| event.3);
        events
    })
}

proptest! {
    #[test]
    fn events_of_version_1_come_back_as_they_were_written(events in events(0..2)) {
        let reading = read_bytes(&version_1(&events)).expect("a capture");
        prop_assert_eq!(plain(&reading), events);
        prop_assert_eq!(reading.lost(), []);
    }

    #[test]
    fn events_of_version_3_come_back_as_they_were_written(events in events(0..3)) {
        let reading = read_bytes(&version_3(&events)).expect("a capture");
        prop_assert_eq!(plain(&reading), events);
        prop_assert_eq!(reading.lost(), []);
    }

    #[test]
    fn flipped_bytes_never_stop_the_reading(at in 32usize..400, byte: u8, version in 0..2) {
        let events: Vec<Plain> = (0..10).map(|i| (EventKind::Begin, 1, 2, i, "name".to_owned())).collect();
        let mut bytes = if version == 0 { version_1(&events) } else { version_3(&events) };
        let at = 32 + at % (bytes.len() - 32);
        bytes[at] = byte;
        read_bytes(&bytes).expect("a capture");
    }
}

#[test]
fn a_real_capture_has_the_events_that_a_plain_walk_finds() {
    let reading = read_path(&data("spall_v3.spall.gz")).expect("a capture");
    let mut bytes = Vec::new();
    let file = std::fs::File::open(data("spall_v3.spall.gz")).expect("a file");
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(file), &mut bytes).expect("bytes");
    let (mut at, mut expected) = (32, Vec::new());
    while at < bytes.len() {
        let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let (end, tid, pid) = (at + 20 + number(at) as usize, number(at + 4), number(at + 8));
        at += 20;
        while at < end {
            let ts = || i64::from_le_bytes(bytes[at + 1..at + 9].try_into().expect("8 bytes"));
            match bytes[at] {
                3 => {
                    let (name, args) = (usize::from(bytes[at + 9]), usize::from(bytes[at + 10]));
                    let text = String::from_utf8(bytes[at + 11..at + 11 + name].to_vec()).expect("text");
                    expected.push((EventKind::Begin, pid, tid, ts(), text));
                    at += 11 + name + args;
                }
                4 => {
                    expected.push((EventKind::End, pid, tid, ts(), String::new()));
                    at += 9;
                }
                9 => at += 2 + usize::from(bytes[at + 1]),
                other => panic!("kind {other} at {at}"),
            }
        }
    }
    expected.sort_by_key(|event| event.3);
    assert!(expected.len() > 1000, "{}", expected.len());
    assert_eq!(plain(&reading), expected);
    let names: Vec<&str> = reading
        .metadata
        .iter()
        .map(|metadata| match metadata {
            Metadata::ThreadName { name, .. } => &**name,
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(names.contains(&"worker"), "{names:?}");
    assert_eq!(reading.lost(), []);
}

fn small() -> Vec<Plain> {
    let event = |kind, tid, ts, name: &str| (kind, 1, tid, ts, name.to_owned());
    vec![
        event(EventKind::Begin, 2, 10, "first"),
        event(EventKind::End, 2, 20, ""),
        event(EventKind::Begin, 3, 30, "second"),
        event(EventKind::Begin, 3, 40, "third"),
        event(EventKind::End, 3, 50, ""),
        event(EventKind::End, 3, 60, ""),
    ]
}

#[test]
fn a_capture_that_is_cut_anywhere_keeps_all_events_before_the_cut() {
    for whole in [version_1(&small()), version_3(&small())] {
        let mut found = 0;
        for len in 32..whole.len() {
            let reading = read_bytes(&whole[..len]).expect("a capture");
            let events = plain(&reading);
            assert_eq!(events, small()[..events.len()], "{len} bytes");
            assert!(events.len() >= found, "{len} bytes");
            assert!(reading.losses.total() <= 1, "{len} bytes: {:?}", reading.lost());
            found = events.len();
        }
        assert_eq!(found, small().len() - 1);
    }
}

#[test]
fn damage_in_the_middle_costs_what_it_hits() {
    let mut bytes = version_1(&small());
    let first = 32 + 20 + 5;
    bytes.splice(first..first, [0xff; 7]);
    let reading = read_bytes(&bytes).expect("a capture");
    assert_eq!(plain(&reading), small());
    assert_eq!(reading.lost(), [(Loss::BadRecord, 1)]);

    let mut bytes = version_3(&small());
    bytes[32 + 20] = 0xff; // the first event of the first of two buffers
    let reading = read_bytes(&bytes).expect("a capture");
    assert_eq!(plain(&reading), small()[2..]);
    assert_eq!(reading.lost(), [(Loss::BadRecord, 1)]);
}

#[test]
fn what_cannot_be_read_is_refused_with_its_place() {
    let error = |bytes: &[u8]| read_bytes(bytes).expect_err("refused").to_string();
    assert!(error(&[&0xabad_f00d_u64.to_le_bytes()[..], &[0; 40]].concat()).contains("automatic"));
    assert!(error(&header(2)).contains("byte 8: expected version 1 or 3, found version 2"));
    let mut still = header(1);
    still[16..24].fill(0);
    assert!(error(&still).contains("byte 16: expected the microseconds of a tick, above 0, found 0"));
    assert!(error(&header(1)[..20]).contains("byte 20: expected a header of 32 bytes"));
}

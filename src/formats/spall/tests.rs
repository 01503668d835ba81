//! Tests of the whole reader, on a trace from a real tracer and on synthetic traces.

use proptest::prelude::*;

use crate::formats::testing::{Reading, data, read_bytes, read_cut, read_live, read_path};
use crate::model::{EventKind, Id, Loss, Metadata, ModuleKind};

/// A written event that must be read back: kind, process, thread, nanoseconds, name.
type Plain = (EventKind, u32, u32, i64, String);

fn header(version: u64) -> Vec<u8> {
    // One tick is a nanosecond.
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

fn version_0(events: &[Plain]) -> Vec<u8> {
    let mut bytes = version_1(events);
    bytes[8] = 0;
    bytes
}

fn version_3(events: &[Plain]) -> Vec<u8> {
    buffers(3, events)
}

fn version_2(events: &[Plain]) -> Vec<u8> {
    buffers(2, events)
}

/// Writes a buffer for each run of events of one thread.
fn buffers(version: u64, events: &[Plain]) -> Vec<u8> {
    let mut bytes = header(version);
    for run in events.chunk_by(|a, b| (a.1, a.2) == (b.1, b.2)) {
        let mut buffer = Vec::new();
        for (kind, _, _, ts, name) in run {
            buffer.push(match kind {
                EventKind::Begin => 3,
                EventKind::End => 4,
                _ => 5,
            });
            // The category byte, which no tool shows.
            buffer.extend((version == 2 && *kind == EventKind::Begin).then_some(7));
            buffer.extend(ts.to_le_bytes());
            match kind {
                EventKind::Begin => buffer.extend([name.len() as u8, 0]),
                EventKind::Instant => buffer.push(name.len() as u8),
                _ => {}
            }
            buffer.extend(name.as_bytes());
        }
        let (_, pid, tid, _, _) = run[0];
        for number in [buffer.len() as u32, tid].into_iter().chain((version == 3).then_some(pid)) {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend([0; 8].into_iter().filter(|_| version == 3));
        bytes.extend(buffer);
    }
    bytes
}

/// Start address of the program in the automatic format.
const BASE: u64 = 0x5555_5555_4000;

/// A step of a thread in the automatic format: it enters a function at an offset in the program, or begins a named
/// span.
#[derive(Debug, Clone)]
enum AutoStep {
    Enter(u64),
    Begin(String),
    End,
}

fn auto_step() -> impl Strategy<Value = AutoStep> {
    let offset = prop_oneof![0..0x100u64, 0..0x10_0000u64, 0x7000_0000..0x1_0000_0000_0000u64];
    prop_oneof![
        offset.prop_map(AutoStep::Enter),
        "[a-z]{0,20}".prop_map(AutoStep::Begin),
        "[a-z]{300}".prop_map(AutoStep::Begin),
        Just(AutoStep::End),
    ]
}

/// Returns the shortest length of 1, 2, 4 or 8 bytes for a number, as a power of two.
fn len_bits(number: u64) -> u8 {
    [0x100, 0x1_0000, 0x1_0000_0000].iter().map(|limit| u8::from(number >= *limit)).sum()
}

fn header_of_automatic() -> Vec<u8> {
    automatic_header(3)
}

fn automatic_header(version: u64) -> Vec<u8> {
    let (path, path_len) = (b"/home/me/prog", 13u16);
    // One tick is a nanosecond.
    let numbers = [0xabad_f00d, version, 1f64.to_bits(), BASE].map(u64::to_le_bytes).concat();
    [&numbers[..], &path_len.to_le_bytes(), path].concat()
}

/// Writes a buffer for each run of events of one thread.
fn automatic(events: &[(AutoStep, u32, i64)]) -> Vec<u8> {
    let mut bytes = header_of_automatic();
    for run in events.chunk_by(|a, b| a.1 == b.1) {
        let (mut buffer, mut before_ns, mut before_address) = (Vec::new(), run[0].2, 0);
        for (step, _, ts_ns) in run {
            let ticks = u64::try_from(ts_ns - before_ns).unwrap();
            let bits = len_bits(ticks);
            let ticks = &ticks.to_le_bytes()[..1 << bits];
            before_ns = *ts_ns;
            match step {
                AutoStep::Enter(offset) => {
                    let address = (BASE + offset) ^ before_address;
                    before_address = BASE + offset;
                    buffer.push(bits << 4 | len_bits(address) << 2 | 1);
                    buffer.extend(ticks);
                    buffer.extend(&address.to_le_bytes()[..1 << len_bits(address)]);
                    buffer.extend([1, 2]); // the caller
                }
                AutoStep::Begin(name) => {
                    let is_long = name.len() > 255;
                    buffer.push(2 << 6 | 1 << 4 | bits << 2 | u8::from(is_long) << 1);
                    buffer.extend(ticks);
                    buffer.extend(&(name.len() as u16).to_le_bytes()[..=usize::from(is_long)]);
                    buffer.push(0);
                    buffer.extend(name.as_bytes());
                }
                AutoStep::End => {
                    buffer.push(1 << 6 | bits << 4);
                    buffer.extend(ticks);
                }
            }
        }
        bytes.extend([buffer.len() as u32, run[0].1].map(u32::to_le_bytes).concat());
        bytes.extend(run[0].2.to_le_bytes());
        bytes.extend(9u32.to_le_bytes()); // the maximum depth
        bytes.extend(buffer);
    }
    bytes
}

fn plain(reading: &Reading) -> Vec<Plain> {
    let number = |id: &Id| match id {
        Id::Number(number) => u32::try_from(*number).expect("an id"),
        Id::None => 0,
        Id::Text(text) => panic!("{text:?}"),
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
        prop_assert_eq!(plain(&reading), &*events);
        prop_assert_eq!(reading.lost(), []);
        prop_assert_eq!(read_bytes(&version_0(&events)).expect("a capture"), reading);
    }

    #[test]
    fn events_of_version_2_come_back_without_their_process(events in events(0..2)) {
        let reading = read_bytes(&version_2(&events)).expect("a capture");
        let expected: Vec<Plain> = events.into_iter().map(|(kind, _, tid, ts_ns, name)| (kind, 0, tid, ts_ns, name)).collect();
        prop_assert_eq!(plain(&reading), expected);
        prop_assert_eq!(reading.lost(), []);
    }

    #[test]
    fn events_of_the_automatic_kind_come_back_as_they_were_written(
        events in proptest::collection::vec((auto_step(), 0..3u32, 0..1_000_000_000_000i64), 0..40),
        block_bytes in 1usize..80,
    ) {
        let mut events = events;
        events.sort_by_key(|event| event.2);
        let bytes = automatic(&events);
        let expected: Vec<Plain> = events.iter().map(|(step, tid, ts_ns)| {
            let (kind, name) = match step {
                AutoStep::Enter(offset) if *offset < 1 << 31 => (EventKind::Begin, format!("prog+{offset:#x}")),
                AutoStep::Enter(offset) => (EventKind::Begin, format!("{:#x}", BASE + offset)),
                AutoStep::Begin(name) => (EventKind::Begin, name.clone()),
                AutoStep::End => (EventKind::End, String::new()),
            };
            (kind, 0, *tid, *ts_ns, name)
        }).collect();
        let reading = read_bytes(&bytes).expect("a capture");
        prop_assert_eq!(plain(&reading), expected);
        prop_assert_eq!(reading.lost(), []);
        prop_assert_eq!(read_cut(&bytes, block_bytes, 3).expect("a capture"), reading);
    }

    #[test]
    fn functions_of_version_1_of_the_automatic_kind_have_their_addresses(
        events in proptest::collection::vec((any::<bool>(), any::<u64>(), 0..3u32, 0..1i64 << 55), 0..40),
        block_bytes in 1usize..80,
    ) {
        let mut events = events;
        events.sort_by_key(|event| event.3);
        let (mut bytes, mut expected) = (automatic_header(1), Vec::<Plain>::new());
        for run in events.chunk_by(|a, b| a.2 == b.2) {
            let mut buffer = Vec::new();
            for &(is_enter, address, tid, ts_ns) in run {
                let type_and_ticks = u64::from(if is_enter { 1u8 } else { 2 }) << 56 | ts_ns.cast_unsigned();
                buffer.extend(type_and_ticks.to_le_bytes());
                if is_enter {
                    buffer.extend([address, 7].map(u64::to_le_bytes).concat());
                }
                let kind = if is_enter { EventKind::Begin } else { EventKind::End };
                let name = if is_enter { format!("{address:#x}") } else { String::new() };
                expected.push((kind, 0, tid, ts_ns, name));
            }
            bytes.extend([u32::try_from(buffer.len()).unwrap(), run[0].2].map(u32::to_le_bytes).concat());
            bytes.extend(buffer);
        }
        let reading = read_bytes(&bytes).expect("a capture");
        prop_assert_eq!((plain(&reading), reading.lost()), (expected, vec![]));
        prop_assert_eq!(read_cut(&bytes, block_bytes, 3).expect("a capture"), reading);
        let cut = bytes.len().saturating_sub(1).max(47);
        let part = read_bytes(&bytes[..cut.min(bytes.len())]).expect("a capture");
        prop_assert!(part.losses.total() <= 1);
    }

    #[test]
    fn events_of_version_3_come_back_as_they_were_written(events in events(0..3)) {
        let reading = read_bytes(&version_3(&events)).expect("a capture");
        prop_assert_eq!(plain(&reading), events);
        prop_assert_eq!(reading.lost(), []);
    }

    #[test]
    fn a_damaged_byte_costs_no_event_before_it(at in 0usize..1000, byte: u8, version in 0..4) {
        let events: Vec<Plain> = (0..10).map(|i| (EventKind::Begin, 1, 2, i, "name".to_owned())).collect();
        let entries = (0..10).map(|i| (AutoStep::Enter(i), 1, i64::try_from(i).unwrap())).collect::<Vec<_>>();
        let encoded = |count: usize| match version {
            0 => version_1(&events[..count]),
            1 => version_2(&events[..count]),
            2 => version_3(&events[..count]),
            _ => automatic(&entries[..count]),
        };
        let mut bytes = encoded(10);
        // The longest header has 34 bytes.
        let at = 34 + at % (bytes.len() - 34);
        bytes[at] = byte;
        let damaged = plain(&read_bytes(&bytes).expect("a capture"));
        if let Some(intact) = (1..=10).rev().find(|&count| encoded(count).len() <= at) {
            for event in plain(&read_bytes(&encoded(intact)).expect("a capture")) {
                prop_assert!(damaged.contains(&event), "{event:?} is not among {damaged:?}");
            }
        }
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
    for whole in [version_0(&small()), version_1(&small()), version_3(&small())] {
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
fn unreadable_headers_are_refused_with_their_position() {
    let error = |bytes: &[u8]| read_bytes(bytes).expect_err("refused").to_string();
    let automatic = header_of_automatic();
    assert!(error(&[&automatic[..8], &[2], &automatic[9..]].concat()).contains("automatic kind, found version 2"));
    assert!(error(&[&automatic[..16], &[0; 20]].concat()).contains("byte 16: expected the nanoseconds of a tick"));
    assert!(error(&automatic[..33]).contains("byte 33: expected a header of 34 bytes"));
    assert!(error(&header(4)).contains("byte 8: expected a version up to 3, found version 4"));
    let mut still = header(1);
    still[16..24].fill(0);
    assert!(error(&still).contains("byte 16: expected the microseconds of a tick, above 0, found 0"));
    assert!(error(&header(1)[..20]).contains("byte 20: expected a header of 32 bytes"));
}

#[test]
fn a_capture_of_the_automatic_kind_that_is_cut_anywhere_keeps_all_events_before_the_cut() {
    let named = AutoStep::Begin("named".to_owned());
    let steps =
        [(AutoStep::Enter(0x1000), 7), (named, 7), (AutoStep::End, 7), (AutoStep::Enter(0x20), 8), (AutoStep::End, 8)];
    let steps: Vec<_> = steps.into_iter().zip(5..).map(|((step, tid), ts_ns)| (step, tid, ts_ns)).collect();
    let whole = automatic(&steps);
    let expected = read_bytes(&whole).expect("a capture");
    assert_eq!(expected.names(), ["prog+0x1000", "named", "", "prog+0x20", ""]);
    let category = expected.events[0].category.as_deref();
    assert_eq!((category, expected.events[1].category.as_deref()), (Some("/home/me/prog"), None));
    assert!(expected.metadata.iter().any(|said| {
        matches!(said, Metadata::Module { module } if module.kind == ModuleKind::Image && &*module.path == "/home/me/prog")
    }));
    let mut found = 0;
    for len in 34..whole.len() {
        let reading = read_bytes(&whole[..len]).expect("a capture");
        assert_eq!(plain(&reading), plain(&expected)[..reading.events.len()], "{len} bytes");
        assert!(reading.events.len() >= found && reading.losses.total() <= 1, "{len} bytes: {:?}", reading.lost());
        found = reading.events.len();
    }
    assert_eq!(found, 4);
    for lens in [&[1usize][..], &[13, 1, 900]] {
        assert_eq!(read_live(&whole, lens).expect("a stream"), expected);
    }
    let mut damaged = whole.clone();
    damaged[34 + 13 + 20] = 0xff; // the first event of the first of two buffers
    let reading = read_bytes(&damaged).expect("a capture");
    assert_eq!((reading.names(), reading.lost()), (vec!["prog+0x20", ""], vec![(Loss::BadRecord, 1)]));
}

#[test]
fn data_after_the_end_of_a_stream_is_counted() {
    let events = [(EventKind::Begin, 0, 3, 10, "a".to_owned()), (EventKind::End, 0, 3, 20, String::new())];
    let ended = [version_1(&events), vec![2]].concat();
    let reading = read_bytes(&ended).expect("a trace");
    assert_eq!((reading.events.len(), reading.lost()), (2, vec![]));
    let reading = read_bytes(&[&ended[..], &version_1(&events)].concat()).expect("a trace");
    assert_eq!((reading.events.len(), reading.lost()), (2, vec![(Loss::TrailingData, 1)]));
}

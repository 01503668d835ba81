//! Tests of the event, the weight and the unit of samples.

use super::*;

const FREQUENCY: u64 = 1 << 10;

/// Builds an event without an id, whose samples have address, thread and time, with its period and flags.
fn attr_with_period(kind: u8, config: u64, period: u64, flags: u64) -> Vec<u8> {
    let mut bytes = attr(kind, config, 0b111, None);
    bytes[8 + 16..8 + 24].copy_from_slice(&period.to_le_bytes());
    bytes[8 + 40..8 + 48].copy_from_slice(&flags.to_le_bytes());
    bytes
}

fn args_of(records: &[Vec<u8>]) -> Vec<String> {
    let bytes = [&b"PERFILE2"[..], &16u64.to_le_bytes(), &records.concat()].concat();
    let reading = read_bytes(&bytes).expect("a capture");
    assert_eq!(reading.lost(), []);
    reading.events.into_iter().filter(|event| event.kind == EventKind::Sample).map(|event| event.args).collect()
}

#[test]
fn samples_without_a_period_weigh_that_of_their_event_unless_it_is_a_frequency() {
    for (flags, expected) in [(0, r#"{"event":"cpu-clock","period":100000}"#), (FREQUENCY, r#"{"event":"cpu-clock"}"#)]
    {
        assert_eq!(args_of(&[attr_with_period(1, 0, 100_000, flags), sample(10, 1)]), [expected]);
    }
}

#[test]
fn the_unit_is_that_of_the_event_whatever_its_name_is() {
    // The event names of a pipe: a count, the bytes of an attribute, then an attribute with ids, name and id.
    let renamed = |name: &[u8; 16]| {
        let ids = [1u32.to_le_bytes(), 16u32.to_le_bytes()].concat();
        let body = [&1u32.to_le_bytes()[..], &0u32.to_le_bytes(), &ids, name, &5u64.to_le_bytes()].concat();
        record(80, &[&12u64.to_le_bytes()[..], &body].concat())
    };
    let with_id = |kind, config| {
        let attr = attr_with_period(kind, config, 9, 0);
        record(64, &[&attr[8..], &5u64.to_le_bytes()].concat())
    };
    for (kind, config, name, expected) in [
        (1, 0, b"fast\0\0\0\0\0\0\0\0\0\0\0\0", r#"{"event":"fast","unit":"ns","period":9}"#),
        (1, 1, b"cpu-clock/foo/\0\0", r#"{"event":"cpu-clock/foo/","period":9}"#),
        (0, 0, b"cpu-clock\0\0\0\0\0\0\0", r#"{"event":"cpu-clock","unit":"count","period":9}"#),
    ] {
        assert_eq!(args_of(&[with_id(kind, config), renamed(name), sample(10, 1)]), [expected]);
    }
}

#[test]
fn stacks_of_tracepoints_are_samples_of_their_event() {
    // Id, address, thread, time, period, call chain, raw data.
    let attr = |number: u64, id: u64| attr(2, number, 1 << 16 | 0b111 | 1 << 8 | 1 << 10 | 1 << 5, Some(id));
    let hit = |id: u64, time: u64| {
        let thread = [7u32.to_le_bytes(), 8u32.to_le_bytes()].concat();
        let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let raw = [&16u32.to_le_bytes()[..], &words(&[0, 512]), &[0; 4]].concat();
        record(9, &[words(&[id, 0x9000]), thread, words(&[time, 1, 2, 0x9000, 0x9100]), raw].concat())
    };
    let points =
        tracing_data(&[("kmem", "kmalloc", 70, "long bytes"), ("sched", "sched_process_fork", 71, "long pid")]);
    let records = [attr(70, 1), attr(71, 2), points, hit(1, 10), hit(2, 20)];
    let bytes = [&b"PERFILE2"[..], &16u64.to_le_bytes(), &records.concat()].concat();
    let reading = read_bytes(&bytes).expect("a capture");
    let of_kind = |kind| reading.events.iter().filter(move |event| event.kind == kind);
    let instants: Vec<_> = of_kind(EventKind::Instant).map(|event| (&*event.name, &*event.args)).collect();
    let expected =
        [("kmem:kmalloc", r#"{"bytes":512,"period":1}"#), ("sched:sched_process_fork", r#"{"pid":512,"period":1}"#)];
    assert_eq!(instants, expected);
    let samples: Vec<_> = of_kind(EventKind::Sample).map(|event| &*event.args).collect();
    let expected = [r#"{"event":"kmem:kmalloc","period":1}"#, r#"{"event":"sched:sched_process_fork","period":1}"#];
    assert_eq!((samples, reading.lost()), (expected.to_vec(), vec![]));
}

#[test]
fn each_thread_counts_on_its_own_if_counters_are_inherited() {
    const INHERIT: u64 = 1 << 1;
    let read_of = |flags: u64| {
        // Thread, time, counts; a single counter with its id.
        let mut attr = attr(0, 0, 0b110 | 1 << 4, Some(5));
        attr[8 + 32..8 + 40].copy_from_slice(&0b100u64.to_le_bytes());
        attr[8 + 40..8 + 48].copy_from_slice(&flags.to_le_bytes());
        let sample = |time: u64, tid: u32, value: u64| {
            let words = [time, value, 5].map(u64::to_le_bytes).concat();
            record(9, &[&7u32.to_le_bytes()[..], &tid.to_le_bytes(), &words].concat())
        };
        let records = [attr, sample(1, 8, 100), sample(2, 9, 40), sample(3, 8, 200), sample(4, 9, 80)];
        let reading = read_bytes(&[&b"PERFILE2"[..], &16u64.to_le_bytes(), &records.concat()].concat());
        reading.expect("a recording").events.into_iter().map(|event| event.args).collect::<Vec<_>>()
    };
    let periods = |periods: [u64; 4]| periods.map(|period| format!(r#"{{"event":"cycles","period":{period}}}"#));
    assert_eq!(read_of(INHERIT), periods([100, 40, 100, 40]));
    assert_eq!(read_of(0), periods([100, 40, 160, 80]));
}

//! Files in which no event has times, or only some.

use super::*;

const TIME: u64 = 1 << 2;

/// Builds a file in pipe mode: an event with id 1 and one with id 2 by these bits of samples, then records.
fn two_events(first: u64, second: u64, records: &[Vec<u8>]) -> Vec<u8> {
    // Id, address, thread.
    let event = |id: u64, fields: u64| attr(1, 0, 1 << 16 | 0b11 | fields, Some(id));
    let records = [&[event(1, first), event(2, second)], records].concat().concat();
    [&b"PERFILE2"[..], &16u64.to_le_bytes(), &records].concat()
}

/// Builds a sample of an event: pid 7, tid 8.
fn sample_of(id: u64, ip: u64, time: Option<u64>) -> Vec<u8> {
    let thread = [7u32.to_le_bytes(), 8u32.to_le_bytes()].concat();
    let time = time.map_or(vec![], |time| time.to_le_bytes().to_vec());
    record(9, &[&id.to_le_bytes()[..], &ip.to_le_bytes(), &thread, &time].concat())
}

/// Builds a mapping of 0x100 bytes of `/bin/app` with the fields that an event adds to it.
fn map(start: u64, of_event: &[u64]) -> Vec<u8> {
    let ids = [7u32.to_le_bytes(), 8u32.to_le_bytes()].concat();
    let extent = [start, 0x100, 0].map(u64::to_le_bytes).concat();
    let of_event: Vec<u8> = of_event.iter().flat_map(|number| number.to_le_bytes()).collect();
    record(1, &[&ids[..], &extent, b"/bin/app\0\0\0\0\0\0\0\0", &of_event].concat())
}

fn timed_frames(reading: &Reading) -> Vec<(i64, &str)> {
    reading.events.iter().map(|event| (event.ts_ns, &*event.stack[0])).collect()
}

#[test]
fn samples_of_a_file_without_times_are_a_millisecond_apart_in_the_order_of_the_file() {
    let round = record(68, &[]);
    let reading = read_bytes(&two_events(
        0,
        0,
        &[
            sample_of(1, 0x1010, None),
            map(0x1000, &[]),
            sample_of(2, 0x1010, None),
            round.clone(),
            sample_of(1, 0x1020, None),
            round,
        ],
    ))
    .expect("a capture");
    let expected = [(1_000_000, "0x1010"), (2_000_000, "app+0x10"), (3_000_000, "app+0x20")];
    assert_eq!((timed_frames(&reading), reading.lost()), (expected.to_vec(), vec![(Loss::NoTimes, 1)]));
}

#[test]
fn samples_without_times_are_at_the_record_before_them_or_at_the_oldest() {
    let records = [
        sample_of(1, 0x1, None),
        record(68, &[]),
        sample_of(1, 0x2, None),
        sample_of(2, 0x3, Some(5_000)),
        sample_of(1, 0x4, None),
        // The next CPU.
        sample_of(2, 0x5, Some(4_000)),
        sample_of(1, 0x6, None),
        record(68, &[]),
        record(68, &[]),
    ];
    let expected = [(4_000, "0x1"), (4_000, "0x2"), (4_000, "0x5"), (4_000, "0x6"), (5_000, "0x3"), (5_000, "0x4")];
    let reading = read_bytes(&two_events(0, TIME, &records)).expect("a capture");
    assert_eq!((timed_frames(&reading), reading.lost()), (expected.to_vec(), vec![(Loss::NoTimes, 1)]));
    // No sample of the event with times was taken.
    let reading = read_bytes(&two_events(0, TIME, &records[..3])).expect("a capture");
    assert_eq!(
        (timed_frames(&reading), reading.lost()),
        (vec![(1_000_000, "0x1"), (2_000_000, "0x2")], vec![(Loss::NoTimes, 1)])
    );
}

#[test]
fn the_time_of_a_mapping_is_that_of_its_own_event() {
    let has_sample_id = |mut file: Vec<u8>| {
        for at in [24, 24 + 80] {
            file[at + 42] |= 1 << 2; // bit 18 of the flags
        }
        file
    };
    let thread = 8 << 32 | 7;
    let records = [
        // perf lists the state before recording with zeros.
        map(0x1000, &[0, 0, 0]),
        sample_of(2, 0x1010, Some(5_000)),
        map(0x2000, &[thread, 1]),
        sample_of(1, 0x2010, None),
        sample_of(2, 0x3010, Some(6_000)),
        map(0x3000, &[thread, 7_000, 2]),
        sample_of(2, 0x3010, Some(8_000)),
    ];
    let expected = [(5_000, "app+0x10"), (5_000, "app+0x10"), (6_000, "0x3010"), (8_000, "app+0x10")];
    let reading = read_bytes(&has_sample_id(two_events(0, TIME, &records))).expect("a capture");
    assert_eq!((timed_frames(&reading), reading.lost()), (expected.to_vec(), vec![(Loss::NoTimes, 1)]));
    // Now the first event has times.
    let swapped = [
        map(0x1000, &[0, 0, 0]),
        sample_of(2, 0x1010, None),
        map(0x2000, &[thread, 2]),
        sample_of(1, 0x2010, Some(9_000)),
    ];
    let reading = read_bytes(&has_sample_id(two_events(TIME, 0, &swapped))).expect("a capture");
    let expected = [(9_000, "app+0x10"), (9_000, "app+0x10")];
    assert_eq!((timed_frames(&reading), reading.lost()), (expected.to_vec(), vec![(Loss::NoTimes, 1)]));
}

#[test]
fn a_record_that_comes_after_later_ones_were_read_for_want_of_memory_is_counted() {
    let budget = crate::base::budget::Budget::new(1);
    let context = crate::formats::ReadContext { budget, ..crate::formats::testing::context(1) };
    // Records that are not shown, of 32 KiB each.
    let long =
        record(5, &[&vec![0; 32 << 10][..], &7u32.to_le_bytes(), &8u32.to_le_bytes(), &9u64.to_le_bytes()].concat());
    let records = [vec![sample(10, 1)], vec![long; 600], vec![sample(5, 1), sample(20, 1)]].concat();
    let file = crate::formats::testing::file_of(&pipe(&records));
    let reading = crate::formats::testing::read_with(file.path(), &context).expect("a recording");
    assert_eq!((reading.events.len(), reading.lost()), (3, vec![(Loss::OverLimit, 1)]));
}

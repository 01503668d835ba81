//! Tests of the counts of lost samples.

use super::*;

/// Builds a file with these records, whose records other than samples end with thread and time.
fn with_ids(records: &[Vec<u8>]) -> Vec<u8> {
    let mut attr = vec![0u8; 64];
    (attr[0], attr[4]) = (1, 64);
    attr[24] = 0b111; // address, thread, time
    attr[42] = 1 << 2; // ids on all records
    [&b"PERFILE2"[..], &16u64.to_le_bytes(), &record(64, &attr), &records.concat()].concat()
}

fn ids(time: u64) -> [u8; 16] {
    let [low, high] = [7u32, 8].map(u32::to_le_bytes);
    let time = time.to_le_bytes();
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&low);
    bytes[4..8].copy_from_slice(&high);
    bytes[8..].copy_from_slice(&time);
    bytes
}

/// Builds a record that the kernel writes where samples are missing.
fn reported(time: u64, count: u64) -> Vec<u8> {
    record(2, &[&5u64.to_le_bytes()[..], &count.to_le_bytes(), &ids(time)].concat())
}

/// Builds a record of lost samples; at time 0, a sum that perf writes at the end.
fn samples(time: u64, count: u64) -> Vec<u8> {
    record(13, &[&count.to_le_bytes()[..], &ids(time)].concat())
}

fn lost(records: &[Vec<u8>]) -> u64 {
    let reading = read_bytes(&with_ids(records)).expect("a recording");
    assert_eq!(reading.losses.total(), reading.losses.count(Loss::RecorderLost), "{:?}", reading.lost());
    reading.losses.total()
}

#[test]
fn samples_that_the_kernel_reports_as_lost_are_not_counted_again_in_the_sums_at_the_end() {
    let sample = sample(10, 0x1010);
    let record = |record: Vec<u8>| vec![sample.clone(), record];
    assert_eq!(lost(&record(reported(20, 9))), 9);
    assert_eq!(lost(&record(samples(0, 8))), 8);
    assert_eq!(lost(&[reported(20, 9), sample.clone(), reported(30, 1), samples(0, 7), samples(0, 3)]), 10);
    // A part of the sum was not reported.
    assert_eq!(lost(&[sample.clone(), reported(20, 9), samples(0, 12)]), 12);
    // The kernel reports samples that the hardware lost, which are in no sum.
    assert_eq!(lost(&[sample.clone(), samples(15, 2), reported(20, 9), samples(0, 9)]), 11);
}

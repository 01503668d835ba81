//! Tests of the whole reader, against what `perf script` prints of two captures, and on captures that are written here.

use crate::formats::testing::{Reading, data, read_bytes, read_path};
use crate::model::{EventKind, Id, Loss, TrackKind};

fn unpacked(file: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(data(file)).expect("a file");
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(file), &mut bytes).expect("bytes");
    bytes
}

#[test]
fn samples_are_those_that_perf_script_prints() {
    let reading = read_bytes(&unpacked("perf.data.gz")).expect("a capture");
    let printed = read_path(&data("perf_script.txt.gz")).expect("a capture");
    let of = |reading: &Reading| {
        let samples = reading.events.iter().filter(|event| event.kind == EventKind::Sample);
        let mut samples: Vec<_> = samples
            // perf prints microseconds, and threads only.
            .map(|event| (event.ts_ns / 1000, event.track.tid.clone(), event.stack.len(), event.args.clone()))
            .collect();
        samples.sort();
        samples
    };
    // perf cuts times as this does.
    assert_eq!(of(&reading), of(&printed));
    let pids: std::collections::BTreeSet<_> = reading.events.iter().map(|event| event.track.pid.clone()).collect();
    assert!(pids.len() > 2);
    let frames: Vec<&String> = reading.events.iter().flat_map(|event| &event.stack).collect();
    assert!(frames.iter().any(|frame| frame.starts_with("chromium+0x")));
    assert!(frames.iter().any(|frame| frame.starts_with("[kernel.kallsyms]+0x")));
    // perf script knows a file for all frames but a few.
    let unknown = frames.iter().filter(|frame| frame.starts_with("0x")).count();
    assert!(unknown * 10 < frames.len(), "{unknown} of {}", frames.len());
    assert_eq!(reading.lost(), []);
}

#[test]
fn scheduling_is_what_perf_script_prints() {
    let reading = read_bytes(&unpacked("perf_sched.data.gz")).expect("a capture");
    let printed = read_path(&data("perf_sched_script.txt.gz")).expect("a capture");
    let of = |reading: &Reading, kind: TrackKind| {
        let events = reading.events.iter().filter(|event| event.track.kind == kind);
        let mut events: Vec<_> = events
            .map(|event| {
                (event.ts_ns, event.value, event.track.tid.clone(), event.name.clone(), event.category.clone())
            })
            .collect();
        events.sort();
        events
    };
    assert_eq!(of(&reading, TrackKind::Cpu), of(&printed, TrackKind::Cpu));
    assert_eq!(of(&reading, TrackKind::State), of(&printed, TrackKind::State));
    let instants: Vec<_> = of(&reading, TrackKind::Thread).into_iter().map(|event| (event.0, event.2)).collect();
    let expected: Vec<_> = of(&printed, TrackKind::Thread).into_iter().map(|event| (event.0, event.2)).collect();
    assert_eq!(instants, expected);
    let odd = printed.losses.count(Loss::MismatchedEnd);
    assert_eq!(reading.lost(), [(Loss::MismatchedEnd, odd), (Loss::IgnoredArguments, instants.len() as u64)]);
}

fn record(kind: u32, body: &[u8]) -> Vec<u8> {
    let len = (8 + body.len()) as u16;
    [&kind.to_le_bytes()[..], &0u16.to_le_bytes(), &len.to_le_bytes(), body].concat()
}

/// Samples with address, thread, time and processor: pid 7, tid 8.
fn sample(time: u64, ip: u64) -> Vec<u8> {
    record(9, &[&ip.to_le_bytes()[..], &7u32.to_le_bytes(), &8u32.to_le_bytes(), &time.to_le_bytes()].concat())
}

/// Through a pipe: an attribute, then records.
fn pipe(records: &[Vec<u8>]) -> Vec<u8> {
    let mut attr = vec![0u8; 64];
    attr[0] = 1; // software
    attr[4] = 64;
    attr[24] = 0b111; // address, thread, time
    let records = [vec![record(64, &attr)], records.to_vec()].concat().concat();
    [&b"PERFILE2"[..], &16u64.to_le_bytes(), &records].concat()
}

fn times(reading: &Reading) -> Vec<i64> {
    reading.events.iter().map(|event| event.ts_ns).collect()
}

#[test]
fn a_pipe_tells_its_attributes_among_the_records() {
    let map = |start: u64| {
        let ids = [7u32.to_le_bytes(), 7u32.to_le_bytes()].concat();
        record(
            1,
            &[
                &ids[..],
                &start.to_le_bytes(),
                &0x100u64.to_le_bytes(),
                &0u64.to_le_bytes(),
                b"/bin/app\0\0\0\0\0\0\0\0",
            ]
            .concat(),
        )
    };
    let reading =
        read_bytes(&pipe(&[map(0x1000), sample(20, 0x1010), sample(10, 0x2000), record(68, &[])])).expect("a capture");
    assert_eq!(times(&reading), [10, 20]);
    assert_eq!((&reading.events[0].stack[0][..], &reading.events[1].stack[0][..]), ("0x2000", "app+0x10"));
    assert_eq!((&reading.events[0].track.pid, &reading.events[0].track.tid), (&Id::Number(7), &Id::Number(8)));
    assert_eq!(reading.lost(), []);
}

#[test]
fn compressed_records_are_one_stream() {
    use std::io::Write as _;
    let records: Vec<u8> = (0..300).flat_map(|time| sample(time, time * 16)).collect();
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).expect("an encoder");
    let mut compressed = Vec::new();
    for piece in records.chunks(1000) {
        encoder.write_all(piece).expect("written");
        encoder.flush().expect("written");
        compressed.push(record(81, &std::mem::take(encoder.get_mut())));
    }
    let reading = read_bytes(&pipe(&compressed)).expect("a capture");
    assert_eq!(times(&reading), (0..300).collect::<Vec<_>>());
    assert_eq!(reading.lost(), []);
    compressed[3][8..11].fill(0xff); // a kind of block that there is not
    let reading = read_bytes(&pipe(&compressed)).expect("a capture");
    assert!(reading.events.len() > 60 && reading.losses.total() > 0, "{}: {:?}", reading.events.len(), reading.lost());
}

#[test]
fn a_capture_that_is_cut_anywhere_keeps_the_records_before_the_cut() {
    let whole = pipe(&[sample(10, 1), sample(20, 2), sample(30, 3)]);
    let first = pipe(&[]).len();
    let size = sample(0, 0).len();
    for len in first..whole.len() {
        let reading = read_bytes(&whole[..len]).expect("a capture");
        assert_eq!(reading.events.len(), (len - first) / size, "{len} bytes");
        assert_eq!(
            reading.losses.count(Loss::Truncated),
            u64::from(!(len - first).is_multiple_of(size)),
            "{len} bytes"
        );
    }
}

#[test]
fn damage_is_stepped_over_and_what_was_lost_is_counted() {
    let lost = record(2, &[5u64.to_le_bytes(), 17u64.to_le_bytes()].concat());
    let records =
        [sample(10, 1), vec![0xff; 16], lost, sample(20, 2), record(9, &[1, 2, 3, 4, 5, 6, 7, 8]), sample(30, 3)];
    let reading = read_bytes(&pipe(&records)).expect("a capture");
    assert_eq!(times(&reading), [10, 20, 30]);
    let expected = [(Loss::BadTime, 1), (Loss::BadRecord, 1), (Loss::RecorderLost, 17)];
    assert_eq!(reading.lost(), expected);
}

#[test]
fn what_cannot_be_read_is_refused_with_its_place() {
    let error = |bytes: &[u8]| read_bytes(bytes).expect_err("refused").to_string();
    assert!(error(b"2ELIFREP\0\0\0\0\0\0\0\x68").contains("big-endian"));
    assert!(
        error(&[&b"PERFILE2"[..], &99u64.to_le_bytes()].concat()).contains("byte 8: expected the length of a header")
    );
    assert!(
        error(&[&b"PERFILE2"[..], &104u64.to_le_bytes(), &[0; 20]].concat()).contains("byte 36: expected a header")
    );
}

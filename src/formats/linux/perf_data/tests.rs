//! Tests of the whole reader, on two recordings against the output of `perf script`, and on generated files.

mod appended;
mod calls;
mod commands;
mod folders;
mod layouts;
mod lost;
mod off_cpu;
mod switches;
mod times;
mod weights;

use proptest::prelude::*;

use crate::formats::output::batch::LABEL_BYTES_MAX;
use crate::formats::testing::{ReadEvent, Reading, data, read_bytes, read_cut, read_path};
use crate::model::modules::{KernelAnchor, ModuleBuilds};
use crate::model::{EventKind, Id, Loss, Metadata, TrackKind};

fn unpacked(file: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(data(file)).expect("a file");
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(file), &mut bytes).expect("bytes");
    bytes
}

/// Returns time, thread, stack depth and arguments of samples. perf prints thread ids only, and times in microseconds.
fn samples_of(reading: &Reading) -> Vec<(i64, Id, usize, &str)> {
    let samples = reading.events.iter().filter(|event| event.kind == EventKind::Sample);
    let mut samples: Vec<_> = samples
        .map(|event| (event.ts_ns / 1000, event.track.tid.clone(), event.stack.len(), event.args.as_str()))
        .collect();
    samples.sort();
    samples
}

/// Returns time, whether it is an entry, thread and name of system call events, as perf prints them.
fn calls_of(reading: &Reading) -> Vec<(i64, bool, Id, &str)> {
    let events = reading.events.iter();
    let mut calls: Vec<_> = events
        .map(|event| (event.ts_ns / 1000, event.kind == EventKind::Begin, event.track.tid.clone(), event.name.as_str()))
        .collect();
    calls.sort();
    calls
}

#[test]
fn samples_are_those_that_perf_script_prints() {
    let reading = read_bytes(&unpacked("perf.data.gz")).expect("a capture");
    let printed = read_path(&data("perf_script.txt.gz")).expect("a capture");
    assert_eq!(samples_of(&reading), samples_of(&printed));
    let pids: std::collections::BTreeSet<_> = reading.events.iter().map(|event| event.track.pid.clone()).collect();
    assert!(pids.len() > 2);
    let frames: Vec<&String> = reading.events.iter().flat_map(|event| &event.stack).collect();
    assert!(frames.iter().any(|frame| frame.starts_with("chromium+0x")));
    assert!(frames.iter().any(|frame| frame.starts_with("[kernel.kallsyms]+0x")));
    // perf script resolves the file of nearly all frames.
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
    let odd = printed.losses.count(Loss::LostSwitch);
    assert_eq!(reading.lost(), [(Loss::LostSwitch, odd)]);
}

#[test]
fn fields_of_tracepoints_have_the_values_that_perf_script_prints() {
    let reading = read_bytes(&unpacked("perf_sched.data.gz")).expect("a capture");
    let printed = read_path(&data("perf_sched_script.txt.gz")).expect("a capture");
    let of = |reading: &Reading| {
        let instants = reading.events.iter().filter(|event| event.kind == EventKind::Instant);
        let mut instants: Vec<_> = instants
            .map(|event| {
                let args: serde_json::Value = serde_json::from_str(&event.args).expect("JSON");
                (event.ts_ns, event.track.tid.clone(), event.name.clone(), args)
            })
            .collect();
        instants.sort_by_key(|event| (event.0, format!("{:?}", event.1)));
        instants
    };
    let (found, expected) = (of(&reading), of(&printed));
    assert_eq!(found.len(), expected.len());
    let mut compared = 0;
    for ((ts_ns, .., args), (printed_ns, .., printed)) in found.iter().zip(&expected) {
        assert_eq!(ts_ns, printed_ns);
        // Compares values without spaces in `comm=a pid=1 runtime=2 [ns]`, whose names match the fields.
        for pair in printed["fields"].as_str().expect("text").split(' ').filter_map(|pair| pair.split_once('=')) {
            let value = args.get(pair.0).or_else(|| args.get(format!("parent_{}", pair.0)));
            let Some(value) = value else { continue };
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            assert!(value.starts_with(pair.1), "{pair:?} {args}");
            compared += 1;
        }
    }
    // Three fields for each of the 610 `sched_stat_runtime` events.
    assert!(compared > 1800, "{compared}");
}

#[test]
fn system_calls_are_spans_and_functions_of_bpf_have_their_names() {
    // Id, address, thread, time, call chain, raw data.
    let attr = |number: u64, id: u64| attr(2, number, 1 << 16 | 0b111 | 1 << 10 | 1 << 5, Some(id));
    let called = |id: u64, time: u64, value: i64, chain: &[u64]| {
        let chain: Vec<u8> = chain.iter().flat_map(|address| address.to_le_bytes()).collect();
        let raw = [&[0; 8][..], &value.to_le_bytes()].concat();
        let head = [&id.to_le_bytes()[..], &0u64.to_le_bytes(), &7u32.to_le_bytes(), &8u32.to_le_bytes()].concat();
        let count = (chain.len() as u64 / 8).to_le_bytes();
        record(
            9,
            &[&head[..], &time.to_le_bytes(), &count, &chain, &(raw.len() as u32).to_le_bytes(), &raw, &[0; 4]]
                .concat(),
        )
    };
    let function = |flags: u16, name: &[u8; 16]| {
        record(
            17,
            &[&0x9000u64.to_le_bytes()[..], &16u32.to_le_bytes(), &1u16.to_le_bytes(), &flags.to_le_bytes(), name]
                .concat(),
        )
    };
    let told =
        tracing_data(&[("syscalls", "sys_enter_read", 70, "int fd"), ("syscalls", "sys_exit_read", 71, "long ret")]);
    let (bpf, gone) = (function(0, b"bpf_prog_12_ab\0\0"), function(1, b"bpf_prog_12_ab\0\0"));
    let records = [
        attr(70, 1),
        attr(71, 2),
        told,
        bpf,
        called(1, 10, 3, &[0x9004, 0x1]),
        record(68, &[]),
        gone,
        called(2, 25, -5, &[0x9004, 0x1]),
    ];
    let bytes = [&b"PERFILE2"[..], &16u64.to_le_bytes(), &records.concat()].concat();
    let reading = read_bytes(&bytes).expect("a capture");
    assert_eq!(reading.lost(), []);
    let calls = reading.events.iter().filter(|event| event.kind != EventKind::Sample);
    let calls: Vec<_> = calls.map(|event| (event.ts_ns, event.kind, &*event.name, &*event.args)).collect();
    let (begin, end) = (EventKind::Begin, EventKind::End);
    assert_eq!(calls, [(10, begin, "sys_read", r#"{"fd":3}"#), (25, end, "sys_read", r#"{"ret":-5}"#)]);
    let stacks: Vec<_> = reading
        .events
        .iter()
        .filter(|event| event.kind == EventKind::Sample)
        .map(|event| event.stack[1].clone())
        .collect();
    assert_eq!(stacks, ["bpf_prog_12_ab", "0x9004"]);
}

#[test]
fn system_calls_are_the_spans_that_perf_script_prints() {
    let reading = read_path(&data("perf_calls.data.gz")).expect("a capture");
    let printed = read_path(&data("perf_calls_script.txt.gz")).expect("a capture");
    assert_eq!(calls_of(&reading), calls_of(&printed));
    assert_eq!(reading.events.len(), 300);
    assert_eq!((reading.lost(), printed.lost()), (vec![], vec![]));
    for (event, line) in reading.events.iter().zip(&printed.events) {
        let [args, line] =
            [&event.args, &line.args].map(|args| serde_json::from_str::<serde_json::Value>(args).expect("JSON"));
        // Compares `fd: 0x00000003, buf: 0x7fff..`, and results of calls.
        let fields = line["fields"].as_str().unwrap_or_default().split(", ").filter_map(|field| field.split_once(": "));
        for (name, value) in fields {
            let value = i64::from_str_radix(value.trim_start_matches("0x"), 16).expect("a number");
            let found = match &args[name] {
                serde_json::Value::String(text) => i64::from_str_radix(text.trim_start_matches("0x"), 16).ok(),
                // perf prints 32 bits of negative numbers.
                number => number
                    .as_i64()
                    .or(number.as_u64().map(u64::cast_signed))
                    .map(|number| if value >> 32 == 0 { number & 0xffff_ffff } else { number }),
            };
            assert_eq!(found, Some(value), "{name} of {args}");
        }
    }
}

#[test]
fn system_calls_by_number_are_the_spans_that_perf_script_prints() {
    let reading = read_path(&data("perf_raw_calls.data.gz")).expect("a capture");
    let printed = read_path(&data("perf_raw_calls_script.txt.gz")).expect("a capture");
    assert_eq!((reading.lost(), printed.lost()), (vec![], vec![]));
    assert_eq!(calls_of(&reading), calls_of(&printed));
    // `echo` started, allocated memory, wrote, and exited.
    let names: Vec<_> = reading.events.iter().map(|event| event.name.replace("sys_", "")).collect();
    assert_eq!(names[..3], ["execve", "brk", "brk"]);
    assert!(names.windows(2).any(|pair| pair == ["write", "write"]));
    assert_eq!(names.last().expect("a call"), "exit_group");
    let result = |event: &ReadEvent| -> serde_json::Value { serde_json::from_str(&event.args).expect("JSON") };
    let ends = reading.events.iter().zip(&printed.events).filter(|(event, _)| event.kind == EventKind::End);
    for (event, line) in ends {
        assert_eq!(result(event)["ret"].to_string(), result(line)["ret"].as_str().expect("a text"));
    }
}

#[test]
fn switches_that_were_recorded_with_stacks_are_samples_too() {
    let reading = read_path(&data("perf_switches.data.gz")).expect("a capture");
    let printed = read_path(&data("perf_switches_script.txt.gz")).expect("a capture");
    // The text has no event fields, but the CPU is part of scheduling.
    let [found, told] = [&reading, &printed].map(|reading| {
        samples_of(reading).into_iter().map(|(ts_us, tid, depth, _)| (ts_us, tid, depth)).collect::<Vec<_>>()
    });
    assert_eq!(found, told);
    let off_cpu = reading.events.iter().filter(|event| event.args.contains("off-CPU"));
    assert_eq!((found.len(), off_cpu.count()), (24, 12));
    assert!(reading.events.iter().any(|event| event.track.kind == TrackKind::Cpu), "and scheduling");
}

#[test]
fn stacks_that_were_recorded_as_bytes_are_counted() {
    for (fields, expected) in [(0, vec![]), (1 << 13, vec![(Loss::RawStack, 2)])] {
        let records = [attr(1, 0, 0b111 | fields, None), sample(10, 1), sample(11, 2)];
        let bytes = [&b"PERFILE2"[..], &16u64.to_le_bytes(), &records.concat()].concat();
        let reading = read_bytes(&bytes).expect("a capture");
        assert_eq!((reading.events.len(), reading.lost()), (2, expected));
    }
}

pub(super) fn record(kind: u32, body: &[u8]) -> Vec<u8> {
    let len = (8 + body.len()) as u16;
    [&kind.to_le_bytes()[..], &0u16.to_le_bytes(), &len.to_le_bytes(), body].concat()
}

/// Builds an event of a type, with the bits of the fields of its samples, and its id.
fn attr(kind: u8, config: u64, fields: u64, id: Option<u64>) -> Vec<u8> {
    let mut attr = [0u8; 64];
    (attr[0], attr[4]) = (kind, 64);
    attr[8..16].copy_from_slice(&config.to_le_bytes());
    attr[24..32].copy_from_slice(&fields.to_le_bytes());
    record(64, &[&attr[..], &id.map_or(vec![], |id| id.to_le_bytes().to_vec())].concat())
}

/// Builds descriptions of tracepoints, each with group, name, id and a field of 8 bytes.
fn tracing_data(points: &[(&str, &str, u16, &str)]) -> Vec<u8> {
    let points = points.iter().map(|&(group, name, id, field)| {
        (group, name, id, format!("\tfield:{field};\toffset:8;\tsize:8;\tsigned:1;\n"))
    });
    described(&points.collect::<Vec<_>>())
}

/// Builds descriptions of tracepoints, each with group, name, id and the lines of its fields.
fn described(points: &[(&str, &str, u16, String)]) -> Vec<u8> {
    let mut tracing = b"\x17\x08\x44tracing0.6\0\0\x08\0\x10\0\0".to_vec();
    for header in ["header_page\0", "header_event\0"] {
        tracing.extend([header.as_bytes(), &0u64.to_le_bytes()].concat());
    }
    tracing.extend([0u32.to_le_bytes(), (points.len() as u32).to_le_bytes()].concat());
    for (group, name, id, fields) in points {
        let text = format!("name: {name}\nID: {id}\nformat:\n{fields}");
        let head = [group.as_bytes(), b"\0", &1u32.to_le_bytes(), &(text.len() as u64).to_le_bytes()].concat();
        tracing.extend([&head, text.as_bytes()].concat());
    }
    tracing.resize(tracing.len().next_multiple_of(8), 0);
    [&record(66, &(tracing.len() as u32).to_le_bytes()), &tracing[..]].concat()
}

/// Builds a sample with address, thread and time: pid 7, tid 8.
pub(super) fn sample(time: u64, ip: u64) -> Vec<u8> {
    record(9, &[&ip.to_le_bytes()[..], &7u32.to_le_bytes(), &8u32.to_le_bytes(), &time.to_le_bytes()].concat())
}

/// Builds a file in pipe mode: an attribute, then records.
pub(super) fn pipe(records: &[Vec<u8>]) -> Vec<u8> {
    let mut attr = vec![0u8; 64];
    attr[0] = 1; // software
    attr[4] = 64;
    attr[24] = 0b111; // address, thread, time
    let records = [vec![record(64, &attr)], records.to_vec()].concat().concat();
    [&b"PERFILE2"[..], &16u64.to_le_bytes(), &records].concat()
}

/// Builds samples with thread, time and call chain, innermost first.
fn chains(samples: &[(u64, u32, Vec<u64>)]) -> Vec<u8> {
    let mut attr = vec![0u8; 64];
    (attr[0], attr[4]) = (1, 64);
    attr[24] = 0b110 | 1 << 5; // thread, time, chain
    let sample = |(time, tid, chain): &(u64, u32, Vec<u64>)| {
        let chain: Vec<u8> = [chain.len() as u64].iter().chain(chain).flat_map(|word| word.to_le_bytes()).collect();
        record(9, &[&7u32.to_le_bytes()[..], &tid.to_le_bytes(), &time.to_le_bytes(), &chain].concat())
    };
    let records: Vec<u8> = samples.iter().flat_map(sample).collect();
    [&b"PERFILE2"[..], &16u64.to_le_bytes(), &record(64, &attr), &records].concat()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_samples_come_back_in_order_of_time_with_their_stacks_however_the_bytes_are_cut(
        samples in proptest::collection::vec(
            (0u64..1 << 40, 1u32..5, proptest::collection::vec(1u64..1 << 47, 1..6)), 1..40),
        block_bytes in 1usize..300,
    ) {
        let bytes = chains(&samples);
        let whole = read_bytes(&bytes).expect("a capture");
        let mut found: Vec<_> = whole
            .events
            .iter()
            .map(|event| (event.ts_ns, event.track.tid.clone(), event.stack.clone()))
            .collect();
        prop_assert!(found.is_sorted_by_key(|event| event.0));
        let mut expected: Vec<_> = samples
            .iter()
            .map(|(time, tid, chain)| {
                let stack = chain.iter().rev().map(|address| format!("{address:#x}")).collect::<Vec<_>>();
                (*time as i64, Id::Number((*tid).into()), stack)
            })
            .collect();
        found.sort();
        expected.sort();
        prop_assert_eq!(found, expected);
        prop_assert_eq!(whole.lost(), []);
        prop_assert_eq!(read_cut(&bytes, block_bytes, 2).expect("a capture"), whole);
    }
}

fn times(reading: &Reading) -> Vec<i64> {
    reading.events.iter().map(|event| event.ts_ns).collect()
}

#[test]
fn a_pipe_has_its_attributes_among_the_records() {
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

/// Compresses records in pieces of 1,000 bytes, each of which is a record.
fn compress(records: &[u8]) -> Vec<Vec<u8>> {
    use std::io::Write as _;
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).expect("an encoder");
    let piece = |piece: &[u8]| {
        encoder.write_all(piece).expect("written");
        encoder.flush().expect("written");
        record(81, &std::mem::take(encoder.get_mut()))
    };
    records.chunks(1000).map(piece).collect()
}

#[test]
fn compressed_records_are_one_stream() {
    let records: Vec<u8> = (0..300).flat_map(|time| sample(time, time * 16)).collect();
    let mut compressed = compress(&records);
    let reading = read_bytes(&pipe(&compressed)).expect("a capture");
    assert_eq!(times(&reading), (0..300).collect::<Vec<_>>());
    assert_eq!(reading.lost(), []);
    compressed[3][8..11].fill(0xff); // a kind of block that there is not
    let reading = read_bytes(&pipe(&compressed)).expect("a capture");
    assert!(reading.events.len() > 60 && reading.losses.total() > 0, "{}: {:?}", reading.events.len(), reading.lost());
}

#[test]
fn damage_in_compressed_records_costs_no_record_after_it() {
    let samples = |times: std::ops::Range<u64>| times.flat_map(|time| sample(time, time * 16)).collect::<Vec<_>>();
    let damaged = [samples(0..100), vec![0xff; 16], samples(100..200)].concat();
    let reading = read_bytes(&pipe(&compress(&damaged))).expect("a trace");
    assert_eq!(times(&reading), (0..200).collect::<Vec<_>>());
    assert_eq!(reading.lost(), [(Loss::BadRecord, 1)]);
}

#[test]
fn the_last_of_the_compressed_records_is_truncated_if_only_a_part_of_it_is_there() {
    let records: Vec<u8> = (0..300).flat_map(|time| sample(time, time * 16)).collect();
    let mut compressed = compress(&records);
    compressed.pop();
    let whole = 1000 * compressed.len() / sample(0, 0).len();
    let bytes = pipe(&compressed);
    let reading = read_bytes(&bytes).expect("a trace");
    assert_eq!((reading.events.len(), reading.lost()), (whole, vec![(Loss::Truncated, 1)]));
    // A record of the file that is cut too is the same loss.
    let reading = read_bytes(&[&bytes[..], &record(81, &[0; 8])[..12]].concat()).expect("a trace");
    assert_eq!((reading.events.len(), reading.lost()), (whole, vec![(Loss::Truncated, 1)]));
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
fn damage_is_skipped_and_lost_records_are_counted() {
    let lost = record(2, &[5u64.to_le_bytes(), 17u64.to_le_bytes()].concat());
    let records =
        [sample(10, 1), vec![0xff; 16], lost, sample(20, 2), record(9, &[1, 2, 3, 4, 5, 6, 7, 8]), sample(30, 3)];
    let reading = read_bytes(&pipe(&records)).expect("a capture");
    assert_eq!(times(&reading), [10, 20, 30]);
    let expected = [(Loss::BadTime, 1), (Loss::BadRecord, 1), (Loss::RecorderLost, 17)];
    assert_eq!(reading.lost(), expected);
}

#[test]
fn unreadable_headers_are_refused_with_their_position() {
    let error = |bytes: &[u8]| read_bytes(bytes).expect_err("refused").to_string();
    assert!(error(b"2ELIFREP\0\0\0\0\0\0\0\x68").contains("big-endian"));
    assert!(
        error(&[&b"PERFILE2"[..], &99u64.to_le_bytes()].concat()).contains("byte 8: expected the length of a header")
    );
    assert!(
        error(&[&b"PERFILE2"[..], &104u64.to_le_bytes(), &[0; 20]].concat()).contains("byte 36: expected a header")
    );
}

/// Builds a file of attributes, each with as many ids at the same offset, and a name for the event of all ids.
fn file_of_attrs(attrs: u64, ids: u64, name: &[u8]) -> Vec<u8> {
    const ATTR_BYTES: u64 = 64 + 16;
    let (ids_at, attrs_at) = (104u64, 104 + 8 * ids);
    let data_at = attrs_at + ATTR_BYTES * attrs;
    let sizes = [104u64, ATTR_BYTES, attrs_at, ATTR_BYTES * attrs, data_at, 0, 0, 0, 1 << 12];
    let mut bytes = [&b"PERFILE2"[..], &sizes.map(u64::to_le_bytes).concat()].concat();
    bytes.resize(ids_at as usize, 0);
    bytes.extend((0..ids).flat_map(u64::to_le_bytes));
    for _ in 0..attrs {
        let mut attr = [0; 64];
        (attr[0], attr[4], attr[24]) = (1u8, 64, 0b111);
        bytes.extend([&attr[..], &ids_at.to_le_bytes(), &(8 * ids).to_le_bytes()].concat());
    }
    let head = [1u32, 64].map(u32::to_le_bytes).concat();
    let lens = [ids as u32, name.len() as u32].map(u32::to_le_bytes).concat();
    let ids: Vec<u8> = (0..ids).flat_map(u64::to_le_bytes).collect();
    let section = [&head[..], &[0; 64], &lens, name, &ids].concat();
    bytes.extend([data_at + 16, section.len() as u64].map(u64::to_le_bytes).concat());
    bytes.extend(section);
    bytes
}

#[test]
fn the_names_of_events_have_a_limited_length() {
    let bytes = file_of_attrs(1, 3, &b"n".repeat(1 << 20));
    let file = crate::formats::testing::file_of(&bytes);
    let context = crate::formats::testing::context(1);
    let source = crate::formats::input::source::Source::open(file.path(), &context).expect("a file");
    let mut input = crate::formats::input::byte_reader::ByteReader::new(source);
    let header = super::header::PerfHeader::read(&mut input, &context).expect("a header");
    assert_eq!(header.attrs[0].name, "n".repeat(LABEL_BYTES_MAX + 4), "too long for a label, where it is counted");
}

#[test]
fn attributes_that_share_their_ids_are_refused() {
    assert!(read_bytes(&file_of_attrs(1, 100, b"n")).is_ok());
    let error = read_bytes(&file_of_attrs(20, 100, b"n")).expect_err("refused").to_string();
    assert!(error.contains("expected ids of attributes within the header, found overlapping ids"), "{error}");
}

#[test]
fn a_group_of_events_has_a_sample_for_each_counter_that_counted_with_the_periods_that_perf_script_prints() {
    let reading = read_path(&data("perf_group.data.gz")).expect("a capture");
    let printed = read_path(&data("perf_group_script.txt.gz")).expect("a capture");
    assert_eq!(reading.lost(), []);
    let measured = |reading: &Reading| {
        let samples = reading.events.iter().filter(|event| event.kind == EventKind::Sample);
        let mut samples: Vec<_> = samples
            .map(|event| {
                let measure = crate::model::SampleMeasure::from_args(&event.args);
                let unit = measure.unit.into_owned();
                (event.ts_ns / 1000, event.track.tid.clone(), measure.event.into_owned(), unit, measure.weight)
            })
            .collect();
        samples.sort();
        samples
    };
    let found = measured(&reading);
    assert_eq!(found, measured(&printed));
    // Totals as in `perf report`.
    let sum = |event: &str| {
        let of_event = found.iter().filter(|(_, _, name, ..)| name == event);
        of_event.fold((0, 0), |(count, sum), sample| (count + 1, sum + sample.4))
    };
    assert_eq!([sum("cpu-clock"), sum("page-faults"), sum("context-switches")], [(4, 1_023_905), (3, 53), (1, 1)]);
}

#[test]
fn threads_have_the_name_of_the_one_that_started_them() {
    let reading = read_path(&data("perf_events.data.gz")).expect("a capture");
    let mut names = std::collections::BTreeMap::new();
    for metadata in &reading.metadata {
        if let crate::model::Metadata::KernelName { tid, name, .. } = metadata {
            names.insert(tid.clone(), name.to_string());
        }
    }
    let tids: std::collections::BTreeSet<_> = reading.events.iter().map(|event| event.track.tid.clone()).collect();
    assert_eq!(tids.len(), 9);
    for tid in tids {
        assert_eq!(names.get(&tid).map(String::as_str), Some("w"), "{tid}");
    }
    // The first name is that of perf itself, before it executed the program.
    let first = reading.metadata.iter().find_map(|metadata| match metadata {
        crate::model::Metadata::KernelName { name, .. } => Some(&**name),
        _ => None,
    });
    assert_eq!(first, Some("perf-exec"));
}

#[test]
fn counters_count_on_and_begin_again_after_a_reset() {
    use super::counts::CounterValues;
    use super::wire::Attr;
    let attr = |read_format: u64| Attr { read_format, ..Attr::default() };
    let bytes = |numbers: &[u64]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    let mut counters = CounterValues::default();
    // A group with both times, ids and lost counts.
    let group = attr(0b1_1111).counts();
    let mut count = |numbers: &[u64]| counters.count(group, &bytes(numbers), None, None).map(<[_]>::to_vec);
    assert_eq!(count(&[2, 9, 9, 100, 1, 0, 5, 2, 0]), Some(vec![(1, 100), (2, 5)]));
    assert_eq!(count(&[2, 9, 9, 150, 1, 0, 5, 2, 0]), Some(vec![(1, 50)]));
    assert_eq!(count(&[2, 9, 9, 150, 1, 0, 3, 2, 0]), Some(vec![(2, 3)]));
    assert_eq!(count(&[2, 9, 9, 150, 1, 0, 3]), None);
    assert_eq!(count(&[u64::MAX, 9, 9]), None);
    // A single counter without an id.
    let alone = attr(0b01).counts();
    assert_eq!(counters.count(alone, &bytes(&[160, 9]), Some(1), None).map(<[_]>::to_vec), Some(vec![(1, 10)]));
    assert_eq!(counters.count(alone, &bytes(&[160, 9]), None, None).map(<[_]>::to_vec), Some(vec![]));
}

#[test]
fn a_kernel_without_a_build_id_has_the_release_of_the_header() {
    let extent = [0xffff_0000u64, 0x1000, 0xffff_0000].map(u64::to_le_bytes).concat();
    let map = record(1, &[&(-1i32).to_le_bytes()[..], &[0; 4], &extent, b"[kernel.kallsyms]_stext\0"].concat());
    let feature = |bit: u64, text: &[u8]| record(80, &[&bit.to_le_bytes()[..], &8u32.to_le_bytes(), text].concat());
    let records = [feature(4, b"6.1.0-x\0\0\0\0\0"), map, sample(2, 0xffff_0010), feature(6, b"x86_64\0\0\0\0\0\0")];
    let reading = read_bytes(&pipe(&records)).expect("a capture");
    let mut anchors = reading.metadata.iter().filter_map(|metadata| match metadata {
        Metadata::Module { module } => module.anchor.clone(),
        _ => None,
    });
    let expected = KernelAnchor { symbol: "_stext".into(), address: 0xffff_0000, release: Some("6.1.0-x".into()) };
    assert_eq!(anchors.next(), Some(expected));
}

#[test]
fn a_file_that_replaced_another_at_its_path_is_another_module() {
    let map = |time: u64, generation: u64| {
        let extent = [0x1000u64, 0x100, 0].map(u64::to_le_bytes).concat();
        let identity = [0xfe_u64, 9, generation, 5].map(u64::to_le_bytes).concat();
        let ids = [7u32.to_le_bytes(), 8u32.to_le_bytes()].concat();
        let body = [&ids[..], &extent, &identity, b"/bin/app\0\0\0\0\0\0\0\0", &ids, &time.to_le_bytes()].concat();
        record(10, &body)
    };
    let records = [map(1, 5), sample(2, 0x1010), map(3, 6), sample(4, 0x1010), map(5, 6), sample(6, 0x1020)];
    let reading = read_bytes(&pipe(&records)).expect("a capture");
    let modules = reading.metadata.iter().filter_map(|metadata| match metadata {
        Metadata::Module { module } => Some((&*module.category, module.inode, module.builds)),
        _ => None,
    });
    let expected = [("/bin/app", Some(9), ModuleBuilds::Several), ("/bin/app (file 2)", Some(9), ModuleBuilds::One)];
    assert_eq!(modules.collect::<Vec<_>>(), expected);
    let stacks: Vec<&str> = reading.events.iter().map(|event| &*event.stack[0]).collect();
    assert_eq!(stacks, ["app+0x10", "app+0x10", "app+0x20"]);
}

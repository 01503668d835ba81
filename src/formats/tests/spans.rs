//! Tests that any spans read the same from each format with complete spans, and that a cut leaves some of them.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::formats::live::{StreamState, recognise_live};
use crate::formats::testing::{Reading, read_bytes, read_cut, read_live};
use crate::model::{EventFlags, EventKind, TrackKey};

mod writers;

/// A span in the time unit of its format.
#[derive(Debug, Clone)]
struct MeantSpan {
    start: u32,
    dur: u32,
    thread: u8,
    name: String,
}

#[derive(Debug)]
struct FormatWriter {
    format: &'static str,
    /// Nanoseconds in its time unit.
    unit_ns: u64,
    /// Epoch of its times, in seconds.
    epoch_s: u64,
    write: fn(&[MeantSpan]) -> Vec<u8>,
}

/// Times are since 1970, which distinguishes it from other text.
const STRACE_EPOCH_S: u64 = 1_700_000_000;

/// Start of its clock, implied by its spans.
const NEXT_JS_EPOCH_S: u64 = 1_700_000_000;

const ALL: &[FormatWriter] = &[
    FormatWriter { format: "Fuchsia trace", unit_ns: 1, epoch_s: 0, write: writers::fxt },
    FormatWriter { format: "Tracy zones", unit_ns: 1, epoch_s: 0, write: writers::tracy },
    FormatWriter { format: "Cargo timings", unit_ns: 1_000_000, epoch_s: 0, write: writers::cargo_timings },
    FormatWriter { format: "Ninja log", unit_ns: 1_000_000, epoch_s: 0, write: writers::ninja },
    FormatWriter { format: "strace", unit_ns: 1000, epoch_s: STRACE_EPOCH_S, write: writers::strace },
    FormatWriter { format: "ftrace", unit_ns: 1000, epoch_s: 0, write: writers::ftrace },
    FormatWriter { format: "ftrace", unit_ns: 1000, epoch_s: 0, write: writers::function_graph },
    FormatWriter { format: "babeltrace", unit_ns: 1000, epoch_s: 0, write: writers::babeltrace },
    FormatWriter { format: "perf script", unit_ns: 1000, epoch_s: 0, write: writers::perf_script },
    FormatWriter { format: "Firefox profile", unit_ns: 1000, epoch_s: 0, write: writers::firefox },
    FormatWriter { format: "speedscope", unit_ns: 1000, epoch_s: 0, write: writers::speedscope },
    FormatWriter { format: "OpenTelemetry protobuf", unit_ns: 1, epoch_s: 0, write: writers::otlp_proto },
    FormatWriter { format: "OpenTelemetry JSON", unit_ns: 1, epoch_s: 0, write: writers::otlp_json },
    FormatWriter { format: "Zipkin", unit_ns: 1000, epoch_s: 0, write: writers::zipkin },
    FormatWriter { format: "Jaeger", unit_ns: 1000, epoch_s: 0, write: writers::jaeger },
    FormatWriter { format: "Next.js trace", unit_ns: 1000, epoch_s: NEXT_JS_EPOCH_S, write: writers::next_js },
    FormatWriter { format: "Xdebug trace", unit_ns: 1000, epoch_s: 0, write: writers::xdebug },
    FormatWriter { format: "HAR", unit_ns: 1000, epoch_s: 0, write: writers::har },
];

/// Returns the spans that all formats record, sorted. Begins and ends are paired naively, by track, number and name, or
/// as the last of the track; spans without an end are omitted.
fn spans_of(reading: &Reading) -> Vec<(i64, u64, &str)> {
    let mut open: BTreeMap<(String, u64, &str), i64> = BTreeMap::new();
    let mut spans = Vec::new();
    let number = |track: &TrackKey| format!("{:?}", (&track.pid, &track.tid));
    for event in &reading.events {
        let key = || (number(&event.track), event.value, &*event.name);
        match event.kind {
            EventKind::Complete if event.flags.has(EventFlags::UNFINISHED) => {}
            EventKind::Complete => spans.push((event.ts_ns, event.value, &*event.name)),
            EventKind::Begin | EventKind::AsyncBegin => {
                assert_eq!(open.insert(key(), event.ts_ns), None, "{event:?}");
            }
            EventKind::End if event.flags.has(EventFlags::UNNAMED) => {
                let of_track = open.iter().filter(|((track, ..), _)| *track == number(&event.track));
                if let Some((key, start_ns)) = of_track.max_by_key(|(_, start_ns)| **start_ns) {
                    spans.push((*start_ns, event.ts_ns.abs_diff(*start_ns), key.2));
                    let key = key.clone();
                    open.remove(&key);
                }
            }
            EventKind::End | EventKind::AsyncEnd => {
                // The begin may be cut off.
                if let Some(start_ns) = open.remove(&key()) {
                    spans.push((start_ns, event.ts_ns.abs_diff(start_ns), &*event.name));
                }
            }
            // Scheduling events.
            _ => {}
        }
    }
    spans.sort_unstable();
    spans
}

/// Returns spans with the names that were written. Those of perf script are system calls, with the kernel's names.
fn as_written<'r>(mut spans: Vec<(i64, u64, &'r str)>, written: &FormatWriter) -> Vec<(i64, u64, &'r str)> {
    if written.format == "perf script" {
        spans.iter_mut().for_each(|span| span.2 = span.2.strip_prefix("sys_").expect("a call"));
    }
    spans
}

fn expected<'a>(spans: &'a [MeantSpan], written: &FormatWriter) -> Vec<(i64, u64, &'a str)> {
    let ns = |units: u32| u64::from(units) * written.unit_ns;
    let epoch_ns = written.epoch_s * 1_000_000_000;
    let mut expected: Vec<_> =
        spans.iter().map(|span| ((epoch_ns + ns(span.start)).cast_signed(), ns(span.dur), &*span.name)).collect();
    expected.sort_unstable();
    expected
}

fn spans() -> impl Strategy<Value = Vec<MeantSpan>> {
    let span = (0..2_000_000_000u32, 0..2_000_000_000u32, 0..4u8, "[a-z][a-z_0-9]{0,11}");
    let span = span.prop_map(|(start, dur, thread, name)| MeantSpan { start, dur, thread, name });
    prop::collection::vec(span, 1..30)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_spans_read_as_they_are_meant_however_the_bytes_are_cut(spans in spans(), block_bytes in 1usize..200) {
        for written in ALL {
            let bytes = (written.write)(&spans);
            prop_assert_eq!(crate::formats::testing::format_of(&bytes), Some(written.format));
            let whole = read_bytes(&bytes).expect(written.format);
            prop_assert_eq!(as_written(spans_of(&whole), written), expected(&spans, written), "{}", written.format);
            prop_assert_eq!(whole.losses.total(), 0, "{}: {:?}", written.format, whole.lost());
            prop_assert_eq!(read_cut(&bytes, block_bytes, 2).expect(written.format), whole, "{}", written.format);
        }
    }
}

/// Formats that are laid out in parts, so that rows depend on the pieces; the spans do not.
const LAID_OUT: [&str; 3] = ["Ninja log", "OpenTelemetry JSON", "OpenTelemetry protobuf"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_stream_reads_as_the_whole_file_however_it_arrives(
        spans in spans(),
        lens in prop::collection::vec(1usize..300, 1..10),
    ) {
        let is_live = |bytes: &[u8]| matches!(recognise_live(bytes, StreamState::Ended), Some(Ok(_)));
        let mut live = 0;
        for written in ALL {
            let bytes = (written.write)(&spans);
            if !is_live(&bytes) {
                continue;
            }
            live += 1;
            let arrived = read_live(&bytes, &lens).expect(written.format);
            prop_assert_eq!(as_written(spans_of(&arrived), written), expected(&spans, written), "{}", written.format);
            prop_assert_eq!(arrived.losses.total(), 0, "{}: {:?}", written.format, arrived.lost());
            if !LAID_OUT.contains(&written.format) {
                prop_assert_eq!(arrived, read_bytes(&bytes).expect(written.format), "{}", written.format);
            }
        }
        prop_assert_eq!(live, 8, "of the writers here");
    }
}

#[test]
fn streams_of_real_tools_read_as_the_whole_files_however_they_arrive() {
    let texts = ["strace_ttt.txt.gz", "ftrace.txt.gz", "perf_script.txt.gz", "perf_sched_script.txt.gz"];
    let mut streams: Vec<(&str, Vec<u8>)> =
        texts.into_iter().map(|name| (name, crate::formats::testing::unpacked(name).into_bytes())).collect();
    // The Go trace is left out: its stack frames follow the events, so a stream has none.
    streams.push(("ugly.json", std::fs::read(crate::formats::testing::data("ugly.json")).expect("a file")));
    let mut spall = Vec::new();
    let file = std::fs::File::open(crate::formats::testing::data("spall_v3.spall.gz")).expect("a file");
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(file), &mut spall).expect("bytes");
    streams.push(("spall", spall));
    for (name, bytes) in streams {
        let whole = read_bytes(&bytes).expect(name);
        for lens in [&[1usize, 70_000][..], &[4096], &[13, 1, 900]] {
            let arrived = read_live(&bytes, lens).expect(name);
            assert_eq!(arrived.lost(), whole.lost(), "{name}");
            assert!(arrived == whole, "{name}: {} events of {}", arrived.events.len(), whole.events.len());
        }
    }
}

#[test]
fn spans_of_a_capture_that_ends_at_any_byte_are_some_of_all_and_those_before_the_cut_are_all_there() {
    // Each ends before the next starts, so that formats sorted by time are written span by span.
    let spans: Vec<MeantSpan> = (0..6)
        .map(|k| MeantSpan { start: 1000 + 100 * k, dur: 60 - k, thread: (k % 3) as u8, name: format!("name_{k}") })
        .collect();
    for written in ALL {
        let bytes = (written.write)(&spans);
        let all = expected(&spans, written);
        let mut most = 0;
        for len in 0..bytes.len() {
            // Too few bytes to recognise a format.
            let Ok(reading) = read_bytes(&bytes[..len]) else { continue };
            let read_spans = as_written(spans_of(&reading), written);
            for (index, span) in read_spans.iter().enumerate() {
                // A call that is cut before its duration has an unknown duration. A truncated text is shorter, and
                // texts that follow their users may be missing.
                let is_part = |whole: &&(i64, u64, &str)| {
                    let is_last = index + 1 == read_spans.len();
                    whole.0 == span.0
                        && (whole.1 == span.1 || is_last && span.1 == 0)
                        && (whole.2 == span.2 || span.2.is_empty() || is_last && whole.2.starts_with(span.2))
                };
                assert!(all.iter().any(|whole| is_part(&whole)), "{}, {len} bytes: {span:?}", written.format);
            }
            assert!(read_spans.len() >= most || written.format == "Firefox profile", "{}, {len} bytes", written.format);
            most = read_spans.len();
        }
        assert!(most >= spans.len() - 1, "{}: {most}", written.format);
    }
}

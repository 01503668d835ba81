//! Cases of Perfetto's own tests (tests/conformance/README.md): runs their queries on the output of `dump`. Each result
//! equals Perfetto's result, or cites the rule by which it differs.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde_json::json;

/// A stored case.
#[derive(Debug, Deserialize)]
struct Case {
    #[serde(rename = "case")]
    name: String,
    kind: String,
    /// The trace, in hexadecimal.
    input: String,
    query: String,
    /// The result; `None` if Perfetto reports an error.
    expected: Option<String>,
}

impl Case {
    fn bytes(&self) -> Vec<u8> {
        let digits = self.input.as_bytes().chunks(2).map(|pair| str::from_utf8(pair).expect("digits"));
        digits.map(|pair| u8::from_str_radix(pair, 16).expect("a byte")).collect()
    }
}

/// Rules for different results; docs/formats.md has a paragraph of each name.
const RULES: &[(&str, &[&str])] = &[
    (
        "Shown without the bad part",
        &["JsonParser__invalid_string_ts_and_dur", "JsonParser__json_async", "JsonParser__string_ts_trailing_chars"],
    ),
    ("An end with only a category closes the innermost span", &["TrackEvent__track_event_with_atrace"]),
    (
        "Nothing is made up",
        &[
            "ChromeParser__chrome_thread_is_sandboxed_tid",
            "GenericKernelParser__thread_new_task_rename",
            "GraphicsParser__virtio_video_slice",
            "JsonParser__json_metadata",
            "JsonParser__json_sort_index_ordering",
            "ProcessTracking__process_is_kthread_from_procfs",
            "ProcessTracking__process_tracking_machine_id",
            "TrackEvent__track_descriptor_process_thread_sort_index",
            "TrackEvent__track_descriptor_process_thread_sort_index_default_ignored",
        ],
    ),
    (
        "Asynchronous spans are in their process",
        &["JsonParser__json_id2_global_int_id", "JsonParser__json_id2_global_string_id"],
    ),
    ("Events of one time are siblings", &["Parsing__same_ts_two_zero_duration_slice_nesting"]),
    (
        "Names and ids of our own",
        &[
            "ArgsFunctions__display_value",
            "GenericKernelParser__error_stats_non_context_switch_parallel_task_state_events",
            "GraphicsDrmRelatedFtraceEvents__drm_dma_fence_thread_track",
            "GraphicsDrmRelatedFtraceEvents__drm_sched_thread_track",
            "JsonParser__overlapping_complete_event_import_log",
            "JsonParser__trailing_empty_event",
            "ProfilingLlvmSymbolizer__no_build_id",
            "StraceParser__strace_unsupported_timestamp_format_counted",
            "TablesCounters__synth_1_filter_counter",
            "TrackEvent__streaming_profile_timestamp_delta_overflow",
        ],
    ),
    (
        "Everything recorded is shown",
        &[
            "AtraceErrorHandling__bad_print_systrace_list_slices",
            "AtraceErrorHandling__bad_print_textproto_list_slices",
            "TrackEvent__range_of_interest",
        ],
    ),
    (
        "Tracks are named by their path",
        &[
            "StdlibCounterIntervals__counter_track_parent_id",
            "Viz__track_event_tracks_explicit",
            "Viz__track_event_tracks_lexicographic",
        ],
    ),
    ("A thread of an unknown process", &["ProcessTracking__unknown_thread_name_tracking"]),
    (
        "Arguments are those of events",
        &[
            "JsonParser__json_all_slice_types",
            "ParsingSysStats__cpuidle_stats",
            "ParsingSysStats__disk_stats_multiple_disks",
            "PowerEnergyBreakdown__energy_per_uid_table",
            "TrackEvent__track_event_chrome_histogram_sample_args",
            "TrackEvent__track_event_descriptions",
            "TrackEvent__track_event_tracks",
            "TrackEvent__track_event_typed_args_args",
            "TranslatedArgs__native_symbol_arg",
        ],
    ),
    ("An idle CPU has a gap", &["SmokeSchedEvents__synth_1_smoke"]),
    (
        "About Perfetto itself",
        &[
            "PerfettoFlamegraph__negative_value",
            "PerfettoMultiStatement__multiple_selects",
            "PerfettoMultiStatement__no_output_statements_between_selects",
            "PerfettoMultiStatement__three_selects",
            "PerfettoMultiStatement__zero_row_result_set_prints_header",
            "Tables__metadata_schema",
            "Tables__stats_global_scope_has_null_ids",
            "TablesCounters__cpu_counter_track_args_multi_machine",
            "TablesCounters__cpu_counter_track_multi_machine",
        ],
    ),
];

/// Cases that ask for the content of packets that are not read yet, with the kind of these packets. The trace manifest
/// is a file of its own, without a number.
const UNREAD: &[(&str, Option<u64>, &[&str])] = &[
    (
        "trace statistics",
        Some(35),
        &[
            "ParsingTracedStats__long_trace_mode_bytes_overwritten",
            "ParsingTracedStats__sequence_packet_loss_bitmask",
            "Tables__filter_stats",
        ],
    ),
    ("Chrome metadata", Some(51), &["Parsing__chrome_metadata"]),
    ("CPU information", Some(67), &["Parsing__cpu_capacity_present", "Parsing__cpu_features"]),
    ("events of the tracing service", Some(69), &["Parsing__service_event_timestamp_converted_to_trace_time"]),
    ("trace attributes", Some(126), &["Parsing__config_trace_attributes"]),
    ("Android flags", Some(127), &["AndroidAflags__android_aflags_error"]),
    ("trace manifest", None, &["TraceManifest__standalone_config"]),
];

/// Kinds of traces whose packets may be unread.
const MAY_BE_UNREAD: [&str; 4] = ["ftrace-proto", "proto-other", "rawtext", "simpleperf_proto"];

/// Number of cases with the result of Perfetto.
const PASSED_MIN: u32 = 120;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance")
}

fn cases() -> Vec<Case> {
    let file = std::fs::File::open(root().join("cases.jsonl.gz")).expect("the cases");
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("a case")).collect()
}

/// Returns the lines that `dump` prints for a trace, and whether it succeeds.
fn dump(trace: &[u8]) -> (Vec<String>, bool) {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(trace).expect("written");
    let args = ["dump", "--no-cache", "--progress", "never"];
    let output = Command::new(env!("CARGO_BIN_EXE_longspan")).args(args).arg(file.path()).output().expect("runs");
    (String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect(), output.status.success())
}

/// Returns the lines of a result, sorted: the order of rows at one time depends on the engine.
fn rows(text: &str) -> Vec<&str> {
    let mut rows: Vec<&str> = text.trim().lines().map(str::trim).collect();
    rows.sort_unstable();
    rows
}

/// Returns the rule or the kind of unread packets that a case cites.
fn cited(case: &str) -> Option<&'static str> {
    let unread = UNREAD.iter().map(|(kind, _, cases)| (*kind, *cases));
    RULES.iter().copied().chain(unread).find(|(_, cases)| cases.contains(&case)).map(|(name, _)| name)
}

#[test]
fn each_case_has_the_result_of_perfetto_or_cites_a_rule_or_packets_that_are_not_read() {
    let mut python = Command::new("python3");
    python.arg(root().join("query.py")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut python = python.spawn().expect("python3, which .ci/setup installs");
    let mut questions = python.stdin.take().expect("a pipe");
    let mut outputs = BufReader::new(python.stdout.take().expect("a pipe")).lines();
    let (mut wrong, mut passed) = (Vec::new(), BTreeMap::<String, u32>::new());
    for case in cases() {
        let is_chrome = case.kind == "chrome-json";
        let (lines, succeeds) = dump(&case.bytes());
        let (is_same, answer) = if let Some(expected) = &case.expected {
            writeln!(questions, "{}", json!({"dump": lines, "query": case.query, "strip": !is_chrome}))
                .expect("written");
            let answer = outputs.next().expect("an answer").expect("read");
            let answer = serde_json::from_str::<Option<String>>(&answer).expect("a text").unwrap_or_default();
            assert!(!answer.starts_with("error"), "{}: {answer}", case.name);
            (rows(&answer) == rows(expected), answer)
        } else {
            // Without a trace, the error is one of the query.
            (!succeeds && !case.input.is_empty(), "no error".to_owned())
        };
        *passed.entry(case.kind.clone()).or_default() += u32::from(is_same);
        match (is_same, cited(&case.name)) {
            (true, None) | (false, Some(_)) => {}
            (true, Some(why)) => wrong.push(format!("{} passes now, and still cites: {why}", case.name)),
            (false, None) => wrong.push(format!("{}: {answer}\nexpected {:?}", case.name, case.expected)),
        }
    }
    drop(questions);
    python.wait().expect("ended");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(passed.values().sum::<u32>() >= PASSED_MIN, "{passed:?}");
}

#[test]
fn each_rule_is_documented_and_each_cited_case_exists() {
    let docs = std::fs::read_to_string(root().join("../../docs/formats.md")).expect("the document");
    assert!(RULES.len() <= 12, "{} rules", RULES.len());
    for (rule, _) in RULES {
        assert!(docs.contains(&format!("- *{rule}.*")), "{rule}");
    }
    let words = docs.split_whitespace().collect::<Vec<_>>().join(" ");
    for (kind, _, _) in UNREAD {
        assert!(words.contains(kind), "{kind}");
    }
    let kept: Vec<String> = cases().into_iter().map(|case| case.name).collect();
    assert_eq!(kept.len(), 182);
    let unread = UNREAD.iter().flat_map(|(_, _, cases)| cases.iter());
    let mut cited: Vec<&str> = RULES.iter().flat_map(|(_, cases)| cases.iter()).chain(unread).copied().collect();
    assert!(cited.iter().all(|case| kept.iter().any(|kept| kept == case)), "{cited:?}");
    let count = cited.len();
    cited.sort_unstable();
    cited.dedup();
    assert_eq!(cited.len(), count, "a case cites two reasons");
}

/// Reads a number of protobuf's wire format.
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let len = bytes.iter().position(|byte| byte & 0x80 == 0)? + 1;
    let (number, rest) = bytes.split_at(len);
    *bytes = rest;
    Some(number.iter().rev().fold(0, |number, byte| number << 7 | u64::from(byte & 0x7f)))
}

/// Returns the numbers of the fields of a message, with the bytes of those that have a length.
fn fields(mut bytes: &[u8]) -> Vec<(u64, &[u8])> {
    let mut fields = Vec::new();
    while let Some(tag) = varint(&mut bytes) {
        let len = match tag & 7 {
            0 => varint(&mut bytes).map(|_| 0).expect("a number"),
            1 => 8,
            2 => varint(&mut bytes).expect("a length") as usize,
            5 => 4,
            other => panic!("wire type {other}"),
        };
        let (content, rest) = bytes.split_at(len);
        bytes = rest;
        fields.push((tag >> 3, content));
    }
    fields
}

#[test]
fn packets_that_count_as_unread_are_in_their_cases_and_show_nothing() {
    let cases = cases();
    for (kind, number, names) in UNREAD {
        for case in cases.iter().filter(|case| names.contains(&&*case.name)) {
            assert!(MAY_BE_UNREAD.contains(&&*case.kind), "{}: {}", case.name, case.kind);
            let mut trace = case.bytes();
            if let Some(number) = number {
                let has_kind = |packet: &[u8]| fields(packet).iter().any(|(field, _)| field == number);
                let packets = fields(&trace).into_iter().map(|(_, packet)| packet).filter(|packet| has_kind(packet));
                let packets: Vec<&[u8]> = packets.collect();
                assert!(!packets.is_empty(), "{} has no packet of {kind}", case.name);
                let len = |packet: &[u8]| {
                    let len = packet.len() as u8 & 0x7f;
                    if packet.len() < 0x80 { vec![len] } else { vec![len | 0x80, (packet.len() >> 7) as u8] }
                };
                trace = packets.iter().flat_map(|packet| [&[0x0a][..], &len(packet), packet].concat()).collect();
            }
            let (lines, _) = dump(&trace);
            let shown = ["slice", "counter", "sample", "sched", "metadata", "stat", "cpu"];
            let line = lines.iter().find(|line| shown.iter().any(|kind| line.contains(&format!("{{\"t\":\"{kind}\""))));
            assert_eq!(line, None, "{kind}: {}", case.name);
        }
    }
}

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
    expected: String,
}

/// Rules for different results; docs/formats.md has a paragraph of each name.
const RULES: &[(&str, &[&str])] = &[
    ("Shown without the bad part", &["JsonParser__invalid_string_ts_and_dur", "JsonParser__string_ts_trailing_chars"]),
    ("No category is needed", &["JsonParser__json_async"]),
    ("An end with only a category closes the innermost span", &["TrackEvent__track_event_with_atrace"]),
    (
        "Nothing is made up",
        &[
            "ChromeParser__chrome_thread_is_sandboxed_tid",
            "JsonParser__json_metadata",
            "JsonParser__json_sort_index_ordering",
        ],
    ),
    (
        "Asynchronous spans are in their process",
        &["JsonParser__json_id2_global_int_id", "JsonParser__json_id2_global_string_id"],
    ),
    ("Events of one time are siblings", &["Parsing__same_ts_two_zero_duration_slice_nesting"]),
    (
        "Names of our own",
        &[
            "ArgsFunctions__display_value",
            "JsonParser__overlapping_complete_event_import_log",
            "JsonParser__trailing_empty_event",
            "StraceParser__strace_unsupported_timestamp_format_counted",
            "TrackEvent__streaming_profile_timestamp_delta_overflow",
        ],
    ),
    ("Every kernel event is an instant", &["AtraceErrorHandling__bad_print_systrace_list_slices"]),
    ("The whole recording", &["TrackEvent__range_of_interest"]),
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
            "TrackEvent__track_event_chrome_histogram_sample_args",
            "TrackEvent__track_event_descriptions",
            "TrackEvent__track_event_tracks",
            "TrackEvent__track_event_typed_args_args",
            "TranslatedArgs__native_symbol_arg",
        ],
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance")
}

fn cases() -> Vec<Case> {
    let file = std::fs::File::open(root().join("cases.jsonl.gz")).expect("the cases");
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("a case")).collect()
}

/// Returns the lines that `dump` prints for a trace.
fn dump(case: &Case) -> Vec<String> {
    let digits = case.input.as_bytes().chunks(2).map(|pair| str::from_utf8(pair).expect("digits"));
    let bytes: Vec<u8> = digits.map(|pair| u8::from_str_radix(pair, 16).expect("a byte")).collect();
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(&bytes).expect("written");
    let args = ["dump", "--no-cache", "--progress", "never"];
    let output = Command::new(env!("CARGO_BIN_EXE_longspan")).args(args).arg(file.path()).output().expect("runs");
    assert!(output.status.success(), "{}: {}", case.name, String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect()
}

/// Returns the lines of a result, sorted: the order of rows at one time depends on the engine.
fn rows(text: &str) -> Vec<&str> {
    let mut rows: Vec<&str> = text.trim().lines().map(str::trim).collect();
    rows.sort_unstable();
    rows
}

#[test]
fn each_case_has_the_result_of_perfetto_or_cites_a_rule() {
    let mut python = Command::new("python3");
    python.arg(root().join("query.py")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut python = python.spawn().expect("python3, which .ci/setup installs");
    let mut questions = python.stdin.take().expect("a pipe");
    let mut outputs = BufReader::new(python.stdout.take().expect("a pipe")).lines();
    let cited = |case: &str| RULES.iter().find(|(_, cases)| cases.contains(&case)).map(|(name, _)| *name);
    let (mut wrong, mut passed) = (Vec::new(), BTreeMap::<String, u32>::new());
    for case in cases() {
        let is_chrome = case.kind == "chrome-json";
        let question = json!({"dump": dump(&case), "query": case.query, "strip": !is_chrome});
        writeln!(questions, "{question}").expect("written");
        let answer = outputs.next().expect("an answer").expect("read");
        let answer: Option<String> = serde_json::from_str(&answer).expect("a text");
        let answer = answer.unwrap_or_default();
        let is_same = rows(&answer) == rows(&case.expected);
        let why = cited(&case.name);
        *passed.entry(case.kind.clone()).or_default() += u32::from(is_same);
        match (is_same, why) {
            (true, None) | (false, Some(_)) => {}
            (true, Some(why)) => wrong.push(format!("{} passes now, and still cites: {why}", case.name)),
            (false, None) => wrong.push(format!("{}: {answer}\nexpected {}", case.name, case.expected)),
        }
        assert!(!answer.starts_with("error"), "{}: {answer}", case.name);
    }
    drop(questions);
    python.wait().expect("ended");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(passed.values().sum::<u32>() >= 72, "{passed:?}");
}

#[test]
fn each_rule_is_documented_and_each_cited_case_exists() {
    let docs = std::fs::read_to_string(root().join("../../docs/formats.md")).expect("the document");
    assert!(RULES.len() <= 12, "{} rules", RULES.len());
    for (rule, _) in RULES {
        assert!(docs.contains(&format!("- *{rule}.*")), "{rule}");
    }
    let kept: Vec<String> = cases().into_iter().map(|case| case.name).collect();
    let mut cited: Vec<&str> = RULES.iter().flat_map(|(_, cases)| cases.iter().copied()).collect();
    assert!(cited.iter().all(|case| kept.iter().any(|kept| kept == case)), "{cited:?}");
    let count = cited.len();
    cited.sort_unstable();
    cited.dedup();
    assert_eq!(cited.len(), count, "a case cites two reasons");
}

//! Tests of reports that tools print from a recording, or write beside it.

use super::assert_refused;
use crate::formats::testing::format_of;
use crate::formats::unsupported::{FORMAT, LATE_FORMAT};

/// First bytes of reports, and the text that their error must contain.
const REPORTS: &[(&[u8], &str)] = &[
    (
        "📏 Total allocations:\n\t266\n\n📦 Total memory allocated:\n\t451.168kB\n\n📈 Peak memory usage:\n".as_bytes(),
        "memray flamegraph",
    ),
    (
        b"[\n  {\n    \"tracePath\": \"/t/trace.json\",\n    \"typesPath\": \"/t/types_0.json\",\n    \"checkerId\": 0\n  }\n]",
        "open the file trace.json beside it",
    ),
    (
        br#"[{"ID":0,"Mode":"link-install","Package":"m","Deps":[1],"Objdir":"/tmp/b001/","Target":"mm","Priority":54,
        "TimeReady":"2026-11-30T19:08:53.878572527Z","TimeStart":"2026-11-30T19:08:53.878577845Z","Cmd":null}]"#,
        "go build -debug-trace=trace.json",
    ),
    (
        b"Total: 600ms\nROUTINE ======================== main.main in /t/main.go\n         0      600ms (flat, cum)   100% of Total\n",
        "open the profile itself",
    ),
    (b" k: Total 600.0ms\n    600.0ms (  100%): v\n\n", "open the profile itself"),
    (
        b"\n Version: 2.1\n Chunks: 1\n Start: 2026-11-30 19:09:06 (UTC)\n Duration: 1 s\n\n Event Type    Count  Size (bytes) \n====\n",
        "jfrconv -o collapsed",
    ),
    (
        b"# Event 'cpu-clock'\n#\n# Baseline  Delta Abs  Shared Object      Symbol\n# ........  .........\n#\n    55.95%     +0.00%  libc.so.6\n",
        "open the perf.data",
    ),
    (
        b"Running with trace output on.\n/t/CMakeLists.txt(1):  cmake_minimum_required(VERSION 3.10 )\n/t/m/x.cmake(12):  set(A b )\n",
        "--profiling-format=google-trace",
    ),
];

#[test]
fn reports_beside_a_recording_name_what_is_read_instead() {
    assert_refused(REPORTS);
}

#[test]
fn texts_that_resemble_reports_are_not_refused() {
    let texts: [&[u8]; 5] = [
        b"Total: 600ms\nof a text\n",
        b" the sum: Total 5\n    5 (100%) of it\n",
        b"CMakeLists.txt(1): a note\nx.cmake(12): another\n",
        b" Version: 2.1\n Chunks: 1\n",
        br#"[{"tracePath":"/t/trace.json"}]"#,
    ];
    for text in texts {
        assert!(![FORMAT.name, LATE_FORMAT.name].map(Some).contains(&format_of(text)), "{text:?}");
    }
}

//! Unsupported recordings of profilers and tracers: the second part of the table, grouped by family.

use super::bytes::{first_line_has, has_line, has_word, is_tfrecord_of_events, is_value_dump};
use super::table::Sniff::{Head, Keys};
use super::table::{PYINSTRUMENT, STACKPROF, UnsupportedFormat, both, head, keys};
use crate::formats::RefusedKind;

const RENDERDOC: &str =
    "convert it with `renderdoccmd convert -f CAPTURE -o trace.json -c chrome.json` and open trace.json";
const JFR_PRINT: RefusedKind = RefusedKind::new(
    "output of `jfr print`",
    "convert the recording itself with async-profiler's `jfrconv -o collapsed RECORDING stacks.txt`",
);
const SHOWN_BY_ITS_TOOL: &str = "the tool that recorded it shows it; no known tool converts it";

/// Recordings that first bytes or keys identify with certainty.
pub(super) const RECORDINGS: &[UnsupportedFormat] = &[
    head(
        |head| head.starts_with(b"Nettrace"),
        "a trace of .NET (nettrace)",
        "convert it with `dotnet-trace convert CAPTURE --format Chromium`, or `--format Speedscope`",
    ),
    head(
        |head| head.starts_with(b"rbspy0"),
        "samples of Ruby's rbspy",
        "convert them with `rbspy report -f callgrind -i CAPTURE -o callgrind.out` and open callgrind.out",
    ),
    head(
        |head| head.starts_with(b"RDOC") && head.iter().take(64).any(|&byte| byte == 0),
        "a capture of RenderDoc",
        RENDERDOC,
    ),
    head(
        |head| head.starts_with(b"GFXR") && head.iter().take(64).any(|&byte| byte == 0),
        "a capture of GFXReconstruct",
        "it contains calls of a graphics interface to replay; no known tool converts it",
    ),
    head(|head| head.starts_with(b"B00P"), "a profile of Radeon GPU Profiler", SHOWN_BY_ITS_TOOL),
    head(
        // Version 7, in either byte order.
        |head| head.starts_with(b"\x07tae") || head.starts_with(b"eat\x07"),
        "a trace of block devices (blktrace)",
        "`blkparse -i CAPTURE` prints it, which Longspan does not read; `trace-cmd record -e block` records the same events",
    ),
    head(
        |head| head.starts_with(b"SIMPLEPERF"),
        "samples of simpleperf as protobuf",
        "open the perf.data that they were made from",
    ),
    head(
        |head| head.starts_with(b"*version\n") && has_line(head, b"data-file-overflow="),
        "a method trace of Android",
        "Android Studio shows it; no known tool converts it. Record a system trace (Perfetto) instead",
    ),
    head(
        |head| head.starts_with(b"\x09LYRTRACE") || head.starts_with(b"\x09WINTRACE"),
        "a trace of Winscope",
        "Winscope shows it; record the same with Perfetto",
    ),
    head(
        |head| ["HPCRUN-", "HPCTRACE", "HPCTOOLKIT"].iter().any(|magic| head.starts_with(magic.as_bytes())),
        "a measurement of HPCToolkit",
        "hpcviewer shows it; no known tool converts it",
    ),
    head(
        |head| head.starts_with(b"#Paraver ("),
        "a trace of Paraver (Extrae)",
        "Paraver shows it; no known tool converts it",
    ),
    head(
        |head| has_word(&head[..head.len().min(128)], b" templated_functions"),
        "a profile of TAU",
        "it contains sums without times; `pprof` of TAU prints it and ParaProf shows it",
    ),
    head(
        |head| head.starts_with(b"file-format: BlackfireProbe"),
        "a profile of Blackfire",
        "Blackfire shows it; for a timeline, record with Xdebug's `xdebug.mode=trace` and `xdebug.trace_format=1`",
    ),
    head(
        |head| head.starts_with(b"{\"main()") && memchr::memmem::find(head, b"==>").is_some(),
        "a profile of XHProf",
        "it contains sums without times; record with Xdebug or Excimer instead",
    ),
    head(
        |head| head.starts_with(b"%% Analysis results:"),
        "an analysis of Erlang's fprof",
        "erlgrind converts it to the format of callgrind",
    ),
    keys(
        &["frame_records", "sample_count"],
        "a session of Python's pyinstrument",
        "convert it with `pyinstrument --load CAPTURE -r speedscope -o profile.json` and open profile.json",
    ),
    keys(
        &["root_frame", "sample_count"],
        "a report of Python's pyinstrument",
        "record with `pyinstrument -r speedscope -o profile.json PROGRAM` and open profile.json",
    ),
    head(
        is_tfrecord_of_events,
        "events of TensorBoard",
        "they contain scalars; the profile is beside them: open the trace.json.gz in its folder plugins/profile",
    ),
    keys(
        &["Traces", "Traces[].Segments"],
        "traces of AWS X-Ray",
        "no known tool converts them; export by OTLP to a collector, and open what its file exporter writes",
    ),
    keys(
        &["dataForRoots", "version"],
        "a profile of React's DevTools",
        "the profiler of React's DevTools shows it; record in the Performance panel of the browser instead",
    ),
    keys(
        &["recording", "overview"],
        "a recording of Safari's Web Inspector",
        "the Web Inspector shows it; no known tool converts it",
    ),
    keys(
        &["fileType", "profile"],
        "a recording of the old tools of Firefox",
        "no known tool converts it; record with the profiler of Firefox (profiler.firefox.com)",
    ),
    keys(&["axisLabelX", "shortUnitsX"], "a trace of KUtrace", "its page shows it; no known tool converts it"),
    head(
        |head| head.starts_with(b"PML_") || first_line_has(head, &["Time of Day", "Process Name", "Operation"]),
        "a log of Process Monitor",
        "Process Monitor shows it; for a timeline, record with `xperf` or WPR and convert the .etl",
    ),
    head(
        |head| head.starts_with(b"#ROSBAG V") || head.starts_with(b"\x89MCAP0\r\n"),
        "a recording of a robot's messages (ROS bag, MCAP)",
        "it contains messages and no spans; for a timeline, record with ros2_tracing (LTTng)",
    ),
    head(
        |head| head.starts_with(b";") && has_word(head, b"SEGGER SystemView"),
        "a recording of SystemView",
        SHOWN_BY_ITS_TOOL,
    ),
    head(is_value_dump, "a waveform (VCD)", "GTKWave shows it; no known tool converts it"),
    head(
        |head| head.starts_with(b"PeriodType: "),
        "output of `go tool pprof -raw`",
        "open the profile itself, or convert this with `stackcollapse-go.pl CAPTURE > stacks.txt`, of the FlameGraph scripts",
    ),
    head(
        |head| head.starts_with(b"Function Stack,"),
        "a report of Intel VTune",
        "convert it with `stackcollapse-vtune.pl CAPTURE > stacks.txt`, of the FlameGraph scripts",
    ),
    head(
        |head| head.starts_with(b"Running Time") && has_word(head, b"Symbol Name"),
        "a table of Apple's Instruments",
        "convert it with `stackcollapse-instruments.pl CAPTURE > stacks.txt`, of the FlameGraph scripts",
    ),
    head(
        |head| has_line(head, b"<trace-query-result>") || has_line(head, b"<trace-toc>"),
        "output of `xctrace export`",
        "no known tool converts it; record with `samply record` instead",
    ),
    head(
        |head| head.starts_with(b"0SECTION "),
        "stacks of IBM's Java (javacore)",
        "convert them with `stackcollapse-ibmjava.pl CAPTURE > stacks.txt`, of the FlameGraph scripts",
    ),
    UnsupportedFormat {
        sniff: Head(|head| {
            head.starts_with(b"jdk.") && has_line(head, b"  startTime = ")
                || head.starts_with(b"<?xml") && has_line(head, b"<recording ") && has_word(head, b"<event type=")
        }),
        refused: JFR_PRINT,
    },
    UnsupportedFormat {
        sniff: Keys(&["recording.events", "recording.events[].type", "recording.events[].values"]),
        refused: JFR_PRINT,
    },
    head(
        |head| head.starts_with(b"BeginHeader"),
        "output of xperf",
        "convert the .etl with `samply import CAPTURE --save-only -o profile.json`",
    ),
    UnsupportedFormat { sniff: Keys(&["root_frame", "sample_count"]), refused: PYINSTRUMENT },
    both(
        &["code"],
        |head| memchr::memmem::find(head, b"\"type\": \"SHARED_LIB\"").is_some(),
        "a log of V8 after `node --prof-process --preprocess`",
        "record a profile with `node --cpu-prof` instead and open its .cpuprofile",
    ),
    keys(&["mode", "gc_samples", "missed_samples"], "a profile of Ruby's stackprof as JSON", STACKPROF),
];

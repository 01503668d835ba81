//! Unsupported recordings of profilers and tracers: the second part of the table, grouped by family.

use super::bytes::{first_line_has, has_line, has_word, is_tfrecord_of_events, is_value_dump};
use super::table::Sniff::{Both, Head, Keys};
use super::table::{PYINSTRUMENT, STACKPROF, UnsupportedFormat};

const RENDERDOC: &str =
    "convert it with `renderdoccmd convert -f CAPTURE -o trace.json -c chrome.json` and open trace.json";
const JFR_PRINT: [&str; 2] = [
    "output of `jfr print`",
    "convert the recording itself with async-profiler's `jfrconv -o collapsed RECORDING stacks.txt`",
];
const SHOWN_BY_ITS_TOOL: &str = "the tool that recorded it shows it; no known tool converts it";

/// Recordings that first bytes or keys identify with certainty.
pub(super) const RECORDINGS: &[UnsupportedFormat] = &[
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"Nettrace")),
        found: "a trace of .NET (nettrace)",
        advice: "convert it with `dotnet-trace convert CAPTURE --format Chromium`, or `--format Speedscope`",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"rbspy0")),
        found: "samples of Ruby's rbspy",
        advice: "convert them with `rbspy report -f callgrind -i CAPTURE -o callgrind.out` and open callgrind.out",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"RDOC") && head.iter().take(64).any(|&byte| byte == 0)),
        found: "a capture of RenderDoc",
        advice: RENDERDOC,
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"GFXR") && head.iter().take(64).any(|&byte| byte == 0)),
        found: "a capture of GFXReconstruct",
        advice: "it contains calls of a graphics interface to replay; no known tool converts it",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"B00P")),
        found: "a profile of Radeon GPU Profiler",
        advice: SHOWN_BY_ITS_TOOL,
    },
    UnsupportedFormat {
        // Version 7, in either byte order.
        sniff: Head(|head| head.starts_with(b"\x07tae") || head.starts_with(b"eat\x07")),
        found: "a trace of block devices (blktrace)",
        advice: "`blkparse -i CAPTURE` prints it, which Longspan does not read; `trace-cmd record -e block` records the same events",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"SIMPLEPERF")),
        found: "samples of simpleperf as protobuf",
        advice: "open the perf.data that they were made from",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"*version\n") && has_line(head, b"data-file-overflow=")),
        found: "a method trace of Android",
        advice: "Android Studio shows it; no known tool converts it. Record a system trace (Perfetto) instead",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"\x09LYRTRACE") || head.starts_with(b"\x09WINTRACE")),
        found: "a trace of Winscope",
        advice: "Winscope shows it; record the same with Perfetto",
    },
    UnsupportedFormat {
        sniff: Head(|head| {
            ["HPCRUN-", "HPCTRACE", "HPCTOOLKIT"].iter().any(|magic| head.starts_with(magic.as_bytes()))
        }),
        found: "a measurement of HPCToolkit",
        advice: "hpcviewer shows it; no known tool converts it",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"#Paraver (")),
        found: "a trace of Paraver (Extrae)",
        advice: "Paraver shows it; no known tool converts it",
    },
    UnsupportedFormat {
        sniff: Head(|head| has_word(&head[..head.len().min(128)], b" templated_functions")),
        found: "a profile of TAU",
        advice: "it contains sums without times; `pprof` of TAU prints it and ParaProf shows it",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"file-format: BlackfireProbe")),
        found: "a profile of Blackfire",
        advice: "Blackfire shows it; for a timeline, record with Xdebug's `xdebug.mode=trace` and `xdebug.trace_format=1`",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"{\"main()") && memchr::memmem::find(head, b"==>").is_some()),
        found: "a profile of XHProf",
        advice: "it contains sums without times; record with Xdebug or Excimer instead",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"%% Analysis results:")),
        found: "an analysis of Erlang's fprof",
        advice: "erlgrind converts it to the format of callgrind",
    },
    UnsupportedFormat {
        sniff: Keys(&["frame_records", "sample_count"]),
        found: "a session of Python's pyinstrument",
        advice: "convert it with `pyinstrument --load CAPTURE -r speedscope -o profile.json` and open profile.json",
    },
    UnsupportedFormat {
        sniff: Keys(&["root_frame", "sample_count"]),
        found: "a report of Python's pyinstrument",
        advice: "record with `pyinstrument -r speedscope -o profile.json PROGRAM` and open profile.json",
    },
    UnsupportedFormat {
        sniff: Head(is_tfrecord_of_events),
        found: "events of TensorBoard",
        advice: "they contain scalars; the profile is beside them: open the trace.json.gz in its folder plugins/profile",
    },
    UnsupportedFormat {
        sniff: Keys(&["Traces", "Traces[].Segments"]),
        found: "traces of AWS X-Ray",
        advice: "no known tool converts them; export by OTLP to a collector, and open what its file exporter writes",
    },
    UnsupportedFormat {
        sniff: Keys(&["dataForRoots", "version"]),
        found: "a profile of React's DevTools",
        advice: "the profiler of React's DevTools shows it; record in the Performance panel of the browser instead",
    },
    UnsupportedFormat {
        sniff: Keys(&["recording", "overview"]),
        found: "a recording of Safari's Web Inspector",
        advice: "the Web Inspector shows it; no known tool converts it",
    },
    UnsupportedFormat {
        sniff: Keys(&["fileType", "profile"]),
        found: "a recording of the old tools of Firefox",
        advice: "no known tool converts it; record with the profiler of Firefox (profiler.firefox.com)",
    },
    UnsupportedFormat {
        sniff: Keys(&["axisLabelX", "shortUnitsX"]),
        found: "a trace of KUtrace",
        advice: "its page shows it; no known tool converts it",
    },
    UnsupportedFormat {
        sniff: Head(|head| {
            head.starts_with(b"PML_") || first_line_has(head, &["Time of Day", "Process Name", "Operation"])
        }),
        found: "a log of Process Monitor",
        advice: "Process Monitor shows it; for a timeline, record with `xperf` or WPR and convert the .etl",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"#ROSBAG V") || head.starts_with(b"\x89MCAP0\r\n")),
        found: "a recording of a robot's messages (ROS bag, MCAP)",
        advice: "it contains messages and no spans; for a timeline, record with ros2_tracing (LTTng)",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b";") && has_word(head, b"SEGGER SystemView")),
        found: "a recording of SystemView",
        advice: SHOWN_BY_ITS_TOOL,
    },
    UnsupportedFormat {
        sniff: Head(is_value_dump),
        found: "a waveform (VCD)",
        advice: "GTKWave shows it; no known tool converts it",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"PeriodType: ")),
        found: "output of `go tool pprof -raw`",
        advice: "open the profile itself, or convert this with `stackcollapse-go.pl CAPTURE > stacks.txt`, of the FlameGraph scripts",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"Function Stack,")),
        found: "a report of Intel VTune",
        advice: "convert it with `stackcollapse-vtune.pl CAPTURE > stacks.txt`, of the FlameGraph scripts",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"Running Time") && has_word(head, b"Symbol Name")),
        found: "a table of Apple's Instruments",
        advice: "convert it with `stackcollapse-instruments.pl CAPTURE > stacks.txt`, of the FlameGraph scripts",
    },
    UnsupportedFormat {
        sniff: Head(|head| has_line(head, b"<trace-query-result>") || has_line(head, b"<trace-toc>")),
        found: "output of `xctrace export`",
        advice: "no known tool converts it; record with `samply record` instead",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"0SECTION ")),
        found: "stacks of IBM's Java (javacore)",
        advice: "convert them with `stackcollapse-ibmjava.pl CAPTURE > stacks.txt`, of the FlameGraph scripts",
    },
    UnsupportedFormat {
        sniff: Head(|head| {
            head.starts_with(b"jdk.") && has_line(head, b"  startTime = ")
                || head.starts_with(b"<?xml") && has_line(head, b"<recording ") && has_word(head, b"<event type=")
        }),
        found: JFR_PRINT[0],
        advice: JFR_PRINT[1],
    },
    UnsupportedFormat {
        sniff: Keys(&["recording.events", "recording.events[].type", "recording.events[].values"]),
        found: JFR_PRINT[0],
        advice: JFR_PRINT[1],
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"BeginHeader")),
        found: "output of xperf",
        advice: "convert the .etl with `samply import CAPTURE --save-only -o profile.json`",
    },
    UnsupportedFormat { sniff: Keys(&["root_frame", "sample_count"]), found: PYINSTRUMENT[0], advice: PYINSTRUMENT[1] },
    UnsupportedFormat {
        sniff: Both(&["code"], |head| memchr::memmem::find(head, b"\"type\": \"SHARED_LIB\"").is_some()),
        found: "a log of V8 after `node --prof-process --preprocess`",
        advice: "record a profile with `node --cpu-prof` instead and open its .cpuprofile",
    },
    UnsupportedFormat {
        sniff: Keys(&["mode", "gc_samples", "missed_samples"]),
        found: "a profile of Ruby's stackprof as JSON",
        advice: STACKPROF,
    },
];

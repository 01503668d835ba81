//! Unsupported formats that people try to open: how each is detected, its name, and how to obtain a supported trace.
//! Some can only be shown by their own tool.

use Sniff::{Head, Keys};

use super::bytes::{
    SQLITE, first_element, first_line_has, has_line, has_word, is_etl, is_gdb_stacks, is_go_text_profile,
    is_gperftools, is_heaptrack, is_page_with, is_perf_stat, is_picture, is_pstats, is_stackprof, is_uftrace_text,
    is_windows_program, is_xplane, is_xray,
};
use super::logs::is_kernel_log;
use crate::formats::linux::strace;

/// A format that is detected and refused.
pub(super) struct UnsupportedFormat {
    pub(super) sniff: Sniff,
    pub(super) found: &'static str,
    /// A way to obtain a supported trace.
    pub(super) advice: &'static str,
}

/// The detection of a format.
pub(super) enum Sniff {
    /// Detected by its first bytes.
    Head(fn(head: &[u8]) -> bool),
    /// Detected by these keys of a JSON document, as paths of [`Outline`](crate::formats::json::outline::Outline).
    Keys(&'static [&'static str]),
    /// Detected by keys and first bytes together.
    Both(&'static [&'static str], fn(head: &[u8]) -> bool),
}

pub(super) const ETL: [&str; 2] = [
    "a log of Event Tracing for Windows (ETL)",
    "convert it on Windows with `samply import CAPTURE --save-only -o profile.json`",
];
pub(super) const CTF: [&str; 2] = [
    "a trace in the Common Trace Format (LTTng)",
    "print it as text with `babeltrace2 FOLDER > trace.txt`, and open trace.txt",
];
pub(super) const OTF2: [&str; 2] = ["a trace in the Open Trace Format 2", "no known tool converts it; Vampir shows it"];
pub(super) const UTRACE: [&str; 2] =
    ["a trace of Unreal Insights", "no known tool converts it; Unreal Insights shows and exports it as tables"];
pub(super) const NSYS: [&str; 2] = [
    "a report of Nsight Systems",
    "export it with `nsys export --type sqlite REPORT`, and convert that with nsys2json: `nsys2json -f REPORT.sqlite -o trace.json`",
];
pub(super) const PERF_STAT: [&str; 2] =
    ["counts of `perf stat`", "they are sums without times; `perf record PROGRAM` records when and where"];
pub(super) const MEMRAY: &str =
    "memray converts it to no format that Longspan reads; `memray flamegraph CAPTURE` makes a page";
pub(super) const PICTURE: &str = "a picture";
pub(super) const DOCUMENT: &str = "a PDF document";
pub(super) const SCRIPT: &str = "a script";
/// Refused by the reader of such messages, since those with the events of a trace may follow any others.
pub(in crate::formats) const DEVTOOLS_LOG: [&str; 2] = [
    "a log of the DevTools protocol (Lighthouse's devtoolslog)",
    "open the .trace.json that `lighthouse --save-assets` writes beside it",
];
/// Magic number of lz4 frames.
pub(super) const LZ4_FRAME: &[u8] = b"\x04\x22\x4d\x18";
pub(super) const PYINSTRUMENT: [&str; 2] =
    ["a report of pyinstrument", "record with `pyinstrument -r speedscope -o profile.speedscope.json PROGRAM`"];
pub(super) const GIT: [&str; 2] = [
    "a trace2 log of git",
    "set GIT_TRACE2_EVENT, send that through git-ecosystem's trace2receiver to OpenTelemetry, and open what its file exporter writes",
];
pub(super) const HYPERFINE: [&str; 2] =
    ["results of hyperfine", "they are sums without times; record a run with `perf record -g PROGRAM`"];
pub(super) const STACKPROF: &str = "convert the dump with `stackprof --stackcollapse CAPTURE > stacks.txt`";
const DUCKDB: [&str; 2] =
    ["a profile of a query of DuckDB", "it contains durations without times; no known tool converts it"];
const GO_TOOL_PPROF: &str = "convert it with `go tool pprof -proto -output=profile.pb.gz PROGRAM CAPTURE`";

/// Formats that first bytes or keys identify with certainty.
pub(super) const UNSUPPORTED: &[UnsupportedFormat] = &[
    UnsupportedFormat {
        // Magic numbers of this and of earlier versions; the layout changes with each.
        sniff: Head(|head| [&b"tr\xfdP"[..], b"tlZ\x04", b"tZst"].iter().any(|magic| head.starts_with(magic))),
        found: "a trace of Tracy",
        advice: "convert it with `tracy-csvexport -u CAPTURE > zones.csv` and open zones.csv",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"\x17\x08\x44tracing")),
        found: "a trace of trace-cmd",
        advice: "convert it with `trace-cmd report CAPTURE > trace.txt` and open trace.txt",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"go 1.") && head.get(..16).is_some_and(|head| head.contains(&0))),
        found: "an execution trace of Go",
        advice: "run `go tool trace -http=localhost:6060 CAPTURE`, and save http://localhost:6060/jsontrace as trace.json",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"FLR\0")),
        found: "a recording of Java's flight recorder",
        advice: "convert it with async-profiler's `jfrconv -o collapsed CAPTURE stacks.txt` and open stacks.txt",
    },
    UnsupportedFormat {
        // Usually compressed by lz4, whose first block begins with the same bytes after its token.
        sniff: Head(|head| {
            let starts_block = |head: &[u8]| memchr::memmem::find(&head[..head.len().min(40)], b"memray\0").is_some();
            head.starts_with(b"memray") || head.starts_with(LZ4_FRAME) && starts_block(head)
        }),
        found: "a recording of memray",
        advice: MEMRAY,
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"MOJ") && head.get(3).is_some_and(|version| *version < 8)),
        found: "samples of austin in its binary form (MOJO)",
        advice: "convert them with `mojo2austin CAPTURE samples.austin` of austin-python",
    },
    UnsupportedFormat {
        sniff: Head(is_heaptrack),
        found: "a recording of heaptrack",
        advice: "convert it with `heaptrack_print -F stacks.txt -f CAPTURE` and open stacks.txt",
    },
    UnsupportedFormat { sniff: Head(is_gperftools), found: "a CPU profile of gperftools", advice: GO_TOOL_PPROF },
    UnsupportedFormat {
        sniff: Head(|head| {
            head.starts_with(b"--- symbol\n")
                || head.starts_with(b"--- contention\n") && has_line(head, b"cycles/second")
        }),
        found: "a symbolized or contention profile of gperftools",
        advice: "convert it with gperftools' `pprof --collapsed PROGRAM CAPTURE > stacks.txt` and open stacks.txt",
    },
    UnsupportedFormat {
        sniff: Head(is_go_text_profile),
        found: "a profile of Go as text (debug=1)",
        advice: "fetch it without `debug=1`: the profile at http://HOST/debug/pprof/heap, goroutine, block or mutex is read",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"heap profile: ") || head.starts_with(b"heap_v2/")),
        found: "a heap profile of gperftools or jemalloc",
        advice: "convert it with `jeprof --collapsed PROGRAM CAPTURE > stacks.txt` and open stacks.txt",
    },
    UnsupportedFormat {
        sniff: Head(is_xray),
        found: "a log of LLVM's XRay",
        advice: "convert it with `llvm-xray convert --output-format=trace_event --symbolize --instr_map=PROGRAM CAPTURE -o trace.json`",
    },
    UnsupportedFormat {
        sniff: Head(is_stackprof),
        found: "a profile of Ruby's stackprof",
        advice: "record it raw, and convert it with `stackprof --stackcollapse CAPTURE > stacks.txt`",
    },
    UnsupportedFormat { sniff: Head(|head| head.starts_with(b"OTF2")), found: OTF2[0], advice: OTF2[1] },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"\x5e\x97\xca\xfd")),
        found: "a recording of sysprof",
        advice: "no known tool converts it; sysprof shows it. Record with `perf record` instead",
    },
    UnsupportedFormat {
        sniff: Head(is_pstats),
        found: "a profile of Python's cProfile (pstats)",
        advice: "convert it with `pyprof2calltree -i CAPTURE -o callgrind.out`; for a timeline, record with viztracer or py-spy",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"Attaching ") && has_line(head, b"@") || begins_with_stacks_of_bpf(head)),
        found: "output of bpftrace",
        advice: "convert stacks with `stackcollapse-bpftrace.pl CAPTURE > stacks.txt`, of the FlameGraph scripts",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"MMPD")),
        found: "a self-profile of rustc",
        advice: "convert it with `crox CAPTURE` of measureme, and open chrome_profiler.json",
    },
    UnsupportedFormat {
        sniff: Head(|head| [&b"MMES"[..], b"MMSD", b"MMSI"].iter().any(|magic| head.starts_with(magic))),
        found: "a self-profile of an old rustc (.events, .string_data)",
        advice: "its version of measureme has a `crox` that converts the three files; newer compilers write one .mm_profdata",
    },
    UnsupportedFormat { sniff: Head(is_etl), found: ETL[0], advice: ETL[1] },
    UnsupportedFormat {
        sniff: Head(|head| {
            let magics = [&b"\xc1\x1f\xfc\xc1"[..], b"\xc1\xfc\x1f\xc1", b"\x57\x1d\xd1\x75", b"\x75\xd1\x1d\x57"];
            magics.iter().any(|magic| head.starts_with(magic)) || head.starts_with(b"/* CTF ")
        }),
        found: CTF[0],
        advice: CTF[1],
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(SQLITE)),
        found: "an SQLite database without the tables of a known tool",
        advice: "export it from the tool that wrote it",
    },
    UnsupportedFormat {
        sniff: Head(|head| [&b"TRC2"[..], b"TRCE", b"2CRT", b"ECRT"].iter().any(|magic| head.starts_with(magic))),
        found: UTRACE[0],
        advice: UTRACE[1],
    },
    UnsupportedFormat {
        sniff: Head(is_xplane),
        found: "a profile of XLA (xplane.pb)",
        advice: "open the trace.json.gz that JAX and TensorBoard write beside it; `jax.profiler.trace(.., create_perfetto_trace=True)` writes one",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"gmon\x01\0\0\0") || head.starts_with(b"gmon\0\0\0\x01")),
        found: "a profile of gprof (gmon.out)",
        advice: "it has no call stacks to convert; `gprof PROGRAM gmon.out` prints it. Record with `perf record -g` instead",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"JAVA PROFILE 1.0")),
        found: "a heap dump of Java",
        advice: "it contains no times; record allocations with async-profiler's `-e alloc -o collapsed`",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"======") && has_line(head, b"== dumpstate: ")),
        found: "a bug report of Android",
        advice: "unpack the zip that it came in, and open FS/data/misc/perfetto-traces/bugreport/systrace.pftrace",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"v8-version,")),
        found: "a log of V8 (node --prof)",
        advice: "record a profile with `node --cpu-prof` instead and open its .cpuprofile",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"desc: ") && has_line(head, b"time_unit: ")),
        found: "a profile of valgrind's massif",
        advice: "no known tool converts it; `ms_print CAPTURE` prints it",
    },
    UnsupportedFormat {
        sniff: Head(|head| is_page_with(head, "bokeh")),
        found: "a performance report of Dask",
        advice: "it is a page for a browser; no known tool converts it",
    },
    UnsupportedFormat {
        sniff: Head(|head| is_page_with(head, "pyinstrument")),
        found: PYINSTRUMENT[0],
        advice: PYINSTRUMENT[1],
    },
    UnsupportedFormat {
        sniff: Head(|head| is_page_with(head, "<title>memray")),
        found: "a report of memray",
        advice: MEMRAY,
    },
    UnsupportedFormat {
        // The second is in the template of VizTracer and of examples of catapult.
        sniff: Head(|head| is_page_with(head, "<title>VizTracer") || is_page_with(head, "onTraceViewerImportFail")),
        found: "a page of a trace viewer (VizTracer)",
        advice: "open the JSON that it was made from, which VizTracer writes with `-o result.json`",
    },
    UnsupportedFormat {
        sniff: Head(|head| {
            ["The async-profiler authors", "Andrei Pangin", "/async-profiler'>async-profiler</a>"]
                .iter()
                .any(|text| is_page_with(head, text))
        }),
        found: "a flame graph of async-profiler (HTML)",
        advice: "convert it with `jfrconv -o collapsed CAPTURE stacks.txt` of async-profiler 4, or record with `asprof -o collapsed -f stacks.txt PID`",
    },
    UnsupportedFormat {
        sniff: Head(|head| first_element(head) == b"svg"),
        found: "a picture (SVG)",
        advice: "if it is a flame graph, open the collapsed stacks or the perf.data that it was made from; py-spy records with `-f speedscope`",
    },
    UnsupportedFormat {
        sniff: Keys(&["constants", "constants.logEventTypes"]),
        found: "a log of Chrome's network (NetLog)",
        advice: "https://netlog-viewer.appspot.com shows it; no known tool converts it",
    },
    UnsupportedFormat {
        sniff: Keys(&["snapshot", "snapshot.meta"]),
        found: "a heap snapshot of V8",
        advice: "it contains no times: DevTools shows it. A sampled profile (.heapprofile) has stacks",
    },
    UnsupportedFormat {
        sniff: Keys(&["alloc_samples", "args"]),
        found: "a profile of scalene",
        advice: "`scalene view CAPTURE` shows it; for stacks or a timeline, record with py-spy, austin or viztracer",
    },
    UnsupportedFormat { sniff: Keys(&["query_name", "children"]), found: DUCKDB[0], advice: DUCKDB[1] },
    UnsupportedFormat { sniff: Keys(&["cumulative_rows_scanned", "children"]), found: DUCKDB[0], advice: DUCKDB[1] },
    // Up to version 1.0.
    UnsupportedFormat {
        sniff: Keys(&["result", "timing", "cardinality", "extra-info"]),
        found: DUCKDB[0],
        advice: DUCKDB[1],
    },
    // From version 2.0.
    UnsupportedFormat {
        sniff: Keys(&["io.total_bytes_read", "operator", "operator[].extra_info"]),
        found: DUCKDB[0],
        advice: DUCKDB[1],
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"{\"Event\":\"SparkListener")),
        found: "an event log of Spark",
        advice: "Spark's history server shows it; no known tool converts it",
    },
    UnsupportedFormat { sniff: Keys(&["event", "sid", "thread", "time"]), found: GIT[0], advice: GIT[1] },
    UnsupportedFormat {
        sniff: Keys(&["dhatFileVersion"]),
        found: "a profile of DHAT",
        advice: "dh_view.html of valgrind shows it; no known tool converts it",
    },
];

/// Formats that are refused only if no other format matches.
pub(super) const LATE: &[UnsupportedFormat] = &[
    UnsupportedFormat {
        sniff: Head(strace::looks_like_strace_without_times),
        found: "output of strace or ltrace without times",
        advice: "record it again with `strace -f -ttt -T -o trace.txt`, or `ltrace` with the same options",
    },
    UnsupportedFormat {
        sniff: Head(|head| has_line(head, b"Activity.TraceId:") || has_line(head, b"Activity.Id:")),
        found: "output of .NET's console exporter",
        advice: "send the spans to a collector by OTLP, and open what its file exporter writes",
    },
    UnsupportedFormat {
        sniff: Head(|head| has_word(head, b"LoggingSpanExporter - '")),
        found: "output of Java's logging exporter, which has no times",
        advice: "export with `OTEL_TRACES_EXPORTER=otlp` to a collector, and open what its file exporter writes",
    },
    UnsupportedFormat {
        sniff: Head(|head| {
            let is_ruby = || has_word(head, b"#<struct OpenTelemetry::SDK::Trace::SpanData");
            let is_cpp = || has_line(head, b"  trace_id      : ") && has_line(head, b"  duration      : ");
            has_line(head, b"Span #0") && has_word(head, b"TraceId") || is_ruby() || is_cpp()
        }),
        found: "human-readable output of an OpenTelemetry exporter",
        advice: "export by OTLP to a collector, and open what its file exporter writes",
    },
    UnsupportedFormat {
        // Versions from 3.0 write a style before the class.
        sniff: Head(|head| head.starts_with(b"<table ") && has_word(head, b" class='xdebug-trace'")),
        found: "a trace of Xdebug as a page",
        advice: "record it with `xdebug.trace_format=1`",
    },
    UnsupportedFormat {
        sniff: Head(is_uftrace_text),
        found: "output of uftrace",
        advice: "open the folder of the recording, `uftrace.data` unless `-d` named another, which is read",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"Analysis of sampling ") || has_line(head, b"Call graph:")),
        found: "output of `sample` of macOS",
        advice: "convert it with `stackcollapse-sample.awk CAPTURE > stacks.txt`, of the FlameGraph scripts",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"@ ") && first_line_has(head, &[" [", " samples]"])),
        found: "output of pmcstat of FreeBSD",
        advice: "convert it with `stackcollapse-pmc.pl CAPTURE > stacks.txt`, of the FlameGraph scripts",
    },
    UnsupportedFormat {
        sniff: Head(|head| has_line(head, b"Full thread dump ")),
        found: "stacks of Java's threads (jstack)",
        advice: "convert them with `stackcollapse-jstack.pl CAPTURE > stacks.txt`, of the FlameGraph scripts",
    },
    UnsupportedFormat {
        sniff: Head(is_gdb_stacks),
        found: "stacks that gdb prints",
        advice: "convert them with `stackcollapse-gdb.pl CAPTURE > stacks.txt`, of the FlameGraph scripts",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"CPU     ID                    FUNCTION:NAME")),
        found: "output of DTrace",
        advice: "convert stacks with `stackcollapse.pl CAPTURE > stacks.txt`, of the FlameGraph scripts",
    },
    UnsupportedFormat {
        sniff: Head(|head| {
            let is_table = || [&b"# Overhead "[..], b"# Baseline "].iter().any(|column| has_line(head, column));
            head.starts_with(b"# To display the perf.data header info") || is_table()
        }),
        found: "a report of perf",
        advice: "open the perf.data that it was made from, or what `perf script` prints",
    },
    UnsupportedFormat { sniff: Head(is_perf_stat), found: PERF_STAT[0], advice: PERF_STAT[1] },
    UnsupportedFormat {
        sniff: Head(|head| has_word(head, b"  wait time  sch delay   run time")),
        found: "output of `perf sched timehist`",
        advice: "open the perf.data that it was made from",
    },
    UnsupportedFormat {
        sniff: Head(is_kernel_log),
        found: "a log of the kernel (dmesg)",
        advice: "it contains messages and no spans; `trace-cmd record -e all PROGRAM` records events",
    },
    // Files opened by mistake, in a file dialog or by shell completion.
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"\x7fELF") || is_windows_program(head)),
        found: "a program or a library",
        advice: "record a run of it, for example with `perf record -g PROGRAM`, and open the recording",
    },
    UnsupportedFormat { sniff: Head(is_picture), found: PICTURE, advice: "open the trace that it shows" },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"%PDF-")),
        found: DOCUMENT,
        advice: "open the trace that it mentions",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"#!")),
        found: SCRIPT,
        advice: "record a run of it, and open the recording",
    },
];

/// Returns whether this is a map of stacks, without the preceding line, which goes to another stream.
fn begins_with_stacks_of_bpf(head: &[u8]) -> bool {
    let head = head.trim_ascii_start();
    let is_of_stacks = || ["@[kstack", "@[ustack", "@[\n"].iter().any(|begin| head.starts_with(begin.as_bytes()));
    is_of_stacks()
        || head.starts_with(b"{\"type\": \"attached_probes\"")
        || head.starts_with(b"@stacks[")
        || head.starts_with(b"Attached ") && has_line(head, b"@")
}

//! Unsupported formats that people try to open: how each is detected, its name, and how to obtain a supported trace.
//! Some can only be shown by their own tool.

use Sniff::{Head, Keys};

use super::bytes::{
    SQLITE, first_element, first_line_has, has_line, has_word, is_etl, is_gdb_stacks, is_go_text_profile,
    is_gperftools, is_heaptrack, is_page_with, is_perf_stat, is_picture, is_pstats, is_stackprof, is_start_of_bpftrace,
    is_uftrace_text, is_windows_program, is_xplane, is_xray,
};
use super::logs::is_kernel_log;
use crate::formats::RefusedKind;
use crate::formats::linux::strace;

/// A format that is detected and refused.
pub(super) struct UnsupportedFormat {
    pub(super) sniff: Sniff,
    pub(super) refused: RefusedKind,
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

/// A format that is detected by its first bytes.
pub(super) const fn head(fits: fn(&[u8]) -> bool, name: &'static str, advice: &'static str) -> UnsupportedFormat {
    UnsupportedFormat { sniff: Head(fits), refused: RefusedKind::new(name, advice) }
}

/// A format without a trace that is detected by its first bytes.
pub(super) const fn no_trace(fits: fn(&[u8]) -> bool, name: &'static str, advice: &'static str) -> UnsupportedFormat {
    UnsupportedFormat { sniff: Head(fits), refused: RefusedKind::no_trace(name, advice) }
}

/// A JSON document that is detected by its keys.
pub(super) const fn keys(keys: &'static [&'static str], name: &'static str, advice: &'static str) -> UnsupportedFormat {
    UnsupportedFormat { sniff: Keys(keys), refused: RefusedKind::new(name, advice) }
}

/// A JSON document that is detected by its keys and first bytes.
pub(super) const fn both(
    keys: &'static [&'static str],
    fits: fn(&[u8]) -> bool,
    name: &'static str,
    advice: &'static str,
) -> UnsupportedFormat {
    UnsupportedFormat { sniff: Sniff::Both(keys, fits), refused: RefusedKind::new(name, advice) }
}

pub(super) const ETL: RefusedKind = RefusedKind::new(
    "a log of Event Tracing for Windows (ETL)",
    "convert it on Windows with `samply import CAPTURE --save-only -o profile.json`",
);
pub(super) const CTF: RefusedKind = RefusedKind::new(
    "a trace in the Common Trace Format (LTTng)",
    "print it as text with `babeltrace2 FOLDER > trace.txt`, and open trace.txt",
);
pub(super) const OTF2: RefusedKind =
    RefusedKind::new("a trace in the Open Trace Format 2", "no known tool converts it; Vampir shows it");
pub(super) const UTRACE: RefusedKind = RefusedKind::new(
    "a trace of Unreal Insights",
    "no known tool converts it; Unreal Insights shows and exports it as tables",
);
pub(super) const NSYS: RefusedKind = RefusedKind::new(
    "a report of Nsight Systems",
    "export it with `nsys export --type sqlite REPORT`, and convert that with nsys2json: `nsys2json -f REPORT.sqlite -o trace.json`",
);
pub(super) const PERF_STAT: RefusedKind = RefusedKind::new(
    "counts of `perf stat`",
    "they are sums without times; `perf record PROGRAM` records when and where",
);
pub(super) const MEMRAY: &str =
    "memray converts it to no format that Longspan reads; `memray flamegraph CAPTURE` makes a page";
/// Refused by the reader of such messages, since messages with the events of a trace may follow any others.
pub(in crate::formats) const DEVTOOLS_LOG: RefusedKind = RefusedKind::no_trace(
    "a log of the DevTools protocol (Lighthouse's devtoolslog)",
    "open the .trace.json that `lighthouse --save-assets` writes beside it",
);
/// Magic number of lz4 frames.
pub(super) const LZ4_FRAME: &[u8] = b"\x04\x22\x4d\x18";
pub(super) const PYINSTRUMENT: RefusedKind = RefusedKind::new(
    "a report of pyinstrument",
    "record with `pyinstrument -r speedscope -o profile.speedscope.json PROGRAM`",
);
pub(super) const GIT: RefusedKind = RefusedKind::new(
    "a trace2 log of git",
    "set GIT_TRACE2_EVENT, send that through git-ecosystem's trace2receiver to OpenTelemetry, and open what its file exporter writes",
);
pub(super) const HYPERFINE: RefusedKind =
    RefusedKind::new("results of hyperfine", "they are sums without times; record a run with `perf record -g PROGRAM`");
pub(super) const STACKPROF: &str = "convert the dump with `stackprof --stackcollapse CAPTURE > stacks.txt`";
const DUCKDB: RefusedKind = RefusedKind::new(
    "a profile of a query of DuckDB",
    "it contains durations without times; no known tool converts it",
);
const GO_TOOL_PPROF: &str = "convert it with `go tool pprof -proto -output=profile.pb.gz PROGRAM CAPTURE`";

/// Formats that first bytes or keys identify with certainty.
pub(super) const UNSUPPORTED: &[UnsupportedFormat] = &[
    head(
        // Magic numbers of this and of earlier versions; the layout changes with each.
        |head| [&b"tr\xfdP"[..], b"tlZ\x04", b"tZst"].iter().any(|magic| head.starts_with(magic)),
        "a trace of Tracy",
        "convert it with `tracy-csvexport -u CAPTURE > zones.csv` and open zones.csv",
    ),
    head(
        |head| head.starts_with(b"\x17\x08\x44tracing"),
        "a trace of trace-cmd",
        "convert it with `trace-cmd report CAPTURE > trace.txt` and open trace.txt",
    ),
    head(
        |head| head.starts_with(b"go 1.") && head.get(..16).is_some_and(|head| head.contains(&0)),
        "an execution trace of Go",
        "run `go tool trace -http=localhost:6060 CAPTURE`, and save http://localhost:6060/jsontrace as trace.json",
    ),
    head(
        |head| head.starts_with(b"FLR\0"),
        "a recording of Java's flight recorder",
        "convert it with async-profiler's `jfrconv -o collapsed CAPTURE stacks.txt` and open stacks.txt",
    ),
    head(
        // Usually compressed by lz4, whose first block begins with the same bytes after its token.
        |head| {
            let starts_block = |head: &[u8]| memchr::memmem::find(&head[..head.len().min(40)], b"memray\0").is_some();
            head.starts_with(b"memray") || head.starts_with(LZ4_FRAME) && starts_block(head)
        },
        "a recording of memray",
        MEMRAY,
    ),
    head(
        |head| head.starts_with(b"MOJ") && head.get(3).is_some_and(|version| *version < 8),
        "samples of austin in its binary form (MOJO)",
        "convert them with `mojo2austin CAPTURE samples.austin` of austin-python",
    ),
    head(
        is_heaptrack,
        "a recording of heaptrack",
        "convert it with `heaptrack_print -F stacks.txt -f CAPTURE` and open stacks.txt",
    ),
    head(is_gperftools, "a CPU profile of gperftools", GO_TOOL_PPROF),
    head(
        |head| {
            head.starts_with(b"--- symbol\n")
                || head.starts_with(b"--- contention\n") && has_line(head, b"cycles/second")
        },
        "a symbolized or contention profile of gperftools",
        "convert it with gperftools' `pprof --collapsed PROGRAM CAPTURE > stacks.txt` and open stacks.txt",
    ),
    head(
        is_go_text_profile,
        "a profile of Go as text (debug=1)",
        "fetch it without `debug=1`: the profile at http://HOST/debug/pprof/heap, goroutine, block or mutex is read",
    ),
    head(
        |head| head.starts_with(b"heap profile: ") || head.starts_with(b"heap_v2/"),
        "a heap profile of gperftools or jemalloc",
        "convert it with `jeprof --collapsed PROGRAM CAPTURE > stacks.txt` and open stacks.txt",
    ),
    head(
        is_xray,
        "a log of LLVM's XRay",
        "convert it with `llvm-xray convert --output-format=trace_event --symbolize --instr_map=PROGRAM CAPTURE -o trace.json`",
    ),
    head(
        is_stackprof,
        "a profile of Ruby's stackprof",
        "record it raw, and convert it with `stackprof --stackcollapse CAPTURE > stacks.txt`",
    ),
    UnsupportedFormat { sniff: Head(|head| head.starts_with(b"OTF2")), refused: OTF2 },
    head(
        |head| head.starts_with(b"\x5e\x97\xca\xfd"),
        "a recording of sysprof",
        "no known tool converts it; sysprof shows it. Record with `perf record` instead",
    ),
    head(
        is_pstats,
        "a profile of Python's cProfile (pstats)",
        "convert it with `pyprof2calltree -i CAPTURE -o callgrind.out`; for a timeline, record with viztracer or py-spy",
    ),
    head(
        |head| is_start_of_bpftrace(head) || begins_with_stacks_of_bpf(head),
        "output of bpftrace",
        "convert stacks with `stackcollapse-bpftrace.pl CAPTURE > stacks.txt`, of the FlameGraph scripts; lines that a script prints have no fixed form",
    ),
    head(
        |head| head.starts_with(b"MMPD"),
        "a self-profile of rustc",
        "convert it with `crox CAPTURE` of measureme, and open chrome_profiler.json",
    ),
    head(
        |head| [&b"MMES"[..], b"MMSD", b"MMSI"].iter().any(|magic| head.starts_with(magic)),
        "a self-profile of an old rustc (.events, .string_data)",
        "its version of measureme has a `crox` that converts the three files; newer compilers write one .mm_profdata",
    ),
    UnsupportedFormat { sniff: Head(is_etl), refused: ETL },
    UnsupportedFormat {
        sniff: Head(|head| {
            let magics = [&b"\xc1\x1f\xfc\xc1"[..], b"\xc1\xfc\x1f\xc1", b"\x57\x1d\xd1\x75", b"\x75\xd1\x1d\x57"];
            magics.iter().any(|magic| head.starts_with(magic)) || head.starts_with(b"/* CTF ")
        }),
        refused: CTF,
    },
    head(
        |head| head.starts_with(SQLITE),
        "an SQLite database without the tables of a known tool",
        "export it from the tool that wrote it",
    ),
    UnsupportedFormat {
        sniff: Head(|head| [&b"TRC2"[..], b"TRCE", b"2CRT", b"ECRT"].iter().any(|magic| head.starts_with(magic))),
        refused: UTRACE,
    },
    head(
        is_xplane,
        "a profile of XLA (xplane.pb)",
        "open the trace.json.gz that JAX and TensorBoard write beside it; `jax.profiler.trace(.., create_perfetto_trace=True)` writes one",
    ),
    head(
        |head| head.starts_with(b"gmon\x01\0\0\0") || head.starts_with(b"gmon\0\0\0\x01"),
        "a profile of gprof (gmon.out)",
        "it has no call stacks to convert; `gprof PROGRAM gmon.out` prints it. Record with `perf record -g` instead",
    ),
    head(
        |head| head.starts_with(b"JAVA PROFILE 1.0"),
        "a heap dump of Java",
        "it contains no times; record allocations with async-profiler's `-e alloc -o collapsed`",
    ),
    head(
        |head| head.starts_with(b"======") && has_line(head, b"== dumpstate: "),
        "a bug report of Android",
        "unpack the zip that it came in, and open FS/data/misc/perfetto-traces/bugreport/systrace.pftrace",
    ),
    head(
        |head| head.starts_with(b"v8-version,"),
        "a log of V8 (node --prof)",
        "record a profile with `node --cpu-prof` instead and open its .cpuprofile",
    ),
    head(
        |head| head.starts_with(b"desc: ") && has_line(head, b"time_unit: "),
        "a profile of valgrind's massif",
        "no known tool converts it; `ms_print CAPTURE` prints it",
    ),
    head(
        |head| is_page_with(head, "bokeh"),
        "a performance report of Dask",
        "it is a page for a browser; no known tool converts it",
    ),
    UnsupportedFormat { sniff: Head(|head| is_page_with(head, "pyinstrument")), refused: PYINSTRUMENT },
    head(|head| is_page_with(head, "<title>memray"), "a report of memray", MEMRAY),
    head(
        // The second is in the template of VizTracer and of examples of catapult.
        |head| is_page_with(head, "<title>VizTracer") || is_page_with(head, "onTraceViewerImportFail"),
        "a page of a trace viewer (VizTracer)",
        "open the JSON that it was made from, which VizTracer writes with `-o result.json`",
    ),
    head(
        |head| {
            ["The async-profiler authors", "Andrei Pangin", "/async-profiler'>async-profiler</a>"]
                .iter()
                .any(|text| is_page_with(head, text))
        },
        "a flame graph of async-profiler (HTML)",
        "convert it with `jfrconv -o collapsed CAPTURE stacks.txt` of async-profiler 4, or record with `asprof -o collapsed -f stacks.txt PID`",
    ),
    head(
        |head| first_element(head) == b"svg",
        "a picture (SVG)",
        "if it is a flame graph, open the collapsed stacks or the perf.data that it was made from; py-spy records with `-f speedscope`",
    ),
    keys(
        &["constants", "constants.logEventTypes"],
        "a log of Chrome's network (NetLog)",
        "https://netlog-viewer.appspot.com shows it; no known tool converts it",
    ),
    keys(
        &["snapshot", "snapshot.meta"],
        "a heap snapshot of V8",
        "it contains no times: DevTools shows it. A sampled profile (.heapprofile) has stacks",
    ),
    keys(
        &["alloc_samples", "args"],
        "a profile of scalene",
        "`scalene view CAPTURE` shows it; for stacks or a timeline, record with py-spy, austin or viztracer",
    ),
    UnsupportedFormat { sniff: Keys(&["query_name", "children"]), refused: DUCKDB },
    UnsupportedFormat { sniff: Keys(&["cumulative_rows_scanned", "children"]), refused: DUCKDB },
    // Up to version 1.0.
    UnsupportedFormat { sniff: Keys(&["result", "timing", "cardinality", "extra-info"]), refused: DUCKDB },
    // From version 2.0.
    UnsupportedFormat { sniff: Keys(&["io.total_bytes_read", "operator", "operator[].extra_info"]), refused: DUCKDB },
    head(
        |head| head.starts_with(b"{\"Event\":\"SparkListener"),
        "an event log of Spark",
        "Spark's history server shows it; no known tool converts it",
    ),
    UnsupportedFormat { sniff: Keys(&["event", "sid", "thread", "time"]), refused: GIT },
    keys(&["dhatFileVersion"], "a profile of DHAT", "dh_view.html of valgrind shows it; no known tool converts it"),
];

/// Formats that are refused only if no other format matches.
pub(super) const LATE: &[UnsupportedFormat] = &[
    head(
        strace::looks_like_strace_without_times,
        "output of strace or ltrace without times",
        "record it again with `strace -f -ttt -T -o trace.txt`, or `ltrace` with the same options",
    ),
    head(
        |head| has_line(head, b"Activity.TraceId:") || has_line(head, b"Activity.Id:"),
        "output of .NET's console exporter",
        "send the spans to a collector by OTLP, and open what its file exporter writes",
    ),
    head(
        |head| has_word(head, b"LoggingSpanExporter - '"),
        "output of Java's logging exporter, which has no times",
        "export with `OTEL_TRACES_EXPORTER=otlp` to a collector, and open what its file exporter writes",
    ),
    head(
        |head| {
            let is_ruby = || has_word(head, b"#<struct OpenTelemetry::SDK::Trace::SpanData");
            let is_cpp = || has_line(head, b"  trace_id      : ") && has_line(head, b"  duration      : ");
            has_line(head, b"Span #0") && has_word(head, b"TraceId") || is_ruby() || is_cpp()
        },
        "human-readable output of an OpenTelemetry exporter",
        "export by OTLP to a collector, and open what its file exporter writes",
    ),
    head(
        // Versions from 3.0 write a style before the class.
        |head| head.starts_with(b"<table ") && has_word(head, b" class='xdebug-trace'"),
        "a trace of Xdebug as a page",
        "record it with `xdebug.trace_format=1`",
    ),
    head(
        is_uftrace_text,
        "output of uftrace",
        "open the folder of the recording, `uftrace.data` unless `-d` named another, which is read",
    ),
    head(
        |head| head.starts_with(b"Analysis of sampling ") || has_line(head, b"Call graph:"),
        "output of `sample` of macOS",
        "convert it with `stackcollapse-sample.awk CAPTURE > stacks.txt`, of the FlameGraph scripts",
    ),
    head(
        |head| head.starts_with(b"@ ") && first_line_has(head, &[" [", " samples]"]),
        "output of pmcstat of FreeBSD",
        "convert it with `stackcollapse-pmc.pl CAPTURE > stacks.txt`, of the FlameGraph scripts",
    ),
    head(
        |head| has_line(head, b"Full thread dump "),
        "stacks of Java's threads (jstack)",
        "convert them with `stackcollapse-jstack.pl CAPTURE > stacks.txt`, of the FlameGraph scripts",
    ),
    head(
        is_gdb_stacks,
        "stacks that gdb prints",
        "convert them with `stackcollapse-gdb.pl CAPTURE > stacks.txt`, of the FlameGraph scripts",
    ),
    head(
        |head| head.starts_with(b"CPU     ID                    FUNCTION:NAME"),
        "output of DTrace",
        "convert stacks with `stackcollapse.pl CAPTURE > stacks.txt`, of the FlameGraph scripts",
    ),
    head(
        |head| {
            let is_table = || [&b"# Overhead "[..], b"# Baseline "].iter().any(|column| has_line(head, column));
            head.starts_with(b"# To display the perf.data header info") || is_table()
        },
        "a report of perf",
        "open the perf.data that it was made from, or what `perf script` prints",
    ),
    UnsupportedFormat { sniff: Head(is_perf_stat), refused: PERF_STAT },
    head(
        |head| has_word(head, b"  wait time  sch delay   run time"),
        "output of `perf sched timehist`",
        "open the perf.data that it was made from",
    ),
    head(
        is_kernel_log,
        "a log of the kernel (dmesg)",
        "it contains messages and no spans; `trace-cmd record -e all PROGRAM` records events",
    ),
    // Files opened by mistake, in a file dialog or by shell completion.
    head(
        |head| head.starts_with(b"\x7fELF") || is_windows_program(head),
        "a program or a library",
        "record a run of it, for example with `perf record -g PROGRAM`, and open the recording",
    ),
    no_trace(is_picture, "a picture", "open the trace that it shows"),
    no_trace(|head| head.starts_with(b"%PDF-"), "a PDF document", "open the trace that it mentions"),
    no_trace(|head| head.starts_with(b"#!"), "a script", "record a run of it, and open the recording"),
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

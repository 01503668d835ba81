//! Files that are not recordings: sums, coverage, memory dumps, packets, tables. They have no timeline, or an
//! unsupported timeline.

use super::bytes::{
    has_line, has_word, is_core_dump, is_gcc_time_report, is_mach_program, is_page_with, is_pcap, is_phpspy,
    is_strace_summary,
};
use super::reports::GCC_TIMES;
use super::table::Sniff::{Head, Keys};
use super::table::{HYPERFINE, MEMRAY, PERF_STAT, UnsupportedFormat, both, head, keys, no_trace};
use crate::formats::RefusedKind;

const LIGHTHOUSE: RefusedKind = RefusedKind::no_trace(
    "a report of Lighthouse",
    "open the .trace.json that `lighthouse --save-assets` writes beside it",
);

/// Results that first bytes or keys identify with certainty.
pub(super) const RESULTS: &[UnsupportedFormat] = &[
    head(
        is_pcap,
        "a recording of packets (pcap), or of sysdig",
        "it contains packets and no spans: Wireshark shows it",
    ),
    head(
        is_core_dump,
        "a dump of a program's memory (core)",
        "it is one moment: `gdb PROGRAM CAPTURE` shows its stacks. Record a run with `perf record -g PROGRAM`",
    ),
    head(
        |head| head.starts_with(b"MDMP") || head.starts_with(b"PAGEDU"),
        "a dump of memory of Windows",
        "it is one moment: WinDbg shows its stacks. Record a run with `samply record PROGRAM`",
    ),
    head(|head| head.starts_with(b"KDUMP   "), "a dump of Linux's kernel", "it is one moment: `crash` shows it"),
    head(
        |head| head.starts_with(b"ElfFile\0"),
        "an event log of Windows",
        "it contains messages and no spans; record with WPR and convert the .etl",
    ),
    head(
        |head| [&b"\x81rforpl\xff"[..], b"\xfflprofr\x81", b"\xfflprofi\x81"].iter().any(|it| head.starts_with(it)),
        "a profile of LLVM's instrumentation (profraw, profdata)",
        "it contains counts without times; `llvm-profdata show CAPTURE` prints it",
    ),
    head(
        |head| [&b"adcg"[..], b"gcda", b"oncg", b"gcno"].iter().any(|it| head.starts_with(it) && head.contains(&0)),
        "counts of gcov",
        "they have no times; `gcov` prints them",
    ),
    head(
        |head| (head.starts_with(b"TN:") || head.starts_with(b"SF:")) && has_line(head, b"SF:"),
        "coverage of lcov",
        "it contains counts without times; `genhtml CAPTURE` makes pages of it",
    ),
    keys(
        &["[].jmhVersion", "[].benchmark"],
        "results of Java's JMH",
        "they are sums without times; a profiler runs beside with JMH's option `-prof`",
    ),
    keys(
        &["context", "benchmarks", "context.library_build_type"],
        "results of Google Benchmark",
        "they are sums without times; record a run with `perf record -g PROGRAM`",
    ),
    // With `-fdiagnostics-format=json`, an empty list of diagnostics precedes the report.
    UnsupportedFormat { sniff: Head(|head| head.starts_with(b"[]\n") && is_gcc_time_report(head)), refused: GCC_TIMES },
    UnsupportedFormat { sniff: Keys(&["results", "results[].command", "results[].mean"]), refused: HYPERFINE },
    UnsupportedFormat { sniff: Keys(&["counter-value", "event", "event-runtime"]), refused: PERF_STAT },
    keys(
        &["result", "result[].scriptId", "result[].functions"],
        "coverage of V8 (NODE_V8_COVERAGE)",
        "it contains counts without times; record with `node --cpu-prof` and open the .cpuprofile",
    ),
    keys(
        &["flamebearer", "flamebearer.levels"],
        "a flame graph of Pyroscope as JSON",
        "export it as pprof or as collapsed stacks, which are read",
    ),
    keys(
        &["metadata.command", "metadata.logfiles", "timers"],
        "the timers of npm (--timing)",
        "they are durations without times; record with `node --cpu-prof` and open the .cpuprofile",
    ),
    keys(
        &["__REALTIME_TIMESTAMP", "MESSAGE"],
        "the journal of systemd as JSON",
        "it contains messages and no spans; `systemd-analyze plot` draws the start of the system",
    ),
    UnsupportedFormat { sniff: Keys(&["lighthouseVersion", "audits"]), refused: LIGHTHOUSE },
    UnsupportedFormat { sniff: Head(|head| is_page_with(head, "<title>Lighthouse Report")), refused: LIGHTHOUSE },
    keys(
        &["hash", "assets", "chunks"],
        "statistics of webpack",
        "they contain sizes; open what webpack's ProfilingPlugin writes",
    ),
    keys(
        &["errorsCount", "warningsCount"],
        "statistics of Rspack or webpack",
        "they contain sizes; open the rspack.pftrace that `RSPACK_PROFILE=OVERVIEW RSPACK_TRACE_LAYER=perfetto rspack build` writes",
    ),
    keys(
        &["turboVersion", "globalCacheInputs"],
        "a summary of Turborepo (--summarize, --dry)",
        "run the tasks with `turbo run TASK --profile=trace.json` and open trace.json",
    ),
    keys(
        &["version.major", "cmd", "frame", "line"],
        "commands of CMake (--trace-format=json-v1)",
        "run `cmake --profiling-format=google-trace --profiling-output=trace.json` and open trace.json",
    ),
    keys(
        &["Action", "Package", "Time"],
        "results of Go's tests (go test -json)",
        "they contain durations and messages; `go test -cpuprofile cpu.pprof` writes a profile that is read",
    ),
    keys(
        &["header.event", "javascriptStack"],
        "a diagnostic report of Node.js",
        "it is one moment; record a profile with `node --cpu-prof` and open its .cpuprofile",
    ),
    keys(&["[].Plan"], "a plan of PostgreSQL", "it contains durations without times; no known tool converts it"),
    head(
        |head| head.starts_with(b"PAR1") || head.starts_with(b"ARROW1"),
        "a table (Parquet, Arrow)",
        "if Longspan wrote it, open the trace that it was made from, or export that as .longspan, .json or .pftrace",
    ),
    head(
        |head| head.starts_with(b"bplist00"),
        "a property list of Apple",
        "it is a part of another file; record with `samply record` instead",
    ),
    keys(&["total_num_allocations", "total_bytes_allocated"], "sums of memray (memray stats)", MEMRAY),
    both(
        &["costs"],
        |head| memchr::memmem::find(head, b"\"callchain\"").is_some(),
        "call chains for gprof2dot, as memray writes them",
        "open the recording that they were made from; gprof2dot draws them",
    ),
];

/// Results that are only tried after all other formats.
pub(super) const LATE_RESULTS: &[UnsupportedFormat] = &[
    head(
        is_mach_program,
        "a program or a library",
        "record a run of it, for example with `samply record PROGRAM`, and open the recording",
    ),
    head(
        is_strace_summary,
        "a summary of strace or ltrace (-c)",
        "it contains sums; record it again with `strace -f -ttt -T -o trace.txt`",
    ),
    head(
        // The call graph alone is the output of `gprof -q`.
        |head| head.starts_with(b"Flat profile:") || has_line(head, b"granularity: each sample hit covers"),
        "output of gprof",
        "it contains sums without times; record with `perf record -g PROGRAM` instead",
    ),
    head(
        |head| head.starts_with(b"==") && has_word(head, b"NVPROF is profiling"),
        "output of nvprof",
        "it contains sums without times; record with `nsys profile PROGRAM`",
    ),
    head(
        |head| head.starts_with(b"Process ") && has_line(head, b"Python v"),
        "stacks that `py-spy dump` prints",
        "they are one moment; record with `py-spy record -f speedscope -o profile.json --pid PID`",
    ),
    head(is_phpspy, "output of phpspy", "convert it with `stackcollapse-phpspy.pl < CAPTURE > stacks.txt`, of phpspy"),
    head(
        |head| head.starts_with(b"goroutine ") && has_word(head, b"]:"),
        "stacks of Go's goroutines",
        "they are one moment; the profile at http://HOST/debug/pprof/goroutine is read",
    ),
    head(
        |head| head.starts_with(b"JOB \"") && has_line(head, b"SAMPLE_UNIT \""),
        "a heap profile of GHC (+RTS -h)",
        "it contains sizes without stacks; `hp2ps CAPTURE` draws it",
    ),
    head(
        |head| head.starts_with(b"$by.self\n"),
        "a summary of R's Rprof",
        "it contains sums without times; the `profvis` package shows the Rprof.out that it was made from",
    ),
    no_trace(|head| head.get(4..8) == Some(b"ftyp"), "a video", "open the trace that it shows"),
];

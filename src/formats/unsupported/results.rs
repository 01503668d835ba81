//! Files that are not recordings: sums, coverage, memory dumps, packets, tables. They have no timeline, or one
//! that is not supported.

use super::bytes::{has_line, has_word, is_core_dump, is_mach_program, is_page_with, is_pcap, is_phpspy};
use super::table::Sniff::{Both, Head, Keys};
use super::table::{HYPERFINE, MEMRAY, PERF_STAT, UnsupportedFormat};

pub(super) const VIDEO: &str = "a video";
pub(super) const LIGHTHOUSE: [&str; 2] =
    ["a report of Lighthouse", "open the .trace.json that `lighthouse --save-assets` writes beside it"];

/// Results that first bytes or keys identify with certainty.
pub(super) const RESULTS: &[UnsupportedFormat] = &[
    UnsupportedFormat {
        sniff: Head(is_pcap),
        found: "a recording of packets (pcap), or of sysdig",
        advice: "it contains packets and no spans: Wireshark shows it",
    },
    UnsupportedFormat {
        sniff: Head(is_core_dump),
        found: "a dump of a program's memory (core)",
        advice: "it is one moment: `gdb PROGRAM CAPTURE` shows its stacks. Record a run with `perf record -g PROGRAM`",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"MDMP") || head.starts_with(b"PAGEDU")),
        found: "a dump of memory of Windows",
        advice: "it is one moment: WinDbg shows its stacks. Record a run with `samply record PROGRAM`",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"KDUMP   ")),
        found: "a dump of Linux's kernel",
        advice: "it is one moment: `crash` shows it",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"ElfFile\0")),
        found: "an event log of Windows",
        advice: "it contains messages and no spans; record with WPR and convert the .etl",
    },
    UnsupportedFormat {
        sniff: Head(|head| {
            [&b"\x81rforpl\xff"[..], b"\xfflprofr\x81", b"\xfflprofi\x81"].iter().any(|it| head.starts_with(it))
        }),
        found: "a profile of LLVM's instrumentation (profraw, profdata)",
        advice: "it contains counts without times; `llvm-profdata show CAPTURE` prints it",
    },
    UnsupportedFormat {
        sniff: Head(|head| {
            [&b"adcg"[..], b"gcda", b"oncg", b"gcno"].iter().any(|it| head.starts_with(it) && head.contains(&0))
        }),
        found: "counts of gcov",
        advice: "they have no times; `gcov` prints them",
    },
    UnsupportedFormat {
        sniff: Head(|head| (head.starts_with(b"TN:") || head.starts_with(b"SF:")) && has_line(head, b"SF:")),
        found: "coverage of lcov",
        advice: "it contains counts without times; `genhtml CAPTURE` makes pages of it",
    },
    UnsupportedFormat {
        sniff: Keys(&["[].jmhVersion", "[].benchmark"]),
        found: "results of Java's JMH",
        advice: "they are sums without times; a profiler runs beside with JMH's option `-prof`",
    },
    UnsupportedFormat {
        sniff: Keys(&["context", "benchmarks", "context.library_build_type"]),
        found: "results of Google Benchmark",
        advice: "they are sums without times; record a run with `perf record -g PROGRAM`",
    },
    UnsupportedFormat {
        sniff: Keys(&["results", "results[].command", "results[].mean"]),
        found: HYPERFINE[0],
        advice: HYPERFINE[1],
    },
    UnsupportedFormat {
        sniff: Keys(&["counter-value", "event", "event-runtime"]),
        found: PERF_STAT[0],
        advice: PERF_STAT[1],
    },
    UnsupportedFormat {
        sniff: Keys(&["result", "result[].scriptId", "result[].functions"]),
        found: "coverage of V8 (NODE_V8_COVERAGE)",
        advice: "it contains counts without times; record with `node --cpu-prof` and open the .cpuprofile",
    },
    UnsupportedFormat {
        sniff: Keys(&["flamebearer", "flamebearer.levels"]),
        found: "a flame graph of Pyroscope as JSON",
        advice: "export it as pprof or as collapsed stacks, which are read",
    },
    UnsupportedFormat {
        sniff: Keys(&["metadata.command", "metadata.logfiles", "timers"]),
        found: "the timers of npm (--timing)",
        advice: "they are durations without times; record with `node --cpu-prof` and open the .cpuprofile",
    },
    UnsupportedFormat {
        sniff: Keys(&["__REALTIME_TIMESTAMP", "MESSAGE"]),
        found: "the journal of systemd as JSON",
        advice: "it contains messages and no spans; `systemd-analyze plot` draws the start of the system",
    },
    UnsupportedFormat { sniff: Keys(&["lighthouseVersion", "audits"]), found: LIGHTHOUSE[0], advice: LIGHTHOUSE[1] },
    UnsupportedFormat {
        sniff: Head(|head| is_page_with(head, "<title>Lighthouse Report")),
        found: LIGHTHOUSE[0],
        advice: LIGHTHOUSE[1],
    },
    UnsupportedFormat {
        sniff: Keys(&["hash", "assets", "chunks"]),
        found: "statistics of webpack",
        advice: "they contain sizes; open what webpack's ProfilingPlugin writes",
    },
    UnsupportedFormat {
        sniff: Keys(&["errorsCount", "warningsCount"]),
        found: "statistics of Rspack or webpack",
        advice: "they contain sizes; open the rspack.pftrace that `RSPACK_PROFILE=OVERVIEW RSPACK_TRACE_LAYER=perfetto rspack build` writes",
    },
    UnsupportedFormat {
        sniff: Keys(&["turboVersion", "globalCacheInputs"]),
        found: "a summary of Turborepo (--summarize, --dry)",
        advice: "run the tasks with `turbo run TASK --profile=trace.json` and open trace.json",
    },
    UnsupportedFormat {
        sniff: Keys(&["version.major", "cmd", "frame", "line"]),
        found: "commands of CMake (--trace-format=json-v1)",
        advice: "run `cmake --profiling-format=google-trace --profiling-output=trace.json` and open trace.json",
    },
    UnsupportedFormat {
        sniff: Keys(&["Action", "Package", "Time"]),
        found: "results of Go's tests (go test -json)",
        advice: "they contain durations and messages; `go test -cpuprofile cpu.pprof` writes a profile that is read",
    },
    UnsupportedFormat {
        sniff: Keys(&["header.event", "javascriptStack"]),
        found: "a diagnostic report of Node.js",
        advice: "it is one moment; record a profile with `node --cpu-prof` and open its .cpuprofile",
    },
    UnsupportedFormat {
        sniff: Keys(&["[].Plan"]),
        found: "a plan of PostgreSQL",
        advice: "it contains durations without times; no known tool converts it",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"PAR1") || head.starts_with(b"ARROW1")),
        found: "a table (Parquet, Arrow)",
        advice: "if Longspan wrote it, open the trace that it was made from, or export that as .longspan, .json or .pftrace",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"bplist00")),
        found: "a property list of Apple",
        advice: "it is a part of another file; record with `samply record` instead",
    },
    UnsupportedFormat {
        sniff: Keys(&["total_num_allocations", "total_bytes_allocated"]),
        found: "sums of memray (memray stats)",
        advice: MEMRAY,
    },
    UnsupportedFormat {
        sniff: Both(&["costs"], |head| memchr::memmem::find(head, b"\"callchain\"").is_some()),
        found: "call chains for gprof2dot, as memray writes them",
        advice: "open the recording that they were made from; gprof2dot draws them",
    },
];

/// Results that are only tried after all other formats.
pub(super) const LATE_RESULTS: &[UnsupportedFormat] = &[
    UnsupportedFormat {
        sniff: Head(is_mach_program),
        found: "a program or a library",
        advice: "record a run of it, for example with `samply record PROGRAM`, and open the recording",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"% time ") && has_word(head, b"usecs/call")),
        found: "a summary of strace or ltrace (-c)",
        advice: "it contains sums; record it again with `strace -f -ttt -T -o trace.txt`",
    },
    UnsupportedFormat {
        // The call graph alone is the output of `gprof -q`.
        sniff: Head(|head| {
            head.starts_with(b"Flat profile:") || has_line(head, b"granularity: each sample hit covers")
        }),
        found: "output of gprof",
        advice: "it contains sums without times; record with `perf record -g PROGRAM` instead",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"==") && has_word(head, b"NVPROF is profiling")),
        found: "output of nvprof",
        advice: "it contains sums without times; record with `nsys profile PROGRAM`",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"Process ") && has_line(head, b"Python v")),
        found: "stacks that `py-spy dump` prints",
        advice: "they are one moment; record with `py-spy record -f speedscope -o profile.json --pid PID`",
    },
    UnsupportedFormat {
        sniff: Head(is_phpspy),
        found: "output of phpspy",
        advice: "convert it with `stackcollapse-phpspy.pl < CAPTURE > stacks.txt`, of phpspy",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"goroutine ") && has_word(head, b"]:")),
        found: "stacks of Go's goroutines",
        advice: "they are one moment; the profile at http://HOST/debug/pprof/goroutine is read",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.get(4..8) == Some(b"ftyp")),
        found: VIDEO,
        advice: "open the trace that it shows",
    },
];

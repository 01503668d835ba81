//! Unsupported reports of profilers, compilers and virtual machines. They are only tried after all other formats.

use super::bytes::{
    first_element, first_line_has, has_line, has_word, is_apitrace, is_erlang_trace, is_gcc_time_report,
    is_line_profile, is_perf_map, is_trace_gc,
};
use super::logs::is_jvm_log;
use super::table::Sniff::Head;
use super::table::{GIT, HYPERFINE, STACKPROF, UnsupportedFormat, head};
use crate::formats::RefusedKind;

const PY_SPY: &str =
    "it contains sums of lines; record with `py-spy record -f speedscope -o profile.json -- python PROGRAM`";
const CPU_PROF: &str = "record a profile with `node --cpu-prof` instead and open its .cpuprofile";
const CALLGRIND: &str =
    "it contains messages and no times; `valgrind --tool=callgrind PROGRAM` writes a profile that is read";
const TIME_TRACE: &str = "it contains sums without times; `clang -ftime-trace -c FILE` writes a trace that is read";
const HEAPTRACK: &str = "convert the recording with `heaptrack_print -F stacks.txt -f RECORDING` and open stacks.txt";

pub(super) const GCC_TIMES: RefusedKind = RefusedKind::new("a time report of GCC (-ftime-report)", TIME_TRACE);

/// Reports that tools print or write as text, and recordings of the same tools.
pub(super) const REPORTS: &[UnsupportedFormat] = &[
    head(is_line_profile, "a profile of Python's line_profiler", PY_SPY),
    head(
        |head| head.starts_with(b"Timer unit: ") && has_line(head, b"Line #"),
        "a profile of Python's line_profiler",
        PY_SPY,
    ),
    head(
        |head| has_line(head, b"import time: "),
        "import times of Python (-X importtime)",
        "they are durations without times; record with `viztracer -o result.json PROGRAM` and open result.json",
    ),
    head(
        is_trace_gc,
        "a log of V8's garbage collection (--trace-gc)",
        "record with `node --trace-event-categories v8,node PROGRAM` and open node_trace.1.log",
    ),
    head(
        |head| head.starts_with(b"Statistical profiling result from "),
        "a report of V8 (node --prof-process)",
        CPU_PROF,
    ),
    head(
        is_jvm_log,
        "a log of Java's virtual machine (-Xlog, -XX:+PrintGC)",
        "it has no stacks; record with async-profiler: `asprof -o collapsed -f stacks.txt PID`",
    ),
    head(
        |head| head.starts_with(b"==") && has_word(head, b"== Using Valgrind-"),
        "output of a tool of valgrind",
        CALLGRIND,
    ),
    head(|head| first_element(head) == b"valgrindoutput", "output of a tool of valgrind (XML)", CALLGRIND),
    head(
        |head| has_line(head, b"Events shown:") && has_line(head, b"Events recorded:"),
        "output of callgrind_annotate or cg_annotate",
        "open the callgrind.out or cachegrind.out that it was made from, which is read",
    ),
    head(
        |head| has_line(head, b"ms_print arguments: "),
        "output of ms_print, of valgrind's massif",
        "it contains sizes without stacks to convert; record allocations with `heaptrack PROGRAM` instead",
    ),
    head(|head| head.starts_with(b"#-----------\nsnapshot=0\n"), "a profile of heaptrack in massif's form", HEAPTRACK),
    head(|head| has_line(head, b"MOST CALLS TO ALLOCATION FUNCTIONS"), "output of heaptrack_print", HEAPTRACK),
    UnsupportedFormat { sniff: Head(is_gcc_time_report), refused: GCC_TIMES },
    head(
        |head| head.starts_with(b"===---") && has_line(head, b"  Total Execution Time: "),
        "a time report of LLVM (-ftime-report)",
        TIME_TRACE,
    ),
    head(
        |head| {
            let kinds = [" trace: built-in: ", " trace: exec: ", " trace: run_command: "];
            first_line_has(head, &[".c:"]) && kinds.iter().any(|kind| has_word(head, kind.as_bytes()))
        },
        "a log of git (GIT_TRACE)",
        GIT.advice,
    ),
    head(
        |head| head.starts_with(b"Garbage Collection Report") && has_line(head, b"creator: xdebug"),
        "statistics of PHP's garbage collection (Xdebug)",
        "record calls with `xdebug.mode=trace` and `xdebug.trace_format=1`",
    ),
    head(
        is_apitrace,
        "a trace of apitrace",
        "it contains calls of a graphics interface to replay; no known tool converts it",
    ),
    head(
        is_perf_map,
        "names of generated functions for perf (perf-PID.map)",
        "open the perf.data that was recorded with it; names are read from /tmp, from its folder, and from those of `--symbols`",
    ),
    head(
        |head| has_line(head, b"  Mode: ") && has_word(head, b"% miss rate)"),
        "a report of Ruby's stackprof",
        STACKPROF,
    ),
    head(|head| head.starts_with(b"flamegraph(["), "a flame graph of Ruby's stackprof", STACKPROF),
    head(
        is_erlang_trace,
        "a trace of Erlang (fprof, dbg)",
        "analyse it with `fprof:profile({file, CAPTURE})` and `fprof:analyse({dest, FILE})`; erlgrind converts FILE to the format of callgrind",
    ),
    head(
        |head| first_line_has(head, &["FUNCTION ", "[uS / CALLS]"]),
        "an analysis of Erlang's eprof",
        "it contains sums without times; trace with `fprof`, whose analysis erlgrind converts to the format of callgrind",
    ),
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"command,mean,stddev,median,user,system,min,max")),
        refused: HYPERFINE,
    },
];

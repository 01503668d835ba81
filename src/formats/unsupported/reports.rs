//! Unsupported reports of profilers, compilers and virtual machines. They are only tried after all other formats.

use super::bytes::{
    first_element, first_line_has, has_line, has_word, is_apitrace, is_erlang_trace, is_line_profile, is_perf_map,
    is_trace_gc,
};
use super::logs::is_jvm_log;
use super::table::Sniff::Head;
use super::table::{GIT, HYPERFINE, STACKPROF, UnsupportedFormat};

const PY_SPY: &str =
    "it contains sums of lines; record with `py-spy record -f speedscope -o profile.json -- python PROGRAM`";
const CPU_PROF: &str = "record a profile with `node --cpu-prof` instead and open its .cpuprofile";
const CALLGRIND: &str =
    "it contains messages and no times; `valgrind --tool=callgrind PROGRAM` writes a profile that is read";
const TIME_TRACE: &str = "it contains sums without times; `clang -ftime-trace -c FILE` writes a trace that is read";
const HEAPTRACK: &str = "convert the recording with `heaptrack_print -F stacks.txt -f RECORDING` and open stacks.txt";

/// Reports that tools print or write as text, and recordings of the same tools.
pub(super) const REPORTS: &[UnsupportedFormat] = &[
    UnsupportedFormat { sniff: Head(is_line_profile), found: "a profile of Python's line_profiler", advice: PY_SPY },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"Timer unit: ") && has_line(head, b"Line #")),
        found: "a profile of Python's line_profiler",
        advice: PY_SPY,
    },
    UnsupportedFormat {
        sniff: Head(|head| has_line(head, b"import time: ")),
        found: "import times of Python (-X importtime)",
        advice: "they are durations without times; record with `viztracer -o result.json PROGRAM` and open result.json",
    },
    UnsupportedFormat {
        sniff: Head(is_trace_gc),
        found: "a log of V8's garbage collection (--trace-gc)",
        advice: "record with `node --trace-event-categories v8,node PROGRAM` and open node_trace.1.log",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"Statistical profiling result from ")),
        found: "a report of V8 (node --prof-process)",
        advice: CPU_PROF,
    },
    UnsupportedFormat {
        sniff: Head(is_jvm_log),
        found: "a log of Java's virtual machine (-Xlog, -XX:+PrintGC)",
        advice: "it has no stacks; record with async-profiler: `asprof -o collapsed -f stacks.txt PID`",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"==") && has_word(head, b"== Using Valgrind-")),
        found: "output of a tool of valgrind",
        advice: CALLGRIND,
    },
    UnsupportedFormat {
        sniff: Head(|head| first_element(head) == b"valgrindoutput"),
        found: "output of a tool of valgrind (XML)",
        advice: CALLGRIND,
    },
    UnsupportedFormat {
        sniff: Head(|head| has_line(head, b"Events shown:") && has_line(head, b"Events recorded:")),
        found: "output of callgrind_annotate or cg_annotate",
        advice: "open the callgrind.out or cachegrind.out that it was made from, which is read",
    },
    UnsupportedFormat {
        sniff: Head(|head| has_line(head, b"ms_print arguments: ")),
        found: "output of ms_print, of valgrind's massif",
        advice: "it contains sizes without stacks to convert; record allocations with `heaptrack PROGRAM` instead",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"#-----------\nsnapshot=0\n")),
        found: "a profile of heaptrack in massif's form",
        advice: HEAPTRACK,
    },
    UnsupportedFormat {
        sniff: Head(|head| has_line(head, b"MOST CALLS TO ALLOCATION FUNCTIONS")),
        found: "output of heaptrack_print",
        advice: HEAPTRACK,
    },
    UnsupportedFormat {
        sniff: Head(|head| has_line(head, b"Time variable ") && has_line(head, b" phase setup ")),
        found: "a time report of GCC (-ftime-report)",
        advice: TIME_TRACE,
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"===---") && has_line(head, b"  Total Execution Time: ")),
        found: "a time report of LLVM (-ftime-report)",
        advice: TIME_TRACE,
    },
    UnsupportedFormat {
        sniff: Head(|head| {
            let kinds = [" trace: built-in: ", " trace: exec: ", " trace: run_command: "];
            first_line_has(head, &[".c:"]) && kinds.iter().any(|kind| has_word(head, kind.as_bytes()))
        }),
        found: "a log of git (GIT_TRACE)",
        advice: GIT[1],
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"Garbage Collection Report") && has_line(head, b"creator: xdebug")),
        found: "statistics of PHP's garbage collection (Xdebug)",
        advice: "record calls with `xdebug.mode=trace` and `xdebug.trace_format=1`",
    },
    UnsupportedFormat {
        sniff: Head(is_apitrace),
        found: "a trace of apitrace",
        advice: "it contains calls of a graphics interface to replay; no known tool converts it",
    },
    UnsupportedFormat {
        sniff: Head(is_perf_map),
        found: "names of generated functions for perf (perf-PID.map)",
        advice: "open the perf.data that was recorded with it; names are read from /tmp, from its folder, and from those of `--symbols`",
    },
    UnsupportedFormat {
        sniff: Head(|head| has_line(head, b"  Mode: ") && has_word(head, b"% miss rate)")),
        found: "a report of Ruby's stackprof",
        advice: STACKPROF,
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"flamegraph([")),
        found: "a flame graph of Ruby's stackprof",
        advice: STACKPROF,
    },
    UnsupportedFormat {
        sniff: Head(is_erlang_trace),
        found: "a trace of Erlang (fprof, dbg)",
        advice: "analyse it with `fprof:profile({file, CAPTURE})` and `fprof:analyse({dest, FILE})`; erlgrind converts FILE to the format of callgrind",
    },
    UnsupportedFormat {
        sniff: Head(|head| head.starts_with(b"command,mean,stddev,median,user,system,min,max")),
        found: HYPERFINE[0],
        advice: HYPERFINE[1],
    },
];

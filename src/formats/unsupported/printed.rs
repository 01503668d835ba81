//! Unsupported texts that tools print: tables, reports and logs. They are only tried after all other formats.

use super::bytes::{first_element, first_line_has, has_line, has_word, is_dtrace_stacks};
use super::logs::is_bpf_map;
use super::table::Sniff::Head;
use super::table::{GIT, MEMRAY, NSYS, PYINSTRUMENT, UnsupportedFormat, head};
use crate::formats::input::lines::head_lines;
use crate::formats::input::text::split_at_byte;

const TRACY_ZONES: &str =
    "export the zones of the trace with `tracy-csvexport -u trace.tracy > zones.csv` and open zones.csv";
/// Parts of a trace that are exported for other programs.
pub(super) const OWN_TABLE: &str = "it is for databases and scripts; open the trace that it was made from, or export that as .longspan, .json or .pftrace";
const LOG: &str =
    "it contains messages and no spans; trace the steps themselves, for example with a profile of the build tool";

/// The first columns of spans that this program exports or lists as text.
const OWN_COLUMNS: &[u8] = b"ts,dur,depth,name,category,pid,tid,process,thread,track";

/// Unsupported texts that tools print or export.
pub(super) const PRINTED: &[UnsupportedFormat] = &[
    head(|head| head.starts_with(OWN_COLUMNS), "a table of spans that Longspan wrote (CSV)", OWN_TABLE),
    head(
        |head| first_line_has(head, &["src_file", "total_ns", "mean_ns", "std_ns"]),
        "sums of Tracy's zones",
        TRACY_ZONES,
    ),
    head(
        |head| first_line_has(head, &["src_file", "Time from start of program", "GPU execution time"]),
        "Tracy's zones of the GPU (tracy-csvexport -g)",
        TRACY_ZONES,
    ),
    head(
        |head| head.starts_with(b"MessageName") && first_line_has(head, &["total_ns"]),
        "messages of Tracy (tracy-csvexport -m)",
        TRACY_ZONES,
    ),
    head(
        |head| first_line_has(head, &["src_file", "ns_since_start", "exec_time_ns"]),
        "Tracy's zones with a separator that is not read",
        TRACY_ZONES,
    ),
    head(
        |head| {
            [
                "Time (%),Total Time (ns)",
                "Time(%),Total Time (ns)",
                "Start (ns),Duration (ns)",
                "Start(ns),Duration(ns)",
            ]
            .iter()
            .any(|columns| has_line(head, columns.as_bytes()))
        },
        "a table that `nsys stats` prints",
        NSYS.advice,
    ),
    head(
        |head| {
            first_line_has(head, &["KernelName", "BeginNs"])
                || first_line_has(head, &["Correlation_Id", "Start_Timestamp"])
        },
        "a table of rocprof",
        "record with `rocprofv3 --output-format pftrace` and open the .pftrace, or with `rocprof --sys-trace` and open results.json",
    ),
    head(
        |head| {
            let is_of_nodes = || has_line(head, b"Showing nodes accounting for ") || has_line(head, b"-----------+---");
            let is_list = || head.starts_with(b"Total: ") && has_line(head, b"ROUTINE ====");
            has_line(head, b"Type: ") && is_of_nodes() || is_list() || is_table_of_tags(head)
        },
        "output of `go tool pprof` (-top, -traces, -tree, -list, -tags)",
        "open the profile itself, which is read",
    ),
    head(
        |head| has_line(head, b"--- Execution profile ---"),
        "output of async-profiler (flat, traces)",
        "record with `asprof -o collapsed -f stacks.txt PID` and open stacks.txt",
    ),
    head(
        |head| head.starts_with(b"Sampling at ") && first_line_has(head, &[" Hertz of "]),
        "output of `profile` of bcc",
        "record with its option `-f`, as `profile -f > stacks.txt`, and open stacks.txt",
    ),
    head(
        is_dtrace_stacks,
        "output of DTrace",
        "convert stacks with `stackcollapse.pl CAPTURE > stacks.txt`, of the FlameGraph scripts",
    ),
    head(
        |head| has_word(head, b"ResourceSpans #0"),
        "human-readable output of an OpenTelemetry exporter",
        "export by OTLP to a collector, and open what its file exporter writes",
    ),
    head(
        |head| {
            let first = head.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii();
            matches!(first, b"packet {" | b"packet: {" | b"packet{")
        },
        "a trace of Perfetto as text",
        "convert it with `traceconv binary CAPTURE trace.pftrace` and open trace.pftrace",
    ),
    head(
        |head| has_line(head, b"buffers") && has_line(head, b"data_sources"),
        "a configuration of Perfetto",
        "record with it: `perfetto --txt -c FILE -o trace.pftrace`, and open trace.pftrace",
    ),
    head(
        |head| head.starts_with(b"TRACEv0"),
        "a trace of Turbopack (.next/trace-turbopack)",
        "open the file `trace` beside it, which is read; `next internal trace CAPTURE` shows this one",
    ),
    head(
        |head| matches!(first_element(head), b"testsuites" | b"testsuite"),
        "results of tests (JUnit)",
        "they contain durations without times; junit2otlp sends them to a collector: open what its file exporter writes",
    ),
    head(
        // The number is a time in seconds.
        |head| has_word(head, b"section_start:1"),
        "a log of GitLab's pipelines",
        LOG,
    ),
    head(|head| has_word(head, b"Z ##[group]"), "a log of GitHub Actions", LOG),
    UnsupportedFormat {
        sniff: Head(|head| {
            let first = head_lines(head).next().unwrap_or_default();
            let is_time = matches!(first, [_, _, b':', _, _, b':', _, _, b'.', ..]);
            is_time && [" common-main.c:", " performance: "].iter().any(|text| has_word(head, text.as_bytes()))
        }),
        refused: GIT,
    },
    UnsupportedFormat {
        sniff: Head(|head| has_line(head, b"  _     ._   __/__   _ _  _  _ _/_")),
        refused: PYINSTRUMENT,
    },
    head(
        |head| memchr::memmem::find(&head[..head.len().min(64)], b"cyappi\nYFuncStats\n").is_some(),
        "a profile of yappi (ystat)",
        "save it with `stats.save(FILE, type=\"callgrind\")`",
    ),
    head(
        |head| has_word(head, b" function calls ") && has_word(head, b" ncalls  tottime  percall"),
        "a report of Python's cProfile",
        "it contains sums without times; save the profile with `python -m cProfile -o FILE PROGRAM`, and convert it with `pyprof2calltree -i FILE -o callgrind.out`",
    ),
    head(
        |head| has_line(head, b"Thread ID: ") && has_word(head, b"%self "),
        "a report of Ruby's ruby-prof",
        "it contains sums without times; record with its option `--printer=call_tree`, which writes the format of callgrind",
    ),
    head(
        is_bpf_map,
        "counts that bpftrace prints",
        "they are sums without times; count stacks, as `@[ustack] = count()`, and convert what it prints with `stackcollapse-bpftrace.pl`, of the FlameGraph scripts",
    ),
    head(
        |head| head.starts_with(b"sample:\n  event_type: "),
        "samples of simpleperf as text",
        "open the perf.data that they were made from",
    ),
    head(|head| head.starts_with(b"allocator,num_allocations,size,"), "a report of memray", MEMRAY),
    head(
        |head| has_word(head, b" Total allocations:") && has_word(head, b" Total memory allocated:"),
        "sums of memray (memray stats)",
        MEMRAY,
    ),
    head(
        |head| has_line(head, b" Chunks: ") && has_line(head, b" Event Type "),
        "a summary of a recording of Java (jfr summary)",
        "convert the recording with async-profiler's `jfrconv -o collapsed RECORDING stacks.txt` and open stacks.txt",
    ),
    head(
        is_cmake_trace,
        "commands of CMake (--trace)",
        "run `cmake --profiling-format=google-trace --profiling-output=trace.json` and open trace.json",
    ),
    head(
        |head| head.starts_with(b"NYTProf "),
        "a profile of Perl's NYTProf",
        "convert it with `nytprofcg --file CAPTURE --out callgrind.out` and open callgrind.out",
    ),
    head(
        |head| {
            head.starts_with(b" Percent |\t") || has_word(head, b"|   Runtime ms  | Switches |") || is_sched_map(head)
        },
        "a report of perf",
        "open the perf.data that it was made from, or what `perf script` prints",
    ),
    head(
        is_record_dump,
        "a dump of perf's records (perf script -D)",
        "open the perf.data that it was made from, or what `perf script` prints without -D",
    ),
    head(
        |head| head.starts_with(b"# event histogram\n"),
        "a histogram of ftrace (trigger hist)",
        "it contains counts without times; open the file `trace` beside it, or what `trace-cmd report` prints",
    ),
    head(
        is_qemu_log,
        "a trace log of QEMU",
        "its events are not spans; build QEMU with `--enable-trace-backends=ftrace`, and open what `trace-cmd report` prints",
    ),
    head(
        |head| has_line(head, b"Clock type: ") && has_line(head, b"Ordered by: "),
        "a report of yappi",
        "it contains sums without times; save it with `stats.save(FILE, type=\"callgrind\")`",
    ),
    head(
        is_go_runtime_log,
        "messages of Go's runtime (GODEBUG)",
        "they are not spans; record a profile with `runtime/pprof` or `go test -cpuprofile cpu.pprof`, and open it",
    ),
    head(
        |head| head.starts_with(b"time: {\"pass\":"),
        "the passes of rustc (-Ztime-passes)",
        "they have no start times; record with `-Zself-profile` and convert it with `crox`",
    ),
    head(
        |head| has_line(head, b" Summary of events:"),
        "a summary of `perf trace`",
        "it contains sums without times; `perf trace -o trace.txt PROGRAM` without `-s` prints each call",
    ),
];

/// Returns whether this is a log of QEMU's `-trace`, with lines `PID@SECONDS.MICROSECONDS:event fields`.
fn is_qemu_log(head: &[u8]) -> bool {
    let is_event = |line: &[u8]| {
        let (process, rest) = split_at_byte(line, b'@');
        let (time, event) = split_at_byte(rest, b':');
        let (seconds, micros) = split_at_byte(time, b'.');
        let is_number = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
        [process, seconds, micros].into_iter().all(is_number) && micros.len() == 6 && !event.is_empty()
    };
    head_lines(head).take(20).filter(|line| is_event(line)).count() >= 2
}

/// Returns whether this is what `go tool pprof -tags` prints: ` key: Total 10ms`, and values with their shares below.
fn is_table_of_tags(head: &[u8]) -> bool {
    let mut lines = head_lines(head);
    let (key, value) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let has = |line, text: &[u8]| memchr::memmem::find(line, text).is_some();
    key.starts_with(b" ") && has(key, b": Total ") && value.starts_with(b" ") && has(value, b"%): ")
}

/// Returns whether these are commands that `cmake` traces, with lines `/a/CMakeLists.txt(12):  set(NAME value )`.
fn is_cmake_trace(head: &[u8]) -> bool {
    let is_command = |line: &[u8]| {
        let (script, rest) = split_at_byte(line, b'(');
        let (number, command) = split_at_byte(rest, b')');
        (script.ends_with(b".cmake") || script.ends_with(b"CMakeLists.txt"))
            && number.iter().all(u8::is_ascii_digit)
            && command.starts_with(b":  ")
    };
    head_lines(head).take(20).filter(|line| is_command(line)).count() >= 2
}

/// Returns whether these are lines that Go programs print with `GODEBUG=gctrace=1`, `schedtrace` or `inittrace=1`.
fn is_go_runtime_log(head: &[u8]) -> bool {
    let is_message = |line: &[u8]| {
        line.starts_with(b"gc ") && has_word(line, b" ms clock, ")
            || line.starts_with(b"SCHED ") && has_word(line, b" gomaxprocs=")
            || line.starts_with(b"init ") && has_word(line, b" ms clock, ")
    };
    head_lines(head).next().is_some_and(is_message)
}

/// Returns whether this is a dump of the records of a perf.data, each under a line `0x108@perf.data [0x50]: event: 69`
/// or `0x108 [0x50]: event: 69`, often after its time.
fn is_record_dump(head: &[u8]) -> bool {
    let mut lines = head_lines(head).map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let has = |line: &[u8], text: &[u8]| memchr::memmem::find(line, text).is_some();
    has(first, b"0x")
        && has(first, b" [0x")
        && has(first, b"]: event: ")
        && lines.take(3).any(|line| has(line, b"raw event: size"))
}

/// Returns whether this is what `perf sched map` prints: the first line names a task by a letter and a digit.
fn is_sched_map(head: &[u8]) -> bool {
    let first = head_lines(head).next().unwrap_or_default();
    let text = |needle: &[u8]| memchr::memmem::find(first, needle).is_some();
    first.trim_ascii_start().starts_with(b"*A0 ") && text(b" secs A0 => ")
}

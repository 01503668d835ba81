//! Anonymous memory of a command, sampled from outside, for traces of hard shapes. These have many threads, processes,
//! names, open spans, async ids, stacks, members or files, or one huge event. `SECURITY.md` states the limit.
//!
//! With `LONGSPAN_LONG_TESTS=1`, as set by `.ci/run --long`, each shape has 800,000 items.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use longspan::facade::formats::native::write::NativeWriter;
use longspan::facade::model::{Chunk, Event, EventFlags, EventKind, Id, Losses, Names, Registry, TrackKey, TrackKind};

use crate::harness::{anonymous_kib, folder, limited};

const MIB: u64 = 1 << 20;

/// Memory of a load in addition to its budget: the program itself, its stacks, and blocks of the formats.
const BESIDE_BYTES: u64 = 64 * MIB;
/// Limit per name, track, lane, stack, file and process.
const ROW_BYTES: u64 = 128;
/// Limit per chunk and per extent.
const EXTENT_BYTES: u64 = 64;
/// A trace and the number of its table rows.
struct Shape {
    name: &'static str,
    /// Writes the trace with this count into a folder, and returns the files to open.
    write: fn(&Path, u64) -> Vec<PathBuf>,
    /// Table rows per item: names and stacks, which `info` does not report.
    names_each: u64,
    /// Divisor of the usual count, since some shapes take longer.
    divisor: u64,
    /// Commands within the limit in addition to `info`, which is tested for every shape.
    commands: &'static [Command],
}

/// A command that reads a whole store.
#[derive(Debug, Clone, Copy)]
enum Command {
    Dump,
    Stats,
    /// Statistics of the samples.
    Samples,
    Flame,
    /// A flame graph from the innermost function out.
    Inverted,
    Spans,
    /// An export to tables.
    Parquet,
    /// An export as Chrome JSON.
    Chrome,
    /// An export as a Perfetto trace.
    Perfetto,
}

use Command::{Chrome, Dump, Flame, Inverted, Parquet, Perfetto, Samples, Spans, Stats};

const SHAPES: &[Shape] = &[
    Shape { name: "threads", write: threads, names_each: 0, divisor: 1, commands: &[Dump, Parquet] },
    Shape { name: "nested threads", write: nested_threads, names_each: 0, divisor: 4, commands: &[Dump] },
    Shape { name: "deep threads", write: deep_threads, names_each: 0, divisor: 1, commands: &[Stats, Flame, Spans] },
    Shape { name: "named threads", write: named_threads, names_each: 1, divisor: 1, commands: &[] },
    Shape { name: "processes", write: processes, names_each: 0, divisor: 1, commands: &[] },
    Shape { name: "counters", write: counters, names_each: 1, divisor: 1, commands: &[] },
    Shape { name: "names", write: names, names_each: 1, divisor: 1, commands: &[Dump, Stats] },
    Shape { name: "long names", write: long_names, names_each: 1, divisor: 5, commands: &[Dump, Stats] },
    Shape { name: "long names of a native trace", write: native_names, names_each: 1, divisor: 5, commands: &[] },
    Shape { name: "open spans", write: open_spans, names_each: 0, divisor: 1, commands: &[] },
    Shape { name: "asynchronous ids", write: async_ids, names_each: 0, divisor: 1, commands: &[] },
    Shape { name: "flows without end", write: flows, names_each: 0, divisor: 1, commands: &[] },
    Shape { name: "keys of arguments", write: argument_keys, names_each: 0, divisor: 1, commands: &[] },
    Shape { name: "stacks", write: stacks, names_each: 2, divisor: 1, commands: &[] },
    Shape { name: "random stacks", write: random_stacks, names_each: 40, divisor: 4, commands: &[Samples] },
    Shape { name: "call paths", write: call_paths, names_each: 0, divisor: 1, commands: &[Flame, Inverted] },
    Shape { name: "long names of stacks", write: long_stacks, names_each: 3, divisor: 5, commands: &[] },
    Shape { name: "long names of samples", write: long_samples, names_each: 3, divisor: 5, commands: &[] },
    Shape { name: "stacks of a table", write: tabled_stacks, names_each: 0, divisor: 1, commands: &[] },
    Shape { name: "spans with stacks of a table", write: spans_with_stacks, names_each: 0, divisor: 1, commands: &[] },
    Shape { name: "events of one time", write: ties, names_each: 0, divisor: 2, commands: &[Chrome, Perfetto] },
    Shape { name: "calls without end", write: endless_calls, names_each: 0, divisor: 1, commands: &[] },
    Shape { name: "sampled threads", write: sampled_threads, names_each: 0, divisor: 1, commands: &[] },
    Shape { name: "tasks of a scheduler", write: tasks, names_each: 0, divisor: 1, commands: &[] },
    Shape { name: "long ids", write: long_ids, names_each: 0, divisor: 10, commands: &[] },
    Shape { name: "long names of processes", write: long_labels, names_each: 1, divisor: 10, commands: &[] },
    Shape { name: "long names of tasks", write: long_tasks, names_each: 1, divisor: 10, commands: &[] },
    Shape { name: "long names of services", write: long_services, names_each: 1, divisor: 10, commands: &[] },
    Shape { name: "members of an archive", write: members, names_each: 0, divisor: 50, commands: &[] },
    Shape { name: "files", write: files, names_each: 0, divisor: 100, commands: &[] },
];

/// Returns the number of items in a trace.
fn count() -> u64 {
    if std::env::var_os("LONGSPAN_LONG_TESTS").is_some() { 800_000 } else { 100_000 }
}

fn json(folder: &Path, events: impl Iterator<Item = String>) -> Vec<PathBuf> {
    let path = folder.join("trace.json");
    let mut out = BufWriter::new(File::create(&path).expect("created"));
    for (number, event) in events.enumerate() {
        write!(out, "{}{event}", if number == 0 { "[" } else { ",\n" }).expect("written");
    }
    out.write_all(b"]").expect("written");
    out.flush().expect("written");
    vec![path]
}

fn threads(folder: &Path, count: u64) -> Vec<PathBuf> {
    json(folder, (0..count).map(|k| format!(r#"{{"ph":"X","pid":1,"tid":{k},"ts":{k},"dur":5,"name":"work"}}"#)))
}

/// Two nested spans on each thread.
fn nested_threads(folder: &Path, count: u64) -> Vec<PathBuf> {
    let spans = |k| [5, 4].map(|dur| format!(r#"{{"ph":"X","pid":1,"tid":{k},"ts":{k},"dur":{dur},"name":"work"}}"#));
    json(folder, (0..count).flat_map(spans))
}

/// Threads of 50,000 nested spans each, so that a query has as many lanes at a time.
fn deep_threads(folder: &Path, count: u64) -> Vec<PathBuf> {
    const LEVELS: u64 = 50_000;
    let event = |k: u64| {
        let (tid, level) = (k / (2 * LEVELS), k % (2 * LEVELS));
        let (phase, name) = if level < LEVELS { ("B", level % 50) } else { ("E", (2 * LEVELS - 1 - level) % 50) };
        format!(r#"{{"ph":"{phase}","pid":1,"tid":{tid},"ts":{level},"name":"f{name}"}}"#)
    };
    json(folder, (0..2 * count).map(event))
}

fn named_threads(folder: &Path, count: u64) -> Vec<PathBuf> {
    let named = |k| {
        format!(
            r#"{{"ph":"M","pid":1,"tid":{k},"name":"thread_name","args":{{"name":"worker number {k}"}}}},
            {{"ph":"X","pid":1,"tid":{k},"ts":{k},"dur":5,"name":"work"}}"#
        )
    };
    json(folder, (0..count).map(named))
}

fn processes(folder: &Path, count: u64) -> Vec<PathBuf> {
    json(folder, (0..count).map(|k| format!(r#"{{"ph":"X","pid":{k},"tid":{k},"ts":{k},"dur":5,"name":"work"}}"#)))
}

fn counters(folder: &Path, count: u64) -> Vec<PathBuf> {
    let counter = |k| format!(r#"{{"ph":"C","pid":1,"ts":{k},"name":"counter number {k}","args":{{"value":{k}}}}}"#);
    json(folder, (0..count).map(counter))
}

fn names(folder: &Path, count: u64) -> Vec<PathBuf> {
    let span = |k| format!(r#"{{"ph":"X","pid":1,"tid":1,"ts":{},"dur":5,"name":"function number {k}"}}"#, k * 10);
    json(folder, (0..count).map(span))
}

/// Names of 3,000 letters each, which exceed the limit many times.
fn long_names(folder: &Path, count: u64) -> Vec<PathBuf> {
    let letters = "x".repeat(3000);
    let name = |k| format!(r#"{{"ph":"X","pid":1,"tid":1,"ts":{},"dur":5,"name":"{k} {letters}"}}"#, k * 10);
    json(folder, (0..count).map(name))
}

/// The same in the native format, which has all names before the first event.
fn native_names(folder: &Path, count: u64) -> Vec<PathBuf> {
    let path = folder.join("trace.longspan");
    let (mut names, mut registry, mut chunk) = (Names::default(), Registry::default(), Chunk::default());
    let (kind, pid, tid) = (TrackKind::Thread, Id::Number(1), Id::Number(1));
    let track = registry.track(&TrackKey { kind, pid, tid, name: "".into(), slot: 0 }).expect("room");
    let letters = "x".repeat(3000);
    for ts_ns in 0..count as i64 {
        let name = names.intern(&format!("{ts_ns} {letters}"), None);
        let (kind, flags) = (EventKind::Complete, EventFlags::NONE);
        chunk.events.push(Event { ts_ns, value: 1, track, name, detail: 0, depth: 0, kind, flags });
    }
    let mut writer = NativeWriter::new(File::create(&path).expect("created"), false).expect("written");
    writer.write_tables(&names, registry.tables()).expect("written");
    writer.write_chunk(&chunk).expect("written");
    writer.finish(&Losses::default()).expect("written");
    vec![path]
}

/// The spans are on sixteen threads, so that each has fewer open spans than a track has lanes.
fn open_spans(folder: &Path, count: u64) -> Vec<PathBuf> {
    let begin =
        |k| format!(r#"{{"ph":"B","pid":1,"tid":{},"ts":{},"name":"work","args":{{"number":{k}}}}}"#, k % 16, k * 10);
    json(folder, (0..count).map(begin))
}

fn async_ids(folder: &Path, count: u64) -> Vec<PathBuf> {
    let begin = |k| format!(r#"{{"ph":"b","cat":"c","id":{k},"pid":1,"tid":1,"ts":{},"name":"work"}}"#, k * 10);
    json(folder, (0..count).map(begin))
}

fn flows(folder: &Path, count: u64) -> Vec<PathBuf> {
    let start = |k| format!(r#"{{"ph":"s","cat":"c","id":{k},"pid":1,"tid":1,"ts":{},"name":"work"}}"#, k * 10);
    json(folder, (0..count).map(start))
}

fn argument_keys(folder: &Path, count: u64) -> Vec<PathBuf> {
    let span = |k| {
        let args = format!(r#"{{"key number {k}":{k}}}"#);
        format!(r#"{{"ph":"X","pid":1,"tid":1,"ts":{},"dur":5,"name":"work","args":{args}}}"#, k * 10)
    };
    json(folder, (0..count).map(span))
}

fn stacks(folder: &Path, count: u64) -> Vec<PathBuf> {
    let path = folder.join("stacks.txt");
    let mut text = String::new();
    for k in 0..count {
        writeln!(text, "main;loop;f{};g{k} 10", k % 1000).expect("memory");
    }
    fs::write(&path, text).expect("written");
    vec![path]
}

/// Collapsed stacks of 40 frames. Nearly no two stacks share a frame.
fn random_stacks(folder: &Path, count: u64) -> Vec<PathBuf> {
    let mut state = 1_u64;
    let mut frame = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        format!(";f{}", (state >> 33) % 100)
    };
    let lines = (0..count).map(|_| format!("main{} 3", (1..40).map(&mut frame).collect::<String>()));
    text(folder, "stacks.txt", lines)
}

/// Eight spans on each of as many call paths, of few names.
fn call_paths(folder: &Path, count: u64) -> Vec<PathBuf> {
    let spans = |k: u64| {
        let name = |depth| match depth {
            0 => k % 317,
            1 => 317 + k / 317,
            deeper => deeper,
        };
        let span = move |depth: u64| {
            let (ts, dur, name) = (k * 20 + depth, 18 - 2 * depth, name(depth));
            format!(r#"{{"ph":"X","pid":1,"tid":{},"ts":{ts},"dur":{dur},"name":"f{name}"}}"#, k % 10)
        };
        (0..8).map(span).collect::<Vec<_>>().join(",\n")
    };
    json(folder, (0..count).map(spans))
}

/// Collapsed stacks, whose names exceed the limit many times.
fn long_stacks(folder: &Path, count: u64) -> Vec<PathBuf> {
    let letters = "x".repeat(3000);
    text(folder, "stacks.txt", (0..count).map(|k| format!("main;{k}{letters} 10")))
}

/// Samples of `perf script` with as long names.
fn long_samples(folder: &Path, count: u64) -> Vec<PathBuf> {
    let letters = "x".repeat(3000);
    let sample = |k| format!("prog 7/7 1000.{k:06}: 10 cycles:\n\tffff {letters}{k} (prog)\n");
    text(folder, "perf.txt", (0..count).map(sample))
}

/// Events that refer to 10,000 stacks of up to 100 frames each.
fn table_of_frames(folder: &Path, events: impl Iterator<Item = String>) -> Vec<PathBuf> {
    let frame = |k: u64| {
        let parent = if k.is_multiple_of(100) { String::new() } else { format!(r#","parent":{}"#, k - 1) };
        format!(r#""{k}":{{"name":"application::module::function number {k}"{parent}}}"#)
    };
    let frames: Vec<_> = (0..10_000).map(frame).collect();
    let events: Vec<_> = events.collect();
    let path = folder.join("trace.json");
    let text = format!(r#"{{"stackFrames":{{{}}},"traceEvents":[{}]}}"#, frames.join(",\n"), events.join(",\n"));
    fs::write(&path, text).expect("written");
    vec![path]
}

fn tabled_stacks(folder: &Path, count: u64) -> Vec<PathBuf> {
    let sample = |k| format!(r#"{{"ph":"P","pid":1,"tid":1,"ts":{k},"sf":{}}}"#, k * 7919 % 10_000);
    table_of_frames(folder, (0..count).map(sample))
}

/// The stack of each span is an argument.
fn spans_with_stacks(folder: &Path, count: u64) -> Vec<PathBuf> {
    let span = |k| {
        let sf = k * 7919 % 10_000;
        format!(r#"{{"ph":"X","pid":1,"tid":1,"ts":{},"dur":5,"name":"work","sf":{sf}}}"#, k * 10)
    };
    table_of_frames(folder, (0..count).map(span))
}

/// Instants and spans with 3,000 letters of arguments each, which exceed the limit many times.
fn ties(folder: &Path, count: u64) -> Vec<PathBuf> {
    let letters = "x".repeat(3000);
    let event = |k| {
        let phase = if k % 100 == 0 { r#""ph":"X","dur":5"# } else { r#""ph":"i","s":"t""# };
        let tid = k % 7;
        format!(r#"{{{phase},"pid":1,"tid":{tid},"ts":5,"name":"work","args":{{"number":{k},"text":"{letters}"}}}}"#)
    };
    json(folder, (0..count).map(event))
}

fn text(folder: &Path, name: &str, lines: impl Iterator<Item = String>) -> Vec<PathBuf> {
    let path = folder.join(name);
    let mut out = BufWriter::new(File::create(&path).expect("created"));
    lines.for_each(|line| writeln!(out, "{line}").expect("written"));
    out.flush().expect("written");
    vec![path]
}

/// Unfinished calls of strace, on 50 threads.
fn endless_calls(folder: &Path, count: u64) -> Vec<PathBuf> {
    let call = |k| format!("{} 1700000000.{k:06} read(3,  <unfinished ...>", k % 50 + 10);
    text(folder, "strace.txt", (0..count).map(call))
}

/// Threads of perf, with one sample each.
fn sampled_threads(folder: &Path, count: u64) -> Vec<PathBuf> {
    let sample = |k| format!("prog 7/{} 1000.{k:06}: 10 cycles:\n\tffff main (prog)\n", k + 10);
    text(folder, "perf.txt", (0..count).map(sample))
}

/// Tasks of ftrace. Each task runs once.
fn tasks(folder: &Path, count: u64) -> Vec<PathBuf> {
    let switch = |k| {
        let (cpu, tid) = (k % 8, k + 10);
        let before = "prev_comm=swapper prev_pid=0 prev_prio=120 prev_state=R";
        let next = format!("next_comm=w{} next_pid={tid} next_prio=120", k % 10);
        format!("          <idle>-0       [{cpu:03}] d..2. 1000.{k:06}: sched_switch: {before} ==> {next}")
    };
    text(folder, "ftrace.txt", ["# tracer: nop\n#".to_owned()].into_iter().chain((0..count).map(switch)))
}

/// Letters of ids and names that exceed the limit many times, and differ at their ends.
fn long_text(k: u64) -> String {
    format!("{}{k}", "x".repeat(10_000))
}

fn long_ids(folder: &Path, count: u64) -> Vec<PathBuf> {
    let span = |k| {
        let (pid, tid) = (long_text(k), long_text(k + 1));
        format!(r#"{{"ph":"X","pid":"{pid}","tid":"{tid}","ts":{k},"dur":5,"name":"work"}}"#)
    };
    json(folder, (0..count).map(span))
}

fn long_labels(folder: &Path, count: u64) -> Vec<PathBuf> {
    let named = |k| {
        let name = long_text(k);
        format!(
            r#"{{"ph":"M","pid":{k},"name":"process_name","args":{{"name":"{name}"}}}},
            {{"ph":"X","pid":{k},"tid":{k},"ts":{k},"dur":5,"name":"work"}}"#
        )
    };
    json(folder, (0..count).map(named))
}

fn long_tasks(folder: &Path, count: u64) -> Vec<PathBuf> {
    let switch = |k| {
        let before = "prev_comm=swapper prev_pid=0 prev_prio=120 prev_state=R";
        let next = format!("next_comm={} next_pid={} next_prio=120", long_text(k), k + 10);
        format!("          <idle>-0       [000] d..2. 1000.{k:06}: sched_switch: {before} ==> {next}")
    };
    text(folder, "ftrace.txt", ["# tracer: nop\n#".to_owned()].into_iter().chain((0..count).map(switch)))
}

/// OpenTelemetry requests, each of another service.
fn long_services(folder: &Path, count: u64) -> Vec<PathBuf> {
    let request = |k| {
        let (name, start_ns) = (long_text(k), 1_700_000_000_000_000_000 + k * 1000);
        let service = format!(r#"{{"key":"service.name","value":{{"stringValue":"{name}"}}}}"#);
        let span = format!(
            r#"{{"traceId":"{k:032x}","spanId":"{k:016x}","name":"n","startTimeUnixNano":"{start_ns}","endTimeUnixNano":"{}"}}"#,
            start_ns + 500
        );
        format!(
            r#"{{"resourceSpans":[{{"resource":{{"attributes":[{service}]}},"scopeSpans":[{{"spans":[{span}]}}]}}]}}"#
        )
    };
    text(folder, "requests.jsonl", (1..=count).map(request))
}

fn small_trace(k: u64) -> String {
    format!(r#"[{{"ph":"X","pid":{k},"tid":1,"ts":1,"dur":5,"name":"work"}}]"#)
}

fn members(folder: &Path, count: u64) -> Vec<PathBuf> {
    let path = folder.join("members.tar");
    let mut archive = tar::Builder::new(BufWriter::new(File::create(&path).expect("created")));
    for k in 0..count {
        let text = small_trace(k);
        let mut header = tar::Header::new_ustar();
        header.set_size(text.len() as u64);
        archive.append_data(&mut header, format!("m{k}.json"), text.as_bytes()).expect("written");
    }
    archive.into_inner().expect("written").flush().expect("written");
    vec![path]
}

fn files(folder: &Path, count: u64) -> Vec<PathBuf> {
    let write = |k| {
        let path = folder.join(format!("f{k}.json"));
        fs::write(&path, small_trace(k)).expect("written");
        path
    };
    (0..count).map(write).collect()
}

/// Returns the peak of the sampled anonymous memory of a command, and the JSON that it prints.
fn anonymous_bytes(args: &[&str]) -> (u64, serde_json::Value) {
    let (bytes, text) = peak_bytes(args);
    (bytes, serde_json::from_str(&text).expect("JSON"))
}

/// Returns the peak, and the first part of the output, which may have hundreds of megabytes.
fn peak_bytes(args: &[&str]) -> (u64, String) {
    // Also limits the address space to 2 GiB. A larger allocation must end in an error, not in an abort.
    let mut child = limited("ulimit -v 2097152", args).spawn().expect("the program starts");
    let mut stdout = child.stdout.take().expect("a pipe");
    let printed = std::thread::spawn(move || {
        let mut text = String::new();
        stdout.by_ref().take(1 << 20).read_to_string(&mut text)?;
        io::copy(&mut stdout, &mut io::sink()).map(|_| text)
    });
    let mut peak_kib = 0;
    while child.try_wait().expect("a child").is_none() {
        peak_kib = anonymous_kib(&child).max(peak_kib);
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().expect("a child");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = printed.join().expect("no panic").expect("read");
    (peak_kib * 1024, text)
}

fn bytes_of(command: Command, paths: &[PathBuf], memory: &str) -> u64 {
    let tables = paths[0].with_file_name(format!("{memory}.parquet"));
    let tables = tables.to_str().expect("text");
    let args: &[&str] = match command {
        Dump => &["dump"],
        Stats => &["stats"],
        Samples => &["stats", "--samples"],
        Flame => &["flame", "--format", "json"],
        Inverted => &["flame", "--inverted", "--format", "json"],
        Spans => &["spans", "--format", "csv"],
        Parquet => &["export", "-o", tables],
        Chrome => &["export", "-o", "/dev/null", "--format", "chrome"],
        Perfetto => &["export", "-o", "/dev/null", "--format", "perfetto"],
    };
    let mut args = [args, &["--no-cache", "--memory", memory]].concat();
    args.extend(paths.iter().map(|path| path.to_str().expect("text")));
    peak_bytes(&args).0
}

#[test]
fn anonymous_memory_stays_within_the_documented_limit_for_every_shape() {
    for shape in SHAPES {
        let (folder, count) = (folder(), (count() / shape.divisor).max(1));
        let paths = (shape.write)(folder.path(), count);
        for memory_mib in [8, 64] {
            let memory = format!("{memory_mib}MiB");
            // Stores in a cache get ledgers, which take memory as well.
            let cache = folder.path().join(format!("cache of {memory}"));
            let cache = cache.to_str().expect("text");
            let mut words = vec!["info", "--json", "--cache", cache, "--memory", &memory];
            words.extend(paths.iter().map(|path| path.to_str().expect("text")));
            let (bytes, info) = anonymous_bytes(&words);
            let number = |key: &str| info[key].as_u64().expect("a number");
            let rows = number("tracks") + number("lanes") + number("processes") + shape.names_each * count;
            let rows = rows + paths.len() as u64 * 2;
            // Each lane has at least one extent.
            let extents = info["load"]["chunks"].as_u64().expect("a number") + number("lanes");
            let bound = memory_mib * MIB + BESIDE_BYTES + ROW_BYTES * rows + EXTENT_BYTES * extents;
            assert!(bytes <= bound, "{count} {}, {memory}: {} of {} MiB", shape.name, bytes / MIB, bound / MIB);
            for &command in shape.commands {
                let bytes = bytes_of(command, &paths, &memory);
                let (name, used) = (shape.name, bytes / MIB);
                assert!(bytes <= bound, "{command:?} of {count} {name}, {memory}: {used} of {} MiB", bound / MIB);
            }
        }
    }
}

#[test]
fn an_event_with_64_mib_of_arguments_is_shown_without_them_and_counted() {
    let folder = folder();
    let text = "x".repeat(64 << 20);
    let event = format!(r#"{{"ph":"X","pid":1,"tid":1,"ts":1,"dur":5,"name":"work","args":{{"text":"{text}"}}}}"#);
    let other = r#"{"ph":"X","pid":1,"tid":1,"ts":9,"dur":5,"name":"more"}"#.to_owned();
    let paths = json(folder.path(), [event, other].into_iter());
    for memory in ["8MiB", "64MiB", "1GiB"] {
        let words = ["info", "--json", "--no-cache", "--memory", memory, paths[0].to_str().expect("text")];
        let (bytes, info) = anonymous_bytes(&words);
        let lost: Vec<_> = info["losses"].as_array().expect("a list").iter().map(|loss| loss["name"].clone()).collect();
        assert!(bytes < 200 * MIB, "{memory}: {} MiB", bytes / MIB);
        assert_eq!((&info["spans"], lost), (&2.into(), vec!["long_args".into()]), "{memory}");
    }
}

#[test]
fn a_memory_limit_below_the_minimum_is_refused_with_the_minimum() {
    let folder = folder();
    let path = threads(folder.path(), 10).remove(0);
    let output = limited("true", &["info", "--memory", "4MiB", path.to_str().expect("text")]).output().expect("runs");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("at least 8 MiB"), "{message}");
}

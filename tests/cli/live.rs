//! Live sources: `tail` and `record` of streams, growing files and commands, compared with the same bytes as a finished
//! file.

mod awaited_file;
mod binary_recordings;
mod clocks;
mod files;
mod import_issues;
mod killed;
mod late_events;
mod overwritten_end;
mod recorded_sources;
mod signals;
mod sorted_rows;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::{NO_FOLDER, command, data, folder, longspan, spans_of, text, wait};

/// Timeout of a wait: far more than any takes.
const PATIENCE: Duration = Duration::from_mins(1);

fn program() -> &'static str {
    env!("CARGO_BIN_EXE_longspan")
}

/// Ends a command like Ctrl+C.
fn interrupt(child: &Child) {
    signal(child, "-INT");
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().expect("kill").success());
}

fn fifo(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
    path
}

/// Waits until a condition holds; panics after [`PATIENCE`].
#[track_caller]
fn wait_until(mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "it takes too long");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Writes bytes in pieces to stdin, and returns status, stdout and stderr.
#[track_caller]
fn fed(args: &[&str], bytes: &[u8], piece: usize) -> (Option<i32>, String, String) {
    let mut child = command(args).stdin(Stdio::piped()).spawn().expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    let bytes = bytes.to_vec();
    let writer = std::thread::spawn(move || {
        for piece in bytes.chunks(piece) {
            if input.write_all(piece).is_err() {
                return;
            }
        }
    });
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("written");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Returns start, duration and name of each span and instant in JSON lines, sorted.
fn slices(lines: &str) -> Vec<(i64, i64, String)> {
    let mut slices: Vec<_> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .filter(|row| row["t"] == "slice")
        .map(|row| {
            let number = |key: &str| row[key].as_i64().expect("a number");
            (number("ts"), number("dur"), row["name"].as_str().expect("text").to_owned())
        })
        .collect();
    slices.sort_unstable();
    slices
}

/// Creates a Chrome JSON stream with `count` complete spans on one thread, and `count` begins and ends on another.
fn chrome(count: u64) -> String {
    let mut text = "[\n".to_owned();
    for span in 0..count {
        let ts = 10 * span;
        let (begin, end) = (ts + 4, ts + 9);
        let records = [
            format!(r#""name":"work","ph":"X","ts":{ts},"dur":4,"pid":1,"tid":2,"args":{{"i":{span}}}"#),
            format!(r#""name":"step","cat":"c","ph":"B","ts":{begin},"pid":1,"tid":3"#),
            format!(r#""ph":"E","ts":{end},"pid":1,"tid":3"#),
        ];
        for record in records {
            text += "{";
            text += &record;
            text += "},\n";
        }
    }
    text
}

#[test]
fn a_stream_has_the_rows_of_the_finished_file_with_any_write_sizes() {
    let folder = folder();
    let native = folder.path().join("made.longspan");
    longspan(&["synth", "-o", text(&native), "--spans", "20000"]).done();
    let texts = ["strace_ttt.txt.gz", "ugly.json", "ftrace.txt.gz", "ninja_log.txt", "otlp.jsonl.gz"];
    let others = texts.into_iter().chain(["perf_calls_script.txt.gz", "spall_v3.spall.gz"]).map(data);
    for trace in others.chain([native]) {
        let name = text(&trace);
        let mut bytes = fs::read(&trace).expect("test data");
        if trace.extension().is_some_and(|extension| extension == "gz") {
            let unpacked = folder.path().join("unpacked");
            let file = File::create(&unpacked).expect("made");
            assert!(Command::new("zcat").arg(&trace).stdout(file).status().expect("zcat").success());
            bytes = fs::read(unpacked).expect("there");
        }
        let expected = slices(&longspan(&["dump", text(&trace), "--no-cache"]).done());
        for piece in [1000, 1 << 20] {
            let (status, found, errors) = fed(&["tail", "-", "--format", "jsonl"], &bytes, piece);
            assert_eq!(status, Some(0), "{name}: {errors}");
            let found = slices(&found);
            // A span that is open at the end has no duration there, and lasts until the end here.
            let of = |slices: &[(i64, i64, String)]| {
                slices.iter().map(|(ts, _, name)| (*ts, name.clone())).collect::<Vec<_>>()
            };
            assert!(of(&found) == of(&expected), "{name}: {} of {}", found.len(), expected.len());
            let ended = |slices: &[(i64, i64, String)]| {
                slices.iter().filter(|(_, dur, _)| *dur >= 0).cloned().collect::<BTreeSet<_>>()
            };
            assert!(ended(&found).is_superset(&ended(&expected)), "{name}");
        }
    }
}

#[test]
fn a_filter_means_the_same_for_a_stream_as_for_a_file() {
    let folder = folder();
    let path = folder.path().join("trace.json");
    let stream = chrome(200);
    fs::write(&path, &stream).expect("written");
    let queries = ["work", "-work", "cat:c", "arg.i=17", "arg.i:1 thread:2", "dur>4us", "process:1 -dur<5us", "~st"];
    for query in queries.into_iter().chain(["has:args", "-has:args", "has:stack", "-has:stack work"]) {
        let filter = format!("--filter={query}");
        let spans = ["spans", text(&path), "--no-cache", "--format", "jsonl", &filter];
        let expected = longspan(&spans).done().lines().count();
        let (status, found, errors) = fed(&["tail", "-", "--format", "jsonl", &filter], stream.as_bytes(), 500);
        assert_eq!((status, found.lines().count()), (Some(0), expected), "{query}: {errors}");
    }
    // A span that has not ended lasts until the last event, and states belong to their thread.
    let open =
        r#"[{"ph":"B","name":"loop","pid":1,"tid":1,"ts":0},{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":5e6}]"#;
    for (query, expected) in [("dur>1s", 2), ("dur=0", 0), ("-dur=0", 2)] {
        fs::write(&path, open).expect("written");
        let filter = format!("--filter={query}");
        let spans = longspan(&["spans", text(&path), "--no-cache", "--format", "jsonl", &filter]).done();
        let (_, found, errors) = fed(&["tail", "-", "--format", "jsonl", &filter], open.as_bytes(), 500);
        assert_eq!([spans.lines().count(), found.lines().count()], [expected; 2], "{query}: {errors}");
    }
    let sched = concat!(
        "          app-7     [000] 100.000000: sched_switch: prev_comm=app prev_pid=7 prev_prio=120 prev_state=S ==> ",
        "next_comm=db next_pid=8 next_prio=120\n",
        "           db-8     [000] 100.001000: sched_switch: prev_comm=db prev_pid=8 prev_prio=120 prev_state=S ==> ",
        "next_comm=app next_pid=7 next_prio=120\n",
    );
    fs::write(&path, sched).expect("written");
    let expected = longspan(&["search", text(&path), "--no-cache", "thread:app"]).done();
    let (_, found, errors) = fed(&["tail", "-", "--format", "jsonl", "--filter=thread:app"], sched.as_bytes(), 500);
    assert_eq!(expected.trim(), found.lines().count().to_string(), "{errors}");
    assert!(found.contains("thread_state"), "{found}");
    let message = longspan(&["tail", "-", "--filter", "in:work"]).failed(2);
    assert!(message.contains("in: needs a complete trace"), "{message}");
    let message = longspan(&["tail", "-", "--filter", "has:flow"]).failed(2);
    assert!(message.contains("has:flow needs a complete trace"), "{message}");
}

#[test]
fn several_sources_are_put_on_one_timeline_in_order() {
    let folder = folder();
    let (one, two) = (fifo(folder.path(), "one"), fifo(folder.path(), "two"));
    let mut child = command(&["tail", text(&one), text(&two), "--format", "jsonl"]).spawn().expect("it starts");
    let writers = [(one, 0), (two, 50)].map(|(path, offset)| {
        std::thread::spawn(move || {
            let mut file = File::options().write(true).open(path).expect("the other end");
            for call in 0..100 {
                writeln!(file, "7 1795166531.{:06} read(3) = 0 <0.000010>", 100 * call + offset).expect("written");
                file.flush().expect("written");
                std::thread::sleep(Duration::from_millis(1));
            }
        })
    });
    writers.into_iter().for_each(|writer| writer.join().expect("written"));
    let mut found = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut found).expect("text");
    assert_eq!(wait(&mut child, &["tail"]), Some(0));
    let ends: Vec<i64> = found
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .filter(|row| row["late"].is_null())
        .map(|row| row["ts"].as_i64().expect("a number") + row["dur"].as_i64().expect("a number"))
        .collect();
    assert!(ends.is_sorted(), "but for what is late");
    assert_eq!(found.lines().count(), 200);
    // Both have a thread with this id, and the rows differ by the name of the later source.
    let of_later = found.lines().filter(|line| line.contains("\"pid\":\"two\"")).count();
    let of_first = found.lines().filter(|line| line.contains("\"pid\":null")).count();
    assert_eq!((of_first, of_later), (100, 100), "{found}");
}

#[test]
fn the_output_of_a_command_is_read_and_its_failure_is_reported() {
    let line = "echo '7 1795166531.000001 read(3) = 0 <0.000010>'; echo '7 1795166531.000002 wri'";
    let output = longspan(&["tail", "--", "sh", "-c", &format!("{line}; exit 3")]);
    assert!(output.stderr.contains("sh: ended with exit status: 3"), "{}", output.stderr);
    assert!(output.stderr.contains("1 truncated") || output.stderr.contains("1 bad_record"), "{}", output.stderr);
    assert_eq!(output.done().lines().count(), 1);
    let missing = longspan(&["tail", "--", "/nonexistent/program"]).failed(1);
    assert!(missing.contains("/nonexistent/program: cannot be started"), "{missing}");
    // Ctrl+C ends a command that does not exit by itself, and the program.
    let mut child = command(&["tail", "--", "sh", "-c", &format!("{line}; exec sleep 600")]).spawn().expect("starts");
    let mut rows = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    assert!(rows.next().expect("a row").expect("text").contains("read"));
    signal(&child, "-TERM");
    assert_eq!(wait(&mut child, &["tail"]), Some(0));
}

/// Returns the anonymous memory of a child in KiB.
fn anonymous_kib(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok()).unwrap_or(0)
}

#[test]
fn a_fast_source_waits_for_a_slow_reader_in_bounded_memory_without_drops() {
    const SPANS: u64 = 200_000;
    let mut child = command(&["tail", "-", "--format", "jsonl", "--memory", "8MiB"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || {
        writeln!(input, "[").expect("written");
        for span in 0..SPANS {
            // A new name, thread and argument each time: they must not accumulate.
            let (name, args) = (format!("name {span}"), format!(r#"{{"text":"{span:0100}"}}"#));
            let ids = format!(r#""pid":{},"tid":{span}"#, span % 1000);
            writeln!(input, r#"{{"ph":"X","name":"{name}","ts":{span},"dur":1,{ids},"args":{args}}},"#)
                .expect("written");
        }
    });
    let rows = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    // The pipe and all buffers are full.
    std::thread::sleep(Duration::from_secs(1));
    let (mut most_kib, mut count) = (anonymous_kib(&child), 0);
    for row in rows {
        assert!(row.expect("text").contains(&format!("\"name {count}\"")), "row {count} is in order");
        count += 1;
        if count % 10_000 == 0 {
            most_kib = most_kib.max(anonymous_kib(&child));
        }
    }
    writer.join().expect("written");
    assert_eq!((count, wait(&mut child, &["tail"])), (SPANS, Some(0)));
    assert!(most_kib > 0 && most_kib < (8 + 64) << 10, "{most_kib} KiB");
}

#[test]
fn a_recording_equals_the_sorted_file_and_leaves_no_other_file() {
    let folder = folder();
    let (path, out) = (folder.path().join("trace.json"), folder.path().join("out.longspan"));
    let stream = chrome(3000);
    fs::write(&path, &stream).expect("written");
    let args = ["record", "-", "-o", text(&out), "--progress", "always"];
    let (status, _, errors) = fed(&args, stream.as_bytes(), 10_000);
    assert_eq!(status, Some(0), "{errors}");
    assert!(errors.contains("Recording 6.00 krows") && errors.contains("6000 spans written"), "{errors}");
    assert!(spans_of(&out) == spans_of(&path));
    let names: BTreeSet<_> =
        fs::read_dir(folder.path()).expect("there").map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    // A format that cannot be read live is still recorded.
    let profile = data("pyspy.speedscope.json");
    let (status, _, errors) = fed(&args, &fs::read(&profile).expect("there"), 1 << 16);
    assert!(status == Some(0) && errors.contains("It is recorded, and read once it has ended"), "{errors}");
    // After a failure, the old output and all received bytes are kept.
    let whole = fs::read(&out).expect("written");
    let (status, _, errors) = fed(&args, b"plain text\n", 100);
    assert!(status == Some(1) && errors.contains("all received data is kept"), "{errors}");
    let spool = folder.path().join("out.longspan.spool");
    assert_eq!((fs::read(&out).expect("there"), fs::read(&spool).expect("kept")), (whole, b"plain text\n".to_vec()));
    let (status, _, errors) = fed(&args, stream.as_bytes(), 10_000);
    assert!(status == Some(1) && errors.contains("an earlier recording left it there"), "{errors}");
    // The file of any other source is kept too.
    let second = folder.path().join("out.longspan.2.spool");
    fs::rename(&spool, &second).expect("renamed");
    let message = longspan(&["record", text(&path), text(&path), "-o", text(&out)]).failed(1);
    let expected = format!("{}: cannot write the received data: an earlier recording left it there", text(&second));
    assert!(message.contains(&expected) && !spool.exists(), "{message}");
}

#[test]
fn a_damaged_or_truncated_native_stream_loses_only_the_affected_part() {
    let folder = folder();
    let native = folder.path().join("made.longspan");
    longspan(&["synth", "-o", text(&native), "--spans", "300000"]).done();
    let bytes = fs::read(&native).expect("made");
    let (status, whole, errors) = fed(&["tail", "-", "--format", "jsonl"], &bytes, 1 << 16);
    assert!(status == Some(0) && !errors.contains("bad_chunk") && !errors.contains("truncated"), "{errors}");
    let mut damaged = bytes.clone();
    damaged[bytes.len() / 4] ^= 0x10;
    let (status, found, errors) = fed(&["tail", "-", "--format", "jsonl"], &damaged, 1 << 16);
    assert!(status == Some(0) && errors.contains("1 bad_chunk"), "{errors}");
    let (some, all) = (found.lines().count(), whole.lines().count());
    assert!(some < all && some > all / 4, "{some} of {all}");
    let (status, found, errors) = fed(&["tail", "-", "--format", "jsonl"], &bytes[..bytes.len() / 3], 1 << 16);
    assert!(status == Some(0) && errors.contains("1 truncated") && !found.is_empty(), "{errors}");
}

#[test]
fn a_recording_stopped_by_a_full_disk_is_saved_and_fails() {
    let folder = folder();
    let (path, out) = (folder.path().join("trace.json"), folder.path().join("out.longspan"));
    fs::write(&path, chrome(20_000)).expect("written");
    let script = format!("ulimit -f 1000; exec {} record -o {} -- cat {}", program(), text(&out), text(&path));
    let output = Command::new("sh").args(["-c", &script]).env("HOME", NO_FOLDER).output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("cannot write the received data") && stderr.contains("the recording ended early"),
        "{stderr}"
    );
    assert!(spans_of(&out).lines().count() > 5000);
}

/// Needs a small disk in a user namespace; prints a message if the system does not allow one.
#[test]
fn a_recording_without_disk_space_for_the_sort_reports_it_and_keeps_all_events() {
    let folder = folder();
    let (path, disk) = (folder.path().join("trace.json"), folder.path().join("disk"));
    fs::write(&path, chrome(20_000)).expect("written");
    fs::create_dir(&disk).expect("made");
    // 256 MiB of the disk stay free, and the input takes part of the other two.
    let script = r#"mount -t tmpfs -o size=258m tmpfs "$1" || exit 9
        "$0" record -o "$1/out.longspan" -- cat "$2"; echo "status $?"; ls "$1"
        "$0" spans "$1/out.longspan.spool" --no-cache | wc -l"#;
    let on_small_disk = |namespaces: &str| {
        let mut command = Command::new("unshare");
        command.args([namespaces, "sh", "-c", script, program(), text(&disk), text(&path)]);
        command.env("HOME", NO_FOLDER).output().expect("unshare")
    };
    let is_mounted = |output: &Output| output.status.code() != Some(9) && !output.stdout.is_empty();
    let found = ["-m", "-rm"].into_iter().map(on_small_disk).find(is_mounted);
    let Some(output) = found else {
        // Written directly, since the test harness would capture the output of a macro.
        let notice =
            b"a_recording_without_disk_space_for_the_sort: NOT RUN, this system allows no mount of a small disk\n";
        std::io::stderr().write_all(notice).expect("stderr");
        return;
    };
    let stderr = String::from_utf8_lossy(&output.stderr);
    let printed = String::from_utf8_lossy(&output.stdout).replace(' ', "\n");
    let rows = longspan(&["spans", text(&path), "--no-cache"]).done().lines().count();
    let expected = ["status", "1", "out.longspan.spool", &rows.to_string()];
    assert_eq!(printed.split_whitespace().collect::<Vec<_>>(), expected, "{stderr}");
    assert!(stderr.contains("it is not sorted") && stderr.contains("all received data is kept"), "{stderr}");
}

/// In a terminal, Ctrl+C also reaches the recorded program, but output and other signals do not.
#[test]
fn a_program_on_a_terminal_is_terminated_when_its_recording_ends() {
    const APP: &str = r#"trap 'echo asked > "$1"; exit 0' INT; echo '['; n=0
        while [ $n -lt 600 ]; do
            echo "{\"ph\":\"X\",\"name\":\"n$n\",\"pid\":1,\"tid\":1,\"ts\":$n,\"dur\":1},"; n=$((n+1)); sleep 0.1
        done"#;
    let folder = folder();
    let (app, asked, out) = ("app.sh", "asked", "out.longspan");
    let [app, asked, out] = [app, asked, out].map(|name| folder.path().join(name));
    fs::write(&app, APP).expect("written");
    let line = format!(
        "exec {} record -o {} --until name:n3 -- sh {} {}",
        program(),
        out.display(),
        app.display(),
        asked.display()
    );
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &line, "/dev/null"]).env("SHELL", "/bin/sh").stdin(Stdio::null());
    let stderr = script.output().expect("`script` runs; `.ci/setup` installs it");
    assert!(stderr.status.success(), "{}", String::from_utf8_lossy(&stderr.stdout));
    assert!(asked.exists(), "{}", String::from_utf8_lossy(&stderr.stdout));
    assert!(spans_of(&out).lines().count() > 4);
}

#[test]
fn a_recording_stopped_by_a_row_a_signal_or_a_limit_is_complete() {
    let folder = folder();
    let (path, out) = (folder.path().join("growing.json"), folder.path().join("out.longspan"));
    fs::write(&path, chrome(100)).expect("written");
    let record = ["record", text(&path), "-o", text(&out)];
    let output = longspan(&[&record[..], &["--until", "arg.i=50"]].concat());
    assert!(output.stderr.contains("a row passes --until"), "{}", output.stderr);
    output.done();
    let spans = spans_of(&out).lines().count();
    assert!((102..=201).contains(&spans), "{spans}");
    // A file is followed until a signal arrives.
    let mut child = command(&[&record[..], &["--progress", "always"]].concat()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    wait_until(|| lines.next().expect("a line").expect("text").contains("Recording 200 rows"));
    interrupt(&child);
    assert_eq!(wait(&mut child, &record), Some(0));
    assert_eq!(spans_of(&out), spans_of(&path));
    // `tail` prints up to that row, and none after it.
    let tail = ["tail", text(&path), "--format", "jsonl", "--until", "arg.i=50"];
    let rows = longspan(&tail).done();
    assert!(rows.lines().last().expect("a row").contains("\"i\":50"), "{rows}");
    assert!((100..=104).contains(&rows.lines().count()), "{}", rows.lines().count());
    let capped = longspan(&[&record[..], &["--disk-cap", "1000"]].concat());
    assert!(
        capped.stderr.contains("the 1000 bytes of --disk-cap are used up: the recording ends"),
        "{}",
        capped.stderr
    );
    capped.done();
    assert!(spans_of(&out).lines().count() > 10, "the first 1000 bytes are recorded");
}

/// A shell makes background processes ignore Ctrl+C, so one of the two does.
#[test]
fn all_processes_of_a_command_end_with_the_recording() {
    const SPAN: &str = r#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":1},"#;
    let folder = folder();
    let (out, pids) = (folder.path().join("out.longspan"), folder.path().join("pids"));
    let script = r#"sleep 600 & echo $! > "$1"
        sh -c 'echo $$ >> "$1"; echo "$2"; sleep 601; true' sh "$1" "$2"; true"#;
    let args = ["record", "-o", text(&out), "--until", "name:a", "--", "sh", "-c", script, "sh", text(&pids), SPAN];
    let began = Instant::now();
    let output = longspan(&args);
    assert!(began.elapsed() < Duration::from_mins(1), "the recording waits for nobody");
    output.done();
    let started = fs::read_to_string(&pids).expect("written");
    assert_eq!(started.lines().count(), 2, "{started}");
    for pid in started.lines() {
        let runs = || fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z"));
        wait_until(|| !runs());
    }
}

/// Returns the disk usage of the files of a child, including unnamed ones.
fn disk_bytes(child: &Child) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let files = fs::read_dir(format!("/proc/{}/fd", child.id())).into_iter().flatten().flatten();
    let files = files.filter_map(|file| fs::metadata(file.path()).ok()).filter(fs::Metadata::is_file);
    files.map(|file| file.blocks() * 512).sum()
}

#[test]
fn a_ring_buffer_recording_keeps_the_last_part_counts_the_rest_and_frees_disk_space() {
    const SPANS: u64 = 150_000;
    let folder = folder();
    let out = folder.path().join("out.longspan");
    // The trace has one span per millisecond, for 150 s.
    let by_bytes = (2 << 20).to_string();
    for keep in ["40s", &by_bytes] {
        let words = ["record", "-", "-o", text(&out), "--keep", keep, "--memory", "8MiB", "--progress", "always"];
        let mut child = command(&words).stdin(Stdio::piped()).spawn().expect("it starts");
        let mut input = child.stdin.take().expect("a pipe");
        let writer = std::thread::spawn(move || {
            input.write_all(b"[\n").expect("written");
            for span in 0..SPANS {
                let noise = span.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let args = format!(r#""args":{{"n":"{noise:016x}{:016x}"}}"#, noise.wrapping_mul(noise));
                let line =
                    format!(r#"{{"ph":"X","name":"s","pid":1,"tid":{},"ts":{}000,"dur":900,{args}}},"#, span % 4, span);
                writeln!(input, "{line}").expect("written");
            }
        });
        let mut most_bytes = 0;
        while !writer.is_finished() {
            most_bytes = most_bytes.max(disk_bytes(&child));
            std::thread::sleep(Duration::from_millis(20));
        }
        writer.join().expect("written");
        let mut stderr = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut stderr).expect("text");
        assert_eq!(wait(&mut child, &words), Some(0), "{stderr}");
        let gone = stderr.lines().find_map(|line| line.strip_suffix(" oldest rows were dropped (--keep)"));
        let gone: u64 = gone.and_then(|line| line.strip_prefix("longspan: ")?.parse().ok()).expect("said");
        let opened = longspan(&["dump", text(&out), "--no-cache"]);
        assert!(!opened.stderr.contains("sorted again"), "the sorted store is used: {}", opened.stderr);
        let kept = slices(&opened.done());
        assert_eq!(kept.len() as u64 + gone, SPANS, "{stderr}");
        // The last spans of each thread, without a gap.
        for thread in 0..4 {
            let of_thread = kept.iter().map(|(start_ns, ..)| start_ns / 1_000_000).filter(|span| span % 4 == thread);
            let of_thread: Vec<i64> = of_thread.collect();
            assert!(of_thread.windows(2).all(|pair| pair[1] - pair[0] == 4), "thread {thread}");
            assert!(of_thread.last().is_some_and(|last| *last >= SPANS.cast_signed() - 4), "thread {thread}");
        }
        if keep == "40s" {
            // At most one extent per thread more, and 1/32.
            assert!((40_000..40_000 + 4 * 4096 + 2000).contains(&kept.len()), "{}", kept.len());
        } else {
            assert!(gone > SPANS / 4 && most_bytes < (2 << 20) + (6 << 20), "{gone} gone, {most_bytes} bytes");
        }
    }
    assert_eq!(fs::read_dir(folder.path()).expect("there").count(), 1, "nothing beside it");
    for wrong in ["0s", "-5s", "0", "soon"] {
        let keep = format!("--keep={wrong}");
        let message = longspan(&["record", "-", "-o", text(&out), &keep]).failed(2);
        assert!(message.contains("expected a time such as 30min, or bytes such as 20GB"), "{message}");
    }
    for name in ["out.json", "out.json.gz", "out.csv", "out.pftrace", "out.parquet"] {
        let message = longspan(&["record", "-", "-o", text(&folder.path().join(name))]).failed(2);
        assert!(message.contains("write other formats with `longspan export`"), "{message}");
    }
}

#[test]
fn recordings_of_killed_windows_are_listed_and_deleted_only_by_option() {
    let folder = folder();
    let cache = folder.path().join("cache");
    let left = cache.join("followed/follow-1-1");
    fs::create_dir_all(&left).expect("made");
    let spool = left.join("received.spool");
    fs::write(&spool, chrome(10)).expect("written");
    File::create(left.join("lock")).expect("made");
    let all = |args: &[&str]| longspan(&[args, &["--cache", text(&cache)]].concat());
    let listed = all(&["cache", "list"]).done();
    assert!(listed.contains(text(&spool)) && listed.contains("followed, but not sorted"), "{listed}");
    let cleared = all(&["cache", "clear"]);
    assert!(
        cleared.stderr.contains("stay, because there is no other copy: delete them with --followed"),
        "{}",
        cleared.stderr
    );
    assert!(cleared.done().starts_with("0 bytes freed") && spool.exists());
    let (demo, other) = (cache.join("demo-0.1.0.longspan"), cache.join("demo-mine.longspan"));
    for file in [&demo, &other] {
        fs::write(file, "0123").expect("written");
    }
    let listed = all(&["cache", "list"]).done();
    assert!(listed.contains(text(&demo)) && listed.contains("4 bytes in 1 cached traces"), "{listed}");
    assert!(all(&["cache", "clear"]).done().starts_with("4 bytes freed") && !demo.exists() && other.exists());
    assert_eq!(spans_of(&spool).lines().count(), 21, "it can be opened");
    let size = fs::metadata(&spool).expect("there").len();
    assert!(all(&["cache", "clear", "--followed"]).done().starts_with(&format!("{size} bytes freed")));
    assert!(!left.exists());
}

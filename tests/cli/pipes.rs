//! Traces through pipes give the same results as the file, for every command; and inputs that are not regular files.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::harness::{command, data, folder, longspan, spans_of, text};

/// Runs a command with this trace on stdin, and returns status, stdout and stderr.
#[track_caller]
fn fed(args: &[&str], bytes: &[u8]) -> (Option<i32>, String, String) {
    let mut child = command(args).stdin(Stdio::piped()).spawn().expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    let bytes = bytes.to_vec();
    let writer = std::thread::spawn(move || input.write_all(&bytes).ok());
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("written");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn fifo(folder: &Path) -> PathBuf {
    let path = folder.join("pipe.json");
    assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
    path
}

#[test]
fn each_command_gives_the_same_result_for_a_pipe_as_for_a_file() {
    let folder = folder();
    let trace = data("go_trace.json");
    let bytes = fs::read(&trace).expect("test data");
    for command in [["spans"].as_slice(), &["dump"], &["stats"], &["spans", "--limit", "3"]] {
        let expected = longspan(&[command, &["--no-cache", text(&trace)]].concat()).done();
        for name in ["-", "/dev/stdin"] {
            let (status, found, errors) = fed(&[command, &["--no-cache", name]].concat(), &bytes);
            assert_eq!((status, found == expected), (Some(0), true), "{command:?} {name}: {errors}");
        }
    }
    let (status, summary, _) = fed(&["info", "--json", "--no-cache", "-"], &bytes);
    assert_eq!(status, Some(0));
    assert!(summary.contains(&format!("\"source_bytes\":{}", bytes.len())), "{summary}");
    let output = folder.path().join("out.longspan");
    assert_eq!(fed(&["export", "--no-cache", "-", "-o", text(&output)], &bytes).0, Some(0));
    assert_eq!(spans_of(&output), spans_of(&trace));
}

#[test]
fn formats_with_random_access_or_two_passes_are_read_from_a_pipe() {
    let folder = folder();
    let native = folder.path().join("made.longspan");
    longspan(&["synth", "-o", text(&native), "--spans", "20000"]).done();
    for trace in [native, data("chromium.pftrace.gz"), data("perf.data.gz"), data("viztracer_ring.json.gz")] {
        let (status, found, errors) = fed(&["spans", "--no-cache", "-"], &fs::read(&trace).expect("there"));
        assert_eq!(status, Some(0), "{errors}");
        assert!(found == spans_of(&trace), "{}", trace.display());
    }
}

#[test]
fn a_fifo_is_read_once_and_named_by_its_path_and_not_cached() {
    let folder = folder();
    let (pipe, cache) = (fifo(folder.path()), folder.path().join("cache"));
    let expected = spans_of(&data("ugly.json"));
    let to = pipe.clone();
    let writer = std::thread::spawn(move || {
        let bytes = fs::read(data("ugly.json")).expect("test data");
        File::options().write(true).open(to).expect("a pipe").write_all(&bytes).expect("written");
    });
    let output = longspan(&["spans", "--cache", text(&cache), text(&pipe)]);
    writer.join().expect("written");
    assert!(output.stderr.contains(&format!("{}: ", text(&pipe))), "{}", output.stderr);
    assert_eq!(output.done(), expected);
    let left: Vec<_> = fs::read_dir(&cache).expect("a folder").collect();
    assert!(left.is_empty(), "nobody can ask for it again: {left:?}");
}

#[test]
fn a_pipe_and_a_file_share_one_timeline() {
    let (one, two) = (data("ugly.json"), data("go_trace.json"));
    let expected = longspan(&["info", "--json", "--no-cache", text(&one), text(&two)]).done();
    let (status, found, errors) =
        fed(&["info", "--json", "--no-cache", text(&one), "-"], &fs::read(&two).expect("test data"));
    assert_eq!(status, Some(0), "{errors}");
    let counts = |summary: &str| summary.split("\"losses\"").next().map(|head| head.replace(char::is_whitespace, ""));
    let without_store = |head: Option<String>| head.map(|head| head.split("store_bytes").next().map(str::to_owned));
    assert_eq!(without_store(counts(&found)), without_store(counts(&expected)));
}

#[test]
fn errors_in_piped_data_name_the_given_path() {
    let bad =
        "/dev/stdin: the format is Ninja log, but no event could be read: 1 bad_record, the first at byte 15 (line 2)";
    for (bytes, expected) in [
        (&b""[..], "/dev/stdin: the file is empty"),
        (b"hello", "/dev/stdin: byte 0: unrecognised file format"),
        (b"# ninja log v5\nnothing\n", bad),
    ] {
        let (status, _, errors) = fed(&["info", "--no-cache", "-"], bytes);
        assert_eq!(status, Some(1));
        assert!(errors.contains(expected), "{errors}");
    }
    let (status, _, errors) = fed(&["tail", "-"], b"# ninja log v5\nnothing\n");
    assert_eq!(status, Some(1), "{errors}");
    assert!(errors.contains("1 bad_record") && errors.contains("no received event could be read"), "{errors}");
    assert_eq!(fed(&["tail", "-"], b"# ninja log v5\n").0, Some(0));
    let cut = fs::read(data("go_trace.json")).expect("test data");
    let (status, _, errors) = fed(&["info", "--no-cache", "-"], &cut[..cut.len() / 2]);
    assert_eq!(status, Some(0));
    assert!(errors.contains("longspan: /dev/stdin: 1 truncated"), "{errors}");
}

#[test]
fn a_file_redirected_to_stdin_is_read_in_place() {
    let trace = data("ugly.json");
    let file = File::open(&trace).expect("test data");
    let output = command(&["spans", "--no-cache", "-"]).stdin(file).output().expect("it ends");
    assert_eq!(String::from_utf8(output.stdout).expect("text"), spans_of(&trace));
}

#[test]
fn an_export_to_stdout_equals_one_to_a_file_and_messages_go_to_stderr() {
    let folder = folder();
    let trace = data("go_trace.json");
    for format in ["native", "chrome", "perfetto", "csv"] {
        let file = folder.path().join(format);
        let args = ["export", "--no-cache", text(&trace), "--format", format, "-o"];
        longspan(&[&args[..], &[text(&file)]].concat()).done();
        for name in ["-", "/dev/stdout"] {
            let output = command(&[&args[..], &[name]].concat()).output().expect("it ends");
            assert!(output.status.success(), "{output:?}");
            assert!(output.stdout == fs::read(&file).expect("written"), "{format} to {name}");
            assert!(String::from_utf8_lossy(&output.stderr).contains(": 303 spans"), "{format} to {name}");
        }
    }
    let made = longspan(&["synth", "--spans", "100", "--format", "chrome", "-o", "-"]).done();
    assert!(made.starts_with("{\"displayTimeUnit\""), "{made}");
    let message = longspan(&["export", text(&trace), "--format", "parquet", "-o", "-"]).failed(2);
    assert!(message.contains("Parquet is a folder of tables, which cannot be written to stdout"), "{message}");
    // The harness runs all commands with an empty stdin.
    let empty = longspan(&["info", "--no-cache", "-"]).failed(1);
    assert!(empty.contains("/dev/stdin: the file is empty"), "{empty}");
}

#[test]
fn exported_tables_are_refused_with_advice_on_what_to_open() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let trace = data("go_trace.json");
    let outputs = [("t.csv", "(CSV)"), ("t.parquet", "a folder of tables"), ("t.parquet/spans.parquet", "Parquet")];
    for (output, kind) in outputs {
        if !output.contains('/') {
            longspan(&["export", "--no-cache", text(&trace), "-o", text(&at(output))]).done();
        }
        let message = longspan(&["info", "--no-cache", text(&at(output))]).failed(1);
        assert!(message.contains(kind) && message.contains("open the trace that it was made from"), "{message}");
    }
    let by_process = at("by.parquet");
    longspan(&["export", "--no-cache", text(&trace), "-o", text(&by_process), "--by-process"]).done();
    assert!(longspan(&["info", "--no-cache", text(&by_process)]).failed(1).contains("a folder of tables"));
}

#[test]
fn a_file_appended_by_the_shell_keeps_its_content_before_the_output() {
    let folder = folder();
    let path = folder.path().join("log");
    fs::write(&path, "before\n").expect("written");
    let log = File::options().append(true).open(&path).expect("there");
    let trace = data("ugly.json");
    for name in ["-", "/dev/stdout", "/dev/fd/1"] {
        let args = ["export", "--no-cache", text(&trace), "--format", "csv", "-o", name];
        assert!(command(&args).stdout(log.try_clone().expect("open")).status().expect("it ends").success());
    }
    let once = longspan(&["export", "--no-cache", text(&trace), "--format", "csv", "-o", "-"]).done();
    let held = fs::read_to_string(&path).expect("text");
    assert!(once.starts_with("ts,dur,") && held == format!("before\n{}", once.repeat(3)), "{held}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_descriptor_of_the_shell_keeps_its_content_before_the_output_and_its_position() {
    let folder = folder();
    let (trace, log) = (data("ugly.json"), folder.path().join("log"));
    let csv = longspan(&["export", "--no-cache", text(&trace), "--format", "csv", "-o", "-"]).done();
    for name in ["/dev/fd/7", "/proc/self/fd/7", "/dev/stderr"] {
        let script = r#"echo before >&7; "$0" export --no-cache "$1" --progress never --format csv -o "$2" 2>&7
            echo after >&7"#;
        for redirection in ["7>", "7>>"] {
            fs::write(&log, "").expect("written");
            let script = format!("{{ {script}; }} {redirection}\"$3\"");
            let args = ["-c", &script, env!("CARGO_BIN_EXE_longspan"), text(&trace), name, text(&log)];
            assert!(Command::new("bash").args(args).status().expect("bash").success());
            let held = fs::read_to_string(&log).expect("text");
            let has_all = held.starts_with("before\n") && held.contains(&csv) && held.ends_with("after\n");
            assert!(has_all, "{name} {redirection}: {held}");
        }
    }
    // A file without a name.
    fs::write(&log, "").expect("written");
    let script = r#"exec 7<>"$3"; rm "$3"; "$0" export --no-cache "$1" --format csv -o "$2"; cat /proc/self/fd/7"#;
    let args = ["-c", script, env!("CARGO_BIN_EXE_longspan"), text(&trace), "/dev/fd/7", text(&log)];
    let output = Command::new("bash").args(args).output().expect("bash");
    assert_eq!(String::from_utf8_lossy(&output.stdout), csv);
    assert_eq!(folder.path().read_dir().expect("readable").count(), 0, "no other file is left");
}

#[test]
fn a_trace_that_is_also_stdout_is_not_overwritten() {
    let folder = folder();
    let trace = folder.path().join("trace.json");
    fs::copy(data("ugly.json"), &trace).expect("written");
    let same = File::options().append(true).open(&trace).expect("there");
    let output = command(&["export", "--no-cache", text(&trace), "-o", "-"]).stdout(same).output().expect("it ends");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("is one of the sources"), "{output:?}");
    assert_eq!(fs::read(&trace).expect("there"), fs::read(data("ugly.json")).expect("test data"));
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_that_reports_no_size_is_read_to_its_end() {
    // This file is the command line of the process itself, whose first argument is the trace.
    use std::os::unix::process::CommandExt;
    let mut reader = command(&["spans", "--no-cache", "/proc/self/cmdline"]);
    let output =
        reader.arg0(r#"[{"ph":"X","name":"alpha","pid":1,"tid":1,"ts":1,"dur":2}] "#).output().expect("it ends");
    let (rows, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && rows.contains("alpha"), "{rows}{errors}");
    for (path, expected) in [
        ("/proc/cpuinfo", "/proc/cpuinfo: byte 0: unrecognised file format"),
        ("/proc/self/mem", "/proc/self/mem: cannot read at byte 0: Input/output error"),
    ] {
        let message = longspan(&["info", "--no-cache", path]).failed(1);
        assert!(message.contains(expected), "{message}");
    }
    let folder = folder();
    let empty = folder.path().join("empty");
    fs::write(&empty, "").expect("written");
    assert!(longspan(&["info", "--no-cache", text(&empty)]).failed(1).contains("the file is empty"));
}

#[test]
fn paths_that_are_neither_files_nor_pipes_are_named_by_their_kind() {
    let folder = folder();
    let socket = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
    for (path, kind) in [(folder.path(), "a folder"), (Path::new("/dev/zero"), "a device"), (&socket, "a socket")] {
        for args in [["info", "--no-cache"], ["dump", "--no-cache"]] {
            let message = longspan(&[&args[..], &[text(path)]].concat()).failed(1);
            assert!(message.contains(&format!("{}: not a file but {kind}", text(path))), "{message}");
        }
    }
    longspan(&["info", "-", "-"]).failed(2);
}

/// Counts the threads of a process for queries.
#[cfg(target_os = "linux")]
fn query_threads(process: u32) -> usize {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
    let names = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.starts_with("query ")).count()
}

#[cfg(target_os = "linux")]
#[test]
fn queries_and_ledgers_use_no_more_threads_than_requested() {
    let cores = std::thread::available_parallelism().expect("Linux").get();
    for (options, expected) in [(["--threads", "1"].as_slice(), 1), (&["--threads", "1000"], cores), (&[], cores)] {
        let mut child =
            command(&[&["stats", "--no-cache", "-"], options].concat()).stdin(Stdio::piped()).spawn().unwrap();
        // The command waits for its input.
        let input = child.stdin.take().expect("a pipe");
        let began = std::time::Instant::now();
        while query_threads(child.id()) != expected && began.elapsed().as_secs() < 20 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        // Threads that start late are counted as well.
        std::thread::sleep(std::time::Duration::from_millis(100));
        assert_eq!(query_threads(child.id()), expected, "{options:?}");
        drop(input);
        child.wait().expect("it ends");
    }
}

#[test]
fn a_stream_of_no_supported_format_that_never_ends_is_refused_soon() {
    for (line, reason) in [
        ("y\n", "unrecognised file format"),
        ("Mar 1 10:00:00 host service[7]: a line of a log\n", "a log of the system"),
    ] {
        let mut child =
            command(&["info", "--no-cache", "-"]).stdin(Stdio::piped()).spawn().expect("the program starts");
        let mut input = child.stdin.take().expect("a pipe");
        let block = line.repeat(64 << 10);
        // Without the refusal, this would write until the disk is full.
        let blocks = (0..(1 << 30) / block.len()).take_while(|_| input.write_all(block.as_bytes()).is_ok()).count();
        drop(input);
        let output = child.wait_with_output().expect("it ends");
        let (errors, written) = (String::from_utf8_lossy(&output.stderr), blocks * block.len());
        assert!(output.status.code() == Some(1) && errors.contains(reason), "{:?} {errors}", output.status);
        assert!(written < 64 << 20, "{written} bytes were read");
    }
}

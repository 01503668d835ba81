//! Signals at arbitrary moments: SIGINT, SIGTERM and SIGHUP end a command as usual and leave no temporary file.
//! Leftovers of SIGKILL are removed at the next start. A store that is truncated while it is mapped is an error that
//! names it.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{Random, files, folder, json_trace, limited, longspan, moments, native_trace, signalled};
use crate::outputs::ended;

const ENDING: [Signal; 3] = [Signal::INT, Signal::TERM, Signal::HUP];

fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are text")
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("a child");
}

/// Returns the names in a folder, without complete stores and the files of the test itself.
fn leftovers(folder: &Path) -> Vec<String> {
    let names = files(folder).into_iter().map(|path| path.file_name().expect("named").to_string_lossy().into_owned());
    names.filter(|name| name.starts_with('.') || name.ends_with(".building")).collect()
}

/// Starts a command with all its temporary files below `folder`.
fn start(args: &[&str], folder: &Path) -> Child {
    let mut command = signalled(args);
    command.env("TMPDIR", folder).stdin(Stdio::piped());
    command.spawn().expect("the program starts")
}

#[test]
fn a_signal_at_any_moment_leaves_no_temporary_file() {
    let folder = folder();
    let work = folder.path().join("work");
    fs::create_dir(&work).expect("made");
    let at = |name: &str| work.join(name);
    let trace = json_trace(folder.path(), 6000);
    let zip = at("trace.zip");
    archive(&trace, &zip);
    let (cache, out, tables) = (at("cache"), at("out.json"), at("tables.parquet"));
    let load = ["info", text(&trace), "--cache", text(&cache)];
    let unpack = ["info", text(&zip), "--cache", text(&cache)];
    let export = ["export", text(&trace), "--cache", text(&cache), "-o", text(&out)];
    let folders = ["export", text(&trace), "--cache", text(&cache), "-o", text(&tables)];
    let synth = ["synth", "--spans", "60000", "-o", text(&out)];
    let mut random = Random(5);
    let mut ended_by_signal = 0;
    let mut runs = 0;
    for args in [&load[..], &unpack, &export, &folders, &synth] {
        let began = Instant::now();
        assert!(start(args, &work).wait_with_output().expect("a child").status.success(), "{args:?}");
        let takes = began.elapsed();
        for signal in ENDING {
            // This is the number for each signal. In long tests, all commands together have 500 moments.
            for _ in 0..moments(20) / 5 {
                fs::remove_dir_all(&tables).ok();
                if args[0] == "info" {
                    files(&cache).iter().for_each(|store| fs::remove_file(store).expect("removed"));
                }
                let mut child = start(args, &work);
                std::thread::sleep(Duration::from_micros(random.below(takes.as_micros() as u64)));
                send(&child, signal);
                let status = child.wait().expect("a child");
                // Before the handlers are installed, or after the end, a signal has its default effect.
                assert!(status.success() || status.signal() == Some(signal.as_raw()), "{args:?}: {status}");
                ended_by_signal += u64::from(!status.success());
                runs += 1;
                for place in [&work, &cache] {
                    assert!(leftovers(place).is_empty(), "{args:?} leaves {:?}", leftovers(place));
                }
            }
        }
    }
    assert!(ended_by_signal * 4 > runs, "only {ended_by_signal} of {runs} were ended by their signal");
}

/// Creates a zip archive with one file.
fn archive(file: &Path, archive: &Path) {
    let mut zip = zip::ZipWriter::new(File::create(archive).expect("made"));
    zip.start_file("trace.json", zip::write::SimpleFileOptions::default()).expect("written");
    zip.write_all(&fs::read(file).expect("there")).expect("written");
    zip.finish().expect("written");
}

#[test]
fn a_wait_for_a_pipe_is_reported_and_a_signal_ends_it_without_leftovers() {
    let folder = folder();
    let (pipe, cache) = (folder.path().join("pipe"), folder.path().join("cache"));
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    for (source, signal) in [text(&pipe), "-", text(&pipe)].into_iter().zip(ENDING) {
        let mut child = start(&["info", source, "--cache", text(&cache)], folder.path());
        // `wait` closes the child's stdin, and the end of input would race with the signal.
        let _input = child.stdin.take();
        let mut stderr = String::new();
        BufReader::new(child.stderr.as_mut().expect("a pipe")).read_line(&mut stderr).expect("text");
        let name = if source == "-" { "/dev/stdin" } else { source };
        assert_eq!(stderr, format!("longspan: waiting for {name}: no data received yet\n"));
        send(&child, signal);
        assert_eq!(child.wait().expect("a child").signal(), Some(signal.as_raw()));
        assert!(files(&cache).is_empty(), "{:?}", files(&cache));
    }
}

#[test]
fn an_ignored_signal_stays_ignored() {
    let folder = folder();
    let cache = folder.path().join("cache");
    let mut command = limited("trap '' HUP INT", &["info", "-", "--cache", text(&cache)]);
    let mut child = command.stdin(Stdio::piped()).spawn().expect("the program starts");
    // The message about the wait appears after the handlers are installed.
    let mut stderr = String::new();
    BufReader::new(child.stderr.as_mut().expect("a pipe")).read_line(&mut stderr).expect("text");
    send(&child, Signal::HUP);
    send(&child, Signal::INT);
    let json = fs::read(json_trace(folder.path(), 10)).expect("there");
    child.stdin.take().expect("a pipe").write_all(&json).expect("it still reads");
    let output = child.wait_with_output().expect("a child");
    assert!(output.status.success() && output.stdout.starts_with(b"spans"), "{output:?}");
}

#[test]
fn leftovers_of_a_kill_are_removed_at_the_next_start_or_clear_but_files_in_use_stay() {
    let folder = folder();
    let work = folder.path().join("work");
    fs::create_dir(&work).expect("made");
    let (trace, cache, out) = (json_trace(folder.path(), 40_000), work.join("cache"), work.join("out.json"));
    let load = ["info", text(&trace), "--cache", text(&cache)];
    let export = ["export", text(&trace), "--cache", text(&cache), "-o", text(&out)];
    let clear = ["cache", "clear", "--cache", text(&cache)];
    let halted = |args: &[&str], place: &Path| {
        // Stops it while it has a temporary file; few attempts miss it.
        for _ in 0..200 {
            let mut child = start(args, &work);
            while leftovers(place).is_empty() && child.try_wait().expect("a child").is_none() {
                std::thread::sleep(Duration::from_micros(200));
            }
            if child.try_wait().expect("a child").is_none() {
                send(&child, Signal::STOP);
                // Excludes a file that is created but not locked yet.
                let is_locked = |name: &String| File::open(place.join(name)).is_ok_and(|file| file.try_lock().is_err());
                if leftovers(place).iter().any(is_locked) {
                    return child;
                }
                child.kill().expect("a child");
                child.wait().expect("a child");
            }
            // A leftover file would stop the next attempt before it has begun.
            files(&cache).iter().for_each(|store| fs::remove_file(store).expect("removed"));
            leftovers(place).iter().for_each(|name| fs::remove_file(place.join(name)).expect("removed"));
        }
        panic!("no {args:?} was stopped while it had a temporary file")
    };
    for next in [&load[..], &clear] {
        let mut child = halted(&load, &cache);
        assert!(longspan(&clear).status().expect("it ends").success());
        assert_eq!(leftovers(&cache).len(), 1, "a load that runs keeps its files");
        child.kill().expect("a child");
        child.wait().expect("a child");
        assert_eq!(leftovers(&cache).len(), 1, "the kill leaves its file");
        assert!(longspan(next).status().expect("it ends").success());
        assert!(leftovers(&cache).is_empty(), "{:?} after {next:?}", leftovers(&cache));
    }
    let mut child = halted(&export, &work);
    assert!(longspan(&export).status().expect("it ends").success());
    assert_eq!(leftovers(&work).len(), 1, "an export that runs keeps its file");
    child.kill().expect("a child");
    child.wait().expect("a child");
    assert!(longspan(&export).status().expect("it ends").success());
    assert!(leftovers(&work).is_empty(), "{:?}", leftovers(&work));
}

#[test]
fn a_store_truncated_while_it_is_read_is_an_error_that_names_it() {
    let folder = folder();
    let (trace, cache) = (native_trace(folder.path(), 100_000), folder.path().join("cache"));
    let args = ["spans", text(&trace), "--cache", text(&cache)];
    let expected = longspan(&args).output().expect("it ends").stdout;
    let store: PathBuf = files(&cache).pop().expect("a cached store");
    for threads in ["1", "4"] {
        let mut command = longspan(&[&args[..], &["--threads", threads]].concat());
        let mut child = command.spawn().expect("the program starts");
        let mut out = child.stdout.take().expect("a pipe");
        let mut head = [0; 1000];
        out.read_exact(&mut head).expect("rows");
        // The program now waits for its reader, at the first row.
        let file = File::options().write(true).open(&store).expect("there");
        file.set_len(4096).expect("cut");
        let mut rest = Vec::new();
        out.read_to_end(&mut rest).expect("a pipe");
        let output = child.wait_with_output().expect("a child");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{}: {message}", output.status);
        assert!(message.contains(text(&store)) && message.contains("was cut from"), "{message}");
        assert!(longspan(&args).output().expect("it ends").stdout == expected, "the next start sorts again");
    }
}

#[test]
fn cache_clear_and_list_succeed_during_loads() {
    let folder = folder();
    let (trace, cache) = (native_trace(folder.path(), 3000), folder.path().join("cache"));
    let load = ["info", text(&trace), "--cache", text(&cache)];
    let others = ["list", "clear", "list", "clear"];
    for _ in 0..moments(5) {
        let loads = [0, 1].map(|_| longspan(&load).spawn().expect("the program starts"));
        for action in others {
            let output = ended(longspan(&["cache", action, "--cache", text(&cache)]));
            assert!(output.status.success(), "{action}: {}", String::from_utf8_lossy(&output.stderr));
        }
        for child in loads {
            let output = child.wait_with_output().expect("a child");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
    assert!(leftovers(&cache).is_empty());
}

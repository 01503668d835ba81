//! Signals that end a recording.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::process::Command;
use std::time::Duration;

use super::{chrome, fifo, signal, wait_until};
use crate::harness::{command, folder, longspan, spans_of, text, wait};

/// `timeout` sends its signal twice: to the program, and to its process group.
#[test]
fn several_signals_at_once_are_one_request_to_stop() {
    let folder = folder();
    let (pipe, json, out) =
        (fifo(folder.path(), "pipe"), folder.path().join("a.json"), folder.path().join("out.longspan"));
    fs::write(&json, chrome(100)).expect("written");
    let record = ["record", text(&pipe), "-o", text(&out)];
    let mut child = command(&record).spawn().expect("it starts");
    let mut input = File::options().write(true).open(&pipe).expect("the other end");
    input.write_all(chrome(100).as_bytes()).expect("written");
    let spool = folder.path().join("out.longspan.spool");
    wait_until(|| fs::metadata(&spool).is_ok_and(|spool| spool.len() == chrome(100).len() as u64));
    let pid = child.id().to_string();
    // The signals differ, since equal ones may arrive as one.
    let script = r#"kill -TERM "$0"; kill -INT "$0"; kill -HUP "$0""#;
    assert!(Command::new("sh").args(["-c", script, &pid]).status().expect("sh").success());
    let mut stderr = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut stderr).expect("text");
    assert_eq!(wait(&mut child, &record), Some(0), "{stderr}");
    assert!(stderr.contains("200 spans written"), "{stderr}");
    assert_eq!(spans_of(&out), spans_of(&json));
}

#[test]
fn a_later_signal_ends_the_program_and_names_the_remaining_files() {
    let folder = folder();
    let (out, spool) = (folder.path().join("out.longspan"), folder.path().join("out.longspan.spool"));
    // The program ends slowly.
    let script = r#"trap "" INT TERM; echo '[{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":1},'; exec sleep 4"#;
    let record = ["record", "-o", text(&out), "--until", "name:never", "--", "sh", "-c", script];
    let ring = ["record", "-o", text(&out), "--keep", "1min", "--progress", "always", "--", "sh", "-c", script];
    for (args, is_ring) in [(&record[..], false), (&ring, true)] {
        let mut child = command(args).spawn().expect("it starts");
        let mut message = String::new();
        let mut stderr = child.stderr.take().expect("a pipe");
        if is_ring {
            let mut step = [0; 1];
            while !message.contains("Recording 1 row") {
                stderr.read_exact(&mut step).expect("a byte");
                message.push(char::from(step[0]));
            }
        } else {
            wait_until(|| fs::metadata(&spool).is_ok_and(|spool| spool.len() > 50));
        }
        signal(&child, "-TERM");
        std::thread::sleep(Duration::from_millis(700));
        signal(&child, "-TERM");
        stderr.read_to_string(&mut message).expect("text");
        assert_eq!(wait(&mut child, args), None, "{message}");
        assert!(!out.exists(), "{message}");
        if is_ring {
            assert!(message.contains("out.longspan: not written; no data was kept"), "{message}");
            let left: Vec<_> = fs::read_dir(folder.path()).expect("a folder").flatten().collect();
            assert!(left.is_empty(), "{left:?}");
        } else {
            assert!(message.contains(&format!("all received data is kept: {}", text(&spool))), "{message}");
            assert_eq!(longspan(&["spans", text(&spool), "--no-cache"]).done().lines().count(), 2);
            fs::remove_file(&spool).expect("there");
        }
    }
}

/// Programs that a shell starts in the background ignore Ctrl+C.
#[test]
fn a_program_that_ignores_ctrl_c_does_not_outlive_its_recording() {
    let folder = folder();
    let (out, ended) = (folder.path().join("out.longspan"), folder.path().join("ended"));
    let script = r#"trap "" INT; trap 'echo ended > "$0"; exit' TERM; echo '['; n=0
        while [ $n -lt 200 ]; do
            echo "{\"ph\":\"X\",\"name\":\"n$n\",\"pid\":1,\"tid\":1,\"ts\":$n,\"dur\":1},"; n=$((n+1)); sleep 0.05
        done"#;
    let record = ["record", "-o", text(&out), "--until", "name:n3", "--", "sh", "-c", script, text(&ended)];
    longspan(&record).done();
    wait_until(|| ended.exists());
}

#[test]
fn a_delay_that_does_not_fit_into_memory_holds_up_neither_ctrl_c_nor_the_end_of_the_data() {
    let folder = folder();
    let (json, out) = (folder.path().join("a.json"), folder.path().join("out.longspan"));
    longspan(&["synth", "-o", text(&json), "--spans", "40000", "--format", "chrome"]).done();
    let bytes = fs::read(&json).expect("there");
    let live = ["--delay", "1h", "--memory", "8MiB"];
    for is_stopped in [true, false] {
        let record = [&["record", "-", "-o", text(&out)][..], &live].concat();
        let mut child = command(&record).stdin(std::process::Stdio::piped()).spawn().expect("it starts");
        let (mut input, bytes) = (child.stdin.take().expect("a pipe"), bytes.clone());
        let spool = folder.path().join("out.longspan.spool");
        // A program that stays, or one that ends.
        let writer = std::thread::spawn(move || {
            input.write_all(&bytes).ok();
            std::thread::sleep(Duration::from_secs(if is_stopped { 20 } else { 0 }));
        });
        wait_until(|| fs::metadata(&spool).is_ok_and(|spool| spool.len() > 1 << 20));
        if is_stopped {
            signal(&child, "-INT");
        }
        let stopped_at = std::time::Instant::now();
        assert_eq!(wait(&mut child, &record), Some(0));
        assert!(!is_stopped || stopped_at.elapsed() < Duration::from_secs(15), "{:?}", stopped_at.elapsed());
        drop(writer);
        let written = spans_of(&out);
        assert!(if is_stopped { !written.is_empty() } else { written == spans_of(&json) }, "{} spans", written.len());
    }
    // A file that is redirected has an end, unlike one that may grow.
    let mut tail = command(&[&["tail", "-", "--format", "jsonl"][..], &live].concat());
    let printed = tail.stdin(File::open(&json).expect("there")).output().expect("it ends");
    let message = String::from_utf8_lossy(&printed.stderr);
    assert!(printed.status.success() && message.contains("the delay needs more memory"), "{message}");
    assert_eq!(String::from_utf8_lossy(&printed.stdout).lines().count(), 40_000);
}

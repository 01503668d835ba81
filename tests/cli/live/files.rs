//! Files that are followed while they grow, are replaced, or are not read to their end yet.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, BufWriter, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use super::{interrupt, wait_until};
use crate::harness::{command, folder, longspan, text, wait};

#[test]
fn rows_of_a_growing_file_are_printed_while_it_is_written_and_ctrl_c_exits_with_0() {
    let folder = folder();
    let path = folder.path().join("growing.json");
    let mut file = File::create(&path).expect("made");
    let mut child = command(&["tail", text(&path), "--format", "jsonl"]).spawn().expect("it starts");
    let mut rows = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut row = || serde_json::from_str::<Value>(&rows.next().expect("a row").expect("text")).expect("JSON");
    writeln!(file, "[").expect("written");
    for span in 0..5 {
        // The first half of a record is neither shown nor lost.
        write!(file, "{{\"name\":\"a{span}\",\"ph\":\"X\",\"ts\":{}", span * 100).expect("written");
        file.flush().expect("written");
        std::thread::sleep(Duration::from_millis(60));
        writeln!(file, ",\"dur\":7,\"pid\":1,\"tid\":1}},").expect("written");
        let found = row();
        assert_eq!((found["name"].as_str(), found["dur"].as_i64()), (Some(&*format!("a{span}")), Some(7_000)));
    }
    // Another trace has the same name, and later fewer bytes than before.
    let other = folder.path().join("other");
    fs::write(&other, "[\n{\"name\":\"new\",\"ph\":\"i\",\"ts\":1,\"pid\":1,\"tid\":1},\n").expect("written");
    // A record right before the replacement is read as well.
    writeln!(file, "{{\"name\":\"last\",\"ph\":\"X\",\"ts\":99,\"dur\":7,\"pid\":1,\"tid\":1}},").expect("written");
    fs::rename(&other, &path).expect("renamed");
    assert_eq!(row()["name"], "last");
    assert_eq!(row()["name"], "new");
    fs::write(&path, "[\n{\"name\":\"cut\",\"ph\":\"i\",\"ts\":2}\n").expect("written");
    assert_eq!(row()["name"], "cut");
    fs::remove_file(&path).expect("removed");
    std::thread::sleep(Duration::from_millis(200));
    // Opening it would wait for a writer, and ignore the signal.
    assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
    std::thread::sleep(Duration::from_millis(300));
    interrupt(&child);
    assert_eq!(wait(&mut child, &["tail"]), Some(0));
    let mut stderr = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut stderr).expect("text");
    for news in [
        "was replaced; the new file is another trace",
        "was truncated; the new data",
        "was deleted or moved",
        "which cannot be opened: it is not a regular file",
    ] {
        assert!(stderr.contains(news), "{news}: {stderr}");
    }
    assert!(!stderr.contains("is not read"), "{stderr}");
}

/// Returns whether a program has opened the file that is at a path now.
fn has_open(child: &Child, path: &Path) -> bool {
    let opened = fs::read_dir(format!("/proc/{}/fd", child.id())).into_iter().flatten().flatten();
    opened.filter_map(|fd| fs::read_link(fd.path()).ok()).any(|target| target == path)
}

#[test]
fn a_replaced_file_shares_no_open_spans_or_names_with_the_old_one() {
    let folder = folder();
    let path = folder.path().join("rotated.json");
    let name = r#"{"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"old main"}}"#;
    fs::write(&path, format!("[{name},\n{{\"ph\":\"B\",\"name\":\"old\",\"pid\":1,\"tid\":1,\"ts\":0}}"))
        .expect("written");
    let out = folder.path().join("out.longspan");
    let mut recorder = command(&["record", "--keep=1GB", "-o", text(&out), text(&path)]).spawn().expect("it starts");
    let mut child = command(&["tail", text(&path), "--format", "jsonl"]).spawn().expect("it starts");
    let all_read = || {
        wait_until(|| [&child, &recorder].iter().all(|child| has_open(child, &path)));
        std::thread::sleep(Duration::from_millis(300));
    };
    all_read();
    let other = folder.path().join("other");
    let new = r#"[{"ph":"B","name":"new","pid":1,"tid":1,"ts":1000},{"ph":"E","pid":1,"tid":1,"ts":3000}]"#;
    fs::write(&other, new).expect("written");
    fs::rename(&other, &path).expect("renamed");
    all_read();
    interrupt(&child);
    interrupt(&recorder);
    let mut found = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut found).expect("text");
    assert_eq!((wait(&mut child, &["tail"]), wait(&mut recorder, &["record"])), (Some(0), Some(0)));
    let rows: Vec<Value> = found.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{name}: {found}"));
    assert_eq!((row("old")["dur"].as_i64(), row("old")["thread"].as_str()), (Some(-1), Some("old main")));
    assert_eq!((row("new")["dur"].as_i64(), row("new")["thread"].as_str()), (Some(2_000_000), Some("")));
    let spans = longspan(&["spans", text(&out), "--no-cache", "--format", "csv"]).done();
    assert!(spans.contains("new") && spans.contains("old main") && spans.contains("rotated.json (2)"), "{spans}");
}

#[test]
fn a_new_file_is_followed_although_the_old_one_is_still_written() {
    let folder = folder();
    let path = folder.path().join("rotated.json");
    let span = |name: &str, ts: u64| {
        format!("{{\"ph\":\"X\",\"name\":\"{name}\",\"pid\":1,\"tid\":1,\"ts\":{ts},\"dur\":1}},\n")
    };
    let mut old = File::create(&path).expect("made");
    write!(old, "[{}", span("old", 0)).expect("written");
    let mut child = command(&["tail", text(&path), "--format", "jsonl"]).spawn().expect("it starts");
    wait_until(|| has_open(&child, &path));
    let (is_done, found) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(String::new())));
    let old_writer = std::thread::spawn({
        let is_done = Arc::clone(&is_done);
        move || {
            for ts in 1.. {
                if is_done.load(Ordering::Relaxed) {
                    return;
                }
                old.write_all(span("old", ts).as_bytes()).expect("written");
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    });
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    let reader = std::thread::spawn({
        let found = Arc::clone(&found);
        move || {
            let mut line = String::new();
            while output.read_line(&mut line).expect("text") > 0 {
                found.lock().expect("no panic").push_str(&std::mem::take(&mut line));
            }
        }
    });
    let other = folder.path().join("other");
    fs::write(&other, format!("[{}", span("new", 5))).expect("written");
    fs::rename(&other, &path).expect("renamed");
    wait_until(|| found.lock().expect("no panic").contains("\"new\""));
    interrupt(&child);
    is_done.store(true, Ordering::Relaxed);
    let mut errors = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut errors).expect("text");
    assert_eq!(wait(&mut child, &["tail"]), Some(0));
    old_writer.join().expect("written");
    reader.join().expect("read");
    assert!(
        errors
            .contains("was replaced; the new file is another trace; what is still written to the old one is not read"),
        "{errors}"
    );
}

#[test]
fn a_stopped_recording_reads_a_file_to_its_end() {
    const SPANS: u64 = 1_500_000;
    let folder = folder();
    let (path, recorded) = (folder.path().join("large.json"), folder.path().join("recorded.longspan"));
    let mut writer = BufWriter::new(File::create(&path).expect("made"));
    write!(writer, "[").expect("written");
    for span in 0..SPANS {
        let comma = if span == 0 { "" } else { "," };
        writeln!(writer, "{comma}{{\"name\":\"work\",\"ph\":\"X\",\"ts\":{span},\"dur\":1,\"pid\":1,\"tid\":1}}")
            .expect("written");
    }
    write!(writer, "]").expect("written");
    drop(writer);
    let mut child = command(&["record", "-o", text(&recorded), text(&path)]).spawn().expect("it starts");
    wait_until(|| has_open(&child, &path));
    std::thread::sleep(Duration::from_millis(200));
    interrupt(&child);
    let mut stderr = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut stderr).expect("text");
    assert_eq!(wait(&mut child, &["record"]), Some(0), "{stderr}");
    assert!(!stderr.contains("truncated"), "{stderr}");
    assert_eq!(longspan(&["search", text(&recorded), "--no-cache", "work"]).done().trim(), SPANS.to_string());
}

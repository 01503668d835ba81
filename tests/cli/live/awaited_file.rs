//! Sources that do not exist yet when they are followed.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::time::Duration;

use super::{chrome, fifo, interrupt, wait_until};
use crate::harness::{command, folder, longspan, text, wait};

#[test]
fn a_file_that_does_not_exist_yet_is_followed_once_it_is_created() {
    let folder = folder();
    let path = folder.path().join("later.json");
    let tail = ["tail", text(&path), "--format", "jsonl", "--until", "arg.i=50"];
    let mut child = command(&tail).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let stderr = lines.next().expect("a line").expect("text");
    assert!(stderr.ends_with("later.json: does not exist yet; waiting for it"), "{stderr}");
    // The name may appear before its content, as with a shell redirection.
    let mut file = File::create(&path).expect("created");
    std::thread::sleep(Duration::from_millis(200));
    file.write_all(chrome(100).as_bytes()).expect("written");
    let mut rows = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut rows).expect("text");
    assert_eq!(wait(&mut child, &tail), Some(0));
    assert!((100..=104).contains(&rows.lines().count()), "{}", rows.lines().count());
}

#[test]
fn a_wait_for_the_writer_of_a_pipe_is_said_and_ends_with_it() {
    let folder = folder();
    let pipe = fifo(folder.path(), "pipe");
    let tail = ["tail", text(&pipe), "--format", "jsonl"];
    let mut child = command(&tail).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let stderr = lines.next().expect("a line").expect("text");
    assert!(stderr.ends_with("pipe: waiting for a program that writes to it"), "{stderr}");
    fs::write(&pipe, chrome(100)).expect("written");
    let mut rows = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut rows).expect("text");
    assert_eq!((wait(&mut child, &tail), rows.lines().count()), (Some(0), 200));
}

#[test]
fn a_wait_for_a_file_ends_with_a_signal_and_a_missing_folder_is_an_error() {
    let folder = folder();
    let (path, out) = (folder.path().join("never.json"), folder.path().join("out.longspan"));
    let record = ["record", text(&path), "-o", text(&out)];
    let mut child = command(&record).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    wait_until(|| lines.next().expect("a line").expect("text").contains("waiting for it"));
    interrupt(&child);
    let stderr = lines.map_while(Result::ok).collect::<String>();
    assert_eq!(wait(&mut child, &record), Some(1), "{stderr}");
    assert!(stderr.contains("no data was received"), "{stderr}");
    assert!(!out.exists());
    let lost = longspan(&["tail", text(&folder.path().join("no-folder/trace.json"))]);
    assert_eq!(lost.status, Some(1), "{}", lost.stderr);
    assert!(lost.stderr.contains("its folder does not exist: create it"), "{}", lost.stderr);
    // A folder in its place is not a trace.
    let path = folder.path().join("later");
    let mut child = command(&["tail", text(&path)]).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    wait_until(|| lines.next().expect("a line").expect("text").contains("waiting for it"));
    fs::create_dir(&path).expect("made");
    let stderr = lines.map_while(Result::ok).collect::<String>();
    assert_eq!(wait(&mut child, &["tail"]), Some(1), "{stderr}");
    assert!(stderr.contains("is a folder"), "{stderr}");
}

//! The names of the sources of a recording, and its output, which is none of them.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use super::{chrome, fifo, until};
use crate::harness::{command, folder, longspan, records, spans_of, text, wait};

/// A program may still write to the source: it would be replaced at the end.
#[test]
fn a_recording_never_replaces_its_source_and_fails_at_once_if_it_cannot_be_written() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("trace.longspan"), chrome(100)).expect("written");
    fs::write(at("other.json"), chrome(100)).expect("written");
    fs::hard_link(at("trace.longspan"), at("hard")).expect("linked");
    std::os::unix::fs::symlink("trace.longspan", at("soft")).expect("linked");
    std::os::unix::fs::symlink("later.longspan", at("later")).expect("linked");
    for (source, output) in [
        ("trace.longspan", "trace.longspan"),
        ("trace.longspan", "soft"),
        ("trace.longspan", "hard"),
        ("soft", "trace.longspan"),
        ("later.longspan", "later.longspan"),
        ("later.longspan", "later"),
    ] {
        let (other, source, output) = (at("other.json"), at(source), at(output));
        for keep in [&[][..], &["--keep", "1min"]] {
            let words = [&["record", text(&other), text(&source), "-o", text(&output)], keep].concat();
            let refused = longspan(&words).failed(1);
            assert!(refused.contains("is an open trace; choose another file"), "{refused}");
        }
    }
    assert_eq!(fs::read(at("trace.longspan")).expect("there"), chrome(100).as_bytes());
    let source = at("trace.longspan");
    for keep in [&[][..], &["--keep", "1min"]] {
        let words = [&["record", text(&source), "-o", text(folder.path())], keep].concat();
        assert!(longspan(&words).failed(1).contains("is a folder"));
    }
    assert_eq!(fs::read_dir(folder.path()).expect("there").count(), 5, "nothing is left beside it");
}

#[test]
fn a_recording_of_several_sources_names_them_as_other_commands_do() {
    let folder = folder();
    let [app, db, out] = ["app.json", "db.json", "out.longspan"].map(|name| folder.path().join(name));
    fs::write(&app, chrome(10)).expect("written");
    fs::write(&db, chrome(10)).expect("written");
    longspan(&["record", text(&app), text(&db), "-o", text(&out), "--until", "arg.i=9", "--delay", "1s"]).done();
    let pids = |csv: &str| records(csv).iter().map(|row| row[5].clone()).collect::<BTreeSet<_>>();
    let expected = pids(&longspan(&["spans", text(&app), text(&db), "--no-cache"]).done());
    assert!(expected.iter().any(|pid| pid.ends_with(" in db.json")), "{expected:?}");
    assert_eq!(pids(&spans_of(&out)), expected);
}

/// The bytes of a pipe are nowhere else.
#[test]
fn the_data_of_a_source_that_cannot_be_read_is_left_beside_the_recording() {
    let folder = folder();
    let [first, second] = ["first", "second"].map(|name| fifo(folder.path(), name));
    let out = folder.path().join("out.longspan");
    let garbage = vec![0xe7; 5000];
    let writers = [(first.clone(), garbage.clone()), (second.clone(), chrome(10).into_bytes())]
        .map(|(path, bytes)| std::thread::spawn(move || fs::write(path, bytes).expect("written")));
    let answer = longspan(&["record", text(&first), text(&second), "-o", text(&out)]);
    writers.into_iter().for_each(|writer| writer.join().expect("written"));
    let said = answer.stderr.lines().find_map(|line| line.strip_suffix(": cannot be read; the file is kept"));
    let left = said.and_then(|line| line.strip_prefix("longspan: ")).unwrap_or_else(|| panic!("{}", answer.stderr));
    assert_eq!(fs::read(left).expect("there"), garbage);
    assert_eq!(spans_of(&out).lines().count(), 21);
    assert_eq!(fs::read_dir(folder.path()).expect("there").count(), 4, "nothing else is left");
}

/// Nobody reads a pipe while the recording runs, and the files beside it would be in its folder.
#[test]
fn a_recording_into_a_pipe_or_a_device_is_refused_at_once() {
    let folder = folder();
    let (pipe, link, source) =
        (fifo(folder.path(), "pipe"), folder.path().join("link"), folder.path().join("trace.json"));
    std::os::unix::fs::symlink("pipe", &link).expect("linked");
    fs::write(&source, chrome(10)).expect("written");
    for keep in [&[][..], &["--keep", "1min"]] {
        for (output, kind) in [(text(&pipe), "a pipe"), (text(&link), "a pipe"), ("/dev/null", "a device")] {
            let words = [&["record", text(&source), "-o", output], keep].concat();
            let refused = longspan(&words).failed(1);
            assert!(
                refused.contains(&format!("{output}: is {kind}: a recording is kept in files beside")),
                "{refused}"
            );
        }
    }
    assert_eq!(fs::read_dir(folder.path()).expect("there").count(), 3, "nothing is left beside it");
}

/// The bytes that follow would be lost as well, whichever source they are of.
#[test]
fn a_recording_whose_disk_is_used_up_ends_although_other_sources_still_run() {
    let folder = folder();
    let (idle, path, out) =
        (fifo(folder.path(), "idle"), folder.path().join("trace.json"), folder.path().join("out.longspan"));
    fs::write(&path, chrome(1000)).expect("written");
    // A pipe that is open for both has no end.
    let _writer = fs::OpenOptions::new().read(true).write(true).open(&idle).expect("opened");
    let answer = longspan(&["record", text(&idle), text(&path), "-o", text(&out), "--disk-cap", "9000"]);
    for said in ["the recording ends, because received data cannot be written", "the 9000 bytes of --disk-cap are used"]
    {
        assert!(answer.stderr.contains(said), "{}", answer.stderr);
    }
    answer.done();
    assert!(spans_of(&out).lines().count() > 50);
}

#[test]
fn a_file_of_an_earlier_recording_is_refused_before_anybody_can_connect() {
    let folder = folder();
    let out = folder.path().join("out.longspan");
    fs::write(folder.path().join("out.longspan.spool"), "").expect("written");
    let refused = longspan(&["record", "otlp:0", "-o", text(&out)]).failed(1);
    assert!(refused.contains("out.longspan.spool") && refused.contains("an earlier recording left it"), "{refused}");
    assert!(!refused.contains("listening"), "{refused}");
}

#[test]
fn received_data_that_another_program_removes_is_an_error_that_names_its_file() {
    for writes_more in [true, false] {
        let folder = folder();
        let (out, spool) = (folder.path().join("out.longspan"), folder.path().join("out.longspan.spool"));
        let words = ["record", "-", "-o", text(&out)];
        let mut child = command(&words).stdin(Stdio::piped()).spawn().expect("it starts");
        let mut input = child.stdin.take().expect("a pipe");
        input.write_all(chrome(1000).as_bytes()).expect("written");
        until(|| fs::metadata(&spool).is_ok_and(|file| file.len() > 0));
        fs::remove_file(&spool).expect("removed");
        if writes_more {
            // The reader may end at any of these bytes.
            input.write_all(chrome(100_000).as_bytes()).ok();
        }
        drop(input);
        let mut said = String::new();
        std::io::Read::read_to_string(child.stderr.as_mut().expect("a pipe"), &mut said).expect("text");
        assert_eq!(wait(&mut child, &words), Some(1), "{said}");
        assert!(said.contains("out.longspan.spool: ") && said.contains("it was removed"), "{said}");
    }
}

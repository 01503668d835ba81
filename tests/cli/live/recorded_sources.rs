//! The sources of a recording by name, and outputs that a recording refuses.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use super::{chrome, fifo, interrupt, wait_until};
use crate::harness::{command, folder, longspan, records, spans_of, text, wait};

/// A program may still write to the source, which would be replaced at the end.
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
            let args = [&["record", text(&other), text(&source), "-o", text(&output)], keep].concat();
            let message = longspan(&args).failed(1);
            assert!(message.contains("is one of the sources; choose another output"), "{message}");
        }
    }
    assert_eq!(fs::read(at("trace.longspan")).expect("there"), chrome(100).as_bytes());
    let source = at("trace.longspan");
    for keep in [&[][..], &["--keep", "1min"]] {
        let args = [&["record", text(&source), "-o", text(folder.path())], keep].concat();
        assert!(longspan(&args).failed(1).contains("is a folder"));
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

/// The bytes of a pipe exist nowhere else, so they must not be removed.
#[test]
fn the_data_of_an_unreadable_source_is_kept_beside_the_recording() {
    let folder = folder();
    let [first, second] = ["first", "second"].map(|name| fifo(folder.path(), name));
    let out = folder.path().join("out.longspan");
    let garbage = vec![0xe7; 5000];
    let writers = [(first.clone(), garbage.clone()), (second.clone(), chrome(10).into_bytes())]
        .map(|(path, bytes)| std::thread::spawn(move || fs::write(path, bytes).expect("written")));
    let output = longspan(&["record", text(&first), text(&second), "-o", text(&out)]);
    writers.into_iter().for_each(|writer| writer.join().expect("written"));
    let line = output.stderr.lines().find_map(|line| line.strip_suffix(": cannot be read; the file is kept"));
    let left = line.and_then(|line| line.strip_prefix("longspan: ")).unwrap_or_else(|| panic!("{}", output.stderr));
    assert_eq!(fs::read(left).expect("there"), garbage);
    assert_eq!(spans_of(&out).lines().count(), 21);
    assert_eq!(fs::read_dir(folder.path()).expect("there").count(), 4, "nothing else is left");
}

/// A pipe is not read while the recording runs, and the spool files would be in its folder.
#[test]
fn a_recording_into_a_pipe_or_a_device_is_refused_at_once() {
    let folder = folder();
    let (pipe, link, source) =
        (fifo(folder.path(), "pipe"), folder.path().join("link"), folder.path().join("trace.json"));
    std::os::unix::fs::symlink("pipe", &link).expect("linked");
    fs::write(&source, chrome(10)).expect("written");
    for keep in [&[][..], &["--keep", "1min"]] {
        for (output, kind) in [(text(&pipe), "a pipe"), (text(&link), "a pipe"), ("/dev/null", "a device")] {
            let args = [&["record", text(&source), "-o", output], keep].concat();
            let message = longspan(&args).failed(1);
            assert!(
                message.contains(&format!("{output}: is {kind}: a recording is kept in files beside")),
                "{message}"
            );
        }
    }
    assert_eq!(fs::read_dir(folder.path()).expect("there").count(), 3, "nothing is left beside it");
}

/// Later bytes would be lost as well, from any source.
#[test]
fn a_recording_on_a_full_disk_ends_although_other_sources_still_run() {
    let folder = folder();
    let (idle, path, out) =
        (fifo(folder.path(), "idle"), folder.path().join("trace.json"), folder.path().join("out.longspan"));
    fs::write(&path, chrome(1000)).expect("written");
    // A pipe that is open for both has no end.
    let _writer = fs::OpenOptions::new().read(true).write(true).open(&idle).expect("opened");
    let output = longspan(&["record", text(&idle), text(&path), "-o", text(&out), "--disk-cap", "9000"]);
    assert_eq!(output.stderr.matches("the 9000 bytes of --disk-cap are used up: the recording ends").count(), 1);
    output.done();
    assert!(spans_of(&out).lines().count() > 50);
}

#[test]
fn a_file_of_an_earlier_recording_is_refused_before_listening() {
    let folder = folder();
    let out = folder.path().join("out.longspan");
    fs::write(folder.path().join("out.longspan.spool"), "").expect("written");
    let message = longspan(&["record", "otlp:0", "-o", text(&out)]).failed(1);
    assert!(message.contains("out.longspan.spool") && message.contains("an earlier recording left it"), "{message}");
    assert!(!message.contains("listening"), "{message}");
}

#[test]
fn received_data_removed_by_another_program_is_an_error_that_names_its_file() {
    for writes_more in [true, false] {
        let folder = folder();
        let (out, spool) = (folder.path().join("out.longspan"), folder.path().join("out.longspan.spool"));
        let args = ["record", "-", "-o", text(&out)];
        let mut child = command(&args).stdin(Stdio::piped()).spawn().expect("it starts");
        let mut input = child.stdin.take().expect("a pipe");
        input.write_all(chrome(1000).as_bytes()).expect("written");
        wait_until(|| fs::metadata(&spool).is_ok_and(|file| file.len() > 0));
        fs::remove_file(&spool).expect("removed");
        if writes_more {
            // The reader may end at any of these bytes.
            input.write_all(chrome(100_000).as_bytes()).ok();
        }
        drop(input);
        let mut stderr = String::new();
        std::io::Read::read_to_string(child.stderr.as_mut().expect("a pipe"), &mut stderr).expect("text");
        assert_eq!(wait(&mut child, &args), Some(1), "{stderr}");
        assert!(stderr.contains("out.longspan.spool: ") && stderr.contains("it was removed"), "{stderr}");
    }
}

/// Nothing else has the rows that `--keep` retains.
#[test]
fn an_incomplete_last_part_is_written_beside_an_earlier_recording() {
    let folder = folder();
    let [json, plain, out] = ["a.json", "plain.txt", "out.longspan"].map(|name| folder.path().join(name));
    fs::write(&json, chrome(100)).expect("written");
    fs::write(&plain, "this is no trace\n").expect("written");
    fs::write(&out, "earlier").expect("written");
    let record = ["record", text(&json), text(&plain), "-o", text(&out), "--keep", "1min", "--progress", "always"];
    let mut child = command(&record).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    wait_until(|| lines.next().expect("a line").expect("text").contains("Recording 200 rows"));
    interrupt(&child);
    let stderr = lines.map_while(Result::ok).collect::<Vec<_>>().join("\n");
    assert_eq!(wait(&mut child, &record), Some(1), "{stderr}");
    assert_eq!(fs::read(&out).expect("there"), b"earlier");
    assert!(stderr.contains("out.longspan.partial: 200 spans written"), "{stderr}");
}

#[test]
fn an_empty_filter_of_the_last_row_and_a_device_are_refused() {
    let folder = folder();
    let (path, out) = (folder.path().join("a.json"), folder.path().join("out.longspan"));
    fs::write(&path, chrome(100)).expect("written");
    for command in [&["tail", text(&path)][..], &["record", text(&path), "-o", text(&out)]] {
        let message = longspan(&[command, &["--until", " "]].concat()).failed(2);
        assert!(message.contains("--until: expected a filter"), "{message}");
    }
    for command in [&["tail", "/dev/zero"][..], &["record", "/dev/zero", "-o", text(&out)]] {
        let message = longspan(command).failed(1);
        assert!(message.contains("/dev/zero: is a device, and only files, pipes"), "{message}");
    }
    for command in [&["tail", "-"][..], &["record", "-", "-o", text(&out)]] {
        let zeros = fs::File::open("/dev/zero").expect("a device");
        let output = crate::harness::command(command).stdin(zeros).output().expect("the program ends");
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && message.contains("is a device, and only files, pipes"), "{message}");
    }
    assert!(!out.exists());
}

#[test]
fn the_limit_of_a_recording_is_not_a_failure_of_the_program_whose_pipe_it_closes() {
    let folder = folder();
    let out = folder.path().join("out.longspan");
    let endless = r#"trap "" PIPE; echo "["; while echo '{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1},'; do :; done; exit 1"#;
    let capped = longspan(&["record", "-o", text(&out), "--disk-cap", "1000", "--", "sh", "-c", endless]);
    for word in ["cannot write", "ended with"] {
        assert!(!capped.stderr.contains(word), "{}", capped.stderr);
    }
    assert!(capped.stderr.contains("--disk-cap are used up: the recording ends"), "{}", capped.stderr);
    capped.done();
}

//! The names of the sources of a recording, and its output, which is none of them.

use std::collections::BTreeSet;
use std::fs;

use super::{chrome, fifo};
use crate::harness::{folder, longspan, records, spans_of, text};

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
    let said = answer.stderr.lines().find_map(|line| line.strip_suffix(": cannot be read, and is left there"));
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

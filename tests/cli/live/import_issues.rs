//! Import issues of recordings: each is reported once, like an import issue of the finished file.

use std::fs;

use super::fed;
use crate::harness::{data, folder, longspan, text};

/// Two spans, a record that is not an event, and an end without a begin.
const DAMAGED: &str = r#"[
{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":1},
{"ph":"X","name":"b","pid":1,"tid":1,"ts":"never","dur":1},
{"ph":"E","name":"c","pid":1,"tid":2,"ts":3},
{"ph":"X","name":"d","pid":1,"tid":1,"ts":5,"dur":1},
"#;

/// Returns the lines about import issues, without the name of their file.
fn issues(stderr: &str) -> Vec<&str> {
    stderr
        .lines()
        .filter_map(|line| line.split_once(", first at ")?.0.rsplit_once(": "))
        .map(|(_, issue)| issue)
        .collect()
}

#[test]
fn a_recording_reports_the_import_issues_of_its_sort_once() {
    let folder = folder();
    let (path, out) = (folder.path().join("damaged.json"), folder.path().join("out.longspan"));
    fs::write(&path, DAMAGED).expect("written");
    let expected = longspan(&["spans", text(&path), "--no-cache"]);
    let expected = issues(&expected.stderr);
    assert_eq!(expected, ["1 unmatched_end", "1 bad_time"]);
    for keep in [&[][..], &["--keep", "1min"]] {
        let args = [&["record", "-o", text(&out)], keep, &["--", "cat", text(&path)]].concat();
        let output = longspan(&args);
        assert_eq!((output.status, issues(&output.stderr)), (Some(0), expected.clone()), "{}", output.stderr);
        assert!(output.stderr.contains("2 spans written"), "{}", output.stderr);
    }
}

#[test]
fn an_unsorted_recording_reports_the_losses_of_its_parser() {
    let folder = folder();
    let out = folder.path().join("out.longspan");
    let record = r#"{"ph":"X","name":"b","pid":1,"tid":1,"ts":"never","dur":1}"#;
    for keep in [&[][..], &["--keep", "1min"]] {
        let args = [&["record", "-", "-o", text(&out)], keep].concat();
        let (status, _, stderr) = fed(&args, format!("[{record},\n").as_bytes(), 1000);
        assert_eq!((status, issues(&stderr).contains(&"1 bad_time")), (Some(1), true), "{stderr}");
    }
}

#[test]
fn a_bounded_recording_reports_an_unreadable_source_as_left_out() {
    let folder = folder();
    let [bad, good, out] = ["bad.txt", "good.json", "out.longspan"].map(|name| folder.path().join(name));
    fs::write(&bad, "hello\nworld\n").expect("written");
    fs::write(&good, DAMAGED).expect("written");
    let args = ["record", "-o", text(&out), "--keep", "30min", "--"];
    let stderr = longspan(&[&args[..], &["cat", text(&bad)]].concat()).failed(1);
    assert!(stderr.contains("It is left out") && stderr.contains("nothing is recorded"), "{stderr}");
    assert!(!stderr.contains("It is recorded") && !stderr.contains("no data was received"), "{stderr}");
    // The others are written, and the exit status reports that one is missing.
    let args = ["record", text(&bad), "-", "-o", text(&out), "--keep", "30min", "--until", "name:d"];
    let (status, _, stderr) = fed(&args, DAMAGED.as_bytes(), 1000);
    assert!(status == Some(1) && stderr.contains("It is left out") && stderr.contains("spans written"), "{stderr}");
}

#[test]
fn frames_after_their_events_are_not_an_import_issue_of_a_stream() {
    let folder = folder();
    let (path, out) = (data("go_trace.json"), folder.path().join("out.longspan"));
    let record = ["record", "-o", text(&out)];
    let keep = [&record[..], &["--keep", "1min"]].concat();
    // With `--keep`, nothing is sorted at the end, so the frames are lost.
    for (args, expected) in [(&record[..], &[][..]), (&keep, &["459 missing_text"]), (&["tail"], &[])] {
        let output = longspan(&[args, &["--", "cat", text(&path)]].concat());
        assert_eq!((output.status, &issues(&output.stderr)[..]), (Some(0), expected), "{}", output.stderr);
    }
    // There is no table of frames.
    let (status, _, stderr) = fed(&["tail", "-"], br#"[{"ph":"P","name":"a","pid":1,"tid":1,"ts":0,"sf":3}]"#, 1000);
    assert_eq!((status, issues(&stderr)), (Some(0), vec!["1 missing_text"]), "{stderr}");
}

#[test]
fn one_span_is_written_in_the_singular() {
    let folder = folder();
    let out = folder.path().join("out.longspan");
    let args = ["record", "-", "-o", text(&out)];
    let (status, _, stderr) = fed(&args, br#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":1}]"#, 1000);
    assert!(status == Some(0) && stderr.contains("out.longspan: 1 span written, "), "{stderr}");
    let copy = folder.path().join("copy.json");
    let output = longspan(&["export", text(&out), "-o", text(&copy), "--no-cache"]);
    assert!(output.stderr.contains("copy.json: 1 span written, "), "{}", output.stderr);
}

#[test]
fn formats_that_cannot_be_streamed_are_refused_with_advice() {
    for (name, says) in [
        ("pyspy.speedscope.json", "speedscope is read as a whole and cannot be followed"),
        ("chromium.pftrace.gz", "compressed data cannot be followed"),
    ] {
        let (status, _, errors) = fed(&["tail", "-"], &fs::read(data(name)).expect("test data"), 1 << 16);
        assert!(status == Some(1) && errors.contains(says), "{errors}");
    }
    let (status, _, errors) = fed(&["tail", "-"], b"plain text\n", 100);
    assert!(status == Some(1) && errors.contains("unrecognised format"), "{errors}");
    assert_eq!(fed(&["tail", "-"], b"", 1).0, Some(0), "nothing came");
    assert!(longspan(&["tail"]).failed(2).contains("expected a SOURCE"));
    assert!(longspan(&["record", "-o", "-", "x"]).failed(2).contains("OUT must be a file"));
}

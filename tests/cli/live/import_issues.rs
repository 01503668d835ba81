//! Import issues of recordings: each is reported once, as those of the finished file.

use std::fs;

use super::fed;
use crate::harness::{data, folder, longspan, text};

/// Two spans, a record that is none, and an end without a begin.
const DAMAGED: &str = r#"[
{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":1},
{"ph":"X","name":"b","pid":1,"tid":1,"ts":"never","dur":1},
{"ph":"E","name":"c","pid":1,"tid":2,"ts":3},
{"ph":"X","name":"d","pid":1,"tid":1,"ts":5,"dur":1},
"#;

/// Returns the lines about import issues, without the name of their file.
fn issues(said: &str) -> Vec<&str> {
    said.lines()
        .filter_map(|line| line.split_once(", first at ")?.0.rsplit_once(": "))
        .map(|(_, issue)| issue)
        .collect()
}

#[test]
fn a_recording_reports_the_issues_of_its_sort_once() {
    let folder = folder();
    let (path, out) = (folder.path().join("damaged.json"), folder.path().join("out.longspan"));
    fs::write(&path, DAMAGED).expect("written");
    let expected = longspan(&["spans", text(&path), "--no-cache"]);
    let expected = issues(&expected.stderr);
    assert_eq!(expected, ["1 unmatched_end", "1 bad_time"]);
    for keep in [&[][..], &["--keep", "1min"]] {
        let words = [&["record", "-o", text(&out)], keep, &["--", "cat", text(&path)]].concat();
        let answer = longspan(&words);
        assert_eq!((answer.status, issues(&answer.stderr)), (Some(0), expected.clone()), "{}", answer.stderr);
        assert!(answer.stderr.contains("2 spans written"), "{}", answer.stderr);
    }
}

#[test]
fn a_recording_that_is_not_sorted_reports_what_its_parser_has_lost() {
    let folder = folder();
    let out = folder.path().join("out.longspan");
    let record = r#"{"ph":"X","name":"b","pid":1,"tid":1,"ts":"never","dur":1}"#;
    for keep in [&[][..], &["--keep", "1min"]] {
        let words = [&["record", "-", "-o", text(&out)], keep].concat();
        let (status, _, said) = fed(&words, format!("[{record},\n").as_bytes(), 1000);
        assert_eq!((status, issues(&said).contains(&"1 bad_time")), (Some(1), true), "{said}");
    }
}

#[test]
fn a_bounded_recording_of_a_source_that_cannot_be_read_says_that_it_is_left_out() {
    let folder = folder();
    let [bad, good, out] = ["bad.txt", "good.json", "out.longspan"].map(|name| folder.path().join(name));
    fs::write(&bad, "hello\nworld\n").expect("written");
    fs::write(&good, DAMAGED).expect("written");
    let words = ["record", "-o", text(&out), "--keep", "30min", "--"];
    let said = longspan(&[&words[..], &["cat", text(&bad)]].concat()).failed(1);
    assert!(said.contains("It is left out") && said.contains("nothing is recorded"), "{said}");
    assert!(!said.contains("It is recorded") && !said.contains("no data was received"), "{said}");
    // The others are written, and the status tells that one is missing.
    let words = ["record", text(&bad), "-", "-o", text(&out), "--keep", "30min", "--until", "name:d"];
    let (status, _, said) = fed(&words, DAMAGED.as_bytes(), 1000);
    assert!(status == Some(1) && said.contains("It is left out") && said.contains("spans written"), "{said}");
}

#[test]
fn frames_that_follow_their_events_are_no_issue_of_a_stream() {
    let folder = folder();
    let (path, out) = (data("go_trace.json"), folder.path().join("out.longspan"));
    for words in [&["record", "-o", text(&out)][..], &["record", "-o", text(&out), "--keep", "1min"], &["tail"]] {
        let answer = longspan(&[words, &["--", "cat", text(&path)]].concat());
        assert_eq!((answer.status, issues(&answer.stderr)), (Some(0), vec![]), "{}", answer.stderr);
    }
    // There is no table of frames.
    let (status, _, said) = fed(&["tail", "-"], br#"[{"ph":"P","name":"a","pid":1,"tid":1,"ts":0,"sf":3}]"#, 1000);
    assert_eq!((status, issues(&said)), (Some(0), vec!["1 missing_text"]), "{said}");
}

#[test]
fn one_span_is_written_in_the_singular() {
    let folder = folder();
    let out = folder.path().join("out.longspan");
    let words = ["record", "-", "-o", text(&out)];
    let (status, _, said) = fed(&words, br#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":1}]"#, 1000);
    assert!(status == Some(0) && said.contains("out.longspan: 1 span written, "), "{said}");
    let copy = folder.path().join("copy.json");
    let answer = longspan(&["export", text(&out), "-o", text(&copy), "--no-cache"]);
    assert!(answer.stderr.contains("copy.json: 1 span written, "), "{}", answer.stderr);
}

#[test]
fn formats_that_are_read_as_a_whole_are_refused_with_what_to_do() {
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

//! Live traces in the real window: a growing file, and the output of a program.

use std::fs::{self, File};
use std::io::Write as _;

use crate::screenshot::span_color;
use crate::session::{Session, text};

#[test]
fn a_growing_file_is_followed_paused_and_sorted_on_stop() {
    let session = Session::with_screen_reader();
    let path = session.file("running.json", "[\n");
    let mut file = File::options().append(true).open(&path).expect("the file");
    let mut spans = 0u64;
    let mut add = |name: &str, count: u64| {
        for _ in 0..count {
            let ts = spans * 10_000;
            writeln!(file, r#"{{"ph":"X","pid":1,"tid":1,"name":"{name}","ts":{ts},"dur":9000}},"#).expect("written");
            spans += 1;
        }
    };
    let window = session.open(&["--follow", text(&path)]);
    window.wait_for_label("Waiting for the first events of running.json");
    add("alpha", 20);
    window.wait_for_label("20 spans");
    window.wait_for_color("the first spans", span_color("alpha"));
    window.wait_for_title("running.json - Longspan");
    add("omega", 20);
    window.wait_for_label("40 spans");
    window.wait_for_color("the new spans", span_color("omega"));
    window.key("space");
    window.wait_for_label("paused");
    add("alpha", 10);
    window.key("space");
    window.wait_for_label("50 spans");
    window.click_node("Stop");
    window.wait_for_no_label("events/s");
    window.wait_for_no_label("Sorting");
    window.wait_for_label("50 spans");
    let folder = session.cache().join("longspan/followed");
    window.wait_for("the received data is removed", |_| {
        fs::read_dir(&folder).is_ok_and(|mut left| left.next().is_none()).then_some(())
    });
    let (status, stderr) = window.close();
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_program_is_followed_and_ends_with_the_window() {
    let session = Session::with_screen_reader();
    let script = r#"echo '['; n=0; while :; do
        echo '{"ph":"X","pid":1,"tid":1,"name":"alpha","ts":'$n'000,"dur":900},'; n=$((n+1)); /bin/sleep 0.02; done"#;
    let window = session.open(&["--", "/bin/sh", "-c", script]);
    window.wait_for_color("the spans", span_color("alpha"));
    window.wait_for_title("sh - Longspan");
    let window_pid = window.process.0.id();
    let children = || {
        let tasks = fs::read_dir(format!("/proc/{window_pid}/task")).into_iter().flatten().flatten();
        let children = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
        children.flat_map(|pids| pids.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let [pid] = &children()[..] else { panic!("one program runs: {:?}", children()) };
    window.key("Left");
    window.wait_for_label("Follow");
    // The program's output is in no file.
    window.key("ctrl+q");
    window.wait_for_label("The received data is not saved");
    let (status, _) = window.discard();
    assert_eq!(status, Some(0));
    let state = || fs::read_to_string(format!("/proc/{pid}/stat")).ok();
    let is_gone = || state().is_none_or(|stat| stat.contains(") Z"));
    crate::session::wait_for("the program ends", || is_gone().then_some(()));
}

#[test]
fn the_retained_output_of_a_program_can_be_exported_after_its_end() {
    let session = Session::with_screen_reader();
    let output = session.folder.path().join("retained.longspan");
    let script = r#"echo '['; for n in 1 2 3 4 5; do
        echo '{"ph":"X","pid":1,"tid":1,"name":"alpha","ts":'$n'000,"dur":900},'; done"#;
    let window = session.open(&["--keep", "1h", "--", "/bin/sh", "-c", script]);
    window.wait_for_label("export it to save it");
    window.settled();
    window.key("ctrl+s");
    window.wait_for_label("Export the trace");
    window.settled();
    window.enter_text(text(&output));
    window.wait_for("the exported file", |_| output.is_file().then_some(()));
    let spans = session.command(&["spans", "--no-cache", "--format", "csv", text(&output)]).output();
    let spans = String::from_utf8(spans.expect("the program starts").stdout).expect("text");
    assert_eq!(spans.lines().count(), 6, "{spans}");
}

//! A followed trace in a window, frame by frame.

use std::fs::{self, File};
use std::io::Write as _;

use super::tests::Session;
use crate::model::Sources;
use crate::ui::command::{AppCommand, Command, LiveCommand, PanelCommand};

/// Writes spans of a millisecond to a thread, two by two: `step`, then `other`.
fn write_spans(file: &mut File, range: std::ops::Range<u32>, tid: u32) {
    for index in range {
        let (name, ts_us) = (["step", "other"][index as usize % 2], u64::from(index) * 1000);
        let line =
            format!("{{\"ph\":\"X\",\"pid\":1,\"tid\":{tid},\"name\":\"{name}\",\"ts\":{ts_us},\"dur\":900}},\n");
        file.write_all(line.as_bytes()).unwrap();
    }
}

#[test]
fn the_hits_of_a_search_stay_highlighted_in_every_frame_while_the_trace_grows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("running.json");
    fs::write(&path, "[\n").unwrap();
    let mut file = File::options().append(true).open(&path).unwrap();
    write_spans(&mut file, 0..10, 1);
    let mut session = Session::new();
    session.app.follow_files(&[path]);
    let spans = |session: &mut Session| session.app.timeline_mut().map(|timeline| timeline.snapshot().summary().spans);
    session.until("the first spans", |session| spans(session) == Some(10));
    session.app.act(Command::Panel(PanelCommand::SearchFor("step".to_owned())));
    // Each hit is drawn twice: as a span, and as the longest hit under its pixels.
    session.until("the highlight", |session| session.bright_and_dim() == (10, 5));
    // A new thread neither ends the highlight nor the search that runs.
    for (all, tid) in [(20, 1), (30, 2), (40, 3)] {
        write_spans(&mut file, all - 10..all, tid);
        session.until("the highlight of more spans", |session| {
            let (bright, dim) = session.bright_and_dim();
            // The view moves on, so fewer spans may be in it for a moment.
            assert!(dim > 0 && bright >= dim, "{bright} in full colour, {dim} dimmed");
            (spans(session), bright, dim) == (Some(u64::from(all)), all as usize, all as usize / 2)
        });
    }
}

#[test]
fn a_file_is_among_the_recent_ones_after_it_was_followed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ended.json");
    fs::write(&path, "[\n").unwrap();
    write_spans(&mut File::options().append(true).open(&path).unwrap(), 0..10, 1);
    let mut session = Session::new();
    session.app.follow_files(std::slice::from_ref(&path));
    session.until("the spans", |session| session.app.timeline_mut().is_some());
    session.app.act(Command::App(AppCommand::Live(LiveCommand::Stop)));
    session.until("the sorted trace", |session| !session.app.preferences.recent.traces().is_empty());
    let recent = session.app.preferences.recent.traces();
    assert_eq!(recent.iter().map(|trace| &trace.sources).collect::<Vec<_>>(), [&Sources::from(&path)]);
    assert!(recent[0].facts.is_some());
}

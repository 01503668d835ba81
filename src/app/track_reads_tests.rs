//! Frames of traces with many tracks: each reads only the tracks in view.

use std::fmt::Write as _;

use egui::{Event, Key, Modifiers, pos2};

use super::tests::{Session, snapshot};
use crate::model::{ProcessIdx, TrackIdx};
use crate::query::Snapshot;
use crate::query::snapshot::track_reads;
use crate::scene::arrange::TrackOrder;
use crate::scene::rows::GroupKind;
use crate::store::{LaneIdx, RowIdx};
use crate::ui::command::{Command, CustomGroupCommand, RowCommand, ScopeCommand, TimelineCommand};

/// Imports threads with a span each, in processes of a hundred.
fn many(tracks: usize) -> Snapshot {
    let mut json = String::from("[");
    for track in 0..tracks {
        let (pid, tid, ts) = (track / 100, track % 100, track % 977);
        write!(json, r#"{{"ph":"X","name":"s","pid":{pid},"tid":{tid},"ts":{ts},"dur":30}},"#).unwrap();
    }
    snapshot(&format!("{}]", json.trim_end_matches(','))).with_shared_names_found()
}

/// Opens the trace, and draws until its tracks are laid out.
fn opened(trace: Snapshot, grows: bool) -> Session {
    let mut session = Session::new();
    session.app.show_trace(trace, "many".into(), grows);
    (0..30).for_each(|_| settle(&mut session));
    session
}

/// Draws a frame, and handles background answers.
fn settle(session: &mut Session) {
    session.frame(Vec::new());
    while let Ok(event) = session.events.recv_timeout(std::time::Duration::from_millis(20)) {
        session.app.handle(event);
    }
}

/// Returns the maximum number of track reads in one frame of some events.
fn most_reads(session: &mut Session, events: Vec<Event>) -> u64 {
    let mut most = 0;
    for events in [events, Vec::new(), Vec::new(), Vec::new()] {
        let before = track_reads();
        session.frame(events);
        most = most.max(track_reads() - before);
    }
    most
}

fn rows(command: RowCommand) -> Command {
    Command::Timeline(TimelineCommand::Rows(command))
}

/// Returns the maximum number of reads in a frame, by user action.
fn work(tracks: usize) -> Vec<(String, u64)> {
    let mut session = opened(many(tracks), false);
    let mut found = Vec::new();
    let key = |key| Event::Key { key, physical_key: None, pressed: true, repeat: false, modifiers: Modifiers::NONE };
    let wheel = |y| Event::MouseWheel {
        unit: egui::MouseWheelUnit::Point,
        delta: egui::vec2(0.0, y),
        phase: egui::TouchPhase::Move,
        source: egui::MouseWheelSource::Unknown,
        modifiers: Modifiers::NONE,
    };
    for (what, events) in [
        ("nothing", Vec::new()),
        ("hover over a name", vec![Event::PointerMoved(pos2(60.0, 200.0))]),
        ("hover over the canvas", vec![Event::PointerMoved(pos2(600.0, 300.0))]),
        ("scroll", vec![Event::PointerMoved(pos2(600.0, 300.0)), wheel(-120.0)]),
        ("zoom", vec![key(Key::W)]),
    ] {
        found.push((what.to_owned(), most_reads(&mut session, events)));
    }
    let chosen = ScopeCommand::Toggle(GroupKind::Track(TrackIdx(3)));
    session.app.act(Command::Timeline(TimelineCommand::Scope(chosen)));
    for (what, command) in [
        ("order by name", RowCommand::Order(TrackOrder::Name)),
        ("order by busy time", RowCommand::Order(TrackOrder::Busy)),
        ("group", RowCommand::Group(CustomGroupCommand::GroupScope)),
        ("filter", RowCommand::Filter("9".to_owned())),
        ("no filter", RowCommand::Filter(String::new())),
        ("fold a process", RowCommand::ToggleFold(GroupKind::Process(ProcessIdx(1)))),
    ] {
        let before = track_reads();
        session.app.act(rows(command));
        found.push((format!("{what}: the command"), track_reads() - before));
        found.push((format!("{what}: while it is laid out"), most_reads(&mut session, Vec::new())));
        (0..10).for_each(|_| settle(&mut session));
        found.push((format!("{what}: after it"), most_reads(&mut session, Vec::new())));
    }
    let before = track_reads();
    let chosen = ScopeCommand::Only(GroupKind::Process(ProcessIdx(1)));
    session.app.act(Command::Timeline(TimelineCommand::Scope(chosen)));
    found.push(("scope of a process: the command".to_owned(), track_reads() - before));
    found.push(("scope of a process: its frames".to_owned(), most_reads(&mut session, Vec::new())));
    found
}

/// Returns the number of reads when a trace with this number of tracks has grown by a tenth, by step.
fn growth(tracks: usize) -> Vec<(&'static str, u64)> {
    let mut session = opened(many(tracks), true);
    let timeline = session.app.timeline_mut().unwrap();
    let row = RowIdx { lane: timeline.snapshot().lanes_of(TrackIdx(2100)).next().map(LaneIdx).unwrap(), row: 0 };
    timeline.act(TimelineCommand::Reveal(row));
    timeline.act(TimelineCommand::Rows(RowCommand::TogglePin(TrackIdx(7))));
    (0..30).for_each(|_| settle(&mut session));
    let place = |session: &mut Session| {
        let timeline = session.app.timeline_mut().unwrap();
        (timeline.first_row(), timeline.selected(), timeline.arrangement().pinned.clone())
    };
    let (before, later) = (place(&mut session), many(tracks + tracks / 10));
    assert!(before.0.is_some(), "scrolled");
    let mut found = Vec::new();
    let reads = track_reads();
    session.app.show_trace(later, "many".into(), true);
    found.push(("taking the snapshot", track_reads() - reads));
    found.push(("until it is laid out", most_reads(&mut session, Vec::new())));
    assert_eq!(place(&mut session), before);
    let reads = track_reads();
    (0..30).for_each(|_| settle(&mut session));
    // Each of these frames reads as many tracks as any other.
    found.push(("the layout in 30 frames", track_reads() - reads));
    found.push(("after it", most_reads(&mut session, Vec::new())));
    assert_eq!(place(&mut session), before);
    let last = TrackIdx((tracks + tracks / 10 - 1) as u32);
    assert!(session.app.timeline_mut().unwrap().is_laid_out(last), "the rows have grown");
    found
}

#[test]
fn a_new_snapshot_costs_the_window_as_little_with_many_tracks_as_with_few() {
    let (few, many) = (growth(6_000), growth(60_000));
    for ((step, few), (_, many)) in few.into_iter().zip(many) {
        assert!(many <= few + few / 4 + 300, "{step}: {many} reads of tracks with 60,000, {few} with 6,000");
    }
}

#[test]
fn frames_read_the_tracks_in_view_however_many_there_are() {
    let (few, many) = (work(6_000), work(60_000));
    for ((what, few), (_, many)) in few.into_iter().zip(many) {
        assert!(many <= few + few / 4 + 300, "{what}: {many} reads of tracks with 60,000, {few} with 6,000");
    }
}

//! Frames in which nothing changes: each paints the last picture again.

use std::fmt::Write as _;
use std::time::Duration;

use egui::{Event, Key, Modifiers, pos2};

use super::tests::{Session, snapshot};
use crate::model::{ProcessIdx, TrackIdx};
use crate::query::snapshot::track_reads;
use crate::render::rects::converted;
use crate::scene::rows::GroupKind;
use crate::ui::command::{Command, RowCommand, TimelineCommand};

/// Opens three processes of threads with spans, instants and counters. One is folded, and a track of another is pinned.
fn opened() -> Session {
    let mut json = String::from("[");
    for (pid, tid) in (0..3).flat_map(|pid| (0..4).map(move |tid| (pid, tid))) {
        for ts in (0..400).step_by(20) {
            write!(json, r#"{{"ph":"X","name":"outer","pid":{pid},"tid":{tid},"ts":{ts},"dur":15}},"#).unwrap();
            write!(json, r#"{{"ph":"X","name":"inner","pid":{pid},"tid":{tid},"ts":{ts},"dur":7}},"#).unwrap();
            write!(json, r#"{{"ph":"i","name":"tick","pid":{pid},"tid":{tid},"ts":{ts},"s":"t"}},"#).unwrap();
            write!(json, r#"{{"ph":"C","name":"memory","pid":{pid},"ts":{ts},"args":{{"used":{ts}}}}},"#).unwrap();
        }
    }
    let mut session = Session::new();
    session.app.show_trace(snapshot(&format!("{}]", json.trim_end_matches(','))), "idle".into(), false);
    for command in [RowCommand::ToggleFold(GroupKind::Process(ProcessIdx(1))), RowCommand::TogglePin(TrackIdx(0))] {
        session.app.act(Command::Timeline(TimelineCommand::Rows(command)));
    }
    settle(&mut session);
    session
}

/// Draws frames until the answers of the background have come.
fn settle(session: &mut Session) {
    for _ in 0..20 {
        session.frame(Vec::new());
        while let Ok(event) = session.events.recv_timeout(Duration::from_millis(20)) {
            session.app.handle(event);
        }
    }
}

#[test]
fn a_frame_in_which_nothing_changes_builds_and_uploads_nothing() {
    let mut session = opened();
    let key =
        |pressed| Event::Key { key: Key::W, physical_key: None, pressed, repeat: false, modifiers: Modifiers::NONE };
    let idle = |session: &mut Session, events: &[Event]| {
        let (pictures, reads) = (converted(), track_reads());
        events.iter().for_each(|event| session.frame(vec![event.clone()]));
        (0..10).for_each(|_| session.frame(Vec::new()));
        assert_eq!(converted(), pictures, "after {events:?}");
        (track_reads() - reads) / (10 + events.len() as u64)
    };
    let reads = idle(&mut session, &[]);
    // The names of the tracks in view are looked up, the same number in each frame.
    assert_eq!(idle(&mut session, &[]), reads);
    assert!(reads < 1000, "{reads} reads of tracks in a frame");
    // The pointer changes outlines and tooltips, which are painted over the picture.
    let moves = (0..5).map(|step| Event::PointerMoved(pos2(400.0 + 30.0 * step as f32, 300.0)));
    idle(&mut session, &moves.collect::<Vec<_>>());
    let before = converted();
    session.frame(vec![key(true)]);
    session.frame(vec![key(false)]);
    settle(&mut session);
    assert!(converted() > before + 1, "a zoom draws both panes");
    idle(&mut session, &[]);
}

//! The saved timeline of a trace that is opened again, while it is loaded.

use std::path::Path;

use super::preferences::Folders;
use super::tests::{Session, TWO_SPANS, file, snapshot};
use crate::model::{Sources, TrackIdx};
use crate::query::Snapshot;
use crate::scene::arrange::Arrangement;
use crate::store::{LaneKind, Row, Store, StoreWriter};
use crate::ui::command::{Command, NavigationStep, RowCommand, TimelineCommand};
use crate::ui::timeline::saved::SavedTimeline;

/// Returns a store of no more than the first of [`TWO_SPANS`], as a preview.
fn preview_of_two_spans() -> Snapshot {
    let whole = snapshot(TWO_SPANS);
    let mut meta = whole.store().meta().clone();
    meta.summary.sorted_to_ns = Some(600_000);
    let file = tempfile::tempfile().unwrap();
    let mut writer = StoreWriter::new(file.try_clone().unwrap(), 1 << 20).unwrap();
    let lane = writer.add_lane(TrackIdx(0), LaneKind::Spans, 0).unwrap();
    writer.push(lane, Row { start_ns: 0, value: 400_000, detail: 0, name: 1 }).unwrap();
    writer.finish(&meta).unwrap();
    Snapshot::new(Store::from_file(&file, Path::new("preview")).unwrap().into())
}

#[test]
fn a_saved_timeline_is_restored_after_a_preview_unless_the_user_has_moved_the_view() {
    let folder = tempfile::tempdir().unwrap();
    let folders = Folders { config: folder.path().join("config"), state: folder.path().join("state") };
    let sources = Sources::from(&file(folder.path(), "two.json", TWO_SPANS));
    let arrangement = Arrangement { pinned: vec![TrackIdx(0)], ..Arrangement::default() };
    let saved = SavedTimeline { start_ns: 300_000, end_ns: 700_000, arrangement, ..SavedTimeline::default() };
    folders.keep_timeline(&sources, &saved).unwrap();
    let begun = |has_moved| {
        let mut session = Session::with_folders(folders.clone());
        session.app.show_trace(preview_of_two_spans(), sources.clone(), true);
        session.frame(Vec::new());
        if has_moved {
            session.app.act(Command::Timeline(TimelineCommand::Step(NavigationStep::ZoomIn)));
        }
        (0..15).for_each(|_| session.frame(Vec::new()));
        session
    };
    // A window that is closed before that keeps what was saved.
    begun(true).app.keep();
    assert_eq!(folders.timeline(&sources), (Some(saved.clone()), None));
    for has_moved in [false, true] {
        let mut session = begun(has_moved);
        let start_ns = if has_moved { session.app.timeline_mut().unwrap().view().start_ns() } else { 300_000 };
        session.app.show_trace(snapshot(TWO_SPANS), sources.clone(), true);
        session.frame(Vec::new());
        let timeline = session.app.timeline_mut().unwrap();
        assert_eq!((timeline.view().start_ns(), timeline.arrangement().pinned.len()), (start_ns, 1), "{has_moved}");
        // The complete store changes nothing any more.
        session.app.act(Command::Timeline(TimelineCommand::Rows(RowCommand::TogglePin(TrackIdx(0)))));
        session.app.show_trace(snapshot(TWO_SPANS), sources.clone(), false);
        session.frame(Vec::new());
        let timeline = session.app.timeline_mut().unwrap();
        assert_eq!((timeline.view().start_ns(), timeline.arrangement().pinned.len()), (start_ns, 0), "{has_moved}");
    }
}

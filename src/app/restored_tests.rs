//! The saved timeline of a trace that is opened again, while it is loaded.

use std::path::Path;

use super::preferences::Folders;
use super::tests::{Session, TWO_SPANS, file, snapshot};
use crate::export::ExportFormat;
use crate::model::{Module, ProcessIdx, Sources, TrackIdx};
use crate::query::Snapshot;
use crate::scene::arrange::Arrangement;
use crate::scene::counter_overlay::CounterOverlay;
use crate::scene::custom_groups::CustomGroups;
use crate::scene::palette::ColorBy;
use crate::scene::rows::GroupKind;
use crate::store::cache::CacheKey;
use crate::store::{LaneKind, Row, Store, StoreWriter};
use crate::ui::command::{
    AppCommand, BookmarkCommand, Command, NavigationStep, PanelCommand, RowCommand, ScopeCommand, TabCommand,
    TimelineCommand,
};
use crate::ui::panel::Panel;
use crate::ui::purpose::Purpose;
use crate::ui::selected_scope::SelectedScope;
use crate::ui::timeline::saved::SavedTimeline;

/// Returns a preview: a store of only the first of [`TWO_SPANS`].
fn preview_of_two_spans() -> Snapshot {
    preview_with(Vec::new())
}

/// Like [`preview_of_two_spans`], with files of sampled code.
pub(super) fn preview_with(modules: Vec<Module>) -> Snapshot {
    let whole = snapshot(TWO_SPANS);
    let mut meta = whole.store().meta().clone();
    meta.summary.sorted_to_ns = Some(600_000);
    meta.tracks.modules = modules;
    let file = tempfile::tempfile().unwrap();
    let mut writer = StoreWriter::new(file.try_clone().unwrap(), 1 << 20).unwrap();
    let lane = writer.add_lane(TrackIdx(0), LaneKind::Spans, 0).unwrap();
    writer.push(lane, Row { start_ns: 0, value: 400_000, detail: 0, name: 1 }).unwrap();
    writer.finish(&meta).unwrap();
    Snapshot::new(Store::from_file(&file, Path::new("preview")).unwrap().into())
}

/// Returns the key of the files as they are now.
fn key_of(sources: &Sources) -> CacheKey {
    CacheKey::from_sources(sources).expect("files")
}

#[test]
fn a_saved_timeline_is_restored_after_a_preview_unless_the_user_has_moved_the_view() {
    let folder = tempfile::tempdir().unwrap();
    let folders = Folders { config: folder.path().join("config"), state: folder.path().join("state") };
    let sources = Sources::from(&file(folder.path(), "two.json", TWO_SPANS));
    let arrangement = Arrangement { pinned: vec![TrackIdx(0)], ..Arrangement::default() };
    let saved = SavedTimeline { start_ns: 300_000, end_ns: 700_000, arrangement, ..SavedTimeline::default() };
    folders.save_timeline(&key_of(&sources), &saved).unwrap();
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
    // A window that is closed before the end keeps the saved state.
    begun(true).app.save();
    assert_eq!(folders.timeline(&key_of(&sources)), (Some(saved.clone()), None));
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

#[test]
fn a_fold_while_a_part_is_shown_keeps_saved_pins_groups_and_colours() {
    let folder = tempfile::tempdir().unwrap();
    let folders = Folders { config: folder.path().join("config"), state: folder.path().join("state") };
    let sources = Sources::from(&file(folder.path(), "two.json", TWO_SPANS));
    let arrangement = Arrangement { pinned: vec![TrackIdx(0)], ..Arrangement::default() };
    let mut group = CustomGroups::default();
    group.make([TrackIdx(0)].into_iter().collect()).expect("a group");
    let (custom_groups, color_by) = (group.to_saved(|_| false), Some(ColorBy::Category));
    let saved = SavedTimeline { arrangement, color_by, custom_groups, ..SavedTimeline::default() };
    folders.save_timeline(&key_of(&sources), &saved).unwrap();
    let mut session = Session::with_folders(folders.clone());
    session.app.show_trace(preview_of_two_spans(), sources.clone(), true);
    session.frame(Vec::new());
    let process = GroupKind::Process(ProcessIdx(0));
    session.app.act(Command::Timeline(TimelineCommand::Rows(RowCommand::ToggleFold(process))));
    session.frame(Vec::new());
    let before = session.app.timeline_mut().unwrap().arrangement().folded.clone();
    assert_ne!(before, Arrangement::default().folded);
    session.app.show_trace(snapshot(TWO_SPANS), sources.clone(), true);
    session.frame(Vec::new());
    let now = session.app.timeline_mut().unwrap().to_saved();
    assert_eq!((&now.arrangement.pinned, now.arrangement.folded), (&saved.arrangement.pinned, before));
    assert_eq!((&now.custom_groups, now.color_by), (&saved.custom_groups, saved.color_by));
    session.app.save();
    let kept = folders.timeline(&key_of(&sources)).0.expect("a saved state");
    assert_eq!((kept.arrangement.pinned, kept.custom_groups), (saved.arrangement.pinned, saved.custom_groups));
}

#[test]
fn the_state_of_a_recording_is_not_that_of_the_next_one_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let folders = Folders { config: folder.path().join("config"), state: folder.path().join("state") };
    let trace = file(folder.path(), "two.json", TWO_SPANS);
    let mark = || Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::AddAt(100_000)));
    let mut earlier = Session::opened(&folders, &trace);
    std::fs::write(&trace, format!("{TWO_SPANS} ")).unwrap();
    earlier.app.act(mark());
    (0..12).for_each(|_| earlier.frame(Vec::new()));
    earlier.app.act(mark());
    earlier.app.save();
    let mut later = Session::opened(&folders, &trace);
    assert_eq!(later.app.timeline_mut().unwrap().marks().all().len(), 0);
}

#[test]
fn changes_made_while_a_part_is_shown_are_saved_once_all_is_sorted() {
    let folder = tempfile::tempdir().unwrap();
    let folders = Folders { config: folder.path().join("config"), state: folder.path().join("state") };
    let sources = Sources::from(&file(folder.path(), "two.json", TWO_SPANS));
    let mut session = Session::with_folders(folders.clone());
    session.app.show_trace(preview_of_two_spans(), sources.clone(), true);
    session.frame(Vec::new());
    // The view of the whole trace would change with its end.
    session.app.act(Command::Timeline(TimelineCommand::Step(NavigationStep::ZoomIn)));
    session.app.act(Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::AddAt(100_000))));
    (0..15).for_each(|_| session.frame(Vec::new()));
    session.app.show_trace(snapshot(TWO_SPANS), sources.clone(), false);
    session.app.save();
    let saved = folders.timeline(&key_of(&sources)).0.expect("a saved state");
    assert_eq!(saved.marks.all().len(), 1);
}

#[test]
fn a_trace_that_is_opened_again_waits_for_the_state_that_is_still_written() {
    let folder = tempfile::tempdir().unwrap();
    let folders = Folders { config: folder.path().join("config"), state: folder.path().join("state") };
    let trace = file(folder.path(), "two.json", TWO_SPANS);
    let mut session = Session::opened(&folders, &trace);
    // Delays the read, as on a slow disk.
    let (open, gate) = std::sync::mpsc::channel::<()>();
    session.app.writes.start(move || {
        gate.recv().ok(); // until the other end is dropped
    });
    session.app.act(Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::AddAt(100_000))));
    session.app.act(Command::Tab(TabCommand::Close));
    assert!(session.app.tab().trace.is_none(), "closing does not wait");
    session.app.act(Command::Tab(TabCommand::Reopen));
    std::thread::sleep(std::time::Duration::from_millis(100));
    drop(open);
    session.finish_tasks();
    assert_eq!(session.app.timeline_mut().unwrap().marks().all().len(), 1);
}

#[test]
fn two_windows_of_a_trace_save_the_markers_and_scopes_of_both() {
    let folder = tempfile::tempdir().unwrap();
    let folders = Folders { config: folder.path().join("config"), state: folder.path().join("state") };
    let trace = file(folder.path(), "two.json", TWO_SPANS);
    let sources = Sources::from(&trace);
    let opened = || Session::opened(&folders, &trace);
    let mark = |ts_ns| Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::AddAt(ts_ns)));
    let scope = |name: &str| Command::Timeline(TimelineCommand::Scope(ScopeCommand::Save(name.to_owned())));
    let (mut one, mut other) = (opened(), opened());
    for (session, ts_ns, name) in [(&mut one, 100_000, "one"), (&mut other, 200_000, "other")] {
        session.app.act(mark(ts_ns));
        session.app.act(scope(name));
        session.app.save();
    }
    one.app.act(Command::Timeline(TimelineCommand::Step(NavigationStep::ZoomIn)));
    one.app.save();
    let saved = folders.timeline(&key_of(&sources)).0.unwrap();
    assert_eq!(saved.marks.all().iter().map(|mark| mark.ts_ns).collect::<Vec<_>>(), [100_000, 200_000]);
    assert_eq!(saved.scopes.iter().map(|scope| &*scope.name).collect::<Vec<_>>(), ["one", "other"]);
    // Another window shows both, and removes what it shows.
    let mut third = opened();
    let ids: Vec<_> = third.app.timeline_mut().unwrap().marks().all().iter().map(|mark| mark.id).collect();
    third.app.act(Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::Remove(ids[1]))));
    third.app.save();
    one.app.act(mark(300_000));
    one.app.save();
    let saved = folders.timeline(&key_of(&sources)).0.unwrap();
    assert_eq!(saved.marks.all().iter().map(|mark| mark.ts_ns).collect::<Vec<_>>(), [100_000, 300_000]);
}

#[test]
fn a_window_that_has_not_changed_the_scope_and_the_panels_leaves_those_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let folders = Folders { config: folder.path().join("config"), state: folder.path().join("state") };
    let trace = file(folder.path(), "two.json", TWO_SPANS);
    let opened = || Session::opened(&folders, &trace);
    let shown = |session: &mut Session| {
        let open = session.app.tab().panels.to_saved().open;
        let scope = session.app.timeline_mut().unwrap().scope().clone();
        (scope.range, open.panels().to_vec())
    };
    let (mut one, mut other) = (opened(), opened());
    let scope = SelectedScope { range: Some((100_000, 300_000)), ..SelectedScope::default() };
    one.app.act(Command::Timeline(TimelineCommand::Scope(ScopeCommand::Set(Box::new(scope)))));
    one.app.act(Command::Panel(PanelCommand::Show(Panel::Counters)));
    one.app.save();
    other.app.act(Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::AddAt(500_000))));
    other.app.save();
    let expected = (Some((100_000, 300_000)), vec![Panel::Counters, Panel::Details]);
    let mut third = opened();
    assert_eq!(shown(&mut third), expected);
    assert!(third.app.note().contains("crosses in the scope bar"), "{}", third.app.note());
    // A cleared scope is kept as well.
    third.app.act(Command::Timeline(TimelineCommand::Scope(ScopeCommand::ClearTime)));
    assert_eq!(third.app.note(), "");
    third.app.save();
    assert_eq!(shown(&mut opened()), (None, expected.1));
}

#[test]
fn a_trace_whose_load_failed_says_so_until_it_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "two.json", TWO_SPANS);
    let sources = Sources::from(&path);
    let mut session = Session::new();
    session.app.show_trace(preview_of_two_spans(), sources.clone(), true);
    std::fs::remove_file(&path).unwrap();
    session.app.act(Command::App(AppCommand::OpenAgain));
    session.finish_tasks();
    session.app.act(Command::App(AppCommand::Dismiss));
    (0..3).for_each(|_| session.frame(Vec::new()));
    assert!(session.shows("Incomplete") && session.shows("Open again"), "{:?}", session.texts);
    assert!(session.texts.iter().any(|text| text.starts_with("The load failed: ")), "{:?}", session.texts);
    assert!(!session.shows("Not sorted yet"));
    session.choose(Purpose::Export(ExportFormat::CSV), folder.path().join("part.csv"));
    session.finish_tasks();
    assert!(session.app.note().ends_with("; the rest was not sorted"), "{}", session.app.note());
    std::fs::write(&path, TWO_SPANS).unwrap();
    session.app.act(Command::App(AppCommand::OpenAgain));
    session.finish_tasks();
    (0..3).for_each(|_| session.frame(Vec::new()));
    assert!(!session.shows("Incomplete") && !session.shows("Open again"), "{:?}", session.texts);
}

#[test]
fn tracks_that_a_file_still_has_when_it_is_opened_again_stay_selected_and_pinned() {
    let folder = tempfile::tempdir().unwrap();
    let trace = |threads: &[u32]| {
        let span = |tid: &u32| format!(r#"{{"ph":"X","name":"a","pid":1,"tid":{tid},"ts":1,"dur":5}}"#);
        format!("[{}]", threads.iter().map(span).collect::<Vec<_>>().join(","))
    };
    let path = file(folder.path(), "threads.json", &trace(&[1, 2, 3]));
    // The threads of the file when it is opened again, and the index of thread 3 then.
    let last = Some(TrackIdx(2));
    for (threads, track) in [
        (&[1, 2, 3][..], last),
        (&[1, 2, 3, 4], last),
        (&[1], None),
        (&[7, 8, 9], None),
        (&[3, 4, 5, 6], Some(TrackIdx(0))),
    ] {
        std::fs::write(&path, trace(&[1, 2, 3])).unwrap();
        let mut session = Session::new();
        session.app.open_files(std::slice::from_ref(&path));
        session.finish_tasks();
        session.frame(Vec::new());
        let group = GroupKind::Track(TrackIdx(2));
        session.app.act(Command::Timeline(TimelineCommand::Scope(ScopeCommand::Toggle(group))));
        session.app.act(Command::Timeline(TimelineCommand::Rows(RowCommand::TogglePin(TrackIdx(2)))));
        session.frame(Vec::new());
        std::fs::write(&path, trace(threads)).unwrap();
        session.app.act(Command::App(AppCommand::OpenAgain));
        session.finish_tasks();
        (0..3).for_each(|_| session.frame(Vec::new()));
        let timeline = session.app.timeline_mut().unwrap();
        let tracks = &timeline.scope().tracks;
        let selected = if tracks.is_all() { Vec::new() } else { tracks.iter().collect() };
        let tracks: Vec<TrackIdx> = track.into_iter().collect();
        assert_eq!((&timeline.arrangement().pinned, selected), (&tracks, tracks.clone()), "{threads:?}");
    }
}

#[test]
fn a_reload_after_one_that_failed_keeps_what_was_changed_in_between() {
    let folder = tempfile::tempdir().unwrap();
    let trace = r#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":5},{"ph":"X","name":"a","pid":1,"tid":2,"ts":1,"dur":5}]"#;
    let path = file(folder.path(), "twice.json", trace);
    let mut session = Session::new();
    session.app.open_files(std::slice::from_ref(&path));
    session.finish_tasks();
    std::fs::remove_file(&path).unwrap();
    session.app.act(Command::App(AppCommand::OpenAgain));
    session.finish_tasks();
    session.app.act(Command::Timeline(TimelineCommand::Rows(RowCommand::TogglePin(TrackIdx(1)))));
    session.frame(Vec::new());
    std::fs::write(&path, trace).unwrap();
    session.app.act(Command::App(AppCommand::OpenAgain));
    session.finish_tasks();
    (0..3).for_each(|_| session.frame(Vec::new()));
    assert_eq!(session.app.timeline_mut().unwrap().arrangement().pinned, [TrackIdx(1)]);
}

#[test]
fn a_reload_shows_the_view_at_once_and_pins_at_the_end_and_restores_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let sources = Sources::from(&file(folder.path(), "two.json", TWO_SPANS));
    let mut session = Session::new();
    let mark = |ts_ns| Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::AddAt(ts_ns)));
    let again = || Command::App(AppCommand::OpenAgain);
    let shown = |session: &mut Session| {
        session.frame(Vec::new());
        let timeline = session.app.timeline_mut().unwrap();
        (timeline.marks().all().len(), timeline.arrangement().pinned.len())
    };
    session.app.show_trace(snapshot(TWO_SPANS), sources.clone(), false);
    session.frame(Vec::new());
    let pin = Command::Timeline(TimelineCommand::Rows(RowCommand::TogglePin(TrackIdx(0))));
    [mark(100_000), mark(200_000), pin].into_iter().for_each(|command| drop(session.app.act(command)));
    // The first attempt does not complete.
    for _ in 0..2 {
        session.app.act(again());
        session.app.show_trace(preview_of_two_spans(), sources.clone(), true);
        assert_eq!(shown(&mut session), (2, 0));
    }
    let first = session.app.timeline_mut().unwrap().marks().all()[0].id;
    session.app.act(Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::Remove(first))));
    session.app.show_trace(preview_of_two_spans(), sources.clone(), true);
    assert_eq!(shown(&mut session), (1, 0));
    session.app.show_trace(snapshot(TWO_SPANS), sources, false);
    assert_eq!(shown(&mut session), (1, 1));
}

#[test]
fn the_saved_state_of_a_trace_whose_load_was_stopped_is_restored_when_it_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let folders = Folders { config: folder.path().join("config"), state: folder.path().join("state") };
    let sources = Sources::from(&file(folder.path(), "two.json", TWO_SPANS));
    let opened = |snapshot, grows| {
        let mut session = Session::with_folders(folders.clone());
        session.app.show_trace(snapshot, sources.clone(), grows);
        session.frame(Vec::new());
        session
    };
    let mut saved = opened(snapshot(TWO_SPANS), false);
    saved.app.act(Command::Timeline(TimelineCommand::Rows(RowCommand::TogglePin(TrackIdx(0)))));
    saved.app.save();
    let mut session = opened(preview_of_two_spans(), true);
    session.app.act(Command::App(AppCommand::OpenAgain));
    session.app.show_trace(snapshot(TWO_SPANS), sources.clone(), false);
    session.frame(Vec::new());
    assert_eq!(session.app.timeline_mut().unwrap().arrangement().pinned, [TrackIdx(0)]);
}

#[test]
fn a_reload_keeps_the_selected_span_if_it_is_still_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "two.json", super::tests::TWO_SPANS);
    let mut session = Session::new();
    session.app.open_files(std::slice::from_ref(&path));
    session.finish_tasks();
    let row = crate::store::RowIdx { lane: crate::store::LaneIdx(0), row: 1 };
    session.app.act(Command::Timeline(TimelineCommand::Select(Some(row))));
    let again = |session: &mut Session| {
        session.app.act(Command::App(AppCommand::OpenAgain));
        session.finish_tasks();
        (0..3).for_each(|_| session.frame(Vec::new()));
        session.selected_name()
    };
    assert_eq!(again(&mut session).as_deref(), Some("omega"));
    std::fs::write(&path, super::tests::TWO_SPANS.replace("omega", "other")).unwrap();
    assert_eq!(again(&mut session), None);
}

#[test]
fn a_saved_row_of_counters_that_are_not_in_the_trace_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let folders = Folders { config: folder.path().join("config"), state: folder.path().join("state") };
    let counter = |name: &str| format!(r#"{{"ph":"C","pid":1,"tid":1,"name":"{name}","ts":1,"args":{{"value":3}}}}"#);
    let counters = ["a", "b", "c"].map(counter).join(",");
    let trace = file(folder.path(), "counters.json", &format!("[{counters}]"));
    let overlays: Vec<CounterOverlay> =
        [r#"{"lead":99,"others":[0,1],"is_stacked":false}"#, r#"{"lead":2,"others":[98],"is_stacked":false}"#]
            .map(|text| serde_json::from_str(text).unwrap())
            .to_vec();
    let saved =
        SavedTimeline { arrangement: Arrangement { overlays, ..Arrangement::default() }, ..SavedTimeline::default() };
    folders.save_timeline(&key_of(&Sources::from(&trace)), &saved).unwrap();
    let mut session = Session::opened(&folders, &trace);
    session.frame(Vec::new());
    let overlays = &session.app.timeline_mut().expect("a timeline").arrangement().overlays;
    assert_eq!(overlays.iter().map(|overlay| overlay.counters().count()).collect::<Vec<_>>(), [2]);
}

#[test]
fn a_write_does_not_outlast_the_application_and_create_a_removed_folder_again() {
    let root = tempfile::tempdir().unwrap();
    let session = Session::new();
    let folder = root.path().join("state");
    let written = folder.clone();
    session.app.writes.start(move || {
        std::thread::sleep(std::time::Duration::from_millis(50));
        std::fs::create_dir(written).unwrap();
    });
    drop(session);
    assert!(folder.exists(), "the write had not ended");
}

//! Traces in tabs are independent: views, imports, errors.

use std::sync::Arc;

use crate::app::AppOptions;
use crate::app::event::{TabEvent, TaskError};
use crate::app::follow_request::FollowRequest;
use crate::app::preferences::Folders;
use crate::app::state::{Effect, WindowEffect};
use crate::app::tasks::LoadSource;
use crate::app::tests::{Session, TWO_SPANS, file};
use crate::export::ExportFormat;
use crate::ingest::{CachePolicy, LoadOptions};
use crate::live::arrivals::LiveInput;
use crate::model::{Sources, WeightUnit};
use crate::scene::tests::snapshot;
use crate::ui::command::{
    AppCommand, BookmarkCommand, CloseChoice, Command, NavigationStep, PanelCommand, ScopeCommand, TabCommand,
    TimelineCommand,
};
use crate::ui::panel::Panel;
use crate::ui::purpose::Purpose;
use crate::ui::selected_scope::SelectedScope;
use crate::ui::settings::RulerOrigin;

fn width_ns(session: &mut Session) -> f64 {
    session.app.timeline_mut().map_or(0.0, |timeline| timeline.view().width_ns())
}

#[test]
fn each_tab_has_its_own_view_and_keys_switch_and_close_tabs() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::new();
    for name in ["one.json", "two.json", "three.json"] {
        session.app.open_files(&[file(folder.path(), name, TWO_SPANS)]);
        session.finish_tasks();
        session.frame(Vec::new());
    }
    assert_eq!((session.app.tab_count(), session.app.title().as_str()), (3, "three.json - Longspan"));
    session.frame(Vec::new());
    assert!(session.shows("one.json") && session.shows("two.json"), "the bar of tabs");
    let whole = width_ns(&mut session);
    session.app.act(Command::Timeline(TimelineCommand::Step(NavigationStep::ZoomIn)));
    (0..10).for_each(|_| session.frame(Vec::new()));
    let zoomed = width_ns(&mut session);
    assert!(zoomed < whole * 0.9, "{zoomed} {whole}");
    session.chord(egui::Key::Tab);
    assert_eq!(session.app.title(), "one.json - Longspan");
    assert!((width_ns(&mut session) - whole).abs() < 1.0);
    session.app.act(Command::Tab(TabCommand::Previous));
    assert_eq!(session.app.title(), "three.json - Longspan");
    assert!((width_ns(&mut session) - zoomed).abs() < 1.0);
    session.frame(Vec::new());
    session.chord(egui::Key::W);
    assert_eq!((session.app.tab_count(), session.app.title().as_str()), (2, "two.json - Longspan"));
    session.app.act(Command::Tab(TabCommand::CloseAt(0)));
    assert_eq!((session.app.tab_count(), session.app.title().as_str()), (1, "two.json - Longspan"));
    session.frame(Vec::new());
    assert!(!session.shows("one.json"), "one tab needs no bar");
    session.chord(egui::Key::W);
    assert_eq!((session.app.tab_count(), session.app.title().as_str()), (1, "Longspan"));
}

#[test]
fn the_query_of_a_panel_runs_in_its_tab_although_another_is_shown_in_the_same_frame() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::new();
    for name in ["one.json", "two.json"] {
        session.app.open_files(&[file(folder.path(), name, TWO_SPANS)]);
        session.finish_tasks();
        session.frame(Vec::new());
    }
    session.app.act(Command::Panel(PanelCommand::Show(Panel::Statistics)));
    // The panel asks in the frame of the key.
    session.chord(egui::Key::Tab);
    assert_eq!(session.app.title(), "one.json - Longspan");
    let is_busy: Vec<_> = session.app.tabs.iter().map(|tab| tab.panels.is_busy()).collect();
    assert_eq!(is_busy, [false, true]);
}

#[test]
fn a_file_that_is_opened_again_while_it_loads_stays_in_its_tab_with_one_import() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::new();
    let [one, two] = ["one.json", "two.json"].map(|name| file(folder.path(), name, TWO_SPANS));
    session.app.open_files(std::slice::from_ref(&one));
    let import = |session: &Session| session.app.tabs[0].running.as_ref().map(|running| running.id);
    let first = import(&session);
    assert!(first.is_some(), "the import runs");
    session.app.open_files(&[two]);
    session.app.open_files(&[folder.path().join(".").join("one.json")]);
    assert_eq!((session.app.tab_count(), import(&session)), (2, first));
    assert_eq!(session.app.shown_tab, 0, "its tab is shown");
    session.finish_tasks();
    assert_eq!(session.app.tab_count(), 2);
}

#[test]
fn the_demo_is_kept_in_the_given_cache_folder() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let load = LoadOptions { cache: CachePolicy::Folder(cache.clone()), ..LoadOptions::default() };
    let mut session = Session::with(AppOptions { load, ..AppOptions::default() });
    session.app.open_demo();
    let running = session.app.tabs[0].running.as_ref().expect("an import");
    assert_eq!(running.sources.files()[0].path().parent(), Some(&*cache));
    running.cancel();
    session.finish_tasks();
}

/// Presses Ctrl + Shift + T, and waits until the trace is open.
fn reopen(session: &mut Session) {
    let modifiers = egui::Modifiers::COMMAND | egui::Modifiers::SHIFT;
    for pressed in [true, false] {
        let (key, physical_key, repeat) = (egui::Key::T, None, false);
        session.frame(vec![egui::Event::Key { key, physical_key, pressed, repeat, modifiers }]);
    }
    if session.app.tab().running.is_some() {
        session.finish_tasks();
    }
}

#[test]
fn closed_tabs_reopen_last_closed_first_with_their_views() {
    let folder = tempfile::tempdir().unwrap();
    let folders = Folders { config: folder.path().join("config"), state: folder.path().join("state") };
    let mut session = Session::with_folders(folders);
    assert!(session.app.act(Command::Tab(TabCommand::Reopen)).is_none() && session.app.tab_count() == 1);
    for name in ["one.json", "two.json", "three.json"] {
        session.app.open_files(&[file(folder.path(), name, TWO_SPANS)]);
        session.finish_tasks();
        session.frame(Vec::new());
    }
    session.app.act(Command::Timeline(TimelineCommand::Step(NavigationStep::ZoomIn)));
    (0..10).for_each(|_| session.frame(Vec::new()));
    let zoomed = width_ns(&mut session);
    session.chord(egui::Key::W);
    session.app.act(Command::Tab(TabCommand::CloseAt(0)));
    assert_eq!((session.app.tab_count(), session.app.title().as_str()), (1, "two.json - Longspan"));
    // Ctrl + T is another command.
    reopen(&mut session);
    assert_eq!((session.app.tab_count(), session.app.title().as_str()), (2, "one.json - Longspan"));
    reopen(&mut session);
    session.frame(Vec::new());
    assert_eq!((session.app.tab_count(), session.app.title().as_str()), (3, "three.json - Longspan"));
    assert!((width_ns(&mut session) - zoomed).abs() < 2.0, "its view is restored, in whole nanoseconds");
    reopen(&mut session);
    assert_eq!(session.app.tab_count(), 3, "no other tab was closed");
    // The last tab leaves an empty one, which the reopened trace takes.
    (0..3).for_each(|_| session.chord(egui::Key::W));
    assert_eq!((session.app.tab_count(), session.app.title().as_str()), (1, "Longspan"));
    reopen(&mut session);
    assert_eq!(session.app.tab_count(), 1);
    assert_ne!(session.app.title(), "Longspan");
}

#[test]
fn a_hidden_tab_continues_to_load_and_a_closed_one_ignores_events() {
    let folder = tempfile::tempdir().unwrap();
    let [one, two] = ["one.json", "two.json"].map(|name| file(folder.path(), name, TWO_SPANS));
    let mut session = Session::new();
    session.app.open_files(&[one]);
    // The first trace is still being imported, so the second gets a separate tab.
    session.app.open_files(&[two]);
    assert_eq!(session.app.tab_count(), 2);
    session.app.act(Command::Tab(TabCommand::Next));
    session.finish_tasks();
    session.finish_tasks();
    assert_eq!(session.app.title(), "one.json - Longspan");
    session.app.act(Command::Tab(TabCommand::Next));
    assert_eq!(session.app.title(), "two.json - Longspan");
    // Events for a closed tab are dropped.
    let wake = Arc::clone(&session.app.tab().wake);
    session.app.act(Command::Tab(TabCommand::Close));
    wake(TabEvent::Wrote("late".into(), Err(TaskError::Failed("for nobody".to_owned()))));
    session.until("the event", |session| session.app.message().is_none());
    assert_eq!((session.app.tab_count(), session.app.title().as_str()), (1, "one.json - Longspan"));
}

#[test]
fn an_open_trace_is_shown_in_its_tab_and_an_unreadable_one_leaves_no_tab() {
    let folder = tempfile::tempdir().unwrap();
    let [one, two] = ["one.json", "two.json"].map(|name| file(folder.path(), name, TWO_SPANS));
    let bad = file(folder.path(), "bad.json", "this is no trace");
    let mut session = Session::new();
    for path in [&one, &two, &one] {
        session.app.open_in_tab(LoadSource::Files(Sources::from(path)));
        session.finish_tasks();
    }
    assert_eq!((session.app.tab_count(), session.app.title().as_str()), (2, "one.json - Longspan"));
    session.app.open_files(&[bad]);
    session.finish_tasks();
    assert_eq!((session.app.tab_count(), session.app.title().as_str()), (2, "one.json - Longspan"));
    assert!(session.app.message().is_some_and(|message| message.contains("bad.json")));
    // The failed file is in neither of the two tabs, and is not listed as recent.
    assert!(session.app.tab_titles().iter().all(|title| !title.has_failed));
    let recent = serde_json::to_string(&session.app.preferences.recent).unwrap();
    assert!(recent.contains("one.json") && recent.contains("two.json") && !recent.contains("bad.json"), "{recent}");
}

#[cfg(unix)]
#[test]
fn an_open_trace_is_found_by_any_path_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let one = file(folder.path(), "one.json", TWO_SPANS);
    let link = folder.path().join("link.json");
    std::os::unix::fs::symlink(&one, &link).unwrap();
    let mut session = Session::new();
    for path in [&one, &link, &folder.path().join("../").join(folder.path().file_name().unwrap()).join("one.json")] {
        session.app.open_in_tab(LoadSource::Files(Sources::from(path)));
        session.finish_tasks();
        assert_eq!(session.app.tab_count(), 1, "{}", path.display());
    }
}

#[test]
fn an_unchanged_window_does_not_overwrite_the_bookmarks_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let folders = Folders { config: folder.path().join("config"), state: folder.path().join("state") };
    let trace = file(folder.path(), "two.json", TWO_SPANS);
    let [mut one, mut other] = [(); 2].map(|()| Session::opened(&folders, &trace));
    (0..3).for_each(|_| other.frame(Vec::new()));
    one.app.act(Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::Add)));
    one.frame(Vec::new());
    one.app.save();
    other.app.save();
    assert_eq!(Session::opened(&folders, &trace).app.timeline_mut().unwrap().marks().all().len(), 1);
}

#[test]
fn a_state_that_cannot_be_written_is_reported_once() {
    let folder = tempfile::tempdir().unwrap();
    // Files in place of the folders.
    let [config, state] = ["config", "state"].map(|name| file(folder.path(), name, ""));
    let mut session = Session::opened(&Folders { config, state }, &file(folder.path(), "two.json", TWO_SPANS));
    for _ in 0..2 {
        session.app.act(Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::Add)));
        session.app.preferences.csv_safe ^= true;
        (0..12).for_each(|_| session.frame(Vec::new()));
        for what in ["Markers and the view", "The preferences"] {
            let failure = format!("{what} could not be saved");
            session.until(&failure, |session| session.app.note().contains(&failure));
        }
    }
    assert_eq!(session.app.note().matches("could not be saved").count(), 2, "{}", session.app.note());
}

#[cfg(unix)]
#[test]
fn a_trace_that_is_sorted_after_its_end_is_reloaded_once_that_is_done() {
    let mut session = Session::new();
    let command = ["/bin/sh", "-c", &format!("echo '{TWO_SPANS}'")].map(std::ffi::OsString::from).to_vec();
    session.app.follow(FollowRequest::new(vec![LiveInput::Command(command)]));
    let disabled = |session: &mut Session| session.app.tab_titles()[0].reload_disabled;
    assert_eq!(disabled(&mut session), Some("The trace is live: stop it first"));
    session.until("its end", |session| !session.app.tab().is_live());
    assert!(session.app.tab().follow.is_some(), "it is not sorted yet");
    assert_eq!(disabled(&mut session), Some("Wait until the import or export ends"));
}

#[test]
fn the_table_of_an_earlier_scope_is_not_copied() {
    let mut session = Session::new();
    session.app.show_trace(snapshot(TWO_SPANS), "two".into(), false);
    let tables = [Panel::Scheduling, Panel::Spans, Panel::Samples, Panel::Statistics, Panel::Counters];
    for panel in tables {
        session.app.act(Command::Panel(PanelCommand::Show(panel)));
        let copied = |session: &mut Session| session.app.act(Command::App(AppCommand::CopyPanel(panel.into())));
        session.until("the table", |session| copied(session).is_some());
        let scope = SelectedScope { range: Some((0, 1000 + panel as i64)), ..SelectedScope::default() };
        session.app.act(Command::Timeline(TimelineCommand::Scope(ScopeCommand::Set(Box::new(scope)))));
        assert!(copied(&mut session).is_none(), "{panel:?}");
    }
}

fn answer(session: &mut Session, choice: CloseChoice) -> Option<Effect> {
    session.app.act(Command::App(AppCommand::AnswerClose(choice)))
}

#[test]
fn a_tab_that_is_writing_an_export_is_closed_once_the_user_discards_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::new();
    session.app.open_files(&[file(folder.path(), "one.json", TWO_SPANS)]);
    session.finish_tasks();
    session.choose(Purpose::Export(ExportFormat::NATIVE), folder.path().join("out.longspan"));
    session.app.act(Command::Tab(TabCommand::Close));
    (0..2).for_each(|_| session.frame(Vec::new()));
    assert_eq!(session.app.title(), "one.json - Longspan");
    assert!(session.shows("An export is in progress, and would be stopped.") && !session.shows("Export..."));
    answer(&mut session, CloseChoice::Cancel);
    session.app.act(Command::Tab(TabCommand::Close));
    assert_eq!(session.app.title(), "one.json - Longspan");
    answer(&mut session, CloseChoice::Discard);
    assert_eq!(session.app.title(), "Longspan");
}

#[test]
fn a_window_that_is_writing_an_export_closes_at_the_second_request_and_shows_its_tab() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::new();
    for name in ["one.json", "two.json"] {
        session.app.open_files(&[file(folder.path(), name, TWO_SPANS)]);
        session.finish_tasks();
    }
    session.app.act(Command::Tab(TabCommand::Show(0)));
    session.choose(Purpose::Export(ExportFormat::NATIVE), folder.path().join("out.longspan"));
    session.app.act(Command::Tab(TabCommand::Show(1)));
    assert!(session.app.act(Command::App(AppCommand::Quit)).is_none());
    assert_eq!(session.app.title(), "one.json - Longspan");
    (0..2).for_each(|_| session.frame(Vec::new()));
    assert!(session.shows("An export is in progress, and would be stopped."));
    assert!(session.app.act(Command::App(AppCommand::Quit)).is_none(), "the key was pressed twice");
    assert!(session.app.may_quit());
}

/// Follows a program that writes this text, until the trace is sorted.
#[cfg(unix)]
fn receive(session: &mut Session, text: &str, weight_unit: Option<WeightUnit>) {
    let command = ["/bin/sh", "-c", &format!("echo '{text}'")].map(std::ffi::OsString::from).to_vec();
    session.app.follow(FollowRequest { weight_unit, ..FollowRequest::new(vec![LiveInput::Command(command)]) });
    session.until("the sorted rows", |session| {
        let is_whole = session.app.tab().trace.as_ref().is_some_and(crate::app::open_trace::OpenTrace::is_whole);
        session.app.tab().follow.is_none() && is_whole
    });
}

#[cfg(unix)]
#[test]
fn the_weights_of_followed_stacks_are_sorted_in_the_given_unit() {
    let mut session = Session::new();
    receive(&mut session, "main;work 2", Some(WeightUnit::Seconds));
    assert_eq!(session.app.shown_sources().weight_unit(), Some(WeightUnit::Seconds));
    let summary = session.app.timeline_mut().unwrap().snapshot().summary();
    assert_eq!(summary.end_ns - summary.start_ns, 2_000_000_000);
}

#[cfg(unix)]
#[test]
fn the_exit_status_of_a_program_is_shown_after_its_trace_is_sorted() {
    let mut session = Session::new();
    let command = ["/bin/sh", "-c", &format!("echo '{TWO_SPANS}'; exit 3")].map(std::ffi::OsString::from).to_vec();
    session.app.follow(FollowRequest::new(vec![LiveInput::Command(command)]));
    session.until("the sorted rows", |session| session.app.tab().follow.is_none());
    assert!(session.app.note().contains("sh: ended with exit status: 3"), "{}", session.app.note());
}

#[test]
fn one_moment_has_one_time_in_every_panel_wherever_the_ruler_counts_from() {
    let mut session = Session::new();
    session.app.show_trace(snapshot(TWO_SPANS), "two".into(), false);
    session.frame(Vec::new());
    let row = crate::store::RowIdx { lane: crate::store::LaneIdx(0), row: 1 };
    session.app.act(Command::Timeline(TimelineCommand::Select(Some(row))));
    session.app.act(Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::Add)));
    session.app.act(Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::Origin(RulerOrigin::Mark))));
    session.app.act(Command::Panel(PanelCommand::Toggle(Panel::Spans)));
    session.until("the spans", |session| {
        session.shows("of the whole trace") && session.texts.iter().any(|text| text == "2")
    });
    session.frame(Vec::new());
    // The marker is at the start of the second span.
    let count = |text: &str| session.texts.iter().filter(|shown| *shown == text).count();
    assert_eq!((count("0.000000000 s"), count("-0.000600000 s")), (2, 1), "{:?}", session.texts);
    let Some(Effect::Copy(text)) = session.app.act(Command::App(AppCommand::CopySpan)) else { panic!("no text") };
    assert!(text.contains("start: 0.000000000 s"), "{text}");
}

#[test]
fn the_scope_stays_while_files_are_moved() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["one.json", "two.json"].map(|name| file(folder.path(), name, TWO_SPANS));
    let mut session = Session::new();
    session.app.open_files(&files);
    session.finish_tasks();
    session.frame(Vec::new());
    let scope = SelectedScope {
        range: Some((100_000, 700_000)),
        tracks: [crate::model::TrackIdx(0)].into_iter().collect(),
        filter: "dur>1us".into(),
    };
    session.app.act(Command::Timeline(TimelineCommand::Scope(ScopeCommand::Set(Box::new(scope.clone())))));
    session.app.act(Command::App(AppCommand::MoveFileBy("two.json".into(), 1000)));
    session.finish_tasks();
    session.frame(Vec::new());
    assert_eq!(session.app.shown_sources().files()[1].offset_ns, 1000);
    assert_eq!(*session.app.timeline_mut().unwrap().scope(), scope);
}

#[cfg(unix)]
#[test]
fn received_rows_are_discarded_by_an_answer_unless_they_are_exported() {
    use crate::app::received::OnlyCopy;
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::new();
    // A window that is killed leaves the folder, until the rows are elsewhere.
    let received = |session: &mut Session| {
        receive(session, TWO_SPANS, None);
        let OnlyCopy::Stored(received) = &session.app.tab().only_copy else { panic!("the received data is on disk") };
        let folder = received.path().to_owned();
        let files = std::fs::read_dir(&folder).unwrap().map(|file| std::fs::read(file.unwrap().path()).unwrap());
        assert!(files.into_iter().any(|bytes| bytes.starts_with(TWO_SPANS.as_bytes())));
        folder
    };
    let left = received(&mut session);
    session.app.act(Command::Tab(TabCommand::Close));
    assert_eq!(session.app.title(), "sh - Longspan");
    (0..2).for_each(|_| session.frame(Vec::new()));
    assert!(session.shows("The received data is not saved, and would be discarded."));
    answer(&mut session, CloseChoice::Discard);
    assert_eq!(session.app.title(), "Longspan");
    assert!(!left.exists());
    let left = received(&mut session);
    assert!(!session.app.may_quit());
    let effect = answer(&mut session, CloseChoice::Export);
    assert!(matches!(effect, Some(Effect::Window(WindowEffect::Dialog { .. }))), "{effect:?}");
    session.choose(Purpose::Export(ExportFormat::NATIVE), folder.path().join("kept.longspan"));
    assert!(left.exists());
    session.finish_tasks();
    assert!(session.app.may_quit() && !left.exists());
    // The rows of a file are still in it.
    let mut session = Session::new();
    session.app.follow_files(&[file(folder.path(), "two.json", TWO_SPANS)]);
    session.until("the spans", |session| session.app.timeline_mut().is_some());
    assert!(session.app.may_quit() && !session.app.tab().has_only_copy());
}

#[test]
fn a_tab_whose_file_cannot_be_opened_is_marked_as_failed() {
    let folder = tempfile::tempdir().unwrap();
    let bad = file(folder.path(), "bad.json", "this is no trace");
    let mut session = Session::new();
    session.app.open_files(&[bad]);
    session.finish_tasks();
    assert!(session.app.message().is_some());
    assert!(session.app.tab_titles()[0].has_failed);
}

#[test]
fn a_later_error_waits_until_the_earlier_one_is_closed() {
    let mut session = Session::new();
    for name in ["one", "two"] {
        let wake = Arc::clone(&session.app.tab().wake);
        wake(TabEvent::Wrote(name.into(), Err(TaskError::Failed(format!("{name}: the disk is full")))));
        session.finish_tasks();
    }
    for name in ["one", "two"] {
        assert_eq!(session.app.message(), Some(&*format!("{name}: the disk is full")));
        session.app.act(Command::App(AppCommand::Dismiss));
    }
    assert_eq!(session.app.message(), None);
}

#[test]
fn a_trace_from_a_pipe_is_not_read_again_to_move_it() {
    let mut session = Session::new();
    session.app.show_trace(snapshot(TWO_SPANS), "/dev/stdin".into(), false);
    session.app.act(Command::App(AppCommand::MoveFileBy("stdin".into(), 1000)));
    assert!(session.app.note().contains("/dev/stdin cannot be read again"), "{}", session.app.note());
    session.frame(Vec::new());
    assert_eq!(session.app.timeline_mut().unwrap().snapshot().summary().spans, 2);
}

//! Traces in tabs are independent: views, imports, errors.

use std::sync::Arc;

use crate::app::tasks::LoadSource;
use crate::app::tests::{Session, TWO_SPANS, file};
use crate::model::Sources;
use crate::ui::command::{Command, NavigationStep, TabCommand, TimelineCommand};

fn width_ns(session: &mut Session) -> f64 {
    session.app.timeline_mut().map_or(0.0, |timeline| timeline.view().width_ns())
}

#[test]
fn each_tab_keeps_its_own_view_and_keys_go_through_them_and_close_them() {
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
fn a_load_goes_on_in_a_tab_that_is_not_shown_and_a_closed_one_takes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let [one, two] = ["one.json", "two.json"].map(|name| file(folder.path(), name, TWO_SPANS));
    let mut session = Session::new();
    session.app.open_files(&[one]);
    // The first is still being imported, so the second gets its own tab.
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
    wake(crate::app::event::TabEvent::Wrote("late".into(), Err("for nobody".to_owned())));
    session.until("the event", |session| session.app.message().is_none());
    assert_eq!((session.app.tab_count(), session.app.title().as_str()), (1, "one.json - Longspan"));
}

#[test]
fn a_capture_that_is_open_is_shown_where_it_is_and_one_that_cannot_be_opened_leaves_no_tab() {
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

#[test]
fn the_title_of_a_tab_whose_own_file_cannot_be_opened_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let bad = file(folder.path(), "bad.json", "this is no trace");
    let mut session = Session::new();
    session.app.open_files(&[bad]);
    session.finish_tasks();
    assert!(session.app.message().is_some());
    assert!(session.app.tab_titles()[0].has_failed);
}

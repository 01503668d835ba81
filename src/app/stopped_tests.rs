//! Imports that end before all is sorted: the part that is shown stays open.

use std::path::Path;
use std::sync::Arc;

use super::event::{TabEvent, TaskError, TaskEvent, TaskId};
use super::restored_tests::preview_with;
use super::tests::{Session, TWO_SPANS, file};
use crate::model::Module;
use crate::query::Snapshot;
use crate::ui::command::{AppCommand, Command};

/// Returns a preview of the first of [`TWO_SPANS`], with a file of sampled code.
fn preview() -> Snapshot {
    preview_with(vec![Module { path: "/work".into(), category: "/work".into(), ..Module::default() }])
}

fn handle(session: &mut Session, event: TabEvent) {
    let tab = session.app.tab().id;
    session.app.handle(TaskEvent::OfTab(tab, Box::new(event)));
}

/// Returns an import that has shown a preview, with its task.
pub(super) fn with_preview(folder: &Path) -> (Session, TaskId) {
    let mut session = Session::new();
    session.app.open_files(&[file(folder, "two.json", TWO_SPANS)]);
    let id = session.app.tab().running.as_ref().expect("an import").id;
    handle(&mut session, TabEvent::Previewed(id, preview(), Arc::default()));
    session.frame(Vec::new());
    (session, id)
}

#[test]
fn the_part_that_a_stopped_import_leaves_has_a_minimap_and_names() {
    let folder = tempfile::tempdir().unwrap();
    for error in [TaskError::Cancelled, TaskError::Failed("a broken disk".to_owned())] {
        let (mut session, id) = with_preview(folder.path());
        assert!(!session.app.tab().panels.is_busy(), "a part that grows has no names");
        handle(&mut session, TabEvent::Loaded(id, Err(error)));
        assert!(session.app.tab().panels.is_busy(), "the names are looked up");
        session.until("the minimap", |session| session.app.timeline_mut().is_some_and(|it| it.has_trace_summary()));
        session.until("the names", |session| !session.app.tab().panels.is_busy());
        let timeline = session.app.timeline_mut().expect("a timeline");
        assert!(timeline.interruption().is_some(), "it says why the rest is missing");
    }
}

#[test]
fn a_folder_that_is_located_during_an_import_is_searched_at_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let (mut session, id) = with_preview(folder.path());
    session.app.act(Command::App(AppCommand::LocateSymbols(folder.path().to_owned())));
    let reply = session.app.tab().notes.reply_text().unwrap_or_default().to_owned();
    assert!(reply.ends_with("is searched once the trace is sorted."), "{reply}");
    handle(&mut session, TabEvent::Previewed(id, preview(), Arc::default()));
    handle(&mut session, TabEvent::Loaded(id, Err(TaskError::Cancelled)));
    session.until("the names", |session| !session.app.tab().panels.is_busy());
    let snapshot = session.app.timeline_mut().expect("a timeline").snapshot().clone();
    assert_eq!(session.app.tab().panels.symbol_folders(&snapshot), [folder.path().to_owned()]);
}

#[test]
fn a_hidden_tab_is_drawn_again_at_the_end_of_its_import_but_not_at_each_preview() {
    let folder = tempfile::tempdir().unwrap();
    let (mut session, id) = with_preview(folder.path());
    let hidden = session.app.tab().id;
    let needs_frame = |session: &mut Session, event| session.app.handle(TaskEvent::OfTab(hidden, Box::new(event)));
    let previewed = || TabEvent::Previewed(id, preview(), Arc::default());
    assert!(needs_frame(&mut session, previewed()), "the tab is shown");
    session.app.open_files(&[file(folder.path(), "other.json", TWO_SPANS)]);
    assert_ne!(session.app.tab().id, hidden);
    assert!(!needs_frame(&mut session, previewed()));
    assert!(needs_frame(&mut session, TabEvent::Loaded(id, Err(TaskError::Cancelled))), "its progress bar is gone");
    assert!(!needs_frame(&mut session, previewed()), "the import has ended");
}

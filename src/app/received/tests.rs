//! Received rows that are nowhere else: when closing asks, and whether the files are read again.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::OnlyCopy;
use crate::app::event::{TabEvent, TaskError, TaskEvent};
use crate::app::follow_request::FollowRequest;
use crate::app::open_trace::OpenTrace;
use crate::app::tests::{Session, TWO_SPANS, file};
use crate::export::ExportFormat;
use crate::ingest::{self, CachePolicy, LoadOptions};
use crate::live::arrivals::LiveInput;
use crate::live::follow::FollowEnd;
use crate::live::orderer::LateEvents;
use crate::live::spool_folder::SpoolFolder;
use crate::model::{SourceFile, Sources};
use crate::ui::command::{AppCommand, Command, LiveCommand, TabCommand};
use crate::ui::command_table::ReloadState;
use crate::ui::purpose::Purpose;

const THREE_SPANS: &str = r#"[
    {"ph":"X","name":"alpha","pid":1,"tid":1,"ts":0,"dur":4},
    {"ph":"X","name":"beta","pid":1,"tid":1,"ts":6,"dur":4},
    {"ph":"X","name":"omega","pid":1,"tid":1,"ts":16,"dur":4},"#;

fn spans(session: &mut Session) -> u64 {
    session.app.timeline_mut().map_or(0, |timeline| timeline.snapshot().summary().spans)
}

/// Stops following, and waits until all is sorted.
fn stop(session: &mut Session) {
    session.app.act(Command::App(AppCommand::Live(LiveCommand::Stop)));
    session.until("the sorted rows", |session| {
        session.app.tab().follow.is_none() && session.app.tab().trace.as_ref().is_some_and(OpenTrace::is_whole)
    });
}

/// Follows a program that writes two spans and goes on running.
fn running() -> Session {
    let mut session = Session::new();
    let command = ["/bin/sh", "-c", &format!("echo '{TWO_SPANS}'; exec sleep 60")].map(std::ffi::OsString::from);
    session.app.follow(FollowRequest::new(vec![LiveInput::Command(command.to_vec())]));
    session.until("the spans", |session| spans(session) == 2);
    session
}

/// Ends the followed trace of a session.
fn end(session: &mut Session, end: Result<Box<FollowEnd>, TaskError>) {
    let tab = session.app.tab();
    let (tab, id) = (tab.id, tab.follow.as_ref().expect("a followed trace").id);
    session.app.handle(TaskEvent::OfTab(tab, Box::new(TabEvent::FollowEnded(id, end))));
}

/// Returns the end of a trace with one recorded file, or none.
fn followed_end(folder: &Path, recorded: Option<&str>) -> FollowEnd {
    let spool = SpoolFolder::new(folder).unwrap();
    let files = recorded.map(|text| file(spool.path(), "received.spool", text));
    let mut sources = Sources::new(files.iter().map(|_| SourceFile::new(PathBuf::from("/dev/fd/99"), 0)).collect());
    files.into_iter().for_each(|path| sources.read_instead(0, path));
    let (errors, lost, losses, unsorted) = Default::default();
    let late = LateEvents::default();
    let (has_snapshot_only, has_replaced) = (false, false);
    FollowEnd { sources, spool, errors, lost, losses, late, unsorted, has_snapshot_only, has_replaced }
}

#[test]
fn a_followed_file_is_read_again_by_reload_and_in_a_reopened_tab() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "app.json", TWO_SPANS);
    let mut session = Session::new();
    session.app.follow_files(std::slice::from_ref(&path));
    session.until("the spans", |session| spans(session) == 2);
    stop(&mut session);
    std::fs::write(&path, THREE_SPANS).unwrap();
    session.app.act(Command::App(AppCommand::OpenAgain));
    session.finish_tasks();
    assert_eq!((spans(&mut session), session.app.message()), (3, None));
    let mut session = Session::new();
    session.app.follow_files(&[path]);
    session.until("the spans", |session| spans(session) == 3);
    stop(&mut session);
    session.app.act(Command::Tab(TabCommand::Close));
    session.app.act(Command::Tab(TabCommand::Reopen));
    session.finish_tasks();
    assert_eq!((spans(&mut session), session.app.message()), (3, None));
}

#[test]
fn the_rows_of_a_file_that_was_rewritten_while_it_was_followed_are_asked_about() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "app.json", THREE_SPANS);
    let mut session = Session::new();
    session.app.follow_files(std::slice::from_ref(&path));
    session.until("the first rows", |session| spans(session) == 3);
    assert!(!session.app.tab().has_only_copy());
    std::fs::write(&path, TWO_SPANS).unwrap();
    session.until("the next rows", |session| spans(session) == 5);
    assert!(session.app.tab().has_only_copy(), "the file has only the last two");
    stop(&mut session);
    assert_eq!(spans(&mut session), 5);
    assert!(!session.app.may_quit() && matches!(session.app.tab().only_copy, OnlyCopy::Stored(_)));
    session.app.dialogs.close_request = None;
    // Reading the file again would lose rows, also to move it.
    assert_eq!(session.app.tab().reload_state(), ReloadState::NoFile);
    session.app.act(Command::App(AppCommand::MoveFileBy("app.json".into(), 1000)));
    assert!(session.app.tab().running.is_none());
    assert!(session.app.tab().notes.reply_text().is_some_and(|text| text.contains("cannot be read again")));
    session.choose(Purpose::Export(ExportFormat::NATIVE), folder.path().join("all.longspan"));
    session.finish_tasks();
    assert!(session.app.may_quit() && session.app.tab().reload_state() == ReloadState::NoFile);
}

#[test]
fn received_data_is_not_dropped_to_unwind_stacks_or_to_open_its_source_again() {
    let mut session = running();
    stop(&mut session);
    let sources = session.app.shown_sources();
    session.app.tab_mut().trace.as_mut().expect("a trace").has_other_stacks = true;
    session.frame(Vec::new());
    assert!(session.app.tab().running.is_none() && session.app.tab().has_only_copy());
    session.app.tab_mut().trace.as_mut().expect("a trace").has_other_stacks = false;
    assert!(!session.app.tab().shows_same_files(&sources), "another tab opens them");
}

#[test]
fn rows_that_cannot_be_written_leave_the_recorded_data_and_the_last_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = running();
    let unsorted = Some("the disk is full".to_owned());
    let ended = FollowEnd { unsorted, ..followed_end(folder.path(), Some(TWO_SPANS)) };
    let spool = ended.spool.path().to_owned();
    end(&mut session, Ok(Box::new(ended)));
    let message = session.app.message().expect("a message");
    assert_eq!(message, format!("the disk is full. All received data is in {}", spool.display()));
    assert_eq!(std::fs::read(spool.join("received.spool")).unwrap(), TWO_SPANS.as_bytes());
    assert!(session.app.tab().can_export() && spans(&mut session) == 2);
    assert!(session.app.may_quit(), "all rows are in the folder");
}

#[test]
fn a_failed_or_cancelled_final_sort_leaves_the_last_snapshot_to_export_and_the_received_data() {
    let errors =
        [(TaskError::Cancelled, "The sort was stopped"), (TaskError::Failed("a broken disk".into()), "a broken disk")];
    for (error, why) in errors {
        let folder = tempfile::tempdir().unwrap();
        let mut session = running();
        let ended = followed_end(folder.path(), Some(TWO_SPANS));
        let spool = ended.spool.path().to_owned();
        end(&mut session, Ok(Box::new(ended)));
        assert!(!session.app.tab().can_export(), "it is sorted");
        let (tab, id) = (session.app.tab().id, session.app.tab().running.as_ref().expect("a sort").id);
        session.app.handle(TaskEvent::OfTab(tab, Box::new(TabEvent::Loaded(id, Err(error)))));
        let message = session.app.message().expect("a message");
        assert_eq!(message, format!("{why}. All received data is in {}", spool.display()));
        assert_eq!(std::fs::read(spool.join("received.spool")).unwrap(), TWO_SPANS.as_bytes());
        let tab = session.app.tab();
        assert!(tab.follow.is_none() && tab.running.is_none() && !tab.is_live() && tab.can_export());
        assert!(session.app.timeline_mut().is_some_and(|timeline| !timeline.is_live()), "the view no longer follows");
        let path = folder.path().join("shown.longspan");
        session.choose(Purpose::Export(ExportFormat::NATIVE), path.clone());
        session.until("the export", |session| session.app.tab().writing.is_none());
        let (cancel, progress) = Default::default();
        let options = LoadOptions { cache: CachePolicy::None, ..LoadOptions::default() };
        let written = ingest::open(&path, &options, &cancel, &progress).expect("a trace");
        assert_eq!(written.store.meta().summary.spans, 2);
        assert!(session.app.may_quit(), "all rows are in the folder");
    }
}

#[test]
fn bytes_of_a_pipe_are_asked_about_before_the_first_counts_arrive() {
    let mut session = Session::new();
    let command = ["/bin/sh", "-c", "printf '['; exec sleep 60"].map(std::ffi::OsString::from);
    session.app.follow(FollowRequest::new(vec![LiveInput::Command(command.to_vec())]));
    // The window handles no event meanwhile, such as the counts.
    let started = Instant::now();
    while session.app.may_quit() {
        assert!(started.elapsed() < Duration::from_secs(20), "the byte is not noticed");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(session.app.tab().follow.as_ref().is_some_and(|follow| !follow.counts.has_received()));
}

#[test]
fn a_trace_whose_recorded_data_is_gone_can_be_exported_as_it_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let removed = FollowEnd { errors: vec!["it was removed".to_owned()], ..followed_end(folder.path(), None) };
    for ended in [Ok(Box::new(removed)), Err(TaskError::Failed("it has crashed".to_owned()))] {
        let mut session = running();
        end(&mut session, ended);
        assert!(session.app.message().is_some() && session.app.tab().can_export());
        assert!(!session.app.may_quit());
        session.app.dialogs.close_request = None;
        session.choose(Purpose::Export(ExportFormat::NATIVE), folder.path().join("shown.longspan"));
        session.finish_tasks();
        assert!(session.app.may_quit(), "{}", session.app.note());
        std::fs::remove_file(folder.path().join("shown.longspan")).unwrap();
    }
}

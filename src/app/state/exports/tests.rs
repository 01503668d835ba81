//! Exports while something else happens to their trace.

use std::path::{Path, PathBuf};

use crate::app::AppOptions;
use crate::app::event::TaskId;
use crate::app::tests::{Session, TWO_SPANS, file};
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::export::ExportFormat;
use crate::ingest::{self, CachePolicy, LoadOptions};
use crate::model::TrackIdx;
use crate::ui::command::{AppCommand, Command, ScopeCommand, TimelineCommand};
use crate::ui::purpose::Purpose;
use crate::ui::selected_scope::SelectedScope;

const CSV: Purpose = Purpose::Export(ExportFormat::CSV);

fn writing(session: &Session) -> Option<TaskId> {
    session.app.tab().writing.as_ref().map(|writing| writing.task.id)
}

#[test]
fn a_file_that_is_chosen_during_an_import_is_written_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (file(folder.path(), "two.json", TWO_SPANS), folder.path().join("out.csv"));
    let mut session = Session::new();
    session.app.open_files(std::slice::from_ref(&path));
    session.finish_tasks();
    session.app.act(Command::App(AppCommand::OpenAgain));
    let import = session.app.tab().running.as_ref().map(|running| running.id).expect("an import");
    session.choose(CSV, out.clone());
    assert!(session.app.tab().runs(import) && writing(&session).is_none());
    let reply = session.app.tab().notes.reply_text();
    assert_eq!(reply, Some("out.csv is written once the trace is sorted."));
    session.finish_tasks();
    assert!(writing(&session).is_some());
    session.finish_tasks();
    assert!(std::fs::read_to_string(&out).unwrap().contains("alpha"));
    // An import that fails leaves no export behind.
    std::fs::remove_file(&path).unwrap();
    session.app.act(Command::App(AppCommand::OpenAgain));
    session.choose(CSV, folder.path().join("late.csv"));
    session.finish_tasks();
    let message = session.app.message().unwrap_or_default();
    assert!(message.ends_with("late.csv: not written, because the trace was not sorted."), "{message}");
    assert!(session.app.tab().waiting_export.is_none() && session.app.may_quit());
}

#[test]
fn an_export_has_the_chosen_tracks_although_an_import_gives_them_other_indices() {
    let folder = tempfile::tempdir().unwrap();
    let spans = |threads: &[u32]| {
        let span = |tid: &u32| format!(r#"{{"ph":"X","name":"of {tid}","pid":1,"tid":{tid},"ts":{tid},"dur":5}}"#);
        format!("[{}]", threads.iter().map(span).collect::<Vec<_>>().join(","))
    };
    let (path, out) = (file(folder.path(), "a.json", &spans(&[2, 3])), folder.path().join("out.csv"));
    let mut session = Session::new();
    session.app.open_files(std::slice::from_ref(&path));
    session.finish_tasks();
    let mut export_first = |threads: &[u32]| {
        let tracks = [TrackIdx(0)].into_iter().collect();
        let scope = SelectedScope { tracks, ..SelectedScope::default() };
        session.app.act(Command::Timeline(TimelineCommand::Scope(ScopeCommand::Set(Box::new(scope)))));
        std::fs::write(&path, spans(threads)).unwrap();
        session.app.act(Command::App(AppCommand::OpenAgain));
        session.choose(Purpose::ExportSelected, out.clone());
        session.finish_tasks();
        if writing(&session).is_some() {
            session.finish_tasks();
        }
        let first = session.app.timeline_mut().unwrap().snapshot().track(TrackIdx(0)).key.tid.number();
        (first, session.app.message().map(str::to_owned))
    };
    assert_eq!(export_first(&[1, 2]), (Some(1), None));
    let written = std::fs::read_to_string(&out).unwrap();
    assert!(written.contains("of 2") && !written.contains("of 1"), "{written}");
    let (_, message) = export_first(&[4]);
    assert!(message.is_some_and(|text| text.ends_with("the trace no longer has the chosen tracks.")));
}

/// A trace of 30,000 spans with its store in a cache.
struct CachedTrace {
    path: PathBuf,
    load: LoadOptions,
    store: PathBuf,
}

impl CachedTrace {
    fn new(folder: &Path) -> Self {
        let spans = (0..30_000).map(|k| format!(r#"{{"ph":"X","name":"s","pid":1,"tid":1,"ts":{},"dur":9}}"#, 10 * k));
        let path = file(folder, "a.json", &format!("[{}]", spans.collect::<Vec<_>>().join(",")));
        let load = LoadOptions { cache: CachePolicy::Folder(folder.join("cache")), ..LoadOptions::default() };
        let loaded = ingest::open(&path, &load, &Cancel::default(), &Progress::default()).unwrap();
        let store = loaded.store.path().to_owned();
        Self { path, load, store }
    }

    /// Damages the byte at some tenths of its store.
    fn damage(&self, tenths: usize) {
        let mut bytes = std::fs::read(&self.store).unwrap();
        let at = bytes.len() * tenths / 10;
        bytes[at] ^= 1;
        std::fs::write(&self.store, bytes).unwrap();
    }

    /// Opens it in a new session.
    fn opened(&self) -> Session {
        let mut session = Session::with(AppOptions { load: self.load.clone(), ..AppOptions::default() });
        session.app.open_files(std::slice::from_ref(&self.path));
        session.finish_tasks();
        session
    }
}

#[test]
fn an_export_of_a_damaged_store_restarts_once_the_trace_is_sorted_again() {
    let folder = tempfile::tempdir().unwrap();
    let (trace, out) = (CachedTrace::new(folder.path()), folder.path().join("out.csv"));
    let whole = std::fs::read(&trace.store).unwrap();
    let mut expected = None;
    for tenths in [0, 1, 3, 5] {
        std::fs::write(&trace.store, &whole).unwrap();
        if tenths > 0 {
            trace.damage(tenths);
        }
        std::fs::write(&out, "old").unwrap();
        let mut session = trace.opened();
        session.choose(CSV, out.clone());
        while !session.app.note().contains("written to") {
            assert!(session.app.message().is_none(), "{:?}", session.app.message());
            session.frame(Vec::new());
            session.finish_tasks();
        }
        let written = std::fs::read(&out).unwrap();
        assert!(*expected.get_or_insert_with(|| written.clone()) == written, "damage at {tenths} tenths");
    }
}

#[test]
fn damage_that_an_export_meets_in_a_hidden_tab_is_repaired_there() {
    let folder = tempfile::tempdir().unwrap();
    let (trace, out) = (CachedTrace::new(folder.path()), folder.path().join("out.csv"));
    trace.damage(5);
    let mut session = trace.opened();
    session.choose(CSV, out.clone());
    session.app.open_files(&[file(folder.path(), "two.json", TWO_SPANS)]);
    assert_eq!(session.app.tab_count(), 2);
    while !session.app.tabs[0].notes.text().contains("written to") {
        assert!(session.app.tabs[0].messages.is_empty() && session.app.message().is_none());
        session.frame(Vec::new());
        session.finish_tasks();
    }
    assert_eq!(std::fs::read_to_string(&out).unwrap().lines().count(), 30_001);
}

/// A pipe without a reader keeps an export running.
#[cfg(unix)]
mod pipes {
    use super::*;
    use crate::app::received::OnlyCopy;
    use crate::app::tests::snapshot;
    use crate::ui::command::LiveCommand;

    fn pipe(folder: &Path) -> PathBuf {
        let path = folder.join("pipe.csv");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
        path
    }

    /// Reads what the export writes into a pipe, until its end was handled.
    fn read(session: &mut Session, pipe: PathBuf) -> String {
        let reader = std::thread::spawn(move || std::fs::read_to_string(pipe).expect("a text"));
        session.until("the end of the export", |session| writing(session).is_none());
        reader.join().expect("it is read")
    }

    #[test]
    fn an_export_goes_on_while_its_trace_is_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let (path, pipe) = (file(folder.path(), "two.json", TWO_SPANS), pipe(folder.path()));
        let mut session = Session::new();
        session.app.open_files(std::slice::from_ref(&path));
        session.finish_tasks();
        session.choose(CSV, pipe.clone());
        let started = writing(&session);
        session.app.open_files(&[path]);
        assert!(session.app.tab().running.is_some() && started.is_some() && writing(&session) == started);
        (0..2).for_each(|_| session.frame(Vec::new()));
        assert_eq!(session.texts.iter().filter(|text| *text == "Cancel").count(), 2, "{:?}", session.texts);
        session.finish_tasks();
        assert!(session.app.tab().running.is_none() && writing(&session) == started);
        assert!(read(&mut session, pipe).contains("alpha"));
        assert!(session.app.note().starts_with("2 spans in "), "{}", session.app.note());
    }

    #[test]
    fn an_export_goes_on_when_the_trace_that_is_followed_ends() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = pipe(folder.path());
        let mut session = Session::new();
        session.app.follow_files(&[file(folder.path(), "running.json", TWO_SPANS.trim_end_matches(']'))]);
        session.until("the spans", |session| {
            session.app.timeline_mut().is_some_and(|timeline| timeline.snapshot().summary().spans == 2)
        });
        session.choose(CSV, pipe.clone());
        let started = writing(&session);
        session.app.act(Command::App(AppCommand::Live(LiveCommand::Stop)));
        session.until("the sorted rows", |session| session.app.tab().follow.is_none());
        assert!(started.is_some() && writing(&session) == started);
        assert!(read(&mut session, pipe).contains("alpha"));
        assert!(session.app.note().starts_with("2 spans in "), "{}", session.app.note());
    }

    #[test]
    fn rows_that_an_export_has_not_read_are_still_the_only_copy() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = pipe(folder.path());
        for grows in [false, true] {
            let mut session = Session::new();
            session.app.show_trace(snapshot(TWO_SPANS), "sh".into(), false);
            session.app.tab_mut().only_copy = OnlyCopy::Receiving;
            session.choose(CSV, pipe.clone());
            if grows {
                session.app.show_trace(snapshot(TWO_SPANS), "sh".into(), false);
            }
            read(&mut session, pipe.clone());
            assert_eq!(session.app.tab().has_only_copy(), grows);
        }
    }
}

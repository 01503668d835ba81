//! Computes the derived tracks of an open trace in the background, one after the other. A task is cancelled if its
//! track is removed, stopped, or of rows that are no longer shown.

use std::sync::Arc;

use crate::app::background::{guarded, spawn};
use crate::app::event::{DerivedMade, TabEvent, TabWake, TaskError, TaskId};
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::ingest::{CachePolicy, LoadOptions};
use crate::query::Snapshot;
use crate::query::derived::{DerivedError, DerivedRoom, derive};
use crate::ui::command::DerivedId;
use crate::ui::timeline::derived::{DerivedRow, DerivedState};

/// The computation of a derived track. Dropping it cancels the work.
#[derive(Debug)]
pub(super) struct DeriveTask {
    number: u64,
    track: DerivedId,
    cancel: Cancel,
}

impl Drop for DeriveTask {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// Returns the folder for series: beside the cache, or the temporary folder.
fn room(load: &LoadOptions) -> DerivedRoom {
    let folder = match &load.cache {
        CachePolicy::Folder(folder) if folder.is_dir() => folder.clone(),
        CachePolicy::Folder(_) | CachePolicy::None => std::env::temp_dir(),
    };
    DerivedRoom::new(folder, load.memory.limit_bytes())
}

impl DeriveTask {
    /// Starts to compute a track. Returns the task and its progress.
    pub(super) fn start(
        (of, number): (TaskId, u64),
        row: &DerivedRow,
        snapshot: &Snapshot,
        load: &LoadOptions,
        wake: &TabWake,
    ) -> (Self, Progress) {
        let task = Self { number, track: row.id, cancel: Cancel::default() };
        let (cancel, progress, room) = (task.cancel.clone(), Progress::default(), room(load));
        let (kind, scope, snapshot) = (row.kind.clone(), row.scope.clone(), snapshot.clone());
        let (counted, wake, failed) = (progress.clone(), Arc::clone(wake), Arc::clone(wake));
        let made = move |series| TabEvent::Derived(of, Box::new(DerivedMade { number, series }));
        let work = move || {
            let series = guarded(|| {
                let scope = scope.with_filter(&snapshot, "");
                let series = derive(&snapshot, &scope, &kind, &room, &cancel, &counted);
                series.map(Arc::new).map_err(|error| match error {
                    DerivedError::Cancelled(_) => TaskError::Cancelled,
                    error @ DerivedError::Io(_) => TaskError::Failed(error.to_string()),
                })
            });
            wake(made(series));
        };
        if let Err(error) = spawn("derive", work) {
            failed(made(Err(error)));
        }
        (task, progress)
    }

    /// Returns the track that it computes.
    pub(super) fn track(&self) -> DerivedId {
        self.track
    }

    /// Returns whether `made` is the end of this task, and not of an earlier one.
    pub(super) fn ends_with(&self, made: &DerivedMade) -> bool {
        self.number == made.number
    }
}

/// Returns the state of a track whose computation has ended.
pub(super) fn state_of(made: DerivedMade) -> DerivedState {
    match made.series {
        Ok(series) => DerivedState::Made(series),
        Err(TaskError::Cancelled) => DerivedState::Stopped,
        Err(TaskError::Damaged(message) | TaskError::Failed(message)) => DerivedState::Failed(message),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::app::tests::{NESTED, Session, file};
    use crate::export::ExportFormat;
    use crate::query::derived::DerivedKind;
    use crate::ui::command::{Command, DerivedCommand, TimelineCommand};
    use crate::ui::purpose::Purpose;
    use crate::ui::selected_scope::SelectedScope;

    #[test]
    fn a_derived_track_without_rows_has_no_range_of_values() {
        let folder = tempfile::tempdir().unwrap();
        let mut session = Session::new();
        session.app.open_files(&[file(folder.path(), "a.json", NESTED)]);
        session.finish_tasks();
        let scope = SelectedScope { filter: "name:nothing".into(), ..SelectedScope::default() };
        let add = DerivedCommand::Add(DerivedKind::MaxDuration, scope);
        session.app.act(Command::Timeline(TimelineCommand::Derived(add)));
        session.until("the empty track", |session| session.shows("no rows: nothing passes"));
        assert!(!session.texts.iter().any(|text| text.starts_with("0 to ")), "{:?}", session.texts);
    }

    #[test]
    fn a_derived_track_that_waits_or_is_empty_has_the_true_reason() {
        let folder = tempfile::tempdir().unwrap();
        let zero = r#"[{"ph":"X","name":"zero","pid":1,"tid":1,"ts":1,"dur":0}]"#;
        let mut session = Session::new();
        session.app.open_files(&[file(folder.path(), "a.json", zero)]);
        session.finish_tasks();
        for kind in [DerivedKind::Rate, DerivedKind::Concurrency] {
            session.app.act(Command::Timeline(TimelineCommand::Derived(DerivedCommand::AddOfScope(kind))));
        }
        session.frame(Vec::new());
        assert!(session.shows("waiting for the tracks before it"), "{:?}", session.texts);
        assert!(!session.shows("waiting until the trace is sorted"), "it is sorted");
        session.until("the reason", |session| session.shows("no rows: no span with a length passes"));
    }

    #[test]
    fn an_export_has_the_computed_derived_tracks_unless_they_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let trace = file(folder.path(), "a.json", NESTED);
        let mut session = Session::new();
        session.app.open_files(&[trace]);
        session.finish_tasks();
        let derived = |command| Command::Timeline(TimelineCommand::Derived(command));
        session.app.act(derived(DerivedCommand::AddOfScope(DerivedKind::Concurrency)));
        while session.app.timeline_mut().unwrap().derived_to_export().1 > 0 {
            session.frame(Vec::new());
            while let Ok(event) = session.events.recv_timeout(Duration::from_millis(50)) {
                session.app.handle(event);
            }
        }
        for (name, is_wanted, count) in [("with.json", true, 4), ("without.json", false, 0), ("none.csv", true, 0)] {
            session.app.act(derived(DerivedCommand::Export(is_wanted)));
            let out = folder.path().join(name);
            let format =
                if name.ends_with("csv") { ExportFormat::CSV } else { ExportFormat::ChromeJson { gzip: false } };
            session.choose(Purpose::Export(format), out.clone());
            session.finish_tasks();
            // One span is open, then two, one and two again.
            let written = std::fs::read_to_string(&out).unwrap();
            let values = written.lines().filter(|line| line.contains(r#""ph":"C""#) && line.contains("concurrency"));
            assert!(values.count() >= count && (count > 0 || !written.contains("concurrency")), "{name}: {written}");
        }
    }
}

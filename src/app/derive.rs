//! Computes the derived tracks of an open trace in the background, one after the other. A task is cancelled if its
//! track is removed or stopped, or belongs to rows that are no longer shown. While a trace is followed, tracks are
//! computed again in turn for the part that is shown by then. Pauses leave most of the time to the import.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::app::background::spawn_task;
use crate::app::event::{DerivedResult, TabEvent, TabWake, TaskError, TaskId};
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::ingest::{CachePolicy, LoadOptions};
use crate::query::Snapshot;
use crate::query::derived::{DerivedError, DerivedRoom, derive};
use crate::ui::command::DerivedId;
use crate::ui::timeline::derived::{DerivedRow, DerivedState};
use crate::ui::timeline::state::Timeline;

/// Minimum time between two computations of a growing trace.
const COMPUTE_INTERVAL: Duration = Duration::from_millis(500);

/// Pause after a computation, as a multiple of its duration, so that computations take a fifth of the time.
const PAUSE_FACTOR: u32 = 4;

/// The computations of the derived tracks of a trace.
#[derive(Debug, Default)]
pub(super) struct DerivedTasks {
    running: Option<DeriveTask>,
    started: u64,
    /// The track that was computed last, and when the next track may be computed while the trace grows.
    last: Option<(DerivedId, Instant)>,
}

/// The computation of a derived track. Dropping it cancels the work.
#[derive(Debug)]
struct DeriveTask {
    id: (TaskId, u64),
    track: DerivedId,
    /// The part of the trace that the task reads.
    snapshot: Snapshot,
    began: Instant,
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

impl DerivedTasks {
    /// Computes the next track of a trace that is due. Returns the time until another track may be due.
    pub(super) fn compute_next(
        &mut self,
        (of, timeline): (TaskId, &mut Timeline),
        load: &LoadOptions,
        wake: &TabWake,
    ) -> Option<Duration> {
        let rows = timeline.derived();
        let is_wanted = |task: &DeriveTask| {
            let row = rows.iter().find(|row| row.id == task.track);
            row.is_some_and(|row| matches!(row.state, DerivedState::Computing(_) | DerivedState::Outdated(_)))
        };
        if self.running.as_ref().is_some_and(is_wanted) {
            return None;
        }
        self.running = None;
        let (row, wait) = self.next_due(rows)?;
        if timeline.is_live() && !wait.is_zero() {
            return Some(wait);
        }
        self.started += 1;
        let (task, progress) = DeriveTask::start((of, self.started), row, timeline.snapshot(), load, wake);
        if !matches!(row.state, DerivedState::Outdated(_)) {
            timeline.set_derived(task.track, DerivedState::Computing(progress));
        }
        self.running = Some(task);
        None
    }

    /// Returns the next track to compute, and how long it waits while the trace grows. Tracks that are not shown yet
    /// come first, then the others in turn.
    fn next_due<'r>(&self, rows: &'r [DerivedRow]) -> Option<(&'r DerivedRow, Duration)> {
        // No task runs, so a track that was being computed must be computed again.
        let is_missing = |row: &&DerivedRow| matches!(row.state, DerivedState::Waiting | DerivedState::Computing(_));
        if let Some(row) = rows.iter().find(is_missing) {
            return Some((row, Duration::ZERO));
        }
        let (last, due) = self.last.unzip();
        let after = rows.iter().position(|row| Some(row.id) == last).map_or(0, |at| at + 1);
        let mut in_turn = rows[after..].iter().chain(&rows[..after]);
        let row = in_turn.find(|row| matches!(row.state, DerivedState::Outdated(_)))?;
        Some((row, due.map_or(Duration::ZERO, |due| due.saturating_duration_since(Instant::now()))))
    }

    /// Shows a series that is done, unless its computation was cancelled.
    pub(super) fn show(&mut self, made: DerivedResult, timeline: &mut Timeline) {
        let Some(task) = self.running.take_if(|task| task.id == made.id) else { return };
        let pause = (task.began.elapsed() * PAUSE_FACTOR).max(COMPUTE_INTERVAL);
        self.last = Some((task.track, Instant::now() + pause));
        let has_grown = !task.snapshot.has_store_of(timeline.snapshot());
        timeline.set_derived(task.track, state_of(made, has_grown));
    }

    /// Cancels the computation that runs.
    pub(super) fn stop(&mut self) {
        self.running = None;
    }
}

impl DeriveTask {
    /// Starts to compute a track. Returns the task and its progress.
    fn start(
        id: (TaskId, u64),
        row: &DerivedRow,
        snapshot: &Snapshot,
        load: &LoadOptions,
        wake: &TabWake,
    ) -> (Self, Progress) {
        let (snapshot, cancel) = (snapshot.clone(), Cancel::default());
        let task = Self { id, track: row.id, snapshot: snapshot.clone(), began: Instant::now(), cancel };
        let (cancel, progress, room) = (task.cancel.clone(), Progress::default(), room(load));
        let (kind, scope) = (row.kind.clone(), row.scope.clone());
        let counted = progress.clone();
        let to_event = move |series| TabEvent::Derived(Box::new(DerivedResult { id, series }));
        spawn_task("derive", wake, to_event, move || {
            let scope = scope.with_filter(&snapshot, "");
            let series = derive(&snapshot, &scope, &kind, &room, &cancel, &counted);
            series.map(Arc::new).map_err(|error| match error {
                DerivedError::Cancelled(_) => TaskError::Cancelled,
                error @ DerivedError::Io(_) => TaskError::Failed(error.to_string()),
            })
        });
        (task, progress)
    }
}

/// Returns the state of a track whose computation has ended; the trace may have grown since it began.
fn state_of(made: DerivedResult, has_grown: bool) -> DerivedState {
    match made.series {
        Ok(series) if has_grown => DerivedState::Outdated(series),
        Ok(series) => DerivedState::Computed(series),
        Err(TaskError::Cancelled) => DerivedState::Stopped,
        Err(TaskError::Damaged(message) | TaskError::Failed(message)) => DerivedState::Failed(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::tests::{NESTED, Session, file, snapshot};
    use crate::export::ExportFormat;
    use crate::query::derived::DerivedKind;
    use crate::query::scope::Scope;
    use crate::ui::command::{Command, DerivedCommand, TimelineCommand};
    use crate::ui::purpose::Purpose;
    use crate::ui::selected_scope::SelectedScope;

    #[test]
    fn new_tracks_are_next_and_outdated_ones_take_turns_after_a_pause() {
        let (cancel, progress) = (Cancel::default(), Progress::default());
        let room = DerivedRoom::new(std::env::temp_dir(), 1 << 20);
        let made = derive(&snapshot(NESTED), &Scope::default(), &DerivedKind::Count, &room, &cancel, &progress);
        let series = Arc::new(made.unwrap());
        let row = |id| DerivedRow {
            id: DerivedId(id),
            name: String::new(),
            kind: DerivedKind::Count,
            scope: SelectedScope::default(),
            is_log: false,
            state: DerivedState::Outdated(Arc::clone(&series)),
        };
        let mut rows = [row(1), row(2), row(3)];
        let next = |tasks: &DerivedTasks, rows: &[DerivedRow]| {
            tasks.next_due(rows).map(|(row, wait)| (row.id.0, wait.is_zero()))
        };
        let mut tasks = DerivedTasks::default();
        assert_eq!(next(&tasks, &rows), Some((1, true)));
        tasks.last = Some((DerivedId(1), Instant::now() + Duration::from_mins(1)));
        assert_eq!(next(&tasks, &rows), Some((2, false)), "after a pause");
        tasks.last = Some((DerivedId(3), Instant::now()));
        assert_eq!(next(&tasks, &rows), Some((1, true)));
        tasks.last = Some((DerivedId(1), Instant::now() + Duration::from_mins(1)));
        rows[2].state = DerivedState::Waiting;
        assert_eq!(next(&tasks, &rows), Some((3, true)), "without a pause");
        rows[2].state = DerivedState::Stopped;
        rows[1].state = DerivedState::Computed(Arc::clone(&series));
        assert_eq!(next(&tasks, &rows), Some((1, false)));
        assert_eq!(next(&tasks, &rows[1..]), None);
    }

    #[test]
    fn a_derived_track_without_rows_has_no_range_of_values() {
        let folder = tempfile::tempdir().unwrap();
        let mut session = Session::new();
        session.app.open_files(&[file(folder.path(), "a.json", NESTED)]);
        session.finish_tasks();
        let scope = SelectedScope { filter: "name:nothing".into(), ..SelectedScope::default() };
        let add = DerivedCommand::Add(DerivedKind::MaxDuration, scope);
        session.app.act(Command::Timeline(TimelineCommand::Derived(add)));
        session.until("the empty track", |session| session.shows("no rows: nothing matches"));
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
        session.until("the reason", |session| session.shows("no rows: no span with a duration matches"));
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

//! Runs the queries of the panels in the background: one of each kind at a time, the latest. An outdated query is
//! cancelled.

mod answer;
mod code;
mod row_values;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::app::background::spawn_task;
use crate::app::event::{TabEvent, TabWake, TaskError, TaskId};
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::progress::Progress;
use crate::frame::filtered::{FilterView, Filtered};
use crate::query::Snapshot;
use crate::query::matcher::Matcher;
use crate::query::search::Hits;
use crate::query::totals::GrowingTotals;
use crate::ui::panel::Panel;
use crate::ui::questions::{Answer, Question, QuestionKind};
use answer::QueryContext;

/// The running queries, at most one of a kind.
#[derive(Debug, Default)]
pub(super) struct Analysis {
    running: BTreeMap<QuestionKind, RunningQuery>,
}

#[derive(Debug)]
struct RunningQuery {
    id: TaskId,
    /// The snapshot that the query reads.
    snapshot: Snapshot,
    progress: Progress,
    cancel: Cancel,
    /// Shared totals, which `Totals` writes and `PartialTotals` reads.
    growing: Option<Arc<GrowingTotals>>,
}

impl Drop for RunningQuery {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl Analysis {
    /// Starts a query, and cancels the queries that it makes outdated.
    pub(super) fn ask(
        &mut self,
        id: TaskId,
        question: Question,
        snapshot: &Snapshot,
        hits: Option<&Hits>,
        wake: &TabWake,
    ) {
        let kind = question.kind();
        kind.replaces().iter().for_each(|other| self.stop(*other));
        let growing = if let Question::Totals(_, by) = &question {
            Some(Arc::new(GrowingTotals::grouped(by.clone())))
        } else if kind == QuestionKind::PartialTotals {
            // Without a running query, the totals are complete.
            let Some(totals) = self.running.get(&QuestionKind::Totals) else { return };
            totals.growing.clone()
        } else {
            None
        };
        let (read, hits, totals) = (snapshot.clone(), hits.cloned(), growing.clone());
        self.start((id, kind), snapshot, growing, wake, move |cancel, progress| {
            let (hits, growing) = (hits.as_ref(), totals.as_deref());
            QueryContext { snapshot: &read, hits, growing, cancel, progress }.answer(question)
        });
    }

    /// Queries the filter's matches in view, unless this query is running.
    pub(super) fn ask_pixels(
        &mut self,
        id: TaskId,
        matcher: Arc<Matcher>,
        in_view: FilterView,
        snapshot: &Snapshot,
        wake: &TabWake,
    ) {
        if self.running.contains_key(&QuestionKind::Pixels) {
            return;
        }
        let read = snapshot.clone();
        self.start((id, QuestionKind::Pixels), snapshot, None, wake, move |cancel, _| {
            Ok(Some(Answer::Pixels(Arc::new(Filtered::find(matcher, &read, in_view, cancel)?))))
        });
    }

    fn start(
        &mut self,
        (id, kind): (TaskId, QuestionKind),
        snapshot: &Snapshot,
        growing: Option<Arc<GrowingTotals>>,
        wake: &TabWake,
        work: impl FnOnce(&Cancel, &Progress) -> Result<Option<Answer>, Cancelled> + Send + 'static,
    ) {
        let (progress, cancel) = (Progress::default(), Cancel::default());
        let running = RunningQuery { id, snapshot: snapshot.clone(), progress, cancel, growing };
        let (cancel, progress) = (running.cancel.clone(), running.progress.clone());
        // Dropping the previous query cancels it.
        self.running.insert(kind, running);
        let to_event = move |answer: Result<_, TaskError>| TabEvent::Answered(id, kind, answer.map(Box::new));
        spawn_task("query", wake, to_event, move || work(&cancel, &progress).map_err(|_| TaskError::Cancelled));
    }

    /// Removes a running query if it has this id, and returns the snapshot that it has read.
    pub(super) fn take_awaited(&mut self, id: TaskId, kind: QuestionKind) -> Option<Snapshot> {
        let snapshot = self.running.get(&kind).filter(|running| running.id == id)?.snapshot.clone();
        self.running.remove(&kind);
        Some(snapshot)
    }

    /// Moves the running queries of a panel into another set.
    #[must_use]
    pub(super) fn take_queries_of(&mut self, panel: Panel) -> Self {
        let is_of = |kind: &QuestionKind| kind.panel() == Some(panel);
        let (taken, left) = std::mem::take(&mut self.running).into_iter().partition(|(kind, _)| is_of(kind));
        self.running = left;
        Self { running: taken }
    }

    /// Returns the progress of a running query of a kind.
    #[must_use]
    pub(super) fn progress(&self, kind: QuestionKind) -> Option<&Progress> {
        self.running.get(&kind).map(|running| &running.progress)
    }

    /// Returns whether any query is running, so that the window must poll.
    #[must_use]
    pub(super) fn is_busy(&self) -> bool {
        !self.running.is_empty()
    }

    /// Cancels the queries of a kind.
    pub(super) fn stop(&mut self, kind: QuestionKind) {
        self.running.remove(&kind);
    }
}

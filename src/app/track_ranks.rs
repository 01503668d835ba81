//! Counts the tracks of an open trace for their order, in the background. Another order cancels the count. While a
//! trace grows, the last counts stay, and are renewed at most once a second.

use std::time::{Duration, Instant};

use super::tasks::{self, CancelOnDrop};
use crate::app::event::{TabWake, TaskError};
use crate::base::progress::Progress;
use crate::scene::arrange::TrackOrder;
use crate::ui::timeline::filter_field::order_title;
use crate::ui::timeline::state::Timeline;
use crate::ui::timeline::track_ranks::{RankSource, TrackRanks};

/// Minimum time between two counts of a growing trace.
const COUNTED_EVERY: Duration = Duration::from_secs(1);

/// Time after which a count shows its progress.
const SHOWN_AFTER: Duration = Duration::from_millis(100);

/// The running count of the tracks, or the last one.
#[derive(Default)]
pub(super) struct RankTask {
    running_count: Option<RunningCount>,
}

struct RunningCount {
    source: RankSource,
    progress: Progress,
    at: Instant,
    is_running: bool,
    /// Why the count has failed. It is not repeated, because it would fail again.
    failure: Option<String>,
    _task: CancelOnDrop,
}

impl RankTask {
    /// Starts the count that the order of the timeline needs, unless it is known or runs. Drops counts that no longer
    /// apply. `is_searching` is whether the hits of an open search may still come.
    pub(super) fn count_if_needed(
        &mut self,
        timeline: &mut Timeline,
        (grows, is_searching): (bool, bool),
        wake: &TabWake,
    ) {
        let Some(source) = timeline.rank_source() else {
            self.running_count = None;
            let is_stale = timeline.ranks().is_some_and(|ranks| ranks.source.order() == TrackOrder::Hits);
            if is_stale && !grows && !is_searching {
                timeline.set_ranks(None);
            }
            return;
        };
        if timeline.ranks().is_some_and(|ranks| ranks.source.is_same(&source)) {
            self.running_count = None;
            return;
        }
        let waits = |asked: &RunningCount| {
            let is_same = asked.source.is_same(&source);
            let is_recent = grows && asked.source.order() == source.order() && asked.at.elapsed() < COUNTED_EVERY;
            is_same || is_recent || (grows && asked.is_running && asked.source.order() == source.order())
        };
        if !self.running_count.as_ref().is_some_and(waits) {
            let progress = Progress::default();
            let task = tasks::rank_tracks(source.clone(), progress.clone(), wake);
            let (at, is_running, failure) = (Instant::now(), true, None);
            self.running_count = Some(RunningCount { source, progress, at, is_running, failure, _task: task });
        }
    }

    /// Applies counts that are awaited. After a failure, the tracks stay as they are.
    pub(super) fn apply(&mut self, source: &RankSource, ranks: Result<TrackRanks, TaskError>, timeline: &mut Timeline) {
        let awaited = self.running_count.as_mut().filter(|asked| asked.source.is_same(source));
        let Some(asked) = awaited else { return };
        asked.is_running = false;
        match ranks {
            Ok(ranks) => timeline.set_ranks(Some(ranks)),
            Err(TaskError::Failed(reason) | TaskError::Damaged(reason)) => {
                asked.failure = Some(reason);
            }
            Err(TaskError::Cancelled) => {}
        }
    }

    /// Returns the progress of a count that takes a while, or why it has failed.
    pub(super) fn note(&self) -> Option<String> {
        let asked = self.running_count.as_ref()?;
        let order = order_title(asked.source.order()).to_lowercase();
        if let Some(reason) = &asked.failure {
            return Some(format!("The tracks could not be ordered {order}: {reason}"));
        }
        let percent = asked.progress.view().fraction().unwrap_or(0.0) * 100.0;
        let is_slow = asked.is_running && asked.at.elapsed() >= SHOWN_AFTER;
        is_slow.then(|| format!("Ordering tracks {order}: {percent:.0} %"))
    }

    /// Returns whether a count runs, whose progress changes.
    pub(super) fn is_running(&self) -> bool {
        self.running_count.as_ref().is_some_and(|asked| asked.is_running)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::app::tests::{TWO_SPANS, snapshot};
    use crate::frame::RectBudget;
    use crate::scene::color::Shade;
    use crate::ui::command::{RowCommand, TimelineCommand};
    use crate::ui::settings::Navigation;
    use crate::ui::theme::Theme;

    #[test]
    fn a_count_that_fails_ends_and_says_why_and_is_not_repeated() {
        let theme = Theme::new(Shade::Dark);
        let mut timeline = Timeline::new(snapshot(TWO_SPANS), RectBudget::SOFTWARE, &theme, Navigation::default());
        timeline.act(TimelineCommand::Rows(RowCommand::Order(TrackOrder::Busy)));
        let source = timeline.rank_source().expect("a source");
        let wake: TabWake = Arc::new(|_| ());
        let mut task = RankTask::default();
        task.count_if_needed(&mut timeline, (false, false), &wake);
        assert!(task.is_running());
        let failed = Err(TaskError::Failed("no thread".to_owned()));
        task.apply(&source, failed, &mut timeline);
        let note = task.note();
        assert!(note.as_ref().is_some_and(|note| note.ends_with(": no thread")), "{note:?}");
        task.count_if_needed(&mut timeline, (false, false), &wake);
        assert!(!task.is_running());
    }
}

//! Counts the tracks of an open trace for their order, in the background. Another order cancels the count. While a
//! trace grows, the last counts stay, and are renewed at most once a second.

use std::time::{Duration, Instant};

use super::tasks::{self, CancelOnDrop};
use crate::app::event::TabWake;
use crate::base::progress::Progress;
use crate::scene::arrange::TrackOrder;
use crate::ui::timeline::filter_field::order_title;
use crate::ui::timeline::state::Timeline;
use crate::ui::timeline::track_ranks::{RankSource, TrackRanks};
use crate::ui::timeline::tracks::ArrangeJob;

/// Minimum time between two counts of a growing trace.
const COUNTED_EVERY: Duration = Duration::from_secs(1);

/// Time after which a count shows its progress.
const SHOWN_AFTER: Duration = Duration::from_millis(100);

/// The count of the tracks that runs, or the last one.
#[derive(Default)]
pub(super) struct RankTask {
    asked: Option<RunningCount>,
}

struct RunningCount {
    source: RankSource,
    progress: Progress,
    at: Instant,
    is_running: bool,
    _task: CancelOnDrop,
}

impl RankTask {
    /// Starts the count that the order of the timeline needs, unless it is known or runs. Returns a layout if counts no
    /// longer apply. `is_searching` is whether the hits of an open search may still come.
    pub(super) fn count_if_needed(
        &mut self,
        timeline: &mut Timeline,
        (grows, is_searching): (bool, bool),
        wake: &TabWake,
    ) -> Option<ArrangeJob> {
        let Some(source) = timeline.rank_source() else {
            self.asked = None;
            let is_stale = timeline.ranks().is_some_and(|ranks| ranks.source.order() == TrackOrder::Hits);
            return if is_stale && !grows && !is_searching { timeline.set_ranks(None) } else { None };
        };
        if timeline.ranks().is_some_and(|ranks| ranks.source.is_same(&source)) {
            self.asked = None;
            return None;
        }
        let waits = |asked: &RunningCount| {
            let is_same = asked.source.is_same(&source);
            let is_recent = grows && asked.source.order() == source.order() && asked.at.elapsed() < COUNTED_EVERY;
            is_same || is_recent || (grows && asked.is_running && asked.source.order() == source.order())
        };
        if !self.asked.as_ref().is_some_and(waits) {
            let progress = Progress::default();
            let task = tasks::rank_tracks(source.clone(), progress.clone(), wake);
            self.asked = Some(RunningCount { source, progress, at: Instant::now(), is_running: true, _task: task });
        }
        None
    }

    /// Applies counts that are awaited. Returns the layout to compute in the background.
    pub(super) fn apply(&mut self, ranks: TrackRanks, timeline: &mut Timeline) -> Option<ArrangeJob> {
        let asked = self.asked.as_mut().filter(|asked| asked.source.is_same(&ranks.source))?;
        asked.is_running = false;
        timeline.set_ranks(Some(ranks))
    }

    /// Returns the progress of a count that takes a while.
    pub(super) fn note(&self) -> Option<String> {
        let asked = self.asked.as_ref().filter(|asked| asked.is_running && asked.at.elapsed() >= SHOWN_AFTER)?;
        let percent = asked.progress.view().fraction().unwrap_or(0.0) * 100.0;
        let order = order_title(asked.source.order()).to_lowercase();
        Some(format!("Ordering tracks {order}: {percent:.0} %"))
    }

    /// Returns whether a count runs, whose progress changes.
    pub(super) fn is_running(&self) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked.is_running)
    }
}

//! The times at which the panels query the snapshots of a trace that grows.

use std::time::{Duration, Instant};

/// Minimum time between two updates of the panels while a trace grows.
const ANSWERS_EVERY: Duration = Duration::from_secs(1);

/// When the panels last queried a snapshot, and whether a later one is shown.
#[derive(Debug, Default)]
pub(super) struct AnswerClock {
    last: Option<Instant>,
    is_behind: bool,
}

impl AnswerClock {
    /// Returns the time until the panels may query again.
    pub(super) fn wait(&self) -> Duration {
        self.last.map_or(Duration::ZERO, |last| ANSWERS_EVERY.saturating_sub(last.elapsed()))
    }

    /// Returns whether the shown snapshot is later than the snapshot that the panels queried.
    pub(super) fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Records that the panels query the shown snapshot.
    pub(super) fn note_query(&mut self) {
        (self.last, self.is_behind) = (Some(Instant::now()), false);
    }

    /// Records that a snapshot is shown that the panels do not query yet.
    pub(super) fn note_later_snapshot(&mut self) {
        self.is_behind = true;
    }
}

//! The progress of long work: counters that the work writes and the interface reads. Neither side blocks.

use super::density::Density;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// The stage of an import, an export or a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Stage {
    /// The source is being opened and its format detected.
    Opening,
    /// Input from a pipe is copied to a file.
    Receiving,
    /// Bytes are parsed into chunks of events.
    Parsing,
    /// Chunks are merged, nested and written to the store.
    Sorting,
    /// Sorted rows that are included in the trace are repacked.
    Unpacking,
    /// The store is synced and renamed.
    Publishing,
    /// Totals and call paths of the sorted rows are summed for later queries.
    Indexing,
    /// A trace is being exported.
    Exporting,
    /// Rows are tested by a filter.
    Searching,
    /// Hits are listed whose number is known.
    Listing,
    /// Rows are counted and summed.
    Counting,
    /// Functions of sampled addresses are looked up in symbol files.
    Naming,
    Done,
}

impl Stage {
    const ALL: [Self; 13] = [
        Self::Opening,
        Self::Receiving,
        Self::Parsing,
        Self::Sorting,
        Self::Unpacking,
        Self::Publishing,
        Self::Indexing,
        Self::Exporting,
        Self::Searching,
        Self::Listing,
        Self::Counting,
        Self::Naming,
        Self::Done,
    ];

    /// Returns one word for a progress bar.
    #[must_use]
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Opening => "Opening",
            Self::Receiving => "Receiving",
            Self::Parsing => "Parsing",
            Self::Sorting => "Sorting",
            Self::Unpacking => "Unpacking",
            Self::Publishing => "Publishing",
            Self::Indexing => "Indexing",
            Self::Exporting => "Exporting",
            Self::Searching => "Searching",
            Self::Listing => "Listing",
            Self::Counting => "Counting",
            Self::Naming => "Naming",
            Self::Done => "Done",
        }
    }
}

/// Shared counters of one task. Clones refer to the same counters.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    counters: Arc<AtomicProgress>,
    /// Whether it counts a part of a stage that another clone has started.
    is_part: bool,
}

#[derive(Debug, Default)]
struct AtomicProgress {
    stage: AtomicU8,
    done: AtomicU64,
    total: AtomicU64,
    bytes: AtomicU64,
    events: AtomicU64,
    density: Density,
    started: OnceLock<Instant>,
    stage_started_ms: AtomicU64,
}

/// A copy of the counters of a [`Progress`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ProgressView {
    pub(crate) stage: Stage,
    /// Units (bytes or events) done in this stage.
    pub(crate) done: u64,
    /// Units in this stage; 0 if unknown.
    pub(crate) total: u64,
    /// Bytes of the source read in all stages.
    pub(crate) bytes: u64,
    /// Events processed in this stage.
    pub(crate) events: u64,
    /// Time since the task started.
    pub(crate) elapsed: Duration,
    /// Time since this stage started.
    pub(crate) stage_elapsed: Duration,
}

impl Progress {
    /// Starts a stage of `total` units (0 if unknown), and resets units and events.
    pub(crate) fn begin(&self, stage: Stage, total: u64) {
        if self.is_part {
            return;
        }
        let started = *self.counters.started.get_or_init(Instant::now);
        let since_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.counters.stage_started_ms.store(since_ms, Ordering::Relaxed);
        self.counters.done.store(0, Ordering::Relaxed);
        self.counters.events.store(0, Ordering::Relaxed);
        self.counters.total.store(total, Ordering::Relaxed);
        self.counters.stage.store(stage as u8, Ordering::Release);
    }

    /// Returns a clone for a part of a stage, such as one file of several: it counts, but starts no stage.
    #[must_use]
    pub(crate) fn part(&self) -> Self {
        Self { counters: Arc::clone(&self.counters), is_part: true }
    }

    /// Adds units done to the stage.
    pub(crate) fn advance(&self, units: u64) {
        self.counters.done.fetch_add(units, Ordering::Relaxed);
    }

    /// Raises the units done of the stage to `units`.
    pub(crate) fn reach(&self, units: u64) {
        self.counters.done.fetch_max(units, Ordering::Relaxed);
    }

    /// Adds bytes read from the source.
    pub(crate) fn add_bytes(&self, bytes: u64) {
        self.counters.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn add_events(&self, events: u64) {
        self.counters.events.fetch_add(events, Ordering::Relaxed);
    }

    /// Returns the distribution of processed events over time.
    #[must_use]
    pub(crate) fn density(&self) -> &Density {
        &self.counters.density
    }

    /// Returns a copy of the counters.
    #[must_use]
    pub(crate) fn view(&self) -> ProgressView {
        let elapsed = self.counters.started.get().map(Instant::elapsed).unwrap_or_default();
        let stage_started = Duration::from_millis(self.counters.stage_started_ms.load(Ordering::Relaxed));
        let stage = usize::from(self.counters.stage.load(Ordering::Acquire));
        ProgressView {
            stage: Stage::ALL.get(stage).copied().unwrap_or(Stage::Done),
            done: self.counters.done.load(Ordering::Relaxed),
            total: self.counters.total.load(Ordering::Relaxed),
            bytes: self.counters.bytes.load(Ordering::Relaxed),
            events: self.counters.events.load(Ordering::Relaxed),
            elapsed,
            stage_elapsed: elapsed.saturating_sub(stage_started),
        }
    }
}

impl ProgressView {
    /// Returns the fraction of the stage that is done, if its size is known.
    #[must_use]
    pub(crate) fn fraction(&self) -> Option<f32> {
        (self.total > 0).then(|| (self.done as f32 / self.total as f32).min(1.0))
    }

    /// Returns events per second in this stage.
    #[must_use]
    pub(crate) fn events_per_second(&self) -> f64 {
        let seconds = self.stage_elapsed.as_secs_f64();
        if seconds > 0.0 { self.events as f64 / seconds } else { 0.0 }
    }

    /// Estimates the remaining time of this stage from its mean rate, once enough is done.
    #[must_use]
    pub(crate) fn time_left(&self) -> Option<Duration> {
        let fraction = f64::from(self.fraction()?);
        (fraction > 0.01).then(|| self.stage_elapsed.mul_f64((1.0 - fraction) / fraction))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_stage_starts_from_zero_and_keeps_the_bytes() {
        let progress = Progress::default();
        progress.begin(Stage::Parsing, 100);
        progress.advance(40);
        progress.add_bytes(40);
        progress.add_events(7);
        assert_eq!(progress.view().fraction(), Some(0.4));
        progress.begin(Stage::Sorting, 0);
        let view = progress.view();
        assert_eq!((view.stage, view.done, view.events, view.bytes), (Stage::Sorting, 0, 0, 40));
        assert_eq!(view.fraction(), None);
        assert_eq!(view.time_left(), None);
    }
}

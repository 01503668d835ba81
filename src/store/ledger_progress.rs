//! The progress of building all ledgers of a store, as one stage: each ledger has a fixed share of it. A ledger that is
//! not built is skipped.

use crate::base::progress::{Progress, Stage};

/// A part of building the ledgers, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LedgerPart {
    Names,
    Samples,
    /// Sums by call path of all tracks.
    Paths,
    /// Pruned sums by call path of single tracks.
    TrackPaths,
}

/// Units of the stage. Each part has its share of the processor time for a trace of 10^7 generated spans with pruned
/// paths.
const UNITS: u64 = 1000;

impl LedgerPart {
    /// Returns the units done when the part starts and when it ends.
    const fn units(self) -> (u64, u64) {
        match self {
            Self::Names => (0, 400),
            Self::Samples => (400, 450),
            Self::Paths => (450, 800),
            Self::TrackPaths => (800, UNITS),
        }
    }
}

/// The progress of one part.
pub(super) struct LedgerProgress<'a> {
    progress: &'a Progress,
    first: u64,
    end: u64,
    done: u64,
    total: u64,
}

impl<'a> LedgerProgress<'a> {
    /// Starts a part of `total` steps.
    pub(super) fn begin(progress: &'a Progress, part: LedgerPart, total: usize) -> Self {
        if progress.view().stage != Stage::Indexing {
            progress.begin(Stage::Indexing, UNITS);
        }
        let (first, end) = part.units();
        let part = Self { progress, first, end, done: 0, total: total.max(1) as u64 };
        part.progress.reach(first);
        part
    }

    /// Adds completed steps. Steps beyond the total do not count.
    pub(super) fn advance(&mut self, steps: usize) {
        self.done = (self.done + steps as u64).min(self.total);
        let units = u128::from(self.end - self.first) * u128::from(self.done) / u128::from(self.total);
        // The quotient is at most the units of the part.
        self.progress.reach(self.first + units as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_on_one_bar_that_never_goes_back() {
        let progress = Progress::default();
        let mut seen = Vec::new();
        let mut run = |part, total: usize, step: usize| {
            let mut part = LedgerProgress::begin(&progress, part, total);
            seen.push(progress.view().done);
            for _ in (0..total).step_by(step.max(1)) {
                part.advance(step);
                seen.push(progress.view().done);
            }
        };
        run(LedgerPart::Names, 3, 1);
        // An attempt that is given up, and the attempt that replaces it.
        run(LedgerPart::Paths, 7, 7);
        run(LedgerPart::Paths, 7, 2);
        run(LedgerPart::TrackPaths, 0, 1);
        run(LedgerPart::TrackPaths, usize::MAX, usize::MAX);
        assert_eq!(seen, [0, 133, 266, 400, 450, 800, 800, 800, 800, 800, 800, 800, 800, 1000]);
        assert_eq!((progress.view().stage, progress.view().fraction()), (Stage::Indexing, Some(1.0)));
    }
}

//! The parts of a load's budget: one table of which part takes how much, and in which phases.

use super::budget::Budget;

/// A phase of a load. Phases follow each other; a load has one of the `Read` phases or [`LoadPhase::Import`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoadPhase {
    ReadChrome,
    ReadPerfetto,
    ReadOtlp,
    /// Profiles that are one JSON document.
    ReadDocument,
    /// Recordings of `perf`, whose stacks may have to be unwound.
    ReadPerf,
    Sort,
    /// A store that came with the trace is packed again.
    Import,
    /// The rows of the store are added up into its ledger.
    AddUp,
}

/// A holder of memory with a part of the budget to itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BudgetShare {
    /// Parsed chunks in memory. Open runs of the merge count against the same half.
    ParsedChunks,
    /// Open runs of the merge. More are spilled.
    OpenRuns,
    /// Rows that wait to be packed and written.
    StoreRows,
    /// Texts of names. Texts are looked up all the time, so chunks do not fill this part.
    Names,
    /// Pieces of Chrome JSON in flight.
    ChromePieces,
    /// The text of Chrome's table of stack frames. The table that is made of it takes about as much again.
    ChromeFrameText,
    /// Blocks of Perfetto packets in flight.
    PerfettoBlocks,
    /// OTLP spans that wait for a layout.
    OtlpSpans,
    /// Tables of a JSON document.
    DocumentTables,
    /// Tables by which stacks are unwound.
    UnwindTables,
    /// Sums by name that grow while the ledger is built.
    Ledger,
}

impl BudgetShare {
    #[cfg(test)]
    const ALL: [Self; 11] = [
        Self::ParsedChunks,
        Self::OpenRuns,
        Self::StoreRows,
        Self::Names,
        Self::ChromePieces,
        Self::ChromeFrameText,
        Self::PerfettoBlocks,
        Self::OtlpSpans,
        Self::DocumentTables,
        Self::UnwindTables,
        Self::Ledger,
    ];

    /// The divisor of the budget, and the phases in which the part may be full.
    const fn row(self) -> (u64, &'static [LoadPhase]) {
        use LoadPhase::{AddUp, Import, ReadChrome, ReadDocument, ReadOtlp, ReadPerf, ReadPerfetto, Sort};
        match self {
            Self::ParsedChunks => (2, &[ReadChrome, ReadPerfetto, ReadOtlp, ReadDocument, ReadPerf, Sort]),
            Self::OpenRuns => (2, &[Sort]),
            Self::StoreRows => (4, &[Sort, Import]),
            Self::Names => (16, &[ReadChrome, ReadPerfetto, ReadOtlp, ReadDocument, ReadPerf, Sort, Import, AddUp]),
            Self::ChromePieces | Self::ChromeFrameText => (8, &[ReadChrome]),
            Self::PerfettoBlocks => (8, &[ReadPerfetto]),
            Self::OtlpSpans => (4, &[ReadOtlp]),
            Self::DocumentTables => (4, &[ReadDocument]),
            Self::UnwindTables => (4, &[ReadPerf]),
            Self::Ledger => (4, &[AddUp]),
        }
    }

    /// The bytes of this part of `budget` now: the limit changes when loads come and go.
    #[must_use]
    pub(crate) fn bytes(self, budget: &Budget) -> u64 {
        budget.limit_bytes() / self.row().0
    }

    /// The part of one, for [`Budget::try_charge`].
    #[must_use]
    pub(crate) fn fraction(self) -> f64 {
        1.0 / self.row().0 as f64
    }

    /// Whether the part bounds the count of all charged bytes, so that several such parts are one.
    #[cfg(test)]
    fn bounds_charges(self) -> bool {
        matches!(self, Self::ParsedChunks | Self::OpenRuns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_the_budget_that_coexist_add_up_to_one_or_less() {
        use LoadPhase::{AddUp, Import, ReadChrome, ReadDocument, ReadOtlp, ReadPerf, ReadPerfetto, Sort};
        for phase in [ReadChrome, ReadPerfetto, ReadOtlp, ReadDocument, ReadPerf, Sort, Import, AddUp] {
            let coexist = || BudgetShare::ALL.into_iter().filter(|share| share.row().1.contains(&phase));
            let charged =
                coexist().filter(|share| share.bounds_charges()).map(BudgetShare::fraction).fold(0.0, f64::max);
            let with_copies = |share: BudgetShare| match share {
                BudgetShare::ChromeFrameText => 2.0 * share.fraction(),
                _ => share.fraction(),
            };
            let own: f64 = coexist().filter(|share| !share.bounds_charges()).map(with_copies).sum();
            assert!(charged + own <= 1.0, "{phase:?}: {charged} charged and {own} beside it");
        }
    }

    #[test]
    fn a_part_is_that_of_the_limit() {
        let budget = Budget::new(64 << 20);
        assert_eq!(BudgetShare::Names.bytes(&budget), 4 << 20);
        assert_eq!(BudgetShare::StoreRows.bytes(&budget), 16 << 20);
        assert_eq!((BudgetShare::OpenRuns.fraction() * 8.0) as u64, 4);
    }
}

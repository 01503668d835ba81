//! The budget shares of an import: the share and the phases of each holder.

use super::budget::Budget;

/// A phase of an import. Phases follow each other; an import has one of the `Read` phases or [`LoadPhase::Import`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoadPhase {
    ReadChrome,
    ReadPerfetto,
    ReadOtlp,
    /// Profiles that are a single JSON document.
    ReadDocument,
    /// `perf` recordings, whose stacks may have to be unwound.
    ReadPerf,
    Sort,
    /// Repacks a store that is included in the trace.
    Import,
    /// Builds the ledgers from the rows of the store.
    AddUp,
}

/// A holder of memory with its own share of the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BudgetShare {
    /// Parsed chunks in memory. Open runs of the merge count against the same half.
    ParsedChunks,
    /// Open runs of the merge; more are spilled.
    OpenRuns,
    /// Chunks that are loaded before the merge takes them. One is always loaded, whatever its size.
    ChunksAhead,
    /// Events with the same time that wait for each other, arguments of open spans, and charts of samples. More are
    /// spilled.
    WaitingEvents,
    /// Rows to be packed and written.
    StoreRows,
    /// Texts of names. Texts are looked up all the time, so they have a share that chunks cannot fill.
    Names,
    /// Pieces of Chrome JSON in flight.
    ChromePieces,
    /// The text of Chrome's table of stack frames; the table built from it takes about as much again.
    ChromeFrameText,
    /// Parts of V8 profiles in a trace that wait for earlier parts.
    V8Profiles,
    /// Blocks of Perfetto packets in flight.
    PerfettoBlocks,
    PerfettoTexts,
    /// Kernel events of Perfetto that wait for older ones of other CPUs.
    PerfettoKernel,
    /// OTLP spans waiting for a layout.
    OtlpSpans,
    /// Tables of a JSON document.
    DocumentTables,
    UnwindTables,
    /// A dump of JIT-compiled code while it is read.
    JitDump,
    /// Records of `perf` that wait for older ones of other CPUs.
    PerfRecords,
    /// Sums by name while the ledger is built.
    Ledger,
}

impl BudgetShare {
    #[cfg(test)]
    const ALL: [Self; 18] = [
        Self::ParsedChunks,
        Self::OpenRuns,
        Self::ChunksAhead,
        Self::WaitingEvents,
        Self::StoreRows,
        Self::Names,
        Self::ChromePieces,
        Self::ChromeFrameText,
        Self::V8Profiles,
        Self::PerfettoBlocks,
        Self::PerfettoTexts,
        Self::PerfettoKernel,
        Self::OtlpSpans,
        Self::DocumentTables,
        Self::UnwindTables,
        Self::JitDump,
        Self::PerfRecords,
        Self::Ledger,
    ];

    /// Returns the divisor of the budget, and the phases in which the share is used.
    const fn row(self) -> (u64, &'static [LoadPhase]) {
        use LoadPhase::{AddUp, Import, ReadChrome, ReadDocument, ReadOtlp, ReadPerf, ReadPerfetto, Sort};
        match self {
            Self::ParsedChunks => (2, &[ReadChrome, ReadPerfetto, ReadOtlp, ReadDocument, ReadPerf, Sort]),
            Self::OpenRuns => (2, &[Sort]),
            Self::ChunksAhead => (8, &[Sort]),
            Self::WaitingEvents => (16, &[Sort]),
            Self::StoreRows => (4, &[Sort, Import]),
            Self::Names => (16, &[ReadChrome, ReadPerfetto, ReadOtlp, ReadDocument, ReadPerf, Sort, Import, AddUp]),
            Self::ChromePieces | Self::ChromeFrameText => (8, &[ReadChrome]),
            Self::V8Profiles => (16, &[ReadChrome, ReadPerfetto]),
            Self::PerfettoBlocks | Self::PerfettoTexts | Self::PerfettoKernel => (8, &[ReadPerfetto]),
            Self::OtlpSpans => (4, &[ReadOtlp]),
            Self::DocumentTables => (4, &[ReadDocument]),
            Self::UnwindTables => (4, &[ReadPerf]),
            Self::JitDump => (16, &[ReadPerf]),
            Self::PerfRecords => (8, &[ReadPerf]),
            Self::Ledger => (4, &[AddUp]),
        }
    }

    /// Returns the bytes of this share of `budget`; the limit changes when imports start and end.
    #[must_use]
    pub(crate) fn bytes(self, budget: &Budget) -> u64 {
        budget.limit_bytes() / self.row().0
    }

    /// Returns the bytes of this share of the whole memory, beyond which data is refused. Other imports do not change
    /// it: the same file must open at all times.
    #[must_use]
    pub(crate) fn hard_limit_bytes(self, budget: &Budget) -> u64 {
        budget.memory_bytes() / self.row().0
    }

    /// Returns the share as a fraction, for [`Budget::try_charge`].
    #[must_use]
    pub(crate) fn fraction(self) -> f64 {
        1.0 / self.row().0 as f64
    }

    /// Returns whether the share limits the total of all charged bytes, so that several such shares are one.
    #[cfg(test)]
    fn bounds_charges(self) -> bool {
        matches!(self, Self::ParsedChunks | Self::OpenRuns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::budget::Memory;

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
    fn a_limit_beyond_which_data_is_refused_does_not_depend_on_other_imports() {
        let memory = Memory::new(64 << 20);
        let budget = memory.budget();
        let _others = [memory.budget(), memory.budget()];
        assert_eq!(BudgetShare::DocumentTables.hard_limit_bytes(&budget), 16 << 20);
        assert!(BudgetShare::DocumentTables.bytes(&budget) < 6 << 20);
    }

    #[test]
    fn a_part_is_that_of_the_limit() {
        let budget = Budget::new(64 << 20);
        assert_eq!(BudgetShare::Names.bytes(&budget), 4 << 20);
        assert_eq!(BudgetShare::StoreRows.bytes(&budget), 16 << 20);
        assert_eq!((BudgetShare::OpenRuns.fraction() * 8.0) as u64, 4);
    }
}

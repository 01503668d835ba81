//! The ledger of samples: how many samples of each event have each stack and each track, for slices of time, in trees.
//! Samples of any range come from a few nodes and the rows of two edges.
//!
//! One tree covers all tracks; every track with many samples has a tree of its own. Names, inlined functions and
//! merging are applied to the answer, since nodes hold stacks as the trace has them. Where stacks hardly repeat, a leaf
//! grows until they do, since the bytes of nodes are bounded for each sample. What no leaf covers is read row by row.

use serde::{Deserialize, Serialize};

use super::ledger::{Ledger, LedgerIndex, LedgerNode};
use super::sample_node::{self, EventKey, TrackSamples};
use crate::base::mapped::Mapped;
use crate::model::{SampleEvent, SampleSum, StackIdx, TrackIdx};

/// The sizes of a ledger of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SampleShape {
    /// Traces with fewer samples have no ledger: all of them are read in a millisecond.
    pub(crate) rows_min: u64,
    /// Samples of all tracks in a slice, at least.
    pub(crate) slice_rows: u64,
    /// Samples of one track in a leaf of its own tree, at least. Tracks with fewer than two leaves have no tree.
    pub(crate) leaf_rows: u64,
    /// Nodes that one node of the level above sums.
    pub(crate) fan_out: u32,
    /// Bytes of the nodes of a tree for each of its samples, at most, beside those of one path to the root. A leaf
    /// grows until there are as few.
    pub(crate) row_bytes: u64,
    /// Samples of a slice for each lane, at least: a look at a lane without samples there takes as
    /// long as some of them.
    pub(crate) rows_per_lane: u64,
}

impl SampleShape {
    pub(super) fn kilorow_bytes(&self) -> u64 {
        self.row_bytes.saturating_mul(1024)
    }
}

impl Default for SampleShape {
    fn default() -> Self {
        Self { rows_min: 1 << 14, slice_rows: 1 << 14, leaf_rows: 1 << 10, fan_out: 4, row_bytes: 4, rows_per_lane: 8 }
    }
}

/// The tables of a ledger of samples; its nodes lie in the body of the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SampleLedgerIndex {
    /// By the rows that nodes know events by.
    pub(crate) events: Vec<SampleEvent>,
    pub(crate) trees: LedgerIndex,
}

/// A ledger of samples that is ready to be asked.
#[derive(Debug)]
pub(crate) struct SampleLedger {
    events: Vec<SampleEvent>,
    trees: Ledger,
}

impl SampleLedger {
    /// A ledger of nodes in a map; `None` if the index contradicts itself.
    #[must_use]
    pub(crate) fn new(index: SampleLedgerIndex) -> Option<Self> {
        Some(Self { events: index.events, trees: Ledger::new(index.trees)? })
    }

    #[must_use]
    pub(crate) fn events(&self) -> &[SampleEvent] {
        &self.events
    }

    #[must_use]
    pub(crate) fn trees(&self) -> &Ledger {
        &self.trees
    }

    /// Calls `each_track` and `each_stack` for the samples of a node. False if the node is damaged:
    /// nothing was passed on then.
    #[must_use]
    pub(super) fn read(
        &self,
        map: &Mapped,
        node: LedgerNode,
        each_track: impl FnMut(EventKey<TrackIdx>, TrackSamples),
        each_stack: impl FnMut(EventKey<StackIdx>, SampleSum),
    ) -> bool {
        let bytes = self.trees.intact_bytes(map, node);
        bytes.is_some_and(|bytes| sample_node::unpack(bytes, each_track, each_stack))
    }
}

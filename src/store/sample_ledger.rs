//! The sample ledger: trees of sample counts by event, stack and track, for slices of time. Samples of any range come
//! from a few nodes and the rows of both edges.
//!
//! One tree covers all tracks; every track with many samples has its own tree. Names, inlined functions and merging are
//! applied to the answer, because nodes hold stacks as in the trace. A leaf grows until stacks repeat, because the
//! bytes of nodes are bounded per sample. Time ranges without a leaf are read row by row.

use serde::{Deserialize, Serialize};

use super::ledger::{Ledger, LedgerIndex, LedgerNode};
use super::sample_node::{self, EventKey, TrackSamples};
use crate::base::mapped::Mapped;
use crate::model::{SampleEvent, SampleSum, StackIdx, TrackIdx};

/// Size parameters of a sample ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SampleShape {
    /// Minimum number of samples for a ledger; fewer are read in a millisecond.
    pub(crate) rows_min: u64,
    /// Minimum number of samples of all tracks in a slice.
    pub(crate) slice_rows: u64,
    /// Minimum number of samples of one track in a leaf of its tree. Tracks with fewer than two leaves have no tree.
    pub(crate) leaf_rows: u64,
    /// Child nodes summed by a node.
    pub(crate) fan_out: u32,
    /// Maximum bytes of a tree's nodes per sample, in addition to one path to the root. A leaf grows until it is within
    /// this limit.
    pub(crate) row_bytes: u64,
    /// Minimum number of samples of a slice per lane: visiting a lane without samples takes as long as reading some.
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

/// The tables of a sample ledger; its nodes are in the body of the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SampleLedgerIndex {
    /// Events by their index in nodes.
    pub(crate) events: Vec<SampleEvent>,
    pub(crate) trees: LedgerIndex,
}

/// A sample ledger that can be queried.
#[derive(Debug)]
pub(crate) struct SampleLedger {
    events: Vec<SampleEvent>,
    trees: Ledger,
}

impl SampleLedger {
    /// Creates a ledger of mapped nodes; `None` if the index contradicts itself.
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

    /// Calls `each_track` and `each_stack` for the samples of a node. Returns false if the node is damaged, without
    /// having called either.
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

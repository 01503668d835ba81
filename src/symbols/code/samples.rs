//! Sums samples by the rows of a listing, self and total; recursion counts once. The naive way visits each frame of
//! each sample.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use crate::base::cancel::{Cancel, Cancelled};
use crate::model::StackIdx;
use crate::query::Snapshot;
use crate::query::flame::OwnAndTotal;
use crate::query::samples::SampleHistogram;
use crate::symbols::lookup::{Frame, TraceFrames, TraceNames};
use crate::symbols::names::FunctionName;

/// Stacks between two checks for cancellation.
const STACKS_BETWEEN_CHECKS: usize = 4096;

/// The samples of one event, and the names of their frames.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CodeSamples<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) frames: &'a TraceFrames,
    pub(crate) found: &'a TraceNames,
    pub(crate) histogram: &'a SampleHistogram,
    /// Index of the event in the histogram.
    pub(crate) event: usize,
}

impl<'a> CodeSamples<'a> {
    /// Sums the samples of rows. `rows_of` returns the rows of a frame, each with whether the sample counts as self;
    /// its argument is whether the frame is the innermost. Returns `Cancelled` if cancelled.
    pub(super) fn sums(
        &self,
        cancel: &Cancel,
        mut rows_of: impl FnMut(Frame, bool, &mut Vec<(u32, bool)>),
    ) -> Result<Vec<OwnAndTotal>, Cancelled> {
        let mut sums: Vec<OwnAndTotal> = Vec::new();
        let mut rows = Vec::new();
        for (number, (stack, sum)) in self.histogram.stacks(self.event).enumerate() {
            if number.is_multiple_of(STACKS_BETWEEN_CHECKS) {
                cancel.check()?;
            }
            rows.clear();
            self.each_frame(stack, |frame, is_innermost| rows_of(frame, is_innermost, &mut rows));
            // Of the entries of a row, one that counts as self comes first.
            rows.sort_unstable_by_key(|&(row, is_own)| (row, !is_own));
            rows.dedup_by_key(|(row, _)| *row);
            for &(row, is_own) in &rows {
                let row = row as usize;
                if sums.len() <= row {
                    sums.resize(row + 1, OwnAndTotal::default());
                }
                sums[row].total.add(sum);
                if is_own {
                    sums[row].own.add(sum);
                }
            }
        }
        Ok(sums)
    }

    /// Calls `take` with the frames of a stack that have an address, innermost first, each at its executing or calling
    /// address.
    fn each_frame(&self, stack: StackIdx, mut take: impl FnMut(Frame, bool)) {
        let modules = &self.snapshot.tracks().modules;
        let mut callee = None;
        for name in self.snapshot.raw_stacks().frames(stack) {
            if let Some(frame) = self.frames.ran_at(name, callee, modules) {
                take(frame, callee.is_none());
            }
            callee = Some(name);
        }
    }

    /// Returns the functions at an address, innermost first.
    pub(super) fn functions(&self, frame: Frame) -> impl Iterator<Item = FunctionName<'a>> + use<'a> {
        let module = self.found.modules.get(frame.module as usize);
        module.and_then(|module| module.names.get(frame.address)).into_iter().flatten()
    }
}

/// Assigns indices to keys, in order of first appearance.
#[derive(Debug)]
pub(super) struct KeyRows<K> {
    rows: FxHashMap<K, u32>,
    pub(super) keys: Vec<K>,
}

impl<K: Copy + Eq + Hash> KeyRows<K> {
    pub(super) fn new() -> Self {
        Self { rows: FxHashMap::default(), keys: Vec::new() }
    }

    pub(super) fn row(&mut self, key: K) -> u32 {
        let keys = &mut self.keys;
        *self.rows.entry(key).or_insert_with(|| {
            keys.push(key);
            keys.len() as u32 - 1
        })
    }
}

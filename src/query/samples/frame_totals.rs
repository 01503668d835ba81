//! Sums of the samples that have each frame in their stack. Each frame is visited once. The stacks of a deep recursion
//! share nearly all frames, so walking each stack would take time quadratic in the depth.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::frame_set::FrameSet;
use crate::model::{SampleSum, StackIdx, Stacks};

/// The frames with sums, by row of their set. Few bytes per frame, since a trace may have millions.
pub(super) struct FrameTotals {
    frames: Vec<StackIdx>,
    sums: Vec<SampleSum>,
    /// Whether there are samples without frames, whose sum is the first.
    has_empty: bool,
    /// The row of the first callee of each frame, and of the next callee of its caller; [`NONE`] if there is none.
    /// Outermost frames are callees of the first row.
    first_callee: Vec<u32>,
    next_sibling: Vec<u32>,
}

/// The first row is never a callee.
const NONE: u32 = 0;

impl FrameTotals {
    /// Adds up sums by innermost frame, which is [`StackIdx::EMPTY`] for empty stacks.
    pub(super) fn new(table: &Stacks, own: &[(StackIdx, SampleSum)]) -> Self {
        let set = FrameSet::of_paths(table, own.iter().map(|(innermost, _)| *innermost));
        let frames = set.frames();
        let mut sums = vec![SampleSum::default(); frames.len()];
        own.iter().for_each(|&(innermost, sum)| sums[set.row(innermost)].add(sum));
        let has_empty = own.iter().any(|(innermost, _)| *innermost == StackIdx::EMPTY);
        let (mut first_callee, mut next_sibling) = (vec![NONE; frames.len()], vec![NONE; frames.len()]);
        // Callers are earlier rows.
        for row in (1..frames.len()).rev() {
            let (caller, sum) = (set.row(table.get(frames[row]).parent), sums[row]);
            next_sibling[row] = std::mem::replace(&mut first_callee[caller], row as u32);
            if caller > 0 {
                sums[caller].add(sum);
            }
        }
        Self { frames, sums, has_empty, first_callee, next_sibling }
    }

    /// Calls `each` with the sum of each frame that no caller with the same key has, so that recursion counts once.
    pub(super) fn each_outermost<K: Hash + Eq + Copy>(
        &self,
        mut key_of: impl FnMut(StackIdx) -> K,
        mut each: impl FnMut(K, SampleSum),
    ) {
        if self.has_empty {
            each(key_of(StackIdx::EMPTY), self.sums[0]);
        }
        // Depth first, with the number of open frames of each key.
        let mut open: FxHashMap<K, u32> = FxHashMap::default();
        let mut callers = Vec::new();
        let mut next = self.first_callee[0];
        loop {
            while next != NONE {
                let row = next as usize;
                let key = key_of(self.frames[row]);
                let count = open.entry(key).or_default();
                *count += 1;
                if *count == 1 {
                    each(key, self.sums[row]);
                }
                callers.push((row, key));
                next = self.first_callee[row];
            }
            let Some((row, key)) = callers.pop() else { return };
            *open.entry(key).or_default() -= 1;
            next = self.next_sibling[row];
        }
    }
}

//! Sums of the samples that have each frame in their stack. Each frame is visited once. The stacks of a deep recursion
//! share nearly all frames, so walking each stack would take time quadratic in the depth.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use crate::model::{SampleSum, StackIdx, Stacks};

pub(super) struct FrameTotals {
    sums: FxHashMap<StackIdx, SampleSum>,
    /// Frames by caller; outermost frames, and the frame of empty stacks, by [`StackIdx::EMPTY`].
    callees: FxHashMap<StackIdx, Vec<StackIdx>>,
}

impl FrameTotals {
    /// Adds up sums by innermost frame, which is [`StackIdx::EMPTY`] for empty stacks.
    pub(super) fn new(table: &Stacks, own: &[(StackIdx, SampleSum)]) -> Self {
        let mut sums: FxHashMap<StackIdx, SampleSum> = FxHashMap::default();
        for &(innermost, sum) in own {
            sums.entry(innermost).or_default().add(sum);
            for caller in table.path(innermost).skip(1) {
                if sums.contains_key(&caller) {
                    break;
                }
                sums.insert(caller, SampleSum::default());
            }
        }
        let mut frames: Vec<StackIdx> = sums.keys().copied().filter(|&frame| frame != StackIdx::EMPTY).collect();
        // Callers are earlier rows.
        frames.sort_unstable_by_key(|&frame| std::cmp::Reverse(frame));
        let mut callees: FxHashMap<StackIdx, Vec<StackIdx>> = FxHashMap::default();
        for frame in frames {
            let (caller, sum) = (table.get(frame).parent, sums[&frame]);
            callees.entry(caller).or_default().push(frame);
            if caller != StackIdx::EMPTY {
                sums.entry(caller).or_default().add(sum);
            }
        }
        Self { sums, callees }
    }

    /// Calls `each` with the sum of each frame that no caller with the same key has, so that recursion counts once.
    pub(super) fn each_outermost<K: Hash + Eq + Copy>(
        &self,
        mut key_of: impl FnMut(StackIdx) -> K,
        mut each: impl FnMut(K, SampleSum),
    ) {
        if let Some(&sum) = self.sums.get(&StackIdx::EMPTY) {
            each(key_of(StackIdx::EMPTY), sum);
        }
        // Depth first, with the number of open frames of each key. A frame is pushed twice: to enter and to leave it.
        let mut open: FxHashMap<K, u32> = FxHashMap::default();
        let callees_of = |caller| self.callees.get(&caller).into_iter().flatten().map(|&callee| (callee, false));
        let mut steps: Vec<(StackIdx, bool)> = callees_of(StackIdx::EMPTY).collect();
        while let Some((frame, is_left)) = steps.pop() {
            let key = key_of(frame);
            let count = open.entry(key).or_default();
            if is_left {
                *count -= 1;
                continue;
            }
            *count += 1;
            if *count == 1 {
                each(key, self.sums[&frame]);
            }
            steps.push((frame, true));
            steps.extend(callees_of(frame));
        }
    }
}

//! A set of frames with consecutive rows, so that a query of a few stacks needs no room for the millions of a trace.

use crate::model::{StackIdx, Stacks};

/// The frames of some stacks, and always [`StackIdx::EMPTY`] as the first row.
pub(super) struct FrameSet {
    /// A bit per frame of the table.
    words: Vec<u64>,
    /// Number of members before each word.
    before: Vec<u32>,
}

impl FrameSet {
    /// Creates the set of all frames of the stacks with these innermost ones.
    pub(super) fn of_paths(table: &Stacks, innermost: impl Iterator<Item = StackIdx>) -> Self {
        let mut words = vec![0; table.len().div_ceil(64).max(1)];
        words[0] = 1;
        for innermost in innermost {
            // The callers of a member are members.
            for frame in table.path(innermost) {
                let word = &mut words[frame.index() / 64];
                if *word & bit(frame) != 0 {
                    break;
                }
                *word |= bit(frame);
            }
        }
        let counts = words.iter().scan(0, |count, word: &u64| {
            let before = *count;
            *count += word.count_ones();
            Some(before)
        });
        Self { before: counts.collect(), words }
    }

    /// Returns the row of a member.
    pub(super) fn row(&self, frame: StackIdx) -> usize {
        let word = frame.index() / 64;
        let lower = self.words[word] & (bit(frame) - 1);
        (self.before[word] + lower.count_ones()) as usize
    }

    /// Returns the members by row, which are in the order of the table.
    pub(super) fn frames(&self) -> Vec<StackIdx> {
        let mut frames = Vec::with_capacity(self.words.iter().map(|word| word.count_ones() as usize).sum());
        for (base, word) in (0..).step_by(64).zip(&self.words) {
            let mut rest = *word;
            while rest != 0 {
                frames.push(StackIdx(base + rest.trailing_zeros()));
                rest &= rest - 1;
            }
        }
        frames
    }
}

fn bit(frame: StackIdx) -> u64 {
    1 << (frame.index() % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::NameIdx;

    #[test]
    fn rows_are_consecutive_in_the_order_of_the_table() {
        let mut table = Stacks::default();
        let outer = table.intern(StackIdx::EMPTY, NameIdx(1));
        let callees: Vec<StackIdx> = (0..200).map(|name| table.intern(outer, NameIdx(2 + name))).collect();
        let wanted = [callees[150], callees[3], callees[63], callees[150]];
        let set = FrameSet::of_paths(&table, wanted.into_iter());
        let frames = set.frames();
        assert_eq!(frames, [StackIdx::EMPTY, outer, callees[3], callees[63], callees[150]]);
        assert_eq!(frames.iter().map(|&frame| set.row(frame)).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        assert_eq!(FrameSet::of_paths(&Stacks::default(), [StackIdx::EMPTY].into_iter()).frames(), [StackIdx::EMPTY]);
    }
}

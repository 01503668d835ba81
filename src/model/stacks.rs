//! The table of call stacks of a trace. Each row is a frame with its caller's row, so that stacks share the rows of
//! their common prefix. Names are referenced by index.

use bytemuck::{Pod, Zeroable};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::NameIdx;

/// A row of [`Stacks`]: its innermost frame, and through the parents the whole stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Pod, Zeroable, Serialize, Deserialize)]
#[repr(transparent)]
pub struct StackIdx(pub u32);

impl StackIdx {
    /// The stack without frames: the parent of every outermost frame.
    pub(crate) const EMPTY: Self = Self(0);

    /// Returns the index as a position in an array.
    #[must_use]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    /// Decodes the value of a sample; an invalid one becomes the empty stack.
    #[must_use]
    pub fn from_value(value: u64) -> Self {
        Self::checked_from_value(value).unwrap_or(Self::EMPTY)
    }

    /// Decodes the value of a sample that may be damaged; `None` if it exceeds 32 bits.
    #[must_use]
    pub(crate) fn checked_from_value(value: u64) -> Option<Self> {
        u32::try_from(value).ok().map(Self)
    }
}

/// A frame and its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct StackRow {
    /// Stack of the caller; [`StackIdx::EMPTY`] for an outermost frame. Always an earlier row.
    pub parent: StackIdx,
    pub(crate) name: NameIdx,
}

/// All stacks of a trace, or of a [`Batch`](super::Batch). Row 0 is the stack without frames.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "StackColumns", into = "StackColumns")]
pub struct Stacks {
    rows: Vec<StackRow>,
    index: FxHashMap<StackRow, StackIdx>,
    /// Maximum index of a row.
    index_max: u32,
    over_limit: u64,
}

/// [`Stacks`] as serialized: columns of small integers, two to four bytes per row. The hash table and row 0 are
/// omitted.
#[derive(Serialize, Deserialize)]
struct StackColumns {
    /// Distance to the parent's row, at least 1.
    up: Vec<u32>,
    names: Vec<u32>,
}

impl From<StackColumns> for Stacks {
    fn from(columns: StackColumns) -> Self {
        let mut stacks = Self::default();
        for (row, (up, name)) in (1u32..).zip(columns.up.into_iter().zip(columns.names)) {
            stacks.push(StackIdx(row.saturating_sub(up)), NameIdx(name));
        }
        stacks
    }
}

impl From<Stacks> for StackColumns {
    fn from(stacks: Stacks) -> Self {
        let rows = || (0u32..).zip(&stacks.rows).skip(1);
        Self {
            up: rows().map(|(row, stack_row)| row - stack_row.parent.0).collect(),
            names: rows().map(|(_, stack_row)| stack_row.name.0).collect(),
        }
    }
}

impl Default for Stacks {
    fn default() -> Self {
        Self { rows: vec![StackRow::default()], index: FxHashMap::default(), index_max: u32::MAX, over_limit: 0 }
    }
}

impl Stacks {
    /// Returns the stack of `name` called from `parent`; adds it if it is new. A parent that does not exist becomes the
    /// empty stack. A new stack beyond the maximum index is counted in [`Self::over_limit`], and becomes its caller's
    /// stack.
    pub(crate) fn intern(&mut self, parent: StackIdx, name: NameIdx) -> StackIdx {
        // Filled at the first insertion, which most deserialized tables never see.
        if self.index.len() + 1 < self.rows.len() {
            self.index = self.rows.iter().copied().zip((0..).map(StackIdx)).skip(1).collect();
        }
        let parent = if parent.index() < self.rows.len() { parent } else { StackIdx::EMPTY };
        let row = StackRow { parent, name };
        if let Some(&stack) = self.index.get(&row) {
            return stack;
        }
        let Some(new) = self.push(parent, name) else { return parent };
        self.index.insert(row, new);
        new
    }

    /// Returns the number of stacks that lack frames because all indices are in use.
    #[must_use]
    pub(crate) fn over_limit(&self) -> u64 {
        self.over_limit
    }

    /// Returns the stack of these frames, outermost first; adds it if it is new.
    pub fn intern_path(&mut self, outermost_first: impl IntoIterator<Item = NameIdx>) -> StackIdx {
        outermost_first.into_iter().fold(StackIdx::EMPTY, |parent, name| self.intern(parent, name))
    }

    /// Appends a row even if the stack exists, for tables whose rows must keep their positions. A parent that is not an
    /// earlier row becomes the empty stack. Beyond the maximum index, counts it in [`Self::over_limit`] and returns
    /// `None`.
    pub(crate) fn push(&mut self, parent: StackIdx, name: NameIdx) -> Option<StackIdx> {
        let parent = if parent.index() < self.rows.len() { parent } else { StackIdx::EMPTY };
        let Some(index) = u32::try_from(self.rows.len()).ok().filter(|&index| index <= self.index_max) else {
            self.over_limit += 1;
            return None;
        };
        self.rows.push(StackRow { parent, name });
        Some(StackIdx(index))
    }

    /// Returns the innermost frame and its caller; the empty stack for a row that does not exist.
    #[must_use]
    pub(crate) fn get(&self, stack: StackIdx) -> StackRow {
        self.rows.get(stack.index()).copied().unwrap_or_default()
    }

    /// Iterates over the frames of a stack, innermost first; empty for a row that does not exist.
    pub fn frames(&self, stack: StackIdx) -> impl Iterator<Item = NameIdx> + '_ {
        self.path(stack).map(|frame| self.get(frame).name)
    }

    /// Iterates over the stack, its caller's stack, and so on up to the outermost frame.
    pub(crate) fn path(&self, stack: StackIdx) -> impl Iterator<Item = StackIdx> + '_ {
        let in_table = |stack: StackIdx| (StackIdx::EMPTY < stack && stack.index() < self.rows.len()).then_some(stack);
        // A parent precedes its children, so this terminates.
        std::iter::successors(in_table(stack), move |&stack| in_table(self.get(stack).parent))
    }

    /// Adds the stacks of a batch to this table. Returns the row in this table for each row of the batch.
    pub(crate) fn absorb(&mut self, batch: &Self, name_of: impl Fn(NameIdx) -> NameIdx) -> Vec<StackIdx> {
        let mut here = Vec::with_capacity(batch.len());
        here.push(StackIdx::EMPTY);
        for row in &batch.rows[1..] {
            let parent = here.get(row.parent.index()).copied().unwrap_or_default();
            here.push(self.intern(parent, name_of(row.name)));
        }
        here
    }

    /// Returns all rows in order, without row 0.
    #[must_use]
    pub fn rows(&self) -> &[StackRow] {
        &self.rows[1..]
    }

    /// Returns the number of rows, including row 0.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether the table has only the empty stack.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frames(stacks: &Stacks, stack: StackIdx) -> Vec<u32> {
        stacks.frames(stack).map(|name| name.0).collect()
    }

    proptest! {
        #[test]
        fn stacks_come_back_leaf_first_and_alike_ones_share_their_rows(
            paths in proptest::collection::vec(proptest::collection::vec(0u32..4, 0..6), 0..40),
        ) {
            let mut stacks = Stacks::default();
            let rows: Vec<_> = paths.iter().map(|path| stacks.intern_path(path.iter().copied().map(NameIdx))).collect();
            let prefixes: std::collections::BTreeSet<_> =
                paths.iter().flat_map(|path| (0..=path.len()).map(|end| &path[..end])).collect();
            prop_assert_eq!(stacks.len(), prefixes.len().max(1));
            let written = postcard::to_stdvec(&stacks).unwrap();
            let mut read: Stacks = postcard::from_bytes(&written).unwrap();
            for (path, &row) in paths.iter().zip(&rows) {
                let leaf_first: Vec<u32> = path.iter().rev().copied().collect();
                prop_assert_eq!(frames(&stacks, row), leaf_first.clone());
                prop_assert_eq!(frames(&read, row), leaf_first);
                prop_assert_eq!(read.intern_path(path.iter().copied().map(NameIdx)), row);
            }
        }
    }

    #[test]
    fn stacks_of_a_batch_are_mapped_to_those_of_the_trace() {
        let mut trace = Stacks::default();
        trace.intern_path([7, 8].map(NameIdx));
        let mut batch = Stacks::default();
        let known = batch.intern_path([1, 2].map(NameIdx));
        let new = batch.intern_path([1, 3].map(NameIdx));
        let here = trace.absorb(&batch, |name| NameIdx(name.0 + 6));
        assert_eq!(frames(&trace, here[known.index()]), [8, 7]);
        assert_eq!(frames(&trace, here[new.index()]), [9, 7]);
        assert_eq!(trace.len(), 4);
        assert_eq!(here[0], StackIdx::EMPTY);
    }

    #[test]
    fn stacks_beyond_the_last_index_are_counted_and_end_at_their_caller() {
        let mut stacks = Stacks { index_max: 2, ..Stacks::default() };
        let whole = stacks.intern_path([1, 2].map(NameIdx));
        assert_eq!((whole, stacks.over_limit()), (StackIdx(2), 0));
        assert_eq!(stacks.intern_path([1, 2, 3].map(NameIdx)), whole);
        assert_eq!(stacks.push(StackIdx::EMPTY, NameIdx(4)), None);
        assert_eq!((stacks.len(), stacks.over_limit()), (3, 2));
        assert_eq!(stacks.intern_path([1, 2].map(NameIdx)), whole);
    }

    #[test]
    fn a_parent_that_is_not_an_earlier_row_makes_no_cycle() {
        let read = Stacks::from(StackColumns { up: vec![0, 9, 1], names: vec![1, 2, 3] });
        assert_eq!(frames(&read, StackIdx(1)), [1]);
        assert_eq!(frames(&read, StackIdx(2)), [2]);
        assert_eq!(frames(&read, StackIdx(3)), [3, 2]);
        assert!(frames(&read, StackIdx(4)).is_empty());
    }
}

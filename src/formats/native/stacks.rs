//! Incremental call stacks of a growing trace. Each stack chunk has the new stacks since the previous chunk, and refers
//! to names in earlier table chunks. Refuses contradictory patches. Stacks in a lost chunk become frames without a
//! name.

use serde::{Deserialize, Serialize};

use super::tables::{MISSING_ROWS_MAX, PatchError};
use crate::formats::output::row_index::bounded_row;
use crate::model::{NameIdx, StackIdx, StackRow, Stacks};

/// Limit for rows of a patch: at most ten bytes each, far below the 64 MiB that a reader accepts.
const PATCH_ROWS: usize = 1 << 20;

/// New rows of the stack table.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StacksPatch {
    /// Row of the first stack.
    first: u32,
    /// Distance in rows to the caller's stack.
    up: Vec<u32>,
    names: Vec<NameIdx>,
}

/// Returns the patches that extend the first `written` rows of `stacks`, including row 0, to all rows.
pub(crate) fn patches_since(written: usize, stacks: &Stacks) -> impl Iterator<Item = StacksPatch> + '_ {
    let first_new = written.max(1);
    let new = stacks.rows().get(first_new - 1..).unwrap_or(&[]);
    new.chunks(PATCH_ROWS).zip(0usize..).map(move |(rows, patch)| {
        // A row of the table fits in a `StackIdx`.
        let first = bounded_row(first_new + patch * PATCH_ROWS);
        let up = (first..).zip(rows).map(|(row, stack_row)| row - stack_row.parent.0).collect();
        StacksPatch { first, up, names: rows.iter().map(|row| row.name).collect() }
    })
}

impl StacksPatch {
    /// Appends the rows to a stack table.
    ///
    /// # Errors
    /// [`PatchError`] if the patch does not continue the table, which is then unchanged.
    pub fn apply(self, stacks: &mut Stacks) -> Result<(), PatchError> {
        let (first, have) = (self.first as usize, stacks.len());
        if first < have {
            return Err(PatchError::Known { first, have });
        }
        if first > have.saturating_add(MISSING_ROWS_MAX) {
            return Err(PatchError::TooFar { table: "stacks", first, have });
        }
        while stacks.len() < first {
            stacks.push(StackIdx::EMPTY, NameIdx::EMPTY);
        }
        for ((row, up), name) in (self.first..).zip(self.up).zip(self.names) {
            stacks.push(StackIdx(row.saturating_sub(up)), name);
        }
        Ok(())
    }
}

/// Replaces names that do not exist, since a chunk of names may be lost.
#[must_use]
pub(crate) fn with_known_names(stacks: Stacks, names: usize) -> Stacks {
    let is_known = |row: &StackRow| row.name.index() < names;
    if stacks.rows().iter().all(is_known) {
        return stacks;
    }
    let mut copy = Stacks::default();
    for row in stacks.rows() {
        copy.push(row.parent, if is_known(row) { row.name } else { NameIdx::EMPTY });
    }
    copy
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stacks(rows: u32) -> Stacks {
        let mut stacks = Stacks::default();
        for row in 0..rows {
            stacks.push(StackIdx(row / 2), NameIdx(row % 7));
        }
        stacks
    }

    #[test]
    fn stacks_come_in_parts_and_each_part_once() {
        let all = stacks(50);
        let first_part = stacks(20);
        let mut read = Stacks::default();
        for patch in patches_since(1, &first_part).chain(patches_since(first_part.len(), &all)) {
            patch.apply(&mut read).unwrap();
        }
        assert_eq!(read.rows(), all.rows());
        assert_eq!(patches_since(all.len(), &all).count(), 0);
    }

    #[test]
    fn a_lost_part_moves_no_row_of_the_others_and_a_far_one_is_refused() {
        let all = stacks(50);
        let mut read = Stacks::default();
        patches_since(30, &all).for_each(|patch| patch.apply(&mut read).unwrap());
        assert_eq!(read.rows()[29..], all.rows()[29..]);
        let known = StacksPatch { first: 3, up: vec![1], names: vec![NameIdx(1)] };
        assert_eq!(known.apply(&mut read), Err(PatchError::Known { first: 3, have: 51 }));
        let far = StacksPatch { first: u32::MAX, up: vec![1], names: vec![NameIdx(1)] };
        assert!(matches!(far.apply(&mut read), Err(PatchError::TooFar { .. })));
        assert_eq!(read.len(), 51);
    }

    #[test]
    fn names_that_were_lost_leave_frames_without_a_name() {
        let known = with_known_names(stacks(10), 3);
        assert_eq!(known.len(), 11);
        assert!(known.rows().iter().all(|row| row.name.index() < 3));
        assert_eq!(known.get(StackIdx(10)).parent, StackIdx(4));
    }
}

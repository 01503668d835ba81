//! Call stacks as a capture grows: each chunk of stacks holds those that are new since the one before, and points to
//! names that tables chunks before it hold. Refuses a patch that contradicts what is there; where a chunk is lost, the
//! stacks in it are frames without a name.

use serde::{Deserialize, Serialize};

use super::tables::{MISSING_ROWS_MAX, PatchError};
use crate::formats::output::row_index::bounded_row;
use crate::model::{NameIdx, StackIdx, StackRow, Stacks};

/// Rows after which a patch is closed and another begun: at most ten bytes each, so far below the 64
/// MiB that a reader accepts.
const PATCH_ROWS: usize = 1 << 20;

/// The rows that were added to the stacks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StacksPatch {
    /// The row of the first of them.
    first: u32,
    /// How many rows up the caller's stack is.
    up: Vec<u32>,
    names: Vec<NameIdx>,
}

/// The patches that bring a reader from the first `written` rows of `stacks`, with row 0, to all of them.
pub(crate) fn patches_since(written: usize, stacks: &Stacks) -> impl Iterator<Item = StacksPatch> + '_ {
    let first_new = written.max(1);
    let new = stacks.rows().get(first_new - 1..).unwrap_or(&[]);
    new.chunks(PATCH_ROWS).zip(0usize..).map(move |(rows, patch)| {
        // A row of the table has a `StackIdx`.
        let first = bounded_row(first_new + patch * PATCH_ROWS);
        let up = (first..).zip(rows).map(|(row, kept)| row - kept.parent.0).collect();
        StacksPatch { first, up, names: rows.iter().map(|row| row.name).collect() }
    })
}

impl StacksPatch {
    /// Appends the rows to a table of stacks.
    ///
    /// # Errors
    /// [`PatchError`] for a patch that does not follow the rows of the table, which then stays as it was.
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

/// The stacks with names that exist: a chunk of names may be lost.
#[must_use]
pub(crate) fn with_known_names(stacks: Stacks, names: usize) -> Stacks {
    let is_known = |row: &StackRow| row.name.index() < names;
    if stacks.rows().iter().all(is_known) {
        return stacks;
    }
    let mut known = Stacks::default();
    for row in stacks.rows() {
        known.push(row.parent, if is_known(row) { row.name } else { NameIdx::EMPTY });
    }
    known
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

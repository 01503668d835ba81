//! A query for a neighbour that has no answer yet.

use crate::base::direction::Direction;
use crate::store::lane::RowIdx;
use crate::store::live_lanes::LaneMoves;
use crate::ui::questions::Question;

/// A query for the hit after or before a position; see [`Question::Neighbour`].
#[derive(Debug, Clone, Copy)]
pub(super) struct UnansweredNeighbour {
    pub(super) direction: Direction,
    pub(super) from: (i64, Option<RowIdx>),
}

impl UnansweredNeighbour {
    pub(super) fn question(self) -> Question {
        Question::Neighbour { direction: self.direction, from: self.from }
    }

    /// Returns the query without the row, whose index is invalid in another trace: it starts at the time alone.
    pub(super) fn without_row(self) -> Self {
        Self { from: (self.from.0, None), ..self }
    }

    /// Returns the query with the new index of the row after lanes have moved.
    pub(super) fn moved(self, moves: &LaneMoves) -> Self {
        let (ts_ns, row) = self.from;
        Self { from: (ts_ns, row.and_then(|row| moves.row(row))), ..self }
    }
}

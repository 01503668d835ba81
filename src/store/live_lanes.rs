//! The lanes of the previews of a live trace. Previews order lanes by track and depth, so a new thread moves
//! the lanes of all later ones. Answers about an earlier preview are mapped, not computed again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::lane::{LaneIdx, RowIdx};

/// The lanes of a preview, in order. Previews with the same lanes in the same order share one instance.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LiveLanes {
    store: StoreNumber,
    /// Index of each lane in the growing store, which keeps it for ever.
    numbers: Vec<usize>,
    /// The inverse: the lane of each index, if it has rows.
    lanes: Vec<Option<LaneIdx>>,
}

/// Identifies a growing store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoreNumber(u64);

impl StoreNumber {
    /// Returns a number that no other store has.
    pub(super) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Maps lanes of an earlier preview to lanes of a later preview, or back.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LaneMoves {
    None,
    /// The lanes have other indices. Each is looked up when it is mapped.
    Moved {
        from: Arc<LiveLanes>,
        to: Arc<LiveLanes>,
    },
}

impl LiveLanes {
    pub(super) fn new(store: StoreNumber, numbers: Vec<usize>) -> Self {
        let mut lanes = vec![None; numbers.iter().max().map_or(0, |most| most + 1)];
        for (index, &number) in (0u32..).zip(&numbers) {
            lanes[number] = Some(LaneIdx(index));
        }
        Self { store, numbers, lanes }
    }

    /// Returns whether these are the lanes of the growing store with these numbers.
    pub(super) fn has_numbers(&self, numbers: &[usize]) -> bool {
        self.numbers == numbers
    }

    /// Returns how lanes have moved since another preview; `None` for a preview of another store. It takes constant
    /// time, because the window calls it for every preview.
    #[must_use]
    pub(crate) fn moves_since(self: &Arc<Self>, other: &Arc<Self>) -> Option<LaneMoves> {
        if Arc::ptr_eq(self, other) {
            return Some(LaneMoves::None);
        }
        (self.store == other.store).then(|| LaneMoves::Moved { from: Arc::clone(other), to: Arc::clone(self) })
    }
}

impl LaneMoves {
    /// Returns the new index of a lane, if it still has rows.
    #[must_use]
    pub(crate) fn lane(&self, lane: LaneIdx) -> Option<LaneIdx> {
        match self {
            Self::None => Some(lane),
            Self::Moved { from, to } => to.lanes.get(*from.numbers.get(lane.index())?).copied().flatten(),
        }
    }

    /// Returns a row with the new index of its lane.
    #[must_use]
    pub(crate) fn row(&self, row: RowIdx) -> Option<RowIdx> {
        Some(RowIdx { lane: self.lane(row.lane)?, ..row })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_found_again_between_previews_of_one_store_only() {
        let store = StoreNumber::next();
        let lanes = |numbers: &[usize]| Arc::new(LiveLanes::new(store, numbers.to_vec()));
        let (earlier, later) = (lanes(&[4, 0, 2]), lanes(&[0, 5, 4]));
        let moves = later.moves_since(&earlier).expect("one store");
        let moved = [0, 1, 2, 3].map(|lane| moves.lane(LaneIdx(lane)));
        assert_eq!(moved, [Some(LaneIdx(2)), Some(LaneIdx(0)), None, None], "lane 2 has lost its rows");
        assert_eq!(moves.row(RowIdx { lane: LaneIdx(0), row: 7 }), Some(RowIdx { lane: LaneIdx(2), row: 7 }));
        let back = earlier.moves_since(&later).expect("one store");
        assert_eq!([0, 1, 2].map(|lane| back.lane(LaneIdx(lane))), [Some(LaneIdx(1)), None, Some(LaneIdx(0))]);
        assert_eq!(earlier.moves_since(&earlier), Some(LaneMoves::None));
        let other = Arc::new(LiveLanes::new(StoreNumber::next(), vec![4, 0, 2]));
        assert_eq!(other.moves_since(&earlier), None);
    }
}

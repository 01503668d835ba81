//! The source of tiles: the owners of canvas rows, and the trait to read them.

use crate::model::ProcessIdx;
use crate::query::open_end::{OpenEnd, open_end, open_row};
use crate::query::track_groups::GroupId;
use crate::query::{Buckets, Cell, CounterCell, ReadCount, Snapshot, pixels};
use crate::scene::custom_groups::CustomGroupId;
use crate::store::lane::{LaneIdx, LaneInfo};

/// The owner of a tile: a lane of the store, or a process or group whose lanes are summarised as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TileOwner {
    /// A lane of the store.
    Lane(LaneIdx),
    /// All lanes of a group that the user has made.
    Custom(CustomGroupId),
    /// All lanes of a process.
    Process(ProcessIdx),
    /// All lanes of a group of tracks and of its inner groups.
    Tracks(GroupId),
}

/// A source of tiles. Its work is bounded by the buckets of a query.
pub trait TileSource: Send + Sync {
    /// Returns the properties of an owner that need no rows; `None` for an unknown owner.
    fn info(&self, owner: TileOwner) -> Option<LaneInfo>;
    /// Appends the longest span of each bucket that has any. Neighbours with the same answer are one cell.
    fn longest(&self, owner: TileOwner, buckets: Buckets, cells: &mut Vec<Cell>) -> ReadCount;
    /// Appends the values of a counter in each bucket. Neighbours with the same answer are one cell.
    fn counter(&self, owner: TileOwner, buckets: Buckets, cells: &mut Vec<CounterCell>) -> ReadCount;
    /// Returns whether a span is open at the end of a lane. Reads no rows.
    fn has_open_end(&self, _owner: TileOwner) -> bool {
        false
    }
    /// Reads the span that is open at the end of a lane.
    fn open_end(&self, _owner: TileOwner) -> Option<OpenEnd> {
        None
    }
}

impl TileSource for Snapshot {
    fn info(&self, owner: TileOwner) -> Option<LaneInfo> {
        match owner {
            TileOwner::Lane(lane) => Some(self.lane(lane)),
            TileOwner::Custom(_) | TileOwner::Process(_) | TileOwner::Tracks(_) => None,
        }
    }

    fn longest(&self, owner: TileOwner, buckets: Buckets, cells: &mut Vec<Cell>) -> ReadCount {
        match owner {
            TileOwner::Lane(lane) => pixels::longest(self, lane, buckets, cells),
            TileOwner::Custom(_) | TileOwner::Process(_) | TileOwner::Tracks(_) => ReadCount::default(),
        }
    }

    fn counter(&self, owner: TileOwner, buckets: Buckets, cells: &mut Vec<CounterCell>) -> ReadCount {
        match owner {
            TileOwner::Lane(lane) => pixels::counter(self, lane, buckets, cells),
            TileOwner::Custom(_) | TileOwner::Process(_) | TileOwner::Tracks(_) => ReadCount::default(),
        }
    }

    fn has_open_end(&self, owner: TileOwner) -> bool {
        matches!(owner, TileOwner::Lane(lane) if open_row(self, lane).is_some())
    }

    fn open_end(&self, owner: TileOwner) -> Option<OpenEnd> {
        match owner {
            TileOwner::Lane(lane) => open_end(self, lane),
            TileOwner::Custom(_) | TileOwner::Process(_) | TileOwner::Tracks(_) => None,
        }
    }
}

//! The numbers that tracks are ordered by and that take longer than a frame: busy time, and hits of the search.

use std::sync::Arc;

use crate::base::cancel::{Cancel, Cancelled};
use crate::base::progress::Progress;
use crate::query::Snapshot;
use crate::query::busy_time::busy_by_track;
use crate::query::search::Hits;
use crate::scene::arrange::TrackOrder;

/// The rows that are counted for an order.
#[derive(Debug, Clone)]
pub enum RankSource {
    Busy(Snapshot),
    Hits(Hits),
}

/// A number for each track, by track index.
#[derive(Debug, Clone)]
pub struct TrackRanks {
    pub(crate) source: RankSource,
    pub(crate) by_track: Arc<Vec<u64>>,
}

impl RankSource {
    /// Returns whether the numbers of both are the same. Takes constant time, because each frame asks.
    #[must_use]
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Busy(one), Self::Busy(other)) => std::ptr::eq(one.store(), other.store()),
            (Self::Hits(one), Self::Hits(other)) => one.is_same(other),
            (Self::Busy(_) | Self::Hits(_), _) => false,
        }
    }

    /// Returns the order that needs these numbers.
    #[must_use]
    pub(crate) fn order(&self) -> TrackOrder {
        match self {
            Self::Busy(_) => TrackOrder::Busy,
            Self::Hits(_) => TrackOrder::Hits,
        }
    }

    /// Counts the busy time or the hits of each track.
    ///
    /// # Errors
    /// Returns `Cancelled` if cancelled.
    pub(crate) fn count(self, cancel: &Cancel, progress: &Progress) -> Result<TrackRanks, Cancelled> {
        let by_track = match &self {
            Self::Busy(snapshot) => busy_by_track(snapshot, cancel, progress)?,
            Self::Hits(hits) => hits.by_track(cancel, progress)?,
        };
        Ok(TrackRanks { source: self, by_track: Arc::new(by_track) })
    }
}

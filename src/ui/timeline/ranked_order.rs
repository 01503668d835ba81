//! Orders of tracks by numbers that are counted in the background. Until these are known, tracks stay in trace order,
//! or as they are.

use super::state::Timeline;
use super::track_ranks::{RankSource, TrackRanks};
use crate::scene::arrange::TrackOrder;

impl Timeline {
    /// Returns the rows whose counts the order needs, if any.
    #[must_use]
    pub(crate) fn rank_source(&self) -> Option<RankSource> {
        match self.tracks.arrangement().order {
            TrackOrder::Busy => Some(RankSource::Busy(self.snapshot.clone())),
            TrackOrder::Hits => self.overlays.hits().cloned().map(RankSource::Hits),
            TrackOrder::Trace
            | TrackOrder::Name
            | TrackOrder::FirstEvent
            | TrackOrder::Activity
            | TrackOrder::Longest => None,
        }
    }

    /// Returns the counts that tracks are ordered by, if the order needs any.
    #[must_use]
    pub(crate) fn ranks(&self) -> Option<&TrackRanks> {
        self.tracks.ranks()
    }

    /// Orders tracks by other counts, or by none.
    pub(crate) fn set_ranks(&mut self, ranks: Option<TrackRanks>) {
        self.tracks.set_ranks(ranks);
        if self.tracks.awaited_ranks() {
            self.show_first_or_selected();
        }
        self.arrange();
    }

    /// Returns why the chosen order has no effect, if it has none.
    #[must_use]
    pub(crate) fn order_note(&self) -> Option<&'static str> {
        let is_without_hits = self.tracks.arrangement().order == TrackOrder::Hits
            && self.overlays.hits().is_none()
            && self.ranks().is_none();
        is_without_hits.then_some("Tracks are in trace order until a search has hits (Ctrl + F).")
    }
}

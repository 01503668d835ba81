//! The tracks that lanes belong to, as far as a frame draws them: their names and colours.

use crate::model::{TrackIdx, TrackKind};
use crate::query::Snapshot;
use crate::scene::titles::track_title;
use crate::store::lane::LaneIdx;

/// The track of each lane.
pub trait LaneTracks: Sync {
    /// The track that a lane belongs to.
    fn track(&self, lane: LaneIdx) -> TrackIdx;
    /// The name of that track.
    fn track_name(&self, lane: LaneIdx) -> &str;
    /// Whether the spans of a lane are states of a thread.
    fn is_of_states(&self, _lane: LaneIdx) -> bool {
        false
    }
    /// A text that differs between tracks, from which the colour of a track is made.
    fn track_text(&self, lane: LaneIdx) -> String {
        self.track_name(lane).to_owned()
    }
}

impl LaneTracks for Snapshot {
    fn track(&self, lane: LaneIdx) -> TrackIdx {
        self.lane(lane).track
    }

    fn track_name(&self, lane: LaneIdx) -> &str {
        &self.track(self.lane(lane).track).name
    }

    fn is_of_states(&self, lane: LaneIdx) -> bool {
        self.track(self.lane(lane).track).key.kind == TrackKind::State
    }

    fn track_text(&self, lane: LaneIdx) -> String {
        let (title, beside) = track_title(self.track(self.lane(lane).track));
        format!("{title} {beside}")
    }
}

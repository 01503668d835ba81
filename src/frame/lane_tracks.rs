//! The names and colours of the tracks of lanes, as a frame needs them.

use super::lit::LitTracks;
use crate::model::{TrackIdx, TrackKind};
use crate::query::Snapshot;
use crate::scene::titles::track_title;
use crate::store::lane::LaneIdx;

/// Looks up the track of a lane, and the text that its colour is derived from. Reads no rows: these may be on the disk.
pub trait LaneTracks: Sync {
    /// Returns the track of a lane.
    fn track(&self, lane: LaneIdx) -> TrackIdx;
    /// Returns the name of the track of a lane.
    fn track_name(&self, lane: LaneIdx) -> &str;
    /// Returns whether the spans of a lane are thread states.
    fn is_of_states(&self, _lane: LaneIdx) -> bool {
        false
    }
    /// Returns whether the track of a lane is one of these.
    fn is_on(&self, _lane: LaneIdx, _tracks: LitTracks) -> bool {
        true
    }
    /// Returns a text that differs between tracks, from which the track's colour is derived.
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

    fn is_on(&self, lane: LaneIdx, tracks: LitTracks) -> bool {
        tracks.has(self, self.lane(lane).track)
    }

    fn track_text(&self, lane: LaneIdx) -> String {
        let (title, beside) = track_title(self.track(self.lane(lane).track));
        format!("{title} {beside}")
    }
}

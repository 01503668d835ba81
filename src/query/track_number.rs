//! The number by which a person names a track, such as `#17`: the number in `longspan dump`, which counts from 1.

use crate::model::TrackIdx;

/// Returns the number of a track.
#[must_use]
pub(crate) fn track_number(track: TrackIdx) -> String {
    format!("#{}", u64::from(track.0) + 1)
}

/// Returns the track that a text names by its number; `None` for another text.
#[must_use]
pub(crate) fn numbered_track(text: &str) -> Option<TrackIdx> {
    let number: u32 = text.strip_prefix('#')?.parse().ok()?;
    number.checked_sub(1).map(TrackIdx)
}

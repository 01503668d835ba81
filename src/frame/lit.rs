//! The spans that are lit while the pointer is on their row in a panel. All others are dimmed, less than a search dims.
//! Rectangles know their names and tracks, so this needs no query.

use std::sync::Arc;

use super::filtered::DIMMED_OPACITY;
use crate::model::{NameIdx, Names, ProcessIdx, TrackIdx};
use crate::query::Snapshot;
use crate::query::groups::have_same_label;
use crate::scene::color::Rgba;
use crate::store::lane::RowIdx;

/// Opacity of spans that are not lit: the hover passes quickly, so they stay legible.
pub(super) const UNLIT_OPACITY: u8 = 110;
const _: () = assert!(UNLIT_OPACITY > DIMMED_OPACITY);

/// The spans of the hovered row of a panel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Lit {
    /// The spans of a group, which keep their colour while the others are dimmed.
    Spans(LitSpans),
    /// One row, which has an outline.
    Row(RowIdx),
}

/// The names of lit spans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LitNames {
    All,
    /// One name, also of spans that failed.
    Name(NameIdx),
    /// All names with this text, such as a function's.
    Text(Arc<str>),
    /// All names of this category, or without one.
    Category(Option<Arc<str>>),
}

/// The tracks of lit spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LitTracks {
    All,
    /// The tracks with the ids and the name of this one.
    Like(TrackIdx),
    Process(ProcessIdx),
}

impl LitTracks {
    /// Returns whether a track is one of these.
    #[must_use]
    pub(crate) fn has(self, snapshot: &Snapshot, track: TrackIdx) -> bool {
        match self {
            Self::All => true,
            // A panel may still show tracks of an earlier import.
            Self::Like(lit) => {
                let lit = snapshot.tracks().tracks.get(lit.index());
                lit.is_some_and(|lit| have_same_label(snapshot.track(track), lit))
            }
            Self::Process(process) => snapshot.track(track).process == process,
        }
    }
}

/// The spans of some names on some tracks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LitSpans {
    pub(crate) names: LitNames,
    pub(crate) tracks: LitTracks,
}

impl LitSpans {
    /// Returns the spans of these names on all tracks.
    #[must_use]
    pub(crate) fn named(names: LitNames) -> Self {
        Self { names, tracks: LitTracks::All }
    }

    /// Returns all spans of some tracks.
    #[must_use]
    pub(crate) fn on(tracks: LitTracks) -> Self {
        Self { names: LitNames::All, tracks }
    }

    /// Returns the colour of a span, which is on one of the tracks if `is_on_track`. `full` is its colour without a
    /// filter.
    #[must_use]
    pub(super) fn color(
        &self,
        (names, name): (&Names, NameIdx),
        is_on_track: bool,
        (full, shown): (Rgba, Rgba),
    ) -> Rgba {
        let is_lit = is_on_track
            && match &self.names {
                LitNames::All => true,
                LitNames::Name(lit) => *lit == names.regular(name),
                LitNames::Text(text) => *names.get(name).text == **text,
                LitNames::Category(category) => names.get(name).category == category.as_deref(),
            };
        if is_lit { full } else { shown.with_opacity(shown.0[3].min(UNLIT_OPACITY)) }
    }
}

//! The state of a timeline that is saved for the next time its capture opens: the view, the arrangement of rows,
//! the bookmarks, the named scopes, the derived tracks.

use serde::{Deserialize, Serialize};

use super::derived::SavedDerived;
use super::named_scopes::{NAMED_SCOPES_MAX, NamedScope};
use super::state::Timeline;
use super::tracks::ArrangeJob;
use crate::scene::arrange::Arrangement;
use crate::scene::bookmarks::Bookmarks;
use crate::scene::palette::{ColorBy, Colors};
use crate::ui::settings::RulerOrigin;

/// The state of a timeline in the file of its capture.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedTimeline {
    /// The first nanosecond in view.
    pub(crate) start_ns: i64,
    /// The first that is not.
    pub(crate) end_ns: i64,
    /// How far the rows were scrolled, as a part of their height: that depends on the screen.
    pub(crate) scrolled_part: f64,
    pub(crate) arrangement: Arrangement,
    pub(crate) marks: Bookmarks,
    /// The time that the ruler counted from.
    pub(crate) ruler_origin: RulerOrigin,
    /// The colour scheme; `None` in files of versions that did not save it.
    pub(crate) color_by: Option<ColorBy>,
    /// The scopes that the user has saved.
    pub(crate) scopes: Vec<NamedScope>,
    /// The derived tracks, which are made again.
    pub(crate) derived: Vec<SavedDerived>,
}

impl Timeline {
    /// The state to save for the next time.
    #[must_use]
    pub fn to_keep(&self) -> SavedTimeline {
        let view = self.view.target();
        #[expect(clippy::cast_precision_loss, reason = "a part of some million pixels")]
        let rows_px = (self.rows.layout.height_px() as f64).max(1.0);
        SavedTimeline {
            start_ns: view.start_ns(),
            end_ns: view.end_ns(),
            scrolled_part: self.view.now().scroll_px() / rows_px,
            arrangement: self.tracks.arrangement().clone(),
            marks: self.overlays.bookmarks().clone(),
            ruler_origin: self.overlays.ruler_origin(),
            color_by: Some(self.colors().by),
            scopes: self.selection.saved().to_vec(),
            derived: self.derived.to_keep(),
        }
    }

    /// The first nanosecond in view, the first that is not, and how far the rows are scrolled, in pixels.
    #[must_use]
    pub(crate) fn place_in_view(&self) -> (i64, i64, f64) {
        let view = self.view.target();
        (view.start_ns(), view.end_ns(), self.view.now().scroll_px())
    }

    /// Whether the user has neither moved it nor arranged anything yet.
    #[must_use]
    pub(crate) fn is_untouched(&self) -> bool {
        self.view.is_untouched()
            && *self.tracks.arrangement() == Arrangement::default()
            && self.overlays.bookmarks().all().is_empty()
            && self.selection.saved().is_empty()
            && self.derived().is_empty()
    }

    /// Restores a saved timeline; returns the layout to do in the background.
    #[must_use]
    pub fn restore(&mut self, saved: SavedTimeline) -> Option<ArrangeJob> {
        self.overlays.restore(saved.marks, saved.ruler_origin);
        if let Some(by) = saved.color_by {
            self.set_colors(Colors { by, ..self.colors() });
        }
        *self.selection.saved_mut() = saved.scopes;
        self.selection.saved_mut().truncate(NAMED_SCOPES_MAX);
        self.derived.restore(&saved.derived, &self.snapshot);
        // The width of the screen is not known before the first frame.
        self.view.show_when_sized(saved.start_ns, saved.end_ns);
        self.tracks.restore(saved.arrangement, saved.scrolled_part);
        self.arrange()
    }
}

//! The part of a timeline that is saved until its trace is opened again: view, arrangement of rows, bookmarks, scopes,
//! the selected span, derived tracks and groups of the user. The open panels and the search are saved with it.

use serde::{Deserialize, Serialize};

use super::derived::SavedDerived;
use super::edit_history::EditHistory;
use super::named_scopes::{NAMED_SCOPES_MAX, NamedScope, SavedScope};
use super::saved_span::{SavedSpan, read_if_known};
use super::state::Timeline;
use crate::base::merged::{merged_list, merged_value};
use crate::query::track_map::TrackMap;
use crate::scene::arrange::Arrangement;
use crate::scene::bookmarks::Bookmarks;
use crate::scene::custom_groups::{CustomGroups, SavedCustomGroup};
use crate::scene::palette::{ColorBy, Colors};
use crate::ui::panel::{OpenPanels, SavedPanels, SavedSearch};
use crate::ui::settings::RulerOrigin;

/// The saved state of a timeline.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedTimeline {
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    /// Scroll position as a fraction of the height of all rows, independent of the screen.
    pub(crate) scrolled_part: f64,
    pub(crate) arrangement: Arrangement,
    pub(crate) marks: Bookmarks,
    pub(crate) ruler_origin: RulerOrigin,
    /// Colour scheme; `None` in files of versions that did not save it.
    pub(crate) color_by: Option<ColorBy>,
    /// Scopes that the user has saved under a name.
    pub(crate) scopes: Vec<NamedScope>,
    /// The derived tracks, which are computed again.
    pub(crate) derived: Vec<SavedDerived>,
    /// The groups of tracks that the user has made.
    pub(crate) custom_groups: Vec<SavedCustomGroup>,
    /// The current scope; the whole trace in files of versions that did not save it.
    pub(crate) scope: SavedScope,
    #[serde(deserialize_with = "read_if_known")]
    pub(crate) selected: Option<SavedSpan>,
    /// The open panels; `None` in files of versions that did not save them.
    pub(crate) panels: Option<OpenPanels>,
    /// The typed search, whether its panel is open or not.
    pub(crate) search: SavedSearch,
}

impl SavedTimeline {
    /// Returns `saved` with what one window has changed between `before` and `now`. The rest stays as another window of
    /// the same trace has saved it.
    #[must_use]
    pub(crate) fn merged(saved: Self, before: &Self, now: &Self) -> Self {
        let view = |state: &Self| (state.start_ns, state.end_ns, state.scrolled_part);
        let (start_ns, end_ns, scrolled_part) = merged_value(view(&saved), &view(before), &view(now));
        Self {
            start_ns,
            end_ns,
            scrolled_part,
            arrangement: Arrangement::merged(saved.arrangement, &before.arrangement, &now.arrangement),
            marks: Bookmarks::merged(saved.marks, &before.marks, &now.marks),
            ruler_origin: merged_value(saved.ruler_origin, &before.ruler_origin, &now.ruler_origin),
            color_by: merged_value(saved.color_by, &before.color_by, &now.color_by),
            scopes: merged_list(saved.scopes, &before.scopes, &now.scopes, |a, b| a.name == b.name),
            derived: merged_list(saved.derived, &before.derived, &now.derived, SavedDerived::has_same_rows),
            custom_groups: {
                let has_same_tracks = SavedCustomGroup::has_same_tracks;
                merged_list(saved.custom_groups, &before.custom_groups, &now.custom_groups, has_same_tracks)
            },
            scope: merged_value(saved.scope, &before.scope, &now.scope),
            selected: merged_value(saved.selected, &before.selected, &now.selected),
            search: merged_value(saved.search, &before.search, &now.search),
            panels: {
                // A window that found no saved panels started with the initial panels.
                let before = before.panels.clone().or_else(|| Some(OpenPanels::initial()));
                merged_value(saved.panels, &before, &now.panels)
            },
        }
    }

    /// Returns the state for another import of the trace, without tracks that are not there. A scope of such tracks
    /// becomes the whole trace.
    #[must_use]
    pub(crate) fn mapped(self, map: &TrackMap) -> Self {
        Self {
            arrangement: self.arrangement.mapped(map),
            scopes: self.scopes.into_iter().filter_map(|scope| scope.mapped(map)).collect(),
            derived: self.derived.into_iter().filter_map(|derived| derived.mapped(map)).collect(),
            custom_groups: self.custom_groups.into_iter().filter_map(|group| group.mapped(map)).collect(),
            scope: self.scope.mapped_or_of_all(map),
            ..self
        }
    }

    /// Returns the saved panels; `None` in files of versions that did not save them.
    #[must_use]
    pub(crate) fn saved_panels(&self) -> Option<SavedPanels> {
        Some(SavedPanels { open: self.panels.clone()?, search: self.search.clone() })
    }

    /// Returns the state without bookmarks, ruler and colours, which [`Self::view`] has.
    #[must_use]
    pub(crate) fn without_view(self) -> Self {
        Self { marks: Bookmarks::default(), ruler_origin: RulerOrigin::default(), color_by: None, ..self }
    }

    /// Returns the part that names no tracks.
    #[must_use]
    pub(crate) fn view(&self) -> Self {
        Self {
            start_ns: self.start_ns,
            end_ns: self.end_ns,
            scrolled_part: self.scrolled_part,
            marks: self.marks.clone(),
            ruler_origin: self.ruler_origin,
            color_by: self.color_by,
            ..Self::default()
        }
    }
}

impl Timeline {
    /// Returns the state to save, without the panels and the search.
    #[must_use]
    pub fn to_saved(&self) -> SavedTimeline {
        let view = self.view.target();
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
            derived: self.derived.to_saved(),
            custom_groups: {
                let Arrangement { custom_groups, folded, .. } = self.tracks.arrangement();
                custom_groups.to_saved(|group| folded.custom_groups.contains(&group))
            },
            scope: SavedScope::new(self.selection.scope()),
            selected: self.selection.span().map(|row| SavedSpan::new(&self.snapshot, row)),
            panels: None,
            search: SavedSearch::default(),
        }
    }

    /// Returns the first nanosecond in view, the first after it, and the scroll offset in pixels.
    #[must_use]
    pub(crate) fn view_position(&self) -> (i64, i64, f64) {
        let view = self.view.target();
        (view.start_ns(), view.end_ns(), self.view.now().scroll_px())
    }

    /// Restores a saved timeline, except for what the user has changed since the trace was opened. The trace may have
    /// been opened long before all of it is sorted.
    pub fn restore(&mut self, saved: SavedTimeline) {
        // Undoing an earlier edit would remove what is restored.
        self.edits = EditHistory::default();
        self.overlays.restore(saved.marks, saved.ruler_origin);
        let scopes = self.selection.saved_mut();
        *scopes = merged_list(saved.scopes, &[], scopes, |a, b| a.name == b.name);
        scopes.truncate(NAMED_SCOPES_MAX);
        if self.selection.scope().is_whole() {
            self.selection.set_scope(saved.scope.to_scope(self.snapshot.tracks().tracks.len()), &self.snapshot);
        }
        if self.selection.span().is_none() {
            // The restored view stays, even if the span is not in it.
            self.selection.select(saved.selected.and_then(|span| span.find_in(&self.snapshot)));
        }
        self.derived.restore(&saved.derived, &self.snapshot);
        let is_unmoved = self.view.is_untouched();
        if is_unmoved {
            // The width of the screen is unknown before the first frame.
            self.view.show_when_sized(saved.start_ns, saved.end_ns);
        }
        if let Some(by) = saved.color_by {
            self.set_colors(Colors { by, ..self.colors() });
        }
        let (now, track_count) = (self.to_saved(), self.snapshot.tracks().tracks.len());
        let mut arrangement = Arrangement::merged(saved.arrangement, &Arrangement::default(), &now.arrangement);
        arrangement.drop_missing_counters(track_count);
        self.tracks.restore(arrangement, is_unmoved.then_some(saved.scrolled_part));
        let has_same_tracks = SavedCustomGroup::has_same_tracks;
        let groups = merged_list(saved.custom_groups, &[], &now.custom_groups, has_same_tracks);
        let (groups, folded) = CustomGroups::from_saved(groups, track_count);
        self.tracks.set_groups(groups, folded);
        self.arrange();
    }
}

//! A still copy of a timeline for pictures: the same time range, rows, selection, bookmarks and filter, without effects
//! of the pointer.

use std::sync::Arc;

use egui::{Ui, Vec2};

use super::state::Timeline;
use super::view::ViewState;
use crate::base::cancel::Cancel;
use crate::frame::filtered::Filtered;
use crate::ui::settings::Navigation;
use crate::ui::theme::Theme;

impl Timeline {
    /// Returns a still copy with `times` as many pixels across and down. Its frames wait for all their tiles.
    #[must_use]
    pub(crate) fn still(&self, times: f64) -> Self {
        let mut still = Self::with_pool(self.snapshot.clone(), self.budget, self.shade, Navigation::STILL, None);
        still.view = ViewState::new(self.view.now().magnified(times), Navigation::STILL);
        still.pinned_scroll_px = self.pinned_scroll_px * times;
        still.tracks = self.tracks.arranged_alike();
        still.selection.select(self.selection.span());
        still.selection.set_scope(self.selection.scope().clone(), &self.snapshot);
        still.overlays = self.overlays.clone();
        still.derived = self.derived.still();
        still.derived_pane.wait_for_all();
        still.gutter_points = self.gutter_points;
        still.set_colors(self.colors());
        if let Some(summary) = self.overlays.summary() {
            still.set_trace_summary(Arc::clone(summary));
        }
        still
    }

    /// Returns the size of the last frame in points, and the pixels per point.
    #[must_use]
    pub(crate) fn shown_size(&self) -> (Vec2, f32) {
        (self.size_points, self.scale())
    }

    /// Shows the timeline, and waits for the missing matches of the filter.
    pub(crate) fn show_still(&mut self, ui: &mut Ui, theme: &Theme) {
        self.show(ui, theme);
        if let Some((matcher, in_view)) = self.unfiltered()
            && let Ok(filtered) = Filtered::find(matcher, &self.snapshot, in_view, &Cancel::default())
        {
            self.set_matching(&Arc::new(filtered));
        }
    }
}

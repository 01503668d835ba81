//! The row at the top of the view, which stays there while rows are folded and unfolded, or change their heights.

use super::state::Timeline;
use super::tracks::RowAnchor;
#[cfg(test)]
use crate::model::TrackIdx;
use crate::scene::rows::GroupKind;

impl Timeline {
    /// Returns the first row in view; `None` if the rows are scrolled to their top.
    pub(super) fn row_anchor(&self) -> Option<RowAnchor> {
        if self.view.now().scroll_px() <= 0.0 {
            return None;
        }
        let (top_px, _) = self.view.now().pixels_in_view();
        let first = *self.rows.layout.groups_within(top_px, top_px + 1).first()?;
        let above_px = top_px.saturating_sub(first.top_px);
        Some(RowAnchor { kind: first.kind, above_px, height_px: first.height_px.into() })
    }

    /// Returns the group of the first row in view.
    #[cfg(test)]
    pub(crate) fn first_row(&self) -> Option<GroupKind> {
        self.row_anchor().map(|anchor| anchor.kind)
    }

    /// Returns whether a track is among the rows.
    #[cfg(test)]
    pub(crate) fn is_laid_out(&self, track: TrackIdx) -> bool {
        self.rows.layout.group_of(GroupKind::Track(track)).is_some()
    }

    /// Scrolls a row back to where it was. If it was folded, or is in a folded group or process, scrolls to the header,
    /// below the sticky header of its process.
    pub(super) fn return_to_anchor(&mut self, anchor: RowAnchor, folded: Option<GroupKind>) {
        let header = self.header_of(anchor.kind);
        let row = {
            let mut kinds = std::iter::once(anchor.kind).chain(self.groups_around(anchor.kind)).chain([header]);
            kinds.find_map(|kind| self.rows.layout.group_of(kind))
        };
        let Some(row) = row else { return };
        let top_px = if row.kind == anchor.kind && folded != Some(anchor.kind) {
            // At another height, the same part of the row is above the view.
            row.top_px + anchor.above_px * u64::from(row.height_px) / anchor.height_px.max(1)
        } else if row.kind == header {
            row.top_px
        } else {
            let header_px = self.rows.layout.group_of(header).map_or(0, |header| header.height_px);
            row.top_px.saturating_sub(u64::from(header_px))
        };
        self.scroll_to(top_px as f64);
    }
}

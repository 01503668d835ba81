//! The headers of groups among the rows. A group may contain others, so the header of a group is followed by its tracks
//! and by the headers of its inner groups.

use std::ops::Range;

use super::lanes::LanesOfTrack;
use super::{Folded, NOWHERE, RowLayout, RowOfLayout};
use crate::model::TrackIdx;
use crate::query::track_groups::{GroupId, TrackGroup};

/// The header of a group; its tracks and the headers of its inner groups are the following rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HeadOfGroup {
    pub(super) id: GroupId,
    pub(super) section_index: u32,
    /// The index among the rows of the header of the group that contains this group, or [`NOWHERE`].
    pub(super) outer_index: u32,
    /// Number of following rows in the group.
    pub(super) rows: u32,
    pub(super) tracks: u32,
    pub(super) hidden_tracks: u32,
    pub(super) folded: bool,
    pub(super) in_folded_group: bool,
}

impl HeadOfGroup {
    /// Returns the indices of the group's tracks and of the headers of its inner groups.
    pub(super) fn members(&self, index: usize) -> Range<usize> {
        index + 1..index + 1 + self.rows as usize
    }

    /// Returns whether the rows below are hidden by a folded group.
    pub(super) fn covers(&self) -> bool {
        self.folded || self.in_folded_group
    }
}

impl RowLayout {
    /// Returns the number of tracks in a group that are neither filtered out nor hidden.
    #[must_use]
    pub(crate) fn shown_tracks(&self, group: GroupId) -> Option<u32> {
        self.head_of(group).map(|(_, head)| head.tracks - head.hidden_tracks)
    }

    /// Returns whether a track is below the header of a group.
    #[must_use]
    pub(crate) fn is_in_group(&self, track: TrackIdx) -> bool {
        self.lanes_of(track).is_some_and(|(_, lanes)| lanes.head_index != NOWHERE)
    }

    /// Returns the index of the header of a group that the next track is in. Unless the last track is in the group,
    /// adds the header, below the headers of the groups that contain it.
    pub(super) fn head_for(
        &mut self,
        group: &TrackGroup,
        section_index: u32,
        outer_of: &impl Fn(GroupId) -> Option<TrackGroup>,
        folded: &Folded,
    ) -> u32 {
        let mut above = match self.rows.last() {
            Some(RowOfLayout::Track(last)) if last.section_index == section_index => last.head_index,
            Some(RowOfLayout::Head(_) | RowOfLayout::Track(_)) | None => NOWHERE,
        };
        while let Some(head) = self.head_at(above) {
            if head.id == group.id {
                return above;
            }
            above = head.outer_index;
        }
        let outer = outer_of(group.id);
        let outer_index = outer.map_or(NOWHERE, |outer| self.head_for(&outer, section_index, outer_of, folded));
        let index = self.rows.len() as u32;
        self.rows.push(RowOfLayout::Head(HeadOfGroup {
            id: group.id,
            section_index,
            outer_index,
            rows: 0,
            tracks: 0,
            hidden_tracks: 0,
            folded: folded.has_group(group),
            in_folded_group: self.head_at(outer_index).is_some_and(|head| head.covers()),
        }));
        self.index_of_head.insert(group.id, index);
        index
    }

    /// Counts the next track into the groups of a header.
    pub(super) fn join(&mut self, head_index: u32, is_hidden: bool) {
        let (mut above, end) = (head_index, self.rows.len() as u32);
        while let Some(head) = self.head_at_mut(above) {
            head.rows = end - above;
            head.tracks += 1;
            head.hidden_tracks += u32::from(is_hidden);
            above = head.outer_index;
        }
    }

    /// Hides the rows below a header that are in a folded group, and shows the others.
    pub(super) fn cover_rows(&mut self, members: Range<usize>) {
        for index in members {
            let (RowOfLayout::Head(HeadOfGroup { outer_index: above, .. })
            | RowOfLayout::Track(LanesOfTrack { head_index: above, .. })) = self.rows[index];
            let is_covered = self.head_at(above).is_some_and(|head| head.covers());
            match &mut self.rows[index] {
                RowOfLayout::Head(head) => head.in_folded_group = is_covered,
                RowOfLayout::Track(lanes) => lanes.in_folded_group = is_covered,
            }
            self.measure_row(index);
        }
    }

    /// Counts a track that is hidden, or no longer hidden, in the headers above it.
    pub(super) fn count_hidden(&mut self, head_index: u32, hidden: bool) {
        let mut above = head_index;
        while let Some(head) = self.head_at_mut(above) {
            head.hidden_tracks = if hidden { head.hidden_tracks + 1 } else { head.hidden_tracks - 1 };
            let outer_index = head.outer_index;
            self.measure_row(above as usize);
            above = outer_index;
        }
    }

    pub(super) fn head_of(&self, group: GroupId) -> Option<(usize, HeadOfGroup)> {
        let index = *self.index_of_head.get(&group)?;
        Some((index as usize, self.head_at(index)?))
    }

    pub(super) fn head_at(&self, index: u32) -> Option<HeadOfGroup> {
        match self.rows.get(index as usize)? {
            RowOfLayout::Head(head) => Some(*head),
            RowOfLayout::Track(_) => None,
        }
    }

    pub(super) fn head_at_mut(&mut self, index: u32) -> Option<&mut HeadOfGroup> {
        match self.rows.get_mut(index as usize)? {
            RowOfLayout::Head(head) => Some(head),
            RowOfLayout::Track(_) => None,
        }
    }
}

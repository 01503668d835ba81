//! The vertical layout of headers, tracks and lanes. A section is a process, or a group that the user has made. It may
//! contain groups of the trace, and these may contain others. The layout is built once for an order of the tracks.
//! Folding, unfolding and hiding take O(log n) per affected track, and a frame only searches the layout. So a million
//! lanes cost a frame no more than ten.

mod extents;
mod heads;
mod heights;
mod lanes;
mod moved_lanes;

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use heads::HeadOfGroup;
pub use heights::RowHeights;
pub(crate) use heights::{LEGEND_POINTS, TrackDensity};
pub(crate) use lanes::LaneRow;
use lanes::LanesOfTrack;
use moved_lanes::MovedLanes;

use super::custom_groups::CustomGroupId;
use super::fenwick_heights::FenwickHeights;
use super::viewport::Viewport;
use crate::base::merged::merged_set;
use crate::model::{ProcessIdx, TrackIdx};
use crate::query::track_groups::{GroupId, TrackGroup};
use crate::query::track_map::TrackMap;
use crate::store::lane::{LaneIdx, LaneKind};

/// The processes, groups and tracks that the user has folded or hidden.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Folded {
    /// Folded processes, which show only their header.
    pub(crate) processes: FxHashSet<ProcessIdx>,
    /// Groups that differ from their initial state.
    #[serde(default)]
    pub(crate) toggled_groups: FxHashSet<GroupId>,
    /// Folded tracks, which show only their outermost spans.
    pub(crate) tracks: FxHashSet<TrackIdx>,
    /// Folded groups of the user, which are saved with the groups.
    #[serde(skip)]
    pub(crate) custom_groups: FxHashSet<CustomGroupId>,
    pub(crate) hidden: FxHashSet<TrackIdx>,
}

impl Folded {
    /// Returns `saved` with what one window has changed between `before` and `now`.
    pub(super) fn merged(saved: Self, before: &Self, now: &Self) -> Self {
        Self {
            processes: merged_set(saved.processes, &before.processes, &now.processes),
            toggled_groups: merged_set(saved.toggled_groups, &before.toggled_groups, &now.toggled_groups),
            tracks: merged_set(saved.tracks, &before.tracks, &now.tracks),
            custom_groups: now.custom_groups.clone(),
            hidden: merged_set(saved.hidden, &before.hidden, &now.hidden),
        }
    }

    /// Returns the same tracks and processes in another import of the trace.
    pub(super) fn mapped(&self, map: &TrackMap) -> Self {
        let mapped = |tracks: &FxHashSet<TrackIdx>| tracks.iter().filter_map(|&track| map.track(track)).collect();
        Self {
            processes: self.processes.iter().filter_map(|&process| map.process(process)).collect(),
            toggled_groups: self.toggled_groups.iter().filter_map(|&group| map.group(group)).collect(),
            tracks: mapped(&self.tracks),
            custom_groups: self.custom_groups.clone(),
            hidden: mapped(&self.hidden),
        }
    }

    /// Returns whether only the header of a group is shown.
    #[must_use]
    pub(crate) fn has_group(&self, group: &TrackGroup) -> bool {
        group.starts_folded() != self.toggled_groups.contains(&group.id)
    }
}

/// A track to lay out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrackRows {
    /// Index of the track in the snapshot's tables.
    pub track: TrackIdx,
    /// The process of the track.
    pub process: ProcessIdx,
    /// The group of the user that shows the track instead of its process.
    pub custom_group: Option<CustomGroupId>,
    /// Its lanes in the store's table: instants, samples, counters, spans, flows.
    pub lanes: Range<u32>,
    /// The innermost group of the track. Tracks of a group are adjacent.
    pub group: Option<TrackGroup>,
    /// Whether it starts folded, like a counter that is always zero.
    pub starts_folded: bool,
    /// Number of counters that share the row; 0 for a single counter.
    pub curves: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum GroupKind {
    /// The header of a process.
    Process(ProcessIdx),
    /// The header of a group that the user has made.
    Custom(CustomGroupId),
    /// The header of a group of tracks.
    Tracks(GroupId),
    /// All visible lanes of a track.
    Track(TrackIdx),
}

/// The tracks below one header of the outermost level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum RowSection {
    /// A group that the user has made.
    Custom(CustomGroupId),
    /// A process, without the tracks in groups of the user.
    Process(ProcessIdx),
}

impl TrackRows {
    /// Returns the section that shows the track.
    #[must_use]
    pub(crate) fn section(&self) -> RowSection {
        self.custom_group.map_or(RowSection::Process(self.process), RowSection::Custom)
    }
}

impl RowSection {
    #[must_use]
    pub(crate) fn header(self) -> GroupKind {
        match self {
            Self::Custom(group) => GroupKind::Custom(group),
            Self::Process(process) => GroupKind::Process(process),
        }
    }
}

/// A header, or a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) kind: GroupKind,
    /// Distance from the top of all rows.
    pub(crate) top_px: u64,
    pub(crate) height_px: u32,
    /// Number of hidden lanes of a track, or of hidden tracks of a section or group.
    pub(crate) folded_lanes: u32,
}

/// All rows, top to bottom.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowLayout {
    heights: Option<RowHeights>,
    has_headers: bool,
    sections: Vec<SectionRows>,
    rows: Vec<RowOfLayout>,
    /// By index in `sections`: the header and, unless it is folded, the rows.
    section_sums: FenwickHeights,
    /// By index in `rows`: the heights, even in folded sections.
    row_sums: FenwickHeights,
    /// By track: its index in `rows`, or [`NOWHERE`].
    index_of_track: Vec<u32>,
    /// By group: the index of its header in `rows`.
    index_of_head: FxHashMap<GroupId, u32>,
    /// By process: its index in `sections`, or [`NOWHERE`].
    index_of_process: Vec<u32>,
    /// By group of the user: its index in `sections`.
    index_of_custom: FxHashMap<CustomGroupId, u32>,
    /// Where the lanes are in a later snapshot, if one is shown.
    moved: Option<MovedLanes>,
}

/// The index of a track or process that is not laid out.
const NOWHERE: u32 = u32::MAX;

/// A section with visible tracks.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SectionRows {
    section: RowSection,
    /// Its group headers and tracks, as a range of the list of rows.
    rows: Range<u32>,
    tracks: u32,
    /// 0 while all of its tracks are hidden.
    header_px: u32,
    folded: bool,
}

/// A row below the header of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowOfLayout {
    Head(HeadOfGroup),
    Track(LanesOfTrack),
}

impl RowLayout {
    /// Lays out tracks in the given order, in which the tracks of a section are adjacent, with a header above each
    /// section. `outer_of` returns the group that contains a group. Takes O(n): a window does it in the background for
    /// many tracks.
    pub fn new(
        tracks: impl IntoIterator<Item = TrackRows>,
        kind_of: impl Fn(LaneIdx) -> LaneKind,
        outer_of: impl Fn(GroupId) -> Option<TrackGroup>,
        folded: &Folded,
        heights: &RowHeights,
    ) -> Self {
        let mut layout = Self { heights: Some(*heights), has_headers: true, ..Self::default() };
        layout.push_tracks(tracks, kind_of, outer_of, folded);
        for rows in &mut layout.sections {
            rows.folded = match rows.section {
                RowSection::Custom(group) => folded.custom_groups.contains(&group),
                RowSection::Process(process) => folded.processes.contains(&process),
            };
        }
        layout.add_up();
        layout
    }

    /// Lays out tracks in the given order without headers, for pinned rows.
    pub(crate) fn without_headers(
        tracks: impl IntoIterator<Item = TrackRows>,
        kind_of: impl Fn(LaneIdx) -> LaneKind,
        folded: &Folded,
        heights: &RowHeights,
    ) -> Self {
        let mut layout = Self { heights: Some(*heights), ..Self::default() };
        layout.push_tracks(tracks, kind_of, |_| None, folded);
        layout.add_up();
        layout
    }

    /// Returns the height of all rows.
    #[must_use]
    pub(crate) fn height_px(&self) -> u64 {
        self.section_sums.total()
    }

    /// Returns the headers and tracks that touch `[top_px, bottom_px)`. Work is bounded by these; rows without
    /// height, such as hidden tracks, are skipped by a search.
    #[must_use]
    pub(crate) fn groups_within(&self, top_px: u64, bottom_px: u64) -> Vec<Group> {
        let mut groups = Vec::new();
        let mut index = self.section_sums.at(top_px);
        while let Some(section) = self.sections.get(index) {
            let header_top_px = self.section_sums.before(index);
            if header_top_px >= bottom_px {
                break;
            }
            let tracks_top_px = header_top_px + u64::from(section.header_px);
            if section.header_px > 0 && tracks_top_px > top_px {
                groups.push(self.header_group(index, header_top_px));
            }
            if !section.folded {
                self.rows_within(section, tracks_top_px, top_px..bottom_px, &mut groups);
            }
            index = self.section_sums.at(header_top_px + u64::from(self.section_sums.height(index)));
        }
        groups
    }

    /// Adds the rows of a section that touch some pixels. Its first row starts at `rows_top_px`.
    fn rows_within(&self, section: &SectionRows, rows_top_px: u64, pixels: Range<u64>, groups: &mut Vec<Group>) {
        let before_px = self.row_sums.before(section.rows.start as usize);
        let mut index = self.row_sums.at(before_px + pixels.start.saturating_sub(rows_top_px));
        while index < section.rows.end as usize {
            let within_px = self.row_sums.before(index) - before_px;
            if rows_top_px + within_px >= pixels.end {
                break;
            }
            groups.push(self.row_group(index, rows_top_px + within_px));
            index = self.row_sums.at(before_px + within_px + u64::from(self.row_sums.height(index)));
        }
    }

    /// Returns the lanes that touch `[top_px, bottom_px)`.
    #[must_use]
    pub(crate) fn lanes_within(&self, top_px: u64, bottom_px: u64) -> Vec<LaneRow> {
        let mut rows = Vec::new();
        for group in self.groups_within(top_px, bottom_px) {
            let GroupKind::Track(track) = group.kind else { continue };
            let Some((_, lanes)) = self.lanes_of(track) else { continue };
            let heights = self.heights_px();
            let inside_px = |y_px: u64| y_px.saturating_sub(group.top_px);
            rows.extend(lanes.within(group.top_px, inside_px(top_px)..inside_px(bottom_px), &heights));
        }
        if let Some(moved) = &self.moved {
            rows = rows.into_iter().filter_map(|row| Some(LaneRow { lane: moved.shown(row.lane)?, ..row })).collect();
        }
        rows
    }

    /// Returns the lanes with at least a pixel in view.
    #[must_use]
    pub(crate) fn lanes_in_view(&self, view: &Viewport) -> Vec<LaneRow> {
        let (top_px, bottom_px) = view.pixels_in_view();
        self.lanes_within(top_px, bottom_px)
    }

    /// Returns the position of a lane, if it is visible.
    #[must_use]
    pub(crate) fn row_of(&self, lane: LaneIdx, track: TrackIdx) -> Option<LaneRow> {
        let group = self.group_of(GroupKind::Track(track))?;
        let laid_out = self.moved.as_ref().map_or(Some(lane), |moved| moved.laid_out(lane))?;
        let row = self.lanes_of(track)?.1.row(laid_out, group.top_px, &self.heights_px())?;
        Some(LaneRow { lane, ..row })
    }

    /// Returns the position of a process header, a group header or a track, if it is visible.
    #[must_use]
    pub(crate) fn group_of(&self, kind: GroupKind) -> Option<Group> {
        match kind {
            GroupKind::Custom(_) | GroupKind::Process(_) => {
                let index = self.index_of_section(kind)?;
                (self.sections[index].header_px > 0).then(|| self.header_group(index, self.section_sums.before(index)))
            }
            GroupKind::Tracks(group) => self.shown_row(self.head_of(group)?.0),
            GroupKind::Track(track) => self.shown_row(self.lanes_of(track)?.0),
        }
    }

    /// Returns a row that has a height, unless its section is folded.
    fn shown_row(&self, index: usize) -> Option<Group> {
        let section_index = self.rows[index].section_index();
        let section = &self.sections[section_index];
        if section.folded || self.row_sums.height(index) == 0 {
            return None;
        }
        let within_px = self.row_sums.before(index) - self.row_sums.before(section.rows.start as usize);
        let top_px = self.section_sums.before(section_index) + u64::from(section.header_px) + within_px;
        Some(self.row_group(index, top_px))
    }

    /// Returns the tracks of a process or group, or the one track, in display order, including hidden ones.
    #[must_use]
    pub(crate) fn tracks_of(&self, kind: GroupKind) -> Vec<TrackIdx> {
        let indices = match kind {
            GroupKind::Custom(_) | GroupKind::Process(_) => {
                let range = self.index_of_section(kind).map_or(0..0, |index| self.sections[index].rows.clone());
                range.start as usize..range.end as usize
            }
            GroupKind::Tracks(group) => self.head_of(group).map_or(0..0, |(index, head)| head.members(index)),
            GroupKind::Track(track) => return vec![track],
        };
        let tracks = self.rows[indices].iter().filter_map(|row| match row {
            RowOfLayout::Track(lanes) => Some(lanes.track),
            RowOfLayout::Head(_) => None,
        });
        tracks.collect()
    }

    /// Returns whether a process, a group or a track is folded.
    #[must_use]
    pub(crate) fn is_folded(&self, kind: GroupKind) -> bool {
        match kind {
            GroupKind::Custom(_) | GroupKind::Process(_) => {
                self.index_of_section(kind).is_some_and(|index| self.sections[index].folded)
            }
            GroupKind::Tracks(group) => self.head_of(group).is_some_and(|(_, head)| head.folded),
            GroupKind::Track(track) => self.lanes_of(track).is_some_and(|(_, lanes)| lanes.folded),
        }
    }

    /// Folds or unfolds a process, a group or a track.
    pub(crate) fn set_folded(&mut self, kind: GroupKind, folded: bool) {
        match kind {
            GroupKind::Custom(_) | GroupKind::Process(_) => {
                if let Some(index) = self.index_of_section(kind) {
                    self.sections[index].folded = folded;
                    self.update_section(index);
                }
            }
            GroupKind::Tracks(group) => {
                if let Some((index, head)) = self.head_of(group) {
                    self.rows[index] = RowOfLayout::Head(HeadOfGroup { folded, ..head });
                    self.cover_rows(head.members(index));
                    self.update_row(index);
                }
            }
            GroupKind::Track(track) => {
                if let Some((index, lanes)) = self.lanes_of(track) {
                    self.rows[index] = RowOfLayout::Track(LanesOfTrack { folded, ..lanes });
                    self.update_row(index);
                }
            }
        }
    }

    /// Hides a track or shows it again. A group whose tracks are all hidden has no header.
    pub(crate) fn set_hidden(&mut self, track: TrackIdx, hidden: bool) {
        let Some((index, lanes)) = self.lanes_of(track) else { return };
        self.rows[index] = RowOfLayout::Track(LanesOfTrack { hidden, ..lanes });
        self.measure_row(index);
        if lanes.hidden != hidden {
            self.count_hidden(lanes.head_index, hidden);
        }
        self.update_row(index);
    }

    fn push_tracks(
        &mut self,
        tracks: impl IntoIterator<Item = TrackRows>,
        kind_of: impl Fn(LaneIdx) -> LaneKind,
        outer_of: impl Fn(GroupId) -> Option<TrackGroup>,
        folded: &Folded,
    ) {
        for track in tracks {
            let count = |kind: LaneKind| {
                let end = lanes::partition_point(track.lanes.clone(), |lane| kind_of(LaneIdx(lane)) <= kind);
                end - track.lanes.start
            };
            let kinds = [LaneKind::Instants, LaneKind::Samples, LaneKind::Counter, LaneKind::Spans];
            // Cumulative numbers of lanes by kind.
            let [instants, samples, counters, spans] = kinds.map(count);
            if spans == 0 {
                continue; // only flows, which have no rows
            }
            let section = track.section();
            if self.sections.last().is_none_or(|last| last.section != section) {
                let (start, index) = (self.rows.len() as u32, self.sections.len());
                match section {
                    RowSection::Custom(group) => drop(self.index_of_custom.insert(group, index as u32)),
                    RowSection::Process(process) => set_index(&mut self.index_of_process, process.index(), index),
                }
                self.sections.push(SectionRows { section, rows: start..start, tracks: 0, header_px: 0, folded: false });
            }
            let section_index = (self.sections.len() - 1) as u32;
            let hidden = folded.hidden.contains(&track.track);
            let group = track.group.filter(|_| self.has_headers);
            let head_index = group.map_or(NOWHERE, |group| self.head_for(&group, section_index, &outer_of, folded));
            self.join(head_index, hidden);
            set_index(&mut self.index_of_track, track.track.index(), self.rows.len());
            self.rows.push(RowOfLayout::Track(LanesOfTrack {
                track: track.track,
                section_index,
                head_index,
                first: track.lanes.start,
                instants,
                samples: samples - instants,
                counters: counters - samples,
                spans: spans - counters,
                folded: folded.tracks.contains(&track.track) != track.starts_folded,
                in_folded_group: self.head_at(head_index).is_some_and(|head| head.covers()),
                hidden,
                curves: track.curves,
            }));
            if let Some(section) = self.sections.last_mut() {
                section.rows.end = self.rows.len() as u32;
                section.tracks += 1;
            }
        }
    }

    fn add_up(&mut self) {
        let heights = self.heights_px();
        self.row_sums = FenwickHeights::new(self.rows.iter().map(|row| row.height_px(&heights)).collect());
        let sections = (0..self.sections.len()).map(|index| self.measure_section(index)).collect();
        self.section_sums = FenwickHeights::new(sections);
    }

    fn measure_row(&mut self, index: usize) {
        let height_px = self.rows[index].height_px(&self.heights_px());
        self.row_sums.set(index, height_px);
    }

    fn update_row(&mut self, index: usize) {
        self.measure_row(index);
        self.update_section(self.rows[index].section_index());
    }

    fn update_section(&mut self, index: usize) {
        let height_px = self.measure_section(index);
        self.section_sums.set(index, height_px);
    }

    /// Returns the height of a section, including its header if one of its tracks is visible.
    fn measure_section(&mut self, index: usize) -> u32 {
        let rows = self.sections[index].rows.clone();
        let rows_px = self.row_sums.before(rows.end as usize) - self.row_sums.before(rows.start as usize);
        let header_px = if rows_px > 0 && self.has_headers { self.heights_px().header_px } else { 0 };
        let section = &mut self.sections[index];
        section.header_px = header_px;
        let shown_px = if section.folded { 0 } else { rows_px };
        // Beyond 4 billion pixels, about 200 million lanes of one section, the last ones cannot be scrolled to.
        u32::try_from(shown_px + u64::from(header_px)).unwrap_or(u32::MAX)
    }

    fn header_group(&self, index: usize, top_px: u64) -> Group {
        let section = &self.sections[index];
        let folded_lanes = if section.folded { section.tracks } else { 0 };
        Group { kind: section.section.header(), top_px, height_px: section.header_px, folded_lanes }
    }

    fn row_group(&self, index: usize, top_px: u64) -> Group {
        let (kind, folded_lanes) = match &self.rows[index] {
            RowOfLayout::Head(head) => (GroupKind::Tracks(head.id), if head.folded { head.tracks } else { 0 }),
            RowOfLayout::Track(lanes) => (GroupKind::Track(lanes.track), lanes.spans - lanes.shown_spans()),
        };
        Group { kind, top_px, height_px: self.row_sums.height(index), folded_lanes }
    }

    fn lanes_of(&self, track: TrackIdx) -> Option<(usize, LanesOfTrack)> {
        let index = *self.index_of_track.get(track.index()).filter(|&&index| index != NOWHERE)? as usize;
        match self.rows[index] {
            RowOfLayout::Track(lanes) => Some((index, lanes)),
            RowOfLayout::Head(_) => None,
        }
    }

    /// Returns the index of the section with this header.
    fn index_of_section(&self, header: GroupKind) -> Option<usize> {
        let index = match header {
            GroupKind::Custom(group) => self.index_of_custom.get(&group),
            GroupKind::Process(process) => self.index_of_process.get(process.index()),
            GroupKind::Tracks(_) | GroupKind::Track(_) => None,
        };
        index.filter(|&&index| index != NOWHERE).map(|&index| index as usize)
    }

    fn heights_px(&self) -> RowHeights {
        self.heights.unwrap_or(RowHeights::at_scale(1.0))
    }
}

impl RowOfLayout {
    fn section_index(&self) -> usize {
        let (Self::Head(HeadOfGroup { section_index, .. }) | Self::Track(LanesOfTrack { section_index, .. })) = self;
        *section_index as usize
    }

    fn height_px(&self, heights: &RowHeights) -> u32 {
        match self {
            Self::Head(head) if head.in_folded_group || head.hidden_tracks == head.tracks => 0,
            Self::Head(_) => heights.track_min_px,
            Self::Track(lanes) => lanes.height_px(heights),
        }
    }
}

fn set_index(indices: &mut Vec<u32>, key: usize, index: usize) {
    if indices.len() <= key {
        indices.resize(key + 1, NOWHERE);
    }
    indices[key] = index as u32;
}

#[cfg(test)]
mod tests;

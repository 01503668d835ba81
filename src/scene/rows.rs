//! The vertical layout of process headers, group headers, tracks and lanes. It is built once for an order of the
//! tracks. Folding, unfolding and hiding take O(log n) per affected track, and a frame only searches the layout. So a
//! million lanes cost a frame no more than ten.

mod heights;
mod lanes;

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

pub use heights::RowHeights;
pub(crate) use heights::{LEGEND_POINTS, TrackDensity};
pub(crate) use lanes::LaneRow;
use lanes::LanesOfTrack;

use super::fenwick_heights::FenwickHeights;
use super::viewport::Viewport;
use crate::model::{ProcessIdx, TrackIdx};
use crate::query::track_groups::TrackGroup;
use crate::store::lane::{LaneIdx, LaneKind};

/// The processes, groups and tracks that the user has folded or hidden.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Folded {
    /// Folded processes, which show only their header.
    pub(crate) processes: FxHashSet<ProcessIdx>,
    /// Leads of the groups that differ from their initial state.
    #[serde(default)]
    pub(crate) toggled_groups: FxHashSet<TrackIdx>,
    /// Folded tracks, which show only their outermost spans.
    pub(crate) tracks: FxHashSet<TrackIdx>,
    pub(crate) hidden: FxHashSet<TrackIdx>,
}

impl Folded {
    /// Returns whether only the header of a group is shown.
    #[must_use]
    pub(crate) fn has_group(&self, group: &TrackGroup) -> bool {
        group.starts_folded() != self.toggled_groups.contains(&group.lead)
    }
}

/// A track to lay out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrackRows {
    /// Index of the track in the snapshot's tables.
    pub track: TrackIdx,
    /// The process of the track.
    pub process: ProcessIdx,
    /// Its lanes in the store's table: instants, samples, counters, spans, flows.
    pub lanes: Range<u32>,
    /// The group of the track. Tracks of a group are adjacent.
    pub group: Option<TrackGroup>,
    /// Whether it starts folded, like a counter that is always zero.
    pub starts_folded: bool,
    /// Number of counters that share its row; 0 if only its own.
    pub curves: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum GroupKind {
    /// The header of a process.
    Process(ProcessIdx),
    /// The header of a group of tracks, by its lead.
    Tracks(TrackIdx),
    /// All visible lanes of a track.
    Track(TrackIdx),
}

/// A process header, a group header, or a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) kind: GroupKind,
    /// Distance from the top of all rows.
    pub(crate) top_px: u64,
    pub(crate) height_px: u32,
    /// Number of hidden lanes of a track, or of hidden tracks of a process or group.
    pub(crate) folded_lanes: u32,
}

/// All rows, top to bottom.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowLayout {
    heights: Option<RowHeights>,
    has_headers: bool,
    processes: Vec<ProcessRows>,
    rows: Vec<RowOfLayout>,
    /// By index in `processes`: the header and, unless it is folded, the rows.
    process_sums: FenwickHeights,
    /// By index in `rows`: the heights, even in folded processes.
    row_sums: FenwickHeights,
    /// By track: its index in `rows`, or [`NOWHERE`].
    place_of_track: Vec<u32>,
    /// By the lead of a group: the index of its header in `rows`.
    place_of_head: FxHashMap<TrackIdx, u32>,
    /// By process: its index in `processes`, or [`NOWHERE`].
    place_of_process: Vec<u32>,
}

const NOWHERE: u32 = u32::MAX;

/// A process with visible tracks.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ProcessRows {
    process: ProcessIdx,
    /// Its group headers and tracks, as a range of the list of rows.
    rows: Range<u32>,
    tracks: u32,
    /// 0 while all of its tracks are hidden.
    header_px: u32,
    folded: bool,
}

/// A row below the header of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowOfLayout {
    Head(HeadOfGroup),
    Track(LanesOfTrack),
}

/// The header of a group; its tracks are the following rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HeadOfGroup {
    lead: TrackIdx,
    process_place: u32,
    tracks: u32,
    hidden_tracks: u32,
    folded: bool,
}

impl RowLayout {
    /// Lays out tracks in the given order, in which those of a process are adjacent, with a header above each process.
    /// Takes O(n): a window does it in the background for many tracks.
    pub fn new(
        tracks: impl IntoIterator<Item = TrackRows>,
        kind_of: impl Fn(LaneIdx) -> LaneKind,
        folded: &Folded,
        heights: &RowHeights,
    ) -> Self {
        let mut layout = Self { heights: Some(*heights), has_headers: true, ..Self::default() };
        layout.push_tracks(tracks, kind_of, folded);
        for process in &mut layout.processes {
            process.folded = folded.processes.contains(&process.process);
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
        layout.push_tracks(tracks, kind_of, folded);
        layout.add_up();
        layout
    }

    /// Returns the height of all rows.
    #[must_use]
    pub(crate) fn height_px(&self) -> u64 {
        self.process_sums.total()
    }

    /// Returns the process headers and tracks that touch `[top_px, bottom_px)`. Work is bounded by these; rows without
    /// height, such as hidden tracks, are skipped by a search.
    #[must_use]
    pub(crate) fn groups_within(&self, top_px: u64, bottom_px: u64) -> Vec<Group> {
        let mut groups = Vec::new();
        let mut place = self.process_sums.at(top_px);
        while let Some(process) = self.processes.get(place) {
            let header_top_px = self.process_sums.before(place);
            if header_top_px >= bottom_px {
                break;
            }
            let tracks_top_px = header_top_px + u64::from(process.header_px);
            if process.header_px > 0 && tracks_top_px > top_px {
                groups.push(self.header_group(place, header_top_px));
            }
            if !process.folded {
                self.rows_within(process, tracks_top_px, top_px..bottom_px, &mut groups);
            }
            place = self.process_sums.at(header_top_px + u64::from(self.process_sums.height(place)));
        }
        groups
    }

    /// Adds the rows of a process that touch some pixels. Its first row starts at `rows_top_px`.
    fn rows_within(&self, process: &ProcessRows, rows_top_px: u64, pixels: Range<u64>, groups: &mut Vec<Group>) {
        let before_px = self.row_sums.before(process.rows.start as usize);
        let mut place = self.row_sums.at(before_px + pixels.start.saturating_sub(rows_top_px));
        while place < process.rows.end as usize {
            let within_px = self.row_sums.before(place) - before_px;
            if rows_top_px + within_px >= pixels.end {
                break;
            }
            groups.push(self.row_group(place, rows_top_px + within_px));
            place = self.row_sums.at(before_px + within_px + u64::from(self.row_sums.height(place)));
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
        rows
    }

    /// Returns the lanes of which at least a pixel is in view.
    #[must_use]
    pub(crate) fn lanes_in_view(&self, view: &Viewport) -> Vec<LaneRow> {
        let (top_px, bottom_px) = view.pixels_in_view();
        self.lanes_within(top_px, bottom_px)
    }

    /// Returns the position of a lane, if it is visible.
    #[must_use]
    pub(crate) fn row_of(&self, lane: LaneIdx, track: TrackIdx) -> Option<LaneRow> {
        let group = self.group_of(GroupKind::Track(track))?;
        self.lanes_of(track)?.1.row(lane, group.top_px, &self.heights_px())
    }

    /// Returns the position of a process header, a group header or a track, if it is visible.
    #[must_use]
    pub(crate) fn group_of(&self, kind: GroupKind) -> Option<Group> {
        match kind {
            GroupKind::Process(process) => {
                let place = self.place_of_process(process)?;
                (self.processes[place].header_px > 0).then(|| self.header_group(place, self.process_sums.before(place)))
            }
            GroupKind::Tracks(lead) => self.shown_row(self.head_of(lead)?.0),
            GroupKind::Track(track) => self.shown_row(self.lanes_of(track)?.0),
        }
    }

    /// Returns a row that has a height, unless its process is folded.
    fn shown_row(&self, place: usize) -> Option<Group> {
        let process_place = self.rows[place].process_place();
        let process = &self.processes[process_place];
        if process.folded || self.row_sums.height(place) == 0 {
            return None;
        }
        let within_px = self.row_sums.before(place) - self.row_sums.before(process.rows.start as usize);
        let top_px = self.process_sums.before(process_place) + u64::from(process.header_px) + within_px;
        Some(self.row_group(place, top_px))
    }

    /// Returns the tracks of a process or group, or the one track, in display order, including hidden ones.
    #[must_use]
    pub(crate) fn tracks_of(&self, kind: GroupKind) -> Vec<TrackIdx> {
        let places = match kind {
            GroupKind::Process(process) => {
                let range = self.place_of_process(process).map_or(0..0, |place| self.processes[place].rows.clone());
                range.start as usize..range.end as usize
            }
            GroupKind::Tracks(lead) => self.head_of(lead).map_or(0..0, |(place, head)| head.members(place)),
            GroupKind::Track(track) => return vec![track],
        };
        let tracks = self.rows[places].iter().filter_map(|row| match row {
            RowOfLayout::Track(lanes) => Some(lanes.track),
            RowOfLayout::Head(_) => None,
        });
        tracks.collect()
    }

    /// Returns whether a process, a group or a track is folded.
    #[must_use]
    pub(crate) fn is_folded(&self, kind: GroupKind) -> bool {
        match kind {
            GroupKind::Process(process) => {
                self.place_of_process(process).is_some_and(|place| self.processes[place].folded)
            }
            GroupKind::Tracks(lead) => self.head_of(lead).is_some_and(|(_, head)| head.folded),
            GroupKind::Track(track) => self.lanes_of(track).is_some_and(|(_, lanes)| lanes.folded),
        }
    }

    /// Folds or unfolds a process, a group or a track.
    pub(crate) fn set_folded(&mut self, kind: GroupKind, folded: bool) {
        match kind {
            GroupKind::Process(process) => {
                if let Some(place) = self.place_of_process(process) {
                    self.processes[place].folded = folded;
                    self.update_process(place);
                }
            }
            GroupKind::Tracks(lead) => {
                if let Some((place, head)) = self.head_of(lead) {
                    self.rows[place] = RowOfLayout::Head(HeadOfGroup { folded, ..head });
                    for member in head.members(place) {
                        if let RowOfLayout::Track(lanes) = &mut self.rows[member] {
                            lanes.in_folded_group = folded;
                        }
                        self.measure_row(member);
                    }
                    self.update_row(place);
                }
            }
            GroupKind::Track(track) => {
                if let Some((place, lanes)) = self.lanes_of(track) {
                    self.rows[place] = RowOfLayout::Track(LanesOfTrack { folded, ..lanes });
                    self.update_row(place);
                }
            }
        }
    }

    /// Hides a track or shows it again. A group whose tracks are all hidden has no header.
    pub(crate) fn set_hidden(&mut self, track: TrackIdx, hidden: bool) {
        let Some((place, lanes)) = self.lanes_of(track) else { return };
        self.rows[place] = RowOfLayout::Track(LanesOfTrack { hidden, ..lanes });
        self.measure_row(place);
        if lanes.head_place != NOWHERE
            && lanes.hidden != hidden
            && let RowOfLayout::Head(head) = &mut self.rows[lanes.head_place as usize]
        {
            head.hidden_tracks = if hidden { head.hidden_tracks + 1 } else { head.hidden_tracks - 1 };
            self.measure_row(lanes.head_place as usize);
        }
        self.update_row(place);
    }

    fn push_tracks(
        &mut self,
        tracks: impl IntoIterator<Item = TrackRows>,
        kind_of: impl Fn(LaneIdx) -> LaneKind,
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
            if self.processes.last().is_none_or(|last| last.process != track.process) {
                let start = self.rows.len() as u32;
                set_place(&mut self.place_of_process, track.process.index(), self.processes.len());
                let (process, rows) = (track.process, start..start);
                self.processes.push(ProcessRows { process, rows, tracks: 0, header_px: 0, folded: false });
            }
            let process_place = (self.processes.len() - 1) as u32;
            let hidden = folded.hidden.contains(&track.track);
            let group = track.group.filter(|_| self.has_headers);
            let head = group.and_then(|group| self.join(&group, process_place, hidden, folded));
            set_place(&mut self.place_of_track, track.track.index(), self.rows.len());
            self.rows.push(RowOfLayout::Track(LanesOfTrack {
                track: track.track,
                process_place,
                head_place: head.map_or(NOWHERE, |(place, _)| place),
                first: track.lanes.start,
                instants,
                samples: samples - instants,
                counters: counters - samples,
                spans: spans - counters,
                folded: folded.tracks.contains(&track.track) != track.starts_folded,
                in_folded_group: head.is_some_and(|(_, head)| head.folded),
                hidden,
                curves: track.curves,
            }));
            if let Some(process) = self.processes.last_mut() {
                process.rows.end = self.rows.len() as u32;
                process.tracks += 1;
            }
        }
    }

    /// Counts the next track into its group, whose header is above its first track. Returns the header and its index.
    fn join(
        &mut self,
        group: &TrackGroup,
        process_place: u32,
        is_hidden: bool,
        folded: &Folded,
    ) -> Option<(u32, HeadOfGroup)> {
        let lead = group.lead;
        let known = self.place_of_head.get(&lead).copied();
        let is_last = matches!(self.rows.last(), Some(RowOfLayout::Track(last)) if Some(last.head_place) == known);
        let place = known.filter(|_| is_last).unwrap_or(self.rows.len() as u32);
        if !is_last {
            let folded = folded.has_group(group);
            self.rows.push(RowOfLayout::Head(HeadOfGroup { lead, process_place, tracks: 0, hidden_tracks: 0, folded }));
            self.place_of_head.insert(lead, place);
        }
        let RowOfLayout::Head(head) = &mut self.rows[place as usize] else { return None };
        head.tracks += 1;
        head.hidden_tracks += u32::from(is_hidden);
        Some((place, *head))
    }

    fn add_up(&mut self) {
        let heights = self.heights_px();
        self.row_sums = FenwickHeights::new(self.rows.iter().map(|row| row.height_px(&heights)).collect());
        let processes = (0..self.processes.len()).map(|place| self.measure_process(place)).collect();
        self.process_sums = FenwickHeights::new(processes);
    }

    fn measure_row(&mut self, place: usize) {
        let height_px = self.rows[place].height_px(&self.heights_px());
        self.row_sums.set(place, height_px);
    }

    fn update_row(&mut self, place: usize) {
        self.measure_row(place);
        self.update_process(self.rows[place].process_place());
    }

    fn update_process(&mut self, place: usize) {
        let height_px = self.measure_process(place);
        self.process_sums.set(place, height_px);
    }

    /// Returns the height of a process including its header, which it has while one of its tracks is visible.
    fn measure_process(&mut self, place: usize) -> u32 {
        let rows = self.processes[place].rows.clone();
        let rows_px = self.row_sums.before(rows.end as usize) - self.row_sums.before(rows.start as usize);
        let header_px = if rows_px > 0 && self.has_headers { self.heights_px().header_px } else { 0 };
        let process = &mut self.processes[place];
        process.header_px = header_px;
        let shown_px = if process.folded { 0 } else { rows_px };
        // Beyond 4 billion pixels, some 200 million lanes of one process, the last ones cannot be scrolled to.
        u32::try_from(shown_px + u64::from(header_px)).unwrap_or(u32::MAX)
    }

    fn header_group(&self, place: usize, top_px: u64) -> Group {
        let process = &self.processes[place];
        let folded_lanes = if process.folded { process.tracks } else { 0 };
        Group { kind: GroupKind::Process(process.process), top_px, height_px: process.header_px, folded_lanes }
    }

    fn row_group(&self, place: usize, top_px: u64) -> Group {
        let (kind, folded_lanes) = match &self.rows[place] {
            RowOfLayout::Head(head) => (GroupKind::Tracks(head.lead), if head.folded { head.tracks } else { 0 }),
            RowOfLayout::Track(lanes) => (GroupKind::Track(lanes.track), lanes.spans - lanes.shown_spans()),
        };
        Group { kind, top_px, height_px: self.row_sums.height(place), folded_lanes }
    }

    fn lanes_of(&self, track: TrackIdx) -> Option<(usize, LanesOfTrack)> {
        let place = *self.place_of_track.get(track.index()).filter(|&&place| place != NOWHERE)? as usize;
        match self.rows[place] {
            RowOfLayout::Track(lanes) => Some((place, lanes)),
            RowOfLayout::Head(_) => None,
        }
    }

    fn head_of(&self, lead: TrackIdx) -> Option<(usize, HeadOfGroup)> {
        let place = *self.place_of_head.get(&lead)? as usize;
        match self.rows[place] {
            RowOfLayout::Head(head) => Some((place, head)),
            RowOfLayout::Track(_) => None,
        }
    }

    fn place_of_process(&self, process: ProcessIdx) -> Option<usize> {
        self.place_of_process.get(process.index()).filter(|&&place| place != NOWHERE).map(|&place| place as usize)
    }

    fn heights_px(&self) -> RowHeights {
        self.heights.unwrap_or(RowHeights::at_scale(1.0))
    }
}

impl RowOfLayout {
    fn process_place(&self) -> usize {
        let (Self::Head(HeadOfGroup { process_place, .. }) | Self::Track(LanesOfTrack { process_place, .. })) = self;
        *process_place as usize
    }

    fn height_px(&self, heights: &RowHeights) -> u32 {
        match self {
            Self::Head(head) if head.hidden_tracks == head.tracks => 0,
            Self::Head(_) => heights.track_min_px,
            Self::Track(lanes) => lanes.height_px(heights),
        }
    }
}

impl HeadOfGroup {
    /// Returns the indices of its tracks.
    fn members(&self, place: usize) -> Range<usize> {
        place + 1..place + 1 + self.tracks as usize
    }
}

fn set_place(places: &mut Vec<u32>, index: usize, place: usize) {
    if places.len() <= index {
        places.resize(index + 1, NOWHERE);
    }
    places[index] = place as u32;
}

#[cfg(test)]
mod tests;

//! The positions of process headers, tracks and lanes from top to bottom. Built once for an order of the tracks;
//! folding, unfolding and hiding change it in O(log n), and a frame only searches it, so that a million lanes cost a
//! frame no more than ten.
//!
//! Lanes are not listed: those of a track are instants, samples, counters and spans in this order, so a lane's place
//! follows from how many there are of each.

use std::ops::Range;

use rustc_hash::FxHashSet;

use super::fenwick_heights::FenwickHeights;
use super::viewport::Viewport;
use crate::model::{ProcessIdx, TrackIdx};
use crate::store::lane::{LaneIdx, LaneKind};

/// The height of tracks, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
pub enum TrackDensity {
    /// As many rows as possible, with names that can just be read.
    Compact,
    #[default]
    Normal,
    /// For screens that are looked at from afar.
    Tall,
}

/// The heights of rows in whole pixels, so that rows are sharp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "the unit stands in each name")]
pub struct RowHeights {
    pub(crate) header_px: u32,
    pub(crate) span_px: u32,
    /// A lane of instants or samples.
    pub(crate) instant_px: u32,
    pub(crate) counter_px: u32,
    /// Free space above the first and below the last lane of a track.
    pub(crate) padding_px: u32,
    /// The least height of a track, so that its name fits.
    pub(crate) track_min_px: u32,
}

/// The processes and tracks that the user has folded or hidden.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Folded {
    /// Processes of which only the header is shown.
    pub(crate) processes: FxHashSet<ProcessIdx>,
    /// Tracks of which only the outermost spans are shown.
    pub(crate) tracks: FxHashSet<TrackIdx>,
    /// Tracks that are not shown at all.
    pub(crate) hidden: FxHashSet<TrackIdx>,
}

/// A track as the layout wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrackRows {
    /// The track whose rows these are.
    pub track: TrackIdx,
    /// The process of the track.
    pub process: ProcessIdx,
    /// Its lanes in the store's table: instants, samples, counters, spans, flows.
    pub lanes: Range<u32>,
}

/// The kind of a group of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum GroupKind {
    /// The header of a process.
    Process(ProcessIdx),
    /// All shown lanes of a track.
    Track(TrackIdx),
}

/// A process header or a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) kind: GroupKind,
    /// From the top of all rows.
    pub(crate) top_px: u64,
    pub(crate) height_px: u32,
    /// How many lanes are folded away.
    pub(crate) folded_lanes: u32,
}

/// A lane with its position below the top of all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LaneRow {
    pub(crate) lane: LaneIdx,
    pub(crate) kind: LaneKind,
    /// From the top of all rows.
    pub(crate) top_px: u64,
    pub(crate) height_px: u32,
}

/// All rows, from top to bottom.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowLayout {
    heights: Option<RowHeights>,
    has_headers: bool,
    processes: Vec<ProcessRows>,
    tracks: Vec<LanesOfTrack>,
    /// By place in `processes`: the header and, unless they are folded, the tracks.
    process_sums: FenwickHeights,
    /// By place in `tracks`: the heights, whether the process is folded or not.
    track_sums: FenwickHeights,
    /// By track: its place in `tracks`, or [`NOWHERE`].
    place_of_track: Vec<u32>,
    /// By process: its place in `processes`, or [`NOWHERE`].
    place_of_process: Vec<u32>,
}

const NOWHERE: u32 = u32::MAX;

/// A process with tracks that are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ProcessRows {
    process: ProcessIdx,
    /// Its tracks, as places in the list of tracks.
    tracks: Range<u32>,
    /// 0 while all of its tracks are hidden.
    header_px: u32,
    folded: bool,
}

/// How many lanes of each kind a track has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LanesOfTrack {
    track: TrackIdx,
    process_place: u32,
    first: u32,
    instants: u32,
    samples: u32,
    counters: u32,
    spans: u32,
    folded: bool,
    hidden: bool,
}

impl RowHeights {
    /// The heights on a screen of `scale` physical pixels for each point.
    #[must_use]
    pub fn at_scale(scale: f32) -> Self {
        Self::new(TrackDensity::Normal, scale)
    }

    /// The heights of rows of some density on a screen of `scale` physical pixels for each point.
    #[must_use]
    pub(crate) fn new(density: TrackDensity, scale: f32) -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some ten pixels, and clamped")]
        let px = |points: f32| (points * scale).round().clamp(1.0, 1000.0) as u32;
        // The first is that of a header, in which the strip of a folded process is drawn below the name's middle.
        let [header, span, instant, counter, padding, track_min] = match density {
            TrackDensity::Compact => [22.0, 14.0, 12.0, 28.0, 1.0, 18.0],
            TrackDensity::Normal => [26.0, 19.0, 15.0, 40.0, 3.0, 24.0],
            TrackDensity::Tall => [30.0, 27.0, 19.0, 64.0, 4.0, 34.0],
        };
        Self {
            header_px: px(header),
            span_px: px(span),
            instant_px: px(instant),
            counter_px: px(counter),
            padding_px: px(padding),
            track_min_px: px(track_min),
        }
    }
}

impl RowLayout {
    /// Lays out tracks in the order given, in which those of a process are adjacent, with a header above each process.
    /// Takes O(n): a window does it in the background where tracks are many.
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

    /// Lays out tracks in the order given without any header, for rows that were taken out of their processes.
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

    /// The height of all rows.
    #[must_use]
    pub(crate) fn height_px(&self) -> u64 {
        self.process_sums.total()
    }

    /// The process headers and tracks that touch `[top_px, bottom_px)`. Work is bounded by these: what has no height,
    /// as a hidden track, is passed over by a search.
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
                self.tracks_within(process, tracks_top_px, top_px..bottom_px, &mut groups);
            }
            place = self.process_sums.at(header_top_px + u64::from(self.process_sums.height(place)));
        }
        groups
    }

    /// Adds the tracks of a process, the first of which begins at `tracks_top_px`, that touch some pixels.
    fn tracks_within(&self, process: &ProcessRows, tracks_top_px: u64, pixels: Range<u64>, groups: &mut Vec<Group>) {
        let before_px = self.track_sums.before(process.tracks.start as usize);
        let mut place = self.track_sums.at(before_px + pixels.start.saturating_sub(tracks_top_px));
        while place < process.tracks.end as usize {
            let within_px = self.track_sums.before(place) - before_px;
            if tracks_top_px + within_px >= pixels.end {
                break;
            }
            groups.push(self.track_group(place, tracks_top_px + within_px));
            place = self.track_sums.at(before_px + within_px + u64::from(self.track_sums.height(place)));
        }
    }

    /// The lanes that touch `[top_px, bottom_px)`.
    #[must_use]
    pub(crate) fn lanes_within(&self, top_px: u64, bottom_px: u64) -> Vec<LaneRow> {
        let mut rows = Vec::new();
        for group in self.groups_within(top_px, bottom_px) {
            let GroupKind::Track(track) = group.kind else { continue };
            let Some(place) = self.place_of(track) else { continue };
            let (lanes, heights) = (&self.tracks[place], self.heights_px());
            let inside_px = |y_px: u64| y_px.saturating_sub(group.top_px);
            rows.extend(lanes.within(group.top_px, inside_px(top_px)..inside_px(bottom_px), &heights));
        }
        rows
    }

    /// The lanes of which at least a pixel is in view.
    #[must_use]
    pub(crate) fn lanes_in_view(&self, view: &Viewport) -> Vec<LaneRow> {
        let (top_px, bottom_px) = view.pixels_in_view();
        self.lanes_within(top_px, bottom_px)
    }

    /// The place of a lane, if it is shown.
    #[must_use]
    pub(crate) fn row_of(&self, lane: LaneIdx, track: TrackIdx) -> Option<LaneRow> {
        let group = self.group_of(GroupKind::Track(track))?;
        self.tracks[self.place_of(track)?].row(lane, group.top_px, &self.heights_px())
    }

    /// The place of a process header or a track, if it is shown.
    #[must_use]
    pub(crate) fn group_of(&self, kind: GroupKind) -> Option<Group> {
        match kind {
            GroupKind::Process(process) => {
                let place = self.place_of_process(process)?;
                (self.processes[place].header_px > 0).then(|| self.header_group(place, self.process_sums.before(place)))
            }
            GroupKind::Track(track) => {
                let place = self.place_of(track)?;
                let lanes = self.tracks[place];
                let process_place = lanes.process_place as usize;
                let process = &self.processes[process_place];
                if process.folded || lanes.hidden {
                    return None;
                }
                let before_px = self.track_sums.before(process.tracks.start as usize);
                let top_px = self.process_sums.before(process_place)
                    + u64::from(process.header_px)
                    + (self.track_sums.before(place) - before_px);
                Some(self.track_group(place, top_px))
            }
        }
    }

    /// The tracks of a process in the order in which they are shown; those that are hidden too.
    #[must_use]
    pub(crate) fn tracks_of(&self, process: ProcessIdx) -> impl ExactSizeIterator<Item = TrackIdx> {
        let range = self.place_of_process(process).map_or(0..0, |place| self.processes[place].tracks.clone());
        self.tracks[range.start as usize..range.end as usize].iter().map(|lanes| lanes.track)
    }

    /// Whether a process or a track is folded.
    #[must_use]
    pub(crate) fn is_folded(&self, kind: GroupKind) -> bool {
        match kind {
            GroupKind::Process(process) => {
                self.place_of_process(process).is_some_and(|place| self.processes[place].folded)
            }
            GroupKind::Track(track) => self.place_of(track).is_some_and(|place| self.tracks[place].folded),
        }
    }

    /// Folds or unfolds a process or a track.
    pub(crate) fn set_folded(&mut self, kind: GroupKind, folded: bool) {
        match kind {
            GroupKind::Process(process) => {
                if let Some(place) = self.place_of_process(process) {
                    self.processes[place].folded = folded;
                    self.update_process(place);
                }
            }
            GroupKind::Track(track) => {
                if let Some(place) = self.place_of(track) {
                    self.tracks[place].folded = folded;
                    self.update_track(place);
                }
            }
        }
    }

    /// Hides a track or shows it again.
    pub(crate) fn set_hidden(&mut self, track: TrackIdx, hidden: bool) {
        if let Some(place) = self.place_of(track) {
            self.tracks[place].hidden = hidden;
            self.update_track(place);
        }
    }

    fn push_tracks(
        &mut self,
        tracks: impl IntoIterator<Item = TrackRows>,
        kind_of: impl Fn(LaneIdx) -> LaneKind,
        folded: &Folded,
    ) {
        for track in tracks {
            let count = |kind: LaneKind| {
                let end = partition_point(track.lanes.clone(), |lane| kind_of(LaneIdx(lane)) <= kind);
                end - track.lanes.start
            };
            let kinds = [LaneKind::Instants, LaneKind::Samples, LaneKind::Counter, LaneKind::Spans];
            // How many lanes there are of each kind and of those before it.
            let [instants, samples, counters, spans] = kinds.map(count);
            if spans == 0 {
                continue; // nothing but flows, which have no rows
            }
            if self.processes.last().is_none_or(|last| last.process != track.process) {
                let start = self.tracks.len() as u32;
                set_place(&mut self.place_of_process, track.process.index(), self.processes.len());
                let tracks = start..start;
                self.processes.push(ProcessRows { process: track.process, tracks, header_px: 0, folded: false });
            }
            set_place(&mut self.place_of_track, track.track.index(), self.tracks.len());
            self.tracks.push(LanesOfTrack {
                track: track.track,
                process_place: (self.processes.len() - 1) as u32,
                first: track.lanes.start,
                instants,
                samples: samples - instants,
                counters: counters - samples,
                spans: spans - counters,
                folded: folded.tracks.contains(&track.track),
                hidden: folded.hidden.contains(&track.track),
            });
            if let Some(process) = self.processes.last_mut() {
                process.tracks.end += 1;
            }
        }
    }

    fn add_up(&mut self) {
        let heights = self.heights_px();
        self.track_sums = FenwickHeights::new(self.tracks.iter().map(|lanes| lanes.height_px(&heights)).collect());
        let processes = (0..self.processes.len()).map(|place| self.measure_process(place)).collect();
        self.process_sums = FenwickHeights::new(processes);
    }

    fn update_track(&mut self, place: usize) {
        let lanes = self.tracks[place];
        self.track_sums.set(place, lanes.height_px(&self.heights_px()));
        self.update_process(lanes.process_place as usize);
    }

    fn update_process(&mut self, place: usize) {
        let height_px = self.measure_process(place);
        self.process_sums.set(place, height_px);
    }

    /// The height of a process with its header, which it has while one of its tracks is shown.
    fn measure_process(&mut self, place: usize) -> u32 {
        let tracks = self.processes[place].tracks.clone();
        let tracks_px = self.track_sums.before(tracks.end as usize) - self.track_sums.before(tracks.start as usize);
        let header_px = if tracks_px > 0 && self.has_headers { self.heights_px().header_px } else { 0 };
        let process = &mut self.processes[place];
        process.header_px = header_px;
        let shown_px = if process.folded { 0 } else { tracks_px };
        // Beyond 4 billion pixels, some 200 million lanes of one process, the last ones cannot be scrolled to.
        u32::try_from(shown_px + u64::from(header_px)).unwrap_or(u32::MAX)
    }

    fn header_group(&self, place: usize, top_px: u64) -> Group {
        let process = &self.processes[place];
        let folded_lanes = if process.folded { process.tracks.end - process.tracks.start } else { 0 };
        Group { kind: GroupKind::Process(process.process), top_px, height_px: process.header_px, folded_lanes }
    }

    fn track_group(&self, place: usize, top_px: u64) -> Group {
        let lanes = &self.tracks[place];
        let folded_lanes = lanes.spans - lanes.shown_spans();
        Group { kind: GroupKind::Track(lanes.track), top_px, height_px: self.track_sums.height(place), folded_lanes }
    }

    fn place_of(&self, track: TrackIdx) -> Option<usize> {
        self.place_of_track.get(track.index()).filter(|&&place| place != NOWHERE).map(|&place| place as usize)
    }

    fn place_of_process(&self, process: ProcessIdx) -> Option<usize> {
        self.place_of_process.get(process.index()).filter(|&&place| place != NOWHERE).map(|&place| place as usize)
    }

    fn heights_px(&self) -> RowHeights {
        self.heights.unwrap_or(RowHeights::at_scale(1.0))
    }
}

impl LanesOfTrack {
    fn shown_spans(&self) -> u32 {
        if self.folded { self.spans.min(1) } else { self.spans }
    }

    /// The lanes that are shown, from top to bottom: their kind, how many there are, and how high each is.
    fn kinds(&self, heights: &RowHeights) -> [(LaneKind, u32, u32); 4] {
        [
            (LaneKind::Instants, self.instants, heights.instant_px),
            (LaneKind::Samples, self.samples, heights.instant_px),
            (LaneKind::Counter, self.counters, heights.counter_px),
            (LaneKind::Spans, self.shown_spans(), heights.span_px),
        ]
    }

    fn height_px(&self, heights: &RowHeights) -> u32 {
        if self.hidden {
            return 0;
        }
        let lanes_px = self.kinds(heights).map(|(_, count, height_px)| count.saturating_mul(height_px));
        let all_px = lanes_px.into_iter().fold(heights.padding_px * 2, u32::saturating_add);
        all_px.max(heights.track_min_px)
    }

    /// The lanes that touch the pixels `within` of a track that begins at `top_px`.
    fn within(&self, top_px: u64, within: Range<u64>, heights: &RowHeights) -> Vec<LaneRow> {
        let mut rows = Vec::new();
        let mut y_px = u64::from(heights.padding_px);
        let mut first = self.first;
        for (kind, count, height_px) in self.kinds(heights) {
            let height = u64::from(height_px);
            let from = within.start.saturating_sub(y_px) / height;
            let to = within.end.saturating_sub(y_px).div_ceil(height).min(u64::from(count));
            rows.extend((from..to).map(|number| LaneRow {
                lane: LaneIdx(first + number as u32),
                kind,
                top_px: top_px + y_px + number * height,
                height_px,
            }));
            y_px += u64::from(count) * height;
            first += count;
        }
        rows
    }

    fn row(&self, lane: LaneIdx, top_px: u64, heights: &RowHeights) -> Option<LaneRow> {
        let mut number = lane.0.checked_sub(self.first)?;
        let mut y_px = top_px + u64::from(heights.padding_px);
        for (kind, count, height_px) in self.kinds(heights) {
            if number < count {
                let top_px = y_px + u64::from(number) * u64::from(height_px);
                return Some(LaneRow { lane, kind, top_px, height_px });
            }
            number -= count;
            y_px += u64::from(count) * u64::from(height_px);
        }
        None
    }
}

fn set_place(places: &mut Vec<u32>, index: usize, place: usize) {
    if places.len() <= index {
        places.resize(index + 1, NOWHERE);
    }
    places[index] = place as u32;
}

/// The first of `range` that `holds` is not true for, where it is true for all before that.
fn partition_point(range: Range<u32>, holds: impl Fn(u32) -> bool) -> u32 {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests;

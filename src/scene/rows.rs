//! Where process headers, tracks and lanes stand below each other. Built once for a snapshot and what is collapsed; a frame
//! only searches it, so that a million lanes cost a frame no more than ten.

use std::ops::Range;

use rustc_hash::FxHashSet;

use crate::model::{ProcessIdx, TrackIdx};
use crate::store::lane::{LaneIdx, LaneKind};

/// The heights of rows in whole pixels, so that rows are sharp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowHeights {
    /// A process header.
    pub header_px: u32,
    /// A lane of spans.
    pub span_px: u32,
    /// A lane of instants or samples.
    pub instant_px: u32,
    /// A counter.
    pub counter_px: u32,
    /// Free space above the first and below the last lane of a track.
    pub padding_px: u32,
    /// The least height of a track, so that its name fits.
    pub track_min_px: u32,
}

/// What the user has folded away.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folded {
    /// Processes of which only the header is shown.
    pub processes: FxHashSet<ProcessIdx>,
    /// Tracks of which only the outermost spans are shown.
    pub tracks: FxHashSet<TrackIdx>,
}

/// A track as the layout wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrackRows {
    /// The track.
    pub track: TrackIdx,
    /// Its process.
    pub process: ProcessIdx,
    /// Its lanes in the store's table.
    pub lanes: Range<u32>,
}

/// What a group of rows is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupKind {
    /// The header of a process.
    Process(ProcessIdx),
    /// All shown lanes of a track.
    Track(TrackIdx),
}

/// A process header or a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// What it is.
    pub kind: GroupKind,
    /// From the top of all rows.
    pub top_px: u64,
    /// Its height.
    pub height_px: u32,
    /// How many lanes are folded away.
    pub folded_lanes: u32,
}

/// A lane's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneRow {
    /// The lane.
    pub lane: LaneIdx,
    /// What its rows are.
    pub kind: LaneKind,
    /// From the top of all rows.
    pub top_px: u64,
    /// Its height.
    pub height_px: u32,
}

/// All rows, from top to bottom.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowLayout {
    groups: Vec<Group>,
    lanes: Vec<LaneRow>,
    height_px: u64,
}

impl RowHeights {
    /// The heights on a screen of `scale` physical pixels for each point.
    #[must_use]
    pub fn at_scale(scale: f32) -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some ten pixels, and clamped")]
        let px = |points: f32| (points * scale).round().clamp(1.0, 1000.0) as u32;
        Self {
            header_px: px(26.0),
            span_px: px(19.0),
            instant_px: px(15.0),
            counter_px: px(40.0),
            padding_px: px(3.0),
            track_min_px: px(24.0),
        }
    }

    fn of(&self, kind: LaneKind) -> u32 {
        match kind {
            LaneKind::Instants | LaneKind::Samples => self.instant_px,
            LaneKind::Counter => self.counter_px,
            LaneKind::Spans => self.span_px,
            LaneKind::Flows => 0,
        }
    }
}

impl RowLayout {
    /// Lays out tracks in the order given; a header stands before each change of process.
    pub fn new(
        tracks: impl IntoIterator<Item = TrackRows>,
        kind_of: impl Fn(LaneIdx) -> LaneKind,
        folded: &Folded,
        heights: &RowHeights,
    ) -> Self {
        let mut layout = Self::default();
        let mut process = None;
        for track in tracks {
            let shown = |lane: &u32| kind_of(LaneIdx(*lane)) != LaneKind::Flows;
            if !track.lanes.clone().any(|lane| shown(&lane)) {
                continue;
            }
            if process != Some(track.process) {
                process = Some(track.process);
                layout.push_header(track.process, heights);
            }
            if !folded.processes.contains(&track.process) {
                layout.push_track(&track, &kind_of, folded.tracks.contains(&track.track), heights);
            }
        }
        layout
    }

    /// The height of all rows.
    #[must_use]
    pub fn height_px(&self) -> u64 {
        self.height_px
    }

    /// All process headers and tracks.
    #[must_use]
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The process headers and tracks that touch `[top_px, bottom_px)`.
    #[must_use]
    pub fn groups_within(&self, top_px: u64, bottom_px: u64) -> &[Group] {
        within(&self.groups, top_px, bottom_px, |group| (group.top_px, group.height_px))
    }

    /// The lanes that touch `[top_px, bottom_px)`.
    #[must_use]
    pub fn lanes_within(&self, top_px: u64, bottom_px: u64) -> &[LaneRow] {
        within(&self.lanes, top_px, bottom_px, |lane| (lane.top_px, lane.height_px))
    }

    /// The place of a lane, if it is shown; by search, since lanes stand in display order.
    #[must_use]
    pub fn row_of(&self, lane: LaneIdx, track: TrackIdx) -> Option<LaneRow> {
        let group = self.group_of(GroupKind::Track(track))?;
        let rows = self.lanes_within(group.top_px, group.top_px + u64::from(group.height_px));
        rows.iter().find(|row| row.lane == lane).copied()
    }

    /// The place of a process header or a track, if it is shown.
    #[must_use]
    pub fn group_of(&self, kind: GroupKind) -> Option<Group> {
        self.groups.iter().find(|group| group.kind == kind).copied()
    }

    fn push_header(&mut self, process: ProcessIdx, heights: &RowHeights) {
        self.groups.push(Group {
            kind: GroupKind::Process(process),
            top_px: self.height_px,
            height_px: heights.header_px,
            folded_lanes: 0,
        });
        self.height_px += u64::from(heights.header_px);
    }

    fn push_track(
        &mut self,
        track: &TrackRows,
        kind_of: impl Fn(LaneIdx) -> LaneKind,
        folded: bool,
        heights: &RowHeights,
    ) {
        let top_px = self.height_px;
        let mut y_px = top_px + u64::from(heights.padding_px);
        let mut folded_lanes = 0;
        let mut span_lanes = 0;
        for lane in track.lanes.clone().map(LaneIdx) {
            let kind = kind_of(lane);
            span_lanes += u32::from(kind == LaneKind::Spans);
            if kind == LaneKind::Flows {
                continue;
            }
            if folded && kind == LaneKind::Spans && span_lanes > 1 {
                folded_lanes += 1;
                continue;
            }
            let height_px = heights.of(kind);
            self.lanes.push(LaneRow { lane, kind, top_px: y_px, height_px });
            y_px += u64::from(height_px);
        }
        y_px = (y_px + u64::from(heights.padding_px)).max(top_px + u64::from(heights.track_min_px));
        let height_px = u32::try_from(y_px - top_px).unwrap_or(u32::MAX);
        self.groups.push(Group { kind: GroupKind::Track(track.track), top_px, height_px, folded_lanes });
        self.height_px = y_px;
    }
}

/// The rows that touch `[top_px, bottom_px)`, by binary search.
fn within<T>(rows: &[T], top_px: u64, bottom_px: u64, place: impl Fn(&T) -> (u64, u32)) -> &[T] {
    let first = rows.partition_point(|row| {
        let (top, height) = place(row);
        top + u64::from(height) <= top_px
    });
    let end = rows.partition_point(|row| place(row).0 < bottom_px);
    rows.get(first..end).unwrap_or(&[])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Tracks from lane counts, four to a process; every fifth lane is of flows, every seventh of counters.
    fn layout(lane_counts: &[u32], folded: &Folded) -> RowLayout {
        let mut next_lane = 0;
        let tracks: Vec<TrackRows> = lane_counts
            .iter()
            .zip(0..)
            .map(|(&count, index)| {
                let lanes = next_lane..next_lane + count;
                next_lane += count;
                TrackRows { track: TrackIdx(index), process: ProcessIdx(index / 4), lanes }
            })
            .collect();
        RowLayout::new(tracks, kind_of, folded, &RowHeights::at_scale(1.0))
    }

    fn kind_of(lane: LaneIdx) -> LaneKind {
        match lane.0 {
            lane if lane % 5 == 4 => LaneKind::Flows,
            lane if lane % 7 == 6 => LaneKind::Counter,
            _ => LaneKind::Spans,
        }
    }

    proptest! {
        #[test]
        fn the_search_finds_the_lanes_that_a_scan_finds(
            lane_counts in prop::collection::vec(0_u32..6, 0..60),
            folded in prop::collection::vec(0_u32..60, 0..5),
            top_px in 0_u64..3000,
            height_px in 0_u64..1500,
        ) {
            let folded = Folded {
                processes: folded.iter().map(|&index| ProcessIdx(index)).collect(),
                tracks: folded.iter().map(|&index| TrackIdx(index)).collect(),
            };
            let layout = layout(&lane_counts, &folded);
            let bottom_px = top_px + height_px;
            let scanned: Vec<LaneRow> = layout
                .lanes
                .iter()
                .filter(|lane| lane.top_px < bottom_px && lane.top_px + u64::from(lane.height_px) > top_px)
                .copied()
                .collect();
            prop_assert_eq!(layout.lanes_within(top_px, bottom_px), &scanned[..]);
        }

        #[test]
        fn rows_follow_each_other_without_overlap(lane_counts in prop::collection::vec(0_u32..6, 0..60)) {
            let layout = layout(&lane_counts, &Folded::default());
            let mut y_px = 0;
            for group in layout.groups() {
                prop_assert_eq!(group.top_px, y_px);
                y_px += u64::from(group.height_px);
            }
            prop_assert_eq!(layout.height_px(), y_px);
            for pair in layout.lanes.windows(2) {
                prop_assert!(pair[0].top_px + u64::from(pair[0].height_px) <= pair[1].top_px);
            }
        }
    }

    #[test]
    fn a_folded_track_keeps_its_outermost_lane_and_says_how_many_are_gone() {
        let folded = Folded { tracks: std::iter::once(TrackIdx(0)).collect(), ..Folded::default() };
        let layout = layout(&[4], &folded);
        assert_eq!(layout.lanes.len(), 1);
        assert_eq!(layout.groups()[1].folded_lanes, 3);
    }

    #[test]
    fn a_track_of_flows_alone_takes_no_room() {
        let tracks = [TrackRows { track: TrackIdx(0), process: ProcessIdx(0), lanes: 4..5 }];
        let layout = RowLayout::new(tracks, kind_of, &Folded::default(), &RowHeights::at_scale(2.0));
        assert_eq!(layout.height_px(), 0);
    }

    #[test]
    fn a_million_lanes_are_laid_out_and_searched() {
        let layout = layout(&vec![5; 200_000], &Folded::default());
        let bottom = layout.height_px();
        assert!(layout.lanes_within(bottom / 2, bottom / 2 + 1000).len() < 60);
    }
}

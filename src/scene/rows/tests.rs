//! Rows against a plain list, made by walking over all tracks from top to bottom.

use proptest::prelude::*;

use super::*;
use crate::model::TrackKind;
use crate::scene::fenwick_heights::lookups;

/// Numbers of lanes of a track by kind: instants, samples, counters, spans, flows.
type LaneCounts = (u32, u32, u32, u32, u32);

struct TrackFixture {
    rows: Vec<TrackRows>,
    kinds: Vec<LaneKind>,
}

/// Returns the groups of a test track, outermost first. Of every three processes, the first has no group, the second
/// has a group of two tracks. The third has three nested groups: of all four tracks, of the last three, and of the last
/// two. Groups of even processes start folded, like large groups, unless they are in others.
fn groups_of(track: u32) -> Vec<TrackGroup> {
    let (process, number) = (track / 4, track % 4);
    let firsts: &[u32] = match (process % 3, number) {
        (1, 1 | 2) => &[1],
        (2, 0) => &[0],
        (2, 1) => &[0, 1],
        // One track may lead several groups.
        (2, _) => &[0, 1, 1],
        _ => &[],
    };
    let group = |(level, first): (u8, &u32)| TrackGroup {
        id: GroupId { lead: TrackIdx(process * 4 + first), level },
        tracks: if process % 2 == 0 && level == 0 { 9 } else { 2 },
        kind: Some(TrackKind::Async),
        is_named: false,
        is_all: false,
    };
    (0..).zip(firsts).map(group).collect()
}

/// Returns the group that contains a test group.
fn outer_of(group: GroupId) -> Option<TrackGroup> {
    let groups = groups_of(group.lead.0 / 4 * 4 + 3);
    groups.into_iter().take_while(|outer| outer.id.level < group.level).last()
}

/// Returns the group of the user that shows the tracks of every fourth process.
fn custom_group_of(process: ProcessIdx) -> Option<CustomGroupId> {
    (process.0 % 4 == 3).then_some(CustomGroupId(process.0))
}

/// Builds tracks with these lanes, four to a process.
fn tracks(lane_counts: &[LaneCounts]) -> TrackFixture {
    let mut tracks = TrackFixture { rows: Vec::new(), kinds: Vec::new() };
    for (index, &(instants, samples, counters, spans, flows)) in (0..).zip(lane_counts) {
        let start = tracks.kinds.len() as u32;
        let counts = [
            (LaneKind::Instants, instants),
            (LaneKind::Samples, samples),
            (LaneKind::Counter, counters),
            (LaneKind::Spans, spans),
            (LaneKind::Flows, flows),
        ];
        for (kind, count) in counts {
            tracks.kinds.extend((0..count).map(|_| kind));
        }
        let lanes = start..tracks.kinds.len() as u32;
        let (track, process) = (TrackIdx(index), ProcessIdx(index / 4));
        let starts_folded = index % 5 == 2;
        let (group, custom_group) = (groups_of(index).pop(), custom_group_of(process));
        tracks.rows.push(TrackRows { track, process, custom_group, lanes, group, starts_folded, curves: 0 });
    }
    tracks
}

impl TrackFixture {
    fn layout(&self, folded: &Folded) -> RowLayout {
        RowLayout::new(self.rows.clone(), |lane| self.kinds[lane.index()], outer_of, folded, &heights())
    }

    /// The naive answer, by a walk over all tracks.
    fn walked(&self, folded: &Folded) -> (Vec<Group>, Vec<LaneRow>, u64) {
        let (mut groups, mut lanes, mut y_px, heights) = (Vec::new(), Vec::new(), 0, heights());
        let (mut process, mut headed) = (None, Vec::new());
        let has_rows = |track: &TrackRows| track.lanes.clone().any(|lane| self.kinds[lane as usize] != LaneKind::Flows);
        for track in &self.rows {
            let kind_of = |lane: u32| self.kinds[lane as usize];
            if !has_rows(track) {
                continue;
            }
            let shown_of = |process| {
                let tracks = self.rows.iter().filter(|other| other.process == process);
                tracks.filter(|other| other.lanes.clone().any(|lane| kind_of(lane) != LaneKind::Flows)).count() as u32
            };
            let is_in_process = |other: &&TrackRows| other.process == track.process;
            let mut of_process = self.rows.iter().filter(is_in_process);
            let has_header = of_process.any(|other| {
                !folded.hidden.contains(&other.track)
                    && other.lanes.clone().any(|lane| kind_of(lane) != LaneKind::Flows)
            });
            let process_folded = match track.custom_group {
                Some(group) => folded.custom_groups.contains(&group),
                None => folded.processes.contains(&track.process),
            };
            if process != Some(track.process) && has_header {
                process = Some(track.process);
                let folded_lanes = if process_folded { shown_of(track.process) } else { 0 };
                let process_head = GroupKind::Process(track.process);
                let kind = track.custom_group.map_or(process_head, GroupKind::Custom);
                let height_px = heights.header_px;
                groups.push(Group { kind, top_px: y_px, height_px, folded_lanes });
                y_px += u64::from(heights.header_px);
            }
            let mut group_folded = false;
            for group in groups_of(track.track.0) {
                let is_folded = (group.tracks == 9) != folded.toggled_groups.contains(&group.id);
                let is_member =
                    |other: &&TrackRows| groups_of(other.track.0).iter().any(|of_other| of_other.id == group.id);
                let members = self.rows.iter().filter(|other| has_rows(other)).filter(is_member);
                let is_head_shown = members.clone().any(|other| !folded.hidden.contains(&other.track));
                if !headed.contains(&group.id) && is_head_shown && !process_folded && !group_folded {
                    headed.push(group.id);
                    let folded_lanes = if is_folded { members.count() as u32 } else { 0 };
                    let (kind, height_px) = (GroupKind::Tracks(group.id), heights.track_min_px);
                    groups.push(Group { kind, top_px: y_px, height_px, folded_lanes });
                    y_px += u64::from(height_px);
                }
                group_folded |= is_folded;
            }
            if process_folded || group_folded || folded.hidden.contains(&track.track) {
                continue;
            }
            let is_folded = folded.tracks.contains(&track.track) != track.starts_folded;
            let (top_px, mut spans, mut folded_lanes) = (y_px, 0, 0);
            y_px += u64::from(heights.padding_px);
            for lane in track.lanes.clone() {
                let kind = kind_of(lane);
                let height_px = match kind {
                    LaneKind::Instants | LaneKind::Samples => heights.instant_px,
                    LaneKind::Counter if is_folded => heights.instant_px,
                    LaneKind::Counter => heights.counter_px,
                    LaneKind::Spans => heights.span_px,
                    LaneKind::Flows => continue,
                };
                spans += u32::from(kind == LaneKind::Spans);
                if kind == LaneKind::Spans && spans > 1 && is_folded {
                    folded_lanes += 1;
                    continue;
                }
                lanes.push(LaneRow { lane: LaneIdx(lane), kind, top_px: y_px, height_px });
                y_px += u64::from(height_px);
            }
            y_px = (y_px + u64::from(heights.padding_px)).max(top_px + u64::from(heights.track_min_px));
            let height_px = (y_px - top_px) as u32;
            groups.push(Group { kind: GroupKind::Track(track.track), top_px, height_px, folded_lanes });
        }
        (groups, lanes, y_px)
    }
}

fn heights() -> RowHeights {
    RowHeights::at_scale(1.0)
}

fn lane_counts() -> impl Strategy<Value = Vec<LaneCounts>> {
    prop::collection::vec((0_u32..2, 0_u32..2, 0_u32..2, 0_u32..6, 0_u32..2), 0..60)
}

fn folded_ones() -> impl Strategy<Value = Folded> {
    let some = |most: u32| prop::collection::hash_set(0..most, 0..6);
    let id = |number: u32| GroupId { lead: TrackIdx(number / 3), level: (number % 3) as u8 };
    (some(15), some(60), some(60), some(180)).prop_map(move |(processes, tracks, hidden, groups)| Folded {
        toggled_groups: groups.into_iter().map(id).collect(),
        custom_groups: processes.iter().map(|&process| CustomGroupId(process)).collect(),
        processes: processes.into_iter().map(ProcessIdx).collect(),
        tracks: tracks.into_iter().map(TrackIdx).collect(),
        hidden: hidden.into_iter().map(TrackIdx).collect(),
    })
}

proptest! {
    #[test]
    fn a_search_finds_what_a_walk_over_all_rows_finds(
        lane_counts in lane_counts(),
        folded in folded_ones(),
        top_px in 0_u64..3000,
        height_px in 0_u64..1500,
    ) {
        let tracks = tracks(&lane_counts);
        let layout = tracks.layout(&folded);
        let (groups, lanes, end_px) = tracks.walked(&folded);
        prop_assert_eq!(layout.height_px(), end_px);
        let bottom_px = top_px + height_px;
        let within = |top: u64, height: u32| top < bottom_px && top + u64::from(height) > top_px;
        let groups: Vec<_> = groups.into_iter().filter(|group| within(group.top_px, group.height_px)).collect();
        prop_assert_eq!(layout.groups_within(top_px, bottom_px), groups);
        let lanes: Vec<_> = lanes.into_iter().filter(|lane| within(lane.top_px, lane.height_px)).collect();
        prop_assert_eq!(layout.lanes_within(top_px, bottom_px), lanes);
    }

    #[test]
    fn changes_one_by_one_equal_a_new_layout(
        lane_counts in lane_counts(),
        before in folded_ones(),
        after in folded_ones(),
    ) {
        let tracks = tracks(&lane_counts);
        let mut layout = tracks.layout(&before);
        for process in (0..15).map(ProcessIdx) {
            layout.set_folded(GroupKind::Process(process), after.processes.contains(&process));
            let group = CustomGroupId(process.0);
            layout.set_folded(GroupKind::Custom(group), after.custom_groups.contains(&group));
        }
        for track in (0..60).map(TrackIdx) {
            for group in groups_of(track.0) {
                layout.set_folded(GroupKind::Tracks(group.id), after.has_group(&group));
            }
            let starts_folded = track.0 % 5 == 2;
            layout.set_folded(GroupKind::Track(track), after.tracks.contains(&track) != starts_folded);
            layout.set_hidden(track, after.hidden.contains(&track));
        }
        prop_assert_eq!(layout, tracks.layout(&after));
    }

    #[test]
    fn every_group_and_every_lane_is_found_at_its_position(lane_counts in lane_counts(), folded in folded_ones()) {
        let tracks = tracks(&lane_counts);
        let layout = tracks.layout(&folded);
        let (groups, lanes, _) = tracks.walked(&folded);
        for &group in &groups {
            prop_assert_eq!(layout.group_of(group.kind), Some(group));
            // A header extends to the end of the last row below it.
            let tracks = layout.tracks_of(group.kind);
            let is_below = |other: &&Group| layout.tracks_of(other.kind).iter().all(|track| tracks.contains(track));
            let last = groups.iter().rfind(is_below);
            let own_px = group.top_px + u64::from(group.height_px);
            let end_px = last.map_or(own_px, |last| last.top_px + u64::from(last.height_px));
            prop_assert_eq!(layout.extent_px(group.kind), Some(group.top_px..end_px.max(own_px)), "{:?}", group);
        }
        let mut shown = lanes.iter();
        for track in &tracks.rows {
            for lane in track.lanes.clone().map(LaneIdx) {
                let found = layout.row_of(lane, track.track);
                prop_assert!(found.is_none() || found.as_ref() == shown.next(), "{:?}", found);
            }
        }
        prop_assert_eq!(shown.next(), None);
    }
}

#[test]
fn a_folded_track_keeps_its_outermost_lane_and_says_how_many_are_gone() {
    let tracks = tracks(&[(0, 0, 0, 4, 0)]);
    let folded = Folded { tracks: std::iter::once(TrackIdx(0)).collect(), ..Folded::default() };
    let layout = tracks.layout(&folded);
    assert_eq!(layout.lanes_within(0, 1000).len(), 1);
    assert_eq!(layout.group_of(GroupKind::Track(TrackIdx(0))).unwrap().folded_lanes, 3);
}

#[test]
fn a_group_of_many_tracks_begins_folded_and_one_of_which_all_are_hidden_has_no_head() {
    let group = TrackGroup {
        id: GroupId::outermost(TrackIdx(0)),
        tracks: 9,
        kind: Some(TrackKind::Async),
        is_named: false,
        is_all: false,
    };
    let tracks = (0..9).map(|track| {
        let (track, lanes) = (TrackIdx(track), track * 2..track * 2 + 2);
        let (process, group) = (ProcessIdx(0), Some(group));
        TrackRows { track, process, custom_group: None, lanes, group, starts_folded: false, curves: 0 }
    });
    let mut layout = RowLayout::new(tracks, |_| LaneKind::Spans, |_| None, &Folded::default(), &heights());
    let shown = |layout: &RowLayout| layout.groups_within(0, 10_000).len();
    let head = GroupKind::Tracks(GroupId::outermost(TrackIdx(0)));
    assert_eq!((shown(&layout), layout.is_folded(head), layout.lanes_within(0, 10_000).len()), (2, true, 0));
    assert_eq!(layout.group_of(head).map(|group| group.folded_lanes), Some(9));
    layout.set_folded(head, false);
    assert_eq!((shown(&layout), layout.lanes_within(0, 10_000).len()), (2 + 9, 18));
    assert_eq!(layout.tracks_of(head), (0..9).map(TrackIdx).collect::<Vec<_>>());
    (0..9).for_each(|track| layout.set_hidden(TrackIdx(track), true));
    assert_eq!((shown(&layout), layout.height_px()), (0, 0));
}

#[test]
fn a_track_of_flows_alone_takes_no_room() {
    assert_eq!(tracks(&[(0, 0, 0, 0, 1)]).layout(&Folded::default()).height_px(), 0);
}

#[test]
fn pinned_rows_follow_each_other_without_headers() {
    let tracks = tracks(&[(0, 0, 0, 2, 0); 9]);
    let chosen = [&tracks.rows[8], &tracks.rows[1]].map(Clone::clone);
    let kind_of = |lane: LaneIdx| tracks.kinds[lane.index()];
    let layout = RowLayout::without_headers(chosen, kind_of, &Folded::default(), &heights());
    let kinds: Vec<_> = layout.groups_within(0, layout.height_px()).iter().map(|group| group.kind).collect();
    assert_eq!(kinds, [8, 1].map(|track| GroupKind::Track(TrackIdx(track))));
}

#[test]
fn denser_rows_are_lower_and_none_is_without_height() {
    let [compact, normal, tall] =
        [TrackDensity::Compact, TrackDensity::Normal, TrackDensity::Tall].map(|density| RowHeights::new(density, 1.0));
    assert!(compact.span_px < normal.span_px && normal.span_px < tall.span_px);
    assert!(RowHeights::new(TrackDensity::Compact, 0.01).span_px > 0);
}

/// A million lanes of 80 thousand threads: frames and folding need no walk over them.
#[test]
fn a_million_lanes_are_searched_and_folded_without_a_walk() {
    let tracks = tracks(&vec![(0, 0, 0, 12, 0); 80_000]);
    let mut layout = tracks.layout(&Folded::default());
    let began = std::time::Instant::now();
    for number in 0..1000_u64 {
        let top_px = number * 7919 % layout.height_px();
        assert!(layout.lanes_within(top_px, top_px + 1080).len() < 64);
        layout.set_folded(GroupKind::Process(ProcessIdx((number * 13 % 20_000) as u32)), true);
    }
    // A walk over all of them takes a millisecond or more, as much as a thousand searches of a few microseconds.
    assert!(began.elapsed().as_millis() < 500, "{:?}", began.elapsed());
}

#[test]
fn no_frame_does_more_for_more_threads_however_they_are_folded_or_hidden() {
    /// A change of a layout, given its number of processes.
    type Change<'a> = &'a dyn Fn(&mut RowLayout, u32);
    const VIEW_PX: u64 = 1080;
    let all = |processes: u32| -> RowLayout {
        let of_process = |process| (0..16).map(move |thread| (process, process * 16 + thread));
        let tracks = (0..processes).flat_map(of_process).map(|(process, track)| TrackRows {
            track: TrackIdx(track),
            process: ProcessIdx(process),
            custom_group: None,
            lanes: track * 3..track * 3 + 3,
            group: (track % 16 >= 8).then_some(TrackGroup {
                id: GroupId::outermost(TrackIdx(track / 16 * 16 + 8)),
                tracks: 8,
                kind: Some(TrackKind::Async),
                is_named: false,
                is_all: false,
            }),
            starts_folded: false,
            curves: 0,
        });
        RowLayout::new(tracks, |_| LaneKind::Spans, |_| None, &Folded::default(), &heights())
    };
    let fold = |layout: &mut RowLayout, processes: u32| {
        (0..processes).for_each(|process| layout.set_folded(GroupKind::Process(ProcessIdx(process)), true));
    };
    let hide_all_but_few = |layout: &mut RowLayout, processes: u32| {
        (0..processes * 16)
            .filter(|track| track % 9973 != 7)
            .for_each(|track| layout.set_hidden(TrackIdx(track), true));
    };
    let fold_groups = |layout: &mut RowLayout, processes: u32| {
        let leads = (0..processes).map(|process| TrackIdx(process * 16 + 8));
        leads.for_each(|lead| layout.set_folded(GroupKind::Tracks(GroupId::outermost(lead)), true));
    };
    let unfolded = |_: &mut RowLayout, _: u32| {};
    // The maximum number of look-ups of a frame while scrolling through everything, and the rows that it shows.
    let most = |processes: u32, change: Change<'_>| -> (u64, usize) {
        let mut layout = all(processes);
        change(&mut layout, processes);
        let frames = (0..=layout.height_px() / VIEW_PX).step_by(1 + processes as usize / 64);
        let of_frame = |frame: u64| {
            let before = lookups::so_far();
            let (top_px, bottom_px) = (frame * VIEW_PX, (frame + 1) * VIEW_PX);
            let shown = layout.groups_within(top_px, bottom_px).len();
            assert!(layout.lanes_within(top_px, bottom_px).len() as u64 <= VIEW_PX);
            (lookups::so_far() - before, shown)
        };
        frames.map(of_frame).max().unwrap_or_default()
    };
    let changes: [Change<'_>; 4] = [&unfolded, &fold, &fold_groups, &hide_all_but_few];
    for (change, threads) in changes.into_iter().flat_map(|change| [160, 80_000].map(|threads| (change, threads))) {
        let (lookups, shown) = most(threads / 16, change);
        // Each of the two lists takes two look-ups per row, plus some for the processes.
        assert!(lookups <= 16 + 8 * shown as u64, "{lookups} lookups for {shown} rows of {threads} threads");
        assert!(shown as u64 <= VIEW_PX / 8, "{shown} rows");
    }
}

#[test]
fn a_row_of_several_counters_has_a_line_for_each_of_them_and_folded_it_is_as_thin_as_any() {
    let heights = heights();
    let rows = [0, 2, 8].into_iter().zip(0u32..).map(|(curves, track)| TrackRows {
        track: TrackIdx(track),
        process: ProcessIdx(0),
        custom_group: None,
        lanes: track..track + 1,
        group: None,
        starts_folded: false,
        curves,
    });
    let mut layout = RowLayout::new(rows, |_| LaneKind::Counter, |_| None, &Folded::default(), &heights);
    let height =
        |layout: &RowLayout, track: u32| layout.row_of(LaneIdx(track), TrackIdx(track)).map(|row| row.height_px);
    let tall = |curves: u32| Some(heights.counter_px + (curves + 1) * heights.legend_px);
    assert_eq!([0, 1, 2].map(|track| height(&layout, track)), [Some(heights.counter_px), tall(2), tall(8)]);
    layout.set_folded(GroupKind::Track(TrackIdx(2)), true);
    assert_eq!(height(&layout, 2), Some(heights.instant_px));
}

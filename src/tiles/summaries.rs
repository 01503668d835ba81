//! The summary of a process or a group of tracks as one lane: in each bucket the longest span of all its tracks. It is
//! shown while they are folded.
//!
//! A naive summary queries every lane for its longest spans, and takes the longest of these. The summary does the same
//! in the background, for fewer lanes and buckets. It queries lanes in order of their longest span, until no remaining
//! lane can have a longer one. For very many lanes, the [`TraceSummary`] has queried all of them once for the whole
//! trace. It answers wide views, and narrower buckets inside one of its spans.
//!
//! [`TraceSummary`]: super::trace_summary::TraceSummary

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::rebucket::TileCell;
use super::source::{TileOwner, TileSource};
use crate::base::cancel::{Cancel, Cancelled};
use crate::model::{ProcessIdx, TrackIdx, TrackKind, TrackSet};
use crate::query::open_end::{OpenEnd, longest_open_end};
use crate::query::track_groups::GroupId;
use crate::query::{Buckets, Cell, CounterCell, ReadCount, RowCount, Snapshot, pixels};
use crate::scene::custom_groups::{CustomGroupId, CustomGroups};
use crate::scene::titles::track_title;
use crate::store::iforest::{self, LongestNs};
use crate::store::lane::{LaneIdx, LaneInfo, LaneKind};

/// Minimum number of lanes for a precomputed summary; with fewer, a tile takes at most about 20 ms.
const PRECOMPUTED_LANES_MIN: usize = 512;

/// Bits of a cell's row for the row in its lane; the rest is the index of the lane in the process or custom group.
const ROW_BITS: u32 = 40;

/// The processes and groups of a trace, each as one lane.
#[derive(Debug, Clone)]
pub(crate) struct TrackSummaries {
    snapshot: Snapshot,
    processes: FxHashMap<ProcessIdx, LaneSummary>,
    groups: FxHashMap<GroupId, LaneSummary>,
    custom_groups: FxHashMap<CustomGroupId, LaneSummary>,
}

#[derive(Debug, Clone)]
struct LaneSummary {
    /// All lanes of the process or of the user's group, longest span first.
    lanes: Arc<Vec<RankedLane>>,
    /// Indices into `lanes` of this summary; `None` for all of them.
    indices: Option<Vec<u32>>,
    info: LaneInfo,
    /// The open span whose part without events is longest.
    open_end: Option<OpenEnd>,
    /// The precomputed answer for buckets of the whole trace.
    precomputed: Option<(Buckets, Vec<Cell>)>,
}

/// A lane, with its longest span for ranking.
#[derive(Debug, Clone, Copy)]
struct RankedLane {
    lane: LaneIdx,
    longest_ns: u64,
    start_ns: i64,
    end_ns: i64,
}

impl TrackSummaries {
    /// Summarises the processes of a trace. Processes with very many lanes are queried completely for `buckets`.
    /// Returns [`Cancelled`] if cancelled.
    pub(crate) fn from_snapshot(snapshot: &Snapshot, buckets: Buckets, cancel: &Cancel) -> Result<Self, Cancelled> {
        Self::with_lanes_min(PRECOMPUTED_LANES_MIN, snapshot, buckets, cancel)
    }

    /// Like [`Self::from_snapshot`]: processes and groups of at least `lanes_min` lanes are queried completely.
    fn with_lanes_min(
        lanes_min: usize,
        snapshot: &Snapshot,
        buckets: Buckets,
        cancel: &Cancel,
    ) -> Result<Self, Cancelled> {
        let mut of_processes: BTreeMap<ProcessIdx, Vec<RankedLane>> = BTreeMap::new();
        for &track in snapshot.display_order() {
            let lanes = of_processes.entry(snapshot.track(track).process).or_default();
            lanes.extend(lanes_of(snapshot, track).map(|(lane, info)| RankedLane::new(snapshot, lane, info)));
        }
        let (mut processes, mut groups) = (FxHashMap::default(), FxHashMap::default());
        for (process, mut lanes) in of_processes {
            lanes.sort_by_key(|ranked| (std::cmp::Reverse(ranked.longest_ns), ranked.lane));
            let lanes = Arc::new(lanes);
            let mut indices: BTreeMap<GroupId, Vec<u32>> = BTreeMap::new();
            for (ranked, index) in lanes.iter().zip(0..) {
                for group in snapshot.groups_of(snapshot.lane(ranked.lane).track) {
                    indices.entry(group.id).or_default().push(index);
                }
            }
            for (group, indices) in indices {
                groups.extend(LaneSummary::new(snapshot, &lanes, Some(indices)).map(|summary| (group, summary)));
            }
            processes.extend(LaneSummary::new(snapshot, &lanes, None).map(|summary| (process, summary)));
        }
        let mut large: Vec<_> = processes.values_mut().chain(groups.values_mut()).collect();
        // In a fixed order, so that runs are reproducible.
        large.sort_by_key(|summary| (summary.ranked(0).map(|(_, ranked)| ranked.lane), summary.len()));
        for summary in large.into_iter().filter(|summary| summary.len() >= lanes_min) {
            summary.precomputed = Some((buckets, summary.query_all(snapshot, buckets, cancel)?));
        }
        Ok(Self { snapshot: snapshot.clone(), processes, groups, custom_groups: FxHashMap::default() })
    }

    /// Summarises the groups that the user has made. Reads one row of a group at most.
    #[must_use]
    pub(crate) fn from_custom_groups(snapshot: &Snapshot, groups: &CustomGroups) -> Self {
        let summary_of = |tracks: &TrackSet| {
            let tracks = tracks.iter().take_while(|track| track.index() < snapshot.tracks().tracks.len());
            let lanes = tracks.flat_map(|track| lanes_of(snapshot, track));
            let mut lanes: Vec<_> = lanes.map(|(lane, info)| RankedLane::new(snapshot, lane, info)).collect();
            lanes.sort_by_key(|ranked| (std::cmp::Reverse(ranked.longest_ns), ranked.lane));
            LaneSummary::new(snapshot, &Arc::new(lanes), None)
        };
        let summaries = groups.all().iter().filter_map(|group| Some((group.id, summary_of(&group.tracks)?)));
        let custom_groups = summaries.collect();
        let (processes, groups) = (FxHashMap::default(), FxHashMap::default());
        Self { snapshot: snapshot.clone(), processes, groups, custom_groups }
    }

    /// Returns whether an owner has a summary.
    #[must_use]
    pub(crate) fn has(&self, owner: TileOwner) -> bool {
        self.get(owner).is_some()
    }

    /// Returns the track of a row of a summary.
    #[must_use]
    pub(crate) fn track_of(&self, owner: TileOwner, row: u64) -> Option<TrackIdx> {
        let index = usize::try_from(row >> ROW_BITS).ok()?;
        let ranked = self.get(owner)?.lanes.get(index)?;
        Some(self.snapshot.lane(ranked.lane).track)
    }

    /// Returns the track of a lane.
    #[must_use]
    pub(crate) fn track_of_lane(&self, lane: LaneIdx) -> TrackIdx {
        self.snapshot.lane(lane).track
    }

    /// Returns the open span of an owner whose part without events is longest. It is computed once, with the summary.
    #[must_use]
    pub(crate) fn open_end(&self, owner: TileOwner) -> Option<&OpenEnd> {
        self.get(owner)?.open_end.as_ref()
    }

    /// Returns whether the spans of a track are thread states.
    pub(crate) fn is_of_states(&self, track: TrackIdx) -> bool {
        self.snapshot.track(track).key.kind == TrackKind::State
    }

    fn get(&self, owner: TileOwner) -> Option<&LaneSummary> {
        match owner {
            TileOwner::Custom(group) => self.custom_groups.get(&group),
            TileOwner::Process(process) => self.processes.get(&process),
            TileOwner::Tracks(group) => self.groups.get(&group),
            TileOwner::Lane(_) => None,
        }
    }

    /// Returns a text that differs between tracks, from which the track's colour is derived.
    #[must_use]
    pub(crate) fn text_of(&self, track: TrackIdx) -> String {
        let (title, beside) = track_title(self.snapshot.track(track));
        format!("{title} {beside}")
    }
}

impl TileSource for TrackSummaries {
    fn info(&self, owner: TileOwner) -> Option<LaneInfo> {
        self.get(owner).map(|summary| summary.info)
    }

    fn longest(&self, owner: TileOwner, buckets: Buckets, cells: &mut Vec<Cell>) -> ReadCount {
        self.get(owner).map(|summary| summary.query(&self.snapshot, buckets, cells)).unwrap_or_default()
    }

    fn counter(&self, _: TileOwner, _: Buckets, _: &mut Vec<CounterCell>) -> ReadCount {
        ReadCount::default()
    }
}

/// Iterates over the span lanes of a track; without spans, over its lane of instants or samples.
fn lanes_of(snapshot: &Snapshot, track: TrackIdx) -> impl Iterator<Item = (LaneIdx, LaneInfo)> {
    let lanes = move || snapshot.lanes_of(track).map(|lane| (LaneIdx(lane), snapshot.lane(LaneIdx(lane))));
    let has_spans = lanes().any(|(_, info)| info.kind == LaneKind::Spans);
    lanes().filter(move |(_, info)| match info.kind {
        LaneKind::Spans => true,
        LaneKind::Instants | LaneKind::Samples => !has_spans,
        LaneKind::Counter | LaneKind::Flows => false,
    })
}

impl RankedLane {
    fn new(snapshot: &Snapshot, lane: LaneIdx, info: LaneInfo) -> Self {
        let store_lane = snapshot.store().lane(lane);
        let (extents, nodes) = (store_lane.extents().len(), store_lane.forest::<LongestNs>());
        let longest_ns = match info.kind {
            LaneKind::Spans if extents > 0 && nodes.len() >= iforest::node_count(extents) => {
                iforest::range(nodes, 0..extents).0
            }
            LaneKind::Spans => u64::MAX,
            LaneKind::Instants | LaneKind::Samples | LaneKind::Counter | LaneKind::Flows => 0,
        };
        Self { lane, longest_ns, start_ns: info.start_ns, end_ns: info.end_ns }
    }
}

impl LaneSummary {
    /// Summarises some lanes; `None` if there are none.
    fn new(snapshot: &Snapshot, lanes: &Arc<Vec<RankedLane>>, indices: Option<Vec<u32>>) -> Option<Self> {
        let first = lanes.first()?.lane;
        let info = LaneInfo { kind: LaneKind::Spans, depth: 0, rows: 0, ..snapshot.lane(first) };
        let mut summary = Self { lanes: Arc::clone(lanes), indices, info, open_end: None, precomputed: None };
        for index in 0..summary.len() {
            let (_, ranked) = summary.ranked(index)?;
            let info = &mut summary.info;
            (info.start_ns, info.end_ns) = match index {
                0 => (ranked.start_ns, ranked.end_ns),
                _ => (info.start_ns.min(ranked.start_ns), info.end_ns.max(ranked.end_ns)),
            };
            info.rows = info.rows.saturating_add(snapshot.lane(ranked.lane).rows);
        }
        let lanes = (0..summary.len()).filter_map(|index| Some(summary.ranked(index)?.1.lane));
        summary.open_end = longest_open_end(snapshot, lanes);
        Some(summary)
    }

    fn len(&self) -> usize {
        self.indices.as_ref().map_or(self.lanes.len(), Vec::len)
    }

    /// Returns the lane of a rank within the summary, and its index among the lanes of the process.
    fn ranked(&self, rank: usize) -> Option<(usize, RankedLane)> {
        let index = match &self.indices {
            Some(indices) => *indices.get(rank)? as usize,
            None => rank,
        };
        Some((index, *self.lanes.get(index)?))
    }

    /// Queries every lane, on all cores.
    fn query_all(&self, snapshot: &Snapshot, buckets: Buckets, cancel: &Cancel) -> Result<Vec<Cell>, Cancelled> {
        const LANES: usize = 64;
        let parts = (0..self.len().div_ceil(LANES)).into_par_iter().map(|part| {
            cancel.check()?;
            let (mut longest, mut cells) = (Longest::new(buckets), Vec::new());
            for (index, ranked) in (part * LANES..(part + 1) * LANES).map_while(|rank| self.ranked(rank)) {
                cells.clear();
                pixels::longest(snapshot, ranked.lane, buckets, &mut cells);
                longest.merge_lane(index, &cells);
            }
            Ok(longest)
        });
        let whole = parts.try_reduce(
            || Longest::new(buckets),
            |mut a, b| {
                a.merge(b);
                Ok(a)
            },
        )?;
        Ok(whole.into_cells())
    }

    /// Queries the lanes that the precomputed cells leave open, longest span first.
    fn query(&self, snapshot: &Snapshot, buckets: Buckets, out: &mut Vec<Cell>) -> ReadCount {
        let mut longest = Longest::new(buckets);
        let mut open = 0..buckets.count as usize;
        if let Some((known_buckets, known_cells)) = &self.precomputed {
            if buckets.width_log2 >= known_buckets.width_log2 {
                let levels = buckets.width_log2 - known_buckets.width_log2;
                let wide = (0..levels).fold(known_cells.clone(), |cells, _| Cell::wider(cells.into_iter()));
                let is_in_view = |cell: &Cell| cell.end_bucket() > buckets.first && cell.first_bucket < buckets.end();
                longest.merge_cells(wide.into_iter().filter(is_in_view));
                out.extend(longest.into_cells());
                return ReadCount::default();
            }
            longest.derive_covered(*known_buckets, known_cells);
            longest.derive_empty(*known_buckets, known_cells);
            open = longest.open();
        }
        let part = Buckets {
            first: buckets.first + open.start as i64,
            count: open.len() as u32,
            width_log2: buckets.width_log2,
        };
        let (from_ns, to_ns) = (part.start_ns(part.first), part.start_ns(part.end()));
        let mut count = ReadCount::default();
        let mut cells = Vec::new();
        let mut shortest_ns = longest.shortest_in(open.clone());
        for (index, ranked) in (0..).map_while(|rank| self.ranked(rank)) {
            // No remaining lane has a longer span than this one.
            if open.is_empty() || shortest_ns.is_some_and(|shortest_ns| ranked.longest_ns <= shortest_ns) {
                break;
            }
            if ranked.start_ns >= to_ns || ranked.end_ns < from_ns {
                continue;
            }
            cells.clear();
            count = count.plus(pixels::longest(snapshot, ranked.lane, part, &mut cells));
            longest.merge_lane(index, &cells);
            shortest_ns = longest.shortest_in(open.clone());
        }
        out.extend(longest.into_cells());
        count
    }
}

/// The longest spans of some buckets, while lanes are queried one after the other.
struct Longest {
    buckets: Buckets,
    best: Vec<Option<Cell>>,
    /// Buckets known to be empty, for which no lane is queried.
    empty: Vec<bool>,
}

impl Longest {
    fn new(buckets: Buckets) -> Self {
        let count = buckets.count as usize;
        Self { buckets, best: vec![None; count], empty: vec![false; count] }
    }

    /// Merges the cells of the lane at an index of the process.
    fn merge_lane(&mut self, index: usize, cells: &[Cell]) {
        let of_lane = (index as u64) << ROW_BITS;
        self.merge_cells(cells.iter().map(|cell| Cell { row: of_lane | cell.row, ..*cell }));
    }

    /// Merges cells whose rows include their lanes.
    fn merge_cells(&mut self, cells: impl Iterator<Item = Cell>) {
        for cell in cells {
            let first = cell.first_bucket.max(self.buckets.first);
            let end = cell.end_bucket().min(self.buckets.end());
            for bucket in first..end {
                let from_first = if bucket == cell.first_bucket { cell.first_rows } else { RowCount::default() };
                // Within a run, rows start only in the first bucket and, after its span, in the last.
                let from_last = if bucket == cell.end_bucket() - 1 { cell.last_rows } else { RowCount::default() };
                let rows = from_first.plus(from_last);
                self.merge_cell(Cell {
                    first_bucket: bucket,
                    bucket_count: 1,
                    first_rows: rows,
                    last_rows: RowCount::default(),
                    ..cell
                });
            }
        }
    }

    fn merge_cell(&mut self, cell: Cell) {
        let index = usize::try_from(cell.first_bucket - self.buckets.first).unwrap_or(usize::MAX);
        let Some(best) = self.best.get_mut(index) else { return };
        match best {
            Some(best_cell) => {
                let first_rows = best_cell.first_rows.plus(cell.first_rows);
                let is_longer = (cell.dur_ns(), std::cmp::Reverse(cell.row))
                    > (best_cell.dur_ns(), std::cmp::Reverse(best_cell.row));
                *best_cell = Cell { first_rows, ..if is_longer { cell } else { *best_cell } };
            }
            None => *best = Some(cell),
        }
    }

    fn merge(&mut self, other: Self) {
        other.best.into_iter().flatten().for_each(|cell| self.merge_cell(cell));
    }

    /// Derives narrower buckets from wider cells: if one span fills a narrower bucket and is the longest of the wider
    /// one, none is longer.
    fn derive_covered(&mut self, wider_buckets: Buckets, wider: &[Cell]) {
        let (from_ns, to_ns) = (self.buckets.start_ns(self.buckets.first), self.buckets.start_ns(self.buckets.end()));
        for cell in wider {
            let holds_from_ns = cell.start_ns.max(wider_buckets.start_ns(cell.first_bucket)).max(from_ns);
            let holds_to_ns = cell.end_ns.min(wider_buckets.start_ns(cell.end_bucket())).min(to_ns);
            if holds_from_ns >= holds_to_ns {
                continue;
            }
            let (first, last) = (self.buckets.bucket_at(holds_from_ns), self.buckets.bucket_at(holds_to_ns - 1));
            for bucket in first..=last {
                let (start_ns, end_ns) = (self.buckets.start_ns(bucket), self.buckets.start_ns(bucket + 1));
                if holds_from_ns <= start_ns && holds_to_ns >= end_ns {
                    let (first_rows, last_rows) = (RowCount::default(), RowCount::default());
                    self.merge_cell(Cell { first_bucket: bucket, bucket_count: 1, first_rows, last_rows, ..*cell });
                }
            }
        }
    }

    /// Derives empty buckets from the gaps between wider cells.
    fn derive_empty(&mut self, wider_buckets: Buckets, wider: &[Cell]) {
        let ends = wider.iter().map(Cell::end_bucket);
        let gaps = std::iter::once(wider_buckets.first)
            .chain(ends)
            .zip(wider.iter().map(|cell| cell.first_bucket).chain([wider_buckets.end()]));
        for (first, end) in gaps.filter(|(first, end)| first < end) {
            let (from_ns, to_ns) = (wider_buckets.start_ns(first), wider_buckets.start_ns(end));
            // Both widths are powers of two, so a narrower bucket lies in one wider bucket.
            let index = |ts_ns: i64| usize::try_from(self.buckets.bucket_at(ts_ns).saturating_sub(self.buckets.first));
            let (from, to) = (index(from_ns).unwrap_or(0), index(to_ns).unwrap_or(0));
            let count = self.empty.len();
            self.empty[from.min(count)..to.min(count)].fill(true);
        }
    }

    /// Returns the range from the first to the last unknown bucket.
    fn open(&self) -> std::ops::Range<usize> {
        let is_open = |(best, empty): (&Option<Cell>, &bool)| best.is_none() && !empty;
        let first = self.best.iter().zip(&self.empty).position(is_open);
        let last = self.best.iter().zip(&self.empty).rposition(is_open);
        first.unwrap_or(0)..last.map_or(0, |last| last + 1)
    }

    /// Returns the shortest of the longest spans in some buckets that are not empty; `None` while any has none.
    fn shortest_in(&self, indices: std::ops::Range<usize>) -> Option<u64> {
        #[cfg(test)]
        tests::SHORTEST_SCANS.set(tests::SHORTEST_SCANS.get() + 1);
        let non_empty = self.best[indices.clone()].iter().zip(&self.empty[indices]).filter(|(_, empty)| !**empty);
        non_empty.map(|(best, _)| best.map(|cell| cell.dur_ns())).min().flatten()
    }

    fn into_cells(self) -> Vec<Cell> {
        let mut cells: Vec<Cell> = Vec::new();
        for cell in self.best.into_iter().flatten() {
            if !cells.last_mut().is_some_and(|last| last.extend(&cell)) {
                cells.push(cell);
            }
        }
        cells
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::scene::tests::snapshot;

    thread_local! {
        /// How often this thread has searched buckets for the shortest of their spans.
        pub(super) static SHORTEST_SCANS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    }

    /// Returns all spans of some tracks as `(start_ns, end_ns)`.
    fn spans_of(snapshot: &Snapshot, tracks: &TrackSet) -> Vec<(i64, i64)> {
        let lanes = snapshot.event_lanes().filter(|&lane| snapshot.lane(lane).kind == LaneKind::Spans);
        let lanes = lanes.filter(|&lane| tracks.contains(snapshot.lane(lane).track));
        let rows =
            lanes.flat_map(|lane| (0..snapshot.lane(lane).rows).map(move |row| crate::store::RowIdx { lane, row }));
        rows.map(|row| snapshot.row(row)).map(|span| (span.start_ns, span.end_ns())).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        /// The oracle is a loop over the open ends of all lanes.
        #[test]
        fn the_open_end_of_a_process_is_the_longest_of_its_lanes(
            events in prop::collection::vec((0_u32..3, 0_u32..6, 0_i64..400, any::<bool>()), 1..60),
        ) {
            let mut lines: Vec<_> = events
                .iter()
                .map(|(process, thread, start, has_end)| {
                    let phase = if *has_end { r#""X","dur":7"# } else { r#""B""# };
                    format!(r#"{{"ph":{phase},"name":"n","pid":{process},"tid":{process}{thread},"ts":{start}}}"#)
                })
                .collect();
            lines.push(r#"{"ph":"X","name":"last","pid":9,"tid":99,"ts":0,"dur":500}"#.to_owned());
            let snapshot = snapshot(&format!("[{}]", lines.join(",")));
            let buckets = Buckets { first: 0, count: 400, width_log2: 14 };
            let summaries = TrackSummaries::from_snapshot(&snapshot, buckets, &Cancel::default()).unwrap();
            for process in (0..snapshot.tracks().processes.len() as u32).map(ProcessIdx) {
                let lanes = snapshot.event_lanes();
                let lanes = lanes.filter(|&lane| snapshot.track(snapshot.lane(lane).track).process == process);
                let open = lanes.filter_map(|lane| crate::query::open_end::open_end(&snapshot, lane));
                let longest = open.map(|open| open.to_ns - open.from_ns).max();
                let found = summaries.open_end(TileOwner::Process(process));
                prop_assert_eq!(found.map(|open| open.to_ns - open.from_ns), longest);
            }
        }

        #[test]
        fn each_bucket_has_the_longest_span_of_all_tracks_however_many_are_precomputed(
            // Some overlap others of their thread without nesting: the longer may be in the deeper lane.
            spans in prop::collection::vec((0_u32..12, 0_i64..4000, 1_i64..600), 1..120),
            width_log2 in 8_u32..20,
            lanes_min in prop_oneof![Just(1_usize), Just(usize::MAX)],
            first in 0_i64..20,
        ) {
            let lines = spans.iter().map(|(thread, start, dur)| {
                format!(r#"{{"ph":"X","name":"n{dur}","pid":1,"tid":{thread},"ts":{start},"dur":{dur}}}"#)
            });
            let snapshot = snapshot(&format!("[{}]", lines.collect::<Vec<_>>().join(",")));
            // 4.6 ms of a trace in buckets of 16 us.
            let precomputed = Buckets { first: 0, count: 400, width_log2: 14 };
            let lanes =
                TrackSummaries::with_lanes_min(lanes_min, &snapshot, precomputed, &Cancel::default()).unwrap();
            let of_process = (lanes, TileOwner::Process(ProcessIdx(0)), TrackSet::ALL);
            let some = TrackSet::from_fn(snapshot.tracks().tracks.len(), |track| track.0 % 3 != 1);
            let mut groups = CustomGroups::default();
            let group = TileOwner::Custom(groups.make(some.clone()).unwrap());
            let of_group = (TrackSummaries::from_custom_groups(&snapshot, &groups), group, some);
            let buckets = Buckets { first, count: 100, width_log2 };
            for ((lanes, owner, tracks), bucket) in
                [of_process, of_group].iter().flat_map(|of| (first..buckets.end()).map(move |bucket| (of, bucket)))
            {
                let owner = *owner;
                let mut cells = Vec::new();
                lanes.longest(owner, buckets, &mut cells);
                let all = spans_of(&snapshot, tracks);
                let (from, to) = (buckets.start_ns(bucket), buckets.start_ns(bucket + 1));
                let longest = all.iter().filter(|span| span.0 < to && span.1 > from).map(|span| span.1 - span.0).max();
                let cell = cells.iter().find(|cell| (cell.first_bucket..cell.end_bucket()).contains(&bucket));
                let found = cell.map(|cell| i64::try_from(cell.dur_ns()).unwrap());
                prop_assert_eq!(found, longest, "bucket {} of {}..{}", bucket, from, to);
                if let Some(cell) = cell {
                    let track = lanes.track_of(owner, cell.row).unwrap();
                    prop_assert!(tracks.contains(track));
                    let row = cell.row & ((1 << ROW_BITS) - 1);
                    let of_track = snapshot.lanes_of(track).map(LaneIdx).any(|lane| {
                        let span = snapshot.row(crate::store::RowIdx { lane, row });
                        (span.start_ns, span.end_ns()) == (cell.start_ns, cell.end_ns)
                    });
                    prop_assert!(of_track, "{:?} is not on {:?}", cell, track);
                }
            }
        }
    }

    #[test]
    fn a_group_has_the_longest_span_of_its_tracks_and_none_of_others() {
        // Forty concurrent requests and some timers, in one process, below a thread that is longer than all.
        let tree = |name: &str, id: u32, start: u32, dur: u32| {
            let event = |phase: &str, ts: u32| {
                format!(r#",{{"ph":"{phase}","cat":"c","name":"{name}","id":"{name}{id}","pid":1,"tid":1,"ts":{ts}}}"#)
            };
            event("b", start) + &event("e", start + dur)
        };
        let requests: String = (0..40).map(|id| tree("request", id, id, 500 + id * 7 % 40)).collect();
        let timers: String = (0..4).map(|id| tree("timer", id, 0, 900)).collect();
        let thread = r#"{"ph":"X","name":"main","pid":1,"tid":1,"ts":0,"dur":2000}"#;
        let snapshot = snapshot(&format!("[{thread}{requests}{timers}]"));
        let groups: Vec<_> = snapshot.groups().iter().map(|group| (group.tracks, group.id)).collect();
        assert_eq!(groups.iter().map(|group| group.0).collect::<Vec<_>>(), [40, 4]);
        let buckets = Buckets { first: 0, count: 500, width_log2: 12 };
        for lanes_min in [1, usize::MAX] {
            let summaries = TrackSummaries::with_lanes_min(lanes_min, &snapshot, buckets, &Cancel::default()).unwrap();
            for (name, group, longest_us) in [("request", groups[0].1, 539), ("timer", groups[1].1, 900)] {
                let owner = TileOwner::Tracks(group);
                let mut cells = Vec::new();
                summaries.longest(owner, buckets, &mut cells);
                let found = cells.iter().map(Cell::dur_ns).max();
                assert_eq!(found, Some(longest_us * 1000), "{name}");
                for cell in cells {
                    assert_eq!(snapshot.names().get(cell.name).text, name);
                    let track = summaries.track_of(owner, cell.row).unwrap();
                    assert_eq!(snapshot.group_of(track).map(|group| group.id), Some(group));
                }
            }
        }
    }

    #[test]
    fn lanes_at_other_times_cost_no_scan_of_the_buckets() {
        // Three hundred threads one after the other. The view shows five of them.
        let span = |thread| format!(r#"{{"ph":"X","name":"n","pid":1,"tid":{thread},"ts":{},"dur":9}}"#, thread * 100);
        let snapshot = snapshot(&format!("[{}]", (1..=300).map(span).collect::<Vec<_>>().join(",")));
        let buckets = Buckets { first: 100, count: 400, width_log2: 10 };
        let lanes = TrackSummaries::with_lanes_min(usize::MAX, &snapshot, buckets, &Cancel::default()).unwrap();
        let (mut cells, before) = (Vec::new(), SHORTEST_SCANS.get());
        lanes.longest(TileOwner::Process(ProcessIdx(0)), buckets, &mut cells);
        assert_eq!((cells.len(), SHORTEST_SCANS.get() - before), (5, 6));
    }

    #[test]
    fn lanes_that_cannot_hold_a_longer_span_are_not_queried() {
        // One thread with a span over everything, and three hundred with short ones.
        let short = (0..300).map(|thread| {
            format!(r#",{{"ph":"X","name":"short","pid":1,"tid":{},"ts":{},"dur":2}}"#, thread + 2, thread * 3)
        });
        let long = r#"{"ph":"X","name":"long","pid":1,"tid":1,"ts":0,"dur":1000}"#;
        let snapshot = snapshot(&format!("[{long}{}]", short.collect::<String>()));
        let buckets = Buckets { first: 0, count: 200, width_log2: 12 };
        let lanes = TrackSummaries::with_lanes_min(usize::MAX, &snapshot, buckets, &Cancel::default()).unwrap();
        let mut cells = Vec::new();
        let read = lanes.longest(TileOwner::Process(ProcessIdx(0)), buckets, &mut cells);
        assert_eq!((cells.len(), cells[0].end_ns - cells[0].start_ns), (1, 1_000_000));
        assert!(read.queries <= 200, "{read:?}");
    }
}

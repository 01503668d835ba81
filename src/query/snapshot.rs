//! A store as the view and the command line use it: tables, lanes in display order, rows by index.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::model::{
    Losses, NameIdx, Names, ProcessIdx, Severity, StackIdx, Stacks, Track, TrackIdx, TrackKind, TrackTables,
};
use crate::store::live_lanes::LaneMoves;
use crate::store::{LaneIdx, LaneInfo, LaneKind, RowIdx, Span, Store, Summary};

use super::cursor::LaneCursor;
use super::display_order::{ThreadsOfTracks, display_order, shown_tracks, tracks_of_process};
use super::drawn_unit::{AxisUnit, DrawnUnit, DrawnUnits};
use super::named_groups::NamedGroups;
use super::overlay::NameOverlay;
use super::path_limit::{PATHS_MAX, paths_within};
use super::shared_names::SharedNames;
use super::track_groups::{GroupId, TrackGroup, TrackGroups};
use super::untimed::UntimedSamples;

#[cfg(test)]
thread_local! {
    static TRACK_READS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Returns how often this thread has read a track or its lanes, which tests use to bound the work of a frame.
#[cfg(test)]
pub(crate) fn track_reads() -> u64 {
    TRACK_READS.get()
}

/// A store that can be queried from any thread. Clones are cheap and share the store.
#[derive(Debug, Clone)]
pub struct Snapshot(Arc<SnapshotParts>);

#[derive(Debug)]
struct SnapshotParts {
    store: Arc<Store>,
    display_order: Arc<Vec<TrackIdx>>,
    groups: Arc<TrackGroups>,
    threads: Arc<ThreadsOfTracks>,
    has_states: bool,
    shows_samples_first: bool,
    drawn_units: Arc<DrawnUnits>,
    untimed: UntimedSamples,
    shared_names: Arc<SharedNames>,
    /// The number of losses of each severity, once counted: a trace of many files may have 65,536 entries.
    losses_by_severity: Arc<OnceLock<[(Severity, u64); 3]>>,
    /// Resolved symbol names, which replace the names in the store.
    overlay: Option<Arc<NameOverlay>>,
    /// Limit for the call paths of an answer.
    paths_max: usize,
}

impl Snapshot {
    /// Creates a snapshot without resolved symbol names; sorts the tracks for display.
    #[must_use]
    pub fn new(store: Arc<Store>) -> Self {
        let (tables, shown) = (&store.meta().tracks, shown_tracks(&store));
        let named = NamedGroups::new(tables, &shown);
        let threads = Arc::new(ThreadsOfTracks::new(&tables.tracks));
        let display_order = Arc::new(display_order(tables, shown, &named, &threads));
        let groups = Arc::new(TrackGroups::new(tables, &display_order, &named));
        let tracks = &store.meta().tracks.tracks;
        let has_states = tracks.iter().any(|track| track.key.kind == TrackKind::State);
        // Nearly all traces have such a span in their first lanes.
        let has_program_spans = || {
            (0..store.lane_count()).map(|lane| store.lane(LaneIdx(lane)).info()).any(|info| {
                let kind = tracks[info.track.index()].key.kind;
                let is_of_program = !matches!(kind, TrackKind::State | TrackKind::Cpu | TrackKind::Samples);
                info.kind == LaneKind::Spans && info.rows > 0 && is_of_program
            })
        };
        let shows_samples_first = store.meta().summary.samples > 0 && !has_program_spans();
        let untimed = UntimedSamples::of_store(&store);
        Self(Arc::new(SnapshotParts {
            store,
            display_order,
            groups,
            threads,
            has_states,
            shows_samples_first,
            drawn_units: Arc::default(),
            untimed,
            shared_names: Arc::default(),
            losses_by_severity: Arc::default(),
            overlay: None,
            paths_max: PATHS_MAX,
        }))
    }

    /// Returns the snapshot with other resolved symbol names, or with none.
    #[must_use]
    pub(crate) fn with_overlay(&self, overlay: Option<Arc<NameOverlay>>) -> Self {
        self.with(overlay, self.0.paths_max)
    }

    /// Returns the snapshot with a memory limit for its answers. Without one, they have all call paths that fit.
    #[must_use]
    pub(crate) fn within_memory(&self, memory_bytes: u64) -> Self {
        self.with(self.0.overlay.clone(), paths_within(memory_bytes))
    }

    /// Returns the limit for the call paths of an answer.
    #[must_use]
    pub(crate) fn paths_max(&self) -> usize {
        self.0.paths_max
    }

    fn with(&self, overlay: Option<Arc<NameOverlay>>, paths_max: usize) -> Self {
        Self(Arc::new(SnapshotParts {
            store: Arc::clone(&self.0.store),
            display_order: Arc::clone(&self.0.display_order),
            groups: Arc::clone(&self.0.groups),
            threads: Arc::clone(&self.0.threads),
            has_states: self.has_states(),
            shows_samples_first: self.shows_samples_first(),
            drawn_units: Arc::clone(&self.0.drawn_units),
            untimed: self.0.untimed,
            shared_names: Arc::clone(&self.0.shared_names),
            losses_by_severity: Arc::clone(&self.0.losses_by_severity),
            overlay,
            paths_max,
        }))
    }

    /// Returns the unit of the bars of a track.
    #[must_use]
    pub(crate) fn drawn_unit(&self, track: TrackIdx) -> DrawnUnit {
        self.0.drawn_units.of_track(self.store(), track)
    }

    /// Returns whether any track has times. Bars of the others are as wide as their weights in bytes or counts.
    #[must_use]
    pub(crate) fn has_times(&self) -> bool {
        *self.axis_unit() == AxisUnit::Time
    }

    /// Returns the number of samples without times.
    #[must_use]
    pub(crate) fn untimed_samples(&self) -> u64 {
        self.0.untimed.count
    }

    /// Returns whether the trace consists of samples without times.
    #[must_use]
    pub(crate) fn is_untimed(&self) -> bool {
        let Summary { spans, instants, counters, flows, samples, .. } = *self.summary();
        let count = self.untimed_samples();
        count > 0 && samples == count && [spans, instants, counters, flows] == [0; 4]
    }

    /// Returns the unit of the horizontal axis.
    #[must_use]
    pub(crate) fn axis_unit(&self) -> &AxisUnit {
        self.0.drawn_units.of_axis(self.store(), self.display_order())
    }

    /// Returns the thread of a track with thread states or samples, and any other track itself.
    #[must_use]
    pub(crate) fn thread_of(&self, track: TrackIdx) -> TrackIdx {
        self.0.threads.thread_or_self(track)
    }

    /// Returns whether another track has the same name, so that only their ids tell them apart.
    #[must_use]
    pub(crate) fn has_shared_name(&self, track: TrackIdx) -> bool {
        self.0.shared_names.has(&self.tracks().tracks, track)
    }

    /// Finds the tracks with a shared name in advance: a frame must not loop over all tracks.
    #[must_use]
    pub(crate) fn with_shared_names_found(self) -> Self {
        self.0.shared_names.find(&self.tracks().tracks);
        self
    }

    /// Returns whether the tracks with a shared name were found.
    #[cfg(test)]
    pub(crate) fn has_found_shared_names(&self) -> bool {
        self.0.shared_names.are_found()
    }

    /// Returns whether the trace has thread states.
    #[must_use]
    pub(crate) fn has_states(&self) -> bool {
        self.0.has_states
    }

    /// Returns whether panels show the samples of the trace first. It has samples, and no spans except thread states
    /// and runs on CPUs, which say less about its code.
    #[must_use]
    pub(crate) fn shows_samples_first(&self) -> bool {
        self.0.shows_samples_first
    }

    /// Returns the resolved symbol names, if any.
    #[must_use]
    pub(crate) fn overlay(&self) -> Option<&NameOverlay> {
        self.0.overlay.as_deref()
    }

    /// Returns the store that the snapshot reads.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    /// Returns the processes and tracks of the trace.
    #[must_use]
    pub fn tracks(&self) -> &TrackTables {
        &self.store().meta().tracks
    }

    /// Returns the offset from trace times to nanoseconds of UTC since 1970, if the trace has one.
    #[must_use]
    pub(crate) fn utc_offset_ns(&self) -> Option<i64> {
        self.tracks().utc_offset_ns
    }

    /// Returns a track by index.
    ///
    /// # Panics
    /// Panics if there is no such track.
    #[must_use]
    pub fn track(&self, track: TrackIdx) -> &Track {
        #[cfg(test)]
        TRACK_READS.set(TRACK_READS.get() + 1);
        &self.tracks().tracks[track.index()]
    }

    /// Returns names and categories of all rows, including resolved symbol names.
    #[must_use]
    pub fn names(&self) -> &Names {
        self.overlay().map_or(self.raw_names(), |overlay| &overlay.names)
    }

    /// Returns names and categories of all rows as in the store.
    #[must_use]
    pub(crate) fn raw_names(&self) -> &Names {
        &self.store().meta().names
    }

    /// Returns call stacks of all samples as in the store: unresolved frames are addresses.
    #[must_use]
    pub(crate) fn raw_stacks(&self) -> &Stacks {
        &self.store().meta().stacks
    }

    /// Returns call stacks with resolved symbol names, indexed by [`Self::stack`].
    #[must_use]
    pub fn stacks(&self) -> &Stacks {
        self.overlay().map_or(self.raw_stacks(), |overlay| &overlay.stacks)
    }

    /// Maps a stack of the store to an index of [`Self::stacks`].
    #[must_use]
    pub(crate) fn stack(&self, stack: StackIdx) -> StackIdx {
        self.overlay().map_or(stack, |overlay| overlay.stack(stack))
    }

    /// Iterates over the frames of a stack of the store, innermost first, with resolved symbol names.
    pub(crate) fn frames(&self, stack: StackIdx) -> impl Iterator<Item = NameIdx> + '_ {
        self.stacks().frames(self.stack(stack))
    }

    /// Returns the losses of the import.
    #[must_use]
    pub fn losses(&self) -> &Losses {
        &self.store().meta().losses
    }

    /// Returns the number of losses of a severity, which is counted once: every frame shows it.
    #[must_use]
    pub(crate) fn losses_of(&self, severity: Severity) -> u64 {
        let counted = || Severity::ALL.map(|severity| (severity, self.losses().count_of(severity)));
        let counts = self.0.losses_by_severity.get_or_init(counted);
        counts.iter().find(|(known, _)| *known == severity).map_or(0, |(_, count)| *count)
    }

    /// Returns counts over the whole trace.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.store().meta().summary
    }

    /// Returns the start of the first row with a time; if none has one, of the first row.
    #[must_use]
    pub fn start_ns(&self) -> i64 {
        self.summary().start_ns
    }

    /// Returns the latest end of a row with a time; if none has one, of a row.
    #[must_use]
    pub fn end_ns(&self) -> i64 {
        self.summary().end_ns
    }

    /// Returns the first start and the latest end of all rows, including samples without times.
    #[must_use]
    pub fn drawn_range_ns(&self) -> (i64, i64) {
        let range_ns = (self.start_ns(), self.end_ns());
        self.0
            .untimed
            .range_ns
            .map_or(range_ns, |(start_ns, end_ns)| (start_ns.min(range_ns.0), end_ns.max(range_ns.1)))
    }

    /// Returns the tracks that have something to show: by process in trace order, then by track.
    #[must_use]
    pub(crate) fn display_order(&self) -> &[TrackIdx] {
        &self.0.display_order
    }

    /// Returns the tracks of a process, in display order.
    #[must_use]
    pub(crate) fn tracks_of_process(&self, process: ProcessIdx) -> &[TrackIdx] {
        tracks_of_process(self.display_order(), self.tracks(), process)
    }

    /// Returns the innermost group of a track, if it is in one.
    #[must_use]
    pub(crate) fn group_of(&self, track: TrackIdx) -> Option<TrackGroup> {
        self.0.groups.of(track)
    }

    /// Returns the groups that contain a track, innermost first.
    pub(crate) fn groups_of(&self, track: TrackIdx) -> impl Iterator<Item = TrackGroup> {
        self.0.groups.above(track)
    }

    /// Returns whether a track is in a group, or in one of its inner groups.
    #[must_use]
    pub(crate) fn is_in_group(&self, track: TrackIdx, id: GroupId) -> bool {
        self.groups_of(track).any(|group| group.id == id)
    }

    /// Returns a group by its identity.
    #[must_use]
    pub(crate) fn group(&self, id: GroupId) -> Option<TrackGroup> {
        self.groups_of(id.lead).find(|group| group.id == id)
    }

    /// Returns the groups that contain a group, innermost first.
    pub(crate) fn groups_around(&self, id: GroupId) -> impl Iterator<Item = TrackGroup> {
        self.groups_of(id.lead).filter(move |group| group.id.level < id.level)
    }

    /// Returns the groups of tracks, top to bottom. Each is a contiguous part of the display order, and comes after the
    /// groups that contain it.
    #[must_use]
    pub(crate) fn groups(&self) -> &[TrackGroup] {
        self.0.groups.all()
    }

    /// Returns the lanes of a track: instants, samples, counter, spans by depth, flows.
    #[must_use]
    pub(crate) fn lanes_of(&self, track: TrackIdx) -> Range<u32> {
        #[cfg(test)]
        TRACK_READS.set(TRACK_READS.get() + 1);
        self.store().lanes_of(track)
    }

    /// Iterates over the lanes of trace events, which are listed and exported. Derived lanes are excluded.
    pub fn event_lanes(&self) -> impl Iterator<Item = LaneIdx> + '_ {
        let lanes = (0..self.store().lane_count()).map(LaneIdx);
        lanes.filter(|&lane| !self.track(self.lane(lane).track).key.kind.is_derived())
    }

    /// Returns the properties of a lane that need no access to its rows.
    #[must_use]
    pub fn lane(&self, lane: LaneIdx) -> LaneInfo {
        self.store().lane(lane).info()
    }

    /// Returns the lane of spans one deeper on the same track. It is the next one, because the lanes of a track are
    /// sorted by depth.
    #[must_use]
    pub(crate) fn lane_below(&self, lane: LaneIdx) -> Option<LaneIdx> {
        let above = self.lane(lane);
        let below = LaneIdx(lane.0 + 1);
        let info = self.lanes_of(above.track).contains(&below.0).then(|| self.lane(below))?;
        (info.kind == LaneKind::Spans && above.depth.checked_add(1) == Some(info.depth)).then_some(below)
    }

    /// Maps a lane of an earlier snapshot of the same trace, in which fewer rows were sorted. Lane indices change as
    /// tracks get more lanes.
    #[must_use]
    pub(crate) fn lane_since(&self, earlier: &Self, lane: LaneIdx) -> Option<LaneIdx> {
        if self.has_store_of(earlier) {
            return Some(lane);
        }
        let earlier_lane = earlier.lane(lane);
        let order = |info: &LaneInfo| (info.kind, info.depth);
        let mut same = self.equal_lanes(earlier_lane.track, |info| order(info).cmp(&order(&earlier_lane)));
        same.next().map(LaneIdx)
    }

    /// Returns the lanes of a track for which `order` is equal, by binary searches: a track may have 65,536 lanes.
    pub(super) fn equal_lanes(&self, track: TrackIdx, order: impl Fn(&LaneInfo) -> Ordering) -> Range<u32> {
        let lanes = self.lanes_of(track);
        let first = |is_reached: fn(Ordering) -> bool| {
            let Range { mut start, mut end } = lanes.clone();
            while start < end {
                let middle = start.midpoint(end);
                if is_reached(order(&self.lane(LaneIdx(middle)))) { end = middle } else { start = middle + 1 }
            }
            start
        };
        first(Ordering::is_ge)..first(Ordering::is_gt)
    }

    /// Maps a row of an earlier snapshot of the same trace. A span may have ended since. Returns `None` if
    /// the row cannot be found.
    #[must_use]
    pub(crate) fn row_since(&self, earlier: &Self, row: RowIdx) -> Option<RowIdx> {
        if self.has_store_of(earlier) {
            return Some(row);
        }
        let earlier_span = earlier.row(row);
        let lane = self.lane_since(earlier, row.lane)?;
        let mut cursor = LaneCursor::new(self.store(), lane);
        let first = cursor.first_from(earlier_span.start_ns).row;
        // A restarted import may number the names differently.
        let name = earlier.raw_names().get(earlier_span.name);
        let is_same = |span: Span| span.start_ns == earlier_span.start_ns && self.raw_names().get(span.name) == name;
        // Rows may share a time; of the spans that do, all but the last have no length.
        let mut same_time = (first..).map_while(|row| {
            let span = cursor.span(row).filter(|span| span.start_ns == earlier_span.start_ns)?;
            Some((row, span))
        });
        let kind = self.lane(lane).kind;
        let row = match kind {
            LaneKind::Spans => same_time.find(|&(_, span)| is_same(span)),
            // Equal rows with the same time differ only in their index.
            _ => same_time.find(|&(number, span)| number == row.row && is_same(span)),
        };
        row.map(|(row, _)| RowIdx { lane, row })
    }

    /// Returns whether both snapshots are of the same store, so that they differ at most in resolved names.
    #[must_use]
    pub(crate) fn has_store_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0.store, &other.0.store)
    }

    /// Returns whether all tracks of `earlier` come first, in their order, so that track indices stay valid.
    #[must_use]
    pub(crate) fn has_tracks_of(&self, earlier: &Self) -> bool {
        let (tracks, before) = (&self.tracks().tracks, &earlier.tracks().tracks);
        before.len() <= tracks.len() && tracks.iter().zip(before).all(|(track, before)| track.key == before.key)
    }

    /// Returns how lanes have moved since another snapshot of the same live trace. Its names and tracks keep their
    /// indices. Returns `None` for a snapshot of another trace. Takes constant time.
    #[must_use]
    pub(crate) fn lane_moves_since(&self, other: &Self) -> Option<LaneMoves> {
        if self.has_store_of(other) {
            return Some(LaneMoves::None);
        }
        self.store().live_lanes()?.moves_since(other.store().live_lanes()?)
    }

    /// Returns one row as a span; the duration of other rows is 0.
    #[must_use]
    pub(crate) fn row(&self, row: RowIdx) -> Span {
        LaneCursor::new(self.store(), row.lane).span(row.row).unwrap_or_default()
    }
}

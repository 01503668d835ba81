//! A store as the view and the command line see it: tables, lanes in the order of display, rows by index.

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::{Id, Losses, NameIdx, Names, StackIdx, Stacks, Track, TrackIdx, TrackKind, TrackTables};
use crate::store::{LaneIdx, LaneInfo, LaneKind, RowIdx, Span, Store, Summary};

use super::cursor::LaneCursor;
use super::overlay::NameOverlay;
use super::track_groups::{TrackGroup, TrackGroups};

#[cfg(test)]
thread_local! {
    static TRACK_READS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// How often this thread has asked for a track or its lanes so far: what bounds the work of a frame.
#[cfg(test)]
pub(crate) fn track_reads() -> u64 {
    TRACK_READS.get()
}

/// A store that can be asked from any thread. Clones are cheap and see the same.
#[derive(Debug, Clone)]
pub struct Snapshot(Arc<SnapshotParts>);

#[derive(Debug)]
struct SnapshotParts {
    store: Arc<Store>,
    display_order: Arc<Vec<TrackIdx>>,
    groups: Arc<TrackGroups>,
    has_states: bool,
    /// Names that were looked up, instead of those of the store.
    overlay: Option<Arc<NameOverlay>>,
}

impl Snapshot {
    /// A view of a store.
    #[must_use]
    pub fn new(store: Arc<Store>) -> Self {
        let display_order = Arc::new(display_order(&store));
        let groups = Arc::new(TrackGroups::new(&store.meta().tracks, &display_order));
        let tracks = &store.meta().tracks.tracks;
        let has_states = tracks.iter().any(|track| track.key.kind == TrackKind::State);
        Self(Arc::new(SnapshotParts { store, display_order, groups, has_states, overlay: None }))
    }

    /// The same with names that were looked up, or with none.
    #[must_use]
    pub(crate) fn with_overlay(&self, overlay: Option<Arc<NameOverlay>>) -> Self {
        let (store, display_order) = (Arc::clone(&self.0.store), Arc::clone(&self.0.display_order));
        let groups = Arc::clone(&self.0.groups);
        let has_states = self.has_states();
        Self(Arc::new(SnapshotParts { store, display_order, groups, has_states, overlay }))
    }

    /// Whether the trace has states of threads.
    #[must_use]
    pub(crate) fn has_states(&self) -> bool {
        self.0.has_states
    }

    /// Names that were looked up, if any were.
    #[must_use]
    pub(crate) fn overlay(&self) -> Option<&NameOverlay> {
        self.0.overlay.as_deref()
    }

    /// The store that the snapshot reads.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    /// Processes and tracks of the capture.
    #[must_use]
    pub fn tracks(&self) -> &TrackTables {
        &self.store().meta().tracks
    }

    /// The offset from times to nanoseconds of UTC since 1970, where the capture has one.
    #[must_use]
    pub(crate) fn utc_offset_ns(&self) -> Option<i64> {
        self.tracks().utc_offset_ns
    }

    /// The track of that index.
    ///
    /// # Panics
    /// If there is no such track.
    #[must_use]
    pub fn track(&self, track: TrackIdx) -> &Track {
        #[cfg(test)]
        TRACK_READS.set(TRACK_READS.get() + 1);
        &self.tracks().tracks[track.index()]
    }

    /// Names and categories of all rows, with the names that were looked up.
    #[must_use]
    pub fn names(&self) -> &Names {
        self.overlay().map_or(self.raw_names(), |overlay| &overlay.names)
    }

    /// Names and categories of all rows as the store has them.
    #[must_use]
    pub(crate) fn raw_names(&self) -> &Names {
        &self.store().meta().names
    }

    /// Call stacks of all samples as the store has them: with addresses for frames whose names are looked up.
    #[must_use]
    pub(crate) fn raw_stacks(&self) -> &Stacks {
        &self.store().meta().stacks
    }

    /// Call stacks with the names that were looked up; [`Self::stack`] has those of the store.
    #[must_use]
    pub fn stacks(&self) -> &Stacks {
        self.overlay().map_or(self.raw_stacks(), |overlay| &overlay.stacks)
    }

    /// A stack of the store, as a row of [`Self::stacks`].
    #[must_use]
    pub(crate) fn stack(&self, stack: StackIdx) -> StackIdx {
        self.overlay().map_or(stack, |overlay| overlay.stack(stack))
    }

    /// The frames of a stack of the store, innermost first, with the names that were looked up.
    pub(crate) fn frames(&self, stack: StackIdx) -> impl Iterator<Item = NameIdx> + '_ {
        self.stacks().frames(self.stack(stack))
    }

    /// The losses of the load.
    #[must_use]
    pub fn losses(&self) -> &Losses {
        &self.store().meta().losses
    }

    /// Counts over the whole capture.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.store().meta().summary
    }

    /// The time of the first row.
    #[must_use]
    pub fn start_ns(&self) -> i64 {
        self.summary().start_ns
    }

    /// The latest end of a row.
    #[must_use]
    pub fn end_ns(&self) -> i64 {
        self.summary().end_ns
    }

    /// The tracks that have something to show: by process as the capture orders them, then by track.
    #[must_use]
    pub(crate) fn display_order(&self) -> &[TrackIdx] {
        &self.0.display_order
    }

    /// The group of a track, if it is not by itself.
    #[must_use]
    pub(crate) fn group_of(&self, track: TrackIdx) -> Option<TrackGroup> {
        self.0.groups.of(track)
    }

    /// The groups of tracks, from top to bottom; each is a run of the display order.
    #[must_use]
    pub(crate) fn groups(&self) -> &[TrackGroup] {
        self.0.groups.all()
    }

    /// The lanes of a track: instants, samples, counter, spans by depth, flows.
    #[must_use]
    pub(crate) fn lanes_of(&self, track: TrackIdx) -> Range<u32> {
        #[cfg(test)]
        TRACK_READS.set(TRACK_READS.get() + 1);
        self.store().lanes_of(track)
    }

    /// The lanes of events of the capture, without those that were made for the eye: what is listed and exported.
    pub fn capture_lanes(&self) -> impl Iterator<Item = LaneIdx> + '_ {
        let lanes = (0..self.store().lane_count()).map(LaneIdx);
        lanes.filter(|&lane| !self.track(self.lane(lane).track).key.kind.is_derived())
    }

    /// The properties of a lane that need no access to its rows.
    #[must_use]
    pub fn lane(&self, lane: LaneIdx) -> LaneInfo {
        self.store().lane(lane).info()
    }

    /// The lane of spans one deeper on the same track: it comes next, since the lanes of a track are in order of depth.
    #[must_use]
    pub(crate) fn lane_below(&self, lane: LaneIdx) -> Option<LaneIdx> {
        let above = self.lane(lane);
        let below = LaneIdx(lane.0 + 1);
        let info = self.lanes_of(above.track).contains(&below.0).then(|| self.lane(below))?;
        (info.kind == LaneKind::Spans && above.depth.checked_add(1) == Some(info.depth)).then_some(below)
    }

    /// The lane that was `lane` in an earlier snapshot of the same capture, with fewer rows sorted: lanes get other
    /// indices as tracks get more of them.
    #[must_use]
    pub(crate) fn lane_since(&self, earlier: &Self, lane: LaneIdx) -> Option<LaneIdx> {
        let was = earlier.lane(lane);
        let mut lanes = self.lanes_of(was.track).map(LaneIdx);
        lanes.find(|&lane| {
            let is = self.lane(lane);
            (is.kind, is.depth) == (was.kind, was.depth)
        })
    }

    /// The row that was `row` in an earlier look at the same capture. The end of a span may have come since; `None` if
    /// what was sorted since has moved it to where it is not found.
    #[must_use]
    pub(crate) fn row_since(&self, earlier: &Self, row: RowIdx) -> Option<RowIdx> {
        let was = earlier.row(row);
        let lane = self.lane_since(earlier, row.lane)?;
        let mut cursor = LaneCursor::new(self.store(), lane);
        let first = cursor.first_from(was.start_ns).row;
        // A sort that begins again may number the names otherwise.
        let name = earlier.raw_names().get(was.name);
        let is_same = |span: Span| span.start_ns == was.start_ns && self.raw_names().get(span.name) == name;
        // Instants may share a time; spans that do are those without duration.
        let mut same_time = (first..).map_while(|row| {
            let span = cursor.span(row).filter(|span| span.start_ns == was.start_ns)?;
            Some((row, span))
        });
        let kind = self.lane(lane).kind;
        let found = match kind {
            LaneKind::Spans => same_time.find(|&(_, span)| is_same(span)),
            // The same place among those of its time.
            _ => same_time.find(|&(number, span)| number == row.row && is_same(span)),
        };
        found.map(|(row, _)| RowIdx { lane, row })
    }

    /// Whether its first tracks are those of an earlier look, so that what is known by index stays true.
    #[must_use]
    pub(crate) fn has_tracks_of(&self, earlier: &Self) -> bool {
        let (tracks, before) = (&self.tracks().tracks, &earlier.tracks().tracks);
        before.len() <= tracks.len() && tracks.iter().zip(before).all(|(track, before)| track.key == before.key)
    }

    /// Whether its lanes are those of an earlier picture of the same trace while that runs, in the same order. Compares
    /// no lane: a window asks for each picture.
    #[must_use]
    pub(crate) fn has_lanes_of(&self, earlier: &Self) -> bool {
        let generation = self.store().lane_generation();
        generation.is_some() && generation == earlier.store().lane_generation()
    }

    /// The row that was `row` in another sort of the same trace, whose tracks may have other indices.
    #[must_use]
    pub(crate) fn row_of_other(&self, other: &Self, row: RowIdx) -> Option<RowIdx> {
        let (was, span) = (other.lane(row.lane), other.row(row));
        let (key, name) = (&other.track(was.track).key, other.raw_names().get(span.name));
        let track = self.tracks().tracks.iter().position(|track| track.key == *key)?;
        self.lanes_of(TrackIdx(u32::try_from(track).ok()?)).map(LaneIdx).find_map(|lane| {
            if self.lane(lane).kind != was.kind {
                return None;
            }
            let mut cursor = LaneCursor::new(self.store(), lane);
            let first = cursor.first_from(span.start_ns).row;
            let mut at_start = (first..).map_while(|row| {
                let found = cursor.span(row).filter(|found| found.start_ns == span.start_ns)?;
                Some((row, found))
            });
            let is_same = |found: &Span| self.raw_names().get(found.name) == name && found.dur_ns == span.dur_ns;
            at_start.find(|(_, found)| is_same(found)).map(|(row, _)| RowIdx { lane, row })
        })
    }

    /// One row, as a span; the duration of anything but a span is 0.
    #[must_use]
    pub(crate) fn row(&self, row: RowIdx) -> Span {
        LaneCursor::new(self.store(), row.lane).span(row.row).unwrap_or_default()
    }
}

/// Sorted by what the capture asks for; the kind decides among tracks that the capture does not order, so that the
/// counters of a process are together above its threads, and the order of first appearance decides last.
fn display_order(store: &Store) -> Vec<TrackIdx> {
    let tables = &store.meta().tracks;
    let mut order: Vec<TrackIdx> = (0..tables.tracks.len())
        .map(|track| TrackIdx(track as u32))
        .filter(|&track| !store.lanes_of(track).is_empty())
        .collect();
    // The kernel's states of a thread are above its spans, the chart of its samples below.
    let is_beside = |track: &Track| matches!(track.key.kind, TrackKind::State | TrackKind::Samples);
    let mut threads = FxHashMap::default();
    // Most captures have no such tracks, and the look-up takes 40 bytes for each of a million threads.
    if tables.tracks.iter().any(is_beside) {
        let of_kind = tables.tracks.iter().zip(0..).filter(|(track, _)| track.key.kind == TrackKind::Thread);
        threads.extend(of_kind.map(|(track, row)| ((&track.key.pid, &track.key.tid), row)));
    }
    order.sort_by_cached_key(|&index| {
        let own = &tables.tracks[index.index()].key;
        let beside = match own.kind {
            TrackKind::State => Some(-1),
            TrackKind::Samples => Some(1),
            _ => None,
        };
        let thread = threads.get(&(&own.pid, &own.tid)).filter(|_| beside.is_some());
        let above = thread.map_or(index, |&row| TrackIdx(row));
        let track = &tables.tracks[above.index()];
        let process_order = tables.processes[track.process.index()].sort_index;
        // The tracks of an async group are together where its first one appeared.
        let (name, slot) = match track.key.kind {
            TrackKind::Async => (&*track.name, track.key.slot),
            TrackKind::Cpu => ("", track.key.slot),
            _ => ("", 0),
        };
        // Tracks without a process, such as those of processors, are above the others.
        let of_process = track.key.pid != Id::None;
        (
            process_order,
            of_process,
            track.process,
            track.sort_index,
            track.key.kind,
            name,
            slot,
            above,
            beside.unwrap_or(0),
            index,
        )
    });
    order
}

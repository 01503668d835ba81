//! The state of each track while its events are nested.
//!
//! A trace may have millions of tracks, most of them without spans. Only a track with events has an entry here, and
//! rarely used parts of it are boxed or in another table.

use std::hint::black_box;

use smallvec::SmallVec;

use super::spans::OpenBegin;
use crate::ingest::lanes::OpenLanes;
use crate::ingest::pending_ends::PendingEnds;
use crate::model::{NameIdx, TrackIdx};
use crate::store::LaneIdx;

/// The states of all tracks.
#[derive(Default)]
pub(super) struct TrackNests {
    /// The position of each track in `nests`; beyond its end for a track without events.
    positions: Vec<u32>,
    nests: Vec<TrackNest>,
    /// The position of each track in `states`; beyond its end for a track without states.
    state_positions: Vec<u32>,
    states: Vec<StateTrack>,
}

/// The events of a track so far.
pub(super) struct TrackNest {
    track: TrackIdx,
    /// The lanes of spans, by depth.
    spans: SpanLanes,
    pub(super) instants: LaneSlot,
    pub(super) counter: LaneSlot,
    pub(super) flows: LaneSlot,
    pub(super) open: OpenLanes<OpenBegin>,
    /// The last time of spans, instants, flow points and ends; the smallest time before the first.
    pub(super) end_ns: i64,
    /// Ends that came with their begins.
    ends: Option<Box<PendingEnds>>,
}

const _: () = assert!(size_of::<TrackNest>() <= 120);

/// The lanes of spans, by depth.
pub(super) type SpanLanes = SmallVec<[LaneSlot; 4]>;

/// The index of a lane, or none, in four bytes.
#[derive(Clone, Copy)]
pub(super) struct LaneSlot(u32);

impl LaneSlot {
    pub(super) const NONE: Self = Self(u32::MAX);

    pub(super) fn get(self) -> Option<LaneIdx> {
        (self.0 != u32::MAX).then_some(LaneIdx(self.0))
    }

    pub(super) fn set(&mut self, LaneIdx(lane): LaneIdx) {
        self.0 = lane;
    }
}

/// The states of a thread. Its track usually has no other events, and thus no [`TrackNest`].
pub(super) struct StateTrack {
    pub(super) track: TrackIdx,
    /// The lane of its rows, unless the track has a [`TrackNest`].
    pub(super) lane: LaneSlot,
    /// The end of the last row; the smallest time before the first.
    pub(super) end_ns: i64,
    pub(super) entered: Option<Entered>,
}

const _: () = assert!(size_of::<StateTrack>() <= 40);

/// The state that a thread is in.
#[derive(Clone, Copy)]
pub(super) struct Entered {
    pub(super) since_ns: i64,
    pub(super) name: NameIdx,
    /// A reference to its details.
    pub(super) detail: u64,
    pub(super) is_awake: bool,
}

impl TrackNests {
    /// Number of nests that are dropped before their memory is released.
    const DROPPED_AT_ONCE: usize = 1 << 16;
    /// Number of nests that fit the cache of a core, at some 200 bytes each.
    const NESTS_IN_CACHE: usize = 4096;
    const NONE: u32 = u32::MAX;

    pub(super) fn len(&self) -> usize {
        self.nests.len()
    }

    /// Returns the track at a position.
    pub(super) fn at(&self, position: usize) -> TrackIdx {
        self.nests[position].track
    }

    /// Reads what events of these tracks need next. An event of one of very many tracks would wait for memory several
    /// times in a row; reads without writes between them overlap.
    pub(super) fn prefetch(&self, tracks: impl Iterator<Item = TrackIdx>) {
        if self.nests.len() > Self::NESTS_IN_CACHE {
            let nests = tracks.filter_map(|track| self.nests.get(*self.positions.get(track.index())? as usize));
            nests.for_each(|nest| {
                black_box((nest.end_ns, nest.open.deepest_lane(), nest.spans.last().map(|lane| lane.0)));
            });
        }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, track: TrackIdx) -> Option<&mut TrackNest> {
        self.nests.get_mut(*self.positions.get(track.index())? as usize)
    }

    #[inline]
    pub(super) fn get_or_add(&mut self, track: TrackIdx) -> &mut TrackNest {
        let stored_position = self.positions.get(track.index()).copied().unwrap_or(Self::NONE) as usize;
        let position = if stored_position < self.nests.len() { stored_position } else { self.add(track) };
        &mut self.nests[position]
    }

    #[cold]
    fn add(&mut self, track: TrackIdx) -> usize {
        if self.positions.len() <= track.index() {
            self.positions.resize(track.index() + 1, Self::NONE);
        }
        let position = self.nests.len();
        self.positions[track.index()] = position as u32;
        let mut nest = TrackNest::new(track);
        if let Some(state) = self.known_state(track) {
            nest.end_ns = state.end_ns;
            if let Some(lane) = state.lane.get() {
                nest.set_span_lane(0, lane);
            }
        }
        self.nests.push(nest);
        position
    }

    fn known_state(&mut self, track: TrackIdx) -> Option<&mut StateTrack> {
        self.states.get_mut(*self.state_positions.get(track.index())? as usize)
    }

    /// Returns the states of a track.
    pub(super) fn state(&mut self, track: TrackIdx) -> &mut StateTrack {
        let stored_position = self.state_positions.get(track.index()).copied().unwrap_or(Self::NONE) as usize;
        let position = if stored_position < self.states.len() { stored_position } else { self.add_state(track) };
        &mut self.states[position]
    }

    fn add_state(&mut self, track: TrackIdx) -> usize {
        if self.state_positions.len() <= track.index() {
            self.state_positions.resize(track.index() + 1, Self::NONE);
        }
        let position = self.states.len();
        self.state_positions[track.index()] = position as u32;
        self.states.push(StateTrack { track, lane: LaneSlot::NONE, end_ns: i64::MIN, entered: None });
        position
    }

    /// Returns the last time of the track at a position, if a begin is open there.
    pub(super) fn open_end_ns(&mut self, position: usize) -> Option<i64> {
        let nest = &mut self.nests[position];
        nest.open.has_begins().then_some(nest.end_ns)
    }

    /// Iterates over the tracks whose threads are in a state.
    pub(super) fn tracks_in_states(&self) -> impl Iterator<Item = TrackIdx> {
        self.states.iter().filter(|state| state.entered.is_some()).map(|state| state.track)
    }

    /// Removes the state that a track's thread is in.
    pub(super) fn take_entered(&mut self, track: TrackIdx) -> Option<Entered> {
        self.known_state(track)?.entered.take()
    }

    /// Removes the current state of any thread, and returns it with its track.
    pub(super) fn take_any_entered(&mut self) -> Option<(TrackIdx, Entered)> {
        while let Some(last) = self.states.last_mut() {
            if let Some(entered) = last.entered.take() {
                return Some((last.track, entered));
            }
            self.states.pop();
        }
        None
    }

    /// Sorts the nests by falling track, so that [`Self::last`] returns the first track first.
    pub(super) fn sort_by_falling_track(&mut self) {
        self.nests.sort_unstable_by_key(|nest| std::cmp::Reverse(nest.track));
        for (nest, position) in self.nests.iter().zip(0..) {
            self.positions[nest.track.index()] = position;
        }
    }

    pub(super) fn last(&self) -> Option<TrackIdx> {
        self.nests.last().map(|nest| nest.track)
    }

    /// Drops the last nest. Memory is released block by block, because the store needs it for its lanes meanwhile.
    pub(super) fn drop_last(&mut self) {
        self.nests.pop();
        if self.nests.len().is_multiple_of(Self::DROPPED_AT_ONCE) {
            self.nests.shrink_to_fit();
        }
    }
}

impl TrackNest {
    fn new(track: TrackIdx) -> Self {
        Self {
            track,
            spans: SmallVec::new(),
            instants: LaneSlot::NONE,
            counter: LaneSlot::NONE,
            flows: LaneSlot::NONE,
            open: OpenLanes::default(),
            end_ns: i64::MIN,
            ends: None,
        }
    }

    #[inline]
    pub(super) fn extend_to(&mut self, ts_ns: i64) {
        self.end_ns = self.end_ns.max(ts_ns);
    }

    #[inline]
    pub(super) fn span_lane(&self, depth: u16) -> Option<LaneIdx> {
        self.spans.get(usize::from(depth)).and_then(|lane| lane.get())
    }

    pub(super) fn set_span_lane(&mut self, depth: u16, lane: LaneIdx) {
        set_lane(&mut self.spans, depth, lane);
    }

    pub(super) fn ends(&mut self) -> &mut PendingEnds {
        self.ends.get_or_insert_default()
    }

    /// Takes the next known end if it comes by `to_ns`.
    #[inline]
    pub(super) fn take_end(&mut self, to_ns: i64) -> Option<i64> {
        self.ends.as_mut()?.take_next(to_ns)
    }
}

/// Sets the lane of a depth.
pub(super) fn set_lane(lanes: &mut SpanLanes, depth: u16, lane: LaneIdx) {
    if lanes.len() <= usize::from(depth) {
        lanes.resize(usize::from(depth) + 1, LaneSlot::NONE);
    }
    lanes[usize::from(depth)].set(lane);
}

//! Evaluates the filter terms `in:` and `within:`: which rows of a block start while a matching span above them is
//! open.
//!
//! Per track, the matching spans become a step function of time: the smallest open depth. A row is inside if that depth
//! is smaller than its own. Each row thus costs one binary search for any number of lanes. The function of a track is
//! computed on first use, and cached while all of them fit in [`KEPT_BYTES_MAX`]. For a track with more, it is computed
//! for the time of one block.
//!
//! The naive way searches, for each row, the lanes above it for the span that is open at its start.

use std::collections::BTreeMap;
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::cursor::LaneCursor;
use super::filter::SpanPosition;
use super::name_set::NameSet;
use super::snapshot::Snapshot;
use super::track_cache::TrackCache;
use super::track_number::numbered_track;
use crate::base::cancel::{Cancel, Cancelled};
use crate::model::TrackIdx;
use crate::store::block::{BLOCK_ROWS, Block};
use crate::store::lane::RowIdx;
use crate::store::{Lane, LaneIdx, LaneKind};

/// Limit for the cached steps of one term, and for the spans from which threads compute them.
const KEPT_BYTES_MAX: usize = 32 << 20;

/// The depth if no span is open: deeper than every row, even a row below all spans.
const NONE_OPEN: u32 = u32::MAX;

/// The depth of rows other than spans: they lie below all spans of their track.
const BELOW_ALL: u32 = u32::MAX - 1;

/// A term about the spans above a row.
#[derive(Debug)]
pub(super) struct Inside {
    negated: bool,
    above: Above,
}

#[derive(Debug)]
enum Above {
    Named(Named),
    /// One span of each of these tracks.
    At(FxHashMap<TrackIdx, (OpenDepths, Range<i64>)>),
}

/// All spans of some names.
#[derive(Debug)]
struct Named {
    names: NameSet,
    tracks: TrackCache<OpenDepths>,
}

/// The part of a track above a depth, and within a range of time.
#[derive(Debug, Clone, Copy)]
struct TrackPart {
    track: TrackIdx,
    depth: u32,
    first_ns: i64,
    /// The last time, which is included.
    last_ns: i64,
}

/// A span that may be open at a time.
#[derive(Debug, Clone, Copy)]
struct OpenAncestor {
    start_ns: i64,
    /// First time at which it is closed.
    closed_ns: i64,
    depth: u32,
}

/// The smallest depth of open spans as a step function of time.
#[derive(Debug, Default, PartialEq, Eq)]
struct OpenDepths {
    /// [`NONE_OPEN`] before the first step.
    steps: Vec<DepthStep>,
}

/// Start and depth of a step.
type DepthStep = (i64, u32);

/// The begins and ends of spans, which become steps in place.
#[derive(Debug, Default)]
struct DepthChanges(Vec<DepthStep>);

/// The bit of a depth in [`DepthChanges`] that marks an end.
const END: u32 = 1 << 31;

#[cfg(test)]
thread_local! {
    /// Number of extents that this thread has tested for spans with a name.
    pub(super) static TESTED_EXTENTS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

impl Inside {
    /// Matches spans with one of the names.
    #[must_use]
    pub(super) fn named(snapshot: &Snapshot, names: NameSet, negated: bool) -> Self {
        Self::with_kept_max(snapshot, names, negated, KEPT_BYTES_MAX)
    }

    /// Matches spans with one of the names, and caches at most `max_bytes`.
    pub(super) fn with_kept_max(snapshot: &Snapshot, names: NameSet, negated: bool, max_bytes: usize) -> Self {
        let tracks = TrackCache::new(snapshot, max_bytes);
        Self { negated, above: Above::Named(Named { names, tracks }) }
    }

    /// Matches the span at a position. Among several that start there, the last: only it may have a duration.
    #[must_use]
    pub(super) fn at(snapshot: &Snapshot, position: &SpanPosition, negated: bool) -> Self {
        let count = snapshot.tracks().tracks.len() as u32;
        let tracks: Vec<TrackIdx> = match numbered_track(&position.track) {
            Some(track) => Some(track).filter(|track| track.0 < count).into_iter().collect(),
            None => (0..count).map(TrackIdx).filter(|&track| is_named(snapshot, track, &position.track)).collect(),
        };
        let spans = tracks.into_iter().filter_map(|track| Some((track, span_at(snapshot, track, position)?)));
        let spans = spans.map(|(track, span)| {
            let mut changes = DepthChanges::default();
            changes.push(span);
            (track, (changes.into_depths(), span.start_ns..span.closed_ns.max(span.start_ns)))
        });
        Self { negated, above: Above::At(spans.collect()) }
    }

    /// Returns the bytes that are left for the steps of further tracks.
    #[cfg(test)]
    pub(super) fn left_bytes(&self) -> usize {
        match &self.above {
            Above::Named(named) => named.tracks.left_bytes(),
            Above::At(_) => 0,
        }
    }

    /// Returns whether rows of a track may be inside.
    #[must_use]
    pub(super) fn may_be_on(&self, track: TrackIdx) -> bool {
        match &self.above {
            Above::Named(_) => true,
            Above::At(spans) => spans.contains_key(&track),
        }
    }

    /// Returns the time range that contains the starts of all matching rows of a track.
    #[must_use]
    pub(super) fn starts_in(&self, track: TrackIdx) -> Option<Range<i64>> {
        match &self.above {
            Above::At(spans) if !self.negated => Some(spans.get(&track).map_or(0..0, |(_, range)| range.clone())),
            _ => None,
        }
    }

    /// Computes the steps of a track, if they are not known. Otherwise [`Self::rows_of`] does, which cannot be
    /// cancelled.
    ///
    /// # Errors
    /// Returns an error if cancelled.
    pub(super) fn prepare(&self, snapshot: &Snapshot, track: TrackIdx, cancel: &Cancel) -> Result<(), Cancelled> {
        match &self.above {
            Above::Named(named) => named.track_depths(snapshot, track, cancel).map(drop),
            Above::At(_) => Ok(()),
        }
    }

    /// Returns a bit per row that matches, given its lane and the sorted starts.
    #[must_use]
    pub(super) fn rows_of(&self, snapshot: &Snapshot, lane: LaneIdx, starts: &[i64]) -> u64 {
        let info = snapshot.lane(lane);
        let depth = if info.kind == LaneKind::Spans { info.depth.into() } else { BELOW_ALL };
        let inside = match &self.above {
            Above::Named(named) => named.rows_of(snapshot, info.track, depth, starts),
            Above::At(spans) => spans.get(&info.track).map_or(0, |(open, _)| open.rows_below(starts, depth)),
        };
        if self.negated { !inside } else { inside }
    }
}

impl Named {
    fn rows_of(&self, snapshot: &Snapshot, track: TrackIdx, depth: u32, starts: &[i64]) -> u64 {
        let never = Cancel::default();
        if let Ok(Some(open)) = self.track_depths(snapshot, track, &never) {
            return open.rows_below(starts, depth);
        }
        let (Some(&first_ns), Some(&last_ns)) = (starts.first(), starts.last()) else { return 0 };
        let part = TrackPart { track, depth, first_ns, last_ns };
        let changes = self.changes(snapshot, part, |_| true, &never).ok().flatten();
        changes.map_or(0, |changes| changes.into_depths().rows_below(starts, depth))
    }

    /// Returns the open spans of a whole track, unless there are too many.
    fn track_depths(
        &self,
        snapshot: &Snapshot,
        track: TrackIdx,
        cancel: &Cancel,
    ) -> Result<Option<&OpenDepths>, Cancelled> {
        self.tracks.get_or_compute(track, || {
            let all = TrackPart { track, depth: NONE_OPEN, first_ns: i64::MIN, last_ns: i64::MAX };
            let mut reserved_bytes = 0;
            let reserve = |bytes| {
                let is_reserved = self.tracks.reserve(bytes);
                reserved_bytes += if is_reserved { bytes } else { 0 };
                is_reserved
            };
            let open = self.changes(snapshot, all, reserve, cancel).map(|changes| Some(changes?.into_depths()));
            let kept_bytes = open.as_ref().map_or(0, |open| open.as_ref().map_or(0, |open| size_of_val(&*open.steps)));
            self.tracks.release(reserved_bytes.saturating_sub(kept_bytes));
            open
        })
    }

    /// Returns where the matching spans that may be open in a part of a track begin and end. Returns `None` if
    /// `reserve` refuses the bytes for them.
    fn changes(
        &self,
        snapshot: &Snapshot,
        TrackPart { track, depth, first_ns, last_ns }: TrackPart,
        mut reserve: impl FnMut(usize) -> bool,
        cancel: &Cancel,
    ) -> Result<Option<DepthChanges>, Cancelled> {
        let mut changes = DepthChanges::default();
        for lane in snapshot.lanes_of(track).map(LaneIdx) {
            let info = snapshot.lane(lane);
            if info.kind != LaneKind::Spans || u32::from(info.depth) >= depth {
                continue;
            }
            let mut cursor = LaneCursor::new(snapshot.store(), lane);
            let lane = cursor.lane();
            // The last span that starts before may still be open.
            let first_row = cursor.first_from(first_ns).row.saturating_sub(1);
            let end_row = cursor.first_after(last_ns).row;
            let records = lane.extents();
            let first = records.partition_point(|record| record.first_row + u64::from(record.rows) <= first_row);
            let extents = (first..).zip(&records[first..]).take_while(|(_, record)| record.first_row < end_row);
            for ((extent, record), signature) in extents.zip(lane.signatures_from(first)) {
                #[cfg(test)]
                TESTED_EXTENTS.set(TESTED_EXTENTS.get() + 1);
                if !self.names.may_be_in(signature) {
                    continue;
                }
                cancel.check()?;
                let Some(extent_data) = lane.extent(extent) else { continue };
                for (block, entry) in extent_data.directory().iter().enumerate() {
                    let block_row = record.first_row + u64::from(entry.first_row());
                    if block_row >= end_row || block_row + BLOCK_ROWS as u64 <= first_row {
                        continue;
                    }
                    let block = extent_data.block(block);
                    let named = self.names.rows_of(&block);
                    if !changes.make_room(named.count_ones() as usize, &mut reserve) {
                        return Ok(None);
                    }
                    changes.push_rows(&block, named, (info.depth, block_row), lane);
                }
            }
        }
        Ok(Some(changes))
    }
}

impl DepthChanges {
    /// Makes room for some spans. Returns whether `reserve` grants the bytes.
    fn make_room(&mut self, spans: usize, reserve: impl FnOnce(usize) -> bool) -> bool {
        let (len, capacity) = (self.0.len(), self.0.capacity());
        if len + 2 * spans <= capacity {
            return true;
        }
        // Grows by a quarter instead of doubling, because the caller must grant each byte.
        let more = (2 * spans).max(capacity / 4);
        let is_granted = reserve(more * size_of::<DepthStep>());
        if is_granted {
            self.0.reserve_exact(capacity + more - len);
        }
        is_granted
    }

    /// Adds the rows of a block whose bits in `named` are set, at the depth of their lane. `first_row` is the first row
    /// of the block.
    fn push_rows(&mut self, block: &Block<'_>, mut named: u64, (depth, first_row): (u16, u64), lane: Lane<'_>) {
        if named == 0 {
            return;
        }
        let (mut starts, mut durs) = ([0; BLOCK_ROWS], [0; BLOCK_ROWS]);
        block.times(&mut starts, &mut durs);
        while named != 0 {
            let slot = named.trailing_zeros() as usize;
            named &= named - 1;
            // A block whose rows all have the name has bits beyond its rows.
            if slot < block.rows() {
                let unfinished = lane.is_unfinished(first_row + slot as u64);
                self.push(OpenAncestor::new(starts[slot], durs[slot], depth, unfinished));
            }
        }
    }

    /// Adds a span. A span that follows the previous one without a gap continues it.
    fn push(&mut self, span: OpenAncestor) {
        if span.closed_ns <= span.start_ns {
            return;
        }
        match self.0.last_mut() {
            Some(last) if *last == (span.start_ns, span.depth | END) => last.0 = span.closed_ns,
            _ => self.0.extend([(span.start_ns, span.depth), (span.closed_ns, span.depth | END)]),
        }
    }

    fn into_depths(self) -> OpenDepths {
        let mut steps = self.0;
        steps.sort_unstable_by_key(|&(ts_ns, _)| ts_ns);
        // Number of open spans per depth. At one time, an end may come before its begin.
        let mut open: BTreeMap<u32, i64> = BTreeMap::new();
        let (mut next, mut kept) = (0_usize, 0_usize);
        while let Some(&(ts_ns, _)) = steps.get(next) {
            while let Some(&(_, change)) = steps.get(next).filter(|change| change.0 == ts_ns) {
                let count = open.entry(change & !END).or_default();
                *count += if change & END == 0 { 1 } else { -1 };
                if *count == 0 {
                    open.remove(&(change & !END));
                }
                next += 1;
            }
            let depth = open.first_key_value().map_or(NONE_OPEN, |(&depth, _)| depth);
            let before = kept.checked_sub(1).map_or(NONE_OPEN, |last| steps[last].1);
            if before != depth {
                // There are at most as many steps as changes so far.
                steps[kept] = (ts_ns, depth);
                kept += 1;
            }
        }
        steps.truncate(kept);
        steps.shrink_to_fit();
        OpenDepths { steps }
    }
}

impl OpenAncestor {
    fn new(start_ns: i64, dur_ns: u64, depth: u16, unfinished: bool) -> Self {
        let end_ns = start_ns.saturating_add_unsigned(dur_ns);
        Self { start_ns, closed_ns: end_ns.saturating_add(i64::from(unfinished)), depth: depth.into() }
    }
}

impl OpenDepths {
    /// Returns a bit per row of a depth that starts while something above it is open.
    fn rows_below(&self, starts: &[i64], depth: u32) -> u64 {
        let (mut mask, mut step) = (0, 0);
        for (row, &start_ns) in starts.iter().enumerate() {
            // Rows are sorted by time, and most start within the step of the previous row.
            if self.steps.get(step).is_some_and(|&(ts_ns, _)| ts_ns <= start_ns) {
                step += self.steps[step..].partition_point(|&(ts_ns, _)| ts_ns <= start_ns);
            }
            let open = step.checked_sub(1).map_or(NONE_OPEN, |last| self.steps[last].1);
            mask |= u64::from(open < depth) << row;
        }
        mask
    }
}

/// Returns whether a text is the name of a track or the id of its thread.
fn is_named(snapshot: &Snapshot, track: TrackIdx, text: &str) -> bool {
    let track = snapshot.track(track);
    *track.name == *text || track.key.tid.to_string() == text
}

fn span_at(snapshot: &Snapshot, track: TrackIdx, position: &SpanPosition) -> Option<OpenAncestor> {
    let span = snapshot.row(row_at(snapshot, track, position)?);
    Some(OpenAncestor::new(span.start_ns, span.dur_ns, position.depth, span.unfinished))
}

/// Returns the span at a position on the track with its number; `None` also for a track with a name.
#[must_use]
pub(crate) fn numbered_span(snapshot: &Snapshot, position: &SpanPosition) -> Option<RowIdx> {
    let track = numbered_track(&position.track)?;
    let is_known = (track.0 as usize) < snapshot.tracks().tracks.len();
    is_known.then(|| row_at(snapshot, track, position)).flatten()
}

fn row_at(snapshot: &Snapshot, track: TrackIdx, position: &SpanPosition) -> Option<RowIdx> {
    let is_meant = |&lane: &LaneIdx| {
        let info = snapshot.lane(lane);
        info.kind == LaneKind::Spans && info.depth == position.depth
    };
    let lane = snapshot.lanes_of(track).map(LaneIdx).find(is_meant)?;
    let mut cursor = LaneCursor::new(snapshot.store(), lane);
    let after = cursor.first_after(position.start_ns).row;
    let row = after.checked_sub(1)?;
    (cursor.span(row)?.start_ns == position.start_ns).then_some(RowIdx { lane, row })
}

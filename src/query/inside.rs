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
use crate::store::{Lane, LaneIdx, LaneKind};

/// Limit for the cached steps of one term.
const KEPT_BYTES_MAX: usize = 32 << 20;

/// The depth if no span is open: deeper than every row, including those below all spans.
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
            (track, (OpenDepths::from_spans(&[span]), span.start_ns..span.closed_ns.max(span.start_ns)))
        });
        Self { negated, above: Above::At(spans.collect()) }
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
        let range = TrackPart { track, depth, first_ns, last_ns };
        let spans = self.spans(snapshot, range, usize::MAX, &never).ok().flatten();
        spans.map_or(0, |spans| OpenDepths::from_spans(&spans).rows_below(starts, depth))
    }

    /// Returns the open spans of a whole track, unless there are too many.
    fn track_depths(
        &self,
        snapshot: &Snapshot,
        track: TrackIdx,
        cancel: &Cancel,
    ) -> Result<Option<&OpenDepths>, Cancelled> {
        self.tracks.get_or_compute(track, || {
            let spans_max = self.tracks.left_bytes() / size_of::<DepthStep>();
            let all = TrackPart { track, depth: NONE_OPEN, first_ns: i64::MIN, last_ns: i64::MAX };
            let spans = self.spans(snapshot, all, spans_max, cancel)?;
            let open = spans.map(|spans| OpenDepths::from_spans(&spans));
            Ok(open.filter(|open| self.tracks.reserve(size_of_val(&*open.steps))))
        })
    }

    /// Returns the matching spans that may be open in a part of a track; `None` if there are more than `spans_max`.
    fn spans(
        &self,
        snapshot: &Snapshot,
        TrackPart { track, depth, first_ns, last_ns }: TrackPart,
        spans_max: usize,
        cancel: &Cancel,
    ) -> Result<Option<Vec<OpenAncestor>>, Cancelled> {
        let mut spans = Vec::new();
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
            for (extent, signature) in (0..).zip(lane.signatures()) {
                let record = &lane.extents()[extent];
                let rows = record.first_row..record.first_row + u64::from(record.rows);
                if rows.start >= end_row || rows.end <= first_row || !self.names.may_be_in(signature) {
                    continue;
                }
                cancel.check()?;
                let Some(extent_data) = lane.extent(extent) else { continue };
                for (block, entry) in extent_data.directory().iter().enumerate() {
                    let block_row = rows.start + u64::from(entry.first_row);
                    if block_row >= end_row || block_row + BLOCK_ROWS as u64 <= first_row {
                        continue;
                    }
                    self.push_named(&extent_data.block(block), (info.depth, block_row), lane, &mut spans);
                }
                if spans.len() > spans_max {
                    return Ok(None);
                }
            }
        }
        Ok(Some(spans))
    }

    /// Adds the spans of a block with a matching name, at the depth of their lane. `first_row` is that of the block.
    fn push_named(
        &self,
        block: &Block<'_>,
        (depth, first_row): (u16, u64),
        lane: Lane<'_>,
        spans: &mut Vec<OpenAncestor>,
    ) {
        let mut named = self.names.rows_of(block);
        if named == 0 {
            return;
        }
        let (mut starts, mut durs) = ([0; BLOCK_ROWS], [0; BLOCK_ROWS]);
        block.starts(&mut starts);
        block.values(&mut durs);
        while named != 0 {
            let slot = named.trailing_zeros() as usize;
            named &= named - 1;
            // A block whose rows all have the name has bits beyond its rows.
            if slot < block.rows() {
                let unfinished = lane.is_unfinished(first_row + slot as u64);
                spans.push(OpenAncestor::new(starts[slot], durs[slot], depth, unfinished));
            }
        }
    }
}

impl OpenAncestor {
    fn new(start_ns: i64, dur_ns: u64, depth: u16, unfinished: bool) -> Self {
        let end_ns = start_ns.saturating_add_unsigned(dur_ns);
        Self { start_ns, closed_ns: end_ns.saturating_add(i64::from(unfinished)), depth: depth.into() }
    }
}

impl OpenDepths {
    fn from_spans(spans: &[OpenAncestor]) -> Self {
        let mut changes: Vec<(i64, u32, bool)> = Vec::with_capacity(2 * spans.len());
        for span in spans.iter().filter(|span| span.closed_ns > span.start_ns) {
            changes.extend([(span.start_ns, span.depth, true), (span.closed_ns, span.depth, false)]);
        }
        changes.sort_unstable_by_key(|&(ts_ns, ..)| ts_ns);
        // Number of open spans per depth. At one time, an end may come before its begin.
        let mut open: BTreeMap<u32, i64> = BTreeMap::new();
        let mut steps: Vec<(i64, u32)> = Vec::new();
        for at_once in changes.chunk_by(|one, other| one.0 == other.0) {
            for &(_, depth, opens) in at_once {
                let count = open.entry(depth).or_default();
                *count += if opens { 1 } else { -1 };
                if *count == 0 {
                    open.remove(&depth);
                }
            }
            let depth = open.first_key_value().map_or(NONE_OPEN, |(&depth, _)| depth);
            if steps.last().map_or(NONE_OPEN, |&(_, before)| before) != depth {
                steps.push((at_once[0].0, depth));
            }
        }
        steps.shrink_to_fit();
        Self { steps }
    }

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
    let is_meant = |&lane: &LaneIdx| {
        let info = snapshot.lane(lane);
        info.kind == LaneKind::Spans && info.depth == position.depth
    };
    let lane = snapshot.lanes_of(track).map(LaneIdx).find(is_meant)?;
    let mut cursor = LaneCursor::new(snapshot.store(), lane);
    let after = cursor.first_after(position.start_ns).row;
    let span = cursor.span(after.checked_sub(1)?)?;
    let ancestor = OpenAncestor::new(span.start_ns, span.dur_ns, position.depth, span.unfinished);
    (span.start_ns == position.start_ns).then_some(ancestor)
}

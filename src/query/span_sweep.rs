//! The spans of one track around a time that moves forward: which are open, which started last, which come next.
//!
//! A track may have 65,536 lanes. Each step reads only the lanes in which a span starts on the way. Many times in order
//! thus cost as much as the spans between them. An earlier time restarts the sweep.

use std::collections::{BTreeMap, BTreeSet};

use super::cursor::LaneCursor;
use super::snapshot::Snapshot;
use crate::model::TrackIdx;
use crate::store::{LaneIdx, LaneKind, RowIdx};

/// Index into the span lanes of the track, sorted by depth.
type LanePos = usize;

/// The spans of a track at a time.
pub(crate) struct SpanSweep<'a> {
    snapshot: &'a Snapshot,
    track: TrackIdx,
    lanes: Vec<SweptLane>,
    /// `None` until the first time.
    ts_ns: Option<i64>,
    /// The next span of each lane, which starts after the time.
    coming: BTreeSet<(i64, LanePos)>,
    /// The last span of each lane that starts at the time or before.
    starts: BTreeSet<(i64, LanePos)>,
    /// Ends of spans that are open beyond the time.
    ends: BTreeSet<(i64, LanePos)>,
    /// Lanes whose last span is open beyond the time.
    running: BTreeSet<LanePos>,
    /// Lanes whose last span ends at the time.
    ending: BTreeSet<LanePos>,
    /// The first span of each lane that starts at the time.
    starting: BTreeMap<LanePos, u64>,
    /// Lanes whose span at the time was not returned by [`Self::take_around`] yet.
    fresh: BTreeSet<LanePos>,
    lane_reads: u64,
}

/// The position of the sweep in one lane.
struct SweptLane {
    lane: LaneIdx,
    depth: u16,
    /// The last span that starts at the time or before.
    last: Option<SweptSpan>,
}

#[derive(Clone, Copy)]
struct SweptSpan {
    row: u64,
    start_ns: i64,
    end_ns: i64,
}

impl<'a> SpanSweep<'a> {
    /// Creates a sweep over the spans of a track. Reads nothing yet.
    #[must_use]
    pub(crate) fn new(snapshot: &'a Snapshot, track: TrackIdx) -> Self {
        let lanes = snapshot.lanes_of(track).map(LaneIdx).filter_map(|lane| {
            let info = snapshot.lane(lane);
            (info.kind == LaneKind::Spans).then_some(SweptLane { lane, depth: info.depth, last: None })
        });
        Self {
            snapshot,
            track,
            lanes: lanes.collect(),
            ts_ns: None,
            coming: BTreeSet::new(),
            starts: BTreeSet::new(),
            ends: BTreeSet::new(),
            running: BTreeSet::new(),
            ending: BTreeSet::new(),
            starting: BTreeMap::new(),
            fresh: BTreeSet::new(),
            lane_reads: 0,
        }
    }

    #[must_use]
    pub(crate) fn track(&self) -> TrackIdx {
        self.track
    }

    /// Returns how often a lane was read.
    #[must_use]
    #[cfg(test)]
    pub(crate) fn lane_reads(&self) -> u64 {
        self.lane_reads
    }

    /// Advances the sweep to a time.
    pub(crate) fn seek(&mut self, ts_ns: i64) {
        if self.ts_ns == Some(ts_ns) {
            return;
        }
        if self.ts_ns.is_none_or(|before_ns| ts_ns < before_ns) {
            // Resets all lanes to before their first span.
            [&mut self.running, &mut self.ending, &mut self.fresh].into_iter().for_each(BTreeSet::clear);
            [&mut self.starts, &mut self.ends].into_iter().for_each(BTreeSet::clear);
            self.lanes.iter_mut().for_each(|lane| lane.last = None);
            self.coming = (0..self.lanes.len()).map(|pos| (i64::MIN, pos)).collect();
        }
        self.ts_ns = Some(ts_ns);
        self.starting.clear();
        for pos in std::mem::take(&mut self.ending) {
            self.fresh.remove(&pos);
        }
        while let Some(&(start_ns, pos)) = self.coming.first()
            && start_ns <= ts_ns
        {
            self.coming.pop_first();
            self.read_lane(pos, ts_ns);
        }
        while let Some(&(end_ns, pos)) = self.ends.first()
            && end_ns <= ts_ns
        {
            self.ends.pop_first();
            self.running.remove(&pos);
            if end_ns == ts_ns {
                self.ending.insert(pos);
            } else {
                self.fresh.remove(&pos);
            }
        }
    }

    /// Advances a lane in which spans start.
    fn read_lane(&mut self, pos: LanePos, ts_ns: i64) {
        self.lane_reads += 1;
        let SweptLane { lane, last, .. } = &mut self.lanes[pos];
        if let Some(last) = last.take() {
            self.starts.remove(&(last.start_ns, pos));
            self.ends.remove(&(last.end_ns, pos));
            self.running.remove(&pos);
            self.fresh.remove(&pos);
        }
        let mut cursor = LaneCursor::new(self.snapshot.store(), *lane);
        let first = cursor.first_from(ts_ns);
        if cursor.times_at(first).is_some_and(|(start_ns, _)| start_ns == ts_ns) {
            self.starting.insert(pos, first.row);
        }
        // Nothing comes after `i64::MAX`.
        let after = ts_ns.checked_add(1).map(|after_ns| cursor.first_from(after_ns));
        if let Some((start_ns, _)) = after.and_then(|after| cursor.times_at(after)) {
            self.coming.insert((start_ns, pos));
        }
        let end = after.map_or(cursor.lane().rows(), |after| after.row);
        let Some((row, span)) = end.checked_sub(1).and_then(|row| Some((row, cursor.span(row)?))) else { return };
        let (start_ns, end_ns) = (span.start_ns, span.end_ns());
        *last = Some(SweptSpan { row, start_ns, end_ns });
        self.starts.insert((start_ns, pos));
        if end_ns > ts_ns {
            self.ends.insert((end_ns, pos));
            self.running.insert(pos);
        } else if end_ns == ts_ns {
            self.ending.insert(pos);
        }
        if end_ns >= ts_ns {
            self.fresh.insert(pos);
        }
    }

    /// Returns the next span to start: the first at the time with a depth of at least `inside`, or else the first that
    /// starts later.
    #[must_use]
    pub(crate) fn next_from(&self, inside: u16) -> Option<RowIdx> {
        let from = self.pos_from(inside);
        if let Some((&pos, &row)) = self.starting.range(from..).next() {
            return Some(RowIdx { lane: self.lanes[pos].lane, row });
        }
        let &(start_ns, pos) = self.coming.first()?;
        let lane = self.lanes[pos].lane;
        Some(RowIdx { lane, row: LaneCursor::new(self.snapshot.store(), lane).first_from(start_ns).row })
    }

    /// Returns the last span of a depth that starts at the time or before, and its start.
    #[must_use]
    pub(crate) fn begun_at_depth(&self, depth: u16) -> Option<(RowIdx, i64)> {
        let pos = self.lanes.binary_search_by_key(&depth, |lane| lane.depth).ok()?;
        self.last_of(pos)
    }

    /// Returns the deepest span that is open at the time or starts there.
    #[must_use]
    pub(crate) fn innermost(&self) -> Option<RowIdx> {
        let running = self.running.last().copied();
        // Zero-length spans.
        let starting = self.starting.last_key_value().map(|(&pos, _)| pos);
        self.last_of(running.max(starting)?).map(|(row, _)| row)
    }

    /// Returns the last span that starts at or before the time; the deepest one on ties.
    #[must_use]
    pub(crate) fn last_begun(&self) -> Option<RowIdx> {
        let &(_, pos) = self.starts.last()?;
        self.last_of(pos).map(|(row, _)| row)
    }

    /// Returns the spans above `depth` that start at the time or before and end at or after `end_ns`. A span is
    /// returned only once.
    pub(crate) fn take_around(&mut self, depth: u16, end_ns: i64) -> Vec<RowIdx> {
        let to = self.pos_from(depth);
        let contains = |&pos: &LanePos| self.lanes[pos].last.is_some_and(|last| last.end_ns >= end_ns);
        let around: Vec<LanePos> = self.fresh.range(..to).copied().filter(contains).collect();
        for pos in &around {
            self.fresh.remove(pos);
        }
        around.into_iter().filter_map(|pos| self.last_of(pos)).map(|(row, _)| row).collect()
    }

    /// Returns the first lane from a depth on.
    fn pos_from(&self, depth: u16) -> LanePos {
        self.lanes.partition_point(|lane| lane.depth < depth)
    }

    fn last_of(&self, pos: LanePos) -> Option<(RowIdx, i64)> {
        let SweptLane { lane, last, .. } = &self.lanes[pos];
        last.map(|SweptSpan { row, start_ns, .. }| (RowIdx { lane: *lane, row }, start_ns))
    }
}

#[cfg(test)]
mod tests;

//! Drops the oldest extents of a growing store, whole: a ring bounded by time or by bytes. Rows that a visible preview
//! may read stay in the file until the preview is dropped.
//!
//! An extent is dropped once the next row of its lane starts no later than the oldest retained time. So every span that
//! reaches into that time is kept. A lane without an extent loses single rows, since their details are in the file.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Weak};

use super::{GrowingLane, GrowingStore};
use crate::base::files;
use crate::base::mapped::Mapped;
use crate::model::TrackIdx;
use crate::store::block::Row;
use crate::store::extent_log::ExtentLog;
use crate::store::lane::LaneKind;

/// Minimum size of a hole punched into the file.
const HOLE_BYTES_MIN: u64 = 1 << 20;

/// A ring above its limit is cut to this fraction of it, because each cut visits all extents.
const CUT_TO: (u64, u64) = (9, 10);

/// Maximum number of steps in which a cut considers the settled rows of a lane.
const SETTLED_STEPS_MAX: usize = 64;

/// The dropped part of a store, and the space that it took.
#[derive(Debug, Default)]
pub(super) struct Ring {
    /// Bytes of extents in the file that are not dropped.
    pub(super) kept_bytes: u64,
    /// Freed ranges of the file by start: the end, and the bytes without a hole yet.
    freed: BTreeMap<u64, (u64, u64)>,
    /// Dropped ranges that earlier previews may still read.
    pending: VecDeque<PendingRanges>,
    /// Maps that previews still hold.
    maps: Vec<Weak<Mapped>>,
}

/// Ranges of the file, with the maps of all previews that may read them.
type PendingRanges = (Vec<Weak<Mapped>>, Vec<Range<u64>>);

/// A retained extent, as the ring needs it.
#[derive(Debug, Clone, Copy)]
pub(super) struct RingExtent {
    first_start_ns: i64,
    rows: u32,
    bytes: u32,
    offset: u64,
    /// Smallest reference to a detail in it; 0 for none.
    detail: u64,
}

impl RingExtent {
    pub(super) fn new(rows: &[Row], offset: u64, bytes: u32) -> Self {
        Self {
            first_start_ns: rows.first().map_or(i64::MAX, |row| row.start_ns),
            rows: rows.len() as u32,
            bytes,
            offset,
            detail: first_detail(rows.iter()).unwrap_or(0),
        }
    }
}

/// The rows dropped from a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DroppedRows {
    pub(crate) track: TrackIdx,
    pub(crate) kind: LaneKind,
    pub(crate) rows: u64,
}

fn first_detail<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<u64> {
    rows.map(|row| row.detail).filter(|&detail| detail > 0).min()
}

impl Ring {
    /// Registers a map that previews read.
    pub(super) fn note_map(&mut self, map: &Arc<Mapped>) {
        self.maps.retain(|weak_map| weak_map.strong_count() > 0);
        self.maps.push(Arc::downgrade(map));
    }

    /// Punches holes into ranges that no preview can read. Returns the error of the system.
    fn make_holes(&mut self, file: &File) -> io::Result<()> {
        while let Some((maps, _)) = self.pending.front()
            && maps.iter().all(|map| map.strong_count() == 0)
            && let Some((_, ranges)) = self.pending.pop_front()
        {
            ranges.into_iter().for_each(|range| self.free(range));
        }
        for (start, (end, unholed)) in &mut self.freed {
            if *unholed >= HOLE_BYTES_MIN {
                files::make_hole(file, *start, *end - *start)?;
                *unholed = 0;
            }
        }
        Ok(())
    }

    /// Frees a range and joins it with its neighbours. Up to 8 bytes between them are padding.
    fn free(&mut self, range: Range<u64>) {
        const PADDING: u64 = 8;
        let (mut start, mut end, mut unholed) = (range.start, range.end, range.end - range.start);
        if let Some((&before, &(before_end, before_unholed))) = self.freed.range(..=start).next_back()
            && before_end + PADDING > start
        {
            self.freed.remove(&before);
            (start, end, unholed) = (before, end.max(before_end), unholed + before_unholed);
        }
        if let Some((&after, &(after_end, after_unholed))) = self.freed.range(start..).next()
            && end + PADDING > after
        {
            self.freed.remove(&after);
            (end, unholed) = (end.max(after_end), unholed + after_unholed);
        }
        self.freed.insert(start, (end, unholed));
    }
}

impl GrowingLane {
    /// Returns the start of the row after extent `number` of the retained ones; `None` if there is none.
    fn start_after(&self, number: usize) -> Option<i64> {
        let next = self.ring_extents.get(number + 1).map(|extent| extent.first_start_ns);
        next.or_else(|| self.settled.first().or(self.moving.first()).map(|row| row.start_ns))
    }

    /// Counts the leading extents without rows at or after `to_ns`.
    fn droppable(&self, to_ns: i64) -> usize {
        let is_old = |number: &usize| match self.start_after(*number) {
            Some(start_ns) => start_ns <= to_ns,
            // A counter value lasts until the next one.
            None => self.kind != LaneKind::Counter && self.end_ns <= to_ns,
        };
        (0..self.ring_extents.len()).take_while(is_old).count()
    }

    /// Drops rows in memory that end before `to_ns`, if no extent precedes them. Returns their number.
    fn drop_settled(&mut self, to_ns: i64) -> u64 {
        if !self.ring_extents.is_empty() || self.settled.is_empty() {
            return 0;
        }
        let starts = self.settled.iter().chain(&self.moving).map(|row| row.start_ns);
        let mut count = starts.skip(1).take_while(|&start_ns| start_ns <= to_ns).count().min(self.settled.len());
        let is_last_old = self.kind != LaneKind::Counter
            && self.moving.is_empty()
            && self.settled.last().is_some_and(|row| self.end_of(row) <= to_ns);
        if is_last_old && count + 1 >= self.settled.len() {
            count = self.settled.len();
        }
        self.settled.drain(..count);
        if count > 0 {
            self.forget_packed(count);
        }
        count as u64
    }

    /// Iterates over steps of settled rows: the time to drop each before, and its number of rows.
    fn settled_steps(&self) -> impl Iterator<Item = (i64, usize)> {
        let count = self.settled.len();
        let step = count.div_ceil(SETTLED_STEPS_MAX).max(1);
        (0..count).step_by(step).filter_map(move |first| {
            let next = (first + step).min(count);
            let to_ns = match self.settled.get(next).or_else(|| self.moving.first()) {
                Some(row) => row.start_ns,
                // A counter value lasts until the next one.
                None if self.kind == LaneKind::Counter => return None,
                None => self.end_of(self.settled.last()?),
            };
            Some((to_ns, next - first))
        })
    }

    fn row_count(&self) -> u64 {
        self.rows + (self.settled.len() + self.moving.len()) as u64
    }

    fn first_detail(&self) -> Option<u64> {
        if self.kind == LaneKind::Flows {
            return None; // its rows have the bits of a flow point there
        }
        let of_extents = self.ring_extents.iter().map(|extent| extent.detail).filter(|&detail| detail > 0).min();
        first_detail(self.settled.iter().chain(&self.moving)).into_iter().chain(of_extents).min()
    }

    fn first_start_ns(&self) -> Option<i64> {
        let of_extents = self.ring_extents.front().map(|extent| extent.first_start_ns);
        of_extents.or_else(|| self.settled.first().or(self.moving.first()).map(|row| row.start_ns))
    }
}

impl GrowingStore {
    /// Enables [`Self::drop_before`]. Returns an error if the disk cannot punch holes.
    pub(crate) fn keep_ring(&mut self) -> io::Result<()> {
        files::make_hole(self.file.file(), HOLE_BYTES_MIN, HOLE_BYTES_MIN)?;
        self.ring.get_or_insert_default();
        Ok(())
    }

    /// Returns the retained bytes of the file.
    pub(crate) fn kept_bytes(&self) -> u64 {
        let of_details = || self.details.blocks().iter().map(|block| u64::from(block.packed_bytes)).sum::<u64>();
        self.ring.as_ref().map_or(self.file_bytes(), |ring| ring.kept_bytes + of_details())
    }

    /// Returns the start of the first row.
    pub(crate) fn first_start_ns(&self) -> Option<i64> {
        self.lanes.iter().filter_map(GrowingLane::first_start_ns).min()
    }

    /// Returns the time to drop before so that extents and details take less than `bytes_max`; `None` if they already
    /// do. Each row counts with the average size of details, since the details of one row have no known size.
    pub(crate) fn cut_for(&self, bytes_max: u64) -> Option<i64> {
        let excess = self.kept_bytes().checked_sub(bytes_max).filter(|&excess| excess > 0)?;
        let wanted = (excess + bytes_max / CUT_TO.1 * (CUT_TO.1 - CUT_TO.0)) as f64;
        let of_extents = self.ring.as_ref().map_or(0, |ring| ring.kept_bytes);
        let rows: u64 = self.lanes.iter().map(GrowingLane::row_count).sum();
        let detail_bytes = (self.kept_bytes() - of_extents) as f64 / rows.max(1) as f64;
        let mut droppable: Vec<(i64, f64)> = Vec::new();
        for lane in &self.lanes {
            droppable.extend(lane.ring_extents.iter().enumerate().map(|(number, extent)| {
                let bytes = f64::from(extent.bytes) + f64::from(extent.rows) * detail_bytes;
                (lane.start_after(number).unwrap_or(lane.end_ns), bytes)
            }));
            droppable.extend(lane.settled_steps().map(|(to_ns, rows)| (to_ns, rows as f64 * detail_bytes)));
        }
        droppable.sort_unstable_by_key(|&(to_ns, _)| to_ns);
        let mut freed = 0.0;
        for &(to_ns, bytes) in &droppable {
            freed += bytes;
            if freed >= wanted {
                return Some(to_ns);
            }
        }
        droppable.last().map(|(to_ns, _)| *to_ns)
    }

    /// Drops the extents and settled rows that end before `to_ns`, with their details. Calls `each` for every lane that
    /// loses rows. Returns the error of the system.
    pub(crate) fn drop_before(&mut self, to_ns: i64, each: &mut dyn FnMut(DroppedRows)) -> io::Result<()> {
        let Some(mut ring) = self.ring.take() else { return Ok(()) };
        let mut has_dropped = false;
        let ranges = self.drop_rows(to_ns, &mut |rows| {
            has_dropped = true;
            each(rows);
        });
        let dropped = if has_dropped { self.release(&mut ring, ranges) } else { Ok(()) };
        let made = dropped.and_then(|()| ring.make_holes(self.file.file()));
        self.ring = Some(ring);
        made
    }

    /// Drops the rows of [`Self::drop_before`]. Returns the ranges of their extents in the file.
    fn drop_rows(&mut self, to_ns: i64, each: &mut dyn FnMut(DroppedRows)) -> Vec<Range<u64>> {
        let mut ranges = Vec::new();
        for lane in &mut self.lanes {
            let count = lane.droppable(to_ns);
            let mut rows = 0;
            for extent in lane.ring_extents.drain(..count) {
                rows += u64::from(extent.rows);
                ranges.push(extent.offset..extent.offset + u64::from(extent.bytes));
            }
            lane.extents.drop_first(count);
            lane.rows -= rows;
            let of_memory = lane.drop_settled(to_ns);
            self.settled_rows = self.settled_rows.saturating_sub(usize::try_from(of_memory).unwrap_or(0));
            if rows > 0 {
                lane.start_ns = lane.ring_extents.front().map_or(i64::MAX, |extent| extent.first_start_ns);
            }
            if rows + of_memory > 0 {
                lane.is_packed = false;
                self.has_moved_lanes = true;
                each(DroppedRows { track: lane.track, kind: lane.kind, rows: rows + of_memory });
            }
        }
        ranges
    }

    /// Releases the ranges of dropped extents and of their details, once no preview reads them. Returns the error of
    /// the system.
    fn release(&mut self, ring: &mut Ring, mut ranges: Vec<Range<u64>>) -> io::Result<()> {
        ring.kept_bytes -= ranges.iter().map(|range| range.end - range.start).sum::<u64>();
        // All details are flushed first, so that no later detail is in a dropped block. If that fails, the details
        // stay until the next call.
        let flushed = self.details.flush(&mut self.file);
        if flushed.is_ok() {
            let first_detail = self.lanes.iter().filter_map(GrowingLane::first_detail).min();
            ranges.extend(self.details.drop_before(first_detail.unwrap_or(u64::MAX)));
        }
        // Later previews get another map, so the old map is released with the earlier previews.
        self.map = None;
        ring.pending.push_back((std::mem::take(&mut ring.maps), ranges));
        flushed?;
        let extent_count: usize = self.lanes.iter().map(|lane| lane.ring_extents.len()).sum();
        if self.extents.len() > 2 * extent_count + 4096 {
            self.extents = ExtentLog::compacted(&self.extents, self.lanes.iter_mut().map(|lane| &mut lane.extents))?;
        }
        Ok(())
    }
}

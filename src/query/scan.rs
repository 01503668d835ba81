//! Scans the matching rows of lanes, a block of 64 rows at a time as one word of bits. Skips extents that cannot match
//! by the signature of their names or their longest duration.

use std::ops::Range;

use rayon::prelude::*;

use super::cursor::LaneCursor;
use super::matcher::{BlockPosition, Matcher};
use super::open_end::open_row;
use super::scope::Scope;
use super::snapshot::Snapshot;
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::progress::{Progress, Stage};
use crate::store::block::{BLOCK_ROWS, Block};
use crate::store::details::DetailReader;
use crate::store::extent::Extent;
use crate::store::iforest::LongestNs;
use crate::store::{DetailRef, Lane, LaneIdx, LaneKind, Span};

#[cfg(test)]
thread_local! {
    static BLOCKS_READ: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Returns the number of blocks whose rows this thread has tested, by which tests measure work.
#[cfg(test)]
pub(crate) fn blocks_read() -> u64 {
    BLOCKS_READ.get()
}

/// The part of one lane that is in scope.
#[derive(Debug, Clone)]
pub(crate) struct LaneScan<'a> {
    snapshot: &'a Snapshot,
    matcher: &'a Matcher,
    lane: Lane<'a>,
    kind: LaneKind,
    pub(crate) index: LaneIdx,
    pub(crate) rows: Range<u64>,
}

/// The matching rows of one block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockHits<'a> {
    pub(crate) block: Block<'a>,
    /// Index of its first row in the lane.
    pub(crate) first_row: u64,
    /// One bit per row, the first lowest.
    pub(crate) mask: u64,
}

/// Passes the extents that may have matches to `judge`, `at_once` of them at a time, on all threads. Rows of all other
/// extents count as done at once. Returns an error if cancelled, or the error of `judge`.
pub(crate) fn judge_extents<'a, E: From<Cancelled> + Send>(
    scans: &[LaneScan<'a>],
    at_once: usize,
    (cancel, progress): (&Cancel, &Progress),
    judge: impl Fn(&LaneScan<'a>, &[usize]) -> Result<(), E> + Sync,
) -> Result<(), E> {
    progress.begin(Stage::Counting, scans.iter().map(|scan| scan.rows.end - scan.rows.start).sum());
    scans.par_iter().try_for_each(|scan| {
        let extents: Vec<usize> = scan.extents().collect();
        let rows_in = |extents: &[usize]| extents.iter().map(|&extent| scan.rows_in(extent)).sum::<u64>();
        progress.advance((scan.rows.end - scan.rows.start).saturating_sub(rows_in(&extents)));
        extents.par_chunks(at_once).try_for_each(|extents| {
            scan.prepare(cancel)?;
            judge(scan, extents)?;
            progress.advance(rows_in(extents));
            Ok(())
        })
    })
}

impl BlockHits<'_> {
    /// Iterates over the block slots of the matching rows.
    #[must_use]
    pub(crate) fn slots(&self) -> impl DoubleEndedIterator<Item = usize> + use<> {
        let mask = self.mask;
        (0..BLOCK_ROWS).filter(move |slot| mask >> slot & 1 != 0)
    }
}

impl<'a> LaneScan<'a> {
    /// Scans the part of a lane that is in `scope`. Reads at most four blocks.
    #[must_use]
    pub(crate) fn new(snapshot: &'a Snapshot, matcher: &'a Matcher, scope: &Scope, index: LaneIdx) -> Self {
        Self::in_range(snapshot, matcher, scope, index, |_, span| span.end_ns())
    }

    /// Scans the part of a lane that is in `scope`, where a span without an end is open up to the end of the trace.
    /// Returns the row of that span too, if it is in scope.
    #[must_use]
    pub(crate) fn with_open_end(
        snapshot: &'a Snapshot,
        matcher: &'a Matcher,
        scope: &Scope,
        index: LaneIdx,
    ) -> (Self, Option<u64>) {
        let open = open_row(snapshot, index);
        let end_ns = |row, span: &Span| if Some(row) == open { snapshot.end_ns() } else { span.end_ns() };
        let scan = Self::in_range(snapshot, matcher, scope, index, end_ns);
        let open = open.filter(|row| scan.rows.contains(row));
        (scan, open)
    }

    /// Scans the rows of a lane that start in the range of `scope`, without a row that reaches in from before.
    #[must_use]
    pub(crate) fn from_starts(snapshot: &'a Snapshot, matcher: &'a Matcher, scope: &Scope, index: LaneIdx) -> Self {
        Self::in_range(snapshot, matcher, scope, index, |_, _| i64::MIN)
    }

    /// Scans the rows that start in the range, and the previous row if it ends in the range by `end_ns`.
    fn in_range(
        snapshot: &'a Snapshot,
        matcher: &'a Matcher,
        scope: &Scope,
        index: LaneIdx,
        end_ns: impl Fn(u64, &Span) -> i64,
    ) -> Self {
        let mut cursor = LaneCursor::new(snapshot.store(), index);
        let lane = cursor.lane();
        let first = match scope.from_ns {
            None => 0,
            Some(from_ns) => {
                let from = cursor.first_from(from_ns).row;
                // Among earlier rows, only the last may reach in: they do not overlap.
                let mut reaches = |&row: &u64| cursor.span(row).is_some_and(|span| end_ns(row, &span) > from_ns);
                from.checked_sub(1).filter(|row| reaches(row)).unwrap_or(from)
            }
        };
        let end = scope.to_ns.map_or(lane.rows(), |to_ns| cursor.first_from(to_ns).row);
        let mut rows = first..end.max(first);
        if let Some(starts_ns) = matcher.starts_in(lane.info().track) {
            rows.start = rows.start.max(cursor.first_from(starts_ns.start).row);
            // `i64::MAX` means no end: a row may start right there.
            if starts_ns.end < i64::MAX {
                rows.end = rows.end.min(cursor.first_from(starts_ns.end).row);
            }
            rows.end = rows.end.max(rows.start);
        }
        Self { snapshot, matcher, lane, kind: lane.info().kind, index, rows }
    }

    /// Scans rows of a lane that are in scope.
    #[must_use]
    pub(crate) fn from_rows(snapshot: &'a Snapshot, matcher: &'a Matcher, index: LaneIdx, rows: Range<u64>) -> Self {
        let lane = snapshot.store().lane(index);
        Self { snapshot, matcher, lane, kind: lane.info().kind, index, rows }
    }

    /// Checks for cancellation, and computes what the matcher needs of the track; see [`Matcher::prepare`].
    pub(crate) fn prepare(&self, cancel: &Cancel) -> Result<(), Cancelled> {
        cancel.check()?;
        self.matcher.prepare(self.snapshot, self.lane.info().track, cancel)
    }

    #[must_use]
    pub(crate) fn kind(&self) -> LaneKind {
        self.kind
    }

    #[must_use]
    pub(crate) fn lane(&self) -> Lane<'a> {
        self.lane
    }

    /// Returns a scan of other rows of the same lane.
    #[must_use]
    pub(crate) fn with_rows(&self, rows: Range<u64>) -> Self {
        Self { rows, ..self.clone() }
    }

    /// Returns the first row in scope that starts at or after `ts_ns`, or the end of the rows. Unpacks one block.
    #[must_use]
    pub(crate) fn first_from(&self, ts_ns: i64) -> u64 {
        let records = self.lane.extents();
        let after = records.partition_point(|extent| extent.first_start_ns < ts_ns);
        let Some(extent) = after.checked_sub(1) else { return self.rows.start };
        let mut row = records[extent].first_row;
        match self.lane.extent(extent) {
            // A damaged extent may be before or after that time.
            None => row += u64::from(records[extent].rows),
            Some(extent_data) => {
                let directory = extent_data.directory();
                let block = directory.partition_point(|entry| entry.first_start_ns < ts_ns).saturating_sub(1);
                let (packed, mut starts) = (extent_data.block(block), [0; BLOCK_ROWS]);
                packed.starts(&mut starts);
                let slot = starts[..packed.rows()].partition_point(|&start_ns| start_ns < ts_ns);
                row += u64::from(directory[block].first_row()) + slot as u64;
            }
        }
        row.clamp(self.rows.start, self.rows.end)
    }

    /// Returns the start of a row; `None` if it is damaged.
    #[must_use]
    pub(crate) fn start_ns(&self, row: u64) -> Option<i64> {
        LaneCursor::new(self.snapshot.store(), self.index).row(row).map(|row| row.start_ns)
    }

    /// Iterates over the extents that may have matches, in order. Reads no rows.
    pub(crate) fn extents(&self) -> impl Iterator<Item = usize> + use<'_, 'a> {
        let longest = self.lane.forest::<LongestNs>();
        let extents = self.lane.extents().iter().zip(self.lane.signatures()).enumerate();
        extents.filter_map(move |(index, (extent, signature))| {
            let rows = extent.first_row..extent.first_row + u64::from(extent.rows);
            let in_scope = rows.start < self.rows.end && rows.end > self.rows.start;
            // Leaf `i` of a forest is node `2i`.
            let longest_ns = longest.get(2 * index).map_or(u64::MAX, |longest| longest.0);
            (in_scope && self.matcher.may_be_in(self.kind, signature, longest_ns)).then_some(index)
        })
    }

    /// Iterates over the blocks of an extent with matching rows, from block `from` on. Empty for a damaged extent.
    pub(crate) fn blocks<'r>(
        &'r self,
        extent: usize,
        from: usize,
        reader: &'r mut DetailReader,
    ) -> impl Iterator<Item = (usize, BlockHits<'a>)> + use<'r, 'a> {
        let extent_data = self.lane.extent(extent);
        let directory = extent_data.map_or(&[][..], |extent_data| extent_data.directory());
        let first_row = self.lane.extents().get(extent).map_or(0, |extent| extent.first_row);
        let blocks_from = |row: u64| directory.partition_point(|entry| first_row + u64::from(entry.first_row()) < row);
        let (first, end) =
            (blocks_from(self.rows.start.saturating_add(1)).saturating_sub(1), blocks_from(self.rows.end));
        (from.max(first)..end).filter_map(move |block| Some((block, self.block(extent, extent_data?, block, reader)?)))
    }

    /// Returns the matching rows of one block; `None` if there are none.
    #[must_use]
    pub(crate) fn block(
        &self,
        extent: usize,
        extent_data: Extent<'a>,
        block: usize,
        reader: &mut DetailReader,
    ) -> Option<BlockHits<'a>> {
        let first_row = self.lane.extents()[extent].first_row + u64::from(extent_data.directory()[block].first_row());
        let block = extent_data.block(block);
        let in_scope = self.in_scope(first_row, block.rows());
        if in_scope == 0 {
            return None;
        }
        #[cfg(test)]
        BLOCKS_READ.set(BLOCKS_READ.get() + 1);
        let mask = self.matcher.rows_of(&block, self.position(first_row), self.snapshot, reader) & in_scope;
        (mask != 0).then_some(BlockHits { block, first_row, mask })
    }

    /// Returns the rows of the block that contains a row, and a bit per matching row; `None` if it is damaged.
    #[must_use]
    pub(crate) fn block_at(&self, row: u64, reader: &mut DetailReader) -> Option<(Range<u64>, u64)> {
        let records = self.lane.extents();
        let extent = records.partition_point(|extent| extent.first_row <= row).checked_sub(1)?;
        let extent_data = self.lane.extent(extent)?;
        let within = row - records[extent].first_row;
        let after = extent_data.directory().partition_point(|entry| u64::from(entry.first_row()) <= within);
        let block = after.checked_sub(1)?;
        let first_row = records[extent].first_row + u64::from(extent_data.directory()[block].first_row());
        let mask = self.block(extent, extent_data, block, reader).map_or(0, |hits| hits.mask);
        Some((first_row..first_row + extent_data.block(block).rows() as u64, mask))
    }

    /// Counts the rows of an extent that are in scope.
    #[must_use]
    pub(crate) fn rows_in(&self, extent: usize) -> u64 {
        let Some(record) = self.lane.extents().get(extent) else { return 0 };
        let end = record.first_row + u64::from(record.rows);
        end.min(self.rows.end).saturating_sub(record.first_row.max(self.rows.start))
    }

    /// Counts the matching rows of an extent.
    #[must_use]
    pub(crate) fn count(&self, extent: usize, reader: &mut DetailReader) -> u64 {
        if self.matcher.is_every_row_of_lane() {
            // A damaged extent has no rows.
            return if self.lane.extent(extent).is_some() { self.rows_in(extent) } else { 0 };
        }
        self.blocks(extent, 0, reader).map(|(_, hits)| u64::from(hits.mask.count_ones())).sum()
    }

    /// Appends the details of the rows of an extent that match if their arguments do.
    pub(crate) fn push_details(&self, extent: usize, details: &mut Vec<DetailRef>) {
        let Some(extent_data) = self.lane.extent(extent) else { return };
        let first_row = self.lane.extents()[extent].first_row;
        for (index, entry) in extent_data.directory().iter().enumerate() {
            let block = extent_data.block(index);
            let first_row = first_row + u64::from(entry.first_row());
            let in_scope = self.in_scope(first_row, block.rows());
            if in_scope != 0 {
                let mask = self.matcher.rows_but_arguments(&block, self.position(first_row), self.snapshot) & in_scope;
                let slots = (0..BLOCK_ROWS).filter(|slot| mask >> slot & 1 != 0);
                details.extend(slots.map(|slot| DetailRef(block.detail(slot))));
            }
        }
    }

    /// Counts the rows with these details whose arguments match.
    #[must_use]
    pub(crate) fn count_details(&self, details: &[DetailRef], reader: &mut DetailReader) -> u64 {
        let matching = details.iter().filter(|detail| self.matcher.has_arguments(**detail, self.snapshot, reader));
        matching.count() as u64
    }

    fn position(&self, first_row: u64) -> BlockPosition {
        BlockPosition { lane: self.index, kind: self.kind, first_row }
    }

    /// Returns a bit per row of a block that is in scope.
    fn in_scope(&self, first_row: u64, rows: usize) -> u64 {
        let bits_below = |row: u64| match row.saturating_sub(first_row) {
            count @ 0..64 => (1u64 << count) - 1,
            _ => u64::MAX,
        };
        let of_block = u64::MAX >> (BLOCK_ROWS - rows);
        bits_below(self.rows.end) & !bits_below(self.rows.start) & of_block
    }
}

//! Builds one lane of a store: rows are pushed in time order, and packed extents come out.
//!
//! The same rows with the same block and extent boundaries give the same bytes. A store that is rebuilt from another
//! file ([`carried`](super::carried)) thus equals the original.
//!
//! A trace may have millions of lanes with a few rows each. A lane without pending rows takes 56 bytes: the pending
//! rows and blocks are boxed, and the pyramid starts only with enough rows.

use std::fs::File;
use std::io;

use super::append::AppendFile;
use super::block::{BLOCK_ROWS, Row};
use super::extent::{EXTENT_BLOCKS, Extent, ExtentBuilder, ExtentRecord};
use super::extent_log::{ExtentLog, LaneExtents, LaneLog, PackedExtent};
use super::iforest::{Aggregate, MinMax};
use super::lane::{LaneInfo, LaneKind};
use super::overview::{OverviewBuilder, ROWS_MIN};
use crate::base::files;
use crate::model::TrackIdx;

/// Row count at which a lane of spans starts its pyramid. Its extents have 1, 2, 4, ... 64 blocks, and the last extent
/// ends one block before [`ROWS_MIN`].
const OVERVIEW_BEGINS_AT: u64 = ROWS_MIN - BLOCK_ROWS as u64;

/// A lane under construction, with its rows that are not written yet.
#[derive(Debug)]
pub(super) struct LaneBuilder {
    pub(crate) track: TrackIdx,
    pub(crate) kind: LaneKind,
    pub(crate) depth: u16,
    pub(crate) unfinished: bool,
    /// Rows that are packed, and their times.
    pub(crate) rows: u64,
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    pub(crate) extents: LaneExtents,
    waiting: Option<Box<UnwrittenRows>>,
    overview: Option<Box<OverviewBuilder>>,
}

const _: () = assert!(size_of::<LaneBuilder>() == 56);

/// Rows and blocks that are not written yet.
#[derive(Debug, Default)]
struct UnwrittenRows {
    /// Rows of the next block, at most [`BLOCK_ROWS`].
    rows: Vec<Row>,
    /// Packed blocks of the next extent.
    extent: ExtentBuilder,
}

impl UnwrittenRows {
    fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.rows.capacity() * size_of::<Row>() + self.extent.memory_bytes()
    }

    /// Packs the pending rows, at least one, as one block.
    fn pack(&mut self, kind: LaneKind) {
        match kind {
            LaneKind::Counter => {
                let values = self.rows.iter().map(|row| MinMax::from_value(f64::from_bits(row.value)));
                let leaf = values.fold(MinMax::IDENTITY, Aggregate::combine);
                self.extent.push_block(&self.rows, bytemuck::cast_slice(&[leaf]));
            }
            LaneKind::Spans => {
                let longest = self.rows.iter().map(|row| row.value).max().unwrap_or(0);
                self.extent.push_block(&self.rows, &[longest]);
            }
            LaneKind::Instants | LaneKind::Samples | LaneKind::Flows => self.extent.push_block(&self.rows, &[0]),
        }
        self.rows.clear();
    }
}

/// Memory changes of a lane, added to the sums over all lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pushed {
    /// Increase of the pending bytes.
    pub(crate) waiting_bytes: usize,
    /// Whether the lane had no pending rows before.
    pub(crate) is_first: bool,
    pub(crate) is_block_full: bool,
}

impl LaneBuilder {
    pub(super) fn new(track: TrackIdx, kind: LaneKind, depth: u16) -> Self {
        Self {
            track,
            kind,
            depth,
            unfinished: false,
            rows: 0,
            start_ns: i64::MAX,
            end_ns: i64::MIN,
            extents: LaneExtents::default(),
            waiting: None,
            overview: None,
        }
    }

    /// The sort key among the lanes of the finished store.
    pub(super) fn order(&self) -> (TrackIdx, LaneKind, u16) {
        (self.track, self.kind, self.depth)
    }

    pub(super) fn info(&self) -> LaneInfo {
        let Self { track, kind, depth, rows, start_ns, end_ns, .. } = *self;
        LaneInfo { track, kind, depth, rows, start_ns, end_ns }
    }

    /// Returns the bytes of rows and blocks to be written.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.waiting.as_ref().map_or(0, |waiting| waiting.memory_bytes())
    }

    /// Returns the number of pyramid buckets.
    pub(super) fn buckets(&self) -> usize {
        self.overview.as_ref().map_or(0, |overview| overview.buckets())
    }

    pub(super) fn take_overview(&mut self) -> Option<OverviewBuilder> {
        self.overview.take().map(|overview| *overview)
    }

    /// Merges pyramid buckets until at most `buckets_max` are left.
    pub(super) fn shrink_overview_to(&mut self, buckets_max: usize) {
        if let Some(overview) = &mut self.overview {
            overview.shrink_to(buckets_max);
        }
    }

    /// Adds a row. It starts no earlier than the previous row; a span starts no earlier than the previous one ends.
    #[inline]
    pub(super) fn push(&mut self, row: Row) -> Pushed {
        let is_first = self.waiting.is_none();
        let mut waiting_bytes = if is_first { size_of::<UnwrittenRows>() } else { 0 };
        let waiting = self.waiting.get_or_insert_default();
        let capacity = waiting.rows.capacity();
        waiting.rows.push(row);
        // Capacity counts too: a million busy lanes would otherwise hold 2 GiB outside the budget.
        waiting_bytes += (waiting.rows.capacity() - capacity) * size_of::<Row>();
        Pushed { waiting_bytes, is_first, is_block_full: waiting.rows.len() == BLOCK_ROWS }
    }

    /// Returns the end of the last row; `i64::MIN` while there is none.
    #[inline]
    pub(super) fn last_end_ns(&self) -> i64 {
        let last = self.waiting.as_ref().and_then(|waiting| waiting.rows.last());
        last.map_or(self.end_ns, |row| self.end_ns.max(end_ns(self.kind, row)))
    }

    /// Returns the name of the last pending row; 0 if there is none.
    #[inline]
    pub(super) fn last_name(&self) -> u32 {
        self.waiting.as_ref().and_then(|waiting| waiting.rows.last()).map_or(0, |row| row.name)
    }

    /// Packs the pending rows as one block, and returns the number of pending blocks. The pyramid has at most
    /// `buckets_max` buckets afterwards.
    pub(super) fn pack(&mut self, buckets_max: usize) -> usize {
        let Some(waiting) = &mut self.waiting else { return 0 };
        if let Some(first) = waiting.rows.first() {
            self.rows += waiting.rows.len() as u64;
            self.start_ns = self.start_ns.min(first.start_ns);
            let ends_ns = waiting.rows.iter().map(|row| end_ns(self.kind, row));
            self.end_ns = ends_ns.fold(self.end_ns, i64::max);
            if let Some(overview) = &mut self.overview {
                overview.push_rows(&waiting.rows, buckets_max);
            }
            waiting.pack(self.kind);
        }
        waiting.extent.blocks()
    }

    /// Returns whether this many blocks fill an extent. Each extent is twice the previous one: small lanes show early,
    /// large ones soon write full extents.
    pub(super) fn is_extent_full(&self, blocks: usize) -> bool {
        let doubled = 1usize.checked_shl(self.extents.count() as u32).unwrap_or(EXTENT_BLOCKS);
        blocks >= doubled.min(EXTENT_BLOCKS)
    }

    /// Writes the pending blocks as one extent. Returns the I/O error of a failed write.
    pub(super) fn write(&mut self, file: &mut AppendFile, log: &mut ExtentLog) -> io::Result<()> {
        if self.waiting.as_ref().is_some_and(|waiting| waiting.extent.blocks() > 0) {
            let mut packed = None;
            let offset = file.append_with(|buffer| packed = self.close_extent(buffer))?;
            if let Some(packed) = packed {
                log.push(&mut self.extents, &packed, offset)?;
            }
        }
        Ok(())
    }

    /// Packs and writes everything pending, and frees its memory; see [`Self::pack`]. Fails as [`Self::write`] does.
    pub(super) fn write_all(
        &mut self,
        file: &mut AppendFile,
        log: &mut ExtentLog,
        buckets_max: usize,
    ) -> io::Result<()> {
        self.pack(buckets_max);
        self.write(file, log)?;
        self.waiting = None;
        Ok(())
    }

    /// Frees the memory of written rows and blocks.
    pub(super) fn forget_room(&mut self) {
        self.waiting = None;
    }

    /// Appends the pending blocks to `out` as one extent; `None` without pending blocks. No row may be pending.
    pub(super) fn close_extent(&mut self, out: &mut Vec<u8>) -> Option<PackedExtent> {
        let waiting = self.waiting.as_mut()?;
        let (first_start_ns, rows) = (waiting.extent.first_start_ns()?, waiting.extent.rows());
        let first_row = self.rows - u64::from(rows);
        let mut signature = Vec::new();
        waiting.extent.sign(&mut signature);
        let start = out.len();
        let aggregate = match self.kind {
            LaneKind::Counter => {
                let MinMax { min, max } = waiting.extent.finish_counter(out);
                [min.to_bits(), max.to_bits()]
            }
            _ => [waiting.extent.finish_longest(out), 0],
        };
        // At most `EXTENT_BYTES_MAX`, which a compile-time check keeps below 4 GiB.
        let bytes = (out.len() - start) as u32;
        let record = ExtentRecord { offset: 0, first_start_ns, first_row, rows, bytes };
        Some(PackedExtent { record, aggregate, signature })
    }

    /// Returns whether the lane has enough rows for a pyramid that is not started.
    pub(super) fn wants_overview(&self) -> bool {
        self.kind == LaneKind::Spans && self.overview.is_none() && self.rows >= OVERVIEW_BEGINS_AT
    }

    /// Starts the pyramid with the written rows, read back from `file`. No block may be pending. Returns the I/O error
    /// of a failed read.
    pub(super) fn begin_overview(&mut self, file: &File, extents: &LaneLog<'_>, buckets_max: usize) -> io::Result<()> {
        let mut overview = Box::<OverviewBuilder>::default();
        let (mut words, mut rows) = (Vec::<u64>::new(), Vec::new());
        for record in extents.records() {
            // A buffer of words, because an extent is read in place as `u64`.
            words.resize((record.bytes as usize).div_ceil(size_of::<u64>()), 0);
            let bytes = &mut bytemuck::cast_slice_mut(&mut words)[..record.bytes as usize];
            files::read_exact_at(file, bytes, record.offset)?;
            let extent =
                Extent::new(bytes).ok_or_else(|| io::Error::other("the store changed while it was written"))?;
            for block in 0..extent.blocks() {
                rows.clear();
                extent.block(block).decode(&mut rows);
                overview.push_rows(&rows, buckets_max);
            }
        }
        self.overview = Some(overview);
        Ok(())
    }
}

/// Returns the end of a row, which is its start unless it is a span.
fn end_ns(kind: LaneKind, row: &Row) -> i64 {
    row.start_ns.saturating_add_unsigned(if kind == LaneKind::Spans { row.value } else { 0 })
}

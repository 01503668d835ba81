//! One lane on its way into a store: rows come in order of time, and leave as packed extents with what is known of them.
//!
//! Given the same rows and the same cuts between blocks and extents, it makes the same bytes, so a store that is taken out
//! of another file ([`carried`](super::carried)) is the one that was put in.

use std::io;

use super::append::AppendFile;
use super::block::Row;
use super::extent::{ExtentBuilder, ExtentRecord};
use super::format::LaneRecord;
use super::iforest::{self, Aggregate, LongestNs, MinMax};
use super::lane::{LaneInfo, LaneKind, Span};
use super::overview::{OverviewBucket, OverviewBuilder, OverviewShape};
use crate::model::{NameIdx, TrackIdx};

/// A lane that grows.
#[derive(Debug)]
pub(super) struct LaneBuilder {
    pub track: TrackIdx,
    pub kind: LaneKind,
    pub depth: u16,
    pub unfinished: bool,
    pub rows: u64,
    pub start_ns: i64,
    pub end_ns: i64,
    /// Rows that wait to be packed.
    pub pending: Vec<Row>,
    /// Blocks that wait to be written.
    pub extent: ExtentBuilder,
    pub extents: Vec<ExtentRecord>,
    pub signatures: Vec<u64>,
    pub longest: Vec<LongestNs>,
    pub min_max: Vec<MinMax>,
    pub overview: OverviewBuilder,
}

impl LaneBuilder {
    /// A lane without rows.
    pub fn new(track: TrackIdx, kind: LaneKind, depth: u16) -> Self {
        Self {
            track,
            kind,
            depth,
            unfinished: false,
            rows: 0,
            start_ns: i64::MAX,
            end_ns: i64::MIN,
            pending: Vec::new(),
            extent: ExtentBuilder::default(),
            extents: Vec::new(),
            signatures: Vec::new(),
            longest: Vec::new(),
            min_max: Vec::new(),
            overview: OverviewBuilder::default(),
        }
    }

    /// Where the lane stands in the finished store.
    pub fn order(&self) -> (TrackIdx, LaneKind, u16) {
        (self.track, self.kind, self.depth)
    }

    /// What is known of it so far.
    pub fn info(&self) -> LaneInfo {
        let Self { track, kind, depth, rows, start_ns, end_ns, .. } = *self;
        LaneInfo { track, kind, depth, rows, start_ns, end_ns }
    }

    /// Takes a row that starts no earlier than the one before, and for spans no earlier than that one's end. Its pyramid
    /// has at most `buckets_max` buckets afterwards.
    #[inline]
    pub fn push(&mut self, row: Row, buckets_max: usize) {
        self.rows += 1;
        self.start_ns = self.start_ns.min(row.start_ns);
        let dur_ns = if self.kind == LaneKind::Spans { row.value } else { 0 };
        self.end_ns = self.end_ns.max(row.start_ns.saturating_add_unsigned(dur_ns));
        if self.kind == LaneKind::Spans {
            let span = Span { start_ns: row.start_ns, dur_ns, name: NameIdx(row.name), ..Span::default() };
            self.overview.push(&span, buckets_max);
        }
        self.pending.push(row);
    }

    /// Packs the rows that wait as one block.
    pub fn pack(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        match self.kind {
            LaneKind::Counter => {
                let values = self.pending.iter().map(|row| MinMax::of(f64::from_bits(row.value)));
                let leaf = values.fold(MinMax::IDENTITY, Aggregate::combine);
                self.extent.push_block(&self.pending, bytemuck::cast_slice(&[leaf]));
            }
            LaneKind::Spans => {
                let longest = self.pending.iter().map(|row| row.value).max().unwrap_or(0);
                self.extent.push_block(&self.pending, &[longest]);
            }
            LaneKind::Instants | LaneKind::Samples | LaneKind::Flows => self.extent.push_block(&self.pending, &[0]),
        }
        self.pending.clear();
    }

    /// Writes the blocks that wait as one extent.
    ///
    /// # Errors
    /// What the system says to a write, such as a full disk.
    pub fn write(&mut self, file: &mut AppendFile) -> io::Result<()> {
        let mut closed = None;
        if self.extent.blocks() > 0 {
            let offset = file.append_with(|buffer| closed = self.close_extent(buffer))?;
            self.extents.extend(closed.map(|record| ExtentRecord { offset, ..record }));
        }
        Ok(())
    }

    /// Appends the blocks that wait to `out` as one extent. Returns what the lane is to remember of it, once it has a
    /// place; nothing if no block waits.
    pub fn close_extent(&mut self, out: &mut Vec<u8>) -> Option<ExtentRecord> {
        let (first_start_ns, rows) = (self.extent.first_start_ns()?, self.extent.rows());
        let first_row = self.extents.last().map_or(0, |last| last.first_row + u64::from(last.rows));
        self.extent.sign(&mut self.signatures);
        let start = out.len();
        match self.kind {
            LaneKind::Counter => iforest::push(&mut self.min_max, self.extent.finish(out)),
            _ => iforest::push(&mut self.longest, self.extent.finish(out)),
        }
        // 64 blocks of less than 2 KiB.
        let bytes = u32::try_from(out.len() - start).unwrap_or(u32::MAX);
        Some(ExtentRecord { offset: 0, first_start_ns, first_row, rows, bytes })
    }
}

/// The sections, as they are put together lane by lane.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub overview: Vec<OverviewBucket>,
    pub lanes: Vec<LaneRecord>,
    pub extents: Vec<ExtentRecord>,
    pub forests: Vec<u64>,
    pub signatures: Vec<u64>,
}

impl Tables {
    /// Adds a lane that is written; one without rows is left out.
    pub fn take(&mut self, lane: &LaneBuilder, overview: Option<(OverviewShape, Vec<OverviewBucket>)>) {
        if lane.rows == 0 {
            return;
        }
        let overview_first = self.overview.len() as u64;
        let overview = match overview {
            Some((shape, buckets)) => {
                self.overview.extend(buckets);
                shape
            }
            None => OverviewShape { first: 0, width_log2: 0, count: 0 },
        };
        self.lanes.push(LaneRecord {
            track: lane.track,
            depth: lane.depth,
            kind: lane.kind.code(),
            unfinished: u8::from(lane.unfinished),
            rows: lane.rows,
            start_ns: lane.start_ns,
            end_ns: lane.end_ns,
            extent_first: self.extents.len() as u64,
            forest_first: self.forests.len() as u64,
            signature_first: self.signatures.len() as u64,
            overview_first,
            overview,
            extent_count: lane.extents.len() as u64,
        });
        self.extents.extend_from_slice(&lane.extents);
        self.signatures.extend_from_slice(&lane.signatures);
        self.forests.extend_from_slice(bytemuck::cast_slice(&lane.longest));
        self.forests.extend_from_slice(bytemuck::cast_slice(&lane.min_max));
    }
}

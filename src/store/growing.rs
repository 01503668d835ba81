//! A store that is queried while it grows, many times a second.
//!
//! Settled rows go to a file as full extents, once. The rest, settled or still moving, is packed in memory and shared
//! by all previews until it changes. A preview never flushes a partial extent: its cost follows the changes and the
//! number of lanes and extents. There is no overview and no ledger; the final sorted store has both. [`ring`] drops the
//! oldest extents of a bounded store.

pub(crate) mod ring;

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::mem;
use std::path::Path;
use std::sync::Arc;

use self::ring::{Ring, RingExtent};
use super::append::AppendFile;
use super::block::{BLOCK_ROWS, Row};
use super::details::DetailWriter;
use super::extent::{EXTENT_BLOCKS, ExtentRecord};
use super::extent_log::{ExtentLog, LaneExtents, PackedExtent};
use super::format::{LaneRecord, MAGIC, Meta};
use super::lane::{DetailRef, LaneIdx, LaneKind};
use super::lane_builder::LaneBuilder;
use super::live_lanes::{LiveLanes, StoreNumber};
use super::overview::OverviewShape;
use super::parted_section::PartedSection;
use super::read::{HELD_EXTENT, HeldExtent, Store, StoreLedgers, StoreTables};
use super::table::Table;
use super::writer::next_lane;
use crate::base::disk::SystemDisk;
use crate::base::mapped::Mapped;
use crate::model::TrackIdx;

/// Rows of a full extent, which goes to the file.
const EXTENT_ROWS: usize = BLOCK_ROWS * EXTENT_BLOCKS;

/// Rows of an extent in memory: few, so that one more row repacks few others.
const PACKED_ROWS: usize = BLOCK_ROWS * 8;

/// The name of the store in errors about its map.
const PATH: &str = "the sorted part of a trace that still runs";

/// The store of a live trace.
#[derive(Debug)]
pub(crate) struct GrowingStore {
    file: AppendFile,
    lanes: Vec<GrowingLane>,
    extents: ExtentLog,
    details: DetailWriter,
    /// The current map of the file, and the length that it covers.
    map: Option<(u64, Arc<Mapped>)>,
    /// Rows in memory that no longer move.
    settled_rows: usize,
    settled_rows_max: usize,
    /// Rows packed in memory since the start: the work of previews.
    packed_rows: u64,
    /// The lanes of the last preview.
    shown_lanes: Arc<LiveLanes>,
    number: StoreNumber,
    /// Whether the depth of a lane has changed since the last preview.
    has_moved_lanes: bool,
    /// Dropped rows; `None` for an unbounded store.
    ring: Option<Ring>,
}

#[derive(Debug)]
struct GrowingLane {
    track: TrackIdx,
    kind: LaneKind,
    depth: u16,
    /// Rows in extents of the file.
    rows: u64,
    start_ns: i64,
    end_ns: i64,
    extents: LaneExtents,
    /// The extents as a ring needs them; empty for an unbounded store.
    ring_extents: VecDeque<RingExtent>,
    /// Rows that no longer move and are not in the file yet.
    settled: Vec<Row>,
    /// Rows that may still move.
    moving: Vec<Row>,
    /// Whether the last moving row has no end yet.
    is_unfinished: bool,
    /// Settled and moving rows, packed.
    packed: Vec<ExtentRows>,
    packed_from: Vec<Row>,
    /// Whether `packed` is up to date.
    is_packed: bool,
}

/// The packed rows of an extent in memory.
#[derive(Debug, Clone)]
struct ExtentRows {
    extent: PackedExtent,
    bytes: HeldExtent,
}

impl GrowingStore {
    /// Creates a store in an empty file. At most `settled_rows_max` settled rows stay in memory, besides the moving
    /// ones. Returns the I/O error of a failed write.
    pub(crate) fn new(file: File, settled_rows_max: usize) -> io::Result<Self> {
        let mut file = AppendFile::new(file, Arc::new(SystemDisk));
        file.append(&MAGIC)?;
        let number = StoreNumber::next();
        Ok(Self {
            file,
            lanes: Vec::new(),
            extents: ExtentLog::default(),
            details: DetailWriter::default(),
            map: None,
            settled_rows: 0,
            settled_rows_max,
            packed_rows: 0,
            shown_lanes: Arc::new(LiveLanes::new(number, Vec::new())),
            number,
            has_moved_lanes: false,
            ring: None,
        })
    }

    /// Adds a lane. Returns an error when the lane indices are used up.
    pub(crate) fn add_lane(&mut self, track: TrackIdx, kind: LaneKind, depth: u16) -> io::Result<LaneIdx> {
        let index = next_lane(self.lanes.len())?;
        self.lanes.push(GrowingLane {
            track,
            kind,
            depth,
            rows: 0,
            start_ns: i64::MAX,
            end_ns: i64::MIN,
            extents: LaneExtents::default(),
            ring_extents: VecDeque::new(),
            settled: Vec::new(),
            moving: Vec::new(),
            is_unfinished: false,
            packed: Vec::new(),
            packed_from: Vec::new(),
            is_packed: false,
        });
        Ok(index)
    }

    /// Changes the depth of a lane within its track.
    pub(crate) fn set_depth(&mut self, lane: LaneIdx, depth: u16) {
        let lane_depth = &mut self.lanes[lane.index()].depth;
        self.has_moved_lanes |= mem::replace(lane_depth, depth) != depth;
    }

    /// Appends an encoded detail. Returns the I/O error of a failed write.
    pub(crate) fn push_detail(&mut self, blob: &[u8]) -> io::Result<DetailRef> {
        self.details.push(blob, &mut self.file)
    }

    /// Appends a row that no longer moves. Rows of a lane are sorted as for a [`StoreWriter`](super::StoreWriter).
    /// Returns the I/O error of a failed write.
    pub(crate) fn push(&mut self, lane: LaneIdx, row: Row) -> io::Result<()> {
        let lane = &mut self.lanes[lane.index()];
        lane.settled.push(row);
        lane.is_packed = false;
        self.settled_rows += 1;
        if lane.settled.len() >= EXTENT_ROWS {
            self.settled_rows -= lane.settled.len();
            lane.write(&mut self.file, &mut self.extents, self.ring.as_mut())?;
        }
        if self.settled_rows > self.settled_rows_max {
            self.settled_rows = 0;
            let waiting = self.lanes.iter_mut().filter(|lane| !lane.settled.is_empty());
            for lane in waiting {
                lane.write(&mut self.file, &mut self.extents, self.ring.as_mut())?;
            }
        }
        Ok(())
    }

    /// Replaces the moving rows of a lane, which follow all settled ones. `is_unfinished` means that the last row has
    /// no end yet.
    pub(crate) fn set_moving(&mut self, lane: LaneIdx, rows: &mut Vec<Row>, is_unfinished: bool) {
        let lane = &mut self.lanes[lane.index()];
        if lane.moving != *rows || lane.is_unfinished != is_unfinished {
            mem::swap(&mut lane.moving, rows);
            lane.is_unfinished = is_unfinished;
            lane.is_packed = false;
        }
        rows.clear();
    }

    pub(crate) fn file_bytes(&self) -> u64 {
        self.file.position()
    }

    /// Returns the number of rows packed in memory since the start.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests bound the work of a preview by it"))]
    pub(crate) fn packed_rows(&self) -> u64 {
        self.packed_rows
    }

    /// Returns all rows as a store to query. Returns the I/O error of a failed write or map.
    pub(crate) fn preview(&mut self, meta: Meta) -> io::Result<Store> {
        self.details.flush(&mut self.file)?;
        let map = self.mapped()?;
        let mut order: Vec<usize> = (0..self.lanes.len()).filter(|&lane| !self.lanes[lane].is_empty()).collect();
        order.sort_unstable_by_key(|&lane| (self.lanes[lane].order(), lane));
        let has_moved = mem::take(&mut self.has_moved_lanes);
        if has_moved || !self.shown_lanes.has_numbers(&order) {
            self.shown_lanes = Arc::new(LiveLanes::new(self.number, order.clone()));
        }
        let (mut lanes, mut extents, mut held_extents) = (Vec::with_capacity(order.len()), Vec::new(), Vec::new());
        let (mut forests, mut signatures) = (Vec::new(), Vec::new());
        for lane in order {
            let lane = &mut self.lanes[lane];
            self.packed_rows += lane.pack();
            lanes.push(lane.record(extents.len(), forests.len(), signatures.len()));
            let log = self.extents.lane(lane.extents);
            extents.extend(log.records());
            signatures.extend(log.signatures());
            let leaves = lane.packed.iter().map(|packed| packed.extent.aggregate);
            forests.extend(log.forest_with(lane.kind == LaneKind::Counter, leaves));
            for (position, ExtentRows { extent, bytes }) in lane.packed.iter().enumerate() {
                let first_row = lane.rows + (position * PACKED_ROWS) as u64;
                extents.push(ExtentRecord {
                    offset: HELD_EXTENT + held_extents.len() as u64,
                    first_row,
                    ..extent.record
                });
                signatures.extend_from_slice(&extent.signature);
                held_extents.push(Arc::clone(bytes));
            }
        }
        let tables = StoreTables {
            map,
            held_extents,
            lanes: Table::Held(lanes),
            extents: Table::Held(extents),
            forests: Table::Held(forests),
            details: self.details.blocks().to_vec(),
            overview: PartedSection::new(0..0),
            signatures: Table::Held(signatures),
            signature_parts: None,
            meta,
            ledgers: StoreLedgers::default(),
        };
        let store = Store::from_tables(tables, Path::new(PATH));
        let store = store.ok_or_else(|| io::Error::other("a lane belongs to no track"))?;
        Ok(store.with_live_lanes(Arc::clone(&self.shown_lanes)))
    }

    /// Returns a map of everything written; maps the file again only if it has grown.
    fn mapped(&mut self) -> io::Result<Arc<Mapped>> {
        self.file.flush()?;
        let bytes = self.file.position();
        if let Some((_, map)) = self.map.as_ref().filter(|(mapped, _)| *mapped == bytes) {
            return Ok(Arc::clone(map));
        }
        let map = Arc::new(Mapped::from_store(self.file.file(), Path::new(PATH))?);
        if let Some(ring) = &mut self.ring {
            ring.note_map(&map);
        }
        self.map = Some((bytes, Arc::clone(&map)));
        Ok(map)
    }
}

impl GrowingLane {
    fn is_empty(&self) -> bool {
        self.rows == 0 && self.settled.is_empty() && self.moving.is_empty()
    }

    /// The sort key among the lanes of a preview.
    fn order(&self) -> (TrackIdx, LaneKind, u16) {
        (self.track, self.kind, self.depth)
    }

    /// Writes the settled rows as extents.
    fn write(&mut self, file: &mut AppendFile, log: &mut ExtentLog, mut ring: Option<&mut Ring>) -> io::Result<()> {
        let mut builder = LaneBuilder::new(self.track, self.kind, self.depth);
        for extent in self.settled.chunks(EXTENT_ROWS) {
            fill(&mut builder, extent);
            let mut packed = None;
            let offset = file.append_with(|buffer| packed = builder.close_extent(buffer))?;
            if let Some(packed) = packed {
                log.push(&mut self.extents, &packed, offset)?;
                if let Some(ring) = &mut ring {
                    let ring_extent = RingExtent::new(extent, offset, packed.record.bytes);
                    ring.kept_bytes += u64::from(packed.record.bytes);
                    self.ring_extents.push_back(ring_extent);
                }
            }
        }
        let written = builder.info();
        self.rows += written.rows;
        self.start_ns = self.start_ns.min(written.start_ns);
        self.end_ns = self.end_ns.max(written.end_ns);
        // The capacity is returned while the lane waits for its next extent.
        let count = std::mem::take(&mut self.settled).len();
        self.forget_packed(count);
        Ok(())
    }

    /// Drops the packed form of the first `count` rows in memory.
    fn forget_packed(&mut self, count: usize) {
        if count.is_multiple_of(PACKED_ROWS) && count <= self.packed_from.len() {
            self.packed_from.drain(..count);
            self.packed.drain(..count / PACKED_ROWS);
        } else {
            (self.packed, self.packed_from) = (Vec::new(), Vec::new());
        }
        self.is_packed = false;
    }

    /// Packs the rows in memory that are not packed yet, and returns their number.
    fn pack(&mut self) -> u64 {
        if std::mem::replace(&mut self.is_packed, true) {
            return 0;
        }
        // Each extent starts at a block boundary, since the rows before it fill whole extents.
        let rows: Vec<Row> = self.settled.iter().chain(&self.moving).copied().collect();
        let packed_from = self.packed_from.chunks(PACKED_ROWS);
        let same = rows.chunks(PACKED_ROWS).zip(packed_from).take_while(|(now, before)| now == before).count();
        self.packed.truncate(same);
        let mut packed_rows = 0;
        let mut buffer = Vec::new();
        for extent in rows.chunks(PACKED_ROWS).skip(same) {
            let mut builder = LaneBuilder::new(self.track, self.kind, self.depth);
            fill(&mut builder, extent);
            packed_rows += extent.len() as u64;
            buffer.clear();
            if let Some(extent) = builder.close_extent(&mut buffer) {
                // A buffer of words, because an extent is read in place as `u64`.
                let mut words = vec![0u64; buffer.len().div_ceil(size_of::<u64>())];
                bytemuck::cast_slice_mut(&mut words)[..buffer.len()].copy_from_slice(&buffer);
                self.packed.push(ExtentRows { extent, bytes: words.into() });
            }
        }
        self.packed_from = rows;
        packed_rows
    }

    /// Returns the end of a row.
    fn end_of(&self, row: &Row) -> i64 {
        match self.kind {
            LaneKind::Spans => row.start_ns.saturating_add_unsigned(row.value),
            _ => row.start_ns,
        }
    }

    /// Returns the record of the lane, with the index of its first entry in each table.
    fn record(&self, extents: usize, forests: usize, signatures: usize) -> LaneRecord {
        let memory_rows = self.settled.iter().chain(&self.moving);
        let end_of = |row: &Row| self.end_of(row);
        let first_ns = memory_rows.clone().next().map_or(i64::MAX, |row| row.start_ns);
        // Spans of a lane end in order, as do points.
        let end_ns = memory_rows.clone().next_back().map_or(i64::MIN, end_of);
        LaneRecord {
            track: self.track,
            depth: self.depth,
            kind: self.kind.code(),
            unfinished: u8::from(self.is_unfinished),
            rows: self.rows + memory_rows.count() as u64,
            start_ns: self.start_ns.min(first_ns),
            end_ns: self.end_ns.max(end_ns),
            extent_first: extents as u64,
            forest_first: forests as u64,
            signature_first: signatures as u64,
            overview_first: 0,
            overview: OverviewShape::NONE,
            extent_count: (self.extents.count() + self.packed.len()) as u64,
        }
    }
}

/// Packs the rows of one extent.
fn fill(builder: &mut LaneBuilder, rows: &[Row]) {
    for block in rows.chunks(BLOCK_ROWS) {
        block.iter().for_each(|&row| _ = builder.push(row));
        builder.pack(0);
    }
}

#[cfg(test)]
mod tests;

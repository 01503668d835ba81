//! Builds a store: rows go in by lane in order of time, extents come out as they fill up. Never sorts, never nests.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::append::AppendFile;
use super::block::{BLOCK_ROWS, Row};
use super::details::DetailWriter;
use super::extent::{EXTENT_BLOCKS, ExtentBuilder, ExtentRecord};
use super::format::{LaneRecord, MAGIC, Meta, SECTIONS, Section, SectionRecord, Trailer};
use super::iforest::{self, Aggregate, LongestNs, MinMax};
use super::lane::{DetailRef, LaneIdx, LaneKind, Span};
use super::overview::{BUCKETS_MAX, OverviewBucket, OverviewBuilder, OverviewShape};
use super::read::{Signatures, Store, StoreTables};
use crate::base::disk::{Disk, SystemDisk};
use crate::base::mapped::Mapped;
use crate::model::{NameIdx, TrackIdx};

/// A store that is being built.
#[derive(Debug)]
pub struct StoreWriter {
    file: AppendFile,
    lanes: Vec<LaneBuilder>,
    details: DetailWriter,
    /// Bytes in all lanes that rows and packed blocks wait in.
    held_bytes: usize,
    /// When more wait, all lanes write what they have.
    held_bytes_max: usize,
    /// Buckets in the pyramids of all lanes.
    buckets: usize,
    /// The most buckets of one lane; halved whenever all lanes together have too many.
    buckets_max: usize,
}

#[derive(Debug)]
struct LaneBuilder {
    track: TrackIdx,
    kind: LaneKind,
    depth: u16,
    unfinished: bool,
    rows: u64,
    start_ns: i64,
    end_ns: i64,
    pending: Vec<Row>,
    extent: ExtentBuilder,
    extents: Vec<ExtentRecord>,
    signatures: Vec<u64>,
    longest: Vec<LongestNs>,
    min_max: Vec<MinMax>,
    overview: OverviewBuilder,
}

impl StoreWriter {
    /// Starts a store in an empty file. Rows that wait to be packed and written take at most about `held_bytes_max`.
    ///
    /// # Errors
    /// What the system says to a write, such as a full disk.
    pub fn new(file: File, held_bytes_max: usize) -> io::Result<Self> {
        Self::on(Arc::new(SystemDisk), file, held_bytes_max)
    }

    /// The same on a disk of the caller's choice.
    ///
    /// # Errors
    /// What the disk says to a write.
    pub fn on(disk: Arc<dyn Disk>, file: File, held_bytes_max: usize) -> io::Result<Self> {
        let mut file = AppendFile::new(file, disk);
        file.append(&MAGIC)?;
        Ok(Self {
            file,
            lanes: Vec::new(),
            details: DetailWriter::default(),
            held_bytes: 0,
            held_bytes_max,
            buckets: 0,
            buckets_max: BUCKETS_MAX,
        })
    }

    /// Adds a lane. The index is the writer's own: the finished store orders lanes by track.
    pub fn add_lane(&mut self, track: TrackIdx, kind: LaneKind, depth: u16) -> LaneIdx {
        let index = LaneIdx(u32::try_from(self.lanes.len()).unwrap_or(u32::MAX));
        self.lanes.push(LaneBuilder {
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
        });
        index
    }

    /// The last end in a lane; the smallest time while it is empty.
    #[must_use]
    pub fn lane_end_ns(&self, lane: LaneIdx) -> i64 {
        self.lanes[lane.index()].end_ns
    }

    /// Appends a row that starts no earlier than the one before, and for spans no earlier than that one's end.
    ///
    /// # Errors
    /// What the system says to a write, such as a full disk.
    pub fn push(&mut self, lane: LaneIdx, row: Row) -> io::Result<()> {
        let builder = &mut self.lanes[lane.index()];
        builder.rows += 1;
        builder.start_ns = builder.start_ns.min(row.start_ns);
        let dur_ns = if builder.kind == LaneKind::Spans { row.value } else { 0 };
        builder.end_ns = builder.end_ns.max(row.start_ns.saturating_add_unsigned(dur_ns));
        if builder.kind == LaneKind::Spans {
            let span = Span { start_ns: row.start_ns, dur_ns, name: NameIdx(row.name), ..Span::default() };
            let before = builder.overview.buckets();
            builder.overview.push(&span, self.buckets_max);
            // It may also have made its buckets wider.
            self.buckets = self.buckets + builder.overview.buckets() - before;
        }
        let capacity = builder.pending.capacity();
        builder.pending.push(row);
        // What a lane has grown to, it keeps: a million busy lanes would hold 2 GiB that nobody counts.
        self.held_bytes += (builder.pending.capacity() - capacity) * size_of::<Row>();
        if builder.pending.len() == BLOCK_ROWS {
            let packed_before = builder.extent.memory_bytes();
            builder.pack();
            self.held_bytes += builder.extent.memory_bytes() - packed_before;
            // Each extent twice the one before: small lanes show early, and large ones soon write full extents.
            let doubled = 1usize.checked_shl(builder.extents.len() as u32).unwrap_or(EXTENT_BLOCKS);
            if builder.extent.blocks() >= doubled.min(EXTENT_BLOCKS) {
                self.held_bytes -= builder.extent.memory_bytes();
                builder.write(&mut self.file)?;
            }
        }
        if self.held_bytes > self.held_bytes_max {
            self.write_held()?;
        }
        if self.buckets * size_of::<OverviewBucket>() > self.held_bytes_max {
            self.widen_buckets();
        }
        Ok(())
    }

    /// Halves the number of buckets that a lane may have, until all together fit.
    fn widen_buckets(&mut self) {
        while self.buckets * size_of::<OverviewBucket>() > self.held_bytes_max / 2 && self.buckets_max > 4 {
            self.buckets_max /= 2;
            self.lanes.iter_mut().for_each(|lane| lane.overview.shrink_to(self.buckets_max));
            self.buckets = self.lanes.iter().map(|lane| lane.overview.buckets()).sum();
        }
    }

    /// Says that the last row of a lane has no end in the capture.
    pub fn mark_unfinished(&mut self, lane: LaneIdx) {
        self.lanes[lane.index()].unfinished = true;
    }

    /// Keeps an encoded detail; see [`crate::model::args::Detail`].
    ///
    /// # Errors
    /// What the system says to a write, such as a full disk.
    pub fn push_detail(&mut self, blob: &[u8]) -> io::Result<DetailRef> {
        self.details.push(blob, &mut self.file)
    }

    /// Writes everything that waits, whether or not blocks and extents are full.
    ///
    /// # Errors
    /// What the system says to a write, such as a full disk.
    pub fn write_held(&mut self) -> io::Result<()> {
        for lane in &mut self.lanes {
            lane.pack();
            lane.write(&mut self.file)?;
            lane.pending = Vec::new();
        }
        self.held_bytes = 0;
        Ok(())
    }

    /// Writes everything, so that all rows pushed so far are in a [`StoreWriter::preview`].
    ///
    /// # Errors
    /// What the system says to a write, such as a full disk.
    pub fn flush(&mut self) -> io::Result<()> {
        self.write_held()?;
        self.details.flush(&mut self.file)?;
        self.file.flush()
    }

    /// What is written so far as a store that can be asked, while more is to come. Lanes may get other indices later.
    ///
    /// All rows pushed before the last [`StoreWriter::flush`] are in it. Its cost goes with the lanes and extents, not
    /// with the rows.
    ///
    /// # Errors
    /// What the system says to another map; the store goes on growing all the same.
    pub fn preview(&self, meta: Meta) -> io::Result<Store> {
        let map = Mapped::of_store(self.file.file())?;
        let mut lanes: Vec<&LaneBuilder> = self.lanes.iter().collect();
        lanes.sort_by_key(|lane| lane.order());
        let mut tables = Tables::default();
        lanes.into_iter().for_each(|lane| tables.take(lane, None));
        let Tables { lanes, extents, forests, signatures, .. } = tables;
        let signatures = Signatures::Held(signatures);
        let details = self.details.blocks().to_vec();
        Store::of_tables(
            StoreTables { map, lanes, extents, forests, details, overview: 0..0, signatures, meta },
            Path::new(""),
        )
        .ok_or_else(|| io::Error::other("a lane belongs to no track"))
    }

    /// Writes what is left, the tables and the trailer, and makes all of it durable. Returns the length of the file.
    ///
    /// # Errors
    /// What the system says to a write, such as a full disk.
    pub fn finish(mut self, meta: &Meta) -> io::Result<u64> {
        self.write_held()?;
        self.details.flush(&mut self.file)?;
        self.lanes.sort_by_key(LaneBuilder::order);

        let mut sections = [SectionRecord::default(); SECTIONS];
        let mut tables = Tables::default();
        for mut lane in self.lanes {
            let overview = std::mem::take(&mut lane.overview).finish();
            tables.take(&lane, overview);
        }
        let meta = postcard::to_stdvec(meta).map_err(io::Error::other)?;
        let contents: [(Section, &[u8]); SECTIONS] = [
            (Section::Overview, bytemuck::cast_slice(&tables.overview)),
            (Section::Signatures, bytemuck::cast_slice(&tables.signatures)),
            (Section::Lanes, bytemuck::cast_slice(&tables.lanes)),
            (Section::Extents, bytemuck::cast_slice(&tables.extents)),
            (Section::Forests, bytemuck::cast_slice(&tables.forests)),
            (Section::Details, bytemuck::cast_slice(self.details.blocks())),
            (Section::Meta, &meta),
        ];
        for (section, bytes) in contents {
            let checksum = xxhash_rust::xxh3::xxh3_64(bytes);
            let offset = self.file.append(bytes)?;
            sections[section as usize] = SectionRecord { offset, bytes: bytes.len() as u64, checksum };
        }
        self.file.append(&[])?;
        let file_bytes = self.file.position() + size_of::<Trailer>() as u64;
        // The trailer must not reach the disk before what it vouches for.
        self.file.sync()?;
        self.file.append(bytemuck::bytes_of(&Trailer::new(sections, file_bytes)))?;
        self.file.sync()?;
        Ok(file_bytes)
    }
}

impl LaneBuilder {
    /// Where the lane stands in the finished store.
    fn order(&self) -> (TrackIdx, LaneKind, u16) {
        (self.track, self.kind, self.depth)
    }

    /// Packs the rows that wait as one block.
    fn pack(&mut self) {
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
    fn write(&mut self, file: &mut AppendFile) -> io::Result<()> {
        let Some(first_start_ns) = self.extent.first_start_ns() else { return Ok(()) };
        let rows = self.extent.rows();
        let first_row = self.extents.last().map_or(0, |last| last.first_row + u64::from(last.rows));
        let mut bytes = 0;
        self.extent.sign(&mut self.signatures);
        let Self { extent, longest, min_max, kind, .. } = self;
        let offset = file.append_with(|buffer| {
            let start = buffer.len();
            match kind {
                LaneKind::Counter => iforest::push(min_max, extent.finish(buffer)),
                _ => iforest::push(longest, extent.finish(buffer)),
            }
            bytes = buffer.len() - start;
        })?;
        let bytes = u32::try_from(bytes).map_err(io::Error::other)?;
        self.extents.push(ExtentRecord { offset, first_start_ns, first_row, rows, bytes });
        Ok(())
    }
}

/// The sections, as they are put together lane by lane.
#[derive(Default)]
struct Tables {
    overview: Vec<OverviewBucket>,
    lanes: Vec<LaneRecord>,
    extents: Vec<ExtentRecord>,
    forests: Vec<u64>,
    signatures: Vec<u64>,
}

impl Tables {
    fn take(&mut self, lane: &LaneBuilder, overview: Option<(OverviewShape, Vec<OverviewBucket>)>) {
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

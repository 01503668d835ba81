//! Builds a store: rows go in by lane in order of time, extents come out as they fill up. Never sorts, never nests.

use std::fs::File;
use std::io;
use std::sync::Arc;

use super::append::AppendFile;
use super::block::Row;
use super::details::DetailWriter;
use super::extent_log::ExtentLog;
use super::format::{MAGIC, Meta, Section, Trailer};
use super::lane::{DetailRef, LaneIdx, LaneKind};
use super::lane_builder::LaneBuilder;
use super::ledger_build::{self, LedgerContext};
use super::overview::{BUCKETS_MAX, OverviewBucket};
use super::path_ledger_build;
use super::read::Store;
use super::row_limit::next_index;
use super::sample_ledger_build;
use super::tables;
use crate::base::disk::{Disk, SystemDisk};
use crate::model::TrackIdx;

/// The index of the lane after `lanes` others. Fails beyond the last one that a store can have.
pub(crate) fn next_lane(lanes: usize) -> io::Result<LaneIdx> {
    next_index(lanes, "lanes").map(LaneIdx)
}

/// A store that is being built.
#[derive(Debug)]
pub struct StoreWriter {
    pub(super) file: AppendFile,
    pub(super) lanes: Vec<LaneBuilder>,
    pub(super) extents: ExtentLog,
    pub(super) details: DetailWriter,
    /// Lanes in which rows or packed blocks wait.
    waiting: Vec<LaneIdx>,
    /// Bytes in all lanes that rows and packed blocks wait in.
    held_bytes: usize,
    /// When more wait, all lanes write what they have.
    held_bytes_max: usize,
    /// Buckets in the pyramids of all lanes.
    buckets: usize,
    /// The most buckets of one lane; halved whenever all lanes together have too many.
    pub(super) buckets_max: usize,
}

impl StoreWriter {
    /// Starts a store in an empty file. Rows that wait to be packed and written take at most about `held_bytes_max`.
    ///
    /// # Errors
    /// Any I/O error of a write, such as a full disk.
    pub fn new(file: File, held_bytes_max: usize) -> io::Result<Self> {
        Self::on(Arc::new(SystemDisk), file, held_bytes_max)
    }

    /// The same, writing through `disk`. Fails with the I/O error of a write.
    pub(crate) fn on(disk: Arc<dyn Disk>, file: File, held_bytes_max: usize) -> io::Result<Self> {
        let mut file = AppendFile::new(file, disk);
        file.append(&MAGIC)?;
        Ok(Self {
            file,
            lanes: Vec::new(),
            extents: ExtentLog::default(),
            details: DetailWriter::default(),
            waiting: Vec::new(),
            held_bytes: 0,
            held_bytes_max,
            buckets: 0,
            buckets_max: BUCKETS_MAX,
        })
    }

    /// Adds a lane. The index is the writer's own: the finished store orders lanes by track.
    ///
    /// # Errors
    /// A lane beyond the last index that a store can have.
    pub fn add_lane(&mut self, track: TrackIdx, kind: LaneKind, depth: u16) -> io::Result<LaneIdx> {
        let index = next_lane(self.lanes.len())?;
        self.lanes.push(LaneBuilder::new(track, kind, depth));
        Ok(index)
    }

    /// The last end in a lane; the smallest time while it is empty.
    #[must_use]
    pub(crate) fn lane_end_ns(&self, lane: LaneIdx) -> i64 {
        self.lanes[lane.index()].end_ns
    }

    /// Appends a row that starts no earlier than the one before, and for spans no earlier than that one's end.
    ///
    /// # Errors
    /// Any I/O error of a write, such as a full disk.
    pub fn push(&mut self, lane: LaneIdx, row: Row) -> io::Result<()> {
        let builder = &mut self.lanes[lane.index()];
        let pushed = builder.push(row, self.buckets_max);
        if pushed.is_first {
            self.waiting.push(lane);
        }
        self.buckets = self.buckets.wrapping_add_signed(pushed.buckets);
        self.held_bytes += pushed.waiting_bytes;
        if pushed.is_block_full {
            let waiting_before = builder.waiting_bytes();
            let blocks = builder.pack();
            if builder.is_extent_full(blocks) {
                builder.write(&mut self.file, &mut self.extents)?;
                self.begin_overview(lane)?;
            }
            self.held_bytes = self.held_bytes + self.lanes[lane.index()].waiting_bytes() - waiting_before;
        }
        if self.held_bytes > self.held_bytes_max {
            self.write_held()?;
        }
        self.widen_buckets_if_many();
        Ok(())
    }

    /// Begins the pyramid of a lane if it has rows enough for one. None of its blocks may wait.
    pub(super) fn begin_overview(&mut self, lane: LaneIdx) -> io::Result<()> {
        let builder = &mut self.lanes[lane.index()];
        if builder.wants_overview() {
            self.file.flush()?;
            builder.begin_overview(self.file.file(), &self.extents.lane(builder.extents), self.buckets_max)?;
            self.buckets += builder.buckets();
        }
        Ok(())
    }

    /// Counts the buckets of lanes that were filled elsewhere, and makes them wider if they are too many.
    pub(super) fn count_buckets(&mut self) {
        self.buckets = self.lanes.iter().map(LaneBuilder::buckets).sum();
        self.widen_buckets_if_many();
    }

    fn widen_buckets_if_many(&mut self) {
        if self.buckets * size_of::<OverviewBucket>() > self.held_bytes_max {
            self.widen_buckets();
        }
    }

    /// Halves the number of buckets that a lane may have, until all together fit.
    fn widen_buckets(&mut self) {
        while self.buckets * size_of::<OverviewBucket>() > self.held_bytes_max / 2 && self.buckets_max > 4 {
            self.buckets_max /= 2;
            self.lanes.iter_mut().for_each(|lane| lane.shrink_overview_to(self.buckets_max));
            self.buckets = self.lanes.iter().map(LaneBuilder::buckets).sum();
        }
    }

    /// Says that the last row of a lane has no end in the capture.
    pub(crate) fn mark_unfinished(&mut self, lane: LaneIdx) {
        self.lanes[lane.index()].unfinished = true;
    }

    /// Keeps an encoded detail; see [`crate::model::args::Detail`].
    ///
    /// # Errors
    /// Any I/O error of a write, such as a full disk.
    pub fn push_detail(&mut self, blob: &[u8]) -> io::Result<DetailRef> {
        self.details.push(blob, &mut self.file)
    }

    /// Writes everything that waits, whether or not blocks and extents are full. Fails with the I/O error of a write,
    /// such as a full disk.
    pub(crate) fn write_held(&mut self) -> io::Result<()> {
        for lane in std::mem::take(&mut self.waiting) {
            self.lanes[lane.index()].write_all(&mut self.file, &mut self.extents)?;
            self.begin_overview(lane)?;
        }
        self.held_bytes = 0;
        Ok(())
    }

    /// Writes everything, so that all rows pushed so far are in a [`StoreWriter::preview`]. Fails with the I/O error of
    /// a write, such as a full disk.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.write_held()?;
        self.details.flush(&mut self.file)?;
        self.file.flush()
    }

    /// The rows written so far, as a store to query while more is to come. Lanes may get other indices later.
    ///
    /// All rows pushed before the last [`StoreWriter::flush`] are in it. Its cost goes with the lanes and extents, not
    /// with the rows. Fails with the I/O error of another map; the writer stays usable.
    pub(crate) fn preview(&self, meta: Meta) -> io::Result<Store> {
        tables::preview(self.file.file(), &self.lanes, &self.extents, &self.details, meta)
    }

    /// Writes the rows that wait, the tables and the trailer, and makes them durable. Returns the length of the file.
    ///
    /// # Errors
    /// Any I/O error of a write, such as a full disk.
    pub fn finish(self, meta: &Meta) -> io::Result<u64> {
        self.finish_with_ledger(meta.clone(), None)
    }

    /// The same with ledgers, if there is a context to build it in.
    ///
    /// # Errors
    /// As [`StoreWriter::finish`].
    pub(crate) fn finish_with_ledger(mut self, meta: Meta, ledger: Option<&LedgerContext<'_>>) -> io::Result<u64> {
        self.write_held()?;
        self.details.flush(&mut self.file)?;
        let mut sections = tables::write(&mut self.file, &mut self.lanes, &self.extents, &self.details, &meta)?;
        // The tables are in the file now: with millions of lanes, a second copy would be hundreds of megabytes.
        drop((self.lanes, self.extents, self.details));
        let (mut index, mut samples, mut paths) = (None, None, None);
        if let Some(context) = ledger {
            self.file.flush()?;
            let store = Store::from_sections(self.file.file(), &sections, meta)?;
            index = ledger_build::build(&store, context, &mut self.file)?;
            samples = sample_ledger_build::build(&store, context, &mut self.file)?;
            paths = path_ledger_build::build(&store, context, &mut self.file)?;
        }
        sections[Section::Ledger as usize] = tables::write_ledger(&mut self.file, index.as_ref())?;
        sections[Section::Samples as usize] = tables::write_ledger(&mut self.file, samples.as_ref())?;
        sections[Section::Paths as usize] = tables::write_ledger(&mut self.file, paths.as_ref())?;
        self.file.append(&[])?;
        let file_bytes = self.file.position() + size_of::<Trailer>() as u64;
        // The trailer must not reach the disk before what it vouches for.
        self.file.sync()?;
        self.file.append(bytemuck::bytes_of(&Trailer::new(sections, file_bytes)))?;
        self.file.sync()?;
        Ok(file_bytes)
    }
}

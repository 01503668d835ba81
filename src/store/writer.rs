//! Builds a store: rows are pushed by lane in time order, and full extents are written. Input is already sorted and
//! nested.

use std::fs::File;
use std::hint::black_box;
use std::io;
use std::sync::Arc;

use super::append::AppendFile;
use super::block::Row;
use super::details::DetailWriter;
use super::extent_log::ExtentLog;
use super::format::{MAGIC, Meta, SECTIONS, Section, SectionRecord, Summary, Trailer};
use super::lane::{DetailRef, LaneIdx, LaneKind};
use super::lane_builder::LaneBuilder;
use super::ledger::LedgerIndex;
use super::ledger_build::{self, LedgerContext};
use super::overview::{BUCKETS_MAX, OverviewBucket};
use super::path_ledger::PathLedgerIndex;
use super::path_ledger_build;
use super::read::Store;
use super::row_limit::next_index;
use super::sample_ledger::SampleLedgerIndex;
use super::sample_ledger_build;
use super::tables;
use crate::base::disk::{Disk, SystemDisk};
use crate::model::TrackIdx;

/// Returns the index of the lane after `lanes` others, or an error when the indices are used up.
pub(crate) fn next_lane(lanes: usize) -> io::Result<LaneIdx> {
    next_index(lanes, "lanes").map(LaneIdx)
}

/// Number of lanes whose builders no longer fit the cache of a core, at some 400 bytes each.
const LANES_IN_CACHE: usize = 4096;

/// Writes the sorted rows of a trace to the file of a new store.
#[derive(Debug)]
pub struct StoreWriter {
    pub(super) file: AppendFile,
    pub(super) lanes: Vec<LaneBuilder>,
    pub(super) extents: ExtentLog,
    pub(super) details: DetailWriter,
    /// Lanes with pending rows or packed blocks.
    waiting: Vec<LaneIdx>,
    /// Bytes of pending rows and packed blocks in all lanes.
    held_bytes: usize,
    /// Limit of `held_bytes`; above it, all lanes write their pending rows.
    held_bytes_max: usize,
    /// Pyramid buckets of all lanes.
    buckets: usize,
    /// Maximum number of buckets per lane; halved whenever all lanes together have too many.
    pub(super) buckets_max: usize,
}

impl StoreWriter {
    /// Starts a store in an empty file. Pending rows and blocks take about `held_bytes_max` at most.
    ///
    /// # Errors
    /// Returns the I/O error of a failed write, such as a full disk.
    pub fn new(file: File, held_bytes_max: usize) -> io::Result<Self> {
        Self::on(Arc::new(SystemDisk), file, held_bytes_max)
    }

    /// Starts a store that writes through `disk`. Returns the I/O error of a failed write.
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

    /// Adds a lane. The index is valid for this writer: the finished store sorts lanes by track.
    ///
    /// # Errors
    /// Returns an error when the lane indices are used up.
    pub fn add_lane(&mut self, track: TrackIdx, kind: LaneKind, depth: u16) -> io::Result<LaneIdx> {
        let index = next_lane(self.lanes.len())?;
        self.lanes.push(LaneBuilder::new(track, kind, depth));
        Ok(index)
    }

    /// Returns the last end in a lane; `i64::MIN` while it is empty.
    #[must_use]
    pub(crate) fn lane_end_ns(&self, lane: LaneIdx) -> i64 {
        self.lanes[lane.index()].last_end_ns()
    }

    /// Reads the places where the next rows of some lanes go. Each push into one of very many lanes would wait for
    /// memory several times in a row; reads without writes between them overlap.
    pub(crate) fn prefetch(&self, lanes: impl Iterator<Item = LaneIdx>) {
        if self.lanes.len() > LANES_IN_CACHE {
            let read = lanes.filter_map(|lane| self.lanes.get(lane.index())).map(LaneBuilder::last_name);
            black_box(read.fold(0, u32::wrapping_add));
        }
    }

    /// Appends a row. It starts no earlier than the previous row; a span starts no earlier than the previous one ends.
    ///
    /// # Errors
    /// Returns the I/O error of a failed write, such as a full disk.
    pub fn push(&mut self, lane: LaneIdx, row: Row) -> io::Result<()> {
        let builder = &mut self.lanes[lane.index()];
        let pushed = builder.push(row);
        if pushed.is_first {
            self.waiting.push(lane);
        }
        self.held_bytes += pushed.waiting_bytes;
        if pushed.is_block_full {
            let (waiting_before, buckets_before) = (builder.waiting_bytes(), builder.buckets());
            let blocks = builder.pack(self.buckets_max);
            self.buckets = self.buckets + builder.buckets() - buckets_before;
            if builder.is_extent_full(blocks) {
                builder.write(&mut self.file, &mut self.extents)?;
                self.begin_overview(lane)?;
            }
            self.held_bytes = self.held_bytes + self.lanes[lane.index()].waiting_bytes() - waiting_before;
            self.widen_buckets_if_many();
        }
        if self.held_bytes > self.held_bytes_max {
            self.write_held()?;
        }
        Ok(())
    }

    /// Starts the pyramid of a lane if it has enough rows. No block may be pending.
    pub(super) fn begin_overview(&mut self, lane: LaneIdx) -> io::Result<()> {
        let builder = &mut self.lanes[lane.index()];
        if builder.wants_overview() {
            self.file.flush()?;
            builder.begin_overview(self.file.file(), &self.extents.lane(builder.extents), self.buckets_max)?;
            self.buckets += builder.buckets();
        }
        Ok(())
    }

    /// Counts the buckets of lanes that were filled elsewhere, and merges buckets if there are too many.
    pub(super) fn count_buckets(&mut self) {
        self.buckets = self.lanes.iter().map(LaneBuilder::buckets).sum();
        self.widen_buckets_if_many();
    }

    fn widen_buckets_if_many(&mut self) {
        if self.buckets * size_of::<OverviewBucket>() > self.held_bytes_max {
            self.widen_buckets();
        }
    }

    /// Halves the bucket limit per lane until all lanes together fit.
    fn widen_buckets(&mut self) {
        while self.buckets * size_of::<OverviewBucket>() > self.held_bytes_max / 2 && self.buckets_max > 4 {
            self.buckets_max /= 2;
            self.lanes.iter_mut().for_each(|lane| lane.shrink_overview_to(self.buckets_max));
            self.buckets = self.lanes.iter().map(LaneBuilder::buckets).sum();
        }
    }

    /// Marks the last row of a lane as having no end in the trace.
    pub(crate) fn mark_unfinished(&mut self, lane: LaneIdx) {
        self.lanes[lane.index()].unfinished = true;
    }

    /// Appends an encoded detail; see [`crate::model::args::Detail`].
    ///
    /// # Errors
    /// Returns the I/O error of a failed write, such as a full disk.
    pub fn push_detail(&mut self, blob: &[u8]) -> io::Result<DetailRef> {
        self.details.push(blob, &mut self.file)
    }

    /// Writes everything pending, even partial blocks and extents. Returns the I/O error of a failed write.
    pub(crate) fn write_held(&mut self) -> io::Result<()> {
        for lane in std::mem::take(&mut self.waiting) {
            let builder = &mut self.lanes[lane.index()];
            let buckets_before = builder.buckets();
            builder.write_all(&mut self.file, &mut self.extents, self.buckets_max)?;
            self.buckets = self.buckets + builder.buckets() - buckets_before;
            self.begin_overview(lane)?;
        }
        self.held_bytes = 0;
        self.widen_buckets_if_many();
        Ok(())
    }

    /// Flushes everything to the file, so that a [`StoreWriter::preview`] has all rows pushed. Returns the I/O error of
    /// a failed write.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.write_held()?;
        self.details.flush(&mut self.file)?;
        self.file.flush()
    }

    /// Opens the rows flushed so far as a store to query, while more are pushed. Lanes may get other indices later.
    ///
    /// All rows pushed before the last [`StoreWriter::flush`] are in it. The cost grows with lanes and extents, not
    /// with rows. Returns the I/O error of a failed map; the writer stays usable.
    pub(crate) fn preview(&self, meta: Meta) -> io::Result<Store> {
        tables::preview(self.file.file(), &self.lanes, &self.extents, &self.details, meta)
    }

    /// Writes the pending rows, the tables and the trailer, and syncs them to disk. Returns the length of the file.
    ///
    /// # Errors
    /// Returns the I/O error of a failed write, such as a full disk.
    pub fn finish(self, meta: &Meta) -> io::Result<u64> {
        Ok(self.finish_with_ledger(meta.clone(), None, |_| {})?.file_bytes)
    }

    /// Finishes the store with ledgers, if a context is given. Passes the store of all rows to `show` before, because
    /// ledgers take longer than the sort. If the ledgers cannot be written, the store has none.
    ///
    /// # Errors
    /// Fails as [`StoreWriter::finish`] does.
    pub(crate) fn finish_with_ledger(
        mut self,
        meta: Meta,
        ledger: Option<&LedgerContext<'_>>,
        show: impl FnOnce(&Arc<Store>),
    ) -> io::Result<FinishedStore> {
        self.write_held()?;
        self.details.flush(&mut self.file)?;
        let mut sections = tables::write(&mut self.file, &mut self.lanes, &self.extents, &self.details)?;
        // The tables are in the file: with millions of lanes, a second copy would be hundreds of megabytes.
        drop((self.lanes, self.extents, self.details));
        let mut file = self.file;
        let mut ledger_error = None;
        if let Some(context) = ledger {
            file.flush()?;
            let rows_end = file.position();
            let store = Arc::new(Store::from_sections(file.file(), &sections, meta)?);
            show(&store);
            let ledgers = LedgerIndexes::build(&store, context, &mut file);
            let has_none = matches!(&ledgers, Ok(ledgers) if ledgers.is_empty());
            let mut write_rest = |ledgers: &LedgerIndexes, file: &mut AppendFile| {
                let mut summary = store.meta().summary.clone();
                summary.load.seconds = context.started.elapsed().as_secs_f64();
                write_meta_and_ledgers(file, &mut sections, (store.meta(), &summary), ledgers)
            };
            let written = ledgers.and_then(|ledgers| write_rest(&ledgers, &mut file));
            if has_none {
                written?;
            } else if let Err(error) = written {
                // The rows are complete, and queries without ledgers scan them.
                file.truncate(rows_end)?;
                write_rest(&LedgerIndexes::default(), &mut file)?;
                ledger_error = Some(error);
            }
        } else {
            write_meta_and_ledgers(&mut file, &mut sections, (&meta, &meta.summary), &LedgerIndexes::default())?;
        }
        let file_bytes = file.position() + size_of::<Trailer>() as u64;
        // The trailer must not reach the disk before the data that it vouches for.
        file.sync()?;
        file.append(bytemuck::bytes_of(&Trailer::new(sections, file_bytes)))?;
        file.sync()?;
        Ok(FinishedStore { file_bytes, ledger_error })
    }
}

/// The outcome of a finished store.
#[derive(Debug)]
pub(crate) struct FinishedStore {
    pub(crate) file_bytes: u64,
    /// Why the store has no ledgers, if they could not be written.
    pub(crate) ledger_error: Option<io::Error>,
}

/// The indexes of the ledgers whose nodes are appended.
#[derive(Default)]
struct LedgerIndexes {
    spans: Option<LedgerIndex>,
    samples: Option<SampleLedgerIndex>,
    paths: Option<PathLedgerIndex>,
}

impl LedgerIndexes {
    /// Builds the ledgers of all rows. Returns the I/O error of a failed write.
    fn build(store: &Store, context: &LedgerContext<'_>, file: &mut AppendFile) -> io::Result<Self> {
        let spans = ledger_build::build(store, context, file)?;
        let samples = sample_ledger_build::build(store, context, file)?;
        let paths = path_ledger_build::build(store, context, file)?;
        Ok(Self { spans, samples, paths })
    }

    fn is_empty(&self) -> bool {
        self.spans.is_none() && self.samples.is_none() && self.paths.is_none()
    }
}

/// Writes the sections after the rows. Returns the I/O error of a failed write.
fn write_meta_and_ledgers(
    file: &mut AppendFile,
    sections: &mut [SectionRecord; SECTIONS],
    (meta, summary): (&Meta, &Summary),
    ledgers: &LedgerIndexes,
) -> io::Result<()> {
    sections[Section::Meta as usize] = tables::write_meta(file, meta, summary)?;
    sections[Section::Ledger as usize] = tables::write_ledger(file, ledgers.spans.as_ref())?;
    sections[Section::Samples as usize] = tables::write_ledger(file, ledgers.samples.as_ref())?;
    sections[Section::Paths as usize] = tables::write_ledger(file, ledgers.paths.as_ref())?;
    file.append(&[])?;
    file.flush()
}

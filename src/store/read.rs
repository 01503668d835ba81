//! Reads a published store, mapped read-only: the tables are in memory, the rows in the map.

use std::fs::File;
use std::io;
use std::iter;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytemuck::Pod;
use serde::de::DeserializeOwned;

use super::details::{DetailBlock, DetailReader};
use super::extent::{Extent, ExtentRecord};
use super::format::{LaneRecord, Meta, SECTIONS, Section, SectionRecord, Trailer};
use super::iforest;
use super::lane::{DetailRef, LaneIdx, LaneInfo, LaneKind};
use super::ledger::{Ledger, LedgerNode, NodeItem};
use super::live_lanes::LiveLanes;
use super::overview::{OverviewBucket, OverviewLevel};
use super::parted_section::PartedSection;
use super::path_ledger::PathLedger;
use super::paths::{PathIdx, PathSums};
use super::pruned_paths::PrunedPaths;
use super::sample_ledger::SampleLedger;
use super::sample_node::{EventKey, TrackSamples};
use super::signature;
use super::table::Table;
use super::verified::Verified;
use crate::base::mapped::Mapped;
use crate::model::{SampleSum, StackIdx, TrackIdx};

/// Error of opening a store file. A store is a cache: the caller rebuilds it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be opened or mapped.
    #[error("{}: cannot open the store: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// The file is truncated, altered, of another version, or not a store.
    #[error("{}: not a complete store of this version: its {part} is damaged", path.display())]
    Damaged { path: PathBuf, part: &'static str },
}

/// A published store, or a preview of one.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    lane_count: u32,
    /// The range of lanes of each track.
    track_lanes: Vec<Range<u32>>,
    tables: StoreTables,
    extents: Verified,
    details: Verified,
    /// The lanes of a preview of a live trace.
    live_lanes: Option<Arc<LiveLanes>>,
}

/// The words of an extent in memory; an extent is read in place as `u64`.
pub(super) type HeldExtent = Arc<[u64]>;

/// Offsets from here on address the extents in memory.
pub(super) const HELD_EXTENT: u64 = 1 << 63;

/// The mapped file and the tables of a store.
#[derive(Debug)]
pub(super) struct StoreTables {
    pub map: Arc<Mapped>,
    /// Extents outside the file, of a live trace.
    pub held_extents: Vec<HeldExtent>,
    pub lanes: Table<LaneRecord>,
    pub extents: Table<ExtentRecord>,
    pub forests: Table<u64>,
    pub details: Vec<DetailBlock>,
    /// The pyramids.
    pub overview: PartedSection,
    pub signatures: Table<u64>,
    /// The parts of mapped signatures.
    pub signature_parts: Option<PartedSection>,
    pub meta: Meta,
    pub ledgers: StoreLedgers,
}

/// The ledgers of a store; a store that is too small for them, or still grows, has none.
#[derive(Debug, Default)]
pub(super) struct StoreLedgers {
    spans: Option<Ledger>,
    samples: Option<SampleLedger>,
    paths: Option<PathLedger>,
}

impl Store {
    /// Opens a published store and checks its tables. Work and memory grow with lanes and extents, not with rows.
    ///
    /// # Errors
    /// Returns [`StoreError::Damaged`] unless the file is a complete store of this version.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let file = File::open(path).map_err(|source| StoreError::Io { path: path.into(), source })?;
        Self::from_file(&file, path)
    }

    /// Opens a store from an open file, which may have been unlinked.
    ///
    /// # Errors
    /// Fails as [`Store::open`] does.
    pub fn from_file(file: &File, path: &Path) -> Result<Self, StoreError> {
        let damaged = |part: &'static str| StoreError::Damaged { path: path.into(), part };
        let map = Mapped::from_store(file, path).map_err(|source| StoreError::Io { path: path.into(), source })?;
        let map = Arc::new(map);
        let trailer = Trailer::from_file(&map).ok_or_else(|| damaged("trailer"))?;
        trailer.fetch_sections(&map);
        let section = |section, part| trailer.section(&map, section).ok_or_else(|| damaged(part));
        let details = section(Section::Details, "table of details")?;
        let details = details.chunks_exact(size_of::<DetailBlock>()).map(bytemuck::pod_read_unaligned).collect();
        // The checksum shows that a store writer wrote these bytes, so their indices are valid.
        let in_map = |bytes: &[u8]| {
            let start = bytes.as_ptr() as usize - map.as_ptr() as usize;
            start..start + bytes.len()
        };
        let meta = Meta::read(&map, in_map(section(Section::Meta, "table of names")?));
        let meta = meta.map_err(|_| damaged("table of names"))?;
        let overview = trailer.parted_section(&map, Section::Overview).ok_or_else(|| damaged("overview"))?;
        let lanes = Table::mapped(&map, in_map(section(Section::Lanes, "table of lanes")?));
        let extents = Table::mapped(&map, in_map(section(Section::Extents, "table of extents")?));
        let forests = Table::mapped(&map, in_map(section(Section::Forests, "table of forests")?));
        let signature_parts = trailer.parted_section(&map, Section::Signatures);
        let signatures = signature_parts.as_ref().and_then(|parts| Table::mapped(&map, parts.data()));
        let lanes = lanes.ok_or_else(|| damaged("table of lanes"))?;
        let extents = extents.ok_or_else(|| damaged("table of extents"))?;
        let forests = forests.ok_or_else(|| damaged("table of forests"))?;
        let signatures = signatures.ok_or_else(|| damaged("table of signatures"))?;
        let spans = section(Section::Ledger, "ledger")?;
        let spans = open_ledger(spans, Ledger::new).map_err(|_| damaged("ledger"))?;
        let samples = section(Section::Samples, "ledger of samples")?;
        let samples = open_ledger(samples, SampleLedger::new).map_err(|_| damaged("ledger of samples"))?;
        let paths = section(Section::Paths, "ledger of paths")?;
        let paths = open_ledger(paths, PathLedger::new).map_err(|_| damaged("ledger of paths"))?;
        let ledgers = StoreLedgers { spans, samples, paths };
        let held_extents = Vec::new();
        let tables = StoreTables {
            map,
            held_extents,
            lanes,
            extents,
            forests,
            details,
            overview,
            signatures,
            signature_parts,
            meta,
            ledgers,
        };
        Self::from_tables(tables, path).ok_or_else(|| damaged("table of lanes"))
    }

    /// Opens the rows of a file under construction, once its tables are written. Texts are not read.
    ///
    /// # Errors
    /// Returns the I/O error of a failed map.
    pub(super) fn from_sections(file: &File, sections: &[SectionRecord; SECTIONS], meta: Meta) -> io::Result<Self> {
        let path = Path::new("a store that is being made");
        let map = Arc::new(Mapped::from_store(file, path)?);
        let no_table = || io::Error::other("the tables of the store are not where they were written");
        let range =
            |section: Section| -> io::Result<Range<usize>> { sections[section as usize].range().ok_or_else(no_table) };
        let signature_parts = PartedSection::new(range(Section::Signatures)?);
        let details = map.get(range(Section::Details)?).ok_or_else(no_table)?;
        let details = details.chunks_exact(size_of::<DetailBlock>()).map(bytemuck::pod_read_unaligned).collect();
        let tables = StoreTables {
            held_extents: Vec::new(),
            lanes: Table::mapped(&map, range(Section::Lanes)?).ok_or_else(no_table)?,
            extents: Table::mapped(&map, range(Section::Extents)?).ok_or_else(no_table)?,
            forests: Table::mapped(&map, range(Section::Forests)?).ok_or_else(no_table)?,
            details,
            overview: PartedSection::new(range(Section::Overview)?),
            signatures: Table::mapped(&map, signature_parts.data()).ok_or_else(no_table)?,
            signature_parts: Some(signature_parts),
            meta,
            ledgers: StoreLedgers::default(),
            map,
        };
        Self::from_tables(tables, path).ok_or_else(no_table)
    }

    /// Assembles a store; `None` if a lane has no track, or if there are more lanes than an index can address.
    pub(super) fn from_tables(tables: StoreTables, path: &Path) -> Option<Self> {
        let lane_count = u32::try_from(tables.lanes.len()).ok()?;
        let mut track_lanes = vec![0..0; tables.meta.tracks.tracks.len()];
        for (index, lane) in (0u32..).zip(tables.lanes.rows(&tables.map)) {
            let range: &mut Range<u32> = track_lanes.get_mut(lane.track.index())?;
            *range = if range.start == range.end { index..index + 1 } else { range.start..index + 1 };
        }
        let (extents, details) = (Verified::new(tables.extents.len()), Verified::new(tables.details.len()));
        Some(Self { path: path.into(), lane_count, track_lanes, tables, extents, details, live_lanes: None })
    }

    /// Marks the store as a preview of a live trace.
    #[must_use]
    pub(super) fn with_live_lanes(self, lanes: Arc<LiveLanes>) -> Self {
        Self { live_lanes: Some(lanes), ..self }
    }

    /// Returns the lanes as the live trace numbers them; `None` for a store that does not grow.
    #[must_use]
    pub(crate) fn live_lanes(&self) -> Option<&Arc<LiveLanes>> {
        self.live_lanes.as_ref()
    }

    /// Returns the path of the store, even if the file was unlinked.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the length of the file.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.tables.map.len() as u64
    }

    /// Returns the bytes that were requested from the disk so far.
    #[cfg(test)]
    pub(crate) fn fetched_bytes(&self) -> u64 {
        self.tables.map.fetched()
    }

    /// Returns the bytes that were requested from the disk before the first part was waited for.
    #[cfg(test)]
    pub(crate) fn fetched_bytes_at_first_check(&self) -> Option<u64> {
        self.tables.map.fetched_at_first_check()
    }

    /// Returns names, tracks, losses and counts.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.tables.meta
    }

    /// Returns the ledger of sums by name, if the store has one.
    #[must_use]
    pub(crate) fn ledger(&self) -> Option<&Ledger> {
        self.tables.ledgers.spans.as_ref()
    }

    /// Calls `each` for the items of a node of the ledger; see [`Ledger::read`].
    #[must_use]
    pub(crate) fn ledger_node<T: NodeItem>(&self, node: LedgerNode, each: impl FnMut(T::Key, T)) -> bool {
        self.ledger().is_some_and(|ledger| ledger.read(&self.tables.map, node, each))
    }

    /// Returns the sample ledger, by stack and track, if the store has one.
    #[must_use]
    pub(crate) fn sample_ledger(&self) -> Option<&SampleLedger> {
        self.tables.ledgers.samples.as_ref()
    }

    /// Calls `each_track` and `each_stack` for the samples of a node; see [`SampleLedger::read`].
    #[must_use]
    pub(crate) fn sample_node(
        &self,
        node: LedgerNode,
        each_track: impl FnMut(EventKey<TrackIdx>, TrackSamples),
        each_stack: impl FnMut(EventKey<StackIdx>, SampleSum),
    ) -> bool {
        self.sample_ledger().is_some_and(|ledger| ledger.read(&self.tables.map, node, each_track, each_stack))
    }

    /// Returns the path ledger, by call path, if the store has one.
    #[must_use]
    pub(crate) fn path_ledger(&self) -> Option<&PathLedger> {
        self.tables.ledgers.paths.as_ref()
    }

    /// Decodes the paths of a pruned node; `None` if it is damaged.
    #[must_use]
    pub(crate) fn pruned_node(&self, node: LedgerNode) -> Option<PrunedPaths> {
        self.path_ledger().and_then(|ledger| ledger.read_pruned(&self.tables.map, node))
    }

    /// Calls `each` for the paths of a node; see [`Ledger::read`].
    #[must_use]
    pub(crate) fn path_node(&self, node: LedgerNode, each: impl FnMut(PathIdx, PathSums)) -> bool {
        self.path_ledger().is_some_and(|ledger| ledger.trees().read(&self.tables.map, node, each))
    }

    /// Returns the number of lanes.
    #[must_use]
    pub fn lane_count(&self) -> u32 {
        self.lane_count
    }

    #[must_use]
    pub(crate) fn lanes_of(&self, track: TrackIdx) -> Range<u32> {
        self.track_lanes.get(track.index()).cloned().unwrap_or(0..0)
    }

    /// Returns a lane by index.
    ///
    /// # Panics
    /// Panics if there is no such lane.
    #[must_use]
    pub fn lane(&self, lane: LaneIdx) -> Lane<'_> {
        let record = self.tables.lanes.slice(&self.tables.map, lane.0.into(), 1);
        Lane { store: self, record: &record[0] }
    }

    /// Returns the blob of a detail. `reader` caches the last block.
    pub fn detail<'r>(&self, reference: DetailRef, reader: &'r mut DetailReader) -> &'r [u8] {
        reader.blob(reference, &self.tables.details, &self.details, &self.tables.map)
    }

    /// Returns a block of details and its bytes; no bytes if they are damaged.
    pub(super) fn detail_block(&self, block: usize) -> Option<(DetailBlock, Option<&[u8]>)> {
        let StoreTables { details, map, .. } = &self.tables;
        let record = details.get(block)?;
        let is_intact = DetailBlock::is_intact(details, block, &self.details, map);
        Some((*record, is_intact.then(|| record.packed(map)).flatten()))
    }

    /// Returns the number of damaged parts found by reads. Damaged parts read as empty, so any answer may be
    /// incomplete: rebuild the store.
    #[must_use]
    pub fn damaged(&self) -> u64 {
        let of_rows = self.extents.damaged() + self.details.damaged();
        let of_tables = self.parted_sections().map(PartedSection::damaged).sum::<u64>();
        of_rows + of_tables + self.ledgers().map(Ledger::damaged).sum::<u64>()
    }

    fn parted_sections(&self) -> impl Iterator<Item = &PartedSection> {
        iter::once(&self.tables.overview).chain(&self.tables.signature_parts)
    }

    /// Iterates over the trees of all ledgers.
    fn ledgers(&self) -> impl Iterator<Item = &Ledger> {
        let of_samples = self.tables.ledgers.samples.as_ref().map(SampleLedger::trees);
        let of_paths = self.tables.ledgers.paths.as_ref().map(PathLedger::trees);
        self.tables.ledgers.spans.iter().chain(of_samples).chain(of_paths)
    }

    /// Reads every part that was not read yet, and returns the number of damaged parts of the whole file.
    #[must_use]
    pub fn damaged_in_all(&self) -> u64 {
        for index in 0..self.tables.extents.len() {
            self.extent(index);
        }
        self.ledgers().for_each(|ledger| ledger.verify_all(&self.tables.map));
        self.parted_sections().for_each(|section| section.verify_all(&self.tables.map));
        for block in 0..self.tables.details.len() {
            self.detail_block(block);
        }
        self.damaged()
    }

    /// Returns an extent by its row in the table; `None` if it is missing or damaged.
    fn extent(&self, extent: usize) -> Option<Extent<'_>> {
        let bytes = self.extent_bytes(extent)?;
        let is_intact = || {
            let to_fetch = self.extents.parts_to_fetch(extent).filter_map(|extent| self.extent_bytes(extent));
            to_fetch.for_each(|bytes| self.tables.map.fetch(bytes));
            self.tables.map.check_copy(bytes, Extent::is_intact)
        };
        self.extents.is_intact(extent, is_intact).then(|| Extent::new(bytes))?
    }

    /// Returns the bytes of an extent, unchecked; `None` if it is missing.
    fn extent_bytes(&self, extent: usize) -> Option<&[u8]> {
        let record = self.tables.extents.get(&self.tables.map, extent)?;
        if let Some(position) = record.offset.checked_sub(HELD_EXTENT) {
            let words = self.tables.held_extents.get(usize::try_from(position).ok()?)?;
            bytemuck::cast_slice::<u64, u8>(words).get(..record.bytes as usize).or(Some(&[]))
        } else {
            let start = usize::try_from(record.offset).ok()?;
            self.tables.map.get(start..start.checked_add(record.bytes as usize)?).or(Some(&[]))
        }
    }
}

/// The index of a ledger is damaged.
struct DamagedLedger;

/// Opens a ledger by its index, whose bytes are empty in a store without it.
fn open_ledger<I: DeserializeOwned, L>(
    bytes: &[u8],
    open: impl FnOnce(I) -> Option<L>,
) -> Result<Option<L>, DamagedLedger> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let index = postcard::from_bytes(bytes).map_err(|_| DamagedLedger)?;
    open(index).map(Some).ok_or(DamagedLedger)
}

/// One lane of a store.
#[derive(Debug, Clone, Copy)]
pub struct Lane<'a> {
    store: &'a Store,
    record: &'a LaneRecord,
}

impl<'a> Lane<'a> {
    /// Returns the properties that need no access to the rows.
    #[must_use]
    pub(crate) fn info(&self) -> LaneInfo {
        LaneInfo {
            track: self.record.track,
            kind: LaneKind::from_code(self.record.kind),
            depth: self.record.depth,
            rows: self.record.rows,
            start_ns: self.record.start_ns,
            end_ns: self.record.end_ns,
        }
    }

    #[must_use]
    pub(crate) fn rows(&self) -> u64 {
        self.record.rows
    }

    /// Returns whether a row has no end in the trace. Only the last row of a lane may lack it.
    #[must_use]
    pub(crate) fn is_unfinished(&self, row: u64) -> bool {
        self.record.unfinished != 0 && row + 1 == self.record.rows
    }

    /// Returns its extents in time order.
    #[must_use]
    pub fn extents(&self) -> &'a [ExtentRecord] {
        let StoreTables { extents, map, .. } = &self.store.tables;
        extents.slice(map, self.record.extent_first, self.record.extent_count)
    }

    /// Returns one of its extents; `None` if it is missing or damaged.
    #[must_use]
    pub fn extent(&self, extent: usize) -> Option<Extent<'a>> {
        let first = usize::try_from(self.record.extent_first).ok()?;
        (extent < self.extents().len()).then(|| self.store.extent(first + extent))?
    }

    /// Starts to read the extents with rows of a time range from the disk, all at once, unless these are more than
    /// `extents_max`. Reading one after the other waits for the disk as often, while most of it rests.
    pub(crate) fn fetch_extents(&self, start_ns: i64, end_ns: i64, extents_max: usize) {
        let extents = self.extents();
        let first = extents.partition_point(|extent| extent.first_start_ns < start_ns).saturating_sub(1);
        let count = extents[first..].partition_point(|extent| extent.first_start_ns < end_ns);
        let Ok(lane_first) = usize::try_from(self.record.extent_first) else { return };
        if count <= extents_max {
            let unread =
                (lane_first + first..lane_first + first + count).filter(|&at| self.store.extents.mark_fetched(at));
            let bytes = unread.filter_map(|at| self.store.extent_bytes(at));
            bytes.for_each(|bytes| self.store.tables.map.fetch(bytes));
        }
    }

    /// Returns the signatures of its extents in order; empty for extents without one, or with a damaged one.
    pub fn signatures(&self) -> impl Iterator<Item = &'a [u64]> + use<'a> {
        self.signatures_from(0)
    }

    /// Returns the signatures of its extents from `first` on.
    pub(crate) fn signatures_from(&self, first: usize) -> impl Iterator<Item = &'a [u64]> + use<'a> {
        let StoreTables { map, signatures, signature_parts, .. } = &self.store.tables;
        let all = signatures.rows(map);
        let (before, extents) = self.extents().split_at(first.min(self.extents().len()));
        // Full extents, which most lanes have before the last, need no sum.
        let are_full =
            extents.first().is_some_and(|extent| extent.first_row == before.len() as u64 * signature::ROWS_MAX);
        let words = match before {
            _ if are_full => before.len() * signature::WORDS_MAX,
            _ => before.iter().map(|extent| signature::words(extent.rows)).sum(),
        };
        let word = usize::try_from(self.record.signature_first).ok().and_then(|first| first.checked_add(words));
        let mut rest = word.and_then(|word| all.get(word..)).unwrap_or(&[]);
        extents.iter().map(move |extent| {
            let at = size_of_val(all) - size_of_val(rest);
            let (own_words, others) = rest.split_at(signature::words(extent.rows).min(rest.len()));
            rest = others;
            let bytes = at..at + size_of_val(own_words);
            let is_intact = signature_parts.as_ref().is_none_or(|parts| parts.is_intact(map, bytes));
            if is_intact { own_words } else { &[] }
        })
    }

    /// Returns the forest above its extents, one leaf per extent.
    #[must_use]
    pub(crate) fn forest<A: Pod>(&self) -> &'a [A] {
        let words = iforest::node_count(self.extents().len()) * (size_of::<A>() / size_of::<u64>());
        let StoreTables { forests, map, .. } = &self.store.tables;
        bytemuck::cast_slice(forests.slice(map, self.record.forest_first, words as u64))
    }

    /// Returns the coarsest level of its pyramid with buckets of at most `2^width_log2`, limited to a range of buckets
    /// of this width. `None` without such a level, or if it is damaged there.
    #[must_use]
    pub(crate) fn overview(&self, width_log2: u32, buckets: Range<i64>) -> Option<OverviewLevel<'a>> {
        if self.record.overview.count == 0 {
            return None;
        }
        let StoreTables { overview, map, .. } = &self.store.tables;
        let all: &[OverviewBucket] = bytemuck::try_cast_slice(map.get(overview.data())?).ok()?;
        let first = usize::try_from(self.record.overview_first).ok()?;
        let level = self.record.overview.level(all.get(first..)?, width_log2)?.within(buckets, width_log2);
        let at = (first + level.start) * size_of::<OverviewBucket>();
        overview.is_intact(map, at..at + size_of_val(level.buckets)).then_some(level)
    }
}

#[cfg(test)]
mod tests;

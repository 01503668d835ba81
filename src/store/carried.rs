//! Embeds a sorted store in another file, cut into parts: its extents by start time, and its blocks of details.
//!
//! | bytes of a part | content |
//! |---|---|
//! | 24 | version, number of entries, time before which all rows are present, number of rows in earlier parts |
//! | 16 per entry | track, depth, kind, whether the last row has an end, sizes |
//! | rest | extents and blocks, each padded to 8 bytes |
//!
//! The reader repacks all rows, lane by lane, on all threads. Forests, pyramids and the order of rows are derived
//! again: a part may come from any program and is not trusted. Reading and packing remain; the sequential steps of
//! sorting, pairing and nesting are saved.

use std::collections::hash_map::Entry;
use std::io;
use std::mem;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::block::Row;
use super::details;
use super::extent::{EXTENT_BLOCKS, Extent};
use super::extent_log::PackedExtent;
use super::format::{BODY_VERSION, Meta};
use super::lane::{LaneIdx, LaneInfo, LaneKind};
use super::lane_builder::LaneBuilder;
use super::ledger_build::LedgerContext;
use super::read::Store;
use super::writer::{FinishedStore, StoreWriter};
use crate::model::{StackIdx, TrackIdx};

/// Bytes after which a part ends: few enough to fit in the processor's cache, and enough to make headers negligible.
const PART_BYTES: usize = 1 << 20;

#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct PartHeader {
    /// [`BODY_VERSION`] of the store that the extents come from.
    version: u32,
    entries: u32,
    /// All rows before this time are in this part or an earlier one. `i64::MAX` in the last part.
    sorted_to_ns: i64,
    /// Number of rows in earlier parts.
    rows_before: u64,
}

/// The entry of one extent or detail block of a part.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct PartEntry {
    track: TrackIdx,
    depth: u16,
    /// The code of the [`LaneKind`], or [`DETAILS`].
    kind: u8,
    /// 1 if the last row of the lane has no end in the trace.
    unfinished: u8,
    bytes: u32,
    /// Uncompressed size of a block of details, also of a dropped block, which has no bytes.
    raw_bytes: u32,
}

/// Kind of an entry that is a block of details.
const DETAILS: u8 = u8::MAX;

impl Store {
    /// Iterates over the parts of this store, in order. Yields `None` for a damaged part and ends there, since the last
    /// part is needed to use the others.
    #[must_use]
    pub fn carried_parts(&self) -> CarriedParts<'_> {
        let lanes = (0..self.lane_count()).map(LaneIdx);
        let mut extents: Vec<_> = lanes
            .flat_map(|lane| (0..).zip(self.lane(lane).extents()).map(move |(extent, _)| (lane, extent)))
            .collect();
        let first_start_ns = |&(lane, extent): &(LaneIdx, usize)| self.lane(lane).extents()[extent].first_start_ns;
        extents.sort_by_key(|key| (first_start_ns(key), *key));
        CarriedParts { store: self, extents, next_extent: 0, next_detail: 0, details_end: 0, rows: 0, is_over: false }
    }
}

/// Iterator over the encoded parts of a store, returned by [`Store::carried_parts`].
#[derive(Debug)]
pub struct CarriedParts<'a> {
    store: &'a Store,
    /// Extents of all lanes, sorted by start time.
    extents: Vec<(LaneIdx, usize)>,
    next_extent: usize,
    next_detail: usize,
    /// End of the written blocks of details in the concatenation of all blobs.
    details_end: u64,
    /// Rows in the parts returned.
    rows: u64,
    is_over: bool,
}

impl Iterator for CarriedParts<'_> {
    type Item = Option<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        if mem::replace(&mut self.is_over, true) {
            return None;
        }
        let part = self.part();
        self.is_over = part.is_none() || self.next_extent == self.extents.len();
        Some(part)
    }
}

impl CarriedParts<'_> {
    fn part(&mut self) -> Option<Vec<u8>> {
        let (mut entries, mut body) = (Vec::new(), Vec::new());
        let rows_before = self.rows;
        while body.len() < PART_BYTES && self.next_extent < self.extents.len() {
            let (lane, number) = self.extents[self.next_extent];
            let (lane, info) = (self.store.lane(lane), self.store.lane(lane).info());
            let (extents, extent) = (lane.extents(), lane.extent(number)?);
            // The details of a row are written before the row, or soon after.
            self.push_details(extents[number].offset, &mut entries, &mut body)?;
            entries.push(PartEntry {
                track: info.track,
                depth: info.depth,
                kind: info.kind.code(),
                unfinished: u8::from(number + 1 == extents.len() && lane.is_unfinished(info.rows - 1)),
                bytes: extents[number].bytes,
                raw_bytes: 0,
            });
            push_padded(&mut body, extent.bytes());
            self.rows += u64::from(extents[number].rows);
            self.next_extent += 1;
        }
        let next = self.extents.get(self.next_extent).copied();
        if next.is_none() {
            self.push_details(u64::MAX, &mut entries, &mut body)?;
        }
        let header = PartHeader {
            version: BODY_VERSION,
            entries: u32::try_from(entries.len()).ok()?,
            sorted_to_ns: next
                .map_or(i64::MAX, |(lane, number)| self.store.lane(lane).extents()[number].first_start_ns),
            rows_before,
        };
        Some([bytemuck::bytes_of(&header), bytemuck::cast_slice(&entries), &body].concat())
    }

    /// Adds the blocks of details that lie before `offset` in the file. Blocks that a ring has dropped are entries
    /// without bytes, so that references keep their meaning.
    fn push_details(&mut self, offset: u64, entries: &mut Vec<PartEntry>, body: &mut Vec<u8>) -> Option<()> {
        while let Some((block, packed)) = self.store.detail_block(self.next_detail)
            && block.offset < offset
        {
            while self.details_end < block.stream_start {
                let raw_bytes = u32::try_from(block.stream_start - self.details_end).unwrap_or(u32::MAX);
                entries.push(PartEntry { kind: DETAILS, raw_bytes, ..PartEntry::zeroed() });
                self.details_end += u64::from(raw_bytes);
            }
            self.details_end += u64::from(block.raw_bytes);
            let (bytes, raw_bytes) = (block.packed_bytes, block.raw_bytes);
            entries.push(PartEntry { kind: DETAILS, bytes, raw_bytes, ..PartEntry::zeroed() });
            push_padded(body, packed?);
            self.next_detail += 1;
        }
        Some(())
    }
}

fn push_padded(body: &mut Vec<u8>, bytes: &[u8]) {
    body.extend_from_slice(bytes);
    body.resize(body.len().next_multiple_of(8), 0);
}

/// A part split into its sections, which are still in the bytes of the trace.
struct StorePart<'a> {
    header: PartHeader,
    entries: &'a [PartEntry],
    body: &'a [u8],
}

impl<'a> StorePart<'a> {
    /// Splits a part into header, entries and body. Returns `None` for another version or invalid bytes.
    fn new(bytes: &'a [u8]) -> Option<Self> {
        let (header, rest) = bytes.split_at_checked(size_of::<PartHeader>())?;
        let header: PartHeader = bytemuck::try_pod_read_unaligned(header).ok()?;
        let entries = (header.entries as usize).checked_mul(size_of::<PartEntry>())?;
        let (entries, body) = rest.split_at_checked(entries)?;
        (header.version == BODY_VERSION).then_some(Self {
            header,
            entries: bytemuck::try_cast_slice(entries).ok()?,
            body,
        })
    }

    /// Sums the row counts that the headers of the extents declare.
    fn rows(&self) -> u64 {
        let extents = self.pieces().filter(|(entry, _)| entry.kind != DETAILS);
        extents.filter_map(|(_, bytes)| Extent::new(bytes)).map(|extent| u64::from(extent.rows())).sum()
    }

    /// Iterates over entries and their bytes, up to the first truncated entry.
    fn pieces(&self) -> impl Iterator<Item = (&'a PartEntry, &'a [u8])> + use<'a> {
        let mut rest = self.body;
        self.entries.iter().map_while(move |entry| {
            let bytes = entry.bytes as usize;
            let (piece, others) = rest.split_at_checked(bytes.checked_next_multiple_of(8)?)?;
            rest = others;
            Some((entry, &piece[..bytes]))
        })
    }
}

/// Returns whether `bytes` is the last part of a store of this version.
#[must_use]
pub(crate) fn is_last_part(bytes: &[u8]) -> bool {
    StorePart::new(bytes).is_some_and(|part| part.header.sorted_to_ns == i64::MAX)
}

/// Error for parts whose rows are out of order or refer beyond the tables: they are not a store of that trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the sorted store in the trace has rows that are out of order or point beyond its tables")]
pub struct NoStore;

/// A store that is rebuilt from its parts.
#[derive(Debug)]
pub struct CarriedStore {
    writer: StoreWriter,
    lanes: FxHashMap<(TrackIdx, LaneKind, u16), LaneIdx>,
    limits: Limits,
    /// `None` if the system refuses the threads; parts are then packed on the threads of queries.
    pool: Option<rayon::ThreadPool>,
    /// Rows of the parts added.
    rows: u64,
    sorted_to_ns: i64,
    /// The largest reference of a row into the details.
    detail_max: u64,
}

/// Upper bounds for the indices in rows.
#[derive(Debug, Clone, Copy)]
struct Limits {
    names: usize,
    stacks: usize,
    tracks: usize,
}

impl CarriedStore {
    /// Starts with a writer of an empty file. `meta` has the tables that rows refer to.
    #[must_use]
    pub fn new(writer: StoreWriter, meta: &Meta, threads: usize) -> Self {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1));
        let limits = Limits { names: meta.names.len(), stacks: meta.stacks.len(), tracks: meta.tracks.tracks.len() };
        Self {
            writer,
            lanes: FxHashMap::default(),
            limits,
            pool: pool.build().ok(),
            rows: 0,
            sorted_to_ns: i64::MIN,
            detail_max: 0,
        }
    }

    /// Adds the next parts. More parts in one call keep more threads busy.
    ///
    /// # Errors
    /// Returns the I/O error of a failed write. Invalid parts are [`NoStore`] within the `Ok`, after which the store is
    /// unusable.
    pub fn add_parts(&mut self, parts: &[Vec<u8>]) -> io::Result<Result<(), NoStore>> {
        let mut pieces = Vec::new();
        for bytes in parts {
            let Some(part) = StorePart::new(bytes) else { return Ok(Err(NoStore)) };
            let before = pieces.len();
            pieces.extend(part.pieces());
            // A missing part is detected here.
            if pieces.len() - before != part.entries.len() || part.header.rows_before != self.rows {
                return Ok(Err(NoStore));
            }
            self.rows += part.rows();
            self.sorted_to_ns = part.header.sorted_to_ns;
        }
        // The extents of each lane; and for each piece its lane and its index in that list.
        let mut of_lane: FxHashMap<LaneIdx, Vec<&[u8]>> = FxHashMap::default();
        let mut piece_lanes = Vec::with_capacity(pieces.len());
        for &(entry, bytes) in &pieces {
            piece_lanes.push(match self.lane_of(entry) {
                Ok(Some(lane)) => {
                    let extents = of_lane.entry(lane).or_default();
                    extents.push(bytes);
                    Some((lane, extents.len() - 1))
                }
                Ok(None) => None,
                Err(refused) => return Ok(Err(refused)),
            });
        }
        let packed = match self.pack(of_lane) {
            Ok(packed) => packed,
            Err(refused) => return Ok(Err(refused)),
        };
        for (&(entry, bytes), lane) in pieces.iter().zip(&piece_lanes) {
            match lane {
                None if bytes.is_empty() => self.writer.details.skip(entry.raw_bytes),
                None if details::unpacked_bytes(bytes) != Some(u64::from(entry.raw_bytes)) => return Ok(Err(NoStore)),
                None => self.writer.details.push_block(bytes, entry.raw_bytes, &mut self.writer.file)?,
                &Some((lane, extent)) => {
                    let packed = &packed[&lane];
                    let offset = self.writer.file.append(packed.bytes(extent))?;
                    let extents = &mut self.writer.lanes[lane.index()].extents;
                    self.writer.extents.push(extents, &packed.extents[extent], offset)?;
                }
            }
        }
        for &(lane, _) in piece_lanes.iter().flatten() {
            self.writer.begin_overview(lane)?;
        }
        self.writer.count_buckets();
        Ok(Ok(()))
    }

    /// Packs the extents of each lane, several lanes at a time.
    fn pack(
        &mut self,
        mut extents: FxHashMap<LaneIdx, Vec<&[u8]>>,
    ) -> Result<FxHashMap<LaneIdx, RepackedLanes>, NoStore> {
        let (limits, buckets_max) = (self.limits, self.writer.buckets_max);
        let lanes = (0..).map(LaneIdx).zip(&mut self.writer.lanes);
        let mut packing: Vec<(LaneIdx, RepackJob<'_>)> =
            lanes.filter_map(|(lane, builder)| Some((lane, RepackJob::new(extents.remove(&lane)?, builder)))).collect();
        let mut pack = || packing.par_iter_mut().map(|(_, packing)| packing.pack(limits, buckets_max)).collect();
        let packed: Result<Vec<u64>, NoStore> = match &self.pool {
            Some(pool) => pool.install(pack),
            None => pack(),
        };
        self.detail_max = packed?.into_iter().fold(self.detail_max, u64::max);
        Ok(packing.into_iter().map(|(lane, packing)| (lane, packing.packed)).collect())
    }

    /// Returns the lane of an entry; `None` for a block of details.
    fn lane_of(&mut self, entry: &PartEntry) -> Result<Option<LaneIdx>, NoStore> {
        if entry.kind == DETAILS {
            return Ok(None);
        }
        let kind = LaneKind::from_code(entry.kind);
        if kind.code() != entry.kind || entry.track.index() >= self.limits.tracks {
            return Err(NoStore);
        }
        let lane = match self.lanes.entry((entry.track, kind, entry.depth)) {
            Entry::Occupied(lane) => *lane.get(),
            Entry::Vacant(vacant) => {
                // On failure the trace is sorted from its events, which reports the same error with its reason.
                let added = self.writer.add_lane(entry.track, kind, entry.depth).map_err(|_| NoStore)?;
                *vacant.insert(added)
            }
        };
        if entry.unfinished != 0 {
            self.writer.mark_unfinished(lane);
        }
        Ok(Some(lane))
    }

    /// Returns the time before which all rows are present.
    #[must_use]
    pub(crate) fn sorted_to_ns(&self) -> i64 {
        self.sorted_to_ns
    }

    pub(crate) fn lanes(&self) -> impl Iterator<Item = LaneInfo> + '_ {
        self.writer.lanes.iter().map(LaneBuilder::info)
    }

    /// Opens the rows added so far; see [`StoreWriter::preview`]. Returns the I/O error of a write; if only the preview
    /// fails, the error is inside the `Ok`.
    pub(crate) fn preview(&mut self, meta: Meta) -> io::Result<io::Result<Store>> {
        self.writer.flush()?;
        Ok(self.writer.preview(meta))
    }

    /// Completes the store; see [`StoreWriter::finish`].
    ///
    /// # Errors
    /// Returns the I/O error of a failed write. Missing parts are [`NoStore`] within the `Ok`.
    pub fn finish(self, meta: &Meta) -> io::Result<Result<(), NoStore>> {
        Ok(self.finish_with_ledger(meta.clone(), None, |_| {})?.map(drop))
    }

    /// Completes the store as [`StoreWriter::finish_with_ledger`] does. Fails as [`Self::finish`] does.
    pub(crate) fn finish_with_ledger(
        self,
        meta: Meta,
        ledger: Option<&LedgerContext<'_>>,
        show: impl FnOnce(&Arc<Store>),
    ) -> io::Result<Result<FinishedStore, NoStore>> {
        if self.sorted_to_ns != i64::MAX || self.detail_max > self.writer.details.end() {
            return Ok(Err(NoStore));
        }
        self.writer.finish_with_ledger(meta, ledger, show).map(Ok)
    }
}

/// Extents of one lane to repack.
struct RepackJob<'a> {
    extents: Vec<&'a [u8]>,
    builder: &'a mut LaneBuilder,
    packed: RepackedLanes,
}

/// Repacked extents, ready to write.
#[derive(Default)]
struct RepackedLanes {
    extents: Vec<PackedExtent>,
    bytes: Vec<u8>,
    /// End offset of each extent in the bytes.
    ends: Vec<usize>,
}

impl RepackedLanes {
    fn bytes(&self, extent: usize) -> &[u8] {
        let start = extent.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[extent]]
    }
}

impl<'a> RepackJob<'a> {
    fn new(extents: Vec<&'a [u8]>, builder: &'a mut LaneBuilder) -> Self {
        Self { extents, builder, packed: RepackedLanes::default() }
    }

    /// Packs all rows with their block boundaries. Returns the largest reference into the details.
    fn pack(&mut self, limits: Limits, buckets_max: usize) -> Result<u64, NoStore> {
        let (mut rows, mut detail_max) = (Vec::new(), 0);
        for bytes in &self.extents {
            let extent = Extent::new(bytes).filter(|extent| extent.blocks() <= EXTENT_BLOCKS).ok_or(NoStore)?;
            for block in 0..extent.blocks() {
                rows.clear();
                extent.block(block).decode(&mut rows);
                for &row in &rows {
                    // A lane ends where its last row ends.
                    if row.start_ns < self.builder.last_end_ns() || !limits.allow(self.builder.kind, &row) {
                        return Err(NoStore);
                    }
                    if self.builder.kind != LaneKind::Flows {
                        detail_max = detail_max.max(row.detail);
                    }
                    self.builder.push(row);
                }
                self.builder.pack(buckets_max);
            }
            let packed = self.builder.close_extent(&mut self.packed.bytes).ok_or(NoStore)?;
            self.packed.extents.push(packed);
            self.packed.ends.push(self.packed.bytes.len());
        }
        // Without this, a million lanes would hold 2 GiB.
        self.builder.forget_room();
        Ok(detail_max)
    }
}

impl Limits {
    /// Returns whether the indices of a row are within the tables. References to details are checked at the end, when
    /// all blocks are known.
    fn allow(self, kind: LaneKind, row: &Row) -> bool {
        let means_something = match kind {
            LaneKind::Samples => {
                StackIdx::checked_from_value(row.value).is_some_and(|stack| stack.index() < self.stacks)
            }
            LaneKind::Instants => u16::try_from(row.value).is_ok(), // a depth
            LaneKind::Spans | LaneKind::Counter | LaneKind::Flows => true,
        };
        means_something && (row.name as usize) < self.names
    }
}

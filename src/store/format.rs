//! The bytes of a store file: the one place that says where each part is.
//!
//! | part | what |
//! |---|---|
//! | 8 bytes | [`MAGIC`] |
//! | body | extents and detail blocks, in the order in which they filled up, each at a multiple of 8 |
//! | sections | overview, signatures, lanes, extents, forests, details, meta, ledger, samples, paths, in this order |
//! | [`Trailer`] | offsets of the sections, their checksums, the length of the file |
//!
//! All numbers are little-endian. The file is written front to back and has no trailer until everything else
//! is durable, so a file with a valid trailer is whole. A version that differs is not read: stores are
//! caches, and are made again.

use std::ops::Range;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::overview::OverviewShape;
use crate::base::mapped::Mapped;
use crate::model::{Losses, Names, Stacks, TrackIdx, TrackTables};

/// How a store file begins.
pub(crate) const MAGIC: [u8; 8] = *b"LSSTORE\x01";

/// Raised whenever the meaning of any byte changes.
pub(crate) const VERSION: u32 = 13;

/// The version of extents and details, which other files carry as well: raised only when these change.
pub(crate) const BODY_VERSION: u32 = 7;

/// The tables after the body, in file order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    /// Pyramids of all lanes, one after the other.
    Overview,
    /// Words of the [`signature`](super::signature)s of all extents, those of a lane together.
    Signatures,
    /// [`LaneRecord`]s, those of a track together.
    Lanes,
    /// [`ExtentRecord`](super::extent::ExtentRecord)s, those of a lane together.
    Extents,
    /// Words of the forests above the extents, those of a lane together.
    Forests,
    /// The table of all [`DetailBlock`](super::details::DetailBlock)s.
    Details,
    /// The one [`Meta`], encoded as postcard.
    Meta,
    /// The [`LedgerIndex`](super::ledger::LedgerIndex), encoded as postcard; empty for a store without a ledger. Its
    /// nodes are in the body.
    Ledger,
    /// The [`SampleLedgerIndex`](super::sample_ledger::SampleLedgerIndex), as that of the ledger.
    Samples,
    /// The [`PathLedgerIndex`](super::path_ledger::PathLedgerIndex), as that of the ledger.
    Paths,
}

/// How many sections there are.
pub(crate) const SECTIONS: usize = 10;

/// The position of a section, and its checksum.
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct SectionRecord {
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) checksum: u64,
}

/// The end of a store file.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Trailer {
    pub(crate) sections: [SectionRecord; SECTIONS],
    /// The length of the file, this trailer included.
    pub(crate) file_bytes: u64,
    version: u32,
    unused: u32,
    magic: [u8; 8],
    /// xxh3-64 of the trailer before this field.
    checksum: u64,
}

impl Trailer {
    /// A trailer for a file of `file_bytes` in all.
    #[must_use]
    pub(crate) fn new(sections: [SectionRecord; SECTIONS], file_bytes: u64) -> Self {
        let mut trailer = Self { sections, file_bytes, version: VERSION, unused: 0, magic: MAGIC, checksum: 0 };
        trailer.checksum = trailer.sum();
        trailer
    }

    /// The trailer at the end of `file`, if it is whole and of this version.
    #[must_use]
    pub(crate) fn from_file(file: &[u8]) -> Option<Self> {
        let start = file.len().checked_sub(size_of::<Self>())?;
        let trailer: Self = bytemuck::pod_read_unaligned(&file[start..]);
        let whole = trailer.magic == MAGIC
            && trailer.version == VERSION
            && trailer.file_bytes == file.len() as u64
            && trailer.checksum == trailer.sum()
            && file.starts_with(&MAGIC);
        whole.then_some(trailer)
    }

    /// The version of the store that ends with `tail`, 32 bytes or more. All versions end alike.
    #[must_use]
    pub(crate) fn version_of(tail: &[u8]) -> Option<u32> {
        let last = tail.last_chunk::<24>()?;
        let (version, magic) = (last.first_chunk::<4>()?, last.get(8..16)?);
        (magic == MAGIC).then(|| u32::from_le_bytes(*version))
    }

    /// The bytes of a section, if they are those that were written.
    #[must_use]
    pub(crate) fn section<'a>(&self, file: &'a [u8], section: Section) -> Option<&'a [u8]> {
        let record = self.sections[section as usize];
        let start = usize::try_from(record.offset).ok()?;
        let bytes = file.get(start..start.checked_add(usize::try_from(record.bytes).ok()?)?)?;
        (xxh3_64(bytes) == record.checksum).then_some(bytes)
    }

    fn sum(&self) -> u64 {
        let bytes = bytemuck::bytes_of(self);
        xxh3_64(&bytes[..bytes.len() - size_of::<u64>()])
    }
}

/// The identity of a lane, and the positions of its parts in the tables.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct LaneRecord {
    /// The track that it belongs to.
    pub(crate) track: TrackIdx,
    /// The nesting depth, for spans.
    pub(crate) depth: u16,
    /// The [`LaneKind`](super::lane::LaneKind), by its code.
    pub(crate) kind: u8,
    /// 1 if the last row has no end in the capture.
    pub(crate) unfinished: u8,
    pub(crate) rows: u64,
    /// The start of the first row.
    pub(crate) start_ns: i64,
    /// The latest end of a row.
    pub(crate) end_ns: i64,
    /// Its first row in the table of extents.
    pub(crate) extent_first: u64,
    /// Its first word in the forests.
    pub(crate) forest_first: u64,
    /// Its first word in the signatures.
    pub(crate) signature_first: u64,
    /// Its first bucket in the overview.
    pub(crate) overview_first: u64,
    /// Its pyramid; no bucket if it has none.
    pub(crate) overview: OverviewShape,
    pub(crate) extent_count: u64,
}

const _: () = assert!(size_of::<LaneRecord>() == 88);

/// Everything else that a store knows.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Meta {
    /// Names and categories of all rows.
    pub names: Arc<Names>,
    /// Call stacks of all samples.
    pub stacks: Arc<Stacks>,
    /// Processes and tracks, with their metadata.
    pub tracks: TrackTables,
    /// Counted losses, by kind and track.
    pub losses: Losses,
    /// Counts over the whole capture.
    pub summary: Summary,
}

/// The fields of [`Meta`] without the names, in the same order.
#[derive(Deserialize)]
struct MetaRest {
    stacks: Arc<Stacks>,
    tracks: TrackTables,
    losses: Losses,
    summary: Summary,
}

impl Meta {
    /// The size of the metadata from which on the letters of names stay in the map.
    const MAPPED_BYTES_MIN: usize = 8 << 20;

    /// Reads it from a part of a map. Fails if the bytes are something else.
    pub(crate) fn read(map: &Arc<Mapped>, range: Range<usize>) -> Result<Self, postcard::Error> {
        let bytes = map.get(range.clone()).unwrap_or(&[]);
        if bytes.len() < Self::MAPPED_BYTES_MIN { postcard::from_bytes(bytes) } else { Self::read_mapped(map, range) }
    }

    fn read_mapped(map: &Arc<Mapped>, range: Range<usize>) -> Result<Self, postcard::Error> {
        let (names, rest) = Names::read_mapped(map, range)?;
        let MetaRest { stacks, tracks, losses, summary } = postcard::from_bytes(rest)?;
        Ok(Self { names: Arc::new(names), stacks, tracks, losses, summary })
    }
}

/// The counts and properties that `info` prints of a capture.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Summary {
    /// Number of spans in lanes.
    pub spans: u64,
    /// Number of instants in lanes.
    pub instants: u64,
    /// Number of counter values in lanes.
    pub counters: u64,
    /// Number of points of flows in lanes.
    pub flows: u64,
    /// Number of samples in lanes.
    pub samples: u64,
    /// The first time; 0 in a capture without events.
    pub start_ns: i64,
    /// The last end; 0 in a capture without events.
    pub end_ns: i64,
    /// The time before which all rows are in the store, in a preview.
    pub sorted_to_ns: Option<i64>,
    /// The length of the capture on disk, compressed or not.
    pub source_bytes: u64,
    /// Events that come after a later one in the capture.
    pub late_events: u64,
    /// The most that an event is late by.
    pub max_lateness_ns: u64,
    /// The cost of the load.
    pub load: LoadStats,
}

/// The cost of a load: counts that repeat exactly, and the seconds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LoadStats {
    /// Wall time from opening the capture to the published store.
    pub(crate) seconds: f64,
    /// The most bytes that were charged to the budget at once.
    pub peak_budget_bytes: u64,
    /// Number of chunks in the capture.
    pub(crate) chunks: u64,
    /// The most chunks that were open at once in the merge.
    pub chunks_open_max: u64,
    /// Moves in the head table.
    pub(crate) head_moves: u64,
    /// Bytes written to the spill file.
    pub spilled_bytes: u64,
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    #[test]
    fn what_stays_in_the_map_is_what_is_read_to_memory() {
        let mut meta = Meta::default();
        let names = Arc::make_mut(&mut meta.names);
        let known = [names.intern("work", Some("category")), names.intern(&"long ".repeat(100), None)];
        meta.summary.spans = 7;
        meta.tracks.utc_offset_ns = Some(9);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("meta");
        let written = postcard::to_stdvec(&meta).unwrap();
        fs::write(&path, [b"before", &*written, b"after"].concat()).unwrap();
        let map = Arc::new(Mapped::from_store(&File::open(&path).unwrap(), &path).unwrap());
        let range = 6..6 + written.len();
        let mut read = Meta::read_mapped(&map, range.clone()).unwrap();
        let held = Meta::read(&map, range.clone()).unwrap();
        for read in [&read, &held] {
            assert_eq!(postcard::to_stdvec(read).unwrap(), written);
            assert!(known.iter().all(|&name| read.names.get(name) == meta.names.get(name)));
        }
        assert_eq!(Arc::make_mut(&mut read.names).intern("work", Some("category")), known[0]);
        for end in range.clone() {
            assert!(Meta::read_mapped(&map, range.start..end).is_err(), "cut at {end}");
        }
    }
}

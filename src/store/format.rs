//! The layout of a store file, defined only here.
//!
//! | part | content |
//! |---|---|
//! | 8 bytes | [`MAGIC`] |
//! | body | extents and detail blocks, in the order in which they filled up, each aligned to 8 bytes |
//! | sections | overview, signatures, lanes, extents, forests, details, meta, ledger, samples, paths, in this order |
//! | [`Trailer`] | offsets and checksums of the sections, length of the file |
//!
//! Numbers are little-endian. The file is written front to back, and the trailer only once everything else is durable:
//! a file with a valid trailer is complete. Another version is rejected: stores are caches and can be rebuilt.

use std::ops::Range;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::overview::OverviewShape;
use super::parted_section::PartedSection;
use crate::base::mapped::Mapped;
use crate::model::{Losses, Names, Stacks, TrackIdx, TrackTables};

/// First bytes of a store file.
pub(crate) const MAGIC: [u8; 8] = *b"LSSTORE\x01";

/// Incremented whenever the meaning of any byte changes, or a reader derives something else from the same trace. Cached
/// stores of an older version are then built again.
pub(crate) const VERSION: u32 = 26;

/// Version of extents and details, which other files embed. Incremented only when these change.
pub(crate) const BODY_VERSION: u32 = 8;

/// The tables after the body, in file order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    /// Pyramids of all lanes, concatenated.
    Overview,
    /// Words of the [`signature`](super::signature)s of all extents, grouped by lane.
    Signatures,
    /// A [`LaneRecord`] for each lane, grouped by track.
    Lanes,
    /// An [`ExtentRecord`](super::extent::ExtentRecord) for each extent, grouped by lane.
    Extents,
    /// Words of the forests above the extents, grouped by lane.
    Forests,
    /// The table of all [`DetailBlock`](super::details::DetailBlock)s.
    Details,
    /// The one [`Meta`], encoded as postcard.
    Meta,
    /// The [`LedgerIndex`](super::ledger::LedgerIndex), encoded as postcard; empty for a store without a ledger. The
    /// nodes are in the body.
    Ledger,
    /// The [`SampleLedgerIndex`](super::sample_ledger::SampleLedgerIndex), encoded likewise.
    Samples,
    /// The [`PathLedgerIndex`](super::path_ledger::PathLedgerIndex), encoded likewise.
    Paths,
}

pub(crate) const SECTIONS: usize = 10;

/// The large sections, of which a query reads a few parts. Their bytes end with the checksums of these parts; see
/// [`PartedSection`].
const PARTED: [Section; 2] = [Section::Overview, Section::Signatures];

/// Position and checksum of a section.
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct SectionRecord {
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) checksum: u64,
}

impl SectionRecord {
    /// Returns the bytes of the section; `None` if the file is too short.
    fn bytes<'a>(&self, file: &'a [u8]) -> Option<&'a [u8]> {
        file.get(self.range()?)
    }

    /// Returns the position of the section in the file.
    pub(crate) fn range(&self) -> Option<Range<usize>> {
        let start = usize::try_from(self.offset).ok()?;
        Some(start..start.checked_add(usize::try_from(self.bytes).ok()?)?)
    }
}

/// The end of a store file.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Trailer {
    pub(crate) sections: [SectionRecord; SECTIONS],
    /// Length of the file, including this trailer.
    pub(crate) file_bytes: u64,
    version: u32,
    unused: u32,
    magic: [u8; 8],
    /// xxh3-64 of the preceding bytes of the trailer.
    checksum: u64,
}

impl Trailer {
    /// Creates the trailer of a file of `file_bytes`.
    #[must_use]
    pub(crate) fn new(sections: [SectionRecord; SECTIONS], file_bytes: u64) -> Self {
        let mut trailer = Self { sections, file_bytes, version: VERSION, unused: 0, magic: MAGIC, checksum: 0 };
        trailer.checksum = trailer.sum();
        trailer
    }

    /// Reads the trailer at the end of `file`; `None` if it is damaged or of another version.
    #[must_use]
    pub(crate) fn from_file(file: &Mapped) -> Option<Self> {
        let start = file.len().checked_sub(size_of::<Self>())?;
        file.fetch(&file[..MAGIC.len().min(start)]);
        file.fetch(&file[start..]);
        let trailer: Self = bytemuck::pod_read_unaligned(&file[start..]);
        let whole = trailer.magic == MAGIC
            && trailer.version == VERSION
            && trailer.file_bytes == file.len() as u64
            && trailer.checksum == trailer.sum()
            && file.starts_with(&MAGIC);
        whole.then_some(trailer)
    }

    /// Reads the version from the tail of a store, of at least 24 bytes. All versions have the same tail.
    #[must_use]
    pub(crate) fn version_of(tail: &[u8]) -> Option<u32> {
        let last = tail.last_chunk::<24>()?;
        let (version, magic) = (last.first_chunk::<4>()?, last.get(8..16)?);
        (magic == MAGIC).then(|| u32::from_le_bytes(*version))
    }

    /// Starts to read all sections from the disk; of sections with parts, only the checksums.
    pub(crate) fn fetch_sections(&self, file: &Mapped) {
        for (section, record) in self.sections.iter().enumerate() {
            let is_parted = PARTED.iter().any(|&parted| parted as usize == section);
            let range = record.range().map(|range| if is_parted { PartedSection::sums_of(range) } else { range });
            range.and_then(|range| file.get(range)).into_iter().for_each(|bytes| file.fetch(bytes));
        }
    }

    /// Opens a section with parts, and reads none of them; `None` if their checksums are damaged.
    #[must_use]
    pub(super) fn parted_section(&self, file: &[u8], section: Section) -> Option<PartedSection> {
        debug_assert!(PARTED.contains(&section));
        let record = self.sections[section as usize];
        let section = PartedSection::new(record.range()?);
        file.get(section.sums()).is_some_and(|sums| xxh3_64(sums) == record.checksum).then_some(section)
    }

    /// Returns the bytes of a section if its checksum matches.
    #[must_use]
    pub(crate) fn section<'a>(&self, file: &'a [u8], section: Section) -> Option<&'a [u8]> {
        let record = self.sections[section as usize];
        record.bytes(file).filter(|bytes| xxh3_64(bytes) == record.checksum)
    }

    fn sum(&self) -> u64 {
        let bytes = bytemuck::bytes_of(self);
        xxh3_64(&bytes[..bytes.len() - size_of::<u64>()])
    }
}

/// Identity of a lane, and the positions of its parts in the tables.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct LaneRecord {
    pub(crate) track: TrackIdx,
    /// Nesting depth, for spans; 0 is outermost.
    pub(crate) depth: u16,
    /// Code of the [`LaneKind`](super::lane::LaneKind).
    pub(crate) kind: u8,
    /// 1 if the last row has no end in the trace.
    pub(crate) unfinished: u8,
    pub(crate) rows: u64,
    /// Start of the first row.
    pub(crate) start_ns: i64,
    /// Latest end of a row.
    pub(crate) end_ns: i64,
    /// Index of its first extent in the table of extents.
    pub(crate) extent_first: u64,
    /// Index of its first word in the forests.
    pub(crate) forest_first: u64,
    /// Index of its first word in the signatures.
    pub(crate) signature_first: u64,
    /// Index of its first bucket in the overview.
    pub(crate) overview_first: u64,
    /// Shape of its pyramid; a count of 0 for none.
    pub(crate) overview: OverviewShape,
    pub(crate) extent_count: u64,
}

const _: () = assert!(size_of::<LaneRecord>() == 88);

/// The tables that the rows of a store refer to, its losses and its counts.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Meta {
    /// Names and categories of all rows.
    pub names: Arc<Names>,
    /// Call stacks of all samples.
    pub stacks: Arc<Stacks>,
    /// Processes and tracks, with their metadata.
    pub tracks: TrackTables,
    /// Counted losses, by file and kind.
    pub losses: Losses,
    /// Counts over the whole trace.
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
    /// Size of the metadata from which the text of names stays in the map.
    const MAPPED_BYTES_MIN: usize = 8 << 20;

    /// Decodes the metadata from a range of a map.
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

/// Counts and properties of a trace, printed by `info`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Summary {
    /// Number of spans in lanes.
    pub spans: u64,
    /// Number of instants in lanes.
    pub instants: u64,
    /// Number of counter values in lanes.
    pub counters: u64,
    /// Number of flow points in lanes.
    pub flows: u64,
    /// Number of samples in lanes.
    pub samples: u64,
    /// First time; 0 for a trace without events.
    pub start_ns: i64,
    /// Last end; 0 for a trace without events.
    pub end_ns: i64,
    /// In a preview, the time before which all rows are present.
    pub sorted_to_ns: Option<i64>,
    /// Size of the trace on disk, as stored (compressed or not).
    pub source_bytes: u64,
    /// Events that follow a later event in the trace.
    pub late_events: u64,
    /// Largest lateness of an event.
    pub max_lateness_ns: u64,
    /// Time and memory of the import that wrote the store.
    pub load: LoadStats,
}

impl Summary {
    /// Returns whether no lane has a row.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        [self.spans, self.instants, self.counters, self.flows, self.samples] == [0; 5]
    }
}

/// Cost of an import: counts that repeat exactly, and seconds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LoadStats {
    /// Wall time from opening the trace to publishing the store.
    pub(crate) seconds: f64,
    /// Peak of bytes charged to the budget.
    pub peak_budget_bytes: u64,
    /// Number of chunks in the trace.
    pub(crate) chunks: u64,
    /// Peak of chunks open at once in the merge.
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
    fn mapped_tables_equal_those_read_into_memory() {
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

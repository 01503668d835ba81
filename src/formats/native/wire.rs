//! The bytes of a native capture: the begin and the end of a file, a chunk and a directory. Converts these to and from
//! bytes and checks that they are whole; reads no file and knows nothing of the content of a payload.
//!
//! | part | bytes |
//! |---|---|
//! | [`FileHeader`] | 24 |
//! | chunks: a [`ChunkHeader`], its payload, zeros up to a multiple of 8 | 80 + payload |
//! | the directory: a chunk of kind [`ChunkKind::Directory`] that repeats every header with its place | |
//! | [`FileTrailer`]: where the directory begins | 24 |
//!
//! All numbers are little-endian. Everything after the file header can be found again without the directory: a chunk's
//! header says how long its payload is, and headers are at multiples of 8 and begin with a magic, so that a reader
//! hops from one to the next, and after a damaged one searches for the next that is whole. A file that was cut while it
//! was being written loses the chunk that was cut and nothing else.
//!
//! The header of a chunk holds what a reader needs to know before it spends time on the payload: `start_min_ns` drives
//! the merge of chunks, `start_max_ns` and `end_max_ns` decide whether a chunk matters for a time range (a tracer that
//! logs a span when it ends writes the outermost spans last), `watermark_ns` how far the recording is complete, and
//! `lost_before` how many events the recorder had to give up.

use bytemuck::{Pod, Zeroable};
use xxhash_rust::xxh3::xxh3_64;

/// The first bytes of a native capture. The first byte is no text, so no text format is taken for one; the line ends
/// break when a transfer translates them.
pub(crate) const MAGIC: [u8; 8] = *b"\x89SPAN\r\n\x1a";
/// The version of the layout in this file. A reader refuses any other.
pub(crate) const VERSION: u32 = 2;
/// The first bytes of a chunk: the word `CHNK`.
pub(crate) const CHUNK_MAGIC: u32 = u32::from_le_bytes(*b"CHNK");
/// The end of a whole file.
pub(crate) const TRAILER_MAGIC: [u8; 8] = *b"SPANEND\n";
/// Headers begin at multiples of this, so that a search need not look at every byte.
pub(crate) const ALIGNMENT: u64 = 8;
/// A watermark that promises nothing.
pub(crate) const NO_WATERMARK: i64 = i64::MIN;

/// The header of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct FileHeader {
    /// Equals [`MAGIC`] in every native file.
    pub(crate) magic: [u8; 8],
    /// Equals [`VERSION`], or this reader refuses the file.
    pub(crate) version: u32,
    /// Bits, of which [`FileHeader::SORTED`] is one.
    pub(crate) flags: u32,
    /// The checksum of the bytes before it.
    pub(crate) checksum: u64,
}

/// The header of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct ChunkHeader {
    /// Equals [`CHUNK_MAGIC`] in every header of a chunk.
    pub(crate) magic: u32,
    /// The byte of a [`ChunkKind`].
    pub(crate) kind: u8,
    /// Bits, of which [`ChunkHeader::SORTED`] and [`ChunkHeader::PLACED`] are two.
    pub(crate) flags: u8,
    /// Always zero in this version.
    pub(crate) reserved: u16,
    /// The index of the chunk in the file, from 0: a gap shows how many are missing.
    pub sequence: u32,
    /// How many events the payload holds.
    pub(crate) event_count: u32,
    /// Bytes of the payload as stored.
    pub payload_bytes: u32,
    /// Bytes of the payload in memory.
    pub(crate) memory_bytes: u32,
    /// Events that the recorder lost between the chunk before and this one.
    pub(crate) lost_before: u64,
    /// The smallest time of the events.
    pub(crate) start_min_ns: i64,
    /// The largest time of the events.
    pub(crate) start_max_ns: i64,
    /// The largest end of the events.
    pub(crate) end_max_ns: i64,
    /// No later chunk holds an event before this; [`NO_WATERMARK`] where the writer cannot promise one.
    pub(crate) watermark_ns: i64,
    /// The checksum of the payload as it is stored.
    pub(crate) payload_checksum: u64,
    /// The checksum of the bytes before it.
    pub(crate) header_checksum: u64,
}

/// One row of the directory: a chunk's header and its offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct DirectoryEntry {
    /// The byte at which the header begins.
    pub offset: u64,
    /// A copy of the header.
    pub header: ChunkHeader,
}

/// The end of a whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct FileTrailer {
    /// The byte at which the directory's header begins.
    pub(crate) directory_offset: u64,
    /// The checksum of the bytes before it.
    pub(crate) checksum: u64,
    /// Equals [`TRAILER_MAGIC`] in every whole file.
    pub(crate) magic: [u8; 8],
}

const _: () = assert!(size_of::<FileHeader>() == 24, "the table above says so, and no field is padded");
const _: () = assert!(size_of::<ChunkHeader>() == 80, "the table above says so, and no field is padded");
const _: () = assert!(size_of::<DirectoryEntry>() == 88, "no field is padded");
const _: () = assert!(size_of::<FileTrailer>() == 24, "the table above says so, and no field is padded");
const _: () = assert!((size_of::<FileHeader>() as u64).is_multiple_of(ALIGNMENT), "the first chunk is aligned");
const _: () = assert!((size_of::<ChunkHeader>() as u64).is_multiple_of(ALIGNMENT), "payloads are aligned");

/// The content of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkKind {
    /// Events, as [`super::columns`] writes them.
    Events,
    /// Names, processes, tracks and losses that are new or changed, as [`super::tables`] writes them.
    Tables,
    /// A [`DirectoryEntry`] for each chunk of the file before it, compressed with zstd.
    Directory,
    /// Stacks that are new, as [`super::stacks`] writes them.
    Stacks,
    /// The nanoseconds that turn times into UTC since 1970: a signed number, as postcard.
    Utc,
    /// A part of the store that a reader would make of the capture: see [`crate::formats::StoreParts`].
    Store,
    /// The modules whose code was sampled, all that are known so far: rows of [`crate::model::Module`], as postcard.
    Modules,
}

impl ChunkKind {
    const ALL: [Self; 7] =
        [Self::Events, Self::Tables, Self::Directory, Self::Stacks, Self::Utc, Self::Store, Self::Modules];

    /// The byte that encodes the kind in a header.
    #[must_use]
    pub(crate) fn byte(self) -> u8 {
        match self {
            Self::Events => 1,
            Self::Tables => 2,
            Self::Directory => 3,
            Self::Stacks => 4,
            Self::Utc => 5,
            Self::Store => 6,
            Self::Modules => 7,
        }
    }
}

impl FileHeader {
    /// Its size in the file, in bytes.
    pub const BYTES: u64 = size_of::<Self>() as u64;
    /// A flag: all chunks are sorted and no chunk begins before the one before it ends.
    pub(crate) const SORTED: u32 = 1;

    /// A header with its checksum.
    #[must_use]
    pub(crate) fn new(flags: u32) -> Self {
        let mut header = Self { magic: MAGIC, version: VERSION, flags, checksum: 0 };
        header.checksum = header.expected_checksum();
        header
    }

    /// Whether the checksum is right.
    #[must_use]
    pub(crate) fn is_whole(&self) -> bool {
        self.checksum == self.expected_checksum()
    }

    fn expected_checksum(&self) -> u64 {
        xxh3_64(&bytemuck::bytes_of(self)[..size_of::<Self>() - 8])
    }
}

impl ChunkHeader {
    /// Its size in the file, in bytes.
    pub(crate) const BYTES: u64 = size_of::<Self>() as u64;
    /// A flag: the events are in order of time.
    pub(crate) const SORTED: u8 = 1;
    /// A flag: the depths of the spans are known.
    pub(crate) const PLACED: u8 = 2;

    /// The content of the payload, if this version knows it.
    #[must_use]
    pub fn kind(&self) -> Option<ChunkKind> {
        ChunkKind::ALL.into_iter().find(|kind| kind.byte() == self.kind)
    }

    /// Puts the checksum over the other fields.
    pub fn seal(&mut self) {
        self.header_checksum = self.expected_checksum();
    }

    /// Whether this is a header, and not a bit of it has changed.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.magic == CHUNK_MAGIC && self.header_checksum == self.expected_checksum()
    }

    /// Bytes from the start of this header to the start of the next.
    #[must_use]
    pub fn stride_bytes(&self) -> u64 {
        Self::BYTES + u64::from(self.payload_bytes).next_multiple_of(ALIGNMENT)
    }

    fn expected_checksum(&self) -> u64 {
        xxh3_64(&bytemuck::bytes_of(self)[..size_of::<Self>() - 8])
    }
}

impl FileTrailer {
    /// Its size in the file, in bytes.
    pub(crate) const BYTES: u64 = size_of::<Self>() as u64;

    /// A trailer with its checksum.
    #[must_use]
    pub(crate) fn new(directory_offset: u64) -> Self {
        let checksum = xxh3_64(&directory_offset.to_le_bytes());
        Self { directory_offset, checksum, magic: TRAILER_MAGIC }
    }

    /// Whether not a bit of it has changed.
    #[must_use]
    pub(crate) fn is_whole(&self) -> bool {
        *self == Self::new(self.directory_offset)
    }
}

/// The checksum of a payload.
#[must_use]
pub(crate) fn checksum(payload: &[u8]) -> u64 {
    xxh3_64(payload)
}

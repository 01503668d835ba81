//! Binary layout of a native trace: file header, trailer, chunks and directory. Converts these to and from bytes and
//! verifies their checksums. Neither reads files nor interprets payloads.
//!
//! | part | bytes |
//! |---|---|
//! | [`FileHeader`] | 24 |
//! | chunks: a [`ChunkHeader`], its payload, zeros up to a multiple of 8 | 80 + payload |
//! | the directory: a chunk of kind [`ChunkKind::Directory`] with a copy and the offset of every header | |
//! | [`FileTrailer`]: the offset of the directory | 24 |
//!
//! All numbers are little-endian. All chunks can be found without the directory. A chunk header contains the length of
//! its payload, is aligned to 8 bytes and starts with a magic. So a reader follows headers, and searches for the next
//! intact one after damage. A file truncated while it was written loses only its last chunk.
//!
//! The chunk header has all that is needed before reading a payload. `start_min_ns` drives the merge of chunks.
//! `start_max_ns` and `end_max_ns` tell whether a chunk overlaps a time range: tracers that log a span at its end write
//! the outermost spans last. `watermark_ns` tells how far the recording is complete, and `lost_before` how many events
//! the recorder dropped.

use bytemuck::{Pod, Zeroable};
use xxhash_rust::xxh3::xxh3_64;

use super::columns::DECODED_BYTES_MAX;

/// Magic of a native trace. The first byte is not text, so the file is not mistaken for a text format. The line ends
/// detect transfers that convert them.
pub(crate) const MAGIC: [u8; 8] = *b"\x89SPAN\r\n\x1a";
/// Version of the layout. Readers refuse all others.
pub(crate) const VERSION: u32 = 2;
/// Magic of a chunk: the word `CHNK`.
pub(crate) const CHUNK_MAGIC: u32 = u32::from_le_bytes(*b"CHNK");
/// Magic at the end of a finished file.
pub(crate) const TRAILER_MAGIC: [u8; 8] = *b"SPANEND\n";
/// Alignment of headers, so that a search skips most bytes.
pub(crate) const ALIGNMENT: u64 = 8;
/// Limit for the bytes of a payload in the file: incompressible content grows a little.
const PAYLOAD_BYTES_MAX: u64 = DECODED_BYTES_MAX + (1 << 20);
/// The value for no watermark.
pub(crate) const NO_WATERMARK: i64 = i64::MIN;

/// Header at the start of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct FileHeader {
    pub(crate) magic: [u8; 8],
    /// Equals [`VERSION`]; readers refuse all others.
    pub(crate) version: u32,
    /// Bits such as [`FileHeader::SORTED`].
    pub(crate) flags: u32,
    /// Checksum of the bytes before it.
    pub(crate) checksum: u64,
}

/// Header before the payload of a chunk: all that is needed before the payload is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct ChunkHeader {
    pub(crate) magic: u32,
    /// Byte of a [`ChunkKind`].
    pub(crate) kind: u8,
    /// Bits such as [`ChunkHeader::SORTED`] and [`ChunkHeader::PLACED`].
    pub(crate) flags: u8,
    pub(crate) reserved: u16,
    /// Index of the chunk in the file, from 0; a gap shows how many are missing.
    pub sequence: u32,
    /// Number of events in the payload.
    pub(crate) event_count: u32,
    /// Bytes of the payload in the file.
    pub payload_bytes: u32,
    /// Bytes of the payload in memory.
    pub(crate) memory_bytes: u32,
    /// Events that the recorder lost since the previous chunk.
    pub(crate) lost_before: u64,
    /// Smallest start of the events.
    pub(crate) start_min_ns: i64,
    /// Largest start of the events.
    pub(crate) start_max_ns: i64,
    /// Largest end of the events.
    pub(crate) end_max_ns: i64,
    /// No later chunk has an event before this time; [`NO_WATERMARK`] if the writer cannot guarantee any.
    pub(crate) watermark_ns: i64,
    /// Checksum of the payload in the file.
    pub(crate) payload_checksum: u64,
    /// Checksum of the bytes before it.
    pub(crate) header_checksum: u64,
}

/// A row of the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct DirectoryEntry {
    /// Offset of the header in the file.
    pub offset: u64,
    /// Copy of the header at `offset`.
    pub header: ChunkHeader,
}

/// Trailer of a finished file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct FileTrailer {
    /// Offset of the directory's header in the file.
    pub(crate) directory_offset: u64,
    /// Checksum of the bytes before it.
    pub(crate) checksum: u64,
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
    /// Events, encoded by [`super::columns`].
    Events,
    /// New and changed names, processes, tracks and losses, encoded by [`super::tables`].
    Tables,
    /// A [`DirectoryEntry`] for each preceding chunk, compressed with zstd.
    Directory,
    /// New stacks, encoded by [`super::stacks`].
    Stacks,
    /// Offset from trace times to UTC since 1970 in nanoseconds: a signed number, as postcard.
    Utc,
    /// A part of the store that a reader would build from the trace: see [`crate::formats::StoreParts`].
    Store,
    /// All modules known so far whose code was sampled: rows of [`crate::model::Module`], as postcard.
    Modules,
}

impl ChunkKind {
    const ALL: [Self; 7] =
        [Self::Events, Self::Tables, Self::Directory, Self::Stacks, Self::Utc, Self::Store, Self::Modules];

    /// Returns the byte of the kind in a header.
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
    /// Size in the file, in bytes.
    pub const BYTES: u64 = size_of::<Self>() as u64;
    /// Flag: all chunks are sorted and do not overlap.
    pub(crate) const SORTED: u32 = 1;

    /// Creates a header with its checksum.
    #[must_use]
    pub(crate) fn new(flags: u32) -> Self {
        let mut header = Self { magic: MAGIC, version: VERSION, flags, checksum: 0 };
        header.checksum = header.expected_checksum();
        header
    }

    /// Returns whether the checksum is correct.
    #[must_use]
    pub(crate) fn is_whole(&self) -> bool {
        self.checksum == self.expected_checksum()
    }

    fn expected_checksum(&self) -> u64 {
        xxh3_64(&bytemuck::bytes_of(self)[..size_of::<Self>() - 8])
    }
}

impl ChunkHeader {
    /// Size in the file, in bytes.
    pub(crate) const BYTES: u64 = size_of::<Self>() as u64;
    /// Flag: the events are sorted by time.
    pub(crate) const SORTED: u8 = 1;
    /// Flag: the depths of the spans are final.
    pub(crate) const PLACED: u8 = 2;

    /// Returns the kind of the payload, if this version knows it.
    #[must_use]
    pub fn kind(&self) -> Option<ChunkKind> {
        ChunkKind::ALL.into_iter().find(|kind| kind.byte() == self.kind)
    }

    /// Sets the checksum over the other fields.
    pub fn seal(&mut self) {
        self.header_checksum = self.expected_checksum();
    }

    /// Returns whether this is an intact header.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.magic == CHUNK_MAGIC && self.header_checksum == self.expected_checksum()
    }

    /// Returns whether a reader accepts the size of the payload, in the file and in memory.
    #[must_use]
    pub(crate) fn fits_memory(&self) -> bool {
        u64::from(self.memory_bytes) <= DECODED_BYTES_MAX && u64::from(self.payload_bytes) <= PAYLOAD_BYTES_MAX
    }

    /// Returns the distance from this header to the next, in bytes.
    #[must_use]
    pub fn stride_bytes(&self) -> u64 {
        Self::BYTES + u64::from(self.payload_bytes).next_multiple_of(ALIGNMENT)
    }

    fn expected_checksum(&self) -> u64 {
        xxh3_64(&bytemuck::bytes_of(self)[..size_of::<Self>() - 8])
    }
}

impl FileTrailer {
    /// Size in the file, in bytes.
    pub(crate) const BYTES: u64 = size_of::<Self>() as u64;

    /// Creates a trailer with its checksum.
    #[must_use]
    pub(crate) fn new(directory_offset: u64) -> Self {
        let checksum = xxh3_64(&directory_offset.to_le_bytes());
        Self { directory_offset, checksum, magic: TRAILER_MAGIC }
    }

    /// Returns whether this is an intact trailer.
    #[must_use]
    pub(crate) fn is_whole(&self) -> bool {
        *self == Self::new(self.directory_offset)
    }
}

/// Returns the checksum of a payload.
#[must_use]
pub(crate) fn checksum(payload: &[u8]) -> u64 {
    xxh3_64(payload)
}

//! Decompresses input: gzip, zstd, bzip2, zlib of `atrace`, UTF-16 text. Runs on its own thread, at most a few blocks
//! ahead of the reader, whatever the packed data claims. Small files are unpacked on the reader's thread.

mod atrace;
mod utf16;

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_channel::{Receiver, bounded};

use self::atrace::{ATRACE_BYTES, atrace_lines, begins_like_atrace, without_inserted_returns};
use self::utf16::{Endian, Utf16};
use super::ahead::count_threads;
use super::members::{MemberKind, MemberReader};
use super::packed_end::{Damage, EndSlot, PackedEnd};
use crate::base::threads;
use crate::formats::ChunkLimits;
use crate::formats::reader::SMALL_BYTES;

/// Bytes of a block that is passed between threads: large enough that passing it costs next to nothing.
const BLOCK_BYTES: usize = 256 * 1024;

/// Bytes of a decompression step: at damage, a decoder loses the whole step.
const STEP_BYTES: usize = 8 * 1024;

/// Queue length of blocks, so that decompression continues while a batch is parsed.
const BLOCKS_AHEAD: usize = 8;

/// Limit for nested compression: gzip of zstd is common, a third layer is an accident or an attack.
const LAYERS_MAX: usize = 2;

/// Limits for unpacked data, in bytes and as a multiple of the packed length. One layer of gzip reaches a ratio of
/// 1,032; two, or bzip2 of equal bytes, reach a million, which only an attack needs.
const UNPACKED_BYTES_MIN: u64 = 1 << 30;
const UNPACKED_RATIO_MAX: u64 = 4096;

/// Reads until `buffer` is full or the input ends.
pub(crate) fn read_full(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(len) => filled += len,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Reads the available bytes, at least one unless the input ends.
pub(crate) fn read_some(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// Compression, detected by the first bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Compression {
    Gzip,
    Zstd,
    Bzip2,
    /// Output of `atrace -z`: this many bytes of lines up to `TRACE:`, then zlib. A terminal that ends lines with CRLF
    /// also changes the data.
    Atrace {
        lines: usize,
        has_crlf: bool,
    },
    /// UTF-16 text, as Windows consoles write it; it unpacks to UTF-8.
    Utf16(Endian),
}

/// Number of leading bytes that identify the compression. Reading more could fail, if the data is damaged.
const PACKING_BYTES: usize = 64;

impl Compression {
    /// Detects the compression from the first bytes; `None` for any other file.
    pub(crate) fn detect(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, 8, ..] => Some(Self::Gzip),
            [a, b, c, d, ..] if MemberKind::Zstd.begins_with(&[*a, *b, *c, *d]) => Some(Self::Zstd),
            [b'B', ..] if is_bzip2(head) => Some(Self::Bzip2),
            [b'T' | b'c' | b'e' | b'u' | b'U' | b'w' | b'W', ..] => {
                let lines = atrace_lines(head)?;
                let has_crlf = head[..lines].ends_with(b"\r\n");
                Some(Self::Atrace { lines, has_crlf })
            }
            [0xff, 0xfe, ..] => Some(Self::Utf16(Endian::Little)),
            [0xfe, 0xff, ..] => Some(Self::Utf16(Endian::Big)),
            _ => None,
        }
    }

    /// Unpacks one layer. Concatenated gzip members, zstd frames and bzip2 streams are one stream. The window of a zstd
    /// frame is at most 128 MiB, as its highest level uses.
    fn unpack(
        self,
        mut packed: Box<dyn BufRead + Send>,
        block_bytes: usize,
        end: &EndSlot,
    ) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Atrace { lines, has_crlf } => {
                packed.read_exact(&mut vec![0; lines])?;
                let packed = if has_crlf { without_inserted_returns(packed, block_bytes) } else { packed };
                Box::new(flate2::bufread::ZlibDecoder::new(packed))
            }
            Self::Utf16(endian) => Box::new(Utf16::new(packed, endian, block_bytes)),
            Self::Gzip => Box::new(MemberReader::new(MemberKind::Gzip, packed, end.clone())?),
            Self::Zstd => Box::new(MemberReader::new(MemberKind::Zstd, packed, end.clone())?),
            Self::Bzip2 => Box::new(MemberReader::new(MemberKind::Bzip2, packed, end.clone())?),
        })
    }
}

/// Returns whether a level and a block of bzip2 follow the magic number, or the end of an empty file.
fn is_bzip2(head: &[u8]) -> bool {
    let Some([b'1'..=b'9', block @ ..]) = head.strip_prefix(b"BZh") else { return false };
    block.starts_with(b"1AY&SY") || block.starts_with(b"\x17\x72\x45\x38\x50\x90")
}

/// Output of the decompressor: blocks, then `End` unless the data is truncated.
enum BlockMessage {
    Block(Vec<u8>),
    End,
    Failed(io::Error),
}

struct Decompressor {
    /// `None` once the data has ended or is damaged.
    reader: Option<Box<dyn Read + Send>>,
    /// The message after the last block.
    last: Option<BlockMessage>,
    failed_reads: Arc<AtomicU64>,
    block_bytes: usize,
    unpacked_bytes: u64,
    most_bytes: u64,
    end: EndSlot,
}

impl Decompressor {
    fn new(packed: Box<dyn Read + Send>, block_bytes: usize, most_bytes: u64, end: &EndSlot) -> Self {
        let failed_reads = Arc::new(AtomicU64::new(0));
        let counting = Box::new(CountingReader { inner: packed, failed_reads: failed_reads.clone() });
        let (reader, last) = match unpacked(counting, block_bytes, end) {
            Ok(reader) => (Some(reader), None),
            Err(error) if failed_reads.load(Ordering::Relaxed) > 0 => (None, Some(BlockMessage::Failed(error))),
            // The reader treats this as truncated data.
            Err(error) => {
                end.set(PackedEnd::Damaged(Damage::from_error(0, &error)));
                (None, None)
            }
        };
        Self { reader, last, failed_reads, block_bytes, unpacked_bytes: 0, most_bytes, end: end.clone() }
    }
}

impl Iterator for Decompressor {
    type Item = BlockMessage;

    fn next(&mut self) -> Option<BlockMessage> {
        let Some(reader) = &mut self.reader else { return self.last.take() };
        let mut block = vec![0; self.block_bytes];
        let mut filled = 0;
        let mut error = None;
        while filled < block.len() && error.is_none() {
            let end = block.len().min(filled + STEP_BYTES);
            match reader.read(&mut block[filled..end]) {
                Ok(0) => break,
                Ok(len) => filled += len,
                Err(failure) if failure.kind() == io::ErrorKind::Interrupted => {}
                Err(failure) => error = Some(failure),
            }
        }
        let is_full = filled == block.len();
        block.truncate(filled);
        self.unpacked_bytes += filled as u64;
        // Without a final message, the reader treats the data as truncated.
        let is_cut = self.unpacked_bytes > self.most_bytes;
        if is_cut {
            let limit = format!("it is longer than {} bytes, a limit that guards the disk", self.most_bytes);
            error = Some(io::Error::other(limit));
        }
        self.last = match error {
            // The disk failed, not the data.
            Some(failure) if !is_cut && self.failed_reads.load(Ordering::Relaxed) > 0 => {
                Some(BlockMessage::Failed(failure))
            }
            Some(failure) => {
                self.end.set(PackedEnd::Damaged(Damage::from_error(self.unpacked_bytes, &failure)));
                None
            }
            None if !is_full => Some(BlockMessage::End),
            None => None,
        };
        if is_cut || !is_full {
            self.reader = None;
        }
        if filled > 0 { Some(BlockMessage::Block(block)) } else { self.last.take() }
    }
}

/// Unpacks all layers, up to the limit.
fn unpacked(packed: Box<dyn Read + Send>, block_bytes: usize, end: &EndSlot) -> io::Result<Box<dyn Read + Send>> {
    let mut reader = packed;
    for _ in 0..LAYERS_MAX {
        let (head, error) = read_head(&mut reader);
        let packing = Compression::detect(&head);
        reader = Box::new(io::Cursor::new(head).chain(FailedRead(error)).chain(reader));
        match packing {
            None => break,
            Some(packing) => {
                let packed = Box::new(BufReader::with_capacity(block_bytes, reader));
                reader = packing.unpack(packed, block_bytes, end)?;
            }
        }
    }
    Ok(reader)
}

/// Reads the first bytes that identify the compression, or those before an error.
fn read_head(reader: &mut impl Read) -> (Vec<u8>, Option<io::Error>) {
    let (mut head, mut filled) = (vec![0; PACKING_BYTES], 0);
    let error = loop {
        if filled == PACKING_BYTES && begins_like_atrace(&head) {
            head.resize(ATRACE_BYTES, 0);
        }
        match read_some(reader, &mut head[filled..]) {
            Ok(0) => break None,
            Ok(len) => filled += len,
            Err(error) => break Some(error),
        }
    };
    head.truncate(filled);
    (head, error)
}

/// Fails once if there is an error, and is empty otherwise.
struct FailedRead(Option<io::Error>);

impl Read for FailedRead {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// Counts read errors of the file, to distinguish them from damaged data.
struct CountingReader {
    inner: Box<dyn Read + Send>,
    failed_reads: Arc<AtomicU64>,
}

impl Read for CountingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer).inspect_err(|_| {
            self.failed_reads.fetch_add(1, Ordering::Relaxed);
        })
    }
}

/// Decompression on its own thread, or on the caller's.
enum BlockSource {
    /// On its own thread, which stops when this is dropped.
    Thread(Receiver<BlockMessage>),
    Inline(Box<Decompressor>),
}

impl BlockSource {
    fn next(&mut self) -> Option<BlockMessage> {
        match self {
            Self::Thread(blocks) => blocks.recv().ok(),
            Self::Inline(decompressor) => decompressor.next(),
        }
    }
}

/// Reader of decompressed bytes, which arrive in blocks.
pub(crate) struct Blocks {
    source: BlockSource,
    block: Vec<u8>,
    read: usize,
    /// Whether the data ended properly, and was not truncated.
    pub(crate) ended: bool,
    /// The end of the compressed data, if it is before the end of the file.
    pub(crate) end: EndSlot,
}

impl Blocks {
    /// Unpacks on a new thread, parallel to the parser; on the calling thread if the file is small, or if the system
    /// refuses a thread. Input beyond the size limits counts as truncated.
    pub(crate) fn new(packed: Box<dyn Read + Send>, packed_bytes: u64, chunk_limits: ChunkLimits) -> Self {
        let most_bytes = packed_bytes.saturating_mul(UNPACKED_RATIO_MAX).max(UNPACKED_BYTES_MIN);
        let end = EndSlot::default();
        let source = if chunk_limits.is_small(packed_bytes) {
            let block_bytes = chunk_limits.block_bytes.unwrap_or(SMALL_BYTES).max(1);
            BlockSource::Inline(Box::new(Decompressor::new(packed, block_bytes, most_bytes, &end)))
        } else {
            let block_bytes = chunk_limits.block_bytes.unwrap_or(BLOCK_BYTES).max(1);
            let (blocks, receiver) = bounded(BLOCKS_AHEAD);
            count_threads(1);
            let slot = end.clone();
            // Passed only to a running thread, since a thread that cannot be started drops its input.
            let (input, given) = bounded(1);
            let started = threads::start("decompress", move || {
                let Ok(packed) = given.recv() else { return };
                let mut steps = Decompressor::new(packed, block_bytes, most_bytes, &slot);
                // The receiver may be gone.
                steps.try_for_each(|step| blocks.send(step)).ok();
            });
            if started.is_ok() {
                input.send(packed).ok(); // the thread waits for it
                BlockSource::Thread(receiver)
            } else {
                BlockSource::Inline(Box::new(Decompressor::new(packed, block_bytes, most_bytes, &end)))
            }
        };
        Self { source, block: Vec::new(), read: 0, ended: false, end }
    }
}

impl Read for Blocks {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read == self.block.len() {
            match self.source.next() {
                Some(BlockMessage::Block(block)) => (self.block, self.read) = (block, 0),
                Some(BlockMessage::End) => {
                    self.ended = true;
                    return Ok(0);
                }
                Some(BlockMessage::Failed(error)) => return Err(error),
                // The data is truncated, or its end was already returned.
                None => return Ok(0),
            }
        }
        let len = (self.block.len() - self.read).min(buffer.len());
        buffer[..len].copy_from_slice(&self.block[self.read..self.read + len]);
        self.read += len;
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::threads::tests::with_only;
    use crate::formats::ReadContext;
    use crate::formats::input::source::Source;
    use crate::formats::testing::{file_of, gzip};

    #[test]
    fn a_file_is_unpacked_without_a_thread_of_its_own() {
        let text: Vec<u8> = (0..2 * BLOCK_BYTES as u32).flat_map(|number| (number * 7919).to_le_bytes()).collect();
        let file = file_of(&gzip(&text));
        let mut source = with_only(0, || Source::open(file.path(), &ReadContext::default())).expect("a file");
        assert!(!source.is_small());
        let mut found = Vec::new();
        source.read_to_end(&mut found).expect("read");
        assert!(found == text && source.cut_at().is_none());
    }

    #[test]
    fn a_bomb_ends_at_the_limit_with_a_reason() {
        let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
        io::Write::write_all(&mut encoder, &vec![0; 16 << 20]).expect("in memory");
        // Consecutive streams are read as one.
        let bomb = encoder.finish().expect("in memory").repeat(100);
        assert!(bomb.len() < 10_000, "{} bytes", bomb.len());
        let end = EndSlot::default();
        let steps = Decompressor::new(Box::new(io::Cursor::new(bomb)), BLOCK_BYTES, 20 << 20, &end);
        let bytes =
            steps.map(|step| if let BlockMessage::Block(block) = step { block.len() } else { 0 }).sum::<usize>();
        assert_eq!(bytes, (20 << 20) + BLOCK_BYTES);
        assert!(end.damage().is_some_and(|damage| damage.error.contains("a limit that guards the disk")));
    }

    /// The whole text is one block, which must not be lost completely.
    #[test]
    fn data_before_damage_in_a_block_is_unpacked() {
        let text: String = (0..20_000).map(|number| (number * 7919 % 20_011).to_string() + "\n").collect();
        assert!(text.len() < BLOCK_BYTES);
        let mut packed = gzip(text.as_bytes());
        let damaged_at = packed.len() * 9 / 10;
        packed[damaged_at..damaged_at + 64].fill(0xff);
        let file = file_of(&packed);
        let mut source = Source::open(file.path(), &ReadContext::default()).expect("a file");
        let mut found = Vec::new();
        source.read_to_end(&mut found).expect("read");
        assert!(source.cut_at().is_some());
        assert!(found.starts_with(&text.as_bytes()[..text.len() * 8 / 10]), "{} of {}", found.len(), text.len());
    }
}

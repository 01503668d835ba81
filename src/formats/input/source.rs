//! Sequential, decompressed bytes of a file. Reads with `pread` and never maps, since another program may truncate a
//! mapped file. Refuses folders, devices and empty files. Buffers a few MiB at most, whatever the file claims.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::decompress::{Blocks, Compression, read_full, read_some};
use super::lengths::saturating_len;
use super::packed_end::EndSlot;
use crate::base::files::{self, FileKind};
use crate::base::progress::{Progress, Stage};
use crate::formats::reader::SMALL_BYTES;
use crate::formats::{ChunkLimits, ReadContext, ReadError};

/// Number of leading bytes for format detection: enough for the keys that distinguish JSON formats.
pub const HEAD_BYTES: usize = 4096;

/// Number of bytes by which the head of a text grows if it has no known format.
const HEAD_STEP_BYTES: usize = 64 << 10;

/// Number of bytes of a text in which its first record may begin.
pub(crate) const LONG_HEAD_BYTES: usize = HEAD_BYTES + HEAD_STEP_BYTES;

/// An opened file: a reader of its decompressed bytes.
pub struct Source {
    path: PathBuf,
    head: Vec<u8>,
    head_read: usize,
    rest: Remainder,
    offset: u64,
    cut_at: Option<u64>,
    chunk_limits: ChunkLimits,
    /// Length of the file when it was opened, packed or not.
    file_bytes: u64,
}

/// Assumed compression ratio of small packed files; few texts compress better.
const UNPACKED_RATIO: u64 = 16;

enum Remainder {
    Plain(FileReader),
    Blocks(Blocks),
    /// A live stream: a read blocks until there is data, and returns what is available.
    Live(Box<dyn Read + Send>),
}

impl Source {
    /// Opens a file and reads its head. Starts the parsing stage, whose progress counts bytes of the file.
    ///
    /// # Errors
    /// If the path is not a regular file, is empty, or cannot be read.
    pub fn open(path: &Path, context: &ReadContext) -> Result<Self, ReadError> {
        let io_error = |source| ReadError::Io { path: path.to_owned(), offset: 0, source };
        // Checked before opening, since opening a pipe waits for its other end.
        let metadata = std::fs::metadata(path).map_err(io_error)?;
        if files::is_null_device(&metadata) {
            return Err(ReadError::Empty { path: path.to_owned() });
        }
        if !metadata.is_file() {
            return Err(ReadError::NotAFile { path: path.to_owned(), kind: FileKind::from_metadata(&metadata) });
        }
        if metadata.len() == 0 {
            return Err(ReadError::Empty { path: path.to_owned() });
        }
        let file = File::open(path).map_err(io_error)?;
        context.progress.begin(Stage::Parsing, metadata.len());
        let mut reader = FileReader { file, offset: 0, progress: context.progress.clone() };
        let mut head = vec![0; HEAD_BYTES];
        let len = read_full(&mut reader, &mut head).map_err(io_error)?;
        head.truncate(len);
        let (path_owned, rest, chunk_limits) = (path.to_owned(), Remainder::Plain(reader), context.chunk_limits);
        let file_bytes = metadata.len();
        let mut source =
            Self { path: path_owned, head, head_read: 0, rest, offset: 0, cut_at: None, chunk_limits, file_bytes };
        if Compression::detect(&source.head).is_some() {
            source.unpack().map_err(io_error)?;
        }
        if source.head.is_empty() {
            let end = source.packed_end().unwrap_or_default();
            return match end.damage() {
                Some(damage) => {
                    let found = format!("none that can be decompressed: {}", damage.error);
                    Err(ReadError::malformed(path, 0, "compressed data", found))
                }
                None => Err(ReadError::Empty { path: path.to_owned() }),
            };
        }
        Ok(source)
    }

    /// Creates a live stream that starts with `head`. A read of `rest` blocks until there is data, returns what is
    /// available, and returns 0 at the end.
    #[must_use]
    pub(crate) fn live(path: &Path, head: Vec<u8>, rest: Box<dyn Read + Send>, context: &ReadContext) -> Self {
        let (path, rest, chunk_limits) = (path.to_owned(), Remainder::Live(rest), context.chunk_limits);
        Self { path, head, head_read: 0, rest, offset: 0, cut_at: None, chunk_limits, file_bytes: 0 }
    }

    /// Returns whether this is a live stream. Its readers emit what they have before they wait for more.
    #[must_use]
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.rest, Remainder::Live(_))
    }

    /// Returns the path that was opened.
    #[must_use]
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the read size, `usual` at most. It is limited for small files: clearing a large buffer for each of a
    /// million files would take longer than reading them.
    pub(crate) fn block_bytes(&self, usual: usize) -> usize {
        let ratio = if self.is_packed() { UNPACKED_RATIO } else { 1 };
        // One more byte, so that the first read detects the end.
        let likely = saturating_len(self.file_bytes.saturating_mul(ratio).saturating_add(1));
        self.chunk_limits.block_bytes.unwrap_or(usual.min(likely.max(SMALL_BYTES))).max(1)
    }

    /// Returns whether it is read without additional threads.
    pub(crate) fn is_small(&self) -> bool {
        self.chunk_limits.is_small(self.file_bytes)
    }

    /// Returns whether the file is compressed, so that its offsets differ from offsets in its data.
    #[must_use]
    pub(crate) fn is_packed(&self) -> bool {
        matches!(self.rest, Remainder::Blocks(_))
    }

    /// Returns the first bytes, up to [`HEAD_BYTES`], without a byte order mark; reads return all of them again.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        without_mark(&self.head)
    }

    /// Returns the length of the byte order mark, 0 if there is none.
    pub(crate) fn mark_len(&self) -> u64 {
        (self.head.len() - self.head().len()) as u64
    }

    /// Returns the lines at the start of a text, including the line that the head cuts, and a line break. `None` if the
    /// head is the whole file or no text, or if this line is too long. Reads return all bytes again.
    pub(crate) fn read_head_lines(&mut self) -> Result<Option<Vec<u8>>, ReadError> {
        /// Longer lines are skipped by the readers.
        const LINE_BYTES_MAX: usize = 1 << 20;
        if !self.has_longer_text() {
            return Ok(None);
        }
        let mut end = None;
        while end.is_none() && self.head.len() <= HEAD_BYTES + LINE_BYTES_MAX {
            let known = self.head.len();
            let len = self.lengthen_head()?;
            let line_break = memchr::memchr(b'\n', &self.head[known..]).map(|at| known + at);
            end = line_break.or((len < HEAD_STEP_BYTES).then_some(known + len));
        }
        Ok(end.map(|end| [&self.head[..end], b"\n"].concat()))
    }

    /// Returns a longer head of a text, for formats whose first record follows a long beginning. `None` if the head is
    /// the whole file or no text. Reads return all bytes again.
    pub(crate) fn read_long_head(&mut self) -> Result<Option<&[u8]>, ReadError> {
        if !self.has_longer_text() {
            return Ok(None);
        }
        if self.head.len() == HEAD_BYTES {
            self.lengthen_head()?;
        }
        Ok(Some(&self.head[..self.head.len().min(LONG_HEAD_BYTES)]))
    }

    /// Returns whether the head is a part of a text that may be read further.
    fn has_longer_text(&self) -> bool {
        self.head.len() >= HEAD_BYTES && self.head_read == 0 && !self.is_live() && is_text(&self.head)
    }

    /// Appends a step to the head, and returns its length, which is shorter at the end only.
    fn lengthen_head(&mut self) -> Result<usize, ReadError> {
        let known = self.head.len();
        self.head.resize(known + HEAD_STEP_BYTES, 0);
        let read = read_full(&mut self.rest, &mut self.head[known..]);
        self.head.truncate(known + *read.as_ref().unwrap_or(&0));
        read.map_err(|source| ReadError::Io { path: self.path.clone(), offset: known as u64, source })
    }

    /// Returns the offset, in decompressed bytes, at which the data is truncated or damaged; known at its end.
    #[must_use]
    pub fn cut_at(&self) -> Option<u64> {
        self.cut_at
    }

    /// Returns the end of the compressed data, which is known at its end. `None` if the file is not compressed.
    pub(crate) fn packed_end(&self) -> Option<EndSlot> {
        match &self.rest {
            Remainder::Blocks(blocks) => Some(blocks.end.clone()),
            Remainder::Plain(_) | Remainder::Live(_) => None,
        }
    }

    /// Fills `buffer` as far as possible; for a live stream with the available bytes, at least one unless it ends. An
    /// I/O error contains the offset of the failed read.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, ReadError> {
        let filled = if self.is_live() { read_some(self, buffer) } else { read_full(self, buffer) };
        filled.map_err(|source| ReadError::Io { path: self.path.clone(), offset: self.offset, source })
    }

    /// Wraps the file in decompressors.
    fn unpack(&mut self) -> io::Result<()> {
        let Remainder::Plain(reader) = &mut self.rest else { return Ok(()) };
        let file =
            FileReader { file: reader.file.try_clone()?, offset: reader.offset, progress: reader.progress.clone() };
        let packed_bytes = file.file.metadata()?.len();
        let packed: Box<dyn Read + Send> = Box::new(io::Cursor::new(std::mem::take(&mut self.head)).chain(file));
        self.rest = Remainder::Blocks(Blocks::new(packed, packed_bytes, self.chunk_limits));
        let mut head = vec![0; HEAD_BYTES];
        let len = read_full(self, &mut head)?;
        head.truncate(len);
        self.head = head;
        self.offset = 0;
        Ok(())
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let unread = &self.head[self.head_read..];
        let len = if unread.is_empty() {
            let len = self.rest.read(buffer)?;
            if let Remainder::Blocks(blocks) = &self.rest
                && len == 0
                && !buffer.is_empty()
                && !blocks.ended
            {
                self.cut_at = Some(self.offset);
            }
            len
        } else {
            let len = unread.len().min(buffer.len());
            buffer[..len].copy_from_slice(&unread[..len]);
            self.head_read += len;
            len
        };
        self.offset += len as u64;
        Ok(len)
    }
}

impl Read for Remainder {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.read(buffer),
            Self::Live(stream) => stream.read(buffer),
            Self::Blocks(blocks) => blocks.read(buffer),
        }
    }
}

/// A file read by position, which reports progress.
struct FileReader {
    file: File,
    offset: u64,
    progress: Progress,
}

impl Read for FileReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = files::read_at(&self.file, buffer, self.offset)?;
        self.offset += len as u64;
        self.progress.add_bytes(len as u64);
        self.progress.advance(len as u64);
        Ok(len)
    }
}

/// Returns whether the first bytes are text.
pub(crate) fn is_text(head: &[u8]) -> bool {
    // A recorded terminal has escape sequences.
    let is_of_text = |byte: &u8| *byte >= b' ' || byte.is_ascii_whitespace() || *byte == 0x1b;
    head.iter().take(HEAD_BYTES).all(is_of_text)
}

/// Returns the bytes after a byte order mark of UTF-8, or all bytes if there is none.
#[must_use]
pub(crate) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}

/// Length of a whole excerpt.
pub(crate) const EXCERPT_BYTES: usize = 16;

/// Formats the start of some bytes for an error message: as text if possible, else in hexadecimal.
#[must_use]
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let shown = &bytes[..bytes.len().min(EXCERPT_BYTES)];
    if shown.is_empty() {
        return "nothing".to_owned();
    }
    if shown.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) {
        return format!("\"{}\"", String::from_utf8_lossy(shown).escape_debug());
    }
    shown.iter().enumerate().fold(String::new(), |mut text, (position, byte)| {
        let space = if position == 0 { "" } else { " " };
        // Writing to a string cannot fail.
        let _ = write!(text, "{space}{byte:02x}");
        text
    })
}

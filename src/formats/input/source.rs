//! The bytes of a capture from front to back, decompressed. Reads with `pread`, never maps: another program may cut the
//! file under a map. Refuses folders, devices and empty files; holds a few MiB at most, whatever the file claims.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::decompress::{Blocks, Compression, read_full, read_some};
use crate::base::files::{self, FileKind};
use crate::base::progress::{Progress, Stage};
use crate::formats::reader::SMALL_BYTES;
use crate::formats::{ChunkLimits, ReadContext, ReadError};

/// The bytes at the beginning that a format may check: enough for the keys that distinguish JSON formats.
pub const HEAD_BYTES: usize = 4096;

/// An opened capture: a reader of its decompressed bytes.
pub struct Source {
    path: PathBuf,
    head: Vec<u8>,
    head_read: usize,
    rest: Remainder,
    offset: u64,
    cut_at: Option<u64>,
    chunk_limits: ChunkLimits,
    /// The length of the file when it was opened, packed or not.
    file_bytes: u64,
}

/// The assumed ratio of a small packed file's unpacked length to its own: few texts shrink more.
const UNPACKED_RATIO: u64 = 16;

enum Remainder {
    Plain(FileReader),
    Blocks(Blocks),
    /// A stream that still runs: a read waits while there is nothing, and returns what is there.
    Live(Box<dyn Read + Send>),
}

impl Source {
    /// Opens a capture and reads its head. Begins the stage of parsing, whose units are bytes of the file.
    ///
    /// # Errors
    /// When the path is no file, holds nothing, or cannot be read.
    pub fn open(path: &Path, context: &ReadContext) -> Result<Self, ReadError> {
        let io_error = |source| ReadError::Io { path: path.to_owned(), offset: 0, source };
        // Checked before opening, since opening a pipe waits for its other end.
        let metadata = std::fs::metadata(path).map_err(io_error)?;
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
            return match source.cut_at {
                Some(_) => Err(ReadError::Malformed {
                    path: path.to_owned(),
                    offset: 0,
                    expected: "compressed data".to_owned(),
                    found: "none that can be decompressed".to_owned(),
                }),
                None => Err(ReadError::Empty { path: path.to_owned() }),
            };
        }
        Ok(source)
    }

    /// A stream that still runs and whose first bytes are `head`. A read of `rest` waits while there is nothing,
    /// returns what is there, and returns 0 at its end.
    #[must_use]
    pub(crate) fn live(path: &Path, head: Vec<u8>, rest: Box<dyn Read + Send>, context: &ReadContext) -> Self {
        let (path, rest, chunk_limits) = (path.to_owned(), Remainder::Live(rest), context.chunk_limits);
        Self { path, head, head_read: 0, rest, offset: 0, cut_at: None, chunk_limits, file_bytes: 0 }
    }

    /// Whether the stream still runs. Its readers hand on what they have before they wait for more.
    #[must_use]
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.rest, Remainder::Live(_))
    }

    /// The path that was opened.
    #[must_use]
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// How many bytes to read at once, where `usual` is the usual number. Not many more than a small file has: clearing
    /// a buffer for each of a million files would take longer than reading them.
    pub(crate) fn block_bytes(&self, usual: usize) -> usize {
        let ratio = if self.is_packed() { UNPACKED_RATIO } else { 1 };
        // One more, so that the end is seen by the first read.
        let likely = usize::try_from(self.file_bytes.saturating_mul(ratio).saturating_add(1)).unwrap_or(usize::MAX);
        self.chunk_limits.block_bytes.unwrap_or(usual.min(likely.max(SMALL_BYTES))).max(1)
    }

    /// Whether it is read without threads of its own.
    pub(crate) fn is_small(&self) -> bool {
        self.chunk_limits.is_small(self.file_bytes)
    }

    /// Whether the file is compressed, so that its bytes are not those of the capture.
    #[must_use]
    pub(crate) fn is_packed(&self) -> bool {
        matches!(self.rest, Remainder::Blocks(_))
    }

    /// The first bytes, up to [`HEAD_BYTES`]; they are read again from the beginning.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The offset, in decompressed bytes, at which the data are cut or damaged; known at their end.
    #[must_use]
    pub fn cut_at(&self) -> Option<u64> {
        self.cut_at
    }

    /// Fills `buffer` as far as there are bytes; of a live stream, with what is there, at least one byte before its
    /// end. An I/O error has the offset at which the system refused.
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
        self.rest = Remainder::Blocks(Blocks::new(packed, packed_bytes, self.chunk_limits)?);
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
            match &mut self.rest {
                Remainder::Plain(file) => file.read(buffer)?,
                Remainder::Live(stream) => stream.read(buffer)?,
                Remainder::Blocks(blocks) => {
                    let len = blocks.read(buffer)?;
                    if len == 0 && !buffer.is_empty() && !blocks.ended {
                        self.cut_at = Some(self.offset);
                    }
                    len
                }
            }
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

/// A file read by position, which counts the progress.
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

/// The beginning of some bytes for an error: as text where they are, else in hexadecimal.
#[must_use]
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    const SHOWN_BYTES: usize = 16;
    let shown = &bytes[..bytes.len().min(SHOWN_BYTES)];
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

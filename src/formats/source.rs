//! The bytes of a capture from front to back, decompressed. Reads with `pread`, never maps: another program may cut the
//! file under a map. Refuses folders, devices and empty files; holds a few MiB at most, whatever the file claims.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::{ReadContext, ReadError};
use crate::base::progress::{Progress, Stage};

/// How much of the beginning a format may look at: enough for the keys that JSON formats are told apart by.
pub const HEAD_BYTES: usize = 4096;

/// Decompressed bytes that pass between threads at once: large enough that passing them costs nothing.
const BLOCK_BYTES: usize = 256 * 1024;

/// Blocks that may wait for the parser: the decompressor runs on while one batch is parsed.
const BLOCKS_AHEAD: usize = 8;

/// A gzip of a zstd is a habit; a third layer is an accident or an attack.
const LAYERS_MAX: usize = 2;

/// An opened capture: a reader of its decompressed bytes.
pub struct Source {
    path: PathBuf,
    head: Vec<u8>,
    head_read: usize,
    rest: Rest,
    offset: u64,
    cut_at: Option<u64>,
}

enum Rest {
    Plain(FileReader),
    Blocks(Blocks),
}

impl Source {
    /// Opens a capture and reads its head. Begins the stage of parsing, whose units are bytes of the file.
    ///
    /// # Errors
    /// When the path is no file, holds nothing, or cannot be read.
    pub fn open(path: &Path, context: &ReadContext) -> Result<Self, ReadError> {
        let io_error = |source| ReadError::Io { path: path.to_owned(), offset: 0, source };
        // Asked before opening: to open a pipe is to wait for its other end.
        let metadata = std::fs::metadata(path).map_err(io_error)?;
        if !metadata.is_file() {
            return Err(ReadError::NotAFile { path: path.to_owned() });
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
        let mut source =
            Self { path: path.to_owned(), head, head_read: 0, rest: Rest::Plain(reader), offset: 0, cut_at: None };
        if Packing::of(&source.head).is_some() {
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

    /// The path that was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The first bytes, up to [`HEAD_BYTES`]; they are read again from the beginning.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Where the compressed data turned out to be cut or damaged, as an offset in the decompressed bytes; known at their end.
    #[must_use]
    pub fn cut_at(&self) -> Option<u64> {
        self.cut_at
    }

    /// Fills `buffer` as far as there are bytes.
    ///
    /// # Errors
    /// [`ReadError::Io`] with the offset at which the system refused.
    pub fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, ReadError> {
        read_full(self, buffer).map_err(|source| ReadError::Io { path: self.path.clone(), offset: self.offset, source })
    }

    /// Puts the file behind decompressors, on a thread of their own so that they work while the parser does.
    fn unpack(&mut self) -> io::Result<()> {
        let Rest::Plain(reader) = &mut self.rest else { return Ok(()) };
        let file =
            FileReader { file: reader.file.try_clone()?, offset: reader.offset, progress: reader.progress.clone() };
        let packed: Box<dyn Read + Send> = Box::new(io::Cursor::new(std::mem::take(&mut self.head)).chain(file));
        let (blocks, receiver) = bounded(BLOCKS_AHEAD);
        std::thread::Builder::new().name("decompress".into()).spawn(move || decompress(packed, &blocks))?;
        self.rest = Rest::Blocks(Blocks { receiver, block: Vec::new(), read: 0, ended: false });
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
                Rest::Plain(file) => file.read(buffer)?,
                Rest::Blocks(blocks) => {
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

/// Reads until `buffer` is full or the bytes end.
fn read_full(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
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

/// A file read by position. What it reads is what the progress counts.
struct FileReader {
    file: File,
    offset: u64,
    progress: Progress,
}

impl Read for FileReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = read_at(&self.file, buffer, self.offset)?;
        self.offset += len as u64;
        self.progress.add_bytes(len as u64);
        self.progress.advance(len as u64);
        Ok(len)
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

/// How bytes are packed, by their first ones.
#[derive(Debug, Clone, Copy)]
enum Packing {
    Gzip,
    Zstd,
}

impl Packing {
    fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, 8, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            _ => None,
        }
    }

    /// Concatenated gzip members and zstd frames are one stream. The window of a zstd frame is at most 128 MiB, which is
    /// what its highest level uses.
    fn unpack(self, packed: Box<dyn BufRead + Send>) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(packed)),
            Self::Zstd => Box::new(zstd::Decoder::with_buffer(packed)?),
        })
    }
}

/// What the decompressing thread sends: blocks, then the end unless the data are cut.
enum Sent {
    Block(Vec<u8>),
    End,
    Failed(io::Error),
}

fn decompress(packed: Box<dyn Read + Send>, blocks: &Sender<Sent>) {
    let failed_reads = Arc::new(AtomicU64::new(0));
    let watched = Box::new(Watched { inner: packed, failed_reads: failed_reads.clone() });
    let send = |sent| blocks.send(sent).is_ok();
    let mut reader = match unpacked(watched) {
        Ok(reader) => reader,
        Err(error) => {
            if failed_reads.load(Ordering::Relaxed) > 0 {
                send(Sent::Failed(error));
            }
            return; // the reader sees data that are cut
        }
    };
    loop {
        let mut block = vec![0; BLOCK_BYTES];
        let mut filled = 0;
        let mut error = None;
        while filled < block.len() && error.is_none() {
            match reader.read(&mut block[filled..]) {
                Ok(0) => break,
                Ok(len) => filled += len,
                Err(failure) if failure.kind() == io::ErrorKind::Interrupted => {}
                Err(failure) => error = Some(failure),
            }
        }
        let is_full = filled == block.len();
        block.truncate(filled);
        if filled > 0 && !send(Sent::Block(block)) {
            return; // nobody listens any more
        }
        match error {
            // The disk failed, rather than the data.
            Some(failure) if failed_reads.load(Ordering::Relaxed) > 0 => {
                send(Sent::Failed(failure));
                return;
            }
            Some(_) => return,
            None if !is_full => {
                send(Sent::End);
                return;
            }
            None => {}
        }
    }
}

/// Unpacks as many layers as there are, up to the limit.
fn unpacked(packed: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    let mut reader = packed;
    for _ in 0..LAYERS_MAX {
        let mut head = vec![0; 4];
        let len = read_full(&mut reader, &mut head)?;
        head.truncate(len);
        let packing = Packing::of(&head);
        reader = Box::new(io::Cursor::new(head).chain(reader));
        match packing {
            None => break,
            Some(packing) => reader = packing.unpack(Box::new(BufReader::with_capacity(BLOCK_BYTES, reader)))?,
        }
    }
    Ok(reader)
}

/// Counts failures of the file itself, to tell them from those of the data.
struct Watched {
    inner: Box<dyn Read + Send>,
    failed_reads: Arc<AtomicU64>,
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer).inspect_err(|_| {
            self.failed_reads.fetch_add(1, Ordering::Relaxed);
        })
    }
}

/// The receiving end of the decompressing thread, which stops when this is dropped.
struct Blocks {
    receiver: Receiver<Sent>,
    block: Vec<u8>,
    read: usize,
    ended: bool,
}

impl Read for Blocks {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read == self.block.len() {
            match self.receiver.recv() {
                Ok(Sent::Block(block)) => (self.block, self.read) = (block, 0),
                Ok(Sent::End) => {
                    self.ended = true;
                    return Ok(0);
                }
                Ok(Sent::Failed(error)) => return Err(error),
                // The data are cut, or the end was already seen.
                Err(_) => return Ok(0),
            }
        }
        let len = (self.block.len() - self.read).min(buffer.len());
        buffer[..len].copy_from_slice(&self.block[self.read..self.read + len]);
        self.read += len;
        Ok(len)
    }
}

/// The beginning of some bytes for an error: as text where they are, else in hexadecimal.
#[must_use]
pub fn excerpt(bytes: &[u8]) -> String {
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

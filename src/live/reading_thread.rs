//! The thread that reads the bytes of a source, because a blocking read cannot be interrupted. It writes them to the
//! spool first. Nothing is dropped: while the receiver is busy, the thread blocks, or sends the spooled bytes later.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, Sender, TrySendError, bounded};

use super::lag::Lag;
use super::source_note::{Say, SourceNote};
use super::spool_files::{SpoolError, SpoolPart};
use super::stoppable_stream::{CONNECTION_SILENCE, ENDS_ITSELF, LAST_SILENCE, Readable, StoppableStream};
use crate::base::cancel::Cancel;
use crate::base::files::{self, FileKind};
use crate::base::threads;

/// Bytes per read: the capacity of a pipe.
pub(super) const BLOCK_BYTES: usize = 64 << 10;

/// Bytes per read of one of many connections: together they stay within the memory of a few pipes.
const CONNECTION_BLOCK_BYTES: usize = 16 << 10;

/// Interval at which files are checked for more bytes, and waits for cancellation.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Error of reading a source.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArrivalError {
    #[error("{}: cannot open: {source}", path.display())]
    Open { path: PathBuf, source: io::Error },
    /// A file that may appear is waited for, but not its folder.
    #[error("{}: its folder does not exist: create it, or correct the path; only a file is waited for", path.display())]
    NoFolder { path: PathBuf },
    #[error("{}: is {kind}, and only files, pipes and the output of commands can be followed", path.display())]
    NoStream { path: PathBuf, kind: FileKind },
    #[error("{}: cannot be started: {source}", path.display())]
    Start { path: PathBuf, source: io::Error },
    #[error("{address}: cannot listen: {source}")]
    Listen { address: String, source: io::Error },
    #[error("{}: cannot read: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}: cannot write the received data: {source}", path.display())]
    Spool { path: PathBuf, source: io::Error },
    /// The user's limit, which is not a failure.
    #[error("the {bytes_max} bytes of --disk-cap are used up: the recording ends")]
    DiskCap { bytes_max: u64 },
}

/// A message of the reading thread.
pub(super) enum Arrival {
    Bytes(Vec<u8>),
    /// The following bytes are another trace: the file was replaced or truncated.
    NewTrace,
    Failed(ArrivalError),
}

/// Whether a source that is faster than the ordering of its rows is blocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    Waits,
    /// The source may be far ahead of its snapshots.
    RunsAhead,
}

/// The state of the reading thread.
pub(super) struct ReadingThread {
    pub(super) path: PathBuf,
    pub(super) out: Sender<Arrival>,
    pub(super) stop: Cancel,
    pub(super) say: Say,
    bytes: Arc<AtomicU64>,
    spool: Option<SpoolPart>,
    /// Set once the source is ahead of the receiver, which then gets the bytes of the spool.
    lag: Option<Arc<Lag>>,
    /// Set while the thread reads something that has an end, so that it ends by itself after a request to stop.
    pub(super) ends_itself: Arc<AtomicBool>,
}

impl ReadingThread {
    /// Creates the state of a thread that sends to `out`, and counts the bytes that it sends in `bytes`.
    pub(super) fn new(
        path: PathBuf,
        out: Sender<Arrival>,
        stop: &Cancel,
        say: &Say,
        spool: Option<SpoolPart>,
        bytes: &Arc<AtomicU64>,
    ) -> Self {
        let (stop, say, bytes) = (stop.clone(), Arc::clone(say), Arc::clone(bytes));
        Self { path, out, stop, say, bytes, spool, lag: None, ends_itself: Arc::default() }
    }

    /// Waits until something exists at the path. Returns false if the session stops first.
    pub(super) fn wait_for_file(&self) -> bool {
        let text = format!("{}: does not exist yet; waiting for it", self.path.display());
        (self.say)(SourceNote::passing(text));
        while fs::metadata(&self.path).is_err() {
            if self.stop.is_cancelled() {
                return false;
            }
            thread::sleep(LOOK_EVERY);
        }
        true
    }

    /// Reads the path to its end: a file until the session stops, a pipe until its other end closes.
    pub(super) fn read_path(mut self, pace: Pace) {
        let path = self.path.clone();
        let opened = self.open().and_then(|file| Ok((file.metadata()?, file)));
        match opened {
            Ok((metadata, file)) if metadata.is_file() => self.follow(file, pace),
            Ok((metadata, stream)) => match refused_kind(&metadata) {
                Some(kind) => self.fail(ArrivalError::NoStream { path, kind }),
                None => {
                    self.read(stream, LAST_SILENCE, BLOCK_BYTES, pace);
                }
            },
            Err(source) => self.fail(ArrivalError::Open { path, source }),
        }
    }

    /// Opens the path. Says so if it is a pipe that no program writes to yet.
    fn open(&self) -> io::Result<File> {
        /// Time for which a writer is waited for without a word.
        const PATIENCE: Duration = Duration::from_secs(1);
        let (opened, waiting) = bounded::<()>(0);
        let (say, text) =
            (Arc::clone(&self.say), format!("{}: waiting for a program that writes to it", self.path.display()));
        let watch = move || {
            if waiting.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                say(SourceNote::passing(text));
            }
        };
        threads::start("wait", watch).ok(); // only the sentence is missing
        let file = File::open(&self.path);
        drop(opened);
        file
    }

    /// Spools bytes, and sends them to the parser. Returns false if spooling fails, or once the receiver is gone.
    pub(super) fn hand_on(&mut self, block: Vec<u8>) -> bool {
        self.keep(&block) && self.send(block)
    }

    /// Writes bytes to the spool. Returns false on failure.
    pub(super) fn keep(&mut self, block: &[u8]) -> bool {
        let Some(spool) = &mut self.spool else { return true };
        let error = match spool.write(block) {
            Ok(()) => return true,
            Err(SpoolError::Write(path, source)) => ArrivalError::Spool { path, source },
            Err(SpoolError::Full { bytes_max }) => ArrivalError::DiskCap { bytes_max },
        };
        self.fail(error);
        false
    }

    /// Sends spooled bytes to the parser. Returns false once the receiver is gone.
    pub(super) fn send(&self, block: Vec<u8>) -> bool {
        self.bytes.fetch_add(block.len() as u64, Ordering::Relaxed);
        self.out.send(Arrival::Bytes(block)).is_ok()
    }

    /// Spools bytes and sends them to the parser, now or later. Returns false if spooling fails, or once the receiver
    /// is gone.
    pub(super) fn receive(&mut self, block: Vec<u8>, pace: Pace) -> bool {
        match pace {
            Pace::Waits => self.hand_on(block),
            Pace::RunsAhead => self.keep(&block) && self.send_or_lag(block),
        }
    }

    /// Returns whether the source is recorded.
    pub(super) fn is_spooled(&self) -> bool {
        self.spool.is_some()
    }

    /// Sends the backlog of a busy receiver, unless it is very long.
    pub(super) fn end_lag(&mut self) {
        if let Some(lag) = self.lag.take() {
            lag.end();
        }
    }

    /// Sends spooled bytes, through the lag reader once the receiver is busy. Returns false once the receiver is gone.
    fn send_or_lag(&mut self, block: Vec<u8>) -> bool {
        let bytes = block.len() as u64;
        if let Some(lag) = &self.lag {
            return lag.grow(bytes);
        }
        let Some(spool) = &self.spool else { return self.send(block) };
        match self.out.try_send(Arrival::Bytes(block)) {
            Ok(()) => {
                self.bytes.fetch_add(bytes, Ordering::Relaxed);
                return true;
            }
            Err(TrySendError::Disconnected(_)) => return false,
            Err(TrySendError::Full(_)) => {}
        }
        let (path, kept_bytes) = (spool.path().to_owned(), spool.file_bytes());
        let (out, counted, failed) = (self.out.clone(), Arc::clone(&self.bytes), path.clone());
        let send = move |read: io::Result<Vec<u8>>| match read {
            Ok(block) => {
                counted.fetch_add(block.len() as u64, Ordering::Relaxed);
                out.send(Arrival::Bytes(block)).is_ok()
            }
            Err(source) => out.send(Arrival::Failed(ArrivalError::Read { path: failed.clone(), source })).is_ok(),
        };
        match Lag::start(&path, kept_bytes - bytes, kept_bytes, send) {
            Ok(lag) => self.lag = Some(lag),
            Err(source) => {
                self.fail(ArrivalError::Read { path, source });
                return false;
            }
        }
        true
    }

    pub(super) fn fail(&self, error: ArrivalError) {
        self.out.send(Arrival::Failed(error)).ok(); // the receiver may be gone
    }

    /// Starts another trace of the source, in its own spool file. Returns false once the receiver is gone.
    pub(super) fn begin_trace(&mut self) -> bool {
        // The bytes of the previous trace come first.
        if let Some(lag) = self.lag.take() {
            lag.end();
            lag.wait();
        }
        if let Some(spool) = &mut self.spool {
            spool.next();
        }
        self.out.send(Arrival::NewTrace).is_ok()
    }

    /// Reads a connection to its end.
    pub(super) fn read_connection(&mut self, stream: impl Readable) {
        self.read(stream, CONNECTION_SILENCE, CONNECTION_BLOCK_BYTES, Pace::Waits);
    }

    /// Reads a stream. After a request to stop, it ends at a silence of this length. Returns false if reading stops
    /// before the end of the stream.
    pub(super) fn read(
        &mut self,
        stream: impl Readable,
        last_silence: Duration,
        block_bytes: usize,
        pace: Pace,
    ) -> bool {
        self.ends_itself.store(ENDS_ITSELF, Ordering::Relaxed);
        let mut stream = StoppableStream::new(stream, &self.stop, last_silence);
        let is_at_end = self.read_blocks(&mut stream, block_bytes, pace) && !stream.has_stopped();
        self.end_lag();
        is_at_end
    }

    fn read_blocks(&mut self, stream: &mut impl Read, block_bytes: usize, pace: Pace) -> bool {
        loop {
            let mut block = vec![0; block_bytes];
            match stream.read(&mut block) {
                Ok(0) => return true,
                Ok(len) => {
                    block.truncate(len);
                    if !self.receive(block, pace) {
                        return false;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    self.fail(ArrivalError::Read { path: self.path.clone(), source });
                    return false;
                }
            }
        }
    }
}

/// Returns the kind of a folder or device, which cannot be streamed; `None` for others, and for the null device, which
/// has an end.
pub(super) fn refused_kind(metadata: &Metadata) -> Option<FileKind> {
    let kind = FileKind::from_metadata(metadata);
    let is_stream = match kind {
        FileKind::File | FileKind::Pipe | FileKind::Socket => true,
        FileKind::Device => files::is_null_device(metadata),
        FileKind::Folder => false,
    };
    (!is_stream).then_some(kind)
}

//! Reads the bytes of a source as they arrive: stdin, a pipe, a growing file, the output of a command, a connection. A
//! thread reads them, because a blocking read cannot be interrupted. Nothing is dropped: while the receiver is busy,
//! the thread blocks, or sends the spooled bytes later.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};

use super::lag::Lag;
use super::source_note::{Say, SourceNote};
use super::spool_files::{SpoolError, SpoolPart};
use super::started_command::StartedCommand;
use crate::base::cancel::Cancel;
use crate::base::files::{self, FileKind};
use crate::base::threads;
use crate::model::Input;

/// Bytes per read: the capacity of a pipe.
pub(super) const BLOCK_BYTES: usize = 64 << 10;

/// Blocks queued for the parser.
const BLOCKS_AHEAD: usize = 8;

/// Bytes per read of one of many connections: together they stay within the memory of a few pipes.
const CONNECTION_BLOCK_BYTES: usize = 16 << 10;
const CONNECTION_BLOCKS_AHEAD: usize = 2;

/// Interval at which files are checked for more bytes, and waits for cancellation.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Time for which small reads are collected, so that a thousand lines per second are not a thousand batches.
const COLLECT_FOR: Duration = Duration::from_millis(5);

/// Limit below which reads are collected.
const DRIBBLE_BYTES: usize = 16 << 10;

/// Silence after which a source has ended, once a stop was requested.
const LAST_SILENCE: Duration = Duration::from_millis(200);

/// Time that sources have to finish after a request to stop.
const LAST_WORDS: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LiveInput {
    Input(Input),
    /// A program with its arguments, whose output is read.
    Command(Vec<OsString>),
    /// A socket at this path; each connection is a source.
    Socket(PathBuf),
    /// Requests of OpenTelemetry exporters, at this port of the loopback address.
    Otlp {
        port: u16,
    },
}

impl LiveInput {
    /// Returns whether spans arrive in batches some seconds after they ended.
    pub(super) fn sends_batches(&self) -> bool {
        matches!(self, Self::Otlp { .. })
    }

    pub(crate) fn name(&self) -> PathBuf {
        match self {
            Self::Input(input) => input.path().to_owned(),
            Self::Command(words) => words.first().map(PathBuf::from).unwrap_or_default(),
            Self::Socket(path) => path.clone(),
            Self::Otlp { .. } => "OTLP".into(),
        }
    }
}

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
enum Arrival {
    Bytes(Vec<u8>),
    /// The following bytes are another trace: the file was replaced or truncated.
    NewTrace,
    Failed(ArrivalError),
}

/// The receiving side of a source.
pub(crate) struct Arrivals {
    received: Receiver<Arrival>,
    stop: Cancel,
    stopped: Option<Instant>,
    last_came: Instant,
    /// The last received block, and the number of its bytes that are taken.
    block: Vec<u8>,
    taken: usize,
    /// Allowed silence of a source after a request to stop.
    last_silence: Duration,
    /// Whether the reading thread ends by itself after a request to stop.
    ends_itself: Arc<AtomicBool>,
    end: Arc<StreamEnd>,
    /// The end was reached while earlier bytes were being collected.
    pub(super) has_met_end: bool,
    bytes: Arc<AtomicU64>,
}

/// How the stream of a trace ended.
#[derive(Debug, Default)]
pub(crate) struct StreamEnd {
    /// Whether another trace follows in the same stream.
    is_followed: AtomicBool,
    error: std::sync::Mutex<Option<ArrivalError>>,
}

impl StreamEnd {
    /// Returns whether another trace follows. Resets that, for the end of the next trace.
    pub(crate) fn is_followed(&self) -> bool {
        self.is_followed.swap(false, Ordering::Relaxed)
    }

    pub(crate) fn take_error(&self) -> Option<ArrivalError> {
        self.error.lock().ok()?.take()
    }
}

/// The state of the reading thread.
pub(super) struct ReadingThread {
    pub(super) path: PathBuf,
    out: Sender<Arrival>,
    pub(super) stop: Cancel,
    pub(super) say: Say,
    bytes: Arc<AtomicU64>,
    spool: Option<SpoolPart>,
    /// Set once the source is ahead of the receiver, which then gets the bytes of the spool.
    lag: Option<Arc<Lag>>,
    /// Set while the thread reads something that has an end, so that it ends by itself after a request to stop.
    pub(super) ends_itself: Arc<AtomicBool>,
}

/// Whether a source that is faster than the ordering of its rows is blocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    Waits,
    /// The source may be far ahead of its snapshots.
    RunsAhead,
}

/// Creates both ends of a source, whose bytes are first written to `spool`.
fn ends(path: PathBuf, stop: &Cancel, say: &Say, spool: Option<SpoolPart>, blocks: usize) -> (ReadingThread, Arrivals) {
    let (out, received) = bounded(blocks);
    let bytes = Arc::<AtomicU64>::default();
    let ends_itself = Arc::<AtomicBool>::default();
    let thread = ReadingThread {
        path,
        out,
        stop: stop.clone(),
        say: Arc::clone(say),
        bytes: Arc::clone(&bytes),
        spool,
        lag: None,
        ends_itself: Arc::clone(&ends_itself),
    };
    let arrivals = Arrivals {
        received,
        stop: stop.clone(),
        stopped: None,
        last_came: Instant::now(),
        block: Vec::new(),
        taken: 0,
        last_silence: LAST_SILENCE,
        ends_itself,
        end: Arc::default(),
        has_met_end: false,
        bytes,
    };
    (thread, arrivals)
}

/// Starts to read a connection, by `read` on its own thread.
pub(super) fn start_connection(
    path: PathBuf,
    stop: &Cancel,
    say: &Say,
    spool: Option<SpoolPart>,
    read: Box<dyn FnOnce(ReadingThread) + Send>,
) -> Arrivals {
    let (thread, mut arrivals) = ends(path, stop, say, spool, CONNECTION_BLOCKS_AHEAD);
    // A silent connection times out by itself.
    arrivals.last_silence = LAST_WORDS;
    let (out, path) = (thread.out.clone(), thread.path.clone());
    if let Err(source) = threads::start("receive", move || read(thread)) {
        out.send(Arrival::Failed(ArrivalError::Read { path, source })).ok(); // the receiver exists, and is empty
    }
    arrivals
}

/// Starts to read a source that is not a listener. Its bytes are first written to `spool`. Returns an error if there is
/// nothing to read from.
pub(super) fn start(
    input: &LiveInput,
    stop: &Cancel,
    say: &Say,
    spool: Option<SpoolPart>,
    pace: Pace,
) -> Result<(Arrivals, Option<StartedCommand>), ArrivalError> {
    let path = input.name();
    let (mut thread, mut arrivals) = ends(path.clone(), stop, say, spool, BLOCKS_AHEAD);
    let mut started = None;
    match input {
        LiveInput::Input(Input::Stdin(_)) => {
            start_thread(&path, move || {
                thread.read(io::stdin().lock(), BLOCK_BYTES, pace);
            })?;
        }
        LiveInput::Input(Input::File(_) | Input::Fd(_)) => match fs::metadata(&path) {
            Ok(metadata) if FileKind::from_metadata(&metadata) == FileKind::File => {
                let file = File::open(&path).map_err(|source| ArrivalError::Open { path: path.clone(), source })?;
                start_thread(&path, move || thread.follow(file, pace))?;
            }
            Ok(metadata) => match refused_kind(&metadata) {
                Some(kind) => return Err(ArrivalError::NoStream { path, kind }),
                // Opening a pipe waits for its other end, so the thread opens it.
                None => start_thread(&path, move || thread.read_path(pace))?,
            },
            Err(source) if source.kind() == io::ErrorKind::NotFound && has_folder(&path) => {
                start_thread(&path, move || {
                    if thread.wait_for_file() {
                        thread.read_path(pace);
                    }
                })?;
            }
            Err(source) if source.kind() == io::ErrorKind::NotFound => return Err(ArrivalError::NoFolder { path }),
            Err(source) => return Err(ArrivalError::Open { path, source }),
        },
        LiveInput::Command(words) => {
            let (mut child, command) =
                StartedCommand::start(words).map_err(|source| ArrivalError::Start { path: path.clone(), source })?;
            let end = command.end();
            started = Some(command);
            arrivals.last_silence = LAST_WORDS;
            start_thread(&path, move || {
                let output = child.stdout.take();
                let is_at_end = output.is_some_and(|output| thread.read(output, BLOCK_BYTES, pace));
                if is_at_end {
                    end.set();
                }
                thread.wait_for(&mut child, is_at_end);
                end.set_waited();
            })?;
        }
        LiveInput::Socket(_) | LiveInput::Otlp { .. } => {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "each of its connections is a source");
            return Err(ArrivalError::Listen { address: path.display().to_string(), source });
        }
    }
    Ok((arrivals, started))
}

/// Starts the thread that reads a source.
fn start_thread(path: &Path, read: impl FnOnce() + Send + 'static) -> Result<(), ArrivalError> {
    let started = threads::start("receive", read);
    started.map(drop).map_err(|source| ArrivalError::Read { path: path.to_owned(), source })
}

/// Returns the kind of a folder or device, which cannot be streamed; `None` for others, and for the null device, which
/// has an end.
fn refused_kind(metadata: &Metadata) -> Option<FileKind> {
    let kind = FileKind::from_metadata(metadata);
    let is_stream = match kind {
        FileKind::File | FileKind::Pipe | FileKind::Socket => true,
        FileKind::Device => files::is_null_device(metadata),
        FileKind::Folder => false,
    };
    (!is_stream).then_some(kind)
}

/// Returns whether the folder of `path` exists. A file can appear in it; a missing folder is more likely a mistyped
/// path.
fn has_folder(path: &Path) -> bool {
    path.parent().is_some_and(|folder| folder.as_os_str().is_empty() || folder.is_dir())
}

impl ReadingThread {
    /// Waits until something exists at the path. Returns false if the session stops first.
    fn wait_for_file(&self) -> bool {
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
    fn read_path(mut self, pace: Pace) {
        let path = self.path.clone();
        let opened = self.open().and_then(|file| Ok((file.metadata()?, file)));
        match opened {
            Ok((metadata, file)) if metadata.is_file() => self.follow(file, pace),
            Ok((metadata, stream)) => match refused_kind(&metadata) {
                Some(kind) => self.fail(ArrivalError::NoStream { path, kind }),
                None => {
                    self.read(stream, BLOCK_BYTES, pace);
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
    pub(super) fn read_connection(&mut self, stream: impl Read) {
        self.read(stream, CONNECTION_BLOCK_BYTES, Pace::Waits);
    }

    /// Reads a stream. Returns false if that stops before its end.
    fn read(&mut self, stream: impl Read, block_bytes: usize, pace: Pace) -> bool {
        let is_at_end = self.read_blocks(stream, block_bytes, pace);
        self.end_lag();
        is_at_end
    }

    fn read_blocks(&mut self, mut stream: impl Read, block_bytes: usize, pace: Pace) -> bool {
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

    /// Waits for the end of a program, and reports a failure, unless its output was closed before its end.
    fn wait_for(&self, child: &mut Child, is_at_end: bool) {
        if let Ok(status) = child.wait()
            && !status.success()
            && is_at_end
            && !self.stop.is_cancelled()
        {
            (self.say)(SourceNote::lasting(format!("{}: ended with {status}", self.path.display())));
        }
    }
}

/// The result of waiting for bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitResult {
    Bytes,
    Nothing,
    /// The stream of this trace has ended.
    End,
}

impl Arrivals {
    pub(crate) fn end(&self) -> Arc<StreamEnd> {
        Arc::clone(&self.end)
    }

    /// Returns the counter of all bytes that have arrived.
    pub(crate) fn counter(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.bytes)
    }

    /// Waits for bytes, up to a time limit.
    pub(crate) fn wait(&mut self, most: Duration) -> WaitResult {
        let until = Instant::now() + most;
        if std::mem::take(&mut self.has_met_end) {
            return WaitResult::End;
        }
        while self.taken == self.block.len() {
            let left = until.saturating_duration_since(Instant::now());
            match self.received.recv_timeout(left.min(LOOK_EVERY)) {
                Ok(Arrival::Bytes(block)) => {
                    (self.block, self.taken) = (block, 0);
                    self.last_came = Instant::now();
                }
                Ok(Arrival::NewTrace) => {
                    self.end.is_followed.store(true, Ordering::Relaxed);
                    return WaitResult::End;
                }
                Ok(Arrival::Failed(error)) => {
                    if let Ok(mut slot) = self.end.error.lock() {
                        *slot = Some(error);
                    }
                    return WaitResult::End;
                }
                Err(RecvTimeoutError::Disconnected) => return WaitResult::End,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.stop.is_cancelled() && !self.ends_itself.load(Ordering::Relaxed) {
                let stopped = *self.stopped.get_or_insert_with(Instant::now);
                let silence = self.last_came.max(stopped).elapsed();
                if silence >= self.last_silence || stopped.elapsed() >= LAST_WORDS {
                    return WaitResult::End;
                }
            }
            if left.is_zero() && self.taken == self.block.len() {
                return WaitResult::Nothing;
            }
        }
        WaitResult::Bytes
    }

    /// Copies bytes that have arrived to `buffer`, and returns their number. Does not wait.
    pub(crate) fn take_bytes(&mut self, buffer: &mut [u8]) -> usize {
        let len = (self.block.len() - self.taken).min(buffer.len());
        buffer[..len].copy_from_slice(&self.block[self.taken..self.taken + len]);
        self.taken += len;
        len
    }
}

/// Reads the bytes of one trace as they arrive; its end is the end of the stream.
pub(crate) struct ArrivalReader {
    pub(crate) arrivals: Arc<std::sync::Mutex<Arrivals>>,
    pub(crate) collected: Option<Instant>,
}

impl Read for ArrivalReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let lost = |_| io::Error::other("the thread that reads has panicked");
        let mut arrivals = self.arrivals.lock().map_err(lost)?;
        loop {
            match arrivals.wait(Duration::from_hours(1)) {
                WaitResult::End => return Ok(0),
                WaitResult::Nothing => continue,
                WaitResult::Bytes => {}
            }
            if let Some(last) = self.collected
                && arrivals.block.len() - arrivals.taken < DRIBBLE_BYTES
            {
                thread::sleep(COLLECT_FOR.saturating_sub(last.elapsed()));
            }
            let mut filled = arrivals.take_bytes(buffer);
            // Takes the rest of the available bytes. An end is left for the next read to report.
            while filled < buffer.len() && filled < DRIBBLE_BYTES && !arrivals.received.is_empty() {
                match arrivals.wait(Duration::ZERO) {
                    WaitResult::Bytes => filled += arrivals.take_bytes(&mut buffer[filled..]),
                    WaitResult::Nothing => break,
                    WaitResult::End => {
                        arrivals.has_met_end = true;
                        break;
                    }
                }
            }
            self.collected = Some(Instant::now());
            return Ok(filled);
        }
    }
}

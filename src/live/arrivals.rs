//! Receives the bytes of a source as they arrive: stdin, a pipe, a growing file, the output of a command, a connection.
//! A [`ReadingThread`] reads them.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};

use super::reading_thread::{Arrival, ArrivalError, BLOCK_BYTES, LOOK_EVERY, Pace, ReadingThread, refused_kind};
use super::source_note::{Say, SourceNote};
use super::spool_files::SpoolPart;
use super::started_command::{CommandEnd, StartedCommand};
use super::stoppable_stream::{LAST_SILENCE, LAST_WORDS};
use crate::base::cancel::Cancel;
use crate::base::files::FileKind;
use crate::base::threads;
use crate::model::Input;

/// Blocks queued for the parser.
const BLOCKS_AHEAD: usize = 8;
/// The same for one of many connections.
const CONNECTION_BLOCKS_AHEAD: usize = 2;

/// Time for which small reads are collected, so that a thousand lines per second are not a thousand batches.
const COLLECT_FOR: Duration = Duration::from_millis(5);

/// Limit below which reads are collected.
const DRIBBLE_BYTES: usize = 16 << 10;

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

/// Creates both ends of a source, whose bytes are first written to `spool`.
fn ends(path: PathBuf, stop: &Cancel, say: &Say, spool: Option<SpoolPart>, blocks: usize) -> (ReadingThread, Arrivals) {
    let (out, received) = bounded(blocks);
    let bytes = Arc::<AtomicU64>::default();
    let thread = ReadingThread::new(path, out, stop, say, spool, &bytes);
    let arrivals = Arrivals {
        received,
        stop: stop.clone(),
        stopped: None,
        last_came: Instant::now(),
        block: Vec::new(),
        taken: 0,
        last_silence: LAST_SILENCE,
        ends_itself: Arc::clone(&thread.ends_itself),
        end: Arc::default(),
        has_met_end: false,
        bytes,
    };
    (thread, arrivals)
}

/// Starts to read a connection, by `read` on its own thread, which ends by itself after a request to stop.
pub(super) fn start_connection(
    path: PathBuf,
    stop: &Cancel,
    say: &Say,
    spool: Option<SpoolPart>,
    read: Box<dyn FnOnce(ReadingThread) + Send>,
) -> Arrivals {
    let (thread, arrivals) = ends(path, stop, say, spool, CONNECTION_BLOCKS_AHEAD);
    thread.ends_itself.store(true, Ordering::Relaxed);
    let (out, path) = (thread.out.clone(), thread.path.clone());
    if let Err(source) = threads::start("receive", move || read(thread)) {
        out.send(Arrival::Failed(ArrivalError::Read { path, source })).ok(); // the receiver exists, and is empty
    }
    arrivals
}

/// A source that can be read, before anything is.
pub(super) struct ReadySource {
    pub(super) path: PathBuf,
    command: Option<StartedCommand>,
    /// Allowed silence after a request to stop.
    last_silence: Duration,
    /// Reads it to its end.
    read: Box<dyn FnOnce(ReadingThread) + Send>,
}

/// Prepares to read a source that is not a listener: opens its file, or starts its program. Returns an error if there
/// is nothing to read from.
pub(super) fn prepare(input: &LiveInput, pace: Pace) -> Result<ReadySource, ArrivalError> {
    let path = input.name();
    let (mut command, mut last_silence) = (None, LAST_SILENCE);
    let read: Box<dyn FnOnce(ReadingThread) + Send> = match input {
        LiveInput::Input(input @ Input::Stdin(_)) => {
            let metadata = fs::metadata(input.path());
            if let Some(kind) = metadata.ok().as_ref().and_then(refused_kind) {
                return Err(ArrivalError::NoStream { path, kind });
            }
            Box::new(move |mut thread| {
                thread.read(io::stdin().lock(), LAST_SILENCE, BLOCK_BYTES, pace);
            })
        }
        LiveInput::Input(Input::File(_) | Input::Fd(_)) => match fs::metadata(&path) {
            Ok(metadata) if FileKind::from_metadata(&metadata) == FileKind::File => {
                let file = File::open(&path).map_err(|source| ArrivalError::Open { path: path.clone(), source })?;
                Box::new(move |mut thread| thread.follow(file, pace))
            }
            Ok(metadata) => match refused_kind(&metadata) {
                Some(kind) => return Err(ArrivalError::NoStream { path, kind }),
                // Opening a pipe waits for its other end, so the thread opens it.
                None => Box::new(move |thread| thread.read_path(pace)),
            },
            Err(source) if source.kind() == io::ErrorKind::NotFound && has_folder(&path) => {
                Box::new(move |thread: ReadingThread| {
                    if thread.wait_for_file() {
                        thread.read_path(pace);
                    }
                })
            }
            Err(source) if source.kind() == io::ErrorKind::NotFound => return Err(ArrivalError::NoFolder { path }),
            Err(source) => return Err(ArrivalError::Open { path, source }),
        },
        LiveInput::Command(words) => {
            let (child, started) =
                StartedCommand::start(words).map_err(|source| ArrivalError::Start { path: path.clone(), source })?;
            let end = started.end();
            (command, last_silence) = (Some(started), LAST_WORDS);
            Box::new(move |thread| read_command(child, &end, thread, pace))
        }
        LiveInput::Socket(_) | LiveInput::Otlp { .. } => {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "each of its connections is a source");
            return Err(ArrivalError::Listen { address: path.display().to_string(), source });
        }
    };
    Ok(ReadySource { path, command, last_silence, read })
}

/// Starts to read a source. Its bytes are first written to `spool`. Returns an error if there is no thread for it.
pub(super) fn start(
    source: ReadySource,
    stop: &Cancel,
    say: &Say,
    spool: Option<SpoolPart>,
) -> Result<(Arrivals, Option<StartedCommand>), ArrivalError> {
    let ReadySource { path, command, last_silence, read } = source;
    let (thread, arrivals) = ends(path.clone(), stop, say, spool, BLOCKS_AHEAD);
    start_thread(&path, move || read(thread))?;
    Ok((Arrivals { last_silence, ..arrivals }, command))
}

/// Reads the output of a program, and waits for its end.
fn read_command(mut child: Child, end: &CommandEnd, mut thread: ReadingThread, pace: Pace) {
    let output = child.stdout.take();
    let is_at_end = output.is_some_and(|output| thread.read(output, LAST_WORDS, BLOCK_BYTES, pace));
    if is_at_end {
        end.set();
    }
    let (path, say, stop) = (thread.path.clone(), Arc::clone(&thread.say), thread.stop.clone());
    // The receiver waits for the end of this thread, and then ends the program.
    drop(thread);
    wait_for(&mut child, is_at_end, &path, &say, &stop);
    end.set_waited();
}

/// Starts the thread that reads a source.
fn start_thread(path: &Path, read: impl FnOnce() + Send + 'static) -> Result<(), ArrivalError> {
    let started = threads::start("receive", read);
    started.map(drop).map_err(|source| ArrivalError::Read { path: path.to_owned(), source })
}

/// Returns whether the folder of `path` exists. A file can appear in it; a missing folder is more likely a mistyped
/// path.
fn has_folder(path: &Path) -> bool {
    path.parent().is_some_and(|folder| folder.as_os_str().is_empty() || folder.is_dir())
}

/// Waits for the end of a program, and reports a failure, unless its output was closed before its end.
fn wait_for(child: &mut Child, is_at_end: bool, path: &Path, say: &Say, stop: &Cancel) {
    if let Ok(status) = child.wait()
        && !status.success()
        && is_at_end
        && !stop.is_cancelled()
    {
        say(SourceNote::lasting(format!("{}: ended with {status}", path.display())));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_whose_thread_had_no_time_after_the_stop_is_read_to_its_end() {
        let stop = Cancel::default();
        stop.cancel();
        let say: Say = Arc::new(|_| {});
        let read = |mut thread: ReadingThread| {
            thread::sleep(LAST_WORDS + LAST_SILENCE);
            assert!(thread.hand_on(b"sent before".to_vec()));
        };
        let mut arrivals = start_connection("connection".into(), &stop, &say, None, Box::new(read));
        let mut received = Vec::new();
        loop {
            match arrivals.wait(LAST_WORDS) {
                WaitResult::Bytes => {
                    let mut buffer = [0; 100];
                    let len = arrivals.take_bytes(&mut buffer);
                    received.extend_from_slice(&buffer[..len]);
                }
                WaitResult::Nothing => {}
                WaitResult::End => break,
            }
        }
        assert_eq!(received, b"sent before");
    }
}

//! Concatenates request bodies to one stream per encoding, which becomes a source with its first request. A request is
//! acknowledged once it is spooled; one that would wait for long is refused, so that its exporter sends it again.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, SendTimeoutError, Sender, bounded};

use super::NewSource;
use super::http::Body;
use crate::formats::otlp::received::{JSON_HEAD, keep_protobuf_messages, make_json_line, protobuf_head};
use crate::live::reading_thread::ReadingThread;
use crate::live::stoppable_stream::{CONNECTION_SILENCE, LAST_WORDS};

/// How long a request waits for earlier ones.
const PATIENCE: Duration = Duration::from_millis(500);

/// How long a request waits to be on disk.
const DISK_PATIENCE: Duration = Duration::from_secs(10);

/// Bytes per block sent to the parser.
const BLOCK_BYTES: usize = 64 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OtlpEncoding {
    Protobuf,
    Json,
}

impl OtlpEncoding {
    pub(super) fn from_content_type(content_type: &str) -> Option<Self> {
        match content_type {
            "application/x-protobuf" => Some(Self::Protobuf),
            "application/json" => Some(Self::Json),
            _ => None,
        }
    }

    /// Returns the response to an accepted request, with its content type: a message without fields.
    pub(super) fn answer(self) -> (&'static str, &'static [u8]) {
        match self {
            Self::Protobuf => ("application/x-protobuf", b""),
            Self::Json => ("application/json", b"{}"),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Protobuf => "OTLP",
            Self::Json => "OTLP as JSON",
        }
    }

    /// Returns the first bytes of the stream.
    fn head(self) -> Vec<u8> {
        match self {
            Self::Protobuf => protobuf_head(),
            Self::Json => JSON_HEAD.to_vec(),
        }
    }
}

/// The result of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestOutcome {
    Kept,
    NotOtlp,
    /// It would have to wait for long.
    Busy,
    /// It was accepted, but is not known to be on disk.
    Unconfirmed,
    SessionEnded,
}

/// A queued request, and the channel to its connection.
struct QueuedRequest {
    body: Body,
    confirm_sender: Sender<()>,
}

/// The streams of all connections.
pub(super) struct OtlpStreams {
    new_sources: Sender<NewSource>,
    /// The streams whose first request has arrived.
    streams: Mutex<[Option<Sender<QueuedRequest>>; 2]>,
}

impl OtlpStreams {
    pub(super) fn new(new_sources: Sender<NewSource>) -> Self {
        Self { new_sources, streams: Mutex::default() }
    }

    /// Appends a request to its stream.
    pub(super) fn append(&self, encoding: OtlpEncoding, mut body: Body) -> RequestOutcome {
        // In place, since a copy would not count against the memory limit.
        let is_valid = match encoding {
            OtlpEncoding::Protobuf => keep_protobuf_messages(&mut body.bytes),
            OtlpEncoding::Json => make_json_line(&mut body.bytes),
        };
        if !is_valid {
            return RequestOutcome::NotOtlp;
        }
        let Some(stream) = self.stream(encoding) else { return RequestOutcome::SessionEnded };
        let (confirm_sender, is_kept) = bounded(1);
        match stream.send_timeout(QueuedRequest { body, confirm_sender }, PATIENCE) {
            Ok(()) => {}
            Err(SendTimeoutError::Timeout(_)) => return RequestOutcome::Busy,
            Err(SendTimeoutError::Disconnected(_)) => return RequestOutcome::SessionEnded,
        }
        confirmation(&is_kept, DISK_PATIENCE)
    }

    /// Returns the stream of an encoding, and creates it with the first request.
    fn stream(&self, encoding: OtlpEncoding) -> Option<Sender<QueuedRequest>> {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = &mut streams[encoding as usize];
        if let Some(stream) = slot {
            return Some(stream.clone());
        }
        // A rendezvous channel: once a request is sent, its spooling has begun.
        let (stream, waiting) = bounded(0);
        let read = move |thread: ReadingThread| pump(thread, encoding, &waiting);
        let source = NewSource { name: encoding.name().into(), sends_batches: true, read: Box::new(read) };
        self.new_sources.send(source).ok()?;
        Some(slot.insert(stream).clone())
    }
}

/// Waits until a request is on disk.
fn confirmation(is_kept: &Receiver<()>, patience: Duration) -> RequestOutcome {
    match is_kept.recv_timeout(patience) {
        Ok(()) => RequestOutcome::Kept,
        Err(RecvTimeoutError::Timeout) => RequestOutcome::Unconfirmed,
        Err(RecvTimeoutError::Disconnected) => RequestOutcome::SessionEnded,
    }
}

/// Spools and forwards requests, until either side is closed, or a silence or deadline after a request to stop.
fn pump(mut thread: ReadingThread, encoding: OtlpEncoding, waiting: &Receiver<QueuedRequest>) {
    let stop = thread.stop.clone();
    let mut hand_on = |bytes: &[u8], confirm_sender: Option<Sender<()>>| {
        if !thread.keep(bytes) {
            return false;
        }
        if let Some(confirm_sender) = confirm_sender {
            confirm_sender.send(()).ok(); // its connection may have gone
        }
        bytes.chunks(BLOCK_BYTES).all(|block| thread.send(block.to_vec()))
    };
    let mut is_open = hand_on(&encoding.head(), None);
    let mut deadline = None;
    while is_open {
        let is_stopping = stop.is_cancelled();
        if is_stopping && Instant::now() >= *deadline.get_or_insert_with(|| Instant::now() + LAST_WORDS) {
            return;
        }
        is_open = match waiting.recv_timeout(CONNECTION_SILENCE) {
            Ok(QueuedRequest { body, confirm_sender }) => hand_on(&body.bytes, Some(confirm_sender)),
            Err(RecvTimeoutError::Timeout) => !is_stopping,
            Err(RecvTimeoutError::Disconnected) => false,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_a_slow_disk_holds_up_is_not_taken_for_one_that_was_refused() {
        let (confirm_sender, is_kept) = bounded(1);
        assert_eq!(confirmation(&is_kept, Duration::ZERO), RequestOutcome::Unconfirmed);
        confirm_sender.send(()).unwrap();
        assert_eq!(confirmation(&is_kept, Duration::ZERO), RequestOutcome::Kept);
        drop(confirm_sender);
        assert_eq!(confirmation(&is_kept, Duration::ZERO), RequestOutcome::SessionEnded);
    }
}

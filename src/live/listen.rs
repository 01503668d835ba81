//! Listens for sources: connections to a socket, and requests of exporters. Each becomes a source of the session. Other
//! machines are refused, and other users of this machine as far as the system identifies them.

mod http;
mod otlp;
mod otlp_streams;
mod peer_user;
#[cfg(unix)]
mod socket;

pub(crate) use otlp::OTLP_PORT;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam_channel::Receiver;

use super::arrivals::LiveInput;
use super::reading_thread::{ArrivalError, ReadingThread};
use super::source_note::Say;
use crate::base::cancel::Cancel;

/// Limit for concurrent connections: each takes two threads and buffers.
const CONNECTIONS_MAX: usize = 256;

/// Memory that each connection is counted with.
const CONNECTION_BYTES: u64 = 1 << 20;

/// A source that has connected.
pub(super) struct NewSource {
    /// Its name, which identifies the other end.
    pub(super) name: PathBuf,
    /// Whether its spans arrive in batches some seconds after they ended.
    pub(super) sends_batches: bool,
    /// Reads it to its end.
    pub(super) read: Box<dyn FnOnce(ReadingThread) + Send>,
}

/// Starts to listen; `None` for an input that is itself a source. The receiver is closed when listening ends. Returns
/// an error if listening fails.
pub(super) fn start(
    input: &LiveInput,
    memory_bytes: u64,
    stop: &Cancel,
    say: &Say,
) -> Result<Option<Receiver<NewSource>>, ArrivalError> {
    let most = usize::try_from(memory_bytes / 4 / CONNECTION_BYTES).unwrap_or(usize::MAX).clamp(4, CONNECTIONS_MAX);
    match input {
        LiveInput::Input(_) | LiveInput::Command(_) => Ok(None),
        #[cfg(unix)]
        LiveInput::Socket(path) => socket::listen(path, Connections::new(most), stop, say).map(Some),
        #[cfg(not(unix))]
        LiveInput::Socket(path) => {
            let source = std::io::Error::new(std::io::ErrorKind::Unsupported, "there are no such sockets here");
            Err(ArrivalError::Listen { address: path.display().to_string(), source })
        }
        LiveInput::Otlp { port } => otlp::listen(*port, memory_bytes, stop, say).map(Some),
    }
}

/// The number of open connections, and its limit.
#[derive(Debug, Clone)]
struct Connections {
    count: Arc<AtomicUsize>,
    most: usize,
}

/// A counted connection; dropping it ends the count.
#[derive(Debug)]
struct CountedConnection(Arc<AtomicUsize>);

impl Connections {
    fn new(most: usize) -> Self {
        Self { count: Arc::default(), most }
    }

    /// Returns whether a quarter of the limit or less is free.
    fn is_nearly_full(&self) -> bool {
        self.count.load(Ordering::SeqCst) > self.most - self.most.div_ceil(4)
    }

    /// Counts another connection; `None` if there are too many.
    fn count(&self) -> Option<CountedConnection> {
        let counted = CountedConnection(Arc::clone(&self.count));
        // A refused connection is counted until it is dropped here.
        (self.count.fetch_add(1, Ordering::SeqCst) < self.most).then_some(counted)
    }
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

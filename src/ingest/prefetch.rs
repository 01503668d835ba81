//! Loads and sorts chunks on other threads, in the order of the merge. Loads ahead as far as a byte limit allows, and
//! always at least one chunk.

use std::collections::VecDeque;
use std::iter::Peekable;
use std::thread::Scope;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use super::open_run::Key;
use crate::base::threads::start_scoped;
use crate::formats::{ChunkSource, ReadError};
use crate::model::Chunk;

/// The requested chunks, in merge order.
pub(crate) struct Prefetch<'a> {
    source: &'a dyn ChunkSource,
    requests: Sender<(usize, Sender<Loaded>)>,
    waiting: VecDeque<RequestedChunk>,
    /// The sum of the bytes of the waiting chunks.
    waiting_bytes: u64,
    /// Chunks that are not yet requested.
    order: Peekable<std::vec::IntoIter<u32>>,
    limits: AheadLimits,
    /// The requested chunks if no loader could be started: they are loaded when the merge takes them.
    own_requests: Option<Receiver<(usize, Sender<Loaded>)>>,
}

/// Limits on chunks that are loaded before the merge takes them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AheadLimits {
    /// At least 1.
    pub(crate) chunks: usize,
    /// Exceeded if a single chunk is larger.
    pub(crate) bytes: u64,
}

/// A chunk that was requested.
struct RequestedChunk {
    reply: Receiver<Loaded>,
    bytes: u64,
}

type Loaded = Result<Chunk, ReadError>;

impl<'a> Prefetch<'a> {
    /// Starts `threads` loaders that fetch and sort chunks of `source` in `order`, as far ahead of the merge as
    /// `limits` allow. If the system refuses all, chunks are loaded on the thread of the merge.
    pub(crate) fn start<'scope>(
        scope: &'scope Scope<'scope, 'a>,
        source: &'a dyn ChunkSource,
        order: &[Key],
        threads: usize,
        limits: AheadLimits,
    ) -> Self {
        let (requests, queue) = unbounded::<(usize, Sender<Loaded>)>();
        let start_loader = || {
            let queue = queue.clone();
            let load_all = move || {
                for (chunk, reply) in queue {
                    reply.send(load_sorted(source, chunk)).ok(); // the merge has stopped
                }
            };
            start_scoped(scope, "load", load_all).is_ok()
        };
        let started = (0..threads.max(1)).take_while(|_| start_loader()).count();
        let own_requests = (started == 0).then_some(queue);
        let order: Vec<u32> = order.iter().map(|key| key.chunk).collect();
        let order = order.into_iter().peekable();
        let mut prefetch =
            Self { source, requests, waiting: VecDeque::new(), waiting_bytes: 0, order, limits, own_requests };
        prefetch.request();
        prefetch
    }

    /// Waits for the next chunk in merge order and returns it. `None` after the last one.
    pub(crate) fn take_next(&mut self) -> Option<Loaded> {
        let RequestedChunk { reply, bytes } = self.waiting.pop_front()?;
        if let Some(Ok((chunk, reply))) = self.own_requests.as_ref().map(Receiver::try_recv) {
            reply.send(load_sorted(self.source, chunk)).ok(); // received below
        }
        // A loader that panicked drops its sender. The error only ends the merge: the scope of the loader panics then.
        let loaded = reply.recv().unwrap_or_else(|gone| Err(ReadError::Sink(Box::new(gone))));
        self.waiting_bytes -= bytes;
        self.request();
        Some(loaded)
    }

    fn request(&mut self) {
        let heads = self.source.heads();
        while let Some(&chunk) = self.order.peek() {
            let bytes = heads.get(chunk as usize).map_or(0, |head| head.memory_bytes);
            let has_room = self.waiting_bytes.saturating_add(bytes) <= self.limits.bytes;
            if !self.waiting.is_empty() && (self.waiting.len() >= self.limits.chunks || !has_room) {
                break;
            }
            self.order.next();
            let (reply, receiver) = bounded(1);
            self.requests.send((chunk as usize, reply)).ok(); // without loaders, `take_next` returns an error
            self.waiting.push_back(RequestedChunk { reply: receiver, bytes });
            self.waiting_bytes = self.waiting_bytes.saturating_add(bytes);
        }
    }
}

fn load_sorted(source: &dyn ChunkSource, chunk: usize) -> Loaded {
    let mut loaded = source.load(chunk);
    if let Ok(chunk) = &mut loaded {
        chunk.sort();
    }
    loaded
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::base::threads::tests::with_only;
    use crate::formats::ChunkHead;
    use crate::model::{Event, NameIdx, TrackIdx};

    /// Chunks with one event at the time of their index.
    struct TimedChunks(Vec<ChunkHead>);

    impl ChunkSource for TimedChunks {
        fn heads(&self) -> &[ChunkHead] {
            &self.0
        }

        fn load(&self, chunk: usize) -> Result<Chunk, ReadError> {
            let event = Event::at(chunk as i64, TrackIdx(0), NameIdx::EMPTY);
            Ok(Chunk { events: vec![event], ..Chunk::default() })
        }
    }

    #[test]
    fn chunks_come_in_order_and_as_many_wait_as_the_limits_allow_and_one_always() {
        let head = |memory_bytes| ChunkHead { min_ts_ns: 0, max_ts_ns: 0, events: 1, memory_bytes };
        let source = TimedChunks([100, 100, 500, 20, 20, 20, 20].map(head).to_vec());
        let order: Vec<Key> = (0..7).map(|chunk| Key { ts_ns: 0, chunk }).collect();
        for (chunks, bytes, expected) in [
            (9, 250, [2, 1, 1, 4, 3, 2, 1]),
            (3, 250, [2, 1, 1, 3, 3, 2, 1]),
            (9, 0, [1; 7]),
            (2, 1000, [2, 2, 2, 2, 2, 2, 1]),
        ] {
            for startable in 0..3 {
                thread::scope(|scope| {
                    let limits = AheadLimits { chunks, bytes };
                    let mut prefetch = with_only(startable, || Prefetch::start(scope, &source, &order, 2, limits));
                    for (chunk, expected) in (0i64..).zip(expected) {
                        assert_eq!(prefetch.waiting.len(), expected, "before chunk {chunk} within {bytes} bytes");
                        assert_eq!(prefetch.take_next().unwrap().unwrap().events[0].ts_ns, chunk);
                    }
                    assert!(prefetch.take_next().is_none());
                });
            }
        }
    }
}

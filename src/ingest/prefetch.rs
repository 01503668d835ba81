//! Loads and sorts chunks on other threads, in the order in which the merge will open them. Never merges.

use std::collections::VecDeque;
use std::thread::Scope;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use super::heads::Key;
use crate::formats::{ChunkSource, ReadError};
use crate::model::Chunk;

/// Chunks on their way, in order.
pub(crate) struct Prefetch {
    requests: Sender<(usize, Sender<Loaded>)>,
    waiting: VecDeque<Receiver<Loaded>>,
    order: std::vec::IntoIter<u32>,
    ahead: usize,
}

type Loaded = Result<Chunk, ReadError>;

impl Prefetch {
    /// Starts `threads` loaders that fetch and sort chunks of `source` in `order`, at most `ahead` chunks
    /// before the merge takes them.
    pub(crate) fn start<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        source: &'env dyn ChunkSource,
        order: &[Key],
        threads: usize,
        ahead: usize,
    ) -> Self {
        let (requests, queue) = unbounded::<(usize, Sender<Loaded>)>();
        for _ in 0..threads.max(1) {
            let queue = queue.clone();
            scope.spawn(move || {
                for (chunk, reply) in queue {
                    let mut loaded = source.load(chunk);
                    if let Ok(chunk) = &mut loaded {
                        chunk.sort();
                    }
                    reply.send(loaded).ok(); // the merge has stopped
                }
            });
        }
        let order: Vec<u32> = order.iter().map(|key| key.chunk).collect();
        let mut prefetch = Self { requests, waiting: VecDeque::new(), order: order.into_iter(), ahead: ahead.max(1) };
        prefetch.request();
        prefetch
    }

    /// The next chunk of the order, once it is there.
    pub(crate) fn take_next(&mut self) -> Option<Loaded> {
        let reply = self.waiting.pop_front()?;
        self.request();
        // A loader that panicked drops its sender; its chunk is then as good as unreadable.
        Some(reply.recv().unwrap_or_else(|gone| Err(ReadError::Sink(Box::new(gone)))))
    }

    fn request(&mut self) {
        while self.waiting.len() < self.ahead
            && let Some(chunk) = self.order.next()
        {
            let (reply, receiver) = bounded(1);
            self.requests.send((chunk as usize, reply)).ok(); // without loaders, `take_next` says so
            self.waiting.push_back(receiver);
        }
    }
}

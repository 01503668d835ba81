//! Parsed chunks of formats that are read sequentially, until the merge loads them. They stay in memory within the
//! budget, and then go to the spill file. The merge thus treats such formats like chunked ones.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use super::spill::{SpillFile, SpilledBlock};
use crate::base::budget::{Budget, Charge};
use crate::base::budget_shares::BudgetShare;
use crate::formats::{ChunkHead, ChunkSource, ReadError};
use crate::model::{Chunk, Event};

/// Parsed chunks, in trace order.
#[derive(Debug)]
pub(crate) struct ChunkCache {
    heads: Vec<ChunkHead>,
    chunks: Vec<Mutex<CachedChunk>>,
    /// By chunk: offset that [`ChunkSource::load`] adds to its times, in nanoseconds.
    moved_by_ns: Vec<i64>,
    budget: Budget,
    spill: Arc<SpillFile>,
}

#[derive(Debug)]
enum CachedChunk {
    Memory(Chunk, #[expect(dead_code, reason = "returns its bytes to the budget on drop")] Charge),
    Spilled { block: SpilledBlock, max_lateness_ns: u64 },
    Taken,
}

/// Limit for the memory of a chunk, which the merge loads as a whole. A larger one is split.
const CHUNK_BYTES_MAX: u64 = 16 << 20;

/// Memory after which a part of a split chunk ends.
const PART_BYTES: u64 = 4 << 20;

/// A chunk with more events than the 32-bit count of a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a chunk has {events} events; the maximum is 4,294,967,295")]
struct TooLarge {
    events: usize,
}

/// A chunk that was already taken out of the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("chunk {chunk} was already taken from the cache")]
struct ChunkTakenTwice {
    chunk: usize,
}

impl ChunkCache {
    #[must_use]
    pub(crate) fn new(budget: Budget, spill: Arc<SpillFile>) -> Self {
        Self { heads: Vec::new(), chunks: Vec::new(), moved_by_ns: Vec::new(), budget, spill }
    }

    /// Adds a sorted chunk, in parts if it is large; an empty one is dropped. Returns the I/O error of the spill file.
    pub(crate) fn push(&mut self, chunk: Chunk) -> io::Result<()> {
        if chunk.memory_bytes() <= CHUNK_BYTES_MAX {
            return self.push_part(chunk);
        }
        let max_lateness_ns = chunk.max_lateness_ns;
        let mut part = Chunk { max_lateness_ns, ..Chunk::default() };
        for event in &chunk.events {
            let detail = match event.detail {
                0 => 0,
                detail => part.details.push_blob(chunk.details.blob(detail)),
            };
            part.events.push(Event { detail, ..*event });
            if part.memory_bytes() >= PART_BYTES {
                self.push_part(std::mem::replace(&mut part, Chunk { max_lateness_ns, ..Chunk::default() }))?;
            }
        }
        self.push_part(part)
    }

    /// Adds a chunk of limited size.
    fn push_part(&mut self, mut chunk: Chunk) -> io::Result<()> {
        let Some((first, last)) = chunk.events.first().copied().zip(chunk.events.last().copied()) else {
            return Ok(());
        };
        // The last chunk of a file has spare capacity for many events, and there may be thousands of files.
        if chunk.events.len() < chunk.events.capacity() / 2 {
            chunk.events.shrink_to_fit();
        }
        let memory_bytes = chunk.memory_bytes();
        let events = chunk.events.len();
        let events = u32::try_from(events).map_err(|_| io::Error::other(TooLarge { events }))?;
        self.heads.push(ChunkHead { min_ts_ns: first.ts_ns, max_ts_ns: last.ts_ns, events, memory_bytes });
        let cached_chunk = match self.budget.try_charge(memory_bytes, BudgetShare::ParsedChunks.fraction()) {
            Some(charge) => CachedChunk::Memory(chunk, charge),
            None => {
                CachedChunk::Spilled { block: self.spill.write(&chunk, &[])?, max_lateness_ns: chunk.max_lateness_ns }
            }
        };
        self.chunks.push(Mutex::new(cached_chunk));
        self.moved_by_ns.push(0);
        Ok(())
    }

    /// Returns the number of chunks.
    #[must_use]
    pub(crate) fn count(&self) -> usize {
        self.chunks.len()
    }

    /// Moves all chunks from `first` on in time. Returns false, and moves none, if a time would overflow.
    pub(crate) fn move_from(&mut self, first: usize, by_ns: i64) -> bool {
        let moved = |head: &ChunkHead| Some((head.min_ts_ns.checked_add(by_ns)?, head.max_ts_ns.checked_add(by_ns)?));
        if self.heads[first..].iter().any(|head| moved(head).is_none()) {
            return false;
        }
        for (head, moved_by_ns) in self.heads[first..].iter_mut().zip(&mut self.moved_by_ns[first..]) {
            *moved_by_ns = moved_by_ns.saturating_add(by_ns);
            (head.min_ts_ns, head.max_ts_ns) = moved(head).unwrap_or((head.min_ts_ns, head.max_ts_ns));
        }
        true
    }
}

impl ChunkSource for ChunkCache {
    fn heads(&self) -> &[ChunkHead] {
        &self.heads
    }

    /// Takes a chunk out of the cache. Returns an error if it was already taken.
    fn load(&self, chunk: usize) -> Result<Chunk, ReadError> {
        let cached_chunk = {
            let mut slot = self.chunks[chunk].lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *slot, CachedChunk::Taken)
        };
        let mut loaded = match cached_chunk {
            CachedChunk::Memory(chunk, _) => chunk,
            CachedChunk::Spilled { block, max_lateness_ns } => match self.spill.read(block) {
                Ok((chunk, _)) => Chunk { max_lateness_ns, ..chunk },
                Err(error) => return Err(ReadError::Sink(Box::new(error))),
            },
            CachedChunk::Taken => return Err(ReadError::Sink(Box::new(ChunkTakenTwice { chunk }))),
        };
        match self.moved_by_ns[chunk] {
            0 => {}
            by_ns => {
                loaded.events.iter_mut().for_each(|event| event.ts_ns = event.ts_ns.saturating_add(by_ns));
            }
        }
        Ok(loaded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{EventFlags, EventKind, NameIdx, TrackIdx};

    #[test]
    fn a_chunk_beyond_what_the_spill_file_takes_is_stored_in_parts() {
        for limit_bytes in [1, 1 << 30] {
            let spill = SpillFile::create(&std::env::temp_dir()).unwrap();
            let mut cache = ChunkCache::new(Budget::new(limit_bytes), Arc::new(spill));
            let mut chunk = Chunk { max_lateness_ns: 7, ..Chunk::default() };
            for ts_ns in 0..2_500_000 {
                let blob = [ts_ns as u8; 3];
                let detail = if ts_ns % 5 == 0 { chunk.details.push_blob(&blob) } else { 0 };
                chunk.events.push(Event { detail, ..Event::at(ts_ns / 9, TrackIdx(0), NameIdx::EMPTY) });
            }
            cache.push(chunk.clone()).unwrap();
            let parts: Vec<Chunk> = (0..cache.count()).map(|part| cache.load(part).unwrap()).collect();
            assert!(parts.len() > 10 && parts.iter().all(|part| part.memory_bytes() <= CHUNK_BYTES_MAX));
            assert!(parts.iter().all(|part| part.max_lateness_ns == 7));
            let rows = |chunk: &Chunk| -> Vec<(i64, Vec<u8>)> {
                let row = |event: &Event| (event.ts_ns, chunk.details.blob(event.detail).to_vec());
                chunk.events.iter().map(row).collect()
            };
            assert_eq!(parts.iter().flat_map(rows).collect::<Vec<_>>(), rows(&chunk));
        }
    }

    #[test]
    fn chunks_are_moved_from_the_one_that_is_said_on_wherever_they_are_kept() {
        for limit_bytes in [1, 1 << 30] {
            let spill = SpillFile::create(&std::env::temp_dir()).unwrap();
            let mut kept = ChunkCache::new(Budget::new(limit_bytes), Arc::new(spill));
            for ts_ns in [0, 10, i64::MAX - 8] {
                let kind = EventKind::Instant;
                let (track, name, flags) = (TrackIdx(0), NameIdx(0), EventFlags::NONE);
                let event = Event { ts_ns, value: 0, track, name, detail: 0, depth: 0, kind, flags };
                kept.push(Chunk { events: vec![event], ..Chunk::default() }).unwrap();
            }
            assert!(kept.move_from(1, 5) && kept.move_from(1, 2));
            assert!(!kept.move_from(0, 2) && !kept.move_from(2, i64::MAX), "beyond the end of time");
            let heads: Vec<_> = kept.heads().iter().map(|head| (head.min_ts_ns, head.max_ts_ns)).collect();
            assert_eq!(heads, [(0, 0), (17, 17), (i64::MAX - 1, i64::MAX - 1)]);
            let times = (0..3).map(|chunk| kept.load(chunk).unwrap().events[0].ts_ns);
            assert_eq!(times.collect::<Vec<_>>(), [0, 17, i64::MAX - 1]);
            assert!(kept.load(1).is_err(), "it was moved out");
        }
    }
}

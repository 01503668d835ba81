//! Chunks of formats that are parsed from front to back, kept until the merge asks for them: in memory while the budget
//! lasts, in the spill file from then on. So that such formats look to the merge like those that come in chunks.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use super::spill::{SpillFile, SpilledBlock};
use crate::base::budget::{Budget, Charge};
use crate::formats::{ChunkHead, ChunkSource, ReadError};
use crate::model::Chunk;

/// The part of the budget that parsed chunks may take; the rest is for the merge, the store and what is being parsed.
const MEMORY_SHARE: f64 = 0.5;

/// Parsed chunks, in capture order.
#[derive(Debug)]
pub struct KeptChunks {
    heads: Vec<ChunkHead>,
    chunks: Vec<Mutex<Kept>>,
    budget: Budget,
    spill: Arc<SpillFile>,
}

#[derive(Debug)]
enum Kept {
    Memory(Chunk, #[expect(dead_code, reason = "gives its bytes back when the chunk goes")] Charge),
    Spilled { block: SpilledBlock, max_lateness_ns: u64 },
    Taken,
}

impl KeptChunks {
    /// An empty collection.
    #[must_use]
    pub fn new(budget: Budget, spill: Arc<SpillFile>) -> Self {
        Self { heads: Vec::new(), chunks: Vec::new(), budget, spill }
    }

    /// Keeps a sorted chunk; one without events is dropped.
    ///
    /// # Errors
    /// What the system says to a write of the spill file.
    pub fn push(&mut self, chunk: Chunk) -> io::Result<()> {
        let Some((first, last)) = chunk.events.first().zip(chunk.events.last()) else { return Ok(()) };
        let memory_bytes = chunk.memory_bytes();
        self.heads.push(ChunkHead {
            min_ts_ns: first.ts_ns,
            max_ts_ns: last.ts_ns,
            events: u32::try_from(chunk.events.len()).unwrap_or(u32::MAX),
            memory_bytes,
        });
        let kept = match self.budget.try_charge(memory_bytes, MEMORY_SHARE) {
            Some(charge) => Kept::Memory(chunk, charge),
            None => Kept::Spilled { block: self.spill.write(&chunk, &[])?, max_lateness_ns: chunk.max_lateness_ns },
        };
        self.chunks.push(Mutex::new(kept));
        Ok(())
    }
}

impl ChunkSource for KeptChunks {
    fn heads(&self) -> &[ChunkHead] {
        &self.heads
    }

    /// Each chunk can be had once: the merge takes it out of here.
    fn load(&self, chunk: usize) -> Result<Chunk, ReadError> {
        let kept = {
            let mut kept = self.chunks[chunk].lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *kept, Kept::Taken)
        };
        match kept {
            Kept::Memory(chunk, _) => Ok(chunk),
            Kept::Spilled { block, max_lateness_ns } => match self.spill.read(block) {
                Ok((chunk, _)) => Ok(Chunk { max_lateness_ns, ..chunk }),
                Err(error) => Err(ReadError::Sink(Box::new(error))),
            },
            Kept::Taken => Ok(Chunk::default()),
        }
    }
}

//! The two traits that formats implement, with everything that passes between a reader and its caller.

use std::sync::Arc;

use super::error::ReadError;
use crate::base::budget::Budget;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::model::unwind::UnwindFiles;
use crate::model::{Batch, Chunk, Losses, Names, Sources, Stacks, TextSpill, TrackTables, WeightUnit};

/// The settings of a reading.
#[derive(Debug, Clone, Default)]
pub struct ReadContext {
    /// Asks the reader to stop between batches.
    pub cancel: Cancel,
    /// Receives the counts of bytes and events read.
    pub progress: Progress,
    /// Bounds what is read ahead.
    pub budget: Budget,
    /// How many threads may parse at once, at least 1.
    pub threads: usize,
    /// How finely the capture is cut.
    pub chunk_limits: ChunkLimits,
    /// The file for the letters of names that are too many for memory; without it, they stay in memory.
    pub text_spill: Option<Arc<TextSpill>>,
    /// The unit of weights in formats that have none.
    pub weight_unit: Option<WeightUnit>,
    /// The files that recorded stacks are unwound by; without them, such a stack is its innermost frame.
    pub unwind_files: Option<TraceFiles>,
}

/// The files of the modules of a trace.
#[derive(Debug, Clone)]
pub struct TraceFiles {
    /// Finds the files that stacks are unwound by.
    pub files: Arc<dyn UnwindFiles>,
    /// The trace, whose folders are searched.
    pub sources: Sources,
}

impl ReadContext {
    /// A table of names for a reader that has all names of its capture.
    #[must_use]
    pub(crate) fn no_names(&self) -> Names {
        self.text_spill.as_ref().map_or_else(Names::default, |spill| Names::spilling(spill.another()))
    }
}

/// How finely a capture is cut while it is read; where it says nothing, as suits the format. No cut may show in what is
/// read: tests cut so that every record is hit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChunkLimits {
    /// Bytes to read from the capture at once, at least 1.
    pub block_bytes: Option<usize>,
    /// Events after which a batch is handed on, at least 1.
    pub batch_events: Option<usize>,
}

/// Files below this length are read without threads of their own. Parsing that much text takes less than a millisecond,
/// as do starting threads and waiting for them; an archive may have a million such files.
pub(crate) const SMALL_BYTES: usize = 64 << 10;

impl ChunkLimits {
    /// Whether a file of so many bytes is read without threads of its own.
    #[must_use]
    pub(crate) fn is_small(self, file_bytes: u64) -> bool {
        // Tests that cut finely read small files on several threads too.
        file_bytes < self.block_bytes.unwrap_or(SMALL_BYTES) as u64
    }
}

/// Receives batches in the order of the capture.
pub trait BatchSink {
    /// Accepts the next batch.
    ///
    /// # Errors
    /// [`ReadError::Sink`] when the batch cannot be stored; the reader then stops.
    fn accept(&mut self, batch: Batch) -> Result<(), ReadError>;

    /// The position of the next batch, for a later [`Self::move_from`]. Of no use to a sink that stores no batches.
    fn position(&self) -> usize {
        0
    }

    /// Moves the events of all batches from a position on in time, and returns whether it did: not where one of them
    /// would leave 64-bit nanoseconds. A sink that keeps no batches has nothing to move.
    fn move_from(&mut self, position: usize, by_ns: i64) -> bool {
        _ = (position, by_ns);
        true
    }

    /// Shows the user a sentence.
    fn tell(&mut self, sentence: String) {
        drop(sentence);
    }
}

/// A format that is parsed from front to back.
pub trait StreamReader: Send {
    /// Reads the whole capture, handing on batches in its order. What is damaged is counted in their losses.
    ///
    /// # Errors
    /// Only for what makes the capture unreadable as a whole, a failing sink, or a request to stop.
    fn read(&mut self, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError>;
}

/// The properties of a chunk that need no read of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkHead {
    /// The smallest time in the chunk, as its header promises.
    pub min_ts_ns: i64,
    /// The largest start of the chunk's events by its header, for statistics and previews only.
    pub max_ts_ns: i64,
    /// How many events it holds.
    pub events: u32,
    /// Its bytes in memory once loaded, for the budget.
    pub memory_bytes: u64,
}

/// Chunks that can be fetched in any order, from any thread. Names, tracks and stacks in them are
/// rows of the source's tables.
pub trait ChunkSource: Send + Sync {
    /// The head of each chunk, in capture order.
    fn heads(&self) -> &[ChunkHead];

    /// Fetches one chunk; its events need not be sorted.
    ///
    /// # Errors
    /// [`ReadError::Malformed`] when the chunk is damaged: the caller counts it and goes on without it.
    fn load(&self, chunk: usize) -> Result<Chunk, ReadError>;
}

/// A store of a whole capture inside of the capture, in parts that follow each other. The parts are opaque bytes,
/// returned as they were written.
pub(crate) trait StoreParts: Send + Sync {
    /// How many there are, at least 1.
    fn count(&self) -> usize;

    /// The sum of their lengths.
    fn bytes(&self) -> u64;

    /// Fetches one part. A damaged one is [`ReadError::Malformed`]: then the chunks are still there.
    fn load(&self, part: usize) -> Result<Vec<u8>, ReadError>;
}

/// A capture whose chunks can be fetched in any order, with the tables that they point into.
pub struct ChunkedCapture {
    /// Fetches the chunks of events.
    pub source: Box<dyn ChunkSource>,
    /// The table that [`crate::model::Event::name`] points into.
    pub names: Names,
    /// The table that [`crate::model::Event::track`] points into.
    pub tracks: TrackTables,
    /// The table that the values of samples point into.
    pub stacks: Stacks,
    /// Losses that the capture itself records, and damage that was met while opening it.
    pub losses: Losses,
    /// A store that saves sorting the chunks, if the capture has one and nothing is damaged so far.
    pub(crate) store: Option<Box<dyn StoreParts>>,
}

/// The reader of an opened capture.
pub enum Reader {
    /// A capture that is parsed from front to back.
    Stream(Box<dyn StreamReader>),
    /// A capture that is fetched chunk by chunk.
    Chunks(Box<ChunkedCapture>),
}

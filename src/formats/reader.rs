//! The traits that formats implement, and the types that pass between readers and callers.

use std::sync::Arc;

use super::error::ReadError;
use crate::base::budget::Budget;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::model::unwind::UnwindFiles;
use crate::model::{Batch, Chunk, Losses, Names, Sources, Stacks, TextSpill, TrackTables, WeightUnit};

/// Settings of a load, shared by all its readers.
#[derive(Debug, Clone, Default)]
pub struct ReadContext {
    /// Asks the reader to stop.
    pub cancel: Cancel,
    /// Receives the counts of bytes and events.
    pub progress: Progress,
    /// Bounds the memory of data that is read ahead.
    pub budget: Budget,
    /// Number of parser threads, at least 1.
    pub threads: usize,
    /// Sizes of blocks and batches.
    pub chunk_limits: ChunkLimits,
    /// File for the texts of names that exceed memory; `None` keeps them in memory.
    pub text_spill: Option<Arc<TextSpill>>,
    /// Whether these rows of a live stream are final: the whole trace is not sorted at its end.
    pub is_sole_read: bool,
    /// Unit of weights in formats without one.
    pub weight_unit: Option<WeightUnit>,
    /// Prefers addresses over recorded names if a profile has both, so that symbols name the frames.
    pub code_addresses: bool,
    /// Files for unwinding recorded stacks; without them, such stacks have only their innermost frame.
    pub unwind_files: Option<TraceFiles>,
}

/// Access to the files of a trace's modules.
#[derive(Debug, Clone)]
pub struct TraceFiles {
    /// Looks up the files for unwinding.
    pub files: Arc<dyn UnwindFiles>,
    /// The trace files, whose folders are searched.
    pub sources: Sources,
}

impl ReadContext {
    /// Creates an empty name table, for a reader that has all names of its trace.
    #[must_use]
    pub(crate) fn no_names(&self) -> Names {
        self.text_spill.as_ref().map_or_else(Names::default, |spill| Names::spilling(spill.another()))
    }
}

/// Sizes of the pieces in which a trace is read; `None` for the default of the format. Results must not depend on them:
/// tests use small sizes to cut every record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChunkLimits {
    /// Read size, at least 1.
    pub block_bytes: Option<usize>,
    /// Events per batch, at least 1.
    pub batch_events: Option<usize>,
}

/// Files below this length are read without additional threads. Parsing them takes less than a millisecond, and so does
/// starting threads; an archive may have a million such files.
pub(crate) const SMALL_BYTES: usize = 64 << 10;

impl ChunkLimits {
    /// Returns whether a file of this length is read without additional threads.
    #[must_use]
    pub(crate) fn is_small(self, file_bytes: u64) -> bool {
        // Tests with small blocks use several threads for small files too.
        file_bytes < self.block_bytes.unwrap_or(SMALL_BYTES) as u64
    }
}

/// Receives batches in file order.
pub trait BatchSink {
    /// Accepts the next batch in file order.
    ///
    /// # Errors
    /// [`ReadError::Sink`] if the batch cannot be stored; the reader then stops.
    fn accept(&mut self, batch: Batch) -> Result<(), ReadError>;

    /// Returns the position of the next batch, for [`Self::move_from`]. Meaningless for sinks that store no batches.
    fn position(&self) -> usize {
        0
    }

    /// Shifts the events of all batches from a position in time. Returns false and changes nothing if an event would
    /// overflow 64-bit nanoseconds. Does nothing for sinks that store no batches.
    fn move_from(&mut self, position: usize, by_ns: i64) -> bool {
        _ = (position, by_ns);
        true
    }

    /// Shows a sentence to the user.
    fn notify(&mut self, sentence: String) {
        drop(sentence);
    }
}

/// Passes batches on to another sink, after `watch` has seen and may have changed them.
pub(crate) struct InspectingSink<'a, W> {
    pub(crate) sink: &'a mut dyn BatchSink,
    pub(crate) watch: W,
}

impl<W: FnMut(&mut Batch)> BatchSink for InspectingSink<'_, W> {
    fn accept(&mut self, mut batch: Batch) -> Result<(), ReadError> {
        (self.watch)(&mut batch);
        self.sink.accept(batch)
    }

    fn position(&self) -> usize {
        self.sink.position()
    }

    fn move_from(&mut self, position: usize, by_ns: i64) -> bool {
        self.sink.move_from(position, by_ns)
    }

    fn notify(&mut self, sentence: String) {
        self.sink.notify(sentence);
    }
}

/// A format that is parsed sequentially.
pub trait StreamReader: Send {
    /// Reads the whole trace, and passes on batches in file order. Damage is counted in their losses.
    ///
    /// # Errors
    /// For input that is unreadable as a whole, a failing sink, and cancellation.
    fn read(self: Box<Self>, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError>;
}

/// Properties of a chunk that are known without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkHead {
    /// Smallest time in the chunk, as promised by its header.
    pub min_ts_ns: i64,
    /// Largest start in the chunk by its header; for statistics and previews only.
    pub max_ts_ns: i64,
    /// Number of events in the chunk.
    pub events: u32,
    /// Bytes in memory once loaded, for the budget.
    pub memory_bytes: u64,
}

/// Chunks that can be fetched in any order, from any thread. Their names, tracks and stacks are rows of the source's
/// tables.
pub trait ChunkSource: Send + Sync {
    /// Returns the head of each chunk, in file order.
    fn heads(&self) -> &[ChunkHead];

    /// Reads a chunk; its events need not be sorted.
    ///
    /// # Errors
    /// [`ReadError::Malformed`] for a damaged chunk: the caller counts it and continues.
    fn load(&self, chunk: usize) -> Result<Chunk, ReadError>;
}

/// A store embedded in a trace, in consecutive parts. Parts are opaque bytes, returned as written.
pub(crate) trait StoreParts: Send + Sync {
    /// Returns the number of parts, at least 1.
    fn count(&self) -> usize;

    /// Returns the sum of their lengths.
    fn bytes(&self) -> u64;

    /// Reads a part. Fails with [`ReadError::Malformed`] for a damaged one; the chunks are then still available.
    fn load(&self, part: usize) -> Result<Vec<u8>, ReadError>;
}

/// A trace whose chunks can be fetched in any order, with the tables that they refer to.
pub struct ChunkedTrace {
    /// Reads the chunks of events.
    pub source: Box<dyn ChunkSource>,
    /// The table of [`crate::model::Event::name`].
    pub names: Names,
    /// The table of [`crate::model::Event::track`].
    pub tracks: TrackTables,
    /// The table of sample values.
    pub stacks: Stacks,
    /// Losses recorded in the trace, and damage found while opening it.
    pub losses: Losses,
    /// An embedded store that saves sorting the chunks, if the trace has one and is intact so far.
    pub(crate) store: Option<Box<dyn StoreParts>>,
}

/// The reader of an opened trace.
pub enum Reader {
    /// A trace that is parsed sequentially.
    Stream(Box<dyn StreamReader>),
    /// A trace that is read chunk by chunk.
    Chunks(Box<ChunkedTrace>),
}

impl Reader {
    pub(crate) fn stream(reader: impl StreamReader + 'static) -> Self {
        Self::Stream(Box::new(reader))
    }
}

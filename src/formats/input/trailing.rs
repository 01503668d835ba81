//! Data after the end of compressed data. The decompressor finds it, and the reader of the trace counts it as a loss.

use std::sync::{Arc, OnceLock};

use crate::formats::{BatchSink, ReadContext, ReadError, Reader, StreamReader};
use crate::model::{Batch, Loss, Losses, SourcePos};

/// The end of compressed data that other data follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TrailingData {
    /// Offset in the decompressed data at which it ends.
    pub(crate) offset: u64,
    /// Offset in the compressed data of what follows.
    pub(crate) packed_offset: u64,
}

/// The first trailing data of a file, which may be found on another thread.
#[derive(Debug, Clone, Default)]
pub(crate) struct TrailingSlot(Arc<OnceLock<TrailingData>>);

impl TrailingSlot {
    pub(super) fn set(&self, trailing: TrailingData) {
        // Only the first is counted.
        _ = self.0.set(trailing);
    }

    /// Returns the trailing data, which is known at the end of the data.
    pub(crate) fn get(&self) -> Option<TrailingData> {
        self.0.get().copied()
    }

    /// Returns a reader that also counts the trailing data.
    pub(crate) fn counted_by(self, reader: Reader) -> Reader {
        match reader {
            Reader::Stream(reader) => Reader::Stream(Box::new(TrailingReader { reader, trailing: self })),
            chunks @ Reader::Chunks(_) => chunks,
        }
    }
}

struct TrailingReader {
    reader: Box<dyn StreamReader>,
    trailing: TrailingSlot,
}

impl StreamReader for TrailingReader {
    fn read(&mut self, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        self.reader.read(sink, context)?;
        let Some(TrailingData { offset, packed_offset }) = self.trailing.get() else { return Ok(()) };
        let reason = format!(
            "More data follows the end of the compressed data, from its byte {packed_offset} on; it is not shown."
        );
        let mut losses = Losses::default();
        losses.add_because(&reason, Loss::TrailingData, SourcePos::Offset(offset));
        sink.accept(Batch { losses, ..Batch::default() })
    }
}

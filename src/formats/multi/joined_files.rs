//! Reads files one after the other into one sink. Each file has its own namespace, and the clock of the earlier files.

use std::path::Path;

use super::clock_sync::KnownSyncs;
use super::namespace::{FileContents, FileScope, NamespacedSink};
use crate::formats::native::batches;
use crate::formats::{BatchSink, ReadContext, ReadError, Reader};

/// The state of the files that were read so far.
#[derive(Default)]
pub(crate) struct JoinedFiles {
    contents: FileContents,
    clock_syncs: KnownSyncs,
}

impl JoinedFiles {
    /// Returns whether any file had events.
    pub(crate) fn has_events(&self) -> bool {
        self.contents.has_events
    }

    /// Reads the next file: calls `read` with its sink, and returns the result.
    ///
    /// # Errors
    /// If the sink fails after the end of the file.
    pub(crate) fn add<T>(
        &mut self,
        scope: FileScope,
        sink: &mut dyn BatchSink,
        read: impl FnOnce(&mut NamespacedSink<'_>) -> T,
    ) -> Result<T, ReadError> {
        let mut namespaced = NamespacedSink::new(sink, scope, !self.contents.has_ids);
        let read = read(&mut namespaced);
        let contents = namespaced.finish(&mut self.clock_syncs)?;
        self.contents.has_ids |= contents.has_ids;
        self.contents.has_events |= contents.has_events;
        Ok(read)
    }
}

/// Reads a trace sequentially, even if its chunks could be read in any order.
pub(crate) fn read_sequentially(
    reader: Reader,
    path: &Path,
    sink: &mut dyn BatchSink,
    context: &ReadContext,
) -> Result<(), ReadError> {
    match reader {
        Reader::Stream(reader) => reader.read(sink, context),
        Reader::Chunks(trace) => batches::read(&trace, path, sink, context),
    }
}

//! Several trace files as one, each shifted by its offset. Processes of different files stay separate, whatever their
//! ids, and losses name their file.
//!
//! An unreadable file is a loss with the reason, and the other files are still read. If no file is readable, the result
//! is an error with the reason for each.

use std::path::Path;

use super::clock_sync::KnownSyncs;
use super::namespace::{FileScope, NamespacedSink, only_losses};
use crate::formats::native::batches;
use crate::formats::{BatchSink, ReadContext, ReadError, Reader, StreamReader, sniff};
use crate::model::{Loss, Losses, SourcePos, Sources};

/// Opens files as one trace. A single file is opened by [`sniff::open`]. An error in one of several occurs when it is
/// read.
pub(crate) fn open(sources: &Sources, context: &ReadContext) -> Result<Reader, ReadError> {
    match sources.alone() {
        Some(_) => sniff::open(sources.path_to_read(0), context),
        None => Ok(Reader::stream(MultiFileReader { sources: sources.clone() })),
    }
}

struct MultiFileReader {
    sources: Sources,
}

impl StreamReader for MultiFileReader {
    fn read(self: Box<Self>, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let context = &ReadContext { progress: context.progress.part(), ..context.clone() };
        let (mut is_first, mut has_events, mut refused) = (true, false, Vec::new());
        let mut clock_syncs = KnownSyncs::default();
        for (position, (file, name)) in self.sources.files().iter().zip(self.sources.names()).enumerate() {
            context.cancel.check()?;
            let is_alone = self.sources.files().len() == 1;
            let label = (&*name).into();
            let (file_name, are_losses_named, offset_ns) = (name.clone(), !is_alone, file.offset_ns);
            let scope = FileScope { file: file_name, label, is_first, is_alone, are_losses_named, offset_ns };
            let mut namespaced = NamespacedSink::new(sink, scope);
            let path = self.sources.path_to_read(position);
            match read_file(path, &mut namespaced, context).map_err(|error| error.renamed(path, file.path())) {
                Ok(()) => {}
                Err(error @ (ReadError::Cancelled(_) | ReadError::Sink(_))) => return Err(error),
                Err(error) => {
                    let mut losses = Losses::default();
                    let (offset, reason) = (error.offset().unwrap_or(0), error.to_string());
                    losses.add_because(&reason, Loss::UnreadableFile, SourcePos::Offset(offset));
                    namespaced.accept(only_losses(losses))?;
                    refused.push(error);
                }
            }
            let contents = namespaced.finish(&mut clock_syncs)?;
            is_first &= !contents.has_ids;
            has_events |= contents.has_events;
        }
        if refused.is_empty() || has_events {
            return Ok(());
        }
        let alone = if refused.len() == 1 { refused.pop() } else { None };
        Err(alone.unwrap_or(ReadError::Several { errors: refused }))
    }
}

fn read_file(path: &Path, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
    match sniff::open(path, context)? {
        Reader::Stream(reader) => reader.read(sink, context),
        Reader::Chunks(trace) => batches::read(&trace, path, sink, context),
    }
}

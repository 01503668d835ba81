//! Several trace files as one, each shifted by its offset. Processes of different files stay separate, whatever their
//! ids, and losses name their file.
//!
//! An unreadable file is a loss with the reason, and the other files are still read. If no file is readable, the result
//! is an error with the reason for each.

use std::path::Path;

use super::joined_files::{JoinedFiles, read_sequentially};
use super::namespace::{FileScope, only_losses};
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
        let (mut joined, mut refused) = (JoinedFiles::default(), Vec::new());
        for (position, (file, name)) in self.sources.files().iter().zip(self.sources.names()).enumerate() {
            context.cancel.check()?;
            let is_alone = self.sources.files().len() == 1;
            let scope = FileScope {
                file: name.clone(),
                label: (&*name).into(),
                is_alone,
                are_losses_named: !is_alone,
                offset_ns: file.offset_ns,
            };
            let path = self.sources.path_to_read(position);
            let read = joined.add(scope, sink, |sink| {
                match read_file(path, sink, context).map_err(|error| error.renamed(path, file.path())) {
                    Ok(()) => Ok(None),
                    Err(error @ (ReadError::Cancelled(_) | ReadError::Sink(_))) => Err(error),
                    Err(error) => {
                        let mut losses = Losses::default();
                        let (offset, reason) = (error.offset().unwrap_or(0), error.to_string());
                        losses.add_because(&reason, Loss::UnreadableFile, SourcePos::Offset(offset));
                        sink.accept(only_losses(losses)).map(|()| Some(error))
                    }
                }
            })?;
            refused.extend(read?);
        }
        if refused.is_empty() || joined.has_events() {
            return Ok(());
        }
        let alone = if refused.len() == 1 { refused.pop() } else { None };
        Err(alone.unwrap_or(ReadError::Several { errors: refused }))
    }
}

fn read_file(path: &Path, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
    read_sequentially(sniff::open(path, context)?, path, sink, context)
}

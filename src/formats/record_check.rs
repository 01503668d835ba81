//! Rejects a trace that has records but no readable event, since an empty timeline would not tell the user what is
//! wrong. Accepts a trace without records, such as an empty array.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::format::Format;
use super::input::lengths::saturating_len;
use super::input::source::{Source, excerpt};
use super::reader::InspectingSink;
use super::{BatchSink, ReadContext, ReadError, Reader, StreamReader};
use crate::model::{Batch, Losses, SourcePos};

/// The description of a format for error messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordKind {
    pub(crate) format: &'static str,
    /// A sentence that describes a record.
    pub(crate) record: &'static str,
}

impl RecordKind {
    pub(crate) const fn new(format: &Format) -> Self {
        Self { format: format.name, record: format.record }
    }
}

/// Adds the check to a stream reader. Chunked traces are checked by the code that loads the chunks.
pub(crate) fn checked(reader: Reader, path: PathBuf, kind: RecordKind) -> Reader {
    match reader {
        Reader::Stream(reader) => Reader::stream(CheckedReader { reader, path, kind }),
        chunks @ Reader::Chunks(_) => chunks,
    }
}

struct CheckedReader {
    reader: Box<dyn StreamReader>,
    path: PathBuf,
    kind: RecordKind,
}

impl StreamReader for CheckedReader {
    fn read(self: Box<Self>, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        // Only losses before the first event matter.
        let (mut has_events, mut losses) = (false, Losses::default());
        let watch = |batch: &mut Batch| {
            if !has_events {
                has_events = !batch.chunk.events.is_empty();
                losses.merge(&batch.losses);
            }
        };
        self.reader.read(&mut InspectingSink { sink, watch }, context)?;
        if has_events { Ok(()) } else { check(&self.path, self.kind, &losses, context) }
    }
}

/// Checks the losses of a trace without events.
///
/// # Errors
/// Returns [`ReadError::NoEvents`] if a record was lost.
pub(crate) fn check(path: &Path, kind: RecordKind, losses: &Losses, context: &ReadContext) -> Result<(), ReadError> {
    let lost: Vec<_> = losses.iter().filter(|lost| lost.loss.is_of_record()).collect();
    let Some(first) = lost.iter().min_by_key(|lost| lost.first) else { return Ok(()) };
    let mut counts: Vec<String> = Vec::new();
    for loss in lost.iter().map(|lost| lost.loss) {
        let count = format!("{} {}", losses.count(loss), loss.name());
        if !counts.contains(&count) {
            counts.push(count);
        }
    }
    let position_text = match first.file {
        Some(file) => format!("{} of {file}", first.first),
        None => located(path, first.first, context)?,
    };
    // The general advice assumes that the rest of the file is shown.
    let reason = Some(&*first.advice).filter(|advice| *advice != first.loss.advice());
    // Reasons that come from errors have no full stop.
    let reason = reason.map_or_else(String::new, |reason| format!(" {}.", reason.trim_end_matches('.')));
    Err(ReadError::NoEvents {
        path: path.to_owned(),
        format: kind.format,
        lost: format!("{}, the first at {position_text}.{reason}", counts.join(", ")),
        record: kind.record,
    })
}

/// Formats a position with the bytes there, and with the line if the trace is text.
fn located(path: &Path, position: SourcePos, context: &ReadContext) -> Result<String, ReadError> {
    const FOUND_BYTES: u64 = 16;
    let SourcePos::Offset(offset) = position else { return Ok(position.to_string()) };
    let quiet = ReadContext { cancel: context.cancel.clone(), ..ReadContext::default() };
    // The file may have been removed meanwhile.
    let Ok(mut source) = Source::open(path, &quiet) else { return Ok(position.to_string()) };
    let is_text = source.head().iter().all(|&byte| byte >= b' ' || byte.is_ascii_whitespace() || byte == 0x1b);
    let (mut line, mut before, mut block) = (1, offset, vec![0; source.block_bytes(256 << 10)]);
    while before > 0 {
        context.cancel.check()?;
        let wanted = block.len().min(saturating_len(before));
        let Ok(len @ 1..) = source.read(&mut block[..wanted]) else { break };
        line += memchr::memchr_iter(b'\n', &block[..len]).count();
        before -= len as u64;
    }
    let mut excerpt_bytes = Vec::new();
    // Unreadable bytes are not shown.
    _ = source.take(FOUND_BYTES).read_to_end(&mut excerpt_bytes);
    let of_line = excerpt_bytes.split(|&byte| byte == b'\n').next().filter(|_| is_text).unwrap_or(&excerpt_bytes);
    let line = if is_text { format!(" (line {line})") } else { String::new() };
    Ok(format!("{position}{line}, found {}", excerpt(of_line)))
}

#[cfg(test)]
mod tests;

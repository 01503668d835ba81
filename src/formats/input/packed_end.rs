//! Compressed data that ends before its file does, because of trailing data or damage. The decompressor finds this end,
//! and the reader of the trace counts it as a loss.

use std::io;
use std::sync::{Arc, OnceLock};

use crate::formats::reader::InspectingSink;
use crate::formats::{BatchSink, ReadContext, ReadError, Reader, StreamReader};
use crate::model::{Batch, Loss, Losses, SourcePos};

/// The reason why compressed data ends before its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PackedEnd {
    Trailing(TrailingData),
    Damaged(Damage),
}

/// The end of compressed data that other data follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TrailingData {
    /// Offset in the decompressed data at which it ends.
    pub(crate) offset: u64,
    /// Offset in the compressed data of what follows.
    pub(crate) packed_offset: u64,
}

/// Compressed data that cannot be decompressed further.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Damage {
    /// Offset in the decompressed data at which it ends.
    pub(crate) offset: u64,
    /// Message of the decompressor.
    pub(crate) error: Box<str>,
}

impl Damage {
    pub(super) fn from_error(offset: u64, error: &io::Error) -> Self {
        let mut text = match error.kind() {
            io::ErrorKind::UnexpectedEof => "it ends early".to_owned(),
            _ => error.to_string(),
        };
        // A message of the zstd library.
        if text.contains("too much memory") {
            text += "; decompress it with `zstd -d --long=31`";
        }
        Self { offset, error: text.into() }
    }

    fn reason(&self) -> String {
        format!("The compressed data cannot be decompressed further: {}. Everything before is shown.", self.error)
    }
}

/// The end of the compressed data of a file, which may be found on another thread.
#[derive(Debug, Clone, Default)]
pub(crate) struct EndSlot(Arc<OnceLock<PackedEnd>>);

impl EndSlot {
    pub(super) fn set(&self, end: PackedEnd) {
        // Only the first is counted.
        _ = self.0.set(end);
    }

    /// Returns the end, which is known at the end of the data; `None` if it is the end of the file.
    pub(crate) fn get(&self) -> Option<&PackedEnd> {
        self.0.get()
    }

    /// Returns the damage that ended the data.
    pub(crate) fn damage(&self) -> Option<&Damage> {
        match self.get()? {
            PackedEnd::Damaged(damage) => Some(damage),
            PackedEnd::Trailing(_) => None,
        }
    }

    /// Returns a reader that also counts this end.
    pub(crate) fn counted_by(self, reader: Reader) -> Reader {
        match reader {
            Reader::Stream(reader) => Reader::stream(PackedReader { reader, end: self }),
            chunks @ Reader::Chunks(_) => chunks,
        }
    }
}

struct PackedReader {
    reader: Box<dyn StreamReader>,
    end: EndSlot,
}

impl StreamReader for PackedReader {
    fn read(self: Box<Self>, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let mut is_truncated = false;
        // Adds the reason to the loss of the data that is truncated by the damage.
        let watch = |batch: &mut Batch| {
            if batch.losses.count(Loss::Truncated) > 0 {
                is_truncated = true;
                if let Some(damage) = self.end.damage() {
                    batch.losses.explain(Loss::Truncated, &damage.reason());
                }
            }
        };
        self.reader.read(&mut InspectingSink { sink: &mut *sink, watch }, context)?;
        let mut losses = Losses::default();
        match self.end.get() {
            Some(PackedEnd::Trailing(TrailingData { offset, packed_offset })) => {
                let reason = format!(
                    "More data follows the end of the compressed data, from its byte {packed_offset} on; it is not shown."
                );
                losses.add_because(&reason, Loss::TrailingData, SourcePos::Offset(*offset));
            }
            // A checksum may differ after the end of the trace.
            Some(PackedEnd::Damaged(damage)) if !is_truncated => {
                losses.add_because(&damage.reason(), Loss::Truncated, SourcePos::Offset(damage.offset));
            }
            _ => return Ok(()),
        }
        sink.accept(Batch { losses, ..Batch::default() })
    }
}

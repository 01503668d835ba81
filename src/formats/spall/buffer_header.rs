//! The headers of the buffers of both Spall formats.

use crate::formats::input::byte_reader::ByteReader;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::{BatchSink, ReadError};
use crate::model::{Loss, SourcePos};

/// Reads the header of the next buffer, and flushes the batch before it waits. Returns `None` at the end of the trace;
/// a truncated header is counted.
pub(super) fn next_header<'i>(
    input: &'i mut ByteReader,
    header_bytes: usize,
    batch: &mut BatchBuilder,
    sink: &mut dyn BatchSink,
) -> Result<Option<&'i [u8]>, ReadError> {
    if input.would_wait(header_bytes) {
        batch.flush_if_any(sink)?;
    }
    if input.is_at_end()? {
        return Ok(None);
    }
    let pos = SourcePos::Offset(input.offset());
    let header = input.take_bytes(header_bytes)?;
    if header.is_none() {
        batch.lose(Loss::Truncated, pos);
    }
    Ok(header)
}

/// Returns a field of a header.
pub(super) fn header_u32(header: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(header[at..at + 4].try_into().unwrap_or([0; 4]))
}

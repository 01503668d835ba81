//! Finds the chunks of a trace with a missing or damaged directory, by following headers. After a damaged header,
//! searches for the next intact one. Counts the skipped chunks.

use super::file::NativeFile;
use super::wire::{ALIGNMENT, CHUNK_MAGIC, ChunkHeader, ChunkKind, DirectoryEntry, FileHeader, FileTrailer, MAGIC};
use crate::formats::{ReadContext, ReadError};
use crate::model::{Loss, Losses, SourcePos};

/// Message of the loss of another trace in the same file.
pub(super) const APPENDED: &str = "Another trace follows in the same file, as in files joined by `cat`; it is not shown. Open each trace from a file of its own.";

/// Bytes searched at a time: large enough for a single disk read.
const WINDOW_BYTES: usize = 1 << 20;

/// Finds all intact chunks, in file order. Fails on I/O errors and cancellation.
pub(super) fn find_chunks(
    file: &NativeFile,
    context: &ReadContext,
    losses: &mut Losses,
) -> Result<Vec<DirectoryEntry>, ReadError> {
    let mut entries: Vec<DirectoryEntry> = Vec::new();
    let mut offset = FileHeader::BYTES;
    // Start of the last skipped chunk, until the next intact one shows the number of skipped chunks.
    let mut gap: Option<u64> = None;
    let mut expected_sequence = 0;
    let mut last_kind = None;
    while offset < file.bytes {
        context.cancel.check()?;
        let header = file.record::<ChunkHeader>(offset)?;
        let entry = header.map(|header| DirectoryEntry { offset, header });
        let follows = |entry: &DirectoryEntry| entry.header.sequence >= expected_sequence && file.holds(entry);
        if let Some(entry) = entry.filter(follows) {
            let missing = u64::from(entry.header.sequence - expected_sequence);
            match gap.take() {
                Some(first) => losses.add_many(Loss::BadChunk, SourcePos::Offset(first), missing.max(1)),
                None => losses.add_many(Loss::BadChunk, SourcePos::Offset(offset), missing),
            }
            expected_sequence = entry.header.sequence.saturating_add(1);
            last_kind = entry.header.kind();
            offset += entry.header.stride_bytes();
            entries.push(entry);
            continue;
        }
        if let Some(next) = appended(file, offset)? {
            losses.add_because(APPENDED, Loss::TrailingData, SourcePos::Offset(next));
            break;
        }
        if last_kind == Some(ChunkKind::Directory) && file.bytes - offset <= FileTrailer::BYTES {
            break;
        }
        gap = Some(offset);
        match search(file, context, offset + ALIGNMENT, follows)? {
            Some(chunk_offset) => offset = chunk_offset,
            None => break,
        }
    }
    // A finished file ends with a directory; otherwise writing was interrupted.
    let finished = last_kind == Some(ChunkKind::Directory);
    match gap {
        Some(first) if !finished => losses.add(Loss::Truncated, SourcePos::Offset(first)),
        Some(first) => losses.add(Loss::BadChunk, SourcePos::Offset(first)),
        None if !finished => losses.add(Loss::Truncated, SourcePos::Offset(file.bytes)),
        // All chunks are intact, so the damage is in the directory or the trailer.
        None if losses.is_empty() => losses.add(Loss::BadRecord, SourcePos::Offset(offset)),
        None => {}
    }
    entries.retain(|entry| entry.header.kind() != Some(ChunkKind::Directory));
    Ok(entries)
}

/// Returns the start of another trace after the chunks of this one or after its trailer.
fn appended(file: &NativeFile, chunks_end: u64) -> Result<Option<u64>, ReadError> {
    let trailer = file.record::<FileTrailer>(chunks_end)?;
    let end = if trailer.is_some_and(|trailer| trailer.is_whole()) { FileTrailer::BYTES } else { 0 };
    let next = chunks_end + end;
    Ok(file.record::<FileHeader>(next)?.filter(|header| header.magic == MAGIC && header.is_whole()).map(|_| next))
}

/// Finds the next intact header from `offset` that `follows` the previous chunks. Candidates are checked within the
/// window, so that a file full of magics costs no additional reads.
fn search(
    file: &NativeFile,
    context: &ReadContext,
    mut offset: u64,
    follows: impl Fn(&DirectoryEntry) -> bool,
) -> Result<Option<u64>, ReadError> {
    let mut window = vec![0; WINDOW_BYTES];
    while offset.saturating_add(ChunkHeader::BYTES) <= file.bytes {
        context.cancel.check()?;
        let bytes = (file.bytes - offset).min(WINDOW_BYTES as u64);
        let window = &mut window[..bytes as usize];
        file.read_at(offset, window)?;
        // Windows overlap by less than a header: a header cut by the end of this window is complete in the next.
        let starts = (0..window.len() + 1 - size_of::<ChunkHeader>()).step_by(ALIGNMENT as usize);
        for start in starts.clone() {
            let bytes = &window[start..start + size_of::<ChunkHeader>()];
            if bytes.starts_with(&CHUNK_MAGIC.to_le_bytes()) {
                let entry =
                    DirectoryEntry { offset: offset + start as u64, header: bytemuck::pod_read_unaligned(bytes) };
                if follows(&entry) {
                    return Ok(Some(entry.offset));
                }
            }
        }
        offset += starts.len() as u64 * ALIGNMENT;
    }
    Ok(None)
}

//! Opens a native trace by its directory, or by scanning headers if the directory is missing. Reads chunks with `pread`
//! from any thread; never maps the file, which may be truncated meanwhile. Does not sort, and does not verify the times
//! in headers, which the sort does.

use std::path::Path;
use std::sync::Arc;

use super::batches::{CHUNKS, check_chunks};
use super::columns;
use super::file::NativeFile;
use super::live::LiveNative;
use super::recover;
use super::stacks::{self, StacksPatch};
use super::tables::{TablesPatch, TablesRead};
use super::wire::{ChunkHeader, ChunkKind, DirectoryEntry, FileHeader, FileTrailer, MAGIC, VERSION};
use crate::base::progress::Progress;
use crate::formats::format::{ArrivalKey, DataKind, Format, Opener};
use crate::formats::input::source::Source;
use crate::formats::input::unpack::unpacked_to_file;
use crate::formats::{ChunkHead, ChunkSource, ChunkedTrace, ReadContext, ReadError, Reader, StoreParts};
use crate::model::{Chunk, Event, EventFlags, EventKind, Loss, Losses, Module, SourcePos, StackIdx, Stacks};

pub(crate) const FORMAT: Format = Format {
    name: CHUNKS.format,
    record: CHUNKS.record,
    sniff: |head| head.starts_with(&MAGIC),
    is_event: None,
    live: Some(ArrivalKey::Start),
    shows: &DataKind::ALL,
    opener: Opener::Trace(open_source),
};

/// Opens a native trace. It is read by position, so a compressed file is unpacked first.
fn open_source(source: Source, context: &ReadContext) -> Result<Reader, ReadError> {
    if source.is_live() {
        return Ok(Reader::stream(LiveNative::new(source)));
    }
    let path = source.path().to_owned();
    let unpacked = if source.is_packed() { Some(unpacked_to_file(source, context)?) } else { None };
    // The temporary file is deleted once it is open.
    let bytes = unpacked.as_ref().map_or(path.as_path(), |file| file.path());
    let (trace, lost) = open_unpacked(bytes, &path, context)?;
    if trace.source.heads().is_empty() {
        check_chunks(&path, &lost, context)?;
    }
    Ok(Reader::Chunks(Box::new(trace)))
}

/// Opens a trace: reads its directory and tables, but not its events.
///
/// # Errors
/// For a file that is unreadable, not a native trace, or of another version. Damage after the file header is not an
/// error, but a loss.
pub fn open(path: &Path, context: &ReadContext) -> Result<ChunkedTrace, ReadError> {
    open_unpacked(path, path, context).map(|(trace, _)| trace)
}

/// Like [`open`], for a trace that was unpacked to another file: errors have the path of the original. Also returns the
/// losses of this read, without those that the trace contains.
fn open_unpacked(unpacked: &Path, path: &Path, context: &ReadContext) -> Result<(ChunkedTrace, Losses), ReadError> {
    let file = NativeFile::open(unpacked)?.with_path(path);
    let mut losses = Losses::default();
    read_file_header(&file, &mut losses)?;
    let (entries, is_whole) = match directory(&file)? {
        Some(entries) => (entries, true),
        None => (recover::find_chunks(&file, context, &mut losses)?, false),
    };

    let mut read = ChunksRead::new(context, entries.len());
    for entry in entries {
        context.cancel.check()?;
        if entry.header.lost_before > 0 {
            losses.add_many(Loss::RecorderLost, SourcePos::Time(entry.header.start_min_ns), entry.header.lost_before);
        }
        if !read.add(entry, &file)? {
            read.damaged.add(Loss::BadChunk, SourcePos::Offset(entry.offset));
        }
    }
    let ChunksRead { tables, stacks, chunks, parts, damaged } = read;
    // In a damaged trace, the store would show events of chunks that are counted as lost.
    let has_store = is_whole && damaged.is_empty() && !parts.is_empty();
    losses.merge(&damaged);
    let lost = losses.clone();
    let (names, tracks, recorded) = tables.finish();
    let stacks = stacks::with_known_names(stacks, names.len());
    losses.merge(&recorded);

    let heads = chunks.iter().map(|entry| ChunkHead {
        min_ts_ns: entry.header.start_min_ns,
        max_ts_ns: entry.header.start_max_ns,
        events: entry.header.event_count,
        memory_bytes: u64::from(entry.header.memory_bytes),
    });
    let file = Arc::new(file);
    let store = NativeStore { file: Arc::clone(&file), parts, progress: context.progress.clone() };
    let source = NativeSource {
        heads: heads.collect(),
        chunks,
        file: Arc::clone(&file),
        names: names.len(),
        tracks: tracks.tracks.len(),
        stacks: stacks.len(),
        progress: context.progress.clone(),
    };
    let store = has_store.then(|| Box::new(store) as Box<dyn StoreParts>);
    Ok((ChunkedTrace { source: Box::new(source), names, tracks, stacks, losses, store }, lost))
}

/// The chunks of a trace, with their decoded tables.
struct ChunksRead {
    tables: TablesRead,
    stacks: Stacks,
    chunks: Vec<DirectoryEntry>,
    /// The parts of the sorted store.
    parts: Vec<DirectoryEntry>,
    damaged: Losses,
}

impl ChunksRead {
    fn new(context: &ReadContext, entries: usize) -> Self {
        Self {
            tables: TablesRead::new(context.no_names()),
            stacks: Stacks::default(),
            chunks: Vec::with_capacity(entries),
            parts: Vec::new(),
            damaged: Losses::default(),
        }
    }

    /// Adds a chunk, and decodes it if it contains tables. Returns whether it is intact.
    fn add(&mut self, entry: DirectoryEntry, file: &NativeFile) -> Result<bool, ReadError> {
        let Some(kind) = entry.header.kind() else { return Ok(false) };
        match kind {
            ChunkKind::Events if entry.header.event_count > 0 => self.chunks.push(entry),
            ChunkKind::Events | ChunkKind::Directory => {}
            ChunkKind::Store => self.parts.push(entry),
            ChunkKind::Tables => {
                let patch = file.patch::<TablesPatch>(&entry)?;
                return Ok(patch.is_some_and(|patch| self.tables.apply(patch).is_ok()));
            }
            ChunkKind::Stacks => {
                let patch = file.patch::<StacksPatch>(&entry)?;
                return Ok(patch.is_some_and(|patch| patch.apply(&mut self.stacks).is_ok()));
            }
            ChunkKind::Utc => {
                let Some(offset_ns) = file.patch::<i64>(&entry)? else { return Ok(false) };
                self.tables.tracks.utc_offset_ns = Some(offset_ns);
            }
            ChunkKind::Modules => {
                let Some(modules) = file.patch::<Vec<Module>>(&entry)? else { return Ok(false) };
                self.tables.tracks.modules = modules;
            }
        }
        Ok(true)
    }
}

/// The chunks of an opened trace.
#[derive(Debug)]
struct NativeSource {
    file: Arc<NativeFile>,
    heads: Vec<ChunkHead>,
    chunks: Vec<DirectoryEntry>,
    names: usize,
    tracks: usize,
    stacks: usize,
    progress: Progress,
}

impl ChunkSource for NativeSource {
    fn heads(&self) -> &[ChunkHead] {
        &self.heads
    }

    fn load(&self, chunk: usize) -> Result<Chunk, ReadError> {
        let Some(entry) = self.chunks.get(chunk) else {
            return Err(self.file.malformed(0, format!("chunk {chunk}"), format!("{} chunks", self.chunks.len())));
        };
        let damaged = |expected: &str, found: String| self.file.malformed(entry.offset, expected.into(), found);
        let payload = self.file.payload(entry)?;
        self.progress.add_bytes(entry.header.stride_bytes());
        let mut chunk = columns::decode(&payload).map_err(|error| damaged("a chunk of events", error.to_string()))?;
        if chunk.events.len() != entry.header.event_count as usize {
            let (expected, found) = (entry.header.event_count, chunk.events.len());
            return Err(damaged(&format!("{expected} events"), found.to_string()));
        }
        // Invalid indices would need a check at every later use.
        for event in &mut chunk.events {
            // Lateness depends on the order of events in this file, not on the original recording.
            event.flags = event.flags.without(EventFlags::LATE);
            if event.name.index() >= self.names || event.track.index() >= self.tracks {
                let found = format!("name {} and track {}", event.name.0, event.track.0);
                return Err(damaged(&format!("{} names and {} tracks", self.names, self.tracks), found));
            }
            if self.points_beyond_stacks(event) {
                return Err(damaged(&format!("{} stacks", self.stacks), format!("stack {}", event.value)));
            }
        }
        Ok(chunk)
    }
}

/// The parts of the store in an opened trace.
#[derive(Debug)]
struct NativeStore {
    file: Arc<NativeFile>,
    parts: Vec<DirectoryEntry>,
    progress: Progress,
}

impl StoreParts for NativeStore {
    fn count(&self) -> usize {
        self.parts.len()
    }

    fn bytes(&self) -> u64 {
        self.parts.iter().map(|entry| u64::from(entry.header.payload_bytes)).sum()
    }

    fn load(&self, part: usize) -> Result<Vec<u8>, ReadError> {
        let Some(entry) = self.parts.get(part) else {
            return Err(self.file.malformed(0, format!("part {part}"), format!("{} parts", self.parts.len())));
        };
        let bytes = self.file.payload(entry)?;
        self.progress.add_bytes(entry.header.stride_bytes());
        Ok(bytes)
    }
}

impl NativeSource {
    fn points_beyond_stacks(&self, event: &Event) -> bool {
        event.kind == EventKind::Sample
            && StackIdx::checked_from_value(event.value).is_none_or(|stack| stack.index() >= self.stacks)
    }
}

/// Verifies the file header. Damage after its magic is a loss, since chunks do not depend on it.
fn read_file_header(file: &NativeFile, losses: &mut Losses) -> Result<(), ReadError> {
    let Some(header) = file.record::<FileHeader>(0)? else {
        return Err(file.malformed(file.bytes, format!("{} bytes of header", FileHeader::BYTES), "the end".into()));
    };
    if header.magic != MAGIC {
        let found = header.magic.escape_ascii().to_string();
        return Err(file.malformed(0, "the first bytes of a native trace".into(), found));
    }
    if !header.is_whole() {
        losses.add(Loss::BadRecord, SourcePos::Offset(0));
    } else if header.version != VERSION {
        return Err(file.malformed(8, format!("version {VERSION}"), format!("version {}", header.version)));
    }
    Ok(())
}

/// Returns the directory of a finished file, if it and all its offsets are valid.
fn directory(file: &NativeFile) -> Result<Option<Vec<DirectoryEntry>>, ReadError> {
    let Some(trailer_offset) = file.bytes.checked_sub(FileTrailer::BYTES) else { return Ok(None) };
    let Some(trailer) = file.record::<FileTrailer>(trailer_offset)? else { return Ok(None) };
    let Some(header) = file.record::<ChunkHeader>(trailer.directory_offset)? else { return Ok(None) };
    let directory = DirectoryEntry { offset: trailer.directory_offset, header };
    let fits = trailer.is_whole()
        && file.holds(&directory)
        && header.kind() == Some(ChunkKind::Directory)
        && directory.offset + header.stride_bytes() == trailer_offset;
    if !fits {
        return Ok(None);
    }
    let Some(bytes) = file.decompressed(&directory)? else { return Ok(None) };
    let entries: Vec<DirectoryEntry> =
        bytes.chunks_exact(size_of::<DirectoryEntry>()).map(bytemuck::pod_read_unaligned).collect();
    let mut offset = FileHeader::BYTES;
    for entry in &entries {
        if entry.offset != offset || !file.holds(entry) {
            return Ok(None);
        }
        offset += entry.header.stride_bytes();
    }
    Ok((offset == directory.offset).then_some(entries))
}

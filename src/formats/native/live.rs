//! Reads a native trace while it is written: each chunk of events with the table rows that it needs. Buffers the tables
//! of the trace and one chunk. Counts damaged chunks, and skips an embedded store.

use super::batches::{Tables, described, renumber};
use super::columns;
use super::recover::APPENDED;
use super::stacks::StacksPatch;
use super::tables::{TablesPatch, TablesRead};
use super::wire::{ALIGNMENT, ChunkHeader, ChunkKind, FileHeader, FileTrailer, MAGIC, VERSION, checksum};
use crate::formats::input::byte_reader::ByteReader;
use crate::formats::input::lengths::saturating_len;
use crate::formats::input::source::Source;
use crate::formats::{BatchSink, ReadContext, ReadError, StreamReader};
use crate::model::{
    Batch, Chunk, Event, EventKind, Loss, Losses, Metadata, Module, NameRow, SourcePos, StackIdx, Stacks, TrackIdx,
    TrackTables,
};

/// Reader of a native trace that is still being written.
pub(super) struct LiveNative {
    source: Source,
}

impl LiveNative {
    pub(super) fn new(source: Source) -> Self {
        Self { source }
    }
}

struct ReaderTables {
    read: TablesRead,
    stacks: Stacks,
}

impl StreamReader for LiveNative {
    fn read(self: Box<Self>, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let mut input = ByteReader::new(self.source);
        let mut losses = Losses::default();
        read_file_header(&mut input, &mut losses)?;
        let mut tables = ReaderTables { read: TablesRead::new(context.no_names()), stacks: Stacks::default() };
        let (mut in_damage, mut is_finished) = (false, false);
        loop {
            context.cancel.check()?;
            if !losses.is_empty() {
                sink.accept(Batch { names: vec![NameRow::default()], losses, ..Batch::default() })?;
                losses = Losses::default();
            }
            let pos = SourcePos::Offset(input.offset());
            let header = input.peek(size_of::<ChunkHeader>())?;
            // A finished trace ends with a short trailer that locates its directory.
            if header.len() < size_of::<ChunkHeader>() {
                break;
            }
            let header: ChunkHeader = bytemuck::pod_read_unaligned(header);
            if !header.is_whole() && is_appended(bytemuck::bytes_of(&header)) {
                losses.add_because(APPENDED, Loss::TrailingData, pos);
                break;
            }
            if !header.is_whole() || !header.fits_memory() {
                if !in_damage {
                    losses.add(Loss::BadChunk, pos);
                }
                in_damage = true;
                input.skip(ALIGNMENT)?;
                continue;
            }
            (in_damage, is_finished) = (false, header.kind() == Some(ChunkKind::Directory));
            if matches!(header.kind(), Some(ChunkKind::Directory | ChunkKind::Store)) {
                input.skip(header.stride_bytes())?;
                continue;
            }
            let Some(bytes) = input.take_bytes(saturating_len(header.stride_bytes()))? else { break };
            let payload = &bytes[size_of::<ChunkHeader>()..][..header.payload_bytes as usize];
            if header.lost_before > 0 {
                losses.add_many(Loss::RecorderLost, SourcePos::Time(header.start_min_ns), header.lost_before);
            }
            let batch = (checksum(payload) == header.payload_checksum).then(|| tables.batch_of(&header, payload));
            match batch.flatten() {
                Some(batch) => sink.accept(batch)?,
                None => losses.add(Loss::BadChunk, pos),
            }
        }
        if !is_finished {
            losses.add(Loss::Truncated, SourcePos::Offset(input.offset()));
        }
        sink.accept(Batch { names: vec![NameRow::default()], losses, ..Batch::default() })
    }
}

/// Returns whether another trace begins here, or after the trailer that begins here.
fn is_appended(bytes: &[u8]) -> bool {
    let after_trailer = &bytes[size_of::<FileTrailer>()..];
    let is_trailer = bytemuck::pod_read_unaligned::<FileTrailer>(&bytes[..size_of::<FileTrailer>()]).is_whole();
    let next = if is_trailer { after_trailer } else { bytes };
    let header = bytemuck::pod_read_unaligned::<FileHeader>(&next[..size_of::<FileHeader>()]);
    header.magic == MAGIC && header.is_whole()
}

/// Reads the header of the file. A damaged header is a loss; another format or version is an error.
fn read_file_header(input: &mut ByteReader, losses: &mut Losses) -> Result<(), ReadError> {
    let path = input.source().path().to_owned();
    let malformed = |offset, expected: String, found: String| {
        Err(ReadError::Malformed { path: path.clone(), offset, expected, found })
    };
    match input.take_bytes(size_of::<FileHeader>())?.map(bytemuck::pod_read_unaligned::<FileHeader>) {
        Some(header) if header.magic != MAGIC => {
            let found = header.magic.escape_ascii().to_string();
            return malformed(0, "the first bytes of a native trace".into(), found);
        }
        Some(header) if !header.is_whole() => losses.add(Loss::BadRecord, SourcePos::Offset(0)),
        Some(header) if header.version != VERSION => {
            return malformed(8, format!("version {VERSION}"), format!("version {}", header.version));
        }
        Some(_) => {}
        None => {
            return malformed(input.offset(), format!("{} bytes of header", FileHeader::BYTES), "the end".into());
        }
    }
    Ok(())
}

impl ReaderTables {
    /// Decodes the events or table rows of a chunk; returns `None` if it is damaged.
    fn batch_of(&mut self, header: &ChunkHeader, payload: &[u8]) -> Option<Batch> {
        let mut batch = Batch { names: vec![NameRow::default()], ..Batch::default() };
        match header.kind()? {
            ChunkKind::Events => {
                batch.chunk = columns::decode(payload).ok().filter(|chunk| self.holds(chunk))?;
                let Self { read: TablesRead { names, tracks, .. }, stacks } = self;
                renumber(Tables { names, tracks, stacks }, &mut batch);
                batch.chunk.sort();
            }
            ChunkKind::Tables => {
                let patch: TablesPatch = unpacked(header, payload)?;
                let new = TrackTables {
                    processes: patch.processes.iter().map(|(_, process)| process.clone()).collect(),
                    tracks: patch.tracks.iter().map(|(_, track)| track.clone()).collect(),
                    ..TrackTables::default()
                };
                let (units, groups, facts) = (patch.units.clone(), patch.groups.clone(), patch.facts.clone());
                self.read.apply(patch).ok()?;
                batch.metadata = described(&new);
                let key_of = |track: TrackIdx| Some(self.read.tracks.tracks.get(track.index())?.key.clone());
                let units = units.into_iter().filter_map(|(track, unit)| Some((key_of(track)?, unit)));
                batch.metadata.extend(units.map(|(key, unit)| Metadata::CounterUnit { key, unit }));
                let groups = groups.into_iter().filter_map(|(track, group)| Some((key_of(track)?, group)));
                batch.metadata.extend(groups.map(|(key, group)| Metadata::TrackGroup { key, group }));
                batch.metadata.extend(facts.into_iter().map(|fact| Metadata::Fact { fact: Box::new(fact) }));
                batch.losses = std::mem::take(&mut self.read.losses);
            }
            ChunkKind::Stacks => unpacked::<StacksPatch>(header, payload)?.apply(&mut self.stacks).ok()?,
            ChunkKind::Utc => batch.metadata = vec![Metadata::Utc { offset_ns: unpacked(header, payload)? }],
            ChunkKind::Modules => {
                let modules = unpacked::<Vec<Module>>(header, payload)?.into_iter();
                batch.metadata = modules.map(|module| Metadata::Module { module: Box::new(module) }).collect();
            }
            ChunkKind::Directory | ChunkKind::Store => {}
        }
        Some(batch)
    }

    /// Returns whether all references of events are valid, since a chunk of tables may be lost.
    fn holds(&self, chunk: &Chunk) -> bool {
        let has_stack = |event: &Event| {
            event.kind != EventKind::Sample
                || StackIdx::checked_from_value(event.value).is_some_and(|stack| stack.index() < self.stacks.len())
        };
        let (names, tracks) = (self.read.names.len(), self.read.tracks.tracks.len());
        let is_known = |event: &Event| event.name.index() < names && event.track.index() < tracks && has_stack(event);
        chunk.events.iter().all(is_known)
    }
}

/// Decompresses and deserialises the payload of a chunk of tables.
fn unpacked<T: serde::de::DeserializeOwned>(header: &ChunkHeader, payload: &[u8]) -> Option<T> {
    let bytes = zstd::bulk::decompress(payload, header.memory_bytes as usize).ok()?;
    postcard::from_bytes(&bytes).ok()
}

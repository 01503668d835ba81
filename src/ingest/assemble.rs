//! Maps the batches of a reader to the tables of the trace. Batches come in trace order, so that indices do not depend
//! on which worker parsed them.

use super::chunk_cache::ChunkCache;
use super::untimed::{BatchStarts, UntimedBatches};
use crate::base::progress::Progress;
use crate::formats::{BatchSink, ReadError};
use crate::model::{
    Batch, Chunk, Event, EventKind, Loss, Losses, NameIdx, Names, Registry, SourcePos, StackIdx, Stacks, TrackIdx,
};

/// Only every eighth event is added to the histogram of a load in progress: it is cheaper and looks the same.
const DENSITY_STEP: usize = 8;

/// Collects the batches of a reader: merges their tables and stores their chunks.
pub(crate) struct Assembler<'a> {
    pub(crate) names: Names,
    pub(crate) stacks: Stacks,
    /// All processes and tracks so far.
    pub(crate) registry: Registry,
    pub(crate) losses: Losses,
    pub(crate) chunks: ChunkCache,
    pub(super) untimed: UntimedBatches,
    /// Sentences for the user, from the reader.
    pub(crate) notes: Vec<String>,
    /// Index in `names` of each of the reader's names. A reader may send a name once for many batches.
    known_names: Vec<NameIdx>,
    progress: &'a Progress,
}

impl<'a> Assembler<'a> {
    #[must_use]
    pub(crate) fn new(names: Names, chunks: ChunkCache, progress: &'a Progress) -> Self {
        Self {
            names,
            stacks: Stacks::default(),
            registry: Registry::default(),
            losses: Losses::default(),
            chunks,
            untimed: UntimedBatches::default(),
            notes: Vec::new(),
            known_names: Vec::new(),
            progress,
        }
    }
}

impl Assembler<'_> {
    /// Removes and counts the events of tracks without an index: they must not appear on another track.
    #[cold]
    fn drop_trackless(&mut self, chunk: &mut Chunk, tracks: &[Option<TrackIdx>]) {
        let is_lost = |event: &Event| tracks.get(event.track.index()) == Some(&None);
        if let Some(first) = chunk.events.iter().find(|event| is_lost(event)) {
            let (first_ns, before) = (first.ts_ns, chunk.events.len());
            chunk.events.retain(|event| !is_lost(event));
            let lost = before - chunk.events.len();
            self.losses.add_many(Loss::OverLimit, SourcePos::Time(first_ns), lost as u64);
        }
    }
}

impl BatchSink for Assembler<'_> {
    fn accept(&mut self, batch: Batch) -> Result<(), ReadError> {
        let Batch { mut chunk, names, names_before, stacks, tracks, metadata, losses } = batch;
        self.known_names.truncate(names_before as usize);
        self.known_names.extend(names.iter().map(|row| self.names.intern_row(row.borrowed())));
        metadata.iter().filter(|metadata| metadata.is_move()).for_each(|metadata| self.registry.apply(metadata));
        let tracks: Vec<Option<TrackIdx>> = tracks.iter().map(|key| self.registry.track(key)).collect();
        if tracks.contains(&None) {
            self.drop_trackless(&mut chunk, &tracks);
        }
        let tracks: Vec<TrackIdx> = tracks.into_iter().map(Option::unwrap_or_default).collect();
        let names = &self.known_names;
        let name_of = |name: NameIdx| names.get(name.index()).copied().unwrap_or(NameIdx::EMPTY);
        let stacks = self.stacks.absorb(&stacks, name_of);
        let maps = |event: &mut Event| {
            event.name = name_of(event.name);
            if event.kind == EventKind::Sample {
                let stack = stacks.get(StackIdx::from_value(event.value).index()).copied().unwrap_or_default();
                event.value = u64::from(stack.0);
            }
            event.track = tracks.get(event.track.index()).copied().unwrap_or_default();
        };
        chunk.events.iter_mut().for_each(maps);
        metadata.iter().for_each(|metadata| self.registry.apply(metadata));
        self.losses.merge(&losses);
        for row in std::mem::take(&mut chunk.details.too_long) {
            let event = chunk.events.iter().find(|event| event.detail == row);
            self.losses.add(Loss::LongArgs, SourcePos::Time(event.map_or(0, |event| event.ts_ns)));
        }
        if chunk.details.over_limit > 0 {
            let first_ns = chunk.events.first().map_or(0, |event| event.ts_ns);
            self.losses.add_many(Loss::LongArgs, SourcePos::Time(first_ns), chunk.details.over_limit);
        }
        self.progress.add_events(chunk.events.len() as u64);
        self.progress.density().add(chunk.events.iter().step_by(DENSITY_STEP).map(|event| event.ts_ns));
        let starts = BatchStarts::from_events(&chunk.events, &self.registry.tables().tracks, &tracks);
        let first = self.chunks.count();
        self.chunks.push(chunk).map_err(|error| ReadError::Sink(Box::new(error)))?;
        if let Some(starts) = starts {
            self.untimed.push(first..self.chunks.count(), starts);
        }
        Ok(())
    }

    /// The number of chunks, since batches without events are not stored.
    fn position(&self) -> usize {
        self.chunks.count()
    }

    fn move_from(&mut self, position: usize, by_ns: i64) -> bool {
        let is_moved = self.chunks.move_from(position, by_ns);
        if is_moved {
            self.untimed.move_from(position, by_ns);
        }
        is_moved
    }

    fn notify(&mut self, sentence: String) {
        self.notes.push(sentence);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::base::budget::Budget;
    use crate::formats::ChunkSource;
    use crate::ingest::spill::SpillFile;
    use crate::model::{Id, TrackKey, TrackKind};

    #[test]
    fn events_of_a_track_beyond_the_last_index_are_counted_and_on_no_other_track() {
        let spill = Arc::new(SpillFile::create(&std::env::temp_dir()).unwrap());
        let progress = Progress::default();
        let mut assembler = Assembler::new(Names::default(), ChunkCache::new(Budget::default(), spill), &progress);
        assembler.registry = Registry::with_limit(1);
        let thread = |tid| {
            let (kind, pid, tid) = (TrackKind::Thread, Id::Number(1), Id::Number(tid));
            TrackKey::new(kind, pid, tid)
        };
        let events = [2, 0, 1, 2].into_iter().zip(10..);
        let events = events.map(|(track, ts_ns)| Event::at(ts_ns, TrackIdx(track), NameIdx::EMPTY)).collect();
        let chunk = Chunk { events, ..Chunk::default() };
        let tracks = [5, 6, 7].map(thread).to_vec();
        assembler.accept(Batch { chunk, tracks, ..Batch::default() }).unwrap();
        let kept = assembler.chunks.load(0).unwrap().events;
        let kept: Vec<_> = kept.iter().map(|event| (event.ts_ns, event.track.0)).collect();
        assert_eq!(kept, [(11, 0), (12, 1)]);
        let lost = assembler.losses.iter().next().unwrap();
        assert_eq!((lost.loss, lost.count, lost.first), (Loss::OverLimit, 2, SourcePos::Time(10)));
    }
}

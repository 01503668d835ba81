//! Collects events into batches: gives names and tracks their rows, and hands a batch on when it is full. For readers that
//! go through a capture on one thread.

use rustc_hash::FxHashMap;

use super::{BatchSink, Grain, ReadContext, ReadError};
use crate::model::{
    Batch, Event, EventFlags, EventKind, Loss, Losses, NameIdx, NameRow, Names, Place, StackIdx, TrackIdx, TrackKey,
};

/// Events of a batch: its tables are then small beside them.
const BATCH_EVENTS: usize = 20_000;

/// Bytes of details of a batch, whatever the number of events.
const BATCH_DETAIL_BYTES: usize = 8 << 20;

/// A batch in the making.
#[derive(Debug)]
pub(super) struct BatchBuilder {
    pub(super) batch: Batch,
    /// Counts the batches, so that rows can be remembered together with the batch that they are of.
    pub(super) number: u32,
    name_rows: FxHashMap<Box<[u8]>, NameIdx>,
    track_rows: FxHashMap<TrackKey, TrackIdx>,
    /// By number of track: its row, and the batch that it is of.
    numbered_rows: Vec<(u32, TrackIdx)>,
    key: Vec<u8>,
    events_max: usize,
}

impl BatchBuilder {
    /// Begins the first batch.
    pub(super) fn new(grain: Grain) -> Self {
        Self {
            batch: empty_batch(),
            number: 1,
            name_rows: FxHashMap::default(),
            track_rows: FxHashMap::default(),
            numbered_rows: Vec::new(),
            key: Vec::new(),
            events_max: grain.batch_events.unwrap_or(BATCH_EVENTS).max(1),
        }
    }

    /// Counts what could not be taken.
    pub(super) fn lose(&mut self, loss: Loss, place: Place) {
        self.batch.losses.add(loss, place);
    }

    /// Adds an event without arguments and returns it, to be changed.
    pub(super) fn push(&mut self, event: Event) {
        self.batch.chunk.events.push(event);
    }

    /// Adds a sample of a stack, which is a row of the batch's.
    pub(super) fn push_sample(&mut self, ts_ns: i64, track: TrackIdx, stack: StackIdx, detail: u32) {
        let value = u64::from(stack.0);
        self.push(Event { value, detail, ..bare(ts_ns, EventKind::Sample, track, NameIdx::EMPTY) });
    }

    /// The row of a name with its category.
    pub(super) fn name(&mut self, name: &[u8], category: Option<&[u8]>, place: Place) -> NameIdx {
        if name.is_empty() && category.is_none() {
            return NameIdx::EMPTY;
        }
        self.key.clear();
        self.key.extend_from_slice(&(name.len() as u64).to_le_bytes());
        self.key.extend_from_slice(name);
        if let Some(category) = category {
            self.key.push(b',');
            self.key.extend_from_slice(category);
        }
        if let Some(&known) = self.name_rows.get(&self.key[..]) {
            return known;
        }
        let losses = &mut self.batch.losses;
        let row =
            NameRow { text: text(name, place, losses), category: category.map(|bytes| text(bytes, place, losses)) };
        let index = NameIdx(u32::try_from(self.batch.names.len()).unwrap_or(0));
        self.batch.names.push(row);
        self.name_rows.insert(self.key.as_slice().into(), index);
        index
    }

    /// The row of the track with this key.
    pub(super) fn track_with(&mut self, key: &TrackKey) -> TrackIdx {
        if let Some(&known) = self.track_rows.get(key) {
            return known;
        }
        let row = self.push_track(key.clone());
        self.track_rows.insert(key.clone(), row);
        row
    }

    /// The row of a track that the reader has given a small number, for readers with little time: `key` is asked once a
    /// batch. One reader uses this or [`Self::track_with`], not both.
    #[inline]
    pub(super) fn numbered_track(&mut self, number: u32, key: impl FnOnce() -> TrackKey) -> TrackIdx {
        let position = number as usize;
        match self.numbered_rows.get(position) {
            Some(&(batch, row)) if batch == self.number => row,
            _ => {
                if self.numbered_rows.len() <= position {
                    self.numbered_rows.resize(position + 1, (0, TrackIdx(0)));
                }
                let row = self.push_track(key());
                self.numbered_rows[position] = (self.number, row);
                row
            }
        }
    }

    fn push_track(&mut self, key: TrackKey) -> TrackIdx {
        let row = TrackIdx(u32::try_from(self.batch.tracks.len()).unwrap_or(u32::MAX));
        self.batch.tracks.push(key);
        row
    }

    /// Whether the batch should be handed on.
    pub(super) fn is_full(&self) -> bool {
        let chunk = &self.batch.chunk;
        chunk.events.len() >= self.events_max || chunk.details.bytes.len() >= BATCH_DETAIL_BYTES
    }

    /// Hands the batch on if it is full.
    pub(super) fn flush_if_full(&mut self, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        if !self.is_full() {
            return Ok(());
        }
        context.cancel.check()?;
        self.flush(sink)
    }

    /// Hands the batch on, sorted.
    pub(super) fn flush(&mut self, sink: &mut dyn BatchSink) -> Result<(), ReadError> {
        let mut batch = self.take();
        batch.chunk.sort();
        sink.accept(batch)
    }

    /// The batch as it is, unsorted; begins the next.
    pub(super) fn take(&mut self) -> Batch {
        self.number += 1;
        self.name_rows.clear();
        self.track_rows.clear();
        std::mem::replace(&mut self.batch, empty_batch())
    }
}

/// Row 0 of the names is the empty one.
fn empty_batch() -> Batch {
    let mut batch = Batch { names: vec![NameRow::default()], ..Batch::default() };
    batch.chunk.events.reserve(BATCH_EVENTS + BATCH_EVENTS / 8);
    batch
}

/// An event of a kind at a time on a track, with nothing else.
pub(super) fn bare(ts_ns: i64, kind: EventKind, track: TrackIdx, name: NameIdx) -> Event {
    Event { ts_ns, value: 0, track, name, detail: 0, depth: 0, kind, flags: EventFlags::NONE }
}

/// Text that may be no UTF-8 and is cut where it is very long.
pub(super) fn text(bytes: &[u8], place: Place, losses: &mut Losses) -> Box<str> {
    let text = String::from_utf8_lossy(bytes);
    if matches!(text, std::borrow::Cow::Owned(_)) {
        losses.add(Loss::BadUtf8, place);
    }
    if text.len() <= Names::TEXT_BYTES_MAX {
        return text.into();
    }
    losses.add(Loss::LongText, place);
    text[..text.floor_char_boundary(Names::TEXT_BYTES_MAX)].into()
}

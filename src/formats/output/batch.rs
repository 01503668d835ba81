//! Collects events into batches: assigns rows to names and tracks, and emits full batches. For single-threaded readers.

use rustc_hash::{FxHashMap, FxHashSet};

use super::args::lossy_text;
use super::paired_ends::PairedEnds;
use super::row_index::{bounded_row, next_row};
use crate::formats::{BatchSink, ChunkLimits, ReadContext, ReadError};
use crate::model::args::Detail;
use crate::model::{
    Batch, Event, EventKind, Id, Loss, LossValue, Losses, Metadata, NameIdx, NameRow, Names, OF_THREAD, SourcePos,
    StackIdx, TrackIdx, TrackKey, TrackKind,
};

/// Events of a batch; large enough that its tables are small in comparison.
const BATCH_EVENTS: usize = 20_000;

/// Limit for preallocated events of a batch: 2 MiB.
const RESERVED_EVENTS_MAX: usize = 1 << 16;

/// Limits for rows and text bytes of a name table, after which a batch starts a new table. A program has a few thousand
/// names; the limits bound the memory of a trace with a distinct name for every span.
const NAMES_MAX: usize = 1 << 16;
const NAME_BYTES_MAX: usize = 8 << 20;

/// Limit for facts about processes and threads of a batch, each with a name of at most [`LABEL_BYTES_MAX`].
const BATCH_METADATA: usize = 1 << 12;

/// Limit for names of processes and threads, which the sort keeps for each; a command line is rarely longer.
pub(crate) const LABEL_BYTES_MAX: usize = 1 << 10;

/// Limit for frames of a stack, each of which is a row of the stack table; no thread nests as deep.
pub(crate) const STACK_FRAMES_MAX: usize = 1 << 16;

/// Limit for the detail bytes of a batch.
const BATCH_DETAIL_BYTES: usize = 8 << 20;

/// Names of the current batch and of the batches before that share its table.
#[derive(Debug)]
struct NameTable {
    /// Table number, so that rows can be cached together with their table.
    number: u32,
    rows: Vec<NameRow<Box<str>>>,
    index_by_key: FxHashMap<Box<[u8]>, NameIdx>,
    text_bytes: usize,
}

/// Builds one batch after the other, and keeps the tables that they share.
#[derive(Debug)]
pub(crate) struct BatchBuilder {
    batch: Batch,
    /// Batch number, so that rows can be cached together with their batch.
    pub(crate) number: u32,
    names: NameTable,
    track_rows: FxHashMap<TrackKey, TrackIdx>,
    /// The counters whose units were added, which happens once for all batches.
    with_units: FxHashSet<TrackKey>,
    /// Batch and row by track number.
    numbered_rows: Vec<(u32, TrackIdx)>,
    key: Vec<u8>,
    events_max: usize,
    /// Whether each batch continues the name table of the previous batch.
    shares_names: bool,
    paired_ends: Option<PairedEnds>,
}

impl NameTable {
    /// Row 0 is the empty name.
    fn new(number: u32) -> Self {
        Self { number, rows: vec![NameRow::default()], index_by_key: FxHashMap::default(), text_bytes: 0 }
    }

    fn is_full(&self) -> bool {
        self.rows.len() >= NAMES_MAX || self.text_bytes >= NAME_BYTES_MAX
    }

    /// Adds a row; returns `None` if the table is full.
    fn push(&mut self, row: NameRow<Box<str>>, key: &[u8]) -> Option<NameIdx> {
        let index = NameIdx(next_row(self.rows.len())?);
        self.text_bytes += key.len();
        self.rows.push(row);
        self.index_by_key.insert(key.into(), index);
        Some(index)
    }
}

impl BatchBuilder {
    pub(crate) fn new(chunk_limits: ChunkLimits) -> Self {
        let events_max = chunk_limits.batch_events.unwrap_or(BATCH_EVENTS).max(1);
        let names = NameTable::new(1);
        Self {
            batch: empty_batch(&names, events_max),
            number: 1,
            names,
            track_rows: FxHashMap::default(),
            with_units: FxHashSet::default(),
            numbered_rows: Vec::new(),
            key: Vec::new(),
            events_max,
            shares_names: false,
            paired_ends: None,
        }
    }

    /// Like [`Self::new`] for a fast reader: sends each name once for many batches, and merges span ends into their
    /// begins. Requires [`Self::numbered_track`], and [`Self::take_batch_before_others`] if it emits other batches.
    pub(crate) fn with_shared_names(chunk_limits: ChunkLimits) -> Self {
        Self { shares_names: true, paired_ends: Some(PairedEnds::default()), ..Self::new(chunk_limits) }
    }

    pub(crate) fn batch(&self) -> &Batch {
        &self.batch
    }

    /// Returns the losses of the current batch.
    pub(crate) fn losses(&mut self) -> &mut Losses {
        &mut self.batch.losses
    }

    pub(crate) fn lose(&mut self, loss: Loss, pos: SourcePos) {
        self.batch.losses.add(loss, pos);
    }

    /// Counts a loss with the value that was not understood.
    pub(crate) fn lose_value(&mut self, loss: Loss, value: LossValue, pos: SourcePos) {
        self.batch.losses.add_value(loss, value, pos);
    }

    /// Counts a truncation at offset `cut_at`, unless one is already counted.
    pub(crate) fn lose_cut(&mut self, cut_at: Option<u64>) {
        if let Some(offset) = cut_at
            && self.batch.losses.count(Loss::Truncated) == 0
        {
            self.lose(Loss::Truncated, SourcePos::Offset(offset));
        }
    }

    /// Adds an event. Events must be in file order, since an end may be merged into its begin.
    // Inlining builds the event in its final place. A copy right after its fields were written one by one would stall
    // until those writes complete.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "measured; see above")]
    pub(crate) fn push(&mut self, event: Event) {
        match &mut self.paired_ends {
            Some(paired_ends) => paired_ends.push(&mut self.batch.chunk.events, event),
            None => self.batch.chunk.events.push(event),
        }
    }

    /// Stores a detail for [`Event::detail`]: 0 if it is empty.
    pub(crate) fn detail(&mut self, detail: &Detail<'_>) -> u32 {
        self.batch.chunk.details.push(detail)
    }

    /// Stores arguments for [`Event::detail`], as an object of JSON: 0 if the text is empty.
    pub(crate) fn args(&mut self, args_json: &str) -> u32 {
        self.detail(&Detail { args_json, ..Detail::default() })
    }

    pub(crate) fn add_metadata(&mut self, metadata: Metadata) {
        self.batch.metadata.push(metadata);
    }

    pub(crate) fn extend_metadata(&mut self, metadata: impl IntoIterator<Item = Metadata>) {
        self.batch.metadata.extend(metadata);
    }

    /// Adds a sample with a stack, which is a row of the batch.
    pub(crate) fn push_sample(&mut self, ts_ns: i64, track: TrackIdx, stack: StackIdx, detail: u32) {
        let value = u64::from(stack.0);
        self.push(Event { value, detail, ..Event::new(ts_ns, EventKind::Sample, track, NameIdx::EMPTY) });
    }

    /// Returns the row of a stack. Frames have a name and a module, which may be empty, outermost first.
    pub(crate) fn stack<'f>(&mut self, frames: impl Iterator<Item = (&'f [u8], &'f [u8])>, pos: SourcePos) -> StackIdx {
        frames.fold(StackIdx::EMPTY, |stack, (name, module)| {
            let name = self.name(name, Some(module), pos);
            self.frame(stack, name)
        })
    }

    /// Returns the row of a stack: a function below the stack of its caller.
    pub(crate) fn frame(&mut self, caller: StackIdx, name: NameIdx) -> StackIdx {
        self.batch.stacks.intern(caller, name)
    }

    /// Returns the row of a name with its category.
    pub(crate) fn name(&mut self, name: &[u8], category: Option<&[u8]>, pos: SourcePos) -> NameIdx {
        self.span_name(name, category, false, pos)
    }

    /// Returns the row of a span's name with its category. Names of failed spans have rows of their own.
    pub(crate) fn span_name(
        &mut self,
        name: &[u8],
        category: Option<&[u8]>,
        is_failed: bool,
        pos: SourcePos,
    ) -> NameIdx {
        // An empty category is none.
        let category = category.filter(|category| !category.is_empty());
        if name.is_empty() && category.is_none() && !is_failed {
            return NameIdx::EMPTY;
        }
        self.key.clear();
        // No name needs the highest bit of its length.
        let length = name.len() as u64 | u64::from(is_failed) << 63;
        self.key.extend_from_slice(&length.to_le_bytes());
        self.key.extend_from_slice(name);
        if let Some(category) = category {
            self.key.push(b',');
            self.key.extend_from_slice(category);
        }
        if let Some(&index) = self.names.index_by_key.get(&self.key[..]) {
            return index;
        }
        let losses = &mut self.batch.losses;
        let category = category.map(|bytes| text(bytes, pos, losses));
        let row = NameRow { text: text(name, pos, losses), category, is_failed };
        let Some(index) = self.names.push(row.clone(), &self.key) else {
            losses.add(Loss::OverLimit, pos);
            return NameIdx::EMPTY;
        };
        self.batch.names.push(row);
        index
    }

    /// Returns the number of the current name table, which changes when a batch starts a new table.
    #[inline]
    pub(crate) fn names_number(&self) -> u32 {
        self.names.number
    }

    /// Returns the text and category of a name row.
    pub(crate) fn name_row(&self, name: NameIdx) -> Option<&NameRow<Box<str>>> {
        self.names.rows.get(name.index())
    }

    /// Returns the row of the track with this key.
    pub(crate) fn track_with(&mut self, key: &TrackKey) -> TrackIdx {
        if let Some(&row) = self.track_rows.get(key) {
            return row;
        }
        let row = self.push_track(None, key.clone());
        self.track_rows.insert(key.clone(), row);
        row
    }

    /// Moves a thread to its process, which was unknown until now, with all of its tracks so far.
    pub(crate) fn move_thread(&mut self, tid: Id, before: Id, pid: Id) {
        for (kind, slot) in OF_THREAD {
            let mut key = TrackKey { slot, ..TrackKey::new(kind, before.clone(), tid.clone()) };
            if let Some(row) = self.track_rows.remove(&key) {
                key.pid.clone_from(&pid);
                self.batch.tracks[row.index()].clone_from(&key);
                self.track_rows.insert(key, row);
            }
        }
        self.batch.metadata.push(Metadata::ThreadProcess { tid, before, pid });
    }

    /// Returns the row of the counter with this key. `unit` is the unit of its values, or empty.
    pub(crate) fn counter_track(&mut self, key: &TrackKey, unit: &str) -> TrackIdx {
        let tracks_before = self.batch.tracks.len();
        let row = self.track_with(key);
        let is_new = self.batch.tracks.len() > tracks_before && !unit.is_empty();
        if is_new && self.with_units.insert(key.clone()) {
            self.batch.metadata.push(Metadata::CounterUnit { key: key.clone(), unit: unit.into() });
        }
        row
    }

    /// Returns the row of a track by the reader's own number. Faster, since `key` is called once per batch. A reader
    /// uses this or [`Self::track_with`], not both.
    #[inline]
    pub(crate) fn numbered_track(&mut self, number: usize, key: impl FnOnce() -> TrackKey) -> TrackIdx {
        match self.numbered_rows.get(number) {
            Some(&(batch, row)) if batch == self.number => row,
            _ => {
                if self.numbered_rows.len() <= number {
                    self.numbered_rows.resize(number + 1, (0, TrackIdx(0)));
                }
                let row = self.push_track(Some(number), key());
                self.numbered_rows[number] = (self.number, row);
                row
            }
        }
    }

    fn push_track(&mut self, number: Option<usize>, key: TrackKey) -> TrackIdx {
        if let Some(paired_ends) = &mut self.paired_ends {
            // Several async tracks may share lanes, which are free again when their last span ends.
            paired_ends.add_track(number.filter(|_| key.kind != TrackKind::Async));
        }
        // A batch has few events, and each needs few tracks.
        let row = TrackIdx(bounded_row(self.batch.tracks.len()));
        self.batch.tracks.push(key);
        row
    }

    /// Returns whether the batch should be emitted.
    pub(crate) fn is_full(&self) -> bool {
        let chunk = &self.batch.chunk;
        chunk.events.len() >= self.events_max
            || chunk.details.bytes.len() >= BATCH_DETAIL_BYTES
            || self.batch.metadata.len() >= BATCH_METADATA
            || self.names.text_bytes >= NAME_BYTES_MAX
    }

    /// Emits the batch if it is full.
    pub(crate) fn flush_if_full(&mut self, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        if !self.is_full() {
            return Ok(());
        }
        context.cancel.check()?;
        self.flush(sink)
    }

    /// Emits the sorted batch unless it is empty, before waiting for a live stream.
    pub(crate) fn flush_if_any(&mut self, sink: &mut dyn BatchSink) -> Result<(), ReadError> {
        if self.is_empty() { Ok(()) } else { self.flush(sink) }
    }

    /// Returns whether the batch has nothing to emit.
    pub(crate) fn is_empty(&self) -> bool {
        let Batch { chunk, metadata, losses, .. } = &self.batch;
        chunk.events.is_empty() && metadata.is_empty() && losses.is_empty()
    }

    /// Sorts the batch, emits it, and starts the next.
    pub(crate) fn flush(&mut self, sink: &mut dyn BatchSink) -> Result<(), ReadError> {
        let mut batch = self.take_batch();
        batch.chunk.sort();
        sink.accept(batch)
    }

    /// Like [`Self::take_batch`], if a batch of another builder follows: the next batch repeats the names that it
    /// needs.
    pub(crate) fn take_batch_before_others(&mut self) -> Batch {
        self.names = NameTable::new(self.names.number + 1);
        self.take_batch()
    }

    /// Returns the batch, unsorted, and starts the next.
    pub(crate) fn take_batch(&mut self) -> Batch {
        self.number += 1;
        self.track_rows.clear();
        if let Some(paired_ends) = &mut self.paired_ends {
            paired_ends.begin_batch();
        }
        if !self.shares_names || self.names.is_full() {
            self.names = NameTable::new(self.names.number + 1);
        }
        std::mem::replace(&mut self.batch, empty_batch(&self.names, self.events_max))
    }
}

/// Creates a batch that continues the name table.
fn empty_batch(names: &NameTable, events_max: usize) -> Batch {
    let mut batch = match names.rows.len() {
        // Only the empty name: the batch has its own table.
        1 => Batch { names: names.rows.clone(), ..Batch::default() },
        row_count => Batch { names_before: bounded_row(row_count), ..Batch::default() },
    };
    let usual = events_max.min(RESERVED_EVENTS_MAX);
    batch.chunk.events.reserve(usual + usual / 8);
    batch
}

/// Converts bytes to text: replaces invalid UTF-8, and truncates very long text.
pub(crate) fn text(bytes: &[u8], pos: SourcePos, losses: &mut Losses) -> Box<str> {
    text_within(bytes, Names::TEXT_BYTES_MAX, pos, losses)
}

/// Like [`text`], for the name of a process or a thread.
pub(crate) fn label(bytes: &[u8], pos: SourcePos, losses: &mut Losses) -> Box<str> {
    text_within(bytes, LABEL_BYTES_MAX, pos, losses)
}

fn text_within(bytes: &[u8], bytes_max: usize, pos: SourcePos, losses: &mut Losses) -> Box<str> {
    let text = lossy_text(bytes);
    if matches!(text, std::borrow::Cow::Owned(_)) {
        losses.add(Loss::BadUtf8, pos);
    }
    if text.len() <= bytes_max {
        return text.into();
    }
    losses.add(Loss::LongText, pos);
    text[..text.floor_char_boundary(bytes_max)].into()
}

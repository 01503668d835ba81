//! The table `stackFrames`, which events and samples refer to by id. It may be anywhere in the document, even at its
//! end. So the first reference triggers a single search of the whole trace; traces without stacks pay nothing.

use std::path::Path;

use rustc_hash::FxHashMap;

use super::envelope::DEPTH_MAX;
use super::tables::bounded_text;
use super::wire::{member, members};
use crate::base::budget_shares::BudgetShare;
use crate::base::progress::Progress;
use crate::formats::input::byte_reader::ByteReader;
use crate::formats::input::lengths::saturating_len;
use crate::formats::input::source::Source;
use crate::formats::json::scan::JsonValue;
use crate::formats::json::scan::{Quirks, Shape};
use crate::formats::json::skip::ValueSkipper;
use crate::formats::json::text::Repairs;
use crate::formats::output::args::push_quoted;
use crate::formats::output::batch::STACK_FRAMES_MAX;
use crate::formats::output::row_index::{bounded_row, next_row};
use crate::formats::{ReadContext, ReadError};
use crate::model::{Loss, Losses, NameIdx, NameRow, SourcePos, StackIdx, Stacks};

const READ_BYTES: usize = 256 << 10;

/// Limit for envelope keys; longer ones are not `stackFrames`.
const KEY_BYTES_MAX: usize = 1 << 10;

/// Limit for frames of a stack.
const FRAMES_MAX: u32 = STACK_FRAMES_MAX as u32;

/// Limit for frames of a stack that is an argument, as in a flame graph. Each event has its own copy of the frames.
const ARGUMENT_FRAMES_MAX: usize = 1024;

/// The stack frames of a trace.
#[derive(Debug, Default)]
pub(super) struct StackFrames {
    rows: Vec<ChromeFrame>,
    /// The tables of documents, in order.
    tables: Vec<DocumentFrames>,
    /// Bytes of the texts of all tables.
    text_bytes: usize,
    /// Whether the table may come later, in a live stream.
    pub(super) is_awaited: bool,
    /// Why the table could not be read, if it takes too much memory.
    pub(super) too_large: Option<Box<str>>,
    /// Losses in the texts of the table, and from its row limit.
    pub(super) losses: Losses,
}

/// The frames of the document between two offsets. Several documents may be in a file.
#[derive(Debug)]
struct DocumentFrames {
    start: u64,
    end: u64,
    by_id: FxHashMap<Box<[u8]>, u32>,
}

#[derive(Debug)]
struct ChromeFrame {
    name: NameRow<Box<str>>,
    /// Row of the caller, if it has one.
    caller: Option<u32>,
    /// Number of frames of its stack; 0 if a caller is missing, if the callers form a cycle, or if there are too many.
    frame_count: u32,
}

impl StackFrames {
    /// Returns the table of a document of a live stream that precedes its events. If there is none, it may follow them.
    pub(super) fn from_stream(text: &[u8]) -> Self {
        let mut frames = Self { is_awaited: text.is_empty(), ..Self::default() };
        if !frames.is_awaited {
            frames.tables.push(DocumentFrames { start: 0, end: u64::MAX, by_id: FxHashMap::default() });
            frames.read(text, 0);
        }
        frames
    }

    /// Searches a trace for the tables of its documents; returns none if there are none.
    pub(super) fn find(path: &Path, context: &ReadContext) -> Result<Self, ReadError> {
        // Progress must not count bytes twice.
        let context = &ReadContext { progress: Progress::default(), ..context.clone() };
        let mut input = ByteReader::new(Source::open(path, context)?);
        let mut frames = Self::default();
        let mark = "\u{feff}".as_bytes();
        if input.peek(mark.len())? == mark {
            input.skip(mark.len() as u64)?;
        }
        loop {
            match next_byte(&mut input)? {
                Some(b'{') if frames.read_document(&mut input, context)? => {}
                Some(b'[') => drop(value(&mut input, 0, context)?),
                _ => return Ok(frames),
            }
        }
    }

    /// Reads the table of a document. Returns `false` if the end of the document is not found.
    fn read_document(&mut self, input: &mut ByteReader, context: &ReadContext) -> Result<bool, ReadError> {
        let (start, mut depth) = (input.offset(), 1);
        input.skip(1)?;
        while depth > 0 {
            match next_byte(input)? {
                Some(b',') => drop(input.skip(1)?),
                Some(b'}') => {
                    input.skip(1)?;
                    depth -= 1;
                }
                Some(b'"') => {
                    let key = value(input, KEY_BYTES_MAX, context)?.text();
                    let Some(b':') = next_byte(input)? else { return Ok(false) };
                    input.skip(1)?;
                    let is_object = next_byte(input)? == Some(b'{');
                    match key.as_deref() {
                        Some(br#""stackFrames""#) => self.read_table(start, input, context)?,
                        Some(br#""params""# | br#""result""#) if is_object && depth < DEPTH_MAX => {
                            input.skip(1)?;
                            depth += 1;
                        }
                        _ => drop(value(input, 0, context)?),
                    }
                }
                _ => return Ok(false),
            }
        }
        if let Some(table) = self.tables.last_mut().filter(|table| table.start == start) {
            table.end = input.offset();
        }
        Ok(true)
    }

    /// Reads the table of the document at `start`.
    fn read_table(&mut self, start: u64, input: &mut ByteReader, context: &ReadContext) -> Result<(), ReadError> {
        let text_bytes_max = saturating_len(BudgetShare::ChromeFrameText.hard_limit_bytes(&context.budget));
        let offset = input.offset();
        self.tables.push(DocumentFrames { start, end: u64::MAX, by_id: FxHashMap::default() });
        match value(input, text_bytes_max.saturating_sub(self.text_bytes), context)? {
            ValueText::Whole(text) => {
                self.text_bytes += text.len();
                self.read(text.trim_ascii_start(), offset);
            }
            ValueText::TooLong(bytes) => {
                let all_bytes = bytes.saturating_add(self.text_bytes as u64);
                let parts = all_bytes.div_ceil((text_bytes_max as u64).max(1));
                let enough = parts.saturating_mul(context.budget.memory_bytes());
                self.too_large = Some(too_large(bytes, enough));
            }
            ValueText::Cut => {}
        }
        Ok(())
    }

    fn read(&mut self, text: &[u8], offset: u64) {
        let table = JsonValue { text, shape: Shape::Object, quirks: Quirks::default() };
        let (mut repairs, mut callers, first_row) = (Repairs::default(), Vec::new(), self.rows.len());
        let mut by_id = FxHashMap::default();
        for (id, frame) in members(&table) {
            let (category, caller) = (member(&frame, b"category"), member(&frame, b"parent"));
            let name = bounded_text(&member(&frame, b"name"), &mut repairs);
            let category = (!category.is_absent()).then(|| bounded_text(&category, &mut repairs));
            let Some(row) = next_row(self.rows.len()) else {
                self.losses.add(Loss::OverLimit, SourcePos::Offset(offset));
                break;
            };
            by_id.insert(id.text.into(), row);
            self.rows.push(ChromeFrame { name: NameRow::new(name, category), caller: None, frame_count: 0 });
            callers.push((!caller.is_absent()).then_some(caller.text));
        }
        repairs.count(&mut self.losses, SourcePos::Offset(offset));
        self.set_callers(first_row, &callers, &by_id);
        if let Some(table) = self.tables.last_mut() {
            table.by_id = by_id;
        }
    }

    /// Sets the caller and the number of frames of each row of a table. Visits each row once.
    fn set_callers(&mut self, first_row: usize, callers: &[Option<&[u8]>], by_id: &FxHashMap<Box<[u8]>, u32>) {
        let mut is_visited = vec![false; callers.len()];
        for first in bounded_row(first_row)..bounded_row(self.rows.len()) {
            let (mut path, mut next) = (Vec::new(), Some(first));
            // A row of this path has no frames yet, so a cycle ends with none.
            let mut frames = loop {
                let Some(row) = next else { break Some(0) };
                let index = row as usize - first_row;
                if std::mem::replace(&mut is_visited[index], true) {
                    break Some(self.rows[row as usize].frame_count).filter(|&count| count > 0);
                }
                path.push(row);
                let Some(id) = callers[index] else { break Some(0) };
                next = by_id.get(id).copied();
                if next.is_none() {
                    break None;
                }
                self.rows[row as usize].caller = next;
            };
            for row in path.into_iter().rev() {
                frames = frames.map(|count| count + 1).filter(|&count| count <= FRAMES_MAX);
                self.rows[row as usize].frame_count = frames.unwrap_or(0);
            }
        }
    }

    /// Returns the row of the innermost frame of a record; `None` if it has no stack.
    fn row(&self, id: &[u8], record: SourcePos) -> Option<u32> {
        let SourcePos::Offset(offset) = record else { return None };
        let table = self.tables.get(self.tables.partition_point(|table| table.end <= offset))?;
        let row = table.by_id.get(id).copied().filter(|_| table.start <= offset);
        row.filter(|&row| self.rows[row as usize].frame_count > 0)
    }

    /// Iterates over a row, its caller, and so on up to the outermost frame. The row must have a stack.
    fn path(&self, row: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(Some(row), |&row| self.rows[row as usize].caller)
    }

    /// Returns the name of the innermost frame of a record.
    pub(super) fn innermost(&self, id: &[u8], record: SourcePos) -> Option<&str> {
        self.row(id, record).map(|row| &*self.rows[row as usize].name.text)
    }

    /// Returns the function names of a stack as a JSON array, outermost first, and whether inner frames were dropped.
    /// Returns `None` if the innermost frame has no stack.
    pub(super) fn names_json(&self, id: &[u8], record: SourcePos) -> Option<(String, bool)> {
        let row = self.row(id, record)?;
        let dropped = (self.rows[row as usize].frame_count as usize).saturating_sub(ARGUMENT_FRAMES_MAX);
        let path: Vec<_> = self.path(row).skip(dropped).collect();
        let mut json = String::from("[");
        for row in path.into_iter().rev() {
            if json.len() > 1 {
                json.push(',');
            }
            push_quoted(&mut json, &self.rows[row as usize].name.text);
        }
        json.push(']');
        Some((json, dropped > 0))
    }
}

/// Stacks of a batch by the row of their innermost frame.
#[derive(Debug, Default)]
pub(super) struct BatchStacks {
    pub(super) stacks: Stacks,
    by_row: FxHashMap<u32, StackIdx>,
}

impl BatchStacks {
    /// Returns the stack of a record with this innermost frame; `None` if it has none. Adds each frame to the batch
    /// once.
    pub(super) fn intern_id(
        &mut self,
        (id, record): (&[u8], SourcePos),
        frames: &StackFrames,
        names: &mut Vec<NameRow<Box<str>>>,
    ) -> Option<StackIdx> {
        let mut stack = StackIdx::EMPTY;
        let mut new = Vec::new();
        for row in frames.path(frames.row(id, record)?) {
            if let Some(&known) = self.by_row.get(&row) {
                stack = known;
                break;
            }
            new.push(row);
        }
        for row in new.into_iter().rev() {
            let name = NameIdx(bounded_row(names.len()));
            names.push(frames.rows[row as usize].name.clone());
            stack = self.stacks.intern(stack, name);
            self.by_row.insert(row, stack);
        }
        Some(stack)
    }
}

/// Returns the next byte that is not white space, without consuming it.
fn next_byte(input: &mut ByteReader) -> Result<Option<u8>, ReadError> {
    loop {
        match input.peek(1)?.first() {
            Some(byte) if byte.is_ascii_whitespace() => drop(input.skip(1)?),
            byte => return Ok(byte.copied()),
        }
    }
}

/// Returns the reason why events have no stacks if the table of `bytes` bytes needs the memory limit `enough_bytes`.
fn too_large(bytes: u64, enough_bytes: u64) -> Box<str> {
    let mebibytes = enough_bytes.div_ceil(1 << 20);
    format!(
        "The table of stack frames has {bytes} bytes, too many for the memory that --memory gives; events are shown without their stacks. `--memory {mebibytes}MiB` suffices."
    )
    .into()
}

/// A value that was skipped.
enum ValueText {
    Whole(Vec<u8>),
    /// A value that exceeds the limit, with its length in bytes.
    TooLong(u64),
    /// The file ends in it.
    Cut,
}

impl ValueText {
    fn text(self) -> Option<Vec<u8>> {
        match self {
            Self::Whole(text) => Some(text),
            Self::TooLong(_) | Self::Cut => None,
        }
    }
}

/// Skips a value, and returns its text if it is complete and at most `len_max` bytes long.
fn value(input: &mut ByteReader, len_max: usize, context: &ReadContext) -> Result<ValueText, ReadError> {
    let start = input.offset();
    let (mut skip, mut text) = (ValueSkipper::default(), Some(Vec::new()));
    loop {
        context.cancel.check()?;
        let block = input.peek(READ_BYTES)?;
        if block.is_empty() {
            return Ok(ValueText::Cut);
        }
        let end = skip.advance(block);
        let taken = &block[..end.unwrap_or(block.len())];
        if text.as_ref().is_some_and(|text| text.len() + taken.len() > len_max) {
            text = None;
        }
        if let Some(text) = &mut text {
            text.extend_from_slice(taken);
        }
        let len = taken.len() as u64;
        input.skip(len)?;
        if end.is_some() {
            return Ok(text.map_or_else(|| ValueText::TooLong(input.offset() - start), ValueText::Whole));
        }
    }
}

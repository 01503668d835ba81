//! The table `stackFrames`, which events and samples refer to by id. It may be anywhere in the trace, even at its end.
//! So the first reference triggers a single search of the whole trace; traces without stacks pay nothing.

use std::path::Path;

use rustc_hash::FxHashMap;

use super::tables::bounded_text;
use super::wire::{member, members};
use crate::base::budget_shares::BudgetShare;
use crate::base::progress::Progress;
use crate::formats::input::byte_reader::ByteReader;
use crate::formats::input::lengths::saturating_len;
use crate::formats::input::source::Source;
use crate::formats::json::scan::JsonValue;
use crate::formats::json::scan::{Quirks, Shape};
use crate::formats::json::skip::Skip;
use crate::formats::json::text::Repairs;
use crate::formats::output::row_index::{bounded_row, next_row};
use crate::formats::{ReadContext, ReadError};
use crate::model::{Loss, Losses, NameIdx, NameRow, SourcePos, StackIdx, Stacks};

/// Read size.
const BLOCK_BYTES: usize = 256 << 10;

/// Limit for envelope keys; longer ones are not `stackFrames`.
const KEY_BYTES_MAX: usize = 1 << 10;

/// Limit for frames of a stack; more mean a cycle.
const FRAMES_MAX: usize = 1 << 16;

/// The stack frames of a trace.
#[derive(Debug, Default)]
pub(super) struct StackFrames {
    rows: Vec<ChromeFrame>,
    by_id: FxHashMap<Box<[u8]>, u32>,
    /// Whether the table may come later, in a live stream.
    pub(super) is_awaited: bool,
    /// Losses in the texts of the table, and from its row limit.
    pub(super) losses: Losses,
}

#[derive(Debug)]
struct ChromeFrame {
    name: NameRow<Box<str>>,
    caller: Option<Box<[u8]>>,
}

impl StackFrames {
    /// Returns the empty table of a live stream, in which the real one follows the events.
    pub(super) fn awaited() -> Self {
        Self { is_awaited: true, ..Self::default() }
    }

    /// Searches a trace for the table; returns an empty one if there is none.
    pub(super) fn find(path: &Path, context: &ReadContext) -> Result<Self, ReadError> {
        // Progress must not count bytes twice.
        let context = &ReadContext { progress: Progress::default(), ..context.clone() };
        let mut input = ByteReader::new(Source::open(path, context)?);
        let text_bytes_max = saturating_len(BudgetShare::ChromeFrameText.bytes(&context.budget));
        let mark = "\u{feff}".as_bytes();
        if input.peek(mark.len())? == mark {
            input.skip(mark.len() as u64)?;
        }
        if next_byte(&mut input)? != Some(b'{') {
            return Ok(Self::default());
        }
        input.skip(1)?;
        loop {
            match next_byte(&mut input)? {
                Some(b',' | b':') => drop(input.skip(1)?),
                Some(b'"') => {
                    let key = value(&mut input, KEY_BYTES_MAX, context)?;
                    let Some(b':') = next_byte(&mut input)? else { return Ok(Self::default()) };
                    input.skip(1)?;
                    if key.as_deref() != Some(br#""stackFrames""#) {
                        value(&mut input, 0, context)?;
                        continue;
                    }
                    let offset = input.offset();
                    let mut frames = Self::default();
                    match value(&mut input, text_bytes_max, context)? {
                        Some(text) => frames.read(text.trim_ascii_start(), offset),
                        None => frames.losses.add(Loss::OverLimit, SourcePos::Offset(offset)),
                    }
                    return Ok(frames);
                }
                _ => return Ok(Self::default()),
            }
        }
    }

    fn read(&mut self, text: &[u8], offset: u64) {
        let table = JsonValue { text, shape: Shape::Object, quirks: Quirks::default() };
        let mut repairs = Repairs::default();
        for (id, frame) in members(&table) {
            let (category, caller) = (member(&frame, b"category"), member(&frame, b"parent"));
            let name = bounded_text(&member(&frame, b"name"), &mut repairs);
            let category = (!category.is_absent()).then(|| bounded_text(&category, &mut repairs));
            let caller = (!caller.is_absent()).then(|| caller.text.into());
            let Some(row) = next_row(self.rows.len()) else {
                self.losses.add(Loss::OverLimit, SourcePos::Offset(offset));
                break;
            };
            self.by_id.insert(id.text.into(), row);
            self.rows.push(ChromeFrame { name: NameRow { text: name, category }, caller });
        }
        repairs.count(&mut self.losses, SourcePos::Offset(offset));
    }

    /// Returns the rows of the stack with this innermost frame, innermost first. Returns `None` if a frame is missing,
    /// or if its callers form a cycle.
    fn path(&self, id: &[u8]) -> Option<Vec<u32>> {
        let mut path = Vec::new();
        let mut next = Some(id);
        while let Some(id) = next {
            let row = *self.by_id.get(id)?;
            if path.len() >= FRAMES_MAX {
                return None;
            }
            path.push(row);
            next = self.rows.get(row as usize)?.caller.as_deref();
        }
        Some(path)
    }

    /// Returns the function names of a stack, outermost first; see [`Self::path`].
    pub(super) fn names(&self, id: &[u8]) -> Option<Vec<&str>> {
        let path = self.path(id)?;
        Some(path.iter().rev().filter_map(|&row| Some(&*self.rows.get(row as usize)?.name.text)).collect())
    }
}

/// Stacks of a batch by the id of their innermost frame.
#[derive(Debug, Default)]
pub(super) struct BatchStacks {
    pub(super) stacks: Stacks,
    by_id: FxHashMap<Box<[u8]>, StackIdx>,
}

impl BatchStacks {
    /// Returns the stack with this innermost frame; see [`StackFrames::path`].
    pub(super) fn intern_id(
        &mut self,
        id: &[u8],
        frames: &StackFrames,
        names: &mut Vec<NameRow<Box<str>>>,
    ) -> Option<StackIdx> {
        if let Some(&stack) = self.by_id.get(id) {
            return Some(stack);
        }
        let mut stack = StackIdx::EMPTY;
        for row in frames.path(id)?.into_iter().rev() {
            let frame = frames.rows.get(row as usize)?;
            let name = frame.name.clone();
            // Names are not deduplicated: they occur once per stack of a batch, and ingest merges equal names.
            let name_row = NameIdx(bounded_row(names.len()));
            names.push(name);
            stack = self.stacks.intern(stack, name_row);
        }
        self.by_id.insert(id.into(), stack);
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

/// Skips a value, and returns its text if it is complete and at most `len_max` bytes long.
fn value(input: &mut ByteReader, len_max: usize, context: &ReadContext) -> Result<Option<Vec<u8>>, ReadError> {
    let (mut skip, mut text) = (Skip::default(), Some(Vec::new()));
    loop {
        context.cancel.check()?;
        let block = input.peek(BLOCK_BYTES)?;
        if block.is_empty() {
            return Ok(None);
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
            return Ok(text);
        }
    }
}

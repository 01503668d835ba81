//! The table `stackFrames`, which events and samples point into by id. It may be anywhere in the capture, also
//! after all that points into it: so the first event that points into it has the capture searched for it, once.
//! Captures without stacks pay nothing.

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

/// Bytes that are looked at at once.
const BLOCK_BYTES: usize = 256 << 10;

/// A key of the envelope is short; one that is longer is not the one that is looked for.
const KEY_BYTES_MAX: usize = 1 << 10;

/// More frames in one stack are a circle.
const FRAMES_MAX: usize = 1 << 16;

/// The frames of a capture.
#[derive(Debug, Default)]
pub(super) struct StackFrames {
    rows: Vec<ChromeFrame>,
    by_id: FxHashMap<Box<[u8]>, u32>,
    /// Losses in the texts of the table, and of rows beyond its limit.
    pub(super) losses: Losses,
}

#[derive(Debug)]
struct ChromeFrame {
    name: NameRow<Box<str>>,
    caller: Option<Box<[u8]>>,
}

impl StackFrames {
    /// Searches a capture for the table; an empty one where there is none.
    pub(super) fn find(path: &Path, context: &ReadContext) -> Result<Self, ReadError> {
        // Bytes that are read twice are not counted twice.
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

    /// The rows of the stack that ends with the frame of this id, innermost first; `None` where it or one of its
    /// callers is not in the table, or they call each other in a circle.
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

    /// The names of the functions of a stack, outermost first; see [`Self::path`].
    pub(super) fn names(&self, id: &[u8]) -> Option<Vec<&str>> {
        let path = self.path(id)?;
        Some(path.iter().rev().filter_map(|&row| Some(&*self.rows.get(row as usize)?.name.text)).collect())
    }
}

/// The stacks of a batch, by the ids that they have in the capture.
#[derive(Debug, Default)]
pub(super) struct BatchStacks {
    pub(super) stacks: Stacks,
    by_id: FxHashMap<Box<[u8]>, StackIdx>,
}

impl BatchStacks {
    /// The stack that ends with the frame of this id; see [`StackFrames::path`].
    pub(super) fn intern_id(
        &mut self,
        id: &[u8],
        frames: &StackFrames,
        names: &mut Vec<NameRow<Box<str>>>,
    ) -> Option<StackIdx> {
        if let Some(&known) = self.by_id.get(id) {
            return Some(known);
        }
        let mut stack = StackIdx::EMPTY;
        for row in frames.path(id)?.into_iter().rev() {
            let frame = frames.rows.get(row as usize)?;
            let name = frame.name.clone();
            // Few enough, once each a stack of a batch; the ingest gives equal ones one number.
            let name_row = NameIdx(bounded_row(names.len()));
            names.push(name);
            stack = self.stacks.intern(stack, name_row);
        }
        self.by_id.insert(id.into(), stack);
        Some(stack)
    }
}

/// The next byte that is not white space, without taking it.
fn next_byte(input: &mut ByteReader) -> Result<Option<u8>, ReadError> {
    loop {
        match input.peek(1)?.first() {
            Some(byte) if byte.is_ascii_whitespace() => drop(input.skip(1)?),
            byte => return Ok(byte.copied()),
        }
    }
}

/// Reads one value, and returns its text if that is no longer than `len_max` and whole.
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

//! Traces that are a single JSON document with references between its parts, such as profiles whose tables may follow
//! the values that use them. Reads by file position, in any order. Memory holds only the requested values, however
//! large the document is.
//!
//! A value is a [`JsonExtent`] of the file. [`Document::pick`] looks up members of an object, [`Items`] iterates over
//! extents of array values, and [`Elements`] over their texts, each parsed strictly on its own. Damage costs only the
//! element that contains it. Refuses tables that exceed a share of the memory budget.

mod abridge;
mod elements;
mod scalar;
mod skim;
mod window;

use std::cell::Cell;
use std::fs::File;
use std::path::PathBuf;

use serde::de::DeserializeOwned;

pub(crate) use elements::{Element, Elements};
pub(crate) use scalar::{TimeUnit, id};
use window::Window;

use crate::base::budget::Charge;
use crate::base::budget_shares::BudgetShare;
use crate::formats::input::source::Source;
use crate::formats::input::unpack::unpacked_to_file;
use crate::formats::json::text::parse;
use crate::formats::{ReadContext, ReadError};
use crate::model::{Loss, Losses, SourcePos};

/// Step size of memory charges for tables.
const CHARGE_BYTES: u64 = 1 << 20;

/// Limit for array elements and for values that are read whole; no event is longer.
const VALUE_BYTES_MAX: usize = 16 << 20;

/// Limit for keys; all keys that readers look up are shorter.
const KEY_BYTES_MAX: usize = 256;

/// A document in a file.
pub(crate) struct Document {
    path: PathBuf,
    file: File,
    /// Offset of the first document, after a byte order mark.
    start: u64,
    len: u64,
    block_bytes: usize,
    context: ReadContext,
    /// Whether the file is uncompressed, so that its bytes count as progress.
    is_plain: bool,
    /// Whether the file ended inside a value.
    is_cut: Cell<bool>,
    /// Memory of all tables, in bytes.
    kept_bytes: Cell<u64>,
    /// End of the outermost value that was read last, once its closing bracket was read.
    ends_at: Cell<Option<u64>>,
}

/// Memory of tables that were read from a document; released on drop.
pub(crate) struct TableCharge<'d> {
    document: &'d Document,
    bytes: u64,
    charges: Vec<Charge>,
}

/// Byte range of a value in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JsonExtent {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl JsonExtent {
    pub(crate) fn pos(self) -> SourcePos {
        SourcePos::Offset(self.start)
    }
}

impl Document {
    /// Opens the file of a source; a compressed one is unpacked first, by [`unpacked_to_file`].
    pub(crate) fn open(source: Source, context: &ReadContext) -> Result<Self, ReadError> {
        const BLOCK_BYTES: usize = 64 << 10;
        let (path, is_plain, block_bytes) =
            (source.path().to_owned(), !source.is_packed(), source.block_bytes(BLOCK_BYTES));
        let io_error = |source| ReadError::Io { path: path.clone(), offset: 0, source };
        let start = source.mark_len();
        let file = if is_plain {
            File::open(&path).map_err(io_error)?
        } else {
            unpacked_to_file(source, context)?.into_file()
        };
        let len = file.metadata().map_err(io_error)?.len();
        let context = context.clone();
        let (is_cut, kept_bytes, ends_at) = (Cell::default(), Cell::default(), Cell::default());
        Ok(Self { path, file, start, len, block_bytes, context, is_plain, is_cut, kept_bytes, ends_at })
    }

    /// Returns the extent of the first document, with all that follows it.
    pub(crate) fn whole(&self) -> JsonExtent {
        JsonExtent { start: self.start, end: self.len }
    }

    /// Returns the next document, for formats whose files may be joined.
    pub(crate) fn next_document(&self) -> Result<Option<JsonExtent>, ReadError> {
        let Some((rest, first)) = self.rest()? else { return Ok(None) };
        if !matches!(first, b'{' | b'[') {
            return Ok(None);
        }
        // A document that does not end has no successor.
        self.ends_at.set(None);
        Ok(Some(rest))
    }

    /// Returns what follows the document that was read last, and its first byte. A comma separates documents too.
    fn rest(&self) -> Result<Option<(JsonExtent, u8)>, ReadError> {
        let Some(start) = self.ends_at.get() else { return Ok(None) };
        let mut window = Window::new(self, JsonExtent { start, end: self.len });
        loop {
            match window.peek()? {
                Some(b',') => window.advance(1),
                Some(first) => return Ok(Some((JsonExtent { start: window.offset(), end: self.len }, first))),
                None => return Ok(None),
            }
        }
    }

    /// Returns the offset after the first occurrence of a text from an offset on, for JSON within other text.
    pub(crate) fn find(&self, text: &[u8], start: u64) -> Result<Option<u64>, ReadError> {
        let mut window = Window::new(self, JsonExtent { start, end: self.len });
        loop {
            if let Some(at) = memchr::memmem::find(window.unread(), text) {
                return Ok(Some(window.offset() + (at + text.len()) as u64));
            }
            // The end of the block may be the beginning of the text.
            window.advance((window.unread().len() + 1).saturating_sub(text.len()));
            if !window.fill()? {
                return Ok(None);
            }
        }
    }

    /// Returns whether a value is an array.
    pub(crate) fn is_array(&self, value: JsonExtent) -> Result<bool, ReadError> {
        Ok(Window::new(self, value).peek()? == Some(b'['))
    }

    /// Looks up members of an object by key, in one pass. The first of several members with the same key counts.
    pub(crate) fn pick<const N: usize>(
        &self,
        object: JsonExtent,
        keys: [&str; N],
    ) -> Result<[Option<JsonExtent>; N], ReadError> {
        let mut values = [None; N];
        let mut members = self.members(object);
        while let Some((key, value)) = members.next()? {
            if let Some(index) = keys.iter().position(|wanted| key == wanted.as_bytes()) {
                values[index].get_or_insert(value);
            }
        }
        Ok(values)
    }

    /// Iterates over the members of an object.
    pub(crate) fn members(&self, object: JsonExtent) -> JsonMembers<'_> {
        JsonMembers { window: Window::new(self, object) }
    }

    /// Iterates over the extents of array values, for large values; empty if the value is not an array.
    pub(crate) fn items(&self, array: Option<JsonExtent>) -> Items<'_> {
        Items { window: Window::new(self, array.unwrap_or(JsonExtent { start: 0, end: 0 })), has_begun: false }
    }

    /// Iterates over the texts of array values, for small values; empty if the value is not an array.
    pub(crate) fn elements(&self, array: Option<JsonExtent>) -> Elements<'_> {
        Elements::new(Window::new(self, array.unwrap_or(JsonExtent { start: 0, end: 0 })))
    }

    /// Iterates over the texts of small values that follow each other, from the start of a document on.
    pub(crate) fn values(&self, from: JsonExtent) -> Elements<'_> {
        Elements::bare(Window::new(self, from))
    }

    /// Returns the text of a value; empty if it is too long.
    pub(crate) fn text(&self, value: JsonExtent) -> Result<Vec<u8>, ReadError> {
        if value.end - value.start > VALUE_BYTES_MAX as u64 {
            return Ok(Vec::new());
        }
        let mut window = Window::new(self, value);
        while window.fill()? {}
        Ok(window.unread().trim_ascii().to_vec())
    }

    /// Parses a whole value; returns `None` and counts a loss for another type, or for a value beyond the limit.
    pub(crate) fn value<T: DeserializeOwned>(
        &self,
        value: Option<JsonExtent>,
        losses: &mut Losses,
    ) -> Result<Option<T>, ReadError> {
        let Some(value) = value else { return Ok(None) };
        // A truncated value is already counted.
        let is_whole = value.end < self.len;
        if value.end - value.start > VALUE_BYTES_MAX as u64 {
            losses.add(Loss::OverLimit, value.pos());
            return Ok(None);
        }
        let (text, mut copy) = (self.text(value)?, String::new());
        let parsed = parse::<Option<T>>(&text, &mut copy, value.pos(), losses);
        Ok(parsed.unwrap_or_else(|| {
            losses.add_many(Loss::BadRecord, value.pos(), u64::from(is_whole));
            None
        }))
    }

    /// Creates the memory charge of a table.
    pub(crate) fn table_charge(&self) -> TableCharge<'_> {
        TableCharge { document: self, bytes: 0, charges: Vec::new() }
    }

    /// Returns whether the file ended inside a value.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut.get()
    }

    /// Counts a loss if the file ended inside a value, or if more follows the document that was read last.
    pub(crate) fn count_rest(&self, losses: &mut Losses) -> Result<(), ReadError> {
        if self.is_cut.get() {
            losses.add(Loss::Truncated, SourcePos::Offset(self.len));
        } else if let Some((rest, _)) = self.rest()? {
            losses.add(Loss::TrailingData, rest.pos());
        }
        Ok(())
    }

    /// Creates the error for a document without the required parts.
    pub(crate) fn without(&self, expected: &str) -> ReadError {
        let found = if self.is_cut.get() { "the end of the file" } else { "a document without" };
        let offset = if self.is_cut.get() { self.len } else { 0 };
        ReadError::malformed(self.path.as_path(), offset, expected, found)
    }
}

impl TableCharge<'_> {
    /// Charges memory of the table. Fails with [`ReadError::Malformed`] once all tables exceed their share.
    pub(crate) fn add(&mut self, bytes: usize, pos: u64) -> Result<(), ReadError> {
        let Document { path, context, .. } = self.document;
        if self.add_within_limit(bytes) {
            return Ok(());
        }
        let limit = BudgetShare::DocumentTables.hard_limit_bytes(&context.budget);
        let expected = format!("tables of at most {limit} bytes, a quarter of the memory that --memory gives");
        Err(ReadError::malformed(path.as_path(), pos, expected, "larger ones"))
    }

    /// Charges memory of the table, and returns whether all tables are within their share.
    pub(crate) fn add_within_limit(&mut self, bytes: usize) -> bool {
        let Document { context, kept_bytes, .. } = self.document;
        self.bytes += bytes as u64;
        kept_bytes.set(kept_bytes.get() + bytes as u64);
        while self.bytes / CHARGE_BYTES > self.charges.len() as u64 {
            self.charges.push(context.budget.charge(CHARGE_BYTES));
        }
        kept_bytes.get() <= BudgetShare::DocumentTables.hard_limit_bytes(&context.budget)
    }
}

impl Drop for TableCharge<'_> {
    fn drop(&mut self) {
        self.document.kept_bytes.set(self.document.kept_bytes.get() - self.bytes);
    }
}

/// Iterator over the members of an object: raw keys and the extents of their values.
pub(crate) struct JsonMembers<'d> {
    window: Window<'d>,
}

impl JsonMembers<'_> {
    pub(crate) fn next(&mut self) -> Result<Option<(Vec<u8>, JsonExtent)>, ReadError> {
        let Some(key) = self.window.key(KEY_BYTES_MAX)? else { return Ok(None) };
        Ok(Some((key, self.window.skim()?)))
    }
}

/// Iterator over the extents of array values.
pub(crate) struct Items<'d> {
    window: Window<'d>,
    has_begun: bool,
}

impl Items<'_> {
    pub(crate) fn next(&mut self) -> Result<Option<JsonExtent>, ReadError> {
        loop {
            match (self.window.peek()?, self.has_begun) {
                (Some(b'['), false) | (Some(b','), true) => self.window.advance(1),
                (Some(b']'), true) => {
                    self.window.note_closed(self.window.offset() + 1);
                    return Ok(None);
                }
                (None, _) | (_, false) => return Ok(None),
                (Some(_), true) => {
                    let item = self.window.skim()?;
                    if item.start < item.end {
                        return Ok(Some(item));
                    }
                    // An unmatched closing bracket.
                    self.window.advance(1);
                }
            }
            self.has_begun = true;
        }
    }
}

#[cfg(test)]
mod tests;

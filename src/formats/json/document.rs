//! Captures that are one JSON document whose parts point into each other: profiles whose tables may come after the
//! values that use them. Reads by position in the file, in any order, so memory holds only what a reader asks for,
//! however large the document is.
//!
//! A value is a [`JsonExtent`] of the file. [`Document::pick`] finds members of an object, [`Items`] the extents of
//! the values of an array, [`Elements`] their texts, each of which is parsed strictly by itself. Damage costs the
//! element that it is in. Refuses tables that do not fit a share of the memory budget.

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
use crate::formats::{ReadContext, ReadError};
use crate::model::{Loss, Losses, SourcePos};

/// Tables are charged in steps of this.
const CHARGE_BYTES: u64 = 1 << 20;

/// The longest element of an array, or value that is read whole: nothing longer is an event.
const VALUE_BYTES_MAX: usize = 16 << 20;

/// Keys are at most so long: longer ones are none that is known.
const KEY_BYTES_MAX: usize = 256;

/// A document in a file.
pub(crate) struct Document {
    path: PathBuf,
    file: File,
    len: u64,
    block_bytes: usize,
    context: ReadContext,
    /// Whether the file is not compressed, so that its bytes count as progress.
    is_plain: bool,
    /// Whether the file ended inside of a value.
    is_cut: Cell<bool>,
    /// Memory of all tables, in bytes.
    kept_bytes: Cell<u64>,
}

/// Memory of tables that were read from a document, given back when this is dropped.
pub(crate) struct TableCharge<'d> {
    document: &'d Document,
    bytes: u64,
    charges: Vec<Charge>,
}

/// The position of a value in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JsonExtent {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl JsonExtent {
    pub(crate) fn place(self) -> SourcePos {
        SourcePos::Offset(self.start)
    }
}

impl Document {
    /// Opens the file of a source; a compressed one is first unpacked by [`unpacked_to_file`].
    pub(crate) fn open(source: Source, context: &ReadContext) -> Result<Self, ReadError> {
        const BLOCK_BYTES: usize = 64 << 10;
        let (path, is_plain, block_bytes) =
            (source.path().to_owned(), !source.is_packed(), source.block_bytes(BLOCK_BYTES));
        let io_error = |source| ReadError::Io { path: path.clone(), offset: 0, source };
        let file = if is_plain {
            File::open(&path).map_err(io_error)?
        } else {
            unpacked_to_file(source, context)?.into_file()
        };
        let len = file.metadata().map_err(io_error)?.len();
        let context = context.clone();
        let (is_cut, kept_bytes) = (Cell::default(), Cell::default());
        Ok(Self { path, file, len, block_bytes, context, is_plain, is_cut, kept_bytes })
    }

    pub(crate) fn whole(&self) -> JsonExtent {
        JsonExtent { start: 0, end: self.len }
    }

    /// Finds the members with these keys in an object, in one pass. Of several with the same key, the first counts.
    pub(crate) fn pick<const N: usize>(
        &self,
        object: JsonExtent,
        keys: [&str; N],
    ) -> Result<[Option<JsonExtent>; N], ReadError> {
        let mut found = [None; N];
        let mut members = self.members(object);
        while let Some((key, value)) = members.next()? {
            if let Some(place) = keys.iter().position(|wanted| key == wanted.as_bytes()) {
                found[place].get_or_insert(value);
            }
        }
        Ok(found)
    }

    /// The members of an object with their keys.
    pub(crate) fn members(&self, object: JsonExtent) -> JsonMembers<'_> {
        JsonMembers { window: Window::new(self, object) }
    }

    /// The values of an array of large ones; none for what is no array.
    pub(crate) fn items(&self, array: Option<JsonExtent>) -> Items<'_> {
        Items { window: Window::new(self, array.unwrap_or(JsonExtent { start: 0, end: 0 })), has_begun: false }
    }

    /// The values of an array of small ones; none for what is no array.
    pub(crate) fn elements(&self, array: Option<JsonExtent>) -> Elements<'_> {
        Elements::new(Window::new(self, array.unwrap_or(JsonExtent { start: 0, end: 0 })))
    }

    /// The text of a value; the empty one if it is too long.
    pub(crate) fn text(&self, value: JsonExtent) -> Result<Vec<u8>, ReadError> {
        if value.end - value.start > VALUE_BYTES_MAX as u64 {
            return Ok(Vec::new());
        }
        let mut window = Window::new(self, value);
        while window.fill()? {}
        Ok(window.unread().trim_ascii().to_vec())
    }

    /// Parses a whole value; `None` for one of another type, which counts as a loss.
    pub(crate) fn value<T: DeserializeOwned>(
        &self,
        value: Option<JsonExtent>,
        losses: &mut Losses,
    ) -> Result<Option<T>, ReadError> {
        let Some(value) = value else { return Ok(None) };
        // One that is cut is counted as that.
        let is_whole = value.end < self.len;
        let parsed = serde_json::from_slice::<Option<T>>(&self.text(value)?);
        Ok(parsed.unwrap_or_else(|_| {
            losses.add_many(Loss::BadRecord, value.place(), u64::from(is_whole));
            None
        }))
    }

    /// Begins to charge the memory of a table.
    pub(crate) fn table_charge(&self) -> TableCharge<'_> {
        TableCharge { document: self, bytes: 0, charges: Vec::new() }
    }

    /// Whether the file ended inside of a value.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut.get()
    }

    /// Counts a loss if the file ended inside of a value.
    pub(crate) fn count_cut(&self, losses: &mut Losses) {
        losses.add_many(Loss::Truncated, SourcePos::Offset(self.len), u64::from(self.is_cut.get()));
    }

    /// The error of a document that has nothing of what its format needs.
    pub(crate) fn without(&self, expected: &str) -> ReadError {
        let found = if self.is_cut.get() { "the end of the file" } else { "a document without" };
        let offset = if self.is_cut.get() { self.len } else { 0 };
        ReadError::Malformed { path: self.path.clone(), offset, expected: expected.to_owned(), found: found.to_owned() }
    }
}

impl TableCharge<'_> {
    /// Charges more of the table. Fails with [`ReadError::Malformed`] once all tables take more than their share.
    pub(crate) fn add(&mut self, bytes: usize, place: u64) -> Result<(), ReadError> {
        let Document { path, context, kept_bytes, .. } = self.document;
        self.bytes += bytes as u64;
        kept_bytes.set(kept_bytes.get() + bytes as u64);
        if self.bytes / CHARGE_BYTES > self.charges.len() as u64 {
            self.charges.push(context.budget.charge(CHARGE_BYTES));
        }
        let limit = BudgetShare::DocumentTables.bytes(&context.budget);
        if kept_bytes.get() <= limit {
            return Ok(());
        }
        let expected = format!("tables of at most {limit} bytes, a quarter of the memory that --memory gives");
        Err(ReadError::Malformed { path: path.clone(), offset: place, expected, found: "larger ones".to_owned() })
    }
}

impl Drop for TableCharge<'_> {
    fn drop(&mut self) {
        self.document.kept_bytes.set(self.document.kept_bytes.get() - self.bytes);
    }
}

/// The members of an object: keys as written between their quotes, and the extents of the values.
pub(crate) struct JsonMembers<'d> {
    window: Window<'d>,
}

impl JsonMembers<'_> {
    pub(crate) fn next(&mut self) -> Result<Option<(Vec<u8>, JsonExtent)>, ReadError> {
        let Some(key) = self.window.key(KEY_BYTES_MAX)? else { return Ok(None) };
        Ok(Some((key, self.window.skim()?)))
    }
}

/// The extents of the values of an array.
pub(crate) struct Items<'d> {
    window: Window<'d>,
    has_begun: bool,
}

impl Items<'_> {
    pub(crate) fn next(&mut self) -> Result<Option<JsonExtent>, ReadError> {
        loop {
            match (self.window.peek()?, self.has_begun) {
                (Some(b'['), false) | (Some(b','), true) => self.window.advance(1),
                (None, _) | (_, false) | (Some(b']'), true) => return Ok(None),
                (Some(_), true) => {
                    let item = self.window.skim()?;
                    if item.start < item.end {
                        return Ok(Some(item));
                    }
                    // A bracket that closes nothing.
                    self.window.advance(1);
                }
            }
            self.has_begun = true;
        }
    }
}

#[cfg(test)]
mod tests;

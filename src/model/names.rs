//! The table of names of a trace: interned texts, and (text, category) pairs that events reference.
//!
//! Name and category have one index, because they occur together in nearly every trace. A billion spans have a few
//! thousand pairs, so the category costs no extra byte per span. For the same reason, spans that failed have names of
//! their own. So every index by name tells them apart, down to the pyramids of a store. Sums use [`Names::regular`].

use std::hash::{BuildHasher, Hash};
use std::ops::Range;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::texts::{StrIdx, TextSpill, Texts};
use crate::base::mapped::Mapped;

/// A row of [`Names`]; row 0 is the empty name without a category.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Pod, Zeroable, Serialize, Deserialize)]
#[repr(transparent)]
pub struct NameIdx(pub u32);

/// Shown for a name without letters, which would look like an empty row.
pub(crate) const NO_NAME: &str = "[no name]";

/// Shown for samples without a stack, as in the reader of collapsed stacks.
pub(crate) const NO_FRAMES: &str = "[no frames]";

impl NameIdx {
    /// The empty name without a category.
    pub const EMPTY: Self = Self(0);

    /// Returns the index as a position in an array.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An optional category. No category differs from an empty one: an end without a category closes any span.
pub(crate) type Category<T> = Option<T>;

/// A name with its category.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct NameRow<T> {
    /// The text that is displayed, and hashed for the colour.
    pub text: T,
    /// Part of the identity of the name: equal texts of different categories are different rows.
    pub category: Category<T>,
    /// Whether the spans of this name failed. Also part of the identity: the others have the [`Names::regular`] name.
    /// Tables are serialized with a list of such names, because most have none.
    #[serde(skip)]
    pub is_failed: bool,
}

impl<T> NameRow<T> {
    /// Creates the row of spans that did not fail.
    #[must_use]
    pub const fn new(text: T, category: Category<T>) -> Self {
        Self { text, category, is_failed: false }
    }
}

impl NameRow<Box<str>> {
    #[must_use]
    pub(crate) fn borrowed(&self) -> NameRow<&str> {
        NameRow { text: &self.text, category: self.category.as_deref(), is_failed: self.is_failed }
    }
}

impl NameRow<&str> {
    #[must_use]
    pub(crate) fn boxed(&self) -> NameRow<Box<str>> {
        NameRow { text: self.text.into(), category: self.category.map(Into::into), is_failed: self.is_failed }
    }
}

/// All names of a trace. Row 0 is the empty name without a category.
///
/// A trace may have millions of names, so the hash tables store indices only. A name takes its text and about 40 bytes.
#[derive(Debug, Clone)]
pub struct Names {
    texts: Texts,
    rows: Vec<NameRow<StrIdx>>,
    /// The names of spans that failed, each with its regular name, in ascending order.
    failed: Vec<(NameIdx, NameIdx)>,
    text_index: HashTable<StrIdx>,
    row_index: HashTable<NameIdx>,
    /// The last index of a row or a text.
    index_max: u32,
    over_limit: u64,
}

/// The serialized fields of [`Names`]; the hash tables are rebuilt.
#[derive(Serialize)]
struct NameTables<'a> {
    texts: &'a Texts,
    rows: &'a [NameRow<StrIdx>],
    failed: &'a [(NameIdx, NameIdx)],
}

/// [`NameTables`], deserialized.
#[derive(Deserialize)]
struct OwnedNameTables {
    texts: Texts,
    rows: Vec<NameRow<StrIdx>>,
    failed: Vec<(NameIdx, NameIdx)>,
}

impl Serialize for Names {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        NameTables { texts: &self.texts, rows: &self.rows, failed: &self.failed }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let OwnedNameTables { texts, rows, failed } = OwnedNameTables::deserialize(deserializer)?;
        Ok(Self::from_tables(texts, rows, failed))
    }
}

impl Default for Names {
    fn default() -> Self {
        Self::with_texts(Texts::default())
    }
}

impl Names {
    /// Maximum length of a text, in bytes. Readers truncate longer ones and count them as [`super::Loss::LongText`].
    pub(crate) const TEXT_BYTES_MAX: usize = 64 * 1024;

    /// Creates an empty table whose texts spill to a file when they exceed a bound.
    #[must_use]
    pub fn spilling(spill: TextSpill) -> Self {
        Self::with_texts(Texts::spilling(spill))
    }

    fn with_texts(texts: Texts) -> Self {
        let mut names = Self::from_tables(texts, Vec::new(), Vec::new());
        names.intern("", None);
        names
    }

    /// Creates a table with empty hash tables. They are filled at the first insertion, which most deserialized tables
    /// never see.
    fn from_tables(texts: Texts, mut rows: Vec<NameRow<StrIdx>>, failed: Vec<(NameIdx, NameIdx)>) -> Self {
        for (name, _) in &failed {
            if let Some(row) = rows.get_mut(name.index()) {
                row.is_failed = true;
            }
        }
        let (text_index, row_index) = (HashTable::new(), HashTable::new());
        Self { texts, rows, failed, text_index, row_index, index_max: u32::MAX, over_limit: 0 }
    }

    /// Limits the indices of rows and texts; names beyond are counted in [`Self::over_limit`].
    #[must_use]
    pub(crate) fn limited(self, index_max: u32) -> Self {
        Self { index_max, ..self }
    }

    /// Deserializes a table from the start of `range` of a map; its texts stay there. Returns the remaining bytes too.
    /// Fails if the data is truncated or malformed.
    pub(crate) fn read_mapped(map: &Arc<Mapped>, range: Range<usize>) -> Result<(Self, &[u8]), postcard::Error> {
        let (texts, end) = Texts::read_mapped(map, range.start)?;
        let rest = map.get(end..range.end).ok_or(postcard::Error::DeserializeUnexpectedEnd)?;
        let (rows, rest) = postcard::take_from_bytes(rest)?;
        let (failed, rest) = postcard::take_from_bytes(rest)?;
        Ok((Self::from_tables(texts, rows, failed), rest))
    }

    /// Returns the index of a name with its category; adds it if it is new. A new name beyond the maximum index is
    /// counted in [`Self::over_limit`], and becomes the empty name.
    pub fn intern(&mut self, text: &str, category: Option<&str>) -> NameIdx {
        self.intern_row(NameRow::new(text, category))
    }

    /// Like [`Self::intern`], for a row that may be of spans that failed; adds its regular name first.
    pub(crate) fn intern_row(&mut self, row: NameRow<&str>) -> NameIdx {
        let index = self.try_intern_row(row);
        self.over_limit += u64::from(index.is_none());
        index.unwrap_or(NameIdx::EMPTY)
    }

    fn try_intern_row(&mut self, row: NameRow<&str>) -> Option<NameIdx> {
        let row = self.text_row(row)?;
        let regular = self.intern_row_of_texts(NameRow { is_failed: false, ..row })?;
        if !row.is_failed {
            return Some(regular);
        }
        let count = self.rows.len();
        // Beyond the maximum index, the regular name is at least the right text.
        let index = self.intern_row_of_texts(row).unwrap_or(regular);
        if self.rows.len() > count {
            self.failed.push((index, regular));
        }
        Some(index)
    }

    /// Returns the index of a row; adds it if it is new.
    fn intern_row_of_texts(&mut self, row: NameRow<StrIdx>) -> Option<NameIdx> {
        self.index_rows();
        let rows = &mut self.rows;
        let is_same = |other: &NameIdx| rows[other.index()] == row;
        match self.row_index.entry(hash(&row), is_same, |other| hash(&rows[other.index()])) {
            Entry::Occupied(entry) => Some(*entry.get()),
            Entry::Vacant(vacant) => {
                let index = NameIdx(next_index(rows.len(), self.index_max)?);
                vacant.insert(index);
                rows.push(row);
                Some(index)
            }
        }
    }

    fn text_row(&mut self, row: NameRow<&str>) -> Option<NameRow<StrIdx>> {
        let text = self.intern_text(row.text)?;
        let category = match row.category {
            Some(category) => Some(self.intern_text(category)?),
            None => None,
        };
        Some(NameRow { text, category, is_failed: row.is_failed })
    }

    /// Replaces the text of one row, by which look-ups find it from then on, unless an earlier row is equal. Does
    /// nothing if all indices are in use.
    pub(crate) fn rename(&mut self, name: NameIdx, text: &str) {
        if let Some(text) = self.intern_text(text)
            && let Some(row) = self.rows.get_mut(name.index())
        {
            // The hash table has the row by its old text, so the next look-up fills it again.
            self.row_index = HashTable::new();
            row.text = text;
        }
    }

    /// Returns the number of names that were dropped because all indices are in use.
    #[must_use]
    pub(crate) fn over_limit(&self) -> u64 {
        self.over_limit
    }

    /// Appends a row even if the name exists, for tables whose rows must keep their positions. Look-ups find the first
    /// of equal rows. A row beyond the maximum index is counted in [`Self::over_limit`], and becomes the empty name.
    pub(crate) fn push(&mut self, row: NameRow<&str>) -> NameIdx {
        let pushed = self.try_push(row);
        self.over_limit += u64::from(pushed.is_none());
        pushed.unwrap_or(NameIdx::EMPTY)
    }

    fn try_push(&mut self, row: NameRow<&str>) -> Option<NameIdx> {
        let row = self.text_row(row)?;
        self.index_rows();
        let index = NameIdx(next_index(self.rows.len(), self.index_max)?);
        if row.is_failed {
            // The regular name comes first in every table, but may be lost with a damaged part of it.
            self.failed.push((index, self.find(&NameRow { is_failed: false, ..row }).unwrap_or(index)));
        }
        self.rows.push(row);
        let rows = &self.rows;
        let is_same = |other: &NameIdx| rows[other.index()] == row;
        self.row_index.entry(hash(&row), is_same, |other| hash(&rows[other.index()])).or_insert(index);
        Some(index)
    }

    /// Returns the index of a row, which the hash table has if the row exists.
    fn find(&self, row: &NameRow<StrIdx>) -> Option<NameIdx> {
        self.row_index.find(hash(row), |other| self.rows[other.index()] == *row).copied()
    }

    /// Returns the index of a text; adds it if it is new. Returns `None` for a new text beyond the maximum index.
    fn intern_text(&mut self, text: &str) -> Option<StrIdx> {
        self.index_texts();
        let texts = &mut self.texts;
        let is_same = |other: &StrIdx| texts.bytes(*other) == text.as_bytes();
        match self.text_index.entry(hash(text.as_bytes()), is_same, |other| hash(texts.bytes(*other))) {
            Entry::Occupied(entry) => Some(*entry.get()),
            Entry::Vacant(vacant) => {
                let index = StrIdx(next_index(texts.len(), self.index_max)?);
                vacant.insert(index);
                texts.push(text);
                Some(index)
            }
        }
    }

    /// Fills the hash table of rows, if it is empty.
    fn index_rows(&mut self) {
        if self.row_index.is_empty() {
            let rows = &self.rows;
            for (row, index) in rows.iter().zip((0..).map(NameIdx)) {
                let is_same = |other: &NameIdx| rows[other.index()] == *row;
                self.row_index.entry(hash(row), is_same, |other| hash(&rows[other.index()])).or_insert(index);
            }
        }
    }

    /// Fills the hash table of texts, if it is empty.
    fn index_texts(&mut self) {
        if self.text_index.is_empty() {
            let texts = &self.texts;
            for index in (0..).map(StrIdx).take(texts.len()) {
                let text = texts.bytes(index);
                let is_same = |other: &StrIdx| texts.bytes(*other) == text;
                self.text_index.entry(hash(text), is_same, |other| hash(texts.bytes(*other))).or_insert(index);
            }
        }
    }

    /// Returns a text; empty for an index that does not exist.
    #[must_use]
    pub(crate) fn text(&self, index: StrIdx) -> &str {
        self.texts.get(index)
    }

    /// Returns the name and category of an index; empty for a row that does not exist.
    #[must_use]
    pub fn get(&self, name: NameIdx) -> NameRow<&str> {
        let NameRow { text, category, is_failed } = self.rows.get(name.index()).copied().unwrap_or_default();
        NameRow { text: self.text(text), category: category.map(|category| self.text(category)), is_failed }
    }

    /// Returns whether the spans of a name failed.
    #[must_use]
    pub(crate) fn is_failed(&self, name: NameIdx) -> bool {
        self.rows.get(name.index()).is_some_and(|row| row.is_failed)
    }

    /// Returns whether some names belong to failed spans.
    #[must_use]
    pub(crate) fn has_failed(&self) -> bool {
        !self.failed.is_empty()
    }

    /// Returns the name with the same text and category for spans that did not fail. A regular name is returned as it
    /// is.
    #[must_use]
    pub(crate) fn regular(&self, name: NameIdx) -> NameIdx {
        let found = self.failed.binary_search_by_key(&name, |(failed, _)| *failed);
        found.map_or(name, |position| self.failed[position].1)
    }

    /// Returns the text index of a name. Names that differ only in their category share it.
    #[must_use]
    pub(crate) fn text_index(&self, name: NameIdx) -> StrIdx {
        self.rows.get(name.index()).map_or(StrIdx(0), |row| row.text)
    }

    /// Returns the number of names.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns false: row 0 always exists.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

fn hash(key: &(impl Hash + ?Sized)) -> u64 {
    FxBuildHasher.hash_one(key)
}

/// Returns the index after `len` others; `None` beyond `max`.
fn next_index(len: usize, max: u32) -> Option<u32> {
    u32::try_from(len).ok().filter(|&index| index <= max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(text: &str) -> NameRow<&str> {
        NameRow { is_failed: true, ..NameRow::new(text, None) }
    }

    #[test]
    fn failures_have_names_of_their_own_with_the_same_text_and_lead_to_the_regular_ones() {
        let mut names = Names::default();
        let plain = names.intern("a", None);
        let marked = names.intern_row(failed("a"));
        let only = names.intern_row(failed("b"));
        assert_eq!([names.intern_row(failed("a")), names.intern("a", None)], [marked, plain], "each has one row");
        let mut back: Names = postcard::from_bytes(&postcard::to_stdvec(&names).unwrap()).unwrap();
        assert_eq!(back.intern_row(failed("a")), marked);
        for names in [&names, &back] {
            assert_eq!(names.get(marked), failed("a"));
            assert_eq!([plain, marked, only].map(|name| names.is_failed(name)), [false, true, true]);
            assert_eq!([plain, marked].map(|name| names.regular(name)), [plain; 2]);
            assert_eq!(names.get(names.regular(only)), NameRow::new("b", None), "even if no other span has it");
        }
        let mut pushed = Names::default();
        for row in 1..names.len() as u32 {
            pushed.push(names.get(NameIdx(row)));
        }
        assert_eq!(pushed.failed, names.failed);
        let mut lost = Names::default();
        let alone = lost.push(failed("c"));
        assert_eq!(lost.regular(alone), alone, "a regular name that is lost");
    }

    #[test]
    fn names_that_were_written_and_read_are_known_again() {
        let mut names = Names::default();
        let known = names.intern("a", Some("c"));
        let mut back: Names = postcard::from_bytes(&postcard::to_stdvec(&names).unwrap()).unwrap();
        assert_eq!(back.get(known), names.get(known));
        assert_eq!(back.intern("a", Some("c")), known);
        assert_eq!(back.intern("b", None).index(), names.len());
    }

    #[test]
    fn names_beyond_the_last_index_are_counted_and_never_another_name() {
        let mut names = Names::default().limited(2);
        let known = [names.intern("a", None), names.intern("b", None)];
        assert_eq!((known, names.over_limit()), ([NameIdx(1), NameIdx(2)], 0));
        let beyond = [names.intern("c", None), names.push(NameRow::new("d", None)), names.intern("a", Some("c"))];
        assert_eq!(beyond, [NameIdx::EMPTY; 3]);
        assert_eq!((names.len(), names.over_limit()), (3, 3));
        assert_eq!(names.intern_row(failed("a")), known[0], "a failure that cannot be marked keeps its name");
        assert_eq!([names.intern("a", None), names.intern("b", None)], known);
    }

    #[test]
    fn the_same_pair_gets_the_same_index_and_no_category_is_not_an_empty_one() {
        let mut names = Names::default();
        let first = names.intern("a", Some("c"));
        assert_eq!(names.intern("a", Some("c")), first);
        assert_ne!(names.intern("a", None), names.intern("a", Some("")));
        assert_eq!(names.get(first), NameRow::new("a", Some("c")));
        assert_eq!(names.intern("", None), NameIdx::EMPTY);
        assert_eq!(names.get(NameIdx(u32::MAX)), NameRow::default());
    }
}

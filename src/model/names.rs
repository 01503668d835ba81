//! The capture's table of names: text interned once, and (text, category) pairs that events point to.
//!
//! Name and category are one index because they go together in nearly every capture: a billion spans have a few
//! thousand pairs, and the category then costs no byte a span.

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

/// The index of a row of [`Names`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Pod, Zeroable, Serialize, Deserialize)]
#[repr(transparent)]
pub struct NameIdx(pub u32);

impl NameIdx {
    /// The empty name without a category.
    pub const EMPTY: Self = Self(0);

    /// The position in an array.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A category, or none. None is not the same as an empty one: an end without a category closes any span.
pub(crate) type Category<T> = Option<T>;

/// A name with its category.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct NameRow<T> {
    /// The text that is shown and hashed for the colour.
    pub text: T,
    /// The category; `None` if there is none.
    pub category: Category<T>,
}

/// All names of a capture. Row 0 is the empty name without a category.
///
/// A capture may have millions of names, so the look-ups hold indices only: a name takes its text and some 35 bytes.
#[derive(Debug, Clone)]
pub struct Names {
    texts: Texts,
    rows: Vec<NameRow<StrIdx>>,
    text_index: HashTable<StrIdx>,
    row_index: HashTable<NameIdx>,
    /// The last index that a row or a text may have.
    index_max: u32,
    over_limit: u64,
}

/// The fields of [`Names`] that are written: the look-ups follow from them.
#[derive(Serialize)]
struct NameTables<'a> {
    texts: &'a Texts,
    rows: &'a [NameRow<StrIdx>],
}

/// [`NameTables`] as they are read.
#[derive(Deserialize)]
struct OwnedNameTables {
    texts: Texts,
    rows: Vec<NameRow<StrIdx>>,
}

impl Serialize for Names {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        NameTables { texts: &self.texts, rows: &self.rows }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let OwnedNameTables { texts, rows } = OwnedNameTables::deserialize(deserializer)?;
        Ok(Self::from_tables(texts, rows))
    }
}

impl Default for Names {
    fn default() -> Self {
        Self::with_texts(Texts::default())
    }
}

impl Names {
    /// The most bytes of one text; longer ones are cut by the reader and counted as [`super::Loss::LongText`].
    pub(crate) const TEXT_BYTES_MAX: usize = 64 * 1024;

    /// Names whose letters go to a file where they are many.
    #[must_use]
    pub fn spilling(spill: TextSpill) -> Self {
        Self::with_texts(Texts::spilling(spill))
    }

    fn with_texts(texts: Texts) -> Self {
        let mut names = Self::from_tables(texts, Vec::new());
        names.intern("", None);
        names
    }

    /// The look-ups are made when a name is added, which never happens to most tables that were read.
    fn from_tables(texts: Texts, rows: Vec<NameRow<StrIdx>>) -> Self {
        let (text_index, row_index) = (HashTable::new(), HashTable::new());
        Self { texts, rows, text_index, row_index, index_max: u32::MAX, over_limit: 0 }
    }

    /// Names whose indices end at `index_max`.
    #[cfg(test)]
    pub(crate) fn with_limit(index_max: u32) -> Self {
        Self { index_max, ..Self::default() }
    }

    /// Reads what [`Serialize`] wrote at the start of `range` of a map, whose letters stay there. Returns the bytes
    /// after it. Fails if it was cut or is something else.
    pub(crate) fn read_mapped(map: &Arc<Mapped>, range: Range<usize>) -> Result<(Self, &[u8]), postcard::Error> {
        let (texts, end) = Texts::read_mapped(map, range.start)?;
        let rest = map.get(end..range.end).ok_or(postcard::Error::DeserializeUnexpectedEnd)?;
        let (rows, rest) = postcard::take_from_bytes(rest)?;
        Ok((Self::from_tables(texts, rows), rest))
    }

    /// The index of a name with its category, new or known. A new name beyond the last index is counted in
    /// [`Self::over_limit`], and is the empty name.
    pub fn intern(&mut self, text: &str, category: Option<&str>) -> NameIdx {
        let known = self.intern_row(text, category);
        self.over_limit += u64::from(known.is_none());
        known.unwrap_or(NameIdx::EMPTY)
    }

    fn intern_row(&mut self, text: &str, category: Option<&str>) -> Option<NameIdx> {
        let row = self.text_row(text, category)?;
        self.index_rows();
        let rows = &mut self.rows;
        let is_same = |known: &NameIdx| rows[known.index()] == row;
        match self.row_index.entry(hash(&row), is_same, |known| hash(&rows[known.index()])) {
            Entry::Occupied(known) => Some(*known.get()),
            Entry::Vacant(place) => {
                let index = NameIdx(next_index(rows.len(), self.index_max)?);
                place.insert(index);
                rows.push(row);
                Some(index)
            }
        }
    }

    fn text_row(&mut self, text: &str, category: Option<&str>) -> Option<NameRow<StrIdx>> {
        let text = self.intern_text(text)?;
        let category = match category {
            Some(category) => Some(self.intern_text(category)?),
            None => None,
        };
        Some(NameRow { text, category })
    }

    /// Gives a row another text, and leaves all others as they are. The row is not found by its text, neither the old
    /// nor the new one. Nothing changes where every index is taken.
    pub(crate) fn rename(&mut self, name: NameIdx, text: &str) {
        if let Some(text) = self.intern_text(text)
            && let Some(row) = self.rows.get_mut(name.index())
        {
            // Rows are looked up by what they were.
            self.row_index = HashTable::new();
            row.text = text;
        }
    }

    /// Names that are missing because every index was taken.
    #[must_use]
    pub(crate) fn over_limit(&self) -> u64 {
        self.over_limit
    }

    /// Adds a row even if the name is known, for tables whose rows must keep their places. Finds the name from then on.
    /// A row beyond the last index is counted in [`Self::over_limit`], and is the empty name.
    pub(crate) fn push(&mut self, text: &str, category: Option<&str>) -> NameIdx {
        let pushed = self.push_row(text, category);
        self.over_limit += u64::from(pushed.is_none());
        pushed.unwrap_or(NameIdx::EMPTY)
    }

    fn push_row(&mut self, text: &str, category: Option<&str>) -> Option<NameIdx> {
        let row = self.text_row(text, category)?;
        self.index_rows();
        let index = NameIdx(next_index(self.rows.len(), self.index_max)?);
        self.rows.push(row);
        let rows = &self.rows;
        let is_same = |known: &NameIdx| rows[known.index()] == row;
        self.row_index.entry(hash(&row), is_same, |known| hash(&rows[known.index()])).or_insert(index);
        Some(index)
    }

    /// The index of a text, new or known; `None` for a new one beyond the last index.
    fn intern_text(&mut self, text: &str) -> Option<StrIdx> {
        self.index_texts();
        let texts = &mut self.texts;
        let is_same = |known: &StrIdx| texts.bytes(*known) == text.as_bytes();
        match self.text_index.entry(hash(text.as_bytes()), is_same, |known| hash(texts.bytes(*known))) {
            Entry::Occupied(known) => Some(*known.get()),
            Entry::Vacant(place) => {
                let index = StrIdx(next_index(texts.len(), self.index_max)?);
                place.insert(index);
                texts.push(text);
                Some(index)
            }
        }
    }

    /// Makes the look-up of rows where the tables were read.
    fn index_rows(&mut self) {
        if self.row_index.is_empty() {
            let rows = &self.rows;
            for (row, index) in rows.iter().zip((0..).map(NameIdx)) {
                let is_same = |known: &NameIdx| rows[known.index()] == *row;
                self.row_index.entry(hash(row), is_same, |known| hash(&rows[known.index()])).or_insert(index);
            }
        }
    }

    /// Fills the look-up of texts, if it is empty.
    fn index_texts(&mut self) {
        if self.text_index.is_empty() {
            let texts = &self.texts;
            for index in (0..).map(StrIdx).take(texts.len()) {
                let text = texts.bytes(index);
                let is_same = |known: &StrIdx| texts.bytes(*known) == text;
                self.text_index.entry(hash(text), is_same, |known| hash(texts.bytes(*known))).or_insert(index);
            }
        }
    }

    /// The text of a row of texts; empty for a row that does not exist.
    #[must_use]
    pub(crate) fn text(&self, index: StrIdx) -> &str {
        self.texts.get(index)
    }

    /// The name and category of an index; empty for a row that does not exist.
    #[must_use]
    pub fn get(&self, name: NameIdx) -> NameRow<&str> {
        let row = self.rows.get(name.index()).copied().unwrap_or_default();
        NameRow { text: self.text(row.text), category: row.category.map(|category| self.text(category)) }
    }

    /// The row of texts of a name: equal for names that differ in their category only.
    #[must_use]
    pub(crate) fn text_index(&self, name: NameIdx) -> StrIdx {
        self.rows.get(name.index()).map_or(StrIdx(0), |row| row.text)
    }

    /// How many names there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Never: row 0 always exists.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

fn hash(key: &(impl Hash + ?Sized)) -> u64 {
    FxBuildHasher.hash_one(key)
}

/// The index after `len` others; `None` beyond `max`.
fn next_index(len: usize, max: u32) -> Option<u32> {
    u32::try_from(len).ok().filter(|&index| index <= max)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut names = Names::with_limit(2);
        let known = [names.intern("a", None), names.intern("b", None)];
        assert_eq!((known, names.over_limit()), ([NameIdx(1), NameIdx(2)], 0));
        assert_eq!([names.intern("c", None), names.push("d", None), names.intern("a", Some("c"))], [NameIdx::EMPTY; 3]);
        assert_eq!((names.len(), names.over_limit()), (3, 3));
        assert_eq!([names.intern("a", None), names.intern("b", None)], known);
    }

    #[test]
    fn the_same_pair_gets_the_same_index_and_no_category_is_not_an_empty_one() {
        let mut names = Names::default();
        let first = names.intern("a", Some("c"));
        assert_eq!(names.intern("a", Some("c")), first);
        assert_ne!(names.intern("a", None), names.intern("a", Some("")));
        assert_eq!(names.get(first), NameRow { text: "a", category: Some("c") });
        assert_eq!(names.intern("", None), NameIdx::EMPTY);
        assert_eq!(names.get(NameIdx(u32::MAX)), NameRow::default());
    }
}

//! The capture's table of names: text interned once, and (text, category) pairs that events point to.
//!
//! Name and category are one index because they go together in nearly every capture: a billion spans have a few thousand
//! pairs, and the category then costs no byte a span.

use bytemuck::{Pod, Zeroable};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// A row of [`Names`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Pod, Zeroable, Serialize, Deserialize)]
#[repr(transparent)]
pub struct NameIdx(pub u32);

/// A row of the table of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Pod, Zeroable, Serialize, Deserialize)]
#[repr(transparent)]
pub struct StrIdx(pub u32);

impl NameIdx {
    /// The empty name without a category.
    pub const EMPTY: Self = Self(0);

    /// As a position in an array.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A category, or none. None is not the same as an empty one: an end without a category closes any span.
pub type Category<T> = Option<T>;

/// What a name index stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct NameRow<T> {
    /// The text that is shown and hashed for the colour.
    pub text: T,
    /// The category.
    pub category: Category<T>,
}

/// All names of a capture. Row 0 is the empty name without a category.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "NameTables", into = "NameTables")]
pub struct Names {
    texts: Vec<Box<str>>,
    rows: Vec<NameRow<StrIdx>>,
    text_index: FxHashMap<Box<str>, StrIdx>,
    row_index: FxHashMap<NameRow<StrIdx>, NameIdx>,
}

/// [`Names`] as written: the tables without the look-ups that are made from them.
#[derive(Clone, Serialize, Deserialize)]
struct NameTables {
    texts: Vec<Box<str>>,
    rows: Vec<NameRow<StrIdx>>,
}

impl From<NameTables> for Names {
    fn from(tables: NameTables) -> Self {
        // The look-ups are made when a name is added: most captures are opened to be looked at.
        let (text_index, row_index) = Default::default();
        Self { texts: tables.texts, rows: tables.rows, text_index, row_index }
    }
}

impl From<Names> for NameTables {
    fn from(names: Names) -> Self {
        Self { texts: names.texts, rows: names.rows }
    }
}

impl Default for Names {
    fn default() -> Self {
        let mut names = Self {
            texts: Vec::new(),
            rows: Vec::new(),
            text_index: FxHashMap::default(),
            row_index: FxHashMap::default(),
        };
        names.intern("", None);
        names
    }
}

impl Names {
    /// The most bytes of one text; longer ones are cut by the reader and counted as [`super::Loss::LongText`].
    pub const TEXT_BYTES_MAX: usize = 64 * 1024;

    /// The index of a name with its category, new or known.
    pub fn intern(&mut self, text: &str, category: Option<&str>) -> NameIdx {
        let row = NameRow { text: self.intern_text(text), category: category.map(|text| self.intern_text(text)) };
        if self.row_index.len() < self.rows.len() {
            self.row_index = self.rows.iter().copied().zip((0..).map(NameIdx)).collect();
        }
        *self.row_index.entry(row).or_insert_with(|| {
            self.rows.push(row);
            NameIdx(u32::try_from(self.rows.len() - 1).unwrap_or(0))
        })
    }

    /// Adds a row even if the name is known, for tables whose rows must keep their places. Finds the name from then on.
    pub fn push(&mut self, text: &str, category: Option<&str>) -> NameIdx {
        let row = NameRow { text: self.intern_text(text), category: category.map(|text| self.intern_text(text)) };
        let index = NameIdx(u32::try_from(self.rows.len()).unwrap_or(0));
        self.rows.push(row);
        self.row_index.entry(row).or_insert(index);
        index
    }

    /// The index of a text, new or known.
    pub fn intern_text(&mut self, text: &str) -> StrIdx {
        if self.text_index.len() < self.texts.len() {
            self.text_index = self.texts.iter().cloned().zip((0..).map(StrIdx)).collect();
        }
        if let Some(&known) = self.text_index.get(text) {
            return known;
        }
        let index = StrIdx(u32::try_from(self.texts.len()).unwrap_or(0));
        self.texts.push(text.into());
        self.text_index.insert(text.into(), index);
        index
    }

    /// The text of a row of texts; empty for a row that does not exist.
    #[must_use]
    pub fn text(&self, index: StrIdx) -> &str {
        self.texts.get(index.0 as usize).map_or("", |text| text)
    }

    /// The name and category behind an index; empty for a row that does not exist.
    #[must_use]
    pub fn get(&self, name: NameIdx) -> NameRow<&str> {
        let row = self.rows.get(name.index()).copied().unwrap_or_default();
        NameRow { text: self.text(row.text), category: row.category.map(|category| self.text(category)) }
    }

    /// The row of texts behind a name: equal for names that differ in their category only.
    #[must_use]
    pub fn text_index(&self, name: NameIdx) -> StrIdx {
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

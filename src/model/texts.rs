//! Many texts in one string, by index. Texts are added at the end, and never changed or removed.
//!
//! The slow answer is a `Vec<Box<str>>`, which takes some 40 bytes a text beside its letters, most of them the allocator's.

use std::fmt;

use bytemuck::{Pod, Zeroable};
use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// A row of the table of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Pod, Zeroable, Serialize, Deserialize)]
#[repr(transparent)]
pub(crate) struct StrIdx(pub u32);

/// Texts end to end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Texts {
    letters: String,
    /// `ends[k]` is the end of text `k` in `letters`.
    ends: Vec<u64>,
}

impl Texts {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn push(&mut self, text: &str) {
        self.letters.push_str(text);
        self.ends.push(self.letters.len() as u64);
    }

    /// A text; the empty one for an index beyond the last.
    pub(super) fn get(&self, index: StrIdx) -> &str {
        let index = index.0 as usize;
        let start = index.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied());
        let range = start.zip(self.ends.get(index).copied());
        range.and_then(|(start, end)| self.letters.get(start as usize..end as usize)).unwrap_or("")
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        (0..).take(self.len()).map(|index| self.get(StrIdx(index)))
    }
}

impl Serialize for Texts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Texts;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of texts")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Texts, A::Error> {
                let mut texts = Texts::default();
                while list.next_element_seed(Append(&mut texts))?.is_some() {}
                Ok(texts)
            }
        }
        deserializer.deserialize_seq(All)
    }
}

/// Reads one text to the end of the others.
struct Append<'a>(&'a mut Texts);

impl<'de> DeserializeSeed<'de> for Append<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Append<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.0.push(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn texts_come_back_by_index_also_after_they_were_written(expected in proptest::collection::vec(".{0,12}", 0..40)) {
            let mut texts = Texts::default();
            expected.iter().for_each(|text| texts.push(text));
            let bytes = postcard::to_stdvec(&texts).unwrap();
            prop_assert_eq!(&bytes, &postcard::to_stdvec(&expected).unwrap(), "as a plain list of texts");
            let back: Texts = postcard::from_bytes(&bytes).unwrap();
            prop_assert_eq!(&back, &texts);
            for (index, text) in (0..).zip(&expected) {
                prop_assert_eq!(back.get(StrIdx(index)), text);
            }
            prop_assert_eq!(back.get(StrIdx(expected.len() as u32)), "");
        }
    }
}

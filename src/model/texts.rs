//! An append-only table of texts in one string, by index.
//!
//! A `Vec<Box<str>>` would take about 40 bytes per text in addition to its characters, mostly in the allocator. A trace
//! may have gigabytes of text. During a load, text beyond a bound goes to a temporary file; text of a store stays in
//! the store's file. Both are mapped, so they use page cache and no private memory.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::base::disk::Disk;
use crate::base::mapped::Mapped;

/// An index of [`Texts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Pod, Zeroable, Serialize, Deserialize)]
#[repr(transparent)]
pub(crate) struct StrIdx(pub u32);

/// Concatenated texts, in memory or in a file.
#[derive(Debug, Default)]
pub(super) struct Texts {
    /// The first part of the text, if it is in a file.
    mapped: Option<MappedTexts>,
    /// The text after the mapped part, in memory.
    letters: String,
    /// `ends[k]` is the end offset of text `k` in the mapped bytes followed by `letters`.
    ends: Vec<u64>,
    spill: Option<TextSpill>,
}

/// Concatenated texts in a mapped file.
#[derive(Debug, Clone)]
struct MappedTexts {
    map: Arc<Mapped>,
    bytes: Range<usize>,
    /// Whether each text is preceded by its length, as postcard writes it.
    has_lengths: bool,
}

/// The temporary file for text beyond a memory bound.
#[derive(Debug)]
pub struct TextSpill {
    folder: PathBuf,
    disk: Arc<dyn Disk>,
    held_bytes_max: usize,
    /// Created when it is first needed.
    file: Option<File>,
}

impl TextSpill {
    /// Spills text beyond `held_bytes_max` to an unnamed file in `folder`.
    #[must_use]
    pub fn new(folder: &Path, disk: Arc<dyn Disk>, held_bytes_max: usize) -> Self {
        Self { folder: folder.into(), disk, held_bytes_max, file: None }
    }

    /// Returns a spill with the same folder and bound, for another table.
    #[must_use]
    pub(crate) fn another(&self) -> Self {
        Self::new(&self.folder, Arc::clone(&self.disk), self.held_bytes_max)
    }

    /// Appends text to the file, which has `file_bytes` bytes, and maps the whole file.
    fn append(&mut self, letters: &str, file_bytes: usize) -> io::Result<MappedTexts> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none
                .insert(tempfile::tempfile_in(&self.folder).or_else(|_| tempfile::tempfile_in(std::env::temp_dir()))?),
        };
        self.disk.write_all_at(file, letters.as_bytes(), file_bytes as u64)?;
        let map = Arc::new(Mapped::from_store(file, Path::new("the names of a trace that is being loaded"))?);
        Ok(MappedTexts { map, bytes: 0..file_bytes + letters.len(), has_lengths: false })
    }
}

impl MappedTexts {
    /// Returns the bytes of the text at `range`, without its length.
    fn letters(&self, range: Range<usize>) -> &[u8] {
        let all = self.map.get(self.bytes.clone()).unwrap_or(&[]);
        let text = all.get(range).unwrap_or(&[]);
        if !self.has_lengths {
            return text;
        }
        let length = text.iter().position(|byte| byte & 0x80 == 0).map_or(text.len(), |last| last + 1);
        &text[length..]
    }
}

impl Texts {
    pub(super) fn spilling(spill: TextSpill) -> Self {
        Self { spill: Some(spill), ..Self::default() }
    }

    /// Deserializes a list at offset `start` of a map; its texts stay there. Also returns the end offset of the list.
    pub(super) fn read_mapped(map: &Arc<Mapped>, start: usize) -> Result<(Self, usize), postcard::Error> {
        let all = map.get(start..).unwrap_or(&[]);
        let (count, list) = postcard::take_from_bytes::<u64>(all)?;
        let mut ends = Vec::with_capacity(usize::try_from(count).unwrap_or(usize::MAX).min(list.len()));
        let mut rest = list;
        for _ in 0..count {
            (_, rest) = postcard::take_from_bytes::<&str>(rest)?;
            ends.push((list.len() - rest.len()) as u64);
        }
        let first = start + (all.len() - list.len());
        let bytes = first..first + (list.len() - rest.len());
        let end = bytes.end;
        let mapped = MappedTexts { map: Arc::clone(map), bytes, has_lengths: true };
        Ok((Self { mapped: Some(mapped), letters: String::new(), ends, spill: None }, end))
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn push(&mut self, text: &str) {
        self.letters.push_str(text);
        self.ends.push((self.mapped_bytes() + self.letters.len()) as u64);
        if self.spill.as_ref().is_some_and(|spill| self.letters.len() > spill.held_bytes_max) {
            self.spill();
        }
    }

    /// Returns a text; empty for an index that does not exist.
    pub(super) fn get(&self, index: StrIdx) -> &str {
        let Some(range) = self.range(index) else { return "" };
        match &self.mapped {
            Some(mapped) if range.end <= mapped.bytes.len() => str::from_utf8(mapped.letters(range)).unwrap_or(""),
            _ => {
                let before = self.mapped_bytes();
                self.letters.get(range.start - before..range.end - before).unwrap_or("")
            }
        }
    }

    /// Returns the bytes of a text, without checking that they are UTF-8.
    pub(super) fn bytes(&self, index: StrIdx) -> &[u8] {
        let Some(range) = self.range(index) else { return &[] };
        match &self.mapped {
            Some(mapped) if range.end <= mapped.bytes.len() => mapped.letters(range),
            _ => {
                let before = self.mapped_bytes();
                self.letters.as_bytes().get(range.start - before..range.end - before).unwrap_or(&[])
            }
        }
    }

    /// Returns the range of a text in the mapped bytes followed by `letters`.
    fn range(&self, index: StrIdx) -> Option<Range<usize>> {
        let index = index.0 as usize;
        let end = *self.ends.get(index)? as usize;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        Some(start..end)
    }

    fn mapped_bytes(&self) -> usize {
        self.mapped.as_ref().map_or(0, |mapped| mapped.bytes.len())
    }

    /// Moves the text in memory to the file. If the disk is full, it stays in memory, as does all later text.
    fn spill(&mut self) {
        let length = self.mapped_bytes();
        let Some(mut spill) = self.spill.take() else { return };
        if let Ok(mapped) = spill.append(&self.letters, length) {
            self.letters.clear();
            (self.mapped, self.spill) = (Some(mapped), Some(spill));
        }
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        (0..).take(self.len()).map(|index| self.get(StrIdx(index)))
    }
}

/// A clone has no spill file: texts added to it stay in memory.
impl Clone for Texts {
    fn clone(&self) -> Self {
        let (mapped, letters) = (self.mapped.clone(), self.letters.clone());
        Self { mapped, letters, ends: self.ends.clone(), spill: None }
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

/// Deserializes one text and appends it.
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
    use crate::base::disk::SystemDisk;
    use crate::base::disk::tests::FullAfter;

    proptest! {
        #[test]
        fn texts_come_back_by_index_also_after_they_were_written(
            expected in proptest::collection::vec(".{0,12}", 0..40),
        ) {
            let mut texts = Texts::default();
            expected.iter().for_each(|text| texts.push(text));
            let bytes = postcard::to_stdvec(&texts).unwrap();
            prop_assert_eq!(&bytes, &postcard::to_stdvec(&expected).unwrap(), "as a plain list of texts");
            let back: Texts = postcard::from_bytes(&bytes).unwrap();
            prop_assert!(back.iter().eq(texts.iter()));
            for (index, text) in (0..).zip(&expected) {
                prop_assert_eq!(back.get(StrIdx(index)), text);
            }
            prop_assert_eq!(back.get(StrIdx(expected.len() as u32)), "");
        }
    }

    proptest! {
        #[test]
        fn texts_in_files_are_those_in_memory(
            expected in proptest::collection::vec(prop_oneof![".{0,12}", "a{120,140}"], 0..60),
            more in proptest::collection::vec(".{0,12}", 0..10),
            held_bytes_max in 0usize..300,
            before in 0usize..20,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let spill = TextSpill::new(folder.path(), Arc::new(SystemDisk), held_bytes_max);
            let mut spilled = Texts::spilling(spill);
            expected.iter().for_each(|text| spilled.push(text));
            prop_assert!(spilled.letters.len() <= held_bytes_max);
            let written = postcard::to_stdvec(&spilled).unwrap();
            prop_assert_eq!(&written, &postcard::to_stdvec(&expected).unwrap());

            let path = folder.path().join("texts");
            std::fs::write(&path, [&vec![b'x'; before], &*written, b"rest"].concat()).unwrap();
            let map = Arc::new(Mapped::from_store(&File::open(&path).unwrap(), &path).unwrap());
            let (mut mapped, end) = Texts::read_mapped(&map, before).unwrap();
            prop_assert_eq!(end, before + written.len());
            prop_assert!(mapped.letters.is_empty());
            // Both continue, in memory and in the file.
            for text in &more {
                spilled.push(text);
                mapped.push(text);
            }
            for texts in [&spilled, &mapped, &spilled.clone()] {
                prop_assert!(texts.iter().eq(expected.iter().chain(&more)));
                let mut indices = (0..).map(StrIdx).take(texts.len());
                prop_assert!(indices.all(|index| texts.bytes(index) == texts.get(index).as_bytes()));
                prop_assert_eq!(texts.get(StrIdx(texts.len() as u32)), "");
            }
        }
    }

    #[test]
    fn a_list_that_is_cut_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("texts");
        let written = postcard::to_stdvec(&["first", "second"]).unwrap();
        for length in 1..written.len() {
            std::fs::write(&path, &written[..length]).unwrap();
            let map = Arc::new(Mapped::from_store(&File::open(&path).unwrap(), &path).unwrap());
            assert!(Texts::read_mapped(&map, 0).is_err(), "{length}");
        }
    }

    #[test]
    fn letters_that_cannot_be_written_stay_in_memory() {
        let spill = TextSpill::new(Path::new("."), Arc::new(FullAfter::new(0)), 4);
        let mut texts = Texts::spilling(spill);
        ["first", "second"].iter().for_each(|text| texts.push(text));
        assert_eq!((texts.get(StrIdx(0)), texts.get(StrIdx(1))), ("first", "second"));
    }
}

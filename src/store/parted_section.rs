//! A large section in parts with a checksum each: a part is checked when it is first read. Opening a store then reads
//! the checksums, 0.02 % of the section. The alternative, one checksum, reads all of it.
//!
//! | part | bytes |
//! |---|---|
//! | data | any number, in parts of [`PART_BYTES`]; the last may be shorter |
//! | checksums | 8 per part: its xxh3-64 |

use std::ops::Range;

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::verified::Verified;
use crate::base::mapped::Mapped;

/// 1,024 buckets of a pyramid: a view of 4,096 buckets reads four parts of each lane. Signatures of 256 extents.
pub(super) const PART_BYTES: usize = 32 << 10;

const SUM_BYTES: usize = size_of::<u64>();

/// A section in the map of a store.
#[derive(Debug)]
pub(super) struct PartedSection {
    /// The position of the section in the map.
    range: Range<usize>,
    parts: Verified,
}

impl PartedSection {
    /// Starts with all parts unchecked.
    #[must_use]
    pub(super) fn new(range: Range<usize>) -> Self {
        let parts = Verified::new(part_count(&range));
        Self { range, parts }
    }

    /// Returns the position of the data in the map.
    #[must_use]
    pub(super) fn data(&self) -> Range<usize> {
        self.range.start..self.sums().start
    }

    /// Returns the position of the checksums in the map.
    #[must_use]
    pub(super) fn sums(&self) -> Range<usize> {
        Self::sums_of(self.range.clone())
    }

    /// Returns the position of the checksums of a section.
    #[must_use]
    pub(super) fn sums_of(range: Range<usize>) -> Range<usize> {
        range.end.saturating_sub(part_count(&range) * SUM_BYTES).max(range.start)..range.end
    }

    /// Returns whether all parts that a range of the data touches are intact. Reads those that were not read yet.
    #[must_use]
    pub(super) fn is_intact(&self, map: &Mapped, bytes: Range<usize>) -> bool {
        let mut parts = bytes.start / PART_BYTES..bytes.end.div_ceil(PART_BYTES);
        bytes.is_empty() || parts.all(|part| self.parts.is_intact(part, || self.check(map, part)))
    }

    fn check(&self, map: &Mapped, part: usize) -> bool {
        self.parts.parts_to_fetch(part).filter_map(|part| self.part(map, part)).for_each(|bytes| map.fetch(bytes));
        let at = self.sums().start + part * SUM_BYTES;
        let sum = map.get(at..).and_then(|sums| sums.first_chunk()).map(|sum| u64::from_le_bytes(*sum));
        self.part(map, part).is_some_and(|bytes| map.check_copy(bytes, |bytes| Some(xxh3_64(bytes)) == sum))
    }

    /// Returns the bytes of a part, unchecked; `None` if there is no such part.
    fn part<'a>(&self, map: &'a Mapped, part: usize) -> Option<&'a [u8]> {
        map.get(self.data())?.chunks(PART_BYTES).nth(part)
    }

    /// Reads all parts that were not read yet.
    pub(super) fn verify_all(&self, map: &Mapped) {
        let Range { start, end } = self.data();
        // Every part is read, even after a damaged one.
        for at in (0..end - start).step_by(PART_BYTES) {
            let _ = self.is_intact(map, at..at + 1);
        }
    }

    /// Returns the number of parts found damaged.
    #[must_use]
    pub(super) fn damaged(&self) -> u64 {
        self.parts.damaged()
    }
}

/// Returns the number of parts of a section that has this length with their checksums.
fn part_count(range: &Range<usize>) -> usize {
    range.len().div_ceil(PART_BYTES + SUM_BYTES)
}

/// Computes the checksums of a section that is written piece by piece.
#[derive(Default)]
pub(super) struct PartSums {
    sums: Vec<u64>,
    sum: Box<Xxh3>,
    /// Bytes of the current part.
    bytes: usize,
}

impl PartSums {
    pub(super) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (piece, rest) = bytes.split_at(bytes.len().min(PART_BYTES - self.bytes));
            self.sum.update(piece);
            self.bytes += piece.len();
            if self.bytes == PART_BYTES {
                self.end_part();
            }
            bytes = rest;
        }
    }

    fn end_part(&mut self) {
        self.sums.push(self.sum.digest());
        self.sum.reset();
        self.bytes = 0;
    }

    /// Returns the checksums, one per part.
    #[must_use]
    pub(super) fn finish(mut self) -> Vec<u64> {
        if self.bytes > 0 {
            self.end_part();
        }
        self.sums
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::Path;

    use super::*;

    /// Returns a map of a section with these bytes, after eight others.
    fn mapped(data: &[u8], sums: &[u64]) -> (Mapped, PartedSection) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[&[9; 8], data, bytemuck::cast_slice(sums)].concat()).unwrap();
        let map = Mapped::from_store(&file, Path::new("test")).unwrap();
        let end = map.len();
        (map, PartedSection::new(8..end))
    }

    fn bytes(count: usize) -> Vec<u8> {
        (0..count).map(|index| (index * 7 + index / 251) as u8).collect()
    }

    #[test]
    fn the_checksums_are_those_of_the_parts_however_the_section_is_written() {
        for count in [0, 8, PART_BYTES - 8, PART_BYTES, PART_BYTES + 8, 3 * PART_BYTES, 3 * PART_BYTES + 800] {
            let data = bytes(count);
            let expected: Vec<u64> = data.chunks(PART_BYTES).map(xxh3_64).collect();
            for piece in [8, 1000, PART_BYTES, count.max(1)] {
                let mut sums = PartSums::default();
                data.chunks(piece).for_each(|bytes| sums.update(bytes));
                assert_eq!(sums.finish(), expected, "{count} bytes in pieces of {piece}");
            }
            let (map, section) = mapped(&data, &expected);
            assert_eq!((section.data(), section.sums().len()), (8..8 + count, expected.len() * SUM_BYTES));
            section.verify_all(&map);
            assert_eq!((section.damaged(), section.is_intact(&map, 0..count)), (0, true));
        }
    }

    #[test]
    fn only_the_parts_that_are_read_are_fetched_and_only_damaged_ones_are_rejected() {
        let mut data = bytes(5 * PART_BYTES + 80);
        let sums: Vec<u64> = data.chunks(PART_BYTES).map(xxh3_64).collect();
        data[2 * PART_BYTES + 5] ^= 1;
        let (map, section) = mapped(&data, &sums);
        assert!(section.is_intact(&map, 100..PART_BYTES) && section.is_intact(&map, 0..1));
        assert_eq!(map.fetched(), PART_BYTES as u64);
        assert!(section.is_intact(&map, 5 * PART_BYTES..5 * PART_BYTES + 80));
        assert_eq!(map.fetched(), PART_BYTES as u64 + 80);
        assert!(
            section.is_intact(&map, 0..2 * PART_BYTES)
                && section.is_intact(&map, 2 * PART_BYTES + 9..2 * PART_BYTES + 9)
        );
        assert!(!section.is_intact(&map, 0..2 * PART_BYTES + 1) && !section.is_intact(&map, 0..5 * PART_BYTES));
        assert!(!section.is_intact(&map, 5 * PART_BYTES..7 * PART_BYTES), "beyond the end");
        section.verify_all(&map);
        assert_eq!(section.damaged(), 1);
        assert!(section.is_intact(&map, 3 * PART_BYTES..5 * PART_BYTES + 80));
    }
}

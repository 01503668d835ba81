//! A bit set of the names in an extent, so that a search skips extents without reading them.
//!
//! Bit `name % bits` is set for each name, so the signature of a full extent is exact for up to 1,024 names. Smaller
//! extents have fewer bits, a quarter of a bit per row, and the smallest have none: reading them is as fast. In total
//! 0.03 bytes per row.

use crate::model::NameIdx;

/// Words of a full extent's signature.
pub(crate) const WORDS_MAX: usize = 16;

/// Rows of a full extent.
pub(crate) const ROWS_MAX: u64 = ROWS_PER_BIT as u64 * u64::BITS as u64 * WORDS_MAX as u64;

/// Rows per bit, so that even rows with all different names leave bits unset.
const ROWS_PER_BIT: u32 = 4;

/// Returns the signature words of an extent with `rows` rows: a power of two, or 0.
#[must_use]
pub(crate) fn words(rows: u32) -> usize {
    match (rows / (ROWS_PER_BIT * u64::BITS)) as usize {
        0 => 0,
        words => (1 << words.ilog2()).min(WORDS_MAX),
    }
}

/// A set of names at full signature size; smaller signatures are folded from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct NameSignature([u64; WORDS_MAX]);

impl NameSignature {
    pub(crate) fn add(&mut self, name: NameIdx) {
        let bit = name.index() % (WORDS_MAX * 64);
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    /// Folds the signature to `words` words, a power of two.
    pub(crate) fn folded(&self, words: usize) -> impl Iterator<Item = u64> + '_ {
        let folded_word = move |word: usize| self.0.iter().skip(word).step_by(words).fold(0, |bits, more| bits | more);
        (0..words).map(folded_word)
    }

    /// Returns whether an extent with these words may hold one of the names. An extent without words may hold any.
    #[must_use]
    pub(crate) fn may_meet(&self, extent: &[u64]) -> bool {
        extent.is_empty()
            || self.folded(extent.len()).zip(extent).any(|(wanted, extent_word)| wanted & extent_word != 0)
    }
}

impl FromIterator<NameIdx> for NameSignature {
    fn from_iter<T: IntoIterator<Item = NameIdx>>(names: T) -> Self {
        let mut signature = Self::default();
        names.into_iter().for_each(|name| signature.add(name));
        signature
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_signature_never_excludes_a_name_of_its_extent(
            names in proptest::collection::vec(0u32..5000, 1..50),
            others in proptest::collection::vec(0u32..5000, 0..5),
            rows in 0u32..5000,
        ) {
            let signature: NameSignature = names.iter().copied().map(NameIdx).collect();
            let held: Vec<u64> = signature.folded(words(rows)).collect();
            for &name in &names {
                let wanted: NameSignature = others.iter().copied().chain([name]).map(NameIdx).collect();
                prop_assert!(wanted.may_meet(&held));
            }
            let bits = held.len() as u32 * 64;
            let apart = |name: &u32| bits > 0 && names.iter().all(|held| held % bits != name % bits);
            let wanted: NameSignature = others.iter().copied().filter(apart).map(NameIdx).collect();
            prop_assert!(bits == 0 || !wanted.may_meet(&held));
        }
    }

    #[test]
    fn small_extents_have_no_signature_and_large_ones_no_more_than_a_full_one() {
        assert_eq!([0, 64, 255, 256, 1000, 4096, u32::MAX].map(words), [0, 0, 0, 1, 2, 16, 16]);
    }
}

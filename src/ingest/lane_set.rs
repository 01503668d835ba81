//! Bit sets of lanes. Their size grows with the highest lane, up to 65,536 lanes.

use super::steps;

/// A bit set of lanes with summary bits, so that a search skips 64 words at a time. No operation reads more than 18
/// words.
#[derive(Debug, Clone, Default)]
pub(super) struct LaneSet {
    words: Vec<u64>,
    /// One bit per word, set if the word is not empty.
    used: Vec<u64>,
    /// One bit per word, set if the word is full.
    full: Vec<u64>,
}

const WORD: usize = u64::BITS as usize;

impl LaneSet {
    pub(super) fn insert(&mut self, lane: u16) {
        let (word, bit) = split(lane.into());
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
            self.used.resize(word / WORD + 1, 0);
            self.full.resize(word / WORD + 1, 0);
        }
        self.words[word] |= 1 << bit;
        self.summarize(word);
    }

    pub(super) fn remove(&mut self, lane: u16) {
        let (word, bit) = split(lane.into());
        if let Some(lanes) = self.words.get_mut(word) {
            *lanes &= !(1 << bit);
            self.summarize(word);
        }
    }

    pub(super) fn last(&self) -> Option<u16> {
        let group = self.used.iter().rposition(|&words| {
            steps::add(1);
            words != 0
        })?;
        let word = group * WORD + last_bit(self.used[group]);
        Some((word * WORD + last_bit(self.words[word])) as u16)
    }

    /// Returns the first lane from `lane` on that is not in the set.
    pub(super) fn first_free(&self, lane: u16) -> Option<u16> {
        let (word, bit) = split(lane.into());
        steps::add(1);
        let free = !self.words.get(word).unwrap_or(&0) & (u64::MAX << bit);
        if free != 0 {
            return Some((word * WORD + free.trailing_zeros() as usize) as u16);
        }
        let (first_group, bit) = split(word + 1);
        let mut mask = u64::MAX << bit;
        for group in first_group..self.full.len() {
            steps::add(1);
            let open = !self.full[group] & mask;
            if open != 0 {
                return self.first_of_word(group * WORD + open.trailing_zeros() as usize);
            }
            mask = u64::MAX;
        }
        self.first_of_word((self.full.len() * WORD).max(word + 1))
    }

    fn first_of_word(&self, word: usize) -> Option<u16> {
        let free = !self.words.get(word).unwrap_or(&0);
        u16::try_from(word * WORD + free.trailing_zeros() as usize).ok()
    }

    fn summarize(&mut self, word: usize) {
        let (group, bit) = split(word);
        let lanes = self.words[word];
        let with = |words: u64, is_set: bool| (words & !(1 << bit)) | (u64::from(is_set) << bit);
        self.used[group] = with(self.used[group], lanes != 0);
        self.full[group] = with(self.full[group], lanes == u64::MAX);
    }
}

fn split(position: usize) -> (usize, usize) {
    (position / WORD, position % WORD)
}

fn last_bit(word: u64) -> usize {
    WORD - 1 - word.leading_zeros() as usize
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn lane() -> impl Strategy<Value = u16> {
        prop_oneof![0u16..200, 4000u16..4200, 65_400..=u16::MAX]
    }

    proptest! {
        #[test]
        fn a_set_of_lanes_answers_as_a_tree_does(
            steps in proptest::collection::vec((lane(), any::<bool>()), 0..400),
            runs in proptest::collection::vec((lane(), 0u16..300), 0..4),
        ) {
            let (mut set, mut oracle) = (LaneSet::default(), BTreeSet::new());
            let run = |(first, count): (u16, u16)| (first..=first.saturating_add(count)).map(|lane| (lane, true));
            for (lane, is_in) in runs.into_iter().flat_map(run).chain(steps) {
                if is_in {
                    set.insert(lane);
                    oracle.insert(lane);
                } else {
                    set.remove(lane);
                    oracle.remove(&lane);
                }
                prop_assert_eq!(set.last(), oracle.last().copied());
                for from in [lane, 0, u16::MAX] {
                    let free = (from..=u16::MAX).find(|lane| !oracle.contains(lane));
                    prop_assert_eq!(set.first_free(from), free);
                }
            }
        }
    }

    #[test]
    fn a_full_set_has_no_free_lane_and_finds_that_out_at_once() {
        let mut set = LaneSet::default();
        (0..=u16::MAX).for_each(|lane| set.insert(lane));
        assert_eq!((set.first_free(0), set.last()), (None, Some(u16::MAX)));
        assert!(steps::count(|| assert_eq!(set.first_free(0), None)) <= 18);
        set.remove(u16::MAX);
        assert_eq!(set.first_free(0), Some(u16::MAX));
    }
}

//! Sets of lanes, and the last end in a range of lanes. Both grow with the highest lane, up to 65,536 of them.

use super::steps;

/// Lanes as bits, with a summary that a search takes 64 words at a time: no question looks at more than 18 words.
#[derive(Debug, Default)]
pub(super) struct LaneSet {
    words: Vec<u64>,
    /// A bit for each word that holds a lane.
    used: Vec<u64>,
    /// A bit for each word that holds all its lanes.
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

    /// The highest lane.
    pub(super) fn last(&self) -> Option<u16> {
        let group = self.used.iter().rposition(|&words| {
            steps::add(1);
            words != 0
        })?;
        let word = group * WORD + last_bit(self.used[group]);
        Some((word * WORD + last_bit(self.words[word])) as u16)
    }

    /// The first lane from `lane` on that is not in the set.
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

/// A segment tree of ends by lane; a lane without an end has the first moment of time.
#[derive(Debug, Default)]
pub(super) struct EndTree {
    /// Node `k` has the children `2 k` and `2 k + 1`; the leaves are the second half.
    nodes: Vec<i64>,
}

impl EndTree {
    const LANES_MIN: usize = 64;

    /// Notes the end of the span in `lane`.
    pub(super) fn set(&mut self, lane: u16, end_ns: i64) {
        let lane = usize::from(lane);
        if self.lanes() <= lane {
            self.grow((lane + 1).next_power_of_two().max(Self::LANES_MIN));
        }
        let mut node = self.lanes() + lane;
        self.nodes[node] = end_ns;
        while node > 1 {
            steps::add(1);
            node /= 2;
            let last_ns = self.nodes[2 * node].max(self.nodes[2 * node + 1]);
            if self.nodes[node] == last_ns {
                return;
            }
            self.nodes[node] = last_ns;
        }
    }

    /// Forgets the end of the span in `lane`.
    pub(super) fn clear(&mut self, lane: u16) {
        if usize::from(lane) < self.lanes() {
            self.set(lane, i64::MIN);
        }
    }

    /// The highest lane that ends at `end_ns` or later.
    pub(super) fn last_at_least(&self, end_ns: i64) -> Option<u16> {
        if *self.nodes.get(1)? < end_ns {
            return None;
        }
        let mut node = 1;
        while node < self.lanes() {
            steps::add(1);
            node = 2 * node + usize::from(self.nodes[2 * node + 1] >= end_ns);
        }
        Some((node - self.lanes()) as u16)
    }

    fn lanes(&self) -> usize {
        self.nodes.len() / 2
    }

    fn grow(&mut self, lanes: usize) {
        let leaves = self.nodes.split_off(self.lanes());
        self.nodes = vec![i64::MIN; 2 * lanes];
        self.nodes[lanes..lanes + leaves.len()].copy_from_slice(&leaves);
        for node in (1..lanes).rev() {
            steps::add(1);
            self.nodes[node] = self.nodes[2 * node].max(self.nodes[2 * node + 1]);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn lane() -> impl Strategy<Value = u16> {
        prop_oneof![0u16..200, 4000u16..4200, 65_400..=u16::MAX]
    }

    proptest! {
        #[test]
        fn a_set_and_a_tree_of_lanes_answer_as_a_map_does(
            steps in proptest::collection::vec((lane(), any::<bool>(), -9i64..9), 0..400),
            runs in proptest::collection::vec((lane(), 0u16..300), 0..4),
        ) {
            let (mut set, mut tree, mut map) = (LaneSet::default(), EndTree::default(), BTreeMap::new());
            let run = |(first, count): (u16, u16)| (first..=first.saturating_add(count)).map(|lane| (lane, true, 0));
            for (lane, is_in, end_ns) in runs.into_iter().flat_map(run).chain(steps) {
                if is_in {
                    set.insert(lane);
                    tree.set(lane, end_ns);
                    map.insert(lane, end_ns);
                } else {
                    set.remove(lane);
                    tree.clear(lane);
                    map.remove(&lane);
                }
                prop_assert_eq!(set.last(), map.keys().next_back().copied());
                for from in [lane, 0, u16::MAX] {
                    let free = (from..=u16::MAX).find(|lane| !map.contains_key(lane));
                    prop_assert_eq!(set.first_free(from), free);
                }
                let last = map.iter().rev().find(|(_, end)| **end >= end_ns).map(|(&lane, _)| lane);
                prop_assert_eq!(tree.last_at_least(end_ns), last);
            }
        }
    }

    #[test]
    fn a_full_set_has_no_free_lane_and_finds_that_out_at_once() {
        let mut set = LaneSet::default();
        (0..=u16::MAX).for_each(|lane| set.insert(lane));
        assert_eq!((set.first_free(0), set.last()), (None, Some(u16::MAX)));
        assert!(steps::of(|| assert_eq!(set.first_free(0), None)) <= 18);
        set.remove(u16::MAX);
        assert_eq!(set.first_free(0), Some(u16::MAX));
    }
}

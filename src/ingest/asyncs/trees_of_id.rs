//! The open trees of one async id, by process. Nearly always one process has a tree, and a scan of a few is fastest. If
//! many processes share the id, a scan per event would be quadratic, so their trees are hashed.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::ingest::steps;
use crate::model::ProcessIdx;

/// Maximum number of trees to scan, and of other processes to consider.
const FEW: usize = 8;

/// The open trees of one async id.
#[derive(Debug)]
pub(super) enum TreesOfId<T> {
    /// In the order in which they were opened.
    Few(SmallVec<[(ProcessIdx, T); 1]>),
    Many(Box<HashedTrees<T>>),
}

/// Open trees, hashed by process.
#[derive(Debug)]
pub(super) struct HashedTrees<T> {
    /// Each with its number in `opened`.
    trees: FxHashMap<ProcessIdx, (u64, T)>,
    /// The processes in the order in which they opened their trees.
    opened: BTreeMap<u64, ProcessIdx>,
}

impl<T> Default for TreesOfId<T> {
    fn default() -> Self {
        Self::Few(SmallVec::new())
    }
}

impl<T> TreesOfId<T> {
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Few(trees) => trees.is_empty(),
            Self::Many(hashed) => hashed.trees.is_empty(),
        }
    }

    /// Returns the tree of a process.
    #[inline]
    pub(super) fn get(&self, process: ProcessIdx) -> Option<&T> {
        match self {
            Self::Few(trees) => trees.iter().find(|(other, _)| is_same(*other, process)).map(|(_, tree)| tree),
            Self::Many(hashed) => hashed.trees.get(&process).map(|(_, tree)| tree),
        }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, process: ProcessIdx) -> Option<&mut T> {
        match self {
            Self::Few(trees) => trees.iter_mut().find(|(other, _)| is_same(*other, process)).map(|(_, tree)| tree),
            Self::Many(hashed) => hashed.trees.get_mut(&process).map(|(_, tree)| tree),
        }
    }

    /// Adds the tree of a process that has none.
    pub(super) fn push(&mut self, process: ProcessIdx, tree: T) {
        if let Self::Few(trees) = self
            && trees.len() >= FEW
        {
            let mut hashed = HashedTrees { trees: FxHashMap::default(), opened: BTreeMap::new() };
            trees.drain(..).for_each(|(process, tree)| hashed.push(process, tree));
            *self = Self::Many(Box::new(hashed));
        }
        match self {
            Self::Few(trees) => trees.push((process, tree)),
            Self::Many(hashed) => hashed.push(process, tree),
        }
    }

    /// Removes the tree of a process.
    pub(super) fn remove(&mut self, process: ProcessIdx) -> Option<T> {
        match self {
            Self::Few(trees) => {
                let position = trees.iter().position(|(other, _)| is_same(*other, process))?;
                let (_, tree) = trees.remove(position);
                Some(tree)
            }
            Self::Many(hashed) => {
                let (number, tree) = hashed.trees.remove(&process)?;
                hashed.opened.remove(&number);
                Some(tree)
            }
        }
    }

    /// Iterates over the other processes that opened a tree, the latest first.
    pub(super) fn last_others(&self, process: ProcessIdx) -> impl Iterator<Item = ProcessIdx> {
        let (few, hashed) = match self {
            Self::Few(trees) => (Some(trees), None),
            Self::Many(hashed) => (None, Some(hashed)),
        };
        let few = few.into_iter().flatten().rev().map(|(other, _)| other);
        let hashed = hashed.into_iter().flat_map(|hashed| hashed.opened.values().rev());
        few.chain(hashed).copied().filter(move |other| !is_same(*other, process)).take(FEW)
    }
}

impl<T> HashedTrees<T> {
    fn push(&mut self, process: ProcessIdx, tree: T) {
        let number = self.opened.last_key_value().map_or(0, |(last, _)| last + 1);
        self.opened.insert(number, process);
        self.trees.insert(process, (number, tree));
    }
}

fn is_same(one: ProcessIdx, other: ProcessIdx) -> bool {
    steps::add(1);
    one == other
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn trees_are_those_of_a_list(changes in proptest::collection::vec((0u32..14, 0u8..3), 0..200)) {
            let (mut trees, mut oracle) = (TreesOfId::default(), Vec::<(ProcessIdx, u32)>::new());
            for (number, (process, change)) in (0u32..).zip(changes) {
                let process = ProcessIdx(process);
                let position = oracle.iter().position(|&(other, _)| other == process);
                match position {
                    Some(position) if change == 0 => {
                        let (_, tree) = oracle.remove(position);
                        prop_assert_eq!(trees.remove(process), Some(tree));
                    }
                    None if change == 0 => prop_assert_eq!(trees.remove(process), None),
                    Some(_) => {}
                    None => {
                        trees.push(process, number);
                        oracle.push((process, number));
                    }
                }
                let tree = oracle.iter().find(|&&(other, _)| other == process).map(|&(_, tree)| tree);
                prop_assert_eq!(trees.get(process).copied(), tree);
                prop_assert_eq!(trees.get_mut(process).copied(), tree);
                prop_assert_eq!(trees.is_empty(), oracle.is_empty());
                let others = oracle.iter().rev().map(|&(other, _)| other).filter(|&other| other != process);
                prop_assert_eq!(trees.last_others(process).collect::<Vec<_>>(), others.take(FEW).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn work_per_tree_does_not_grow_with_the_processes_that_share_an_id() {
        let (mut trees, count) = (TreesOfId::default(), 10_000);
        let steps = steps::count(|| {
            (0..count).for_each(|process| trees.push(ProcessIdx(process), process));
            for process in (0..count).map(ProcessIdx) {
                assert_eq!(trees.get_mut(process).copied(), Some(process.0));
                assert!(trees.last_others(process).count() <= FEW);
                assert_eq!(trees.remove(process), Some(process.0));
            }
        });
        assert!(trees.is_empty());
        assert!(steps <= 10 * u64::from(count), "{steps} steps");
    }
}

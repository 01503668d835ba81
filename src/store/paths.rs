//! Call paths of spans, each with one index, and sums by path over one range of time. Sums of disjoint ranges and of
//! different tracks are additive, so a ledger stores them for slices of time.
//!
//! The time of a path is the time of its spans, clipped to the range. It includes the time of children, which have sums
//! of their own.

use std::hash::BuildHasher as _;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};

use super::ledger::{NodeItem, NodeKey};
use super::sums::Additive;
use crate::model::NameIdx;

/// Index into a [`PathTable`], in which parents are before their children.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct PathIdx(pub(crate) u32);

impl PathIdx {
    /// The root of all paths, which has no name.
    pub(crate) const ROOT: Self = Self(0);

    /// Converts to an array index.
    #[must_use]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl NodeKey for PathIdx {
    fn number(self) -> u32 {
        self.0
    }

    fn from_number(number: u32) -> Self {
        Self(number)
    }
}

/// A path: its parent and its innermost name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PathRow {
    /// Always an earlier row; the root is its own parent.
    pub(crate) parent: PathIdx,
    pub(crate) name: NameIdx,
}

/// Paths by parent and name.
#[derive(Debug, Clone)]
pub(crate) struct PathTable {
    /// The root first, parents before children.
    rows: Vec<PathRow>,
    /// Hash table of `rows`. It has the indices only, so more of it fits the cache than of a map with rows as keys.
    index: HashTable<PathIdx>,
    max: usize,
}

impl PathTable {
    /// Maximum bytes per path of a growing table: its row, and a half-full hash table.
    pub(crate) const ROW_BYTES: usize = 2 * size_of::<PathRow>() + 2 * (size_of::<PathIdx>() + 1);

    /// Creates a table with the root, for at most `max` paths including it.
    #[must_use]
    pub(crate) fn new(max: usize) -> Self {
        let root = PathRow { parent: PathIdx::ROOT, name: NameIdx::EMPTY };
        // Path indices have 32 bits.
        Self { rows: vec![root], index: HashTable::new(), max: max.clamp(1, u32::MAX as usize) }
    }

    /// Returns all paths, the root first, parents before children.
    #[must_use]
    pub(crate) fn rows(&self) -> &[PathRow] {
        &self.rows
    }

    /// Removes all paths but the root, and keeps the memory.
    fn clear(&mut self) {
        self.rows.truncate(1);
        self.index.clear();
    }

    /// Returns the rows without the hash table.
    #[must_use]
    pub(crate) fn into_rows(self) -> Vec<PathRow> {
        self.rows
    }

    /// Returns the path of a name below `parent`, and adds it if it is new; `None` if the table is full.
    #[inline]
    pub(crate) fn path(&mut self, parent: PathIdx, name: NameIdx) -> Option<PathIdx> {
        let row = PathRow { parent, name };
        let rows = &self.rows;
        let entry = self.index.entry(row.hash(), |path| rows[path.index()] == row, |path| rows[path.index()].hash());
        match entry {
            Entry::Occupied(path) => Some(*path.get()),
            Entry::Vacant(free) => {
                if self.rows.len() >= self.max {
                    return None;
                }
                let new = PathIdx(self.rows.len() as u32);
                free.insert(new);
                self.rows.push(row);
                Some(new)
            }
        }
    }
}

impl PathRow {
    fn hash(self) -> u64 {
        FxBuildHasher.hash_one(u64::from(self.parent.0) << 32 | u64::from(self.name.0))
    }
}

/// Sums of the spans of one path in one range of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PathSums {
    /// Spans that start in the range.
    pub(crate) starts: u64,
    /// Time of the spans within the range. A span that fails a filter has the time of the passing spans below it.
    pub(crate) total_ns: u128,
}

impl PathSums {
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Additive for PathSums {
    #[inline]
    fn add(&mut self, other: &Self) {
        self.starts += other.starts;
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
    }
}

impl NodeItem for PathSums {
    type Key = PathIdx;

    fn pack(&self, key_step: u32, out: Vec<u8>) -> postcard::Result<Vec<u8>> {
        postcard::to_extend(&(key_step, self.starts, self.total_ns), out)
    }

    fn unpack(bytes: &[u8]) -> Option<(u32, Self, &[u8])> {
        let ((key_step, starts, total_ns), rest) = postcard::take_from_bytes::<(u32, u64, u128)>(bytes).ok()?;
        Some((key_step, Self { starts, total_ns }, rest))
    }
}

/// Sums by path, added row by row.
#[derive(Debug)]
pub(crate) struct PathSumTable {
    paths: PathTable,
    /// Sums of each path of `paths`, at the same index.
    sums: Vec<PathSums>,
    /// Paths with sums, in any order.
    used: Vec<PathIdx>,
    folded: u64,
}

impl PathSumTable {
    /// Maximum bytes per path with sums.
    pub(crate) const ROW_BYTES: usize = PathTable::ROW_BYTES + 2 * (size_of::<PathSums>() + size_of::<PathIdx>());

    /// Creates an empty table for at most `paths_max` paths.
    #[must_use]
    pub(crate) fn new(paths_max: usize) -> Self {
        let paths = PathTable::new(paths_max);
        Self { paths, sums: vec![PathSums::default()], used: Vec::new(), folded: 0 }
    }

    #[must_use]
    pub(crate) fn paths(&self) -> &[PathRow] {
        self.paths.rows()
    }

    #[must_use]
    pub(crate) fn sums(&self) -> &[PathSums] {
        &self.sums
    }

    /// Spans that were added to the parent path because the table was full.
    #[must_use]
    pub(crate) fn folded(&self) -> u64 {
        self.folded
    }

    /// Returns the path of a name below `parent`, or `parent` itself if the table is full. `last` is a guess that saves
    /// the lookup.
    #[inline]
    pub(crate) fn path(&mut self, parent: PathIdx, name: NameIdx, last: PathIdx) -> PathIdx {
        if last != PathIdx::ROOT && self.paths.rows[last.index()] == (PathRow { parent, name }) {
            return last;
        }
        let Some(path) = self.paths.path(parent, name) else {
            self.folded += 1;
            return parent;
        };
        if self.sums.len() <= path.index() {
            self.sums.push(PathSums::default());
        }
        path
    }

    #[inline]
    pub(crate) fn add(&mut self, path: PathIdx, added: PathSums) {
        let sums = &mut self.sums[path.index()];
        if sums.is_empty() && !added.is_empty() {
            self.used.push(path);
        }
        sums.add(&added);
    }

    /// Adds the sums of other paths: `rows` has parents before children, `sums` the sums of each. Subtrees without sums
    /// are skipped.
    pub(crate) fn merge(&mut self, rows: &[PathRow], sums: &[PathSums]) {
        let mut has_sums: Vec<bool> = sums.iter().map(|sums| !sums.is_empty()).collect();
        for (index, row) in rows.iter().enumerate().rev() {
            if has_sums[index] {
                has_sums[row.parent.index()] = true;
            }
        }
        let mut own_paths = vec![PathIdx::ROOT; rows.len()];
        if let Some(of_root) = sums.first() {
            self.add(PathIdx::ROOT, *of_root);
        }
        for (index, row) in rows.iter().enumerate().skip(1).filter(|&(index, _)| has_sums[index]) {
            let above = own_paths[row.parent.index()];
            let path = self.path(above, row.name, PathIdx::ROOT);
            own_paths[index] = path;
            self.add(path, Self::within(path, above, sums[index]));
        }
    }

    /// Adds the sums of another table.
    pub(crate) fn merge_table(&mut self, other: &Self) {
        self.merge(other.paths(), &other.sums);
        self.folded += other.folded;
    }

    /// Returns the sums that count for `path` if its parent spans have the path `above`. A span that counts for its
    /// parent adds no time, which the parent already has.
    #[inline]
    pub(crate) fn within(path: PathIdx, above: PathIdx, sums: PathSums) -> PathSums {
        let has_time = path != above || path == PathIdx::ROOT;
        PathSums { total_ns: if has_time { sums.total_ns } else { 0 }, ..sums }
    }

    /// Removes all paths and sums, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.paths.clear();
        self.sums.clear();
        self.sums.push(PathSums::default());
        self.used.clear();
        self.folded = 0;
    }

    /// Removes and returns all sums, in the order in which they were added first. The paths stay.
    pub(crate) fn drain(&mut self) -> Vec<(PathIdx, PathSums)> {
        let sums = &mut self.sums;
        self.used.drain(..).map(|path| (path, std::mem::take(&mut sums[path.index()]))).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// Returns the sums of a table's paths, keyed by their names.
    fn by_names(table: &PathSumTable) -> BTreeMap<Vec<u32>, PathSums> {
        let names = |mut index: usize| {
            let mut names = Vec::new();
            while index > 0 {
                names.push(table.paths()[index].name.0);
                index = table.paths()[index].parent.index();
            }
            names
        };
        (0..table.paths().len()).map(|index| (names(index), table.sums()[index])).collect()
    }

    fn table(rows: &[(u32, u32, u64)], max: usize) -> PathSumTable {
        let mut table = PathSumTable::new(max);
        for &(parent, name, total_ns) in rows {
            let above = PathIdx(parent % table.paths().len() as u32);
            let path = table.path(above, NameIdx(name), PathIdx::ROOT);
            let sums = PathSums { starts: 1, total_ns: total_ns.into() };
            table.add(path, PathSumTable::within(path, above, sums));
        }
        table
    }

    fn rows() -> impl Strategy<Value = Vec<(u32, u32, u64)>> {
        proptest::collection::vec((0u32..40, 0u32..4, 0u64..9), 0..60)
    }

    proptest! {
        #[test]
        fn merged_tables_have_the_sums_of_both(first in rows(), second in rows()) {
            let (mut merged, other) = (table(&first, 1000), table(&second, 1000));
            let mut expected = by_names(&merged);
            for (path, sums) in by_names(&other) {
                expected.entry(path).or_default().add(&sums);
            }
            merged.merge_table(&other);
            prop_assert_eq!(by_names(&merged), expected);
            let drained = merged.drain();
            prop_assert!(drained.iter().all(|(_, sums)| !sums.is_empty()));
            let paths: std::collections::BTreeSet<_> = drained.iter().map(|&(path, _)| path).collect();
            prop_assert_eq!(paths.len(), drained.len());
            let starts: u64 = drained.iter().map(|(_, sums)| sums.starts).sum();
            prop_assert_eq!(starts, (first.len() + second.len()) as u64);
            prop_assert!(merged.drain().is_empty());
        }

        #[test]
        fn spans_of_too_many_paths_count_for_their_parents(rows in rows(), max in 1usize..20) {
            let table = table(&rows, max);
            prop_assert!(table.paths().len() <= max);
            prop_assert_eq!(table.sums().iter().map(|sums| sums.starts).sum::<u64>(), rows.len() as u64);
        }

        #[test]
        fn packed_sums_of_paths_come_back(key_step in any::<u32>(), starts in any::<u64>(), total_ns in any::<u128>()) {
            let sums = PathSums { starts, total_ns };
            let bytes = sums.pack(key_step, Vec::new()).unwrap();
            prop_assert_eq!(PathSums::unpack(&bytes), Some((key_step, sums, &[][..])));
            prop_assert_eq!(PathSums::unpack(&bytes[..bytes.len() - 1]), None);
        }
    }
}

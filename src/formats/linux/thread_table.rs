//! A table with a row for each thread id. A trace may have a million threads, so the hash table, whose free slots take
//! memory, has only positions. The rows are in a list, whose spare capacity is never touched.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use crate::formats::output::batch::{BatchBuilder, label};
use crate::model::{Id, Loss, Metadata, SourcePos};

/// The name of a thread. The kernel's names have at most 15 bytes, which need no allocation.
pub(super) type TaskName = SmallVec<[u8; 16]>;

/// Length of the part of a name that tables remember.
const TASK_NAME_BYTES_MAX: usize = 128;

/// Limit for the threads of a table; traces have fewer. A thread takes a few hundred bytes in all tables.
pub(super) const THREADS_MAX: usize = 1 << 20;

/// Returns the part of a name that tables remember, so that a rename is noticed. It ends with a whole character.
pub(super) fn short_name(name: &[u8]) -> &[u8] {
    if name.len() <= TASK_NAME_BYTES_MAX {
        return name;
    }
    // At most three bytes follow the first one of a character.
    let begins_character = |&end: &usize| name[end] & 0xc0 != 0x80;
    let end = (TASK_NAME_BYTES_MAX - 3..=TASK_NAME_BYTES_MAX).rev().find(begins_character);
    &name[..end.unwrap_or(TASK_NAME_BYTES_MAX)]
}

/// Adds the kernel's name of a thread, of a limited length.
pub(super) fn push_kernel_name(batch: &mut BatchBuilder, pid: Id, tid: Id, name: &[u8], pos: SourcePos) {
    if name.len() > TASK_NAME_BYTES_MAX {
        batch.lose(Loss::LongText, pos);
    }
    let name = label(short_name(name), pos, batch.losses());
    batch.add_metadata(Metadata::KernelName { pid, tid, name });
}

/// Rows by thread id, which are never removed.
#[derive(Debug)]
pub(super) struct ThreadTable<T> {
    rows: Vec<(i64, T)>,
    positions: HashTable<u32>,
}

impl<T> Default for ThreadTable<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), positions: HashTable::new() }
    }
}

impl<T> ThreadTable<T> {
    /// The number of rows beyond which positions do not fit.
    const COUNT_MAX: usize = u32::MAX as usize;

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn get(&self, tid: i64) -> Option<&T> {
        self.position(tid).map(|position| &self.rows[position].1)
    }

    pub(super) fn get_mut(&mut self, tid: i64) -> Option<&mut T> {
        self.position(tid).map(|position| &mut self.rows[position].1)
    }

    fn position(&self, tid: i64) -> Option<usize> {
        let is_same = |&position: &u32| self.rows[position as usize].0 == tid;
        self.positions.find(hash(tid), is_same).map(|&position| position as usize)
    }

    /// Returns the row of a thread; adds it if the table has fewer than `count_max` rows.
    pub(super) fn get_or_add(&mut self, tid: i64, count_max: usize, new: impl FnOnce() -> T) -> Option<&mut T> {
        let rows = &mut self.rows;
        let is_same = |&position: &u32| rows[position as usize].0 == tid;
        let rehash = |&position: &u32| hash(rows[position as usize].0);
        let position = match self.positions.entry(hash(tid), is_same, rehash) {
            Entry::Occupied(entry) => *entry.get() as usize,
            Entry::Vacant(slot) => {
                if rows.len() >= count_max.min(Self::COUNT_MAX) {
                    return None;
                }
                let position = rows.len();
                slot.insert(position as u32);
                rows.push((tid, new()));
                position
            }
        };
        Some(&mut self.rows[position].1)
    }
}

impl ThreadTable<TaskName> {
    /// Sets the name of a thread. Returns whether it changed. Each name of a thread beyond the limit counts as lost,
    /// also a repeated one.
    pub(super) fn set_name(&mut self, tid: i64, name: &[u8], batch: &mut BatchBuilder, pos: SourcePos) -> bool {
        let name = short_name(name);
        let Some(row) = self.get_or_add(tid, THREADS_MAX, TaskName::new) else {
            batch.lose(Loss::OverLimit, pos);
            return false;
        };
        let has_changed = **row != *name;
        if has_changed {
            *row = name.into();
        }
        has_changed
    }
}

fn hash(tid: i64) -> u64 {
    FxBuildHasher.hash_one(tid)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;
    use crate::formats::ChunkLimits;

    #[test]
    fn a_long_name_ends_with_a_whole_character() {
        for character in ["n", "é", "€", "😀"] {
            for before in TASK_NAME_BYTES_MAX - 4..TASK_NAME_BYTES_MAX {
                let ascii = "n".repeat(before);
                let text = format!("{ascii}{character}{ascii}");
                let expected = &text[..text.floor_char_boundary(TASK_NAME_BYTES_MAX)];
                let mut batch = BatchBuilder::new(ChunkLimits::default());
                push_kernel_name(&mut batch, Id::None, Id::None, text.as_bytes(), SourcePos::Offset(0));
                let [Metadata::KernelName { name, .. }] = &batch.batch().metadata[..] else { panic!("a name") };
                assert_eq!(&**name, expected);
                let losses: Vec<_> = batch.batch().losses.iter().map(|lost| (lost.loss, lost.count)).collect();
                assert_eq!(losses, [(Loss::LongText, 1)], "{character} {before}");
            }
        }
    }

    #[test]
    fn names_beyond_the_limit_of_threads_are_counted() {
        let (mut names, mut batch) = (ThreadTable::<TaskName>::default(), BatchBuilder::new(ChunkLimits::default()));
        let pos = SourcePos::Offset(0);
        let mut set = |tid: usize, name: &[u8]| names.set_name(tid as i64, name, &mut batch, pos);
        assert!((0..THREADS_MAX).all(|tid| set(tid, b"a")));
        assert_eq!([set(0, b"a"), set(0, b"b"), set(THREADS_MAX, b"a")], [false, true, false]);
        let losses: Vec<_> = batch.batch().losses.iter().map(|lost| (lost.loss, lost.count)).collect();
        assert_eq!(losses, [(Loss::OverLimit, 1)]);
    }

    proptest! {
        #[test]
        fn rows_are_those_of_a_map_that_is_full_at_the_limit(
            tids in proptest::collection::vec(-3i64..30, 0..200),
            count_max in 0usize..40,
        ) {
            let (mut table, mut map) = (ThreadTable::default(), HashMap::new());
            for (turn, tid) in tids.into_iter().enumerate() {
                let is_added = map.contains_key(&tid) || map.len() < count_max;
                if let Some(row) = table.get_or_add(tid, count_max, || 0) {
                    prop_assert!(is_added);
                    *row += turn;
                    *map.entry(tid).or_insert(0) += turn;
                } else {
                    prop_assert!(!is_added);
                }
                prop_assert_eq!(table.len(), map.len());
                prop_assert!((-3..30).all(|tid| table.get(tid) == map.get(&tid)));
                prop_assert!((-3..30).all(|tid| table.get_mut(tid) == map.get_mut(&tid)));
            }
        }
    }
}

//! Tables of interned values by iid, and the limit for all of them.

use rustc_hash::FxHashMap;

use crate::base::budget::Budget;
use crate::base::budget_shares::BudgetShare;
use crate::formats::input::lengths::saturating_len;

/// Iids up to this index an array; others use a hash table.
const DENSE_IIDS_MAX: u64 = 4096;

/// Returns whether the value of an iid belongs in an array of this length. A mostly empty array is refused, since one
/// large iid in each of many sequences could fill the memory.
#[inline]
pub(super) fn is_dense(iid: u64, len: usize) -> bool {
    iid < DENSE_IIDS_MAX && iid <= 2 * len as u64 + 64
}

/// A table by iid; writers count iids up from small numbers. A trace may have a hundred thousand sequences with twenty
/// tables each, nearly all of them empty, so an empty table is a pointer.
#[derive(Debug)]
pub(super) struct Interned<T>(Option<Box<InternedRows<T>>>);

/// A value of an interned table. The default replaces a value beyond the limit.
pub(super) trait InternedValue: Default {
    /// Returns the bytes that it takes outside of the table.
    fn heap_bytes(&self) -> usize;
}

impl<T> InternedValue for Box<[T]> {
    fn heap_bytes(&self) -> usize {
        size_of_val(&**self)
    }
}

impl InternedValue for i64 {
    fn heap_bytes(&self) -> usize {
        0
    }
}

/// The memory for the interned entries of all sequences.
#[derive(Debug)]
pub(super) struct InternRoom {
    used: usize,
    bytes_max: usize,
}

impl InternRoom {
    /// Room that a load with a small budget has too; entries of usual traces take a few MiB.
    const BYTES_LEAST: u64 = 32 << 20;

    pub(super) fn new(budget: &Budget) -> Self {
        let bytes_max = BudgetShare::PerfettoTexts.bytes(budget).max(Self::BYTES_LEAST);
        Self { used: 0, bytes_max: saturating_len(bytes_max) }
    }

    #[cfg(test)]
    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// Frees the bytes of a sequence that drops its entries.
    pub(super) fn free(&mut self, bytes: usize) {
        self.used -= bytes;
    }
}

/// Puts the entries of one sequence into the room of all.
pub(super) struct InternCharge<'r> {
    room: &'r mut InternRoom,
    /// Bytes of the sequence.
    bytes: &'r mut usize,
    is_over: bool,
}

impl<'r> InternCharge<'r> {
    /// Bytes of an entry in addition to its row and its value: the overhead of an allocation.
    const ENTRY_BYTES: usize = 32;

    pub(super) fn new(room: &'r mut InternRoom, bytes: &'r mut usize) -> Self {
        Self { room, bytes, is_over: false }
    }

    /// Returns whether an entry was beyond the limit.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Puts a value into a table. Beyond the limit, a new iid is refused. A known iid gets the default, so that no
    /// event gets an earlier value.
    pub(super) fn put<T: InternedValue>(&mut self, table: &mut Interned<T>, iid: u64, value: T) {
        let earlier_bytes = table.get(iid).map(T::heap_bytes);
        let row_bytes = if earlier_bytes.is_some() { 0 } else { Self::ENTRY_BYTES + table.row_bytes(iid) };
        let (used, freed_bytes) = (self.room.used + row_bytes, earlier_bytes.unwrap_or(0));
        let has_room = used + value.heap_bytes() <= self.room.bytes_max + freed_bytes;
        self.is_over |= !has_room;
        if !has_room && earlier_bytes.is_none() {
            return;
        }
        let value = if has_room { value } else { T::default() };
        let added_bytes = row_bytes + value.heap_bytes();
        self.room.used = self.room.used + added_bytes - freed_bytes;
        *self.bytes = *self.bytes + added_bytes - freed_bytes;
        table.put(iid, value);
    }
}

#[derive(Debug)]
struct InternedRows<T> {
    dense: Vec<Option<T>>,
    sparse: FxHashMap<u64, T>,
}

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Default for InternedRows<T> {
    fn default() -> Self {
        Self { dense: Vec::new(), sparse: FxHashMap::default() }
    }
}

impl<T> Interned<T> {
    pub(super) fn get(&self, iid: u64) -> Option<&T> {
        let rows = self.0.as_ref()?;
        match rows.dense.get(usize::try_from(iid).ok()?) {
            Some(Some(value)) => Some(value),
            _ => rows.sparse.get(&iid),
        }
    }

    /// Returns the bytes that a new row takes, with the empty rows before it.
    fn row_bytes(&self, iid: u64) -> usize {
        let dense_len = self.0.as_ref().map_or(0, |rows| rows.dense.len());
        if is_dense(iid, dense_len) {
            (iid as usize + 1).saturating_sub(dense_len) * size_of::<Option<T>>()
        } else {
            // Hash tables are at worst half full.
            2 * size_of::<(u64, T)>()
        }
    }

    fn put(&mut self, iid: u64, value: T) {
        let rows = self.0.get_or_insert_default();
        // A value in the hash table stays there, since only new rows are charged for.
        if !is_dense(iid, rows.dense.len()) || rows.sparse.contains_key(&iid) {
            rows.sparse.insert(iid, value);
            return;
        }
        let row = iid as usize;
        if rows.dense.len() <= row {
            rows.dense.resize_with(row + 1, || None);
        }
        rows.dense[row] = Some(value);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    proptest::proptest! {
        #[test]
        fn the_last_value_of_each_iid_is_found(
            values in proptest::collection::vec((proptest::prop_oneof![0..9u64, 60..300u64, 4000..4200u64], 0..99u8), 0..200),
        ) {
            let (mut table, mut expected) = (Interned::default(), BTreeMap::new());
            for (iid, value) in values {
                table.put(iid, value);
                expected.insert(iid, value);
            }
            for iid in 0..4300 {
                proptest::prop_assert_eq!(table.get(iid), expected.get(&iid));
            }
        }
    }

    #[test]
    fn a_value_in_the_hash_table_stays_there_and_extends_no_array() {
        let mut table = Interned::default();
        table.put(300, 1);
        (0..200).for_each(|iid| table.put(iid, 2));
        table.put(300, 3);
        assert_eq!(table.get(300), Some(&3));
        assert!(table.0.is_some_and(|rows| rows.dense.len() == 200 && rows.sparse.len() == 1));
    }

    #[test]
    fn one_large_iid_takes_no_large_array() {
        let mut table = Interned::default();
        table.put(DENSE_IIDS_MAX - 1, 1);
        assert_eq!(table.0.map(|rows| rows.dense.capacity()), Some(0));
    }
}

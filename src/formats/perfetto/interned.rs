//! A table of interned values by iid.

use rustc_hash::FxHashMap;

/// Iids up to this index an array; others use a hash table.
const DENSE_IIDS_MAX: u64 = 4096;

/// Returns whether the value of an iid belongs in an array of this length. A mostly empty array is refused, since one
/// large iid in each of many sequences could fill the memory.
#[inline]
pub(super) fn is_dense(iid: u64, len: usize) -> bool {
    iid < DENSE_IIDS_MAX && iid <= 2 * len as u64 + 64
}

/// A table by iid; writers count iids up from small numbers. A trace may have a hundred thousand sequences with twenty
/// tables each, nearly all of them empty, so an empty one is a pointer.
#[derive(Debug)]
pub(super) struct Interned<T>(Option<Box<InternedRows<T>>>);

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

    pub(super) fn put(&mut self, iid: u64, value: T) {
        let rows = self.0.get_or_insert_default();
        if !is_dense(iid, rows.dense.len()) {
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
    fn one_large_iid_takes_no_large_array() {
        let mut table = Interned::default();
        table.put(DENSE_IIDS_MAX - 1, 1);
        assert_eq!(table.0.map(|rows| rows.dense.capacity()), Some(0));
    }
}

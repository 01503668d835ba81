//! A table of interned values by iid.

use rustc_hash::FxHashMap;

/// Iids up to this index an array; others use a hash table.
const DENSE_IIDS_MAX: u64 = 4096;

/// A table by iid; writers count iids up from small numbers.
#[derive(Debug)]
pub(super) struct Interned<T> {
    dense: Vec<Option<T>>,
    sparse: FxHashMap<u64, T>,
}

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Self { dense: Vec::new(), sparse: FxHashMap::default() }
    }
}

impl<T> Interned<T> {
    pub(super) fn get(&self, iid: u64) -> Option<&T> {
        match self.dense.get(iid as usize) {
            Some(value) if iid < DENSE_IIDS_MAX => value.as_ref(),
            _ => self.sparse.get(&iid),
        }
    }

    pub(super) fn put(&mut self, iid: u64, value: T) {
        if iid >= DENSE_IIDS_MAX {
            self.sparse.insert(iid, value);
            return;
        }
        let row = iid as usize;
        if self.dense.len() <= row {
            self.dense.resize_with(row + 1, || None);
        }
        self.dense[row] = Some(value);
    }
}

//! Path tables that sweeps borrow, one per thread. A sweep reuses the memory of the previous one. With new tables for
//! each sweep, a native load spent an eighth of its time on growing them.

use std::sync::Mutex;

use super::paths::PathSumTable;

/// Tables for at most `paths_max` paths each.
pub(super) struct PathTables {
    paths_max: usize,
    spare: Mutex<Vec<PathSumTable>>,
}

impl PathTables {
    pub(super) fn new(paths_max: usize) -> Self {
        Self { paths_max, spare: Mutex::default() }
    }

    /// Calls `work` with an empty table.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut PathSumTable) -> T) -> T {
        let spare = self.spare.lock().ok().and_then(|mut spare| spare.pop());
        let mut table = spare.unwrap_or_else(|| PathSumTable::new(self.paths_max));
        let result = work(&mut table);
        table.clear();
        if let Ok(mut spare) = self.spare.lock() {
            spare.push(table);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::NameIdx;
    use crate::store::paths::{PathIdx, PathSums};

    #[test]
    fn a_borrowed_table_has_nothing_of_the_sweep_before() {
        let tables = PathTables::new(3);
        for first in [7, 8, 7] {
            tables.with(|table| {
                assert_eq!((table.paths().len(), table.sums(), table.folded()), (1, &[PathSums::default()][..], 0));
                let sums = PathSums { starts: 1, total_ns: 5 };
                for name in first..first + 3 {
                    let path = table.path(PathIdx::ROOT, NameIdx(name), PathIdx::ROOT);
                    table.add(path, sums);
                }
                assert_eq!((table.paths().len(), table.folded()), (3, 1));
                assert_eq!(table.sums(), [sums, sums, sums]);
                assert_eq!(table.drain().len(), 3);
            });
        }
    }
}

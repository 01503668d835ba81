//! Limits the indices of store tables: lanes, extents and signature words have 32-bit indices. A store that needs more
//! fails with an error, because a saturated index would alias another row.

use std::io;

/// Error of a table with as many rows as its indices can address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the sorted store has {rows} {table}, which is the maximum")]
struct FullTable {
    table: &'static str,
    rows: usize,
}

/// Returns the index of the row after `rows` others of `table`, or an error if 32 bits cannot address it. `u32::MAX` is
/// reserved: it means "no row", or is a row count.
pub(super) fn next_index(rows: usize, table: &'static str) -> io::Result<u32> {
    let index = u32::try_from(rows).ok().filter(|&index| index < u32::MAX);
    index.ok_or_else(|| io::Error::other(FullTable { table, rows }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_table_is_an_error_and_never_the_index_of_another_row() {
        let last = u32::MAX as usize - 1;
        assert_eq!(next_index(last, "lanes").ok(), Some(u32::MAX - 1));
        let error = next_index(last + 1, "lanes").expect_err("full");
        assert_eq!(error.to_string(), "the sorted store has 4294967295 lanes, which is the maximum");
    }
}

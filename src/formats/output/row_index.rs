//! Indices into the tables of a batch.

/// The index of the row after `rows` others, or `None` where an index cannot address that many.
#[must_use]
pub(crate) fn next_row(rows: usize) -> Option<u32> {
    u32::try_from(rows).ok()
}

/// The same where something else bounds the rows far below 2^32. Should that fail, the index is beyond every table, and
/// never that of another row.
#[must_use]
pub(crate) fn bounded_row(rows: usize) -> u32 {
    debug_assert!(u32::try_from(rows).is_ok(), "{rows} rows");
    u32::try_from(rows).unwrap_or(u32::MAX)
}

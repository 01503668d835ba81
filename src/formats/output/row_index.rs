//! Indices into the tables of a batch.

/// Returns the index after `rows` rows, or `None` if an index cannot address that many.
#[must_use]
pub(crate) fn next_row(rows: usize) -> Option<u32> {
    u32::try_from(rows).ok()
}

/// Like [`next_row`], if something else bounds the rows far below 2^32. On overflow, the index is beyond every table,
/// and never the index of another row.
#[must_use]
pub(crate) fn bounded_row(rows: usize) -> u32 {
    debug_assert!(u32::try_from(rows).is_ok(), "{rows} rows");
    u32::try_from(rows).unwrap_or(u32::MAX)
}

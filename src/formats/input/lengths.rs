//! Conversions of lengths.

/// Converts a length in bytes to the machine's width. On 32 bits, a larger one becomes the
/// largest: callers only compare it.
#[must_use]
pub(crate) fn saturating_len(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

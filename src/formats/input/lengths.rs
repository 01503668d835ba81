//! Conversions of byte lengths from 64 bits to `usize`.

/// Converts a byte length to `usize`, saturating on 32-bit machines: callers only compare it.
#[must_use]
pub(crate) fn saturating_len(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

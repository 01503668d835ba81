//! Conversions of lengths.

/// A length in bytes as this machine counts them in memory. On 32 bits, a larger one becomes the largest: it is only
/// compared.
#[must_use]
pub(crate) fn saturating_len(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

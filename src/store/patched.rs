//! Columns of up to 64 values, a few of which are large: all low bits are packed, then the high bits of those few.
//!
//! | bytes | content |
//! |---|---|
//! | [`pack::packed_bytes`] | low bits of all values |
//! | 8 | mask with a bit for each exception, a value with high bits; absent if no value has any |
//! | [`pack::packed_bytes`] | high bits of the exceptions |
//!
//! The next span usually starts soon after the end of the last one, but some gaps last a thousand times longer. Plain
//! bit packing stores all of them with the width of the longest.

use super::pack::{self, FULL};

/// Bytes and bits of the mask.
const MASK_BYTES: usize = 8;
const MASK_BITS: u32 = u64::BITS;

/// An exception must save this many bits more than it takes, because it costs time to decode.
const EXCEPTION_BITS: u32 = 8;

/// The bit widths of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Widths {
    /// Low bits of every value, 0 to 64.
    pub(crate) low: u32,
    /// High bits of exceptions; 0 for a column without exceptions.
    pub(crate) high: u32,
}

impl Widths {
    /// Chooses the widths in which up to 64 `values` take the fewest bits.
    #[must_use]
    pub(crate) fn of_values(values: &[u64]) -> Self {
        let mut counts = [0u8; 65];
        values.iter().for_each(|value| counts[pack::bits(*value) as usize] += 1);
        let largest = pack::width(values);
        let mut best = (values.len() as u32 * largest, largest);
        let mut exceptions = 0;
        for low in (0..largest).rev() {
            exceptions += u32::from(counts[low as usize + 1]);
            let high_bits = MASK_BITS + exceptions * (largest - low + EXCEPTION_BITS);
            let bits = values.len() as u32 * low + high_bits;
            if bits < best.0 {
                best = (bits, low);
            }
        }
        Self { low: best.1, high: largest - best.1 }
    }

    /// Returns the bytes of the column of `count` values at the start of `bytes`.
    #[must_use]
    pub(crate) fn packed_bytes(self, bytes: &[u8], count: usize) -> usize {
        let low_bytes = pack::packed_bytes(count, self.low);
        if self.high == 0 {
            return low_bytes;
        }
        let exceptions = bytes.get(low_bytes..).map_or(0, |rest| mask(rest).count_ones());
        low_bytes + MASK_BYTES + pack::packed_bytes(exceptions as usize, self.high)
    }
}

/// Appends up to 64 `values`, which the widths fit.
pub(crate) fn pack(bytes: &mut Vec<u8>, values: &[u64], Widths { low, high }: Widths) {
    if high == 0 {
        pack::pack(bytes, values, low);
        return;
    }
    let low_max = (1 << low) - 1;
    let mask = values.iter().rev().fold(0, |mask: u64, &value| mask << 1 | u64::from(value > low_max));
    pack::pack(bytes, values, low);
    bytes.extend_from_slice(&mask.to_le_bytes());
    let (mut high_bits, mut exceptions, mut rest) = ([0; FULL], 0, mask);
    while rest != 0 {
        high_bits[exceptions % FULL] = values[rest.trailing_zeros() as usize] >> low;
        exceptions += 1;
        rest &= rest - 1;
    }
    pack::pack(bytes, &high_bits[..exceptions], high);
}

/// Unpacks a column of `count` values. Entries of `out` after these are unspecified; missing bytes read as zeros.
pub(crate) fn unpack(column: &[u8], Widths { low, high }: Widths, count: usize, out: &mut [u64; FULL]) {
    let (low_bits, rest) = column.split_at(pack::packed_bytes(count, low).min(column.len()));
    if !pack::unpack_full(low_bits, low, out) {
        pack::unpack(low_bits, low, &mut out[..count]);
    }
    if high == 0 {
        return;
    }
    let (mut mask, high_bits) = (mask(rest), rest.get(MASK_BYTES..).unwrap_or(&[]));
    let mut word = WordReader { bytes: high_bits, word: 0, bits: 0 };
    while mask != 0 {
        let slot = mask.trailing_zeros() as usize % FULL;
        // The widths of a damaged column may add up to more than 64.
        out[slot] |= word.next(high).wrapping_shl(low);
        mask &= mask - 1;
    }
}

/// Reads values of one width in order: [`pack::get`] without the search for each.
struct WordReader<'a> {
    bytes: &'a [u8],
    /// The next bits, lowest first.
    word: u64,
    bits: u32,
}

impl WordReader<'_> {
    /// Returns the next value of `width` bits, 1 to 64. Missing bytes read as zeros.
    #[inline]
    fn next(&mut self, width: u32) -> u64 {
        let ones = u64::MAX >> (64 - width);
        if self.bits >= width {
            let value = self.word & ones;
            self.word >>= width;
            self.bits -= width;
            return value;
        }
        let (next, rest) =
            self.bytes.split_first_chunk().map_or((0, &[][..]), |(next, rest)| (u64::from_le_bytes(*next), rest));
        self.bytes = rest;
        let value = (self.word | next.checked_shl(self.bits).unwrap_or(0)) & ones;
        let taken = width - self.bits;
        self.word = next.checked_shr(taken).unwrap_or(0);
        self.bits = 64 - taken;
        value
    }
}

fn mask(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Values of which one in `rarity` has up to 64 bits, and the others up to `bits`.
    fn values() -> impl Strategy<Value = Vec<u64>> {
        let raw = prop::collection::vec((any::<u64>(), any::<u8>()), 0..=FULL);
        (raw, 0u32..=64, 1u32..=64, 1u8..20).prop_map(|(raw, bits, large_bits, rarity)| {
            let cut = |value: u64, bits: u32| if bits == 0 { 0 } else { value >> (64 - bits) };
            raw.into_iter()
                .map(|(value, kind)| cut(value, if kind % rarity == 0 { large_bits } else { bits }))
                .collect()
        })
    }

    proptest! {
        #[test]
        fn packed_values_are_unpacked_unchanged(values in values()) {
            let widths = Widths::of_values(&values);
            let mut bytes = Vec::new();
            pack(&mut bytes, &values, widths);
            prop_assert_eq!(widths.packed_bytes(&bytes, values.len()), bytes.len());
            let mut back = [1; FULL];
            unpack(&bytes, widths, values.len(), &mut back);
            prop_assert_eq!(&back[..values.len()], &values[..]);
        }

        #[test]
        fn no_other_widths_take_fewer_bits_for_as_few_exceptions(values in values()) {
            let cost = |Widths { low, high }: Widths| {
                let is_exception = |value: &&u64| **value >= 1 << low;
                let exceptions = if high > 0 { values.iter().filter(is_exception).count() } else { 0 };
                let mask_bits = if high > 0 { 64 } else { 0 };
                values.len() * low as usize + mask_bits + exceptions * (high + EXCEPTION_BITS) as usize
            };
            let largest = pack::width(&values);
            let best = (0..=largest).map(|low| cost(Widths { low, high: largest - low })).min();
            prop_assert_eq!(Some(cost(Widths::of_values(&values))), best);
        }

        #[test]
        fn any_bytes_unpack_to_something_without_a_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..600),
            (low, high, count) in (0u32..=64, 0u32..=64, 0usize..=FULL),
        ) {
            let widths = Widths { low, high };
            let end = widths.packed_bytes(&bytes, count).min(bytes.len());
            unpack(&bytes[..end], widths, count, &mut [0; FULL]);
        }
    }

    #[test]
    fn one_large_value_does_not_widen_the_others() {
        let mut values = [5; FULL];
        values[17] = 1 << 40;
        let widths = Widths::of_values(&values);
        assert_eq!(widths, Widths { low: 3, high: 38 });
        let mut bytes = Vec::new();
        pack(&mut bytes, &values, widths);
        assert_eq!(bytes.len(), 24 + 8 + 8);
    }
}

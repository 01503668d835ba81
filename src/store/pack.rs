//! Bit packing: the integers of one block, each in as many bits as the largest needs.

/// Returns the bits that the largest of `values` needs, 0 to 64.
#[must_use]
pub(crate) fn width(values: &[u64]) -> u32 {
    bits(values.iter().fold(0, |bits, value| bits | value))
}

/// Returns the bits that `value` needs, 0 to 64.
#[must_use]
pub(crate) fn bits(value: u64) -> u32 {
    u64::BITS - value.leading_zeros()
}

/// Returns the bytes of `count` values of `width` bits: whole words, so that every column starts aligned.
#[must_use]
pub(crate) fn packed_bytes(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(64) * 8
}

/// Appends the low `width` bits of each value, lowest bits first.
pub(crate) fn pack(bytes: &mut Vec<u8>, values: &[u64], width: u32) {
    if width == 0 {
        return;
    }
    let ones = u64::MAX >> (64 - width);
    let (mut word, mut used) = (0u64, 0u32);
    for &value in values {
        let value = value & ones;
        word |= value << used;
        used += width;
        if used >= 64 {
            bytes.extend_from_slice(&word.to_le_bytes());
            used -= 64;
            // The bits that did not fit; none if the value ended with the word.
            word = if used == 0 { 0 } else { value >> (width - used) };
        }
    }
    if used > 0 {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
}

/// Reads value `index` of a packed column; 0 beyond its bytes.
#[must_use]
pub(crate) fn get(column: &[u8], width: u32, index: usize) -> u64 {
    if width == 0 {
        return 0;
    }
    let bit = index * width as usize;
    let word = |at: usize| column.get(at * 8..at * 8 + 8).map_or(0, read_word);
    let (at, shift) = (bit / 64, (bit % 64) as u32);
    let low = word(at) >> shift;
    let high = if shift + width > 64 { word(at + 1) << (64 - shift) } else { 0 };
    (low | high) & (u64::MAX >> (64 - width))
}

/// Reads `out.len()` values, in order. Values beyond the column's bytes read as 0.
pub(crate) fn unpack(column: &[u8], width: u32, out: &mut [u64]) {
    if width == 0 {
        out.fill(0);
        return;
    }
    out.iter_mut().enumerate().for_each(|(index, value)| *value = get(column, width, index));
}

/// Values in the column of a full block. The last may be padding: 63 values take as many words as 64.
pub(crate) const FULL: usize = 64;

/// Reads the values of a column of [`FULL`] values. Returns false, without reading, for any other column.
///
/// Equivalent to [`unpack`] in a third of the time: each width has its own code, without a branch per value.
pub(crate) fn unpack_full(column: &[u8], width: u32, out: &mut [u64; FULL]) -> bool {
    let reader = usize::try_from(width).ok().and_then(|width| READERS.get(width));
    let Some(reader) = reader.filter(|_| column.len() == packed_bytes(FULL, width)) else { return false };
    reader(column, out);
    true
}

/// Up to this width, a value fits in the 8 bytes from the byte in which it starts.
const WIDTH_MAX: usize = 57;

macro_rules! readers {
    ($($width:literal)*) => { [$(read_full::<$width>),*] };
}

type ReadFull = fn(&[u8], &mut [u64; FULL]);

/// A reader of full columns for each width.
static READERS: [ReadFull; WIDTH_MAX + 1] = readers!(
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28
    29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57
);

/// Values per group: a group starts and ends at a byte boundary, for any width.
const GROUP: usize = 8;

/// Reads a full column of values of `WIDTH` bits.
fn read_full<const WIDTH: usize>(column: &[u8], out: &mut [u64; FULL]) {
    /// Fits a group of the largest width plus 8 bytes read beyond it, or all groups of the smallest widths plus 8.
    const ROOM_BYTES: usize = WIDTH_MAX + 16;
    if WIDTH == 0 {
        out.fill(0);
        return;
    }
    // Values near the end lack the 8 bytes that are read, so the last groups come from a padded copy.
    let direct = (column.len().saturating_sub(8) / WIDTH).min(FULL / GROUP);
    let (now, later) = out.split_at_mut(direct * GROUP);
    for (number, group) in now.chunks_exact_mut(GROUP).enumerate() {
        read_group::<WIDTH>(&column[number * WIDTH..], group);
    }
    let rest = &column[direct * WIDTH..];
    let mut room = [0; ROOM_BYTES];
    room[..rest.len()].copy_from_slice(rest);
    for (number, group) in later.chunks_exact_mut(GROUP).enumerate() {
        read_group::<WIDTH>(&room[number * WIDTH..], group);
    }
}

/// Reads one group. `bytes` extends at least 8 bytes beyond the byte in which its last value starts.
#[inline]
fn read_group<const WIDTH: usize>(bytes: &[u8], group: &mut [u64]) {
    let mask = u64::MAX >> (64 - WIDTH);
    // The only bounds check of the group.
    let bytes = &bytes[..WIDTH * (GROUP - 1) / 8 + 8];
    for (index, value) in group.iter_mut().enumerate().take(GROUP) {
        let bit = index * WIDTH;
        *value = bytes[bit / 8..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word)) >> (bit % 8) & mask;
    }
}

fn read_word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn packed_values_are_unpacked_unchanged(bits in 0u32..=64, raw in prop::collection::vec(any::<u64>(), 0..130)) {
            let mask = if bits == 0 { 0 } else { u64::MAX >> (64 - bits) };
            let values: Vec<u64> = raw.iter().map(|value| value & mask).collect();
            let mut bytes = Vec::new();
            pack(&mut bytes, &raw, bits);
            prop_assert_eq!(bytes.len(), packed_bytes(values.len(), bits));
            let mut back = vec![1; values.len()];
            unpack(&bytes, bits, &mut back);
            prop_assert_eq!(&back, &values);
            for (index, &value) in values.iter().enumerate() {
                prop_assert_eq!(get(&bytes, bits, index), value);
            }
        }

        #[test]
        fn the_reader_of_each_width_reads_what_one_value_after_the_other_reads(
            bits in 0u32..=64,
            column in prop::collection::vec(any::<u8>(), 512),
        ) {
            let column = &column[..packed_bytes(FULL, bits)];
            let mut at_once = [1; FULL];
            if unpack_full(column, bits, &mut at_once) {
                let one_by_one: Vec<u64> = (0..FULL).map(|index| get(column, bits, index)).collect();
                prop_assert_eq!(&at_once[..], &one_by_one[..]);
            } else {
                prop_assert!(bits > 57);
            }
            // A column that is cut or too long has no such reader.
            prop_assert!(bits == 0 || !unpack_full(&column[1..], bits, &mut at_once));
        }
    }

    #[test]
    fn the_width_is_that_of_the_largest() {
        assert_eq!(width(&[]), 0);
        assert_eq!(width(&[0, 0]), 0);
        assert_eq!(width(&[1, 7, 2]), 3);
        assert_eq!(width(&[u64::MAX]), 64);
    }

    #[test]
    fn a_cut_column_reads_as_zeros_and_not_out_of_bounds() {
        let mut values = [9; 4];
        unpack(&[0xff; 8], 33, &mut values);
        assert_eq!(values, [0x1_ffff_ffff, 0x7fff_ffff, 0, 0]);
        assert_eq!(get(&[0xff; 8], 33, 3), 0);
    }
}

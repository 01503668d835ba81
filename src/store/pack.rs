//! Bit packing: integers of one block, each in as many bits as the largest needs. Knows nothing of what they mean.

/// How many bits the largest of `values` needs, 0 to 64.
#[must_use]
pub fn width(values: impl Iterator<Item = u64>) -> u32 {
    u64::BITS - values.fold(0, |bits, value| bits | value).leading_zeros()
}

/// How many bytes `count` values of `width` bits take: whole words, so that every column starts aligned.
#[must_use]
pub fn packed_bytes(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(64) * 8
}

/// Appends `values`, each in `width` bits, lowest bits first.
pub fn pack(bytes: &mut Vec<u8>, values: impl Iterator<Item = u64>, width: u32) {
    if width == 0 {
        return;
    }
    let (mut word, mut used) = (0u64, 0u32);
    for value in values {
        word |= value << used;
        used += width;
        if used >= 64 {
            bytes.extend_from_slice(&word.to_le_bytes());
            used -= 64;
            // What did not fit; nothing is left when the value ended with the word.
            word = if used == 0 { 0 } else { value >> (width - used) };
        }
    }
    if used > 0 {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
}

/// Reads value `index` of a packed column; 0 beyond its bytes.
#[must_use]
pub fn get(column: &[u8], width: u32, index: usize) -> u64 {
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
pub fn unpack(column: &[u8], width: u32, out: &mut [u64]) {
    /// Up to this width a value lies within the 8 bytes from the one that it begins in.
    const WIDTH_MAX: u32 = 57;
    /// The column of a block, and 8 bytes to read beyond it.
    const ROOM_BYTES: usize = 64 * 8 + 8;
    if width == 0 {
        out.fill(0);
        return;
    }
    let needed = packed_bytes(out.len(), width);
    if width > WIDTH_MAX || needed + 8 > ROOM_BYTES {
        out.iter_mut().enumerate().for_each(|(index, value)| *value = get(column, width, index));
        return;
    }
    // Read from a copy with room behind it: then there is no branch for each value, and none to be guessed wrong.
    let mut room = [0; ROOM_BYTES];
    let there = column.len().min(needed);
    room[..there].copy_from_slice(&column[..there]);
    let mask = u64::MAX >> (64 - width);
    let mut bit = 0;
    for value in out {
        let word = room.get(bit / 8..bit / 8 + 8).map_or(0, read_word);
        *value = word >> (bit % 8) & mask;
        bit += width as usize;
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
        fn what_is_packed_comes_back(bits in 0u32..=64, raw in proptest::collection::vec(any::<u64>(), 0..130)) {
            let mask = if bits == 0 { 0 } else { u64::MAX >> (64 - bits) };
            let values: Vec<u64> = raw.iter().map(|value| value & mask).collect();
            let mut bytes = Vec::new();
            pack(&mut bytes, values.iter().copied(), bits);
            prop_assert_eq!(bytes.len(), packed_bytes(values.len(), bits));
            let mut back = vec![1; values.len()];
            unpack(&bytes, bits, &mut back);
            prop_assert_eq!(&back, &values);
            for (index, &value) in values.iter().enumerate() {
                prop_assert_eq!(get(&bytes, bits, index), value);
            }
        }
    }

    #[test]
    fn the_width_is_that_of_the_largest() {
        assert_eq!(width([].into_iter()), 0);
        assert_eq!(width([0, 0].into_iter()), 0);
        assert_eq!(width([1, 7, 2].into_iter()), 3);
        assert_eq!(width([u64::MAX].into_iter()), 64);
    }

    #[test]
    fn a_cut_column_reads_as_zeros_and_not_out_of_bounds() {
        let mut values = [9; 4];
        unpack(&[0xff; 8], 33, &mut values);
        assert_eq!(values, [0x1_ffff_ffff, 0x7fff_ffff, 0, 0]);
        assert_eq!(get(&[0xff; 8], 33, 3), 0);
    }
}

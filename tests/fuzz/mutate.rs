//! Damages bytes, in the same way in every run: flips, truncations, insertions, repetitions, and parts of other inputs.

/// Generates damage from a seed.
pub(crate) struct Mutator {
    state: u64,
}

/// Bytes that break decoders: limits of ranges, and syntax of text formats.
const TELLING_BYTES: &[u8] = b"\x00\x01\x7f\x80\xff{}[]\",:\\ \n09-.e";

/// Maximum size of a damaged input, so that all together take seconds.
const BYTES_MAX: usize = 12 << 10;

impl Mutator {
    /// Creates a mutator with the same damage for the same name.
    pub(crate) fn new(name: &str) -> Self {
        let state = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        Self { state }
    }

    /// Returns a number below `limit`, or 0 (splitmix64).
    fn below(&mut self, limit: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % (limit.max(1) as u64)) as usize
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// Returns a part of `bytes`, rarely a long one.
    fn part<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let start = self.below(bytes.len());
        let len_max = if self.below(4) == 0 { bytes.len() - start } else { 16.min(bytes.len() - start) };
        &bytes[start..start + self.below(len_max + 1)]
    }

    /// Returns the bytes with one to four kinds of damage. Inserted parts come from `other`.
    pub(crate) fn damaged(&mut self, bytes: &[u8], other: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            match self.below(8) {
                0 | 1 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
                2 if at < bytes.len() => bytes[at] = *self.pick(TELLING_BYTES),
                3 => bytes.truncate(at),
                4 => {
                    let part = self.part(other).to_vec();
                    bytes.splice(at..at, part);
                }
                5 => {
                    let part = self.part(&bytes).to_vec().repeat(1 + self.below(20));
                    bytes.splice(at..at, part);
                }
                6 => {
                    let end = at + self.part(&bytes[at..]).len();
                    bytes.drain(at..end);
                }
                _ => {
                    let part = self.part(other).to_vec();
                    let end = bytes.len().min(at + part.len());
                    bytes.splice(at..end, part);
                }
            }
            bytes.truncate(BYTES_MAX);
        }
        bytes
    }
}

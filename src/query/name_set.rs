//! A set of names of a trace as bits, so that a membership test reads one word.

use crate::model::NameIdx;
use crate::store::block::{BLOCK_ROWS, Block};
use crate::store::signature::NameSignature;

/// A set of names of a trace.
#[derive(Debug, Clone)]
pub(super) struct NameSet {
    /// One bit per name of the trace, by index.
    bits: Vec<u64>,
    /// Smallest and largest name in the set; reversed if it is empty.
    bounds: (u32, u32),
    signature: NameSignature,
}

impl NameSet {
    pub(super) fn new(names: &[bool]) -> Self {
        let mut bits = vec![0u64; names.len().div_ceil(64)];
        let members = || (0u32..).zip(names).filter(|(_, is_member)| **is_member).map(|(name, _)| name);
        members().for_each(|name| bits[name as usize / 64] |= 1 << (name % 64));
        let bounds = (members().next().unwrap_or(u32::MAX), members().last().unwrap_or(0));
        Self { bits, bounds, signature: members().map(NameIdx).collect() }
    }

    fn is_empty(&self) -> bool {
        self.bounds.0 > self.bounds.1
    }

    /// Returns whether an extent with this signature may hold one of the names.
    pub(super) fn may_be_in(&self, signature: &[u64]) -> bool {
        !self.is_empty() && self.signature.may_meet(signature)
    }

    pub(super) fn has(&self, name: u32) -> bool {
        self.bits.get(name as usize / 64).is_some_and(|word| word >> (name % 64) & 1 != 0)
    }

    /// Returns a bit per row of a block that has one of these names. Bits beyond the rows of the block may be set.
    pub(super) fn rows_of(&self, block: &Block<'_>) -> u64 {
        let (least, most) = block.name_bounds();
        if most < self.bounds.0 || least > self.bounds.1 {
            return 0;
        }
        if least == most {
            return if self.has(least) { u64::MAX } else { 0 };
        }
        let mut names = [0; BLOCK_ROWS];
        block.names(&mut names);
        mask_of(&names[..block.rows()], |&name| self.has(name as u32))
    }
}

/// Returns a bit per value for which `holds` returns true, the first lowest.
pub(super) fn mask_of<T>(values: &[T], holds: impl Fn(&T) -> bool) -> u64 {
    values.iter().rev().fold(0, |mask, value| mask << 1 | u64::from(holds(value)))
}

//! Disassembles a function from its first byte, for the instruction sets that perf records most: x86 and AArch64.
//! Invalid bytes are shown as such. Bounded in bytes.

mod arm64;
mod x86;

use std::ops::Range;

/// Limit for the decoded bytes: far beyond functions that people write.
const CODE_BYTES_MAX: u64 = 1 << 20;

/// An instruction set that is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::symbols) enum InstructionSet {
    X86,
    X86_64,
    /// The 64-bit instruction set of Arm, A64. Little-endian.
    Arm64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DecodedInstruction {
    pub(crate) range: Range<u64>,
    pub(crate) text: String,
    /// Target of a jump or call, if the instruction contains it.
    pub(crate) target: Option<u64>,
    /// Whether it transfers control without a return.
    pub(crate) is_jump: bool,
}

/// Returns the part of an address range that is decoded.
#[must_use]
pub(super) fn decoded_part(range: &Range<u64>) -> Range<u64> {
    range.start..range.end.min(range.start.saturating_add(CODE_BYTES_MAX))
}

/// Decodes the bytes at an address.
#[must_use]
pub(super) fn decode(set: InstructionSet, bytes: &[u8], start: u64) -> Vec<DecodedInstruction> {
    match set {
        InstructionSet::X86 => x86::decode(bytes, start, false),
        InstructionSet::X86_64 => x86::decode(bytes, start, true),
        InstructionSet::Arm64 => arm64::decode(bytes, start),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_beyond_the_limit_are_cut() {
        assert_eq!(decoded_part(&(5..u64::MAX)), 5..5 + CODE_BYTES_MAX);
    }
}

//! The inlined functions of Go programs: for each function a tree of the calls inlined into it, which Go's own stack
//! traces use. Supports 64-bit programs with the layouts of Go 1.18, 1.20 and 1.27. Another layout is recognised by its
//! words, and not read.

use super::elf::ElfFile;
use super::go_module::GoModule;

/// Section that contains the constants.
const CONSTANTS: &str = ".rodata";

/// The positions that differ by version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GoLayout {
    /// Possible indices of two words in the module's description: the addresses of the constants and of the trees.
    constants_words: &'static [usize],
    /// Index of the field of a function's description with the first of the function's tables of values.
    pub(super) tables_field: usize,
    call_bytes: usize,
    /// Offset of the name in a call. The offset of the caller follows it.
    name_at: usize,
}

impl GoLayout {
    pub(super) const GO_1_18: Self = Self { constants_words: &[37], tables_field: 10, call_bytes: 20, name_at: 12 };
    pub(super) const GO_1_20: Self = Self { constants_words: &[39, 42], tables_field: 11, call_bytes: 16, name_at: 4 };
}

/// The trees of a program.
#[derive(Debug)]
pub(super) struct GoInlined {
    /// The bytes from the start of the first tree to the end of its section.
    bytes: Vec<u8>,
    pub(super) layout: GoLayout,
}

/// A call that was inlined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InlinedCall {
    /// Offset of the function's name in the table of names.
    pub(super) name: u32,
    /// Distance from the start of the enclosing function to an instruction of the caller, at the line of the call.
    pub(super) caller_offset: u32,
}

impl GoInlined {
    /// Reads the trees, whose address is in the module's description.
    pub(super) fn read(elf: &ElfFile, module: &GoModule, layout: GoLayout, bytes_max: u64) -> Option<Self> {
        // Other layouts have other words at these indices.
        let mut pairs = layout.constants_words.iter().filter_map(|&word| module.pair(word));
        let [_, trees] = pairs.find(|[constants, _]| elf.is_in(*constants, CONSTANTS))?;
        Some(Self { bytes: elf.rest_of_section(trees, bytes_max)?, layout })
    }

    /// Returns a call of the tree at an offset.
    pub(super) fn call(&self, tree: u32, index: u32) -> Option<InlinedCall> {
        let at = (tree as usize).checked_add((index as usize).checked_mul(self.layout.call_bytes)?)?;
        let numbers = self.bytes.get(at..)?.get(self.layout.name_at..self.layout.call_bytes)?.as_chunks::<4>().0;
        let number = |index: usize| numbers.get(index).map(|bytes| u32::from_le_bytes(*bytes));
        Some(InlinedCall { name: number(0)?, caller_offset: number(1)? })
    }
}

//! The inlined functions of Go programs: for each function a tree of the calls inlined into it, which Go's own stack
//! traces use. Only of 64-bit programs whose file has the addresses of the tables, as Go writes them. The layouts are
//! those of Go 1.18 and 1.20; another one is recognised by its words, and not read.

use super::elf::ElfFile;

/// Bytes of a word of the module's description.
const WORD_BYTES: usize = 8;

/// Sections that may have the description of the module.
const SECTIONS: [&str; 2] = [".noptrdata", ".data"];

/// Section that contains the trees of inlined calls.
const CONSTANTS: &str = ".rodata";

/// The positions that changed with Go 1.20.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GoLayout {
    /// Words of the module's description: address of the constants, then that of the trees.
    constants_word: usize,
    /// Field of a function's description with the first of its tables of values.
    pub(super) tables_field: usize,
    call_bytes: usize,
    /// Offset in a call of its name, which the offset of its caller follows.
    name_at: usize,
}

impl GoLayout {
    pub(super) const GO_1_18: Self = Self { constants_word: 37, tables_field: 10, call_bytes: 20, name_at: 12 };
    pub(super) const GO_1_20: Self = Self { constants_word: 39, tables_field: 11, call_bytes: 16, name_at: 4 };
}

/// The trees of a program.
#[derive(Debug)]
pub(super) struct GoInlined {
    /// From the start of the first tree.
    bytes: Vec<u8>,
    pub(super) layout: GoLayout,
}

/// A call that was inlined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InlinedCall {
    /// Offset of its name in the table of names.
    pub(super) name: u32,
    /// Distance from the start of the enclosing function to an instruction of its caller, at the line of the call.
    pub(super) caller_offset: u32,
}

impl GoInlined {
    /// Finds the trees by the module's description, which begins with the addresses of the table and of its names.
    pub(super) fn read(elf: &ElfFile, begin: [u64; 2], layout: GoLayout, bytes_max: u64) -> Option<Self> {
        let begin: Vec<u8> = begin.iter().flat_map(|word| word.to_le_bytes()).collect();
        let described = SECTIONS.iter().find_map(|name| {
            let bytes = elf.bytes_of(elf.named(name)?, bytes_max)?;
            let at = memchr::memmem::find(&bytes, &begin)?;
            let words = bytes.get(at + layout.constants_word * WORD_BYTES..)?.as_chunks::<WORD_BYTES>().0;
            Some([u64::from_le_bytes(*words.first()?), u64::from_le_bytes(*words.get(1)?)])
        });
        let (constants, [address, trees]) = (elf.named(CONSTANTS)?, described?);
        // Another layout has other words here.
        let offset = usize::try_from(trees.checked_sub(address)?).ok()?;
        if address != constants.address || offset == 0 {
            return None;
        }
        let bytes = elf.bytes_of(constants, bytes_max)?.get(offset..)?.to_vec();
        Some(Self { bytes, layout })
    }

    /// Returns a call of the tree at an offset.
    pub(super) fn call(&self, tree: u32, index: u32) -> Option<InlinedCall> {
        let at = (tree as usize).checked_add((index as usize).checked_mul(self.layout.call_bytes)?)?;
        let numbers = self.bytes.get(at..)?.get(self.layout.name_at..self.layout.call_bytes)?.as_chunks::<4>().0;
        let number = |index: usize| numbers.get(index).map(|bytes| u32::from_le_bytes(*bytes));
        Some(InlinedCall { name: number(0)?, caller_offset: number(1)? })
    }
}

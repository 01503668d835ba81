//! The description of a Go program that its runtime reads (`runtime.moduledata`): words with the addresses of its code
//! and tables.

use super::elf::{ElfFile, ElfSection, RELOCATION_BYTES, RELOCATIONS, RELOCATIONS_BYTES_MAX};
use crate::base::bytes::{u32_at, u64_at};

/// Sections that may have the description: a separate section from Go 1.26 on, data sections before.
const SECTIONS: [&str; 3] = [".go.module", ".noptrdata", ".data"];

/// Number of words that are read, up to the last one used.
const WORDS: usize = 44;

/// Word with the address of the first instruction of Go. Code of C may precede it.
const TEXT_WORD: usize = 22;

/// Types of relocations that fill a word with an address of the file, on x86-64 and on 64-bit Arm.
const RELATIVE: [u32; 2] = [8, 1027];

/// The words of the description.
#[derive(Debug)]
pub(super) struct GoModule(Vec<u64>);

impl GoModule {
    /// Finds the description by its first words, the addresses of the table of functions and of its names.
    pub(super) fn find(elf: &ElfFile, begin: [u64; 2], bytes_max: u64) -> Option<Self> {
        let word_bytes = usize::from(elf.address_bytes());
        let begin: Vec<u8> = begin.iter().flat_map(|word| word.to_le_bytes()[..word_bytes].to_vec()).collect();
        let in_section = |section: &ElfSection| {
            let bytes = relocated(elf, section, bytes_max)?;
            let found = bytes.get(memchr::memmem::find(&bytes, &begin)?..)?;
            let word = |row: usize| {
                let at = row * word_bytes;
                if elf.is_64() { u64_at(found, at) } else { u32_at(found, at).map(u64::from) }
            };
            (0..WORDS).map(word).collect::<Option<_>>().map(Self)
        };
        SECTIONS.iter().filter_map(|name| elf.named(name)).find_map(in_section)
    }

    pub(super) fn text(&self) -> u64 {
        self.0[TEXT_WORD]
    }

    /// Returns two words from an index.
    pub(super) fn pair(&self, first: usize) -> Option<[u64; 2]> {
        self.0.get(first..)?.first_chunk().copied()
    }
}

/// Returns the bytes of a section with the addresses that loading it writes there. Linkers may leave them out of files
/// that are loaded anywhere.
fn relocated(elf: &ElfFile, section: &ElfSection, bytes_max: u64) -> Option<Vec<u8>> {
    let mut bytes = elf.bytes_of(section, bytes_max)?;
    let mut relocations_left = RELOCATIONS_BYTES_MAX.min(bytes_max);
    for table in elf.sections_of(RELOCATIONS).filter(|_| elf.is_64()) {
        let Some(table) = elf.bytes_of(table, relocations_left) else { continue };
        relocations_left -= table.len() as u64;
        for row in table.as_chunks::<RELOCATION_BYTES>().0 {
            let is_relative = u32_at(row, 8).is_some_and(|kind| RELATIVE.contains(&kind));
            let Some((slot, address)) = u64_at(row, 0).zip(u64_at(row, 16)).filter(|_| is_relative) else { continue };
            let within = slot.checked_sub(section.address).and_then(|within| usize::try_from(within).ok());
            let word = within.and_then(|within| bytes.get_mut(within..)?.first_chunk_mut());
            if let Some(word) = word {
                *word = address.to_le_bytes();
            }
        }
    }
    Some(bytes)
}

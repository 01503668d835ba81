//! The stubs of the procedure linkage table, which jump to functions of other files through slots of the global offset
//! table. Relocations of the slots name the functions. Linkers write no symbols of stubs; other tools call them
//! `function@plt` too.

use rustc_hash::FxHashMap;

use super::code::assembly::InstructionSet;
use super::elf::{ElfFile, RELOCATION_BYTES, RELOCATIONS, RELOCATIONS_BYTES_MAX, SYMBOL_BYTES};
use crate::base::bytes::u32_at;
use crate::base::demangle::STUB_SUFFIX;

/// Sections with stubs. If there is a `.plt.sec`, code calls its stubs instead of the stubs in `.plt`. Stubs in
/// `.plt.got` are never lazy.
const SECTIONS: [&str; 3] = [".plt", ".plt.sec", ".plt.got"];

/// Size limit for a section of stubs, for some 65,000. Large programs have some thousand.
const STUBS_BYTES_MAX: u64 = 1 << 20;

/// Size limit for all names of stubs.
const NAMES_BYTES_MAX: usize = 16 << 20;

/// Limit for the bytes of a name; longer ones are cut.
const NAME_BYTES_MAX: usize = 64 << 10;

/// Types of relocations that fill a slot with the address of a function, or with the result of a resolver.
mod relocation_type {
    pub(super) const X86_64_SLOT: [u32; 2] = [6, 7];
    pub(super) const X86_64_RESOLVED: u32 = 37;
    pub(super) const ARM64_SLOT: [u32; 2] = [1025, 1026];
    pub(super) const ARM64_RESOLVED: u32 = 1032;
}

/// A stub with the name of its function.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PltStub {
    pub(super) address: u64,
    pub(super) bytes: u64,
    /// The name as in the symbol table, with the suffix.
    pub(super) name: Vec<u8>,
}

/// A stub and the slot with its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StubCode {
    address: u64,
    bytes: u64,
    slot: u64,
}

/// Returns the stubs of a file that have names, in the order of their sections. `function_at` returns the name of the
/// function at an address of the file.
pub(super) fn stubs<'t>(elf: &ElfFile, function_at: impl Fn(u64) -> Option<&'t [u8]>, bytes_max: u64) -> Vec<PltStub> {
    let Some(code) = stub_code(elf) else { return Vec::new() };
    let mut names: FxHashMap<u64, Option<Vec<u8>>> = code.iter().map(|stub| (stub.slot, None)).collect();
    if !names.is_empty() {
        name_slots(elf, function_at, bytes_max, &mut names);
    }
    let mut left = NAMES_BYTES_MAX;
    let named = |stub: StubCode| {
        let name = names.get(&stub.slot)?.as_ref().filter(|name| !name.is_empty())?;
        left = left.checked_sub(name.len())?;
        Some(PltStub { address: stub.address, bytes: stub.bytes, name: [name, STUB_SUFFIX.as_bytes()].concat() })
    };
    code.into_iter().filter_map(named).collect()
}

/// Decodes the stubs of a file; `None` for machines that are not supported.
fn stub_code(elf: &ElfFile) -> Option<Vec<StubCode>> {
    let decode = match elf.instruction_set()? {
        InstructionSet::X86_64 if elf.is_x86_64() => x86_64_stubs,
        InstructionSet::Arm64 => arm64_stubs,
        InstructionSet::X86_64 | InstructionSet::X86 => return None,
    };
    let mut all = Vec::new();
    for section in SECTIONS.iter().filter_map(|name| elf.named(name)) {
        let Some(bytes) = elf.bytes_of(section, STUBS_BYTES_MAX) else { continue };
        let first = all.len();
        decode(&bytes, (section.address, section.entry_bytes), &mut all);
        // A stub ends before the next one. Other bytes of a stub may look like a jump.
        let mut start = section.address.saturating_add(bytes.len() as u64);
        let mut end = start;
        for stub in all[first..].iter_mut().rev() {
            if stub.address < start {
                (start, end) = (stub.address, start);
            }
            stub.bytes = end.saturating_sub(start).min(stub.bytes);
        }
    }
    Some(all)
}

/// Decodes stubs of x86-64, which jump to the address in a slot. Linkers vary what is around the jump. The section
/// starts at `start`.
fn x86_64_stubs(bytes: &[u8], (start, entry_bytes): (u64, u64), stubs: &mut Vec<StubCode>) {
    const JUMP: [u8; 2] = [0xff, 0x25];
    const SMALL_BYTES: u64 = 8;
    const USUAL_BYTES: u64 = 16;
    let alignment = if entry_bytes == USUAL_BYTES { USUAL_BYTES } else { SMALL_BYTES };
    for jump in memchr::memmem::find_iter(bytes, &JUMP) {
        let Some((distance, _)) = bytes[jump + JUMP.len()..].split_first_chunk() else { break };
        let after = start.wrapping_add((jump + JUMP.len() + distance.len()) as u64);
        let slot = after.wrapping_add_signed(i32::from_le_bytes(*distance).into());
        let address = start.wrapping_add(jump as u64 / alignment * alignment);
        stubs.push(StubCode { address, bytes: USUAL_BYTES, slot });
    }
}

/// Decodes stubs of 64-bit Arm, which load the address in a slot from a page and an offset.
fn arm64_stubs(bytes: &[u8], (start, _entry_bytes): (u64, u64), stubs: &mut Vec<StubCode>) {
    /// `adrp x16, PAGE`, without the page, and its mask.
    const PAGE: [u32; 2] = [0x9000_0010, 0x9f00_001f];
    /// `ldr x17, [x16, OFFSET]`, without the offset, and its mask.
    const LOAD: [u32; 2] = [0xf940_0211, 0xffc0_03ff];
    /// The target mark of indirect branches, `bti c`.
    const BRANCH_TARGET: u32 = 0xd503_245f;
    /// Bytes of a stub with all marks.
    const STUB_BYTES: u64 = 24;
    let words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    for (at, pair) in words.windows(2).enumerate() {
        if pair[0] & PAGE[1] != PAGE[0] || pair[1] & LOAD[1] != LOAD[0] {
            continue;
        }
        let address = start.wrapping_add(4 * at as u64);
        // The distance in pages has 21 bits; the lowest two are in the top byte.
        let pages = (pair[0] >> 5 & 0x7_ffff) << 2 | pair[0] >> 29 & 3;
        let pages = i64::from((pages << 11) as i32 >> 11);
        let page = (address & !0xfff).wrapping_add_signed(pages << 12);
        let slot = page.wrapping_add(u64::from(pair[1] >> 10 & 0xfff) * 8);
        let is_marked = at.checked_sub(1).is_some_and(|before| words[before] == BRANCH_TARGET);
        let address = if is_marked { address.wrapping_sub(4) } else { address };
        stubs.push(StubCode { address, bytes: STUB_BYTES, slot });
    }
}

/// Fills in the names of the slots in `names`; a slot without a symbol gets an empty name. The first relocation wins.
fn name_slots<'t>(
    elf: &ElfFile,
    function_at: impl Fn(u64) -> Option<&'t [u8]>,
    bytes_max: u64,
    names: &mut FxHashMap<u64, Option<Vec<u8>>>,
) {
    let (mut relocations_left, mut names_left) = (RELOCATIONS_BYTES_MAX.min(bytes_max), NAMES_BYTES_MAX);
    // A file may have any number of sections with the same symbols.
    let mut tables: Option<(u32, Vec<u8>, Vec<u8>)> = None;
    for section in elf.sections_of(RELOCATIONS) {
        let Some(relocations) = elf.bytes_of(section, relocations_left) else { continue };
        relocations_left -= relocations.len() as u64;
        if relocations.is_empty() {
            continue;
        }
        if tables.as_ref().is_none_or(|(link, ..)| *link != section.link) {
            let table = symbols(elf, section.link, relocations_left);
            let Some((symbols, texts)) = table else { continue };
            relocations_left = relocations_left.saturating_sub((symbols.len() + texts.len()) as u64);
            tables = Some((section.link, symbols, texts));
        }
        let Some((_, symbols, texts)) = &tables else { continue };
        for relocation in relocations.chunks_exact(RELOCATION_BYTES) {
            let (words, _) = relocation.as_chunks::<8>();
            let [slot, info, addend] = [words[0], words[1], words[2]].map(u64::from_le_bytes);
            let Some(slot_name) = names.get_mut(&slot).filter(|name| name.is_none()) else { continue };
            let name = match info as u32 {
                kind if relocation_type::X86_64_SLOT.contains(&kind) || relocation_type::ARM64_SLOT.contains(&kind) => {
                    symbol_name(symbols, texts, info >> 32)
                }
                relocation_type::X86_64_RESOLVED | relocation_type::ARM64_RESOLVED => {
                    function_at(addend).unwrap_or_default()
                }
                _ => continue,
            };
            let Some(left) = names_left.checked_sub(name.len()) else { return };
            (*slot_name, names_left) = (Some(name.to_vec()), left);
        }
    }
}

/// Reads a symbol table and its texts.
fn symbols(elf: &ElfFile, row: u32, bytes_max: u64) -> Option<(Vec<u8>, Vec<u8>)> {
    let table = elf.section(row)?;
    let symbols = elf.bytes_of(table, bytes_max)?;
    let texts = elf.bytes_of(elf.section(table.link)?, bytes_max)?;
    Some((symbols, texts))
}

/// Returns the name of a symbol, up to a limit; empty for a symbol that is not there.
fn symbol_name<'t>(symbols: &[u8], texts: &'t [u8], row: u64) -> &'t [u8] {
    let start = usize::try_from(row).ok().and_then(|row| row.checked_mul(SYMBOL_BYTES[0]));
    let at = start.and_then(|start| u32_at(symbols, start));
    let rest = at.and_then(|at| texts.get(at as usize..)).unwrap_or_default();
    let rest = &rest[..rest.len().min(NAME_BYTES_MAX)];
    &rest[..memchr::memchr(0, rest).unwrap_or(rest.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stubs_of_arm_load_their_slot_from_a_page() {
        // As GNU ld writes stubs: the first calls the dynamic linker, the last has a target mark.
        let words: [u32; 14] = [
            0xa9bf_7bf0,
            0x9000_00f0,
            0xf947_fe11,
            0x913f_e210,
            0xd61f_0220,
            0xd503_201f,
            0xd503_201f,
            0xd503_201f,
            0xb000_00f0,
            0xf940_0211,
            0x9100_0210,
            0xd61f_0220,
            0xd503_245f,
            0xf0ff_fff0,
        ];
        let load: [u32; 2] = [0xf940_0e11, 0xd61f_0220];
        let bytes: Vec<u8> = words.iter().chain(&load).flat_map(|word| word.to_le_bytes()).collect();
        let mut stubs = Vec::new();
        arm64_stubs(&bytes, (0x4_0600, 16), &mut stubs);
        let found: Vec<_> = stubs.iter().map(|stub| (stub.address, stub.slot)).collect();
        assert_eq!(found, [(0x4_0604, 0x5_cff8), (0x4_0620, 0x5_d000), (0x4_0630, 0x3_f018)]);
    }

    #[test]
    fn stubs_of_x86_start_where_their_entry_does() {
        let mut bytes = vec![0x90; 48];
        // With a target mark, and with another instruction before the jump.
        bytes[4..10].copy_from_slice(&[0xff, 0x25, 0x10, 0, 0, 0]);
        bytes[16 + 10..32].copy_from_slice(&[0xff, 0x25, 0xf0, 0xff, 0xff, 0xff]);
        bytes[46..].copy_from_slice(&[0xff, 0x25]);
        let mut stubs = Vec::new();
        x86_64_stubs(&bytes, (0x1000, 16), &mut stubs);
        let found: Vec<_> = stubs.iter().map(|stub| (stub.address, stub.slot)).collect();
        assert_eq!(found, [(0x1000, 0x101a), (0x1010, 0x1010)]);
    }
}

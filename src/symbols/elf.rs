//! The tables of little-endian ELF files: sections, segments, symbols, build-id. Reads only what is requested, by
//! position. Rejects tables beyond the end of the file; invalid UTF-8 is replaced.

use std::io::Read as _;

use super::code::assembly::InstructionSet;
use super::file::InputFile;
use crate::model::BuildId;

/// Limit for the sections; `-ffunction-sections` makes a few hundred thousand in object files, which are not sampled.
const SECTIONS_MAX: u64 = 1 << 16;

/// Limit for the segments; real files have about ten.
const SEGMENTS_MAX: u64 = 1024;

/// Limit for the notes searched for a build-id.
const NOTES_BYTES_MAX: u64 = 64 << 10;

/// Limit for the note sections and segments searched for a build-id; real files have about ten.
const NOTES_MAX: usize = 64;

const MAGIC: &[u8] = b"\x7fELF";
const CLASS_32: u8 = 1;
const CLASS_64: u8 = 2;
const LITTLE_ENDIAN: u8 = 1;

/// Index of the names that is in the first row (`SHN_XINDEX`).
const EXTENDED_INDEX: u16 = 0xffff;
const NOTE_SECTION: u32 = 7;
const NOBITS: u32 = 8;
const COMPRESSED: u64 = 1 << 11;
const EXECUTABLE_SECTION: u64 = 4;
/// Section types of symbol tables: all symbols, and dynamic ones.
pub(super) const SYMBOLS: u32 = 2;
pub(super) const DYNAMIC_SYMBOLS: u32 = 11;
/// Bytes of a symbol, in 64-bit and 32-bit files.
pub(super) const SYMBOL_BYTES: [usize; 2] = [24, 16];
/// Section type of relocations with addends, and the bytes of a relocation in 64-bit files: slot, type with symbol,
/// addend.
pub(super) const RELOCATIONS: u32 = 4;
pub(super) const RELOCATION_BYTES: usize = 24;
/// Size limit for all relocations of a file. Large programs have some million.
pub(super) const RELOCATIONS_BYTES_MAX: u64 = 64 << 20;
const LOAD_SEGMENT: u32 = 1;
const NOTE_SEGMENT: u32 = 4;
const EXECUTABLE_SEGMENT: u32 = 1;
const BUILD_ID_NOTE: u32 = 3;
/// Prefixes of sections with debug information: the usual one, and one for sections compressed without a flag.
const DEBUG: &str = ".debug_";
const OLD_COMPRESSED: &str = ".zdebug_";
const ZLIB: u32 = 1;
const ZSTD: u32 = 2;

/// Machine codes of the instruction sets that are decoded (`e_machine`).
const X86: u16 = 3;
const X86_64: u16 = 62;
const ARM64: u16 = 183;

/// File type of relocatable files, such as kernel modules.
const RELOCATABLE: u16 = 1;

/// A file with its tables.
#[derive(Debug)]
pub(super) struct ElfFile {
    pub(super) file: InputFile,
    is_64: bool,
    kind: u16,
    machine: u16,
    sections: Vec<ElfSection>,
    /// End of the section table, which is beyond the end of a truncated file.
    sections_end: u64,
    names: Vec<u8>,
    segments: Segments,
}

/// The mapping of file offsets to load addresses.
#[derive(Debug, Clone, Default)]
pub(super) struct Segments(Box<[Segment]>);

/// A row of the section table.
#[derive(Debug, Clone, Copy)]
pub(super) struct ElfSection {
    name: u32,
    pub(super) kind: u32,
    flags: u64,
    pub(super) address: u64,
    offset: u64,
    bytes: u64,
    pub(super) link: u32,
    /// Bytes of an entry, if the section is a table.
    pub(super) entry_bytes: u64,
}

#[derive(Debug, Clone, Copy)]
struct Segment {
    kind: u32,
    flags: u32,
    offset: u64,
    address: u64,
    file_bytes: u64,
    memory_bytes: u64,
}

/// Reads numbers front to back; addresses have the size of the file's class.
#[derive(Clone, Copy)]
struct ElfFields<'a> {
    bytes: &'a [u8],
    is_64: bool,
}

impl ElfFields<'_> {
    fn u16(&mut self) -> Option<u16> {
        let (number, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(u16::from_le_bytes(*number))
    }

    fn u32(&mut self) -> Option<u32> {
        let (number, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(u32::from_le_bytes(*number))
    }

    fn word(&mut self) -> Option<u64> {
        if !self.is_64 {
            return self.u32().map(u64::from);
        }
        let (number, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(u64::from_le_bytes(*number))
    }
}

impl ElfFile {
    /// Reads the tables of a file; `None` if it is not a little-endian ELF file, or if its tables are damaged.
    pub(super) fn read(file: InputFile) -> Option<Self> {
        let head = file.read(0, file.bytes.min(64), 64)?;
        let is_64 = match head.strip_prefix(MAGIC)?.get(..2)? {
            [CLASS_32, LITTLE_ENDIAN] => false,
            [CLASS_64, LITTLE_ENDIAN] => true,
            _ => return None,
        };
        let mut fields = ElfFields { bytes: head.get(16..)?, is_64 };
        let (kind, machine, _version, _entry) = (fields.u16()?, fields.u16()?, fields.u32()?, fields.word()?);
        let (segments_at, sections_at, _flags) = (fields.word()?, fields.word()?, fields.u32()?);
        let (_own_bytes, segment_bytes, segment_count) = (fields.u16()?, fields.u16()?, fields.u16()?);
        let (section_bytes, section_count, names_row) = (fields.u16()?, fields.u16()?, fields.u16()?);
        let (sections, segments) = (Vec::new(), Segments::default());
        let sections_end = sections_at.saturating_add(u64::from(section_bytes) * u64::from(section_count));
        let mut elf = Self { file, is_64, kind, machine, sections, sections_end, names: Vec::new(), segments };
        elf.segments = elf.read_segments(segments_at, segment_bytes.into(), segment_count.into()).unwrap_or_default();
        elf.sections = elf.read_sections(sections_at, section_bytes.into(), section_count.into()).unwrap_or_default();
        // With very many sections, the index of the names is in the first row.
        let names_row = match (names_row, elf.sections.first()) {
            (EXTENDED_INDEX, Some(first)) => first.link as usize,
            (row, _) => usize::from(row),
        };
        if let Some(names) = elf.sections.get(names_row).copied() {
            elf.names = elf.bytes_of(&names, 16 << 20).unwrap_or_default();
        }
        Some(elf)
    }

    fn read_segments(&self, at: u64, row_bytes: u64, count: u64) -> Option<Segments> {
        let is_64 = self.is_64;
        let table = self.file.read(at, count.min(SEGMENTS_MAX) * row_bytes, u64::MAX)?;
        let rows = table.chunks_exact(usize::try_from(row_bytes).ok().filter(|&bytes| bytes > 0)?);
        let segment = |row| {
            let mut fields = ElfFields { bytes: row, is_64 };
            let kind = fields.u32()?;
            let early_flags = if is_64 { fields.u32()? } else { 0 };
            let (offset, address, _physical) = (fields.word()?, fields.word()?, fields.word()?);
            let (file_bytes, memory_bytes) = (fields.word()?, fields.word()?);
            let flags = if is_64 { early_flags } else { fields.u32()? };
            Some(Segment { kind, flags, offset, address, file_bytes, memory_bytes })
        };
        rows.map(segment).collect::<Option<_>>().map(Segments)
    }

    fn read_sections(&self, at: u64, row_bytes: u64, count: u64) -> Option<Vec<ElfSection>> {
        let is_64 = self.is_64;
        let section = |row: &[u8]| {
            let mut fields = ElfFields { bytes: row, is_64 };
            let (name, kind, flags, address) = (fields.u32()?, fields.u32()?, fields.word()?, fields.word()?);
            let (offset, bytes, link) = (fields.word()?, fields.word()?, fields.u32()?);
            let (_info, _alignment, entry_bytes) = (fields.u32()?, fields.word()?, fields.word()?);
            Some(ElfSection { name, kind, flags, address, offset, bytes, link, entry_bytes })
        };
        // A count that does not fit is the size of the first row.
        let count = if count == 0 && at != 0 { section(&self.file.read(at, row_bytes, 1024)?)?.bytes } else { count };
        let table = self.file.read(at, count.min(SECTIONS_MAX).checked_mul(row_bytes)?, u64::MAX)?;
        table.chunks_exact(usize::try_from(row_bytes).ok().filter(|&bytes| bytes > 0)?).map(section).collect()
    }

    /// Returns whether the file ends before its table of sections.
    pub(super) fn is_truncated(&self) -> bool {
        self.sections_end > self.file.bytes
    }

    /// Returns whether the file has the bytes that were loaded and executed: debug files lack them, and relocatable
    /// files are loaded piece by piece.
    pub(super) fn has_code(&self) -> bool {
        let is_code = |segment: &Segment| {
            segment.kind == LOAD_SEGMENT && segment.flags & EXECUTABLE_SEGMENT != 0 && segment.file_bytes > 0
        };
        self.kind != RELOCATABLE && self.segments.0.iter().any(is_code)
    }

    pub(super) fn has_symbols(&self) -> bool {
        self.sections_of(SYMBOLS).next().is_some()
    }

    pub(super) fn has_dynamic_symbols(&self) -> bool {
        self.sections_of(DYNAMIC_SYMBOLS).next().is_some()
    }

    pub(super) fn is_64(&self) -> bool {
        self.is_64
    }

    /// Returns the size of an address in bytes.
    pub(super) fn address_bytes(&self) -> u8 {
        if self.is_64 { 8 } else { 4 }
    }

    pub(super) fn section(&self, row: u32) -> Option<&ElfSection> {
        self.sections.get(row as usize)
    }

    /// Iterates over the sections of a type.
    pub(super) fn sections_of(&self, kind: u32) -> impl Iterator<Item = &ElfSection> {
        self.sections.iter().filter(move |section| section.kind == kind)
    }

    /// Returns the end address of a section.
    pub(super) fn end_of(&self, row: u16) -> Option<u64> {
        self.section(row.into()).and_then(|section| section.address.checked_add(section.bytes))
    }

    /// Returns whether a section contains code.
    pub(super) fn is_code(&self, row: u16) -> bool {
        self.section(row.into()).is_some_and(|section| section.flags & EXECUTABLE_SECTION != 0)
    }

    /// Iterates over the addresses of the sections with code. Sections of relocatable files have no addresses yet.
    pub(super) fn code(&self) -> impl Iterator<Item = std::ops::Range<u64>> {
        let is_linked_code =
            |section: &&ElfSection| self.kind != RELOCATABLE && section.flags & EXECUTABLE_SECTION != 0;
        let range = |section: &ElfSection| section.address..section.address.saturating_add(section.bytes);
        self.sections.iter().filter(is_linked_code).map(range)
    }

    /// Returns the end of the sections and segments in the file, without their tables.
    pub(super) fn end(&self) -> u64 {
        let sections = self.sections.iter().filter(|section| section.kind != NOBITS);
        let sections = sections.map(|section| section.offset.saturating_add(section.bytes));
        let segments = self.segments.0.iter().map(|segment| segment.offset.saturating_add(segment.file_bytes));
        sections.chain(segments).max().unwrap_or(0)
    }

    /// Returns whether an address is in the section with a name.
    pub(super) fn is_in(&self, address: u64, name: &str) -> bool {
        self.named(name).is_some_and(|section| section.offset_of(address).is_some())
    }

    /// Returns the section with a name, if it has bytes in the file. Older compilers compress `.debug_info` to
    /// `.zdebug_info`, which the name `.debug_info` finds too.
    pub(super) fn named(&self, name: &str) -> Option<&ElfSection> {
        let compressed = || self.exactly_named(&format!("{OLD_COMPRESSED}{}", name.strip_prefix(DEBUG)?));
        self.exactly_named(name).or_else(compressed)
    }

    fn exactly_named(&self, name: &str) -> Option<&ElfSection> {
        let is_named = |section: &&ElfSection| {
            let name_bytes = self.name_from(section).and_then(|rest| rest.get(..=name.len()));
            name_bytes.is_some_and(|name_bytes| name_bytes.strip_prefix(name.as_bytes()) == Some(&[0]))
                && section.kind != NOBITS
        };
        self.sections.iter().find(is_named)
    }

    /// Returns the bytes from the name of a section to the end of all names.
    fn name_from(&self, section: &ElfSection) -> Option<&[u8]> {
        self.names.get(section.name as usize..)
    }

    /// Returns the decompressed bytes of a section; `None` if they exceed `max`, or if they are damaged.
    pub(super) fn bytes_of(&self, section: &ElfSection, max: u64) -> Option<Vec<u8>> {
        if section.kind == NOBITS {
            return None;
        }
        let stored = self.file.read(section.offset, section.bytes, max)?;
        if section.flags & COMPRESSED == 0 {
            if !self.name_from(section).is_some_and(|name| name.starts_with(OLD_COMPRESSED.as_bytes())) {
                return Some(stored);
            }
            let (bytes, packed) = stored.strip_prefix(b"ZLIB")?.split_first_chunk()?;
            return unpack(ZLIB, packed, u64::from_be_bytes(*bytes), max);
        }
        let mut fields = ElfFields { bytes: &stored, is_64: self.is_64 };
        let method = fields.u32()?;
        if self.is_64 {
            fields.u32()?;
        }
        let (bytes, _alignment) = (fields.word()?, fields.word()?);
        unpack(method, fields.bytes, bytes, max)
    }

    /// Returns the bytes from a link-time address to the end of its section; `None` if they exceed `max`.
    pub(super) fn rest_of_section(&self, address: u64, max: u64) -> Option<Vec<u8>> {
        let is_loaded = |section: &&ElfSection| section.kind != NOBITS && section.address != 0;
        let mut loaded = self.sections.iter().filter(is_loaded);
        let (section, within) = loaded.find_map(|section| Some((section, section.offset_of(address)?)))?;
        self.file.read(section.offset.checked_add(within)?, section.bytes - within, max)
    }

    pub(super) fn build_id(&self) -> Option<BuildId> {
        let sections = self.sections_of(NOTE_SECTION).map(|section| (section.offset, section.bytes));
        let segments = self.segments.0.iter().filter(|segment| segment.kind == NOTE_SEGMENT);
        let all = sections.take(NOTES_MAX).chain(segments.map(|segment| (segment.offset, segment.file_bytes)));
        let mut notes =
            all.take(2 * NOTES_MAX).filter_map(|(offset, bytes)| self.file.read(offset, bytes, NOTES_BYTES_MAX));
        notes.find_map(|notes| build_id_in(&notes))
    }

    /// Returns the rows of the program header table, loaded segments and others.
    pub(super) fn segments(&self) -> &Segments {
        &self.segments
    }

    /// Returns the instruction set of the code; `None` if it cannot be decoded.
    pub(super) fn instruction_set(&self) -> Option<InstructionSet> {
        match (self.machine, self.is_64) {
            (X86, false) => Some(InstructionSet::X86),
            // The x32 interface has 64-bit code in 32-bit files.
            (X86_64, _) => Some(InstructionSet::X86_64),
            (ARM64, true) => Some(InstructionSet::Arm64),
            _ => None,
        }
    }

    /// Returns whether the code is 64-bit x86, with 64-bit tables.
    pub(super) fn is_x86_64(&self) -> bool {
        self.is_64 && self.machine == X86_64
    }

    /// Returns the bytes at link-time addresses, all of them in one segment.
    pub(super) fn bytes_at(&self, addresses: &std::ops::Range<u64>) -> Option<Vec<u8>> {
        let len = addresses.end.checked_sub(addresses.start)?;
        let mut loaded = self.segments.0.iter().filter(|segment| segment.kind == LOAD_SEGMENT);
        let offset = loaded.find_map(|segment| {
            let within = addresses.start.checked_sub(segment.address)?;
            (within.checked_add(len)? <= segment.file_bytes).then(|| segment.offset.checked_add(within))?
        })?;
        self.file.read(offset, len, len)
    }
}

impl ElfSection {
    /// Returns the offset of an address in the section.
    fn offset_of(&self, address: u64) -> Option<u64> {
        address.checked_sub(self.address).filter(|&offset| offset < self.bytes)
    }
}

impl Segments {
    /// Converts a file offset to a link-time address. Debug files have lost the offsets, and return `None`.
    pub(super) fn address_of_offset(&self, offset: u64) -> Option<u64> {
        let loaded = |segment: &&Segment| {
            segment.kind == LOAD_SEGMENT
                && offset.checked_sub(segment.offset).is_some_and(|within| within < segment.file_bytes)
        };
        let is_code = |segment: &&Segment| segment.flags & EXECUTABLE_SEGMENT != 0;
        let code = self.0.iter().filter(is_code).find(loaded).or_else(|| self.0.iter().find(loaded))?;
        code.address.checked_add(offset - code.offset)
    }

    /// Converts a file offset to a link-time address for a standalone debug file. Assumes that offsets and addresses of
    /// all segments differ by the same amount, as linkers usually lay them out. Returns `None` if no code is there.
    pub(super) fn address_of_lost_offset(&self, offset: u64) -> Option<u64> {
        let address = self.image_address()?.checked_add(offset)?;
        let holds = |segment: &Segment| {
            let is_code = segment.kind == LOAD_SEGMENT && segment.flags & EXECUTABLE_SEGMENT != 0;
            is_code && address.checked_sub(segment.address).is_some_and(|within| within < segment.memory_bytes)
        };
        self.0.iter().any(holds).then_some(address)
    }

    /// Returns the link-time address of the start of the file's image in memory.
    pub(super) fn image_address(&self) -> Option<u64> {
        self.0.iter().find(|segment| segment.kind == LOAD_SEGMENT).map(|segment| segment.address)
    }
}

/// Finds the build-id in notes: lengths of name and content, type, then both, aligned to 4.
pub(super) fn build_id_in(notes: &[u8]) -> Option<BuildId> {
    let mut fields = ElfFields { bytes: notes, is_64: false };
    loop {
        let (name_bytes, bytes, kind) = (fields.u32()? as usize, fields.u32()? as usize, fields.u32()?);
        let (name, rest) = fields.bytes.split_at_checked(name_bytes.checked_next_multiple_of(4)?)?;
        let content = rest.get(..bytes)?;
        if kind == BUILD_ID_NOTE && name.starts_with(b"GNU\0") {
            return BuildId::new(content);
        }
        fields.bytes = rest.get(bytes.checked_next_multiple_of(4)?..)?;
    }
}

/// Decompresses a section to `bytes`.
pub(super) fn unpack(method: u32, packed: &[u8], bytes: u64, max: u64) -> Option<Vec<u8>> {
    // zlib compresses at most a thousandfold; only constant data, which is not debug information, exceeds that with
    // zstd.
    if bytes > max || bytes / 2048 > packed.len() as u64 {
        return None;
    }
    let mut unpacked = Vec::with_capacity(usize::try_from(bytes).ok()?);
    let read = match method {
        ZLIB => flate2::read::ZlibDecoder::new(packed).take(bytes).read_to_end(&mut unpacked),
        ZSTD => zstd::stream::read::Decoder::new(packed).ok()?.take(bytes).read_to_end(&mut unpacked),
        _ => return None,
    };
    (read.ok()? as u64 == bytes).then_some(unpacked)
}

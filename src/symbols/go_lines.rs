//! The pclntab of Go programs: functions and lines for Go's own stack traces, present even without debug information
//! and symbols (`-ldflags "-s -w"`). Tables before Go 1.18 are rejected. `go_inlined` has the inlined functions;
//! without them, their lines belong to the enclosing function, as in `go tool addr2line`.

use std::cell::Cell;
use std::ops::Range;

use super::elf::{ElfFile, ElfSection};
use super::functions::FunctionTable;
use super::go_inlined::{GoInlined, GoLayout};
use super::go_module::GoModule;
use super::names::{AddressNames, AddressNamesBuilder, FunctionName};
use crate::base::bytes::{u32_at, u64_at};
use crate::base::demangle::demangle;

/// The sections of the table: in programs at fixed addresses, and in other programs.
const SECTIONS: [&str; 2] = [".gopclntab", ".data.rel.ro.gopclntab"];

/// The section into which GNU ld merges the second of these, and the alignment of the table in it.
const MERGED: &str = ".data.rel.ro";
const MERGED_ALIGNMENT: usize = 8;

/// Limit for the headers in that section that are tried; other data hardly ever looks like a header.
const HEADERS_MAX: usize = 8;

/// A section that all Go programs have.
const BUILD_INFO: &str = ".go.buildinfo";

/// Magics from Go 1.18 and from Go 1.20. The fields used are the same, except for inlined functions.
const MAGICS: [(u32, GoLayout); 2] = [(0xffff_fff0, GoLayout::GO_1_18), (0xffff_fff1, GoLayout::GO_1_20)];

/// Bytes per row of the function table: entry address, and offset of the description.
const ROW_BYTES: usize = 8;

/// The smallest steps of addresses, by processor.
const QUANTA: [u8; 3] = [1, 2, 4];

/// Minimum steps for reading lines, and steps per byte of the table.
const STEPS_MIN: u64 = 4 << 20;
const STEPS_PER_BYTE: u64 = 64;

/// The fields of the description of a function.
mod function_field {
    /// Offset of the entry from the first instruction.
    pub(super) const ENTRY: usize = 0;
    /// Offset of the name.
    pub(super) const NAME: usize = 1;
    /// Offset of the files by address.
    pub(super) const FILES: usize = 5;
    /// Offset of the lines by address.
    pub(super) const LINES: usize = 6;
    /// The number of tables of values by address.
    pub(super) const VALUE_TABLES: usize = 7;
    /// The first file of the unit.
    pub(super) const UNIT: usize = 8;
}

/// Position of the number of data tables in the last field before the tables: its upper byte.
const DATA_TABLES_SHIFT: u32 = 24;

/// Positions of the tables about inlined functions: the index by address, and the tree.
const INLINED_VALUES: usize = 2;
const INLINED_TREE: usize = 3;

/// Limit for functions inlined into each other.
const INLINED_MAX: usize = 64;

/// The table of a program.
#[derive(Debug)]
pub(super) struct GoLines {
    bytes: Vec<u8>,
    /// Address of the first instruction.
    text: u64,
    /// Size of the shortest instruction.
    quantum: u64,
    functions: u64,
    names_at: usize,
    units_at: usize,
    files_at: usize,
    numbers_at: usize,
    rows_at: usize,
    steps_left: Cell<u64>,
    inlined: Option<GoInlined>,
}

/// The header of a table.
struct TableHeader {
    layout: GoLayout,
    quantum: u8,
    /// Numbers and offsets: of the functions, the files, the first instruction, names, units, files, numbers and rows.
    words: [u64; 8],
}

/// Returns whether a file has such a table.
pub(super) fn has_go_lines(elf: &ElfFile) -> bool {
    SECTIONS.iter().any(|name| elf.named(name).is_some()) || merged_section(elf).is_some()
}

/// Returns the section of a Go program into which GNU ld merges the table.
fn merged_section(elf: &ElfFile) -> Option<&ElfSection> {
    elf.named(BUILD_INFO).and_then(|_| elf.named(MERGED))
}

impl TableHeader {
    fn read(elf: &ElfFile, bytes: &[u8]) -> Option<Self> {
        let magic = u32_at(bytes, 0)?;
        let &(_, layout) = MAGICS.iter().find(|(known, _)| *known == magic)?;
        // Two zeros, the quantum, and the size of an address.
        let &[0, 0, quantum, word_bytes] = bytes.get(4..8)? else { return None };
        if word_bytes != elf.address_bytes() || !QUANTA.contains(&quantum) {
            return None;
        }
        let mut words = [0; 8];
        for (row, word) in words.iter_mut().enumerate() {
            *word = if elf.is_64() { u64_at(bytes, 8 + row * 8)? } else { u32_at(bytes, 8 + row * 4)?.into() };
        }
        Some(Self { layout, quantum, words })
    }

    /// Finds the module's description, if the table is at an address.
    fn module(&self, elf: &ElfFile, address: u64, bytes_max: u64) -> Option<GoModule> {
        GoModule::find(elf, [address, address.checked_add(self.words[3])?], bytes_max)
    }
}

impl GoLines {
    /// Reads the table of a file; `None` without one, or if it exceeds `bytes_max`.
    pub(super) fn read(elf: &ElfFile, bytes_max: u64) -> Option<Self> {
        if let Some(section) = SECTIONS.iter().find_map(|name| elf.named(name)) {
            let bytes = elf.bytes_of(section, bytes_max)?;
            let header = TableHeader::read(elf, &bytes)?;
            let module = header.module(elf, section.address, bytes_max / 2);
            return Self::new(elf, bytes, &header, module.as_ref(), bytes_max / 2);
        }
        let section = merged_section(elf)?;
        let mut bytes = elf.bytes_of(section, bytes_max)?;
        let starts = (0..bytes.len()).step_by(MERGED_ALIGNMENT);
        let headers = starts.filter_map(|at| Some((at, TableHeader::read(elf, &bytes[at..])?)));
        let (at, header, module) = headers.take(HEADERS_MAX).find_map(|(at, header)| {
            let module = header.module(elf, section.address.checked_add(at as u64)?, bytes_max / 2)?;
            Some((at, header, module))
        })?;
        Self::new(elf, bytes.split_off(at), &header, Some(&module), bytes_max / 2)
    }

    fn new(
        elf: &ElfFile,
        bytes: Vec<u8>,
        header: &TableHeader,
        module: Option<&GoModule>,
        bytes_max: u64,
    ) -> Option<Self> {
        let &TableHeader { layout, quantum, words: [functions, _files, text, offsets @ ..] } = header;
        // From Go 1.26 on, only the module's description has the address of the first instruction.
        let text = if text == 0 { module?.text() } else { text };
        let inlined = module.filter(|_| elf.is_64()).and_then(|it| GoInlined::read(elf, it, layout, bytes_max));
        let steps = STEPS_MIN.saturating_add((bytes.len() as u64).saturating_mul(STEPS_PER_BYTE));
        let offset = |row: usize| usize::try_from(offsets[row]).ok();
        Some(Self {
            inlined,
            text,
            quantum: quantum.into(),
            functions,
            names_at: offset(0)?,
            units_at: offset(1)?,
            files_at: offset(2)?,
            numbers_at: offset(3)?,
            rows_at: offset(4)?,
            steps_left: Cell::new(steps),
            bytes,
        })
    }

    /// Resolves sorted addresses, given as pairs of the requested address and the address in the file. Addresses
    /// outside of Go's code have the functions of the symbol table.
    pub(super) fn names(&self, addresses: &[(u64, u64)], symbols: &FunctionTable) -> AddressNames {
        let mut builder = AddressNamesBuilder::default();
        for &(frame_address, address) in addresses {
            let symbol = || symbols.find(address).map(|name| (demangle(name), Default::default()));
            let functions = self.function(address).map(|at| self.functions(at, address));
            let functions = functions.unwrap_or_else(|| symbol().into_iter().collect());
            let functions = functions.iter().map(|(name, (file, line))| FunctionName { name, file, line: *line });
            builder.push(frame_address, functions);
        }
        builder.finish()
    }

    /// Returns the functions at an address with their lines, innermost first. `function` is the offset of the
    /// description of the enclosing function.
    fn functions(&self, function: usize, address: u64) -> Vec<(String, (String, u32))> {
        let mut functions = Vec::new();
        let mut at = address;
        let Some(name) = self.name(function).map(demangle) else { return functions };
        while functions.len() < INLINED_MAX
            && let Some((inlined, caller)) = self.inlined(function, at)
        {
            functions.push((inlined, self.line(function, at).unwrap_or_default()));
            at = caller;
        }
        functions.push((name, self.line(function, at).unwrap_or_default()));
        functions
    }

    /// Returns the function that was inlined at an address, and an address in its caller.
    fn inlined(&self, function: usize, address: u64) -> Option<(String, u64)> {
        let inlined = self.inlined.as_ref()?;
        let tables = inlined.layout.tables_field;
        let values = self.field(function, function_field::VALUE_TABLES)? as usize;
        let data = self.field(function, tables - 1)? >> DATA_TABLES_SHIFT;
        if values <= INLINED_VALUES || data as usize <= INLINED_TREE {
            return None;
        }
        let entry = self.text.checked_add(self.field(function, function_field::ENTRY)?.into())?;
        let index = self.value(self.field(function, tables + INLINED_VALUES)?, entry, address)?;
        let tree = self.field(function, tables.checked_add(values)? + INLINED_TREE)?;
        let call = inlined.call(tree, u32::try_from(index).ok()?)?;
        let name = self.text_at(self.names_at, call.name).filter(|name| !name.is_empty())?;
        Some((demangle(name), entry.checked_add(call.caller_offset.into())?))
    }

    /// Returns bounds and name of the function that contains an address, up to the next function.
    pub(super) fn range_at(&self, address: u64) -> Option<(Range<u64>, &[u8])> {
        let (offsets, function) = self.row(address)?;
        let range = self.text.checked_add(offsets.start.into())?..self.text.checked_add(offsets.end.into())?;
        Some((range, self.name(function)?))
    }

    /// Returns the offset of the description of the function at an address.
    fn function(&self, address: u64) -> Option<usize> {
        self.row(address).map(|(_, function)| function)
    }

    /// Returns the function at an address: its bounds from the first instruction, and the offset of its description.
    fn row(&self, address: u64) -> Option<(Range<u32>, usize)> {
        let offset = u32::try_from(address.checked_sub(self.text)?).ok()?;
        let rows = self.bytes.get(self.rows_at..)?;
        // The row after the last has the end of the code.
        let count = usize::try_from(self.functions).ok()?.min((rows.len() / ROW_BYTES).saturating_sub(1));
        let start = |row: usize| u32_at(rows, row * ROW_BYTES).unwrap_or(u32::MAX);
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low.midpoint(high);
            if start(middle) <= offset { low = middle + 1 } else { high = middle }
        }
        let row = low.checked_sub(1)?;
        let offsets = start(row)..start(row + 1);
        let described = u32_at(rows, row * ROW_BYTES + 4)? as usize;
        offsets.contains(&offset).then_some((offsets, self.rows_at.checked_add(described)?))
    }

    /// Returns a 4-byte field of a function's description, by index.
    fn field(&self, function: usize, index: usize) -> Option<u32> {
        u32_at(&self.bytes, function.checked_add(index * 4)?)
    }

    fn name(&self, function: usize) -> Option<&[u8]> {
        let name = self.text_at(self.names_at, self.field(function, function_field::NAME)?)?;
        (!name.is_empty()).then_some(name)
    }

    /// Returns file and line of an address in a function.
    fn line(&self, function: usize, address: u64) -> Option<(String, u32)> {
        let entry = self.text.checked_add(self.field(function, function_field::ENTRY)?.into())?;
        let file = self.value(self.field(function, function_field::FILES)?, entry, address)?;
        let line = self.value(self.field(function, function_field::LINES)?, entry, address)?;
        // The files of a unit are indices into a global table.
        let row = u32::try_from(file).ok()?.checked_add(self.field(function, function_field::UNIT)?)?;
        let file = u32_at(&self.bytes, self.units_at.checked_add(row as usize * 4)?)?;
        let file = String::from_utf8_lossy(self.text_at(self.files_at, file)?).into_owned();
        Some((file, u32::try_from(line).ok()?))
    }

    /// Returns the value at an address of a delta-encoded table.
    fn value(&self, table: u32, entry: u64, address: u64) -> Option<i32> {
        let mut rest = self.bytes.get(self.numbers_at.checked_add(table as usize)?..)?;
        let (mut value, mut end, mut is_first) = (-1i32, entry, true);
        // Offset 0 means no table.
        if table == 0 {
            return None;
        }
        loop {
            self.steps_left.set(self.steps_left.get().checked_sub(1)?);
            let step = number(&mut rest)?;
            if step == 0 && !is_first {
                return None;
            }
            is_first = false;
            let magnitude = (step >> 1) as i32;
            value = value.wrapping_add(if step & 1 == 1 { !magnitude } else { magnitude });
            end = end.checked_add(u64::from(number(&mut rest)?).checked_mul(self.quantum)?)?;
            if address < end {
                return Some(value);
            }
        }
    }

    /// Returns the zero-terminated text at an offset of a table.
    fn text_at(&self, table: usize, offset: u32) -> Option<&[u8]> {
        /// The longest path of Linux; names are shorter.
        const TEXT_BYTES_MAX: usize = 4096;
        let rest = self.bytes.get(table.checked_add(offset as usize)?..)?;
        let rest = &rest[..rest.len().min(TEXT_BYTES_MAX)];
        memchr::memchr(0, rest).map(|end| &rest[..end])
    }
}

/// Reads a variable-length number of 7 bits per byte.
fn number(bytes: &mut &[u8]) -> Option<u32> {
    let mut number = 0u32;
    for shift in (0..35).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u32::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

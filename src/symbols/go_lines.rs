//! The table of functions and lines that every program of Go carries for its own stack traces, also where debug
//! information and symbols were left out (`-ldflags "-s -w"`). Refuses tables of Go before 1.18. A function that was
//! inlined is not named apart: its lines are those of the function around it, as `go tool addr2line` prints them.

use std::cell::Cell;

use super::demangle::demangle;
use super::elf::ElfFile;
use super::names::{AddressNames, AddressNamesBuilder, FunctionName};

/// The sections that have the table, of programs at a fixed address and of others.
const SECTIONS: [&str; 2] = [".gopclntab", ".data.rel.ro.gopclntab"];

/// How tables begin, from Go 1.18 and from 1.20 on. What is read of both is the same.
const MAGICS: [u32; 2] = [0xffff_fff0, 0xffff_fff1];

/// The bytes of a row of the table of functions: where the function begins, and where it is described.
const ROW_BYTES: usize = 8;

/// Steps that reading lines takes at least, and for each byte of the table.
const STEPS_MIN: u64 = 4 << 20;
const STEPS_PER_BYTE: u64 = 64;

/// The table of a program.
#[derive(Debug)]
pub(super) struct GoLines {
    bytes: Vec<u8>,
    /// The address of the first instruction.
    text: u64,
    /// The bytes of the shortest instruction.
    quantum: u64,
    functions: u64,
    names_at: usize,
    units_at: usize,
    files_at: usize,
    numbers_at: usize,
    rows_at: usize,
    steps_left: Cell<u64>,
}

/// Whether a file has such a table.
pub(super) fn has_go_lines(elf: &ElfFile) -> bool {
    SECTIONS.iter().any(|name| elf.named(name).is_some())
}

impl GoLines {
    /// Reads the table of a file; `None` without one, or if it takes more than `bytes_max`.
    pub(super) fn read(elf: &ElfFile, bytes_max: u64) -> Option<Self> {
        let section = SECTIONS.iter().find_map(|name| elf.named(name))?;
        let bytes = elf.bytes_of(section, bytes_max)?;
        let is_known = MAGICS.contains(&u32_at(&bytes, 0)?);
        // Two zeros, the quantum, and the size of an address.
        let &[0, 0, quantum, word_bytes] = bytes.get(4..8)? else { return None };
        if !is_known || word_bytes != elf.address_bytes() || !matches!(quantum, 1 | 2 | 4) {
            return None;
        }
        let word = |row: usize| match word_bytes {
            4 => u32_at(&bytes, 8 + row * 4).map(u64::from),
            _ => Some(u64::from_le_bytes(*bytes.get(8 + row * 8..)?.first_chunk()?)),
        };
        let offset = |row: usize| usize::try_from(word(row)?).ok();
        let (functions, _files, text) = (word(0)?, word(1)?, word(2)?);
        // Programs that may run anywhere have it only once they are loaded.
        let text = if text == 0 { elf.named(".text")?.address } else { text };
        let steps = STEPS_MIN.saturating_add((bytes.len() as u64).saturating_mul(STEPS_PER_BYTE));
        Some(Self {
            text,
            quantum: quantum.into(),
            functions,
            names_at: offset(3)?,
            units_at: offset(4)?,
            files_at: offset(5)?,
            numbers_at: offset(6)?,
            rows_at: offset(7)?,
            steps_left: Cell::new(steps),
            bytes,
        })
    }

    /// The names of pairs of the address that is asked for and that in the file, in order.
    pub(super) fn names(&self, addresses: &[(u64, u64)]) -> AddressNames {
        let mut builder = AddressNamesBuilder::default();
        for &(asked, address) in addresses {
            let function = self.function(address);
            let name = function.and_then(|at| self.name(at)).map(demangle);
            let line = name.is_some().then(|| self.line(function?, address)).flatten();
            let (file, line) = line.unwrap_or_default();
            builder.push(asked, name.iter().map(|name| FunctionName { name, file: &file, line }));
        }
        builder.finish()
    }

    /// The offset of the description of the function at an address.
    fn function(&self, address: u64) -> Option<usize> {
        let offset = u32::try_from(address.checked_sub(self.text)?).ok()?;
        let rows = self.bytes.get(self.rows_at..)?;
        // The row after the last says where the code ends.
        let count = usize::try_from(self.functions).ok()?.min((rows.len() / ROW_BYTES).saturating_sub(1));
        let start = |row: usize| u32_at(rows, row * ROW_BYTES).unwrap_or(u32::MAX);
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low.midpoint(high);
            if start(middle) <= offset { low = middle + 1 } else { high = middle }
        }
        let row = low.checked_sub(1)?;
        if offset >= start(row + 1) {
            return None;
        }
        let described = u32_at(rows, row * ROW_BYTES + 4)? as usize;
        self.rows_at.checked_add(described)
    }

    /// A field of a function's description, by its place among numbers of 4 bytes.
    fn field(&self, function: usize, place: usize) -> Option<u32> {
        u32_at(&self.bytes, function.checked_add(place * 4)?)
    }

    fn name(&self, function: usize) -> Option<&[u8]> {
        let name = self.text_at(self.names_at, self.field(function, 1)?)?;
        (!name.is_empty()).then_some(name)
    }

    /// The file and the line at an address in a function.
    fn line(&self, function: usize, address: u64) -> Option<(String, u32)> {
        let entry = self.text.checked_add(self.field(function, 0)?.into())?;
        let file = self.value(self.field(function, 5)?, entry, address)?;
        let line = self.value(self.field(function, 6)?, entry, address)?;
        // The files of a unit are rows in a table of all.
        let row = u32::try_from(file).ok()?.checked_add(self.field(function, 8)?)?;
        let file = u32_at(&self.bytes, self.units_at.checked_add(row as usize * 4)?)?;
        let file = String::from_utf8_lossy(self.text_at(self.files_at, file)?).into_owned();
        Some((file, u32::try_from(line).ok()?))
    }

    /// The value at an address of a table of numbers: steps of the value, and of the address for which it holds.
    fn value(&self, table: u32, entry: u64, address: u64) -> Option<i32> {
        let mut rest = self.bytes.get(self.numbers_at.checked_add(table as usize)?..)?;
        let (mut value, mut end, mut is_first) = (-1i32, entry, true);
        // Offset 0 is no table.
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

    /// The text at an offset in a table, up to its zero.
    fn text_at(&self, table: usize, offset: u32) -> Option<&[u8]> {
        /// The longest path of Linux; names are shorter.
        const TEXT_BYTES_MAX: usize = 4096;
        let rest = self.bytes.get(table.checked_add(offset as usize)?..)?;
        let rest = &rest[..rest.len().min(TEXT_BYTES_MAX)];
        memchr::memchr(0, rest).map(|end| &rest[..end])
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

/// Takes a number of 7 bits a byte from the front.
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

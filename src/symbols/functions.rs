//! The symbol table of a file: functions sorted by address. The naive way scans all symbols for each address.

use super::elf::{DYNAMIC_SYMBOLS, ElfFile, SYMBOL_BYTES, SYMBOLS};
use super::plt::{self, PltStub};
use super::separate::mini_debug_info;

/// Rank of stubs: any symbol at their address wins.
const STUB_RANK: u8 = u8::MAX;

/// Functions by address. Names are ranges of the string table.
#[derive(Debug, Default)]
pub(super) struct FunctionTable {
    /// Functions with distinct, sorted addresses.
    rows: Vec<SymbolRow>,
    names: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct SymbolRow {
    pub(super) address: u64,
    /// Up to the end of its section if the size is unknown; the next function takes precedence.
    pub(super) bytes: u64,
    name: u32,
    /// Rank among functions at one address; the lowest wins.
    rank: u8,
}

impl FunctionTable {
    /// Reads the functions of a file from its symbol table. Without a symbol table, the dynamic table has the exported
    /// functions, and the compressed table the others. Returns `None` without functions.
    pub(super) fn read(elf: &ElfFile, bytes_max: u64) -> Option<Self> {
        let read = |elf: &ElfFile, kind: u32| {
            let symbols = elf.sections_of(kind).next()?;
            let names = elf.bytes_of(elf.section(symbols.link)?, bytes_max)?;
            let rows = rows(elf, &elf.bytes_of(symbols, bytes_max)?, &names);
            (!rows.is_empty()).then_some(Self { rows, names })
        };
        read(elf, SYMBOLS).or_else(|| {
            let packed = mini_debug_info(elf, bytes_max).and_then(|packed| read(&packed, SYMBOLS));
            match (packed, read(elf, DYNAMIC_SYMBOLS)) {
                (Some(packed), Some(dynamic)) => Some(packed.with(dynamic)),
                (packed, dynamic) => packed.or(dynamic),
            }
        })
    }

    /// Adds the functions of another table; of two functions at one address, the better one is kept.
    fn with(mut self, others: Self) -> Self {
        let after = self.names.len() as u32;
        let moved =
            others.rows.into_iter().filter_map(|row| Some(SymbolRow { name: row.name.checked_add(after)?, ..row }));
        self.rows.extend(moved);
        self.names.extend(others.names);
        sort(&mut self.rows);
        self
    }

    /// Adds the stubs of a file, through which it calls functions of other files.
    pub(super) fn with_stubs(mut self, elf: &ElfFile, bytes_max: u64) -> Self {
        for PltStub { address, bytes, name } in plt::stubs(elf, |address| self.find(address), bytes_max) {
            let Ok(start) = u32::try_from(self.names.len()) else { break };
            self.names.extend(name);
            self.names.push(0);
            self.rows.push(SymbolRow { address, bytes, name: start, rank: STUB_RANK });
        }
        sort(&mut self.rows);
        self
    }

    /// Returns the function that contains an address.
    pub(super) fn find(&self, address: u64) -> Option<&[u8]> {
        let after = self.rows.partition_point(|row| row.address <= address);
        let row = self.rows.get(after.checked_sub(1)?)?;
        (address - row.address < row.bytes).then(|| self.name(row))
    }

    /// Returns bounds and name of the function that contains an address, up to the next function.
    pub(super) fn range_at(&self, address: u64) -> Option<(std::ops::Range<u64>, &[u8])> {
        let after = self.rows.partition_point(|row| row.address <= address);
        let row = self.rows.get(after.checked_sub(1)?)?;
        let next = self.rows.get(after).map_or(u64::MAX, |next| next.address);
        let range = row.address..row.address.saturating_add(row.bytes).min(next);
        range.contains(&address).then(|| (range, self.name(row)))
    }

    /// Returns the address of a function.
    pub(super) fn address_of(&self, name: &[u8]) -> Option<u64> {
        self.rows.iter().find(|row| self.name(row) == name).map(|row| row.address)
    }

    fn name(&self, row: &SymbolRow) -> &[u8] {
        let rest = self.names.get(row.name as usize..).unwrap_or_default();
        &rest[..memchr::memchr(0, rest).unwrap_or(rest.len())]
    }
}

fn rows(elf: &ElfFile, symbols: &[u8], names: &[u8]) -> Vec<SymbolRow> {
    const FUNCTION: u8 = 2;
    const INDIRECT_FUNCTION: u8 = 10;
    const UNTYPED: u8 = 0;
    const WEAK: u8 = 2;
    const GLOBAL: u8 = 1;
    let is_64 = elf.is_64();
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |number, &byte| number << 8 | u64::from(byte));
    let row = |symbol: &[u8]| {
        let name = number(&symbol[..4]) as u32;
        let (info, section, address, bytes) = if is_64 {
            (symbol[4], number(&symbol[6..8]), number(&symbol[8..16]), number(&symbol[16..24]))
        } else {
            (symbol[12], number(&symbol[14..16]), number(&symbol[4..8]), number(&symbol[8..12]))
        };
        let first = *names.get(name as usize)?;
        // Assembly has functions without a type. Compiler labels start with a dot, assembler marks with `$`.
        let is_function = match info & 15 {
            FUNCTION | INDIRECT_FUNCTION => first != 0,
            UNTYPED => ![0, b'.', b'$'].contains(&first) && elf.is_code(section as u16),
            _ => false,
        };
        if section == 0 || !is_function {
            return None;
        }
        let binding = match info >> 4 {
            GLOBAL => 0,
            WEAK => 1,
            _ => 2,
        };
        let rank =
            u8::from(bytes == 0) << 4 | u8::from(info & 15 == UNTYPED) << 3 | binding << 1 | u8::from(first == b'_');
        let rest = || elf.end_of(section as u16).map_or(0, |end| end.saturating_sub(address));
        let bytes = if bytes == 0 { rest() } else { bytes };
        Some(SymbolRow { address, bytes, name, rank })
    };
    let mut rows: Vec<_> = symbols.chunks_exact(SYMBOL_BYTES[usize::from(!is_64)]).filter_map(row).collect();
    sort(&mut rows);
    rows
}

/// Sorts functions by address, and keeps the best of each address.
fn sort(rows: &mut Vec<SymbolRow>) {
    rows.sort_by_key(|row| (row.address, row.rank));
    rows.dedup_by_key(|row| row.address);
    rows.shrink_to_fit();
}

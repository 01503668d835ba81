//! The unwind tables of one module: `.eh_frame` of programs, and `.debug_frame` of debug files. The naive way scans all
//! entries for each frame; here they are sorted by address once. Entries up to the first damaged one are used.

use gimli::{
    BaseAddresses, CfaRule, CieOrFde, DebugFrame, EhFrame, FrameDescriptionEntry, RegisterRule, UnwindContext,
    UnwindExpression, UnwindSection,
};

use super::rule::{FrameRule, FrameStart, RegisterLocation};
use crate::model::ModuleKind;
use crate::symbols::elf::{ElfFile, Segments};
use crate::symbols::fuel::{Fuel, FuelPool, FuelledSlice};
use crate::symbols::search::ModuleSearch;

const EH_FRAME: &str = ".eh_frame";
const DEBUG_FRAME: &str = ".debug_frame";

/// Steps for one rule: functions of a few megabytes take a few thousand.
const RULE_STEPS: u64 = 128 * 1024;

/// Steps per byte while listing the entries of a table with their common parts.
const STEPS_PER_BYTE: u64 = 16;

/// Size limit of an expression; expressions of signal frames have some bytes.
const EXPRESSION_BYTES_MAX: usize = 256;

/// The tables of a module.
#[derive(Debug)]
pub(super) struct UnwindTables {
    kind: ModuleKind,
    /// The segments of the found files, in order.
    segments: Vec<Segments>,
    sections: Vec<FrameSection>,
}

/// `.eh_frame` or `.debug_frame`, with its addresses.
#[derive(Debug)]
struct FrameSection {
    is_eh: bool,
    bytes: Vec<u8>,
    bases: BaseAddresses,
    /// Entries sorted by start address.
    entries: Vec<EntryRow>,
}

/// The addresses of an entry, and its offset.
#[derive(Debug, Clone, Copy)]
struct EntryRow {
    start: u64,
    end: u64,
    offset: usize,
}

/// Returns whether a file has unwind tables.
pub(super) fn has_tables(elf: &ElfFile) -> bool {
    elf.is_x86_64() && [EH_FRAME, DEBUG_FRAME].iter().any(|name| elf.named(name).is_some())
}

impl UnwindTables {
    /// Reads the tables of a module's files; `None` without any, or if they exceed `bytes_max`.
    pub(super) fn read(search: &ModuleSearch, kind: ModuleKind, bytes_max: u64) -> Option<Self> {
        let segments = search.files.iter().map(|file| file.elf.segments().clone()).collect();
        let mut tables = Self { kind, segments, sections: Vec::new() };
        for (name, is_eh) in [(EH_FRAME, true), (DEBUG_FRAME, false)] {
            let mut elves = search.files.iter().map(|file| &file.elf).filter(|elf| elf.is_x86_64());
            let left = bytes_max.saturating_sub(tables.bytes());
            tables.sections.extend(elves.find_map(|elf| FrameSection::read(elf, name, is_eh, left)));
        }
        (!tables.sections.is_empty()).then_some(tables)
    }

    /// Returns the memory of the tables.
    pub(super) fn bytes(&self) -> u64 {
        let rows = |section: &FrameSection| section.entries.capacity() * size_of::<EntryRow>();
        self.sections.iter().map(|section| (section.bytes.len() + rows(section)) as u64).sum()
    }

    /// Returns the rule for an address of the module's kind. Subtracts the steps from `steps_left`.
    pub(super) fn rule(&self, address: u64, steps_left: &mut u64) -> Option<FrameRule> {
        let linked = self.segments.iter().find_map(|segments| segments.address_of_offset(address));
        let lost = || self.segments.first()?.address_of_lost_offset(address);
        debug_assert!(matches!(self.kind, ModuleKind::File | ModuleKind::Vdso));
        let linked = linked.or_else(lost)?;
        self.sections.iter().find_map(|section| section.rule(linked, steps_left))
    }
}

impl FrameSection {
    fn read(elf: &ElfFile, name: &str, is_eh: bool, bytes_max: u64) -> Option<Self> {
        let section = elf.named(name)?;
        // Each entry also takes a row, which is smaller than the entry.
        let bytes = elf.bytes_of(section, bytes_max / 2)?;
        let address_of = |name: &str| elf.named(name).map(|section| section.address);
        let mut bases = BaseAddresses::default().set_eh_frame(section.address);
        if let Some(text) = address_of(".text") {
            bases = bases.set_text(text);
        }
        if let Some(got) = address_of(".got") {
            bases = bases.set_got(got);
        }
        let mut section = Self { is_eh, bytes, bases, entries: Vec::new() };
        section.entries = section.list();
        Some(section)
    }

    /// Lists the entries by address.
    fn list(&self) -> Vec<EntryRow> {
        let pool = FuelPool::new((self.bytes.len() as u64).saturating_mul(STEPS_PER_BYTE).saturating_add(1 << 16));
        let fuel = Fuel::new(&pool);
        let mut rows = if self.is_eh {
            rows_of(&self.eh_frame(&fuel), &self.bases)
        } else {
            rows_of(&self.debug_frame(&fuel), &self.bases)
        };
        rows.sort_by_key(|row| row.start);
        rows.shrink_to_fit();
        rows
    }

    fn eh_frame<'a, 'f>(&'a self, fuel: &'f Fuel<'f>) -> EhFrame<FuelledSlice<'a, 'f>> {
        let mut section = EhFrame::from(FuelledSlice::new(&self.bytes, fuel));
        section.set_address_size(8);
        section
    }

    fn debug_frame<'a, 'f>(&'a self, fuel: &'f Fuel<'f>) -> DebugFrame<FuelledSlice<'a, 'f>> {
        let mut section = DebugFrame::from(FuelledSlice::new(&self.bytes, fuel));
        section.set_address_size(8);
        section
    }

    /// Returns the rule for a link-time address.
    fn rule(&self, address: u64, steps_left: &mut u64) -> Option<FrameRule> {
        let after = self.entries.partition_point(|row| row.start <= address);
        let row = self.entries[..after].last().filter(|row| address < row.end)?;
        let steps = RULE_STEPS.min(*steps_left);
        let pool = FuelPool::new(steps);
        let rule = {
            let fuel = Fuel::new(&pool);
            if self.is_eh {
                rule_of(&self.eh_frame(&fuel), &self.bases, row.offset, address)
            } else {
                rule_of(&self.debug_frame(&fuel), &self.bases, row.offset, address)
            }
        };
        *steps_left -= steps - pool.remaining();
        rule.ok().flatten()
    }
}

type Section<'a, 'f> = FuelledSlice<'a, 'f>;

/// Lists the entries of a section up to the first damaged one.
fn rows_of<'a: 'f, 'f, S: UnwindSection<Section<'a, 'f>>>(section: &S, bases: &BaseAddresses) -> Vec<EntryRow> {
    let mut rows = Vec::new();
    let mut entries = section.entries(bases);
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else { continue };
        let Ok(entry) = partial.parse(S::cie_from_offset) else { continue };
        let (start, end, offset) = (entry.initial_address(), entry.end_address(), entry.offset());
        if start < end {
            rows.push(EntryRow { start, end, offset });
        }
    }
    rows
}

/// Returns the rule of the entry at an offset for an address; `None` if it cannot be applied.
fn rule_of<'a: 'f, 'f, S: UnwindSection<Section<'a, 'f>>>(
    section: &S,
    bases: &BaseAddresses,
    offset: usize,
    address: u64,
) -> gimli::Result<Option<FrameRule>> {
    let entry: FrameDescriptionEntry<Section<'a, 'f>> =
        section.fde_from_offset(bases, S::Offset::from(offset), S::cie_from_offset)?;
    let mut context: UnwindContext<usize> = UnwindContext::new();
    let row = entry.unwind_info_for_address(section, bases, &mut context, address)?;
    let expression = |expression: &UnwindExpression<usize>| -> Option<Box<[u8]>> {
        let bytes = expression.get(section).ok()?.0.bytes();
        (bytes.len() <= EXPRESSION_BYTES_MAX).then(|| bytes.into())
    };
    let frame = match row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => {
            u8::try_from(register.0).ok().map(|register| FrameStart::Register(register, *offset))
        }
        CfaRule::Expression(bytes) => expression(bytes).map(FrameStart::Expression),
    };
    let Some(frame) = frame else { return Ok(None) };
    let return_address = entry.cie().return_address_register();
    let mut registers = Vec::new();
    for (register, rule) in row.registers() {
        let location = match rule {
            RegisterRule::Offset(offset) => Some(RegisterLocation::At(*offset)),
            RegisterRule::ValOffset(offset) => Some(RegisterLocation::Value(*offset)),
            RegisterRule::Register(other) => u8::try_from(other.0).ok().map(RegisterLocation::Register),
            RegisterRule::Constant(value) => Some(RegisterLocation::Constant(*value)),
            RegisterRule::Expression(bytes) => expression(bytes).map(RegisterLocation::AtExpression),
            RegisterRule::ValExpression(bytes) => expression(bytes).map(RegisterLocation::Expression),
            RegisterRule::SameValue if *register != return_address => continue,
            _ => Some(RegisterLocation::Undefined),
        };
        if let (Ok(number), Some(location)) = (u8::try_from(register.0), location) {
            registers.push((number, location));
        }
    }
    registers.sort_unstable_by_key(|(number, _)| *number);
    Ok(Some(FrameRule { frame, registers: registers.into(), is_signal: entry.is_signal_trampoline() }))
}

//! The decompressed sections of debug information, read with a thread's fuel. Rejects sections beyond a total size.

use std::convert::Infallible;
use std::ops::Range;

use gimli::{DebugCuIndex, Dwarf, DwoId, SectionId, Unit};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::symbols::elf::ElfFile;
use crate::symbols::fuel::{Fuel, FuelPool, FuelledSlice};

/// The sections with names and lines.
const SECTIONS: [SectionId; 9] = [
    SectionId::DebugInfo,
    SectionId::DebugAbbrev,
    SectionId::DebugLine,
    SectionId::DebugStr,
    SectionId::DebugLineStr,
    SectionId::DebugRanges,
    SectionId::DebugRngLists,
    SectionId::DebugAddr,
    SectionId::DebugStrOffsets,
];

/// The section of a `.dwp` file with the ids of its units.
const PACKAGE_INDEX: [SectionId; 1] = [SectionId::DebugCuIndex];

/// The sections of a `.dwo` or `.dwp` file by which a unit and its id are read.
const SPLIT_UNITS: [SectionId; 3] = [SectionId::DebugInfo, SectionId::DebugAbbrev, SectionId::DebugLine];

/// The other sections of a `.dwo` or `.dwp` file with names and lines.
const SPLIT_TEXTS: [SectionId; 3] = [SectionId::DebugStr, SectionId::DebugStrOffsets, SectionId::DebugRngLists];

/// Steps per byte of debug information; real files need less than one.
const STEPS_PER_BYTE: u64 = 8;

/// Steps per id looked up in the index of a package.
const STEPS_PER_ID: u64 = 64;

/// Minimum steps, for small files.
const STEPS_MIN: u64 = 4 << 20;

pub(super) type SectionReader<'a, 'f> = FuelledSlice<'a, 'f>;

/// The debug information of a file.
#[derive(Debug, Default)]
pub(in crate::symbols) struct DebugInfo {
    sections: DebugSections,
    /// The part that several debug files share, in another file.
    shared: Option<Box<Self>>,
    /// Files with the functions of skeleton units.
    split: Vec<DebugSections>,
    /// Index in `split` of the file of a unit, by the unit's id.
    split_by_id: FxHashMap<u64, usize>,
    bytes: u64,
    code: CodeRanges,
}

/// Sorted addresses of the sections with code; none if they are unknown.
#[derive(Debug, Default)]
pub(super) struct CodeRanges(Vec<Range<u64>>);

/// Decompressed sections of one file.
#[derive(Debug, Default)]
struct DebugSections(Vec<(SectionId, Vec<u8>)>);

/// A unit of a `.dwo` or `.dwp` file, with the sections to read it.
#[derive(Debug)]
pub(super) struct SplitPart<'a, 'f> {
    pub(super) dwarf: Dwarf<SectionReader<'a, 'f>>,
    pub(super) unit: Unit<SectionReader<'a, 'f>>,
}

/// The debug information exceeds the limit, or is damaged.
#[derive(Debug, Clone, Copy)]
pub(in crate::symbols) struct InfoTooLarge;

impl DebugInfo {
    /// Reads the sections of a file, at most `bytes_max` in total. Returns `Ok(None)` if it has none.
    pub(in crate::symbols) fn read(elf: &ElfFile, bytes_max: u64) -> Result<Option<Self>, InfoTooLarge> {
        let Some(_) = elf.named(SectionId::DebugInfo.name()) else { return Ok(None) };
        let (sections, bytes) = DebugSections::read(elf, SECTIONS.map(|id| (id, id.name())), bytes_max)?;
        Ok(Some(Self { sections, bytes, code: CodeRanges::from_elf(elf), ..Self::default() }))
    }

    /// Adds the shared debug file. Damage there only loses its names.
    pub(in crate::symbols) fn with_shared(mut self, elf: &ElfFile, bytes_max: u64) -> Self {
        if let Ok(Some(shared)) = Self::read(elf, bytes_max.saturating_sub(self.bytes)) {
            self.bytes += shared.bytes;
            self.shared = Some(Box::new(shared));
        }
        self
    }

    /// Adds a `.dwo` or `.dwp` file if it has one of these units. Returns the ids of its units among `ids`. All files
    /// together stay within `bytes_max`; of a file without these units, only the ids are read.
    pub(in crate::symbols) fn add_split(&mut self, elf: &ElfFile, ids: &FxHashSet<u64>, bytes_max: u64) -> Vec<u64> {
        let added = self.split_with(elf, ids, bytes_max.saturating_sub(self.bytes));
        let Some((sections, bytes, new_ids)) = added else { return Vec::new() };
        self.split_by_id.extend(new_ids.iter().map(|&id| (id, self.split.len())));
        self.split.push(sections);
        self.bytes += bytes;
        new_ids
    }

    /// Reads a `.dwo` or `.dwp` file: its sections, their size, and the ids of its units among `ids`. Returns `None` if
    /// it has no such unit.
    fn split_with(
        &self,
        elf: &ElfFile,
        ids: &FxHashSet<u64>,
        bytes_max: u64,
    ) -> Option<(DebugSections, u64, Vec<u64>)> {
        let read = |ids: &[SectionId], read: u64| {
            let named = ids.iter().map(|id| (*id, id.dwo_name().unwrap_or(id.name())));
            DebugSections::read(elf, named, bytes_max.saturating_sub(read)).ok()
        };
        let (mut sections, mut bytes) = read(&PACKAGE_INDEX, 0)?;
        let is_package = bytes > 0;
        let mut add = |sections: &mut DebugSections, ids: &[SectionId]| {
            let (more, more_bytes) = read(ids, bytes)?;
            sections.0.extend(more.0);
            bytes += more_bytes;
            Some(bytes)
        };
        let held_ids = if is_package {
            sections.packed_ids(ids)
        } else {
            let bytes = add(&mut sections, &SPLIT_UNITS)?;
            let pool = FuelPool::new(STEPS_MIN.saturating_add(bytes));
            let fuel = Fuel::new(&pool);
            sections.unit_ids(ids, &self.dwarf(&fuel), &fuel)
        };
        if held_ids.is_empty() {
            return None;
        }
        if is_package {
            add(&mut sections, &SPLIT_UNITS)?;
        }
        let bytes = add(&mut sections, &SPLIT_TEXTS)?;
        let pool = FuelPool::new(STEPS_MIN.saturating_add(bytes));
        let fuel = Fuel::new(&pool);
        let parent = self.dwarf(&fuel);
        let has_unit = |id: &u64| sections.split_unit(DwoId(*id), &parent, &fuel).is_some();
        let held_ids: Vec<u64> = held_ids.into_iter().filter(has_unit).collect();
        (!held_ids.is_empty()).then_some((sections, bytes, held_ids))
    }

    /// Returns the split part of a unit, whose skeleton is `parent`; `None` if its file was not added.
    pub(super) fn split_unit<'a, 'f>(
        &'a self,
        id: DwoId,
        parent: &Dwarf<SectionReader<'a, 'f>>,
        fuel: &'f Fuel<'f>,
    ) -> Option<SplitPart<'a, 'f>> {
        self.split[*self.split_by_id.get(&id.0)?].split_unit(id, parent, fuel)
    }

    /// Returns the sections, read with a thread's fuel.
    pub(super) fn dwarf<'a, 'f>(&'a self, fuel: &'f Fuel<'f>) -> Dwarf<SectionReader<'a, 'f>> {
        let mut dwarf = self.sections.dwarf(fuel);
        if let Some(shared) = &self.shared {
            dwarf.set_sup(shared.dwarf(fuel));
        }
        dwarf
    }

    pub(super) fn code(&self) -> &CodeRanges {
        &self.code
    }

    /// Returns the fuel for reading.
    pub(super) fn steps(&self) -> FuelPool {
        FuelPool::new(STEPS_MIN.saturating_add(self.bytes.saturating_mul(STEPS_PER_BYTE)))
    }
}

impl CodeRanges {
    fn from_elf(elf: &ElfFile) -> Self {
        let mut ranges: Vec<_> = elf.code().filter(|range| !range.is_empty()).collect();
        ranges.sort_unstable_by_key(|range| range.start);
        Self(ranges)
    }

    /// Returns whether a function that starts at an address is part of the program. Functions dropped by the linker
    /// keep their size at an address without code, mostly 0, and would claim the code of other functions.
    pub(super) fn has(&self, start: u64) -> bool {
        let after = self.0.partition_point(|range| range.start <= start);
        self.0.is_empty() || after.checked_sub(1).is_some_and(|row| self.0[row].contains(&start))
    }
}

impl<'a, 'f> SplitPart<'a, 'f> {
    /// Adds the data of the skeleton unit: addresses, and the compilation directory.
    pub(super) fn with_skeleton(mut self, skeleton: &Unit<SectionReader<'a, 'f>>) -> Self {
        let unit = &mut self.unit;
        unit.copy_relocated_attributes(skeleton);
        unit.comp_dir = unit.comp_dir.or(skeleton.comp_dir);
        if unit.line_program.is_none() {
            // Without an attribute, the line table is the first of the section.
            let (folder, name) = (unit.comp_dir, unit.name);
            let start = gimli::DebugLineOffset(0);
            unit.line_program = self.dwarf.debug_line.program(start, unit.header.address_size(), folder, name).ok();
        }
        self
    }
}

impl DebugSections {
    /// Reads sections by name, at most `bytes_max` in total, and returns their size.
    fn read(
        elf: &ElfFile,
        named: impl IntoIterator<Item = (SectionId, &'static str)>,
        bytes_max: u64,
    ) -> Result<(Self, u64), InfoTooLarge> {
        let (mut sections, mut total) = (Vec::new(), 0);
        for (id, name) in named {
            let Some(section) = elf.named(name) else { continue };
            let bytes = elf.bytes_of(section, bytes_max.saturating_sub(total)).ok_or(InfoTooLarge)?;
            total += bytes.len() as u64;
            sections.push((id, bytes));
        }
        Ok((Self(sections), total))
    }

    fn section<'a, 'f>(&'a self, id: SectionId, fuel: &'f Fuel<'f>) -> SectionReader<'a, 'f> {
        let bytes = self.0.iter().find(|(section_id, _)| *section_id == id).map_or(&[][..], |(_, bytes)| bytes);
        FuelledSlice::new(bytes, fuel)
    }

    fn dwarf<'a, 'f>(&'a self, fuel: &'f Fuel<'f>) -> Dwarf<SectionReader<'a, 'f>> {
        let Ok(dwarf) = Dwarf::load(|id| Ok::<_, Infallible>(self.section(id, fuel)));
        dwarf
    }

    /// Returns the sections of a unit in a package. gimli's own type requires all sections of the index, including the
    /// unused ones of locations and macros.
    fn packed_dwarf<'a, 'f>(&'a self, id: DwoId, fuel: &'f Fuel<'f>) -> Option<Dwarf<SectionReader<'a, 'f>>> {
        let index = DebugCuIndex::from(self.section(SectionId::DebugCuIndex, fuel)).index().ok()?;
        let parts: Vec<_> = index.sections(index.find(id.0)?).ok()?.collect();
        let part = |section: SectionId| {
            let whole = self.section(section, fuel);
            let Some(part) = parts.iter().find(|part| part.section.section_id() == section) else {
                return Ok(whole);
            };
            let (start, bytes) = (part.offset as usize, part.size as usize);
            let part_bytes = start.checked_add(bytes).and_then(|end| whole.bytes().get(start..end));
            // Sections that are not read are empty.
            Ok::<_, Infallible>(FuelledSlice::new(part_bytes.unwrap_or_default(), fuel))
        };
        let Ok(dwarf) = Dwarf::load(part);
        Some(dwarf)
    }

    /// Returns the ids among `ids` that are in the index of a package.
    fn packed_ids(&self, ids: &FxHashSet<u64>) -> Vec<u64> {
        let pool = FuelPool::new(STEPS_MIN.saturating_add(ids.len() as u64 * STEPS_PER_ID));
        let fuel = Fuel::new(&pool);
        let index = DebugCuIndex::from(self.section(SectionId::DebugCuIndex, &fuel)).index();
        let Ok(index) = index else { return Vec::new() };
        ids.iter().copied().filter(|&id| index.find(id).is_some()).collect()
    }

    /// Returns the ids among `ids` that units of a `.dwo` file have.
    fn unit_ids<'a, 'f>(
        &'a self,
        ids: &FxHashSet<u64>,
        parent: &Dwarf<SectionReader<'a, 'f>>,
        fuel: &'f Fuel<'f>,
    ) -> Vec<u64> {
        let mut dwarf = self.dwarf(fuel);
        dwarf.make_dwo(parent);
        let (mut headers, mut held_ids) = (dwarf.units(), FxHashSet::default());
        while let Ok(Some(header)) = headers.next() {
            let Ok(unit) = dwarf.unit(header) else { continue };
            held_ids.extend(unit.dwo_id.map(|id| id.0).filter(|id| ids.contains(id)));
        }
        held_ids.into_iter().collect()
    }

    /// Returns the unit with this id of a `.dwo` or `.dwp` file.
    fn split_unit<'a, 'f>(
        &'a self,
        id: DwoId,
        parent: &Dwarf<SectionReader<'a, 'f>>,
        fuel: &'f Fuel<'f>,
    ) -> Option<SplitPart<'a, 'f>> {
        let is_package = self.0.iter().any(|(section_id, _)| *section_id == SectionId::DebugCuIndex);
        let mut dwarf = if is_package { self.packed_dwarf(id, fuel)? } else { self.dwarf(fuel) };
        dwarf.make_dwo(parent);
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            let Ok(unit) = dwarf.unit(header) else { continue };
            if unit.dwo_id == Some(id) {
                return Some(SplitPart { dwarf, unit });
            }
        }
        None
    }
}

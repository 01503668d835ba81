//! Finds the functions of a unit that contain wanted addresses, and the functions inlined there, in one pass over the
//! entries. The naive way descends the tree of entries for each address.

use gimli::{Abbreviation, AttributeValue, DebugInfoOffset, Dwarf, EntriesRaw, UnitOffset, UnitRef};
use rustc_hash::FxHashMap;

use super::compiled_copies::CompiledCopies;
use super::lines::{lines_of, path_of};
use super::origins::{FunctionOrigin, Origins, RawName};
use super::scopes::{SharedScopes, UnitScopes};
use super::sections::{CodeRanges, DebugInfo, SectionReader};
use super::units::{EntryRanges, UnitAddresses, rows_in};
use crate::base::demangle::without_suffix;
use crate::symbols::fuel::Fuel;
use crate::symbols::functions::FunctionTable;

/// Limit for the functions at one address; compilers inline about ten deep.
const INLINED_MAX: usize = 256;

/// The functions and lines that some units have for wanted addresses.
#[derive(Debug, Default)]
pub(super) struct AddressFrames<'a> {
    pub(super) addresses: Vec<FoundAddress>,
    frames: Vec<RawFrame<'a>>,
    /// Paths of files, by index in frames.
    pub(super) files: Vec<String>,
    /// Scopes before names, such as `a::b::`, by index in frames.
    pub(super) scopes: Vec<String>,
}

/// An address for which a unit has a function or a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct FoundAddress {
    /// Index among the wanted addresses.
    pub(super) wanted: u32,
    pub(super) has_function: bool,
    /// Index after its last frame in the `frames` of [`AddressFrames`].
    end: u32,
}

/// A function at an address.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawFrame<'a> {
    /// Index of the scope that precedes the name, and the name in the file, if any.
    pub(super) name: Option<(Option<u32>, &'a [u8])>,
    /// Index in the `files` of [`AddressFrames`]; `None` if unknown.
    pub(super) file: Option<u32>,
    /// Source line; 0 if unknown.
    pub(super) line: u32,
}

impl<'a> AddressFrames<'a> {
    /// Returns the functions at an address, innermost first.
    pub(super) fn frames(&self, row: usize) -> &[RawFrame<'a>] {
        let start = row.checked_sub(1).map_or(0, |before| self.addresses[before].end as usize);
        &self.frames[start..self.addresses[row].end as usize]
    }

    pub(super) fn has_function(&self, row: usize) -> bool {
        self.addresses[row].has_function
    }
}

/// Reads units, one after the other.
pub(super) struct UnitReader<'a, 'f, 'w> {
    info: &'a DebugInfo,
    symbols: &'a FunctionTable,
    dwarf: Dwarf<SectionReader<'a, 'f>>,
    fuel: &'f Fuel<'f>,
    wanted: &'w [u64],
    /// Wanted addresses whose function was found in an earlier unit.
    has_function: Vec<bool>,
    origins: Origins<'a, 'f>,
    address_frames: AddressFrames<'a>,
}

impl<'a, 'f, 'w> UnitReader<'a, 'f, 'w> {
    pub(super) fn new(
        info: &'a DebugInfo,
        symbols: &'a FunctionTable,
        (fuel, scopes): (&'f Fuel<'f>, &'f SharedScopes),
        wanted: &'w [u64],
    ) -> Self {
        let (has_function, origins) = (vec![false; wanted.len()], Origins::new(fuel, Some(scopes)));
        Self {
            info,
            symbols,
            dwarf: info.dwarf(fuel),
            fuel,
            wanted,
            has_function,
            origins,
            address_frames: AddressFrames::default(),
        }
    }

    pub(super) fn finish(self) -> AddressFrames<'a> {
        self.address_frames
    }

    /// Reads a unit, up to damage.
    pub(super) fn read(&mut self, addresses: &UnitAddresses) {
        let rows = addresses.wanted.iter().flat_map(|&(start, end)| start..end);
        let rows: Vec<u32> = rows.filter(|&row| !self.has_function[row as usize]).collect();
        // Units may overlap: each test of an address is counted.
        if rows.is_empty() || self.fuel.burn(rows.len() as u64).is_err() {
            return;
        }
        let header = self.dwarf.unit_header(DebugInfoOffset(addresses.offset));
        let Ok(unit) = header.and_then(|header| self.dwarf.unit(header)) else { return };
        let unit = UnitRef::new(&self.dwarf, &unit);
        let wanted: Vec<u64> = rows.iter().map(|&row| self.wanted[row as usize]).collect();
        // A skeleton unit has addresses and lines, and its split part has the functions. The split part refers to no
        // third unit.
        let split = unit.dwo_id.and_then(|id| self.info.split_unit(id, &self.dwarf, self.fuel));
        let split = split.map(|part| part.with_skeleton(&unit));
        let mut origins_of_split = Origins::new(self.fuel, None);
        let (described, origins) = match &split {
            Some(part) => (UnitRef::new(&part.dwarf, &part.unit), &mut origins_of_split),
            None => (unit, &mut self.origins),
        };
        let mut walk = UnitWalk::new(described, self.info.code(), self.symbols, &wanted, self.fuel, origins);
        walk.run().ok();
        let UnitWalk { functions, owners, mut inlined, unit_scopes, origins, mut copies, .. } = walk;
        for call in inlined.iter_mut().flatten() {
            call.name = call.name.map(|name| copies.with_linkage_name(name, self.symbols, &described, origins));
        }
        let mut with_scope = |name: RawName<'a>, texts: &mut Vec<String>| {
            let scope = name.unscoped.and_then(|entry| origins.scope(&described, &unit_scopes, entry, texts));
            (scope, name.text)
        };
        let lines = lines_of(&unit, self.info.code(), &wanted);
        let mut files = UnitFiles::new(unit);
        // A split part without a line table uses the files of its skeleton unit.
        let has_files = split.as_ref().is_some_and(|part| part.unit.line_program.is_some());
        let mut files_of_split = has_files.then(|| UnitFiles::new(described));
        for ((&row, owner), (mut calls, line)) in rows.iter().zip(owners).zip(inlined.into_iter().zip(lines)) {
            if owner.is_none() && line.is_none() {
                continue;
            }
            let (file, mut line) = line.map_or((None, 0), |(file, line)| (Some(file), line));
            let mut file = files.row(file, &mut self.address_frames);
            // From the innermost outwards: the innermost function has the line of the address, each caller the line of
            // its call.
            while let Some(call) = calls.pop() {
                let name = call.name.map(|name| with_scope(name, &mut self.address_frames.scopes));
                self.address_frames.frames.push(RawFrame { name, file, line });
                file = files_of_split.as_mut().unwrap_or(&mut files).row(call.file, &mut self.address_frames);
                line = call.line;
            }
            let name = owner.and_then(|function| functions[function as usize]);
            let name = name.map(|name| with_scope(name, &mut self.address_frames.scopes));
            self.address_frames.frames.push(RawFrame { name, file, line });
            let (has_function, end) = (owner.is_some(), self.address_frames.frames.len() as u32);
            self.has_function[row as usize] = has_function;
            self.address_frames.addresses.push(FoundAddress { wanted: row, has_function, end });
        }
    }
}

/// The files of a unit that its frames use.
struct UnitFiles<'u, 'a, 'f> {
    unit: UnitRef<'u, SectionReader<'a, 'f>>,
    rows: FxHashMap<u64, Option<u32>>,
}

impl<'u, 'a, 'f> UnitFiles<'u, 'a, 'f> {
    fn new(unit: UnitRef<'u, SectionReader<'a, 'f>>) -> Self {
        Self { unit, rows: FxHashMap::default() }
    }

    /// Returns the global index of a file of the unit.
    fn row(&mut self, file: Option<u64>, address_frames: &mut AddressFrames<'_>) -> Option<u32> {
        *self.rows.entry(file?).or_insert_with(|| {
            let path = path_of(&self.unit, file?);
            (!path.is_empty()).then(|| {
                address_frames.files.push(path);
                address_frames.files.len() as u32 - 1
            })
        })
    }
}

#[derive(Debug, Clone, Copy)]
struct InlinedFunction<'a> {
    name: Option<RawName<'a>>,
    /// The file of the call site.
    file: Option<u64>,
    line: u32,
}

/// A function that encloses the current entry, inlined or not.
#[derive(Debug, Clone, Copy)]
struct EnclosingFunction {
    depth: isize,
    /// The function, if it contains wanted addresses.
    function: Option<u32>,
    /// Number of enclosing inlined functions, including this one.
    inlined: usize,
}

/// A pass over the entries of a unit.
struct UnitWalk<'u, 'a, 'f, 'w> {
    unit: UnitRef<'u, SectionReader<'a, 'f>>,
    code: &'a CodeRanges,
    symbols: &'a FunctionTable,
    wanted: &'w [u64],
    fuel: &'f Fuel<'f>,
    origins: &'w mut Origins<'a, 'f>,
    unit_scopes: UnitScopes,
    copies: CompiledCopies<'a>,
    /// The names of functions that contain wanted addresses.
    functions: Vec<Option<RawName<'a>>>,
    /// For each wanted address, its function; and in `inlined` the functions inlined there, outermost first.
    owners: Vec<Option<u32>>,
    inlined: Vec<Vec<InlinedFunction<'a>>>,
    scopes: Vec<EnclosingFunction>,
}

/// The attributes of a function.
struct FunctionDie<'a, 'f> {
    ranges: EntryRanges,
    origin: FunctionOrigin<'a, 'f>,
    call_file: Option<u64>,
    call_line: u32,
}

impl<'u, 'a, 'f, 'w> UnitWalk<'u, 'a, 'f, 'w> {
    fn new(
        unit: UnitRef<'u, SectionReader<'a, 'f>>,
        code: &'a CodeRanges,
        symbols: &'a FunctionTable,
        wanted: &'w [u64],
        fuel: &'f Fuel<'f>,
        origins: &'w mut Origins<'a, 'f>,
    ) -> Self {
        let (owners, inlined) = (vec![None; wanted.len()], vec![Vec::new(); wanted.len()]);
        let (unit_scopes, copies) = (UnitScopes::new(&unit), CompiledCopies::new(&unit));
        let (functions, scopes) = (Vec::new(), Vec::new());
        Self { unit, code, symbols, wanted, fuel, origins, unit_scopes, copies, functions, owners, inlined, scopes }
    }

    fn run(&mut self) -> gimli::Result<()> {
        let unit = self.unit;
        let mut entries = unit.entries_raw(None)?;
        while !entries.is_empty() {
            let (depth, offset) = (entries.next_depth(), entries.next_offset());
            let Some(abbreviation) = entries.read_abbreviation()? else { continue };
            while self.scopes.last().is_some_and(|scope| scope.depth >= depth) {
                self.scopes.pop();
            }
            // Attribute values in the abbreviation cost no read, so they are counted here.
            self.fuel.burn(abbreviation.attributes().len() as u64)?;
            self.unit_scopes.add(depth, offset, abbreviation.tag(), abbreviation.has_children());
            match abbreviation.tag() {
                gimli::DW_TAG_subprogram => self.function(&mut entries, abbreviation, depth, offset)?,
                gimli::DW_TAG_inlined_subroutine => self.inlined(&mut entries, abbreviation, depth, offset)?,
                _ if depth == 0 => {
                    for specification in abbreviation.attributes() {
                        self.unit_scopes.add_root(&entries.read_attribute(*specification)?.value());
                    }
                }
                _ => entries.skip_attributes(abbreviation.attributes())?,
            }
        }
        Ok(())
    }

    fn function(
        &mut self,
        entries: &mut EntriesRaw<'_, SectionReader<'a, 'f>>,
        abbreviation: &Abbreviation,
        depth: isize,
        offset: UnitOffset,
    ) -> gimli::Result<()> {
        let is_in_function = self.scopes.last().is_some_and(|scope| scope.function.is_some());
        let is_placed = abbreviation.attributes().iter().any(|attribute| EntryRanges::is_part(attribute.name()));
        let mut function = None;
        if is_placed {
            let entry = self.entry(entries, abbreviation)?;
            let (unit, wanted, fuel) = (self.unit, self.wanted, self.fuel);
            let (owners, number) = (&mut self.owners, self.functions.len() as u32);
            let (mut address, mut start) = (0, None);
            entry.ranges.each(&unit, self.code, |begin, end| {
                start = start.or(Some(begin));
                let rows = rows_in(wanted, begin, end);
                fuel.burn(rows.len() as u64)?;
                // If functions share code, the first owns it.
                for row in rows {
                    if owners[row].is_none() {
                        (owners[row], function, address) = (Some(number), Some(number), wanted[row]);
                    }
                }
                Ok(())
            })?;
            let origin = start.filter(|_| self.unit_scopes.is_cpp()).and_then(|_| entry.origin.target(&unit));
            if let Some((origin, start)) = origin.zip(start) {
                self.copies.add(origin, start);
            }
            if function.is_some() {
                let name = self.origins.name(&unit, offset, &entry.origin);
                self.functions.push(name.map(|name| self.with_linkage_name(name, address)));
            }
        } else {
            entries.skip_attributes(abbreviation.attributes())?;
        }
        // If a function without wanted addresses is inlined, the functions in it do not belong to the enclosing one.
        if abbreviation.has_children() && (function.is_some() || is_in_function) {
            self.scopes.push(EnclosingFunction { depth, function, inlined: 0 });
        }
        Ok(())
    }

    /// Completes the name of a compiled function at an address from the symbol table. GCC writes no linkage names of
    /// functions that are local to a file. Functions of C in a unit of C++ have no scopes.
    fn with_linkage_name(&self, name: RawName<'a>, address: u64) -> RawName<'a> {
        let Some(symbol) = name.unscoped.and_then(|_| self.symbols.find(address)) else { return name };
        let mangled = without_suffix(symbol).map(|text| RawName { text, unscoped: None });
        let is_whole = symbol.strip_prefix(name.text).is_some_and(|rest| matches!(rest, [] | [b'.', ..]));
        mangled.unwrap_or(if is_whole { RawName { unscoped: None, ..name } } else { name })
    }

    fn inlined(
        &mut self,
        entries: &mut EntriesRaw<'_, SectionReader<'a, 'f>>,
        abbreviation: &Abbreviation,
        depth: isize,
        offset: UnitOffset,
    ) -> gimli::Result<()> {
        let around = self.scopes.last().copied().filter(|scope| scope.inlined < INLINED_MAX);
        let Some((scope, function)) = around.and_then(|scope| Some((scope, scope.function?))) else {
            return entries.skip_attributes(abbreviation.attributes());
        };
        let entry = self.entry(entries, abbreviation)?;
        let (unit, wanted, fuel) = (self.unit, self.wanted, self.fuel);
        let (owners, inlined) = (&self.owners, &mut self.inlined);
        let (mut inlined_rows, mut is_alive) = (Vec::new(), false);
        entry.ranges.each(&unit, self.code, |begin, end| {
            let rows = rows_in(wanted, begin, end);
            fuel.burn(rows.len() as u64)?;
            // If functions of one level share code, the first owns it; functions inlined in the others are still there.
            let rows = rows.filter(|&row| owners[row] == Some(function) && inlined[row].len() >= scope.inlined);
            inlined_rows.extend(rows.inspect(|_| is_alive = true).filter(|&row| inlined[row].len() == scope.inlined));
            Ok(())
        })?;
        if is_alive {
            let name = self.origins.name(&unit, offset, &entry.origin);
            let call = InlinedFunction { name, file: entry.call_file, line: entry.call_line };
            for row in inlined_rows {
                // Ranges of one entry may overlap.
                if inlined[row].len() == scope.inlined {
                    inlined[row].push(call);
                }
            }
            if abbreviation.has_children() {
                self.scopes.push(EnclosingFunction { depth, inlined: scope.inlined + 1, ..scope });
            }
        } else if abbreviation.has_children() {
            self.scopes.push(EnclosingFunction { depth, function: None, inlined: 0 });
        }
        Ok(())
    }

    /// Reads the attributes of a function.
    fn entry(
        &self,
        entries: &mut EntriesRaw<'_, SectionReader<'a, 'f>>,
        abbreviation: &Abbreviation,
    ) -> gimli::Result<FunctionDie<'a, 'f>> {
        let (ranges, origin) = (EntryRanges::default(), FunctionOrigin::NONE);
        let mut entry = FunctionDie { ranges, origin, call_file: None, call_line: 0 };
        for specification in abbreviation.attributes() {
            let attribute = entries.read_attribute(*specification)?;
            match (attribute.name(), attribute.value()) {
                (name, value) if EntryRanges::is_part(name) => entry.ranges.record(&self.unit, name, value)?,
                // File 0 means none before version 5.
                (gimli::DW_AT_call_file, AttributeValue::FileIndex(file)) => {
                    entry.call_file = Some(file).filter(|&file| file > 0 || self.unit.header.version() >= 5);
                }
                (gimli::DW_AT_call_line, _) => entry.call_line = line_number(attribute.udata_value()),
                (name, value) => entry.origin.record(name, value),
            }
        }
        Ok(entry)
    }
}

/// Returns the line of an attribute; 0, which means unknown, for an invalid one.
fn line_number(value: Option<u64>) -> u32 {
    value.and_then(|line| u32::try_from(line).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_beyond_32_bits_is_unknown() {
        let lines = [Some(7), Some(u32::MAX.into()), Some((1 << 32) + 7), None].map(line_number);
        assert_eq!(lines, [7, u32::MAX, 0, 0]);
    }
}

//! Finds the units that contain wanted addresses.

use std::path::PathBuf;

use gimli::{AttributeValue, DebugInfoOffset, Dwarf, UnitRef, UnitType};
use rayon::prelude::*;

use super::sections::{CodeRanges, DebugInfo, SectionReader};
use crate::base::cancel::{Cancel, Cancelled};
use crate::symbols::fuel::{Fuel, FuelPool};

/// Units whose ranges one task reads.
const UNITS_PER_TASK: usize = 256;

/// Wanted addresses, and the units that contain them.
#[derive(Debug, Default)]
pub(in crate::symbols) struct WantedUnits {
    /// Sorted distinct addresses.
    pub(super) addresses: Vec<u64>,
    pub(super) units: Vec<UnitAddresses>,
}

/// A unit that contains wanted addresses.
#[derive(Debug, Clone)]
pub(super) struct UnitAddresses {
    /// Offset of the unit in the section.
    pub(super) offset: usize,
    /// Sorted, disjoint ranges of indices of wanted addresses.
    pub(super) wanted: Vec<(u32, u32)>,
    split: Option<SplitUnit>,
}

/// A skeleton unit, whose functions are in another file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::symbols) struct SplitUnit {
    /// The id that both parts of the unit have.
    pub(in crate::symbols) id: u64,
    /// The compilation directory; empty if it is not recorded.
    pub(in crate::symbols) folder: PathBuf,
    /// The path of the `.dwo` file, absolute or relative to the directory.
    pub(in crate::symbols) path: PathBuf,
}

/// The address ranges of an entry.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct EntryRanges {
    low: Option<u64>,
    high: Option<u64>,
    bytes: Option<u64>,
    list: Option<usize>,
}

impl EntryRanges {
    /// Returns whether an attribute of this name is part of the ranges.
    pub(super) fn is_part(name: gimli::DwAt) -> bool {
        matches!(name, gimli::DW_AT_low_pc | gimli::DW_AT_high_pc | gimli::DW_AT_ranges)
    }

    /// Records an attribute of the ranges.
    pub(super) fn record<'a, 'f>(
        &mut self,
        unit: &UnitRef<'_, SectionReader<'a, 'f>>,
        name: gimli::DwAt,
        value: AttributeValue<SectionReader<'a, 'f>>,
    ) -> gimli::Result<()> {
        match (name, value) {
            (gimli::DW_AT_high_pc, AttributeValue::Udata(bytes)) => self.bytes = Some(bytes),
            (gimli::DW_AT_high_pc, value) => self.high = unit.attr_address(value)?,
            (gimli::DW_AT_low_pc, value) => self.low = unit.attr_address(value)?,
            (gimli::DW_AT_ranges, value) => self.list = unit.attr_ranges_offset(value)?.map(|list| list.0),
            _ => {}
        }
        Ok(())
    }

    /// Calls a closure for each non-empty range, except ranges dropped by the linker. Returns whether there was one,
    /// dropped or not.
    pub(super) fn each(
        &self,
        unit: &UnitRef<'_, SectionReader<'_, '_>>,
        code: &CodeRanges,
        mut with: impl FnMut(u64, u64) -> gimli::Result<()>,
    ) -> gimli::Result<bool> {
        let mut has_any = false;
        let mut each = |begin: u64, end: u64| -> gimli::Result<()> {
            if begin < end {
                has_any = true;
                if code.has(begin) {
                    with(begin, end)?;
                }
            }
            Ok(())
        };
        if let Some(list) = self.list {
            let mut ranges = unit.ranges(gimli::RangeListsOffset(list))?;
            while let Some(range) = ranges.next()? {
                each(range.begin, range.end)?;
            }
        } else if let Some(low) = self.low {
            // Functions without code have an address without an end.
            let end = self.high.or_else(|| low.checked_add(self.bytes?));
            each(low, end.unwrap_or(low))?;
        }
        Ok(has_any)
    }
}

/// Returns the indices of the wanted addresses in a range.
pub(super) fn rows_in(wanted: &[u64], begin: u64, end: u64) -> std::ops::Range<usize> {
    let first = wanted.partition_point(|&address| address < begin);
    first..first + wanted[first..].partition_point(|&address| address < end)
}

impl WantedUnits {
    /// Finds the units of the addresses in the second elements of `pairs`, up to damage. Returns `Cancelled` if
    /// cancelled.
    pub(in crate::symbols) fn find(info: &DebugInfo, pairs: &[(u64, u64)], cancel: &Cancel) -> Result<Self, Cancelled> {
        // No function is at the end of memory.
        let mut addresses: Vec<u64> = pairs.iter().map(|&(_, address)| address).filter(|&it| it != u64::MAX).collect();
        addresses.sort_unstable();
        addresses.dedup();
        let units = units_of(info, &info.steps(), &addresses, cancel)?;
        Ok(Self { addresses, units })
    }

    /// Iterates over the skeleton units.
    pub(in crate::symbols) fn split(&self) -> impl Iterator<Item = &SplitUnit> {
        self.units.iter().filter_map(|unit| unit.split.as_ref())
    }
}

/// Returns the units that contain wanted, sorted addresses, up to damage.
fn units_of(
    info: &DebugInfo,
    pool: &FuelPool,
    wanted: &[u64],
    cancel: &Cancel,
) -> Result<Vec<UnitAddresses>, Cancelled> {
    let fuel = Fuel::new(pool);
    let dwarf = info.dwarf(&fuel);
    let mut offsets = Vec::new();
    let mut headers = dwarf.units();
    while let Ok(Some(header)) = headers.next() {
        // Type units and partial units have no code.
        let has_code =
            !matches!(header.type_(), UnitType::Type { .. } | UnitType::SplitType { .. } | UnitType::Partial);
        offsets.extend(header.debug_info_offset().filter(|_| has_code).map(|offset| offset.0));
    }
    let read = |offsets: &[usize]| {
        cancel.check()?;
        let fuel = Fuel::new(pool);
        let dwarf = info.dwarf(&fuel);
        Ok(offsets
            .iter()
            .filter_map(|&offset| unit_addresses(&dwarf, info.code(), &fuel, offset, wanted).ok().flatten())
            .collect())
    };
    let units = offsets.par_chunks(UNITS_PER_TASK).map(read).collect::<Result<Vec<Vec<_>>, _>>()?;
    Ok(units.into_iter().flatten().collect())
}

/// Returns the wanted addresses of a unit; `None` if it has none.
fn unit_addresses(
    dwarf: &Dwarf<SectionReader<'_, '_>>,
    code: &CodeRanges,
    fuel: &Fuel<'_>,
    offset: usize,
    wanted: &[u64],
) -> gimli::Result<Option<UnitAddresses>> {
    let unit = dwarf.unit(dwarf.unit_header(DebugInfoOffset(offset))?)?;
    let unit = UnitRef::new(dwarf, &unit);
    let mut entries = unit.entries_raw(None)?;
    let Some(abbreviation) = entries.read_abbreviation()? else { return Ok(None) };
    let mut ranges = EntryRanges::default();
    for specification in abbreviation.attributes() {
        let attribute = entries.read_attribute(*specification)?;
        ranges.record(&unit, attribute.name(), attribute.value())?;
    }
    let mut rows = Vec::new();
    let mut add = |begin, end| {
        fuel.burn(1)?;
        let row_range = rows_in(wanted, begin, end);
        if !row_range.is_empty() {
            rows.push((row_range.start as u32, row_range.end as u32));
        }
        Ok(())
    };
    // A unit without ranges has the addresses of its line table.
    if !ranges.each(&unit, code, &mut add)? {
        super::lines::each_sequence(&unit, code, &mut add)?;
    }
    rows.sort_unstable();
    rows.dedup_by(|(start, end), (_, end_before)| {
        let is_joined = start <= end_before;
        if is_joined {
            *end_before = (*end).max(*end_before);
        }
        is_joined
    });
    Ok((!rows.is_empty()).then(|| UnitAddresses { offset, wanted: rows, split: split_unit(&unit) }))
}

/// Returns the split part of a skeleton unit.
fn split_unit(unit: &UnitRef<'_, SectionReader<'_, '_>>) -> Option<SplitUnit> {
    let id = unit.dwo_id?.0;
    let path = |text: SectionReader<'_, '_>| PathBuf::from(String::from_utf8_lossy(text.bytes()).into_owned());
    let name = unit.dwo_name().ok()??;
    let folder = unit.comp_dir.map(path).unwrap_or_default();
    Some(SplitUnit { id, folder, path: path(unit.attr_string(name).ok()?) })
}

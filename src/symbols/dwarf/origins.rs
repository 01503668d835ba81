//! Resolves the names of functions described elsewhere: an inlined function refers to its abstract origin, and that to
//! its declaration.

use gimli::{AttributeValue, DebugInfoOffset, Dwarf, Unit, UnitOffset, UnitRef};
use rustc_hash::FxHashMap;

use super::sections::SectionReader;
use crate::symbols::fuel::Fuel;

/// Limit for a chain of references; real ones have two or three.
const REFERENCES_MAX: usize = 16;

/// Limit for the cached units; more are read again.
const UNITS_MAX: usize = 1024;

/// The attributes that determine the name of a function.
#[derive(Debug, Clone, Copy)]
pub(super) struct FunctionOrigin<'a, 'f> {
    linkage_name: Option<AttributeValue<SectionReader<'a, 'f>>>,
    name: Option<AttributeValue<SectionReader<'a, 'f>>>,
    origin: Option<AttributeValue<SectionReader<'a, 'f>>>,
}

impl<'a, 'f> FunctionOrigin<'a, 'f> {
    pub(super) const NONE: Self = Self { linkage_name: None, name: None, origin: None };

    /// Records an attribute that names a function.
    pub(super) fn take(&mut self, name: gimli::DwAt, value: AttributeValue<SectionReader<'a, 'f>>) {
        match name {
            gimli::DW_AT_linkage_name | gimli::DW_AT_MIPS_linkage_name => self.linkage_name = Some(value),
            gimli::DW_AT_name => self.name = Some(value),
            gimli::DW_AT_abstract_origin | gimli::DW_AT_specification => self.origin = Some(value),
            _ => {}
        }
    }
}

/// The target of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Target {
    /// Whether it is in the shared file.
    is_shared: bool,
    /// Offset in the section there.
    offset: usize,
}

/// The cached units, and the resolved names.
#[derive(Debug)]
pub(super) struct Origins<'a, 'f> {
    fuel: &'f Fuel<'f>,
    /// Sorted offsets of all units, of the file and of the shared one; read on the first reference.
    offsets: [Option<Vec<usize>>; 2],
    /// By unit.
    units: FxHashMap<Target, Option<Box<Unit<SectionReader<'a, 'f>>>>>,
    names: FxHashMap<Target, Option<&'a [u8]>>,
}

impl<'a, 'f> Origins<'a, 'f> {
    pub(super) fn new(fuel: &'f Fuel<'f>) -> Self {
        Self { fuel, offsets: [None, None], units: FxHashMap::default(), names: FxHashMap::default() }
    }

    /// Returns the name of a function, mangled if it is mangled there.
    pub(super) fn name(
        &mut self,
        unit: &UnitRef<'_, SectionReader<'a, 'f>>,
        function: &FunctionOrigin<'a, 'f>,
    ) -> Option<&'a [u8]> {
        own_name(unit, function).or_else(|| {
            let target = target(unit, false, function.origin?)?;
            if let Some(&name) = self.names.get(&target) {
                return name;
            }
            let name = self.follow(unit, target);
            self.names.insert(target, name);
            name
        })
    }

    /// Returns the name of the function described at a target.
    fn follow(&mut self, unit: &UnitRef<'_, SectionReader<'a, 'f>>, mut target: Target) -> Option<&'a [u8]> {
        for _ in 0..REFERENCES_MAX {
            let own_offset = DebugInfoOffset(target.offset).to_unit_offset(&unit.header).filter(|_| !target.is_shared);
            let (name, next) = if let Some(offset) = own_offset {
                described(unit, false, offset, self.fuel)?
            } else {
                let (dwarf, fuel) = (if target.is_shared { unit.dwarf.sup()? } else { unit.dwarf }, self.fuel);
                let other = UnitRef::new(dwarf, self.unit_at(dwarf, target)?);
                let offset = DebugInfoOffset(target.offset).to_unit_offset(&other.header)?;
                described(&other, target.is_shared, offset, fuel)?
            };
            if name.is_some() {
                return name;
            }
            target = next?;
        }
        None
    }

    /// Returns the unit that contains a target.
    fn unit_at(
        &mut self,
        dwarf: &Dwarf<SectionReader<'a, 'f>>,
        target: Target,
    ) -> Option<&Unit<SectionReader<'a, 'f>>> {
        let offsets = self.offsets[usize::from(target.is_shared)].get_or_insert_with(|| {
            let mut headers = dwarf.units();
            let mut offsets = Vec::new();
            while let Ok(Some(header)) = headers.next() {
                offsets.extend(header.debug_info_offset().map(|offset| offset.0));
            }
            offsets
        });
        let offset = offsets[..offsets.partition_point(|&offset| offset < target.offset)].last().copied()?;
        let place = Target { offset, ..target };
        if self.units.len() >= UNITS_MAX && !self.units.contains_key(&place) {
            self.units.clear();
        }
        let read = || {
            let header = dwarf.unit_header(DebugInfoOffset(offset)).ok()?;
            Some(Box::new(dwarf.unit(header).ok()?))
        };
        self.units.entry(place).or_insert_with(read).as_deref()
    }
}

/// Returns the direct name of a function.
fn own_name<'a, 'f>(unit: &UnitRef<'_, SectionReader<'a, 'f>>, function: &FunctionOrigin<'a, 'f>) -> Option<&'a [u8]> {
    let text = |value| unit.attr_string(value).ok().map(|text| text.bytes());
    function.linkage_name.and_then(text).or_else(|| function.name.and_then(text))
}

/// Resolves a reference of a unit, which may itself be in the shared file.
fn target<'a, 'f>(
    unit: &UnitRef<'_, SectionReader<'a, 'f>>,
    is_shared: bool,
    reference: AttributeValue<SectionReader<'a, 'f>>,
) -> Option<Target> {
    match reference {
        AttributeValue::UnitRef(offset) => {
            Some(Target { is_shared, offset: offset.to_debug_info_offset(&unit.header)?.0 })
        }
        AttributeValue::DebugInfoRef(offset) => Some(Target { is_shared, offset: offset.0 }),
        AttributeValue::DebugInfoRefSup(offset) => Some(Target { is_shared: true, offset: offset.0 }),
        _ => None,
    }
}

/// Returns the name of the function described at an offset in a unit, and its own origin.
fn described<'a>(
    unit: &UnitRef<'_, SectionReader<'a, '_>>,
    is_shared: bool,
    offset: UnitOffset,
    fuel: &Fuel<'_>,
) -> Option<(Option<&'a [u8]>, Option<Target>)> {
    let mut entries = unit.entries_raw(Some(offset)).ok()?;
    let abbreviation = entries.read_abbreviation().ok()??;
    // Attribute values in the abbreviation cost no read, so they are counted here.
    fuel.burn(abbreviation.attributes().len() as u64).ok()?;
    let mut function = FunctionOrigin::NONE;
    for specification in abbreviation.attributes() {
        let attribute = entries.read_attribute(*specification).ok()?;
        function.take(attribute.name(), attribute.value());
    }
    Some((own_name(unit, &function), function.origin.and_then(|origin| target(unit, is_shared, origin))))
}

//! Resolves the names of functions described elsewhere: an inlined function refers to its abstract origin, and the
//! origin to its declaration. Functions without a linkage name are named with the scopes around them.

use gimli::{AttributeValue, DebugInfoOffset, Dwarf, Unit, UnitOffset, UnitRef};
use rustc_hash::FxHashMap;

use super::scopes::{SharedScopes, Target, UnitScopes, label};
use super::sections::SectionReader;
use crate::base::demangle::{NAME_BYTES_MAX, demangle_without_return_type};
use crate::symbols::fuel::Fuel;

/// Limit for a chain of references; real ones have two or three.
const REFERENCES_MAX: usize = 16;

/// Limit for the scopes around a function; real ones have some five.
const SCOPES_MAX: usize = 64;

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
    pub(super) fn record(&mut self, name: gimli::DwAt, value: AttributeValue<SectionReader<'a, 'f>>) {
        match name {
            gimli::DW_AT_linkage_name | gimli::DW_AT_MIPS_linkage_name => self.linkage_name = Some(value),
            gimli::DW_AT_name => self.name = Some(value),
            gimli::DW_AT_abstract_origin | gimli::DW_AT_specification => self.origin = Some(value),
            _ => {}
        }
    }

    /// Returns the entry that describes the function, which is in the unit and has no name itself.
    pub(super) fn target(&self, unit: &UnitRef<'_, SectionReader<'a, 'f>>) -> Option<Target> {
        let is_nameless = self.linkage_name.is_none() && self.name.is_none();
        resolve_reference(unit, false, self.origin.filter(|_| is_nameless)?)
    }
}

/// The name of a function in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawName<'a> {
    pub(super) text: &'a [u8],
    /// The entry with this name, if the name lacks its scopes. Linkage names contain their scopes.
    pub(super) unscoped: Option<Target>,
}

/// The cached units, and the resolved names.
#[derive(Debug)]
pub(super) struct Origins<'a, 'f> {
    fuel: &'f Fuel<'f>,
    /// Sorted offsets of all units, in the file and in the shared file; read on the first reference.
    offsets: [Option<Vec<usize>>; 2],
    units: FxHashMap<Target, Option<Box<Unit<SectionReader<'a, 'f>>>>>,
    names: FxHashMap<Target, Option<RawName<'a>>>,
    /// Scopes of other units; `None` if the current unit refers to no other unit.
    shared_scopes: Option<&'f SharedScopes>,
    /// Index of the text of a scope, for each scope of functions.
    scope_rows: FxHashMap<Target, Option<u32>>,
}

/// An entry: its name, the entry that it refers to for more, and its kind.
#[derive(Debug, Clone, Copy)]
struct DescribedEntry<'a> {
    name: Option<RawName<'a>>,
    origin: Option<Target>,
    tag: gimli::DwTag,
}

impl<'a, 'f> Origins<'a, 'f> {
    pub(super) fn new(fuel: &'f Fuel<'f>, shared_scopes: Option<&'f SharedScopes>) -> Self {
        Self {
            fuel,
            offsets: [None, None],
            units: FxHashMap::default(),
            names: FxHashMap::default(),
            shared_scopes,
            scope_rows: FxHashMap::default(),
        }
    }

    /// Returns the name of a function at an offset of the unit, mangled if it is mangled there.
    pub(super) fn name(
        &mut self,
        unit: &UnitRef<'_, SectionReader<'a, 'f>>,
        offset: UnitOffset,
        function: &FunctionOrigin<'a, 'f>,
    ) -> Option<RawName<'a>> {
        let offset = offset.to_debug_info_offset(&unit.header)?.0;
        own_name(unit, Target { is_shared: false, offset }, function).or_else(|| {
            let target = resolve_reference(unit, false, function.origin?)?;
            if let Some(&name) = self.names.get(&target) {
                return name;
            }
            let name = self.follow(unit, target);
            self.names.insert(target, name);
            name
        })
    }

    /// Reads the name of the function described at a target.
    pub(super) fn follow(
        &mut self,
        unit: &UnitRef<'_, SectionReader<'a, 'f>>,
        mut target: Target,
    ) -> Option<RawName<'a>> {
        for _ in 0..REFERENCES_MAX {
            let entry = self.entry(unit, target)?;
            if entry.name.is_some() {
                return entry.name;
            }
            target = entry.origin?;
        }
        None
    }

    /// Reads the entry at a target.
    fn entry(&mut self, unit: &UnitRef<'_, SectionReader<'a, 'f>>, target: Target) -> Option<DescribedEntry<'a>> {
        if is_in(unit, target) {
            return read_entry(unit, target, self.fuel);
        }
        let (dwarf, fuel) = (if target.is_shared { unit.dwarf.sup()? } else { unit.dwarf }, self.fuel);
        read_entry(&UnitRef::new(dwarf, self.unit_at(dwarf, target)?), target, fuel)
    }

    /// Returns the index of the text of all scopes around an entry, such as `a::b::`, in `texts`. `own` has the scopes
    /// of the unit.
    pub(super) fn scope(
        &mut self,
        unit: &UnitRef<'_, SectionReader<'a, 'f>>,
        own: &UnitScopes,
        target: Target,
        texts: &mut Vec<String>,
    ) -> Option<u32> {
        let around = self.around(unit, own, target)?;
        if let Some(&row) = self.scope_rows.get(&around) {
            return row;
        }
        let text = self.scope_text(unit, own, around);
        let row = text.map(|text| {
            texts.push(text);
            texts.len() as u32 - 1
        });
        self.scope_rows.insert(around, row);
        row
    }

    fn scope_text(
        &mut self,
        unit: &UnitRef<'_, SectionReader<'a, 'f>>,
        own: &UnitScopes,
        mut scope: Target,
    ) -> Option<String> {
        // From the innermost outwards.
        let mut parts = Vec::new();
        for _ in 0..SCOPES_MAX {
            let entry = self.entry(unit, scope)?;
            let name = entry.name.or_else(|| self.follow(unit, entry.origin?));
            parts.push(match name {
                Some(name) if name.unscoped.is_none() => demangle_without_return_type(name.text),
                Some(name) => String::from_utf8_lossy(name.text).into_owned(),
                None => label(entry.tag).to_owned(),
            });
            let named = name.map_or(Some(scope), |name| name.unscoped);
            match named.and_then(|named| self.around(unit, own, named)) {
                Some(around) => scope = around,
                None => break,
            }
        }
        let text: String = parts.into_iter().rev().map(|part| part + "::").collect();
        (text.len() <= NAME_BYTES_MAX / 2).then_some(text)
    }

    /// Returns the scope around an entry.
    fn around(
        &mut self,
        unit: &UnitRef<'_, SectionReader<'a, 'f>>,
        own: &UnitScopes,
        target: Target,
    ) -> Option<Target> {
        let in_scopes = |unit: &UnitRef<'_, SectionReader<'a, 'f>>, scopes: &UnitScopes| {
            let offset = scopes.around(DebugInfoOffset(target.offset).to_unit_offset(&unit.header)?)?;
            Some(Target { offset: offset.to_debug_info_offset(&unit.header)?.0, ..target })
        };
        if is_in(unit, target) {
            return in_scopes(unit, own);
        }
        let dwarf = if target.is_shared { unit.dwarf.sup()? } else { unit.dwarf };
        let scopes = self.shared_scopes?.get(self.unit_start(dwarf, target)?);
        let unit = UnitRef::new(dwarf, self.unit_at(dwarf, target)?);
        in_scopes(&unit, scopes.get_or_init(|| UnitScopes::read(&unit)))
    }

    /// Returns the start of the unit that contains a target.
    fn unit_start(&mut self, dwarf: &Dwarf<SectionReader<'a, 'f>>, target: Target) -> Option<Target> {
        let offsets = self.offsets[usize::from(target.is_shared)].get_or_insert_with(|| {
            let mut headers = dwarf.units();
            let mut offsets = Vec::new();
            while let Ok(Some(header)) = headers.next() {
                offsets.extend(header.debug_info_offset().map(|offset| offset.0));
            }
            offsets
        });
        let offset = offsets[..offsets.partition_point(|&offset| offset < target.offset)].last().copied()?;
        Some(Target { offset, ..target })
    }

    /// Returns the unit that contains a target.
    fn unit_at(
        &mut self,
        dwarf: &Dwarf<SectionReader<'a, 'f>>,
        target: Target,
    ) -> Option<&Unit<SectionReader<'a, 'f>>> {
        let start = self.unit_start(dwarf, target)?;
        if self.units.len() >= UNITS_MAX && !self.units.contains_key(&start) {
            self.units.clear();
        }
        let read = || {
            let header = dwarf.unit_header(DebugInfoOffset(start.offset)).ok()?;
            Some(Box::new(dwarf.unit(header).ok()?))
        };
        self.units.entry(start).or_insert_with(read).as_deref()
    }
}

/// Returns whether a target is in a unit of the file.
fn is_in(unit: &UnitRef<'_, SectionReader<'_, '_>>, target: Target) -> bool {
    !target.is_shared && DebugInfoOffset(target.offset).to_unit_offset(&unit.header).is_some()
}

/// Returns the name in the entry of a function, without following references; the entry is at a target.
fn own_name<'a, 'f>(
    unit: &UnitRef<'_, SectionReader<'a, 'f>>,
    target: Target,
    function: &FunctionOrigin<'a, 'f>,
) -> Option<RawName<'a>> {
    let text = |value| unit.attr_string(value).ok().map(|text| text.bytes());
    let linkage_name = function.linkage_name.and_then(text).map(|text| RawName { text, unscoped: None });
    linkage_name.or_else(|| {
        let text = function.name.and_then(text)?;
        // Here GCC also writes the linkage names of parts of functions.
        Some(RawName { text, unscoped: (!text.starts_with(b"_Z")).then_some(target) })
    })
}

/// Resolves a reference of a unit, which may itself be in the shared file.
fn resolve_reference<'a, 'f>(
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

/// Reads the entry at a target in a unit.
fn read_entry<'a>(
    unit: &UnitRef<'_, SectionReader<'a, '_>>,
    target: Target,
    fuel: &Fuel<'_>,
) -> Option<DescribedEntry<'a>> {
    let offset = DebugInfoOffset(target.offset).to_unit_offset(&unit.header)?;
    let mut entries = unit.entries_raw(Some(offset)).ok()?;
    let abbreviation = entries.read_abbreviation().ok()??;
    // Attribute values in the abbreviation cost no read, so they are counted here.
    fuel.burn(abbreviation.attributes().len() as u64).ok()?;
    let mut function = FunctionOrigin::NONE;
    for specification in abbreviation.attributes() {
        let attribute = entries.read_attribute(*specification).ok()?;
        function.record(attribute.name(), attribute.value());
    }
    let name = own_name(unit, target, &function);
    let origin = function.origin.and_then(|origin| resolve_reference(unit, target.is_shared, origin));
    Some(DescribedEntry { name, origin, tag: abbreviation.tag() })
}

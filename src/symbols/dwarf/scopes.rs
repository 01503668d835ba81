//! The namespaces, classes and functions around each function of a C++ unit. Entries have no link to the entry around
//! them, so the links are recorded in the pass over a unit.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use gimli::{AttributeValue, UnitOffset, UnitRef};
use rustc_hash::FxHashMap;

use super::sections::SectionReader;

/// Bytes of a unit per recorded entry; real units have about 40. Entries beyond this density have no scope.
const BYTES_PER_ROW: usize = 16;

const DEPTH_MAX: usize = 64;

/// The target of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Target {
    /// Whether the target is in the shared file.
    pub(super) is_shared: bool,
    /// Offset in the section.
    pub(super) offset: usize,
}

/// The scopes of units that other units refer to, by the position of the unit. Each is read once for all threads.
#[derive(Debug, Default)]
pub(super) struct SharedScopes(Mutex<FxHashMap<Target, Arc<OnceLock<UnitScopes>>>>);

impl SharedScopes {
    /// Returns the scopes of a unit, which may not be read yet.
    pub(super) fn get(&self, unit_start: Target) -> Arc<OnceLock<UnitScopes>> {
        Arc::clone(self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(unit_start).or_default())
    }
}

/// The scopes of a unit. Units of other languages have none: their names are complete.
#[derive(Debug, Default)]
pub(super) struct UnitScopes {
    is_cpp: bool,
    rows_max: usize,
    /// Sorted offsets of functions, classes and namespaces, each with the number of the enclosing row, from 1 on.
    rows: Vec<(u32, Option<NonZeroU32>)>,
    /// Depth and number of the scopes around the current entry.
    open: Vec<(isize, NonZeroU32)>,
}

impl UnitScopes {
    pub(super) fn new(unit: &UnitRef<'_, SectionReader<'_, '_>>) -> Self {
        Self { rows_max: unit.header.unit_length() / BYTES_PER_ROW, ..Self::default() }
    }

    /// Returns whether the unit has scopes, once its first entry is recorded.
    pub(super) fn is_cpp(&self) -> bool {
        self.is_cpp
    }

    /// Reads all scopes of a unit, up to damage.
    pub(super) fn read(unit: &UnitRef<'_, SectionReader<'_, '_>>) -> Self {
        let mut scopes = Self::new(unit);
        scopes.read_entries(unit).ok();
        scopes
    }

    fn read_entries(&mut self, unit: &UnitRef<'_, SectionReader<'_, '_>>) -> gimli::Result<()> {
        let mut entries = unit.entries_raw(None)?;
        while !entries.is_empty() {
            let (depth, offset) = (entries.next_depth(), entries.next_offset());
            let Some(abbreviation) = entries.read_abbreviation()? else { continue };
            if depth == 0 {
                for specification in abbreviation.attributes() {
                    self.add_root(&entries.read_attribute(*specification)?.value());
                }
                if !self.is_cpp {
                    break;
                }
                continue;
            }
            self.add(depth, offset, abbreviation.tag(), abbreviation.has_children());
            entries.skip_attributes(abbreviation.attributes())?;
        }
        Ok(())
    }

    /// Records an attribute of the unit's first entry.
    pub(super) fn add_root(&mut self, value: &AttributeValue<SectionReader<'_, '_>>) {
        if let AttributeValue::Language(language) = value {
            self.is_cpp = matches!(
                *language,
                gimli::DW_LANG_C_plus_plus
                    | gimli::DW_LANG_C_plus_plus_03
                    | gimli::DW_LANG_C_plus_plus_11
                    | gimli::DW_LANG_C_plus_plus_14
                    | gimli::DW_LANG_C_plus_plus_17
                    | gimli::DW_LANG_C_plus_plus_20
                    | gimli::DW_LANG_ObjC_plus_plus
            );
        }
    }

    /// Records an entry. All entries of the unit are given in order.
    #[inline]
    pub(super) fn add(&mut self, depth: isize, offset: UnitOffset, tag: gimli::DwTag, has_children: bool) {
        if !self.is_cpp {
            return;
        }
        while self.open.last().is_some_and(|&(scope, _)| scope >= depth) {
            self.open.pop();
        }
        let Ok(offset) = u32::try_from(offset.0) else { return };
        if is_scope(tag) && self.rows.len() < self.rows_max {
            let around = self.open.last().map(|&(_, row)| row);
            if has_children && self.open.len() < DEPTH_MAX {
                self.rows.push((offset, around));
                self.open.extend(NonZeroU32::new(self.rows.len() as u32).map(|row| (depth, row)));
            } else if around.is_some() {
                self.rows.push((offset, around));
            }
        }
    }

    /// Returns the offset of the scope around an entry.
    pub(super) fn around(&self, offset: UnitOffset) -> Option<UnitOffset> {
        let offset = u32::try_from(offset.0).ok()?;
        let row = self.rows.binary_search_by_key(&offset, |&(offset, _)| offset).ok()?;
        let around = self.rows[row].1?.get() as usize - 1;
        Some(UnitOffset(self.rows[around].0 as usize))
    }
}

fn is_scope(tag: gimli::DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_subprogram
            | gimli::DW_TAG_namespace
            | gimli::DW_TAG_class_type
            | gimli::DW_TAG_structure_type
            | gimli::DW_TAG_union_type
    )
}

/// Returns the name of a scope that has none, as in other tools. GCC writes no names of lambdas.
pub(super) fn label(tag: gimli::DwTag) -> &'static str {
    match tag {
        gimli::DW_TAG_namespace => "(anonymous namespace)",
        gimli::DW_TAG_class_type => "(anonymous class)",
        gimli::DW_TAG_structure_type => "(anonymous struct)",
        gimli::DW_TAG_union_type => "(anonymous union)",
        _ => "(anonymous function)",
    }
}

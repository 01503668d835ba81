//! Debug information of a file: the functions at an address, those that were inlined there first, with their source
//! lines. Reading it is bounded in bytes and in steps. Opens no other file: parts that are elsewhere are left out.

use std::borrow::Cow;

use addr2line::Context;
use gimli::{Dwarf, SectionId};

use super::demangle::demangle;
use super::elf::ElfFile;
use super::fuel::{Fuel, FuelledSlice};
use super::functions::FunctionTable;
use super::names::{AddressNames, AddressNamesBuilder, FunctionName};
use crate::base::cancel::{Cancel, Cancelled};

/// The sections that names and lines are in.
const SECTIONS: [SectionId; 10] = [
    SectionId::DebugInfo,
    SectionId::DebugAbbrev,
    SectionId::DebugLine,
    SectionId::DebugStr,
    SectionId::DebugLineStr,
    SectionId::DebugRanges,
    SectionId::DebugRngLists,
    SectionId::DebugAddr,
    SectionId::DebugAranges,
    SectionId::DebugStrOffsets,
];

/// Steps of reading for each byte of debug information; real files need less than one.
const STEPS_PER_BYTE: u64 = 8;

/// Steps that small files have at least.
const STEPS_MIN: u64 = 4 << 20;

/// Functions at one address; compilers inline some ten deep.
const INLINED_MAX: usize = 256;

/// Addresses between two looks at the request to stop.
const ADDRESSES_PER_CHECK: usize = 64;

/// The bytes of debug information of a file.
#[derive(Debug, Default)]
pub(super) struct DebugInfo {
    sections: Vec<(SectionId, Vec<u8>)>,
    bytes: u64,
}

impl DebugInfo {
    /// Reads the sections of a file, of at most `bytes_max` together. `Ok(None)` if it has none; an error is their
    /// size.
    pub(super) fn read(elf: &ElfFile, bytes_max: u64) -> Result<Option<Self>, InfoTooLarge> {
        let Some(_) = elf.named(SectionId::DebugInfo.name()) else { return Ok(None) };
        let mut info = Self::default();
        for id in SECTIONS {
            let Some(section) = elf.named(id.name()) else { continue };
            let Some(bytes) = elf.bytes_of(section, bytes_max.saturating_sub(info.bytes)) else {
                return Err(InfoTooLarge);
            };
            info.bytes += bytes.len() as u64;
            info.sections.push((id, bytes));
        }
        Ok(Some(info))
    }

    fn section(&self, id: SectionId) -> &[u8] {
        self.sections.iter().find(|(own, _)| *own == id).map_or(&[], |(_, bytes)| bytes)
    }

    /// The names of addresses, which are pairs of the address that is asked for and that in the file, in order. Where
    /// the debug information says nothing, the function is that of the symbol table.
    pub(super) fn names(
        &self,
        addresses: &[(u64, u64)],
        functions: &FunctionTable,
        cancel: &Cancel,
    ) -> Result<AddressNames, Cancelled> {
        let fuel = Fuel::new(STEPS_MIN.saturating_add(self.bytes.saturating_mul(STEPS_PER_BYTE)));
        let dwarf = Dwarf::load(|id| Ok::<_, gimli::Error>(FuelledSlice::new(self.section(id), &fuel)));
        let context = dwarf.and_then(Context::from_dwarf).ok();
        let mut builder = AddressNamesBuilder::default();
        let mut texts = AddressTexts::default();
        for (number, &(asked, address)) in addresses.iter().enumerate() {
            if number.is_multiple_of(ADDRESSES_PER_CHECK) {
                cancel.check()?;
            }
            texts.rows.clear();
            // The package adds 1 to an address.
            if let Some(context) = context.as_ref().filter(|_| !fuel.is_burnt() && address != u64::MAX) {
                texts.read(context, address);
            }
            texts.complete(functions.find(address));
            builder.push(asked, texts.rows.iter().map(OwnedFunction::as_name));
        }
        Ok(builder.finish())
    }
}

/// The names of addresses by the symbol table alone.
pub(super) fn names_of_functions(addresses: &[(u64, u64)], functions: &FunctionTable) -> AddressNames {
    let mut builder = AddressNamesBuilder::default();
    for &(asked, address) in addresses {
        let name = functions.find(address).map(demangle);
        builder.push(asked, name.iter().map(|name| FunctionName { name, ..FunctionName::default() }));
    }
    builder.finish()
}

/// Debug information is beyond the bound, or damaged.
#[derive(Debug, Clone, Copy)]
pub(super) struct InfoTooLarge;

struct OwnedFunction {
    /// Empty where the debug information has none.
    name: String,
    file: String,
    line: u32,
}

impl OwnedFunction {
    fn as_name(&self) -> FunctionName<'_> {
        FunctionName { name: &self.name, file: &self.file, line: self.line }
    }
}

/// The functions at one address.
#[derive(Default)]
struct AddressTexts {
    rows: Vec<OwnedFunction>,
}

impl AddressTexts {
    /// Reads what debug information has of an address; up to the damage, where there is one.
    fn read(&mut self, context: &Context<FuelledSlice<'_>>, address: u64) {
        let Ok(mut frames) = context.find_frames(address).skip_all_loads() else { return };
        while let Ok(Some(frame)) = frames.next() {
            if self.rows.len() >= INLINED_MAX {
                break;
            }
            let name = frame.function.as_ref().map(|function| demangle(function.name.bytes()));
            let location = frame.location;
            let file = location.as_ref().and_then(|location| location.file).map_or(Cow::Borrowed(""), plain_path);
            let line = location.as_ref().and_then(|location| location.line).unwrap_or(0);
            self.rows.push(OwnedFunction { name: name.unwrap_or_default(), file: file.into_owned(), line });
        }
    }

    /// Gives the outermost function the name of the symbol table if it has none. Inlined ones without a name are left
    /// out.
    fn complete(&mut self, symbol: Option<&[u8]>) {
        if self.rows.is_empty()
            && let Some(symbol) = symbol
        {
            self.rows.push(OwnedFunction { name: demangle(symbol), file: String::new(), line: 0 });
        }
        if let (Some(last), Some(symbol)) = (self.rows.last_mut(), symbol)
            && last.name.is_empty()
        {
            last.name = demangle(symbol);
        }
        self.rows.retain(|row| !row.name.is_empty());
    }
}

/// A path as it is shown, at most as long as one of Linux.
fn plain_path(path: &str) -> Cow<'_, str> {
    let end = path.floor_char_boundary(4096);
    Cow::Borrowed(&path[..end])
}

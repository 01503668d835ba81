//! The compiled copies of C++ functions that are also inlined. GCC writes no linkage names of functions with internal
//! linkage, so the symbol of the compiled copy names the inlined copies too.

use gimli::UnitRef;
use rustc_hash::FxHashMap;

use super::origins::{Origins, RawName};
use super::scopes::Target;
use super::sections::SectionReader;
use crate::base::demangle::{demangle, without_suffix};
use crate::symbols::functions::FunctionTable;

/// Bytes of a unit per recorded copy; real units have more than 100.
const BYTES_PER_COPY: usize = 32;

/// The compiled copies of a unit.
#[derive(Debug, Default)]
pub(super) struct CompiledCopies<'a> {
    copies_max: usize,
    /// The entry that describes each copy, and the address of the copy.
    copies: Vec<(Target, u64)>,
    /// Addresses by the entry that has the name; built for the first inlined function that needs one.
    addresses: Option<FxHashMap<Target, u64>>,
    names: FxHashMap<Target, RawName<'a>>,
}

impl<'a> CompiledCopies<'a> {
    pub(super) fn new(unit: &UnitRef<'_, SectionReader<'_, '_>>) -> Self {
        Self { copies_max: unit.header.unit_length() / BYTES_PER_COPY, ..Self::default() }
    }

    /// Records a compiled copy of the function that is described at `origin`.
    pub(super) fn add(&mut self, origin: Target, address: u64) {
        if self.copies.len() < self.copies_max {
            self.copies.push((origin, address));
        }
    }

    /// Returns the linkage name of an inlined function that lacks its scopes, if a copy of it has a symbol. Otherwise
    /// returns the name itself.
    pub(super) fn with_linkage_name<'f>(
        &mut self,
        name: RawName<'a>,
        symbols: &'a FunctionTable,
        unit: &UnitRef<'_, SectionReader<'a, 'f>>,
        origins: &mut Origins<'a, 'f>,
    ) -> RawName<'a> {
        let Some(described) = name.unscoped.filter(|_| !self.copies.is_empty()) else { return name };
        if let Some(&known) = self.names.get(&described) {
            return known;
        }
        let copies = &self.copies;
        let addresses = self.addresses.get_or_insert_with(|| {
            let address = |&(origin, address): &(Target, u64)| Some((origins.follow(unit, origin)?.unscoped?, address));
            // Of several copies, the first is used.
            copies.iter().rev().filter_map(address).collect()
        });
        let symbol = addresses.get(&described).and_then(|&address| symbols.find(address));
        let mangled = symbol.and_then(without_suffix).filter(|mangled| is_name_of(name.text, mangled));
        let linked = mangled.map_or(name, |text| RawName { text, unscoped: None });
        self.names.insert(described, linked);
        linked
    }
}

/// Returns whether a linkage name may belong to a function. Linkers that merge equal functions leave the symbol of
/// another function.
fn is_name_of(function: &[u8], mangled: &[u8]) -> bool {
    const OPERATOR: &[u8] = b"operator";
    let end = memchr::memchr(b'<', function).unwrap_or(function.len());
    let base = function[..end].trim_ascii();
    let base = base.strip_prefix(b"~").unwrap_or(base);
    if base.is_empty() {
        return false;
    }
    // In linkage names, operators have codes, and all other names follow their lengths.
    if base.starts_with(OPERATOR) {
        return memchr::memmem::find(demangle(mangled).as_bytes(), OPERATOR).is_some();
    }
    let part = [base.len().to_string().as_bytes(), base].concat();
    memchr::memmem::find(mangled, &part).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_symbol_of_a_merged_function_does_not_name_another() {
        for (function, mangled, is_name) in [
            ("norm", "_ZN12_GLOBAL__N_1L4normERKNS_1VE", true),
            ("norm", "_ZL4scalRKd", false),
            ("norm", "_ZL9normaliseRKd", false),
            ("each<int>", "_ZL4eachIiEvT_", true),
            ("~V", "_ZN12_GLOBAL__N_11VD2Ev", true),
            ("operator()", "_ZZ3runiENKUliE_clEi", true),
            ("operator<", "_ZN12_GLOBAL__N_1ltERKNS_1VES2_", true),
            ("operator<", "_ZL4normRKd", false),
            ("", "_ZL4normRKd", false),
        ] {
            assert_eq!(is_name_of(function.as_bytes(), mangled.as_bytes()), is_name, "{function}, {mangled}");
        }
    }
}

//! The resolved names of one module: for each address the functions inlined there, innermost first, and the enclosing
//! function. An address without a name has an empty list.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// A function at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FunctionName<'a> {
    pub(crate) name: &'a str,
    /// Source file; empty if unknown.
    pub(crate) file: &'a str,
    /// Source line; 0 if unknown.
    pub(crate) line: u32,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AddressNames {
    /// The distinct, sorted addresses.
    addresses: Vec<u64>,
    /// The end of the functions of each address in `functions`.
    ends: Vec<u32>,
    functions: Vec<FunctionRow>,
    texts: Vec<Box<str>>,
}

/// A function: name and file by text index, and line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct FunctionRow {
    name: u32,
    /// One plus the text index; 0 without a file.
    file: u32,
    line: u32,
}

/// Builds [`AddressNames`] from sorted addresses.
#[derive(Debug, Default)]
pub(super) struct AddressNamesBuilder {
    names: AddressNames,
    rows: FxHashMap<Box<str>, u32>,
}

impl AddressNames {
    /// Returns the functions at an address, innermost first; `None` for an address that was not resolved.
    pub(crate) fn get(&self, address: u64) -> Option<impl Iterator<Item = FunctionName<'_>>> {
        let row = self.addresses.binary_search(&address).ok()?;
        Some(self.functions_of(row))
    }

    fn functions_of(&self, row: usize) -> impl Iterator<Item = FunctionName<'_>> {
        // Cached names may be damaged despite a valid checksum.
        let end = |row: usize| self.ends.get(row).copied().unwrap_or(0) as usize;
        let start = row.checked_sub(1).map_or(0, end);
        let functions = self.functions.get(start..end(row)).unwrap_or_default();
        let text = |row: u32| self.texts.get(row as usize).map_or("", |text| text);
        functions.iter().map(move |function| FunctionName {
            name: text(function.name),
            file: function.file.checked_sub(1).map_or("", text),
            line: function.line,
        })
    }

    /// Iterates over the functions at all addresses.
    pub(super) fn functions(&self) -> impl Iterator<Item = FunctionName<'_>> {
        (0..self.addresses.len()).flat_map(|row| self.functions_of(row))
    }

    /// Iterates over the distinct names of all functions.
    pub(super) fn function_names(&self) -> impl Iterator<Item = &str> {
        let mut rows: Vec<u32> = self.functions.iter().map(|function| function.name).collect();
        rows.sort_unstable();
        rows.dedup();
        rows.into_iter().filter_map(|row| Some(&**self.texts.get(row as usize)?))
    }

    /// Returns whether an address has a name.
    pub(crate) fn has_name(&self, address: u64) -> bool {
        self.get(address).is_some_and(|mut functions| functions.next().is_some())
    }

    /// Returns all addresses that were resolved, in order.
    #[cfg(test)]
    pub(crate) fn addresses(&self) -> &[u64] {
        &self.addresses
    }

    /// Counts the addresses with a name.
    pub(crate) fn named(&self) -> usize {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).filter(|(start, end)| start < end).count()
    }

    /// Returns the addresses that were not resolved, out of some sorted ones.
    pub(super) fn missing(&self, addresses: &[u64]) -> Vec<u64> {
        addresses.iter().copied().filter(|address| self.addresses.binary_search(address).is_err()).collect()
    }

    /// Merges with the names of other, disjoint addresses.
    pub(super) fn merged(&self, others: &Self) -> Self {
        let mut builder = AddressNamesBuilder::default();
        let (mut own_row, mut other_row) = (0, 0);
        loop {
            let next = match (self.addresses.get(own_row), others.addresses.get(other_row)) {
                (None, None) => return builder.finish(),
                (Some(mine), Some(theirs)) if mine < theirs => (self, &mut own_row, *mine),
                (Some(mine), None) => (self, &mut own_row, *mine),
                (_, Some(theirs)) => (others, &mut other_row, *theirs),
            };
            let (names, row, address) = next;
            builder.push(address, names.functions_of(*row));
            *row += 1;
        }
    }
}

impl AddressNamesBuilder {
    /// Adds an address after the last one.
    pub(super) fn push<'a>(&mut self, address: u64, functions: impl IntoIterator<Item = FunctionName<'a>>) {
        let mut rows = Vec::new();
        for FunctionName { name, file, line } in functions {
            let name = self.text(name);
            rows.push((name, (!file.is_empty()).then(|| self.text(file)), line));
        }
        self.push_rows(address, rows);
    }

    /// Adds an address after the last one; its functions have text indices for names and files.
    pub(super) fn push_rows(&mut self, address: u64, functions: impl IntoIterator<Item = (u32, Option<u32>, u32)>) {
        let row =
            |(name, file, line): (u32, Option<u32>, u32)| FunctionRow { name, file: file.map_or(0, |it| it + 1), line };
        self.names.functions.extend(functions.into_iter().map(row));
        self.names.addresses.push(address);
        self.names.ends.push(self.names.functions.len() as u32);
    }

    /// Returns the index of a text.
    pub(super) fn text(&mut self, text: &str) -> u32 {
        if let Some(&row) = self.rows.get(text) {
            return row;
        }
        let row = self.names.texts.len() as u32;
        self.names.texts.push(text.into());
        self.rows.insert(text.into(), row);
        row
    }

    pub(super) fn finish(self) -> AddressNames {
        self.names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_their_functions_or_are_known_to_have_none() {
        let function = |name, file, line| FunctionName { name, file, line };
        let mut first = AddressNamesBuilder::default();
        first.push(3, [function("inner", "a.c", 7), function("outer", "a.c", 9)]);
        first.push(5, []);
        let mut second = AddressNamesBuilder::default();
        second.push(8, [function("outer", "", 0)]);
        let names = first.finish().merged(&second.finish());
        let at = |address| names.get(address).map(Iterator::collect::<Vec<_>>);
        assert_eq!(at(3), Some(vec![function("inner", "a.c", 7), function("outer", "a.c", 9)]));
        assert_eq!((at(5), at(6)), (Some(vec![]), None));
        assert_eq!(at(8), Some(vec![function("outer", "", 0)]));
        assert_eq!((names.named(), names.addresses()), (2, &[3, 5, 8][..]));
    }
}

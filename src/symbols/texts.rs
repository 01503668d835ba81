//! Demangles each name of a file once: a function of a header is in many units, and inlined at many addresses.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::base::demangle::demangle;

/// Names as ranges of file bytes, each with the scope before it, which is not mangled.
#[derive(Debug, Default)]
pub(super) struct NameTexts<'a> {
    /// Addresses and length of each name, which are faster to compare than its text.
    rows: FxHashMap<(usize, usize, usize), u32>,
    names: Vec<(&'a str, &'a [u8])>,
}

impl<'a> NameTexts<'a> {
    /// Returns the index of a name.
    pub(super) fn row(&mut self, scope: &'a str, name: &'a [u8]) -> u32 {
        let names = &mut self.names;
        let key = (scope.as_ptr() as usize, name.as_ptr() as usize, name.len());
        *self.rows.entry(key).or_insert_with(|| {
            names.push((scope, name));
            names.len() as u32 - 1
        })
    }

    /// Returns the demangled names by index.
    pub(super) fn readable(&self) -> Vec<String> {
        self.names.par_iter().map(|&(scope, name)| scope.to_owned() + &demangle(name)).collect()
    }
}

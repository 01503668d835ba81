//! Names as files have them, each made readable once: a function of a header is in many units,
//! and inlined at many addresses.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::demangle::demangle;

/// Names that parts of files hold, by the places that they are at.
#[derive(Debug, Default)]
pub(super) struct NameTexts<'a> {
    /// Start and length of the bytes of each name, which are quicker to compare than their letters.
    rows: FxHashMap<(usize, usize), u32>,
    names: Vec<&'a [u8]>,
}

impl<'a> NameTexts<'a> {
    /// The row of a name.
    pub(super) fn row(&mut self, name: &'a [u8]) -> u32 {
        let names = &mut self.names;
        *self.rows.entry((name.as_ptr() as usize, name.len())).or_insert_with(|| {
            names.push(name);
            names.len() as u32 - 1
        })
    }

    /// The readable names of all rows.
    pub(super) fn readable(&self) -> Vec<String> {
        self.names.par_iter().map(|name| demangle(name)).collect()
    }
}

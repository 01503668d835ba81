//! Finds files that end early. Costs have no end mark of their own, but the sums of a part do: callgrind writes one
//! before the costs and one after them, and cachegrind one at the end of the file. The sums of other tools are not
//! exact: Xdebug and pyprof2calltree write the total of the root, and round each cost down.

use crate::formats::input::text::parsed;

/// The headings and costs of the current part.
#[derive(Debug, Default)]
pub(super) struct PartEnd {
    /// Whether only cachegrind writes such headings.
    is_cachegrind: Option<bool>,
    /// Whether a tool of Valgrind wrote the file, whose sums are exact.
    is_valgrind: bool,
    /// Exact sum of the first kind of cost, if it is before the costs.
    summary: Option<u64>,
    has_costs: bool,
    /// Whether a sum follows the costs.
    has_end: bool,
    sum: u64,
    has_cut_part: bool,
}

impl PartEnd {
    /// Reads a heading.
    pub(super) fn heading(&mut self, key: &[u8], value: &[u8]) {
        match key {
            b"part" | b"events" if self.has_costs => {
                self.has_cut_part |= self.is_cut();
                let (is_valgrind, has_cut_part) = (self.is_valgrind, self.has_cut_part);
                *self = Self { is_cachegrind: Some(false), is_valgrind, has_cut_part, ..Self::default() };
            }
            b"desc" if self.is_cachegrind.is_none() => self.is_cachegrind = Some(true),
            b"creator" => {
                self.is_valgrind = value.starts_with(b"callgrind-") || value.starts_with(b"cachegrind-");
                self.is_cachegrind = Some(false);
            }
            b"version" | b"part" | b"positions" => self.is_cachegrind = Some(false),
            b"summary" if !self.has_costs && self.is_valgrind => {
                let first = value.split(u8::is_ascii_whitespace).next().unwrap_or_default();
                self.summary = parsed(first);
            }
            b"summary" | b"totals" if self.has_costs => self.has_end = true,
            _ => {}
        }
    }

    /// Adds own cost of the first kind.
    pub(super) fn add_cost(&mut self, cost: u64) {
        self.has_costs = true;
        self.sum = self.sum.saturating_add(cost);
    }

    /// Returns whether the file, or a part of it, ends before the last costs.
    pub(super) fn is_any_cut(&self) -> bool {
        self.has_cut_part || self.is_cut()
    }

    fn is_cut(&self) -> bool {
        if self.has_end || !self.has_costs {
            return false;
        }
        self.summary.map_or(self.is_cachegrind == Some(true), |summary| self.sum < summary)
    }
}

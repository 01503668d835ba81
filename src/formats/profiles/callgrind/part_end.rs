//! Finds files that end early. Costs have no end mark of their own, but the sums of a part do: callgrind writes one
//! before the costs and one after them, and cachegrind one at the end of the file. The sums of other tools are not
//! exact: Xdebug and pyprof2calltree write the total of the root, and round each cost down.

use crate::formats::input::text::parsed;

/// Checks whether each part of a file has its end.
#[derive(Debug, Default)]
pub(super) struct PartEnd {
    tool: Tool,
    part: PartCosts,
    has_cut_part: bool,
}

/// The tool that wrote a file, by its headings.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Tool {
    #[default]
    Unknown,
    /// Only cachegrind begins with a description of the caches.
    Cachegrind,
    Callgrind,
    Other,
}

/// The headings and costs of the current part.
#[derive(Debug, Default)]
struct PartCosts {
    /// Exact sum of the first kind of cost, if it is before the costs.
    summary: Option<u64>,
    has_costs: bool,
    /// Whether a sum follows the costs.
    has_end: bool,
    sum: u64,
}

impl PartEnd {
    pub(super) fn heading(&mut self, key: &[u8], value: &[u8]) {
        match key {
            b"part" | b"events" if self.part.has_costs => {
                self.has_cut_part = self.is_any_cut();
                self.part = PartCosts::default();
                if self.tool != Tool::Callgrind {
                    self.tool = Tool::Other;
                }
            }
            b"desc" if self.tool == Tool::Unknown => self.tool = Tool::Cachegrind,
            b"creator" => self.tool = if value.starts_with(b"callgrind-") { Tool::Callgrind } else { Tool::Other },
            b"version" | b"part" | b"positions" if self.tool != Tool::Callgrind => self.tool = Tool::Other,
            b"summary" if !self.part.has_costs && self.tool == Tool::Callgrind => {
                let first = value.split(u8::is_ascii_whitespace).next().unwrap_or_default();
                self.part.summary = parsed(first);
            }
            b"summary" | b"totals" if self.part.has_costs => self.part.has_end = true,
            _ => {}
        }
    }

    /// Adds own cost of the first kind.
    pub(super) fn add_cost(&mut self, cost: u64) {
        self.part.has_costs = true;
        self.part.sum = self.part.sum.saturating_add(cost);
    }

    /// Returns whether the file, or a part of it, ends before the last costs.
    pub(super) fn is_any_cut(&self) -> bool {
        self.has_cut_part || self.part.is_cut(self.tool)
    }
}

impl PartCosts {
    fn is_cut(&self, tool: Tool) -> bool {
        if self.has_end || !self.has_costs {
            return false;
        }
        self.summary.map_or(tool == Tool::Cachegrind, |summary| self.sum < summary)
    }
}

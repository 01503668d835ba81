//! Pruned sums by call path over one range of time, used where whole histograms do not fit. Paths with a small share of
//! time and spans have no sums of their own; they count as *others* of their nearest ancestor with sums.
//!
//! The time below each path stays exact, including its others, and the number of all spans stays exact too.
//! [`PrunedPaths::missing`] bounds the error of a single path: the sum of what each pruning step left out of one path.
//! Paths include their names, so no table of all paths is needed.
//!
//! Rejects paths whose children take more time than the path itself: such children overlap each other, so their widths
//! do not add up.

use super::ledger::NodeContent;
use super::paths::{PathIdx, PathRow, PathSums};
use super::sums::Additive as _;
use crate::model::NameIdx;

/// Name of the merged children without sums of their own. No trace uses this index: there is no room for the text of as
/// many names.
pub(crate) const OTHERS: NameIdx = NameIdx(u32::MAX);

/// Minimum share of a range, in time or in spans, for a path to have its own sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PruneShape {
    /// Denominator of the share of time. All pruning steps together leave out less than this share of any path.
    pub(crate) time_parts: u64,
    /// Denominator of the share of spans.
    pub(crate) count_parts: u64,
    /// Number of paths up to which nothing is pruned.
    pub(crate) few_paths: usize,
}

impl PruneShape {
    /// Returns thresholds of `share` sixteenths of these, divided by `by`.
    fn shared(self, share: u64, by: u64) -> Self {
        let parts = |parts: u64| parts.saturating_mul(16).saturating_mul(by).div_ceil(share);
        Self { time_parts: parts(self.time_parts), count_parts: parts(self.count_parts), ..self }
    }

    /// Thresholds for leaves: three quarters of the whole, because leaves take most of the bytes.
    pub(super) fn for_leaf(self) -> Self {
        self.shared(12, 1)
    }

    /// Thresholds for a node above the leaves: a sixteenth of the whole for leaves and the level above, halved for each
    /// more level.
    fn for_level(self, level: usize) -> Self {
        self.shared(1, 1 << level.saturating_sub(1).min(40))
    }

    /// Thresholds for an answer: the rest of the whole.
    pub(crate) fn for_answer(self) -> Self {
        self.shared(1, 1)
    }
}

/// A path in preorder: its parent is the last earlier entry of one depth less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PathEntry {
    /// The number of spans on the path; 1 for the outermost.
    depth: u32,
    name: NameIdx,
    sums: PathSums,
}

/// Sums by path, with small paths merged into the others of their parents.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PrunedPaths {
    /// In preorder, siblings sorted by name index; others come last.
    entries: Vec<PathEntry>,
    /// Maximum that a single path may lack: its own time, and the spans of its subtree.
    pub(crate) missing: PathSums,
    /// Thresholds for parent nodes; `None` for a decoded node.
    shape: Option<PruneShape>,
    /// Whether sums of several ranges were merged.
    is_merged: bool,
}

impl PrunedPaths {
    /// Prunes sums. `rows` has parents before children. Returns `None` if children of a path overlap each other.
    pub(crate) fn new(rows: &[PathRow], sums: &[PathSums], shape: PruneShape) -> Option<Self> {
        let mut below_ns = vec![0_u128; rows.len()];
        let mut starts: Vec<u64> = sums.iter().map(|sums| sums.starts).collect();
        for (index, row) in rows.iter().enumerate().skip(1).rev() {
            if row.name != OTHERS && below_ns[index] > sums[index].total_ns {
                return None;
            }
            let above = row.parent.index();
            below_ns[above] = below_ns[above].saturating_add(sums[index].total_ns);
            starts[above] += starts[index];
        }
        let whole =
            PathSums { starts: starts.first().copied().unwrap_or(0), total_ns: below_ns.first().copied().unwrap_or(0) };
        let least_ns = whole.total_ns / u128::from(shape.time_parts.max(1));
        let least_starts = whole.starts / shape.count_parts.max(1);
        let is_few = rows.len() <= shape.few_paths;
        let mut is_kept = vec![false; rows.len()];
        for (index, row) in rows.iter().enumerate().skip(1).rev() {
            let is_large = is_few || sums[index].total_ns > least_ns || starts[index] > least_starts;
            if is_kept[index] || is_large && row.name != OTHERS {
                is_kept[index] = true;
                is_kept[row.parent.index()] = true;
            }
        }
        let mut others = vec![PathSums::default(); rows.len()];
        let mut missing = PathSums::default();
        // Spans without a path count as *others* of the root.
        others.iter_mut().zip(sums).take(1).for_each(|(others, sums)| others.add(sums));
        for (index, row) in rows.iter().enumerate().skip(1) {
            let above = row.parent.index();
            if !is_kept[index] && (is_kept[above] || above == 0) {
                let pruned = PathSums { starts: starts[index], total_ns: sums[index].total_ns };
                others[above].add(&pruned);
                if row.name != OTHERS {
                    missing.starts = missing.starts.max(pruned.starts);
                    missing.total_ns = missing.total_ns.max(pruned.total_ns);
                }
            }
        }
        let kept_rows = rows.iter().zip(sums).enumerate().skip(1).filter(|&(index, _)| is_kept[index]);
        let kept_rows = kept_rows.map(|(index, (row, sums))| (row.parent.0, row.name, index as u32, *sums));
        let others = (0..).zip(others).filter(|(_, others)| !others.is_empty());
        // Others have no paths below them.
        let others = others.map(|(above, others)| (above, OTHERS, u32::MAX, others));
        let entries = in_tree_order(kept_rows.chain(others).collect());
        Some(Self { entries, missing, shape: Some(shape), is_merged: false })
    }

    /// Returns the paths and their sums, parents before children.
    #[must_use]
    pub(crate) fn rows(&self) -> (Vec<PathRow>, Vec<PathSums>) {
        let root = PathRow { parent: PathIdx::ROOT, name: NameIdx::EMPTY };
        let mut rows = Vec::with_capacity(self.entries.len() + 1);
        let mut sums = Vec::with_capacity(self.entries.len() + 1);
        rows.push(root);
        sums.push(PathSums::default());
        // The rows from the root to the last entry.
        let mut above = vec![PathIdx::ROOT];
        for entry in &self.entries {
            above.truncate(entry.depth as usize);
            let parent = above.last().copied().unwrap_or(PathIdx::ROOT);
            above.push(PathIdx(rows.len() as u32));
            rows.push(PathRow { parent, name: entry.name });
            sums.push(entry.sums);
        }
        (rows, sums)
    }

    /// Decodes the paths of a node; `None` if the bytes are invalid.
    pub(super) fn unpack(bytes: &[u8]) -> Option<Self> {
        let ((starts, total_ns), mut rest) = postcard::take_from_bytes::<(u64, u128)>(bytes).ok()?;
        let missing = PathSums { starts, total_ns };
        let (mut entries, mut last) = (Vec::new(), 0_u32);
        while !rest.is_empty() {
            let ((ups, name, starts, total_ns), after) =
                postcard::take_from_bytes::<(u32, u32, u64, u128)>(rest).ok()?;
            last = last.checked_add(1)?.checked_sub(ups).filter(|&depth| depth > 0)?;
            let sums = PathSums { starts, total_ns };
            entries.push(PathEntry { depth: last, name: NameIdx(name), sums });
            rest = after;
        }
        Some(Self { entries, missing, shape: None, is_merged: false })
    }
}

/// Sorts paths into preorder. Each has the index of its parent, its name, and its own index.
fn in_tree_order(mut paths: Vec<(u32, NameIdx, u32, PathSums)>) -> Vec<PathEntry> {
    paths.sort_unstable_by_key(|&(above, name, ..)| (above, name));
    let below = |above: u32| {
        let first = paths.partition_point(|path| path.0 < above);
        first..first + paths[first..].partition_point(|path| path.0 == above)
    };
    let mut entries = Vec::with_capacity(paths.len());
    let mut waiting = vec![below(0)];
    while let Some(range) = waiting.last_mut() {
        let Some(next) = range.next() else {
            waiting.pop();
            continue;
        };
        let (_, name, index, sums) = paths[next];
        entries.push(PathEntry { depth: waiting.len() as u32, name, sums });
        waiting.push(if index == u32::MAX { 0..0 } else { below(index) });
    }
    entries
}

impl NodeContent for PrunedPaths {
    fn merge(&mut self, other: &Self) {
        self.missing.add(&other.missing);
        if other.entries.is_empty() {
            return;
        }
        self.shape = other.shape;
        if self.entries.is_empty() {
            self.entries.clone_from(&other.entries);
            self.is_merged = other.is_merged;
            return;
        }
        self.is_merged = true;
        let mut merged = Vec::with_capacity(self.entries.len() + other.entries.len() / 2);
        let (mut own_entries, mut added) = (self.entries.iter().peekable(), other.entries.iter().peekable());
        while let (Some(first), Some(second)) = (own_entries.peek(), added.peek()) {
            // The deeper entry is in the subtree of the last entry, and the other entry is beyond it. At equal depth
            // both have the same parent.
            let order = second.depth.cmp(&first.depth).then(first.name.cmp(&second.name));
            let mut entry = **if order.is_le() { first } else { second };
            if order.is_eq() {
                entry.sums.add(&second.sums);
            }
            if order.is_le() {
                own_entries.next();
            }
            if order.is_ge() {
                added.next();
            }
            merged.push(entry);
        }
        merged.extend(own_entries.chain(added));
        self.entries = merged;
    }

    /// Prunes after a merge. Children that overlap in no range overlap in none of the sums.
    fn settle(&mut self, level: usize) {
        let Some(shape) = self.shape.filter(|_| self.is_merged) else { return };
        let (rows, sums) = self.rows();
        if let Some(pruned) = Self::new(&rows, &sums, shape.for_level(level)) {
            self.entries = pruned.entries;
            self.missing.add(&pruned.missing);
        }
    }

    fn pack(&self, out: &mut Vec<u8>) -> postcard::Result<()> {
        let PathSums { starts, total_ns } = self.missing;
        let mut packed = postcard::to_extend(&(starts, total_ns), std::mem::take(out))?;
        let mut last = 0;
        for PathEntry { depth, name, sums } in &self.entries {
            packed = postcard::to_extend(&(last + 1 - depth, name.0, sums.starts, sums.total_ns), packed)?;
            last = *depth;
        }
        *out = packed;
        Ok(())
    }

    fn items(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests;

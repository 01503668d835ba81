//! The rows of a call tree that are in the table: the calls whose callers are all expanded. Expanded calls are
//! remembered by path, so they stay expanded in another scope.

use rustc_hash::FxHashSet;

use super::call_order::CallOrder;
use crate::query::flame::{FlameNodeIdx, FunctionIdx};
use crate::query::sample_table::{CallLinks, SampleGroupRow};

/// Limit for the calls that one key or a filter expands. A filter of one letter may match a million calls, whose rows
/// would take longer than a frame.
const EXPANDED_MAX: usize = 10_000;

/// A call in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct VisibleCall {
    /// Row of the sample table.
    pub(super) row: u32,
    /// The number of callers above it, by which its name is indented.
    pub(super) depth: u32,
    /// Hash of the names and modules of its path.
    path: u64,
    pub(super) has_callees: bool,
    pub(super) is_expanded: bool,
}

/// The calls in the table, and which are expanded.
#[derive(Debug, Default)]
pub(super) struct CallRows {
    visible: Vec<VisibleCall>,
    /// Paths that are expanded, by hash.
    expanded: FxHashSet<u64>,
    /// Paths that the filter would expand, and the user has collapsed.
    collapsed: FxHashSet<u64>,
    /// Paths of first calls without siblings, which were expanded once, until their paths branch.
    begun: FxHashSet<u64>,
    /// The filter of the rows.
    words: String,
}

/// A call tree in the order of its rows.
#[derive(Clone, Copy)]
pub(super) struct OrderedCalls<'a> {
    pub(super) table: &'a [SampleGroupRow],
    pub(super) calls: &'a CallLinks,
    /// Rows of the sample table, grouped by caller.
    pub(super) rows: &'a [u32],
    pub(super) order: &'a CallOrder,
    /// The filter of the rows.
    pub(super) words: &'a str,
}

impl OrderedCalls<'_> {
    /// Returns the callees of a row, or for `None` the first functions of all paths.
    fn callees(&self, row: Option<u32>) -> &[u32] {
        match row {
            // Samples without a stack, which have the row of the root.
            Some(0) => &[],
            row => self.order.callees(self.rows, FlameNodeIdx(row.unwrap_or(0))),
        }
    }

    /// Hashes a path, given the hash of its caller's path.
    fn path(&self, row: u32, caller: u64) -> u64 {
        let function = self.table[row as usize].key.function().unwrap_or(FunctionIdx::ROOT);
        self.calls.path_hash(caller, function)
    }

    /// Iterates over all calls with their depth, callers first.
    pub(super) fn all(self) -> impl Iterator<Item = (u32, u32)> {
        let mut waiting: Vec<(u32, u32)> = self.callees(None).iter().rev().map(|&row| (row, 0)).collect();
        std::iter::from_fn(move || {
            let (row, depth) = waiting.pop()?;
            waiting.extend(self.callees(Some(row)).iter().rev().map(|&callee| (callee, depth + 1)));
            Some((row, depth))
        })
    }
}

impl CallRows {
    pub(super) fn visible(&self) -> &[VisibleCall] {
        &self.visible
    }

    pub(super) fn clear(&mut self) {
        self.visible.clear();
    }

    /// Lists the calls whose callers are all expanded. Without a filter, a first call without siblings is expanded
    /// once, until its paths branch.
    pub(super) fn update(&mut self, calls: OrderedCalls<'_>) {
        if self.words != calls.words {
            calls.words.clone_into(&mut self.words);
            self.collapsed.clear();
        }
        if let (&[only], "") = (calls.callees(None), calls.words) {
            let path = calls.path(only, calls.calls.root_hash());
            if self.begun.insert(path) {
                self.expand_chain(calls, only, path);
            }
        }
        self.visible.clear();
        let mut waiting: Vec<(u32, u32, u64)> = Vec::new();
        let push = |waiting: &mut Vec<_>, callees: &[u32], depth, caller| {
            waiting.extend(callees.iter().rev().map(|&row| (row, depth, calls.path(row, caller))));
        };
        push(&mut waiting, calls.callees(None), 0, calls.calls.root_hash());
        while let Some((row, depth, path)) = waiting.pop() {
            let callees = calls.callees(Some(row));
            let has_callees = !callees.is_empty();
            let is_expanded = has_callees && self.is_expanded(calls, row, path);
            self.visible.push(VisibleCall { row, depth, path, has_callees, is_expanded });
            if is_expanded {
                push(&mut waiting, callees, depth + 1, path);
            }
        }
    }

    fn is_expanded(&self, calls: OrderedCalls<'_>, row: u32, path: u64) -> bool {
        let leads_to_match = calls.order.leads_to_match(row) && !self.collapsed.contains(&path);
        leads_to_match && self.visible.len() < EXPANDED_MAX || self.expanded.contains(&path)
    }

    /// Expands or collapses a row. A row is expanded until its paths branch.
    pub(super) fn toggle(&mut self, calls: OrderedCalls<'_>, position: usize) {
        let Some(&call) = self.visible.get(position).filter(|call| call.has_callees) else { return };
        if call.is_expanded {
            self.expanded.remove(&call.path);
            self.collapsed.insert(call.path);
        } else {
            self.expand_chain(calls, call.row, call.path);
        }
        self.update(calls);
    }

    /// Expands all calls below a row, as many as a frame has time for.
    pub(super) fn expand_all(&mut self, calls: OrderedCalls<'_>, position: usize) {
        let Some(&call) = self.visible.get(position) else { return };
        let mut waiting = vec![(call.row, call.path)];
        for _ in 0..EXPANDED_MAX {
            let Some((row, path)) = waiting.pop() else { break };
            let callees = calls.callees(Some(row));
            if !callees.is_empty() {
                self.expand(path);
            }
            waiting.extend(callees.iter().rev().map(|&callee| (callee, calls.path(callee, path))));
        }
        self.update(calls);
    }

    /// Expands a call, and its callees while there is only one.
    fn expand_chain(&mut self, calls: OrderedCalls<'_>, row: u32, path: u64) {
        let (mut row, mut path) = (row, path);
        self.expand(path);
        while let [only] = *calls.callees(Some(row)) {
            (row, path) = (only, calls.path(only, path));
            self.expand(path);
        }
    }

    fn expand(&mut self, path: u64) {
        self.expanded.insert(path);
        self.collapsed.remove(&path);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::base::cancel::Cancel;
    use crate::query::flame::{Functions, OwnAndTotal};
    use crate::query::sample_table::{SampleGroup, SampleTable};
    use crate::query::samples::SampleSum;
    use crate::query::stacks::CallPaths;
    use crate::scene::tests::snapshot;
    use crate::ui::panels::sample_lines::SampleLines;
    use crate::ui::panels::table_order::{OrderedRows, TableSort};

    #[test]
    fn a_filter_that_matches_all_calls_expands_no_more_than_a_frame_has_time_for() {
        let sum = SampleSum { samples: 1, weight: 1 };
        let row = |key| SampleGroupRow { key: SampleGroup::Function(key), sums: OwnAndTotal { own: sum, total: sum } };
        // Pairs of a caller and its callee, all named as others.
        let calls: u32 = 200_000;
        let rows = (0..=calls).map(|call| row(if call == 0 { FunctionIdx::ROOT } else { FunctionIdx::OTHERS }));
        let parents = (0..=calls).map(|call| FlameNodeIdx(if call % 2 == 0 && call > 0 { call - 1 } else { 0 }));
        let table = SampleTable {
            paths: Arc::new(CallPaths::default()),
            functions: Functions::default(),
            whole: sum,
            rows: rows.collect(),
            calls: Some(CallLinks {
                parents: parents.collect(),
                function_hashes: vec![0, 1],
                is_inverted: false,
                folded: 0,
                others: SampleSum::default(),
            }),
            is_of_spans: false,
        };
        let lines = Arc::new(SampleLines { snapshot: snapshot("[]"), table: Arc::new(table) });
        let sort = TableSort { column: None, words: "others".to_owned() };
        let ordered = OrderedRows::new(Arc::clone(&lines), sort, &Cancel::default()).unwrap();
        let (order, table) = (ordered.facts.calls.as_ref().unwrap(), &lines.table);
        let calls = table.calls.as_ref().unwrap();
        let calls = OrderedCalls { table: &table.rows, calls, rows: &ordered.rows, order, words: "others" };
        let mut shown = CallRows::default();
        shown.update(calls);
        let expanded = shown.visible().iter().filter(|call| call.is_expanded).count();
        assert_eq!((shown.visible().len(), expanded), (100_000 + EXPANDED_MAX / 2, EXPANDED_MAX / 2));
        // A call beyond the limit is expanded by hand, with all other calls here, which have the same path.
        let last = shown.visible().len() - 1;
        shown.toggle(calls, last);
        assert_eq!(shown.visible().len(), 200_000);
    }
}

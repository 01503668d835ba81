//! The order of the rows of a call tree: below each call its callees, sorted by a column. With a filter, the calls that
//! match stay, with their callers and callees.
//!
//! The naive way sorts the callees of each call separately, and searches the subtree of each call for a match.

use rustc_hash::FxHashMap;

use super::table_order::matching_rows;
use crate::base::cancel::{Cancel, Cancelled};
use crate::query::flame::{FlameNodeIdx, FunctionIdx};
use crate::query::sample_table::{SampleGroup, SampleGroupRow};

/// Calls between two checks for cancellation.
const CALLS_BETWEEN_CHECKS: usize = 1 << 12;

/// The position of each call's callees in a list of rows that is grouped by caller.
#[derive(Debug, Default)]
pub(super) struct CallOrder {
    /// Position of the first callee of each call, and the end of all.
    first: Vec<u32>,
    /// Whether a callee, direct or not, matches the filter. Empty without a filter.
    leads_to_match: Vec<bool>,
}

impl CallOrder {
    /// Groups sorted calls by their callers.
    pub(super) fn group(rows: &mut [u32], parents: &[FlameNodeIdx], leads_to_match: Vec<bool>) -> Self {
        let mut first = vec![0_u32; parents.len() + 1];
        rows.iter().for_each(|&row| first[parents[row as usize].index() + 1] += 1);
        let mut end = 0;
        for count in &mut first {
            end += *count;
            *count = end;
        }
        let mut next = first.clone();
        let sorted = rows.to_vec();
        for row in sorted {
            let position = &mut next[parents[row as usize].index()];
            rows[*position as usize] = row;
            *position += 1;
        }
        Self { first, leads_to_match }
    }

    /// Returns the callees of a call in a list that [`group`](Self::group) has grouped.
    pub(super) fn callees<'r>(&self, rows: &'r [u32], caller: FlameNodeIdx) -> &'r [u32] {
        let position = |index: usize| self.first.get(index).map_or(0, |&at| at as usize);
        rows.get(position(caller.index())..position(caller.index() + 1)).unwrap_or_default()
    }

    /// Returns whether the filter matches a callee, direct or not.
    pub(super) fn leads_to_match(&self, call: u32) -> bool {
        self.leads_to_match.get(call as usize).copied().unwrap_or_default()
    }
}

/// The calls to show, and which of them lead to a match of the filter.
#[derive(Debug)]
pub(super) struct MatchingCalls {
    pub(super) rows: Vec<u32>,
    pub(super) leads_to_match: Vec<bool>,
}

impl MatchingCalls {
    /// Returns all calls with samples.
    pub(super) fn all(calls: &[SampleGroupRow], cancel: &Cancel) -> Result<Self, Cancelled> {
        let rows = matching_rows(calls.len(), cancel, |row| !calls[row].sums.total.is_empty())?;
        Ok(Self { rows, leads_to_match: Vec::new() })
    }

    /// Finds the calls whose function matches a filter, with their callers and callees.
    pub(super) fn find(
        calls: &[SampleGroupRow],
        parents: &[FlameNodeIdx],
        matches: impl Fn(SampleGroup) -> bool,
        cancel: &Cancel,
    ) -> Result<Self, Cancelled> {
        let mut functions: FxHashMap<FunctionIdx, bool> = FxHashMap::default();
        let (mut is_match, mut is_below_match) = (Vec::with_capacity(calls.len()), Vec::with_capacity(calls.len()));
        for (call, parent) in calls.iter().zip(parents) {
            if is_match.len().is_multiple_of(CALLS_BETWEEN_CHECKS) {
                cancel.check()?;
            }
            let function = call.key.function().unwrap_or(FunctionIdx::ROOT);
            let caller = parent.index();
            // No call is below samples without a stack, which have the row of the root.
            is_below_match.push(caller > 0 && (is_match[caller] || is_below_match[caller]));
            is_match.push(*functions.entry(function).or_insert_with(|| matches(call.key)));
        }
        let mut leads_to_match = vec![false; calls.len()];
        // Callers are earlier rows.
        for row in (1..calls.len()).rev() {
            leads_to_match[parents[row].index()] |= is_match[row] || leads_to_match[row];
        }
        let is_shown = |row: usize| {
            let is_caller = row > 0 && leads_to_match[row];
            !calls[row].sums.total.is_empty() && (is_match[row] || is_below_match[row] || is_caller)
        };
        Ok(Self { rows: matching_rows(calls.len(), cancel, is_shown)?, leads_to_match })
    }
}

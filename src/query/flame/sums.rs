//! Sums over a tree, by function, by module, or for the functions that match a search. Each path counts once, even with
//! recursion.

use regex::{Regex, RegexBuilder};

use super::functions::{FunctionIdx, Functions};
use super::tree::{FlameNodeIdx, FlameTree};
use crate::query::Snapshot;
use crate::query::samples::SampleSum;

/// Self and total sums of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct OwnAndTotal {
    pub(crate) own: SampleSum,
    /// Sum in which each path counts once.
    pub(crate) total: SampleSum,
}

/// The functions that match a search, and the sum of the paths through them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundFunctions {
    is_found: Vec<bool>,
    pub(crate) functions: usize,
    pub(crate) sum: SampleSum,
}

impl FoundFunctions {
    /// Matches functions whose name or module contains a text, in any case; `/text/` is a regular expression. Returns
    /// `None` for an empty text and for an invalid expression.
    #[must_use]
    pub(super) fn new(snapshot: &Snapshot, functions: &Functions, tree: &FlameTree, text: &str) -> Option<Self> {
        let expression = expression(text)?;
        let mut is_found = vec![false; functions.len()];
        for function in functions.all() {
            let texts = [functions.text(snapshot, function), functions.module(function)];
            is_found[function.index()] = texts.iter().any(|text| expression.is_match(text));
        }
        let mut sum = SampleSum::default();
        let mut is_below = vec![false; tree.nodes().len()];
        let mut in_tree = vec![false; functions.len()];
        for (number, node) in tree.nodes().iter().enumerate().skip(1) {
            let is_found = is_found[node.function.index()];
            in_tree[node.function.index()] |= is_found && !node.total.is_empty();
            let is_inside = is_below[node.parent.index()];
            is_below[number] = is_inside || is_found;
            if is_found && !is_inside {
                sum.add(node.total);
            }
        }
        let functions = in_tree.iter().filter(|in_tree| **in_tree).count();
        Some(Self { is_found, functions, sum })
    }

    #[must_use]
    pub(crate) fn has(&self, function: FunctionIdx) -> bool {
        self.is_found.get(function.index()).copied().unwrap_or_default()
    }
}

fn expression(text: &str) -> Option<Regex> {
    let text = text.trim();
    let inside = text.strip_prefix('/').and_then(|text| text.strip_suffix('/')).filter(|text| !text.is_empty());
    let escaped = regex::escape(text);
    let pattern = inside.unwrap_or(&escaped);
    let built = RegexBuilder::new(pattern).case_insensitive(true).size_limit(1 << 20).build();
    built.ok().filter(|_| !text.is_empty())
}

impl FlameTree {
    /// Returns self and total by the key of a function, from 0 to `keys`.
    #[must_use]
    pub(crate) fn sums_by(&self, keys: usize, key: impl Fn(FunctionIdx) -> usize) -> Vec<OwnAndTotal> {
        let mut sums = vec![OwnAndTotal::default(); keys];
        // Number of open ancestors with each key.
        let mut open = vec![0_u32; keys];
        // A node, and whether its subtree is done.
        let mut waiting = vec![(FlameNodeIdx::ROOT, false)];
        while let Some((at, is_done)) = waiting.pop() {
            let node = self.node(at);
            let key = key(node.function);
            if is_done {
                open[key] -= 1;
                continue;
            }
            sums[key].own.add(node.own);
            if open[key] == 0 {
                sums[key].total.add(node.total);
            }
            open[key] += 1;
            waiting.push((at, true));
            waiting.extend(self.children(at).iter().map(|&child| (child, false)));
        }
        sums
    }
}

//! Views of a call tree: top down, bottom up, or a sandwich of both around one function, with functions hidden, merged
//! or collapsed. Frames are merged by visible name and module at the end; the call tree has indices of the trace's
//! tables.
//!
//! Equivalent to applying every edit to each path and adding up by prefix.

mod callers;
mod functions;
mod sums;
mod tree;
mod view;
mod view_names;

use crate::base::cancel::{Cancel, Cancelled};
use crate::query::Snapshot;
use crate::query::samples::SampleSum;
use crate::query::stacks::CallTree;

pub(crate) use functions::{FunctionIdx, FunctionKey, Functions};
pub(crate) use sums::{FoundFunctions, OwnAndTotal};
pub(crate) use tree::{FlameNode, FlameNodeIdx, FlameTree, Measure};
pub(crate) use view::{FlameEdit, FlameShape, FlameView};
pub(crate) use view_names::is_before_parameters;

#[cfg(test)]
pub(crate) use tree::{test_tree, tree_of_functions};

use callers::{callers_of, inverted, paths_below};
use functions::FunctionBuilder;
use view::ViewBuilder;

/// A call tree as one view shows it.
#[derive(Debug)]
pub(crate) struct FlamePicture {
    pub(crate) functions: Functions,
    /// The paths below the root, or below the function of a sandwich.
    pub(crate) tree: FlameTree,
    /// The callers of the function of a sandwich, nearest first.
    pub(crate) callers: Option<FlameTree>,
    /// Sum of all visible paths, including those without the focused function: the base of percentages.
    pub(crate) whole: SampleSum,
    /// Sum of all paths, including hidden ones.
    pub(crate) counted: SampleSum,
    /// Paths that count for their callers because of the path limit, and callers beyond the node limit.
    pub(crate) folded: u64,
    /// The part of `whole` in paths without a node of their own.
    pub(crate) others: SampleSum,
    /// Whether each path is a bar of its own, top down, so that no bar lacks more than one path.
    pub(crate) is_path_by_path: bool,
    /// The measure by which children are sorted, heaviest first.
    pub(crate) measure: Measure,
}

impl FlamePicture {
    /// Builds the view of a call tree. Returns `Cancelled` if cancelled.
    pub(crate) fn new(
        snapshot: &Snapshot,
        calls: &CallTree,
        view: &FlameView,
        cancel: &Cancel,
    ) -> Result<Self, Cancelled> {
        let mut builder = ViewBuilder::new(FunctionBuilder::new(snapshot), view);
        let all = builder.build(calls, cancel)?;
        let (whole, others) = (all.nodes()[0].total, all.others());
        let is_top_down = view.shape == FlameShape::TopDown && view.focus.is_none();
        let is_path_by_path = is_top_down && all.nodes().len() == calls.nodes().len();
        let below = |key: &FunctionKey| paths_below(&all, |idx| builder.has_key(idx, key), cancel);
        let mut callers = None;
        let mut tree = match (&view.shape, &view.focus) {
            (FlameShape::Sandwich(function), _) => {
                callers = Some(callers_of(&all, |idx| builder.has_key(idx, function), view.measure, cancel)?);
                below(function)?
            }
            (FlameShape::TopDown, Some(function)) => below(function)?,
            (FlameShape::Inverted, Some(function)) => inverted(&below(function)?, view.measure, cancel)?,
            (FlameShape::TopDown, None) => all,
            (FlameShape::Inverted, None) => inverted(&all, view.measure, cancel)?,
        };
        let mut folded = calls.folded;
        for tree in [Some(&mut tree), callers.as_mut()].into_iter().flatten() {
            folded += tree.folded;
            tree.sort_children(view.measure);
        }
        Ok(Self {
            functions: builder.finish(),
            tree,
            callers,
            whole,
            counted: calls.whole(),
            folded,
            others,
            is_path_by_path,
            measure: view.measure,
        })
    }
}

#[cfg(test)]
mod tests;

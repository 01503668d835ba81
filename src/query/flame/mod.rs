//! Views of a call tree: from the outermost function down, from the innermost up, or both sides of one function, with
//! functions left out, merged or collapsed. Frames are merged by the name and the module that are shown, at the end:
//! the tree below knows rows of the trace's tables only.
//!
//! The slow answer: for each path, its functions after each edit, added up by prefix.

mod callers;
mod functions;
mod sums;
mod tree;
mod view;

use crate::base::cancel::{Cancel, Cancelled};
use crate::query::Snapshot;
use crate::query::samples::SampleSum;
use crate::query::stacks::CallTree;

pub(crate) use functions::{FunctionIdx, FunctionKey, Functions};
pub(crate) use sums::{FoundFunctions, OwnAndTotal};
pub(crate) use tree::{FlameNode, FlameNodeIdx, FlameTree, Measure};
pub(crate) use view::{FlameEdit, FlameShape, FlameView};

#[cfg(test)]
pub(crate) use tree::{test_tree, tree_of_functions};

use callers::{callers_of, inverted, paths_below};
use functions::FunctionBuilder;
use view::ViewBuilder;

/// A call tree as one view shows it.
#[derive(Debug)]
pub(crate) struct FlamePicture {
    pub(crate) functions: Functions,
    /// The paths below the root, or those below the function of a sandwich.
    pub(crate) tree: FlameTree,
    /// The callers of the function of a sandwich, from the nearest out.
    pub(crate) callers: Option<FlameTree>,
    /// The sum of all paths that are not left out, with those that lack the function in focus: shares are of it.
    pub(crate) whole: SampleSum,
    /// The sum of all paths before any was left out.
    pub(crate) counted: SampleSum,
    /// Paths that count for their callers, since there are too many, and callers that are too many to be shown.
    pub(crate) folded: u64,
    /// The part of `whole` in paths that have no node of their own.
    pub(crate) others: SampleSum,
    /// Whether each path is a bar of its own, from the outermost function down: then no bar lacks more than a path.
    pub(crate) is_path_by_path: bool,
}

impl FlamePicture {
    /// Makes the view of a call tree.
    ///
    /// # Errors
    /// If it was asked to stop.
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
        let below = |key: &FunctionKey| paths_below(&all, |idx| builder.is(idx, key), cancel);
        let mut callers = None;
        let mut tree = match (&view.shape, &view.focus) {
            (FlameShape::Sandwich(function), _) => {
                callers = Some(callers_of(&all, |idx| builder.is(idx, function), view.measure, cancel)?);
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
        })
    }
}

#[cfg(test)]
mod tests;

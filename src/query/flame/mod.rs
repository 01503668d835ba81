//! Views of a call tree: top down, bottom up, or a sandwich of both around one function, with functions hidden, merged
//! or collapsed. Frames are merged by visible name and module at the end; the call tree has indices of the trace's
//! tables.
//!
//! Equivalent to applying every edit to each path and adding up by prefix.

mod callers;
mod functions;
mod module_titles;
mod sums;
mod tree;
mod view;
mod view_names;

use crate::base::cancel::{Cancel, Cancelled};
use crate::model::NameIdx;
use crate::query::Snapshot;
use crate::query::samples::SampleSum;
use crate::query::stacks::{CallTree, FoldedPaths};

pub(crate) use functions::{FunctionBuilder, FunctionIdx, FunctionKey, Functions, is_unnamed};
pub(crate) use module_titles::is_module;
pub(crate) use sums::{FoundFunctions, OwnAndTotal};
pub(crate) use tree::{FlameNode, FlameNodeIdx, FlameTree, Measure};
pub(crate) use view::{FlameEdit, FlameShape, FlameView};
pub(crate) use view_names::is_before_parameters;

#[cfg(test)]
pub(crate) use tree::{test_tree, tree_of_functions};

use callers::{callers_of, inverted, paths_around, paths_below};
use view::ViewBuilder;

/// A call tree as one view shows it.
#[derive(Debug)]
pub(crate) struct FlamePicture {
    pub(crate) functions: Functions,
    /// The paths below the root, or below the function of a sandwich.
    pub(crate) tree: FlameTree,
    /// The callers of the function of a sandwich, nearest first.
    pub(crate) callers: Option<FlameTree>,
    /// Sum of the paths that end with the function of a sandwich.
    pub(crate) own: SampleSum,
    /// The whole paths with the function of a sandwich, from which both of its trees are made.
    around: Option<FlameTree>,
    /// Sum of all visible paths, with or without the focused function: the base of percentages.
    pub(crate) whole: SampleSum,
    /// Sum of all paths, including hidden ones.
    pub(crate) counted: SampleSum,
    /// Paths that are merged because of the path limit, and callers beyond the node limit.
    pub(crate) folded: FoldedPaths,
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
        Self::with_own_sums(snapshot, (calls, &calls.own_sums), view, cancel)
    }

    /// Like [`Self::new`], with the exact own sum of each name for an inverted view; none if they are unknown.
    pub(crate) fn with_own_sums(
        snapshot: &Snapshot,
        (calls, own_sums): (&CallTree, &[(NameIdx, SampleSum)]),
        view: &FlameView,
        cancel: &Cancel,
    ) -> Result<Self, Cancelled> {
        let mut builder = ViewBuilder::new(FunctionBuilder::new(snapshot), view);
        let mut all = builder.build(calls, cancel)?;
        let (whole, others) = (all.nodes()[0].total, all.others());
        let is_top_down = view.shape == FlameShape::TopDown && view.focus.is_none();
        let is_path_by_path = is_top_down && all.nodes().len() == calls.nodes().len();
        if let Some(focus) = &view.focus {
            all = paths_below(&all, |idx| builder.has_key(idx, focus), cancel)?;
        }
        let (mut callers, mut around, mut own) = (None, None, SampleSum::default());
        let mut tree = match &view.shape {
            FlameShape::TopDown => all,
            FlameShape::Inverted => {
                if view.focus.is_none() && !own_sums.is_empty() {
                    builder.split_others(&mut all, own_sums);
                }
                inverted(&all, view.measure, snapshot.paths_max(), cancel)?
            }
            FlameShape::Sandwich(function) => {
                let is_wanted = |idx| builder.has_key(idx, function);
                callers = Some(callers_of(&all, is_wanted, view.measure, snapshot.paths_max(), cancel)?);
                let below = paths_below(&all, is_wanted, cancel)?;
                let ends = below.nodes().iter().filter(|node| is_wanted(node.function));
                ends.for_each(|node| own.add(node.own));
                around = Some(paths_around(all, is_wanted));
                below
            }
        };
        let mut folded = calls.folded;
        for tree in [Some(&mut tree), callers.as_mut()].into_iter().flatten() {
            folded = with_callers(folded, tree, view.measure);
            tree.sort_children(view.measure);
        }
        Ok(Self {
            functions: builder.finish(),
            tree,
            callers,
            own,
            around,
            whole,
            counted: calls.whole(),
            folded,
            others,
            is_path_by_path,
            measure: view.measure,
        })
    }

    /// Finds the functions that match a search; `None` for an empty text and for an invalid expression. A path of a
    /// sandwich counts once, even with matches among both callers and callees.
    #[must_use]
    pub(crate) fn find(&self, snapshot: &Snapshot, text: &str) -> Option<FoundFunctions> {
        FoundFunctions::new(snapshot, &self.functions, self.around.as_ref().unwrap_or(&self.tree), text)
    }
}

/// Returns the merged paths of a picture: those of its calls and those of a tree of callers. A path can be merged in
/// both, and counts once.
fn with_callers(folded: FoldedPaths, callers: &FlameTree, measure: Measure) -> FoldedPaths {
    let others = callers.others();
    let has_more = !callers.folded.sum.is_empty() && measure.amount(others) > measure.amount(folded.sum);
    FoldedPaths { paths: folded.paths.max(callers.folded.paths), sum: if has_more { others } else { folded.sum } }
}

#[cfg(test)]
mod tests;

//! Applies the edits of a view to each path: assigns visible functions, hides paths, merges functions into their
//! callers, and collapses recursion. The steps have this order, whatever the order of the edits. Focus and shape come
//! last.

use std::collections::BTreeMap;

use super::functions::{FunctionBuilder, FunctionIdx, FunctionKey, Functions};
use super::tree::{FlameNodeIdx, FlameTree, FlameTreeBuilder, Measure};
use crate::base::cancel::{Cancel, Cancelled};
use crate::model::NameIdx;
use crate::model::names::NO_FRAMES;
use crate::query::samples::SampleSum;
use crate::query::stacks::CallTree;

/// Steps between two checks for cancellation: some milliseconds.
const STEPS_BETWEEN_CHECKS: u64 = 64 * 1024;

/// Differences of one part are ignored in a graph of this many parts, since one is too narrow to be drawn. Totals and
/// paths nest spans by slightly different rules, so their self sums may differ by a few nanoseconds.
const PARTS_MIN: u64 = 1 << 12;

/// The direction in which the paths of a flame graph are read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub(crate) enum FlameShape {
    /// From the outermost function to its callees.
    #[default]
    TopDown,
    /// From the innermost function to its callers.
    Inverted,
    /// One function between its callers and its callees. Each path counts once, at the outermost call.
    Sandwich(FunctionKey),
}

/// A change of all paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FlameEdit {
    /// Hides the paths with a function, from it on.
    Hide(FunctionKey),
    /// Merges a function into its callers.
    Merge(FunctionKey),
    /// Shows neighbouring frames of a module as one; each module, if the name is the end of several paths.
    CollapseModule(Box<str>),
    /// Shows a function that recurses, directly or through others, as one call.
    CollapseRecursionOf(FunctionKey),
    /// Shows each function that calls itself directly as one call.
    CollapseRecursion,
    /// Merges kernel functions into their callers.
    MergeKernel,
    /// Hides the paths in which a processor or a program is idle.
    HideIdle,
    /// Shows unnamed frames as their module.
    UnnamedByModule,
}

/// How a call tree is shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct FlameView {
    pub(crate) shape: FlameShape,
    pub(crate) measure: Measure,
    /// Restricts the view to paths with this function, from its outermost call on.
    pub(crate) focus: Option<FunctionKey>,
    pub(crate) edits: Vec<FlameEdit>,
}

impl FlameView {
    /// Returns whether samples without a stack are hidden.
    fn hides_empty_stacks(&self) -> bool {
        self.edits.iter().any(|edit| matches!(edit, FlameEdit::Hide(key) if *key.name == *NO_FRAMES))
    }
}

/// How the edits treat a function.
#[expect(clippy::struct_excessive_bools, reason = "each is an edit of its own")]
#[derive(Debug, Clone, Copy, Default)]
struct FunctionRole {
    is_hidden: bool,
    is_merged: bool,
    /// Whether it represents neighbouring frames of its module.
    is_module: bool,
    has_recursion: bool,
}

/// Counts steps, and checks for cancellation now and then.
struct Steps<'c> {
    cancel: &'c Cancel,
    taken: u64,
}

impl Steps<'_> {
    fn count_step(&mut self) -> Result<(), Cancelled> {
        self.taken += 1;
        if self.taken.is_multiple_of(STEPS_BETWEEN_CHECKS) { self.cancel.check() } else { Ok(()) }
    }
}

/// Builds the tree of a view.
pub(super) struct ViewBuilder<'s, 'v> {
    functions: FunctionBuilder<'s>,
    view: &'v FlameView,
    /// By function, filled on first use.
    roles: Vec<Option<FunctionRole>>,
}

impl<'s, 'v> ViewBuilder<'s, 'v> {
    pub(super) fn new(functions: FunctionBuilder<'s>, view: &'v FlameView) -> Self {
        Self { functions, view, roles: Vec::new() }
    }

    /// Builds the tree of all paths, top down. Children are not sorted yet.
    pub(super) fn build(&mut self, calls: &CallTree, cancel: &Cancel) -> Result<FlameTree, Cancelled> {
        let by_module = self.has(&FlameEdit::UnnamedByModule);
        let is_direct = self.has(&FlameEdit::CollapseRecursion);
        // The node of each call; `None` for hidden calls.
        let mut targets: Vec<Option<FlameNodeIdx>> = Vec::with_capacity(calls.nodes().len());
        let mut builder = FlameTreeBuilder::default();
        let mut steps = Steps { cancel, taken: 0 };
        let hides_empty_stacks = self.view.hides_empty_stacks();
        for (number, call) in calls.nodes().iter().enumerate() {
            steps.count_step()?;
            let target = match targets.get(call.parent.index()).filter(|_| number > 0) {
                None => Some(FlameNodeIdx::ROOT),
                Some(None) => None,
                Some(&Some(above)) => {
                    let function = self.functions.function(call.name, by_module);
                    let function = self.function_in_view(function);
                    let role = self.role(function);
                    let same = |node: FlameNodeIdx| builder.tree.node(node).function == function;
                    if role.is_hidden {
                        None
                    } else if role.is_merged || (is_direct || role.is_module) && same(above) {
                        Some(above)
                    } else if let Some(node) = find_above(&builder.tree, above, role, function, &mut steps)? {
                        Some(node)
                    } else {
                        Some(builder.node(above, function))
                    }
                }
            };
            let is_hidden = number == 0 && hides_empty_stacks;
            if let Some(node) = target.filter(|_| !is_hidden) {
                builder.tree.own_mut(node).add(SampleSum { samples: call.count, weight: call.own });
            }
            targets.push(target);
        }
        Ok(builder.finish())
    }

    /// Moves the own sums of others to the functions that they belong to, each below the others of the root. Keeps the
    /// tree if an edit moves or hides own sums. Also keeps it if the exact sums of all names do not add up to the tree.
    /// A difference of less than a pixel stays with others, or is taken from the heaviest function.
    pub(super) fn split_others(&mut self, tree: &mut FlameTree, own_sums: &[(NameIdx, SampleSum)]) {
        use FlameEdit::{Hide, HideIdle, Merge, MergeKernel};
        if self.view.edits.iter().any(|edit| matches!(edit, Hide(_) | HideIdle | Merge(_) | MergeKernel)) {
            return;
        }
        let by_module = self.has(&FlameEdit::UnnamedByModule);
        let mut missing: BTreeMap<FunctionIdx, SampleSum> = BTreeMap::new();
        for &(name, sum) in own_sums {
            let function = self.functions.function(name, by_module);
            missing.entry(self.function_in_view(function)).or_default().add(sum);
        }
        for node in tree.nodes() {
            if let Some(sum) = missing.get_mut(&node.function) {
                sum.subtract(node.own);
            }
        }
        let (mut sum, mut rest) = (SampleSum::default(), tree.others());
        missing.values().for_each(|more| sum.add(*more));
        let excess = sum.weight.saturating_sub(rest.weight);
        let heaviest = missing.values_mut().max_by_key(|sum| sum.weight).filter(|sum| sum.weight >= excess);
        let most = tree.nodes()[0].total.weight / PARTS_MIN;
        let adds_up = sum.samples == rest.samples && sum.weight.abs_diff(rest.weight) <= most;
        if let Some(heaviest) = heaviest.filter(|_| adds_up) {
            heaviest.weight -= excess;
            rest.subtract(sum);
            tree.replace_others(rest, missing.into_iter().filter(|(_, sum)| !sum.is_empty()));
        }
    }

    /// Returns the functions of all paths, also of hidden ones.
    pub(super) fn functions_of(mut self, calls: &CallTree) -> Functions {
        let by_module = self.has(&FlameEdit::UnnamedByModule);
        for call in calls.nodes().iter().skip(1) {
            let function = self.functions.function(call.name, by_module);
            self.function_in_view(function);
        }
        self.finish()
    }

    /// Returns the function that represents another in the view.
    fn function_in_view(&mut self, function: FunctionIdx) -> FunctionIdx {
        let functions = self.functions.functions();
        let is_collapsed = |edit: &FlameEdit| matches!(edit, FlameEdit::CollapseModule(name) if functions.is_in_module(function, name));
        if self.view.edits.iter().any(is_collapsed) {
            return self.functions.collapsed(function);
        }
        function
    }

    fn role(&mut self, function: FunctionIdx) -> FunctionRole {
        if self.roles.len() <= function.index() {
            self.roles.resize(function.index() + 1, None);
        }
        if let Some(role) = self.roles[function.index()] {
            return role;
        }
        let mut role = FunctionRole::default();
        let functions = &self.functions;
        for edit in &self.view.edits {
            match edit {
                FlameEdit::Hide(key) => role.is_hidden |= functions.has_key(function, key),
                FlameEdit::HideIdle => role.is_hidden |= functions.is_idle(function),
                FlameEdit::Merge(key) => role.is_merged |= functions.has_key(function, key),
                FlameEdit::MergeKernel => role.is_merged |= functions.functions().is_kernel(function),
                FlameEdit::CollapseModule(module) => {
                    role.is_module |= functions.functions().is_in_module(function, module);
                }
                FlameEdit::CollapseRecursionOf(key) => role.has_recursion |= functions.has_key(function, key),
                FlameEdit::CollapseRecursion | FlameEdit::UnnamedByModule => {}
            }
        }
        self.roles[function.index()] = Some(role);
        role
    }

    fn has(&self, edit: &FlameEdit) -> bool {
        self.view.edits.contains(edit)
    }

    /// Returns whether a function has this key.
    pub(super) fn has_key(&self, function: FunctionIdx, key: &FunctionKey) -> bool {
        function != FunctionIdx::ROOT && self.functions.has_key(function, key)
    }

    pub(super) fn finish(self) -> Functions {
        self.functions.finish()
    }
}

/// Returns the node of the function on the path above, if its recursion is collapsed.
fn find_above(
    tree: &FlameTree,
    above: FlameNodeIdx,
    role: FunctionRole,
    function: FunctionIdx,
    steps: &mut Steps<'_>,
) -> Result<Option<FlameNodeIdx>, Cancelled> {
    let mut node = above;
    while role.has_recursion && node != FlameNodeIdx::ROOT {
        steps.count_step()?;
        if tree.node(node).function == function {
            return Ok(Some(node));
        }
        node = tree.node(node).parent;
    }
    Ok(None)
}

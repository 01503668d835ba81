//! Derives call paths from a call graph with costs. The profile does not record which caller caused which part of a
//! function's cost. So the cost is distributed among callers in proportion to the cost of their calls. Cost without a
//! call starts a path. Functions that call each other share the cost of the calls from outside; each is below its
//! caller that is nearest to the outer call. Calls of less than a ten-thousandth of the total are summed by callee and
//! followed below the frame [`OTHER_PATHS`]. So sums stay exact, and each cost counts once.

use rustc_hash::FxHashMap;

use super::call_graph::{CallGraph, CostEvent};
use super::cycles::{CycleNode, CycleTree, Cycles};
use crate::formats::output::batch::BatchBuilder;
use crate::formats::profiles::frames::{FilePaths, FrameTable};
use crate::formats::profiles::weighed::WeighedRow;
use crate::formats::{BatchSink, ReadContext, ReadError};
use crate::model::Loss;

/// The frame of costs without a known path.
pub(super) const OTHER_PATHS: &[u8] = b"(other paths)";

/// Paths with less than a ten-thousandth of the total are not followed.
const SMALLEST_PART: u64 = 10_000;

/// Limit for frames of all paths of a cost; more become other paths.
const FRAMES_MAX: usize = 1 << 20;

/// Limit for rounds: each follows the calls that the previous round left.
const ROUNDS_MAX: usize = 32;

/// Limit for the nodes of all trees of cycles of a cost, which take 24 bytes each.
const TREE_NODES_MAX: usize = 1 << 20;

/// Limit for the calls that are followed to build the trees of cycles of a cost: less than a second.
const TREE_CALLS_MAX: usize = 1 << 24;

/// Scales `weight` by `part / whole`.
fn share(part: u64, weight: u64, whole: u64) -> u64 {
    let share = u128::from(part) * u128::from(weight) / u128::from(whole.max(1));
    // At most the weight, unless the profile is inconsistent.
    u64::try_from(share).unwrap_or(u64::MAX).min(weight)
}

/// A function that continues a path: by a call from outside of its cycle, or within the tree of a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct PathStep {
    function: u32,
    /// Indices of the tree and the node.
    node: Option<(u32, u32)>,
}

/// A function on the current path.
struct OnPath {
    step: PathStep,
    frame: u32,
    /// The part of the cost of its cycle that is attributed to this path. A function outside of cycles counts as a
    /// cycle of one.
    weight: u64,
    /// The cost of its cycle.
    whole: u64,
    /// Index of its next call to follow, and then of its next child in the tree.
    next: usize,
}

/// Emits the paths of one kind of cost.
pub(super) fn emit(
    graph: &CallGraph,
    cycles: &Cycles,
    event: usize,
    kind: &CostEvent,
    batch: &mut BatchBuilder,
    sink: &mut dyn BatchSink,
    context: &ReadContext,
) -> Result<(), ReadError> {
    let row = WeighedRow::new(&kind.name, kind.unit, if event == 0 { -1 } else { event as i64 }, batch);
    let mut walk = PathWalk::new(graph, cycles, event);
    let mut output = PathOutput { row, kind, batch, sink, context };
    for (root, weight) in roots(&walk) {
        // Cost without a call starts here: the program, a thread, a signal handler.
        walk.follow(PathStep { function: root, node: None }, None, weight, &mut output)?;
    }
    walk.follow_rest(&mut output)
}

/// Returns the functions and cycles with more cost than the calls to them, with the rest. A cycle starts at the
/// function whose costs exceed the costs of the calls to it most.
fn roots(walk: &PathWalk<'_>) -> Vec<(u32, u64)> {
    let PathWalk { graph, cycles, event, .. } = *walk;
    let mut incoming = vec![0u64; cycles.group_count()];
    let mut starts: Vec<Option<(u32, i128)>> = vec![None; cycles.group_count()];
    for (number, function) in (0u32..).zip(&graph.functions) {
        let mut inclusive = i128::from(function.self_costs[event]);
        for (called, costs) in &function.calls {
            inclusive += i128::from(costs[event]);
            if !cycles.has_both(number, *called) {
                let incoming = &mut incoming[cycles.group(*called)];
                *incoming = incoming.saturating_add(costs[event]);
            }
        }
        let excess = inclusive - i128::from(function.incoming[event]);
        let start = &mut starts[cycles.group(number)];
        if start.is_none_or(|(_, largest)| largest < excess) {
            *start = Some((number, excess));
        }
    }
    let rest = |group: usize| walk.group_costs[group].saturating_sub(incoming[group]);
    let starts = starts.iter().enumerate().filter_map(|(group, start)| Some(((*start)?.0, rest(group))));
    let mut roots: Vec<_> = starts.filter(|&(_, weight)| weight > 0).collect();
    roots.sort_unstable();
    roots
}

/// The samples of one kind of cost.
struct PathOutput<'a> {
    row: WeighedRow,
    kind: &'a CostEvent,
    batch: &'a mut BatchBuilder,
    sink: &'a mut dyn BatchSink,
    context: &'a ReadContext,
}

impl PathOutput<'_> {
    fn push(&mut self, cost: u64, frame: u32, frames: &mut FrameTable) -> Result<(), ReadError> {
        let stack = frames.stack(frame, self.batch, self.row.pos());
        let weight = cost.checked_mul(self.kind.factor).unwrap_or_else(|| {
            self.batch.lose(Loss::BadNumber, self.row.pos());
            u64::MAX
        });
        self.row.push(weight, stack, self.batch);
        self.batch.flush_if_full(self.sink, self.context)
    }
}

/// Follows the calls of a graph for one kind of cost.
struct PathWalk<'g> {
    graph: &'g CallGraph,
    cycles: &'g Cycles,
    event: usize,
    /// Inclusive cost of each cycle. The cost of calls within it is not shared, since it contains other such calls.
    group_costs: Vec<u64>,
    trees: Vec<CycleTree>,
    /// Index in `trees` by the function at which paths enter.
    tree_indices: FxHashMap<u32, u32>,
    tree_nodes: usize,
    tree_calls: usize,
    /// Cost of each function without the calls within its cycle.
    outside: Vec<u64>,
    /// Self cost of each function that is on no path yet.
    left: Vec<u64>,
    /// Weights of the steps that were not followed.
    unfollowed: FxHashMap<PathStep, u64>,
    /// Sum of all self costs.
    whole: u64,
    frames: FrameTable,
    function_titles: Vec<u32>,
}

impl<'g> PathWalk<'g> {
    fn new(graph: &'g CallGraph, cycles: &'g Cycles, event: usize) -> Self {
        let (mut frames, mut files) = (FrameTable::default(), FilePaths::default());
        let functions = &graph.functions;
        let left: Vec<u64> = functions.iter().map(|function| function.self_costs[event]).collect();
        let mut group_costs = vec![0u64; cycles.group_count()];
        let of = |(number, function)| cycles.cost_outside(number, function, event);
        let outside: Vec<u64> = (0u32..).zip(functions).map(of).collect();
        for (number, &cost) in (0u32..).zip(&outside) {
            let group_cost = &mut group_costs[cycles.group(number)];
            *group_cost = group_cost.saturating_add(cost);
        }
        Self {
            graph,
            cycles,
            event,
            group_costs,
            trees: Vec::new(),
            tree_indices: FxHashMap::default(),
            tree_nodes: 0,
            tree_calls: 0,
            outside,
            whole: left.iter().fold(0u64, |sum, &cost| sum.saturating_add(cost)),
            left,
            unfollowed: FxHashMap::default(),
            function_titles: functions.iter().map(|function| frames.push_frame(function.frame(&mut files))).collect(),
            frames,
        }
    }

    fn is_small(&self, weight: u64) -> bool {
        u128::from(weight) * u128::from(SMALLEST_PART) < u128::from(self.whole)
    }

    /// Returns the cost of a step with this weight.
    fn part(&self, step: PathStep, weight: u64) -> u64 {
        let Some((tree, node)) = step.node else { return weight };
        let cost = self.trees[tree as usize].nodes[node as usize].cost;
        share(cost, weight, self.group_costs[self.cycles.group(step.function)])
    }

    /// Returns the tree of a cycle by its entry; `None` if there are too many.
    fn tree(&mut self, entry: u32) -> Option<u32> {
        if let Some(&tree) = self.tree_indices.get(&entry) {
            return Some(tree);
        }
        if self.tree_nodes >= TREE_NODES_MAX || self.tree_calls >= TREE_CALLS_MAX {
            return None;
        }
        let tree = CycleTree::new(entry, self.graph, self.cycles, &self.outside);
        let calls = |node: &CycleNode| 1 + self.graph.functions[node.function as usize].calls.len();
        self.tree_nodes += tree.nodes.len();
        self.tree_calls += tree.nodes.iter().map(calls).sum::<usize>();
        let index = self.trees.len() as u32;
        self.trees.push(tree);
        self.tree_indices.insert(entry, index);
        Some(index)
    }

    /// Adds a function below a frame. Returns `None` if there are too many frames, or if the path is too deep.
    fn enter(&mut self, mut step: PathStep, above: Option<u32>, weight: u64) -> Option<OnPath> {
        let title = self.function_titles[step.function as usize];
        if step.node.is_none() && self.cycles.is_in_cycle(step.function) {
            step.node = Some((self.tree(step.function)?, 0));
        }
        if self.frames.len() >= FRAMES_MAX || !self.frames.push_titled(above, title) {
            return None;
        }
        let whole = self.group_costs[self.cycles.group(step.function)];
        Some(OnPath { step, frame: self.frames.len() as u32 - 1, weight, whole, next: 0 })
    }

    /// Returns the next step of a path, with its weight. Within a cycle, only calls of its tree are followed.
    fn next_step(&self, on_path: &mut OnPath) -> Option<(PathStep, u64)> {
        let caller = on_path.step.function;
        let calls = &self.graph.functions[caller as usize].calls;
        while let Some((called, costs)) = calls.get(on_path.next) {
            on_path.next += 1;
            if !self.cycles.has_both(caller, *called) {
                let weight = share(costs[self.event], on_path.weight, on_path.whole);
                return Some((PathStep { function: *called, node: None }, weight));
            }
        }
        let (tree, node) = on_path.step.node?;
        let nodes = &self.trees[tree as usize].nodes;
        let child = nodes[node as usize].children.clone().nth(on_path.next - calls.len())?;
        on_path.next += 1;
        let step = PathStep { function: nodes[child as usize].function, node: Some((tree, child)) };
        Some((step, on_path.weight))
    }

    /// Emits the paths that start with a step below a frame and have this weight.
    fn follow(
        &mut self,
        start: PathStep,
        above: Option<u32>,
        weight: u64,
        output: &mut PathOutput<'_>,
    ) -> Result<(), ReadError> {
        let mut path: Vec<OnPath> = self.enter(start, above, weight).into_iter().collect();
        while let Some(on_path) = path.last_mut() {
            let caller = on_path.frame;
            if on_path.next == 0 {
                output.context.cancel.check()?;
                let function = on_path.step.function as usize;
                let self_cost = self.graph.functions[function].self_costs[self.event];
                let self_cost = share(self_cost, on_path.weight, on_path.whole).min(self.left[function]);
                self.left[function] -= self_cost;
                if self_cost > 0 {
                    output.push(self_cost, on_path.frame, &mut self.frames)?;
                }
            }
            let Some((step, weight)) = self.next_step(on_path) else {
                path.pop();
                continue;
            };
            let part = self.part(step, weight);
            let entered = if part > 0 && !self.is_small(part) { self.enter(step, Some(caller), weight) } else { None };
            if let Some(entered) = entered {
                path.push(entered);
            } else if part > 0 {
                let unfollowed = self.unfollowed.entry(step).or_default();
                *unfollowed = unfollowed.saturating_add(weight);
            }
        }
        Ok(())
    }

    /// Emits all remaining cost below [`OTHER_PATHS`]. Calls that were not followed come first, so that functions keep
    /// the cost of their callees.
    fn follow_rest(&mut self, output: &mut PathOutput<'_>) -> Result<(), ReadError> {
        if self.left.iter().all(|&left| left == 0) {
            return Ok(());
        }
        let title = self.frames.push_title(OTHER_PATHS);
        self.frames.push_titled(None, title);
        let other = self.frames.len() as u32 - 1;
        for _ in 0..ROUNDS_MAX {
            let unfollowed = std::mem::take(&mut self.unfollowed);
            let large = unfollowed.into_iter().filter(|&(step, weight)| !self.is_small(self.part(step, weight)));
            let mut large: Vec<(PathStep, u64)> = large.collect();
            large.sort_unstable();
            if large.is_empty() || self.left.iter().all(|&left| left == 0) {
                break;
            }
            for (step, weight) in large {
                self.follow(step, Some(other), weight, output)?;
            }
        }
        for function in 0..self.left.len() {
            let left = self.left[function];
            if left > 0 {
                self.frames.push_titled(Some(other), self.function_titles[function]);
                output.push(left, self.frames.len() as u32 - 1, &mut self.frames)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_of_cycles_with_few_calls_are_limited_by_their_nodes() {
        const FUNCTIONS: u32 = 1 << 14;
        let mut graph = CallGraph::default();
        graph.set_events(1);
        for function in 0..FUNCTIONS {
            graph.function(&function.to_le_bytes(), 0, true);
        }
        for function in 0..FUNCTIONS {
            graph.call(function, (function + 1) % FUNCTIONS);
        }
        let cycles = Cycles::new(&graph);
        let mut walk = PathWalk::new(&graph, &cycles, 0);
        let trees = (0..FUNCTIONS).take_while(|&entry| walk.tree(entry).is_some()).count();
        assert_eq!(trees, TREE_NODES_MAX / FUNCTIONS as usize);
        assert!(walk.tree(0).is_some(), "it exists");
    }
}

//! Derives call paths from a call graph with costs. The profile does not tell which caller caused which part of a
//! function's cost. So the cost is distributed among callers in proportion to the cost of their calls. Cost without a
//! call starts a path. Recursive calls, and calls of less than a ten-thousandth of the total, are summed by callee and
//! followed below the frame [`OTHER_PATHS`], so that sums stay exact and each cost counts once.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use crate::formats::output::batch::BatchBuilder;
use crate::formats::profiles::frames::FrameTable;
use crate::formats::profiles::weighed::WeighedRow;
use crate::formats::{BatchSink, ReadContext, ReadError};
use crate::model::Loss;
use crate::model::sample_measure::{BYTES, COUNT, NANOSECONDS};

/// The frame of costs without a known path.
pub(super) const OTHER_PATHS: &[u8] = b"(other paths)";

/// Paths with less than one part in this many of the total are not followed.
const SMALLEST_PART: u64 = 10_000;

/// Limit for frames of all paths of a cost; more become other paths.
const FRAMES_MAX: usize = 1 << 20;

/// Limit for rounds of following the calls that the round before has left. Recursion leaves a smaller part in each.
const ROUNDS_MAX: usize = 32;

/// A kind of cost, with the unit that its name implies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CostEvent {
    pub(super) name: Box<str>,
    pub(super) unit: &'static str,
    /// Number of units per cost.
    pub(super) factor: u64,
}

impl CostEvent {
    pub(super) fn from_names(name: &str, long: &str) -> Self {
        let lower = format!("{name} {long}").trim_end().to_ascii_lowercase();
        // The last word is a unit in `Time_(10ns)` of Xdebug, and in `sysTime (elapsed ns)` of callgrind.
        let last = lower.trim_end_matches(')').rsplit(|letter: char| !letter.is_ascii_alphanumeric()).next();
        let (unit, factor) = match last.unwrap_or_default() {
            "10ns" => (NANOSECONDS, 10),
            "100ns" => (NANOSECONDS, 100),
            "ns" | "nsec" => (NANOSECONDS, 1),
            "us" | "usec" => (NANOSECONDS, 1000),
            "ms" | "msec" => (NANOSECONDS, 1_000_000),
            // Of pprof, as `cpu(s)`; a single letter elsewhere is a name.
            "s" if lower.ends_with("(s)") => (NANOSECONDS, 1_000_000_000),
            "b" if lower.ends_with("(b)") => (BYTES, 1),
            "kb" | "kib" | "kilobytes" => (BYTES, 1 << 10),
            "mb" | "mib" | "megabytes" => (BYTES, 1 << 20),
            "gb" | "gib" | "gigabytes" => (BYTES, 1 << 30),
            _ if lower.contains("nanosec") => (NANOSECONDS, 1),
            _ if lower.contains("microsec") => (NANOSECONDS, 1000),
            _ if lower.contains("millisec") => (NANOSECONDS, 1_000_000),
            _ if lower.contains("bytes") || lower.contains("memory") => (BYTES, 1),
            _ => (COUNT, 1),
        };
        Self { name: name.into(), unit, factor }
    }
}

/// Functions with their self costs and call costs.
#[derive(Debug, Default)]
pub(super) struct CallGraph {
    /// Number of kinds of cost.
    events: usize,
    rows: FxHashMap<Box<[u8]>, u32>,
    functions: Vec<CostFunction>,
}

#[derive(Debug)]
struct CostFunction {
    title: Box<[u8]>,
    self_costs: Box<[u64]>,
    /// Costs of its calls, by callee; in order of appearance.
    calls: Vec<(u32, Box<[u64]>)>,
    /// Index in `calls`, by callee.
    call_indices: FxHashMap<u32, u32>,
    /// Costs of calls to it.
    incoming: Box<[u64]>,
}

impl CallGraph {
    /// Sets the number of kinds of cost, which may only grow. Earlier functions have cost zero for the new ones.
    /// Returns the bytes of memory added.
    pub(super) fn set_events(&mut self, events: usize) -> usize {
        let added = events.saturating_sub(self.events);
        // A file may have many parts with the same events.
        if added == 0 {
            return 0;
        }
        self.events = events;
        let mut rows = 0;
        for CostFunction { self_costs, incoming, calls, .. } in &mut self.functions {
            let costs = calls.iter_mut().map(|(_, costs)| costs);
            for costs in costs.chain([self_costs, incoming]) {
                let mut grown = std::mem::take(costs).into_vec();
                grown.resize(events, 0);
                *costs = grown.into();
                rows += 1;
            }
        }
        rows * added * size_of::<u64>()
    }

    /// Returns the row of a function, and the bytes of memory added if it is new; `None` if there are too many.
    pub(super) fn function(&mut self, title: &[u8]) -> (Option<u32>, usize) {
        if let Some(&row) = self.rows.get(title) {
            return (Some(row), 0);
        }
        let Ok(row) = u32::try_from(self.functions.len()) else { return (None, 0) };
        self.rows.insert(title.into(), row);
        let (self_costs, incoming) = (vec![0; self.events].into(), vec![0; self.events].into());
        let (calls, call_indices) = (Vec::new(), FxHashMap::default());
        self.functions.push(CostFunction { title: title.into(), self_costs, calls, call_indices, incoming });
        (Some(row), 2 * title.len() + size_of::<CostFunction>() + 4 * size_of::<u64>() + 16 * self.events)
    }

    /// Adds a call between two functions without a cost. Returns the bytes of memory added if it is new.
    pub(super) fn call(&mut self, caller: u32, called: u32) -> usize {
        // The cost of direct recursion is already in the self cost.
        let Some(function) = self.functions.get_mut(caller as usize).filter(|_| caller != called) else { return 0 };
        let CostFunction { calls, call_indices, .. } = function;
        let Entry::Vacant(index) = call_indices.entry(called) else { return 0 };
        index.insert(calls.len() as u32);
        calls.push((called, vec![0; self.events].into()));
        // The first call allocates room for a few.
        let first_bytes = if calls.len() == 1 { 16 * size_of::<u64>() } else { 0 };
        first_bytes + 8 * self.events + 6 * size_of::<u64>()
    }

    /// Adds to the self cost of a function. Returns `false` on overflow.
    pub(super) fn add_own(&mut self, function: u32, event: usize, cost: u64) -> bool {
        let self_cost =
            self.functions.get_mut(function as usize).and_then(|function| function.self_costs.get_mut(event));
        self_cost.is_some_and(|self_cost| add(self_cost, cost))
    }

    /// Adds to the cost of calls between two functions, which [`Self::call`] has added. Returns `false` on overflow.
    pub(super) fn add_call(&mut self, caller: u32, called: u32, event: usize, cost: u64) -> bool {
        if caller == called {
            return true;
        }
        let incoming = self.functions.get_mut(called as usize).and_then(|called| called.incoming.get_mut(event));
        if let Some(incoming) = incoming {
            *incoming = incoming.saturating_add(cost);
        }
        let Some(CostFunction { calls, call_indices, .. }) = self.functions.get_mut(caller as usize) else {
            return false;
        };
        let call = call_indices.get(&called).and_then(|&index| calls.get_mut(index as usize));
        let sum = call.and_then(|(_, costs)| costs.get_mut(event));
        sum.is_some_and(|sum| add(sum, cost))
    }

    /// Returns the inclusive cost of a function.
    fn inclusive(function: &CostFunction, event: usize) -> u64 {
        let calls = function.calls.iter().map(|(_, costs)| costs[event]);
        calls.fold(function.self_costs[event], u64::saturating_add)
    }
}

fn add(sum: &mut u64, cost: u64) -> bool {
    match sum.checked_add(cost) {
        Some(more) => {
            *sum = more;
            true
        }
        None => false,
    }
}

/// Scales `weight` by `part / whole`.
fn share(part: u64, weight: u64, whole: u64) -> u64 {
    let share = u128::from(part) * u128::from(weight) / u128::from(whole.max(1));
    // At most the weight, unless the profile is inconsistent.
    u64::try_from(share).unwrap_or(u64::MAX).min(weight)
}

/// A function on the current path, with the cost attributed to that path.
struct OnPath {
    function: u32,
    frame: u32,
    weight: u64,
    /// Index of its next call to follow.
    next: usize,
}

/// Emits the paths of one kind of cost.
pub(super) fn emit(
    graph: &CallGraph,
    event: usize,
    kind: &CostEvent,
    batch: &mut BatchBuilder,
    sink: &mut dyn BatchSink,
    context: &ReadContext,
) -> Result<(), ReadError> {
    let row = WeighedRow::new(&kind.name, kind.unit, if event == 0 { -1 } else { event as i64 }, batch);
    let mut walk = PathWalk::new(graph, event);
    let mut output = PathOutput { row, kind, batch, sink, context };
    for root in 0..graph.functions.len() as u32 {
        // Cost without a call starts here: the program, a thread, a signal handler.
        let weight = walk.inclusive[root as usize].saturating_sub(graph.functions[root as usize].incoming[event]);
        if weight > 0 {
            walk.follow(root, None, weight, &mut output)?;
        }
    }
    walk.follow_rest(&mut output)
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
    event: usize,
    /// Inclusive cost of each function.
    inclusive: Vec<u64>,
    /// Self cost of each function that is on no path yet.
    left: Vec<u64>,
    /// Cost of the calls to each function that were not followed.
    unfollowed: Vec<u64>,
    /// Sum of all self costs.
    whole: u64,
    is_on_path: Vec<bool>,
    frames: FrameTable,
    function_titles: Vec<u32>,
}

impl<'g> PathWalk<'g> {
    fn new(graph: &'g CallGraph, event: usize) -> Self {
        let mut frames = FrameTable::default();
        let functions = &graph.functions;
        let left: Vec<u64> = functions.iter().map(|function| function.self_costs[event]).collect();
        Self {
            graph,
            event,
            inclusive: functions.iter().map(|function| CallGraph::inclusive(function, event)).collect(),
            whole: left.iter().fold(0u64, |sum, &cost| sum.saturating_add(cost)),
            left,
            unfollowed: vec![0; functions.len()],
            is_on_path: vec![false; functions.len()],
            function_titles: functions.iter().map(|function| frames.push_title(&function.title)).collect(),
            frames,
        }
    }

    fn is_small(&self, weight: u64) -> bool {
        u128::from(weight) * u128::from(SMALLEST_PART) < u128::from(self.whole)
    }

    /// Adds a function below a frame. Returns `None` if there are too many frames, or if the path is too deep.
    fn enter(&mut self, function: u32, above: Option<u32>, weight: u64) -> Option<OnPath> {
        let title = self.function_titles[function as usize];
        if self.frames.len() >= FRAMES_MAX || !self.frames.push_titled(above, title) {
            return None;
        }
        self.is_on_path[function as usize] = true;
        Some(OnPath { function, frame: self.frames.len() as u32 - 1, weight, next: 0 })
    }

    /// Emits the paths that start with a function below a frame, which together have this cost.
    fn follow(
        &mut self,
        root: u32,
        above: Option<u32>,
        weight: u64,
        output: &mut PathOutput<'_>,
    ) -> Result<(), ReadError> {
        let mut path: Vec<OnPath> = self.enter(root, above, weight).into_iter().collect();
        while let Some(on_path) = path.last_mut() {
            let function = &self.graph.functions[on_path.function as usize];
            let inclusive = self.inclusive[on_path.function as usize];
            if on_path.next == 0 {
                output.context.cancel.check()?;
                let left = &mut self.left[on_path.function as usize];
                let self_cost = share(function.self_costs[self.event], on_path.weight, inclusive).min(*left);
                *left -= self_cost;
                if self_cost > 0 {
                    output.push(self_cost, on_path.frame, &mut self.frames)?;
                }
            }
            let Some((called, costs)) = function.calls.get(on_path.next) else {
                self.is_on_path[on_path.function as usize] = false;
                path.pop();
                continue;
            };
            on_path.next += 1;
            let weight = share(costs[self.event], on_path.weight, inclusive);
            let caller = on_path.frame;
            let is_followed = weight > 0 && !self.is_small(weight) && !self.is_on_path[*called as usize];
            let entered = if is_followed { self.enter(*called, Some(caller), weight) } else { None };
            if let Some(entered) = entered {
                path.push(entered);
            } else {
                let unfollowed = &mut self.unfollowed[*called as usize];
                *unfollowed = unfollowed.saturating_add(weight);
            }
        }
        Ok(())
    }

    /// Emits all cost that is on no path yet below [`OTHER_PATHS`]: first by the calls that were not followed, so that
    /// functions keep the cost of their callees.
    fn follow_rest(&mut self, output: &mut PathOutput<'_>) -> Result<(), ReadError> {
        if self.left.iter().all(|&left| left == 0) {
            return Ok(());
        }
        let title = self.frames.push_title(OTHER_PATHS);
        self.frames.push_titled(None, title);
        let other = self.frames.len() as u32 - 1;
        for _ in 0..ROUNDS_MAX {
            let unfollowed = std::mem::replace(&mut self.unfollowed, vec![0; self.left.len()]);
            let large = (0..).zip(unfollowed).filter(|&(_, weight)| weight > 0 && !self.is_small(weight));
            let large: Vec<(u32, u64)> = large.collect();
            if large.is_empty() || self.left.iter().all(|&left| left == 0) {
                break;
            }
            for (function, weight) in large {
                self.follow(function, Some(other), weight, output)?;
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

//! Derives call paths from a call graph with costs. The profile does not tell which caller caused which part of a
//! function's cost. So the cost is distributed among callers in proportion to the cost of their calls. Cost without a
//! call starts a path. Paths below a ten-thousandth of the total and recursive calls are not followed. Their self cost
//! goes below the frame [`OTHER_PATHS`], so that sums stay exact.

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

/// Limit for frames of all paths of a cost; further ones become other paths.
const FRAMES_MAX: usize = 1 << 20;

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
    places: FxHashMap<u32, u32>,
    /// Costs of calls to it.
    incoming: Box<[u64]>,
}

impl CallGraph {
    /// Sets the number of kinds of cost. Earlier functions have cost zero.
    pub(super) fn set_events(&mut self, events: usize) {
        self.events = events;
        for CostFunction { self_costs, incoming, calls, .. } in &mut self.functions {
            let costs = calls.iter_mut().map(|(_, costs)| costs);
            costs.chain([self_costs, incoming]).for_each(|costs| *costs = vec![0; events].into());
        }
    }

    /// Returns the row of a function, and the bytes of memory added if it is new; `None` if there are too many.
    pub(super) fn function(&mut self, title: &[u8]) -> (Option<u32>, usize) {
        if let Some(&row) = self.rows.get(title) {
            return (Some(row), 0);
        }
        let Ok(row) = u32::try_from(self.functions.len()) else { return (None, 0) };
        self.rows.insert(title.into(), row);
        let (self_costs, incoming) = (vec![0; self.events].into(), vec![0; self.events].into());
        let (calls, places) = (Vec::new(), FxHashMap::default());
        self.functions.push(CostFunction { title: title.into(), self_costs, calls, places, incoming });
        // Its calls are charged in advance: a function calls about ten others.
        let calls_bytes = 10 * (8 * self.events + 6 * size_of::<u64>());
        (Some(row), 2 * title.len() + size_of::<CostFunction>() + 4 * size_of::<u64>() + 16 * self.events + calls_bytes)
    }

    /// Adds to the self cost of a function. Returns `false` on overflow.
    pub(super) fn add_own(&mut self, function: u32, event: usize, cost: u64) -> bool {
        let self_cost =
            self.functions.get_mut(function as usize).and_then(|function| function.self_costs.get_mut(event));
        self_cost.is_some_and(|self_cost| add(self_cost, cost))
    }

    /// Adds to the cost of calls between two functions. Returns `false` on overflow.
    pub(super) fn add_call(&mut self, caller: u32, called: u32, event: usize, cost: u64) -> bool {
        if caller == called {
            return true;
        }
        let incoming = self.functions.get_mut(called as usize).and_then(|called| called.incoming.get_mut(event));
        if let Some(incoming) = incoming {
            *incoming = incoming.saturating_add(cost);
        }
        let events = self.events;
        let Some(caller) = self.functions.get_mut(caller as usize) else { return false };
        let CostFunction { calls, places, .. } = caller;
        let place = *places.entry(called).or_insert_with(|| {
            calls.push((called, vec![0; events].into()));
            calls.len() as u32 - 1
        });
        let sum = calls.get_mut(place as usize).and_then(|(_, costs)| costs.get_mut(event));
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
    is_entered: bool,
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
    let mut row = WeighedRow::new(&kind.name, kind.unit, if event == 0 { -1 } else { event as i64 }, batch);
    let mut frames = FrameTable::default();
    let titles: Vec<u32> = graph.functions.iter().map(|function| frames.push_title(&function.title)).collect();
    // Remaining self cost of each function.
    let mut left: Vec<u64> = graph.functions.iter().map(|function| function.self_costs[event]).collect();
    let whole = left.iter().fold(0u64, |sum, &cost| sum.saturating_add(cost));
    let mut is_on_path = vec![false; graph.functions.len()];
    let mut path: Vec<OnPath> = Vec::new();
    let inclusive: Vec<u64> = graph.functions.iter().map(|function| CallGraph::inclusive(function, event)).collect();
    for root in 0..graph.functions.len() {
        // Cost without a call starts here: the program, a thread, a signal handler.
        let weight = inclusive[root].saturating_sub(graph.functions[root].incoming[event]);
        if weight == 0 {
            continue;
        }
        frames.push_titled(None, titles[root]);
        path.push(OnPath { function: root as u32, frame: frames.len() as u32 - 1, weight, next: 0, is_entered: false });
        is_on_path[root] = true;
        while let Some(on_path) = path.last_mut() {
            let function = &graph.functions[on_path.function as usize];
            let inclusive = inclusive[on_path.function as usize];
            if !on_path.is_entered {
                on_path.is_entered = true;
                context.cancel.check()?;
                let left = &mut left[on_path.function as usize];
                let self_cost = share(function.self_costs[event], on_path.weight, inclusive).min(*left);
                *left -= self_cost;
                if self_cost > 0 {
                    let stack = frames.stack(on_path.frame, batch, row.pos());
                    push(&mut row, self_cost, kind, stack, batch);
                    batch.flush_if_full(sink, context)?;
                }
            }
            let Some((called, costs)) = function.calls.get(on_path.next) else {
                is_on_path[on_path.function as usize] = false;
                path.pop();
                continue;
            };
            on_path.next += 1;
            let weight = share(costs[event], on_path.weight, inclusive);
            let is_small = u128::from(weight) * u128::from(SMALLEST_PART) < u128::from(whole);
            if weight == 0 || is_small || is_on_path[*called as usize] || frames.len() >= FRAMES_MAX {
                continue;
            }
            let caller = on_path.frame;
            if !frames.push_titled(Some(caller), titles[*called as usize]) {
                continue;
            }
            is_on_path[*called as usize] = true;
            path.push(OnPath { function: *called, frame: frames.len() as u32 - 1, weight, next: 0, is_entered: false });
        }
    }
    if left.iter().any(|&left| left > 0) {
        let other = frames.push_title(OTHER_PATHS);
        frames.push_titled(None, other);
        let other = frames.len() as u32 - 1;
        for (function, &left) in left.iter().enumerate().filter(|(_, left)| **left > 0) {
            frames.push_titled(Some(other), titles[function]);
            let stack = frames.stack(frames.len() as u32 - 1, batch, row.pos());
            push(&mut row, left, kind, stack, batch);
            batch.flush_if_full(sink, context)?;
        }
    }
    Ok(())
}

fn push(row: &mut WeighedRow, cost: u64, kind: &CostEvent, stack: crate::model::StackIdx, batch: &mut BatchBuilder) {
    let weight = cost.checked_mul(kind.factor).unwrap_or_else(|| {
        batch.lose(Loss::BadNumber, row.pos());
        u64::MAX
    });
    row.push(weight, stack, batch);
}

//! Functions and the costs of their calls -> paths of calls. The profile does not say which part of a function's cost
//! each of its callers caused beyond the call itself, so a function's cost is divided among its callers in proportion
//! to what their calls cost; what no call accounts for begins a path. Shares below a ten-thousandth of the whole, and
//! calls of functions that are on the path already, are not followed: what of a function's own cost is left stands
//! below a frame that says so, so that sums are exact.

use rustc_hash::FxHashMap;

use crate::formats::output::batch::BatchBuilder;
use crate::formats::profiles::frames::FrameTable;
use crate::formats::profiles::weighed::WeighedRow;
use crate::formats::{BatchSink, ReadContext, ReadError};
use crate::model::Loss;
use crate::model::sample_measure::{BYTES, COUNT, NANOSECONDS};

/// The frame of costs whose path is not known.
pub(super) const OTHER_PATHS: &[u8] = b"(other paths)";

/// Paths of a smaller part of the whole than one in so many are not followed.
const SMALLEST_PART: u64 = 10_000;

/// The most frames of all paths of one kind of cost; those beyond are other paths.
const FRAMES_MAX: usize = 1 << 20;

/// A kind of cost, with the unit that its name tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CostEvent {
    pub(super) name: Box<str>,
    pub(super) unit: &'static str,
    /// One of the cost is so many of the unit.
    pub(super) factor: u64,
}

impl CostEvent {
    pub(super) fn from_names(name: &str, long: &str) -> Self {
        let lower = format!("{name} {long}").trim_end().to_ascii_lowercase();
        let (unit, factor) = match () {
            () if lower.contains("10ns") => (NANOSECONDS, 10),
            () if lower.contains("100ns") => (NANOSECONDS, 100),
            () if lower.contains("nanosec") || lower.ends_with("_(ns)") || lower == "ns" => (NANOSECONDS, 1),
            () if lower.contains("microsec") || lower.ends_with("_(us)") || lower == "us" => (NANOSECONDS, 1000),
            () if lower.contains("bytes") || lower.contains("memory") => (BYTES, 1),
            () => (COUNT, 1),
        };
        Self { name: name.into(), unit, factor }
    }
}

/// Functions, and what each costs itself and by its calls.
#[derive(Debug, Default)]
pub(super) struct CallGraph {
    /// How many kinds of cost there are.
    events: usize,
    rows: FxHashMap<Box<[u8]>, u32>,
    functions: Vec<CostFunction>,
}

#[derive(Debug)]
struct CostFunction {
    title: Box<[u8]>,
    own: Box<[u64]>,
    /// The costs of its calls, by the function that is called; in order of appearance.
    calls: Vec<(u32, Box<[u64]>)>,
    /// By the function that is called: its place in `calls`.
    places: FxHashMap<u32, u32>,
    /// The costs of its calls by others.
    incoming: Box<[u64]>,
}

impl CallGraph {
    /// Sets the number of kinds of cost. Functions that came before them cost nothing so far.
    pub(super) fn set_events(&mut self, events: usize) {
        self.events = events;
        for CostFunction { own, incoming, calls, .. } in &mut self.functions {
            let costs = calls.iter_mut().map(|(_, costs)| costs);
            costs.chain([own, incoming]).for_each(|costs| *costs = vec![0; events].into());
        }
    }

    /// The row of a function, and the bytes of memory that it took if it is new; `None` beyond the last row.
    pub(super) fn function(&mut self, title: &[u8]) -> (Option<u32>, usize) {
        if let Some(&row) = self.rows.get(title) {
            return (Some(row), 0);
        }
        let Ok(row) = u32::try_from(self.functions.len()) else { return (None, 0) };
        self.rows.insert(title.into(), row);
        let (own, incoming) = (vec![0; self.events].into(), vec![0; self.events].into());
        let (calls, places) = (Vec::new(), FxHashMap::default());
        self.functions.push(CostFunction { title: title.into(), own, calls, places, incoming });
        // Its calls are charged with it: a function of a program calls some ten others.
        let calls_bytes = 10 * (8 * self.events + 6 * size_of::<u64>());
        (Some(row), 2 * title.len() + size_of::<CostFunction>() + 4 * size_of::<u64>() + 16 * self.events + calls_bytes)
    }

    /// Adds to the own cost of a function. `false` if the sum is too large.
    pub(super) fn add_own(&mut self, function: u32, event: usize, cost: u64) -> bool {
        let own = self.functions.get_mut(function as usize).and_then(|function| function.own.get_mut(event));
        own.is_some_and(|own| add(own, cost))
    }

    /// Adds to what the calls of one function by another cost. `false` if the sum is too large.
    pub(super) fn add_call(&mut self, caller: u32, called: u32, event: usize, cost: u64) -> bool {
        // A call of itself is in the own cost of a function already.
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

    /// The cost of a function with its calls.
    fn inclusive(function: &CostFunction, event: usize) -> u64 {
        let calls = function.calls.iter().map(|(_, costs)| costs[event]);
        calls.fold(function.own[event], u64::saturating_add)
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

/// `weight` of `whole`, where `part` is of the same whole.
fn share(part: u64, weight: u64, whole: u64) -> u64 {
    let share = u128::from(part) * u128::from(weight) / u128::from(whole.max(1));
    // No larger than the weight, unless the profile contradicts itself.
    u64::try_from(share).unwrap_or(u64::MAX).min(weight)
}

/// A function on the path, with the part of its cost that the path causes.
struct OnPath {
    function: u32,
    frame: u32,
    weight: u64,
    /// The next of its calls to follow.
    next: usize,
    is_entered: bool,
}

/// Hands on the paths of one kind of cost.
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
    // The rest of the own cost of each.
    let mut left: Vec<u64> = graph.functions.iter().map(|function| function.own[event]).collect();
    let whole = left.iter().fold(0u64, |sum, &own| sum.saturating_add(own));
    let mut is_on_path = vec![false; graph.functions.len()];
    let mut path: Vec<OnPath> = Vec::new();
    let inclusive: Vec<u64> = graph.functions.iter().map(|function| CallGraph::inclusive(function, event)).collect();
    for root in 0..graph.functions.len() {
        // No call accounts for what begins here: the program, a thread, a handler of signals.
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
                let own = share(function.own[event], on_path.weight, inclusive).min(*left);
                *left -= own;
                if own > 0 {
                    let stack = frames.stack(on_path.frame, batch, row.place());
                    push(&mut row, own, kind, stack, batch);
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
            let stack = frames.stack(frames.len() as u32 - 1, batch, row.place());
            push(&mut row, left, kind, stack, batch);
            batch.flush_if_full(sink, context)?;
        }
    }
    Ok(())
}

fn push(row: &mut WeighedRow, cost: u64, kind: &CostEvent, stack: crate::model::StackIdx, batch: &mut BatchBuilder) {
    let weight = cost.checked_mul(kind.factor).unwrap_or_else(|| {
        batch.lose(Loss::BadNumber, row.place());
        u64::MAX
    });
    row.push(weight, stack, batch);
}

//! Functions with their self costs and the costs of their calls, for each kind of cost.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use crate::formats::output::modules::{ModuleFrame, file_name};
use crate::formats::profiles::frames::FilePaths;
use crate::model::sample_measure::{BYTES, COUNT, NANOSECONDS};

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
    pub(super) functions: Vec<CostFunction>,
}

#[derive(Debug)]
pub(super) struct CostFunction {
    /// Its name, then the path of its file in brackets if it is known.
    text: Box<[u8]>,
    name_len: usize,
    /// Whether its file is known: a line defines it, or a call names its file.
    is_placed: bool,
    pub(super) self_costs: Box<[u64]>,
    /// Costs of its calls, by callee; in order of appearance.
    pub(super) calls: Vec<(u32, Box<[u64]>)>,
    /// Index in `calls`, by callee.
    call_indices: FxHashMap<u32, u32>,
    /// Costs of calls to it.
    pub(super) incoming: Box<[u64]>,
}

impl CostFunction {
    fn name(&self) -> &[u8] {
        &self.text[..self.name_len]
    }

    /// Returns its name with the name of its file, and the path of its file.
    pub(super) fn frame(&self, files: &mut FilePaths) -> ModuleFrame {
        let path = self.text[self.name_len..].strip_prefix(b" (").and_then(|rest| rest.strip_suffix(b")"));
        let Some(path) = path else { return ModuleFrame { text: self.text.to_vec(), category: None } };
        let text = [self.name(), b" (", file_name(path), b")"].concat();
        ModuleFrame { text, category: files.add(path).0 }
    }
}

impl CallGraph {
    /// Sets the number of kinds of cost, which may only grow. Earlier functions have cost zero for the new kinds.
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

    /// Returns the row of a function, and the bytes of memory added if it is new; `None` if there are too many. The
    /// text is its name, then the path of its file in brackets.
    pub(super) fn function(&mut self, text: &[u8], name_len: usize, is_placed: bool) -> (Option<u32>, usize) {
        if let Some(&row) = self.rows.get(text) {
            if let Some(function) = self.functions.get_mut(row as usize) {
                function.is_placed |= is_placed;
            }
            return (Some(row), 0);
        }
        let Ok(row) = u32::try_from(self.functions.len()) else { return (None, 0) };
        self.rows.insert(text.into(), row);
        let (self_costs, incoming) = (vec![0; self.events].into(), vec![0; self.events].into());
        let (calls, call_indices) = (Vec::new(), FxHashMap::default());
        let text: Box<[u8]> = text.into();
        let text_bytes = 2 * text.len();
        self.functions.push(CostFunction { text, name_len, is_placed, self_costs, calls, call_indices, incoming });
        (
            Some(row),
            text_bytes + size_of::<CostFunction>() + Self::PLACE_BYTES + 4 * size_of::<u64>() + 16 * self.events,
        )
    }

    /// Bytes of a function while [`Self::link_unplaced`] runs: hash tables are at least half full.
    const PLACE_BYTES: usize = 2 * size_of::<(&[u8], Option<u32>)>() + size_of::<u32>();

    /// Links calls of functions in unknown files to the only function with that name. Xdebug before 2.3 does not write
    /// the files of called functions. Returns the number of costs that overflow.
    pub(super) fn link_unplaced(&mut self) -> u64 {
        if self.functions.iter().all(|function| function.is_placed) {
            return 0;
        }
        let mut placed: FxHashMap<&[u8], Option<u32>> = FxHashMap::default();
        for (row, function) in (0..).zip(&self.functions).filter(|(_, function)| function.is_placed) {
            placed.entry(function.name()).and_modify(|row| *row = None).or_insert(Some(row));
        }
        let target = |(row, function): (u32, &CostFunction)| match placed.get(function.name()) {
            Some(&Some(placed)) if !function.is_placed => placed,
            _ => row,
        };
        let targets: Vec<u32> = (0..).zip(&self.functions).map(target).collect();
        for function in &mut self.functions {
            function.incoming.fill(0);
        }
        let mut overflows = 0;
        for caller in 0..targets.len() {
            self.functions[caller].call_indices.clear();
            for (called, costs) in std::mem::take(&mut self.functions[caller].calls) {
                let (caller, called) = (caller as u32, targets[called as usize]);
                self.call(caller, called);
                let is_added = (0..).zip(&costs).map(|(event, &cost)| self.add_call(caller, called, event, cost));
                overflows += is_added.filter(|is_added| !is_added).count() as u64;
            }
        }
        overflows
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

//! Finds the cycles of a call graph: functions that call each other, directly or not. The cost of a call within a cycle
//! contains the cost of the calls around it. So only costs from outside of a cycle can be shared.

use std::ops::Range;

use rustc_hash::FxHashSet;

use super::call_graph::{CallGraph, CostFunction};

/// The functions of a call graph in groups. Functions that call each other are in one group.
#[derive(Debug)]
pub(super) struct Cycles {
    /// By function.
    groups: Vec<u32>,
    /// Number of functions by group.
    sizes: Vec<u32>,
}

/// Progress of the search for groups, by function.
struct GroupSearch {
    /// Number of the visit, from 1; 0 before it.
    visits: Vec<u32>,
    /// Earliest visit that calls lead back to.
    earliest: Vec<u32>,
    /// Functions without a group so far.
    stack: Vec<u32>,
    visit_count: u32,
}

impl GroupSearch {
    fn visit(&mut self, function: u32) {
        self.visit_count += 1;
        self.visits[function as usize] = self.visit_count;
        self.earliest[function as usize] = self.visit_count;
        self.stack.push(function);
    }
}

impl Cycles {
    const NONE: u32 = u32::MAX;

    /// Finds the strongly connected components by Tarjan's algorithm, in linear time.
    pub(super) fn new(graph: &CallGraph) -> Self {
        let len = graph.functions.len();
        let mut cycles = Self { groups: vec![Self::NONE; len], sizes: Vec::new() };
        let (visits, earliest) = (vec![0; len], vec![0; len]);
        let mut search = GroupSearch { visits, earliest, stack: Vec::new(), visit_count: 0 };
        // Functions on the current path, each with its next call.
        let mut path: Vec<(u32, usize)> = Vec::new();
        for root in 0..len as u32 {
            if search.visits[root as usize] != 0 {
                continue;
            }
            search.visit(root);
            path.push((root, 0));
            while let Some((function, next)) = path.last_mut() {
                let (function, call) = (*function, graph.functions[*function as usize].calls.get(*next));
                *next += 1;
                if let Some(&(called, _)) = call {
                    if search.visits[called as usize] == 0 {
                        search.visit(called);
                        path.push((called, 0));
                    } else if cycles.groups[called as usize] == Self::NONE {
                        let visit = search.visits[called as usize];
                        let earliest = &mut search.earliest[function as usize];
                        *earliest = visit.min(*earliest);
                    }
                    continue;
                }
                path.pop();
                let own_earliest = search.earliest[function as usize];
                if let Some(&(caller, _)) = path.last() {
                    let earliest = &mut search.earliest[caller as usize];
                    *earliest = own_earliest.min(*earliest);
                }
                if own_earliest == search.visits[function as usize] {
                    cycles.add_group(function, &mut search.stack);
                }
            }
        }
        cycles
    }

    /// Adds the group of the functions from `first` on.
    fn add_group(&mut self, first: u32, stack: &mut Vec<u32>) {
        let group = self.sizes.len() as u32;
        let mut size = 0;
        while let Some(member) = stack.pop() {
            self.groups[member as usize] = group;
            size += 1;
            if member == first {
                break;
            }
        }
        self.sizes.push(size);
    }

    pub(super) fn group_count(&self) -> usize {
        self.sizes.len()
    }

    pub(super) fn group(&self, function: u32) -> usize {
        self.groups[function as usize] as usize
    }

    /// Returns whether a function is in a cycle with others.
    pub(super) fn is_in_cycle(&self, function: u32) -> bool {
        self.sizes[self.group(function)] > 1
    }

    /// Returns whether a call stays within a cycle.
    pub(super) fn has_both(&self, caller: u32, called: u32) -> bool {
        self.groups[caller as usize] == self.groups[called as usize]
    }

    /// Returns the cost of a function without the calls within its cycle.
    pub(super) fn cost_outside(&self, number: u32, function: &CostFunction, event: usize) -> u64 {
        let outside = function.calls.iter().filter(|(called, _)| !self.has_both(number, *called));
        outside.fold(function.self_costs[event], |sum, (_, costs)| sum.saturating_add(costs[event]))
    }
}

/// The functions of a cycle below the function at which paths enter it.
#[derive(Debug)]
pub(super) struct CycleTree {
    /// In order of their depth; the entry is first.
    pub(super) nodes: Vec<CycleNode>,
}

#[derive(Debug)]
pub(super) struct CycleNode {
    pub(super) function: u32,
    /// Indices of the functions that it calls.
    pub(super) children: Range<u32>,
    /// Cost of it and of the functions below it, without calls within the cycle.
    pub(super) cost: u64,
}

impl CycleTree {
    /// Puts each function of the cycle below the caller that is nearest to the entry. `outside` are the costs of all
    /// functions without the calls within their cycles. Follows each call of the cycle.
    pub(super) fn new(entry: u32, graph: &CallGraph, cycles: &Cycles, outside: &[u64]) -> Self {
        let node = |function: u32| CycleNode { function, children: 0..0, cost: outside[function as usize] };
        let (mut nodes, mut parents) = (vec![node(entry)], vec![0]);
        let mut seen: FxHashSet<u32> = [entry].into_iter().collect();
        let mut parent = 0;
        while parent < nodes.len() {
            let first = nodes.len() as u32;
            let caller = nodes[parent].function;
            for &(called, _) in &graph.functions[caller as usize].calls {
                if cycles.has_both(caller, called) && seen.insert(called) {
                    nodes.push(node(called));
                    parents.push(parent);
                }
            }
            nodes[parent].children = first..nodes.len() as u32;
            parent += 1;
        }
        for index in (1..nodes.len()).rev() {
            let (parent, cost) = (parents[index], nodes[index].cost);
            nodes[parent].cost = nodes[parent].cost.saturating_add(cost);
        }
        Self { nodes }
    }
}

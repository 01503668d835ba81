//! Profiles in callgrind format, also written by cachegrind, Xdebug, yappi and pyprof2calltree: self cost of each
//! function and cost of each call. There are no stacks, so `paths` distributes the cost of a function among its
//! callers; self costs stay exact. Each kind of cost is a row of samples.
//!
//! Refuses profiles whose functions and calls exceed a share of the memory budget.

mod call_graph;
mod cycles;
mod part_end;
mod paths;
mod read;

pub(crate) use read::FORMAT;

#[cfg(test)]
mod tests;

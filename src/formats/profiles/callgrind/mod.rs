//! Profiles in the format of callgrind and cachegrind, which Xdebug, yappi and pyprof2calltree write, too: the cost of
//! each function itself and of each of its calls. There are no stacks, so `paths` divides the cost of a function among
//! its callers; what every function costs itself stays exact. Each kind of cost is a row of samples.
//!
//! Refuses profiles whose functions and calls do not fit a share of the memory budget.

mod paths;
mod read;

pub(crate) use read::FORMAT;

#[cfg(test)]
mod tests;

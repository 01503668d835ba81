//! Questions to a store that a frame, a panel or a script asks: which spans stand for which pixels, what is under a
//! point, what surrounds a span. Reads only; work is bounded by what is asked for, not by the capture.

pub mod aggregate;
pub mod buckets;
pub mod cursor;
pub mod describe;
pub mod family;
pub mod filter;
pub mod filtered;
pub mod flow_chain;
pub mod longest;
pub mod matcher;
pub mod over_time;
pub mod pick;
pub mod pixels;
pub mod rows;
pub mod scan;
pub mod search;
pub mod sketch;
pub mod snapshot;
pub mod stacks;

pub use buckets::{Buckets, Cell, CounterCell, Crowd};
pub use cursor::ReadCount;
pub use describe::Description;
pub use snapshot::Snapshot;

#[cfg(test)]
mod aggregate_tests;
#[cfg(test)]
mod search_tests;
#[cfg(test)]
mod tests;

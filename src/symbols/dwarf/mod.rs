//! Debug information of a file: the functions at an address, those that were inlined there first, with their source
//! lines. Addresses are read in their order, so that each unit is walked once, and nothing of it is kept. Opens no
//! file: parts that are in other files are those that the caller adds.
//!
//! Hostile debug information is read up to its damage. Reading is bounded in steps by [`fuel`](super::fuel), in memory
//! by the number of addresses and of functions inlined at one, and goes down no stack however deep entries are nested.
//!
//! `sections` has the bytes, `units` lists the units and their addresses, `walk` reads the functions of one, `lines`
//! its lines, and `origins` the names of functions that are described elsewhere. `naming` puts it together.

mod lines;
mod naming;
mod origins;
mod sections;
mod units;
mod walk;

pub(super) use self::naming::{names, names_of_functions};
pub(super) use self::sections::DebugInfo;
pub(super) use self::units::{SplitUnit, WantedUnits};

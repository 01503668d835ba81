//! Reads DWARF debug information: the functions at an address, inlined ones first, with their source lines. Addresses
//! are processed in order, so that each unit is read once and not kept. Opens no files: the caller adds parts in other
//! files.
//!
//! Hostile debug information is read up to its damage. Work is bounded in steps by [`fuel`](super::fuel). Memory is
//! bounded by the number of addresses, and of functions inlined at one address; nested entries need no recursion.
//!
//! `sections` has the bytes, and `units` lists the units and their addresses. Of one unit, `walk` reads the functions
//! and `lines` the lines. `origins` resolves names of functions described elsewhere, `scopes` has the namespaces and
//! classes around functions, and `compiled_copies` the symbols of functions that are also inlined. `naming` combines
//! them.

mod compiled_copies;
mod lines;
mod naming;
mod origins;
mod scopes;
mod sections;
mod units;
mod walk;

pub(super) use self::naming::{names, names_of_functions};
pub(super) use self::sections::DebugInfo;
pub(super) use self::units::{SplitUnit, WantedUnits};

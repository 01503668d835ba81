//! Chrome's trace event format in JSON: the array form and the object form, as tracers really write them.
//!
//! In reading order: `split` guesses where to cut, `json::scan` skips JSON values, `wire` finds the fields of a record,
//! and `phases` interprets its phase. `events` converts records to events, `samples` records with call stacks. Stacks
//! are in the table in `frames`, or in V8 profile chunks, which `profiles::v8_parts` joins. `records` parses the array,
//! `envelope` the syntax around it with the clocks in `document_clock`, and `read` does all of this on several threads.
//! [`write`](mod@write) is the writer.

mod document_clock;
mod envelope;
mod events;
mod fields;
mod frames;
mod leads;
mod overlaps;
mod phases;
pub(crate) mod read;
mod records;
mod split;
mod system;
mod tables;
mod wire;
pub(crate) mod write;

pub(crate) use read::FORMAT;

#[cfg(test)]
mod tests;

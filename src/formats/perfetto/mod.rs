//! Perfetto's protobuf captures: track events, the older events of Chrome within them, and the scheduling and markers
//! of Linux. The few fields that a timeline shows are read by their numbers; typed arguments by the descriptor files
//! that a capture holds.
//!
//! In reading order: `wire` steps over protobuf fields, `packets` finds the packets, `parse` reads what they say for
//! themselves, on several threads, `descriptors` tells who is who, `clocks` brings times to one clock, `sequence` is
//! what the packets of one writer share, `track_event`, `legacy`, `ftrace` and `profile` make events, `args` and, for
//! typed ones, `schema` write arguments, `order` tells where tracks stand, `read` goes through all packets. `write`
//! makes captures, with `encode` for fields and `annotate` for arguments.
//!
//! One pass, and a second over the descriptions only where it is needed: an event may be on a track that is described
//! after it, as 69 of a capture of Chromium are.

mod annotate;
mod args;
mod clocks;
mod descriptors;
mod event_args;
mod event_builder;
pub(crate) mod fields;
mod ftrace;
mod interned;
mod legacy;
mod legacy_event;
mod order;
pub(crate) mod packets;
mod parse;
mod profile;
pub(crate) mod read;
mod schema;
mod sequence;
mod track_event;
mod tracks;
pub(crate) mod write;

pub(crate) use read::FORMAT;

#[cfg(test)]
pub(crate) use schema::KNOWN;

#[cfg(test)]
mod tests;

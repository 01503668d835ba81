//! Perfetto's protobuf captures: track events, the older events of Chrome within them, and the scheduling and markers
//! of Linux. The reader knows by number the few fields that a timeline shows, and decodes typed arguments by the
//! descriptor files in the capture.
//!
//! In reading order: `packets` finds the packets, `parse` reads their fields on several threads, `descriptors` names
//! tracks, processes and threads, `clocks` converts times to one clock, and `sequence` is the state of one writer.
//! `track_event`, `legacy`, `ftrace` and `profile` make events, `args` and, for typed ones, `schema` write arguments,
//! `order` sorts tracks, and `read` goes through all packets. `write` writes captures, with `annotate` for arguments.
//!
//! One pass, and a second over the descriptions only where it is needed: an event may be on a track that is described
//! after it, as are 69 events in a capture of Chromium.

mod annotate;
mod args;
mod clocks;
mod descriptors;
mod event_args;
mod event_builder;
pub(crate) mod fields;
mod ftrace;
mod generic_kernel;
mod interned;
mod kernel_counters;
pub(crate) mod kernel_fields;
mod kernel_memory;
mod kernel_names;
mod kernel_spans;
mod legacy;
mod legacy_event;
mod order;
pub(crate) mod packets;
mod parse;
mod pids;
mod profile;
pub(crate) mod read;
mod sample_defaults;
mod schema;
mod sequence;
mod system_counters;
mod track_event;
mod tracks;
mod translations;
mod values;
pub(crate) mod write;

pub(crate) use read::FORMAT;

#[cfg(test)]
mod tests;

//! Perfetto protobuf traces: track events, legacy Chrome events within them, and Linux scheduling and markers. The
//! reader knows the field numbers that a timeline needs, and decodes typed arguments with the descriptors in the trace.
//!
//! In reading order: `packets` splits the trace into packets, `parse` parses their fields on several threads.
//! `descriptors` collects tracks, processes and threads, `clocks` converts times, and `sequence` is the state of one
//! packet sequence. `track_event`, `legacy`, `ftrace` and `profile` build events, `args` and `values` write plain and
//! typed arguments, by the types of `schema`. `order` sorts tracks, `groups` groups them, and `read` drives it all.
//! `write` writes traces, with `annotate` for arguments, `interned_stacks` for samples and `written_groups` for nested
//! tracks.
//!
//! The builder of system events, in `ftrace`, has methods in many files. The `kernel_*` files decode events of the
//! kernel's bundles, most of them by tables. `system_packets` lists the other packets of kernels, devices and logs.
//! Their decoders are in `android_packets`, `etw`, `frame_timeline`, `generic_kernel`, `gpu_packets`, `log_packets`,
//! `process_stats` and `system_*`, with the helpers of `packet_events`. All field numbers are in `fields` and the
//! `*_fields` files, and `limits` bounds tables.
//!
//! A second pass collects all descriptors, but only if an event needs one that follows it, as 69 events in a Chromium
//! trace do.

mod android_packets;
mod annotate;
mod args;
mod clocks;
mod compact_sched;
mod descriptors;
pub(crate) mod device_fields;
mod emit;
mod etw;
mod event_args;
mod event_builder;
mod facts;
pub(crate) mod fields;
mod frame_timeline;
mod ftrace;
mod generic_kernel;
mod gpu_packets;
mod groups;
mod heap_profile;
mod interned;
mod interned_stacks;
mod kernel_counters;
mod kernel_devices;
pub(crate) mod kernel_fields;
mod kernel_gpu;
mod kernel_instants;
mod kernel_memory;
mod kernel_names;
mod kernel_network;
mod kernel_pairs;
mod kernel_spans;
mod kernel_state;
mod kernel_types;
mod kernel_window;
mod legacy;
mod legacy_event;
mod limits;
mod log_packets;
mod order;
pub(crate) mod own_fields;
mod packet_events;
pub(crate) mod packet_fields;
mod packet_kinds;
pub(crate) mod packets;
mod parse;
mod pids;
mod process_stats;
mod profile;
pub(crate) mod read;
mod sample_defaults;
mod schema;
mod sequence;
mod sniff;
pub(crate) mod statistics_fields;
mod system_counters;
mod system_packets;
mod system_stats;
mod track_event;
mod tracks;
mod translations;
mod v8_profiles;
mod values;
pub(crate) mod write;
mod written_groups;

pub(crate) use read::FORMAT;

#[cfg(test)]
mod tests;

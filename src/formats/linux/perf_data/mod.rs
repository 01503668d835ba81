//! The output of `perf record`: `perf.data` on disk, and the same through a pipe. Samples have their stacks,
//! tracepoints of the scheduler are scheduling, system calls are spans, other tracepoints are instants, with the
//! fields that the capture describes. Refuses captures of big-endian machines.
//!
//! Functions are shown as `file+0xoffset`, the kernel's as addresses, and those that the kernel made while recording by
//! their names. `crate::symbols` looks the others up later, in files outside the capture. Events are in the order of
//! their CPUs' buffers. perf says how far all buffers are written, and the reader sorts events up to there, since a
//! stack only makes sense with the files that were mapped at its time.
//!
//! `wire` reads records, `header` the sections before and after them, `fields` the fields of tracepoints,
//! `maps` the files of addresses, `modules` what identifies them, `raw_stacks` the callers in bytes of stacks. `rounds`
//! sorts records, `events` makes events, `read` goes through the capture.

mod counts;
mod events;
mod fields;
mod header;
mod maps;
mod modules;
mod raw_stacks;
pub(crate) mod read;
mod rounds;
mod wire;

pub(crate) use read::FORMAT;

#[cfg(test)]
mod tests;

//! The output of `perf record`: `perf.data` on disk, and the same through a pipe. Samples have their stacks,
//! tracepoints of the scheduler are scheduling, system calls are spans, other tracepoints are instants, with the
//! fields that the capture describes. Refuses captures of big-endian machines.
//!
//! Functions are shown as `file+0xoffset`, the kernel's as addresses, those that the kernel made while recording by
//! their names: perf names the others later, from files that are not in the capture. Events are in the order of their
//! CPUs' buffers; perf says how far all of them are written, and up to there they are put in order, since a stack
//! means something only with the files that were mapped at its time.
//!
//! `wire` reads records, `header` what stands before and behind them, `fields` what tracepoints have, `maps` says
//! which file an address is of, `rounds` puts records in order, `events` makes events, `read` goes through the
//! capture.

mod events;
mod fields;
mod header;
mod maps;
pub(crate) mod read;
mod rounds;
mod wire;

pub(crate) use read::FORMAT;

#[cfg(test)]
mod tests;

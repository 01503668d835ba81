//! Output of `perf record`: `perf.data` files and pipe mode. Samples have stacks, scheduler tracepoints become
//! scheduling, system calls become spans. Other tracepoints are instants, with the fields that the file describes.
//! Refuses big-endian files.
//!
//! Frames are shown as `file+0xoffset`, kernel frames as addresses, and functions that the kernel generated while
//! recording by name. `crate::symbols` resolves the others later, from files outside the trace. Records are ordered per
//! CPU buffer. perf marks the time up to which all buffers are flushed, and the reader sorts up to each mark. A stack
//! needs the mappings of its time.
//!
//! `wire` parses records, `header` the sections before and after them, `fields` tracepoint fields. `maps` tracks
//! mappings, `modules` identifies their files, `raw_stacks` unwinds stack dumps, `jit_loads` maps JIT-compiled code.
//! `rounds` sorts records, `events` converts them, `read` drives the reading.

mod counts;
mod events;
mod fields;
mod header;
mod jit_loads;
mod lost;
mod maps;
mod modules;
mod raw_stacks;
pub(crate) mod read;
mod rounds;
mod wire;

pub(crate) use header::{THREADED, is_pipe_mode};
pub(crate) use read::FORMAT;

#[cfg(test)]
mod tests;

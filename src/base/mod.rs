//! The base of every other module: time, units, cancellation, progress, density, the memory budget, files, disks, free
//! space, mapped and temporary files, threads, signals, escaping, CSV cells, numbers in bytes, hexadecimal numbers and
//! demangling. Independent of traces.

pub(crate) mod bounded_text;
pub(crate) mod budget;
pub(crate) mod budget_shares;
pub(crate) mod bytes;
pub(crate) mod cancel;
pub(crate) mod csv;
pub(crate) mod demangle;
pub(crate) mod density;
pub(crate) mod direction;
pub(crate) mod disk;
pub(crate) mod ends;
pub(crate) mod escape;
pub(crate) mod files;
pub(crate) mod folders;
pub(crate) mod free_space;
#[cfg(test)]
pub(crate) mod generated_docs;
pub(crate) mod hex;
pub(crate) mod log_scale;
pub(crate) mod mapped;
pub(crate) mod merged;
pub(crate) mod progress;
pub(crate) mod replace;
pub(crate) mod shell;
pub(crate) mod signals;
pub(crate) mod similar;
pub(crate) mod sketch;
pub(crate) mod temporary;
pub(crate) mod threads;
pub(crate) mod time;
pub(crate) mod typed_time;
pub(crate) mod units;
pub(crate) mod version;

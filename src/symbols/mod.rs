//! Names for addresses: the functions, files and lines of sampled code, from the files that it ran from. Raw stacks
//! stay as they were recorded; names are an overlay that comes later, and is dropped or made again at will.
//!
//! Never opens a connection, never starts a program, and opens no file outside the folders that [`locate`] lists. A
//! file whose build-id is not that of the capture is another build: it is reported and not used. Files are input from
//! strangers: what is read of them is bounded in bytes, the reading of debug information in steps.
//!
//! `file` opens files, `locate` knows where they may be, `elf` reads their tables, `dwarf` their
//! debug information under the bound of `fuel`. `separate` and `split` have the files that a file names for it,
//! and `xz` unpacks a table inside. `functions` is the symbol table, `go_lines` that of programs of Go, `kallsyms` that of the kernel,
//! `perf_map` and `jit_dump` those of code made at run time. `demangle` reads names of C++ and
//! Rust, `texts` each once. `cache` keeps names by build-id. `resolve` has the names of the
//! addresses of one module, from the files that `search` finds, `lookup` of all modules of a trace,
//! and `report` says what is missing. `code` lists one function with its samples, as source lines
//! that `sources` reads and as instructions. `unwind` finds the callers in stacks that were recorded as bytes.

pub(crate) mod below;
pub(crate) mod cache;
pub(crate) mod code;
mod demangle;
mod dwarf;
mod elf;
mod file;
mod fuel;
mod functions;
mod go_lines;
mod jit_dump;
mod kallsyms;
pub(crate) mod locate;
pub(crate) mod lookup;
pub(crate) mod names;
mod perf_map;
pub(crate) mod report;
pub(crate) mod resolve;
mod search;
mod separate;
pub(crate) mod sources;
mod split;
pub(crate) mod state;
mod texts;
pub(crate) mod unwind;
mod xz;

#[cfg(test)]
mod tests;

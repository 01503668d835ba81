//! Resolves addresses of sampled code to functions, files and lines, from the files of the code. Raw stacks stay as
//! recorded; names are an overlay that is added later, and can be dropped or rebuilt.
//!
//! Never opens a connection or starts a program, and opens no file outside the folders listed by [`locate`]. A file
//! with another build-id than the trace is another build: it is reported and not used. Files are untrusted: reads are
//! bounded in bytes, and parsing debug information in steps.
//!
//! `file` opens files at `paths` and in an `archive`, `locate` lists candidates, `elf` reads tables, and `dwarf` debug
//! information within the limits of `fuel`. `separate` and `split` handle files that a file names, and `xz` an embedded
//! table. `functions` reads the symbol table, with the stubs of `plt`. `go_lines`, `go_inlined` and `go_module` read
//! the tables of Go programs, and `kallsyms` the symbols of the kernel. `jit` names JIT-compiled code, by the
//! functions that `perf_map` and `jit_dump` list, in ranges of `latest`. `texts` demangles names; `cache` stores names
//! by build-id. `resolve` resolves one module to `module_names`, with the files that `search` finds, and `lookup` all
//! modules of a trace, each with its `recorders`; `report` lists what is missing. `code` lists one function with its
//! samples, as instructions and as source lines read by `sources`. `unwind` finds the callers in recorded stack bytes.

mod archive;
pub(crate) mod below;
pub(crate) mod cache;
pub(crate) mod code;
mod dwarf;
mod elf;
mod file;
mod fuel;
mod functions;
mod go_inlined;
mod go_lines;
mod go_module;
mod jit;
mod jit_dump;
mod kallsyms;
mod latest;
pub(crate) mod locate;
pub(crate) mod lookup;
pub(crate) mod module_names;
pub(crate) mod names;
mod paths;
mod perf_map;
mod plt;
mod recorders;
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

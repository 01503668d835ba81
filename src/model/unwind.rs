//! The interface between readers of recordings with raw stacks or JIT-compiled code, and the files of modules, which
//! readers never open. A reader knows the memory mappings; an unwinder knows the files.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::modules::Module;
use super::sources::Sources;

/// Number of x86-64 registers, by DWARF number; the last is the instruction pointer.
pub(crate) const REGISTERS: usize = 17;

/// DWARF number of the stack pointer.
pub(crate) const STACK_POINTER: usize = 7;

/// DWARF number of the instruction pointer.
pub(crate) const INSTRUCTION: usize = 16;

/// Maximum number of frames of a stack; `perf script` prints 127 by default.
pub(crate) const FRAMES_MAX: usize = 1024;

/// The registers of a thread, and the content of its stack.
#[derive(Debug, Clone, Copy)]
pub struct StackBytes<'a> {
    /// By DWARF number; `None` if not recorded.
    pub registers: [Option<u64>; REGISTERS],
    /// The bytes from the stack pointer upwards.
    pub bytes: &'a [u8],
}

/// The reason why unwinding ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StackEnd {
    /// The outermost function of the thread was reached.
    Whole,
    /// The recorded bytes end before the next caller.
    BytesEnd,
    /// The file of a module is missing, is another build, or its tables exceed the memory limit.
    NoFile,
    /// The module has no unwind rules for a function, such as code that was generated at run time.
    NoRules,
    /// A return address is not in mapped memory, or the tables contradict the stack.
    Damaged,
    /// The stack exceeds the maximum number of frames.
    TooDeep,
}

impl StackEnd {
    const ALL: [Self; 6] = [Self::Whole, Self::BytesEnd, Self::NoFile, Self::NoRules, Self::Damaged, Self::TooDeep];

    /// Returns whether a frame is the mark of an incomplete stack, and no function.
    #[must_use]
    pub(crate) fn is_mark(frame: &str) -> bool {
        Self::ALL.into_iter().any(|end| end.mark() == Some(frame))
    }

    /// Returns the outermost frame of an incomplete stack; `None` for a complete one.
    #[must_use]
    pub fn mark(self) -> Option<&'static str> {
        match self {
            Self::Whole => None,
            Self::BytesEnd => Some("[stack cut: recorded bytes end]"),
            Self::NoFile => Some("[stack cut: no file of the module]"),
            Self::NoRules => Some("[stack cut: no unwind information]"),
            Self::Damaged => Some("[stack cut: no way to the caller]"),
            Self::TooDeep => Some("[stack cut: too many frames]"),
        }
    }
}

/// The memory mappings of the process whose stack is unwound.
pub trait MappedCode {
    /// Returns the module row of an address, and the address relative to the module as in its frames; `None` if no file
    /// is mapped there.
    fn locate(&mut self, address: u64) -> Option<(usize, u64)>;

    /// Returns a module by its row.
    fn module(&self, row: usize) -> Module;
}

/// Unwinds the stacks of one recording.
pub trait Unwinder: Send {
    /// Appends the addresses of a stack, innermost first: the instruction pointer, then the return addresses.
    fn unwind(&mut self, stack: &StackBytes<'_>, code: &mut dyn MappedCode, addresses: &mut Vec<u64>) -> StackEnd;

    /// Returns the modules that were used, in order of their rows.
    fn modules(&self) -> Vec<UnwoundModule>;
}

/// Code that a process compiled at run time and dumped, at the time when it was loaded, or moved to another address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JitLoad {
    /// Time by the monotonic clock.
    pub ts_ns: i64,
    pub start: u64,
    pub len: u64,
    /// File offset of the code in the dump, which stays the same when the code is moved.
    pub dump_offset: u64,
}

/// The files that stacks depend on: tables for unwinding, and dumps of JIT-compiled code.
pub trait UnwindFiles: fmt::Debug + Send + Sync {
    /// Creates an unwinder for one recording of a trace, whose tables take at most `bytes_max` bytes.
    fn unwinder(&self, sources: &Sources, bytes_max: u64) -> Box<dyn Unwinder>;

    /// Returns the code that a process dumped into a file of at most `bytes_max` bytes, in order of time, and the
    /// identity of the file. A dump that is missing, or that has times of another clock, has no code.
    fn jit_loads(&self, sources: &Sources, dump: &Module, bytes_max: u64) -> (UnwoundFile, Vec<JitLoad>);

    /// Returns whether the current files would produce the same stacks.
    fn are_same(&self, sources: &Sources, modules: &[UnwoundModule]) -> bool;
}

/// A module that stacks were unwound with, a dump of JIT-compiled code, or either if its file was missing. With other
/// files, the stacks change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnwoundModule {
    pub(crate) module: Module,
    pub(crate) file: UnwoundFile,
}

/// The state of a module's file when its stacks were unwound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum UnwoundFile {
    /// No file, or none with unwind tables.
    Missing,
    /// The recorded build, verified by build-id: it never changes.
    Verified,
    /// A file that may change, with a number that identifies its version.
    Unverified(u64),
}

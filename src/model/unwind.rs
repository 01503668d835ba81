//! The contract between readers of recordings whose stacks are bytes, and what finds the callers in them. A reader
//! knows what was mapped where; an unwinder knows the files of modules, which readers never open.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::modules::Module;
use super::sources::Sources;

/// Registers of x86-64 by their numbers in debug information; the last is the address of the instruction.
pub(crate) const REGISTERS: usize = 17;

/// The number of the stack pointer.
pub(crate) const STACK_POINTER: usize = 7;

/// The number of the address of the instruction.
pub(crate) const INSTRUCTION: usize = 16;

/// The most frames of one stack; `perf script` prints 127 unless told otherwise.
pub(crate) const FRAMES_MAX: usize = 1024;

/// The registers of a thread, and what its stack holds from the stack pointer on.
#[derive(Debug, Clone, Copy)]
pub struct StackBytes<'a> {
    /// `None` for those that were not recorded.
    pub registers: [Option<u64>; REGISTERS],
    /// The bytes at the stack pointer and after it.
    pub bytes: &'a [u8],
}

/// Whether a stack has all its callers, or why not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StackEnd {
    /// Up to the function that the thread began with.
    Whole,
    /// The recorded bytes end before the next caller.
    BytesEnd,
    /// The file of a module is not there, is another build, or has more tables than memory.
    NoFile,
    /// The module says nothing of a function, such as code that was made at run time.
    NoRules,
    /// A caller is where nothing is mapped, or the tables contradict the stack.
    Damaged,
    /// The stack has more frames than are shown.
    TooDeep,
}

impl StackEnd {
    /// The outermost frame of a stack without its first callers; `None` of a whole one.
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

/// The mapped files of the process whose stack is unwound.
pub trait MappedCode {
    /// The row of the module at an address, and the address in it as its frames have it; `None` where no file is.
    fn place(&mut self, address: u64) -> Option<(usize, u64)>;

    /// A module by its row.
    fn module(&self, row: usize) -> Module;
}

/// Finds callers in the stacks of one recording.
pub trait Unwinder: Send {
    /// Appends the addresses of a stack, innermost first: the instruction, and the addresses that calls return to.
    fn unwind(&mut self, stack: &StackBytes<'_>, code: &mut dyn MappedCode, addresses: &mut Vec<u64>) -> StackEnd;

    /// The modules that were asked for so far, in order of their rows.
    fn modules(&self) -> Vec<UnwoundModule>;
}

/// The files that unwinders read.
pub trait UnwindFiles: fmt::Debug + Send + Sync {
    /// An unwinder for one recording of a trace, which holds so many bytes of tables at most.
    fn unwinder(&self, sources: &Sources, bytes_max: u64) -> Box<dyn Unwinder>;

    /// Whether the stacks of a trace would be the same with the files that are there now.
    fn are_same(&self, sources: &Sources, modules: &[UnwoundModule]) -> bool;
}

/// A module whose tables stacks were unwound by, or that had none: with other files, stacks are others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnwoundModule {
    pub(crate) module: Module,
    pub(crate) file: UnwoundFile,
}

/// The file of a module when its stacks were unwound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum UnwoundFile {
    /// No file was found, or none with tables.
    Missing,
    /// The build that was recorded: it never changes.
    Verified,
    /// A file that may change, with a number that changes with it.
    Unverified(u64),
}

//! Whether a module is resolved, and why not.

use serde::{Deserialize, Serialize};

/// The quality of a module's names, or the reason for their absence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) enum NameState {
    /// Complete: for files, functions, inlined functions and lines; for kernels and JIT-compiled code, functions.
    Complete,
    /// Functions only: the file has no debug information.
    FunctionsOnly,
    /// Dynamic symbols only: the file is stripped.
    Stripped,
    /// No file with this build-id or name was found.
    #[default]
    NoFile,
    /// The file is of another build.
    OtherBuild,
    /// The recorded path is outside the searched folders.
    OutsideRoots,
    /// The file cannot be read: it is damaged, beyond the memory limit, or not a regular file.
    Unreadable,
    /// Files of one trace have different builds at this path.
    Ambiguous,
    /// The kernel does not show its addresses to this user.
    Hidden,
    /// The module has no symbols at all, such as a heap.
    Nameless,
    /// Functions and lines: the `.dwo` or `.dwp` files with inlined functions are missing.
    SplitMissing,
    /// No file was searched, because the user wants addresses.
    Unwanted,
    /// The files have no function at any of the addresses.
    NoFunction,
    /// Functions and some lines: the file to which `dwz` moved shared debug information is missing.
    SharedMissing,
    /// The kernel has no build-id in the trace, and the running one has another release or address.
    NoBuildId,
    /// The trace does not say at which address the kernel was loaded.
    NoKernelAddress,
}

impl NameState {
    /// Returns a short text for a table.
    #[must_use]
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Complete => "named",
            Self::FunctionsOnly => "no debug info",
            Self::Stripped => "stripped",
            Self::NoFile => "no file",
            Self::OtherBuild => "other build",
            Self::OutsideRoots | Self::Unwanted => "not searched",
            Self::Unreadable => "unreadable",
            Self::Ambiguous => "several builds",
            Self::Hidden => "hidden",
            Self::Nameless => "no names",
            Self::NoFunction => "no function",
            Self::SplitMissing => "no dwo files",
            Self::SharedMissing => "no dwz file",
            Self::NoBuildId => "no build-id",
            Self::NoKernelAddress => "no kernel address",
        }
    }

    /// Returns whether the names depend only on the found files, not on what else is in the searched folders.
    #[must_use]
    pub(super) fn is_final(self) -> bool {
        matches!(self, Self::Complete | Self::FunctionsOnly | Self::Stripped | Self::SharedMissing)
    }

    /// Returns how much of the names a file in this state yields: more is better, and 0 is none.
    #[must_use]
    pub(super) fn rank(self) -> u8 {
        match self {
            Self::Complete => 4,
            Self::SplitMissing | Self::SharedMissing => 3,
            Self::FunctionsOnly => 2,
            Self::Stripped => 1,
            Self::NoFile
            | Self::OtherBuild
            | Self::OutsideRoots
            | Self::Unreadable
            | Self::Ambiguous
            | Self::Hidden
            | Self::Nameless
            | Self::Unwanted
            | Self::NoFunction
            | Self::NoBuildId
            | Self::NoKernelAddress => 0,
        }
    }
}

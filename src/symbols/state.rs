//! Whether a module has names, and why not.

use serde::{Deserialize, Serialize};

/// The kind of names that a module has, or why it has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) enum NameState {
    /// All that there is: of files, functions, inlined functions and lines; of a kernel and of code
    /// made at run time, functions.
    Complete,
    /// Functions: the file has no debug information.
    FunctionsOnly,
    /// Functions that other files link to: the file is stripped.
    Stripped,
    /// No file with this build-id or name was found.
    #[default]
    NoFile,
    /// A file is there, of another build.
    OtherBuild,
    /// The recorded path is outside the folders that are searched.
    OutsideRoots,
    /// A file is there and cannot be read: it is damaged, beyond the memory limit, or not a regular one.
    Unreadable,
    /// Files of one trace have different builds at this path.
    Ambiguous,
    /// The kernel does not show its addresses to this user.
    Hidden,
    /// It has no names anywhere, such as a heap.
    Nameless,
    /// Functions and lines: the `.dwo` or `.dwp` files of the functions that were inlined are missing.
    SplitMissing,
}

impl NameState {
    /// A few words, for a table.
    #[must_use]
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Complete => "named",
            Self::FunctionsOnly => "no debug info",
            Self::Stripped => "stripped",
            Self::NoFile => "no file",
            Self::OtherBuild => "other build",
            Self::OutsideRoots => "not searched",
            Self::Unreadable => "unreadable",
            Self::Ambiguous => "several builds",
            Self::Hidden => "hidden",
            Self::Nameless => "no names",
            Self::SplitMissing => "no dwo files",
        }
    }
}

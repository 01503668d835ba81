//! A trace that was opened before, as menus and the welcome page offer it.

use serde::{Deserialize, Serialize};

use crate::model::Sources;

/// A trace that was opened before.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecentTrace {
    pub(crate) sources: Sources,
    /// `None` until it was loaded once.
    pub(crate) facts: Option<RecentFacts>,
}

/// Facts about a trace from when it was loaded. No file is looked at for it: it may be on a disk that does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecentFacts {
    /// The size of all its files together.
    pub(crate) bytes: u64,
    /// When it was last opened, in seconds since 1970.
    pub(crate) opened_s: u64,
}

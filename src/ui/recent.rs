//! A recently opened trace, for menus and the welcome page.

use serde::{Deserialize, Serialize};

use crate::model::Sources;

/// A trace in the list of recently opened ones.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecentTrace {
    pub(crate) sources: Sources,
    /// `None` until it was imported once.
    pub(crate) facts: Option<RecentFacts>,
}

/// Facts recorded when a trace was opened. They are not read from the file, which may be on a disk that does not
/// respond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecentFacts {
    /// Total size of its files.
    pub(crate) bytes: u64,
    /// Last opened, in seconds since 1970.
    pub(crate) opened_s: u64,
}

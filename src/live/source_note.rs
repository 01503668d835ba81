//! Sentences for the user about the sources of a live trace.

use std::fmt;
use std::sync::Arc;

/// A sentence about a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceNote {
    text: String,
    /// Whether it is still true after the end of the source.
    pub(crate) is_lasting: bool,
}

/// Shows the user a sentence about a source.
pub(crate) type Say = Arc<dyn Fn(SourceNote) + Send + Sync>;

impl SourceNote {
    /// Creates a sentence that is true only while the source runs.
    pub(super) fn passing(text: String) -> Self {
        Self { text, is_lasting: false }
    }

    /// Creates a sentence that is still true after the end of the source.
    pub(super) fn lasting(text: String) -> Self {
        Self { text, is_lasting: true }
    }
}

impl fmt::Display for SourceNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

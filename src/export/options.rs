//! The options of an export: a format, and the part of the trace to write.

use super::derived::DerivedCounter;
use super::format::ExportFormat;
use crate::query::scope::Scope;

/// The options of an export.
#[derive(Debug, Clone)]
pub struct ExportOptions {
    /// The format of the output.
    pub format: ExportFormat,
    /// The part of the trace. A filter of more than tracks restricts the output to spans, instants and samples.
    pub scope: Scope,
    /// Derived tracks to write as counters, in formats with counters.
    pub derived: Vec<DerivedCounter>,
}

impl ExportOptions {
    /// Exports all rows of the trace, without derived tracks.
    #[must_use]
    pub fn whole(format: ExportFormat) -> Self {
        Self { format, scope: Scope::default(), derived: Vec::new() }
    }
}

//! The options of an export: a format, and the part of the trace that is written.

use super::derived::DerivedCounter;
use super::format::ExportFormat;
use crate::query::scope::Scope;

/// The options of an export.
#[derive(Debug, Clone)]
pub struct ExportOptions {
    /// The format of the output.
    pub format: ExportFormat,
    /// The part of the trace. Where its filter asks for more than tracks, only spans, instants and samples are written.
    pub scope: Scope,
    /// Derived tracks that are written as counters, in formats that have any.
    pub derived: Vec<DerivedCounter>,
}

impl ExportOptions {
    /// An export of the whole capture.
    #[must_use]
    pub fn whole(format: ExportFormat) -> Self {
        Self { format, scope: Scope::default(), derived: Vec::new() }
    }
}

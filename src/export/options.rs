//! The options of an export: a format, a range of time, some of the tracks.

use regex::Regex;

use super::format::ExportFormat;

/// The options of an export.
#[derive(Debug, Clone)]
pub struct ExportOptions {
    /// The format of the output.
    pub format: ExportFormat,
    /// Only what reaches beyond this time.
    pub from_ns: Option<i64>,
    /// Only what starts before this time.
    pub to_ns: Option<i64>,
    /// Only tracks whose name, process name or id has a match.
    pub track: Option<Regex>,
}

impl ExportOptions {
    /// An export of the whole capture.
    #[must_use]
    pub fn whole(format: ExportFormat) -> Self {
        Self { format, from_ns: None, to_ns: None, track: None }
    }

    pub(super) fn are_whole(&self) -> bool {
        self.from_ns.is_none() && self.to_ns.is_none() && self.track.is_none()
    }
}

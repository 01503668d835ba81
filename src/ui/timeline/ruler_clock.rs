//! The clock of the ruler, by which panels show times too: one moment has one time in the window.

use super::state::Timeline;
use crate::base::time::{elapsed_text, seconds_text, utc_clock_text};
use crate::query::Snapshot;

/// The zero of the ruler, and the offset to UTC if it shows the time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RulerClock {
    origin_ns: i64,
    utc_offset_ns: Option<i64>,
}

impl RulerClock {
    /// Returns the clock of a ruler that counts from the start of the trace.
    #[must_use]
    pub(crate) fn from_start(snapshot: &Snapshot) -> Self {
        Self { origin_ns: snapshot.start_ns(), utc_offset_ns: None }
    }

    /// Formats a time like the ruler, to the nanosecond.
    #[must_use]
    pub(crate) fn time_text(self, ts_ns: i64) -> String {
        match self.utc_offset_ns {
            Some(offset_ns) => utc_clock_text(ts_ns.saturating_add(offset_ns), 9),
            None => elapsed_text(ts_ns.saturating_sub(self.origin_ns)),
        }
    }

    /// Formats a time as seconds since the zero of the ruler.
    #[must_use]
    pub(crate) fn seconds_text(self, ts_ns: i64) -> String {
        seconds_text(ts_ns.saturating_sub(self.origin_ns))
    }
}

impl Timeline {
    #[must_use]
    pub(crate) fn clock(&self) -> RulerClock {
        RulerClock { origin_ns: self.origin_ns(), utc_offset_ns: self.ruler_utc_offset_ns() }
    }

    /// Formats a time like the ruler, to the nanosecond.
    pub(crate) fn time_text(&self, ts_ns: i64) -> String {
        self.clock().time_text(ts_ns)
    }
}

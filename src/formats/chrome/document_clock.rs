//! The clock of each document of a file. Documents may state when their clocks started. The times of later documents
//! are converted to the clock of the first.

/// The clocks of the documents so far.
#[derive(Debug, Default)]
pub(super) struct DocumentClock {
    /// Start of the clock of the trace, in nanoseconds since 1970.
    start_ns: Option<i64>,
    /// The start of the clock of the trace, if it was set since the last call of [`Self::take_utc_offset_ns`].
    utc_offset_ns: Option<i64>,
    is_later_document: bool,
    has_events: bool,
    shift_ns: i64,
}

impl DocumentClock {
    /// Begins another document, which may have its own clock.
    pub(super) fn begin_later_document(&mut self) {
        (self.is_later_document, self.has_events, self.shift_ns) = (true, false, 0);
    }

    /// Notes that events of the document follow.
    pub(super) fn begin_events(&mut self) {
        self.has_events = true;
    }

    /// Sets the start of the clock of the document. Returns `false` if its events came before, so they are not moved.
    pub(super) fn set_start(&mut self, start_ns: i64) -> bool {
        let Some(first_ns) = self.start_ns.filter(|_| self.is_later_document) else {
            (self.start_ns, self.utc_offset_ns) = (Some(start_ns), Some(start_ns));
            return true;
        };
        let shift_ns = start_ns.checked_sub(first_ns);
        if !self.has_events {
            self.shift_ns = shift_ns.unwrap_or(0);
        }
        shift_ns == Some(self.shift_ns)
    }

    /// Returns the time from the start of the trace's clock to the start of the document's clock.
    pub(super) fn shift_ns(&self) -> i64 {
        self.shift_ns
    }

    /// Takes the offset from times to UTC, if the trace has stated it since the last call.
    pub(super) fn take_utc_offset_ns(&mut self) -> Option<i64> {
        self.utc_offset_ns.take()
    }
}

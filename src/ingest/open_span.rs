//! An open span of a track.

/// An open span of a track.
#[derive(Debug, Clone)]
pub(super) struct OpenSpan<T> {
    pub(super) lane: u16,
    /// Whether an end may close it. Not part of `until`, where it would take a word: a million threads have an open
    /// span each.
    pub(super) closable: bool,
    pub(super) until: Until<T>,
}

/// The end of an open span.
#[derive(Debug, Clone)]
pub(super) enum Until<T> {
    /// The end time is known.
    Time(i64),
    /// The span is a begin, whose end may follow.
    End(T),
}

/// The result of placing a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placement {
    pub(crate) lane: u16,
    /// Whether it overlaps an open span without nesting in it.
    pub(crate) overlaps: bool,
}

impl<T> OpenSpan<T> {
    pub(super) fn complete(lane: u16, end_ns: i64) -> Self {
        Self { lane, closable: false, until: Until::Time(end_ns) }
    }

    pub(super) fn new_begin(lane: u16, payload: T, closable: bool) -> Self {
        Self { lane, closable, until: Until::End(payload) }
    }

    pub(super) fn contains(&self, end_ns: i64) -> bool {
        match self.until {
            Until::Time(own_ns) => own_ns >= end_ns,
            Until::End(_) => true,
        }
    }

    pub(super) fn has_ended(&self, ts_ns: i64) -> bool {
        matches!(self.until, Until::Time(end_ns) if end_ns <= ts_ns)
    }

    /// Returns whether it ends after `other`; an unknown end is the latest.
    pub(super) fn ends_after(&self, other: &Self) -> bool {
        match (&self.until, &other.until) {
            (_, Until::End(_)) => false,
            (Until::End(_), Until::Time(_)) => true,
            (Until::Time(own_ns), Until::Time(other_ns)) => own_ns > other_ns,
        }
    }

    pub(super) fn is_closable(&self) -> bool {
        self.closable
    }

    pub(super) fn begin(&self) -> Option<(u16, &T)> {
        match &self.until {
            Until::Time(_) => None,
            Until::End(payload) => Some((self.lane, payload)),
        }
    }

    pub(super) fn into_begin(self) -> Option<(u16, T)> {
        match self.until {
            Until::Time(_) => None,
            Until::End(payload) => Some((self.lane, payload)),
        }
    }
}

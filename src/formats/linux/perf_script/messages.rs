//! Messages of `perf` among its output, as `perf script > file 2>&1` writes them.

use crate::formats::input::text::{parsed, split_word};

/// A message, which is not part of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PerfMessage {
    Note,
    /// The number of chunks of events that the recorder lost.
    Lost(u64),
}

impl PerfMessage {
    pub(super) fn from_line(line: &[u8]) -> Option<Self> {
        if line.first().is_none_or(u8::is_ascii_whitespace) {
            return None;
        }
        let count = |text: &[u8]| parsed::<i64>(text).and_then(|count| u64::try_from(count).ok());
        let (first, rest) = split_word(line);
        match (first, rest) {
            (b"Warning:", b"") | (b"Check", b"IO/CPU overload!") => Some(Self::Note),
            (number, b"out of order events recorded.") => count(number).map(|_| Self::Note),
            (b"Processed", rest) => {
                let (events, lost) = rest.split_at(memchr::memmem::find(rest, b" events and lost ")?);
                let lost = lost[b" events and lost ".len()..].strip_suffix(b" chunks!")?;
                count(events).and(count(lost)).map(Self::Lost)
            }
            _ => None,
        }
    }
}

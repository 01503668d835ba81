//! Parses numbers with a unit, and ids that are numbers or text.

use serde_json::value::RawValue;

use crate::formats::input::decimal::{
    NumberError, nanos_from_micros, nanos_from_millis, nanos_from_nanos, nanos_from_seconds,
};
use crate::model::Id;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeUnit {
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
}

impl TimeUnit {
    /// Converts a number to nanoseconds. Quoted numbers are accepted.
    pub(crate) fn nanos(self, number: &RawValue) -> Result<i64, NumberError> {
        self.parse_nanos(number.get().as_bytes())
    }

    /// Converts the text of a number to nanoseconds.
    pub(crate) fn parse_nanos(self, number: &[u8]) -> Result<i64, NumberError> {
        let text = number.strip_prefix(b"\"").and_then(|inner| inner.strip_suffix(b"\"")).unwrap_or(number);
        match self {
            Self::Nanoseconds => nanos_from_nanos(text),
            Self::Microseconds => nanos_from_micros(text),
            Self::Milliseconds => nanos_from_millis(text),
            Self::Seconds => nanos_from_seconds(text),
        }
    }
}

/// Parses an id: a number, a quoted number, or text.
pub(crate) fn id(value: Option<&[u8]>) -> Id {
    let Some(text) = value.map(String::from_utf8_lossy) else { return Id::None };
    let number = text.trim_matches('"').parse().ok().map(Id::Number);
    match (number, serde_json::from_str::<Option<String>>(&text)) {
        (Some(number), _) => number,
        (None, Ok(Some(text))) => Id::Text(text.into()),
        (None, Ok(None)) => Id::None,
        (None, Err(_)) => Id::Text(text.as_ref().into()),
    }
}

//! Captures that are one JSON document and make sense as a whole only: profiles whose tables may stand behind what points
//! into them. Refuses documents that do not fit a share of the memory budget, and documents that are not strict JSON.

use std::io::Read as _;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::decimal::{NumberError, nanos_from_micros, nanos_from_millis, nanos_from_nanos, nanos_from_seconds};
use super::source::{Source, excerpt};
use super::{ReadContext, ReadError};
use crate::base::budget::Charge;
use crate::model::Id;

/// The share of the budget that the text may take: its tables take about as much again, and so do the events in flight.
const BUDGET_SHARE: f64 = 0.25;

/// The text of a document.
pub(super) struct Document {
    path: PathBuf,
    text: Vec<u8>,
    cut_at: Option<u64>,
    _charge: Charge,
}

impl Document {
    /// Reads all of a source.
    ///
    /// # Errors
    /// [`ReadError::Malformed`] for one that is too large, and what the system says.
    pub(super) fn read(mut source: Source, context: &ReadContext) -> Result<Self, ReadError> {
        const BLOCK_BYTES: u64 = 1 << 20;
        let path = source.path().to_owned();
        let limit = (context.budget.limit_bytes() as f64 * BUDGET_SHARE) as u64;
        let mut text = Vec::new();
        loop {
            context.cancel.check()?;
            let before = text.len();
            let read = source.by_ref().take(BLOCK_BYTES).read_to_end(&mut text);
            read.map_err(|source| ReadError::Io { path: path.clone(), offset: before as u64, source })?;
            if text.len() == before {
                break;
            }
            if text.len() as u64 > limit {
                let expected =
                    format!("a profile of at most {limit} bytes, a quarter of the memory that --memory gives");
                return Err(ReadError::Malformed { path, offset: limit, expected, found: "a longer one".to_owned() });
            }
        }
        let charge = context.budget.charge(2 * text.len() as u64);
        Ok(Self { path, text, cut_at: source.cut_at(), _charge: charge })
    }

    /// Takes the text apart.
    ///
    /// # Errors
    /// [`ReadError::Malformed`] at the first byte that does not fit.
    pub(super) fn parse<'a, T: Deserialize<'a>>(&'a self) -> Result<T, ReadError> {
        let mark = "\u{feff}".as_bytes();
        let skipped = if self.text.starts_with(mark) { mark.len() } else { 0 };
        let text = &self.text[skipped..];
        serde_json::from_slice(text).map_err(|error| {
            let lines = text.split_inclusive(|&byte| byte == b'\n').take(error.line().saturating_sub(1));
            let offset = (lines.map(<[u8]>::len).sum::<usize>() + error.column()).min(text.len());
            let reason = error.to_string();
            // The place is said once, in bytes.
            let reason = reason.rsplit_once(" at line ").map_or(&*reason, |(reason, _)| reason);
            let found = match (error.is_eof() || offset == text.len(), self.cut_at) {
                (true, Some(_)) => "compressed data that are cut short".to_owned(),
                (true, None) => "the end of the file".to_owned(),
                _ => format!("{reason} before {}", excerpt(&text[offset..])),
            };
            let expected = "the JSON of a profile".to_owned();
            ReadError::Malformed { path: self.path.clone(), offset: (skipped + offset) as u64, expected, found }
        })
    }
}

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
}

impl Unit {
    /// The nanoseconds of a number as the document writes it. Numbers in quotes are numbers too.
    pub(super) fn nanos(self, number: &RawValue) -> Result<i64, NumberError> {
        let text = number.get().trim_matches('"').as_bytes();
        match self {
            Self::Nanoseconds => nanos_from_nanos(text),
            Self::Microseconds => nanos_from_micros(text),
            Self::Milliseconds => nanos_from_millis(text),
            Self::Seconds => nanos_from_seconds(text),
        }
    }
}

/// An id that may be a number, a number in quotes, or text.
pub(super) fn id(value: Option<&RawValue>) -> Id {
    let Some(text) = value.map(RawValue::get) else { return Id::None };
    let number = text.trim_matches('"').parse().ok().map(Id::Number);
    match (number, serde_json::from_str::<Option<String>>(text)) {
        (Some(number), _) => number,
        (None, Ok(Some(text))) => Id::Text(text.into()),
        (None, Ok(None)) => Id::None,
        (None, Err(_)) => Id::Text(text.into()),
    }
}

//! The values that a loss is about, such as unknown phases, counted separately in bounded memory.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

/// A value that was not understood.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LossValue {
    /// A text of the trace.
    Text(Box<str>),
    /// A number with its kind, such as the field of a packet.
    Number(&'static str, u64),
}

impl LossValue {
    /// Maximum length of a text; a prefix is enough to distinguish values.
    const TEXT_BYTES_MAX: usize = 48;

    pub(crate) fn text(text: &[u8]) -> Self {
        Self::Text(String::from_utf8_lossy(&text[..text.len().min(Self::TEXT_BYTES_MAX)]).into())
    }
}

impl Display for LossValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "\"{text}\""),
            Self::Number(kind, number) => write!(f, "{kind} {number}"),
        }
    }
}

/// Counts by value, for the smallest values only, so that they do not depend on how the trace is split into batches.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct LossValues(BTreeMap<LossValue, u64>);

impl LossValues {
    /// Maximum number of values. No format has as many phases; kernel events and metadata of one trace rarely have as
    /// many kinds.
    const KEPT_MAX: usize = 64;

    /// Maximum number of values in a message.
    const NAMED_MAX: usize = 8;

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn add(&mut self, value: LossValue, count: u64) {
        *self.0.entry(value).or_default() += count;
        if self.0.len() > Self::KEPT_MAX {
            self.0.pop_last();
        }
    }

    pub(super) fn merge(&mut self, later: &Self) {
        later.0.iter().for_each(|(value, count)| self.add(value.clone(), *count));
    }

    /// Formats the most frequent values of `count` losses, such as `"Z" × 12, "q" × 3, others × 2`.
    pub(super) fn shares(&self, count: u64) -> impl Display {
        fmt::from_fn(move |f| {
            let mut ranked: Vec<_> = self.0.iter().collect();
            ranked.sort_by_key(|(_, count)| std::cmp::Reverse(**count)); // stable: ties by value
            ranked.truncate(Self::NAMED_MAX);
            let named: u64 = ranked.iter().map(|(_, count)| **count).sum();
            for (row, (value, count)) in ranked.iter().enumerate() {
                write!(f, "{}{value} × {count}", if row == 0 { "" } else { ", " })?;
            }
            if named < count {
                write!(f, ", others × {}", count - named)?;
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(values: impl IntoIterator<Item = u64>) -> LossValues {
        let mut all = LossValues::default();
        values.into_iter().for_each(|value| all.add(LossValue::Number("field", value), 1));
        all
    }

    #[test]
    fn counts_are_the_same_however_the_capture_is_cut() {
        let values: Vec<u64> = (0..3000_u64).map(|row| row * row % 257).collect();
        let whole = counted(values.iter().copied());
        assert_eq!(whole.0.len(), LossValues::KEPT_MAX);
        for parts in [2, 7, 100] {
            let mut merged = LossValues::default();
            values.chunks(values.len() / parts).for_each(|part| merged.merge(&counted(part.iter().copied())));
            assert_eq!(merged, whole, "{parts} parts");
        }
    }

    #[test]
    fn the_most_frequent_come_first_and_the_rest_is_counted() {
        let mut values = LossValues::default();
        values.add(LossValue::text(b"q"), 3);
        values.add(LossValue::text(b"Z"), 12);
        values.add(LossValue::Number("field", 7), 3);
        assert_eq!(values.shares(18).to_string(), "\"Z\" × 12, \"q\" × 3, field 7 × 3");
        assert_eq!(values.shares(20).to_string(), "\"Z\" × 12, \"q\" × 3, field 7 × 3, others × 2");
        let many = counted(0..20);
        assert!(many.shares(20).to_string().ends_with(", others × 12"), "{}", many.shares(20));
    }

    #[test]
    fn a_long_value_that_is_not_text_is_cut_and_shown() {
        let value = LossValue::text(&[0xc3; 1000]);
        assert_eq!(value.to_string().chars().filter(|&letter| letter == '\u{fffd}').count(), 48);
    }
}

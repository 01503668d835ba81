//! The text form of derived tracks: a number to compute, the step width of exports, and a filter of rows.
//!
//! | word | value of a column |
//! |---|---|
//! | `count` | rows that start in it |
//! | `rate` | rows that start in it, per second |
//! | `concurrency` | smallest and largest number of spans open at one time |
//! | `busy` | time of open spans as a share of the column: 100 % for each span that is always open |
//! | `max-duration` | the longest of the spans that start in it, in nanoseconds |
//! | `p50`, `p99` and the like | this percentile of the durations of spans that start in it |
//! | `sum:arg.bytes` | sum of the argument `bytes` of the rows that start in it; keys as in filters |
//! | `sum:counter.rss` | smallest and largest sum of the current values of the counters named `rss` |
//!
//! The word may be followed by `every:1ms`, the step width of exports, and by a filter as for a search. Independent of
//! any store.

use std::fmt;

use crate::base::units::{signed_time_ns, signed_time_text};
use crate::query::argument_path::ArgumentPath;
use crate::query::filter::{Filter, quoted, written_words};

/// Limit for the bytes of a definition, as for a text field of the window.
const TEXT_BYTES_MAX: usize = 64 * 1024;

/// The number that a derived track shows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum DerivedKind {
    /// Rows that start in each column.
    Count,
    /// Rows that start, per second.
    Rate,
    /// Spans open at one time.
    Concurrency,
    /// Time of open spans, as a share of the column.
    Busy,
    /// The longest of the spans that start.
    MaxDuration,
    /// A percentile of the durations of the spans that start, 1 to 99.
    Quantile(u8),
    /// Sum of an argument of the rows that start.
    Sum(ArgumentPath),
    /// Sum of the counters of a name; each value is valid until the next.
    CounterSum(String),
}

/// A derived track: its number, step width and filter. Its text can be parsed back.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct DerivedTrack {
    pub(crate) kind: DerivedKind,
    /// `None` for a default by the length of the trace, and for every change of a concurrency.
    pub(crate) every_ns: Option<u64>,
    /// A valid filter; empty for all rows.
    pub(crate) filter: String,
}

impl DerivedKind {
    /// The kinds without a parameter.
    #[cfg(test)]
    pub(crate) const PLAIN: [Self; 5] = [Self::Count, Self::Rate, Self::Concurrency, Self::Busy, Self::MaxDuration];

    /// Returns whether only spans count, not instants and samples.
    #[must_use]
    pub(crate) fn is_of_spans(&self) -> bool {
        match self {
            Self::Concurrency | Self::Busy | Self::MaxDuration | Self::Quantile(_) => true,
            Self::Count | Self::Rate | Self::Sum(_) | Self::CounterSum(_) => false,
        }
    }

    /// Returns the unit of its numbers; empty for none.
    #[must_use]
    pub(crate) fn unit(&self) -> &'static str {
        match self {
            Self::Rate => "/s",
            Self::Busy => "%",
            Self::MaxDuration | Self::Quantile(_) => "ns",
            Self::Count | Self::Concurrency | Self::Sum(_) | Self::CounterSum(_) => "",
        }
    }

    /// Parses a word without its quotes. `written` is the word with them, where they may be part of a key.
    fn parse(word: &str, written: &str) -> Result<Self, String> {
        Ok(match word {
            "count" => Self::Count,
            "rate" => Self::Rate,
            "concurrency" => Self::Concurrency,
            "busy" => Self::Busy,
            "max-duration" => Self::MaxDuration,
            _ => Self::quantile(word).or_else(|| Self::sum(word, written)).ok_or_else(|| {
                format!(
                    "`{word}`: expected count, rate, concurrency, busy, max-duration, p50 (p1 to p99), \
                     sum:arg.KEY, such as sum:arg.bytes, or sum:counter.NAME"
                )
            })?,
        })
    }

    /// Parses a word such as `p99`.
    fn quantile(word: &str) -> Option<Self> {
        let percent = word.strip_prefix('p')?;
        let percent = percent.parse().ok().filter(|number: &u8| number.to_string() == percent);
        percent.filter(|percent| (1..100).contains(percent)).map(Self::Quantile)
    }

    /// Parses a word such as `sum:arg.bytes`. Quotes around the key and its `arg.` leave the dots as separators.
    fn sum(word: &str, written: &str) -> Option<Self> {
        if let Some(key) = written.strip_prefix("sum:arg.") {
            return ArgumentPath::parse(key).map(Self::Sum);
        }
        let (source, name) = word.strip_prefix("sum:")?.split_once('.').filter(|(_, name)| !name.is_empty())?;
        match source {
            "arg" => Some(Self::Sum(ArgumentPath::from_parts(name.split('.')))),
            "counter" => Some(Self::CounterSum(name.to_owned())),
            _ => None,
        }
    }
}

impl DerivedTrack {
    /// Creates a track with a filter that must be valid.
    #[must_use]
    pub(crate) fn new(kind: DerivedKind, filter: &str) -> Self {
        Self { kind, every_ns: None, filter: filter.trim().to_owned() }
    }

    /// Parses a definition such as `rate name:read` or `sum:arg.bytes every:1ms cat:io`. Returns an error sentence with
    /// the invalid word and the expected form.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(format!("a derived track has at most {TEXT_BYTES_MAX} bytes of text"));
        }
        let (word, written, rest) = first_word(text)?;
        let kind = DerivedKind::parse(&word, written)?;
        let (every_ns, filter) = match rest.strip_prefix("every:") {
            None => (None, rest),
            Some(rest) => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                let width = signed_time_ns(&rest[..end])?;
                let width = u64::try_from(width).ok().filter(|&width| width > 0);
                (Some(width.ok_or("every: expected a time above 0, such as every:1ms")?), rest[end..].trim())
            }
        };
        let words = written_words(filter).map_err(|error| error.to_string())?;
        if let Some(word) = words.into_iter().find(|word| word.starts_with("every:")) {
            return Err(format!("`{word}`: expected every: once, before the filter; quotes make it a name"));
        }
        Filter::parse(filter).map_err(|error| error.to_string())?;
        Ok(Self { kind, every_ns, filter: filter.to_owned() })
    }
}

/// Splits off the first word of a text, which may be partly quoted. Returns it without and with its quotes, and the
/// rest.
fn first_word(text: &str) -> Result<(String, &str, &str), String> {
    let text = text.trim();
    let (mut word, mut is_quoted) = (String::new(), false);
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => is_quoted = !is_quoted,
            '\\' if is_quoted => word.extend(chars.next().map(|(_, c)| c)),
            c if c.is_whitespace() && !is_quoted => return Ok((word, &text[..at], text[at..].trim())),
            c => word.push(c),
        }
    }
    if is_quoted { Err(format!("`{text}`: expected a closing \"")) } else { Ok((word, text, "")) }
}

impl fmt::Display for DerivedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count => f.write_str("count"),
            Self::Rate => f.write_str("rate"),
            Self::Concurrency => f.write_str("concurrency"),
            Self::Busy => f.write_str("busy"),
            Self::MaxDuration => f.write_str("max-duration"),
            Self::Quantile(percent) => write!(f, "p{percent}"),
            Self::Sum(path) => write!(f, "sum:arg.{path}"),
            Self::CounterSum(name) if name.contains(|c: char| c.is_whitespace() || matches!(c, '"' | '\\')) => {
                write!(f, "sum:{}", quoted(&format!("counter.{name}")))
            }
            Self::CounterSum(name) => write!(f, "sum:counter.{name}"),
        }
    }
}

impl fmt::Display for DerivedTrack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)?;
        if let Some(every_ns) = self.every_ns {
            // Widths beyond 292 years are cut.
            write!(f, " every:{}", signed_time_text(i64::try_from(every_ns).unwrap_or(i64::MAX)))?;
        }
        if !self.filter.is_empty() {
            write!(f, " {}", self.filter)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> DerivedTrack {
        DerivedTrack::parse(text).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_definition_is_a_kind_then_a_width_then_a_filter() {
        let sum = |path: &[&str]| DerivedKind::Sum(ArgumentPath::from_parts(path.iter().copied()));
        for (text, kind, every_ns, filter) in [
            ("rate", DerivedKind::Rate, None, ""),
            ("  count  name:read dur>1ms ", DerivedKind::Count, None, "name:read dur>1ms"),
            ("concurrency every:1.5ms", DerivedKind::Concurrency, Some(1_500_000), ""),
            ("max-duration every:2s \"a b\"", DerivedKind::MaxDuration, Some(2_000_000_000), "\"a b\""),
            ("sum:arg.data.bytes cat:io", sum(&["data", "bytes"]), None, "cat:io"),
            ("sum:\"arg.bytes read\" every", sum(&["bytes read"]), None, "every"),
            ("sum:\"arg.a b.c\"", sum(&["a b", "c"]), None, ""),
            ("sum:arg.\"a b.c\".d x", sum(&["a b.c", "d"]), None, "x"),
            ("rate is:failed \"every:1ms\"", DerivedKind::Rate, None, "is:failed \"every:1ms\""),
            ("rate every:1s \"a every:1ms\"", DerivedKind::Rate, Some(1_000_000_000), "\"a every:1ms\""),
            ("busy cat:Running", DerivedKind::Busy, None, "cat:Running"),
            ("p99 every:1s name:p50", DerivedKind::Quantile(99), Some(1_000_000_000), "name:p50"),
            ("sum:counter.a.b process:7", DerivedKind::CounterSum("a.b".to_owned()), None, "process:7"),
        ] {
            assert_eq!(parsed(text), DerivedTrack { kind, every_ns, filter: filter.to_owned() }, "{text}");
        }
    }

    #[test]
    fn errors_name_the_invalid_part_and_what_was_expected() {
        for (text, part) in [
            ("", "expected count, rate"),
            ("median name:x", "`median`"),
            ("p0", "p1 to p99"),
            ("p100", "`p100`"),
            ("p+9", "`p+9`"),
            ("p099", "`p099`"),
            ("sum:counter.", "sum:counter.NAME"),
            ("sum:", "sum:arg.KEY"),
            ("sum:arg.", "sum:arg.KEY"),
            ("sum:\"arg.x", "closing"),
            ("count every:1us every:2us", "`every:2us`: expected every: once"),
            ("rate is:failed every:1ms", "`every:1ms`: expected every: once, before the filter; quotes make it a name"),
            ("rate \"every:1us\" every:2us", "`every:2us`"),
            ("rate every:0", "above 0"),
            ("rate every:-1s", "above 0"),
            ("rate every:soon", "soon"),
            ("rate dur>soon", "dur>"),
            (&"x".repeat(TEXT_BYTES_MAX + 1), "at most"),
        ] {
            let error = DerivedTrack::parse(text).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    proptest! {
        #[test]
        fn the_text_of_a_track_is_read_back(
            kind in prop_oneof![
                prop::sample::select(DerivedKind::PLAIN.to_vec()),
                prop::collection::vec("[a-z \"\\\\:.é]{0,6}", 1..4)
                    .prop_map(|parts| DerivedKind::Sum(ArgumentPath::from_parts(parts.iter().map(String::as_str)))),
                "[a-z \"\\\\:.é]{1,9}".prop_map(DerivedKind::CounterSum),
                (1u8..100).prop_map(DerivedKind::Quantile),
            ],
            every_ns in prop::option::of(1u64..1 << 62),
            filter in prop::sample::select(vec!["", "name:read", "\"a  b\" -dur>1ms"]),
        ) {
            let track = DerivedTrack { kind, every_ns, filter: filter.to_owned() };
            prop_assert_eq!(DerivedTrack::parse(&track.to_string()), Ok(track));
        }
    }
}

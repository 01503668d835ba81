//! Derived tracks as a person types them: what is counted, in which steps it is written, and which rows take part.
//!
//! | word | each column has |
//! |---|---|
//! | `count` | how many rows start in it |
//! | `rate` | how many rows start in it, for each second of it |
//! | `concurrency` | the least and the largest number of spans that are open at one time |
//! | `max-duration` | the longest of the spans that start in it, in nanoseconds |
//! | `sum:arg.bytes` | the sum of the argument `bytes` of the rows that start in it; `arg.a.b` is a member of an object |
//!
//! After that word may come `every:1ms`, the width of the steps that exports write, and then a filter as for a search.
//! Knows no store.

use std::fmt;

use crate::base::units::{signed_time_ns, signed_time_text};
use crate::query::filter::Filter;

/// The most bytes of a definition: as many as a field of the window takes.
const TEXT_BYTES_MAX: usize = 64 * 1024;

/// The number that a derived track shows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum DerivedKind {
    /// Rows that start.
    Count,
    /// Rows that start, for each second.
    Rate,
    /// Spans that are open at one time.
    Concurrency,
    /// The longest of the spans that start.
    MaxDuration,
    /// The sum of an argument of the rows that start: the members on the way to it, outermost first.
    Sum(Vec<String>),
}

/// A derived track: a number, the width of the steps that exports write, and a filter. The text of it is read back.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct DerivedTrack {
    pub(crate) kind: DerivedKind,
    /// `None`: a width that suits the length of the trace; of concurrency, every change.
    pub(crate) every_ns: Option<u64>,
    /// A valid filter; empty: every row.
    pub(crate) filter: String,
}

impl DerivedKind {
    /// The kinds that need no more words.
    #[cfg(test)]
    pub(crate) const PLAIN: [Self; 4] = [Self::Count, Self::Rate, Self::Concurrency, Self::MaxDuration];

    /// Whether instants and samples have no part in it.
    #[must_use]
    pub(crate) fn is_of_spans(&self) -> bool {
        match self {
            Self::Concurrency | Self::MaxDuration => true,
            Self::Count | Self::Rate | Self::Sum(_) => false,
        }
    }

    /// The unit of its numbers; empty where there is none.
    #[must_use]
    pub(crate) fn unit(&self) -> &'static str {
        match self {
            Self::Rate => "/s",
            Self::MaxDuration => "ns",
            Self::Count | Self::Concurrency | Self::Sum(_) => "",
        }
    }

    fn parse(word: &str) -> Result<Self, String> {
        Ok(match word {
            "count" => Self::Count,
            "rate" => Self::Rate,
            "concurrency" => Self::Concurrency,
            "max-duration" => Self::MaxDuration,
            _ => {
                let key = word.strip_prefix("sum:").and_then(|key| key.strip_prefix("arg."));
                let key = key.filter(|key| !key.is_empty()).ok_or_else(|| {
                    format!("`{word}`: expected count, rate, concurrency, max-duration or sum:arg.KEY, such as sum:arg.bytes")
                })?;
                Self::Sum(key.split('.').map(str::to_owned).collect())
            }
        })
    }
}

impl DerivedTrack {
    /// A track of a filter that is known to be valid.
    #[must_use]
    pub(crate) fn new(kind: DerivedKind, filter: &str) -> Self {
        Self { kind, every_ns: None, filter: filter.trim().to_owned() }
    }

    /// Reads a definition such as `rate name:read` or `sum:arg.bytes every:1ms cat:io`.
    ///
    /// # Errors
    /// A sentence with the word that cannot be taken and the form that was expected.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(format!("a derived track has at most {TEXT_BYTES_MAX} bytes of text"));
        }
        let (word, rest) = first_word(text)?;
        let kind = DerivedKind::parse(&word)?;
        let (every_ns, filter) = match rest.strip_prefix("every:") {
            None => (None, rest),
            Some(rest) => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                let width = signed_time_ns(&rest[..end])?;
                let width = u64::try_from(width).ok().filter(|&width| width > 0);
                (Some(width.ok_or("every: expected a time above 0, such as every:1ms")?), rest[end..].trim())
            }
        };
        Filter::parse(filter).map_err(|error| error.to_string())?;
        Ok(Self { kind, every_ns, filter: filter.to_owned() })
    }

    /// Its text, and the unit in brackets: as counters of a trace have theirs.
    #[must_use]
    pub(crate) fn with_unit(&self) -> String {
        match self.kind.unit() {
            "" => self.to_string(),
            unit => format!("{self} ({unit})"),
        }
    }
}

/// The first word of a text, of which a part may be in quotes, and the rest.
fn first_word(text: &str) -> Result<(String, &str), String> {
    let text = text.trim();
    let (mut word, mut is_quoted) = (String::new(), false);
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => is_quoted = !is_quoted,
            '\\' if is_quoted => word.extend(chars.next().map(|(_, c)| c)),
            c if c.is_whitespace() && !is_quoted => return Ok((word, text[at..].trim())),
            c => word.push(c),
        }
    }
    if is_quoted { Err(format!("`{text}`: expected a closing \"")) } else { Ok((word, "")) }
}

impl fmt::Display for DerivedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count => f.write_str("count"),
            Self::Rate => f.write_str("rate"),
            Self::Concurrency => f.write_str("concurrency"),
            Self::MaxDuration => f.write_str("max-duration"),
            Self::Sum(path) => {
                let key = path.join(".");
                let is_plain = !key.contains(|c: char| c.is_whitespace() || matches!(c, '"' | '\\'));
                if is_plain {
                    write!(f, "sum:arg.{key}")
                } else {
                    write!(f, "sum:{}", super::super::filter::quoted(&format!("arg.{key}")))
                }
            }
        }
    }
}

impl fmt::Display for DerivedTrack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)?;
        if let Some(every_ns) = self.every_ns {
            // Widths beyond 292 years are cut to that.
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
        let sum = |path: &[&str]| DerivedKind::Sum(path.iter().map(|&member| member.to_owned()).collect());
        for (text, kind, every_ns, filter) in [
            ("rate", DerivedKind::Rate, None, ""),
            ("  count  name:read dur>1ms ", DerivedKind::Count, None, "name:read dur>1ms"),
            ("concurrency every:1.5ms", DerivedKind::Concurrency, Some(1_500_000), ""),
            ("max-duration every:2s \"a b\"", DerivedKind::MaxDuration, Some(2_000_000_000), "\"a b\""),
            ("sum:arg.data.bytes cat:io", sum(&["data", "bytes"]), None, "cat:io"),
            ("sum:\"arg.bytes read\" every", sum(&["bytes read"]), None, "every"),
        ] {
            assert_eq!(parsed(text), DerivedTrack { kind, every_ns, filter: filter.to_owned() }, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_taken_is_named_with_what_was_expected() {
        for (text, part) in [
            ("", "expected count, rate"),
            ("median name:x", "`median`"),
            ("sum:", "sum:arg.KEY"),
            ("sum:arg.", "sum:arg.KEY"),
            ("sum:\"arg.x", "closing"),
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
                prop::collection::vec("[a-z \"\\\\:é]{1,6}", 1..4).prop_map(DerivedKind::Sum),
            ],
            every_ns in prop::option::of(1u64..1 << 62),
            filter in prop::sample::select(vec!["", "name:read", "\"a  b\" -dur>1ms"]),
        ) {
            let track = DerivedTrack { kind, every_ns, filter: filter.to_owned() };
            prop_assert_eq!(DerivedTrack::parse(&track.to_string()), Ok(track));
        }
    }
}

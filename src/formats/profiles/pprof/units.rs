//! Units of sample types. Writers spell them in many ways, as `go tool pprof` accepts them.

use std::borrow::Cow;

use crate::model::sample_measure::{BYTES, NANOSECONDS};

/// A unit as it is shown, and the number of these in the unit of the profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProfileUnit<'t> {
    pub(super) name: Cow<'t, str>,
    pub(super) factor: u64,
}

/// Singular spellings in lower case, with their factor to nanoseconds.
const TIMES: &[(&[&str], u64)] = &[
    (&["ns", "nanosecond"], 1),
    // The micro sign and the Greek letter.
    (&["us", "\u{b5}s", "\u{3bc}s", "microsecond"], 1_000),
    (&["ms", "millisecond"], 1_000_000),
    (&["s", "sec", "second"], 1_000_000_000),
    (&["min", "minute"], 60_000_000_000),
    (&["hr", "hour"], 3_600_000_000_000),
];

/// Singular spellings in lower case, with their factor to bytes.
const SIZES: &[(&[&str], u64)] = &[
    (&["b", "byte"], 1),
    (&["kb", "kbyte", "kilobyte"], 1 << 10),
    (&["mb", "mbyte", "megabyte"], 1 << 20),
    (&["gb", "gbyte", "gigabyte"], 1 << 30),
    (&["tb", "tbyte", "terabyte"], 1 << 40),
    (&["pb", "pbyte", "petabyte"], 1 << 50),
];

impl<'t> ProfileUnit<'t> {
    /// Converts times to nanoseconds and sizes to bytes. Other units are as in the profile.
    pub(super) fn from_text(text: Cow<'t, str>) -> Self {
        let small = text.to_lowercase();
        let singular = if small.chars().count() > 2 { small.strip_suffix('s').unwrap_or(&small) } else { &small };
        let factor_in = |units: &[(&[&str], u64)]| {
            units.iter().find(|(spellings, _)| spellings.contains(&singular)).map(|&(_, factor)| factor)
        };
        if let Some(factor) = factor_in(TIMES) {
            return Self { name: NANOSECONDS.into(), factor };
        }
        if let Some(factor) = factor_in(SIZES) {
            return Self { name: BYTES.into(), factor };
        }
        Self { name: text, factor: 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_known_in_the_spellings_of_go_tool_pprof() {
        for (text, name, factor) in [
            ("nanoseconds", "ns", 1),
            ("nanosecond", "ns", 1),
            ("us", "ns", 1_000),
            ("\u{3bc}s", "ns", 1_000),
            ("\u{b5}s", "ns", 1_000),
            ("Microseconds", "ns", 1_000),
            ("ms", "ns", 1_000_000),
            ("s", "ns", 1_000_000_000),
            ("secs", "ns", 1_000_000_000),
            ("seconds", "ns", 1_000_000_000),
            ("minutes", "ns", 60_000_000_000),
            ("hrs", "ns", 3_600_000_000_000),
            ("byte", "bytes", 1),
            ("bytes", "bytes", 1),
            ("B", "bytes", 1),
            ("kb", "bytes", 1 << 10),
            ("MB", "bytes", 1 << 20),
            ("megabytes", "bytes", 1 << 20),
            ("count", "count", 1),
            ("gophers", "gophers", 1),
            ("", "", 1),
        ] {
            assert_eq!(ProfileUnit::from_text(text.into()), ProfileUnit { name: name.into(), factor }, "{text}");
        }
    }
}

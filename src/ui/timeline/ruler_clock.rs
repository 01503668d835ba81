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

    /// Formats a range with the decimals that tell its ends apart, such as `0.500 to 0.600 s`.
    #[must_use]
    pub(crate) fn range_text(self, range: (i64, i64)) -> String {
        let [(from, from_unit), (to, to_unit)] = self.shortened_ends(range);
        let from_unit = if from_unit == to_unit { "" } else { &from_unit };
        format!("{} to {}", with_unit(&from, from_unit), with_unit(&to, &to_unit))
    }

    /// Formats both ends of a range with the decimals that tell them apart, such as `0.500 s` and `0.600 s`.
    #[must_use]
    pub(crate) fn range_ends(self, range: (i64, i64)) -> (String, String) {
        let [(from, from_unit), (to, to_unit)] = self.shortened_ends(range);
        (with_unit(&from, &from_unit), with_unit(&to, &to_unit))
    }

    /// Returns both ends of a range and their units, with the decimals that tell them apart.
    fn shortened_ends(self, (from_ns, to_ns): (i64, i64)) -> [(String, String); 2] {
        const DECIMALS_MAX: usize = 9;
        /// The parts of the range that the last decimal tells apart at least.
        const PARTS: u64 = 100;
        let step_ns = to_ns.abs_diff(from_ns) / PARTS;
        let decimals = (0..DECIMALS_MAX).find(|&decimals| 10_u64.pow((DECIMALS_MAX - decimals) as u32) <= step_ns);
        let decimals = decimals.unwrap_or(DECIMALS_MAX);
        let shortened = |ts_ns: i64| {
            let text = self.time_text(ts_ns);
            let (time, unit) = text.split_once(' ').unwrap_or((&text, ""));
            let point = time.find('.').unwrap_or(time.len());
            let end = if decimals == 0 { point } else { (point + 1 + decimals).min(time.len()) };
            (time[..end].to_owned(), unit.to_owned())
        };
        [from_ns, to_ns].map(shortened)
    }

    /// Formats a time as seconds since the zero of the ruler.
    #[must_use]
    pub(crate) fn seconds_text(self, ts_ns: i64) -> String {
        seconds_text(ts_ns.saturating_sub(self.origin_ns))
    }
}

fn with_unit(number: &str, unit: &str) -> String {
    format!("{number} {unit}").trim_end().to_owned()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_the_decimals_that_tell_its_ends_apart() {
        const SECOND_NS: i64 = 1_000_000_000;
        let clock = RulerClock { origin_ns: 0, utc_offset_ns: None };
        for (range, text) in [
            ((SECOND_NS / 2, SECOND_NS * 6 / 10), "0.500 to 0.600 s"),
            ((0, 1000 * SECOND_NS), "0 to 1000 s"),
            ((5, 6), "0.000000005 to 0.000000006 s"),
            ((-SECOND_NS, SECOND_NS), "-1.00 to 1.00 s"),
            ((3_599 * SECOND_NS, 3_601 * SECOND_NS), "3599.00 s to 1:00:01.00"),
            ((i64::MIN, i64::MAX), "-2562047:47:16 to 2562047:47:16"),
        ] {
            assert_eq!(clock.range_text(range), text);
            let (from, to) = clock.range_ends(range);
            assert!(
                text.ends_with(&format!(" to {to}")) && from.starts_with(text.split(' ').next().unwrap_or_default())
            );
        }
        let utc = RulerClock { origin_ns: 0, utc_offset_ns: Some(0) };
        assert_eq!(utc.range_text((0, SECOND_NS)), "00:00:00.00 to 00:00:01.00");
    }
}

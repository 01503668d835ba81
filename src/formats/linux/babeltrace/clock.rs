//! Parses timestamps: time of day, date and time, seconds, or cycles. Cycles are treated as nanoseconds. A time of day
//! without a date crosses midnight; the distance to the line before shows how many days have passed.

use crate::base::time::epoch_nanos;
use crate::formats::input::decimal::{nanos_from_nanos, nanos_from_seconds};
use crate::formats::input::text::parsed;

const SECOND_NS: i64 = 1_000_000_000;
const MINUTE_NS: i64 = 60 * SECOND_NS;
const HOUR_NS: i64 = 60 * MINUTE_NS;
const DAY_NS: i64 = 24 * HOUR_NS;

/// Digits of a fraction of a second, and of a number of cycles.
const FRACTION_DIGITS: usize = 9;
const CYCLE_DIGITS: usize = 20;

/// A time as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WrittenTime {
    OfDay(i64),
    Whole(i64),
    /// Question marks: the trace has no clock.
    Unknown,
}

impl WrittenTime {
    /// Parses the time of a line; returns `None` for any other text.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        if text.len() == CYCLE_DIGITS && text.iter().all(u8::is_ascii_digit) {
            return nanos_from_nanos(text).ok().map(Self::Whole);
        }
        let point = memchr::memrchr(b'.', text)?;
        let fraction = &text[point + 1..];
        if text.iter().all(|byte| b"?:.".contains(byte)) {
            return (fraction.len() == FRACTION_DIGITS).then_some(Self::Unknown);
        }
        if fraction.len() != FRACTION_DIGITS || !fraction.iter().all(u8::is_ascii_digit) {
            return None;
        }
        if !text.contains(&b':') {
            return nanos_from_seconds(text).ok().map(Self::Whole);
        }
        if let Some(space) = memchr::memchr(b' ', text) {
            let (date, time) =
                (std::str::from_utf8(&text[..space]).ok()?, std::str::from_utf8(&text[space + 1..]).ok()?);
            return epoch_nanos(&format!("{date}T{time}")).map(Self::Whole);
        }
        let mut parts = text.split(|&byte| byte == b':');
        let mut part = |limit: i64| {
            let part = parts.next().filter(|part| part.len() == 2)?;
            parsed::<i64>(part).filter(|number| (0..limit).contains(number))
        };
        let (hours, minutes) = (part(24)?, part(60)?);
        let seconds = nanos_from_seconds(parts.next()?).ok().filter(|ns| (0..=MINUTE_NS).contains(ns))?;
        parts.next().is_none().then_some(Self::OfDay(hours * HOUR_NS + minutes * MINUTE_NS + seconds))
    }
}

/// Parses the distance to the line before: `+0.000012519`, or cycles. Returns `None` if it is unknown.
pub(super) fn distance_ns(text: &[u8]) -> Option<i64> {
    let text = text.strip_prefix(b"+")?;
    if text.contains(&b'.') { nanos_from_seconds(text).ok() } else { nanos_from_nanos(text).ok() }
}

/// Distance between events of a trace without times.
const UNTIMED_NS: i64 = 1_000_000;

/// The time of the line before, from which the day follows.
#[derive(Debug, Default)]
pub(super) struct DayClock {
    last_ns: Option<i64>,
    has_times: bool,
}

impl DayClock {
    /// Returns the time of a line. Without a time, it is the time of the previous line, or a millisecond later if no
    /// line has a time.
    pub(super) fn time(&mut self, written: WrittenTime, distance_ns: Option<i64>) -> i64 {
        let ts_ns = match (written, self.last_ns) {
            (WrittenTime::Whole(ts_ns), _) => ts_ns,
            (WrittenTime::OfDay(of_day_ns), None) => of_day_ns,
            (WrittenTime::OfDay(of_day_ns), Some(last_ns)) => {
                // Lines in between may be missing, so the distance is only approximate.
                let expected_ns = last_ns.saturating_add(distance_ns.unwrap_or(0));
                let days = expected_ns.saturating_sub(of_day_ns).saturating_add(DAY_NS / 2).div_euclid(DAY_NS);
                of_day_ns.saturating_add(days.saturating_mul(DAY_NS))
            }
            (WrittenTime::Unknown, Some(last_ns)) if self.has_times => last_ns,
            (WrittenTime::Unknown, last_ns) => last_ns.unwrap_or(0).saturating_add(UNTIMED_NS),
        };
        self.has_times |= written != WrittenTime::Unknown;
        self.last_ns = Some(ts_ns);
        ts_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_every_option_are_read_and_other_texts_are_refused() {
        let of_day = 16 * HOUR_NS + 17 * MINUTE_NS + 32 * SECOND_NS + 5;
        for (text, expected) in [
            ("16:17:32.000000005", WrittenTime::OfDay(of_day)),
            ("1970-01-02 16:17:32.000000005", WrittenTime::Whole(DAY_NS + of_day)),
            ("1795882652.666485528", WrittenTime::Whole(1_795_882_652_666_485_528)),
            ("-1.500000000", WrittenTime::Whole(-1_500_000_000)),
            ("00000013408701526376", WrittenTime::Whole(13_408_701_526_376)),
            ("??:??:??.?????????", WrittenTime::Unknown),
        ] {
            assert_eq!(WrittenTime::parse(text.as_bytes()), Some(expected), "{text}");
        }
        for text in
            ["", "    0.000000", "16:17:32", "24:00:00.000000000", "1:2:3.000000000", "00:00:00:00.000000000", "x"]
        {
            assert_eq!(WrittenTime::parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(["+0.000012519", "+000000012519"].map(|text| distance_ns(text.as_bytes())), [Some(12_519); 2]);
        assert_eq!(["+?.?????????", "1.0"].map(|text| distance_ns(text.as_bytes())), [None; 2]);
    }

    #[test]
    fn times_go_on_after_midnight_and_after_days_if_the_distance_is_known() {
        let mut clock = DayClock::default();
        let mut time = |of_day_ns, distance| clock.time(WrittenTime::OfDay(of_day_ns), distance);
        assert_eq!(time(DAY_NS - 5, None), DAY_NS - 5);
        assert_eq!(time(7, Some(12)), DAY_NS + 7);
        assert_eq!(time(9, None), DAY_NS + 9, "without a distance");
        assert_eq!(time(8, None), DAY_NS + 8, "slightly out of order");
        assert_eq!(time(9, Some(2 * DAY_NS + 1)), 3 * DAY_NS + 9);
        assert_eq!(clock.time(WrittenTime::Unknown, None), 3 * DAY_NS + 9);
        let mut clock = DayClock::default();
        let mut unknown = || clock.time(WrittenTime::Unknown, None);
        assert_eq!([unknown(), unknown()], [UNTIMED_NS, 2 * UNTIMED_NS]);
    }
}

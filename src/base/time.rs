//! Formats times, durations, ages and counts, and parses dates. Times are `i64` nanoseconds everywhere; nothing here
//! uses floating point.

use chrono::{DateTime, FixedOffset};

/// Times from one hour on are shown in hours, minutes and seconds.
pub(crate) const HOUR_NS: u64 = 3600 * 1_000_000_000;

/// Formats the duration of one span or range: up to three decimals of the largest unit, such as `1.234 ms`. From one
/// hour on, it has hours, minutes and seconds, such as `1 h 53 min 20 s`.
///
/// Further digits are truncated, never rounded up, so that a span never appears longer than it is. Tables and lists
/// round to four significant digits instead.
#[must_use]
pub(crate) fn duration_text(dur_ns: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"), (1, "ns")];
    if dur_ns >= HOUR_NS {
        let seconds = dur_ns / 1_000_000_000;
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        return format!("{} h {minutes} min {seconds} s", grouped_digits(hours));
    }
    let (unit_ns, unit) = UNITS.into_iter().find(|(unit_ns, _)| dur_ns >= *unit_ns).unwrap_or((1, "ns"));
    let whole = dur_ns / unit_ns;
    let thousandths = u128::from(dur_ns % unit_ns) * 1000 / u128::from(unit_ns);
    let grouped = grouped_digits(whole);
    if unit_ns == 1 || thousandths == 0 {
        return format!("{grouped} {unit}");
    }
    let fraction = format!("{thousandths:03}");
    format!("{grouped}.{} {unit}", fraction.trim_end_matches('0'))
}

/// Formats the time from one moment to another with its sign, such as `+1.234 ms`.
#[must_use]
pub(crate) fn signed_interval_text(from_ns: i64, to_ns: i64) -> String {
    let sign = if to_ns < from_ns { "-" } else { "+" };
    format!("{sign}{}", duration_text(to_ns.abs_diff(from_ns)))
}

/// Formats a signed time as seconds with all nine decimals, such as `-0.000000001`.
#[must_use]
pub(crate) fn seconds_text(ts_ns: i64) -> String {
    let sign = if ts_ns < 0 { "-" } else { "" };
    let magnitude = ts_ns.unsigned_abs();
    format!("{sign}{}.{:09}", magnitude / 1_000_000_000, magnitude % 1_000_000_000)
}

/// Formats a time since the start of the trace, with nine decimals: `0.000000250 s`, and from one hour on
/// `1:53:20.000000250`.
#[must_use]
pub(crate) fn elapsed_text(ts_ns: i64) -> String {
    if ts_ns.unsigned_abs() < HOUR_NS {
        return format!("{} s", seconds_text(ts_ns));
    }
    format!("{}.{:09}", hours_text(ts_ns.into()), ts_ns.unsigned_abs() % 1_000_000_000)
}

/// Formats a time in hours, minutes and whole seconds, such as `1:53:20`.
#[must_use]
pub(crate) fn hours_text(ts_ns: i128) -> String {
    let sign = if ts_ns < 0 { "-" } else { "" };
    let seconds = ts_ns.unsigned_abs() / 1_000_000_000;
    format!("{sign}{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// Formats the date of a UTC time since 1970, such as `2026-11-21`.
#[must_use]
pub(crate) fn utc_day_text(utc_ns: i64) -> String {
    DateTime::from_timestamp_nanos(utc_ns).format("%Y-%m-%d").to_string()
}

/// Formats the time of day of a UTC time since 1970, such as `14:02:03.000000250`, with up to nine decimals. Digits
/// beyond `decimals` are truncated.
#[must_use]
pub(crate) fn utc_clock_text(utc_ns: i64, decimals: usize) -> String {
    const WHOLE_SECONDS: usize = "14:02:03".len();
    let len = if decimals == 0 { WHOLE_SECONDS } else { WHOLE_SECONDS + 1 + decimals };
    let whole = DateTime::from_timestamp_nanos(utc_ns).format("%H:%M:%S%.9f").to_string();
    whole.chars().take(len).collect()
}

/// Parses an ISO 8601 date and time to nanoseconds since 1970, such as `2026-11-22T10:37:28.036Z`. Without a zone, UTC
/// is assumed, as written by tools that omit it.
#[must_use]
pub(crate) fn epoch_nanos(text: &str) -> Option<i64> {
    let parsed = text.parse::<DateTime<FixedOffset>>().or_else(|_| format!("{text}Z").parse());
    parsed.ok()?.timestamp_nanos_opt()
}

/// Formats a count in groups of three digits with thin spaces between, such as `1 234 567`.
#[must_use]
pub(crate) fn grouped_digits(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            grouped.push('\u{2009}');
        }
        grouped.push(digit);
    }
    grouped
}

/// Formats a count with its thing in the singular or plural, such as `1 track` or `12 000 tracks`.
#[must_use]
pub(crate) fn counted(count: u64, thing: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{} {thing}{ending}", grouped_digits(count))
}

/// Formats an age, such as `5 minutes ago`.
#[must_use]
pub(crate) fn ago_text(seconds: u64) -> String {
    let (count, unit) = match seconds {
        0..60 => return "just now".to_owned(),
        60..3600 => (seconds / 60, "minute"),
        3600..86_400 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_hours_are_read_in_hours_minutes_and_seconds() {
        let hour_ns = 3_600_000_000_000;
        for (ns, text) in [
            (hour_ns - 1, "3\u{2009}599.999 s"),
            (hour_ns, "1 h 0 min 0 s"),
            (6_833_826_999_999_999, "1\u{2009}898 h 17 min 6 s"),
        ] {
            assert_eq!(duration_text(ns), text);
        }
        for (ns, text) in [
            (0, "0.000000000 s"),
            (-1, "-0.000000001 s"),
            (3_599_999_999_999, "3599.999999999 s"),
            (3_600_000_000_001, "1:00:00.000000001"),
            (-6_833_826_000_000_250, "-1898:17:06.000000250"),
            (i64::MIN, "-2562047:47:16.854775808"),
        ] {
            assert_eq!(elapsed_text(ns), text);
        }
    }

    #[test]
    fn dates_are_read_in_their_zone_or_in_utc_and_only_whole() {
        for (text, ns) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("1970-01-01T01:00:00.001+01:00", Some(1_000_000)),
            ("1970-01-01T01:00:00+0100", Some(0)),
            ("1969-12-31T23:59:59.999999999Z", Some(-1)),
            ("2026-01-01T00:00:00.000000001Z", Some(1_767_225_600_000_000_001)),
            ("2026-01-01T00:00:00", Some(1_767_225_600_000_000_000)),
            ("2026-01-01T00:00:00ZZ", None),
            ("2026-01-01", None),
            ("2026-13-01T00:00:00Z", None),
            ("9999-01-01T00:00:00Z", None),
            ("", None),
        ] {
            assert_eq!(epoch_nanos(text), ns, "{text}");
        }
    }

    #[test]
    fn durations_take_the_largest_unit_that_is_not_below_one() {
        assert_eq!(duration_text(0), "0 ns");
        assert_eq!(duration_text(999), "999 ns");
        assert_eq!(duration_text(1_000), "1 µs");
        assert_eq!(duration_text(1_234_567), "1.234 ms");
        assert_eq!(duration_text(1_999_999_999), "1.999 s");
        assert_eq!(duration_text(u64::MAX), "5\u{2009}124\u{2009}095 h 34 min 33 s");
    }

    #[test]
    fn seconds_keep_every_nanosecond_at_both_ends_of_time() {
        assert_eq!(seconds_text(-1), "-0.000000001");
        assert_eq!(seconds_text(i64::MIN), "-9223372036.854775808");
        assert_eq!(seconds_text(i64::MAX), "9223372036.854775807");
    }

    #[test]
    fn times_of_day_are_those_of_utc_to_the_nanosecond_at_both_ends_of_time() {
        let text = |ns, decimals| format!("{} {}", utc_day_text(ns), utc_clock_text(ns, decimals));
        assert_eq!(text(0, 0), "1970-01-01 00:00:00");
        assert_eq!(text(-1, 9), "1969-12-31 23:59:59.999999999");
        assert_eq!(text(951_782_400_000_000_250, 9), "2000-02-29 00:00:00.000000250");
        assert_eq!(text(951_782_400_123_456_789, 3), "2000-02-29 00:00:00.123");
        assert_eq!(text(i64::MAX, 0), "2262-04-11 23:47:16");
        assert_eq!(text(i64::MIN, 0), "1677-09-21 00:12:43");
    }

    #[test]
    fn a_while_ago_is_said_in_the_largest_unit_that_fits() {
        let texts = [0, 59, 60, 3599, 3600, 7200, 86_399, 86_400, 172_800].map(ago_text);
        let expected = ["just now", "just now", "1 minute ago", "59 minutes ago", "1 hour ago", "2 hours ago"];
        assert_eq!(texts[..6], expected);
        assert_eq!(texts[6..], ["23 hours ago", "1 day ago", "2 days ago"]);
    }

    #[test]
    fn counts_are_grouped_and_one_thing_is_in_the_singular() {
        let counts = [0, 1, 12_000].map(|count| counted(count, "track"));
        assert_eq!(counts, ["0 tracks", "1 track", "12\u{2009}000 tracks"]);
    }
}

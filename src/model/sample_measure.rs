//! The measure of a sample: an event, a unit, and how many of it. Readers write these as the arguments `event`,
//! `period` and `unit`. A sample without a period counts as one sample.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// The unit of samples that have no period.
pub(crate) const SAMPLES: &str = "samples";

/// The unit of nanoseconds.
pub(crate) const NANOSECONDS: &str = "ns";

/// The unit of a period where nothing names another.
pub(crate) const COUNT: &str = "count";

/// The unit of bytes.
pub(crate) const BYTES: &str = "bytes";

/// The width of a count in a picture of a profile without times: a microsecond. Cycles of many cores for an hour fit.
const COUNT_NS: u64 = 1_000;

/// The event that a sample is of, and its weight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SampleMeasure<'a> {
    /// Empty if the trace does not name it.
    pub(crate) event: Cow<'a, str>,
    pub(crate) unit: Cow<'a, str>,
    pub(crate) weight: u64,
}

/// The arguments that say what a sample counts.
#[derive(Default, Deserialize)]
struct MeasureArgs<'a> {
    #[serde(borrow)]
    event: Option<&'a RawValue>,
    #[serde(borrow)]
    period: Option<&'a RawValue>,
    #[serde(borrow)]
    unit: Option<&'a RawValue>,
}

impl<'a> SampleMeasure<'a> {
    /// From the arguments of a sample. A period that is no whole number counts as none.
    #[must_use]
    pub(crate) fn from_args(args_json: &'a str) -> Self {
        let args: MeasureArgs<'a> = serde_json::from_str(args_json).unwrap_or_default();
        let event = args.event.and_then(text).unwrap_or_default();
        let Some(weight) = args.period.and_then(|period| period.get().parse().ok()) else {
            return Self { event, unit: SAMPLES.into(), weight: 1 };
        };
        let unit = args.unit.and_then(text).unwrap_or_else(|| unit_of_event(&event).into());
        Self { event, unit, weight }
    }

    /// How long the sample is drawn where a profile has no times: time as it is, a byte as a nanosecond, any other
    /// unit as a microsecond.
    #[must_use]
    pub(crate) fn drawn_ns(&self) -> u64 {
        self.weight.saturating_mul(match &*self.unit {
            NANOSECONDS | BYTES => 1,
            "microseconds" => 1_000,
            "milliseconds" => 1_000_000,
            "seconds" => 1_000_000_000,
            _ => COUNT_NS,
        })
    }
}

/// The event of a sample alone: most samples are written with it first.
#[must_use]
pub(crate) fn sample_event(args_json: &str) -> Cow<'_, str> {
    if let Some(rest) = args_json.strip_prefix("{\"event\":\"")
        && let Some((event, _)) = rest.split_once('"')
        && !event.contains('\\')
    {
        return event.into();
    }
    if !args_json.contains("\"event\"") {
        return "".into();
    }
    SampleMeasure::from_args(args_json).event
}

/// The text of a JSON string.
fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    // Without escapes it is what stands between the quotes.
    let inside = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if inside.contains('\\') { serde_json::from_str(raw.get()).ok().map(Cow::Owned) } else { Some(inside.into()) }
}

/// The unit of an event's period: the kernel's clocks count nanoseconds. A modifier may follow the name, `cpu-clock:u`.
fn unit_of_event(event: &str) -> &'static str {
    match event.split(':').next() {
        Some("cpu-clock" | "task-clock") => NANOSECONDS,
        _ => COUNT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(args: &str) -> (String, String, u64) {
        let measure = SampleMeasure::from_args(args);
        (measure.event.into_owned(), measure.unit.into_owned(), measure.weight)
    }

    #[test]
    fn a_sample_counts_what_its_arguments_say_and_one_sample_without_them() {
        for (args, event, unit, weight) in [
            ("", "", "samples", 1),
            (r#"{"cpu":3}"#, "", "samples", 1),
            (r#"{"event":"cycles"}"#, "cycles", "samples", 1),
            (r#"{"event":"cycles","period":7,"cpu":3}"#, "cycles", "count", 7),
            (r#"{"event":"cpu-clock:u","period":250000}"#, "cpu-clock:u", "ns", 250_000),
            (r#"{"period":5,"unit":"bytes","event":"a \"b\""}"#, r#"a "b""#, "bytes", 5),
            (r#"{"event":7,"period":-5}"#, "", "samples", 1),
            (r#"{"event":"x","period":1.5}"#, "x", "samples", 1),
            (r#"{"event":"x","#, "", "samples", 1),
            (r#"{"period":18446744073709551615}"#, "", "count", u64::MAX),
        ] {
            assert_eq!(measure(args), (event.to_owned(), unit.to_owned(), weight), "{args}");
            // Cut short, its beginning has a name.
            let known = if args.ends_with(',') { "x" } else { event };
            assert_eq!(sample_event(args), known, "{args}");
        }
    }

    #[test]
    fn widths_are_times_bytes_as_nanoseconds_and_other_units_as_microseconds() {
        let drawn = |unit: &str| SampleMeasure { event: "".into(), unit: unit.into(), weight: 3 }.drawn_ns();
        assert_eq!(["ns", "bytes", "count", "microseconds", "gophers"].map(drawn), [3, 3, 3_000, 3_000, 3_000]);
        let most = SampleMeasure { event: "".into(), unit: "count".into(), weight: u64::MAX };
        assert_eq!(most.drawn_ns(), u64::MAX);
    }
}

//! The measure of a sample: its event, unit and weight. Readers write these as the arguments `event`, `unit` and
//! `period`. A sample without a period counts as one sample.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The unit of samples without a period.
pub(crate) const SAMPLES: &str = "samples";

pub(crate) const NANOSECONDS: &str = "ns";

/// The unit of a period without a unit.
pub(crate) const COUNT: &str = "count";

pub(crate) const BYTES: &str = "bytes";

/// The event of threads that are switched out: the weight is the time until the thread runs again.
pub(crate) const OFF_CPU: &str = "off-CPU";

/// The name for all events beyond [`SampleEvents::MAX`].
pub(crate) const OTHER_EVENTS: &str = "(other events)";

/// Usual gaps after which the thread of a sample counts as idle. A late sampler on a busy machine skips one or two
/// samples; after more, the thread did not run or was not sampled.
pub(crate) const IDLE_GAPS: u64 = 5;

/// Width of a unit in the timeline of a profile without times: one microsecond. An hour of cycles of many cores still
/// fits.
const COUNT_NS: u64 = 1_000;

/// The unit of weights, given by the user for a trace that has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WeightUnit {
    /// Durations, displayed in nanoseconds.
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
    Bytes,
    Count,
}

impl WeightUnit {
    /// Returns the unit with this value of `--unit`; `None` for another value.
    #[must_use]
    #[cfg_attr(not(feature = "window"), expect(dead_code, reason = "only the window saves units"))]
    pub(crate) fn from_option(option: &str) -> Option<Self> {
        let all = [Self::Nanoseconds, Self::Microseconds, Self::Milliseconds, Self::Seconds, Self::Bytes, Self::Count];
        all.into_iter().find(|unit| unit.option() == option)
    }

    /// Returns the value of the option `--unit`.
    #[must_use]
    pub(crate) fn option(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Microseconds => "us",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
            Self::Bytes => "bytes",
            Self::Count => "count",
        }
    }

    /// Returns the displayed unit, and the factor to convert to it.
    #[must_use]
    pub(crate) fn shown(self) -> (&'static str, u64) {
        match self {
            Self::Nanoseconds => (NANOSECONDS, 1),
            Self::Microseconds => (NANOSECONDS, 1_000),
            Self::Milliseconds => (NANOSECONDS, 1_000_000),
            Self::Seconds => (NANOSECONDS, 1_000_000_000),
            Self::Bytes => (BYTES, 1),
            Self::Count => (COUNT, 1),
        }
    }
}

/// The event and weight of a sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SampleMeasure<'a> {
    /// Event name; empty if the trace has none.
    pub(crate) event: Cow<'a, str>,
    pub(crate) unit: Cow<'a, str>,
    pub(crate) weight: u64,
}

/// The number and weight of several samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SampleSum {
    pub(crate) samples: u64,
    /// Weight in the unit of the event.
    pub(crate) weight: u64,
}

/// The event of samples, with its unit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SampleEvent {
    /// Event name; empty if the trace has none.
    pub(crate) name: Box<str>,
    pub(crate) unit: Box<str>,
}

/// A table of sample events, in order of first appearance.
#[derive(Debug, Clone, Default)]
pub(crate) struct SampleEvents {
    rows: Vec<SampleEvent>,
    /// Row of the last sample, which usually has the same event as the next.
    last: usize,
    /// Row of samples without arguments.
    plain: Option<usize>,
}

/// The arguments that define the measure of a sample.
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
    /// Parses the arguments of a sample. A period that is not an unsigned integer is ignored.
    #[must_use]
    pub(crate) fn from_args(args_json: &'a str) -> Self {
        if let Some(measure) = Self::from_flat_args(args_json) {
            return measure;
        }
        let args: MeasureArgs<'a> = serde_json::from_str(args_json).unwrap_or_default();
        let event = args.event.and_then(text).unwrap_or_default();
        let Some(weight) = args.period.and_then(|period| period.get().parse().ok()) else {
            return Self { event, unit: SAMPLES.into(), weight: 1 };
        };
        let unit = args.unit.and_then(text).unwrap_or_else(|| unit_of_event(&event).into());
        Self { event, unit, weight }
    }

    /// Returns the weight of a sample whose unit is a time; `None` for another unit.
    #[must_use]
    pub(crate) fn time_ns(args_json: &'a str) -> Option<u64> {
        // Most samples have another unit, and a search takes less time than to parse their arguments.
        if !args_json.contains("-clock") && !args_json.contains("\"ns\"") {
            return None;
        }
        let measure = Self::from_args(args_json);
        (measure.unit == NANOSECONDS).then_some(measure.weight)
    }

    /// Parses arguments that are only strings without escapes and integers, as recorders write them; `None` for others.
    /// Takes a fifth of the time of a JSON parser.
    fn from_flat_args(args_json: &'a str) -> Option<Self> {
        let (mut event, mut unit, mut period) = (None, None, None);
        let mut rest = args_json.strip_prefix('{')?;
        loop {
            let (key, after) = flat_text(rest)?;
            let (value, after) = flat_value(after.strip_prefix(':')?)?;
            let earlier_value = match key {
                "event" => event.replace(value),
                "unit" => unit.replace(value),
                "period" => period.replace(value),
                _ => None,
            };
            if earlier_value.is_some() {
                return None;
            }
            match after.strip_prefix(',') {
                Some(next) => rest = next,
                None if after == "}" => break,
                None => return None,
            }
        }
        let text = |value: Option<FlatValue<'a>>| match value {
            None => Some(None),
            Some(FlatValue::Text(text)) => Some(Some(text)),
            Some(FlatValue::Number(_)) => None,
        };
        let (event, unit) = (text(event)?.unwrap_or_default(), text(unit)?);
        match period {
            None => Some(Self { event: event.into(), unit: SAMPLES.into(), weight: 1 }),
            Some(FlatValue::Number(weight)) => {
                Some(Self { event: event.into(), unit: unit.unwrap_or_else(|| unit_of_event(event)).into(), weight })
            }
            Some(FlatValue::Text(_)) => None,
        }
    }

    /// Returns the width of the sample in a profile without times. A weight that is a time is drawn as it is, a byte as
    /// a nanosecond, and any other unit as a microsecond.
    #[must_use]
    pub(crate) fn drawn_ns(&self) -> u64 {
        self.weight.saturating_mul(drawn_ns_per_unit(&self.unit))
    }
}

/// Returns the width of one unit in the timeline of a profile without times.
#[must_use]
pub(crate) fn drawn_ns_per_unit(unit: &str) -> u64 {
    match unit {
        NANOSECONDS | BYTES => 1,
        _ => COUNT_NS,
    }
}

impl SampleSum {
    #[must_use]
    pub(crate) fn is_empty(self) -> bool {
        self == Self::default()
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.samples = self.samples.saturating_add(other.samples);
        self.weight = self.weight.saturating_add(other.weight);
    }

    /// Subtracts a part of the sum.
    pub(crate) fn subtract(&mut self, part: Self) {
        self.samples = self.samples.saturating_sub(part.samples);
        self.weight = self.weight.saturating_sub(part.weight);
    }
}

impl SampleEvent {
    /// Returns the event with its unit, for display.
    #[must_use]
    pub(crate) fn title(&self) -> String {
        let Self { name, unit } = self;
        match (&**name, &**unit) {
            ("", unit) => unit.to_owned(),
            (name, SAMPLES) => name.to_owned(),
            (name, unit) => format!("{name} ({unit})"),
        }
    }

    fn matches(&self, name: &str, unit: &str) -> bool {
        *self.name == *name && *self.unit == *unit
    }
}

impl SampleEvents {
    /// Maximum number of events. Recorders have about ten; samples of other events share one row.
    pub(crate) const MAX: usize = 1024;

    /// Creates a table from its rows.
    pub(crate) fn from_rows(rows: Vec<SampleEvent>) -> Self {
        Self { rows, last: 0, plain: None }
    }

    /// Returns the row of a sample's event, and the sample's weight in its unit. `None` is a sample without arguments,
    /// whose row is cached.
    pub(crate) fn row_of_sample(&mut self, measure: Option<&SampleMeasure<'_>>) -> (usize, u64) {
        match (measure, self.plain) {
            (Some(measure), _) => self.row(measure),
            (None, Some(row)) => (row, 1),
            (None, None) => {
                let (row, weight) = self.row(&SampleMeasure::from_args(""));
                self.plain = Some(row);
                (row, weight)
            }
        }
    }

    /// Returns the row of a sample's event, which is added if it is new, and the sample's weight in its unit.
    fn row(&mut self, measure: &SampleMeasure<'_>) -> (usize, u64) {
        let SampleMeasure { event, unit, weight } = measure;
        if let Some(row) = self.find(event, unit) {
            return (row, *weight);
        }
        if self.rows.len() < Self::MAX {
            return (self.push(event, unit), *weight);
        }
        (self.find(OTHER_EVENTS, SAMPLES).unwrap_or_else(|| self.push(OTHER_EVENTS, SAMPLES)), 1)
    }

    fn find(&mut self, name: &str, unit: &str) -> Option<usize> {
        if !self.rows.get(self.last).is_some_and(|event| event.matches(name, unit)) {
            self.last = self.rows.iter().position(|event| event.matches(name, unit))?;
        }
        Some(self.last)
    }

    fn push(&mut self, name: &str, unit: &str) -> usize {
        self.rows.push(SampleEvent { name: name.into(), unit: unit.into() });
        self.rows.len() - 1
    }

    /// Returns the row of an event, which is added if it is new. Expects fewer than [`Self::MAX`] others.
    pub(crate) fn row_of(&mut self, event: &SampleEvent) -> usize {
        self.find(&event.name, &event.unit).unwrap_or_else(|| self.push(&event.name, &event.unit))
    }

    /// Returns whether some samples share the row of other events, so that the rows depend on the order of samples.
    #[must_use]
    pub(crate) fn are_too_many(&self) -> bool {
        self.rows.len() > Self::MAX
    }

    #[must_use]
    pub(crate) fn rows(&self) -> &[SampleEvent] {
        &self.rows
    }

    #[must_use]
    pub(crate) fn into_rows(self) -> Vec<SampleEvent> {
        self.rows
    }
}

/// Returns the event of a sample only; most readers write it as the first argument.
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

/// Returns the text of a JSON string; `None` for any other value.
fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    // Without escapes, the text is the part between the quotes.
    let inside = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if inside.contains('\\') { serde_json::from_str(raw.get()).ok().map(Cow::Owned) } else { Some(inside.into()) }
}

/// An argument that is a string without escapes, or an integer.
enum FlatValue<'a> {
    Text(&'a str),
    Number(u64),
}

/// Splits a text after its leading JSON string: returns the string's content and the rest. `None` if it has escapes.
fn flat_text(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix('"')?;
    let end = inside.bytes().position(|byte| byte == b'"' || byte == b'\\' || byte < b' ')?;
    let after = inside[end..].strip_prefix('"')?;
    Some((&inside[..end], after))
}

fn flat_value(text: &str) -> Option<(FlatValue<'_>, &str)> {
    if let Some((value, after)) = flat_text(text) {
        return Some((FlatValue::Text(value), after));
    }
    let end = text.bytes().position(|byte| !byte.is_ascii_digit())?;
    let (digits, after) = text.split_at(end);
    // JSON numbers have no leading zeros.
    let is_number = digits == "0" || !digits.starts_with('0');
    Some((FlatValue::Number(digits.parse().ok().filter(|_| is_number)?), after))
}

/// Returns the unit of an event's period: the kernel's clock events count nanoseconds. Terms and a modifier may follow
/// the name, as in `cpu-clock/period=1000/u` and `cpu-clock:u`.
pub(crate) fn unit_of_event(event: &str) -> &'static str {
    match event.split([':', '/']).next() {
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
            (r#"{"event":"cpu-clock/call-graph=dwarf/","period":4}"#, "cpu-clock/call-graph=dwarf/", "ns", 4),
            (r#"{"period":5,"unit":"bytes","event":"a \"b\""}"#, r#"a "b""#, "bytes", 5),
            (r#"{"event":7,"period":-5}"#, "", "samples", 1),
            (r#"{"event":"x","period":1.5}"#, "x", "samples", 1),
            (r#"{"event":"x","#, "", "samples", 1),
            (r#"{"period":18446744073709551615}"#, "", "count", u64::MAX),
        ] {
            assert_eq!(measure(args), (event.to_owned(), unit.to_owned(), weight), "{args}");
            assert_eq!(SampleMeasure::time_ns(args), (unit == "ns").then_some(weight), "{args}");
            // The truncated text starts with another event.
            let known = if args.ends_with(',') { "x" } else { event };
            assert_eq!(sample_event(args), known, "{args}");
        }
    }

    proptest::proptest! {
        #[test]
        fn flat_arguments_are_measured_as_a_parser_of_json_would(
            args in proptest::collection::vec((
                proptest::sample::select(vec!["event", "unit", "period", "cpu", "e\"x", "é"]),
                proptest::sample::select(vec![
                    "7", "0", "007", "-5", "1.5", "18446744073709551616", "null", "{}", "\"ns\"", "\"cpu-clock:u\"",
                    "\"a\\nb\"", "\"\"", "\"\t\"", "[1]", "true", "",
                ]),
            ), 0..4),
            cut in 0usize..80,
        ) {
            let inside = args.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect::<Vec<_>>().join(",");
            let whole = format!("{{{inside}}}");
            for args in [&whole[..], whole.get(..cut.min(whole.len())).unwrap_or("")] {
                let Some(flat) = SampleMeasure::from_flat_args(args) else { continue };
                // The space makes the fast parser give up.
                let spaced = format!(" {args}");
                proptest::prop_assert_eq!(flat, SampleMeasure::from_args(&spaced));
            }
        }
    }

    #[test]
    fn widths_are_times_bytes_as_nanoseconds_and_other_units_as_microseconds() {
        let drawn = |unit: &str| SampleMeasure { event: "".into(), unit: unit.into(), weight: 3 }.drawn_ns();
        assert_eq!(["ns", "bytes", "count", "gophers"].map(drawn), [3, 3, 3_000, 3_000]);
        let most = SampleMeasure { event: "".into(), unit: "count".into(), weight: u64::MAX };
        assert_eq!(most.drawn_ns(), u64::MAX);
    }
}

//! The measure of a sample: an event, a unit, and how many of it. Readers write these as the arguments `event`,
//! `period` and `unit`. A sample without a period counts as one sample.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The unit of samples that have no period.
pub(crate) const SAMPLES: &str = "samples";

pub(crate) const NANOSECONDS: &str = "ns";

/// The unit of a period where nothing names another.
pub(crate) const COUNT: &str = "count";

pub(crate) const BYTES: &str = "bytes";

/// The name of all events beyond [`SampleEvents::MAX`].
pub(crate) const OTHER_EVENTS: &str = "(other events)";

/// The width of a count in a picture of a profile without times: a microsecond. Cycles of many cores for an hour fit.
const COUNT_NS: u64 = 1_000;

/// The unit of weights in a trace that names none, as its user knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WeightUnit {
    /// Times, which are shown in nanoseconds.
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
    Bytes,
    Count,
}

impl WeightUnit {
    /// The unit that samples are shown in, and how many of it one of these is.
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

/// The event that a sample is of, and its weight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SampleMeasure<'a> {
    /// Empty if the trace does not name it.
    pub(crate) event: Cow<'a, str>,
    pub(crate) unit: Cow<'a, str>,
    pub(crate) weight: u64,
}

/// Samples that have something in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SampleSum {
    pub(crate) samples: u64,
    /// The weight in the unit of its event.
    pub(crate) weight: u64,
}

/// An event that samples count, in a unit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SampleEvent {
    /// Empty if the trace does not name it.
    pub(crate) name: Box<str>,
    pub(crate) unit: Box<str>,
}

/// Events of samples by row, in order of first appearance.
#[derive(Debug, Clone, Default)]
pub(crate) struct SampleEvents {
    rows: Vec<SampleEvent>,
    /// The row of the last sample: the next one is usually of the same event.
    last: usize,
    /// The row of samples without arguments.
    plain: Option<usize>,
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
    /// Reads the arguments of a sample. A period that is no whole number counts as none.
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

    /// The same of arguments that are texts without escapes and whole numbers, as recorders have them: a fifth of the
    /// time of a JSON parser. `None` for all others.
    fn from_flat_args(args_json: &'a str) -> Option<Self> {
        let (mut event, mut unit, mut period) = (None, None, None);
        let mut rest = args_json.strip_prefix('{')?;
        loop {
            let (key, after) = flat_text(rest)?;
            let (value, after) = flat_value(after.strip_prefix(':')?)?;
            let known = match key {
                "event" => event.replace(value),
                "unit" => unit.replace(value),
                "period" => period.replace(value),
                _ => None,
            };
            if known.is_some() {
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

    /// How long the sample is drawn where a profile has no times: time as it is, a byte as a nanosecond, any
    /// other unit as a microsecond.
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

impl SampleSum {
    #[must_use]
    pub(crate) fn is_empty(self) -> bool {
        self == Self::default()
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.samples = self.samples.saturating_add(other.samples);
        self.weight = self.weight.saturating_add(other.weight);
    }

    /// Takes away a part of the sum.
    pub(crate) fn subtract(&mut self, part: Self) {
        self.samples = self.samples.saturating_sub(part.samples);
        self.weight = self.weight.saturating_sub(part.weight);
    }
}

impl SampleEvent {
    /// Its name and unit, for a person.
    #[must_use]
    pub(crate) fn title(&self) -> String {
        let Self { name, unit } = self;
        match (&**name, &**unit) {
            ("", unit) => unit.to_owned(),
            (name, SAMPLES) => name.to_owned(),
            (name, unit) => format!("{name} ({unit})"),
        }
    }

    fn is(&self, name: &str, unit: &str) -> bool {
        *self.name == *name && *self.unit == *unit
    }
}

impl SampleEvents {
    /// Events that are counted apart. Recorders have some ten; the samples of more are counted as those of one event.
    pub(crate) const MAX: usize = 1024;

    /// Events that are known by their rows.
    pub(crate) fn from_rows(rows: Vec<SampleEvent>) -> Self {
        Self { rows, last: 0, plain: None }
    }

    /// The row of the event of a sample, and the weight of the sample there; without a measure, of a sample without
    /// arguments, whose texts are compared once.
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

    /// The row of the event of a sample, new or known, and the weight of the sample there.
    fn row(&mut self, measure: &SampleMeasure<'_>) -> (usize, u64) {
        let SampleMeasure { event, unit, weight } = measure;
        if let Some(row) = self.known(event, unit) {
            return (row, *weight);
        }
        if self.rows.len() < Self::MAX {
            return (self.push(event, unit), *weight);
        }
        (self.known(OTHER_EVENTS, SAMPLES).unwrap_or_else(|| self.push(OTHER_EVENTS, SAMPLES)), 1)
    }

    fn known(&mut self, name: &str, unit: &str) -> Option<usize> {
        if !self.rows.get(self.last).is_some_and(|event| event.is(name, unit)) {
            self.last = self.rows.iter().position(|event| event.is(name, unit))?;
        }
        Some(self.last)
    }

    fn push(&mut self, name: &str, unit: &str) -> usize {
        self.rows.push(SampleEvent { name: name.into(), unit: unit.into() });
        self.rows.len() - 1
    }

    /// The row of an event, new or known. Expects fewer than [`Self::MAX`] others.
    pub(crate) fn row_of(&mut self, event: &SampleEvent) -> usize {
        self.known(&event.name, &event.unit).unwrap_or_else(|| self.push(&event.name, &event.unit))
    }

    /// Whether some samples are counted as those of another event, which depends on the order of samples.
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

/// An argument that is a text without escapes, or a whole number.
enum FlatValue<'a> {
    Text(&'a str),
    Number(u64),
}

/// The part between the quotes that a text begins with, and what follows; `None` with escapes.
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
    // A number of JSON has no zeros in front.
    let is_number = digits == "0" || !digits.starts_with('0');
    Some((FlatValue::Number(digits.parse().ok().filter(|_| is_number)?), after))
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

    proptest::proptest! {
        #[test]
        fn flat_arguments_are_measured_as_a_parser_of_json_would(
            args in proptest::collection::vec((
                proptest::sample::select(vec!["event", "unit", "period", "cpu", "e\"x", "é"]),
                proptest::sample::select(vec!["7", "0", "007", "-5", "1.5", "18446744073709551616", "null", "{}", "\"ns\"",
                    "\"cpu-clock:u\"", "\"a\\nb\"", "\"\"", "\"\t\"", "[1]", "true", ""]),
            ), 0..4),
            cut in 0usize..80,
        ) {
            let inside = args.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect::<Vec<_>>().join(",");
            let whole = format!("{{{inside}}}");
            for args in [&whole[..], whole.get(..cut.min(whole.len())).unwrap_or("")] {
                let Some(flat) = SampleMeasure::from_flat_args(args) else { continue };
                // A space makes it one for the parser.
                let spaced = format!(" {args}");
                proptest::prop_assert_eq!(flat, SampleMeasure::from_args(&spaced));
            }
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

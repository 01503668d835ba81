//! Writes the samples of a part of a trace as a pprof profile: a value type per event, and a sample per stack with its
//! labels. Memory holds a row for each sample of the profile. Times of samples and spans are not included.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use rustc_hash::FxHashMap;

use super::error::SinkError;
use super::task::{ExportReport, Out, Task};
use crate::formats::profiles::pprof::write::{PprofFrame, PprofLabel, PprofLine, PprofWriter};
use crate::model::sample_measure::{NANOSECONDS, SAMPLES, SampleMeasure};
use crate::model::{Id, NameIdx, Names, StackIdx, TrackIdx};
use crate::query::Snapshot;
use crate::query::overlay::FrameLine;
use crate::query::samples::{SampleEvent, each_sample};
use crate::query::scope::Scope;

/// The default level: profiles are small.
const GZIP_LEVEL: u32 = 6;

/// Limit for the value types of a profile, since each sample has all of them. Samples of other events are not written.
pub(crate) const PPROF_EVENTS_MAX: usize = 64;

/// Samples with a common stack, thread and labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct SampleKey {
    stack: StackIdx,
    /// `None` for a profile without threads.
    thread: Option<TrackIdx>,
    /// Index of the label text; 0 for none.
    labels: u32,
}

#[derive(Default)]
struct ProfileRows {
    events: Vec<SampleEvent>,
    shown_first: Option<usize>,
    labels: Vec<Box<str>>,
    labels_seen: FxHashMap<Box<str>, u32>,
    by_key: FxHashMap<SampleKey, usize>,
    /// Samples in order of first appearance, with a value per event.
    keys: Vec<(SampleKey, Vec<u64>)>,
    has_times: bool,
    samples: u64,
    samples_left_out: u64,
}

/// Writes the samples in `scope` to `out`.
pub(super) fn write(task: &Task<'_>, scope: &Scope, out: Out<'_>) -> Result<ExportReport, SinkError> {
    let snapshot = task.snapshot;
    let mut rows = ProfileRows { labels: vec![Box::default()], ..ProfileRows::default() };
    each_sample(snapshot, scope, (task.cancel, task.progress), |sample, stack, args_json| {
        rows.add(snapshot, snapshot.lane(sample.index.lane).track, stack, args_json);
    })?;
    let (message, values_capped) = rows.message(snapshot, scope);
    write_packed(&message, out)?;
    let ProfileRows { samples, samples_left_out, .. } = rows;
    Ok(ExportReport { samples, samples_left_out, values_capped, ..ExportReport::default() })
}

/// Compresses a message, as usual for pprof files. Returns the I/O error of `out`.
pub(super) fn write_packed(message: &[u8], out: &mut dyn Write) -> io::Result<()> {
    let mut encoder = GzEncoder::new(out, Compression::new(GZIP_LEVEL));
    encoder.write_all(message)?;
    encoder.finish()?;
    Ok(())
}

/// Returns pprof's name of a unit.
pub(super) fn pprof_unit(unit: &str) -> &str {
    match unit {
        NANOSECONDS => "nanoseconds",
        SAMPLES | "spans" => "count",
        unit => unit,
    }
}

impl ProfileRows {
    fn add(&mut self, snapshot: &Snapshot, track: TrackIdx, stack: StackIdx, args_json: &str) {
        let measure = SampleMeasure::from_args(args_json);
        let key = &snapshot.track(track).key;
        let is_untimed = key.is_untimed();
        let Some(event) = self.event(&measure) else {
            self.samples_left_out += 1;
            return;
        };
        // The reader of profiles marks the default type by its sort index.
        if is_untimed && snapshot.track(track).sort_index < 0 {
            self.shown_first = Some(event);
        }
        self.has_times |= !is_untimed;
        self.samples += 1;
        let labels = self.label_row(args_json);
        // Rows of profiles without threads are of no process.
        let is_of_thread = !is_untimed || key.pid != Id::None;
        let key = SampleKey { stack, thread: is_of_thread.then_some(track), labels };
        let row = *self.by_key.entry(key).or_insert(self.keys.len());
        if row == self.keys.len() {
            self.keys.push((key, Vec::new()));
        }
        let values = &mut self.keys[row].1;
        if values.len() <= event {
            values.resize(event + 1, 0);
        }
        values[event] = values[event].saturating_add(measure.weight);
    }

    /// Returns the index of the event as it is written. Events that differ only in names of one unit share an index.
    fn event(&mut self, measure: &SampleMeasure<'_>) -> Option<usize> {
        let name = if measure.event.is_empty() { SAMPLES } else { &*measure.event };
        let unit = pprof_unit(&measure.unit);
        let is_same = |event: &SampleEvent| *event.name == *name && *event.unit == *unit;
        if let Some(position) = self.events.iter().position(is_same) {
            return Some(position);
        }
        if self.events.len() >= PPROF_EVENTS_MAX {
            return None;
        }
        self.events.push(SampleEvent { name: name.into(), unit: unit.into() });
        Some(self.events.len() - 1)
    }

    fn label_row(&mut self, args_json: &str) -> u32 {
        #[derive(serde::Deserialize)]
        struct Labelled<'a> {
            #[serde(borrow)]
            labels: Option<&'a serde_json::value::RawValue>,
        }
        if !args_json.contains("\"labels\"") {
            return 0;
        }
        let labelled = serde_json::from_str::<Labelled<'_>>(args_json).ok();
        let Some(text) = labelled.and_then(|labelled| labelled.labels) else { return 0 };
        if let Some(&row) = self.labels_seen.get(text.get()) {
            return row;
        }
        // Beyond the limit of rows there are no labels.
        let Ok(new) = u32::try_from(self.labels.len()) else { return 0 };
        self.labels.push(text.get().into());
        self.labels_seen.insert(text.get().into(), new);
        new
    }

    /// Returns the profile, and the number of values that were capped.
    fn message(&self, snapshot: &Snapshot, scope: &Scope) -> (Vec<u8>, u64) {
        let kinds = self.events.iter().map(|event| (&*event.name, &*event.unit));
        let mut writer = PprofWriter::new(kinds, &snapshot.tracks().modules);
        let mut values = Vec::new();
        for (key, key_values) in &self.keys {
            let frames = frames(snapshot, key.stack);
            values.clear();
            values.extend_from_slice(key_values);
            values.resize(self.events.len(), 0);
            let mut labels = labels_of_json(&self.labels[key.labels as usize]);
            if let Some(thread) = key.thread {
                labels.extend(labels_of_thread(snapshot, thread));
            }
            writer.add(frames, &values, &labels);
        }
        if let Some(event) = self.shown_first {
            writer.set_default_type(&self.events[event].name);
        }
        let values_capped = writer.values_capped();
        if !self.has_times {
            return (writer.finish(0, 0), values_capped);
        }
        let from_ns = scope.from_ns.unwrap_or(i64::MIN).max(snapshot.start_ns());
        let to_ns = scope.to_ns.unwrap_or(i64::MAX).min(snapshot.end_ns());
        let time_ns = snapshot.utc_offset_ns().map_or(0, |offset_ns| from_ns.saturating_add(offset_ns));
        (writer.finish(time_ns, to_ns.saturating_sub(from_ns).max(0).cast_unsigned()), values_capped)
    }
}

/// Returns the frames of a stack of the store, innermost first: functions by name, or an address with its functions.
fn frames(snapshot: &Snapshot, stack: StackIdx) -> Vec<PprofFrame<'_>> {
    let Some(overlay) = snapshot.overlay() else {
        return snapshot.raw_stacks().frames(stack).map(|name| named_frame(snapshot.raw_names(), name)).collect();
    };
    let line = |line: FrameLine| PprofLine {
        function: overlay.names.get(line.function).text,
        file: overlay.lines.file(line),
        line: line.line,
    };
    let resolved = overlay.frames(snapshot.raw_stacks(), stack).map(|frame| {
        let lines: Vec<_> = frame.functions.iter().copied().map(line).collect();
        let names = if lines.is_empty() { &overlay.names } else { snapshot.raw_names() };
        PprofFrame { is_call: frame.is_call, lines, ..named_frame(names, frame.name) }
    });
    resolved.collect()
}

fn named_frame(names: &Names, name: NameIdx) -> PprofFrame<'_> {
    let row = names.get(name);
    let module = row.category.filter(|category| !category.is_empty());
    PprofFrame { text: row.text, module, ..PprofFrame::default() }
}

/// Converts the arguments of a sample back to labels, as written by the reader of profiles: texts, numbers, and numbers
/// with units. An array has the values of several labels with the same key.
fn labels_of_json(json: &str) -> Vec<PprofLabel> {
    type Object = serde_json::Map<String, serde_json::Value>;
    let Ok(object) = serde_json::from_str::<Object>(json) else { return Vec::new() };
    let labels = object.into_iter().flat_map(|(key, value)| {
        let values = if let serde_json::Value::Array(values) = value { values } else { vec![value] };
        values.into_iter().map(move |value| label_of_json(key.clone(), value))
    });
    labels.collect()
}

fn label_of_json(key: String, value: serde_json::Value) -> PprofLabel {
    if let serde_json::Value::String(value) = value {
        return PprofLabel::Text { key, value };
    }
    // The numbers of labels are 64-bit integers; other values are kept as text.
    let Some(number) = value.get("num").unwrap_or(&value).as_i64() else {
        return PprofLabel::Text { key, value: value.to_string() };
    };
    let unit = value.get("unit").and_then(|unit| unit.as_str()).unwrap_or_default().to_owned();
    PprofLabel::Number { key, value: number, unit }
}

fn labels_of_thread(snapshot: &Snapshot, track: TrackIdx) -> Vec<PprofLabel> {
    let track = snapshot.track(track);
    let process = &snapshot.tracks().processes[track.process.index()];
    let text = |key: &str, value: &str| PprofLabel::Text { key: key.to_owned(), value: value.to_owned() };
    let id = |key: &str, id: &Id| match id {
        Id::None => None,
        Id::Number(value) => Some(PprofLabel::Number { key: key.to_owned(), value: *value, unit: String::new() }),
        Id::Text(value) => Some(text(key, value)),
    };
    let name = |key: &str, name: &str| (!name.is_empty()).then(|| text(key, name));
    let labels = [
        id("pid", &track.key.pid),
        name("process", &process.name),
        id("tid", &track.key.tid),
        name("thread", &track.name),
    ];
    labels.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_has_a_label_for_each_value() {
        let text = |value: &str| PprofLabel::Text { key: "k".into(), value: value.into() };
        let number = |value: i64, unit: &str| PprofLabel::Number { key: "n".into(), value, unit: unit.into() };
        let labels = labels_of_json(r#"{"k":["v1","v2"],"n":[{"num":5,"unit":"bytes"},6]}"#);
        assert_eq!(labels, [text("v1"), text("v2"), number(5, "bytes"), number(6, "")]);
        assert_eq!(labels_of_json(r#"{"k":"v1","n":6}"#), [text("v1"), number(6, "")]);
    }

    #[test]
    fn values_that_are_not_integers_are_text_labels() {
        for value in ["1.5", "true", "null", "9223372036854775808", r#"{"a":1}"#, r#"{"num":1.5,"unit":"s"}"#] {
            let label = PprofLabel::Text { key: "k".into(), value: value.into() };
            assert_eq!(labels_of_json(&format!(r#"{{"k":{value}}}"#)), [label]);
        }
    }
}

//! speedscope files: profiles with a shared frame table, each a thread here. Evented profiles of times become begins
//! and ends. Sampled profiles, and evented profiles of other units, become consecutive samples, drawn as wide as they
//! weigh, as in speedscope. If any count of a profile is fractional, all are scaled to millionths.

mod weighed_events;

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::formats::format::{DataKind, Format, Opener};
use crate::formats::input::source::Source;
use crate::formats::json::document::{Document, Element, JsonExtent, TableCharge, TimeUnit};
use crate::formats::json::sniff::{has_key, looks_like_json};
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::{BatchBuilder, STACK_FRAMES_MAX};
use crate::formats::profiles::frames::FilePaths;
use crate::formats::profiles::weighed::position_after;
use crate::formats::profiles::weight_scale::WeightScale;
use crate::formats::{BatchSink, ReadContext, ReadError, Reader, StreamReader};
use crate::model::sample_measure::{BYTES, COUNT, NANOSECONDS};
use crate::model::{
    Event, EventKind, Id, Loss, LossValue, Metadata, NameIdx, SampleMeasure, SourcePos, StackIdx, TrackIdx, TrackKey,
};

/// Bytes of a frame without its title.
const FRAME_BYTES: usize = size_of::<FrameName>();

/// Duration of a sample in a unit of time that lacks a weight, if no sample before it has one.
const UNWEIGHTED_NS: u64 = 1_000_000;

pub(crate) const FORMAT: Format = Format {
    name: "speedscope",
    record: "A record is an event of an evented profile, or a stack and its weight of a sampled one.",
    sniff: looks_like_speedscope,
    is_event: None,
    live: None,
    shows: &[DataKind::Spans, DataKind::Arguments, DataKind::Samples],
    opener: Opener::Trace(|source, _| Ok(open(source))),
};

/// Returns whether this is JSON that mentions speedscope, or has its structure.
fn looks_like_speedscope(head: &[u8]) -> bool {
    let has = |key| has_key(head, key);
    let names_it = memchr::memmem::find(head, b"speedscope").is_some() && (has("$schema") || has("exporter"));
    // Some tools omit the schema.
    let has_type = |text: &str| memchr::memmem::find(head, text.as_bytes()).is_some();
    let is_alike = || {
        let is_profile = has("samples") && has_type("\"sampled\"") || has("events") && has_type("\"evented\"");
        has("profiles") && has("unit") && has("startValue") && is_profile
    };
    looks_like_json(head) && !has("traceEvents") && !has("ph") && (names_it || is_alike())
}

/// Creates a reader of a speedscope file.
fn open(source: Source) -> Reader {
    Reader::stream(Speedscope { source })
}

struct Speedscope {
    source: Source,
}

#[derive(Default, Deserialize)]
struct SpeedscopeFrame<'a> {
    #[serde(default)]
    name: String,
    file: Option<String>,
    #[serde(borrow)]
    line: Option<&'a RawValue>,
}

/// The title of a frame, and the path of its file.
struct FrameName {
    title: Box<str>,
    path: Option<Arc<str>>,
}

#[derive(Deserialize)]
struct FrameEvent<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    at: Option<&'a RawValue>,
    frame: Option<u32>,
}

impl StreamReader for Speedscope {
    fn read(self: Box<Self>, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let document = Document::open(self.source, context)?;
        let [name, shared, profiles] = document.pick(document.whole(), ["name", "shared", "profiles"])?;
        if profiles.is_none() {
            return Err(document.without("the JSON of profiles"));
        }
        let mut batch = BatchBuilder::new(context.chunk_limits);
        let name: Option<String> = document.value(name, batch.losses())?;
        batch.extend_metadata(name.map(|name| Metadata::ProcessName { pid: Id::None, name: name.into() }));
        let mut charge = document.table_charge();
        let frames = frames(&document, shared, &mut charge, &mut batch)?;
        let mut profiles = document.items(profiles);
        let mut number = 0;
        while let Some(extent) = profiles.next()? {
            number += 1;
            let tid = Id::Number(number);
            let profile = SpeedscopeProfile::read(&document, extent, &mut batch)?;
            let name = profile.name.as_deref().unwrap_or("profile").into();
            batch.add_metadata(Metadata::ThreadName { pid: Id::None, tid: tid.clone(), name });
            let is_timed = profile.kind == "evented" && profile.time_unit().is_some();
            let key = if is_timed { TrackKey::thread } else { TrackKey::untimed_thread }(Id::None, tid);
            let document = &document;
            let (frames, args) = (&frames, ArgsWriter::default());
            let mut builder =
                SpeedscopeEventBuilder { document, frames, key, batch: &mut batch, sink: &mut *sink, context, args };
            match (&*profile.kind, profile.time_unit()) {
                ("evented", Some(unit)) => builder.events(&profile, unit)?,
                ("evented", None) => builder.weighed_events(&profile)?,
                ("sampled", _) => builder.samples(&profile)?,
                // Counted as truncated.
                ("", _) if document.is_cut() => {}
                (kind, _) => {
                    let value = LossValue::text(kind.as_bytes());
                    builder.batch.lose_value(Loss::UnknownPhase, value, extent.pos());
                }
            }
        }
        document.count_rest(batch.losses())?;
        batch.flush(sink)
    }
}

/// Returns the names of the shared frames.
fn frames(
    document: &Document,
    shared: Option<JsonExtent>,
    charge: &mut TableCharge<'_>,
    batch: &mut BatchBuilder,
) -> Result<Vec<FrameName>, ReadError> {
    let (mut names, mut files) = (Vec::new(), FilePaths::default());
    let [table] = shared.map_or(Ok([None]), |shared| document.pick(shared, ["frames"]))?;
    let mut frames = document.elements(table);
    while let Some(frame) = frames.next()? {
        let parsed: SpeedscopeFrame<'_> = frame.parse(batch.losses()).unwrap_or_default();
        let (path, path_bytes) = files.add(parsed.file.as_deref().unwrap_or_default().as_bytes());
        let title = parsed.title();
        charge.add(FRAME_BYTES + title.len() + path_bytes, frame.offset)?;
        names.push(FrameName { title: title.into(), path });
    }
    Ok(names)
}

impl SpeedscopeFrame<'_> {
    fn title(self) -> String {
        let Some(file) = self.file else { return self.name };
        let file = file.rsplit(['/', '\\']).next().unwrap_or_default();
        match self.line.and_then(|line| line.get().parse::<u64>().ok()) {
            Some(line) => format!("{} ({file}:{line})", self.name),
            None => format!("{} ({file})", self.name),
        }
    }
}

/// A profile: its small values, and the extents of the large ones.
#[derive(Default)]
struct SpeedscopeProfile {
    kind: String,
    name: Option<String>,
    unit: Option<String>,
    start: Vec<u8>,
    events: Option<JsonExtent>,
    samples: Option<JsonExtent>,
    weights: Option<JsonExtent>,
}

impl SpeedscopeProfile {
    fn read(document: &Document, extent: JsonExtent, batch: &mut BatchBuilder) -> Result<Self, ReadError> {
        let keys = ["type", "name", "unit", "startValue", "events", "samples", "weights"];
        let [kind, name, unit, start, events, samples, weights] = document.pick(extent, keys)?;
        let losses = batch.losses();
        let kind: Option<String> = document.value(kind, losses)?;
        Ok(Self {
            kind: kind.unwrap_or_default(),
            name: document.value(name, losses)?,
            unit: document.value(unit, losses)?,
            start: start.map_or(Ok(Vec::new()), |start| document.text(start))?,
            events,
            samples,
            weights,
        })
    }

    /// Returns the unit if it is one of time.
    fn time_unit(&self) -> Option<TimeUnit> {
        match self.unit.as_deref()? {
            "nanoseconds" => Some(TimeUnit::Nanoseconds),
            "microseconds" => Some(TimeUnit::Microseconds),
            "milliseconds" => Some(TimeUnit::Milliseconds),
            "seconds" => Some(TimeUnit::Seconds),
            _ => None,
        }
    }

    /// Returns the event of its samples, the unit of their weights, and its scale.
    fn measure(&self, has_fraction: bool) -> (&'static str, &'static str, WeightScale) {
        match (self.time_unit(), self.unit.as_deref()) {
            (Some(unit), _) => ("time", NANOSECONDS, WeightScale::Time(unit)),
            (_, Some("bytes")) => ("weight", BYTES, WeightScale::Whole),
            _ if has_fraction => ("weight", WeightScale::MILLIONTHS, WeightScale::Millionths),
            _ => ("weight", COUNT, WeightScale::Whole),
        }
    }
}

/// The weight of a sample.
#[derive(Debug, Clone, Copy)]
struct NamedWeight<'a> {
    /// Name of the measured quantity.
    event: &'a str,
    unit: &'a str,
    weight: u64,
}

struct SpeedscopeEventBuilder<'a> {
    document: &'a Document,
    frames: &'a [FrameName],
    key: TrackKey,
    batch: &'a mut BatchBuilder,
    sink: &'a mut dyn BatchSink,
    context: &'a ReadContext,
    args: ArgsWriter,
}

impl SpeedscopeEventBuilder<'_> {
    /// Returns track and name of a frame. A missing frame is counted, and has an empty name.
    fn rows(&mut self, frame: Option<u32>, pos: SourcePos) -> (TrackIdx, NameIdx) {
        let track = self.batch.track_with(&self.key);
        let name = self.name(frame, pos).unwrap_or_else(|| {
            self.batch.lose(Loss::MissingText, pos);
            NameIdx::EMPTY
        });
        (track, name)
    }

    /// Returns the row of a name in the batch; `None` for a missing frame.
    fn name(&mut self, frame: Option<u32>, pos: SourcePos) -> Option<NameIdx> {
        let FrameName { title, path } = self.frames.get(frame? as usize)?;
        Some(self.batch.name(title.as_bytes(), path.as_deref().map(str::as_bytes), pos))
    }

    fn events(&mut self, profile: &SpeedscopeProfile, unit: TimeUnit) -> Result<(), ReadError> {
        let mut events = self.document.elements(profile.events);
        while let Some(event) = events.next()? {
            let pos = SourcePos::Offset(event.offset);
            let Some(event) = event.parse::<FrameEvent<'_>>(self.batch.losses()) else { continue };
            let Some(ts_ns) = event.at.and_then(|at| unit.nanos(at).ok()) else {
                self.batch.lose(Loss::BadTime, pos);
                continue;
            };
            let kind = match &*event.kind {
                "O" => EventKind::Begin,
                "C" => EventKind::End,
                kind => {
                    self.batch.lose_value(Loss::UnknownPhase, LossValue::text(kind.as_bytes()), pos);
                    continue;
                }
            };
            let (track, name) = self.rows(event.frame, pos);
            self.batch.push(Event::new(ts_ns, kind, track, name));
            self.batch.flush_if_full(self.sink, self.context)?;
        }
        Ok(())
    }

    /// Returns whether a weight of a profile has a fraction.
    fn has_fraction(&self, profile: &SpeedscopeProfile) -> Result<bool, ReadError> {
        let mut weights = self.document.elements(profile.weights);
        while let Some(weight) = weights.next()? {
            if WeightScale::Whole.is_rounded(weight.text) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads samples and weights in parallel; a sample or weight without a counterpart counts as a loss. Weights follow
    /// samples, so a truncated file may lack them: such samples get the previous weight.
    fn samples(&mut self, profile: &SpeedscopeProfile) -> Result<(), ReadError> {
        let time_unit = profile.time_unit();
        let is_time = time_unit.is_some();
        let (event, unit, scale) = profile.measure(!is_time && self.has_fraction(profile)?);
        let mut now_ns = 0;
        if let Some(time_unit) = time_unit.filter(|_| !profile.start.is_empty()) {
            now_ns = time_unit.parse_nanos(&profile.start).unwrap_or_else(|_| {
                self.batch.lose(Loss::BadTime, SourcePos::Time(0));
                0
            });
        }
        let is_unweighted = profile.weights.is_none() && !is_time && !self.document.is_cut();
        let (mut samples, mut weights) =
            (self.document.elements(profile.samples), self.document.elements(profile.weights));
        let mut last = if is_time { UNWEIGHTED_NS } else { scale.one() };
        loop {
            let (sample, weight) = match (samples.next()?, weights.next()?) {
                (Some(sample), weight) => (sample, weight),
                (None, None) => break,
                (None, Some(Element { offset, .. })) => {
                    self.batch.lose(Loss::BadRecord, SourcePos::Offset(offset));
                    continue;
                }
            };
            let pos = SourcePos::Offset(sample.offset);
            if weight.is_none() && !is_unweighted {
                self.batch.lose(Loss::MissingWeight, pos);
            }
            let weight = match weight {
                Some(weight) => scale.parse(weight.text).and_then(|scaled| {
                    self.batch.losses().add_many(Loss::RoundedWeight, pos, u64::from(scaled.is_rounded));
                    u64::try_from(scaled.weight).ok()
                }),
                None => Some(last),
            };
            let weight = weight.unwrap_or_else(|| {
                self.batch.lose(Loss::BadNumber, pos);
                0
            });
            last = if weight == 0 { last } else { weight };
            // An unreadable sample still takes its time.
            let frames: Option<Vec<u32>> = sample.parse(self.batch.losses());
            if let Some(frames) = frames {
                let stack = self.stack(&frames, pos);
                self.push_sample(now_ns, stack, NamedWeight { event, unit, weight });
            }
            let drawn_ns = SampleMeasure { event: "".into(), unit: unit.into(), weight }.drawn_ns();
            now_ns = position_after(now_ns, drawn_ns, pos, self.batch);
            self.batch.flush_if_full(self.sink, self.context)?;
        }
        Ok(())
    }

    /// Returns the track and the stack of a sample with these frames, outermost first.
    fn stack(&mut self, frames: &[u32], pos: SourcePos) -> (TrackIdx, StackIdx) {
        let (frames, inner) = frames.split_at(frames.len().min(STACK_FRAMES_MAX));
        self.batch.losses().add_many(Loss::DeepNesting, pos, inner.len() as u64);
        let mut stack = StackIdx::EMPTY;
        let mut track = self.batch.track_with(&self.key);
        for &frame in frames {
            let name;
            (track, name) = self.rows(Some(frame), pos);
            stack = self.batch.frame(stack, name);
        }
        (track, stack)
    }

    fn push_sample(&mut self, ts_ns: i64, (track, stack): (TrackIdx, StackIdx), weight: NamedWeight<'_>) {
        self.args.clear();
        self.args.measure(weight.event, weight.unit, weight.weight);
        let detail = self.batch.args(self.args.finish());
        self.batch.push_sample(ts_ns, track, stack, detail);
    }
}

#[cfg(test)]
mod tests;

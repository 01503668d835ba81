//! speedscope files: profiles with a shared frame table, each a thread here. Evented profiles become begins and ends;
//! units other than time are drawn 1 ms wide, bytes 1 ns. Sampled profiles become consecutive samples, drawn as wide as
//! they weigh, as in speedscope. Counts of which one has a fraction are shown in millionths.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::formats::format::{DataKind, Format, Opener};
use crate::formats::input::source::Source;
use crate::formats::json::document::{Document, Element, JsonExtent, TableCharge, TimeUnit};
use crate::formats::json::sniff::{has_key, looks_like_json};
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::{BatchBuilder, bare};
use crate::formats::profiles::weight_scale::WeightScale;
use crate::formats::{BatchSink, ReadContext, ReadError, Reader, StreamReader};
use crate::model::args::Detail;
use crate::model::sample_measure::{BYTES, COUNT, NANOSECONDS};
use crate::model::{
    EventKind, Id, Loss, LossValue, Metadata, NameIdx, SampleMeasure, SourcePos, StackIdx, TrackIdx, TrackKey,
};

/// Bytes of a frame without its title.
const FRAME_BYTES: usize = size_of::<Box<str>>();

/// Duration of a sample in a unit of time that lacks a weight, if no sample before it has one.
const UNWEIGHTED_NS: u64 = 1_000_000;

pub(crate) const FORMAT: Format = Format {
    name: "speedscope",
    record: "A record is an event of an evented profile, or a stack and its weight of a sampled one.",
    sniff: looks_like_speedscope,
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
    Reader::Stream(Box::new(Speedscope { source: Some(source) }))
}

struct Speedscope {
    source: Option<Source>,
}

#[derive(Deserialize)]
struct SpeedscopeFrame<'a> {
    #[serde(default)]
    name: String,
    file: Option<String>,
    #[serde(borrow)]
    line: Option<&'a RawValue>,
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
    fn read(&mut self, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let Some(source) = self.source.take() else { return Ok(()) };
        let document = Document::open(source, context)?;
        let [name, shared, profiles] = document.pick(document.whole(), ["name", "shared", "profiles"])?;
        if profiles.is_none() {
            return Err(document.without("the JSON of profiles"));
        }
        let mut batch = BatchBuilder::new(context.chunk_limits);
        let name: Option<String> = document.value(name, &mut batch.batch.losses)?;
        batch.batch.metadata.extend(name.map(|name| Metadata::ProcessName { pid: Id::None, name: name.into() }));
        let mut charge = document.table_charge();
        let frames = frames(&document, shared, &mut charge, &mut batch)?;
        let mut profiles = document.items(profiles);
        let mut number = 0;
        while let Some(extent) = profiles.next()? {
            number += 1;
            let tid = Id::Number(number);
            let profile = SpeedscopeProfile::read(&document, extent, &mut batch)?;
            let name = profile.title().into();
            batch.batch.metadata.push(Metadata::ThreadName { pid: Id::None, tid: tid.clone(), name });
            let slot = if profile.kind == "sampled" { TrackKey::SLOT_UNTIMED } else { 0 };
            let key = TrackKey { slot, ..TrackKey::thread(Id::None, tid) };
            let document = &document;
            let (frames, args) = (&frames, ArgsWriter::default());
            let mut builder =
                SpeedscopeEventBuilder { document, frames, key, batch: &mut batch, sink: &mut *sink, context, args };
            match &*profile.kind {
                "evented" => builder.events(&profile)?,
                "sampled" => builder.samples(&profile)?,
                // Counted as truncated.
                "" if document.is_cut() => {}
                kind => {
                    let value = LossValue::text(kind.as_bytes());
                    builder.batch.lose_value(Loss::UnknownPhase, value, extent.pos());
                }
            }
        }
        document.count_rest(&mut batch.batch.losses)?;
        batch.flush(sink)
    }
}

/// Returns the titles of the shared frames.
fn frames(
    document: &Document,
    shared: Option<JsonExtent>,
    charge: &mut TableCharge<'_>,
    batch: &mut BatchBuilder,
) -> Result<Vec<Box<str>>, ReadError> {
    let mut titles = Vec::new();
    let [table] = shared.map_or(Ok([None]), |shared| document.pick(shared, ["frames"]))?;
    let mut frames = document.elements(table);
    while let Some(frame) = frames.next()? {
        let title = frame.parse(&mut batch.batch.losses).map(SpeedscopeFrame::title).unwrap_or_default();
        charge.add(FRAME_BYTES + title.len(), frame.offset)?;
        titles.push(title.into());
    }
    Ok(titles)
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
        let losses = &mut batch.batch.losses;
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

    /// Returns its unit, and whether that is a unit of time.
    fn unit(&self) -> (TimeUnit, bool) {
        match self.unit.as_deref() {
            Some("nanoseconds") => (TimeUnit::Nanoseconds, true),
            Some("microseconds") => (TimeUnit::Microseconds, true),
            Some("milliseconds") => (TimeUnit::Milliseconds, true),
            Some("seconds") => (TimeUnit::Seconds, true),
            Some("bytes") => (TimeUnit::Nanoseconds, false),
            _ => (TimeUnit::Milliseconds, false),
        }
    }

    fn title(&self) -> String {
        let name = self.name.as_deref().unwrap_or("profile");
        match (self.unit(), self.unit.as_deref()) {
            ((_, true), _) => name.to_owned(),
            _ if self.kind == "sampled" => name.to_owned(),
            (_, Some("bytes")) => format!("{name} (1 ns is a byte)"),
            _ => format!("{name} (1 ms is a weight of 1)"),
        }
    }
}

struct SpeedscopeEventBuilder<'a> {
    document: &'a Document,
    frames: &'a [Box<str>],
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
        let Some(name) = frame.and_then(|frame| self.frames.get(frame as usize)) else {
            self.batch.lose(Loss::MissingText, pos);
            return (track, NameIdx::EMPTY);
        };
        (track, self.batch.name(name.as_bytes(), None, pos))
    }

    fn events(&mut self, profile: &SpeedscopeProfile) -> Result<(), ReadError> {
        let (unit, _) = profile.unit();
        let mut events = self.document.elements(profile.events);
        let mut last_ns = 0;
        while let Some(event) = events.next()? {
            let Some(event) = event.parse::<FrameEvent<'_>>(&mut self.batch.batch.losses) else { continue };
            let Some(ts_ns) = event.at.and_then(|at| unit.nanos(at).ok()) else {
                self.batch.lose(Loss::BadTime, SourcePos::Time(last_ns));
                continue;
            };
            last_ns = ts_ns;
            let place = SourcePos::Time(ts_ns);
            let kind = match &*event.kind {
                "O" => EventKind::Begin,
                "C" => EventKind::End,
                kind => {
                    self.batch.lose_value(Loss::UnknownPhase, LossValue::text(kind.as_bytes()), place);
                    continue;
                }
            };
            let (track, name) = self.rows(event.frame, place);
            self.batch.push(bare(ts_ns, kind, track, name));
            self.batch.flush_if_full(self.sink, self.context)?;
        }
        Ok(())
    }

    /// Returns whether a weight of a profile has a fraction.
    fn has_fraction(&self, profile: &SpeedscopeProfile) -> Result<bool, ReadError> {
        let mut weights = self.document.elements(profile.weights);
        while let Some(weight) = weights.next()? {
            if WeightScale::Whole.parse(weight.text).is_some_and(|scaled| scaled.is_rounded) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads samples and weights in parallel; those without a counterpart count as losses. Weights follow samples, so a
    /// truncated file may lack them: such samples get the previous weight.
    fn samples(&mut self, profile: &SpeedscopeProfile) -> Result<(), ReadError> {
        let (time_unit, is_time) = profile.unit();
        let (event, unit, scale) = match (is_time, profile.unit.as_deref()) {
            (true, _) => ("time", NANOSECONDS, WeightScale::Time(time_unit)),
            (_, Some("bytes")) => ("weight", BYTES, WeightScale::Whole),
            _ if self.has_fraction(profile)? => ("weight", WeightScale::MILLIONTHS, WeightScale::Millionths),
            _ => ("weight", COUNT, WeightScale::Whole),
        };
        let mut now_ns = 0;
        if !profile.start.is_empty() && is_time {
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
            if weight.is_none() && !is_unweighted {
                self.batch.lose(Loss::MissingWeight, SourcePos::Offset(sample.offset));
            }
            let weight = match weight {
                Some(weight) => scale.parse(weight.text).and_then(|scaled| {
                    let pos = SourcePos::Time(now_ns);
                    self.batch.batch.losses.add_many(Loss::RoundedWeight, pos, u64::from(scaled.is_rounded));
                    u64::try_from(scaled.weight).ok()
                }),
                None => Some(last),
            };
            let weight = weight.unwrap_or_else(|| {
                self.batch.lose(Loss::BadNumber, SourcePos::Time(now_ns));
                0
            });
            last = if weight == 0 { last } else { weight };
            // An unreadable sample still takes its time.
            let frames: Option<Vec<u32>> = sample.parse(&mut self.batch.batch.losses);
            if let Some(frames) = frames {
                self.sample(now_ns, &frames, (event, unit, weight));
            }
            let drawn_ns = SampleMeasure { event: "".into(), unit: unit.into(), weight }.drawn_ns();
            match now_ns.checked_add_unsigned(drawn_ns) {
                Some(next_ns) => now_ns = next_ns,
                // Later samples are drawn over it.
                None => self.batch.lose(Loss::BadNumber, SourcePos::Time(now_ns)),
            }
            self.batch.flush_if_full(self.sink, self.context)?;
        }
        Ok(())
    }

    /// Adds a sample with these frames, outermost first.
    fn sample(&mut self, ts_ns: i64, frames: &[u32], (event, unit, weight): (&str, &str, u64)) {
        let mut stack = StackIdx::EMPTY;
        let mut track = self.batch.track_with(&self.key);
        for &frame in frames {
            let name;
            (track, name) = self.rows(Some(frame), SourcePos::Time(ts_ns));
            stack = self.batch.batch.stacks.intern(stack, name);
        }
        self.args.clear();
        self.args.text("event", event.as_bytes());
        self.args.text("unit", unit.as_bytes());
        self.args.number("period", weight);
        let detail = Detail { args_json: self.args.finish(), ..Detail::default() };
        let detail = self.batch.batch.chunk.details.push(&detail);
        self.batch.push_sample(ts_ns, track, stack, detail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::{Reading, data, read, read_bytes, read_path};
    use proptest::prelude::*;

    fn file(profiles: &str) -> String {
        format!(
            r#"{{"$schema":"https://www.speedscope.app/file-format-schema.json","profiles":[{profiles}],
            "shared":{{"frames":[{{"name":"a"}},{{"name":"b","file":"/x/b.rs","line":7}},{{"name":"c","col":null}}]}}}}"#
        )
    }

    /// Returns time, weight and frames of each sample.
    fn samples(reading: &Reading) -> Vec<(i64, u64, Vec<String>)> {
        let weight = |args: &str| SampleMeasure::from_args(args).weight;
        reading.events.iter().map(|event| (event.ts_ns, weight(&event.args), event.stack.clone())).collect()
    }

    #[test]
    fn a_real_capture_has_the_samples_of_its_profiles_in_nanoseconds() {
        let reading = read_path(&data("pyspy.speedscope.json")).expect("a capture");
        assert_eq!(reading.lost(), []);
        let text = std::fs::read(data("pyspy.speedscope.json")).expect("a file");
        let json: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        for (number, profile) in (1i64..).zip(json["profiles"].as_array().expect("profiles")) {
            let stacks = profile["samples"].as_array().expect("samples");
            let own: Vec<_> = reading.events.iter().filter(|event| event.track.tid == Id::Number(number)).collect();
            assert_eq!(own.len(), stacks.len(), "profile {number}");
            for (at, (event, stack)) in own.iter().zip(stacks).enumerate() {
                // Every sample of this py-spy profile weighs 2 ms.
                assert_eq!(event.args, r#"{"event":"time","unit":"ns","period":2000000}"#);
                assert_eq!(event.ts_ns - own[0].ts_ns, 2_000_000 * at as i64);
                assert_eq!(event.stack.len(), stack.as_array().expect("frames").len());
            }
        }
    }

    proptest! {
        #[test]
        fn samples_follow_each_other_by_their_weights(
            meant in proptest::collection::vec((proptest::collection::vec(0u32..3, 0..5), 0u64..9), 1..20),
            unit in 0usize..4,
        ) {
            let (unit, read_as, step) = [
                ("nanoseconds", "ns", 1), ("milliseconds", "ns", 1_000_000), ("bytes", "bytes", 1), ("none", "count", 1),
            ][unit];
            let stacks: Vec<&Vec<u32>> = meant.iter().map(|(stack, _)| stack).collect();
            let weights: Vec<u64> = meant.iter().map(|&(_, weight)| weight).collect();
            let profile = format!(
                r#"{{"type":"sampled","name":"p","unit":"{unit}","startValue":5,"samples":{stacks:?},"weights":{weights:?}}}"#
            );
            let reading = read(&file(&profile));
            prop_assert_eq!(reading.lost(), []);
            // Counts are drawn a microsecond each, and start at 0 like bytes.
            let drawn = if read_as == "count" { 1000 } else { step };
            let mut now = if read_as == "ns" { 5 * step as i64 } else { 0 };
            let mut expected = Vec::new();
            for (stack, weight) in &meant {
                let names = stack.iter().map(|&frame| ["a", "b (b.rs:7)", "c"][frame as usize].to_owned()).collect();
                expected.push((now, weight * step, names));
                now += (weight * drawn) as i64;
            }
            prop_assert_eq!(samples(&reading), expected);
            let unit_of = |args: &str| SampleMeasure::from_args(args).unit.into_owned();
            prop_assert!(reading.events.iter().all(|event| unit_of(&event.args) == read_as));
        }
    }

    #[test]
    fn profiles_without_weights_count_and_those_without_a_schema_are_read() {
        let profile = r#"{"type":"sampled","name":"p","unit":"none","startValue":0,"samples":[[0],[0,1],[9]]}"#;
        let reading = read(&file(profile));
        let weights: Vec<_> = samples(&reading).into_iter().map(|(ts, weight, _)| (ts, weight)).collect();
        assert_eq!(weights, [(0, 1), (1000, 1), (2000, 1)]);
        assert_eq!(reading.lost(), [(Loss::MissingText, 1)], "a frame that is not there");
        let bare = format!(r#"{{"exporter":"rbspy","profiles":[{profile}],"shared":{{"frames":[{{"name":"a"}}]}}}}"#);
        assert_eq!(read(&bare).events.len(), 3);
        assert!(!looks_like_speedscope(br#"{"profiles":[{"type":"sampled"}],"unit":1}"#));
    }

    #[test]
    fn fractional_weights_are_kept_in_millionths_and_those_that_no_unit_holds_are_counted() {
        let weighed = |unit: &str, weights: &str| {
            let profile = format!(
                r#"{{"type":"sampled","name":"p","unit":"{unit}","startValue":0,"samples":[[0],[0,1],[2]],"weights":[{weights}]}}"#
            );
            let reading = read(&file(&profile));
            let unit_of = |args: &str| SampleMeasure::from_args(args).unit.into_owned();
            assert!(reading.events.iter().all(|event| unit_of(&event.args) == unit_of(&reading.events[0].args)));
            let weights: Vec<_> = samples(&reading).into_iter().map(|(_, weight, _)| weight).collect();
            (unit_of(&reading.events[0].args), weights, reading.lost())
        };
        let millionths = "millionths".to_owned();
        assert_eq!(weighed("none", "0.25,0.4,0.25"), (millionths.clone(), vec![250_000, 400_000, 250_000], vec![]));
        assert_eq!(weighed("none", "1,2.5,3"), (millionths.clone(), vec![1_000_000, 2_500_000, 3_000_000], vec![]));
        assert_eq!(weighed("none", "1.0,2e0,\"3\""), ("count".to_owned(), vec![1, 2, 3], vec![]), "these are whole");
        let missing = vec![(Loss::MissingWeight, 2)];
        assert_eq!(weighed("none", "0.5"), (millionths.clone(), vec![500_000; 3], missing));
        let rounded = vec![(Loss::RoundedWeight, 1)];
        assert_eq!(weighed("none", "1e-9,1,1"), (millionths, vec![0, 1_000_000, 1_000_000], rounded.clone()));
        assert_eq!(weighed("bytes", "0.25,4,5"), ("bytes".to_owned(), vec![0, 4, 5], rounded.clone()));
        assert_eq!(weighed("nanoseconds", "0.25,4.4,5"), ("ns".to_owned(), vec![0, 4, 5], rounded));
        let bad = vec![(Loss::BadNumber, 2)];
        assert_eq!(weighed("none", "-0.5,null,1"), ("millionths".to_owned(), vec![0, 0, 1_000_000], bad));
    }

    #[test]
    fn a_second_file_after_the_first_is_counted() {
        let one = file(r#"{"type":"sampled","name":"p","unit":"none","samples":[[0]],"weights":[1]}"#);
        for rest in [&*one, "garbage", "{}"] {
            let reading = read(&format!("{one}\n{rest}"));
            assert_eq!((reading.events.len(), reading.lost()), (1, vec![(Loss::TrailingData, 1)]), "{rest}");
        }
    }

    #[test]
    fn evented_profiles_are_begins_and_ends_in_their_unit() {
        let reading = read(&file(
            r#"{"type":"evented","name":"main","unit":"milliseconds","startValue":0,"endValue":2,
            "events":[{"type":"O","frame":0,"at":0.5},{"type":"O","frame":9,"at":1},{"type":"C","frame":9,"at":1.25},
            {"type":"C","frame":0,"at":2e0},{"type":"Q","frame":0,"at":2},{"type":"C","frame":0,"at":"x"}]}"#,
        ));
        let found: Vec<_> = reading.events.iter().map(|event| (event.ts_ns, event.kind, &*event.name)).collect();
        let (begin, end) = (EventKind::Begin, EventKind::End);
        assert_eq!(found, [(500_000, begin, "a"), (1_000_000, begin, ""), (1_250_000, end, ""), (2_000_000, end, "a")]);
        assert_eq!(reading.lost(), [(Loss::BadTime, 1), (Loss::UnknownPhase, 1), (Loss::MissingText, 2)]);
    }

    #[test]
    fn samples_whose_weights_were_cut_off_are_shown_and_counted() {
        let profile =
            r#"{"type":"sampled","name":"p","unit":"nanoseconds","samples":[[0],[0,1],[2]],"weights":[5,70,9]}"#;
        let shared = r#""shared":{"frames":[{"name":"a"},{"name":"b"},{"name":"c"}]}"#;
        let schema = r#""$schema":"https://www.speedscope.app/file-format-schema.json""#;
        let text = format!("{{{schema},{shared},\"profiles\":[{profile}]}}");
        let cut = |before: &str| {
            let reading = read_bytes(&text.as_bytes()[..text.find(before).expect("there")]).expect("a part");
            let weights: Vec<_> = samples(&reading).into_iter().map(|(_, weight, _)| weight).collect();
            (weights, reading.losses.count(Loss::MissingWeight))
        };
        // A number at the end of the file may have had more digits.
        assert_eq!(cut(",\"weights"), (vec![1_000_000; 3], 3));
        assert_eq!(cut("70,9"), (vec![5; 3], 2));
        assert_eq!(cut("9]"), (vec![5, 70, 70], 1));
        // Also in a complete file.
        let reading = read(&file(&profile.replace(r#","weights":[5,70,9]"#, "")));
        assert_eq!(reading.lost(), [(Loss::MissingWeight, 3)]);
        assert_eq!(reading.events.len(), 3);
    }

    /// Naive reading of evented profiles from the whole document: time, kind and frame name of each event.
    fn naive(text: &str) -> Vec<(i64, EventKind, String)> {
        let json: serde_json::Value = serde_json::from_str(text).expect("JSON");
        let mut all = Vec::new();
        for profile in json["profiles"].as_array().expect("profiles") {
            for event in profile["events"].as_array().expect("events") {
                let kind = if event["type"] == "O" { EventKind::Begin } else { EventKind::End };
                let ts_ns = (event["at"].as_f64().expect("a time") * 1000.0) as i64;
                let name = &json["shared"]["frames"][event["frame"].as_u64().expect("a frame") as usize]["name"];
                all.push((ts_ns, kind, name.as_str().expect("a name").to_owned()));
            }
        }
        all.sort_by_key(|event| event.0);
        all
    }

    fn evented(events: &[(bool, u8, u16)], is_shared_first: bool) -> String {
        let events: Vec<String> = events
            .iter()
            .map(|(is_open, frame, at)| {
                format!(r#"{{"type":"{}","frame":{},"at":{at}}}"#, if *is_open { "O" } else { "C" }, frame % 3)
            })
            .collect();
        let profile = |part: &[String]| {
            format!(
                r#"{{"type":"evented","name":"p","unit":"microseconds","startValue":0,"endValue":9,"events":[{}]}}"#,
                part.join(",")
            )
        };
        let (one, two) = events.split_at(events.len() / 2);
        let shared = r#""shared":{"frames":[{"name":"a"},{"name":"b{}[]"},{"name":"\"c\","}]}"#;
        let profiles = format!(r#""profiles":[{},{}]"#, profile(one), profile(two));
        let (first, second) = if is_shared_first { (shared, &*profiles) } else { (&*profiles, shared) };
        format!(r#"{{"$schema":"https://www.speedscope.app/file-format-schema.json",{first},{second},"exporter":"x"}}"#)
    }

    proptest! {
        #[test]
        fn events_are_those_of_the_document_read_whole_wherever_its_frames_are(
            events in proptest::collection::vec((any::<bool>(), 0u8..3, 0u16..2000), 0..30),
            is_shared_first in any::<bool>(), block_bytes in 1usize..300,
        ) {
            let text = evented(&events, is_shared_first);
            let reading = crate::formats::testing::read_cut(text.as_bytes(), block_bytes, 3).expect("a capture");
            prop_assert_eq!(reading.lost(), []);
            let found: Vec<_> = reading.events.iter().map(|event| (event.ts_ns, event.kind, event.name.clone())).collect();
            prop_assert_eq!(found, naive(&text));
        }
    }

    #[test]
    fn a_file_that_is_cut_anywhere_keeps_the_events_before_the_cut() {
        let events: Vec<_> = (0..8).map(|k| (k % 2 == 0, k as u8 / 2, k)).collect();
        let text = evented(&events, true);
        let whole = naive(&text);
        for len in text.find("profiles").expect("there") + 10..text.len() {
            let reading = read_bytes(&text.as_bytes()[..len]).expect("a part");
            assert_eq!(reading.lost(), [(Loss::Truncated, 1)], "{len}");
            let found: Vec<_> =
                reading.events.iter().map(|event| (event.ts_ns, event.kind, event.name.clone())).collect();
            let ends = text[..len].matches("},{").count() + text[..len].matches("}]}").count();
            assert!(whole.starts_with(&found) && found.len() + 2 >= ends.saturating_sub(4), "{len}: {found:?}");
        }
        let error = read_bytes(&text.as_bytes()[..90]).expect_err("refused").to_string();
        assert!(error.contains("byte 90: expected the JSON of profiles, found the end of the file"), "{error}");
    }

    #[test]
    fn damage_in_the_middle_is_counted_and_all_around_it_is_kept() {
        let events: Vec<_> = (0..8).map(|k| (k % 2 == 0, k as u8 / 2, k)).collect();
        for is_shared_first in [true, false] {
            let text = evented(&events, is_shared_first);
            let whole = naive(&text);
            let victim = r#"{"type":"C","frame":0,"at":1}"#;
            let at = text.find(victim).expect("there");
            for offset in 0..victim.len() {
                for byte in [b'\0', b'"', b'x', b'}', b'{', b','] {
                    let mut bytes = text.clone().into_bytes();
                    bytes[at + offset] = byte;
                    let reading = read_bytes(&bytes).expect("most of it");
                    let kept =
                        whole.iter().filter(|event| reading.kinds().contains(&(event.0, event.1, &event.2))).count();
                    let is_same = text.as_bytes()[at + offset] == byte;
                    // A brace in place of another may end the following element, and the profile.
                    let spared =
                        if matches!(byte, b'{' | b'}') || offset == 0 || offset + 1 == victim.len() { 4 } else { 7 };
                    assert!(kept >= spared, "{offset} {}: {kept} {:?}", byte as char, reading.kinds());
                    assert!(is_same || kept == 8 || reading.losses.total() > 0, "{offset} {}", byte as char);
                }
            }
        }
    }
}

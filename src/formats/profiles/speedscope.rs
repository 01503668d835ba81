//! The file format of speedscope: profiles that share a table of frames, each a thread here. Evented profiles are
//! begins and ends. Sampled ones are stacks with weights, which many tools sum up or sort: a weight is how long the
//! stack is drawn, as speedscope does it in order of time, so they become spans and not samples. Weights that are no
//! times are drawn 1 ms each, bytes 1 ns each.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::formats::format::{Format, Opener, Shown};
use crate::formats::input::source::Source;
use crate::formats::json::document::{Document, Element, JsonExtent, TableCharge, TimeUnit};
use crate::formats::json::sniff::{has_key, looks_like_json};
use crate::formats::output::batch::{BatchBuilder, bare};
use crate::formats::{BatchSink, ReadContext, ReadError, Reader, StreamReader};
use crate::model::{
    Event, EventKind, Id, Loss, LossValue, Metadata, NameIdx, SourcePos, TrackIdx, TrackKey, TrackKind,
};

/// Bytes of a frame beside its title.
const FRAME_BYTES: usize = size_of::<Box<str>>();

/// The duration of a sample without a weight: that of a weight of 1 in a unit that is no time.
const UNWEIGHTED_NS: i64 = 1_000_000;

/// Profiles in the format of speedscope.
pub(crate) const FORMAT: Format = Format {
    name: "speedscope",
    sniff: looks_like_speedscope,
    shows: &[Shown::Spans],
    opener: Opener::Capture(|source, _| Ok(open(source))),
};

/// Whether this is JSON that names speedscope.
fn looks_like_speedscope(head: &[u8]) -> bool {
    let has = |key| has_key(head, key);
    let names_it = memchr::memmem::find(head, b"speedscope").is_some() && (has("$schema") || has("exporter"));
    looks_like_json(head) && names_it && !has("traceEvents") && !has("ph")
}

/// Makes a reader of a speedscope file.
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
            let key = TrackKey { kind: TrackKind::Thread, pid: Id::None, tid, name: Arc::default(), slot: 0 };
            let document = &document;
            let mut builder =
                SpeedscopeEventBuilder { document, frames: &frames, key, batch: &mut batch, sink: &mut *sink, context };
            match &*profile.kind {
                "evented" => builder.events(&profile)?,
                "sampled" => builder.samples(&profile)?,
                // Counted as cut.
                "" if document.is_cut() => {}
                kind => {
                    let value = LossValue::text(kind.as_bytes());
                    builder.batch.lose_value(Loss::UnknownPhase, value, extent.place());
                }
            }
        }
        document.count_cut(&mut batch.batch.losses);
        batch.flush(sink)
    }
}

/// The titles of the frames that all profiles share.
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

    /// Its unit, and whether that is one of time.
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
}

impl SpeedscopeEventBuilder<'_> {
    /// The track and the name of a frame. A frame that the table does not have is counted, and has no name.
    fn rows(&mut self, frame: Option<u32>, place: SourcePos) -> (TrackIdx, NameIdx) {
        let track = self.batch.track_with(&self.key);
        let Some(name) = frame.and_then(|frame| self.frames.get(frame as usize)) else {
            self.batch.lose(Loss::MissingText, place);
            return (track, NameIdx::EMPTY);
        };
        (track, self.batch.name(name.as_bytes(), None, place))
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

    /// A frame goes on while the next stacks have it at the same depth, below the same frames. Samples and weights are
    /// read side by side; those without a partner count as losses. Weights follow the samples, so a file that is cut
    /// has samples without: they last as long as the one before them.
    fn samples(&mut self, profile: &SpeedscopeProfile) -> Result<(), ReadError> {
        let (unit, _) = profile.unit();
        let mut now_ns = 0;
        if !profile.start.is_empty() {
            now_ns = unit.parse_nanos(&profile.start).unwrap_or_else(|_| {
                self.batch.lose(Loss::BadTime, SourcePos::Time(0));
                0
            });
        }
        let (mut samples, mut weights) =
            (self.document.elements(profile.samples), self.document.elements(profile.weights));
        let mut open: Vec<(u32, i64)> = Vec::new();
        let mut last_ns = UNWEIGHTED_NS;
        loop {
            let (sample, weight) = match (samples.next()?, weights.next()?) {
                (Some(sample), weight) => (sample, weight),
                (None, None) => break,
                (None, Some(Element { offset, .. })) => {
                    self.batch.lose(Loss::BadRecord, SourcePos::Offset(offset));
                    continue;
                }
            };
            if weight.is_none() {
                self.batch.lose(Loss::MissingWeight, SourcePos::Offset(sample.offset));
            }
            // An unreadable sample still takes its time.
            let stack: Vec<u32> = sample.parse(&mut self.batch.batch.losses).unwrap_or_default();
            let same = open.iter().zip(&stack).take_while(|((open, _), frame)| open == *frame).count();
            self.close(&mut open, same, now_ns)?;
            open.extend(stack[same..].iter().map(|&frame| (frame, now_ns)));
            let dur_ns = match weight {
                Some(weight) => unit.parse_nanos(weight.text).ok().filter(|&ns| ns >= 0),
                None => Some(last_ns),
            };
            last_ns = dur_ns.unwrap_or(last_ns);
            match dur_ns.and_then(|dur_ns| now_ns.checked_add(dur_ns)) {
                Some(next_ns) => now_ns = next_ns,
                None => self.batch.lose(Loss::BadNumber, SourcePos::Time(now_ns)),
            }
        }
        self.close(&mut open, 0, now_ns)
    }

    /// Ends the frames below a depth.
    fn close(&mut self, open: &mut Vec<(u32, i64)>, depth: usize, now_ns: i64) -> Result<(), ReadError> {
        // Outermost first, so that the outer one of frames with the same times comes first.
        for &(frame, start_ns) in &open[depth..] {
            let (track, name) = self.rows(Some(frame), SourcePos::Time(start_ns));
            let value = now_ns.abs_diff(start_ns);
            self.batch.push(Event { value, ..bare(start_ns, EventKind::Complete, track, name) });
        }
        open.truncate(depth);
        self.batch.flush_if_full(self.sink, self.context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::{data, read, read_bytes, read_path};
    use proptest::prelude::*;

    fn file(profiles: &str) -> String {
        format!(
            r#"{{"$schema":"https://www.speedscope.app/file-format-schema.json","profiles":[{profiles}],
            "shared":{{"frames":[{{"name":"a"}},{{"name":"b","file":"/x/b.rs","line":7}},{{"name":"c","col":null}}]}}}}"#
        )
    }

    #[test]
    fn a_real_capture_has_the_time_of_each_frame_that_its_samples_sum_up_to() {
        let reading = read_path(&data("pyspy.speedscope.json")).expect("a capture");
        assert_eq!(reading.lost(), []);
        let text = std::fs::read(data("pyspy.speedscope.json")).expect("a file");
        let json: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        for (number, profile) in (1i64..).zip(json["profiles"].as_array().expect("profiles")) {
            // Every sample of py-spy weighs 2 ms here, and is drawn once for each of its frames.
            let samples = profile["samples"].as_array().expect("samples");
            let frames: usize = samples.iter().map(|stack| stack.as_array().expect("a stack").len()).sum();
            let spans = reading.events.iter().filter(|event| event.track.tid == Id::Number(number));
            assert_eq!(spans.map(|event| event.value).sum::<u64>(), frames as u64 * 2_000_000, "profile {number}");
        }
    }

    proptest! {
        #[test]
        fn at_every_moment_the_spans_around_it_are_the_stack_of_its_sample(
            samples in proptest::collection::vec((proptest::collection::vec(0u32..3, 0..5), 1u64..9), 1..20),
        ) {
            let stacks: Vec<&Vec<u32>> = samples.iter().map(|(stack, _)| stack).collect();
            let weights: Vec<u64> = samples.iter().map(|&(_, weight)| weight).collect();
            let profile = format!(
                r#"{{"type":"sampled","name":"p","unit":"nanoseconds","startValue":5,"samples":{stacks:?},"weights":{weights:?}}}"#
            );
            let reading = read(&file(&profile));
            prop_assert_eq!(reading.lost(), []);
            let mut now = 5;
            for (stack, weight) in &samples {
                let names: Vec<&str> = stack.iter().map(|&frame| ["a", "b (b.rs:7)", "c"][frame as usize]).collect();
                for moment in now..now + *weight as i64 {
                    // Of spans with equal starts the outer one is the longer one, or the first.
                    let mut around: Vec<_> = reading.events.iter().filter(|event| {
                        event.ts_ns <= moment && moment < event.ts_ns + event.value as i64
                    }).collect();
                    around.sort_by_key(|event| (event.ts_ns, std::cmp::Reverse(event.value)));
                    prop_assert_eq!(around.iter().map(|event| &*event.name).collect::<Vec<_>>(), names.clone());
                }
                now += *weight as i64;
            }
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
            let spans: Vec<_> = reading.short().iter().map(|&(ts, dur, name)| (ts, dur, name.to_owned())).collect();
            (spans, reading.losses.count(Loss::MissingWeight))
        };
        let spans = |ns: [u64; 3]| {
            let rows = [(0, ns[0] + ns[1], "a"), (ns[0], ns[1], "b"), (ns[0] + ns[1], ns[2], "c")];
            rows.map(|(ts, dur, name)| (ts as i64, dur, name.to_owned())).to_vec()
        };
        // A number that ends where the file does may have had more digits.
        assert_eq!(cut(",\"weights"), (spans([1_000_000; 3]), 3));
        assert_eq!(cut("70,9"), (spans([5, 5, 5]), 2));
        assert_eq!(cut("9]"), (spans([5, 70, 70]), 1));
        // Also in a file that is whole.
        let reading = read(&file(&profile.replace(r#","weights":[5,70,9]"#, "")));
        assert_eq!(reading.lost(), [(Loss::MissingWeight, 3)]);
        assert_eq!(reading.events.len(), 3);
    }

    /// The reading of an evented profile by a reader that holds the whole document: each event with its frame's name.
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
                    // A brace of its own kind where another was may end the element that follows, and the profile.
                    let spared =
                        if matches!(byte, b'{' | b'}') || offset == 0 || offset + 1 == victim.len() { 4 } else { 7 };
                    assert!(kept >= spared, "{offset} {}: {kept} {:?}", byte as char, reading.kinds());
                    assert!(is_same || kept == 8 || reading.losses.total() > 0, "{offset} {}", byte as char);
                }
            }
        }
    }
}

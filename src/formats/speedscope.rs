//! The file format of speedscope: profiles that share a table of frames, each a thread here. Evented profiles are begins and
//! ends. Sampled ones are stacks with weights, which many tools sum up or sort: a weight is how long the stack is drawn, as
//! speedscope does it in order of time, so they become spans and not samples. Weights that are no times are drawn 1 ms each,
//! bytes 1 ns each.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::batch::{BatchBuilder, bare};
use super::document::{Document, Unit};
use super::source::Source;
use super::{BatchSink, ReadContext, ReadError, Reader, StreamReader};
use crate::model::{Event, EventKind, Id, Loss, Metadata, NameIdx, Place, TrackIdx, TrackKey, TrackKind};

/// Whether this is JSON that names speedscope.
#[must_use]
pub fn looks_like_speedscope(head: &[u8]) -> bool {
    let has = |text: &str| memchr::memmem::find(head, text.as_bytes()).is_some();
    super::detect::looks_like_json(head) && has("speedscope") && !has("\"traceEvents\"")
}

/// Makes a reader of a speedscope file.
#[must_use]
pub fn open(source: Source) -> Reader {
    Reader::Stream(Box::new(Speedscope { source: Some(source) }))
}

struct Speedscope {
    source: Option<Source>,
}

#[derive(Deserialize)]
struct File<'a> {
    name: Option<String>,
    shared: Shared,
    #[serde(borrow)]
    profiles: Vec<Profile<'a>>,
}

#[derive(Deserialize)]
struct Shared {
    frames: Vec<Frame>,
}

#[derive(Deserialize)]
struct Frame {
    name: String,
    file: Option<String>,
    line: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Profile<'a> {
    #[serde(rename = "type")]
    kind: String,
    name: Option<String>,
    unit: Option<String>,
    #[serde(borrow)]
    start_value: Option<&'a RawValue>,
    #[serde(borrow, default)]
    events: Vec<FrameEvent<'a>>,
    #[serde(default)]
    samples: Vec<Vec<u32>>,
    #[serde(borrow, default)]
    weights: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct FrameEvent<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(borrow)]
    at: &'a RawValue,
    frame: u32,
}

impl StreamReader for Speedscope {
    fn read(&mut self, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let Some(source) = self.source.take() else { return Ok(()) };
        let document = Document::read(source, context)?;
        let file: File<'_> = document.parse()?;
        let mut batch = BatchBuilder::new(context.grain);
        if let Some(name) = file.name {
            batch.batch.metadata.push(Metadata::ProcessName { pid: Id::None, name: name.into() });
        }
        let frames: Vec<String> = file.shared.frames.into_iter().map(Frame::title).collect();
        for (number, profile) in (1i64..).zip(&file.profiles) {
            let tid = Id::Number(number);
            let name = profile.title().into();
            batch.batch.metadata.push(Metadata::ThreadName { pid: Id::None, tid: tid.clone(), name });
            let key = TrackKey { kind: TrackKind::Thread, pid: Id::None, tid, name: Box::default(), slot: 0 };
            let mut maker = Maker { frames: &frames, key, batch: &mut batch, sink: &mut *sink, context };
            match &*profile.kind {
                "evented" => maker.events(profile)?,
                "sampled" => maker.samples(profile)?,
                _ => maker.batch.lose(Loss::UnknownPhase, Place::Offset(0)),
            }
        }
        batch.flush(sink)
    }
}

impl Frame {
    fn title(self) -> String {
        let Some(file) = self.file else { return self.name };
        let file = file.rsplit(['/', '\\']).next().unwrap_or_default();
        match self.line {
            Some(line) => format!("{} ({file}:{line})", self.name),
            None => format!("{} ({file})", self.name),
        }
    }
}

impl Profile<'_> {
    /// Its unit, and whether that is one of time.
    fn unit(&self) -> (Unit, bool) {
        match self.unit.as_deref() {
            Some("nanoseconds") => (Unit::Nanoseconds, true),
            Some("microseconds") => (Unit::Microseconds, true),
            Some("milliseconds") => (Unit::Milliseconds, true),
            Some("seconds") => (Unit::Seconds, true),
            Some("bytes") => (Unit::Nanoseconds, false),
            _ => (Unit::Milliseconds, false),
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

struct Maker<'a> {
    frames: &'a [String],
    key: TrackKey,
    batch: &'a mut BatchBuilder,
    sink: &'a mut dyn BatchSink,
    context: &'a ReadContext,
}

impl Maker<'_> {
    /// The track and the name of a frame. A frame that the table does not have is counted, and has no name.
    fn rows(&mut self, frame: u32, place: Place) -> (TrackIdx, NameIdx) {
        let track = self.batch.track_with(&self.key);
        let Some(name) = self.frames.get(frame as usize) else {
            self.batch.lose(Loss::MissingText, place);
            return (track, NameIdx::EMPTY);
        };
        (track, self.batch.name(name.as_bytes(), None, place))
    }

    fn events(&mut self, profile: &Profile<'_>) -> Result<(), ReadError> {
        let (unit, _) = profile.unit();
        let mut last_ns = 0;
        for event in &profile.events {
            let Ok(ts_ns) = unit.nanos(event.at) else {
                self.batch.lose(Loss::BadTime, Place::Time(last_ns));
                continue;
            };
            last_ns = ts_ns;
            let kind = match &*event.kind {
                "O" => EventKind::Begin,
                "C" => EventKind::End,
                _ => {
                    self.batch.lose(Loss::UnknownPhase, Place::Time(ts_ns));
                    continue;
                }
            };
            let (track, name) = self.rows(event.frame, Place::Time(ts_ns));
            self.batch.push(bare(ts_ns, kind, track, name));
            self.batch.flush_if_full(self.sink, self.context)?;
        }
        Ok(())
    }

    /// A frame goes on while the stacks that follow have it at the same depth, below the same frames.
    fn samples(&mut self, profile: &Profile<'_>) -> Result<(), ReadError> {
        let (unit, _) = profile.unit();
        let mut now_ns = profile.start_value.map_or(Ok(0), |start| unit.nanos(start)).unwrap_or_else(|_| {
            self.batch.lose(Loss::BadTime, Place::Time(0));
            0
        });
        if profile.samples.len() != profile.weights.len() {
            let count = profile.samples.len().abs_diff(profile.weights.len()) as u64;
            self.batch.batch.losses.add_many(Loss::BadRecord, Place::Time(now_ns), count);
        }
        let mut open: Vec<(u32, i64)> = Vec::new();
        for (stack, weight) in profile.samples.iter().zip(&profile.weights) {
            let same = open.iter().zip(stack).take_while(|((open, _), frame)| open == *frame).count();
            self.close(&mut open, same, now_ns)?;
            open.extend(stack[same..].iter().map(|&frame| (frame, now_ns)));
            let next_ns = unit.nanos(weight).ok().filter(|&ns| ns >= 0).and_then(|ns| now_ns.checked_add(ns));
            match next_ns {
                Some(next_ns) => now_ns = next_ns,
                None => self.batch.lose(Loss::BadNumber, Place::Time(now_ns)),
            }
        }
        self.close(&mut open, 0, now_ns)
    }

    /// Ends the frames below a depth.
    fn close(&mut self, open: &mut Vec<(u32, i64)>, depth: usize, now_ns: i64) -> Result<(), ReadError> {
        // Outermost first, so that of frames with the same times the outer one comes first.
        for &(frame, start_ns) in &open[depth..] {
            let (track, name) = self.rows(frame, Place::Time(start_ns));
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
                    // At equal starts the outer one is the longer one, or comes first.
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
    fn a_file_that_is_cut_anywhere_is_refused_with_the_place() {
        let whole = file(r#"{"type":"sampled","unit":"none","samples":[[0]],"weights":[2]}"#);
        assert_eq!(read(&whole).short(), [(0, 2_000_000, "a")]);
        let enough = whole.find("profiles").expect("there");
        for len in enough..whole.len() {
            let error = read_bytes(&whole.as_bytes()[..len]).expect_err("refused").to_string();
            assert!(error.contains(&format!("byte {len}: expected the JSON of a profile, found the end")), "{error}");
        }
        let damaged = whole.replace("\"weights\"", "weights");
        let error = read_bytes(damaged.as_bytes()).expect_err("refused").to_string();
        let at = damaged.find("weights").expect("there");
        assert!(error.contains(&format!("byte {}", at + 1)) || error.contains(&format!("byte {at}")), "{error}");
    }
}

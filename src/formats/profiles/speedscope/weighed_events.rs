//! Evented profiles whose values are not times, such as bytes: each stack is a sample that weighs the distance to
//! the next event. Spans would add these weights to times.

use super::{FrameEvent, NamedWeight, SpeedscopeEventBuilder, SpeedscopeProfile};
use crate::formats::ReadError;
use crate::formats::output::batch::STACK_FRAMES_MAX;
use crate::formats::profiles::weighed::position_after;
use crate::formats::profiles::weight_scale::WeightScale;
use crate::model::{Loss, LossValue, Losses, NameIdx, SampleMeasure, SourcePos, StackIdx};

/// A frame that is open, and its stack in the batch.
struct OpenFrame {
    frame: Option<u32>,
    stack: StackIdx,
}

/// The open frames, outermost first.
#[derive(Default)]
struct OpenFrames {
    frames: Vec<OpenFrame>,
    /// Number of deeper frames beyond the limit, which are not stored.
    beyond: u64,
}

impl SpeedscopeEventBuilder<'_> {
    /// Reads the events of a profile whose unit is not a time.
    pub(super) fn weighed_events(&mut self, profile: &SpeedscopeProfile) -> Result<(), ReadError> {
        let (measure, unit, scale) = profile.measure(self.has_fractional_value(profile)?);
        let (mut now_ns, mut last) = (0, None);
        let mut open = OpenFrames::default();
        let mut events = self.document.elements(profile.events);
        while let Some(element) = events.next()? {
            let pos = SourcePos::Offset(element.offset);
            let Some(event) = element.parse::<FrameEvent<'_>>(self.batch.losses()) else { continue };
            let value = event.at.and_then(|at| scale.parse(at.get().as_bytes()));
            let Some(value) = value.filter(|value| last.is_none_or(|last| value.weight >= last)) else {
                self.batch.lose(Loss::BadTime, pos);
                continue;
            };
            self.batch.losses().add_many(Loss::RoundedWeight, pos, u64::from(value.is_rounded));
            let weight = value.weight.abs_diff(last.replace(value.weight).unwrap_or(value.weight));
            if let Some(innermost) = open.frames.last().filter(|_| weight > 0) {
                let track = self.batch.track_with(&self.key);
                self.push_sample(now_ns, (track, innermost.stack), NamedWeight { event: measure, unit, weight });
            }
            let drawn_ns = SampleMeasure { event: "".into(), unit: unit.into(), weight }.drawn_ns();
            now_ns = position_after(now_ns, drawn_ns, pos, self.batch);
            match &*event.kind {
                "O" => self.open(&mut open, event.frame, pos),
                "C" => self.close(&mut open, event.frame, pos),
                kind => self.batch.lose_value(Loss::UnknownPhase, LossValue::text(kind.as_bytes()), pos),
            }
            if self.batch.is_full() {
                self.batch.flush_if_full(self.sink, self.context)?;
                self.renew_stacks(&mut open.frames, pos);
            }
        }
        Ok(())
    }

    fn open(&mut self, open: &mut OpenFrames, frame: Option<u32>, pos: SourcePos) {
        if open.frames.len() >= STACK_FRAMES_MAX {
            open.beyond += 1;
            return self.batch.lose(Loss::DeepNesting, pos);
        }
        let caller = open.frames.last().map_or(StackIdx::EMPTY, |caller| caller.stack);
        let (_, name) = self.rows(frame, pos);
        let stack = self.batch.frame(caller, name);
        open.frames.push(OpenFrame { frame, stack });
    }

    /// Closes a frame and the frames inside it.
    fn close(&mut self, open: &mut OpenFrames, frame: Option<u32>, pos: SourcePos) {
        if open.beyond > 0 {
            open.beyond -= 1;
            return;
        }
        let Some(depth) = open.frames.iter().rposition(|open| open.frame == frame) else {
            return self.batch.lose(Loss::UnmatchedEnd, pos);
        };
        if depth + 1 < open.frames.len() {
            self.batch.lose(Loss::MismatchedEnd, pos);
        }
        open.frames.truncate(depth);
    }

    /// Adds the stacks of the open frames to a new batch.
    fn renew_stacks(&mut self, open: &mut [OpenFrame], pos: SourcePos) {
        let mut caller = StackIdx::EMPTY;
        for open in open {
            let name = self.name(open.frame, pos).unwrap_or(NameIdx::EMPTY);
            caller = self.batch.frame(caller, name);
            open.stack = caller;
        }
    }

    /// Returns whether a value of an event has a fraction.
    fn has_fractional_value(&self, profile: &SpeedscopeProfile) -> Result<bool, ReadError> {
        let mut events = self.document.elements(profile.events);
        // The events are read again, with their losses.
        let mut losses = Losses::default();
        while let Some(event) = events.next()? {
            let value = event.parse::<FrameEvent<'_>>(&mut losses).and_then(|event| event.at);
            if value.is_some_and(|at| WeightScale::Whole.is_rounded(at.get().as_bytes())) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::{Reading, read};

    fn read_events(unit: &str, events: &str) -> Reading {
        read(&format!(
            r#"{{"$schema":"https://www.speedscope.app/file-format-schema.json",
            "shared":{{"frames":[{{"name":"a"}},{{"name":"b"}}]}},
            "profiles":[{{"type":"evented","name":"p","unit":"{unit}","startValue":0,"endValue":90,"events":[{events}]}}]}}"#
        ))
    }

    /// Returns position, unit, weight and frames of each sample.
    fn samples(reading: &Reading) -> Vec<(i64, String, u64, String)> {
        let samples = reading.events.iter().map(|event| {
            let SampleMeasure { unit, weight, .. } = SampleMeasure::from_args(&event.args);
            (event.ts_ns, unit.into_owned(), weight, event.stack.join(";"))
        });
        samples.collect()
    }

    #[test]
    fn events_in_bytes_and_counts_are_not_times_and_weigh_the_distance_to_the_next_event() {
        let events = r#"{"type":"O","frame":0,"at":10},{"type":"O","frame":1,"at":14},{"type":"C","frame":1,"at":44},
            {"type":"C","frame":0,"at":50},{"type":"O","frame":0,"at":60},{"type":"C","frame":0,"at":80}"#;
        for (unit, read_as, drawn_ns) in [("bytes", "bytes", 1), ("none", "count", 1000)] {
            let reading = read_events(unit, events);
            let sample = |at: i64, weight, stack: &str| (at * drawn_ns, read_as.to_owned(), weight, stack.to_owned());
            let expected = [sample(0, 4, "a"), sample(4, 30, "a;b"), sample(34, 6, "a"), sample(50, 20, "a")];
            assert_eq!((samples(&reading), reading.lost()), (expected.to_vec(), vec![]), "{unit}");
            assert!(reading.events.iter().all(|event| event.track.is_untimed()), "{unit}");
        }
    }

    #[test]
    fn frames_beyond_the_limit_are_counted_and_their_ends_close_no_others() {
        let depth = STACK_FRAMES_MAX + 2;
        let event = |kind: &str, level: usize, at: u32| {
            format!(r#"{{"type":"{kind}","frame":{},"at":{at}}}"#, usize::from(level > 0))
        };
        let opens = (0..depth).map(|level| event("O", level, 0));
        // The outermost frame ends last, and weighs alone.
        let closes = (0..depth).rev().map(|level| event("C", level, if level > 0 { 0 } else { 7 }));
        let reading = read_events("bytes", &opens.chain(closes).collect::<Vec<_>>().join(","));
        assert_eq!(samples(&reading), [(0, "bytes".to_owned(), 7, "a".to_owned())]);
        assert_eq!(reading.lost(), [(Loss::DeepNesting, 2)]);
    }

    #[test]
    fn events_that_do_not_match_or_go_back_are_counted_and_fractions_of_counts_are_kept() {
        let events = r#"{"type":"O","frame":0,"at":0.5},{"type":"O","frame":1,"at":1},{"type":"C","frame":0,"at":3},
            {"type":"C","frame":1,"at":4},{"type":"O","frame":0,"at":2},{"type":"Q","frame":0,"at":5},{"type":"O","frame":7,"at":6},
            {"type":"C","frame":7,"at":7}"#;
        let reading = read_events("none", events);
        let weights: Vec<_> =
            samples(&reading).into_iter().map(|(_, unit, weight, stack)| (unit, weight, stack)).collect();
        let sample = |weight, stack: &str| ("millionths".to_owned(), weight, stack.to_owned());
        assert_eq!(weights, [sample(500_000, "a"), sample(2_000_000, "a;b"), sample(1_000_000, "")]);
        let mut lost = reading.lost();
        lost.sort();
        let mut expected =
            [Loss::MismatchedEnd, Loss::UnmatchedEnd, Loss::BadTime, Loss::UnknownPhase, Loss::MissingText]
                .map(|loss| (loss, 1));
        expected.sort();
        assert_eq!(lost, expected);
    }
}

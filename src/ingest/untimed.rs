//! Places the samples of profiles without times beside events with times. Readers lay such samples side by side from 0,
//! which is years before the times of most traces. They are moved to the start of the events with times, as a whole.
//!
//! The trace does not state their position, so they do not extend its time range.

use std::ops::Range;

use crate::formats::ChunkHead;
use crate::model::{Event, Track, TrackIdx};

/// The batches with samples that have no times, with the chunks that they became.
#[derive(Debug, Default)]
pub(super) struct UntimedBatches(Vec<(Range<usize>, BatchStarts)>);

/// The starts of a batch with samples that have no times.
#[derive(Debug)]
pub(super) struct BatchStarts {
    /// Position of the first sample without a time.
    untimed_ns: i64,
    /// Time of the first other event, if any.
    timed_ns: Option<i64>,
}

impl BatchStarts {
    /// Returns the starts of the events of a batch, which are on tracks `of_batch` of the trace. Returns `None` if all
    /// of them have times.
    pub(super) fn from_events(events: &[Event], tracks: &[Track], of_batch: &[TrackIdx]) -> Option<Self> {
        let is_untimed = |track: TrackIdx| tracks.get(track.index()).is_some_and(|track| track.key.is_untimed());
        if !of_batch.iter().any(|&track| is_untimed(track)) {
            return None;
        }
        let start_ns = |is_wanted: bool| {
            let events = events.iter().filter(|event| is_untimed(event.track) == is_wanted);
            events.map(|event| event.ts_ns).min()
        };
        Some(Self { untimed_ns: start_ns(true)?, timed_ns: start_ns(false) })
    }
}

impl UntimedBatches {
    /// Adds a batch after the earlier ones.
    pub(super) fn push(&mut self, chunks: Range<usize>, starts: BatchStarts) {
        self.0.push((chunks, starts));
    }

    /// Moves the batches of all chunks from `first` on, as the chunks are.
    pub(super) fn move_from(&mut self, first: usize, by_ns: i64) {
        for (_, starts) in self.0.iter_mut().filter(|(chunks, _)| chunks.start >= first) {
            starts.untimed_ns = starts.untimed_ns.saturating_add(by_ns);
            starts.timed_ns = starts.timed_ns.map(|start_ns| start_ns.saturating_add(by_ns));
        }
    }

    /// Returns the distance from the first sample without a time to the first event with one; 0 without either. So a
    /// trace that was exported with moved samples is read back unchanged.
    pub(super) fn distance_ns(&self, heads: &[ChunkHead]) -> i64 {
        let Some(untimed_ns) = self.0.iter().map(|(_, starts)| starts.untimed_ns).min() else { return 0 };
        let mut batches = self.0.iter().peekable();
        let mut has_times_only = |chunk: usize| {
            while batches.next_if(|(chunks, _)| chunks.end <= chunk).is_some() {}
            batches.peek().is_none_or(|(chunks, _)| chunk < chunks.start)
        };
        let chunks = heads.iter().enumerate().filter(|&(chunk, _)| has_times_only(chunk));
        let of_batches = self.0.iter().filter_map(|(_, starts)| starts.timed_ns);
        let timed_ns = chunks.map(|(_, head)| head.min_ts_ns).chain(of_batches).min();
        timed_ns.map_or(0, |timed_ns| timed_ns.saturating_sub(untimed_ns))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::base::cancel::Cancel;
    use crate::base::progress::Progress;
    use crate::ingest::{self, CachePolicy, LoadOptions};
    use crate::store::{LaneIdx, LaneKind};

    fn head(min_ts_ns: i64) -> ChunkHead {
        ChunkHead { min_ts_ns, max_ts_ns: min_ts_ns, events: 1, memory_bytes: 1 }
    }

    #[test]
    fn the_distance_is_that_of_all_samples_without_times_to_the_first_event_with_one() {
        let heads = [500, 7, 9, 0, 300].map(head);
        let mut batches = UntimedBatches::default();
        assert_eq!(batches.distance_ns(&heads), 0, "all events have times");
        batches.push(1..3, BatchStarts { untimed_ns: 7, timed_ns: None });
        batches.push(3..4, BatchStarts { untimed_ns: 0, timed_ns: Some(400) });
        assert_eq!(batches.distance_ns(&heads), 300);
        batches.move_from(3, 1000);
        assert_eq!(batches.distance_ns(&[500, 7, 9, 1000, 1300].map(head)), 493, "the later file was moved");
        let mut alone = UntimedBatches::default();
        alone.push(0..1, BatchStarts { untimed_ns: 0, timed_ns: None });
        assert_eq!(alone.distance_ns(&heads[..1]), 0, "no event has a time");
    }

    /// Kind, start and end of a lane.
    type LaneTimes = (LaneKind, i64, i64);

    /// Returns the lanes and the time range of a trace.
    fn imported(records: &[&str]) -> (Vec<LaneTimes>, (i64, i64)) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        write!(file, "[{}]", records.join(",")).unwrap();
        let options = LoadOptions { cache: CachePolicy::None, ..LoadOptions::default() };
        let store = ingest::open(file.path(), &options, &Cancel::default(), &Progress::default()).unwrap().store;
        let info = |lane| store.lane(LaneIdx(lane)).info();
        let mut lanes: Vec<_> =
            (0..store.lane_count()).map(info).map(|lane| (lane.kind, lane.start_ns, lane.end_ns)).collect();
        lanes.sort_unstable_by_key(|&(kind, start_ns, end_ns)| (kind as u8, start_ns, end_ns));
        let summary = &store.meta().summary;
        (lanes, (summary.start_ns, summary.end_ns))
    }

    #[test]
    fn samples_without_times_start_with_the_trace_and_do_not_extend_it() {
        let args = r#""args":{"event":"x","unit":"bytes","period":20000}"#;
        let sample = |ts: u32| format!(r#"{{"ph":"P","untimed":true,"pid":1,"tid":1,"ts":{ts},"stack":["f"],{args}}}"#);
        let [first, second] = [0, 20].map(sample);
        let span = r#"{"ph":"X","name":"s","pid":1,"tid":1,"ts":1000000,"dur":10}"#;
        let (lanes, range_ns) = imported(&[&first, span, &second]);
        let at = |us: i64| 1_000_000_000 + us * 1000;
        let expected =
            [(LaneKind::Spans, at(0), at(10)), (LaneKind::Spans, at(0), at(40)), (LaneKind::Samples, at(0), at(20))];
        assert_eq!(range_ns, (at(0), at(10)));
        for lane in expected {
            assert!(lanes.contains(&lane), "{lane:?} in {lanes:?}");
        }
        let (lanes, range_ns) = imported(&[&first, &second]);
        assert_eq!(range_ns, (0, 40_000), "positions are the range of a trace of nothing else");
        assert!(lanes.contains(&(LaneKind::Samples, 0, 20_000)), "{lanes:?}");
        // An exported trace has the samples where they were drawn.
        let [first, second] = [1_000_000, 1_000_020].map(sample);
        assert_eq!(imported(&[&first, span, &second]).1, (at(0), at(10)));
    }
}

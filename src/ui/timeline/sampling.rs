//! The samples that a bar of a flame chart in the timeline is made of.

use crate::base::time::{counted, duration_text};
use crate::model::sample_measure::SAMPLES;
use crate::query::Snapshot;
use crate::query::pick::rows_starting;
use crate::store::LaneIdx;
use crate::store::lane::{LaneKind, RowIdx};

/// Describes the samples of a bar, such as `33 samples, one every 100 µs`. Returns `None` for other rows, for profiles
/// without times, and for threads with samples of several events, whose bars have a track for each event.
#[must_use]
pub(crate) fn sampling_text(snapshot: &Snapshot, row: RowIdx) -> Option<String> {
    let info = snapshot.lane(row.lane);
    let track = snapshot.track(info.track);
    if !track.key.kind.is_derived() || track.key.is_untimed() || *track.name != *SAMPLES {
        return None;
    }
    let bar = snapshot.row(row);
    let lanes = snapshot.lanes_of(snapshot.thread_of(info.track)).map(LaneIdx);
    let sampled = lanes.filter(|&lane| snapshot.lane(lane).kind == LaneKind::Samples);
    // The sample at the end of a bar no longer belongs to the bar.
    let end_ns = bar.end_ns().max(bar.start_ns.saturating_add(1));
    let count: u64 = sampled.map(|lane| rows_starting(snapshot, lane, bar.start_ns, end_ns)).sum();
    let each_ns = bar.dur_ns.checked_div(count)?;
    let each = if count > 1 { format!(", one every {}", duration_text(each_ns)) } else { String::new() };
    Some(counted(count, "sample") + &each)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_has_its_own_samples_and_those_of_several_events_are_not_counted_together() {
        let sample = |ts: u32, stack: &str, event: &str| {
            format!(r#"{{"ph":"P","name":"s","pid":1,"tid":1,"ts":{ts},"sf":"{stack}","args":{{"event":"{event}"}}}}"#)
        };
        let texts = |last_event: &str| {
            let rows =
                [(0, "f"), (100, "g"), (200, "g"), (300, "g"), (400, "f")].map(|(ts, stack)| sample(ts, stack, "a"));
            let rows = [&rows[..], &[sample(500, "f", last_event)]].concat().join(",");
            let frames = r#"{"f":{"name":"f"},"g":{"name":"g","parent":"f"}}"#;
            let snapshot =
                crate::scene::tests::snapshot(&format!(r#"{{"stackFrames":{frames},"traceEvents":[{rows}]}}"#));
            let charts = (0..snapshot.store().lane_count())
                .map(LaneIdx)
                .filter(|&lane| snapshot.track(snapshot.lane(lane).track).key.kind.is_derived());
            let first = |lane| sampling_text(&snapshot, RowIdx { lane, row: 0 });
            let thread = (0..snapshot.store().lane_count())
                .map(LaneIdx)
                .find(|&lane| snapshot.lane(lane).kind == LaneKind::Samples);
            assert_eq!(thread.and_then(first), None, "a sample is no bar");
            charts.map(first).collect::<Vec<_>>()
        };
        let text = |text: &str| Some(text.to_owned());
        // The trace ends with the last sample.
        assert_eq!(texts("a"), [text("5 samples, one every 100 µs"), text("3 samples, one every 100 µs")]);
        assert!(texts("b").iter().all(Option::is_none));
    }
}

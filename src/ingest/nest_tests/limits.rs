//! Nesting into full tables: events without an index are counted, and appear on no other track.

use super::*;

#[test]
fn events_without_a_track_left_for_them_are_counted_and_on_no_other_track() {
    let full = || Registry::with_limit(TRACKS - 1);
    let asynchronous = |kind, ts_ns, id| event(kind, ts_ns, id, 0, 1);
    let events = [asynchronous(EventKind::AsyncBegin, 0, 7), asynchronous(EventKind::AsyncEnd, 10, 7)].to_vec();
    let lost = nest_in(full(), events, &Details::default(), (TrackKind::Async, 0), Stacks::default());
    assert_eq!((lost.spans(), lost.nested.summary.spans), (Vec::new(), 0));
    let losses = &lost.nested.losses;
    assert_eq!((losses.count(Loss::OverLimit), losses.count(Loss::UnmatchedEnd)), (2, 0));
    let mut stacks = Stacks::default();
    let stack = stacks.intern_path([NameIdx(1)]);
    let sample = event(EventKind::Sample, 5, stack.0.into(), 0, 0);
    let sampled = nest_in(full(), vec![sample], &Details::default(), (TrackKind::Thread, 0), stacks);
    assert_eq!(
        (sampled.nested.summary.samples, sampled.rows(LaneKind::Samples).len(), sampled.spans()),
        (1, 1, vec![])
    );
    assert_eq!(sampled.nested.losses.count(Loss::OverLimit), 1, "it has no chart");
}

/// Begins of async spans at 0, 1, 2 and so on, four more than there are lanes, all with one id and name.
fn too_many_begins() -> Vec<Event> {
    (0..LANES + 4).map(|ts_ns| event(EventKind::AsyncBegin, ts_ns, 1, 0, 1)).collect()
}

const LANES: i64 = 1 << 16;

fn async_ends(count: i64, name: u32) -> impl Iterator<Item = Event> {
    let flags = if name == 0 { EventFlags::UNNAMED } else { EventFlags::NONE };
    (0..count).map(move |k| Event { flags, ..event(EventKind::AsyncEnd, 100_000 + k, 1, 0, name) })
}

#[test]
fn each_async_span_without_a_lane_is_lost_once_and_its_end_is_no_instant() {
    for name in [0, 1] {
        let events = too_many_begins().into_iter().chain(async_ends(LANES + 4, name)).collect();
        let nested = nest_on(events, &Details::default(), (TrackKind::Async, 0), Stacks::default());
        let losses = &nested.nested.losses;
        assert_eq!((losses.count(Loss::DeepNesting), losses.total()), (4, 4), "{losses:?}");
        assert_eq!((nested.spans().len(), nested.rows(LaneKind::Instants)), (1 << 16, vec![]));
    }
}

#[test]
fn the_ends_that_async_spans_without_a_lane_lack_are_not_taken_from_other_ids() {
    let other = |kind, ts_ns, name, flags| Event { flags, ..event(kind, ts_ns, 2, 0, name) };
    let others = [
        other(EventKind::AsyncBegin, 500_000, 1, EventFlags::NONE),
        other(EventKind::AsyncEnd, 500_010, 0, EventFlags::UNNAMED),
    ];
    let events = too_many_begins().into_iter().chain(async_ends(LANES, 1)).chain(others).collect();
    let nested = nest_on(events, &Details::default(), (TrackKind::Async, 0), Stacks::default());
    let spans = nested.spans();
    let last: Vec<_> = spans.iter().filter(|span| span.2 == 500_000).collect();
    assert_eq!((spans.len(), last.len()), (1 + (1 << 16), 1));
    let &&(_, depth, _, dur, _, unfinished) = last.first().unwrap();
    assert_eq!((depth, dur, unfinished), (0, 10, false));
}

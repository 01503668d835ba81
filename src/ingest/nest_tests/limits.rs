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

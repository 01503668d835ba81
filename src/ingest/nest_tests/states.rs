//! The ends of states that are open at the end of the trace.

use super::*;

#[test]
fn an_open_state_of_a_program_ends_after_the_open_spans_of_all_tracks() {
    for (program, other) in [(0, 1), (1, 0)] {
        // The last event of its track is at 90.
        let unfinished = Event { value: 80, flags: EventFlags::UNFINISHED, ..event(EventKind::Begin, 10, 0, other, 3) };
        let events =
            vec![event(EventKind::State, 0, 0, program, 1), event(EventKind::Instant, 5, 0, program, 2), unfinished];
        let (seen, nested) = spans_of(events);
        let mut expected = [(program, 0, 0, 90, 1, true), (other, 0, 10, 80, 3, true)];
        expected.sort_unstable();
        assert_eq!((seen, nested.summary.end_ns), (expected.to_vec(), 90));
    }
}

#[test]
fn an_open_state_of_a_program_ends_after_the_last_event_of_the_scheduler() {
    let thread = TrackKey::new(TrackKind::State, Id::Number(5), Id::Number(6));
    let program = TrackKey::thread(Id::Number(5), Id::Number(7));
    for (scheduled, of_program) in [(0, 1), (1, 0)] {
        let mut registry = Registry::default();
        for track in 0..2 {
            registry.track(if track == scheduled { &thread } else { &program });
        }
        let running = Event { flags: EventFlags::AWAKE, ..event(EventKind::State, 0, 0, scheduled, 1) };
        // A wakeup of a running thread enters no state.
        let wakeup = Event { flags: EventFlags::FROM_REST, ..event(EventKind::State, 70, 0, scheduled, 2) };
        let state = event(EventKind::State, 0, 0, of_program, 3);
        let instant = event(EventKind::Instant, 5, 0, of_program, 4);
        let events = vec![running, state, instant, wakeup];
        let result = nest_in(registry, events, &Details::default(), (TrackKind::Thread, 0), Stacks::default());
        let mut expected = [(scheduled, 0, 0, 70, 1, true), (of_program, 0, 0, 70, 3, true)];
        expected.sort_unstable();
        assert_eq!((result.spans(), result.nested.summary.end_ns), (expected.to_vec(), 70));
    }
}

//! Samples: rows of their thread, and charts on derived tracks.

use super::*;

#[test]
fn samples_are_kept_on_their_thread_and_drawn_on_a_track_below_it_that_nothing_counts() {
    let mut stacks = Stacks::default();
    let inner = stacks.intern_path([NameIdx(1), NameIdx(2)]);
    let outer = stacks.intern_path([NameIdx(1)]);
    let sample = |ts_ns, stack: StackIdx, track| event(EventKind::Sample, ts_ns, u64::from(stack.0), track, 0);
    let events = vec![
        sample(0, inner, 1),
        complete(5, 3, 4),
        sample(10, inner, 1),
        sample(20, outer, 1),
        sample(7, outer, 0),
        sample(30, StackIdx(99), 1),
    ];
    let result = nest_with(events, &Details::default(), TrackKind::Thread, stacks);
    let (summary, tracks) = (&result.nested.summary, &result.store.meta().tracks.tracks);
    assert_eq!((summary.samples, summary.spans, summary.end_ns), (5, 1, 30));
    let kept: Vec<_> =
        result.rows(LaneKind::Samples).iter().map(|(track, _, row, _)| (track.0, row.start_ns)).collect();
    assert_eq!(kept, [(0, 7), (1, 0), (1, 10), (1, 20), (1, 30)]);
    let leaf: Vec<u32> = result.rows(LaneKind::Samples).iter().map(|(_, _, row, _)| row.name).collect();
    assert_eq!(leaf, [1, 2, 2, 1, 0], "a sample is named after its innermost frame");
    let drawn: Vec<Seen> = result.spans().into_iter().filter(|span| span.0 >= TRACKS).collect();
    let chart_of = |tid: u32| {
        let is_chart = |track: &crate::model::Track| {
            track.key.kind == TrackKind::Samples && track.key.tid == Id::Number(i64::from(tid))
        };
        tracks.iter().position(is_chart).unwrap() as u32
    };
    let (first, second) = (chart_of(0), chart_of(1));
    let mut expected = [(second, 0, 0, 30, 1, false), (second, 1, 0, 20, 2, false), (first, 0, 7, 0, 1, false)];
    expected.sort_unstable();
    assert_eq!(drawn, expected);
}

/// Returns the charts of a thread: the name of each track with its spans.
fn charts(result: &Result) -> Vec<(String, Vec<(i64, u64)>)> {
    let tracks = result.store.meta().tracks.tracks.iter().zip(0..);
    let charts = tracks.filter(|(track, _)| track.key.kind == TrackKind::Samples);
    let spans = result.spans();
    let of = |row: u32| spans.iter().filter(|span| span.0 == row).map(|span| (span.2, span.3)).collect();
    charts.map(|(track, row)| (track.name.to_string(), of(row))).collect()
}

/// Creates a sample with this stack and these arguments, on the first track.
fn sample_with(details: &mut Details, ts_ns: i64, stack: StackIdx, args_json: &str) -> Event {
    let detail = details.push(&Detail { args_json, ..Detail::default() });
    Event { detail, ..event(EventKind::Sample, ts_ns, u64::from(stack.0), 0, 0) }
}

#[test]
fn each_event_of_a_thread_has_a_chart_of_its_own_that_names_it_once_there_are_several() {
    let (mut stacks, mut details) = (Stacks::default(), Details::default());
    let stack = stacks.intern_path([NameIdx(1)]);
    let mut sample = |ts_ns, args: &str| sample_with(&mut details, ts_ns, stack, args);
    let (clock, faults) = (r#"{"event":"clock","period":9}"#, r#"{"event":"faults"}"#);
    let alone = vec![sample(0, clock), sample(10, clock)];
    let several = vec![sample(0, clock), sample(5, faults), sample(10, clock), sample(12, ""), sample(20, clock)];
    let nested = |events| charts(&nest_with(events, &details, TrackKind::Thread, stacks.clone()));
    assert_eq!(nested(alone), [("samples".to_owned(), vec![(0, 10)])]);
    let expected = [("clock", vec![(0, 20)]), ("faults", vec![(5, 0)]), ("no event", vec![(12, 0)])];
    let expected = expected.map(|(event, spans)| (format!("samples: {event}"), spans));
    assert_eq!(nested(several), expected);
}

#[test]
fn events_beyond_the_last_chart_share_it() {
    let (mut stacks, mut details) = (Stacks::default(), Details::default());
    let stack = stacks.intern_path([NameIdx(1)]);
    let events =
        (0..200).map(|number| sample_with(&mut details, number, stack, &format!(r#"{{"event":"event {number}"}}"#)));
    let events: Vec<Event> = events.collect();
    let result = nest_with(events, &details, TrackKind::Thread, stacks);
    assert_eq!((charts(&result).len(), result.nested.summary.samples), (64, 200));
}

#[test]
fn samples_without_times_are_drawn_as_wide_as_they_weigh() {
    let (mut stacks, mut details) = (Stacks::default(), Details::default());
    let outer = stacks.intern_path([NameIdx(1)]);
    let inner = stacks.intern_path([NameIdx(1), NameIdx(2)]);
    let mut sample = |ts_ns, stack, weight: u64| {
        sample_with(&mut details, ts_ns, stack, &format!(r#"{{"event":"x","unit":"bytes","period":{weight}}}"#))
    };
    // The first samples are far apart, and so is the last.
    let events = vec![sample(0, outer, 1), sample(1, inner, 1_000_000), sample(1_000_001, inner, 7)];
    let result = nest_on(events, &details, (TrackKind::Thread, TrackKey::SLOT_UNTIMED), stacks);
    let mut spans: Vec<_> = result.spans().iter().map(|span| (span.1, span.2, span.3)).collect();
    spans.sort_unstable();
    assert_eq!(spans, [(0, 0, 1_000_008), (1, 1, 1_000_007)]);
}

#[test]
fn times_off_cpu_are_drawn_as_long_as_they_are_and_never_overlap() {
    let (mut stacks, mut details) = (Stacks::default(), Details::default());
    let outer = stacks.intern_path([NameIdx(1)]);
    let inner = stacks.intern_path([NameIdx(1), NameIdx(2)]);
    let mut sample = |ts_ns, stack, dur_ns: u64| {
        sample_with(&mut details, ts_ns, stack, &format!(r#"{{"event":"off-CPU","unit":"ns","period":{dur_ns}}}"#))
    };
    // The third sample begins before the second has ended.
    let events = vec![sample(5, outer, 10), sample(20, inner, 500), sample(400, outer, 200), sample(900, inner, 0)];
    let result = nest_with(events, &details, TrackKind::Thread, stacks);
    let mut spans: Vec<_> = result.spans().iter().map(|span| (span.1, span.2, span.3)).collect();
    spans.sort_unstable();
    assert_eq!(spans, [(0, 5, 10), (0, 20, 580), (0, 900, 0), (1, 20, 500), (1, 900, 0)]);
}

/// Computes by brute force the states that apply, each until the next.
fn states_by_scan(changes: &[(i64, u32, bool, bool)], last_ns: i64) -> Vec<Seen> {
    let mut counted: Vec<(i64, u32, bool)> = Vec::new();
    for &(ts_ns, name, awake, wakes) in changes {
        let is_awake = counted.last().is_some_and(|&(_, name, awake)| name != 0 && awake);
        if !(wakes && is_awake) {
            counted.push((ts_ns, name, awake));
        }
    }
    let ends = counted.iter().skip(1).map(|next| (next.0, false)).chain([(last_ns, true)]);
    let spans = counted.iter().zip(ends).filter(|(state, (end_ns, _))| state.1 != 0 && *end_ns > state.0);
    spans.map(|(state, (end_ns, open))| (0, 0, state.0, end_ns.abs_diff(state.0), state.1, open)).collect()
}

proptest! {
    #[test]
    fn states_follow_on_each_other_and_only_one_who_rests_is_woken(
        raw in proptest::collection::vec((0i64..60, 0u32..4, any::<bool>(), any::<bool>()), 1..40),
    ) {
        let mut changes = raw;
        changes.sort_by_key(|change| change.0);
        let events = changes.iter().map(|&(ts_ns, name, awake, wakes)| {
            let awake = if awake { EventFlags::AWAKE } else { EventFlags::NONE };
            let flags = if wakes { awake.with(EventFlags::FROM_REST) } else { awake };
            Event { flags, ..event(EventKind::State, ts_ns, 0, 0, name) }
        });
        let last_ns = 100;
        // The last scheduling event is of another thread; what follows it does not extend the states.
        let last = [event(EventKind::State, last_ns, 0, 1, 0), event(EventKind::Instant, last_ns + 50, 0, 1, 1)];
        let events = events.chain(last).collect();
        let result = nest(events, &Details::default(), TrackKind::State);
        prop_assert_eq!(result.spans(), states_by_scan(&changes, last_ns));
    }
}

#[test]
fn the_last_state_of_a_program_lasts_to_the_end_of_the_trace() {
    let state = |ts_ns, name| event(EventKind::State, ts_ns, 0, 0, name);
    let events = vec![state(0, 1), state(10, 2), event(EventKind::Instant, 50, 0, 1, 3)];
    let result = nest_on(events, &Details::default(), (TrackKind::Async, TrackKey::SLOT_ALONE), Stacks::default());
    assert_eq!(result.spans(), [(0, 0, 0, 10, 1, false), (0, 0, 10, 40, 2, true)]);
    assert!(result.nested.losses.is_empty());
}

/// The rows of spans and of samples, and what was counted.
fn picture(result: &Result) -> impl PartialEq + std::fmt::Debug + use<> {
    let samples = result.rows(LaneKind::Samples).into_iter();
    let samples: Vec<_> = samples.map(|(track, _, row, _)| (track, row.start_ns, row.value, row.name)).collect();
    let tracks = result.store.meta().tracks.clone();
    (result.spans(), samples, tracks, result.nested.losses.clone(), result.nested.summary.clone())
}

proptest! {
    #[test]
    fn charts_that_wait_in_the_spill_file_are_the_same(
        steps in proptest::collection::vec(
            (0i64..9, any::<bool>(), 0u32..TRACKS, 0usize..5, proptest::collection::vec(1u32..4, 0..5)),
            0..700,
        ),
        is_untimed in any::<bool>(),
        held_bytes in 0u64..100_000,
    ) {
        let (mut stacks, mut details, mut ts_ns) = (Stacks::default(), Details::default(), 0);
        let args = [
            r#"{"event":"clock","period":9}"#,
            r#"{"event":"faults","period":2000}"#,
            "",
            r#"{"event":"cpu-clock","period":2}"#,
            r#"{"event":"off-CPU","unit":"ns","period":3}"#,
        ];
        let mut events = Vec::new();
        for (step, rests, track, args_of, path) in steps {
            ts_ns += if rests && step == 7 { 1000 } else { step };
            // A profile without times has samples that touch.
            ts_ns += if is_untimed { 2_000_000 } else { 0 };
            let stack = stacks.intern_path(path.into_iter().map(NameIdx));
            events.push(Event { track: TrackIdx(track), ..sample_with(&mut details, ts_ns, stack, args[args_of]) });
        }
        let file = SpillFile::create(&std::env::temp_dir()).unwrap();
        let slot = if is_untimed { TrackKey::SLOT_UNTIMED } else { 0 };
        let nest = |spill| {
            let (events, registry, stacks) = (events.clone(), Registry::default(), stacks.clone());
            nest_spilling(spill, registry, events, &details, (TrackKind::Thread, slot), stacks).0
        };
        let expected = picture(&nest(None));
        for held_bytes in [0, held_bytes] {
            prop_assert_eq!(&picture(&nest(Some((&file, held_bytes)))), &expected);
        }
    }
}

//! Async trees that share rows over time.

use super::*;
use crate::model::GroupPath;

#[test]
fn sibling_tracks_share_rows_over_time_and_never_at_once() {
    let mut names = Names::default();
    for name in ["a", "b", "c"] {
        names.intern(name, None);
    }
    let mut registry = Registry::default();
    for slot in 0..3 {
        let slot = TrackKey::SLOT_SIBLING + slot;
        let (pid, tid, name) = (Id::Number(1), Id::None, "queue".into());
        let key = TrackKey { kind: TrackKind::Async, pid, tid, name, slot };
        registry.track(&key);
        registry.apply(&Metadata::TrackGroup { key: key.clone(), group: "GPU".into() });
        registry.apply(&Metadata::TrackSortIndex { key, sort_index: 7 });
    }
    let mut writer = StoreWriter::new(tempfile::tempfile().unwrap(), 1 << 20).unwrap();
    let (names, stacks) = (Arc::new(names), Arc::default());
    let mut nester = Nester::new(&mut writer, &names, &stacks, &mut registry);
    let on = |track: u32, event: Event| Event { track: TrackIdx(track), ..event };
    let events = [
        on(0, begin(0, 1)),
        on(1, begin(5, 2)),
        on(0, end(10, 1)),
        on(2, begin(20, 3)),
        on(1, end(30, 2)),
        on(2, end(40, 3)),
        on(2, end(50, 3)),
    ];
    let chunk = Chunk { events: events.to_vec(), ..Chunk::default() };
    let mut table = HeadTable::default();
    table.insert(OpenRun { chunk, origin: Origin::One(0), next: 0, rest: None, charge: Budget::default().charge(0) });
    while table.open() > 0 {
        table.advance(None, |run| nester.add_run(&run)).unwrap().0.unwrap();
    }
    let nested = nester.finish().unwrap();
    let rows: Vec<&str> = registry.tables().tracks.iter().skip(3).map(|track| &*track.name).collect();
    assert_eq!(rows, ["queue", "queue"], "the third track takes the row of the first");
    assert!(registry.tables().tracks.iter().all(|track| track.sort_index == 7), "rows stand where their tracks do");
    let groups: Vec<_> = (0..5).map(|track| registry.tables().group(TrackIdx(track)).map(GroupPath::name)).collect();
    assert_eq!(groups, [Some("GPU"); 5], "rows are in the group of their tracks");
    assert_eq!(nested.summary.spans, 3);
    assert_eq!(nested.losses.count(Loss::UnmatchedEnd), 1);
}

#[test]
fn trees_named_by_their_track_and_by_their_event_share_no_row_at_once() {
    let mut registry = Registry::default();
    let slots = [("n1", TrackKey::SLOT_SIBLING), ("", TrackKey::SLOT_SIBLING + 1), ("n1", TrackKey::SLOT_NAMED)];
    for (name, slot) in slots {
        let (pid, tid, name) = (Id::Number(1), Id::None, name.into());
        registry.track(&TrackKey { kind: TrackKind::Async, pid, tid, name, slot });
    }
    let on = |track: u32, event: Event| Event { track: TrackIdx(track), ..event };
    let siblings = [on(0, begin(0, 1)), on(1, begin(1, 1)), on(0, end(5, 1)), on(1, end(9, 1))];
    let id = |track, kind, ts_ns, id, name| event(kind, ts_ns, id, track, name);
    registry.track(&TrackKey::new(TrackKind::Async, Id::Number(1), Id::None));
    let ids = [
        id(2, EventKind::AsyncBegin, 100, 1, 2),
        id(3, EventKind::AsyncBegin, 101, 2, 1),
        id(2, EventKind::AsyncEnd, 105, 1, 2),
        id(3, EventKind::AsyncEnd, 109, 2, 1),
    ];
    let events = [siblings, ids].concat();
    let result = nest_in(registry, events, &Details::default(), (TrackKind::Thread, 0), Stacks::default());
    let spans = result.spans();
    let times: Vec<_> = spans.iter().map(|&(_, depth, start, dur, ..)| (depth, start, dur)).collect();
    assert_eq!(times, [(0, 0, 5), (0, 1, 8), (0, 100, 5), (0, 101, 8)]);
    let tracks: std::collections::BTreeSet<_> = spans.iter().map(|span| span.0).collect();
    assert_eq!(tracks.len(), 4);
}

#[test]
fn an_asynchronous_span_is_in_the_process_that_began_it() {
    let mut registry = Registry::default();
    for pid in [1, 7] {
        registry.track(&TrackKey { slot: 0, ..TrackKey::new(TrackKind::Async, Id::Number(pid), Id::None) });
    }
    let at = |kind, ts_ns, track, name| event(kind, ts_ns, 2, track, name);
    let b = |ts_ns, track, name| at(EventKind::AsyncBegin, ts_ns, track, name);
    let e = |ts_ns, track, name| at(EventKind::AsyncEnd, ts_ns, track, name);
    let nested = vec![b(0, 0, 1), b(10, 1, 2), e(20, 1, 2), e(30, 0, 1)];
    // Each process has a span of the name; then one ends the span of the other.
    let same_name = vec![b(40, 0, 3), b(50, 1, 3), e(60, 0, 3), e(70, 1, 3), b(80, 0, 4), e(90, 1, 4)];
    let result =
        nest_in(registry, [nested, same_name].concat(), &Details::default(), (TrackKind::Async, 0), Stacks::default());
    let pid = |track: u32| result.store.meta().tracks.tracks[track as usize].key.pid.number();
    let mut seen: Vec<_> = result
        .spans()
        .into_iter()
        .map(|(track, depth, start, dur, name, _)| (start, dur, name, pid(track), depth))
        .collect();
    seen.sort_unstable();
    let expected = [
        (0, 30, 1, Some(1), 0),
        (10, 10, 2, Some(7), 0),
        (40, 20, 3, Some(1), 0),
        (50, 20, 3, Some(7), 0),
        (80, 10, 4, Some(1), 0),
    ];
    assert_eq!(seen, expected);
    assert!(result.nested.losses.is_empty());
}

#[test]
fn an_asynchronous_span_without_length_may_begin_in_any_process_and_end_in_any_other() {
    for (begins_in, ends_in) in [(0, 1), (1, 0), (1, 1)] {
        let at = |kind, process, id| event(kind, 5, id, process, 1);
        let mut events = Vec::new();
        for id in 0..10 {
            events.push(at(EventKind::AsyncBegin, begins_in, id));
            // It belongs to a track, whose events are nested together.
            events.push(complete(5, id, 2));
            events.push(at(EventKind::AsyncEnd, ends_in, id));
        }
        let result = nest_in(processes(2), events, &Details::default(), (TrackKind::Async, 0), Stacks::default());
        let of_ids = result.spans().into_iter().filter(|span| span.4 == 1);
        let lengths: Vec<_> = of_ids.map(|(_, _, start, dur, _, is_unfinished)| (start, dur, is_unfinished)).collect();
        assert_eq!(lengths, [(5, 0, false); 10], "from {begins_in} to {ends_in}");
        assert!(result.nested.losses.is_empty(), "{:?}", result.nested.losses);
    }
}

/// Registers an async track for each process.
fn processes(count: u32) -> Registry {
    let mut registry = Registry::default();
    for pid in 0..count {
        registry.track(&TrackKey { slot: 0, ..TrackKey::new(TrackKind::Async, Id::Number(pid.into()), Id::None) });
    }
    registry
}

#[test]
fn spans_of_many_processes_that_share_an_id_end_in_their_own_processes() {
    let at = |kind, process: u32, ts_ns| event(kind, ts_ns, 2, process, 1);
    let begins = (0..30).map(|process| at(EventKind::AsyncBegin, process, process.into()));
    let ends = (0..30).map(|process| at(EventKind::AsyncEnd, process, 100 + 2 * i64::from(process)));
    let events = begins.chain(ends).collect();
    let result = nest_in(processes(30), events, &Details::default(), (TrackKind::Async, 0), Stacks::default());
    let pid = |track: u32| result.store.meta().tracks.tracks[track as usize].key.pid.number();
    let mut seen: Vec<_> =
        result.spans().into_iter().map(|(track, _, start, dur, ..)| (start, dur, pid(track))).collect();
    seen.sort_unstable();
    assert_eq!(seen, (0_i64..30).map(|pid| (pid, 100 + pid as u64, Some(pid))).collect::<Vec<_>>());
    assert!(result.nested.losses.is_empty());
}

#[test]
fn an_end_without_a_begin_in_its_process_ends_a_span_of_the_last_8_other_processes() {
    for (later, is_ended) in [(7, true), (8, false)] {
        let at = |kind, process, ts_ns, name| event(kind, ts_ns, 2, process, name);
        let mut events = vec![at(EventKind::AsyncBegin, 0, 0, 2)];
        events.extend((1..=later).map(|process| at(EventKind::AsyncBegin, process, process.into(), 1)));
        events.push(at(EventKind::AsyncEnd, 9, 50, 2));
        let result = nest_in(processes(10), events, &Details::default(), (TrackKind::Async, 0), Stacks::default());
        assert_eq!(result.nested.losses.count(Loss::UnmatchedEnd), u64::from(!is_ended), "after {later} others");
        assert_eq!(result.spans().iter().any(|span| (span.2, span.3, span.4) == (0, 50, 2)), is_ended);
    }
}

//! Begins and ends of all kinds, compared with a plain stack; and the limit on open spans.

use proptest::prelude::*;

use super::*;
use crate::ingest::ties;
use crate::live::feed::LiveTables;
use crate::model::{Event, NameIdx, StrIdx, TrackIdx};

fn track(tid: i64) -> Arc<TrackKey> {
    let (pid, tid, name) = (Id::Number(1), Id::Number(tid), "".into());
    Arc::new(TrackKey { kind: TrackKind::Thread, pid, tid, name, slot: 0 })
}

fn event(kind: EventKind, ts_ns: i64, tid: i64, name: &str) -> LiveEvent {
    let flags = if name.is_empty() { EventFlags::UNNAMED } else { EventFlags::NONE };
    let event = Event { kind, flags, ..Event::at(ts_ns, TrackIdx(0), NameIdx(0)) };
    let name = Arc::new(LiveName::new(name.into(), None));
    let tables = Arc::new(LiveTables { names: vec![name], tracks: vec![track(tid)], ..LiveTables::default() });
    LiveEvent { event, number: 0, tables, args: Box::default(), stack: Box::default() }
}

/// Returns time, duration and name of the rows of events; a duration of -1 without an end.
fn rows(events: impl IntoIterator<Item = LiveEvent>) -> (Vec<(i64, i64, String)>, Losses) {
    let (mut pairs, mut rows) = (LivePairs::default(), Vec::new());
    let mut out = |row: LiveRow| {
        let is_unended = row.value == RowValue::Span { dur_ns: None };
        let dur_ns = if is_unended { -1 } else { row.dur_ns(row.ts_ns).cast_signed() };
        rows.push((row.ts_ns, dur_ns, row.name.text.to_string()));
    };
    events.into_iter().for_each(|event| pairs.add(event, &mut out));
    pairs.finish(&mut out);
    assert_eq!((pairs.open_count, pairs.open.len(), pairs.steps.len()), (0, 0, 0));
    (rows, pairs.losses)
}

#[test]
fn an_end_that_names_an_outer_span_ends_those_inside_of_it() {
    use EventKind::{Begin, End};
    let events = [(Begin, 1, "a"), (Begin, 2, "b"), (Begin, 3, "c"), (End, 9, "b"), (End, 10, ""), (End, 11, "")];
    let (rows, losses) = rows(events.map(|(kind, ts_ns, name)| event(kind, ts_ns, 1, name)));
    assert_eq!(rows, [(3, 6, "c".into()), (2, 7, "b".into()), (1, 9, "a".into())]);
    let lost = [Loss::MismatchedEnd, Loss::TruncatedSpan, Loss::UnmatchedEnd].map(|loss| losses.count(loss));
    assert_eq!((lost, losses.total()), ([1, 1, 1], 3));
}

#[test]
fn an_end_whose_name_is_not_open_leaves_the_open_spans_alone() {
    use EventKind::{Begin, End};
    let events = [(Begin, 1, "a"), (Begin, 2, "b"), (End, 3, "c"), (End, 9, "b"), (End, 10, "a")];
    let (rows, losses) = rows(events.map(|(kind, ts_ns, name)| event(kind, ts_ns, 1, name)));
    assert_eq!(rows, [(2, 7, "b".into()), (1, 9, "a".into())]);
    assert_eq!((losses.count(Loss::UnmatchedEnd), losses.total()), (1, 1));
}

#[test]
fn a_span_that_begins_when_another_ends_is_not_inside_of_it_whichever_is_written_first() {
    use EventKind::{Begin, End};
    let events = [(Begin, 1, "a"), (Begin, 5, "b"), (End, 5, "a"), (End, 9, "b")];
    let (rows, losses) = rows(events.map(|(kind, ts_ns, name)| event(kind, ts_ns, 1, name)));
    assert_eq!((rows, losses.total()), (vec![(1, 4, "a".into()), (5, 4, "b".into())], 0));
}

#[test]
fn a_span_that_begins_when_an_outer_one_ends_lasts_to_its_own_end() {
    use EventKind::{Begin, End};
    let events = [(Begin, 0, "outer"), (Begin, 1, "a"), (Begin, 2, "b"), (End, 2, "outer"), (End, 5, "b")];
    let (rows, losses) = rows(events.map(|(kind, ts_ns, name)| event(kind, ts_ns, 1, name)));
    assert_eq!(rows, [(1, 1, "a".into()), (0, 2, "outer".into()), (2, 3, "b".into())]);
    assert_eq!((losses.count(Loss::MismatchedEnd), losses.count(Loss::TruncatedSpan), losses.total()), (1, 1, 2));
}

#[test]
fn spans_of_one_time_that_end_first_in_first_out_take_no_quadratic_time() {
    const COUNT: i64 = 50_000;
    let of_kind = |kind, ts_ns| (0..COUNT).map(move |number| event(kind, ts_ns, 1, &number.to_string()));
    let (ended, losses) = rows(of_kind(EventKind::Begin, 5).chain(of_kind(EventKind::End, 5)));
    // As in the final sort, the first end truncates all spans inside.
    assert!(ended.len() == COUNT as usize && ended.iter().all(|&(ts_ns, dur_ns, _)| (ts_ns, dur_ns) == (5, 0)));
    assert_eq!(losses.count(Loss::TruncatedSpan), COUNT as u64 - 1);
    assert_eq!(losses.count(Loss::UnmatchedEnd), COUNT as u64 - 1);
}

#[test]
fn spans_of_an_async_id_end_by_name_whatever_their_tracks_and_steps_end_each_other() {
    use EventKind::{AsyncBegin, AsyncEnd, AsyncStepInto, AsyncStepPast};
    let of = |id: u64, mut live: LiveEvent| {
        live.event.value = id;
        live
    };
    let events = [
        of(5, event(AsyncBegin, 1, 1, "a")),
        of(5, event(AsyncBegin, 2, 1, "b")),
        of(6, event(AsyncBegin, 2, 1, "a")),
        of(5, event(AsyncEnd, 4, 2, "a")),
        of(5, event(AsyncEnd, 5, 3, "b")),
        of(5, event(AsyncEnd, 6, 3, "b")),
        of(6, event(AsyncStepInto, 7, 1, "one")),
        of(6, event(AsyncStepInto, 8, 1, "two")),
        of(6, event(AsyncEnd, 9, 1, "a")),
        of(7, event(AsyncBegin, 10, 1, "c")),
        of(7, event(AsyncStepPast, 12, 1, "first")),
        of(7, event(AsyncStepPast, 15, 1, "next")),
    ];
    let (rows, losses) = rows(events);
    let expected = [
        (1, 3, "a"),
        (2, 3, "b"),
        (6, 0, "b"),
        (7, 1, "one"),
        (8, 1, "two"),
        (2, 7, "a"),
        (10, 2, "first"),
        (12, 3, "next"),
        (10, -1, "c"),
    ];
    assert_eq!(rows, expected.map(|(ts_ns, dur_ns, name)| (ts_ns, dur_ns, name.to_owned())));
    assert_eq!((losses.count(Loss::UnmatchedAsyncEnd), losses.total()), (1, 2), "and one begin without an end");
}

#[test]
fn more_open_spans_than_may_be_are_counted_and_the_rest_goes_on() {
    let many = OPEN_MAX as i64 + 10;
    let begins = (0..many).map(|number| event(EventKind::Begin, number, number, "a"));
    let (rows, losses) = rows(begins);
    assert_eq!((rows.len(), losses.count(Loss::OverLimit)), (OPEN_MAX, 10));
}

#[test]
fn arguments_of_open_spans_and_states_stay_within_their_budget() {
    let with_args =
        |kind, number: i64, name| LiveEvent { args: "x".repeat(100).into(), ..event(kind, number, number, name) };
    let mut pairs = LivePairs::new(Budget::new(1000));
    let mut args_bytes = 0;
    let mut out = |row: LiveRow| args_bytes += row.args.len();
    (0..5).for_each(|number| pairs.add(with_args(EventKind::State, number, "runs"), &mut out));
    (0..20).for_each(|number| pairs.add(with_args(EventKind::Begin, number, "a"), &mut out));
    assert_eq!(pairs.losses.count(Loss::LongArgs), 15);
    // The end of a span makes room for the next.
    pairs.add(event(EventKind::End, 0, 0, "a"), &mut out);
    pairs.add(with_args(EventKind::Begin, 20, "a"), &mut out);
    pairs.finish(&mut out);
    assert_eq!((pairs.losses.count(Loss::LongArgs), args_bytes), (15, 1100));
    assert!(pairs.args_budget.try_charge(1000, 1.0).is_some(), "all is released");
}

#[test]
fn an_end_of_a_begin_beyond_the_limit_closes_no_other_span() {
    let leaks = (0..OPEN_MAX as i64).map(|ts_ns| event(EventKind::Begin, ts_ns, 1, "leak"));
    let at = |kind, ts_ns: i64, name| event(kind, OPEN_MAX as i64 + ts_ns, 1, name);
    let beyond = [(EventKind::Begin, 0, "good"), (EventKind::Begin, 1, "inner"), (EventKind::End, 2, "inner")];
    // The first end closes the innermost leak, which has room for the next begin.
    let ends =
        [(EventKind::End, 3, ""), (EventKind::End, 4, ""), (EventKind::Begin, 5, "next"), (EventKind::End, 6, "")];
    let (rows, losses) =
        rows(leaks.chain(beyond.into_iter().chain(ends).map(|(kind, ts_ns, name)| at(kind, ts_ns, name))));
    let last = OPEN_MAX as i64 - 1;
    assert_eq!(rows[..2], [(last, 5, "leak".into()), (last + 6, 1, "next".into())]);
    assert!(rows[2..].iter().all(|(_, dur_ns, _)| *dur_ns == -1));
    assert_eq!((losses.count(Loss::OverLimit), losses.count(Loss::UnmatchedEnd)), (2, 0));
}

/// Closes the events of one track with a plain stack, each time in the order of the final sort. A name of 0 marks an
/// end without a name.
fn closed_in_final_order(events: &[(i64, bool, u32)]) -> Vec<(i64, i64, String)> {
    let (mut stack, mut closed) = (Vec::<(i64, u32)>::new(), Vec::new());
    let row = |(start_ns, name): (i64, u32), dur_ns: i64| (start_ns, dur_ns, format!("n{name}"));
    for tied in events.chunk_by(|a, b| a.0 == b.0) {
        let of_event = |&(ts_ns, is_begin, name): &(i64, bool, u32)| {
            let kind = if is_begin { EventKind::Begin } else { EventKind::End };
            let flags = if name == 0 { EventFlags::UNNAMED } else { EventFlags::NONE };
            Event { kind, flags, ..Event::at(ts_ns, TrackIdx(0), NameIdx(name)) }
        };
        let mut ordered: Vec<Event> = tied.iter().map(of_event).collect();
        ties::order(&mut ordered, |event| event, |name| StrIdx(name.0));
        for Event { ts_ns, name: NameIdx(name), kind, .. } in ordered {
            if kind == EventKind::Begin {
                stack.push((ts_ns, name));
                continue;
            }
            let ended =
                if name == 0 { stack.len().checked_sub(1) } else { stack.iter().rposition(|open| open.1 == name) };
            let ended = stack.split_off(ended.unwrap_or(stack.len()));
            closed.extend(ended.into_iter().map(|open| row(open, ts_ns - open.0)));
        }
    }
    closed.extend(stack.into_iter().map(|open| row(open, -1)));
    closed.sort_unstable();
    closed
}

proptest! {
    #[test]
    fn ends_at_the_times_of_begins_close_what_the_final_sort_closes(
        steps in proptest::collection::vec((0..2i64, any::<bool>(), 0..4u32), 0..60),
    ) {
        let mut ts_ns = 0;
        let mut events = Vec::new();
        for (passed_ns, is_begin, name) in steps {
            ts_ns += passed_ns;
            events.push((ts_ns, is_begin, if is_begin { name + 1 } else { name }));
        }
        let live = |&(ts_ns, is_begin, name): &(i64, bool, u32)| {
            let kind = if is_begin { EventKind::Begin } else { EventKind::End };
            event(kind, ts_ns, 1, &if name == 0 { String::new() } else { format!("n{name}") })
        };
        let (mut closed, _) = rows(events.iter().map(live));
        closed.sort_unstable();
        prop_assert_eq!(closed, closed_in_final_order(&events));
    }

    #[test]
    fn unnamed_ends_close_what_a_stack_for_each_thread_closes(
        steps in proptest::collection::vec((0..3i64, any::<bool>()), 0..200),
    ) {
        let (mut stacks, mut expected) = ([const { Vec::new() }; 3], Vec::new());
        let mut events = Vec::new();
        for (ts_ns, (tid, is_begin)) in (0..).zip(steps) {
            let stack: &mut Vec<i64> = &mut stacks[tid as usize];
            let (kind, name) = if is_begin { (EventKind::Begin, "a") } else { (EventKind::End, "") };
            events.push(event(kind, ts_ns, tid, name));
            if is_begin {
                stack.push(ts_ns);
            } else if let Some(start_ns) = stack.pop() {
                expected.push((start_ns, ts_ns - start_ns, "a".to_owned()));
            }
        }
        let mut open: Vec<i64> = stacks.concat();
        open.sort_unstable();
        expected.extend(open.into_iter().map(|start_ns| (start_ns, -1, "a".to_owned())));
        prop_assert_eq!(rows(events).0, expected);
    }
}

#[test]
fn an_end_of_an_async_id_ends_the_span_of_its_process_first() {
    use EventKind::{AsyncBegin, AsyncEnd};
    let events = [(AsyncBegin, 1, 1), (AsyncBegin, 2, 7), (AsyncEnd, 3, 1), (AsyncEnd, 5, 1)];
    let of_process = |(kind, ts_ns, pid)| {
        let mut event = event(kind, ts_ns, 0, "a");
        let tracks = vec![Arc::new(TrackKey { pid: Id::Number(pid), ..TrackKey::clone(&track(0)) })];
        event.tables = Arc::new(LiveTables { names: event.tables.names.clone(), tracks, ..LiveTables::default() });
        event
    };
    let (rows, losses) = rows(events.map(of_process));
    assert_eq!((rows, losses.total()), (vec![(1, 2, "a".into()), (2, 3, "a".into())], 0));
}

#[test]
fn open_spans_find_names_as_a_scan_does_also_after_many_were_open() {
    let begin = |number: usize| WaitingBegin {
        track: track(1),
        start_ns: number as i64,
        name: Arc::new(LiveName::new((number % 37).to_string().into(), None)),
        args: Box::default(),
        order: RowOrder::default(),
        charge: None,
    };
    // The oracle has the number of each span with its start.
    let (mut open, mut oracle, mut pushed) = (OpenSpans::default(), Vec::new(), 0);
    let mut random = 1usize;
    for number in 0..4000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let choice = random >> 40;
        let name = (choice % 41).to_string();
        let scanned = oracle.iter().rposition(|(_, start_ns): &(u64, i64)| (start_ns % 37).to_string() == name);
        assert_eq!(open.last_of(&name, |_| true), scanned.map(|position| oracle[position].0));
        match (choice / 41 % 8, scanned) {
            (0, Some(position)) => {
                let (number, start_ns) = oracle.remove(position);
                assert_eq!(open.remove(number).map(|begin| begin.start_ns), Some(start_ns));
            }
            (1, Some(position)) if number % 5 == 0 => {
                let cut = open.cut(oracle[position].0, i64::MAX);
                let expected = oracle.split_off(position).into_iter().rev().map(|(_, start_ns)| start_ns);
                assert!(cut.iter().map(|begin| begin.start_ns).eq(expected));
            }
            _ => {
                open.push(begin(number));
                oracle.push((pushed, number as i64));
                pushed += 1;
            }
        }
        let starts = open.inside(None).map(|begin| begin.start_ns);
        assert!(starts.eq(oracle.iter().map(|(_, start_ns)| *start_ns)));
    }
}

#[test]
fn ends_of_names_that_are_not_open_visit_few_open_spans() {
    const COUNT: i64 = 20_000;
    let begins = (0..COUNT).map(|ts_ns| event(EventKind::Begin, ts_ns, 1, "begun"));
    let ends = (COUNT..2 * COUNT).map(|ts_ns| event(EventKind::End, ts_ns, 1, "other"));
    open_spans::VISITED.set(0);
    let (_, losses) = rows(begins.chain(ends));
    assert_eq!(losses.count(Loss::UnmatchedEnd), COUNT as u64);
    assert!(open_spans::VISITED.get() < COUNT as u64, "{}", open_spans::VISITED.get());
}

#[test]
fn async_spans_that_end_in_the_order_of_their_begins_visit_one_open_span_each() {
    const COUNT: i64 = 20_000;
    let event = |kind, ts_ns: i64, number: i64| {
        let LiveEvent { event: unpaired, .. } = event(kind, ts_ns, 1, &format!("request {number}"));
        LiveEvent { event: Event { value: 7, ..unpaired }, ..event(kind, ts_ns, 1, &format!("request {number}")) }
    };
    let begins = (0..COUNT).map(|number| event(EventKind::AsyncBegin, number, number));
    let ends = (0..COUNT).map(|number| event(EventKind::AsyncEnd, COUNT + number, number));
    open_spans::VISITED.set(0);
    let (rows, losses) = rows(begins.chain(ends));
    let expected = (0..COUNT).map(|number| (number, COUNT, format!("request {number}")));
    assert!(rows.into_iter().eq(expected) && losses.is_empty());
    assert_eq!(open_spans::VISITED.get(), COUNT as u64);
}

//! Compares nesting with a naive oracle, which searches a list of all spans of a track.

mod limits;
mod samples;
mod shared_rows;
mod states;

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::heads::HeadTable;
use super::nest::{Nested, Nester};
use super::open_run::{OpenRun, Origin};
use super::spill::SpillFile;
use crate::base::budget::Budget;
use crate::base::files;
use crate::formats::output::paired_ends::PairedEnds;
use crate::model::args::Detail;
use crate::model::{
    Chunk, Details, Event, EventFlags, EventKind, Id, Loss, Metadata, NameIdx, Names, Registry, StackIdx, Stacks,
    TrackIdx, TrackKey, TrackKind,
};
use crate::store::block::Row;
use crate::store::{LaneIdx, LaneKind, Meta, Store, StoreWriter};

const TRACKS: u32 = 3;

/// A span in a test: track, depth, start, duration, name, whether it is unfinished.
type Seen = (u32, u16, i64, u64, u32, bool);

struct Result {
    nested: Nested,
    store: Store,
}

impl Result {
    fn rows(&self, kind: LaneKind) -> Vec<(TrackIdx, u16, Row, bool)> {
        let mut all = Vec::new();
        for index in 0..self.store.lane_count() {
            let lane = self.store.lane(LaneIdx(index));
            let info = lane.info();
            let mut rows = Vec::new();
            for extent in 0..lane.extents().len() {
                let extent = lane.extent(extent).unwrap();
                (0..extent.blocks()).for_each(|block| extent.block(block).decode(&mut rows));
            }
            assert_eq!(rows.len() as u64, info.rows);
            if info.kind == kind {
                let unfinished = |row: usize| lane.is_unfinished(row as u64);
                all.extend(rows.iter().enumerate().map(|(k, &row)| (info.track, info.depth, row, unfinished(k))));
            }
        }
        all
    }

    fn spans(&self) -> Vec<Seen> {
        let seen = |(track, depth, row, unfinished): (TrackIdx, u16, Row, bool)| {
            (track.0, depth, row.start_ns, row.value, row.name, unfinished)
        };
        let mut spans: Vec<_> = self.rows(LaneKind::Spans).into_iter().map(seen).collect();
        spans.sort_unstable();
        spans
    }
}

fn nest(events: Vec<Event>, details: &Details, kind: TrackKind) -> Result {
    nest_with(events, details, kind, Stacks::default())
}

fn nest_with(events: Vec<Event>, details: &Details, kind: TrackKind, stacks: Stacks) -> Result {
    nest_on(events, details, (kind, 0), stacks)
}

/// Nests events on tracks with this kind and slot.
fn nest_on(events: Vec<Event>, details: &Details, (kind, slot): (TrackKind, u32), stacks: Stacks) -> Result {
    nest_in(Registry::default(), events, details, (kind, slot), stacks)
}

/// Nests twice, the second time with spilled ties. Both stores must be equal.
#[expect(clippy::needless_pass_by_value, reason = "tests hand over the rows that they made")]
fn nest_in(
    registry: Registry,
    events: Vec<Event>,
    details: &Details,
    (kind, slot): (TrackKind, u32),
    stacks: Stacks,
) -> Result {
    let file = SpillFile::create(&std::env::temp_dir()).unwrap();
    let nest = |spill| nest_spilling(spill, registry.clone(), events.clone(), details, (kind, slot), stacks.clone());
    let (result, held) = nest(None);
    for held_bytes in [0, 8 * 48 * 3] {
        let (_, spilled) = nest(Some((&file, held_bytes)));
        assert!(held == spilled, "all bytes of the store");
    }
    result
}

/// Returns the result and all bytes of its store.
fn nest_spilling(
    spill: Option<(&SpillFile, u64)>,
    mut registry: Registry,
    mut events: Vec<Event>,
    details: &Details,
    (kind, slot): (TrackKind, u32),
    stacks: Stacks,
) -> (Result, Vec<u8>) {
    events.sort_by_key(|event| event.ts_ns);
    let mut names = Names::default();
    for name in 1..9 {
        names.intern(&format!("n{name}"), None);
    }
    for track in 0..TRACKS {
        let tid = Id::Number(i64::from(track));
        registry.track(&TrackKey { slot, ..TrackKey::new(kind, Id::Number(1), tid) });
    }
    let file = tempfile::tempfile().unwrap();
    let mut writer = StoreWriter::new(file.try_clone().unwrap(), 1 << 20).unwrap();
    let (names, stacks) = (Arc::new(names), Arc::new(stacks));
    let nester = Nester::new(&mut writer, &names, &stacks, &mut registry);
    let mut nester = match spill {
        None => nester,
        Some((file, bytes)) => nester.spilling(file, bytes),
    };
    let mut table = HeadTable::default();
    // Two runs, so that events with the same time may be split between them.
    let half = events.len() / 2;
    let rest = events.split_off(half);
    for (index, events) in [events, rest].into_iter().enumerate() {
        let chunk = Chunk { events, details: details.clone(), max_lateness_ns: 0 };
        let (origin, charge) = (Origin::One(index as u32), Budget::default().charge(0));
        table.insert(OpenRun { chunk, origin, next: 0, rest: None, charge });
    }
    while table.open() > 0 {
        table.advance(None, |run| nester.add_run(&run)).unwrap().0.unwrap();
    }
    let nested = nester.finish().unwrap();
    writer.finish(&Meta { tracks: registry.into_tables(), ..Meta::default() }).unwrap();
    let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
    files::read_exact_at(&file, &mut bytes, 0).unwrap();
    (Result { nested, store: Store::from_file(&file, "test".as_ref()).unwrap() }, bytes)
}

fn event(kind: EventKind, ts_ns: i64, value: u64, track: u32, name: u32) -> Event {
    let flags = if name == 0 && kind == EventKind::End { EventFlags::UNNAMED } else { EventFlags::NONE };
    Event { ts_ns, value, track: TrackIdx(track), name: NameIdx(name), detail: 0, depth: 0, kind, flags }
}

fn complete(ts_ns: i64, dur_ns: u64, name: u32) -> Event {
    event(EventKind::Complete, ts_ns, dur_ns, 0, name)
}

fn begin(ts_ns: i64, name: u32) -> Event {
    event(EventKind::Begin, ts_ns, 0, 0, name)
}

fn end(ts_ns: i64, name: u32) -> Event {
    event(EventKind::End, ts_ns, 0, 0, name)
}

fn spans_of(events: Vec<Event>) -> (Vec<Seen>, Nested) {
    let result = nest(events, &Details::default(), TrackKind::Thread);
    (result.spans(), result.nested)
}

/// Computes the lanes of complete spans by brute force: the first free lane below the deepest span that contains it.
fn complete_oracle(spans: &mut [(i64, i64, u32)]) -> Vec<(u16, i64, i64, u32)> {
    spans.sort_by_key(|&(start, end, _)| (start, std::cmp::Reverse(end - start)));
    let mut placed: Vec<(u16, i64, i64, u32)> = Vec::new();
    for &(start, end, name) in spans.iter() {
        let open = |lane: u16| placed.iter().find(|other| other.0 == lane && other.2 > start).copied();
        let deepest = (0..200).rev().find(|&lane| open(lane).is_some_and(|other| other.2 >= end));
        let first = deepest.map_or(0, |lane| lane + 1);
        let lane = (first..=u16::MAX).find(|&lane| open(lane).is_none()).unwrap();
        placed.push((lane, start, end, name));
    }
    placed.sort_unstable();
    placed
}

proptest! {
    #[test]
    fn complete_spans_take_the_lanes_that_a_scan_finds(
        raw in proptest::collection::vec((0i64..60, 0i64..25, 0u32..TRACKS, 1u32..6), 0..120),
    ) {
        let events = raw
            .iter()
            .map(|&(start, dur, track, name)| event(EventKind::Complete, start, dur as u64, track, name))
            .collect();
        let (seen, nested) = spans_of(events);
        prop_assert_eq!(nested.summary.spans, raw.len() as u64);
        for track in 0..TRACKS {
            let mut spans: Vec<_> = raw
                .iter()
                .filter(|span| span.2 == track)
                .map(|&(start, dur, _, name)| (start, start + dur, name))
                .collect();
            let mut found: Vec<_> = seen
                .iter()
                .filter(|seen| seen.0 == track)
                .map(|&(_, depth, start, dur, name, _)| (depth, start, start + dur as i64, name))
                .collect();
            found.sort_unstable();
            prop_assert_eq!(found, complete_oracle(&mut spans));
        }
    }

    #[test]
    fn begins_and_ends_pair_up_as_with_a_stack(
        raw in proptest::collection::vec(
            (1i64..4, prop_oneof![3 => Just(true), 2 => Just(false)], 0u32..TRACKS, 1u32..4, any::<bool>()),
            0..150,
        ),
    ) {
        // Distinct times, so that trace order and time order are the same.
        let mut ts_ns = 0;
        let mut stacks: BTreeMap<u32, Vec<(i64, u32)>> = BTreeMap::new();
        let mut last: BTreeMap<u32, i64> = BTreeMap::new();
        let mut expected: Vec<Seen> = Vec::new();
        let (mut unmatched_ends, mut mismatched, mut truncated) = (0, 0, 0);
        let mut events = Vec::new();
        for (step, is_begin, track, name, is_named) in raw {
            ts_ns += step;
            let stack = stacks.entry(track).or_default();
            // An end that closes nothing is an event of its track, too.
            last.insert(track, ts_ns);
            if is_begin {
                events.push(event(EventKind::Begin, ts_ns, 0, track, name));
                stack.push((ts_ns, name));
                continue;
            }
            let name = if is_named { name } else { 0 };
            events.push(event(EventKind::End, ts_ns, 0, track, name));
            let Some(top) = stack.len().checked_sub(1) else {
                unmatched_ends += 1;
                continue;
            };
            let is_named = |&k: &usize| name == 0 || stack[k].1 == name;
            let Some(closed) = (0..=top).rev().find(is_named) else {
                unmatched_ends += 1;
                continue;
            };
            mismatched += u64::from(closed < top);
            truncated += top - closed;
            for depth in (closed..=top).rev() {
                let (start, name) = stack.remove(depth);
                expected.push((track, depth as u16, start, (ts_ns - start) as u64, name, false));
            }
        }
        for (&track, stack) in &stacks {
            for (depth, &(start, name)) in stack.iter().enumerate() {
                expected.push((track, depth as u16, start, (last[&track] - start) as u64, name, true));
            }
        }
        expected.sort_unstable();
        let unfinished = expected.iter().filter(|seen| seen.5).count() as u64;
        let (seen, nested) = spans_of(events);
        prop_assert_eq!(seen, expected);
        prop_assert_eq!(nested.losses.count(Loss::UnmatchedBegin), unfinished);
        prop_assert_eq!(nested.losses.count(Loss::UnmatchedEnd), unmatched_ends);
        prop_assert_eq!(nested.losses.count(Loss::MismatchedEnd), mismatched);
        prop_assert_eq!(nested.losses.count(Loss::TruncatedSpan), truncated as u64);
    }
}

#[test]
fn a_parent_that_is_written_after_its_child_still_nests_right() {
    let (seen, _) = spans_of(vec![complete(10, 5, 1), complete(10, 20, 2)]);
    assert_eq!(seen, [(0, 0, 10, 20, 2, false), (0, 1, 10, 5, 1, false)]);
}

#[test]
fn an_end_whose_name_is_not_open_leaves_the_open_spans_alone() {
    let (seen, nested) = spans_of(vec![begin(0, 1), begin(10, 2), end(20, 3), end(500, 2), end(1000, 1)]);
    assert_eq!(seen, [(0, 0, 0, 1000, 1, false), (0, 1, 10, 490, 2, false)]);
    assert_eq!((nested.losses.count(Loss::UnmatchedEnd), nested.losses.total()), (1, 1));
}

#[test]
fn a_span_without_an_end_lasts_until_the_last_event_of_its_track_of_any_kind() {
    for last in [end(80, 3), event(EventKind::FlowStart, 80, 5, 0, 3), event(EventKind::Instant, 80, 0, 0, 3)] {
        let (seen, _) = spans_of(vec![begin(0, 1), complete(10, 5, 2), last]);
        assert_eq!(seen, [(0, 0, 0, 80, 1, true), (0, 1, 10, 5, 2, false)], "{:?}", last.kind);
    }
    let known = Event { value: 80, flags: EventFlags::UNFINISHED, ..begin(0, 1) };
    let (seen, nested) = spans_of(vec![known, complete(10, 5, 2)]);
    assert_eq!(seen, [(0, 0, 0, 80, 1, true), (0, 1, 10, 5, 2, false)]);
    assert_eq!(nested.losses.count(Loss::UnmatchedBegin), 1);
}

#[test]
fn an_end_goes_before_a_begin_of_the_same_time() {
    let (seen, nested) = spans_of(vec![begin(0, 1), begin(10, 2), end(10, 1), end(20, 2)]);
    assert_eq!(seen, [(0, 0, 0, 10, 1, false), (0, 0, 10, 10, 2, false)]);
    assert!(nested.losses.is_empty());
}

#[test]
fn a_complete_span_without_a_duration_is_not_closed_by_an_end() {
    let endless = Event { flags: EventFlags::UNFINISHED, ..complete(5, 0, 1) };
    let (seen, nested) = spans_of(vec![begin(0, 2), endless, end(8, 2), complete(9, 3, 3)]);
    assert_eq!(seen, [(0, 0, 0, 8, 2, false), (0, 1, 5, 7, 1, true), (0, 2, 9, 3, 3, false)]);
    assert_eq!(nested.losses.count(Loss::UnmatchedBegin), 0, "the reader has counted it");
}

#[test]
fn spans_at_the_ends_of_time_neither_wrap_nor_panic() {
    let (seen, nested) =
        spans_of(vec![complete(i64::MIN, u64::MAX, 1), complete(i64::MAX, 5, 2), complete(0, 1 << 63, 3)]);
    assert_eq!(
        seen,
        [(0, 0, i64::MIN, u64::MAX, 1, false), (0, 0, i64::MAX, 0, 2, false), (0, 1, 0, i64::MAX as u64, 3, false)]
    );
    assert_eq!((nested.summary.start_ns, nested.summary.end_ns), (i64::MIN, i64::MAX));
}

#[test]
fn a_million_open_begins_are_shown_or_counted() {
    let count = 100_000;
    let (seen, nested) = spans_of((0..count).map(|k| begin(k, 1)).collect());
    assert_eq!(seen.len() as u64 + nested.losses.count(Loss::DeepNesting), count as u64);
    assert!(seen.len() > 65_000);
}

#[test]
fn begins_beyond_the_last_lane_leave_the_ends_of_all_others_alone() {
    let (count, lanes) = (70_000i64, 1 << 16);
    for name in [0, 1] {
        let nested = (0..count).map(|k| begin(k, 1)).chain((0..count).map(|k| end(count + k, name)));
        let (seen, nested) = spans_of(nested.collect());
        assert_eq!(seen.len(), lanes);
        let mut spans = seen.iter().zip(0..);
        assert!(spans.all(|(&(_, depth, start, dur, ..), k)| {
            (i64::from(depth), start, dur as i64) == (k, k, 2 * count - 1 - 2 * k)
        }));
        assert_eq!(nested.losses.count(Loss::DeepNesting), count as u64 - lanes as u64);
        assert_eq!(nested.losses.total(), nested.losses.count(Loss::DeepNesting));
    }
}

#[test]
fn steps_of_asynchronous_spans_go_below_all_that_is_open_and_end_at_the_last_lane() {
    let at = |kind, ts_ns, name| event(kind, ts_ns, 7, 0, name);
    let events = vec![
        at(EventKind::AsyncBegin, 0, 1),
        at(EventKind::AsyncBegin, 1, 2),
        at(EventKind::AsyncStepPast, 3, 3),
        at(EventKind::AsyncEnd, 5, 2),
        at(EventKind::AsyncEnd, 9, 1),
    ];
    let spans: Vec<_> = nest(events, &Details::default(), TrackKind::Async).spans();
    let spans: Vec<_> = spans.into_iter().map(|(_, depth, start, dur, name, _)| (depth, start, dur, name)).collect();
    assert_eq!(spans, [(0, 0, 9, 1), (1, 1, 4, 2), (2, 0, 3, 3)]);

    let begins = (0..1 << 16).map(|k| at(EventKind::AsyncBegin, k, 1));
    let ends = (0..(1 << 16) - 1).map(|k| at(EventKind::AsyncEnd, 100_000 + k, 1));
    let step = at(EventKind::AsyncStepPast, 200_000, 2);
    let result = nest(begins.chain(ends).chain([step]).collect(), &Details::default(), TrackKind::Async);
    assert_eq!(result.nested.losses.count(Loss::DeepNesting), 1);
}

#[test]
fn asynchronous_trees_that_run_at_once_get_tracks_of_their_own_and_share_them_over_time() {
    let b = |ts_ns, id, name| event(EventKind::AsyncBegin, ts_ns, id, 0, name);
    let e = |ts_ns, id, name| event(EventKind::AsyncEnd, ts_ns, id, 0, name);
    // Ids 7 and 8 overlap. 9 comes after both and reuses the first track. A child of 7 nests below it.
    let events = vec![
        b(0, 7, 1),
        b(1, 8, 1),
        b(2, 7, 2),
        e(3, 7, 2),
        e(4, 7, 1),
        e(5, 8, 1),
        b(6, 9, 1),
        e(7, 9, 1),
        e(8, 9, 1),
    ];
    let result = nest(events, &Details::default(), TrackKind::Async);
    let named = |track: u32| {
        let key = &result.store.meta().tracks.tracks[track as usize].key;
        (key.name.to_string(), key.slot)
    };
    let seen: Vec<_> =
        result.spans().into_iter().map(|(track, depth, start, dur, ..)| (named(track), depth, start, dur)).collect();
    let n1 = |slot| ("n1".to_string(), slot);
    assert_eq!(seen, [(n1(0), 0, 0, 4), (n1(0), 0, 6, 1), (n1(0), 1, 2, 1), (n1(1), 0, 1, 4)]);
    let lost = [Loss::UnmatchedAsyncEnd, Loss::UnmatchedEnd].map(|loss| result.nested.losses.count(loss));
    assert_eq!(lost, [1, 0], "it is shown, so no issue says that it is not");
    assert_eq!(result.nested.summary.instants, 1, "an end without a begin is kept as an instant");
}

#[test]
fn steps_of_old_asynchronous_spans_become_spans_below_them() {
    let at = |kind, ts_ns, name| event(kind, ts_ns, 7, 0, name);
    let into = vec![
        at(EventKind::AsyncBegin, 0, 1),
        at(EventKind::AsyncStepInto, 2, 2),
        at(EventKind::AsyncStepInto, 5, 3),
        at(EventKind::AsyncEnd, 9, 1),
    ];
    let spans = |events| -> Vec<_> {
        let seen = nest(events, &Details::default(), TrackKind::Async).spans();
        seen.into_iter().map(|(_, depth, start, dur, name, _)| (depth, start, dur, name)).collect()
    };
    assert_eq!(spans(into), [(0, 0, 9, 1), (1, 2, 3, 2), (1, 5, 4, 3)]);
    let past = vec![
        at(EventKind::AsyncBegin, 0, 1),
        at(EventKind::AsyncStepPast, 2, 2),
        at(EventKind::AsyncStepPast, 5, 3),
        at(EventKind::AsyncEnd, 9, 1),
    ];
    assert_eq!(spans(past), [(0, 0, 9, 1), (1, 0, 2, 2), (1, 2, 3, 3)]);
}

#[test]
fn the_arguments_of_begin_and_end_both_stay() {
    let mut details = Details::default();
    let mut with_args =
        |event: Event, args_json| Event { detail: details.push(&Detail { args_json, ..Detail::default() }), ..event };
    let events = vec![with_args(begin(0, 1), r#"{"a":1}"#), with_args(end(5, 1), r#"{"b":2}"#)];
    let result = nest(events, &details, TrackKind::Thread);
    let (_, _, row, _) = result.rows(LaneKind::Spans)[0];
    let mut reader = crate::store::details::DetailReader::default();
    let blob = result.store.detail(crate::store::DetailRef(row.detail), &mut reader);
    assert_eq!(Detail::decode(blob).args_json, r#"{"a":1,"b":2}"#);
}

#[test]
fn a_sorted_capture_keeps_its_lanes_and_one_that_contradicts_itself_loses_nothing() {
    let placed =
        |ts_ns, dur_ns, depth, name| Event { depth, flags: EventFlags::PLACED, ..complete(ts_ns, dur_ns, name) };
    let (seen, _) = spans_of(vec![placed(0, 0, 0, 1), placed(0, 0, 3, 2), placed(0, 9, 0, 3), placed(4, 9, 0, 4)]);
    let expected = [(0, 0, 0, 0, 1, false), (0, 0, 0, 9, 3, false), (0, 0, 4, 9, 4, false), (0, 3, 0, 0, 2, false)];
    assert_eq!(seen.len(), 4);
    assert_eq!(seen[..2], expected[..2]);
    assert!(seen.contains(&(0, 3, 0, 0, 2, false)));
}

#[test]
fn spans_that_may_overlap_are_placed_like_others_and_not_counted() {
    let spans = [complete(0, 5, 1), complete(3, 9, 2), complete(4, 1, 3), complete(4, 20, 4)];
    let may_overlap = spans.map(|span| Event { flags: EventFlags::MAY_OVERLAP, ..span });
    let ((expected, counted), (seen, nested)) = (spans_of(spans.to_vec()), spans_of(may_overlap.to_vec()));
    assert_eq!((seen, counted.losses.count(Loss::Overlap), nested.losses.total()), (expected, 2, 0));
}

#[test]
fn events_on_derived_tracks_are_counted_and_not_shown() {
    let result = nest(vec![complete(5, 3, 4)], &Details::default(), TrackKind::Samples);
    assert_eq!(result.spans(), []);
    assert_eq!(result.nested.losses.count(Loss::BadRecord), 1);
}

/// Returns the same events with ends moved to their begins, within batches that end at `cuts`.
fn with_paired_ends(events: &[Event], cuts: &[bool]) -> Vec<Event> {
    let mut paired_ends = PairedEnds::default();
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    for (event, is_cut) in events.iter().zip(std::iter::once(&true).chain(cuts)) {
        if *is_cut {
            all.append(&mut batch);
            paired_ends.begin_batch();
            (0..TRACKS).for_each(|track| paired_ends.add_track(Some(track as usize)));
        }
        paired_ends.push(&mut batch, *event);
    }
    all.append(&mut batch);
    all
}

/// Mostly increasing times: a reader's events are sometimes late, and many have the same time.
fn nearly_sorted_events() -> impl Strategy<Value = Vec<Event>> {
    let one = (-3i64..6, 0u8..9, 0..TRACKS, 1u32..4);
    proptest::collection::vec(one, 0..150).prop_map(|raw| {
        let mut now_ns = 0;
        let event = |(step_ns, kind, track, name): (i64, u8, u32, u32)| {
            now_ns += step_ns;
            match kind {
                0..=3 => event(EventKind::Begin, now_ns, 0, track, name),
                4..=5 => event(EventKind::End, now_ns, 0, track, 0),
                6 => event(EventKind::End, now_ns, 0, track, name),
                7 => event(EventKind::Instant, now_ns, 0, track, name),
                _ => event(EventKind::Complete, now_ns, 4, track, name),
            }
        };
        raw.into_iter().map(event).collect()
    })
}

proptest! {
    #[test]
    fn ends_that_come_with_their_begins_close_what_ends_of_their_own_would(
        events in nearly_sorted_events(),
        cuts in proptest::collection::vec(proptest::bool::weighted(0.05), 150),
    ) {
        let known = with_paired_ends(&events, &cuts);
        let rows = |events: Vec<Event>| {
            let result = nest(events, &Details::default(), TrackKind::Thread);
            let kinds = [LaneKind::Spans, LaneKind::Instants].map(|kind| {
                let mut rows = result.rows(kind);
                rows.sort_by_key(|&(track, depth, ..)| (track, depth));
                rows
            });
            let losses: Vec<_> = result.nested.losses.iter().map(|lost| (lost.loss, lost.count)).collect();
            (kinds, losses, result.nested.summary)
        };
        prop_assert_eq!(rows(known), rows(events));
    }
}

#[test]
fn ends_move_to_begins_where_threads_are_recorded_in_order() {
    let events: Vec<Event> = (0..100).flat_map(|k| [begin(10 * k, 1), end(10 * k + 5, 0)]).collect();
    assert_eq!(with_paired_ends(&events, &[false; 200]).len(), 100);
}

#[test]
fn a_known_end_on_a_track_that_shares_rows_makes_a_complete_span() {
    let slot = TrackKey::SLOT_SIBLING;
    let mut registry = Registry::default();
    registry.track(&TrackKey { kind: TrackKind::Async, pid: Id::Number(1), tid: Id::None, name: "q".into(), slot });
    let file = tempfile::tempfile().unwrap();
    let mut writer = StoreWriter::new(file.try_clone().unwrap(), 1 << 20).unwrap();
    let (names, stacks) = (Arc::new(Names::default()), Arc::new(Stacks::default()));
    let mut nester = Nester::new(&mut writer, &names, &stacks, &mut registry);
    let mut table = HeadTable::default();
    let events = vec![event(EventKind::Begin, 5, 10, 0, 0), event(EventKind::Instant, 30, 0, 0, 0)];
    let chunk = Chunk { events, ..Chunk::default() };
    let charge = Budget::default().charge(0);
    table.insert(OpenRun { chunk, origin: Origin::One(0), next: 0, rest: None, charge });
    while table.open() > 0 {
        table.advance(None, |run| nester.add_run(&run)).unwrap().0.unwrap();
    }
    let nested = nester.finish().unwrap();
    writer.finish(&Meta { tracks: registry.into_tables(), ..Meta::default() }).unwrap();
    let result = Result { store: Store::from_file(&file, "test".as_ref()).unwrap(), nested };
    let spans: Vec<_> = result.spans().into_iter().map(|(_, depth, start, dur, ..)| (depth, start, dur)).collect();
    assert_eq!((spans, result.nested.losses.is_empty()), (vec![(0, 5, 10)], true));
}

#[test]
fn a_preview_has_all_that_ended_and_all_that_waited_before_its_time() {
    let captured = {
        let mut registry = Registry::default();
        for tid in 0..2 {
            let (kind, tid) = (TrackKind::Thread, Id::Number(tid));
            registry.track(&TrackKey::new(kind, Id::Number(1), tid));
        }
        registry
    };
    // The end of the span is stored with its begin, and no later event follows on its track. The instant is held back
    // until its time has passed.
    for (sorted_to_ns, expected) in [(15, (0, 0)), (16, (1, 0)), (20, (1, 0)), (21, (1, 1))] {
        let mut writer = StoreWriter::new(tempfile::tempfile().unwrap(), 1 << 20).unwrap();
        let (names, stacks) = (Arc::new(Names::default()), Arc::new(Stacks::default()));
        let mut registry = captured.clone();
        let mut nester = Nester::new(&mut writer, &names, &stacks, &mut registry);
        let mut table = HeadTable::default();
        let events = vec![event(EventKind::Begin, 5, 10, 0, 0), event(EventKind::Instant, 20, 0, 1, 0)];
        let chunk = Chunk { events, ..Chunk::default() };
        let charge = Budget::default().charge(0);
        table.insert(OpenRun { chunk, origin: Origin::One(0), next: 0, rest: None, charge });
        table.advance(None, |run| nester.add_run(&run)).unwrap().0.unwrap();
        let preview = nester.preview(sorted_to_ns, 50).unwrap().unwrap();
        let summary = &preview.meta().summary;
        assert_eq!((summary.spans, summary.instants), expected, "to {sorted_to_ns}");
    }
}

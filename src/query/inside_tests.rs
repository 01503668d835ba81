//! `in:` and `within:` against an oracle: for each row, a loop over all spans of its track.

use proptest::prelude::*;

use super::filter::{Filter, SpanPosition, Test};
use super::inside::{Inside, TESTED_EXTENTS};
use super::longest::longest;
use super::matcher::Matcher;
use super::name_set::NameSet;
use super::over_time::over_time;
use super::rows::{SortedRow, SortedRows};
use super::scope::Scope;
use super::search::{Hit, search};
use super::totals::{GrowingTotals, add_up};
use super::{Buckets, Snapshot, filtered};
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::model::{Id, NameIdx, Names, Registry, TrackIdx, TrackKey, TrackSet};
use crate::query::ledger_traces::{RandomSequence, TraceSpan, store};
use crate::store::{LaneIdx, LaneKind, Meta, Row, Store, StoreWriter, Summary};

/// Builds three tracks with instants and lanes of spans, on a clock so coarse that starts and ends coincide. One span
/// in three has no duration, and the last of a lane may have no end.
fn trace(lanes_per_track: u16, rows_per_lane: usize, seed: u64) -> Snapshot {
    let mut sequence = RandomSequence(seed | 1);
    let mut below = move |bound: u64| sequence.below(bound);
    let (mut names, mut registry) = (Names::default(), Registry::default());
    for name in ["Run", "Paint", "Layout", "Read", "Idle"] {
        names.intern(name, None);
    }
    let file = tempfile::tempfile().unwrap();
    let mut writer = StoreWriter::new(file.try_clone().unwrap(), 1 << 24).unwrap();
    for tid in 0..3 {
        let (pid, tid) = (Id::Number(tid % 2), Id::Number(tid));
        let key = TrackKey::thread(pid, tid);
        let track = registry.track(&key).unwrap();
        let instants = writer.add_lane(track, LaneKind::Instants, 0).unwrap();
        let mut ts_ns = -20;
        for _ in 0..rows_per_lane {
            ts_ns += below(8) as i64;
            writer.push(instants, Row { start_ns: ts_ns, value: 0, detail: 0, name: 1 + below(5) as u32 }).unwrap();
        }
        for depth in 0..lanes_per_track {
            let lane = writer.add_lane(track, LaneKind::Spans, depth).unwrap();
            let mut free_ns = -20 + below(10) as i64;
            for _ in 0..rows_per_lane {
                let start_ns = free_ns + (below(2) * below(12)) as i64;
                let value = if below(3) == 0 { 0 } else { below(12) };
                free_ns = start_ns + value as i64;
                writer.push(lane, Row { start_ns, value, detail: 0, name: 1 + below(5) as u32 }).unwrap();
            }
            if below(2) == 0 {
                writer.mark_unfinished(lane);
            }
        }
    }
    let end_ns = 12 * rows_per_lane as i64;
    let summary = Summary { start_ns: -20, end_ns, ..Summary::default() };
    let meta = Meta { names: names.into(), tracks: registry.tables().clone(), summary, ..Meta::default() };
    writer.finish(&meta).unwrap();
    Snapshot::new(Store::from_file(&file, "test".as_ref()).unwrap().into())
}

/// Returns all rows of a track with their depth; instants are below all spans.
fn rows_of_track(snapshot: &Snapshot, track: TrackIdx) -> Vec<(SortedRow, u32)> {
    let lanes = snapshot.lanes_of(track).map(LaneIdx);
    let depth_of = |row: &SortedRow| match row.kind {
        LaneKind::Spans => u32::from(snapshot.lane(row.index.lane).depth),
        _ => u32::MAX,
    };
    SortedRows::new(snapshot, lanes, None, None).map(|row| (row, depth_of(&row))).collect()
}

/// Returns whether a span above `row` that satisfies `is_meant` is open at its start.
fn is_inside(all: &[(SortedRow, u32)], (row, depth): &(SortedRow, u32), is_meant: impl Fn(&SortedRow) -> bool) -> bool {
    let at_ns = row.row.start_ns;
    all.iter().filter(|(span, above)| span.kind == LaneKind::Spans && above < depth && is_meant(span)).any(
        |(span, _)| {
            let end_ns = span.row.start_ns + span.row.value as i64;
            span.row.start_ns <= at_ns && (at_ns < end_ns || (span.unfinished && at_ns == end_ns))
        },
    )
}

/// Returns the rows of a scope that match a filter, tested one by one.
fn scanned(snapshot: &Snapshot, filter: &Filter, scope: &Scope) -> Vec<Hit> {
    let mut hits = Vec::new();
    for track in (0..3).map(TrackIdx).filter(|&track| scope.tracks.contains(track)) {
        let all = rows_of_track(snapshot, track);
        for row in &all {
            let (start_ns, name) = (row.0.row.start_ns, snapshot.names().get(NameIdx(row.0.row.name)).text);
            let end_ns = start_ns + row.0.row.value as i64;
            let reaches_in = scope.from_ns.is_none_or(|from_ns| start_ns >= from_ns || end_ns > from_ns)
                && scope.to_ns.is_none_or(|to_ns| start_ns < to_ns);
            let passes = filter.terms.iter().all(|term| {
                let holds = match &term.test {
                    Test::Name(test) => test.holds(name),
                    Test::Inside(test) => {
                        is_inside(&all, row, |span| test.holds(snapshot.names().get(NameIdx(span.row.name)).text))
                    }
                    Test::Within(SpanPosition { track: number, depth, start_ns }) => {
                        *number == format!("#{}", track.0 + 1)
                            && is_inside(&all, row, |span| {
                                span.row.start_ns == *start_ns && snapshot.lane(span.index.lane).depth == *depth
                            })
                    }
                    other => panic!("{other:?}"),
                };
                holds != term.negated
            });
            if reaches_in && passes {
                let (row, dur_ns) = (row.0, row.0.row.value);
                hits.push(Hit { start_ns, row: row.index, dur_ns, name: NameIdx(row.row.name) });
            }
        }
    }
    hits.sort();
    hits
}

fn scope_of(snapshot: &Snapshot, filter: &Filter, range: (Option<i64>, Option<i64>), tracks: TrackSet) -> Scope {
    Scope { tracks, ..Scope::from_range(range.0, range.1).matching(Matcher::new(snapshot, filter)) }
}

fn hits_of(snapshot: &Snapshot, scope: &Scope) -> Vec<Hit> {
    let hits = search(snapshot, scope, &Cancel::default(), &Progress::default()).unwrap();
    let listed: Vec<Hit> = hits.from(i64::MIN).collect();
    assert_eq!(hits.total(), listed.len() as u64);
    listed
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_question_takes_the_rows_that_a_loop_over_the_spans_above_takes(
        seed in 0u64..1 << 40,
        lanes in 1u16..5,
        rows in prop_oneof![1usize..20, 60usize..140],
        range in (prop::option::of(-30i64..300), prop::option::of(-30i64..300)),
        tracks in prop_oneof![Just(None), prop::collection::vec(0u32..3, 0..3).prop_map(Some)],
        texts in prop::collection::vec(prop_oneof![
            Just("in:Run"), Just("-in:Paint"), Just("in:/^(Run|Read)$/"), Just("in:~lyt"), Just("in:nothing"),
            Just("-in:/./"), Just("Read"), Just("WITHIN"), Just("-WITHIN"),
        ], 1..4),
        chosen in 0usize..1000,
    ) {
        // A range ends after its start: the command line refuses any other, and the window makes none.
        let range = match range {
            (Some(from_ns), Some(to_ns)) if to_ns <= from_ns => (Some(to_ns), Some(from_ns + 1)),
            _ => range,
        };
        let snapshot = trace(lanes, rows, seed);
        // The start of a span, or a time at which none starts.
        let all = rows_of_track(&snapshot, TrackIdx(seed as u32 % 3));
        let (span, depth) = all[chosen % all.len()];
        let within = SpanPosition::new(TrackIdx(seed as u32 % 3), depth.min(2) as u16, span.row.start_ns);
        let text = texts.join(" ").replace("WITHIN", &format!("within:{within}"));
        let filter = Filter::parse(&text).unwrap();
        let tracks = tracks.map_or(TrackSet::ALL, |tracks| tracks.into_iter().map(TrackIdx).collect());
        let scope = scope_of(&snapshot, &filter, range, tracks);
        let expected = scanned(&snapshot, &filter, &scope);
        prop_assert_eq!(&hits_of(&snapshot, &scope), &expected, "{}", &text);

        let is_spans = |hit: &&Hit| snapshot.lane(hit.row.lane).kind == LaneKind::Spans;
        let spans: Vec<Hit> = expected.iter().filter(is_spans).copied().collect();
        let growing = GrowingTotals::default();
        add_up(&snapshot, &scope, &growing, &Cancel::default(), &Progress::default()).unwrap();
        let counted: u64 = growing.so_far().by_group().iter().map(|(_, totals)| totals.count).sum();
        prop_assert_eq!(counted, spans.len() as u64, "{}", &text);
        let mut by_length = spans.clone();
        by_length.sort_by_key(|hit| (u64::MAX - hit.dur_ns, *hit));
        by_length.truncate(7);
        prop_assert_eq!(longest(&snapshot, &scope, 7, &Cancel::default()).unwrap(), by_length);
        let parts = over_time(&snapshot, &scope, (-1000, 5000), 3, &Cancel::default()).unwrap();
        prop_assert_eq!(parts.iter().sum::<u64>(), expected.len() as u64);
        if scope.tracks.is_all() && range == (None, None) {
            let buckets = Buckets::covering(-64, 4096, 1 << 13);
            for lane in (0..snapshot.store().lane_count()).map(LaneIdx) {
                let cells = filtered::longest(&snapshot, &scope.matcher, lane, buckets, &Cancel::default()).unwrap();
                let of_lane = expected.iter().filter(|hit| hit.row.lane == lane);
                let most = of_lane.map(|hit| hit.dur_ns).max();
                let shown = cells.iter().map(|cell| cell.start_ns.abs_diff(cell.end_ns)).max();
                prop_assert_eq!(shown, most, "{}", &text);
            }
        }
    }

    #[test]
    fn a_term_that_may_keep_nothing_answers_the_same(seed in 0u64..1 << 40, rows in 60usize..140) {
        let snapshot = trace(4, rows, seed);
        let is_named = |name| ["Run", "Idle"].contains(&snapshot.names().get(NameIdx(name)).text);
        let names = NameSet::new(&(0..snapshot.names().len() as u32).map(is_named).collect::<Vec<_>>());
        let kept = Inside::named(&snapshot, names.clone(), false);
        let forgetful = Inside::with_kept_max(&snapshot, names, false, 0);
        for lane in (0..snapshot.store().lane_count()).map(LaneIdx) {
            let rows = SortedRows::new(&snapshot, [lane], None, None);
            let starts: Vec<i64> = rows.map(|row| row.row.start_ns).collect();
            for block in starts.chunks(64) {
                prop_assert_eq!(kept.rows_of(&snapshot, lane, block), forgetful.rows_of(&snapshot, lane, block));
            }
        }
    }
}

#[test]
fn a_block_tests_only_the_extents_around_it() {
    let snapshot = trace(2, 30_000, 3);
    let names = NameSet::new(&vec![true; snapshot.names().len()]);
    let kept = Inside::named(&snapshot, names.clone(), false);
    let forgetful = Inside::with_kept_max(&snapshot, names, false, 0);
    let deep = LaneIdx(2);
    let rows = SortedRows::new(&snapshot, [deep], None, None);
    let starts: Vec<i64> = rows.map(|row| row.row.start_ns).collect();
    for at in [0, 15_000, 29_900] {
        let block = &starts[at..at + 64];
        forgetful.prepare(&snapshot, TrackIdx(0), &Cancel::default()).unwrap();
        let before = TESTED_EXTENTS.get();
        let mask = forgetful.rows_of(&snapshot, deep, block);
        let tested = TESTED_EXTENTS.get() - before;
        assert_eq!(mask, kept.rows_of(&snapshot, deep, block));
        assert!(mask != 0 && tested <= 2, "{tested} extents at row {at}");
    }
}

/// Builds one track with a span over everything, and spans of two nanoseconds in it, `apart_ns` from start to start.
fn track_of_short_spans(count: u32, apart_ns: i64) -> (std::fs::File, Snapshot, NameSet) {
    let short = |number| TraceSpan { track: 0, lane: 2, start_ns: i64::from(number) * apart_ns, dur_ns: 2, name: 1 };
    let all = TraceSpan { track: 0, lane: 0, start_ns: 0, dur_ns: 1 << 30, name: 1 };
    let spans: Vec<_> = std::iter::once(all).chain((0..count).map(short)).collect();
    let (file, snapshot) = store(&spans, None, 1 << 20);
    let names = NameSet::new(&vec![true; snapshot.names().len()]);
    (file, snapshot, names)
}

#[test]
fn the_spans_of_a_track_count_towards_the_limit_until_they_are_steps() {
    const STEPS_BYTES: usize = 2 * 16;
    // Each short span takes 32 bytes until it turns out to be within another.
    for (count, apart_ns, limit, kept) in [
        (4_000, 3, 100_000, 0),
        (4_000, 3, 200_000, STEPS_BYTES),
        // Spans without gaps are one.
        (20_000, 2, 10_000, STEPS_BYTES),
    ] {
        let (_file, snapshot, names) = track_of_short_spans(count, apart_ns);
        let inside = Inside::with_kept_max(&snapshot, names, false, limit);
        let cancel = Cancel::default();
        cancel.cancel();
        assert!(inside.prepare(&snapshot, TrackIdx(0), &cancel).is_err());
        assert_eq!(inside.left_bytes(), limit, "a cancelled scan keeps nothing");
        inside.prepare(&snapshot, TrackIdx(0), &Cancel::default()).unwrap();
        assert_eq!(limit - inside.left_bytes(), kept, "{count} spans with {limit} bytes");
        assert_eq!(inside.rows_of(&snapshot, LaneIdx(1), &[0, 3, 6, 1 << 31]), 0b111);
    }
}

#[test]
fn a_span_is_named_by_its_thread_or_by_the_number_of_its_track() {
    let snapshot = trace(3, 100, 9);
    let all = rows_of_track(&snapshot, TrackIdx(1));
    let (span, depth) = all.iter().find(|(row, depth)| *depth == 0 && row.row.value > 8).copied().unwrap();
    let count = |text: &str| {
        let filter = Filter::parse(text).unwrap();
        hits_of(&snapshot, &Scope::from_matcher(Matcher::new(&snapshot, &filter))).len()
    };
    let start_ns = span.row.start_ns;
    let by_number = count(&format!("within:#2/{depth}@{start_ns}"));
    assert!(by_number > 0);
    assert_eq!(count(&format!("within:1/{depth}@{start_ns}")), by_number, "the thread has the id 1");
    assert_eq!(count(&format!("within:1/{depth}@{start_ns}ns")), by_number);
    for nowhere in ["#0/0@1", "#4/0@1", "nobody/0@1", "1/9@1", "1/0@99999999"] {
        assert_eq!(count(&format!("within:{nowhere}")), 0, "{nowhere}");
        assert_eq!(count(&format!("-within:{nowhere}")), count(""), "{nowhere}");
    }
}

#[test]
fn the_tracks_of_a_scope_are_those_that_its_terms_name() {
    let snapshot = trace(1, 2, 3);
    let tracks = |text: &str, tracks| {
        let filter = Filter::parse(text).unwrap();
        scope_of(&snapshot, &filter, (None, None), tracks).span_tracks(&snapshot)
    };
    let set = |tracks: &[u32]| tracks.iter().copied().map(TrackIdx).collect::<TrackSet>();
    assert_eq!(tracks("in:Run", TrackSet::ALL), TrackSet::ALL);
    assert_eq!(tracks("process:0", TrackSet::ALL), set(&[0, 2]));
    assert_eq!(tracks("process:0", set(&[0, 1])), set(&[0]));
    assert_eq!(tracks("-thread:1 Run", set(&[0, 1])), set(&[0]));
    assert_eq!(tracks("", set(&[])), set(&[]));
}

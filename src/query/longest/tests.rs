//! The longest spans against an oracle: all matching spans, sorted by duration.

use super::{LongestSpans, LongestWork, sorted_longest};
use crate::base::cancel::Cancel;
use crate::base::files::damage_at;
use crate::model::{NameIdx, TrackIdx};
use crate::query::Snapshot;
use crate::query::filter::Filter;
use crate::query::ledger_traces::{RandomSequence, SMALL, TraceSpan, ranges, spans, store};
use crate::query::matcher::Matcher;
use crate::query::scope::Scope;
use crate::query::search::Hit;
use crate::store::Store;
use crate::store::ledger::LedgerShape;

/// Duration, start, track and lane: identifies spans, and sorts them like the answer.
type Key = (std::cmp::Reverse<u64>, i64, u32, u16);

fn key(span: &TraceSpan) -> Key {
    (std::cmp::Reverse(span.dur_ns), span.start_ns, span.track, span.lane)
}

fn expected(
    spans: &[TraceSpan],
    from_ns: Option<i64>,
    to_ns: Option<i64>,
    is_meant: impl Fn(&TraceSpan) -> bool,
) -> Vec<Key> {
    let reaches = |span: &TraceSpan| from_ns.is_none_or(|from| span.end_ns() > from || span.start_ns >= from);
    let starts = |span: &TraceSpan| to_ns.is_none_or(|to| span.start_ns < to);
    let meant = spans.iter().filter(|span| reaches(span) && starts(span) && is_meant(span));
    let mut keys: Vec<Key> = meant.map(key).collect();
    keys.sort_unstable();
    keys
}

fn key_of_hit(snapshot: &Snapshot, hit: &Hit) -> Key {
    let lane = snapshot.lane(hit.row.lane);
    (std::cmp::Reverse(hit.dur_ns), hit.start_ns, lane.track.0, lane.depth)
}

/// Returns all spans, a page at a time.
fn pages(snapshot: &Snapshot, scope: &Scope, page: usize) -> Vec<Key> {
    let mut longest = LongestSpans::new(snapshot, scope);
    let mut keys = Vec::new();
    loop {
        let hits = longest.page(page, &Cancel::default()).unwrap();
        keys.extend(hits.iter().map(|hit| key_of_hit(snapshot, hit)));
        if hits.len() < page {
            return keys;
        }
    }
}

#[test]
fn the_longest_are_those_of_a_sort_with_and_without_a_ledger() {
    let mut random = RandomSequence(23);
    for (tracks, lanes, rows) in [(1, 1, 300), (1, 3, 200), (3, 3, 120), (12, 2, 400)] {
        let spans = spans(tracks, lanes, rows, rows, -500);
        let stores = [store(&spans, None, 0).1, store(&spans, Some(SMALL), 1 << 20).1];
        for (from_ns, to_ns) in ranges(&stores[1], &mut random, 12) {
            let in_range = Scope::from_range(from_ns, to_ns);
            for scope in [in_range.clone(), in_range.with_tracks(&[TrackIdx(0), TrackIdx(tracks - 1)])] {
                for filter in ["", "\"name 9\"", "/[1-3]/", "thread:1", "dur>100 dur<300", "nothing"] {
                    let matcher = Matcher::new(&stores[0], &Filter::parse(filter).unwrap());
                    let expected = expected(&spans, from_ns, to_ns, |span| {
                        scope.tracks.contains(TrackIdx(span.track))
                            && matcher.has_track(TrackIdx(span.track))
                            && matcher.has_name(NameIdx(span.name))
                            && matcher.has_duration(span.dur_ns)
                    });
                    for store in &stores {
                        let scope = scope.clone().matching(Matcher::new(store, &Filter::parse(filter).unwrap()));
                        let found = pages(store, &scope, 37);
                        assert_eq!(found, expected, "{filter:?} {from_ns:?}..{to_ns:?} {:?}", scope.tracks);
                        let sorted = sorted_longest(store, &scope, 50, &Cancel::default()).unwrap();
                        let found: Vec<Key> = sorted.iter().map(|hit| key_of_hit(store, hit)).collect();
                        assert_eq!(found, expected[..expected.len().min(50)], "{filter:?} sorted");
                    }
                }
            }
        }
    }
}

#[test]
fn equally_long_spans_come_in_order_of_time_without_reading_all() {
    let spans: Vec<TraceSpan> =
        (0..20_000).map(|row| TraceSpan { track: 0, lane: 0, start_ns: row * 10, dur_ns: 7, name: 1 }).collect();
    let (_, snapshot) = store(&spans, None, 0);
    let mut longest = LongestSpans::new(&snapshot, &Scope::default());
    let starts: Vec<i64> = longest.page(100, &Cancel::default()).unwrap().iter().map(|hit| hit.start_ns).collect();
    assert_eq!(starts, (0..100).map(|row| row * 10).collect::<Vec<_>>());
    assert!(longest.work().blocks <= 3, "{:?}", longest.work());
}

#[test]
fn work_for_a_few_grows_with_the_logarithm_of_the_spans() {
    let work = |rows: u64, filter: &str| -> LongestWork {
        let spans = spans(4, 2, rows, 9, 0);
        let shape = LedgerShape { slice_rows: 256, leaf_rows: 64, ..SMALL };
        let (_, snapshot) = store(&spans, Some(shape), 1 << 24);
        let end_ns = snapshot.end_ns();
        let scope = Scope::from_range(Some(end_ns / 7), Some(end_ns / 7 * 5));
        let scope = scope.matching(Matcher::new(&snapshot, &Filter::parse(filter).unwrap()));
        let mut longest = LongestSpans::new(&snapshot, &scope);
        assert_eq!(longest.page(10, &Cancel::default()).unwrap().len(), 10);
        longest.work()
    };
    for filter in ["", "/^name [6-9]$/"] {
        let (few, many) = (work(300, filter), work(30_000, filter));
        // With a hundred times the spans, each of the ten costs at most one more path.
        assert!(
            many.blocks <= few.blocks + if filter.is_empty() { 40 } else { 300 },
            "{filter:?}: {many:?} after {few:?}"
        );
        assert!(many.parts <= few.parts + 400, "{filter:?}: {many:?} after {few:?}");
        assert!(many.nodes <= few.nodes + 300, "{filter:?}: {many:?} after {few:?}");
        assert_eq!(many.nodes > 0, !filter.is_empty(), "{filter:?}: {many:?}");
    }
}

#[test]
fn a_cancelled_page_is_not_lost() {
    let spans = spans(2, 2, 200, 4, 0);
    let (_, snapshot) = store(&spans, Some(SMALL), 1 << 20);
    let expected = pages(&snapshot, &Scope::default(), 10_000);
    let mut longest = LongestSpans::new(&snapshot, &Scope::default());
    let stopped = Cancel::default();
    stopped.cancel();
    assert!(longest.page(5, &stopped).is_err());
    let after: Vec<u64> = longest.page(20, &Cancel::default()).unwrap().iter().map(|hit| hit.dur_ns).collect();
    assert_eq!(after, expected[..20].iter().map(|key| key.0.0).collect::<Vec<_>>());
}

#[test]
fn rows_of_a_damaged_node_are_read_instead() {
    let spans = spans(3, 3, 400, 5, 0);
    let (file, snapshot) = store(&spans, Some(SMALL), 1 << 20);
    let ledger = snapshot.store().ledger().expect("a ledger");
    let tree = ledger.tree(Some(TrackIdx(1))).expect("a tree of the track");
    let (nodes, _) = ledger.cover(tree, 0, ledger.bounds_ns().len() as u32 - 1);
    let child = ledger.children(nodes[0])[1];
    for node in [child, ledger.children(child)[0]] {
        damage_at(&file, ledger.offset(node));
    }
    let damaged = Snapshot::new(Store::from_file(&file, "test".as_ref()).unwrap().into());
    let scope = Scope::from_matcher(Matcher::new(&damaged, &Filter::parse("\"name 3\"").unwrap()));
    let is_meant = |span: &TraceSpan| damaged.names().get(NameIdx(span.name)).text == "name 3";
    assert_eq!(pages(&damaged, &scope, 50), expected(&spans, None, None, is_meant));
    assert_eq!(damaged.store().damaged(), 1, "its children are not read");
}

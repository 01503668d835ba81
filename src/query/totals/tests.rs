//! Totals against oracles: loops over all spans of a track for each span. Ledgers have slices of about 16 rows, so a
//! thousand spans make trees of many levels.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{GrowingTotals, Totals, TotalsWork, add_up};
use crate::base::cancel::Cancel;
use crate::base::files::damage_at;
use crate::base::progress::Progress;
use crate::model::{NameIdx, TrackIdx};
use crate::query::Snapshot;
use crate::query::filter::Filter;
use crate::query::ledger_traces::{RandomSequence, SMALL, TraceSpan, ranges, spans, store};
use crate::query::matcher::Matcher;
use crate::query::scope::Scope;
use crate::store::Store;
use crate::store::ledger::LedgerShape;

/// Count, total, self, union, and sorted whole durations of a name.
type Expected = (u64, u128, u128, u128, Vec<u64>);

/// Returns the length of the union of ranges.
pub(super) fn union_ns(mut ranges: Vec<(i64, i64)>) -> u128 {
    ranges.sort_unstable();
    let (mut sum, mut until) = (0, i64::MIN);
    for (from, to) in ranges {
        let from = from.max(until);
        if to > from {
            sum += u128::from(to.abs_diff(from));
            until = to;
        }
    }
    sum
}

/// Spans with the children of each, found by a loop over all spans.
pub(super) struct Oracle<'a> {
    pub(super) spans: &'a [TraceSpan],
    children: Vec<Vec<&'a TraceSpan>>,
}

impl<'a> Oracle<'a> {
    pub(super) fn new(spans: &'a [TraceSpan]) -> Self {
        let mut children = vec![Vec::new(); spans.len()];
        for child in spans {
            let above =
                spans.iter().enumerate().filter(|(_, span)| span.track == child.track && span.lane < child.lane);
            let open = above.filter(|(_, span)| (span.start_ns..span.end_ns()).contains(&child.start_ns));
            if let Some((parent, _)) = open.max_by_key(|(_, span)| span.lane) {
                children[parent].push(child);
            }
        }
        Self { spans, children }
    }

    pub(super) fn expected(
        &self,
        from: Option<i64>,
        to: Option<i64>,
        passes: impl Fn(&TraceSpan) -> bool,
    ) -> BTreeMap<u32, Expected> {
        let (from_ns, to_ns) = (from.unwrap_or(i64::MIN), to.unwrap_or(i64::MAX));
        let clip = |start: i64, end: i64| (start.max(from_ns), end.min(to_ns));
        let mut totals: BTreeMap<u32, Expected> = BTreeMap::new();
        let mut open: BTreeMap<(u32, u32), Vec<(i64, i64)>> = BTreeMap::new();
        for (span, children) in self.spans.iter().zip(&self.children).filter(|(span, _)| passes(span)) {
            let starts_before_end = to.is_none_or(|to_ns| span.start_ns < to_ns);
            if !starts_before_end || (span.start_ns < from_ns && span.end_ns() <= from_ns) {
                continue;
            }
            let (start, end) = clip(span.start_ns, span.end_ns());
            let within = u128::from(end.abs_diff(start)) * u128::from(end > start);
            let children = children.iter().map(|child| clip(child.start_ns, child.end_ns().min(span.end_ns())));
            let covered = union_ns(children.collect());
            let row = totals.entry(span.name).or_default();
            row.0 += 1;
            row.1 += within;
            row.2 += within - covered;
            row.4.push(span.dur_ns);
            open.entry((span.track, span.name)).or_default().push((start, end));
        }
        for ((_, name), ranges) in open {
            totals.entry(name).or_default().3 += union_ns(ranges);
        }
        totals.values_mut().for_each(|row| row.4.sort_unstable());
        totals
    }
}

fn expected(
    spans: &[TraceSpan],
    from: Option<i64>,
    to: Option<i64>,
    passes: impl Fn(&TraceSpan) -> bool,
) -> BTreeMap<u32, Expected> {
    Oracle::new(spans).expected(from, to, passes)
}

fn totals(snapshot: &Snapshot, filter: &str, scope: &Scope) -> (Totals, TotalsWork) {
    let matcher = Matcher::new(snapshot, &Filter::parse(filter).unwrap());
    let scope = &scope.clone().matching(matcher);
    let growing = GrowingTotals::default();
    let progress = Progress::default();
    let work = add_up(snapshot, scope, &growing, &Cancel::default(), &progress).unwrap();
    assert!(progress.view().fraction().is_none_or(|part| part == 1.0));
    (growing.into_totals(), work)
}

#[track_caller]
fn assert_totals(totals: &Totals, expected: &BTreeMap<u32, Expected>, what: &str) {
    let rows: Vec<_> = totals.by_group().into_iter().map(|(group, row)| (group.name, row)).collect();
    assert_eq!(rows.iter().map(|(name, _)| name.0).collect::<Vec<_>>(), expected.keys().copied().collect::<Vec<_>>());
    for ((name, row), (count, total_ns, self_ns, union_ns, durs)) in rows.into_iter().zip(expected.values()) {
        let what = format!("name {} of {what}", name.0);
        assert_eq!(row.count, *count, "count of {what}");
        assert_eq!(
            (row.total_ns, row.self_ns, row.union_ns()),
            (*total_ns, *self_ns, Some(*union_ns)),
            "times of {what}"
        );
        assert_eq!((Some(&row.min_ns), Some(&row.max_ns)), (durs.first(), durs.last()), "bounds of {what}");
        let whole: u128 = durs.iter().copied().map(u128::from).sum();
        let rounded = (2 * whole + u128::from(*count)) / (2 * u128::from(*count));
        assert_eq!((row.whole_ns, u128::from(row.mean_ns())), (whole, rounded), "mean of {what}");
        let mean = whole as f64 / *count as f64;
        let variance = durs.iter().map(|&dur| (dur as f64 - mean).powi(2)).sum::<f64>() / *count as f64;
        if let Some(deviation_ns) = row.deviation_ns() {
            let off = (deviation_ns - variance.sqrt()).abs();
            assert!(off <= 1e-6 * (mean + 1.0), "deviation of {what}: {deviation_ns}, not {}", variance.sqrt());
        }
        for (part, rank) in [(0.5, durs.len().div_ceil(2)), (0.99, (durs.len() * 99).div_ceil(100))] {
            let quantile = row.quantile_ns(part).expect("all durations are counted");
            let allowed = if durs.len() <= 128 { 0 } else { durs[rank - 1] / 32 };
            assert!(quantile.abs_diff(durs[rank - 1]) <= allowed, "{part} of {what} is {quantile}");
        }
    }
}

#[test]
fn totals_are_those_of_a_loop_over_all_spans_with_and_without_a_ledger() {
    let mut random = RandomSequence(77);
    for (tracks, lanes, rows) in [(1, 1, 300), (3, 3, 120), (2, 5, 90), (12, 2, 400)] {
        let spans = spans(tracks, lanes, rows, rows, -500);
        let stores = [store(&spans, None, 0).1, store(&spans, Some(SMALL), 1 << 20).1];
        assert!(stores[0].store().ledger().is_none());
        let ledger = stores[1].store().ledger().expect("a ledger");
        assert!(ledger.bounds_ns().len() > 6, "{} slices", ledger.bounds_ns().len() - 1);
        for (from_ns, to_ns) in ranges(&stores[1], &mut random, 15) {
            let in_range = Scope::from_range(from_ns, to_ns);
            let one = in_range.clone().with_tracks(&[TrackIdx(0)]);
            let two = in_range.clone().with_tracks(&[TrackIdx(0), TrackIdx(tracks - 1)]);
            for scope in [in_range, one, two] {
                for filter in ["", "/[1-3]/", "thread:1", "dur>100", "-\"name 4\" dur<90"] {
                    let matcher = Matcher::new(&stores[0], &Filter::parse(filter).unwrap());
                    let expected = expected(&spans, from_ns, to_ns, |span| {
                        scope.tracks.contains(TrackIdx(span.track))
                            && matcher.has_track(TrackIdx(span.track))
                            && matcher.has_name(NameIdx(span.name))
                            && matcher.has_duration(span.dur_ns)
                    });
                    for store in &stores {
                        let what = format!("{filter:?} {from_ns:?}..{to_ns:?} {:?}", scope.tracks);
                        assert_totals(&totals(store, filter, &scope).0, &expected, &what);
                    }
                }
            }
        }
    }
}

/// Number of random scopes: 2,000, or 100,000 if `LONGSPAN_LONG_TESTS` is set, as `.ci/run --long` does.
fn scope_count() -> usize {
    if std::env::var_os("LONGSPAN_LONG_TESTS").is_some() { 100_000 } else { 2_000 }
}

#[test]
fn random_scopes_of_many_traces_add_up() {
    const TRACES: usize = 20;
    let mut random = RandomSequence(2024);
    for trace in 0..TRACES {
        let (tracks, lanes) = (1 + random.below(9) as u32, 1 + random.below(5) as u16);
        let spans =
            spans(tracks, lanes, 20 + random.below(120), random.below(1 << 30), random.below(1000) as i64 - 500);
        let shape = LedgerShape {
            rows_min: 1,
            slice_rows: 4 + random.below(30),
            leaf_rows: 2 + random.below(20),
            fan_out: 2 + random.below(4) as u32,
            sketch_slices: 1 << random.below(3),
        };
        let (_, snapshot) = store(&spans, Some(shape), 1 << 20);
        let oracle = Oracle::new(&spans);
        for (from_ns, to_ns) in ranges(&snapshot, &mut random, scope_count() / TRACES) {
            let in_range = Scope::from_range(from_ns, to_ns);
            let some: Vec<TrackIdx> = (0..tracks).filter(|_| random.below(2) == 0).map(TrackIdx).collect();
            let scope = match random.below(3) {
                0 => in_range,
                1 => in_range.with_tracks(&[TrackIdx(random.below(tracks.into()) as u32)]),
                _ => in_range.with_tracks(&some),
            };
            let filter = ["", "", "/[1-3]/", "\"name 4\"", "thread:1", "-cat:2", "dur>100"][random.below(7) as usize];
            let matcher = Matcher::new(&snapshot, &Filter::parse(filter).unwrap());
            let expected = oracle.expected(from_ns, to_ns, |span| {
                scope.tracks.contains(TrackIdx(span.track))
                    && matcher.has_track(TrackIdx(span.track))
                    && matcher.has_name(NameIdx(span.name))
                    && matcher.has_duration(span.dur_ns)
            });
            let what = format!("trace {trace}: {filter:?} {from_ns:?}..{to_ns:?} {:?}", scope.tracks);
            assert_totals(&totals(&snapshot, filter, &scope).0, &expected, &what);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_spans_in_any_shape_of_ledger_add_up(
        (tracks, lanes, rows, seed) in (1u32..6, 1u16..6, 1u64..80, any::<u64>()),
        (slice_rows, leaf_rows, fan_out) in (1u64..40, 1u64..40, 2u32..6),
        first_ns in prop_oneof![Just(0), Just(i64::MIN), Just(i64::MAX - 9000), any::<i64>()],
        budget_bytes in prop_oneof![Just(1usize << 20), 0usize..60_000],
    ) {
        let spans = spans(tracks, lanes, rows, seed, first_ns);
        let shape = LedgerShape { rows_min: 1, slice_rows, leaf_rows, fan_out, sketch_slices: 4 };
        let (_, snapshot) = store(&spans, Some(shape), budget_bytes);
        let mut random = RandomSequence(seed);
        for (from_ns, to_ns) in ranges(&snapshot, &mut random, 8) {
            let track = TrackIdx(random.below(tracks.into()) as u32);
            let in_range = Scope::from_range(from_ns, to_ns);
            for scope in [in_range.clone(), in_range.with_tracks(&[track])] {
                let in_scope = |span: &TraceSpan| scope.tracks.contains(TrackIdx(span.track));
                let what = format!("{from_ns:?}..{to_ns:?} {:?}", scope.tracks);
                assert_totals(&totals(&snapshot, "", &scope).0, &expected(&spans, from_ns, to_ns, in_scope), &what);
            }
        }
    }
}

#[test]
fn totals_do_not_depend_on_the_number_of_threads() {
    let spans = spans(5, 3, 400, 57, 0);
    for shape in [None, Some(SMALL)] {
        let (_, snapshot) = store(&spans, shape, 1 << 20);
        let scope = Scope::from_range(Some(1000), None);
        let expected = totals(&snapshot, "", &scope);
        for threads in 1..5 {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert!(pool.install(|| totals(&snapshot, "", &scope)) == expected, "{threads} threads");
        }
    }
}

#[test]
fn a_damaged_node_is_swept_instead_and_said() {
    let spans = spans(3, 3, 400, 5, 0);
    let (file, snapshot) = store(&spans, Some(SMALL), 1 << 20);
    let ledger = snapshot.store().ledger().expect("a ledger");
    let everything = expected(&spans, None, None, |_| true);
    let tree = ledger.tree(None).expect("the tree of all tracks");
    let (nodes, _) = ledger.cover(tree, 0, ledger.bounds_ns().len() as u32 - 1);
    let (sketches, _) = ledger.cover(ledger.sketches().expect("sketches"), 0, ledger.bounds_ns().len() as u32 - 1);
    for node in [nodes[0], sketches[0]] {
        damage_at(&file, ledger.offset(node));
    }
    let damaged = Snapshot::new(Store::from_file(&file, "test".as_ref()).unwrap().into());
    let (totals, work) = totals(&damaged, "", &Scope::default());
    assert_totals(&totals, &everything, "a damaged store");
    assert_eq!((work.damaged_nodes, damaged.store().damaged()), (1, 2));
}

#[test]
fn work_for_a_range_grows_with_the_logarithm_of_the_spans() {
    let work = |rows: u64| {
        let spans = spans(4, 2, rows, 9, 0);
        let shape = LedgerShape { slice_rows: 64, leaf_rows: 64, ..SMALL };
        let (_, snapshot) = store(&spans, Some(shape), 1 << 24);
        let end_ns = snapshot.end_ns();
        let scope = Scope::from_range(Some(end_ns / 7), Some(end_ns / 7 * 5));
        let whole = totals(&snapshot, "", &scope).1;
        let track = totals(&snapshot, "", &scope.with_tracks(&[TrackIdx(0)])).1;
        (whole, track)
    };
    let (few, many) = (work(200), work(20_000));
    // A hundred times the spans are some four levels of three more: up to 16 nodes.
    for (few, many) in [(few.0, many.0), (few.1, many.1)] {
        assert!(many.nodes <= few.nodes + 17, "{many:?} after {few:?}");
        assert!(many.sweeps <= few.sweeps + 8, "{many:?} after {few:?}");
    }
    assert!(many.1.nodes > 0, "a track has a tree of its own: {many:?}");
}

#[test]
fn filters_of_names_and_tracks_read_nodes_and_all_others_rows() {
    let spans = spans(4, 2, 2000, 9, 0);
    let (_, snapshot) = store(&spans, Some(LedgerShape { slice_rows: 64, leaf_rows: 64, ..SMALL }), 1 << 24);
    let scope = Scope::from_range(Some(snapshot.end_ns() / 7), None);
    let all = totals(&snapshot, "", &scope).1;
    for filter in ["/[1-3]/", "cat:2 -\"name 4\"", "-cat:1"] {
        assert_eq!(totals(&snapshot, filter, &scope).1, all, "{filter}");
    }
    for filter in ["thread:0", "process:100 cat:2"] {
        let of_tracks = totals(&snapshot, filter, &scope).1;
        assert!(of_tracks.nodes > 0 && of_tracks.sweeps <= all.sweeps, "{filter}: {of_tracks:?}");
    }
    for filter in ["dur>1", "arg.of.five=1", "in:/name/"] {
        assert_eq!(totals(&snapshot, filter, &scope).1.nodes, 0, "{filter}");
    }
}

#[test]
fn a_span_at_the_largest_time_is_in_a_range_without_end() {
    let spans = [TraceSpan { track: 0, lane: 0, start_ns: i64::MAX, dur_ns: 0, name: 4 }];
    for shape in [None, Some(SMALL)] {
        let (_, snapshot) = store(&spans, shape, 1 << 20);
        for from in [None, Some(0), Some(i64::MAX)] {
            let expected = expected(&spans, from, None, |_| true);
            assert_totals(&totals(&snapshot, "", &Scope::from_range(from, None)).0, &expected, &format!("{from:?}"));
            let before = totals(&snapshot, "", &Scope::from_range(from, Some(i64::MAX - 1))).0;
            assert!(before.by_group().is_empty(), "{from:?}");
        }
    }
}

#[test]
fn a_budget_without_room_for_a_ledger_means_none() {
    let spans = spans(2, 2, 100, 3, 0);
    let (_, snapshot) = store(&spans, Some(SMALL), 1000);
    assert!(snapshot.store().ledger().is_none());
    let everything = expected(&spans, None, None, |_| true);
    assert_totals(&totals(&snapshot, "", &Scope::default()).0, &everything, "no ledger");
}

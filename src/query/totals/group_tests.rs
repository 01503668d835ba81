//! Totals by other keys than names against an oracle: totals by name of the spans of each group.

use std::collections::{BTreeMap, BTreeSet};

use super::tests::{Oracle, union_ns};
use super::{GroupValue, GrowingTotals, NameTotals, Totals, add_up, label_cells};
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::model::{NameIdx, TrackIdx};
use crate::query::Snapshot;
use crate::query::filter::Filter;
use crate::query::groups::{GroupBy, NameKey, OwnerKey, SpanGroup};
use crate::query::ledger_traces::{
    RandomSequence, SMALL, TraceSpan, argument, category, process, ranges, spans, store, unfinished,
};
use crate::query::matcher::Matcher;
use crate::query::scope::Scope;

/// Count, total, self, union, whole durations and unfinished of a group.
type GroupRow = (u64, u128, u128, Option<u128>, Vec<u64>, u64);

/// Returns the groups by a loop over the spans of each.
fn expected_groups(
    oracle: &Oracle<'_>,
    (from_ns, to_ns): (Option<i64>, Option<i64>),
    label: impl Fn(&TraceSpan) -> String,
    has_union: bool,
    passes: impl Fn(&TraceSpan) -> bool,
) -> BTreeMap<String, GroupRow> {
    let spans = oracle.spans;
    let labels: BTreeSet<String> = spans.iter().filter(|span| passes(span)).map(&label).collect();
    let is_in_range = |span: &TraceSpan| {
        to_ns.is_none_or(|to_ns| span.start_ns < to_ns)
            && from_ns.is_none_or(|from_ns| span.start_ns >= from_ns || span.end_ns() > from_ns)
    };
    let groups = labels.into_iter().filter_map(|of_group| {
        let is_meant = |span: &TraceSpan| passes(span) && label(span) == of_group;
        let by_name = oracle.expected(from_ns, to_ns, is_meant);
        let mut row = (0, 0, 0, None, Vec::new(), 0);
        for (count, total_ns, self_ns, _, durs) in by_name.into_values() {
            (row.0, row.1, row.2) = (row.0 + count, row.1 + total_ns, row.2 + self_ns);
            row.4.extend(durs);
        }
        row.4.sort_unstable();
        if has_union {
            // At least one span of the group is open on its track.
            let in_range = spans.iter().filter(|span| is_meant(span) && is_in_range(span));
            let mut open: BTreeMap<u32, Vec<(i64, i64)>> = BTreeMap::new();
            for span in in_range {
                let (start_ns, end_ns) =
                    (span.start_ns.max(from_ns.unwrap_or(i64::MIN)), span.end_ns().min(to_ns.unwrap_or(i64::MAX)));
                open.entry(span.track).or_default().push((start_ns, end_ns));
            }
            row.3 = Some(open.into_values().map(union_ns).sum());
        }
        row.5 = unfinished(spans).iter().filter(|span| is_meant(span) && is_in_range(span)).count() as u64;
        (row.0 > 0).then_some((of_group, row))
    });
    groups.collect()
}

/// Returns the group of a span.
type Label<'a> = &'a dyn Fn(&TraceSpan) -> String;

#[test]
fn groups_are_those_of_a_loop_over_all_spans_with_and_without_a_ledger() {
    let category_of = |name: u32| category(name).unwrap_or_else(|| "none".to_owned());
    let name_of = |span: &TraceSpan| span.name.to_string();
    let thread_of = |span: &TraceSpan| span.track.to_string();
    let process_of = |span: &TraceSpan| process(span.track).to_string();
    let value_of = |span: &TraceSpan| argument(span).map_or_else(|| "missing".to_owned(), |value| value.to_string());
    let pair = |one: Label<'_>, other: Label<'_>, span: &TraceSpan| format!("{} {}", one(span), other(span));
    let category_span = |span: &TraceSpan| category_of(span.name);
    let name_thread = |span: &TraceSpan| pair(&name_of, &thread_of, span);
    let name_process = |span: &TraceSpan| pair(&name_of, &process_of, span);
    let category_thread = |span: &TraceSpan| pair(&category_span, &thread_of, span);
    let keys: [(&str, Label<'_>); 8] = [
        ("name", &name_of),
        ("category", &category_span),
        ("thread", &thread_of),
        ("process", &process_of),
        ("name,thread", &name_thread),
        ("name,process", &name_process),
        ("category,thread", &category_thread),
        ("arg:of.five", &value_of),
    ];
    let mut random = RandomSequence(31);
    for (tracks, lanes, rows) in [(1, 3, 120), (4, 3, 70), (9, 1, 200)] {
        let spans = spans(tracks, lanes, rows, rows, -500);
        let oracle = Oracle::new(&spans);
        let stores = [store(&spans, None, 0).1, store(&spans, Some(SMALL), 1 << 20).1];
        for (from_ns, to_ns) in ranges(&stores[1], &mut random, 5) {
            for filter in ["", "/[1-3]/ -thread:1", "dur>60"] {
                let scope = Scope::from_range(from_ns, to_ns).with_tracks(&[TrackIdx(0), TrackIdx(1), TrackIdx(3)]);
                for (keys, label) in keys {
                    for snapshot in &stores {
                        let matcher = Matcher::new(snapshot, &Filter::parse(filter).unwrap());
                        let by: GroupBy = keys.parse().unwrap();
                        let scope = if filter.is_empty() { Scope::from_range(from_ns, to_ns) } else { scope.clone() };
                        let passes = |span: &TraceSpan| {
                            scope.tracks.contains(TrackIdx(span.track))
                                && matcher.has_track(TrackIdx(span.track))
                                && matcher.has_name(NameIdx(span.name))
                                && matcher.has_duration(span.dur_ns)
                        };
                        let expected = expected_groups(&oracle, (from_ns, to_ns), label, by.has_union(), passes);
                        let growing = GrowingTotals::grouped(by);
                        let scope = scope.clone().matching(matcher.clone());
                        add_up(snapshot, &scope, &growing, &Cancel::default(), &Progress::default()).unwrap();
                        let found = labelled(&growing.into_totals(), snapshot);
                        let what = format!("{keys} of {filter:?} {from_ns:?}..{to_ns:?}");
                        assert!(
                            found.keys().eq(expected.keys()),
                            "{what}: {:?} not {:?}",
                            found.keys(),
                            expected.keys()
                        );
                        for ((label, row), expected) in found.iter().zip(expected.values()) {
                            let (count, total_ns, self_ns, union_ns, durs, unfinished) = expected;
                            let what = format!("{label} in {what}");
                            assert_eq!(
                                (row.count, u64::from(row.unfinished)),
                                (*count, *unfinished),
                                "counts of {what}"
                            );
                            let times = (row.total_ns, row.self_ns, row.union_ns());
                            assert_eq!(times, (*total_ns, *self_ns, *union_ns), "times of {what}");
                            assert_eq!((Some(&row.min_ns), Some(&row.max_ns)), (durs.first(), durs.last()), "{what}");
                            let median = durs[durs.len().div_ceil(2) - 1];
                            let off = row.quantile_ns(0.5).expect("all are counted").abs_diff(median);
                            assert!(off as f64 <= median as f64 * row.quantile_error(), "median of {what}");
                            assert_eq!(row.quantile_error() > 0.0, durs.len() > 128, "{what}");
                        }
                    }
                }
            }
        }
    }
}

/// Returns the rows of groups by their label in the oracle.
fn labelled(totals: &Totals, snapshot: &Snapshot) -> BTreeMap<String, NameTotals> {
    let label = |group: SpanGroup| match totals.by() {
        GroupBy::Argument(_) => match totals.value(group) {
            GroupValue::Text(text) => text.to_owned(),
            GroupValue::Missing => "missing".to_owned(),
            GroupValue::Others => "others".to_owned(),
        },
        GroupBy::Keys { name, track } => {
            let category = snapshot.names().get(group.name).category.unwrap_or("none");
            let process = || snapshot.tracks().processes[group.owner as usize].pid.to_string();
            let name = name.map(|key| match key {
                NameKey::Name => group.name.0.to_string(),
                NameKey::Category => category.to_owned(),
            });
            let track = track.map(|key| match key {
                OwnerKey::Thread => group.owner.to_string(),
                OwnerKey::Process => process(),
            });
            name.into_iter().chain(track).collect::<Vec<_>>().join(" ")
        }
    };
    totals.by_group().into_iter().map(|(group, row)| (label(group), row.clone())).collect()
}

#[test]
fn pairs_beyond_the_most_are_one_row() {
    let growing = GrowingTotals::grouped("name,thread".parse().unwrap());
    growing.change(|totals| {
        for owner in 0..=Totals::PAIRS_MAX as u32 + 3 {
            totals.row(SpanGroup { name: NameIdx(1), owner }).count += 1;
        }
        totals.row(SpanGroup { name: NameIdx(1), owner: 5 }).count += 1;
    });
    let totals = growing.into_totals();
    assert!(totals.has_others());
    assert_eq!(totals.by_group().len(), Totals::PAIRS_MAX + 1);
    assert_eq!(totals.by_group().iter().map(|(_, row)| row.count).sum::<u64>(), Totals::PAIRS_MAX as u64 + 5);
    let (_file, snapshot) = store(&spans(1, 1, 4, 4, 0), None, 0);
    assert_eq!(label_cells(&totals, SpanGroup::OTHERS, &snapshot).count(), 0, "it has no track to look up");
}

//! Histograms of samples against an oracle: a loop over all samples.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::base::files::damage_at;
use crate::model::sample_measure::OTHER_EVENTS;
use crate::model::{Id, NameIdx, Names, Registry, Stacks, TrackIdx, TrackKey, TrackSet};
use crate::query::filter::Filter;
use crate::query::flame::FunctionIdx;
use crate::query::ledger_traces::RandomSequence;
use crate::query::matcher::Matcher;
use crate::query::sample_table::{SampleBy, SampleGroup, SampleTable};
use crate::query::stacks::{CallTree, NodeIdx, from_histogram, from_samples, within_nodes};
use crate::store::ledger::LedgerShape;
use crate::store::ledger_build::LedgerContext;
use crate::store::path_ledger::PathShape;
use crate::store::pruned_paths;
use crate::store::sample_ledger::SampleShape;
use crate::store::{Meta, Row, Store, StoreWriter, Summary};

/// A sample before it is written: its time, track, path (outermost first), event and weight.
#[derive(Debug, Clone)]
struct Meant {
    ts_ns: i64,
    track: u32,
    path: Vec<u32>,
    event: &'static str,
    weight: Option<u64>,
}

const EVENTS: [&str; 3] = ["cpu-clock", "page-faults", ""];

fn meant(count: usize, seed: u64) -> Vec<Meant> {
    let mut sequence = RandomSequence(seed | 1);
    let mut below = move |bound: u64| sequence.below(bound);
    let mut ts_ns = 0;
    let samples = (0..count).map(|_| {
        ts_ns += below(4) as i64;
        let path = (0..below(6)).map(|_| 1 + below(5) as u32).collect();
        let weight = (below(4) > 0).then(|| below(1000));
        Meant { ts_ns, track: (below(4) as u32).min(2), path, event: EVENTS[below(3) as usize], weight }
    });
    samples.collect()
}

/// Trees of many levels for a thousand samples.
const SMALL: SampleShape =
    SampleShape { rows_min: 1, slice_rows: 16, leaf_rows: 20, fan_out: 3, row_bytes: 1 << 20, rows_per_lane: 0 };

/// Returns the same samples without a ledger and with one.
fn snapshots(samples: &[Meant]) -> [Snapshot; 2] {
    [None, Some(SMALL)].map(|shape| store(samples, shape, 1 << 24).1)
}

fn snapshot(samples: &[Meant]) -> Snapshot {
    store(samples, None, 0).1
}

fn store(samples: &[Meant], shape: Option<SampleShape>, budget_bytes: usize) -> (File, Snapshot) {
    let (mut names, mut registry, mut stacks) = (Names::default(), Registry::default(), Stacks::default());
    for name in 0..5 {
        // Two of them differ only in their category.
        names.intern(&format!("f{}", name.min(3)), (name == 4).then_some("c"));
    }
    let file = tempfile::tempfile().unwrap();
    let mut writer = StoreWriter::new(file.try_clone().unwrap(), 1 << 24).unwrap();
    let lanes = [0, 1, 2].map(|tid| {
        let (pid, tid) = (Id::Number(1), Id::Number(tid));
        let key = TrackKey::thread(pid, tid);
        writer.add_lane(registry.track(&key).unwrap(), LaneKind::Samples, 0).unwrap()
    });
    for sample in samples {
        let stack = stacks.intern_path(sample.path.iter().map(|&name| NameIdx(name)));
        let period = sample.weight.map(|weight| format!(r#","period":{weight}"#)).unwrap_or_default();
        let (mut blob, args_json) = (Vec::new(), format!(r#"{{"event":"{}"{period}}}"#, sample.event));
        Detail { args_json: &args_json, ..Detail::default() }.encode_into(&mut blob);
        let detail = writer.push_detail(&blob).unwrap().0;
        let name = sample.path.last().copied().unwrap_or(0);
        let row = Row { start_ns: sample.ts_ns, value: stack.0.into(), detail, name };
        writer.push(lanes[sample.track as usize], row).unwrap();
    }
    let end_ns = samples.last().map_or(0, |sample| sample.ts_ns);
    let summary = Summary { end_ns, samples: samples.len() as u64, ..Summary::default() };
    let (names, stacks) = (names.into(), Arc::new(stacks));
    let meta = Meta { names, stacks, tracks: registry.tables().clone(), summary, ..Meta::default() };
    let (cancel, progress, shapeless) = (Cancel::default(), Progress::default(), LedgerShape::default());
    let context = shape.map(|samples| LedgerContext {
        shape: shapeless,
        samples,
        paths: PathShape::default(),
        budget_bytes,
        started: std::time::Instant::now(),
        cancel: &cancel,
        progress: &progress,
    });
    writer.finish_with_ledger(meta, context.as_ref(), |_| {}).unwrap();
    let snapshot = Snapshot::new(Store::from_file(&file, "test".as_ref()).unwrap().into());
    (file, snapshot)
}

/// Returns the event of a sample with its unit, and its weight.
fn measured(sample: &Meant) -> ((&str, &str), u64) {
    match (sample.event, sample.weight) {
        (event, None) => ((event, "samples"), 1),
        ("cpu-clock", Some(weight)) => (("cpu-clock", "ns"), weight),
        (event, Some(weight)) => ((event, "count"), weight),
    }
}

fn text(name: u32) -> String {
    format!("f{}", (name - 1).min(3))
}

/// Returns the samples of a scope by testing each.
fn in_scope<'s>(samples: &'s [Meant], scope: &'s Scope) -> impl Iterator<Item = &'s Meant> {
    samples.iter().filter(|sample| {
        scope.from_ns.is_none_or(|from_ns| sample.ts_ns >= from_ns)
            && scope.to_ns.is_none_or(|to_ns| sample.ts_ns < to_ns)
            && scope.tracks.contains(TrackIdx(sample.track))
    })
}

fn counted(snapshot: &Snapshot, scope: &Scope) -> SampleHistogram {
    SampleHistogram::count(snapshot, scope, &Cancel::default(), &Progress::default()).unwrap()
}

fn scopes() -> [Scope; 4] {
    let part = Scope::from_range(Some(200), Some(900));
    let some = Scope { tracks: TrackSet::from_iter([TrackIdx(0), TrackIdx(2)]), ..part.clone() };
    [Scope::default(), part.clone(), Scope { tracks: TrackSet::from_iter([TrackIdx(1)]), ..part }, some]
}

#[test]
fn functions_have_the_sums_of_their_samples_by_event_and_unit() {
    let samples = meant(2000, 7);
    for (snapshot, scope) in snapshots(&samples).iter().flat_map(|snapshot| scopes().map(|scope| (snapshot, scope))) {
        let mut expected: BTreeMap<(&str, &str), BTreeMap<String, [u64; 4]>> = BTreeMap::new();
        for sample in in_scope(&samples, &scope) {
            let (event, weight) = measured(sample);
            let of_event = expected.entry(event).or_default();
            let innermost = sample.path.last().map(|&name| text(name)).unwrap_or_default();
            let mut functions: BTreeSet<String> = sample.path.iter().map(|&name| text(name)).collect();
            functions.insert(innermost.clone());
            for name in functions {
                let is_own = u64::from(name == innermost);
                let sums = of_event.entry(name).or_default();
                [is_own, is_own * weight, 1, weight].iter().zip(sums).for_each(|(more, sum)| *sum += more);
            }
        }
        let histogram = counted(snapshot, &scope);
        let mut found = BTreeMap::new();
        for (row, event) in histogram.events().iter().enumerate() {
            let functions = histogram.by_text(snapshot, row);
            assert!(functions.is_sorted_by_key(|row| std::cmp::Reverse((row.own.weight, row.total.weight))));
            let sums = |row: GroupSums<Option<&str>>| {
                let GroupSums { key, own, total } = row;
                (key.unwrap_or_default().to_owned(), [own.samples, own.weight, total.samples, total.weight])
            };
            found.insert((&*event.name, &*event.unit), functions.into_iter().map(sums).collect());
        }
        assert_eq!(found, expected);
    }
}

/// The text of merged paths.
const OTHERS: &str = "[others]";

/// Returns samples, self weight and total weight by path, outermost first.
fn paths_of(snapshot: &Snapshot, tree: &CallTree) -> BTreeMap<Vec<String>, [u64; 3]> {
    let path = |node: usize| {
        let text = |name| if name == pruned_paths::OTHERS { OTHERS } else { snapshot.names().get(name).text };
        let mut path: Vec<String> = tree.path(NodeIdx(node as u32)).map(|name| text(name).to_owned()).collect();
        path.reverse();
        path
    };
    let nodes = tree.nodes().iter().enumerate();
    nodes.map(|(index, node)| (path(index), [node.count, node.own, node.total])).collect()
}

#[test]
fn call_paths_have_the_weights_of_their_samples() {
    let mut samples = meant(1500, 9);
    // Names that differ in their category are different paths.
    samples.iter_mut().for_each(|sample| sample.path.retain(|&name| name < 5));
    for (snapshot, scope) in snapshots(&samples).iter().flat_map(|snapshot| scopes().map(|scope| (snapshot, scope))) {
        let histogram = counted(snapshot, &scope);
        for (row, event) in histogram.events().iter().enumerate() {
            let mut expected: BTreeMap<Vec<String>, [u64; 3]> = BTreeMap::new();
            for sample in in_scope(&samples, &scope) {
                let (of_event, weight) = measured(sample);
                if of_event != (&*event.name, &*event.unit) {
                    continue;
                }
                let path: Vec<String> = sample.path.iter().map(|&name| text(name)).collect();
                for len in 0..=path.len() {
                    let ends_here = u64::from(len == path.len());
                    let sums = expected.entry(path[..len].to_vec()).or_default();
                    [ends_here, ends_here * weight, weight].iter().zip(sums).for_each(|(more, sum)| *sum += more);
                }
            }
            let tree = from_histogram(snapshot, &histogram, row, |_| false);
            assert_eq!(paths_of(snapshot, &tree), expected, "{event:?}");
            assert_eq!(
                from_histogram(snapshot, &histogram, row, |_| false).nodes()[0].total,
                histogram.total(row).weight
            );
        }
    }
}

#[test]
fn a_tree_that_would_be_too_large_has_the_kept_paths_and_every_weight() {
    let mut samples = meant(1500, 9);
    samples.iter_mut().for_each(|sample| sample.path.retain(|&name| name < 5));
    let snapshot = snapshot(&samples);
    let histogram = counted(&snapshot, &Scope::default());
    let is_kept = |name: NameIdx| snapshot.names().get(name).text == text(4);
    for row in 0..histogram.events().len() {
        let whole = from_histogram(&snapshot, &histogram, row, is_kept);
        let all = paths_of(&snapshot, &whole);
        let kept = |path: &&Vec<String>| path.contains(&text(4));
        let prefixes = all.keys().filter(kept).flat_map(|path| (0..=path.len()).map(|len| &path[..len]));
        let nodes_max = prefixes.collect::<BTreeSet<_>>().len();
        let cut = within_nodes(&snapshot, &histogram.sorted_stacks(row), is_kept, nodes_max);
        assert_eq!(cut.whole(), whole.whole());
        let (others, named): (BTreeMap<_, _>, BTreeMap<_, _>) =
            paths_of(&snapshot, &cut).into_iter().partition(|(path, _)| path.last().is_some_and(|last| last == OTHERS));
        assert_eq!(named.len(), nodes_max);
        assert!(all.keys().filter(kept).all(|path| named.contains_key(path)));
        assert!(named.iter().all(|(path, sums)| *sums == all[path]), "merged paths change no sum of their callers");
        let others_own = others.values().map(|[_, own, _]| own).sum::<u64>();
        assert!(cut.folded.paths > 0 && cut.folded.sum.weight == others_own, "{:?}", cut.folded);
        let (mut own_sums, mut expected) = (BTreeMap::new(), BTreeMap::new());
        for &(name, sum) in &cut.own_sums {
            own_sums.insert(snapshot.names().get(name).text.to_owned(), [sum.samples, sum.weight]);
        }
        for (path, [count, own, _]) in &all {
            let Some(last) = path.last().filter(|_| *count > 0) else { continue };
            let [samples, weight] = expected.entry(last.clone()).or_insert([0, 0]);
            (*samples, *weight) = (*samples + count, *weight + own);
        }
        assert_eq!(own_sums, expected);
    }
}

#[test]
fn a_filter_judges_each_sample() {
    let samples = meant(800, 3);
    let snapshot = snapshot(&samples);
    let matcher = Matcher::new(&snapshot, &Filter::parse("arg.event=cpu-clock f2").unwrap());
    let scope = Scope::from_matcher(matcher);
    let is_hit = |sample: &&Meant| sample.event == "cpu-clock" && sample.path.last() == Some(&3);
    let progress = Progress::default();
    let histogram = SampleHistogram::count(&snapshot, &scope, &Cancel::default(), &progress).unwrap();
    let view = progress.view();
    assert_eq!((view.done, view.total), (800, 800), "samples that do not match are read too");
    let found: u64 = (0..histogram.events().len()).map(|event| histogram.total(event).samples).sum();
    assert_eq!(found, samples.iter().filter(is_hit).count() as u64);
    assert!(histogram.events().iter().all(|event| &*event.name == "cpu-clock"));
}

#[test]
fn events_beyond_the_limit_are_counted_as_samples_of_one() {
    let mut histogram = SampleHistogram::default();
    for number in 0..SampleEvents::MAX as u64 + 20 {
        let event = format!("event {number}");
        histogram.add(
            TrackIdx(0),
            (0, number),
            StackIdx::EMPTY,
            Some(&SampleMeasure { event: event.into(), unit: "count".into(), weight: 5 }),
        );
    }
    assert_eq!(histogram.events().len(), SampleEvents::MAX + 1);
    assert_eq!(&*histogram.events()[SampleEvents::MAX].name, OTHER_EVENTS);
    assert_eq!(histogram.total(SampleEvents::MAX), SampleSum { samples: 20, weight: 20 });
    assert_eq!(histogram.total(3), SampleSum { samples: 1, weight: 5 });
}

#[test]
fn a_count_that_is_stopped_says_so() {
    let snapshot = snapshot(&meant(10, 3));
    let cancel = Cancel::default();
    cancel.cancel();
    assert!(SampleHistogram::count(&snapshot, &Scope::default(), &cancel, &Progress::default()).is_err());
}

#[test]
fn tables_have_each_sample_once_by_function_module_thread_and_event() {
    let samples = meant(1500, 31);
    for (snapshot, scope) in snapshots(&samples).iter().flat_map(|snapshot| scopes().map(|scope| (snapshot, scope))) {
        let events = counted(snapshot, &scope).events().to_vec();
        for event in &events {
            let (cancel, progress) = (Cancel::default(), Progress::default());
            let mut paths = from_samples(snapshot, &scope, Some(event), &cancel, &progress).unwrap();
            // A tree at its node limit changes no row.
            paths.tree = within_nodes(snapshot, &paths.stacks, |_| false, 3);
            assert!(paths.tree.folded.paths > 0);
            let paths = Arc::new(paths);
            for by in [SampleBy::Function, SampleBy::Module, SampleBy::Thread, SampleBy::Event] {
                let mut expected: BTreeMap<String, [u64; 4]> = BTreeMap::new();
                for sample in in_scope(&samples, &scope) {
                    let (of_event, weight) = measured(sample);
                    if by != SampleBy::Event && of_event != (&*event.name, &*event.unit) {
                        continue;
                    }
                    let module = |name: u32| if name == 5 { "c" } else { "" };
                    let key = |&name: &u32| match by {
                        SampleBy::Function => format!("{} {}", text(name), module(name)),
                        _ => module(name).to_owned(),
                    };
                    let (keys, innermost): (BTreeSet<String>, String) = match by {
                        SampleBy::Thread => ([sample.track.to_string()].into(), sample.track.to_string()),
                        SampleBy::Event => ([format!("{of_event:?}")].into(), format!("{of_event:?}")),
                        _ if sample.path.is_empty() => (["[no frames]".to_owned()].into(), "[no frames]".to_owned()),
                        _ => (sample.path.iter().map(key).collect(), sample.path.last().map(key).unwrap()),
                    };
                    for key in keys {
                        let is_own = u64::from(key == innermost);
                        let sums = expected.entry(key).or_default();
                        [is_own, is_own * weight, 1, weight].iter().zip(sums).for_each(|(more, sum)| *sum += more);
                    }
                }
                let table = SampleTable::new(snapshot, Arc::clone(&paths), by, &cancel).unwrap();
                let functions = &table.functions;
                let found = table.rows.iter().map(|row| {
                    let text = match row.key {
                        SampleGroup::Function(FunctionIdx::ROOT) | SampleGroup::Module(FunctionIdx::ROOT) => {
                            "[no frames]".to_owned()
                        }
                        SampleGroup::Function(idx) => {
                            format!("{} {}", functions.text(snapshot, idx), functions.module(idx))
                        }
                        SampleGroup::Module(idx) => functions.module(idx).to_owned(),
                        SampleGroup::Thread(track) => track.0.to_string(),
                        SampleGroup::Event(event) => {
                            let event = &table.paths.events[event];
                            format!("{:?}", (&*event.name, &*event.unit))
                        }
                    };
                    let (own, total) = (row.sums.own, row.sums.total);
                    (text, [own.samples, own.weight, total.samples, total.weight])
                });
                assert_eq!(found.collect::<BTreeMap<_, _>>(), expected, "{event:?} {by:?}");
            }
        }
    }
}

#[test]
fn call_trees_have_the_sums_of_each_prefix_and_of_each_suffix_of_the_stacks() {
    let samples = meant(1500, 41);
    for (snapshot, scope) in snapshots(&samples).iter().flat_map(|snapshot| scopes().map(|scope| (snapshot, scope))) {
        for event in &counted(snapshot, &scope).events().to_vec() {
            let (cancel, progress) = (Cancel::default(), Progress::default());
            let paths = Arc::new(from_samples(snapshot, &scope, Some(event), &cancel, &progress).unwrap());
            for by in [SampleBy::CallTree, SampleBy::InvertedCallTree] {
                let is_inverted = by == SampleBy::InvertedCallTree;
                let mut expected: BTreeMap<Vec<String>, [u64; 4]> = BTreeMap::new();
                for sample in in_scope(&samples, &scope) {
                    let (of_event, weight) = measured(sample);
                    if of_event != (&*event.name, &*event.unit) {
                        continue;
                    }
                    // One name of the trace has a module, with the text of another.
                    let function = |&name: &u32| format!("{} {}", text(name), if name == 5 { "c" } else { "" });
                    let mut path: Vec<String> = sample.path.iter().map(function).collect();
                    if is_inverted {
                        path.reverse();
                    }
                    for depth in path.len().min(1)..=path.len() {
                        let is_own = u64::from(if is_inverted { depth <= 1 } else { depth == path.len() });
                        let sums = expected.entry(path[..depth].to_vec()).or_default();
                        [is_own, is_own * weight, 1, weight].iter().zip(sums).for_each(|(more, sum)| *sum += more);
                    }
                }
                let table = SampleTable::new(snapshot, Arc::clone(&paths), by, &cancel).unwrap();
                let parents = &table.calls.as_ref().unwrap().parents;
                let mut names: Vec<Vec<String>> = Vec::new();
                for (row, parent) in table.rows.iter().zip(parents) {
                    let mut path = names.get(parent.index()).cloned().unwrap_or_default();
                    let function = row.key.function().unwrap();
                    let text =
                        || format!("{} {}", table.functions.text(snapshot, function), table.functions.module(function));
                    path.extend((!names.is_empty()).then(text));
                    names.push(path);
                }
                let sums = table.rows.iter().map(|row| {
                    let (own, total) = (row.sums.own, row.sums.total);
                    [own.samples, own.weight, total.samples, total.weight]
                });
                let found = names.into_iter().zip(sums).filter(|(_, sums)| *sums != [0; 4]);
                assert_eq!(found.collect::<BTreeMap<_, _>>(), expected, "{event:?} {by:?}");
            }
        }
    }
}

#[test]
fn an_event_without_samples_in_the_scope_is_not_replaced_by_another() {
    let snapshot = snapshot(&meant(300, 37));
    let event = SampleEvent { name: "context-switches".into(), unit: "count".into() };
    let (cancel, progress) = (Cancel::default(), Progress::default());
    let paths = from_samples(&snapshot, &Scope::default(), Some(&event), &cancel, &progress).unwrap();
    assert_eq!(paths.event.and_then(|row| paths.events.get(row)), Some(&event));
    assert_eq!((paths.tree.whole(), paths.tracks.len()), (SampleSum::default(), 0));
    let (paths, events) = (Arc::new(paths), counted(&snapshot, &Scope::default()).events().len());
    for (by, rows) in [(SampleBy::Function, 0), (SampleBy::Module, 0), (SampleBy::Thread, 0), (SampleBy::Event, events)]
    {
        let table = SampleTable::new(&snapshot, Arc::clone(&paths), by, &cancel).unwrap();
        assert_eq!((table.rows.len(), table.whole), (rows, SampleSum::default()), "{by:?}");
    }
}

/// The samples of an event: by path, and by track.
type EventCounts = (BTreeMap<Vec<u32>, (u64, u64)>, BTreeMap<u32, (u64, u64)>);

/// Returns the counts by event, in order of first appearance.
fn naive(samples: &[Meant], scope: &Scope) -> Vec<((String, String), EventCounts)> {
    let mut events: Vec<((String, String), EventCounts)> = Vec::new();
    let mut in_order: Vec<&Meant> = in_scope(samples, scope).collect();
    in_order.sort_by_key(|sample| (sample.ts_ns, sample.track));
    for sample in in_order {
        let ((name, unit), weight) = measured(sample);
        let event = (name.to_owned(), unit.to_owned());
        let row = events.iter().position(|(known, _)| *known == event).unwrap_or_else(|| {
            events.push((event, EventCounts::default()));
            events.len() - 1
        });
        let (stacks, tracks) = &mut events[row].1;
        for sum in [stacks.entry(sample.path.clone()).or_default(), tracks.entry(sample.track).or_default()] {
            (sum.0, sum.1) = (sum.0 + 1, sum.1 + weight);
        }
    }
    events
}

fn counts(snapshot: &Snapshot, histogram: &SampleHistogram) -> Vec<((String, String), EventCounts)> {
    let path = |stack| {
        let mut path: Vec<u32> = snapshot.raw_stacks().frames(stack).map(|name| name.0).collect();
        path.reverse();
        path
    };
    let pair = |sum: SampleSum| (sum.samples, sum.weight);
    let events = histogram.events().iter().enumerate().map(|(row, event)| {
        let stacks = histogram.stacks(row).map(|(stack, sum)| (path(stack), pair(sum))).collect();
        let tracks = histogram.tracks(row).into_iter().map(|(track, sum)| (track.0, pair(sum))).collect();
        ((event.name.to_string(), event.unit.to_string()), (stacks, tracks))
    });
    events.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_samples_in_any_shape_of_ledger_add_up(
        (count, seed) in (1usize..600, any::<u64>()),
        (slice_rows, leaf_rows, fan_out) in (1u64..40, 1u64..40, 2u32..6),
        (row_bytes, rows_per_lane) in (0u64..40, 0u64..9),
        budget_bytes in prop_oneof![Just(1usize << 22), 0usize..60_000],
        ranges in proptest::collection::vec(proptest::option::of(-10i64..1200), 10),
        tracks in 1u32..8,
    ) {
        let samples = meant(count, seed);
        let shape = SampleShape { rows_min: 1, slice_rows, leaf_rows, fan_out, row_bytes, rows_per_lane };
        let (_file, snapshot) = store(&samples, Some(shape), budget_bytes);
        let some: Vec<_> = (0..3).filter(|track| tracks >> track & 1 != 0).map(TrackIdx).collect();
        let ends = (Some(snapshot.end_ns()), Some(snapshot.end_ns() + 1));
        let ranges = ranges.chunks(2).map(|range| (range[0], range[1]));
        for (from_ns, to_ns) in ranges.chain([(None, None), (None, ends.0), (None, ends.1)]) {
            let in_range = Scope::from_range(from_ns, to_ns);
            for scope in [in_range.clone(), in_range.with_tracks(&some)] {
                let histogram = counted(&snapshot, &scope);
                let (found, expected) = (counts(&snapshot, &histogram), naive(&samples, &scope));
                prop_assert_eq!(found, expected, "{:?}..{:?} {:?}", from_ns, to_ns, some);
            }
        }
    }
}

#[test]
fn a_filter_of_tracks_reads_nodes() {
    let samples = meant(1000, 5);
    let (_file, snapshot) = store(&samples, Some(SMALL), 1 << 24);
    let matcher = Matcher::new(&snapshot, &Filter::parse("thread:1").unwrap());
    let histogram = counted(&snapshot, &Scope::from_matcher(matcher));
    assert!(histogram.work.nodes > 0 && histogram.work.rows < 40, "{:?}", histogram.work);
    let of_track = Scope::default().with_tracks(&[TrackIdx(1)]);
    assert_eq!(counts(&snapshot, &histogram), naive(&samples, &of_track));
}

#[test]
fn work_for_a_range_grows_with_the_logarithm_of_the_samples() {
    let work = |count: usize| {
        let samples = meant(count, 11);
        let shape = SampleShape { slice_rows: 64, leaf_rows: 64, ..SMALL };
        let (_file, snapshot) = store(&samples, Some(shape), 1 << 24);
        let end_ns = snapshot.end_ns();
        let scope = Scope::from_range(Some(end_ns / 7), Some(end_ns / 7 * 5));
        [scope.clone(), scope.with_tracks(&[TrackIdx(1)])].map(|scope| counted(&snapshot, &scope).work)
    };
    for (few, many) in work(500).into_iter().zip(work(50_000)) {
        // A hundred times the samples are some four levels of three more: up to 16 nodes.
        assert!(many.nodes <= few.nodes + 17 && many.nodes > 0, "{many:?} after {few:?}");
        // Slice bounds are accurate to an eighth of an extent of 4,096 rows, and there are two edges.
        assert!(many.rows < 2048, "{many:?} after {few:?}");
    }
}

#[test]
fn a_damaged_node_is_read_row_by_row_and_said() {
    let samples = meant(1000, 13);
    let (file, snapshot) = store(&samples, Some(SMALL), 1 << 24);
    let trees = snapshot.store().sample_ledger().expect("a ledger").trees();
    let slices = trees.bounds_ns().len() as u32 - 1;
    for tree in [None, Some(TrackIdx(2))] {
        let (nodes, _) = trees.cover(trees.tree(tree).expect("a tree"), 0, slices);
        damage_at(&file, trees.offset(nodes[0]));
    }
    let damaged = Snapshot::new(Store::from_file(&file, "test".as_ref()).unwrap().into());
    for (number, scope) in [Scope::default(), Scope::default().with_tracks(&[TrackIdx(2)])].iter().enumerate() {
        let histogram = counted(&damaged, scope);
        assert_eq!(counts(&damaged, &histogram), naive(&samples, scope));
        assert_eq!((histogram.work.damaged_nodes, damaged.store().damaged()), (1, number as u64 + 1));
    }
    assert_eq!(damaged.store().damaged_in_all(), 2);
}

#[test]
fn stacks_that_hardly_repeat_and_a_small_budget_mean_no_ledger() {
    let samples = meant(600, 17);
    for (row_bytes, budget_bytes) in [(0, 1 << 24), (1 << 20, 5000)] {
        let (_file, snapshot) = store(&samples, Some(SampleShape { row_bytes, ..SMALL }), budget_bytes);
        assert!(snapshot.store().sample_ledger().is_none());
        assert_eq!(counts(&snapshot, &counted(&snapshot, &Scope::default())), naive(&samples, &Scope::default()));
    }
}

#[test]
fn samples_at_one_time_are_in_one_slice() {
    let mut samples = meant(300, 19);
    samples.iter_mut().for_each(|sample| sample.ts_ns = i64::MAX);
    for snapshot in snapshots(&samples) {
        for (from_ns, to_ns) in [(None, None), (Some(i64::MAX), None), (None, Some(i64::MAX))] {
            let scope = Scope::from_range(from_ns, to_ns);
            assert_eq!(counts(&snapshot, &counted(&snapshot, &scope)), naive(&samples, &scope));
        }
    }
}

#[test]
fn functions_of_a_deep_recursion_are_summed_at_once() {
    const DEPTH: usize = 3000;
    let sample = |depth: usize| Meant {
        ts_ns: depth as i64,
        track: 0,
        path: (0..depth).map(|frame| 1 + (frame % 2) as u32).collect(),
        event: EVENTS[0],
        weight: Some(2),
    };
    let snapshot = snapshot(&(0..=DEPTH).map(sample).collect::<Vec<_>>());
    let histogram = counted(&snapshot, &Scope::default());
    let functions = histogram.by_text(&snapshot, 0);
    let sums: Vec<_> = functions.iter().map(|it| (it.own.samples, it.total.samples, it.total.weight)).collect();
    // The second function is in all samples but one of the first function. The last row is the sample without a stack.
    assert_eq!(sums, [(1500, 3000, 6000), (1500, 2999, 5998), (1, 1, 2)]);
}

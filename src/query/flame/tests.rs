//! Views against an oracle: each path is edited as a list of functions, and added up by prefix.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::model::{NameIdx, Names};
use crate::query::ledger_traces::RandomSequence;
use crate::store::{Meta, Store, StoreWriter};

/// Names of the paths, with their modules: two functions with the same name, unnamed ones, some of the kernel, and an
/// idle one.
const NAMES: [(&str, Option<&str>); 9] = [
    ("main", Some("app")),
    ("read", Some("libc.so")),
    ("read", Some("vmlinux")),
    ("libc.so+0x10", None),
    ("libc.so+0x20", None),
    ("do_work", Some("app")),
    ("kernel+0xff", None),
    ("cpuidle_enter_state", Some("kernel")),
    ("0x77", None),
];

/// A path, outermost first, by index into [`NAMES`], with its sums.
type Path = (Vec<usize>, SampleSum);

fn paths(count: usize, seed: u64) -> Vec<Path> {
    let mut sequence = RandomSequence(seed | 1);
    let mut below = move |bound: u64| sequence.below(bound);
    let path = |_| {
        let frames = (0..below(7)).map(|_| below(NAMES.len() as u64) as usize).collect();
        (frames, SampleSum { samples: below(3), weight: below(1000) })
    };
    (0..count).map(path).collect()
}

fn snapshot() -> (Snapshot, Vec<NameIdx>) {
    let mut names = Names::default();
    let rows = NAMES.map(|(name, module)| names.intern(name, module)).to_vec();
    let file = tempfile::tempfile().unwrap();
    let writer = StoreWriter::new(file.try_clone().unwrap(), 1 << 20).unwrap();
    writer.finish(&Meta { names: names.into(), ..Meta::default() }).unwrap();
    (Snapshot::new(Store::from_file(&file, "test".as_ref()).unwrap().into()), rows)
}

fn tree_of(paths: &[Path], rows: &[NameIdx]) -> CallTree {
    CallTree::from_paths(paths.iter().map(|(path, sum)| (path.iter().map(|&row| rows[row]), *sum)))
}

/// Name and module of a function, as shown.
type Shown = (String, String);

fn shown(row: usize) -> Shown {
    let (name, module) = NAMES[row];
    let module = match name {
        "libc.so+0x10" | "libc.so+0x20" => "libc.so",
        "kernel+0xff" => "kernel",
        _ => module.unwrap_or_default(),
    };
    (name.to_owned(), module.to_owned())
}

fn is(function: &Shown, key: &FunctionKey) -> bool {
    function.0 == *key.name && key.module.as_ref().is_none_or(|module| function.1 == **module)
}

/// Returns the functions of a path after the edits; `None` if it is hidden.
fn edited(path: &[usize], view: &FlameView, focus: Option<&FunctionKey>) -> Option<Vec<Shown>> {
    let has = |edit: &FlameEdit| view.edits.contains(edit);
    let mut functions: Vec<(Shown, bool)> = Vec::new();
    for &row in path {
        let mut function = shown(row);
        let is_unnamed = function.0.contains("0x");
        if is_unnamed && has(&FlameEdit::UnnamedByModule) {
            let module = if function.1.is_empty() { "unknown".to_owned() } else { function.1 };
            function = (format!("[{module}]"), module);
        }
        let is_collapsed = has(&FlameEdit::CollapseModule(function.1.as_str().into())) && !function.1.is_empty();
        if is_collapsed {
            function = (format!("[{}]", function.1), function.1);
        }
        functions.push((function, is_collapsed));
    }
    for edit in &view.edits {
        match edit {
            FlameEdit::Hide(key) if functions.iter().any(|(function, _)| is(function, key)) => return None,
            FlameEdit::HideIdle if functions.iter().any(|(function, _)| function.0 == "cpuidle_enter_state") => {
                return None;
            }
            _ => {}
        }
    }
    let mut kept: Vec<Shown> = Vec::new();
    for (function, is_collapsed) in functions {
        let is_kernel = ["kernel", "vmlinux"].contains(&&*function.1);
        let is_merged = view.edits.iter().any(|edit| match edit {
            FlameEdit::Merge(key) => is(&function, key),
            FlameEdit::MergeKernel => is_kernel,
            _ => false,
        });
        if is_merged {
            continue;
        }
        if (is_collapsed || has(&FlameEdit::CollapseRecursion)) && kept.last() == Some(&function) {
            continue;
        }
        let of =
            view.edits.iter().any(|edit| matches!(edit, FlameEdit::CollapseRecursionOf(key) if is(&function, key)));
        if let Some(known) = kept.iter().rposition(|other| of && *other == function) {
            kept.truncate(known + 1);
            continue;
        }
        kept.push(function);
    }
    if let Some(key) = focus {
        let first = kept.iter().position(|function| is(function, key))?;
        kept.drain(..first);
    }
    Some(kept)
}

/// Own and total sums by path.
type Sums = BTreeMap<Vec<Shown>, (SampleSum, SampleSum)>;

fn added_up(paths: impl Iterator<Item = (Vec<Shown>, SampleSum)>) -> Sums {
    let mut sums = Sums::from_iter([(Vec::new(), Default::default())]);
    for (path, sum) in paths {
        for len in 0..=path.len() {
            let (own, total) = sums.entry(path[..len].to_vec()).or_default();
            total.add(sum);
            if len == path.len() {
                own.add(sum);
            }
        }
    }
    sums.retain(|path, (_, total)| path.is_empty() || !total.is_empty());
    sums
}

fn sums_of(snapshot: &Snapshot, functions: &Functions, tree: &FlameTree) -> Sums {
    let text = |node: FlameNodeIdx| {
        let function = tree.node(node).function;
        (functions.text(snapshot, function).to_owned(), functions.module(function).to_owned())
    };
    let mut sums = Sums::default();
    for (number, node) in (0..).zip(tree.nodes()) {
        let path = tree.path(FlameNodeIdx(number)).into_iter().map(text).collect::<Vec<_>>();
        let before = sums.insert(path.clone(), (node.own, node.total));
        assert!(before.is_none(), "{path:?} twice");
        let children = tree.children(FlameNodeIdx(number));
        assert!(children.iter().all(|&child| tree.node(child).parent == FlameNodeIdx(number)));
        assert!(children.is_sorted_by_key(|&child| std::cmp::Reverse(tree.node(child).total.weight)));
    }
    let all: usize = (0..tree.nodes().len() as u32).map(|node| tree.children(FlameNodeIdx(node)).len()).sum();
    assert_eq!(all + 1, tree.nodes().len());
    sums.retain(|path, (_, total)| path.is_empty() || !total.is_empty());
    sums
}

fn key(name: &str, module: &str) -> FunctionKey {
    FunctionKey { name: name.into(), module: Some(module.into()) }
}

fn edits() -> Vec<Vec<FlameEdit>> {
    use FlameEdit::*;
    let any_read = FunctionKey { name: "read".into(), module: None };
    vec![
        vec![],
        vec![UnnamedByModule],
        vec![CollapseRecursion, UnnamedByModule],
        vec![Hide(key("read", "vmlinux"))],
        vec![Hide(any_read.clone()), MergeKernel],
        vec![Merge(key("main", "app")), Merge(key("0x77", ""))],
        vec![CollapseModule("app".into()), CollapseModule("libc.so".into())],
        vec![CollapseRecursionOf(key("main", "app")), CollapseRecursionOf(any_read), HideIdle],
        vec![MergeKernel, HideIdle, UnnamedByModule, CollapseRecursion, CollapseModule("libc.so".into())],
    ]
}

#[test]
fn each_view_has_the_sums_of_its_edited_paths() {
    let (snapshot, rows) = snapshot();
    let paths = paths(400, 5);
    let calls = tree_of(&paths, &rows);
    let focuses = [None, Some(key("main", "app")), Some(FunctionKey { name: "read".into(), module: None })];
    for (edits, focus) in edits().into_iter().flat_map(|edits| focuses.iter().map(move |focus| (edits.clone(), focus)))
    {
        for shape in [FlameShape::TopDown, FlameShape::Inverted] {
            let view = FlameView { shape, edits: edits.clone(), focus: focus.clone(), ..FlameView::default() };
            let expected = paths.iter().filter_map(|(path, sum)| {
                let mut path = edited(path, &view, focus.as_ref())?;
                if view.shape == FlameShape::Inverted {
                    path.reverse();
                }
                Some((path, *sum))
            });
            let picture = FlamePicture::new(&snapshot, &calls, &view, &Cancel::default()).unwrap();
            let found = sums_of(&snapshot, &picture.functions, &picture.tree);
            assert_eq!(found, added_up(expected), "{view:?}");
            assert_eq!(picture.counted.weight, paths.iter().map(|(_, sum)| sum.weight).sum::<u64>());
            let kept = paths.iter().filter(|(path, _)| edited(path, &view, None).is_some());
            assert_eq!(picture.whole.weight, kept.map(|(_, sum)| sum.weight).sum::<u64>());
        }
    }
}

#[test]
fn a_sandwich_has_each_path_once_at_the_outermost_call() {
    let (snapshot, rows) = snapshot();
    let paths = paths(400, 11);
    let calls = tree_of(&paths, &rows);
    let focuses = [None, Some(key("main", "app"))];
    for (edits, focus) in edits().into_iter().flat_map(|edits| focuses.iter().map(move |focus| (edits.clone(), focus)))
    {
        for wanted in [key("do_work", "app"), FunctionKey { name: "read".into(), module: None }] {
            let shape = FlameShape::Sandwich(wanted.clone());
            let view = FlameView { shape, edits: edits.clone(), focus: focus.clone(), ..FlameView::default() };
            let picture = FlamePicture::new(&snapshot, &calls, &view, &Cancel::default()).unwrap();
            let callees = paths.iter().filter_map(|(path, sum)| {
                let mut path = edited(path, &view, focus.as_ref())?;
                let first = path.iter().position(|function| is(function, &wanted))?;
                Some((path.split_off(first), *sum))
            });
            let callees = added_up(callees);
            let callers = paths.iter().filter_map(|(path, sum)| {
                let path = edited(path, &view, focus.as_ref())?;
                let first = path.iter().position(|function| is(function, &wanted))?;
                Some((path[..=first].iter().rev().cloned().collect(), *sum))
            });
            let callers = added_up(callers);
            assert_eq!(sums_of(&snapshot, &picture.functions, &picture.tree), callees, "{view:?}");
            let found = sums_of(&snapshot, &picture.functions, picture.callers.as_ref().unwrap());
            assert_eq!(found, callers, "{view:?}");
            assert_eq!(callers[&vec![]].1, callees[&vec![]].1);
            let ends = callees.iter().filter(|(path, _)| path.last().is_some_and(|function| is(function, &wanted)));
            assert_eq!(picture.own.weight, ends.map(|(_, (own, _))| own.weight).sum::<u64>());
        }
    }
}

#[test]
fn functions_and_searches_count_each_path_once() {
    let (snapshot, rows) = snapshot();
    let paths = paths(500, 23);
    let calls = tree_of(&paths, &rows);
    let picture = FlamePicture::new(&snapshot, &calls, &FlameView::default(), &Cancel::default()).unwrap();
    let functions = &picture.functions;
    let mut expected: BTreeMap<Shown, (SampleSum, SampleSum)> = BTreeMap::new();
    for (path, sum) in &paths {
        let path: Vec<_> = path.iter().map(|&row| shown(row)).collect();
        for function in path.iter().collect::<BTreeSet<_>>() {
            let (own, total) = expected.entry(function.clone()).or_default();
            total.add(*sum);
            if Some(function) == path.last() {
                own.add(*sum);
            }
        }
    }
    let sums = picture.tree.sums_by(functions.len(), FunctionIdx::index);
    let found = functions.all().map(|function| {
        let sums = sums[function.index()];
        let shown = (functions.text(&snapshot, function).to_owned(), functions.module(function).to_owned());
        (shown, (sums.own, sums.total))
    });
    assert_eq!(found.collect::<BTreeMap<_, _>>(), expected);
    for (text, is_hit) in [
        ("READ", (|name: &str, _: &str| name == "read") as fn(&str, &str) -> bool),
        ("/^main|libc/", |name, module| name == "main" || module == "libc.so"),
        ("vmlinux", |_, module| module == "vmlinux"),
    ] {
        let hits = picture.find(&snapshot, text).unwrap();
        let mut sum = SampleSum::default();
        for (path, more) in &paths {
            if path.iter().map(|&row| shown(row)).any(|(name, module)| is_hit(&name, &module)) {
                sum.add(*more);
            }
        }
        assert_eq!(hits.sum, sum, "{text}");
        assert!(functions.all().all(|function| {
            hits.has(function) == is_hit(functions.text(&snapshot, function), functions.module(function))
        }));
    }
    assert_eq!(picture.find(&snapshot, " "), None);
    assert_eq!(picture.find(&snapshot, "/(/"), None);
}

#[test]
fn a_search_in_a_sandwich_counts_each_path_once_with_matches_above_and_below() {
    let (snapshot, rows) = snapshot();
    let paths = paths(500, 29);
    let calls = tree_of(&paths, &rows);
    let wanted = key("do_work", "app");
    let view = FlameView { shape: FlameShape::Sandwich(wanted.clone()), ..FlameView::default() };
    let picture = FlamePicture::new(&snapshot, &calls, &view, &Cancel::default()).unwrap();
    for text in ["main", "read", "do_work", "nothing"] {
        let (mut sum, mut functions) = (SampleSum::default(), BTreeSet::new());
        for (path, more) in &paths {
            let path: Vec<Shown> = path.iter().map(|&row| shown(row)).collect();
            let matches: Vec<_> = path.iter().filter(|(name, _)| name == text).cloned().collect();
            if path.iter().any(|function| is(function, &wanted)) && !matches.is_empty() && !more.is_empty() {
                sum.add(*more);
                functions.extend(matches);
            }
        }
        let found = picture.find(&snapshot, text).unwrap();
        assert_eq!((found.sum, found.functions), (sum, functions.len()), "{text}");
    }
}

#[test]
fn a_name_may_have_the_module_of_its_function() {
    let (snapshot, rows) = snapshot();
    let calls = tree_of(&[((0..NAMES.len()).collect(), SampleSum { samples: 1, weight: 1 })], &rows);
    let completed = |name: &str| {
        let focus = Some(FunctionKey { name: name.into(), module: None });
        let mut view = FlameView { focus, ..FlameView::default() };
        let mut selects = view.selects_name(&snapshot);
        let selected: Vec<usize> = (0..rows.len()).filter(|&row| selects(rows[row])).collect();
        drop(selects);
        let mismatches = view.complete_names(&snapshot, &calls);
        (view.focus.unwrap(), mismatches.len(), selected)
    };
    for (name, module, row) in [("read", "libc.so", 1), ("read", "vmlinux", 2), ("libc.so+0x10", "libc.so", 3)] {
        let written = key(name, module).to_name();
        assert_eq!(completed(&written), (key(name, module), 0, vec![row]), "{written}");
    }
    assert_eq!(completed("read"), (FunctionKey { name: "read".into(), module: None }, 0, vec![1, 2]));
    assert_eq!(completed("app!read").1, 1);
    assert_eq!([key("[app]", "app"), key("0x77", "")].map(|key| key.to_name()), ["[app]", "0x77"]);
}

#[test]
fn names_that_are_shown_alike_are_one_function() {
    let mut names = Names::default();
    let rows = [names.intern("f", Some("m")), names.intern("m+0x1", None), names.intern("m+0x2", Some("m"))];
    let file = tempfile::tempfile().unwrap();
    let writer = StoreWriter::new(file.try_clone().unwrap(), 1 << 20).unwrap();
    writer.finish(&Meta { names: names.into(), ..Meta::default() }).unwrap();
    let snapshot = Snapshot::new(Store::from_file(&file, "test".as_ref()).unwrap().into());
    let one = SampleSum { samples: 1, weight: 5 };
    let paths: Vec<Path> = vec![(vec![0, 1], one), (vec![0, 2], one)];
    let calls = tree_of(&paths, &rows);
    let view = FlameView { edits: vec![FlameEdit::UnnamedByModule], ..FlameView::default() };
    let picture = FlamePicture::new(&snapshot, &calls, &view, &Cancel::default()).unwrap();
    let nodes: Vec<_> = picture
        .tree
        .nodes()
        .iter()
        .skip(1)
        .map(|node| (picture.functions.text(&snapshot, node.function), node.total.weight))
        .collect();
    assert_eq!(nodes, [("f", 10), ("[m]", 10)]);
}

#[test]
fn a_view_that_is_stopped_says_so() {
    let (snapshot, rows) = snapshot();
    let calls = tree_of(&paths(10, 3), &rows);
    let cancel = Cancel::default();
    cancel.cancel();
    let view = FlameView { shape: FlameShape::Inverted, ..FlameView::default() };
    assert!(FlamePicture::new(&snapshot, &calls, &view, &cancel).is_err());
}

#[test]
fn functions_that_no_path_has_are_dropped_from_a_view_also_below_hidden_ones() {
    let (snapshot, rows) = snapshot();
    // main, read of libc, and do_work.
    let tree = tree_of(&[(vec![0, 1, 5], SampleSum { samples: 1, weight: 1 })], &rows);
    let module = |name: &str| FlameEdit::CollapseModule(name.into());
    let known = [FlameEdit::Hide(key("read", "libc.so")), FlameEdit::Merge(key("do_work", "app")), module("app")];
    let lost =
        [FlameEdit::Hide(key("read", "vmlinux")), FlameEdit::CollapseRecursionOf(key("[pie]", "pie")), module("pie")];
    let edits = known.iter().chain(&lost).chain(&[FlameEdit::HideIdle]).cloned().collect();
    let sandwich = |name: &str, module: &str| FlameShape::Sandwich(key(name, module));
    let focus = Some(key("libc.so+0x10", "libc.so"));
    let mut view = FlameView { edits, focus, shape: sandwich("[pie]", "pie"), ..FlameView::default() };
    view.retain_known(&snapshot, &tree);
    assert_eq!(view.edits, [&known[..], &[FlameEdit::HideIdle]].concat());
    assert_eq!((view.focus, view.shape), (None, FlameShape::TopDown));
    let mut view = FlameView { shape: sandwich("main", "app"), ..FlameView::default() };
    view.retain_known(&snapshot, &tree);
    assert_eq!(view.shape, sandwich("main", "app"));
}

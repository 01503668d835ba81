//! Pruned sums against maps by name: kept paths are unchanged, and the others have the exact rest.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

type ByNames = BTreeMap<Vec<u32>, PathSums>;

const EVERY_PATH: PruneShape = PruneShape { time_parts: 1, count_parts: 1, few_paths: usize::MAX };

/// Builds rows of a table in which no path has less time than its direct children: parent, name, spans, own time.
fn table(raw: &[(u32, u32, u64, u64)]) -> (Vec<PathRow>, Vec<PathSums>) {
    let root = PathRow { parent: PathIdx::ROOT, name: NameIdx::EMPTY };
    let (mut rows, mut sums) = (vec![root], vec![PathSums::default()]);
    for &(parent, name, starts, own_ns) in raw {
        let parent = PathIdx(parent % rows.len() as u32);
        let row = PathRow { parent, name: NameIdx(name) };
        let added = PathSums { starts, total_ns: own_ns.into() };
        if let Some(known) = rows.iter().skip(1).position(|known| *known == row) {
            sums[known + 1].add(&added);
        } else {
            rows.push(row);
            sums.push(added);
        }
    }
    for index in (1..rows.len()).rev() {
        let above = rows[index].parent.index();
        if above > 0 {
            sums[above].total_ns += sums[index].total_ns;
        }
    }
    (rows, sums)
}

fn by_names((rows, sums): &(Vec<PathRow>, Vec<PathSums>)) -> ByNames {
    let mut names: Vec<Vec<u32>> = vec![Vec::new()];
    let mut found = ByNames::new();
    for (row, sums) in rows.iter().zip(sums).skip(1) {
        let mut path = names[row.parent.index()].clone();
        path.push(row.name.0);
        let before = found.insert(path.clone(), *sums);
        assert!(before.is_none(), "{path:?} is there once");
        names.push(path);
    }
    found
}

/// Adds up the paths of two maps.
fn sum(mut first: ByNames, second: ByNames) -> ByNames {
    for (path, sums) in second {
        first.entry(path).or_default().add(&sums);
    }
    first
}

/// Counts the spans of a path's subtree.
fn starts_below(paths: &ByNames, path: &[u32]) -> u64 {
    paths.iter().filter(|(other, _)| other.starts_with(path)).map(|(_, sums)| sums.starts).sum()
}

/// Sums the time of a path's direct children.
fn below_ns(paths: &ByNames, path: &[u32]) -> u128 {
    let below = paths.iter().filter(|(other, _)| other.len() == path.len() + 1 && other.starts_with(path));
    below.map(|(_, sums)| sums.total_ns).sum()
}

fn raw() -> impl Strategy<Value = Vec<(u32, u32, u64, u64)>> {
    let own_ns = prop_oneof![4 => 0u64..9, 1 => 0u64..1000, 1 => Just(u64::MAX)];
    proptest::collection::vec((0u32..60, 0u32..5, 0u64..4, own_ns), 0..80)
}

/// Asserts that pruned sums equal `exact`, up to `missing`.
fn assert_pruned(pruned: &PrunedPaths, exact: &ByNames) -> Result<(), TestCaseError> {
    let found = by_names(&pruned.rows());
    prop_assert_eq!(starts_below(&found, &[]), starts_below(exact, &[]));
    prop_assert_eq!(below_ns(&found, &[]), below_ns(exact, &[]));
    let PathSums { starts, total_ns } = pruned.missing;
    for (path, sums) in exact {
        let known = found.get(path).copied().unwrap_or_default();
        prop_assert!(known.total_ns <= sums.total_ns && sums.total_ns <= known.total_ns + total_ns, "{:?}", path);
        let (known, all) = (starts_below(&found, path), starts_below(exact, path));
        prop_assert!(known <= all && all <= known + starts, "{:?}: {} of {}", path, known, all);
    }
    for path in found.keys().filter(|path| path.last() != Some(&OTHERS.0)) {
        prop_assert!(exact.contains_key(path));
    }
    Ok(())
}

proptest! {
    #[test]
    fn merged_paths_have_the_sums_of_both(first in raw(), second in raw()) {
        let tables = [table(&first), table(&second)];
        let mut merged = PrunedPaths::default();
        for (rows, sums) in &tables {
            let paths = PrunedPaths::new(rows, sums, EVERY_PATH).unwrap();
            prop_assert_eq!(by_names(&paths.rows()), by_names(&(rows.clone(), sums.clone())));
            merged.merge(&paths);
        }
        prop_assert_eq!(by_names(&merged.rows()), sum(by_names(&tables[0]), by_names(&tables[1])));
        prop_assert!(merged.missing.is_empty());
    }

    #[test]
    fn others_have_the_exact_rest_through_all_levels(
        raws in proptest::collection::vec(raw(), 1..9),
        parts in (1u64..40, 1u64..40),
        few_paths in 0usize..20,
    ) {
        let shape = PruneShape { time_parts: parts.0, count_parts: parts.1, few_paths };
        let mut exact = ByNames::new();
        let mut level: Vec<PrunedPaths> = Vec::new();
        for raw in &raws {
            let table = table(raw);
            let leaf = PrunedPaths::new(&table.0, &table.1, shape.for_leaf()).unwrap();
            let own = by_names(&table);
            assert_pruned(&leaf, &own)?;
            exact = sum(exact, own);
            level.push(leaf);
        }
        for number in 1..4 {
            let sums = level.chunks(2).map(|children| {
                let mut node = PrunedPaths::default();
                children.iter().for_each(|child| node.merge(child));
                node.settle(number);
                let mut bytes = b"before".to_vec();
                node.pack(&mut bytes).unwrap();
                let read = PrunedPaths::unpack(&bytes[6..]).unwrap();
                assert_eq!((&read.entries, read.missing), (&node.entries, node.missing));
                node
            });
            level = sums.collect();
        }
        assert_pruned(&level[0], &exact)?;
        let missing = level[0].missing;
        prop_assert!(missing.total_ns <= below_ns(&exact, &[]) / u128::from(parts.0));
        prop_assert!(missing.starts <= starts_below(&exact, &[]) / parts.1);
    }

    #[test]
    fn any_bytes_unpack_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Some(paths) = PrunedPaths::unpack(&bytes) {
            let (rows, sums) = paths.rows();
            prop_assert!(rows.iter().enumerate().skip(1).all(|(index, row)| row.parent.index() < index));
            prop_assert_eq!(rows.len(), sums.len());
        }
    }
}

#[test]
fn children_that_overlap_each_other_are_refused() {
    let (rows, mut sums) = table(&[(0, 1, 1, 5), (1, 2, 1, 7), (1, 3, 1, 7)]);
    assert!(PrunedPaths::new(&rows, &sums, EVERY_PATH).is_some());
    sums[1].total_ns = 13;
    assert!(PrunedPaths::new(&rows, &sums, EVERY_PATH).is_none());
}

#[test]
fn a_path_of_65_536_frames_needs_no_recursion() {
    let root = PathRow { parent: PathIdx::ROOT, name: NameIdx::EMPTY };
    let below = (0..1 << 16).map(|parent| PathRow { parent: PathIdx(parent), name: NameIdx(1) });
    let rows: Vec<PathRow> = std::iter::once(root).chain(below).collect();
    let time = |index: usize| PathSums { starts: 1, total_ns: ((1 << 16) + 1 - index) as u128 };
    let sums: Vec<PathSums> = std::iter::once(PathSums::default()).chain((1..rows.len()).map(time)).collect();
    let paths = PrunedPaths::new(&rows, &sums, PruneShape { time_parts: 4, count_parts: 4, few_paths: 0 }).unwrap();
    let (kept, _) = paths.rows();
    assert!((40_000..60_000).contains(&kept.len()), "{}", kept.len());
    assert_eq!((paths.missing.starts, paths.missing.total_ns), (1 << 14, 1 << 14));
}

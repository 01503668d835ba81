//! The call table of spans of random ranges and tracks. The oracle loops over all spans and adds up each beginning of
//! their paths, and each end for the inverted table.

use std::sync::Arc;

use super::*;
use crate::query::flame::{FlamePicture, FlameShape, FlameView};
use crate::query::ledger_traces::calls;
use crate::query::sample_table::SampleTable;

/// Returns the call table of counted paths.
fn table_of(snapshot: &Snapshot, paths: &Arc<CallPaths>, shape: FlameShape) -> SampleTable {
    let is_inverted = shape == FlameShape::Inverted;
    let view = FlameView { shape, ..FlameView::default() };
    let picture = FlamePicture::new(snapshot, &paths.tree, &view, &Cancel::default()).unwrap();
    SampleTable::from_spans(snapshot, Arc::clone(paths), picture, is_inverted)
}

/// Returns the spans, self time and total time of each row that has any, by the names from the first level on.
fn rows_of(table: &SampleTable) -> BTreeMap<Vec<u32>, [SampleSum; 2]> {
    let parents = &table.calls.as_ref().unwrap().parents;
    let mut names: Vec<Vec<u32>> = Vec::new();
    for (row, parent) in table.rows.iter().zip(parents) {
        let mut path = names.get(parent.index()).cloned().unwrap_or_default();
        let function = row.key.function().unwrap();
        path.extend((!names.is_empty()).then(|| table.functions.name(function).unwrap().0));
        names.push(path);
    }
    let sums = table.rows.iter().map(|row| [row.sums.own, row.sums.total]);
    names.into_iter().zip(sums).filter(|(_, [_, total])| !total.is_empty()).collect()
}

/// Adds up the spans and the self time of each path, top down and inverted, from the sums of whole paths.
fn folded(sums: Paths) -> [BTreeMap<Vec<u32>, [SampleSum; 2]>; 2] {
    let mut tables = [const { BTreeMap::new() }; 2];
    for (path, [count, own_ns, _]) in sums {
        let own = SampleSum { samples: count as u64, weight: own_ns as u64 };
        let callers: Vec<u32> = path.iter().rev().copied().collect();
        for (table, (names, own_depth)) in tables.iter_mut().zip([(&path, path.len()), (&callers, 1)]) {
            for depth in (1..=names.len()).filter(|_| !own.is_empty()) {
                let [own_sum, total] = table.entry(names[..depth].to_vec()).or_insert([SampleSum::default(); 2]);
                total.add(own);
                if depth == own_depth {
                    own_sum.add(own);
                }
            }
        }
    }
    tables
}

/// Asserts that both tables of a scope have the sums of a loop over all spans.
fn assert_tables(snapshot: &Snapshot, scope: &Scope, sums: Paths, what: &str) {
    let paths = Arc::new(counted(snapshot, scope));
    for (shape, expected) in [FlameShape::TopDown, FlameShape::Inverted].into_iter().zip(folded(sums)) {
        let table = table_of(snapshot, &paths, shape.clone());
        assert_eq!(rows_of(&table), expected, "{what}: {shape:?}");
        let mut whole = SampleSum::default();
        expected.iter().filter(|(path, _)| path.len() == 1).for_each(|(_, [_, total])| whole.add(*total));
        assert_eq!(table.whole, whole, "{what}: {shape:?}");
    }
}

#[test]
fn call_tables_have_each_span_once_on_its_path_and_inverted_once_below_its_name() {
    for seed in 1..5 {
        let mut random = RandomSequence(seed);
        let nested = calls(1 + seed as u32 % 3, 12, 2 + seed as u16, 6, seed, -3000);
        for spans in [nested, spans(2, 3, 120, seed, 0)] {
            let paths = naive_paths(&spans);
            for shape in [None, Some(SMALL)] {
                let (_file, snapshot) = store_of_paths(&spans, shape, 1 << 24);
                let names = snapshot.names();
                let named = Matcher::default().and_names(names.len(), |name| names.regular(name).0 % 3 == 1);
                for (from_ns, to_ns) in ranges(&snapshot, &mut random, 12) {
                    let range = Scope::from_range(from_ns, to_ns);
                    let one_track = range.clone().with_tracks(&[TrackIdx(0)]);
                    for scope in [range.clone(), one_track, range.matching(named.clone())] {
                        let what = format!("seed {seed}, {from_ns:?}..{to_ns:?} of {:?}", scope.tracks);
                        assert_tables(&snapshot, &scope, naive(&spans, &paths, &scope), &what);
                    }
                }
            }
        }
    }
}

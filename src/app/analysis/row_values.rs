//! The values by which the rows of a list are sorted: names by their text, tracks and processes by their titles.

use crate::model::{NameIdx, TrackIdx};
use crate::query::Snapshot;
use crate::query::ordered_rows::{ListColumn, RowValues};
use crate::scene::natural_order::natural_key;
use crate::scene::titles::{distinct_title, process_title};

/// Returns the values of a column.
pub(super) fn row_values(snapshot: &Snapshot, column: ListColumn) -> RowValues {
    let (names, tracks) = (snapshot.names(), snapshot.tracks());
    match column {
        ListColumn::Name => {
            let texts: Vec<&str> = (0..names.len() as u32).map(|name| names.get(NameIdx(name)).text).collect();
            RowValues::Name(ranks(&texts))
        }
        ListColumn::Track => {
            let titles: Vec<_> = (0..tracks.tracks.len() as u32)
                .map(|track| natural_key(&distinct_title(snapshot, TrackIdx(track))))
                .collect();
            RowValues::Track(ranks(&titles))
        }
        ListColumn::Process => {
            let titles: Vec<_> = tracks.processes.iter().map(|process| natural_key(&process_title(process))).collect();
            let processes = ranks(&titles);
            RowValues::Track(tracks.tracks.iter().map(|track| processes[track.process.index()]).collect())
        }
        ListColumn::Duration => RowValues::Duration,
        ListColumn::Start => RowValues::Start,
    }
}

/// Returns the rank of each key; equal keys have equal ranks.
fn ranks<K: Ord>(keys: &[K]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_unstable_by_key(|&index| &keys[index]);
    let mut ranks = vec![0; keys.len()];
    let mut rank = 0;
    for (before, &index) in [None].into_iter().chain(order.iter().map(Some)).zip(&order) {
        rank += u32::from(before.is_some_and(|&before| keys[before] != keys[index]));
        ranks[index] = rank;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_have_equal_ranks() {
        assert_eq!(ranks(&["b", "a", "b", "c"]), [1, 0, 1, 2]);
        assert!(ranks::<u8>(&[]).is_empty());
    }

    #[test]
    fn tracks_are_sorted_by_the_numbers_in_their_titles() {
        let json = r#"[{"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"worker 10"}},
            {"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"worker 9"}},
            {"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":1},
            {"ph":"X","name":"a","pid":1,"tid":2,"ts":0,"dur":1}]"#;
        let snapshot = crate::scene::tests::snapshot(json);
        let RowValues::Track(ranks) = row_values(&snapshot, ListColumn::Track) else { panic!("ranks of tracks") };
        let rank = |name: &str| snapshot.tracks().tracks.iter().position(|it| &*it.name == name).map(|it| ranks[it]);
        assert!(rank("worker 9") < rank("worker 10"));
    }
}

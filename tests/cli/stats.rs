//! Filters and totals by name, compared with sums over the listed spans.

use std::collections::BTreeMap;

use crate::harness::{data, longspan, records, spans_of, text};

/// By name and category: count, sum, smallest, largest of whole durations. Unfinished spans are in no table of sums.
fn sums(rows: &[Vec<String>]) -> BTreeMap<(String, String), (u64, u64, u64, u64)> {
    let mut sums = BTreeMap::new();
    for row in rows {
        let dur: u64 = row[1].parse().expect("a finished span");
        let sum = sums.entry((row[3].clone(), row[4].clone())).or_insert((0, 0, u64::MAX, 0));
        *sum = (sum.0 + 1, sum.1 + dur, sum.2.min(dur), sum.3.max(dur));
    }
    sums
}

#[test]
fn totals_are_sums_over_the_listed_spans_with_the_most_time_first() {
    let file = data("go_trace.json");
    let spans = records(&spans_of(&file));
    assert!(spans.iter().all(|row| row[1] != "-1"), "this capture has all its ends");
    for filter in ["", "dur>10us", "-go"] {
        let listed = longspan(&["spans", "--no-cache", "--filter", filter, text(&file)]).done();
        let mut expected = sums(&records(&listed));
        let csv = longspan(&["stats", "--no-cache", "--filter", filter, text(&file)]).done();
        assert!(csv.starts_with("name,category,count,total,self,mean,p50,p99,min,max,distinct,deviation,p90,p95\n"));
        let found = records(&csv);
        let number = |row: &[String], column: usize| row[column].parse::<u64>().expect("a number");
        assert!(found.iter().map(|row| number(row, 3)).rev().is_sorted());
        for row in &found {
            let (count, total, least, most) = expected.remove(&(row[0].clone(), row[1].clone())).expect("a name");
            let numbers: Vec<u64> = (2..10).map(|column| number(row, column)).collect();
            assert_eq!((numbers[0], numbers[1], numbers[6], numbers[7]), (count, total, least, most), "{row:?}");
            assert!(numbers[2] <= total && numbers[3] == total / count, "{row:?}");
            assert!(least <= numbers[4] && numbers[4] <= numbers[5] && numbers[5] <= most, "{row:?}");
        }
        assert!(expected.is_empty(), "{expected:?}");
        let lines = longspan(&["stats", "--no-cache", "--format", "jsonl", "--filter", filter, text(&file)]).done();
        let first: serde_json::Value = serde_json::from_str(lines.lines().next().expect("a line")).expect("JSON");
        assert_eq!((lines.lines().count(), first["name"].as_str()), (found.len(), Some(&*found[0][0])));
    }
}

#[test]
fn a_filter_lists_the_spans_that_each_of_its_words_allows() {
    let file = data("go_trace.json");
    let all = records(&spans_of(&file));
    let long = |row: &&Vec<String>| row[1].parse::<u64>().is_ok_and(|dur| dur > 10_000);
    let name = all[all.len() / 2][3].clone();
    let listed = longspan(&["spans", "--no-cache", "--filter", &format!("dur>10us \"{name}\""), text(&file)]).done();
    let has_name = |row: &&Vec<String>| row[3].to_lowercase().contains(&name.to_lowercase());
    let expected: Vec<_> = all.iter().filter(long).filter(has_name).cloned().collect();
    assert_eq!(records(&listed), expected);
    let refused = longspan(&["spans", "--no-cache", "--filter", "dur>soon", text(&file)]).failed(2);
    assert!(refused.contains("dur>soon") && refused.contains("nanoseconds"), "{refused}");
}

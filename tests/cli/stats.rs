//! Filters and totals by name, compared with sums over the listed spans.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::harness::{data, folder, longspan, records, spans_of, text};

/// The numeric columns of the totals, in order.
const NUMBERS: &str = "count,total,self,mean,p50,p99,min,max,distinct,deviation,p90,p95,unfinished,quantile_error";

/// Count, sum, minimum and maximum of full durations, by name and category. Unfinished spans are not in tables of sums.
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
fn totals_are_sums_over_the_listed_spans_sorted_by_time() {
    let file = data("go_trace.json");
    let spans = records(&spans_of(&file));
    assert!(spans.iter().all(|row| row[1] != "-1"), "this trace has no unfinished spans");
    for filter in ["", "dur>10us", "-go"] {
        let listed = longspan(&["spans", "--no-cache", "--filter", filter, text(&file)]).done();
        let mut expected = sums(&records(&listed));
        let csv = longspan(&["stats", "--no-cache", "--filter", filter, text(&file)]).done();
        assert!(csv.starts_with(&format!("name,category,{NUMBERS}\n")));
        let found = records(&csv);
        let number = |row: &[String], column: usize| row[column].parse::<u64>().expect("a number");
        assert!(found.iter().map(|row| number(row, 3)).rev().is_sorted());
        for row in &found {
            let (count, total, least, most) = expected.remove(&(row[0].clone(), row[1].clone())).expect("a name");
            let numbers: Vec<u64> = (2..10).map(|column| number(row, column)).collect();
            assert_eq!((numbers[0], numbers[1], numbers[6], numbers[7]), (count, total, least, most), "{row:?}");
            assert!(numbers[2] <= total && numbers[3] == (2 * total + count) / (2 * count), "{row:?}");
            assert!(least <= numbers[4] && numbers[4] <= numbers[5] && numbers[5] <= most, "{row:?}");
        }
        assert!(expected.is_empty(), "{expected:?}");
        let lines = longspan(&["stats", "--no-cache", "--format", "jsonl", "--filter", filter, text(&file)]).done();
        let first: serde_json::Value = serde_json::from_str(lines.lines().next().expect("a line")).expect("JSON");
        assert_eq!((lines.lines().count(), first["name"].as_str()), (found.len(), Some(&*found[0][0])));
        assert_eq!((first["unfinished"].as_u64(), found[0][14].as_str()), (Some(0), "0"));
        assert_eq!(first["quantile_error"].as_f64(), found[0][15].parse().ok());
    }
}

#[test]
fn an_empty_table_is_explained_on_stderr() {
    let (spans, samples) = (data("go_trace.json"), data("go_cpu.pprof"));
    let stderr_of = |args: &[&str], file: &Path| {
        let output = longspan(&[args, &["--no-cache", text(file)]].concat());
        assert_eq!(output.status, Some(0), "{args:?}: {output:?}");
        assert!(output.stdout.lines().count() <= 1, "{args:?}: {output:?}");
        output.stderr
    };
    for args in [&["stats"][..], &["spans"], &["spans", "--longest", "5"], &["flame"], &["stats", "--heat-map"]] {
        let nothing = stderr_of(&[args, &["--filter", "name:no_such_name"]].concat(), &spans);
        assert!(nothing.contains("no spans in this part: none matches --filter\n"), "{args:?}: {nothing}");
    }
    let nothing = stderr_of(&["spans", "--name", "zz", "--kind", "thread"], &spans);
    assert!(nothing.contains("none matches --kind thread and --name zz\n"), "{nothing}");
    let nothing = stderr_of(&["stats", "--counters", "--kind", "state"], &data("chromium.pftrace.gz"));
    assert!(nothing.contains("--kind state"), "{nothing}");
    for args in [&["spans", "--limit", "0"][..], &["spans", "--longest", "0"]] {
        assert!(!stderr_of(args, &spans).contains("no spans"), "{args:?}");
    }
    let nothing = stderr_of(&["flame", "--event", "x"], &spans);
    assert!(nothing.contains("this trace has no samples"), "{nothing}");
    for args in [&["spans"][..], &["stats", "--by", "thread"], &["stats", "--heat-map"]] {
        let nothing = stderr_of(args, &samples);
        assert!(nothing.contains("samples and no spans: `longspan stats`"), "{args:?}: {nothing}");
    }
    let nothing = stderr_of(&["stats", "--counters"], &samples);
    assert!(nothing.contains("this trace has no counters"), "{nothing}");
}

/// The number of spans and their time, by the cells of some columns.
fn grouped(rows: &[Vec<String>], columns: &[usize]) -> BTreeMap<Vec<String>, (u64, u64)> {
    let mut groups: BTreeMap<Vec<String>, (u64, u64)> = BTreeMap::new();
    for row in rows {
        let group = groups.entry(columns.iter().map(|&column| row[column].clone()).collect()).or_default();
        *group = (group.0 + 1, group.1 + row[1].parse::<u64>().expect("a finished span"));
    }
    groups
}

#[test]
fn groups_are_sums_over_the_listed_spans() {
    for file in ["go_trace.json", "tracing_chrome_async.json.gz"] {
        groups_are_sums_of(&data(file));
    }
    for wrong in ["thread,process", "names", "arg:"] {
        let error = longspan(&["stats", "--by", wrong, text(&data("go_trace.json"))]).failed(2);
        assert!(error.contains("expected name, category"));
    }
}

fn groups_are_sums_of(file: &Path) {
    let spans = records(&spans_of(file));
    // These are keys, and the corresponding columns of `spans`.
    let cases: [(&str, &str, &[usize]); 6] = [
        ("name", "name,category", &[3, 4]),
        ("category", "category", &[4]),
        ("thread", "pid,tid,process,thread,track", &[5, 6, 7, 8, 9]),
        ("process", "pid,process", &[5, 7]),
        ("thread,name", "name,category,pid,tid,process,thread,track", &[3, 4, 5, 6, 7, 8, 9]),
        ("category,process", "category,pid,process", &[4, 5, 7]),
    ];
    for (keys, columns, cells) in cases {
        let csv = longspan(&["stats", "--no-cache", "--by", keys, text(file)]).done();
        assert!(csv.starts_with(&format!("{columns},{NUMBERS}\n")), "{csv}");
        let found = records(&csv);
        let number = |row: &[String], column: usize| row[cells.len() + column].parse::<u64>().expect("a number");
        assert!(found.iter().map(|row| number(row, 1)).rev().is_sorted(), "{keys}");
        let groups: BTreeMap<_, _> =
            found.iter().map(|row| (row[..cells.len()].to_vec(), (number(row, 0), number(row, 1)))).collect();
        assert_eq!(groups, grouped(&spans, cells), "{keys}");
        assert_eq!(groups.len(), found.len(), "{keys}: each group has one row");
        let has_distinct = keys.contains("name");
        assert!(found.iter().all(|row| row[cells.len() + 8].is_empty() != has_distinct), "{keys}");
        let lines = longspan(&["stats", "--no-cache", "--format", "jsonl", "--by", keys, text(file)]).done();
        assert_eq!(lines.lines().count(), found.len(), "{keys}");
    }
}

#[test]
fn groups_of_an_argument_are_its_values_with_unfinished_spans_separate() {
    let folder = folder();
    let file = folder.path().join("args.json");
    let spans = [
        r#"{"ph":"X","name":"get","pid":1,"tid":1,"ts":0,"dur":10,"args":{"at":{"url":"/a"}}}"#,
        r#"{"ph":"X","name":"get","pid":1,"tid":1,"ts":20,"dur":30,"args":{"at":{"url":"/b"}}}"#,
        r#"{"ph":"X","name":"put","pid":1,"tid":1,"ts":60,"dur":40,"args":{"at":{"url":"/a"}}}"#,
        r#"{"ph":"X","name":"put","pid":1,"tid":1,"ts":110,"dur":5,"args":{"at":{"url":7}}}"#,
        r#"{"ph":"B","name":"run","pid":1,"tid":1,"ts":120}"#,
        r#"{"ph":"X","name":"get","pid":1,"tid":2,"ts":130,"dur":7}"#,
    ];
    fs::write(&file, format!("[{}]", spans.join(","))).expect("a file");
    let rows = records(&longspan(&["stats", "--no-cache", "--by", "arg:at.url", text(&file)]).done());
    let found: Vec<(&str, &str, &str, &str)> =
        rows.iter().map(|row| (&*row[0], &*row[1], &*row[2], &*row[3])).collect();
    assert_eq!(found[..2], [("/a", "value", "2", "50000"), ("/b", "value", "1", "30000")]);
    assert!(found.contains(&("7", "value", "1", "5000")));
    assert!(found.iter().any(|row| (row.0, row.1, row.2) == ("", "missing", "2")), "{found:?}");
    let unfinished = |rows: &[Vec<String>], at: usize| rows.iter().map(|row| row[at].clone()).collect::<Vec<_>>();
    assert_eq!(unfinished(&rows, 14).iter().filter(|count| *count == "1").count(), 1);
    let names = records(&longspan(&["stats", "--no-cache", text(&file)]).done());
    let run = names.iter().find(|row| row[0] == "run").expect("the span without an end");
    assert_eq!((&*run[2], &*run[14]), ("1", "1"));
    assert_eq!(unfinished(&names, 14).iter().filter(|count| *count == "0").count(), names.len() - 1);
}

#[test]
fn a_key_with_dots_is_a_key_or_an_object_member_in_filters_groups_and_sums() {
    let folder = folder();
    let file = folder.path().join("keys.json");
    let spans = [
        r#"{"ph":"X","name":"flat","pid":1,"tid":1,"ts":1,"dur":1,"args":{"http.status":200}}"#,
        r#"{"ph":"X","name":"nested","pid":1,"tid":1,"ts":3,"dur":1,"args":{"http":{"status":200}}}"#,
        r#"{"ph":"X","name":"both","pid":1,"tid":1,"ts":5,"dur":1,"args":{"http":{"status":200},"http.status":404}}"#,
        r#"{"ph":"X","name":"blank","pid":1,"tid":1,"ts":7,"dur":1,"args":{"External id":5}}"#,
    ];
    fs::write(&file, format!("[{}]", spans.join(","))).expect("a file");
    for (filter, expected) in [
        ("arg.http.status=200", &["flat", "nested"][..]),
        ("arg.http.status=404", &["both"]),
        (r#"arg."http.status":0"#, &["flat", "both"]),
        (r#"arg."External id"=5"#, &["blank"]),
        (r#"-arg."External id"=5 -arg.http.status=404"#, &["flat", "nested"]),
    ] {
        let rows = records(&longspan(&["spans", "--no-cache", "--filter", filter, text(&file)]).done());
        assert_eq!(rows.iter().map(|row| &*row[3]).collect::<Vec<_>>(), expected, "{filter}");
    }
    let rows = records(&longspan(&["stats", "--no-cache", "--by", "arg:http.status", text(&file)]).done());
    let mut groups: Vec<_> = rows.iter().map(|row| (&*row[0], &*row[1], &*row[2])).collect();
    groups.sort_unstable();
    assert_eq!(groups, [("", "missing", "1"), ("200", "value", "2"), ("404", "value", "1")]);
    let out = folder.path().join("sum.json");
    let derive = ["--derive", "sum:arg.http.status every:1s", "--derive", r#"sum:arg."External id" every:1s"#];
    longspan(&[&["export", "--no-cache", text(&file), "-o", text(&out)], &derive[..]].concat()).done();
    let stats = records(&longspan(&["stats", "--no-cache", "--counters", text(&out)]).done());
    let mut sums: Vec<&str> = stats.iter().map(|row| &*row[5]).collect();
    sums.sort_unstable();
    assert_eq!(sums, ["5", "804"], "{stats:?}");
}

#[test]
fn a_filter_lists_the_spans_that_match_all_of_its_conditions() {
    let file = data("go_trace.json");
    let all = records(&spans_of(&file));
    let long = |row: &&Vec<String>| row[1].parse::<u64>().is_ok_and(|dur| dur > 10_000);
    let name = all[all.len() / 2][3].clone();
    let listed = longspan(&["spans", "--no-cache", "--filter", &format!("dur>10us \"{name}\""), text(&file)]).done();
    let has_name = |row: &&Vec<String>| row[3].to_lowercase().contains(&name.to_lowercase());
    let expected: Vec<_> = all.iter().filter(long).filter(has_name).cloned().collect();
    assert_eq!(records(&listed), expected);
    let message = longspan(&["spans", "--no-cache", "--filter", "dur>soon", text(&file)]).failed(2);
    assert!(message.contains("dur>soon") && message.contains("nanoseconds"), "{message}");
}

#[test]
fn values_beyond_the_group_limit_are_counted_as_others() {
    let folder = folder();
    let file = folder.path().join("values.json");
    let span = |number: u32| {
        format!(r#"{{"ph":"X","pid":1,"tid":1,"ts":{number},"dur":1,"name":"a","args":{{"k":{number}}}}}"#)
    };
    let spans: Vec<String> = (0..(1 << 16) + 5).map(span).collect();
    fs::write(&file, format!("[{}]", spans.join(","))).expect("written");
    let output = longspan(&["stats", "--no-cache", "--by", "arg:k", text(&file)]);
    assert!(output.stderr.contains("5 spans are in `others`"), "{}", output.stderr);
    assert_eq!(records(&output.done()).len(), (1 << 16) + 1);
}

#[test]
fn an_argument_that_no_span_has_and_terms_that_do_not_apply_to_counters_are_named() {
    let folder = folder();
    let file = folder.path().join("trace.json");
    let span = r#"{"ph":"X","pid":1,"tid":1,"ts":0,"dur":1,"name":"a","args":{"k":1}}"#;
    let counter = r#"{"ph":"C","pid":1,"ts":0,"name":"c","args":{"v":1}}"#;
    fs::write(&file, format!("[{span},{counter}]")).expect("written");
    let stats = |options: &[&str]| longspan(&[&["stats", "--no-cache", text(&file)], options].concat());
    for (key, is_missing) in [("arg:k", false), ("arg:nosuch", true), ("arg:k,name", true)] {
        let output = stats(&["--by", key]);
        let said = format!("no span here has the argument `{}`", &key[4..]);
        assert_eq!(output.stderr.contains(&said), is_missing, "{key}: {}", output.stderr);
        assert_eq!(records(&output.done()).len(), 1);
    }
    for (filter, said) in
        [("name:zzz", "names;"), ("dur>1 -in:x process:1", "`dur`, `in:`;"), ("process:1", ""), ("thread:c", "")]
    {
        let output = stats(&["--counters", "--filter", filter]);
        let expected = format!("not applied to counters: {said}");
        assert_eq!(output.stderr.contains(&expected), !said.is_empty(), "{filter}: {}", output.stderr);
        assert_eq!(records(&output.done()).len(), 1, "{filter}");
    }
}

//! The scope of a command: the same options have the same meaning for every command.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::harness::{CommandResult, folder, longspan, records, spans_of, text};

/// Writes two processes with threads of the same names, one with the id of the other's thread. Times are in
/// microseconds.
fn trace(folder: &Path) -> PathBuf {
    let path = folder.join("trace.json");
    let mut lines = Vec::new();
    for (pid, process) in [(1, "Browser"), (12, "Renderer")] {
        lines.push(format!(r#"{{"ph":"M","name":"process_name","pid":{pid},"args":{{"name":"{process}"}}}}"#));
        for (tid, thread) in [(pid, "main"), (pid + 20, "worker")] {
            lines.push(format!(
                r#"{{"ph":"M","name":"thread_name","pid":{pid},"tid":{tid},"args":{{"name":"{thread}"}}}}"#
            ));
            for task in 0..10 {
                let ts = -30 + task * 10;
                let (name, cat) = [("RunTask", "top"), ("Idle", "rest")][task as usize % 2];
                let span = |ts: i64, dur: i64, name: &str| {
                    format!(
                        r#"{{"ph":"X","name":"{name}","cat":"{cat}","pid":{pid},"tid":{tid},"ts":{ts},"dur":{dur}}}"#
                    )
                };
                lines.push(span(ts, 9, name));
                lines.push(span(ts + 1, 5, "Paint"));
                lines.push(span(ts + 2, 0, "Mark"));
            }
            lines.push(format!(r#"{{"ph":"i","name":"Paint","pid":{pid},"tid":{tid},"ts":2,"s":"t"}}"#));
            lines.push(format!(r#"{{"ph":"C","name":"memory {tid}","pid":{pid},"ts":2,"args":{{"bytes":{tid}}}}}"#));
        }
    }
    fs::write(&path, format!("[{}]", lines.join(",\n"))).expect("written");
    path
}

fn run(command: &str, file: &Path, options: &[&str]) -> CommandResult {
    let query = if command == "search" { &[""][..] } else { &[] };
    longspan(&[&[command, "--no-cache", text(file)], query, options].concat())
}

/// Returns the spans of a scope, in order.
fn spans(file: &Path, options: &[&str]) -> Vec<Vec<String>> {
    records(&run("spans", file, options).done())
}

/// Returns the spans of an exported scope, without the column that marks spans from outside.
fn exported(file: &Path, options: &[&str], folder: &Path) -> Vec<Vec<String>> {
    let output = folder.join("part.csv");
    let result = run("export", file, &[options, &["-o", text(&output)]].concat());
    assert!(result.stderr.contains("spans written"), "{}", result.stderr);
    result.done();
    let csv = fs::read_to_string(&output).expect("written");
    // The last column marks spans from outside.
    records(&csv).into_iter().map(|row| row[..10].to_vec()).collect()
}

/// Returns whether a row of `spans` is in a scope.
type Test = Box<dyn Fn(&[String]) -> bool>;

/// Returns the number of spans per name, like `stats`.
fn counts(rows: &[Vec<String>]) -> BTreeSet<(String, u64)> {
    let names: BTreeSet<&String> = rows.iter().map(|row| &row[3]).collect();
    names.into_iter().map(|name| (name.clone(), rows.iter().filter(|row| row[3] == *name).count() as u64)).collect()
}

#[test]
fn every_command_has_the_same_scope_for_the_same_options() {
    let folder = folder();
    let file = trace(folder.path());
    let all = records(&spans_of(&file));
    assert_eq!(all.len(), 120);
    let is = |column: usize, wanted: &'static str| move |row: &[String]| row[column] == wanted;
    let ts = |row: &[String]| row[0].parse::<i64>().expect("a time");
    let end = move |row: &[String]| ts(row) + row[1].parse::<i64>().expect("a duration");
    let in_task = |row: &[String]| row[3] != "RunTask" && row[3] != "Idle" && row[4] == "top";
    let cases: Vec<(Vec<&str>, Test)> = vec![
        (vec![], Box::new(|_| true)),
        (vec!["--process", "^Renderer$"], Box::new(is(7, "Renderer"))),
        (vec!["--process", "1"], Box::new(is(5, "1"))),
        (vec!["--process", "12"], Box::new(is(5, "12"))),
        (vec!["--thread", "main"], Box::new(is(8, "main"))),
        (vec!["--thread", "21", "--process", "Browser"], Box::new(is(6, "21"))),
        (vec!["--thread", "(?x)21 # worker", "--process", "Browser"], Box::new(is(6, "21"))),
        (vec!["--thread", "main", "--process", "Rend"], Box::new(|row| row[7] == "Renderer" && row[8] == "main")),
        (vec!["--track", "Renderer", "--thread", "work"], Box::new(|row| row[6] == "32")),
        (vec!["--track", "#1,#3"], Box::new(is(5, "1"))),
        (vec!["--track", " #1, #3"], Box::new(is(5, "1"))),
        (vec!["--track", "#3,#4", "--thread", "worker"], Box::new(is(6, "21"))),
        (vec!["--filter", "start>=+20us start<+35us"], Box::new(move |row| (-10_000..5_000).contains(&ts(row)))),
        (vec!["--filter", "dur>5us"], Box::new(|row| row[1] == "9000")),
        (vec!["--filter", "in:RunTask"], Box::new(in_task)),
        (vec!["--filter", "-in:/^Run/ thread:main"], Box::new(move |row| !in_task(row) && row[8] == "main")),
        (vec!["--filter", "in:Paint"], Box::new(is(3, "Mark"))),
        (vec!["--filter", "in:Run in:Paint"], Box::new(|row| row[3] == "Mark" && row[4] == "top")),
        (
            vec!["--filter", "within:32/0@-10us"],
            Box::new(move |row| row[6] == "32" && (-10_000..-1000).contains(&ts(row)) && row[2] != "0"),
        ),
        (
            vec!["--filter", "within:main/0@-10us Paint"],
            Box::new(move |row| row[8] == "main" && ts(row) == -9000 && row[3] == "Paint"),
        ),
        (
            vec!["--from", "-15us", "--to", "-5us", "--process", "Browser"],
            Box::new(move |row| row[7] == "Browser" && end(row) > -15_000 && ts(row) < -5000),
        ),
        (vec!["--from", "+20us", "--thread", "main"], Box::new(move |row| end(row) > -10_000 && row[8] == "main")),
    ];
    for (options, test) in cases {
        let expected: Vec<_> = all.iter().filter(|row| test(row)).cloned().collect();
        assert!(!expected.is_empty(), "{options:?}");
        assert_eq!(spans(&file, &options), expected, "spans {options:?}");
        let stats = records(&run("stats", &file, &options).done());
        let counted: BTreeSet<(String, u64)> = stats
            .iter()
            .map(|row| {
                let same = stats.iter().filter(|other| other[0] == row[0]);
                (row[0].clone(), same.map(|other| other[2].parse::<u64>().expect("a number")).sum())
            })
            .collect();
        assert_eq!(counted, counts(&expected), "stats {options:?}");
        let mut found = exported(&file, &options, folder.path());
        let mut sorted = expected.clone();
        found.sort();
        sorted.sort();
        assert_eq!(found.len(), sorted.len(), "export {options:?}");
        assert!(found.iter().zip(&sorted).all(|(one, other)| one[0] == other[0] && one[3] == other[3]), "{options:?}");
        let hits: usize = run("search", &file, &options).done().trim().parse().expect("a number");
        // One instant on each thread is a hit too.
        assert!((expected.len()..=expected.len() + 4).contains(&hits), "search {options:?}: {hits}");
    }
}

#[test]
fn a_track_kind_selects_its_tracks_alone_and_with_other_options() {
    let folder = folder();
    let file = folder.path().join("sched.txt");
    let switch = |ts: u32, from: u32, to: u32| {
        format!(
            "w 7/{from} [000] 1.{ts:06}: sched:sched_switch: prev_comm=w prev_pid={from} prev_prio=120 prev_state=S \
            ==> next_comm=w next_pid={to} next_prio=120\n"
        )
    };
    fs::write(&file, [switch(1, 8, 9), switch(2, 9, 8), switch(4, 8, 9)].concat()).expect("written");
    let of = |options: &[&str]| spans(&file, options).len();
    let (all, states, cpus) = (of(&[]), of(&["--kind", "state"]), of(&["--kind", "cpu"]));
    assert!(states > 0 && cpus > 0, "{states} {cpus}");
    assert_eq!(all, states + cpus);
    assert_eq!(of(&["--kind", "state", "--kind", "cpu"]), all);
    let of_thread = of(&["--thread", "8", "--kind", "state"]);
    assert!(of_thread > 0 && of_thread < states, "{of_thread} of {states}");
    for (command, options) in [("stats", vec!["--kind", "cpu"]), ("export", vec!["--kind", "cpu"])] {
        let output = folder.path().join("part.csv");
        let write: &[&str] = if command == "export" { &["-o", text(&output)] } else { &[] };
        let stdout = run(command, &file, &[&options, write].concat()).done();
        let csv = if command == "export" { fs::read_to_string(&output).expect("written") } else { stdout };
        assert!(records(&csv).len() <= cpus && !records(&csv).is_empty(), "{command}: {csv}");
    }
    let json = trace(folder.path());
    assert_eq!(of_kind(&json, "thread"), 120);
    let missing = run("spans", &json, &["--kind", "async"]);
    assert!(missing.stderr.contains("nothing matches --kind async"), "{}", missing.stderr);
    let message = run("spans", &json, &["--kind", "thing"]).failed(2);
    assert!(message.contains("--kind"), "{message}");
}

/// Returns the number of spans on tracks of a kind.
fn of_kind(file: &Path, kind: &str) -> usize {
    spans(file, &["--kind", kind]).len()
}

#[test]
fn search_counts_instants_too_and_combines_its_words_with_the_filter() {
    let folder = folder();
    let file = trace(folder.path());
    let count = |args: &[&str]| {
        longspan(&[&["search", "--no-cache", text(&file)], args].concat())
            .done()
            .trim()
            .parse::<u64>()
            .expect("a number")
    };
    assert_eq!(count(&["Paint"]), 44);
    assert_eq!(count(&["Paint", "--process", "12"]), 22);
    assert_eq!(count(&["Paint", "--filter", "in:RunTask"]), 20, "the instants are within an idle time");
    assert_eq!(count(&["Paint in:Idle"]), 24);
    assert_eq!(count(&["--", "-Paint"]), 80);
    assert_eq!(count(&["Paint", "--from", "1s"]), 0);
    let message = longspan(&["search", "--no-cache", text(&file), "dur>soon"]).failed(2);
    assert!(message.contains("QUERY") && message.contains("dur>soon"), "{message}");
    let message = longspan(&["search", "--no-cache", text(&file)]).failed(2);
    assert!(message.starts_with("longspan: QUERY is missing: it is the last argument"), "{message}");
}

#[test]
fn a_filtered_export_has_matching_spans_and_instants_and_no_counters() {
    let folder = folder();
    let file = trace(folder.path());
    let part = folder.path().join("part.json");
    run("export", &file, &["--filter", "Paint", "--thread", "main", "-o", text(&part)]).done();
    let info = longspan(&["info", "--no-cache", "--json", text(&part)]).done();
    let info: serde_json::Value = serde_json::from_str(&info).expect("JSON");
    assert_eq!((&info["spans"], &info["instants"], &info["counters"]), (&20.into(), &2.into(), &0.into()));
    run("export", &file, &["--filter", "process:Renderer", "-o", text(&part)]).done();
    let info = longspan(&["info", "--no-cache", "--json", text(&part)]).done();
    let info: serde_json::Value = serde_json::from_str(&info).expect("JSON");
    assert_eq!((&info["spans"], &info["counters"]), (&60.into(), &2.into()), "a whole process has its counters");
}

#[test]
fn an_empty_scope_gives_no_rows_and_explains_why() {
    let folder = folder();
    let file = trace(folder.path());
    for (options, stderr) in [
        (&["--process", "^Nobody$"][..], "--process ^Nobody$"),
        (&["--process", "2"], "--process 2"),
        (&["--thread", "^3$"], "--thread ^3$"),
        (&["--track", "nowhere", "--process", "Browser"], "--track nowhere"),
        (&["--process", "Browser", "--thread", "^32$"], "--process Browser and --thread ^32$"),
        (&["--from", "1s"], "--from 1000000000 ns selects nothing: the trace ends at"),
        (&["--to", "-1s"], "--to -1000000000 ns selects nothing: the trace starts at"),
        (&["--filter", "thread:main nothing"], ""),
        (&["--filter", "within:main/7@0"], ""),
    ] {
        let outputs = ["spans", "stats", "search", "export", "render"].map(|command| {
            let output = folder.path().join(if command == "render" { "x.png" } else { "x.csv" });
            let write = ["-o", text(&output), "--size", "64x64"];
            let write = match command {
                "render" if cfg!(feature = "window") => &write[..],
                "render" => return None,
                "export" => &write[..2],
                _ => &[],
            };
            Some((command, run(command, &file, &[options, write].concat())))
        });
        for (command, result) in outputs.into_iter().flatten() {
            assert!(result.stderr.contains(stderr), "{command} {options:?}: {}", result.stderr);
            // The header, or the number of hits.
            let empty = usize::from(["spans", "stats", "search"].contains(&command));
            let stdout = result.done();
            assert_eq!(stdout.lines().count(), empty, "{command} {options:?}: {stdout}");
            assert!(command != "search" || stdout == "0\n", "{stdout}");
        }
    }
}

#[test]
fn invalid_scope_options_are_wrong_usage_for_each_command() {
    let folder = folder();
    let file = trace(folder.path());
    for options in [
        &["--process", "("][..],
        &["--thread", "["],
        &["--track", "*"],
        &["--filter", "within:main"],
        &["--filter", "in:/(/"],
        &["--from", "2us", "--to", "1us"],
        &["--from", "-1us", "--to", "-2us"],
        &["--from", "+5us", "--to", "-40us"],
        &["--from", "soon"],
    ] {
        for command in ["spans", "stats", "search", "export", "render"] {
            let output = folder.path().join("x.png");
            let write = ["-o", text(&output), "--format", "csv"];
            let write = match command {
                "render" if cfg!(feature = "window") => &write[..2],
                "render" => continue,
                "export" => &write[..],
                _ => &[],
            };
            let message = run(command, &file, &[options, write].concat()).failed(2);
            assert!(message.contains(options[options.len() - 2]), "{command} {options:?}: {message}");
            assert!(!output.exists());
        }
    }
}

#[test]
#[cfg(feature = "window")]
fn an_image_of_a_scope_shows_other_tracks_and_dims_filtered_spans() {
    let folder = folder();
    let file = trace(folder.path());
    let picture = |name: &str, options: &[&str]| {
        let output = folder.path().join(name);
        let size = ["--size", "400x300", "-o", text(&output)];
        run("render", &file, &[options, &size].concat()).done();
        fs::read(&output).expect("an image")
    };
    let whole = picture("whole.png", &[]);
    assert!(whole == picture("again.png", &["--process", "."]), "all tracks");
    let parts = [&["--process", "12"][..], &["--thread", "main"], &["--filter", "in:RunTask"], &["--filter", "Paint"]];
    let mut pictures: Vec<_> = parts.iter().map(|options| picture("part.png", options)).collect();
    pictures.push(whole);
    for (place, one) in pictures.iter().enumerate() {
        assert!(pictures[..place].iter().all(|other| other != one), "image {place} differs from all before");
    }
}

#[test]
fn a_process_matches_its_command_line_and_the_short_name_in_the_window() {
    let folder = folder();
    let file = folder.path().join("chrome.json");
    let process = |pid: u32, name: &str| {
        let name = serde_json::json!(name);
        format!(
            r#"{{"ph":"M","name":"process_name","pid":{pid},"args":{{"name":{name}}}}},
            {{"ph":"X","name":"task","pid":{pid},"tid":1,"ts":1,"dur":1}}"#
        )
    };
    let windows = r"C:\Program Files\Google\Chrome\chrome.exe --type=gpu-process";
    let processes = [process(1, "/opt/chrome/chrome --type=renderer"), process(2, windows)];
    fs::write(&file, format!("[{}]", processes.join(","))).expect("written");
    for name in ["^Renderer$", "type=renderer", "^GPU process$", "chrome.exe"] {
        assert_eq!(run("search", &file, &["--filter", &format!("process:/{name}/")]).done(), "1\n", "{name}");
        assert_eq!(spans(&file, &["--process", name]).len(), 1, "{name}");
        assert_eq!(spans(&file, &["--track", name]).len(), 1, "{name}");
    }
}

#[test]
fn a_blank_in_a_time_is_refused_instead_of_being_the_name_of_a_unit() {
    let folder = folder();
    let file = trace(folder.path());
    for query in ["dur>1 us", "-dur>1 us", "dur> 1us", "start<=5 ms"] {
        let message = longspan(&["search", "--no-cache", text(&file), "--", query]).failed(2);
        assert!(message.contains("expected no blank in a time"), "{query}: {message}");
    }
    for query in ["dur>1us", "dur>1 \"us\"", "dur>1 Paint", "us"] {
        longspan(&["search", "--no-cache", text(&file), query]).done();
    }
}

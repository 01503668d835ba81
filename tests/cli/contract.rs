//! The contract with scripts: exit statuses, columns, keys, options, completions, the manual, and the commands of the
//! README.

use std::cmp::Reverse;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde_json::Value;

use crate::harness::{command, data, folder, longspan, records, spans_of, text, wait};

const TRACE_FILE: &str = "tracing_chrome_threads.json.gz";

#[test]
fn wrong_usage_exits_with_status_2_and_help_with_0() {
    let file = data(TRACE_FILE);
    for args in [
        &["frobnicate", "--hard"][..],
        &["info"],
        &["info", "--memory", "lots", text(&file)],
        &["spans", text(&file), "--format", "xml"],
        &["spans", text(&file), "--name", "("],
        &["spans", text(&file), "--from", "2s", "--to", "1s"],
        &["spans", text(&file), "--limit", "-1"],
        &["spans", text(&file), "--limit", "1", "--longest", "1"],
        &["export", text(&file)],
        &["cache"],
    ] {
        longspan(args).failed(2);
    }
    for args in [&["--help"][..], &["--version"], &["help"], &["spans", "--help"], &["cache", "clear", "--help"]] {
        assert!(!longspan(args).done().is_empty());
    }
}

#[test]
fn the_short_version_is_one_line_and_the_long_one_has_the_build() {
    assert_eq!(longspan(&["-V"]).done().trim(), concat!("longspan ", env!("CARGO_PKG_VERSION")));
    let long = longspan(&["--version"]).done();
    let build =
        long.trim().strip_prefix(concat!("longspan ", env!("CARGO_PKG_VERSION"), " (")).expect("the version first");
    let facts: Vec<_> = build.strip_suffix(')').expect("the build in brackets").split(", ").collect();
    assert!(facts.contains(&"debug") || facts.contains(&"release"), "{facts:?}");
    assert_eq!(facts.last().copied(), Some(&*format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)));
}

#[test]
fn info_has_every_key_that_scripts_read() {
    let info: Value =
        serde_json::from_str(&longspan(&["info", "--no-cache", "--json", text(&data(TRACE_FILE))]).done())
            .expect("JSON");
    let keys = |object: &Value| object.as_object().expect("an object").keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(
        keys(&info),
        "format spans instants counters flows samples processes threads tracks has_times untimed_samples lanes start_ns end_ns \
         utc_offset_ns source_bytes store_bytes late_events max_lateness_ns losses notes load"
    );
    assert_eq!(keys(&info["load"]), "seconds peak_budget_bytes chunks chunks_open_max head_moves spilled_bytes cached");
    assert_eq!(info["format"], "Chrome JSON");
    assert_eq!((&info["spans"], &info["instants"]), (&Value::from(5400), &Value::from(5160)));
    assert_eq!(info["source_bytes"].as_u64(), Some(fs::metadata(data(TRACE_FILE)).expect("there").len()));
    let late = info["late_events"].as_u64().expect("a number");
    assert!(late > 0 && info["max_lateness_ns"].as_u64() > Some(0), "its events are not in order");
}

#[test]
fn losses_are_on_stderr_and_in_info() {
    let file = data("ugly.json");
    let output = longspan(&["info", "--no-cache", "--json", text(&file)]);
    let stderr = output.stderr.clone();
    let info: Value = serde_json::from_str(&output.done()).expect("JSON");
    let losses = info["losses"].as_array().expect("a list");
    assert!(losses.len() >= 3, "{losses:?}");
    for loss in losses {
        let (name, count) = (loss["name"].as_str().expect("a name"), &loss["count"]);
        assert!(stderr.contains(&format!("ugly.json: {count} {name}, first at ")), "{loss} is not in {stderr}");
        assert!(!loss["first"].as_str().expect("a place").is_empty());
        assert!(!loss["advice"].as_str().expect("words").is_empty());
    }
}

#[test]
fn options_select_the_same_rows_as_a_filter_over_all_rows() {
    let file = data(TRACE_FILE);
    let all = records(&spans_of(&file));
    let ts = |row: &Vec<String>| row[0].parse::<i64>().expect("a time");
    let end = |row: &Vec<String>| ts(row) + row[1].parse::<i64>().expect("a duration");
    assert!(all.is_sorted_by_key(|row| (ts(row), row[2].parse::<u16>().expect("a depth"))));
    let spans =
        |options: &[&str]| records(&longspan(&[&["spans", "--no-cache", text(&file)], options].concat()).done());

    assert_eq!(spans(&["--limit", "7"]), all[..7]);
    assert_eq!(spans(&["--limit", "0"]), Vec::<Vec<String>>::new());
    let by_length = |rows: &[Vec<String>]| {
        let mut rows = rows.to_vec();
        rows.sort_by_key(|row| (Reverse(row[1].parse::<i64>().expect("a duration")), ts(row)));
        rows.into_iter().map(|row| (row[1].clone(), row[0].clone())).collect::<Vec<_>>()
    };
    let longest = |options: &[&str]| -> Vec<_> {
        spans(options).into_iter().map(|row| (row[1].clone(), row[0].clone())).collect()
    };
    assert_eq!(longest(&["--longest", "5"]), by_length(&all)[..5]);
    assert_eq!(longest(&["--longest", "0"]), Vec::new());
    assert_eq!(longest(&["--longest", "1000000"]), by_length(&all));
    let leaves: Vec<_> = all.iter().filter(|row| row[3].starts_with("le")).cloned().collect();
    assert_eq!(longest(&["--longest", "1000000", "--filter", "/^le/"]), by_length(&leaves));
    assert!(!leaves.is_empty() && leaves.len() < all.len());
    assert_eq!(spans(&["--name", "^le"]), leaves);

    let (from, to) = (ts(&all[all.len() / 3]), ts(&all[all.len() / 2]));
    let within = |row: &&Vec<String>| ts(row) < to && (end(row) > from || ts(row) >= from);
    let expected: Vec<_> = all.iter().filter(within).cloned().collect();
    assert!(expected.len() > 10 && expected.len() < all.len());
    assert_eq!(spans(&["--from", &from.to_string(), "--to", &to.to_string()]), expected);
    let start = ts(&all[0]);
    let since = [format!("+{}ns", from - start), format!("+{}ns", to - start)];
    let info = longspan(&["info", "--no-cache", "--json", text(&file)]).done();
    let info: Value = serde_json::from_str(&info).expect("JSON");
    assert_eq!(info["start_ns"].as_i64(), Some(start), "times with a plus count from here");
    assert_eq!(spans(&["--from", &since[0], "--to", &since[1]]), expected);
}

#[test]
fn json_lines_have_the_same_values_as_the_table() {
    for trace in [TRACE_FILE, "ugly.json"] {
        let file = data(trace);
        let rows = records(&spans_of(&file));
        let lines = longspan(&["spans", "--no-cache", "--format", "jsonl", text(&file)]).done();
        let columns = ["ts", "dur", "depth", "name", "category", "pid", "tid", "process", "thread", "track"];
        let objects = lines.lines().map(|line| {
            let object: Value = serde_json::from_str(line).expect("a line of JSON");
            assert_eq!(object.as_object().map(serde_json::Map::len), Some(columns.len()));
            columns.map(|column| match &object[column] {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                plain => plain.to_string(),
            })
        });
        assert_eq!(objects.map(Vec::from).collect::<Vec<_>>(), rows, "{trace}");
    }
}

#[test]
fn a_closed_output_pipe_is_not_a_failure() {
    let trace = data("viztracer_ring.json.gz");
    for args in [
        ["dump", "--no-cache", text(&trace)].as_slice(),
        &["export", "--no-cache", text(&trace), "--format", "chrome", "-o", "-"],
        &["synth", "--spans", "100000", "--format", "chrome", "-o", "-"],
    ] {
        let mut child = command(args).spawn().expect("the program starts");
        let mut first = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut first).expect("a line");
        assert!(first.starts_with('{'), "{first}");
        // The pipe is closed here, with megabytes still to come.
        assert_eq!(wait(&mut child, args), Some(0), "{args:?}");
    }
}

#[test]
fn a_cached_store_gives_the_same_results_until_the_trace_changes() {
    let folder = folder();
    let (cache, file) = (folder.path().join("cache"), folder.path().join("trace.json"));
    let event = |name: &str| format!(r#"[{{"ph":"X","pid":1,"tid":1,"ts":1,"dur":1,"name":"{name}"}}]"#);
    fs::write(&file, event("first")).expect("written");
    let info = || {
        let info = longspan(&["info", "--json", "--cache", text(&cache), text(&file)]).done();
        serde_json::from_str::<Value>(&info).expect("JSON")
    };
    let spans = || longspan(&["spans", "--cache", text(&cache), text(&file)]).done();
    assert_eq!(info()["load"]["cached"], false);
    assert_eq!(info()["load"]["cached"], true);
    assert!(spans().contains(",first,"));

    fs::write(&file, event("other")).expect("written");
    assert!(spans().contains(",other,"), "the trace has changed");

    let list = longspan(&["cache", "list", "--cache", text(&cache)]).done();
    assert!(list.lines().count() >= 2, "{list}");
    longspan(&["cache", "clear", "--cache", text(&cache)]).done();
    assert_eq!(info()["load"]["cached"], false);
}

#[test]
fn an_unusable_cache_is_reported_and_not_used() {
    let folder = folder();
    let not_a_folder = folder.path().join("file");
    fs::write(&not_a_folder, "x").expect("written");
    let output = longspan(&["info", "--cache", text(&not_a_folder), text(&data("ugly.json"))]);
    assert!(output.stderr.contains("cannot be used"), "{}", output.stderr);
    assert!(output.done().contains("spans"));
}

#[test]
fn progress_is_shown_on_request_and_never_on_stdout() {
    let file = data("ugly.json");
    let shown = longspan(&["spans", "--no-cache", "--progress", "always", text(&file)]);
    assert!(shown.stderr.lines().any(|line| line.starts_with("Done in ")), "{}", shown.stderr);
    assert_eq!(shown.done(), spans_of(&file));
    let quiet = longspan(&["spans", "--no-cache", "--progress", "auto", text(&file)]);
    assert!(!quiet.stderr.contains("Done"), "no terminal: {}", quiet.stderr);
}

#[test]
#[cfg(unix)]
fn the_commands_of_the_readme_work() {
    let folder = folder();
    fs::copy(data("go_trace.json"), folder.path().join("trace.json")).expect("a copy");
    let program = Path::new(env!("CARGO_BIN_EXE_longspan")).parent().expect("a folder");
    let path = format!("{}:{}", program.display(), std::env::var("PATH").expect("a path"));
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).expect("a README");
    // Without a command, the line opens the window.
    let commands = ["stats", "spans", "flame", "export"].map(|name| format!("longspan {name} "));
    let lines = readme.lines().filter(|line| commands.iter().any(|command| line.starts_with(command)));
    let mut count = 0;
    for line in lines {
        let mut shell = std::process::Command::new("sh");
        shell.current_dir(folder.path()).env("PATH", &path).env("XDG_CACHE_HOME", folder.path().join("cache"));
        let output = shell.args(["-c", line]).output().expect("a shell");
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        count += 1;
    }
    assert!(count >= 4, "{count} commands");
    assert!(folder.path().join("sorted.pftrace").exists());
}

#[test]
fn completions_and_the_manual_have_every_command() {
    let help = longspan(&["--help"]).done();
    let (_, commands) = help.split_once("Commands:\n").expect("a list of commands");
    let commands = commands.lines().take_while(|line| !line.is_empty());
    let commands = commands.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let commands: Vec<&str> = commands.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(commands.len() >= 12, "{commands:?}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = longspan(&["completions", shell]).done();
        for command in &commands {
            assert!(script.contains(command), "{command} in {shell}");
        }
    }
    let pages = folder();
    longspan(&["man", "-o", text(&pages.path().join("man1"))]).done();
    for command in commands.iter().filter(|name| **name != "help") {
        let page = longspan(&["man", command]).done();
        assert!(page.contains(&format!("longspan {}", command.replace('-', "\\-"))), "{page}");
        let written = fs::read_to_string(pages.path().join(format!("man1/longspan-{command}.1"))).expect("a page");
        assert_eq!(written, page);
        let footer = format!("\"longspan {}\"", env!("CARGO_PKG_VERSION"));
        assert!(page.lines().any(|line| line.starts_with(".TH") && line.contains(&footer)), "{page}");
    }
    let page = longspan(&["man", "cache", "list"]).done();
    assert_eq!(page, fs::read_to_string(pages.path().join("man1/longspan-cache-list.1")).expect("a page"));
    assert!(pages.path().join("man1/longspan.1").exists() && pages.path().join("man1/longspan-cache-list.1").exists());
    longspan(&["man", "frobnicate"]).failed(2);
    let slip = longspan(&["man", "sttas"]).failed(2);
    assert!(slip.contains("did you mean `longspan man stats`?"), "{slip}");
    let slip = longspan(&["man", "cache", "lis"]).failed(2);
    assert!(slip.contains("did you mean `longspan man cache list`?"), "{slip}");
    longspan(&["man", "stats", "-o", "here"]).failed(2);
}

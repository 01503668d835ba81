//! Flame graphs and sums of samples, compared with the numbers of other tools and with naive folds.

mod equal_names;
mod merged_paths;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::harness::{data, folder, longspan, records, text};
use crate::protobuf::message;

/// Two threads: a with children b and c, and twice a with b.
const SPANS: &str = r#"[{"name":"a","ph":"X","ts":0,"dur":100,"pid":1,"tid":1},
    {"name":"b;x","ph":"X","ts":10,"dur":20,"pid":1,"tid":1},{"name":"<c> & \"d\"","ph":"X","ts":50,"dur":5,"pid":1,"tid":1},
    {"name":"a","ph":"X","ts":0,"dur":40,"pid":1,"tid":2},{"name":"b;x","ph":"X","ts":1,"dur":30,"pid":1,"tid":2}]"#;

fn spans(folder: &Path) -> std::path::PathBuf {
    let file = folder.join("spans.json");
    fs::write(&file, SPANS).expect("written");
    file
}

/// Returns folded stacks, by path.
fn folded(args: &[&str]) -> BTreeMap<String, u64> {
    folded_paths(&[&["--no-cache"], args].concat())
}

fn folded_paths(args: &[&str]) -> BTreeMap<String, u64> {
    let lines = longspan(&[&["flame"], args].concat()).done();
    let split = |line: &str| {
        let (path, weight) = line.rsplit_once(' ').expect("a weight");
        (path.to_owned(), weight.parse().expect("a number"))
    };
    lines.lines().map(split).collect()
}

fn paths<const N: usize>(paths: [(&str, u64); N]) -> BTreeMap<String, u64> {
    paths.map(|(path, weight)| (path.to_owned(), weight)).into()
}

#[test]
fn call_paths_have_their_self_time_in_any_scope_top_down_and_bottom_up() {
    let folder = folder();
    let file = spans(folder.path());
    let file = text(&file);
    let all = paths([("a", 85_000), ("a;b,x", 50_000), ("a;<c> & \"d\"", 5_000)]);
    assert_eq!(folded(&[file]), all);
    assert_eq!(folded(&[file, "--thread", "2"]), paths([("a", 10_000), ("a;b,x", 30_000)]));
    let part = paths([("a", 20_000), ("a;b,x", 15_000)]);
    assert_eq!(
        folded(&[file, "--from", "+15us", "--to", "+35us", "--thread", "1"]),
        paths([("a", 5_000), ("a;b,x", 15_000)])
    );
    assert_ne!(part, all);
    let inverted = paths([("a", 85_000), ("b,x;a", 50_000), ("<c> & \"d\";a", 5_000)]);
    assert_eq!(folded(&[file, "--inverted"]), inverted);
    assert_eq!(folded(&[file, "--filter", "name:b"]), paths([("a;b,x", 50_000)]), "the parent has no time");
    assert_eq!(folded(&[file, "--filter", "name:a"]), paths([("a", 140_000)]), "what it calls is its own time");
    longspan(&["flame", "--no-cache", file, "--format", "pprof", "--inverted"]).failed(2);
    assert_eq!(folded(&[file, "--samples"]), BTreeMap::new());
}

/// Lines that begin with `# ` are comments.
#[test]
fn folded_paths_that_begin_like_a_comment_are_read_back() {
    let folder = folder();
    let file = folder.path().join("comments.json");
    let span = |name: &str, ts: u32| {
        format!(
            r##"{{"name":"{name}","ph":"X","ts":{ts},"dur":2,"pid":1,"tid":1}},{{"name":"# in","ph":"X","ts":{ts},"dur":1,"pid":1,"tid":1}}"##
        )
    };
    fs::write(&file, format!("[{},{},{}]", span("# hash", 1), span("#", 5), span("#x", 9))).expect("written");
    let lines = longspan(&["flame", "--no-cache", text(&file)]).done();
    let stacks = folder.path().join("stacks.txt");
    fs::write(&stacks, &lines).expect("written");
    let paths_of = |root: &str| [(root.to_owned(), 1000), (format!("{root};# in"), 1000)];
    let expected: BTreeMap<_, _> = ["\\# hash", "\\#", "#x"].into_iter().flat_map(paths_of).collect();
    assert_eq!(folded(&[text(&stacks)]), expected);
}

#[test]
fn json_has_the_nodes_of_the_tree_with_their_totals() {
    let folder = folder();
    let file = spans(folder.path());
    let json = longspan(&["flame", "--no-cache", text(&file), "--format", "json"]).done();
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&json["unit"], &json["of"], &json["inverted"]), (&"ns".into(), &"spans".into(), &false.into()));
    let nodes = json["nodes"].as_array().expect("nodes");
    let found: Vec<_> = nodes
        .iter()
        .map(|node| (node["name"].as_str().expect("a name"), node["parent"].as_u64(), node["total"].as_u64()))
        .collect();
    assert_eq!(found[0], ("", None, Some(140_000)));
    assert_eq!(found[1], ("a", Some(0), Some(140_000)));
    assert_eq!(nodes.len(), 4);
    let own: u64 = nodes.iter().filter_map(|node| node["self"].as_u64()).sum();
    assert_eq!(own, 140_000);
}

/// Returns the nodes of a tree by path: total and count.
fn by_path(tree: &Value) -> BTreeMap<Vec<String>, [u64; 2]> {
    let mut paths: Vec<Vec<String>> = Vec::new();
    let mut found = BTreeMap::new();
    for node in tree["nodes"].as_array().expect("nodes") {
        let mut path = node["parent"].as_u64().map_or_else(Vec::new, |parent| paths[parent as usize].clone());
        if !node["parent"].is_null() {
            path.push(node["name"].as_str().expect("a name").to_owned());
        }
        let number = |key: &str| node[key].as_u64().expect("a number");
        let before = found.insert(path.clone(), [number("total"), number("count")]);
        assert_eq!(before, None, "{path:?}");
        paths.push(path);
    }
    found
}

#[test]
fn paths_that_rarely_repeat_lack_at_most_the_stated_amount_and_nothing_with_all_counted() {
    let folder = folder();
    let file = folder.path().join("made.longspan");
    longspan(&["synth", "-o", text(&file), "--spans", "300000", "--threads", "3"]).done();
    // Only stores in the cache have a ledger of paths.
    let cache = folder.path().join("cache");
    let cached = ["flame", "--cache", text(&cache), text(&file)];
    let tree = |args: &[&str]| {
        let args = [&cached[..], &["--format", "json"], args].concat();
        let output = longspan(&args);
        let stderr = output.stderr.clone();
        (serde_json::from_str::<Value>(&output.done()).expect("JSON"), stderr)
    };
    let (exact, message) = tree(&["--exact"]);
    assert!(exact["missing"] == 0 && !message.contains("[others]"), "{message}");
    let (pruned, message) = tree(&[]);
    assert!(
        message.contains("small paths are [others], with their exact sum: no path lacks more than 0.0"),
        "{message}"
    );
    let missing = pruned["missing"].as_u64().expect("a number");
    let (exact, pruned) = (by_path(&exact), by_path(&pruned));
    let whole = exact[&vec![]][0];
    assert!(0 < missing && missing < whole / 8192, "{missing} of {whole}");
    assert!(pruned.len() < exact.len() / 4, "{} of {} paths", pruned.len(), exact.len());
    let spans = |paths: &BTreeMap<_, [u64; 2]>| paths.values().map(|[_, count]| count).sum::<u64>();
    assert_eq!((pruned[&vec![]][0], spans(&pruned)), (whole, spans(&exact)));
    for (path, [total, _]) in &exact {
        let known = pruned.get(path).map_or(0, |[total, _]| *total);
        assert!(known <= *total && *total <= known + missing, "{path:?}: {known} of {total}");
    }
    assert!(pruned.keys().all(|path| path.last().is_some_and(|name| name == "[others]") || exact.contains_key(path)));
    let (_, message) = tree(&["--inverted"]);
    assert!(
        message.contains(" % of the total is in small paths, which are [others]; --exact reads all spans"),
        "{message}"
    );
    let svg = longspan(&[&cached[..], &["--format", "svg"]].concat()).done();
    assert!(svg.contains("small paths are [others]: no bar lacks more than 0."));
    let folded = longspan(&cached).done();
    assert!(folded.lines().any(|line| line.contains(";[others] ")));
    let uncached = longspan(&["flame", "--no-cache", text(&file), "--format", "json"]);
    assert!(!uncached.stderr.contains("[others]"), "{}", uncached.stderr);
    let uncached = serde_json::from_str(&uncached.done()).expect("JSON");
    assert_eq!(by_path(&uncached), exact, "one sweep counts all paths");
}

/// Parses well-formed XML, and returns its number of rectangles and the texts of its titles.
fn titles_of_xml(xml: &str) -> (usize, Vec<String>) {
    let (mut open, mut titles, mut rectangles) = (Vec::new(), Vec::new(), 0);
    let mut rest = xml;
    while let Some((before, after)) = rest.split_once('<') {
        assert!(!before.contains('>') || open.last() == Some(&"style"), "{before}");
        if open.last() == Some(&"title") {
            titles.push(before.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&"));
        }
        let (tag, behind) = after.split_once('>').expect("a tag ends");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().expect("a name");
        match (tag.starts_with('/'), tag.ends_with('/')) {
            (true, _) => assert_eq!(open.pop(), Some(name)),
            (false, true) => rectangles += usize::from(name == "rect"),
            (false, false) => open.push(name),
        }
        rest = behind;
    }
    assert!(open.is_empty(), "{open:?}");
    (rectangles, titles)
}

#[test]
fn an_svg_flame_graph_is_one_file_with_a_tooltip_per_frame() {
    let folder = folder();
    let file = spans(folder.path());
    let svg = longspan(&["flame", "--no-cache", text(&file), "--format", "svg"]).done();
    assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    assert!(!svg.contains("<script") && !svg.contains("href") && !svg.contains("url("), "nothing from outside");
    let (rectangles, titles) = titles_of_xml(&svg);
    // There is a background, and the root with three paths.
    assert_eq!((rectangles, titles.len()), (5, 4));
    assert_eq!(titles[0], "all: 140 µs, 100.00 %, self 0 ns");
    assert!(titles.contains(&"<c> & \"d\": 5 µs, 3.57 %, self 5 µs".to_owned()), "{titles:?}");
    let real = longspan(&["flame", "--no-cache", text(&data("go_cpu.pprof")), "--format", "svg", "--inverted"]).done();
    assert!(titles_of_xml(&real).1.len() > 50);
}

#[test]
fn bars_of_totals_beyond_64_bits_stay_within_their_parents() {
    let folder = folder();
    let file = folder.path().join("huge.folded");
    // The total of the parent is cut at 2^64 - 1.
    let line = |function: &str| format!("root;{function} {}\n", u64::MAX / 2);
    fs::write(&file, [line("a"), line("b"), line("c")].concat()).expect("written");
    let svg = longspan(&["flame", "--no-cache", text(&file), "--format", "svg"]).done();
    let number = |bar: &str, key: &str| -> f64 {
        let (_, after) = bar.split_once(&format!(" {key}=\"")).expect("a number");
        after.split('"').next().expect("its end").parse().expect("a number")
    };
    let bars: Vec<_> = svg.split("<g>").skip(1).map(|bar| (number(bar, "x"), number(bar, "width"))).collect();
    assert_eq!(bars.len(), 5, "{svg}");
    assert!(bars.iter().all(|(left, width)| left + width <= 1200.0 && *width > 300.0), "{bars:?}");
}

/// By event and unit: the functions with self and total weight, and self and total samples.
type Sums = BTreeMap<(String, String), BTreeMap<String, [u64; 4]>>;

fn sums(file: &Path) -> Sums {
    let mut sums = Sums::new();
    for record in records(&longspan(&["stats", "--no-cache", "--no-symbols", "--samples", text(file)]).done()) {
        let numbers: Vec<u64> = record[3..].iter().map(|cell| cell.parse().expect("a number")).collect();
        let event = sums.entry((record[0].clone(), record[1].clone())).or_default();
        event.insert(record[2].clone(), numbers.try_into().expect("four numbers"));
    }
    sums
}

#[test]
fn sums_of_three_perf_events_match_perf_report() {
    let sums = sums(&data("perf_events.data.gz"));
    // `perf report --stdio -F sample,period`, the header of each event.
    for (event, unit, samples, weight) in
        [("cpu-clock", "ns", 84, 84_084_084), ("context-switches", "count", 59, 63), ("page-faults", "count", 48, 6577)]
    {
        let functions = &sums[&(event.to_owned(), unit.to_owned())];
        let own = functions.values().fold([0; 2], |[weight, samples], sums| [weight + sums[0], samples + sums[2]]);
        assert_eq!(own, [weight, samples], "{event}");
    }
    assert_eq!(sums.len(), 3);
    // The same for one address: [k] 0xffffffff821f94c3, 96.83 % of context-switches.
    let switches = &sums[&("context-switches".to_owned(), "count".to_owned())];
    assert_eq!(switches["[kernel.kallsyms]+0xffffffff821f94c3"], [61, 61, 58, 58]);
}

#[test]
fn an_event_is_selected_by_name_and_two_are_never_added() {
    let file = data("perf_events.data.gz");
    let weight = |args: &[&str]| folded(&[&[text(&file)], args].concat()).values().sum::<u64>();
    assert_eq!(weight(&["--event", "cpu-clock"]), 84_084_084);
    assert_eq!(weight(&["--event", "page-faults (count)"]), 6577);
    assert_eq!(weight(&["--event", "page-faults", "--inverted"]), 6577);
    let chosen = longspan(&["flame", "--no-cache", text(&file)]);
    assert!(chosen.stderr.contains("these are the samples of `cpu-clock (ns)`"), "{}", chosen.stderr);
    assert_eq!(weight(&[]), 84_084_084);
    // The last type of a profile is the default.
    assert_eq!(folded(&[text(&data("go_cpu.pprof"))]).values().sum::<u64>(), 1_130_000_000);
    let unknown = longspan(&["flame", "--no-cache", text(&file), "--event", "cycles"]).failed(2);
    assert!(unknown.contains("`page-faults (count)`"), "{unknown}");
    // An event without samples in the range is not an error.
    let script = "t 1/1 5.0: 10 cycles:\n\t1000 f (/bin/x)\n\nt 1/1 9.0: 10 page-faults:\n\t2000 g (/bin/x)\n\n";
    let folder = tempfile::tempdir().expect("a folder");
    let two = folder.path().join("two.txt");
    std::fs::write(&two, script).expect("written");
    let in_range = |event: &str| {
        let args = ["flame", "--no-cache", text(&two), "--event", event, "--from", "4s", "--to", "6s"];
        let run = longspan(&args);
        (run.status, run.stdout.clone(), run.stderr.clone())
    };
    let (status, printed, message) = in_range("page-faults");
    assert_eq!((status, printed.as_str()), (Some(0), ""), "{message}");
    assert!(message.contains("no samples in this part"), "{message}");
    assert_eq!(in_range("cycles").1.lines().count(), 1);
    assert_eq!(in_range("instructions").0, Some(2));
    let dump = longspan(&["dump", "--no-cache", "--no-symbols", text(&file)]).done();
    let of_events = |event: &str| dump.lines().filter(|line| line.contains(event)).count();
    assert_eq!(of_events("page-faults"), 48);
}

#[test]
fn spans_of_a_trace_of_samples_suggests_the_command_that_lists_them() {
    let output = longspan(&["spans", "--no-cache", text(&data("perf_events.data.gz"))]);
    assert!(output.stderr.contains("this trace has 191 samples and no spans: `longspan stats`"), "{}", output.stderr);
    assert_eq!(output.done().lines().count(), 1);
}

#[test]
fn stats_of_samples_list_matching_functions_with_the_same_values_in_json_lines() {
    let file = data("go_cpu.pprof");
    let table = records(&longspan(&["stats", "--no-cache", text(&file), "--name", "^sort"]).done());
    assert!(table.len() > 10 && table.iter().all(|record| record[2].starts_with("sort")));
    // `go tool pprof -top`: 0.60s 53.10%, 0.73s 64.60%.
    let partition = ["cpu", "ns", "sort.partition", "600000000", "730000000"];
    assert!(table.iter().any(|record| record[..5] == partition), "{table:?}");
    let lines = longspan(&["stats", "--no-cache", text(&file), "--name", "^sort", "--format", "jsonl"]).done();
    let json_rows: Vec<Vec<String>> = lines
        .lines()
        .map(|line| {
            let object: Value = serde_json::from_str(line).expect("JSON");
            let columns = ["event", "unit", "function", "self", "total", "self_samples", "total_samples"];
            columns
                .map(|column| object[column].as_str().map_or_else(|| object[column].to_string(), str::to_owned))
                .into()
        })
        .collect();
    assert_eq!(json_rows, table);
}

#[test]
fn profiles_survive_a_native_export_and_perf_samples_become_a_profile() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    for (trace, exports) in [("go_cpu.pprof", 2), ("perf_events.data.gz", 1)] {
        let file = data(trace);
        let expected = sums(&file);
        let (native, profile) = (at("out.longspan"), at("out.pb.gz"));
        longspan(&["export", "--no-cache", text(&file), "-o", text(&native)]).done();
        longspan(&["export", "--no-cache", text(&native), "-o", text(&profile)]).done();
        assert!(fs::read(&profile).expect("written").starts_with(&[0x1f, 0x8b]));
        let found = sums(&profile);
        // Samples with the same stack, thread and labels are merged, so sample counts are not compared.
        let weights = |sums: &Sums| {
            let of_event = |functions: &BTreeMap<String, [u64; 4]>| {
                functions.iter().map(|(name, sums)| (name.clone(), sums[0], sums[1])).collect::<Vec<_>>()
            };
            sums.iter().map(|(event, functions)| (event.clone(), of_event(functions))).collect::<Vec<_>>()
        };
        assert_eq!(weights(&found), weights(&expected), "{trace}");
        if exports == 2 {
            let again = at("again.pprof");
            longspan(&["export", "--no-cache", text(&profile), "-o", text(&again)]).done();
            assert_eq!(fs::read(&again).expect("written"), fs::read(&profile).expect("written"));
        }
    }
    let spans = spans(folder.path());
    let message = longspan(&["export", "--no-cache", text(&spans), "-o", text(&at("none.pb.gz"))]).failed(1);
    assert!(message.contains("has no samples") && !at("none.pb.gz").exists(), "{message}");
    let part = at("part.pprof");
    longspan(&["export", "--no-cache", text(&data("perf_events.data.gz")), "-o", text(&part), "--thread", "2616"])
        .done();
    let samples: u64 = sums(&part).values().flat_map(BTreeMap::values).map(|sums| sums[2]).sum();
    assert!(samples > 0 && samples <= 24, "{samples}");
}

#[test]
fn collapsed_stacks_are_exported_as_they_were_read_in_the_unit_of_samples() {
    let path = data("pyspy_collapsed.txt");
    let written = fs::read_to_string(&path).expect("the test data");
    let mut expected: Vec<&str> = written.lines().collect();
    expected.sort_unstable();
    let printed = longspan(&["flame", "--no-cache", text(&path)]).done();
    let mut printed: Vec<&str> = printed.lines().collect();
    printed.sort_unstable();
    assert_eq!(printed, expected);
    let picture = longspan(&["flame", "--no-cache", "--format", "svg", text(&path)]).done();
    let weight = |line: &&str| line.rsplit(' ').next().expect("a weight").parse::<u64>().expect("a number");
    let whole: u64 = expected.iter().map(weight).sum();
    assert!(picture.contains(&format!("{whole} samples of stacks")), "{whole} in {}", &picture[..2000]);
    // Counts and profiles are of samples, not of lines.
    let mut counted: Vec<String> = folded_lines(&["--count", text(&path)]);
    counted.sort_unstable();
    assert_eq!(counted, expected);
    let folder = folder();
    let profile = folder.path().join("flame.pb.gz");
    fs::write(&profile, written_profile(&[text(&path)])).expect("written");
    assert_eq!(folded(&[text(&profile), "--event", "samples"]), folded(&[text(&path)]));
    let stats = longspan(&["stats", "--no-cache", "--samples=event", text(&path)]).done();
    assert!(stats.ends_with(&format!(",samples,{whole},{whole},{whole},{whole}\n")), "{stats}");
}

/// Returns a flame graph as a pprof profile.
fn written_profile(args: &[&str]) -> Vec<u8> {
    let args = [&["flame", "--no-cache", "--format", "pprof"], args].concat();
    let output = crate::harness::command(&args).output().expect("it runs");
    assert!(output.status.success());
    output.stdout
}

/// Returns the lines of a flame graph.
fn folded_lines(args: &[&str]) -> Vec<String> {
    longspan(&[&["flame", "--no-cache"], args].concat()).done().lines().map(str::to_owned).collect()
}

#[test]
fn an_svg_flame_graph_of_any_names_is_valid_xml() {
    let folder = folder();
    let file = folder.path().join("names.json");
    let names = ["a\u{1}b", "a\u{fffe}b", "a\u{ffff}b", "<a & \"b\">"];
    let events = names.map(|name| {
        let name = serde_json::to_string(name).expect("text");
        format!(r#"{{"ph":"X","name":{name},"pid":1,"tid":1,"ts":0,"dur":1000}}"#)
    });
    std::fs::write(&file, format!("[{}]", events.join(","))).expect("written");
    let picture = longspan(&["flame", "--no-cache", "--format", "svg", text(&file)]).done();
    assert!(picture.contains("a\u{fffd}b") && picture.contains("&lt;a &amp; &quot;b&quot;&gt;"), "{picture}");
    let is_allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..);
    assert!(picture.chars().all(is_allowed));
}

#[test]
fn a_flame_graph_exported_as_pprof_has_the_weights_of_its_paths() {
    let folder = folder();
    let file = folder.path().join("flame.pprof");
    let written = |args: &[&str]| {
        fs::write(&file, written_profile(args)).expect("written");
        folded(&[text(&file), "--event", args.last().expect("a word")])
    };
    let trace = data("perf_events.data.gz");
    let expected = folded(&[text(&trace), "--event", "cpu-clock"]);
    assert_eq!(written(&[text(&trace), "--event", "cpu-clock"]), expected);
    // The event `samples` of a Go profile is a count already.
    let profile = data("go_cpu.pprof");
    let args = [text(&profile), "--event", "samples"];
    let expected = folded(&args);
    assert_eq!(written(&args), expected);
    let listed = longspan(&["stats", "--no-cache", "--samples=event", text(&file)]).done();
    assert_eq!(listed.lines().count(), 2, "{listed}");
}

/// Samples of main and of main, f by cycles with a period of 1000, on two threads.
fn perfetto_samples() -> Vec<u8> {
    let text = |iid: u64, text: &[u8]| message().number(1, iid).bytes(2, text);
    let frame = |iid: u64, function: u64| message().number(1, iid).number(2, function);
    let interned = message()
        .message(5, &text(1, b"main"))
        .message(5, &text(2, b"f"))
        .message(6, &frame(1, 1))
        .message(6, &frame(2, 2))
        .message(7, &message().number(1, 1).number(2, 1))
        .message(7, &message().number(1, 2).number(2, 1).number(2, 2));
    // The event is HW_CPU_CYCLES.
    let timebase = message().number(1, 1000).number(4, 10);
    let defaults = message().message(12, &message().message(1, &timebase));
    let head = message().number(10, 1).number(13, 1).message(12, &interned).message(59, &defaults);
    let sample = |ts_ns: u64, tid: u64, stack: u64| {
        let sample = message().number(2, 5).number(3, tid).number(4, stack);
        message().number(8, ts_ns).number(10, 1).message(66, &sample)
    };
    let packets = [head, sample(1, 7, 1), sample(2, 7, 2), sample(3, 8, 2), sample(4, 7, 2), sample(5, 8, 1)];
    packets.iter().fold(message(), |trace, packet| trace.message(1, packet)).0
}

#[test]
fn perfetto_samples_exported_as_pprof_have_threads_as_labels() {
    let folder = folder();
    let (trace, profile) = (folder.path().join("samples.pftrace"), folder.path().join("samples.pb.gz"));
    fs::write(&trace, perfetto_samples()).expect("written");
    let cycles = ("cycles".to_owned(), "count".to_owned());
    let expected = [("f", [3000, 3000, 3, 3]), ("main", [2000, 5000, 2, 5])];
    let expected = expected.map(|(name, sums)| (name.to_owned(), sums)).into();
    assert_eq!(sums(&trace), [(cycles.clone(), expected)].into());
    assert_eq!(folded(&[text(&trace), "--inverted"]), paths([("f;main", 3000), ("main", 2000)]));
    longspan(&["export", "--no-cache", text(&trace), "-o", text(&profile)]).done();
    let dumped = longspan(&["dump", "--no-cache", "--no-symbols", text(&profile)]).done();
    let lines = dumped.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let samples: Vec<Value> = lines.filter(|line| line["t"] == "sample").collect();
    // Samples of one stack and thread are merged.
    assert_eq!(samples.len(), 4);
    let of_thread_7 = samples.iter().filter(|sample| sample["args"].to_string().contains(r#"["args.labels.tid",7]"#));
    assert_eq!(of_thread_7.count(), 2, "{samples:?}");
    let weights: Vec<[u64; 2]> = sums(&profile)[&cycles].values().map(|sums| [sums[0], sums[1]]).collect();
    assert_eq!(weights, [[3000, 3000], [2000, 5000]]);
}

#[test]
fn flame_views_match_a_naive_fold() {
    let folder = folder();
    let file = spans(folder.path());
    let file = text(&file);
    assert_eq!(folded(&[file, "--merge", "b;x"]), paths([("a", 135_000), ("a;<c> & \"d\"", 5_000)]));
    assert_eq!(folded(&[file, "--hide", "b;x"]), paths([("a", 85_000), ("a;<c> & \"d\"", 5_000)]));
    assert_eq!(folded(&[file, "--focus", "b;x"]), paths([("b,x", 50_000)]));
    assert_eq!(folded(&[file, "--focus", "b;x", "--inverted", "--count"]), paths([("b,x", 2)]));
    assert_eq!(folded(&[file, "--count"]), paths([("a", 2), ("a;b,x", 2), ("a;<c> & \"d\"", 1)]));
    for (option, name) in [("--focus", "b"), ("--hide", "A"), ("--merge", "no"), ("--collapse-recursion-of", "x")] {
        let output = longspan(&["flame", "--no-cache", file, option, name]);
        assert!(output.stderr.contains(&format!("{name}: no function has this name")), "{}", output.stderr);
    }
    let output = longspan(&["flame", "--no-cache", file, "--collapse-module", "m", "--hide", "a", "--hide", "b;x"]);
    assert_eq!(output.stderr.lines().count(), 1, "{}", output.stderr);
    assert!(output.stderr.contains("m: no function is in this module"), "{}", output.stderr);
    // Real addresses: each path by module has the sum of its addresses.
    let perf = data("perf_events.data.gz");
    let by_module = folded(&[text(&perf), "--by-module", "--collapse-recursion"]);
    let mut expected = BTreeMap::<String, u64>::new();
    for (path, weight) in folded(&[text(&perf)]) {
        let module = |frame: &str| match frame.rsplit_once("+0x") {
            Some((module, _)) => format!("[{}]", module.trim_start_matches('[').trim_end_matches(']')),
            None if frame.starts_with("0x") => "[unknown]".to_owned(),
            None => frame.to_owned(),
        };
        let mut frames: Vec<_> = path.split(';').map(module).collect();
        frames.dedup();
        *expected.entry(frames.join(";")).or_default() += weight;
    }
    assert_eq!(by_module, expected);
    let kernel = folded(&[text(&perf), "--by-module", "--merge-kernel"]);
    assert!(kernel.keys().all(|path| !path.contains("kernel")), "{kernel:?}");
    assert_eq!(kernel.values().sum::<u64>(), by_module.values().sum::<u64>());
}

#[test]
fn a_function_also_matches_without_its_parameters() {
    let folder = folder();
    let file = folder.path().join("stacks.txt");
    fs::write(&file, "main;f(int) 1\nmain;f(int);g(int) 2\nmain;g(char) 4\n").expect("written");
    let file = text(&file);
    assert_eq!(folded(&[file, "--focus", "f"]), paths([("f(int)", 1), ("f(int);g(int)", 2)]));
    assert_eq!(folded(&[file, "--hide", "f"]), paths([("main;g(char)", 4)]));
    let output = longspan(&["flame", "--no-cache", file, "--focus", "g"]);
    let several = "g: several functions have this name: `g(char)`, `g(int)`";
    assert!(output.stderr.contains(several), "{}", output.stderr);
    assert_eq!(output.done(), "");
}

#[test]
fn functions_of_the_kernel_in_a_perf_text_are_merged_into_their_callers() {
    let folder = folder();
    let file = folder.path().join("perf.txt");
    let perf_text = "a 8 1.000001: 5 cycles: \n\tff1 ksys_read+0x9 ([kernel.kallsyms])\n\tff2 ext4_read+0x1 ([ext4])\n\
                        \t57 read+0x9 (/usr/lib/libc.so.6)\n\t56 main+0x9 (/bin/a)\n\n";
    fs::write(&file, perf_text).expect("written");
    let file = text(&file);
    assert_eq!(folded(&[file]), paths([("main;read;ext4_read;ksys_read", 5)]));
    assert_eq!(folded(&[file, "--merge-kernel"]), paths([("main;read", 5)]));
    let collapsed = paths([("main;[libc.so.6];ext4_read;ksys_read", 5)]);
    assert_eq!(folded(&[file, "--collapse-module", "libc.so.6"]), collapsed);
}

#[test]
fn ranges_of_many_samples_match_a_naive_fold_also_after_an_export() {
    let folder = folder();
    // There are enough samples for a ledger. One of three threads has a tenth of them, and every fifth sample is of
    // another event.
    let (mut events, mut samples, mut state) = (Vec::new(), Vec::new(), 7_u64);
    for ts_us in 0..40_000_u64 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (tid, leaf, middle) =
            ([1, 1, 1, 1, 2, 2, 2, 2, 2, 3][(state >> 33) as usize % 10], state >> 40, state >> 50);
        let (event, period) = if ts_us % 5 == 0 { ("page-faults", 1) } else { ("cycles", 1 + (state >> 35) % 900) };
        let path = ["main".to_owned(), format!("m{}", middle % 5), format!("f{}", leaf % 40)];
        let args = format!(r#"{{"event":"{event}","period":{period}}}"#);
        events.push(format!(
            r#"{{"ph":"P","ts":{ts_us},"pid":1,"tid":{tid},"stack":["{}"],"args":{args}}}"#,
            path.join("\",\"")
        ));
        samples.push((ts_us, tid, path.join(";"), event, period));
    }
    let (file, exported) = (folder.path().join("samples.json"), folder.path().join("samples.longspan"));
    fs::write(&file, format!("[{}]", events.join(",\n"))).expect("written");
    longspan(&["export", "--no-cache", text(&file), "-o", text(&exported)]).done();
    let cache = folder.path().join("cache");
    let all = 0..u64::MAX;
    for (range, tid) in [(all.clone(), None), (1_000..30_500, None), (1_000..30_500, Some(3)), (all, Some(2))] {
        let mut words = vec!["--samples".to_owned(), "--event".to_owned(), "cycles".to_owned()];
        if range.start > 0 {
            words.extend(
                ["--from", &format!("+{}us", range.start), "--to", &format!("+{}us", range.end)].map(String::from),
            );
        }
        words.extend(tid.iter().flat_map(|tid| ["--thread".to_owned(), tid.to_string()]));
        let mut expected = BTreeMap::new();
        for (ts_us, of_thread, path, event, period) in &samples {
            if range.contains(ts_us) && tid.is_none_or(|tid| tid == *of_thread) && *event == "cycles" {
                *expected.entry(path.clone()).or_insert(0) += period;
            }
        }
        for file in [&file, &exported] {
            let words: Vec<&str> = [text(file)].into_iter().chain(words.iter().map(String::as_str)).collect();
            assert_eq!(folded(&words), expected, "{words:?}");
            // Only stores in the cache have a ledger.
            assert_eq!(folded_paths(&[&["--cache", text(&cache)], &words[..]].concat()), expected, "{words:?}");
        }
    }
}

#[test]
fn an_empty_flame_graph_is_explained() {
    let folder = folder();
    let [spans, stacks] = ["spans.json", "stacks.folded"].map(|name| folder.path().join(name));
    fs::write(&spans, r#"[{"ph":"X","pid":1,"tid":1,"ts":1,"dur":0,"name":"a"}]"#).expect("written");
    fs::write(&stacks, "main;foo 5\n").expect("written");
    let output = longspan(&["flame", "--no-cache", text(&spans)]);
    assert!(output.stdout.is_empty() && output.stderr.contains("--count counts them"), "{output:?}");
    let output = longspan(&["flame", "--no-cache", "--focus", "foo", "--hide", "foo", text(&stacks)]);
    assert!(output.stdout.is_empty() && output.stderr.contains("no path passes all of --focus"), "{output:?}");
}

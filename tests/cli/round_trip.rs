//! Exports read back as the same trace, in every format, also in part.

use std::fs;

use crate::harness::{data, folder, longspan, records, spans_of, text};

/// Output names, whose extensions select the formats.
const OUTPUTS: [&str; 3] = ["out.longspan", "out.json", "out.json.gz"];

#[test]
fn an_exported_trace_has_the_same_spans() {
    let folder = folder();
    let traces =
        ["ugly.json", "ugly_ends.json", "go_trace.json", "tracing_chrome_async.json.gz", "viztracer_ring.json.gz"];
    for trace in traces {
        let expected = spans_of(&data(trace));
        for output in OUTPUTS {
            let output = folder.path().join(output);
            longspan(&["export", "--no-cache", text(&data(trace)), "-o", text(&output)]).done();
            assert_same_lines(&format!("{trace} as {}", output.display()), &expected, &spans_of(&output));
            // Exports the sorted output once more.
            let again = folder.path().join("again.longspan");
            longspan(&["export", "--no-cache", text(&output), "-o", text(&again)]).done();
            assert_same_lines(&format!("{trace} twice"), &expected, &spans_of(&again));
        }
    }
}

/// The traces have sorted, nearly sorted and shuffled events.
#[test]
fn a_generated_trace_is_the_same_in_every_format() {
    let folder = folder();
    for disorder in ["0", "0.1", "1"] {
        let [native, others @ ..] = ["made.longspan", "made.json", "made.json.gz", "made.pftrace"].map(|name| {
            let output = folder.path().join(name);
            longspan(&["synth", "-o", text(&output), "--spans", "30000", "--disorder", disorder]).done();
            output
        });
        let expected = spans_of(&native);
        for other in others {
            assert_same_lines(&format!("{}, {disorder}", other.display()), &spans_of(&other), &expected);
        }
        // An output with the extension of a compression is compressed.
        let bytes = fs::read(folder.path().join("made.json.gz")).expect("written");
        assert!(bytes.starts_with(&[0x1f, 0x8b]));
        let summary = longspan(&["info", "--no-cache", "--json", text(&native)]).done();
        assert_eq!(summary.contains("\"late_events\":0,"), disorder == "0", "{summary}");
    }
}

#[test]
fn an_exported_table_of_spans_matches_the_list_with_arguments_and_an_outside_column() {
    let folder = folder();
    let output = folder.path().join("spans.csv");
    for (trace, range) in [("ugly.json", [].as_slice()), ("go_trace.json", &["--from", "+1ms", "--to", "+3ms"])] {
        let trace = data(trace);
        let args = [&["export", "--no-cache", text(&trace), "-o", text(&output)], range].concat();
        let said = longspan(&args).stderr;
        let exported = fs::read_to_string(&output).expect("there");
        assert!(exported.starts_with("ts,dur,depth,name,category,pid,tid,process,thread,track,outside,args\n"));
        let mut found = records(&exported);
        assert!(found.iter().all(|record| ["true", "false"].contains(&&*record[10])));
        assert!(found.iter().any(|record| record[11].starts_with('{')));
        assert_eq!(found.iter().any(|record| record[10] == "true"), !range.is_empty());
        let listed = records(&longspan(&[&["spans", "--no-cache", text(&trace)], range].concat()).done());
        // Spans that only flows connect are marked, counted, and not in the list of the range.
        let count = found.len();
        found.retain(|record| record[10] == "false" || listed.iter().any(|row| row[..] == record[..10]));
        let connected = count - found.len();
        assert_eq!(connected, if range.is_empty() { 0 } else { 30 });
        assert_eq!(said.contains(", 30 connected spans written"), connected > 0, "{said}");
        found.iter_mut().for_each(|record| record.truncate(10));
        assert_eq!(found, listed);
    }
}

#[test]
fn a_partial_export_has_exactly_the_overlapping_rows() {
    let folder = folder();
    let trace = data("tracing_chrome_threads.json.gz");
    let all = records(&spans_of(&trace));
    let ts = |row: &Vec<String>| row[0].parse::<i64>().expect("a time");
    let end = |row: &Vec<String>| ts(row) + row[1].parse::<i64>().expect("a duration");
    let (from, to) = (ts(&all[all.len() / 3]), ts(&all[all.len() / 2]));
    let within = |row: &&Vec<String>| ts(row) < to && (end(row) > from || ts(row) >= from);
    let (from, to) = (from.to_string(), to.to_string());
    for output in OUTPUTS {
        let output = folder.path().join(output);
        let args = ["export", "--no-cache", text(&trace), "-o", text(&output), "--from", &from, "--to", &to];
        longspan(&args).done();
        let expected: Vec<_> = all.iter().filter(within).cloned().collect();
        assert_eq!(sorted(records(&spans_of(&output))), sorted(expected), "{}", output.display());

        longspan(&["export", "--no-cache", text(&trace), "-o", text(&output), "--track", "^w\"2$"]).done();
        let expected: Vec<_> = all.iter().filter(|row| row[8] == "w\"2").cloned().collect();
        assert!(!expected.is_empty() && expected.len() < all.len());
        assert_eq!(sorted(records(&spans_of(&output))), sorted(expected), "{}", output.display());
    }
}

#[test]
fn the_input_trace_is_never_overwritten() {
    let folder = folder();
    let trace = folder.path().join("trace.json");
    let content = fs::read(data("ugly.json")).expect("test data");
    fs::write(&trace, &content).expect("written");
    longspan(&["export", "--no-cache", text(&trace), "-o", text(&trace)]).failed(1);
    let nowhere = folder.path().join("no/such/folder.json");
    longspan(&["export", "--no-cache", text(&trace), "-o", text(&nowhere)]).failed(1);
    assert_eq!(fs::read(&trace).expect("there"), content);
    assert_eq!(folder.path().read_dir().expect("readable").count(), 1, "nothing is left behind");
}

/// Compares lines, except the order at one time and depth: lanes are numbered in order of appearance.
#[track_caller]
fn assert_same_lines(what: &str, expected: &str, found: &str) {
    let (expected, found) = (sorted(records(expected)), sorted(records(found)));
    let different = expected.iter().zip(&found).find(|(expected, found)| expected != found);
    assert!(different.is_none(), "{what}: {different:?}");
    assert_eq!(expected.len(), found.len(), "{what}");
}

fn sorted(mut rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    rows.sort();
    rows
}

/// Such an export is, for example, a selection without matches.
#[test]
fn an_export_of_an_empty_trace_can_be_opened() {
    let folder = folder();
    let empty = folder.path().join("empty.json");
    fs::write(&empty, "[]").expect("written");
    for output in ["out.longspan", "out.json", "out.pftrace"].map(|name| folder.path().join(name)) {
        longspan(&["export", "--no-cache", text(&empty), "-o", text(&output)]).done();
        let read = longspan(&["info", "--no-cache", text(&output)]);
        assert!(read.stderr.contains("no_events"), "{}: {}", output.display(), read.stderr);
        assert!(read.done().contains("\nspans        0\n"));
    }
}

/// Memory of a program from Xdebug, in bytes, and a CPU clock, in kHz.
const COUNTERS: [(&str, &str, &str); 2] = [
    (
        "memory.xt",
        "Version: 3.1.0\nFile format: 4\nTRACE START [2026-01-01 00:00:00.000000]\n\
         1\t0\t0\t0.000100\t1000\tmain\t1\t\t/a.php\t1\t0\n1\t0\t1\t0.000900\t3000\n\t\t\t0.001000\t500\n\
         TRACE END   [2026-01-01 00:00:00.001000]\n",
        "memory",
    ),
    (
        "clock.txt",
        "# tracer: nop\n#\n\
         \x20         <idle>-0     [001] d..2     1.000500: cpu_frequency: state=1800000 cpu_id=1\n\
         \x20         <idle>-0     [001] d..2     2.000500: cpu_frequency: state=1200000 cpu_id=1\n",
        "CPU 1 frequency",
    ),
];

#[test]
fn the_unit_of_a_counter_survives_every_format() {
    let folder = folder();
    for ((name, text_of_trace, counter), unit) in COUNTERS.into_iter().zip(["bytes", "kHz"]) {
        let mut from = folder.path().join(name);
        fs::write(&from, text_of_trace).expect("written");
        let of = |file: &std::path::Path| {
            let table = longspan(&["stats", "--no-cache", "--counters", text(file)]).done();
            assert!(table.lines().next().is_some_and(|header| header.ends_with(",unit")), "{table}");
            records(&table).iter().map(|row| (row[0].clone(), row[11].clone())).collect::<Vec<_>>()
        };
        let expected = vec![(counter.to_owned(), unit.to_owned())];
        assert_eq!(of(&from), expected, "{name}");
        // Each is exported from the previous one.
        for output in ["a.longspan", "b.pftrace", "c.longspan"] {
            let output = folder.path().join(output);
            longspan(&["export", "--no-cache", text(&from), "-o", text(&output)]).done();
            assert_eq!(of(&output), expected, "{}", output.display());
            let dump = longspan(&["dump", "--no-cache", text(&output)]).done();
            // Perfetto's tables have no unit of CPU clocks, like `dump`.
            let dumped = if counter == "memory" { format!("\"unit\":\"{unit}\"") } else { "\"unit\":null".to_owned() };
            assert!(dump.contains(&dumped), "{dump}");
            from = output;
        }
        // Other readers have it in brackets in the name.
        let output = folder.path().join("d.json");
        longspan(&["export", "--no-cache", text(&from), "-o", text(&output)]).done();
        assert_eq!(of(&output), expected, "{}", output.display());
        let json = fs::read_to_string(&output).expect("JSON");
        assert!(json.contains(&format!("({unit})\"")), "{json}");
    }
}

/// The weights of a profile without times are neither durations nor times after its export.
#[test]
fn a_profile_without_times_has_no_times_after_any_export() {
    let folder = folder();
    let collapsed = folder.path().join("stacks.folded");
    fs::write(&collapsed, "main;work;parse 5\nmain;work;draw 3\nmain;idle 2\n").expect("written");
    for profile in [collapsed, data("go_cpu.pprof"), data("pyspy_collapsed.txt"), data("pyspy.speedscope.json")] {
        let read = |file: &std::path::Path| {
            let [stats, flame] = [&["stats"][..], &["flame", "--samples"]].map(|command| {
                let printed = longspan(&[command, &["--no-cache", text(file)]].concat()).done();
                let mut lines: Vec<String> = printed.lines().map(str::to_owned).collect();
                lines.sort();
                lines
            });
            let info = longspan(&["info", "--no-cache", text(file)]).done();
            let time = info.lines().find(|line| line.starts_with("time ")).expect("a line").to_owned();
            (stats, flame, time)
        };
        let expected = read(&profile);
        let mut from = profile.clone();
        // Each is exported from the previous one.
        for output in ["a.json", "b.pftrace", "c.json.gz", "d.longspan"] {
            let output = folder.path().join(output);
            longspan(&["export", "--no-cache", text(&from), "-o", text(&output)]).done();
            assert_eq!(read(&output), expected, "{} as {}", profile.display(), output.display());
            from = output;
        }
    }
}

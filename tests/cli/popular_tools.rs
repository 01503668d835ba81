//! Small files of popular tools: each is either refused with its name and advice, or read. Intact files give no
//! warning.

use serde_json::Value;

use crate::harness::{data, longspan, text};

/// The expected result for a file.
enum Expected {
    /// Status 1, and these words in the message.
    Refused(&'static [&'static str]),
    /// Status 0, empty stderr, and these counts of `info --json`.
    Read(&'static [(&'static str, u64)]),
    /// Like `Read`, for a truncated file. Stderr reports only the truncation.
    Cut(&'static [(&'static str, u64)]),
    /// Like `Read`, for an archive with attachments, which are information only.
    Attached(&'static [(&'static str, u64)]),
}
use Expected::{Attached, Cut, Read, Refused};

/// The files in `tests/data/people`.
const FILES: &[(&str, Expected)] = &[
    ("a.etl.gz", Refused(&["Event Tracing for Windows", "samply import"])),
    ("a.utrace.gz", Refused(&["Unreal Insights"])),
    ("a.har", Read(&[("spans", 1)])),
    ("jaeger.json", Read(&[("spans", 2)])),
    ("next-trace", Read(&[("spans", 14)])),
    ("pw.har", Read(&[("spans", 9)])),
    ("zipkin.json", Read(&[("spans", 2), ("processes", 2)])),
    ("austin.txt.gz", Read(&[("samples", 36)])),
    ("callgrind.out.gz", Read(&[("spans", 0)])),
    ("node-heap-prof.heapprofile.gz", Read(&[("spans", 0)])),
    // This one has pages and sources.
    ("pw-trace.zip", Attached(&[("spans", 16), ("instants", 12), ("processes", 3)])),
    // This one is truncated in its last line.
    ("xdebug-trace.xt.gz", Cut(&[("spans", 736)])),
    ("atrace.txt", Read(&[("spans", 1)])),
    ("atrace.z", Read(&[("spans", 1)])),
    ("g.txt", Read(&[("spans", 1)])),
    ("sj_small.json", Read(&[("spans", 4)])),
    ("sj_arg.json", Read(&[("spans", 4)])),
    // These are written by hand in the style of dotnet-trace, ONNX Runtime and PyTorch.
    ("dotnet.chromium.json", Read(&[("spans", 3), ("processes", 1)])),
    ("dotnet.speedscope.json", Read(&[("spans", 3)])),
    ("onnx.json", Read(&[("spans", 2)])),
    ("fl.json", Read(&[("spans", 2), ("instants", 1), ("flows", 2)])),
    ("kineto.json", Read(&[("spans", 3), ("instants", 3)])),
    ("any.html", Refused(&["an HTML page without a trace"])),
    ("bugreport.txt", Refused(&["bug report of Android", "systrace.pftrace"])),
    ("java-gc.log", Refused(&["Java's virtual machine", "async-profiler"])),
    ("nsys.sqlite.gz", Refused(&["Nsight Systems", "nsys2json"])),
    ("p.mm_profdata.gz", Refused(&["rustc", "crox"])),
    ("rocpd.db.gz", Refused(&["ROCm", "rocpd2pftrace"])),
    ("scalene.json.gz", Refused(&["scalene"])),
    ("tsc-trace.json", Read(&[("spans", 12)])),
    ("devtools-user-timing.json.gz", Read(&[("spans", 40), ("instants", 124)])),
    ("xplane.pb", Refused(&["XLA", "trace.json.gz"])),
    ("xray.log.gz", Refused(&["XRay", "llvm-xray convert"])),
];

#[test]
fn files_of_popular_tools_are_read_without_a_warning_or_refused_by_name() {
    for (file, expected) in FILES {
        let output = longspan(&["info", "--no-cache", "--json", text(&data(&format!("people/{file}")))]);
        match expected {
            Refused(args) => {
                let message = output.failed(1);
                assert!(args.iter().all(|word| message.contains(word)), "{file}: {message}");
            }
            Attached(counts) => {
                assert_eq!(output.stderr, "", "{file}");
                let info: Value = serde_json::from_str(&output.done()).expect("JSON");
                for (key, count) in *counts {
                    assert_eq!(info[key], Value::from(*count), "{file}: {key} in {info}");
                }
            }
            Read(counts) | Cut(counts) => {
                let is_cut = matches!(expected, Cut(_));
                assert_eq!(
                    output.stderr.lines().filter(|line| line.contains("truncated")).count(),
                    usize::from(is_cut)
                );
                assert_eq!(output.stderr.lines().count(), usize::from(is_cut), "{file}: {}", output.stderr);
                let info: Value = serde_json::from_str(&output.done()).expect("JSON");
                for (key, count) in *counts {
                    assert_eq!(info[key], Value::from(*count), "{file}: {key} in {info}");
                }
                assert_eq!(info["losses"].as_array().map(Vec::len), Some(usize::from(is_cut)), "{file}");
            }
        }
    }
}

#[test]
fn a_flow_at_the_time_of_an_instant_binds_to_the_instant_not_to_its_parent() {
    let dump = longspan(&["dump", "--no-cache", text(&data("people/fl.json"))]).done();
    let lines: Vec<Value> = dump.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let id = |name: &str| lines.iter().find(|line| line["name"] == name).map(|line| line["id"].clone());
    let flows: Vec<_> = lines.iter().filter(|line| line["t"] == "flow").collect();
    assert_eq!(flows.len(), 1);
    assert_eq!((Some(flows[0]["out"].clone()), Some(flows[0]["in"].clone())), (id("post"), id("run")), "{dump}");
}

#[test]
fn every_file_of_the_folder_has_a_row_in_the_table() {
    let files = data("people").read_dir().expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let mut files: Vec<_> = files.map(|name| name.to_string_lossy().into_owned()).collect();
    files.sort_unstable();
    let mut rows: Vec<_> = FILES.iter().map(|(file, _)| (*file).to_owned()).collect();
    rows.sort_unstable();
    assert_eq!(files, rows);
}

//! Profiles of one JSON document each, many times larger than the memory budget. The load parses them in place, within
//! its budget.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::harness::{folder, longspan};
use crate::limits::Peaks;

/// The memory budget of a load.
const MEMORY: &str = "16MiB";

/// The limit for the budget, and the minimum of each thread and buffer: 12 to 15 MiB, but 30 for OTLP. A busy machine
/// takes some more, as threads hold buffers while they wait. A whole trace would be 64.
const ANONYMOUS_KIB_MAX: u64 = 44 << 10;

/// Minimum bytes of each trace: four times the memory budget.
const TRACE_BYTES_MIN: u64 = 64 << 20;

/// A profile with repeated elements: the text before, the elements with commas between them, and the text after.
struct Shape {
    name: &'static str,
    /// Consecutive arrays: the text before each, and its repeated element.
    arrays: &'static [(&'static str, &'static str)],
    after: &'static str,
    /// Whether its events are samples instead of spans.
    is_sampled: bool,
    /// Number of events per element.
    events: u64,
}

const SHAPES: [Shape; 6] = [
    Shape {
        name: "evented.speedscope.json",
        arrays: &[(
            r#"{"$schema":"https://www.speedscope.app/file-format-schema.json","profiles":[
            {"type":"evented","name":"p","unit":"nanoseconds","startValue":0,"endValue":9,"events":["#,
            r#"{"type":"O","frame":0,"at":~},{"type":"C","frame":0,"at":~}"#,
        )],
        after: r#"]}],"shared":{"frames":[{"name":"a"}]}}"#,
        is_sampled: false,
        events: 1,
    },
    Shape {
        name: "sampled.speedscope.json",
        arrays: &[
            (
                r#"{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a"},{"name":"b"}]},
                "profiles":[{"type":"sampled","name":"p","unit":"nanoseconds","startValue":0,"endValue":9,"samples":["#,
                "[0      ,1      ],[]            ",
            ),
            (r#"],"weights":["#, "10000,10000"),
        ],
        after: "]}]}",
        is_sampled: true,
        events: 2,
    },
    Shape {
        name: "v8.cpuprofile",
        arrays: &[
            (
                r#"{"nodes":[{"id":1,"callFrame":{"functionName":"a"}}],"startTime":7,"endTime":8,"samples":["#,
                "                   1",
            ),
            (r#"],"timeDeltas":["#, "                  12"),
        ],
        after: "]}",
        is_sampled: true,
        events: 1,
    },
    Shape {
        name: "processed.json",
        arrays: &[
            (
                r#"{"meta":{"interval":1,"startTime":0,"preprocessedProfileVersion":49,"categories":[]},"libs":[],
                "threads":[{"name":"t","pid":1,"tid":1,"samples":{"length":9,"stack":["#,
                "                   0",
            ),
            (r#"],"timeDeltas":["#, "          0.00012345"),
        ],
        after: r#"]},"stackTable":{"prefix":[null],"frame":[0]},"frameTable":{"func":[0]},"funcTable":{"name":[0]},
            "stringArray":["a"]}]}"#,
        is_sampled: true,
        events: 1,
    },
    Shape {
        name: "gecko.json",
        arrays: &[(
            r#"{"meta":{"interval":1,"startTime":0,"stackwalk":1},"libs":[],
            "threads":[{"name":"t","pid":1,"tid":1,"samples":{"schema":{"stack":0,"time":1,"x":2},"data":["#,
            r#"[0,~,"                           "]"#,
        )],
        after: r#"]},"stackTable":{"schema":{"prefix":0,"frame":1},"data":[[null,0]]},
            "frameTable":{"schema":{"location":0},"data":[[0]]},"stringTable":["a"]}]}"#,
        is_sampled: true,
        events: 1,
    },
    Shape {
        name: "otlp.json",
        arrays: &[(
            r#"{"resourceSpans":[{"resource":{"attributes":[]},"scopeSpans":[{"spans":["#,
            r#"{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","name":"s","startTimeUnixNano":"~","endTimeUnixNano":"~"}"#,
        )],
        after: "]}]}]}",
        is_sampled: false,
        events: 1,
    },
];

/// Writes the trace. Returns its path and its number of events. A `~` in an element is an increasing time.
fn write(folder: &Path, shape: &Shape) -> (PathBuf, u64) {
    let path = folder.join(shape.name);
    let mut out = BufWriter::new(File::create(&path).expect("created"));
    let bytes: usize = shape.arrays.iter().map(|(_, element)| element.len() + 1).sum();
    let count = TRACE_BYTES_MIN.div_ceil(bytes as u64);
    let mut time = 0;
    for (before, element) in shape.arrays {
        out.write_all(before.as_bytes()).expect("written");
        for number in 0..count {
            let comma = if number > 0 { "," } else { "" };
            let mut pieces = element.split('~');
            write!(out, "{comma}{}", pieces.next().expect("a piece")).expect("written");
            for piece in pieces {
                time += 50;
                write!(out, "{time}{piece}").expect("written");
            }
        }
    }
    out.write_all(shape.after.as_bytes()).expect("written");
    out.flush().expect("written");
    (path, count * shape.events)
}

#[test]
fn profiles_larger_than_the_memory_budget_load_within_it() {
    for shape in &SHAPES {
        let folder = folder();
        let (trace, events) = write(folder.path(), shape);
        // Stores in a cache get ledgers, which take memory as well.
        let cache = folder.path().join("cache");
        let [cache, trace] = [&cache, &trace].map(|path| path.to_str().expect("text"));
        let (peaks, info) = Peaks::of(longspan(&["info", "--json", "--cache", cache, "--memory", MEMORY, trace]));
        let found = &info[if shape.is_sampled { "samples" } else { "spans" }];
        assert_eq!(*found, events, "{}: {info}", shape.name);
        assert_eq!(info["losses"], serde_json::json!([]), "{}", shape.name);
        assert!(peaks.anonymous_kib < ANONYMOUS_KIB_MAX, "{}: {peaks:?}", shape.name);
    }
}

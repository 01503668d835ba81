//! Tests that any samples read the same from each format with samples. The writers here are naive, and independent of
//! the readers.

use std::fmt::Write as _;

use proptest::prelude::*;

use crate::formats::testing::{Reading, read_bytes, read_cut};
use crate::model::EventKind;

/// A sample, independent of a format.
#[derive(Debug, Clone)]
struct MeantSample {
    us: u32,
    thread: u8,
    stack: Vec<String>,
}

type Writer = fn(&[MeantSample]) -> Vec<u8>;

const ALL: [(&str, Writer); 5] = [
    ("perf script", perf_script),
    ("perf JSON", perf_json),
    ("Firefox profile", processed),
    ("Firefox profile", gecko),
    ("V8 CPU profile", cpuprofile),
];

fn joined<T>(values: impl IntoIterator<Item = T>, text: impl FnMut(T) -> String) -> String {
    values.into_iter().map(text).collect::<Vec<_>>().join(",")
}

fn millis(us: u32) -> String {
    format!("{}.{:03}", us / 1000, us % 1000)
}

/// Writes a line for each sample, then one for each frame, innermost first.
fn perf_script(samples: &[MeantSample]) -> Vec<u8> {
    let mut text = String::new();
    for MeantSample { us, thread, stack } in samples {
        let (seconds, micros) = (us / 1_000_000, us % 1_000_000);
        writeln!(text, "prog 7/{} [00{thread}] {seconds}.{micros:06}: 250000 cpu-clock:u: ", 100 + u32::from(*thread))
            .expect("into memory");
        for (number, name) in stack.iter().enumerate().rev() {
            writeln!(text, "\t    7f00{number:08x} {name}+0x1{number} (/usr/lib/libx.so)").expect("into memory");
        }
        text.push('\n');
    }
    text.into_bytes()
}

/// Writes an object for each sample, with its frames innermost first.
fn perf_json(samples: &[MeantSample]) -> Vec<u8> {
    let samples = joined(samples, |MeantSample { us, thread, stack }| {
        let frames =
            joined(stack.iter().rev(), |name| format!(r#"{{"ip": "0x1", "symbol": "{name}", "dso": "x.so"}}"#));
        let tid = 100 + u32::from(*thread);
        format!(r#"{{"timestamp": {us}000, "pid": 7, "tid": {tid}, "comm": "prog", "callchain": [{frames}]}}"#)
    });
    format!(r#"{{"linux-perf-json-version": 1, "headers": {{"arch": "x86_64"}}, "samples": [{samples}]}}"#).into_bytes()
}

/// A frame: row of its caller, and name.
type SampleRow = (Option<usize>, String);

/// Returns tables in which stacks share nothing: each frame of each sample is a separate row, whose caller is the
/// previous row. Also returns the innermost row of each sample.
fn rows(samples: &[&MeantSample]) -> (Vec<SampleRow>, Vec<Option<usize>>) {
    let (mut rows, mut innermost) = (Vec::new(), Vec::new());
    for sample in samples {
        let mut caller = None;
        for name in &sample.stack {
            rows.push((caller, name.clone()));
            caller = Some(rows.len() - 1);
        }
        innermost.push(caller);
    }
    (rows, innermost)
}

fn or_null(row: Option<usize>) -> String {
    row.map_or("null".to_owned(), |row| row.to_string())
}

/// Writes the threads of a profile, each by `tables` from its samples.
fn threads(samples: &[MeantSample], tables: fn(&[&MeantSample]) -> String) -> String {
    joined(0..4u8, |thread| {
        let own: Vec<&MeantSample> = samples.iter().filter(|sample| sample.thread == thread).collect();
        format!(r#"{{"name":"t","pid":7,"tid":{},{}}}"#, 100 + u32::from(thread), tables(&own))
    })
}

fn processed(samples: &[MeantSample]) -> Vec<u8> {
    let threads = threads(samples, |own| {
        let (rows, innermost) = rows(own);
        let numbers = joined(0..rows.len(), |row| row.to_string());
        let (stacks, times) = (joined(innermost, or_null), joined(own, |sample| millis(sample.us)));
        let (callers, names) = (joined(&rows, |row| or_null(row.0)), joined(&rows, |row| format!("{:?}", row.1)));
        format!(
            r#""samples":{{"stack":[{stacks}],"time":[{times}]}},"stackTable":{{"prefix":[{callers}],"frame":[{numbers}]}},
            "frameTable":{{"func":[{numbers}]}},"funcTable":{{"name":[{numbers}]}},"stringArray":[{names}]"#
        )
    });
    format!(
        r#"{{"meta":{{"interval":1,"startTime":0,"preprocessedProfileVersion":49}},"libs":[],"threads":[{threads}]}}"#
    )
    .into_bytes()
}

fn gecko(samples: &[MeantSample]) -> Vec<u8> {
    let threads = threads(samples, |own| {
        let (rows, innermost) = rows(own);
        let seen =
            joined(own.iter().zip(innermost), |(sample, row)| format!("[{},{}]", or_null(row), millis(sample.us)));
        let frames = joined(0..rows.len(), |row| format!("[{row}]"));
        let stacks = joined(rows.iter().enumerate(), |(row, (caller, _))| format!("[{},{row}]", or_null(*caller)));
        let names = joined(&rows, |row| format!("{:?}", row.1));
        format!(
            r#""samples":{{"schema":{{"stack":0,"time":1}},"data":[{seen}]}},
            "stackTable":{{"schema":{{"prefix":0,"frame":1}},"data":[{stacks}]}},
            "frameTable":{{"schema":{{"location":0}},"data":[{frames}]}},"stringTable":[{names}]"#
        )
    });
    format!(r#"{{"meta":{{"interval":1,"startTime":0,"stackwalk":1}},"libs":[],"threads":[{threads}]}}"#).into_bytes()
}

/// Writes one thread with all samples. Node 1 is the root, which stacks omit.
fn cpuprofile(samples: &[MeantSample]) -> Vec<u8> {
    let (rows, innermost) = rows(&samples.iter().collect::<Vec<_>>());
    let nodes = joined(rows.iter().enumerate(), |(row, (caller, name))| {
        let parent = caller.map_or(1, |caller| caller + 2);
        format!(r#",{{"id":{},"callFrame":{{"functionName":"{name}","url":""}},"parent":{parent}}}"#, row + 2)
    });
    let nodes = nodes.replace(",,", ",");
    let seen = joined(innermost, |row| row.map_or(1, |row| row + 2).to_string());
    let mut before = 0;
    let deltas = joined(samples, |sample| {
        let delta = i64::from(sample.us) - before;
        before = i64::from(sample.us);
        delta.to_string()
    });
    format!(
        r#"{{"nodes":[{{"id":1,"callFrame":{{"functionName":"(root)","url":""}}}}{nodes}],"startTime":0,"endTime":9,
        "samples":[{seen}],"timeDeltas":[{deltas}]}}"#
    )
    .into_bytes()
}

fn stacks_of(reading: &Reading) -> Vec<(i64, Vec<String>)> {
    let samples = reading.events.iter().filter(|event| event.kind == EventKind::Sample);
    let mut stacks: Vec<_> = samples.map(|event| (event.ts_ns, event.stack.clone())).collect();
    stacks.sort();
    stacks
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_samples_read_as_they_are_meant_however_the_bytes_are_cut(
        samples in prop::collection::vec((0..2_000_000_000u32, 0..4u8, prop::collection::vec("[a-z][a-z_0-9]{0,7}", 0..6)), 1..20),
        block_bytes in 1usize..200,
    ) {
        let samples: Vec<MeantSample> = samples.into_iter().map(|(us, thread, stack)| MeantSample { us, thread, stack }).collect();
        let mut expected: Vec<_> = samples.iter().map(|sample| (i64::from(sample.us) * 1000, sample.stack.clone())).collect();
        expected.sort();
        for (format, write) in ALL {
            let bytes = write(&samples);
            prop_assert_eq!(crate::formats::testing::format_of(&bytes), Some(format));
            let whole = read_bytes(&bytes).expect(format);
            prop_assert_eq!(stacks_of(&whole), expected.clone(), "{}", format);
            prop_assert_eq!(whole.losses.total(), 0, "{}: {:?}", format, whole.lost());
            prop_assert_eq!(read_cut(&bytes, block_bytes, 2).expect(format), whole, "{}", format);
        }
    }
}

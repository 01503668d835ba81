//! Names of JIT-compiled code at the time of each sample.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{folder, longspan, text};
use crate::recording::{MAPPED_AT, RecordedMap, written, written_by_clock};

const MONOTONIC: u32 = 1;

/// Code that a program dumped: the function `number`, at an address from a time on.
#[derive(Debug, Clone)]
struct Placed {
    ts_ns: u64,
    code: Range<u64>,
    number: u64,
    /// Whether the function was loaded before.
    is_moved: bool,
}

fn name(number: u64) -> String {
    format!("function {number}")
}

/// Writes the dump of process 7.
fn write_dump(path: &Path, placed: &[Placed]) {
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let mut dump = b"DTiJ".to_vec();
    dump.extend([1u32, 40, 62, 0, 7].iter().flat_map(|number| number.to_le_bytes()));
    dump.extend(words(&[0, 0]));
    for Placed { ts_ns, code, number, is_moved } in placed {
        let len = code.end - code.start;
        let mut body = words(&[7 << 32 | 7, code.start]);
        if *is_moved {
            body.extend(words(&[0, code.start, len, *number]));
        } else {
            body.extend(words(&[code.start, len, *number]));
            body.extend(name(*number).as_bytes());
            body.push(0);
            body.resize(body.len() + len as usize, 0x90);
        }
        dump.extend([u32::from(*is_moved), 16 + body.len() as u32].iter().flat_map(|number| number.to_le_bytes()));
        dump.extend(words(&[*ts_ns]));
        dump.extend(body);
    }
    fs::write(path, dump).expect("written");
}

/// Returns the functions of each sample, innermost first, as a dump of the trace lists them.
fn functions(args: &[&str]) -> Vec<Vec<String>> {
    let text = longspan(&[&["dump"], args].concat()).done();
    let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let stack = |row: Value| serde_json::from_value(row["stack"].clone()).expect("names");
    rows.filter(|row| row["t"] == "sample").map(stack).collect()
}

/// A generator of numbers below a limit, the same in each run.
fn numbers() -> impl FnMut(u64) -> u64 {
    let mut state = 1u64;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

/// Code and samples of one process in a small memory, so that code is often replaced.
fn placed_and_stacks() -> (Vec<Placed>, Vec<Vec<u64>>) {
    const SAMPLES: u64 = 400;
    let mut number = numbers();
    let mut placed: Vec<Placed> = Vec::new();
    for index in 0..150 {
        let start = MAPPED_AT + 0x10 * number(64);
        let ts_ns = 1000 * number(SAMPLES) + 500;
        let moved = placed.get(number(index + 1) as usize).filter(|_| index % 4 == 3).cloned();
        let len = moved.as_ref().map_or_else(|| 0x10 * (1 + number(8)), |it| it.code.end - it.code.start);
        let code = start..start + len;
        placed.push(match moved {
            // A function is loaded before it is moved.
            Some(it) => Placed { ts_ns: it.ts_ns + 1000 * number(40), code, number: it.number, is_moved: true },
            None => Placed { ts_ns, code, number: index, is_moved: false },
        });
    }
    let mut address = || MAPPED_AT + 0x10 * number(72) + 8;
    let stacks = (0..SAMPLES).map(|_| vec![address(), address()]).collect();
    (placed, stacks)
}

/// Returns the function at an address and a time: the last one that was placed there. Before the first one, and where
/// no function ever was, there is none.
fn function_at(placed: &[Placed], address: u64, ts_ns: u64) -> Option<u64> {
    let at_time = placed.iter().filter(|it| it.ts_ns <= ts_ns && it.code.contains(&address));
    at_time.max_by_key(|it| it.ts_ns).map(|it| it.number)
}

fn recorded(folder: &Path, stacks: &[Vec<u64>]) -> PathBuf {
    let dump = folder.join("jit-7.dump");
    let maps = [
        RecordedMap { start: MAPPED_AT, path: "//anon", build_id: "" },
        RecordedMap { start: 0x7000_0000, path: text(&dump), build_id: "" },
    ];
    let stacks: Vec<&[u64]> = stacks.iter().map(Vec::as_slice).collect();
    written_by_clock(folder, &maps, &stacks, Some(MONOTONIC))
}

#[test]
fn an_address_of_jit_code_has_the_function_of_the_time_of_each_sample() {
    let folder = folder();
    let (placed, stacks) = placed_and_stacks();
    write_dump(&folder.path().join("jit-7.dump"), &placed);
    let file = recorded(folder.path(), &stacks);
    let samples = functions(&["--no-cache", text(&file)]);
    assert_eq!(samples.len(), stacks.len());
    let (mut named, mut ambiguous) = (0, 0);
    for ((ts_ns, stack), sample) in (1..).map(|number: u64| number * 1000).zip(&stacks).zip(&samples) {
        for (&address, function) in stack.iter().zip(sample) {
            let Some(number) = function_at(&placed, address, ts_ns) else { continue };
            assert_eq!(*function, name(number), "{address:#x} at {ts_ns}");
            named += 1;
            ambiguous += u32::from(function_at(&placed, address, u64::MAX) != Some(number));
        }
    }
    assert!(named > 500 && ambiguous > 150, "{named} {ambiguous}");
}

#[test]
fn a_dump_that_is_found_or_changes_later_sorts_a_cached_trace_again() {
    let folder = folder();
    let placed = |number, ts_ns| Placed { ts_ns, code: MAPPED_AT..MAPPED_AT + 0x20, number, is_moved: false };
    let file = recorded(folder.path(), &[vec![MAPPED_AT + 8], vec![MAPPED_AT + 8], vec![MAPPED_AT + 8]]);
    let cache = folder.path().join("cache");
    let functions = || functions(&[text(&file), "--cache", text(&cache)]).concat();
    assert_eq!(functions(), [(); 3].map(|()| format!("perf-7.map+{:#x}", MAPPED_AT + 8)));
    let dump = folder.path().join("jit-7.dump");
    write_dump(&dump, &[placed(1, 500), placed(2, 2500)]);
    assert_eq!(functions(), [1, 1, 2].map(name));
    write_dump(&dump, &[placed(1, 500), placed(2, 1500), placed(3, 2500)]);
    assert_eq!(functions(), [1, 2, 3].map(name));
    // perf's own clock has other times than the dump, so the last function stays.
    let maps = [RecordedMap { start: MAPPED_AT, path: "//anon", build_id: "" }];
    let file = written(folder.path(), &maps, &[&[MAPPED_AT + 8]]);
    assert_eq!(self::functions(&["--no-cache", text(&file)]).concat(), [name(3)]);
    let symbols = longspan(&["symbols", "--no-cache", text(&file)]);
    assert!(symbols.stderr.contains("1 of 1 addresses had several functions"), "{}", symbols.stderr);
}

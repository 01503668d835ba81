//! Raw stacks (`perf record --call-graph dwarf`), compared with GCC's unwinder and with the output of `perf script`.

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;

use serde_json::Value;

use crate::harness::{data, folder, longspan, text};
use crate::recording::raw_stack::{RawRecording, RecordedCode, recorded, written};

/// Returns the stacks of the samples of a recording, innermost frame first.
fn stacks(args: &[&str]) -> Vec<Vec<String>> {
    let dumped = longspan(&[&["dump"], args].concat()).done();
    let rows = dumped.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let samples = rows.filter(|row| row["t"] == "sample");
    let names = |row: Value| {
        let frames = row["stack"].as_array().expect("a stack").clone();
        frames.iter().map(|frame| frame.as_str().expect("a name").to_owned()).collect()
    };
    samples.map(names).collect()
}

#[test]
fn callers_match_the_unwinder_of_gcc() {
    for options in [&["-O2"][..], &["-O0"], &["-O2", "-no-pie", "-fomit-frame-pointer"], &["-O1", "-static"]] {
        let folder = folder();
        let (_, recording) = recorded(folder.path(), options);
        let file = written(folder.path(), &[&recording]);
        let found = stacks(&["--no-cache", "--no-symbols", text(&file)]);
        assert_eq!(found, [recording.frames()], "{options:?}");
        assert!(found[0].len() > 16, "{options:?}: {found:?}");
        let named = stacks(&["--no-cache", text(&file)]);
        assert_eq!(named[0].iter().filter(|name| *name == "down").count(), 10, "{named:?}");
        assert!(named[0].contains(&"main".to_owned()) && named[0].contains(&"on_signal".to_owned()), "{named:?}");
        let losses = longspan(&["info", "--no-cache", text(&file)]).stderr;
        assert!(!losses.contains("raw_stack"), "{losses}");
    }
}

#[test]
fn a_truncated_stack_is_marked_at_its_end() {
    let folder = folder();
    let (_, whole) = recorded(folder.path(), &["-O2"]);
    let frames = whole.frames();
    let mut before = 0;
    for bytes in (0..=whole.stack.len()).step_by(64).chain([whole.stack.len()]) {
        let cut = RawRecording { stack: whole.stack[..bytes].to_vec(), ..whole.clone() };
        let file = written(folder.path(), &[&cut]);
        let found = stacks(&["--no-cache", "--no-symbols", text(&file)]).remove(0);
        let (marks, found): (Vec<String>, Vec<String>) = found.into_iter().partition(|name| name.starts_with('['));
        assert!(frames.starts_with(&found) && found.len() >= before, "{bytes}: {found:?}");
        let is_whole = found.len() == frames.len();
        assert_eq!(marks, if is_whole { vec![] } else { vec!["[stack cut: recorded bytes end]".to_owned()] });
        before = found.len();
        if is_whole {
            break;
        }
    }
    assert_eq!(before, frames.len());
    // These registers point nowhere.
    let lost = RawRecording { registers: [0; 20], ..whole.clone() };
    let file = written(folder.path(), &[&whole, &lost]);
    let found = stacks(&["--no-cache", "--no-symbols", text(&file)]);
    assert_eq!(found, [frames, vec!["0x0".to_owned(), "[stack cut: no way to the caller]".to_owned()]]);
}

#[test]
fn files_located_later_unwind_a_cached_trace_again_with_a_message() {
    let (folder, symbol_folder, cache) = (folder(), folder(), folder());
    let (program, recording) = recorded(folder.path(), &["-O2"]);
    let file = written(folder.path(), &[&recording]);
    let moved = symbol_folder.path().join("deep");
    fs::copy(&program, &moved).expect("copied");
    fs::remove_file(&program).expect("removed");
    let args = ["--cache", text(cache.path()), "--no-symbols", text(&file)];
    let first = RawRecording::frames(&recording).remove(0);
    let cut = vec![vec![first, "[stack cut: no file of the module]".to_owned()]];
    for _ in 0..2 {
        assert_eq!(stacks(&args), cut);
    }
    let output = longspan(&["info", "--cache", text(cache.path()), text(&file)]);
    assert!(output.stderr.contains("1 raw_stack"), "{}", output.stderr);
    // Another build is not used.
    let other = self::folder();
    let (other_program, _) = recorded(other.path(), &["-O1"]);
    let wrong = text(other_program.parent().expect("a folder"));
    longspan(&["info", "--cache", text(cache.path()), text(&file), "--symbols", wrong]).done();
    assert_eq!(stacks(&args), cut);
    let located = ["info", "--cache", text(cache.path()), text(&file), "--symbols", text(symbol_folder.path())];
    let again = longspan(&located);
    assert!(again.stderr.contains("is sorted again, because files for its stacks have changed"), "{}", again.stderr);
    let second = longspan(&located);
    assert!(!second.stderr.contains("sorted again"), "{}", second.stderr);
    let whole = vec![recording.frames()];
    assert_eq!(stacks(&args), whole);
    // The stacks stay the same without the folder, since the build is the same.
    fs::remove_file(&moved).expect("removed");
    assert_eq!(stacks(&args), whole);
}

#[test]
fn no_file_outside_the_searched_folders_is_opened_to_unwind_a_stack() {
    let (folder, outside) = (folder(), folder());
    let (program, recording) = recorded(outside.path(), &["-O2"]);
    let file = written(folder.path(), &[&recording]);
    let all = crate::symbols::opened(folder.path(), &["info", "--no-cache", text(&file)]);
    assert!(!all.iter().any(|path| path == text(&program)), "{all:?}");
    let named = ["info", "--no-cache", text(&file), "--symbols", text(outside.path())];
    let all = crate::symbols::opened(folder.path(), &named);
    assert!(all.iter().any(|path| path == text(&program)), "{all:?}");
}

#[test]
fn damaged_mappings_and_stacks_give_a_result_or_an_error() {
    let folder = folder();
    let (_, recording) = recorded(folder.path(), &["-O2"]);
    let mut state = 7u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let mut all = Vec::new();
    for _ in 0..60 {
        let mut damaged = recording.clone();
        for _ in 0..=random() % 40 {
            let at = random() as usize % damaged.stack.len();
            damaged.stack[at] = random() as u8;
        }
        if random() % 3 == 0 {
            damaged.registers[random() as usize % 20] ^= 1 << (random() % 64);
        }
        all.push(damaged);
    }
    let mut code = all[0].maps[0].clone();
    (code.start, code.offset) = (u64::MAX - 4096, u64::MAX - 9);
    all[0].maps.push(RecordedCode { path: "/dev/zero".to_owned(), ..code });
    let file = written(folder.path(), &all.iter().collect::<Vec<_>>());
    let found = stacks(&["--no-cache", "--no-symbols", text(&file)]);
    assert_eq!(found.len(), all.len());
    let mut text_of_all = String::new();
    for stack in &found {
        assert!((1..=1025).contains(&stack.len()), "{} frames", stack.len());
        writeln!(text_of_all, "{stack:?}").expect("memory");
    }
    assert!(text_of_all.contains("deep+0x"));
}

/// Parses the output of `perf script`: per sample, the number of kernel frames and the addresses of program frames.
/// Addresses of callers are decremented.
fn printed(script: &str) -> Vec<(usize, Vec<u64>)> {
    let samples = script.split("\n\n").filter(|sample| !sample.trim().is_empty());
    let frames = |sample: &str| {
        let lines = sample.lines().skip(1).map(str::trim);
        let (kernel, program): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.ends_with("([kernel.kallsyms])"));
        let address = |line: &&str| u64::from_str_radix(line.split(' ').next()?, 16).ok();
        (kernel.len(), program.iter().filter_map(address).collect())
    };
    samples.map(frames).collect()
}

#[test]
fn stacks_of_a_recording_match_perf_script() {
    let folder = folder();
    let mut program = Vec::new();
    let packed = fs::File::open(data("expected/perf_dwarf_program.gz")).expect("a program");
    flate2::read::GzDecoder::new(packed).read_to_end(&mut program).expect("gzip");
    fs::write(folder.path().join("swing"), program).expect("written");
    let file = data("perf_dwarf.data.gz");
    let located = ["--no-cache", text(&file), "--symbols", text(folder.path())];
    let named = stacks(&located);
    // The first frame of the program has the sampled address, the others have return addresses.
    let native = folder.path().join("recorded.longspan");
    longspan(&[&["export"], &located[..], &["-o", text(&native)]].concat()).done();
    let found = stacks(&["--no-cache", "--no-symbols", text(&native)]);
    let script = fs::read_to_string(data("expected/perf_dwarf_script.txt")).expect("a text");
    let expected = printed(&script);
    assert_eq!((found.len(), expected.len()), (27, 27));
    let (mut cut, mut of_kernel) = (0, 0);
    for (stack, (kernel, mut program)) in found.iter().zip(expected) {
        let is_cut = stack.last().is_some_and(|name| name == "[stack cut: recorded bytes end]");
        if is_cut {
            // perf prints an additional frame at the end of memory there.
            assert_eq!(program.pop(), Some(u64::MAX), "{stack:?}");
            cut += 1;
        }
        let own = &stack[..stack.len() - usize::from(is_cut)];
        let (of_own_kernel, own) = own.split_at(kernel);
        assert!(of_own_kernel.iter().all(|name| name.starts_with("[kernel.kallsyms]+0x")), "{stack:?}");
        program.iter_mut().skip(1).for_each(|address| *address += 1);
        let own: Vec<String> = own.to_vec();
        assert_eq!(own, program.iter().map(|address| format!("swing+{address:#x}")).collect::<Vec<_>>());
        of_kernel += usize::from(kernel > 0);
    }
    assert_eq!((cut, of_kernel), (7, 1));
    assert!(named.iter().flatten().any(|name| name.starts_with("odd")), "{named:?}");
}

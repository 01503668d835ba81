//! Compares annotated functions with sums over the output of `dump`: addresses by objdump, lines by addr2line.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::harness::{folder, longspan, records, text};
use crate::recording::{
    MAPPED_AT, RecordedMap, address, build_id, program as recorded_program, recording, run, written,
};
use crate::symbols::opened;

const PROGRAM: &str = "
static inline __attribute__((always_inline)) int mixed(int x, int y) {
    int z = x * y;
    return z ^ (y >> 3);
}
__attribute__((noinline)) int work(int n) {
    int sum = 1;
    for (int i = 0; i < n; i++)
        sum += mixed(sum, i);
    if (n > 3)
        sum -= work(n / 2);
    return sum;
}
int main(int argc, char **argv) { return work(argc * 100) + 1; }
";

/// Compiles the program. Its debug information names a source in `/build/x`.
fn compile(folder: &Path, source: &str) -> PathBuf {
    let (path, program) = (folder.join("work.c"), folder.join("work"));
    fs::write(&path, source).expect("written");
    let map = format!("-ffile-prefix-map={}=/build/x", text(folder));
    let gcc = ["-O2", "-g", "-fno-optimize-sibling-calls", "-fno-unroll-loops", "-Wl,--build-id"];
    run(Command::new("gcc").args(gcc).arg(map).arg(&path).arg("-o").arg(&program));
    program
}

/// Returns the instructions of a function by objdump: addresses and texts.
fn objdump(program: &Path, function: &str) -> Vec<(u64, String)> {
    let arguments = ["-d", "-M", "intel", "--no-show-raw-insn", &format!("--disassemble={function}")];
    let listing = run(Command::new("objdump").args(arguments).arg(program));
    let row = |line: &str| {
        let (address, text) = line.split_once(":\t")?;
        Some((u64::from_str_radix(address.trim(), 16).ok()?, text.trim().to_owned()))
    };
    listing.lines().filter_map(row).collect()
}

/// Records samples at each instruction of `work`, and after each call in it, some with recursion.
fn record(folder: &Path, program: &Path) -> PathBuf {
    let in_main = {
        let main = objdump(program, "main");
        let call = main.iter().position(|(_, text)| text.contains("call")).expect("it calls work");
        main[call + 1].0
    };
    let work = objdump(program, "work");
    let call = work.iter().position(|(_, text)| text.contains("call")).expect("it calls itself");
    let returns = work[call + 1].0;
    let mut stacks = Vec::new();
    for (row, &(address, _)) in work.iter().enumerate() {
        for deep in 0..=row % 3 {
            let mut stack = vec![MAPPED_AT + address];
            stack.extend(std::iter::repeat_n(MAPPED_AT + returns, deep));
            stack.push(MAPPED_AT + in_main);
            stacks.push(stack);
        }
    }
    let path = text(program);
    let maps = [RecordedMap { start: MAPPED_AT, path, build_id: &build_id(program) }];
    let stacks: Vec<&[u64]> = stacks.iter().map(Vec::as_slice).collect();
    written(folder, &maps, &stacks)
}

/// Self and total samples.
type Sums = (u64, u64);

/// Returns the addresses of each sample from `dump`, innermost first. Call addresses are before the return address.
fn dumped(file: &str) -> Vec<Vec<u64>> {
    let text = longspan(&["dump", "--no-cache", "--no-symbols", file]).done();
    let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let address = |frame: &Value| {
        let digits = frame.as_str().and_then(|frame| frame.split_once("+0x")).expect("an address").1;
        u64::from_str_radix(digits, 16).expect("a number")
    };
    let stack = |row: Value| {
        let mut stack: Vec<u64> = row.get("stack")?.as_array()?.iter().map(address).collect();
        stack.iter_mut().skip(1).for_each(|address| *address -= 1);
        Some(stack)
    };
    rows.filter_map(stack).filter(|stack| !stack.is_empty()).collect()
}

/// Oracle: sums samples by keys of their frames.
fn added_up<K: Ord + Clone>(samples: &[Vec<u64>], keys: impl Fn(u64) -> Vec<(K, bool)>) -> BTreeMap<K, Sums> {
    let mut sums: BTreeMap<K, Sums> = BTreeMap::new();
    for stack in samples {
        let mut seen = std::collections::BTreeSet::new();
        for (place, &address) in stack.iter().enumerate() {
            for (key, is_innermost) in keys(address) {
                let sum = sums.entry(key.clone()).or_default();
                sum.0 += u64::from(place == 0 && is_innermost);
                sum.1 += u64::from(seen.insert(key));
            }
        }
    }
    sums
}

/// Returns the lines of `work` or `mixed` at an address by addr2line, and whether each is innermost.
fn lines_of(program: &Path, function: &str, address: u64) -> Vec<(u32, bool)> {
    let arguments = ["-i", "-f", "-e", text(program), &format!("{address:#x}")];
    let output = run(Command::new("addr2line").args(arguments));
    let lines: Vec<&str> = output.lines().collect();
    let levels = lines.chunks(2).enumerate().filter(|(_, level)| level[0] == function);
    let line = |level: &[&str]| {
        let number = level[1].rsplit(':').next().expect("a line").split(' ').next().expect("a number");
        number.parse::<u32>().unwrap_or(0)
    };
    levels.map(|(level, lines)| (line(lines), level == 0)).filter(|&(line, _)| line > 0).collect()
}

fn table(args: &[&str]) -> Vec<Vec<String>> {
    records(&longspan(&[&["annotate", "--no-cache"], args].concat()).done())
}

fn number(text: &str) -> u64 {
    text.strip_prefix("0x").map_or_else(|| text.parse(), |hex| u64::from_str_radix(hex, 16)).expect("a number")
}

#[test]
fn instructions_match_objdump_and_their_samples_match_dump() {
    let folder = folder();
    let program = compile(folder.path(), PROGRAM);
    let file = record(folder.path(), &program);
    let (theirs, samples) = (objdump(&program, "work"), dumped(text(&file)));
    assert!(samples.len() > theirs.len() && samples.iter().any(|stack| stack.len() > 3));
    let ours = table(&["--assembly", text(&file), "work"]);
    let row_of = |address: u64| theirs[theirs.partition_point(|&(start, _)| start <= address) - 1].0;
    let ends = theirs[0].0..theirs[theirs.len() - 1].0 + 15;
    let sums = added_up(&samples, |address| {
        let is_in = ends.contains(&address);
        is_in.then(|| (row_of(address), true)).into_iter().collect()
    });
    let found: Vec<(u64, Sums)> =
        ours.iter().map(|row| (number(&row[0]), (number(&row[1]), number(&row[2])))).collect();
    let expected: Vec<(u64, Sums)> =
        theirs.iter().map(|(address, _)| (*address, sums.get(address).copied().unwrap_or_default())).collect();
    assert_eq!(found, expected);
    for (row, (_, text)) in ours.iter().zip(&theirs) {
        // Compares only mnemonics, since tools format operands differently. A line without a file is empty.
        let word = |text: &str| text.split_whitespace().next().unwrap_or_default().to_owned();
        assert_eq!(word(&row[5]), word(text), "{row:?}");
        assert_eq!(row[1..3], row[3..5], "a sample weighs 1");
    }
    assert!(ours.iter().any(|row| row[8] == "mixed" && row[9] == "/build/x/work.c"), "{ours:?}");
    let call = ours.iter().find(|row| row[5].starts_with("call")).expect("it calls itself");
    assert_eq!((number(&call[6]), &*call[7]), (theirs[0].0, ""));
    let in_main = table(&["--assembly", text(&file), "main", "--module", "work"]);
    let call = in_main.iter().find(|row| row[5].starts_with("call")).expect("it calls work");
    assert_eq!((&*call[7], number(&call[1]), number(&call[2])), ("work", 0, samples.len() as u64));
}

/// A program whose code has branches, calls, tables of constants, floating-point and vector instructions.
const GO_PROGRAM: &str = r#"package main

import "crypto/sha256"

//go:noinline
func work(n int, x float64) float64 {
	sum := 0.5
	for i := 0; i < n; i++ {
		if sum > 1e6 {
			sum -= work(n/2, x*0.25)
		}
		sum += x / float64(i+3)
	}
	return sum
}

func main() {
	hash := sha256.Sum256([]byte("x"))
	println(work(int(hash[0]), 2))
}
"#;

/// Returns the instructions of a function by llvm-objdump: addresses and texts, without names of targets.
fn llvm_objdump(program: &Path, function: &str) -> Vec<(u64, String)> {
    let features = "--mattr=+lse,+aes,+sha2,+sha3,+sve,+crc";
    let arguments = ["-d", "-z", "--no-show-raw-insn", "--print-imm-hex", features];
    let listing =
        run(Command::new("llvm-objdump").args(arguments).arg(format!("--disassemble-symbols={function}")).arg(program));
    let row = |line: &str| {
        let (address, text) = line.split_once(':')?;
        let text = text.split(" <").next()?.split("//").next()?;
        Some((u64::from_str_radix(address.trim(), 16).ok()?, text.trim().to_owned()))
    };
    listing.lines().filter_map(row).collect()
}

#[test]
fn instructions_of_aarch64_match_llvm_objdump() {
    /// The image is mapped where it was linked, and its first segment starts at file offset 0.
    const LINKED_AT: u64 = 0x1_0000;
    let folder = folder();
    let (source, program) = (folder.path().join("work.go"), folder.path().join("work"));
    fs::write(&source, GO_PROGRAM).expect("written");
    let id = "ab12".repeat(10);
    let build = ["build", "-ldflags", &format!("-B 0x{id}"), "-o"];
    let mut go = Command::new("go");
    go.envs([("GOOS", "linux"), ("GOARCH", "arm64"), ("GO111MODULE", "off")])
        .env("GOCACHE", std::env::temp_dir().join("longspan-go-cache"));
    run(go.args(build).arg(&program).arg(&source));
    let functions = ["main.work", "main.main", "crypto/sha256.block", "crypto/sha256.sha256block", "runtime.memmove"];
    let theirs: Vec<_> = functions.iter().map(|function| (function, llvm_objdump(&program, function))).collect();
    let theirs: Vec<_> = theirs.into_iter().filter(|(_, rows)| !rows.is_empty()).collect();
    assert!(theirs.len() >= 3, "{theirs:?}");
    let maps = [RecordedMap { start: LINKED_AT, path: text(&program), build_id: &id }];
    let stacks: Vec<[u64; 1]> = theirs.iter().map(|(_, rows)| [rows[1].0]).collect();
    let file = written(folder.path(), &maps, &stacks.iter().map(<[u64; 1]>::as_slice).collect::<Vec<_>>());
    // The tools differ in spaces, in braces, and in the base and zeros of numbers.
    let plain = |text: &str| {
        let text = text.replace(['{', '}', '#'], " ").replace(',', " , ");
        let number = |word: &str| {
            let (brackets, digits) = word.split_at(word.len() - word.trim_start_matches('[').len());
            let digits_only = digits.trim_end_matches([']', '!']);
            let end = &digits[digits_only.len()..];
            let hex = digits_only.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16).ok());
            let value = hex.flatten().map(|value| value as f64).or_else(|| digits_only.parse::<f64>().ok());
            value.map_or_else(|| word.to_owned(), |value| format!("{brackets}{value}{end}"))
        };
        text.split_whitespace().map(number).collect::<Vec<_>>().join(" ")
    };
    for (function, rows) in &theirs {
        let ours = table(&["--assembly", text(&file), function]);
        let ours: Vec<_> = ours.iter().map(|row| (number(&row[0]), plain(&row[5]))).collect();
        let rows: Vec<_> = rows.iter().map(|(address, text)| (*address, plain(text))).collect();
        assert_eq!(ours[..rows.len().min(ours.len())], rows, "{function}");
        assert_eq!(ours[rows.len()..].iter().find(|(_, text)| !text.starts_with("udf")), None, "padding of {function}");
    }
    let work = table(&["--assembly", text(&file), "main.work"]);
    let call = work.iter().find(|row| row[5].starts_with("bl ") && row[7].is_empty()).expect("it calls itself");
    assert_eq!(number(&call[6]), number(&work[0][0]));
    assert!(work.iter().any(|row| row[7] == "runtime.morestack_noctxt.abi0"), "{work:?}");
}

#[test]
fn line_samples_match_addr2line_and_source_text_comes_only_from_given_folders() {
    let (folder, elsewhere) = (folder(), folder());
    let program = compile(elsewhere.path(), PROGRAM);
    let file = record(folder.path(), &program);
    let samples = dumped(text(&file));
    let symbols = ["--symbols", text(elsewhere.path())];
    let map = format!("/build/x={}", text(elsewhere.path()));
    for function in ["work", "mixed", "main"] {
        let args = [&symbols[..], &[text(&file), function]].concat();
        let mut known = BTreeMap::new();
        for &address in samples.iter().flatten() {
            known.entry(address).or_insert_with(|| lines_of(&program, function, address));
        }
        let expected = added_up(&samples, |address| known[&address].clone());
        let sums = |rows: &[Vec<String>]| -> BTreeMap<u32, Sums> {
            let all = rows.iter().map(|row| (number(&row[1]) as u32, (number(&row[2]), number(&row[3]))));
            all.filter(|(_, sums)| *sums != (0, 0)).collect()
        };
        // The recorded path is not below a given folder.
        let output = longspan(&[&["annotate", "--no-cache"], &args[..]].concat());
        assert!(output.stderr.contains("/build/x/work.c: not opened"), "{}", output.stderr);
        assert!(output.stderr.contains("--source-map /build/x"), "{}", output.stderr);
        let bare = records(&output.done());
        assert_eq!(sums(&bare), expected, "{function}");
        assert!(bare.iter().all(|row| row[6].is_empty()));
        let shown = table(&[&["--source-map", &map, "--source"], &args[..]].concat());
        assert_eq!(sums(&shown), expected, "{function}");
        let lines: Vec<&str> = PROGRAM.split('\n').collect();
        for row in &shown {
            assert_eq!(row[6], lines[number(&row[1]) as usize - 1], "{row:?}");
        }
        assert!(shown.windows(2).all(|pair| number(&pair[0][1]) + 1 == number(&pair[1][1])), "{shown:?}");
    }
    // Lines of a source file that was changed after the build may be others.
    let annotate = || {
        let args = [&symbols[..], &[text(&file), "work", "--source-map", &map]].concat();
        longspan(&[&["annotate", "--no-cache"], &args[..]].concat()).stderr
    };
    let source = elsewhere.path().join("work.c");
    assert!(!annotate().contains("newer"), "{}", annotate());
    let later = std::time::SystemTime::now() + std::time::Duration::from_mins(1);
    let changed = fs::File::options().append(true).open(&source).expect("opened");
    changed.set_modified(later).expect("changed");
    assert!(annotate().contains(&format!("{}: newer than the program", text(&source))), "{}", annotate());
    // A part of the time has a part of the samples.
    let args = [&symbols[..], &[text(&file), "work", "--to", "+5us", "--format", "json"]].concat();
    let rows = longspan(&[&["annotate", "--no-cache"], &args[..]].concat()).done();
    let rows = rows.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    assert_eq!(rows.map(|row| row["self_samples"].as_u64().expect("a number")).sum::<u64>(), 5);
}

#[test]
fn a_source_with_a_relative_path_is_found_below_a_given_folder() {
    let (folder, elsewhere) = (folder(), folder());
    let (source, program) = (elsewhere.path().join("work.c"), elsewhere.path().join("work"));
    fs::write(&source, PROGRAM).expect("written");
    let map = format!("-ffile-prefix-map={}=./lib", text(elsewhere.path()));
    let compile = ["-O2", "-g", "-fno-optimize-sibling-calls", "-Wl,--build-id", &map];
    run(Command::new("gcc").current_dir(elsewhere.path()).args(compile).args([&source, Path::new("-o"), &program]));
    let file = record(folder.path(), &program);
    let symbols = ["annotate", "--no-cache", "--symbols", text(elsewhere.path()), text(&file), "work"];
    let output = longspan(&symbols);
    assert!(output.stderr.contains("lib/work.c: not opened"), "{}", output.stderr);
    assert!(output.stderr.contains("(--source-map DIR: the folder of its sources)"), "{}", output.stderr);
    let rows = records(&longspan(&[&symbols[..], &["--source-map", text(elsewhere.path())]].concat()).done());
    assert!(rows.iter().any(|row| row[6].contains("int work(int n)")), "{rows:?}");
}

#[test]
fn a_function_that_starts_at_a_return_address_has_no_samples() {
    let folder = folder();
    let program = recorded_program(folder.path(), "");
    // The call of `main` ends where `outer` begins.
    let (main, outer) = (address(&program, "main"), address(&program, "outer"));
    let maps = [RecordedMap { start: MAPPED_AT, path: text(&program), build_id: &build_id(&program) }];
    let file = written(folder.path(), &maps, &[&[main, outer]]);
    let annotate = |args: &[&str]| longspan(&[&["annotate", "--no-cache", text(&file), "outer"], args].concat());
    let output = annotate(&[]);
    assert!(output.stderr.contains("outer: no sampled function has this name"), "{}", output.stderr);
    let output = annotate(&["--from", "+0"]);
    assert!(output.stderr.contains("outer: the function has no samples in this part"), "{}", output.stderr);
}

#[test]
fn assembly_is_suggested_only_for_functions_with_instructions() {
    let folder = folder();
    fs::write(folder.path().join("perf-7.map"), format!("{MAPPED_AT:x} 100 compiled\n")).expect("written");
    let (source, program) = (folder.path().join("bare.c"), folder.path().join("bare"));
    fs::write(&source, PROGRAM).expect("written");
    run(Command::new("gcc").args(["-O2", "-Wl,--build-id", "-o"]).args([&program, &source]));
    let (bare, work) = (MAPPED_AT + 0x1000_0000, objdump(&program, "work")[0].0);
    let maps = [
        RecordedMap { start: MAPPED_AT, path: "//anon", build_id: "" },
        RecordedMap { start: bare, path: text(&program), build_id: &build_id(&program) },
    ];
    let file = written(folder.path(), &maps, &[&[MAPPED_AT + 0x10], &[bare + work]]);
    for (function, has_hint) in [("compiled", false), ("work", true)] {
        let output = longspan(&["annotate", "--no-cache", text(&file), function]);
        assert!(output.stderr.contains("no debug information has its lines"), "{}", output.stderr);
        assert_eq!(output.stderr.contains("--assembly lists instructions"), has_hint, "{}", output.stderr);
        assert_eq!(table(&["--assembly", text(&file), function]).is_empty(), !has_hint);
    }
}

#[test]
fn missing_functions_modules_and_code_are_reported() {
    let folder = folder();
    let program = compile(folder.path(), PROGRAM);
    let file = record(folder.path(), &program);
    let annotate = |args: &[&str]| longspan(&[&["annotate", "--no-cache", text(&file)], args].concat());
    let output = annotate(&["nothing"]);
    assert!(output.stderr.contains("no sampled function has this name"), "{}", output.stderr);
    assert!(!output.stderr.contains("did you mean"), "{}", output.stderr);
    assert_eq!(output.done().lines().count(), 1);
    let mistyped = annotate(&["wrok"]).stderr;
    assert!(mistyped.contains("no sampled function has this name") && mistyped.contains("did you mean work?"));
    assert_eq!(annotate(&["work", "--module", "libc.so.6"]).done().lines().count(), 1);
    annotate(&["work", "--source-map", "=x"]).failed(2);
    annotate(&["work", "--no-symbols"]).failed(2);
    annotate(&["work", "--assembly", "--source"]).failed(2);
    // A debug file has line numbers but no code.
    let id = build_id(&program);
    let debug_folder = folder.path().join(".build-id").join(&id[..2]);
    fs::create_dir_all(&debug_folder).expect("made");
    let debug_file = debug_folder.join(format!("{}.debug", &id[2..]));
    run(Command::new("objcopy").arg("--only-keep-debug").args([&program, &debug_file]));
    fs::remove_file(&program).expect("removed");
    let output = annotate(&["work", "--assembly"]);
    assert!(output.stderr.contains("debug files contain none"), "{}", output.stderr);
    assert_eq!(output.done().lines().count(), 1);
    assert!(annotate(&["work"]).done().lines().count() > 4);
}

#[test]
fn a_function_without_samples_in_the_range_is_not_reported_as_unknown() {
    let folder = folder();
    let program = recorded_program(folder.path(), "");
    let file = recording(folder.path(), &program);
    for side in ["--source", "--assembly"] {
        // The last sample is of another function.
        let output = longspan(&["annotate", "--no-cache", side, "--from", "3us", text(&file), "outer"]);
        assert!(output.stderr.contains("outer: the function has no samples in this part"), "{}", output.stderr);
        assert!(!output.stderr.contains("debug info") && !output.stderr.contains("symbol table"));
        assert_eq!(output.done().lines().count(), 1);
    }
}

#[test]
fn no_source_file_outside_given_folders_is_opened() {
    let (folder, outside) = (folder(), folder());
    let secret = outside.path().join("secret.c");
    fs::write(&secret, "secret\n").expect("written");
    std::os::unix::fs::symlink(&secret, folder.path().join("link.c")).expect("linked");
    let up =
        format!("{}/../{}/secret.c", text(folder.path()), text(outside.path().file_name().expect("a name").as_ref()));
    let link = folder.path().join("link.c");
    for path in [text(&secret), text(&link), &up, "/etc/passwd", "/proc/self/environ", "/dev/zero"] {
        // The compiler accepts the file name of a `#line` directive.
        let source = PROGRAM.replacen(
            "__attribute__((noinline))",
            &format!("\n#line 1 \"{path}\"\n__attribute__((noinline))"),
            1,
        );
        let program = compile(folder.path(), &source);
        let file = record(folder.path(), &program);
        let all = opened(folder.path(), &["annotate", "--no-cache", text(&file), "work"]);
        assert!(all.iter().any(|opened| opened == text(&program)), "{all:?}");
        let is_refused = |opened: &&String| opened.ends_with("secret.c") || opened.as_str() == path;
        assert_eq!(all.iter().find(is_refused), None);
    }
}

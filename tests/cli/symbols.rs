//! Names of functions as scripts see them: a program that is compiled here, and a recording of it that is written here, so
//! that no right to record is needed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::harness::{folder, longspan, records, text};

const PROGRAM: &str = "
static inline __attribute__((always_inline)) int inner(int x) { return x * x + 1; }
__attribute__((noinline)) int outer(int x) { return inner(x) ^ 7; }
int main(int argc, char **argv) { return outer(argc) + 1; }
";

/// Where the program was in memory.
const MAPPED_AT: u64 = 0x5555_0000_0000;

/// Compiles the program; another `salt` is another build.
fn program(folder: &Path, salt: &str) -> PathBuf {
    let (source, output) = (folder.join("work.c"), folder.join("work"));
    fs::write(&source, format!("{PROGRAM}{salt}")).expect("written");
    let gcc = ["gcc", "-O2", "-g", "-fno-ipa-icf", "-Wl,--build-id"];
    run(Command::new(gcc[0]).args(&gcc[1..]).arg(&source).arg("-o").arg(&output));
    output
}

fn run(command: &mut Command) -> String {
    let output = command.output().expect("a tool that .ci/setup installs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn number(hex: &str) -> u64 {
    u64::from_str_radix(hex.trim_start_matches("0x"), 16).expect("a number")
}

/// The address of a function, by nm.
fn address(program: &Path, function: &str) -> u64 {
    let text = run(Command::new("nm").arg(program));
    let line = text.lines().find(|line| line.ends_with(&format!(" T {function}"))).expect("a function");
    number(line.split_whitespace().next().expect("an address"))
}

/// The build-id, by readelf.
fn build_id(program: &Path) -> String {
    let text = run(Command::new("readelf").arg("-nW").arg(program));
    text.split("Build ID: ").nth(1).expect("a build-id").split_whitespace().next().expect("a word").to_owned()
}

/// A record of perf: its kind, flags, length, and its body at a multiple of 8.
fn record(kind: u32, misc: u16, mut body: Vec<u8>) -> Vec<u8> {
    body.resize(body.len().next_multiple_of(8), 0);
    let len = body.len() as u16 + 8;
    [&kind.to_le_bytes()[..], &misc.to_le_bytes(), &len.to_le_bytes(), &body].concat()
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Writes a recording of the program: two samples in `outer`, called by `main`, and one in a file that is not there.
fn recording(folder: &Path, program: &Path) -> PathBuf {
    const MMAP2: u32 = 10;
    const SAMPLE: u32 = 9;
    const HAS_BUILD_ID: u16 = 1 << 14;
    // Offsets in the file are addresses in its only mapping that matters: linkers leave them equal here.
    let ids = u64::from(7u32) << 32 | 7;
    let map = |start: u64, path: &str, id: &[u8]| {
        let mut body = [words(&[ids, start, 0x10_0000, 0]), vec![id.len() as u8, 0, 0, 0], id.to_vec()].concat();
        body.resize(body.len() + 20 - id.len(), 0);
        body.extend(words(&[0]));
        body.extend(path.as_bytes());
        body.push(0);
        record(MMAP2, if id.is_empty() { 0 } else { HAS_BUILD_ID }, body)
    };
    let id: Vec<u8> = {
        let digits = build_id(program);
        (0..digits.len()).step_by(2).map(|at| number(&digits[at..at + 2]) as u8).collect()
    };
    // The second byte of main is behind its first instruction, the last of outer's first.
    let (main, outer) = (MAPPED_AT + address(program, "main") + 5, MAPPED_AT + address(program, "outer") + 3);
    let sample = |time: u64, stack: &[u64]| {
        let head = [stack[0], ids, time, 1, stack.len() as u64];
        record(SAMPLE, 2, words(&[&head[..], stack].concat()))
    };
    let missing = MAPPED_AT + 0x1000_0000;
    let data = [
        map(MAPPED_AT, text(program), &id),
        map(missing, "/usr/lib/longspan-test/libmissing.so", &[0xab; 20]),
        sample(1000, &[outer, main]),
        sample(2000, &[outer, main]),
        sample(3000, &[missing + 0x40, main]),
    ]
    .concat();
    // Type and size, configuration, period, what samples have, nothing read, flags, and nothing more; then its ids.
    let attribute = words(&[64 << 32 | 1, 0, 1, 1 | 2 | 4 | 32 | 256, 0, 0, 0, 0, 0, 0]);
    let sections = [104, attribute.len() as u64, 104 + attribute.len() as u64, data.len() as u64, 0, 0, 0, 0, 0, 0];
    let head = [b"PERFILE2".to_vec(), words(&[104, attribute.len() as u64]), words(&sections)].concat();
    let path = folder.join("perf.data");
    fs::write(&path, [head, attribute, data].concat()).expect("written");
    path
}

/// Runs `symbols`, and returns state, named frames and command of the modules that end so.
fn state(words: &[&str], module: &str) -> [String; 3] {
    let text = longspan(&[&["symbols", "--no-cache"], words].concat()).done();
    assert!(text.starts_with("module,build_id,samples,frames,named,state,verified,file,command\n"), "{text}");
    let table = records(&text);
    let row = table.iter().find(|row| row[0].ends_with(module)).unwrap_or_else(|| panic!("{table:?}"));
    [row[5].clone(), row[4].clone(), row[8].clone()]
}

fn folded(words: &[&str]) -> Vec<String> {
    let text = longspan(&[&["flame", "--no-cache"], words].concat()).done();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn functions_have_their_names_unless_the_user_says_not_to() {
    let folder = folder();
    let program = program(folder.path(), "");
    let file = recording(folder.path(), &program);
    let file = text(&file);
    let named = ["main;libmissing.so+0x40 1", "main;outer;inner 2"];
    let mut all = folded(&[file]);
    all.sort();
    assert_eq!(all, named);
    let raw = folded(&[file, "--no-symbols"]);
    assert!(raw.iter().all(|path| path.starts_with("work+0x")), "{raw:?}");
    let stats = longspan(&["stats", "--no-cache", file]);
    assert!(stats.stderr.contains("2 of 3 functions have names"), "{}", stats.stderr);
    let stats = stats.done();
    assert!(stats.contains(",inner,2,2,2,2\n") && stats.contains(",main,0,3,0,3\n"), "{stats}");
    assert!(longspan(&["dump", "--no-cache", file]).done().contains(r#""stack":["inner","outer","main"]"#));
    // Exports are as recorded, unless names are asked for.
    for (words, expected) in [(&["--symbolized"][..], true), (&[], false)] {
        for output in ["out.json", "out.pftrace", "out.longspan", "out.pb.gz"] {
            let output = folder.path().join(output);
            longspan(&[&["export", "--no-cache", file, "-o", text(&output)], words].concat()).done();
            let mut all = folded(&[text(&output), "--no-symbols"]);
            all.sort();
            assert_eq!(all == named, expected, "{}: {all:?}", output.display());
        }
    }
    // An export as recorded still knows its modules: that without --symbolized was the last.
    let mut all = folded(&[text(&folder.path().join("out.longspan"))]);
    all.sort();
    assert_eq!(all, named);
}

#[test]
fn the_modules_say_why_names_are_missing_and_what_brings_them() {
    let folder = folder();
    let program = program(folder.path(), "");
    let (digits, file) = (build_id(&program), recording(folder.path(), &program));
    let file = text(&file);
    let work = |words: &[&str]| state(&[&[file], words].concat(), "/work");
    let fetch = format!("debuginfod-find debuginfo {digits}");
    assert_eq!(work(&[]), ["named", "2", ""]);
    assert_eq!(work(&["--no-symbols"])[1], "0");
    let missing = format!("debuginfod-find debuginfo {}", "ab".repeat(20));
    assert_eq!(state(&[file], "libmissing.so"), ["no file", "0", &missing]);

    let kept = folder.path().join("kept");
    fs::create_dir_all(&kept).expect("made");
    fs::copy(&program, kept.join("work")).expect("copied");
    run(Command::new("strip").arg("-g").arg(&program));
    assert_eq!(work(&[]), ["no debug info", "2", &fetch]);
    run(Command::new("strip").arg(&program));
    assert_eq!(work(&[]), ["stripped", "0", &fetch]);
    assert_eq!(work(&["--symbols", text(&kept)]), ["named", "2", ""]);
    // Another program at the path is not asked for names.
    self::program(folder.path(), "int other(int x) { return x + 1; }");
    assert_eq!(work(&[]), ["other build", "0", &fetch]);
    assert_eq!(work(&["--symbols", text(&kept)]), ["named", "2", ""]);
    fs::remove_file(&program).expect("removed");
    assert_eq!(work(&[]), ["no file", "0", &fetch]);
    // A trace in another folder: the program is outside what is searched.
    let elsewhere = self::folder();
    let copy = elsewhere.path().join("perf.data");
    fs::copy(file, &copy).expect("copied");
    let [state, named, command] = state(&[text(&copy)], "/work");
    assert_eq!((&*state, &*named), ("not searched", "0"));
    let searched = format!("longspan symbols {} --symbols {}", text(&copy), text(folder.path()));
    assert_eq!(command, searched);

    let rows = longspan(&["symbols", "--no-cache", "--format", "json", file]).done();
    let first: Value = serde_json::from_str(rows.lines().next().expect("a row")).expect("JSON");
    assert_eq!((&first["samples"], &first["build_id"]), (&Value::from(3), &Value::from(digits)));
}

#[test]
fn a_trace_without_addresses_has_no_modules() {
    let folder = folder();
    let file = folder.path().join("spans.json");
    fs::write(&file, r#"[{"name":"a","ph":"X","ts":0,"dur":1,"pid":1,"tid":1}]"#).expect("written");
    let answer = longspan(&["symbols", "--no-cache", text(&file)]);
    assert!(answer.stderr.contains("no frame has an address"), "{}", answer.stderr);
    assert_eq!(answer.done().lines().count(), 1);
    longspan(&["symbols", "--no-cache", text(&file), "--symbols", "/", "--no-symbols"]).failed(2);
}

//! Compiles a program, and writes a recording of it like perf, so that no permission to record is needed.

#[cfg(target_arch = "x86_64")]
pub(crate) mod raw_stack;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = "
static inline __attribute__((always_inline)) int inner(int x) { return x * x + 1; }
__attribute__((noinline)) int outer(int x) { return inner(x) ^ 7; }
int main(int argc, char **argv) { return outer(argc) + 1; }
";

/// Load address of the program.
pub(crate) const MAPPED_AT: u64 = 0x5555_0000_0000;

/// Compiles the program; another `salt` gives another build.
pub(crate) fn program(folder: &Path, salt: &str) -> PathBuf {
    let (source, output) = (folder.join("work.c"), folder.join("work"));
    fs::write(&source, format!("{PROGRAM}{salt}")).expect("written");
    let gcc = ["gcc", "-O2", "-g", "-fno-ipa-icf", "-Wl,--build-id"];
    run(Command::new(gcc[0]).args(&gcc[1..]).arg(&source).arg("-o").arg(&output));
    output
}

pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().expect("a tool that .ci/setup installs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn number(hex: &str) -> u64 {
    u64::from_str_radix(hex.trim_start_matches("0x"), 16).expect("a number")
}

/// Returns the address of a function in memory, by nm.
pub(crate) fn address(program: &Path, function: &str) -> u64 {
    let text = run(Command::new("nm").arg(program));
    let line = text.lines().find(|line| line.ends_with(&format!(" T {function}"))).expect("a function");
    MAPPED_AT + number(line.split_whitespace().next().expect("an address"))
}

/// Returns the build-id, by readelf.
pub(crate) fn build_id(program: &Path) -> String {
    let text = run(Command::new("readelf").arg("-nW").arg(program));
    text.split("Build ID: ").nth(1).expect("a build-id").split_whitespace().next().expect("a word").to_owned()
}

/// Encodes a perf record: type, flags, length, and its body padded to a multiple of 8.
fn record(kind: u32, misc: u16, mut body: Vec<u8>) -> Vec<u8> {
    body.resize(body.len().next_multiple_of(8), 0);
    let len = body.len() as u16 + 8;
    [&kind.to_le_bytes()[..], &misc.to_le_bytes(), &len.to_le_bytes(), &body].concat()
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A mapped file in a recording.
pub(crate) struct RecordedMap<'a> {
    pub start: u64,
    pub path: &'a str,
    /// The build-id in hexadecimal; empty if it was not recorded.
    pub build_id: &'a str,
}

/// Load address of the kernel.
pub(crate) const KERNEL_AT: u64 = 0xffff_ffff_8100_0000;

/// Writes a recording with these mapped files, and one sample per stack, innermost frame first. The samples are a
/// microsecond apart.
pub(crate) fn written(folder: &Path, maps: &[RecordedMap<'_>], stacks: &[&[u64]]) -> PathBuf {
    written_by_clock(folder, maps, stacks, None)
}

/// Writes a recording with the times of a clock, which is perf's own if it is `None`.
pub(crate) fn written_by_clock(
    folder: &Path,
    maps: &[RecordedMap<'_>],
    stacks: &[&[u64]],
    clock: Option<u32>,
) -> PathBuf {
    const USES_CLOCK: u64 = 1 << 25;
    const MMAP2: u32 = 10;
    const SAMPLE: u32 = 9;
    const HAS_BUILD_ID: u16 = 1 << 14;
    const KERNEL: u16 = 1;
    const USER: u16 = 2;
    let ids = u64::from(7u32) << 32 | 7;
    let map = |map: &RecordedMap<'_>| {
        let digits = map.build_id;
        let id: Vec<u8> = (0..digits.len()).step_by(2).map(|at| number(&digits[at..at + 2]) as u8).collect();
        let (of, mode) = if map.start >= KERNEL_AT { (u64::MAX, KERNEL) } else { (ids, USER) };
        // File offsets equal offsets in the image, as linkers usually arrange.
        let mut body = [words(&[of, map.start, 0x10_0000, 0]), vec![id.len() as u8, 0, 0, 0], id.clone()].concat();
        body.resize(body.len() + 20 - id.len(), 0);
        body.extend(words(&[0]));
        body.extend(map.path.as_bytes());
        body.push(0);
        record(MMAP2, if id.is_empty() { mode } else { mode | HAS_BUILD_ID }, body)
    };
    let sample = |(time, stack): (u64, &&[u64])| {
        let head = [stack[0], ids, time * 1000, 1, stack.len() as u64];
        record(SAMPLE, if stack[0] >= KERNEL_AT { KERNEL } else { USER }, words(&[&head[..], stack].concat()))
    };
    let data: Vec<u8> = maps.iter().flat_map(map).chain((1..).zip(stacks).flat_map(sample)).collect();
    let flags = if clock.is_some() { USES_CLOCK } else { 0 };
    // Type and size, configuration, period, sample format, no read format, flags, zeros, and the clock, followed by the
    // ids.
    let head = [96 << 32 | 1, 0, 1, 1 | 2 | 4 | 32 | 256, 0, flags, 0, 0, 0, 0, 0];
    let attribute = words(&[&head[..], &[u64::from(clock.unwrap_or(0)) << 32, 0, 0]].concat());
    let sections = [104, attribute.len() as u64, 104 + attribute.len() as u64, data.len() as u64, 0, 0, 0, 0, 0, 0];
    let head = [b"PERFILE2".to_vec(), words(&[104, attribute.len() as u64]), words(&sections)].concat();
    let path = folder.join("perf.data");
    fs::write(&path, [head, attribute, data].concat()).expect("written");
    path
}

/// Writes a recording of the program: two samples in `outer`, called by `main`, and one in a missing file.
pub(crate) fn recording(folder: &Path, program: &Path) -> PathBuf {
    // The first instruction of each function has 4 bytes. So `main` + 5 is the second byte of the next instruction, and
    // `outer` + 3 is the last byte of the first one.
    let (main, outer) = (address(program, "main") + 5, address(program, "outer") + 3);
    let missing = MAPPED_AT + 0x1000_0000;
    let path = program.to_str().expect("a path of a test is text");
    let maps = [
        RecordedMap { start: MAPPED_AT, path, build_id: &build_id(program) },
        RecordedMap { start: missing, path: "/usr/lib/longspan-test/libmissing.so", build_id: &"ab".repeat(20) },
    ];
    written(folder, &maps, &[&[outer, main], &[outer, main], &[missing + 0x40, main]])
}

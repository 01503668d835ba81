//! Runs every target on its corpus, and on the same damaged inputs in every run, in a few seconds. For longer runs,
//! `.ci/fuzz` runs the same targets with cargo-fuzz. A finding of either is added to the corpus, named after its kind.

mod mutate;
#[macro_use]
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use mutate::Mutator;
use targets::{TARGETS, Target};

/// Number of damaged inputs per target. All targets take a few seconds on two cores.
const DAMAGED_INPUTS: usize = 600;

/// Time limit for an input of a few kilobytes, also on a busy machine.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// Returns the corpus of a target, with names.
fn corpus(target: &Target) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(target.name);
    let entries = folder.read_dir().unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.sort();
    let name = |path: &Path| path.file_name().expect("a file").to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), std::fs::read(path).expect("readable"))).collect()
}

/// Runs a target on its corpus and on damaged inputs, on a separate thread to detect hangs.
fn run(target: &'static Target) {
    let inputs = corpus(target);
    assert!(!inputs.is_empty(), "{} has no input", target.name);
    let (sender, receiver) = channel();
    let worker = std::thread::spawn(move || {
        let mut mutator = Mutator::new(target.name);
        let damaged = (0..DAMAGED_INPUTS).map(|number| {
            let (name, input) = &inputs[number % inputs.len()];
            let (_, other) = mutator.pick(&inputs);
            (format!("{name}, damage {number}"), mutator.damaged(input, other))
        });
        for (name, input) in inputs.iter().cloned().chain(damaged) {
            sender.send((name.clone(), input.clone())).expect("the test waits");
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (target.check)(&input))) {
                println!("{}: {name}: see {}", target.name, keep(target, &input).display());
                resume_unwind(panic);
            }
        }
    });
    let mut last = (String::new(), Vec::new());
    loop {
        match receiver.recv_timeout(TIME_LIMIT) {
            Ok(next) => last = next,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                panic!("{}: {} hangs: see {}", target.name, last.0, keep(target, &last.1).display())
            }
        }
    }
    if let Err(panic) = worker.join() {
        resume_unwind(panic);
    }
    #[cfg(target_os = "linux")]
    assert!(resident_kib_max() < RESIDENT_KIB_MAX, "{}: {} KiB", target.name, resident_kib_max());
}

/// Writes a failing input to a file.
fn keep(target: &Target, input: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{}", target.name));
    std::fs::write(&path, input).expect("written");
    path
}

/// Memory limit of all targets together, which run concurrently: threads, inputs, and one store each.
#[cfg(target_os = "linux")]
const RESIDENT_KIB_MAX: u64 = 2 << 20;

/// Returns the peak resident memory of this process.
#[cfg(target_os = "linux")]
fn resident_kib_max() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a process");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    peak.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// Runs the command on every input in a separate process, to detect allocations of claimed sizes.
#[cfg(target_os = "linux")]
#[test]
fn every_input_ends_in_a_result_or_an_error_with_2_gib_of_address_space() {
    let mut inputs = 0;
    for target in TARGETS {
        for (name, input) in corpus(target) {
            let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("input-{}-{name}", target.name));
            std::fs::write(&path, input).expect("written");
            let mut command = std::process::Command::new("bash");
            command.args(["-c", "ulimit -v 2097152; ulimit -t 30; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_longspan")]);
            command.args(["info", "--no-cache", "--memory", "64MiB", "--threads", "2"]).arg(&path);
            let output = command.output().expect("bash runs");
            let stderr = String::from_utf8_lossy(&output.stderr);
            let has_ended = matches!(output.status.code(), Some(0 | 1)) && !stderr.contains("panicked");
            assert!(has_ended, "{}/{name}: {}: {stderr}", target.name, output.status);
            std::fs::remove_file(path).expect("it is there");
            inputs += 1;
        }
    }
    assert!(inputs > 100, "only {inputs} inputs were found");
}

macro_rules! tests {
    (
        parts { $($part:ident: $check:expr;)* }
        of_window { $($kept:ident: $check_kept:expr;)* }
        readers { $($reader:ident: $format:literal;)* }
    ) => {
        tests! { $($part)* $(#[cfg(feature = "window")] $kept)* $($reader)* }
    };
    ($($(#[$when:meta])? $name:ident)*) => {
        $($(#[$when])? #[test]
        fn $name() {
            run(TARGETS.iter().find(|target| target.name == stringify!($name)).expect("a target"));
        })*
    };
}

with_targets!(tests);

//! Every target on its inputs in the repository, and on the same damage to them in every run: a few seconds. For longer,
//! `.ci/fuzz` gives the same targets to cargo-fuzz. What either finds becomes an input here, named after what it was.

mod mutate;
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use mutate::Mutator;
use targets::{TARGETS, Target};

/// Damaged inputs of each target: together with the others a few seconds on two cores.
const DAMAGED_INPUTS: usize = 600;

/// No input of a few kilobytes may take so long, also on a busy machine.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// The inputs of a target in the repository, with their names.
fn corpus(target: &Target) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(target.name);
    let entries = folder.read_dir().unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.sort();
    let name = |path: &Path| path.file_name().expect("a file").to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), std::fs::read(path).expect("readable"))).collect()
}

/// Runs a target on what it has, on a thread of its own, so that a hang is found too.
fn run(target: &'static Target) {
    let inputs = corpus(target);
    assert!(!inputs.is_empty(), "{} has no input", target.name);
    let (tell, told) = channel();
    let worker = std::thread::spawn(move || {
        let mut mutator = Mutator::new(target.name);
        let damaged = (0..DAMAGED_INPUTS).map(|number| {
            let (name, input) = &inputs[number % inputs.len()];
            let (_, other) = mutator.pick(&inputs);
            (format!("{name}, damage {number}"), mutator.damaged(input, other))
        });
        for (name, input) in inputs.iter().cloned().chain(damaged) {
            tell.send((name.clone(), input.clone())).expect("the test waits");
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (target.check)(&input))) {
                println!("{}: {name}: see {}", target.name, keep(target, &input).display());
                resume_unwind(panic);
            }
        }
    });
    let mut last = (String::new(), Vec::new());
    loop {
        match told.recv_timeout(TIME_LIMIT) {
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
}

/// Keeps an input that was found, to be looked at.
fn keep(target: &Target, input: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{}", target.name));
    std::fs::write(&path, input).expect("written");
    path
}

macro_rules! tests {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            run(TARGETS.iter().find(|target| target.name == stringify!($name)).expect("a target"));
        })*

        #[test]
        fn every_target_is_run() {
            let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

tests! {
    chrome_json filter load native packed store
    collapsed cpuprofile firefox ftrace fxt ninja otlp_json otlp_proto perf_data perf_script perfetto spall speedscope strace
    tar tracy zip
}

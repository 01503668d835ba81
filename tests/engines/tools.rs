//! The programs that open exports: Node and Java of the system, and Python packages of pinned versions in an
//! environment that is cached between runs. Tests are never skipped: a missing tool fails with advice.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Advice for a missing tool: how to install it, or how to exclude the tests.
const ADVICE: &str = "run .ci/setup, and let pip reach a package index once; or leave these tests out by name: \
    cargo test -- --skip perfetto_engine --skip duckdb --skip pyarrow --skip spark --skip otlp_sdk";

/// Runs a program, asserts success, and returns its stdout.
#[track_caller]
pub(crate) fn output_of(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; {ADVICE}"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{stderr}\n({ADVICE})", output.status);
    String::from_utf8(output.stdout).expect("text")
}

/// Returns the Python of an environment with the packages of a requirements file beside this one. It is created once,
/// and again when the file changes.
#[track_caller]
pub(crate) fn python(requirements: &str) -> PathBuf {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engines").join(requirements);
    let wanted = std::fs::read_to_string(&file).expect("a list of packages");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(requirements.replace(".txt", "-env"));
    let (python, done) = (folder.join("bin/python"), folder.join("installed.txt"));
    // Tests run concurrently, also in other processes.
    let lock = std::fs::File::create(folder.with_extension("lock")).expect("a file to lock");
    lock.lock().expect("locked");
    if std::fs::read_to_string(&done).is_ok_and(|installed| installed == wanted) {
        return python;
    }
    output_of(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder));
    output_of(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--requirement"]).arg(&file));
    std::fs::write(done, wanted).expect("written");
    python
}

/// Runs the program with these arguments, without a cache.
#[track_caller]
pub(crate) fn longspan(args: &[&str], paths: &[&Path]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_longspan"));
    output_of(command.args(args).args(["--no-cache", "--progress", "never"]).args(paths))
}

/// Returns the path of a file of the test data.
pub(crate) fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// Returns the fenced blocks of a language in `docs/sql.md`.
pub(crate) fn sql_blocks(language: &str) -> Vec<&'static str> {
    let document = include_str!("../../docs/sql.md");
    let blocks = document.split("```").skip(1).step_by(2);
    blocks.filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n')).collect()
}

/// Writes a Chrome JSON trace of requests to some URLs, each with a nested span.
pub(crate) fn write_requests(path: &Path, requests: u64) {
    let events = (0..requests).map(|k| {
        let (start_us, dur_us) = (k * 400_000, 1000 + k * 7919 % 5000);
        format!(
            r#"{{"ph":"X","name":"request","pid":1,"tid":{0},"ts":{start_us},"dur":{dur_us},"args":{{"url":"/page/{1}"}}}},
            {{"ph":"X","name":"query","cat":"db","pid":1,"tid":{0},"ts":{start_us}.5,"dur":{2}}}"#,
            k % 3,
            k % 7,
            dur_us / 2
        )
    });
    let text = format!("[{}]", events.collect::<Vec<_>>().join(",\n"));
    std::fs::write(path, text).expect("written");
}

//! Runs the real program like a script: arguments in; status, stdout and stderr out. Every command has a time limit.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Timeout of a command: far more than any takes, also on a busy machine.
const TIME_LIMIT: Duration = Duration::from_mins(2);

/// A folder that no user can create, not even root, for commands without a home or a cache.
pub(crate) const NO_FOLDER: &str = "/dev/null/none";

/// The result of a command.
#[derive(Debug)]
pub(crate) struct CommandResult {
    /// The exit status; `None` if a signal ended it.
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl CommandResult {
    /// Returns stdout, and asserts success.
    #[track_caller]
    pub(crate) fn done(self) -> String {
        assert_eq!(self.status, Some(0), "stderr: {}", self.stderr);
        self.stdout
    }

    /// Returns the error message. Asserts this status, a message, and no panic.
    #[track_caller]
    pub(crate) fn failed(self, status: i32) -> String {
        assert_eq!(self.status, Some(status), "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        assert!(!self.stderr.is_empty() && !self.stderr.contains("panicked"), "stderr: {}", self.stderr);
        self.stderr
    }
}

/// Returns the command for these arguments. It has no display, no cache except a given one, and no settings of the
/// user's session, language or graphics card.
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_longspan"));
    command.env_clear();
    let inherited = ["PATH", "LD_LIBRARY_PATH", "TMPDIR"].into_iter();
    command.envs(inherited.filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.args(args).env("HOME", NO_FOLDER).env("XDG_CACHE_HOME", NO_FOLDER).env("LC_ALL", "C.UTF-8");
    // Required to start programs on Windows.
    command.envs(std::env::var_os("SystemRoot").map(|root| ("SystemRoot", root)));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs the program to its end.
#[track_caller]
pub(crate) fn longspan(args: &[&str]) -> CommandResult {
    let mut child = command(args).spawn().expect("the program starts");
    let stdout = drain(child.stdout.take().expect("a pipe"));
    let stderr = drain(child.stderr.take().expect("a pipe"));
    let status = wait(&mut child, args);
    CommandResult { status, stdout: stdout.join().expect("read"), stderr: stderr.join().expect("read") }
}

/// Waits for the end of a child, and kills it if it hangs.
#[track_caller]
pub(crate) fn wait(child: &mut Child, args: &[&str]) -> Option<i32> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child") {
            return status.code();
        }
        if began.elapsed() > TIME_LIMIT {
            child.kill().expect("a child");
            panic!("{args:?} hangs");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn drain(mut pipe: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).expect("a pipe");
        String::from_utf8(bytes).expect("the program writes UTF-8")
    })
}

/// Loads `file` without a cache, and returns its spans as CSV.
#[track_caller]
pub(crate) fn spans_of(file: &Path) -> String {
    longspan(&["spans", "--no-cache", text(file)]).done()
}

/// Returns the path of a file of the test data.
pub(crate) fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// Returns a path as an argument.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are text")
}

pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder for temporary files")
}

/// Parses CSV with quotes as in RFC 4180, without the header.
pub(crate) fn records(csv: &str) -> Vec<Vec<String>> {
    let mut records = vec![];
    let (mut record, mut field, mut quoted) = (vec![], String::new(), false);
    let mut chars = csv.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => field.extend(chars.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => record.push(std::mem::take(&mut field)),
            '\n' if !quoted => {
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            c => field.push(c),
        }
    }
    assert!(field.is_empty() && record.is_empty(), "the last line does not end");
    if !records.is_empty() {
        records.remove(0);
    }
    records
}

pub(crate) fn gunzip(path: &Path) -> String {
    let file = std::fs::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("gzip");
    text
}

//! Hostile names on a terminal. File names, archive members, processes, spans and losses may contain sequences that set
//! the title, write the clipboard or clear the screen. Each command runs on a pseudo-terminal, created by `script`.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use longspan::facade::base::escape::is_control;
use serde_json::{Value, json};

use crate::harness::{CommandResult, NO_FOLDER, command, folder, longspan, records, text, wait};

/// Sets the title, writes the clipboard, sets red, clears the screen, starts a new line, reverses the text direction,
/// and starts a C1 sequence.
const EVIL: &str = "\u{1b}]0;title\u{7}\u{1b}]52;c;cm0gLXJm\u{7}\u{1b}[31m\u{1b}[2J\r\nlongspan: fake\u{202e}\u{9b}31m\u{7f}\u{2066}\u{85}";

/// Returns a hostile file name.
fn evil_name(ending: &str) -> String {
    format!("{EVIL}{ending}")
}

/// Returns a trace with hostile names in all places, and losses.
fn evil_trace() -> String {
    let event = |more: Value| {
        let mut event = json!({"ph": "X", "name": EVIL, "cat": EVIL, "pid": 1, "tid": 1, "ts": 1, "dur": 5});
        event.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        event
    };
    json!([
        event(json!({"args": {EVIL: EVIL, "formula": "=cmd|'/c calc'!A0"}})),
        event(json!({"name": "=1+1", "cat": "@x"})),
        event(json!({"pid": EVIL, "tid": EVIL})),
        event(json!({"ph": "M", "name": "process_name", "args": {"name": EVIL}})),
        event(json!({"ph": "M", "name": "thread_name", "args": {"name": EVIL}})),
        event(json!({"ph": "C", "args": {EVIL: 1}})),
        event(json!({"ph": "i"})),
        event(json!({"ph": EVIL})),
        event(json!({"ts": EVIL})),
    ])
    .to_string()
}

fn evil_zip(path: &Path) {
    let mut writer = zip::ZipWriter::new(fs::File::create(path).expect("created"));
    for (ending, content) in [(".bin", "garbage"), ("a.json", &evil_trace()), ("b.json", &evil_trace())] {
        writer.start_file(evil_name(ending), zip::write::SimpleFileOptions::default()).expect("written");
        writer.write_all(content.as_bytes()).expect("written");
    }
    writer.finish().expect("written");
}

/// Creates hostile files: a trace, an archive, an unknown format, a missing file.
fn evil_files(folder: &Path) -> [PathBuf; 4] {
    let [trace, archive, garbage, missing] =
        [".json", ".zip", ".bin", ".gone"].map(|ending| folder.join(evil_name(ending)));
    fs::write(&trace, evil_trace()).expect("written");
    evil_zip(&archive);
    fs::write(&garbage, "no trace").expect("written");
    [trace, archive, garbage, missing]
}

/// Quotes a word for the shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Returns the combined output of a command on a terminal, unchanged, and its status.
fn on_terminal(args: &[&str]) -> (i32, String) {
    let program = [env!("CARGO_BIN_EXE_longspan")].into_iter().chain(args.iter().copied());
    let line: Vec<String> = program.map(quoted).collect();
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &format!("stty raw -echo; exec {}", line.join(" ")), "/dev/null"]);
    script.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").env("XDG_CACHE_HOME", NO_FOLDER).env("SHELL", "/bin/sh");
    let output = script.stdin(Stdio::null()).output().expect("`script` runs; `.ci/setup` installs it");
    (output.status.code().unwrap_or(-1), String::from_utf8(output.stdout).expect("the program writes UTF-8"))
}

/// Returns the control characters in an output.
fn controls(shown: &str) -> Vec<String> {
    shown.chars().filter(|&letter| letter != '\n' && is_control(letter)).map(|letter| format!("{letter:?}")).collect()
}

#[test]
fn no_command_prints_control_characters_of_names_to_a_terminal() {
    let folder = folder();
    let [trace, archive, garbage, missing] = evil_files(folder.path());
    let cache = folder.path().join(evil_name("cache"));
    let [trace, archive, garbage, missing, cache] =
        [&trace, &archive, &garbage, &missing, &cache].map(|path| text(path));
    let (output, evil) = (folder.path().join(evil_name(".csv")), format!("--{EVIL}"));
    let output = text(&output);
    let mut commands: Vec<(i32, Vec<&str>)> = vec![
        (0, vec!["cache", "list", "--cache", cache]),
        (0, vec!["export", "-o", output, "--no-cache", trace]),
        (0, vec!["export", "-o", "-", "--format", "csv", "--no-cache", trace]),
        (0, vec!["export", "-o", "/dev/tty", "--format", "csv", "--no-cache", trace]),
        (2, vec!["export", "-o", "/dev/tty", "--format", "chrome", "--no-cache", trace]),
        (2, vec!["export", "-o", "-", "--no-cache", trace]),
        (2, vec!["export", "-o", "-", "--format", "chrome", "--no-cache", trace]),
        (2, vec!["synth", "-o", "-", "--spans", "5"]),
        (2, vec!["info", trace, &evil]),
        (2, vec![EVIL, EVIL, &evil]),
        (2, vec!["spans", trace, "--name", "(\u{1b}[2J"]),
        (2, vec!["spans", trace, "--filter", "dur>\u{1b}[2J"]),
        (2, vec!["spans", trace, "--offset", "\u{1b}[2J=1"]),
        (2, vec!["info", trace, "--memory", EVIL]),
        (1, vec!["export", "-o", folder.path().to_str().expect("text"), "--no-cache", trace]),
        (1, vec!["info", "--no-cache", garbage]),
        (1, vec!["info", "--no-cache", missing]),
        (1, vec!["info", "--no-cache", garbage, missing]),
        (0, vec!["info", "--cache", garbage, trace]),
        (0, vec!["info", "--no-cache", trace, garbage]),
        (1, vec!["info", "--no-cache", trace, missing]),
    ];
    for source in [trace, archive] {
        for args in [
            &["info"][..],
            &["info", "--json"],
            &["spans"],
            &["spans", "--format", "jsonl"],
            &["stats"],
            &["stats", "--format", "jsonl"],
            &["dump"],
        ] {
            commands.push((0, [args, &["--cache", cache, source]].concat()));
        }
    }
    commands.push((0, vec!["cache", "list", "--cache", cache]));
    commands.push((0, vec!["cache", "clear", "--cache", cache]));
    let mut shown_names = 0;
    for (expected, mut args) in commands {
        // The progress line contains no name, and the program clears it with control characters.
        if expected != 2 && args[0] != "cache" {
            args.extend(["--progress", "never"]);
        }
        let (status, shown) = on_terminal(&args);
        assert_eq!(status, expected, "{args:?}: {shown}");
        assert_eq!(controls(&shown), [""; 0], "{args:?}: {shown}");
        let fakes = shown.lines().filter(|line| line.starts_with("longspan: fake")).count();
        assert_eq!(fakes, 0, "{args:?}: a name begins a line of its own: {shown}");
        shown_names += usize::from(shown.contains("longspan: fake"));
    }
    assert!(shown_names > 20, "only {shown_names} commands show a hostile name");
}

#[test]
fn files_and_pipes_get_the_exact_bytes_of_names_and_json_decodes_to_them() {
    let folder = folder();
    let [trace, ..] = evil_files(folder.path());
    let trace = text(&trace);
    let rows = records(&longspan(&["spans", "--no-cache", trace]).done());
    assert!(rows.iter().any(|row| row[3] == EVIL && row[4] == EVIL && row[7] == EVIL && row[8] == EVIL), "{rows:?}");
    for args in [&["spans", "--format", "jsonl"][..], &["stats", "--format", "jsonl"], &["dump"]] {
        let lines = longspan(&[args, &["--no-cache", trace]].concat()).done();
        assert_eq!(controls(&lines), [""; 0], "{args:?}: {lines}");
        let objects: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert!(objects.iter().any(|object| object["name"] == EVIL), "{args:?}: {lines}");
    }
    let stderr = longspan(&["info", "--no-cache", trace]).stderr;
    assert!(stderr.lines().count() >= 2 && controls(&stderr).is_empty(), "{stderr}");
    assert!(
        stderr.lines().all(|line| line.starts_with("longspan: ") && !line.starts_with("longspan: fake")),
        "{stderr}"
    );
}

#[test]
fn cells_that_look_like_formulas_are_escaped_only_on_request() {
    let folder = folder();
    let [trace, ..] = evil_files(folder.path());
    let (trace, output) = (text(&trace), folder.path().join("safe.csv"));
    let starts = |csv: &str| {
        let cells = records(csv).into_iter().flatten().filter(|cell| cell.parse::<f64>().is_err());
        cells.filter(|cell| cell.starts_with(['=', '+', '-', '@', '\t'])).count()
    };
    for args in [&["spans"][..], &["stats"]] {
        let as_it_is = longspan(&[args, &["--no-cache", trace]].concat()).done();
        let safe = longspan(&[args, &["--no-cache", "--csv-safe", trace]].concat()).done();
        assert!(starts(&as_it_is) >= 2, "{as_it_is}");
        assert_eq!(starts(&safe), 0, "{safe}");
        assert_eq!(safe.replace("'=1+1,'@x", "=1+1,@x"), as_it_is);
        longspan(&[args, &["--no-cache", "--csv-safe", "--format", "jsonl", trace]].concat()).failed(2);
    }
    longspan(&["export", "--no-cache", "--csv-safe", "-o", text(&output), trace]).done();
    let safe = fs::read_to_string(&output).expect("written");
    assert!(safe.contains("'=1+1,'@x") && starts(&safe) == 0, "{safe}");
}

/// A file name from shell expansion is as hostile as the file.
#[test]
fn an_argument_that_is_not_utf8_is_printed_without_control_characters() {
    use std::os::unix::ffi::OsStrExt as _;
    let mut child = command(&["info"]);
    child.arg(std::ffi::OsStr::from_bytes(b"--\x1b]0;x\x07\xff\x9b")).stdin(Stdio::null());
    let mut child = child.spawn().expect("the program starts");
    let status = wait(&mut child, &["info"]);
    let output = child.wait_with_output().expect("read");
    let stderr = String::from_utf8(output.stderr).expect("the program writes UTF-8");
    let result = CommandResult { status, stdout: String::new(), stderr };
    assert_eq!(controls(&result.failed(2)), [""; 0]);
}

//! Commands with closed, full or broken stdin, stdout or stderr, and outputs on a full disk. A command exits with
//! status 0, or with 1 and the reason. An existing file is kept until the new one is complete.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::harness::{files, folder, json_trace, limited, longspan, moments};

/// Timeout of a command: far more than any takes.
const TIME_LIMIT: Duration = Duration::from_mins(1);

/// Waits for the end of a command, and kills it if it hangs. Its output must fit a pipe.
#[track_caller]
pub(crate) fn ended(mut command: Command) -> Output {
    let mut child = command.spawn().expect("the program starts");
    let began = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        if began.elapsed() > TIME_LIMIT {
            child.kill().expect("a child");
            panic!("{command:?} hangs");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    child.wait_with_output().expect("a child")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are text")
}

fn message(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns every command, and whether its result goes to stdout.
fn commands(trace: &str, folder: &Path) -> Vec<(Vec<String>, bool)> {
    let at = |name: &str| text(&folder.join(name)).to_owned();
    let cache = at("cache");
    let mut commands = vec![
        (vec!["--help"], true),
        (vec!["export", "--help"], true),
        (vec!["--version"], true),
        (vec!["info", trace, "--cache", &cache], true),
        (vec!["info", "--json", trace, "--no-cache", "--progress", "always"], true),
        (vec!["spans", trace, "--cache", &cache], true),
        (vec!["spans", trace, "--cache", &cache, "--format", "jsonl"], true),
        (vec!["stats", trace, "--cache", &cache], true),
        (vec!["stats", trace, "--samples", "--cache", &cache], true),
        (vec!["stats", trace, "--scheduling=cpu", "--cache", &cache], true),
        (vec!["stats", trace, "--heat-map=2000x32", "--cache", &cache], true),
        (vec!["flame", trace, "--cache", &cache], true),
        (vec!["flame", trace, "--cache", &cache, "--format", "svg"], true),
        (vec!["flame", trace, "--cache", &cache, "--format", "json"], true),
        (vec!["flame", trace, "--cache", &cache, "--format", "pprof"], true),
        (vec!["search", trace, "a", "--cache", &cache], true),
        (vec!["symbols", trace, "--cache", &cache], true),
        (vec!["annotate", trace, "main", "--cache", &cache], true),
        // One line per module; this trace has none.
        (vec!["symbols", trace, "--cache", &cache, "--format", "jsonl"], false),
        (vec!["dump", trace, "--cache", &cache], true),
        (vec!["export", trace, "--cache", &cache, "--format", "native", "-o", "-"], true),
        (vec!["export", trace, "--cache", &cache, "--format", "csv", "-o", "/dev/stdout"], true),
        (vec!["synth", "--spans", "1000", "-o", "-"], true),
        (vec!["synth", "--spans", "1000", "--format", "perfetto", "-o", "-"], true),
        (vec!["bench", trace, "--cache", &cache, "--frames", "2"], true),
        (vec!["cache", "list", "--cache", &cache], true),
        (vec!["completions", "bash"], true),
        (vec!["man"], true),
        (vec!["man", "stats"], true),
    ];
    // A file and the output of `listen` are followed forever; the output of a command ends with it.
    commands.push((vec!["tail", "--", "cat", trace], true));
    commands.push((vec!["tail", "--format", "jsonl", "--", "cat", trace], true));
    let recorded = at("recorded.longspan");
    commands.push((vec!["record", "-o", &recorded, "--", "cat", trace], false));
    let (exported, generated, cleared, picture) = (at("out.json"), at("out.longspan"), at("cleared"), at("out.png"));
    commands.push((vec!["export", trace, "--cache", &cache, "-o", &exported], false));
    commands.push((vec!["synth", "--spans", "1000", "-o", &generated], false));
    commands.push((vec!["cache", "clear", "--cache", &cleared], true));
    if cfg!(feature = "window") {
        commands.push((vec!["render", trace, "--cache", &cache, "--size", "64x64", "-o", "-"], true));
        commands.push((vec!["render", trace, "--cache", &cache, "--size", "64x64", "-o", &picture], false));
    }
    let owned = |words: Vec<&str>| words.into_iter().map(str::to_owned).collect();
    commands.into_iter().map(|(words, prints)| (owned(words), prints)).collect()
}

#[test]
fn every_command_survives_a_closed_full_or_broken_stdin_stdout_or_stderr() {
    let folder = folder();
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ugly.json");
    for (args, prints) in commands(text(&trace), folder.path()) {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        for state in ["exec <&-", "exec >&-", "exec 2>&-", "exec >/dev/full", "exec 2>/dev/full"] {
            let output = ended(limited(state, &args));
            let fails = state == "exec >/dev/full" && prints;
            assert_eq!(output.status.code(), Some(i32::from(fails)), "{args:?} with {state}: {}", message(&output));
            assert!(!fails || message(&output).contains("No space left"), "{args:?}: {}", message(&output));
        }
        for is_stdout in [true, false] {
            let (reader, writer) = std::io::pipe().expect("a pipe");
            drop(reader);
            let mut command = longspan(&args);
            let _ = if is_stdout { command.stdout(writer) } else { command.stderr(writer) };
            let output = ended(command);
            assert_eq!(output.status.code(), Some(0), "{args:?}, stdout: {is_stdout}: {}", message(&output));
        }
    }
}

#[test]
fn an_unwritable_generated_trace_is_an_error_in_every_format() {
    for format in ["native", "chrome", "perfetto"] {
        for disorder in ["0", "1"] {
            let args = ["synth", "-o", "/dev/full", "--spans", "400000", "--format", format, "--disorder", disorder];
            let output = ended(longspan(&args));
            assert_eq!(output.status.code(), Some(1), "{args:?}");
            assert!(message(&output).contains("/dev/full: cannot write: No space left"), "{}", message(&output));
        }
    }
}

#[test]
fn a_missing_temporary_folder_is_not_taken_for_the_output_of_a_generated_trace() {
    let mut command = longspan(&["synth", "-o", "/dev/null", "--spans", "1000", "--disorder", "1"]);
    command.env("TMPDIR", "/proc/none");
    let output = ended(command);
    assert_eq!(output.status.code(), Some(1));
    let expected = "/dev/null: cannot write: the temporary folder /proc/none: No such file";
    assert!(message(&output).contains(expected), "{}", message(&output));
}

#[test]
fn a_copy_that_cannot_be_written_is_not_taken_for_an_unreadable_trace() {
    let folder = folder();
    let trace = folder.path().join("a.har.gz");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let har = br#"{"log":{"version":"1.2","creator":{"name":"x"},"entries":[]}}"#;
    std::io::Write::write_all(&mut encoder, har).expect("in memory");
    fs::write(&trace, encoder.finish().expect("in memory")).expect("written");
    let mut command = longspan(&["info", text(&trace)]);
    command.env("TMPDIR", "/proc/none");
    let output = ended(command);
    assert_eq!(output.status.code(), Some(1));
    let expected = "/proc/none: cannot write a temporary copy of the trace: No such file";
    assert!(message(&output).contains(expected) && message(&output).contains("TMPDIR"), "{}", message(&output));
}

#[test]
fn a_disk_that_fills_up_at_any_output_size_leaves_only_the_old_file() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let (trace, cache, target, link) = (json_trace(folder.path(), 4000), at("cache"), at("target"), at("link"));
    symlink("target", &link).expect("a link");
    let parquet = at("parquet");
    fs::create_dir(&parquet).expect("made");
    let export = ["export", text(&trace), "--cache", text(&cache), "-o", text(&link), "--format"];
    let synth = ["synth", "--spans", "20000", "-o", text(&link), "--format"];
    let mut works = vec![];
    for format in ["native", "chrome", "perfetto", "csv"] {
        works.push([&export[..], &[format]].concat());
    }
    works.push([&synth[..], &["native"]].concat());
    works.push([&synth[..], &["chrome"]].concat());
    longspan(&["info", text(&trace), "--cache", text(&cache)]).status().expect("it ends");
    for args in works {
        assert!(longspan(&args).status().expect("it ends").success());
        let whole = fs::read(&target).expect("written");
        let whole_kib = whole.len() as u64 / 1024 + 1;
        let steps = moments(6).min(64);
        for step in 0..=steps {
            fs::write(&target, "old").expect("written");
            fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).expect("changed");
            // The signal of a failed write must not end the program.
            let limit_kib = whole_kib * step / steps;
            let output = ended(limited(&format!("ulimit -f {limit_kib}"), &args));
            let held = fs::read(&target).expect("there");
            if limit_kib < whole_kib {
                assert_eq!(output.status.code(), Some(1), "{args:?} in {limit_kib} KiB: {}", message(&output));
                assert!(message(&output).contains("File too large"), "{}", message(&output));
                assert!(held == b"old", "{args:?} in {limit_kib} KiB");
            } else {
                assert!(output.status.success() && held == whole, "{args:?}: {}", message(&output));
            }
            assert_eq!(fs::metadata(&target).expect("there").mode() & 0o777, 0o600);
            assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
            assert_eq!(files(folder.path()).len(), 5, "{:?}", files(folder.path()));
        }
    }
    let tables = ["export", text(&trace), "--cache", text(&cache), "-o", text(&parquet)];
    for step in 0..8 {
        let output = ended(limited(&format!("ulimit -f {step}"), &tables));
        assert_eq!(output.status.code(), Some(1), "{}", message(&output));
        assert_eq!((files(folder.path()).len(), files(&parquet).len()), (5, 0));
    }
}

#[test]
fn a_disk_that_fills_up_at_any_point_of_a_load_is_an_error_and_leaves_no_file() {
    let folder = folder();
    // The events take more than half of the budget, so they are spilled.
    let (trace, cache) = (json_trace(folder.path(), 150_000), folder.path().join("cache"));
    let args = ["info", "--cache", text(&cache), text(&trace), "--memory", "8MiB"];
    assert!(longspan(&args).status().expect("it ends").success());
    let store_kib = fs::metadata(&files(&cache)[0]).expect("a cached store").len() / 1024;
    longspan(&["cache", "clear", "--cache", text(&cache)]).status().expect("it ends");
    let steps = moments(12).min(64);
    for step in 0..steps {
        let output = ended(limited(&format!("ulimit -f {}", store_kib * step / steps), &args));
        assert_eq!(output.status.code(), Some(1), "{}", message(&output));
        assert!(message(&output).contains("File too large"), "{}", message(&output));
        assert!(files(&cache).is_empty(), "{:?}", files(&cache));
    }
}

#[test]
fn a_replaced_file_keeps_its_owner_if_permitted() {
    let folder = folder();
    let (trace, out) = (json_trace(folder.path(), 10), folder.path().join("out.csv"));
    fs::write(&out, "old").expect("written");
    fs::set_permissions(&out, fs::Permissions::from_mode(0o640)).expect("changed");
    let owner = std::os::unix::fs::chown(&out, Some(12345), Some(12346)).map_or(None, |()| Some((12345, 12346)));
    assert!(longspan(&["export", text(&trace), "--no-cache", "-o", text(&out)]).status().expect("it ends").success());
    let metadata = fs::metadata(&out).expect("there");
    let owner = owner.unwrap_or((metadata.uid(), metadata.gid()));
    assert_eq!((metadata.mode() & 0o777, metadata.uid(), metadata.gid()), (0o640, owner.0, owner.1));
    assert!(metadata.len() > 3);
}

#[test]
fn an_incomplete_recording_replaces_no_earlier_one_and_its_data_is_kept() {
    let folder = folder();
    let (trace, out) = (json_trace(folder.path(), 4000), folder.path().join("out.longspan"));
    let (record, spool) =
        (["record", "-o", text(&out), "--", "cat", text(&trace)], folder.path().join("out.longspan.spool"));
    fs::write(&out, "earlier").expect("written");
    let output = ended(limited("ulimit -f 8", &record));
    assert_eq!(output.status.code(), Some(1));
    for part in ["File too large", "all received data is kept: ", "out.longspan: is left unchanged"] {
        assert!(message(&output).contains(part), "{}", message(&output));
    }
    assert_eq!((fs::read(&out).expect("there"), spool.exists()), (b"earlier".to_vec(), true));
    fs::remove_file(&spool).expect("removed");
    // A program that is killed has ended, and its output is the recording.
    let script = format!("head -c 9000 {}; kill -9 $$", text(&trace));
    let output = ended(longspan(&["record", "-o", text(&out), "--", "sh", "-c", &script]));
    assert!(output.status.success() && message(&output).contains("ended with signal: 9"), "{}", message(&output));
    assert!(fs::read(&out).expect("there") != b"earlier" && !spool.exists());
}

#[test]
fn a_result_written_to_a_full_disk_is_an_error() {
    let folder = folder();
    let (trace, out) = (json_trace(folder.path(), 4000), folder.path().join("out"));
    let mut command = limited("ulimit -f 8", &["spans", text(&trace), "--cache", text(&folder.path().join("c"))]);
    longspan(&["info", text(&trace), "--cache", text(&folder.path().join("c"))]).status().expect("it ends");
    command.stdout(Stdio::from(File::create(&out).expect("made")));
    let output = ended(command);
    assert_eq!(output.status.code(), Some(1));
    assert!(message(&output).contains("cannot write the result: File too large"), "{}", message(&output));
}

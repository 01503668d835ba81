//! Cached stores that another program has altered, with every command. The command detects the damage, sorts the trace
//! again, and starts over before it replaces a file. If stdout was already written, it reports incomplete output.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::harness::{Random, files, folder, json_trace, longspan, moments, native_trace};

fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are text")
}

struct CachedStore {
    cache: PathBuf,
    store: PathBuf,
    bytes: Vec<u8>,
}

impl CachedStore {
    /// Returns the cached store of `trace`.
    fn of(trace: &Path, cache: PathBuf) -> Self {
        let output = longspan(&["info", text(trace), "--cache", text(&cache)]).output().expect("it ends");
        assert!(output.status.success(), "{output:?}");
        let store = files(&cache).pop().expect("a cached store");
        let bytes = fs::read(&store).expect("there");
        Self { cache, store, bytes }
    }

    /// Restores the store except for one bit.
    fn alter(&self, place: usize) {
        fs::write(&self.store, &self.bytes).expect("written");
        let file = File::options().write(true).open(&self.store).expect("there");
        file.write_all_at(&[self.bytes[place] ^ (1 << (place % 8))], place as u64).expect("altered");
    }
}

fn message(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the output file of a command, or its stdout, without parts that differ between runs.
fn result(args: &[&str], output: &Output, out: &Path) -> Vec<u8> {
    if args.contains(&"-o") {
        return fs::read(out).expect("written");
    }
    if args[0] == "spans" || args[0] == "stats" || args[0] == "dump" {
        return output.stdout.clone();
    }
    let mut object: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    if args[0] == "bench" {
        return serde_json::to_vec(&object["spans"]).expect("JSON");
    }
    object["load"].take();
    serde_json::to_vec(&object).expect("JSON")
}

#[test]
fn every_command_rebuilds_a_damaged_store_and_writes_the_same_output() {
    let folder = folder();
    let (trace, out) = (native_trace(folder.path(), 1500), folder.path().join("out"));
    let cached = CachedStore::of(&trace, folder.path().join("cache"));
    let load = [text(&trace), "--cache", text(&cached.cache)];
    let mut commands: Vec<Vec<&str>> = vec![
        [&["info", "--json"], &load[..]].concat(),
        [&["spans"], &load[..]].concat(),
        [&["stats"], &load[..]].concat(),
        [&["bench", "--frames", "4", "--size", "200x200"], &load[..]].concat(),
        [&["dump"], &load[..]].concat(),
    ];
    for format in ["native", "chrome", "perfetto", "csv"] {
        commands.push([&["export", "-o", text(&out), "--format", format], &load[..]].concat());
    }
    if cfg!(feature = "window") {
        commands.push([&["render", "-o", text(&out), "--size", "320x240"], &load[..]].concat());
    }
    let mut random = Random(11);
    let (mut sorted_again, mut streamed) = (0, 0);
    for args in &commands {
        fs::write(&cached.store, &cached.bytes).expect("written");
        let whole = longspan(args).output().expect("it ends");
        assert!(whole.status.success(), "{args:?}: {}", message(&whole));
        let expected = result(args, &whole, &out);
        // Each image takes as long as ten tables.
        let places = if matches!(args[0], "render" | "bench") { moments(3).min(60) } else { moments(10).min(300) };
        for _ in 0..places {
            fs::write(&out, "old").expect("written");
            cached.alter(random.below(cached.bytes.len() as u64) as usize);
            let output = longspan(args).output().expect("it ends");
            if output.status.code() == Some(1) {
                // Some of the output was written before the damage was detected.
                assert!(["spans", "dump"].contains(&args[0]), "{args:?}: {}", message(&output));
                assert!(message(&output).contains("the output is incomplete"), "{}", message(&output));
                assert!(!output.stdout.is_empty() && expected.starts_with(&output.stdout) && !cached.store.exists());
                streamed += 1;
                continue;
            }
            assert!(output.status.success(), "{args:?}: {}", message(&output));
            assert!(result(args, &output, &out) == expected, "{args:?}: {}", message(&output));
            sorted_again += u64::from(message(&output).contains("is sorted again"));
        }
    }
    assert!(sorted_again > 5, "{sorted_again} times sorted again, {streamed} times too late for it");
}

#[test]
fn a_damaged_store_is_streamed_completely_or_ends_with_an_error() {
    let folder = folder();
    // Rows are read ahead of the output, so the damage of a short trace is found before anything is written.
    let trace = json_trace(folder.path(), 100_000);
    let cached = CachedStore::of(&trace, folder.path().join("cache"));
    let args = ["export", text(&trace), "--cache", text(&cached.cache), "--format", "csv", "-o", "-"];
    let expected = longspan(&args).output().expect("it ends").stdout;
    assert!(expected.len() > 1 << 20, "more than a buffer");
    let (mut whole, mut cut) = (0, 0);
    for part in 1..8 {
        cached.alter(cached.bytes.len() * part / 8);
        let output = longspan(&args).output().expect("it ends");
        match output.status.code() {
            Some(0) => {
                assert!(output.stdout == expected, "part {part}: {}", message(&output));
                whole += 1;
            }
            Some(1) => {
                assert!(message(&output).contains("the output is incomplete"), "{}", message(&output));
                assert!(expected.starts_with(&output.stdout), "part {part}: what is out is right as far as it goes");
                cut += 1;
            }
            other => panic!("{other:?}: {}", message(&output)),
        }
        assert!(longspan(&args).output().expect("it ends").stdout == expected, "the next start is right");
    }
    assert!(whole > 0 && cut > 0, "{whole} whole, {cut} cut");
}

#[test]
fn a_damaged_store_that_cannot_be_removed_is_not_used() {
    let folder = folder();
    let (trace, out) = (native_trace(folder.path(), 1500), folder.path().join("out.csv"));
    let cached = CachedStore::of(&trace, folder.path().join("cache"));
    let args = ["export", text(&trace), "--cache", text(&cached.cache), "-o", text(&out)];
    assert!(longspan(&args).status().expect("it ends").success());
    let expected = fs::read(&out).expect("written");
    cached.alter(cached.bytes.len() / 4);
    // With this flag, even root cannot remove files from the folder.
    let has_flag = std::process::Command::new("chattr").args(["+i", text(&cached.cache)]).status();
    if !has_flag.is_ok_and(|status| status.success()) {
        fs::set_permissions(&cached.cache, std::os::unix::fs::PermissionsExt::from_mode(0o500)).expect("changed");
    }
    let output = longspan(&args).output().expect("it ends");
    std::process::Command::new("chattr").args(["-i", text(&cached.cache)]).status().ok();
    fs::set_permissions(&cached.cache, std::os::unix::fs::PermissionsExt::from_mode(0o700)).expect("changed");
    assert!(output.status.success(), "{}", message(&output));
    assert!(fs::read(&out).expect("written") == expected, "{}", message(&output));
    assert!(message(&output).contains("is sorted again"), "{}", message(&output));
}

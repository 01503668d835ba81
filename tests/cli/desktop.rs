//! What the desktop is told, asked of the desktop's own tools in a home that is new.

use std::path::Path;
use std::process::{Command, Output};

/// Runs a program in a home of its own; nothing of the machine's own desktop is seen.
fn run(home: &Path, program: &str, words: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.args(words).env("HOME", home).env("XDG_DATA_HOME", home.join("data"));
    command.env("XDG_CONFIG_HOME", home.join("config")).env("XDG_CURRENT_DESKTOP", "GNOME");
    command.output().unwrap_or_else(|error| panic!("{program}: {error}; `.ci/setup` installs it"))
}

/// The program that opens files of a kind, as the desktops' common tool tells it.
fn default_for(home: &Path, kind: &str) -> String {
    said(&run(home, "xdg-mime", &["query", "default", kind])).trim_end().to_owned()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_double_click_opens_a_capture_after_the_install_and_no_longer_after_it_is_undone() {
    let home = tempfile::tempdir().expect("a folder for temporary files");
    let longspan = env!("CARGO_BIN_EXE_longspan");
    let installed = run(home.path(), longspan, &["--install-desktop"]);
    assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
    let names = [
        ("a.longspan", "application/vnd.longspan.trace"),
        ("a.pftrace", "application/vnd.perfetto.trace"),
        ("a.trace.json", "application/vnd.chrome-trace+json"),
        ("a.trace.json.gz", "application/vnd.chrome-trace+gzip"),
        ("a.speedscope.json", "application/vnd.speedscope+json"),
        ("a.pftrace.gz", "application/vnd.perfetto.trace+gzip"),
        ("a.perfetto-trace.zst", "application/vnd.perfetto.trace+zstd"),
        ("a.spall.gz", "application/vnd.spall.trace+gzip"),
        ("a.cpuprofile.gz", "application/vnd.v8.cpuprofile+gzip"),
        ("a.json", "application/json"),
        ("a.json.gz", "application/gzip"),
    ];
    for (name, kind) in names {
        let path = home.path().join(name);
        std::fs::write(&path, if name.contains("json") { "[]" } else { "x" }).expect("written");
        let info = said(&run(home.path(), "gio", &["info", "-a", "standard::content-type", &path.to_string_lossy()]));
        assert!(info.contains(&format!("content-type: {kind}\n")), "{name}: {info}");
        if kind.contains("vnd") {
            let program = said(&run(home.path(), "gio", &["mime", kind]));
            assert!(program.contains("longspan.desktop"), "{kind}: {program}");
            assert_eq!(default_for(home.path(), kind), "longspan.desktop", "{kind}");
        } else {
            assert_ne!(default_for(home.path(), kind), "longspan.desktop", "{kind} belongs to others");
        }
    }
    // A capture without an ending is known by how it begins.
    let unnamed = home.path().join("unnamed");
    let written =
        run(home.path(), longspan, &["synth", "-o", &unnamed.to_string_lossy(), "--spans", "10", "--format", "native"]);
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    let info = said(&run(home.path(), "gio", &["info", "-a", "standard::content-type", &unnamed.to_string_lossy()]));
    assert!(info.contains("application/vnd.longspan.trace"), "{info}");
    let told = said(&run(home.path(), "xdg-mime", &["query", "filetype", &unnamed.to_string_lossy()]));
    assert_eq!(told.trim_end(), "application/vnd.longspan.trace");
    let undone = run(home.path(), longspan, &["--uninstall-desktop"]);
    assert!(undone.status.success(), "{}", String::from_utf8_lossy(&undone.stderr));
    let program = said(&run(home.path(), "gio", &["mime", "application/vnd.longspan.trace"]));
    assert!(!program.contains("longspan.desktop"), "{program}");
    assert_eq!(default_for(home.path(), "application/vnd.longspan.trace"), "");
    assert!(!home.path().join("data/applications/longspan.desktop").exists());
}

//! Desktop integration, checked with the tools of the desktop in a new home folder.

use std::path::Path;
use std::process::{Command, Output};

/// Runs a program in its own home folder, isolated from the desktop of the machine.
fn run(home: &Path, program: &str, args: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.args(args).env("HOME", home).env("XDG_DATA_HOME", home.join("data"));
    command.env("XDG_CONFIG_HOME", home.join("config")).env("XDG_CURRENT_DESKTOP", "GNOME");
    let system = format!("{}:/usr/local/share:/usr/share", home.join("system").display());
    command.env("XDG_DATA_DIRS", system).env("LC_ALL", "C.UTF-8");
    command.output().unwrap_or_else(|error| panic!("{program}: {error}; `.ci/setup` installs it"))
}

/// Returns the default program for a MIME type, by xdg-mime.
fn default_for(home: &Path, kind: &str) -> String {
    stdout_of(&run(home, "xdg-mime", &["query", "default", kind])).trim_end().to_owned()
}

fn stdout_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns the MIME type of a file, like file managers.
fn kind_of(home: &Path, path: &Path) -> String {
    stdout_of(&run(home, "gio", &["info", "-a", "standard::content-type", &path.to_string_lossy()]))
}

/// Installs a system-wide program for some MIME types.
fn install_system_program(home: &Path, name: &str, kinds: &[&str]) {
    let folder = home.join("system/applications");
    std::fs::create_dir_all(&folder).expect("a folder");
    let entry =
        format!("[Desktop Entry]\nType=Application\nName={name}\nExec=true %f\nMimeType={};\n", kinds.join(";"));
    std::fs::write(folder.join(format!("{name}.desktop")), entry).expect("written");
    let cache = folder.join("mimeinfo.cache");
    let mut known = std::fs::read_to_string(&cache).unwrap_or_else(|_| "[MIME Cache]\n".to_owned());
    known.extend(kinds.iter().map(|kind| format!("{kind}={name}.desktop;\n")));
    std::fs::write(cache, known).expect("written");
}

#[test]
fn json_and_gzip_files_can_be_opened_with_longspan_and_keep_their_default_program() {
    let home = tempfile::tempdir().expect("a folder for temporary files");
    install_system_program(home.path(), "editor", &["text/plain"]);
    install_system_program(home.path(), "archiver", &["application/gzip"]);
    let longspan = env!("CARGO_BIN_EXE_longspan");
    let installed = run(home.path(), longspan, &["--install-desktop"]);
    assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
    for (kind, before) in [("application/json", "editor.desktop"), ("application/gzip", "archiver.desktop")] {
        let programs = stdout_of(&run(home.path(), "gio", &["mime", kind]));
        let default = programs.lines().next().unwrap_or_default();
        assert!(default.ends_with(before), "{kind}: {programs}");
        assert!(programs.contains("longspan.desktop"), "{kind}: {programs}");
    }
    let own = stdout_of(&run(home.path(), "gio", &["mime", "application/vnd.spall.trace"]));
    assert!(own.lines().next().is_some_and(|line| line.ends_with("longspan.desktop")), "{own}");
}

#[test]
fn a_tool_of_the_desktop_that_fails_is_told_from_an_absent_one() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = tempfile::tempdir().expect("a folder for temporary files");
    let tools = home.path().join("tools");
    std::fs::create_dir(&tools).expect("a folder");
    let install = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_longspan"));
        command.arg("--install-desktop").env("PATH", &tools).env("HOME", home.path());
        stdout_of(&command.env("XDG_DATA_HOME", home.path().join("data")).output().expect("it ends"))
    };
    let printed = install();
    assert!(printed.contains("update-mime-database is not installed; some desktops"), "{printed}");
    let tool = tools.join("update-mime-database");
    std::fs::write(&tool, "#!/bin/sh\nexit 3\n").expect("written");
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).expect("permitted");
    let printed = install();
    assert!(printed.contains("update-mime-database failed (exit status: 3); some desktops"), "{printed}");
}

#[test]
fn traces_without_an_extension_have_a_mime_type_by_content_and_an_icon() {
    let home = tempfile::tempdir().expect("a folder for temporary files");
    let installed = run(home.path(), env!("CARGO_BIN_EXE_longspan"), &["--install-desktop"]);
    assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
    let speedscope =
        r#"{"version":"0.0.1","$schema":"https://www.speedscope.app/file-format-schema.json","shared":{}}"#;
    let pyspy = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/pyspy.speedscope.json"));
    for (name, content, kind) in [
        ("profile.json", speedscope, "application/vnd.speedscope+json"),
        ("pyspy.json", &*pyspy.expect("it is part of the repository"), "application/vnd.speedscope+json"),
        ("schema.json", r#"{"$schema":"http://json-schema.org/draft-07/schema#"}"#, "application/schema+json"),
        ("chrome.json", r#"{"displayTimeUnit":"ns","traceEvents":[]}"#, "application/vnd.chrome-trace+json"),
        (
            "array.json",
            "[\n{\"name\":\"a\",\"ph\":\"X\",\"ts\":1,\"dur\":2,\"pid\":1,\"tid\":1}]",
            "application/vnd.chrome-trace+json",
        ),
        ("list.json", "[1, 2]", "application/json"),
        ("recorded", "PERFILE2 and the rest", "application/vnd.linux.perf-data"),
        ("perf.data", "PERFILE2 and the rest", "application/vnd.linux.perf-data"),
        ("perf.data.old", "PERFILE2 and the rest", "application/vnd.linux.perf-data"),
    ] {
        let path = home.path().join(name);
        std::fs::write(&path, content).expect("written");
        let info = kind_of(home.path(), &path);
        assert!(info.contains(&format!("content-type: {kind}\n")), "{name}: {info}");
        let icon = stdout_of(&run(home.path(), "gio", &["info", "-a", "standard::icon", &path.to_string_lossy()]));
        let is_ours = kind.starts_with("application/vnd.");
        assert_eq!(icon.contains("application-vnd.longspan.trace,"), is_ours, "{name}: {icon}");
    }
    let icon = "data/icons/hicolor/scalable/mimetypes/application-vnd.longspan.trace.svg";
    assert!(home.path().join(icon).is_file());
}

#[test]
fn traces_open_by_a_double_click_after_the_install_and_not_after_the_uninstall() {
    let home = tempfile::tempdir().expect("a folder for temporary files");
    install_system_program(home.path(), "editor", &["application/json", "application/gzip"]);
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
        let info = kind_of(home.path(), &path);
        assert!(info.contains(&format!("content-type: {kind}\n")), "{name}: {info}");
        if kind.contains("vnd") {
            let program = stdout_of(&run(home.path(), "gio", &["mime", kind]));
            assert!(program.contains("longspan.desktop"), "{kind}: {program}");
            assert_eq!(default_for(home.path(), kind), "longspan.desktop", "{kind}");
        } else {
            assert_ne!(default_for(home.path(), kind), "longspan.desktop", "{kind} belongs to others");
        }
    }
    // A trace without an extension is recognised by its first bytes.
    let unnamed = home.path().join("unnamed");
    let written =
        run(home.path(), longspan, &["synth", "-o", &unnamed.to_string_lossy(), "--spans", "10", "--format", "native"]);
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    let info =
        stdout_of(&run(home.path(), "gio", &["info", "-a", "standard::content-type", &unnamed.to_string_lossy()]));
    assert!(info.contains("application/vnd.longspan.trace"), "{info}");
    let kind = stdout_of(&run(home.path(), "xdg-mime", &["query", "filetype", &unnamed.to_string_lossy()]));
    assert_eq!(kind.trim_end(), "application/vnd.longspan.trace");
    let undone = run(home.path(), longspan, &["--uninstall-desktop"]);
    assert!(undone.status.success(), "{}", String::from_utf8_lossy(&undone.stderr));
    let program = stdout_of(&run(home.path(), "gio", &["mime", "application/vnd.longspan.trace"]));
    assert!(!program.contains("longspan.desktop"), "{program}");
    assert_eq!(default_for(home.path(), "application/vnd.longspan.trace"), "");
    assert!(!home.path().join("data/applications/longspan.desktop").exists());
}

//! The window on a Wayland compositor: a headless sway, with a virtual pointer and keyboard, and common tools. A
//! missing tool is a failure that names `.ci/setup`.

mod close;
mod desktop;
mod display;
mod paste;
mod pointer;

use std::cell::RefCell;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::screenshot::{CANVAS, Screenshot};
use crate::session::{Process, SESSION_LOCK, spawn, wait_for};
use pointer::Pointer;

/// Timeout of a wait: more than any takes, also on a busy machine.
const LIMIT: Duration = Duration::from_mins(1);
const PAUSE: Duration = Duration::from_millis(25);

/// The size of the only output.
const SIZE: (usize, usize) = (1280, 800);

const SETTINGS: &str =
    "output HEADLESS-1 mode 1280x800\nxwayland disable\ndefault_border none\nfocus_follows_mouse no\n";

/// The programs of a Wayland test, with their Debian packages.
const TOOLS: &[(&str, &str)] = &[
    ("sway", "sway"),
    ("swaymsg", "sway"),
    ("grim", "grim"),
    ("wtype", "wtype"),
    ("wl-copy", "wl-clipboard"),
    ("setpriv", "util-linux"),
];

/// The user of the compositor if the tests run as root, which sway refuses.
const NOBODY: (u32, u32) = (65534, 65534);

/// A compositor for one test, with an empty home. Both end with the test.
pub(crate) struct Sway {
    pointer: RefCell<Pointer>,
    _keyboard: Process,
    pub process: Process,
    /// The runtime folder of the compositor, which may belong to another user.
    runtime: tempfile::TempDir,
    /// The home folder of the program.
    pub home: tempfile::TempDir,
    _lock: MutexGuard<'static, ()>,
}

impl Sway {
    pub(crate) fn new() -> Self {
        check_tools();
        let lock = SESSION_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        let home = tempfile::tempdir().expect("a folder for temporary files");
        fs::set_permissions(home.path(), Permissions::from_mode(0o700)).expect("the folder belongs to this user");
        let runtime = tempfile::tempdir().expect("a folder for temporary files");
        fs::set_permissions(runtime.path(), Permissions::from_mode(0o700)).expect("the folder belongs to this user");
        let settings = runtime.path().join("config");
        fs::write(&settings, SETTINGS).expect("written");
        let is_root = fs::metadata(runtime.path()).expect("it was just made").uid() == 0;
        let mut command = if is_root {
            for path in [runtime.path(), &settings] {
                chown(path, Some(NOBODY.0), Some(NOBODY.1)).expect("root may give files away");
            }
            let mut command = Command::new("setpriv");
            command.arg(format!("--reuid={}", NOBODY.0)).arg(format!("--regid={}", NOBODY.1));
            command.args(["--clear-groups", "sway"]);
            command
        } else {
            Command::new("sway")
        };
        command.arg("-c").arg(&settings).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").env_remove("DBUS_SESSION_BUS_ADDRESS");
        command.env("HOME", runtime.path()).env("XDG_RUNTIME_DIR", runtime.path());
        command.env("SWAYSOCK", runtime.path().join("ipc"));
        command.envs([("WLR_BACKENDS", "headless"), ("WLR_RENDERER", "pixman"), ("WLR_LIBINPUT_NO_DEVICES", "1")]);
        let process = spawn(&mut command);
        wait_for("the compositor runs", || {
            let mut command = client("swaymsg", runtime.path(), home.path());
            let outputs = command.args(["-t", "get_outputs"]).output().expect("swaymsg runs").stdout;
            let is_ready = socket_in(runtime.path()).exists() && outputs.windows(8).any(|part| part == b"HEADLESS");
            is_ready.then_some(())
        });
        // Both stay connected, because a window misses the first keys of a new keyboard.
        let mut command = client("wtype", runtime.path(), home.path());
        let keyboard = spawn(command.args(["-s", "2000000000"]));
        let pointer = RefCell::new(Pointer::new(&socket_in(runtime.path()), SIZE));
        let sway = Self { pointer, _keyboard: keyboard, process, runtime, home, _lock: lock };
        wait_for("a keyboard", || sway.swaymsg(&["-t", "get_inputs"]).contains("\"keyboard\"").then_some(()));
        sway
    }

    /// Writes a file into the home of the test.
    pub(crate) fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.home.path().join(name);
        fs::write(&path, content).expect("written");
        path
    }

    /// Returns the command of a program on this compositor, in the home of the test.
    fn client(&self, name: &str) -> Command {
        client(name, self.runtime.path(), self.home.path())
    }

    /// Returns the command of the program with these arguments.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.client(env!("CARGO_BIN_EXE_longspan"));
        command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Opens the window and waits for its first frame.
    pub(crate) fn open(&self, args: &[&str]) -> Client<'_> {
        self.open_command(&mut self.command(args))
    }

    pub(crate) fn open_command(&self, command: &mut Command) -> Client<'_> {
        let client = Client { sway: self, process: spawn(command) };
        client.wait_for("the first frame", |client| (client.sway.screenshot().count(CANVAS) > 1000).then_some(()));
        client
    }

    /// Returns the output of a tool.
    pub(crate) fn tool(&self, name: &str, args: &[&str]) -> String {
        String::from_utf8_lossy(&self.output(name, args).stdout).into_owned()
    }

    fn output(&self, name: &str, args: &[&str]) -> Output {
        self.client(name).args(args).output().unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn swaymsg(&self, args: &[&str]) -> String {
        self.tool("swaymsg", args)
    }

    /// Takes a screenshot of the output.
    pub(crate) fn screenshot(&self) -> Screenshot {
        let taken = self.output("grim", &["-t", "ppm", "-"]);
        Screenshot::of_ppm(&taken.stdout).expect("grim writes a PPM image of the output")
    }

    /// Copies a text to the clipboard, as the MIME type `kind`.
    pub(crate) fn copy(&self, text: &str, kind: &str) {
        let from = self.file("copied", text);
        let from = fs::File::open(from).expect("it was just written");
        let mut command = self.client("wl-copy");
        // It continues to serve the text in the background, with its inherited handles.
        command.args(["--type", kind]).stdin(from).stdout(Stdio::null()).stderr(Stdio::null());
        assert!(command.status().expect("wl-copy runs").success(), "wl-copy");
    }

    /// Presses and releases a key, with modifiers.
    pub(crate) fn key(&self, modifiers: &[&str], key: &str) {
        let mut args: Vec<&str> = modifiers.iter().flat_map(|modifier| ["-M", modifier]).collect();
        args.extend(["-k", key]);
        args.extend(modifiers.iter().flat_map(|modifier| ["-m", modifier]));
        self.tool("wtype", &args);
    }

    pub(crate) fn click(&self, at: (usize, usize)) {
        self.pointer.borrow_mut().click(at);
    }
}

/// The program on a compositor.
pub(crate) struct Client<'a> {
    pub sway: &'a Sway,
    pub process: Process,
}

impl Client<'_> {
    #[track_caller]
    pub(crate) fn wait_for<T>(&self, what: &str, mut find: impl FnMut(&Self) -> Option<T>) -> T {
        let began = Instant::now();
        loop {
            if let Some(found) = find(self) {
                return found;
            }
            if began.elapsed() > LIMIT {
                let path =
                    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.png", what.replace([' ', '/'], "_")));
                self.sway.screenshot().save(&path);
                panic!("timed out waiting for: {what}; the screenshot is {}", path.display());
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Returns the windows of the compositor, as JSON.
    pub(crate) fn tree(&self) -> String {
        self.sway.swaymsg(&["-t", "get_tree", "--raw"])
    }

    #[track_caller]
    pub(crate) fn wait_for_title(&self, title: &str) {
        let field = format!("\"name\": \"{title}\"");
        self.wait_for(&format!("the title {title}"), |client| client.tree().contains(&field).then_some(()));
    }

    /// Returns whether the program has ended.
    pub(crate) fn has_ended(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.0.id())).unwrap_or_default();
        // The state follows the name, which may contain spaces.
        stat.rsplit(") ").next().is_none_or(|rest| rest.starts_with('Z'))
    }

    /// Waits for the end of the program, and returns its exit status and the text on stderr.
    #[track_caller]
    pub(crate) fn end(mut self) -> (std::process::ExitStatus, String) {
        let began = Instant::now();
        while self.process.0.try_wait().expect("a child").is_none() {
            assert!(began.elapsed() < LIMIT, "timed out waiting for the end of the program");
            std::thread::sleep(PAUSE);
        }
        let status = self.process.0.wait().expect("a child");
        let stderr = self.process.0.stderr.take().expect("a pipe");
        (status, std::io::read_to_string(stderr).expect("a pipe"))
    }

    /// Like [`Self::end`], and asserts that the program ended well.
    #[track_caller]
    pub(crate) fn assert_ends_well(self, how: &str) {
        let (status, stderr) = self.end();
        assert!(status.code() == Some(0) && stderr.is_empty(), "{how}: {status}: {stderr}");
    }
}

fn socket_in(runtime: &Path) -> PathBuf {
    runtime.join("wayland-1")
}

/// Returns the command of a program on the compositor with this folder, in a home.
fn client(name: &str, runtime: &Path, home: &Path) -> Command {
    let mut command = Command::new(name);
    command.env_remove("DISPLAY").env_remove("DBUS_SESSION_BUS_ADDRESS").env_remove("WAYLAND_SOCKET");
    command.env("WAYLAND_DISPLAY", socket_in(runtime)).env("SWAYSOCK", runtime.join("ipc"));
    command.env("HOME", home).env("XDG_RUNTIME_DIR", home);
    for (variable, folder) in [("CACHE", "cache"), ("CONFIG", "config"), ("STATE", "state")] {
        command.env(format!("XDG_{variable}_HOME"), home.join(folder));
    }
    command.current_dir(home).stdin(Stdio::null());
    command
}

/// Fails immediately with the names of all missing tools.
fn check_tools() {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |tool: &str| std::env::split_paths(&path).any(|folder| folder.join(tool).is_file());
    let missing: Vec<_> = TOOLS.iter().filter(|(tool, _)| !is_there(tool)).map(|(_, package)| *package).collect();
    assert!(missing.is_empty(), "tests of Wayland need {}; `.ci/setup` installs them", missing.join(", "));
}

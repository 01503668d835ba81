//! A session for one test: an X server in memory, a window manager, an empty home, and the program. All of it ends with
//! the test, also after a failure. Tests wait for events, never for a fixed time. Programs run in a clean environment,
//! without the desktop session, settings, language or graphics card of the user.

use std::fmt::Debug;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::accessibility::ScreenReader;
use crate::screenshot::{CANVAS, Color, Rect, Screenshot};

/// Timeout of a wait: far more than any takes, also on a busy machine.
const LIMIT: Duration = Duration::from_mins(2);
/// The pause between polls; one of the two CPUs is for the program under test.
const PAUSE: Duration = Duration::from_millis(25);
/// A window has finished its work if it is idle and unchanged for this long.
const STILL: Duration = Duration::from_millis(200);

/// Allows one session at a time: two software renderers slow each other down, and some tests measure times.
pub(crate) static SESSION_LOCK: Mutex<()> = Mutex::new(());

/// Windows without frames in the upper left corner, so that window coordinates are screen coordinates.
const MANAGER_SETTINGS: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<openbox_config xmlns="http://openbox.org/3.4/rc">
  <focus><focusNew>yes</focusNew></focus>
  <applications><application class="*"><decor>no</decor><focus>yes</focus>
    <position force="yes"><x>0</x><y>0</y></position></application></applications>
</openbox_config>"#;

/// A process that is killed with the test.
pub(crate) struct Process(pub Child);

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().ok(); // it may have ended by itself
        self.0.wait().ok();
    }
}

pub(crate) struct Session {
    // Fields are dropped in this order, with the server last.
    _manager: Process,
    _server: Process,
    display: String,
    /// The screen reader, if the test has one.
    pub reader: Option<ScreenReader>,
    pub folder: tempfile::TempDir,
    _lock: MutexGuard<'static, ()>,
}

impl Session {
    pub(crate) fn new() -> Self {
        Self::with_screen(1920, 1080)
    }

    /// Creates a session with a screen reader.
    pub(crate) fn with_screen_reader() -> Self {
        let mut session = Self::new();
        session.reader = Some(ScreenReader::new(&session));
        session
    }

    pub(crate) fn with_screen(width: usize, height: usize) -> Self {
        let lock = SESSION_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let mut args = isolated_command("Xvfb", folder.path());
        args.args(["-displayfd", "1", "-screen", "0", &format!("{width}x{height}x24")]);
        args.args(["-nolisten", "tcp", "-noreset", "-fbdir"]);
        let mut server = spawn(args.arg(folder.path()).stdout(Stdio::piped()).stderr(Stdio::null()));
        let mut number = String::new();
        let stdout = server.0.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut number).expect("the X server prints its number");
        assert!(!number.trim().is_empty(), "the X server does not start");
        let display = format!(":{}", number.trim());
        let settings = folder.path().join("openbox.xml");
        std::fs::write(&settings, MANAGER_SETTINGS).expect("written");
        let mut args = isolated_command("openbox", folder.path());
        args.arg("--sm-disable").arg("--config-file").arg(&settings).env("DISPLAY", &display);
        let manager = spawn(args.stderr(Stdio::null()));
        let session = Self { _manager: manager, _server: server, display, reader: None, folder, _lock: lock };
        wait_for("the window manager runs", || {
            session.tool("xprop", &["-root", "_NET_SUPPORTING_WM_CHECK"]).contains("window id").then_some(())
        });
        session
    }

    /// Writes a file into the folder of the test.
    pub(crate) fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).expect("written");
        path
    }

    pub(crate) fn display(&self) -> &str {
        &self.display
    }

    pub(crate) fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    /// Returns the command of the program with these arguments, in this session.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_longspan"));
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Programs for dialogs may be installed: this `PATH` is a missing folder, so none is found.
        command.env("WINIT_X11_SCALE_FACTOR", "1").env("PATH", self.folder.path().join("no programs"));
        command.envs(self.reader.iter().map(|reader| ("DBUS_SESSION_BUS_ADDRESS", &reader.address)));
        command.current_dir(self.folder.path());
        command
    }

    /// Opens the window with these arguments and waits for its first frame.
    pub(crate) fn open(&self, args: &[&str]) -> Window<'_> {
        self.open_command(&mut self.command(args))
    }

    /// Like [`Self::open`], with a modified command.
    pub(crate) fn open_command(&self, command: &mut Command) -> Window<'_> {
        self.open_command_on_canvas(command, CANVAS)
    }

    /// Like [`Self::open_command`], with another canvas colour.
    pub(crate) fn open_command_on_canvas(&self, command: &mut Command, canvas: Color) -> Window<'_> {
        let began = Instant::now();
        let mut process = spawn(command);
        let stderr = process.0.stderr.take();
        let pid = process.0.id().to_string();
        let screen = self.folder.path().join("Xvfb_screen0");
        let mut window =
            Window { session: self, process, stderr, screen, id: String::new(), first_frame: Duration::ZERO };
        window.wait_for("the first frame", |window| (window.screenshot().count(canvas) > 1000).then_some(()));
        window.first_frame = began.elapsed();
        window.id = window.wait_for("the window has the keyboard focus", |window| {
            let ids = window.session.tool("xdotool", &["search", "--onlyvisible", "--pid", &pid]);
            let id = ids.lines().last()?.to_owned();
            (window.session.tool("xdotool", &["getwindowfocus"]).trim() == id).then_some(id)
        });
        window
    }

    /// Returns the command of another program on this display.
    pub(crate) fn program(&self, name: &str) -> Command {
        let mut command = isolated_command(name, self.folder.path());
        command.env("DISPLAY", self.display());
        command
    }

    /// Runs a tool on this display and returns its output.
    pub(crate) fn tool(&self, name: &str, args: &[&str]) -> String {
        match self.program(name).args(args).output() {
            Ok(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
            Err(error) => panic!("{name}: {error}; `.ci/setup` installs it"),
        }
    }
}

pub(crate) struct Window<'a> {
    pub session: &'a Session,
    pub process: Process,
    stderr: Option<ChildStderr>,
    screen: PathBuf,
    id: String,
    /// Time from the start of the program to the first visible pixels.
    pub first_frame: Duration,
}

impl Window<'_> {
    pub(crate) fn screenshot(&self) -> Screenshot {
        Screenshot::of_screen(&self.screen).expect("the X server writes its screen to a file")
    }

    /// Returns the screen after the program has finished its work. On a busy machine, the screen may also be unchanged
    /// because the program waits for the CPU.
    #[track_caller]
    pub(crate) fn settled(&self) -> Screenshot {
        let mut last = self.screenshot();
        let mut since = Instant::now();
        self.wait_for("a stable screen", |window| {
            let now = window.screenshot();
            if now != last || window.is_working() {
                (last, since) = (now, Instant::now());
            }
            (since.elapsed() >= STILL).then(|| last.clone())
        })
    }

    /// Returns whether a thread of the program runs or waits for a CPU.
    pub(crate) fn is_working(&self) -> bool {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.process.0.id())).expect("it runs");
        threads.flatten().any(|thread| {
            let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            // The state follows the name, which may contain spaces.
            stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('R'))
        })
    }

    /// Polls the window until `find` returns something. A failure names the condition and saves a screenshot.
    #[track_caller]
    pub(crate) fn wait_for<T>(&self, what: &str, mut find: impl FnMut(&Self) -> Option<T>) -> T {
        let began = Instant::now();
        loop {
            if let Some(found) = find(self) {
                return found;
            }
            if began.elapsed() > LIMIT {
                self.fail(what);
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Waits for an area of this colour.
    #[track_caller]
    pub(crate) fn wait_for_color(&self, what: &str, color: crate::screenshot::Color) -> Rect {
        self.wait_for(what, |window| window.screenshot().find(color))
    }

    #[track_caller]
    pub(crate) fn fail(&self, what: &str) -> ! {
        let path = failure_screenshot(what);
        self.screenshot().save(&path);
        let names = self
            .session
            .reader
            .iter()
            .flat_map(ScreenReader::nodes)
            .map(|node| node.name)
            .collect::<Vec<_>>()
            .join("\n");
        panic!("timed out waiting for: {what}; the screenshot is {}\n{names}", path.display());
    }

    pub(crate) fn title(&self) -> String {
        self.xdotool(&["getwindowname", &self.id]).trim().to_owned()
    }

    #[track_caller]
    pub(crate) fn wait_for_title(&self, title: &str) {
        self.wait_for(&format!("the title {title}"), |window| (window.title() == title).then_some(()));
    }

    pub(crate) fn xdotool(&self, args: &[&str]) -> String {
        self.session.tool("xdotool", args)
    }

    pub(crate) fn key(&self, keys: &str) {
        self.xdotool(&["key", keys]);
    }

    /// Replaces the text of the focused field, and confirms.
    pub(crate) fn enter_text(&self, text: &str) {
        self.xdotool(&["key", "ctrl+a"]);
        self.xdotool(&["type", "--delay", "4", text]);
        self.key("Return");
    }

    pub(crate) fn move_pointer(&self, (x, y): (usize, usize)) {
        self.xdotool(&["mousemove", &x.to_string(), &y.to_string()]);
    }

    pub(crate) fn click(&self, at: (usize, usize)) {
        self.move_pointer(at);
        self.xdotool(&["click", "1"]);
    }

    /// Presses at one point, moves in steps, and releases at another.
    pub(crate) fn drag(&self, from: (usize, usize), to: (usize, usize)) {
        self.drag_with("1", from, to);
    }

    /// Like [`Self::drag`], with another button.
    pub(crate) fn drag_with(&self, button: &str, from: (usize, usize), to: (usize, usize)) {
        self.drag_without_release(button, from, to);
        self.xdotool(&["mouseup", button]);
    }

    /// Presses at `from` and moves to `to` slowly, without the release.
    pub(crate) fn drag_without_release(&self, button: &str, from: (usize, usize), to: (usize, usize)) {
        /// With this number, the first step is within the tolerance of a click.
        const STEPS: usize = 20;
        self.move_pointer(from);
        self.xdotool(&["mousedown", button]);
        let between = |part: usize, a: usize, b: usize| (a * (STEPS - part) + b * part) / STEPS;
        for part in 1..=STEPS {
            let before = self.screenshot();
            self.move_pointer((between(part, from.0, to.0), between(part, from.1, to.1)));
            // Users drag slower than one step per frame, so wait until the time under the pointer is shown.
            self.wait_for("a frame after the pointer moved", |window| (window.screenshot() != before).then_some(()));
        }
        self.settled();
    }

    pub(crate) fn resize(&self, width: usize, height: usize) {
        self.xdotool(&["windowsize", "--sync", &self.id, &width.to_string(), &height.to_string()]);
    }

    pub(crate) fn size(&self) -> (usize, usize) {
        let geometry = self.xdotool(&["getwindowgeometry", "--shell", &self.id]);
        let number = |name: &str| geometry.lines().find_map(|line| line.strip_prefix(name)?.parse().ok());
        (number("WIDTH=").expect("a width"), number("HEIGHT=").expect("a height"))
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Closes the window with Ctrl+Q, and returns the exit status and the text on stderr.
    #[track_caller]
    pub(crate) fn close(self) -> (Option<i32>, String) {
        self.key("ctrl+q");
        self.ended()
    }

    /// Destroys the window as another program may. Returns the exit status and the text on stderr.
    #[track_caller]
    pub(crate) fn destroy(self) -> (Option<i32>, String) {
        self.xdotool(&["windowclose", self.id()]);
        self.ended()
    }

    /// Confirms to quit although data is lost. Returns the exit status and the text on stderr.
    #[track_caller]
    pub(crate) fn discard(self) -> (Option<i32>, String) {
        // The program may still be busy with the discarded data.
        let mut last = None;
        let button = self.wait_for("the button", |window| {
            let rect = window.current_rect("Quit anyway")?;
            (last.replace(rect) == Some(rect)).then_some(rect)
        });
        self.click(button.middle());
        self.ended()
    }

    #[track_caller]
    fn ended(mut self) -> (Option<i32>, String) {
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.process.0.try_wait().expect("a child") {
                break status;
            }
            if began.elapsed() > LIMIT {
                self.fail("the program ends");
            }
            std::thread::sleep(PAUSE);
        };
        let mut text = String::new();
        if let Some(mut stderr) = self.stderr.take() {
            stderr.read_to_string(&mut text).expect("a pipe");
        }
        (status.code(), text)
    }
}

/// Waits until `find` returns something, without a window.
#[track_caller]
pub(crate) fn wait_for<T: Debug>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(began.elapsed() <= LIMIT, "timed out waiting for: {what}");
        std::thread::sleep(PAUSE);
    }
}

/// Returns the path for the screenshot of a failure. A condition may contain a path, or exceed the length of file
/// names.
fn failure_screenshot(what: &str) -> PathBuf {
    let letter = |letter: char| if letter.is_alphanumeric() { letter } else { '_' };
    let name: String = what.chars().map(letter).take(60).collect();
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.png"))
}

/// Returns a command with a clean environment, except the paths of programs and libraries. The files of its user are in
/// `folder`.
pub(crate) fn isolated_command(program: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    let inherited = ["PATH", "LD_LIBRARY_PATH"].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    command.envs(inherited).env("HOME", folder).env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
    for (variable, subfolder) in [
        ("XDG_CACHE_HOME", "cache"),
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_DATA_HOME", "data"),
        ("XDG_STATE_HOME", "state"),
    ] {
        command.env(variable, folder.join(subfolder));
    }
    command.env("XDG_RUNTIME_DIR", folder);
    // All machines draw alike, with a software renderer, since pixels are compared.
    if let Some(driver) = software_driver() {
        command.env("VK_DRIVER_FILES", &driver).env("VK_ICD_FILENAMES", &driver);
    }
    command.env("LIBGL_ALWAYS_SOFTWARE", "1");
    command
}

/// Returns the files that list the software driver of Vulkan.
fn software_driver() -> Option<PathBuf> {
    let folders = ["/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/etc/vulkan/icd.d"];
    let entries = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let mut drivers = entries.map(|entry| entry.path());
    drivers.find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("lvp_icd")))
}

#[test]
fn the_screenshot_of_a_failure_has_a_valid_file_name() {
    for what in ["the title /a/b.json - Longspan", "..", &"long ".repeat(100), "\u{1b}[2J/\0"] {
        let path = failure_screenshot(what);
        assert_eq!(path.parent(), Some(Path::new(env!("CARGO_TARGET_TMPDIR"))), "{what}");
        std::fs::write(&path, "an image").unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        std::fs::remove_file(path).expect("it is there");
    }
}

pub(crate) fn spawn(command: &mut Command) -> Process {
    let name = command.get_program().to_string_lossy().into_owned();
    Process(command.spawn().unwrap_or_else(|error| panic!("{name}: {error}; `.ci/setup` installs it")))
}

/// Returns a path as an argument.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are text")
}

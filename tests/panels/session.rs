//! Runs the application on a virtual screen, with a trace of three threads, and queries its accessibility tree.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use egui::{Event, Key, Modifiers, PointerButton, Pos2, Vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use longspan::facade::app::AppOptions;
use longspan::facade::app::event::TaskEvent;
use longspan::facade::app::preferences::Folders;
use longspan::facade::app::state::App;
use longspan::facade::ingest::{CachePolicy, LoadOptions};

/// A request with two nested reads on one thread, two writes on another, a marker, a counter, and an end without a
/// begin.
const CAPTURE: &str = r#"[
    {"ph":"M","name":"process_name","pid":1,"args":{"name":"server"}},
    {"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"main"}},
    {"ph":"X","name":"request","cat":"net","pid":1,"tid":1,"ts":0,"dur":1000,"args":{"url":"/index.html"}},
    {"ph":"X","name":"read","cat":"io","pid":1,"tid":1,"ts":100,"dur":200},
    {"ph":"X","name":"read","cat":"io","pid":1,"tid":1,"ts":500,"dur":100},
    {"ph":"X","name":"write","cat":"io","pid":1,"tid":2,"ts":0,"dur":400},
    {"ph":"X","name":"write","cat":"io","pid":1,"tid":2,"ts":600,"dur":300},
    {"ph":"i","name":"flushed","pid":1,"tid":2,"ts":950,"s":"t"},
    {"ph":"C","name":"queue","pid":1,"ts":10,"args":{"length":3}},
    {"ph":"E","name":"lost","pid":1,"tid":3,"ts":20}]"#;

/// The application with its screen and its background tasks.
pub(crate) struct Session {
    pub harness: Harness<'static, App>,
    events: Receiver<TaskEvent>,
    folder: tempfile::TempDir,
    pub capture: PathBuf,
}

impl Session {
    /// Creates a session without a trace, on a screen of this size in points.
    pub(crate) fn empty(size: Vec2, pixels_per_point: f32) -> Self {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        std::fs::write(folder.path().join("capture.json"), CAPTURE).expect("written");
        Self::of(folder, size, pixels_per_point)
    }

    /// Saves everything, as when the window is closed.
    pub(crate) fn close(&mut self) {
        self.harness.state_mut().save();
    }

    /// Restarts the application with its saved state.
    pub(crate) fn started_again(self, size: Vec2) -> Self {
        Self::of(self.folder, size, 1.0)
    }

    /// Waits for a second of the window's clock, and for the write in the background after it.
    pub(crate) fn wait_for_the_write(&mut self) {
        self.harness.run_steps(8);
        let mut before = self.saved_times();
        for _ in 0..20 {
            std::thread::sleep(std::time::Duration::from_millis(300));
            let now = self.saved_times();
            if now == std::mem::replace(&mut before, now.clone()) && !now.is_empty() {
                return;
            }
        }
        panic!("no state was written: {before:?}");
    }

    /// Returns when each saved state of a trace was written.
    pub(crate) fn saved_times(&self) -> Vec<std::time::SystemTime> {
        let folder = self.folder.path().join("state/captures");
        let entries = std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("an entry"));
        entries.map(|entry| entry.metadata().and_then(|it| it.modified()).expect("a time")).collect()
    }

    /// Creates a session without a trace that caches stores in this folder.
    pub(crate) fn with_cache(cache: &std::path::Path) -> Self {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        Self::with_policy(folder, CachePolicy::Folder(cache.to_owned()), egui::vec2(1400.0, 700.0), 1.0)
    }

    fn of(folder: tempfile::TempDir, size: Vec2, pixels_per_point: f32) -> Self {
        Self::with_policy(folder, CachePolicy::None, size, pixels_per_point)
    }

    fn with_policy(folder: tempfile::TempDir, cache: CachePolicy, size: Vec2, pixels_per_point: f32) -> Self {
        let capture = folder.path().join("capture.json");
        let (sender, events) = channel();
        let sender = Mutex::new(sender);
        let wake = Arc::new(move |event| {
            sender.lock().expect("no test panics while it sends").send(event).ok(); // the test is over
        });
        let load = LoadOptions { cache, ..LoadOptions::default() };
        let folders = Some(Folders { config: folder.path().join("config"), state: folder.path().join("state") });
        let app = App::new(AppOptions { load, folders, ..AppOptions::default() }, wake);
        let builder = Harness::builder().with_size(size).with_pixels_per_point(pixels_per_point).with_step_dt(0.2);
        let show = |ui: &mut egui::Ui, app: &mut App| {
            app.show(ui);
        };
        Self { harness: builder.build_ui_state(show, app), events, folder, capture }
    }

    /// Creates a session with the trace and another trace on one timeline. The other has a span of one second with the
    /// same start, and an end without a begin.
    pub(crate) fn with_two_files(size: Vec2) -> Self {
        let mut session = Self::empty(size, 1.0);
        let other = session.folder.path().join("other.json");
        let spans =
            r#"[{"ph":"X","name":"other","pid":9,"tid":9,"ts":0,"dur":1000000},{"ph":"E","pid":9,"tid":9,"ts":1}]"#;
        std::fs::write(&other, spans).expect("written");
        let files = [session.capture.clone(), other];
        session.open(&files);
        session
    }

    /// Opens traces, and waits for the timeline.
    #[track_caller]
    pub(crate) fn open(&mut self, files: &[PathBuf]) {
        self.harness.state_mut().open_files(files);
        self.until_timeline();
    }

    /// Opens a trace with this content, in the folder of the session.
    #[track_caller]
    pub(crate) fn open_text(&mut self, name: &str, text: &str) {
        let path = self.capture.with_file_name(name);
        std::fs::write(&path, text).expect("written");
        self.open(&[path]);
    }

    /// Restarts the application with its saved state, and opens a trace in the folder of the session.
    #[track_caller]
    pub(crate) fn opened_again(self, size: Vec2, name: &str) -> Self {
        let mut again = self.started_again(size);
        let path = again.capture.with_file_name(name);
        again.open(&[path]);
        again
    }

    /// Waits until the window shows a timeline.
    #[track_caller]
    pub(crate) fn until_timeline(&mut self) {
        self.until("the timeline", |session| session.harness.query_by_role(egui::Role::Canvas).is_some());
    }

    /// Creates a session with the trace.
    pub(crate) fn with_capture(size: Vec2, pixels_per_point: f32) -> Self {
        let mut session = Self::empty(size, pixels_per_point);
        let capture = session.capture.clone();
        session.open(&[capture]);
        session
    }

    /// Creates a session with the trace and its statistics.
    pub(crate) fn with_statistics(size: Vec2) -> Self {
        let mut session = Self::with_capture(size, 1.0);
        session.press(Modifiers::COMMAND, Key::T);
        session.until("the lines", |session| session.harness.query_all_by_role(egui::Role::ListItem).count() == 3);
        session.harness.run_steps(2);
        session
    }

    /// Creates a session with a trace of 79 threads, `worker N` with the span `job N`. Only some of the threads are in
    /// view.
    pub(crate) fn with_workers(size: Vec2) -> Self {
        let events = (1..80).map(|thread: u32| {
            let name = format!(r#""name":"thread_name","args":{{"name":"worker {thread}"}}"#);
            let ids = format!(r#""pid":1,"tid":{thread}"#);
            format!(r#"{{"ph":"M",{name},{ids}}},{{"ph":"X","name":"job {thread}",{ids},"ts":{thread},"dur":500}}"#)
        });
        let mut session = Self::empty(size, 1.0);
        session.open_text("capture.json", &format!("[{}]", events.collect::<Vec<_>>().join(",")));
        session
    }

    /// Draws frames and handles events until `done`.
    #[track_caller]
    pub(crate) fn until(&mut self, what: &str, done: impl Fn(&Self) -> bool) {
        self.within(200, what, done);
    }

    /// Like [`Self::until`], for queries of hundreds of thousands of spans, also on a busy machine.
    #[track_caller]
    pub(crate) fn until_at_last(&mut self, what: &str, done: impl Fn(&Self) -> bool) {
        self.within(3000, what, done);
    }

    #[track_caller]
    fn within(&mut self, frames: usize, what: &str, done: impl Fn(&Self) -> bool) {
        for _ in 0..frames {
            self.harness.step();
            if done(self) {
                return;
            }
            if let Ok(event) = self.events.recv_timeout(Duration::from_millis(50)) {
                self.harness.state_mut().handle(event);
            }
        }
        panic!("{what} did not come:\n{}", self.node_texts().join("\n"));
    }

    /// Returns the label of the timeline in the accessibility tree.
    pub(crate) fn summary(&self) -> String {
        self.harness.get_by_role(egui::Role::Canvas).accesskit_node().label().unwrap_or_default()
    }

    /// Returns whether the label or value of a node contains this text.
    pub(crate) fn says(&self, text: &str) -> bool {
        self.node_texts().iter().any(|told| told.contains(text))
    }

    /// Returns all nodes with role, label and value, in screen order.
    pub(crate) fn node_texts(&self) -> Vec<String> {
        let nodes = self.harness.root().children_recursive();
        let texts = nodes.map(|node| {
            let node = node.accesskit_node();
            let text = |text: Option<String>| text.unwrap_or_default();
            format!("{:?}: {}{}", node.role(), text(node.label()), text(node.value()))
        });
        texts.collect()
    }

    /// Returns the labels of the headers that fold, from top to bottom: of groups and of tracks.
    pub(crate) fn head_labels(&self) -> Vec<String> {
        let texts = self.node_texts().into_iter();
        let buttons = texts.filter_map(|text| text.strip_prefix("Button: ").map(str::to_owned));
        buttons.filter(|label| label.ends_with("folded")).collect()
    }

    /// Opens the search, and types into its field.
    pub(crate) fn search(&mut self, query: &str) {
        self.press(Modifiers::COMMAND, Key::F);
        self.harness.step();
        self.type_text(query);
    }

    /// Selects the only hit of a query. The search stays open.
    #[track_caller]
    pub(crate) fn select_hit(&mut self, query: &str, selected: &str) {
        self.search(query);
        self.until("the hit", |session| session.says("1 hit"));
        self.press(Modifiers::NONE, Key::Enter);
        self.until("the selected span", |session| session.summary().contains(selected));
    }

    /// Runs a command by its name in the command palette.
    pub(crate) fn give(&mut self, command: &str) {
        self.press(Modifiers::COMMAND | Modifiers::SHIFT, Key::P);
        self.harness.step();
        self.type_text(command);
        self.press(Modifiers::NONE, Key::Enter);
        self.harness.step();
    }

    pub(crate) fn press(&mut self, modifiers: Modifiers, key: Key) {
        self.harness.key_press_modifiers(modifiers, key);
        self.harness.step();
    }

    /// Types into the focused field.
    pub(crate) fn type_text(&mut self, text: &str) {
        self.harness.event(Event::Text(text.to_owned()));
        self.harness.step();
    }

    /// Clicks the right button at a position.
    pub(crate) fn right_click(&mut self, at: Pos2) {
        self.click_at(at, PointerButton::Secondary);
    }

    /// Clicks the left button at a position.
    pub(crate) fn left_click(&mut self, at: Pos2) {
        self.click_at(at, PointerButton::Primary);
    }

    /// Clicks the left button at a position with modifier keys.
    pub(crate) fn click_with(&mut self, at: Pos2, modifiers: Modifiers) {
        self.harness.event_modifiers(Event::PointerMoved(at), modifiers);
        self.harness.step();
        for pressed in [true, false] {
            let button = PointerButton::Primary;
            self.harness.event_modifiers(Event::PointerButton { pos: at, button, pressed, modifiers }, modifiers);
            self.harness.step();
        }
        self.harness.run_steps(3);
    }

    /// Drags from one point to another with the left button.
    pub(crate) fn drag(&mut self, from: Pos2, to: Pos2) {
        self.drag_with(from, to, Modifiers::NONE);
    }

    /// Drags from one point to another with the left button and modifier keys.
    pub(crate) fn drag_with(&mut self, from: Pos2, to: Pos2, modifiers: Modifiers) {
        let button = |pos, pressed| Event::PointerButton { pos, button: PointerButton::Primary, pressed, modifiers };
        let moves = [from.lerp(to, 0.5), to].map(Event::PointerMoved);
        let events = [Event::PointerMoved(from), button(from, true)].into_iter().chain(moves);
        for event in events.chain([button(to, false)]) {
            self.harness.event_modifiers(event, modifiers);
            self.harness.step();
        }
        self.harness.run_steps(3);
    }

    /// Returns whether the command palette lists a command as enabled.
    pub(crate) fn offers(&mut self, command: &str) -> bool {
        self.press(Modifiers::COMMAND | Modifiers::SHIFT, Key::P);
        self.harness.step();
        self.type_text(command);
        self.harness.step();
        let is_offered = self.harness.query_all_by_role(egui::Role::Button).any(|node| {
            let node = node.accesskit_node();
            node.label().is_some_and(|label| label.starts_with(command)) && !node.is_disabled()
        });
        self.press(Modifiers::NONE, Key::Escape);
        self.harness.run_steps(2);
        is_offered
    }

    fn click_at(&mut self, at: Pos2, button: PointerButton) {
        self.harness.event(Event::PointerMoved(at));
        self.harness.step();
        for pressed in [true, false] {
            let modifiers = Modifiers::NONE;
            self.harness.event(Event::PointerButton { pos: at, button, pressed, modifiers });
            self.harness.step();
        }
        self.harness.run_steps(3);
    }

    /// Clicks the node with this label.
    #[track_caller]
    pub(crate) fn click(&mut self, label: &str) {
        self.harness.get_by_label(label).click();
        self.harness.step();
    }
}

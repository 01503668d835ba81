//! The application without a window.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::AppOptions;
use super::desktop::DesktopSettings;
use super::preferences::{Folders, Preferences};
use super::state::App;
use crate::app::event::{TabEvent, TaskEvent};
use crate::base::budget::Memory;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::ingest::{self, CachePolicy, LoadOptions};
use crate::model::TrackIdx;
use crate::query::Snapshot;
use crate::scene::color::Shade;
use crate::scene::palette::{ColorBy, Colors};
use crate::ui::command::{
    BookmarkCommand, Command, NavigationStep, PanelCommand, RowCommand, SettingCommand, TimelineCommand,
};
use crate::ui::command_table::{TEXT_PERCENT_MAX, TEXT_PERCENT_MIN};
use crate::ui::panel::Panel;
use crate::ui::purpose::Purpose;
use crate::ui::settings::Navigation;

/// Two spans on one thread: the first two fifths and the last two fifths of the trace.
pub(super) const TWO_SPANS: &str = r#"[
    {"ph":"X","name":"alpha","pid":1,"tid":1,"ts":0,"dur":400},
    {"ph":"X","name":"omega","pid":1,"tid":1,"ts":600,"dur":400}]"#;

fn load_options() -> LoadOptions {
    LoadOptions { cache: CachePolicy::None, ..LoadOptions::default() }
}

pub(super) fn file(folder: &Path, name: &str, json: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, json).unwrap();
    path
}

pub(super) fn snapshot(json: &str) -> Snapshot {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(json.as_bytes()).unwrap();
    let loaded = ingest::open(file.path(), &load_options(), &Cancel::default(), &Progress::default()).unwrap();
    Snapshot::new(loaded.store)
}

/// The application with an invisible screen of 1000 x 600 points.
pub(super) struct Session {
    pub(super) app: App,
    context: egui::Context,
    pub(super) events: Receiver<TaskEvent>,
    seconds: f64,
    /// The texts of the last frame.
    pub(super) texts: Vec<String>,
    /// The positions of the texts.
    pub(super) positions: Vec<egui::Pos2>,
}

impl Session {
    pub(super) fn new() -> Self {
        Self::with(AppOptions { load: load_options(), ..AppOptions::default() })
    }

    /// Saves preferences and views in these folders.
    pub(super) fn with_folders(folders: Folders) -> Self {
        Self::with(AppOptions { load: load_options(), folders: Some(folders), ..AppOptions::default() })
    }

    /// Opens a trace with its saved state.
    pub(super) fn opened(folders: &Folders, trace: &Path) -> Self {
        let mut session = Self::with_folders(folders.clone());
        session.app.open_files(&[trace.to_owned()]);
        session.finish_tasks();
        session.frame(Vec::new());
        session
    }

    pub(super) fn with(options: AppOptions) -> Self {
        let (sender, events) = channel();
        let sender = Mutex::new(sender);
        let wake = Arc::new(move |event| {
            sender.lock().unwrap().send(event).ok(); // the test is over
        });
        Self {
            app: App::new(options, wake),
            context: egui::Context::default(),
            events,
            seconds: 0.0,
            texts: Vec::new(),
            positions: Vec::new(),
        }
    }

    pub(super) fn frame(&mut self, events: Vec<egui::Event>) {
        self.seconds += 0.1;
        let input = egui::RawInput {
            screen_rect: Some(egui::Rect::from_min_size(egui::Pos2::ZERO, egui::vec2(1000.0, 600.0))),
            time: Some(self.seconds),
            events,
            ..egui::RawInput::default()
        };
        let output = self.context.run_ui(input, |ui| drop(self.app.show(ui)));
        let mut texts = Vec::new();
        output.shapes.iter().for_each(|clipped| collect_texts(&clipped.shape, &mut texts));
        (self.texts, self.positions) = texts.into_iter().unzip();
        output.drop_without_applying_deltas();
    }

    /// Draws frames and handles answers until `done` returns true.
    #[track_caller]
    pub(super) fn until(&mut self, what: &str, done: impl Fn(&mut Self) -> bool) {
        for _ in 0..200 {
            self.frame(Vec::new());
            if done(self) {
                return;
            }
            if let Ok(event) = self.events.recv_timeout(Duration::from_millis(50)) {
                self.app.handle(event);
            }
        }
        panic!("{what} did not come: {:?}", self.texts);
    }

    /// Clicks on the first matching text. Returns false if there is none.
    pub(super) fn click_text(&mut self, text: &str) -> bool {
        let position = self.texts.iter().position(|shown| shown == text).map(|text| self.positions[text]);
        if let Some(position) = position {
            self.click(position.x, position.y);
            self.frame(Vec::new());
        }
        position.is_some()
    }

    pub(super) fn shows(&self, text: &str) -> bool {
        self.texts.iter().any(|shown| shown == text)
    }

    pub(super) fn chord(&mut self, key: egui::Key) {
        let modifiers = egui::Modifiers::COMMAND;
        self.frame(vec![egui::Event::Key { key, physical_key: None, pressed: true, repeat: false, modifiers }]);
        self.frame(vec![egui::Event::Key { key, physical_key: None, pressed: false, repeat: false, modifiers }]);
    }

    /// Counts the rectangles of the rows in full colour, and the dimmed ones.
    pub(super) fn bright_and_dim(&mut self) -> (usize, usize) {
        let frame = self.app.timeline_mut().and_then(|timeline| timeline.last_frame());
        let rects = frame.map(|frame| frame.rects.clone()).unwrap_or_default();
        let dim = rects.iter().filter(|rect| rect.color.0[3] < u8::MAX).count();
        (rects.len() - dim, dim)
    }

    pub(super) fn click(&mut self, x: f32, y: f32) {
        let pos = egui::pos2(x, y);
        let button = |pressed| egui::Event::PointerButton {
            pos,
            button: egui::PointerButton::Primary,
            pressed,
            modifiers: egui::Modifiers::NONE,
        };
        self.frame(vec![egui::Event::PointerMoved(pos)]);
        self.frame(vec![button(true)]);
        self.frame(vec![button(false)]);
        // A second click must not become a double click.
        self.seconds += 2.0;
    }

    pub(super) fn press(&mut self, key: egui::Key) {
        let event = |pressed| egui::Event::Key {
            key,
            physical_key: None,
            pressed,
            repeat: false,
            modifiers: egui::Modifiers::NONE,
        };
        self.frame(vec![event(true)]);
        self.frame(vec![event(false)]);
        // A jump takes longer than a frame.
        (0..3).for_each(|_| self.frame(Vec::new()));
    }

    /// Handles answers until nothing runs.
    pub(super) fn finish_tasks(&mut self) {
        loop {
            let event = self.events.recv_timeout(Duration::from_secs(30)).expect("the work answers");
            let ends = |event: &TabEvent| {
                use TabEvent::{Exported, Loaded, TableWritten, Wrote};
                matches!(event, Loaded(..) | Exported(..) | TableWritten(..) | Wrote(..))
            };
            let is_last = matches!(&event, TaskEvent::OfTab(_, event) if ends(event));
            self.app.handle(event);
            if is_last {
                return;
            }
        }
    }

    pub(super) fn selected_name(&mut self) -> Option<String> {
        let timeline = self.app.timeline_mut()?;
        let row = timeline.selected()?;
        let snapshot = timeline.snapshot();
        Some(snapshot.names().get(snapshot.row(row).name).text.to_owned())
    }
}

fn collect_texts(shape: &egui::Shape, texts: &mut Vec<(String, egui::Pos2)>) {
    match shape {
        egui::Shape::Vec(shapes) => shapes.iter().for_each(|shape| collect_texts(shape, texts)),
        egui::Shape::Text(text) => texts.push((text.galley.text().to_owned(), text.visual_bounding_rect().center())),
        _ => {}
    }
}

/// Two threads: "work" with "read" in it twice, and "idle".
pub(super) const NESTED: &str = r#"[
    {"ph":"X","name":"work","pid":1,"tid":1,"ts":0,"dur":1000},{"ph":"X","name":"read","pid":1,"tid":1,"ts":100,"dur":200},
    {"ph":"X","name":"read","pid":1,"tid":1,"ts":500,"dur":100},{"ph":"X","name":"idle","pid":1,"tid":2,"ts":0,"dur":500}]"#;

#[test]
fn a_search_counts_hits_dims_other_spans_and_steps_through_hits() {
    let mut session = Session::new();
    session.app.show_trace(snapshot(NESTED), "nested".into(), false);
    session.frame(Vec::new());
    // The first frame may be drawn before its tiles are loaded.
    session.until("all spans", |session| session.bright_and_dim() == (4, 0));
    session.chord(egui::Key::F);
    session.frame(Vec::new());
    session.frame(vec![egui::Event::Text("dur<=200us rea".into())]);
    session.until("the number of hits", |session| session.shows("2 hits"));
    session.until("the list", |session| session.texts.iter().filter(|text| *text == "read").count() >= 2);
    session.until("the matches in view", |session| session.bright_and_dim().1 == 2 && session.bright_and_dim().0 >= 2);
    session.press(egui::Key::Enter);
    session.until("the first hit", |session| session.selected_name().is_some());
    session.until("its number", |session| session.shows("1 of 2 hits"));
    session.press(egui::Key::Enter);
    session.until("the second hit", |session| session.shows("2 of 2 hits"));
    assert_eq!(session.selected_name().as_deref(), Some("read"));
    session.press(egui::Key::Escape);
    session.until("everything again", |session| session.bright_and_dim().1 == 0);
    assert!(!session.texts.iter().any(|text| text.contains("hits")), "the search is closed");
    assert_eq!(session.selected_name().as_deref(), Some("read"), "and the selection stays");
    session.chord(egui::Key::F);
    session.frame(Vec::new());
    session.frame(vec![egui::Event::Text(" dur>".into())]);
    session.until("what is wrong", |session| session.texts.iter().any(|text| text.contains("expected a number of")));
}

/// Two samples of "inner", called by "outer".
const PROFILE: &str = r#"{
    "traceEvents":[{"ph":"P","pid":1,"tid":1,"ts":1,"sf":2},{"ph":"P","pid":1,"tid":1,"ts":2,"sf":2}],
    "stackFrames":{"1":{"name":"outer"},"2":{"name":"inner","parent":"1"}}}"#;

#[test]
fn a_search_counts_the_bars_of_samples_that_match() {
    let mut session = Session::new();
    session.app.show_trace(snapshot(PROFILE), "profile".into(), false);
    session.chord(egui::Key::F);
    session.frame(Vec::new());
    session.frame(vec![egui::Event::Text("outer".into())]);
    session.until("its bar", |session| session.shows("1 hit"));
    session.press(egui::Key::Enter);
    session.until("the bar", |session| session.selected_name().as_deref() == Some("outer"));
}

#[test]
fn empty_statistics_have_their_reason() {
    let mut session = Session::new();
    session.app.show_trace(snapshot(NESTED), "nested".into(), false);
    session.chord(egui::Key::T);
    session.until("the table", |session| session.shows("idle"));
    assert!(!session.shows("No name matches."));
    assert!(session.click_text("Filter names"));
    session.frame(vec![egui::Event::Text("nobody".into())]);
    session.until("that no name fits", |session| session.shows("No name matches."));

    let mut session = Session::new();
    session.app.show_trace(snapshot(PROFILE), "profile".into(), false);
    session.chord(egui::Key::T);
    session.until("where to look", |session| session.texts.iter().any(|text| text.contains("adds up samples")));
}

#[test]
fn statistics_are_sorted_by_a_column_and_have_details_of_a_name() {
    let mut session = Session::new();
    session.app.show_trace(snapshot(NESTED), "nested".into(), false);
    session.chord(egui::Key::T);
    let order = |session: &Session| {
        let is_name = |text: &&String| ["work", "read", "idle"].contains(&text.as_str());
        // The panel is drawn before the timeline.
        session.texts.iter().filter(is_name).take(3).cloned().collect::<Vec<_>>()
    };
    session.until("the table", |session| order(session) == ["work", "idle", "read"]);
    assert!(session.shows("of the whole trace"));
    session.frame(Vec::new());
    assert!(session.click_text("Name"), "the head of the column");
    assert_eq!(order(&session), ["idle", "read", "work"]);
    assert!(session.click_text("read"));
    session.until("the longest of that name", |session| session.shows("200.0 µs  at 0.000100000 s"));
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("table.csv");
    session.choose(Purpose::Table(Panel::Statistics.into()), table.clone());
    session.until("the table in a file", |_| table.exists());
    let text = std::fs::read_to_string(&table).unwrap();
    assert!(text.starts_with("name,category,count,total,"), "{text}");
    assert_eq!(
        text.lines().nth(2),
        Some("read,,2,300000,300000,150000,100000,200000,100000,200000,300000,50000,200000,200000,0,0")
    );
    // Clicks one of the two bars. The view is then the 120th part of the trace in which the span of the bar starts.
    let title = session.texts.iter().position(|text| text == "Over time").expect("the bars");
    let bottom = session.positions[title].y + 46.0;
    let width_ns = |session: &mut Session| session.app.timeline_mut().unwrap().view().width_ns();
    let before_ns = width_ns(&mut session);
    let clicked = (640..1000).step_by(2).find(|&x| {
        session.click(x as f32, bottom);
        width_ns(&mut session) < before_ns / 2.0
    });
    assert!(clicked.is_some(), "no bar can be clicked");
    (0..4).for_each(|_| session.frame(Vec::new()));
    let view = *session.app.timeline_mut().unwrap().view();
    assert!((view.width_ns() - 1_000_000.0 / 120.0).abs() < 100.0, "{view:?}");
    assert!((90_000..=100_000).contains(&view.start_ns()), "{view:?}");
}

#[test]
fn stopped_counting_is_shown_as_incomplete_and_can_be_resumed() {
    let mut session = Session::new();
    session.app.show_trace(snapshot(NESTED), "nested".into(), false);
    session.chord(egui::Key::T);
    session.app.act(Command::Panel(PanelCommand::StopQuery(Panel::Statistics)));
    session.until("that it is stopped", |session| session.shows("stopped: not all spans are counted"));
    assert!(session.click_text("Count all"));
    session.until("the table", |session| session.shows("read") && !session.shows("stopped: not all spans are counted"));
}

#[test]
fn a_flame_graph_has_a_bar_for_each_name() {
    let mut session = Session::new();
    session.app.show_trace(snapshot(NESTED), "nested".into(), false);
    session.chord(egui::Key::G);
    session.until("the bars", |session| {
        let after = session.texts.iter().skip_while(|text| *text != "Flame graph");
        let bars: Vec<_> = after.filter(|text| ["work", "read", "idle"].contains(&text.as_str())).collect();
        bars.len() >= 3
    });
}

#[test]
fn pins_bookmarks_view_and_colours_are_restored_with_the_trace() {
    let folder = tempfile::tempdir().unwrap();
    let folders = Folders { config: folder.path().join("config"), state: folder.path().join("state") };
    let trace = file(folder.path(), "two.json", TWO_SPANS);
    let mut session = Session::opened(&folders, &trace);
    let pin = Command::Timeline(TimelineCommand::Rows(RowCommand::TogglePin(TrackIdx(0))));
    let zoom = Command::Timeline(TimelineCommand::Step(NavigationStep::ZoomIn));
    let colors = Colors { by: ColorBy::Track, ..Colors::default() };
    let (mark, light) = (
        Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::Add)),
        Command::Setting(SettingCommand::Shade(Some(Shade::Light))),
    );
    for command in [pin, mark, zoom, light, Command::Setting(SettingCommand::Colors(colors))] {
        session.app.act(command);
    }
    (0..4).for_each(|_| session.frame(Vec::new()));
    let view = *session.app.timeline_mut().unwrap().view();
    session.app.save();
    let mut again = Session::opened(&folders, &trace);
    assert_eq!(again.app.theme().shade, Shade::Light);
    let timeline = again.app.timeline_mut().unwrap();
    assert_eq!(timeline.colors(), colors);
    assert_eq!(timeline.arrangement().pinned, [TrackIdx(0)]);
    assert_eq!(timeline.marks().all().len(), 1);
    assert!(timeline.view().start_ns().abs_diff(view.start_ns()) <= 2, "{:?} {view:?}", timeline.view());
    assert!((timeline.view().width_ns() / view.width_ns() - 1.0).abs() < 0.01, "{:?} {view:?}", timeline.view());
}

#[test]
fn keys_do_not_reach_the_timeline_behind_a_dialog_and_escape_closes_it() {
    let folder = tempfile::tempdir().unwrap();
    let bad = file(folder.path(), "bad.json", "this is no trace");
    let mut session = Session::new();
    session.app.show_trace(snapshot(TWO_SPANS), "two".into(), false);
    session.app.open_files(&[bad]);
    session.finish_tasks();
    session.frame(Vec::new());
    session.frame(Vec::new());
    let before = *session.app.timeline_mut().unwrap().view();
    session.press(egui::Key::Plus);
    assert_eq!(*session.app.timeline_mut().unwrap().view(), before);
    assert!(session.app.message().is_some());
    session.press(egui::Key::Escape);
    assert_eq!(session.app.message(), None);
}

#[test]
fn a_damaged_store_is_sorted_again_while_it_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let spans =
        (0..5000).map(|k| format!(r#"{{"ph":"X","name":"s{}","pid":1,"tid":1,"ts":{},"dur":9}}"#, k % 7, 10 * k));
    let trace = file(folder.path(), "a.json", &format!("[{}]", spans.collect::<Vec<_>>().join(",")));
    let cache = folder.path().join("cache");
    let load = LoadOptions { cache: CachePolicy::Folder(cache.clone()), ..LoadOptions::default() };
    ingest::open(&trace, &load, &Cancel::default(), &Progress::default()).unwrap();
    let kept = std::fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().path());
    let kept = kept.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "lsstore")).unwrap();
    let mut bytes = std::fs::read(&kept).unwrap();
    // In the first extent, which every view reads.
    bytes[500] ^= 1;
    std::fs::write(&kept, bytes).unwrap();

    let mut session = Session::with(AppOptions { load, ..AppOptions::default() });
    session.app.open_files(&[trace]);
    session.finish_tasks();
    session.app.timeline_mut().unwrap().wait_for_all();
    session.app.timeline_mut().unwrap().show_exactly(1000, 2000);
    // Until a frame has read it, and the next has noticed.
    while !session.app.note().contains("damaged") {
        assert!(session.seconds < 60.0, "nobody says so: {}", session.app.note());
        while let Ok(event) = session.events.try_recv() {
            session.app.handle(event);
        }
        // Last, because sorting again may end before the frame that started it, and is awaited below.
        session.frame(Vec::new());
    }
    let view = *session.app.timeline_mut().unwrap().view();
    session.finish_tasks();
    let timeline = session.app.timeline_mut().unwrap();
    assert_eq!(timeline.snapshot().store().damaged_in_all(), 0);
    assert_eq!((timeline.view().start_ns(), timeline.view().end_ns()), (view.start_ns(), view.end_ns()));
}

#[test]
fn an_unreadable_trace_is_a_message_and_the_shown_trace_stays() {
    let folder = tempfile::tempdir().unwrap();
    let bad = file(folder.path(), "bad.json", "this is no trace");
    let mut session = Session::new();
    session.app.show_trace(snapshot(TWO_SPANS), "two".into(), false);
    session.app.open_files(&[bad]);
    session.finish_tasks();
    session.frame(Vec::new());
    let message = session.app.message().expect("a message is shown").to_owned();
    assert!(message.contains("bad.json"), "{message}");
    assert_eq!(session.app.title(), "two - Longspan");
}

#[test]
fn of_two_loads_the_second_is_shown_whichever_ends_first() {
    let folder = tempfile::tempdir().unwrap();
    let first = file(folder.path(), "first.json", TWO_SPANS);
    let second = file(folder.path(), "second.json", TWO_SPANS);
    let mut session = Session::new();
    session.app.open_files(&[first]);
    session.app.open_files(&[second]);
    session.finish_tasks();
    session.finish_tasks();
    session.frame(Vec::new());
    assert_eq!(session.app.title(), "second.json - Longspan");
    assert_eq!(session.app.message(), None);
}

#[test]
fn several_files_are_one_timeline_and_a_folder_among_them_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let [one, two] = ["one.json", "two.json"].map(|name| file(folder.path(), name, TWO_SPANS));
    let mut session = Session::new();
    session.app.open_files(&[one.clone(), folder.path().to_owned(), two]);
    session.finish_tasks();
    assert_eq!(session.app.title(), "one.json and two.json - Longspan");
    let spans = session.app.timeline_mut().unwrap().snapshot().summary().spans;
    assert!(spans == 4 && session.app.note().contains("is a folder"), "{spans} {}", session.app.note());
    let others = ["other", "third"].map(|name| folder.path().join(name));
    others.iter().for_each(|path| std::fs::create_dir(path).unwrap());
    session.app.open_files(&[one, folder.path().to_owned(), others[0].clone(), others[1].clone()]);
    assert!(session.app.note().contains("and 2 more folders are left out."), "{}", session.app.note());
}

#[test]
fn the_view_stays_where_it_is_while_more_is_sorted() {
    let mut session = Session::new();
    session.app.show_trace(snapshot(TWO_SPANS), "two".into(), true);
    session.frame(Vec::new());
    session.app.timeline_mut().unwrap().show_exactly(100_000, 200_000);
    session.app.show_trace(snapshot(TWO_SPANS), "two".into(), false);
    session.frame(Vec::new());
    let view = *session.app.timeline_mut().unwrap().view();
    assert!(view.x_from_time(100_000).abs() < 1e-6, "{view:?}");
}

#[test]
fn a_trace_without_events_is_shown() {
    let mut session = Session::new();
    session.app.show_trace(snapshot("[]"), "empty".into(), false);
    session.frame(Vec::new());
    session.press(egui::Key::W);
    assert!(session.app.timeline_mut().unwrap().summary().contains("0 tracks"));
}

#[test]
fn a_memory_limit_of_the_command_line_overrides_the_preferences() {
    let folder = tempfile::tempdir().unwrap();
    let folders = Folders { config: folder.path().join("config"), state: folder.path().join("state") };
    let preferred = 256 << 20;
    folders.save_preferences(&Preferences { memory_bytes: preferred, ..Preferences::default() }).unwrap();
    for (memory_bytes, expected) in
        [(None, preferred), (Some(Memory::DEFAULT_BYTES), Memory::DEFAULT_BYTES), (Some(64 << 20), 64 << 20)]
    {
        let (load, folders) = (load_options(), Some(folders.clone()));
        let session = Session::with(AppOptions { load, memory_bytes, folders, ..AppOptions::default() });
        assert_eq!(session.app.options.load.memory.limit_bytes(), expected, "{memory_bytes:?}");
    }
}

#[test]
fn theme_and_animation_follow_the_desktop_until_the_user_chooses() {
    let folder = tempfile::tempdir().unwrap();
    let folders = Folders { config: folder.path().join("config"), state: folder.path().join("state") };
    let mut session = Session::with_folders(folders);
    assert_eq!(session.app.theme().shade, Shade::Dark);
    let settings = DesktopSettings { shade: Some(Shade::Light), reduces_motion: true, ..DesktopSettings::default() };
    session.app.handle(TaskEvent::DesktopChanged(settings));
    session.frame(Vec::new());
    assert_eq!((session.app.theme().shade, session.app.navigation()), (Shade::Light, Navigation::STILL));
    session.app.act(Command::Setting(SettingCommand::Shade(Some(Shade::Dark))));
    session.app.act(Command::Setting(SettingCommand::Navigation(Navigation::default())));
    session.app.handle(TaskEvent::DesktopChanged(settings));
    assert_eq!((session.app.theme().shade, session.app.navigation()), (Shade::Dark, Navigation::default()));
    session.app.act(Command::Setting(SettingCommand::Shade(None)));
    assert_eq!(session.app.theme().shade, Shade::Light);
}

#[test]
fn the_window_follows_the_contrast_and_font_size_of_the_desktop() {
    let mut session = Session::new();
    session.frame(Vec::new());
    let usual = (session.app.theme().clone(), session.context.zoom_factor());
    let large = DesktopSettings { has_high_contrast: true, text_percent: 150, ..DesktopSettings::default() };
    session.app.handle(TaskEvent::DesktopChanged(large));
    session.app.act(Command::Setting(SettingCommand::TextPercent(120)));
    (0..2).for_each(|_| session.frame(Vec::new()));
    assert_eq!(session.app.theme(), &crate::ui::theme::Theme::with_high_contrast(Shade::Dark));
    assert!((session.context.zoom_factor() - 1.8).abs() < 1e-3, "{}", session.context.zoom_factor());
    for (percent, expected) in [(205, TEXT_PERCENT_MAX), (0, TEXT_PERCENT_MIN), (100, 100)] {
        session.app.act(Command::Setting(SettingCommand::TextPercent(percent)));
        assert_eq!(session.app.preferences.text_percent, expected);
    }
    session.app.handle(TaskEvent::DesktopChanged(DesktopSettings::default()));
    (0..2).for_each(|_| session.frame(Vec::new()));
    assert_eq!((session.app.theme().clone(), session.context.zoom_factor()), usual);
}

#[test]
fn symbols_found_later_change_neither_view_nor_selection_nor_minimap() {
    let mut session = Session::new();
    let snapshot = snapshot(TWO_SPANS);
    session.app.show_trace(snapshot.clone(), "two".into(), false);
    session.until("the map", |session| session.app.timeline_mut().is_some_and(|it| it.has_trace_summary()));
    session.press(egui::Key::Plus);
    session.press(egui::Key::CloseBracket);
    let trace = session.app.tab_mut().trace.take().unwrap();
    let before = (trace.timeline.view_position(), trace.timeline.selected());
    assert!(before.1.is_some(), "a span is selected");
    let timeline = trace.timeline.with_names(snapshot.with_overlay(None));
    assert_eq!((timeline.view_position(), timeline.selected()), before);
    assert!(timeline.has_trace_summary());
}

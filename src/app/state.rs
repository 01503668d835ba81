//! What the window shows and how it answers: which capture is open, what runs, which dialog is up. Knows no graphics card and
//! no system window, so that it outlives both and a test can drive it.

mod mend;

use std::path::{Path, PathBuf};

use super::AppOptions;
use super::capture::OpenCapture;
use super::dialogs::Choice;
use super::panels::Panels;
use super::preferences::{Preferences, RECENT_MAX, WindowPlace};
use super::tasks::{self, Running, Source, TaskError, TaskEvent, TaskId, Wake, file_name};
use crate::base::budget::Budget;
use crate::base::time::grouped_digits;
use crate::model::Sources;
use crate::query::Snapshot;
use crate::scene::frame::RectBudget;
use crate::ui::palette::Palette;
use crate::ui::picker::{Picker, Purpose};
use crate::ui::rows::Arranging;
use crate::ui::theme::Theme;
use crate::ui::timeline::Timeline;
use crate::ui::{Command, ExportFormat, Panel, RowCommand};

/// What only the window itself can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// To show a dialog of the system.
    Dialog {
        /// What for.
        purpose: Purpose,
        /// The name that is offered.
        suggested_name: String,
        /// The folder that is offered.
        folder: Option<PathBuf>,
    },
    /// To close the window.
    Quit,
}

/// Which of the panels that can be hidden are shown.
#[expect(clippy::struct_excessive_bools, reason = "each is a panel of its own")]
pub(super) struct ShownPanels {
    pub(super) details: bool,
    pub(super) losses: bool,
    pub(super) marks: bool,
    pub(super) preferences: bool,
    pub(super) keys: bool,
}

/// The state of the application.
pub struct App {
    pub(super) options: AppOptions,
    pub(super) wake: Wake,
    pub(super) theme: Theme,
    pub(super) themed: bool,
    pub(super) capture: Option<OpenCapture>,
    /// Whether a capture is about to be opened, so that nobody need be told how.
    pub(super) awaits_capture: bool,
    pub(super) running: Option<Running>,
    pub(super) tasks_started: u64,
    pub(super) picker: Option<Picker>,
    pub(super) palette: Option<Palette>,
    pub(super) panels: Panels,
    pub(super) message: Option<(&'static str, String)>,
    pub(super) shown: ShownPanels,
    pub(super) preferences: Preferences,
    /// As they are in the file.
    pub(super) kept_preferences: Preferences,
    pub(super) note: String,
    pub(super) adapter: String,
    pub(super) budget: RectBudget,
    pub(super) folder: Option<PathBuf>,
}

impl App {
    /// An application with nothing open.
    #[must_use]
    pub fn new(mut options: AppOptions, wake: Wake) -> Self {
        let (preferences, note) = if let Some(folders) = &options.folders {
            folders.preferences()
        } else {
            let AppOptions { shade, colors, navigation, .. } = options;
            (Preferences { shade, colors, navigation, ..Preferences::default() }, None)
        };
        // What the command line says goes first.
        if options.load.budget_bytes == Budget::DEFAULT_BYTES {
            options.load.budget_bytes = preferences.memory_bytes;
        }
        options.load.cache_bytes_max = preferences.cache_bytes;
        let theme = Theme::new(preferences.shade);
        let kept_preferences = preferences.clone();
        Self {
            options,
            wake,
            theme,
            themed: false,
            capture: None,
            awaits_capture: false,
            running: None,
            tasks_started: 0,
            picker: None,
            palette: None,
            panels: Panels::default(),
            message: None,
            shown: ShownPanels { details: true, losses: false, marks: false, preferences: false, keys: false },
            preferences,
            kept_preferences,
            note: note.unwrap_or_default(),
            adapter: String::new(),
            budget: RectBudget::HARDWARE,
            folder: None,
        }
    }

    /// The colours.
    #[must_use]
    pub fn theme(&self) -> &Theme {
        &self.theme
    }

    /// The title of the window.
    #[must_use]
    pub fn title(&self) -> String {
        match &self.capture {
            Some(capture) => format!("{} - Longspan", capture.title()),
            None => "Longspan".to_owned(),
        }
    }

    /// What went wrong last, until it is closed.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        self.message.as_ref().map(|(_, message)| message.as_str())
    }

    /// What the status bar says beside the counts.
    #[must_use]
    pub fn note(&self) -> &str {
        &self.note
    }

    /// The timeline, while a capture is open.
    pub fn timeline_mut(&mut self) -> Option<&mut Timeline> {
        self.capture.as_mut().map(|capture| &mut capture.timeline)
    }

    /// Takes what draws from now on: another card means another bound on rectangles, and widgets styled anew.
    pub fn set_adapter(&mut self, name: String, is_software: bool) {
        self.adapter = name;
        self.budget = if is_software { RectBudget::SOFTWARE } else { RectBudget::HARDWARE };
        self.themed = false;
        if let Some(capture) = &mut self.capture {
            capture.timeline.set_budget(self.budget);
        }
    }

    /// Says something in the status bar.
    pub fn set_note(&mut self, note: String) {
        self.note = note;
    }

    /// Shows no ways to open a capture: one will be opened after the first frame.
    pub fn await_capture(&mut self) {
        self.awaits_capture = true;
    }

    /// Opens files as one capture. Folders among them are left out, and that is said.
    pub fn open_files(&mut self, files: &[PathBuf]) {
        let (folders, mut chosen): (Vec<PathBuf>, Vec<PathBuf>) = files.iter().cloned().partition(|path| path.is_dir());
        if chosen.is_empty() {
            chosen.extend(folders.first().cloned());
        }
        self.open(Sources::unmoved(chosen));
        if let Some(folder) = folders.first().filter(|_| folders.len() < files.len()) {
            self.note = format!("{} is a folder, and was left out.", file_name(folder));
        }
    }

    /// Opens a capture: one file, or several on one timeline.
    pub fn open(&mut self, sources: Sources) {
        if !sources.files().is_empty() {
            self.picker = None;
            self.note.clear();
            self.load(Source::Files(sources));
        }
    }

    /// Opens the generated capture.
    pub fn open_demo(&mut self) {
        self.note.clear();
        self.load(Source::Demo);
    }

    /// Shows a capture that was loaded from `sources`, to its end or, while it `grows`, so far.
    pub fn show_capture(&mut self, snapshot: Snapshot, sources: Sources, grows: bool) {
        // While more is sorted, what is looked at stays in view.
        let (timeline, is_mended) =
            if let Some(OpenCapture { timeline, grows: true, is_mended, .. }) = self.capture.take() {
                (timeline.with_more(snapshot), is_mended)
            } else {
                let mut timeline = Timeline::new(snapshot, self.budget, &self.theme, self.preferences.navigation);
                timeline.set_density(self.preferences.density);
                timeline.set_colors(self.preferences.colors);
                (timeline, false)
            };
        let id = self.next_task();
        self.panels.forget(timeline.snapshot(), &self.wake);
        let mut capture = OpenCapture::new(id, sources, timeline, grows, &self.wake);
        capture.is_mended = is_mended;
        let kept = self.options.folders.as_ref().filter(|_| !grows && capture.timeline.is_untouched());
        if let Some((kept, note)) = kept.map(|folders| folders.timeline(&capture.sources)) {
            self.note.extend(note);
            if let Some(job) = kept.and_then(|kept| capture.timeline.restore(kept)) {
                tasks::arrange(job, &self.wake);
            }
        }
        self.capture = Some(capture);
    }

    /// Keeps what is to be kept of the capture that is open, and the preferences, before both are gone.
    pub fn keep(&mut self) {
        self.keep_preferences();
        let Some(folders) = &self.options.folders else { return };
        if let Some(capture) = self.capture.as_ref().filter(|capture| capture.is_whole()) {
            // The capture may have been removed; what is not kept is not missed.
            folders.keep_timeline(&capture.sources, &capture.timeline.to_keep()).ok();
        }
    }

    /// The place that the window had.
    #[must_use]
    pub fn window_place(&self) -> Option<WindowPlace> {
        self.preferences.window
    }

    /// Takes note of the place of the window.
    pub fn set_window_place(&mut self, place: WindowPlace) {
        self.preferences.window = Some(place);
    }

    /// Writes the preferences if they have changed.
    pub(super) fn keep_preferences(&mut self) {
        let Some(folders) = &self.options.folders else { return };
        if self.preferences != self.kept_preferences {
            if let Err(error) = folders.keep_preferences(&self.preferences) {
                self.note = format!("The preferences cannot be kept: {error}");
            }
            self.kept_preferences = self.preferences.clone();
        }
    }

    /// Takes note of a capture that was opened, to offer it again.
    fn note_recent(&mut self, path: &Path) {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        // A name that is no text cannot be kept in JSON.
        if let Some(path) = absolute.to_str() {
            let recent = &mut self.preferences.recent;
            recent.retain(|known| known != path);
            recent.insert(0, path.to_owned());
            recent.truncate(RECENT_MAX);
        }
    }

    /// Takes the answer of background work.
    pub fn take(&mut self, event: TaskEvent) {
        match event {
            TaskEvent::Previewed(id, snapshot) if self.runs(id) => {
                if let Some(running) = &self.running {
                    let sources = running.sources.clone();
                    self.show_capture(snapshot, sources, true);
                }
            }
            TaskEvent::Loaded(id, result) if self.runs(id) => {
                let sources = self.running.take().map(|running| running.sources.clone()).unwrap_or_default();
                match result {
                    Ok(loaded) => {
                        if let Some(note) = loaded.report.note {
                            self.note = note;
                        }
                        self.show_capture(Snapshot::new(loaded.store), sources, false);
                    }
                    Err(error) => {
                        // What was sorted before it failed stays to be looked at.
                        self.stop_growing();
                        self.fail("The trace cannot be opened", error);
                    }
                }
            }
            TaskEvent::Exported(id, path, result) if self.runs(id) => {
                self.running = None;
                match result {
                    Ok(report) => {
                        let spans = grouped_digits(report.spans);
                        self.note = format!("{spans} spans written to {}", path.display());
                    }
                    Err(error) => self.fail("The trace could not be written", error),
                }
            }
            TaskEvent::Surveyed(of, survey) => {
                if let Some(capture) = &mut self.capture {
                    capture.take_survey(of, survey);
                }
            }
            TaskEvent::Followed(of, row, flows) => {
                if let Some(capture) = &mut self.capture {
                    capture.take_flows(of, row, flows);
                }
            }
            TaskEvent::Arranged(arranged) => {
                if let Some(capture) = &mut self.capture {
                    capture.timeline.take(arranged);
                }
            }
            TaskEvent::Answered(id, kind, answer) => {
                let timeline = self.capture.as_mut().map(|capture| &mut capture.timeline);
                let answer = answer.map(|answer| *answer);
                if let Some(command) = timeline.and_then(|timeline| self.panels.take((id, kind), answer, timeline)) {
                    self.act(command);
                }
            }
            TaskEvent::Listed(folder, listing) => {
                if let Some(picker) = &mut self.picker {
                    picker.set_listing(&folder, listing);
                }
            }
            TaskEvent::Chosen(Choice::Chosen(Purpose::Open, paths)) => self.open_files(&paths),
            TaskEvent::Chosen(Choice::Chosen(Purpose::Export(format), paths)) => {
                for path in paths {
                    self.act(Command::Export(format, path));
                }
            }
            TaskEvent::Chosen(Choice::Chosen(Purpose::Table, path)) => {
                self.act(Command::WriteTable(path));
            }
            TaskEvent::Wrote(path, Ok(())) => self.note = format!("Written to {}", path.display()),
            TaskEvent::Wrote(_, Err(message)) => self.message = Some(("The statistics could not be written", message)),
            TaskEvent::Chosen(Choice::NoDialog(purpose)) => self.show_picker(purpose),
            // Of a task that was given up, or of a dialog that was closed.
            TaskEvent::Previewed(..)
            | TaskEvent::Loaded(..)
            | TaskEvent::Exported(..)
            | TaskEvent::Chosen(Choice::Dismissed) => {}
        }
    }

    /// Does what the user asked for; returns what only the window can do.
    pub(super) fn act(&mut self, command: Command) -> Option<Effect> {
        match command {
            Command::ChooseCapture => {
                return Some(Effect::Dialog {
                    purpose: Purpose::Open,
                    suggested_name: String::new(),
                    folder: self.folder.clone(),
                });
            }
            Command::ChooseExport(format) => {
                let purpose = Purpose::Export(format);
                let suggested_name = self.suggested_name(purpose);
                return Some(Effect::Dialog { purpose, suggested_name, folder: self.folder.clone() });
            }
            Command::ChooseTable => {
                let suggested_name = self.suggested_name(Purpose::Table);
                return Some(Effect::Dialog { purpose: Purpose::Table, suggested_name, folder: self.folder.clone() });
            }
            Command::WriteTable(path) => {
                self.picker = None;
                tasks::write_text(path, self.panels.statistics_csv(), &self.wake);
            }
            Command::Quit => return Some(Effect::Quit),
            Command::Open(sources) => self.open(sources),
            Command::OpenDemo => self.open_demo(),
            Command::ShowPicker => self.show_picker(Purpose::Open),
            Command::Export(format, path) => {
                self.picker = None;
                self.export(format, path);
            }
            Command::List(folder) => tasks::list(folder, &self.wake),
            Command::ClosePicker => self.picker = None,
            Command::Cancel => {
                if let Some(running) = &self.running {
                    running.cancel();
                }
            }
            Command::Dismiss => self.message = None,
            Command::SetShade(shade) => {
                self.preferences.shade = shade;
                self.theme = Theme::new(shade);
                self.themed = false;
                if let Some(capture) = &mut self.capture {
                    capture.timeline.set_theme(&self.theme);
                }
            }
            Command::SetColors(colors) => {
                self.preferences.colors = colors;
                if let Some(capture) = &mut self.capture {
                    capture.timeline.set_colors(colors);
                }
            }
            Command::SetNavigation(navigation) => {
                self.preferences.navigation = navigation;
                if let Some(capture) = &mut self.capture {
                    capture.timeline.set_navigation(navigation);
                }
            }
            Command::SetSizes(sizes) => {
                self.preferences.memory_bytes = sizes.memory_bytes;
                self.preferences.cache_bytes = sizes.cache_bytes;
                self.options.load.budget_bytes = sizes.memory_bytes;
                self.options.load.cache_bytes_max = sizes.cache_bytes;
            }
            Command::ShowCommands => self.palette = Some(Palette::default()),
            Command::Rows(RowCommand::Density(density)) => {
                self.preferences.density = density;
                return self.act_on_timeline(Command::Rows(RowCommand::Density(density)));
            }
            Command::SetTextPercent(percent) => {
                self.preferences.text_percent = percent;
                self.themed = false;
            }
            Command::Toggle(Panel::Details) => self.shown.details = !self.shown.details,
            Command::Toggle(Panel::Losses) => self.shown.losses = !self.shown.losses,
            Command::Toggle(Panel::Marks) => self.shown.marks = !self.shown.marks,
            Command::Toggle(Panel::Preferences) => self.shown.preferences = !self.shown.preferences,
            Command::Toggle(Panel::Keys) => self.shown.keys = !self.shown.keys,
            other => return self.act_on_timeline(other),
        }
        None
    }

    fn act_on_timeline(&mut self, command: Command) -> Option<Effect> {
        if let Some(capture) = &mut self.capture {
            self.panels.act(&command, &mut capture.timeline, &self.wake);
        }
        let job = self.capture.as_mut().and_then(|capture| move_timeline(&mut capture.timeline, command));
        if let Some(job) = job {
            tasks::arrange(job, &self.wake);
        }
        None
    }

    fn load(&mut self, source: Source) {
        self.keep();
        if let Source::Files(sources) = &source {
            // The first of them is on top.
            for file in sources.files().iter().rev() {
                self.note_recent(&file.path);
                self.folder = file.path.parent().map(PathBuf::from);
            }
        }
        self.message = None;
        self.awaits_capture = false;
        // The capture that is open does not grow into the one that is loaded now.
        self.stop_growing();
        let id = self.next_task();
        self.running = Some(tasks::load(id, source, self.options.load.clone(), &self.wake));
    }

    fn export(&mut self, format: ExportFormat, path: PathBuf) {
        if let Some(capture) = &self.capture {
            let (snapshot, sources) = (capture.timeline.snapshot().clone(), capture.sources.clone());
            let range = capture.timeline.range();
            let id = self.next_task();
            self.running = Some(tasks::export(id, snapshot, sources, format, range, path, &self.wake));
        }
    }

    fn stop_growing(&mut self) {
        if let Some(capture) = &mut self.capture {
            capture.grows = false;
        }
    }

    fn show_picker(&mut self, purpose: Purpose) {
        let folder = self.folder.clone().filter(|folder| folder.is_absolute());
        let folder = folder.or_else(|| std::env::current_dir().ok()).or_else(dirs::home_dir).unwrap_or_default();
        let picker = Picker::new(purpose, folder, self.suggested_name(purpose));
        let first = picker.first_command();
        self.picker = Some(picker);
        self.act(first);
    }

    fn suggested_name(&self, purpose: Purpose) -> String {
        let title = self.capture.as_ref().map(OpenCapture::title).unwrap_or_default();
        let stem = title.strip_suffix(".gz").unwrap_or(&title);
        let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
        let stem = if stem.is_empty() { "trace" } else { stem };
        match purpose {
            Purpose::Open => String::new(),
            Purpose::Table => format!("{stem}-statistics.csv"),
            Purpose::Export(format) => {
                let what = if format == ExportFormat::Selected { "selected" } else { "sorted" };
                format!("{stem}-{what}.{}", format.extension())
            }
        }
    }

    fn fail(&mut self, title: &'static str, error: TaskError) {
        match error {
            TaskError::Cancelled => "Stopped.".clone_into(&mut self.note),
            TaskError::Failed(message) => self.message = Some((title, message)),
        }
    }

    fn runs(&self, id: TaskId) -> bool {
        self.running.as_ref().is_some_and(|running| running.id == id)
    }

    fn next_task(&mut self) -> TaskId {
        self.tasks_started += 1;
        TaskId(self.tasks_started)
    }
}

/// The commands that move the timeline or arrange its rows; returns what is to be done in the background.
fn move_timeline(timeline: &mut Timeline, command: Command) -> Option<Arranging> {
    match command {
        Command::Select(row) => timeline.select(row),
        Command::Reveal(row) => return timeline.reveal(row),
        Command::ShowTime(ts_ns) => timeline.show_time(ts_ns),
        Command::ShowSlice(from_ns, to_ns) => timeline.show_slice(from_ns, to_ns),
        Command::Step(step) => return timeline.step(step),
        Command::Rows(command) => return timeline.change_rows(command),
        Command::Mark(command) => return timeline.change_marks(&command),
        _ => {}
    }
    None
}

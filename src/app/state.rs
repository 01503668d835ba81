//! What the window shows and how it answers: which capture is open, what runs, which dialog is up. Knows no graphics card and
//! no system window, so that it outlives both and a test can drive it.

mod mend;

use std::path::PathBuf;

use egui::Ui;

use super::AppOptions;
use super::dialogs::Choice;
use super::panels::Panels;
use super::tasks::{self, Running, Source, TaskError, TaskEvent, TaskId, Wake, file_name};
use crate::base::time::grouped_digits;
use crate::query::Snapshot;
use crate::scene::frame::RectBudget;
use crate::scene::rows::Density;
use crate::ui::commands::{UiState, pressed};
use crate::ui::details::Details;
use crate::ui::menu;
use crate::ui::palette::{Outcome, Palette};
use crate::ui::picker::{Picker, Purpose};
use crate::ui::rows::Arranging;
use crate::ui::status::{self, Status};
use crate::ui::theme::Theme;
use crate::ui::timeline::Timeline;
use crate::ui::{Command, ExportFormat, Panel, RowCommand, errors, losses, progress, welcome};

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

/// A capture that is open.
struct OpenCapture {
    /// What it was loaded from.
    source: PathBuf,
    timeline: Timeline,
    details: Option<Details>,
    /// Whether the load that runs will show more of it.
    grows: bool,
    /// Whether it is sorted again, because its store was damaged: once and not for ever.
    is_mended: bool,
    /// The look at it as a whole that was last begun.
    surveyed: Option<TaskId>,
    /// Stops that look.
    _surveying: Option<tasks::Surveying>,
}

impl OpenCapture {
    fn title(&self) -> String {
        file_name(&self.source)
    }

    /// Whether it was sorted to its end. A load that was stopped or failed leaves what it had sorted.
    fn is_whole(&self) -> bool {
        self.timeline.snapshot().summary().sorted_to_ns.is_none()
    }
}

/// Which of the panels that can be hidden are shown.
struct ShownPanels {
    details: bool,
    losses: bool,
    keys: bool,
}

/// The state of the application.
pub struct App {
    options: AppOptions,
    wake: Wake,
    theme: Theme,
    themed: bool,
    text_percent: u16,
    capture: Option<OpenCapture>,
    /// Whether a capture is about to be opened, so that nobody need be told how.
    awaits_capture: bool,
    running: Option<Running>,
    tasks_started: u64,
    picker: Option<Picker>,
    palette: Option<Palette>,
    panels: Panels,
    density: Density,
    message: Option<(&'static str, String)>,
    shown: ShownPanels,
    note: String,
    adapter: String,
    budget: RectBudget,
    folder: Option<PathBuf>,
}

impl App {
    /// An application with nothing open.
    #[must_use]
    pub fn new(options: AppOptions, wake: Wake) -> Self {
        let theme = Theme::new(options.shade);
        Self {
            options,
            wake,
            theme,
            themed: false,
            text_percent: 100,
            capture: None,
            awaits_capture: false,
            running: None,
            tasks_started: 0,
            picker: None,
            palette: None,
            panels: Panels::default(),
            density: Density::default(),
            message: None,
            shown: ShownPanels { details: true, losses: false, keys: false },
            note: String::new(),
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

    /// Opens the first of some files that is one, and says so if there are more.
    pub fn open_first_of(&mut self, files: &[PathBuf]) {
        let count = files.len();
        let chosen = files.iter().find(|path| path.is_file()).or(files.first()).cloned();
        if let Some(path) = chosen {
            self.note = match count {
                1 => String::new(),
                _ => format!("Opened {}, the first of {count} files; one window shows one capture.", file_name(&path)),
            };
            self.load(Source::File(path));
        }
    }

    /// Opens the generated capture.
    pub fn open_demo(&mut self) {
        self.note.clear();
        self.load(Source::Demo);
    }

    /// Shows a capture that was loaded from `source`, to its end or, while it `grows`, so far.
    pub fn show_capture(&mut self, snapshot: Snapshot, source: PathBuf, grows: bool) {
        // While more is sorted, what is looked at stays in view.
        let (timeline, is_mended) =
            if let Some(OpenCapture { timeline, grows: true, is_mended, .. }) = self.capture.take() {
                (timeline.with_more(snapshot), is_mended)
            } else {
                let mut timeline = Timeline::new(snapshot, self.budget, &self.theme, self.options.navigation);
                timeline.set_density(self.density);
                (timeline, false)
            };
        // A preview is looked at as a whole when it is no more than that.
        let id = self.next_task();
        let surveying = (!grows).then(|| tasks::survey(id, timeline.snapshot().clone(), &self.wake));
        let surveyed = Some(id);
        self.panels.forget(timeline.snapshot(), &self.wake);
        let details = None;
        self.capture =
            Some(OpenCapture { source, timeline, details, grows, is_mended, surveyed, _surveying: surveying });
    }

    /// Takes the answer of background work.
    pub fn take(&mut self, event: TaskEvent) {
        match event {
            TaskEvent::Previewed(id, snapshot) if self.runs(id) => {
                if let Some(running) = &self.running {
                    let source = running.path.clone();
                    self.show_capture(snapshot, source, true);
                }
            }
            TaskEvent::Loaded(id, result) if self.runs(id) => {
                let source = self.running.take().map(|running| running.path.clone()).unwrap_or_default();
                match result {
                    Ok(loaded) => {
                        if let Some(note) = loaded.report.note {
                            self.note = note;
                        }
                        self.show_capture(Snapshot::new(loaded.store), source, false);
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
                if let Some(capture) = self.capture.as_mut().filter(|capture| capture.surveyed == Some(of)) {
                    capture.timeline.set_survey(survey);
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
            TaskEvent::Chosen(Choice::Chosen(Purpose::Open, path)) => {
                self.act(Command::Open(path));
            }
            TaskEvent::Chosen(Choice::Chosen(Purpose::Export(format), path)) => {
                self.act(Command::Export(format, path));
            }
            TaskEvent::Chosen(Choice::NoDialog(purpose)) => self.show_picker(purpose),
            // Of a task that was given up, or of a dialog that was closed.
            TaskEvent::Previewed(..)
            | TaskEvent::Loaded(..)
            | TaskEvent::Exported(..)
            | TaskEvent::Chosen(Choice::Dismissed) => {}
        }
    }

    /// Shows everything and answers the input of a frame.
    pub fn show(&mut self, ui: &mut Ui) -> Vec<Effect> {
        if !self.themed {
            self.theme.apply(ui.ctx());
            ui.ctx().set_zoom_factor(f32::from(self.text_percent) / 100.0);
            self.themed = true;
        }
        self.mend();
        let mut commands = Vec::new();
        let frame = egui::Frame::side_top_panel(ui.style()).fill(self.theme.panel);
        let state = self.ui_state();
        commands.extend(pressed(ui, &state));
        egui::Panel::top("menu").frame(frame.inner_margin(egui::Margin::symmetric(6, 3))).show(ui, |ui| {
            commands.extend(menu::show(ui, &state, |_, _| None));
        });
        let bar = frame.inner_margin(egui::Margin::symmetric(10, 0));
        egui::Panel::bottom("status").exact_size(24.0).frame(bar).show(ui, |ui| {
            let status = Status {
                title: &self.capture.as_ref().map(OpenCapture::title).unwrap_or_default(),
                note: &self.note,
                adapter: &self.adapter,
            };
            let snapshot = self.capture.as_ref().map(|capture| capture.timeline.snapshot());
            commands.extend(status::show(ui, snapshot, status, &self.theme));
        });
        if let Some(capture) = &self.capture {
            commands.extend(self.panels.show(ui, frame, &capture.timeline, &self.theme));
        }
        self.show_details(ui, frame, &mut commands);
        egui::CentralPanel::no_frame().show(ui, |ui| {
            if let Some(capture) = &mut self.capture {
                commands.extend(capture.timeline.show(ui, &self.theme));
                self.panels.attend(&capture.timeline, &self.wake);
                return;
            }
            ui.painter().rect_filled(ui.max_rect(), 0.0, self.theme.canvas);
            if self.running.is_none() && !self.awaits_capture {
                commands.extend(welcome::show(ui, &self.theme));
            }
        });
        self.show_windows(ui, &mut commands);
        if let Some(palette) = &mut self.palette {
            match palette.show(ui, &state, &self.theme) {
                Outcome::Open => {}
                Outcome::Closed => self.palette = None,
                Outcome::Given(command) => {
                    self.palette = None;
                    commands.push(command);
                }
            }
        }
        self.take_dropped(ui);
        commands.into_iter().filter_map(|command| self.act(command)).collect()
    }

    fn show_details(&mut self, ui: &mut Ui, frame: egui::Frame, commands: &mut Vec<Command>) {
        let Some(capture) = &mut self.capture else { return };
        let selected = capture.timeline.selected();
        if capture.details.as_ref().map(Details::row) != selected {
            capture.details = selected.and_then(|row| Details::of_row(capture.timeline.snapshot(), row));
        }
        if let Some(details) = capture.details.as_ref().filter(|_| self.shown.details) {
            let frame = frame.inner_margin(egui::Margin::symmetric(12, 6));
            egui::Panel::bottom("details").resizable(true).default_size(210.0).frame(frame).show(ui, |ui| {
                commands.extend(details.show(ui, &self.theme));
            });
        }
    }

    fn show_windows(&mut self, ui: &mut Ui, commands: &mut Vec<Command>) {
        let ctx = ui.ctx().clone();
        let theme = &self.theme;
        if let Some(running) = &self.running {
            // Beside the picture once there is one, in the middle before.
            let (align, offset) = match &self.capture {
                Some(_) => (egui::Align2::RIGHT_BOTTOM, egui::vec2(-20.0, -40.0)),
                None => (egui::Align2::CENTER_CENTER, egui::Vec2::ZERO),
            };
            let window = egui::Window::new("Progress").title_bar(false).resizable(false).anchor(align, offset);
            window.show(&ctx, |ui| commands.extend(progress::show(ui, &running.title, &running.progress, theme)));
            // Ten times a second: a bar need not move more often.
            ctx.request_repaint_after(std::time::Duration::from_millis(100));
        }
        if let Some(capture) = &self.capture {
            let snapshot = capture.timeline.snapshot();
            in_the_middle("Losses", &ctx).open(&mut self.shown.losses).default_width(460.0).show(&ctx, |ui| {
                commands.extend(losses::list(ui, snapshot.losses(), snapshot.start_ns(), theme));
            });
        }
        in_the_middle("Keys", &ctx).open(&mut self.shown.keys).resizable(false).show(&ctx, |ui| {
            menu::keys(ui, theme);
        });
        if let Some(picker) = &mut self.picker {
            commands.extend(picker.show(ui, theme));
        }
        if let Some((title, message)) = &self.message {
            commands.extend(errors::show(ui, title, message, theme));
        }
    }

    /// Takes files that were dropped, and says that they may be while they hover.
    fn take_dropped(&mut self, ui: &Ui) {
        let (hovers, dropped) = ui.input(|input| {
            let paths = input.raw.dropped_files.iter().map(|file| file.path().to_owned()).collect::<Vec<_>>();
            (!input.raw.hovered_files.is_empty(), paths)
        });
        if hovers {
            let layer = egui::LayerId::new(egui::Order::Foreground, egui::Id::unique("drop"));
            let painter = ui.ctx().layer_painter(layer);
            let screen = ui.ctx().content_rect();
            painter.rect_filled(screen, 0.0, self.theme.canvas.gamma_multiply(0.85));
            let font = egui::FontId::proportional(22.0);
            painter.text(screen.center(), egui::Align2::CENTER_CENTER, "Drop to open", font, self.theme.text);
        }
        if !dropped.is_empty() {
            self.open_first_of(&dropped);
        }
    }

    /// Does what the user asked for; returns what only the window can do.
    fn act(&mut self, command: Command) -> Option<Effect> {
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
            Command::Quit => return Some(Effect::Quit),
            Command::Open(path) => {
                self.picker = None;
                self.note.clear();
                self.load(Source::File(path));
            }
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
                self.theme = Theme::new(shade);
                self.themed = false;
                if let Some(capture) = &mut self.capture {
                    capture.timeline.set_theme(&self.theme);
                }
            }
            Command::SetNavigation(navigation) => {
                self.options.navigation = navigation;
                if let Some(capture) = &mut self.capture {
                    capture.timeline.set_navigation(navigation);
                }
            }
            Command::ShowCommands => self.palette = Some(Palette::default()),
            Command::Rows(RowCommand::Density(density)) => {
                self.density = density;
                return self.act_on_timeline(Command::Rows(RowCommand::Density(density)));
            }
            Command::SetTextPercent(percent) => {
                self.text_percent = percent;
                self.themed = false;
            }
            Command::Toggle(Panel::Details) => self.shown.details = !self.shown.details,
            Command::Toggle(Panel::Losses) => self.shown.losses = !self.shown.losses,
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
        if let Source::File(path) = &source {
            self.folder = path.parent().map(PathBuf::from);
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
            let (snapshot, source) = (capture.timeline.snapshot().clone(), capture.source.clone());
            let range = capture.timeline.range();
            let id = self.next_task();
            self.running = Some(tasks::export(id, snapshot, source, format, range, path, &self.wake));
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
        let Purpose::Export(format) = purpose else { return String::new() };
        let title = self.capture.as_ref().map(OpenCapture::title).unwrap_or_default();
        let stem = title.strip_suffix(".gz").unwrap_or(&title);
        let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
        let stem = if stem.is_empty() { "trace" } else { stem };
        let what = if format == ExportFormat::Selected { "selected" } else { "sorted" };
        format!("{stem}-{what}.{}", format.extension())
    }

    fn ui_state(&self) -> UiState {
        let timeline = self.capture.as_ref().map(|capture| &capture.timeline);
        let arrangement = timeline.map(Timeline::arrangement);
        UiState {
            has_capture: timeline.is_some(),
            can_export: self.capture.as_ref().is_some_and(OpenCapture::is_whole) && self.running.is_none(),
            is_busy: self.running.is_some(),
            has_span: timeline.is_some_and(|timeline| timeline.selected().is_some()),
            has_range: timeline.is_some_and(|timeline| timeline.range().is_some()),
            has_hidden: arrangement.is_some_and(|arrangement| !arrangement.folded.hidden.is_empty()),
            shade: self.theme.shade,
            text_percent: self.text_percent,
            navigation: self.options.navigation,
            order: arrangement.map(|arrangement| arrangement.order).unwrap_or_default(),
            density: self.density,
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

/// A window that stands in the middle until it is dragged away.
fn in_the_middle(title: &'static str, ctx: &egui::Context) -> egui::Window<'static> {
    let middle = ctx.content_rect().center();
    egui::Window::new(title).pivot(egui::Align2::CENTER_CENTER).default_pos(middle).collapsible(false)
}

/// The commands that move the timeline or arrange its rows; returns what is to be done in the background.
fn move_timeline(timeline: &mut Timeline, command: Command) -> Option<Arranging> {
    match command {
        Command::Select(row) => timeline.select(row),
        Command::Reveal(row) => return timeline.reveal(row),
        Command::ShowTime(ts_ns) => timeline.show_time(ts_ns),
        Command::Step(step) => return timeline.step(step),
        Command::Rows(command) => return timeline.change_rows(command),
        _ => {}
    }
    None
}

//! The state of the application: the open traces, running tasks, dialogs. Independent of the GPU and the window, so
//! that it survives both and can be tested.

mod answers;
mod choosing;
pub(crate) mod copied;
mod exports;
mod followed;
mod interrupted_traces;
mod repair;
mod settings;
mod written;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use super::AppOptions;
use super::background_writes::BackgroundWrites;
use super::close_request::CloseRequest;
use super::desktop::DesktopSettings;
use super::fonts::Fonts;
use super::interrupted_traces::InterruptedTraces;
use super::notes::NoteKind;
use super::opened_files::TimelineReader;
use super::pasted::Chosen;
use super::preferences::{Preferences, WindowGeometry};
use super::preferences_keeper::PreferencesKeeper;
use super::received::OnlyCopy;
use super::reimport::Reimport;
use super::tab::Tab;
use super::tasks::{self, LoadSource, file_name};
use crate::app::event::{FileRequest, TabId, TaskId, Wake};
use crate::base::escape::escaped;
use crate::base::files;
use crate::base::time::counted;
use crate::frame::RectBudget;
use crate::ingest::spool::is_unseekable;
use crate::ingest::{CachePolicy, LoadOptions};
use crate::model::Sources;
use crate::model::unwind::UnwindFiles;
use crate::symbols::unwind::SymbolUnwinding;
use crate::ui::chrome::command_palette::CommandPalette;
use crate::ui::chrome::go_to_time::GoToTime;
use crate::ui::command::{AppCommand, Command, NavigationStep, PanelCommand, TimelineCommand, ToolWindow};
use crate::ui::purpose::Purpose;
use crate::ui::settings::Navigation;
use crate::ui::theme::Theme;
use crate::ui::timeline::state::Timeline;
use crate::ui::widgets::tab_order::TabOrder;
use choosing::OpenPicker;
use written::UNSORTED;

/// Why files are moved that were opened without offsets. Shown until they are moved again.
const RESTORED_OFFSETS_NOTE: &str = "Restored the file offsets of the last session (Analyze > Files and their clocks)";

/// An action of a command beyond the state of the application.
#[derive(Debug)]
pub(super) enum Effect {
    /// Copies a text to the clipboard.
    Copy(String),
    Window(WindowEffect),
}

/// An action that only the window can perform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WindowEffect {
    /// Shows a dialog of the desktop.
    Dialog {
        request: FileRequest,
        suggested_name: String,
        /// Folder that the dialog shows first; `None` lets the dialog choose.
        folder: Option<PathBuf>,
    },
    /// Reads the clipboard, for [`App::paste`].
    Paste,
    Quit,
}

/// The open windows over the timeline, in the order in which they were opened.
#[derive(Debug, Default)]
pub(super) struct OpenToolWindows(Vec<ToolWindow>);

impl OpenToolWindows {
    pub(super) fn is_open(&self, window: ToolWindow) -> bool {
        self.0.contains(&window)
    }

    pub(super) fn toggle(&mut self, window: ToolWindow) {
        if self.is_open(window) {
            self.0.retain(|open| *open != window);
        } else {
            self.0.push(window);
        }
    }

    /// Closes the window that was opened last. Returns whether there was one.
    pub(super) fn close_last(&mut self) -> bool {
        self.0.pop().is_some()
    }
}

/// The open dialogs that take the keyboard.
#[derive(Default)]
pub(super) struct ModalDialogs {
    pub(super) picker: Option<OpenPicker>,
    pub(super) palette: Option<CommandPalette>,
    pub(super) go_to_time: Option<GoToTime>,
    /// The request to close that waits for the user.
    pub(super) close_request: Option<CloseRequest>,
}

impl ModalDialogs {
    /// Returns whether any dialog is open.
    pub(super) fn has_any(&self) -> bool {
        let Self { picker, palette, go_to_time, close_request } = self;
        picker.is_some() || palette.is_some() || go_to_time.is_some() || close_request.is_some()
    }
}

/// The state of the application.
pub struct App {
    pub(super) options: AppOptions,
    pub(super) wake: Wake,
    pub(super) theme: Theme,
    pub(super) is_theme_applied: bool,
    pub(super) tab_order: TabOrder,
    /// The tabs, left to right; at least one.
    pub(super) tabs: Vec<Tab>,
    pub(super) shown_tab: usize,
    pub(super) tabs_opened: u64,
    /// The traces of closed tabs that can be opened again, the last closed trace last.
    pub(super) closed_tabs: VecDeque<Sources>,
    /// Whether the window should come to the front.
    pub(super) wants_attention: bool,
    pub(super) tasks_started: u64,
    pub(super) dialogs: ModalDialogs,
    pub(super) tool_windows: OpenToolWindows,
    pub(super) preferences: Preferences,
    pub(super) preferences_keeper: PreferencesKeeper,
    /// The writes of saved state that still run.
    pub(super) writes: BackgroundWrites,
    /// System fonts for letters missing from the window's fonts.
    pub(super) fonts: Fonts,
    pub(super) desktop: DesktopSettings,
    pub(super) adapter: String,
    /// Whether files can be dropped on the window.
    pub(super) takes_drops: bool,
    pub(super) budget: RectBudget,
    pub(super) folder: Option<PathBuf>,
    /// The file for the next picture of the window.
    pub(super) window_picture: Option<PathBuf>,
    pub(super) interrupted: InterruptedTraces,
}

impl Drop for App {
    /// Waits for running writes: one that outlasts the application would create its folders again.
    fn drop(&mut self) {
        self.writes.wait();
    }
}

impl App {
    /// Creates an application without open traces.
    #[must_use]
    pub fn new(mut options: AppOptions, wake: Wake) -> Self {
        let (preferences, note) = if let Some(folders) = &options.folders {
            folders.preferences()
        } else {
            let AppOptions { shade, colors, navigation, .. } = options;
            (Preferences { shade: Some(shade), colors, navigation, ..Preferences::default() }, None)
        };
        // The command line takes precedence over the preferences.
        options.load.memory.set_limit_bytes(options.memory_bytes.unwrap_or(preferences.memory_bytes));
        options.load.cache_bytes_max = preferences.cache_bytes;
        let theme = Theme::new(preferences.shade.unwrap_or_default());
        let preferences_keeper = PreferencesKeeper::new(&preferences);
        let fonts = Fonts::in_background(&wake);
        super::interrupted_traces::search(&options.load, &wake);
        let mut tab = Tab::new(TabId(0), &wake);
        tab.notes.set(note.unwrap_or_default());
        Self {
            options,
            wake,
            theme,
            is_theme_applied: false,
            tab_order: TabOrder::default(),
            tabs: vec![tab],
            shown_tab: 0,
            tabs_opened: 0,
            closed_tabs: VecDeque::new(),
            wants_attention: false,
            tasks_started: 0,
            dialogs: ModalDialogs::default(),
            tool_windows: OpenToolWindows::default(),
            preferences,
            preferences_keeper,
            writes: BackgroundWrites::default(),
            fonts,
            desktop: DesktopSettings::default(),
            adapter: String::new(),
            takes_drops: true,
            budget: RectBudget::HARDWARE,
            folder: None,
            window_picture: None,
            interrupted: InterruptedTraces::default(),
        }
    }

    /// Returns the theme in use, dark or light.
    #[must_use]
    pub fn theme(&self) -> &Theme {
        &self.theme
    }

    /// Returns the title of the window.
    #[must_use]
    pub fn title(&self) -> String {
        match &self.tab().trace {
            Some(trace) => format!("{} - Longspan", escaped(&trace.title())),
            None => "Longspan".to_owned(),
        }
    }

    /// Returns the oldest error whose message the user has not closed.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        self.tab().messages.front().map(|message| message.text.as_str())
    }

    /// Returns the text of the status bar beside the counts.
    #[must_use]
    pub fn note(&self) -> &str {
        self.tab().notes.text()
    }

    /// Returns the timeline of the active tab, if a trace is open.
    pub fn timeline_mut(&mut self) -> Option<&mut Timeline> {
        self.tab_mut().timeline_mut()
    }

    /// Returns the files of the open trace; empty without one.
    #[must_use]
    pub fn shown_sources(&self) -> Sources {
        self.tab().trace.as_ref().map(|trace| trace.sources.clone()).unwrap_or_default()
    }

    /// Sets the GPU that draws: it determines the limit of rectangles, and widgets must be styled again.
    pub fn set_adapter(&mut self, name: String, is_software: bool) {
        self.adapter = name;
        self.budget = if is_software { RectBudget::SOFTWARE } else { RectBudget::HARDWARE };
        self.is_theme_applied = false;
        let budget = self.budget;
        self.timelines().for_each(|timeline| timeline.set_budget(budget));
    }

    /// Sets whether files can be dropped on the window. If not, the welcome page offers to paste them.
    pub(crate) fn set_takes_drops(&mut self, takes_drops: bool) {
        self.takes_drops = takes_drops;
    }

    /// Returns the navigation settings of the preferences, or else of the desktop.
    pub(super) fn navigation(&self) -> Navigation {
        let DesktopSettings { reduces_motion, .. } = self.desktop;
        let of_desktop = if reduces_motion { Navigation::STILL } else { Navigation::default() };
        self.preferences.navigation.unwrap_or(of_desktop)
    }

    /// Sets the theme by the preferences, or else by the desktop; dark without either.
    fn set_theme(&mut self) {
        let shade = self.preferences.shade.or(self.desktop.shade).unwrap_or_default();
        let theme_of = if self.desktop.has_high_contrast { Theme::with_high_contrast } else { Theme::new };
        self.theme = theme_of(shade);
        self.is_theme_applied = false;
        let theme = self.theme.clone();
        self.timelines().for_each(|timeline| timeline.set_theme(&theme));
    }

    /// Applies new desktop settings where the preferences follow the desktop.
    pub(super) fn set_desktop(&mut self, settings: DesktopSettings) {
        self.desktop = settings;
        self.set_theme();
        let navigation = self.navigation();
        self.timelines().for_each(|timeline| timeline.set_navigation(navigation));
    }

    /// Iterates over the timelines of all tabs.
    pub(super) fn timelines(&mut self) -> impl Iterator<Item = &mut Timeline> {
        self.tabs.iter_mut().filter_map(Tab::timeline_mut)
    }

    /// Returns whether to bring the window to the front, once per request.
    pub(crate) fn take_attention(&mut self) -> bool {
        std::mem::take(&mut self.wants_attention)
    }

    /// Makes frames wait for missing fonts, for pictures.
    pub(super) fn wait_for_fonts(&mut self) {
        self.fonts = Fonts::at_once();
    }

    /// Replaces the text of the status bar.
    pub(crate) fn set_note(&mut self, note: String) {
        self.tab_mut().notes.set(note);
    }

    /// Shows a reply to a command in the status bar for some seconds.
    pub(crate) fn reply(&mut self, text: String) {
        self.tab_mut().notes.reply(text);
    }

    /// Appends to the text of the status bar.
    pub(crate) fn add_note(&mut self, note: String) {
        self.tab_mut().notes.add(note);
    }

    /// Hides the welcome page, because a trace is opened after the first frame.
    pub(crate) fn await_trace(&mut self) {
        self.tab_mut().awaits_trace = true;
    }

    /// Opens files as one trace. Folders among them are skipped, with a note in the status bar.
    pub fn open_files(&mut self, files: &[PathBuf]) {
        self.open_chosen(Chosen::new(files.to_owned()));
    }

    /// Opens paths that were checked already.
    fn open_chosen(&mut self, chosen: Chosen) {
        let Chosen { mut files, folders } = chosen;
        let mut folders = folders.into_iter();
        if files.is_empty() {
            files.extend(folders.next());
        }
        self.open(Sources::unmoved(files));
        if let Some(folder) = folders.next() {
            let name = file_name(&folder);
            self.reply(match folders.len() {
                0 => format!("{name} is a folder, and was left out."),
                more => format!("{name} and {} are left out.", counted(more as u64, "more folder")),
            });
        }
    }

    /// Opens a trace in a tab: one file, or several on one timeline. Files without offsets get their last offsets,
    /// because the saved timeline belongs to these.
    pub(crate) fn open(&mut self, sources: Sources) {
        if sources.files().is_empty() {
            return;
        }
        self.dialogs.picker = None;
        let restored = self.preferences.recent.with_last_offsets(&sources);
        let has_restored = restored.is_some();
        self.open_in_tab(LoadSource::Files(restored.unwrap_or(sources)));
        if has_restored {
            self.tab_mut().notes.replace(NoteKind::RestoredOffsets, RESTORED_OFFSETS_NOTE.to_owned());
        }
    }

    pub(crate) fn open_demo(&mut self) {
        self.open_in_tab(LoadSource::Demo);
    }

    /// Saves timelines and preferences before the program ends, and waits for that.
    pub fn save(&mut self) {
        let Some(folders) = &self.options.folders else { return };
        self.preferences_keeper.finish(&self.preferences, (folders, &self.writes));
        self.tabs.iter_mut().for_each(|tab| tab.save(Some(folders), &self.writes));
        self.writes.wait();
    }

    /// Returns the last position and size of the window.
    #[must_use]
    pub(crate) fn window_geometry(&self) -> Option<WindowGeometry> {
        self.preferences.window
    }

    /// Records the position and size of the window.
    pub(crate) fn set_window_geometry(&mut self, geometry: WindowGeometry) {
        self.preferences.window = Some(geometry);
    }

    /// Saves the preferences soon after a change. Returns the seconds until this must be called again, if ever.
    pub(super) fn save_preferences(&mut self, now_s: f64) -> Option<f64> {
        if let Some(failure) = self.preferences_keeper.take_failure() {
            self.add_note(failure);
        }
        let folders = self.options.folders.as_ref()?;
        self.preferences_keeper.save_if_due(&self.preferences, (folders, &self.writes), now_s)
    }

    /// Returns the reader of the saved timelines of imported traces.
    pub(super) fn timeline_reader(&self) -> TimelineReader {
        TimelineReader { folders: self.options.folders.clone(), writes: self.writes.clone() }
    }

    /// Runs a command, and returns an effect for the window.
    pub(super) fn act(&mut self, command: Command) -> Option<Effect> {
        match command {
            Command::App(command) => return self.act_on_app(command),
            Command::Setting(command) => self.act_on_setting(command),
            Command::Tab(command) => return self.act_on_tabs(command),
            Command::Timeline(TimelineCommand::Step(NavigationStep::ClearSelection))
                if self.tab().panels.is_searching() =>
            {
                return self.act(Command::Panel(PanelCommand::CloseSearch));
            }
            Command::Timeline(command) => {
                if matches!(command, TimelineCommand::Select(Some(_))) {
                    self.tab_mut().panels.select();
                }
                self.act_on_timeline(self.shown_tab, command);
            }
            Command::Panel(command) => {
                let tab = &mut self.tabs[self.shown_tab];
                if let Some(trace) = &mut tab.trace {
                    tab.panels.act(command, &mut trace.timeline);
                }
            }
        }
        None
    }

    fn act_on_app(&mut self, command: AppCommand) -> Option<Effect> {
        match command {
            AppCommand::Choose(Purpose::Export(_) | Purpose::ExportSelected) if !self.tab().can_export() => {
                self.reply(UNSORTED.to_owned());
            }
            AppCommand::Choose(purpose) => return Some(self.choose(purpose)),
            AppCommand::Paste => return Some(Effect::Window(WindowEffect::Paste)),
            AppCommand::OpenPasted(text) => self.paste(text),
            AppCommand::CopySpan => return self.selected_span_text().map(Effect::Copy),
            AppCommand::CopyTable(tab) => return self.statistics_csv(tab).map(Effect::Copy),
            AppCommand::CopyPanel(tab) => return self.panel_text(tab).map(Effect::Copy),
            AppCommand::CopyCommandLine(tab) => return self.command_line(tab).map(Effect::Copy),
            AppCommand::ShowDisabledReason { title, reason } => {
                self.tab_mut().notes.refuse(format!("{title}: {reason}."));
            }
            AppCommand::Quit => return self.quit(),
            AppCommand::AnswerClose(choice) => return self.answer_close(choice),
            AppCommand::Open(sources) => self.open(sources),
            AppCommand::OpenAgain => {
                self.tab_mut().notes.clear();
                self.move_files(self.shown_sources());
            }
            AppCommand::MoveFiles(sources) => self.move_files(sources),
            AppCommand::MoveFileBy(file, by_ns) => {
                let sources = self.shown_sources().moved_by(&file, by_ns);
                self.move_files(sources);
            }
            AppCommand::OpenDemo => self.open_demo(),
            AppCommand::ShowPicker => self.show_picker(self.request(Purpose::Open)),
            AppCommand::List(folder) => self.list_folder(folder),
            AppCommand::PickPath { path, replaces } => self.pick_path(path, replaces),
            AppCommand::LocateSymbols(folder) => self.locate_symbols(self.shown_tab, &folder),
            AppCommand::ClosePicker => self.dialogs.picker = None,
            AppCommand::CancelImport => {
                if let Some(running) = &self.tab().running {
                    running.cancel();
                }
            }
            AppCommand::CancelWrite => {
                if let Some(writing) = &self.tab().writing {
                    writing.task.cancel();
                }
            }
            AppCommand::Dismiss => drop(self.tab_mut().messages.pop_front()),
            AppCommand::ShowCommands => self.dialogs.palette = Some(CommandPalette::default()),
            AppCommand::ShowGoToTime => self.dialogs.go_to_time = Some(GoToTime::default()),
            AppCommand::CopyText(text) => return Some(Effect::Copy(text)),
            AppCommand::Toggle(window) => self.tool_windows.toggle(window),
            AppCommand::Live(command) => self.act_on_live(command),
            AppCommand::Interrupted(command) => self.act_on_interrupted(command),
        }
        None
    }

    pub(super) fn act_on_timeline(&mut self, at: usize, command: TimelineCommand) {
        let tab = &mut self.tabs[at];
        tab.keeper.note_change();
        let Some(timeline) = tab.timeline_mut() else { return };
        timeline.act(command);
        let (note, has_scope) = (timeline.take_note(), !timeline.scope().is_whole());
        tab.start_due_layout();
        if !has_scope {
            tab.notes.remove(NoteKind::RestoredScope);
        }
        if let Some(note) = note {
            tab.notes.reply(note);
        }
    }

    /// Imports a trace into a tab. A running export continues.
    pub(super) fn load(&mut self, at: usize, source: LoadSource) {
        self.load_with(at, source, self.options.load.cache.clone());
    }

    /// Imports a trace into a tab with another cache.
    fn load_with(&mut self, at: usize, source: LoadSource, cache: CachePolicy) {
        self.tabs[at].save(self.options.folders.as_ref(), &self.writes);
        if let LoadSource::Files(sources) = &source {
            // The input of a pipe cannot be opened again.
            self.folder = folder_of(sources).or_else(|| self.folder.take());
        }
        let (id, reader) = (self.next_task(), self.timeline_reader());
        let tab = &mut self.tabs[at];
        tab.keep_unread_messages();
        tab.reimport = None;
        tab.awaits_trace = false;
        tab.follow = None;
        tab.only_copy = OnlyCopy::No;
        // The open trace no longer grows, because another is imported.
        tab.stop_growing();
        let located = match &source {
            LoadSource::Files(sources) => tab.panels.located(sources),
            LoadSource::Demo => None,
        };
        let folders = located.map_or(&self.options.symbols.folders, |located| &located.folders).clone();
        let unwind_files: Arc<dyn UnwindFiles> = Arc::new(SymbolUnwinding { folders, has_system: true });
        let options = LoadOptions { unwind_files: Some(unwind_files), cache, ..self.options.load.clone() };
        tab.running = Some(tasks::load(id, source, options, reader, &tab.wake));
    }

    /// Imports the files of the open trace again, with other offsets. The view stays. A trace from a pipe is left as it
    /// is, because its input is gone.
    fn move_files(&mut self, sources: Sources) {
        // A file that was replaced while it was followed lacks rows.
        let lacks_rows = self.tab().files_lack_rows();
        if let Some(file) = sources.files().iter().find(|file| lacks_rows || is_unseekable(&file.input)) {
            // The displayed files return to their offsets.
            if let Some(timeline) = self.tab_mut().timeline_mut() {
                timeline.move_file(None);
            }
            let path = file.path().to_string_lossy();
            return self.reply(format!("{} cannot be read again, so the offsets stay.", escaped(&path)));
        }
        let tab = self.tab_mut();
        tab.notes.remove(NoteKind::RestoredOffsets);
        let shown = tab.trace.as_ref();
        // If the previous import is not complete, its part does not have the whole state.
        let reimport = tab.reimport.take().map(Reimport::again).or_else(|| shown.map(Reimport::new));
        self.load(self.shown_tab, LoadSource::Files(sources));
        self.tab_mut().reimport = reimport;
    }

    fn next_task(&mut self) -> TaskId {
        self.tasks_started += 1;
        TaskId(self.tasks_started)
    }
}

/// Returns the folder of the first file that has a folder; input from a pipe has none.
fn folder_of(sources: &Sources) -> Option<PathBuf> {
    let file = sources.files().iter().find(|file| !is_unseekable(&file.input))?;
    Some(files::absolute(file.path()).parent()?.to_owned())
}

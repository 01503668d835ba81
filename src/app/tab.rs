//! A tab: one trace with everything that belongs to it. Answers of its background work are routed to it only.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::AppOptions;
use super::background_writes::BackgroundWrites;
use super::follow::FollowTask;
use super::notes::Notes;
use super::open_trace::{Growth, OpenTrace};
use super::panels::Panels;
use super::preferences::Folders;
use super::reimport::Reimport;
use super::tasks::{self, FileTask};
use super::timeline_keeper::TimelineKeeper;
use crate::app::event::{TabId, TabWake, TaskEvent, TaskId, Wake};
use crate::app::received::OnlyCopy;
use crate::export::ExportFormat;
use crate::export::derived::DerivedCounter;
use crate::model::{Input, SourceFile, Sources};
use crate::query::Snapshot;
use crate::query::track_map::TrackMap;
use crate::ui::chrome::live_badge::LiveStatus;
use crate::ui::command_table::ReloadState;
use crate::ui::panels::derived::DerivedPanel;
use crate::ui::panels::sources::SourcesPanel;
use crate::ui::selected_scope::SelectedScope;
use crate::ui::timeline::state::Timeline;

/// An export of the trace of a tab.
#[derive(Debug, Clone)]
pub(super) struct TraceExport {
    /// The exported rows. The scope has track indices of this snapshot.
    pub(crate) snapshot: Snapshot,
    pub(crate) format: ExportFormat,
    /// The exported part; the whole trace by default.
    pub(crate) scope: SelectedScope,
    /// Derived tracks that are written as counters.
    pub(crate) derived: Vec<DerivedCounter>,
    pub(crate) path: PathBuf,
}

impl TraceExport {
    /// Returns the same export of another snapshot of the trace; `None` if none of the chosen tracks is left.
    pub(super) fn of_snapshot(self, now: &Snapshot) -> Option<Self> {
        let mut scope = self.scope;
        if !scope.tracks.is_all() && !now.has_store_of(&self.snapshot) {
            scope.tracks = TrackMap::new(&self.snapshot, now).tracks(&scope.tracks)?;
        }
        Some(Self { snapshot: now.clone(), scope, ..self })
    }

    /// Returns whether the import of the trace has ended before all was sorted.
    pub(super) fn is_partial(&self) -> bool {
        self.snapshot.summary().sorted_to_ns.is_some() && self.snapshot.store().live_lanes().is_none()
    }
}

/// A long file that is being written from a snapshot of the trace.
#[derive(Debug)]
pub(super) struct RunningWrite {
    pub(crate) task: FileTask,
    /// The export, to repeat if the store is damaged; `None` for a table.
    pub(crate) export: Option<TraceExport>,
}

/// A tab: one trace, or the welcome page.
pub(super) struct Tab {
    pub(crate) id: TabId,
    /// Sends events of background work to this tab.
    pub(crate) wake: TabWake,
    pub(crate) trace: Option<OpenTrace>,
    pub(crate) keeper: TimelineKeeper,
    /// Whether a trace is about to open, so that the welcome page would only flash.
    pub(crate) awaits_trace: bool,
    /// The running import, whose progress the tab shows.
    pub(crate) running: Option<FileTask>,
    /// The trace that the tab follows, until it is completely sorted.
    pub(crate) follow: Option<FollowTask>,
    /// The export or long table that is being written, concurrently with imports.
    pub(crate) writing: Option<RunningWrite>,
    /// The export that starts once the running import has ended.
    pub(crate) waiting_export: Option<TraceExport>,
    /// Short tables that are being written, concurrently with anything else.
    pub(crate) short_tables: Vec<FileTask>,
    pub(crate) panels: Panels,
    /// The panel of its files, with the typed offsets.
    pub(crate) sources: SourcesPanel,
    /// The list of derived tracks, with the text of a new one.
    pub(crate) derived: DerivedPanel,
    /// The state before the files are imported again, until they are.
    pub(crate) reimport: Option<Reimport>,
    /// Whether the tab has rows that are nowhere else.
    pub(crate) only_copy: OnlyCopy,
    /// The errors that the user has not closed, the oldest first. Only the oldest is shown.
    pub(crate) messages: VecDeque<TabMessage>,
    pub(crate) notes: Notes,
}

/// An error that is shown until the user closes it.
pub(crate) struct TabMessage {
    pub(crate) title: &'static str,
    /// The failed action, the file, and the remedy.
    pub(crate) text: String,
    /// Whether the error is about the content of the tab, and not about another file.
    pub(crate) concerns_tab: bool,
}

impl TabMessage {
    pub(super) fn for_tab(title: &'static str, text: String) -> Self {
        Self { title, text, concerns_tab: true }
    }
}

impl Tab {
    /// Returns whether the tab has rows that are in no file of the user.
    pub(super) fn has_only_copy(&self) -> bool {
        match self.only_copy {
            OnlyCopy::No => self.follow.as_ref().is_some_and(|follow| follow.counts.has_replaced),
            OnlyCopy::Saved => false,
            OnlyCopy::Receiving | OnlyCopy::Stored(_) => true,
        }
    }

    /// Returns whether the files lack some rows of the trace, which were received.
    pub(super) fn files_lack_rows(&self) -> bool {
        self.has_only_copy() || matches!(self.only_copy, OnlyCopy::Saved)
    }

    /// Returns whether all rows of the trace can be read from its files again.
    pub(super) fn can_be_read_again(&self) -> bool {
        !self.files_lack_rows() && self.trace.as_ref().is_some_and(|trace| trace.files.can_be_read_again)
    }

    /// Creates an empty tab, whose work sends its events to `wake`.
    pub(super) fn new(id: TabId, wake: &Wake) -> Self {
        let to_app = Arc::clone(wake);
        let wake: TabWake = Arc::new(move |event| to_app(TaskEvent::OfTab(id, Box::new(event))));
        Self {
            id,
            panels: Panels::new(Arc::clone(&wake)),
            wake,
            trace: None,
            keeper: TimelineKeeper::default(),
            awaits_trace: false,
            running: None,
            follow: None,
            writing: None,
            waiting_export: None,
            short_tables: Vec::new(),
            sources: SourcesPanel::default(),
            derived: DerivedPanel::default(),
            reimport: None,
            only_copy: OnlyCopy::No,
            messages: VecDeque::new(),
            notes: Notes::default(),
        }
    }

    /// Returns the title of the tab: the open trace, or the trace being imported.
    pub(super) fn title(&self) -> String {
        match (&self.trace, &self.follow, &self.running) {
            (_, Some(follow), _) => follow.sources.title(),
            (Some(trace), ..) => trace.title(),
            (None, None, Some(running)) => running.sources.title(),
            (None, None, None) => "New tab".to_owned(),
        }
    }

    /// Shows an error once the earlier ones are closed.
    pub(super) fn show_message(&mut self, message: TabMessage) {
        self.messages.push_back(message);
    }

    /// Keeps unread errors while something else opens, which they are not about.
    pub(super) fn keep_unread_messages(&mut self) {
        self.messages.iter_mut().for_each(|message| message.concerns_tab = false);
    }

    /// Iterates over the files of the trace; inputs from pipes and programs are left out.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        let files = self.trace.iter().flat_map(|trace| trace.sources.files());
        files.filter_map(|file| match &file.input {
            Input::File(path) => Some(&**path),
            Input::Stdin(_) | Input::Fd(_) => None,
        })
    }

    /// Returns whether the trace still runs.
    pub(super) fn is_live(&self) -> bool {
        self.follow.as_ref().is_some_and(FollowTask::is_running)
    }

    /// Returns whether the trace can be read again.
    pub(super) fn reload_state(&self) -> ReloadState {
        match &self.trace {
            _ if self.is_live() => ReloadState::Running,
            _ if self.is_busy() => ReloadState::Busy,
            Some(_) if self.can_be_read_again() => ReloadState::Ready,
            Some(_) | None => ReloadState::NoFile,
        }
    }

    /// Returns whether the trace can be exported: it is final or still runs, and no import or export is in progress.
    pub(super) fn can_export(&self) -> bool {
        let is_ready = |trace: &OpenTrace| trace.is_final() || self.follow.is_some();
        self.trace.as_ref().is_some_and(is_ready) && !self.is_busy()
    }

    /// Iterates over the running import and the long file that is written.
    pub(super) fn tasks(&self) -> impl Iterator<Item = &FileTask> {
        self.running.iter().chain(self.writing.iter().map(|writing| &writing.task))
    }

    /// Returns whether an import runs, or a long file is written.
    pub(super) fn is_busy(&self) -> bool {
        self.running.is_some() || self.writing.is_some()
    }

    /// Returns whether nothing is open or being opened.
    pub(super) fn is_empty(&self) -> bool {
        self.trace.is_none() && self.running.is_none() && self.follow.is_none()
    }

    pub(super) fn timeline_mut(&mut self) -> Option<&mut Timeline> {
        self.trace.as_mut().map(|trace| &mut trace.timeline)
    }

    /// Starts a layout of the timeline that is due.
    pub(super) fn start_due_layout(&mut self) {
        if let Some(trace) = &mut self.trace {
            tasks::start_due_layout(&mut trace.timeline, &self.wake);
        }
    }

    /// Returns whether this import is running here.
    pub(super) fn runs(&self, id: TaskId) -> bool {
        self.running.as_ref().is_some_and(|running| running.id == id)
    }

    /// Returns the status of the trace that the tab follows.
    pub(super) fn live_status(&self) -> Option<LiveStatus> {
        let timeline = self.trace.as_ref().map(|trace| &trace.timeline);
        let follow = self.follow.as_ref().filter(|follow| follow.is_running())?;
        Some(follow.status(timeline.is_none_or(Timeline::follows)))
    }

    /// Returns whether the tab follows this trace.
    pub(super) fn is_following(&self, id: TaskId) -> bool {
        self.follow.as_ref().is_some_and(|follow| follow.id == id)
    }

    /// Marks the open trace as no longer growing.
    pub(super) fn stop_growing(&mut self) {
        if let Some(trace) = &mut self.trace {
            trace.growth = Growth::Ended;
        }
    }

    /// Ends the growth of the open trace, which may be shown in part, and summarises and names the shown part.
    pub(super) fn end_growth(&mut self, options: &AppOptions) {
        let Some(trace) = self.trace.as_mut().filter(|trace| trace.awaits_end()) else { return };
        trace.growth = Growth::Ended;
        trace.summarise(&self.wake);
        let query = options.symbols.query(&trace.sources, &options.load);
        self.panels.find_names_again(query, trace.timeline.snapshot());
    }

    /// Saves the timeline of the trace in the background, before it is closed.
    pub(super) fn save(&mut self, folders: Option<&Folders>, writes: &BackgroundWrites) {
        if let (Some(trace), Some(folders)) = (&self.trace, folders) {
            self.keeper.finish(trace, &self.panels.to_saved(), (folders, writes));
        }
    }

    /// Saves the timeline soon after a change. Returns the seconds until this must be called again, if ever.
    pub(super) fn save_changes(
        &mut self,
        folders: Option<&Folders>,
        writes: &BackgroundWrites,
        now_s: f64,
    ) -> Option<f64> {
        self.keeper.save_if_due((self.trace.as_ref()?, &self.panels.to_saved()), (folders?, writes), now_s)
    }

    /// Returns whether the tab shows the trace of these files, by whatever path, and may open it again.
    pub(super) fn shows_same_files(&self, sources: &Sources) -> bool {
        let can_load = self.follow.is_none() && !self.has_only_copy();
        can_load && self.trace.as_ref().is_some_and(|trace| are_same_files(&trace.sources, sources))
    }

    /// Returns whether the trace of these files is being imported here, by whatever path.
    pub(super) fn is_importing(&self, sources: &Sources) -> bool {
        self.running.as_ref().is_some_and(|running| are_same_files(&running.sources, sources))
    }
}

/// Returns whether these are the same files with the same offsets. The paths may differ: relative ones, links.
fn are_same_files(one: &Sources, other: &Sources) -> bool {
    let is_same = |(one, other): (&SourceFile, &SourceFile)| {
        let [path, other_path] = [one, other].map(|file| file.path().canonicalize());
        one.offset_ns == other.offset_ns
            && (one == other || path.ok().is_some_and(|path| other_path.is_ok_and(|other| path == other)))
    };
    one == other || one.files().len() == other.files().len() && one.files().iter().zip(other.files()).all(is_same)
}

//! A tab: one capture with all that belongs to it, and the way in which the answers of its background work come back to
//! it and to no other.

use std::path::PathBuf;
use std::sync::Arc;

use super::capture::OpenCapture;
use super::follow::FollowTask;
use super::panels::Panels;
use super::preferences::Folders;
use super::tasks::FileTask;
use super::timeline_keeper::TimelineKeeper;
use crate::app::event::{TabId, TabWake, TaskEvent, TaskId, Wake};
use crate::export::ExportFormat;
use crate::export::derived::DerivedCounter;
use crate::model::Sources;
use crate::ui::chrome::live_badge::LiveStatus;
use crate::ui::panels::derived::DerivedPanel;
use crate::ui::panels::sources::SourcesPanel;
use crate::ui::questions::SelectedScope;
use crate::ui::timeline::saved::SavedTimeline;
use crate::ui::timeline::state::Timeline;

/// An export of the capture of a tab.
#[derive(Debug, Clone)]
pub(super) struct RunningExport {
    pub(crate) format: ExportFormat,
    /// The part of the trace; all of it unless given.
    pub(crate) scope: SelectedScope,
    /// Derived tracks that are written as counters.
    pub(crate) derived: Vec<DerivedCounter>,
    pub(crate) path: PathBuf,
}

/// A tab: one capture, or the welcome page.
pub(super) struct Tab {
    pub(crate) id: TabId,
    /// Brings what background work says to this tab.
    pub(crate) wake: TabWake,
    pub(crate) capture: Option<OpenCapture>,
    pub(crate) keeper: TimelineKeeper,
    /// Whether a capture is about to open, so that the welcome page would only flash.
    pub(crate) awaits_capture: bool,
    pub(crate) running: Option<FileTask>,
    /// The trace that it follows, until all of that is sorted.
    pub(crate) follow: Option<FollowTask>,
    /// Short tables that are being written, beside anything else.
    pub(crate) short_tables: Vec<FileTask>,
    pub(crate) panels: Panels,
    /// The panel of its files, with the offsets the user types.
    pub(crate) sources: SourcesPanel,
    /// The list of derived tracks, with the text of the next.
    pub(crate) derived: DerivedPanel,
    /// The saved timeline while files are loaded again with other offsets.
    pub(crate) moved_from: Option<SavedTimeline>,
    /// The export that runs, to start over where the sorted store turns out to be damaged.
    pub(crate) export: Option<RunningExport>,
    /// The last error, shown below the timeline until another replaces it.
    pub(crate) message: Option<TabMessage>,
    /// The text of the status bar beside the counts.
    pub(crate) note: String,
}

/// An error that is shown until the user closes it.
pub(crate) struct TabMessage {
    pub(crate) title: &'static str,
    /// The event, the file, and the way out.
    pub(crate) text: String,
    /// Whether the error is of what the tab shows, and not of another file that is shown nowhere.
    pub(crate) is_of_tab: bool,
}

impl TabMessage {
    pub(super) fn of_tab(title: &'static str, text: String) -> Self {
        Self { title, text, is_of_tab: true }
    }
}

impl Tab {
    /// A tab with nothing open, whose work brings its events to `wake`.
    pub(super) fn new(id: TabId, wake: &Wake) -> Self {
        let to_app = Arc::clone(wake);
        let wake: TabWake = Arc::new(move |event| to_app(TaskEvent::OfTab(id, Box::new(event))));
        Self {
            id,
            wake,
            capture: None,
            keeper: TimelineKeeper::default(),
            awaits_capture: false,
            running: None,
            follow: None,
            short_tables: Vec::new(),
            panels: Panels::default(),
            sources: SourcesPanel::default(),
            derived: DerivedPanel::default(),
            moved_from: None,
            export: None,
            message: None,
            note: String::new(),
        }
    }

    /// Its title: the capture, or the one that is loading.
    pub(super) fn title(&self) -> String {
        match (&self.capture, &self.follow, &self.running) {
            (_, Some(follow), _) => follow.sources.title(),
            (Some(capture), ..) => capture.title(),
            (None, None, Some(running)) => running.sources.title(),
            (None, None, None) => "New tab".to_owned(),
        }
    }

    /// Whether nothing is open and nothing is being opened.
    pub(super) fn is_empty(&self) -> bool {
        self.capture.is_none() && self.running.is_none() && self.follow.is_none()
    }

    /// Says something in the status bar, beside what it says already.
    pub(super) fn add_note(&mut self, note: &str) {
        if !self.note.is_empty() && !note.is_empty() {
            self.note.push_str("  ");
        }
        self.note.push_str(note);
    }

    pub(super) fn timeline_mut(&mut self) -> Option<&mut Timeline> {
        self.capture.as_mut().map(|capture| &mut capture.timeline)
    }

    /// Whether that is the task that runs, and not one that was given up.
    pub(super) fn runs(&self, id: TaskId) -> bool {
        self.running.as_ref().is_some_and(|running| running.id == id)
    }

    /// The state of the trace that it follows, while that runs.
    pub(super) fn live_status(&self) -> Option<LiveStatus> {
        let timeline = self.capture.as_ref().map(|capture| &capture.timeline);
        let follow = self.follow.as_ref().filter(|follow| follow.is_running())?;
        Some(follow.status(timeline.is_none_or(Timeline::follows)))
    }

    /// Whether that is the trace that is followed.
    pub(super) fn is_following(&self, id: TaskId) -> bool {
        self.follow.as_ref().is_some_and(|follow| follow.id == id)
    }

    /// The capture that is open does not grow any more.
    pub(super) fn stop_growing(&mut self) {
        if let Some(capture) = &mut self.capture {
            capture.grows = false;
        }
    }

    /// Saves the timeline of the capture before it is gone.
    pub(super) fn keep(&mut self, folders: Option<&Folders>) {
        if let (Some(capture), Some(folders)) = (&self.capture, folders) {
            self.keeper.finish(capture, folders);
        }
    }

    /// Saves the timeline soon after a change. Returns the seconds until this must be called again, if ever.
    pub(super) fn keep_changes(&mut self, folders: Option<&Folders>, now_s: f64) -> Option<f64> {
        self.keeper.attend(self.capture.as_ref()?, folders?, now_s)
    }

    /// Whether it shows that capture.
    pub(super) fn is_of(&self, sources: &Sources) -> bool {
        self.follow.is_none() && self.capture.as_ref().is_some_and(|capture| capture.sources == *sources)
    }
}

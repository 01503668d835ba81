//! The events that background work and dialogs send to the event loop, with their data.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;

use super::desktop::DesktopSettings;
use crate::app::opened_files::OpenedFiles;
use crate::app::pasted::Pasted;
use crate::export::ExportReport;
use crate::live::follow::{FollowEnd, FollowUpdate};
use crate::live::spool_folder::LeftFolder;
use crate::model::Sources;
use crate::query::Snapshot;
use crate::query::derived::DerivedSeries;
use crate::query::flow_chain::FlowChain;
use crate::store::RowIdx;
use crate::tiles::trace_summary::TraceSummary;
use crate::ui::chrome::file_picker::Listing;
use crate::ui::purpose::Purpose;
use crate::ui::questions::{Answer, QuestionKind};
use crate::ui::timeline::track_ranks::{RankSource, TrackRanks};
use crate::ui::timeline::tracks::ArrangeResult;

/// An event of background work, of a dialog, or of another process.
#[derive(Debug)]
pub enum TaskEvent {
    /// An event for one tab; dropped if the tab is closed.
    OfTab(TabId, Box<TabEvent>),
    /// The entries of a folder, for the file picker.
    Listed(PathBuf, Listing),
    /// A path of the picker was looked up.
    Picked(TaskId, PickedPath),
    /// Another start of the program passes its files.
    HandedOver(HandedOver),
    /// A pasted text was read.
    Pasted(Result<Pasted, TaskError>),
    /// A system dialog was closed.
    Chosen(DialogChoice),
    /// Traces that killed windows left were found.
    FoundInterrupted(Vec<LeftFolder>),
    /// The search for system fonts has ended.
    FoundFonts,
    /// The desktop settings, at the start and after each change.
    DesktopChanged(DesktopSettings),
}

/// A completely imported trace, and the facts of the import that its user should know.
#[derive(Debug)]
pub struct LoadedTrace {
    pub(crate) snapshot: Snapshot,
    pub(crate) note: Option<String>,
    pub(super) files: Arc<OpenedFiles>,
}

/// An event of the background work of a tab.
#[derive(Debug)]
pub enum TabEvent {
    /// A preview: the part that an import has sorted.
    Previewed(TaskId, Snapshot, Arc<OpenedFiles>),
    Loaded(TaskId, Result<LoadedTrace, TaskError>),
    /// More of a live trace.
    Followed(TaskId, Box<FollowUpdate>),
    /// A followed trace has ended.
    FollowEnded(TaskId, Result<Box<FollowEnd>, TaskError>),
    Exported(TaskId, PathBuf, Result<ExportReport, TaskError>),
    /// A table was written, with the number of rows, or an error.
    TableWritten(TaskId, PathBuf, Result<u64, TaskError>),
    /// A picture or flame graph was written, with sentences about what it lacks, or an error.
    Wrote(PathBuf, Result<Vec<String>, TaskError>),
    Summarised(TaskId, Arc<TraceSummary>),
    /// The flows of the selected row.
    FlowsFound(TaskId, RowIdx, Arc<FlowChain>),
    /// A derived track was computed, or failed.
    Derived(Box<DerivedResult>),
    /// The counts of tracks for an order.
    Ranked(RankSource, Result<TrackRanks, TaskError>),
    /// The layout of the tracks in a new order.
    Arranged(Box<ArrangeResult>),
    /// The layout with this number could not be computed.
    NotArranged(u64),
    /// The answer to a panel's query.
    Answered(TaskId, QuestionKind, Result<Box<Option<Answer>>, TaskError>),
}

/// The end of the computation of a derived track.
#[derive(Debug)]
pub struct DerivedResult {
    /// Identifies the computation: the series of a cancelled computation is dropped.
    pub(super) id: (TaskId, u64),
    pub(super) series: Result<Arc<DerivedSeries>, TaskError>,
}

/// Distinguishes the answers of a task from the answers of cancelled tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskId(pub u64);

/// How a task ended without a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskError {
    Cancelled,
    /// The store is damaged, with an error sentence.
    Damaged(String),
    /// The task failed, for the reason in this sentence.
    Failed(String),
}

impl TaskError {
    /// Returns the error sentence; empty if the task was cancelled.
    pub(crate) fn into_message(self) -> String {
        match self {
            Self::Cancelled => String::new(),
            Self::Damaged(message) | Self::Failed(message) => message,
        }
    }
}

/// Sends an event to the event loop.
pub(crate) type Wake = Arc<dyn Fn(TaskEvent) + Send + Sync>;

/// Sends an event of a tab to the event loop.
pub(crate) type TabWake = Arc<dyn Fn(TabEvent) + Send + Sync>;

/// The result of a dialog, with its request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DialogChoice {
    /// The user chose a file, or several to open together.
    Chosen(FileRequest, Vec<PathBuf>),
    /// The user pressed Cancel.
    Dismissed,
    /// No dialog could be shown.
    NoDialog(FileRequest),
}

/// The request for a file: its purpose, and the tab that was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileRequest {
    pub purpose: Purpose,
    pub tab: TabId,
}

/// A path that the user chose in the picker.
#[derive(Debug, Clone)]
pub enum PickedPath {
    Folder(PathBuf),
    /// An existing file whose replacement the user has not confirmed.
    Existing,
    /// A file to open that does not exist, with an error sentence.
    Missing(String),
    /// A file to read or to write.
    File(PathBuf),
}

/// Identifies a tab; never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TabId(pub u64);

/// Files that another start of the program passes to this window. They are taken only while the other process still
/// waits.
#[derive(Debug)]
pub struct HandedOver {
    sources: Sources,
    /// Set by the window when it takes the files, or by the other process when its wait ends.
    is_decided: Arc<AtomicBool>,
    taken: SyncSender<()>,
}

impl HandedOver {
    #[cfg(unix)]
    pub(super) fn new(sources: Sources, is_decided: Arc<AtomicBool>, taken: SyncSender<()>) -> Self {
        Self { sources, is_decided, taken }
    }

    /// Returns the files, unless the other process has opened its own window by now.
    #[must_use]
    pub(crate) fn take_sources(self) -> Option<Sources> {
        if self.is_decided.swap(true, Ordering::SeqCst) {
            return None;
        }
        self.taken.try_send(()).ok(); // its only message
        Some(self.sources)
    }
}

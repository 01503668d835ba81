//! The events that background work and dialogs bring to the loop of the window, with everything that they carry.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;

use super::desktop::DesktopSettings;
use crate::app::pasted::Pasted;
use crate::export::ExportReport;
use crate::ingest::Loaded;
use crate::live::follow::{FollowEnd, Followed};
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
use crate::ui::timeline::tracks::ArrangeResult;

/// An event of background work, of a dialog, or of another process.
#[derive(Debug)]
pub enum TaskEvent {
    /// An event for one tab; dropped if the tab is closed.
    OfTab(TabId, Box<TabEvent>),
    /// The entries of a folder, for the file dialog.
    Listed(PathBuf, Listing),
    /// A path that was chosen in the picker is a folder.
    PickedFolder(PathBuf),
    /// Another start hands its files over.
    HandedOver(HandedOver),
    /// A pasted text was read.
    Pasted(Pasted),
    /// A dialog of the system is over.
    Chosen(DialogChoice),
    /// Traces that were followed until their window was killed.
    CutShort(Vec<LeftFolder>),
    /// Letters that the fonts of the window lack were looked for in those of the system.
    FoundFonts,
    /// The settings of the desktop, at the start and after each change.
    DesktopChanged(DesktopSettings),
}

/// An event of the background work of a tab.
#[derive(Debug)]
pub enum TabEvent {
    /// A preview: the part that a load has sorted so far.
    Previewed(TaskId, Snapshot),
    Loaded(TaskId, Result<Loaded, TaskError>),
    /// More of a trace that still runs.
    Followed(TaskId, Box<Followed>),
    /// A trace that was followed has ended.
    FollowEnded(TaskId, Result<Box<FollowEnd>, TaskError>),
    Exported(TaskId, PathBuf, Result<ExportReport, TaskError>),
    /// A table was written to a file with so many rows, or why not.
    TableWritten(TaskId, PathBuf, Result<u64, TaskError>),
    /// A picture was written to a file, or why not.
    Wrote(PathBuf, Result<(), String>),
    /// The summary of a capture.
    Summarised(TaskId, Arc<TraceSummary>),
    /// The flows of the selected row.
    FlowsFound(TaskId, RowIdx, Arc<FlowChain>),
    /// A derived track of a capture is made, or not.
    Derived(TaskId, Box<DerivedMade>),
    /// The layout of the tracks in a new order.
    Arranged(ArrangeResult),
    /// A question of a panel is answered.
    Answered(TaskId, QuestionKind, Result<Box<Option<Answer>>, TaskError>),
}

/// The end of the making of a derived track.
#[derive(Debug)]
pub struct DerivedMade {
    /// Tells it from the end of one that was given up.
    pub(super) number: u64,
    pub(super) series: Result<Arc<DerivedSeries>, TaskError>,
}

/// Tells the answers of a task from those of one that was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskId(pub u64);

/// How a task ended without a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskError {
    /// It was asked to stop.
    Cancelled,
    /// The sorted store turned out to be damaged, as the sentence says.
    Damaged(String),
    /// A sentence for a person.
    Failed(String),
}

/// Brings an event to the window's loop.
pub(crate) type Wake = Arc<dyn Fn(TaskEvent) + Send + Sync>;

/// Brings an event of a tab to the window's loop.
pub(crate) type TabWake = Arc<dyn Fn(TabEvent) + Send + Sync>;

/// The end of a dialog, with the purpose it had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DialogChoice {
    /// The user chose a file, or several to open together.
    Chosen(Purpose, Vec<PathBuf>),
    /// The user pressed Cancel.
    Dismissed,
    /// There was no dialog to show.
    NoDialog(Purpose),
}

/// Tells a tab from the others, also from those that were closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TabId(pub u64);

/// Files that another start hands to this window. The window takes them only while the other side still waits.
#[derive(Debug)]
pub struct HandedOver {
    sources: Sources,
    /// Set by the side that is first: the window that takes the files, or the other side that waits no longer.
    is_decided: Arc<AtomicBool>,
    taken: SyncSender<()>,
}

impl HandedOver {
    #[cfg(unix)]
    pub(super) fn new(sources: Sources, is_decided: Arc<AtomicBool>, taken: SyncSender<()>) -> Self {
        Self { sources, is_decided, taken }
    }

    /// The files, unless the other side has opened a window of its own meanwhile.
    #[must_use]
    pub(crate) fn take_sources(self) -> Option<Sources> {
        if self.is_decided.swap(true, Ordering::SeqCst) {
            return None;
        }
        self.taken.try_send(()).ok(); // its only message
        Some(self.sources)
    }
}

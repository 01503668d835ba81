//! Follows live traces in the background for a tab. The window takes one snapshot at a time, so a slow screen gets
//! fewer snapshots and never a queue.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use super::answer_clock::AnswerClock;
use super::background::spawn_task;
use super::follow_request::FollowRequest;
use crate::app::event::{TabEvent, TabWake, TaskError, TaskId};
use crate::base::cancel::Cancel;
use crate::ingest::{CachePolicy, LoadOptions};
use crate::live::density::LiveDensity;
use crate::live::follow::{FollowCounts, FollowOptions, FollowUpdate, Viewer, follow};
use crate::live::source_note::{Say, SourceNote};
use crate::live::spool_folder::{FOLLOWED, SpoolFolder};
use crate::model::Sources;
use crate::query::Snapshot;
use crate::ui::chrome::live_badge::LiveStatus;

/// A trace that a tab follows. Dropping it asks the sources to end.
#[derive(Debug)]
pub(super) struct FollowTask {
    pub(super) id: TaskId,
    pub(super) sources: Sources,
    stop: Cancel,
    /// Whether another snapshot can be taken.
    is_ready: Arc<AtomicBool>,
    /// Bytes recorded so far. They arrive earlier than the counts.
    recorded_bytes: Arc<AtomicU64>,
    pub(super) counts: FollowCounts,
    /// The latest sentences about the sources that are still true at the end.
    lasting_notes: Vec<SourceNote>,
    /// Whether the snapshot is paused. Events are recorded meanwhile.
    is_paused: bool,
    /// The last snapshot that arrived while paused.
    unshown: Option<(Snapshot, LiveDensity)>,
    /// The recorded bytes, once the sources have ended.
    pub(super) spool: Option<SpoolFolder>,
    is_over: bool,
    /// Closed when the work ends.
    ended: Receiver<()>,
    pub(super) answers: AnswerClock,
}

impl Drop for FollowTask {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl FollowTask {
    /// Asks the sources to end.
    pub(super) fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits until the sources were asked to end, and the spool files are removed.
    pub(super) fn wait_until_ended(&self) {
        /// A program that ignores the request continues by itself.
        const LONGEST: Duration = Duration::from_secs(3);
        match self.ended.recv_timeout(LONGEST) {
            Ok(()) | Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout) => {}
        }
    }

    /// Returns whether the sources may still send something.
    pub(super) fn is_running(&self) -> bool {
        !self.is_over
    }

    /// Returns whether any source has sent a byte.
    pub(super) fn has_received(&self) -> bool {
        self.counts.has_received() || self.recorded_bytes.load(Ordering::Relaxed) > 0
    }

    /// Keeps a note that will still hold when the trace ends. Only the latest few are kept, since a source may be
    /// replaced often.
    pub(super) fn keep_note(&mut self, note: SourceNote) {
        /// Limit for the sentences, which share one line.
        const NOTES_MAX: usize = 4;
        if note.is_lasting && !self.lasting_notes.contains(&note) {
            self.lasting_notes.truncate(NOTES_MAX - 1);
            self.lasting_notes.insert(0, note);
        }
    }

    /// Returns the sentences that are still true at the end, the latest first.
    pub(super) fn lasting_text(&self) -> String {
        self.lasting_notes.iter().map(ToString::to_string).collect::<Vec<_>>().join("  ")
    }

    pub(super) fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Receives a snapshot, and returns it unless paused.
    pub(super) fn receive_snapshot(
        &mut self,
        snapshot: (Snapshot, LiveDensity),
        counts: FollowCounts,
    ) -> Option<(Snapshot, LiveDensity)> {
        self.counts = counts;
        self.is_ready.store(true, Ordering::SeqCst);
        if self.is_paused {
            self.unshown = Some(snapshot);
            return None;
        }
        Some(snapshot)
    }

    /// Pauses or resumes. Returns the snapshot to show after resuming.
    pub(super) fn pause(&mut self, is_paused: bool) -> Option<(Snapshot, LiveDensity)> {
        self.is_paused = is_paused;
        if is_paused { None } else { self.unshown.take() }
    }

    /// Stores the spool of the ended sources until it is sorted.
    pub(super) fn end(&mut self, spool: SpoolFolder) {
        (self.spool, self.is_over) = (Some(spool), true);
    }

    /// Returns the status for the badge.
    pub(super) fn status(&self, follows: bool) -> LiveStatus {
        let FollowCounts {
            rows_per_s,
            behind,
            unread_bytes,
            late,
            most_late_ns,
            apart,
            dropped,
            disk_bytes,
            free_bytes,
            ..
        } = self.counts;
        let latest_source = self.counts.latest_source.as_ref().map(|path| path.display().to_string());
        LiveStatus {
            rows_per_s,
            behind,
            unread_bytes,
            late,
            latest_source,
            most_late_ns,
            apart,
            dropped,
            disk_bytes,
            free_bytes,
            is_paused: self.is_paused,
            is_stopping: self.stop.is_cancelled(),
            follows,
        }
    }
}

/// Sends the snapshots of a followed trace to the window.
struct TabViewer {
    id: TaskId,
    wake: TabWake,
    is_ready: Arc<AtomicBool>,
}

impl Viewer for TabViewer {
    fn is_ready(&self) -> bool {
        self.is_ready.load(Ordering::SeqCst)
    }

    fn show(&mut self, followed: FollowUpdate) {
        if matches!(followed, FollowUpdate::Snapshot(..)) {
            self.is_ready.store(false, Ordering::SeqCst);
        }
        (self.wake)(TabEvent::Followed(self.id, Box::new(followed)));
    }
}

/// Starts to follow. Reports an error through `wake`.
pub(super) fn start(id: TaskId, request: FollowRequest, load: &LoadOptions, wake: &TabWake) -> FollowTask {
    let (sources, stop, is_ready) = (request.sources(), Cancel::default(), Arc::new(AtomicBool::new(true)));
    let (running, ended) = sync_channel::<()>(1);
    let FollowRequest { inputs, delay, until, disk_cap, kept, weight_unit: _ } = request;
    let (memory, folder) = (load.memory.clone(), folder(load));
    let recorded_bytes = Arc::<AtomicU64>::default();
    let options = FollowOptions {
        inputs,
        memory,
        delay,
        until,
        stop: stop.clone(),
        folder,
        disk_cap,
        kept,
        recorded_bytes: Arc::clone(&recorded_bytes),
    };
    let said = Arc::clone(wake);
    let mut viewer = TabViewer { id, wake: Arc::clone(wake), is_ready: Arc::clone(&is_ready) };
    let to_event = move |end: Result<_, TaskError>| TabEvent::FollowEnded(id, end.map(Box::new));
    spawn_task("follow", wake, to_event, move || {
        // Dropped when the sources and the spool files are closed.
        let _running = running;
        let say: Say = Arc::new(move |note| said(TabEvent::Followed(id, Box::new(FollowUpdate::Said(note)))));
        follow(&options, &say, &mut viewer).map_err(|error| TaskError::Failed(error.to_string()))
    });
    FollowTask {
        id,
        sources,
        stop,
        is_ready,
        recorded_bytes,
        counts: FollowCounts::default(),
        lasting_notes: Vec::new(),
        is_paused: false,
        unshown: None,
        spool: None,
        is_over: false,
        ended,
        answers: AnswerClock::default(),
    }
}

/// Returns the folder of spools: in the cache folder, or the temporary one.
fn folder(load: &LoadOptions) -> PathBuf {
    match &load.cache {
        CachePolicy::Folder(folder) => folder.join(FOLLOWED),
        CachePolicy::None => std::env::temp_dir(),
    }
}

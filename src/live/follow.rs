//! Follows running sources for a viewer: snapshots at a bounded rate, each with its counts, until all sources have
//! ended or are asked to. Then returns the recorded bytes for the final sort. Independent of the window.

use std::convert::Infallible;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use super::arrivals::LiveInput;
use super::density::LiveDensity;
use super::feed::FeedError;
use super::live_store::{LiveStore, LiveStoreLimits, Retention};
use super::orderer::LateEvents;
use super::reading_thread::{ArrivalError, Pace};
use super::refused_trace::RefusedFate;
use super::row_filter::{LiveFilter, UNTIL_MET};
use super::session::{LiveSession, LiveStep, SessionCounts, SessionOptions};
use super::silence::Silence;
use super::source_note::{Say, SourceNote};
use super::spool_files::SpoolFiles;
use super::spool_folder::{SpoolFolder, SpoolNote};
use crate::base::budget::Memory;
use crate::base::cancel::Cancel;
use crate::base::disk::SystemDisk;
use crate::model::{Input, Losses, Names, SourceFile, Sources, TextSpill};
use crate::query::Snapshot;

/// Minimum interval of snapshots; a shorter one would not be noticed.
const SNAPSHOT_EVERY: Duration = Duration::from_millis(50);

/// Snapshots take time from the stream, so the interval is at least this multiple of the time of a snapshot.
const COST_SHARE: u32 = 8;

/// The same multiple if everything that arrived is parsed, so that the stream waits for nothing.
const COST_SHARE_UNHURRIED: u32 = 2;

/// Interval of updated counts without a new snapshot.
const COUNTS_EVERY: Duration = Duration::from_secs(1);

/// Interval of the note about the recorded bytes, in case the process is killed.
const NOTE_EVERY: Duration = Duration::from_secs(1);

/// Share of the memory limit for texts of names; more are on disk.
const NAMES_PART: u64 = 16;

/// The sources to follow, with options.
#[derive(Debug)]
pub(crate) struct FollowOptions {
    pub(crate) inputs: Vec<LiveInput>,
    pub(crate) memory: Memory,
    /// How long events wait for earlier ones; `None` uses a default by source.
    pub(crate) delay: Option<Duration>,
    /// A matching row ends the session.
    pub(crate) until: Option<LiveFilter>,
    /// Asks the sources to end.
    pub(crate) stop: Cancel,
    /// Folder in which the spool folder is created.
    pub(crate) folder: PathBuf,
    /// Limit for the bytes on disk.
    pub(crate) disk_cap: u64,
    /// The part to retain, in the live store only; `None` records everything.
    pub(crate) kept: Option<Retention>,
    /// Counts the recorded bytes as they arrive, before any other count is sent.
    pub(crate) recorded_bytes: Arc<AtomicU64>,
}

/// The counts of a followed trace.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FollowCounts {
    pub(crate) rows: u64,
    pub(crate) rows_per_s: f64,
    /// Age of the oldest row that was in no snapshot before, when these were counted; `None` if nothing arrived lately.
    pub(crate) behind: Option<Duration>,
    /// Bytes that are spooled but not parsed: the source is faster than the live store.
    pub(crate) unread_bytes: u64,
    pub(crate) late: u64,
    /// The source with the most late events, if any.
    pub(crate) latest_source: Option<PathBuf>,
    /// Largest lateness of an event.
    pub(crate) most_late_ns: u64,
    /// Rows that arrived too late to be inserted, and are shown below the others.
    pub(crate) apart: u64,
    /// Rows dropped so far, which were the oldest.
    pub(crate) dropped: u64,
    /// Bytes received from all sources.
    pub(crate) received_bytes: u64,
    /// Size of the recording on disk; with `--keep`, 0 while all rows are in memory.
    pub(crate) disk_bytes: u64,
    /// Whether a file was replaced by another trace, so that it lacks the rows of the previous one.
    pub(crate) has_replaced: bool,
    /// Free bytes on the disk of the recording, if the system reports them.
    pub(crate) free_bytes: Option<u64>,
}

impl FollowCounts {
    /// Returns whether any source has sent a byte.
    pub(crate) fn has_received(&self) -> bool {
        self.received_bytes + self.unread_bytes > 0
    }

    /// Returns whether both look the same to the user. Small changes of the free space do not count: other programs
    /// write to the disk all the time, and every change repaints the window.
    fn reads_as(&self, before: &Self) -> bool {
        let is_near = |free: u64, before: u64| free.abs_diff(before) <= before / 16;
        let is_near = match (self.free_bytes, before.free_bytes) {
            (Some(free), Some(before)) => is_near(free, before),
            (free, before) => free == before,
        };
        is_near && Self { free_bytes: before.free_bytes, ..self.clone() } == *before
    }
}

/// An update of a followed trace.
#[derive(Debug)]
pub enum FollowUpdate {
    /// A snapshot, with the density of its time.
    Snapshot(Snapshot, LiveDensity, FollowCounts),
    /// The counts have changed, without a new snapshot.
    Counts(FollowCounts),
    /// A sentence for the user.
    Said(SourceNote),
}

/// Receives the snapshots of a followed trace.
pub(crate) trait Viewer {
    /// Returns whether the last snapshot was taken, so that the next one may be sent.
    fn is_ready(&self) -> bool;
    fn show(&mut self, followed: FollowUpdate);
}

/// The end of a followed trace.
#[derive(Debug)]
pub struct FollowEnd {
    /// The recorded bytes, under the names of their sources; empty if nothing arrived.
    pub(crate) sources: Sources,
    /// Keeps the files until they are sorted.
    pub(crate) spool: SpoolFolder,
    /// Errors that make the trace incomplete.
    pub(crate) errors: Vec<String>,
    /// Reasons why traces are neither shown nor recorded; the viewer has received them already.
    pub(crate) lost: Vec<String>,
    /// The losses of each source with its path, and the losses of the live store.
    pub(crate) losses: Vec<(PathBuf, Losses)>,
    pub(crate) late: LateEvents,
    /// The reason why the trace cannot be sorted.
    pub(crate) unsorted: Option<String>,
    /// Whether nothing but the last snapshot is retained.
    pub(crate) has_snapshot_only: bool,
    /// Whether a file was replaced by another trace, so that it lacks the rows of the previous one.
    pub(crate) has_replaced: bool,
}

/// The reason why nothing can be followed, or no more.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FollowError {
    #[error(transparent)]
    Arrival(#[from] ArrivalError),
    #[error("{}: cannot store the received data: {source}", folder.display())]
    Folder { folder: PathBuf, source: io::Error },
}

/// Follows until all sources have ended, or until rows cannot be written. Blocks; `options.stop` ends it. Returns a
/// [`FollowError`] if nothing can be read.
pub(crate) fn follow(options: &FollowOptions, say: &Say, viewer: &mut dyn Viewer) -> Result<FollowEnd, FollowError> {
    let folder = &options.folder;
    let in_folder = |source| FollowError::Folder { folder: folder.clone(), source };
    let spool = SpoolFolder::new(folder).map_err(in_folder)?;
    let live_store = store_beside(&spool, options).map_err(in_folder)?;
    follow_into(live_store, spool, options, say, viewer)
}

/// Follows with this store, whose file is in the folder of the spool.
fn follow_into(
    live_store: LiveStore,
    spool: SpoolFolder,
    options: &FollowOptions,
    say: &Say,
    viewer: &mut dyn Viewer,
) -> Result<FollowEnd, FollowError> {
    let folder = &options.folder;
    let output = spool.path().join("received");
    let files = SpoolFiles::counting(&output, options.disk_cap, Arc::clone(&options.recorded_bytes));
    let mut session = LiveSession::start(&options.inputs, &session_options(options, &files), say)?;
    let mut following = Following::new(live_store, files);
    let mut lost = Vec::new();
    let failed = following.run(&mut session, options, &spool, (viewer, &mut lost)).err();
    if failed.is_some() {
        options.stop.cancel();
        end_unshown(&mut session);
    }
    let mut errors: Vec<String> = session.take_errors().iter().map(FeedError::to_string).collect();
    let sources = following.files.sources(&sources_of(&options.inputs, &session), &session.left_out());
    let SessionCounts { rows, bytes, late } = session.counts();
    let mut losses = session.named_losses();
    losses.push(("the display".into(), following.live_store.own_losses()));
    // For a source that ended far ahead of its snapshots, the rest is assumed to have as many rows per byte.
    let rows = (u128::from(rows) * u128::from(following.files.bytes().max(bytes)) / u128::from(bytes.max(1))) as u64;
    let has_replaced = session.has_replaced();
    drop(session);
    let has_snapshot_only = options.kept.is_some();
    let failed = failed.map(|error| format!("{}: cannot write the rows: {error}", folder.display()));
    let unsorted = if has_snapshot_only {
        errors.extend(failed);
        None
    } else {
        failed.or_else(|| following.files.check_sort(rows, &[folder]).err())
    };
    Ok(FollowEnd { sources, spool, errors, lost, losses, late, unsorted, has_snapshot_only, has_replaced })
}

/// Waits until all sources have ended after a request to stop. Their last bytes are recorded, but not shown.
fn end_unshown(session: &mut LiveSession) {
    loop {
        let Ok(step) = session.step(&mut |_| Ok::<(), Infallible>(()));
        if step == LiveStep::Done {
            return;
        }
    }
}

fn session_options(options: &FollowOptions, files: &SpoolFiles) -> SessionOptions {
    SessionOptions {
        memory: options.memory.clone(),
        delay: options.delay,
        places_late: true,
        pace: Pace::RunsAhead,
        stop: options.stop.clone(),
        // The front of a byte stream cannot be dropped, because later bytes refer to it.
        spool: options.kept.is_none().then(|| files.clone()),
        keeps_tables: true,
    }
}

/// Shows why sources are not read. Returns the reasons for sources whose bytes are not recorded either.
fn say_refused(session: &mut LiveSession, viewer: &mut dyn Viewer) -> Vec<String> {
    let mut lost = Vec::new();
    for refused in session.take_refused() {
        let is_recorded = refused.fate == RefusedFate::Recorded;
        let note = if is_recorded { SourceNote::passing } else { SourceNote::lasting };
        viewer.show(FollowUpdate::Said(note(refused.to_string())));
        if refused.fate == RefusedFate::Lost {
            lost.push(refused.error.to_string());
        }
    }
    lost
}

/// Creates a live store without rows, whose file is in the folder of the spool.
fn store_beside(spool: &SpoolFolder, options: &FollowOptions) -> io::Result<LiveStore> {
    let memory_bytes = options.memory.limit_bytes();
    let held_bytes = usize::try_from(memory_bytes / NAMES_PART).unwrap_or(usize::MAX);
    let names = Names::spilling(TextSpill::new(spool.path(), Arc::new(SystemDisk), held_bytes));
    let file = tempfile::tempfile_in(spool.path())?;
    let mut live_store = LiveStore::new(file, names, LiveStoreLimits::within(memory_bytes))?;
    if let Some(part) = options.kept {
        live_store.keep_part(part)?;
    }
    Ok(live_store)
}

/// The state of [`follow`] between its steps.
struct Following {
    live_store: LiveStore,
    files: SpoolFiles,
    counts: FollowCounts,
    /// When the oldest row that is in no snapshot arrived.
    came: Option<Instant>,
    /// When rows were last counted.
    shown: Instant,
    /// Whether the stream has waited since the last snapshot, because everything that arrived was parsed.
    has_waited: bool,
    silence: Silence,
    snapshot_due: Instant,
    counts_due: Instant,
    /// The last written note, and when the next is due.
    noted: SpoolNote,
    note_due: Instant,
}

impl Following {
    fn new(live_store: LiveStore, files: SpoolFiles) -> Self {
        let now = Instant::now();
        Self {
            live_store,
            files,
            counts: FollowCounts::default(),
            came: None,
            shown: now,
            has_waited: false,
            silence: Silence::default(),
            snapshot_due: now,
            counts_due: now,
            noted: SpoolNote::default(),
            note_due: now,
        }
    }

    /// Adds and shows rows until all sources have ended. `lost` gets the reasons why traces are neither shown nor
    /// recorded. Returns the I/O error of a failed write.
    fn run(
        &mut self,
        session: &mut LiveSession,
        options: &FollowOptions,
        spool: &SpoolFolder,
        (viewer, lost): (&mut dyn Viewer, &mut Vec<String>),
    ) -> io::Result<()> {
        loop {
            let (step, is_met) = self.step(session, options)?;
            if is_met && !options.stop.is_cancelled() {
                viewer.show(FollowUpdate::Said(SourceNote::lasting(UNTIL_MET.to_owned())));
                options.stop.cancel();
            }
            lost.extend(say_refused(session, viewer));
            let has_room = options.kept.is_none() || self.live_store.file_bytes() < options.disk_cap;
            if !has_room && !options.stop.is_cancelled() {
                let reached = ArrivalError::DiskCap { bytes_max: options.disk_cap };
                viewer.show(FollowUpdate::Said(SourceNote::lasting(reached.to_string())));
                options.stop.cancel();
            }
            let is_over = step == LiveStep::Done;
            self.show(session, viewer, is_over)?;
            if is_over {
                return Ok(());
            }
            if options.kept.is_none() {
                self.write_note(spool, &options.inputs, session);
            }
        }
    }

    /// Adds the rows of a step to the store. Returns the step, and whether a row passes `options.until`.
    fn step(&mut self, session: &mut LiveSession, options: &FollowOptions) -> io::Result<(LiveStep, bool)> {
        let (mut is_met, Self { live_store, came, .. }) = (false, &mut *self);
        // The name of a track comes before its rows.
        live_store.take_tables(session);
        let step = session.step::<io::Error>(&mut |row| {
            is_met |= options.until.as_ref().is_some_and(|until| until.takes(&row));
            live_store.add(&row)?;
            if live_store.has_changed() {
                came.get_or_insert(row.came);
            }
            Ok(())
        })?;
        if live_store.is_full() {
            live_store.settle(session)?;
        }
        self.files.set_snapshot_bytes(self.live_store.file_bytes());
        self.has_waited |= step == LiveStep::Waited;
        Ok((step, is_met))
    }

    /// Shows a snapshot if rows have arrived and one is due, or else the counts once they are due.
    fn show(&mut self, session: &LiveSession, viewer: &mut dyn Viewer, is_over: bool) -> io::Result<()> {
        let now = Instant::now();
        let is_due = is_over || now >= self.snapshot_due && viewer.is_ready();
        let silent_ns = if self.live_store.has_changed() || is_over && self.silence.is_shown() {
            Some(0).filter(|_| is_due)
        } else if is_due {
            self.silent_ns(session, now)
        } else {
            None
        };
        if let Some(silent_ns) = silent_ns {
            let snapshot = self.live_store.snapshot(session, silent_ns)?;
            if silent_ns == 0 {
                self.silence.end(now, snapshot.end_ns());
            }
            let share = if std::mem::take(&mut self.has_waited) { COST_SHARE_UNHURRIED } else { COST_SHARE };
            self.snapshot_due = now + SNAPSHOT_EVERY.max(now.elapsed() * share);
            self.counts_due = now + COUNTS_EVERY;
            let density = self.live_store.density().clone();
            viewer.show(FollowUpdate::Snapshot(snapshot, density, self.count(session)));
            self.came = None;
        } else if now >= self.counts_due {
            self.counts_due = now + COUNTS_EVERY;
            let before = self.counts.clone();
            let counts = self.count(session);
            if counts.reads_as(&before) {
                self.counts.free_bytes = before.free_bytes;
            } else {
                viewer.show(FollowUpdate::Counts(counts));
            }
        }
        Ok(())
    }

    /// Returns the time by which open spans have outlasted the newest event, if a snapshot is to show it. Looks at the
    /// open spans only once for each step of the silence.
    fn silent_ns(&mut self, session: &LiveSession, now: Instant) -> Option<i64> {
        let silent_ns = self.silence.due_ns(now)?;
        self.silence.show(silent_ns);
        let mut has_open = false;
        session.each_open(&mut |_, _, _, _, _| has_open = true);
        has_open.then_some(silent_ns)
    }

    /// Writes the note about the recorded bytes if it is due and has changed.
    fn write_note(&mut self, spool: &SpoolFolder, inputs: &[LiveInput], session: &LiveSession) {
        let now = Instant::now();
        if now < self.note_due {
            return;
        }
        self.note_due = now + NOTE_EVERY;
        let note = self.files.note(session.counts().rows, &sources_of(inputs, session));
        if note != self.noted {
            spool.write_note(&note);
            self.noted = note;
        }
    }

    fn count(&mut self, session: &LiveSession) -> FollowCounts {
        let all = session.counts();
        let seconds = self.shown.elapsed().as_secs_f64();
        // Averaged over about a second: single batches would make it jump.
        let is_new = seconds >= COUNTS_EVERY.as_secs_f64() || self.counts.rows == 0;
        let (rows, rows_per_s) = if is_new {
            let new = all.rows - self.counts.rows;
            self.shown = Instant::now();
            let rate = new as f64 / seconds.max(1e-3);
            (all.rows, rate)
        } else {
            (self.counts.rows, self.counts.rows_per_s)
        };
        let latest = session.late().max_by_key(|(_, late)| late.count).filter(|(_, late)| late.count > 0);
        let LateEvents { count: late, most_ns: most_late_ns } = all.late;
        self.counts = FollowCounts {
            rows,
            rows_per_s,
            behind: self.came.map(|came| came.elapsed()),
            unread_bytes: self.files.bytes().saturating_sub(all.bytes),
            late,
            latest_source: latest.map(|(path, _)| path.clone()),
            most_late_ns,
            apart: self.live_store.late().apart,
            dropped: self.live_store.dropped(),
            received_bytes: all.bytes,
            disk_bytes: self.files.bytes() + self.live_store.file_bytes(),
            has_replaced: session.has_replaced(),
            free_bytes: self.files.free_bytes(),
        };
        self.counts.clone()
    }
}

/// Returns the sources of a session by name: the given sources, then the sources that connected.
pub(crate) fn sources_of(inputs: &[LiveInput], session: &LiveSession) -> Vec<SourceFile> {
    let is_listener = |input: &&LiveInput| matches!(input, LiveInput::Socket(_) | LiveInput::Otlp { .. });
    let given: Vec<SourceFile> = inputs.iter().filter(|input| !is_listener(input)).map(source_of).collect();
    // A connection cannot be opened again.
    let came = session.names().skip(given.len()).cloned();
    let came: Vec<_> = came.map(|name| SourceFile { input: Input::Fd(name), offset_ns: 0 }).collect();
    given.into_iter().chain(came).collect()
}

/// Returns the source file that represents an input.
pub(crate) fn source_of(input: &LiveInput) -> SourceFile {
    let input = match input {
        LiveInput::Input(input) => input.clone(),
        // The output of a command, or bytes sent here, cannot be opened again.
        LiveInput::Command(_) | LiveInput::Socket(_) | LiveInput::Otlp { .. } => Input::Fd(input.name()),
    };
    SourceFile { input, offset_ns: 0 }
}

#[cfg(test)]
mod tests;

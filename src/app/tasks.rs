//! Background work: imports, exports, folder listings. Each answers through the event loop; none blocks it, and a panic
//! is an ordinary error.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use super::demo::{demo_folder, demo_path, demo_trace};
use super::desktop;
use crate::app::background::{guarded, spawn, spawn_task};
use crate::app::event::{LoadedTrace, PickedPath, TabEvent, TabWake, TaskError, TaskEvent, TaskId, Wake};
use crate::app::offscreen::{TimelinePicture, write_png};
use crate::app::opened_files::{OpenedFiles, TimelineReader};
use crate::app::pasted::Pasted;
use crate::app::typed_path::in_home;
use crate::base::cancel::Cancel;
use crate::base::escape::escaped;
use crate::base::progress::Progress;
use crate::export::derived::DerivedCounter;
use crate::export::flame::{FlameFormat, FlameSource, export_flame};
use crate::export::values::{TableSource, ValueFormat};
use crate::export::{self, ExportError, ExportFormat, ExportOptions};
use crate::formats::{ReadError, sniff};
use crate::ingest::{LoadError, LoadOptions, Loaded, open_spooled, open_with_previews};
use crate::model::Sources;
use crate::query::Snapshot;
use crate::query::flow_chain;
use crate::render::readback::Pixels;
use crate::store::{RowIdx, Store};
use crate::tiles::trace_summary::TraceSummary;
use crate::ui::chrome::file_picker::FolderEntry;
use crate::ui::purpose::Purpose;
use crate::ui::selected_scope::SelectedScope;
use crate::ui::timeline::state::Timeline;
use crate::ui::timeline::track_ranks::RankSource;
use crate::ui::timeline::tracks::ArrangeResult;

/// A running import or export. Dropping it cancels the work.
#[derive(Debug)]
pub(crate) struct FileTask {
    pub(crate) id: TaskId,
    /// The action and its object, for the progress display.
    pub(crate) title: String,
    /// The trace being imported or written.
    pub(crate) sources: Sources,
    pub(crate) progress: Progress,
    cancel: Cancel,
}

impl FileTask {
    pub(crate) fn cancel(&self) {
        self.cancel.cancel();
    }
}

impl Drop for FileTask {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// The input of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LoadSource {
    Files(Sources),
    /// The demo trace, generated if it is missing.
    Demo,
}

/// Starts to import a trace.
#[must_use]
pub(crate) fn load(
    id: TaskId,
    source: LoadSource,
    options: LoadOptions,
    reader: TimelineReader,
    wake: &TabWake,
) -> FileTask {
    let demo_folder = demo_folder(&options.cache);
    let (title, sources) = match &source {
        LoadSource::Files(sources) => (format!("Opening {}", escaped(&sources.title())), sources.clone()),
        LoadSource::Demo => ("Making a demo trace".to_owned(), Sources::from(&demo_path(&demo_folder))),
    };
    let previews = Arc::clone(wake);
    start_load(id, (title, sources), wake, move |cancel, progress| {
        let sources = match source {
            LoadSource::Files(sources) => sources,
            LoadSource::Demo => Sources::from(&demo_trace(&demo_folder, cancel).map_err(TaskError::Failed)?),
        };
        let files = Arc::new(OpenedFiles::from_sources(&sources));
        let mut show = |store| {
            let snapshot = snapshot_for_frames(store);
            if snapshot.summary().sorted_to_ns.is_none() {
                files.read_saved(&reader);
            }
            previews(TabEvent::Previewed(id, snapshot, Arc::clone(&files)));
        };
        let loaded = open_with_previews(&sources, &options, cancel, progress, Some(&mut show));
        loaded.map(|loaded| loaded_trace(loaded, files, &reader)).map_err(load_error)
    })
}

/// Starts to sort the spool of a followed trace. Its last snapshot stays until it is sorted.
#[must_use]
pub(crate) fn load_spooled(
    id: TaskId,
    sources: Sources,
    options: LoadOptions,
    reader: TimelineReader,
    wake: &TabWake,
) -> FileTask {
    let title = format!("Sorting {}", escaped(&sources.title()));
    start_load(id, (title, sources.clone()), wake, move |cancel, progress| {
        let files = Arc::new(OpenedFiles::from_sources(&sources));
        let loaded = open_spooled(&sources, &options, cancel, progress);
        loaded.map(|loaded| loaded_trace(loaded, files, &reader)).map_err(load_error)
    })
}

/// Starts the thread of an import, and sends its result.
fn start_load(
    id: TaskId,
    (title, sources): (String, Sources),
    wake: &TabWake,
    load: impl FnOnce(&Cancel, &Progress) -> Result<LoadedTrace, TaskError> + Send + 'static,
) -> FileTask {
    let running = FileTask { id, title, sources, progress: Progress::default(), cancel: Cancel::default() };
    let (cancel, progress) = (running.cancel.clone(), running.progress.clone());
    spawn_task("load", wake, move |loaded| TabEvent::Loaded(id, loaded), move || load(&cancel, &progress));
    running
}

/// Creates a snapshot with the per-track lookups of frames precomputed. It loops over all tracks, so it must not run on
/// the window's thread.
fn snapshot_for_frames(store: Arc<Store>) -> Snapshot {
    Snapshot::new(store).with_shared_names_found()
}

fn loaded_trace(loaded: Loaded, files: Arc<OpenedFiles>, reader: &TimelineReader) -> LoadedTrace {
    files.read_saved(reader);
    LoadedTrace { snapshot: snapshot_for_frames(loaded.store), note: loaded.report.note, files }
}

fn load_error(error: LoadError) -> TaskError {
    match error {
        LoadError::Cancelled(_) => TaskError::Cancelled,
        other => TaskError::Failed(other.to_string()),
    }
}

/// Starts to export a trace, or only `scope` of it, sorted, to `path`. Never overwrites the trace's own files.
#[must_use]
pub(crate) fn export(
    id: TaskId,
    (snapshot, sources): (Snapshot, Sources),
    (format, scope, derived): (ExportFormat, SelectedScope, Vec<DerivedCounter>),
    path: PathBuf,
    wake: &TabWake,
) -> FileTask {
    let write = {
        let sources = sources.clone();
        move |path: &Path, cancel: &Cancel, progress: &Progress| {
            // Exported as recorded: readers resolve symbols themselves.
            let snapshot = snapshot.with_overlay(None);
            let scope = scope.with_filter(&snapshot, "");
            let options = ExportOptions { format, scope, derived };
            export::export(&snapshot, &sources, path, &options, cancel, progress)
        }
    };
    write_file((id, path, sources), wake, write, TabEvent::Exported)
}

/// Starts to export a table of a panel. Never overwrites the trace's own files.
#[must_use]
pub(crate) fn write_table(
    id: TaskId,
    (snapshot, sources): (Snapshot, Sources),
    table: Box<dyn TableSource>,
    (path, format): (PathBuf, ValueFormat),
    wake: &TabWake,
) -> FileTask {
    let write = {
        let sources = sources.clone();
        move |path: &Path, cancel: &Cancel, progress: &Progress| {
            export::export_table(&snapshot, &sources, (path, format), &*table, cancel, progress)
        }
    };
    write_file((id, path, sources), wake, write, TabEvent::TableWritten)
}

/// Starts to write a file of a trace; `to_event` creates the event of its end.
fn write_file<T: Send + 'static>(
    (id, path, sources): (TaskId, PathBuf, Sources),
    wake: &TabWake,
    write: impl FnOnce(&Path, &Cancel, &Progress) -> Result<T, ExportError> + Send + 'static,
    to_event: fn(TaskId, PathBuf, Result<T, TaskError>) -> TabEvent,
) -> FileTask {
    let title = format!("Writing {}", file_name(&path));
    let running = FileTask { id, title, sources, progress: Progress::default(), cancel: Cancel::default() };
    let (cancel, progress, output) = (running.cancel.clone(), running.progress.clone(), path.clone());
    let work = move || {
        write(&path, &cancel, &progress).map_err(|error| match error {
            ExportError::Cancelled(_) => TaskError::Cancelled,
            damaged @ ExportError::Damaged { is_streamed: false, .. } => TaskError::Damaged(damaged.to_string()),
            other => TaskError::Failed(other.to_string()),
        })
    };
    spawn_task("export", wake, move |result| to_event(id, output, result), work);
    running
}

/// Draws a timeline into a PNG file, which is replaced only when it is complete, and is never one of `sources`.
pub(crate) fn draw(path: PathBuf, picture: TimelinePicture, sources: Sources, wake: &TabWake) {
    write("draw", path, wake, move |path| {
        let pixels = picture.draw().map_err(|error| error.to_string())?;
        write_png(&pixels, path, &sources).map(|()| Vec::new()).map_err(|error| error.to_string())
    });
}

/// Writes pixels into a PNG file, which is replaced only when it is complete, and is never one of `sources`.
pub(crate) fn write_picture(path: PathBuf, pixels: Pixels, sources: Sources, wake: &TabWake) {
    write("draw", path, wake, move |path| {
        write_png(&pixels, path, &sources).map(|()| Vec::new()).map_err(|error| error.to_string())
    });
}

/// Writes a flame graph into a file, which is replaced only when it is complete, and is never one of `sources`.
pub(crate) fn write_flame(
    (path, format): (PathBuf, FlameFormat),
    source: FlameSource,
    sources: Sources,
    wake: &TabWake,
) {
    write("flame", path, wake, move |path| {
        let limits = export_flame(&source, &sources, (path, format)).map_err(|error| error.to_string())?;
        Ok(source.graph().folded_text().into_iter().chain(limits.texts()).collect())
    });
}

/// Writes a file in the background, and reports the result.
fn write(
    name: &str,
    path: PathBuf,
    wake: &TabWake,
    work: impl FnOnce(&Path) -> Result<Vec<String>, String> + Send + 'static,
) {
    let output = path.clone();
    spawn_task(
        name,
        wake,
        move |written| TabEvent::Wrote(output, written),
        move || work(&path).map_err(TaskError::Failed),
    );
}

/// Background work about a trace, cancelled when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Computes the summary of a trace. On failure, the window has no minimap.
#[must_use]
pub(crate) fn summarise(id: TaskId, snapshot: Snapshot, wake: &TabWake) -> CancelOnDrop {
    let task = CancelOnDrop::default();
    let (cancel, wake) = (task.0.clone(), Arc::clone(wake));
    let work = move || {
        let summary = guarded(|| TraceSummary::from_snapshot(&snapshot, &cancel).map_err(|_| TaskError::Cancelled));
        if let Ok(summary) = summary {
            wake(TabEvent::Summarised(id, Arc::new(summary)));
        }
    };
    spawn("summary", work).ok(); // without a thread there is no minimap
    task
}

/// Searches the flows of a row.
#[must_use]
pub(crate) fn find_flows(id: TaskId, snapshot: Snapshot, row: RowIdx, wake: &TabWake) -> CancelOnDrop {
    let task = CancelOnDrop::default();
    let (cancel, wake) = (task.0.clone(), Arc::clone(wake));
    let work = move || {
        let chain = guarded(|| flow_chain::chain(&snapshot, row, &cancel).map_err(|_| TaskError::Cancelled));
        if let Ok(chain) = chain {
            wake(TabEvent::FlowsFound(id, row, Arc::new(chain)));
        }
    };
    spawn("flows", work).ok(); // without a thread no flows are drawn
    task
}

/// Counts the tracks for their order. A cancelled count sends nothing.
#[must_use]
pub(crate) fn rank_tracks(source: RankSource, progress: Progress, wake: &TabWake) -> CancelOnDrop {
    let task = CancelOnDrop::default();
    let (cancel, to_tab, counted) = (task.0.clone(), Arc::clone(wake), source.clone());
    let work = move || match guarded(|| counted.clone().count(&cancel, &progress).map_err(|_| TaskError::Cancelled)) {
        Err(TaskError::Cancelled) => {}
        ranks => to_tab(TabEvent::Ranked(counted, ranks)),
    };
    if let Err(error) = spawn("rank", work) {
        wake(TabEvent::Ranked(source, Err(error)));
    }
    task
}

/// Starts a layout that is due, of rows that are too many for a frame.
pub(crate) fn start_due_layout(timeline: &mut Timeline, wake: &TabWake) {
    let Some(job) = timeline.due_layout() else { return };
    let number = job.number();
    let to_event = move |arranged: Result<ArrangeResult, TaskError>| match arranged {
        Ok(arranged) => TabEvent::Arranged(Box::new(arranged)),
        Err(_) => TabEvent::NotArranged(number),
    };
    spawn_task("arrange", wake, to_event, || Ok(job.run()));
}

/// Sends the desktop's settings to the event loop, now and after each change.
pub(crate) fn watch_desktop(wake: &Wake) {
    let wake = Arc::clone(wake);
    spawn("desktop", move || desktop::watch(|settings| wake(TaskEvent::DesktopChanged(settings)))).ok(); // without a thread the defaults apply
}

/// Parses a pasted text in the background; sends [`TaskEvent::Pasted`].
pub(crate) fn read_pasted(text: String, wake: &Wake) {
    spawn_task("paste", wake, TaskEvent::Pasted, move || Ok(Pasted::read(&text)));
}

/// Lists a folder for the picker, unsorted and without hidden entries.
pub(crate) fn list(folder: PathBuf, wake: &Wake) {
    let shown = folder.clone();
    let to_event =
        move |listing: Result<_, TaskError>| TaskEvent::Listed(shown, listing.map_err(TaskError::into_message));
    spawn_task("list", wake, to_event, move || {
        listing(&folder).map_err(|error| TaskError::Failed(format!("{}: {error}", folder.display())))
    });
}

/// Looks up a path from the picker in the background, because a file system may be slow to report whether it is a
/// folder. A leading `~` of a typed path is the home folder. An existing file is written only if `replaces` is set; a
/// device or a pipe is not replaced.
pub(crate) fn pick_path(id: TaskId, purpose: Purpose, path: PathBuf, replaces: bool, wake: &Wake) {
    let is_known = purpose.reads() || replaces;
    let unresolved = if is_known { PickedPath::File(path.clone()) } else { PickedPath::Existing };
    let to_event = move |picked: Result<_, TaskError>| TaskEvent::Picked(id, picked.unwrap_or(unresolved));
    spawn_task("pick", wake, to_event, move || {
        let path = if path.exists() { path } else { in_home(&path).unwrap_or(path) };
        // The folder of a recording is a trace.
        let is_answer = || purpose.takes_folders() || (purpose.reads() && sniff::is_trace_folder(&path));
        Ok(if path.is_dir() && !is_answer() {
            PickedPath::Folder(path)
        } else if !purpose.reads() && !replaces && path.is_file() {
            PickedPath::Existing
        } else if matches!(purpose, Purpose::Open | Purpose::SymbolFolder | Purpose::SymbolArchive)
            && let Err(source) = fs::metadata(&path)
        {
            PickedPath::Missing(ReadError::inaccessible(&path, source).to_string())
        } else {
            PickedPath::File(path)
        })
    });
}

fn listing(folder: &Path) -> std::io::Result<Vec<FolderEntry>> {
    /// Limit for a list that users scroll through; other names can still be typed.
    const ENTRIES_MAX: usize = 10_000;
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder)?.take(ENTRIES_MAX).flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // Follows links, as opening would.
        let Ok(metadata) = fs::metadata(entry.path()) else { continue };
        if !name.starts_with('.') && (metadata.is_dir() || metadata.is_file()) {
            let modified = metadata.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
            let modified_s = modified.map(|since| since.as_secs());
            entries.push(FolderEntry { is_file: metadata.is_file(), name, bytes: metadata.len(), modified_s });
        }
    }
    Ok(entries)
}

/// Returns the last part of a path, as text.
#[must_use]
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::background_writes::BackgroundWrites;
    use crate::ingest::CachePolicy;

    #[test]
    fn names_of_all_tracks_are_compared_before_the_first_frame() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("two.json");
        let span = |tid: u32| format!(r#"{{"ph":"X","name":"s","pid":1,"tid":{tid},"ts":0,"dur":9}}"#);
        fs::write(&path, format!("[{},{}]", span(1), span(2))).unwrap();
        let (sender, events) = std::sync::mpsc::channel();
        let wake: TabWake = Arc::new(move |event| sender.send(event).unwrap());
        let options = LoadOptions { cache: CachePolicy::None, ..LoadOptions::default() };
        let reader = TimelineReader { folders: None, writes: BackgroundWrites::default() };
        let _running = load(TaskId(1), LoadSource::Files(Sources::from(&path)), options, reader, &wake);
        for event in events {
            match event {
                TabEvent::Previewed(_, snapshot, _) => assert!(snapshot.has_found_shared_names()),
                TabEvent::Loaded(_, loaded) => {
                    assert!(loaded.expect("loaded").snapshot.has_found_shared_names());
                    return;
                }
                other => panic!("{other:?}"),
            }
        }
        panic!("the import sends nothing");
    }

    #[test]
    fn a_folder_is_listed_with_sizes_and_a_missing_one_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.json"), "[]").unwrap();
        fs::write(folder.path().join(".hidden"), "").unwrap();
        fs::create_dir(folder.path().join("z")).unwrap();
        let mut entries = listing(folder.path()).unwrap();
        entries.sort_by_key(|entry| entry.name.clone());
        let seen: Vec<_> =
            entries.iter().map(|entry| (&*entry.name, entry.is_file, entry.modified_s.is_some())).collect();
        assert_eq!(seen, [("a.json", true, true), ("z", false, true)]);
        assert_eq!(entries[0].bytes, 2);
        assert!(listing(&folder.path().join("none")).is_err());
    }
}

//! Opens a trace as a store: the cached store if the trace has not changed, else a new store. It blocks, so it belongs
//! on a background thread; it reports progress and can be cancelled.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use super::assemble::Assembler;
use super::chunk_cache::ChunkCache;
use super::import_store::{ImportError, import_store};
use super::ledger_budget::with_ledger;
use super::load::{LoadError, LoadOptions, LoadReport, Loaded};
use super::merge::{MergeContext, MergeError, MergeStats, merge, true_heads};
use super::nest::{Nested, Nester};
use super::previews::{PreviewSink, Previews};
use super::rows::{RowSink, write_behind};
use super::spill::SpillFile;
use super::spool::SpooledInput;
use super::store_target::{StoreFile, StoreTarget};
use crate::base::budget_shares::BudgetShare;
use crate::base::cancel::Cancel;
use crate::base::files;
use crate::base::progress::{Progress, Stage};
use crate::formats::{
    self, ChunkLimits, ChunkSource, ChunkedTrace, ReadContext, ReadError, Reader, StoreParts, TraceFiles,
};
use crate::model::{Loss, Losses, Names, Registry, SourcePos, Sources, Stacks, TrackTables};
use crate::store::ledger_build::LedgerContext;
use crate::store::{LoadStats, Meta, Store, StoreWriter, Summary};

/// Opens a trace of one or several files as a store. Input from a pipe is first copied to an unnamed file.
///
/// # Errors
/// See [`LoadError`]. A partly damaged trace is not an error: the store counts its losses.
pub fn open(
    sources: impl Into<Sources>,
    options: &LoadOptions,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<Loaded, LoadError> {
    open_with_previews(&sources.into(), options, cancel, progress, None)
}

/// Like [`open`], but also passes stores of the rows sorted so far to `previews`.
///
/// # Errors
/// Fails as [`open`] does.
pub fn open_with_previews(
    sources: &Sources,
    options: &LoadOptions,
    cancel: &Cancel,
    progress: &Progress,
    previews: Option<PreviewSink<'_>>,
) -> Result<Loaded, LoadError> {
    let started = Instant::now();
    let context = context(sources, options, cancel, progress);
    let once = StoreTarget::for_once(sources, options);
    let received = SpooledInput::spool(sources, once.folder(), cancel, progress);
    let received = received.map_err(|error| once.explained(error))?;
    let (sources, mut target) = match &received {
        Some(received) => (&received.sources, once),
        None => (sources, StoreTarget::choose(sources, options)?),
    };
    let cached_store = target.cached_store().filter(|store| !needs_unwinding(store, sources, &context, &mut target));
    let (store, cached) = if let Some(store) = cached_store {
        (store, true)
    } else {
        let loaded = load(sources, &mut target, &context, Previews::new(previews), started);
        (loaded.map_err(|error| error.named(sources))?, false)
    };
    progress.begin(Stage::Done, 0);
    let note = (!target.notes.is_empty()).then(|| target.notes.join(" "));
    let report = LoadReport { cached, seconds: started.elapsed().as_secs_f64(), note };
    Ok(Loaded { store: Arc::new(store), report })
}

/// Opens a trace that was spooled: `sources` has the paths to read, and the displayed names. Its store is not cached.
///
/// # Errors
/// Fails as [`open`] does.
pub(crate) fn open_spooled(
    sources: &Sources,
    options: &LoadOptions,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<Loaded, LoadError> {
    let started = Instant::now();
    let context = context(sources, options, cancel, progress);
    let mut target = StoreTarget::for_once(sources, options);
    let store = load(sources, &mut target, &context, Previews::new(None), started);
    let store = store.map_err(|error| error.named(sources))?;
    progress.begin(Stage::Done, 0);
    let note = (!target.notes.is_empty()).then(|| target.notes.join(" "));
    let report = LoadReport { cached: false, seconds: started.elapsed().as_secs_f64(), note };
    Ok(Loaded { store: Arc::new(store), report })
}

/// Returns whether the stacks of a cached store must be unwound again, because the module files have changed. If so,
/// adds a note.
fn needs_unwinding(store: &Store, sources: &Sources, context: &ReadContext, target: &mut StoreTarget) -> bool {
    let unwound = &store.meta().tracks.unwound;
    let files = context.unwind_files.as_ref().filter(|_| !unwound.is_empty());
    let needs = files.is_some_and(|files| !files.files.are_same(sources, unwound));
    if needs {
        target.notes.push(format!("{sources} is sorted again, because files for its stacks have changed."));
    }
    needs
}

fn context(sources: &Sources, options: &LoadOptions, cancel: &Cancel, progress: &Progress) -> ReadContext {
    progress.begin(Stage::Opening, 0);
    ReadContext {
        cancel: cancel.clone(),
        progress: progress.clone(),
        budget: options.memory.budget(),
        threads: options.threads.max(1),
        chunk_limits: ChunkLimits::default(),
        text_spill: None,
        is_sole_read: false,
        weight_unit: sources.weight_unit(),
        code_addresses: options.code_addresses,
        unwind_files: options.unwind_files.clone().map(|files| TraceFiles { files, sources: sources.clone() }),
    }
}

/// A store whose tables are not written yet.
struct Sorted {
    writer: StoreWriter,
    /// Without tracks, which are still in the registry.
    meta: Meta,
    /// Losses of chunks, if none of them could be loaded.
    all_lost: Option<Losses>,
}

/// The input of the merge: chunks, with the tables that their events reference.
struct MergeInput {
    source: Box<dyn ChunkSource>,
    names: Arc<Names>,
    stacks: Arc<Stacks>,
    registry: Registry,
    losses: Losses,
    /// Sentences for the user, from the reader.
    notes: Vec<String>,
    store: Option<Box<dyn StoreParts>>,
    /// Distance by which samples without times are moved to the start of the events with times.
    untimed_distance_ns: i64,
}

/// The load of a trace into a new store.
struct StoreLoad<'a, 'p> {
    sources: &'a Sources,
    target: &'a mut StoreTarget,
    context: &'a ReadContext,
    previews: Previews<'p>,
    spill: Arc<SpillFile>,
    source_bytes: u64,
    started: Instant,
}

/// The counts of merged and nested events.
struct Merged {
    merge: MergeStats,
    nested: Nested,
    events: u64,
}

fn load(
    sources: &Sources,
    target: &mut StoreTarget,
    context: &ReadContext,
    previews: Previews<'_>,
    started: Instant,
) -> Result<Store, LoadError> {
    let source_bytes = content_bytes(sources)?;
    let text_spill = Arc::new(target.text_spill(BudgetShare::Names.bytes(&context.budget)));
    let context = &ReadContext { text_spill: Some(text_spill), ..context.clone() };
    let reader = formats::multi::files::open(sources, context)?;
    let mut store_file = target.start().map_err(|error| target.write_error(error))?;
    let spill = Arc::new(target.spill().map_err(|error| target.write_error(error))?);
    let mut input = read(reader, source_bytes, &spill, context).map_err(|error| read_error(error, target))?;
    target.notes.append(&mut input.notes);
    let mut load = StoreLoad { sources, target, context, previews, spill, source_bytes, started };
    if let Some(parts) = input.store.take() {
        if load.import(&*parts, &input, &mut store_file)? {
            return publish(load.target, store_file, &load.previews);
        }
        let note =
            format!("The sorted store in {sources} is damaged or of another version: its events were sorted again.");
        load.target.notes.push(note);
        store_file = load.start()?;
    }
    load.sort(input, store_file)
}

/// Returns the size of all files of a trace.
fn content_bytes(sources: &Sources) -> Result<u64, ReadError> {
    let mut bytes = 0;
    for position in 0..sources.files().len() {
        let path = sources.path_to_read(position);
        let io_error = |source| ReadError::Io { path: path.into(), offset: 0, source };
        bytes += files::content_bytes(path).map_err(io_error)?;
    }
    Ok(bytes)
}

impl StoreLoad<'_, '_> {
    fn start(&mut self) -> Result<StoreFile, LoadError> {
        self.target.start().map_err(|error| self.target.write_error(error))
    }

    /// Imports the sorted store of a native file into `store_file`. Returns whether the file has an intact one.
    fn import(
        &mut self,
        parts: &dyn StoreParts,
        input: &MergeInput,
        store_file: &mut StoreFile,
    ) -> Result<bool, LoadError> {
        let heads = input.source.heads();
        let load = LoadStats { chunks: heads.len() as u64, ..LoadStats::default() };
        let source_bytes = self.source_bytes;
        let meta = Meta {
            names: Arc::clone(&input.names),
            stacks: Arc::clone(&input.stacks),
            tracks: input.registry.tables().clone(),
            losses: input.losses.clone(),
            summary: Summary { end_ns: last_ns(heads), source_bytes, load, ..Summary::default() },
        };
        match import_store(parts, meta, store_file, self.context, &mut self.previews, self.started) {
            Ok(finished) => {
                self.target.note_finished(store_file, finished);
                Ok(true)
            }
            Err(ImportError::NoStore(_)) => Ok(false),
            Err(ImportError::Write(source)) => Err(self.target.write_error(source)),
            Err(ImportError::Read(error)) => Err(read_error(error, self.target)),
            Err(ImportError::Cancelled(cancelled)) => Err(cancelled.into()),
        }
    }

    /// Sorts all events into a store, and publishes it. Wrong headers of chunks need a second sort.
    fn sort(mut self, mut input: MergeInput, mut store_file: StoreFile) -> Result<Store, LoadError> {
        input.registry.drop_metadata();
        let trace_tracks = input.registry.tables().tracks.len();
        let mut heads = input.source.heads().to_vec();
        let mut corrected = false;
        loop {
            input.registry.truncate_tracks(trace_tracks);
            match self.sort_into(&mut input, &heads, &store_file) {
                Ok(sorted) => return self.finish(sorted, input, store_file),
                Err(MergeError::HeaderLied { chunk }) if corrected => {
                    return Err(LoadError::Changing { sources: self.sources.to_string(), chunk });
                }
                Err(MergeError::HeaderLied { .. }) => {
                    // Rare and possibly malicious. An additional pass over all chunks sorts every event correctly.
                    heads = true_heads(&*input.source, &self.context.cancel, &mut input.losses)?;
                    corrected = true;
                    store_file = self.start()?;
                }
                Err(MergeError::TooManyChunks { chunks }) => {
                    return Err(LoadError::TooManyChunks { sources: self.sources.to_string(), chunks });
                }
                Err(MergeError::Sink(error) | MergeError::Spill(error)) => return Err(self.target.write_error(error)),
                Err(MergeError::Read(error)) => return Err(read_error(error, self.target)),
                Err(MergeError::Cancelled(cancelled)) => return Err(cancelled.into()),
            }
        }
    }

    /// Sorts and nests all events into `store_file`; its tables are still to be written.
    fn sort_into(
        &mut self,
        input: &mut MergeInput,
        heads: &[formats::ChunkHead],
        store_file: &StoreFile,
    ) -> Result<Sorted, MergeError<io::Error>> {
        let budget = &self.context.budget;
        self.context.progress.begin(Stage::Sorting, heads.iter().map(|head| u64::from(head.events)).sum());
        let held_bytes = usize::try_from(BudgetShare::StoreRows.bytes(budget)).unwrap_or(usize::MAX);
        let mut writer = store_file.writer(held_bytes).map_err(MergeError::Sink)?;
        let (merged, written) =
            write_behind(&mut writer, self.context.threads, |rows| self.merge_into(rows, input, heads));
        // If writing failed, the nesting only reports that it did; this error has the cause.
        written.map_err(MergeError::Sink)?;
        let Merged { merge, nested, events } = merged?;
        let mut losses = input.losses.clone();
        losses.merge(&merge.losses);
        losses.merge(&nested.losses);
        if heads.is_empty() && losses.count(Loss::NoEvents) == 0 {
            losses.add(Loss::NoEvents, SourcePos::Offset(0));
        }
        let mut summary = nested.summary;
        summary.late_events = merge.late_events;
        summary.max_lateness_ns = merge.max_lateness_ns;
        summary.load = LoadStats {
            seconds: 0.0,
            peak_budget_bytes: budget.peak_bytes(),
            chunks: heads.len() as u64,
            chunks_open_max: merge.open_max,
            head_moves: merge.head_moves,
            spilled_bytes: self.spill.bytes(),
        };
        let (names, stacks) = (Arc::clone(&input.names), Arc::clone(&input.stacks));
        let meta = Meta { names, stacks, tracks: TrackTables::default(), losses, summary };
        let all_lost = (events == 0 && !heads.is_empty()).then_some(merge.losses);
        Ok(Sorted { writer, meta, all_lost })
    }

    /// Merges and nests all events into `rows`, reports progress and sends previews.
    fn merge_into(
        &mut self,
        rows: RowSink<'_>,
        input: &mut MergeInput,
        heads: &[formats::ChunkHead],
    ) -> Result<Merged, MergeError<io::Error>> {
        /// Number of events between progress reports.
        const REPORT_EVENTS: u64 = 1 << 16;
        let Self { context, spill, previews, .. } = self;
        let ReadContext { cancel, budget, progress, threads, .. } = &**context;
        let merge_context = MergeContext { cancel, budget, spill, threads: *threads };
        let MergeInput { source, names, stacks, registry, untimed_distance_ns, .. } = input;
        let waiting_bytes = BudgetShare::WaitingEvents.bytes(budget);
        let nester = Nester::new(rows, names, stacks, registry).moving_untimed(*untimed_distance_ns);
        let mut nester = nester.spilling(spill, waiting_bytes);
        let last_ns = last_ns(heads);
        let (mut events, mut unreported) = (0, 0);
        let merge = merge(&**source, heads, &merge_context, |run| {
            unreported += run.events.len() as u64;
            events += run.events.len() as u64;
            if unreported >= REPORT_EVENTS {
                progress.advance(unreported);
                progress.add_events(unreported);
                unreported = 0;
                if previews.are_due()
                    && let Some(first) = run.events.first()
                {
                    previews.send(|| nester.preview(first.ts_ns, last_ns))?;
                }
            }
            nester.add_run(run)
        })?;
        let nested = nester.finish().map_err(MergeError::Sink)?;
        progress.advance(unreported);
        Ok(Merged { merge, nested, events })
    }

    /// Writes the tables and ledgers of a sorted store, and publishes it.
    fn finish(self, sorted: Sorted, mut input: MergeInput, mut store_file: StoreFile) -> Result<Store, LoadError> {
        let Self { sources, target, context, mut previews, .. } = self;
        let Sorted { writer, mut meta, all_lost } = sorted;
        if let Some(lost) = all_lost {
            formats::native::batches::check_chunks(sources.path_to_read(0), &lost, context)?;
        }
        meta.tracks = std::mem::take(&mut input.registry).into_tables();
        context.progress.begin(Stage::Publishing, 0);
        meta.summary.source_bytes = self.source_bytes;
        meta.summary.load.seconds = self.started.elapsed().as_secs_f64();
        // Free the tables before the store builds its own: a million threads or names take hundreds of megabytes.
        drop(input);
        let show = |store: &Arc<Store>| previews.send_sorted(store);
        let finish = |ledger: Option<&LedgerContext<'_>>| writer.finish_with_ledger(meta, ledger, show);
        let finished = with_ledger(context, self.started, store_file.has_ledgers, finish)
            .map_err(|error| target.write_error(error))?;
        target.note_finished(&mut store_file, finished);
        context.cancel.check()?;
        publish(target, store_file, &previews)
    }
}

/// Publishes the store in `store_file`, and opens it. Notes failed previews.
fn publish(target: &mut StoreTarget, store_file: StoreFile, previews: &Previews<'_>) -> Result<Store, LoadError> {
    target.notes.extend(previews.note());
    let (file, path) = target.keep(store_file);
    Ok(Store::from_file(&file, &path)?)
}

/// Maps a failure to store events to an error of the spill file; the reader itself has not failed.
fn read_error(error: ReadError, target: &StoreTarget) -> LoadError {
    match error {
        ReadError::Sink(source) => match source.downcast::<io::Error>() {
            Ok(source) => target.write_error(*source),
            Err(source) => ReadError::Sink(source).into(),
        },
        ReadError::Cancelled(cancelled) => cancelled.into(),
        error => error.into(),
    }
}

fn read(
    reader: Reader,
    source_bytes: u64,
    spill: &Arc<SpillFile>,
    context: &ReadContext,
) -> Result<MergeInput, ReadError> {
    Ok(match reader {
        Reader::Stream(reader) => {
            context.progress.begin(Stage::Parsing, source_bytes);
            let chunk_cache = ChunkCache::new(context.budget.clone(), Arc::clone(spill));
            let mut assembler = Assembler::new(context.no_names(), chunk_cache, &context.progress);
            reader.read(&mut assembler, context)?;
            let Assembler { names, stacks, registry, mut losses, chunks, untimed, notes, .. } = assembler;
            count_over_limit(names.over_limit() + stacks.over_limit() + registry.over_limit(), &mut losses);
            count_cut_labels(&registry, &mut losses);
            let (names, stacks) = (Arc::new(names), Arc::new(stacks));
            let untimed_distance_ns = untimed.distance_ns(chunks.heads());
            let source = Box::new(chunks);
            MergeInput { source, names, stacks, registry, losses, notes, store: None, untimed_distance_ns }
        }
        Reader::Chunks(chunked) => {
            let ChunkedTrace { source, names, tracks, stacks, mut losses, store } = *chunked;
            count_over_limit(names.over_limit() + stacks.over_limit(), &mut losses);
            let (names, stacks) = (Arc::new(names), Arc::new(stacks));
            let registry = Registry::from_tables(tracks);
            // The export has moved them.
            let (notes, untimed_distance_ns) = (Vec::new(), 0);
            MergeInput { source, names, stacks, registry, losses, notes, store, untimed_distance_ns }
        }
    })
}

/// Counts the names, stacks and processes that were dropped from full tables.
fn count_over_limit(over_limit: u64, losses: &mut Losses) {
    if over_limit > 0 {
        losses.add_many(Loss::OverLimit, SourcePos::Offset(0), over_limit);
    }
}

/// Counts the names of processes and threads that were cut.
fn count_cut_labels(registry: &Registry, losses: &mut Losses) {
    const FULL: &str = "The names of processes and threads together exceed 8 MiB beyond 128 bytes of each; further long \
                        ones were cut at 128 bytes. Names above 1 KiB, and those of spans above 64 KiB, are always cut.";
    let (pos, count) = (SourcePos::Offset(0), registry.cut_labels());
    if registry.are_labels_full() {
        losses.add_many_because(FULL, Loss::LongText, pos, count);
    } else {
        losses.add_many(Loss::LongText, pos, count);
    }
}

/// Returns the latest start of an event, from the headers of chunks.
fn last_ns(heads: &[formats::ChunkHead]) -> i64 {
    heads.iter().map(|head| head.max_ts_ns).max().unwrap_or(i64::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::CachePolicy;

    #[test]
    fn a_published_store_has_a_note_about_failed_previews() {
        let options = LoadOptions { cache: CachePolicy::None, ..LoadOptions::default() };
        let mut target = StoreTarget::for_once(&Sources::from("test"), &options);
        let store_file = target.start().unwrap();
        store_file.writer(0).unwrap().finish(&Meta::default()).unwrap();
        let mut sink = |_| ();
        let mut previews = Previews::new(Some(&mut sink));
        previews.send(|| Ok(Err(io::Error::other("no map is left")))).unwrap();
        publish(&mut target, store_file, &previews).unwrap();
        assert!(target.notes.concat().contains("no map is left"), "{:?}", target.notes);
    }

    #[test]
    fn an_error_says_why_nothing_is_written_to_the_cache_folder() {
        let folder = tempfile::tempdir().unwrap();
        let not_a_folder = folder.path().join("file");
        std::fs::write(&not_a_folder, "x").unwrap();
        let options = LoadOptions { cache: CachePolicy::Folder(not_a_folder.clone()), ..LoadOptions::default() };
        let target = StoreTarget::for_once(&Sources::from("test"), &options);
        // An empty file may be one of `/proc`, so it is copied like a pipe.
        let empty = folder.path().join("empty");
        std::fs::write(&empty, "").unwrap();
        let from_pipe = SpooledInput::spool(
            &Sources::from(&empty),
            &folder.path().join("none"),
            &Cancel::default(),
            &Progress::default(),
        );
        let errors = [target.write_error(io::Error::other("refused")), target.explained(from_pipe.err().unwrap())];
        for error in errors.map(|error| error.to_string()) {
            let reason = format!("; the cache folder {} cannot be used", not_a_folder.display());
            assert!(error.contains(": cannot ") && error.contains(&reason), "{error}");
        }
    }
}

//! Writes what is sorted back as a capture, whole or a part of it: chunk by chunk, in memory that does not grow with it.
//!
//! [`excerpt`] picks the rows, [`rows`] makes events of them, one module for each format writes these, and [`output`] lets
//! the file appear only once it is whole. A part of a capture stands by itself: spans that began before it are in it,
//! counters begin with the value that they had, and flows have both of their ends.

mod async_spans;
pub(crate) mod chrome_json;
pub(crate) mod csv;
pub(crate) mod excerpt;
pub(crate) mod format;
pub(crate) mod native;
pub(crate) mod output;
pub(crate) mod parquet;
pub(crate) mod perfetto;
pub(crate) mod rows;
pub(crate) mod table;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::base::cancel::{Cancel, Cancelled};
use crate::base::progress::{Progress, Stage};
use crate::formats::native::write::WriteError;
use crate::model::{Event, EventKind, Sources};
use crate::query::Snapshot;
use crate::store::Store;

use excerpt::Excerpt;
pub(crate) use format::ExportFormat;
use output::{OutputFile, OutputFolder};
use rows::ExportRows;

/// What to export, and how.
#[derive(Debug, Clone)]
pub struct ExportOptions {
    /// The format.
    pub format: ExportFormat,
    /// Only what reaches beyond this time.
    pub from_ns: Option<i64>,
    /// Only what starts before this time.
    pub to_ns: Option<i64>,
    /// Only tracks whose name, process name or id has a match.
    pub track: Option<Regex>,
}

impl ExportOptions {
    /// The whole capture.
    #[must_use]
    pub fn whole(format: ExportFormat) -> Self {
        Self { format, from_ns: None, to_ns: None, track: None }
    }

    fn are_whole(&self) -> bool {
        self.from_ns.is_none() && self.to_ns.is_none() && self.track.is_none()
    }
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExportReport {
    /// Spans.
    pub spans: u64,
    /// Instants.
    pub instants: u64,
    /// Values of counters.
    pub counters: u64,
    /// Points of flows.
    pub flows: u64,
    /// Samples.
    pub samples: u64,
    /// Length of what was written, all files together.
    pub bytes: u64,
}

/// Why nothing was written: the file at the path is as it was before.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named as the message shows them")]
pub enum ExportError {
    /// The system refuses.
    #[error("{}: cannot write: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// The file to write is the capture itself, perhaps under another name.
    #[error("{}: is a capture that is open; choose another file", path.display())]
    IsSource { path: PathBuf },
    /// The path is a folder.
    #[error("{}: is a folder", path.display())]
    IsFolder { path: PathBuf },
    /// The format makes a folder, and something is there already.
    #[error("{}: is there already; this format needs the name of a new folder, or of an empty one", path.display())]
    IsThere { path: PathBuf },
    /// An event has more arguments than a chunk may hold.
    #[error("{}: cannot write: {source}", path.display())]
    TooLarge { path: PathBuf, source: WriteError },
    /// The sorted store turned out to be damaged, so the result would lack something. `is_streamed`: some of it is
    /// already with whoever reads the output.
    #[error("{}: the sorted store is damaged in {parts} places{}", store.display(), if *is_streamed { ": what was written lacks something; run this again" } else { "" })]
    Damaged { store: PathBuf, parts: u64, is_streamed: bool },
    /// The work was asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Whether a store was as it was written wherever it has been read so far. Asked before a result replaces anything.
///
/// # Errors
/// [`ExportError::Damaged`] if it was not.
pub(crate) fn check(store: &Store) -> Result<(), ExportError> {
    match store.damaged() {
        0 => Ok(()),
        parts => Err(ExportError::Damaged { store: store.path().to_owned(), parts, is_streamed: false }),
    }
}

impl ExportError {
    /// The same about a result of which some cannot be taken back, if `is_streamed`.
    #[must_use]
    pub(crate) fn streamed(mut self, streamed: bool) -> Self {
        if let Self::Damaged { is_streamed, .. } = &mut self {
            *is_streamed = streamed;
        }
        self
    }
}

/// Writes a capture to `output`, in place of a file that may be there.
///
/// `sources` are the files that `snapshot` is of: none of them is written over.
///
/// # Errors
/// See [`ExportError`]; a file that was there before is then still there, unchanged.
pub fn export(
    snapshot: &Snapshot,
    sources: &Sources,
    output: &Path,
    options: &ExportOptions,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<ExportReport, ExportError> {
    let task = Task { snapshot, cancel, progress };
    let failed = |error| match error {
        SinkError::Cancelled(cancelled) => ExportError::Cancelled(cancelled),
        SinkError::Write(WriteError::Io(source)) => ExportError::Io { path: output.into(), source },
        SinkError::Write(source) => ExportError::TooLarge { path: output.into(), source },
    };
    if let ExportFormat::Parquet { by_process } = options.format {
        let mut folder = OutputFolder::create(output)?;
        let excerpt = task.begin(options)?;
        let report = parquet::write(&task, &excerpt, &mut folder, by_process).map_err(failed)?;
        cancel.check()?;
        check(snapshot.store())?;
        folder.publish()?;
        return Ok(report);
    }
    let mut file = OutputFile::create(output, sources)?;
    file.guard(snapshot);
    let excerpt = task.begin(options)?;
    let out = file.writer();
    let written = match options.format {
        ExportFormat::ChromeJson { gzip } => chrome_json::write(&task, &excerpt, out, gzip),
        ExportFormat::Perfetto => perfetto::write(&task, &excerpt, out),
        ExportFormat::Csv { cells } => csv::write(&task, &excerpt, out, cells),
        ExportFormat::Native { compact: false } => native::write(&task, &excerpt, out, options.are_whole()),
        ExportFormat::Native { compact: true } | ExportFormat::Parquet { .. } => {
            native::write(&task, &excerpt, out, false)
        }
    };
    cancel.check()?;
    if let Err(damaged) = check(snapshot.store()) {
        return Err(damaged.streamed(file.discard()));
    }
    let report = written.map_err(failed)?;
    Ok(ExportReport { bytes: file.publish()?, ..report })
}

/// What is exported, who is told of the work, and who may stop it.
struct Task<'a> {
    snapshot: &'a Snapshot,
    cancel: &'a Cancel,
    progress: &'a Progress,
}

/// Rows between two looks at the request to stop: some milliseconds.
const ROWS_BETWEEN_CHECKS: u64 = 16 * 1024;

impl Task<'_> {
    /// Picks the rows.
    fn begin(&self, options: &ExportOptions) -> Result<Excerpt, Cancelled> {
        let mut excerpt = Excerpt::new(self.snapshot, options, self.cancel)?;
        if matches!(options.format, ExportFormat::Csv { .. }) {
            excerpt = excerpt.of_spans(self.snapshot);
        }
        self.progress.begin(Stage::Exporting, excerpt.count(self.snapshot));
        Ok(excerpt)
    }

    /// Hands each row to `take` in order of time, as an event with the blob of its details. Returns how many there were.
    fn each_event(
        &self,
        excerpt: &Excerpt,
        mut take: impl FnMut(&Event, &[u8]) -> Result<(), SinkError>,
    ) -> Result<ExportReport, SinkError> {
        let mut report = ExportReport::default();
        let mut rows = ExportRows::new(self.snapshot, excerpt);
        while let Some((event, blob)) = rows.next_event() {
            take(&event, blob)?;
            report.count(event.kind);
            if report.rows().is_multiple_of(ROWS_BETWEEN_CHECKS) {
                self.progress.advance(ROWS_BETWEEN_CHECKS);
                self.progress.add_events(ROWS_BETWEEN_CHECKS);
                self.cancel.check()?;
            }
        }
        Ok(report)
    }
}

/// Why a format could not be written.
#[derive(Debug, thiserror::Error)]
enum SinkError {
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl From<io::Error> for SinkError {
    fn from(error: io::Error) -> Self {
        Self::Write(WriteError::Io(error))
    }
}

impl ExportReport {
    fn count(&mut self, kind: EventKind) {
        let count = match kind {
            EventKind::Instant => &mut self.instants,
            EventKind::Counter => &mut self.counters,
            EventKind::FlowStart | EventKind::FlowStep | EventKind::FlowEnd => &mut self.flows,
            EventKind::Sample => &mut self.samples,
            _ => &mut self.spans,
        };
        *count += 1;
    }

    fn rows(&self) -> u64 {
        self.spans + self.instants + self.counters + self.flows + self.samples
    }

    /// The counts of both.
    fn plus(self, other: Self) -> Self {
        Self {
            spans: self.spans + other.spans,
            instants: self.instants + other.instants,
            counters: self.counters + other.counters,
            flows: self.flows + other.flows,
            samples: self.samples + other.samples,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// Something that takes bytes, whatever it is.
type Out<'a> = &'a mut dyn Write;

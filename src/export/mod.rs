//! Writes what is sorted back as a capture, whole or a part of it: chunk by chunk, in memory that does not grow with it.
//!
//! [`rows`] picks the rows and makes events of them, [`native`] and [`chrome_json`] write these, and [`output`] lets the
//! file appear only once it is whole. A part of a capture stands by itself: spans that began before it are in it, and
//! counters begin with the value that they had.

pub mod chrome_json;
pub mod native;
pub mod output;
pub mod rows;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::base::cancel::{Cancel, Cancelled};
use crate::base::progress::{Progress, Stage};
use crate::formats::native::write::WriteError;
use crate::model::EventKind;
use crate::query::Snapshot;

use output::OutputFile;
use rows::ExportRows;

/// What to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// A sorted capture of our own: opens at the speed of the disk, and loses nothing.
    Native,
    /// Chrome JSON, which most viewers read; losses are not in it.
    ChromeJson {
        /// Whether it is compressed.
        gzip: bool,
    },
}

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
    /// Length of the file.
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
    #[error("{}: is the capture that is open; choose another file", path.display())]
    IsSource { path: PathBuf },
    /// The path is a folder.
    #[error("{}: is a folder", path.display())]
    IsFolder { path: PathBuf },
    /// An event has more arguments than a chunk may hold.
    #[error("{}: cannot write: {source}", path.display())]
    TooLarge { path: PathBuf, source: WriteError },
    /// The work was asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Writes a capture to `output`, in place of a file that may be there.
///
/// `source` is the capture that `snapshot` is of: it is never written over.
///
/// # Errors
/// See [`ExportError`]; a file that was there before is then still there, unchanged.
pub fn export(
    snapshot: &Snapshot,
    source: &Path,
    output: &Path,
    options: &ExportOptions,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<ExportReport, ExportError> {
    let mut file = OutputFile::create(output, source)?;
    let mut rows = ExportRows::new(snapshot, options);
    progress.begin(Stage::Exporting, rows.count());
    let watched = Watched { cancel, progress };
    let written = match options.format {
        ExportFormat::Native => native::write(snapshot, &mut rows, file.writer(), &watched),
        ExportFormat::ChromeJson { gzip } => chrome_json::write(snapshot, &mut rows, file.writer(), gzip, &watched),
    };
    let mut report = written.map_err(|error| match error {
        SinkError::Cancelled(cancelled) => ExportError::Cancelled(cancelled),
        SinkError::Write(WriteError::Io(source)) => ExportError::Io { path: output.into(), source },
        SinkError::Write(source) => ExportError::TooLarge { path: output.into(), source },
    })?;
    cancel.check()?;
    report.bytes = file.publish()?;
    Ok(report)
}

/// Who is told of the work, and who may stop it.
struct Watched<'a> {
    cancel: &'a Cancel,
    progress: &'a Progress,
}

/// Rows between two looks at the request to stop: some milliseconds.
const ROWS_BETWEEN_CHECKS: u64 = 16 * 1024;

impl Watched<'_> {
    /// Tells of one more row.
    fn wrote(&self, rows: u64) -> Result<(), Cancelled> {
        if rows.is_multiple_of(ROWS_BETWEEN_CHECKS) {
            self.progress.advance(ROWS_BETWEEN_CHECKS);
            self.progress.add_events(ROWS_BETWEEN_CHECKS);
            self.cancel.check()?;
        }
        Ok(())
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
}

/// Something that takes bytes, whatever it is.
type Out<'a> = &'a mut dyn Write;

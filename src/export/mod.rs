//! Writes what is sorted back as a capture, whole or a part of it: chunk by chunk, in memory that does not grow with it.
//!
//! [`excerpt`] picks the rows, [`rows`] makes events of them, one module for each format writes these, and [`output`] lets
//! the file appear only once it is whole. A part of a capture stands by itself: spans that began before it are in it,
//! counters begin with the value that they had, and flows have both of their ends.

mod async_spans;
pub(crate) mod chrome_json;
pub(crate) mod csv;
mod error;
pub(crate) mod excerpt;
pub(crate) mod format;
pub(crate) mod native;
mod options;
pub(crate) mod output;
pub(crate) mod parquet;
pub(crate) mod perfetto;
pub(crate) mod rows;
pub(crate) mod table;
mod task;

use std::path::Path;

use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::formats::native::write::WriteError;
use crate::model::Sources;
use crate::query::Snapshot;

pub use error::ExportError;
use error::SinkError;
pub(crate) use error::check;
pub(crate) use format::ExportFormat;
pub use options::ExportOptions;
use output::{OutputFile, OutputFolder};
pub use task::ExportReport;
use task::Task;

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

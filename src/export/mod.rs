//! Writes a sorted trace to a file, whole or in part, as a stream in bounded memory.
//!
//! [`excerpt`] selects the rows, [`rows`] converts them to events, one module per format writes these, and [`output`]
//! publishes the file only once it is complete. A part of a trace is self-contained: it includes spans that started
//! before it, initial counter values, and both ends of flows.

mod async_spans;
mod begun_spans;
pub(crate) mod chrome_json;
pub(crate) mod code_table;
pub(crate) mod counter_table;
pub(crate) mod csv;
pub(crate) mod derived;
mod error;
pub(crate) mod excerpt;
pub(crate) mod flame;
mod flow_order;
pub(crate) mod format;
pub(crate) mod group_table;
pub(crate) mod guarded;
pub(crate) mod heat_map_table;
pub(crate) mod native;
mod options;
pub(crate) mod output;
pub(crate) mod parquet;
pub(crate) mod perfetto;
mod piped;
mod pprof;
mod read_ahead;
mod row_ends;
mod rows;
pub(crate) mod scheduling_table;
mod source_stacks;
pub(crate) mod symbol_table;
pub(crate) mod table;
mod task;
mod task_ends;
pub(crate) mod values;

use std::io::Write;
use std::path::Path;

use crate::base::cancel::Cancel;
use crate::base::progress::{Progress, Stage};
use crate::model::Sources;
use crate::query::Snapshot;

pub use error::ExportError;
pub(crate) use error::SinkError;
pub(crate) use error::check;
use excerpt::Excerpt;
pub(crate) use format::ExportFormat;
pub use options::ExportOptions;
use output::{OutputFile, OutputFolder};
pub(crate) use pprof::PPROF_EVENTS_MAX;
use source_stacks::ExportedStacks;
pub use task::ExportReport;
pub(crate) use task::capped_text;
use task::{Out, Task};
use values::{TableSource, TableValueWriter, ValueFormat};

/// Writes a trace to `output`, and replaces an existing file.
///
/// `sources` are the files of `snapshot`. None of them is overwritten.
///
/// # Errors
/// Returns an [`ExportError`]; an existing file is then unchanged.
pub fn export(
    snapshot: &Snapshot,
    sources: &Sources,
    output: &Path,
    options: &ExportOptions,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<ExportReport, ExportError> {
    let tables = derived::with_derived(snapshot.tracks(), &options.derived);
    let stacks = ExportedStacks::new(snapshot, options.format.has_source_lines());
    let task = Task { snapshot, tables: &tables, stacks: &stacks, cancel, progress };
    let file = || OutputFile::create(output, sources);
    match options.format {
        ExportFormat::Native { compact } => {
            // The store of the trace has no derived tracks.
            let with_store = !compact && options.scope.is_whole() && options.derived.is_empty();
            write_file(&task, options, output, file()?, |excerpt, out| native::write(&task, excerpt, out, with_store))
        }
        ExportFormat::ChromeJson { gzip } => {
            write_file(&task, options, output, file()?, |excerpt, out| chrome_json::write(&task, excerpt, out, gzip))
        }
        ExportFormat::Perfetto => {
            write_file(&task, options, output, file()?, |excerpt, out| perfetto::write(&task, excerpt, out))
        }
        ExportFormat::Pprof if snapshot.summary().samples == 0 => {
            Err(ExportError::NoSamples { path: output.to_owned() })
        }
        ExportFormat::Pprof => {
            write_file(&task, options, output, file()?, |_, out| pprof::write(&task, &options.scope, out))
        }
        ExportFormat::Csv { cells } => {
            write_file(&task, options, output, file()?, |excerpt, out| csv::write(&task, excerpt, out, cells))
        }
        ExportFormat::Parquet { by_process } => write_tables(&task, options, output, by_process),
    }
}

/// Writes `file` with `write`. The file is published only if all of it was written and the store is intact.
fn write_file(
    task: &Task<'_>,
    options: &ExportOptions,
    output: &Path,
    mut file: OutputFile,
    write: impl FnOnce(&Excerpt, Out<'_>) -> Result<ExportReport, SinkError>,
) -> Result<ExportReport, ExportError> {
    file.guard(task.snapshot);
    let excerpt = task.begin(options)?;
    let written = write(&excerpt, file.writer());
    task.cancel.check()?;
    if let Err(damaged) = check(task.snapshot.store()) {
        return Err(damaged.streamed(file.discard()));
    }
    let report = written.map_err(|error| error.at(output))?;
    Ok(ExportReport { bytes: file.publish()?, ..report })
}

/// Writes a table of values to `output`, and replaces an existing file. Returns the number of its rows. Fails as
/// [`export`] does.
pub(crate) fn export_table(
    snapshot: &Snapshot,
    sources: &Sources,
    (output, format): (&Path, ValueFormat),
    table: &dyn TableSource,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<u64, ExportError> {
    let mut file = OutputFile::create(output, sources)?;
    file.guard(snapshot);
    progress.begin(Stage::Exporting, table.rows());
    let columns = table.columns();
    let write = |out: &mut dyn Write| {
        let mut writer = TableValueWriter::begin(out, format, &columns)?;
        table.write(&mut writer, cancel, progress)?;
        Ok(writer.end()?)
    };
    let written: Result<u64, SinkError> = write(file.writer());
    cancel.check()?;
    if let Err(damaged) = check(snapshot.store()) {
        return Err(damaged.streamed(file.discard()));
    }
    let rows = written.map_err(|error| error.at(output))?;
    file.publish()?;
    Ok(rows)
}

/// Writes a folder of Parquet files, published as by [`write_file`].
fn write_tables(
    task: &Task<'_>,
    options: &ExportOptions,
    output: &Path,
    by_process: bool,
) -> Result<ExportReport, ExportError> {
    let mut folder = OutputFolder::create(output)?;
    let excerpt = task.begin(options)?;
    let report = parquet::write(task, &excerpt, &mut folder, by_process).map_err(|error| error.at(output))?;
    task.cancel.check()?;
    check(task.snapshot.store())?;
    folder.publish()?;
    Ok(report)
}

//! Writes a folder of Parquet files, which databases read as tables: spans, instants, counters, flows, samples, stacks,
//! tracks, losses.
//!
//! | file | row | sorted by |
//! |---|---|---|
//! | `spans.parquet` | a span; `dur` is null if its end is missing | `ts`, parents first |
//! | `instants.parquet` | an instant | `ts` |
//! | `counters.parquet` | a counter value | `ts` |
//! | `flows.parquet` | a flow point: start, step or end | `ts` |
//! | `samples.parquet` | a sampled call stack, by its `stack_id` | `ts` |
//! | `stacks.parquet` | a frame with its `file` and `line`, and its caller `parent_id` (null for none) | `stack_id` |
//! | `tracks.parquet` | a track, by the `track_id` of the other tables | `track_id` |
//! | `losses.parquet` | a kind of loss | |
//!
//! By process, the tables with a `ts` are folders with Hive partitions: `spans/process_id=3/spans.parquet`, and so on
//! for processes with such rows. One process is written after the other, so that few files are open.
//!
//! Times are nanoseconds of the trace's clock in 64-bit integers: their zero is rarely an epoch. Rows outside of the
//! exported part are marked `outside`.

mod event_table;
mod events;
mod file;
mod tables;

use std::io;

use super::error::SinkError;
use super::excerpt::Excerpt;
use super::output::OutputFolder;
use super::task::{ExportReport, Task};
use event_table::EventTable;
use events::{EventCells, columns};
use file::TableFile;

/// Writes an excerpt into `folder`. The length in the report is the total of all files.
pub(super) fn write(
    task: &Task<'_>,
    excerpt: &Excerpt,
    folder: &mut OutputFolder,
    by_process: bool,
) -> Result<ExportReport, SinkError> {
    let mut report = ExportReport::default();
    report.bytes += tables::write_tracks(task.tables, folder)?;
    report.bytes += tables::write_stacks(task, folder)?;
    report.bytes += tables::write_losses(task.snapshot, folder)?;
    let mut cells = EventCells::new(task.snapshot, task.tables);
    if !by_process {
        let mut files = EventFiles::default();
        for table in EventTable::ALL {
            // Created even without rows, so that a query of it is not an error.
            files.table_file(table, folder, None)?;
        }
        return Ok(report.plus(files.write(task, excerpt, &mut cells, folder, None)?));
    }
    for (process, part) in excerpt.by_process(task.snapshot) {
        let files = EventFiles::default();
        report = report.plus(files.write(task, &part, &mut cells, folder, Some(process.0))?);
    }
    Ok(report)
}

/// The tables being written, by [`EventTable`]; `None` for a table without rows.
#[derive(Default)]
struct EventFiles([Option<TableFile>; EventTable::ALL.len()]);

impl EventFiles {
    fn write(
        mut self,
        task: &Task<'_>,
        excerpt: &Excerpt,
        cells: &mut EventCells<'_>,
        folder: &mut OutputFolder,
        process: Option<u32>,
    ) -> Result<ExportReport, SinkError> {
        let mut row = Vec::new();
        let mut values_capped = 0;
        let mut report = task.each_event(excerpt, |event, blob| {
            let table = EventTable::from_event(event);
            values_capped += u64::from(events::is_capped(event));
            cells.row(table, event, blob, &mut row);
            Ok(self.table_file(table, folder, process)?.push(&mut row)?)
        })?;
        report.values_capped = values_capped;
        for file in self.0.into_iter().flatten() {
            report.bytes += file.finish()?;
        }
        Ok(report)
    }

    /// Returns the file of a table, and creates it on the first call.
    fn table_file(
        &mut self,
        table: EventTable,
        folder: &mut OutputFolder,
        process: Option<u32>,
    ) -> io::Result<&mut TableFile> {
        let slot = &mut self.0[table as usize];
        if slot.is_none() {
            let name = table.name();
            let path = match process {
                Some(process) => format!("{name}/process_id={process}/{name}.parquet"),
                None => format!("{name}.parquet"),
            };
            *slot = Some(TableFile::create(folder.file(&path)?, &columns(table), Some("ts"))?);
        }
        slot.as_mut().ok_or_else(|| io::Error::other("no file"))
    }
}

//! Merges the rows of an excerpt on a separate thread, some batches ahead of the writer. So rows are decoded while
//! others are formatted and compressed. The output does not depend on it.

use std::mem;
use std::panic::resume_unwind;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use super::error::SinkError;
use super::excerpt::Excerpt;
use super::rows::ExportRows;
use crate::base::threads::start_scoped;
use crate::model::{Details, Event};
use crate::query::Snapshot;

/// Rows per batch: enough that waking the other thread costs little beside them.
const BATCH_ROWS: usize = 2048;

/// Bytes of details after which a batch ends.
const BATCH_DETAIL_BYTES: usize = 256 * 1024;

/// Batches that wait for the writer. With the two in use, they take up to 1.5 MiB, unless a row has more details.
const BATCHES_AHEAD: usize = 2;

/// Rows in time order, with their details.
#[derive(Debug)]
struct RowBatch {
    events: Vec<Event>,
    details: Details,
}

impl RowBatch {
    /// Reads the next batch; `None` after the last row.
    fn read(rows: &mut ExportRows<'_>) -> Option<Self> {
        let mut batch = Self { events: Vec::with_capacity(BATCH_ROWS), details: Details::default() };
        while batch.events.len() < BATCH_ROWS && batch.details.bytes.len() < BATCH_DETAIL_BYTES {
            let Some((event, blob)) = rows.next_event() else { break };
            let detail = if blob.is_empty() { 0 } else { batch.details.push_blob(blob) };
            batch.events.push(Event { detail, ..event });
        }
        (!batch.events.is_empty()).then_some(batch)
    }
}

/// Calls `take` for each row of an excerpt in time order, with an event and the blob of its details. Returns the first
/// error of `take`. Reads rows on the calling thread if the system refuses another.
pub(super) fn each_row(
    snapshot: &Snapshot,
    excerpt: &Excerpt,
    mut take: impl FnMut(&Event, &[u8]) -> Result<(), SinkError>,
) -> Result<(), SinkError> {
    let read = |batches: SyncSender<RowBatch>| {
        let mut rows = ExportRows::new(snapshot, excerpt);
        // The receiver is gone once `take` has failed.
        while RowBatch::read(&mut rows).is_some_and(|batch| batches.send(batch).is_ok()) {}
    };
    let taken = each_batch(read, |RowBatch { mut events, details }| {
        events.iter_mut().try_for_each(|event| {
            let blob = details.blob(mem::take(&mut event.detail));
            take(event, blob)
        })
    });
    if let Some(taken) = taken {
        return taken;
    }
    let mut rows = ExportRows::new(snapshot, excerpt);
    while let Some((event, blob)) = rows.next_event() {
        take(&event, blob)?;
    }
    Ok(())
}

/// Calls `take` for each batch that `read` sends from a thread of its own. Returns the first error of `take`, and
/// `None` if the system refuses the thread. A panic of `read` continues on the calling thread, with its message.
fn each_batch<T: Send>(
    read: impl FnOnce(SyncSender<T>) + Send,
    take: impl FnMut(T) -> Result<(), SinkError>,
) -> Option<Result<(), SinkError>> {
    thread::scope(|scope| {
        let (sender, batches) = sync_channel(BATCHES_AHEAD);
        let reader = start_scoped(scope, "export rows", move || read(sender)).ok()?;
        // `into_iter` drops the receiver, so that the reader ends.
        let taken = batches.into_iter().try_for_each(take);
        reader.join().unwrap_or_else(|panic| resume_unwind(panic));
        Some(taken)
    })
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::fs;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::path::Path;

    use super::*;
    use crate::base::cancel::{Cancel, Cancelled};
    use crate::base::csv::Cells;
    use crate::base::progress::Progress;
    use crate::base::threads::tests::with_only;
    use crate::export::{ExportFormat, ExportOptions, export};
    use crate::scene::tests::snapshot;

    /// Rows of several batches: spans with arguments, of equal times and on async tracks, counters and flows.
    fn trace() -> Snapshot {
        let mut json = String::from("[");
        for row in 0..3 * BATCH_ROWS {
            let (tid, ts) = (row % 7, row / 3);
            let at = format!(r#""pid":{},"tid":{tid},"ts":{ts}"#, row % 2);
            let text = "x".repeat(row % 300);
            _ = match row % 5 {
                0 => writeln!(json, r#"{{"ph":"C","name":"c",{at},"args":{{"v":{row}}}}},"#),
                1 => writeln!(json, r#"{{"ph":"s","name":"f","cat":"f","id":{row},{at}}},"#),
                2 => writeln!(json, r#"{{"ph":"b","name":"a{tid}","cat":"a","id":{row},{at}}},"#),
                _ => writeln!(json, r#"{{"ph":"X","name":"s{tid}",{at},"dur":0.5,"args":{{"text":"{text}"}}}},"#),
            };
        }
        json.push_str("{}]");
        snapshot(&json)
    }

    fn written(snapshot: &Snapshot, format: ExportFormat, output: &Path) -> Vec<Vec<u8>> {
        let (options, cancel, progress) = (ExportOptions::whole(format), Cancel::default(), Progress::default());
        export(snapshot, &"trace".into(), output, &options, &cancel, &progress).unwrap();
        if output.is_file() {
            return vec![fs::read(output).unwrap()];
        }
        let mut files: Vec<_> = fs::read_dir(output).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        files.iter().map(|file| fs::read(file).unwrap()).collect()
    }

    #[test]
    fn exports_are_those_of_one_thread() {
        let (folder, snapshot) = (tempfile::tempdir().unwrap(), trace());
        let formats = [
            ExportFormat::Native { compact: false },
            ExportFormat::Native { compact: true },
            ExportFormat::ChromeJson { gzip: false },
            ExportFormat::ChromeJson { gzip: true },
            ExportFormat::Perfetto,
            ExportFormat::Csv { cells: Cells::default() },
            ExportFormat::Parquet { by_process: false },
        ];
        for (number, format) in formats.into_iter().enumerate() {
            let path = |name| folder.path().join(format!("{name} {number}"));
            let expected = with_only(0, || written(&snapshot, format, &path("one thread")));
            assert!(written(&snapshot, format, &path("threads")) == expected, "{format:?}");
        }
    }

    #[test]
    fn a_panic_of_the_reader_keeps_its_message() {
        let mut taken = Vec::new();
        let read = |batches: SyncSender<u32>| {
            batches.send(1).unwrap();
            panic!("row 2 is damaged");
        };
        let take = |batch| {
            taken.push(batch);
            Ok(())
        };
        let export = move || each_batch(read, take);
        let panic = catch_unwind(AssertUnwindSafe(export)).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"row 2 is damaged"));
        assert_eq!(taken, [1]);
    }

    #[test]
    fn a_failure_ends_the_reader_and_is_returned() {
        let snapshot = trace();
        let options = ExportOptions::whole(ExportFormat::Perfetto);
        let excerpt = Excerpt::new(&snapshot, &options, &Cancel::default()).unwrap();
        let mut taken = 0;
        let result = each_row(&snapshot, &excerpt, |_, _| {
            taken += 1;
            if taken > BATCH_ROWS { Err(Cancelled.into()) } else { Ok(()) }
        });
        assert!(matches!(result, Err(SinkError::Cancelled(_))));
        assert_eq!(taken, BATCH_ROWS + 1);
    }
}

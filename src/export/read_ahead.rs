//! Reads the rows of an excerpt on a separate thread, some batches ahead of the writer. So rows are sorted, and their
//! details read, while others are formatted and compressed. The output does not depend on it.

use std::panic::resume_unwind;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use super::error::SinkError;
use super::excerpt::Excerpt;
use super::rows::{EventRun, EventRuns};
use crate::base::threads::start_scoped;
use crate::model::{Details, Event};
use crate::query::Snapshot;
use crate::store::Store;
use crate::store::details::DetailReader;

/// Rows with details per batch: enough that waking the other thread costs little beside them.
const BATCH_ROWS: usize = 2048;

/// Bytes of details after which a batch ends.
const BATCH_DETAIL_BYTES: usize = 256 * 1024;

/// Batches that wait for the writer. With the two in use, they take up to 1.5 MiB with details, unless a row has more,
/// and 8 MiB without.
const BATCHES_AHEAD: usize = 2;

/// Details are stored in order of end but read in order of begin: with a reader per depth, each reads its blocks once.
/// Deeper spans share the last reader.
const DETAIL_READERS: usize = 24;

/// Rows in time order, with their details.
#[derive(Debug)]
pub(super) struct RowBatch {
    pub(super) events: Vec<Event>,
    pub(super) details: Details,
}

/// Reads the details of rows that come in time order.
struct DetailedRows<'a> {
    store: &'a Store,
    readers: Vec<DetailReader>,
}

impl<'a> DetailedRows<'a> {
    fn new(store: &'a Store) -> Self {
        Self { store, readers: (0..DETAIL_READERS).map(|_| DetailReader::default()).collect() }
    }

    /// Calls `take` with batches of the rows, until it returns false. Returns whether it took all of them.
    fn batches(&mut self, run: EventRun, mut take: impl FnMut(RowBatch) -> bool) -> bool {
        let EventRun { events, details: references } = run;
        if references.is_empty() {
            return take(RowBatch { events, details: Details::default() });
        }
        let mut events = events.as_slice();
        while !events.is_empty() {
            let mut batch =
                RowBatch { events: Vec::with_capacity(BATCH_ROWS.min(events.len())), details: Details::default() };
            while let Some((event, rest)) = events.split_first()
                && batch.events.len() < BATCH_ROWS
                && batch.details.bytes.len() < BATCH_DETAIL_BYTES
            {
                let reference = (event.detail as usize).checked_sub(1).and_then(|row| references.get(row));
                let reader = &mut self.readers[usize::from(event.depth).min(DETAIL_READERS - 1)];
                let blob = reference.map_or(&[][..], |&reference| self.store.detail(reference, reader));
                let detail = if blob.is_empty() { 0 } else { batch.details.push_blob(blob) };
                batch.events.push(Event { detail, ..*event });
                events = rest;
            }
            if !take(batch) {
                return false;
            }
        }
        true
    }
}

/// Calls `take` for the rows of an excerpt in time order, in batches with their details. Returns the first error of
/// `take`. Reads rows on the calling thread if the system refuses another.
pub(super) fn each_batch_of_rows(
    snapshot: &Snapshot,
    excerpt: &Excerpt,
    mut take: impl FnMut(RowBatch) -> Result<(), SinkError>,
) -> Result<(), SinkError> {
    let read = |batches: SyncSender<RowBatch>| {
        let mut rows = DetailedRows::new(snapshot.store());
        let mut runs = EventRuns::new(snapshot, excerpt);
        // The receiver is gone once `take` has failed.
        while runs.next().is_some_and(|run| rows.batches(run, |batch| batches.send(batch).is_ok())) {}
    };
    if let Some(taken) = each_batch(read, &mut take) {
        return taken;
    }
    let mut rows = DetailedRows::new(snapshot.store());
    for run in EventRuns::new(snapshot, excerpt) {
        let mut taken = Ok(());
        rows.batches(run, |batch| {
            taken = take(batch);
            taken.is_ok()
        });
        taken?;
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
pub(super) mod tests {
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
    pub(in crate::export) fn trace() -> Snapshot {
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
        let result = each_batch_of_rows(&snapshot, &excerpt, |batch| {
            taken += batch.events.len();
            if taken > BATCH_ROWS { Err(Cancelled.into()) } else { Ok(()) }
        });
        assert!(matches!(result, Err(SinkError::Cancelled(_))));
        assert!(taken > BATCH_ROWS && taken <= 2 * BATCH_ROWS, "{taken} rows");
    }
}

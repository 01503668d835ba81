//! Schedules previews: stores of the rows sorted so far. A failed preview does not stop the sort; its error becomes a
//! note.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::store::Store;

/// Receives stores of the rows sorted so far, to show them during the sort.
pub(crate) type PreviewSink<'a> = &'a mut dyn FnMut(Arc<Store>);

/// The schedule of previews, and their receiver.
pub(super) struct Previews<'a> {
    sink: Option<PreviewSink<'a>>,
    started: Instant,
    due: Instant,
    /// Number of failed previews, and the last error.
    failed: Option<(u64, io::Error)>,
}

impl<'a> Previews<'a> {
    /// Delay of the first preview: as soon as there is something to see.
    const FIRST_AFTER: Duration = Duration::from_millis(150);
    /// Maximum share of the time spent on previews, as a divisor. It bounds the cost for traces with very many lanes.
    const COST_SHARE: u32 = 40;
    /// Minimum interval of previews; more would not be noticed.
    const INTERVAL_MIN: Duration = Duration::from_millis(500);

    pub(super) fn new(sink: Option<PreviewSink<'a>>) -> Self {
        let started = Instant::now();
        Self { sink, started, due: started + Self::FIRST_AFTER, failed: None }
    }

    pub(super) fn are_due(&self) -> bool {
        self.sink.is_some() && Instant::now() >= self.due
    }

    /// Sends a preview, or records its error; the schedule is the same for both. Returns the I/O error if the store
    /// cannot be written: its bytes would be missing from the final store too.
    pub(super) fn send(&mut self, preview: impl FnOnce() -> io::Result<io::Result<Store>>) -> io::Result<()> {
        let Some(sink) = &mut self.sink else { return Ok(()) };
        let started = Instant::now();
        match preview()? {
            Ok(store) => sink(Arc::new(store)),
            Err(error) => {
                let before = self.failed.take().map_or(0, |(count, _)| count);
                self.failed = Some((before + 1, error));
            }
        }
        self.due = Instant::now() + Self::INTERVAL_MIN.max(started.elapsed() * Self::COST_SHARE);
        Ok(())
    }

    /// Sends the store of all rows, whose ledgers are still to be built. A load shorter than the delay of the first
    /// preview has none.
    pub(super) fn send_sorted(&mut self, store: &Arc<Store>) {
        if let Some(sink) = &mut self.sink
            && self.started.elapsed() >= Self::FIRST_AFTER
        {
            sink(Arc::clone(store));
        }
    }

    /// Returns a note about failed previews, if any.
    pub(super) fn note(&self) -> Option<String> {
        self.failed.as_ref().map(|(count, error)| match count {
            1 => format!("One preview failed while the trace was sorted: {error}."),
            count => format!("{count} previews failed while the trace was sorted; the last: {error}."),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::store::{Meta, StoreWriter};

    #[test]
    fn a_preview_that_cannot_be_made_is_counted_and_the_next_one_is_tried_later() {
        let mut shown = 0;
        let mut sink = |_| shown += 1;
        let mut previews = Previews::new(Some(&mut sink));
        assert_eq!(previews.note(), None);
        for (count, said) in [(1, "One preview failed"), (2, "2 previews failed")] {
            let before = Instant::now();
            previews.send(|| Ok(Err(io::Error::other("no map is left")))).unwrap();
            assert!(!previews.are_due() && previews.due >= before + Previews::INTERVAL_MIN, "{count}");
            let note = previews.note().unwrap();
            assert!(note.starts_with(said) && note.contains("no map is left"), "{note}");
        }
        // A failed write also affects the final store.
        assert!(previews.send(|| Err(io::Error::other("the disk is full"))).is_err());
        assert_eq!(shown, 0);
    }

    #[test]
    fn a_long_load_shows_all_rows_before_their_ledgers_and_a_short_one_only_the_result() {
        let file = tempfile::tempfile().unwrap();
        StoreWriter::new(file.try_clone().unwrap(), 0).unwrap().finish(&Meta::default()).unwrap();
        let store = Arc::new(Store::from_file(&file, Path::new("")).unwrap());
        let mut shown = 0;
        let mut sink = |_| shown += 1;
        let mut previews = Previews::new(Some(&mut sink));
        previews.started = Instant::now() + Duration::from_mins(1);
        previews.send_sorted(&store);
        assert_eq!(shown, 0);
        let mut sink = |_| shown += 1;
        let mut previews = Previews::new(Some(&mut sink));
        previews.started = Instant::now().checked_sub(Previews::FIRST_AFTER).unwrap();
        previews.send_sorted(&store);
        assert_eq!(shown, 1);
    }

    #[test]
    fn where_nobody_looks_no_preview_is_made() {
        let mut previews = Previews::new(None);
        previews.due = Instant::now();
        assert!(!previews.are_due());
        previews.send(|| panic!("nobody asked for it")).unwrap();
        assert_eq!(previews.note(), None);
    }
}

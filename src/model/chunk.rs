//! A batch of events as a reader made it, and as the sort wants it. Sorts within itself; knows nothing of other chunks.

use super::{Details, Event, EventFlags, Losses, Metadata, NameRow, TrackKey};

/// Events in capture order or sorted by time, with the details that they point to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chunk {
    /// The events.
    pub events: Vec<Event>,
    /// What [`Event::detail`] points into.
    pub details: Details,
    /// The most that an event stood after a later one, in nanoseconds; set by [`Chunk::sort`].
    pub max_lateness_ns: u64,
}

/// What a reader hands on: a chunk whose names and tracks are rows of the batch's own tables.
///
/// The tables are the batch's own so that batches can be parsed in parallel and still come out the same, whatever the
/// number of workers: the ingest maps them to the capture's tables in the order of the capture.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// The events.
    pub chunk: Chunk,
    /// What [`Event::name`] points into; row 0 is the empty name without a category.
    pub names: Vec<NameRow<Box<str>>>,
    /// What [`Event::track`] points into.
    pub tracks: Vec<TrackKey>,
    /// Names and orders of processes and threads, in capture order.
    pub metadata: Vec<Metadata>,
    /// What could not be taken as it stood.
    pub losses: Losses,
}

impl Chunk {
    /// Sorts by time, keeping the capture's order at equal times.
    ///
    /// Events of real captures are nearly sorted; the standard stable sort finds and merges the runs that are there.
    /// Events that stood after a later one are flagged [`EventFlags::LATE`], so that disorder can still be told.
    pub fn sort(&mut self) {
        let Some(first) = self.events.first() else { return };
        let (mut newest_ns, mut sorted) = (first.ts_ns, true);
        for event in &mut self.events {
            if event.ts_ns < newest_ns {
                event.flags = event.flags.with(EventFlags::LATE);
                self.max_lateness_ns = self.max_lateness_ns.max(newest_ns.abs_diff(event.ts_ns));
                sorted = false;
            } else {
                event.flags = event.flags.without(EventFlags::LATE);
                newest_ns = event.ts_ns;
            }
        }
        if !sorted {
            self.events.sort_by_key(|event| event.ts_ns);
        }
    }

    /// The smallest time, or `None` for a chunk without events.
    #[must_use]
    pub fn min_ts_ns(&self) -> Option<i64> {
        self.events.iter().map(|event| event.ts_ns).min()
    }

    /// Bytes that this chunk holds in memory.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        (self.events.capacity() * size_of::<Event>() + self.details.bytes.capacity() + self.details.ends.capacity() * 4)
            as u64
    }
}

//! A batch of events as a reader made it, and as the sort wants it. Sorts within itself; knows nothing of other chunks.

use super::{Details, Event, EventFlags, Losses, Metadata, NameRow, Stacks, TrackKey};

/// Events in capture order or sorted by time, with the details that they point to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chunk {
    /// The events, in capture order until the chunk is sorted.
    pub events: Vec<Event>,
    /// The rows that [`Event::detail`] points to.
    pub details: Details,
    /// The most that an event came after a later one, in nanoseconds; set by [`Chunk::sort`].
    pub max_lateness_ns: u64,
}

/// The output of a reader: a chunk whose names, tracks and stacks are rows of the batch's own tables.
///
/// The tables are the batch's own so that batches can be parsed in parallel and still come out the same, whatever
/// the number of workers: the ingest maps them to the capture's tables in the order of the capture. Only names may
/// go on from batch to batch.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// The events, with their details.
    pub chunk: Chunk,
    /// The rows that [`Event::name`] points to, from row [`Self::names_before`] on; row 0 is the
    /// empty name without a category.
    pub names: Vec<NameRow<Box<str>>>,
    /// The number of rows of names from the batches before that still hold: a reader that goes through a capture on one
    /// thread sends each name once. 0 for a batch that is complete by itself.
    pub names_before: u32,
    /// The stacks that the values of samples point to; their names are rows of `names`.
    pub stacks: Stacks,
    /// The rows that [`Event::track`] points to.
    pub tracks: Vec<TrackKey>,
    /// Names and orders of processes and threads, in capture order.
    pub metadata: Vec<Metadata>,
    /// Events that are lost or changed.
    pub losses: Losses,
}

impl Chunk {
    /// Sorts by time, keeping the capture's order at equal times.
    ///
    /// Events of real captures are nearly sorted, so the late ones, those after a later event, are taken out, sorted,
    /// and merged back: of equal times the others go first, since all of them came before. Late events are flagged
    /// [`EventFlags::LATE`], so that disorder can still be counted, also after a chunk is sorted again.
    pub fn sort(&mut self) {
        let Some(first) = self.events.first() else { return };
        let (mut newest_ns, mut kept) = (first.ts_ns, 0);
        let mut late = Vec::new();
        for position in 0..self.events.len() {
            let event = self.events[position];
            if event.ts_ns < newest_ns {
                self.max_lateness_ns = self.max_lateness_ns.max(newest_ns.abs_diff(event.ts_ns));
                late.push(Event { flags: event.flags.with(EventFlags::LATE), ..event });
            } else {
                newest_ns = event.ts_ns;
                self.events[kept] = event;
                kept += 1;
            }
        }
        if !late.is_empty() {
            late.sort_by_key(|event| event.ts_ns);
            self.events.truncate(kept);
            self.events.extend(late);
            // Two runs, which the standard sort finds and merges.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{EventKind, NameIdx, TrackIdx};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sorting_equals_a_stable_sort_and_tells_what_was_late(times in proptest::collection::vec(0i64..30, 0..200)) {
            let event = |(place, &ts_ns): (usize, &i64)| Event {
                ts_ns,
                value: place as u64,
                track: TrackIdx(0),
                name: NameIdx(0),
                detail: 0,
                depth: 0,
                kind: EventKind::Instant,
                flags: EventFlags::NONE,
            };
            let events: Vec<Event> = times.iter().enumerate().map(event).collect();
            let mut expected = events.clone();
            expected.sort_by_key(|event| event.ts_ns);
            let mut chunk = Chunk { events, ..Chunk::default() };
            chunk.sort();
            let places = |events: &[Event]| events.iter().map(|event| event.value).collect::<Vec<_>>();
            prop_assert_eq!(places(&chunk.events), places(&expected));
            let is_late = |place: u64| times[..place as usize].iter().any(|&before| before > times[place as usize]);
            chunk.sort();
            for event in &chunk.events {
                prop_assert_eq!(event.flags.has(EventFlags::LATE), is_late(event.value));
            }
        }
    }
}

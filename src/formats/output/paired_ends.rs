//! Merges span ends into their begins: a span within a batch needs one event, not two, which halves memory, sorting and
//! merging.
//!
//! The result does not depend on batch boundaries or on other writers of the track. An end only merges into a begin of
//! its track; the sorted store decides which begin it closes. An end stays a separate event if it has a name or
//! arguments, or if another event of its track is not earlier.

use crate::model::{Event, EventFlags, EventKind};

/// Open begins of all tracks, for a reader that adds events in file order.
#[derive(Debug, Default)]
pub(crate) struct PairedEnds {
    /// By track row in the batch; entries beyond `rows` are spare.
    tails: Vec<Tail>,
    rows: usize,
    /// Newest time in earlier batches, by track number.
    newest_ns: Vec<i64>,
}

/// The open begins of a track, and its newest time.
#[derive(Debug, Default)]
struct Tail {
    number: Option<usize>,
    newest_ns: i64,
    /// Positions in the batch of begins without an end, innermost last.
    open: Vec<u32>,
}

impl PairedEnds {
    /// Starts the next batch, which has no tracks.
    pub(crate) fn begin_batch(&mut self) {
        for tail in &mut self.tails[..self.rows] {
            tail.open.clear();
            if let Some(number) = tail.number {
                self.newest_ns[number] = tail.newest_ns;
            }
        }
        self.rows = 0;
    }

    /// Adds the next track of the batch, with a number that is the same in every batch. `None` excludes a track from
    /// merging.
    pub(crate) fn add_track(&mut self, number: Option<usize>) {
        if self.tails.len() == self.rows {
            self.tails.push(Tail::default());
        }
        if let Some(number) = number
            && self.newest_ns.len() <= number
        {
            self.newest_ns.resize(number + 1, i64::MIN);
        }
        let tail = &mut self.tails[self.rows];
        tail.number = number;
        // No time is greater than the maximum, so no end is merged.
        tail.newest_ns = number.map_or(i64::MAX, |number| self.newest_ns[number]);
        self.rows += 1;
    }

    /// Adds an event to the batch, or merges it into its begin if it is an end with nothing but a time.
    #[inline(always)] // as `BatchBuilder::push`, which gives the reason
    #[expect(clippy::inline_always, reason = "measured there")]
    pub(crate) fn push(&mut self, events: &mut Vec<Event>, event: Event) {
        if let Some(begin) = self.begin_for(&event, events.len())
            && let Some(begin) = events.get_mut(begin as usize)
            && !begin.flags.has(EventFlags::UNFINISHED)
        {
            // Never 0, since the end is later than the begin.
            begin.value = event.ts_ns.abs_diff(begin.ts_ns);
        } else {
            events.push(event);
        }
    }

    /// Returns the begin to merge an end into; `pos` is the position that the event would get.
    #[inline]
    fn begin_for(&mut self, event: &Event, pos: usize) -> Option<u32> {
        let tail = self.tails.get_mut(event.track.index())?;
        let is_newest = event.ts_ns > tail.newest_ns;
        tail.newest_ns = tail.newest_ns.max(event.ts_ns);
        match event.kind {
            EventKind::Begin => {
                tail.open.push(pos as u32);
                None
            }
            EventKind::End => {
                let says_no_more = event.flags == EventFlags::UNNAMED && event.detail == 0;
                tail.open.pop().filter(|_| is_newest && says_no_more)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{NameIdx, TrackIdx};

    /// Returns time and value of the remaining events of one track; `cuts` are batch boundaries.
    fn left(events: &[(i64, EventKind, EventFlags)], cuts: &[usize]) -> Vec<(i64, u64)> {
        let mut ends = PairedEnds::default();
        let (mut batch, mut all) = (Vec::new(), Vec::new());
        ends.begin_batch();
        ends.add_track(Some(7));
        for (pos, &(ts_ns, kind, flags)) in events.iter().enumerate() {
            if cuts.contains(&pos) {
                all.append(&mut batch);
                ends.begin_batch();
                ends.add_track(Some(7));
            }
            ends.push(&mut batch, Event { flags, ..Event::new(ts_ns, kind, TrackIdx(0), NameIdx::EMPTY) });
        }
        all.append(&mut batch);
        all.iter().map(|event| (event.ts_ns, event.value)).collect()
    }

    const BEGIN: (EventKind, EventFlags) = (EventKind::Begin, EventFlags::NONE);
    const END: (EventKind, EventFlags) = (EventKind::End, EventFlags::UNNAMED);

    fn at(ts_ns: i64, (kind, flags): (EventKind, EventFlags)) -> (i64, EventKind, EventFlags) {
        (ts_ns, kind, flags)
    }

    #[test]
    fn nested_ends_move_to_their_begins() {
        let events = [at(0, BEGIN), at(2, BEGIN), at(5, END), at(9, END)];
        assert_eq!(left(&events, &[]), [(0, 9), (2, 3)]);
    }

    #[test]
    fn an_end_beside_or_before_another_event_of_its_track_stays() {
        let instant = (EventKind::Instant, EventFlags::NONE);
        assert_eq!(left(&[at(0, BEGIN), at(5, instant), at(5, END)], &[]), [(0, 0), (5, 0), (5, 0)]);
        assert_eq!(left(&[at(0, BEGIN), at(5, instant), at(4, END)], &[]), [(0, 0), (5, 0), (4, 0)]);
        assert_eq!(left(&[at(3, BEGIN), at(3, END)], &[]), [(3, 0), (3, 0)], "a span without length");
        // Times of earlier batches count.
        assert_eq!(left(&[at(5, instant), at(0, BEGIN), at(5, END)], &[1]), [(5, 0), (0, 0), (5, 0)]);
    }

    #[test]
    fn an_end_with_more_than_a_time_or_without_a_begin_in_its_batch_stays() {
        let named = (EventKind::End, EventFlags::NONE);
        assert_eq!(left(&[at(0, BEGIN), at(5, named)], &[]), [(0, 0), (5, 0)]);
        assert_eq!(left(&[at(0, BEGIN), at(5, END)], &[1]), [(0, 0), (5, 0)]);
        assert_eq!(left(&[at(5, END), at(6, BEGIN), at(7, END), at(8, END)], &[]), [(5, 0), (6, 1), (8, 0)]);
    }

    #[test]
    fn tracks_that_are_not_numbered_are_left_alone() {
        let mut ends = PairedEnds::default();
        ends.begin_batch();
        ends.add_track(None);
        let mut events = Vec::new();
        for (ts_ns, (kind, flags)) in [(0, BEGIN), (5, END)] {
            ends.push(&mut events, Event { flags, ..Event::new(ts_ns, kind, TrackIdx(0), NameIdx::EMPTY) });
        }
        assert_eq!(events.len(), 2);
    }
}

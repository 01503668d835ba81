//! Moves ends to their begins: a span that begins and ends within a batch needs one event, not two, so that memory,
//! sort and merge have half as many.
//!
//! The result does not depend on where batches are cut, or on who else writes to the track. An end only moves to a
//! begin of its track; the sorted store decides which begin it closes. An end stays an event of its own if it says more
//! than a time, or if an event of its track has its time or a later one: it would be put before that.

use crate::model::{Event, EventFlags, EventKind};

/// The begins whose ends have not come, of the tracks of a reader that goes through a capture in its order.
#[derive(Debug, Default)]
pub(crate) struct PairedEnds {
    /// By row of track in the batch; those beyond `rows` are spare.
    tails: Vec<Tail>,
    rows: usize,
    /// By number of track: the newest time of the batches before.
    newest_ns: Vec<i64>,
}

/// The last event of a track.
#[derive(Debug, Default)]
struct Tail {
    number: Option<usize>,
    newest_ns: i64,
    /// Positions in the batch of begins without an end, innermost last.
    open: Vec<u32>,
}

impl PairedEnds {
    /// Begins the next batch, which has no tracks.
    pub(crate) fn begin_batch(&mut self) {
        for tail in &mut self.tails[..self.rows] {
            tail.open.clear();
            if let Some(number) = tail.number {
                self.newest_ns[number] = tail.newest_ns;
            }
        }
        self.rows = 0;
    }

    /// Adds the next track of the batch: the same number in every batch, for all events of that track. `None` for
    /// a track whose ends stay.
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
        // Nothing is newer than the end of time.
        tail.newest_ns = number.map_or(i64::MAX, |number| self.newest_ns[number]);
        self.rows += 1;
    }

    /// Adds the next event of the capture to the batch, or moves it to its begin if it is an
    /// end that says nothing more.
    #[inline(always)] // as the builder of batches, which says why
    #[expect(clippy::inline_always, reason = "see there")]
    pub(crate) fn push(&mut self, events: &mut Vec<Event>, event: Event) {
        if let Some(begin) = self.begin_for(&event, events.len())
            && let Some(begin) = events.get_mut(begin as usize)
        {
            // Never 0: the begin is one of those that the end is newer than.
            begin.value = event.ts_ns.abs_diff(begin.ts_ns);
        } else {
            events.push(event);
        }
    }

    /// The begin that an end can move to; `place` is the end's position otherwise.
    #[inline]
    fn begin_for(&mut self, event: &Event, place: usize) -> Option<u32> {
        let tail = self.tails.get_mut(event.track.index())?;
        let is_newest = event.ts_ns > tail.newest_ns;
        tail.newest_ns = tail.newest_ns.max(event.ts_ns);
        match event.kind {
            EventKind::Begin => {
                tail.open.push(place as u32);
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
    use crate::formats::output::batch::bare;
    use crate::model::{NameIdx, TrackIdx};

    /// Time and value of what is left of events of one track, each cut being the end of a batch.
    fn left(events: &[(i64, EventKind, EventFlags)], cuts: &[usize]) -> Vec<(i64, u64)> {
        let mut ends = PairedEnds::default();
        let (mut batch, mut all) = (Vec::new(), Vec::new());
        ends.begin_batch();
        ends.add_track(Some(7));
        for (place, &(ts_ns, kind, flags)) in events.iter().enumerate() {
            if cuts.contains(&place) {
                all.append(&mut batch);
                ends.begin_batch();
                ends.add_track(Some(7));
            }
            ends.push(&mut batch, Event { flags, ..bare(ts_ns, kind, TrackIdx(0), NameIdx::EMPTY) });
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
        // The time of another batch is not forgotten.
        assert_eq!(left(&[at(5, instant), at(0, BEGIN), at(5, END)], &[1]), [(5, 0), (0, 0), (5, 0)]);
    }

    #[test]
    fn an_end_that_says_more_or_has_no_begin_in_its_batch_stays() {
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
            ends.push(&mut events, Event { flags, ..bare(ts_ns, kind, TrackIdx(0), NameIdx::EMPTY) });
        }
        assert_eq!(events.len(), 2);
    }
}

//! Collects events with the same time, then nests them track by track, and all events of async ids together. Many
//! events, or long arguments, go to the spill file; the order is the same.

use std::io;

use super::Nester;
use crate::ingest::tie_sort::{TieSorter, TieSpill, Tied};
use crate::ingest::ties::{self, EndsFirst};
use crate::model::{Event, EventKind, Payload};

/// Events with the same time that are not nested yet.
#[derive(Default)]
pub(super) struct TiedEvents<'a> {
    /// The time of all events.
    ts_ns: Option<i64>,
    /// The events in memory; their arguments are in `blobs`.
    events: Vec<Tied>,
    blobs: Vec<u8>,
    spill: Option<TieSpill<'a>>,
    /// The events in the spill file, by [`group_of`].
    spilled: Option<TieSorter<'a>>,
}

impl<'a> TiedEvents<'a> {
    pub(super) fn spilling(spill: TieSpill<'a>) -> Self {
        Self { spill: Some(spill), ..Self::default() }
    }

    /// Returns the time of the collected events, if any.
    #[inline]
    pub(super) fn ts_ns(&self) -> Option<i64> {
        self.ts_ns
    }

    /// Adds an event of the same time. Fails with the I/O error of the spill file.
    pub(super) fn push(&mut self, event: &Event, blob: &[u8]) -> io::Result<()> {
        self.ts_ns = Some(event.ts_ns);
        let (blob_start, blob_bytes) = (self.blobs.len() as u64, blob.len() as u64);
        self.blobs.extend_from_slice(blob);
        self.events.push(Tied { event: *event, blob_start, blob_bytes });
        match self.spill {
            Some(spill) if self.events.len() >= spill.held_events || self.blobs.len() >= spill.held_bytes => {
                self.spill_held(spill)
            }
            _ => Ok(()),
        }
    }

    fn spill_held(&mut self, spill: TieSpill<'a>) -> io::Result<()> {
        let offset = spill.file.write_bytes(&self.blobs)?;
        self.events.iter_mut().for_each(|tied| tied.blob_start += offset);
        let by_track = || TieSorter::by_key(spill, group_of);
        self.spilled.get_or_insert_with(by_track).push_run(&mut self.events)?;
        self.events.clear();
        self.blobs.clear();
        Ok(())
    }

    /// Spills the rest and returns the sorter, if some events are in the file. Afterwards no event is left.
    fn take_spilled(&mut self) -> io::Result<Option<(TieSpill<'a>, TieSorter<'a>)>> {
        let (Some(spill), true) = (self.spill, self.spilled.is_some()) else { return Ok(None) };
        self.spill_held(spill)?;
        self.ts_ns = None;
        Ok(self.spilled.take().map(|sorter| (spill, sorter)))
    }
}

/// Returns the group of an event, whose events are nested together: its track, or all async ids. The span of an id may
/// begin on the track of one process and end on the track of another.
fn group_of(tied: &Tied) -> u64 {
    if matches!(tied.event.payload(), Payload::Async(_)) { u64::MAX } else { tied.event.track.0.into() }
}

impl<'a> Nester<'a> {
    /// Nests the collected events, track by track.
    pub(super) fn nest_tied(&mut self) -> io::Result<()> {
        if let Some((spill, spilled)) = self.tied.take_spilled()? {
            return self.nest_spilled(spill, spilled);
        }
        self.tied.ts_ns = None;
        let mut tied = std::mem::take(&mut self.tied.events);
        let blobs = std::mem::take(&mut self.tied.blobs);
        if tied.len() > 1 {
            tied.sort_by_key(group_of);
        }
        let mut rest = tied.drain(..).peekable();
        let mut of_track = std::mem::take(&mut self.tied_of_track);
        while let Some(first) = rest.next() {
            let group = group_of(&first);
            of_track.push(first);
            while let Some(next) = rest.next_if(|next| group_of(next) == group) {
                of_track.push(next);
            }
            ties::order(&mut of_track, |tied| &tied.event, |name| self.names.text_index(name));
            for tied in of_track.drain(..) {
                let start = tied.blob_start as usize;
                self.event(&tied.event, &blobs[start..start + tied.blob_bytes as usize])?;
            }
        }
        drop(rest);
        // Keep the allocations.
        self.tied.events = tied;
        self.tied_of_track = of_track;
        self.tied.blobs = blobs;
        self.tied.blobs.clear();
        Ok(())
    }

    /// Nests events that are sorted by track in the file.
    fn nest_spilled(&mut self, spill: TieSpill<'a>, spilled: TieSorter<'a>) -> io::Result<()> {
        let mut by_track = spilled.sorted()?;
        let mut next = by_track.next()?;
        while let Some(first) = next {
            let mut of_track = TieSorter::in_order(spill);
            let mut has_end = false;
            while let Some(tied) = next.filter(|tied| group_of(tied) == group_of(&first)) {
                has_end |= tied.event.kind == EventKind::End;
                of_track.push(tied)?;
                next = by_track.next()?;
            }
            match of_track.held_alone() {
                Some(events) => {
                    ties::order(events, |tied| &tied.event, |name| self.names.text_index(name));
                    events.iter().try_for_each(|tied| self.spilled_event(spill, tied))?;
                }
                None if has_end => {
                    let rest = self.nest_ends_first(spill, &of_track)?;
                    self.nest_longest_first(spill, &rest)?;
                }
                None => self.nest_longest_first(spill, &of_track)?,
            }
        }
        Ok(())
    }

    /// Nests the events of a track that [`ties::order`] puts first, and returns the others.
    fn nest_ends_first(&mut self, spill: TieSpill<'a>, of_track: &TieSorter<'a>) -> io::Result<TieSorter<'a>> {
        let (mut ends, mut rest) = (EndsFirst::default(), TieSorter::in_order(spill));
        let mut events = of_track.in_arrival_order()?;
        while let Some(tied) = events.next()? {
            if ends.goes_first(&tied.event, |name| self.names.text_index(name)) {
                self.spilled_event(spill, &tied)?;
            } else {
                rest.push(tied)?;
            }
        }
        Ok(rest)
    }

    /// Nests events of a track, longer complete spans first, like [`ties::order`].
    fn nest_longest_first(&mut self, spill: TieSpill<'a>, of_track: &TieSorter<'a>) -> io::Result<()> {
        let mut by_length = TieSorter::by_key(spill, |tied| u64::MAX - ties::length(&tied.event));
        let mut events = of_track.in_arrival_order()?;
        while let Some(tied) = events.next()? {
            if ties::goes_by_length(&tied.event) {
                by_length.push(tied)?;
            }
        }
        let (mut events, mut by_length) = (of_track.in_arrival_order()?, by_length.sorted()?);
        while let Some(tied) = events.next()? {
            let longest = if ties::goes_by_length(&tied.event) { by_length.next()? } else { None };
            self.spilled_event(spill, &longest.unwrap_or(tied))?;
        }
        Ok(())
    }

    fn spilled_event(&mut self, spill: TieSpill<'a>, tied: &Tied) -> io::Result<()> {
        let mut blob = vec![0; usize::try_from(tied.blob_bytes).map_err(io::Error::other)?];
        spill.file.read_bytes(&mut blob, tied.blob_start)?;
        self.event(&tied.event, &blob)
    }
}

//! The spans of one track: complete spans, and begins with their ends.

use std::io;

use super::open_blobs::OpenBlob;
use super::{Nester, TrackRole};
use crate::model::args::Detail;
use crate::model::{Event, EventFlags, Loss, NameIdx, TrackIdx};
use crate::store::{LaneIdx, Row};

/// A begin that is still open.
pub(super) struct OpenBegin {
    pub(super) start_ns: i64,
    pub(super) name: NameIdx,
    blob: OpenBlob,
    /// Whether it is a complete span without a duration, which no end closes.
    pub(super) endless: bool,
}

impl Nester<'_> {
    pub(super) fn complete(&mut self, event: &Event, blob: &[u8]) -> io::Result<()> {
        if event.flags.has(EventFlags::UNFINISHED) {
            self.begin(event.track, event, blob, true)?;
            return Ok(());
        }
        let (row, end_ns) = self.complete_row_of(event, blob)?;
        let track = event.track;
        let state = self.track(track);
        state.open.close_ended(row.start_ns);
        let Some(placed) = state.open.place_complete(end_ns) else {
            self.lose(Loss::DeepNesting, track, row.start_ns);
            return Ok(());
        };
        if placed.overlaps && !event.flags.has(EventFlags::MAY_OVERLAP) {
            self.lose(Loss::Overlap, track, row.start_ns);
        }
        self.push_span(track, placed.lane, row, end_ns)?;
        Ok(())
    }

    /// Returns the row of a complete span, and its end, clamped to the maximum time.
    #[inline]
    fn complete_row_of(&mut self, event: &Event, blob: &[u8]) -> io::Result<(Row, i64)> {
        let (start_ns, end_ns) = (event.ts_ns, event.end_ns());
        let detail = self.detail(blob)?;
        Ok((Row { start_ns, value: end_ns.abs_diff(start_ns), detail, name: event.name.0 }, end_ns))
    }

    /// Adds a span of a sorted trace, whose lane is given.
    pub(super) fn placed(&mut self, event: &Event, blob: &[u8]) -> io::Result<()> {
        let lane = self.span_lane(event.track, event.depth)?;
        if event.ts_ns < self.writer.lane_end_ns(lane) {
            // The trace contradicts itself; the span is placed like an unsorted one.
            return self.complete(event, blob);
        }
        let (row, end_ns) = self.complete_row_of(event, blob)?;
        self.track(event.track).extend_to(end_ns);
        if self.roles.get(event.track.index()) == Some(&TrackRole::Cpu) {
            self.scheduling_ends.add(self.registry, event.track, end_ns);
        }
        self.push_to(lane, row, end_ns)?;
        if event.flags.has(EventFlags::UNFINISHED) {
            self.writer.mark_unfinished(lane);
        }
        Ok(())
    }

    /// Opens a span. Returns false if no lane is left. Fails with the I/O error of the spill file.
    pub(super) fn begin(&mut self, track: TrackIdx, event: &Event, blob: &[u8], endless: bool) -> io::Result<bool> {
        let state = self.track(track);
        state.open.close_ended(event.ts_ns);
        state.extend_to(event.ts_ns);
        // The arguments of a begin without a lane are dropped.
        let has_lane = state.open.deepest_lane() != Some(u16::MAX);
        let blob = self.open_blobs.keep(if has_lane { blob } else { &[] })?;
        let begin = OpenBegin { start_ns: event.ts_ns, name: event.name, blob, endless };
        let is_placed = self.track(track).open.place_begin(begin, !endless).is_some();
        if !is_placed {
            self.lose(Loss::DeepNesting, track, event.ts_ns);
        }
        self.extend_to(event.ts_ns);
        Ok(is_placed)
    }

    /// Closes the begins whose known end is at most `to_ns`.
    #[inline]
    pub(super) fn end_known(&mut self, track: TrackIdx, to_ns: i64) -> io::Result<()> {
        while let Some(end_ns) = self.tracks.get_mut(track).and_then(|nest| nest.take_end(to_ns)) {
            self.end_innermost(track, end_ns, &[])?;
        }
        Ok(())
    }

    /// Closes the innermost open begin.
    fn end_innermost(&mut self, track: TrackIdx, end_ns: i64, blob: &[u8]) -> io::Result<()> {
        let open = &mut self.track(track).open;
        if open.take_unplaced() {
            return Ok(());
        }
        let Some((lane, begin)) = open.take_innermost() else {
            self.lose(Loss::UnmatchedEnd, track, end_ns);
            return Ok(());
        };
        let begun = self.open_blobs.remove(begin.blob)?;
        let detail =
            if blob.is_empty() { self.detail(&begun)? } else { self.detail_of(&begun, &Detail::decode(blob))? };
        self.push_ended(track, lane, (begin.start_ns, begin.name), end_ns, detail).map(drop)
    }

    /// Closes the innermost open begin; with a name, the innermost of that name. An end whose name is not open belongs
    /// to a span that began before the recording, so it closes nothing.
    pub(super) fn end(&mut self, track: TrackIdx, event: &Event, blob: &[u8]) -> io::Result<()> {
        self.track(track).extend_to(event.ts_ns);
        if event.flags.has(EventFlags::UNNAMED) {
            return self.end_innermost(track, event.ts_ns, blob);
        }
        let (names, text) = (self.names, self.names.text_index(event.name));
        let open = &mut self.track(track).open;
        if open.take_unplaced() {
            return Ok(());
        }
        if open.innermost().is_some_and(|(_, begin)| names.text_index(begin.name) == text) {
            return self.end_innermost(track, event.ts_ns, blob);
        }
        let Some(named) = open.innermost_named(text, |begin| names.text_index(begin.name)) else {
            self.lose(Loss::UnmatchedEnd, event.track, event.ts_ns);
            return Ok(());
        };
        self.lose(Loss::MismatchedEnd, event.track, event.ts_ns);
        self.close(track, named, event.ts_ns, &Detail::decode(blob))
    }

    /// Closes the open begin in `outer_lane`, and the begins inside it, at `ts_ns`.
    fn close(&mut self, track: TrackIdx, outer_lane: u16, ts_ns: i64, end: &Detail<'_>) -> io::Result<()> {
        loop {
            let Some((lane, begin)) = self.track(track).open.take_innermost() else { return Ok(()) };
            if lane <= outer_lane {
                self.span(track, lane, begin, ts_ns, end)?;
                return Ok(());
            }
            self.lose(Loss::TruncatedSpan, track, begin.start_ns);
            self.span(track, lane, begin, ts_ns, &Detail::default())?;
        }
    }

    /// Writes a begin that ends at `end_ns`, with the arguments of its end.
    pub(super) fn span(
        &mut self,
        track: TrackIdx,
        lane: u16,
        begin: OpenBegin,
        end_ns: i64,
        end: &Detail<'_>,
    ) -> io::Result<LaneIdx> {
        let begun = self.open_blobs.remove(begin.blob)?;
        let detail = self.detail_of(&begun, end)?;
        self.push_ended(track, lane, (begin.start_ns, begin.name), end_ns, detail)
    }

    /// Stores the details of a begin, merged with the details of its end.
    fn detail_of(&mut self, begun: &[u8], end: &Detail<'_>) -> io::Result<u64> {
        if end.is_empty() {
            return self.detail(begun);
        }
        let merged = Detail::decode(begun).ended_by(end);
        self.detail(&merged)
    }

    #[inline]
    fn push_ended(
        &mut self,
        track: TrackIdx,
        lane: u16,
        (start_ns, name): (i64, NameIdx),
        end_ns: i64,
        detail: u64,
    ) -> io::Result<LaneIdx> {
        let end_ns = end_ns.max(start_ns);
        let row = Row { start_ns, value: end_ns.abs_diff(start_ns), detail, name: name.0 };
        self.push_span(track, lane, row, end_ns)
    }
}

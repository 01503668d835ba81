//! Async trees: maps the events of async ids, and of sibling tracks, to the track of their tree.

use std::io;

use super::Nester;
use crate::ingest::asyncs::TreeId;
use crate::model::args::Detail;
use crate::model::{Event, EventFlags, EventKind, Loss, TrackIdx};
use crate::store::Row;

impl Nester<'_> {
    /// Maps an event of a sibling track to the track of its tree.
    pub(super) fn sibling(&mut self, event: &Event, blob: &[u8]) -> io::Result<()> {
        let id = TreeId::Sibling(event.track);
        let track = match (self.asyncs.track_of(id), event.kind) {
            (Some(track), _) => track,
            (None, EventKind::End) => {
                self.lose(Loss::UnmatchedEnd, event.track, event.ts_ns);
                return Ok(());
            }
            (None, _) => {
                let Some(track) = self.asyncs.open(id, event, self.names, self.registry) else {
                    self.lose(Loss::OverLimit, event.track, event.ts_ns);
                    return Ok(());
                };
                track
            }
        };
        self.event_of_row(&Event { track, ..*event }, blob)?;
        if self.track(track).open.is_idle() {
            self.asyncs.close(id);
        }
        Ok(())
    }

    /// Maps an event of an async id to the track of its tree.
    pub(super) fn asynchronous(&mut self, event: &Event, blob: &[u8]) -> io::Result<()> {
        let id = self.tree_of(event);
        let open_track = self.asyncs.track_of(id);
        if event.is_last_time() {
            if let Some(track) = open_track {
                self.track(track).extend_to(event.ts_ns);
            }
            return Ok(());
        }
        let Some(track) = open_track.or_else(|| self.asyncs.open(id, event, self.names, self.registry)) else {
            self.lose(Loss::OverLimit, event.track, event.ts_ns);
            return Ok(());
        };
        if open_track.is_none() && event.kind == EventKind::AsyncEnd {
            // Recording began inside the span; only its end is known.
            self.lose(Loss::UnmatchedAsyncEnd, event.track, event.ts_ns);
        }
        match event.kind {
            EventKind::AsyncBegin => self.begin_async(track, event, blob)?,
            EventKind::AsyncEnd if open_track.is_some() => {
                self.end_step(id, track, event)?;
                self.end_async(track, event, blob)?;
            }
            EventKind::AsyncStepInto => {
                self.end_step(id, track, event)?;
                self.asyncs.enter_step(id);
                self.begin_async(track, event, blob)?;
            }
            EventKind::AsyncStepPast => self.push_past_step(id, track, event, blob)?,
            _ => self.instant(track, event, blob)?,
        }
        if self.track(track).open.is_idle() {
            self.asyncs.close(id);
        }
        Ok(())
    }

    /// Ends the step that the tree is in, if any.
    fn end_step(&mut self, id: TreeId, track: TrackIdx, event: &Event) -> io::Result<()> {
        if self.asyncs.leave_step(id) {
            self.end(track, &Event { flags: EventFlags::UNNAMED, ..*event }, &[])?;
        }
        Ok(())
    }

    /// Adds the step that ends with the event, as a complete span.
    fn push_past_step(&mut self, id: TreeId, track: TrackIdx, event: &Event, blob: &[u8]) -> io::Result<()> {
        let start_ns = self.asyncs.pass_step(id, event.ts_ns);
        let value = event.ts_ns.abs_diff(start_ns);
        let row = Row { start_ns, value, detail: self.detail(blob)?, name: event.name.0 };
        match self.free_lane(track, start_ns)? {
            Some(lane) => _ = self.push_span(track, lane, row, event.ts_ns)?,
            None => self.lose(Loss::DeepNesting, event.track, start_ns),
        }
        Ok(())
    }

    /// Returns the tree of an event of an async id. Each process has its own tree, so that a span is in the process
    /// that began it. An end without a begin in its process ends the span of another process. Only the last 8 processes
    /// that opened a tree are considered, because a search of all would be quadratic if many share the id.
    fn tree_of(&mut self, event: &Event) -> TreeId {
        let process = self.registry.tables().tracks[event.track.index()].process;
        let own = TreeId::Id { id: event.value, process };
        if event.kind == EventKind::AsyncBegin {
            return own;
        }
        let others = self.asyncs.trees_of_others(event.value, process);
        let Some(&last) = others.first() else { return own };
        let own_or_last = if self.asyncs.track_of(own).is_some() { own } else { last };
        if event.kind != EventKind::AsyncEnd || self.ends_span_of(own, event) {
            return own_or_last;
        }
        others.into_iter().find(|&tree| self.ends_span_of(tree, event)).unwrap_or(own_or_last)
    }

    /// Returns whether a span that an end closes is open in a tree.
    fn ends_span_of(&mut self, tree: TreeId, event: &Event) -> bool {
        let Some(track) = self.asyncs.track_of(tree) else { return false };
        let (names, text) = (self.names, self.names.text_index(event.name));
        event.flags.has(EventFlags::UNNAMED)
            || self.track(track).open.innermost_named(text, |begin| names.text_index(begin.name)).is_some()
    }

    fn begin_async(&mut self, track: TrackIdx, event: &Event, blob: &[u8]) -> io::Result<()> {
        if !self.begin(track, event, blob, false)? {
            self.track(track).open.add_unplaced();
        }
        Ok(())
    }

    /// Returns the first lane below all open spans without a span that ends after `start_ns`.
    fn free_lane(&mut self, track: TrackIdx, start_ns: i64) -> io::Result<Option<u16>> {
        let mut next = match self.track(track).open.deepest_lane() {
            Some(deepest) => deepest.checked_add(1),
            None => Some(0),
        };
        while let Some(lane) = next
            && self.span_lane_end_ns(track, lane)? > start_ns
        {
            next = lane.checked_add(1);
        }
        Ok(next)
    }

    /// Closes the innermost open span with the end's name only: spans of one async id need not nest.
    fn end_async(&mut self, track: TrackIdx, event: &Event, blob: &[u8]) -> io::Result<()> {
        if event.flags.has(EventFlags::UNNAMED) {
            return self.end(track, event, blob);
        }
        let names = self.names;
        let text = names.text_index(event.name);
        let open = &mut self.track(track).open;
        let closed = open.innermost_named(text, |begin| names.text_index(begin.name));
        let Some((lane, begin)) = closed.and_then(|lane| open.take_begin(lane).map(|begin| (lane, begin))) else {
            if !open.take_unplaced() {
                self.lose(Loss::UnmatchedEnd, event.track, event.ts_ns);
            }
            return Ok(());
        };
        self.span(track, lane, begin, event.ts_ns, &Detail::decode(blob)).map(drop)
    }

    fn span_lane_end_ns(&mut self, track: TrackIdx, depth: u16) -> io::Result<i64> {
        let lane = self.span_lane(track, depth)?;
        Ok(self.writer.lane_end_ns(lane))
    }
}

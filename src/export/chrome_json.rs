//! Writes Chrome JSON in time order, parents before children. Async spans exist in this format only as begins and ends,
//! and get an id per tree. Memory grows with the open async spans and flows.
//!
//! Spans of threads are complete, except where readers would nest them in another way ([`super::begun_spans`]).

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use rustc_hash::{FxHashMap, FxHashSet};

use super::async_spans::{AsyncSpan, AsyncSpans};
use super::begun_spans::{BegunSpans, unfinished_spans};
use super::error::SinkError;
use super::excerpt::Excerpt;
use super::flow_order::{TiedEvent, TiedPoint, flow_order};
use super::piped::write_piped;
use super::rows::is_tie_full;
use super::source_stacks::ExportedStacks;
use super::task::{ExportReport, Out, Task};
use crate::formats::chrome::write::ChromeJsonWriter;
use crate::model::{Event, EventKind, Payload, TrackIdx, TrackKind, TrackTables};
use crate::store::flow::{FlowBound, FlowPoint};

/// Twice as fast as the default level 6 for a tenth more bytes; level 1 is a third faster still, for half as many bytes
/// again.
const GZIP_LEVEL: u32 = 3;

/// Writes an excerpt to `out`.
pub(super) fn write(task: &Task<'_>, excerpt: &Excerpt, out: Out<'_>, gzip: bool) -> Result<ExportReport, SinkError> {
    if !gzip {
        return write_plain(task, excerpt, out);
    }
    let mut encoder = GzEncoder::new(out, Compression::new(GZIP_LEVEL));
    let report = write_piped(&mut encoder, |out| write_plain(task, excerpt, out))?;
    encoder.finish()?;
    Ok(report)
}

fn write_plain(task: &Task<'_>, excerpt: &Excerpt, out: Out<'_>) -> Result<ExportReport, SinkError> {
    let ExportedStacks { stacks, sources, .. } = task.stacks;
    let writer = ChromeJsonWriter::new(out, task.snapshot.names(), (stacks, sources), task.tables)?;
    let begun = BegunSpans::new(unfinished_spans(task.snapshot));
    let (asyncs, flows) = (Asyncs::default(), OpenFlows::default());
    let mut events = EventWriter { writer, tracks: task.tables, asyncs, flows, begun };
    let mut waiting = EventsOfTime::default();
    let report = task.each_event(excerpt, |event, blob| {
        if waiting.is_complete_before(event) {
            waiting.write_to(&mut events)?;
        }
        waiting.push(event, blob);
        Ok(())
    })?;
    waiting.write_to(&mut events)?;
    events.finish()?;
    Ok(report)
}

/// Buffered events with the same time, parents before children.
#[derive(Debug, Default)]
struct EventsOfTime {
    /// Each event with the end of its details in `blobs`.
    events: Vec<(Event, usize)>,
    blobs: Vec<u8>,
}

impl EventsOfTime {
    fn is_complete_before(&self, next: &Event) -> bool {
        let is_next = self.events.first().is_some_and(|(event, _)| event.ts_ns != next.ts_ns);
        is_next || is_tie_full(self.events.len(), self.blobs.len())
    }

    fn push(&mut self, event: &Event, blob: &[u8]) {
        self.blobs.extend_from_slice(blob);
        self.events.push((*event, self.blobs.len()));
    }

    /// Writes and removes all events.
    fn write_to<W: Write>(&mut self, writer: &mut EventWriter<'_, W>) -> io::Result<()> {
        let order = self.flow_order(&writer.flows);
        let outlasted = self.outlasted_spans();
        let mut write = |index: usize| {
            let (event, end) = self.events[index];
            let start = index.checked_sub(1).map_or(0, |before| self.events[before].1);
            writer.event(&event, &self.blobs[start..end], outlasted.get(index).copied().unwrap_or_default())
        };
        match order {
            Some(order) => order.into_iter().try_for_each(&mut write)?,
            None => (0..self.events.len()).try_for_each(&mut write)?,
        }
        self.events.clear();
        self.blobs.clear();
        Ok(())
    }

    /// Returns the order in which the events are written; `None` for the order that they have.
    fn flow_order(&self, flows: &OpenFlows) -> Option<Vec<usize>> {
        let point_of = |(index, (event, _)): (usize, &(Event, usize))| {
            let Payload::Flow { id, .. } = event.payload() else { return None };
            Some(TiedPoint { flow: id, role: FlowPoint::from_event(event, None).role, event: index })
        };
        let points: Vec<_> = self.events.iter().enumerate().filter_map(point_of).collect();
        if points.len() < 2 {
            return None;
        }
        let tied = |(event, _): &(Event, usize)| TiedEvent {
            track: event.track,
            is_point: matches!(event.payload(), Payload::Flow { .. }),
        };
        let events: Vec<_> = self.events.iter().map(tied).collect();
        flow_order(&events, points, |id| flows.open.contains(&id))
    }

    /// Returns for each event whether it is a span that ends before a span inside it on its track. Empty without such
    /// spans.
    fn outlasted_spans(&self) -> Vec<bool> {
        if self.events.len() < 2 {
            return Vec::new();
        }
        let mut latest_ns: FxHashMap<TrackIdx, i64> = FxHashMap::default();
        let mut outlasted = vec![false; self.events.len()];
        for (index, (event, _)) in self.events.iter().enumerate().rev() {
            if matches!(event.payload(), Payload::Span { is_unfinished: false, .. }) {
                let latest_ns = latest_ns.entry(event.track).or_insert(i64::MIN);
                outlasted[index] = *latest_ns > event.end_ns();
                *latest_ns = event.end_ns().max(*latest_ns);
            }
        }
        outlasted
    }
}

/// Writes events in time order, with the ends of begins in between.
struct EventWriter<'a, W> {
    writer: ChromeJsonWriter<'a, W>,
    tracks: &'a TrackTables,
    asyncs: Asyncs,
    flows: OpenFlows,
    begun: BegunSpans,
}

impl<W: Write> EventWriter<'_, W> {
    /// Writes an event. `is_outlasted`: a span inside it, of the same start, ends later.
    fn event(&mut self, event: &Event, blob: &[u8], is_outlasted: bool) -> io::Result<()> {
        let Self { writer, tracks, asyncs, flows, begun } = self;
        while let Some(end_ns) = begun.next_end_ns().filter(|&end_ns| end_ns <= event.ts_ns) {
            asyncs.close_before(end_ns, writer)?;
            begun.write_end(writer)?;
        }
        asyncs.close_before(event.ts_ns, writer)?;
        let kind = tracks.tracks.get(event.track.index()).map_or(TrackKind::Global, |track| track.key.kind);
        let event = match (kind, event.kind) {
            (TrackKind::Async, EventKind::Complete) => return asyncs.open(*event, blob, writer),
            (TrackKind::Async, EventKind::Instant) => Event { value: asyncs.tree_id(event.track), ..*event },
            (TrackKind::Async, _) => unbind_instant(flows.with_flow_start(*event)),
            // A run or a state has a form of its own, and never nests.
            (TrackKind::Cpu | TrackKind::State, _) => flows.with_flow_start(*event),
            _ => begun.form(flows.with_flow_start(*event), is_outlasted),
        };
        writer.event(&event, blob)
    }

    /// Writes the remaining ends, and flushes the output.
    fn finish(mut self) -> io::Result<()> {
        while let Some(end_ns) = self.begun.next_end_ns() {
            self.asyncs.close_before(end_ns, &mut self.writer)?;
            self.begun.write_end(&mut self.writer)?;
        }
        self.asyncs.close_all(&mut self.writer)?;
        self.writer.finish()?;
        Ok(())
    }
}

/// Unbinds a flow point from an instant of an async track. This format has only points of threads, and the thread may
/// have another instant at that time.
fn unbind_instant(event: Event) -> Event {
    let is_point = matches!(event.kind, EventKind::FlowStart | EventKind::FlowStep | EventKind::FlowEnd);
    let point = FlowPoint::from_event(&event, None);
    if !is_point || point.bound != FlowBound::Instant {
        return event;
    }
    Event { depth: FlowPoint { depth: None, bound: FlowBound::Span, ..point }.placed_depth(), ..event }
}

/// The open flows, by id.
#[derive(Debug, Default)]
struct OpenFlows {
    open: FxHashSet<u64>,
}

impl OpenFlows {
    /// Turns the first point of a flow into a start. In some traces spans refer to flows without distinguishing start
    /// and step, while readers of this format require a start. A point bound by its time gets no depth, because its
    /// span is found by that time again.
    fn with_flow_start(&mut self, event: Event) -> Event {
        if !matches!(event.kind, EventKind::FlowStart | EventKind::FlowStep | EventKind::FlowEnd) {
            return event;
        }
        let is_told_by_span = FlowPoint::from_event(&event, None).bound != FlowBound::Time;
        let event = Event { depth: if is_told_by_span { event.depth } else { 0 }, ..event };
        match event.kind {
            EventKind::FlowStart | EventKind::FlowStep if self.open.insert(event.value) => {
                let kind = if is_told_by_span { EventKind::FlowStart } else { event.kind };
                Event { kind, ..event }
            }
            EventKind::FlowEnd => {
                self.open.remove(&event.value);
                event
            }
            _ => event,
        }
    }
}

/// The async spans whose begin is written and whose end is not.
#[derive(Debug, Default)]
struct Asyncs {
    /// Ends to be written, in order.
    ends: BTreeMap<EndKey, Event>,
    /// Open spans by track, in order of begin.
    open: FxHashMap<TrackIdx, AsyncSpans>,
    last_id: u64,
    last_number: u64,
}

/// Time, depth (the innermost first), sequence number.
type EndKey = (i64, Reverse<u16>, u64);

fn key_of(span: &AsyncSpan) -> EndKey {
    (span.end_ns.unwrap_or(i64::MAX), Reverse(span.depth), span.number)
}

impl Asyncs {
    /// Writes the ends before `ts_ns`, and the ends at that time of spans that started earlier.
    fn close_before<W: Write>(&mut self, ts_ns: i64, writer: &mut ChromeJsonWriter<'_, W>) -> io::Result<()> {
        while let Some(entry) = self.ends.first_entry() {
            let &(end_ns, _, number) = entry.key();
            if end_ns > ts_ns {
                break;
            }
            let open = self.open.entry(entry.get().track).or_default();
            if open.get(number).is_some_and(|open| open.start_ns == ts_ns) {
                // Zero-length: its children may still come.
                break;
            }
            open.remove(number);
            writer.event(&entry.remove(), &[])?;
        }
        Ok(())
    }

    /// Writes the begin of a span, and records its end.
    fn open<W: Write>(&mut self, span: Event, blob: &[u8], writer: &mut ChromeJsonWriter<'_, W>) -> io::Result<()> {
        let Payload::Span { dur_ns, is_unfinished } = span.payload() else { return Ok(()) };
        let open = self.open.entry(span.track).or_default();
        // Zero-length spans at this time, which precede the new span.
        for before in open.take_ending(span.ts_ns, span.depth) {
            if let Some(end) = self.ends.remove(&key_of(&before)) {
                writer.event(&end, &[])?;
            }
        }
        let end_ns = span.end_ns();
        self.last_number += 1;
        let mut begun = AsyncSpan {
            start_ns: span.ts_ns,
            end_ns: (!is_unfinished).then_some(end_ns),
            depth: span.depth,
            name: span.name,
            id: 0,
            number: self.last_number,
        };
        // A track has one open tree at a time. A span whose end would close another span gets its own tree.
        begun.id = match open.last() {
            Some(last) if !open.would_close(&begun) => last.id,
            _ => {
                self.last_id += 1;
                self.last_id
            }
        };
        if begun.end_ns.is_some() {
            let kind = EventKind::AsyncEnd;
            self.ends.insert(key_of(&begun), Event { ts_ns: end_ns, value: begun.id, detail: 0, kind, ..span });
        }
        open.push(begun);
        let begin = Event { value: begun.id, kind: EventKind::AsyncBegin, ..span };
        if is_unfinished { writer.unfinished_async(&begin, dur_ns, blob) } else { writer.event(&begin, blob) }
    }

    /// Returns the id of the open tree of a track, or a new one.
    fn tree_id(&mut self, track: TrackIdx) -> u64 {
        if let Some(last) = self.open.get(&track).and_then(AsyncSpans::last) {
            return last.id;
        }
        self.last_id += 1;
        self.last_id
    }

    fn close_all<W: Write>(&mut self, writer: &mut ChromeJsonWriter<'_, W>) -> io::Result<()> {
        std::mem::take(&mut self.ends).into_values().try_for_each(|end| writer.event(&end, &[]))
    }
}

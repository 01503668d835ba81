//! Writes Chrome JSON in time order, parents before children. Async spans exist in this format only as begins and ends,
//! and get an id per tree; memory grows with the open async spans and flows.
//!
//! Spans of threads are complete, except where readers would nest them in another way ([`super::begun_spans`]).

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, BufWriter, IntoInnerError, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use rustc_hash::{FxHashMap, FxHashSet};

use super::async_spans::{AsyncSpan, AsyncSpans};
use super::begun_spans::{BegunSpans, unfinished_spans};
use super::error::SinkError;
use super::excerpt::Excerpt;
use super::task::{ExportReport, Out, Task};
use crate::formats::chrome::write::ChromeJsonWriter;
use crate::model::{Event, EventKind, Payload, TrackIdx, TrackKind};
use crate::store::flow::{FlowBound, FlowPoint};

/// Twice as fast as the default level 6 for a tenth more bytes; level 1 is a third faster still, for half as many bytes
/// again.
const GZIP_LEVEL: u32 = 3;
/// Bytes per write to the compressor.
const GZIP_PIECE_BYTES: usize = 256 * 1024;

/// Writes an excerpt to `out`.
pub(super) fn write(task: &Task<'_>, excerpt: &Excerpt, out: Out<'_>, gzip: bool) -> Result<ExportReport, SinkError> {
    if !gzip {
        return write_plain(task, excerpt, out);
    }
    // Buffered, since the compressor takes four times as long for single lines.
    let encoder = GzEncoder::new(out, Compression::new(GZIP_LEVEL));
    let mut buffered = BufWriter::with_capacity(GZIP_PIECE_BYTES, encoder);
    let report = write_plain(task, excerpt, &mut buffered)?;
    let encoder = buffered.into_inner().map_err(IntoInnerError::into_error)?;
    encoder.finish()?;
    Ok(report)
}

fn write_plain(task: &Task<'_>, excerpt: &Excerpt, out: Out<'_>) -> Result<ExportReport, SinkError> {
    let tables = task.tables;
    let mut writer = ChromeJsonWriter::new(out, task.snapshot.names(), task.snapshot.stacks(), tables)?;
    let (mut asyncs, mut flows) = (Asyncs::default(), OpenFlows::default());
    let mut begun = BegunSpans::new(unfinished_spans(task.snapshot));
    let report = task.each_event(excerpt, |event, blob| {
        while let Some(end_ns) = begun.next_end_ns().filter(|&end_ns| end_ns <= event.ts_ns) {
            asyncs.close_before(end_ns, &mut writer)?;
            begun.write_end(&mut writer)?;
        }
        asyncs.close_before(event.ts_ns, &mut writer)?;
        let kind = tables.tracks.get(event.track.index()).map_or(TrackKind::Global, |track| track.key.kind);
        let event = match (kind, event.kind) {
            (TrackKind::Async, EventKind::Complete) => asyncs.open(*event, &mut writer)?,
            (TrackKind::Async, EventKind::Instant) => Event { value: asyncs.tree_id(event.track), ..*event },
            (TrackKind::Async, _) => unbind_instant(flows.with_flow_start(*event)),
            // A run or a state has a form of its own, and never nests.
            (TrackKind::Cpu | TrackKind::State, _) => flows.with_flow_start(*event),
            _ => begun.form(flows.with_flow_start(*event)),
        };
        Ok(writer.event(&event, blob)?)
    })?;
    while let Some(end_ns) = begun.next_end_ns() {
        asyncs.close_before(end_ns, &mut writer)?;
        begun.write_end(&mut writer)?;
    }
    asyncs.close_all(&mut writer)?;
    writer.finish()?;
    Ok(report)
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
    /// Writes the ends before `ts_ns`, and those at that time of spans that started earlier.
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

    /// Records a span, and returns its begin.
    fn open<W: Write>(&mut self, span: Event, writer: &mut ChromeJsonWriter<'_, W>) -> io::Result<Event> {
        let open = self.open.entry(span.track).or_default();
        // Zero-length spans at this time, which precede the new span.
        for before in open.take_ending(span.ts_ns, span.depth) {
            if let Some(end) = self.ends.remove(&key_of(&before)) {
                writer.event(&end, &[])?;
            }
        }
        let Payload::Span { is_unfinished, .. } = span.payload() else { return Ok(span) };
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
        // A track has one open tree at a time. A span whose end would close another one gets its own tree.
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
        Ok(Event { value: begun.id, kind: EventKind::AsyncBegin, ..span })
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

//! Assigns spans with parents to rows on which they nest. Buffers spans up to a quarter of the memory budget before
//! each layout, so a larger trace may take more rows than necessary.
//!
//! Spans are sorted by start, longer and parents first. A span goes on the row of its parent if the parent is innermost
//! there and does not end before it. Otherwise it goes on the first row of its service without an open span. A span
//! that has not ended keeps its row to the end of the trace.
//!
//! In a file with few traces, no two traces share a row, and the rows of a trace form a group. This needs all spans at
//! once, so it is not done while a trace grows, or if the buffer is full before the end.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use xxhash_rust::xxh3::xxh3_64;

use super::links::{ChildEnd, SpanLinks, SpanPlace};
use super::services::{ServiceKey, ServiceNames};
use super::span_order::{self, SpanKey};
use super::traces::{RootCandidate, TraceNumber, Traces};
use crate::base::budget::Budget;
use crate::base::budget_shares::BudgetShare;
use crate::formats::ReadError;
use crate::formats::input::lines::Output;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::output::pack::FreeRows;
use crate::model::{Event, EventFlags, EventKind, GroupPath, Id, Loss, Metadata, SourcePos, TrackKey};

/// Approximate memory of a span without its texts.
const SPAN_MEMORY_BYTES: usize = 160;

/// Approximate memory of a span event without its texts.
const POINT_MEMORY_BYTES: usize = 48;

/// A span that has no row yet.
#[derive(Debug)]
pub(crate) struct ServiceSpan {
    pub(crate) start_ns: i64,
    /// `None` if it has not ended.
    pub(crate) end_ns: Option<i64>,
    /// Hash of trace id and span id; 0 without an id.
    pub(crate) id: u64,
    /// Hash of trace id and parent span id; `None` without a parent.
    pub(crate) parent: Option<u64>,
    pub(crate) service: u32,
    pub(crate) name: Box<[u8]>,
    /// Attributes, as a JSON object.
    pub(crate) args: Box<str>,
    /// Attributes of the resource, as a JSON object; shared by the spans of a request.
    pub(crate) resource: Option<Arc<str>>,
    pub(crate) points: Vec<Point>,
    /// Whether its status is an error.
    pub(crate) is_failed: bool,
    pub(crate) pos: SourcePos,
}

impl ServiceSpan {
    /// Creates a span without ids, arguments and events.
    pub(crate) fn new(
        service: u32,
        name: impl Into<Box<[u8]>>,
        start_ns: i64,
        end_ns: Option<i64>,
        pos: SourcePos,
    ) -> Self {
        let (name, args) = (name.into(), "".into());
        let (id, parent, resource, points, is_failed) = (0, None, None, Vec::new(), false);
        Self { start_ns, end_ns, id, parent, service, name, args, resource, points, is_failed, pos }
    }

    /// Returns the time at which the span leaves its row.
    fn row_end_ns(&self) -> i64 {
        self.end_ns.unwrap_or(i64::MAX)
    }
}

/// An event of a span: a time with a name.
#[derive(Debug)]
pub(crate) struct Point {
    pub(crate) ts_ns: i64,
    pub(crate) name: Box<[u8]>,
    pub(crate) args: Box<str>,
}

/// The end of a span that has not ended, as exporters of OpenTelemetry write it.
pub(super) const UNFINISHED_NS: i64 = 0;

/// Converts an exported end; `None` if it could not be read, which is counted. The span is then shown unfinished.
pub(super) fn exported_end(
    end_ns: Option<i64>,
    start_ns: i64,
    pos: SourcePos,
    batch: &mut BatchBuilder,
) -> Option<i64> {
    if end_ns.is_none() {
        batch.lose(Loss::BadNumber, pos);
    }
    end_ns.filter(|&end_ns| end_ns != UNFINISHED_NS || start_ns <= 0)
}

/// Hashes a trace id and a span id.
pub(crate) fn span_id(trace: &[u8], span: &[u8]) -> u64 {
    xxh3_64(&[&(trace.len() as u64).to_le_bytes(), trace, span].concat())
}

/// Hashes the ids of a span and of its parent.
pub(super) fn span_ids(trace: &[u8], own: &[u8], parent: Option<&[u8]>) -> (u64, Option<u64>) {
    (span_id(trace, own), parent.map(|parent| span_id(trace, parent)))
}

/// Spans that wait for the layout.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    spans: Vec<WaitingSpan>,
    /// Indices of servers' halves, which have the ids of their clients' halves.
    shared: Vec<usize>,
    bytes: usize,
    services: Vec<Service>,
    names: ServiceNames,
    links: SpanLinks,
    traces: Traces,
    /// Whether some spans have rows already.
    has_rows: bool,
}

/// A span that has no row yet, and its trace if that may be shown by itself.
#[derive(Debug)]
struct WaitingSpan {
    trace: Option<TraceNumber>,
    span: ServiceSpan,
}

impl WaitingSpan {
    fn key(&self) -> SpanKey {
        let ServiceSpan { start_ns, id, parent, .. } = self.span;
        SpanKey { start_ns, end_ns: self.span.row_end_ns(), id, parent }
    }
}

#[derive(Debug, Default)]
struct Service {
    /// Attributes of its last resource, which rarely change.
    resource: Option<Arc<str>>,
    rows: Vec<SpanRow>,
    /// The rows that spans of any trace may use.
    common: FreeRows,
}

/// A row of a service, with the ids and ends of its open spans, outermost first.
#[derive(Debug)]
struct SpanRow {
    open: Vec<(u64, i64)>,
    /// Latest end of its spans.
    last_end_ns: i64,
}

impl Layout {
    /// Returns the index of a service, adding it as a process if needed.
    pub(crate) fn service(&mut self, name: &str, batch: &mut BatchBuilder) -> u32 {
        self.service_of(ServiceKey { name, ..ServiceKey::default() }, batch)
    }

    /// Like [`Self::service`], for one of several services with a name.
    pub(crate) fn service_of(&mut self, key: ServiceKey<'_>, batch: &mut BatchBuilder) -> u32 {
        if self.services.is_empty() {
            // All times are UTC.
            batch.add_metadata(Metadata::Utc { offset_ns: 0 });
        }
        let index = self.names.index(key, |index, title| {
            batch.add_metadata(Metadata::ProcessName { pid: pid(index), name: title.into() });
        });
        if index as usize == self.services.len() {
            self.services.push(Service::default());
        }
        index
    }

    /// Returns the attributes of a resource to be shared by its spans; `None` without any.
    pub(crate) fn resource(&mut self, service: u32, attributes: &str) -> Option<Arc<str>> {
        let last = &mut self.services[service as usize].resource;
        if last.as_deref() != Some(attributes) && !attributes.is_empty() {
            self.bytes += attributes.len();
            *last = Some(attributes.into());
        }
        last.clone().filter(|_| !attributes.is_empty())
    }

    /// Adds a span without a trace id to the next layout.
    pub(crate) fn push(&mut self, span: ServiceSpan) {
        self.push_of_trace("", span);
    }

    /// Adds a span to the next layout.
    pub(crate) fn push_of_trace(&mut self, trace_id: &str, span: ServiceSpan) {
        let points = span.points.iter().map(|point| point.args.len() + point.name.len() + POINT_MEMORY_BYTES);
        self.bytes += SPAN_MEMORY_BYTES + span.name.len() + span.args.len() + points.sum::<usize>();
        let trace = self.traces.number(trace_id);
        self.spans.push(WaitingSpan { trace, span });
    }

    /// Adds the server's half of a span. The client's half, which has the same id, is its parent if it is in the trace.
    pub(crate) fn push_shared(&mut self, trace_id: &str, span: ServiceSpan) {
        self.shared.push(self.spans.len());
        self.push_of_trace(trace_id, span);
    }

    /// Makes clients' halves the parents of servers' halves. Either may come first, and a server's half may be alone.
    fn join_halves(&mut self, spans: &mut [WaitingSpan]) {
        let shared = std::mem::take(&mut self.shared);
        if shared.is_empty() {
            return;
        }
        let mut next_shared = shared.iter().copied().peekable();
        let others = spans.iter().enumerate().filter(|(index, _)| next_shared.next_if_eq(index).is_none());
        let others: FxHashSet<u64> = others.map(|(_, waiting)| waiting.span.id).collect();
        for index in shared {
            let span = &mut spans[index].span;
            if others.contains(&span.id) {
                span.parent = Some(span.id);
            }
        }
    }

    /// Returns whether buffered spans exceed their share of the budget.
    fn is_full(&self, budget: &Budget) -> bool {
        self.bytes as u64 > BudgetShare::OtlpSpans.bytes(budget)
    }

    /// Lays out all buffered spans if they exceed their share of the budget.
    pub(crate) fn flush_if_full(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        if self.is_full(out.budget()) { self.flush(out) } else { Ok(()) }
    }

    /// Lays out all buffered spans, since others may follow.
    pub(crate) fn flush(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        self.lay_out(false, out)?;
        Ok(())
    }

    /// Lays out the last spans. If no span has a row yet and the traces are few, each trace gets separate rows.
    pub(crate) fn finish(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        if self.has_rows || !self.traces.are_shown() {
            return self.flush(out);
        }
        let (spans, rows) = self.lay_out(true, out)?;
        let titles = self.traces.titles(spans.iter().map(|&WaitingSpan { trace, ref span }| {
            let (id, parent, name) = (span.id, span.parent, &*span.name);
            RootCandidate { trace, id, parent, name }
        }));
        name_rows(&rows, &titles, out.batch);
        Ok(())
    }

    /// Lays out all buffered spans, with rows of one trace each if `has_traces`. Returns the spans in order of start,
    /// and the new rows of traces.
    fn lay_out(
        &mut self,
        has_traces: bool,
        out: &mut Output<'_>,
    ) -> Result<(Vec<WaitingSpan>, Vec<RowOfTrace>), ReadError> {
        let mut spans = std::mem::take(&mut self.spans);
        self.bytes = 0;
        self.has_rows |= !spans.is_empty();
        self.join_halves(&mut spans);
        span_order::sort(&mut spans, WaitingSpan::key);
        let (mut args, mut rows_of_traces) = (String::new(), Vec::new());
        // By service, and by trace if the trace is shown by itself.
        let mut free_rows: FxHashMap<(u32, TraceNumber), FreeRows> = FxHashMap::default();
        // The place of each laid-out span, for its children.
        let mut places: FxHashMap<u64, SpanPlace> = FxHashMap::default();
        for WaitingSpan { trace, span } in &spans {
            let (end_ns, trace) = (span.row_end_ns(), trace.filter(|_| has_traces));
            let place_of = |id: u64| places.get(&id).copied().or_else(|| self.links.placed(id));
            let parent = span.parent.and_then(place_of);
            let service = &mut self.services[span.service as usize];
            let below = parent.filter(|parent| {
                parent.service == span.service
                    && service.rows[parent.row].has_room_below(span.parent, span.start_ns, end_ns)
            });
            let rows_before = service.rows.len();
            let row = if let Some(parent) = below {
                parent.row
            } else {
                let of_trace = trace.map(|trace| free_rows.entry((span.service, trace)).or_default());
                service.free_row(of_trace, span.start_ns, end_ns)
            };
            if service.rows.len() > rows_before {
                let TrackKey { pid, tid, .. } = key(span.service, row);
                out.batch.add_metadata(Metadata::ThreadName { pid, tid, name: ROW_NAME.into() });
                rows_of_traces.extend(trace.map(|trace| RowOfTrace { service: span.service, row, trace }));
            }
            service.rows[row].open.push((span.id, end_ns));
            let place = SpanPlace { service: span.service, row, start_ns: span.start_ns };
            places.insert(span.id, place);
            emit(out.batch, span, row, &mut args);
            for child in self.links.take_children(span.id) {
                arrow(out.batch, place, &child);
            }
            if below.is_none()
                && let Some(parent_id) = span.parent
            {
                let end = ChildEnd { id: span.id, name: span.name.clone(), place, pos: span.pos };
                match parent {
                    Some(parent) => arrow(out.batch, parent, &end),
                    None => self.links.wait(parent_id, end),
                }
            }
            out.flush_if_full()?;
        }
        spans.iter().for_each(|WaitingSpan { span, .. }| self.links.place(span.id, places[&span.id]));
        self.services.iter_mut().for_each(Service::close_all);
        Ok((spans, rows_of_traces))
    }
}

impl SpanRow {
    fn has_room_below(&mut self, parent: Option<u64>, start_ns: i64, end_ns: i64) -> bool {
        self.close(start_ns);
        self.open.last().is_some_and(|&(id, until_ns)| Some(id) == parent && end_ns <= until_ns)
    }

    fn close(&mut self, ts_ns: i64) {
        while self.open.last().is_some_and(|&(_, end_ns)| end_ns <= ts_ns) {
            self.open.pop();
        }
    }
}

impl Service {
    /// Returns the first free row: among the rows of one trace, or among the shared rows. Calls must be in order of
    /// start.
    fn free_row(&mut self, of_trace: Option<&mut FreeRows>, start_ns: i64, end_ns: i64) -> usize {
        let (rows, free) = (&mut self.rows, of_trace.unwrap_or(&mut self.common));
        // Its children end no later.
        let index = free.place(start_ns, end_ns, || {
            rows.push(SpanRow { open: Vec::new(), last_end_ns: i64::MIN });
            rows.len() - 1
        });
        let row = &mut rows[index];
        row.open.clear();
        row.last_end_ns = row.last_end_ns.max(end_ns);
        index
    }

    /// Closes all spans, since the next layout may start earlier.
    fn close_all(&mut self) {
        self.resource = None;
        self.common.start_part(self.rows.iter().map(|row| row.last_end_ns));
        // There may be a million services, each with a row.
        self.rows.iter_mut().for_each(|row| row.open = Vec::new());
        self.rows.shrink_to_fit();
    }
}

/// A row with the spans of one trace.
#[derive(Debug, Clone, Copy)]
struct RowOfTrace {
    service: u32,
    row: usize,
    trace: TraceNumber,
}

/// Groups the rows of a trace in one service. A single row gets the title of its trace instead.
fn name_rows(rows: &[RowOfTrace], titles: &[Arc<str>], batch: &mut BatchBuilder) {
    let mut counts: FxHashMap<(u32, TraceNumber), u32> = FxHashMap::default();
    rows.iter().for_each(|row| *counts.entry((row.service, row.trace)).or_default() += 1);
    batch.extend_metadata(rows.iter().filter_map(|row| {
        let (key, title) = (key(row.service, row.row), titles.get(row.trace as usize)?);
        let is_alone = counts.get(&(row.service, row.trace)) == Some(&1);
        Some(if is_alone {
            Metadata::ThreadName { pid: key.pid, tid: key.tid, name: (**title).into() }
        } else {
            Metadata::TrackGroup { key, group: GroupPath::text([&**title]) }
        })
    }));
}

/// Name of the rows of a service, which are not threads.
const ROW_NAME: &str = "Spans";

/// Returns a number for a service, since services have no process ids.
fn pid(service: u32) -> Id {
    Id::Number(i64::from(service) + 1)
}

fn key(service: u32, row: usize) -> TrackKey {
    let tid = Id::Number(row as i64 + 1);
    TrackKey::thread(pid(service), tid)
}

/// Emits a span and its events. `args` is a buffer for its arguments.
fn emit(batch: &mut BatchBuilder, span: &ServiceSpan, row: usize, args: &mut String) {
    let pos = span.pos;
    let track = batch.track_with(&key(span.service, row));
    let name = batch.span_name(&span.name, None, span.is_failed, pos);
    let args_json = match &span.resource {
        Some(resource) => {
            args.clear();
            args.push_str(span.args.strip_suffix('}').unwrap_or(&span.args));
            args.push_str(if args.is_empty() { "{" } else { "," });
            // A span may have an attribute of this name.
            let key = if span.args.contains("\"resource\":") { "resource_attributes" } else { "resource" };
            args.extend(["\"", key, "\":", resource, "}"]);
            &**args
        }
        None => &span.args,
    };
    let detail = batch.args(args_json);
    let mut event = Event { detail, ..Event::new(span.start_ns, EventKind::Complete, track, name) };
    match span.end_ns.map(|end_ns| end_ns.checked_sub(span.start_ns)) {
        None => event.flags = EventFlags::UNFINISHED,
        Some(Some(dur_ns @ 0..)) => event.value = dur_ns.unsigned_abs(),
        Some(_) => batch.lose(Loss::NegativeDuration, pos),
    }
    batch.push(event);
    for point in &span.points {
        let name = batch.name(&point.name, None, pos);
        let detail = batch.args(&point.args);
        batch.push(Event { detail, ..Event::new(point.ts_ns, EventKind::Instant, track, name) });
    }
}

/// Adds a flow from the start of the parent to the start of a span, unless clocks that differ place the parent later.
fn arrow(batch: &mut BatchBuilder, parent: SpanPlace, child: &ChildEnd) {
    if child.place.start_ns < parent.start_ns {
        return;
    }
    let name = batch.name(&child.name, None, child.pos);
    let [from, to] = [parent, child.place].map(|place| batch.track_with(&key(place.service, place.row)));
    let (value, flags) = (child.id, EventFlags::BIND_ENCLOSING);
    batch.push(Event { value, flags, ..Event::new(parent.start_ns, EventKind::FlowStart, from, name) });
    batch.push(Event { value, flags, ..Event::new(child.place.start_ns, EventKind::FlowEnd, to, name) });
}

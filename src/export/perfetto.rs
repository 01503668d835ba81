//! Writes a Perfetto trace in time order. In this format, spans are begins and ends that pair up as a stack. So a span
//! that overlaps another without nesting goes to a separate row beside the track.
//!
//! Memory holds the open spans, and the events with the same time, because a flow is a field of its event. If a flow
//! leaves where nothing is open, it is written within the last event of its track. It is written at its own time if
//! that event is before the previous point of the flow. So memory also grows with the flows without an end, as most
//! flows of a Perfetto trace are. The end of a flow at the next span waits for the span, since both must be on one row.

mod pending;
mod span_end;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::{self, Write};
use std::mem;

use pending::{PendingEvent, depth_around, goes_last, is_point};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use smallvec::SmallVec;
use span_end::SpanEnd;

use super::error::SinkError;
use super::excerpt::Excerpt;
use super::flow_order::{TiedEvent, TiedPoint, flow_order};
use super::row_ends::RowEnds;
use super::rows::is_tie_full;
use super::source_stacks::ExportedStacks;
use super::task::{ExportReport, Out, Task};
use super::task_ends::TaskEnds;
use crate::formats::perfetto::write::{
    FlowOf, OVERLAP_MAX, Overlap, PerfettoWriter, TaskRun, WrittenState, WrittenTrace, has_tasks,
};
use crate::model::args::Detail;
use crate::model::{Event, EventFlags, EventKind, Id, Payload, TrackIdx, TrackKind};
use crate::query::Snapshot;
use crate::store::flow::{FlowBound, FlowPoint};

/// The name of the state of a running thread.
const RUNNING: &str = "Running";

/// Minimum number of rows before rows without open spans are dropped: most traces never reach it.
const OPEN_ROWS_MIN: usize = 1 << 14;

/// Writes an excerpt to `out`.
pub(super) fn write(task: &Task<'_>, excerpt: &Excerpt, out: Out<'_>) -> Result<ExportReport, SinkError> {
    let snapshot = task.snapshot;
    let start_ns = excerpt.start_ns(snapshot).unwrap_or(0);
    let moved_ns = if start_ns < 0 { start_ns.unsigned_abs() } else { 0 };
    let dur_ns = snapshot.end_ns().abs_diff(start_ns);
    if moved_ns > 0 && i64::try_from(dur_ns).is_err() {
        return Err(SinkError::TooLong { dur_ns });
    }
    let has_tasks = has_tasks(task.tables) && excerpt.has_runs_of_states(snapshot);
    let ExportedStacks { stacks, sources, .. } = task.stacks;
    let trace = WrittenTrace { names: snapshot.names(), stacks, sources, tracks: task.tables, has_tasks };
    let writer = PerfettoWriter::new(out, trace, moved_ns)?;
    let mut ordered = OrderedWriter {
        writer,
        open: FxHashMap::default(),
        row_ends: FxHashMap::default(),
        open_rows_max: OPEN_ROWS_MIN,
        beside: BTreeMap::new(),
        ends: BinaryHeap::new(),
        pending: Vec::new(),
        pending_blobs: Vec::new(),
        owners: FxHashMap::default(),
        last: 0,
        newest: FxHashMap::default(),
        flow_ns: FxHashMap::default(),
        bound_flows: FxHashSet::default(),
        arriving: BTreeMap::new(),
        has_tasks,
        task_ends: TaskEnds::new(has_tasks && excerpt.has_states(snapshot)),
        snapshot,
    };
    let report = task.each_event(excerpt, |event, blob| {
        let is_next = ordered.pending.first().is_some_and(|pending| pending.event.ts_ns != event.ts_ns);
        if is_next || is_tie_full(ordered.pending.len(), ordered.pending_blobs.len()) {
            ordered.write_pending()?;
        }
        let carrier = Some(ordered.pending.len());
        let start = ordered.pending_blobs.len();
        ordered.pending_blobs.extend_from_slice(blob);
        let blob = start..ordered.pending_blobs.len();
        ordered.pending.push(PendingEvent { event: *event, blob, flows: Vec::new(), carrier });
        Ok(())
    })?;
    ordered.write_pending()?;
    ordered.write_remaining_arrivals()?;
    ordered.end_before(i64::MAX, true)?;
    ordered.task_ends.write_to(i64::MAX, &mut ordered.writer)?;
    ordered.writer.finish()?;
    Ok(ExportReport { moved_ns, ..report })
}

/// The order in which events of one time are written: rarely more than a few.
type WriteOrder = SmallVec<[usize; 4]>;

/// A span whose begin is written and whose end is not.
struct OpenSlice {
    /// `None` for a span that never ends.
    end_ns: Option<i64>,
    depth: u16,
    /// Thread time at its end.
    thread_ns: Option<i64>,
    flows: Vec<FlowOf>,
    event: Event,
}

/// The end of a flow at the next span.
struct Arrival {
    point: Event,
    /// Whether the flow has a point bound to an event.
    is_bound: bool,
}

/// Returns the time up to which spans nest in one with this end: the maximum only if it never ends.
fn nesting_end_ns(end_ns: Option<i64>) -> i64 {
    end_ns.map_or(i64::MAX, |end_ns| end_ns.min(i64::MAX - 1))
}

/// Writes begins and ends in time order.
struct OrderedWriter<'a, W> {
    writer: PerfettoWriter<'a, W>,
    /// By track and row beside it, outermost first.
    open: FxHashMap<(TrackIdx, Overlap), Vec<OpenSlice>>,
    /// By track with overlaps: the ends on its rows.
    row_ends: FxHashMap<TrackIdx, RowEnds>,
    /// Number of rows in `open` at which rows without open spans are dropped.
    open_rows_max: usize,
    /// By track and depth: the row beside the track that has the open span.
    beside: BTreeMap<(TrackIdx, u16), Overlap>,
    /// Ends to be written, earliest first.
    ends: BinaryHeap<Reverse<SpanEnd>>,
    pending: Vec<PendingEvent>,
    /// Their details.
    pending_blobs: Vec<u8>,
    /// The last event at the current time, by track and depth; no depth for an instant.
    owners: FxHashMap<(TrackIdx, Option<u16>), usize>,
    /// Sequence number of the last span.
    last: u64,
    /// By track: the last time of the span or instant that started last, and its row.
    newest: FxHashMap<TrackIdx, (i64, Overlap)>,
    /// By flow without an end so far: the time at which its last point is written. Every point is recorded, because the
    /// next point of its flow may move back in time.
    flow_ns: FxHashMap<u64, i64>,
    /// Flows without an end so far that have a point bound to an event. Their ends are written in the same way:
    /// Perfetto has no number for both kinds of points.
    bound_flows: FxHashSet<u64>,
    /// By track: points that arrive at its next span, whose row is not known yet.
    arriving: BTreeMap<TrackIdx, Vec<Arrival>>,
    /// Whether CPU runs and thread states are written as scheduling events instead of spans.
    has_tasks: bool,
    /// Pending ends of runs and states.
    task_ends: TaskEnds,
    snapshot: &'a Snapshot,
}

/// Returns the threads that enter a state.
fn threads_in_state(snapshot: &Snapshot, pending: &[PendingEvent]) -> impl Iterator<Item = i64> {
    let spans = pending.iter().filter(|pending| pending.event.kind == EventKind::Complete);
    let keys = spans.map(|pending| &snapshot.track(pending.event.track).key);
    keys.filter(|key| key.kind == TrackKind::State).filter_map(|key| match key.tid {
        Id::Number(tid) => Some(tid),
        Id::None | Id::Text(_) => None,
    })
}

impl<W: Write> OrderedWriter<'_, W> {
    /// Writes the events with the same time, and the ends up to it.
    fn write_pending(&mut self) -> Result<(), SinkError> {
        let Some(ts_ns) = self.pending.first().map(|pending| pending.event.ts_ns) else { return Ok(()) };
        let (mut pending, mut blobs) = (mem::take(&mut self.pending), mem::take(&mut self.pending_blobs));
        self.end_before(ts_ns, false)?;
        let is_open = self.open_flows(&pending);
        self.find_owners(&pending);
        for index in 0..pending.len() {
            self.bind_flow(&mut pending, index)?;
        }
        self.instants_at_ends(&mut pending, &blobs)?;
        self.end_before(ts_ns, true)?;
        if self.has_tasks {
            self.task_ends.begin_time(ts_ns, threads_in_state(self.snapshot, &pending));
            self.task_ends.write_to(ts_ns, &mut self.writer)?;
        }
        for index in self.order(&pending, &is_open) {
            let pending = &pending[index];
            let (event, blob) = (&pending.event, &blobs[pending.blob.clone()]);
            match event.kind {
                EventKind::Complete if self.has_tasks && self.task(event, blob)? => {}
                EventKind::Complete => self.begin(pending, blob)?,
                EventKind::Counter => self.writer.counter(event)?,
                EventKind::Sample => self.writer.sample(event, blob)?,
                EventKind::FlowStart | EventKind::FlowStep | EventKind::FlowEnd => self.flow(pending)?,
                _ => self.instant(pending, blob)?,
            }
        }
        pending.clear();
        blobs.clear();
        (self.pending, self.pending_blobs) = (pending, blobs);
        self.drop_empty_rows();
        Ok(())
    }

    /// Returns the flows of the points that have started before.
    fn open_flows(&self, pending: &[PendingEvent]) -> FxHashSet<u64> {
        let points = pending.iter().filter(|pending| is_point(&pending.event));
        points.map(|point| point.event.value).filter(|id| self.flow_ns.contains_key(id)).collect()
    }

    /// Returns the order in which events are written, without events that other events carry.
    fn order(&self, pending: &[PendingEvent], is_open: &FxHashSet<u64>) -> WriteOrder {
        let mut order: WriteOrder = (0..pending.len()).filter(|&index| pending[index].carrier == Some(index)).collect();
        if order.len() < 2 {
            return order;
        }
        // A point that leaves its enclosing span comes after all begins. If that span begins now, the point comes
        // before the spans inside.
        order.sort_by_key(|&index| goes_last(&pending[index]) && !self.begins_now(&pending[index].event));
        if pending.iter().filter(|pending| is_point(&pending.event)).take(2).count() < 2 {
            return order;
        }
        let mut positions = vec![None; pending.len()];
        order.iter().enumerate().for_each(|(position, &index)| positions[index] = Some(position));
        let events: Vec<_> = order.iter().map(|&index| &pending[index].event).collect();
        let tied = events.iter().map(|event| TiedEvent { track: event.track, is_point: is_point(event) });
        let points = pending.iter().filter(|pending| is_point(&pending.event)).filter_map(|pending| {
            let role = FlowPoint::from_event(&pending.event, None).role;
            Some(TiedPoint { flow: pending.event.value, role, event: positions[pending.carrier?]? })
        });
        match flow_order(&tied.collect::<Vec<_>>(), points.collect(), |id| is_open.contains(&id)) {
            Some(in_flow_order) => in_flow_order.into_iter().map(|position| order[position]).collect(),
            None => order,
        }
    }

    /// Writes a CPU run or a thread state. Returns false if the span is neither, or a run of no known thread. A running
    /// state is already represented by its run.
    fn task(&mut self, span: &Event, blob: &[u8]) -> io::Result<bool> {
        let track = self.snapshot.track(span.track);
        let Id::Number(number) = track.key.tid else { return Ok(false) };
        let name = self.snapshot.names().get(span.name);
        let unfinished_dur_ns = span.flags.has(EventFlags::UNFINISHED).then_some(span.value);
        match track.key.kind {
            TrackKind::Cpu => {
                let args: Value = serde_json::from_str(Detail::decode(blob).args_json).unwrap_or_default();
                // Thread 0 is the idle thread, which has no runs.
                let Some(tid) = args["tid"].as_i64().filter(|&tid| tid != 0) else { return Ok(false) };
                let (cpu, priority) = (Some(number.cast_unsigned()), args["prio"].as_i64());
                let run = TaskRun { cpu, tid, name: name.text.into(), priority };
                let running = WrittenState { letters: RUNNING, unfinished_dur_ns, ..WrittenState::default() };
                self.writer.task_state(span.ts_ns, &run, running)?;
                self.task_ends.enter(tid, span.ts_ns);
                if unfinished_dur_ns.is_none() {
                    let letters = args["end_state"].as_str().unwrap_or_default();
                    self.task_ends.add_run(span.ts_ns, span.end_ns(), run, letters);
                }
                // An empty run ends before the next run on its CPU begins.
                if span.end_ns() == span.ts_ns {
                    self.task_ends.write_to(span.ts_ns, &mut self.writer)?;
                }
            }
            TrackKind::State => {
                let letters = name.category.filter(|letters| !letters.is_empty()).unwrap_or(name.text);
                if letters != RUNNING {
                    let task = TaskRun { tid: number, ..TaskRun::default() };
                    let state = WrittenState { letters, unfinished_dur_ns, ..WrittenState::default() };
                    self.writer.task_state(span.ts_ns, &task, state)?;
                    self.task_ends.enter(number, span.ts_ns);
                    if unfinished_dur_ns.is_none() {
                        self.task_ends.add_state(span.ts_ns, span.end_ns(), number);
                    }
                }
            }
            TrackKind::Global
            | TrackKind::Process
            | TrackKind::Thread
            | TrackKind::Async
            | TrackKind::Counter
            | TrackKind::Samples => return Ok(false),
        }
        Ok(true)
    }

    /// Drops rows without open spans if there are many: a million threads would keep 400 bytes each.
    fn drop_empty_rows(&mut self) {
        if self.open.len() > self.open_rows_max {
            self.open.retain(|_, row| !row.is_empty());
            self.row_ends.retain(|_, ends| ends.has_open());
            // Doubling amortises the scan over all rows.
            self.open_rows_max = (2 * self.open.len()).max(OPEN_ROWS_MIN);
        }
    }

    /// Returns whether the span around a point starts at its time.
    fn begins_now(&self, point: &Event) -> bool {
        let depth = FlowPoint::from_event(point, None).depth;
        depth.is_some_and(|depth| self.owners.contains_key(&(point.track, Some(depth))))
    }

    /// Returns the row of the span around a point: the span at its depth if that span begins now, else the innermost
    /// span.
    fn row_around(&self, point: &Event) -> Overlap {
        if let Some(depth) = FlowPoint::from_event(point, None).depth.filter(|_| self.begins_now(point)) {
            return self.row_of(point.track, depth);
        }
        self.innermost_row(point.track)
    }

    /// Returns the row of the innermost open span.
    fn innermost_row(&self, track: TrackIdx) -> Overlap {
        let of_track = (track, 0)..=(track, u16::MAX);
        let Some((&(_, depth), &overlap)) = self.beside.range(of_track).next_back() else { return 0 };
        let on_track = self.open.get(&(track, 0)).and_then(|row| row.last());
        if on_track.is_some_and(|open| open.depth > depth) { 0 } else { overlap }
    }

    /// Returns the row of the open span of a depth.
    fn row_of(&self, track: TrackIdx, depth: u16) -> Overlap {
        self.beside.get(&(track, depth)).copied().unwrap_or(0)
    }

    /// Writes a flow bound by its time only. If nothing is open where the flow leaves or passes through, its point is
    /// written within the event that started last on its track. Elsewhere Perfetto would drop the point. But the point
    /// is not written before the previous point of its flow, which would disconnect both.
    fn flow(&mut self, pending: &PendingEvent) -> io::Result<()> {
        let event = &pending.event;
        if !goes_last(pending) {
            return self.arrive_at_next(event);
        }
        let overlap = self.row_around(event);
        // Only the last point: it is written at the end of its span, which may be after other points.
        if event.kind == EventKind::FlowEnd
            && self.bound_flows.contains(&event.value)
            && let Some(open) = self.open.get_mut(&(event.track, overlap)).and_then(|row| row.last_mut())
        {
            open.flows.push(FlowOf { id: event.value, ends: true });
            self.passed_flow(event.value, true, event.ts_ns);
            return Ok(());
        }
        let is_inside = self.open.get(&(event.track, overlap)).is_some_and(|row| !row.is_empty());
        let newest = self.newest.get(&event.track).copied().filter(|_| !is_inside);
        let (newest_ns, overlap) = newest.unwrap_or((event.ts_ns, overlap));
        let before_ns = self.flow_ns.get(&event.value).copied();
        let is_in_order = before_ns.is_none_or(|before_ns| before_ns <= newest_ns);
        let point = Event { ts_ns: if is_in_order { newest_ns } else { event.ts_ns }, ..*event };
        self.passed_flow(point.value, point.kind == EventKind::FlowEnd, point.ts_ns);
        self.writer.flow(&point, overlap)
    }

    /// Writes the end of a flow at the next span of its track. If the row or the form of the point depends on this
    /// span, holds the point until the span begins.
    fn arrive_at_next(&mut self, point: &Event) -> io::Result<()> {
        let is_bound = self.bound_flows.contains(&point.value);
        self.passed_flow(point.value, true, point.ts_ns);
        if is_bound || self.has_open(point.track) {
            self.arriving.entry(point.track).or_default().push(Arrival { point: *point, is_bound });
            return Ok(());
        }
        self.writer.flow(point, 0)
    }

    fn has_open(&self, track: TrackIdx) -> bool {
        let of_track = (track, 0)..=(track, u16::MAX);
        let is_open_on_track = self.open.get(&(track, 0)).is_some_and(|row| !row.is_empty());
        is_open_on_track || self.beside.range(of_track).next().is_some()
    }

    /// Writes the begin of a span with the flows that arrive at it. On a row beside the track, they follow the begin.
    fn begin_with_flows(
        &mut self,
        PendingEvent { event, flows, .. }: &PendingEvent,
        overlap: Overlap,
        detail: &Detail<'_>,
    ) -> io::Result<()> {
        flows.iter().for_each(|flow| self.passed_flow(flow.id, flow.ends, event.ts_ns));
        let Some(arriving) = self.arriving.remove(&event.track) else {
            return self.writer.begin(event, overlap, detail, flows);
        };
        let (bound, by_time): (Vec<_>, Vec<_>) = arriving.into_iter().partition(|arrival| arrival.is_bound);
        let bound = bound.iter().map(|arrival| FlowOf { id: arrival.point.value, ends: true });
        let flows: Vec<FlowOf> = flows.iter().copied().chain(bound).collect();
        if overlap == 0 {
            by_time.iter().try_for_each(|arrival| self.writer.flow(&arrival.point, 0))?;
            return self.writer.begin(event, 0, detail, &flows);
        }
        self.writer.begin(event, overlap, detail, &flows)?;
        by_time.iter().try_for_each(|Arrival { point, .. }| {
            let flags = point.flags.with(EventFlags::BIND_ENCLOSING);
            self.writer.flow(&Event { ts_ns: event.ts_ns, flags, ..*point }, overlap)
        })
    }

    /// Writes the points that no span follows.
    fn write_remaining_arrivals(&mut self) -> io::Result<()> {
        let arriving = mem::take(&mut self.arriving);
        arriving.values().flatten().try_for_each(|arrival| self.writer.flow(&arrival.point, 0))
    }

    /// Records the time at which a point of a flow is written.
    fn passed_flow(&mut self, id: u64, ends: bool, ts_ns: i64) {
        if ends {
            self.flow_ns.remove(&id);
            self.bound_flows.remove(&id);
        } else {
            self.flow_ns.insert(id, ts_ns);
        }
    }

    /// Records the spans and instants with the same time, to which flows at that time may belong.
    fn find_owners(&mut self, pending: &[PendingEvent]) {
        self.owners.clear();
        if !pending.iter().any(|pending| is_point(&pending.event) || depth_around(&pending.event).is_some()) {
            return;
        }
        for (index, PendingEvent { event, .. }) in pending.iter().enumerate() {
            if event.kind == EventKind::Complete {
                self.owners.insert((event.track, Some(event.depth)), index);
            } else if event.kind == EventKind::Instant {
                self.owners.insert((event.track, None), index);
            }
        }
    }

    /// Writes a flow with its event, or before the end of the span around it.
    fn bind_flow(&mut self, pending: &mut [PendingEvent], index: usize) -> io::Result<()> {
        let event = pending[index].event;
        let Payload::Flow { id, .. } = event.payload() else { return Ok(()) };
        let point = FlowPoint::from_event(&event, None);
        let flow = FlowOf { id, ends: event.kind == EventKind::FlowEnd };
        let owner = match point.bound {
            FlowBound::Time => None,
            FlowBound::Span => point.depth.and_then(|depth| self.owners.get(&(event.track, Some(depth)))),
            FlowBound::Instant => self.owners.get(&(event.track, None)),
        };
        if let Some(&owner) = owner {
            pending[owner].flows.push(flow);
            pending[index].carrier = Some(owner);
            self.bound_flows.insert(id);
            return Ok(());
        }
        if !goes_last(&pending[index]) {
            return Ok(());
        }
        let overlap = point.depth.map_or(0, |depth| self.row_of(event.track, depth));
        let ending = self.ending_at((event.track, overlap), event.ts_ns, point.depth);
        if let Some(ending) = ending {
            pending[index].carrier = None;
            if point.bound == FlowBound::Span {
                ending.flows.push(flow);
                self.bound_flows.insert(id);
            } else {
                self.writer.flow(&event, overlap)?;
            }
            self.passed_flow(id, flow.ends, event.ts_ns);
        }
        Ok(())
    }

    /// Writes the instants in spans that end now, since readers would place them outside after the ends.
    fn instants_at_ends(&mut self, pending: &mut [PendingEvent], blobs: &[u8]) -> io::Result<()> {
        let depths =
            pending.iter().enumerate().filter_map(|(index, pending)| Some((depth_around(&pending.event)?, index)));
        let mut inside: Vec<_> = depths.collect();
        inside.sort_by_key(|&(around, _)| Reverse(around));
        for (around, index) in inside {
            let Event { track, ts_ns, .. } = pending[index].event;
            // Instants are on the track itself.
            let is_on_track = self.row_of(track, around) == 0;
            let begins_now = self.owners.contains_key(&(track, Some(around)));
            if is_on_track && !begins_now && self.ending_at((track, 0), ts_ns, Some(around)).is_some() {
                self.end_from(track, 0, |open| open.end_ns == Some(ts_ns) && open.depth > around)?;
                pending[index].carrier = None;
                self.instant(&pending[index], &blobs[pending[index].blob.clone()])?;
            }
        }
        Ok(())
    }

    fn instant(&mut self, PendingEvent { event, flows, .. }: &PendingEvent, blob: &[u8]) -> io::Result<()> {
        self.newest.insert(event.track, (event.ts_ns, self.innermost_row(event.track)));
        self.writer.instant(event, blob, flows)?;
        flows.iter().for_each(|flow| self.passed_flow(flow.id, flow.ends, event.ts_ns));
        Ok(())
    }

    /// Returns the span of a depth and a row that ends at a time.
    fn ending_at(&mut self, row: (TrackIdx, Overlap), ts_ns: i64, depth: Option<u16>) -> Option<&mut OpenSlice> {
        let depth = depth?;
        let row = self.open.get_mut(&row)?;
        // The spans of a row nest, so spans that end at one time are adjacent.
        let first = row.partition_point(|open| open.end_ns.is_none_or(|end_ns| end_ns > ts_ns));
        let ending = row[first..].partition_point(|open| open.end_ns == Some(ts_ns));
        row[first..first + ending].iter_mut().rev().find(|open| open.depth == depth)
    }

    /// Writes the ends before a time, or up to it.
    fn end_before(&mut self, ts_ns: i64, inclusive: bool) -> io::Result<()> {
        while let Some(Reverse(end)) = self.ends.peek() {
            let (end_ns, track, overlap) = (end.end_ns(), end.track, end.overlap);
            if end_ns > ts_ns || (end_ns == ts_ns && !inclusive) {
                break;
            }
            self.ends.pop();
            // Its children have ended, or end now.
            self.end_from(track, overlap, |open| open.end_ns.is_some_and(|open_ns| open_ns <= end_ns))?;
        }
        Ok(())
    }

    /// Ends the innermost spans of a row while they are `over`.
    fn end_from(&mut self, track: TrackIdx, overlap: Overlap, over: impl Fn(&OpenSlice) -> bool) -> io::Result<()> {
        let Some(row) = self.open.get_mut(&(track, overlap)) else { return Ok(()) };
        if !row.last().is_some_and(&over) {
            return Ok(());
        }
        while row.last().is_some_and(&over) {
            let Some(open) = row.pop() else { break };
            if overlap > 0 {
                self.beside.remove(&(track, open.depth));
            }
            let end = Event { ts_ns: open.event.end_ns(), ..open.event };
            self.writer.end(&end, overlap, open.thread_ns, &open.flows)?;
        }
        let end_ns = row.last().and_then(|open| open.end_ns);
        self.set_end(track, overlap, nesting_end_ns(end_ns));
        Ok(())
    }

    /// Records the end of the innermost span of a row.
    fn set_end(&mut self, track: TrackIdx, overlap: Overlap, end_ns: i64) {
        if let Some(ends) = self.row_ends.get_mut(&track) {
            ends.set(overlap as usize, end_ns);
        }
    }

    /// Returns the first row of a track on which a span nests until `end_ns`.
    fn row(&mut self, track: TrackIdx, end_ns: i64) -> usize {
        if let Some(ends) = self.row_ends.get_mut(&track) {
            return ends.first_around(end_ns);
        }
        let outer = self.open.get(&(track, 0)).and_then(|row| row.last());
        match outer.map(|outer| nesting_end_ns(outer.end_ns)) {
            Some(outer_ns) if outer_ns < end_ns => {
                self.row_ends.entry(track).or_insert(RowEnds::new(1, outer_ns)).first_around(end_ns)
            }
            _ => 0,
        }
    }

    /// Writes the begin of a span on the first row where it nests, and records its end. Fails if there are too many
    /// rows.
    fn begin(&mut self, pending: &PendingEvent, blob: &[u8]) -> Result<(), SinkError> {
        let span = &pending.event;
        let (start_ns, depth) = (span.ts_ns, span.depth);
        let is_unfinished = span.flags.has(EventFlags::UNFINISHED);
        let end_ns = (!is_unfinished).then(|| span.end_ns());
        // Zero-length spans at this time, which precede the new span. They nest in any open span, so on the first row.
        self.end_from(span.track, 0, |open| open.end_ns == Some(start_ns) && open.depth >= depth)?;
        let row = self.row(span.track, nesting_end_ns(end_ns));
        let overlap = Overlap::try_from(row).ok().filter(|&overlap| overlap <= OVERLAP_MAX);
        let overlap = overlap.ok_or(SinkError::TooManyOverlaps { ts_ns: start_ns })?;
        let detail = Detail::decode(blob);
        self.begin_with_flows(pending, overlap, &detail)?;
        let thread_ns = detail.thread_ts_ns.zip(detail.thread_dur_ns).and_then(|(ts, dur)| ts.checked_add(dur));
        let last_ns = end_ns.unwrap_or(i64::MAX).saturating_sub(1);
        self.newest.insert(span.track, (start_ns.max(last_ns), overlap));
        if overlap > 0 {
            self.beside.insert((span.track, depth), overlap);
        }
        self.last += 1;
        let open = OpenSlice { end_ns, depth, thread_ns, flows: Vec::new(), event: *span };
        self.open.entry((span.track, overlap)).or_default().push(open);
        self.set_end(span.track, overlap, nesting_end_ns(end_ns));
        if let Some(end_ns) = end_ns {
            self.ends.push(Reverse(SpanEnd::new(end_ns, depth, self.last, (span.track, overlap))));
        }
        Ok(())
    }
}

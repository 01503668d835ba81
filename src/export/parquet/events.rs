//! Converts events to table rows: columns and cells.

use parquet::data_type::ByteArray;
use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::event_table::EventTable;
use super::file::Kind::{Bool, Double, Int32, Int64, Rising, Text};
use super::file::{Column, ParquetCell};
use crate::model::args::Detail;
use crate::model::{Event, EventFlags, EventKind, Id, NameIdx, Payload, TrackIdx, TrackKind, TrackTables};
use crate::query::Snapshot;
use crate::query::last_spans::{LastSpan, LastSpans};
use crate::store::flow::FlowPoint;

/// The columns of spans, before the common ones.
const SPAN: &[Column] = &[Column("id", Rising, false), Column("parent_id", Int64, true)];
/// The time, which every table has.
const WHEN: &[Column] = &[Column("ts", Rising, false)];
const SPAN_SIZE: &[Column] = &[Column("dur", Int64, true), Column("depth", Int32, false)];
const COUNTER: &[Column] = &[Column("value", Double, false)];
const FLOW: &[Column] =
    &[Column("flow_id", Int64, false), Column("role", Text, false), Column("binds_enclosing", Bool, false)];
const SAMPLE: &[Column] = &[Column("stack_id", Int32, false)];
/// The innermost span around a point.
const AROUND: &[Column] = &[Column("span_id", Int64, true)];
const WHAT: &[Column] = &[
    Column("name", Text, false),
    Column("category", Text, true),
    Column("track_id", Int32, false),
    Column("pid", Int64, true),
    Column("tid", Int64, true),
    Column("process", Text, true),
    Column("thread", Text, true),
    Column("track", Text, true),
    Column("outside", Bool, false),
];
const DETAIL: &[Column] =
    &[Column("thread_ts", Int64, true), Column("thread_dur", Int64, true), Column("args", Text, true)];

/// Returns the columns of a table.
pub(super) fn columns(table: EventTable) -> Vec<Column> {
    match table {
        EventTable::Spans => [SPAN, WHEN, SPAN_SIZE, WHAT, DETAIL].concat(),
        EventTable::Instants => [WHEN, AROUND, WHAT, DETAIL].concat(),
        EventTable::Counters => [WHEN, COUNTER, WHAT, DETAIL].concat(),
        EventTable::Flows => [WHEN, FLOW, AROUND, WHAT].concat(),
        EventTable::Samples => [WHEN, SAMPLE, WHAT, DETAIL].concat(),
    }
}

/// Returns whether the duration of a span is too large for its column, which then contains the largest number.
pub(super) fn is_capped(event: &Event) -> bool {
    matches!(event.payload(), Payload::Span { dur_ns, is_unfinished: false } if i64::try_from(dur_ns).is_err())
}

/// Converts events in time order, with the span that each belongs to.
pub(super) struct EventCells<'a> {
    snapshot: &'a Snapshot,
    tables: &'a TrackTables,
    /// Cached texts and categories of names, so that a row costs a reference.
    names: Recent<NameIdx, (ByteArray, ParquetCell)>,
    tracks: Recent<TrackIdx, TrackCells>,
    /// The last span that started at each depth.
    latest: LastSpans,
    /// Number of spans, which is also the id of the next.
    spans: i64,
}

/// A cache by key, cleared when it holds [`Recent::MAX`] values.
struct Recent<K, V>(FxHashMap<K, V>);

impl<K: Hash + Eq, V> Recent<K, V> {
    /// The cells of a million threads or names would take 200 MB; the cells of a typical trace all fit. With texts and
    /// the table itself, this limit takes 5 MB.
    const MAX: usize = 1 << 14;

    fn get(&mut self, key: K, make: impl FnOnce() -> V) -> &V {
        if self.0.len() >= Self::MAX && !self.0.contains_key(&key) {
            self.0.clear();
        }
        self.0.entry(key).or_insert_with(make)
    }
}

struct TrackCells {
    pid: ParquetCell,
    tid: ParquetCell,
    process: ParquetCell,
    thread: ParquetCell,
    track: ParquetCell,
}

impl<'a> EventCells<'a> {
    /// Starts before the first event.
    pub(super) fn new(snapshot: &'a Snapshot, tables: &'a TrackTables) -> Self {
        Self {
            snapshot,
            tables,
            names: Recent(FxHashMap::default()),
            tracks: Recent(FxHashMap::default()),
            latest: LastSpans::default(),
            spans: 0,
        }
    }

    /// Appends the cells of an event to `row`.
    pub(super) fn row(&mut self, table: EventTable, event: &Event, blob: &[u8], row: &mut Vec<ParquetCell>) {
        match event.payload() {
            Payload::Span { dur_ns, is_unfinished } => {
                let (id, parent) = self.begin(event);
                let dur_ns = (!is_unfinished).then(|| i64::try_from(dur_ns).unwrap_or(i64::MAX));
                row.extend([ParquetCell::Int(id), ParquetCell::int_or_null(parent), ParquetCell::Int(event.ts_ns)]);
                row.extend([ParquetCell::int_or_null(dur_ns), ParquetCell::Int(event.depth.into())]);
            }
            Payload::Counter(value) => row.extend([ParquetCell::Int(event.ts_ns), ParquetCell::Number(value)]),
            Payload::Sample(stack) => row.extend([ParquetCell::Int(event.ts_ns), ParquetCell::Int(stack.0.into())]),
            Payload::Flow { id, binds_enclosing } => {
                let role = match event.kind {
                    EventKind::FlowStart => "start",
                    EventKind::FlowStep => "step",
                    _ => "end",
                };
                row.extend([ParquetCell::Int(event.ts_ns), ParquetCell::Int(id.cast_signed())]);
                row.extend([ParquetCell::Text(role.into()), ParquetCell::Flag(binds_enclosing)]);
                // The depth of a point also encodes its binding.
                row.push(self.around(event, FlowPoint::from_event(event, None).depth));
            }
            Payload::Instant
            | Payload::Begin { .. }
            | Payload::End { .. }
            | Payload::Async(_)
            | Payload::State { .. } => {
                row.extend([ParquetCell::Int(event.ts_ns), self.around(event, event.depth.checked_sub(1))]);
            }
        }
        self.what(event, row);
        if table != EventTable::Flows {
            let detail = Detail::decode(blob);
            row.extend([detail.thread_ts_ns, detail.thread_dur_ns].map(ParquetCell::int_or_null));
            row.push(ParquetCell::text_or_null(detail.args_json));
        }
    }

    fn what(&mut self, event: &Event, row: &mut Vec<ParquetCell>) {
        let (mut text, category) = self.name(event.name);
        let tables = self.tables;
        // Counters of some formats have the name of their track alone.
        if text.is_empty() && event.kind == EventKind::Counter {
            text = tables.tracks[event.track.index()].name.as_bytes().to_vec().into();
        }
        row.extend([ParquetCell::Text(text), category, ParquetCell::Int(event.track.0.into())]);
        let TrackCells { pid, tid, process, thread, track } =
            self.tracks.get(event.track, || TrackCells::from_track(tables, event.track));
        row.extend([pid, tid, process, thread, track].map(Clone::clone));
        row.push(ParquetCell::Flag(event.flags.has(EventFlags::OUTSIDE)));
    }

    fn name(&mut self, name: NameIdx) -> (ByteArray, ParquetCell) {
        let names = self.snapshot.names();
        let make = || {
            let name = names.get(name);
            (name.text.into(), name.category.map_or(ParquetCell::Null, |category| ParquetCell::Text(category.into())))
        };
        self.names.get(name, make).clone()
    }

    /// Assigns an id to a span. Returns it with the id of the innermost span that contains all of it.
    fn begin(&mut self, span: &Event) -> (i64, Option<i64>) {
        let id = self.spans;
        self.spans += 1;
        let end_ns = span.end_ns();
        let parent = self.latest.reaching(span.track, span.depth, end_ns).map(|parent| parent.id.cast_signed());
        let begun = LastSpan { id: id.cast_unsigned(), start_ns: span.ts_ns, end_ns };
        self.latest.put(span.track, span.depth, begun);
        (id, parent)
    }

    /// Returns the span at a depth around a point in time; null without a depth.
    fn around(&self, point: &Event, depth: Option<u16>) -> ParquetCell {
        let begun = depth.and_then(|depth| self.latest.at(point.track, depth));
        let around = begun.filter(|begun| begun.end_ns >= point.ts_ns);
        ParquetCell::int_or_null(around.map(|begun| begun.id.cast_signed()))
    }
}

impl TrackCells {
    /// Returns the cells of a track, all null if it does not exist.
    fn from_track(tables: &TrackTables, track: TrackIdx) -> Self {
        let Some(track) = tables.tracks.get(track.index()) else {
            return Self {
                pid: ParquetCell::Null,
                tid: ParquetCell::Null,
                process: ParquetCell::Null,
                thread: ParquetCell::Null,
                track: ParquetCell::Null,
            };
        };
        let process = tables.processes.get(track.process.index());
        let is_thread = track.key.kind == TrackKind::Thread;
        let name = ParquetCell::text_or_null(&track.name);
        let (thread, track_name) = if is_thread { (name, ParquetCell::Null) } else { (ParquetCell::Null, name) };
        Self {
            pid: number(&track.key.pid),
            tid: number(&track.key.tid),
            process: process.map_or(ParquetCell::Null, |process| ParquetCell::text_or_null(&process.name)),
            thread,
            track: track_name,
        }
    }
}

/// Returns the number of an id, also of one that several files have.
pub(super) fn number(id: &Id) -> ParquetCell {
    ParquetCell::int_or_null(id.number())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_several_files_have_keeps_its_number() {
        let cell = |id: Id| if let ParquetCell::Int(number) = number(&id) { Some(number) } else { None };
        let ids = [Id::Number(7), Id::Text("7 in client.json".into()), Id::Text("x".into()), Id::None];
        assert_eq!(ids.map(cell), [Some(7), Some(7), None, None]);
    }
}

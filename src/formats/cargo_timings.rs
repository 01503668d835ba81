//! The page of `cargo build --timings`. Its script has two lists as JSON: the units of the build, and the number of
//! units over time. A build is one process. Units have no threads, so parallel units are arranged in rows, as in the
//! log of Ninja. The parts of a unit are its children, and a flow leads from it to each unit that waited for it.

mod page;
mod unit;

use rustc_hash::FxHashMap;
use serde_json::value::RawValue;

use self::page::PageHead;
use self::unit::{BuildUnit, ConcurrencyPoint, Dependent};
use super::input::lines::Output;
use super::input::source::Source;
use super::json::document::{Document, Element, JsonExtent, TimeUnit};
use super::output::args::ArgsWriter;
use super::output::batch::{BatchBuilder, label};
use super::output::pack::PackedRows;
use super::{BatchSink, ReadContext, ReadError, Reader, StreamReader};
use crate::formats::format::{DataKind, Format, Opener};
use crate::model::{Event, EventFlags, EventKind, Id, Loss, Metadata, NameIdx, SourcePos, TrackKey, TrackKind};

pub(crate) const FORMAT: Format = Format {
    name: "Cargo timings",
    record: "A unit is an object of UNIT_DATA with i, name, version, target, start and duration.",
    sniff: page::is_page,
    is_event: None,
    live: None,
    shows: &[DataKind::Spans, DataKind::Counters, DataKind::Flows, DataKind::Arguments],
    opener: Opener::Trace(|source, _| Ok(Reader::stream(TimingsPage { source }))),
};

pub(crate) use page::is_page;

/// Limit for the units of one layout, which are in memory; larger builds are laid out in parts.
const UNITS_MAX: usize = 1 << 14;

/// Limit for the bytes of units that are laid out together.
const UNIT_BYTES_MAX: usize = 4 << 20;

/// Limit for units that wait for another unit; further units have no flow.
const WAITING_MAX: usize = 1 << 16;

/// Times of parts are rounded to hundredths of a second, so a part may end this much after its unit.
const ROUNDING_NS: i64 = 10_000_000;

/// Beginnings of the lists in the script.
const UNITS: &[u8] = b"const UNIT_DATA = ";
const CONCURRENCY: &[u8] = b"const CONCURRENCY_DATA = ";
const CPU_USAGE: &[u8] = b"const CPU_USAGE = ";
const SCRIPT_END: &[u8] = b"</script>";

/// Limit for the part of the page with its title and the start of the build.
const HEAD_BYTES_MAX: u64 = 1 << 16;

const ACTIVE: &str = "Active";
const WAITING: &str = "Waiting";
const INACTIVE: &str = "Inactive";
const USAGE: &str = "CPU usage";

/// The only process.
const BUILD: Id = Id::Number(1);

struct TimingsPage {
    source: Source,
}

impl StreamReader for TimingsPage {
    fn read(self: Box<Self>, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let document = Document::open(self.source, context)?;
        let whole = document.whole();
        let Some(units_at) = document.find(UNITS, whole.start)? else {
            return Err(document.without("a page of cargo with the list UNIT_DATA in a script"));
        };
        let mut batch = BatchBuilder::new(context.chunk_limits);
        let head_end = units_at.min(whole.start + HEAD_BYTES_MAX);
        let head = PageHead::from_text(&document.text(JsonExtent { start: whole.start, end: head_end })?);
        let name = label(head.name.as_bytes(), SourcePos::Offset(whole.start), batch.losses());
        batch.add_metadata(Metadata::ProcessName { pid: BUILD, name });
        let below_workers = |name| Metadata::TrackSortIndex { key: counter_key(name), sort_index: i64::from(u32::MAX) };
        batch.extend_metadata([ACTIVE, WAITING, INACTIVE, USAGE].map(below_workers));
        let mut layout = UnitLayout { start_ns: head.start_ns, ..UnitLayout::default() };
        let mut out = Output::new(&mut batch, sink, context);
        each(&document, units_at, &mut out, |element, batch| {
            if let Some(unit) = element.parse::<BuildUnit<'_>>(batch.losses()) {
                layout.add(&unit, element.text.len(), SourcePos::Offset(element.offset), batch);
            }
            if layout.is_full() {
                layout.lay_out(batch);
            }
        })?;
        layout.lay_out(out.batch);
        if !document.is_cut() {
            // Units that are not in the page.
            let unknown = layout.waiting_count as u64;
            out.batch.losses().add_many(Loss::BadFlow, SourcePos::Offset(units_at), unknown);
        }
        if let Some(start) = document.find(CONCURRENCY, units_at)? {
            each(&document, start, &mut out, |element, batch| {
                if let Some(point) = element.parse::<ConcurrencyPoint<'_>>(batch.losses()) {
                    layout.add_counts(&point, element.offset, batch);
                }
            })?;
        }
        if let Some(start) = document.find(CPU_USAGE, units_at)? {
            each(&document, start, &mut out, |element, batch| {
                if let Some((t, usage)) = element.parse::<(&RawValue, &RawValue)>(batch.losses()) {
                    layout.add_count((USAGE, "%"), Some(t), Some(usage), element.offset, batch);
                }
            })?;
        }
        if document.is_cut() || document.find(SCRIPT_END, units_at)?.is_none() {
            batch.lose(Loss::Truncated, SourcePos::Offset(whole.end));
        }
        batch.flush(sink)
    }
}

/// Passes each element of the list at an offset to `add`, and emits full batches. Counts a value of another type.
fn each(
    document: &Document,
    start: u64,
    out: &mut Output<'_>,
    mut add: impl FnMut(&Element<'_>, &mut BatchBuilder),
) -> Result<(), ReadError> {
    let list = JsonExtent { start, ..document.whole() };
    if !document.is_array(list)? && !document.is_cut() {
        out.batch.lose(Loss::BadRecord, list.pos());
    }
    let mut elements = document.elements(Some(list));
    while let Some(element) = elements.next()? {
        add(&element, out.batch);
        out.flush_if_full()?;
    }
    Ok(())
}

/// Arranges units in rows, and adds them as events.
#[derive(Debug, Default)]
struct UnitLayout {
    /// Start of the build; 0 if the page does not say it.
    start_ns: i64,
    units: Vec<PlacedUnit>,
    unit_bytes: usize,
    rows: PackedRows,
    rows_named: usize,
    /// The units that a unit waits for, by its number.
    waiting: FxHashMap<i64, Vec<DependencyFlow>>,
    waiting_count: usize,
    flows: u64,
    args: ArgsWriter,
}

/// A point from which a flow starts.
#[derive(Debug, Clone, Copy)]
struct DependencyFlow {
    row: usize,
    ts_ns: i64,
}

/// A unit with its times.
#[derive(Debug)]
struct PlacedUnit {
    number: Option<i64>,
    name: String,
    start_ns: i64,
    end_ns: i64,
    args: Box<str>,
    parts: Vec<UnitPart>,
    dependents: Vec<Dependent>,
    pos: SourcePos,
}

impl PlacedUnit {
    fn is_empty(&self) -> bool {
        self.start_ns == self.end_ns
    }
}

/// A part of a unit, such as its code generation.
#[derive(Debug)]
struct UnitPart {
    name: String,
    start_ns: i64,
    end_ns: i64,
}

impl UnitLayout {
    fn is_full(&self) -> bool {
        self.units.len() >= UNITS_MAX || self.unit_bytes >= UNIT_BYTES_MAX
    }

    /// Adds a unit to the next layout.
    fn add(&mut self, unit: &BuildUnit<'_>, text_bytes: usize, pos: SourcePos, batch: &mut BatchBuilder) {
        let seconds = |number: Option<&RawValue>| number.and_then(|number| TimeUnit::Seconds.nanos(number).ok());
        let start_ns = seconds(unit.start).and_then(|start_ns| start_ns.checked_add(self.start_ns));
        let Some(start_ns) = start_ns else { return batch.lose(Loss::BadTime, pos) };
        let dur_ns = seconds(unit.duration).unwrap_or_else(|| {
            batch.lose(Loss::BadNumber, pos);
            0
        });
        if dur_ns < 0 {
            batch.lose(Loss::NegativeDuration, pos);
        }
        let end_ns = start_ns.saturating_add(dur_ns.max(0));
        batch.losses().add_many(Loss::BadRecord, pos, unit.bad_count());
        let mut parts = Vec::new();
        for (name, from, to) in unit.parts() {
            let time = |number| seconds(number).map(|ns| start_ns.saturating_add(ns));
            let (Some(from_ns), Some(to_ns)) = (time(from), time(to).or(to.is_none().then_some(end_ns))) else {
                batch.lose(Loss::BadNumber, pos);
                continue;
            };
            let is_rounded = to_ns > end_ns && to_ns.saturating_sub(ROUNDING_NS) <= end_ns;
            let to_ns = if is_rounded { end_ns } else { to_ns };
            let from_ns = if is_rounded { from_ns.min(end_ns) } else { from_ns };
            if from_ns < to_ns {
                parts.push(UnitPart { name: name.to_owned(), start_ns: from_ns, end_ns: to_ns });
            }
        }
        unit.write_args(&mut self.args);
        let ready_ns =
            unit.rmeta_part().and_then(|name| parts.iter().find(|part| part.name == name)).map(|part| part.end_ns);
        let dependents = unit.dependents(end_ns, ready_ns.unwrap_or(end_ns));
        self.unit_bytes += text_bytes;
        let (number, args) = (unit.number(), self.args.finish().into());
        self.units.push(PlacedUnit { number, name: unit.title(), start_ns, end_ns, args, parts, dependents, pos });
    }

    /// Assigns units to rows in the order of their starts, and adds them to the batch.
    fn lay_out(&mut self, batch: &mut BatchBuilder) {
        self.unit_bytes = 0;
        let mut units = std::mem::take(&mut self.units);
        units.sort_by_key(|unit| unit.start_ns);
        self.rows.start_part();
        let rows: Vec<usize> = units.iter().map(|unit| self.rows.place(unit.start_ns, unit.end_ns)).collect();
        // A unit may wait for a later unit of the list with the same start.
        units.iter().zip(&rows).for_each(|(unit, row)| self.remember_dependents(unit, *row, batch));
        for (unit, row) in units.drain(..).zip(rows) {
            if row >= self.rows_named {
                self.rows_named = row + 1;
                let (tid, name) = (row_id(row), format!("Worker {}", row + 1).into());
                batch.add_metadata(Metadata::ThreadName { pid: BUILD, tid: tid.clone(), name });
                batch.add_metadata(Metadata::ThreadSortIndex { pid: BUILD, tid, sort_index: row as i64 });
            }
            let (track, name) = (batch.track_with(&row_key(row)), batch.name(unit.name.as_bytes(), None, unit.pos));
            let detail = batch.args(&unit.args);
            let value = unit.end_ns.abs_diff(unit.start_ns);
            batch.push(Event { value, detail, ..Event::new(unit.start_ns, EventKind::Complete, track, name) });
            self.add_flows(&unit, row, batch);
            for part in &unit.parts {
                let (name, value) =
                    (batch.name(part.name.as_bytes(), None, unit.pos), part.end_ns.abs_diff(part.start_ns));
                batch.push(Event { value, ..Event::new(part.start_ns, EventKind::Complete, track, name) });
            }
        }
        self.units = units;
    }

    /// Adds the flows to a unit.
    fn add_flows(&mut self, unit: &PlacedUnit, row: usize, batch: &mut BatchBuilder) {
        let before = unit.number.and_then(|number| self.waiting.remove(&number)).unwrap_or_default();
        self.waiting_count -= before.len();
        if unit.is_empty() {
            return;
        }
        let flags = EventFlags::BIND_ENCLOSING;
        for DependencyFlow { row: from, ts_ns } in before {
            self.flows += 1;
            let value = self.flows;
            let track = batch.track_with(&row_key(from));
            let ts_ns = ts_ns.min(unit.start_ns);
            batch.push(Event { value, flags, ..Event::new(ts_ns, EventKind::FlowStart, track, NameIdx::EMPTY) });
            let track = batch.track_with(&row_key(row));
            batch.push(Event { value, flags, ..Event::new(unit.start_ns, EventKind::FlowEnd, track, NameIdx::EMPTY) });
        }
    }

    /// Remembers the units that wait for a unit.
    fn remember_dependents(&mut self, unit: &PlacedUnit, row: usize, batch: &mut BatchBuilder) {
        // No time is within a unit whose rounded duration is 0.
        let dependents = if unit.is_empty() { &[] } else { &*unit.dependents };
        for dependent in dependents {
            if self.waiting_count >= WAITING_MAX {
                return batch.lose(Loss::OverLimit, unit.pos);
            }
            self.waiting_count += 1;
            // A flow starts within its span, not at its end.
            let ts_ns = dependent.ready_ns.saturating_sub(1).max(unit.start_ns);
            self.waiting.entry(dependent.number).or_default().push(DependencyFlow { row, ts_ns });
        }
    }

    /// Adds the numbers of units at a time.
    fn add_counts(&mut self, point: &ConcurrencyPoint<'_>, offset: u64, batch: &mut BatchBuilder) {
        let counts = [(ACTIVE, point.active), (WAITING, point.waiting), (INACTIVE, point.inactive)];
        for (name, count) in counts {
            self.add_count((name, "units"), point.t, count, offset, batch);
        }
    }

    /// Adds a value of a counter, which has a name and a unit.
    fn add_count(
        &mut self,
        (name, unit): (&str, &str),
        time: Option<&RawValue>,
        count: Option<&RawValue>,
        offset: u64,
        batch: &mut BatchBuilder,
    ) {
        let pos = SourcePos::Offset(offset);
        let ts_ns = time.and_then(|time| TimeUnit::Seconds.nanos(time).ok());
        let Some(ts_ns) = ts_ns.and_then(|ts_ns| ts_ns.checked_add(self.start_ns)) else {
            return batch.lose(Loss::BadTime, pos);
        };
        let count = count.and_then(|count| count.get().trim_matches('"').parse::<f64>().ok());
        let Some(count) = count.filter(|count| count.is_finite()) else {
            return batch.lose(Loss::BadCounter, pos);
        };
        let track = batch.counter_track(&counter_key(name), unit);
        batch.push(Event { value: count.to_bits(), ..Event::new(ts_ns, EventKind::Counter, track, NameIdx::EMPTY) });
    }
}

fn counter_key(name: &str) -> TrackKey {
    TrackKey { kind: TrackKind::Counter, pid: BUILD, tid: Id::None, name: name.into(), slot: 0 }
}

fn row_id(row: usize) -> Id {
    Id::Number(row as i64 + 1)
}

fn row_key(row: usize) -> TrackKey {
    TrackKey::thread(BUILD, row_id(row))
}

#[cfg(test)]
mod tests;

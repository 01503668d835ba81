//! Cost of nesting for the hardest shapes of traces: spans with the same time, overlaps, deep nesting, begins and ends
//! without partners, ends by name. Nanoseconds of wall time per event, for nesting and the store together. Measured
//! with a tenth of the events and with all of them: the two are about equal for every shape. Tests verify this by
//! counting steps.
//!
//! `cargo bench --no-default-features --bench nest -- [EVENTS]`

use std::io;
use std::sync::Arc;
use std::time::Instant;

use longspan::facade::base::budget::Budget;
use longspan::facade::ingest::heads::{HeadTable, OpenRun, Origin};
use longspan::facade::ingest::nest::Nester;
use longspan::facade::model::{
    Chunk, Event, EventFlags, EventKind, Id, NameIdx, Names, Registry, TrackIdx, TrackKey, TrackKind,
};
use longspan::facade::store::StoreWriter;

const EVENTS: u64 = 10_000_000;
const CHUNK_EVENTS: u64 = 1 << 16;
const NAMES: u64 = 1000;

/// Returns the kind, time, value and name index of event `k` of `count`.
type Shape = fn(k: u64, count: u64) -> (EventKind, u64, u64, u64);

const SHAPES: &[(&str, Shape)] = &[
    ("neighbours", |k, _| (EventKind::Complete, k * 10, 5, 0)),
    ("one start, longer and longer", |k, _| (EventKind::Complete, 0, k, 0)),
    ("one start, equal", |_, _| (EventKind::Complete, 0, 5, 0)),
    ("overlaps, 3,000 at once", |k, _| (EventKind::Complete, k, 3000, 0)),
    ("overlaps of all", |k, count| (EventKind::Complete, k, count, 0)),
    ("overlaps at random", |k, _| (EventKind::Complete, k, k * 7919 % 30_000, 0)),
    ("nested complete spans", |k, count| (EventKind::Complete, k, 2 * (count - k), 0)),
    ("nested begins and ends", |k, count| (half(k, count), k, 0, 0)),
    ("begins without ends", |k, _| (EventKind::Begin, k, 0, 0)),
    ("ends without begins", |k, _| (EventKind::End, k, 0, 0)),
    ("ends by name, outermost first", |k, count| (half(k, count), k, 0, k % (count / 2))),
    ("ends by name, 1,000 open", |k, _| match k / NAMES % 2 {
        0 => (EventKind::Begin, k, 0, k),
        _ => (EventKind::End, k, 0, k * 7919),
    }),
    ("begins and ends of one time", |k, count| (half(k, count), 0, 0, count - k)),
    ("flows within 30,000 begins", |k, _| match k {
        0..30_000 => (EventKind::Begin, k, 0, 0),
        _ => (EventKind::FlowStart, k, k, 0),
    }),
    ("asynchronous ids, all open", |k, _| (EventKind::AsyncBegin, k, k % 100_000, 0)),
];

/// Begins, followed by as many ends.
fn half(k: u64, count: u64) -> EventKind {
    if k < count / 2 { EventKind::Begin } else { EventKind::End }
}

fn main() -> io::Result<()> {
    let events = std::env::args().find_map(|word| word.parse().ok()).unwrap_or(EVENTS);
    println!("{:<34}{:>14}{:>14}", "ns an event", events / 10, events);
    for (name, shape) in SHAPES {
        let [few, many] = [events / 10, events].map(|events| nest(*shape, events));
        println!("{name:<34}{:>14.1}{:>14.1}", few?, many?);
    }
    Ok(())
}

/// Nests the events of a shape into a store, and returns the nanoseconds per event.
fn nest(shape: Shape, count: u64) -> io::Result<f64> {
    let mut names = Names::default();
    for name in 0..NAMES {
        names.intern(&format!("name {name}"), None);
    }
    let mut registry = Registry::default();
    let (pid, tid) = (Id::Number(1), Id::Number(1));
    registry.track(&TrackKey { kind: TrackKind::Thread, pid, tid, name: "".into(), slot: 0 });
    let (names, stacks) = (Arc::new(names), Arc::default());
    let mut writer = StoreWriter::new(tempfile::tempfile()?, 256 << 20)?;
    let mut nester = Nester::new(&mut writer, &names, &stacks, &mut registry);
    let mut ns = 0;
    for first in (0..count).step_by(CHUNK_EVENTS as usize) {
        let event_of = |k: u64| {
            let (kind, ts_ns, value, name) = shape(k, count);
            let name = NameIdx((name % NAMES + 1) as u32);
            let (track, flags) = (TrackIdx(0), EventFlags::NONE);
            Event { ts_ns: ts_ns as i64, value, track, name, detail: 0, depth: 0, kind, flags }
        };
        let events = (first..count.min(first + CHUNK_EVENTS)).map(event_of).collect();
        let chunk = Chunk { events, ..Chunk::default() };
        let mut table = HeadTable::default();
        let (origin, charge) = (Origin::One(0), Budget::default().charge(0));
        table.insert(OpenRun { chunk, origin, next: 0, rest: None, charge });
        let started = Instant::now();
        table.advance(None, |run| nester.add_run(&run)).map_or(Ok(()), |(taken, _)| taken)?;
        ns += started.elapsed().as_nanos();
    }
    let started = Instant::now();
    nester.finish()?;
    ns += started.elapsed().as_nanos();
    Ok(ns as f64 / count as f64)
}

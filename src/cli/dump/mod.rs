//! `longspan dump`: everything that is known of a capture, as JSON lines. One object a line, its kind under `t`:
//! process, thread, track, then slices (instants are slices without duration), what ran on CPUs, states of threads,
//! samples, counter values and flows in order of time, then losses. Times are in nanoseconds; numbers of things are
//! made up here and mean nothing elsewhere.

mod flat_args;
mod flows;
mod latest;

use std::cell::OnceCell;
use std::io::{self, Write};

use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use self::flows::FlowTracker;
use self::latest::Latest;
use super::args::Load;
use super::error::CliError;
use super::load::starting_over;
use super::stdout::rows_to_stdout;
use super::symbols::load_with_names;
use crate::base::escape::write_json;
use crate::model::args::Detail;
use crate::model::{Id, NameIdx, Sources, StackIdx, Track, TrackIdx, TrackKey, TrackKind};
use crate::query::Snapshot;
use crate::query::last_spans::LastSpan;
use crate::query::rows::{SortedRow, SortedRows};
use crate::store::details::DetailReader;
use crate::store::flow::FlowPoint;
use crate::store::{DetailRef, LaneKind};

/// Prints everything that is known of a capture.
pub(super) fn print(sources: &Sources, how: &Load) -> Result<(), CliError> {
    starting_over(sources, how, |how| print_once(sources, how))
}

fn print_once(sources: &Sources, how: &Load) -> Result<(), CliError> {
    let snapshot = load_with_names(sources, how)?;
    rows_to_stdout(snapshot.store(), |out| {
        tables(&snapshot, out)?;
        let mut dump = Dump::new(&snapshot, out);
        for row in SortedRows::new(&snapshot, snapshot.capture_lanes(), None, None) {
            dump.row(&row)?;
        }
        losses(&snapshot, out)?;
        Ok(())
    })
}

fn line(out: &mut dyn Write, object: &Value) -> io::Result<()> {
    write_json(&mut *out, object)?;
    out.write_all(b"\n")
}

fn tables(snapshot: &Snapshot, out: &mut dyn Write) -> io::Result<()> {
    let tables = snapshot.tracks();
    for (upid, process) in (1u32..).zip(&tables.processes) {
        let (pid, name) = (id_value(&process.pid), text_or_null(&process.name));
        let args = sort_hint("process_sort_index_hint", process.sort_index);
        line(out, &json!({"t": "process", "upid": upid, "pid": pid, "name": name, "args": args}))?;
    }
    // Asynchronous events are on the tracks of their trees; that which the trace gives them holds nothing then.
    let is_empty_group =
        |id: u32, track: &Track| track.key.kind == TrackKind::Async && snapshot.lanes_of(TrackIdx(id - 1)).is_empty();
    let tracks = (1u32..).zip(&tables.tracks).filter(|(_, track)| !track.key.kind.is_derived());
    let tracks = tracks.filter(|(id, track)| !is_empty_group(*id, track));
    for (id, track) in tracks {
        let is_thread = track.key.kind == TrackKind::Thread;
        let (pid, tid, upid) = (&track.key.pid, &track.key.tid, track.process.0 + 1);
        if is_thread {
            let is_main = u8::from(pid == tid);
            let name = text_or_null(&track.name);
            let (tid, args) = (id_value(tid), sort_hint("thread_sort_index_hint", track.sort_index));
            let thread = json!({
                "t": "thread", "utid": id, "tid": tid, "name": name, "upid": upid, "main": is_main, "args": args
            });
            line(out, &thread)?;
        }
        line(
            out,
            &json!({
                "t": "track",
                "id": id,
                "name": if is_thread { Value::Null } else { text_or_null(&track.name) },
                "type": track_type(track),
                "utid": is_thread.then_some(id),
                "upid": (!is_thread && *pid != Id::None).then_some(upid),
                "parent": null,
                "counter": u8::from(track.key.kind == TrackKind::Counter),
                "unit": null,
            }),
        )?;
    }
    Ok(())
}

/// The order of a process or a thread as the trace gives it, with the name that Perfetto has for it; null without one.
fn sort_hint(name: &str, sort_index: i64) -> Value {
    if sort_index == 0 { Value::Null } else { json!([[name, sort_index]]) }
}

/// The name that Perfetto has for a track of this kind: scripts made for Perfetto rely on it.
fn track_type(track: &Track) -> &'static str {
    match (track.key.kind, &track.key.pid) {
        (TrackKind::Thread, _) => "thread_execution",
        (TrackKind::Global, _) => "legacy_chrome_global_instants",
        (TrackKind::Process, _) => "chrome_process_instant",
        (TrackKind::Async, Id::None) => "legacy_async_global_slice",
        (TrackKind::Async, _) => "legacy_async_process_slice",
        (TrackKind::Counter, _) => "chrome_process_counter",
        (TrackKind::Samples, _) => "samples",
        (TrackKind::Cpu, _) => "cpu_sched",
        (TrackKind::State, _) => "thread_state",
    }
}

fn losses(snapshot: &Snapshot, out: &mut dyn Write) -> io::Result<()> {
    for lost in snapshot.losses().iter() {
        let (first, name) = (lost.first.to_string(), lost.loss.name());
        line(out, &json!({"t": "loss", "file": lost.file, "name": name, "count": lost.count, "first": first}))?;
    }
    Ok(())
}

/// Writes rows that come in order of time.
struct Dump<'a> {
    snapshot: &'a Snapshot,
    out: &'a mut dyn Write,
    details: DetailReader,
    latest: Latest,
    flows: FlowTracker,
    /// The numbers of threads, once a row asks for one: for each of a million threads the look-up takes 40 bytes.
    utids: OnceCell<FxHashMap<(i64, i64), u32>>,
    /// The number of the slice before.
    slice: u64,
    connections: Vec<flows::Connection>,
}

impl<'a> Dump<'a> {
    fn new(snapshot: &'a Snapshot, out: &'a mut dyn Write) -> Self {
        Self {
            snapshot,
            out,
            details: DetailReader::default(),
            latest: Latest::default(),
            flows: FlowTracker::default(),
            utids: OnceCell::new(),
            slice: 0,
            connections: Vec::new(),
        }
    }

    fn row(&mut self, row: &SortedRow) -> io::Result<()> {
        let lane = self.snapshot.lane(row.index.lane);
        let kind = self.snapshot.track(lane.track).key.kind;
        match row.kind {
            LaneKind::Spans if kind == TrackKind::Cpu => self.sched(row, lane.track)?,
            LaneKind::Spans if kind == TrackKind::State => self.state(row, lane.track)?,
            LaneKind::Spans => {
                let id = self.slice(row, lane.track, lane.depth, row.row.value)?;
                let end_ns = row.row.start_ns.saturating_add_unsigned(row.row.value);
                self.latest.put(lane.track, lane.depth, LastSpan { id, start_ns: row.row.start_ns, end_ns });
                self.flows.span(lane.track, row.row.start_ns, id, &mut self.connections);
            }
            LaneKind::Instants => {
                let depth = u16::try_from(row.row.value).unwrap_or(u16::MAX);
                let id = self.slice(row, lane.track, depth, 0)?;
                self.latest.put_instant(lane.track, id, row.row.start_ns);
            }
            LaneKind::Samples => self.sample(row, lane.track)?,
            LaneKind::Counter => {
                let value = f64::from_bits(row.row.value);
                line(
                    self.out,
                    &json!({"t": "counter", "ts": row.row.start_ns, "track": lane.track.0 + 1, "value": value}),
                )?;
            }
            LaneKind::Flows => {
                let at = (lane.track, row.row.start_ns);
                let point = FlowPoint::from_bits(row.row.detail);
                self.flows.point(at, row.row.value, point, &self.latest, &mut self.connections);
            }
        }
        for (from, to) in self.connections.drain(..) {
            line(self.out, &json!({"t": "flow", "out": from, "in": to}))?;
        }
        Ok(())
    }

    /// The number of the thread with these ids.
    fn utid(&self, ids: (i64, i64)) -> Option<u32> {
        let utids = self.utids.get_or_init(|| {
            let tracks = (1u32..).zip(&self.snapshot.tracks().tracks);
            let threads = tracks.filter(|(_, track)| track.key.kind == TrackKind::Thread);
            threads.filter_map(|(id, track)| Some((ids_of(&track.key)?, id))).collect()
        });
        utids.get(&ids).copied()
    }

    /// Writes what ran on a CPU.
    fn sched(&mut self, row: &SortedRow, track: TrackIdx) -> io::Result<()> {
        let blob = self.snapshot.store().detail(DetailRef(row.row.detail), &mut self.details);
        let args: Value = serde_json::from_str(Detail::decode(blob).args_json).unwrap_or_default();
        let utid = args["pid"].as_i64().zip(args["tid"].as_i64()).and_then(|ids| self.utid(ids));
        let object = json!({
            "t": "sched",
            "ts": row.row.start_ns,
            "dur": dur_value(row),
            "cpu": id_value(&self.snapshot.track(track).key.tid),
            "utid": utid,
            "end_state": args["end_state"],
            "priority": args["prio"],
        });
        line(self.out, &object)
    }

    /// Writes what a thread was about, by the letters of the kernel.
    fn state(&mut self, row: &SortedRow, track: TrackIdx) -> io::Result<()> {
        let key = &self.snapshot.track(track).key;
        let utid = ids_of(key).and_then(|ids| self.utid(ids));
        let name = self.snapshot.names().get(NameIdx(row.row.name));
        let (ts, state) = (row.row.start_ns, name.category);
        line(self.out, &json!({"t": "state", "ts": ts, "dur": dur_value(row), "utid": utid, "state": state}))
    }

    /// Writes a sample, its stack innermost frame first.
    fn sample(&mut self, row: &SortedRow, track: TrackIdx) -> io::Result<()> {
        let names = self.snapshot.names();
        let stack = self.snapshot.frames(StackIdx::from_value(row.row.value)).map(|name| names.get(name).text);
        let stack: Vec<&str> = stack.collect();
        let mut object = json!({"t": "sample", "ts": row.row.start_ns, "utid": track.0 + 1, "stack": stack});
        let blob = self.snapshot.store().detail(DetailRef(row.row.detail), &mut self.details);
        let args = flat_args::flat_args(Detail::decode(blob).args_json);
        if !args.is_empty() {
            object["args"] = json!(args);
        }
        line(self.out, &object)
    }

    /// Writes a span or an instant, and returns its number.
    fn slice(&mut self, row: &SortedRow, track: TrackIdx, depth: u16, dur_ns: u64) -> io::Result<u64> {
        let (start_ns, name) = (row.row.start_ns, self.snapshot.names().get(NameIdx(row.row.name)));
        let end_ns = start_ns.saturating_add_unsigned(dur_ns);
        let parent = self.latest.parent(track, depth, start_ns, end_ns);
        let blob = self.snapshot.store().detail(DetailRef(row.row.detail), &mut self.details);
        let detail = Detail::decode(blob);
        self.slice += 1;
        line(
            self.out,
            &json!({
                "t": "slice",
                "id": self.slice,
                "ts": start_ns,
                "dur": if row.unfinished { json!(-1) } else { json!(dur_ns) },
                "name": name.text,
                "cat": name.category,
                "track": track.0 + 1,
                "depth": depth,
                "parent": parent,
                "thread_ts": detail.thread_ts_ns,
                "thread_dur": detail.thread_dur_ns,
                "args": flat_args::flat_args(detail.args_json),
            }),
        )?;
        Ok(self.slice)
    }
}

/// -1: it has no end in the capture.
fn dur_value(row: &SortedRow) -> Value {
    if row.unfinished { json!(-1) } else { json!(row.row.value) }
}

/// Process and thread, where both are numbers.
fn ids_of(key: &TrackKey) -> Option<(i64, i64)> {
    match (&key.pid, &key.tid) {
        (&Id::Number(pid), &Id::Number(tid)) => Some((pid, tid)),
        _ => None,
    }
}

fn id_value(id: &Id) -> Value {
    match id {
        Id::None => Value::Null,
        Id::Number(number) => Value::from(*number),
        Id::Text(text) => Value::from(&**text),
    }
}

fn text_or_null(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { Value::from(text) }
}

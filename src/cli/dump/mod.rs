//! `longspan dump`: everything known about a trace, as JSON lines. Each object has its kind under `t`.
//!
//! Processes, threads, tracks, CPUs and facts about the recording (`metadata`) come first. Slices (instants are slices
//! without duration), CPU runs, thread states, samples, counter values and flows follow in time order; losses are last.
//! Times are in nanoseconds; ids are assigned here and mean nothing elsewhere. Tables, kinds and columns are those of
//! Perfetto.

mod flat_args;
mod flows;
mod latest;
mod lines;
mod tables;

use std::cell::OnceCell;
use std::io::{self, Write};

use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use self::flows::FlowTracker;
use self::latest::Latest;
use self::lines::{DumpedCounter, DumpedSlice, id_value, line};
use self::tables::Utids;
use super::args::ImportArgs;
use super::error::CliError;
use super::load::retry_if_damaged;
use super::stdout::rows_to_stdout;
use super::symbols::load_with_names;
use crate::model::args::Detail;
use crate::model::{Id, NameIdx, Sources, StackIdx, Track, TrackIdx, TrackKey, TrackKind};
use crate::query::Snapshot;
use crate::query::last_spans::LastSpan;
use crate::query::overlay::FrameLine;
use crate::query::rows::{SortedRow, SortedRows};
use crate::store::details::DetailReader;
use crate::store::flow::FlowPoint;
use crate::store::{DetailRef, LaneKind};

/// Names of no state: a thread that left none, and one whose state no event tells.
const NO_STATES: [&str; 2] = ["", "Unknown"];

/// Prints everything known about a trace.
pub(super) fn print(sources: &Sources, import: &ImportArgs) -> Result<(), CliError> {
    retry_if_damaged(sources, import, |import| print_once(sources, import))
}

fn print_once(sources: &Sources, import: &ImportArgs) -> Result<(), CliError> {
    let snapshot = load_with_names(sources, import)?;
    rows_to_stdout(&snapshot, |out| {
        let utids = tables::print(&snapshot, out)?;
        let mut dump = Dump::new(&snapshot, &utids, out);
        for row in SortedRows::new(&snapshot, snapshot.event_lanes(), None, None) {
            dump.row(&row)?;
        }
        dump.end_time()?;
        losses(&snapshot, out)?;
        Ok(())
    })
}

fn losses(snapshot: &Snapshot, out: &mut dyn Write) -> io::Result<()> {
    for lost in snapshot.losses().iter() {
        let (first, name) = (lost.first.to_string(), lost.loss.name());
        line(out, &json!({"t": "loss", "file": lost.file, "name": name, "count": lost.count, "first": first}))?;
    }
    Ok(())
}

/// Writes rows that come in time order.
struct Dump<'a> {
    snapshot: &'a Snapshot,
    out: &'a mut dyn Write,
    details: DetailReader,
    latest: Latest,
    flows: FlowTracker,
    utids: &'a Utids,
    /// Ids of threads, built on the first use: the look-up takes 40 bytes for each of a million threads.
    utids_by_ids: OnceCell<FxHashMap<(&'a Id, &'a Id), u32>>,
    /// The first thread of each number in a file and on a host, built on the first use.
    first_utids: OnceCell<FxHashMap<(Option<&'a str>, i64), u32>>,
    /// The time of the last row.
    ts_ns: i64,
    /// States at that time, which wait for the CPUs of their threads.
    held_states: Vec<HeldState>,
    /// CPUs of threads that started to run at that time.
    cpus: FxHashMap<u32, Value>,
    /// Id of the next slice.
    slice: u64,
    connections: Vec<flows::Connection>,
}

/// A state that is not written yet.
struct HeldState {
    utid: Option<u32>,
    line: Value,
}

impl<'a> Dump<'a> {
    fn new(snapshot: &'a Snapshot, utids: &'a Utids, out: &'a mut dyn Write) -> Self {
        Self {
            snapshot,
            out,
            utids,
            details: DetailReader::default(),
            latest: Latest::default(),
            flows: FlowTracker::default(),
            utids_by_ids: OnceCell::new(),
            first_utids: OnceCell::new(),
            ts_ns: i64::MIN,
            held_states: Vec::new(),
            cpus: FxHashMap::default(),
            slice: 0,
            connections: Vec::new(),
        }
    }

    fn row(&mut self, row: &SortedRow) -> io::Result<()> {
        if self.ts_ns != row.row.start_ns {
            self.end_time()?;
            self.ts_ns = row.row.start_ns;
        }
        let lane = self.snapshot.lane(row.index.lane);
        let kind = self.snapshot.track(lane.track).key.kind;
        match row.kind {
            LaneKind::Spans if kind == TrackKind::Cpu => self.sched(row, lane.track)?,
            LaneKind::Spans if kind == TrackKind::State => self.state(row, lane.track),
            LaneKind::Spans => {
                let id = self.slice(row, lane.track, lane.depth, row.row.value)?;
                let end_ns = row.row.start_ns.saturating_add_unsigned(row.row.value);
                self.latest.put(lane.track, lane.depth, LastSpan { id, start_ns: row.row.start_ns, end_ns });
                if row.unfinished {
                    self.latest.mark_unfinished(lane.track, lane.depth);
                }
                self.flows.span(lane.track, row.row.start_ns, id, &mut self.connections);
            }
            LaneKind::Instants => {
                let id = self.slice(row, lane.track, row.row.instant_depth(), 0)?;
                self.latest.put_instant(lane.track, id, row.row.start_ns);
            }
            LaneKind::Samples => self.sample(row, lane.track)?,
            LaneKind::Counter => {
                let value = f64::from_bits(row.row.value);
                let (ts, track) = (row.row.start_ns, lane.track.0 + 1);
                let blob = self.snapshot.store().detail(DetailRef(row.row.detail), &mut self.details);
                let args = flat_args::flat_args(Detail::decode(blob).args_json);
                line(self.out, &DumpedCounter { t: "counter", ts, track, value, args })?;
            }
            LaneKind::Flows => {
                let track_and_time = (lane.track, row.row.start_ns);
                let point = FlowPoint::from_bits(row.row.detail);
                self.flows.point(track_and_time, row.row.value, point, &self.latest, &mut self.connections);
            }
        }
        self.connections()
    }

    /// Writes the lines that wait for all rows of one time.
    fn end_time(&mut self) -> io::Result<()> {
        self.flows.connect(&self.latest, &mut self.connections);
        self.connections()?;
        self.states()
    }

    fn connections(&mut self) -> io::Result<()> {
        for (from, to) in self.connections.drain(..) {
            line(self.out, &json!({"t": "flow", "out": from, "in": to}))?;
        }
        Ok(())
    }

    /// Returns the dump's id of the thread with these ids.
    fn utid(&self, pid: &Id, tid: &Id) -> Option<u32> {
        let utids = self
            .utids_by_ids
            .get_or_init(|| self.threads().map(|(track, utid)| ((&track.key.pid, &track.key.tid), utid)).collect());
        utids.get(&(pid, tid)).copied()
    }

    /// Returns the dump's id of the first thread with this number in the file and on the host of a track.
    fn first_utid(&self, key: &TrackKey, tid: i64) -> Option<u32> {
        let utids = self.first_utids.get_or_init(|| {
            let mut utids = FxHashMap::default();
            for (Track { key, .. }, utid) in self.threads() {
                if let Some(tid) = key.tid.number() {
                    utids.entry((key.id_suffix(), tid)).or_insert(utid);
                }
            }
            utids
        });
        utids.get(&(key.id_suffix(), tid)).copied()
    }

    /// Iterates over the tracks of threads, with the dump's ids of these.
    fn threads(&self) -> impl Iterator<Item = (&'a Track, u32)> + use<'a, '_> {
        let tracks = (0u32..).map(TrackIdx).zip(&self.snapshot.tracks().tracks);
        let threads = tracks.filter(|(_, track)| track.key.kind == TrackKind::Thread);
        threads.filter_map(|(row, track)| Some((track, self.utids.get(row)?)))
    }

    /// Returns the thread with the ids in the arguments of a row, in the file and on the host of the row's track.
    fn utid_in_args(&self, args: &Value, [pid, tid]: [&str; 2], key: &TrackKey) -> Option<u32> {
        let (pid, tid) = (args[pid].as_i64()?, args[tid].as_i64()?);
        let in_process = self.utid(&key.id_beside(pid), &Id::Number(tid));
        // A thread counts as its own process until an event states that, so this may be the first thread of the number.
        in_process.or_else(|| self.first_utid(key, tid).filter(|_| pid == tid))
    }

    /// Writes a CPU run, as a line of type `sched`.
    fn sched(&mut self, row: &SortedRow, track: TrackIdx) -> io::Result<()> {
        let args = self.args(row);
        let key = &self.snapshot.track(track).key;
        let utid = self.utid_in_args(&args, ["pid", "tid"], key);
        let cpu = id_value(&key.tid.number().map_or_else(|| key.tid.clone(), |number| key.id_beside(number)));
        if let Some(utid) = utid {
            self.cpus.insert(utid, cpu.clone());
        }
        let object = json!({
            "t": "sched",
            "ts": row.row.start_ns,
            "dur": dur_value(row),
            "cpu": cpu,
            "utid": utid,
            "end_state": args["end_state"],
            "priority": args["prio"],
        });
        line(self.out, &object)
    }

    /// Records the state of a thread, by the letters of the kernel.
    fn state(&mut self, row: &SortedRow, track: TrackIdx) {
        let key = &self.snapshot.track(track).key;
        let utid = self.utid(&key.pid, &key.tid);
        let name = self.snapshot.names().get(NameIdx(row.row.name));
        let (ts, state) =
            (row.row.start_ns, Some(name.category.unwrap_or(name.text)).filter(|state| !NO_STATES.contains(state)));
        let mut line = json!({"t": "thread_state", "ts": ts, "dur": dur_value(row), "utid": utid, "state": state});
        let args = self.args(row);
        for name in ["cpu", "io_wait", "blocked_function"] {
            if let Some(value) = args.get(name) {
                line[name] = value.clone();
            }
        }
        if let Some(waker_tid) = args["waker_tid"].as_i64() {
            // The idle thread of each CPU is the first.
            let waker = || self.utid_in_args(&args, ["waker_pid", "waker_tid"], key);
            line["waker_utid"] = if waker_tid == 0 { json!(0) } else { json!(waker()) };
        }
        self.held_states.push(HeldState { utid, line });
    }

    /// Writes the states with the same time. A thread that starts to run at this time gets its CPU from the run.
    fn states(&mut self) -> io::Result<()> {
        for HeldState { utid, line: mut state } in self.held_states.drain(..) {
            if state["state"] == "Running"
                && let Some(cpu) = utid.and_then(|utid| self.cpus.get(&utid))
            {
                (state["cpu"], state["ucpu"]) = (cpu.clone(), cpu.clone());
            }
            line(self.out, &state)?;
        }
        self.cpus.clear();
        Ok(())
    }

    /// Returns the arguments of a row; null without any.
    fn args(&mut self, row: &SortedRow) -> Value {
        let blob = self.snapshot.store().detail(DetailRef(row.row.detail), &mut self.details);
        serde_json::from_str(Detail::decode(blob).args_json).unwrap_or_default()
    }

    /// Writes a sample, with the innermost frame of its stack first.
    fn sample(&mut self, row: &SortedRow, track: TrackIdx) -> io::Result<()> {
        let names = self.snapshot.names();
        let stack_idx = StackIdx::from_value(row.row.value);
        let stack: Vec<&str> = self.snapshot.frames(stack_idx).map(|name| names.get(name).text).collect();
        let mut object = json!({"t": "sample", "ts": row.row.start_ns, "utid": self.utids.get(track), "stack": stack});
        let positions = source_positions(self.snapshot, stack_idx);
        if positions.iter().any(Option::is_some) {
            object["source"] = json!(positions);
        }
        let blob = self.snapshot.store().detail(DetailRef(row.row.detail), &mut self.details);
        let args = flat_args::flat_args(Detail::decode(blob).args_json);
        if !args.is_empty() {
            object["args"] = json!(args);
        }
        line(self.out, &object)
    }

    /// Writes a span or an instant, and returns its id.
    fn slice(&mut self, row: &SortedRow, track: TrackIdx, depth: u16, dur_ns: u64) -> io::Result<u64> {
        let (start_ns, name) = (row.row.start_ns, self.snapshot.names().get(NameIdx(row.row.name)));
        let end_ns = start_ns.saturating_add_unsigned(dur_ns);
        let parent = self.latest.parent(track, depth, start_ns, end_ns);
        let blob = self.snapshot.store().detail(DetailRef(row.row.detail), &mut self.details);
        let detail = Detail::decode(blob);
        let id = self.slice;
        self.slice += 1;
        let slice = DumpedSlice {
            t: "slice",
            id,
            ts: start_ns,
            dur: if row.unfinished { -1 } else { dur_ns.into() },
            name: name.text,
            cat: name.category,
            track: track.0 + 1,
            depth,
            parent,
            thread_ts: detail.thread_ts_ns,
            thread_dur: detail.thread_dur_ns,
            args: flat_args::flat_args(detail.args_json),
        };
        line(self.out, &slice)?;
        Ok(id)
    }
}

/// Returns the source position of each function of a stack, innermost first; `None` where it is unknown.
fn source_positions(snapshot: &Snapshot, stack: StackIdx) -> Vec<Option<String>> {
    let Some(overlay) = snapshot.overlay() else { return Vec::new() };
    let position = |line: &FrameLine| match (overlay.lines.file(*line), line.line) {
        ("", _) => None,
        (file, 0) => Some(file.to_owned()),
        (file, line) => Some(format!("{file}:{line}")),
    };
    let mut positions = Vec::new();
    for frame in overlay.frames(snapshot.raw_stacks(), stack) {
        positions.extend(frame.functions.iter().map(position));
        positions.extend(frame.functions.is_empty().then_some(None));
    }
    positions
}

/// Returns the duration, or -1 without an end in the trace.
fn dur_value(row: &SortedRow) -> Value {
    if row.unfinished { json!(-1) } else { json!(row.row.value) }
}

#[cfg(test)]
mod tests;

//! The processes, threads and tracks of a dump, numbered and named as Perfetto's tables have them. Process 0 with its
//! thread `swapper` is the idle task of each CPU. Each process has the thread that it began with, whose number is its
//! own, whether or not that has events. A process without a number and a name is none.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::lines::{id_value, ids_of, line};
use crate::model::{Id, Process, Track, TrackIdx, TrackKind, TrackTables};
use crate::query::Snapshot;

/// The numbers of threads, by their tracks.
#[derive(Debug)]
pub(super) struct Utids(Vec<u32>);

impl Utids {
    /// The number of the thread of a track.
    pub(super) fn of(&self, track: TrackIdx) -> Option<u32> {
        self.0.get(track.index()).copied().filter(|&utid| utid != NO_THREAD)
    }
}

/// The number of a track that is no thread's.
const NO_THREAD: u32 = u32::MAX;

pub(super) fn print(snapshot: &Snapshot, out: &mut dyn Write) -> io::Result<Utids> {
    let tables = snapshot.tracks();
    let mut writer = DumpWriter {
        tables,
        out,
        utids: vec![NO_THREAD; tables.tracks.len()],
        has_main: vec![false; tables.processes.len()],
        mains: main_threads(tables),
        last: 0,
    };
    writer.processes()?;
    // Asynchronous events are on the tracks of their trees; that which the trace gives them holds nothing then.
    let is_empty_group =
        |row: TrackIdx, track: &Track| track.key.kind == TrackKind::Async && snapshot.lanes_of(row).is_empty();
    let tracks = (0u32..).map(TrackIdx).zip(&tables.tracks).filter(|(_, track)| !track.key.kind.is_derived());
    let tracks = tracks.filter(|(row, track)| !is_empty_group(*row, track));
    for (row, track) in tracks {
        writer.main_thread(track.process.index())?;
        if track.key.kind == TrackKind::Thread {
            writer.thread(row, track)?;
        }
        writer.track(row, track)?;
    }
    (0..tables.processes.len()).try_for_each(|process| writer.main_thread(process))?;
    Ok(Utids(writer.utids))
}

/// By process: the track of the thread that it began with.
fn main_threads(tables: &TrackTables) -> Vec<Option<TrackIdx>> {
    let mut mains = vec![None; tables.processes.len()];
    for (row, track) in (0u32..).map(TrackIdx).zip(&tables.tracks) {
        let is_main = track.key.kind == TrackKind::Thread && pid_value(&track.key.pid) == id_value(&track.key.tid);
        if let Some(main) = mains.get_mut(track.process.index()).filter(|main| is_main && main.is_none()) {
            *main = Some(row);
        }
    }
    mains
}

struct DumpWriter<'a> {
    tables: &'a TrackTables,
    out: &'a mut dyn Write,
    /// The `utid` of each track, by index.
    utids: Vec<u32>,
    /// By process: whether the thread that it began with is written.
    has_main: Vec<bool>,
    mains: Vec<Option<TrackIdx>>,
    /// The number of the thread before.
    last: u32,
}

impl DumpWriter<'_> {
    fn processes(&mut self) -> io::Result<()> {
        let tables = self.tables;
        let idle = tables.processes.iter().find(|process| process.pid == Id::Number(0));
        let name = idle.map_or("", |process| &*process.name);
        self.process(0, &Id::Number(0), name, idle.map_or(0, |process| process.sort_index))?;
        // Its thread, if the trace has it, takes the name that the trace gives.
        let is_idle = |track: &&Track| track.key.kind == TrackKind::Thread && (0, 0) == ids(track).unwrap_or((-1, -1));
        if tables.tracks.iter().find(is_idle).is_none() {
            let thread =
                json!({"t": "thread", "utid": 0, "tid": 0, "name": "swapper", "upid": 0, "main": 1, "args": null});
            line(self.out, &thread)?;
        }
        for (upid, process) in (1u32..).zip(&tables.processes) {
            if process.pid != Id::Number(0) && !is_none(process) {
                self.process(upid, &process.pid, &process.name, process.sort_index)?;
            }
        }
        Ok(())
    }

    fn process(&mut self, upid: u32, pid: &Id, name: &str, sort_index: i64) -> io::Result<()> {
        let (pid, name) = (pid_value(pid), text_or_null(name));
        let args = sort_hint("process_sort_index_hint", sort_index);
        line(self.out, &json!({"t": "process", "upid": upid, "pid": pid, "name": name, "args": args}))
    }

    /// The number of a track's process; null if that is none.
    fn upid(&self, track: &Track) -> Value {
        match self.tables.processes.get(track.process.index()) {
            Some(process) if process.pid == Id::Number(0) => 0.into(),
            Some(process) if !is_none(process) => (track.process.0 + 1).into(),
            _ => Value::Null,
        }
    }

    /// Writes the thread that a process began with, once.
    fn main_thread(&mut self, process: usize) -> io::Result<()> {
        if std::mem::replace(&mut self.has_main[process], true) {
            return Ok(());
        }
        let tables = self.tables;
        let Some(pid) = pid_value(&tables.processes[process].pid).as_i64() else { return Ok(()) };
        match self.mains[process] {
            Some(row) => self.thread(row, &tables.tracks[row.index()]),
            None if pid == 0 => Ok(()),
            None => {
                self.last += 1;
                let (utid, upid) = (self.last, process + 1);
                let thread = json!({
                    "t": "thread", "utid": utid, "tid": pid, "name": null, "upid": upid, "main": 1, "args": null
                });
                line(self.out, &thread)
            }
        }
    }

    /// Writes the row of a thread unless it was written before.
    fn thread(&mut self, row: TrackIdx, track: &Track) -> io::Result<()> {
        if self.utids[row.index()] != NO_THREAD {
            return Ok(());
        }
        let is_idle = ids(track) == Some((0, 0));
        if !is_idle {
            self.last += 1;
        }
        let utid = if is_idle { 0 } else { self.last };
        self.utids[row.index()] = utid;
        let name = if is_idle && track.name.is_empty() { "swapper".into() } else { text_or_null(&track.name) };
        let (pid, tid, upid) = (&track.key.pid, &track.key.tid, self.upid(track));
        let tid = id_value(tid);
        let is_main = u8::from(pid_value(pid) == tid);
        let args = sort_hint("thread_sort_index_hint", track.sort_index);
        let thread = json!({
            "t": "thread", "utid": utid, "tid": tid, "name": name, "upid": upid, "main": is_main, "args": args
        });
        line(self.out, &thread)
    }

    fn track(&mut self, row: TrackIdx, track: &Track) -> io::Result<()> {
        let is_thread = track.key.kind == TrackKind::Thread;
        let upid = if is_thread { Value::Null } else { self.upid(track) };
        let (mut name, mut unit, mut cpu) = (text_or_null(&track.name), Value::Null, Value::Null);
        let mut kind = track_type(track);
        if is_thread {
            name = Value::Null;
        } else if track.key.kind == TrackKind::Cpu {
            cpu = id_value(&track.key.tid);
        } else if let Some((number, its_name, its_kind)) = cpu_counter(track) {
            (cpu, name, kind) = (number.into(), its_name.into(), its_kind);
        } else if let Some((its_name, its_unit)) = with_unit(track) {
            (name, unit) = (its_name.into(), its_unit.into());
        }
        let utid = (self.utids[row.index()] != NO_THREAD).then_some(self.utids[row.index()]);
        let object = json!({
            "t": "track",
            "id": row.0 + 1,
            "name": name,
            "type": kind,
            "utid": utid,
            "upid": upid,
            "cpu": cpu,
            "parent": null,
            "counter": u8::from(track.key.kind == TrackKind::Counter),
            "unit": unit,
        });
        line(self.out, &object)
    }
}

/// The number of a process, also of a later one of several that had it: `5 (2)`.
fn pid_value(pid: &Id) -> Value {
    let Id::Text(text) = pid else { return id_value(pid) };
    let number = text.strip_suffix(')').and_then(|text| text.split_once(" ("));
    let number = number.filter(|(_, count)| count.parse::<u32>().is_ok()).and_then(|(pid, _)| pid.parse::<i64>().ok());
    number.map_or_else(|| id_value(pid), Value::from)
}

/// The counters of a CPU: its number, and Perfetto's name and kind.
fn cpu_counter(track: &Track) -> Option<(u64, &'static str, &'static str)> {
    let is_counter = track.key.kind == TrackKind::Counter && track.key.pid == Id::None;
    let (number, what) = track.name.strip_prefix("CPU ").filter(|_| is_counter)?.split_once(' ')?;
    let (name, kind) = match what {
        "frequency (kHz)" => ("cpufreq", "cpu_frequency"),
        "idle state" => ("cpuidle", "cpu_idle"),
        _ => return None,
    };
    Some((number.parse().ok()?, name, kind))
}

/// The name of a counter and its unit, which is in the name.
fn with_unit(track: &Track) -> Option<(&str, &str)> {
    let name = track.name.strip_suffix(')').filter(|_| track.key.kind == TrackKind::Counter)?;
    let (name, unit) = name.rsplit_once(" (")?;
    (!name.is_empty() && !unit.is_empty() && !unit.contains([' ', ')'])).then_some((name, unit))
}

/// Whether a process is the place of what belongs to none.
fn is_none(process: &Process) -> bool {
    process.pid == Id::None && process.name.is_empty()
}

fn ids(track: &Track) -> Option<(i64, i64)> {
    ids_of(&track.key)
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

fn text_or_null(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { Value::from(text) }
}

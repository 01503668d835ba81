//! Writes the processes, threads and tracks of a dump, with the ids and names of Perfetto's tables. Process 0 with its
//! thread `swapper` is the idle task of each CPU. Each process has a main thread with the id of the process, with or
//! without events. A process without an id and a name is skipped.

use std::collections::BTreeSet;
use std::io::{self, Write};

use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use super::lines::{id_value, ids_of, line};
use crate::model::facts::{END_TS, FactValue, START_TS, Subject};
use crate::model::{Id, Process, Track, TrackIdx, TrackKind, TrackTables};
use crate::query::Snapshot;

/// The ids of threads, by their tracks.
#[derive(Debug)]
pub(super) struct Utids(Vec<u32>);

impl Utids {
    /// Returns the id of a track's thread.
    pub(super) fn get(&self, track: TrackIdx) -> Option<u32> {
        self.0.get(track.index()).copied().filter(|&utid| utid != NO_THREAD)
    }
}

/// The id of a track outside any thread.
const NO_THREAD: u32 = u32::MAX;

pub(super) fn print(snapshot: &Snapshot, out: &mut dyn Write) -> io::Result<Utids> {
    let tables = snapshot.tracks();
    let mut writer = DumpWriter {
        tables,
        out,
        utids: vec![NO_THREAD; tables.tracks.len()],
        has_main: vec![false; tables.processes.len()],
        mains: main_threads(tables),
        main_utids: vec![None; tables.processes.len()],
        threads_of_counters: FxHashMap::default(),
        last: 0,
        cpus: BTreeSet::new(),
    };
    writer.processes()?;
    // Async events are on the tracks of their trees; the track that the trace gives them is then empty.
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
    writer.cpus.iter().try_for_each(|cpu| line(writer.out, &json!({"t": "cpu", "ucpu": cpu, "cpu": cpu})))?;
    for (key, value) in tables.facts.about(&Subject::Recording) {
        let column = if matches!(value, FactValue::Text(_)) { "str" } else { "int" };
        line(writer.out, &json!({"t": "metadata", "name": key, column: fact_value(value)}))?;
    }
    Ok(Utids(writer.utids))
}

/// Returns, by process, the track of its main thread.
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

/// Where the `utid` of a thread is found.
#[derive(Debug, Clone, Copy)]
enum CounterThread {
    Track(TrackIdx),
    /// A thread without a track.
    Utid(u32),
}

struct DumpWriter<'a> {
    tables: &'a TrackTables,
    out: &'a mut dyn Write,
    /// The `utid` of each track, by index.
    utids: Vec<u32>,
    /// By process: whether its main thread is written.
    has_main: Vec<bool>,
    mains: Vec<Option<TrackIdx>>,
    /// By process: the `utid` of its main thread, if that has no track.
    main_utids: Vec<Option<u32>>,
    /// The threads that counters may belong to, built for the first counter of a thread.
    threads_of_counters: FxHashMap<(&'a Id, &'a Id), CounterThread>,
    /// Id of the previous thread.
    last: u32,
    /// Numbers of the CPUs that have tracks.
    cpus: BTreeSet<u64>,
}

impl<'a> DumpWriter<'a> {
    fn processes(&mut self) -> io::Result<()> {
        let tables = self.tables;
        let idle = tables.processes.iter().find(|process| process.pid == Id::Number(0));
        let name = idle.map_or("", |process| &*process.name);
        self.process(0, &Id::Number(0), name, idle.map_or(0, |process| process.sort_index))?;
        // The idle thread, if the trace has it, takes its name from the trace.
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
        let (subject, name) = (Subject::Process(pid.clone()), text_or_null(name));
        let mut process = json!({"t": "process", "upid": upid, "pid": pid_value(pid), "name": name});
        self.add_facts(&mut process, &subject, sort_hint("process_sort_index_hint", sort_index));
        line(self.out, &process)
    }

    /// Adds facts about a process or a thread to its line, those without a column of their own as arguments.
    fn add_facts(&self, object: &mut Value, subject: &Subject, sort_hint: Value) {
        let mut args = vec![sort_hint];
        args.retain(|hint| !hint.is_null());
        for (key, value) in self.tables.facts.about(subject) {
            match key {
                START_TS | END_TS | "cmdline" | "uid" => object[key] = fact_value(value),
                _ => args.push(json!([key, fact_value(value)])),
            }
        }
        object["args"] = if args.is_empty() { Value::Null } else { args.into() };
    }

    /// Returns the id of a track's process; null without one.
    fn upid(&self, track: &Track) -> Value {
        match self.tables.processes.get(track.process.index()) {
            Some(process) if process.pid == Id::Number(0) => 0.into(),
            Some(process) if !is_none(process) => (track.process.0 + 1).into(),
            _ => Value::Null,
        }
    }

    /// Writes the main thread of a process, once.
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
                self.main_utids[process] = Some(utid);
                let thread = json!({
                    "t": "thread", "utid": utid, "tid": pid, "name": null, "upid": upid, "main": 1, "args": null
                });
                line(self.out, &thread)
            }
        }
    }

    /// Writes the row of a thread, unless it is written already.
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
        let mut thread = json!({"t": "thread", "utid": utid, "tid": tid, "name": name, "upid": upid, "main": is_main});
        let subject = Subject::Thread(track.key.pid.clone(), track.key.tid.clone());
        self.add_facts(&mut thread, &subject, sort_hint("thread_sort_index_hint", track.sort_index));
        line(self.out, &thread)
    }

    fn utid(&self, row: TrackIdx) -> Option<u32> {
        Some(self.utids[row.index()]).filter(|&utid| utid != NO_THREAD)
    }

    /// Returns the id of a counter's thread. Writes the row of a thread without events of its own.
    fn utid_of_counter(&mut self, counter: &'a Track) -> io::Result<u32> {
        let tables = self.tables;
        if self.threads_of_counters.is_empty() {
            let tracks = (0u32..).map(TrackIdx).zip(&tables.tracks);
            let threads = tracks.filter(|(_, track)| track.key.kind == TrackKind::Thread);
            self.threads_of_counters
                .extend(threads.map(|(row, track)| ((&track.key.pid, &track.key.tid), CounterThread::Track(row))));
        }
        let ids = (&counter.key.pid, &counter.key.tid);
        match self.threads_of_counters.get(&ids) {
            Some(&CounterThread::Utid(utid)) => return Ok(utid),
            Some(&CounterThread::Track(row)) => {
                self.thread(row, &tables.tracks[row.index()])?;
                return Ok(self.utids[row.index()]);
            }
            None => {}
        }
        let process = counter.process.index();
        let is_main = pid_value(&counter.key.pid) == id_value(&counter.key.tid);
        let utid = if is_main && self.mains[process].is_none() {
            // Already written, or the idle thread.
            self.main_utids[process].unwrap_or(0)
        } else {
            self.last += 1;
            let (tid, upid) = (id_value(&counter.key.tid), self.upid(counter));
            let thread = json!({
                "t": "thread", "utid": self.last, "tid": tid, "name": null, "upid": upid, "main": 0, "args": null
            });
            line(self.out, &thread)?;
            self.last
        };
        self.threads_of_counters.insert(ids, CounterThread::Utid(utid));
        Ok(utid)
    }

    fn track(&mut self, row: TrackIdx, track: &'a Track) -> io::Result<()> {
        let is_thread = track.key.kind == TrackKind::Thread;
        let upid = if is_thread { Value::Null } else { self.upid(track) };
        let (mut name, mut unit, mut cpu) = (text_or_null(&track.name), Value::Null, Value::Null);
        let mut kind = track_type(track);
        if is_thread {
            name = Value::Null;
        } else if track.key.kind == TrackKind::Cpu {
            cpu = id_value(&track.key.tid);
        } else if let Some(number) = cpu_of(track) {
            cpu = number.into();
        } else if let Some((number, its_name, its_kind)) = cpu_counter(track) {
            (cpu, name, kind) = (number.into(), its_name.into(), its_kind);
        } else if let Some(its_unit) = self.tables.units.get(&row) {
            unit = (**its_unit).into();
        } else if let Some((its_name, its_unit)) = with_unit(track) {
            (name, unit) = (its_name.into(), its_unit.into());
        }
        self.cpus.extend(cpu.as_u64());
        let is_of_thread = track.key.kind == TrackKind::Counter && track.key.tid != Id::None;
        let utid = if is_of_thread { Some(self.utid_of_counter(track)?) } else { self.utid(row) };
        let upid = if is_of_thread { Value::Null } else { upid };
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

/// Returns the id of a process. If several processes have the id, it is marked: `5 (2)`.
fn pid_value(pid: &Id) -> Value {
    let Id::Text(text) = pid else { return id_value(pid) };
    let number = text.strip_suffix(')').and_then(|text| text.split_once(" ("));
    let number = number.filter(|(_, count)| count.parse::<u32>().is_ok()).and_then(|(pid, _)| pid.parse::<i64>().ok());
    number.map_or_else(|| id_value(pid), Value::from)
}

/// Returns the CPU of a track of interrupts and the like.
fn cpu_of(track: &Track) -> Option<u64> {
    let is_own = track.key.kind == TrackKind::Async && track.key.pid == Id::None;
    let (_, number) = track.name.rsplit_once(" Cpu ").filter(|_| is_own)?;
    number.parse().ok()
}

/// Ends of the names of CPU counters, and Perfetto's names and kinds of these.
const CPU_COUNTERS: &[(&str, &str, &str)] = &[
    ("frequency", "cpufreq", "cpu_frequency"),
    ("frequency (kHz)", "cpufreq", "cpu_frequency"),
    ("idle state", "cpuidle", "cpu_idle"),
    ("user", "cpu.times.user_ns", "cpu_time"),
    ("user_nice", "cpu.times.user_nice_ns", "cpu_time"),
    ("system", "cpu.times.system_mode_ns", "cpu_time"),
    ("idle", "cpu.times.idle_ns", "cpu_time"),
    ("io_wait", "cpu.times.io_wait_ns", "cpu_time"),
    ("irq", "cpu.times.irq_ns", "cpu_time"),
    ("softirq", "cpu.times.softirq_ns", "cpu_time"),
    ("steal", "cpu.times.steal_ns", "cpu_time"),
];

/// Returns number, name and kind of a CPU counter, as in Perfetto.
fn cpu_counter(track: &Track) -> Option<(u64, &'static str, &'static str)> {
    let is_counter = track.key.kind == TrackKind::Counter && track.key.pid == Id::None;
    let (number, what) = track.name.strip_prefix("CPU ").filter(|_| is_counter)?.split_once(' ')?;
    let (_, name, kind) = CPU_COUNTERS.iter().find(|(end, _, _)| *end == what)?;
    Some((number.parse().ok()?, name, kind))
}

/// Splits a counter's name into name and unit.
fn with_unit(track: &Track) -> Option<(&str, &str)> {
    let name = track.name.strip_suffix(')').filter(|_| track.key.kind == TrackKind::Counter)?;
    let (name, unit) = name.rsplit_once(" (")?;
    (!name.is_empty() && !unit.is_empty() && !unit.contains([' ', ')'])).then_some((name, unit))
}

/// Returns whether a process is a placeholder for tracks without a process.
fn is_none(process: &Process) -> bool {
    process.pid == Id::None && process.name.is_empty()
}

fn ids(track: &Track) -> Option<(i64, i64)> {
    ids_of(&track.key)
}

/// Returns the sort index of a process or a thread from the trace, as Perfetto names it; null without one.
fn sort_hint(name: &str, sort_index: i64) -> Value {
    if sort_index == 0 { Value::Null } else { json!([name, sort_index]) }
}

/// Starts of names of tracks that have a separate kind in Perfetto.
const TYPES: &[(TrackKind, &str, &str)] = &[
    (TrackKind::Async, "Expected Timeline", "android_expected_frame_timeline"),
    (TrackKind::Async, "Actual Timeline", "android_actual_frame_timeline"),
    (TrackKind::Counter, "CPU for UID ", "android_cpu_per_uid"),
    (TrackKind::Counter, "CPU for System CL", "android_cpu_per_uid_totals"),
    (TrackKind::Counter, "CPU for Apps CL", "android_cpu_per_uid_totals"),
];

/// Returns Perfetto's name of the track's kind, which scripts made for Perfetto rely on.
fn track_type(track: &Track) -> &'static str {
    let known = TYPES.iter().find(|(kind, start, _)| *kind == track.key.kind && track.name.starts_with(start));
    if let Some((_, _, name)) = known {
        return name;
    }
    match (track.key.kind, &track.key.pid) {
        // `GPU com.app (Ctx=1, Prio=0)`
        (TrackKind::Async, _) if track.name.starts_with("GPU ") && track.name.contains("(Ctx=") => {
            "adreno_gpu_cmdbatch"
        }
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

fn fact_value(value: &FactValue) -> Value {
    match value {
        FactValue::Text(text) => (**text).into(),
        FactValue::Number(number) => (*number).into(),
    }
}

fn text_or_null(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { Value::from(text) }
}

//! The row of an event: the thread of its context, or the thread that runs on its CPU, or its CPU.

use rustc_hash::{FxHashMap, FxHashSet};

use super::TimedEvent;
use super::functions::LoadedFiles;
use super::line::EventLine;
use super::value::LttngFields;
use crate::formats::linux::event_text::{KernelText, TextEvent};
use crate::formats::linux::syscalls::ThreadCalls;
use crate::formats::output::batch::{BatchBuilder, label};
use crate::model::{Id, Loss, Metadata, TrackKey};

/// Fields of the context that identify the row of an event.
const IDS: [&str; 6] = ["cpu_id", "tid", "pid", "vtid", "vpid", "procname"];

/// Limits for hosts whose threads are known, and for the length of their names. Events of all others have rows for
/// CPUs, and are counted. Limits for threads, calls and files apply to each host, so their number bounds the memory.
const HOSTS_MAX: usize = 1 << 6;
const HOST_BYTES_MAX: usize = 256;

/// Limit for remembered hosts whose process has its name. All others are named again and again.
const NAMED_MAX: usize = 1 << 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HostIdx(usize);

#[derive(Debug)]
pub(super) struct EventRow {
    pub(super) key: TrackKey,
    pub(super) cpu: Option<u64>,
    pub(super) pid: Option<i64>,
    /// `None` if only the CPU is known.
    pub(super) tid: Option<i64>,
    /// `None` for a host beyond the limit.
    pub(super) host: Option<HostIdx>,
    /// The host whose kernel an event may be of; programs have their own events.
    pub(super) kernel: Option<HostIdx>,
}

#[derive(Debug, Default)]
pub(super) struct HostState {
    pub(super) kernel: KernelText,
    pub(super) calls: ThreadCalls,
    pub(super) files: LoadedFiles,
}

#[derive(Debug, Default)]
pub(super) struct HostRows {
    hosts: Vec<HostState>,
    host_index: FxHashMap<Box<[u8]>, HostIdx>,
    /// The host of the last event, which is usually also the host of the next.
    last_host: Option<(Box<[u8]>, HostIdx)>,
    /// Hosts whose process has its name.
    named_hosts: FxHashSet<Box<[u8]>>,
}

impl HostRows {
    pub(super) fn host(&mut self, HostIdx(index): HostIdx) -> &mut HostState {
        &mut self.hosts[index]
    }

    /// Ends the scheduler states of all hosts.
    pub(super) fn finish(&mut self, batch: &mut BatchBuilder) {
        self.hosts.iter_mut().for_each(|host| host.kernel.finish(batch));
    }

    /// Returns the row of an event, and adds the name of its thread to the batch if it is new.
    pub(super) fn row(&mut self, event: &TimedEvent<'_>, batch: &mut BatchBuilder) -> EventRow {
        let EventLine { host, name, context, vpid, .. } = &event.line;
        let index = self.host_of(host);
        let id = |key: &str| context.number(key);
        let pid = id("pid").or_else(|| id("vpid")).or(*vpid);
        let own_tid = id("tid").or_else(|| id("vtid")).or(pid);
        let cpu = id("cpu_id").and_then(|cpu| u64::try_from(cpu).ok());
        let Some(index) = index else {
            batch.lose(Loss::OverLimit, event.pos);
            return EventRow { key: self.cpu(host, cpu, event, batch), cpu, pid, tid: None, host: None, kernel: None };
        };
        // Names of programs' events have a provider before a colon.
        let kernel = (!name.contains(&b':')).then_some(index);
        let running = || cpu.and_then(|cpu| self.hosts[index.0].kernel.scheduler.running_on(cpu));
        let tid = own_tid.or_else(running);
        let key = match tid {
            Some(tid) => self.host(index).thread(tid, pid, event, batch),
            None => self.cpu(host, cpu, event, batch),
        };
        EventRow { key, cpu, pid, tid, host: Some(index), kernel }
    }

    /// Returns the index of a host; `None` beyond the limit. Ids of all but the first host are extended by its name.
    fn host_of(&mut self, name: &[u8]) -> Option<HostIdx> {
        if let Some((last, index)) = &self.last_host
            && **last == *name
        {
            return Some(*index);
        }
        let index = match self.host_index.get(name) {
            Some(&index) => index,
            None if self.hosts.len() >= HOSTS_MAX || name.len() > HOST_BYTES_MAX => return None,
            None => {
                let is_first = self.hosts.is_empty();
                let named = || HostState::named(&String::from_utf8_lossy(shown(name)));
                let host = if is_first { HostState::default() } else { named() };
                let index = HostIdx(self.hosts.len());
                self.hosts.push(host);
                self.host_index.insert(name.into(), index);
                index
            }
        };
        self.last_host = Some((name.into(), index));
        Some(index)
    }

    /// Returns the row of a CPU of a host, or of the host if no CPU is known.
    fn cpu(&mut self, host: &[u8], cpu: Option<u64>, event: &TimedEvent<'_>, batch: &mut BatchBuilder) -> TrackKey {
        let pid = Id::Text((&*label(shown(host), event.pos, batch.losses())).into());
        if !self.named_hosts.contains(host) {
            if self.named_hosts.len() < NAMED_MAX && host.len() <= HOST_BYTES_MAX {
                self.named_hosts.insert(host.into());
            }
            let name = label(shown(host), event.pos, batch.losses());
            batch.add_metadata(Metadata::ProcessName { pid: pid.clone(), name });
        }
        let tid = cpu.map_or(Id::None, |cpu| Id::Text(format!("CPU {cpu}").into()));
        TrackKey::thread(pid, tid)
    }
}

impl HostState {
    fn named(name: &str) -> Self {
        Self { kernel: KernelText::for_host(name), ..Self::default() }
    }

    fn thread(&mut self, tid: i64, pid: Option<i64>, event: &TimedEvent<'_>, batch: &mut BatchBuilder) -> TrackKey {
        if let Some(pid) = pid.filter(|_| tid > 0) {
            self.kernel.scheduler.learn_process(batch, tid, pid);
        }
        let EventLine { context, vpid, procname, .. } = &event.line;
        // The header names the process, and so its main thread.
        let of_header =
            || (!procname.is_empty() && *vpid == Some(tid)).then(|| String::from_utf8_lossy(procname).into());
        if let Some(name) = context.text("procname").or_else(of_header) {
            let (ts_ns, task, pos) = (event.ts_ns, name.as_bytes(), event.pos);
            let named = TextEvent { ts_ns, tid, task, cpu: None, name: b"", fields: b"", pos };
            self.kernel.name_task(batch, &named);
        }
        self.kernel.thread(tid)
    }
}

/// Returns the displayed name of a host.
fn shown(host: &[u8]) -> &[u8] {
    if host.is_empty() { b"events" } else { host }
}

/// Returns the fields of the context that do not identify the row, and the log level.
pub(super) fn other_context(line: &EventLine<'_>) -> Vec<(Box<str>, Box<str>)> {
    let LttngFields(context) = &line.context;
    let mut other: Vec<_> = context.iter().filter(|(key, _)| !IDS.contains(&&**key)).cloned().collect();
    for (position, (key, _)) in other.iter_mut().enumerate() {
        if key.is_empty() {
            *key = format!("context {position}").into();
        }
    }
    if let Some(cpu) = line.context.json("cpu_id") {
        other.push(("cpu".into(), cpu.into()));
    }
    if !line.log_level.is_empty() {
        let level = serde_json::Value::from(String::from_utf8_lossy(line.log_level)).to_string();
        other.push(("loglevel".into(), level.into()));
    }
    other
}

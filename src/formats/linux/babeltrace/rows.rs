//! The row of an event: the thread of its context, or the thread that runs on its CPU, or its CPU.

use rustc_hash::{FxHashMap, FxHashSet};

use super::TimedEvent;
use super::line::EventLine;
use super::value::Fields;
use crate::formats::linux::event_text::{KernelText, TextEvent};
use crate::formats::linux::thread_table::{TaskName, push_kernel_name, short_name};
use crate::formats::output::batch::{BatchBuilder, label};
use crate::model::{Id, Metadata, TrackKey};

/// Fields of the context that identify the row of an event.
const IDS: [&str; 6] = ["cpu_id", "tid", "pid", "vtid", "vpid", "procname"];

/// Limits for remembered hosts and threads of further hosts, and for the length of a host. All others are named again
/// and again.
const NAMED_MAX: usize = 1 << 16;
const HOST_BYTES_MAX: usize = 256;

/// The row of an event.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) key: TrackKey,
    pub(super) cpu: Option<u64>,
    pub(super) pid: Option<i64>,
    /// `None` if only the CPU is known.
    pub(super) tid: Option<i64>,
    /// Whether its scheduler events and system calls are those of the first host.
    pub(super) is_of_kernel: bool,
}

#[derive(Debug, Default)]
pub(super) struct Rows {
    /// Scheduler and threads of the first host.
    pub(super) kernel: KernelText,
    first_host: Option<Box<[u8]>>,
    /// Hosts whose process has its name.
    named_hosts: FxHashSet<Box<[u8]>>,
    /// Last names of threads of further hosts.
    named: FxHashMap<(Box<[u8]>, i64), TaskName>,
}

impl Rows {
    /// Returns the row of an event, and adds the name of its thread to the batch if it is new.
    pub(super) fn row(&mut self, event: &TimedEvent<'_>, batch: &mut BatchBuilder) -> Row {
        let EventLine { host, name, context, .. } = &event.line;
        let is_first = &**self.first_host.get_or_insert_with(|| (*host).into()) == *host;
        let id = |key: &str| context.number(key);
        let pid = id("pid").or_else(|| id("vpid"));
        let own_tid = id("tid").or_else(|| id("vtid")).or(pid);
        let cpu = id("cpu_id").and_then(|cpu| u64::try_from(cpu).ok());
        // Names of programs' events have a provider before a colon.
        let is_of_kernel = is_first && !name.contains(&b':');
        let running = || cpu.filter(|_| is_first).and_then(|cpu| self.kernel.scheduler.running_on(cpu));
        let tid = own_tid.or_else(running);
        let key = match tid {
            Some(tid) if is_first => self.thread(tid, pid, event, batch),
            Some(tid) => self.thread_of_host((tid, pid.unwrap_or(tid)), event, batch),
            None => self.cpu(host, cpu, event, batch),
        };
        Row { key, cpu, pid, tid, is_of_kernel }
    }

    fn thread(&mut self, tid: i64, pid: Option<i64>, event: &TimedEvent<'_>, batch: &mut BatchBuilder) -> TrackKey {
        if let Some(pid) = pid.filter(|_| tid > 0) {
            self.kernel.scheduler.learn_process(batch, tid, pid);
        }
        if let Some(name) = event.line.context.text("procname") {
            let (ts_ns, task, pos) = (event.ts_ns, name.as_bytes(), event.pos);
            let named = TextEvent { ts_ns, tid, task, cpu: None, name: b"", fields: b"", pos };
            self.kernel.name_task(batch, &named);
        }
        self.kernel.thread(tid)
    }

    fn thread_of_host(&mut self, (tid, pid): (i64, i64), event: &TimedEvent<'_>, batch: &mut BatchBuilder) -> TrackKey {
        let host = event.line.host;
        let pid = Id::Text(format!("{pid} ({})", String::from_utf8_lossy(host)).into());
        let key = TrackKey::thread(pid.clone(), Id::Number(tid));
        if let Some(name) = event.line.context.text("procname") {
            let owner = (host.into(), tid);
            let is_same = self.named.get(&owner).is_some_and(|named| **named == *short_name(name.as_bytes()));
            if !is_same {
                push_kernel_name(batch, pid, Id::Number(tid), name.as_bytes(), event.pos);
                if self.named.len() < NAMED_MAX && host.len() <= HOST_BYTES_MAX {
                    self.named.insert(owner, short_name(name.as_bytes()).into());
                }
            }
        }
        key
    }

    /// Returns the row of a CPU of a host, or of the host if no CPU is known.
    fn cpu(&mut self, host: &[u8], cpu: Option<u64>, event: &TimedEvent<'_>, batch: &mut BatchBuilder) -> TrackKey {
        let shown = if host.is_empty() { &b"events"[..] } else { host };
        let pid = Id::Text((&*label(shown, event.pos, &mut batch.batch.losses)).into());
        if !self.named_hosts.contains(host) {
            if self.named_hosts.len() < NAMED_MAX && host.len() <= HOST_BYTES_MAX {
                self.named_hosts.insert(host.into());
            }
            let name = label(shown, event.pos, &mut batch.batch.losses);
            batch.batch.metadata.push(Metadata::ProcessName { pid: pid.clone(), name });
        }
        let tid = cpu.map_or(Id::None, |cpu| Id::Text(format!("CPU {cpu}").into()));
        TrackKey::thread(pid, tid)
    }
}

/// Returns the fields of the context that do not identify the row, and the log level.
pub(super) fn other_context(line: &EventLine<'_>) -> Vec<(Box<str>, Box<str>)> {
    let Fields(context) = &line.context;
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

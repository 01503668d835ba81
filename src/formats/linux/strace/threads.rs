//! Finds the thread of a line. `strace` prints process ids to a terminal only while several processes run, so the main
//! thread has lines with and without an id. Both are on one track, whose number is 0 if the head of the file lacks the
//! id.
//!
//! The system reuses the ids of threads that have exited. The second thread with an id has a number after it: `7 (2)`.

use rustc_hash::{FxHashMap, FxHashSet};

use super::line::{StraceEvent, StraceRecord, number};
use crate::formats::input::text::{split_at_byte, split_word};
use crate::formats::linux::thread_table::{TaskName, short_name};
use crate::formats::output::batch::{BatchBuilder, label};
use crate::model::{Id, Metadata, SourcePos, TrackKey};

/// Number of the main thread while its id is unknown; no thread has it.
pub(super) const MAIN_TID: i64 = 0;

const THREADS_MAX: usize = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct LineThreads {
    /// Id of the main thread, once known. Its lines have [`MAIN_TID`] nevertheless.
    main_id: Option<i64>,
    /// Number of its track: the id if it was known from the start, or else 0.
    main_track_tid: i64,
    has_lines_without_id: bool,
    /// Threads that are not the main thread, until the main thread is known.
    children: FxHashSet<i64>,
    /// Threads that the main thread created in its process before its id was known.
    main_threads: Vec<CreatedThread>,
    /// Threads seen in lines that have not exited.
    running: FxHashSet<i64>,
    /// Exited threads whose ids were not reused yet.
    exited: FxHashSet<i64>,
    /// Number of earlier threads of each reused id.
    earlier_counts: FxHashMap<i64, u32>,
    /// The processes of new threads that reuse the id of an exited thread.
    next_processes: FxHashMap<i64, ThreadProcess>,
    /// Last known name of each thread.
    names: FxHashMap<i64, TaskName>,
    /// Threads that started a program, so that their ids are process ids.
    leaders: FxHashSet<i64>,
    /// The processes of threads, as far as they are known.
    processes: FxHashMap<i64, Id>,
}

/// The process of a new thread.
#[derive(Debug)]
enum ThreadProcess {
    /// The process of the thread that created it.
    Of(Id),
    New,
}

impl LineThreads {
    /// Creates the threads of a file whose main thread may be known.
    pub(super) fn with_main(main_id: Option<i64>) -> Self {
        Self { main_id, main_track_tid: main_id.unwrap_or(MAIN_TID), ..Self::default() }
    }

    /// Returns the id of the main thread, once known.
    pub(super) fn main_id(&self) -> Option<i64> {
        self.main_id
    }

    /// Returns the thread of a line. A line without an id belongs to the only running thread, or else to the main
    /// thread. `main_calls` are the names of the calls that the main thread is in.
    pub(super) fn tid<'a>(
        &mut self,
        record: &StraceRecord<'_>,
        main_calls: impl Iterator<Item = &'a [u8]>,
        batch: &mut BatchBuilder,
        pos: SourcePos,
    ) -> i64 {
        let tid = if let Some(id) = record.tid {
            if self.main_id.is_none() && self.may_be_main(id, record.event, main_calls) {
                self.set_main(id, batch, pos);
            }
            self.tid_of(id)
        } else {
            self.has_lines_without_id = true;
            let mut running = self.running.iter();
            match (running.next(), running.next()) {
                (Some(&only), None) => only,
                _ => MAIN_TID,
            }
        };
        if self.running.len() < THREADS_MAX {
            self.running.insert(tid);
        }
        if self.main_id.is_none()
            && let Some(child) = created_thread(record.event)
        {
            self.add_child(child);
        }
        tid
    }

    /// Returns the number of a thread for an id in the text.
    pub(super) fn tid_of(&self, id: i64) -> i64 {
        if self.main_id == Some(id) { MAIN_TID } else { id }
    }

    /// Reads the message about an attached process: the first of `-p`, or a new process.
    pub(super) fn attach(&mut self, id: i64) {
        if self.has_lines_without_id || !self.running.is_empty() {
            self.add_child(id);
        } else if self.main_id.is_none() {
            (self.main_id, self.main_track_tid) = (Some(id), id);
        }
    }

    pub(super) fn exit(&mut self, tid: i64) {
        self.running.remove(&tid);
        if self.exited.len() < THREADS_MAX {
            self.exited.insert(tid);
        }
    }

    /// Returns the exited thread if a line is the first line of another thread with its id.
    pub(super) fn replaced(&self, record: &StraceRecord<'_>) -> Option<i64> {
        let begins = match record.event {
            StraceEvent::Call { .. } | StraceEvent::Begun { .. } | StraceEvent::Instant { .. } => true,
            // A new process begins with the end of its creation.
            StraceEvent::Resumed { name, result, .. } => is_fork(name) && result == b"0",
            _ => false,
        };
        let tid = self.tid_of(record.tid?);
        (begins && self.exited.contains(&tid)).then_some(tid)
    }

    /// Forgets a thread that has exited, whose id another thread has from now on.
    pub(super) fn replace(&mut self, tid: i64, batch: &mut BatchBuilder, pos: SourcePos) {
        self.exited.remove(&tid);
        self.names.remove(&tid);
        self.leaders.remove(&tid);
        self.processes.remove(&tid);
        if self.earlier_counts.len() < THREADS_MAX || self.earlier_counts.contains_key(&tid) {
            *self.earlier_counts.entry(tid).or_default() += 1;
        }
        if let Some(process) = self.next_processes.remove(&tid) {
            self.set_process(tid, process, batch, pos);
        }
    }

    /// Returns the key of a thread's track, in its process if that is known.
    pub(super) fn key(&self, tid: i64) -> TrackKey {
        let pid = self.processes.get(&tid).cloned().unwrap_or(Id::None);
        TrackKey::thread(pid, self.track_tid(tid))
    }

    fn track_tid(&self, tid: i64) -> Id {
        self.numbered_id(tid, if tid == MAIN_TID { self.main_track_tid } else { tid })
    }

    /// Returns the process if this is its first thread.
    fn own_process(&self, tid: i64) -> Option<Id> {
        let id = if tid == MAIN_TID { self.main_id } else { Some(tid) };
        id.map(|id| self.numbered_id(tid, id))
    }

    /// Returns the id of a thread, with a number if other threads had it before.
    fn numbered_id(&self, tid: i64, id: i64) -> Id {
        match self.earlier_counts.get(&tid) {
            None => Id::Number(id),
            Some(earlier_count) => Id::Text(format!("{id} ({})", earlier_count + 1).into()),
        }
    }

    /// Reads that a thread has started a program, which makes it the first thread of its process.
    pub(super) fn start_program(&mut self, tid: i64, program: &[u8], batch: &mut BatchBuilder, pos: SourcePos) {
        if self.leaders.len() < THREADS_MAX {
            self.leaders.insert(tid);
        }
        self.name(tid, program, batch, pos);
    }

    /// Records that `maker` created a thread, in its own process or in a new one.
    pub(super) fn create(&mut self, maker: i64, created: CreatedThread, batch: &mut BatchBuilder, pos: SourcePos) {
        if self.leaders.contains(&maker) {
            self.set_process(maker, ThreadProcess::New, batch, pos);
        }
        let child = self.tid_of(created.id);
        let process = match self.processes.get(&maker) {
            _ if !created.is_in_process => ThreadProcess::New,
            Some(pid) => ThreadProcess::Of(pid.clone()),
            None => {
                let is_later_known = maker == MAIN_TID && self.main_id.is_none();
                if is_later_known && self.main_threads.len() < THREADS_MAX {
                    self.main_threads.push(created);
                }
                return;
            }
        };
        // The line may also be the late end of the call that created the exited thread.
        if self.exited.contains(&child) && self.processes.contains_key(&child) {
            if self.next_processes.len() < THREADS_MAX {
                self.next_processes.insert(child, process);
            }
        } else {
            self.set_process(child, process, batch, pos);
        }
    }

    /// Moves a thread and its track to a process, unless it has one.
    fn set_process(&mut self, tid: i64, process: ThreadProcess, batch: &mut BatchBuilder, pos: SourcePos) {
        if self.processes.len() >= THREADS_MAX || self.processes.contains_key(&tid) {
            return;
        }
        let pid = match process {
            ThreadProcess::Of(pid) => Some(pid),
            ThreadProcess::New => self.own_process(tid),
        };
        let Some(pid) = pid else { return };
        self.processes.insert(tid, pid.clone());
        batch.move_thread(self.track_tid(tid), Id::None, pid);
        if let Some(name) = self.names.get(&tid).cloned() {
            self.push_process_name(tid, &name, batch, pos);
        }
    }

    /// Names a process after its first thread.
    fn push_process_name(&self, tid: i64, name: &[u8], batch: &mut BatchBuilder, pos: SourcePos) {
        if let Some(pid) = self.processes.get(&tid).filter(|pid| self.own_process(tid).as_ref() == Some(pid)) {
            let name = label(name, pos, batch.losses());
            batch.add_metadata(Metadata::ProcessName { pid: pid.clone(), name });
        }
    }

    /// Names a thread, unless the name is empty or known.
    pub(super) fn name(&mut self, tid: i64, name: &[u8], batch: &mut BatchBuilder, pos: SourcePos) {
        let short = short_name(name);
        if !name.is_empty() && self.names.get(&tid).is_none_or(|earlier_name| **earlier_name != *short) {
            self.names.insert(tid, short.into());
            self.push_name(tid, name, batch, pos);
            self.push_process_name(tid, name, batch, pos);
        }
    }

    /// Adds the name of a thread, with its id if the track does not have it.
    fn push_name(&self, tid: i64, name: &[u8], batch: &mut BatchBuilder, pos: SourcePos) {
        let mut name = label(name, pos, batch.losses());
        if let Some(id) = self.main_id.filter(|&id| tid == MAIN_TID && self.main_track_tid != id) {
            name = format!("{name} ({id})").into();
        }
        let TrackKey { pid, tid, .. } = self.key(tid);
        batch.add_metadata(Metadata::ThreadName { pid, tid, name });
    }

    fn add_child(&mut self, id: i64) {
        if self.main_id.is_none() && self.children.len() < THREADS_MAX {
            self.children.insert(id);
        }
    }

    /// Returns whether a line with an id may be of the thread that had none so far.
    fn may_be_main<'a>(&self, id: i64, event: StraceEvent<'_>, mut main_calls: impl Iterator<Item = &'a [u8]>) -> bool {
        if !self.has_lines_without_id || self.children.contains(&id) {
            return false;
        }
        // While the main thread is in a call, its next line ends the call.
        let mut is_in_call = |name: &[u8]| main_calls.by_ref().any(|call| call.ends_with(name));
        match event {
            StraceEvent::Resumed { name, result, .. } => !(is_fork(name) && result == b"0") && is_in_call(name),
            StraceEvent::Interrupted { name, .. } | StraceEvent::Cut { name, is_resumed: true, .. } => is_in_call(name),
            StraceEvent::Note(_) | StraceEvent::Instant { .. } => true,
            _ => main_calls.next().is_none(),
        }
    }

    /// Sets the id of the main thread, whose track already has the number 0.
    fn set_main(&mut self, id: i64, batch: &mut BatchBuilder, pos: SourcePos) {
        self.main_id = Some(id);
        self.children = FxHashSet::default();
        let name = self.names.get(&MAIN_TID).cloned().unwrap_or_else(|| TaskName::from_slice(b"main"));
        self.push_name(MAIN_TID, &name, batch, pos);
        for created in std::mem::take(&mut self.main_threads) {
            self.create(MAIN_TID, created, batch, pos);
        }
    }
}

/// A thread that a call has created.
#[derive(Debug, Clone, Copy)]
pub(super) struct CreatedThread {
    id: i64,
    /// Whether it belongs to the process of its maker.
    is_in_process: bool,
}

impl CreatedThread {
    /// Returns the thread that a complete call has created; `None` for other calls and without the flags of `clone`.
    pub(super) fn from_call(name: &[u8], args: &[u8], result: Option<&[u8]>) -> Option<Self> {
        let id = is_fork(name).then(|| new_id(result?))??;
        let has_flag = |flag: &[u8]| memchr::memmem::find(args, flag).is_some();
        let is_process = !name.starts_with(b"clone");
        (is_process || has_flag(b"flags="))
            .then(|| Self { id, is_in_process: !is_process && has_flag(b"CLONE_THREAD") })
    }
}

fn is_fork(name: &[u8]) -> bool {
    [&b"fork"[..], b"vfork", b"clone", b"clone3"].contains(&name)
}

/// Returns the thread that a call has created.
fn created_thread(event: StraceEvent<'_>) -> Option<i64> {
    match event {
        StraceEvent::Call { name, result, .. } | StraceEvent::Resumed { name, result, .. } if is_fork(name) => {
            new_id(result)
        }
        _ => None,
    }
}

/// Returns the id of a new thread from the result of a call; `None` in that thread, and after a failure. With `-Y`, the
/// name of the thread follows: `9<sh>`.
fn new_id(result: &[u8]) -> Option<i64> {
    let (id, _) = split_at_byte(split_word(result).0, b'<');
    number(id).filter(|&id| id > 0)
}

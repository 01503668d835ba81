//! Finds the thread of a line. `strace` prints process ids to a terminal only while several processes run, so the main
//! thread has lines with and without an id. Both are on one track, whose number is 0 if the head of the file lacks the
//! id.

use rustc_hash::{FxHashMap, FxHashSet};

use super::line::{StraceEvent, StraceRecord, number};
use crate::formats::input::text::split_word;
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
    /// Threads that are not the main one, until that is known.
    children: FxHashSet<i64>,
    /// Threads seen in lines that have not exited.
    running: FxHashSet<i64>,
    /// Last known name of each thread.
    names: FxHashMap<i64, TaskName>,
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

    /// Returns the thread of a line. A line without an id is of the only running thread, or else of the main one.
    /// `main_calls` are the names of the calls that the main thread is in.
    pub(super) fn tid<'a>(
        &mut self,
        record: &StraceRecord<'_>,
        main_calls: impl Iterator<Item = &'a [u8]>,
        batch: &mut BatchBuilder,
        pos: SourcePos,
    ) -> i64 {
        let tid = if let Some(id) = record.tid {
            if self.main_id.is_none() && self.may_be_main(id, record.what, main_calls) {
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
            && let Some(child) = created_thread(record.what)
        {
            self.add_child(child);
        }
        tid
    }

    /// Returns the number of a thread for an id in the text.
    pub(super) fn tid_of(&self, id: i64) -> i64 {
        if self.main_id == Some(id) { MAIN_TID } else { id }
    }

    /// Reads a message that a process was attached: the first one of `-p`, or a new one.
    pub(super) fn attach(&mut self, id: i64) {
        if self.has_lines_without_id || !self.running.is_empty() {
            self.add_child(id);
        } else if self.main_id.is_none() {
            (self.main_id, self.main_track_tid) = (Some(id), id);
        }
    }

    pub(super) fn exit(&mut self, tid: i64) {
        self.running.remove(&tid);
    }

    /// Returns the key of a thread's track; `strace` does not record its process.
    pub(super) fn key(&self, tid: i64) -> TrackKey {
        thread(if tid == MAIN_TID { self.main_track_tid } else { tid })
    }

    /// Names a thread, unless the name is empty or known.
    pub(super) fn name(&mut self, tid: i64, name: &[u8], batch: &mut BatchBuilder, pos: SourcePos) {
        let short = short_name(name);
        if !name.is_empty() && self.names.get(&tid).is_none_or(|earlier_name| **earlier_name != *short) {
            self.names.insert(tid, short.into());
            self.push_name(tid, name, batch, pos);
        }
    }

    /// Adds the name of a thread, with its id if the track does not have it.
    fn push_name(&self, tid: i64, name: &[u8], batch: &mut BatchBuilder, pos: SourcePos) {
        let mut name = label(name, pos, batch.losses());
        if let Some(id) = self.main_id.filter(|&id| tid == MAIN_TID && self.main_track_tid != id) {
            name = format!("{name} ({id})").into();
        }
        batch.add_metadata(Metadata::ThreadName { pid: Id::None, tid: self.key(tid).tid, name });
    }

    fn add_child(&mut self, id: i64) {
        if self.main_id.is_none() && self.children.len() < THREADS_MAX {
            self.children.insert(id);
        }
    }

    /// Returns whether a line with an id may be of the thread that had none so far.
    fn may_be_main<'a>(&self, id: i64, what: StraceEvent<'_>, mut main_calls: impl Iterator<Item = &'a [u8]>) -> bool {
        if !self.has_lines_without_id || self.children.contains(&id) {
            return false;
        }
        // While the main thread is in a call, its next line ends the call.
        let mut is_in_call = |name: &[u8]| main_calls.by_ref().any(|call| call.ends_with(name));
        match what {
            StraceEvent::Resumed { name, result, .. } => !(is_fork(name) && result == b"0") && is_in_call(name),
            StraceEvent::Again { name, .. } | StraceEvent::Cut { name, is_resumed: true, .. } => is_in_call(name),
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
    }
}

fn thread(tid: i64) -> TrackKey {
    TrackKey::thread(Id::None, Id::Number(tid))
}

fn is_fork(name: &[u8]) -> bool {
    [&b"fork"[..], b"vfork", b"clone", b"clone3"].contains(&name)
}

/// Returns the thread that a call has created.
fn created_thread(what: StraceEvent<'_>) -> Option<i64> {
    match what {
        StraceEvent::Call { name, result, .. } | StraceEvent::Resumed { name, result, .. } if is_fork(name) => {
            number(split_word(result).0).filter(|&id| id > 0)
        }
        _ => None,
    }
}

//! The threads of a recording, and the programs that their processes run: the file `task.txt`, in order of time. A
//! forked process runs the program of its parent until it starts another.

use std::path::Path;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::base::hex::hex_number;
use crate::formats::input::decimal::nanos_from_seconds;
use crate::formats::input::lines::LineReader;
use crate::formats::input::source::Source;
use crate::formats::input::text::parsed;
use crate::formats::linux::scheduler::Scheduler;
use crate::formats::output::batch::{BatchBuilder, label};
use crate::formats::output::modules::file_name;
use crate::formats::{ReadContext, ReadError};
use crate::model::{Id, Loss, Metadata, SourcePos, TrackKey};

pub(super) const FILE: &str = "task.txt";

/// Limit for a line, which has a path.
const LINE_BYTES_MAX: usize = 64 << 10;

/// Limit for sessions, libraries and processes, of a few hundred bytes each; recordings have some thousands.
const ROWS_MAX: usize = 1 << 20;

/// A program that runs: a session of uftrace.
#[derive(Debug)]
pub(super) struct Session {
    /// Name of its file of mappings.
    pub(super) id: Box<str>,
    program: Box<[u8]>,
    /// Libraries that it loads while it runs.
    pub(super) libraries: Vec<UftraceLibrary>,
}

#[derive(Debug)]
pub(super) struct UftraceLibrary {
    pub(super) base: u64,
    pub(super) path: Box<[u8]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct SessionIdx(pub(super) u32);

/// The time from which a process runs a session.
pub(super) type SessionStart = (i64, SessionIdx);

#[derive(Debug, Default)]
pub(super) struct Tasks {
    sessions: Vec<Session>,
    session_by_id: FxHashMap<Box<str>, SessionIdx>,
    process_of: FxHashMap<i64, i64>,
    /// By process, in order of time.
    starts: FxHashMap<i64, Vec<SessionStart>>,
    forked: FxHashSet<i64>,
}

impl Tasks {
    /// Reads the file. Damaged lines are counted in the batch.
    pub(super) fn read(folder: &Path, batch: &mut BatchBuilder, context: &ReadContext) -> Result<Self, ReadError> {
        let (mut tasks, mut rows) = (Self::default(), 0);
        let mut lines = LineReader::new(Source::open(&folder.join(FILE), context)?, LINE_BYTES_MAX);
        while let Some(line) = lines.next(batch)? {
            if line.bytes.is_empty() {
                continue;
            }
            let (loss, pos) = (line.loss(), line.pos());
            if rows >= ROWS_MAX {
                batch.lose(Loss::OverLimit, pos);
            } else if tasks.add_line(line.bytes).is_none() {
                batch.lose(loss, pos);
            }
            rows += 1;
        }
        tasks.starts.values_mut().for_each(|starts| starts.sort_by_key(|&(ts_ns, _)| ts_ns));
        Ok(tasks)
    }

    fn add_line(&mut self, line: &[u8]) -> Option<()> {
        let ts_ns = || nanos_from_seconds(field(line, "timestamp")?).ok();
        let number = |key| parsed::<i64>(field(line, key)?);
        match line.get(..5)? {
            b"TASK " => {
                self.process_of.insert(number("tid")?, number("pid")?);
            }
            b"FORK " => {
                let (pid, parent, forked_ns) = (number("pid")?, number("ppid")?, ts_ns()?);
                self.process_of.insert(pid, pid);
                self.forked.insert(pid);
                if let Some(&(_, session)) = self.sessions_of(parent).last() {
                    self.starts.entry(pid).or_default().push((forked_ns, session));
                }
            }
            b"SESS " => {
                let program = field(line, "exename").unwrap_or_default().into();
                let session = self.session(field(line, "sid")?, Some(program))?;
                self.starts.entry(number("pid")?).or_default().push((ts_ns()?, session));
            }
            b"DLOP " => {
                let base = hex_number(field(line, "base")?)?;
                let library = UftraceLibrary { base, path: field(line, "libname")?.into() };
                let session = self.session(field(line, "sid")?, None)?;
                self.sessions[session.0 as usize].libraries.push(library);
            }
            _ => return None,
        }
        Some(())
    }

    fn session(&mut self, id: &[u8], program: Option<Box<[u8]>>) -> Option<SessionIdx> {
        // It is part of a file name, which must stay in the folder.
        let id = std::str::from_utf8(id).ok().filter(|id| id.bytes().all(|byte| byte.is_ascii_alphanumeric()))?;
        if let Some(&session) = self.session_by_id.get(id) {
            if let Some(program) = program {
                self.sessions[session.0 as usize].program = program;
            }
            return Some(session);
        }
        let session = SessionIdx(u32::try_from(self.sessions.len()).ok()?);
        let program = program.unwrap_or_default();
        self.sessions.push(Session { id: id.into(), program, libraries: Vec::new() });
        self.session_by_id.insert(id.into(), session);
        Some(session)
    }

    pub(super) fn session_of(&self, session: SessionIdx) -> &Session {
        &self.sessions[session.0 as usize]
    }

    /// Returns the process of a thread. An unknown thread is a process with its id.
    pub(super) fn process(&self, tid: i64) -> i64 {
        self.process_of.get(&tid).copied().unwrap_or(tid)
    }

    /// Returns the track of a thread.
    pub(super) fn track(&self, tid: i64) -> TrackKey {
        TrackKey::thread(Id::Number(self.process(tid)), Id::Number(tid))
    }

    /// Returns whether a process was forked, and so starts within the calls of its parent.
    pub(super) fn is_forked(&self, pid: i64) -> bool {
        self.forked.contains(&pid)
    }

    /// Returns the sessions of a process in order of time. That of its parent is the first.
    pub(super) fn sessions_of(&self, pid: i64) -> &[SessionStart] {
        self.starts.get(&pid).map_or(&[], |starts| starts)
    }

    /// Returns the name of the last program of a thread's process; empty if it is unknown.
    pub(super) fn program(&self, tid: i64) -> &[u8] {
        let last = self.sessions_of(self.process(tid)).last();
        last.map_or(&[], |&(_, session)| file_name(&self.session_of(session).program))
    }

    /// Names all processes after their last programs.
    pub(super) fn add_names(&self, batch: &mut BatchBuilder, scheduler: &mut Scheduler) {
        let mut tids: Vec<(i64, i64)> = self.process_of.iter().map(|(&tid, &pid)| (tid, pid)).collect();
        // The map is unordered.
        tids.sort_unstable();
        for (tid, pid) in tids {
            scheduler.set_process(tid, pid);
            if tid != pid {
                continue;
            }
            let name = self.program(pid);
            if !name.is_empty() {
                let name = label(name, SourcePos::Offset(0), batch.losses());
                batch.add_metadata(Metadata::ProcessName { pid: Id::Number(pid), name });
            }
        }
        if self.process_of.is_empty() {
            batch.lose(Loss::Truncated, SourcePos::Offset(0));
        }
    }
}

/// Returns the value of `key=value` in a line, without quotes. A quoted value may have spaces.
fn field<'a>(line: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let mut from = 0;
    loop {
        let at = from + memchr::memmem::find(&line[from..], key.as_bytes())?;
        let value = &line[at + key.len()..];
        if at > 0 && line[at - 1] == b' ' && value.first() == Some(&b'=') {
            let value = &value[1..];
            return Some(match value.strip_prefix(b"\"") {
                // The last quote ends the value, since it is the last field.
                Some(quoted) => &quoted[..memchr::memrchr(b'"', quoted).unwrap_or(quoted.len())],
                None => &value[..memchr::memchr(b' ', value).unwrap_or(value.len())],
            });
        }
        from = at + key.len();
    }
}

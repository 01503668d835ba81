//! Code that processes compiled at run time and dumped (`jit-PID.dump`). Each load or move becomes a mapping of the
//! dump at its time, as `perf inject --jit` does, so that an address means the function that was there. The naive way
//! names an address by the last function that was there.
//!
//! Dumps have times of the monotonic clock, as recordings of `perf record -k mono` do. Others are left to the look-up
//! of names.

use std::sync::Arc;

use super::maps::Maps;
use super::modules::MappedFile;
use crate::base::budget_shares::BudgetShare;
use crate::formats::ReadContext;
use crate::model::unwind::{JitLoad, UnwoundModule};
use crate::model::{Module, ModuleKind};

/// Limit for the dumps of a recording. Dumps of more processes are ignored.
const DUMPS_MAX: usize = 1024;

/// Limit for the loads of all dumps, as for mappings.
const LOADS_MAX: usize = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct JitLoads {
    context: ReadContext,
    dumps: Vec<JitDumpOfProcess>,
    /// Loads and moves in order of time. Those before `next` are mapped.
    loads: Vec<LoadOfProcess>,
    next: usize,
}

#[derive(Debug)]
struct JitDumpOfProcess {
    pid: i64,
    path: Arc<str>,
    searched: UnwoundModule,
}

#[derive(Debug, Clone)]
struct LoadOfProcess {
    pid: i64,
    path: Arc<str>,
    load: JitLoad,
}

impl JitLoads {
    pub(super) fn new(context: &ReadContext) -> Self {
        Self { context: context.clone(), ..Self::default() }
    }

    /// Reads the dump that a process has mapped, as perf prescribes. Returns `false` if there are too many.
    pub(super) fn add_dump(&mut self, pid: i64, path: &str) -> bool {
        let Some(files) = &self.context.unwind_files else { return true };
        if self.dumps.iter().any(|dump| dump.pid == pid && &*dump.path == path) {
            return true;
        }
        if self.dumps.len() >= DUMPS_MAX {
            return false;
        }
        let module =
            Module { category: path.into(), path: path.into(), kind: ModuleKind::JitDump, ..Module::default() };
        let bytes_max = BudgetShare::JitDump.hard_limit_bytes(&self.context.budget);
        let (file, loads) = files.files.jit_loads(&files.sources, &module, bytes_max);
        let path: Arc<str> = path.into();
        self.loads.drain(..std::mem::take(&mut self.next));
        let room = LOADS_MAX.saturating_sub(self.loads.len());
        let is_whole = loads.len() <= room;
        let of_process = |load| LoadOfProcess { pid, path: Arc::clone(&path), load };
        self.loads.extend(loads.into_iter().take(room).map(of_process));
        self.loads.sort_by_key(|it| it.load.ts_ns);
        self.dumps.push(JitDumpOfProcess { pid, path, searched: UnwoundModule { module, file } });
        is_whole
    }

    /// Maps the code that was loaded until a time. Returns `false` if there are too many mappings.
    pub(super) fn map_until(&mut self, ts_ns: i64, maps: &mut Maps) -> bool {
        let mut is_whole = true;
        while let Some(LoadOfProcess { pid, path, load }) =
            self.loads.get(self.next).filter(|it| it.load.ts_ns <= ts_ns)
        {
            let file = MappedFile { path: path.as_bytes(), build_id: None, identity: None };
            is_whole &= maps.add(*pid, load.start, load.len, load.dump_offset, &file);
            self.next += 1;
        }
        is_whole
    }

    /// Returns the dumps that were searched, including missing ones.
    pub(super) fn modules(self) -> impl Iterator<Item = UnwoundModule> {
        self.dumps.into_iter().map(|dump| dump.searched)
    }
}

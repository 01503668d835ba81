//! Unwinds recorded stack bytes with the tables that compilers write for exceptions and debuggers. Files of modules are
//! found as for names: below the searched folders, and only of the recorded build.
//!
//! A stack ends, with a reason, if a file, a table or a byte is missing. Code without a table is left through its frame
//! pointer, if that leads up the stack and to code. Work is bounded: tables in bytes, reading tables and rules in
//! steps, and a stack in frames. Each frame is further up than the previous one.
//!
//! `tables` has the rules of one file, and `rule` applies a rule to the registers of a frame.

mod rule;
mod tables;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use xxhash_rust::xxh3::xxh3_64;

use self::rule::{FrameMemory, FrameRule};
use self::tables::UnwindTables;
use super::jit;
use super::locate::Locator;
use super::search::ModuleSearch;
use crate::base::cancel::Cancel;
use crate::model::modules::ModuleBuilds;
use crate::model::unwind::{
    FRAMES_MAX, INSTRUCTION, JitLoad, MappedCode, StackBytes, StackEnd, UnwindFiles, Unwinder, UnwoundFile,
    UnwoundModule,
};
use crate::model::{Module, ModuleKind, SourceFile, Sources};

/// Limit for the cached rules. Programs have about ten thousand return addresses.
const RULES_MAX: usize = 32 * 1024;

/// Steps for the uncached rules of one trace; a rule takes a few hundred.
const STEPS_MAX: u64 = 1 << 30;

/// The source of unwind tables: the same files that names come from.
#[derive(Debug, Clone, Default)]
pub(crate) struct SymbolUnwinding {
    /// Folders given by the user.
    pub(crate) folders: Vec<PathBuf>,
    /// Whether files of this machine are used.
    pub(crate) has_system: bool,
}

impl SymbolUnwinding {
    fn locator(&self, sources: &Sources) -> Locator {
        let paths = sources.files().iter().map(SourceFile::path);
        if self.has_system {
            Locator::for_traces(paths, &self.folders)
        } else {
            Locator::without_system(paths, &self.folders)
        }
    }
}

impl UnwindFiles for SymbolUnwinding {
    fn unwinder(&self, sources: &Sources, bytes_max: u64) -> Box<dyn Unwinder> {
        Box::new(StackUnwinder::new(self.locator(sources), bytes_max))
    }

    fn jit_loads(&self, sources: &Sources, dump: &Module, bytes_max: u64) -> (UnwoundFile, Vec<JitLoad>) {
        jit::loads(dump, &self.locator(sources), bytes_max)
    }

    fn are_same(&self, sources: &Sources, modules: &[UnwoundModule]) -> bool {
        let locator = self.locator(sources);
        modules.iter().all(|UnwoundModule { module, file }| match file {
            // The same build has the same tables, wherever it is.
            UnwoundFile::Verified => true,
            UnwoundFile::Missing => find_file(module, &locator) == UnwoundFile::Missing,
            // If the file is gone, what was read of it stays valid.
            UnwoundFile::Unverified(_) => [*file, UnwoundFile::Missing].contains(&find_file(module, &locator)),
        })
    }
}

/// Returns the identity of a module's file.
fn find_file(module: &Module, locator: &Locator) -> UnwoundFile {
    if module.kind == ModuleKind::JitDump {
        return jit::dump_identity(module, locator);
    }
    find_files(module, locator).1
}

/// Returns the files of a module with tables, and their identity.
fn find_files(module: &Module, locator: &Locator) -> (ModuleSearch, UnwoundFile) {
    let has_file = matches!(module.kind, ModuleKind::File | ModuleKind::Vdso) && module.builds != ModuleBuilds::Several;
    // The search is never cancelled.
    let search = has_file.then(|| ModuleSearch::run(module, locator, &Cancel::default()).ok()).flatten();
    let search = search.unwrap_or_default();
    let is_table = |file: &&super::search::MatchingFile| tables::has_tables(&file.elf);
    let file = match search.files.iter().find(is_table) {
        None => UnwoundFile::Missing,
        Some(file) if file.is_verified => UnwoundFile::Verified,
        Some(_) => {
            let stamps: Vec<u8> = search.stamps().into_iter().flat_map(u64::to_le_bytes).collect();
            UnwoundFile::Unverified(xxh3_64(&stamps))
        }
    };
    (search, file)
}

/// Unwinds the stacks of one recording.
struct StackUnwinder {
    locator: Locator,
    /// Bytes that tables may still take.
    bytes_left: u64,
    /// Steps that rules may still take.
    steps_left: u64,
    /// By module index of the reader.
    modules: FxHashMap<usize, SearchedModule>,
    rules: FxHashMap<(usize, u64), Result<Arc<FrameRule>, StackEnd>>,
}

/// A module whose files were searched.
struct SearchedModule {
    unwound: UnwoundModule,
    tables: Option<UnwindTables>,
}

impl StackUnwinder {
    fn new(locator: Locator, bytes_max: u64) -> Self {
        let (modules, rules) = (FxHashMap::default(), FxHashMap::default());
        Self { locator, bytes_left: bytes_max, steps_left: STEPS_MAX, modules, rules }
    }

    /// Returns the rule for an address in a module.
    fn rule(&mut self, code: &dyn MappedCode, row: usize, address: u64) -> Result<Arc<FrameRule>, StackEnd> {
        if let Some(rule) = self.rules.get(&(row, address)) {
            return rule.clone();
        }
        let rule = self.read_rule(code, row, address).map(Arc::new);
        if self.rules.len() >= RULES_MAX {
            self.rules.clear();
        }
        self.rules.insert((row, address), rule.clone());
        rule
    }

    fn read_rule(&mut self, code: &dyn MappedCode, row: usize, address: u64) -> Result<FrameRule, StackEnd> {
        let Self { locator, bytes_left, steps_left, modules, .. } = self;
        let module = modules.entry(row).or_insert_with(|| SearchedModule::find(code.module(row), locator, bytes_left));
        match &module.tables {
            Some(tables) => tables.rule(address, steps_left).ok_or(StackEnd::NoRules),
            None if matches!(module.unwound.module.kind, ModuleKind::File | ModuleKind::Vdso) => Err(StackEnd::NoFile),
            None => Err(StackEnd::NoRules),
        }
    }
}

impl SearchedModule {
    /// Reads the tables of a module, and subtracts their size from `bytes_left`.
    fn find(module: Module, locator: &Locator, bytes_left: &mut u64) -> Self {
        let (search, file) = find_files(&module, locator);
        let tables = UnwindTables::read(&search, module.kind, *bytes_left);
        *bytes_left = bytes_left.saturating_sub(tables.as_ref().map_or(0, UnwindTables::bytes));
        Self { unwound: UnwoundModule { module, file }, tables }
    }
}

impl Unwinder for StackUnwinder {
    fn unwind(&mut self, stack: &StackBytes<'_>, code: &mut dyn MappedCode, addresses: &mut Vec<u64>) -> StackEnd {
        let Some(mut memory) = FrameMemory::new(stack) else { return StackEnd::Damaged };
        let first = addresses.len();
        // An interrupted instruction has not run yet; a call is before its return address.
        let mut is_interrupted = true;
        loop {
            let Some(address) = memory.registers[INSTRUCTION] else { return StackEnd::Damaged };
            let looked_up = if is_interrupted { address } else { address.wrapping_sub(1) };
            let location = code.locate(looked_up);
            let is_first = addresses.len() == first;
            if addresses.len() - first >= FRAMES_MAX {
                return StackEnd::TooDeep;
            }
            // No code runs in unmapped memory, except for the sampled instruction.
            if location.is_some() || is_first {
                addresses.push(address);
            }
            let Some((row, offset)) = location else { return StackEnd::Damaged };
            let rule = match self.rule(code, row, offset) {
                Ok(rule) => rule,
                Err(StackEnd::NoRules) if memory.step_by_frame_pointer(|caller| code.locate(caller).is_some()) => {
                    is_interrupted = false;
                    continue;
                }
                Err(end) => return end,
            };
            is_interrupted = rule.is_signal;
            if let Err(end) = memory.step(&rule, is_first) {
                return end;
            }
        }
    }

    fn modules(&self) -> Vec<UnwoundModule> {
        let mut rows: Vec<_> = self.modules.iter().collect();
        rows.sort_unstable_by_key(|(row, _)| **row);
        rows.into_iter().map(|(_, module)| module.unwound.clone()).collect()
    }
}

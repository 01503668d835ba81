//! Names JIT-compiled code by the dump and the list that its process wrote for perf. With times of the same clock, a
//! recording maps the code of a dump when it was loaded, and frames are offsets in the dump; else an address has the
//! name of the last function.

use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::file::InputFile;
use super::jit_dump::JitDump;
use super::locate::Locator;
use super::module_names::{ModuleNames, function_names};
use super::perf_map::JitFunctions;
use super::state::NameState;
use crate::base::files::stamps;
use crate::model::Module;
use crate::model::modules::jit_dump_pid;
use crate::model::unwind::{JitLoad, UnwoundFile};

/// Size limit for the dump or the list of a process.
const LIST_BYTES_MAX: u64 = 256 << 20;

/// Resolves addresses of a process, from its dump and its list.
pub(super) fn names_by_address(pid: u32, addresses: &[u64], locator: &Locator) -> ModuleNames {
    let names = [dump_name(pid), format!("perf-{pid}.map")];
    if names.iter().any(|name| locator.has_several_lists(name, LIST_BYTES_MAX)) {
        return ModuleNames { state: NameState::Ambiguous, ..ModuleNames::default() };
    }
    let read = |file: InputFile| Some((file.path.clone(), file.read_all(LIST_BYTES_MAX)?));
    let dumped = locator.lists_of_process(&names[0]).filter_map(read).find_map(|(path, dump)| {
        let dump = JitDump::read(dump).filter(|dump| dump.pid == pid)?;
        Some((path, dump))
    });
    let listed =
        locator.lists_of_process(&names[1]).find_map(read).map(|(path, list)| (path, JitFunctions::read(list)));
    let path = dumped.as_ref().map(|(path, _)| path).or(listed.as_ref().map(|(path, _)| path)).cloned();
    if path.is_none() {
        return ModuleNames::default();
    }
    let (dump, list) = (dumped.as_ref().map(|(_, dump)| dump), listed.as_ref().map(|(_, list)| list));
    let names =
        function_names(addresses, |address| dump.and_then(|dump| dump.find(address)).or_else(|| list?.find(address)));
    let is_replaced = |address: u64| match dump.filter(|dump| dump.find(address).is_some()) {
        Some(dump) => dump.is_replaced(address),
        None => list.is_some_and(|list| list.is_replaced(address)),
    };
    let replaced = addresses.iter().copied().filter(|&address| is_replaced(address)).collect();
    // Process ids are reused, so the list may be of another process.
    let used = path.iter().cloned().collect();
    ModuleNames { names, state: NameState::Complete, path, used, replaced, ..ModuleNames::default() }
}

/// Resolves offsets in a dump.
pub(super) fn names_in_dump(module: &Module, offsets: &[u64], locator: &Locator) -> ModuleNames {
    let state = match open_dump(module, locator) {
        OpenedDump::Missing => NameState::NoFile,
        OpenedDump::Several => NameState::Ambiguous,
        OpenedDump::One(file) => match file.read_all(LIST_BYTES_MAX).and_then(JitDump::read) {
            None => NameState::Unreadable,
            Some(dump) => {
                let names = function_names(offsets, |offset| dump.function_at_offset(offset));
                let (path, used) = (Some(file.path.clone()), vec![file.path]);
                return ModuleNames { names, state: NameState::Complete, path, used, ..ModuleNames::default() };
            }
        },
    };
    ModuleNames { state, ..ModuleNames::default() }
}

/// Returns the dumped code of a process in order of time, and the identity of its dump. A dump of more than `bytes_max`
/// has no code.
pub(super) fn loads(module: &Module, locator: &Locator, bytes_max: u64) -> (UnwoundFile, Vec<JitLoad>) {
    let OpenedDump::One(file) = open_dump(module, locator) else { return (UnwoundFile::Missing, Vec::new()) };
    let dump = file.read_all(bytes_max.min(LIST_BYTES_MAX)).and_then(JitDump::read);
    (identity_of(&file), dump.map_or_else(Vec::new, JitDump::into_loads))
}

/// Returns the identity of the dump of a process.
pub(super) fn dump_identity(module: &Module, locator: &Locator) -> UnwoundFile {
    match open_dump(module, locator) {
        OpenedDump::One(file) => identity_of(&file),
        OpenedDump::Missing | OpenedDump::Several => UnwoundFile::Missing,
    }
}

fn identity_of(file: &InputFile) -> UnwoundFile {
    let stamps = file.metadata().map(|metadata| stamps(&metadata)).into_iter().flatten();
    UnwoundFile::Unverified(xxh3_64(&stamps.flat_map(u64::to_le_bytes).collect::<Vec<_>>()))
}

enum OpenedDump {
    Missing,
    /// The traces have different dumps of processes with one id.
    Several,
    One(InputFile),
}

/// Opens the dump of a process in the searched folders, or at its recorded path.
fn open_dump(module: &Module, locator: &Locator) -> OpenedDump {
    let Some(pid) = jit_dump_pid(&module.path) else { return OpenedDump::Missing };
    let name = dump_name(pid);
    if locator.has_several_lists(&name, LIST_BYTES_MAX) {
        return OpenedDump::Several;
    }
    let recorded = std::iter::once_with(|| locator.recorded_list(Path::new(&*module.path))).flatten();
    let is_of_process = |file: &InputFile| JitDump::process_of(file) == Some(pid);
    let found = locator.lists_of_process(&name).chain(recorded).find(is_of_process);
    found.map_or(OpenedDump::Missing, OpenedDump::One)
}

fn dump_name(pid: u32) -> String {
    format!("jit-{pid}.dump")
}

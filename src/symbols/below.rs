//! Symbol resolution from a single folder, for tests with arbitrary bytes.

use std::path::Path;

use super::code::listing::decoded_at;
use super::locate::Locator;
use super::resolve::resolve;
use super::unwind::SymbolUnwinding;
use crate::base::cancel::Cancel;
use crate::model::modules::KernelAnchor;
use crate::model::unwind::{INSTRUCTION, MappedCode, REGISTERS, STACK_POINTER, StackBytes, UnwindFiles as _};
use crate::model::{BuildId, Module, ModuleKind, Sources};

/// Limit for the debug information read.
const BYTES_MAX: u64 = 64 << 20;

/// Address of a kernel whose list starts with `_text`; its build-id is fixed too.
const KERNEL_AT: u64 = 0xffff_ffff_8100_0000;
const KERNEL_BUILD_ID: [u8; 20] = [0xab; 20];

/// Returns the bounds of each instruction of the functions at some addresses of a module, from the files below a folder
/// only.
#[must_use]
pub fn instructions_below(folder: &Path, path: &str, kind: ModuleKind, addresses: &[u64]) -> Vec<Vec<(u64, u64)>> {
    let module = Module { path: path.into(), kind, ..Module::default() };
    let locator = Locator::without_system([], &[folder.to_path_buf()]);
    // The task is never cancelled.
    let decoded = decoded_at(&module, addresses, &locator, BYTES_MAX, &Cancel::default()).unwrap_or_default();
    decoded.iter().map(|all| all.iter().map(|it| (it.range.start, it.range.end)).collect()).collect()
}

/// Returns the functions at each address of a module, innermost first, from the files below a folder only. A kernel has
/// a build-id of 20 bytes `ab`; other modules have none.
#[must_use]
pub fn names_below(folder: &Path, path: &str, kind: ModuleKind, addresses: &[u64]) -> Vec<Vec<String>> {
    let mut module = Module { path: path.into(), kind, ..Module::default() };
    if kind == ModuleKind::Kernel {
        module.build_id = BuildId::new(&KERNEL_BUILD_ID);
        module.anchor = Some(KernelAnchor { symbol: "_text".into(), address: KERNEL_AT, release: None });
    }
    let locator = Locator::without_system([], &[folder.to_path_buf()]);
    let mut sorted = addresses.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    // The task is never cancelled.
    let module_names = resolve(&module, &sorted, &locator, BYTES_MAX, &Cancel::default()).unwrap_or_default();
    let names = |&address: &u64| {
        let functions = module_names.names.get(address).into_iter().flatten();
        functions.map(|function| function.name.to_owned()).collect()
    };
    addresses.iter().map(names).collect()
}

/// A module mapped at the start of memory.
struct MappedAlone(Module);

impl MappedCode for MappedAlone {
    fn locate(&mut self, address: u64) -> Option<(usize, u64)> {
        (address < STACK_AT).then_some((0, address))
    }

    fn module(&self, _row: usize) -> Module {
        self.0.clone()
    }
}

/// Address of the stacks of [`unwound_below`].
pub(crate) const STACK_AT: u64 = 1 << 40;

/// Returns the unwound stacks of a module at some addresses, innermost first, each with its truncation mark, from the
/// files below a folder only. All other registers point into the stack, whose bytes are given.
#[must_use]
pub fn unwound_below(
    folder: &Path,
    path: &str,
    addresses: &[u64],
    stack: &[u8],
) -> Vec<(Vec<u64>, Option<&'static str>)> {
    let unwinding = SymbolUnwinding { folders: vec![folder.to_path_buf()], has_system: false };
    let mut unwinder = unwinding.unwinder(&Sources::default(), BYTES_MAX);
    let mut code = MappedAlone(Module { path: path.into(), ..Module::default() });
    let unwound = |&address: &u64| {
        let mut registers = [Some(STACK_AT + 64); REGISTERS];
        (registers[STACK_POINTER], registers[INSTRUCTION]) = (Some(STACK_AT), Some(address));
        let mut frames = Vec::new();
        let end = unwinder.unwind(&StackBytes { registers, bytes: stack }, &mut code, &mut frames);
        (frames, end.mark())
    };
    addresses.iter().map(unwound).collect()
}

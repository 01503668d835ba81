//! User stacks recorded as bytes with registers (`--call-graph dwarf`). Passes them to the unwinder, which has access
//! to the files. Supports x86-64 only; stacks of other machines keep only their innermost frame.

use super::maps::{FrameLocation, Maps};
use super::wire::ProgramState;
use crate::base::budget_shares::BudgetShare;
use crate::base::bytes::ByteCursor;
use crate::formats::ReadContext;
use crate::model::Module;
use crate::model::unwind::{MappedCode, REGISTERS, StackBytes, StackEnd, Unwinder, UnwoundModule};

/// ABI value for registers of a 64-bit program.
const ABI_64: u64 = 2;

/// DWARF number of each x86-64 register, in perf's order.
const NUMBERS: [Option<usize>; 24] = [
    Some(0),  // rax
    Some(3),  // rbx
    Some(2),  // rcx
    Some(1),  // rdx
    Some(4),  // rsi
    Some(5),  // rdi
    Some(6),  // rbp
    Some(7),  // rsp
    Some(16), // rip
    None,     // flags and segments
    None,
    None,
    None,
    None,
    None,
    None,
    Some(8),
    Some(9),
    Some(10),
    Some(11),
    Some(12),
    Some(13),
    Some(14),
    Some(15),
];

/// The unwinder, created at the first stack dump.
#[derive(Default)]
pub(super) struct RawStacks {
    context: ReadContext,
    unwinder: Option<Box<dyn Unwinder>>,
    /// Addresses of the last stack, innermost first.
    pub(super) addresses: Vec<u64>,
}

/// The mappings of one process.
struct ProcessCode<'a> {
    maps: &'a mut Maps,
    pid: i64,
}

impl RawStacks {
    pub(super) fn new(context: &ReadContext) -> Self {
        Self { context: context.clone(), ..Self::default() }
    }

    /// Unwinds the stack of a process into [`Self::addresses`]. Returns `None` if it cannot be unwound.
    pub(super) fn unwind(
        &mut self,
        state: &ProgramState<'_>,
        machine: &str,
        maps: &mut Maps,
        pid: i64,
    ) -> Option<StackEnd> {
        self.addresses.clear();
        if state.abi != ABI_64 || !matches!(machine, "x86_64" | "") {
            return None;
        }
        let registers = registers(state)?;
        if self.unwinder.is_none() {
            let files = self.context.unwind_files.as_ref()?;
            let bytes_max = BudgetShare::UnwindTables.bytes(&self.context.budget);
            self.unwinder = Some(files.files.unwinder(&files.sources, bytes_max));
        }
        let stack = StackBytes { registers, bytes: state.stack };
        let mut code = ProcessCode { maps, pid };
        Some(self.unwinder.as_mut()?.unwind(&stack, &mut code, &mut self.addresses))
    }

    /// Returns the modules whose unwind tables were needed, including modules without tables.
    pub(super) fn modules(&self) -> Vec<UnwoundModule> {
        self.unwinder.as_ref().map_or_else(Vec::new, |unwinder| unwinder.modules())
    }
}

/// Returns registers by DWARF number; `None` for registers of another machine.
fn registers(state: &ProgramState<'_>) -> Option<[Option<u64>; REGISTERS]> {
    let mut registers = [None; REGISTERS];
    let mut front = ByteCursor(state.registers);
    for bit in (0..64).filter(|bit| state.mask >> bit & 1 != 0) {
        let value = front.u64()?;
        if let Some(number) = *NUMBERS.get(bit)? {
            registers[number] = Some(value);
        }
    }
    Some(registers)
}

impl MappedCode for ProcessCode<'_> {
    fn locate(&mut self, address: u64) -> Option<(usize, u64)> {
        match self.maps.locate(self.pid, address) {
            FrameLocation::File { module, address } => Some((module, address)),
            FrameLocation::Function(_) | FrameLocation::Unmapped { .. } => None,
        }
    }

    fn module(&self, row: usize) -> Module {
        self.maps.modules.module(row)
    }
}

impl std::fmt::Debug for RawStacks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RawStacks").finish_non_exhaustive()
    }
}

//! Stacks of programs that were recorded as bytes with the registers (`--call-graph dwarf`): hands them to the unwinder
//! of the load, which knows the files. Refuses machines other than x86-64: their stacks have the innermost frame alone.

use super::maps::{FramePlace, Maps};
use super::wire::{PerfBytes, ProgramState};
use crate::base::budget_shares::BudgetShare;
use crate::formats::ReadContext;
use crate::model::Module;
use crate::model::unwind::{MappedCode, REGISTERS, StackBytes, StackEnd, Unwinder, UnwoundModule};

/// The value of a sample that its registers are those of a program of 64 bits.
const ABI_64: u64 = 2;

/// For each of perf's registers of x86-64, from the first: its number in debug information.
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

/// The unwinder of a load, from the first stack of bytes on.
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

    /// Unwinds the stack of a process into [`Self::addresses`]; `None` where nothing can.
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

    /// The modules whose tables stacks were unwound by, or that had none.
    pub(super) fn modules(&self) -> Vec<UnwoundModule> {
        self.unwinder.as_ref().map_or_else(Vec::new, |unwinder| unwinder.modules())
    }
}

/// The registers by their numbers in debug information; `None` for registers of another machine.
fn registers(state: &ProgramState<'_>) -> Option<[Option<u64>; REGISTERS]> {
    let mut registers = [None; REGISTERS];
    let mut front = PerfBytes(state.registers);
    for bit in (0..64).filter(|bit| state.mask >> bit & 1 != 0) {
        let value = front.u64()?;
        if let Some(number) = *NUMBERS.get(bit)? {
            registers[number] = Some(value);
        }
    }
    Some(registers)
}

impl MappedCode for ProcessCode<'_> {
    fn place(&mut self, address: u64) -> Option<(usize, u64)> {
        match self.maps.place(self.pid, address) {
            FramePlace::File { module, address } => Some((module, address)),
            FramePlace::Function(_) | FramePlace::Nowhere { .. } => None,
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

//! Call stack samples: of kernel counters, and of Chromium's own threads. Stacks, frames and functions are interned
//! tables of the sequence, which `heap_profile` uses too.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::fields::{
    callstack, cpu_mode, frame, interned_data, interned_string, mapping, perf_sample, streaming_profile_packet,
};
use super::interned::{InternCharge, Interned, InternedValue};
use super::interned_stacks::MADE_UP_ADDRESS_BIT;
use super::own_fields::own_mapping;
use crate::formats::output::batch::{BatchBuilder, STACK_FRAMES_MAX};
use crate::formats::output::modules::{FrameFile, FrameModules, ModuleFrame, is_like_address};
use crate::formats::protobuf::decode::{Fields, ProtoValue};
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::formats::protobuf::numbers::FieldNumber;
use crate::model::{BuildId, Loss, ModuleKind, NameIdx, SourcePos, StackIdx};

/// Length of a Chromium build-id in hexadecimal Breakpad form; other build-ids are bytes.
const BREAKPAD_LETTERS: usize = 33;

/// Limit for the path of a mapping.
const PATH_BYTES_MAX: usize = 4096;

/// Interned stacks of a sequence.
#[derive(Debug, Default)]
pub(super) struct PerfettoStackTables {
    functions: Interned<Box<[u8]>>,
    paths: Interned<Box<[u8]>>,
    build_ids: Interned<Box<[u8]>>,
    mappings: Interned<PerfettoMapping>,
    frames: Interned<PerfettoFrame>,
    /// Frames of each stack, outermost first.
    callstacks: Interned<Box<[u64]>>,
    /// Batch number and row of each stack; valid only for that batch.
    stack_rows: FxHashMap<u64, (u32, StackIdx)>,
}

#[derive(Debug, Clone, Copy, Default)]
struct PerfettoFrame {
    function: u64,
    mapping: u64,
    /// Address in the linked file; for a caller, inside the call instruction.
    address: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct PerfettoMapping {
    build_id: u64,
    /// Iids of the components of its path, outermost first.
    path: Box<[u64]>,
    /// Number of the kind of module, in files that this program wrote.
    kind: Option<u64>,
}

impl PerfettoMapping {
    /// Returns the kind of the module; without a number, the kind of other recorders' modules.
    fn module_kind(&self) -> ModuleKind {
        self.kind.map_or(ModuleKind::Linked, |kind| ModuleKind::from_number(kind).unwrap_or(ModuleKind::Unknown))
    }
}

impl InternedValue for PerfettoFrame {
    fn heap_bytes(&self) -> usize {
        0
    }
}

impl InternedValue for PerfettoMapping {
    fn heap_bytes(&self) -> usize {
        self.path.heap_bytes()
    }
}

impl PerfettoStackTables {
    /// Adds an entry of interned data, unless it belongs to another table.
    pub(super) fn intern(&mut self, table: FieldNumber, bytes: &[u8], charge: &mut InternCharge<'_>) {
        let mut iid = 0;
        let mut text: &[u8] = &[];
        let mut numbers: Vec<u64> = Vec::new();
        let mut entry = PerfettoFrame::default();
        let (mut build_id, mut kind) = (0, None);
        for field in Fields::new(bytes) {
            let value = field.value;
            match (table, field.number) {
                // All tables have the iid in the same field.
                (_, interned_string::IID) => iid = value.number(),
                (
                    interned_data::FUNCTION_NAMES | interned_data::MAPPING_PATHS | interned_data::BUILD_IDS,
                    interned_string::STR,
                ) => {
                    // Ignores a number in this field.
                    if let ProtoValue::Bytes(bytes) = value {
                        text = bytes;
                    }
                }
                (interned_data::FRAMES, frame::FUNCTION_NAME_ID) => entry.function = value.number(),
                (interned_data::FRAMES, frame::MAPPING_ID) => entry.mapping = value.number(),
                (interned_data::FRAMES, frame::REL_PC) => entry.address = value.number(),
                (interned_data::MAPPINGS, mapping::BUILD_ID) => build_id = value.number(),
                (interned_data::MAPPINGS, own_mapping::MODULE_KIND) => kind = Some(value.number()),
                (interned_data::CALLSTACKS, callstack::FRAME_IDS)
                | (interned_data::MAPPINGS, mapping::PATH_STRING_IDS) => {
                    let room = STACK_FRAMES_MAX.saturating_sub(numbers.len());
                    numbers.extend(value.varints().take(room));
                }
                _ => {}
            }
        }
        match table {
            interned_data::FUNCTION_NAMES => charge.put(&mut self.functions, iid, text.into()),
            interned_data::FRAMES => charge.put(&mut self.frames, iid, entry),
            interned_data::CALLSTACKS => {
                self.stack_rows.remove(&iid);
                charge.put(&mut self.callstacks, iid, numbers.into());
            }
            interned_data::MAPPING_PATHS => charge.put(&mut self.paths, iid, text.into()),
            interned_data::BUILD_IDS => charge.put(&mut self.build_ids, iid, text.into()),
            interned_data::MAPPINGS => {
                charge.put(&mut self.mappings, iid, PerfettoMapping { build_id, path: numbers.into(), kind });
            }
            _ => {}
        }
    }

    /// Returns the row of an interned stack in the batch; `None` if it is not interned.
    pub(super) fn stack(
        &mut self,
        iid: u64,
        modules: &mut FrameModules,
        batch: &mut BatchBuilder,
        pos: SourcePos,
    ) -> Option<StackIdx> {
        if let Some(&(number, stack)) = self.stack_rows.get(&iid)
            && number == batch.number
        {
            return Some(stack);
        }
        let mut stack = StackIdx::EMPTY;
        for &frame in self.callstacks.get(iid)? {
            let name = self.frame_name(frame, modules, batch, pos);
            stack = batch.frame(stack, name);
        }
        self.stack_rows.insert(iid, (batch.number, stack));
        Some(stack)
    }

    /// Returns the frame names of an interned stack, outermost first, with `None` for missing frames. Returns `None` if
    /// the stack is not interned.
    pub(super) fn names(&self, iid: u64) -> Option<impl Iterator<Item = Option<Cow<'_, [u8]>>>> {
        Some(self.callstacks.get(iid)?.iter().map(|&frame| self.frame_text(frame)))
    }

    fn frame_name(&self, iid: u64, modules: &mut FrameModules, batch: &mut BatchBuilder, pos: SourcePos) -> NameIdx {
        let Some(frame) = self.frames.get(iid) else {
            batch.lose(Loss::MissingText, pos);
            return NameIdx::EMPTY;
        };
        let mapping = self.mappings.get(frame.mapping);
        let (path, build_id) = mapping.map(|mapping| (self.path(mapping), self.build_id(mapping))).unwrap_or_default();
        let kind = mapping.map_or(ModuleKind::Linked, PerfettoMapping::module_kind);
        let file = FrameFile { path: &path, build_id, kind };
        let shown = match self.function(frame) {
            Some(function) => {
                // Names like addresses are addresses only in files that this program wrote.
                let is_own = mapping.is_some_and(|mapping| mapping.kind.is_some());
                let is_in_module = is_own || !is_like_address(function);
                let category = is_in_module.then(|| modules.category_of(file, batch)).flatten();
                ModuleFrame { text: function.into(), category }
            }
            None => modules.frame(file, frame.address, batch),
        };
        batch.name(&shown.text, shown.category.as_ref().map(|category| category.as_bytes()), pos)
    }

    /// Returns the function of a frame; `None` if the frame is named by its address. An empty name counts only if there
    /// is no file and true address to show instead, and if its iid is not 0. Recorders use 0 for no name.
    fn function(&self, frame: &PerfettoFrame) -> Option<&[u8]> {
        let name = self.functions.get(frame.function)?;
        let mapping = self.mappings.get(frame.mapping);
        let is_own = mapping.is_some_and(|mapping| mapping.kind.is_some());
        let is_made_up = is_own && frame.address & MADE_UP_ADDRESS_BIT != 0;
        let has_address = mapping.is_some_and(|mapping| !mapping.path.is_empty()) && !is_made_up;
        (!name.is_empty() || frame.function != 0 && !has_address).then_some(name)
    }

    /// Joins the components of a mapping path; the first may already be the whole path, as in files that this program
    /// wrote.
    fn path(&self, mapping: &PerfettoMapping) -> Vec<u8> {
        let mut path = Vec::new();
        for part in mapping.path.iter().filter_map(|&part| self.paths.get(part)) {
            let is_first_whole = mapping.kind.is_some() || part.starts_with(b"/") || part.starts_with(b"[");
            let is_whole = path.is_empty() && is_first_whole;
            path.extend_from_slice(if is_whole { b"" } else { b"/" });
            path.extend_from_slice(part);
            if path.len() > PATH_BYTES_MAX {
                break;
            }
        }
        path
    }

    fn build_id(&self, mapping: &PerfettoMapping) -> Option<BuildId> {
        let bytes = self.build_ids.get(mapping.build_id)?;
        if bytes.len() == BREAKPAD_LETTERS { BuildId::from_breakpad(bytes) } else { BuildId::new(bytes) }
    }

    /// Returns the function of a frame, else its file and address.
    fn frame_text(&self, iid: u64) -> Option<Cow<'_, [u8]>> {
        let frame = self.frames.get(iid)?;
        if let Some(function) = self.function(frame) {
            return Some(Cow::Borrowed(function));
        }
        let parts = self.mappings.get(frame.mapping).map_or(&[][..], |mapping| &mapping.path);
        let file = parts.last().and_then(|&part| self.paths.get(part)).map_or(&b""[..], |part| part);
        let file = file.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        let address = format!("0x{:x}", frame.address);
        Some(if file.is_empty() { address.into_bytes() } else { [file, b"+", address.as_bytes()].concat() }.into())
    }
}

/// A sample triggered by a kernel counter.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PerfettoSample {
    pub(super) cpu: Option<u64>,
    pub(super) pid: i64,
    pub(super) tid: i64,
    pub(super) callstack: Option<u64>,
    /// Value of the enum `CpuMode`.
    mode: u64,
    /// Number of lost samples, in a packet without a sample.
    pub(super) lost: u64,
    /// Whether the packet reports a skipped sample.
    pub(super) is_skipped: bool,
}

impl PerfettoSample {
    pub(super) fn read(bytes: &[u8]) -> Self {
        let mut sample = Self::default();
        for field in Fields::new(bytes) {
            match field.number {
                perf_sample::CPU => sample.cpu = Some(field.value.number()),
                perf_sample::PID => sample.pid = field.value.signed(),
                perf_sample::TID => sample.tid = field.value.signed(),
                perf_sample::CPU_MODE => sample.mode = field.value.number(),
                perf_sample::CALLSTACK_IID => sample.callstack = Some(field.value.number()),
                perf_sample::KERNEL_RECORDS_LOST => sample.lost = field.value.number(),
                perf_sample::SAMPLE_SKIPPED_REASON => sample.is_skipped = true,
                _ => {}
            }
        }
        sample
    }

    /// Returns the CPU mode; `None` if it is missing or a guest mode.
    pub(super) fn mode(&self) -> Option<&'static str> {
        match self.mode {
            cpu_mode::MODE_KERNEL => Some("kernel"),
            cpu_mode::MODE_USER => Some("user"),
            _ => None,
        }
    }
}

/// Returns the stacks of a streaming profile, each with the microseconds since the previous sample. Missing stacks are
/// `None`, since later samples are relative to them.
pub(super) fn streamed(bytes: &[u8]) -> impl Iterator<Item = (Option<u64>, i64)> + '_ {
    let distances = bytes.numbers(streaming_profile_packet::TIMESTAMP_DELTA_US).map(|us| us as i64);
    let stacks = bytes.numbers(streaming_profile_packet::CALLSTACK_IID).map(Some).chain(std::iter::repeat(None));
    stacks.zip(distances)
}

//! Resolves all frames of a trace: collects the addresses by module, resolves each module, and builds the overlay that
//! shows the functions.
//!
//! The naive way resolves each frame of each sample. Here each address is resolved once, in order, with all others of
//! its module.

use std::path::Path;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::locate::Locator;
use super::module_names::ModuleNames;
use super::names::FunctionName;
use super::paths::real_folder;
use super::recorders::recorders;
use super::resolve::resolve;
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::progress::{Progress, Stage};
use crate::base::similar::nearest;
use crate::model::modules::address_of;
use crate::model::{Module, ModuleKind, NameIdx, Names, StackIdx, Stacks};
use crate::query::Snapshot;
use crate::query::overlay::{FrameLine, FrameLines, NameOverlay};

/// Rows between two checks for cancellation.
const ROWS_BETWEEN_CHECKS: usize = 64 * 1024;

/// Separates the functions of one frame, from the compiled one to the innermost inlined one.
pub(super) const INLINED: &str = " \u{203a} ";

/// The frames of a trace that have an address in a module.
#[derive(Debug, Default)]
pub(crate) struct TraceFrames {
    frames: FxHashMap<NameIdx, Frame>,
    /// Names of frames that call others, so that their address is a return address.
    callers: FxHashSet<NameIdx>,
    /// Number of modules of the trace.
    modules: usize,
}

/// A module and an address in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Frame {
    /// Index of the module in the tables of the trace.
    pub(crate) module: u32,
    pub(crate) address: u64,
}

/// The numbers of distinct frames of a module.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FrameCounts {
    pub(crate) frames: u64,
    pub(crate) named: u64,
    /// Frames at addresses at which several JIT-compiled functions were.
    pub(crate) replaced: u64,
}

/// The resolved names of a trace's modules, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct TraceNames {
    pub(crate) modules: Vec<Arc<ModuleNames>>,
    /// Indices of the traces that recorded each module; empty for all.
    recorders: Vec<Vec<usize>>,
}

impl TraceNames {
    /// Returns the locator for the file of a module.
    pub(super) fn locator(&self, module: usize, locator: &Locator) -> Locator {
        locator.with_recorders(self.recorders.get(module).map_or(&[], Vec::as_slice))
    }

    /// Returns the function whose name is most similar to `name`, if any is similar.
    pub(crate) fn nearest(&self, name: &str) -> Option<&str> {
        nearest(name, self.modules.iter().flat_map(|module| module.names.function_names()))
    }

    /// Returns whether a file in a folder that the user named was used.
    pub(crate) fn uses_folder(&self, folder: &Path) -> bool {
        let folder = real_folder(folder);
        self.modules.iter().flat_map(|module| &module.used).any(|path| path.starts_with(&folder))
    }
}

impl TraceFrames {
    /// Collects the frames of all stacks of a trace.
    pub(crate) fn from_snapshot(snapshot: &Snapshot) -> Self {
        let mut frames = Self { modules: snapshot.tracks().modules.len(), ..Self::default() };
        let (names, stacks) = (snapshot.raw_names(), snapshot.raw_stacks());
        let modules = &snapshot.tracks().modules;
        let rows: FxHashMap<&str, u32> = modules.iter().map(|module| &*module.category).zip(0..).collect();
        if rows.is_empty() {
            return frames;
        }
        for name in (0..names.len()).map(|row| NameIdx(row as u32)) {
            let row = names.get(name);
            let module = row.category.and_then(|category| rows.get(category).copied());
            if let Some((module, address)) = module.zip(address_of(row.text)) {
                frames.frames.insert(name, Frame { module, address });
            }
        }
        // Frames that are a parent call others, unless the kernel interrupted them.
        for row in stacks.rows() {
            let parent = stacks.get(row.parent).name;
            let is_interrupt = frames.is_kernel(row.name, modules) && !frames.is_kernel(parent, modules);
            if !is_interrupt && frames.has_return_address(parent, modules) {
                frames.callers.insert(parent);
            }
        }
        frames
    }

    /// Returns the address at which a frame was executing when it called `callee` or was sampled itself. A call
    /// precedes its return address, unless the kernel interrupted the frame.
    pub(super) fn ran_at(&self, name: NameIdx, callee: Option<NameIdx>, modules: &[Module]) -> Option<Frame> {
        let frame = self.get(name)?;
        let is_interrupted =
            callee.is_some_and(|callee| self.is_kernel(callee, modules) && !self.is_kernel(name, modules));
        let is_call = callee.is_some() && !is_interrupted && self.callers.contains(&name);
        Some(Frame { address: if is_call { frame.address.saturating_sub(1) } else { frame.address }, ..frame })
    }

    /// Returns whether a frame is kernel code, which interrupts a program anywhere, not at a call.
    fn is_kernel(&self, name: NameIdx, modules: &[Module]) -> bool {
        let module = self.get(name).and_then(|frame| modules.get(frame.module as usize));
        module.is_some_and(|module| matches!(module.kind, ModuleKind::Kernel | ModuleKind::KernelModule))
    }

    /// Returns whether the address of a calling frame is a return address.
    fn has_return_address(&self, name: NameIdx, modules: &[Module]) -> bool {
        let module = self.get(name).and_then(|frame| modules.get(frame.module as usize));
        module.is_some_and(|module| module.kind.has_return_addresses())
    }

    /// Returns whether no frame has an address.
    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    pub(crate) fn get(&self, name: NameIdx) -> Option<Frame> {
        self.frames.get(&name).copied()
    }

    /// Returns all frames sorted by name.
    fn sorted(&self) -> Vec<(NameIdx, Frame)> {
        let mut frames: Vec<_> = self.frames.iter().map(|(&name, &frame)| (name, frame)).collect();
        frames.sort_unstable_by_key(|&(name, _)| name);
        frames
    }

    /// Counts the frames of each module.
    pub(crate) fn counts(&self, trace_names: &TraceNames) -> Vec<FrameCounts> {
        let mut counts = vec![FrameCounts::default(); self.modules];
        for (name, frame) in self.sorted() {
            let count = &mut counts[frame.module as usize];
            count.frames += 1;
            let Some(module) = trace_names.modules.get(frame.module as usize) else { continue };
            // A call at the end of a function returns to the address after the function.
            let is_call_named = || module.names.has_name(frame.address.saturating_sub(1));
            let is_named = module.names.has_name(frame.address) || (self.callers.contains(&name) && is_call_named());
            count.named += u64::from(is_named);
            count.replaced += u64::from(module.replaced.binary_search(&frame.address).is_ok());
        }
        counts
    }

    /// Returns the addresses of each module to resolve, in order. For callers, the call before the return address is
    /// resolved too.
    fn addresses(&self) -> Vec<Vec<u64>> {
        let mut addresses = vec![Vec::new(); self.modules];
        for (name, frame) in self.sorted() {
            let of_module = &mut addresses[frame.module as usize];
            of_module.push(frame.address);
            if self.callers.contains(&name) {
                of_module.push(frame.address.saturating_sub(1));
            }
        }
        for of_module in &mut addresses {
            of_module.sort_unstable();
            of_module.dedup();
        }
        addresses
    }
}

/// Resolves all frames. `progress` counts addresses. Files with more than `bytes_max` of debug information are not
/// read. Returns `Cancelled` if cancelled.
pub(crate) fn look_up(
    snapshot: &Snapshot,
    frames: &TraceFrames,
    locator: &Locator,
    bytes_max: u64,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<TraceNames, Cancelled> {
    let modules = &snapshot.tracks().modules;
    let addresses = frames.addresses();
    if addresses.iter().any(|of_module| !of_module.is_empty()) {
        locator.unpack_archives(cancel)?;
    }
    progress.begin(Stage::Naming, addresses.iter().map(|of_module| of_module.len() as u64).sum());
    let module_of = |name| frames.get(name).map(|frame| frame.module as usize);
    let recorders = recorders(snapshot, module_of, &locator.trace_names(), cancel)?;
    let mut trace_names = TraceNames { modules: Vec::with_capacity(modules.len()), recorders };
    // Modules are resolved one after the other, since several at once would need the memory of all. Threads share the
    // addresses of a module.
    for (row, (module, addresses)) in modules.iter().zip(&addresses).enumerate() {
        let names = resolve(module, addresses, &trace_names.locator(row, locator), bytes_max, cancel)?;
        progress.advance(addresses.len() as u64);
        trace_names.modules.push(Arc::new(names));
    }
    Ok(trace_names)
}

/// Builds the overlay that replaces names and stacks of the store; `None` if no frame is resolved. Returns `Cancelled`
/// if cancelled.
pub(crate) fn overlay(
    snapshot: &Snapshot,
    frames: &TraceFrames,
    trace_names: &TraceNames,
    cancel: &Cancel,
) -> Result<Option<NameOverlay>, Cancelled> {
    if trace_names.modules.iter().all(|module| module.names.named() == 0) {
        return Ok(None);
    }
    let mut shown = ShownNames::new(snapshot, frames, trace_names);
    let (stacks, modules) = (snapshot.raw_stacks(), &snapshot.tracks().modules);
    let mut overlay = NameOverlay::default();
    // For each stack, its replacement as the innermost frame, and as a caller.
    let mut ends = vec![StackIdx::EMPTY];
    let mut calls = vec![StackIdx::EMPTY];
    for (number, row) in stacks.rows().iter().enumerate() {
        if number.is_multiple_of(ROWS_BETWEEN_CHECKS) {
            cancel.check()?;
        }
        let parent = row.parent.index();
        let called_from = stacks.get(row.parent).name;
        let is_interrupt = frames.is_kernel(row.name, modules) && !frames.is_kernel(called_from, modules);
        if is_interrupt {
            overlay.interrupts.insert(StackIdx::from_value(ends.len() as u64));
        }
        let below = if is_interrupt { ends[parent] } else { calls[parent] };
        let end = shown.push(&mut overlay.stacks, below, row.name, false);
        ends.push(end);
        let is_caller = frames.callers.contains(&row.name);
        calls.push(if is_caller { shown.push(&mut overlay.stacks, below, row.name, true) } else { end });
    }
    for (number, (name, _)) in frames.sorted().into_iter().enumerate() {
        if number.is_multiple_of(ROWS_BETWEEN_CHECKS) {
            cancel.check()?;
        }
        shown.add(name);
    }
    overlay.stack_of = ends;
    (overlay.names, overlay.lines) = shown.finish();
    Ok(Some(overlay))
}

/// The names of the overlay, built on demand.
struct ShownNames<'a> {
    frames: &'a TraceFrames,
    trace_names: &'a TraceNames,
    categories: Vec<&'a str>,
    names: Names,
    /// Functions of a frame, outermost first, by its name and whether it is a caller.
    functions_by_frame: FxHashMap<(NameIdx, bool), Box<[NameIdx]>>,
    lines: FrameLines,
}

impl<'a> ShownNames<'a> {
    fn new(snapshot: &'a Snapshot, frames: &'a TraceFrames, trace_names: &'a TraceNames) -> Self {
        let categories = snapshot.tracks().modules.iter().map(|module| &*module.category).collect();
        let names = snapshot.raw_names().clone();
        Self {
            frames,
            trace_names,
            categories,
            names,
            functions_by_frame: FxHashMap::default(),
            lines: FrameLines::default(),
        }
    }

    /// Finds the functions of a frame that no stack has.
    fn add(&mut self, frame: NameIdx) {
        if !self.functions_by_frame.contains_key(&(frame, false))
            && !self.functions_by_frame.contains_key(&(frame, true))
        {
            let functions = self.functions(frame, false);
            self.functions_by_frame.insert((frame, false), functions);
        }
    }

    /// Appends the functions of a frame to a stack.
    fn push(&mut self, stacks: &mut Stacks, below: StackIdx, frame: NameIdx, is_call: bool) -> StackIdx {
        let key = (frame, is_call);
        if !self.functions_by_frame.contains_key(&key) {
            let functions = self.functions(frame, is_call);
            self.functions_by_frame.insert(key, functions);
        }
        self.functions_by_frame[&key].iter().fold(below, |below, &function| stacks.intern(below, function))
    }

    /// Returns the functions of a frame, outermost first; the frame itself if it is not resolved.
    fn functions(&mut self, name: NameIdx, is_call: bool) -> Box<[NameIdx]> {
        let Some(frame) = self.frames.get(name) else { return Box::new([name]) };
        let module = self.trace_names.modules.get(frame.module as usize);
        let address = if is_call { frame.address.saturating_sub(1) } else { frame.address };
        let functions = module.and_then(|module| module.names.get(address));
        let functions = functions.into_iter().flatten();
        let category = self.categories.get(frame.module as usize).copied();
        let line = |it: FunctionName<'_>| self.lines.line(self.names.intern(it.name, category), it.file, it.line);
        let lines: Box<[FrameLine]> = functions.map(line).collect();
        let rows = lines.iter().rev().map(|line| line.function).collect();
        let is_resolved = !lines.is_empty();
        if is_resolved || self.frames.callers.contains(&name) {
            self.lines.insert(name, is_call, lines);
        }
        if is_resolved { rows } else { Box::new([name]) }
    }

    fn finish(mut self) -> (Arc<Names>, FrameLines) {
        let frames: Vec<NameIdx> = self.frames.frames.keys().copied().collect();
        for frame in frames {
            let lines = self.lines.lines(frame).iter().rev();
            let texts: Vec<&str> = lines.map(|line| self.names.get(line.function).text).collect();
            if !texts.is_empty() {
                let text = texts.join(INLINED);
                self.names.rename(frame, &text);
            }
        }
        (Arc::new(self.names), self.lines)
    }
}

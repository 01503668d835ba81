//! Finds the traces that recorded each module: the traces with samples in it. Without a build-id, a file must be older
//! than all of them.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::base::cancel::{Cancel, Cancelled};
use crate::base::progress::Progress;
use crate::model::{ModuleKind, NameIdx, StackIdx, TrackSet};
use crate::query::Snapshot;
use crate::query::samples::SampleHistogram;
use crate::query::scope::Scope;

/// Returns the indices of the traces that recorded each module, by the names of the traces. `module_of` returns the
/// module of a frame. Without several traces, or if all files are identified by build-ids, the lists are empty. Returns
/// `Cancelled` if cancelled.
pub(super) fn recorders(
    snapshot: &Snapshot,
    module_of: impl Fn(NameIdx) -> Option<usize>,
    traces: &[Arc<str>],
    cancel: &Cancel,
) -> Result<Vec<Vec<usize>>, Cancelled> {
    let modules = &snapshot.tracks().modules;
    let mut recorders = vec![Vec::new(); modules.len()];
    let are_identified = modules.iter().all(|module| {
        module.common_build_id().is_some() || matches!(module.kind, ModuleKind::Kernel | ModuleKind::Unknown)
    });
    if traces.len() < 2 || are_identified {
        return Ok(recorders);
    }
    for (index, trace) in traces.iter().enumerate() {
        let scope = Scope { tracks: tracks_of(snapshot, trace), ..Scope::default() };
        let histogram = SampleHistogram::count(snapshot, &scope, cancel, &Progress::default())?;
        let stacks = (0..histogram.events().len()).flat_map(|event| histogram.stacks(event)).map(|(stack, _)| stack);
        let recorded = modules_of(snapshot, &module_of, stacks);
        recorders.iter_mut().enumerate().filter(|(module, _)| recorded.contains(module)).for_each(|(_, traces)| {
            traces.push(index);
        });
    }
    Ok(recorders)
}

/// Returns the tracks of a trace, or of the files in it if it is an archive.
fn tracks_of(snapshot: &Snapshot, trace: &str) -> TrackSet {
    let tables = snapshot.tracks();
    let is_of_trace =
        |file: &str| file.strip_prefix(trace).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    TrackSet::from_fn(tables.tracks.len(), |track| {
        let process = &tables.processes[tables.tracks[track.index()].process.index()];
        process.file.as_deref().is_some_and(is_of_trace)
    })
}

/// Returns the modules with a frame in any of the stacks. Visits each frame once, since stacks share their callers.
fn modules_of(
    snapshot: &Snapshot,
    module_of: impl Fn(NameIdx) -> Option<usize>,
    stacks: impl Iterator<Item = StackIdx>,
) -> FxHashSet<usize> {
    let rows = snapshot.raw_stacks();
    let (mut seen, mut modules) = (FxHashSet::default(), FxHashSet::default());
    for mut stack in stacks {
        while stack != StackIdx::EMPTY && seen.insert(stack) {
            let row = rows.get(stack);
            modules.extend(module_of(row.name));
            stack = row.parent;
        }
    }
    modules
}

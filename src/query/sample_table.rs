//! Samples grouped by function, module, thread, event or call path, and spans by call path: their number and weight,
//! self and total. Recursion counts once, except in call paths.
//!
//! The naive way collects, for each sample, the distinct keys of its frames.

use std::hash::BuildHasher;
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::flame::{
    FlameNode, FlameNodeIdx, FlamePicture, FlameShape, FlameView, FunctionBuilder, FunctionIdx, Functions, OwnAndTotal,
};
use super::samples::{GroupSums, SampleEvent, SampleSum, StackSum, grouped};
use super::snapshot::Snapshot;
use super::stacks::CallPaths;
use crate::base::cancel::{Cancel, Cancelled};
use crate::model::names::NO_FRAMES;
use crate::model::{StackIdx, TrackIdx};

/// A property to group samples by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SampleBy {
    /// Functions with their modules.
    #[default]
    Function,
    /// Modules with the sums of their functions.
    Module,
    /// Tracks of samples.
    Thread,
    /// Events with their units.
    Event,
    /// Call paths, from the outermost function to its callees.
    CallTree,
    /// Call paths, from the innermost function to its callers.
    InvertedCallTree,
}

impl SampleBy {
    #[must_use]
    pub(crate) fn is_call_tree(self) -> bool {
        matches!(self, Self::CallTree | Self::InvertedCallTree)
    }
}

/// The group of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SampleGroup {
    /// A function, or one call of it in a call tree. [`FunctionIdx::ROOT`] for samples without a stack.
    Function(FunctionIdx),
    Module(FunctionIdx),
    Thread(TrackIdx),
    Event(usize),
}

impl SampleGroup {
    /// Returns the function of a row by function or by call path.
    #[must_use]
    pub(crate) fn function(self) -> Option<FunctionIdx> {
        if let Self::Function(function) = self { Some(function) } else { None }
    }
}

/// A row of a [`SampleTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SampleGroupRow {
    pub(crate) key: SampleGroup,
    pub(crate) sums: OwnAndTotal,
}

impl SampleGroupRow {
    fn new(key: SampleGroup, own: SampleSum, total: SampleSum) -> Self {
        Self { key, sums: OwnAndTotal { own, total } }
    }
}

/// Samples of one event by group, or of all events by event; or spans by call path.
#[derive(Debug)]
pub struct SampleTable {
    pub(crate) paths: Arc<CallPaths>,
    /// The functions of the rows by function, module or call path.
    pub(crate) functions: Functions,
    /// Sum of all samples of the table's event, or of all spans.
    pub(crate) whole: SampleSum,
    /// The rows, in no particular order; callers of a call tree come first.
    pub(crate) rows: Vec<SampleGroupRow>,
    /// The call tree of the rows.
    pub(crate) calls: Option<CallLinks>,
    /// Whether the sums are of spans, which weigh by their time.
    pub(crate) is_of_spans: bool,
}

/// The callers of the rows of a [`SampleTable`] by call path. The first row has the samples without a stack, or the
/// spans beyond the limit of paths. It is the parent of all rows that begin a path.
#[derive(Debug)]
pub(crate) struct CallLinks {
    /// The row of each row's caller, or callee in an inverted tree.
    pub(crate) parents: Vec<FlameNodeIdx>,
    /// Hash of the name and the module of each function, the same in all answers.
    pub(crate) function_hashes: Vec<u64>,
    /// Whether callers are below their callees.
    pub(crate) is_inverted: bool,
    /// Number of paths that are cut because of the node limit.
    pub(crate) folded: u64,
    /// Sum of all paths without a row of their own.
    pub(crate) others: SampleSum,
}

impl CallLinks {
    /// Returns the hash of all paths, which differs for both directions.
    #[must_use]
    pub(crate) fn root_hash(&self) -> u64 {
        u64::from(self.is_inverted)
    }

    /// Hashes a path from the hash of its caller's path.
    #[must_use]
    pub(crate) fn path_hash(&self, caller: u64, function: FunctionIdx) -> u64 {
        FxBuildHasher.hash_one((caller, self.function_hashes[function.index()]))
    }
}

impl SampleTable {
    /// Groups the samples of call paths.
    ///
    /// # Errors
    /// Returns `Cancelled` if cancelled.
    pub fn new(snapshot: &Snapshot, paths: Arc<CallPaths>, by: SampleBy, cancel: &Cancel) -> Result<Self, Cancelled> {
        cancel.check()?;
        let whole = paths.event.map(|event| paths.event_sums[event]).unwrap_or_default();
        let (mut functions, mut calls) = (Functions::default(), None);
        let mut grouped = |(all, sums): (Functions, Vec<GroupSums<FunctionIdx>>),
                           key: fn(FunctionIdx) -> SampleGroup| {
            functions = all;
            let rows = sums.into_iter().map(|row| SampleGroupRow::new(key(row.key), row.own, row.total));
            rows.filter(|row| !row.sums.total.is_empty()).collect()
        };
        let rows = match by {
            SampleBy::Function => grouped(by_function(snapshot, &paths.stacks), SampleGroup::Function),
            SampleBy::Module => grouped(by_module(snapshot, &paths.stacks), SampleGroup::Module),
            SampleBy::Thread => {
                let row = |&(track, sum): &_| SampleGroupRow::new(SampleGroup::Thread(track), sum, sum);
                paths.tracks.iter().map(row).collect()
            }
            SampleBy::Event => {
                let row = |(event, &sum)| SampleGroupRow::new(SampleGroup::Event(event), sum, sum);
                let events = paths.event_sums.iter().enumerate().filter(|(_, sum)| !sum.is_empty());
                events.map(row).collect()
            }
            SampleBy::CallTree | SampleBy::InvertedCallTree => {
                let shape = if by == SampleBy::CallTree { FlameShape::TopDown } else { FlameShape::Inverted };
                let view = FlameView { shape, ..FlameView::default() };
                let picture = FlamePicture::new(snapshot, &paths.tree, &view, cancel)?;
                let (all, rows, links) = by_call(snapshot, picture, by == SampleBy::InvertedCallTree);
                (functions, calls) = (all, Some(links));
                rows
            }
        };
        cancel.check()?;
        Ok(Self { paths, functions, whole, rows, calls, is_of_spans: false })
    }

    /// Lists the spans of call paths by path, from a picture of them that is top down or inverted.
    #[must_use]
    pub(crate) fn from_spans(
        snapshot: &Snapshot,
        paths: Arc<CallPaths>,
        picture: FlamePicture,
        is_inverted: bool,
    ) -> Self {
        let whole = picture.whole;
        let (functions, rows, calls) = by_call(snapshot, picture, is_inverted);
        Self { paths, functions, whole, rows, calls: Some(calls), is_of_spans: true }
    }

    /// Returns whether no row has samples.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.iter().all(|row| row.sums.total.is_empty())
    }

    /// Returns the text of a module's row.
    #[must_use]
    pub(crate) fn module_label(&self, function: FunctionIdx) -> &str {
        module_label(&self.functions, function)
    }

    /// Returns the event of a row: its own event if the row is an event, or else the event of the table.
    #[must_use]
    pub(crate) fn event(&self, row: &SampleGroupRow) -> Option<&SampleEvent> {
        let event = if let SampleGroup::Event(event) = row.key { Some(event) } else { self.paths.event };
        self.paths.events.get(event?)
    }
}

/// Lists the paths of a picture. In an inverted tree, only the innermost functions have a self sum.
fn by_call(
    snapshot: &Snapshot,
    picture: FlamePicture,
    is_inverted: bool,
) -> (Functions, Vec<SampleGroupRow>, CallLinks) {
    let nodes = picture.tree.nodes();
    let row = |(index, node): (usize, &FlameNode)| {
        let (own, total) = match (index, is_inverted) {
            (0, _) => (node.own, node.own),
            (_, false) => (node.own, node.total),
            (_, true) if node.parent == FlameNodeIdx::ROOT => (node.total, node.total),
            (_, true) => (SampleSum::default(), node.total),
        };
        SampleGroupRow::new(SampleGroup::Function(node.function), own, total)
    };
    let rows = nodes.iter().enumerate().map(row).collect();
    let parents = nodes.iter().map(|node| node.parent).collect();
    let functions = picture.functions;
    let hash = |idx| FxBuildHasher.hash_one((functions.text(snapshot, idx), functions.module(idx)));
    let function_hashes = (0..functions.len() as u32).map(|idx| hash(FunctionIdx(idx))).collect();
    let (folded, others) = (picture.folded.paths, picture.others);
    let calls = CallLinks { parents, function_hashes, is_inverted, folded, others };
    (functions, rows, calls)
}

/// Returns the text of the module of a function.
#[must_use]
pub(crate) fn module_label(functions: &Functions, function: FunctionIdx) -> &str {
    match functions.module(function) {
        _ if function == FunctionIdx::ROOT => NO_FRAMES,
        "" => "[no module]",
        module => module,
    }
}

/// Groups the samples of sorted stacks by function and module, in order of the functions. [`FunctionIdx::ROOT`] stands
/// for samples without a stack.
#[must_use]
pub(crate) fn by_function(snapshot: &Snapshot, stacks: &[StackSum]) -> (Functions, Vec<GroupSums<FunctionIdx>>) {
    by_function_key(snapshot, stacks, |_, function| function)
}

/// Groups the samples of sorted stacks by module, each represented by one of its functions. [`FunctionIdx::ROOT`]
/// means samples without a stack.
#[must_use]
pub(crate) fn by_module(snapshot: &Snapshot, stacks: &[StackSum]) -> (Functions, Vec<GroupSums<FunctionIdx>>) {
    let mut first: FxHashMap<Option<usize>, FunctionIdx> = FxHashMap::default();
    by_function_key(snapshot, stacks, |functions, function| {
        *first.entry(functions.module_row(function)).or_insert(function)
    })
}

/// Groups the samples of sorted stacks by a key of their functions.
fn by_function_key(
    snapshot: &Snapshot,
    stacks: &[StackSum],
    mut key_of: impl FnMut(&Functions, FunctionIdx) -> FunctionIdx,
) -> (Functions, Vec<GroupSums<FunctionIdx>>) {
    let mut functions = FunctionBuilder::new(snapshot);
    let table = snapshot.stacks();
    // A frame of collapsed stacks that stands for no frames, which would look like a module in brackets.
    let stands_for_none = |frame: StackIdx| {
        let name = snapshot.names().get(table.get(frame).name);
        name.text == NO_FRAMES && name.category.is_none_or(str::is_empty)
    };
    let mut sums = grouped(snapshot, stacks.iter().copied(), |frame| match frame {
        StackIdx::EMPTY => FunctionIdx::ROOT,
        frame if stands_for_none(frame) => FunctionIdx::ROOT,
        frame => {
            let function = functions.function(table.get(frame).name, false);
            key_of(functions.functions(), function)
        }
    });
    sums.sort_unstable_by_key(|row| row.key);
    (functions.finish(), sums)
}

//! Samples grouped by function, module, thread or event: their number and weight, self and total. Recursion counts
//! once.
//!
//! The naive way collects, for each sample, the distinct keys of its frames.

use std::sync::Arc;

use super::flame::{FlamePicture, FlameView, FunctionIdx, OwnAndTotal};
use super::samples::SampleEvent;
use super::snapshot::Snapshot;
use super::stacks::CallPaths;
use crate::base::cancel::{Cancel, Cancelled};
use crate::model::TrackIdx;

/// The text of the row of samples without a stack.
pub(crate) const NO_FRAMES: &str = "[no frames]";

/// A property to group samples by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SampleBy {
    /// Functions with their modules.
    #[default]
    Function,
    /// Modules of functions.
    Module,
    /// Tracks of samples.
    Thread,
    /// Events with their units.
    Event,
}

/// The group of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SampleGroup {
    /// [`FunctionIdx::ROOT`] for samples without a stack.
    Function(FunctionIdx),
    Module(FunctionIdx),
    Thread(TrackIdx),
    Event(usize),
}

/// A row of a [`SampleTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SampleGroupRow {
    pub(crate) key: SampleGroup,
    pub(crate) sums: OwnAndTotal,
}

/// Samples of one event by group, or of all events by event.
#[derive(Debug)]
pub struct SampleTable {
    pub(crate) paths: Arc<CallPaths>,
    pub(crate) picture: FlamePicture,
    /// The rows, in no particular order.
    pub(crate) rows: Vec<SampleGroupRow>,
}

impl SampleTable {
    /// Groups the samples of call paths.
    ///
    /// # Errors
    /// Returns `Cancelled` if cancelled.
    pub fn new(snapshot: &Snapshot, paths: Arc<CallPaths>, by: SampleBy, cancel: &Cancel) -> Result<Self, Cancelled> {
        let picture = FlamePicture::new(snapshot, &paths.tree, &FlameView::default(), cancel)?;
        let whole = |sum| OwnAndTotal { own: sum, total: sum };
        let rows = match by {
            SampleBy::Function => functions(&picture),
            SampleBy::Module => modules(&picture),
            SampleBy::Thread => {
                let row = |&(track, sum): &_| SampleGroupRow { key: SampleGroup::Thread(track), sums: whole(sum) };
                paths.tracks.iter().map(row).collect()
            }
            SampleBy::Event => {
                let row = |(event, &sum)| SampleGroupRow { key: SampleGroup::Event(event), sums: whole(sum) };
                paths.event_sums.iter().enumerate().map(row).collect()
            }
        };
        Ok(Self { paths, picture, rows })
    }

    /// Returns the text of a module's row.
    #[must_use]
    pub(crate) fn module_label(&self, function: FunctionIdx) -> &str {
        match self.picture.functions.module(function) {
            _ if function == FunctionIdx::ROOT => NO_FRAMES,
            "" => "[no module]",
            module => module,
        }
    }

    /// Returns the event of a row: that of the table, or its own.
    #[must_use]
    pub(crate) fn event(&self, row: &SampleGroupRow) -> Option<&SampleEvent> {
        let event = if let SampleGroup::Event(event) = row.key { Some(event) } else { self.paths.event };
        self.paths.events.get(event?)
    }
}

fn functions(picture: &FlamePicture) -> Vec<SampleGroupRow> {
    let tree = &picture.tree;
    let sums = tree.sums_by(picture.functions.len(), FunctionIdx::index);
    let without_stack = tree.nodes()[0].own;
    let root = OwnAndTotal { own: without_stack, total: without_stack };
    let root = SampleGroupRow { key: SampleGroup::Function(FunctionIdx::ROOT), sums: root };
    let functions = picture.functions.all();
    let rows = functions.map(|idx| SampleGroupRow { key: SampleGroup::Function(idx), sums: sums[idx.index()] });
    rows.chain([root]).filter(|row| !row.sums.total.is_empty()).collect()
}

fn modules(picture: &FlamePicture) -> Vec<SampleGroupRow> {
    let functions = &picture.functions;
    // Neither the root nor a frame without a module belongs to a module.
    let key = |function: FunctionIdx| match function {
        FunctionIdx::ROOT => 0,
        function => functions.module_row(function).map_or(1, |row| row + 2),
    };
    let mut first = vec![FunctionIdx::ROOT; functions.module_count() + 2];
    for function in functions.all() {
        first[key(function)] = function;
    }
    let sums = picture.tree.sums_by(first.len(), key);
    let without_stack = picture.tree.nodes()[0].own;
    let root = OwnAndTotal { own: without_stack, total: without_stack };
    let rows = first.into_iter().zip(sums).skip(1);
    let rows = rows.map(|(function, sums)| SampleGroupRow { key: SampleGroup::Module(function), sums });
    let root = SampleGroupRow { key: SampleGroup::Module(FunctionIdx::ROOT), sums: root };
    rows.chain([root]).filter(|row| !row.sums.total.is_empty()).collect()
}

//! An open capture: its timeline, the details of the selected row, and their work in the background.

use std::sync::Arc;

use super::tasks::{self, Looking};
use crate::app::event::{TabWake, TaskId};
use crate::model::Sources;
use crate::query::flow_chain::FlowChain;
use crate::tiles::trace_summary::TraceSummary;
use crate::ui::panels::details::DetailsPanel;
use crate::ui::timeline::state::Timeline;

/// A capture that is open.
pub(super) struct OpenCapture {
    pub(crate) sources: Sources,
    pub(crate) timeline: Timeline,
    pub(crate) details: Option<DetailsPanel>,
    /// Whether the load that runs will show more of it.
    pub(crate) grows: bool,
    /// Whether it is sorted again, because its store was damaged: once and not for ever.
    pub(crate) is_mended: bool,
    /// Tells the answers about this capture from those about another.
    id: TaskId,
    /// Stops the look at the whole.
    _surveying: Option<Looking>,
    /// Stops the look for the flows of the selected row.
    following: Option<Looking>,
}

impl OpenCapture {
    /// A capture with its first look at the whole; a preview is looked at when it is no more than that.
    pub(super) fn new(id: TaskId, sources: Sources, timeline: Timeline, grows: bool, wake: &TabWake) -> Self {
        let surveying = (!grows).then(|| tasks::survey(id, timeline.snapshot().clone(), wake));
        Self { sources, timeline, details: None, grows, is_mended: false, id, _surveying: surveying, following: None }
    }

    /// The title of its tab and in the status bar.
    pub(super) fn title(&self) -> String {
        self.sources.title()
    }

    /// Whether it was sorted to its end. A load that was stopped or failed leaves what it had sorted.
    pub(super) fn is_whole(&self) -> bool {
        self.timeline.snapshot().summary().sorted_to_ns.is_none()
    }

    /// Looks up the selected row if another one is selected than before.
    pub(super) fn look_up_selected(&mut self, wake: &TabWake) {
        let selected = self.timeline.selected();
        if self.details.as_ref().map(DetailsPanel::row) == selected {
            return;
        }
        let snapshot = self.timeline.snapshot();
        self.details = selected.and_then(|row| DetailsPanel::from_row(snapshot, row));
        let has_flows = snapshot.summary().flows > 0;
        let row = selected.filter(|_| has_flows);
        self.following = row.map(|row| tasks::follow(self.id, snapshot.clone(), row, wake));
    }

    /// Takes a look at the whole, if it is at this capture.
    pub(super) fn take_survey(&mut self, of: TaskId, survey: Arc<TraceSummary>) {
        if of == self.id {
            self.timeline.set_survey(survey);
        }
    }

    /// Takes the flows of a row, if it is one of this capture.
    pub(super) fn take_flows(&mut self, of: TaskId, row: crate::store::lane::RowIdx, flows: Arc<FlowChain>) {
        if of != self.id {
            return;
        }
        if let Some(details) = self.details.as_mut().filter(|details| details.row() == row) {
            details.set_flows(self.timeline.snapshot(), &flows);
        }
        self.timeline.set_flows(row, flows);
    }
}

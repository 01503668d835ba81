//! An open capture: its timeline, the details of the selected row, and their work in the background.

use std::sync::Arc;

use super::selected_flows::SelectedFlows;
use super::tasks::{self, CancelOnDrop};
use crate::app::event::{TabWake, TaskId};
use crate::model::Sources;
use crate::query::flow_chain::FlowChain;
use crate::store::lane::RowIdx;
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
    /// Whether its stacks would be others with files that have come since.
    pub(crate) has_other_stacks: bool,
    /// Tells the answers about this capture from those about another.
    id: TaskId,
    /// Cancels the computation of the trace summary.
    _summary: Option<CancelOnDrop>,
    /// The flows of the selected row, as far as they are known.
    pub(super) flows: SelectedFlows,
}

impl OpenCapture {
    /// An open capture. Its summary is computed at once, or for a preview when the load is over.
    pub(super) fn new(id: TaskId, sources: Sources, timeline: Timeline, grows: bool, wake: &TabWake) -> Self {
        let summary = (!grows).then(|| tasks::summarise(id, timeline.snapshot().clone(), wake));
        Self {
            sources,
            timeline,
            details: None,
            grows,
            is_mended: false,
            has_other_stacks: false,
            id,
            _summary: summary,
            flows: SelectedFlows::default(),
        }
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
        if let Some(flows) = self.flows.look_up(self.id, snapshot, selected, wake) {
            self.show_flows(flows);
        }
    }

    /// Sets the summary, if it is of this capture.
    pub(super) fn set_summary(&mut self, of: TaskId, summary: Arc<TraceSummary>) {
        if of == self.id {
            self.timeline.set_trace_summary(summary);
        }
    }

    /// Sets the flows of a row, if they are those that are waited for.
    pub(super) fn set_flows(&mut self, of: TaskId, row: RowIdx, flows: Arc<FlowChain>) {
        if let Some(flows) = self.flows.take(of, row, flows, self.timeline.snapshot()) {
            self.show_flows(flows);
        }
    }

    fn show_flows(&mut self, flows: Arc<FlowChain>) {
        let Some(details) = &mut self.details else { return };
        details.set_flows(self.timeline.snapshot(), &flows);
        self.timeline.set_flows(details.row(), flows);
    }
}

//! An open capture: its timeline, the details of the selected row, and their work in the background.

use std::sync::Arc;

use super::derive::{DeriveTask, state_of};
use super::selected_flows::SelectedFlows;
use super::tasks::{self, CancelOnDrop};
use crate::app::event::{DerivedMade, TabWake, TaskId};
use crate::ingest::LoadOptions;
use crate::model::Sources;
use crate::query::flow_chain::FlowChain;
use crate::store::lane::RowIdx;
use crate::tiles::trace_summary::TraceSummary;
use crate::ui::panels::details::DetailsPanel;
use crate::ui::timeline::derived::DerivedState;
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
    /// The derived track that is being made.
    derive: Option<DeriveTask>,
    /// How many of them were begun.
    derived_tasks: u64,
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
            derive: None,
            derived_tasks: 0,
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

    /// Makes the next derived track that waits, once the trace is sorted to its end.
    pub(super) fn make_derived(&mut self, load: &LoadOptions, wake: &TabWake) {
        let rows = self.timeline.derived();
        let is_making = |task: &DeriveTask| {
            rows.iter().any(|row| row.id == task.track() && matches!(row.state, DerivedState::Making(_)))
        };
        if self.derive.as_ref().is_some_and(is_making) {
            return;
        }
        self.derive = None;
        if self.grows || !self.is_whole() || self.timeline.is_live() {
            return;
        }
        let Some(row) = rows.iter().find(|row| matches!(row.state, DerivedState::Waiting)) else { return };
        self.derived_tasks += 1;
        let number = (self.id, self.derived_tasks);
        let (task, progress) = DeriveTask::start(number, row, self.timeline.snapshot(), load, wake);
        self.timeline.set_derived(task.track(), DerivedState::Making(progress));
        self.derive = Some(task);
    }

    /// Shows a derived track that is made, unless it was given up.
    pub(super) fn show_derived(&mut self, of: TaskId, made: DerivedMade) {
        if of == self.id
            && let Some(task) = self.derive.take_if(|task| task.ends_with(&made))
        {
            self.timeline.set_derived(task.track(), state_of(made));
        }
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

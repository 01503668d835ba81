//! An open trace: its timeline, the details of the selected row, and their background work.

use std::sync::Arc;

use super::derive::{DeriveTask, state_of};
use super::opened_files::OpenedFiles;
use super::selected_flows::SelectedFlows;
use super::tasks::{self, CancelOnDrop};
use super::track_ranks::RankTask;
use crate::app::event::{DerivedMade, TabWake, TaskError, TaskId};
use crate::ingest::LoadOptions;
use crate::model::Sources;
use crate::query::flow_chain::FlowChain;
use crate::store::lane::RowIdx;
use crate::tiles::trace_summary::TraceSummary;
use crate::ui::panels::details::DetailsPanel;
use crate::ui::timeline::derived::DerivedState;
use crate::ui::timeline::state::Timeline;
use crate::ui::timeline::track_ranks::{RankSource, TrackRanks};
use crate::ui::timeline::tracks::ArrangeJob;

/// The saved timeline of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum SavedState {
    /// It is restored once all rows are sorted.
    #[default]
    Pending,
    /// It is restored, so it may be saved again.
    Restored,
}

/// Whether more of a trace will be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growth {
    /// The running import will show more of it.
    Grows,
    /// It was imported, maybe in part.
    Ended,
    /// It is the last snapshot of a followed trace, which is not sorted again.
    LastSnapshot,
}

pub(super) struct OpenTrace {
    pub(crate) sources: Sources,
    pub(crate) timeline: Timeline,
    pub(crate) details: Option<DetailsPanel>,
    pub(super) growth: Growth,
    /// The state of its files when it was opened.
    pub(super) files: Arc<OpenedFiles>,
    /// Whether it was already imported again because its store was damaged; that is tried only once.
    pub(crate) is_mended: bool,
    pub(super) saved: SavedState,
    /// Whether its stacks would change with files found since.
    pub(crate) has_other_stacks: bool,
    /// Identifies answers about this trace.
    id: TaskId,
    /// The derived track being computed.
    derive: Option<DeriveTask>,
    /// Number of derived tracks started.
    derived_tasks: u64,
    /// Cancels the computation of the trace summary; `None` before it starts.
    summary: Option<CancelOnDrop>,
    /// The known flows of the selected row.
    pub(super) flows: SelectedFlows,
    /// The count of tracks for their order.
    pub(super) ranks: RankTask,
}

impl OpenTrace {
    /// Opens a trace. Its summary is computed at once, or for a preview when the import ends.
    pub(super) fn new(id: TaskId, sources: Sources, timeline: Timeline, grows: bool, wake: &TabWake) -> Self {
        let mut trace = Self {
            sources,
            timeline,
            details: None,
            files: Arc::default(),
            growth: if grows { Growth::Grows } else { Growth::Ended },
            is_mended: false,
            saved: SavedState::Pending,
            has_other_stacks: false,
            id,
            derive: None,
            derived_tasks: 0,
            summary: None,
            flows: SelectedFlows::default(),
            ranks: RankTask::default(),
        };
        if !grows {
            trace.summarise(wake);
        }
        trace
    }

    /// Computes its summary.
    pub(super) fn summarise(&mut self, wake: &TabWake) {
        self.summary = Some(tasks::summarise(self.id, self.timeline.snapshot().clone(), wake));
    }

    /// Returns whether its summary and its names are still those of a part that grows.
    pub(super) fn awaits_end(&self) -> bool {
        self.grows() || self.summary.is_none()
    }

    /// Returns the title for its tab and the status bar.
    pub(super) fn title(&self) -> String {
        self.sources.title()
    }

    /// Returns whether it is completely sorted; a cancelled or failed import leaves a part.
    pub(super) fn is_whole(&self) -> bool {
        self.timeline.snapshot().summary().sorted_to_ns.is_none()
    }

    /// Returns whether the running import will show more of it.
    pub(super) fn grows(&self) -> bool {
        self.growth == Growth::Grows
    }

    /// Returns whether it has all rows that it will ever have.
    pub(super) fn is_final(&self) -> bool {
        self.is_whole() || self.growth == Growth::LastSnapshot
    }

    /// Computes the next waiting derived track, once the trace is completely sorted.
    pub(super) fn make_derived(&mut self, load: &LoadOptions, wake: &TabWake) {
        let rows = self.timeline.derived();
        let is_making = |task: &DeriveTask| {
            rows.iter().any(|row| row.id == task.track() && matches!(row.state, DerivedState::Making(_)))
        };
        if self.derive.as_ref().is_some_and(is_making) {
            return;
        }
        self.derive = None;
        if self.grows() || !self.is_final() || self.timeline.is_live() {
            return;
        }
        let Some(row) = rows.iter().find(|row| matches!(row.state, DerivedState::Waiting)) else { return };
        self.derived_tasks += 1;
        let number = (self.id, self.derived_tasks);
        let (task, progress) = DeriveTask::start(number, row, self.timeline.snapshot(), load, wake);
        self.timeline.set_derived(task.track(), DerivedState::Making(progress));
        self.derive = Some(task);
    }

    /// Shows a derived track that is done, unless it was cancelled.
    pub(super) fn show_derived(&mut self, of: TaskId, made: DerivedMade) {
        if of == self.id
            && let Some(task) = self.derive.take_if(|task| task.ends_with(&made))
        {
            self.timeline.set_derived(task.track(), state_of(made));
        }
    }

    /// Counts tracks for their order, if it needs that. Returns the layout to compute in the background.
    pub(super) fn rank_tracks(&mut self, is_searching: bool, wake: &TabWake) -> Option<ArrangeJob> {
        let grows = self.grows();
        self.ranks.count_if_needed(&mut self.timeline, (grows, is_searching), wake)
    }

    /// Orders tracks by the counts of a source, if they are awaited. Returns the layout to compute in the background.
    pub(super) fn set_ranks(
        &mut self,
        source: &RankSource,
        ranks: Result<TrackRanks, TaskError>,
    ) -> Option<ArrangeJob> {
        self.ranks.apply(source, ranks, &mut self.timeline)
    }

    /// Returns the progress of a count for the order of tracks, or why the order has no effect.
    pub(super) fn order_note(&self) -> Option<String> {
        self.ranks.note().or_else(|| self.timeline.order_note().map(str::to_owned))
    }

    /// Looks up the selected row if the selection has changed.
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

    /// Sets the summary, if it is of this trace.
    pub(super) fn set_summary(&mut self, of: TaskId, summary: Arc<TraceSummary>) {
        if of == self.id {
            self.timeline.set_trace_summary(summary);
        }
    }

    /// Sets the flows of a row, if they are awaited.
    pub(super) fn set_flows(&mut self, of: TaskId, row: RowIdx, flows: Arc<FlowChain>) {
        if let Some(flows) = self.flows.accept_answer(of, row, flows, self.timeline.snapshot()) {
            self.show_flows(flows);
        }
    }

    fn show_flows(&mut self, flows: Arc<FlowChain>) {
        let Some(details) = &mut self.details else { return };
        details.set_flows(self.timeline.snapshot(), &flows);
        self.timeline.set_flows(details.row(), flows);
    }
}

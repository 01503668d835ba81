//! An open trace: its timeline, the details of the selected row, and their background work.

use std::sync::Arc;
use std::time::Duration;

use super::derive::DerivedTasks;
use super::opened_files::OpenedFiles;
use super::selected_flows::SelectedFlows;
use super::tasks::{self, CancelOnDrop};
use super::track_ranks::RankTask;
use crate::app::event::{TabWake, TaskError, TaskId};
use crate::ingest::LoadOptions;
use crate::model::Sources;
use crate::query::flow_chain::FlowChain;
use crate::store::lane::RowIdx;
use crate::tiles::trace_summary::TraceSummary;
use crate::ui::panels::details::DetailsPanel;
use crate::ui::timeline::state::Timeline;
use crate::ui::timeline::track_ranks::{RankSource, TrackRanks};

/// The saved timeline of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum SavedState {
    /// The state is restored once all rows are sorted.
    #[default]
    Pending,
    /// The state is restored, so it may be saved again.
    Restored,
}

/// Whether more of a trace will be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growth {
    /// The running import will show more of the trace.
    Grows,
    /// The trace was imported, maybe in part.
    Ended,
    /// The trace is the last snapshot of a followed trace, which is not sorted again.
    LastSnapshot,
}

pub(super) struct OpenTrace {
    pub(crate) sources: Sources,
    pub(crate) timeline: Timeline,
    pub(crate) details: Option<DetailsPanel>,
    pub(super) growth: Growth,
    /// The state of the trace's files when it was opened.
    pub(super) files: Arc<OpenedFiles>,
    /// Whether the trace was already imported again because its store was damaged; this is tried only once.
    pub(crate) is_repaired: bool,
    pub(super) saved: SavedState,
    /// Whether the stacks would change with files that were found since.
    pub(crate) has_other_stacks: bool,
    /// Identifies answers about this trace.
    id: TaskId,
    /// The computation of derived tracks.
    pub(super) derived: DerivedTasks,
    /// Cancels the computation of the trace summary; `None` before it starts.
    summary: Option<CancelOnDrop>,
    /// The known flows of the selected row.
    pub(super) flows: SelectedFlows,
    /// The count by which the tracks are ordered.
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
            is_repaired: false,
            saved: SavedState::Pending,
            has_other_stacks: false,
            id,
            derived: DerivedTasks::default(),
            summary: None,
            flows: SelectedFlows::default(),
            ranks: RankTask::default(),
        };
        if !grows {
            trace.summarise(wake);
        }
        trace
    }

    pub(super) fn summarise(&mut self, wake: &TabWake) {
        self.summary = Some(tasks::summarise(self.id, self.timeline.snapshot().clone(), wake));
    }

    /// Returns whether the summary and the names are of a part that grows.
    pub(super) fn awaits_end(&self) -> bool {
        self.grows() || self.summary.is_none()
    }

    /// Returns the title for the tab and the status bar.
    pub(super) fn title(&self) -> String {
        self.sources.title()
    }

    /// Returns whether the trace is completely sorted; a cancelled or failed import leaves a part.
    pub(super) fn is_whole(&self) -> bool {
        self.timeline.snapshot().summary().sorted_to_ns.is_none()
    }

    /// Returns whether the running import will show more of the trace.
    pub(super) fn grows(&self) -> bool {
        self.growth == Growth::Grows
    }

    /// Returns whether the trace has all rows that it will ever have.
    pub(super) fn is_final(&self) -> bool {
        self.is_whole() || self.growth == Growth::LastSnapshot
    }

    /// Computes the next derived track that is due, once the trace is completely sorted, or while it is followed.
    /// Returns the time until the next one may be due.
    pub(super) fn compute_derived(&mut self, load: &LoadOptions, wake: &TabWake) -> Option<Duration> {
        if !self.timeline.is_live() && (self.grows() || !self.is_final()) {
            self.derived.stop();
            return None;
        }
        self.derived.compute_next((self.id, &mut self.timeline), load, wake)
    }

    /// Counts tracks for their order, if it needs that.
    pub(super) fn rank_tracks(&mut self, is_searching: bool, wake: &TabWake) {
        let grows = self.grows();
        self.ranks.count_if_needed(&mut self.timeline, (grows, is_searching), wake);
    }

    /// Orders tracks by the counts of a source, if they are awaited.
    pub(super) fn set_ranks(&mut self, source: &RankSource, ranks: Result<TrackRanks, TaskError>) {
        self.ranks.apply(source, ranks, &mut self.timeline);
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

    /// Sets the summary, if it belongs to this trace.
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

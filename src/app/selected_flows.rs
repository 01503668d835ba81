//! The flows of the selected row, searched in the background. Snapshots of a live trace have other row indices: known
//! flows are mapped to the next snapshot, and searched again once a second.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::tasks::{self, CancelOnDrop};
use crate::app::event::{TabWake, TaskId};
use crate::model::TrackKind;
use crate::query::Snapshot;
use crate::query::flow_chain::FlowChain;
use crate::store::lane::RowIdx;

/// Minimum time between two queries about a row of a live trace.
const ASKED_EVERY: Duration = Duration::from_secs(1);

/// The flows of the selected row, known and queried.
#[derive(Default)]
pub(super) struct SelectedFlows {
    asked: Option<FlowQuery>,
    found: Option<FoundFlows>,
}

struct FlowQuery {
    id: TaskId,
    snapshot: Snapshot,
    row: RowIdx,
    at: Instant,
    has_answer: bool,
    _task: CancelOnDrop,
}

struct FoundFlows {
    snapshot: Snapshot,
    row: RowIdx,
    flows: Arc<FlowChain>,
}

impl SelectedFlows {
    /// Queries the flows of a row unless they were queried already. Returns the flows, once they are known.
    pub(super) fn look_up(
        &mut self,
        id: TaskId,
        snapshot: &Snapshot,
        selected: Option<RowIdx>,
        wake: &TabWake,
    ) -> Option<Arc<FlowChain>> {
        let Some(row) = selected.filter(|&row| may_have_flows(snapshot, row)) else {
            *self = Self::default();
            return None;
        };
        let is_same = |of: &Snapshot, was: RowIdx| snapshot.row_since(of, was) == Some(row);
        self.asked = self.asked.take().filter(|asked| is_same(&asked.snapshot, asked.row));
        self.found = self.found.take().filter(|found| is_same(&found.snapshot, found.row));
        if self.asked.as_ref().is_none_or(|asked| asked.has_answer && asked.at.elapsed() >= ASKED_EVERY) {
            let task = tasks::find_flows(id, snapshot.clone(), row, wake);
            let (snapshot, at) = (snapshot.clone(), Instant::now());
            self.asked = Some(FlowQuery { id, snapshot, row, at, has_answer: false, _task: task });
        }
        self.in_snapshot(snapshot)
    }

    /// Handles an answer, if it is awaited. Returns the flows in the current snapshot.
    pub(super) fn accept_answer(
        &mut self,
        of: TaskId,
        row: RowIdx,
        flows: Arc<FlowChain>,
        shown: &Snapshot,
    ) -> Option<Arc<FlowChain>> {
        let asked = self.asked.as_mut().filter(|asked| asked.id == of && asked.row == row)?;
        asked.has_answer = true;
        self.found = Some(FoundFlows { snapshot: asked.snapshot.clone(), row, flows });
        self.in_snapshot(shown)
    }

    fn in_snapshot(&self, shown: &Snapshot) -> Option<Arc<FlowChain>> {
        let FoundFlows { snapshot, flows, .. } = self.found.as_ref()?;
        if std::ptr::eq(snapshot.store(), shown.store()) {
            return Some(Arc::clone(flows));
        }
        flows.since(snapshot, shown).map(Arc::new)
    }
}

/// Returns whether a query is worthwhile: scheduling rows have wakers in any trace, and values never have flows.
fn may_have_flows(snapshot: &Snapshot, row: RowIdx) -> bool {
    let kind = snapshot.track(snapshot.lane(row.lane).track).key.kind;
    match kind {
        TrackKind::Cpu | TrackKind::State => true,
        TrackKind::Counter => false,
        TrackKind::Global | TrackKind::Process | TrackKind::Thread | TrackKind::Async | TrackKind::Samples => {
            snapshot.summary().flows > 0
        }
    }
}

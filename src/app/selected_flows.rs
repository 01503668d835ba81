//! The flows of the selected row, looked up in the background. While a trace runs each picture has other rows: those that
//! are known are looked up in the next picture, and asked for again once a second, since more may have come.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::tasks::{self, CancelOnDrop};
use crate::app::event::{TabWake, TaskId};
use crate::model::TrackKind;
use crate::query::Snapshot;
use crate::query::flow_chain::FlowChain;
use crate::store::lane::RowIdx;

/// The shortest time between two questions about a row of a trace that runs.
const ASKED_EVERY: Duration = Duration::from_secs(1);

/// The flows of the selected row, those found and those asked for.
#[derive(Default)]
pub(super) struct SelectedFlows {
    asked: Option<Asked>,
    found: Option<Found>,
}

struct Asked {
    id: TaskId,
    snapshot: Snapshot,
    row: RowIdx,
    at: Instant,
    has_answer: bool,
    _task: CancelOnDrop,
}

struct Found {
    snapshot: Snapshot,
    row: RowIdx,
    flows: Arc<FlowChain>,
}

impl SelectedFlows {
    /// Looks up the flows of a row unless that was done; returns those that are known already.
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
            self.asked = Some(Asked { id, snapshot, row, at, has_answer: false, _task: task });
        }
        self.in_picture(snapshot)
    }

    /// Takes an answer, if it is the one that is waited for; returns the flows in the picture that is shown now.
    pub(super) fn take(
        &mut self,
        of: TaskId,
        row: RowIdx,
        flows: Arc<FlowChain>,
        shown: &Snapshot,
    ) -> Option<Arc<FlowChain>> {
        let asked = self.asked.as_mut().filter(|asked| asked.id == of && asked.row == row)?;
        asked.has_answer = true;
        self.found = Some(Found { snapshot: asked.snapshot.clone(), row, flows });
        self.in_picture(shown)
    }

    fn in_picture(&self, shown: &Snapshot) -> Option<Arc<FlowChain>> {
        let Found { snapshot, flows, .. } = self.found.as_ref()?;
        if std::ptr::eq(snapshot.store(), shown.store()) {
            return Some(Arc::clone(flows));
        }
        flows.since(snapshot, shown).map(Arc::new)
    }
}

/// Whether it is worth a look: rows of scheduling have wakers in any trace.
fn may_have_flows(snapshot: &Snapshot, row: RowIdx) -> bool {
    let kind = snapshot.track(snapshot.lane(row.lane).track).key.kind;
    snapshot.summary().flows > 0 || matches!(kind, TrackKind::Cpu | TrackKind::State)
}

//! Everything that is drawn over the spans or beside them: bookmarks, flows, search hits, and the summary of the trace.

use std::sync::Arc;

use crate::frame::filtered::Filtered;
use crate::query::flow_chain::FlowChain;
use crate::query::search::Hits;
use crate::scene::bookmarks::Bookmarks;
use crate::store::lane::RowIdx;
use crate::tiles::trace_summary::TraceSummary;
use crate::ui::settings::RulerOrigin;

#[derive(Default)]
pub(super) struct Overlays {
    pub(super) bookmarks: Bookmarks,
    pub(super) ruler_origin: RulerOrigin,
    /// The flows of a row, drawn while it is selected.
    pub(super) flows: Option<(RowIdx, Arc<FlowChain>)>,
    /// The spans in full colour; all others are dimmed.
    pub(super) filtered: Option<Arc<Filtered>>,
    /// The hits of the search, for the minimap.
    pub(super) hits: Option<Hits>,
    /// The summary of the trace, once the background has computed it.
    pub(super) summary: Option<Arc<TraceSummary>>,
}

impl Overlays {
    /// Drops everything that was computed from an earlier snapshot of the trace.
    pub(super) fn forget_answers(&mut self) {
        (self.flows, self.filtered, self.hits, self.summary) = (None, None, None, None);
    }
}

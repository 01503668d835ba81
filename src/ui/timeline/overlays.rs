//! Everything drawn over or beside the spans: bookmarks, flows, search hits, and the summary of the trace.

use std::sync::Arc;

use crate::base::merged::merged_value;
use crate::frame::filtered::Filtered;
use crate::frame::lit::{Lit, LitSpans};
use crate::query::flow_chain::FlowChain;
use crate::query::search::Hits;
use crate::scene::bookmarks::Bookmarks;
use crate::store::lane::RowIdx;
use crate::store::live_lanes::LaneMoves;
use crate::tiles::trace_summary::TraceSummary;
use crate::ui::settings::RulerOrigin;

#[derive(Clone, Default)]
pub(super) struct Overlays {
    bookmarks: Bookmarks,
    ruler_origin: RulerOrigin,
    /// The flows of a row, drawn while it is selected.
    flows: Option<(RowIdx, Arc<FlowChain>)>,
    /// The filter whose matches have full colour; all others are dimmed.
    filtered: Option<Arc<Filtered>>,
    /// The spans of the hovered row of a panel.
    lit: Option<Lit>,
    /// The hits of the search, for the minimap.
    hits: Option<Hits>,
    /// The summary of the trace, once it is computed.
    summary: Option<Arc<TraceSummary>>,
}

impl Overlays {
    pub(super) fn bookmarks(&self) -> &Bookmarks {
        &self.bookmarks
    }

    pub(super) fn bookmarks_mut(&mut self) -> &mut Bookmarks {
        &mut self.bookmarks
    }

    pub(super) fn ruler_origin(&self) -> RulerOrigin {
        self.ruler_origin
    }

    pub(super) fn set_ruler_origin(&mut self, origin: RulerOrigin) {
        self.ruler_origin = origin;
    }

    /// Adds the saved bookmarks to the bookmarks of this window, and restores the origin of the ruler unless it was
    /// changed.
    pub(super) fn restore(&mut self, bookmarks: Bookmarks, ruler_origin: RulerOrigin) {
        self.bookmarks = Bookmarks::merged(bookmarks, &Bookmarks::default(), &self.bookmarks);
        self.ruler_origin = merged_value(ruler_origin, &RulerOrigin::default(), &self.ruler_origin);
    }

    /// Returns the flows of `row`, if they are loaded.
    pub(super) fn flows_of(&self, row: RowIdx) -> Option<&FlowChain> {
        self.flows.as_ref().filter(|(of, _)| *of == row).map(|(_, flows)| &**flows)
    }

    pub(super) fn set_flows(&mut self, row: RowIdx, flows: Arc<FlowChain>) {
        self.flows = Some((row, flows));
    }

    pub(super) fn filtered(&self) -> Option<&Arc<Filtered>> {
        self.filtered.as_ref()
    }

    pub(super) fn set_filtered(&mut self, filtered: Option<Arc<Filtered>>) {
        self.filtered = filtered;
    }

    pub(super) fn lit_spans(&self) -> Option<&LitSpans> {
        spans_of(self.lit.as_ref())
    }

    pub(super) fn lit_row(&self) -> Option<RowIdx> {
        self.lit.as_ref().and_then(|lit| match lit {
            Lit::Spans(_) => None,
            Lit::Row(row) => Some(*row),
        })
    }

    /// Sets the lit part. Returns whether spans have other colours.
    pub(super) fn set_lit(&mut self, lit: Option<Lit>) -> bool {
        let before = std::mem::replace(&mut self.lit, lit);
        self.lit_spans() != spans_of(before.as_ref())
    }

    pub(super) fn hits(&self) -> Option<&Hits> {
        self.hits.as_ref()
    }

    pub(super) fn set_hits(&mut self, hits: Option<Hits>) {
        self.hits = hits;
    }

    pub(super) fn summary(&self) -> Option<&Arc<TraceSummary>> {
        self.summary.as_ref()
    }

    pub(super) fn set_summary(&mut self, summary: Arc<TraceSummary>) {
        self.summary = Some(summary);
    }

    /// Drops everything that was computed from an earlier snapshot of the trace. If it has only grown, which may have
    /// moved lanes, the hits stay until the search is repeated.
    pub(super) fn forget_answers(&mut self, moves: Option<&LaneMoves>) {
        (self.flows, self.summary, self.lit) = (None, None, None);
        self.hits = self.hits.take().filter(|_| moves.is_some());
        let filtered = self.filtered.take().zip(moves);
        self.filtered = filtered.map(|(filtered, moves)| Arc::new(filtered.outdated().moved(moves)));
    }
}

/// Returns the lit spans, unless a row is lit.
fn spans_of(lit: Option<&Lit>) -> Option<&LitSpans> {
    lit.and_then(|lit| match lit {
        Lit::Spans(spans) => Some(spans),
        Lit::Row(_) => None,
    })
}

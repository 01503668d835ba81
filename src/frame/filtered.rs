//! The effect of a filter on a frame. Spans that do not match are dimmed; over them, each column shows the
//! longest span that matches. Matches are searched outside of frames; until they arrive, those of the last search
//! are drawn at their times.

use std::sync::Arc;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::base::cancel::{Cancel, Cancelled};
use crate::model::TrackIdx;
use crate::query::matcher::Matcher;
use crate::query::{Buckets, Cell, Snapshot, filtered};
use crate::scene::color::Rgba;
use crate::scene::palette::Palette;
use crate::scene::rects::{ColumnRun, Columns};
use crate::scene::rows::RowLayout;
use crate::scene::viewport::Viewport;
use crate::store::lane::{LaneIdx, LaneKind};

/// How much of a colour is left of what does not match: enough to see where it is.
const DIMMED_OPACITY: u8 = 50;

/// The part of a capture that is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilterView {
    pub(crate) buckets: Buckets,
    pub(crate) lanes: Vec<LaneIdx>,
}

/// A filter with what matches it in some view.
#[derive(Debug, Clone)]
pub struct Filtered {
    matcher: Arc<Matcher>,
    in_view: Option<FilterView>,
    lanes: FxHashMap<LaneIdx, Vec<Cell>>,
}

impl FilterView {
    /// The columns and lanes in view.
    #[must_use]
    pub(crate) fn from_layout(layout: &RowLayout, view: &Viewport) -> Self {
        let rows = layout.lanes_in_view(view).into_iter();
        let lanes = rows.filter(|row| matches!(row.kind, LaneKind::Spans | LaneKind::Instants | LaneKind::Samples));
        Self { buckets: view.buckets(), lanes: lanes.map(|row| row.lane).collect() }
    }
}

impl Filtered {
    /// A filter that has no results yet.
    #[must_use]
    pub(crate) fn new(matcher: Arc<Matcher>) -> Self {
        Self { matcher, in_view: None, lanes: FxHashMap::default() }
    }

    /// Searches a part of a capture for matches, its lanes in parallel; [`filtered::longest`] states the cost. Fails
    /// with [`Cancelled`] when the caller cancels.
    pub(crate) fn find(
        matcher: Arc<Matcher>,
        snapshot: &Snapshot,
        in_view: FilterView,
        cancel: &Cancel,
    ) -> Result<Self, Cancelled> {
        let lanes = in_view
            .lanes
            .par_iter()
            .map(|&lane| Ok((lane, filtered::longest(snapshot, &matcher, lane, in_view.buckets, cancel)?)));
        let lanes = lanes.collect::<Result<_, Cancelled>>()?;
        Ok(Self { in_view: Some(in_view), lanes, matcher })
    }

    #[must_use]
    pub(crate) fn matcher(&self) -> &Arc<Matcher> {
        &self.matcher
    }

    /// Whether this is what matches there.
    #[must_use]
    pub(crate) fn covers(&self, in_view: &FilterView) -> bool {
        self.in_view.as_ref() == Some(in_view)
    }

    /// The colour of a stretch: dimmed unless it is one span that surely matches.
    #[must_use]
    pub(crate) fn color(&self, run: &ColumnRun, track: TrackIdx, color: Rgba) -> Rgba {
        let matches = run.wide
            && self.matcher.has_track(track)
            && self.matcher.has_name(run.name)
            && self.matcher.has_duration(run.dur_ns)
            && !self.matcher.reads_more_than_names();
        if matches { color } else { color.with_opacity(DIMMED_OPACITY) }
    }

    /// The stretches of a lane that match, as far as they are known, where narrow spans share columns of `column_px`
    /// pixels, a power of two.
    #[must_use]
    pub(crate) fn runs(&self, view: &Viewport, lane: LaneIdx, column_px: u32, palette: &Palette) -> Vec<ColumnRun> {
        let (Some(cells), Some(in_view)) = (self.lanes.get(&lane), &self.in_view) else { return Vec::new() };
        let columns = Columns::from_cells(view, in_view.buckets, cells);
        (0..column_px.ilog2()).fold(columns, |columns, _| columns.wider()).runs(palette)
    }
}

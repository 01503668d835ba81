//! Applies a filter to a frame. Spans that do not match are dimmed; over them, each column shows the longest matching
//! span. Matches are searched outside of frames; until they arrive, those of the last search are drawn at their times.

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

/// Opacity of spans that do not match: enough to see where they are.
const DIMMED_OPACITY: u8 = 50;

/// The part of a trace in view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilterView {
    pub(crate) buckets: Buckets,
    pub(crate) lanes: Vec<LaneIdx>,
}

/// A filter and its matches in some view.
#[derive(Debug, Clone)]
pub struct Filtered {
    matcher: Arc<Matcher>,
    in_view: Option<FilterView>,
    lanes: FxHashMap<LaneIdx, Vec<Cell>>,
}

impl FilterView {
    /// Returns the columns and lanes in view.
    #[must_use]
    pub(crate) fn from_layout(layout: &RowLayout, view: &Viewport) -> Self {
        let rows = layout.lanes_in_view(view).into_iter();
        let lanes = rows.filter(|row| matches!(row.kind, LaneKind::Spans | LaneKind::Instants | LaneKind::Samples));
        Self { buckets: view.buckets(), lanes: lanes.map(|row| row.lane).collect() }
    }
}

impl Filtered {
    /// Creates a filter without results.
    #[must_use]
    pub(crate) fn new(matcher: Arc<Matcher>) -> Self {
        Self { matcher, in_view: None, lanes: FxHashMap::default() }
    }

    /// Searches a part of a trace for matches, its lanes in parallel, at the cost described at [`filtered::longest`].
    /// Returns [`Cancelled`] if cancelled.
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

    /// Returns whether the matches are those of `in_view`.
    #[must_use]
    pub(crate) fn covers(&self, in_view: &FilterView) -> bool {
        self.in_view.as_ref() == Some(in_view)
    }

    /// Returns the colour of a run: dimmed unless it is a single span that matches.
    #[must_use]
    pub(crate) fn color(&self, run: &ColumnRun, track: TrackIdx, color: Rgba) -> Rgba {
        let matches = run.wide
            && self.matcher.has_track(track)
            && self.matcher.has_name(run.name)
            && self.matcher.has_duration(run.dur_ns)
            && !self.matcher.reads_more_than_names();
        if matches { color } else { color.with_opacity(DIMMED_OPACITY) }
    }

    /// Returns the matching runs of a lane, as far as they are known. Narrow spans share columns of `column_px` pixels,
    /// a power of two.
    #[must_use]
    pub(crate) fn runs(&self, view: &Viewport, lane: LaneIdx, column_px: u32, palette: &Palette) -> Vec<ColumnRun> {
        let (Some(cells), Some(in_view)) = (self.lanes.get(&lane), &self.in_view) else { return Vec::new() };
        let columns = Columns::from_cells(view, in_view.buckets, cells);
        (0..column_px.ilog2()).fold(columns, |columns, _| columns.wider()).runs(palette)
    }
}

//! Applies a filter to a frame. Spans that do not match are dimmed; over them, each column shows the longest matching
//! span. Matches are searched outside of frames; until they arrive, the matches of the last search are drawn at their
//! times.

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
use crate::store::live_lanes::LaneMoves;

/// Opacity of spans that do not match: enough to see where they are.
pub(super) const DIMMED_OPACITY: u8 = 50;

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
    freshness: Freshness,
}

/// The search that the known matches belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Freshness {
    Current,
    /// The trace has grown; the search must run again.
    Outdated,
    /// The search runs again; old matches are drawn until it finishes.
    Replaced,
}

impl FilterView {
    /// Returns the columns and lanes in view.
    #[must_use]
    pub(crate) fn from_layout(layout: &RowLayout, view: &Viewport) -> Self {
        let mut in_view = Self { buckets: view.buckets(), lanes: Vec::new() };
        in_view.add_lanes(layout, view);
        in_view
    }

    /// Adds the lanes in view of other rows over the same time. A pinned track may have a row in both layouts.
    pub(crate) fn add_lanes(&mut self, layout: &RowLayout, view: &Viewport) {
        let rows = layout.lanes_in_view(view).into_iter();
        let rows = rows.filter(|row| matches!(row.kind, LaneKind::Spans | LaneKind::Instants | LaneKind::Samples));
        self.lanes.extend(rows.map(|row| row.lane));
        self.lanes.sort_unstable();
        self.lanes.dedup();
    }

    fn moved(self, moves: &LaneMoves) -> Self {
        Self { lanes: self.lanes.into_iter().filter_map(|lane| moves.lane(lane)).collect(), ..self }
    }
}

impl Filtered {
    /// Creates a filter without results.
    #[must_use]
    pub(crate) fn new(matcher: Arc<Matcher>) -> Self {
        Self { matcher, in_view: None, lanes: FxHashMap::default(), freshness: Freshness::Current }
    }

    /// Returns these matches for a trace that has grown. They stay in view. The matcher does not know the new names, so
    /// it searches no further matches, unless it has found none yet. Snapshots may come with every frame.
    #[must_use]
    pub(crate) fn outdated(&self) -> Self {
        let is_answered = self.in_view.is_some() && self.freshness != Freshness::Replaced;
        let freshness = if is_answered { Freshness::Outdated } else { Freshness::Replaced };
        Self { freshness, ..self.clone() }
    }

    /// Returns the matches with the new indices of their lanes.
    #[must_use]
    pub(crate) fn moved(self, moves: &LaneMoves) -> Self {
        if *moves == LaneMoves::None {
            return self;
        }
        let lanes = self.lanes.into_iter().filter_map(|(lane, cells)| Some((moves.lane(lane)?, cells))).collect();
        let in_view = self.in_view.map(|in_view| in_view.moved(moves));
        Self { in_view, lanes, ..self }
    }

    #[must_use]
    pub(crate) fn is_outdated(&self) -> bool {
        self.freshness == Freshness::Outdated
    }

    /// Creates a filter that repeats an earlier one, whose matches are drawn until the new ones arrive. Otherwise
    /// matches would flicker while a trace grows.
    #[must_use]
    pub(crate) fn repeating(matcher: Arc<Matcher>, earlier: &Self) -> Self {
        Self { matcher, freshness: Freshness::Replaced, ..earlier.clone() }
    }

    /// Returns the filter with found matches. Matches of an older repetition replace the drawn ones, but the search
    /// still counts as running. Returns `None` for the matches of another filter.
    #[must_use]
    pub(crate) fn with_matches(&self, found: &Self) -> Option<Self> {
        let is_own = Arc::ptr_eq(&self.matcher, &found.matcher);
        let freshness = match self.freshness {
            Freshness::Current | Freshness::Replaced if is_own => Freshness::Current,
            Freshness::Current => return None,
            Freshness::Outdated | Freshness::Replaced => self.freshness,
        };
        Some(Self { matcher: Arc::clone(&self.matcher), freshness, ..found.clone() })
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
        Ok(Self { in_view: Some(in_view), lanes, matcher, freshness: Freshness::Current })
    }

    #[must_use]
    pub(crate) fn matcher(&self) -> &Arc<Matcher> {
        &self.matcher
    }

    /// Returns whether the matches in `in_view` should be searched.
    #[must_use]
    pub(crate) fn lacks(&self, in_view: &FilterView) -> bool {
        match self.freshness {
            Freshness::Current => self.in_view.as_ref() != Some(in_view),
            Freshness::Outdated => false,
            Freshness::Replaced => true,
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_repeated_search_finds_matches_once_however_fast_the_trace_grows() {
        let view = |width_ns| FilterView { buckets: Buckets::covering(0, width_ns, 1), lanes: Vec::new() };
        let found = |filter: &Filtered, view: FilterView| Filtered { in_view: Some(view), ..filter.clone() };
        let matcher = || Arc::new(Matcher::default());
        // A snapshot comes before the first matches are searched, and another before they are found.
        let first = Filtered::new(matcher()).outdated();
        assert!(first.lacks(&view(10)));
        let answered = first.outdated().with_matches(&found(&first, view(10))).unwrap();
        assert!(!answered.lacks(&view(10)) && answered.lacks(&view(20)));
        let outdated = answered.outdated();
        assert!(!outdated.lacks(&view(20)) && outdated.is_outdated());
        // The repeated search draws the matches of the first search until its own matches arrive.
        let second = Filtered::repeating(matcher(), &outdated).outdated();
        assert!(second.lacks(&view(10)) && second.in_view == Some(view(10)));
        let late = second.with_matches(&found(&first, view(15))).unwrap();
        assert!(late.lacks(&view(15)) && late.in_view == Some(view(15)));
        let own = late.with_matches(&found(&second, view(20))).unwrap();
        assert!(!own.lacks(&view(20)));
        assert!(own.with_matches(&found(&first, view(20))).is_none(), "of another search");
    }
}

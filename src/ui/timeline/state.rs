//! The state of the timeline: the view, folded tracks and the selection. It queries the trace only through frames and
//! picks, whose work is bounded by pixels.

use std::borrow::Cow;
use std::sync::Arc;

use egui::{Pos2, Vec2};

use super::derived::DerivedRows;
use super::derived_pane::DerivedPane;
use super::edit_history::EditHistory;
use super::interaction::Interaction;
use super::layout::TimelineLayout;
use super::live_view::LiveView;
use super::overlays::Overlays;
use super::pane::{Pane, ShownPane};
use super::selection::Selection;
use super::span_colors::SpanColors;
use super::tile_loaders::TileLoaders;
use super::tracks::TrackState;
use super::view::ViewState;
use crate::base::time::counted;
use crate::frame::RectBudget;
use crate::frame::filtered::{FilterView, Filtered};
use crate::frame::lit::Lit;
use crate::model::{ProcessIdx, TrackIdx, TrackKind};
use crate::query::flow_chain::FlowChain;
use crate::query::matcher::Matcher;
use crate::query::search::Hits;
use crate::query::track_groups::GroupId;
use crate::query::{Snapshot, pick as query_pick};
use crate::render::rects::Layer;
use crate::scene::arrange::Arrangement;
use crate::scene::color::Shade;
use crate::scene::labels::shown_name;
use crate::scene::palette::{Colors, Palette};
use crate::scene::pick::{Picked, pick};
use crate::scene::rows::TrackDensity;
use crate::scene::titles::{group_path_title, process_title, track_title};
use crate::scene::viewport::Viewport;
use crate::store::lane::{LaneKind, RowIdx};
use crate::tiles::loader::LoaderPool;
use crate::tiles::summaries::TrackSummaries;
use crate::tiles::trace_summary::TraceSummary;
use crate::ui::settings::Navigation;
use crate::ui::theme::Theme;

/// The timeline of one trace.
pub struct Timeline {
    pub(super) snapshot: Snapshot,
    pub(super) view: ViewState,
    pub(super) selection: Selection,
    pub(super) tracks: TrackState,
    pub(super) interaction: Interaction,
    pub(super) overlays: Overlays,
    pub(super) rows: Pane,
    /// The rows that are pinned above the scrolling rows.
    pub(super) pinned: Pane,
    pub(super) pinned_scroll_px: f64,
    pub(super) derived: DerivedRows,
    pub(super) derived_pane: DerivedPane,
    /// Distance that the derived tracks are scrolled up.
    pub(super) derived_scroll_points: f32,
    pub(super) loaders: TileLoaders,
    pub(super) span_colors: SpanColors,
    scale: f32,
    /// Size of the last frame, in points.
    pub(super) size_points: Vec2,
    pub(super) gutter_points: f32,
    pub(super) budget: RectBudget,
    /// The following state while the trace grows.
    pub(super) live: Option<LiveView>,
    /// The first start of a trace that has grown. The ruler keeps counting from it when the oldest rows are dropped.
    pub(super) first_start_ns: Option<i64>,
    /// The effect of the last command, or why it had none, until it is shown.
    pub(super) note: Option<Cow<'static, str>>,
    /// The edits that can be undone.
    pub(super) edits: EditHistory,
    /// Why the import ended before all was sorted, as a sentence.
    pub(super) interruption: Option<String>,
    /// Whether this is a copy for a picture, which has no controls.
    pub(super) is_export_copy: bool,
}

impl Timeline {
    /// Default width of the gutter, in points.
    pub(crate) const GUTTER_POINTS: u16 = 230;

    /// Creates a timeline that shows the whole trace.
    #[must_use]
    pub fn new(snapshot: Snapshot, budget: RectBudget, theme: &Theme, navigation: Navigation) -> Self {
        // If no threads can be started, frames wait.
        Self::with_pool(snapshot, budget, theme.shade, navigation, LoaderPool::start_for_window().ok())
    }

    /// Creates a timeline with a pool that loads the tiles of frames.
    pub(super) fn with_pool(
        snapshot: Snapshot,
        budget: RectBudget,
        shade: Shade,
        navigation: Navigation,
        pool: Option<LoaderPool>,
    ) -> Self {
        let (start_ns, end_ns) = snapshot.drawn_range_ns();
        let view = Viewport::covering(start_ns, end_ns, 1000.0, 600.0);
        let pane = |layer| {
            let mut pane = Pane::new(layer);
            pane.load_with(&snapshot, pool.as_ref());
            pane
        };
        Self {
            rows: pane(Layer::Rows),
            pinned: pane(Layer::Pinned),
            loaders: TileLoaders::new(pool),
            snapshot,
            view: ViewState::new(view, navigation),
            selection: Selection::default(),
            tracks: TrackState::default(),
            interaction: Interaction::default(),
            overlays: Overlays::default(),
            derived: DerivedRows::default(),
            derived_pane: DerivedPane::default(),
            derived_scroll_points: 0.0,
            pinned_scroll_px: 0.0,
            span_colors: SpanColors::new(Colors::default(), shade),
            // An impossible scale, so that the first frame lays out.
            scale: 0.0,
            size_points: Vec2::ZERO,
            gutter_points: Self::GUTTER_POINTS.into(),
            budget,
            live: None,
            first_start_ns: None,
            note: None,
            edits: EditHistory::default(),
            interruption: None,
            is_export_copy: false,
        }
    }

    /// Switches to a later snapshot of the same trace, with more rows sorted. The last frame stays until it is drawn
    /// again, and the selection stays.
    #[must_use]
    pub(crate) fn with_snapshot(mut self, snapshot: Snapshot) -> Self {
        let (follows, before) = (self.follows(), *self.view.now());
        // A view of the whole trace changes with its bounds.
        let (start_ns, end_ns) = snapshot.drawn_range_ns();
        self.view.set_bounds(start_ns, end_ns);
        if matches!(self.live, Some(LiveView::Held)) {
            self.view.show_exactly(before.start_ns(), before.end_ns());
        }
        if self.live.is_some() {
            self.first_start_ns = self.first_start_so_far_ns();
        }
        let earlier = std::mem::replace(&mut self.snapshot, snapshot);
        self.interruption = None;
        match self.live {
            Some(_) => self.derived.note_growth(),
            None => self.derived.forget_curves(),
        }
        let selected = self.selection.span().and_then(|row| self.snapshot.row_since(&earlier, row));
        self.selection.select(selected);
        self.selection.hover(None);
        self.interaction.update_snapshot(|row| self.snapshot.row_since(&earlier, row));
        self.overlays.forget_answers(self.snapshot.lane_moves_since(&earlier).as_ref());
        self.rows.update_snapshot(&earlier, &self.snapshot, self.loaders.row_pool());
        self.pinned.update_snapshot(&earlier, &self.snapshot, self.loaders.row_pool());
        // Rows do not depend on resolved names.
        if !self.snapshot.has_store_of(&earlier) {
            self.tracks.keep_first_row();
            if self.tracks.is_long(&self.snapshot) {
                self.rows.layout.move_lanes(&earlier, &self.snapshot);
                self.lay_out_pinned();
                self.tracks.queue_layout();
            } else {
                self.lay_out();
            }
        }
        self.loaders.drop_later(earlier);
        self.keep_following(follows);
        self
    }

    /// Switches to a snapshot with other names; the summary of the trace stays.
    #[must_use]
    pub(crate) fn with_names(self, snapshot: Snapshot) -> Self {
        let (summary, interruption) = (self.overlays.summary().cloned(), self.interruption.clone());
        let mut renamed = self.with_snapshot(snapshot);
        renamed.interruption = interruption;
        if let Some(summary) = summary {
            renamed.set_trace_summary(summary);
        }
        renamed
    }

    /// Returns whether the summary of the whole trace is known.
    #[cfg(test)]
    pub(crate) fn has_trace_summary(&self) -> bool {
        self.overlays.summary().is_some()
    }

    /// Drops the tiles of past frames, because the timeline will not be shown for a while. They are loaded again later.
    pub(crate) fn release_tiles(&mut self) {
        self.rows.release_tiles();
        self.pinned.release_tiles();
    }

    /// Makes frames wait for all their tiles and rows, for pictures.
    pub(crate) fn wait_for_all(&mut self) {
        self.loaders.stop_rows();
        self.tracks.wait_for_rows();
        self.derived_pane.wait_for_all();
        self.rows.load_with(&self.snapshot, None);
        self.pinned.load_with(&self.snapshot, None);
    }

    /// Highlights the hits of a search: matches keep their full colour and are marked on the minimap, the rest is
    /// dimmed. `None` ends that.
    pub(crate) fn set_hits(&mut self, hits: Option<&Hits>) {
        self.overlays.set_hits(hits.cloned());
        self.set_filtered(hits.map(|hits| Arc::new(Filtered::new(Arc::clone(hits.matcher())))));
    }

    /// Sets the hits of the same search in a later snapshot. The earlier matches stay until the new ones are found.
    pub(crate) fn repeat_hits(&mut self, hits: &Hits) {
        let Some(earlier) = self.overlays.filtered() else { return self.set_hits(Some(hits)) };
        let filtered = Filtered::repeating(Arc::clone(hits.matcher()), earlier);
        self.overlays.set_hits(Some(hits.clone()));
        self.set_filtered(Some(Arc::new(filtered)));
    }

    /// Highlights matches, and dims the rest.
    pub(crate) fn set_matcher(&mut self, matcher: &Arc<Matcher>) {
        self.set_filtered(Some(Arc::new(Filtered::new(Arc::clone(matcher)))));
    }

    fn set_filtered(&mut self, filtered: Option<Arc<Filtered>>) {
        self.overlays.set_filtered(filtered);
        self.rows.redraw();
        self.pinned.redraw();
    }

    /// Lights the spans of the hovered row of a panel; `None` lights none. Draws again only if the lit spans differ,
    /// and starts no query.
    pub(crate) fn light(&mut self, lit: Option<Lit>) {
        if self.overlays.set_lit(lit) {
            self.rows.redraw();
            self.pinned.redraw();
        }
    }

    /// Returns whether spans are lit, and the row with an outline.
    #[cfg(test)]
    pub(crate) fn lit(&self) -> (bool, Option<RowIdx>) {
        (self.overlays.lit_spans().is_some(), self.overlays.lit_row())
    }

    /// Returns whether the drawn matches come from an earlier snapshot.
    #[must_use]
    pub(crate) fn has_outdated_matches(&self) -> bool {
        self.overlays.filtered().is_some_and(|filtered| filtered.is_outdated())
    }

    /// Sets the matches of the filter, if it is still the same.
    pub(crate) fn set_matching(&mut self, matching: &Arc<Filtered>) {
        if let Some(filtered) = self.overlays.filtered().and_then(|filtered| filtered.with_matches(matching)) {
            self.set_filtered(Some(Arc::new(filtered)));
        }
    }

    /// Returns the filter, and the part in view whose matches are unknown.
    #[must_use]
    pub(crate) fn unfiltered(&self) -> Option<(Arc<Matcher>, FilterView)> {
        let filtered = self.overlays.filtered()?;
        let mut in_view = FilterView::from_layout(&self.rows.layout, self.view.now());
        if let Some(view) = self.pinned.drawn_view() {
            in_view.add_lanes(&self.pinned.layout, view);
        }
        filtered.lacks(&in_view).then(|| (Arc::clone(filtered.matcher()), in_view))
    }

    /// Returns the trace, or the shown part of a running trace.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Returns the part in view, during an animation in the current frame.
    #[must_use]
    pub fn view(&self) -> &Viewport {
        self.view.now()
    }

    /// Returns whether there is an earlier view to go back to.
    #[must_use]
    pub(crate) fn has_past(&self) -> bool {
        self.view.has_past()
    }

    /// Returns whether there is a later view to go forward to.
    #[must_use]
    pub(crate) fn has_future(&self) -> bool {
        self.view.has_future()
    }

    /// Returns the width of the gutter.
    #[must_use]
    pub(crate) fn gutter_points(&self) -> f32 {
        self.gutter_points
    }

    #[must_use]
    pub(crate) fn selected(&self) -> Option<RowIdx> {
        self.selection.span()
    }

    /// Returns the selected time range.
    #[must_use]
    pub fn range(&self) -> Option<(i64, i64)> {
        self.selection.range()
    }

    /// Sets the width of the track names.
    pub(crate) fn set_gutter_points(&mut self, points: u16) {
        self.gutter_points = points.into();
    }

    /// Sets the height of rows, before they are laid out.
    pub(crate) fn set_density(&mut self, density: TrackDensity) {
        self.tracks.set_density(density);
    }

    /// Returns the order, filter, folded and pinned tracks.
    #[must_use]
    pub(crate) fn arrangement(&self) -> &Arrangement {
        self.tracks.arrangement()
    }

    /// Returns the last frame, for benchmarks.
    #[must_use]
    pub(crate) fn last_frame(&self) -> Option<&crate::frame::TimelineFrame> {
        self.rows.last_frame()
    }

    /// Switches to the colours of another theme.
    pub(crate) fn set_theme(&mut self, theme: &Theme) {
        self.span_colors = SpanColors::new(self.colors(), theme.shade);
        self.redraw();
    }

    /// Sets the colour scheme of spans.
    pub(crate) fn set_colors(&mut self, colors: Colors) {
        self.span_colors = SpanColors::new(colors, self.span_colors.shade());
        self.redraw();
    }

    #[must_use]
    pub(crate) fn colors(&self) -> Colors {
        self.span_colors.colors()
    }

    #[must_use]
    pub(crate) fn palette(&self) -> &Palette {
        self.span_colors.palette()
    }

    /// Sets the limit of rectangles, when another GPU draws.
    pub(crate) fn set_budget(&mut self, budget: RectBudget) {
        self.budget = budget;
        self.redraw();
    }

    /// Sets the summary of the whole trace.
    pub(crate) fn set_trace_summary(&mut self, summary: Arc<TraceSummary>) {
        self.rows.set_summaries(summary.track_summaries.as_ref(), self.loaders.start_summary_pool());
        self.overlays.set_summary(summary);
    }

    /// Sets the summaries of the user's groups; `None` without groups.
    pub(super) fn set_custom_summaries(&mut self, summaries: Option<&Arc<TrackSummaries>>) {
        let pool = summaries.and_then(|_| self.loaders.start_summary_pool());
        self.rows.set_custom_summaries(summaries, pool);
    }

    /// Sets the minimap of a live trace.
    pub(crate) fn set_live_summary(&mut self, summary: TraceSummary) {
        self.overlays.set_summary(Arc::new(summary));
    }

    /// Sets the flows of a row, drawn while it is selected.
    pub(crate) fn set_flows(&mut self, row: RowIdx, flows: Arc<FlowChain>) {
        self.overlays.set_flows(row, flows);
    }

    /// Selects a row, or none.
    pub(crate) fn select(&mut self, row: Option<RowIdx>) {
        self.selection.select(row);
    }

    /// Describes the timeline for screen readers.
    #[must_use]
    pub(crate) fn summary(&self) -> String {
        let tracks = self.snapshot.display_order().len();
        let selected = self.selected_text();
        if !self.snapshot.has_times() {
            return format!("Timeline of {tracks} tracks without times. {selected}");
        }
        let from = self.time_text(self.view.now().start_ns());
        let to = self.time_text(self.view.now().end_ns());
        format!("Timeline of {tracks} tracks, {from} to {to} in view. {selected}")
    }

    /// Describes the selected span in a sentence for screen readers.
    pub(super) fn selected_text(&self) -> String {
        let Some(row) = self.selection.span() else { return "Nothing selected.".to_owned() };
        let span = self.snapshot.row(row);
        if self.snapshot.lane(row.lane).kind == LaneKind::Counter {
            return format!("Selected: {}, at {}.", self.sample_text(row), self.time_text(span.start_ns));
        }
        let name = shown_name(self.snapshot.names().get(span.name).text).into_owned();
        let unit = self.snapshot.drawn_unit(self.snapshot.lane(row.lane).track);
        let at = if unit.is_time() { format!(", at {}", self.time_text(span.start_ns)) } else { String::new() };
        format!("Selected: {name}, {}{at}.", unit.text(span.dur_ns))
    }

    /// Returns the visible name of a process, which is never empty.
    pub(super) fn process_text(&self, process: ProcessIdx) -> String {
        self.snapshot.tracks().processes.get(process.index()).map(process_title).unwrap_or_default()
    }

    /// Returns the visible name and id of a track; the name is never empty. The name of samples begins with the name of
    /// their thread, whose row may be out of view.
    pub(super) fn track_text(&self, track: TrackIdx) -> (String, String) {
        let (mut title, secondary) = track_title(self.snapshot.track(track));
        let thread = self.snapshot.thread_of(track);
        if self.snapshot.track(track).key.kind == TrackKind::Samples && thread != track {
            title = format!("{} {title}", track_title(self.snapshot.track(thread)).0);
        }
        (title, self.counter_range_text(track).unwrap_or(secondary))
    }

    /// Returns the name of a group of tracks with the names of its outer groups, and the number of tracks shown.
    pub(super) fn group_text(&self, id: GroupId) -> (String, String) {
        let Some(group) = self.snapshot.group(id) else { return self.track_text(id.lead) };
        let secondary = counted(self.rows.layout.shown_tracks(id).unwrap_or(group.tracks).into(), "track");
        (group_path_title(&self.snapshot, &group), secondary)
    }

    /// Returns both panes: pinned rows, and scrolling rows.
    pub(super) fn panes(&self, layout: &TimelineLayout) -> [ShownPane<'_>; 2] {
        let scale = self.scale;
        let pinned = self.pinned_view(layout);
        [
            ShownPane { pane: &self.pinned, view: pinned, canvas: layout.pinned, gutter: layout.pinned_gutter, scale },
            ShownPane { pane: &self.rows, view: *self.view.now(), canvas: layout.canvas, gutter: layout.gutter, scale },
        ]
    }

    /// Returns the lane, group and time at a point of the window; none on derived tracks.
    pub(super) fn picked(&self, layout: &TimelineLayout, at: Pos2) -> Picked {
        let [pinned, rows] = self.panes(layout);
        let shown = if layout.pinned.contains(at) { pinned } else { rows };
        let at_px = (at - shown.canvas.min) * self.scale;
        let picked = pick(&shown.pane.layout, &shown.view, f64::from(at_px.x), f64::from(at_px.y));
        if layout.derived.is_positive() && layout.derived.contains(at) {
            return Picked { lane: None, group: None, ..picked };
        }
        match self.header_over(&shown, at.y) {
            Some(header) => Picked { lane: None, group: Some(header), ..picked },
            None => picked,
        }
    }

    /// Returns the time at a point of the window.
    pub(super) fn time_at(&self, layout: &TimelineLayout, at: Pos2) -> i64 {
        self.view.now().time_from_x(f64::from((at.x - layout.canvas.left()) * self.scale))
    }

    /// Returns the row at a point of the window, except for samples of counters.
    pub(super) fn row_under(&self, layout: &TimelineLayout, at: Pos2) -> Option<RowIdx> {
        let picked = self.picked(layout, at);
        let lane = picked.lane.filter(|lane| lane.kind != LaneKind::Counter)?;
        query_pick::row_at(&self.snapshot, lane.lane, picked.ts_ns, picked.tolerance_ns)
    }

    /// Returns a sentence about the effect of a command since the last call, or why it had none.
    pub(crate) fn take_note(&mut self) -> Option<String> {
        self.note.take().map(Cow::into_owned)
    }

    pub(super) fn scale(&self) -> f32 {
        // Before the first frame the screen is unknown.
        if self.scale > 0.0 { self.scale } else { 1.0 }
    }

    pub(super) fn redraw(&mut self) {
        self.derived_pane.redraw();
        self.rows.redraw();
        self.pinned.redraw();
    }

    /// Returns the viewport of the pinned rows.
    pub(super) fn pinned_view(&self, layout: &TimelineLayout) -> Viewport {
        let height_px = f64::from((layout.pinned.height() * layout.scale).round());
        let content_px = self.pinned.layout.height_px() as f64;
        self.view.now().over_rows(height_px, self.pinned_scroll_px, content_px)
    }

    /// Sets the size of the canvas and the scale of the screen.
    pub(super) fn fit(&mut self, layout: &TimelineLayout) {
        let size_px = layout.canvas.size() * layout.scale;
        let (width_px, height_px) = (f64::from(size_px.x).round(), f64::from(size_px.y).round());
        let was_sized = self.scale > 0.0;
        if self.scale != layout.scale {
            self.scale = layout.scale;
            self.tracks.keep_first_row();
            self.arrange();
        }
        if (self.view.now().width_px(), self.view.now().height_px()) != (width_px, height_px) {
            let (_, end_px_before) = self.view.now().pixels_in_view();
            self.view.resize(width_px, height_px);
            self.scroll(0.0);
            // A restored view stays as it was, even if the selected span is not in it.
            if was_sized {
                self.keep_selected_in_view(end_px_before);
            }
        }
        self.view.show_waiting();
    }
}

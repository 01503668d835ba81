//! Rows on one canvas, scrolling or pinned. The last frame is painted again while nothing changes.

use std::sync::Arc;
use std::time::Instant;

use egui::{Align2, Rangef, Rect, Stroke, StrokeKind, Ui, pos2, vec2};

use super::layout::band;
use super::span_names::{NameGalleys, SpanName, span_names};
use super::thread_rows::continues_thread;
use crate::frame::summary_strip::{self, Lighting, StripColors, SummaryBand};
use crate::frame::{self, FrameOptions, TimelineFrame};
use crate::model::TrackIdx;
use crate::query::Snapshot;
use crate::query::counters::drawn_until_ns;
use crate::render::Rects;
use crate::render::rects::Layer;
use crate::scene::palette::Palette;
use crate::scene::rows::{Group, GroupKind, RowLayout};
use crate::scene::viewport::Viewport;
use crate::store::lane::{LaneIdx, LaneKind, RowIdx};
use crate::tiles::live::{FrameQuery, LiveTiles};
use crate::tiles::loader::LoaderPool;
use crate::tiles::summaries::TrackSummaries;
use crate::tiles::{TileOwner, TileSource};
use crate::ui::selected_scope::TimeRange;
use crate::ui::theme::{Theme, color32};

/// The rows of one canvas, with their tiles and the last frame.
pub(super) struct Pane {
    pub(crate) layout: RowLayout,
    layer: Layer,
    tiles: LiveTiles,
    /// The summaries of folded processes and groups, once the trace summary is there.
    summaries: Option<SummaryTiles>,
    /// The summaries of folded groups of the user.
    custom_summaries: Option<SummaryTiles>,
    drawn: Option<PaintedFrame>,
}

/// The summaries of folded processes and groups, and their tiles.
struct SummaryTiles {
    track_summaries: Arc<TrackSummaries>,
    tiles: LiveTiles,
}

/// The last frame, as painted.
struct PaintedFrame {
    view: Viewport,
    frame: TimelineFrame,
    rects: Rects,
    /// The names on spans, shortened to fit.
    labels: Vec<SpanName>,
    galleys: NameGalleys,
    /// The frame with some rows shifted, during a drag of their file.
    shifted: Option<(Rects, Vec<SpanName>)>,
    scale: f32,
}

/// A pane with its rectangle, as a frame shows it.
#[derive(Clone, Copy)]
pub(super) struct ShownPane<'a> {
    pub(crate) pane: &'a Pane,
    pub(crate) view: Viewport,
    pub(crate) canvas: Rect,
    pub(crate) gutter: Rect,
    pub(crate) scale: f32,
}

impl Pane {
    pub(super) fn new(layer: Layer) -> Self {
        let (layout, tiles) = (RowLayout::default(), LiveTiles::default());
        Self { layout, layer, tiles, summaries: None, custom_summaries: None, drawn: None }
    }

    /// Sets the layout, and returns the earlier one.
    pub(super) fn set_layout(&mut self, layout: RowLayout) -> RowLayout {
        self.drawn = None;
        std::mem::replace(&mut self.layout, layout)
    }

    /// Drops the last frame, but keeps its tiles.
    pub(super) fn redraw(&mut self) {
        self.drawn = None;
    }

    /// Drops the last frame and its tiles.
    pub(super) fn release_tiles(&mut self) {
        self.drawn = None;
        self.tiles.forget();
        for summaries in self.summaries.iter_mut().chain(&mut self.custom_summaries) {
            summaries.tiles.forget();
        }
    }

    /// Loads the tiles of a trace with `pool` from now on. Without a pool, frames wait for their tiles.
    pub(super) fn load_with(&mut self, snapshot: &Snapshot, pool: Option<&LoaderPool>) {
        self.tiles.load_with(Arc::new(snapshot.clone()), pool);
    }

    /// Switches to a later snapshot of the same trace. The old tiles are drawn until the new ones are loaded.
    pub(super) fn update_snapshot(&mut self, earlier: &Snapshot, later: &Snapshot, pool: Option<&LoaderPool>) {
        self.tiles.update_snapshot(earlier, later, pool);
        if !later.has_store_of(earlier) {
            self.summaries = None;
            // Summaries of a live trace stay until the next layout: its names and tracks keep their indices.
            self.custom_summaries.take_if(|_| later.lane_moves_since(earlier).is_none());
        }
        self.drawn = None;
    }

    /// Returns the value range of a counter, once it is drawn.
    pub(super) fn counter_range(&self, lane: LaneIdx) -> Option<(f64, f64)> {
        self.tiles.cached().counter_range(TileOwner::Lane(lane))
    }

    /// Returns the range of a counter's changes or rates in the last frame; for a row of several counters, the range of
    /// each unit.
    pub(super) fn ranges(&self, lane: LaneIdx) -> Option<&[(f64, f64)]> {
        let ranges = &self.drawn.as_ref()?.frame.ranges;
        ranges.iter().find(|(known, _)| *known == lane).map(|(_, ranges)| &**ranges)
    }

    pub(super) fn last_frame(&self) -> Option<&TimelineFrame> {
        self.drawn.as_ref().map(|drawn| &drawn.frame)
    }

    /// Returns the part of the rows in the last frame.
    pub(super) fn drawn_view(&self) -> Option<&Viewport> {
        self.drawn.as_ref().map(|drawn| &drawn.view)
    }

    /// Builds the frame again, with the tiles that arrive by the deadline, unless nothing has changed. Returns whether
    /// some tiles are late.
    pub(super) fn draw(
        &mut self,
        ui: &Ui,
        snapshot: &Snapshot,
        view: &Viewport,
        options: FrameOptions<'_>,
        deadline: Instant,
    ) -> bool {
        if let Some(drawn) = self.drawn.as_mut().filter(|drawn| drawn.view == *view && drawn.frame.pending == 0) {
            drawn.galleys.lay_out(ui, &drawn.labels);
            return false;
        }
        let mut owners = frame::lanes_in_view(&self.layout, view);
        owners.extend(frame::other_lanes(&owners, options.overlaid));
        let query = FrameQuery { view, buckets: view.buckets(), owners: &owners, deadline };
        let pause = self.tiles.prepare(snapshot, query);
        let mut frame = frame::build(snapshot, snapshot.names(), &self.layout, view, self.tiles.cached(), options);
        drop(pause);
        self.draw_summaries(snapshot, view, options, deadline, &mut frame);
        let rects = Rects::new(&frame.rects, view.size_px(), options.scale, self.layer);
        let labels = span_names(ui, &frame, snapshot, options.scale);
        let mut galleys = NameGalleys::default();
        galleys.lay_out(ui, &labels);
        let (is_late, scale) = (frame.pending > 0, options.scale);
        self.drawn = Some(PaintedFrame { view: *view, frame, rects, labels, galleys, shifted: None, scale });
        is_late
    }

    /// Returns the groups of rows in the last frame.
    pub(super) fn drawn_groups(&self) -> Vec<Group> {
        let Some(drawn) = &self.drawn else { return Vec::new() };
        let (top_px, bottom_px) = drawn.view.pixels_in_view();
        self.layout.groups_within(top_px, bottom_px)
    }

    /// Shifts these groups of the last frame to the right.
    pub(super) fn shift(&mut self, groups: &[Group], right_px: f32) {
        let Some(drawn) = &mut self.drawn else { return };
        let bands: Vec<_> = groups
            .iter()
            .map(|group| {
                let top = drawn.view.y_on_canvas(group.top_px);
                let height = group.height_px as f32;
                top..top + height
            })
            .collect();
        // Groups are sorted top to bottom.
        let shift_at = |y: f32| {
            let band = bands.get(bands.partition_point(|band| band.end <= y));
            if band.is_some_and(|band| band.contains(&y)) { right_px } else { 0.0 }
        };
        let mut rects = drawn.frame.rects.clone();
        for rect in &mut rects {
            let shift = shift_at(f32::midpoint(rect.y0, rect.y1));
            (rect.x0, rect.x1) = (rect.x0 + shift, rect.x1 + shift);
        }
        let mut labels = drawn.labels.clone();
        labels.iter_mut().for_each(|label| label.x += shift_at(label.y));
        drawn.shifted = Some((Rects::new(&rects, drawn.view.size_px(), drawn.scale, self.layer), labels));
    }

    /// Sets the summaries of folded processes and groups, loaded with `pool`.
    pub(super) fn set_summaries(&mut self, track_summaries: Option<&Arc<TrackSummaries>>, pool: Option<&LoaderPool>) {
        self.summaries = track_summaries.map(|track_summaries| SummaryTiles::new(track_summaries, pool));
        self.drawn = None;
    }

    /// Sets the summaries of the user's groups, loaded with `pool`.
    pub(super) fn set_custom_summaries(
        &mut self,
        track_summaries: Option<&Arc<TrackSummaries>>,
        pool: Option<&LoaderPool>,
    ) {
        self.custom_summaries = track_summaries.map(|track_summaries| SummaryTiles::new(track_summaries, pool));
        self.drawn = None;
    }

    /// Adds the strips of the folded processes and groups in view.
    fn draw_summaries(
        &mut self,
        snapshot: &Snapshot,
        view: &Viewport,
        options: FrameOptions<'_>,
        deadline: Instant,
        frame: &mut TimelineFrame,
    ) {
        let (top_px, bottom_px) = view.pixels_in_view();
        let groups = self.layout.groups_within(top_px, bottom_px);
        let folded: Vec<_> = groups.into_iter().filter(|group| self.layout.is_folded(group.kind)).collect();
        for summaries in self.summaries.iter_mut().chain(&mut self.custom_summaries) {
            summaries.draw(&folded, snapshot, view, options, deadline, frame);
        }
    }
}

impl SummaryTiles {
    fn new(track_summaries: &Arc<TrackSummaries>, pool: Option<&LoaderPool>) -> Self {
        let mut tiles = LiveTiles::default();
        tiles.load_with(Arc::clone(track_summaries) as Arc<dyn TileSource>, pool);
        Self { track_summaries: Arc::clone(track_summaries), tiles }
    }

    /// Adds the strips of the folded headers that this set summarizes.
    fn draw(
        &mut self,
        folded: &[Group],
        snapshot: &Snapshot,
        view: &Viewport,
        options: FrameOptions<'_>,
        deadline: Instant,
        frame: &mut TimelineFrame,
    ) {
        /// Share of a header that is free above and below its strip.
        const FREE_PART: f32 = 0.15;
        let folded = folded.iter().filter_map(|group| {
            let owner = match group.kind {
                GroupKind::Custom(group) => TileOwner::Custom(group),
                GroupKind::Process(process) => TileOwner::Process(process),
                GroupKind::Tracks(lead) => TileOwner::Tracks(lead),
                GroupKind::Track(_) => return None,
            };
            self.track_summaries.has(owner).then_some((group, owner))
        });
        let folded: Vec<_> = folded.collect();
        let owners: Vec<_> = folded.iter().map(|&(_, owner)| (owner, LaneKind::Spans)).collect();
        if owners.is_empty() {
            return;
        }
        let buckets = view.buckets();
        let query = FrameQuery { view, buckets, owners: &owners, deadline };
        let _pause = self.tiles.prepare(&*self.track_summaries, query);
        let tiles = self.tiles.cached();
        frame.pending += tiles.pending();
        let mut cells = Vec::new();
        let lit = options.lit.map(|spans| Lighting { spans, snapshot });
        let FrameOptions { palette, filtered, .. } = options;
        let colors = StripColors { names: snapshot.names(), palette, filtered, lit };
        for (group, owner) in folded {
            tiles.spans(owner, buckets, &mut cells);
            let y0 = view.y_on_canvas(group.top_px);
            let height = group.height_px as f32;
            let free = (height * FREE_PART).round();
            let band = SummaryBand { y0: y0 + free, y1: y0 + height - free, column_px: frame.column_px };
            let summary = (owner, &*self.track_summaries);
            summary_strip::rects(view, (buckets, &cells), band, summary, colors, &mut frame.rects);
        }
    }
}

impl ShownPane<'_> {
    /// Returns a band of the canvas, given its distance from the top of all rows.
    pub(super) fn band(&self, top_px: u64, height_px: u32) -> Rect {
        band(self.canvas, self.scale, self.view.y_on_canvas(top_px), height_px)
    }

    /// Returns the distance of a height in the window from the top of all rows.
    pub(super) fn y_px_at(&self, y: f32) -> u64 {
        let (top_px, _) = self.view.pixels_in_view();
        let below_top_px = ((y - self.canvas.top()).max(0.0) * self.scale) as u64;
        top_px + below_top_px
    }

    pub(super) fn groups(&self) -> Vec<Group> {
        let (top_px, bottom_px) = self.view.pixels_in_view();
        self.pane.layout.groups_within(top_px, bottom_px)
    }

    /// Converts a time to x in points of the window, on the pixel of a span's edge; clamped far outside the canvas.
    pub(super) fn x_of(&self, ts_ns: i64) -> f32 {
        /// Distance outside the canvas at which an outline is invisible.
        const REACH_PX: f64 = 10.0;
        let x_px = self.view.x_from_time(ts_ns).clamp(-REACH_PX, self.view.width_px() + REACH_PX);
        self.canvas.left() + x_px.round() as f32 / self.scale
    }

    /// Paints the background of the rows.
    pub(super) fn paint_ground(&self, ui: &Ui, snapshot: &Snapshot, theme: &Theme) {
        let painter = ui.painter_at(self.canvas);
        let groups = self.groups();
        for (index, group) in groups.iter().enumerate() {
            let rect = self.band(group.top_px, group.height_px);
            match group.kind {
                GroupKind::Custom(_) | GroupKind::Process(_) => {
                    painter.rect_filled(rect, 0.0, theme.header);
                }
                GroupKind::Track(_) if continues_thread(snapshot, &groups, index + 1) => {}
                GroupKind::Tracks(_) | GroupKind::Track(_) => {
                    painter.hline(rect.x_range(), rect.bottom() - 0.5, Stroke::new(1.0, theme.grid));
                }
            }
        }
    }

    /// Paints the spans without their names.
    pub(super) fn paint_spans(&self, ui: &Ui) {
        let Some(drawn) = &self.pane.drawn else { return };
        let rects = drawn.shifted.as_ref().map_or(&drawn.rects, |(rects, _)| rects);
        ui.painter_at(self.canvas).add(rects.shape(self.canvas));
    }

    /// Paints the names on spans, above the veil over what is outside the selected time and the tracks for which
    /// `has_track` returns true.
    pub(super) fn paint_names(
        &self,
        ui: &Ui,
        palette: &Palette,
        range: TimeRange,
        has_track: impl Fn(TrackIdx) -> bool,
    ) {
        let inside = range.map(|(from_ns, to_ns)| self.x_of(from_ns)..=self.x_of(to_ns));
        let canvas = self.canvas.x_range();
        let [left, inside, right] = inside.map_or([Rangef::NOTHING, canvas, Rangef::NOTHING], |inside| {
            let (from, to) = inside.into_inner();
            [Rangef::new(canvas.min, from), Rangef::new(from, to), Rangef::new(to, canvas.max)]
        });
        let Some(drawn) = &self.pane.drawn else { return };
        let labels = drawn.shifted.as_ref().map_or(&drawn.labels, |(_, labels)| labels);
        for (label, galley) in labels.iter().zip(drawn.galleys.all()) {
            let at = self.canvas.min + vec2(label.x, label.y) / self.scale;
            let rect = Align2::LEFT_CENTER.anchor_size(at, galley.size());
            let is_in_tracks = has_track(label.track);
            // A name may extend beyond the time of the scope.
            for (part, is_in_scope) in [(left, false), (inside, is_in_tracks), (right, false)] {
                if part.intersects(rect.x_range()) {
                    let color = if is_in_scope { label.color } else { palette.veiled_text(label.fill, label.color) };
                    let color = color32(color);
                    let clip = Rect::from_x_y_ranges(part, self.canvas.y_range()).intersect(self.canvas);
                    ui.painter_at(clip).galley(rect.min, Arc::clone(galley), color);
                }
            }
        }
    }

    /// Paints an outline around a row that is drawn in a lane, if the lane is in this pane.
    pub(super) fn paint_outline(&self, ui: &Ui, snapshot: &Snapshot, drawn: (RowIdx, LaneIdx), stroke: Stroke) {
        let Some(outline) = self.outline(snapshot, drawn) else { return };
        ui.painter_at(self.canvas).rect_stroke(outline, 2.0, stroke, StrokeKind::Outside);
    }

    /// Returns the rectangle of a row that is drawn in a lane, if the lane is in view here; it may extend beyond the
    /// canvas in time.
    pub(super) fn outline(&self, snapshot: &Snapshot, (row, lane): (RowIdx, LaneIdx)) -> Option<Rect> {
        let layout_row = self.pane.layout.row_of(lane, snapshot.lane(lane).track)?;
        let left = self.x_of(snapshot.row(row).start_ns);
        let right = self.x_of(drawn_until_ns(snapshot, row)).max(left + 1.0 / self.scale);
        let lane = self.band(layout_row.top_px, layout_row.height_px);
        let gap = self.scale.round().max(1.0) / self.scale;
        let outline = Rect::from_min_max(pos2(left, lane.top()), pos2(right, lane.bottom() - gap));
        // The outline of an instant is as wide as its diamond.
        let is_point = matches!(layout_row.kind, LaneKind::Instants | LaneKind::Samples);
        let outline = if is_point { outline.expand2(vec2(lane.height() / 2.0, 0.0)) } else { outline };
        outline.y_range().intersects(self.canvas.y_range()).then_some(outline)
    }
}

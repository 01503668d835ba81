//! The canvas with its ruler and its gutter: holds what is in view, what is folded and what is selected. Asks the capture
//! only through frames and picks, whose work is bounded by pixels.

use std::sync::Arc;
use std::time::Instant;

use egui::{Key, Pos2, Rect, Sense, Stroke, Ui, Vec2};

use super::canvas_menu::Clicked;
use super::file_offset_drag::Moving;
use super::input::Drag;
use super::layout::{GUTTER_PART_MAX, TimelineLayout};
use super::pane::{Pane, ShownPane};
use super::ruler::PointerTime;
use super::{
    bookmarks, canvas_menu, filter_field, flow_curves, gutter, input, minimap, range, ruler, scroll_bar, unsorted,
};
use crate::base::time::{duration_text, seconds_text};
use crate::frame::filtered::{Asked, Filtered};
use crate::frame::{FrameOptions, RectBudget};
use crate::model::{ProcessIdx, TrackIdx};
use crate::query::flow_chain::FlowChain;
use crate::query::matcher::Matcher;
use crate::query::search::Hits;
use crate::query::{Snapshot, pick as query_pick};
use crate::render::rects::Layer;
use crate::scene::arrange::Arrangement;
use crate::scene::bookmarks::Bookmarks;
use crate::scene::color::Shade;
use crate::scene::counters::value_text;
use crate::scene::labels::shown;
use crate::scene::minimap::Grip;
use crate::scene::motion::{Flight, Glide, History};
use crate::scene::palette::{Colors, Palette};
use crate::scene::pick::{Picked, pick};
use crate::scene::rows::{Density, GroupKind};
use crate::scene::titles::{process_title, track_title};
use crate::scene::viewport::Viewport;
use crate::store::lane::{LaneIdx, LaneKind, RowIdx};
use crate::tiles::loader::{FRAME_PATIENCE, LoaderPool};
use crate::tiles::trace_summary::TraceSummary;
use crate::ui::command::{Command, TimelineCommand};
use crate::ui::settings::{Navigation, RulerOrigin};
use crate::ui::theme::Theme;

/// The width of the gutter at first, in points.
const GUTTER_POINTS: f32 = 230.0;

/// As many as answer for the few strips in view, on the cores that are left.
const STRIP_WORKERS: usize = 2;

/// The timeline of one capture.
pub struct Timeline {
    pub(super) snapshot: Snapshot,
    /// The slice of time in view, over the rows that scroll.
    pub(super) view: Viewport,
    /// The rows that scroll.
    pub(super) rows: Pane,
    /// The rows that stay at the top.
    pub(super) pinned: Pane,
    pub(super) pinned_scroll_px: f64,
    pub(super) arrangement: Arrangement,
    pub(super) density: Density,
    pub(super) selected: Option<RowIdx>,
    pub(super) hovered: Option<RowIdx>,
    /// Who asks for what frames show; without them, frames wait.
    workers: Option<LoaderPool>,
    /// Who asks for the strips of folded processes.
    strip_workers: Option<LoaderPool>,
    /// What is known of the capture as a whole, once it was looked at.
    pub(super) survey: Option<Arc<TraceSummary>>,
    /// Counts what was asked to be arranged, so that only the last comes to be shown.
    pub(super) arranging: u64,
    pub(super) awaits_rows: bool,
    /// What was folded while rows are laid out anew.
    pub(super) folded_meanwhile: Vec<GroupKind>,
    /// To be scrolled to when rows are laid out.
    pub(super) to_reveal: Option<RowIdx>,
    /// To be scrolled to when rows are laid out, as a part of their height.
    pub(super) to_scroll: Option<f64>,
    /// The slice of time to be shown when the width of the canvas is known.
    pub(super) to_show: Option<(i64, i64)>,
    pub(super) focuses_filter: bool,
    pub(super) navigation: Navigation,
    pub(super) flight: Option<Flight>,
    pub(super) glide: Option<Glide>,
    pub(super) history: History,
    /// The time of the frame.
    pub(super) now_s: f64,
    pub(super) drag: Drag,
    /// Where the hand that drags was in the last moments: two places tell its speed, however slow the frames are.
    pub(super) hand: egui::util::History<Pos2>,
    /// The keys that move the view as long as they are held.
    pub(super) held: Vec<Key>,
    /// What of the map the hand has taken hold of.
    pub(super) map_grip: Option<Grip>,
    /// The file that a hand moves through time.
    pub(super) moving: Option<Moving>,
    /// What was under the pointer when the right button was pressed.
    pub(super) clicked: Option<Clicked>,
    /// The slice of time that is selected.
    pub(super) range: Option<(i64, i64)>,
    pub(super) marks: Bookmarks,
    pub(super) ruler_origin: RulerOrigin,
    /// The flows of a row.
    pub(super) flows: Option<(RowIdx, Arc<FlowChain>)>,
    /// Where the pointer is on the rows.
    pub(super) pointer_x_px: Option<f64>,
    colors: Colors,
    pub(super) shade: Shade,
    palette: Palette,
    scale: f32,
    /// The size that it was shown with last, in points.
    pub(super) size_points: Vec2,
    pub(super) gutter_points: f32,
    pub(super) budget: RectBudget,
    /// What is shown in full colour, while the rest is dimmed.
    pub(super) filtered: Option<Arc<Filtered>>,
    /// What a search has found, for the map.
    pub(super) hits: Option<Hits>,
}

impl Timeline {
    /// A timeline that shows the whole of a capture.
    #[must_use]
    pub fn new(snapshot: Snapshot, budget: RectBudget, theme: &Theme, navigation: Navigation) -> Self {
        // Where the system gives no threads, frames wait.
        Self::with_workers(snapshot, budget, theme.shade, navigation, LoaderPool::start_for_window().ok())
    }

    /// The same with those who ask for what frames show.
    pub(super) fn with_workers(
        snapshot: Snapshot,
        budget: RectBudget,
        shade: Shade,
        navigation: Navigation,
        workers: Option<LoaderPool>,
    ) -> Self {
        let view = Viewport::of_capture(snapshot.start_ns(), snapshot.end_ns(), 1000.0, 600.0);
        let pane = |layer| {
            let mut pane = Pane::new(layer);
            pane.load_with(&snapshot, workers.as_ref());
            pane
        };
        Self {
            rows: pane(Layer::Rows),
            pinned: pane(Layer::Pinned),
            workers,
            strip_workers: None,
            snapshot,
            view,
            pinned_scroll_px: 0.0,
            arrangement: Arrangement::default(),
            density: Density::default(),
            selected: None,
            hovered: None,
            survey: None,
            arranging: 0,
            awaits_rows: false,
            folded_meanwhile: Vec::new(),
            to_reveal: None,
            to_scroll: None,
            to_show: None,
            focuses_filter: false,
            navigation,
            flight: None,
            glide: None,
            history: History::default(),
            now_s: 0.0,
            drag: Drag::Move,
            hand: egui::util::History::new(2..100, 0.1),
            held: Vec::new(),
            map_grip: None,
            moving: None,
            clicked: None,
            range: None,
            marks: Bookmarks::default(),
            ruler_origin: RulerOrigin::default(),
            flows: None,
            pointer_x_px: None,
            colors: Colors::default(),
            shade,
            palette: Palette::new(shade),
            // Not a scale of any screen: the first frame lays out.
            scale: 0.0,
            size_points: Vec2::ZERO,
            gutter_points: GUTTER_POINTS,
            budget,
            filtered: None,
            hits: None,
        }
    }

    /// The same view of a later look at the same capture, of which more is sorted now. What was drawn stays until it is drawn
    /// anew, and what was selected stays selected.
    #[must_use]
    pub(crate) fn with_more(self, snapshot: Snapshot) -> Self {
        let mut view = self.view;
        view.set_capture(snapshot.start_ns(), snapshot.end_ns());
        let earlier = self.snapshot.clone();
        let selected = self.selected.and_then(|row| snapshot.row_since(&earlier, row));
        let mut more = Self {
            snapshot,
            view,
            selected,
            hovered: None,
            moving: None,
            clicked: None,
            survey: None,
            filtered: None,
            hits: None,
            flows: None,
            ..self
        };
        more.rows.take_more(&earlier, &more.snapshot, more.workers.as_ref());
        more.pinned.take_more(&earlier, &more.snapshot, more.workers.as_ref());
        more.lay_out();
        more
    }

    /// Forgets the answers of past frames, which are asked again: nothing of it is shown for a while.
    pub(crate) fn rest(&mut self) {
        self.rows.rest();
        self.pinned.rest();
    }

    /// From now on frames wait for all that they show, however long it takes: for pictures.
    pub(crate) fn wait_for_all(&mut self) {
        self.workers = None;
        self.rows.load_with(&self.snapshot, None);
        self.pinned.load_with(&self.snapshot, None);
    }

    /// Shows what a search has found in full colour and marks it on the map, and dims the rest; `None`: shows everything.
    pub(crate) fn set_hits(&mut self, hits: Option<&Hits>) {
        self.hits = hits.cloned();
        self.set_filtered(hits.map(|hits| Arc::new(Filtered::new(Arc::new(hits.matcher().clone())))));
    }

    fn set_filtered(&mut self, filtered: Option<Arc<Filtered>>) {
        self.filtered = filtered;
        self.rows.redraw();
        self.pinned.redraw();
    }

    /// Shows what matches the filter, if it is still the same.
    pub(crate) fn set_matching(&mut self, matching: &Arc<Filtered>) {
        if self.filtered.as_ref().is_some_and(|known| Arc::ptr_eq(known.matcher(), matching.matcher())) {
            self.set_filtered(Some(Arc::clone(matching)));
        }
    }

    /// The filter, and what is in view of which it does not know yet what matches.
    #[must_use]
    pub(crate) fn unfiltered(&self) -> Option<(Arc<Matcher>, Asked)> {
        let filtered = self.filtered.as_ref()?;
        let asked = Asked::of(&self.rows.layout, &self.view);
        (!filtered.answers(&asked)).then(|| (Arc::clone(filtered.matcher()), asked))
    }

    /// The capture that is shown.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The slice of time in view.
    #[must_use]
    pub fn view(&self) -> &Viewport {
        &self.view
    }

    /// The selected row.
    #[must_use]
    pub(crate) fn selected(&self) -> Option<RowIdx> {
        self.selected
    }

    /// The slice of time that is selected.
    #[must_use]
    pub fn range(&self) -> Option<(i64, i64)> {
        self.range
    }

    /// Takes the height of rows, before they are laid out.
    pub(crate) fn set_density(&mut self, density: Density) {
        self.density = density;
    }

    /// How rows are arranged.
    #[must_use]
    pub(crate) fn arrangement(&self) -> &Arrangement {
        &self.arrangement
    }

    /// The last frame, for measurements.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn last_frame(&self) -> Option<&crate::frame::Frame> {
        self.rows.last_frame()
    }

    /// Takes another theme's colours.
    pub(crate) fn set_theme(&mut self, theme: &Theme) {
        self.shade = theme.shade;
        self.set_colors(self.colors);
    }

    /// Takes other colours of spans.
    pub(crate) fn set_colors(&mut self, colors: Colors) {
        self.colors = colors;
        self.palette = Palette::of(colors, self.shade);
        self.redraw();
    }

    /// How spans are coloured.
    #[must_use]
    pub(crate) fn colors(&self) -> Colors {
        self.colors
    }

    /// The colours of spans.
    #[must_use]
    pub(crate) fn palette(&self) -> &Palette {
        &self.palette
    }

    /// Takes another bound on the rectangles of a frame, when another card draws.
    pub(crate) fn set_budget(&mut self, budget: RectBudget) {
        self.budget = budget;
        self.redraw();
    }

    /// Takes what was found out about the capture as a whole.
    pub(crate) fn set_survey(&mut self, survey: Arc<TraceSummary>) {
        // Threads of their own: a question about many lanes must not hold up those about the rows.
        let mut strip_workers = self.strip_workers.take();
        if self.workers.is_some() && strip_workers.is_none() {
            strip_workers = LoaderPool::start(STRIP_WORKERS).ok();
        }
        self.strip_workers = strip_workers;
        self.rows.set_processes(survey.processes.as_ref(), self.strip_workers.as_ref());
        self.survey = Some(survey);
    }

    /// Takes the flows of a row, to be drawn while it is selected.
    pub(crate) fn set_flows(&mut self, row: RowIdx, flows: Arc<FlowChain>) {
        self.flows = Some((row, flows));
    }

    /// Selects a row, or none.
    pub(crate) fn select(&mut self, row: Option<RowIdx>) {
        self.selected = row;
    }

    /// Shows the timeline in all of the space that is left, and takes input.
    pub(crate) fn show(&mut self, ui: &mut Ui, theme: &Theme) -> Vec<Command> {
        let mut commands = Vec::new();
        let layout = TimelineLayout::new(ui, self.gutter_points, self.pinned.layout.height_px());
        self.size_points = layout.all.size();
        self.fit(&layout);
        let response = ui.interact(layout.rows(), ui.scope_id().with("canvas"), Sense::click_and_drag());
        let gutter_response = ui.interact(layout.names(), ui.scope_id().with("gutter"), Sense::click_and_drag());
        gutter_response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Group, true, "Names of the tracks"));
        self.advance(ui);
        self.pointer_x_px =
            response.hover_pos().map(|at| f64::from(at.x - layout.canvas.left()) * f64::from(self.scale));
        input::pointer(self, ui, &layout, &response, &gutter_response, &mut commands);
        input::held_keys(self, ui);
        self.resize_gutter(ui, &layout);
        self.draw(ui, &layout);
        let pointer = ruler::pointer_time(self, ui, &layout, theme, response.hover_pos());
        let flags = bookmarks::flags(self, ui, &layout);
        let length = range::length(self, ui, &layout, theme).map(|length| length.place);
        let covered = flags.iter().map(|flag| flag.place).chain(pointer.as_ref().map(|pointer| pointer.place));
        let covered = covered.chain(length);
        self.paint(ui, &layout, theme, &covered.collect::<Vec<_>>(), pointer.as_ref());
        unsorted::paint(self, ui, &layout, theme);
        commands.extend(range::show(self, ui, &layout, theme));
        flow_curves::paint(self, ui, &layout, theme);
        commands.extend(bookmarks::show(self, &flags, ui, &layout, theme));
        if let Some(pointer) = &pointer {
            pointer.paint(ui, &layout, theme);
        }
        self.paint_moving(ui, &layout, theme);
        drop(flags);
        minimap::show(self, ui, &layout, theme);
        commands.extend(
            gutter::show(self, ui, &layout, theme)
                .into_iter()
                .map(|chosen| Command::Timeline(TimelineCommand::Rows(chosen))),
        );
        scroll_bar::show(self, ui, &layout, theme);
        filter_field::show(self, ui, layout.tools, theme, &mut commands);
        canvas_menu::show(self, &layout, &response, theme, &mut commands);
        self.show_hover(&response, &layout, theme, ui);
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Canvas, true, self.summary()));
        commands
    }

    /// The timeline in words, for those who cannot see it.
    #[must_use]
    pub(crate) fn summary(&self) -> String {
        let origin_ns = self.snapshot.start_ns();
        let from = seconds_text(self.view.start_ns().saturating_sub(origin_ns));
        let to = seconds_text(self.view.end_ns().saturating_sub(origin_ns));
        let tracks = self.snapshot.display_order().len();
        let selected = match self.selected {
            Some(row) => {
                let span = self.snapshot.row(row);
                let name = shown(self.snapshot.names().get(span.name).text).into_owned();
                format!("Selected: {name}, {}, at {} s.", duration_text(span.dur_ns), {
                    seconds_text(span.start_ns.saturating_sub(origin_ns))
                })
            }
            None => "Nothing selected.".to_owned(),
        };
        format!("Timeline of {tracks} tracks, {from} s to {to} s in view. {selected}")
    }

    /// The name of a process as it is shown: never empty.
    pub(super) fn process_text(&self, process: ProcessIdx) -> String {
        self.snapshot.tracks().processes.get(process.index()).map(process_title).unwrap_or_default()
    }

    /// The name of a track and its id as they are shown; the name is never empty.
    pub(super) fn track_text(&self, track: TrackIdx) -> (String, String) {
        let (title, beside) = track_title(self.snapshot.track(track));
        match self.counter_range(track) {
            Some((min, max)) => (title, format!("{} to {}", value_text(min), value_text(max))),
            None => (title, beside),
        }
    }

    /// The least and the largest value of a counter, once it was drawn.
    fn counter_range(&self, track: TrackIdx) -> Option<(f64, f64)> {
        let mut lanes = self.snapshot.lanes_of(track).map(LaneIdx);
        let lane = lanes.find(|&lane| self.snapshot.lane(lane).kind == LaneKind::Counter)?;
        Some(self.rows.counter_range(lane))
    }

    /// Both canvases as they are shown: that of the rows which stay at the top, and that of those which scroll.
    pub(super) fn panes(&self, layout: &TimelineLayout) -> [ShownPane<'_>; 2] {
        let scale = self.scale;
        let pinned = self.pinned_view(layout);
        [
            ShownPane { pane: &self.pinned, view: pinned, canvas: layout.pinned, gutter: layout.pinned_gutter, scale },
            ShownPane { pane: &self.rows, view: self.view, canvas: layout.canvas, gutter: layout.gutter, scale },
        ]
    }

    /// What is under a point of the window.
    pub(super) fn picked(&self, layout: &TimelineLayout, at: Pos2) -> Picked {
        let [pinned, rows] = self.panes(layout);
        let shown = if layout.pinned.contains(at) { pinned } else { rows };
        let at_px = (at - shown.canvas.min) * self.scale;
        pick(&shown.pane.layout, &shown.view, f64::from(at_px.x), f64::from(at_px.y))
    }

    /// The time at a point of the window.
    pub(super) fn time_at(&self, layout: &TimelineLayout, at: Pos2) -> i64 {
        self.view.time_from_x(f64::from((at.x - layout.canvas.left()) * self.scale))
    }

    /// The row under a point of the window.
    pub(super) fn row_under(&self, layout: &TimelineLayout, at: Pos2) -> Option<RowIdx> {
        let picked = self.picked(layout, at);
        let lane = picked.lane.filter(|lane| lane.kind != LaneKind::Counter)?;
        query_pick::row_at(&self.snapshot, lane.lane, picked.ts_ns, picked.tolerance_ns)
    }

    pub(super) fn scale(&self) -> f32 {
        // Before the first frame no screen is known.
        if self.scale > 0.0 { self.scale } else { 1.0 }
    }

    /// Lays out at once, also where that takes longer than a frame: there are no rows to show meanwhile.
    fn lay_out(&mut self) {
        if let Some(job) = self.arrange() {
            self.take(job.run());
        }
    }

    pub(super) fn redraw(&mut self) {
        self.rows.redraw();
        self.pinned.redraw();
    }

    /// The view over the rows that stay at the top.
    pub(super) fn pinned_view(&self, layout: &TimelineLayout) -> Viewport {
        let height_px = f64::from((layout.pinned.height() * layout.scale).round());
        #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
        let content_px = self.pinned.layout.height_px() as f64;
        self.view.over_rows(height_px, self.pinned_scroll_px, content_px)
    }

    /// Takes the size of the canvas and the scale of the screen.
    fn fit(&mut self, layout: &TimelineLayout) {
        let size_px = layout.canvas.size() * layout.scale;
        let (width_px, height_px) = (f64::from(size_px.x).round(), f64::from(size_px.y).round());
        #[expect(clippy::float_cmp, reason = "the same scale gives the same bits")]
        if self.scale != layout.scale {
            self.scale = layout.scale;
            self.lay_out();
        }
        if (self.view.width_px(), self.view.height_px()) != (width_px, height_px) {
            let (_, end_px_before) = self.view.pixels_in_view();
            self.view.resize(width_px, height_px);
            self.scroll(0.0);
            self.keep_selected_in_view(end_px_before);
        }
        if let Some((start_ns, end_ns)) = self.to_show.take() {
            self.view.show_exactly(start_ns, end_ns);
        }
    }

    fn draw(&mut self, ui: &Ui, layout: &TimelineLayout) {
        let deadline = Instant::now() + FRAME_PATIENCE;
        let filtered = self.filtered.as_deref();
        let options = FrameOptions { palette: &self.palette, rects: self.budget, scale: self.scale, filtered };
        let mut is_late = false;
        if layout.pinned.height() > 0.0 {
            let view = self.pinned_view(layout);
            is_late |= self.pinned.draw(ui, &self.snapshot, &view, options, deadline);
        }
        is_late |= self.rows.draw(ui, &self.snapshot, &self.view, options, deadline);
        if is_late {
            ui.ctx().request_repaint();
        }
        self.shift_moving();
    }

    fn paint(&self, ui: &Ui, layout: &TimelineLayout, theme: &Theme, covered: &[Rect], pointer: Option<&PointerTime>) {
        let painter = ui.painter_at(layout.all);
        painter.rect_filled(layout.all, 0.0, theme.canvas);
        painter.rect_filled(layout.gutter.union(layout.tools), 0.0, theme.gutter);
        painter.rect_filled(layout.ruler, 0.0, theme.gutter);
        ruler::paint(self, ui, layout, theme, covered);
        if let Some(pointer) = pointer {
            pointer.paint_line(ui, layout, theme);
        }
        for shown in self.panes(layout) {
            if shown.canvas.height() <= 0.0 {
                continue;
            }
            shown.paint_ground(ui, theme);
            shown.paint_spans(ui);
            if let Some(row) = self.hovered.filter(|hovered| Some(*hovered) != self.selected) {
                shown.paint_outline(ui, &self.snapshot, row, Stroke::new(1.0, theme.hover));
            }
            if let Some(row) = self.selected {
                shown.paint_outline(ui, &self.snapshot, row, Stroke::new(2.0, theme.selection));
            }
        }
        painter.vline(layout.gutter.right(), layout.all.y_range(), Stroke::new(1.0, theme.line));
        painter.hline(layout.all.x_range(), layout.ruler.bottom(), Stroke::new(1.0, theme.line));
        if layout.pinned.height() > 0.0 {
            painter.hline(layout.all.x_range(), layout.canvas.top(), Stroke::new(2.0, theme.line));
        }
    }

    fn resize_gutter(&mut self, ui: &Ui, layout: &TimelineLayout) {
        let edge =
            Rect::from_x_y_ranges(layout.gutter.right() - 3.0..=layout.gutter.right() + 3.0, layout.all.y_range());
        let response = ui.interact(edge, ui.scope_id().with("gutter edge"), Sense::drag());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Splitter, true, "Width of the track names"));
        if response.hovered() || response.dragged() {
            ui.ctx().set_cursor_icon(egui::CursorIcon::ResizeHorizontal);
        }
        if response.dragged() {
            let most = layout.all.width() * GUTTER_PART_MAX;
            let wanted = layout.gutter.width() + response.drag_delta().x;
            self.gutter_points = wanted.clamp(80.0_f32.min(most), most.max(80.0));
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "pixels near the canvas are exact in an f32")]
pub(super) fn as_f32(px: f64) -> f32 {
    px as f32
}

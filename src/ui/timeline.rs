//! The canvas with its ruler and its gutter: holds what is in view, what is folded and what is selected. Asks the capture
//! only through frames and picks, whose work is bounded by pixels.

use egui::{Align2, FontId, Pos2, Rect, Sense, Stroke, StrokeKind, Ui, pos2, vec2};

use super::places::Places;
use super::span_names::{SpanName, span_names};
use super::theme::{LABEL_POINTS, Theme};
use super::{Command, gutter, input, ruler_bar, scroll_bar, unsorted};
use crate::base::time::{duration_text, seconds_text};
use crate::model::{ProcessIdx, TrackIdx, TrackKind};
use crate::query::{Snapshot, pick as query_pick};
use crate::render::Rects;
use crate::scene::color::Palette;
use crate::scene::counters::value_text;
use crate::scene::frame::{self, Frame, FrameOptions, RectBudget};
use crate::scene::labels::shown;
use crate::scene::pick::{Picked, pick};
use crate::scene::rows::{Folded, GroupKind, RowHeights, RowLayout, TrackRows};
use crate::scene::tiles::Tiles;
use crate::scene::viewport::Viewport;
use crate::store::lane::{LaneIdx, LaneKind, RowIdx};

/// The width of the gutter at first, in points.
const GUTTER_POINTS: f32 = 230.0;

/// The timeline of one capture.
pub struct Timeline {
    pub(super) snapshot: Snapshot,
    pub(super) view: Viewport,
    pub(super) layout: RowLayout,
    pub(super) selected: Option<RowIdx>,
    folded: Folded,
    tiles: Tiles,
    palette: Palette,
    scale: f32,
    gutter_points: f32,
    drawn: Option<Drawn>,
    pub(super) hovered: Option<RowIdx>,
    budget: RectBudget,
}

/// The last frame, kept while nothing of what it shows changes.
struct Drawn {
    view: Viewport,
    frame: Frame,
    rects: Rects,
    /// The names on spans, cut to fit; made when they are first painted.
    labels: Option<Vec<SpanName>>,
}

impl Timeline {
    /// A timeline that shows the whole of a capture.
    #[must_use]
    pub fn new(snapshot: Snapshot, budget: RectBudget, theme: &Theme) -> Self {
        let view = Viewport::of_capture(snapshot.start_ns(), snapshot.end_ns(), 1000.0, 600.0);
        Self {
            snapshot,
            view,
            layout: RowLayout::default(),
            selected: None,
            folded: Folded::default(),
            tiles: Tiles::default(),
            palette: Palette::new(theme.shade),
            // Not a scale of any screen: the first frame lays out.
            scale: 0.0,
            gutter_points: GUTTER_POINTS,
            drawn: None,
            hovered: None,
            budget,
        }
    }

    /// The same view of a later look at the same capture, of which more is sorted now.
    ///
    /// Nothing stays selected: rows that were sorted meanwhile may stand before it.
    #[must_use]
    pub fn with_more(self, snapshot: Snapshot) -> Self {
        let mut view = self.view;
        view.set_capture(snapshot.start_ns(), snapshot.end_ns());
        let mut more = Self { snapshot, view, selected: None, hovered: None, tiles: Tiles::default(), ..self };
        more.lay_out();
        more
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
    pub fn selected(&self) -> Option<RowIdx> {
        self.selected
    }

    /// The last frame, for measurements.
    #[must_use]
    pub fn last_frame(&self) -> Option<&Frame> {
        self.drawn.as_ref().map(|drawn| &drawn.frame)
    }

    /// Takes another theme's colours.
    pub fn set_theme(&mut self, theme: &Theme) {
        self.palette = Palette::new(theme.shade);
        self.drawn = None;
    }

    /// Takes another bound on the rectangles of a frame, when another card draws.
    pub fn set_budget(&mut self, budget: RectBudget) {
        self.budget = budget;
        self.drawn = None;
    }

    /// Selects a row, or none.
    pub fn select(&mut self, row: Option<RowIdx>) {
        self.selected = row;
    }

    /// Selects a row, unfolds what hides it, and brings it into view.
    pub fn reveal(&mut self, row: RowIdx) {
        self.selected = Some(row);
        let span = self.snapshot.row(row);
        let info = self.snapshot.lane(row.lane);
        let process = self.snapshot.track(info.track).process;
        if self.folded.processes.remove(&process) | self.folded.tracks.remove(&info.track) {
            self.lay_out();
        }
        self.view.reveal(span.start_ns, span.end_ns());
        if let Some(place) = self.layout.row_of(row.lane, info.track) {
            self.scroll_into_view(place.top_px, place.height_px);
        }
    }

    /// Fills the view with the selected span.
    pub fn show_selection(&mut self) {
        if let Some(row) = self.selected {
            let span = self.snapshot.row(row);
            self.view.show_range(span.start_ns, span.end_ns());
            self.reveal(row);
        }
    }

    /// Shows the whole capture.
    pub fn show_all(&mut self) {
        self.view.show_all();
    }

    /// Shows exactly `[start_ns, end_ns)`.
    pub fn show_exactly(&mut self, start_ns: i64, end_ns: i64) {
        self.view.show_exactly(start_ns, end_ns);
    }

    /// Brings a time into view.
    pub fn show_time(&mut self, ts_ns: i64) {
        self.view.reveal(ts_ns, ts_ns);
    }

    /// Zooms around the middle.
    pub fn zoom(&mut self, factor: f64) {
        self.view.zoom(factor, self.view.width_px() / 2.0);
    }

    /// Folds or unfolds all processes.
    pub fn fold_all(&mut self, folded: bool) {
        self.folded = Folded::default();
        if folded {
            let processes = 0..u32::try_from(self.snapshot.tracks().processes.len()).unwrap_or(u32::MAX);
            self.folded.processes = processes.map(ProcessIdx).collect();
        }
        self.lay_out();
    }

    /// Shows the timeline in all of the space that is left, and takes input.
    pub fn show(&mut self, ui: &mut Ui, theme: &Theme) -> Vec<Command> {
        let mut commands = Vec::new();
        let places = Places::new(ui, self.gutter_points);
        self.fit(&places);
        let response = ui.interact(places.canvas, ui.scope_id().with("canvas"), Sense::click_and_drag());
        let gutter_response = ui.interact(places.gutter, ui.scope_id().with("gutter"), Sense::click_and_drag());
        input::pointer(self, ui, &places, &response, &gutter_response, &mut commands);
        input::keys(self, ui, &mut commands);
        self.resize_gutter(ui, &places);
        self.draw();

        let painter = ui.painter_at(places.all);
        painter.rect_filled(places.all, 0.0, theme.canvas);
        painter.rect_filled(places.gutter.union(places.corner), 0.0, theme.gutter);
        painter.rect_filled(places.ruler, 0.0, theme.gutter);
        ruler_bar::paint(self, ui, &places, theme, response.hover_pos());
        self.paint_canvas(ui, &places, theme);
        unsorted::paint(self, ui, &places, theme);
        let toggled = gutter::show(self, ui, &places, theme);
        scroll_bar::show(self, ui, &places, theme);
        painter.vline(places.gutter.right(), places.all.y_range(), Stroke::new(1.0, theme.line));
        painter.hline(places.all.x_range(), places.ruler.bottom(), Stroke::new(1.0, theme.line));
        if let Some(kind) = toggled {
            self.toggle(kind);
        }
        self.show_hover(&response, &places, theme, ui);
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Canvas, true, self.summary()));
        commands
    }

    /// The timeline in words, for those who cannot see it.
    #[must_use]
    pub fn summary(&self) -> String {
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
        let Some(known) = self.snapshot.tracks().processes.get(process.index()) else { return String::new() };
        let pid = known.pid.to_string();
        let text = match (known.name.is_empty(), pid.is_empty()) {
            (false, false) => format!("{} {pid}", known.name),
            (false, true) => known.name.to_string(),
            (true, false) => format!("Process {pid}"),
            (true, true) => "Whole capture".to_owned(),
        };
        shown(&text).into_owned()
    }

    /// The name of a track and its id as they are shown; the name is never empty.
    pub(super) fn track_text(&self, track: TrackIdx) -> (String, String) {
        let known = self.snapshot.track(track);
        let tid = known.key.tid.to_string();
        let text = match (known.name.is_empty(), tid.is_empty()) {
            (false, _) => known.name.to_string(),
            (true, false) => format!("Thread {tid}"),
            (true, true) => "Events".to_owned(),
        };
        let beside = match self.counter_range(track) {
            Some((min, max)) => format!("{} to {}", value_text(min), value_text(max)),
            None if known.name.is_empty() || known.key.kind == TrackKind::Cpu => String::new(),
            None if known.key.kind == TrackKind::State => format!("{tid} state"),
            None => tid,
        };
        (shown(&text).into_owned(), shown(&beside).into_owned())
    }

    /// The least and the largest value of a counter, once it was drawn.
    fn counter_range(&self, track: TrackIdx) -> Option<(f64, f64)> {
        let mut lanes = self.snapshot.lanes_of(track).map(LaneIdx);
        let lane = lanes.find(|&lane| self.snapshot.lane(lane).kind == LaneKind::Counter)?;
        Some(self.tiles.counter_range(lane))
    }

    pub(super) fn is_folded(&self, kind: GroupKind) -> bool {
        match kind {
            GroupKind::Process(process) => self.folded.processes.contains(&process),
            GroupKind::Track(track) => self.folded.tracks.contains(&track),
        }
    }

    fn toggle(&mut self, kind: GroupKind) {
        match kind {
            GroupKind::Process(process) => {
                if !self.folded.processes.remove(&process) {
                    self.folded.processes.insert(process);
                }
            }
            GroupKind::Track(track) => {
                if !self.folded.tracks.remove(&track) {
                    self.folded.tracks.insert(track);
                }
            }
        }
        self.lay_out();
    }

    /// What is under a point of the window.
    pub(super) fn picked(&self, places: &Places, at: Pos2) -> Picked {
        let at_px = (at - places.canvas.min) * self.scale;
        pick(&self.layout, &self.view, f64::from(at_px.x), f64::from(at_px.y))
    }

    /// The row under a point of the window.
    pub(super) fn row_under(&self, places: &Places, at: Pos2) -> Option<RowIdx> {
        let picked = self.picked(places, at);
        let lane = picked.lane.filter(|lane| lane.kind != LaneKind::Counter)?;
        query_pick::row_at(&self.snapshot, lane.lane, picked.ts_ns, picked.tolerance_ns)
    }

    pub(super) fn scroll(&mut self, down_px: f64) {
        #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
        self.view.scroll(down_px, self.layout.height_px() as f64);
    }

    pub(super) fn scroll_to(&mut self, top_px: f64) {
        #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
        self.view.scroll_to(top_px, self.layout.height_px() as f64);
    }

    pub(super) fn scale(&self) -> f32 {
        self.scale
    }

    fn scroll_into_view(&mut self, top_px: u64, height_px: u32) {
        let (first_px, end_px) = frame::pixels_in_view(&self.view);
        if top_px < first_px || top_px + u64::from(height_px) > end_px {
            #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
            self.scroll_to(top_px as f64 - self.view.height_px() / 2.0);
        }
    }

    /// Takes the size of the canvas and the scale of the screen.
    fn fit(&mut self, places: &Places) {
        let size_px = places.canvas.size() * places.scale;
        let (width_px, height_px) = (f64::from(size_px.x).round(), f64::from(size_px.y).round());
        #[expect(clippy::float_cmp, reason = "the same scale gives the same bits")]
        if self.scale != places.scale {
            self.scale = places.scale;
            self.lay_out();
        }
        if (self.view.width_px(), self.view.height_px()) != (width_px, height_px) {
            let (_, end_px_before) = frame::pixels_in_view(&self.view);
            self.view.resize(width_px, height_px);
            self.scroll(0.0);
            self.keep_selected_in_view(end_px_before);
        }
    }

    /// Scrolls the selected row up by what hides it now and did not before: the details open over the rows at the bottom.
    fn keep_selected_in_view(&mut self, end_px_before: u64) {
        let Some(row) = self.selected else { return };
        let Some(place) = self.layout.row_of(row.lane, self.snapshot.lane(row.lane).track) else { return };
        let (_, end_px) = frame::pixels_in_view(&self.view);
        let row_end_px = place.top_px + u64::from(place.height_px);
        if place.top_px < end_px_before && row_end_px > end_px {
            #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
            self.scroll((row_end_px - end_px) as f64 + f64::from(place.height_px));
        }
    }

    fn lay_out(&mut self) {
        let snapshot = &self.snapshot;
        let tracks = snapshot.display_order().iter().map(|&track| TrackRows {
            track,
            process: snapshot.track(track).process,
            lanes: snapshot.lanes_of(track),
        });
        let heights = RowHeights::at_scale(self.scale);
        self.layout = RowLayout::new(tracks, |lane| snapshot.lane(lane).kind, &self.folded, &heights);
        self.drawn = None;
        self.scroll(0.0);
    }

    /// Builds the frame anew unless nothing that it shows has changed.
    fn draw(&mut self) {
        if self.drawn.as_ref().is_some_and(|drawn| drawn.view == self.view) {
            return;
        }
        let options = FrameOptions { palette: &self.palette, rects: self.budget, scale: self.scale };
        let names = self.snapshot.names();
        let frame = frame::build(&self.snapshot, names, &self.layout, &self.view, &mut self.tiles, options);
        #[expect(clippy::cast_possible_truncation, reason = "sizes of screens are exact in an f32")]
        let size_px = [self.view.width_px() as f32, self.view.height_px() as f32];
        let rects = Rects::new(&frame.rects, size_px, self.scale);
        self.drawn = Some(Drawn { view: self.view, frame, rects, labels: None });
    }

    fn paint_canvas(&mut self, ui: &Ui, places: &Places, theme: &Theme) {
        let painter = ui.painter_at(places.canvas);
        let (top_px, bottom_px) = frame::pixels_in_view(&self.view);
        for group in self.layout.groups_within(top_px, bottom_px) {
            let rect = places.row(frame::y_on_canvas(&self.view, group.top_px), group.height_px);
            match group.kind {
                GroupKind::Process(_) => {
                    painter.rect_filled(rect, 0.0, theme.header);
                }
                GroupKind::Track(_) => {
                    painter.hline(rect.x_range(), rect.bottom() - 0.5, Stroke::new(1.0, theme.grid));
                }
            }
        }
        let scale = self.scale;
        let Some(drawn) = &mut self.drawn else { return };
        painter.add(drawn.rects.shape(places.canvas));
        let labels = drawn.labels.get_or_insert_with(|| span_names(ui, &drawn.frame, &self.snapshot, scale));
        let font = FontId::proportional(LABEL_POINTS);
        for label in labels {
            let at = places.canvas.min + vec2(label.x, label.y) / scale;
            painter.text(at, Align2::LEFT_CENTER, &label.text, font.clone(), label.color);
        }
        if let Some(row) = self.hovered.filter(|hovered| Some(*hovered) != self.selected) {
            self.paint_outline(&painter, places, row, Stroke::new(1.0, theme.hover));
        }
        if let Some(row) = self.selected {
            self.paint_outline(&painter, places, row, Stroke::new(2.0, theme.selection));
        }
    }

    fn paint_outline(&self, painter: &egui::Painter, places: &Places, row: RowIdx, stroke: Stroke) {
        let rows = frame::rows_in_view(&self.layout, &self.view);
        let Some(place) = rows.iter().find(|place| place.lane == row.lane) else { return };
        let span = self.snapshot.row(row);
        let reach_px = 10.0;
        let x0 = self.view.x_from_time(span.start_ns).round().clamp(-reach_px, self.view.width_px() + reach_px);
        let x1 = self.view.x_from_time(span.end_ns()).round().clamp(x0 + 1.0, self.view.width_px() + 2.0 * reach_px);
        let band = places.row(frame::y_on_canvas(&self.view, place.top_px), place.height_px);
        let left = places.canvas.left() + as_f32(x0) / self.scale;
        let right = places.canvas.left() + as_f32(x1) / self.scale;
        let gap = self.scale.round().max(1.0) / self.scale;
        let outline = Rect::from_min_max(pos2(left, band.top()), pos2(right, band.bottom() - gap));
        // A point in time is marked as wide as its diamond.
        let outline = if matches!(place.kind, LaneKind::Instants | LaneKind::Samples) {
            outline.expand2(vec2(band.height() / 2.0, 0.0))
        } else {
            outline
        };
        painter.rect_stroke(outline, 2.0, stroke, StrokeKind::Outside);
    }

    fn resize_gutter(&mut self, ui: &Ui, places: &Places) {
        let edge =
            Rect::from_x_y_ranges(places.gutter.right() - 3.0..=places.gutter.right() + 3.0, places.all.y_range());
        let response = ui.interact(edge, ui.scope_id().with("gutter edge"), Sense::drag());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Splitter, true, "Width of the track names"));
        if response.hovered() || response.dragged() {
            ui.ctx().set_cursor_icon(egui::CursorIcon::ResizeHorizontal);
        }
        let most = places.all.width() * 0.6;
        self.gutter_points = (self.gutter_points + response.drag_delta().x).clamp(80.0_f32.min(most), most.max(80.0));
    }
}

#[expect(clippy::cast_possible_truncation, reason = "pixels near the canvas are exact in an f32")]
pub(super) fn as_f32(px: f64) -> f32 {
    px as f32
}

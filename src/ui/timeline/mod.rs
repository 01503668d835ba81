//! The timeline: the canvas with its ruler, gutter, minimap and bookmarks.

mod absence;
mod arrange;
pub(crate) mod bookmarks;
mod canvas_menu;
mod corner;
mod counter_rows;
mod custom_groups;
pub(crate) mod derived;
mod derived_pane;
mod derived_scheduling;
mod derived_strips;
mod edge_snap;
mod edit_history;
mod edits;
mod file_offset_drag;
pub(crate) mod filter_field;
mod flow_curves;
mod gutter;
mod head_keys;
mod input;
mod interaction;
mod layout;
mod live;
mod live_view;
mod minimap;
pub(crate) mod named_scopes;
mod navigation;
mod overlays;
mod pane;
mod range;
mod ranked_order;
mod row_anchor;
mod row_moves;
mod ruler;
pub(crate) mod ruler_clock;
mod ruler_labels;
mod ruler_menu;
pub(crate) mod sampling;
pub(crate) mod saved;
mod saved_span;
mod scope;
mod scroll_bar;
mod selection;
mod span_colors;
mod span_names;
pub(crate) mod state;
mod sticky_headers;
mod still;
mod thread_rows;
mod tile_loaders;
mod tooltip;
pub(crate) mod track_ranks;
pub(crate) mod tracks;
mod unsorted;
mod view;

use std::time::Instant;

use egui::{Rect, Sense, Stroke, Ui};

use self::layout::{GUTTER_PART_MAX, TimelineLayout};
use self::ruler::PointerTime;
use self::state::Timeline;
use crate::frame::FrameOptions;
use crate::scene::rows::GroupKind;
use crate::scene::ruler::Ruler;
use crate::tiles::loader::FRAME_PATIENCE;
use crate::ui::command::{Command, SettingCommand};
use crate::ui::theme::Theme;
use crate::ui::widgets::{focus_ring, spoken};

impl Timeline {
    /// Shows the timeline in the available space, and handles input.
    pub(crate) fn show(&mut self, ui: &mut Ui, theme: &Theme) -> Vec<Command> {
        let mut commands = Vec::new();
        let layout = TimelineLayout::new(ui, self.gutter_points, self.derived().len(), self.pinned.layout.height_px());
        self.size_points = layout.all.size();
        self.fit(&layout);
        let response = ui.interact(layout.rows(), ui.scope_id().with("canvas"), Sense::click_and_drag());
        // Tab skips what has no effect by keys: the space around the names, the ruler, the minimap, edges and bars.
        let by_pointer = Sense::CLICK | Sense::DRAG;
        let gutter_response = ui.interact(layout.names(), ui.scope_id().with("gutter"), by_pointer);
        gutter_response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Group, true, "Names of the tracks"));
        self.advance(ui);
        let pointer_x_px =
            response.hover_pos().map(|at| f64::from(at.x - layout.canvas.left()) * f64::from(self.scale()));
        self.interaction.pointer_x_px = pointer_x_px;
        input::pointer(self, ui, &layout, &response, &gutter_response, &mut commands);
        input::held_keys(self, ui);
        self.step_heads(ui, &layout, &mut commands);
        commands.extend(self.resize_gutter(ui, &layout));
        self.draw(ui, &layout);
        let ruler = ruler::current(self, ui);
        let flags = bookmarks::flags(self, ui, &layout);
        let mut covered: Vec<_> = flags.iter().map(|flag| flag.rect).collect();
        let length = range::length(self, ui, &layout, theme, &covered);
        covered.extend(length.as_ref().map(|length| length.rect));
        let pointer = ruler::pointer_time(self, &ruler, ui, &layout, theme, (response.hover_pos(), &covered));
        covered.extend(pointer.as_ref().map(|pointer| pointer.rect));
        self.paint(ui, &layout, theme, (&ruler, &covered), pointer.as_ref());
        if self.is_live() {
            live::paint(self, ui, &layout, theme);
        } else {
            unsorted::paint(self, ui, &layout, theme);
        }
        range::paint_edges(self, ui, &layout, theme);
        self.paint_snap(ui, &layout, theme);
        commands.extend(bookmarks::show(self, &flags, ui, &layout, theme));
        commands.extend(length.and_then(|length| length.show(ui, &layout, theme)));
        if let Some(pointer) = &pointer {
            pointer.paint(ui, &layout, theme);
        }
        self.paint_moving(ui, &layout, theme);
        drop(flags);
        minimap::show(self, ui, &layout, theme);
        commands.extend(gutter::show(self, ui, &layout, theme));
        self.paint_row_drag(ui, &layout, theme);
        commands.extend(self.show_derived_names(ui, &layout, theme));
        if !self.is_export_copy {
            scroll_bar::show(self, ui, &layout, theme);
            filter_field::show(self, ui, layout.tools, theme, &mut commands);
            commands.extend(corner::show(self, ui, layout.corner));
        }
        commands.extend(absence::show(self, ui, &layout, theme));
        commands.extend(unsorted::show_interruption(self, ui, &layout, theme));
        canvas_menu::show(self, &layout, &response, theme, &mut commands);
        focus_ring::paint_unless_clicked(ui, &response, layout.rows(), theme);
        self.show_hover(&response, &layout, theme, ui);
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Canvas, true, self.summary()));
        spoken::say(ui, response.id.with("selected"), layout.canvas.min, || self.selected_text());
        commands
    }

    fn draw(&mut self, ui: &Ui, layout: &TimelineLayout) {
        let deadline = Instant::now() + FRAME_PATIENCE;
        let filtered = self.overlays.filtered().map(|filtered| &**filtered);
        let overlaid = self.overlaid_rows();
        let options = FrameOptions {
            palette: self.span_colors.palette(),
            rects: self.budget,
            scale: self.scale(),
            filtered,
            lit: self.overlays.lit_spans(),
            counters: &self.tracks.arrangement().counters,
            overlaid: &overlaid,
        };
        let mut is_late = false;
        if layout.pinned.height() > 0.0 {
            let view = self.pinned_view(layout);
            is_late |= self.pinned.draw(ui, &self.snapshot, &view, options, deadline);
        }
        let strips = (self.strip_layout(layout), self.scale());
        let now_s = self.view.navigation().animation.then(|| ui.input(|input| input.time));
        let when = (deadline, now_s);
        is_late |=
            self.derived_pane.draw(self.derived.all(), self.view.now(), strips, self.span_colors.palette(), when);
        is_late |= self.rows.draw(ui, &self.snapshot, self.view.now(), options, deadline);
        if is_late {
            ui.ctx().request_repaint();
        }
        self.shift_moving();
    }

    fn paint(
        &self,
        ui: &Ui,
        layout: &TimelineLayout,
        theme: &Theme,
        (ruler, covered): (&Ruler, &[Rect]),
        pointer: Option<&PointerTime>,
    ) {
        let painter = ui.painter_at(layout.all);
        painter.rect_filled(layout.all, 0.0, theme.canvas);
        painter.rect_filled(layout.gutter.union(layout.tools), 0.0, theme.gutter);
        painter.rect_filled(layout.ruler, 0.0, theme.gutter);
        ruler::paint(self, ruler, ui, layout, theme, covered);
        if let Some(pointer) = pointer {
            pointer.paint_line(ui, layout, theme);
        }
        if layout.derived.is_positive() {
            self.paint_derived(ui, layout, theme);
        }
        for shown in self.panes(layout) {
            if shown.canvas.height() <= 0.0 {
                continue;
            }
            shown.paint_ground(ui, &self.snapshot, theme);
            shown.paint_spans(ui);
        }
        // Names are above the curves, which cross the selected span and its children.
        flow_curves::paint(self, ui, layout, theme);
        range::paint_veil(self, ui, layout, theme);
        for shown in self.panes(layout) {
            if shown.canvas.height() <= 0.0 {
                continue;
            }
            let has_track = |track| self.is_in_scope(GroupKind::Track(track));
            shown.paint_names(ui, self.palette(), self.scope().range, has_track);
            if let Some(row) = self.selection.hovered().filter(|hovered| Some(*hovered) != self.selection.span()) {
                shown.paint_outline(ui, &self.snapshot, (row, row.lane), Stroke::new(1.0, theme.hover));
            }
            if let Some(row) = self.overlays.lit_row() {
                let drawn = (row, self.drawn_lane(row.lane));
                shown.paint_outline(ui, &self.snapshot, drawn, Stroke::new(2.0, theme.hover));
            }
            if let Some(row) = self.selection.span() {
                let drawn = (row, self.drawn_lane(row.lane));
                shown.paint_outline(ui, &self.snapshot, drawn, Stroke::new(2.0, theme.selection));
            }
            sticky_headers::paint_bands(self, ui, &shown, theme);
        }
        painter.vline(layout.gutter.right(), layout.all.y_range(), Stroke::new(1.0, theme.line));
        painter.hline(layout.all.x_range(), layout.ruler.bottom(), Stroke::new(1.0, theme.line));
        if layout.pinned.height() > 0.0 {
            painter.hline(layout.all.x_range(), layout.canvas.top(), Stroke::new(2.0, theme.line));
        }
    }

    /// Resizes the column of names while its edge is dragged. Returns the command that keeps its width.
    fn resize_gutter(&mut self, ui: &Ui, layout: &TimelineLayout) -> Option<Command> {
        let edge =
            Rect::from_x_y_ranges(layout.gutter.right() - 3.0..=layout.gutter.right() + 3.0, layout.all.y_range());
        let response = ui.interact(edge, ui.scope_id().with("gutter edge"), Sense::DRAG);
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Splitter, true, "Width of the track names"));
        if response.hovered() || response.dragged() {
            ui.ctx().set_cursor_icon(egui::CursorIcon::ResizeHorizontal);
        }
        if response.dragged() {
            let most = layout.all.width() * GUTTER_PART_MAX;
            let wanted = layout.gutter.width() + response.drag_delta().x;
            self.gutter_points = wanted.clamp(80.0_f32.min(most), most.max(80.0));
        }
        let points = self.gutter_points.round() as u16;
        response.drag_stopped().then_some(Command::Setting(SettingCommand::GutterWidth(points)))
    }
}

//! Shows the scope on the timeline: a veil outside of its time and tracks, and its length on the ruler.

use std::sync::Arc;

use egui::{Align2, CursorIcon, FontId, Galley, Rect, Role, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};

use super::layout::TimelineLayout;
use super::ruler_labels::beside_others;
use super::state::Timeline;
use crate::scene::palette::VEIL_OPACITY;
use crate::ui::command::{Command, PanelCommand};
use crate::ui::command_table::key_of;
use crate::ui::panel::Panel;
use crate::ui::theme::Theme;
use crate::ui::widgets::press::is_clicked;

/// Veils the tracks in view that are outside the scope, within a horizontal range of the window.
fn veil_tracks(timeline: &Timeline, ui: &Ui, layout: &TimelineLayout, theme: &Theme, x: std::ops::RangeInclusive<f32>) {
    if timeline.scope().tracks.is_all() {
        return;
    }
    for shown in timeline.panes(layout) {
        for group in shown.groups().into_iter().filter(|group| !timeline.is_in_scope(group.kind)) {
            let band = shown.band(group.top_px, group.height_px);
            let veil = Rect::from_x_y_ranges(x.clone(), band.y_range()).intersect(shown.canvas);
            if veil.is_positive() {
                ui.painter_at(shown.canvas).rect_filled(veil, 0.0, theme.canvas.gamma_multiply(VEIL_OPACITY));
            }
        }
    }
}

/// Returns the edges of the selected time in the window, clamped to just outside the canvas.
fn edges(timeline: &Timeline, layout: &TimelineLayout) -> Option<[f32; 2]> {
    let (from_ns, to_ns) = timeline.selection.range()?;
    Some([from_ns, to_ns].map(|ts_ns| {
        let x_px = timeline.view.now().x_from_time(ts_ns).clamp(-10.0, timeline.view.now().width_px() + 10.0);
        layout.ruler.left() + x_px.round() as f32 / timeline.scale()
    }))
}

/// Veils what is outside the scope, below the names of spans.
pub(super) fn paint_veil(timeline: &Timeline, ui: &Ui, layout: &TimelineLayout, theme: &Theme) {
    let Some([left, right]) = edges(timeline, layout) else {
        veil_tracks(timeline, ui, layout, theme, layout.canvas.left()..=layout.canvas.right());
        return;
    };
    veil_tracks(timeline, ui, layout, theme, left..=right);
    let rows = layout.rows();
    for beside in [rows.left()..=left, right..=rows.right()] {
        let shade = Rect::from_x_y_ranges(beside, rows.y_range());
        if shade.width() > 0.0 {
            ui.painter_at(rows).rect_filled(shade, 0.0, theme.canvas.gamma_multiply(VEIL_OPACITY));
        }
    }
}

/// Paints the edges of the selected time, and its part of the ruler.
pub(super) fn paint_edges(timeline: &Timeline, ui: &Ui, layout: &TimelineLayout, theme: &Theme) {
    let Some([left, right]) = edges(timeline, layout) else { return };
    let rows = layout.rows();
    let painter = ui.painter_at(rows.union(layout.ruler));
    let edge = Stroke::new(1.0, theme.accent);
    for x in [left, right] {
        painter.vline(x, layout.ruler.top()..=rows.bottom(), edge);
    }
    let on_ruler = Rect::from_min_max(pos2(left, layout.ruler.top()), pos2(right, layout.ruler.bottom() - 1.0));
    painter.rect_filled(on_ruler, 0.0, theme.accent.gamma_multiply(0.25));
}

/// The length of the selected time, and its position on the ruler.
pub(super) struct Length {
    text: String,
    galley: Arc<Galley>,
    pub(crate) rect: Rect,
}

/// Returns the length, if any of the selected time is in view. It is beside the flags, or over them if there is no
/// room.
pub(super) fn length(
    timeline: &Timeline,
    ui: &Ui,
    layout: &TimelineLayout,
    theme: &Theme,
    flags: &[Rect],
) -> Option<Length> {
    let (from_ns, to_ns) = timeline.selection.range()?;
    let [left, right] = [from_ns, to_ns].map(|ts_ns| {
        let x_px = timeline.view.now().x_from_time(ts_ns).clamp(0.0, timeline.view.now().width_px());
        layout.ruler.left() + x_px as f32 / timeline.scale()
    });
    if left >= right {
        return None;
    }
    let text = timeline.snapshot().axis_unit().part_text((from_ns, to_ns));
    let galley = ui.painter().layout_no_wrap(text.clone(), FontId::proportional(11.0), theme.canvas);
    let size = galley.size() + vec2(10.0, 4.0);
    let rect = Rect::from_center_size(pos2(f32::midpoint(left, right), layout.ruler.center().y), size);
    Some(Length { text, galley, rect: beside_others(rect, layout.ruler, flags) })
}

impl Length {
    /// Shows the length. A click on it opens the statistics.
    pub(super) fn show(self, ui: &Ui, layout: &TimelineLayout, theme: &Theme) -> Option<Command> {
        let response = ui.interact(self.rect, ui.scope_id().with("selected time"), Sense::click());
        response.widget_info(|| {
            let label = format!("Statistics of the selected {}", self.text);
            WidgetInfo::labeled(Role::Button, true, label)
        });
        let painter = ui.painter_at(layout.ruler);
        painter.rect_filled(
            self.rect,
            4.0,
            if response.hovered() || response.has_focus() { theme.text } else { theme.accent },
        );
        let at = Align2::CENTER_CENTER.anchor_size(self.rect.center(), self.galley.size());
        painter.galley(at.min, self.galley, theme.canvas);
        let keys = ["Statistics", "Fit selection", "Clear selection"].map(|title| key_of(ui.ctx(), title));
        let [statistics, fit, clear] = keys;
        let tip = format!(
            "Click, {statistics}: statistics of the scope\n{fit}: fill the view with this time\n{clear}: clear the selection"
        );
        let response = response.on_hover_text(tip).on_hover_cursor(CursorIcon::PointingHand);
        is_clicked(ui, &response).then_some(Command::Panel(PanelCommand::Show(Panel::Statistics)))
    }
}

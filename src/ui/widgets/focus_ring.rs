//! The ring around a painted widget that has the keyboard focus. egui draws one around its own buttons only.

use egui::{Rect, Response, Stroke, StrokeKind, Ui};

use crate::ui::theme::Theme;

/// Paints a ring inside of `rect` if the widget has the focus.
pub(crate) fn paint(ui: &Ui, response: &Response, rect: Rect, theme: &Theme) {
    if response.has_focus() {
        let ring = Stroke::new(1.0, theme.accent);
        ui.painter_at(rect).rect_stroke(rect.shrink(0.5), 2.0, ring, StrokeKind::Inside);
    }
}

/// Paints the ring of a widget that a click focuses too, but not after a click.
pub(crate) fn paint_unless_clicked(ui: &Ui, response: &Response, rect: Rect, theme: &Theme) {
    let id = response.id.with("focused by a click");
    if response.gained_focus() {
        let is_clicked = ui.input(|input| input.pointer.any_released());
        ui.data_mut(|data| data.insert_temp(id, is_clicked));
    }
    if !ui.data(|data| data.get_temp(id)).unwrap_or(false) {
        paint(ui, response, rect, theme);
    }
}

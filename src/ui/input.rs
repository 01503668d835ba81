//! What the hand does on the timeline: drag, wheel, click, keys. Changes the view; asks for the rest.

use egui::{Event, Key, Modifiers, PointerButton, Pos2, Response, Ui};

use super::Command;
use super::places::Places;
use super::timeline::Timeline;
use crate::store::lane::RowIdx;

/// Points of wheel for a zoom by e: five notches of fifty.
const WHEEL_POINTS_PER_E: f32 = 250.0;

/// Takes drags, the wheel and clicks.
pub(super) fn pointer(
    timeline: &mut Timeline,
    ui: &Ui,
    places: &Places,
    canvas: &Response,
    gutter: &Response,
    commands: &mut Vec<Command>,
) {
    let scale = f64::from(timeline.scale());
    for response in [canvas, gutter] {
        // The first pixels, in which a press could still become a click, count too: the hand keeps what it took hold of.
        let drag = match response.total_drag_delta() {
            Some(whole) if response.drag_started() => whole,
            _ => response.drag_delta(),
        };
        if drag.x != 0.0 && response.id == canvas.id {
            timeline.view.pan(-f64::from(drag.x) * scale);
        }
        if drag.y != 0.0 {
            timeline.scroll(-f64::from(drag.y) * scale);
        }
    }
    if canvas.dragged() {
        ui.ctx().set_cursor_icon(egui::CursorIcon::Grabbing);
    }
    let (wheel, pinch) = ui.input(|input| (input.smooth_scroll_delta(), input.zoom_delta()));
    if let Some(at) = canvas.hover_pos() {
        let x_px = f64::from(at.x - places.canvas.left()) * scale;
        let factor = f64::from(pinch) * f64::from(wheel.y / WHEEL_POINTS_PER_E).exp();
        #[expect(clippy::float_cmp, reason = "exactly one means that nothing was turned")]
        if factor != 1.0 {
            timeline.view.zoom(factor, x_px);
        }
        if wheel.x != 0.0 {
            timeline.view.pan(-f64::from(wheel.x) * scale);
        }
    } else if ui.rect_contains_pointer(places.gutter) && wheel.y != 0.0 {
        timeline.scroll(-f64::from(wheel.y) * scale);
    }
    if let Some(at) = clicked_at(ui).or(canvas.interact_pointer_pos()) {
        if canvas.double_clicked() {
            commands.push(Command::ShowSelection);
        } else if canvas.clicked() {
            canvas.request_focus();
            commands.push(Command::Select(timeline.row_under(places, at)));
        }
    }
}

/// Where the button was let go: within a slow frame the pointer may have gone on from there.
fn clicked_at(ui: &Ui) -> Option<Pos2> {
    ui.input(|input| {
        input.events.iter().rev().find_map(|event| match event {
            Event::PointerButton { pos, button: PointerButton::Primary, pressed: false, .. } => Some(*pos),
            _ => None,
        })
    })
}

/// Takes keys, unless something else on the window wants them.
pub(super) fn keys(timeline: &mut Timeline, ui: &Ui, commands: &mut Vec<Command>) {
    /// How much of the view a press of an arrow moves by.
    const PAN_STEP: f64 = 0.1;
    /// How far a press of an arrow scrolls, in points: two lanes.
    const SCROLL_STEP: f64 = 40.0;
    let is_behind_a_dialog = ui.memory(|memory| memory.top_modal_layer().is_some());
    if is_behind_a_dialog || ui.ctx().text_edit_focused() {
        return;
    }
    held_keys(timeline, ui);
    let width_px = timeline.view.width_px();
    let scale = f64::from(timeline.scale());
    ui.input_mut(|input| {
        let mut times = |key| {
            #[expect(clippy::cast_precision_loss, reason = "some presses")]
            let count = input.count_and_consume_key(Modifiers::NONE, key) as f64;
            count
        };
        timeline.view.pan((times(Key::ArrowRight) - times(Key::ArrowLeft)) * PAN_STEP * width_px);
        timeline.scroll((times(Key::ArrowDown) - times(Key::ArrowUp)) * SCROLL_STEP * scale);
        let page_px = timeline.view.height_px() * 0.9;
        timeline.scroll((times(Key::PageDown) - times(Key::PageUp)) * page_px);
        let zoom = times(Key::Plus) + times(Key::Equals) - times(Key::Minus);
        if zoom != 0.0 {
            timeline.zoom(1.5_f64.powf(zoom));
        }
        if times(Key::Home) + times(Key::Num0) > 0.0 {
            commands.push(Command::ShowAll);
        }
        if times(Key::F) > 0.0 {
            commands.push(Command::ShowSelection);
        }
        if times(Key::Escape) > 0.0 {
            commands.push(Command::Select(None));
        }
        let step = times(Key::Period) - times(Key::Comma);
        if let Some(row) = timeline.selected().filter(|_| step != 0.0) {
            commands.extend(neighbour(timeline, row, step > 0.0).map(Command::Reveal));
        }
    });
}

/// W, S, A and D act as long as they are held, at a speed that does not depend on the frames.
fn held_keys(timeline: &mut Timeline, ui: &Ui) {
    /// A held key doubles the zoom about four times a second.
    const ZOOM_E_PER_SECOND: f64 = 3.0;
    /// A held key moves by about a view in a second.
    const VIEWS_PER_SECOND: f64 = 1.0;
    /// A tap counts as so long, whatever the time since the last frame, and also when it ends within the same.
    const TAP_SECONDS: f64 = 0.05;
    let (zoom, pan) = ui.input(|input| {
        if input.modifiers.any() {
            return (0.0, 0.0);
        }
        let held_seconds = |key| {
            let taps = input.events.iter().filter(
                |event| matches!(event, Event::Key { key: of, pressed: true, repeat: false, .. } if *of == key),
            );
            match taps.count() {
                0 if input.key_down(key) => f64::from(input.stable_dt).min(TAP_SECONDS),
                taps => f64::from(u8::try_from(taps).unwrap_or(u8::MAX)) * TAP_SECONDS,
            }
        };
        (held_seconds(Key::W) - held_seconds(Key::S), held_seconds(Key::D) - held_seconds(Key::A))
    });
    if zoom != 0.0 {
        timeline.zoom((zoom * ZOOM_E_PER_SECOND).exp());
    }
    if pan != 0.0 {
        timeline.view.pan(pan * VIEWS_PER_SECOND * timeline.view.width_px());
    }
    if zoom != 0.0 || pan != 0.0 {
        ui.ctx().request_repaint();
    }
}

/// The next or the previous row of the same lane.
fn neighbour(timeline: &Timeline, row: RowIdx, next: bool) -> Option<RowIdx> {
    let rows = timeline.snapshot.lane(row.lane).rows;
    let other = if next { row.row.checked_add(1) } else { row.row.checked_sub(1) };
    other.filter(|&other| other < rows).map(|other| RowIdx { row: other, ..row })
}

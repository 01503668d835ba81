//! Pointer and keys on the timeline: drag, wheel, pinch, click, held keys. Changes the view; returns other commands.

use egui::{Event, EventFilter, InputState, Key, PointerButton, Pos2, Response, Ui, Vec2};

use super::interaction::{Drag, ScopeDrag};
use super::layout::TimelineLayout;
use super::minimap;
use super::ruler_menu;
use super::state::Timeline;
use crate::model::TrackSet;
use crate::ui::command::{Command, TimelineCommand};
use crate::ui::keys::is_behind_another;
use crate::ui::selected_scope::TimeRange;
use crate::ui::settings::Wheel;
use crate::ui::widgets::press::{is_clicked, press_modifiers};

/// Wheel points for a zoom by e: five notches of fifty.
const WHEEL_POINTS_PER_E: f32 = 250.0;

/// Handles drags, the wheel and clicks.
pub(super) fn pointer(
    timeline: &mut Timeline,
    ui: &Ui,
    layout: &TimelineLayout,
    canvas: &Response,
    gutter: &Response,
    commands: &mut Vec<Command>,
) {
    timeline.interaction.snapped = None;
    for response in [canvas, gutter] {
        drag(timeline, ui, layout, response, response.id == canvas.id, commands);
    }
    let ruler = ui.interact(layout.ruler, ui.scope_id().with("ruler"), egui::Sense::CLICK | egui::Sense::DRAG);
    select_on_ruler(timeline, ui, layout, &ruler);
    if !ui.input(|input| input.pointer.any_down()) {
        // Also if the button was released where the timeline did not see it.
        timeline.interaction.end_drag();
    }
    commands.extend(ruler_menu::show(timeline, ui, layout, &ruler));
    wheel(timeline, ui, layout);
    if canvas.hover_pos().is_some_and(|at| other_edge(timeline, layout, at).is_some()) {
        ui.ctx().set_cursor_icon(egui::CursorIcon::ResizeHorizontal);
    }
    if let Some(at) = canvas.hover_pos().filter(|_| !canvas.dragged()) {
        timeline.interaction.snapped = timeline.edge_near(ui, layout, at);
    }
    // The arrow keys move the selection, never the focus.
    let arrows = EventFilter { vertical_arrows: true, horizontal_arrows: true, ..EventFilter::default() };
    ui.memory_mut(|memory| memory.set_focus_lock_filter(canvas.id, arrows));
    if let Some(at) = released_at(ui).or(canvas.interact_pointer_pos()).filter(|_| is_clicked(ui, canvas)) {
        canvas.request_focus();
        let row = timeline.row_under(layout, at).or_else(|| timeline.sample_under(layout, at));
        commands.push(TimelineCommand::Select(row).into());
        // Both clicks may come in one slow frame, before the first has selected anything.
        if canvas.double_clicked() {
            commands.push(TimelineCommand::ZoomToSpan.into());
        }
    }
}

impl Timeline {
    /// Ends a drag without its effect, if Escape is pressed: the row or the file stays, and the scope is restored. A
    /// drag that was released before the key, in the same slow frame, keeps its effect.
    pub(crate) fn cancel_drag_by_key(&mut self, ui: &Ui) {
        let (is_row, is_file) = match self.interaction.drag() {
            Drag::Row(_) => (true, false),
            Drag::File(..) => (false, true),
            Drag::Pan | Drag::Range(_) | Drag::Scope(_) | Drag::Tracks(_) | Drag::Cancelled => (false, false),
        };
        let is_cancellable = is_row || is_file || self.interaction.is_changing_scope();
        // Ctrl or Shift may be held since the start of the drag.
        let escape = |input: &mut InputState| input.consume_key(input.modifiers, Key::Escape);
        if is_cancellable && !ui.input(is_released_before_escape) && ui.input_mut(escape) {
            let before = self.interaction.take_scope_before();
            self.interaction.begin_drag(Drag::Cancelled);
            self.interaction.set_row_drop(None);
            if is_file {
                self.move_file(None);
            }
            if let Some(before) = before {
                self.selection.set_scope(before, &self.snapshot);
            }
        }
    }
}

/// Returns whether a button is released before Escape is pressed, among the events of this frame.
fn is_released_before_escape(input: &InputState) -> bool {
    let mut until_escape =
        input.events.iter().take_while(|event| !matches!(event, Event::Key { key: Key::Escape, pressed: true, .. }));
    until_escape.any(|event| matches!(event, Event::PointerButton { pressed: false, .. }))
}

/// Handles a drag of the canvas or of the names.
fn drag(
    timeline: &mut Timeline,
    ui: &Ui,
    layout: &TimelineLayout,
    response: &Response,
    on_canvas: bool,
    commands: &mut Vec<Command>,
) {
    let origin = ui.input(|input| input.pointer.press_origin()).unwrap_or(layout.canvas.center());
    if response.drag_started() {
        let before = timeline.scope().clone();
        let drag = drag_from(timeline, ui, layout, response, (origin, on_canvas));
        timeline.interaction.begin_drag(drag);
        if matches!(drag, Drag::Range(_) | Drag::Tracks(_) | Drag::Scope(_)) {
            timeline.interaction.keep_scope(before);
        }
    }
    let is_held = response.dragged() || response.drag_stopped();
    let held_at = released_at(ui).or(response.interact_pointer_pos()).filter(|_| is_held);
    match (timeline.interaction.drag(), held_at) {
        (Drag::Range(from_ns), Some(at)) if on_canvas => {
            select_to(timeline, ui, layout, (from_ns, at));
        }
        (Drag::Tracks(drag), Some(at)) if !on_canvas => select_crossed(timeline, layout, &drag, at),
        (Drag::Scope(drag), Some(at)) if on_canvas => {
            select_to(timeline, ui, layout, (drag.from_ns, at));
            select_crossed(timeline, layout, &drag, at);
        }
        (Drag::Row(drag), Some(at)) if !on_canvas => {
            commands.extend(timeline.drag_row(ui, layout, (drag, at, response.drag_stopped())));
        }
        (Drag::Row(_) | Drag::Cancelled, _) => {}
        (Drag::File(kind, from_ns), Some(at)) if on_canvas => {
            let by_ns = timeline.to_the_pixel(timeline.time_at(layout, at).saturating_sub(from_ns));
            ui.ctx().set_cursor_icon(egui::CursorIcon::ResizeHorizontal);
            commands.extend(timeline.drag_file(kind, by_ns, response.drag_stopped()));
        }
        _ => pan(timeline, ui, layout, response, (origin, held_at, on_canvas)),
    }
}

/// Returns the drag that a press at `origin` starts, by its modifiers and by what is there.
fn drag_from(
    timeline: &mut Timeline,
    ui: &Ui,
    layout: &TimelineLayout,
    response: &Response,
    (origin, on_canvas): (Pos2, bool),
) -> Drag {
    let modifiers = press_modifiers(ui);
    let (moves_file, grip_ns) = (modifiers.command, timeline.time_at(layout, origin));
    let from_ns = timeline.edge_or_time(layout, origin, timeline.edge_near(ui, layout, origin));
    let edge = other_edge(timeline, layout, origin).filter(|_| !modifiers.any());
    match timeline.picked(layout, origin).group.map(|group| group.kind) {
        _ if response.dragged_by(PointerButton::Middle) && on_canvas => {
            timeline.selection.select_tracks(TrackSet::ALL, &timeline.snapshot);
            Drag::Range(from_ns)
        }
        _ if modifiers.shift => {
            let drag = ScopeDrag { from_ns, from_y: origin.y, scroll_px: timeline.view.now().scroll_px() };
            if on_canvas { Drag::Scope(drag) } else { Drag::Tracks(drag) }
        }
        _ if !on_canvas && !modifiers.any() && response.dragged_by(PointerButton::Primary) => {
            timeline.row_drag_at(layout, origin).map_or(Drag::Pan, Drag::Row)
        }
        _ if edge.is_some() && on_canvas => edge.map_or(Drag::Pan, Drag::Range),
        Some(kind) if moves_file && on_canvas && timeline.file_of(kind).is_some() => Drag::File(kind, grip_ns),
        _ => Drag::Pan,
    }
}

/// Selects the tracks between the start of a drag and the pointer.
fn select_crossed(timeline: &mut Timeline, layout: &TimelineLayout, drag: &ScopeDrag, at: Pos2) {
    let tracks = timeline.crossed_tracks(layout, drag, at.y);
    timeline.selection.select_tracks(tracks, &timeline.snapshot);
}

/// Moves the view with the pointer, and lets it glide on after the release.
fn pan(
    timeline: &mut Timeline,
    ui: &Ui,
    layout: &TimelineLayout,
    response: &Response,
    (origin, held_at, on_canvas): (Pos2, Option<Pos2>, bool),
) {
    if let Some(at) = held_at {
        timeline.interaction.add_position(timeline.view.frame_s(), at);
    }
    // The first pixels, in which a press could still become a click, count too, so that the grabbed point stays under
    // the pointer.
    let moved = match response.total_drag_delta() {
        Some(whole) if response.drag_started() => whole,
        None if response.drag_stopped() => last_move(ui),
        _ => response.drag_delta(),
    };
    let scale = f64::from(timeline.scale());
    if moved.x != 0.0 && on_canvas {
        let mut view = *timeline.view.now();
        view.pan(-f64::from(moved.x) * scale);
        timeline.view.move_to(view, ui);
    }
    if moved.y != 0.0 {
        timeline.scroll_at(layout, origin, -f64::from(moved.y) * scale);
    }
    if response.dragged() && on_canvas {
        ui.ctx().set_cursor_icon(egui::CursorIcon::Grabbing);
    }
    if response.drag_stopped() && timeline.interaction.drag() == Drag::Pan {
        let velocity = timeline.interaction.velocity();
        timeline.glide(if on_canvas { velocity } else { Vec2::new(0.0, velocity.y) });
    }
}

/// Returns the movement in the frame in which the drag ended; egui reports none for a finished drag.
fn last_move(ui: &Ui) -> Vec2 {
    let (latest, moved) = ui.input(|input| (input.pointer.latest_pos(), input.pointer.delta()));
    let released = released_at(ui).zip(latest);
    released.map_or(Vec2::ZERO, |(released, latest)| released - (latest - moved))
}

/// Selects a time range by a drag on the ruler, or moves an edge of the range; a click clears it.
fn select_on_ruler(timeline: &mut Timeline, ui: &Ui, layout: &TimelineLayout, ruler: &Response) {
    if let Some(at) = ruler.hover_pos() {
        let is_on_edge = other_edge(timeline, layout, at).is_some();
        let icon = if is_on_edge { egui::CursorIcon::ResizeHorizontal } else { egui::CursorIcon::Text };
        ui.ctx().set_cursor_icon(icon);
    }
    let origin = ui.input(|input| input.pointer.press_origin());
    if let Some(origin) = origin.filter(|_| ruler.drag_started()) {
        let edge = other_edge(timeline, layout, origin);
        timeline.interaction.keep_scope(timeline.selection.scope().clone());
        if edge.is_none() {
            timeline.selection.select_tracks(TrackSet::ALL, &timeline.snapshot);
        }
        let fixed_ns =
            edge.unwrap_or_else(|| timeline.edge_or_time(layout, origin, timeline.edge_near(ui, layout, origin)));
        timeline.interaction.begin_drag(Drag::Range(fixed_ns));
    }
    let at = released_at(ui).filter(|_| ruler.drag_stopped());
    let at = at.or(ruler.interact_pointer_pos().filter(|_| ruler.dragged()));
    if let (Drag::Range(fixed_ns), Some(at)) = (timeline.interaction.drag(), at) {
        select_to(timeline, ui, layout, (fixed_ns, at));
    } else if is_clicked(ui, ruler) {
        timeline.selection.select_range(None);
    }
    ruler.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Slider, true, "Ruler: drag to select time"));
}

/// Returns the edge of the selected range opposite to the one at a point; `None` if no edge is near.
fn other_edge(timeline: &Timeline, layout: &TimelineLayout, at: Pos2) -> Option<i64> {
    /// Distance within which an edge is gripped.
    const REACH_POINTS: f64 = 4.0;
    let (from_ns, to_ns) = timeline.selection.range()?;
    let x_px = f64::from((at.x - layout.canvas.left()) * timeline.scale());
    let distance = |ts_ns| (timeline.view.now().x_from_time(ts_ns) - x_px).abs() / f64::from(timeline.scale());
    let (nearest, other_ns) = if distance(to_ns) <= distance(from_ns) { (to_ns, from_ns) } else { (from_ns, to_ns) };
    (distance(nearest) <= REACH_POINTS).then_some(other_ns)
}

/// Selects the time range from a time to a point of the window, within the trace; none if it is empty.
fn select_to(timeline: &mut Timeline, ui: &Ui, layout: &TimelineLayout, (from_ns, at): (i64, Pos2)) {
    let edge = timeline.edge_near(ui, layout, at);
    let to_ns = timeline.edge_or_time(layout, at, edge);
    timeline.interaction.snapped = edge;
    let range: TimeRange = Some((from_ns.min(to_ns), from_ns.max(to_ns)));
    timeline.selection.select_range(range.filter(|(from_ns, to_ns)| from_ns < to_ns));
}

/// Handles the wheel and the pinch of a trackpad.
fn wheel(timeline: &mut Timeline, ui: &Ui, layout: &TimelineLayout) {
    let (turned, zoom, is_pinch) = ui.input(|input| {
        let is_pinch =
            input.multi_touch().is_some() || input.events.iter().any(|event| matches!(event, Event::Zoom(_)));
        (input.smooth_scroll_delta(), input.zoom_delta(), is_pinch)
    });
    let scale = f64::from(timeline.scale());
    let Some((at, target)) = wheel_target(timeline, ui, layout) else { return };
    let only_scrolls = target == WheelTarget::Rows;
    // With Ctrl, egui reports the wheel as a zoom.
    let with_ctrl = if is_pinch { 0.0 } else { zoom.ln() * WHEEL_POINTS_PER_E };
    let (scrolled, zoomed) = match timeline.view.navigation().wheel {
        _ if only_scrolls => (turned.y + with_ctrl, 0.0),
        Wheel::Scrolls => (turned.y, with_ctrl),
        Wheel::Zooms => (with_ctrl, turned.y),
    };
    let mut view = *timeline.view.now();
    let pinched = if is_pinch && !only_scrolls { f64::from(zoom) } else { 1.0 };
    let factor = pinched * f64::from(zoomed / WHEEL_POINTS_PER_E).exp();
    if factor != 1.0 {
        let at_x_px = match target {
            WheelTarget::Map => view.x_from_time(minimap::time_at(timeline, layout, at)),
            WheelTarget::Time | WheelTarget::Rows => f64::from(at.x - layout.canvas.left()) * scale,
        };
        view.zoom(factor, at_x_px);
    }
    if turned.x != 0.0 && !only_scrolls {
        view.pan(-f64::from(turned.x) * scale);
    }
    timeline.view.move_to(view, ui);
    if scrolled != 0.0 {
        timeline.view.stop_glide();
        let down_px = -f64::from(scrolled) * scale;
        if layout.ruler.contains(at) || layout.minimap.contains(at) {
            timeline.scroll(down_px);
        } else {
            timeline.scroll_at(layout, at, down_px);
        }
    }
}

/// The effect of the wheel at a point.
#[derive(Clone, Copy, PartialEq)]
enum WheelTarget {
    /// Scrolls, or zooms at the time of the canvas under the pointer.
    Time,
    /// Scrolls, or zooms at the time of the minimap under the pointer.
    Map,
    /// Only scrolls: the names and the scroll bar.
    Rows,
}

/// Returns the pointer and the effect of the wheel there; `None` outside the timeline, or below a window.
fn wheel_target(timeline: &Timeline, ui: &Ui, layout: &TimelineLayout) -> Option<(Pos2, WheelTarget)> {
    let at = ui.input(|input| input.pointer.hover_pos())?;
    let is_on = |rect| ui.rect_contains_pointer(rect);
    let target = if is_on(layout.names()) || super::scroll_bar::track(timeline, layout).is_some_and(is_on) {
        WheelTarget::Rows
    } else if is_on(layout.minimap) {
        WheelTarget::Map
    } else if is_on(layout.rows()) || is_on(layout.ruler) {
        WheelTarget::Time
    } else {
        return None;
    };
    Some((at, target))
}

/// Returns the position of the button's release; within a slow frame the pointer may have moved on.
fn released_at(ui: &Ui) -> Option<Pos2> {
    ui.input(|input| {
        input.events.iter().rev().find_map(|event| match event {
            Event::PointerButton { pos, pressed: false, .. } => Some(*pos),
            _ => None,
        })
    })
}

/// Handles W, S, A and D while they are held, at a speed independent of the frame rate. A key that is pressed with
/// another key belongs to a command, even if the other key is released first.
pub(super) fn held_keys(timeline: &mut Timeline, ui: &Ui) {
    /// A held key doubles the zoom about four times per second.
    const ZOOM_E_PER_SECOND: f64 = 3.0;
    /// A held key moves by about one view per second.
    const VIEWS_PER_SECOND: f64 = 1.0;
    /// A tap counts as this long, regardless of the frame time.
    const TAP_SECONDS: f64 = 0.05;
    if is_behind_another(ui.ctx()) || ui.ctx().text_edit_focused() {
        timeline.interaction.release_keys(|_| false);
        return;
    }
    let (zoom, pan) = ui.input(|input| {
        timeline.interaction.release_keys(|key| input.key_down(key));
        let mut held_seconds = |key| {
            let is_tap = |event: &&Event| match event {
                Event::Key { key: of, pressed: true, repeat: false, modifiers, .. } => *of == key && !modifiers.any(),
                _ => false,
            };
            let taps = input.events.iter().filter(is_tap).count();
            if taps > 0 && input.key_down(key) {
                timeline.interaction.hold_key(key);
            }
            match taps {
                0 if timeline.interaction.is_held(key) && !input.modifiers.any() => {
                    f64::from(input.stable_dt).min(TAP_SECONDS)
                }
                taps => f64::from(u8::try_from(taps).unwrap_or(u8::MAX)) * TAP_SECONDS,
            }
        };
        (held_seconds(Key::W) - held_seconds(Key::S), held_seconds(Key::D) - held_seconds(Key::A))
    });
    if zoom == 0.0 && pan == 0.0 {
        return;
    }
    let mut view = *timeline.view.now();
    // Zooms at the pointer if it is on the canvas, so that the point of interest stays there.
    let middle_px = view.width_px() / 2.0;
    view.zoom((zoom * ZOOM_E_PER_SECOND).exp(), timeline.interaction.pointer_x_px.unwrap_or(middle_px));
    view.pan(pan * VIEWS_PER_SECOND * view.width_px());
    timeline.view.move_to(view, ui);
    ui.ctx().request_repaint();
}

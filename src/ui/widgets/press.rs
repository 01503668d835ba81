//! The modifier keys of a press. A slow frame has several events, and the keys at its end may be others.

use egui::{Context, Event, Id, Modifiers, Ui};

/// Records the modifier keys of this frame's last press. Must run before anything else of a frame.
pub(crate) fn remember_press(ctx: &Context) {
    let pressed = ctx.input(|input| {
        input.events.iter().rev().find_map(|event| match event {
            Event::PointerButton { pressed: true, modifiers, .. } => Some(*modifiers),
            _ => None,
        })
    });
    if let Some(modifiers) = pressed {
        ctx.data_mut(|data| data.insert_temp(press_id(), modifiers));
    }
}

/// Returns the modifier keys that were held at the last press of a button.
#[must_use]
pub(crate) fn press_modifiers(ui: &Ui) -> Modifiers {
    ui.data(|data| data.get_temp(press_id())).unwrap_or_default()
}

/// Returns the modifier keys of a click on a widget: those of its press, or of a key or a screen reader that clicks it.
#[must_use]
pub(crate) fn click_modifiers(ui: &Ui) -> Modifiers {
    if ui.input(|input| input.pointer.any_released()) { press_modifiers(ui) } else { ui.input(|input| input.modifiers) }
}

fn press_id() -> Id {
    Id::unique("modifiers of the last press")
}

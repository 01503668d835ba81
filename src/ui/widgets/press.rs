//! The last press of a button: its modifier keys, and whether a menu was open. A slow frame has several events, and the
//! state at its end may differ.

use egui::{Context, Event, Id, Modifiers, Popup, Response, Ui};

#[derive(Debug, Clone, Copy, Default)]
struct Press {
    modifiers: Modifiers,
    /// Whether the press was beside an open menu, or in it.
    with_menu: bool,
}

/// Records this frame's last press. Must run before anything else of a frame, which may close a menu.
pub(crate) fn remember_press(ctx: &Context) {
    let pressed = ctx.input(|input| {
        input.events.iter().rev().find_map(|event| match event {
            Event::PointerButton { pressed: true, modifiers, .. } => Some(*modifiers),
            _ => None,
        })
    });
    if let Some(modifiers) = pressed {
        let press = Press { modifiers, with_menu: Popup::is_any_open(ctx) };
        ctx.data_mut(|data| data.insert_temp(press_id(), press));
    }
}

/// Returns whether a widget outside of menus is clicked. A click beside an open menu only closes the menu.
#[must_use]
pub(crate) fn is_clicked(ui: &Ui, response: &Response) -> bool {
    response.clicked() && !closes_menu(ui)
}

/// Returns whether the pointer is pressed, or released, beside a menu that was open at the press.
#[must_use]
pub(crate) fn closes_menu(ui: &Ui) -> bool {
    let is_pressed = ui.input(|input| input.pointer.any_down() || input.pointer.any_released());
    is_pressed && last_press(ui).with_menu
}

/// Returns the modifier keys that were held at the last press of a button.
#[must_use]
pub(crate) fn press_modifiers(ui: &Ui) -> Modifiers {
    last_press(ui).modifiers
}

/// Returns the modifier keys of a click on a widget: at its press, or at the key or the screen reader's request that
/// clicks it.
#[must_use]
pub(crate) fn click_modifiers(ui: &Ui) -> Modifiers {
    if ui.input(|input| input.pointer.any_released()) { press_modifiers(ui) } else { ui.input(|input| input.modifiers) }
}

fn last_press(ui: &Ui) -> Press {
    ui.data(|data| data.get_temp(press_id())).unwrap_or_default()
}

fn press_id() -> Id {
    Id::unique("last press")
}

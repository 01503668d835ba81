//! Context menus, which a right click opens, also again at a new position, or the Menu key of the keyboard, or Shift +
//! F10.

use egui::{Context, Event, Key, Popup, Pos2, Response, SetOpenCommand, vec2};

/// Returns whether a widget is asked for its menu: by a right click, or by the keys while it has the focus.
#[must_use]
pub(crate) fn opens_menu(response: &Response) -> bool {
    response.secondary_clicked() || opens_by_key(response)
}

/// Returns the menu of a widget, which opens after a right click on it, or by the keys.
pub(crate) fn context_menu(response: &Response) -> Popup<'_> {
    /// The distance of the menu from the corner of the widget, if the keys open it.
    const INSET_POINTS: f32 = 20.0;
    let at = response.rect.left_top() + vec2(INSET_POINTS, response.rect.height().min(INSET_POINTS));
    context_menu_at(response, opens_by_key(response).then_some(at))
}

/// Returns the menu of a widget, which opens after a right click on it, or at the position for which the keys were
/// pressed. Each time opens a new popup, since egui would close an open popup by the same click.
pub(crate) fn context_menu_at(response: &Response, at: Option<Pos2>) -> Popup<'_> {
    let id = Popup::default_response_id(response);
    let opens = response.secondary_clicked() || at.is_some();
    let (is_other, position) = response.ctx.data_mut(|data| {
        let is_other = data.get_temp_mut_or_default::<bool>(id.with("is other"));
        *is_other ^= opens;
        let is_other = *is_other;
        let position = data.get_temp_mut_or_default::<Option<Pos2>>(id.with("position"));
        *position = if opens { at } else { *position };
        (is_other, *position)
    });
    let popup = Popup::context_menu(response).id(id.with(is_other));
    let Some(position) = position else { return popup };
    let popup = if opens { popup.open_memory(Some(SetOpenCommand::Bool(true))) } else { popup };
    popup.at_position(position)
}

/// Returns whether the keys for a context menu are pressed.
pub(crate) fn presses_menu_key(ctx: &Context) -> bool {
    // The modifiers of the frame may be released already.
    let is_menu_key = |event: &Event| match event {
        Event::Key { key, pressed: true, modifiers, .. } => {
            *key == Key::Menu || *key == Key::F10 && modifiers.shift_only()
        }
        _ => false,
    };
    ctx.input(|input| input.events.iter().any(is_menu_key))
}

fn opens_by_key(response: &Response) -> bool {
    response.has_focus() && presses_menu_key(&response.ctx)
}

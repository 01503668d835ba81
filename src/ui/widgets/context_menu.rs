//! Context menus, which a right click opens, also again at a new position, or the Menu key of the keyboard.

use egui::{Key, Popup, Response, SetOpenCommand, vec2};

/// Returns whether a widget is asked for its menu: by a right click, or by the Menu key while it has the focus.
#[must_use]
pub(crate) fn opens_menu(response: &Response) -> bool {
    response.secondary_clicked() || opens_by_key(response)
}

/// Returns the menu of a widget, which opens after a right click on it, or by the Menu key. Each time opens a new
/// popup, since egui would close an open popup by the same click.
pub(crate) fn context_menu(response: &Response) -> Popup<'_> {
    /// The distance of the menu from the corner of the widget, if the key opens it.
    const INSET_POINTS: f32 = 20.0;
    let id = Popup::default_response_id(response);
    let (opens, by_key) = (opens_menu(response), opens_by_key(response));
    let (is_other, by_key) = response.ctx.data_mut(|data| {
        let is_other = data.get_temp_mut_or_default::<bool>(id.with("is other"));
        *is_other ^= opens;
        let is_other = *is_other;
        let is_by_key = data.get_temp_mut_or_default::<bool>(id.with("is by key"));
        *is_by_key = if opens { by_key } else { *is_by_key };
        (is_other, *is_by_key)
    });
    let popup = Popup::context_menu(response).id(id.with(is_other));
    if !by_key {
        return popup;
    }
    let popup = if opens { popup.open_memory(Some(SetOpenCommand::Bool(true))) } else { popup };
    let corner = response.rect.left_top();
    popup.at_position(corner + vec2(INSET_POINTS, response.rect.height().min(INSET_POINTS)))
}

fn opens_by_key(response: &Response) -> bool {
    response.has_focus() && response.ctx.input(|input| input.key_pressed(Key::Menu))
}

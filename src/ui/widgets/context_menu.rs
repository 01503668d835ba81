//! Context menus that another right click opens again at the new position.

use egui::{Popup, Response};

/// Returns the menu of a widget, which opens after a right click on it. Each right click opens a new popup, since egui
/// would close an open popup by the same click.
pub(crate) fn context_menu(response: &Response) -> Popup<'_> {
    let id = Popup::default_response_id(response);
    let opens = response.secondary_clicked();
    let is_other = response.ctx.data_mut(|data| {
        let is_other = data.get_temp_mut_or_default::<bool>(id.with("is other"));
        *is_other ^= opens;
        *is_other
    });
    Popup::context_menu(response).id(id.with(is_other))
}

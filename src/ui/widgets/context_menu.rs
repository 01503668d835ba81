//! A context menu that a further right click opens again at the new position.

use egui::{InnerResponse, Popup, Response, Ui};

/// Shows the menu of a widget after a right click on it. Each right click opens a new popup, since egui would close one
/// that is open by the same click.
pub(crate) fn show<R>(response: &Response, content: impl FnOnce(&mut Ui) -> R) -> Option<InnerResponse<R>> {
    let id = Popup::default_response_id(response);
    let opens = response.secondary_clicked();
    let is_other = response.ctx.data_mut(|data| {
        let is_other = data.get_temp_mut_or_default::<bool>(id.with("is other"));
        *is_other ^= opens;
        *is_other
    });
    Popup::context_menu(response).id(id.with(is_other)).show(content)
}

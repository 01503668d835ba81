//! Accessibility facts that widgets lack: names of fields, live announcements, the subject of a choice, whether an
//! entry is checked.

use egui::accesskit::{Action, Live, Role, Toggled};
use egui::{Id, Rect, Response, Sense, Ui, WidgetInfo, vec2};

/// Announces the text of a widget to screen readers when it changes, politely.
pub(crate) fn announce(response: &Response) {
    response.ctx.accesskit_node_builder(response.id, |node| node.set_live(Live::Polite));
}

/// Announces a sentence for screen readers only, when it changes; nothing is painted. The text is built only if a
/// screen reader runs.
pub(crate) fn say(ui: &Ui, id: Id, at: egui::Pos2, text: impl Fn() -> String) {
    // A node out of view is not part of the accessibility tree.
    let response = ui.interact(Rect::from_min_size(at, vec2(1.0, 1.0)), id, Sense::empty());
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, text()));
    announce(&response);
}

/// Lets screen readers focus a widget at which Tab does not stop.
pub(crate) fn take_spoken_focus(response: &Response) {
    response.ctx.accesskit_node_builder(response.id, |node| node.add_action(Action::Focus));
    if response.ctx.input(|input| input.has_accesskit_action_request(response.id, Action::Focus)) {
        response.request_focus();
    }
}

/// Sets the name of a field whose label is another widget.
pub(crate) fn name(response: &Response, name: &str) {
    response.ctx.accesskit_node_builder(response.id, |node| node.set_label(name));
}

/// Sets the subject of a choice.
pub(crate) fn describe(response: &Response, choice: &str) {
    response.ctx.accesskit_node_builder(response.id, |node| node.set_description(choice));
}

/// Sets whether a menu entry is checked.
pub(crate) fn set_checked(response: &Response, is_checked: bool) {
    response.ctx.accesskit_node_builder(response.id, |node| {
        node.set_role(Role::MenuItemCheckBox);
        node.set_toggled(if is_checked { Toggled::True } else { Toggled::False });
    });
}

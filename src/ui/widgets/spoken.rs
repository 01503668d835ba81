//! Facts that the accessibility tree tells beside names: what screen readers speak of when it changes, what a choice is
//! of, whether an entry is checked.

use egui::accesskit::{Live, Role, Toggled};
use egui::{Id, Rect, Response, Sense, Ui, WidgetInfo, vec2};

/// Has screen readers speak the text of a widget when it changes, once they have said what they are at.
pub(crate) fn announce(response: &Response) {
    response.ctx.accesskit_node_builder(response.id, |node| node.set_live(Live::Polite));
}

/// A sentence for screen readers alone, spoken when it changes; nothing is painted. It is made only where one listens.
pub(crate) fn say(ui: &Ui, id: Id, at: egui::Pos2, text: impl Fn() -> String) {
    // A node that is out of view is no part of the tree.
    let response = ui.interact(Rect::from_min_size(at, vec2(1.0, 1.0)), id, Sense::empty());
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, text()));
    announce(&response);
}

/// Says what a widget is one of the choices for.
pub(crate) fn describe(response: &Response, choice: &str) {
    response.ctx.accesskit_node_builder(response.id, |node| node.set_description(choice));
}

/// Says whether an entry of a menu is checked.
pub(crate) fn set_checked(response: &Response, is_checked: bool) {
    response.ctx.accesskit_node_builder(response.id, |node| {
        node.set_role(Role::MenuItemCheckBox);
        node.set_toggled(if is_checked { Toggled::True } else { Toggled::False });
    });
}

//! The order in which the Tab key visits the window. egui visits widgets in the order in which they are shown, but the
//! panels are laid out before the timeline above them. So the widgets that the timeline had in the last frame are
//! announced before the panels.

use egui::{FocusDirection, Id, Ui};

/// The widgets of the timeline, in the order of the Tab key.
#[derive(Debug, Default)]
pub(crate) struct TabOrder {
    timeline: Vec<Id>,
    /// The first widget of the window, if Tab has left the last one and led to no tool window.
    begins_again: Option<Id>,
}

impl TabOrder {
    /// Puts the timeline here in the order. Called before the panels are shown.
    pub(crate) fn visit_timeline(&mut self, ui: &Ui) {
        if let Some(first) = self.begins_again.take().filter(|_| ui.memory(|memory| memory.focused().is_none())) {
            ui.memory_mut(|memory| memory.request_focus(first));
        }
        self.timeline.iter().for_each(|id| visit(ui, *id));
    }

    /// Shows the timeline after the panels, which end the order, except for tool windows.
    pub(crate) fn show_timeline(&mut self, ui: &mut Ui, show: impl FnOnce(&mut Ui)) {
        let before = stops(ui);
        // Otherwise the timeline, which is shown next, would follow the last panel.
        let end = Id::unique("end of the tab order");
        visit(ui, end);
        show(ui);
        self.timeline = stops(ui).split_off(before.len());
        // The last widget is the one before the first.
        before.last().into_iter().for_each(|last| visit(ui, *last));
        if ui.memory(|memory| memory.has_focus(end)) {
            ui.memory_mut(|memory| {
                memory.surrender_focus(end);
                memory.move_focus(FocusDirection::Next);
            });
            self.begins_again = before.first().copied();
            ui.ctx().request_repaint();
        }
    }
}

fn visit(ui: &Ui, id: Id) {
    ui.memory_mut(|memory| memory.interested_in_focus(id, ui.layer_id()));
}

/// Returns the widgets of this frame that the Tab key visits, in the order in which they were shown.
fn stops(ui: &Ui) -> Vec<Id> {
    ui.ctx().viewport(|viewport| {
        let widgets = viewport.this_pass.widgets.get_layer(ui.layer_id());
        widgets.filter(|widget| widget.enabled && widget.sense.is_focusable()).map(|widget| widget.id).collect()
    })
}

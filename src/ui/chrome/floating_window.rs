//! A window above the timeline, such as Preferences. It is a dialog for screen readers, takes the keyboard focus when
//! it opens, and returns it when it closes.

use egui::accesskit::Role as NodeRole;
use egui::{Context, Id, Rect, RichText, Role, Sense, Ui, Vec2, WidgetInfo};

/// A window with a title, in the middle until the user drags it away.
#[derive(Debug)]
pub(crate) struct FloatingWindow {
    title: &'static str,
    /// Initial width; `None` for a window that fits its content and cannot be resized.
    width_points: Option<f32>,
}

/// The widget that had the focus before a window opened.
#[derive(Debug, Clone, Copy)]
struct FocusBefore(Option<Id>);

impl FloatingWindow {
    /// Creates a window that fits its content.
    pub(crate) fn fitted(title: &'static str) -> Self {
        Self { title, width_points: None }
    }

    /// Creates a window that can be resized.
    pub(crate) fn resizable(title: &'static str, width_points: f32) -> Self {
        Self { title, width_points: Some(width_points) }
    }

    /// Shows the window while it is open.
    pub(crate) fn show(self, ctx: &Context, is_open: &mut bool, content: impl FnOnce(&mut Ui)) {
        let id = Id::unique(("window", self.title));
        let before = ctx.data(|data| data.get_temp::<FocusBefore>(id));
        if !*is_open {
            if let Some(FocusBefore(focused)) = before {
                ctx.data_mut(|data| data.remove::<FocusBefore>(id));
                ctx.memory_mut(|memory| focused.inspect(|&focused| memory.request_focus(focused)));
            }
            return;
        }
        let is_new = before.is_none();
        if is_new {
            let focused = FocusBefore(ctx.memory(egui::Memory::focused));
            ctx.data_mut(|data| data.insert_temp(id, focused));
        }
        let screen = ctx.content_rect();
        let window = egui::Window::new(RichText::new(self.title).size(15.0).strong()).id(id);
        // Higher than its initial height, so that its content scrolls only at the edge of the screen.
        let window = window.default_height(screen.height()).collapsible(false);
        let window = window.pivot(egui::Align2::CENTER_CENTER).default_pos(screen.center());
        let window = match self.width_points {
            Some(width_points) => window.default_width(width_points),
            None => window.resizable(false),
        };
        let shown = window.open(is_open).show(ctx, |ui| {
            // Tab goes on from here to the first field.
            let start = Rect::from_min_size(ui.min_rect().min, Vec2::ZERO);
            let start = ui.interact(start, id.with("start"), Sense::focusable_noninteractive());
            start.widget_info(|| WidgetInfo::labeled(Role::Label, true, self.title));
            if is_new {
                start.request_focus();
            }
            content(ui);
        });
        if let Some(shown) = shown {
            ctx.accesskit_node_builder(shown.response.id, |node| node.set_role(NodeRole::Dialog));
        }
    }
}

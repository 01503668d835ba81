//! A window above the timeline, such as Preferences. It is a dialog for screen readers, takes the keyboard focus when
//! it opens, and returns it when it closes.

use std::num::NonZeroUsize;

use egui::accesskit::Role as NodeRole;
use egui::{Context, Id, Pos2, Rect, RichText, Role, Sense, Ui, Vec2, WidgetInfo};

/// A window with a title, in the middle until the user drags it away.
#[derive(Debug)]
pub(crate) struct FloatingWindow {
    title: &'static str,
    /// Initial width; `None` for a window that fits its content and cannot be resized.
    width_points: Option<f32>,
}

/// A window that is open.
#[derive(Debug, Clone, Copy)]
struct OpenWindow {
    /// The widget that had the focus before the window opened.
    focus_before: Option<Id>,
    /// The passes of egui that have laid it out, up to [`SIZING_PASSES`].
    passes: u8,
}

/// A window is laid out this often before it is seen: once to measure its content, once to fit it.
const SIZING_PASSES: u8 = 2;

/// Passes of a frame, so that the last of them shows a new window.
pub(crate) const PASSES_MAX: NonZeroUsize = NonZeroUsize::MIN.saturating_add(SIZING_PASSES as usize);

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
        let before = ctx.data(|data| data.get_temp::<OpenWindow>(id));
        if !*is_open {
            if let Some(OpenWindow { focus_before, .. }) = before {
                ctx.data_mut(|data| {
                    data.remove::<OpenWindow>(id);
                    data.remove::<Option<Pos2>>(opened_at_id());
                });
                ctx.memory_mut(|memory| focus_before.inspect(|&focused| memory.request_focus(focused)));
            }
            return;
        }
        let is_new = before.is_none();
        let OpenWindow { focus_before, passes } = before.unwrap_or_else(|| {
            let at = ctx.input(|input| input.pointer.latest_pos());
            ctx.data_mut(|data| data.insert_temp(opened_at_id(), at));
            OpenWindow { focus_before: ctx.memory(egui::Memory::focused), passes: 0 }
        });
        if passes < SIZING_PASSES {
            ctx.request_discard("the size of a new window is not known");
            let passes = passes + 1;
            ctx.data_mut(|data| data.insert_temp(id, OpenWindow { focus_before, passes }));
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

/// Returns whether the pointer has not moved since a window opened, which may be above the place that it points at.
#[must_use]
pub(crate) fn has_opened_over_pointer(ctx: &Context) -> bool {
    let at = ctx.input(|input| input.pointer.latest_pos());
    at.is_some() && ctx.data(|data| data.get_temp::<Option<Pos2>>(opened_at_id())) == Some(at)
}

fn opened_at_id() -> Id {
    Id::unique("pointer when the last window opened")
}

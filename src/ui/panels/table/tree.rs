//! Rows that form a tree: an arrow before the name expands a row, and so do the keys of trees: Right, Left and `*`.

use egui::{Color32, FocusDirection, Key, Modifiers, Painter, Rect, Stroke, Ui, pos2, vec2};

use super::Rows;
use crate::ui::panels::table_keys::types_star;

/// Width of the arrow and of one level, in points.
const ARROW_POINTS: f32 = 14.0;
const LEVEL_POINTS: f32 = 11.0;

/// Limit for the indentation; beyond it, only the tooltip and the screen reader show the depth.
const LEVELS_MAX: u32 = 24;

/// A row of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TreeRow {
    /// The number of its ancestors, by which its name is indented.
    pub(crate) depth: u32,
    /// Whether its children are shown; `None` without children.
    pub(crate) is_expanded: Option<bool>,
}

/// The effect of a key on a row of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TreeStep {
    /// Shows or hides the children of the row.
    Toggle,
    /// Shows all that is below the row.
    ExpandAll,
    /// Moves the focus to another row.
    Move(u64),
}

impl TreeRow {
    /// Returns the position in the tree for screen readers, to be added to the name.
    pub(crate) fn spoken(self) -> String {
        let state = match self.is_expanded {
            None => "",
            Some(true) => ", expanded",
            Some(false) => ", collapsed",
        };
        format!(", level {}{state}", self.depth + 1)
    }

    /// Returns the indentation of the row, with its arrow.
    pub(super) fn indent(self) -> f32 {
        self.depth.min(LEVELS_MAX) as f32 * LEVEL_POINTS + ARROW_POINTS
    }

    /// Returns the arrow's part of the first cell, which may be narrower than the indentation.
    pub(super) fn arrow(self, cell: Rect) -> Rect {
        let right = cell.left() + self.indent();
        Rect::from_x_y_ranges(right - ARROW_POINTS..=right, cell.y_range())
    }

    pub(super) fn paint_arrow(self, painter: &Painter, cell: Rect, color: Color32) {
        let Some(is_expanded) = self.is_expanded else { return };
        let middle = self.arrow(cell).center() + vec2(2.0, 0.0);
        let corners = [(-2.5, -4.0), (2.5, 0.0), (-2.5, 4.0)];
        let corner = |(x, y): (f32, f32)| middle + if is_expanded { vec2(y, x) } else { vec2(x, y) };
        let shape = egui::Shape::convex_polygon(corners.map(corner).to_vec(), color, Stroke::NONE);
        painter.with_clip_rect(cell.intersect(painter.clip_rect())).add(shape);
    }

    /// Returns whether a position is on the arrow.
    pub(super) fn is_on_arrow(self, cell: Rect, x: f32) -> bool {
        self.is_expanded.is_some() && self.arrow(cell).intersect(cell).contains(pos2(x, cell.center().y))
    }
}

/// Returns the effect of the pressed keys on the focused row. As in the tree views of desktops, Right shows its
/// children or moves to the first child. Left hides them or moves to the parent.
pub(super) fn key_step(ui: &Ui, rows: &dyn Rows, row: u64) -> Option<TreeStep> {
    let TreeRow { depth, is_expanded } = rows.tree_row(row)?;
    // Alt + Left leads back in the view history, and matches a plain Left.
    let has_modifiers = ui.input(|input| input.modifiers.any());
    let pressed = |key| {
        let is_pressed = !has_modifiers && ui.input_mut(|input| input.consume_key(Modifiers::NONE, key));
        if is_pressed {
            // In the first frame with the focus, egui would move it to another widget.
            ui.memory_mut(|memory| memory.move_focus(FocusDirection::None));
        }
        is_pressed
    };
    if pressed(Key::ArrowRight) {
        return match is_expanded {
            Some(true) => Some(TreeStep::Move(row + 1)),
            Some(false) => Some(TreeStep::Toggle),
            None => None,
        };
    }
    if pressed(Key::ArrowLeft) {
        let is_parent = |row: &u64| rows.tree_row(*row).is_some_and(|above| above.depth < depth);
        return match is_expanded {
            Some(true) => Some(TreeStep::Toggle),
            _ => (0..row).rev().find(is_parent).map(TreeStep::Move),
        };
    }
    ui.input(|input| input.events.iter().any(types_star)).then_some(TreeStep::ExpandAll)
}

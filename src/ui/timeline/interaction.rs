//! The state of the pointer and of held keys between frames.

use std::sync::Arc;

use egui::util::History;
use egui::{Key, Pos2, Rangef, Vec2};

use crate::scene::minimap::Grip;
use crate::scene::rows::GroupKind;
use crate::store::lane::RowIdx;
use crate::ui::command::RowCommand;
use crate::ui::selected_scope::SelectedScope;

/// The action of a drag.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Drag {
    Pan,
    /// Selects a time range from this time on; the tracks stay.
    Range(i64),
    /// Selects a time range and the tracks that the drag crosses.
    Scope(ScopeDrag),
    /// Selects the tracks whose names the drag crosses; the time range stays.
    Tracks(ScopeDrag),
    /// Moves the file of these rows, gripped at this time.
    File(GroupKind, i64),
    /// Moves a row within the list below its header.
    Row(RowDrag),
    /// Does nothing until the button is released.
    Cancelled,
}

/// The row that a drag moves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RowDrag {
    pub(super) kind: GroupKind,
    /// Whether it is moved among the pinned rows.
    pub(super) is_pinned: bool,
}

/// Where a dragged row will be put.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RowDrop {
    pub(super) command: RowCommand,
    /// Height of the line between the rows, from the top of all rows.
    pub(super) line_px: u64,
}

/// The start of a drag that selects time and tracks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ScopeDrag {
    pub(super) from_ns: i64,
    /// Vertical position in the window, in points.
    pub(super) from_y: f32,
    /// Scroll offset of the rows at the start.
    pub(super) scroll_px: f64,
}

/// The start of a drag of the scroll bar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ScrollGrip {
    /// Vertical position in the window, in points.
    pub(super) from_y: f32,
    /// Scroll offset of the rows at the start.
    pub(super) scroll_px: f64,
}

/// The target of a right click.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClickTarget {
    pub(super) row: Option<RowIdx>,
    pub(super) group: Option<GroupKind>,
    pub(super) ts_ns: i64,
}

/// A drag of a file in time.
#[derive(Debug, Clone)]
pub(super) struct FileOffsetDrag {
    pub(super) file: Arc<str>,
    pub(super) by_ns: i64,
}

/// An edge of a span, and where to show it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SpanEdge {
    pub(super) ts_ns: i64,
    /// Vertical range of its row in the window, in points.
    pub(super) y: Rangef,
}

pub(super) struct Interaction {
    drag: Drag,
    /// The scope at the start of a drag that changes it, until the button is released.
    scope_before: Option<SelectedScope>,
    /// Last positions of a drag, for its velocity: two are enough at any frame rate.
    positions: History<Pos2>,
    /// Held keys that move the view.
    held_keys: Vec<Key>,
    /// The gripped part of the minimap.
    pub(super) minimap_grip: Option<Grip>,
    pub(super) scroll_grip: Option<ScrollGrip>,
    pub(super) moved_file: Option<FileOffsetDrag>,
    row_drop: Option<RowDrop>,
    /// The target of the last right click.
    pub(super) clicked: Option<ClickTarget>,
    /// The position of the pointer on the rows.
    pub(super) pointer_x_px: Option<f64>,
    /// The edge to which the pointer snaps in this frame.
    pub(super) snapped: Option<SpanEdge>,
}

impl Default for Interaction {
    fn default() -> Self {
        Self {
            drag: Drag::Pan,
            scope_before: None,
            positions: History::new(2..100, 0.1),
            held_keys: Vec::new(),
            minimap_grip: None,
            scroll_grip: None,
            moved_file: None,
            row_drop: None,
            clicked: None,
            pointer_x_px: None,
            snapped: None,
        }
    }
}

impl Interaction {
    pub(super) fn drag(&self) -> Drag {
        self.drag
    }

    /// Starts a drag, or changes the action of the current one.
    pub(super) fn begin_drag(&mut self, drag: Drag) {
        self.drag = drag;
        self.positions.clear();
    }

    /// Ends the drag, once no button is down.
    pub(super) fn end_drag(&mut self) {
        (self.drag, self.scope_before, self.row_drop) = (Drag::Pan, None, None);
    }

    /// Keeps the scope of before a drag that changes it.
    pub(super) fn keep_scope(&mut self, before: SelectedScope) {
        self.scope_before = Some(before);
    }

    /// Returns whether a drag is changing the scope.
    pub(super) fn is_changing_scope(&self) -> bool {
        self.scope_before.is_some()
    }

    /// Returns the scope before the drag, and drops it.
    pub(super) fn take_scope_before(&mut self) -> Option<SelectedScope> {
        self.scope_before.take()
    }

    /// Adds a position of the drag, for its velocity.
    pub(super) fn add_position(&mut self, time_s: f64, at: Pos2) {
        self.positions.add(time_s, at);
    }

    /// Returns the velocity of the drag, in points per second.
    pub(super) fn velocity(&self) -> Vec2 {
        self.positions.velocity().unwrap_or_default()
    }

    pub(super) fn hold_key(&mut self, key: Key) {
        if !self.is_held(key) {
            self.held_keys.push(key);
        }
    }

    pub(super) fn is_held(&self, key: Key) -> bool {
        self.held_keys.contains(&key)
    }

    /// Drops keys that are no longer down.
    pub(super) fn release_keys(&mut self, is_down: impl Fn(Key) -> bool) {
        self.held_keys.retain(|key| is_down(*key));
    }

    /// Returns where the dragged row will be put.
    pub(super) fn row_drop(&self) -> Option<&RowDrop> {
        self.row_drop.as_ref()
    }

    pub(super) fn set_row_drop(&mut self, dropped: Option<RowDrop>) {
        self.row_drop = dropped;
    }

    /// Drops the files and edges of an earlier snapshot of the trace. The target of an open menu stays, with its row as
    /// `row_since` finds it.
    pub(super) fn update_snapshot(&mut self, row_since: impl FnOnce(RowIdx) -> Option<RowIdx>) {
        (self.moved_file, self.snapped) = (None, None);
        if let Some(clicked) = &mut self.clicked {
            clicked.row = clicked.row.and_then(row_since);
        }
    }
}

//! The state of the pointer and of held keys between frames.

use std::sync::Arc;

use egui::util::History;
use egui::{Key, Pos2, Vec2};

use crate::scene::minimap::Grip;
use crate::scene::rows::GroupKind;
use crate::store::lane::RowIdx;

/// The action of a drag until it ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Drag {
    /// A drag of the view.
    Move,
    /// Selects a range from this time on; the tracks stay.
    Range(i64),
    /// Selects time and the tracks that it crosses.
    Scope(ScopeDrag),
    /// Moves the file of these rows, grabbed at this time.
    File(GroupKind, i64),
}

/// The start of a drag that selects time and tracks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ScopeDrag {
    pub(super) from_ns: i64,
    /// The height in the window, in points.
    pub(super) from_y: f32,
    /// How far the rows were scrolled then.
    pub(super) scroll_px: f64,
}

/// The target of a right click.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClickTarget {
    pub(super) row: Option<RowIdx>,
    pub(super) group: Option<GroupKind>,
    pub(super) ts_ns: i64,
}

/// A file that a drag moves through time.
#[derive(Debug, Clone)]
pub(super) struct FileOffsetDrag {
    pub(super) file: Arc<str>,
    pub(super) by_ns: i64,
}

pub(super) struct Interaction {
    drag: Drag,
    /// The last positions of a drag: two of them give its speed, however slow the frames are.
    positions: History<Pos2>,
    /// The keys that move the view while they are held.
    held_keys: Vec<Key>,
    /// The part of the minimap that a drag holds.
    map_grip: Option<Grip>,
    moved_file: Option<FileOffsetDrag>,
    clicked: Option<ClickTarget>,
    /// The position of the pointer on the rows.
    pointer_x_px: Option<f64>,
}

impl Default for Interaction {
    fn default() -> Self {
        Self {
            drag: Drag::Move,
            positions: History::new(2..100, 0.1),
            held_keys: Vec::new(),
            map_grip: None,
            moved_file: None,
            clicked: None,
            pointer_x_px: None,
        }
    }
}

impl Interaction {
    pub(super) fn drag(&self) -> Drag {
        self.drag
    }

    /// Begins a drag, or turns the present one into another.
    pub(super) fn begin_drag(&mut self, drag: Drag) {
        self.drag = drag;
        self.positions.clear();
    }

    /// Adds a position of the drag, for its speed.
    pub(super) fn add_position(&mut self, time_s: f64, at: Pos2) {
        self.positions.add(time_s, at);
    }

    /// The speed of the drag, in points a second.
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

    /// Releases the keys that are not down any more.
    pub(super) fn release_keys(&mut self, is_down: impl Fn(Key) -> bool) {
        self.held_keys.retain(|key| is_down(*key));
    }

    pub(super) fn map_grip(&self) -> Option<Grip> {
        self.map_grip
    }

    pub(super) fn set_map_grip(&mut self, grip: Option<Grip>) {
        self.map_grip = grip;
    }

    pub(super) fn moved_file(&self) -> Option<&FileOffsetDrag> {
        self.moved_file.as_ref()
    }

    pub(super) fn set_moved_file(&mut self, moved: Option<FileOffsetDrag>) {
        self.moved_file = moved;
    }

    /// The target of the last right click.
    pub(super) fn clicked(&self) -> Option<ClickTarget> {
        self.clicked
    }

    pub(super) fn set_clicked(&mut self, target: ClickTarget) {
        self.clicked = Some(target);
    }

    pub(super) fn pointer_x_px(&self) -> Option<f64> {
        self.pointer_x_px
    }

    pub(super) fn set_pointer_x_px(&mut self, x_px: Option<f64>) {
        self.pointer_x_px = x_px;
    }

    /// Drops the rows and files of an earlier snapshot of the trace.
    pub(super) fn forget_rows(&mut self) {
        (self.moved_file, self.clicked) = (None, None);
    }
}

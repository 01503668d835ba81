//! The state of the pointer and of held keys between frames.

use std::sync::Arc;

use egui::{Key, Pos2};

use crate::scene::minimap::Grip;
use crate::scene::rows::GroupKind;
use crate::store::lane::RowIdx;

/// The action of a drag until it ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Drag {
    /// A drag of the view.
    Move,
    /// Selects a range from this time on.
    Range(i64),
    /// Moves the file of these rows, grabbed at this time.
    File(GroupKind, i64),
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
    pub(super) drag: Drag,
    /// The last positions of a drag: two of them give its speed, however slow the frames are.
    pub(super) hand: egui::util::History<Pos2>,
    /// The keys that move the view while they are held.
    pub(super) held: Vec<Key>,
    /// The part of the minimap that a drag holds.
    pub(super) map_grip: Option<Grip>,
    pub(super) moved_file: Option<FileOffsetDrag>,
    pub(super) clicked: Option<ClickTarget>,
    /// The position of the pointer on the rows.
    pub(super) pointer_x_px: Option<f64>,
}

impl Default for Interaction {
    fn default() -> Self {
        Self {
            drag: Drag::Move,
            hand: egui::util::History::new(2..100, 0.1),
            held: Vec::new(),
            map_grip: None,
            moved_file: None,
            clicked: None,
            pointer_x_px: None,
        }
    }
}

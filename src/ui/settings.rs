//! Values that the user chooses: how the view moves, what the ruler counts from, bounds of loads and of the cache.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The action of the wheel; with Ctrl the other one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub(crate) enum Wheel {
    /// The wheel scrolls the tracks.
    #[default]
    Scrolls,
    /// The wheel zooms at the pointer.
    Zooms,
}

/// The user's settings of how the view moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Navigation {
    pub(crate) wheel: Wheel,
    /// Kinetic panning: the view glides on after a drag.
    pub(crate) inertia: bool,
    /// Jumps are animated. Off for users who get motion sickness.
    pub(crate) animation: bool,
}

impl Default for Navigation {
    fn default() -> Self {
        Self { wheel: Wheel::default(), inertia: true, animation: true }
    }
}

impl Navigation {
    /// No motion of its own: for pictures, and for desktops that ask for reduced motion.
    pub(crate) const STILL: Self = Self { wheel: Wheel::Scrolls, inertia: false, animation: false };
}

/// The zero of the ruler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) enum RulerOrigin {
    /// The start of the trace.
    #[default]
    Start,
    /// The bookmark that was added or chosen last; the start of the trace where there is none.
    Mark,
    /// The zero of the trace's own clock.
    Clock,
    /// The ruler shows the time of day in UTC; the start of the trace where that is unknown.
    Utc,
}

/// Bounds that no menu can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// The most memory that one load holds.
    pub(crate) memory_bytes: u64,
    /// The most disk that the cache takes.
    pub(crate) cache_bytes: u64,
}

/// The place in which a second start of the program shows its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum SecondStart {
    /// A tab of the window that is open.
    #[default]
    Tab,
    /// A window of its own.
    Window,
}

/// The widths, the order and the columns that the user has given a table.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TableLayout {
    /// By column, in points; `None`: as wide as at first.
    pub(crate) widths: Vec<Option<u16>>,
    /// The column that rows are sorted by.
    pub(crate) sorted_by: Option<usize>,
    pub(crate) ascending: bool,
    /// The columns that the user has hidden. The first is never one of them.
    pub(crate) hidden: BTreeSet<usize>,
}

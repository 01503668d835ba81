//! User settings: navigation, origin of the ruler, limits of imports and of the cache.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The action of the wheel; Ctrl selects the other action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub(crate) enum Wheel {
    #[default]
    Scrolls,
    Zooms,
}

/// How the wheel, drags and zooms move the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Navigation {
    pub(crate) wheel: Wheel,
    /// Kinetic panning: the view keeps moving after a drag.
    pub(crate) inertia: bool,
    /// Animated jumps. Off for users who get motion sickness.
    pub(crate) animation: bool,
}

impl Default for Navigation {
    fn default() -> Self {
        Self { wheel: Wheel::default(), inertia: true, animation: true }
    }
}

impl Navigation {
    /// No animation: for pictures, and for desktops that request reduced motion.
    pub(crate) const STILL: Self = Self { wheel: Wheel::Scrolls, inertia: false, animation: false };
}

/// The zero of the ruler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) enum RulerOrigin {
    /// The start of the trace.
    #[default]
    Start,
    /// The bookmark added or selected last; the start of the trace without a bookmark.
    Mark,
    /// The zero of the trace's own clock.
    Clock,
    /// Time of day in UTC; the start of the trace if that is unknown.
    Utc,
}

/// Limits that are typed rather than chosen from a menu.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Memory limit of one import.
    pub(crate) memory_bytes: u64,
    /// Disk limit of the cache.
    pub(crate) cache_bytes: u64,
}

/// The window in which a second start of the program opens its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum SecondStart {
    /// A tab of the existing window.
    #[default]
    Tab,
    /// A separate window.
    Window,
}

/// The user's layout of a table: widths, sort order and hidden columns.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TableLayout {
    /// Width by column, in points; `None` for the default.
    pub(crate) widths: Vec<Option<u16>>,
    /// Index of the sort column; `None` for the default.
    pub(crate) sorted_by: Option<usize>,
    pub(crate) ascending: bool,
    /// The hidden columns; never the first.
    pub(crate) hidden: BTreeSet<usize>,
    /// Whether the user has chosen the columns, so that none is hidden for lack of space.
    pub(crate) has_chosen_columns: bool,
}

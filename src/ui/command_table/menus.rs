//! The menus of the menu bar, and their dynamic lists.

/// The menu of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Menu {
    File,
    Edit,
    View,
    Go,
    Rows,
    Analyze,
    Help,
}

impl Menu {
    /// The menus from left to right.
    pub(crate) const ALL: [Self; 7] =
        [Self::File, Self::Edit, Self::View, Self::Go, Self::Rows, Self::Analyze, Self::Help];

    /// Returns the title in the menu bar.
    #[must_use]
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::File => "File",
            Self::Edit => "Edit",
            Self::View => "View",
            Self::Go => "Go",
            Self::Rows => "Tracks",
            Self::Analyze => "Analyze",
            Self::Help => "Help",
        }
    }
}

/// A dynamic list in a menu.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MenuList {
    /// The traces that were opened last.
    Recent,
    SavedScopes,
}

//! A column of a table: its title, its meaning, its width and kind.

#[derive(Debug, Clone, Copy)]
pub(crate) struct TableColumn {
    pub(crate) title: &'static str,
    /// Default width in points. The first column takes the rest of the width, or this as a minimum.
    pub(crate) width: f32,
    pub(crate) is_number: bool,
    pub(crate) is_sortable: bool,
    /// Whether its texts are code, with letters of one width.
    pub(crate) is_code: bool,
    /// A sentence about its content, if the title does not state it; else empty.
    pub(crate) meaning: &'static str,
    /// The order in which columns that do not fit are hidden, greatest first; 0 for columns that stay.
    pub(crate) hide_rank: u8,
}

/// Width of a number column, enough for all leading digits.
pub(crate) const NUMBER_POINTS: f32 = 76.0;

impl TableColumn {
    /// Creates a sortable column of texts.
    pub(crate) const fn text(title: &'static str, width: f32) -> Self {
        Self { title, width, is_number: false, is_sortable: true, is_code: false, meaning: "", hide_rank: 0 }
    }

    /// Creates a sortable column of numbers.
    pub(crate) const fn number(title: &'static str, width: f32) -> Self {
        Self { is_number: true, ..Self::text(title, width) }
    }

    /// Returns the column with a header that does not sort.
    pub(crate) const fn unsortable(self) -> Self {
        Self { is_sortable: false, ..self }
    }

    /// Returns the column as one of code.
    pub(crate) const fn code(self) -> Self {
        Self { is_code: true, ..self }
    }

    /// Returns the column with a sentence about its content, the tooltip of its header.
    pub(crate) const fn meaning(self, meaning: &'static str) -> Self {
        Self { meaning, ..self }
    }

    /// Returns the column as one that is hidden where the columns do not fit, before columns of lower rank.
    pub(crate) const fn hide_rank(self, hide_rank: u8) -> Self {
        Self { hide_rank, ..self }
    }
}

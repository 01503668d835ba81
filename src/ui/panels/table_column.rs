//! A column of a table: its title, width and kind.

#[derive(Debug, Clone, Copy)]
pub(crate) struct TableColumn {
    pub(crate) title: &'static str,
    /// Default width in points. The first column takes the rest of the width, or this as a minimum.
    pub(crate) width: f32,
    pub(crate) is_number: bool,
    pub(crate) is_sortable: bool,
}

/// Width of a number column, enough for all leading digits.
pub(crate) const NUMBER_POINTS: f32 = 76.0;

impl TableColumn {
    /// Creates a sortable column of texts.
    pub(crate) const fn text(title: &'static str, width: f32) -> Self {
        Self { title, width, is_number: false, is_sortable: true }
    }

    /// Creates a sortable column of numbers.
    pub(crate) const fn number(title: &'static str, width: f32) -> Self {
        Self { title, width, is_number: true, is_sortable: true }
    }

    /// Returns the column with a header that does not sort.
    pub(crate) const fn unsortable(self) -> Self {
        Self { is_sortable: false, ..self }
    }
}

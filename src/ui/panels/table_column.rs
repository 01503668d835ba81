//! A column of a table: its title, width and kind.

#[derive(Debug, Clone, Copy)]
pub(crate) struct TableColumn {
    pub(crate) title: &'static str,
    /// Default width in points. The first column takes the rest of the width, or this as a minimum.
    pub(crate) width: f32,
    pub(crate) is_number: bool,
    pub(crate) is_sortable: bool,
}

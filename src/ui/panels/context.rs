//! The context of every panel: the theme, the form of copied cells, and the sizes that the preferences have.

use std::collections::BTreeMap;

use super::table::TableLook;

use crate::base::csv::Cells;
use crate::ui::settings::TableLayout;
use crate::ui::theme::Theme;

/// The theme, the form of copied cells and the kept sizes, for every panel.
#[derive(Clone, Copy)]
pub(crate) struct PanelContext<'a> {
    pub(crate) theme: &'a Theme,
    pub(crate) cells: Cells,
    /// The layouts of tables that the preferences have, by name.
    pub(crate) tables: &'a BTreeMap<String, TableLayout>,
    /// The height of the dock that the preferences have.
    pub(crate) dock_points: u16,
}

impl<'a> PanelContext<'a> {
    /// The look of a table of this name.
    pub(super) fn table(&self, name: &str, absence: Option<&'a str>) -> TableLook<'a> {
        TableLook { theme: self.theme, cells: self.cells, saved: self.tables.get(name), absence }
    }
}

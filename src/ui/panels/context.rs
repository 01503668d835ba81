//! The context of every panel: the theme, the format of copied cells, and saved sizes.

use std::cell::Cell;
use std::collections::BTreeMap;

use super::table::TableLook;

use crate::base::csv::Cells;
use crate::frame::lit::Lit;
use crate::ui::settings::TableLayout;
use crate::ui::theme::Theme;

#[derive(Clone, Copy)]
pub(crate) struct PanelContext<'a> {
    pub(crate) theme: &'a Theme,
    pub(crate) cells: Cells,
    /// The saved table layouts, by name.
    pub(crate) tables: &'a BTreeMap<String, TableLayout>,
    /// The saved height of the dock, in points.
    pub(crate) dock_points: u16,
    /// Where a panel puts the spans of its hovered row, to be lit on the tracks.
    pub(crate) lit: &'a Cell<Option<Lit>>,
}

impl<'a> PanelContext<'a> {
    /// Returns the look of the table with this name.
    pub(super) fn table(&self, name: &str, absence: Option<&'a str>) -> TableLook<'a> {
        TableLook { theme: self.theme, cells: self.cells, saved: self.tables.get(name), absence, lit: Some(self.lit) }
    }
}

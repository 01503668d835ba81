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
    /// Whether the answer of the panel belongs to its scope, so that its table can be copied.
    pub(crate) is_current: bool,
    /// Where a panel puts the spans of its hovered row, to be lit on the tracks.
    pub(crate) lit: &'a Cell<Option<Lit>>,
}

impl<'a> PanelContext<'a> {
    /// Returns the look of the table with this name.
    pub(super) fn table(&self, name: &str, absence: Option<&'a str>) -> TableLook<'a> {
        let Self { theme, cells, tables, is_current, lit, .. } = *self;
        TableLook { theme, cells, saved: tables.get(name), absence, is_current, lit: Some(lit) }
    }
}

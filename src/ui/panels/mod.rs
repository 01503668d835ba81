//! The panels beside the timeline, one file each, and their frame: the dock with its tabs, tables, numbers, the menu of a
//! value. A panel shows what it is given and returns commands.

pub(crate) mod bookmarks;
pub(crate) mod details;
pub(crate) mod dock;
mod elided;
pub(crate) mod flame;
pub(crate) mod keys;
pub(crate) mod losses;
mod name_rows;
mod number;
pub(crate) mod preferences;
pub(crate) mod search;
pub(crate) mod sources;
pub(crate) mod statistics;
mod table;
mod table_copy;
pub(crate) mod table_keys;
mod table_marks;
mod value_menu;

use std::collections::BTreeMap;

use number::Number;
use table::TableLook;

use super::settings::TableLayout;
use super::theme::Theme;
use crate::base::csv::Cells;

/// What every panel is shown with.
#[derive(Clone, Copy)]
pub(crate) struct PanelContext<'a> {
    pub(crate) theme: &'a Theme,
    /// How cells are copied.
    pub(crate) cells: Cells,
    /// The layouts of tables that the preferences have, by name.
    pub(crate) tables: &'a BTreeMap<String, TableLayout>,
    /// The height of the dock that the preferences have.
    pub(crate) dock_points: u16,
}

impl<'a> PanelContext<'a> {
    /// The look of a table of this name.
    fn table(&self, name: &str, absence: Option<&'a str>) -> TableLook<'a> {
        TableLook { theme: self.theme, cells: self.cells, kept: self.tables.get(name), absence }
    }
}

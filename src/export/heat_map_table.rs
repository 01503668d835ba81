//! The cells of a heat map as a table in a file: those that have spans, in order of time, then duration. The columns are
//! a contract with scripts.

use std::sync::Arc;

use super::error::SinkError;
use super::values::{TableSource, TableValue, TableValueWriter};
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::query::heat_map::{HeatCell, HeatCells, HeatMap};

/// The first time of a cell and the first after it, its shortest and longest duration, and its spans.
pub(crate) const HEAT_MAP_COLUMNS: [&str; 5] = ["from", "to", "least", "most", "count"];

/// A heat map in the rows that are written.
pub(crate) struct HeatMapTable {
    pub(crate) map: Arc<HeatMap>,
    pub(crate) cells: Arc<HeatCells>,
}

impl HeatMapTable {
    /// The values of each cell, in the order of the columns. Times are nanoseconds.
    pub(crate) fn values(&self) -> impl Iterator<Item = [TableValue<'static>; HEAT_MAP_COLUMNS.len()]> + '_ {
        self.cells.filled().map(|(HeatCell { column, row }, count)| {
            let (axis, (least, most)) = (&self.map.axis, self.cells.durations(row));
            let (from_ns, to_ns) = (axis.start_of(column), axis.start_of(column + 1));
            let times = [from_ns, to_ns].map(|ts_ns| TableValue::Whole(ts_ns.into()));
            let [from, to] = times;
            let [least, most, count] = [least, most, count].map(|number| TableValue::Whole(number.into()));
            [from, to, least, most, count]
        })
    }
}

impl TableSource for HeatMapTable {
    fn columns(&self) -> Vec<&'static str> {
        HEAT_MAP_COLUMNS.to_vec()
    }

    fn rows(&self) -> u64 {
        self.cells.filled().count() as u64
    }

    fn write(&self, table: &mut TableValueWriter<'_>, cancel: &Cancel, progress: &Progress) -> Result<(), SinkError> {
        for values in self.values() {
            cancel.check()?;
            table.row(&values)?;
            progress.advance(1);
        }
        Ok(())
    }
}

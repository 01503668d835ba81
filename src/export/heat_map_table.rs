//! The non-empty cells of a heat map as a table in a file, sorted by time, then duration. The columns are a contract
//! with scripts.

use std::sync::Arc;

use super::error::SinkError;
use super::values::{TableSource, TableValue, TableValueWriter, write_rows};
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::query::heat_map::{HeatCell, HeatCells, HeatMap};

/// First time of a cell and first after it, shortest and longest duration, and number of spans.
pub(crate) const HEAT_MAP_COLUMNS: [&str; 5] = ["from", "to", "least", "most", "count"];

/// A heat map with the rows to write.
pub(crate) struct HeatMapTable {
    pub(crate) map: Arc<HeatMap>,
    pub(crate) cells: Arc<HeatCells>,
}

impl HeatMapTable {
    /// Iterates over the values of each cell, in column order. Times are nanoseconds.
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
        write_rows(self.values(), table, cancel, progress)
    }
}

//! The counters of a scope as a table in a file. The columns are a contract with scripts.

use std::sync::Arc;

use super::error::SinkError;
use super::values::{TableSource, TableValue, TableValueWriter, write_rows};
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::model::Id;
use crate::query::Snapshot;
use crate::query::counters::{COUNTER_COLUMNS, CounterStats};

/// The counters to write, and their trace.
pub(crate) struct CounterTable {
    pub(crate) snapshot: Snapshot,
    pub(crate) counters: Arc<Vec<CounterStats>>,
}

impl TableSource for CounterTable {
    fn columns(&self) -> Vec<&'static str> {
        COUNTER_COLUMNS.to_vec()
    }

    fn rows(&self) -> u64 {
        self.counters.len() as u64
    }

    fn write(&self, table: &mut TableValueWriter<'_>, cancel: &Cancel, progress: &Progress) -> Result<(), SinkError> {
        write_rows(self.counters.iter().map(|counter| counter_values(&self.snapshot, counter)), table, cancel, progress)
    }
}

/// Returns the cells of a counter, in column order.
pub(crate) fn counter_values<'s>(
    snapshot: &'s Snapshot,
    counter: &CounterStats,
) -> [TableValue<'s>; COUNTER_COLUMNS.len()] {
    let track = snapshot.track(counter.track);
    let process = &*snapshot.tracks().processes[track.process.index()].name;
    let unit = snapshot.tracks().unit(counter.track);
    let pid = match &track.key.pid {
        Id::None => TableValue::Empty,
        Id::Number(number) => TableValue::Whole((*number).into()),
        Id::Text(text) => TableValue::Text((&**text).into()),
    };
    [
        TableValue::Text((&*track.name).into()),
        if process.is_empty() { TableValue::Empty } else { TableValue::Text(process.into()) },
        pid,
        TableValue::Whole(counter.samples.into()),
        TableValue::Float(counter.min),
        TableValue::Float(counter.max),
        TableValue::Float(counter.mean),
        TableValue::Float(counter.first),
        TableValue::Float(counter.last),
        TableValue::Float(counter.change()),
        counter.rate().map_or(TableValue::Empty, TableValue::Float),
        if unit.is_empty() { TableValue::Empty } else { TableValue::Text(unit.into()) },
    ]
}

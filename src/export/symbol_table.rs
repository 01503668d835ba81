//! The modules of a trace as a table in a file. The columns are a contract with scripts.

use std::sync::Arc;

use super::error::SinkError;
use super::values::{TableSource, TableValue, TableValueWriter, write_rows};
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::query::Snapshot;
use crate::symbols::report::ModuleReport;

pub(crate) const SYMBOL_COLUMNS: [&str; 9] =
    ["module", "build_id", "samples", "frames", "named", "state", "verified", "file", "command"];

/// The modules to write, and their trace.
pub(crate) struct SymbolTable {
    pub(crate) snapshot: Snapshot,
    pub(crate) modules: Arc<Vec<ModuleReport>>,
}

impl TableSource for SymbolTable {
    fn columns(&self) -> Vec<&'static str> {
        SYMBOL_COLUMNS.to_vec()
    }

    fn rows(&self) -> u64 {
        self.modules.len() as u64
    }

    fn write(&self, table: &mut TableValueWriter<'_>, cancel: &Cancel, progress: &Progress) -> Result<(), SinkError> {
        write_rows(self.modules.iter().map(|module| symbol_values(&self.snapshot, module)), table, cancel, progress)
    }
}

/// Returns the cells of a module, in column order.
pub(crate) fn symbol_values<'s>(
    snapshot: &'s Snapshot,
    report: &'s ModuleReport,
) -> [TableValue<'s>; SYMBOL_COLUMNS.len()] {
    let module = &snapshot.tracks().modules[report.module];
    let text = |text: Option<&'s str>| text.map_or(TableValue::Empty, |text| TableValue::Text(text.into()));
    let build_id = module.build_id.as_ref().map(ToString::to_string);
    [
        TableValue::Text((&*module.category).into()),
        build_id.map_or(TableValue::Empty, |id| TableValue::Text(id.into())),
        TableValue::Whole(report.samples.into()),
        TableValue::Whole(report.frames.into()),
        TableValue::Whole(report.named.into()),
        TableValue::Text(report.state.label().into()),
        text(report.is_verified.map(|is_verified| if is_verified { "yes" } else { "no" })),
        text(report.file.as_deref()),
        text(report.command.as_deref()),
    ]
}

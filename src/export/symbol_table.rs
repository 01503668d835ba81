//! The modules of a trace as a table in a file. The columns are a contract with scripts.

use super::values::TableValue;
use crate::query::Snapshot;
use crate::symbols::report::ModuleReport;

/// The columns of modules.
pub(crate) const SYMBOL_COLUMNS: [&str; 9] =
    ["module", "build_id", "samples", "frames", "named", "state", "verified", "file", "command"];

/// The cells of a module, in the order of the columns.
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

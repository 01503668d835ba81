//! `longspan stats --heat-map`: the spans of a scope by start and duration.

use std::sync::Arc;

use super::args::ImportArgs;
use super::empty_answers::say_no_spans;
use super::error::CliError;
use super::progress_line::ProgressLine;
use super::scope::ScopeArgs;
use super::stdout::to_stdout;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::export::check;
use crate::export::heat_map_table::{HEAT_MAP_COLUMNS, HeatMapTable};
use crate::export::table::RowFormat;
use crate::export::values::TableValueWriter;
use crate::query::Snapshot;
use crate::query::heat_map::{HeatMapAxis, HeatMapGrid, heat_map};

/// Prints the cells of a heat map that have spans.
pub(super) fn print(
    snapshot: &Snapshot,
    scope: &ScopeArgs,
    grid: HeatMapGrid,
    format: RowFormat,
    import: &ImportArgs,
) -> Result<(), CliError> {
    let in_scope = scope.on(snapshot)?;
    let (from_ns, to_ns) = (snapshot.start_ns(), snapshot.end_ns().saturating_add(1));
    let (from_ns, to_ns) = (in_scope.from_ns.unwrap_or(from_ns), in_scope.to_ns.unwrap_or(to_ns));
    let axis = HeatMapAxis::new(from_ns, to_ns, grid.columns);
    let progress = Progress::default();
    let line = ProgressLine::start(&progress, import.progress);
    let counted = heat_map(snapshot, &in_scope, axis, &Cancel::default(), &progress);
    drop(line);
    check(snapshot.store())?;
    let Ok(map) = counted else { return Ok(()) }; // never cancelled
    if map.spans == 0 {
        say_no_spans(snapshot, scope);
    }
    let cells = Arc::new(map.cells(grid.octave_log2));
    let table = HeatMapTable { map: Arc::new(map), cells };
    to_stdout(|out| {
        let mut rows = TableValueWriter::begin(out, format.into(), &HEAT_MAP_COLUMNS)?;
        for values in table.values() {
            rows.row(&values)?;
        }
        rows.end()?;
        Ok(())
    })
}

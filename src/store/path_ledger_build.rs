//! Builds the path ledger of a completely written store: of whole histograms if they fit, else of pruned ones. Memory
//! is bounded by a budget; if neither fits, the store gets no path ledger.

use std::io;

use super::append::AppendFile;
use super::lane::LaneIdx;
use super::ledger_build::{LedgerContext, span_rows, span_tracks};
use super::path_bands::PathMemoryPlan;
use super::path_ledger::PathLedgerIndex;
use super::pruned_path_build;
use super::read::Store;
use super::slice_bounds::slice_bounds;
use super::whole_path_build::{self, WholePaths};

/// Builds the path ledger of all spans of `store`, whose file `out` appends to. Returns `None` for few spans, if the
/// budget is too small, or if cancelled.
///
/// # Errors
/// Returns the I/O error of a failed write.
pub(super) fn build(
    store: &Store,
    context: &LedgerContext<'_>,
    out: &mut AppendFile,
) -> io::Result<Option<PathLedgerIndex>> {
    let (rows, lanes) = span_rows(store);
    // A slice starts with the open spans, as in the ledger by name.
    let open_rows = 4 * lanes;
    if rows < context.paths.rows_min.max(open_rows).max(1) {
        return Ok(None);
    }
    let Some(plan) = PathMemoryPlan::new(context, open_rows) else { return Ok(None) };
    let lanes = || span_tracks(store).flat_map(|(_, lanes)| lanes).map(|lane| store.lane(LaneIdx(lane)));
    let bounds_ns = slice_bounds(lanes, plan.slice_rows);
    match whole_path_build::build(store, context, &plan, &bounds_ns, out)? {
        WholePaths::Built(index) => Ok(Some(index)),
        WholePaths::TooMany => pruned_path_build::build(store, context, &plan, &bounds_ns, out),
        WholePaths::None => Ok(None),
    }
}

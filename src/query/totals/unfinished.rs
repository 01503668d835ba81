//! The spans of a scope without an end in the trace: at most one per lane, its last.

use crate::base::cancel::{Cancel, Cancelled};
use crate::query::cursor::LaneCursor;
use crate::query::scan::LaneScan;
use crate::query::scope::Scope;
use crate::query::snapshot::Snapshot;
use crate::store::details::DetailReader;
use crate::store::{LaneIdx, Span};

/// Calls `each` for the matching spans of a scope without an end, in lane order. Visits each lane, and reads a block or
/// two if the lane ends in such a span. Returns `Cancelled` if cancelled.
pub(super) fn each_unfinished(
    snapshot: &Snapshot,
    scope: &Scope,
    cancel: &Cancel,
    mut each: impl FnMut(LaneIdx, Span),
) -> Result<(), Cancelled> {
    let matcher = &scope.matcher;
    let mut reader = DetailReader::default();
    for (number, index) in scope.lanes(snapshot, matcher).enumerate() {
        if number.is_multiple_of(1024) {
            cancel.check()?;
        }
        let lane = snapshot.store().lane(index);
        let Some(last) = lane.rows().checked_sub(1).filter(|&last| lane.is_unfinished(last)) else { continue };
        let scan = LaneScan::new(snapshot, matcher, scope, index);
        if !scan.rows.contains(&last) {
            continue;
        }
        let Some((rows, mask)) = scan.block_at(last, &mut reader) else { continue };
        if mask >> (last - rows.start) & 1 != 0
            && let Some(span) = LaneCursor::new(snapshot.store(), index).span(last)
        {
            each(index, span);
        }
    }
    Ok(())
}

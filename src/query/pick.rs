//! Finds the row under a point of the timeline.

use super::cursor::LaneCursor;
use super::open_end::open_end;
use super::snapshot::Snapshot;
use crate::store::{LaneIdx, RowIdx};

/// Returns the row of a lane at `ts_ns`, or else the nearest within `tolerance_ns`, so that spans of less than a pixel
/// can be picked.
///
/// If several spans lie within the tolerance and none under the point, returns the longest, since no other is drawn. A
/// span without an end lasts up to the end of the trace here, as it is drawn.
#[must_use]
pub fn row_at(snapshot: &Snapshot, lane: LaneIdx, ts_ns: i64, tolerance_ns: u64) -> Option<RowIdx> {
    let mut cursor = LaneCursor::new(snapshot.store(), lane);
    let after = cursor.first_after(ts_ns);
    let under = after.row.checked_sub(1);
    if let Some(row) = under
        && cursor.span(row).is_some_and(|span| span.end_ns() > ts_ns || span.start_ns == ts_ns)
    {
        return Some(RowIdx { lane, row });
    }
    let from = cursor.first_from(ts_ns.saturating_sub_unsigned(tolerance_ns));
    let to = cursor.first_after(ts_ns.saturating_add_unsigned(tolerance_ns));
    let near = cursor.longest(from, to).map(|(position, _)| position.row);
    let reaching = under.filter(|&row| {
        cursor.span(row).is_some_and(|span| span.end_ns().saturating_add_unsigned(tolerance_ns) > ts_ns)
    });
    let near = near.or(reaching).map(|row| RowIdx { lane, row });
    let open = || open_end(snapshot, lane).filter(|open| (open.from_ns..=open.to_ns).contains(&ts_ns));
    near.or_else(|| open().map(|open| open.row))
}

/// Returns the start or the end of a row of a lane nearest to `ts_ns`. The end of a span without an end is unknown.
///
/// Equivalent to the minimum over all rows: since they do not overlap, it is at the row before or at the row after.
#[must_use]
pub(crate) fn nearest_edge_ns(snapshot: &Snapshot, lane: LaneIdx, ts_ns: i64) -> Option<i64> {
    let mut cursor = LaneCursor::new(snapshot.store(), lane);
    let after = cursor.first_after(ts_ns).row;
    let before = after.checked_sub(1).and_then(|row| cursor.span(row));
    let end_ns = before.filter(|span| !span.unfinished).map(|span| span.end_ns());
    let starts = [before, cursor.span(after)].into_iter().flatten().map(|span| span.start_ns);
    starts.chain(end_ns).min_by_key(|edge_ns| edge_ns.abs_diff(ts_ns))
}

/// Returns the number of rows of a lane that start in `from_ns..to_ns`.
#[must_use]
pub(crate) fn rows_starting(snapshot: &Snapshot, lane: LaneIdx, from_ns: i64, to_ns: i64) -> u64 {
    let mut cursor = LaneCursor::new(snapshot.store(), lane);
    let from = cursor.first_from(from_ns);
    cursor.first_from(to_ns).row.saturating_sub(from.row)
}

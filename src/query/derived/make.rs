//! Builds the series of a derived track, one part of the time after the other. One thread sorts a part in memory while
//! earlier parts are written.

use rayon::prelude::*;

use super::counter_changes::counter_lanes;
use super::definition::DerivedKind;
use super::lane_rows::LaneRows;
use super::part_points::{RowNumber, part_points};
use super::points::{DerivedSeries, PartPoints, PointWriter, ShownValue};
use super::room::{DerivedError, DerivedRoom};
use super::running::PointMeaning;
use super::time_parts::{TimePart, time_parts};
use crate::base::cancel::Cancel;
use crate::base::progress::{Progress, Stage};
use crate::query::scan::LaneScan;
use crate::query::scope::Scope;
use crate::query::snapshot::Snapshot;
use crate::store::LaneIdx;

/// Parts per thread in progress, so that no thread waits long for the others.
const PARTS_PER_THREAD: usize = 4;

/// Maximum bytes per row of a part: its times twice while they are sorted, and two points.
const ROW_BYTES: u64 = 64;

/// Builds the series of the rows of `scope`. `progress` counts rows.
///
/// Rows count at their starts within the time range. For concurrency, spans count where they overlap the range, and
/// zero-length spans do not count. A span without an end lasts to the end of the trace. Counters start with their
/// current value. Returns an error if cancelled, or if a temporary file cannot be written.
pub(crate) fn derive(
    snapshot: &Snapshot,
    scope: &Scope,
    kind: &DerivedKind,
    room: &DerivedRoom,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<DerivedSeries, DerivedError> {
    let scope = Scope { spans_only: scope.spans_only || kind.is_of_spans(), ..scope.clone() };
    let (number, meaning, shown) = match kind {
        DerivedKind::Count => (RowNumber::One, PointMeaning::RowsSoFar, ShownValue::Plain),
        DerivedKind::Rate => (RowNumber::One, PointMeaning::RowsSoFar, ShownValue::PerSecond),
        DerivedKind::Concurrency => (RowNumber::OpenAndClose, PointMeaning::Open, ShownValue::Plain),
        DerivedKind::Busy => (RowNumber::OpenAndClose, PointMeaning::OpenTime, ShownValue::Plain),
        DerivedKind::MaxDuration => (RowNumber::Longest, PointMeaning::Longest, ShownValue::Plain),
        DerivedKind::Quantile(percent) => {
            (RowNumber::Duration, PointMeaning::Durations, ShownValue::Quantile(*percent))
        }
        DerivedKind::Sum(path) => (RowNumber::Argument(path), PointMeaning::Sum, ShownValue::Plain),
        DerivedKind::CounterSum(_) => (RowNumber::Change, PointMeaning::Level, ShownValue::Plain),
    };
    let every_row = Scope::from_range(scope.from_ns, scope.to_ns);
    let lanes = match kind {
        DerivedKind::CounterSum(name) => counter_lanes(snapshot, (&scope, &every_row), name),
        _ => lanes_of(snapshot, &scope, matches!(number, RowNumber::OpenAndClose)),
    };
    let rows_of = |scan: &LaneScan<'_>| scan.rows.end - scan.rows.start;
    progress.begin(Stage::Counting, lanes.iter().map(|lane| rows_of(&lane.scan)).sum());

    let at_once = rayon::current_num_threads() * PARTS_PER_THREAD;
    // Each part searches all lanes, so a part has at least four rows per lane.
    let rows_max = (room.held_bytes / (at_once as u64 * ROW_BYTES)).clamp(16, 1 << 18).max(4 * lanes.len() as u64);
    let scans: Vec<&LaneScan<'_>> = lanes.iter().map(|lane| &lane.scan).collect();
    let parts = time_parts(&scans, rows_max, scope.from_ns.unwrap_or(i64::MIN), cancel)?;
    let make = |&part: &TimePart| {
        let points = part_points((snapshot, &scope), &lanes, part, number, cancel)?;
        progress.advance(points.judged);
        progress.add_events(points.rows);
        Ok::<_, DerivedError>(points)
    };
    let mut writer = PointWriter::new(meaning, room)?;
    let mut made: Vec<PartPoints> = Vec::new();
    for parts in parts.chunks(at_once) {
        let ready = std::mem::take(&mut made);
        let make = || parts.par_iter().map(make).collect::<Result<Vec<_>, _>>();
        let (written, more) = rayon::join(|| writer.push_parts(ready), make);
        written?;
        made = more?;
    }
    writer.push_parts(made)?;
    let from_ns = scope.from_ns.unwrap_or(i64::MIN).max(snapshot.start_ns());
    let last_ns = scope.to_ns.map_or(i64::MAX, |to_ns| to_ns.saturating_sub(1)).min(snapshot.end_ns());
    writer.finish(shown, (from_ns, last_ns.max(from_ns)), cancel)
}

/// Returns the lanes with rows in scope. With `with_open`, a span that reaches in from before is such a row.
fn lanes_of<'a>(snapshot: &'a Snapshot, scope: &'a Scope, with_open: bool) -> Vec<LaneRows<'a>> {
    let lanes: Vec<LaneIdx> = scope.lanes(snapshot, &scope.matcher).collect();
    let rows = lanes.par_iter().map(|&lane| {
        LaneRows::with_open_row(if with_open {
            LaneScan::with_open_end(snapshot, &scope.matcher, scope, lane)
        } else {
            (LaneScan::from_starts(snapshot, &scope.matcher, scope, lane), None)
        })
    });
    rows.filter(|rows| !rows.scan.rows.is_empty()).collect()
}

//! The changes of counters in a time range: minus the previous value, plus the new one. A non-finite value counts as
//! zero. At the start of a scope, each counter has its current value.

use rustc_hash::FxHashSet;

use super::lane_rows::LaneRows;
use super::points::PartPoints;
use super::time_parts::TimePart;
use crate::base::cancel::{Cancel, Cancelled};
use crate::model::counter_unit::unit_in_name;
use crate::query::scan::LaneScan;
use crate::query::scope::Scope;
use crate::query::snapshot::Snapshot;
use crate::query::time_sort::{TimedValue, sort_by_time};
use crate::store::block::BLOCK_ROWS;
use crate::store::details::DetailReader;
use crate::store::{LaneIdx, LaneKind};

/// Returns the lanes of the counters with a name. Each has the rows of the scope and the row before them. `every_row`
/// is a scope without a filter, because row filters do not apply to counters.
pub(super) fn counter_lanes<'a>(
    snapshot: &'a Snapshot,
    (scope, every_row): (&Scope, &'a Scope),
    name: &str,
) -> Vec<LaneRows<'a>> {
    let lanes = named_counters(snapshot, scope, name).into_iter();
    let scans = lanes.map(|lane| LaneScan::from_starts(snapshot, &every_row.matcher, every_row, lane));
    let with_held = scans.map(|scan| scan.with_rows(scan.rows.start.saturating_sub(1)..scan.rows.end));
    with_held.filter(|scan| !scan.rows.is_empty()).map(LaneRows::new).collect()
}

/// Returns whether the sum of a name has any counters of the trace.
#[must_use]
pub(super) fn has_counter(snapshot: &Snapshot, name: &str) -> bool {
    !named_counters(snapshot, &Scope::default(), name).is_empty()
}

/// Returns the counters of a scope with a name. If there are none, the name may lack the unit of the counters, as `rss`
/// for `rss (KB)`. No counters are returned if these have several units, whose sum would mean nothing.
fn named_counters(snapshot: &Snapshot, scope: &Scope, name: &str) -> Vec<LaneIdx> {
    let (mut exact, mut without_unit, mut units) = (Vec::new(), Vec::new(), FxHashSet::default());
    for lane in (0..snapshot.store().lane_count()).map(LaneIdx) {
        let info = snapshot.lane(lane);
        if info.kind != LaneKind::Counter || !scope.has_track(info.track) {
            continue;
        }
        let (track, tables) = (snapshot.track(info.track), snapshot.tracks());
        let names = [&*track.name, &*track.key.name];
        if names.contains(&name) || tables.name_with_unit(info.track) == name {
            exact.push(lane);
        } else if let Some(unit) = names.iter().find_map(|full| unit_after(full, name)) {
            without_unit.push(lane);
            units.insert(unit);
        }
    }
    match (exact.is_empty(), units.len()) {
        (false, _) => exact,
        (true, 1) => without_unit,
        (true, _) => Vec::new(),
    }
}

/// Returns the unit of a full name that is `name` with a unit in brackets.
fn unit_after<'a>(full: &'a str, name: &str) -> Option<&'a str> {
    let bracketed = full.strip_prefix(name)?.strip_prefix(" (")?.strip_suffix(')')?;
    unit_in_name(full).filter(|&unit| unit == bracketed)
}

/// Returns the changes in a part; changes at one time are in the order of the counters. Every value is a row. Returns
/// `Cancelled` if cancelled.
pub(super) fn counter_changes(
    scope: &Scope,
    lanes: &[LaneRows<'_>],
    part: TimePart,
    cancel: &Cancel,
) -> Result<PartPoints, Cancelled> {
    let (mut changes, mut reader) = (Vec::new(), DetailReader::default());
    let (mut rows_in_all, mut judged) = (0, 0);
    for lane in lanes {
        let rows = part.rows_of(&lane.scan);
        judged += rows.end - rows.start;
        let first = rows.start.saturating_sub(1).max(lane.scan.rows.start);
        let mut previous_value = 0.0;
        let mut change = |ts_ns: i64, from: f64, to: f64| {
            let changes_of = [-from, to].into_iter().filter(|&change| change != 0.0);
            changes.extend(changes_of.map(|change| TimedValue { ts_ns, value: change.to_bits() }));
        };
        lane.blocks(first..rows.end, &mut reader, cancel, |hits| {
            let (mut starts, mut values) = ([0; BLOCK_ROWS], [0; BLOCK_ROWS]);
            hits.block.times(&mut starts, &mut values);
            for slot in hits.slots() {
                let value = f64::from_bits(values[slot]);
                let value = if value.is_finite() { value } else { 0.0 };
                if hits.first_row + slot as u64 >= rows.start {
                    change(
                        scope.from_ns.map_or(starts[slot], |from_ns| starts[slot].max(from_ns)),
                        previous_value,
                        value,
                    );
                    rows_in_all += 1;
                }
                previous_value = value;
            }
        })?;
        if let Some(to_ns) = scope.to_ns.filter(|_| part.to_ns.is_none()) {
            change(to_ns, previous_value, 0.0);
        }
    }
    sort_by_time(&mut changes, &mut Vec::new());
    Ok(PartPoints { points: changes, rows: rows_in_all, judged })
}

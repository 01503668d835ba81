//! Computes the points of one time part of a derived track: the rows of all lanes that start in it, in time order.
//! Running values start at zero in each part. Reads each row once, plus one more row per lane where spans may be open.

use super::counter_changes::counter_changes;
use super::lane_rows::LaneRows;
use super::points::PartPoints;
use super::time_parts::TimePart;
use crate::base::cancel::{Cancel, Cancelled};
use crate::model::args::Detail;
use crate::query::argument_path::ArgumentPath;
use crate::query::scan::BlockHits;
use crate::query::scope::Scope;
use crate::query::snapshot::Snapshot;
use crate::query::time_sort::{TimedValue, sort_by_time};
use crate::store::DetailRef;
use crate::store::block::BLOCK_ROWS;
use crate::store::details::DetailReader;

/// The number that a row contributes.
#[derive(Debug, Clone, Copy)]
pub(super) enum RowNumber<'a> {
    /// One at its start.
    One,
    /// Plus one at its start, minus one at its end.
    OpenAndClose,
    /// The longest duration at each start.
    Longest,
    Duration,
    Argument(&'a ArgumentPath),
    /// The change from the previous value.
    Change,
}

/// Returns the points of a part, or `Cancelled` if cancelled.
pub(super) fn part_points(
    (snapshot, scope): (&Snapshot, &Scope),
    lanes: &[LaneRows<'_>],
    part: TimePart,
    number: RowNumber<'_>,
    cancel: &Cancel,
) -> Result<PartPoints, Cancelled> {
    match number {
        RowNumber::One => starts(lanes, part, cancel),
        RowNumber::OpenAndClose => open_spans((snapshot, scope), lanes, part, cancel),
        RowNumber::Longest => {
            let mut made = valued(lanes, part, cancel, durations)?;
            made.points.dedup_by(|entry, previous| {
                previous.value =
                    if entry.ts_ns == previous.ts_ns { previous.value.max(entry.value) } else { previous.value };
                entry.ts_ns == previous.ts_ns
            });
            Ok(made)
        }
        RowNumber::Duration => valued(lanes, part, cancel, durations),
        RowNumber::Change => counter_changes(scope, lanes, part, cancel),
        RowNumber::Argument(path) => {
            let mut reader = DetailReader::default();
            let mut made = valued(lanes, part, cancel, |hits, entries| {
                let mut starts = [0; BLOCK_ROWS];
                hits.block.starts(&mut starts);
                for slot in hits.slots() {
                    let blob = snapshot.store().detail(DetailRef(hits.block.detail(slot)), &mut reader);
                    let value = argument(Detail::decode(blob).args_json, path);
                    entries.extend(value.map(|value| TimedValue { ts_ns: starts[slot], value: value.to_bits() }));
                }
            })?;
            made.points.dedup_by(|entry, previous| {
                let is_same = entry.ts_ns == previous.ts_ns;
                if is_same {
                    previous.value = (f64::from_bits(previous.value) + f64::from_bits(entry.value)).to_bits();
                }
                is_same
            });
            Ok(made)
        }
    }
}

fn durations(hits: &BlockHits<'_>, entries: &mut Vec<TimedValue>) {
    let (mut starts, mut values) = ([0; BLOCK_ROWS], [0; BLOCK_ROWS]);
    hits.block.times(&mut starts, &mut values);
    entries.extend(hits.slots().map(|slot| TimedValue { ts_ns: starts[slot], value: values[slot] }));
}

/// Counts the rows that have started, at each start.
fn starts(lanes: &[LaneRows<'_>], part: TimePart, cancel: &Cancel) -> Result<PartPoints, Cancelled> {
    let (mut times, mut reader, mut judged) = (Vec::new(), DetailReader::default(), 0);
    for lane in lanes {
        let rows = part.rows_of(&lane.scan);
        judged += rows.end - rows.start;
        lane.blocks(rows, &mut reader, cancel, |hits| {
            let mut starts = [0; BLOCK_ROWS];
            hits.block.starts(&mut starts);
            if hits.mask == u64::MAX {
                times.extend_from_slice(&starts);
            } else {
                times.extend(hits.slots().map(|slot| starts[slot]));
            }
        })?;
    }
    sort_by_time(&mut times, &mut Vec::new());
    let mut points: Vec<TimedValue> = Vec::with_capacity(times.len());
    for (&ts_ns, value) in times.iter().zip(1u64..) {
        match points.last_mut().filter(|last| last.ts_ns == ts_ns) {
            Some(last) => last.value = value,
            None => points.push(TimedValue { ts_ns, value }),
        }
    }
    Ok(PartPoints { rows: times.len() as u64, points, judged })
}

/// Counts the spans that are open from each time on, relative to the start of the part; negative numbers wrap.
fn open_spans(
    (snapshot, scope): (&Snapshot, &Scope),
    lanes: &[LaneRows<'_>],
    part: TimePart,
    cancel: &Cancel,
) -> Result<PartPoints, Cancelled> {
    let (mut begins, mut ends, mut reader) = (Vec::new(), Vec::new(), DetailReader::default());
    let mut judged = 0;
    for lane in lanes {
        let rows = part.rows_of(&lane.scan);
        judged += rows.end - rows.start;
        // Spans of a lane do not overlap: among earlier spans, only the last may still be open.
        let first = rows.start.saturating_sub(1).max(lane.scan.rows.start);
        lane.blocks(first..rows.end, &mut reader, cancel, |hits| {
            let (mut starts, mut values) = ([0; BLOCK_ROWS], [0; BLOCK_ROWS]);
            hits.block.times(&mut starts, &mut values);
            for slot in hits.slots() {
                let from_ns = scope.from_ns.map_or(starts[slot], |from_ns| starts[slot].max(from_ns));
                let row = hits.first_row + slot as u64;
                let end_ns = match lane.open_row {
                    Some(open) if open == row => snapshot.end_ns(),
                    _ => starts[slot].saturating_add_unsigned(values[slot]),
                };
                let to_ns = scope.to_ns.map_or(end_ns, |to_ns| end_ns.min(to_ns));
                if from_ns >= to_ns {
                    continue;
                }
                if row >= rows.start {
                    begins.push(from_ns);
                }
                if part.contains(to_ns) {
                    ends.push(to_ns);
                }
            }
        })?;
    }
    let rows = begins.len() as u64;
    let mut scratch = Vec::new();
    sort_by_time(&mut begins, &mut scratch);
    sort_by_time(&mut ends, &mut scratch);
    Ok(PartPoints { points: merged(&begins, &ends), rows, judged })
}

/// Merges sorted begins and ends into running counts.
fn merged(mut begins: &[i64], mut ends: &[i64]) -> Vec<TimedValue> {
    let mut points = Vec::with_capacity(begins.len() + ends.len());
    let mut open = 0u64;
    while let Some(ts_ns) = [begins.first(), ends.first()].into_iter().flatten().copied().min() {
        while let Some((_, rest)) = begins.split_first().filter(|(first, _)| **first == ts_ns) {
            (begins, open) = (rest, open.wrapping_add(1));
        }
        while let Some((_, rest)) = ends.split_first().filter(|(first, _)| **first == ts_ns) {
            (ends, open) = (rest, open.wrapping_sub(1));
        }
        points.push(TimedValue { ts_ns, value: open });
    }
    points
}

/// Returns the rows with their values.
fn valued(
    lanes: &[LaneRows<'_>],
    part: TimePart,
    cancel: &Cancel,
    mut take: impl FnMut(&BlockHits<'_>, &mut Vec<TimedValue>),
) -> Result<PartPoints, Cancelled> {
    let (mut entries, mut reader, mut judged) = (Vec::new(), DetailReader::default(), 0);
    for lane in lanes {
        let rows = part.rows_of(&lane.scan);
        judged += rows.end - rows.start;
        lane.blocks(rows, &mut reader, cancel, |hits| take(hits, &mut entries))?;
    }
    let rows = entries.len() as u64;
    // The sort is stable, so values at one time are added in lane order in every run.
    sort_by_time(&mut entries, &mut Vec::new());
    Ok(PartPoints { points: entries, rows, judged })
}

/// Returns the number of an argument, if there is one.
fn argument(args_json: &str, path: &ArgumentPath) -> Option<f64> {
    let args = serde_json::from_str(args_json).ok()?;
    path.find(&args)?.as_f64().filter(|number| number.is_finite())
}

//! Makes the curve of a derived track: one pass over the matching rows of a scope, its lanes in parallel.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use serde_json::Value;

use super::definition::DerivedKind;
use super::entries::{EntrySorter, TimedValue};
use super::points::{DerivedSeries, PointMeaning, PointWriter};
use super::room::{DerivedError, DerivedRoom};
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::model::args::Detail;
use crate::query::scan::{BlockHits, LaneScan, judge_extents};
use crate::query::scope::Scope;
use crate::query::snapshot::Snapshot;
use crate::store::block::BLOCK_ROWS;
use crate::store::details::DetailReader;
use crate::store::{DetailRef, LaneIdx, LaneKind};

/// Extents that one thread takes at once: 64 Ki rows.
const EXTENTS_AT_ONCE: usize = 16;

/// The number that a row adds.
#[derive(Clone, Copy)]
enum RowNumber<'a> {
    /// One at its start.
    One,
    /// One at its start, and one less at its end.
    OpenAndClose,
    Duration,
    Argument(&'a [String]),
}

/// Makes the curve of the rows of `scope`. `progress` counts rows.
///
/// Of a range of time, rows count at their starts in it; for concurrency, spans count as far as they lie in it. A span
/// without duration is open at no time.
///
/// # Errors
/// If it was asked to stop, or a temporary file cannot be written.
pub(crate) fn derive(
    snapshot: &Snapshot,
    scope: &Scope,
    kind: &DerivedKind,
    room: &DerivedRoom,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<DerivedSeries, DerivedError> {
    let scope = Scope { spans_only: scope.spans_only || kind.is_of_spans(), ..scope.clone() };
    let (number, meaning) = match kind {
        DerivedKind::Count | DerivedKind::Rate => (RowNumber::One, PointMeaning::RowsSoFar),
        DerivedKind::Concurrency => (RowNumber::OpenAndClose, PointMeaning::Open),
        DerivedKind::MaxDuration => (RowNumber::Duration, PointMeaning::Longest),
        DerivedKind::Sum(path) => (RowNumber::Argument(path), PointMeaning::Sum),
    };
    let (sorter, rows) = gather(snapshot, &scope, number, room, cancel, progress)?;
    let mut points = PointWriter::new(meaning, room)?;
    sorter.merge(cancel, |entry| {
        let last = points.last();
        let same = last.filter(|last| last.ts_ns == entry.ts_ns).map(|last| last.value);
        let value = match meaning {
            PointMeaning::RowsSoFar => last.map_or(0, |last| last.value) + entry.value,
            // An end is the same as one less.
            PointMeaning::Open => last.map_or(0, |last| last.value).wrapping_add(entry.value),
            PointMeaning::Longest => same.unwrap_or(0).max(entry.value),
            PointMeaning::Sum => (f64::from_bits(same.unwrap_or(0)) + f64::from_bits(entry.value)).to_bits(),
        };
        Ok::<(), DerivedError>(points.push(TimedValue { ts_ns: entry.ts_ns, value })?)
    })?;
    let from_ns = scope.from_ns.unwrap_or(i64::MIN).max(snapshot.start_ns());
    let last_ns = scope.to_ns.map_or(i64::MAX, |to_ns| to_ns.saturating_sub(1)).min(snapshot.end_ns());
    points.finish((*kind == DerivedKind::Rate, rows), (from_ns, last_ns.max(from_ns)), cancel)
}

/// Reads the matching rows of all lanes; returns their entries and their number.
fn gather(
    snapshot: &Snapshot,
    scope: &Scope,
    number: RowNumber<'_>,
    room: &DerivedRoom,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<(EntrySorter, u64), DerivedError> {
    let lanes: Vec<LaneIdx> = scope.lanes(snapshot, &scope.matcher).collect();
    let with_open = matches!(number, RowNumber::OpenAndClose);
    let scan_of = if with_open { LaneScan::new } else { LaneScan::from_starts };
    let scans = lanes.par_iter().map(|&lane| scan_of(snapshot, &scope.matcher, scope, lane));
    let scans: Vec<LaneScan<'_>> = scans.filter(|scan| !scan.rows.is_empty()).collect();
    let sorter = Mutex::new((EntrySorter::new(room.folder.clone(), room.held_bytes), 0));
    judge_extents(&scans, EXTENTS_AT_ONCE, (cancel, progress), |scan, extents| {
        let mut entries = LaneEntries { entries: Vec::new(), rows: 0, reader: DetailReader::default() };
        let mut reader = DetailReader::default();
        for &extent in extents {
            for (_, hits) in scan.blocks(extent, 0, &mut reader) {
                entries.push(snapshot, scope, number, (scan.kind(), &hits));
            }
        }
        let (sorter, rows) = &mut *sorter.lock().unwrap_or_else(PoisonError::into_inner);
        sorter.extend(&entries.entries)?;
        *rows += entries.rows;
        progress.add_events(entries.rows);
        Ok::<(), DerivedError>(())
    })?;
    Ok(sorter.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// The entries of some rows of a lane.
struct LaneEntries {
    entries: Vec<TimedValue>,
    rows: u64,
    reader: DetailReader,
}

impl LaneEntries {
    fn push(
        &mut self,
        snapshot: &Snapshot,
        scope: &Scope,
        number: RowNumber<'_>,
        (kind, hits): (LaneKind, &BlockHits<'_>),
    ) {
        let (mut starts, mut values) = ([0; BLOCK_ROWS], [0; BLOCK_ROWS]);
        hits.block.starts(&mut starts);
        if matches!(number, RowNumber::OpenAndClose | RowNumber::Duration) && kind == LaneKind::Spans {
            hits.block.values(&mut values);
        }
        for slot in hits.slots() {
            let (start_ns, dur_ns) = (starts[slot], values[slot]);
            let value = match number {
                RowNumber::One => 1,
                RowNumber::Duration => dur_ns,
                RowNumber::OpenAndClose => {
                    let from_ns = scope.from_ns.map_or(start_ns, |from_ns| start_ns.max(from_ns));
                    let end_ns = start_ns.saturating_add_unsigned(dur_ns);
                    let to_ns = scope.to_ns.map_or(end_ns, |to_ns| end_ns.min(to_ns));
                    if from_ns >= to_ns {
                        continue;
                    }
                    self.entries.push(TimedValue { ts_ns: to_ns, value: 1u64.wrapping_neg() });
                    self.entries.push(TimedValue { ts_ns: from_ns, value: 1 });
                    self.rows += 1;
                    continue;
                }
                RowNumber::Argument(path) => {
                    let blob = snapshot.store().detail(DetailRef(hits.block.detail(slot)), &mut self.reader);
                    let Some(value) = argument(Detail::decode(blob).args_json, path) else { continue };
                    value.to_bits()
                }
            };
            self.entries.push(TimedValue { ts_ns: start_ns, value });
            self.rows += 1;
        }
    }
}

/// The number at a path of members; `None` where there is none.
fn argument(args_json: &str, path: &[String]) -> Option<f64> {
    let found: Value = serde_json::from_str(args_json).ok()?;
    let value = path.iter().try_fold(&found, |value, member| value.get(member))?;
    value.as_f64().filter(|number| number.is_finite())
}

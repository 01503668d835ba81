//! Divides time into parts with about equal numbers of rows, so that each part is sorted in memory. Bounds are chosen
//! from the starts of sampled rows; the rows of each part are then counted by searches in the lanes.
//!
//! A part exceeds its limit only if all its rows start in the same nanosecond.

use rayon::prelude::*;

use crate::base::cancel::{Cancel, Cancelled};
use crate::query::scan::LaneScan;

/// Row starts sampled per part.
const SAMPLES: u64 = 8;

/// Maximum number of parts that a part is divided into at once.
const PARTS_AT_ONCE: u64 = 4096;

/// A part of time: its first nanosecond, and the first after it. `None` means unbounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimePart {
    pub(super) from_ns: Option<i64>,
    pub(super) to_ns: Option<i64>,
}

impl TimePart {
    /// Returns the rows of a lane that start in it.
    pub(super) fn rows_of(self, scan: &LaneScan<'_>) -> std::ops::Range<u64> {
        let start = self.from_ns.map_or(scan.rows.start, |from_ns| scan.first_from(from_ns));
        start..self.to_ns.map_or(scan.rows.end, |to_ns| scan.first_from(to_ns)).max(start)
    }

    /// Returns whether it contains a time.
    pub(super) fn contains(self, ts_ns: i64) -> bool {
        self.from_ns.is_none_or(|from_ns| ts_ns >= from_ns) && self.to_ns.is_none_or(|to_ns| ts_ns < to_ns)
    }

    fn rows(self, scans: &[&LaneScan<'_>]) -> u64 {
        scans.par_iter().map(|scan| self.rows_of(scan)).map(|rows| rows.end - rows.start).sum()
    }

    /// Divides it into parts of about `rows_max` rows. Returns itself if all its rows start at one time.
    fn divide(self, scans: &[&LaneScan<'_>], rows: u64, rows_max: u64, after_ns: i64) -> Vec<Self> {
        let parts = rows.div_ceil(rows_max.div_ceil(4) * 3).clamp(2, PARTS_AT_ONCE);
        let least_ns = self.from_ns.map_or(after_ns, |from_ns| from_ns.max(after_ns));
        let mut starts_ns = starts_of_some(self, scans, rows, parts * SAMPLES);
        starts_ns.sort_unstable();
        let each = (starts_ns.len() / parts as usize).max(1);
        let bounds = starts_ns.iter().skip(each).step_by(each);
        let is_inside = |&&bound_ns: &&i64| bound_ns > least_ns && self.to_ns.is_none_or(|to_ns| bound_ns < to_ns);
        let mut bounds: Vec<i64> = bounds.filter(is_inside).copied().collect();
        bounds.dedup();
        if bounds.is_empty() {
            // Many rows start at the first time.
            bounds.extend(least_ns.checked_add(1).filter(|bound_ns| is_inside(&bound_ns)));
        }
        let froms = std::iter::once(self.from_ns).chain(bounds.iter().copied().map(Some));
        let tos = bounds.iter().copied().map(Some).chain([self.to_ns]);
        froms.zip(tos).map(|(from_ns, to_ns)| Self { from_ns, to_ns }).collect()
    }
}

/// Samples the starts of rows at equal distances, lane by lane; damaged rows are skipped.
fn starts_of_some(part: TimePart, scans: &[&LaneScan<'_>], rows: u64, count: u64) -> Vec<i64> {
    let step = (rows / count.max(1)).max(1);
    let mut starts_ns = Vec::new();
    // Offset of the next sample in the following lane.
    let mut next = step / 2;
    for scan in scans {
        let rows = part.rows_of(scan);
        let count = rows.end - rows.start;
        while next < count {
            starts_ns.extend(scan.start_ns(rows.start + next));
            next += step;
        }
        next -= count;
    }
    starts_ns
}

/// Divides the time of some rows into parts in order, each with at most `rows_max` rows. Earlier rows count as starting
/// at `first_ns`, so no part ends at or before it. Returns `Cancelled` if cancelled.
pub(super) fn time_parts(
    scans: &[&LaneScan<'_>],
    rows_max: u64,
    first_ns: i64,
    cancel: &Cancel,
) -> Result<Vec<TimePart>, Cancelled> {
    let mut open = vec![TimePart { from_ns: None, to_ns: None }];
    let mut done = Vec::new();
    while let Some(part) = open.pop() {
        cancel.check()?;
        let rows = part.rows(scans);
        let parts = if rows > rows_max { part.divide(scans, rows, rows_max, first_ns) } else { vec![part] };
        if parts.len() == 1 { done.push(part) } else { open.extend(parts.into_iter().rev()) }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::ledger_traces::{TraceSpan, spans, store};
    use crate::query::scope::Scope;

    #[test]
    fn parts_have_every_row_once_and_too_many_only_of_one_time() {
        let crowd = |number: u64| TraceSpan { track: 0, lane: 0, start_ns: (number / 300) as i64, dur_ns: 0, name: 1 };
        let lists = [spans(5, 3, 200, 3, -999), spans(1, 1, 9, 3, i64::MIN), (0..900).map(crowd).collect(), vec![]];
        for list in lists {
            let (_file, snapshot) = store(&list, None, 0);
            let scope = Scope::default();
            let lanes = scope.lanes(&snapshot, &scope.matcher);
            let scans: Vec<_> = lanes.map(|lane| LaneScan::new(&snapshot, &scope.matcher, &scope, lane)).collect();
            let scans: Vec<_> = scans.iter().collect();
            for rows_max in [1, 7, 100, 1000] {
                let parts = time_parts(&scans, rows_max, i64::MIN, &Cancel::default()).unwrap();
                assert!(parts.windows(2).all(|pair| pair[0].to_ns == pair[1].from_ns && pair[0].to_ns.is_some()));
                let mut total = 0;
                for part in &parts {
                    let starts = list.iter().map(|span| span.start_ns).filter(|&start_ns| part.contains(start_ns));
                    let starts: Vec<i64> = starts.collect();
                    total += starts.len();
                    assert_eq!(part.rows(&scans), starts.len() as u64);
                    let is_one_time = starts.iter().min() == starts.iter().max();
                    assert!(starts.len() as u64 <= rows_max || is_one_time, "{part:?}: {} rows", starts.len());
                }
                assert_eq!(total, list.len());
                assert!(parts.len() as u64 <= 2 + 8 * list.len() as u64 / rows_max, "{} parts", parts.len());
            }
        }
    }
}

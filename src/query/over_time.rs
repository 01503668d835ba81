//! The distribution of matching rows over time: the number that start in each of several equal columns.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::scan::LaneScan;
use super::scope::Scope;
use super::snapshot::Snapshot;
use crate::base::cancel::{Cancel, Cancelled};
use crate::store::block::BLOCK_ROWS;
use crate::store::details::DetailReader;

/// Counts the matching rows that start in each of `columns` equal parts of `[from_ns, to_ns)`; rows at `to_ns` itself
/// count for the last. Returns `Cancelled` if cancelled.
pub(crate) fn over_time(
    snapshot: &Snapshot,
    scope: &Scope,
    (from_ns, to_ns): (i64, i64),
    columns: usize,
    cancel: &Cancel,
) -> Result<Vec<u64>, Cancelled> {
    let counts: Vec<AtomicU64> = (0..columns.max(1)).map(|_| AtomicU64::new(0)).collect();
    let width_ns = (i128::from(to_ns) - i128::from(from_ns)).max(1);
    let column_of = |ts_ns: i64| {
        let since_ns = i128::from(ts_ns) - i128::from(from_ns);
        let column = since_ns * counts.len() as i128 / width_ns;
        (since_ns >= 0 && ts_ns <= to_ns).then(|| (column as usize).min(counts.len() - 1))
    };
    let matcher = &scope.matcher;
    let lanes: Vec<_> = scope.lanes(snapshot, matcher).collect();
    lanes.into_par_iter().try_for_each(|lane| {
        let scan = LaneScan::new(snapshot, matcher, scope, lane);
        let mut reader = DetailReader::default();
        for extent in scan.extents() {
            cancel.check()?;
            for (_, hits) in scan.blocks(extent, 0, &mut reader) {
                let mut starts = [0; BLOCK_ROWS];
                hits.block.starts(&mut starts);
                for column in hits.slots().filter_map(|slot| column_of(starts[slot])) {
                    // Relaxed is enough: the counts order nothing else.
                    counts[column].fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        Ok(())
    })?;
    Ok(counts.into_iter().map(AtomicU64::into_inner).collect())
}

//! Marks where in a trace the hits of a search start, for a map of its whole time.
//!
//! Extents whose parts are all marked are not read, so few are if there are many hits. If a search has counted the hits
//! of each extent, extents within one part are not read either.
//!
//! Equivalent to marking the part of each hit.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::{LaneHits, LaneScan};
use crate::base::cancel::{Cancel, Cancelled};
use crate::query::snapshot::Snapshot;
use crate::store::block::BLOCK_ROWS;
use crate::store::details::DetailReader;

/// Number of parts of the map: one per pixel or two of a screen.
pub(crate) const PARTS: usize = 2048;

/// The parts of a trace's time, of equal length, in which a hit starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ticks {
    words: Vec<u64>,
}

impl Ticks {
    /// Iterates over the parts in which a hit starts, in order; each is below [`PARTS`].
    pub(crate) fn parts(&self) -> impl Iterator<Item = usize> + '_ {
        (0..PARTS).filter(|part| self.words[part / 64] >> (part % 64) & 1 != 0)
    }

    /// Marks where the hits of some lanes start. `all_have_hits` tells whether each extent of these lanes has a hit.
    pub(super) fn from_hits(
        snapshot: &Snapshot,
        lanes: &[(&LaneScan<'_>, &LaneHits)],
        all_have_hits: bool,
        cancel: &Cancel,
    ) -> Result<Self, Cancelled> {
        let map = TickMap::new(snapshot);
        lanes.par_iter().try_for_each(|(scan, hits)| {
            let records = scan.lane().extents();
            let mut reader = DetailReader::default();
            for &(extent, _) in &hits.extents {
                cancel.check()?;
                let first = map.part_of(records[extent].first_start_ns);
                // All rows of an extent start before the next extent.
                let last = records.get(extent + 1).map_or(PARTS - 1, |next| map.part_of(next.first_start_ns));
                if first == last && all_have_hits {
                    map.mark(first);
                } else if (first..=last).any(|part| !map.is_marked(part)) {
                    for (_, rows) in scan.blocks(extent, 0, &mut reader) {
                        let mut starts = [0; BLOCK_ROWS];
                        rows.block.starts(&mut starts);
                        rows.slots().for_each(|slot| map.mark(map.part_of(starts[slot])));
                    }
                }
            }
            Ok(())
        })?;
        Ok(Self { words: map.words.into_iter().map(AtomicU64::into_inner).collect() })
    }
}

/// A bitmap that all threads set.
struct TickMap {
    start_ns: i64,
    dur_ns: u64,
    words: Vec<AtomicU64>,
}

impl TickMap {
    fn new(snapshot: &Snapshot) -> Self {
        let (start_ns, end_ns) = (snapshot.start_ns(), snapshot.end_ns());
        let words = (0..PARTS / 64).map(|_| AtomicU64::new(0)).collect();
        Self { start_ns, dur_ns: end_ns.abs_diff(start_ns).max(1), words }
    }

    fn part_of(&self, ts_ns: i64) -> usize {
        let since_ns = ts_ns.saturating_sub(self.start_ns).max(0).cast_unsigned();
        let part = u128::from(since_ns) * PARTS as u128 / u128::from(self.dur_ns);
        usize::try_from(part).unwrap_or(usize::MAX).min(PARTS - 1)
    }

    fn mark(&self, part: usize) {
        self.words[part / 64].fetch_or(1 << (part % 64), Ordering::Relaxed);
    }

    fn is_marked(&self, part: usize) -> bool {
        self.words[part / 64].load(Ordering::Relaxed) >> (part % 64) & 1 != 0
    }
}

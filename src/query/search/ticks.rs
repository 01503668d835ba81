//! Marks where in a trace the hits of a search start, for a map of its whole time.
//!
//! Blocks whose parts are all marked are not read, so few are read if there are many hits. If a search has counted the
//! hits of each extent, extents within one part are not read either.
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
            let (mut reader, mut part) = (DetailReader::default(), 0);
            for &(extent, _) in &hits.extents {
                cancel.check()?;
                part = map.part_from(part, records[extent].first_start_ns);
                // All rows of an extent start before the next extent.
                let next_ns = records.get(extent + 1).map(|next| next.first_start_ns);
                let last = next_ns.map_or(PARTS - 1, |next_ns| map.part_from(part, next_ns));
                if part == last && all_have_hits {
                    map.mark(part);
                } else if !map.are_marked(part, last) {
                    map.mark_extent(scan, extent, (part, last), &mut reader);
                }
            }
            Ok(())
        })?;
        Ok(Self { words: map.words.into_iter().map(AtomicU64::into_inner).collect() })
    }
}

/// A bitmap that all threads set.
struct TickMap {
    /// First nanosecond of each of the [`PARTS`].
    starts_ns: Vec<i64>,
    words: Vec<AtomicU64>,
}

impl TickMap {
    fn new(snapshot: &Snapshot) -> Self {
        let (start_ns, end_ns) = snapshot.drawn_range_ns();
        let dur_ns = u128::from(end_ns.abs_diff(start_ns).max(1));
        let offset_ns = |part: usize| (part as u128 * dur_ns).div_ceil(PARTS as u128);
        // An offset is at most the duration, which has 64 bits.
        let starts_ns = (0..PARTS).map(|part| start_ns.saturating_add_unsigned(offset_ns(part) as u64)).collect();
        let words = (0..PARTS / 64).map(|_| AtomicU64::new(0)).collect();
        Self { starts_ns, words }
    }

    /// Returns the part of a time that is not before the part `from`.
    fn part_from(&self, from: usize, ts_ns: i64) -> usize {
        let after = &self.starts_ns[from + 1..];
        // Some steps forward are cheaper than a search.
        from + match after.get(8) {
            Some(&far_ns) if far_ns <= ts_ns => after.partition_point(|&start_ns| start_ns <= ts_ns),
            _ => after.iter().take_while(|&&start_ns| start_ns <= ts_ns).count(),
        }
    }

    /// Marks the hits of an extent, which start in parts `first..=last`. Reads no block whose parts are all marked.
    fn mark_extent(
        &self,
        scan: &LaneScan<'_>,
        extent: usize,
        (first, last): (usize, usize),
        reader: &mut DetailReader,
    ) {
        let Some(extent_data) = scan.lane().extent(extent) else { return };
        let directory = extent_data.directory();
        let mut part = first;
        for block in 0..directory.len() {
            part = self.part_from(part, directory[block].first_start_ns);
            let to = directory.get(block + 1).map_or(last, |next| self.part_from(part, next.first_start_ns));
            if self.are_marked(part, to) {
                continue;
            }
            let Some(rows) = scan.block(extent, extent_data, block, reader) else { continue };
            let (mut starts, mut at) = ([0; BLOCK_ROWS], part);
            rows.block.starts(&mut starts);
            for slot in rows.slots() {
                at = self.part_from(at, starts[slot]);
                self.mark(at);
            }
        }
    }

    fn mark(&self, part: usize) {
        self.words[part / 64].fetch_or(1 << (part % 64), Ordering::Relaxed);
    }

    /// Returns whether the parts `first..=last` are all marked.
    fn are_marked(&self, first: usize, last: usize) -> bool {
        (first / 64..=last / 64).all(|word| {
            let from_first = u64::MAX << first.saturating_sub(word * 64);
            let to_last = u64::MAX >> (63 - (last - word * 64).min(63));
            let wanted = from_first & to_last;
            self.words[word].load(Ordering::Relaxed) & wanted == wanted
        })
    }
}

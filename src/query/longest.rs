//! The longest spans that match, longest first, equally long ones in order of time. Reads extents in the order of their
//! longest span, and stops where what is left cannot be longer.
//!
//! The slow answer: all matches sorted by duration, from the longest.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::scan::LaneScan;
use super::scope::Scope;
use super::search::{Hit, hits_of};
use super::snapshot::Snapshot;
use crate::base::cancel::{Cancel, Cancelled};
use crate::store::details::DetailReader;
use crate::store::iforest::LongestNs;

/// At most `count` of them.
///
/// # Errors
/// If it was asked to stop.
pub fn longest(snapshot: &Snapshot, scope: &Scope, count: usize, cancel: &Cancel) -> Result<Vec<Hit>, Cancelled> {
    let (scope, matcher) = (scope.clone().spans(), &scope.matcher);
    let scans: Vec<LaneScan<'_>> =
        scope.lanes(snapshot, matcher).map(|lane| LaneScan::new(snapshot, matcher, &scope, lane)).collect();
    let mut extents = BinaryHeap::new();
    for (place, scan) in scans.iter().enumerate() {
        let longest = scan.lane().forest::<LongestNs>();
        extents
            .extend(scan.extents().map(|extent| (longest.get(2 * extent).map_or(u64::MAX, |it| it.0), place, extent)));
    }
    // Shortest first; of equally long ones the latest.
    let mut best: BTreeSet<(u64, Reverse<Hit>)> = BTreeSet::new();
    let mut reader = DetailReader::default();
    while let Some((bound_ns, place, extent)) = extents.pop() {
        if best.len() >= count && best.first().is_none_or(|(shortest_ns, _)| bound_ns < *shortest_ns) {
            break;
        }
        cancel.check()?;
        let scan = &scans[place];
        for (_, found) in scan.blocks(extent, 0, &mut reader) {
            for hit in hits_of(scan, &found) {
                best.insert((hit.dur_ns, Reverse(hit)));
                if best.len() > count {
                    best.pop_first();
                }
            }
        }
    }
    Ok(best.into_iter().rev().map(|(_, Reverse(hit))| hit).collect())
}

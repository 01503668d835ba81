//! Sorts the tracks of a process by the ranks or names of siblings on every level, and gives each track a sort index.
//! Skips processes whose tracks are already in order of appearance, unless nested parents reorder their children.

use rustc_hash::{FxHashMap, FxHashSet};

use super::descriptors::{ChildOrder, Descriptors, PARENTS_MAX};
use super::tracks::{PerfettoTracks, TrackNumber};
use crate::model::{Id, Metadata, TrackKey};

/// Sort key of a track among its siblings.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct OrderStep {
    rank: i64,
    name: Box<str>,
    /// Position at which it, or a track below it, first had an event.
    appeared: usize,
}

/// Levels of a track below a nested parent.
const NESTED_LEVELS: usize = 3;

/// Returns the sort indices of tracks, each greater than 0, if the trace orders or nests them. `used` are the
/// [`PerfettoTracks::children`].
pub(super) fn sort_indices(tracks: &PerfettoTracks, used: &[(u64, TrackNumber)]) -> Vec<Metadata> {
    let described = tracks.descriptors();
    let mut appeared: FxHashMap<u64, usize> = FxHashMap::default();
    let mut ordered: FxHashSet<&Id> = FxHashSet::default();
    for (position, &(uuid, track)) in used.iter().enumerate() {
        for (level, (uuid, order)) in (1..).zip(ancestry(uuid, described)) {
            appeared.entry(uuid).or_insert(position);
            if order != ChildOrder::Appearance || level == NESTED_LEVELS {
                ordered.insert(&tracks.key(track).pid);
            }
        }
    }
    let mut paths: Vec<(&TrackKey, Vec<OrderStep>)> = used
        .iter()
        .map(|&(uuid, track)| (tracks.key(track), uuid))
        .filter(|(key, _)| ordered.contains(&key.pid))
        .map(|(key, uuid)| (key, path(uuid, described, &appeared)))
        .collect();
    // Sorting by pid only groups the tracks; it does not order processes.
    paths.sort_by(|(a, a_path), (b, b_path)| a.pid.cmp(&b.pid).then_with(|| a_path.cmp(b_path)));
    // Merged tracks, such as siblings of the same name, share an index.
    let mut shared_indices: FxHashMap<(&Id, &Id, &str), i64> = FxHashMap::default();
    let numbered = paths.iter().zip(1..).map(|((key, _), position)| {
        let is_shared = !key.name.is_empty() && key.slot >= TrackKey::SLOT_SIBLING && key.slot < TrackKey::SLOT_ALONE;
        let group = (&key.pid, &key.tid, &*key.name);
        let sort_index = if is_shared { *shared_indices.entry(group).or_insert(position) } else { position };
        Metadata::TrackSortIndex { key: (*key).clone(), sort_index }
    });
    numbered.collect()
}

/// Returns a track and its parents, innermost first, each with the child ordering of its parent.
fn ancestry(uuid: u64, described: &Descriptors) -> impl Iterator<Item = (u64, ChildOrder)> {
    let mut next = Some(uuid);
    let step = move || {
        let uuid = next?;
        let descriptor = described.get(uuid)?;
        if descriptor.process.is_some() || descriptor.thread.is_some() {
            return None;
        }
        next = descriptor.parent;
        // Tracks without a parent are children of the root track.
        let parent = described.get(descriptor.parent.unwrap_or(0));
        Some((uuid, parent.map_or(ChildOrder::Appearance, |parent| parent.children)))
    };
    std::iter::from_fn(step).take(PARENTS_MAX)
}

/// Returns the sort keys of a track and its parents, outermost first.
fn path(uuid: u64, described: &Descriptors, appeared: &FxHashMap<u64, usize>) -> Vec<OrderStep> {
    let steps = ancestry(uuid, described).map(|(uuid, order)| {
        let descriptor = described.get(uuid);
        OrderStep {
            rank: descriptor.filter(|_| order == ChildOrder::Rank).map_or(0, |descriptor| descriptor.rank),
            name: descriptor
                .filter(|_| order == ChildOrder::Name)
                .map(|descriptor| descriptor.name.clone())
                .unwrap_or_default(),
            appeared: appeared.get(&uuid).copied().unwrap_or(0),
        }
    });
    let mut path: Vec<OrderStep> = steps.collect();
    path.reverse();
    path
}

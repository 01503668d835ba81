//! The order that a capture wants for the tracks of a process: the ranks and names of siblings, on every level -> one
//! number for each track. Leaves out processes whose tracks are in order of appearance.

use rustc_hash::{FxHashMap, FxHashSet};

use super::descriptors::{ChildOrder, Descriptors, PARENTS_MAX};
use super::tracks::PerfettoTracks;
use crate::model::{Id, Metadata, TrackKey};

/// The sort key of a track among those below the same parent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct OrderStep {
    rank: i64,
    name: Box<str>,
    /// When it or a track below it first had an event.
    appeared: usize,
}

/// The sort indices of tracks, each greater than 0, where the capture orders them.
pub(super) fn sort_indices(tracks: &PerfettoTracks) -> Vec<Metadata> {
    let described = tracks.descriptors();
    if !described.is_ordered {
        return Vec::new();
    }
    let used = tracks.children();
    let mut appeared: FxHashMap<u64, usize> = FxHashMap::default();
    let mut ordered: FxHashSet<&Id> = FxHashSet::default();
    for (position, &(uuid, track)) in used.iter().enumerate() {
        for (uuid, order) in line(uuid, described) {
            appeared.entry(uuid).or_insert(position);
            if order != ChildOrder::Appearance {
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
    // Within each process alone: this does not order processes.
    paths.sort_by(|(a, a_path), (b, b_path)| a.pid.cmp(&b.pid).then_with(|| a_path.cmp(b_path)));
    // Tracks that are drawn together, such as siblings of one name, share a number.
    let mut together: FxHashMap<(&Id, &Id, &str), i64> = FxHashMap::default();
    let numbered = paths.iter().zip(1..).map(|((key, _), position)| {
        let is_shared = !key.name.is_empty() && key.slot >= TrackKey::SLOT_SIBLING && key.slot < TrackKey::SLOT_ALONE;
        let group = (&key.pid, &key.tid, &*key.name);
        let sort_index = if is_shared { *together.entry(group).or_insert(position) } else { position };
        Metadata::TrackSortIndex { key: (*key).clone(), sort_index }
    });
    numbered.collect()
}

/// A track and its parents, each with how its parent orders it, from the inside out.
fn line(uuid: u64, described: &Descriptors) -> impl Iterator<Item = (u64, ChildOrder)> {
    let mut next = Some(uuid);
    let step = move || {
        let uuid = next?;
        let descriptor = described.get(uuid)?;
        if descriptor.process.is_some() || descriptor.thread.is_some() {
            return None;
        }
        next = descriptor.parent;
        // Tracks without a parent are below that of the whole capture.
        let parent = described.get(descriptor.parent.unwrap_or(0));
        Some((uuid, parent.map_or(ChildOrder::Appearance, |parent| parent.children)))
    };
    std::iter::from_fn(step).take(PARENTS_MAX)
}

/// The sort keys of a track and its parents, from the outside in.
fn path(uuid: u64, described: &Descriptors, appeared: &FxHashMap<u64, usize>) -> Vec<OrderStep> {
    let steps = line(uuid, described).map(|(uuid, order)| {
        let known = described.get(uuid);
        OrderStep {
            rank: known.filter(|_| order == ChildOrder::Rank).map_or(0, |known| known.rank),
            name: known.filter(|_| order == ChildOrder::Name).map(|known| known.name.clone()).unwrap_or_default(),
            appeared: appeared.get(&uuid).copied().unwrap_or(0),
        }
    });
    let mut path: Vec<OrderStep> = steps.collect();
    path.reverse();
    path
}

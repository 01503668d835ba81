//! Sorts the tracks of a process by the ranks or names of siblings on every level, and gives each track a sort index.
//! Skips processes whose tracks are already in order of appearance, unless nested parents reorder their children.

use rustc_hash::{FxHashMap, FxHashSet};

use super::descriptors::{ChildOrder, Descriptor, Descriptors};
use super::tracks::{PerfettoTracks, TrackNumber};
use crate::model::{Id, TrackKey};

/// Levels of a track below a parent that is below another one.
const NESTED_LEVELS: u32 = 3;

/// The tracks and their parents, each once.
#[derive(Debug, Default)]
struct TrackTree<'d> {
    nodes: Vec<TrackNode<'d>>,
    rows: FxHashMap<u64, u32>,
}

/// A track or a parent of one.
#[derive(Debug)]
struct TrackNode<'d> {
    descriptor: &'d Descriptor,
    /// Row of its parent; `None` directly below a process or thread.
    parent: Option<u32>,
    /// Position at which it, or a track below it, first had an event.
    appeared: u32,
    /// Levels from the top, from 1.
    level: u32,
    order: ChildOrder,
    /// Whether it or a parent is ordered by name or rank.
    is_ordered: bool,
}

/// Returns the sort indices of tracks, each greater than 0, if the trace orders or nests them. `used` are the
/// [`PerfettoTracks::children`].
pub(super) fn sort_indices(tracks: &PerfettoTracks, used: &[(u64, TrackNumber)]) -> Vec<(TrackNumber, i64)> {
    let tree = TrackTree::new(tracks.descriptors(), used);
    let pid = |track| &tracks.key(track).pid;
    let mut ordered: FxHashSet<&Id> = FxHashSet::default();
    for &(uuid, track) in used {
        let node = tree.row(uuid).map(|row| &tree.nodes[row]);
        if node.is_some_and(|node| node.is_ordered || node.level >= NESTED_LEVELS) {
            ordered.insert(pid(track));
        }
    }
    if ordered.is_empty() {
        return Vec::new();
    }
    let places = tree.walk();
    let in_order = used.iter().filter(|&&(_, track)| ordered.contains(pid(track)));
    let mut sorted: Vec<(u32, TrackNumber)> =
        in_order.map(|&(uuid, track)| (tree.row(uuid).map_or(0, |row| places[row]), track)).collect();
    drop((tree, places));
    // Sorting by pid only groups the tracks; it does not order processes.
    sorted.sort_by(|&(a, a_track), &(b, b_track)| pid(a_track).cmp(pid(b_track)).then(a.cmp(&b)));
    // Merged tracks, such as siblings of the same name, share an index.
    let mut shared_indices: FxHashMap<(&Id, &Id, &str), i64> = FxHashMap::default();
    let numbered = sorted.into_iter().zip(1..).map(|((_, track), position)| {
        let key = tracks.key(track);
        let is_shared = !key.name.is_empty() && key.slot >= TrackKey::SLOT_SIBLING && key.slot < TrackKey::SLOT_ALONE;
        let group = (&key.pid, &key.tid, &*key.name);
        (track, if is_shared { *shared_indices.entry(group).or_insert(position) } else { position })
    });
    numbered.collect()
}

impl<'d> TrackTree<'d> {
    fn new(described: &'d Descriptors, used: &[(u64, TrackNumber)]) -> Self {
        let mut tree = Self::default();
        let mut new_rows = Vec::new();
        for (position, &(uuid, _)) in (0..).zip(used) {
            tree.add(uuid, position, described, &mut new_rows);
        }
        tree
    }

    fn row(&self, uuid: u64) -> Option<usize> {
        self.rows.get(&uuid).map(|&row| row as usize)
    }

    /// Adds a track and its parents, up to one that is known. `new_rows` is scratch.
    fn add(&mut self, uuid: u64, appeared: u32, described: &'d Descriptors, new_rows: &mut Vec<usize>) {
        new_rows.clear();
        let mut next = Some(uuid);
        let mut parent = None;
        while let Some(uuid) = next {
            parent = self.rows.get(&uuid).copied();
            let Some(descriptor) = described.get(uuid).filter(|_| parent.is_none()) else { break };
            if descriptor.process.is_some() || descriptor.thread.is_some() {
                break;
            }
            // Tracks without a parent are children of the root track.
            let order = described.get(descriptor.parent.unwrap_or(0)).map_or(ChildOrder::Appearance, |of| of.children);
            let Ok(row) = u32::try_from(self.nodes.len()) else { break };
            new_rows.push(self.nodes.len());
            self.rows.insert(uuid, row);
            self.nodes.push(TrackNode { descriptor, parent, appeared, level: 0, order, is_ordered: false });
            next = descriptor.parent;
        }
        // A parent that was added just now closes a cycle, which ends here.
        parent = parent.filter(|&row| self.nodes[row as usize].level > 0);
        for row in new_rows.drain(..).rev() {
            let above = parent.map(|row| &self.nodes[row as usize]);
            let (level, is_ordered) = above.map_or((0, false), |above| (above.level, above.is_ordered));
            let node = &mut self.nodes[row];
            node.parent = parent;
            node.level = level + 1;
            node.is_ordered = is_ordered || node.order != ChildOrder::Appearance;
            parent = u32::try_from(row).ok();
        }
    }

    /// Returns the place of each node in a walk that visits a parent before its sorted children, from 1.
    fn walk(&self) -> Vec<u32> {
        let mut by_level: Vec<u32> = (0..).take(self.nodes.len()).collect();
        by_level.sort_unstable_by_key(|&row| {
            let node = &self.nodes[row as usize];
            let rank = if node.order == ChildOrder::Rank { node.descriptor.rank } else { 0 };
            let name = if node.order == ChildOrder::Name { &*node.descriptor.name } else { "" };
            (node.level, node.parent, rank, name, node.appeared)
        });
        let mut sizes = vec![1; self.nodes.len()];
        for &row in by_level.iter().rev() {
            if let Some(parent) = self.nodes[row as usize].parent {
                sizes[parent as usize] += sizes[row as usize];
            }
        }
        let mut places = vec![0; self.nodes.len()];
        // The place of the next child to be visited, by parent.
        let mut next_places = vec![0; self.nodes.len()];
        let mut next_top = 1;
        for &row in &by_level {
            let next = match self.nodes[row as usize].parent {
                Some(parent) => &mut next_places[parent as usize],
                None => &mut next_top,
            };
            places[row as usize] = *next;
            *next += sizes[row as usize];
            next_places[row as usize] = places[row as usize] + 1;
        }
        places
    }
}

//! Puts tracks into groups: nested tracks into the groups of their parents, and global tracks into the group of their
//! device.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::descriptors::{Descriptor, Descriptors, PARENTS_MAX};
use super::tracks::{PerfettoTracks, TrackNumber};
use crate::model::{GROUP_LEVELS_MAX, GroupPath, Id, TrackKey, TrackKind};

/// Name of the group of counters, queues and messages of GPUs.
const GPU_GROUP: &str = "GPU";

/// Starts of the names of global tracks, and their groups.
const DEVICES: &[(&str, &str)] =
    &[("GPU ", GPU_GROUP), ("gpufreq", GPU_GROUP), ("Virtgpu ", GPU_GROUP), ("TCP stream#", "TCP connections")];

/// A parent of tracks, or a track that may be one.
struct Node<'d> {
    name: &'d str,
    outer: Option<u32>,
    /// Whether it is the parent of tracks with events.
    is_group: bool,
}

/// Identifies a node: process, thread, outer node and name.
type NodeKey<'d> = (&'d Id, &'d Id, Option<u32>, &'d str);

/// The parents of tracks, each after its own parent. Parents with the same name below one parent are one group.
#[derive(Default)]
struct Nodes<'d> {
    all: Vec<Node<'d>>,
    numbers: FxHashMap<NodeKey<'d>, u32>,
}

impl<'d> Nodes<'d> {
    /// Adds a track and its parents, and returns the innermost node.
    fn add(&mut self, key: &'d TrackKey, lineage: &Lineage<'d>) -> Option<u32> {
        let parents = lineage.parents.iter().take(GROUP_LEVELS_MAX).map(|&name| (name, true));
        let own = Some((lineage.name, false)).filter(|_| !lineage.name.is_empty());
        parents.chain(own).take(GROUP_LEVELS_MAX).fold(None, |outer, (name, is_group)| {
            let number = *self.numbers.entry((&key.pid, &key.tid, outer, name)).or_insert_with(|| {
                self.all.push(Node { name, outer, is_group: false });
                self.all.len() as u32 - 1
            });
            self.all[number as usize].is_group |= is_group;
            Some(number)
        })
    }

    /// Returns the node and those around it, innermost first.
    fn above(&self, node: Option<u32>) -> impl Iterator<Item = u32> {
        std::iter::successors(node, |&number| self.all[number as usize].outer)
    }

    /// Returns the innermost group at a node or above it.
    fn group_at(&self, node: Option<u32>) -> Option<u32> {
        self.above(node).find(|&number| self.all[number as usize].is_group)
    }

    /// Returns the path of a group.
    fn path(&self, group: u32) -> Arc<str> {
        let mut names: Vec<&str> = self.above(Some(group)).map(|number| self.all[number as usize].name).collect();
        names.reverse();
        GroupPath::text(names)
    }
}

/// The names of a track and of its parents below the process or thread, outermost first.
struct Lineage<'d> {
    parents: SmallVec<[&'d str; 4]>,
    name: &'d str,
}

/// Returns the groups of tracks. A track that is a parent of others is in its own group. `used` are the
/// [`PerfettoTracks::children`].
pub(super) fn track_groups(tracks: &PerfettoTracks, used: &[(u64, TrackNumber)]) -> Vec<(TrackNumber, Arc<str>)> {
    let described = tracks.descriptors();
    let (mut nested, mut nodes) = (Vec::new(), Nodes::default());
    for &(uuid, track) in used {
        let key = tracks.key(track);
        // Spans of unnamed tracks share rows by their own names, also with those below another parent.
        let lineage = lineage(uuid, described, key.kind).filter(|_| !key.name.is_empty());
        let Some(lineage) = lineage else { continue };
        nested.push((track, nodes.add(key, &lineage)));
    }
    // The parents of a track take precedence over its name, so they come last.
    let of_device = tracks.global_tracks().filter_map(|(track, is_of_gpu)| {
        let group = if is_of_gpu { GPU_GROUP } else { device_of(&tracks.key(track).name)? };
        Some((track, group.into()))
    });
    let mut paths: FxHashMap<u32, Arc<str>> = FxHashMap::default();
    let of_parent = nested.into_iter().filter_map(|(track, node)| {
        let group = nodes.group_at(node)?;
        let path = paths.entry(group).or_insert_with(|| nodes.path(group));
        Some((track, Arc::clone(path)))
    });
    of_device.chain(of_parent).collect()
}

/// Returns the names of a track and its parents. A parent without a name, or with the name of its child, adds nothing;
/// rows for overlapping spans have such parents. Returns `None` in a cycle of parents.
fn lineage(uuid: u64, described: &Descriptors, kind: TrackKind) -> Option<Lineage<'_>> {
    let (mut next, mut lineage, mut last) = (Some(uuid), Lineage { parents: SmallVec::new(), name: "" }, "");
    for level in 0..PARENTS_MAX {
        let descriptor = next.filter(|&uuid| uuid != 0).and_then(|uuid| described.get(uuid));
        let is_owner = |descriptor: &&Descriptor| descriptor.process.is_some() || descriptor.thread.is_some();
        let Some(descriptor) = descriptor.filter(|descriptor| !is_owner(descriptor)) else {
            lineage.parents.reverse();
            return Some(lineage);
        };
        let name = &*descriptor.name;
        if level == 0 {
            lineage.name = name;
            last = if kind == TrackKind::Counter { "" } else { name };
        } else if !name.is_empty() && name != last {
            lineage.parents.push(name);
            last = name;
        }
        next = descriptor.parent;
    }
    None
}

/// Returns the group of a global track that no descriptor nests, by its name.
fn device_of(name: &str) -> Option<&'static str> {
    DEVICES.iter().find(|(start, _)| name.starts_with(start)).map(|&(_, group)| group)
}

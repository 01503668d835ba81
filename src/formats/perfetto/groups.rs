//! Puts tracks into groups: nested tracks into that of their outermost parent, and global tracks into that of their
//! device.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::descriptors::{Descriptors, PARENTS_MAX};
use super::tracks::{PerfettoTracks, TrackNumber};
use crate::model::{Id, Metadata, TrackKey, TrackKind};

/// Name of the group of counters, queues and messages of GPUs.
const GPU_GROUP: &str = "GPU";

/// Starts of the names of global tracks, and their groups.
const DEVICES: &[(&str, &str)] =
    &[("GPU ", GPU_GROUP), ("gpufreq", GPU_GROUP), ("Virtgpu ", GPU_GROUP), ("TCP stream#", "TCP connections")];

/// A track that is a child of a process or thread, or of the root track.
struct Outermost<'d> {
    uuid: u64,
    name: &'d str,
}

/// Returns the groups of tracks. A track without a parent is in the group of its name if other tracks are. `used` are
/// the [`PerfettoTracks::children`].
pub(super) fn track_groups(tracks: &PerfettoTracks, used: &[(u64, TrackNumber)]) -> Vec<Metadata> {
    let described = tracks.descriptors();
    let (mut nested, mut groups): (Vec<_>, FxHashMap<_, Arc<str>>) = Default::default();
    for &(uuid, track) in used {
        let key = tracks.key(track);
        // Spans of unnamed tracks share rows by their own names, also with those below another parent.
        let Some(outermost) = outermost(uuid, described).filter(|_| !key.name.is_empty()) else { continue };
        // A child of the same name adds nothing, such as a row of spans that overlap.
        let is_alike = key.kind == TrackKind::Async && *key.name == *outermost.name;
        if outermost.uuid != uuid && !is_alike {
            groups.entry(owned_name(key, outermost.name)).or_insert_with(|| Arc::from(outermost.name));
        }
        nested.push((key, outermost.name));
    }
    // The parents of a track take precedence over its name, so they come last.
    let of_device = tracks.global_tracks().filter_map(|(key, is_of_gpu)| {
        let group = if is_of_gpu { GPU_GROUP } else { device_of(&key.name)? };
        Some(Metadata::TrackGroup { key: key.clone(), group: group.into() })
    });
    let of_parent = nested.into_iter().filter_map(|(key, name)| {
        let group = groups.get(&owned_name(key, name))?;
        Some(Metadata::TrackGroup { key: key.clone(), group: Arc::clone(group) })
    });
    of_device.chain(of_parent).collect()
}

/// Returns what identifies a group: process, thread and name.
fn owned_name<'a>(key: &'a TrackKey, name: &'a str) -> (&'a Id, &'a Id, &'a str) {
    (&key.pid, &key.tid, name)
}

/// Returns the outermost parent with a name, or the track itself. `None` if there is none, and in a cycle of parents.
fn outermost(uuid: u64, described: &Descriptors) -> Option<Outermost<'_>> {
    let (mut next, mut outermost) = (Some(uuid), None);
    for _ in 0..PARENTS_MAX {
        let Some(uuid) = next.filter(|&uuid| uuid != 0) else { return outermost };
        let Some(descriptor) = described.get(uuid) else { return outermost };
        if descriptor.process.is_some() || descriptor.thread.is_some() {
            return outermost;
        }
        if !descriptor.name.is_empty() {
            outermost = Some(Outermost { uuid, name: &descriptor.name });
        }
        next = descriptor.parent;
    }
    None
}

/// Returns the group of a global track that no descriptor nests, by its name.
fn device_of(name: &str) -> Option<&'static str> {
    DEVICES.iter().find(|(start, _)| name.starts_with(start)).map(|&(_, group)| group)
}

//! The order of tracks in the window and in lists.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use crate::model::{Id, Track, TrackIdx, TrackKind};
use crate::store::Store;

/// Sorts tracks by the order that the trace gives. Among unordered tracks, the kind decides, so that a process's
/// counters are together above its threads; the order of first appearance decides last.
pub(super) fn display_order(store: &Store) -> Vec<TrackIdx> {
    let tables = &store.meta().tracks;
    let mut order: Vec<TrackIdx> = (0..tables.tracks.len())
        .map(|track| TrackIdx(track as u32))
        .filter(|&track| !store.lanes_of(track).is_empty())
        .collect();
    let threads = ThreadsOfTracks::new(&tables.tracks);
    // No key of a track is stored, since keys of a million tracks would take more memory than their rows.
    order.sort_unstable_by_key(|&index| {
        let beside = match tables.tracks[index.index()].key.kind {
            TrackKind::State => -1,
            TrackKind::Samples => 1,
            _ => 0,
        };
        let above = threads.of(index);
        let track = &tables.tracks[above.index()];
        let process_order = tables.processes[track.process.index()].sort_index;
        // The tracks of an async group are together where its first one appeared.
        let (name, slot) = match track.key.kind {
            TrackKind::Async => (&*track.name, track.key.slot),
            TrackKind::Cpu => ("", track.key.slot),
            _ => ("", 0),
        };
        // Tracks without a process, such as those of CPUs, are above the others.
        let of_process = track.key.pid != Id::None;
        (process_order, of_process, track.process, track.sort_index, track.key.kind, name, slot, above, beside, index)
    });
    order
}

/// The track beside which each track is shown: thread states are above the spans of their thread, its samples below.
pub(crate) struct ThreadsOfTracks {
    /// Empty if no track is beside another.
    by_track: Vec<TrackIdx>,
}

impl ThreadsOfTracks {
    pub(crate) fn new(tracks: &[Track]) -> Self {
        Self { by_track: threads_of_beside(tracks) }
    }

    /// Returns the thread of a track with thread states or samples, and any other track itself.
    #[must_use]
    pub(crate) fn of(&self, track: TrackIdx) -> TrackIdx {
        self.by_track.get(track.index()).copied().unwrap_or(track)
    }
}

fn threads_of_beside(tracks: &[Track]) -> Vec<TrackIdx> {
    let is_beside = |track: &Track| matches!(track.key.kind, TrackKind::State | TrackKind::Samples);
    if !tracks.iter().any(is_beside) {
        return Vec::new();
    }
    let ids = |index: TrackIdx| (&tracks[index.index()].key.pid, &tracks[index.index()].key.tid);
    let hash = |index: TrackIdx| FxBuildHasher.hash_one(ids(index));
    let all = || (0..).map(TrackIdx).zip(tracks);
    let mut threads: HashTable<TrackIdx> = HashTable::new();
    for (index, _) in all().filter(|(_, track)| track.key.kind == TrackKind::Thread) {
        // Of several threads with the same ids, the last one counts.
        let is_same = |&other: &TrackIdx| ids(other) == ids(index);
        threads.entry(hash(index), is_same, |&other| hash(other)).insert(index);
    }
    let thread_of = |index| threads.find(hash(index), |&other| ids(other) == ids(index)).copied();
    all()
        .map(|(index, track)| Some(track).filter(|track| is_beside(track)).and(thread_of(index)).unwrap_or(index))
        .collect()
}

//! Tracks whose name another track has too, such as the workers of a pool. Only their ids tell them apart.

use std::sync::OnceLock;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::model::{Id, Track, TrackIdx, TrackKind};

/// The tracks of a trace with a shared name, found on the first query.
#[derive(Debug, Default)]
pub(super) struct SharedNames(OnceLock<FxHashSet<TrackIdx>>);

impl SharedNames {
    /// Returns whether another track of the same kind has the same name, but another id.
    pub(super) fn has(&self, tracks: &[Track], track: TrackIdx) -> bool {
        self.find(tracks).contains(&track)
    }

    /// Finds them, unless that was done. Loops over all tracks.
    pub(super) fn find(&self, tracks: &[Track]) -> &FxHashSet<TrackIdx> {
        self.0.get_or_init(|| shared(tracks))
    }

    /// Returns whether the tracks were searched already.
    #[cfg(test)]
    pub(super) fn are_found(&self) -> bool {
        self.0.get().is_some()
    }
}

fn shared(tracks: &[Track]) -> FxHashSet<TrackIdx> {
    let is_named = |track: &Track| !track.name.trim().is_empty() && track.key.tid != Id::None;
    let mut of_name: FxHashMap<(TrackKind, &str), (usize, bool)> = FxHashMap::default();
    for (index, track) in tracks.iter().enumerate().filter(|(_, track)| is_named(track)) {
        let (first, is_shared) = of_name.entry((track.key.kind, &*track.name)).or_insert((index, false));
        let first = &tracks[*first].key;
        *is_shared |= (&first.pid, &first.tid) != (&track.key.pid, &track.key.tid);
    }
    let is_shared =
        |track: &Track| of_name.get(&(track.key.kind, &*track.name)).is_some_and(|(_, is_shared)| *is_shared);
    let all = tracks.iter().enumerate().filter(|(_, track)| is_named(track) && is_shared(track));
    all.map(|(index, _)| TrackIdx(index as u32)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ProcessIdx, TrackKey};

    #[test]
    fn only_tracks_of_one_kind_with_different_ids_share_a_name() {
        let track = |kind, tid, name: &str| Track {
            key: TrackKey { kind, pid: Id::Number(1), tid, name: "".into(), slot: 0 },
            process: ProcessIdx(0),
            name: name.into(),
            sort_index: 0,
        };
        let tracks = [
            track(TrackKind::Thread, Id::Number(1), "worker"),
            track(TrackKind::Thread, Id::Number(2), "worker"),
            track(TrackKind::Thread, Id::Number(3), "main"),
            track(TrackKind::State, Id::Number(3), "main"),
            track(TrackKind::Thread, Id::Number(3), "main"),
            track(TrackKind::Thread, Id::Number(4), " "),
            track(TrackKind::Thread, Id::Number(5), " "),
            track(TrackKind::Counter, Id::None, "memory"),
            track(TrackKind::Counter, Id::None, "memory"),
        ];
        let names = SharedNames::default();
        let shared = (0..9).filter(|&index| names.has(&tracks, TrackIdx(index)));
        assert_eq!(shared.collect::<Vec<_>>(), [0, 1]);
    }
}

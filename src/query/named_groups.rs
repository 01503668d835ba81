//! Groups that the trace names: tracks of a process or thread below one parent, whatever their kinds.

use rustc_hash::FxHashMap;

use crate::model::{Id, ProcessIdx, Track, TrackIdx, TrackKind, TrackTables};

/// A track that is in none of the groups.
const ALONE: u32 = u32::MAX;

/// The named groups among the tracks that have something to show.
#[derive(Debug, Default)]
pub(super) struct NamedGroups {
    /// By track: its group, or [`ALONE`]. Empty if there are no groups.
    of_track: Vec<u32>,
    groups: Vec<Members>,
}

#[derive(Debug, Clone, Copy)]
struct Members {
    first: TrackIdx,
    /// Whether it has several tracks that are not rows of one async name.
    is_group: bool,
}

impl NamedGroups {
    /// Collects the groups of `tracks`, in any order.
    pub(super) fn new(tables: &TrackTables, tracks: &[TrackIdx]) -> Self {
        if tables.groups.is_empty() {
            return Self::default();
        }
        let mut found = Self { of_track: vec![ALONE; tables.tracks.len()], groups: Vec::new() };
        let mut numbers: FxHashMap<(ProcessIdx, &Id, &str), u32> = FxHashMap::default();
        for &index in tracks {
            let Some(name) = tables.group(index) else { continue };
            let track = &tables.tracks[index.index()];
            let number = *numbers.entry((track.process, &track.key.tid, name)).or_insert_with(|| {
                found.groups.push(Members { first: index, is_group: false });
                found.groups.len() as u32 - 1
            });
            found.of_track[index.index()] = number;
            let members = &mut found.groups[number as usize];
            members.is_group |= members.first != index && !is_row_of(&tables.tracks[members.first.index()], track);
        }
        found
    }

    /// Returns the number of the group of a track. A track that is alone in its group has none.
    pub(super) fn of(&self, track: TrackIdx) -> Option<u32> {
        let number = *self.of_track.get(track.index())?;
        self.groups.get(number as usize).filter(|members| members.is_group).map(|_| number)
    }

    /// Returns the member of each group that comes first by a sort key.
    pub(super) fn first_by<K: Ord>(&self, tracks: &[TrackIdx], key: impl Fn(TrackIdx) -> K) -> Vec<TrackIdx> {
        let mut firsts: Vec<TrackIdx> = self.groups.iter().map(|members| members.first).collect();
        for &track in tracks {
            if let Some(group) = self.of(track) {
                let first = &mut firsts[group as usize];
                if key(track) < key(*first) {
                    *first = track;
                }
            }
        }
        firsts
    }
}

/// Returns whether two tracks are rows of one async name.
fn is_row_of(one: &Track, other: &Track) -> bool {
    one.key.kind == TrackKind::Async && other.key.kind == TrackKind::Async && one.name == other.name
}

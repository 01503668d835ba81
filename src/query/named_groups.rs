//! Groups that the trace names: tracks of a process or thread below one parent, whatever their kinds.

use rustc_hash::FxHashMap;

use crate::model::{Id, ProcessIdx, Track, TrackIdx, TrackKind, TrackTables};

/// The named groups, and which of them have several tracks to show.
#[derive(Debug, Default)]
pub(super) struct NamedGroups {
    /// By track. Empty if there are no groups.
    of_track: Vec<Member>,
    groups: Vec<NamedGroup>,
}

/// The group of a track.
#[derive(Debug, Clone, Copy)]
struct Member {
    /// Its index in `groups`, or [`ALONE`].
    group: u32,
    /// Whether it has the name of the group.
    is_parent: bool,
}

const ALONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct NamedGroup {
    /// The first track of the trace that is in the group, even if it has no rows so far.
    lead: TrackIdx,
    /// A track to show.
    shown: Option<TrackIdx>,
    /// Whether it has several tracks to show that are not rows of one async name.
    is_group: bool,
}

impl NamedGroups {
    /// Collects the groups. `tracks` are those to show, in any order.
    pub(super) fn new(tables: &TrackTables, tracks: &[TrackIdx]) -> Self {
        if tables.groups.is_empty() {
            return Self::default();
        }
        let mut found =
            Self { of_track: vec![Member { group: ALONE, is_parent: false }; tables.tracks.len()], groups: Vec::new() };
        let mut numbers: FxHashMap<(ProcessIdx, &Id, &str), u32> = FxHashMap::default();
        for (index, _) in tables.groups.iter() {
            let Some(name) = tables.group(index) else { continue };
            let track = &tables.tracks[index.index()];
            let group = *numbers.entry((track.process, &track.key.tid, name)).or_insert_with(|| {
                found.groups.push(NamedGroup { lead: index, shown: None, is_group: false });
                found.groups.len() as u32 - 1
            });
            found.of_track[index.index()] = Member { group, is_parent: *track.name == *name };
        }
        for &index in tracks {
            let Some(group) = found.groups.get_mut(found.of_track[index.index()].group as usize) else { continue };
            let shown = *group.shown.get_or_insert(index);
            group.is_group |=
                !is_row_of(&tables.tracks[shown.index()], &tables.tracks[index.index()]) && shown != index;
        }
        found
    }

    /// Returns the number of the group of a track. A track that is alone in its group has none.
    pub(super) fn of(&self, track: TrackIdx) -> Option<u32> {
        let group = self.of_track.get(track.index())?.group;
        self.groups.get(group as usize).filter(|found| found.is_group).map(|_| group)
    }

    /// Returns the track that identifies a group. It stays the same while an import adds rows.
    pub(super) fn lead(&self, group: u32) -> TrackIdx {
        self.groups[group as usize].lead
    }

    /// Returns whether a track has the name of its group, as that of the parent has.
    pub(super) fn is_parent(&self, track: TrackIdx) -> bool {
        self.of_track.get(track.index()).is_some_and(|member| member.is_parent)
    }

    /// Returns the member of each group that comes first by a sort key.
    pub(super) fn first_by<K: Ord>(&self, tracks: &[TrackIdx], key: impl Fn(TrackIdx) -> K) -> Vec<TrackIdx> {
        let mut firsts: Vec<TrackIdx> = self.groups.iter().map(|group| group.shown.unwrap_or(group.lead)).collect();
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

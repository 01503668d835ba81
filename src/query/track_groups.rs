//! Groups tracks of a process under one header. A named group has the tracks that the trace assigns to it. Other groups
//! have async spans of one name, counters, or CPUs. Named groups may contain others.
//!
//! A group is a contiguous part of the display order. It is identified by its level and its lead, the track that
//! appeared first, which stays the same while an import adds tracks. The lead of a named group may have no rows so far.

use serde::{Deserialize, Serialize};

use super::named_groups::NamedGroups;
use crate::model::{Track, TrackIdx, TrackKind, TrackTables};

/// Up to this many tracks stay ungrouped, unless the trace names their group: the header of a smaller group would take
/// more space than it saves.
const ALONE_MAX: usize = 3;

/// Groups of more tracks start folded: they would fill a screen.
const UNFOLDED_TRACKS_MAX: u32 = 8;

/// The identity of a group of tracks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "SavedGroup", into = "SavedGroup")]
pub struct GroupId {
    /// The track of the group that appeared first in the trace, even if it has no rows.
    pub lead: TrackIdx,
    /// Number of groups that contain the group. One track may lead both a group and its outer groups.
    pub level: u8,
}

impl GroupId {
    /// Returns the group that a track leads, if no other one contains it.
    #[must_use]
    pub fn outermost(lead: TrackIdx) -> Self {
        Self { lead, level: 0 }
    }
}

/// A group as it is saved. Versions without levels saved only the lead.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum SavedGroup {
    Outermost(TrackIdx),
    Inner(TrackIdx, u8),
}

impl From<SavedGroup> for GroupId {
    fn from(saved: SavedGroup) -> Self {
        match saved {
            SavedGroup::Outermost(lead) => Self::outermost(lead),
            SavedGroup::Inner(lead, level) => Self { lead, level },
        }
    }
}

impl From<GroupId> for SavedGroup {
    fn from(id: GroupId) -> Self {
        match id.level {
            0 => Self::Outermost(id.lead),
            level => Self::Inner(id.lead, level),
        }
    }
}

/// Several tracks of a process under one header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrackGroup {
    /// Identifies it among all groups.
    pub id: GroupId,
    /// Number of tracks in the group, including the tracks of inner groups.
    pub tracks: u32,
    /// Kind of all its tracks; `None` if they differ.
    pub kind: Option<TrackKind>,
    /// Whether the trace names the group.
    pub(crate) is_named: bool,
    /// Whether the trace has only such groups.
    pub(crate) is_all: bool,
}

impl TrackGroup {
    /// Returns whether the group starts folded. CPUs do not, since they are few and users look for them. Counters of a
    /// trace with nothing else do not either, since the window would be blank.
    #[must_use]
    pub(crate) fn starts_folded(&self) -> bool {
        let is_looked_for = self.kind == Some(TrackKind::Cpu) || (self.kind == Some(TrackKind::Counter) && self.is_all);
        self.tracks > UNFOLDED_TRACKS_MAX && !is_looked_for
    }

    /// Returns the number of names in the headers of the group and of its outer groups; 0 if the trace names none.
    #[must_use]
    pub(crate) fn named_levels(&self) -> usize {
        if self.is_named { usize::from(self.id.level) + 1 } else { 0 }
    }
}

/// The groups of a trace.
#[derive(Debug, Default)]
pub(crate) struct TrackGroups {
    groups: Vec<TrackGroup>,
    /// By group: the index of the group that contains it, or [`ALONE`].
    outer: Vec<u32>,
    /// By track: the index of its innermost group in `groups`, or [`ALONE`]. Empty if there are no groups.
    of_track: Vec<u32>,
}

const ALONE: u32 = u32::MAX;

impl TrackGroups {
    /// Groups the display order, in which the tracks of a process or of a named group are adjacent.
    #[must_use]
    pub(super) fn new(tables: &TrackTables, order: &[TrackIdx], named: &NamedGroups) -> Self {
        let mut groups = Self::default();
        let track = |index: TrackIdx| &tables.tracks[index.index()];
        let is_all = order.windows(2).all(|pair| track(pair[0]).key.kind == track(pair[1]).key.kind);
        let are_together = |one: TrackIdx, next: TrackIdx| match (named.of(one), named.of(next)) {
            (None, None) => are_alike(track(one), track(next)),
            (one, next) => one == next,
        };
        // By number of a named group: its index, once it has a track.
        let mut indices = vec![ALONE; named.len()];
        for run in order.chunk_by(|&one, &next| are_together(one, next)) {
            let is_run_of = |kind: TrackKind| run.iter().all(|&one| track(one).key.kind == kind);
            let kind = Some(track(run[0]).key.kind).filter(|&kind| is_run_of(kind));
            let of_run = TrackGroup {
                id: GroupId::outermost(run.iter().min().copied().unwrap_or(run[0])),
                tracks: run.len() as u32,
                kind,
                is_named: false,
                is_all,
            };
            let index = match named.of(run[0]) {
                Some(group) => groups.add_named(named, group, &of_run, &mut indices),
                None if run.len() > ALONE_MAX => groups.push(of_run, ALONE),
                None => continue,
            };
            if groups.of_track.is_empty() {
                groups.of_track = vec![ALONE; tables.tracks.len()];
            }
            run.iter().for_each(|member| groups.of_track[member.index()] = index);
        }
        // A lead without rows is in no run.
        for (number, _) in (0..).zip(&indices).filter(|&(_, &index)| index != ALONE) {
            let lead = named.lead(number);
            groups.of_track[lead.index()] = named.of(lead).map_or(ALONE, |innermost| indices[innermost as usize]);
        }
        groups
    }

    /// Counts a run of tracks into a named group and into its outer groups. Returns the index of the group.
    fn add_named(&mut self, named: &NamedGroups, number: u32, run: &TrackGroup, indices: &mut [u32]) -> u32 {
        let outer = named.outer(number).map_or(ALONE, |outer| self.add_named(named, outer, run, indices));
        let index = indices[number as usize];
        if let Some(group) = self.groups.get_mut(index as usize) {
            group.tracks += run.tracks;
            group.kind = group.kind.filter(|_| group.kind == run.kind);
            return index;
        }
        let id = GroupId { lead: named.lead(number), level: named.level(number) };
        indices[number as usize] = self.push(TrackGroup { id, is_named: true, ..*run }, outer);
        indices[number as usize]
    }

    fn push(&mut self, group: TrackGroup, outer: u32) -> u32 {
        self.groups.push(group);
        self.outer.push(outer);
        self.groups.len() as u32 - 1
    }

    /// Returns the innermost group of a track, if it is in one.
    #[must_use]
    pub(crate) fn of(&self, track: TrackIdx) -> Option<TrackGroup> {
        self.above(track).next()
    }

    /// Returns the groups of a track, innermost first.
    pub(crate) fn above(&self, track: TrackIdx) -> impl Iterator<Item = TrackGroup> {
        let index_if_any = |index: u32| Some(index).filter(|&index| index != ALONE);
        let innermost = self.of_track.get(track.index()).copied().and_then(index_if_any);
        let indices = std::iter::successors(innermost, move |&index| index_if_any(self.outer[index as usize]));
        indices.map(|index| self.groups[index as usize])
    }

    /// Returns all groups, top to bottom. Each group comes after its outer groups.
    #[must_use]
    pub(crate) fn all(&self) -> &[TrackGroup] {
        &self.groups
    }
}

fn are_alike(one: &Track, other: &Track) -> bool {
    one.process == other.process
        && one.key.kind == other.key.kind
        && match one.key.kind {
            TrackKind::Async => one.name == other.name,
            TrackKind::Counter | TrackKind::Cpu => true,
            TrackKind::Global | TrackKind::Process | TrackKind::Thread | TrackKind::Samples | TrackKind::State => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Id, Process, ProcessIdx, TrackKey};

    /// Builds tracks of `(kind, process, name)`, in display order.
    fn tables(tracks: &[(TrackKind, u32, &str)]) -> TrackTables {
        let track = |&(kind, process, name): &(TrackKind, u32, &str)| Track {
            key: TrackKey { kind, pid: Id::None, tid: Id::None, name: name.into(), slot: 0 },
            process: ProcessIdx(process),
            name: name.into(),
            sort_index: 0,
        };
        let processes = vec![Process::default(); 2];
        TrackTables { processes, tracks: tracks.iter().map(track).collect(), ..TrackTables::default() }
    }

    fn groups_of(tables: &TrackTables, order: &[TrackIdx]) -> TrackGroups {
        TrackGroups::new(tables, order, &NamedGroups::new(tables, order))
    }

    #[test]
    fn alike_tracks_of_a_process_are_a_group_and_those_of_another_are_another() {
        use TrackKind::{Async, Counter, Cpu, Thread};
        let tables = tables(&[
            (Cpu, 0, "CPU 0"),
            (Cpu, 0, "CPU 1"),
            (Cpu, 0, "CPU 2"),
            (Async, 0, "PROMISE"),
            (Async, 0, "PROMISE"),
            (Async, 0, "PROMISE"),
            (Async, 0, "PROMISE"),
            (Async, 0, "TIMER"),
            (Async, 1, "TIMER"),
            (Async, 1, "TIMER"),
            (Async, 1, "TIMER"),
            (Async, 1, "TIMER"),
            (Thread, 1, "worker"),
            (Thread, 1, "worker"),
            (Thread, 1, "worker"),
            (Thread, 1, "worker"),
            (Counter, 1, "a"),
            (Counter, 1, "b"),
            (Counter, 1, "c"),
            (Counter, 1, "d"),
        ]);
        // The second of the last timers appeared first.
        let mut order: Vec<_> = (0..20).map(TrackIdx).collect();
        order.swap(8, 9);
        let groups = groups_of(&tables, &order);
        let found: Vec<_> = groups.all().iter().map(|group| (group.id.lead.0, group.tracks)).collect();
        assert_eq!(found, [(3, 4), (8, 4), (16, 4)]);
        let of: Vec<_> = order.iter().map(|&track| groups.of(track).map(|group| group.id.lead.0)).collect();
        let lead = |track: u32| match track {
            3..=6 => Some(3),
            8..=11 => Some(8),
            16..=19 => Some(16),
            _ => None,
        };
        assert_eq!(of, (0..20).map(lead).collect::<Vec<_>>());
    }

    #[test]
    fn a_group_of_many_tracks_begins_folded() {
        let counters = tables(&[(TrackKind::Counter, 0, "n"); 4]);
        let order: Vec<_> = (0..4).map(TrackIdx).collect();
        let groups = groups_of(&counters, &order);
        let kind = Some(TrackKind::Counter);
        let expected =
            TrackGroup { id: GroupId::outermost(TrackIdx(0)), tracks: 4, kind, is_named: false, is_all: true };
        assert_eq!(groups.all(), [expected]);
        assert!(!groups.all()[0].starts_folded());
        let many = tables(&[(TrackKind::Async, 0, "n"); 9]);
        let order: Vec<_> = (0..9).map(TrackIdx).collect();
        assert!(groups_of(&many, &order).all()[0].starts_folded());
        // Counters alone would leave the window blank; with a thread, they start folded.
        let mut kinds = vec![(TrackKind::Counter, 0, "n"); 9];
        let alone = tables(&kinds);
        assert!(!groups_of(&alone, &order).all()[0].starts_folded());
        kinds.push((TrackKind::Thread, 0, "t"));
        let beside = tables(&kinds);
        let all: Vec<_> = (0..10).map(TrackIdx).collect();
        assert!(groups_of(&beside, &all).all()[0].starts_folded());
        let none = groups_of(&many, &[]);
        assert!(none.all().is_empty() && none.of(TrackIdx(3)).is_none());
    }

    #[test]
    fn groups_are_saved_with_their_levels_and_those_of_earlier_versions_are_outermost() {
        let ids = [0, 3].map(|level| GroupId { lead: TrackIdx(7), level });
        let saved = serde_json::to_string(&ids).expect("text");
        assert_eq!(saved, "[7,[7,3]]");
        assert_eq!(serde_json::from_str::<[GroupId; 2]>(&saved).expect("read"), ids);
    }
}

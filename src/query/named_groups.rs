//! Groups that the trace names: tracks of a process or thread below one parent, whatever their kinds. A parent below
//! another parent is a group within a group.

use rustc_hash::FxHashMap;

use crate::model::{GroupPath, Id, ProcessIdx, Track, TrackIdx, TrackKind, TrackTables};

/// The named groups, and which of them have several tracks to show.
#[derive(Debug, Default)]
pub(super) struct NamedGroups {
    /// By track. Empty if there are no groups.
    of_track: Vec<TrackMembership>,
    /// Groups, each after the one that contains it.
    groups: Vec<NamedGroup>,
}

/// The group of a track.
#[derive(Debug, Clone, Copy)]
struct TrackMembership {
    /// Index of its innermost group in `groups`, or [`ALONE`].
    group: u32,
    /// Whether it has the name of that group.
    is_parent: bool,
}

const ALONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct NamedGroup {
    /// The first track of the trace that is in the group, even if it has no rows so far.
    lead: TrackIdx,
    /// Index of the group that contains it.
    outer: Option<u32>,
    /// Number of groups that contain it.
    level: u8,
    shown: Option<TrackIdx>,
    /// Whether it has several tracks to show that are not rows of one async name.
    is_group: bool,
}

/// A member of a group: an inner group or a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GroupMember {
    /// The number of an inner group.
    Group(u32),
    Track(TrackIdx),
}

impl NamedGroups {
    /// Collects the groups. `tracks` are the tracks to show, in any order.
    pub(super) fn new<'a>(tables: &'a TrackTables, tracks: &[TrackIdx]) -> Self {
        if tables.groups.is_empty() {
            return Self::default();
        }
        let mut found = Self {
            of_track: vec![TrackMembership { group: ALONE, is_parent: false }; tables.tracks.len()],
            groups: Vec::new(),
        };
        let mut numbers: FxHashMap<(ProcessIdx, &'a Id, &'a str), u32> = FxHashMap::default();
        for (index, _) in tables.groups.iter() {
            let Some(path) = tables.group(index) else { continue };
            let track = &tables.tracks[index.index()];
            // Nearly every track shares its group with an earlier track.
            let thread = thread_of(track);
            let known = numbers.get(&(track.process, thread, path.as_str())).copied();
            let group = known.unwrap_or_else(|| {
                let with_outer = |outer: Option<u32>, (level, path): (u8, GroupPath<'a>)| {
                    Some(*numbers.entry((track.process, thread, path.as_str())).or_insert_with(|| {
                        found.groups.push(NamedGroup { lead: index, outer, level, shown: None, is_group: false });
                        found.groups.len() as u32 - 1
                    }))
                };
                (0..).zip(path.outer_paths()).fold(None, with_outer).unwrap_or(ALONE)
            });
            found.of_track[index.index()] = TrackMembership { group, is_parent: is_parent(path, track) };
        }
        for &index in tracks {
            found.show(tables, index);
        }
        found
    }

    /// Counts a track to show into its groups.
    fn show(&mut self, tables: &TrackTables, index: TrackIdx) {
        let mut next = Some(self.of_track[index.index()].group);
        while let Some(group) = next.and_then(|group| self.groups.get_mut(group as usize)) {
            let shown = *group.shown.get_or_insert(index);
            group.is_group |=
                !is_row_of(&tables.tracks[shown.index()], &tables.tracks[index.index()]) && shown != index;
            next = group.outer;
        }
    }

    /// Returns the number of the innermost group of a track that has several tracks. The groups that contain it have
    /// several too.
    pub(super) fn of(&self, track: TrackIdx) -> Option<u32> {
        let mut group = self.of_track.get(track.index())?.group;
        loop {
            let found = self.groups.get(group as usize)?;
            if found.is_group {
                return Some(group);
            }
            group = found.outer?;
        }
    }

    /// Returns the number of the outermost group of a track that has several tracks.
    pub(super) fn outermost(&self, track: TrackIdx) -> Option<u32> {
        let mut group = self.of(track)?;
        while let Some(outer) = self.outer(group) {
            group = outer;
        }
        Some(group)
    }

    /// Returns the number of the group that contains a group.
    pub(super) fn outer(&self, group: u32) -> Option<u32> {
        self.groups[group as usize].outer
    }

    /// Returns how many groups contain a group.
    pub(super) fn level(&self, group: u32) -> u8 {
        self.groups[group as usize].level
    }

    /// Returns the track that identifies a group on its level. It stays the same while an import adds rows.
    pub(super) fn lead(&self, group: u32) -> TrackIdx {
        self.groups[group as usize].lead
    }

    /// Returns the number of groups, including groups with only one track.
    pub(super) fn len(&self) -> usize {
        self.groups.len()
    }

    /// Returns the track of each outermost group that comes first by a sort key.
    pub(super) fn first_of_outermost<K: Ord>(&self, tracks: &[TrackIdx], key: impl Fn(TrackIdx) -> K) -> Vec<TrackIdx> {
        let mut firsts = self.shown_tracks();
        for &track in tracks {
            if let Some(group) = self.outermost(track) {
                keep_first(&mut firsts[group as usize], track, &key);
            }
        }
        firsts
    }

    /// Returns the track of each inner group that comes first by a sort key. Empty if there are only outermost groups.
    pub(super) fn first_of_inner<K: Ord>(&self, tracks: &[TrackIdx], key: impl Fn(TrackIdx) -> K) -> Vec<TrackIdx> {
        if self.groups.iter().all(|group| group.outer.is_none()) {
            return Vec::new();
        }
        let mut firsts = self.shown_tracks();
        for &track in tracks {
            let mut next = self.of(track);
            while let Some((group, outer)) = next.and_then(|group| Some((group, self.outer(group)?))) {
                keep_first(&mut firsts[group as usize], track, &key);
                next = Some(outer);
            }
        }
        firsts
    }

    /// Returns the track that represents each group.
    fn shown_tracks(&self) -> Vec<TrackIdx> {
        self.groups.iter().map(|group| group.shown.unwrap_or(group.lead)).collect()
    }

    /// Compares two tracks of one outermost group. The parent's own events are above the rest of each group, and an
    /// inner group is in the place of its first track. `firsts` are the [`Self::first_of_inner`] by the same key.
    pub(super) fn compare<K: Ord>(
        &self,
        (one, other): (TrackIdx, TrackIdx),
        firsts: &[TrackIdx],
        key: impl Fn(TrackIdx) -> K,
    ) -> std::cmp::Ordering {
        let place = |member: GroupMember| match member {
            GroupMember::Group(group) => (true, key(firsts[group as usize])),
            GroupMember::Track(track) => (!self.is_parent(track), key(track)),
        };
        let (one, other) = self.siblings(one, other);
        if one == other { std::cmp::Ordering::Equal } else { place(one).cmp(&place(other)) }
    }

    /// Returns the members of the innermost common group that two tracks are, or are in.
    fn siblings(&self, one: TrackIdx, other: TrackIdx) -> (GroupMember, GroupMember) {
        let mut members = [GroupMember::Track(one), GroupMember::Track(other)];
        let mut groups = [self.of(one), self.of(other)];
        while groups[0] != groups[1] {
            let level = |group: Option<u32>| group.map(|group| self.level(group));
            let deeper = usize::from(level(groups[1]) > level(groups[0]));
            let is_same_level = level(groups[0]) == level(groups[1]);
            for at in [0, 1].into_iter().filter(|&at| is_same_level || at == deeper) {
                if let Some(group) = groups[at] {
                    (members[at], groups[at]) = (GroupMember::Group(group), self.outer(group));
                }
            }
        }
        (members[0], members[1])
    }

    /// Returns whether a track is the parent of the group that shows it: its name is the name of the group.
    fn is_parent(&self, track: TrackIdx) -> bool {
        self.of_track.get(track.index()).is_some_and(|member| member.is_parent && self.of(track) == Some(member.group))
    }
}

fn keep_first<K: Ord>(first: &mut TrackIdx, track: TrackIdx, key: &impl Fn(TrackIdx) -> K) {
    if track != *first && key(track) < key(*first) {
        *first = track;
    }
}

/// Returns the thread whose groups a track may be in. Threads are in groups of their process.
fn thread_of(track: &Track) -> &Id {
    if track.key.kind == TrackKind::Thread { &Id::None } else { &track.key.tid }
}

/// Returns whether a track has the name of its group. The name of a counter is not its path.
fn is_parent(path: GroupPath<'_>, track: &Track) -> bool {
    match track.key.kind {
        TrackKind::Counter => *track.name == *path.name(),
        TrackKind::Global
        | TrackKind::Process
        | TrackKind::Thread
        | TrackKind::Async
        | TrackKind::Samples
        | TrackKind::Cpu
        | TrackKind::State => path.is_name_of(&track.name),
    }
}

/// Returns whether two tracks are rows of one async name.
fn is_row_of(one: &Track, other: &Track) -> bool {
    one.key.kind == TrackKind::Async && other.key.kind == TrackKind::Async && one.name == other.name
}

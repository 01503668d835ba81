//! The groups of tracks that the user has made. A track is in at most one of them, and is shown there instead of in
//! its process. Groups of the trace itself are in `query::track_groups`.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::model::{TrackIdx, TrackSet};
use crate::query::track_map::TrackMap;

/// Limit for the groups of one trace. A frame visits all of them.
pub(crate) const CUSTOM_GROUPS_MAX: usize = 64;

/// Limit for the letters of a name.
const NAME_LETTERS_MAX: usize = 200;

/// Identifies a group of the user within a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CustomGroupId(pub(crate) u32);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CustomGroup {
    pub(crate) id: CustomGroupId,
    /// The user's name for it; may be empty.
    pub(crate) name: String,
    pub(crate) tracks: TrackSet,
}

/// A group in the saved state of its trace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SavedCustomGroup {
    /// The number of its default name; 0 if unknown.
    number: u32,
    name: String,
    pub(crate) is_folded: bool,
    /// Runs of neighbouring tracks, both ends included.
    tracks: Vec<(u32, u32)>,
}

/// The groups of a trace, in the order in which they were made or moved. No group is empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct CustomGroups(Vec<CustomGroup>);

impl SavedCustomGroup {
    /// Returns whether the two differ at most in their name and fold.
    pub(crate) fn has_same_tracks(&self, other: &Self) -> bool {
        self.tracks == other.tracks
    }

    /// Returns the group in another import of the trace; `None` if none of its tracks is left.
    pub(crate) fn mapped(self, map: &TrackMap) -> Option<Self> {
        Some(Self { tracks: map.runs(&self.tracks)?, ..self })
    }
}

impl CustomGroupId {
    /// Returns the name of a group that the user has not named.
    #[must_use]
    pub(crate) fn default_name(self) -> String {
        format!("Group {}", self.0)
    }
}

impl CustomGroup {
    /// Returns its name, which is never empty.
    #[must_use]
    pub(crate) fn title(&self) -> String {
        if self.name.trim().is_empty() { self.id.default_name() } else { self.name.clone() }
    }
}

impl CustomGroups {
    #[must_use]
    pub(crate) fn all(&self) -> &[CustomGroup] {
        &self.0
    }

    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[must_use]
    pub(crate) fn get(&self, id: CustomGroupId) -> Option<&CustomGroup> {
        self.0.iter().find(|group| group.id == id)
    }

    /// Returns the group that contains a track.
    #[must_use]
    pub(crate) fn group_of(&self, track: TrackIdx) -> Option<&CustomGroup> {
        self.0.iter().find(|group| group.tracks.contains(track))
    }

    /// Returns the group of each track that is in a group. Takes time linear in these tracks, for callers that need
    /// all.
    #[must_use]
    pub(crate) fn by_track(&self) -> FxHashMap<TrackIdx, CustomGroupId> {
        self.0.iter().flat_map(|group| group.tracks.iter().map(|track| (track, group.id))).collect()
    }

    /// Makes a group of tracks, which leave their previous groups. Returns `None` and changes nothing if there are no
    /// tracks, or too many groups.
    pub(crate) fn make(&mut self, tracks: TrackSet) -> Option<CustomGroupId> {
        let mut groups = self.clone();
        groups.leave(&tracks);
        if tracks.iter().next().is_none() || groups.0.len() >= CUSTOM_GROUPS_MAX {
            return None;
        }
        let id = CustomGroupId(self.0.iter().map(|group| group.id.0).max().unwrap_or(0) + 1);
        groups.0.push(CustomGroup { id, name: String::new(), tracks });
        *self = groups;
        Some(id)
    }

    /// Adds tracks to a group; they leave their previous groups.
    pub(crate) fn add(&mut self, id: CustomGroupId, tracks: &TrackSet) {
        let Some(group) = self.get(id).filter(|_| !tracks.is_all()) else { return };
        let joined: TrackSet = group.tracks.iter().chain(tracks.iter()).collect();
        // The group itself stays, even if it consists of these tracks.
        for group in &mut self.0 {
            group.tracks = if group.id == id { joined.clone() } else { group.tracks.without(tracks) };
        }
        self.0.retain(|group| !group.tracks.is_empty());
    }

    /// Removes tracks from their groups. A group without tracks is dropped.
    pub(crate) fn leave(&mut self, tracks: &TrackSet) {
        if tracks.is_all() {
            return;
        }
        for group in &mut self.0 {
            group.tracks = group.tracks.without(tracks);
        }
        self.0.retain(|group| !group.tracks.is_empty());
    }

    /// Drops a group; its tracks return to their processes.
    pub(crate) fn dissolve(&mut self, id: CustomGroupId) {
        self.0.retain(|group| group.id != id);
    }

    /// Moves a group before or after another group.
    pub(crate) fn move_beside(&mut self, id: CustomGroupId, beside: CustomGroupId, is_after: bool) {
        let Some(from) = self.0.iter().position(|group| group.id == id).filter(|_| id != beside) else { return };
        let group = self.0.remove(from);
        let to = self.0.iter().position(|group| group.id == beside);
        self.0.insert(to.map_or(from, |to| to + usize::from(is_after)), group);
    }

    pub(crate) fn rename(&mut self, id: CustomGroupId, name: &str) {
        if let Some(group) = self.0.iter_mut().find(|group| group.id == id) {
            group.name = name.chars().take(NAME_LETTERS_MAX).collect();
        }
    }

    /// Restores the number of a group, unless another group has it. Returns its id.
    fn renumber(&mut self, id: CustomGroupId, number: u32) -> CustomGroupId {
        /// Only files that were edited by hand have larger numbers.
        const NUMBER_MAX: u32 = 1_000_000;
        let wanted = CustomGroupId(number);
        if !(1..=NUMBER_MAX).contains(&number) || self.get(wanted).is_some() {
            return id;
        }
        if let Some(group) = self.0.iter_mut().find(|group| group.id == id) {
            group.id = wanted;
        }
        wanted
    }

    #[must_use]
    pub(crate) fn to_saved(&self, is_folded: impl Fn(CustomGroupId) -> bool) -> Vec<SavedCustomGroup> {
        let saved = |group: &CustomGroup| SavedCustomGroup {
            number: group.id.0,
            name: group.name.clone(),
            is_folded: is_folded(group.id),
            tracks: group.tracks.runs(),
        };
        self.0.iter().map(saved).collect()
    }

    /// Restores saved groups in a trace of `track_count` tracks, with the saved form of each. The file may have been
    /// edited by hand: a track that is in two groups stays in the first.
    #[must_use]
    pub(crate) fn from_saved(saved: Vec<SavedCustomGroup>, track_count: usize) -> (Self, Vec<CustomGroupId>) {
        let (mut groups, mut folded) = (Self::default(), Vec::new());
        for SavedCustomGroup { number, name, is_folded, tracks } in saved {
            let mut tracks = TrackSet::from_runs(track_count, &tracks);
            for group in &groups.0 {
                tracks = tracks.without(&group.tracks);
            }
            if let Some(id) = groups.make(tracks) {
                let id = groups.renumber(id, number);
                groups.rename(id, &name);
                folded.extend(is_folded.then_some(id));
            }
        }
        (groups, folded)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn set(tracks: &[u32]) -> TrackSet {
        tracks.iter().copied().map(TrackIdx).collect()
    }

    proptest! {
        /// The oracle is a table with the group of each track.
        #[test]
        fn a_track_is_in_the_group_that_it_was_put_into_last(
            steps in prop::collection::vec((0_u8..5, prop::collection::vec(0u32..30, 0..8), 0u32..6), 0..24),
        ) {
            let mut groups = CustomGroups::default();
            let mut of_track: BTreeMap<u32, CustomGroupId> = BTreeMap::new();
            for (step, tracks, id) in steps {
                let id = CustomGroupId(id);
                match step {
                    0 => {
                        let made = groups.make(set(&tracks));
                        prop_assert_eq!(made.is_some(), !tracks.is_empty());
                        of_track.extend(made.into_iter().flat_map(|id| tracks.iter().map(move |&track| (track, id))));
                    }
                    1 => {
                        let is_known = groups.get(id).is_some();
                        groups.add(id, &set(&tracks));
                        of_track.extend(tracks.iter().filter(|_| is_known).map(|&track| (track, id)));
                    }
                    4 => {
                        let order: Vec<_> = groups.all().iter().map(|group| group.id).collect();
                        let beside = CustomGroupId(tracks.len() as u32);
                        groups.move_beside(id, beside, tracks.contains(&0));
                        let mut expected: Vec<_> = order.iter().copied().filter(|other| *other != id).collect();
                        match expected.iter().position(|other| *other == beside) {
                            Some(at) if order.contains(&id) => expected.insert(at + usize::from(tracks.contains(&0)), id),
                            _ => expected = order,
                        }
                        let moved: Vec<_> = groups.all().iter().map(|group| group.id).collect();
                        prop_assert_eq!(moved, expected);
                    }
                    2 => {
                        groups.leave(&set(&tracks));
                        of_track.retain(|track, _| !tracks.contains(track));
                    }
                    _ => {
                        groups.dissolve(id);
                        of_track.retain(|_, of| *of != id);
                    }
                }
                let found: BTreeMap<u32, CustomGroupId> =
                    (0..30).filter_map(|track| Some((track, groups.group_of(TrackIdx(track))?.id))).collect();
                prop_assert_eq!(&found, &of_track);
                let listed: BTreeMap<u32, CustomGroupId> =
                    groups.by_track().into_iter().map(|(track, id)| (track.0, id)).collect();
                prop_assert_eq!(&listed, &of_track);
                prop_assert!(groups.all().iter().all(|group| !group.tracks.is_empty()));
            }
            let text = serde_json::to_string(&groups.to_saved(|id| id.0 % 2 == 1)).unwrap();
            let (back, folded) = CustomGroups::from_saved(serde_json::from_str(&text).unwrap(), 30);
            let tracks = |groups: &CustomGroups| groups.all().iter().map(|group| group.tracks.runs()).collect::<Vec<_>>();
            prop_assert_eq!(tracks(&back), tracks(&groups));
            let titles = |groups: &CustomGroups| groups.all().iter().map(CustomGroup::title).collect::<Vec<_>>();
            prop_assert_eq!(titles(&back), titles(&groups));
            let was_folded = groups.all().iter().filter(|group| group.id.0 % 2 == 1).count();
            prop_assert_eq!(folded.len(), was_folded);
        }
    }

    #[test]
    fn a_saved_file_edited_by_hand_is_bounded_and_puts_a_track_into_one_group() {
        let text = r#"[{"name":"a","tracks":[[0,4000000000]]},{"name":"b","tracks":[[2,3]]},{"tracks":[[9,1]]},{}]"#;
        let saved: Vec<SavedCustomGroup> = serde_json::from_str(text).unwrap();
        let (groups, _) = CustomGroups::from_saved(saved.clone(), 5);
        assert_eq!(groups.all().len(), 1);
        assert_eq!(groups.all()[0].tracks.runs(), [(0, 4)]);
        assert!(CustomGroups::from_saved(saved, 0).0.is_empty());
    }

    #[test]
    fn a_group_beyond_the_limit_is_refused_and_changes_nothing() {
        let mut groups = CustomGroups::default();
        for track in 0..CUSTOM_GROUPS_MAX as u32 {
            assert!(groups.make(set(&[track * 2, track * 2 + 1])).is_some());
        }
        let before = groups.clone();
        assert_eq!(groups.make(set(&[0, 500])), None);
        assert_eq!(groups, before);
        // All tracks of a group are regrouped, which makes room.
        assert!(groups.make(set(&[0, 1])).is_some());
        assert_eq!(groups.all().len(), CUSTOM_GROUPS_MAX);
        groups.rename(groups.all()[0].id, "  ");
        assert_eq!(groups.all()[0].title(), "Group 2");
    }
}

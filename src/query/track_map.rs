//! Maps the tracks and processes of one import of files to another import. Tracks get their indices in the order of
//! their first events, so a changed file or offset gives the same thread another index.

use rustc_hash::FxHashMap;

use super::Snapshot;
use super::track_groups::GroupId;
use crate::model::{ProcessIdx, TrackIdx, TrackKey, TrackSet};

/// The tracks of an earlier import that a later import has too.
#[derive(Debug)]
pub(crate) struct TrackMap {
    /// By track of the earlier import.
    tracks: Vec<Option<TrackIdx>>,
    processes: FxHashMap<ProcessIdx, ProcessIdx>,
    now: Snapshot,
}

impl TrackMap {
    /// Compares the keys of all tracks.
    #[must_use]
    pub(crate) fn new(earlier: &Snapshot, now: &Snapshot) -> Self {
        let (before, after) = (&earlier.tracks().tracks, &now.tracks().tracks);
        let by_key: FxHashMap<&TrackKey, TrackIdx> =
            after.iter().zip(0..).map(|(track, index)| (&track.key, TrackIdx(index))).collect();
        let tracks: Vec<_> = before.iter().map(|track| by_key.get(&track.key).copied()).collect();
        let pairs = before.iter().zip(&tracks).filter_map(|(track, &index)| Some((track.process, index?)));
        let processes = pairs.map(|(process, index)| (process, after[index.index()].process)).collect();
        Self { tracks, processes, now: now.clone() }
    }

    /// Returns the index of an earlier track.
    #[must_use]
    pub(crate) fn track(&self, earlier: TrackIdx) -> Option<TrackIdx> {
        *self.tracks.get(earlier.index())?
    }

    /// Returns the group that has the same lead as an earlier group, on the same level.
    #[must_use]
    pub(crate) fn group(&self, earlier: GroupId) -> Option<GroupId> {
        let id = GroupId { lead: self.track(earlier.lead)?, ..earlier };
        let of_level = self.now.groups_of(id.lead).find(|group| group.id.level == id.level);
        Some(of_level.map_or(id, |group| group.id))
    }

    /// Returns the index of an earlier process.
    #[must_use]
    pub(crate) fn process(&self, earlier: ProcessIdx) -> Option<ProcessIdx> {
        self.processes.get(&earlier).copied()
    }

    /// Returns the tracks of `earlier` that still exist; `None` if none does.
    #[must_use]
    pub(crate) fn tracks(&self, earlier: &TrackSet) -> Option<TrackSet> {
        if earlier.is_all() {
            return Some(TrackSet::ALL);
        }
        let tracks: TrackSet = earlier.iter().filter_map(|track| self.track(track)).collect();
        (!tracks.is_empty()).then_some(tracks)
    }

    /// Like [`Self::tracks`], for runs of neighbours, both ends included.
    #[must_use]
    pub(crate) fn runs(&self, earlier: &[(u32, u32)]) -> Option<Vec<(u32, u32)>> {
        self.tracks(&TrackSet::from_runs(self.tracks.len(), earlier)).map(|tracks| tracks.runs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TrackKind;
    use crate::scene::tests::snapshot;

    fn trace(threads: &[(u32, u32)]) -> Snapshot {
        let span =
            |&(pid, tid): &(u32, u32)| format!(r#"{{"ph":"X","name":"a","pid":{pid},"tid":{tid},"ts":{tid},"dur":5}}"#);
        snapshot(&format!("[{}]", threads.iter().map(span).collect::<Vec<_>>().join(",")))
    }

    #[test]
    fn tracks_and_processes_are_those_with_the_same_keys() {
        let earlier = trace(&[(1, 10), (1, 11), (2, 20), (3, 30)]);
        let now = trace(&[(4, 1), (2, 20), (1, 40), (1, 11)]);
        let map = TrackMap::new(&earlier, &now);
        let thread = |snapshot: &Snapshot, track: TrackIdx| snapshot.track(track).key.tid.number();
        for (track, process) in
            earlier.tracks().tracks.iter().zip(0..).map(|(track, index)| (TrackIdx(index), track.process))
        {
            assert_eq!(earlier.track(track).key.kind, TrackKind::Thread);
            let tid = thread(&earlier, track);
            let expected = [Some(11), Some(20)].contains(&tid).then_some(tid);
            assert_eq!(map.track(track).map(|track| thread(&now, track)), expected);
            let pid = earlier.tracks().processes[process.index()].pid.number();
            let mapped = map.process(process).map(|process| now.tracks().processes[process.index()].pid.number());
            assert_eq!(mapped, [Some(1), Some(2)].contains(&pid).then_some(pid));
        }
        assert_eq!(map.track(TrackIdx(4)), None);
    }

    #[test]
    fn a_set_of_mapped_tracks_has_the_same_tracks_and_is_none_without_any() {
        let (earlier, now) = (trace(&[(1, 10), (1, 11), (1, 12), (1, 13)]), trace(&[(1, 13), (1, 9), (1, 12)]));
        let map = TrackMap::new(&earlier, &now);
        let titles = |snapshot: &Snapshot, runs: &[(u32, u32)]| {
            let tracks = runs.iter().flat_map(|&(first, last)| first..=last);
            let mut tids: Vec<_> = tracks.map(|track| snapshot.track(TrackIdx(track)).key.tid.number()).collect();
            tids.sort_unstable();
            tids
        };
        let runs = map.runs(&[(1, 3)]).expect("two are left");
        assert_eq!(titles(&now, &runs), [Some(12), Some(13)]);
        assert_eq!(map.runs(&[(0, 1), (900, u32::MAX)]), None);
        assert!(map.tracks(&TrackSet::ALL).is_some_and(|tracks| tracks.is_all()));
    }
}

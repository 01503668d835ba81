//! The order of tracks in the window and in lists.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use super::named_groups::NamedGroups;
use crate::model::{Id, ProcessIdx, Track, TrackIdx, TrackKind, TrackTables};
use crate::store::Store;

/// Returns the tracks with rows, in order of first appearance.
pub(super) fn shown_tracks(store: &Store) -> Vec<TrackIdx> {
    let all = (0..store.meta().tracks.tracks.len()).map(|track| TrackIdx(track as u32));
    all.filter(|&track| !store.lanes_of(track).is_empty()).collect()
}

/// Sorts tracks by the order that the trace gives. Among unordered tracks, the kind decides, so that a process's
/// counters are together above its threads; the order of first appearance decides last. A named group is in the place
/// of its first track, with the track of its own name at its top. The same holds for an inner group within its group.
pub(super) fn display_order(
    tables: &TrackTables,
    mut order: Vec<TrackIdx>,
    named: &NamedGroups,
    threads: &ThreadsOfTracks,
) -> Vec<TrackIdx> {
    let leads = async_leads(&tables.tracks);
    let lead_of = |index: TrackIdx| leads.get(index.index()).copied();
    let slot_of = |track: &Track| match track.key.kind {
        TrackKind::Async | TrackKind::Cpu => track.key.slot,
        TrackKind::Global
        | TrackKind::Process
        | TrackKind::Thread
        | TrackKind::Counter
        | TrackKind::Samples
        | TrackKind::State => 0,
    };
    // No key of a track is stored, since keys of a million tracks would take more memory than their rows.
    let place = |index: TrackIdx| {
        let beside = match tables.tracks[index.index()].key.kind {
            TrackKind::State => -1,
            TrackKind::Samples => 1,
            TrackKind::Global
            | TrackKind::Process
            | TrackKind::Thread
            | TrackKind::Async
            | TrackKind::Counter
            | TrackKind::Cpu => 0,
        };
        let above = threads.thread_or_self(index);
        let track = &tables.tracks[above.index()];
        // The tracks of an async group are together where its first one appeared.
        let lead = lead_of(above);
        let process = process_key(tables, track.process);
        // Counters outside of named groups stay adjacent.
        let is_other = track.key.kind == TrackKind::Counter && named.of(above).is_none();
        let order = (process, track.sort_index, track.key.kind, is_other);
        (order, lead, slot_of(track), above, beside, index)
    };
    let within_group = |index: TrackIdx| {
        let track = &tables.tracks[index.index()];
        (track.sort_index, track.key.kind, lead_of(index), slot_of(track), index)
    };
    let firsts = named.first_of_outermost(&order, place);
    let firsts_within = named.first_of_inner(&order, within_group);
    // A sort of all tracks would compare the places of the same groups again and again.
    let in_group = |&index: &TrackIdx| Some((named.outermost(index)?, index));
    let mut members: Vec<(u32, TrackIdx)> = order.iter().filter_map(in_group).collect();
    members.sort_unstable();
    for of_group in members.chunk_by_mut(|&(one, _), &(other, _)| one == other) {
        // Nearly always they are in order already.
        of_group.sort_unstable_by(|&(_, one), &(_, other)| named.compare((one, other), &firsts_within, within_group));
    }
    order.retain(|&index| named.outermost(index).is_none_or(|group| firsts[group as usize] == index));
    order.sort_unstable_by_key(|&index| place(index));
    with_members(&order, &members, named)
}

/// Replaces the first track of each outermost named group by all of its `members`, which are sorted by group.
fn with_members(order: &[TrackIdx], members: &[(u32, TrackIdx)], named: &NamedGroups) -> Vec<TrackIdx> {
    let mut shown = Vec::with_capacity(order.len() + members.len());
    for &index in order {
        let Some(group) = named.outermost(index) else {
            shown.push(index);
            continue;
        };
        let from = members.partition_point(|&(other, _)| other < group);
        let of_group = members[from..].iter().take_while(|&&(other, _)| other == group);
        shown.extend(of_group.map(|&(_, member)| member));
    }
    shown
}

/// Returns the part of the sort key that the tracks of a process share. Tracks without a process, such as CPUs, are
/// above the others.
fn process_key(tables: &TrackTables, process: ProcessIdx) -> (i64, bool, ProcessIdx) {
    let row = &tables.processes[process.index()];
    (row.sort_index, row.pid != Id::None, process)
}

/// Returns the tracks of a process, which are together in the display order. Reads a few tracks to find them.
pub(super) fn tracks_of_process<'o>(
    order: &'o [TrackIdx],
    tables: &TrackTables,
    process: ProcessIdx,
) -> &'o [TrackIdx] {
    let key = |track: &TrackIdx| process_key(tables, tables.tracks[track.index()].process);
    let wanted = process_key(tables, process);
    let order = &order[order.partition_point(|track| key(track) < wanted)..];
    &order[..order.partition_point(|track| key(track) == wanted)]
}

/// Returns the first async track with the process and name of each async track, and the first track for all others.
/// Empty if there are no async tracks.
fn async_leads(tracks: &[Track]) -> Vec<TrackIdx> {
    let is_async = |track: &Track| track.key.kind == TrackKind::Async;
    if !tracks.iter().any(is_async) {
        return Vec::new();
    }
    let owner = |index: TrackIdx| (tracks[index.index()].process, &*tracks[index.index()].name);
    let hash = |index: TrackIdx| FxBuildHasher.hash_one(owner(index));
    let mut leads: HashTable<TrackIdx> = HashTable::new();
    let lead_of = |(index, track): (TrackIdx, &Track)| {
        if !is_async(track) {
            return TrackIdx(0);
        }
        let is_same = |&other: &TrackIdx| owner(other) == owner(index);
        *leads.entry(hash(index), is_same, |&other| hash(other)).or_insert(index).get()
    };
    (0..).map(TrackIdx).zip(tracks).map(lead_of).collect()
}

/// The track beside which each track is shown: thread states are above the spans of their thread, its samples below.
#[derive(Debug)]
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
    pub(crate) fn thread_or_self(&self, track: TrackIdx) -> TrackIdx {
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::model::{GroupPath, Process, TrackKey};
    use crate::query::track_groups::{GroupId, TrackGroups};

    /// Builds tracks of `(kind, name, sort index, path)`, where the path has digits for names.
    fn nested_tables(tracks: &[(TrackKind, u8, i64, &str)]) -> TrackTables {
        let mut tables = TrackTables { processes: vec![Process::default()], ..TrackTables::default() };
        for (&(kind, name, sort_index, path), index) in tracks.iter().zip(0..) {
            let names: Vec<String> = path.chars().map(|letter| letter.to_string()).collect();
            // One of four is the parent itself.
            let own = (!path.is_empty() && name == 0).then(|| names.join(" / "));
            let name: std::sync::Arc<str> = own.unwrap_or_else(|| format!("n{name}")).into();
            let key = TrackKey { kind, pid: Id::None, tid: Id::None, name: (&*name).into(), slot: index };
            tables.tracks.push(Track { key, process: ProcessIdx(0), name, sort_index });
            if !path.is_empty() {
                tables.groups.insert(TrackIdx(index), GroupPath::text(names.iter().map(String::as_str)));
            }
        }
        tables
    }

    proptest! {
        #[test]
        fn tracks_of_each_group_are_together_the_parents_first_and_the_rest_by_their_first_tracks(
            tracks in prop::collection::vec(
                (prop_oneof![Just(TrackKind::Async), Just(TrackKind::Counter)], 0u8..4, 0i64..3, "[01]{0,3}"),
                1..24,
            ),
        ) {
            let tracks: Vec<_> = tracks.iter().map(|(kind, name, rank, path)| (*kind, *name, *rank, &**path)).collect();
            let tables = nested_tables(&tracks);
            let all: Vec<_> = (0..tracks.len() as u32).map(TrackIdx).collect();
            let named = NamedGroups::new(&tables, &all);
            let threads = ThreadsOfTracks::new(&tables.tracks);
            let order = display_order(&tables, all.clone(), &named, &threads);
            prop_assert_eq!(order.iter().copied().collect::<BTreeSet<_>>(), all.iter().copied().collect());
            let groups = TrackGroups::new(&tables, &order, &named);
            // The plain sort key of a track within a group.
            let place = |track: TrackIdx| {
                let of = &tables.tracks[track.index()];
                let is_alike = |other: &&TrackIdx| {
                    let other = &tables.tracks[other.index()];
                    other.key.kind == TrackKind::Async && other.name == of.name
                };
                let is_async = of.key.kind == TrackKind::Async;
                let lead = if is_async { all.iter().find(is_alike).copied() } else { Some(TrackIdx(0)) };
                (of.sort_index, of.key.kind, lead, if is_async { of.key.slot } else { 0 }, track)
            };
            for group in groups.all().iter().filter(|group| group.is_named) {
                let is_in = |&track: &TrackIdx| groups.above(track).any(|above| above.id == group.id);
                let runs: Vec<_> = order.chunk_by(|one, next| is_in(one) == is_in(next)).filter(|run| is_in(&run[0])).collect();
                prop_assert_eq!(runs.len(), 1, "{:?} is not together in {:?}", group, order);
                prop_assert_eq!(runs[0].len(), group.tracks as usize);
                let child = |track: TrackIdx| -> (Option<GroupId>, TrackIdx) {
                    let inner = groups.above(track).find(|above| above.id.level == group.id.level + 1);
                    inner.map_or((None, track), |inner| (Some(inner.id), inner.id.lead))
                };
                let units: Vec<_> = runs[0].chunk_by(|&one, &next| child(one) == child(next)).collect();
                let distinct: BTreeSet<_> = units.iter().map(|unit| child(unit[0])).collect();
                prop_assert_eq!(distinct.len(), units.len(), "an inner group is not together");
                let path = tables.group(group.id.lead).unwrap().outermost(group.named_levels());
                let places: Vec<_> = units.iter().map(|unit| {
                    let track = &tables.tracks[unit[0].index()];
                    let own_path = tables.group(unit[0]).unwrap();
                    let is_own_name = match track.key.kind {
                        TrackKind::Counter => *track.name == *own_path.name(),
                        _ => path.is_name_of(&track.name),
                    };
                    let is_parent = child(unit[0]).0.is_none() && own_path == path && is_own_name;
                    (!is_parent, unit.iter().map(|&track| place(track)).min())
                }).collect();
                prop_assert!(places.is_sorted(), "{:?} in {:?}", places, order);
            }
        }
    }

    #[test]
    fn the_tracks_of_each_process_are_found_where_the_trace_orders_them() {
        let orders = [(4, 0), (2, -7), (3, 5), (1, 0)];
        let lines = orders.iter().map(|(pid, order)| {
            format!(
                r#"{{"ph":"M","name":"process_sort_index","pid":{pid},"args":{{"sort_index":{order}}}}},
                {{"ph":"X","name":"a","pid":{pid},"tid":1,"ts":1,"dur":1}},{{"ph":"X","name":"a","pid":{pid},"tid":2,"ts":1,"dur":1}},
                {{"ph":"C","name":"c","pid":{pid},"ts":1,"args":{{"":1}}}},{{"ph":"i","name":"i","s":"g","ts":{pid}}}"#
            )
        });
        let snapshot = crate::scene::tests::snapshot(&format!("[{}]", lines.collect::<Vec<_>>().join(",")));
        let processes = snapshot.tracks().processes.len();
        assert!(processes >= orders.len());
        for process in (0..processes as u32).map(ProcessIdx) {
            let is_of_process = |track: &&crate::model::TrackIdx| snapshot.track(**track).process == process;
            let expected: Vec<_> = snapshot.display_order().iter().filter(is_of_process).copied().collect();
            assert_eq!(snapshot.tracks_of_process(process), expected, "{process:?}");
        }
    }

    #[test]
    fn async_tracks_are_in_the_order_of_their_first_event_and_those_of_a_name_together() {
        let event = |name: &str, id: u32, phase: &str, ts: u32| {
            format!(r#"{{"ph":"{phase}","cat":"c","name":"{name}","id":"{name}{id}","pid":1,"tid":1,"ts":{ts}}}"#)
        };
        let spans = [("zeta", 0), ("alpha", 0), ("job 10", 0), ("job 2", 0), ("zeta", 1), ("job 10", 1)];
        let spans = spans.iter().zip(0..);
        let lines = spans.flat_map(|(&(name, id), ts)| [event(name, id, "b", ts), event(name, id, "e", 100 + ts)]);
        let snapshot = crate::scene::tests::snapshot(&format!("[{}]", lines.collect::<Vec<_>>().join(",")));
        let order = snapshot.display_order().iter();
        let names: Vec<&str> = order.map(|&track| &*snapshot.track(track).name).collect();
        assert_eq!(names, ["zeta", "zeta", "alpha", "job 10", "job 10", "job 2"]);
    }
}
